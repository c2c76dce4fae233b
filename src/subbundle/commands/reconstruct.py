"""``subbundle reconstruct scan.ply -o mesh.ply``: a triangle mesh of a scan."""

from __future__ import annotations

import argparse
from pathlib import Path

from subbundle._progress import Progress
from subbundle.commands._chunks import is_requested, offer_chunks, reconstruct_chunks
from subbundle.commands._learned import collected
from subbundle.commands._reports import account_of_mesh, check_report, write_report
from subbundle.commands._scans import Given, check_cloud_output, clusters, read_given, write_cloud
from subbundle.io import write_mesh
from subbundle.surface.reconstruct import reconstruct
from subbundle.triangles.mesh import Mesh, check_output
from subbundle.triangles.simplify import simplifier, simplify_mesh


def run(options: argparse.Namespace) -> None:
    """Read, reconstruct, write and report."""
    if is_requested(options):
        reconstruct_chunks(options)
        return
    check_report(options.report)
    check_output(options.output)  # before the scan is read, which may take a while
    check_cloud_output(options.save_outliers)
    if options.faces is not None:
        simplifier()
    offer_chunks(options.scans, "reconstruct", table=False)
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
        account = account_of_mesh(given, mesh, messages, given_width=options.bandwidth != "auto")
        shown = {"mesh": mesh, "scan": given.scan.points}
        if mesh.summary is not None and len(mesh.summary.outliers):
            shown["outliers"] = given.scan.points[mesh.summary.outliers]
        write_report(options, account, shown, hidden=["scan"])


def _made(options: argparse.Namespace, given: Given, progress: Progress) -> tuple[Mesh, list[str]]:
    """The mesh, and its warnings."""
    scan = given.scan
    with collected() as messages:
        mesh = reconstruct(
            scan.points, bandwidth=options.bandwidth, normals=scan.normals if scan.points.shape[1] == 3 else None,
            closed=options.closed, opening=options.opening, attributes=scan.attributes, progress=progress.stage,
            n_jobs=options.jobs,
        )  # fmt: skip
    return mesh, messages


def _simplified(mesh: Mesh, wanted: int) -> tuple[Mesh, str]:
    fewer = simplify_mesh(mesh, wanted)
    kept = f"; fewer, such as {wanted}, would change the topology" if len(fewer.faces) > wanted else ""
    return fewer, f"simplified: {len(fewer.faces)} faces of {len(mesh.faces)}{kept}"


def _about(given: Given, mesh: Mesh) -> list[str]:
    """Lines about normals, outliers and units of the files."""
    made, lines = mesh.summary, []
    if given.scan.normals is not None and made is not None:
        used = "used to separate sides (--no-normals ignores them)" if made.used_normals else "left out"
        lines.append(f"normals of the scan: {used}")
    if made is not None and len(made.outliers):
        lines.append(f"outliers by position: {clusters(given.scan.points[made.outliers], made.bandwidth)}")
    if given.unit:
        lines.append(f"lengths are in {given.unit}")
    return lines


def _written_outliers(path: Path, given: Given, mesh: Mesh) -> str:
    if mesh.summary is None or not len(mesh.summary.outliers):
        return f"no outliers were found: {path} was not written"
    away = given.scan.take(mesh.summary.outliers)
    write_cloud(path, away.points, away.normals, away.attributes, given.comments)
    return f"wrote {path}: {len(away.points)} outliers"
