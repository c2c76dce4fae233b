"""Scans with a truth: real, simulated, heads, and synthetic ones of difficult cases, with Open3D and PyMeshLab.

Scans and meshes are read from the folder named by SUBBUNDLE_BENCH_DATA (see `_scan_data`); without it only synthetic
ones are measured. SUBBUNDLE_BENCH_SCANS=heads adds clouds of 100000 points of every mesh there, whole and cut open;
SUBBUNDLE_BENCH_SCANS=made leaves the folder out. Rows are kept in ``results/scans-rows.json`` when they are computed,
and an interrupted run continues; peers are run once and kept in ``results/scans-peers.json``.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, astuple, replace
from typing import Any

import numpy as np

import subbundle as sb
from benchmarks._extras import MissingExtraError
from benchmarks._machine import source
from benchmarks._made_scans import made_scans
from benchmarks._report import FOLDER, Bar, Result, Table
from benchmarks._scan_data import Case, Score, heads, judge, scans
from benchmarks._scan_peers import PEERS, normals_of, timed
from subbundle.triangles.mesh import Mesh

NOISES, POINTS, SEED = (0.0025, 0.01), 100_000, 7
COLUMNS = ["scan", "", "mesh → truth", "truth → mesh", "Euler (true)", "components", "borders", "processor seconds"]
ROWS, KEPT_PEERS = FOLDER / "scans-rows.json", FOLDER / "scans-peers.json"
# Accuracy, completeness, least Euler characteristic and most components that a scan must come out with.
BARS = {
    ("bowl", ""): (0.50, 0.50, -4, 2),
    ("box", ""): (0.295, 0.310, 2, 1),
    ("outliers", ""): (0.3, 0.3, -6, 1),
    ("shell", "normals"): (0.70, 0.90, None, None),
    ("bowl", "closed"): (0.56, 0.46, None, 1),
}
# A scan that has bars is meshed so many times, as it is and with points moved by this fraction of its size: where a
# wall is about to fall apart or a clump about to stay, rounding decides, and one mesh shows luck.
TIMES, MOVED = 5, 1e-7
METHOD = (
    "Mean distances of points sampled on the mesh from the truth and of the truth from the mesh: scans with a truth of "
    "points in their own unit, from 200000 points each, those with a mesh in thousandths, heads in 1e-5 of the size. "
    "Made scans: size about 1, noise 0.005, distances in thousandths; ours at its defaults, the peers at the best of a "
    "few settings by the truth, with their own normals and with those of our mesh. Behind: the sum of both distances "
    "over the least of all peers. Topology: how far Euler characteristic, components and borders together are from the "
    "true ones. One thread; processor seconds, compiling not counted. Scans with a bar are meshed five times, with "
    "points moved by 1e-7 of the size; figures are medians, with the range of both distances and of the Euler "
    "characteristic behind."
)


def run() -> Result:
    sb.reconstruct(sb.datasets.torus(2000, noise=0.02, seed=0).points, n_jobs=1)  # compiles
    which = os.environ.get("SUBBUNDLE_BENCH_SCANS", "")
    rows, bars = [], []
    for case in ([] if which == "made" else scans()) + (heads(NOISES, POINTS, SEED) if which == "heads" else []):
        for how in ("", "closed", "normals"):
            if how == "normals" and case.normals is None:
                continue
            times = TIMES if (case.name, how) in BARS else 1
            found = [
                _kept(
                    ROWS, f"{case.name} {how}{f' {turn}' if turn else ''}",
                    lambda case=case, how=how, turn=turn: _measure(_moved(case, turn), how)[1:],
                )
                for turn in range(times)
            ]  # fmt: skip
            scores = [score for score, _ in found]
            score = Score(*(np.median(figure).item() for figure in zip(*map(astuple, scores), strict=True)))
            seconds = float(np.median([took for _, took in found]))
            rows.append([*_row(case.name, how or "as it is", score, seconds, case.topology), _range(scores)])
            bars += _bars(case.name, how, score)
    tables = [Table([*COLUMNS, "range"], rows)] if rows else []
    made, more = _made()
    return Result("Scans with a truth", METHOD, [*tables, made], [*bars, *more])


def _moved(case: Case, turn: int) -> Case:
    """``case``, from turn 1 on with its points moved by next to nothing."""
    if not turn:
        return case
    noise = np.random.default_rng(turn).uniform(-MOVED, MOVED, case.points.shape)
    return replace(case, points=case.points + noise * np.ptp(case.points, axis=0).max())


def _range(scores: list[Score]) -> str:
    if len(scores) == 1:
        return ""
    there, back = ([getattr(score, way) for score in scores] for way in ("accuracy", "completeness"))
    euler = [score.euler for score in scores]
    return f"{min(there):.3f} to {max(there):.3f}; {min(back):.3f} to {max(back):.3f}; {min(euler)} to {max(euler)}"


def _made() -> tuple[Table, list[Bar]]:
    """The made scans, ours and the peers."""
    rows, bars = [], []
    for name, make in made_scans().items():
        case, ours = make(), None
        score, seconds = _kept(ROWS, name, lambda case=case: _measure(case, "")[1:])
        rows.append(_row(name, "ours", score, seconds, case.topology))
        least = float("inf")
        for peer, (_, _, with_ours) in PEERS.items():
            if not _is_kept(KEPT_PEERS, f"{name}: {peer}") and with_ours and ours is None:
                ours = normals_of(_measure(case, "")[0], case.points)
            given = ours if with_ours else None
            try:
                found, took = _kept(
                    KEPT_PEERS, f"{name}: {peer}", lambda case=case, peer=peer, given=given: _best(peer, given, case)
                )
            except MissingExtraError as missing:
                print(f"{peer} left out: {missing}")
                continue
            rows.append(_row("", peer, found, took, case.topology))
            least = min(least, found.accuracy + found.completeness)
        assert case.topology is not None
        off = sum(abs(a - b) for a, b in zip((score.euler, score.parts, score.borders), case.topology, strict=True))
        bars.append(Bar(f"{name}: topology", float(off), 0.0))
        if least < float("inf"):
            bars.append(Bar(f"{name}: behind", (score.accuracy + score.completeness) / least, 1.0))
    return Table(COLUMNS, rows, "Made scans"), bars


def _measure(case: Case, how: str) -> tuple[Mesh, Score, float]:
    options = {"closed": how == "closed", "normals": case.normals if how == "normals" else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SubbundleWarning)
        mesh, seconds = timed(lambda: sb.reconstruct(case.points, n_jobs=1, **options))
    return mesh, judge(mesh, case), seconds


def _best(peer: str, normals: np.ndarray | None, case: Case) -> tuple[Score, float]:
    """The setting of a peer with the least sum of both distances, and the seconds that it took."""
    make, settings, _ = PEERS[peer]
    tried = [timed(lambda setting=setting: make(case.points, normals, setting)) for setting in settings]
    judged = [(judge(mesh, case), seconds) for mesh, seconds in tried if len(mesh.faces)]
    nothing = Score(float("inf"), float("inf"), 0, 0, 0), tried[0][1]
    return min(judged, key=lambda one: one[0].accuracy + one[0].completeness, default=nothing)


def _stored(path: Any) -> dict[str, Any]:
    """What was kept; our own rows only if they were measured with this source."""
    held = json.loads(path.read_text()) if path.exists() else {}
    return held if path == KEPT_PEERS or held.get("source") == source() else {"source": source()}


def _is_kept(path: Any, key: str) -> bool:
    return key in _stored(path)


def _kept(path: Any, key: str, measure: Callable[[], tuple[Score, float]]) -> tuple[Score, float]:
    """The score and seconds kept under ``key``, or measured now and kept."""
    stored = _stored(path)
    if key not in stored:
        score, seconds = measure()
        stored = _stored(path) | {key: [asdict(score), seconds]}
        FOLDER.mkdir(exist_ok=True)
        path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
        print(f"{key}: {score} in {seconds:.1f} s", flush=True)
    return Score(**stored[key][0]), float(stored[key][1])


def _row(name: str, how: str, score: Score, seconds: float, topology: tuple[int, int, int] | None) -> list[Any]:
    true = "" if topology is None else f" ({topology[0]})"
    return [
        name, how, f"{score.accuracy:.3f}", f"{score.completeness:.3f}", f"{score.euler:.0f}{true}",
        int(score.parts), int(score.borders), seconds,
    ]  # fmt: skip


def _bars(name: str, how: str, score: Score) -> list[Bar]:
    if (name, how) not in BARS:
        return []
    accuracy, completeness, euler, parts = BARS[name, how]
    label = f"{name}{f', {how}' if how else ''}"
    bars = [
        Bar(f"{label}: mesh → truth", score.accuracy, accuracy),
        Bar(f"{label}: truth → mesh", score.completeness, completeness),
    ]
    if euler is not None:
        bars.append(Bar(f"{label}: Euler characteristic", float(score.euler), float(euler), at_least=True))
    if parts is not None:
        bars.append(Bar(f"{label}: connected components", float(score.parts), float(parts)))
    return bars
