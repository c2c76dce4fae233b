"""``subbundle denoise scan.ply -o clean.ply``: every point of a cloud moved onto the surface in its middle."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subbundle.commands._options import bandwidth_or_local, dimension, positive, positive_integer
from subbundle.commands._report import add_report, check_report, write_report

if TYPE_CHECKING:
    from subbundle.bundles.principal import PrincipalSubbundle
    from subbundle.bundles.ridge_project import Ridge

HELP = "move every point of a scan or cloud onto the surface (or curve) in its middle"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``denoise``."""
    parser.add_argument("data", type=Path, help="a cloud: .ply, .obj, .stl, .off, .xyz, .csv or .npy")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=".ply, .csv, .npy or .parquet")
    parser.add_argument(
        "--bandwidth",
        type=bandwidth_or_local,
        default="auto",
        help="standard deviation of the kernel, auto (default) or local: one for every place",
    )
    parser.add_argument(
        "--dim", type=dimension, default=2, metavar="K", help="2 for surfaces (default), 1 for curves, …, or auto"
    )
    parser.add_argument(
        "--order", type=int, choices=(1, 2), default=2, help="1 rounds off bends; 2 (default) corrects for that"
    )
    parser.add_argument(
        "--outliers",
        type=positive,
        default=None,
        metavar="LEVEL",
        help="leave out points moved by more than this many noise levels, and those with no surface nearby (default: "
        "keep all; those with no surface nearby stay where they are)",
    )
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")
    add_report(parser)


def run(options: argparse.Namespace) -> None:
    """Read, choose the bandwidth, project, write, and say what was found."""
    import numpy as np

    from subbundle._progress import Progress
    from subbundle._types import Status, SubbundleWarning, count_statuses
    from subbundle.bundles.principal import PrincipalSubbundle
    from subbundle.bundles.ridge_project import ridge_project
    from subbundle.cloud import Cloud
    from subbundle.commands._tables import read_table
    from subbundle.selection import choose_bandwidth, choose_local_bandwidth, choose_rank

    _check_output(options.output)
    check_report(options.report)
    progress = Progress()
    progress.stage(f"reading {options.data}")
    points = read_table(options.data).values
    cloud = Cloud(points)
    rank, width = options.dim, options.bandwidth
    if rank == "auto":
        progress.stage(f"choosing a dimension for {len(points)} points")
        rank = choose_rank(cloud, max_rank=max(cloud.dim - 1, 1)).rank
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SubbundleWarning)
        if width == "auto":
            progress.stage(f"choosing a bandwidth for {len(points)} points")
            width = choose_bandwidth(cloud, rank, n_jobs=options.jobs).bandwidth
        elif width == "local":
            progress.stage(f"choosing bandwidths for {len(points)} points")
            width = choose_local_bandwidth(cloud, rank, n_jobs=options.jobs).bandwidth
    bundle = PrincipalSubbundle(cloud, rank, width, n_jobs=options.jobs)
    shown = _shown(bundle)
    progress.stage(f"projecting with {shown}")
    ridge = ridge_project(bundle, points, order=options.order)
    kept = np.ones(len(points), bool) if options.outliers is None else ridge.outlier_scores <= options.outliers
    if not kept.any():
        raise ValueError(
            f"--outliers {options.outliers:g} would leave out all {len(points)} points. Give a larger level, or "
            "another --bandwidth."
        )
    progress.stage("writing")
    _write(options.output, ridge, kept)
    arrived = ridge.status == Status.OK
    print(f"{len(points)} points in R^{points.shape[1]}, dimension {rank}, {shown}")
    if arrived.any():
        print(
            f"noise {np.median(ridge.noise[arrived]):.4g} along each normal direction, moved by "
            f"{ridge.shifts[arrived].mean():.4g} on average"
        )
    for words, count in count_statuses(ridge.status[~arrived]).items():
        print(f"  {words}: {count}")
    if options.outliers is not None:
        print(f"left out as outliers: {np.count_nonzero(~kept)}")
    for warning in said:
        print(f"note: {warning.message}")
    print(f"wrote {options.output}: {np.count_nonzero(kept)} points, {progress.seconds:.1f} s")
    if options.report is not None:
        from subbundle.commands._accounts import account_of_ridge, ridge_columns

        messages = [str(warning.message) for warning in said]
        account = account_of_ridge(options.data, bundle, ridge, kept, messages, given=options.bandwidth)
        both = {"denoised": ridge.points[kept], "observations": points}
        write_report(options, account, both, columns=ridge_columns(ridge, kept))


def _shown(bundle: PrincipalSubbundle) -> str:
    local = bundle.local_bandwidth
    if local is None:
        return f"bandwidth {bundle.bandwidth:.4g}"
    return f"bandwidth {bundle.bandwidth:.4g} ({local.values.min():.4g} to {local.values.max():.4g})"


def _check_output(path: Path) -> None:
    """Raise for an ending that cannot be written, before the work is done."""
    from subbundle.commands._tables import check_output

    if path.suffix.lower() != ".ply":
        check_output(path)
    elif not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} must exist; {path.parent} is no folder. Create it first.")


def _write(path: Path, ridge: Ridge, kept: Any) -> None:
    """PLY with the points, and for surfaces in space their normals; tables with noise, score and status beside them."""
    import numpy as np

    from subbundle.commands._tables import write_table
    from subbundle.io import write_ply

    points = ridge.points[kept]
    if path.suffix.lower() == ".ply":
        if points.shape[1] != 3:
            raise ValueError(
                f"{path.name} can only hold points with 3 coordinates; these have {points.shape[1]}. Write .csv, .npy "
                "or .parquet instead."
            )
        normals = None
        if ridge.tangents.shape[2] == 2:
            normals = np.nan_to_num(ridge.normals[kept, :, 0])
        write_ply(path, points, normals=normals)
        return
    columns = {f"x{i + 1}": points[:, i] for i in range(points.shape[1])}
    extra = {"noise": ridge.noise[kept], "outlier_score": ridge.outlier_scores[kept]}
    write_table(path, {**columns, **extra, "status": ridge.status[kept].astype(np.int64)})
