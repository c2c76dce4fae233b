"""Surfaces in more than three dimensions, with exact distances and areas, for the tests of meshing."""

import numpy as np
from scipy.integrate import dblquad

KLEIN_MAJOR, KLEIN_MINOR = 1.0, 0.5
FLAT_RADII = (1.0, 0.6)


def rotated(clean, dim, seed=9):
    """Rows of ``clean`` [n, c] in a c-dimensional flat of R^dim, and the basis [dim, c] of that flat."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, clean.shape[1])))[0]
    return clean @ basis.T, basis


def with_noise(clean, noise, seed):
    return clean + noise * np.random.default_rng(seed + 1000).standard_normal(clean.shape)


def flat_torus(n, noise=0.0, seed=0):
    """r₁ e^{iu}, r₂ e^{iv} in R⁴."""
    u, v = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, (2, n))
    r, s = FLAT_RADII
    return with_noise(np.column_stack([r * np.cos(u), r * np.sin(u), s * np.cos(v), s * np.sin(v)]), noise, seed)


def distance_to_flat_torus(points):
    r, s = FLAT_RADII
    return np.hypot(np.hypot(points[:, 0], points[:, 1]) - r, np.hypot(points[:, 2], points[:, 3]) - s)


def klein_bottle(u, v):
    """((R + r cos v) e^{iu}, r sin v e^{iu/2}) in R⁴: u → u + 2π turns v into −v."""
    ring, lift = KLEIN_MAJOR + KLEIN_MINOR * np.cos(v), KLEIN_MINOR * np.sin(v)
    return np.column_stack([ring * np.cos(u), ring * np.sin(u), lift * np.cos(u / 2.0), lift * np.sin(u / 2.0)])


def _klein_density(v):
    """√det g: |∂u| and |∂v| = r are orthogonal."""
    return KLEIN_MINOR * np.hypot(KLEIN_MAJOR + KLEIN_MINOR * np.cos(v), 0.5 * KLEIN_MINOR * np.sin(v))


def klein_area():
    return dblquad(lambda v, u: _klein_density(v), 0.0, 2.0 * np.pi, 0.0, 2.0 * np.pi)[0]


def noisy_klein_bottle(n, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(0.0, 2.0 * np.pi, (2, 3 * n))
    kept = rng.uniform(0.0, KLEIN_MINOR * (KLEIN_MAJOR + KLEIN_MINOR), 3 * n) < _klein_density(v)
    return with_noise(klein_bottle(u[kept][:n], v[kept][:n]), noise, seed)


def distance_to_klein_bottle(points):
    """By Newton's method on |x − k(u, v)|² from the nearest of a grid."""
    grid = np.stack(np.meshgrid(*[np.arange(160) * (2.0 * np.pi / 160)] * 2), axis=-1).reshape(-1, 2)
    nodes = klein_bottle(*grid.T)
    from scipy.spatial import cKDTree

    place = grid[cKDTree(nodes).query(points)[1]]
    for _ in range(20):
        h = 1e-6
        here = klein_bottle(*place.T)
        along = np.stack([(klein_bottle(*(place + h * e).T) - here) / h for e in np.eye(2)], axis=2)
        gram = along.transpose(0, 2, 1) @ along
        place = place + np.linalg.solve(gram, along.transpose(0, 2, 1) @ (points - here)[:, :, None])[:, :, 0]
    return np.linalg.norm(points - klein_bottle(*place.T), axis=1)


def bent_patch(n, noise=0.0, seed=0):
    """(½ e^{2it}, ½ e^{2iy}) over the square |t|, |y| ≤ 1 in R⁴: flat, so its area is 4 and its border 8 long."""
    t, y = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, n))
    clean = 0.5 * np.column_stack([np.cos(2 * t), np.sin(2 * t), np.cos(2 * y), np.sin(2 * y)])
    return with_noise(clean, noise, seed)


def moebius_in_four(n, noise=0.0, seed=0):
    """(e^{it}, w e^{it/2}), |w| ≤ 0.4: a Möbius band in R⁴. Its border is 2 · 2π √(1 + 0.04) long."""
    rng = np.random.default_rng(seed)
    t, w = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.4, 0.4, n)
    clean = np.column_stack([np.cos(t), np.sin(t), w * np.cos(t / 2.0), w * np.sin(t / 2.0)])
    return with_noise(clean, noise, seed)
