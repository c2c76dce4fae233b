"""The demonstration: a better surface than the noise, a mesh without cracks, files that other programs read."""

from __future__ import annotations

import io

import numpy as np
import pytest
import trimesh

from subbundle._progress import Progress
from subbundle.experiments import demo


@pytest.fixture(scope="module")
def learned():
    return demo.learn(n=4000, seed=1, progress=Progress(io.StringIO()))


def test_the_learned_surface_is_closer_than_the_noise(learned):
    # Half the noise at 4000 points (a quarter at the default 20000); no geodesic ends early on a closed surface.
    assert np.isfinite(learned.errors).all()
    assert np.sqrt(np.mean(learned.errors**2)) < 0.5 * demo.NOISE
    assert np.sqrt(np.mean(learned.cloud_errors**2)) == pytest.approx(demo.NOISE, rel=0.05)


def test_normals_point_outwards(learned):
    # Star-shaped: the outward normal of the true surface makes an acute angle with the direction from the centre.
    clean = learned.data.clean
    assert np.linalg.norm(learned.normals, axis=1) == pytest.approx(np.ones(len(clean)), abs=1e-12)
    assert np.mean(np.sum(learned.normals * clean, axis=1) > 0) > 0.99


def test_polar_faces_make_a_disc():
    n_geodesics, steps = 8, 5
    faces = demo.polar_faces(n_geodesics, np.ones(n_geodesics * steps + 1, dtype=bool))
    angle = 2 * np.pi * np.arange(n_geodesics) / n_geodesics
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n_geodesics)])
    points = np.concatenate([np.zeros((1, 3)), (ring[:, None] * np.arange(1, steps + 1)[:, None]).reshape(-1, 3)])
    mesh = trimesh.Trimesh(points, faces, process=False)
    assert len(faces) == n_geodesics * (2 * steps - 1)
    assert mesh.euler_number == 1
    assert mesh.is_winding_consistent
    # The flat disc: a regular octagon of circumradius 5.
    assert mesh.area == pytest.approx(0.5 * n_geodesics * steps**2 * np.sin(2 * np.pi / n_geodesics))


def test_polar_faces_leave_out_what_is_not_valid():
    valid = np.ones(8 * 5 + 1, dtype=bool)
    valid[1 + 2 * 5 + 4] = False  # the end of the third geodesic
    faces = demo.polar_faces(8, valid)
    assert 1 + 2 * 5 + 4 not in faces
    assert len(faces) == 8 * 9 - 3


def test_bandwidth_shrinks_with_the_number_of_points():
    bandwidths = [demo.bandwidth_for(n) for n in (1000, 5000, 20000, 100000)]
    assert bandwidths == sorted(bandwidths, reverse=True)
    assert demo.bandwidth_for(20000) == pytest.approx(0.07)
