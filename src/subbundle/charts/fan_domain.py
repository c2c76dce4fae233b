"""The domain of a chart: how far along each geodesic of the fan exp is one-to-one, and why it ends there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from subbundle._types import BoolArray, FloatArray, Status, StatusArray
from subbundle.charts._fold import folds, shortcuts
from subbundle.charts.fan import Fan

# The border between two geodesics that end at different distances is straight, but rises no more than this (in length
# scales) above the shorter one: beyond the end of the data there is less and less to interpolate with, beyond a cut the
# next geodesics may go another way, and beside a fold the shorter one decides.
_RISE, _RISE_AT_CUT = 4.0, 0.5


class Ending(IntEnum):
    """Why a geodesic of a chart goes no further. Up to `Status.NOT_FINITE` these are the reasons of the flow."""

    FOLDED = 20
    SHORTCUT = 21

    @property
    def message(self) -> str:
        """The reason in a few words."""
        return {
            Ending.FOLDED: "met its neighbours (fold)",
            Ending.SHORTCUT: "another geodesic is shorter (cut)",
        }[self]


@dataclass(frozen=True, slots=True)
class Domain:
    """How far a chart reaches along its geodesics.

    Attributes
    ----------
    extents : [L]
    endings : [L]
        `Status` (OK: reached the radius) or `Ending`.
    injectivity_radius : float
        Distance of the nearest fold or cut; infinite if there is none.
    """

    extents: FloatArray
    endings: StatusArray
    injectivity_radius: float

    @property
    def cut(self) -> BoolArray:
        """Which geodesics [L] end at a fold or a cut."""
        return np.asarray(self.endings >= min(Ending))

    def border(self, scale: float) -> FloatArray:
        """ρ at the two sides [L, 2] of the cell after each geodesic of a circle of directions; of a line, ρ twice."""
        if len(self.extents) == 2:
            return np.repeat(self.extents[:, None], 2, axis=1)
        rise = np.where(self.cut, np.where(self.endings == Ending.FOLDED, 0.0, _RISE_AT_CUT), _RISE) * scale
        ends = np.stack([self.extents, np.roll(self.extents, -1)], axis=1)
        rise = np.minimum(rise, np.roll(rise, -1))[:, None]
        return np.asarray(np.minimum(ends, ends.min(axis=1, keepdims=True) + rise))


def domain_of(fan: Fan, scale: float, limit: float) -> Domain:
    """Cut the geodesics of ``fan`` where exp stops being one-to-one.

    A geodesic that was given up before the ``limit`` without leaving the data had met others in a coarser fan.
    """
    fold, shortcut = folds(fan), shortcuts(fan, scale)
    extents = np.minimum(fan.reached, np.minimum(fold, shortcut))
    endings = np.where((fan.status == Status.OK) & (fan.reached < limit), np.int8(Ending.FOLDED), fan.status)
    endings[shortcut <= np.minimum(fan.reached, fold)] = Ending.SHORTCUT
    endings[(fold < shortcut) & (fold <= fan.reached)] = Ending.FOLDED
    cuts = extents[endings >= min(Ending)]
    return Domain(extents, endings, float(cuts.min()) if cuts.size else np.inf)


def count_endings(endings: StatusArray) -> dict[str, int]:
    """How many geodesics ended for each reason, by message, the most frequent first."""
    values, counts = np.unique(endings, return_counts=True)
    messages = [
        "reached the radius" if value == Status.OK
        else (Ending(int(value)).message if value >= min(Ending) else Status(int(value)).message)
        for value in values
    ]  # fmt: skip
    order = np.argsort(-counts, kind="stable")
    return {messages[i]: int(counts[i]) for i in order}
