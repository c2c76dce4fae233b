"""The field in R³ against two references: its own first pass, and XLA with the neighbour lists for free.

The first reference is required of any method: neighbours, weights, second moment. The second is an implementation in
JAX, in two variants: automatic differentiation through the eigensolver (the paper's), and our closed form. XLA is given
the exact list of neighbours of every query, which it cannot compute itself: with the Gaussian, the usual choice, and
for comparison with our default, the compact kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import numba as nb
import numpy as np
from scipy.spatial import cKDTree

import subbundle as sb
from benchmarks._extras import jax_in_double
from benchmarks._report import Bar, Result, Table
from benchmarks._timing import Timings, take_turns
from subbundle.kernels import CODES, reach_of
from subbundle.local.gather import ball
from subbundle.local.moments import moments

N_POINTS, N_QUERIES, RANK = 100_000, 2_500, 2
# On this surface, of area 16, about 1000 observations then lie in reach of a query.
BANDWIDTH = 0.035
CHUNK = 100
ROUNDS = 7


@nb.njit(nogil=True)
def second_moments(tree, bandwidth, power, reach, points, out):
    """Write the weighted second moment of every point into ``out`` [batch, d, d], and nothing else."""
    found, near = np.empty(tree[0].shape[0], np.int64), np.empty((points.shape[1] + 1, 0))
    shift = np.empty(points.shape[1])
    for b in range(points.shape[0]):
        near, count, _, _, sums = ball(tree, points[b], bandwidth, power, reach, -1.0, None, None, found, near)
        moments(near, count, sums, None, shift, out[b])


def neighbour_lists(points: np.ndarray, queries: np.ndarray, kernel: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows in reach of each query, padded to the longest list, and which entries are real."""
    tree = cKDTree(points)
    nearest = tree.query(queries)[0] if kernel == "gaussian" else 0.0
    radius = np.sqrt(nearest**2 + reach_of(kernel, RANK, 3) * BANDWIDTH**2)
    lists = tree.query_ball_point(queries, np.broadcast_to(radius, len(queries)))
    index = np.zeros((len(queries), max(map(len, lists))), np.int32)
    mask = np.zeros(index.shape)
    for row, found in enumerate(lists):
        index[row, : len(found)] = found
        mask[row, : len(found)] = 1.0
    return index, mask


def jax_fields(points: np.ndarray, index: np.ndarray, mask: np.ndarray, kernel: str) -> dict[str, Callable]:
    """Jitted ``(queries, covectors) -> (velocity, force)``: two ways to differentiate, each vmapped and in chunks.

    One call vmapped over all queries is the usual way. `jax.lax.map` with a batch size keeps XLA's intermediate arrays
    in the cache; of the sizes 20, 100 and 500, 100 was the fastest. Each coordinate is contiguous, as XLA likes it.
    """
    jax, jnp = jax_in_double()
    cloud, index, mask = jnp.asarray(points.T), jnp.asarray(index), jnp.asarray(mask)
    low, high = slice(None, -RANK), slice(-RANK, None)

    power, reach = CODES[kernel], reach_of(kernel, RANK, 3)

    def weights(p, rows, real):
        y = cloud[:, rows] - p[:, None]
        t = jnp.sum(y * y, axis=0) / BANDWIDTH**2
        if kernel == "gaussian":
            phi = psi = jnp.exp(-0.5 * t) * real
        else:
            u = jnp.maximum(1.0 - t / reach, 0.0) * real
            phi, psi = u**power, 2.0 * power / reach * u ** (power - 1)
        mass = jnp.sum(phi)
        return y, phi / mass, psi / mass

    def hamiltonian(p, eta, rows, real):
        y, w, _ = weights(p, rows, real)
        mean = y @ w
        frame = jnp.linalg.eigh((y * w) @ y.T - jnp.outer(mean, mean))[1][:, high]
        inside = eta @ frame
        return 0.5 * inside @ inside, frame @ inside

    def by_differentiation(p, eta, rows, real):
        gradient, velocity = jax.grad(hamiltonian, has_aux=True)(p, eta, rows, real)
        return velocity, -gradient

    def in_closed_form(p, eta, rows, real):
        y, w, g = weights(p, rows, real)
        z = [y_i - jnp.sum(w * y_i) for y_i in y]
        sigma = jnp.array([[jnp.sum(w * z_i * z_j) for z_j in z] for z_i in z])
        values, vectors = jnp.linalg.eigh(sigma)
        c = eta @ vectors
        partners = (c[low] / (values[high, None] - values[low])) @ vectors[:, low].T
        a = (vectors[:, high] * c[high]) @ partners
        q = g * sum(a[i, j] * z[i] * z[j] for i in range(3) for j in range(3))
        return vectors[:, high] @ c[high], -jnp.array([jnp.sum(q * y_i) for y_i in y]) / BANDWIDTH**2

    def vmapped(one):
        return lambda *arguments: jax.vmap(one)(*arguments)

    def chunked(one):
        return lambda *arguments: jax.lax.map(lambda row: one(*row), arguments, batch_size=CHUNK)

    def ready(many):
        compiled = jax.jit(many)
        return lambda p, eta: jax.block_until_ready(compiled(jnp.asarray(p), jnp.asarray(eta), index, mask))

    return {
        "JAX, differentiating eigh, vmapped": ready(vmapped(by_differentiation)),
        "JAX, closed form, vmapped": ready(vmapped(in_closed_form)),
        f"JAX, differentiating eigh, chunks of {CHUNK}": ready(chunked(by_differentiation)),
        f"JAX, closed form, chunks of {CHUNK}": ready(chunked(in_closed_form)),
    }


def run() -> Result:
    points = sb.datasets.bumpy_sphere(N_POINTS, noise=0.01, seed=0).points
    rng = np.random.default_rng(0)
    queries = sb.datasets.bumpy_sphere(N_QUERIES, seed=1).clean
    covectors = rng.standard_normal(queries.shape)
    single = sb.PrincipalSubbundle(points, RANK, BANDWIDTH, n_jobs=1)
    cloud, kernel = single.cloud, single.kernel
    threaded = {name: sb.PrincipalSubbundle(cloud, RANK, BANDWIDTH, kernel=name) for name in ("gaussian", kernel)}
    lists = {name: neighbour_lists(points, queries, name) for name in threaded}
    fields = {name: jax_fields(points, *lists[name], name) for name in threaded}
    closed = f"JAX, closed form, chunks of {CHUNK}"
    others = {name: ("gaussian", field) for name, field in fields["gaussian"].items()}
    others[f"{closed}, {kernel} kernel"] = (kernel, fields[kernel][closed])
    power, reach, centred, out = (
        CODES[kernel],
        reach_of(kernel, RANK, 3),
        queries - cloud.centre,
        np.empty((N_QUERIES, 3, 3)),
    )
    alone = take_turns(
        {
            "moments": lambda: second_moments(cloud.tree, BANDWIDTH, power, reach, centred, out),
            "field": lambda: single.field(queries, covectors),
        },
        rounds=2 * ROUNDS,
    )
    turns = take_turns(
        {name: lambda b=b: b.field(queries, covectors) for name, b in threaded.items()}
        | {name: lambda f=f: f(queries, covectors) for name, (_, f) in others.items()},
        rounds=ROUNDS,
    )
    ours = {name: bundle.field(queries, covectors).force for name, bundle in threaded.items()}
    rows = [
        _row("second moment only, 1 thread", alone, "moments"),
        _row("field, 1 thread", alone, "field"),
        *(_row(f"field, {name} kernel, all cores", turns, name) for name in threaded),
    ]
    for name, (profile, field) in others.items():
        force = np.asarray(field(queries, covectors)[1])
        error = np.linalg.norm(force - ours[profile], axis=1) / np.linalg.norm(ours[profile], axis=1)
        rows.append(_row(name, turns, name, turns.ratio(name, kernel), float(np.median(error))))
    mask = lists["gaussian"][1]
    return Result(
        title=f"the field at {N_QUERIES} points of R³, {N_POINTS} observations",
        method=(
            f"Ours: the default, {kernel} kernel, {lists[kernel][1].sum(axis=1).mean():.0f} observations in reach of a "
            f"query on average; the Gaussian has {mask.sum(axis=1).mean():.0f}, at most {mask.shape[1]} (it ends at "
            f"{np.sqrt(reach_of('gaussian', RANK, 3)):.1f} bandwidths); centring local. JAX in float64, jitted, on all "
            "cores, reads padded lists of exactly these observations, whose making is not counted; unless it says "
            "otherwise, the Gaussian's. Differences of the force are to ours with the same kernel."
        ),
        tables=[Table(["", "milliseconds", "of processor time", "times ours", "median difference of the force"], rows)],
        bars=[
            Bar("field / second moment only, 1 thread", alone.ratio("field", "moments", processor=True), 2.5),
            *(
                Bar(f"{name} / ours, all cores", turns.ratio(name, kernel), 15.0, at_least=True)
                for name, (profile, _) in others.items()
                if profile == "gaussian"
            ),
        ],
    )


def _row(label: str, turns: Timings, name: str, *rest: float) -> list[object]:
    milliseconds = [1e3 * turns.seconds(name), 1e3 * turns.seconds(name, processor=True)]
    return [label, *milliseconds, *(rest or ("", ""))]
