"""Borders of meshes, smoothed."""

import numpy as np

from subbundle.triangles.clip import smoothed, without_hairpins
from subbundle.triangles.topology import border_edges


def strip(n):
    """A strip of ``n`` squares: vertices [2n + 2, 3], the upper row first, and faces."""
    x = np.arange(n + 1.0)
    upper, lower = np.column_stack([x, np.ones(n + 1), 0.0 * x]), np.column_stack([x, 0.0 * x, 0.0 * x])
    i = np.arange(n)
    below = n + 1 + i
    faces = np.concatenate([np.column_stack([i, below, below + 1]), np.column_stack([i, below + 1, i + 1])])
    return np.concatenate([upper, lower]), faces


def least_cosine(vertices, faces):
    """Of the angles by which the border turns from one edge to the next."""
    edges = border_edges(faces)
    after = dict(edges.tolist())
    way = {a: vertices[b] - vertices[a] for a, b in after.items()}
    return min(way[a] @ way[b] / np.linalg.norm(way[a]) / np.linalg.norm(way[b]) for a, b in after.items())


def test_smoothing_is_diffusion_along_the_border():
    # A wave of wavenumber k falls by cos²(k/2) a round: half of itself, half the mean of both sides.
    vertices, faces = strip(200)
    k, middle = 0.5, slice(50, 150)
    vertices[:201, 2] = np.cos(k * np.arange(201))
    rim = smoothed(vertices, faces, 2.0)[middle, 2]
    np.testing.assert_allclose(rim, np.cos(k / 2.0) ** 16 * vertices[middle, 2], atol=1e-12)


def test_a_border_that_reverses_is_spread_out():
    vertices, faces = strip(200)
    x = np.arange(201.0)
    # In the middle the border runs backwards, over more edges than smoothing reaches.
    vertices[:201, 0] = x - 4.0 * (x - 100.0) * np.exp(-(((x - 100.0) / 5.0) ** 2))
    plain, mended = (function(vertices, faces, 2.0) for function in (smoothed, without_hairpins))
    assert least_cosine(plain, faces) < -0.9
    assert least_cosine(mended, faces) > -1e-9
    # What is more than a few windows away stays as it was.
    far = np.abs(x - 100.0) > 60.0
    np.testing.assert_array_equal(mended[:201][far], plain[:201][far])
    np.testing.assert_array_equal(mended[202:], plain[202:])


def test_a_border_without_reversals_is_only_smoothed():
    vertices, faces = strip(40)
    vertices[:, 2] = 0.3 * np.sin(vertices[:, 0])
    np.testing.assert_array_equal(without_hairpins(vertices, faces, 2.0), smoothed(vertices, faces, 2.0))


def test_a_border_that_runs_against_itself_is_mended_too():
    # On a band with a half twist faces cannot be oriented consistently, and neither can the edges of its border.
    vertices, faces = strip(200)
    x = np.arange(201.0)
    vertices[:201, 0] = x - 4.0 * (x - 100.0) * np.exp(-(((x - 100.0) / 5.0) ** 2))
    turned = np.where((np.arange(len(faces)) % 7 == 0)[:, None], faces[:, ::-1], faces)
    np.testing.assert_array_equal(without_hairpins(vertices, turned, 2.0), without_hairpins(vertices, faces, 2.0))
