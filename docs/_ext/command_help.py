"""``{command-help} embed``: what ``subbundle embed --help`` prints."""

import os
from unittest import mock

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from subbundle.cli import _parser


class CommandHelp(SphinxDirective):
    """The help of one command, 88 columns wide, as a block of text."""

    required_arguments = 1

    def run(self):
        with mock.patch.dict(os.environ, {"COLUMNS": "88", "NO_COLOR": "1"}):
            choices = next(action.choices for action in _parser()._actions if action.choices)
            text = choices[self.arguments[0]].format_help()
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
