"""The functions called: every public function and estimator, with arguments from `_fuzz_inputs`.

Each subject draws its arguments from a generator and makes one or a few calls; their results are not used. A
subject that needs a bundle or a fitted estimator makes one first, from a cloud that is odd only sometimes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import subbundle as sb
from benchmarks import _fuzz_jobs
from benchmarks._fuzz_inputs import Rng, choice, clothed, cloud, fair_cloud, number, rows, shape, spoiled, whole

Subject = Callable[[Rng], Any]


def size_of(points: np.ndarray) -> float:
    """A typical bandwidth: a fifth of the spread of the middle of the cloud."""
    with np.errstate(all="ignore"):
        spread = np.nanmedian(np.abs(points - np.nanmedian(points, axis=0))) if points.size else 1.0
    return float(0.4 * spread) if np.isfinite(spread) and spread > 0 else 1.0


def learned(rng: Rng) -> tuple[Any, np.ndarray]:
    """A bundle and its cloud; one in five from a formula or on a manifold."""
    kind = rng.random()
    if kind < 0.1:
        made = [sb.bundles.SphereTangent(2), sb.bundles.Heisenberg(), sb.bundles.Constant(np.eye(3)[:, :2])]
        return made[rng.integers(3)], shape(rng, 20, 3)
    if kind < 0.2:
        space = manifold(rng)
        points = space.random_point(int(rng.choice([20, 60])), rng)
        rank = int(rng.integers(1, space.dim + 1))
        flat = points.reshape(len(points), -1)
        return sb.RiemannianSubbundle(points, rank, number(rng, 0.8, odd=0.1), space=space, n_jobs=1), flat
    points = fair_cloud(rng)
    rank = int(rng.integers(1, points.shape[1]))
    bandwidth = number(rng, size_of(points), odd=0.1)
    centering, kernel = choice(rng, "local", "recentred", "none"), choice(rng, "gaussian", "compact")
    return sb.PrincipalSubbundle(points, rank, bandwidth, centering=centering, kernel=kernel, n_jobs=1), points


def manifold(rng: Rng) -> Any:
    """A space of few dimensions."""
    spaces = sb.spaces
    made = [
        spaces.Sphere(2),
        spaces.Hyperbolic(2),
        spaces.SPD(2),
        spaces.SO(3),
        spaces.Kendall(4, 2),
        spaces.Product(spaces.Sphere(1), spaces.Euclidean(1)),
    ]
    return made[rng.integers(len(made))]


def principal(rng: Rng) -> Any:
    points = cloud(rng)
    bandwidth = number(rng, 0.5)
    bundle = sb.PrincipalSubbundle(
        points,
        whole(rng, 1, 3),
        bandwidth,
        centering=choice(rng, "local", "recentred", "none"),
        kernel=choice(rng, "gaussian", "compact"),
        n_jobs=choice(rng, None, 1, 2),
    )
    queries = rows(rng, np.asarray(bundle.cloud.points))
    return bundle.frame(queries), bundle.field(queries, queries), bundle.landmarks(whole(rng, 1, 50))


def riemannian(rng: Rng) -> Any:
    space = manifold(rng)
    points = space.random_point(int(rng.choice([1, 2, 5, 30])), rng)
    if rng.random() < 0.2:
        points = spoiled(rng, points.reshape(len(points), -1), odd=1.0).reshape(-1, *space.shape)
    bundle = sb.RiemannianSubbundle(
        points, whole(rng, 1, space.dim), number(rng, 0.8), space=choice(rng, space), n_jobs=1
    )
    queries = rows(rng, points.reshape(len(points), -1))
    return bundle.frame(queries)


def geodesic(rng: Rng) -> Any:
    bundle, points = learned(rng)
    base, covectors = rows(rng, points), rows(rng, points)
    method = choice(rng, "dopri5", "dopri5", "rk4", "implicit_midpoint")
    step = None if method == "dopri5" else number(rng, 0.2 * bundle.length_scale)
    length = number(rng, 3 * bundle.length_scale)
    return sb.geodesic(bundle, base, covectors, length=length, n_points=whole(rng, 2, 20), method=method, step=step)


def exp(rng: Rng) -> Any:
    bundle, points = learned(rng)
    return sb.exp(bundle, rows(rng, points), rows(rng, points), max_steps=whole(rng, 10, 1000))


def log(rng: Rng) -> Any:
    bundle, points = learned(rng)
    return sb.log(
        bundle,
        rows(rng, points, most=1),
        rows(rng, points),
        search=choice(rng, "dual", "full"),
        method=choice(rng, "lm", "lm", "bfgs"),
        penalty=choice(rng, 0.0, 1.0),
        tol=number(rng, 1e-5),
    )


def distance(rng: Rng) -> Any:
    bundle, points = learned(rng)
    return sb.distance(bundle, rows(rng, points, most=2), rows(rng, points, most=2), search=choice(rng, "dual", "full"))


def pairwise_distance(rng: Rng) -> Any:
    bundle, points = learned(rng)
    others = rows(rng, points) if rng.random() < 0.5 else None
    return sb.pairwise_distance(bundle, rows(rng, points), others, tol=number(rng, 1e-4))


def geodesic_between(rng: Rng) -> Any:
    bundle, points = learned(rng)
    return sb.geodesic_between(bundle, rows(rng, points), rows(rng, points), n_points=whole(rng, 2, 50))


def submanifold(rng: Rng) -> Any:
    bundle, points = learned(rng)
    scale = bundle.length_scale
    base = points[0] if len(points) and rng.random() < 0.8 else rows(rng, points)
    found = sb.submanifold(bundle, base, number(rng, 4 * scale), step=number(rng, 0.3 * scale))
    return found.nearest(rows(rng, points))


def chart(rng: Rng) -> Any:
    bundle, points = learned(rng)
    base = points[0] if len(points) and rng.random() < 0.8 else rows(rng, points)
    radius = choice(rng, "auto", number(rng, 4 * bundle.length_scale))
    # Many geodesics on a manifold take as long as the docstring says.
    few = 64 if bundle.rank > 2 and isinstance(bundle, sb.RiemannianSubbundle) else None
    made = sb.Chart(bundle, base, radius, n_geodesics=few, max_radius=choice(rng, None, number(rng, 1.0)))
    made.locate(rows(rng, points), outside=choice(rng, "nan", "nearest", "error"))
    inside = made.extent_along(rng.standard_normal((3, made.rank)))[:, None]
    return made.inverse_transform(clothed(rng, inside * np.ones(made.rank))), made.jacobian(
        0.3 * inside + np.zeros(made.rank)
    )


def atlas(rng: Rng) -> Any:
    bundle, points = learned(rng)
    made = sb.Atlas(bundle, choice(rng, "auto", points[:2]), choice(rng, "auto", number(rng, bundle.length_scale)))
    return made.project(rows(rng, points))


def ridge(rng: Rng) -> Any:
    bundle, points = learned(rng)
    queries = rows(rng, points)
    if rng.random() < 0.5:
        return sb.carry_to_ridge(bundle, queries, max_steps=whole(rng, 1, 100))
    return sb.ridge_project(
        bundle,
        queries,
        order=choice(rng, 1, 2),
        tol=number(rng, 0.01),
        reach=choice(rng, None, number(rng, 1.0)),
        continuation=choice(rng, "auto", None),
    )


def connected_components(rng: Rng) -> Any:
    bundle, points = learned(rng)
    return sb.connected_components(bundle).label(rows(rng, points))


def reconstruct(rng: Rng) -> Any:
    points = (
        clothed(rng, spoiled(rng, shape(rng, int(rng.choice([3, 20, 200])), 3))) if rng.random() < 0.7 else cloud(rng)
    )
    return sb.reconstruct(points, bandwidth=choice(rng, "auto", number(rng, 0.3)), closed=choice(rng, True, False))


def diagnose(rng: Rng) -> Any:
    bandwidth = choice(rng, "auto", number(rng, 0.5))
    return sb.diagnose(cloud(rng), choice(rng, "auto", whole(rng, 1, 2)), bandwidth, n_jobs=1)


def selection(rng: Rng) -> Any:
    chosen = rng.integers(4)
    points = cloud(rng)
    if chosen == 0:
        return sb.selection.choose_bandwidth(points, whole(rng, 1, 2), n_jobs=1)
    if chosen == 1:
        return sb.selection.choose_rank(points, max_rank=choice(rng, None, whole(rng, 1, 3)))
    if chosen == 2:
        return sb.selection.choose_local_bandwidth(points, whole(rng, 1, 2), n_jobs=1)
    bundle, fair = learned(rng)
    if rng.random() < 0.5:
        return sb.selection.choose_base_point(bundle, distance=choice(rng, "euclidean", "geodesic"))
    return sb.selection.choose_radius(bundle, rows(rng, fair), max_radius=choice(rng, None, number(rng, 1.0)))


def principal_submanifold(rng: Rng) -> Any:
    model = sb.PrincipalSubmanifold(
        choice(rng, 1, 2, "auto"),
        bandwidth=choice(rng, "auto", number(rng, 0.5)),
        radius=choice(rng, "auto", number(rng, 2.0)),
        denoise=choice(rng, True, False),
        reduce_dim=choice(rng, "auto", None, 3),
        outside=choice(rng, "nearest", "nan"),
        base_point=choice(rng, "frechet", "frechet", "frechet", np.zeros(3)),
        kernel=choice(rng, "auto", "gaussian", "compact", "quartic"),
        centering=choice(rng, None, "local", "recentred"),
        space=choice(rng, None, None, None, None, sb.spaces.Sphere(2)),
        n_jobs=1,
    )
    return _used(rng, model)


def atlas_embedding(rng: Rng) -> Any:
    model = sb.AtlasEmbedding(
        choice(rng, 1, 2, "auto"),
        bandwidth=choice(rng, "auto", number(rng, 0.5)),
        closed=choice(rng, "cut", "raise"),
        n_neighbors=choice(rng, "auto", whole(rng, 2, 20)),
        reduce_dim=choice(rng, "auto", None, 3),
        base_point=choice(rng, None, None, None, np.zeros(3)),
        metric=choice(rng, "auto", "rigid", "stress"),
        missing=choice(rng, "raise", "local"),
        outside=choice(rng, "nearest", "nan"),
        n_jobs=1,
    )
    if rng.random() < 0.2:
        return _of_distances(rng, model)
    return _used(rng, model, weighted=True)


def _of_distances(rng: Rng, model: Any) -> Any:
    """The same from a matrix of distances."""
    points = fair_cloud(rng)
    offsets = points[:, None] - points[None]
    with np.errstate(all="ignore"):
        matrix = np.sqrt(np.einsum("ijd,ijd->ij", offsets, offsets))
    model.set_params(metric="precomputed").fit(clothed(rng, spoiled(rng, matrix, odd=0.2), odd=0.2))
    return model.transform(clothed(rng, matrix[: int(rng.integers(0, 5))], odd=0.2))


def geodesic_distance(rng: Rng) -> Any:
    points = fair_cloud(rng) if rng.random() < 0.6 else cloud(rng)
    model = sb.GeodesicDistance(
        choice(rng, 1, 2, "auto"),
        method=choice(rng, "geodesics", "atlas"),
        bandwidth=choice(rng, "auto", number(rng, 0.5)),
        denoise=choice(rng, True, False),
        reduce_dim=choice(rng, "auto", None, 3),
        kernel=choice(rng, "auto", "gaussian", "compact"),
        space=choice(rng, None, None, None, None, sb.spaces.Sphere(2)),
        tol=number(rng, 1e-4),
        n_jobs=1,
    ).fit(points)
    return model.pairwise(rows(rng, np.asarray(points, dtype=float)))


def surface_reconstructor(rng: Rng) -> Any:
    points = spoiled(rng, shape(rng, int(rng.choice([20, 200])), 3))
    model = sb.SurfaceReconstructor(bandwidth=choice(rng, "auto", number(rng, 0.3))).fit(clothed(rng, points))
    return model.transform(rows(rng, points))


def space_calls(rng: Rng) -> Any:
    space = manifold(rng)
    x, y = space.random_point(3, rng), space.random_point(3, rng)
    odd = [spoiled(rng, a.reshape(3, -1), odd=0.5).reshape(a.shape) for a in (x, y)]
    with np.errstate(all="ignore"):
        results = [
            space.log(odd[1], odd[0]),
            space.dist(*odd),
            space.exp(odd[1], odd[0]),
            space.projection(odd[0]),
            space.parallel_transport(odd[1], *odd),
            space.tangent_basis(odd[0]),
            space.flat(odd[1], odd[0]),
        ]
    space.validate(clothed(rng, x.reshape(3, -1)))
    return results


def made_spaces(rng: Rng) -> Any:
    kind = [sb.spaces.Sphere, sb.spaces.Hyperbolic, sb.spaces.SPD, sb.spaces.SO, sb.spaces.Euclidean][rng.integers(5)]
    space = kind(whole(rng, 1, 4, odd=0.5))
    return space.log(clothed(rng, space.random_point(2, rng)), np.ones(space.shape))


def small_parts(rng: Rng) -> Any:
    chosen = rng.integers(4)
    points = cloud(rng)
    if chosen == 0:
        return sb.Cloud(points)
    if chosen == 1:
        return sb.LocalBandwidth(points, clothed(rng, np.ones(5)), number(rng, 1.0))
    if chosen == 2:
        names = [sb.datasets.torus, sb.datasets.sphere, sb.datasets.swiss_roll, sb.datasets.curve_in_plane]
        return names[rng.integers(4)](whole(rng, 1, 50, odd=0.3), noise=number(rng, 0.1), seed=whole(rng, 0, 9))
    bundle, fair = learned(rng)
    return sb.flow.integrate(bundle, rows(rng, fair), rows(rng, fair), clothed(rng, np.linspace(0, 1, 5)))


def _used(rng: Rng, model: Any, *, weighted: bool = False) -> Any:
    """Fit, then transform new rows and coordinates; ``weighted``: with weights of the rows, one time in three."""
    points = fair_cloud(rng) if rng.random() < 0.6 else cloud(rng)
    weights = {}
    if weighted and rng.random() < 0.3:
        count = len(points) if hasattr(points, "__len__") else 3
        weights["sample_weight"] = clothed(rng, rng.uniform(0.0, 2.0, count).round(1), odd=0.4)
    coordinates = model.fit_transform(points, **weights)
    new = rows(rng, np.asarray(points, dtype=float))
    return model.transform(new), model.inverse_transform(coordinates[:3])


SUBJECTS: dict[str, Subject] = {
    "PrincipalSubbundle": principal,
    "RiemannianSubbundle": riemannian,
    "geodesic": geodesic,
    "exp": exp,
    "log": log,
    "distance": distance,
    "pairwise_distance": pairwise_distance,
    "geodesic_between": geodesic_between,
    "submanifold": submanifold,
    "Chart": chart,
    "Atlas": atlas,
    "ridge_project, carry_to_ridge": ridge,
    "connected_components": connected_components,
    "reconstruct": reconstruct,
    "diagnose": diagnose,
    "selection": selection,
    "PrincipalSubmanifold": principal_submanifold,
    "AtlasEmbedding": atlas_embedding,
    "GeodesicDistance": geodesic_distance,
    "SurfaceReconstructor": surface_reconstructor,
    "spaces": space_calls,
    "spaces, made": made_spaces,
    "distributed.plan_tiles, run": _fuzz_jobs.tiles,
    "distributed.denoise": _fuzz_jobs.denoise,
    "distributed.reconstruct": _fuzz_jobs.reconstruct,
    "distributed.embed": _fuzz_jobs.embed,
    "Cloud, LocalBandwidth, datasets, integrate": small_parts,
}
