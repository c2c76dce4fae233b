"""Quads cut into triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray, IntArray


def split_quads(vertices: FloatArray, quads: IntArray) -> IntArray:
    """Triangles [2m, 3]: every quad cut so that its two triangles bend least; of equals, along the shorter diagonal."""
    a, b, c, d = (vertices[quads[:, i]] for i in range(4))
    bend_ac = _cosine(a, b, c, a, c, d)
    bend_bd = _cosine(a, b, d, b, c, d)
    shorter = np.linalg.norm(a - c, axis=1) <= np.linalg.norm(b - d, axis=1)
    by_ac = np.where(np.abs(bend_ac - bend_bd) < 0.05, shorter, bend_ac > bend_bd)[:, None]
    first = np.where(by_ac, quads[:, [0, 1, 2]], quads[:, [0, 1, 3]])
    second = np.where(by_ac, quads[:, [0, 2, 3]], quads[:, [1, 2, 3]])
    return np.stack([first, second], axis=1).reshape(-1, 3)


def _cosine(*corners: Any) -> FloatArray:
    """Cosine of the angle between the normals of two triangles."""
    first = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    second = np.cross(corners[4] - corners[3], corners[5] - corners[3])
    size = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosine: FloatArray = np.sum(first * second, axis=1) / np.maximum(size, 1e-300)
    return cosine
