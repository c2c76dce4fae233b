"""
What the diagnostics detect
===========================

Before anything is fitted, `diagnose` estimates the dimension, bandwidth, noise, curvature, connected components and
outliers of a cloud, and warns where assumptions are violated.
"""

import numpy as np

import subbundle as sb

torus = sb.datasets.torus(3000, noise=0.03, seed=0).points
stray = np.random.default_rng(0).uniform(-1.6, 1.6, (120, 3))
cloud = np.concatenate([torus, stray])
report = sb.diagnose(cloud)
print(report)

# %%
# The figure of the report. Its page, with the figure inside, is ``report.write("page.html")``.
figure = report.figure()

# %%
# A notebook shows a report as a table.
report

# %%
# Other clouds, other warnings: isotropic noise, two spheres, and a flat sheet.
rng = np.random.default_rng(0)
clouds = {
    "a ball of noise": rng.normal(size=(200, 3)),
    "two spheres": np.concatenate(
        [sb.datasets.sphere(600, noise=0.02, seed=s).points + [4.0 * s, 0, 0] for s in (0, 1)]
    ),
    "a plane in R^5": rng.uniform(-1, 1, (1000, 2)) @ np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    + rng.normal(scale=0.01, size=(1000, 5)),
}
for name, other in clouds.items():
    found = sb.diagnose(other)
    print(f"{name}: rank {found.rank}")
    for warning in found.warnings:
        print("  !", warning)

# %%
scene = sb.view({"cloud": cloud, "report": report}, title="a torus with stray points")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/choosing/plot_diagnose.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/diagnose.png", dpi=110)
# sphinx_gallery_end_ignore
