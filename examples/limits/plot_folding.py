"""
Beyond the opposite pole
========================

Geodesics from one point cross each other once they have gone far enough, on a sphere at the opposite pole. Beyond it
the coordinates are no longer one to one: the sheet folds. A chart ends there; an atlas covers the whole sphere.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

points = sb.datasets.sphere(3000, noise=0.02, seed=0).points
bundle = sb.PrincipalSubbundle(points, rank=2, bandwidth=0.2)
base = sb.carry_to_ridge(bundle, [0.0, 0.0, 1.0]).points
fan = sb.geodesic(bundle, base, sb.geodesics.directions(2, 72), length=4.2, n_points=211)
length = np.linspace(0.0, 4.2, 211)
spread = np.nanmean(np.linalg.norm(np.diff(fan.points, axis=0), axis=2), axis=0)

# %%
# The distance between neighbouring geodesics is proportional to the absolute sine of their length: it vanishes at π and
# grows again beyond.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
left.set(aspect="equal", frame_on=False, xticks=[], yticks=[])
sb.plot.geodesics(fan, points, view=sb.plot.View(-60.0, -35.0), ax=left)
left.set_title("seen from the opposite pole")
right.plot(length, spread / (2.0 * np.pi / 72.0), color="#0072b2", lw=2.0, label="measured")
right.plot(length, np.abs(np.sin(length)), "--", color="#d55e00", label="on the exact sphere")
right.axvline(np.pi, color="0.5", lw=0.8)
right.set(xlabel="length of the geodesics", ylabel="distance of neighbours / angle")
right.legend(frameon=False)

# %%
chart, atlas = sb.Chart(bundle, base), sb.Atlas(bundle)
inside = np.mean(chart.locate(points).status == sb.Status.OK)
print(f"one chart, one to one up to {chart.injectivity_radius:.2f}: {inside:.0%} of the points")
print(f"an atlas of {len(atlas)} charts: {atlas.coverage:.0%}")
scene = sb.view(fan, title="geodesics beyond the opposite pole")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/limits/plot_folding.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/limits-folding.png", dpi=110)
# sphinx_gallery_end_ignore
