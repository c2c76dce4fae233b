"""Small clouds on which distances, logarithms and components are known, for `sensitivity`."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import cdist

import subbundle as sb
from subbundle._types import FloatArray
from subbundle.geodesics.distance import graph_distances

# Points with known distances, of which the first are sources.
COMPARED, SOURCES = 40, 6


def figures() -> dict[str, float]:
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, points, width, clean, truth in (_sphere(), _cylinder(), _roll(), _lifted()):
            bundle = sb.PrincipalSubbundle(points, 1 if name == "circle in R^30" else 2, width)
            ends = sb.ridge_project(bundle, clean).points
            far = truth > bundle.length_scale
            for way, lengths in (
                ("paths", sb.pairwise_distance(bundle, ends[:SOURCES], ends)),
                ("graph", graph_distances(bundle, ends[:SOURCES], ends, 1e-4)),
            ):
                error = np.abs(lengths[far] / truth[far] - 1.0)
                # One that was not found counts as wrong by all of it.
                found[f"{name}, {way}"] = float(np.mean(np.where(np.isfinite(error), error, 1.0)))
            if name == "sphere":
                found |= _logs(bundle, ends, truth)
    return found | {"components": _components(), "chart": _chart()}


def _sphere() -> tuple[str, FloatArray, float, FloatArray, FloatArray]:
    clean = sb.datasets.sphere(COMPARED, seed=1).points
    truth = np.arccos(np.clip(clean[:SOURCES] @ clean.T, -1.0, 1.0))
    return "sphere", sb.datasets.sphere(800, noise=0.03, seed=0).points, 0.3, clean, truth


def _cylinder() -> tuple[str, FloatArray, float, FloatArray, FloatArray]:
    """Pairs opposite each other have two ways around."""
    rng = np.random.default_rng(0)
    place = rng.uniform([-np.pi, 0.0], [np.pi, 3.0], (1500, 2))
    few = rng.uniform([-np.pi, 0.3], [np.pi, 2.7], (COMPARED, 2))
    turn = np.abs(few[:SOURCES, None, 0] - few[None, :, 0])
    truth = np.hypot(np.minimum(turn, 2.0 * np.pi - turn), few[:SOURCES, None, 1] - few[None, :, 1])
    around = [np.column_stack([np.cos(p[:, 0]), np.sin(p[:, 0]), p[:, 1]]) for p in (place, few)]
    return "cylinder", around[0] + 0.03 * rng.standard_normal((1500, 3)), 0.25, around[1], truth


def _roll() -> tuple[str, FloatArray, float, FloatArray, FloatArray]:
    """Sheets beside each other."""
    clean = sb.datasets.swiss_roll(COMPARED, seed=1)
    truth = cdist(clean.coordinates[:SOURCES], clean.coordinates)
    return "roll", sb.datasets.swiss_roll(2500, noise=0.02, seed=0).points, 0.2, clean.points, truth


def _lifted() -> tuple[str, FloatArray, float, FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    angle, few = rng.uniform(0.0, 2.0 * np.pi, 400), rng.uniform(0.0, 2.0 * np.pi, COMPARED)
    axes = np.linalg.qr(rng.standard_normal((30, 2)))[0]
    rings = [np.column_stack([np.cos(a), np.sin(a)]) @ axes.T for a in (angle, few)]
    turn = np.abs(few[:SOURCES, None] - few)
    noisy = rings[0] + 0.02 * rng.standard_normal((400, 30))
    return "circle in R^30", noisy, 0.2, rings[1], np.minimum(turn, 2.0 * np.pi - turn)


def _logs(bundle: sb.PrincipalSubbundle, ends: FloatArray, truth: FloatArray) -> dict[str, float]:
    """Lengths of the geodesics that are found, and the fraction of targets without one."""
    found = sb.log(bundle, ends[0], ends[1:16], tol=1e-4)
    straight = found.status == sb.Status.STRAIGHTENED
    error = np.abs(found.lengths / truth[0, 1:16] - 1.0)
    return {"log": float(np.mean(error)), "without a geodesic": float(0.1 + np.mean(straight))}


def _components() -> float:
    """One plus the number of pairs of sheets, at known gaps in R³ and R⁶, that are told apart wrongly."""
    rng = np.random.default_rng(0)
    wrong = 0
    for dim in (3, 6):
        for gap, apart in ((0.5, True), (0.25, False)):
            sheet = np.zeros((1200, dim))
            sheet[:, :2] = rng.uniform(0.0, 1.0, (1200, 2))
            sheet[600:, 0] += 1.0 + gap
            bundle = sb.PrincipalSubbundle(sheet + 0.005 * rng.standard_normal(sheet.shape), 2, 0.1)
            wrong += (sb.connected_components(bundle).n_components == 2) != apart
    return 1.0 + wrong


def _chart() -> float:
    """Error of the normal coordinates of an ellipsoid's points against geodesics to them."""
    bundle = sb.bundles.SphereTangent(2)
    base = np.array([0.0, 0.0, 1.0])
    points = sb.datasets.sphere(60, seed=2).points
    points = points[points[:, 2] > -0.8]
    chart = sb.Chart(bundle, base, max_radius=2.8)
    return float(np.mean(np.abs(np.linalg.norm(chart.locate(points).coordinates, axis=1) - np.arccos(points[:, 2]))))
