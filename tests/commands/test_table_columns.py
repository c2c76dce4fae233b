"""Tables with units, missing numbers, text, labels and duplicates."""

import csv
from pathlib import Path

import numpy as np
import pytest

from subbundle import Status
from subbundle.cli import main
from subbundle.commands._tables import read_table
from subbundle.formats.tables import read_columns
from subbundle.scans import read_scan

N = 120


def columns(seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-1.2, 1.2, N)
    return {
        "x": np.sin(angle) + 0.01 * rng.standard_normal(N),
        "y": np.cos(angle) + 0.01 * rng.standard_normal(N),
        "z": 0.01 * rng.standard_normal(N),
        "kind": np.where(angle > 0.0, "right", "left"),
    }


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(table):
        with open("table.csv", "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(table)
            writer.writerows(zip(*(list(column) for column in table.values()), strict=True))
        return "table.csv"

    return written


def embed(*options):
    return main(
        ["embed", "table.csv", "-o", "out.csv", "--dim", "1", "--method", "chart", "--bandwidth", "0.3", *options]
    )


def read():
    with open("out.csv", newline="") as stream:
        return list(csv.DictReader(stream))


def test_text_columns_are_left_out_with_a_note(write, capsys):
    write(columns())
    assert embed() == 0
    said = capsys.readouterr().err
    assert "left out, not numbers: kind" in said
    assert "--drop kind" in said
    assert "--categorical kind" in said


def test_a_label_is_copied_and_not_fitted(write):
    table = columns()
    write(table)
    assert embed("--label", "kind") == 0
    assert [row["kind"] for row in read()] == list(table["kind"])
    own = [row["coordinate_1"] for row in read()]
    assert embed("--drop", "kind") == 0
    assert [row["coordinate_1"] for row in read()] == own
    assert "kind" not in read()[0]


def test_a_column_of_large_units_is_named(write, capsys):
    table = columns()
    table["income"] = 1e4 * np.random.default_rng(1).standard_normal(N)
    write(table)
    main(["diagnose", "table.csv", "--rank", "1", "--bandwidth", "5000"])
    assert "the column income holds 100% of the variance" in capsys.readouterr().out
    main(["diagnose", "table.csv", "--rank", "1", "--bandwidth", "2", "--standardize"])
    assert "--standardize" not in capsys.readouterr().out


def test_standardized_columns_do_not_depend_on_units(write):
    table = columns()
    write(table)
    assert embed("--standardize", "--drop", "kind,z") == 0
    own = np.array([float(row["coordinate_1"]) for row in read()])
    table["x"] = 1024.0 * table["x"]
    write(table)
    assert embed("--standardize", "--drop", "kind,z") == 0
    # A power of two scales without rounding, but sums for the mean may round differently.
    np.testing.assert_allclose([float(row["coordinate_1"]) for row in read()], own, rtol=1e-6, atol=1e-9)


def test_missing_numbers_are_named_or_their_rows_left_out(write, capsys):
    table = columns()
    x = [f"{value!r}" for value in table["x"].tolist()]
    x[3], x[7] = "", ""
    write({**table, "x": x})
    assert embed() == 2
    said = capsys.readouterr().err
    assert "2 rows have some, in the columns x (2)" in said
    assert "--missing drop" in said
    assert "--drop x" in said
    assert embed("--missing", "drop") == 0
    assert "2 rows lack numbers and were left out" in capsys.readouterr().out
    rows = read()
    assert len(rows) == N
    assert rows[3]["coordinate_1"] == "nan"
    assert int(rows[3]["status"]) == Status.NOT_FINITE


@pytest.mark.parametrize(
    ("name", "mark", "decimal"), [("a.csv", ",", "."), ("b.csv", ";", "."), ("c.csv", ";", ","), ("d.tsv", "\t", ",")]
)
def test_columns_may_be_separated_by_semicolons_or_tabs(tmp_path, name, mark, decimal):
    rows = [["1.5", "2", "red"], ["-3e2", "NA", "green"], ["0.25", "", "NA"]]
    lines = [mark.join(entry.replace(".", decimal) for entry in row) for row in rows]
    (tmp_path / name).write_text("\n".join([mark.join(("u", " v", "w")), *lines]))
    (tmp_path / f"headless-{name}").write_text("\n".join(lines))
    found = read_columns(tmp_path / name)
    assert list(found) == ["u", "v", "w"]
    np.testing.assert_array_equal(found["u"], [1.5, -300.0, 0.25])
    np.testing.assert_array_equal(found["v"], [2.0, np.nan, np.nan])
    assert list(found["w"]) == ["red", "green", "NA"]
    assert len(read_columns(tmp_path / f"headless-{name}")["column 1"]) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        ("u,v\n", "holds only a line of names"),
        ("u,v\n1,2\n", "must hold at least 2 rows without missing numbers; it has 1."),
        ("u,v\n1,2\n3\n", "must have 2 entries in every row; row 3 has 1"),
        ("u,v\na,b\nc,d\n", "none of its columns is numeric: u, v"),
        ("größe,v\n1,2\n".encode("latin-1"), "it is not UTF-8 text"),
    ],
)
def test_tables_that_cannot_be_learned_from(tmp_path, monkeypatch, capsys, content, message):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert embed() == 2
    assert message in capsys.readouterr().err


def test_as_many_coordinates_as_features_are_remarked_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("table.csv", np.random.default_rng(0).uniform(size=(120, 2)), delimiter=",")
    assert main(["embed", "table.csv", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "principal components: 2 of 2 (all features)" in shown
    assert "note: --dim 2 is the number of features" in shown


def test_duplicates_are_counted(write, capsys):
    table = {name: np.concatenate([column, column[:30]]) for name, column in columns().items()}
    write(table)
    assert embed() == 0
    assert "30 of 150 rows are duplicates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drop", "age"], "--drop must name columns of the table; got 'age'. It has: x, y, z, kind."),
        (["--label", "age"], "--label must name columns of the table"),
        (["--standardize", "--save", "m.npz"], "--standardize cannot be combined with --save or --model"),
    ],
)
def test_what_is_refused(write, capsys, options, message):
    write(columns())
    assert embed(*options) == 2
    assert message in capsys.readouterr().err


def test_a_categorical_column_becomes_one_column_per_value(write, capsys):
    write(columns())
    assert main(["diagnose", "table.csv", "--rank", "1", "--bandwidth", "0.5", "--categorical", "kind"]) == 0
    assert f"{N} in R^5" in capsys.readouterr().out


def test_incomplete_rows_are_located_by_observed_features(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    u = rng.uniform(-1.0, 1.0, (120, 2))
    table = np.column_stack([np.sin(u[:, 0]), np.cos(u[:, 0]), u[:, 1], u[:, 1]])
    rows = [[f"{value!r}" for value in row.tolist()] for row in table]
    rows[7][3] = ""
    Path("gaps.csv").write_text("\n".join(["a,b,c,d", *(",".join(row) for row in rows)]) + "\n")
    assert main(["embed", "gaps.csv", "--missing", "local", "--quiet"]) == 0
    assert "1 rows lack numbers and were located by their observed features" in capsys.readouterr().out
    found = np.genfromtxt("gaps-coordinates.csv", delimiter=",", names=True)
    coordinates = np.column_stack([found["coordinate_1"], found["coordinate_2"]])
    # The last column repeats the third: nothing of the row is unknown, and its coordinates are those of its parameters.
    others = np.delete(np.arange(120), 7)
    flat = np.column_stack([np.ones(120), u[:, 0], np.sqrt(2.0) * u[:, 1]])
    fit = np.linalg.lstsq(flat[others], coordinates[others], rcond=None)[0]
    np.testing.assert_allclose(coordinates[7], flat[7] @ fit, atol=0.02)  # a tenth of the spacing of the rows
    assert main(["embed", "gaps.csv", "--missing", "local", "--method", "chart", "--quiet"]) != 0
    assert "belongs to --method atlas" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        # As numpy.savetxt, pandas, R's write.table and a person write a table of the rows (1, 2), (3, 4), (7, 8).
        (["# u,v", "1,2", "3,4", "7,8"], ["u", "v"]),
        (["", "# measured on a Monday", "u,v", "1,2", "3,4", "7,8"], ["u", "v"]),
        ([",u,v", "0,1,2", "1,3,4", "2,7,8"], ["row", "u", "v"]),
        (["Unnamed: 0,u,v", "5,1,2", "6,3,4", "7,7,8"], ["row", "u", "v"]),
        (["u v", "a 1 2", "b 3 4", "c 7 8"], ["column 1", "u", "v"]),
        (["  1   2", "  3   4", "  7   8"], ["column 1", "column 2"]),
    ],
)
def test_tables_as_other_programs_write_them(tmp_path, lines, names):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines))
    found = read_columns(path)
    assert list(found) == names
    values = [column for column in found.values() if column.dtype.kind == "f"]
    assert np.array_equal(np.column_stack(values), [[1, 2], [3, 4], [7, 8]])


def test_rows_that_are_only_numbered_can_be_labels(write, capsys):
    table = columns()
    write({"": np.arange(N), **table})
    assert embed("--label", "row") == 0
    assert [row["row"] for row in read()] == [str(i) for i in range(N)]
    assert "left out, not numbers: kind" in capsys.readouterr().err


def test_scans_and_tables_are_read_alike(tmp_path):
    (tmp_path / "a.csv").write_text("x;y;z;note\n1,5;2;3;red\n4;;6;blue\n7;8;9;green\n")
    scan = read_scan(tmp_path / "a.csv")
    assert scan.points.tolist() == [[1.5, 2, 3], [7, 8, 9]]
    assert scan.n_dropped == 1
    (tmp_path / "b.csv").write_text("x,y,z\n1,2,3\n4,five,6\n7,8,9\n")
    assert read_scan(tmp_path / "b.csv").n_dropped == 1
    (tmp_path / "d.csv").write_text(",x,y,z\n0,1,2,3\n1,4,5,6\n")
    assert read_scan(tmp_path / "d.csv").points.tolist() == [[1, 2, 3], [4, 5, 6]]
    (tmp_path / "e.csv").write_text(",a,b,c\n0,1,2,3\n1,4,5,6\n")
    assert read_scan(tmp_path / "e.csv").points.tolist() == [[1, 2, 3], [4, 5, 6]]
    (tmp_path / "c.csv").write_text("name,colour\na,b\n")
    with pytest.raises(ValueError, match="none of its columns is numeric: name, colour"):
        read_scan(tmp_path / "c.csv")


def test_arrays_have_columns_with_numbers_for_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).standard_normal((60, 3))
    values[4, 1] = np.nan
    np.save("a.npy", values)
    assert main(["embed", "a.npy"]) == 2
    assert "1 rows have some, in the columns column 2 (1). Write --drop 'column 2'" in capsys.readouterr().err
    assert read_table(tmp_path / "a.npy", drop=["column 2"]).values.shape == (60, 2)


def test_one_column_is_no_table(write, capsys):
    write({"a": ["1.234,5"] * 9, "b": [str(i) for i in range(9)]})
    assert main(["embed", "table.csv"]) == 2
    assert "must hold at least 2 columns of numbers; it has b alone" in capsys.readouterr().err


def test_quantities_that_denoise_wrote_are_no_features(tmp_path):
    path = tmp_path / "clean.csv"
    path.write_text("x1,x2,noise,outlier_score,status\n1,2,nan,inf,1\n3,4,0.5,0.1,0\n")
    table = read_table(path)
    assert table.names == ["x1", "x2"]
    assert table.ours == ["noise", "outlier_score", "status"]
    path.write_text("x1,x2,status\n1,2,3\n3,4,5\n")  # a status of the user's own
    assert read_table(path).names == ["x1", "x2", "status"]


def test_a_table_with_other_columns_than_a_model(write, capsys):
    table = columns()
    write(table)
    assert embed("--save", "model.npz") == 0
    write({**table, "height": table["x"]})
    assert main(["embed", "table.csv", "-o", "out.csv", "--model", "model.npz"]) == 2
    assert "must have the 3 features of model.npz; it has x, y, z, height. Leave columns" in capsys.readouterr().err
    assert main(["embed", "table.csv", "-o", "out.csv", "--model", "model.npz", "--drop", "height"]) == 0
