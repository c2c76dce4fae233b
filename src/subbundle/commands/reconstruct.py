"""``subbundle reconstruct scan.ply -o mesh.ply``: a triangle mesh of a user's own scan."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from subbundle.commands._options import add_scans, bandwidth, face_count, positive, positive_integer
from subbundle.commands._report import add_report, check_report, write_report
from subbundle.commands._scale_out import add_scale_out, is_asked_for, offer_pieces

if TYPE_CHECKING:
    from subbundle._progress import Progress
    from subbundle.commands._scans import Given
    from subbundle.triangles.mesh import Mesh

# Half the width, in bandwidths, of patches that are bridged.
OPENING = 3.0
HELP = "make a triangle mesh from the points of a scan; no normals needed, borders stay open"
# What arguments of `subbundle.reconstruct` are called in warnings, and here.
_OPTIONS = {
    "Leave closed=False": "Leave --closed out", "closed=True": "--closed", "larger opening": "larger --opening",
    "larger bandwidth": "larger --bandwidth", "another bandwidth": "another --bandwidth",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``reconstruct``."""
    add_scans(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE",
        help=".ply, .obj, .stl, .off, or .npz (for surfaces in more than three dimensions); for files larger than "
        "memory .ply, or a folder for one .ply per tile",
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
        default=OPENING,
        metavar="W",
        help="patches that the scan did not see are bridged up to a half-width of W bandwidths (default 3)",
    )
    parser.add_argument(
        "--faces", type=face_count, default=None, metavar="N",
        help="simplify to at most N triangles, or as few above that as keep the topology",
    )  # fmt: skip
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")
    add_scale_out(parser)
    add_report(parser)


def run(options: argparse.Namespace) -> None:
    """Read, reconstruct, write, and say what came out."""
    if is_asked_for(options):
        from subbundle.commands._reconstruct_pieces import run_pieces

        run_pieces(options)
        return
    from subbundle._progress import Progress
    from subbundle.commands._scans import check_cloud_output, read_given
    from subbundle.io import write_mesh
    from subbundle.triangles.mesh import check_output
    from subbundle.triangles.simplify import check_simplifier

    check_report(options.report)
    check_output(options.output)  # before the scan is read, which may take a while
    check_cloud_output(options.save_outliers)
    if options.faces is not None:
        check_simplifier()
    offer_pieces(options.scans, "reconstruct", table=False)
    progress = Progress()
    given = read_given(options, progress, options.dim)
    dim = given.scan.points.shape[1]
    check_output(options.output, dim)
    if options.faces is not None and dim != 3:
        raise ValueError(f"--faces is for points with 3 coordinates; these have {dim}. Leave --faces out.")
    mesh, messages = _made(options, given, progress)
    lines = mesh.report()
    if options.faces is not None:
        mesh, line = _simplified(mesh, options.faces)
        lines.append(line)
    progress.stage(f"writing {options.output}")
    write_mesh(
        options.output, mesh.vertices, mesh.faces, normals=mesh.normals, attributes=mesh.attributes,
        comments=given.comments,
    )  # fmt: skip
    print("\n".join([*lines, *_about(given, mesh), *(f"note: {message}" for message in messages)]))
    if options.save_outliers is not None:
        print(_written_outliers(options.save_outliers, given, mesh))
    print(f"wrote {options.output} in {progress.seconds:.1f} s")
    if options.report is not None:
        from subbundle.commands._accounts_scans import account_of_mesh

        account = account_of_mesh(given, mesh, messages, given_width=options.bandwidth != "auto")
        shown = {"mesh": mesh, "scan": given.scan.points}
        if mesh.summary is not None and len(mesh.summary.outliers):
            shown["outliers"] = given.scan.points[mesh.summary.outliers]
        write_report(options, account, shown, hidden=["scan"])


def _made(options: argparse.Namespace, given: Given, progress: Progress) -> tuple[Mesh, list[str]]:
    """The mesh, and the warnings that came with it."""
    from subbundle._types import SubbundleWarning
    from subbundle.surface.reconstruct import reconstruct

    scan = given.scan
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SubbundleWarning)
        mesh = reconstruct(
            scan.points,
            bandwidth=options.bandwidth,
            normals=scan.normals if scan.points.shape[1] == 3 else None,
            closed=options.closed,
            opening=options.opening,
            attributes=scan.attributes,
            progress=progress.stage,
            n_jobs=options.jobs,
        )
    return mesh, [_as_options(str(warning.message)) for warning in said]


def _as_options(message: str) -> str:
    """A warning that names arguments of the function, with the options of the command."""
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    return message


def _simplified(mesh: Mesh, wanted: int) -> tuple[Mesh, str]:
    from subbundle.triangles.simplify import simplify_mesh

    fewer = simplify_mesh(mesh, wanted)
    words = f"simplified: {len(fewer.faces)} faces of {len(mesh.faces)}"
    if len(fewer.faces) > wanted:
        words += f"; fewer, such as {wanted}, would change the topology"
    return fewer, words


def _about(given: Given, mesh: Mesh) -> list[str]:
    """Lines about what the files had besides points."""
    from subbundle.commands._outliers import clumps

    made = mesh.summary
    lines = []
    if given.scan.normals is not None and made is not None:
        used = "used to tell sides apart (--no-normals leaves them out)" if made.used_normals else "left out"
        lines.append(f"normals of the scan: {used}")
    if made is not None and len(made.outliers):
        lines.append(f"outliers by place: {clumps(given.scan.points[made.outliers], made.bandwidth)}")
    if given.unit:
        lines.append(f"lengths are in {given.unit}")
    return lines


def _written_outliers(path: Path, given: Given, mesh: Mesh) -> str:
    from subbundle.commands._scans import write_cloud

    if mesh.summary is None or not len(mesh.summary.outliers):
        return f"no outliers were found: {path} was not written"
    away = given.scan.take(mesh.summary.outliers)
    write_cloud(path, away.points, away.normals, away.attributes, given.comments)
    return f"wrote {path}: {len(away.points)} outliers"
