"""
A bandwidth that varies over the cloud
======================================

5000 noisy observations of a cone, as many at each radius: towards the tip its curvature and the density of the
observations increase, and the noise decreases. Left: the bandwidths that `choose_local_bandwidth` finds, and the best
single one, found with the truth. Right: the error of the ridge with each, relative to the radius.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

rng = np.random.default_rng(0)
radius, angle = rng.uniform(0.1, 1.0, 5000), rng.uniform(0.0, 2.0 * np.pi, 5000)
cone = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 2.0 * radius])
noisy = cone + 0.05 * radius[:, None] * rng.standard_normal(cone.shape)
local = sb.selection.choose_local_bandwidth(noisy, rank=2).bandwidth
inside = (radius > 0.15) & (radius < 0.9)
asked, radius = cone[inside], radius[inside]


def errors(bandwidth):
    """Distances of the ridge from the cone, relative to the radius."""
    found = sb.ridge_project(sb.PrincipalSubbundle(noisy, 2, bandwidth, min_density=1e-9), asked).points
    return np.abs(2.0 * np.hypot(found[:, 0], found[:, 1]) - found[:, 2]) / np.sqrt(5.0) / radius


# %%
# The best constant is found with the ground truth, so that the comparison is not with a poor choice.
middle = sb.selection.choose_bandwidth(noisy, rank=2).bandwidth
constants = {middle * 2.0 ** (step / 4): errors(middle * 2.0 ** (step / 4)) for step in range(-5, 3)}
best = min(constants, key=lambda width: np.mean(constants[width] ** 2))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
left.plot(radius, local(asked), ".", color="#0072b2", ms=2, label="at every observation")
left.axhline(best, color="#d55e00", label="best single one")
left.set(xlabel="radius", ylabel="bandwidth", ylim=(0.0, None))
edges = np.linspace(0.15, 0.9, 16)
place = np.digitize(radius, edges) - 1
centres = 0.5 * (edges[1:] + edges[:-1])
for found, color, label in (
    (constants[best], "#d55e00", "best single bandwidth"),
    (errors(local), "#0072b2", "one for every point"),
):
    level = [np.sqrt(np.mean(found[place == i] ** 2)) for i in range(len(centres))]
    right.plot(centres, level, color=color, marker="o", ms=4, label=label)
right.set(xlabel="radius", ylabel="error of the ridge / radius", ylim=(0.0, None), title="noise / radius: 0.05")
for panel in (left, right):
    panel.legend(frameon=False)
    panel.spines[["top", "right"]].set_visible(False)

# %%
scene = sb.view(asked, columns={"bandwidth": local(asked)}, title="bandwidths on a cone")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/choosing/plot_local_bandwidth.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/local_bandwidth.png")
# sphinx_gallery_end_ignore
