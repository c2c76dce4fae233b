"""
Denoising in a hundred dimensions
=================================

1500 observations of an S-shaped sheet in R^100, with noise 0.025 in every coordinate: a norm of 0.25, more than the
distance between neighbours on the sheet. Projection to the ridge removes nearly all of it.
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


def off_the_sheet(points):
    """Distances from the true sheet in R^100."""
    inside = points @ basis
    return np.sqrt(data.distance(inside) ** 2 + np.sum((points - inside @ basis.T) ** 2, axis=1))


before, after = off_the_sheet(X[good]), off_the_sheet(ridge.points[good])
print(f"observed {before.mean():.3f} from the sheet on average, projected {after.mean():.3f}")
print(f"noise estimated: {np.median(ridge.noise[good]):.4f} in each of the 98 directions across")

# %%
# Distances from the sheet before and after, and the three coordinates that hold the sheet.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.4), layout="constrained")
bins = np.linspace(0.0, before.max(), 60)
left.hist(before, bins, color="#c3cad4", label="observed")
left.hist(after, bins, color="#0072b2", label="projected")
left.set(xlabel="distance from the true sheet", ylabel="rows")
left.legend(frameon=False)
right.set(aspect="equal", frame_on=False, xticks=[], yticks=[])
scene = sb.plot.Scene(sb.plot.View(-70.0, 15.0))
inside = ridge.points[good] @ basis
scene.add_points(inside, color=sb.plot.colours_of(inside[:, 1]), size=4.0)
scene.draw(right)
right.set_title("projected to the ridge")

# %%
view = sb.view({"observed": X[good] @ basis, "ridge": inside}, title="R^100, three coordinates of it")
view
