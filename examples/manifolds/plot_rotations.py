"""
Orientations of a tumbling camera
=================================

Measured orientations are rotation matrices with noise. The principal curve through them is again a motion: every point
of it is a rotation to rounding error, unlike an average of matrices.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import subbundle as sb
from subbundle.comparisons import distances_to_curve, principal_curve

rng = np.random.default_rng(0)
time = rng.uniform(0.0, 1.0, 150)


def motion(t):
    """A turn about the vertical by 150° during which the camera nods and rolls."""
    return Rotation.from_euler(
        "zyx", np.column_stack([150 * t, 35 * np.sin(2 * np.pi * t), 20 * np.sin(np.pi * t)]), degrees=True
    )


noise = Rotation.from_rotvec(rng.normal(scale=0.06, size=(150, 3)))
measured = (noise * motion(time)).as_matrix()

# %%
# A measurement has noise of its own, so the curve starts on the ridge.
space = sb.spaces.SO(3)
bundle = sb.RiemannianSubbundle(measured, rank=1, bandwidth=0.15, space=space)
base = sb.carry_to_ridge(bundle, measured[np.argmin(np.abs(time - 0.5))].ravel()).points
curve = principal_curve(measured, 0.15, space=space, base_point=base.reshape(3, 3), n_points=151)
known = np.isfinite(curve.positions)
matrices = curve.points[known].reshape(-1, 3, 3)
print(f"orthogonal to {np.abs(matrices @ matrices.transpose(0, 2, 1) - np.eye(3)).max():.0e}")

# %%
# How far is the true motion from the curve, in degrees, and how far were the measurements from it?
truth = motion(np.linspace(0.0, 1.0, 400)).as_matrix()
to_curve = np.degrees(distances_to_curve(truth, curve.points[known], space=space))
to_truth = np.degrees(distances_to_curve(measured, truth, space=space))
print(f"measurements {to_truth.mean():.1f}° from the true motion, the curve {to_curve.mean():.1f}°")

# %%
# Where the camera looks: the first axis on the sphere.
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, ax = plt.subplots(figsize=(8.0, 4.2), subplot_kw=bare, layout="constrained")
picture = sb.plot.Scene(sb.plot.View(75.0, 25.0), fog=0.1)
picture.add_points(measured[:, :, 0], color=sb.plot.colours_of(time), size=14.0)
picture.add_curves(truth[None, :, :, 0], color="#555555", width=1.2, lift=0.01)
picture.add_curves(matrices[None, :, :, 0], color="#d55e00", width=2.4, lift=0.02)
picture.draw(ax)
ax.set(xlim=(-1.05, 1.05), ylim=(-0.75, 0.4), title="viewing direction")
ax.scatter([], [], color=sb.plot.colours_of([0.0, 1.0, 2.0])[1], label="measured, coloured by time")
ax.plot([], [], color="#555555", lw=1.2, label="true motion")
ax.plot([], [], color="#d55e00", lw=2.4, label="principal curve")
ax.legend(frameon=False, loc="upper left")

# %%
scene = sb.view({"measured": measured[:, :, 0], "principal curve": matrices[:, :, 0]}, title="viewing directions")
scene
