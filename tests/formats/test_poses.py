"""Matrices and lists of scans, and what is wrong with others."""

import json

import numpy as np
import pytest

from subbundle.formats.poses import read_list, read_matrix, rotation_of

MATRIX = np.array([[0.0, -1.0, 0.0, 4.0], [1.0, 0.0, 0.0, 5.0], [0.0, 0.0, 1.0, 6.0], [0.0, 0.0, 0.0, 1.0]])


def test_matrices_in_text_and_json(tmp_path):
    np.savetxt(tmp_path / "a.txt", MATRIX)
    (tmp_path / "a.json").write_text(json.dumps({"name": "a", "matrix": MATRIX.tolist()}))
    (tmp_path / "b.json").write_text(json.dumps(MATRIX.ravel().tolist()))
    np.savetxt(tmp_path / "b.txt", MATRIX[:3], delimiter=", ")
    for name in ("a.txt", "b.txt", "a.json", "b.json"):
        assert np.array_equal(read_matrix(tmp_path / name), MATRIX)


def test_a_quarter_turn_about_z():
    half = np.sqrt(0.5)
    assert rotation_of([3 * half, 0.0, 0.0, 3 * half]) == pytest.approx(MATRIX[:3, :3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3", "must hold the 16 numbers of a 4 × 4 matrix; it holds 3"),
        ("a b c", "it holds something else"),
        ("nan " * 16, "must have finite numbers"),
        (" ".join(map(str, MATRIX.T.ravel())), "It appears transposed: write columns as rows"),
        ("1 0 0 0 0 1 0 0 0 0 0 0 0 0 0 1", "must be invertible"),
    ],
)
def test_what_is_no_transform(tmp_path, text, message):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_matrix(tmp_path / "a.txt")


def test_lists_of_scans(tmp_path):
    rows = "\n".join(" ".join(map(str, row)) for row in MATRIX)
    (tmp_path / "all.aln").write_text(f"2\na.ply\n#\n{rows}\n#\nb c.ply\n#\n{rows}\n#\n0\n")
    found = read_list(tmp_path / "all.aln")
    assert [path for path, _ in found] == [tmp_path / "a.ply", tmp_path / "b c.ply"]
    assert np.array_equal(found[1][1], MATRIX)
    wrong = ["2\na.ply\n#\n" + rows, f"1\na.ply\n{rows}\n#\n", "many\n", "0\n", f"1\na.ply\n#\n{rows[:20]}\n#\n0\n"]
    for text in wrong:
        (tmp_path / "all.aln").write_text(text)
        with pytest.raises(ValueError, match=r"all\.aln (could not be read as \.aln|must name at least one scan)"):
            read_list(tmp_path / "all.aln")
