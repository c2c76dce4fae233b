"""
Denoising in a hundred dimensions
=================================

1500 observations of an S-shaped sheet in R^100, with noise 0.025 in every coordinate: together ten times 0.025, more
than the distance between neighbours on the sheet. The ridge takes nearly all of it away.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.s_surface(1500, seed=0)
rng = np.random.default_rng(0)
basis = np.linalg.qr(rng.normal(size=(100, 3)))[0]
clean = data.clean @ basis.T
X = clean + rng.normal(scale=0.025, size=clean.shape)

# %%
bundle = sb.PrincipalSubbundle(X, rank=2, bandwidth=0.25)
ridge = sb.ridge_project(bundle, X)
good = ridge.status == sb.Status.OK
for name, points in (("observed", X[good]), ("projected", ridge.points[good])):
    inside = points @ basis
    off = np.sqrt(data.distance(inside) ** 2 + np.sum((points - inside @ basis.T) ** 2, axis=1))
    print(f"{name:<10} {off.mean():.4f} from the sheet on average")
print(f"noise estimated: {np.median(ridge.noise[good]):.4f} in each of the 98 directions across")

# %%
# The three coordinates that hold the sheet, before and after.
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, panels = plt.subplots(1, 2, figsize=(8.4, 4.4), subplot_kw=bare, layout="constrained")
for panel, points, title in zip(panels, (X, ridge.points[good]), ("observed", "projected to the ridge"), strict=True):
    scene = sb.plot.Scene(sb.plot.View(-70.0, 15.0))
    inside = points @ basis
    scene.add_points(inside, color=sb.plot.colours_of(inside[:, 1]), size=4.0)
    scene.draw(panel)
    panel.set_title(title)

# %%
view = sb.view(
    {"observed": X[good] @ basis, "ridge": ridge.points[good] @ basis}, title="R^100, three coordinates of it"
)
