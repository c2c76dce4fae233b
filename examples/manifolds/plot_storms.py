"""
Storms on the globe
===================

Forty storms start in the same sea, drift west, and recurve; every position is a point of the sphere. The principal
curve is the track around which they scatter. Tangent PCA fits a great circle, which cannot bend.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb
from subbundle.comparisons import distances_to_curve, principal_curve, principal_geodesic

sphere = sb.spaces.Sphere(2)
rng = np.random.default_rng(0)


def place(latitude, longitude):
    """Unit vectors of degrees."""
    b, c = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(b) * np.cos(c), np.cos(b) * np.sin(c), np.sin(b)], axis=-1)


# A track runs for ten days from 12° north, with its own offset and its own pace.
day = rng.uniform(0.0, 1.0, (40, 20))
latitude = 12.0 + 38.0 * day**1.6 + rng.normal(scale=1.6, size=(40, 1)) + rng.normal(scale=0.7, size=day.shape)
longitude = -40.0 - 45.0 * np.sin(2.6 * day) + 30.0 * day**3 + rng.normal(scale=1.6, size=(40, 1))
points = place(latitude, longitude).reshape(-1, 3)

# %%
curve = principal_curve(points, 0.06, space=sphere, n_points=401)
great_circle = principal_geodesic(points, space=sphere, n_points=401)
for name, fit in (("principal curve", curve), ("great circle", great_circle)):
    off = 6371.0 * np.sqrt(np.mean(distances_to_curve(points, fit.points, space=sphere) ** 2))
    print(f"{name:<16} {off:.0f} km from the positions (RMS)")

# %%
# The coordinate along the curve measures the progress of a storm: positions of all storms on one axis.
bundle = sb.RiemannianSubbundle(points, rank=1, bandwidth=0.06, space=sphere)
chart = sb.Chart(bundle, sb.carry_to_ridge(bundle, curve.base_point).points)
travelled = 6371.0 * chart.transform(points, outside="nearest")[:, 0]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.4), layout="constrained")
left.set(aspect="equal", frame_on=False, xticks=[], yticks=[])
scene = sb.plot.Scene(sb.plot.View(-68.0, 30.0), fog=0.0)
turns = np.linspace(0.0, 360.0, 181)
lines = [place(np.full(181, float(b)), turns) for b in range(-60, 90, 15)]
lines += [place(np.linspace(-90.0, 90.0, 181), np.full(181, float(c))) for c in range(0, 360, 15)]
front = np.array([np.where((line @ place(30.0, -68.0) > 0.0)[:, None], line, np.nan) for line in lines])
for line in front:
    scene.add_curves(line[np.isfinite(line).all(axis=1)][None], color="#d4d8de", width=0.6)
scene.add_points(points, color=sb.plot.colours_of(travelled), size=5.0, lift=0.01)
near = curve.points[np.isfinite(curve.points).all(axis=1)]
scene.add_curves(near[None], color="#d55e00", width=2.4, lift=0.02)
scene.draw(left)
left.set(xlim=(-0.62, 0.62), ylim=(-0.55, 0.55))
left.set_title("positions by distance travelled;\nthe principal curve in orange")
right.set(xlabel="true fraction of the duration of a storm", ylabel="km along the curve from the start")
right.scatter(day.ravel(), np.abs(travelled - travelled[np.argmin(day)]), s=5, color=sb.plot.PALETTE[0])

# %%
view = sb.view(
    {"positions": points, "curve": near},
    title="storms on the unit sphere",
)
view
