"""The head: the surface itself, and what is learned from noisy points of it."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from subbundle import Status, datasets
from subbundle.cli import main
from subbundle.experiments import head
from subbundle.io import write_ply


@pytest.fixture(scope="module")
def small():
    return head.made(2, n=8000, seed=0, n_geodesics=60, step=0.01)


def test_the_head_has_size_one_and_known_distances():
    data = datasets.head(3000, noise=0.01, seed=1)
    assert np.ptp(data.clean, axis=0).max() == pytest.approx(1.0, abs=0.02)
    assert data.distance(data.clean).max() < 1e-8
    # Only the normal part of the noise counts: its mean is √(2/π) of the standard deviation.
    assert data.distance(data.points).mean() == pytest.approx(0.01 * np.sqrt(2.0 / np.pi), rel=0.1)
    # Symmetric about the plane through nose and crown.
    mirrored = data.clean * [1.0, -1.0, 1.0]
    assert data.distance(mirrored).max() < 1e-8


def test_two_pieces_follow_the_surface_and_overlap(small):
    assert [piece.radius for piece in small.pieces] == [0.3, 0.25]
    nose, side = (piece.base_point for piece in small.pieces)
    assert nose[0] > 0.4
    assert abs(nose[1]) < 0.03
    assert side[1] > 0.1
    assert side[2] > 0.2
    for piece, errors in zip(small.pieces, small.errors, strict=True):
        assert np.mean(piece.status == Status.OK) > 0.95
        # The base point is a local mean, biased to the inside by a²κ, and the nose has a radius of about 0.07.
        assert errors.mean() < 0.032**2 / 0.07
    both = small.overlap.n_charts == 2
    assert both.any()
    assert small.overlap.disagreement[both].mean() < small.noise


def test_more_noise_more_error_still_small():
    rough = head.made(3, n=8000, seed=0, n_geodesics=40, step=0.01)
    assert rough.bandwidth > head.LEVELS[2][1]
    assert rough.errors[1].mean() < rough.noise


def test_a_given_scan(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(head, "N_GEODESICS", 40)
    monkeypatch.setattr(head, "STEP", 0.01)
    file = write_ply(tmp_path / "scan.ply", 200.0 * datasets.head(6000, noise=0.005, seed=2).points + [7.0, 8.0, 9.0])
    code = main(["paper", "head", "--file", str(file), "--base", "102,8,1", "--out", str(tmp_path / "out")])
    assert code == 0
    assert "scan.ply: 6000 points, bandwidth 0.032" in capsys.readouterr().out
    mesh = trimesh.load(tmp_path / "out" / "head-scan-ply-first.ply", process=False)
    assert mesh.euler_number == 1
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"head-scan-ply.png", "head-scan-ply-first.ply"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base", "1,2"], "must be three numbers like 0.5,0,-0.1; got '1,2'"),
        (["--base", "1,2,x"], "must be three numbers"),
        (
            ["--base", "1,2,3", "--base", "1,2,3", "--base", "1,2,3"],
            "--base must be given once or twice; it was given 3",
        ),
        (["--file", "nowhere.ply"], "nowhere.ply must be an existing file"),
    ],
)
def test_wrong_input(arguments, message, tmp_path, capsys):
    try:
        code = main(["paper", "head", "--out", str(tmp_path), *arguments])
    except SystemExit as exit_:
        code = exit_.code
    assert code == 2
    assert message in capsys.readouterr().err
