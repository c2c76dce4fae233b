"""The viewer in the cell of a notebook: the same modules, connected to the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from subbundle.viewer.page import library, module, style


class ViewWidget(anywidget.AnyWidget):
    """Shows a packed scene; requests of the page are answered by ``answer``."""

    _esm = module() + "\nexport default { render: startWidget };\n"
    _description = traitlets.Unicode().tag(sync=True)
    _blob = traitlets.Bytes().tag(sync=True)
    _library = traitlets.Bytes().tag(sync=True)
    _style = traitlets.Unicode().tag(sync=True)
    height = traitlets.Unicode("560px").tag(sync=True)

    def __init__(
        self, description: dict[str, Any], block: bytes, answer: Callable[[Any], dict[str, Any]], height: int
    ) -> None:
        super().__init__(
            _description=json.dumps(description), _blob=block, _library=library(), _style=style(), height=f"{height}px"
        )
        self._answer = answer
        self.on_msg(self._reply)

    def _reply(self, _: Any, message: Any, buffers: Any) -> None:
        self.send({"number": message.get("number"), "answer": self._answer(message.get("question"))})
