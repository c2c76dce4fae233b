"""Denoising in tiles: the same as in memory, for any size of tile; files keep format, order and attributes."""

import numpy as np
import pytest

import subbundle as sb
from subbundle import io
from subbundle.distributed import denoise, plan_tiles, run
from subbundle.distributed.choosing import choose
from subbundle.distributed.denoising import denoised_tile, halo_of

WIDTH = 0.25


def cloud(n=2500, away=20, seed=3):
    """A noisy torus far from the origin, with outliers whose projections are far, some of them isolated."""
    rng = np.random.default_rng(seed)
    points = sb.datasets.torus(n, noise=0.04, seed=seed).points
    points[:away] += rng.normal(0.0, 0.8, (away, 3))
    return points + [4e5, 5e6, 100.0]


def whole(points):
    """Rows on the ridge of all points at once."""
    return sb.ridge_project(sb.PrincipalSubbundle(points, 2, WIDTH, n_jobs=1), points)


def by_tiles(points, folder, size, **options):
    plan = plan_tiles(points, folder, points_per_tile=size, **options)
    chosen = choose(plan, 2, WIDTH)
    settings = {
        "rank": 2, "bandwidth": WIDTH, "typical_mass": chosen.typical_mass, "order": 2, "cell": 0.7 * WIDTH,
    }  # fmt: skip
    results = run(plan, denoised_tile, settings)
    parts = [results.load(tile) for tile in range(len(plan))]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(found["rows"])
    names = ("rows", "points", "normals", "noise", "scores", "status")
    return plan, {name: found[name][order] for name in names}


@pytest.mark.parametrize("size", [400, 1000])
def test_rows_are_those_in_memory_for_any_tiles(tmp_path, size):
    points = cloud()
    ridge = whole(points)
    plan, found = by_tiles(points, tmp_path, size)
    assert len(plan) > 3
    assert np.array_equal(found["rows"], np.arange(len(points)))
    assert np.array_equal(found["status"], ridge.status)
    # 1e-9 bandwidths, and two units in the last place of coordinates, which are 5e6.
    bound = 1e-9 * WIDTH + 2 * np.spacing(5e6)
    assert np.abs(found["points"] - ridge.points).max() < bound
    known = ridge.status == 0
    assert np.allclose(found["noise"][known], ridge.noise[known], rtol=1e-9)
    assert np.allclose(found["scores"][known], ridge.outlier_scores[known], rtol=1e-6)
    along = np.abs(np.einsum("ni,ni->n", found["normals"][known], ridge.normals[known, :, 0]))
    assert along.min() > 1.0 - 1e-12
    assert not found["normals"][~known].any()


def test_some_rows_read_beyond_the_halo_and_are_repeated():
    # Otherwise the test above does not cover them.
    ridge = whole(cloud())
    assert np.sum(ridge.support_radius > halo_of(2, 3, WIDTH)) > 5
    assert np.sum(ridge.status != 0) > 0


def test_observations_beyond_the_support_radius_have_no_effect():
    points = cloud(1500)
    ridge = whole(points)
    typical = sb.PrincipalSubbundle(points, 2, WIDTH).typical_mass
    for row in (*range(0, 20, 4), 700, 1400):
        near = points[np.linalg.norm(points - points[row], axis=1) <= ridge.support_radius[row] * (1.0 + 1e-12)]
        far = points[0] + 1e3 * np.arange(1, 31)[:, None]  # out of reach; a cloud needs a few points
        part = sb.PrincipalSubbundle(np.concatenate([near, far]), 2, WIDTH, typical_mass=typical)
        alone = sb.ridge_project(part, points[row])
        assert alone.status[0] == ridge.status[row]
        assert np.abs(alone.points[0] - ridge.points[row]).max() < 1e-6 * WIDTH


def test_isolated_points_and_duplicates_are_tiles_like_others(tmp_path):
    points = cloud(1200, away=0)
    points[:3] += [1e3, 0.0, 0.0]
    points[3:60] = points[3] + [0.0, 2e3, 0.0]
    ridge = whole(points)
    _, found = by_tiles(points, tmp_path, 300)
    assert np.array_equal(found["status"], ridge.status)
    assert set(ridge.status[:60]) == {1, 2}
    assert np.abs(found["points"] - ridge.points).max() < 1e-9 * WIDTH + 2 * np.spacing(5e6)


def test_choices_are_those_in_memory(tmp_path):
    points = sb.datasets.torus(3000, noise=0.03, seed=1).points
    chosen = choose(plan_tiles(points, tmp_path, points_per_tile=500), "auto", "auto")
    width = sb.selection.choose_bandwidth(points, 2).bandwidth
    assert chosen.rank == 2
    assert chosen.bandwidth == width
    assert chosen.typical_mass == sb.PrincipalSubbundle(points, 2, width).typical_mass


def test_of_more_points_than_the_sample_the_choice_is_nearly_the_same(tmp_path, monkeypatch):
    for module in ("plan", "sample", "choosing"):
        monkeypatch.setattr(f"subbundle.distributed.{module}.SAMPLE", 1500, raising=module != "choosing")
    points = sb.datasets.torus(20_000, noise=0.03, seed=1).points
    chosen = [
        choose(plan_tiles(points, tmp_path / str(size), points_per_tile=size), 2, "auto") for size in (2000, 9000)
    ]
    assert chosen[0] == chosen[1]
    whole = sb.selection.choose_bandwidth(points, 2)
    # Bandwidths of the grid differ by a factor of 1.26; the risk is flat around its minimum.
    assert abs(np.log(chosen[0].bandwidth / whole.bandwidth)) < np.log(1.26)
    typical = sb.PrincipalSubbundle(points, 2, chosen[0].bandwidth).typical_mass
    # A median of 400 masses that vary by a tenth or so.
    assert abs(np.log(chosen[0].typical_mass / typical)) < 0.1


def outward(points, normals):
    """Fraction of the normals of a torus about the origin, radius 1, that point outward."""
    ring = points * [1.0, 1.0, 0.0]
    ring *= 1.0 / np.linalg.norm(ring, axis=1, keepdims=True)
    return np.mean(np.einsum("ni,ni->n", points - ring, normals) > 0.0)


@pytest.mark.parametrize("ending", [".npy", ".parquet", ".ply", ".laz"])
def test_files_keep_their_rows_and_attributes(tmp_path, ending):
    points = np.rint(sb.datasets.torus(1500, noise=0.03, seed=2).points * 2**16) / 2**16
    points[5] += 30.0
    (tmp_path / "in").mkdir()
    for name, part, first in (("a", points[:900], 0), ("b", points[900:], 900)):
        shade = np.arange(first, first + len(part), dtype=np.uint16)
        path = tmp_path / "in" / f"{name}{ending}"
        if ending == ".npy":
            np.save(path, part)
        elif ending == ".ply":
            ring = part * [1.0, 1.0, 0.0]
            inward = ring / np.linalg.norm(ring, axis=1, keepdims=True) - part
            io.write_ply(
                path, part, normals=inward, colors=np.full((len(part), 3), 7, np.uint8), attributes={"shade": shade}
            )
        elif ending == ".parquet":
            arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            words = [f"row {i}" for i in shade]
            columns = {"word": words, "shade": shade, **dict(zip("xyz", part.T, strict=True))}
            parquet.write_table(arrow.table(columns), path)
        else:
            laspy = pytest.importorskip("laspy")
            header = laspy.LasHeader(point_format=3, version="1.4")
            header.scales = np.full(3, 2.0**-16)
            file = laspy.LasData(header)
            file.x, file.y, file.z = part.T
            file.intensity, file.gps_time = shade, shade / 7.0
            file.write(path)
    job = denoise(tmp_path / "in", tmp_path / "out", bandwidth=WIDTH, points_per_tile=400, outliers=8.0, normals=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"a{ending}", f"b{ending}"]
    ridge = whole(points)
    kept = ridge.outlier_scores <= 8.0
    assert not kept[5]
    assert (job.n_points, job.n_left_out) == (kept.sum(), np.sum(~kept))
    found = [_read(tmp_path / "out" / f"{name}{ending}") for name in "ab"]
    read = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    # LAS files keep a thousandth of the bandwidth or finer; others every bit.
    bound = 0.5e-3 * WIDTH if ending == ".laz" else 1e-9 * WIDTH
    assert np.abs(read["points"] - ridge.points[kept]).max() < bound
    assert np.allclose(read["noise"], ridge.noise[kept], rtol=1e-6)
    assert np.array_equal(read["status"], ridge.status[kept])
    if ending != ".npy":
        assert np.array_equal(read["shade"], np.flatnonzero(kept))
    # Normals have the orientation of the scanner's, where there are some.
    assert outward(read["points"], read["normals"]) == (0.0 if ending == ".ply" else 1.0)
    assert abs(job.noise - np.nanmedian(ridge.noise)) < 1e-9


def _read(path):
    """Points, normals, noise and status of a written file, and the attribute that it had before."""
    if path.suffix == ".npy":
        table = np.load(path)
        return {"points": table[:, :3], "normals": table[:, 3:6], "noise": table[:, 6], "status": table[:, 8]}
    if path.suffix == ".parquet":
        from pyarrow import parquet

        table = parquet.read_table(path)
        column = {name: table[name].to_numpy() for name in table.column_names}
        assert list(column["word"]) == [f"row {i}" for i in column["shade"]]
        return {
            "points": np.column_stack([column[axis] for axis in "xyz"]), "shade": column["shade"],
            "normals": np.column_stack([column[f"n{axis}"] for axis in "xyz"]), "noise": column["noise"],
            "status": column["status"],
        }  # fmt: skip
    if path.suffix == ".laz":
        import laspy

        file = laspy.read(path)
        assert np.allclose(file.gps_time * 7.0, file.intensity, atol=1e-9)
        return {
            "points": np.array(file.xyz), "shade": np.array(file.intensity), "noise": np.array(file["noise"]),
            "normals": np.column_stack([file[f"n{axis}"] for axis in "xyz"]), "status": np.array(file["status"]),
        }  # fmt: skip
    scan = sb.scans.read_scan(path)
    assert (scan.attributes["colors"] == 7).all()
    return {
        "points": scan.points,
        "normals": scan.normals,
        **{n: scan.attributes[n] for n in ("noise", "status", "shade")},
    }


def test_curves_in_the_plane_can_be_denoised(tmp_path):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2 * np.pi, 1500)
    points = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0.0, 0.03, (1500, 2))
    denoise(points, tmp_path / "out", rank=1, bandwidth=0.15, points_per_tile=300)
    found = np.load(tmp_path / "out" / "000000.npy")[:, :2]
    ridge = sb.ridge_project(sb.PrincipalSubbundle(points, 1, 0.15), points)
    assert np.abs(found - ridge.points).max() < 1e-10
    assert not (tmp_path / "out" / ".subbundle").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": 3}, "order must be"),
        ({"outliers": -1.0}, "outliers must be"),
        ({"bandwidth": 1e-9}, "bandwidth"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        denoise(cloud(600), tmp_path / "out", points_per_tile=300, **options)


def test_output_must_not_replace_input_nor_mix_with_an_interrupted_job(tmp_path):
    np.save(tmp_path / "a.npy", cloud(600))
    with pytest.raises(ValueError, match=r"the output must not replace the input; .*a\.npy would be"):
        denoise(tmp_path / "a.npy", tmp_path, bandwidth=WIDTH)
    assert not (tmp_path / ".subbundle").exists()  # what is refused leaves nothing behind
    (tmp_path / ".subbundle").mkdir()
    (tmp_path / ".subbundle" / "x").write_text("")
    with pytest.raises(FileExistsError, match="holds the work of a job that was interrupted. Write --resume"):
        denoise(tmp_path / "a.npy", tmp_path, bandwidth=WIDTH)
    np.save(tmp_path / "b.npy", np.zeros((50, 5)))
    with pytest.raises(ValueError, match="points must have 2 or 3 coordinates to be denoised in tiles; they have 5"):
        denoise(tmp_path / "b.npy", tmp_path / "out", bandwidth=WIDTH)
    with pytest.raises(ValueError, match=r"bounds must be two corners, the lower first, shape \(2, 3\)"):
        denoise(tmp_path / "a.npy", tmp_path / "out", bandwidth=WIDTH, bounds=[0.0, 1.0])
    with pytest.raises(TypeError, match="points must hold real numbers"):
        denoise(np.array([["a", "b", "c"]]), tmp_path / "out", bandwidth=WIDTH)
    assert not (tmp_path / "out").exists()


def test_an_indexed_file_becomes_a_plain_one(tmp_path):
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales = np.full(3, 2.0**-16)
    header.vlrs.append(laspy.VLR("copc", 1, "the index", bytes(160)))
    header.vlrs.append(laspy.VLR("someone", 7, "a note", b"kept"))
    file = laspy.LasData(header)
    file.x, file.y, file.z = sb.datasets.sphere(600, noise=0.03, seed=0).points.T
    file.write(tmp_path / "a.copc.laz")
    job = denoise(tmp_path / "a.copc.laz", tmp_path / "out", bandwidth=WIDTH, points_per_tile=300)
    assert [path.name for path in job.paths] == ["a.laz"]
    found = laspy.read(job.paths[0])
    assert [record.user_id for record in found.vlrs if record.user_id in ("copc", "someone")] == ["someone"]
