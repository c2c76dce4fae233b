"""The spaces that every law is tested on, and points of them."""

from __future__ import annotations

import numpy as np
import pytest

from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Space, Sphere

SPACES = [
    Euclidean(3),
    Sphere(1),
    Sphere(2),
    Sphere(6),
    Hyperbolic(1),
    Hyperbolic(3),
    SPD(1),
    SPD(2),
    SPD(4),
    SO(2),
    SO(3),
    SO(4),
    SO(5),
    Kendall(3, 2),
    Kendall(6, 2),
    Kendall(3, 3),
    Kendall(5, 3),
    Kendall(6, 4),
    Product(Sphere(2), SPD(2), Kendall(4, 2)),
    Product(Euclidean(2), Hyperbolic(2), SO(3)),
]


@pytest.fixture(params=SPACES, ids=repr)
def space(request: pytest.FixtureRequest) -> Space:
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240611)


@pytest.fixture
def base(space: Space, rng: np.random.Generator) -> np.ndarray:
    """Twelve points; shapes are kept away from the singular ones, where short geodesics may meet a cut locus."""
    points = space.random_point(400, rng)
    if isinstance(space, Kendall) and space.landmark_dim > 2:
        room = np.linalg.norm(np.linalg.svd(points, compute_uv=False)[:, -2:], axis=1)
        points = points[room > 0.45]
    return points[:12]


@pytest.fixture
def vector(space: Space, base: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A tangent vector of length 0.2 at each base point: shorter than half the way to any cut locus met here."""
    raw = space.to_tangent(rng.standard_normal(base.shape), base)
    return raw * (0.2 / column(space, np.sqrt(space.inner_product(raw, raw, base))))


@pytest.fixture
def other(space: Space, base: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A second tangent vector, of any length."""
    return space.to_tangent(rng.standard_normal(base.shape), base)


def column(space: Space, values: np.ndarray) -> np.ndarray:
    """Numbers [...] shaped to multiply points [..., *shape]."""
    return np.asarray(values).reshape(*np.shape(values), *(1,) * len(space.shape))
