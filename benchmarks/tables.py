"""Whole tables in k dimensions: real ones, renderings, sparse curved shapes in many dimensions, noisy clouds.

Ours at its defaults against Isomap with its neighbour count chosen by the truth, figure by figure, a prototype of the
same ideas where there is one, and UMAP if SUBBUNDLE_BENCH_UMAP is set (it takes a quarter of an hour). Figures: R² of
the linear regression of each true parameter on the coordinates; leave-one-out accuracy of the majority of ten
neighbours; trustworthiness (ten neighbours); fraction of ten neighbours kept; of the four nearest, those within two
steps along a closed curve (order); root mean square error after a rigid motion. SUBBUNDLE_BENCH_DATA names a folder
with further real tables; a prototype is read from its sibling folder ``prototypes``. Peers are run once and kept
in results/tables-peers.json.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.manifold import Isomap

import subbundle as sb
from benchmarks._report import FOLDER, Bar, Result, Table
from benchmarks._tables import Tabular, folder, tables

NEIGHBOURS = {1: (2, 3, 4, 6, 8)}
MORE = (4, 6, 8, 10, 12, 15, 20)
PEERS = FOLDER / "tables-peers.json"


def better(name: str, first: float, second: float) -> bool:
    return first < second if "error" in name else first > second


def isomap(table: Tabular) -> dict[str, float]:
    """The best of each figure over the neighbour counts."""
    best: dict[str, float] = {}
    for count in NEIGHBOURS.get(table.rank, MORE):
        try:
            found = table.measure(Isomap(n_neighbors=count, n_components=table.rank).fit_transform(table.points))
        except ValueError:
            continue
        for name, value in found.items():
            if name not in best or better(name, value, best[name]):
                best[name] = float(value)
    return best


def peers() -> dict[str, Callable[[Tabular], dict[str, float]]]:
    """What can be run here."""
    found: dict[str, Callable[[Tabular], dict[str, float]]] = {"Isomap": isomap}
    beside = folder().parent / "prototypes" if folder() else None
    if beside is not None and (beside / "thin_tables.py").exists():
        sys.path.append(str(beside))
        import thin_tables

        found["prototype"] = lambda table: table.measure(thin_tables.embed(table.points, table.rank))
    if not os.environ.get("SUBBUNDLE_BENCH_UMAP"):
        return found
    import umap

    found["UMAP"] = lambda table: table.measure(
        umap.UMAP(n_components=table.rank, random_state=0).fit_transform(table.points)
    )
    return found


def peer_figures(
    name: str, table: Tabular, stored: dict[str, dict[str, dict[str, float]]]
) -> dict[str, dict[str, float]]:
    known = stored.setdefault(name, {})
    for peer, run in peers().items():
        if peer not in known:
            known[peer] = {figure: float(value) for figure, value in run(table).items()}
            PEERS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    return known


def behind(figure: str, ours: float, other: float) -> float:
    """How far ours is behind, as a ratio; below one where it is ahead."""
    return ours / max(other, 1e-12) if "error" in figure else other / max(ours, 1e-12)


def run() -> Result:
    stored = json.loads(PEERS.read_text()) if PEERS.exists() else {}
    only = os.environ.get("SUBBUNDLE_BENCH_TABLES", "")
    rows, ratios, several = [], {"Isomap": [], "prototype": []}, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in tables().items():
            if only not in name:
                continue
            table = make()
            start = time.process_time()
            model = sb.AtlasEmbedding(table.rank).fit(table.points)
            seconds = time.process_time() - start
            others = peer_figures(name, table, stored)
            for figure, value in table.measure(model.embedding_).items():
                rows.append(
                    [
                        name,
                        figure,
                        float(value),
                        *(others.get(p, {}).get(figure) for p in ("Isomap", "prototype", "UMAP")),
                        seconds,
                    ]
                )
                for peer, found in ratios.items():
                    if figure in others.get(peer, {}):
                        found.append(behind(figure, float(value), others[peer][figure]))
            several += model.n_connected_components_ > 1 and "clusters" not in name
            print(*rows[-1], flush=True)
    bars = [Bar("tables of one piece in several components", float(several), 0.0)]
    for peer, found in ratios.items():
        if found:
            bars += [
                Bar(f"behind {peer}, worst", float(np.max(found)), 1.02),
                Bar(f"behind {peer}, median", float(np.median(found)), 1.0),
            ]
    columns = ["", "figure", "ours", "Isomap, best by truth", "prototype", "UMAP", "seconds (processor)"]
    return Result(
        "Whole tables",
        __doc__.split("\n\n")[1].replace("\n", " "),
        [Table(columns, rows, "Errors: smaller is better")],
        bars,
    )
