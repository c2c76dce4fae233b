"""Embedding tables in chunks: the same rows as the model gives, in the format of the table."""

import numpy as np
import pytest

import subbundle as sb
from subbundle._sampling import fraction_for
from subbundle.distributed import embed, embed_job

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

POINTS = sb.datasets.s_surface(900, noise=0.02, seed=0).points


@pytest.fixture(scope="module")
def model():
    return sb.AtlasEmbedding(2).fit(POINTS)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(embed_job, "_CHUNK", 250)
    columns = {
        "name": [f"row {i}" for i in range(900)],
        "age": np.arange(900) % 7,
        **dict(zip("abc", POINTS.T, strict=True)),
    }
    parquet.write_table(arrow.table(columns), tmp_path / "table.parquet", row_group_size=100)
    return tmp_path / "table.parquet"


def test_chunks_are_those_of_the_model(table, tmp_path, model):
    job = embed(table, tmp_path / "out", model=model, drop=["age"], label="name")
    assert [path.name for path in job.paths] == [f"part-00000{i}.parquet" for i in range(4)]
    found = parquet.read_table(tmp_path / "out")
    expected = model.locate(POINTS)
    for i in (0, 1):
        assert np.array_equal(found[f"coordinate_{i + 1}"].to_numpy(), expected["coordinates"][:, i])
    assert np.array_equal(found["residual"].to_numpy(), expected["residual"])
    assert np.array_equal(found["status"].to_numpy(), expected["status"])
    assert found["name"].to_pylist() == [f"row {i}" for i in range(900)]
    assert (job.n_rows, job.n_sampled, sum(job.statuses.values())) == (900, 900, 900)
    assert np.isclose(job.residual, np.sqrt(np.mean(expected["residual"] ** 2)), rtol=1e-12)
    assert not (tmp_path / "out" / ".subbundle").exists()


def test_a_model_is_fitted_to_a_sample_that_chunks_do_not_change(table, tmp_path, monkeypatch):
    first = embed(table, tmp_path / "a", n_sampled=400, drop=["age"])
    monkeypatch.setattr(embed_job, "_CHUNK", 333)
    second = embed(table, tmp_path / "b", n_sampled=400, drop=["age"])
    assert first.n_sampled == 400
    for name in ("coordinate_1", "coordinate_2"):
        assert (
            parquet.read_table(tmp_path / "a")[name].to_pylist() == parquet.read_table(tmp_path / "b")[name].to_pylist()
        )
    assert first.residual == pytest.approx(second.residual, rel=1e-12)


def test_arrays_and_one_chart(tmp_path, monkeypatch):
    monkeypatch.setattr(embed_job, "_CHUNK", 400)
    np.save(tmp_path / "rows.npy", POINTS)
    chart = sb.PrincipalSubmanifold(2, bandwidth=0.3).fit(POINTS)
    job = embed(tmp_path / "rows.npy", tmp_path / "out", model=chart)
    coordinates, residual, status = chart.locate(POINTS)
    found = np.concatenate([np.load(path) for path in job.paths])
    assert np.array_equal(found, np.column_stack([coordinates, residual, status]))


def test_rows_that_lack_numbers(table, tmp_path, model):
    holes = POINTS.copy()
    holes[300, 1] = np.nan
    parquet.write_table(arrow.table(dict(zip("abc", holes.T, strict=True))), table)
    with pytest.raises(
        ValueError, match=r"table.parquet, rows 250..499: 1 rows lack numbers, first row 300.*--missing"
    ):
        embed(table, tmp_path / "out", model=model)
    # What the others did is kept, and nothing is half written.
    assert sorted(path.name for path in (tmp_path / "out").glob("part-*")) == [
        f"part-00000{i}.parquet" for i in (0, 2, 3)
    ]
    with pytest.raises(ValueError, match="holds the work of another job"):
        embed(table, tmp_path / "out", model=model, missing="drop", resume=True)
    job = embed(table, tmp_path / "dropped", model=model, missing="drop")
    found = parquet.read_table(tmp_path / "dropped")
    assert job.n_incomplete == 1
    assert np.flatnonzero(np.isnan(found["coordinate_1"].to_numpy())).tolist() == [300]
    assert found["status"].to_pylist()[300] == sb.Status.NOT_FINITE
    assert found["component"].to_pylist()[300] == -1


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"drop": ["nothing"]}, ValueError, "got 'nothing'. It has: name, age, a, b, c"),
        ({"drop": np.zeros(3)}, TypeError, "drop must be a list of names of columns; got ndarray"),
        ({"drop": "age"}, TypeError, "drop must be a list of names of columns; got str"),
        ({"missing": "fill"}, ValueError, "missing must be"),
        ({"model": object()}, TypeError, "model must be an AtlasEmbedding or a PrincipalSubmanifold"),
    ],
)
def test_wrong_options_are_named(table, tmp_path, options, error, said):
    with pytest.raises(error, match=said):
        embed(table, tmp_path / "out", **options)


def test_a_model_of_other_columns_is_refused(table, tmp_path, model):
    with pytest.raises(ValueError, match="model needs 3 columns of numbers; the table has 4"):
        embed(table, tmp_path / "out", model=model)


def test_a_sample_of_more_rows_than_there_are_takes_all():
    assert fraction_for(10**400, 100) == 1.0
