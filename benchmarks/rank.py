"""The dimension of 44 clouds of dimension 1 to 6, in up to 100 dimensions, chosen from the data."""

from __future__ import annotations

from benchmarks._report import Bar, Result, Table
from benchmarks._shapes import shapes
from subbundle.selection import choose_rank

N = 2500


def run() -> Result:
    rows, right = [], []
    for name, points, k in shapes(N):
        choice = choose_rank(points)
        right.append(choice.rank == k)
        agree = float((choice.per_point == k).mean())
        rows.append([name, k, choice.rank, choice.confidence, agree, "" if right[-1] else "**missed**"])
    return Result(
        title="Choosing the rank",
        method=(
            f"{N} observations each, noise relative to the diameter in every coordinate, each shape in the "
            "smallest space "
            "that holds it and turned into a large one. Confidence: part of the places that count the same. "
            "The column after "
            "it: part of the observations whose own dimension is right."
        ),
        tables=[Table(["cloud", "true", "chosen", "confidence", "right per point", ""], rows)],
        bars=[Bar("clouds with the right rank", sum(right) / len(right), 0.95, at_least=True)],
    )
