"""``subbundle view scan.ply``: show files in the browser, or write one page that shows them offline."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import saving
from subbundle._atomic import check_source, check_target
from subbundle._progress import Progress
from subbundle._types import FloatArray
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.commands._tables import NAMED, check_names, columns_of
from subbundle.diagnostics import diagnose
from subbundle.estimators import AtlasEmbedding
from subbundle.formats.meshes import read_faces
from subbundle.formats.tables import no_numbers
from subbundle.io import MESH_SUFFIXES, unreadable
from subbundle.scans import read_scan
from subbundle.selection import choose_bandwidth
from subbundle.surface.reconstruct import reconstruct
from subbundle.triangles.mesh import Mesh
from subbundle.viewer.front import view
from subbundle.viewer.page import library

# Columns that are coordinates where a table has them; all others can colour.
_COORDINATES = (
    ("x", "y", "z"), ("x", "y"), ("coordinate_1", "coordinate_2", "coordinate_3"), ("coordinate_1", "coordinate_2"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """Rows [n, d], the ``names`` of their columns, the other columns, which can colour them, and normals of scans."""

    points: FloatArray
    names: Sequence[str]
    others: Mapping[str, Any]
    normals: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Objects:
    """Named objects, rows for a model, columns that colour the first, and names of objects hidden at first."""

    named: dict[str, Any]
    rows: FloatArray | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


def run(options: argparse.Namespace) -> None:
    """Read, run the job if one is requested, and show or write."""
    library()  # raises before any work is done
    if options.html is not None:
        check_target(options.html, (".html",), "--html")
    progress = Progress()
    progress.stage(f"reading {', '.join(path.name for path in options.files)}")
    objects = objects_in(options.files, options.drop)
    if options.first is not None:
        objects = with_job(objects, options.first, progress, options.jobs)
    progress.stage("preparing the page")
    shown = view(
        objects.named, objects.rows, columns=objects.columns, color=options.color, image_shape=options.image_shape,
        title=", ".join(path.name for path in options.files), hidden=objects.hidden,
    )  # fmt: skip
    for note in shown.scene.notes:
        print(f"note: {note}")
    if options.html is not None:
        path = shown.save(options.html)
        print(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB, opens offline")
        return
    server = shown.serve(options.port)
    print(f"{server.url}\nCtrl-C ends it", flush=True)
    if not options.no_browser:
        server.open()
    server.wait()


def objects_in(files: Sequence[Path], drop: Sequence[str] = ()) -> Objects:
    """The content of ``files``. A table given with one saved model is located by that model."""
    named: dict[str, Any] = {}
    columns: dict[str, Mapping[str, Any]] = {}
    for path in files:
        check_source(path)
        name = path.name if path.name not in named else str(path)
        held = _read(path, drop)
        named[name], columns[name] = held, held.others if isinstance(held, Table) else {}
    models = [name for name, thing in named.items() if hasattr(thing, "get_params")]
    tables = [name for name, thing in named.items() if isinstance(thing, Table)]
    if len(models) == 1 and len(tables) == 1 and len(named) == 2:
        rows, wanted = named[tables[0]].points, named[models[0]].n_features_in_
        if rows.shape[1] != wanted:
            found = ", ".join(named[tables[0]].names) or rows.shape[1]
            raise ValueError(
                f"{tables[0]} must have the {wanted} features of {models[0]}; it has {found}. Leave columns out with "
                "--drop NAMES."
            )
        return Objects({models[0]: named[models[0]]}, rows, columns[tables[0]])
    return Objects(named, None, next(iter(columns.values())))


def with_job(objects: Objects, job: str, progress: Progress, n_jobs: int | None) -> Objects:
    """``objects`` and the result of ``job`` on the first cloud among them."""
    found = next((name for name, thing in objects.named.items() if isinstance(thing, Table)), None)
    if found is None:
        raise ValueError(f"--run {job} needs points; {', '.join(objects.named)} holds none.")
    points = objects.named[found].points
    progress.stage(f"{job}: {len(points)} points")
    if job == "embed":
        model = AtlasEmbedding("auto", n_jobs=n_jobs).fit(points)
        return replace(objects, named={found: model}, rows=points)
    if job == "reconstruct":
        table = objects.named[found]
        kept = {name: column for name, column in table.others.items() if column.dtype.kind in "fiub"}
        normals = table.normals if points.shape[1] == 3 else None
        made: Any = reconstruct(points, normals=normals, attributes=kept, progress=progress.stage, n_jobs=n_jobs)
    elif job == "diagnose":
        made = diagnose(points, n_jobs=n_jobs)
    else:
        made = _denoised(points, n_jobs)
    return replace(objects, named={**objects.named, job: made}, hidden=() if job == "diagnose" else (found,))


def _denoised(points: FloatArray, n_jobs: int | None) -> FloatArray:
    cloud = Cloud(points)
    width = choose_bandwidth(cloud, 2, n_jobs=n_jobs).bandwidth
    return ridge_project(PrincipalSubbundle(cloud, 2, width, n_jobs=n_jobs), points).points


def _read(path: Path, drop: Sequence[str]) -> Any:
    """The points in a file, as a `Table`, or another object."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        held = _read_npz(path)
        if held is not None:
            return held
    if suffix in (*NAMED, ".npy"):
        return _read_columns(path, drop)
    if suffix in MESH_SUFFIXES:
        mesh = _read_mesh(path)
        if mesh is not None:
            return mesh
    scan = read_scan(path)
    return Table(scan.points, (), scan.attributes, scan.normals)


def _read_npz(path: Path) -> Any:
    """A saved mesh or a saved model; None for arrays with points."""
    with open(path, "rb") as stream:
        names = set(zipfile.ZipFile(stream).namelist()) if zipfile.is_zipfile(stream) else set()
    if not {"vertices.npy", "faces.npy"} <= names:
        return saving.load(path) if not names or "description.npy" in names else None
    with np.load(path, allow_pickle=False) as held:
        return Mesh(np.asarray(held["vertices"], dtype=np.float64), np.asarray(held["faces"], dtype=np.int64))


def _read_mesh(path: Path) -> Mesh | None:
    """The mesh in a file; None when it holds points without faces, or nothing that can be read here."""
    try:
        found = read_faces(path)
    except Exception:  # parsers fail in many ways; the reader of scans reports what is wrong
        return None
    return None if found is None else Mesh(found[0].points, found[1], found[0].normals, found[0].attributes)


def _read_columns(path: Path, drop: Sequence[str]) -> Table:
    """Coordinates and the other columns of a table."""
    columns = columns_of(path)
    check_names("--drop", drop, columns)
    numbers = [name for name, column in columns.items() if column.dtype.kind in "fiub" and name not in drop]
    lower = {name.strip().lower(): name for name in numbers}
    chosen = next((names for names in _COORDINATES if all(name in lower for name in names)), None)
    coordinates = [lower[name] for name in chosen] if chosen is not None else numbers
    if not coordinates:
        raise unreadable(path, no_numbers([name for name in columns if name not in drop]))
    others = {name: column for name, column in columns.items() if name not in coordinates}
    names = coordinates if path.suffix.lower() in NAMED else ()
    return Table(np.column_stack([columns[name].astype(np.float64) for name in coordinates]), names, others)
