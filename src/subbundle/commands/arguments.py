"""The options of the commands. Only the standard library is imported here, so that ``--help`` is fast."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from subbundle.commands import values as value


def add_commands(commands: Any) -> None:
    """Add a parser for every command to the subparsers ``commands``."""
    for name, (add, text) in COMMANDS.items():
        parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        add(parser)
        add_quiet(parser)
        parser.set_defaults(module=f"commands.{name}", passed=None)


def add_quiet(parser: ArgumentParser) -> None:
    """The option of every command and experiment."""
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _embed(parser: ArgumentParser) -> None:
    _table(parser, ("refuse", "drop", "local"))
    _learning(parser)
    parser.add_argument("--label", metavar="NAME", help="column to copy to the output and colour by, not to learn from")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help=".csv, .npy or .parquet (default: DATA-coordinates.csv); a folder for tables larger than memory",
    )  # fmt: skip
    parser.add_argument("--dim", type=value.dimension, default=2, metavar="K", help="coordinates (default 2), or auto")
    parser.add_argument(
        "--method", choices=("atlas", "chart"),
        help="an atlas of many small charts for the whole shape (default), or one chart from a base point",
    )  # fmt: skip
    parser.add_argument("--figure", type=Path, metavar="FILE", help="also draw the coordinates of an atlas, .png")
    far = "with --method chart: largest distance from the base point, or auto (default)"
    parser.add_argument("--radius", type=value.bandwidth, default="auto", metavar="R", help=far)
    base = "row of the base point, counted from 0 (default: a central one)"
    parser.add_argument("--base-row", type=int, metavar="ROW", help=base)
    parser.add_argument("--nan", action="store_true", help="NaN, not the nearest border point, for rows off all charts")
    parser.add_argument("--save", type=Path, metavar="MODEL", help="also write the fitted model, .npz")
    parser.add_argument("--model", type=Path, metavar="MODEL", help="use this saved model instead of fitting one")
    _scale_out(parser)
    _report(parser)


def _distance(parser: ArgumentParser) -> None:
    _table(parser, ())
    _learning(parser)
    matrix = ".npy, .csv or .parquet: a matrix"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", required=True, help=matrix)
    _rank(parser)
    start = "rows like 0,5,12 (default: all)"
    parser.add_argument("--from", type=value.row_numbers, metavar="ROWS", dest="sources", help=start)
    parser.add_argument("--to", type=value.row_numbers, metavar="ROWS", dest="targets", help="rows (default: all)")
    _report(parser)


def _denoise(parser: ArgumentParser) -> None:
    _scans(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True,
        help=".ply, .csv, .npy or .parquet; a folder for files larger than memory, which keep their names and formats",
    )  # fmt: skip
    _bandwidth(parser)
    parser.add_argument(
        "--dim", type=value.dimension, default=2, metavar="K", help="2 for surfaces (default), 1 for curves, …, or auto"
    )
    parser.add_argument(
        "--order", type=int, choices=(1, 2), default=2,
        help="order of the local fit: 1 is biased by curvature; 2 (default) corrects for it",
    )  # fmt: skip
    parser.add_argument(
        "--normals", action="store_true",
        help="write outward normals to tables also; .ply files of surfaces in space have them always",
    )  # fmt: skip
    parser.add_argument(
        "--outliers", type=value.positive, metavar="LEVEL",
        help="leave out points moved by more than this many noise levels, and those with no surface nearby (default: "
        "keep all; those with no surface nearby stay where they are)",
    )  # fmt: skip
    _jobs(parser)
    _scale_out(parser)
    _report(parser)


def _reconstruct(parser: ArgumentParser) -> None:
    _scans(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True,
        help=".ply, .obj, .stl, .off, or .npz (for surfaces in more than three dimensions); for files larger than "
        "memory .ply, or a folder for one .ply per tile",
    )  # fmt: skip
    parser.add_argument(
        "--dim", type=value.positive_integer, metavar="D",
        help="number of coordinates in a table (default: all columns of .npy; of .csv those named x, y, z or x1, x2 …, "
        "else three)",
    )  # fmt: skip
    _bandwidth(parser, local=False, help="window for normals and topology")
    parser.add_argument("--closed", action="store_true", help="close the surface over every opening")
    parser.add_argument(
        "--opening", type=value.positive, default=3.0, metavar="W",
        help="bridge openings without observations up to a half-width of W bandwidths (default 3)",
    )  # fmt: skip
    parser.add_argument(
        "--faces", type=value.face_count, metavar="N",
        help="simplify to at most N triangles, or as few above that as keep the topology",
    )  # fmt: skip
    _jobs(parser)
    _scale_out(parser)
    _report(parser)


def _diagnose(parser: ArgumentParser) -> None:
    _table(parser, ("refuse", "drop"))
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PAGE", help="page to write (default: DATA-diagnosis.html)"
    )
    _rank(parser)
    _bandwidth(parser, local=False)
    _jobs(parser)


def _view(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE",
        help="a cloud, scan or mesh (.ply, .obj, .stl, .off, .xyz, .las, …), a table (.csv, .tsv, .npy, .parquet), a "
        "saved model or mesh (.npz); a table given with a model is located by it",
    )  # fmt: skip
    parser.add_argument(
        "--run", choices=("reconstruct", "embed", "denoise", "diagnose"), dest="first",
        help="run this on the points first, and show the result with them",
    )  # fmt: skip
    _drop(parser, "columns of a table that are no coordinates, like a,b; they can colour")
    parser.add_argument("--color", metavar="NAME", help="column or quantity to colour by at first")
    pixels = "columns are the pixels of images, like 28x28"
    parser.add_argument("--image-shape", type=value.image_shape, metavar="HxW", help=pixels)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write one offline page instead")
    parser.add_argument(
        "--port", type=value.port, default=0, metavar="N", help="port on 127.0.0.1 (default: a free one)"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    _jobs(parser)


def _compile(parser: ArgumentParser) -> None:
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these parts of the library (default: all)")
    parser.add_argument("--here", action="store_true", help="in this process, one part after the other")
    parser.add_argument("--jobs", type=value.positive_integer, metavar="N", help="processes (default: a core each)")


def _scans(parser: ArgumentParser) -> None:
    parser.add_argument(
        "scans", type=Path, nargs="+", metavar="SCAN",
        help="points: .ply, .obj, .stl, .off, .pcd, .xyz, .pts, .csv, .npy, .npz, .las, .laz, .e57, …; several are "
        "joined, and an .aln file lists several with their poses",
    )  # fmt: skip
    parser.add_argument(
        "--transform", action="append", metavar="FILE",
        help="the pose of a scan as a 4 × 4 matrix (.txt or .json), or identity; once for every scan",
    )  # fmt: skip
    parser.add_argument(
        "--crop", type=value.crop, metavar="BOX",
        help="keep only points in xmin,xmax,ymin,ymax,zmin,zmax, in the units of the scan; an empty entry is no limit",
    )  # fmt: skip
    parser.add_argument(
        "--units", type=value.units, metavar="UNIT",
        help="unit of the scan, like mm, written to the output; m:mm converts metres to millimetres, also for figures "
        f"and --bandwidth ({', '.join(value.UNITS)})",
    )  # fmt: skip
    parser.add_argument("--no-normals", action="store_true", help="ignore the normals in the files")
    outliers = "write the outliers, as measured, to this cloud (.ply, .csv, .npy, .parquet)"
    parser.add_argument("--save-outliers", type=Path, metavar="FILE", help=outliers)


def _table(parser: ArgumentParser, missing: tuple[str, ...]) -> None:
    """A table and its columns; ``missing``: what can be done with rows that lack numbers."""
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="rows of numbers: .csv, .tsv, .npy, .parquet, or a cloud (.ply, .obj, .xyz, …)",
    )
    parser.add_argument("--standardize", action="store_true", help="scale columns to mean 0 and standard deviation 1")
    _drop(parser, "columns to leave out, like a,b")
    encoded = "columns to encode as one indicator column per value"
    parser.add_argument("--categorical", type=value.names, default=[], metavar="NAMES", help=encoded)
    if missing:
        ways = "refuse them, drop them" + (", or (local) locate them by their observed features" if missing[2:] else "")
        parser.add_argument(
            "--missing", choices=missing, default=missing[0], help=f"what to do with rows that lack numbers: {ways}"
        )


def _drop(parser: ArgumentParser, help: str) -> None:
    parser.add_argument("--drop", type=value.names, default=[], metavar="NAMES", help=help)


def _learning(parser: ArgumentParser) -> None:
    _bandwidth(parser)
    parser.add_argument("--raw", action="store_true", help="learn from the observations as they are, without denoising")
    _jobs(parser)


def _bandwidth(parser: ArgumentParser, *, local: bool = True, help: str = "standard deviation of the kernel") -> None:
    kind = value.bandwidth_or_local if local else value.bandwidth
    more = ", auto (default), or local: a function of the point" if local else ", or auto (default)"
    parser.add_argument("--bandwidth", type=kind, default="auto", help=help + more)


def _rank(parser: ArgumentParser) -> None:
    shape = "dimension of the shape, or auto (default)"
    parser.add_argument("--rank", type=value.dimension, default="auto", metavar="K", help=shape)


def _jobs(parser: ArgumentParser) -> None:
    parser.add_argument("--jobs", type=value.positive_integer, metavar="N", help="threads (default: all cores)")


def _report(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--report", type=Path, metavar="PAGE",
        help="also write a page (.html): input, choices and their reasons, figures, and an interactive scene",
    )  # fmt: skip


def _scale_out(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--workers", type=value.positive_integer, metavar="N",
        help="for files larger than memory: work in chunks with N processes; the output is a folder",
    )  # fmt: skip
    parser.add_argument(
        "--scheduler", metavar="ADDRESS",
        help="the same with the workers of a Dask scheduler, like tcp://host:8786, with access to the same files",
    )  # fmt: skip
    parser.add_argument(
        "--memory", metavar="SIZE", help="of all processes together, like 4GB (default: most of the free)"
    )
    parser.add_argument("--resume", action="store_true", help="finish an interrupted job: do only what is missing")


COMMANDS = {
    "embed": (_embed, "coordinates of the rows of a table on the submanifold near which they lie, true to scale"),
    "distance": (
        _distance,
        "geodesic distances between the rows of a table, along the submanifold near which they lie",
    ),
    "denoise": (_denoise, "project every point of a scan or cloud onto its ridge, the estimated surface (or curve)"),
    "reconstruct": (_reconstruct, "triangle mesh of the points of a scan; no normals needed, borders stay open"),
    "diagnose": (_diagnose, "estimate rank, bandwidth, noise, curvature and components of a cloud, with warnings"),
    "view": (_view, "show clouds, meshes, tables and saved models in the browser, or as one HTML file"),
    "compile": (_compile, "compile the kernels ahead of their first use, for instance when a container is built"),
}
