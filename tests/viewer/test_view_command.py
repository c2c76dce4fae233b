"""``subbundle view``: every kind of file, one page, one server, and messages for what cannot be shown."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from functools import partial

import numpy as np
import pytest

import subbundle as sb
from subbundle.cli import main
from subbundle.io import write_ply

pytest.importorskip("k3d", reason="needs k3d: pip install -e '.[view]'")
POINTS = sb.datasets.torus(400, seed=3).points


def described(path):
    """The description inside a page."""
    found = re.search(r'id="sb-description">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found[1])


def test_clouds_meshes_and_tables_on_one_page(tmp_path, capsys):
    write_ply(tmp_path / "cloud.ply", POINTS)
    sb.Mesh(POINTS, np.random.default_rng(0).integers(0, 400, (60, 3))).write(tmp_path / "mesh.ply")
    rows = "\n".join(f"{x},{y},{'abc'[i % 3]}" for i, (x, y, _) in enumerate(POINTS))
    (tmp_path / "table.csv").write_text(f"coordinate_1,coordinate_2,kind\n{rows}\n")
    page = tmp_path / "page.html"
    files = [str(tmp_path / name) for name in ("table.csv", "cloud.ply", "mesh.ply")]
    assert main(["view", *files, "--html", str(page)]) == 0
    assert "opens offline" in capsys.readouterr().out
    description = described(page)
    assert [(layer["name"], layer["kind"]) for layer in description["layers"]] == [
        ("table.csv", "points"), ("cloud.ply", "points"), ("mesh.ply", "mesh")
    ]  # fmt: skip
    first = description["tables"]["table0"]
    assert first["default"] == "kind"
    assert first["quantities"][0]["labels"] == ["a", "b", "c"]


def test_a_saved_model_beside_its_table(tmp_path):
    cloud = sb.datasets.s_surface(500, noise=0.01, seed=0).points
    sb.save(sb.AtlasEmbedding(2).fit(cloud), tmp_path / "model.npz")
    np.save(tmp_path / "rows.npy", cloud[:200])
    page = tmp_path / "page.html"
    assert main(["view", str(tmp_path / "model.npz"), str(tmp_path / "rows.npy"), "--html", str(page)]) == 0
    description = described(page)
    assert [panel["key"] for panel in description["panels"]] == ["coordinates", "space3"]
    assert description["tables"]["table0"]["total"] == 200
    assert [walk["name"] for walk in description["walks"]] == ["coordinate 1", "coordinate 2"]
    np.save(tmp_path / "rows.npy", cloud[:, :2])
    assert main(["view", str(tmp_path / "model.npz"), str(tmp_path / "rows.npy"), "--html", str(page)]) == 2


def test_a_job_is_run_first(tmp_path):
    np.save(tmp_path / "cloud.npy", sb.datasets.sphere(1500, noise=0.01, seed=0).points)
    page = tmp_path / "page.html"
    assert main(["view", str(tmp_path / "cloud.npy"), "--run", "reconstruct", "--html", str(page)]) == 0
    assert [layer["kind"] for layer in described(page)["layers"]] == ["points", "mesh"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.ply", "--html", "page.html"], "nothing.ply must be an existing file"),
        (["cloud.npy", "--html", "page.pdf"], "--html must end in .html; got 'page.pdf'"),
        (["cloud.npy", "--html", "page.html", "--color", "heat"], "--color must be one of x, y, z; got 'heat'"),
        (["empty.npy", "--html", "page.html"], "empty.npy"),
        (["nan.npy", "--html", "page.html"], "nan.npy"),
        (["cloud.npy", "--port", "99999"], "must be a port number in 0..65535; got '99999'"),
        (["cloud.npy", "--image-shape", "28"], "must be height x width like 28x28; got '28'"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("cloud.npy", POINTS)
    np.save("empty.npy", np.zeros((0, 3)))
    np.save("nan.npy", np.full((4, 3), np.nan))
    try:
        code = main(["view", *arguments])
    except SystemExit as exit_:
        code = exit_.code
    error = capsys.readouterr().err
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_a_busy_port_is_one_line(tmp_path, capsys):
    np.save(tmp_path / "cloud.npy", POINTS)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["view", str(tmp_path / "cloud.npy"), "--port", str(port), "--no-browser"]) == 2
    assert f"port {port} on 127.0.0.1 must be free" in capsys.readouterr().err


def test_the_server_ends_with_an_interrupt(tmp_path):
    np.save(tmp_path / "cloud.npy", POINTS)
    command = [sys.executable, "-m", "subbundle", "view", str(tmp_path / "cloud.npy"), "--no-browser"]
    # Whoever runs the tests in the background has interrupts ignored, and so would the command.
    heard = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, preexec_fn=heard, **pipes) as running:
        url = running.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url, timeout=60) as page:
            assert b"sb-root" in page.read()
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=60)
    assert running.returncode == 0
    assert "Traceback" not in error


def test_without_a_display_the_address_is_printed(monkeypatch, capsys):
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    server = sb.view(POINTS).show()
    server.close()
    assert f"no browser could be opened here; the page is at {server.url}" in capsys.readouterr().err
