"""`subbundle distance` from file to file."""

import numpy as np
import pytest

from subbundle.cli import main


@pytest.fixture
def two_arcs(tmp_path):
    """60 points around an arc of radius 1 and 40 around another, ten away; and the angles of the first."""
    rng = np.random.default_rng(0)
    angle = np.sort(rng.uniform(-1.0, 1.0, 100))
    points = np.column_stack([np.sin(angle), np.cos(angle)]) + 0.005 * rng.standard_normal((100, 2))
    points[60:] += [0.0, 10.0]
    path = tmp_path / "arcs.npy"
    np.save(path, points)
    return path, angle


def test_distances_follow_the_arc(two_arcs, tmp_path, capsys):
    path, angle = two_arcs
    out = tmp_path / "distances.npy"
    assert main(["distance", str(path), "-o", str(out), "--rank", "1", "--bandwidth", "0.2", "--from", "0,10"]) == 0
    matrix = np.load(out)
    assert matrix.shape == (2, 100)
    # Angles are distances on a circle of radius 1; noise moves each end by 0.005 and the curve learned by as much.
    np.testing.assert_allclose(matrix[0, :50], np.abs(angle[:50] - angle[0]), atol=0.04)
    assert np.isinf(matrix[:, 60:]).all()
    said = capsys.readouterr().out
    assert "not connected (inf): 80" in said
    assert "bandwidth 0.2" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "0,100"], "--from must name rows 0..99 of the data; got 100"),
        (["--rank", "5"], "rank must be below the number of features"),
    ],
)
def test_what_is_refused(two_arcs, tmp_path, capsys, arguments, message):
    out = tmp_path / "distances.npy"
    assert main(["distance", str(two_arcs[0]), "-o", str(out), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_too_many_rows_are_refused_before_any_work(tmp_path, capsys):
    np.save(tmp_path / "many.npy", np.random.default_rng(0).standard_normal((5001, 2)))
    assert main(["distance", str(tmp_path / "many.npy"), "-o", str(tmp_path / "d.npy")]) == 2
    assert "all pairs of at most 5000 rows" in capsys.readouterr().err
