"""
The ridge of a noisy cloud
==========================

1500 noisy observations of a curve with a tight bend. The ridge of order 1, where the local mean differs from the point
only along the subspace, is biased at the bend; the ridge of order 2, where a parabola fitted to the neighbours passes
through the point, follows it. Both are drawn at the same, deliberately wide, bandwidth. Then the same curve with 60
outliers: each observation is coloured by how many noise levels it was moved.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb


def curve(t):
    """A parabola with a radius of curvature of 0.25 at its tip."""
    return np.column_stack([t, 2.0 * t**2])


rng = np.random.default_rng(0)
clean = curve(rng.uniform(-1.0, 1.0, size=1500))
noisy = clean + 0.05 * rng.normal(size=clean.shape)
bundle = sb.PrincipalSubbundle(noisy, rank=1, bandwidth=0.2)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.8), layout="constrained")
truth = curve(np.linspace(-1.0, 1.0, 400))
left.scatter(*noisy.T, s=5, color="#c3cad4", linewidths=0)
left.plot(*truth.T, color="black", linewidth=1.0, linestyle="--", label="truth")
for order, color in ((1, "#e69f00"), (2, "#0072b2")):
    ridge = sb.ridge_project(bundle, curve(np.linspace(-0.95, 0.95, 300)), order=order)
    off = np.linalg.norm(ridge.points[:, None] - truth, axis=2).min(axis=1)
    left.plot(*ridge.points.T, color=color, linewidth=2.0, label=f"order {order}, off by {off.mean():.3f} on average")
left.legend(loc="upper center", fontsize=8, frameon=False)
left.set(aspect="equal", title="noise 0.05, bandwidth 0.2")

dirty = np.vstack([noisy, rng.uniform([-1.3, -0.4], [1.3, 2.3], size=(60, 2))])
scores = sb.ridge_project(sb.PrincipalSubbundle(dirty, rank=1, bandwidth=0.12), dirty).outlier_scores
order = np.argsort(scores)
drawn = right.scatter(*dirty[order].T, s=9, c=scores[order], cmap="cividis", vmin=0, vmax=6, linewidths=0)
figure.colorbar(drawn, ax=right, label="outlier score, 6 and more", extend="max", shrink=0.8)
right.set(aspect="equal", title="60 outliers")
planted, others = np.sum(scores[-60:] > 3.5), np.sum(scores[:-60] > 3.5)
print(f"of the 60 outliers {planted} score above 3.5 (some fell on the curve), of the 1500 others {others}")

# %%
scene = sb.view(dirty, columns={"outlier score": np.minimum(scores, 6.0)}, title="outlier scores")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/choosing/plot_ridge.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/ridge.png")
# sphinx_gallery_end_ignore
