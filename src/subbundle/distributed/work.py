"""What jobs on points have in common: tiles of a source in a folder of work, and choices that are made once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from subbundle._atomic import atomic_path
from subbundle._progress import Progress
from subbundle.distributed.plan import plan_tiles
from subbundle.distributed.sources import Source
from subbundle.distributed.tiles import TilePlan


def planned(source: Source, folder: Path, dims: tuple[int, ...], doing: str, **options: Any) -> TilePlan:
    """`plan_tiles` of a source whose points have one of ``dims`` coordinates, in the ``folder`` of a job's work."""
    if source.dim not in dims:
        wanted = " or ".join(map(str, dims))
        raise ValueError(f"points must have {wanted} coordinates to be {doing} in tiles; they have {source.dim}.")
    return plan_tiles(source, folder, **options)


def chosen_once(
    plan: TilePlan, name: str, asked: list[Any], make: Callable[[], Any], progress: Progress | None, what: str
) -> Any:
    """What ``make()`` returns, numbers, words and lists; kept for a job that resumes and asks the same."""
    kept = Path(plan.folder) / f"{name}.json"
    asked = [plan.made_of, *asked]
    if kept.exists() and (found := json.loads(kept.read_text()))["asked"] == asked:
        return found["chosen"]
    if progress is not None:
        progress.stage(f"{what} of {plan.n_points} points")
    text = json.dumps({"asked": asked, "chosen": make()})
    with atomic_path(kept) as temporary:
        temporary.write_text(text)
    return json.loads(text)["chosen"]
