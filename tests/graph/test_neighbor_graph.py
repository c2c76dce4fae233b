"""The neighbour graph against curves and surfaces whose lengths and components are known."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from subbundle import datasets
from subbundle.graph import neighbor_graph
from subbundle.graph.bridges import shortest_bridges
from subbundle.graph.neighborhoods import nearest_rows, neighborhoods
from subbundle.graph.tuning import ACROSS
from subbundle.local.frames import leading_directions


def test_paths_along_a_circle_are_arcs():
    turn = 2.0 * np.pi * np.arange(24) / 24
    circle = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(24)])
    lengths = neighbor_graph(circle, 4, 1).shortest_paths(np.array([0]))[0]
    # Neighbours lie symmetrically, so that frames are tangents and arcs exact but for rounding.
    np.testing.assert_allclose(lengths, np.minimum(turn, 2.0 * np.pi - turn), rtol=1e-9)
    turn = np.sort(np.random.default_rng(0).uniform(0.0, 1.5 * np.pi, 150))
    lengths = neighbor_graph(np.column_stack([np.cos(turn), np.sin(turn)]), 4, 1).shortest_paths(np.array([0]))[0]
    # Six neighbours to one side tilt a frame by half of the angle of 0.06 that an edge spans.
    np.testing.assert_allclose(lengths, turn - turn[0], rtol=1e-3, atol=1e-9)


def test_paths_along_a_surface_are_never_much_longer_than_its_geodesics():
    data = datasets.s_surface(1500, seed=0)
    graph = neighbor_graph(data.points, 12, 2)
    found = graph.shortest_paths(np.arange(20))
    exact = np.linalg.norm(data.coordinates[:20, None] - data.coordinates[None], axis=2)
    far = exact > 1.0
    # A path over nearest neighbours zigzags, here by 5 %, and arcs account for curvature.
    assert 1.0 < np.median(found[far] / exact[far]) < 1.08
    assert np.min(found[far] / exact[far]) > 0.98


def test_edges_between_sheets_are_dropped():
    rng = np.random.default_rng(1)
    sheet = np.column_stack([rng.uniform(0.0, 4.0, (800, 2)), np.repeat([0.0, 0.5], 400)])
    graph = neighbor_graph(sheet, 10, 2)
    rows, columns = graph.lengths.nonzero()
    crossing = np.mean(sheet[rows, 2] != sheet[columns, 2])
    # The spacing within a sheet is 0.2, the tenth neighbour 0.36 away: without frames one edge in twenty would cross.
    assert crossing < 0.02


def test_components_are_separated_by_long_bridges():
    first, second = datasets.s_surface(400, seed=0).points, datasets.s_surface(250, seed=1).points
    apart = neighbor_graph(np.concatenate([second, first + [0.0, 10.0, 0.0]]), 8, 2)
    assert apart.n_components == 2
    np.testing.assert_array_equal(apart.components, np.repeat([1, 0], [250, 400]))
    assert np.isinf(apart.shortest_paths(np.array([0]))[0, -1])
    assert len(apart.bridges) >= 1
    # A sparse region is bridged: neighbours are 0.1 apart, the region is 0.3 wide.
    rng = np.random.default_rng(2)
    plane = np.column_stack([rng.uniform(0.0, 3.0, (900, 2)), np.zeros(900)])
    near = plane[np.abs(plane[:, 0] - 1.5) > 0.15]
    assert neighbor_graph(near, 4, 2).n_components == 1


def test_uneven_spacing_of_a_curve_is_no_gap():
    t = np.cumsum(np.random.default_rng(3).exponential(1.0, 80))
    assert neighbor_graph(np.column_stack([t, np.sin(0.05 * t)]), 4, 1).n_components == 1


def test_rows_in_another_order_give_the_same_bits():
    points = datasets.torus(300, noise=0.02, seed=0).points
    order = np.random.default_rng(0).permutation(300)
    first, second = neighbor_graph(points, 8, 2), neighbor_graph(points[order], 8, 2)
    np.testing.assert_array_equal(first.lengths.toarray()[order][:, order], second.lengths.toarray())
    np.testing.assert_array_equal(first.components[order], second.components)


def test_duplicates_stay_together():
    points = np.repeat(datasets.s_surface(100, seed=0).points, 3, axis=0)
    graph = neighbor_graph(points, 6, 2)
    assert graph.n_components == 1
    assert graph.shortest_paths(np.array([0]))[0, 1] < 1e-6


def test_leading_directions_are_singular_vectors():
    rng = np.random.default_rng(0)
    for shape in ((3, 5, 12), (3, 12, 5)):
        vectors = rng.standard_normal(shape)
        found = leading_directions(vectors, 2)
        right = np.linalg.svd(vectors, full_matrices=False)[2][:, :2]
        projectors = [np.einsum("bkd,bke->bde", f, f) for f in (found, right)]
        # The Gram matrix squares the condition: half of the digits.
        np.testing.assert_allclose(*projectors, atol=1e-7)


def test_noise_in_many_dimensions_leaves_half_of_the_edges():
    # In R^300 edges between rows of noise are nearly orthogonal to each other, and so to frames made of ten of them.
    rows = np.random.default_rng(0).normal(size=(200, 300))
    edges = neighborhoods(rows, nearest_rows(rows, 12), 2, frame_neighbors=10)
    assert np.median(edges.across) > ACROSS
    assert edges.along.mean() >= 0.49  # half, less the one at the median


@pytest.mark.parametrize(("dim", "sizes"), [(3, (200, 90, 5, 1)), (40, (100, 70, 3, 2, 1)), (2, (3, 1, 1, 1))])
def test_bridges_are_a_minimum_spanning_tree_of_the_components(dim, sizes):
    rng = np.random.default_rng(3)
    label = np.repeat(np.arange(len(sizes)), sizes)
    points = rng.normal(size=(len(label), dim)) + 4.0 * rng.normal(size=(len(sizes), dim))[label]
    chain = np.flatnonzero(label[1:] == label[:-1])
    graph = csr_array((np.ones(len(chain)), (chain, chain + 1)), shape=(len(label), len(label)))
    pairs, lengths = shortest_bridges(csr_array(graph + graph.T), points)
    between = cdist(points, points)
    np.testing.assert_allclose(lengths, between[pairs[:, 0], pairs[:, 1]], rtol=1e-12)  # rounding
    shortest = np.array(
        [[between[np.ix_(label == a, label == b)].min() for b in range(len(sizes))] for a in range(len(sizes))]
    )
    tree = minimum_spanning_tree(shortest)
    assert len(pairs) == len(sizes) - 1
    np.testing.assert_allclose(np.sort(lengths), np.sort(tree.data), rtol=1e-12)


def test_messages_of_wrong_input():
    points = np.random.default_rng(0).standard_normal((10, 3))
    with pytest.raises(ValueError, match="n_neighbors"):
        neighbor_graph(points, 10, 2)
    with pytest.raises(ValueError, match="rank"):
        neighbor_graph(points, 4, 4)
