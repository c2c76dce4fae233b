"""Plans of tiles: every row in one tile, halos complete, the same whatever the chunks; the runner's files."""

import numpy as np
import pytest

from subbundle import io
from subbundle._sampling import row_hash, smallest
from subbundle.distributed import JobError, plan_tiles, run
from subbundle.distributed.runner import Call, run_all
from subbundle.distributed.sample import read_sample
from subbundle.distributed.sources import open_source


def scene(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform([-3.0, 100.0, 0.0], [5.0, 104.0, 0.5], (n, 3))


@pytest.fixture
def planned(tmp_path):
    points = scene()
    return points, plan_tiles(points, tmp_path / "work", points_per_tile=300)


def test_every_row_is_owned_by_the_tile_that_it_lies_in(planned):
    points, plan = planned
    assert len(plan) > 8
    assert max(plan.counts) <= 300
    owned = []
    for tile in range(len(plan)):
        found = plan.tile(tile)
        assert found.owned.all()
        assert np.array_equal(found.points, points[found.rows])
        assert ((found.points >= found.box[0]) & (found.points <= found.box[1])).all()
        owned.append(found.rows)
    assert np.array_equal(np.sort(np.concatenate(owned)), np.arange(len(points)))


def test_a_halo_has_all_points_within_it_in_the_order_of_rows(planned):
    points, plan = planned
    for tile in (0, len(plan) - 1):
        found = plan.tile(tile, 0.7)
        low, high = plan.boxes[tile]
        there = np.flatnonzero(((points >= low - 0.7) & (points <= high + 0.7)).all(axis=1))
        assert np.array_equal(found.rows, there)
        assert np.array_equal(found.rows[found.owned], plan.tile(tile).rows)


def test_boxes_are_disjoint_and_their_borders_are_binary_fractions(planned):
    _, plan = planned
    volume = np.prod(plan.boxes[:, 1] - plan.boxes[:, 0], axis=1)
    for a in range(len(plan)):
        low = np.maximum(plan.boxes[a, 0], plan.boxes[:, 0])
        high = np.minimum(plan.boxes[a, 1], plan.boxes[:, 1])
        shared = np.prod(np.clip(high - low, 0.0, None), axis=1)
        shared[a] -= volume[a]
        assert not shared.any()
    assert np.array_equal(plan.boxes * 2**12, np.rint(plan.boxes * 2**12))


@pytest.mark.parametrize("size", [1e-4, 0.0])
def test_a_dense_clump_is_divided_further_and_copies_of_one_point_end(tmp_path, size):
    points = scene(2000)
    points[:1800] = np.array([1.0, 101.0, 0.1]) + size * np.random.default_rng(1).random((1800, 3))
    plan = plan_tiles(points, tmp_path, points_per_tile=200)
    assert plan.n_points == 2000
    # Duplicates cannot be divided: they are one tile, however many.
    assert max(plan.counts) <= 200 if size else max(plan.counts) == 1800


def test_rows_that_are_not_finite_or_out_of_bounds_are_counted(tmp_path):
    points = scene(500)
    points[7, 1], points[9, 0] = np.nan, np.inf
    plan = plan_tiles(points, tmp_path, points_per_tile=100, bounds=[[-3, 100, 0], [1, 104, 1]])
    inside = np.isfinite(points).all(axis=1) & (points[:, 0] <= 1.0)
    assert plan.n_points == inside.sum()
    assert plan.n_left_out == 500 - plan.n_points
    with pytest.raises(ValueError, match="at least one point must be finite and in bounds; of 500 none is"):
        plan_tiles(points, tmp_path / "none", bounds=[[90, 90, 90], [91, 91, 91]])


def test_a_plan_is_used_again_until_the_source_changes(tmp_path):
    np.save(tmp_path / "points.npy", scene(400))
    first = plan_tiles(tmp_path / "points.npy", tmp_path / "work", points_per_tile=100)
    changed = first.path(0).stat().st_mtime_ns
    again = plan_tiles(tmp_path / "points.npy", tmp_path / "work", points_per_tile=100)
    assert again.token == first.token
    assert first.path(0).stat().st_mtime_ns == changed
    np.save(tmp_path / "points.npy", scene(400, seed=5))
    assert plan_tiles(tmp_path / "points.npy", tmp_path / "work", points_per_tile=100).token != first.token


def write_las(path, points):
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(point_format=3, version="1.4")
    header.scales, header.offsets = np.full(3, 2.0**-20), np.array([0.0, 100.0, 0.0])
    file = laspy.LasData(header)
    file.x, file.y, file.z = points.T
    file.intensity = np.arange(len(points), dtype=np.uint16)
    file.write(path)


@pytest.mark.parametrize("ending", [".npy", ".parquet", ".las", ".laz", ".ply"])
def test_all_formats_give_the_same_rows_in_chunks(tmp_path, ending):
    points = np.rint(scene(1000) * 2**20) / 2**20
    for number, part in enumerate((points[:700], points[700:])):
        path = tmp_path / f"{number}{ending}"
        if ending == ".npy":
            np.save(path, part)
        elif ending == ".ply":
            io.write_ply(path, part, normals=part, attributes={"shade": part[:, 0]})
        elif ending == ".parquet":
            arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            table = arrow.table({"name": ["a"] * len(part), **dict(zip("xyz", part.T, strict=True))})
            parquet.write_table(table, path, row_group_size=150)
        else:
            write_las(path, part)
    for named in (tmp_path, str(tmp_path / f"*{ending}"), [tmp_path / f"0{ending}", tmp_path / f"1{ending}"]):
        source = open_source(named)
        assert (source.n_rows, source.dim) == (1000, 3)
    chunks = list(source.chunks(160))
    assert [chunk.first for chunk in chunks[:6]] == [0, 160, 320, 480, 640, 700]
    assert np.array_equal(np.concatenate([chunk.read() for chunk in chunks]), points)


def test_dask_collections_are_sources(tmp_path):
    array, frame = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    points = scene(600)
    source = open_source(array.from_array(points, chunks=(250, 2)), tmp_path / "a")
    assert source.counts == (250, 250, 100)
    assert np.array_equal(np.concatenate([chunk.read() for chunk in source.chunks()]), points)
    table = frame.from_pandas(pandas.DataFrame(points, columns=list("xyz")), npartitions=3)
    plan = plan_tiles(table, tmp_path / "b", points_per_tile=200)
    assert plan.n_points == 600


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.ply", b"nothing", "its header is missing"),
        ("a.npy", b"nothing", "could not be read as .npy"),
        ("a.las", b"LASF", "it is cut off or no LAS file"),
        ("a.csv", b"1,2,3", "cannot be read in chunks"),
        (
            "a.ply",
            b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1",
            "Write it as binary first",
        ),
    ],
)
def test_a_file_that_cannot_be_read_in_chunks_is_named(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=said):
        open_source(tmp_path / name)


def test_the_message_for_an_empty_folder_names_the_formats(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a file, a folder or a pattern of files ending in one of"):
        open_source(tmp_path)


def test_the_sample_depends_on_row_numbers_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("subbundle.distributed.plan.SAMPLE", 100)
    monkeypatch.setattr("subbundle.distributed.sample.SAMPLE", 100)
    points = scene(4000)
    plans = [plan_tiles(points, tmp_path / str(size), points_per_tile=size) for size in (200, 3000)]
    rows = smallest(np.arange(4000), 100)
    for plan in plans:
        found, chosen = read_sample(plan.folder)
        assert np.array_equal(found, rows)
        assert np.array_equal(chosen, points[rows])
    # Uniform to four standard errors: hashes of 0, 1, 2, … fall into ten classes with 400 ± 19 each.
    classes = np.bincount((row_hash(np.arange(4000)) // np.uint64(2**64 // 10 + 1)).astype(int))
    assert np.abs(classes - 400).max() < 4 * 19


def centroid(plan, tile, settings):
    found = plan.tile(tile, settings["halo"])
    if tile == settings.get("bad"):
        raise ZeroDivisionError("by zero")
    return {"middle": found.points[found.owned].mean(axis=0), "count": np.array([len(found.points)])}


def test_results_are_files_and_only_missing_ones_are_computed(planned, tmp_path):
    points, plan = planned
    results = run(plan, centroid, {"halo": 0.0}, out=tmp_path / "out")
    weights = np.array(plan.counts) / len(points)
    means = np.array([results.load(tile)["middle"] for tile in range(len(results))])
    assert np.allclose(weights @ means, points.mean(axis=0), rtol=1e-13)
    times = [path.stat().st_mtime_ns for path in results.paths]
    results.paths[3].unlink()
    again = run(plan, centroid, {"halo": 0.0}, out=tmp_path / "out")
    assert again.paths == results.paths
    same = [path.stat().st_mtime_ns == time for path, time in zip(results.paths, times, strict=True)]
    assert same == [tile != 3 for tile in range(len(plan))]
    assert not set(run(plan, centroid, {"halo": 1.0}, out=tmp_path / "out").paths) & set(results.paths)


def test_a_task_that_fails_is_named_and_the_others_are_done(planned, tmp_path):
    _, plan = planned
    with pytest.raises(
        JobError, match=r"failed for 1 of \d+: tile 2 \(.* points\): ZeroDivisionError: by zero.*--resume"
    ):
        run(plan, centroid, {"halo": 0.0, "bad": 2}, out=tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == len(plan) - 1


def test_a_damaged_tile_is_found(planned):
    _, plan = planned
    content = bytearray(plan.path(1).read_bytes())
    content[-1] ^= 1
    plan.path(1).write_bytes(content)
    with pytest.raises(ValueError, match=r"the file of tile 1, .*000001.npy, is damaged or missing"):
        plan.tile(1)


def test_workers_do_the_same(client, tmp_path):
    points = scene()
    np.save(tmp_path / "points.npy", points)
    here = plan_tiles(tmp_path / "points.npy", tmp_path / "here", points_per_tile=400)
    there = plan_tiles(tmp_path / "points.npy", tmp_path / "there", points_per_tile=400, client=client)
    assert here.token == there.token
    assert run_all(client, np.square, [Call("two", (2,)), Call("three", (3,))], "squares") == [4, 9]
    with pytest.raises(JobError, match="squares failed for 1 of 1: a: TypeError"):
        run_all(client, np.square, [Call("a", ("a",))], "squares")
