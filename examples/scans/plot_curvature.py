"""
Curvature of a noisy surface
============================

The local quadric that projects a point to the ridge also estimates the curvature of the surface there. On a torus of
radii 1 and 0.4 the principal curvatures are 1/0.4 around the tube and cos v / (1 + 0.4 cos v) along it, v the angle
around the tube: positive outside, negative inside.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.torus(12000, noise=0.02, seed=0)
bundle = sb.PrincipalSubbundle(data.points, rank=2, bandwidth=0.1)
ridge = sb.ridge_project(bundle, data.points)

# %%
# Normals have no sign, so neither has the larger curvature; the product, Gauss's curvature, needs none.
curvatures = ridge.principal_curvatures
gauss = curvatures.prod(axis=1)
ring = np.hypot(ridge.points[:, 0], ridge.points[:, 1])
v = np.arctan2(ridge.points[:, 2], ring - 1.0)
exact = np.cos(v) / (0.4 * (1.0 + 0.4 * np.cos(v)))
error = np.median(np.abs(gauss - exact))
print(f"around the tube: median {np.median(np.abs(curvatures).max(axis=1)):.2f}, exact {1 / 0.4:.2f}")
print(f"Gauss's curvature, from {exact.min():.2f} to {exact.max():.2f}: median error {error:.2f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")
left.set(aspect="equal", frame_on=False, xticks=[], yticks=[])
scene = sb.plot.Scene(sb.plot.View(-60.0, 40.0), fog=0.2)
scene.add_points(ridge.points, color=sb.plot.colours_of(gauss, low=-4.0, high=2.0, name="coolwarm"), size=6.0)
scene.draw(left)
figure.colorbar(
    plt.cm.ScalarMappable(plt.Normalize(-4.0, 2.0), "coolwarm"), ax=left, label="Gauss's curvature", shrink=0.7
)
order = np.argsort(v)
right.plot(v, gauss, ".", ms=1.5, color=sb.plot.PALETTE[0], alpha=0.4, label="from the cloud")
right.plot(v[order], exact[order], color=sb.plot.PALETTE[5], lw=2.0, label="exact")
right.set(xlabel="angle around the tube", ylabel="Gauss's curvature", ylim=(-7, 4))
right.legend(frameon=False, loc="lower center")

# %%
view = sb.view(
    ridge.points[::4], columns={"Gauss's curvature": np.clip(gauss[::4], -4, 2)}, title="curvature of a torus"
)
view
