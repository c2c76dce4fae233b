"""Small clouds of which noise, outliers and integrability are known, for `sensitivity`."""

from __future__ import annotations

import warnings

import numpy as np

import subbundle as sb
from benchmarks._horizontal import discs, helicoid, sheets
from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.diagnostics.integrability import cloud_twist
from subbundle.diagnostics.tuning import NOT_A_SURFACE
from subbundle.selection.ladder import mean_gaps


def figures() -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _reports() | _twists()


def _reports() -> dict[str, float]:
    """Errors of noise and outliers of a cloud with both, and one plus the warnings that are missing or false."""
    rng = np.random.default_rng(0)
    clean = sb.datasets.torus(500, noise=0.03, seed=1).points
    stray = rng.uniform([-1.5, -1.5, -0.6], [1.5, 1.5, 0.6], (25, 3))
    first, second = sb.diagnose(clean, 2), sb.diagnose(np.concatenate([clean, stray]), 2)
    copies = sb.diagnose(np.concatenate([clean[:200], clean[:20]]), 2)
    wrong = len(first.warnings) + ("far from the ridge" not in " ".join(second.warnings))
    wrong += "repeat another" not in " ".join(copies.warnings)
    return {
        "noise": abs(first.noise / 0.03 - 1.0) + abs(second.noise / 0.03 - 1.0),
        "outliers": abs(second.outliers / (25.0 / 525.0) - 1.0),
        "warnings": 1.0 + wrong,
    }


def _twists() -> dict[str, float]:
    """The threshold over the angle of a cloud without a surface, and the angles of surfaces over it."""
    surfaces = max(_angle(points) for points in (helicoid(1200, 0.01, 0), sheets(4, 0.3, 1200, 0)))
    return {
        "no surface": NOT_A_SURFACE / max(_angle(discs(60, 40, 0.4, 1.0, 0)), 1e-6),
        "surfaces": 0.1 + surfaces / NOT_A_SURFACE,
    }


def _angle(points: FloatArray) -> float:
    cloud = Cloud(points)
    return float(np.nan_to_num(cloud_twist(cloud, 2, *mean_gaps(cloud, 2, None)).angle))
