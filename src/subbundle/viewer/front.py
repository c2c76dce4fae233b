"""`view`: interactive scenes of what the library takes or returns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subbundle._atomic import check_target, write_text
from subbundle.viewer.gathering import Extras, Gathered, gather
from subbundle.viewer.measuring import answer
from subbundle.viewer.packing import pack
from subbundle.viewer.page import page_of
from subbundle.viewer.scene import Scene

if TYPE_CHECKING:
    from subbundle.viewer.server import Server

# Of the frame in a notebook, in pixels: controls and scene without scrolling.
_HEIGHT = 560


def view(
    obj: Any,
    rows: Any = None,
    *,
    columns: Mapping[str, Any] | Any = None,
    color: str | None = None,
    image_shape: tuple[int, int] | None = None,
    title: str | None = None,
    hidden: Collection[str] = (),
) -> View:
    """Show ``obj`` in a browser, a notebook or a file.

    Parameters
    ----------
    obj
        Points [n, d] (an array, a data frame, a `Cloud`, anything with ``points``), a `Mesh` or anything with vertices
        and faces, a `Chart`, `Atlas`, `Submanifold`, `Geodesics`, a subbundle, the `Report` of `diagnose`, a fitted
        estimator; or a dict of such by name.
    rows : [n, n_features], optional
        With an estimator: the data to show. Without it the projections of the training data are shown.
    columns : mapping of str to [n], or a data frame, optional
        Further quantities to colour by: numbers, strings, or colours [n, 3].
    color : str, optional
        The quantity that colours at first.
    image_shape : (height, width), optional
        When features are the pixels of grey images: hovering shows them.
    title : str, optional
        Heading of the page.
    hidden : name or names in ``obj``, optional
        Layers that are not shown until their box is ticked: the points of a scan would hide the mesh made from them.

    Returns
    -------
    View
        Shows itself in Jupyter; ``.show()`` opens the browser, ``.save("out.html")`` writes one file.

    Examples
    --------
    >>> import subbundle as sb
    >>> page = sb.view(sb.datasets.torus(500).points, title="a torus")
    >>> page
    View('a torus': 500 points)
    """
    is_array = isinstance(obj, list | tuple) or hasattr(obj, "__array__")
    named = dict(obj) if isinstance(obj, Mapping) else {"points" if is_array else type(obj).__name__: obj}
    if not named:
        raise ValueError("view needs at least one object; got an empty dict.")
    hidden = [hidden] if isinstance(hidden, str) else hidden
    if unknown := [str(name) for name in hidden if name not in named]:
        raise ValueError(f"hidden must name what is viewed: {', '.join(map(str, named))}. Got {', '.join(unknown)}.")
    extras = Extras(rows, _columns(columns), color, image_shape)
    gathered = gather(named, extras, hidden)
    gathered.scene.title = title if title is not None else ", ".join(map(str, named))
    return View(gathered)


class View:
    """An interactive scene, made by `view`.

    In Jupyter the last line of a cell shows it, with exact geodesics as long as the kernel runs.
    """

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered

    @property
    def scene(self) -> Scene:
        """What is shown."""
        return self._gathered.scene

    def answer(self, question: Any) -> dict[str, Any]:
        """The reply to a request of the page: exact geodesics between two rows."""
        return answer(self._gathered.measures, question)

    def html(self, *, address: str | None = None) -> str:
        """The whole page. ``address``: where it requests exact geodesics; without one it is stand-alone."""
        return page_of(*self.packed(address))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one file, which must end in .html, that shows everything offline; return its path."""
        return write_text(check_target(path, (".html",)), self.html())

    def serve(self, port: int = 0) -> Server:
        """Serve the page on the loopback address, with exact geodesics; ``port`` 0 takes any free one."""
        from subbundle.viewer.server import Server

        return Server(self, port)

    def show(self, *, port: int = 0, block: bool = False) -> Server:
        """Open the page in the browser. The server ends with the process, with ``.close()``, or (``block``) Ctrl-C."""
        server = self.serve(port)
        server.open()
        if block:
            server.wait()
        return server

    def widget(self, *, height: int = _HEIGHT) -> Any:
        """The view as a notebook widget of ``height`` pixels; needs anywidget."""
        from subbundle.viewer.widget import ViewWidget

        description, block = self.packed(None, exact=True)
        return ViewWidget(description, block, self.answer, height)

    def packed(self, address: str | None = None, *, exact: bool = False) -> tuple[dict[str, Any], bytes]:
        """Description and bytes of the page; ``exact`` where its requests are answered."""
        description, block = pack(self.scene)
        if address is not None or exact:
            description |= {"address": address, "exact": list(self._gathered.measures)}
        return description, block

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """For notebooks: the live widget, and the page itself for those that run none."""
        bundle = {"text/plain": repr(self), "text/html": self._repr_html_()}
        try:
            live = self.widget()._repr_mimebundle_(**kwargs)
        except ImportError:
            return bundle
        if isinstance(live, tuple):
            return bundle | live[0], live[1]
        return bundle | (live or {})

    def _repr_html_(self) -> str:
        """The page in a separate frame."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:{_HEIGHT}px;border:0" '
            'sandbox="allow-scripts allow-downloads"></iframe>'
        )

    def __repr__(self) -> str:
        from subbundle.viewer.packing import subtitle

        return f"View({self.scene.title!r}: {subtitle(self.scene)})"


def _columns(columns: Any) -> dict[str, Any]:
    if columns is None:
        return {}
    if hasattr(columns, "columns") and hasattr(columns, "to_numpy"):
        return {str(name): columns[name].to_numpy() for name in columns.columns}
    if not isinstance(columns, Mapping):
        raise TypeError(
            f"columns must be a dict or a data frame; got {type(columns).__name__}. Write {{'name': array}}."
        )
    return dict(columns)
