"""`Mesh`: a triangle mesh and what can be said about it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.io import MESH_SUFFIXES, write_mesh
from subbundle.meshing.repair import face_normals
from subbundle.meshing.topology import Edges, border_edges, edges_of, loops_of, parts_of


@dataclass(frozen=True, slots=True)
class Summary:
    """How a mesh came about.

    Attributes
    ----------
    n_points, n_used : int
        Observations given, and those left after equal ones were merged and a dense cloud was thinned out.
    n_seeds : int
        Places from which the surface was grown.
    noise : float
        Estimated standard deviation of the observations across the surface.
    spacing : float
        Typical distance of neighbouring observations on the surface.
    bandwidth : float
        Of the window for normals and topology; positions have their own, chosen for every vertex.
    cell : float
        Side of the grid cells: the typical length of an edge.
    orientable : bool
        False where normals contradict along a whole seam, as on a Möbius band.
    seconds : dict of str to float
        Time taken by every stage.
    """

    n_points: int
    n_used: int
    n_seeds: int
    noise: float
    spacing: float
    bandwidth: float
    cell: float
    orientable: bool
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Mesh:
    """Triangles in R³.

    Attributes
    ----------
    vertices : [n, 3]
    faces : [m, 3] of int
        Corners as rows of ``vertices``, counter-clockwise seen from outside.
    normals : [n, 3]
        Unit normals at the vertices, on the side of the faces.
    attributes : dict of str to [n, …]
        What the scan carried, at the vertices.
    summary : Summary or None
        How the mesh came about, when `subbundle.reconstruct` made it.
    """

    vertices: FloatArray
    faces: IntArray
    normals: FloatArray
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    summary: Summary | None = None

    @cached_property
    def _edges(self) -> Edges:
        return edges_of(self.faces)

    @cached_property
    def _border(self) -> IntArray:
        return border_edges(self.faces)

    @property
    def area(self) -> float:
        """Sum of the areas of the faces."""
        return float(0.5 * np.linalg.norm(face_normals(self.vertices, self.faces), axis=1).sum())

    @property
    def volume(self) -> float:
        """Signed volume inside: positive when the faces of a closed mesh look outward."""
        corners = self.vertices[self.faces] - self.vertices.mean(axis=0)
        return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)

    @property
    def border_length(self) -> float:
        """Length of all edges that belong to one face only; 0 for a closed mesh."""
        ends = self.vertices[self._border]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum())

    @property
    def n_border_loops(self) -> int:
        """Number of closed curves that the border consists of."""
        return len(loops_of(self._border))

    @property
    def euler_characteristic(self) -> int:
        """Vertices − edges + faces: 2 for a sphere, 0 for a torus, 1 for a disc, 0 for a ring or a Möbius band."""
        return len(np.unique(self.faces)) - len(self._edges.ends) + len(self.faces)

    @property
    def n_components(self) -> int:
        """Number of connected parts."""
        used = np.unique(self.faces)
        return len(np.unique(parts_of(self.faces, len(self.vertices))[used]))

    @property
    def is_closed(self) -> bool:
        """Whether every edge belongs to two faces or more."""
        return len(self._border) == 0

    @property
    def is_oriented(self) -> bool:
        """Whether neighbouring faces run through their common edge in opposite directions, everywhere."""
        directed = self.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        keys = directed @ np.array([len(self.vertices), 1])
        return len(np.unique(keys)) == len(keys)

    @property
    def n_nonmanifold_edges(self) -> int:
        """Edges of more than two faces; 0 for a mesh that `subbundle.reconstruct` made."""
        return int(np.sum(self._edges.counts > 2))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write to a .ply, .obj, .stl or .off file, whole or not at all, and return its path.

        ``.ply`` keeps everything, ``.obj`` normals and colours, ``.stl`` and ``.off`` the triangles alone.
        """
        return write_mesh(path, self.vertices, self.faces, normals=self.normals, attributes=self.attributes)

    def report(self) -> list[str]:
        """What is to be known about the mesh, in lines of words."""
        border = "closed" if self.is_closed else f"{self.border_length:.4g} in {_count(self.n_border_loops, 'border')}"
        lines = [
            f"mesh: {len(self.vertices)} vertices, {len(self.faces)} faces, "
            f"{_count(self.n_components, 'connected part')}",
            f"area {self.area:.4g}, border: {border}, Euler characteristic {self.euler_characteristic}",
        ]
        if self.summary is not None:
            made = self.summary
            lines.insert(0, f"points: {made.n_points} given, {made.n_used} used, {made.n_seeds} seeds")
            lines.insert(
                1, f"noise {made.noise:.3g}, spacing {made.spacing:.3g}, bandwidth {made.bandwidth:.3g}, "
                f"cells of {made.cell:.3g}"
            )  # fmt: skip
            if not made.orientable:
                lines.append("not orientable: no choice of sides agrees everywhere")
        if self.attributes:
            lines.append(f"carried from the scan: {', '.join(sorted(self.attributes))}")
        return lines

    def __repr__(self) -> str:
        shape = "closed" if self.is_closed else _count(self.n_border_loops, "border")
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} faces, {shape}, area={self.area:.4g})"


def check_output(path: Path) -> None:
    """Raise, before any work is done, when a mesh cannot be written to ``path``."""
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise ValueError(f"the output must end in one of {', '.join(MESH_SUFFIXES)}; got {path.name!r}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} must exist; {path.parent} is no folder. Create it first.")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
