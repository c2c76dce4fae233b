"""
Shapes in Kendall's space
=========================

Ten landmarks on the outline of a leaf that grows: at first round, later long, at the end bent. Size, position and
rotation are of no interest; what is left is a point of Kendall's shape space, and growth is a curve in it.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb
from subbundle.comparisons import distances_to_curve, principal_curve, principal_geodesic

rng = np.random.default_rng(0)
age = rng.uniform(0.0, 1.0, 120)
around = np.linspace(0.0, 2.0 * np.pi, 10, endpoint=False)


def leaf(t):
    """Landmarks [10, 2] at age ``t``: stretched by up to 3, then bent."""
    x, y = (1.0 + 2.0 * t) * np.cos(around), np.sin(around)
    return np.column_stack([x, y + 0.35 * max(t - 0.4, 0.0) * x**2])


def seen(t):
    """The leaf turned, moved, scaled, with noise in every landmark."""
    angle, size = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.5, 2.0)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return size * (leaf(t) + rng.normal(scale=0.04, size=(10, 2))) @ turn.T + rng.normal(size=2)


space = sb.spaces.Kendall(10, 2)
landmarks = np.array([seen(t) for t in age])
shapes = space.projection(landmarks - landmarks.mean(axis=1, keepdims=True))

# %%
curve = principal_curve(shapes, 0.12, space=space, n_points=101)
geodesic = principal_geodesic(shapes, space=space, n_points=101)
for name, fit in (("principal curve", curve), ("principal geodesic", geodesic)):
    off = np.sqrt(np.mean(distances_to_curve(shapes, fit.points, space=space) ** 2))
    print(f"{name:<19} {off:.3f} from the shapes (RMS)")

# %%
# The curve is made of shapes: growth, drawn from five of its points, aligned to the first.
known = np.isfinite(curve.positions)
points, positions = curve.points[known].reshape(-1, 10, 2), curve.positions[known]
gaps = np.array([space.dist(np.broadcast_to(s.reshape(10, 2), points.shape), points) for s in shapes])
position = positions[gaps.argmin(axis=1)]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained", width_ratios=(2, 1))
for number, row in enumerate(np.linspace(0, len(points) - 1, 5).astype(int)):
    aligned = space.align(points[row].reshape(1, 10, 2), points[0].reshape(1, 10, 2)).reshape(10, 2)
    outline = np.vstack([aligned, aligned[:1]]) + [0.95 * number, 0.0]
    left.plot(*outline.T, "o-", ms=3, color=plt.cm.viridis(number / 4))
left.set(aspect="equal", yticks=[], xticks=[], title="shapes along the principal curve")
right.set(xlabel="true age", ylabel="position along the curve")
right.scatter(age, position, s=9, color=sb.plot.PALETTE[0])

# %%
# Aligned landmarks have 20 numbers; the scene shows three principal components of them.
aligned = np.array([space.align(s.reshape(1, 10, 2), shapes[0].reshape(1, 10, 2)).ravel() for s in shapes])
scene = sb.view(aligned, columns={"age": age}, color="age", title="shapes of a leaf")
scene
