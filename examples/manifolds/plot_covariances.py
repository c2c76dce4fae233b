"""
Covariance matrices along a curve
=================================

Windows of a signal of two channels become covariance matrices, points of the manifold of positive definite matrices.
Here a source turns from one channel to the other while its loudness rises and falls. Its matrices lie along a bent
curve; the position on it recovers the turn, whatever the units of the channels.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb
from subbundle.comparisons import distances_to_curve, principal_curve, principal_geodesic

rng = np.random.default_rng(0)
turn = rng.uniform(0.0, 1.0, 200)
covariances = []
for t in turn:
    angle, loud = 0.5 * np.pi * t, 2.0 + 1.5 * np.sin(np.pi * t)
    mixing = np.array([np.cos(angle), np.sin(angle)])
    signal = loud * rng.normal(size=(300, 1)) * mixing + 0.5 * rng.normal(size=(300, 2))
    covariances.append(np.cov(signal.T))
covariances = np.array(covariances)

# %%
# The affine-invariant metric: multiplying a channel by a constant changes no distance.
space = sb.spaces.SPD(2)
seen = np.arange(200) % 2 == 0
fits = {
    "principal curve": principal_curve(covariances[seen], 0.35, space=space, n_points=201),
    "principal geodesic": principal_geodesic(covariances[seen], space=space, n_points=201),
}
for name, fit in fits.items():
    off = distances_to_curve(covariances[~seen], fit.points, space=space)
    print(f"{name:<19} {np.sqrt(np.mean(off**2)):.3f} from the windows that were left out (RMS)")

# %%
# Where along the curve is each window? Nearest point of the curve, in the metric of the manifold.
curve = fits["principal curve"]
known = np.isfinite(curve.positions)
to_curve = np.array(
    [
        space.dist(np.broadcast_to(c.reshape(2, 2), (known.sum(), 2, 2)), curve.points[known].reshape(-1, 2, 2))
        for c in covariances
    ]
)
position = curve.positions[known][to_curve.argmin(axis=1)]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
for c, t in list(zip(covariances, turn, strict=True))[::6]:
    values, vectors = np.linalg.eigh(c)
    circle = np.linspace(0.0, 2.0 * np.pi, 60)
    ellipse = (vectors * np.sqrt(values)) @ np.array([np.cos(circle), np.sin(circle)])
    left.plot(*ellipse, color=plt.cm.viridis(t), lw=0.9)
left.set(aspect="equal", xlabel="channel 1", ylabel="channel 2", title="covariances as ellipses")
right.set(xlabel="true turn", ylabel="position along the curve", title="read off the curve")
right.scatter(turn, position, c=turn, s=12)

# %%
rows = np.column_stack([covariances[:, 0, 0], covariances[:, 1, 1], covariances[:, 0, 1]])
scene = sb.view(rows, columns={"turn": turn}, color="turn", title="variances and covariance")
scene
