"""With Python behind the page: exact geodesics from the server and in a notebook, and what the server refuses."""

from __future__ import annotations

import http.client
import json
import socket
from base64 import b64encode

import numpy as np
import pytest

import subbundle as sb
from subbundle.viewer.server import HOST


@pytest.fixture(scope="module")
def bundle():
    return sb.PrincipalSubbundle(sb.datasets.torus(900, noise=0.01, seed=2).points, rank=2, bandwidth=0.25)


@pytest.fixture
def server(bundle):
    pytest.importorskip("k3d", reason="needs k3d: pip install -e '.[view]'")
    running = sb.view(bundle).serve()
    yield running
    running.close()


def ask(server, path, body=None, host=HOST):
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    method = "GET" if body is None else "POST"
    connection.request(method, path, body=body, headers={"Host": f"{host}:{server.port}"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def seen_rows(page, bundle):
    """Two rows that nothing hides, far from each other: those that a click at their place would find."""
    script = """async (rows) => {
        const panel = subbundleView.panels[0];
        return rows.filter((row) => panel.project("layer0", row)[2] < 1);
    }"""
    assert page.js(script, [0])
    points = bundle.cloud.points
    toward = np.array(page.js("subbundleView.panels[0].camera.position.toArray()"))
    front = np.argsort(-(points @ toward))
    first = front[0]
    second = next(row for row in front[:200] if np.linalg.norm(points[row] - points[first]) > 0.5)
    return int(first), int(second)


def test_two_clicks_give_the_exact_geodesic(page, server, bundle):
    page.goto(server.url)
    rows = seen_rows(page, bundle)
    for row in rows:
        page.raw.mouse.click(*page.place("space3", "layer0", row))
    page.wait("subbundleView.state.geodesic?.exact === true")
    clicked = page.js("subbundleView.state.pins.map((pin) => pin.index)")
    points = bundle.cloud.points[clicked]
    found = page.js("subbundleView.state.geodesic")
    assert found["length"] == pytest.approx(float(sb.distance(bundle, *points)), rel=1e-6)
    assert found["straight"] == pytest.approx(np.linalg.norm(points[0] - points[1]), rel=1e-12)
    path = np.array(page.js("subbundleView.path.space3"))
    # One end is exact, the other as near as a geodesic of a noisy bundle comes.
    ends = [np.linalg.norm(path[k] - points[k]) for k in (0, -1)]
    assert min(ends) < 1e-9
    assert max(ends) < bundle.bandwidth
    # The path is a geodesic of the same way; observations beside the ridge and noise in the bundle change its length by
    # at most the 5 % that `log` allows.
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).sum() == pytest.approx(found["length"], rel=0.05)
    assert page.raw.locator(".sb-exact").inner_text() == "exact"
    assert {url.split("/")[2] for url in page.requests if url.startswith("http")} == {f"{HOST}:{server.port}"}


def test_the_server_gives_only_the_page_and_its_answers(server):
    secret = server.url.split("/")[3]
    assert ask(server, f"/{secret}/")[0] == 200
    for path in ("/", "/etc/passwd", f"/{secret}/../../etc/passwd", f"/{secret}", f"/{secret}/ask"):
        assert ask(server, path)[0] == 404, path
    assert ask(server, f"/{secret}/", host="evil.example")[0] == 404
    assert ask(server, "/ask", b"{}")[0] == 404
    assert ask(server, f"/{secret}/ask", b"no json")[0] == 400
    assert ask(server, f"/{secret}/ask", b"x" * 20_000)[0] == 404


@pytest.mark.parametrize(
    "question",
    [[], {"kind": "geodesic"}, {"kind": "geodesic", "table": "table0", "rows": [0, 10**9]},
     {"kind": "geodesic", "table": "nothing", "rows": [0, 1]}, {"kind": "geodesic", "table": "table0", "rows": [-1, 1]},
     {"kind": "geodesic", "table": "table0", "rows": ["0", True]}],
)  # fmt: skip
def test_bad_requests_get_a_message(server, question):
    status, body = ask(server, f"{server.url[server.url.index('/', 8) :]}ask", json.dumps(question).encode())
    assert status == 200
    assert json.loads(body)["error"]


def test_it_listens_on_the_loopback_address_only(server):
    assert server._http.server_address[0] == "127.0.0.1"


def test_a_busy_port_is_reported(server, bundle):
    with pytest.raises(OSError, match=rf"port {server.port} on 127.0.0.1 must be free; it is not"):
        sb.view(bundle).serve(server.port)


def test_a_closed_server_frees_its_port(bundle):
    pytest.importorskip("k3d")
    running = sb.view(bundle).serve()
    running.close()
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind((HOST, running.port))


def test_a_notebook_shows_it_with_the_kernel_behind(page, bundle):
    """The module that a notebook runs, with a model as anywidget gives it; messages go to the widget in Python."""
    pytest.importorskip("anywidget")
    widget = sb.view(bundle).widget()
    replies = []
    widget.send = replies.append
    page.raw.goto("about:blank")
    page.raw.expose_function("toPython", lambda message: (widget._reply(None, message, []), replies[-1])[1])
    state = {"_description": widget._description, "_style": widget._style, "height": widget.height}
    data = {name: b64encode(getattr(widget, name)).decode() for name in ("_blob", "_library")}
    page.raw.evaluate(
        """async ([code, state, data]) => {
            document.body.innerHTML = '<div id="cell" style="width:1000px"></div>';
            const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
            const { default: widget } = await import(url);
            const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
            let listener = null;
            const model = {
                get: (name) => name in data ? bytes(data[name]) : state[name],
                on: (_, call) => { listener = call; },
                send: async (message) => listener(await toPython(message)),
            };
            await widget.render({ model, el: document.getElementById("cell") });
        }""",
        [widget._esm, state, data],
    )
    page.wait("Boolean(globalThis.subbundleView?.ready)")
    page.js("subbundleView.clickAt({table: 'table0', index: 3}); subbundleView.clickAt({table: 'table0', index: 200})")
    page.wait("subbundleView.state.geodesic?.exact === true")
    expected = float(sb.distance(bundle, bundle.cloud.points[3], bundle.cloud.points[200]))
    assert page.js("subbundleView.state.geodesic.length") == pytest.approx(expected, rel=1e-6)
    assert (np.abs(page.pixels()[100:500, 320:950] - 255).max(axis=2) > 30).mean() > 0.03


def test_a_cell_without_widgets_shows_the_page_in_a_frame(page):
    view = sb.view(sb.datasets.torus(500).points)
    bundle = view._repr_mimebundle_()
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in shown
    page.raw.set_content(shown["text/html"])
    frame = next(frame for frame in page.raw.frames if frame != page.raw.main_frame)
    for _ in range(200):
        if frame.evaluate("Boolean(globalThis.subbundleView?.ready)"):
            break
        page.raw.wait_for_timeout(100)
    assert frame.evaluate("subbundleView.panels[0].frames") > 0
    assert [url for url in page.requests if url.startswith("http")] == []
