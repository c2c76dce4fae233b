"""Laws that hold at every point: `frame` and `field` must be consistent."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.bundles.base import Subbundle
from subbundle.testing._measure import at_most


def check_frame_orthonormal(bundle: Subbundle, points: FloatArray, *, bound: float = 1e-10) -> None:
    """FᵀF = I: |FᵀF − I| ≤ ``bound`` in every entry."""
    vectors = bundle.frame(points).vectors
    gram = np.einsum("bdi,bdj->bij", vectors, vectors)
    at_most(np.abs(gram - np.eye(bundle.rank)).max(axis=(1, 2)), bound, "the frame is orthonormal, |FᵀF − I|")


def check_force_is_gradient(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, spacing: float = 1e-3, bound: float = 1e-6
) -> None:
    """force = −∂H/∂p, and velocity = ∂H/∂η, with H = ½ |Fᵀη|² computed from `frame`.

    The gradient by central differences at distances ``spacing`` and ``spacing``/2 (times L), extrapolated (Richardson)
    so that its error is of fourth order. Errors are relative to the force, or to |η| √(2H) / L where that is larger.
    """
    scale = bundle.length_scale
    vectors = bundle.frame(points).vectors
    coordinates = np.einsum("bdi,bd->bi", vectors, covectors)
    field = bundle.field(points, covectors)
    velocity = np.einsum("bdi,bi->bd", vectors, coordinates)
    size = np.linalg.norm(covectors, axis=1)
    at_most(np.linalg.norm(field.velocity - velocity, axis=1) / size, 1e-10, "velocity = F Fᵀη, relative to |η|")

    def slope(h: float) -> FloatArray:
        shifts = h * np.eye(bundle.ambient_dim)
        ahead = [_hamiltonian_by_frame(bundle, points + shift, covectors) for shift in shifts]
        behind = [_hamiltonian_by_frame(bundle, points - shift, covectors) for shift in shifts]
        return np.stack([(a - b) / (2.0 * h) for a, b in zip(ahead, behind, strict=True)], axis=1)

    gradient = (4.0 * slope(spacing * scale / 2.0) - slope(spacing * scale)) / 3.0
    speed = np.linalg.norm(coordinates, axis=1)
    allowed = np.maximum(np.linalg.norm(gradient, axis=1), size * speed / scale)
    at_most(np.linalg.norm(field.force + gradient, axis=1) / allowed, bound, "force = −∂H/∂p, relative error")


def _hamiltonian_by_frame(bundle: Subbundle, points: FloatArray, covectors: FloatArray) -> FloatArray:
    coordinates = np.einsum("bdi,bd->bi", bundle.frame(points).vectors, covectors)
    return np.asarray(0.5 * (coordinates**2).sum(axis=1))
