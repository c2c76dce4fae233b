"""What goes wrong in a job, with real workers: it is correct, or reports what failed and why, and can be resumed."""

import os
import signal
import struct
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import subbundle as sb
from subbundle.distributed import JobError, cluster, denoise, plan_tiles, run

pytest.importorskip("dask")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

WIDTH = 0.25


def sphere(n=900, seed=0):
    return sb.datasets.sphere(n, noise=0.03, seed=seed).points


def ridge_of(points):
    return sb.ridge_project(sb.PrincipalSubbundle(points, 2, WIDTH), points).points


def check(points, folder):
    """Whether the folder holds the ridge of all points, and nothing else."""
    assert [path.name for path in sorted(folder.iterdir())] == ["points.npy"]
    assert np.abs(np.load(folder / "points.npy")[:, :3] - ridge_of(points)).max() < 1e-9 * WIDTH


@pytest.fixture
def source(tmp_path):
    np.save(tmp_path / "points.npy", sphere())
    return tmp_path / "points.npy"


def limit(n_bytes):
    """No file may grow beyond so many bytes: what the system answers is what it answers when the disk is full."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes if n_bytes else hard, hard))


# Before the tests that kill workers: those that take their place may be long in coming.
@pytest.mark.parametrize(("n_bytes", "said"), [(20_000, "the disk is full"), (40_000, "File too large")])
def test_a_full_disk_ends_the_job_and_resume_finishes_it(client, source, tmp_path, n_bytes, said):
    # Tiles of at most 300 rows need 10 kB for their points and 30 kB for what is found; all rows together 43 kB.
    out = tmp_path / "out"
    client.wait_for_workers(2, timeout=120)  # one that comes later, in place of a killed one, would know no limit
    client.run(limit, n_bytes)
    try:
        with pytest.raises(JobError, match=said):
            denoise(source, out, bandwidth=WIDTH, points_per_tile=300, client=client)
    finally:
        client.run(limit, 0)
    assert not (out / "points.npy").exists()
    with pytest.raises(FileExistsError, match="Write --resume"):
        denoise(source, out, bandwidth=WIDTH, points_per_tile=300, client=client)
    denoise(source, out, bandwidth=WIDTH, points_per_tile=300, client=client, resume=True)
    check(sphere(), out)


def count_or_die(plan, tile, settings):
    """A task that kills its worker, the first time or always."""
    marker = Path(settings["marker"])
    if tile == 1 and (settings["always"] or not marker.exists()):
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"count": np.array([len(plan.tile(tile).rows)])}


def test_a_worker_that_is_killed_is_replaced_and_its_tile_done_again(client, source, tmp_path):
    plan = plan_tiles(source, tmp_path / "work", points_per_tile=300)
    settings = {"marker": str(tmp_path / "killed"), "always": False}
    results = run(plan, count_or_die, settings, client=client)
    assert (tmp_path / "killed").exists()
    assert sum(int(results.load(tile)["count"][0]) for tile in range(len(plan))) == 900


def test_a_tile_that_kills_every_worker_is_named(client, source, tmp_path):
    plan = plan_tiles(source, tmp_path / "work", points_per_tile=300)
    scheduler = client.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        with pytest.raises(JobError, match=r"failed for 1 of \d: tile 1 .*its worker was killed every time"):
            run(plan, count_or_die, {"marker": str(tmp_path / "killed"), "always": True}, client=client)
    finally:
        scheduler.allowed_failures = before
    assert len(list((tmp_path / "work").glob("count_or_die-*.npz"))) == len(plan) - 1


def wait_for(plan, tile, settings):
    """A task that waits, but for the first tile, until a file is there."""
    while tile > 0 and not Path(settings["go"]).exists():
        time.sleep(0.05)
    return {"count": np.array([len(plan.tile(tile).rows)])}


def test_a_scheduler_that_is_lost_ends_the_job_which_another_one_resumes(source, tmp_path):
    plan = plan_tiles(source, tmp_path / "work", points_per_tile=300)
    settings = {"go": str(tmp_path / "go")}
    done = tmp_path / "work"
    # How long a client looks for a scheduler that is gone; half a minute otherwise.
    quick = pytest.importorskip("dask").config.set({"distributed.comm.timeouts.connect": "1s"})
    with quick, cluster(workers=1, memory="2GB") as client:

        def lose():
            while not list(done.glob("wait_for-000000-*.npz")):
                time.sleep(0.05)
            client.cluster.sync(client.cluster.scheduler.close)

        thread = threading.Thread(target=lose)
        thread.start()
        with pytest.raises(JobError, match=r"the scheduler was lost.*--resume"):
            run(plan, wait_for, settings, client=client)
        thread.join()
        (tmp_path / "go").touch()
    first = next(iter(done.glob("wait_for-000000-*.npz")))
    changed = first.stat().st_mtime_ns
    results = run(plan, wait_for, settings)
    assert first.stat().st_mtime_ns == changed
    assert sum(int(results.load(tile)["count"][0]) for tile in range(len(plan))) == 900


def test_a_damaged_tile_is_named_and_a_new_job_is_right(client, source, tmp_path):
    out = tmp_path / "out"
    plan = plan_tiles(source, out / ".subbundle", points_per_tile=300)
    plan.path(1).write_bytes(plan.path(1).read_bytes()[:-100])
    with pytest.raises(JobError, match=r"the file of tile 1, .*, is damaged or missing: .* again, without --resume"):
        denoise(source, out, bandwidth=WIDTH, points_per_tile=300, client=client, resume=True)
    assert not (out / "points.npy").exists()
    denoise(source, out, bandwidth=WIDTH, points_per_tile=300, client=client, work=tmp_path / "new")
    assert np.abs(np.load(out / "points.npy")[:, :3] - ridge_of(sphere())).max() < 1e-9 * WIDTH


def test_a_damaged_file_is_named(client, tmp_path):
    laspy = pytest.importorskip("laspy")
    file = laspy.LasData(laspy.LasHeader(point_format=0, version="1.2"))
    file.x, file.y, file.z = (1000.0 * sphere()).T
    for name in ("a.laz", "b.laz"):
        file.write(tmp_path / name)
    content = (tmp_path / "b.laz").read_bytes()
    (tmp_path / "b.laz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"b\.laz could not be read as \.laz: .*cut off"):
        denoise(tmp_path, tmp_path / "out", bandwidth=250.0, client=client)
    assert not list((tmp_path / "out").glob("*.laz"))


def clouds():
    """Clouds that fill tiles unevenly: two distant components, and 90 % of the points in one cluster."""
    halves = sphere()
    halves[450:] += [1000.0, 0.0, 0.0]
    clump = sphere()
    clump[:810] = 0.05 * sphere(810, seed=1) + [0.0, 0.0, 1.0]
    return {"empty tiles": halves, "a clump": clump}


@pytest.mark.parametrize("name", ["empty tiles", "a clump"])
def test_clouds_that_fill_tiles_unevenly(client, tmp_path, name):
    points = clouds()[name]
    np.save(tmp_path / "points.npy", points)
    job = denoise(tmp_path / "points.npy", tmp_path / "out", bandwidth=WIDTH, points_per_tile=200, client=client)
    assert job.n_tiles >= 5
    check(points, tmp_path / "out")


def test_points_outside_of_the_bounds_that_a_file_declares(client, tmp_path):
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(point_format=0, version="1.2")
    header.scales = np.full(3, 2.0**-16)
    file = laspy.LasData(header)
    points = np.rint(sphere() * 2**16) / 2**16
    file.x, file.y, file.z = points.T
    file.write(tmp_path / "points.las")
    content = bytearray((tmp_path / "points.las").read_bytes())
    struct.pack_into("<6d", content, 179, *[1e-7, 0.0] * 3)  # largest and smallest x, y, z
    (tmp_path / "points.las").write_bytes(content)
    denoise(tmp_path / "points.las", tmp_path / "out", bandwidth=WIDTH, points_per_tile=300, client=client)
    found = np.array(laspy.read(tmp_path / "out" / "points.las").xyz)
    # Rounded to 1e-4, half of which is the error.
    assert np.abs(found - ridge_of(points)).max() < 0.51e-4


def test_a_job_whose_workers_all_ended_ends(client, source, tmp_path, monkeypatch):
    plan, scheduler = plan_tiles(source, tmp_path / "work", points_per_tile=300), client.cluster.scheduler
    assert scheduler.no_workers_timeout > 60.0
    monkeypatch.setattr(scheduler, "no_workers_timeout", 0.5)
    client.cluster.scale(0)
    while scheduler.workers:
        time.sleep(0.05)
    try:
        with pytest.raises(JobError, match=r"failed for (\d) of \1: .*all workers ended and none came in their place"):
            run(plan, wait_for, {"go": str(tmp_path / "never")}, client=client)
    finally:
        client.cluster.scale(2)
