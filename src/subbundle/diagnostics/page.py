"""The report as one HTML page that needs nothing else: style and figure are inside."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

from subbundle.diagnostics.messages import summary

if TYPE_CHECKING:
    from subbundle.diagnostics.report import Report

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}th{text-align:left;padding:.2rem 2rem .2rem 0;font-weight:600}"
    "td{padding:.2rem 0}img{max-width:100%}li{margin:.4rem 0}.fine{color:#2a6b2a}"
)


def page(report: Report) -> str:
    """The whole page; needs Matplotlib for its figure."""
    stream = io.BytesIO()
    report.figure().savefig(stream, format="png", dpi=110)
    picture = base64.b64encode(stream.getvalue()).decode("ascii")
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in summary(report))
    if report.warnings:
        said = "<h2>What to know</h2><ul>" + "".join(f"<li>{escape(words)}</li>" for words in report.warnings) + "</ul>"
    else:
        said = '<p class="fine">No warnings.</p>'
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Diagnosis of a point cloud</title>'
        f"<style>{_STYLE}</style></head><body><h1>Diagnosis of a point cloud</h1><table>{rows}</table>{said}"
        f'<img alt="Eigenvalue gap, estimated error, directions counted, distances to the ridge" '
        f'src="data:image/png;base64,{picture}"></body></html>\n'
    )
