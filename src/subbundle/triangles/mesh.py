"""`Mesh`: a triangle mesh and its properties."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import check_target
from subbundle._html import card, dots
from subbundle._types import FloatArray, IntArray
from subbundle.io import WRITTEN_SUFFIXES, check_mesh_suffix, write_mesh
from subbundle.triangles.finish import orient_consistently
from subbundle.triangles.topology import (
    Edges,
    border_edges,
    component_labels,
    edges_of,
    face_areas,
    loops_of,
    vertex_frames,
)


@dataclass(frozen=True, slots=True)
class Summary:
    """Estimates and stages of a reconstruction.

    Attributes
    ----------
    n_points, n_used : int
        Observations given, and those left after equal ones were merged and a dense cloud was thinned out.
    n_seeds : int
        Points of the ridge from which the surface was made; in R^d and for an atlas its vertices.
    noise : float
        Estimated standard deviation of the observations normal to the surface.
    spacing : float
        Typical distance of neighbouring observations on the surface.
    bandwidth : float
        Of the window for normals and topology; positions have their own, chosen for every vertex.
    cell : float
        Side of the grid cells, the typical length of an edge; in R^d and for an atlas the least distance of vertices.
    orientable : bool
        False where normals contradict each other along a whole seam, as on a Möbius band.
    seconds : dict of str to float
        Time taken by every stage.
    outliers : [o] of int
        Rows of the points given that do not belong to the surface.
    bridged, left_open : tuple of float
        Half-widths of the patches without observations: of those bridged by membranes, and of those left open.
    handles_cut : tuple of float
        Lengths of the loops along which handles or tunnels too thin to be resolved were cut.
    handles_at : [c, 3]
        The centroids of those loops.
    left_out : tuple of int
        Numbers of the points beside each part of the surface that has seeds, but was too small or thin to be kept.
    used_normals : bool
        Whether normals were given with the points, and agreed well enough to be used.
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
    outliers: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    bridged: tuple[float, ...] = ()
    left_open: tuple[float, ...] = ()
    handles_cut: tuple[float, ...] = ()
    used_normals: bool = False
    handles_at: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    left_out: tuple[int, ...] = ()

    def report(self) -> list[str]:
        """Lines of text on what was left out, bridged and cut; empty where there was nothing."""
        lines = []
        if len(self.outliers):
            lines.append(f"outliers: {len(self.outliers)} of {self.n_points} points lie off the surface")
        if self.bridged:
            lines.append(
                f"bridged by membranes: {_count(len(self.bridged), 'unseen patch', 'es')}, half-width up to "
                f"{self.bridged[-1] / self.bandwidth:.2g} bandwidths"
            )
        if self.left_open:
            widths = ", ".join(f"{width / self.bandwidth:.2g}" for width in self.left_open[:-7:-1])
            widths += ", …" if len(self.left_open) > 6 else ""
            patches = _count(len(self.left_open), "unseen patch", "es")
            lines.append(f"left open: {patches}, half-width {widths} bandwidths")
        if self.handles_cut:
            lines.append(
                f"cut: {_count(len(self.handles_cut), 'handle')} around which a loop is up to "
                f"{max(self.handles_cut) / self.bandwidth:.2g} bandwidths long{self._where()}"
            )
        if self.left_out:
            lines.append(f"left out: {_count(len(self.left_out), 'part')}, with {sum(self.left_out)} points nearby")
        return lines

    def _where(self) -> str:
        """Positions of the first handles that were cut."""
        digits = max(math.ceil(-math.log10(self.cell)), 0)  # of the mesh: coordinates may be large
        places = ["(" + ", ".join(f"{x:.{digits}f}" for x in place) + ")" for place in self.handles_at[:3]]
        return f", at {', '.join(places)}{', …' if len(self.handles_at) > 3 else ''}" if places else ""


@dataclass(frozen=True)
class Mesh:
    """Triangles in R^d.

    Attributes
    ----------
    vertices : [n, d]
    faces : [m, 3] of int
        Corners as rows of ``vertices``; in R³ counter-clockwise seen from outside.
    normals : [n, 3] or None
        Unit normals at the vertices, oriented as the faces; None for d > 3, where normal spaces have dimension d − 2.
        `tangents` is defined for every d.
    attributes : dict of str to [n, …]
        Attributes of the scan, at the vertices.
    summary : Summary or None
        Estimates and stages of `subbundle.reconstruct`.
    """

    vertices: FloatArray
    faces: IntArray
    normals: FloatArray | None = None
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    summary: Summary | None = None

    @cached_property
    def _edges(self) -> Edges:
        return edges_of(self.faces)

    @cached_property
    def _border(self) -> IntArray:
        return border_edges(self.faces, self._edges)

    @property
    def ambient_dim(self) -> int:
        """d."""
        return int(self.vertices.shape[1])

    @property
    def tangents(self) -> FloatArray:
        """Orthonormal bases [n, d, 2] of the tangent planes at the vertices, oriented as the faces around them."""
        return vertex_frames(self.vertices, self.faces)

    @property
    def area(self) -> float:
        """Sum of the areas of the faces."""
        return float(face_areas(self.vertices, self.faces).sum())

    @property
    def volume(self) -> float:
        """Signed volume inside: positive when a closed mesh is oriented outward. In R³ only."""
        if self.ambient_dim != 3:
            raise ValueError(f"a surface has an inside in R³ only; this one lies in R^{self.ambient_dim}. Use area.")
        corners = self.vertices[self.faces] - self.vertices.mean(axis=0)
        return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)

    @property
    def border_length(self) -> float:
        """Length of all edges that belong to one face only; 0 for a closed mesh."""
        ends = self.vertices[self._border]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum())

    @property
    def n_border_loops(self) -> int:
        """Number of closed curves of the border."""
        return len(loops_of(self._border))

    @property
    def euler_characteristic(self) -> int:
        """Vertices − edges + faces: 2 for a sphere, 0 for a torus, 1 for a disc, 0 for a ring or a Möbius band."""
        return len(np.unique(self.faces)) - len(self._edges.ends) + len(self.faces)

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        used = np.unique(self.faces)
        return len(np.unique(component_labels(self.faces, len(self.vertices))[used]))

    @property
    def is_closed(self) -> bool:
        """Whether every edge belongs to two faces or more."""
        return len(self._border) == 0

    @property
    def is_oriented(self) -> bool:
        """Whether neighbouring faces traverse their common edge in opposite directions, everywhere."""
        directed = self.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        keys = directed @ np.array([len(self.vertices), 1])
        return len(np.unique(keys)) == len(keys)

    @property
    def is_orientable(self) -> bool:
        """Whether faces can be oriented consistently: not so for a Möbius band."""
        return orient_consistently(self.faces)[1]

    @property
    def n_nonmanifold_edges(self) -> int:
        """Edges of more than two faces; 0 for a mesh that `subbundle.reconstruct` made."""
        return int(np.sum(self._edges.counts > 2))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write to a .ply, .obj, .stl, .off or .npz file, whole or not at all, and return its path.

        ``.npz`` (arrays ``vertices``, ``faces``, …, for `numpy.load`) holds meshes in any R^d; the others are for R³.
        ``.ply`` and ``.npz`` keep everything, ``.obj`` normals and colours, ``.stl`` and ``.off`` the triangles alone.
        """
        return write_mesh(path, self.vertices, self.faces, normals=self.normals, attributes=self.attributes)

    def report(self) -> list[str]:
        """Lines of text that describe the mesh."""
        border = "closed" if self.is_closed else f"{self.border_length:.4g} in {_count(self.n_border_loops, 'border')}"
        lines = [
            f"mesh{'' if self.ambient_dim == 3 else f' in R^{self.ambient_dim}'}: {len(self.vertices)} vertices, "
            f"{len(self.faces)} faces, "
            f"{_count(self.n_components, 'connected component')}",
            f"area {self.area:.4g}, border: {border}, Euler characteristic {self.euler_characteristic}",
        ]
        if self.summary is not None:
            made = self.summary
            lines.insert(0, f"points: {made.n_points} given, {made.n_used} used, {made.n_seeds} seeds")
            lines.insert(
                1, f"noise {made.noise:.3g}, spacing {made.spacing:.3g}, bandwidth {made.bandwidth:.3g}, "
                f"cells of {made.cell:.3g}"
            )  # fmt: skip
            lines += made.report()
        if not (self.is_orientable if self.summary is None else self.summary.orientable):
            lines.append("not orientable: no choice of sides agrees everywhere")
        given = sorted(set(self.attributes) - {"standard_error"})
        if given:
            lines.append(f"attributes of the scan: {', '.join(given)}")
        return lines

    def __repr__(self) -> str:
        shape = "closed" if self.is_closed else _count(self.n_border_loops, "border")
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} faces, {shape}, area={self.area:.4g})"

    def _repr_html_(self) -> str:
        border = "closed" if self.is_closed else f"{self.border_length:.4g} in {_count(self.n_border_loops, 'loop')}"
        facts: list[tuple[str, Any]] = [("vertices", len(self.vertices)), ("faces", len(self.faces))]
        facts += [("connected components", self.n_components), ("border", border), ("area", self.area)]
        facts += [("Euler characteristic", self.euler_characteristic)]
        if self.summary is not None:
            facts += [("noise", self.summary.noise), ("bandwidth", self.summary.bandwidth)]
        return card("Mesh", facts, picture=dots(self.vertices))


def check_output(path: Path, dim: int = 3) -> None:
    """Raise, before any work is done, when a mesh in R^``dim`` cannot be written to ``path``."""
    check_mesh_suffix(check_target(path, WRITTEN_SUFFIXES, "the output"), dim)


def _count(number: int, word: str, plural: str = "s") -> str:
    return f"{number} {word}{'' if number == 1 else plural}"
