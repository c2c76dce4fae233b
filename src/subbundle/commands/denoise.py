"""``subbundle denoise scan.ply -o clean.ply``: every point of a cloud moved onto the surface in its middle."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subbundle.commands._options import add_bandwidth, add_scans, dimension, positive, positive_integer
from subbundle.commands._report import add_report, check_report, write_report
from subbundle.commands._scale_out import add_scale_out, is_asked_for, offer_pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from subbundle._progress import Progress
    from subbundle.bundles.principal import PrincipalSubbundle
    from subbundle.bundles.ridge_project import Ridge
    from subbundle.commands._scans import Given

HELP = "move every point of a scan or cloud onto the surface (or curve) in its middle"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``denoise``."""
    add_scans(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE",
        help=".ply, .csv, .npy or .parquet; a folder for files larger than memory, which keep their names and formats",
    )  # fmt: skip
    add_bandwidth(parser)
    parser.add_argument(
        "--dim", type=dimension, default=2, metavar="K", help="2 for surfaces (default), 1 for curves, …, or auto"
    )
    parser.add_argument(
        "--order", type=int, choices=(1, 2), default=2, help="1 rounds off bends; 2 (default) corrects for that"
    )
    parser.add_argument(
        "--normals", action="store_true",
        help="write normals, turned outward, to tables also; .ply files of surfaces in space have them always",
    )  # fmt: skip
    parser.add_argument(
        "--outliers",
        type=positive,
        default=None,
        metavar="LEVEL",
        help="leave out points moved by more than this many noise levels, and those with no surface nearby (default: "
        "keep all; those with no surface nearby stay where they are)",
    )
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")
    add_scale_out(parser)
    add_report(parser)


def run(options: argparse.Namespace) -> None:
    """Read, choose the bandwidth, project, write, and say what was found."""
    if is_asked_for(options):
        from subbundle.commands._denoise_pieces import run_pieces

        run_pieces(options)
        return
    from subbundle._progress import Progress
    from subbundle.bundles.ridge_project import ridge_project
    from subbundle.commands._scans import check_cloud_output, read_given

    check_cloud_output(options.output)
    check_cloud_output(options.save_outliers)
    check_report(options.report)
    if options.save_outliers is not None and options.outliers is None:
        raise ValueError("--save-outliers needs a level above which points are outliers. Write --outliers 4 as well.")
    offer_pieces(options.scans, "denoise", table=False)
    progress = Progress()
    given = read_given(options, progress, None, table=True)
    bundle, messages = _learned(options, given.scan.points, progress)
    shown = _shown(bundle)
    progress.stage(f"projecting with {shown}")
    ridge = ridge_project(bundle, given.scan.points, order=options.order, errors=options.report is not None)
    kept = _kept(options, ridge)
    progress.stage("writing")
    lines = _write(options, given, bundle, ridge, kept, messages)
    lines.append(f"wrote {options.output}: {kept.sum()} points, {progress.seconds:.1f} s")
    print("\n".join([*_about(options, given, bundle, ridge, kept), *(f"note: {text}" for text in messages), *lines]))
    if options.report is not None:
        from subbundle.commands._accounts_scans import account_of_ridge, ridge_columns

        account = account_of_ridge(given, bundle, ridge, kept, messages, given_width=options.bandwidth)
        clouds = {"denoised": ridge.points[kept], "observations": given.scan.points}
        if not kept.all():
            clouds["outliers"] = given.scan.points[~kept]
        write_report(options, account, clouds, columns=ridge_columns(ridge, kept))


def _learned(options: argparse.Namespace, points: Any, progress: Progress) -> tuple[PrincipalSubbundle, list[str]]:
    """The bundle, its dimension and bandwidth as the options say, and what is to be known about them."""
    from subbundle._types import SubbundleWarning
    from subbundle.bundles.principal import PrincipalSubbundle
    from subbundle.cloud import Cloud
    from subbundle.selection import choose_bandwidth, choose_local_bandwidth, choose_rank

    cloud = Cloud(points)
    rank, width = options.dim, options.bandwidth
    if rank == "auto":
        progress.stage(f"choosing a dimension for {len(points)} points")
        rank = choose_rank(cloud, max_rank=max(cloud.dim - 1, 1)).rank
    if options.normals and (cloud.dim, rank) != (3, 2):
        raise ValueError(
            f"--normals is for surfaces in R³; this is dimension {rank} in R^{cloud.dim}. Leave --normals out."
        )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SubbundleWarning)
        if width == "auto":
            progress.stage(f"choosing a bandwidth for {len(points)} points")
            width = choose_bandwidth(cloud, rank, n_jobs=options.jobs).bandwidth
        elif width == "local":
            progress.stage(f"choosing bandwidths for {len(points)} points")
            width = choose_local_bandwidth(cloud, rank, n_jobs=options.jobs).bandwidth
    bundle = PrincipalSubbundle(cloud, rank, width, n_jobs=options.jobs)
    return bundle, [str(warning.message) for warning in said]


def _kept(options: argparse.Namespace, ridge: Ridge) -> NDArray[np.bool_]:
    """Which points [n] are no outliers."""
    import numpy as np

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
    """Write the points, and the outliers where that is asked for; lines about the latter."""
    import numpy as np

    from subbundle.commands._scans import write_cloud

    normals = None
    if ridge.tangents.shape[1:] == (3, 2) and (options.normals or options.output.suffix.lower() == ".ply"):
        normals = _normals(ridge, given, bundle.bandwidth, messages)[kept]
    found = {"noise": ridge.noise, "outlier_score": ridge.outlier_scores, "status": ridge.status.astype(np.int64)}
    attributes = {**given.scan.take(kept).attributes, **{name: values[kept] for name, values in found.items()}}
    write_cloud(options.output, ridge.points[kept], normals, attributes, given.comments)
    if options.save_outliers is None or kept.all():
        return []
    away = given.scan.take(~kept)
    attributes = {**away.attributes, "outlier_score": ridge.outlier_scores[~kept]}
    write_cloud(options.save_outliers, away.points, away.normals, attributes, given.comments)
    return [f"wrote {options.save_outliers}: {len(away.points)} outliers"]


def _about(options: argparse.Namespace, given: Given, bundle: PrincipalSubbundle, ridge: Ridge, kept: Any) -> list[str]:
    """What was found, in lines of words."""
    import numpy as np

    from subbundle._types import Status, count_statuses
    from subbundle.commands._outliers import where

    points, arrived = given.scan.points, ridge.status == Status.OK
    lines = [f"{len(points)} points in R^{points.shape[1]}, dimension {bundle.rank}, {_shown(bundle)}"]
    if arrived.any():
        lines.append(
            f"noise {np.median(ridge.noise[arrived]):.4g} along each normal direction, moved by "
            f"{ridge.shifts[arrived].mean():.4g} on average"
        )
    lines += [f"  {words}: {count}" for words, count in count_statuses(ridge.status[~arrived]).items()]
    if given.scan.attributes:
        lines.append(f"carried along: {', '.join(given.scan.attributes)}")
    if options.outliers is not None:
        lines.append(f"left out as outliers: {where(points[~kept], len(points), bundle.bandwidth)}")
    return lines + ([f"lengths are in {given.unit}"] if given.unit else [])


def _shown(bundle: PrincipalSubbundle) -> str:
    local = bundle.local_bandwidth
    if local is None:
        return f"bandwidth {bundle.bandwidth:.4g}"
    return f"bandwidth {bundle.bandwidth:.4g} ({local.values.min():.4g} to {local.values.max():.4g})"


def _normals(ridge: Ridge, given: Given, bandwidth: float, messages: list[str]) -> Any:
    """Normals [n, 3] on one side, zero where there is no surface; what is to be known goes to ``messages``."""
    import numpy as np

    from subbundle.commands._normals import turned

    normals, agreed = turned(ridge.points, np.nan_to_num(ridge.normals[:, :, 0]), bandwidth, given.scan.normals)
    if not agreed:
        messages.append("the normals cannot agree everywhere: the surface has no sides, or sheets touch")
    return normals
