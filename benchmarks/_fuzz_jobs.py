"""Odd calls of `subbundle.distributed`, in this process: jobs on arrays and files, and the files they leave."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import subbundle as sb
from benchmarks._fuzz_inputs import Rng, choice, clothed, cloud, number, shape, spoiled, whole


def tiles(rng: Rng) -> Any:
    with tempfile.TemporaryDirectory() as name:
        plan = sb.distributed.plan_tiles(_data(rng, Path(name)), Path(name) / "work", **_options(rng))
        plan.tile(whole(rng, 0, 3), number(rng, 0.1))
        return sb.distributed.run(plan, count_points, {"halo": 0.1})


def count_points(plan: Any, tile: int, settings: dict[str, Any]) -> dict[str, Any]:
    """A task as users write them."""
    return {"n": np.array([len(plan.tile(tile, settings["halo"]).points)])}


def denoise(rng: Rng) -> Any:
    with tempfile.TemporaryDirectory() as name:
        return sb.distributed.denoise(
            _data(rng, Path(name)), Path(name) / "out", rank=choice(rng, 1, 2, "auto"),
            bandwidth=choice(rng, "auto", number(rng, 0.4)), order=choice(rng, 1, 2),
            outliers=choice(rng, None, number(rng, 3.0)), normals=choice(rng, True, False), **_options(rng),
        )  # fmt: skip


def reconstruct(rng: Rng) -> Any:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / str(choice(rng, "mesh.ply", "out"))
        bandwidth = choice(rng, "auto", number(rng, 0.3))
        return sb.distributed.reconstruct(_data(rng, Path(name), 400), out, bandwidth=bandwidth, **_options(rng))


def embed(rng: Rng) -> Any:
    models = (None, sb.PrincipalSubmanifold(1, n_jobs=1), sb.AtlasEmbedding(1, n_jobs=1), "model")
    with tempfile.TemporaryDirectory() as name:
        return sb.distributed.embed(
            _data(rng, Path(name)), Path(name) / "out", model=models[rng.integers(len(models))],
            n_sampled=choice(rng, 100, whole(rng, 2, 50)), drop=choice(rng, (), ["x"]), label=choice(rng, None, "name"),
            missing=choice(rng, "refuse", "drop", "local"),
        )  # fmt: skip


def _data(rng: Rng, folder: Path, most: int = 200) -> Any:
    """An array, a file of it, several of these, or something odd."""
    kind = rng.random()
    if kind < 0.3:
        return cloud(rng)
    points = spoiled(rng, shape(rng, int(rng.choice([20, most])), int(rng.choice([2, 3, 3, 3, 5]))), odd=0.3)
    if kind < 0.5:
        return clothed(rng, points)
    np.save(folder / "a.npy", points)
    return choice(
        rng, folder / "a.npy", str(folder), [folder / "a.npy"], str(folder / "*.npy"), folder / "none", odd=0.1
    )


def _options(rng: Rng) -> dict[str, Any]:
    return {
        "points_per_tile": choice(rng, None, whole(rng, 20, 200)), "memory": choice(rng, None, "4GB", 2e9, "much"),
        "workers": choice(rng, 1, whole(rng, 1, 3)),
        "bounds": choice(rng, None, None, None, [[-1] * 3, [1] * 3], clothed(rng, np.array([[-1.0] * 3, [1.0] * 3]))),
    }  # fmt: skip
