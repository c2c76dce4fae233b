"""
A bundle that is not integrable
===============================

The Heisenberg bundle has a plane at every point of space, and yet curves tangent to the planes reach every point: the
planes twist, so no surface is tangent to them. Its geodesics are known in closed form, straight lines and helices,
which makes it a test for the integrator.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

bundle = sb.bundles.Heisenberg()
turns = np.array([0.0, 1.0, 2.0, 4.0, 6.0])
covectors = np.column_stack([np.ones(5), np.zeros(5), turns])
curves = sb.geodesic(bundle, np.zeros(3), covectors, times=np.linspace(0.0, 3.0, 301), tol=1e-10)

# %%
# The exact helix: with covector (1, 0, w) the curve in the plane is a circle of radius 1/w, and z is the area it
# sweeps.
t = np.linspace(0.0, 3.0, 301)
for w, curve in zip(turns[1:], curves.points[1:], strict=True):
    exact = np.column_stack([np.sin(w * t) / w, (1.0 - np.cos(w * t)) / w, (w * t - np.sin(w * t)) / (2.0 * w**2)])
    print(f"w = {w:g}: off the exact helix by {np.abs(curve - exact).max():.0e}")

# %%
figure = plt.figure(figsize=(6.4, 4.6), layout="constrained")
ax = figure.add_subplot(projection="3d")
for w, curve, colour in zip(turns, curves.points, sb.plot.PALETTE, strict=False):
    ax.plot(*curve.T, color=colour, lw=1.8, label=f"w = {w:g}")
ax.set(xlabel="x", ylabel="y", zlabel="z", aspect="equal", yticks=[0, 1, 2], zticks=[0, 0.5, 1])
ax.legend(frameon=False)

# %%
# Bundles that are learned from points on a surface do not twist; ``sb.diagnostics.non_integrability`` measures it.
torus = sb.datasets.torus(3000, noise=0.02, seed=0).points
learned = sb.PrincipalSubbundle(torus, rank=2, bandwidth=0.15)
print(f"twist of a bundle learned from a torus: {sb.diagnostics.non_integrability(learned, torus[::10]):.3f}")
scene = sb.view(curves, title="geodesics of the Heisenberg bundle")
scene
