"""One global alignment of many small charts: chart c carries its coordinates v to z = v R_c + t_c.

Rotations R_c, translations t_c and the positions Z_i of the points minimise together

    E = Σ_ic w_ic |v_ic R_c + t_c − Z_i|²,

from the rotations of `synchronisation`, by the method of Gauss and Newton: R_c is turned by I + Ω_c, Ω antisymmetric,
Z is eliminated (it is the mean of what the charts of a point say), and the normal equations in (Ω_c, t_c) are solved by
conjugate gradients. Long chains of charts bend easily, so those equations are as stiff as those of a thin beam; the
rigid motions of clusters of charts, solved for directly, precondition them. Rotations and translations taken in turn
would need hundreds of rounds. All large matrices are sparse; memory is linear in the number of members.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.embedding._alignment_system import AlignmentSystem
from subbundle.embedding.chart_links import Links, nearest_orthogonal
from subbundle.embedding.quadratic_charts import SmallCharts
from subbundle.embedding.synchronisation import rotations

_ROUNDS, _HALVINGS = 6, 4
# Relative gain of E below which the rounds end.
_SETTLED = 1e-5


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where the charts go.

    Attributes
    ----------
    maps, shifts : [M, k, k], [M, k]
        z = v A_c + t_c, A_c orthogonal.
    positions : [n, k]
        Z of the points in the charts; NaN for points in none.
    residual : float
        Weighted root-mean-square of v A_c + t_c − Z, in chart radii.
    """

    maps: FloatArray
    shifts: FloatArray
    positions: FloatArray
    residual: float


def align(charts: SmallCharts, links: Links, labels: IntArray) -> Alignment:
    """Align ``charts``, those of each of the connected components ``labels`` [M] among themselves."""
    system = AlignmentSystem(charts, links)
    maps = rotations(links, labels, charts.rank)
    # The first step only moves the charts: their rotations are known, their places are not.
    maps, shifts = system.step(maps, np.zeros((len(maps), charts.rank)), turn=False)
    energy = system.energy(maps, shifts)
    for _ in range(_ROUNDS):
        new_maps, new_shifts = system.step(maps, shifts, turn=True)
        lower = system.energy(new_maps, new_shifts)
        for _ in range(_HALVINGS):
            if lower <= energy:
                break
            new_maps, new_shifts = nearest_orthogonal(maps + new_maps)[0], 0.5 * (shifts + new_shifts)
            lower = system.energy(new_maps, new_shifts)
        if lower >= energy:
            break
        settled = lower >= energy * (1.0 - _SETTLED)
        maps, shifts, energy = new_maps, new_shifts, lower
        if settled:
            break
    positions = system.positions(maps, shifts)
    off = (system.images(maps, shifts) - positions[charts.places]) / charts.radii[charts.charts][:, None]
    residual = np.sqrt(np.sum(charts.weights * np.einsum("mk,mk->m", off, off)) / charts.weights.sum())
    return Alignment(maps, shifts, positions, float(residual))
