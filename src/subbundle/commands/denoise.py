"""``subbundle denoise scan.ply -o clean.ply``: every point of a cloud projected onto its ridge."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from subbundle._progress import Progress
from subbundle._types import BoolArray, FloatArray, Status, count_statuses
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import Ridge, ridge_project
from subbundle.cloud import Cloud
from subbundle.commands._chunks import denoise_chunks, is_requested, offer_chunks
from subbundle.commands._learned import collected
from subbundle.commands._reports import account_of_ridge, check_report, write_report
from subbundle.commands._scans import Given, check_cloud_output, describe_outliers, oriented, read_given, write_cloud
from subbundle.selection import choose_bandwidth, choose_local_bandwidth, choose_rank


def run(options: argparse.Namespace) -> None:
    """Read, choose the bandwidth, project, write and report."""
    if is_requested(options):
        denoise_chunks(options)
        return
    check_cloud_output(options.output)
    check_cloud_output(options.save_outliers)
    check_report(options.report)
    if options.save_outliers is not None and options.outliers is None:
        raise ValueError("--save-outliers needs a level above which points are outliers. Write --outliers 4 as well.")
    offer_chunks(options.scans, "denoise", table=False)
    progress = Progress()
    given = read_given(options, progress, None, table=True)
    bundle, messages = _learned(options, given.scan.points, progress)
    progress.stage(f"projecting with {_shown(bundle)}")
    ridge = ridge_project(bundle, given.scan.points, order=options.order, errors=options.report is not None)
    kept = _kept(options, ridge)
    progress.stage("writing")
    lines = _write(options, given, bundle, ridge, kept, messages)
    lines.append(f"wrote {options.output}: {kept.sum()} points, {progress.seconds:.1f} s")
    print("\n".join([*_about(options, given, bundle, ridge, kept), *(f"note: {text}" for text in messages), *lines]))
    if options.report is not None:
        account = account_of_ridge(given, bundle, ridge, kept, messages, given_width=options.bandwidth)
        clouds = {"denoised": ridge.points[kept], "observations": given.scan.points}
        if not kept.all():
            clouds["outliers"] = given.scan.points[~kept]
        columns = {"noise": ridge.noise, "moved": ridge.shifts, "curvature": ridge.curvature}
        shown = {name: values[kept] for name, values in columns.items()}
        write_report(options, account, clouds, columns=shown, hidden=["observations"])


def _learned(
    options: argparse.Namespace, points: FloatArray, progress: Progress
) -> tuple[PrincipalSubbundle, list[str]]:
    """The bundle, its dimension and bandwidth given by the options or chosen, and warnings of the choice."""
    cloud = Cloud(points)
    rank, width = options.dim, options.bandwidth
    if rank == "auto":
        progress.stage(f"choosing a dimension for {len(points)} points")
        rank = choose_rank(cloud, max_rank=max(cloud.dim - 1, 1)).rank
    if options.normals and (cloud.dim, rank) != (3, 2):
        raise ValueError(
            f"--normals is for surfaces in R³; this is dimension {rank} in R^{cloud.dim}. Leave --normals out."
        )
    with collected() as messages:
        if width in ("auto", "local"):
            choose: Any = choose_bandwidth if width == "auto" else choose_local_bandwidth
            progress.stage(f"choosing a bandwidth for {len(points)} points")
            width = choose(cloud, rank, n_jobs=options.jobs).bandwidth
    return PrincipalSubbundle(cloud, rank, width, n_jobs=options.jobs), messages


def _kept(options: argparse.Namespace, ridge: Ridge) -> BoolArray:
    """Which points [n] are no outliers."""
    kept = np.ones(len(ridge.points), bool) if options.outliers is None else ridge.outlier_scores <= options.outliers
    if not kept.any():
        raise ValueError(
            f"--outliers {options.outliers:g} would leave out all {len(kept)} points. Give a larger level, or "
            "another --bandwidth."
        )
    return kept


def _write(
    options: argparse.Namespace, given: Given, bundle: PrincipalSubbundle, ridge: Ridge, kept: Any, messages: list[str]
) -> list[str]:
    """Write the points, and the outliers if requested; lines about the latter."""
    normals = None
    if ridge.tangents.shape[1:] == (3, 2) and (options.normals or options.output.suffix.lower() == ".ply"):
        found = np.nan_to_num(ridge.normals[:, :, 0])
        found, consistent = oriented(ridge.points, found, bundle.bandwidth, given.scan.normals)
        normals = found[kept]
        if not consistent:
            messages.append("normals have no consistent orientation: the surface is not orientable, or sheets touch")
    columns = {"noise": ridge.noise, "outlier_score": ridge.outlier_scores, "status": ridge.status.astype(np.int64)}
    attributes = {**given.scan.take(kept).attributes, **{name: values[kept] for name, values in columns.items()}}
    write_cloud(options.output, ridge.points[kept], normals, attributes, given.comments)
    if options.save_outliers is None:
        return []
    if kept.all():
        return [f"no outliers were found: {options.save_outliers} was not written"]
    away = given.scan.take(~kept)
    attributes = {**away.attributes, "outlier_score": ridge.outlier_scores[~kept]}
    write_cloud(options.save_outliers, away.points, away.normals, attributes, given.comments)
    return [f"wrote {options.save_outliers}: {len(away.points)} outliers"]


def _about(options: argparse.Namespace, given: Given, bundle: PrincipalSubbundle, ridge: Ridge, kept: Any) -> list[str]:
    """The lines that are printed."""
    points, arrived = given.scan.points, ridge.status == Status.OK
    lines = [f"{len(points)} points in R^{points.shape[1]}, dimension {bundle.rank}, {_shown(bundle)}"]
    if arrived.any():
        lines.append(
            f"noise {np.median(ridge.noise[arrived]):.4g} along each normal direction, moved by "
            f"{ridge.shifts[arrived].mean():.4g} on average"
        )
    lines += [f"  {message}: {count}" for message, count in count_statuses(ridge.status[~arrived]).items()]
    if given.scan.attributes:
        lines.append(f"attributes kept: {', '.join(given.scan.attributes)}")
    if options.outliers is not None:
        lines.append(f"left out as outliers: {describe_outliers(points[~kept], len(points), bundle.bandwidth)}")
    return lines + ([f"lengths are in {given.unit}"] if given.unit else [])


def _shown(bundle: PrincipalSubbundle) -> str:
    local = bundle.local_bandwidth
    span = "" if local is None else f" ({local.values.min():.4g} to {local.values.max():.4g})"
    return f"bandwidth {bundle.bandwidth:.4g}{span}"
