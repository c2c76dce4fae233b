"""
Clustering with distances along the data
========================================

Two noisy curves wind around each other. Points of one are nearer to the other curve than to the far end of their own,
so clusters by distances in the plane mix the two; clusters by distances along the data do not. Any method that takes
``metric="precomputed"`` can use them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

import subbundle as sb

rng = np.random.default_rng(0)
turn = np.sqrt(rng.uniform(0.6, 9.0, 600)) * 2.2
curve = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
label = np.arange(600) // 300
X = np.where(label[:, None] == 0, curve, -curve) + rng.normal(scale=0.12, size=curve.shape)

# %%
# Distances of curves that do not meet are infinite; clustering needs finite numbers, so they become twice the largest.
metric = sb.GeodesicDistance(rank=1, bandwidth=0.4).fit(X)
D = metric.pairwise(X[::2])
print(f"{np.mean(np.isinf(D)):.0%} of the pairs lie on different curves")
D[~np.isfinite(D)] = 2.0 * D[np.isfinite(D)].max()

# %%
straight = np.linalg.norm(X[::2, None] - X[None, ::2], axis=2)
figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained")
for ax, (name, matrix) in zip(axes, {"straight distances": straight, "along the data": D}.items(), strict=True):
    found = AgglomerativeClustering(2, metric="precomputed", linkage="average").fit_predict(matrix)
    score = adjusted_rand_score(label[::2], found)
    for value, colour, mark in ((0, sb.plot.PALETTE[0], "o"), (1, sb.plot.PALETTE[1], "^")):
        ax.scatter(
            *X[::2][found == value].T, s=14, color=colour, marker=mark, linewidths=0, label=f"cluster {value + 1}"
        )
    ax.set_title(f"{name}: adjusted Rand index {score:.2f}")
    ax.set_aspect("equal")
axes[0].legend(frameon=False, loc="lower left")

# %%
# An interactive view of the same points, coloured by their curve.
scene = sb.view(X, columns={"curve": np.where(label == 0, "one", "two")}, color="curve", title="two spirals")
scene
