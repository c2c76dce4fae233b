"""Laws of invariance under batches and threads, and of equivariance under motions of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle.bundles.base import Subbundle
from subbundle.flow import integrate
from subbundle.testing._measure import at_most, follow, unit_speed


def check_batch_invariance(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0
) -> None:
    """Every row's bits are the same alone, in the whole batch and in the reversed batch: frame, field and geodesics."""
    times = np.linspace(0.0, length * bundle.length_scale, 5)
    batch = len(points)
    whole = _everything(bundle, points, covectors, times)
    backwards = _everything(bundle, points[::-1].copy(), covectors[::-1].copy(), times)
    alone = [_everything(bundle, points[i : i + 1], covectors[i : i + 1], times) for i in range(batch)]
    for name, value in whole.items():
        _same_bits(value, backwards[name][::-1], f"{name} must not depend on the order of the batch")
        single = np.concatenate([one[name] for one in alone])
        _same_bits(value, single, f"{name} must not depend on the size of the batch")


def check_n_jobs_invariance(
    make_bundle: Callable[[int], Subbundle],
    points: FloatArray,
    covectors: FloatArray,
    *,
    n_jobs: Sequence[int] = (1, 2, 3),
    length: float = 1.0,
) -> None:
    """``make_bundle(n_jobs)`` has the same bits for every number of threads: frame, field and geodesics."""
    first = make_bundle(n_jobs[0])
    times = np.linspace(0.0, length * first.length_scale, 5)
    expected = _everything(first, points, covectors, times)
    for jobs in n_jobs[1:]:
        result = _everything(make_bundle(jobs), points, covectors, times)
        for name, value in expected.items():
            _same_bits(value, result[name], f"{name} must not depend on n_jobs ({n_jobs[0]} against {jobs})")


def check_equivariance(
    make_bundle: Callable[[FloatArray, float], Subbundle],
    data: FloatArray,
    points: FloatArray,
    covectors: FloatArray,
    *,
    scaling: float = 2.5,
    length: float = 1.0,
    bound: float = 1e-7,
    seed: int = 0,
) -> None:
    """Equivariance of the geodesics under rotation, translation and scaling of the data.

    With T(x) = c Q x + b (Q a random rotation, b a random translation of the size of the data, c = ``scaling``),

        exp′_{T(p)}(c Q η) = T(exp_p(η)),

    where exp′ belongs to ``make_bundle(T(data), c)``, which must multiply its lengths (the bandwidth) by c. The three
    are checked one at a time and together; distances are relative to the length scale.
    """
    rng = np.random.default_rng(seed)
    dim = points.shape[1]
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    turn[:, 0] *= np.sign(np.linalg.det(turn))
    move = rng.normal(size=dim) * np.abs(data).max()
    original = make_bundle(data, 1.0)
    unit = unit_speed(original, points, covectors) * (length * original.length_scale)
    ends = follow(original, points, unit, np.array([1.0]), unit_speed=False).end_points
    still, nowhere = np.eye(dim), np.zeros(dim)
    cases = {
        "rotation": (turn, nowhere, 1.0),
        "translation": (still, move, 1.0),
        "scaling": (still, nowhere, scaling),
        "rotation, translation and scaling": (turn, move, scaling),
    }
    for name, (Q, b, c) in cases.items():
        changed = make_bundle(c * data @ Q.T + b, c)
        run = follow(changed, c * points @ Q.T + b, c * unit @ Q.T, np.array([1.0]), unit_speed=False)
        away = np.linalg.norm(run.end_points - (c * ends @ Q.T + b), axis=1) / changed.length_scale
        at_most(away, bound, f"geodesics are equivariant under {name}, distance")


def _everything(bundle: Subbundle, points: FloatArray, covectors: FloatArray, times: FloatArray) -> dict[str, Any]:
    """All results of a bundle and the flow for a batch, by name."""
    frame = bundle.frame(points)
    field = bundle.field(points, covectors)
    run = integrate(bundle, points, covectors, times, unit_speed=True)
    fixed = integrate(bundle, points, covectors, times, unit_speed=True, method="rk4", step=0.1 * bundle.length_scale)
    return {
        "frame.vectors": frame.vectors, "frame.eigenvalues": frame.eigenvalues, "frame.mean": frame.mean,
        "frame.density": frame.density, "frame.gap": frame.gap, "frame.status": frame.status,
        "field.velocity": field.velocity, "field.force": field.force, "field.status": field.status,
        "points (dopri5)": run.points, "covectors (dopri5)": run.covectors, "status (dopri5)": run.status,
        "points (rk4)": fixed.points, "covectors (rk4)": fixed.covectors, "status (rk4)": fixed.status,
    }  # fmt: skip


def _same_bits(a: Any, b: Any, law: str) -> None:
    differing = np.flatnonzero([x.tobytes() != y.tobytes() for x, y in zip(a, b, strict=True)])
    if differing.size:
        raise AssertionError(f"Law broken in {differing.size} of {len(a)} rows: {law}; row {differing[0]} does.")
