"""What goes wrong outside the mathematics: kills, full disks, interrupts, forks, threads, too little memory."""

import _thread
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import subbundle as sb
from subbundle import cli
from subbundle._atomic import atomic_path
from subbundle._parallel import run_rows
from subbundle.commands import diagnose

posix = pytest.mark.skipif(os.name != "posix", reason="signals and forks of POSIX")


def start(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@posix
def test_a_killed_writer_leaves_the_old_file_and_the_next_one_removes_temporary_files(tmp_path):
    script = """
import sys
from subbundle._atomic import atomic_path
with atomic_path(sys.argv[1]) as temporary, open(temporary, "w") as stream:
    stream.write("half of the new")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""
    target = tmp_path / "result.csv"
    target.write_text("old")
    writers = [start(script, target) for _ in range(2)]
    for writer in writers:
        assert writer.stdout.readline() == "writing\n"
    writers[0].kill()
    writers[0].communicate()
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3
    with atomic_path(target) as temporary:
        temporary.write_text("new")
    # The file of the writer that still runs is left alone; it comes into place when that writer is done.
    assert target.read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2
    writers[1].communicate("")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["half of the new"]


@posix
def test_a_full_disk_is_an_error_that_leaves_nothing_behind(tmp_path):
    # No file may grow beyond a megabyte: what the system answers is what it answers when the disk is full.
    script = """
import resource, signal, sys
import numpy as np
from subbundle import io
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    io.write_ply(sys.argv[1], np.zeros((100_000, 3)))
except OSError as error:
    print(error.strerror)
"""
    out, err = start(script, tmp_path / "large.ply").communicate()
    assert out == "File too large\n", err
    assert list(tmp_path.iterdir()) == []


@posix
def test_an_interrupt_ends_all_threads_before_it_is_raised():
    done, interrupted = [], threading.Event()
    before = threading.active_count()

    def work(start, stop):
        if threading.current_thread() is not threading.main_thread() and not interrupted.is_set():
            interrupted.set()
            _thread.interrupt_main()
        # The main thread gets to know of it here or while it waits for the others.
        threading.Event().wait(0.01)
        done.append((start, stop))

    with pytest.raises(KeyboardInterrupt):
        run_rows(work, 100_000, 3)
    assert threading.active_count() == before
    assert sum(stop - start for start, stop in done) < 100_000


@posix
def test_a_fork_while_other_threads_work_can_work_too():
    script = """
import os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads, which is the point
from subbundle._parallel import run_rows
begun, go_on = threading.Event(), threading.Event()
def hold(start, stop):
    begun.set()
    go_on.wait()
thread = threading.Thread(target=run_rows, args=(hold, 1, 1))
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    rows = []
    run_rows(lambda start, stop: rows.extend(range(start, stop)), 10, 2)
    os._exit(0 if sorted(rows) == list(range(10)) else 1)
print(os.waitpid(child, 0)[1])
go_on.set()
thread.join()
"""
    process = start(script)
    try:
        assert process.communicate(timeout=60) == ("0\n", "")
    finally:
        process.kill()


def test_many_threads_share_one_bundle(wavy_cloud):
    points = wavy_cloud(3, 400)
    bundle = sb.PrincipalSubbundle(points, 2, 0.6, n_jobs=2)
    alone = bundle.frame(points[:50]).vectors
    results = [None] * 8

    def ask(i):
        results[i] = bundle.frame(points[:50]).vectors

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, alone) for result in results)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            MemoryError("Unable to allocate 9 TiB"),
            2,
            "there is not enough memory: Unable to allocate 9 TiB. Take fewer",
        ),
        (MemoryError(), 2, "there is not enough memory: no more can be allocated."),
        (ZeroDivisionError("division by zero"), 3, "ZeroDivisionError at test_faults.py:"),
        (RuntimeError("two\nlines"), 3, "This is a bug in subbundle; please report it"),
        (TypeError("X must be an array; got a str."), 2, "X must be an array"),
    ],
)
def test_every_failure_of_a_command_is_one_line(error, code, said, monkeypatch, capsys):
    def fail(options):
        raise error

    monkeypatch.setattr(diagnose, "run", fail)
    assert cli.main(["diagnose", "cloud.ply"]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_the_traceback_of_a_fault_can_be_had(monkeypatch):
    monkeypatch.setattr(diagnose, "run", lambda options: 1 / 0)
    monkeypatch.setenv("SUBBUNDLE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["diagnose", "cloud.ply"])


# A command in a new process, with `run` in place of what it does.
COMMAND = """
import sys, time
from subbundle import cli
from subbundle.commands import diagnose
{run}
diagnose.run = run
sys.exit(cli.main(["diagnose", "cloud.ply"]))
"""


@posix
def test_a_closed_pipe_is_no_traceback():
    run = "def run(options):\n    sys.stdin.read()\n    print('x' * 100_000)"
    with start(COMMAND.format(run=run)) as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@posix
def test_ctrl_c_on_the_command_line_ends_it_with_130():
    run = "def run(options):\n    print('begun', flush=True)\n    time.sleep(60)"
    process = start(COMMAND.format(run=run))
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", "\nsubbundle: interrupted\n")
    assert process.returncode == 130


@posix
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell")
def test_a_matrix_beyond_the_memory_is_refused_before_it_is_made():
    script = """
import resource
from subbundle import _memory
left = 1 << 30
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + left, used + left))
_memory.require_memory(left // 4, "a few", "nothing")
try:
    _memory.require_memory(2 * left, "distances of 9 × 9 points", "Ask for fewer.")
except MemoryError as error:
    print(str(error).replace("1024 MiB", "1.0 GiB"))
"""
    out, err = start(script).communicate()
    assert out.startswith("distances of 9 × 9 points need 2.0 GiB; "), err
    assert out.endswith(" are free. Ask for fewer.\n")


def test_too_many_pairs_are_refused(wavy_cloud):
    points = wavy_cloud(3, 400)
    bundle, many = sb.PrincipalSubbundle(points, 2, 0.6), np.broadcast_to(points[0], (3_000_000, 3))
    with pytest.raises(MemoryError, match=r"of 3000000 × 3000000 points need .* GiB; .* are free\. Pass fewer"):
        sb.pairwise_distance(bundle, many)
