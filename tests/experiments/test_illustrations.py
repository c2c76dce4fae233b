"""The illustrations agree with their captions."""

from __future__ import annotations

import numpy as np
import pytest

from subbundle import Status, datasets
from subbundle.experiments import illustrations


@pytest.fixture(scope="module")
def plane():
    return illustrations.in_plane(n_grid=11)


@pytest.fixture(scope="module")
def space():
    return illustrations.in_space(n_frames=40)


def test_weights_mark_the_neighbourhood_of_the_inner_start(plane, space):
    for picture, bandwidth in ((plane, 0.22), (space, 0.25)):
        start = picture.inside.points[0, 0]
        distance = np.linalg.norm(picture.cloud - start, axis=1)
        assert distance[picture.heavy].max() < distance[~picture.heavy].min()
        # A weight of 1e-5 of the sum, which holds at least ten times the largest: below sqrt(2 log 1e5) bandwidths.
        assert distance[picture.heavy].max() < np.sqrt(2 * np.log(1e5)) * bandwidth + distance.min()


def test_frames_are_orthonormal(plane, space):
    for picture in (plane, space):
        gram = np.einsum("ndi,ndj->nij", picture.vectors, picture.vectors)
        assert gram == pytest.approx(np.broadcast_to(np.eye(gram.shape[1]), gram.shape), abs=1e-12)


def test_the_outer_geodesic_is_parallel_to_the_cloud(plane):
    truth = datasets.curve_in_plane(5)
    inside = truth.distance(plane.inside.points.reshape(-1, 2))
    assert inside.max() < 0.15
    outside = plane.outside.points.reshape(-1, 2)
    outside = truth.distance(outside[np.isfinite(outside).all(axis=1)])
    # It starts 0.37 from the curve and neither falls into the cloud nor leaves it.
    assert outside.min() > 0.2
    assert outside.max() < 0.6


def test_both_geodesics_in_space_nearly_close(space):
    for fan, radius in ((space.inside, 1.0), (space.outside, 1.15)):
        assert fan.status[0] == Status.OK
        norms = np.linalg.norm(fan.points[0], axis=1)
        # Noise 0.04, a dozen effective neighbours or more per bandwidth: the radius holds to about 0.04.
        assert np.abs(norms - radius).max() < 0.04
        assert np.linalg.norm(fan.points[0, -1] - fan.points[0, 0]) < 0.2


def test_command_draws(tmp_path, capsys):
    (path,) = illustrations.run(seed=0, out=tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "2.3 π" in capsys.readouterr().out
