"""`reconstruct`: the surface of a scene larger than memory, tile by tile, to one mesh without seams.

Six stages: tiles (`plan`), noise, spacing and windows (`mesh_scale`), seeds per tile, clusters per tile and their signs
(`mesh_signs`), the mesh of every tile (`mesh_tiles`), and these written as one (`mesh_weld`) or tile by tile.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._atomic import atomic_path, write_text
from subbundle._progress import Progress
from subbundle._validation import as_positive
from subbundle.distributed.mesh_level_set import Piece
from subbundle.distributed.mesh_scale import Scale, plan_scale
from subbundle.distributed.mesh_signs import Clusters, orient_clusters
from subbundle.distributed.mesh_tiles import arrays_of, tile_clusters, tile_piece, tile_seeds
from subbundle.distributed.mesh_weld import Pieces, Weld, weld, write_welded
from subbundle.distributed.plan import chosen_once, most_points, planned, prepared
from subbundle.distributed.runner import Results, run
from subbundle.distributed.sample import SAMPLE
from subbundle.distributed.sources import open_source
from subbundle.distributed.tiles import TilePlan
from subbundle.io import write_ply

# Bytes of a worker for every observation of a tile, halo and mesh included.
_BYTES_PER_POINT = 2000.0
# Largest half-width of a gap that is bridged, in bandwidths: halos grow with it.
_WIDEST_OPENING = 8.0


@dataclass(frozen=True, slots=True)
class TiledMesh:
    """The result of a job.

    Attributes
    ----------
    paths : tuple of Path
        The ``.ply`` files written: one, or one for each tile.
    n_points, n_left_out, n_tiles : int
        Points used; rows not finite or out of bounds; tiles.
    n_vertices, n_faces, n_border_edges, n_components, euler_characteristic : int
        Of the whole mesh, vertices on seams counted once.
    noise, spacing, bandwidth, cell : float
        As in the summary of a mesh by `subbundle.reconstruct`.
    """

    paths: tuple[Path, ...]
    n_points: int
    n_left_out: int
    n_tiles: int
    n_vertices: int
    n_faces: int
    n_border_edges: int
    n_components: int
    euler_characteristic: int
    noise: float
    spacing: float
    bandwidth: float
    cell: float


def as_opening(opening: float) -> float:
    """``opening``, if it is not too large for the halos of tiles."""
    opening = as_positive(opening, "opening", hint="It is half a width in bandwidths; 3 is usual.")
    if opening > _WIDEST_OPENING:
        raise ValueError(
            f"opening must be at most {_WIDEST_OPENING:g} bandwidths in tiles, whose halos grow with it; got "
            f"{opening:g}. Use subbundle.reconstruct to bridge wider gaps."
        )
    return opening


def reconstruct(
    data: Any,
    out: str | Path,
    *,
    bandwidth: float | str = "auto",
    opening: float = 3.0,
    bounds: Any = None,
    client: Any = None,
    workers: int = 1,
    memory: float | str | None = None,
    points_per_tile: int | None = None,
    work: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> TiledMesh:
    """Mesh the surface around the points of files larger than memory.

    The mesh does not depend on the tiles: for every division of the scene its vertices are the same to the bit. Unlike
    `subbundle.reconstruct` this cuts no handles.

    Parameters
    ----------
    data, bounds, client, workers, memory, points_per_tile
        As for `plan_tiles`. Points have 3 coordinates.
    out : path
        A name that ends in ``.ply`` for one mesh, else a folder for one ``.ply`` file per tile, whose vertices on seams
        are the same to the bit, and ``tiles.json``, which lists them.
    bandwidth, opening : float or "auto", float
        As for `subbundle.reconstruct`; ``opening`` is at most 8.
    work : folder or None
        For tiles and results, about 250 bytes per point: ``.subbundle`` in it, or in ``out`` or the folder of that
        file, removed at the end.
    resume : bool
        Continue an interrupted job from its ``work``.

    Examples
    --------
    >>> import subbundle as sb
    >>> with sb.distributed.cluster(workers=2, memory="4GB") as client:  # doctest: +SKIP
    ...     sb.distributed.reconstruct("big/*.laz", "scene.ply", client=client, workers=2, memory="4GB")
    """
    opening = as_opening(opening)
    target = Path(out).absolute()
    one = target.suffix.lower() == ".ply"
    bandwidth = bandwidth if str(bandwidth) == "auto" else as_positive(bandwidth, "bandwidth", hint="Or pass 'auto'.")
    workplace = prepared(target.parent if one else target, work, resume)
    source = open_source(data, workplace)
    plan = planned(
        source, workplace, (3,), "meshed", bounds=bounds, client=client, progress=progress,
        points_per_tile=most_points(memory, workers, _BYTES_PER_POINT) if points_per_tile is None else points_per_tile,
    )  # fmt: skip
    found = chosen_once(
        plan, "scale", [bandwidth, opening], lambda: asdict(plan_scale(plan, bandwidth, opening, client=client)),
        progress, "estimating noise and density",
    )  # fmt: skip
    scale = Scale(**found)
    pieces = _pieces(plan, scale, client, workplace / "results", progress)
    if progress is not None:
        progress.stage(f"welding {len(plan)} tiles")
    # The smallest fraction of the largest component that is kept was tuned on clouds of a million points.
    pieces, seams = weld(pieces, len(plan), SAMPLE * scale.spacing**2)
    (target.parent if one else target).mkdir(parents=True, exist_ok=True)
    paths = (write_welded(target, pieces, seams),) if one else _written(target, pieces, plan)
    shutil.rmtree(workplace, ignore_errors=True)
    return _summary(paths, plan, scale, seams)


def _pieces(plan: TilePlan, scale: Scale, client: Any, out: Path, progress: Progress | None) -> Pieces:
    """The meshes of all tiles, loaded one by one."""
    job = {"client": client, "out": out, "progress": progress}
    settings: dict[str, Any] = {"scale": asdict(scale)}
    seeds = run(plan, tile_seeds, settings, what=f"seeds on the surface in {len(plan)} tiles", **job)
    settings["seeds"] = _pattern(seeds)
    clusters = run(plan, tile_clusters, settings, what="orienting", **job)
    known = [part.name for part in fields(Clusters)]
    oriented = orient_clusters([Clusters(**clusters.load(tile, known)) for tile in range(len(plan))])
    settings["clusters"], settings["signs"] = _pattern(clusters), str(out / f"signs-{clusters.paths[0].name}")
    with atomic_path(settings["signs"]) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, names=oriented.names, signs=oriented.signs, **dict[str, Any](arrays_of(oriented.nodes)))
    results = run(plan, tile_piece, settings, what=f"meshing {len(plan)} tiles, cells {scale.cell:.3g} wide", **job)
    return lambda tile: Piece(**results.load(tile))


def _pattern(results: Results) -> str:
    """The paths of results, with a placeholder for the number of the tile."""
    first = results.paths[0]
    return str(first.with_name(first.name.replace(f"-{0:06d}-", "-{:06d}-")))


def _written(folder: Path, pieces: Pieces, plan: TilePlan) -> tuple[Path, ...]:
    """Write every tile that has a face, and the list of them."""
    listed, paths = [], []
    for tile in range(len(plan)):
        piece = pieces(tile)
        if len(piece.faces) == 0:
            continue
        name = f"tile-{tile:06d}.ply"
        attributes = {"standard_error": piece.error, "seam": piece.seam.astype(np.float64)}
        paths.append(
            write_ply(folder / name, piece.vertices, piece.faces, normals=piece.normals, attributes=attributes)
        )
        listed.append(
            {"file": name, "box": plan.boxes[tile].tolist(), "vertices": len(piece.names), "faces": len(piece.faces),
             "on_seams": int(piece.seam.sum())}
        )  # fmt: skip
    write_text(folder / "tiles.json", json.dumps({"tiles": listed}, indent=1))
    return tuple(paths)


def _summary(paths: tuple[Path, ...], plan: TilePlan, scale: Scale, seams: Weld) -> TiledMesh:
    return TiledMesh(
        paths=paths, n_points=plan.n_points, n_left_out=plan.n_left_out, n_tiles=len(plan),
        n_vertices=seams.n_vertices, n_faces=seams.n_faces, n_border_edges=seams.n_border_edges,
        n_components=seams.n_components, euler_characteristic=seams.euler_characteristic, noise=scale.noise,
        spacing=scale.spacing, bandwidth=scale.window, cell=scale.cell,
    )  # fmt: skip
