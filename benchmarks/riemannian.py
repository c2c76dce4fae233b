"""Data on manifolds: a long geodesic on S² with 10000 observations, cost against N, dimension and space; the ridge of
noisy geodesic spheres: coverage of its standard errors, accuracy, cost.
"""

from __future__ import annotations

import time

import numpy as np

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from benchmarks._timing import take_turns
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.spaces import SO, SPD, Hyperbolic, Kendall, Space, Sphere
from subbundle.spaces.rows import dist_rows, exp_rows, orthonormal_bases

SIZES, ROUNDS = (1_000, 10_000, 100_000), 7
DIMENSIONS, FIELD_SIZES = (2, 5, 10, 20), (500, 2_000, 8_000)
# Of the spheres: radius, noise, and the bandwidths at which coverage is measured.
RADIUS, NOISE, WIDTHS = 0.9, 0.04, (0.15, 0.2, 0.3)
# Space, rank, observations, draws of the noise.
SPHERES = (
    (Sphere(2), 1, 300, 16),
    (Hyperbolic(2), 1, 300, 16),
    (SO(3), 2, 1500, 3),
    (Sphere(3), 2, 2000, 4),
    (Hyperbolic(3), 2, 2500, 4),
)


def noisy_curve(space: Space, n: int, length: float, noise: float) -> np.ndarray:
    """``n`` observations along a bent curve through a point of the space, which comes first."""
    rng = np.random.default_rng(0)
    base = space.random_point(1, rng)[0]
    basis = space.tangent_basis(base)
    basis = basis / np.sqrt(space.inner_product(basis, basis, base)).reshape(-1, *(1,) * len(space.shape))
    parts = noise * rng.standard_normal((n, space.dim))
    parts[:, 0] = rng.uniform(-0.5 * length, 0.5 * length, n)
    if space.dim > 1:
        parts[:, 1] += 0.3 * parts[:, 0] ** 2
    parts[0] = 0.0
    return space.exp(np.einsum("ni,i...->n...", parts, basis), base)


def geodesic(bundle: RiemannianSubbundle, length: float) -> sb.Geodesics:
    found = sb.geodesic(bundle, bundle.observations[0].ravel(), [1.0], length=length)
    assert found.status == sb.Status.OK, found.status
    return found


def field_times(space: Space) -> list[float]:
    """Milliseconds per field of the two centred bundles on 500 observations, for a batch of 4 points."""
    data = noisy_curve(space, 500, 1.0, 0.05)
    bundles = {
        centering: RiemannianSubbundle(data, 1, 0.2, space=space, centering=centering, min_density=1e-3)
        for centering in ("recentred", "local")
    }
    points = data[:4].reshape(4, -1)
    covectors = bundles["local"].frame(points).duals[:, :, 0]
    turns = take_turns({c: lambda c=c: bundles[c].field(points, covectors) for c in bundles}, rounds=ROUNDS)
    return [1e3 * turns.seconds(centering) / 4 for centering in bundles]


def sphere_fields() -> list[list[float]]:
    """Microseconds per field (`recentred`, 8 points) on spheres, one row per dimension, one column per size."""
    return [[dim, *_fields_by_size(Sphere(dim))] for dim in DIMENSIONS]


def _fields_by_size(space: Space) -> list[float]:
    bundles = {
        str(n): RiemannianSubbundle(noisy_curve(space, n, 1.0, 0.02), 1, 0.15, space=space, min_density=1e-3)
        for n in FIELD_SIZES
    }
    first = next(iter(bundles.values()))
    points = first.observations[:8]
    covectors = first.frame(points).duals[:, :, 0]
    turns = take_turns({n: lambda n=n: bundles[n].field(points, covectors) for n in bundles}, rounds=ROUNDS)
    return [1e6 * turns.seconds(n) / 8 for n in bundles]


def ridges(space: Space, rank: int, n: int, draws: int) -> list[list[object]]:
    """Coverage, accuracy and cost of the ridge of noisy spheres around a point of ``space``, a row per bandwidth."""
    base = space.random_point(1, np.random.default_rng(1)).reshape(1, -1)
    basis = orthonormal_bases(space, base).vectors[0, : rank + 1]
    rows: list[list[object]] = []
    for width in WIDTHS:
        off, errors, milliseconds = [], [], []
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            directions = rng.standard_normal((n, rank + 1))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            data = exp_rows(space, base, (RADIUS + NOISE * rng.standard_normal((n, 1))) * directions @ basis)
            bundle = RiemannianSubbundle(data, rank, width, space=space, min_density=1e-3, n_jobs=1)
            begin = time.process_time()
            ridge = sb.ridge_project(bundle, data[:40], errors=True)
            milliseconds.append(1e3 * (time.process_time() - begin) / 40)
            good = ridge.status == sb.Status.OK
            off.append(np.abs(dist_rows(space, ridge.points, base) - RADIUS)[good])
            errors.append(ridge.position_error[good])
        offset, error = np.concatenate(off), np.concatenate(errors)
        covered = float(np.mean(offset < 1.96 * error))
        accuracy = float(np.sqrt(np.mean(offset**2))) / NOISE
        rows.append([repr(space), rank, n, width, covered, accuracy, float(np.median(milliseconds))])
    return rows


def run() -> Result:
    ridge_rows = [row for case in SPHERES for row in ridges(*case)]
    covered = [row[4] for row in ridge_rows]
    sphere = {n: RiemannianSubbundle(noisy_curve(Sphere(2), n, 2.6, 0.05), 1, 0.1, space=Sphere(2)) for n in SIZES}
    turns = take_turns({str(n): lambda n=n: geodesic(sphere[n], 1.0) for n in SIZES}, rounds=ROUNDS)
    growth, long = [], {n: geodesic(sphere[n], 1.0) for n in SIZES}
    for n in SIZES:
        seconds = turns.seconds(str(n))
        each = 1e6 * seconds / float(long[n].n_evaluations)
        growth.append([n, seconds, int(long[n].n_evaluations), each, 1e3 * each / n])
    spaces = [Sphere(2), Hyperbolic(2), SPD(2), SPD(3), SO(3), Kendall(5, 2), Kendall(5, 3)]
    rows = [[repr(space), space.dim, *field_times(space)] for space in spaces]
    length = float(np.abs(np.linalg.norm(long[10_000].points, axis=1) - 1.0).max())
    return Result(
        title="data on manifolds: cost of geodesics and fields, and the ridge",
        method=(
            "One geodesic of length 1, 10 bandwidths, on S² (`recentred`, default tolerance), on clouds of growing "
            "size; every evaluation looks at all observations twice. Then the field on spheres by dimension and number "
            "of observations, and the field at 4 points for 500 observations on other spaces, all cores: closed form "
            "on spheres and hyperbolic spaces, 2 dim neighbours a point elsewhere. Last the ridge of noisy geodesic "
            f"spheres of radius {RADIUS}, noise {NOISE}: coverage of a nominal 95 % by `position_error`, RMS distance "
            "from the sphere, processor time of a row with standard errors."
        ),
        tables=[
            Table(["observations", "seconds", "evaluations", "µs per evaluation", "ns per observation"], growth),
            Table(["dimension", *(f"µs per field, N = {n}" for n in FIELD_SIZES)], sphere_fields()),
            Table(["space", "dim", "ms per field, recentred", "ms per field, local"], rows),
            Table(["space", "rank", "N", "bandwidth", "coverage", "RMS distance / noise", "ms per row"], ridge_rows),
        ],
        bars=[
            Bar("geodesic of length 1 on S², 10000 observations", turns.seconds("10000"), 0.5, unit="s"),
            Bar("cost at 100000 observations / at 10000 (linear is 10)", turns.ratio("100000", "10000"), 12.0),
            Bar("distance from the sphere along it", length, 1e-9),
            Bar("coverage of standard errors on manifolds, least", min(covered), 0.9, at_least=True),
            Bar("coverage of standard errors on manifolds, median", float(np.median(covered)), 0.98),
        ],
    )
