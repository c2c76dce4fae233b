"""Coordinates are determined up to a rigid motion."""

import numpy as np


def rigid_error(found, truth):
    """Root-mean-square distance after the best rigid motion, reflections allowed, no scaling."""
    found, truth = found - found.mean(axis=0), truth - truth.mean(axis=0)
    left, _, right = np.linalg.svd(found.T @ truth)
    return float(np.sqrt(np.mean(np.sum((found @ (left @ right) - truth) ** 2, axis=1))))
