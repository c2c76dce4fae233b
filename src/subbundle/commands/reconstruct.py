"""``subbundle reconstruct scan.ply -o mesh.ply``: a triangle mesh of a user's own scan."""

from __future__ import annotations

import argparse
from pathlib import Path

from subbundle.commands._options import bandwidth, positive, positive_integer
from subbundle.commands._report import add_report, check_report, write_report

HELP = "make a triangle mesh from the points of a scan; no normals needed, borders stay open"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``reconstruct``."""
    parser.add_argument("scan", type=Path, help="points: .ply, .obj, .stl, .off, .xyz, .csv, .npy, .las or .laz")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE",
        help=".ply, .obj, .stl, .off, or .npz (for surfaces in more than three dimensions)",
    )  # fmt: skip
    parser.add_argument(
        "--dim", type=positive_integer, default=None, metavar="D",
        help="number of coordinates in a table (default: all columns of .npy; of .csv those named x, y, z or x1, x2 …, "
        "else three)",
    )  # fmt: skip
    parser.add_argument(
        "--bandwidth", type=bandwidth, default="auto", help="window for normals and topology, or auto (default)"
    )
    parser.add_argument("--closed", action="store_true", help="close the surface over every opening")
    parser.add_argument(
        "--opening",
        type=positive,
        default=3.0,
        metavar="W",
        help="patches that the scan did not see are bridged up to a half-width of W bandwidths (default 3)",
    )
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")
    add_report(parser)


def run(options: argparse.Namespace) -> None:
    """Read, reconstruct, write, and say what came out."""
    from subbundle._progress import Progress
    from subbundle.scans import read_scan
    from subbundle.surface.reconstruct import reconstruct
    from subbundle.triangles.mesh import check_output

    check_report(options.report)
    check_output(options.output)  # before the scan is read, which may take a while
    progress = Progress()
    progress.stage(f"reading {options.scan}")
    scan = read_scan(options.scan, options.dim)
    check_output(options.output, scan.points.shape[1])
    if scan.n_dropped:
        progress.note(f"left out, not finite: {scan.n_dropped} of {scan.n_dropped + len(scan.points)} points")
    mesh = reconstruct(
        scan.points,
        bandwidth=options.bandwidth,
        closed=options.closed,
        opening=options.opening,
        attributes=scan.attributes,
        progress=progress.stage,
        n_jobs=options.jobs,
    )
    progress.stage(f"writing {options.output}")
    mesh.write(options.output)
    print("\n".join(mesh.report()))
    print(f"wrote {options.output} in {progress.seconds:.1f} s")
    if options.report is not None:
        from subbundle.commands._accounts import account_of_mesh

        account = account_of_mesh(options.scan, scan, mesh, given=options.bandwidth != "auto")
        write_report(options, account, {"mesh": mesh, "scan": scan.points})
