"""Tables for `benchmarks.tables`: real ones, renderings, sparse curved shapes in many dimensions, noisy clouds.

Every table has rows [n, d], the dimension k to embed in, and a measure of coordinates [n, k] against the truth.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks._renderings import radial_image, renderings
from benchmarks._sheets import roll_sheet, s_map, s_sheet, strip_sheet

NEAR = 10


@dataclass(frozen=True, slots=True)
class Tabular:
    """``points`` [n, d], ``rank`` k, and ``measure(z)``: named figures, errors (smaller is better) end in "error"."""

    points: np.ndarray
    rank: int
    measure: Callable[[np.ndarray], dict[str, float]]


# ------------------------------------------------------------------------------------------------------- measures
def rigid_error(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    found, truth = found - found.mean(axis=0), truth - truth.mean(axis=0)
    left, _, right = np.linalg.svd(found.T @ truth)
    return {"rigid error": float(np.sqrt(np.mean(np.sum((found @ left @ right - truth) ** 2, axis=1))))}


def parameters(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """R² of the linear regression of each true parameter on the coordinates."""
    design = np.column_stack([np.ones(len(found)), found])
    left = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    fits = 1.0 - np.sum(left**2, axis=0) / np.sum((truth - truth.mean(axis=0)) ** 2, axis=0)
    return {f"R² {i + 1}": float(fit) for i, fit in enumerate(fits)}


def accuracy(classes: np.ndarray, found: np.ndarray) -> float:
    """Leave-one-out accuracy of the majority among the nearest rows."""
    near = NearestNeighbors(n_neighbors=NEAR).fit(found).kneighbors(return_distance=False)
    votes = classes[near]
    most = np.array([np.bincount(row).argmax() for row in votes])
    return float(np.mean(most == classes))


def classes_kept(points: np.ndarray, classes: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {"accuracy": accuracy(classes, found), "trust": trustworthiness(points, found, n_neighbors=NEAR)}


def trust(points: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {"trust": trustworthiness(points, found, n_neighbors=NEAR)}


def kept_neighbours(points: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Fraction of the nearest rows that stay among the nearest."""
    lists = [NearestNeighbors(n_neighbors=NEAR).fit(x).kneighbors(return_distance=False) for x in (points, found)]
    return {"kept": float(np.mean([len(set(a) & set(b)) / NEAR for a, b in zip(*lists, strict=True)]))}


def circular_order(step: np.ndarray, found: np.ndarray, period: int) -> float:
    """Fraction of the four nearest rows that are at most two steps away along a closed curve."""
    near = NearestNeighbors(n_neighbors=4).fit(found).kneighbors(return_distance=False)
    apart = np.abs(step[near] - step[:, None])
    return float(np.mean(np.minimum(apart, period - apart) <= 2))


def order(step: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {"order": circular_order(step, found, len(step))}


# ----------------------------------------------------------------------------------------------------------- real
def _classes(load: Callable[[], dict]) -> Tabular:
    data = load()
    points = StandardScaler().fit_transform(data["data"]) if load is not load_digits else data["data"]
    return Tabular(points, 2, partial(classes_kept, points, data["target"]))


def _diabetes() -> Tabular:
    points = StandardScaler().fit_transform(load_diabetes()["data"])
    return Tabular(points, 2, partial(trust, points))


def folder() -> Path | None:
    """Where further real data lies, if anywhere."""
    named = os.environ.get("SUBBUNDLE_BENCH_DATA")
    return Path(named) if named else None


def _object(number: int, rank: int) -> Tabular:
    data = np.load(folder() / "turning-objects.npz")
    chosen = data["object"] == np.unique(data["object"])[number]
    return Tabular(data["images"][chosen].astype(float), rank, partial(order, data["step"][chosen].astype(int)))


def _objects() -> Tabular:
    data = np.load(folder() / "turning-objects.npz")
    points = data["images"].astype(float)
    return Tabular(points, 2, partial(classes_kept, points, data["object"].astype(int)))


def _mammoth(count: int) -> Tabular:
    points = np.load(folder() / "mammoth.npy")[:: 10000 // count].astype(float)
    return Tabular(points, 2, partial(kept_neighbours, points))


def _molecule(count: int) -> Tabular:
    """Positions of five atoms without rigid motions; the truth are two dihedral angles."""
    frames = np.load(folder() / "alanine.npy")[:: 10000 // count].astype(float)
    frames = frames - frames.mean(axis=1, keepdims=True)
    middle = frames[0]
    for _ in range(5):
        left, _, right = np.linalg.svd(np.einsum("nai,aj->nij", frames, middle))
        turn = left @ right
        left[:, :, -1] *= np.sign(np.linalg.det(turn))[:, None]
        turned = frames @ (left @ right)
        middle = turned.mean(axis=0)
    angles = np.stack([_dihedral(frames[:, i : i + 4]) for i in (0, 1)], axis=1)
    truth = np.hstack([np.cos(angles), np.sin(angles)])
    points = turned.reshape(len(turned), -1)

    def measure(found: np.ndarray) -> dict[str, float]:
        return {
            "trust": trustworthiness(points, found, n_neighbors=NEAR),
            "trust of angles": trustworthiness(truth, found, n_neighbors=NEAR),
        }

    return Tabular(points, 2, measure)


def _dihedral(atoms: np.ndarray) -> np.ndarray:
    a, b, c = (atoms[:, i + 1] - atoms[:, i] for i in range(3))
    first, second = np.cross(a, b), np.cross(b, c)
    along = np.einsum("nd,nd->n", np.cross(first, second), b / np.linalg.norm(b, axis=1, keepdims=True))
    return np.arctan2(along, np.einsum("nd,nd->n", first, second))


# ----------------------------------------------------------------------------------------------------------- made
def _blob(count: int, seed: int) -> Tabular:
    """Images, 32 × 32, of a bumpy blob that turns about two axes and is lit from varying sides."""
    rng = np.random.default_rng(seed)
    shape = np.random.default_rng(11)
    bumps, heights = shape.standard_normal((7, 3)), shape.uniform(-0.35, 0.35, 7)
    bumps /= np.linalg.norm(bumps, axis=1, keepdims=True)
    side = (np.arange(32) + 0.5) / 16.0 - 1.0
    x, y = np.meshgrid(side, side)
    truth = rng.uniform(-1.0, 1.0, (count, 3)) * np.array([1.2, 0.6, 1.0])
    images = np.empty((count, 32, 32))
    for i, (turn, tilt, light) in enumerate(truth):
        images[i] = radial_image(x, y, turn, tilt, light, bumps, heights)
    return Tabular(images.reshape(count, -1), 3, partial(parameters, truth))


def _faces(count: int, seed: int) -> Tabular:
    """As 698 images of a face that turns about two axes under a moving light, which have served since Isomap's time."""
    images, truth = renderings(count, seed=seed)
    return Tabular(images, 3, partial(parameters, truth))


def _smooth(count: int, rank: int, seed: int, *, noise: float = 0.0, uneven: bool = False) -> Tabular:
    """A box of side 2 in R^1000, isometric: each edge follows five circular motions at once, at unit speed.

    ``noise`` is the root mean square length of the noise of a row; ``uneven``: ten times denser at one corner.
    """
    rng = np.random.default_rng(seed)
    u = rng.uniform(0.0, 1.0, (count, rank))
    # Density ∝ 1/(1 + 9 u): the inverse of its distribution function.
    u = 2.0 * (u if not uneven else (10.0**u - 1.0) / 9.0)
    pace = rng.uniform(0.5, 2.5, (rank, 5))
    radii = 1.0 / (pace * np.sqrt(5.0))
    turns = u[:, :, None] * pace
    flat = np.concatenate([radii * np.cos(turns), radii * np.sin(turns)], axis=2).reshape(count, -1)
    axes = np.linalg.qr(rng.standard_normal((1000, flat.shape[1])))[0]
    points = flat @ axes.T + noise / np.sqrt(1000.0) * rng.standard_normal((count, 1000))
    return Tabular(points, rank, partial(rigid_error, u))


def _bridged(count: int, seed: int) -> Tabular:
    """Three squares joined by narrow bridges, on an S-surface in R^20."""
    rng = np.random.default_rng(seed)
    u = np.column_stack([rng.uniform(-4.5, 4.5, 8 * count), rng.uniform(0.0, 2.0, 8 * count)])
    in_square = np.abs((u[:, 0] + 4.5) % 3.0 - 1.5) < 1.05
    u = u[in_square | (np.abs(u[:, 1] - 1.0) < 0.2)][:count]
    axes = np.linalg.qr(rng.standard_normal((20, 3)))[0]
    return Tabular(s_map(u) @ axes.T + 0.005 * rng.standard_normal((count, 20)), 2, partial(rigid_error, u))


def _sheet(make: Callable[..., object], *args: int, **settings: object) -> Tabular:
    sheet = make(*args, **settings)
    return Tabular(sheet.points, sheet.coordinates.shape[1], partial(rigid_error, sheet.coordinates))


def _loop(count: int, rank: int, seed: int) -> Tabular:
    """A closed curve in R^200: eight harmonics with random axes, evenly stepped."""
    rng = np.random.default_rng(seed)
    t = 2.0 * np.pi * np.arange(count) / count
    waves = np.concatenate([wave(h * t)[:, None] / h for h in range(1, 9) for wave in (np.cos, np.sin)], axis=1)
    points = waves @ rng.standard_normal((16, 200)) / np.sqrt(200.0) + 0.02 * rng.standard_normal((count, 200)) / 14.0
    return Tabular(points, rank, partial(order, np.arange(count)))


def _closed(count: int, seed: int, *, ring: bool) -> Tabular:
    """A torus or a sphere in R^3, hardly any noise."""
    rng = np.random.default_rng(seed)
    if ring:
        a, b = rng.uniform(0.0, 2.0 * np.pi, (2, count))
        points = np.column_stack(
            [(1.0 + 0.4 * np.cos(b)) * np.cos(a), (1.0 + 0.4 * np.cos(b)) * np.sin(a), 0.4 * np.sin(b)]
        )
    else:
        points = rng.standard_normal((count, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return Tabular(points + 0.005 * rng.standard_normal(points.shape), 2, partial(trust, points))


def _clusters(count: int, seed: int) -> Tabular:
    """Eight curved patches of different size in R^60, some touching."""
    rng = np.random.default_rng(seed)
    parts, labels = [], []
    for c in range(8):
        size = int(count / 8 * rng.uniform(0.6, 1.4))
        u = rng.uniform(-1.0, 1.0, (size, 2))
        bent = np.column_stack([u, 0.5 * u[:, 0] ** 2, 0.4 * u[:, 0] * u[:, 1], 0.3 * np.sin(2.0 * u[:, 1])])
        axes = np.linalg.qr(rng.standard_normal((60, 5)))[0]
        parts.append(bent @ axes.T + rng.standard_normal(60) * 0.28 + 0.05 * rng.standard_normal((size, 60)) / 7.7)
        labels += [c] * size
    points = np.concatenate(parts)
    return Tabular(points, 2, partial(classes_kept, points, np.array(labels)))


REAL: dict[str, Callable[[], Tabular]] = {
    "digits": partial(_classes, load_digits),
    "wine": partial(_classes, load_wine),
    "breast cancer": partial(_classes, load_breast_cancer),
    "diabetes": _diabetes,
}
STORED: dict[str, Callable[[], Tabular]] = {
    **{f"turning object {i + 1}, k = 1": partial(_object, i, 1) for i in range(10)},
    **{f"turning object {i + 1}, k = 2": partial(_object, i, 2) for i in range(10)},
    "ten turning objects": _objects,
    "mammoth 2500": partial(_mammoth, 2500),
    "molecule 2000": partial(_molecule, 2000),
}
MADE: dict[str, Callable[[], Tabular]] = {
    "blob 300": partial(_blob, 300, 0),
    "blob 600": partial(_blob, 600, 1),
    "blob 1200": partial(_blob, 1200, 2),
    "like faces 698": partial(_faces, 698, 0),
    "like faces 350": partial(_faces, 350, 1),
    "smooth k = 1, 200": partial(_smooth, 200, 1, 0),
    "smooth k = 2, 500": partial(_smooth, 500, 2, 0),
    "smooth k = 3, 1000": partial(_smooth, 1000, 3, 0),
    "smooth k = 4, 2000": partial(_smooth, 2000, 4, 0),
    "smooth k = 2, 500, noisy": partial(_smooth, 500, 2, 1, noise=0.05),
    "smooth k = 3, 1000, noisy": partial(_smooth, 1000, 3, 1, noise=0.05),
    "smooth k = 2, 600, uneven": partial(_smooth, 600, 2, 2, uneven=True),
    "smooth k = 3, 1000, uneven, noisy": partial(_smooth, 1000, 3, 2, noise=0.03, uneven=True),
    "bridged squares 1000": partial(_bridged, 1000, 0),
    "clusters 1000": partial(_clusters, 1000, 0),
    "loop 120, k = 1": partial(_loop, 120, 1, 0),
    "loop 120, k = 2": partial(_loop, 120, 2, 0),
    "sphere 800": partial(_closed, 800, 0, ring=False),
    "torus 1000": partial(_closed, 1000, 0, ring=True),
    "S 300, clean": partial(_sheet, s_sheet, 300, 0, noise=0.0),
    "S 1500, clean": partial(_sheet, s_sheet, 1500, 0, noise=0.0),
    "S 1500": partial(_sheet, s_sheet, 1500, 0),
    "S 1500 in R^100": partial(_sheet, s_sheet, 1500, 0, dim=100),
    "S 1500 with a hole": partial(_sheet, s_sheet, 1500, 0, hole=True),
    "Swiss roll 1500": partial(_sheet, roll_sheet, 1500, 0),
    "Swiss roll 1500, σ = 0.05": partial(_sheet, roll_sheet, 1500, 0, noise=0.05),
    "strip in R^100, 1000": partial(_sheet, strip_sheet, 1000, 0),
}


def tables() -> dict[str, Callable[[], Tabular]]:
    """All that can be had here."""
    return REAL | (STORED if folder() else {}) | MADE
