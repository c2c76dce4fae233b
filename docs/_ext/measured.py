"""``{measured} name``: the last result of a benchmark, with machine, date and command."""

import json
import re
from html import escape

from benchmarks._report import FOLDER, _bar_cells, _show
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

# Rows above which a table is folded.
_LONG = 12


class Measured(SphinxDirective):
    """Method, command, machine and tables of one record; ``bars`` as second word shows the bars alone."""

    required_arguments = 1
    optional_arguments = 1

    def run(self):
        path = FOLDER / f"{self.arguments[0]}.json"
        self.env.note_dependency(str(path))
        record = json.loads(path.read_text(encoding="utf-8"))
        content = [] if self.arguments[1:] else [paragraph(record["method"])]
        tables = [] if self.arguments[1:] else record["tables"]
        for table in tables:
            rows = [[_show(cell) if cell is not None else "–" for cell in row] for row in table["rows"]]
            content += [paragraph(table["caption"])] if table["caption"] else []
            content += folded(table["columns"], rows)
        if record["bars"]:
            cells = [[cell.replace("*", "") for cell in _bar_cells(bar)] for bar in record["bars"]]
            content += folded(["figure", "measured", "bar", ""], cells)
        command = nodes.literal("", f"python -m benchmarks {self.arguments[0]}")
        how = f", {record['date']}, {record['seconds']:g} s, on {record['machine']}."
        content.append(
            nodes.paragraph("", "", nodes.Text("Made by "), command, nodes.Text(how), classes=["sb-made-by"])
        )
        return content


def paragraph(text):
    """A paragraph of ``text``, with what stands between backquotes as code."""
    pieces = re.split(r"`+([^`]+)`+", text)
    inside = [nodes.literal("", piece) if i % 2 else nodes.Text(piece) for i, piece in enumerate(pieces)]
    return nodes.paragraph("", "", *inside)


def folded(columns, rows):
    """The table, behind a line that opens it if it is long."""
    if len(rows) <= _LONG:
        return [grid(columns, rows)]
    head = f"<details class='sb-long'><summary>{len(rows)} rows: {', '.join(map(escape, columns[:4]))} …</summary>"
    return [nodes.raw("", head, format="html"), grid(columns, rows), nodes.raw("", "</details>", format="html")]


def grid(columns, rows):
    """A table of text cells, in a box of its own that scrolls sideways."""
    head, body = nodes.thead(), nodes.tbody()
    group = nodes.tgroup("", *[nodes.colspec(colwidth=1) for _ in columns], head, body, cols=len(columns))
    for part, texts in [(head, columns), *((body, row) for row in rows)]:
        cells = [nodes.entry("", paragraph(str(text))) for text in texts]
        part += nodes.row("", *cells)
    return nodes.container("", nodes.table("", group), classes=["pst-scrollable-table-container"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
