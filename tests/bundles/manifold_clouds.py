"""Small noisy curves on every built-in space, with points near their centre."""

from __future__ import annotations

import numpy as np

from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Space, Sphere
from subbundle.spaces.rows import flattened, orthonormal_bases, shaped

EXACT = [Euclidean(3), Sphere(2), Hyperbolic(2)]
GENERAL = [
    SPD(2),
    SO(3),
    Kendall(4, 2),
    Kendall(4, 3),
    Product(Sphere(2), SPD(2)),
    Product(Hyperbolic(2), Euclidean(1)),
]
BANDWIDTH = 0.25


def middle(space: Space, seed: int = 3) -> np.ndarray:
    """One point [D]; of the shapes the one farthest from the singular ones, where geodesics may meet a cut locus."""
    points = space.random_point(60, np.random.default_rng(seed))
    if isinstance(space, Kendall):
        room = np.linalg.norm(np.linalg.svd(points, compute_uv=False)[:, -2:], axis=1)
        points = points[np.argsort(-room)]
    return flattened(space, points)[0]


def around(space: Space, base: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """exp at ``base`` of vectors given by orthonormal coordinates [n, dim], as flat rows."""
    basis = orthonormal_bases(space, base[None]).vectors[0]
    vectors = shaped(space, np.atleast_2d(coordinates) @ basis)
    return flattened(space, space.exp(vectors, shaped(space, base)))


def cloud(space: Space, n: int = 60, seed: int = 3) -> np.ndarray:
    """``n`` observations around a curve of length 1 through the centre, noise 0.08 in all directions."""
    rng = np.random.default_rng(seed)
    coordinates = 0.08 * rng.standard_normal((n, space.dim))
    coordinates[:, 0] = rng.uniform(-0.5, 0.5, n)
    coordinates[:, 1] += 0.5 * coordinates[:, 0] ** 2
    return around(space, middle(space, seed), coordinates)


def inside(space: Space, n: int, seed: int = 3) -> np.ndarray:
    """``n`` points [n, D] near the centre of `cloud`."""
    rng = np.random.default_rng(seed + 100)
    scale = np.r_[0.12, np.full(space.dim - 1, 0.03)]
    return around(space, middle(space, seed), scale * rng.uniform(-1.0, 1.0, (n, space.dim)))


def steering(bundle: RiemannianSubbundle, points: np.ndarray, seed: int = 4) -> np.ndarray:
    """Covectors [n, D] along the bundle and half as much across it and off the tangent space.

    One that nearly vanishes on the bundle would need tiny steps: at unit speed it is huge.
    """
    duals = bundle.frame(points).duals
    along = duals[:, :, 0]
    aside = np.random.default_rng(seed).standard_normal(along.shape)
    return along + 0.5 * aside * np.linalg.norm(along, axis=1, keepdims=True) / np.sqrt(points.shape[1])
