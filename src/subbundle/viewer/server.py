"""The page on the loopback address, with Python behind it.

It serves the page and the answers to its requests only, both under a random path, so that no other page
in the browser can send requests. Those with another host than the loopback address are refused, against DNS rebinding.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subbundle.viewer.front import View

HOST = "127.0.0.1"
# Most bytes of a request; two row numbers take a hundred.
_MOST_BYTES = 10_000


class Server:
    """Serves one `View` until it is closed. ``url`` is its address."""

    def __init__(self, view: View, port: int = 0) -> None:
        secret = secrets.token_urlsafe(12)
        path, ask = f"/{secret}/", f"/{secret}/ask"
        page = view.html(address=ask).encode("utf-8")
        try:
            self._http = _Http((HOST, port), _handler(view, path, page, ask))
        except OSError as error:
            raise OSError(
                f"port {port} on {HOST} must be free; it is not ({error.strerror}). Choose another, or 0 for any."
            ) from error
        except OverflowError as error:
            raise ValueError(f"port must lie in 0..65535; got {port}.") from error
        self.port = int(self._http.server_address[1])
        self.url = f"http://{HOST}:{self.port}{path}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def open(self) -> bool:
        """Open the page in the user's browser; False, with the address printed, where there is none."""
        opened = webbrowser.open(self.url)
        if not opened:
            print(f"no browser could be opened here; the page is at {self.url}", file=sys.stderr)
        return opened

    def wait(self) -> None:
        """Serve until Ctrl-C, then close."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()

    def __repr__(self) -> str:
        return f"Server({self.url})"


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    # A second server on the same port must fail, not share it.
    allow_reuse_address = sys.platform != "win32"


def _handler(view: View, path: str, page: bytes, ask: str) -> type[BaseHTTPRequestHandler]:
    # Geodesics are computed one at a time: they use all cores themselves.
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        """Answers GET for the page and POST for requests of it, and nothing else."""

        def do_GET(self) -> None:
            if self._allowed() and self.path == path:
                self._send(200, "text/html; charset=utf-8", page)
            else:
                self._send(404, "text/plain", b"nothing is here\n")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not self._allowed() or self.path != ask or not length.isdigit() or int(length) > _MOST_BYTES:
                self._send(404, "text/plain", b"nothing is here\n")
                return
            try:
                question = json.loads(self.rfile.read(int(length)))
            except ValueError:
                self._send(400, "text/plain", b"a request must be JSON\n")
                return
            with turn:
                reply = view.answer(question)
            self._send(200, "application/json", json.dumps(reply).encode("utf-8"))

        def _allowed(self) -> bool:
            name = self.headers.get("Host", "").rsplit(":", 1)[0]
            return name in (HOST, "localhost")

        def _send(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: standard error is for the progress."""

    return Handler
