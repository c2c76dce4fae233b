"""What the commands on scans share: reading several files with their poses, writing clouds, normals, outliers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._atomic import check_target
from subbundle._groups import components_of
from subbundle._progress import Progress
from subbundle._types import FloatArray
from subbundle.commands._tables import NAMED, OUTPUTS, check_output, columns_of, read_table, write_table
from subbundle.distributed.tuning import SIGN_VOXEL
from subbundle.formats.columns import named
from subbundle.formats.poses import LIST_SUFFIX, read_list, read_matrix
from subbundle.formats.tables import coordinate_columns
from subbundle.io import write_ply
from subbundle.scans import Scan, join_scans, read_scan
from subbundle.surface.orient import follow, oriented_points
from subbundle.surface.voxels import voxel_keys

_COLOURS = ("red", "green", "blue")


@dataclass(frozen=True, slots=True)
class Given:
    """The scan that was read, in the requested unit; its title; remarks; and the unit, if known."""

    scan: Scan
    title: str
    notes: list[str]
    unit: str = ""

    @property
    def comments(self) -> list[str]:
        """Lines for the header of a file."""
        return [f"unit {self.unit}"] if self.unit else []


def read_given(options: argparse.Namespace, progress: Progress, dim: int | None, *, table: bool = False) -> Given:
    """The scans of ``options``, each moved by its transform, joined, cropped and scaled.

    With ``table`` rows of any dimension are accepted, for `denoise`.
    """
    notes = []
    scans = []
    for path, matrix in _posed(options.scans, options.transform or []):
        progress.stage(f"reading {path}")
        scan = _read_any(path) if table else read_scan(path, dim)
        if matrix is not None:
            if scan.points.shape[1] != 3:
                raise ValueError(f"--transform is for points with 3 coordinates; {path} has {scan.points.shape[1]}.")
            scan = scan.moved(matrix)
        if scan.n_dropped:
            notes.append(f"left out, not finite: {scan.n_dropped} of {scan.n_dropped + len(scan.points)} points")
        scans.append(scan)
    scan, lost = join_scans(scans)
    if lost:
        notes.append(f"left out, not in all files: {', '.join(lost)}")
    if options.no_normals:
        scan = replace(scan, normals=None)
    if options.crop is not None:
        scan, note = _cropped(scan, options.crop)
        notes.append(note)
    unit, factor = options.units or ("", 1.0)
    if factor != 1.0:
        scan = replace(scan, points=factor * scan.points)
        notes.append(f"all lengths are multiplied by {factor:g} and in {unit} from here on")
    for note in notes:
        progress.note(note)
    first = Path(options.scans[0]).name
    title = first if len(options.scans) == 1 else f"{first} and {len(options.scans) - 1} more"
    return Given(scan, title, notes, unit)


def _posed(files: Sequence[Path], transforms: Sequence[str]) -> list[tuple[Path, FloatArray | None]]:
    """The scans in ``files``, directly or listed there, and the pose of each, or None."""
    if transforms and len(transforms) != len(files):
        raise ValueError(
            f"--transform must be given once for every scan, {len(files)} times; it was given {len(transforms)} times. "
            "Write --transform identity for a scan that stays where it is."
        )
    posed: list[tuple[Path, FloatArray | None]] = []
    for path, name in zip(files, transforms or ["identity"] * len(files), strict=True):
        matrix = None if name == "identity" else read_matrix(Path(name))
        if path.suffix.lower() != LIST_SUFFIX:
            posed.append((path, matrix))
            continue
        posed += [(scan, own if matrix is None else matrix @ own) for scan, own in read_list(path)]
    return posed


def _read_any(path: Path) -> Scan:
    """A scan, or a table with rows of any dimension; columns named x, y, z have the others as attributes."""
    suffix = path.suffix.lower()
    if suffix not in (*NAMED, ".npy"):
        return read_scan(path)
    columns = columns_of(path)
    axes = [list(columns)[i] for i in coordinate_columns(list(columns))]
    if len(axes) < 2 or any(columns[axis].dtype.kind not in "fiub" for axis in axes):
        return Scan(read_table(path).values, {}, 0)
    points = np.column_stack([columns.pop(axis).astype(np.float64) for axis in axes])
    content = named(points, columns)
    good = np.isfinite(points).all(axis=1)
    return Scan(points, content.attributes, int(np.sum(~good)), content.normals).take(good)


def _cropped(scan: Scan, box: FloatArray) -> tuple[Scan, str]:
    """The points in ``box`` [3, 2], and a line about their number."""
    points = scan.points
    if points.shape[1] != 3:
        raise ValueError(f"--crop is for points with 3 coordinates; these have {points.shape[1]}.")
    inside = ((points >= box[:, 0]) & (points <= box[:, 1])).all(axis=1)
    if not inside.any():
        low, high = points.min(axis=0), points.max(axis=0)
        extent = ", ".join(f"{a:.4g}..{b:.4g}" for a, b in zip(low, high, strict=True))
        raise ValueError(f"--crop must leave some points; none of {len(points)} lies in it. They lie in {extent}.")
    return scan.take(inside), f"cropped: {np.count_nonzero(inside)} of {len(points)} points lie in the box"


def check_cloud_output(path: Path | None) -> None:
    """Raise, before any work is done, when a cloud cannot be written to ``path``."""
    if path is None:
        return
    check_target(path, (*OUTPUTS, ".ply"), "a cloud")
    if path.suffix.lower() != ".ply":
        check_output(path)


def write_cloud(
    path: Path, points: FloatArray, normals: FloatArray | None, attributes: Mapping[str, NDArray[Any]],
    comments: Sequence[str],
) -> None:  # fmt: skip
    """Write points with normals and attributes: .ply, or a table with columns x1, x2, … and the others by name."""
    if path.suffix.lower() == ".ply":
        if points.shape[1] != 3:
            raise ValueError(
                f"{path.name} can only hold points with 3 coordinates; these have {points.shape[1]}. Write .csv, .npy "
                "or .parquet instead."
            )
        others = dict(attributes)
        colours = others.pop("colors", None)
        write_ply(path, points, normals=normals, colors=colours, attributes=others, comments=comments)
        return
    columns: dict[str, NDArray[Any]] = {f"x{i + 1}": points[:, i] for i in range(points.shape[1])}
    if normals is not None:
        columns |= {f"n{axis}": normals[:, i] for i, axis in enumerate("xyz")}
    for name, values in attributes.items():
        if values.ndim == 1:
            columns[f"scan_{name}" if name in columns else name] = values
            continue
        names = _COLOURS if name == "colors" else [f"{name}_{i}" for i in range(values.shape[1])]
        columns |= dict(zip(names, values.T, strict=True))
    write_table(path, columns)


def oriented(
    points: FloatArray, normals: FloatArray, bandwidth: float, given: FloatArray | None = None
) -> tuple[FloatArray, bool]:
    """Unit ``normals`` [n, 3] oriented consistently, outward; and whether an orientation exists.

    With normals ``given`` by the scanner each takes the sign of that of its point, or of the nearest that has one.
    Without, `surface.orient` orients one point per voxel, and the others take the sign of the nearest of these.
    """
    if given is not None:
        known = given.any(axis=1)
        return follow(points, normals, (points[known], given[known])), True
    good = np.flatnonzero(np.isfinite(normals).all(axis=1) & normals.any(axis=1))
    if len(good) == 0:
        return normals, False
    side = SIGN_VOXEL * bandwidth
    some = good[np.unique(voxel_keys(points[good], None, side), return_index=True)[1]]
    turned, consistent = oriented_points(points[some], normals[some], side)
    return follow(points, normals, (points[some], turned)), consistent


def describe_outliers(points: FloatArray, n_all: int, reach: float) -> str:
    """A line about the outliers ``points`` [n, d] of ``n_all``: how many, and `clusters`."""
    if len(points) == 0:
        return "none"
    return f"{len(points)} of {n_all} points ({len(points) / n_all:.2%}), {clusters(points, reach)}"


def clusters(points: FloatArray, reach: float) -> str:
    """Clusters of ``points`` [n, d] by single linkage up to ``reach``: their number, and the centre of the largest."""
    n = len(points)
    pairs = cKDTree(points).query_pairs(reach, output_type="ndarray")
    count, group = components_of(pairs, n)
    sizes = np.bincount(group, minlength=count)
    single = int(np.sum(sizes == 1))
    if single == n:
        return "all isolated"
    largest = points[group == int(np.argmax(sizes))]
    centre = ", ".join(f"{value:.4g}" for value in largest.mean(axis=0))
    found = count - single
    rest = f"{single} isolated and " if single else ""
    return f"{rest}{found} cluster{'s' * (found > 1)}, the largest of {len(largest)} around ({centre})"
