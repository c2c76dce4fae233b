"""`subbundle embed` from file to file."""

import csv

import numpy as np
import pytest

from subbundle import Status, datasets
from subbundle.cli import main


@pytest.fixture(scope="module")
def arc(tmp_path_factory):
    """A CSV file of 300 points around an arc of radius 1, with a column of words, and the angles."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(-1.2, 1.2, 300)
    points = np.column_stack([np.sin(angle), np.cos(angle)]) + 0.01 * rng.standard_normal((300, 2))
    path = tmp_path_factory.mktemp("embed") / "arc.csv"
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["x", "kind", "y"])
        writer.writerows([x, "a", y] for x, y in points.tolist())
    return path, angle


def read(path):
    with open(path, newline="") as stream:
        rows = list(csv.reader(stream))
    return rows[0], np.array(rows[1:], dtype=float)


def test_coordinates_are_arc_length(arc, tmp_path, capsys):
    path, angle = arc
    out = tmp_path / "coordinates.csv"
    assert main(["embed", str(path), "-o", str(out), "--dim", "1", "--bandwidth", "0.15", "--method", "chart"]) == 0
    names, rows = read(out)
    assert names == ["coordinate_1", "residual", "status"]
    assert len(rows) == 300
    inside = rows[:, 2] == Status.OK
    assert inside.mean() > 0.95
    offset = np.sign(np.corrcoef(rows[:, 0], angle)[0, 1]) * rows[:, 0] - angle
    # Radius 1: coordinates are angles up to the base point's; noise along the arc is 0.01.
    assert np.std(offset[inside]) < 0.03
    said = capsys.readouterr()
    assert "bandwidth: 0.15" in said.out
    assert "inside the chart" in said.out
    assert "left out, not numbers: kind" in said.err


def test_a_saved_model_gives_the_same_coordinates(arc, tmp_path):
    path, _ = arc
    first, second, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "model.npz"
    assert (
        main(
            [
                "embed",
                str(path),
                "-o",
                str(first),
                "--dim",
                "1",
                "--bandwidth",
                "0.15",
                "--method",
                "chart",
                "--save",
                str(model),
            ]
        )
        == 0
    )
    assert main(["embed", str(path), "-o", str(second), "--model", str(model)]) == 0
    assert first.read_text() == second.read_text()


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_other_files(arc, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    data = tmp_path / "data.npy"
    np.save(data, datasets.curve_in_plane(200, noise=0.01, seed=0).points)
    out = tmp_path / f"coordinates{suffix}"
    assert main(["embed", str(data), "-o", str(out), "--dim", "1", "--bandwidth", "0.2", "--method", "chart"]) == 0
    assert out.stat().st_size > 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "-o", "out.csv"], "must be an existing file"),
        (["{data}", "-o", "out.txt"], "the output must end in one of .csv, .npy, .parquet"),
        (["{data}", "-o", "{tmp}/none/out.csv"], "the folder of"),
        (["{data}", "-o", "{tmp}/out.csv", "--dim", "1", "--base-row", "300"], "--base-row must name rows 0..299"),
        (["{data}", "-o", "{tmp}/out.csv", "--dim", "1", "--base-row", "-1"], "--base-row must name rows 0..299"),
        (["{data}", "-o", "{tmp}/out.csv", "--dim", "3"], "--dim must be below the number of features"),
        (
            ["{data}", "-o", "{tmp}/out.csv", "--method", "chart", "--figure", "a.png"],
            "--figure belongs to --method atlas",
        ),
    ],
)
def test_what_is_refused(arc, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    filled = [text.format(data=arc[0], tmp=tmp_path) for text in arguments]
    assert main(["embed", *filled]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("out.*"))
