"""
Choosing bandwidth and rank
===========================

Two numbers describe a fit: the dimension of the shape and the width of the neighbourhood. Both can be chosen from the
data. The bandwidth minimises the error estimated from two halves of the data; the flatness of that risk around its
minimum measures how much the choice matters.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.torus(4000, noise=0.03, seed=0)
rank = sb.selection.choose_rank(data.points)
choice = sb.selection.choose_bandwidth(data.points, rank=rank.rank)
print(f"rank {rank.rank}, {rank.confidence:.0%} of the sampled points agree")
print(f"bandwidth {choice.bandwidth:.3f}, error to expect {choice.error:.4f}")

# %%
# Compared with the ground truth, which the choice did not use: the error of the ridge at every bandwidth of the grid.
known = np.isfinite(choice.risks)
errors = []
for width in choice.ladder[known]:
    ridge = sb.ridge_project(sb.PrincipalSubbundle(data.points, 2, width, min_density=1e-9), data.points[::8])
    errors.append(np.sqrt(np.mean(data.distance(ridge.points) ** 2)))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.8), layout="constrained")
sb.plot.bandwidth(choice, ax=left)
left.loglog(choice.ladder[known], errors, "s--", ms=4, color=sb.plot.PALETTE[1], label="true error")
left.legend(frameon=False)
left.set_title("estimated and true error")
mixed = np.concatenate(
    [
        sb.datasets.sphere(1500, noise=0.02, seed=0).points,
        [[1.3, 0, 0]]
        + np.column_stack([np.linspace(0, 2, 500), *np.random.default_rng(0).normal(scale=0.02, size=(2, 500))]),
    ]
)
per_point = sb.selection.choose_rank(mixed).per_point
for value, colour, mark in ((1, sb.plot.PALETTE[1], "^"), (2, sb.plot.PALETTE[0], "o")):
    right.scatter(
        *mixed[per_point == value][:, :2].T, s=6, color=colour, marker=mark, linewidths=0, label=f"dimension {value}"
    )
right.set(aspect="equal", title="dimension: a sphere with a stick")
right.legend(frameon=False)

# %%
scene = sb.view(mixed, columns={"dimension": per_point.astype(str)}, color="dimension", title="a sphere with a stick")
scene
