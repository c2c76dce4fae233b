"""The box tree against brute force, and as a function of the set of points alone."""

import numpy as np
import pytest

from subbundle.cloud import Cloud
from subbundle.cloud.build import LEAF
from subbundle.cloud.search import leaves_within, nearest_sq
from subbundle.cloud.tuning import BLOCK_DIM

DIMS = [1, 2, 3, 4, 7, BLOCK_DIM, BLOCK_DIM + 1, 25]


def clouds(dim):
    """Clouds of many kinds: random, lattice, duplicates, collinear, two distant components, a handful of points."""
    rng = np.random.default_rng(dim)
    lattice = np.stack(np.meshgrid(*[np.arange(6.0)] * min(dim, 3)), axis=-1).reshape(-1, min(dim, 3))
    return {
        "two": rng.normal(size=(2, dim)),
        "less than a leaf": rng.normal(size=(LEAF - 1, dim)),
        "one leaf": rng.normal(size=(LEAF, dim)),
        "a leaf and one": rng.normal(size=(LEAF + 1, dim)),
        "random": rng.normal(size=(1237, dim)),
        "lattice": np.pad(lattice, ((0, 0), (0, dim - lattice.shape[1]))),
        "duplicates": np.repeat(rng.normal(size=(23, dim)), 17, axis=0),
        "one apart": np.vstack([np.zeros((200, dim)), np.ones((1, dim))]),
        "collinear": np.outer(rng.normal(size=300), np.ones(dim)),
        "two parts": np.vstack([rng.normal(size=(100, dim)), 1e6 + rng.normal(size=(99, dim))]),
    }


def nodes(cloud):
    """Node number and range of places [start, stop) of every node, from the rule in the documentation."""
    n_leaves = -(-cloud.n_points // LEAF)
    waiting, result = [(0, 0, n_leaves)], []
    while waiting:
        node, first, last = waiting.pop()
        result.append((node, first * LEAF, min(last * LEAF, cloud.n_points), last - first == 1))
        if last - first > 1:
            middle = first + (last - first + 1) // 2
            waiting += [(node + 1, first, middle), (node + 2 * (middle - first), middle, last)]
    return result


@pytest.mark.parametrize("dim", DIMS)
def test_boxes_are_the_bounds_of_their_points(dim):
    for name, points in clouds(dim).items():
        cloud = Cloud(points)
        rows = cloud.at(np.arange(cloud.n_points))
        found = nodes(cloud)
        assert sorted(node for node, *_ in found) == list(range(len(cloud.boxes))), name
        for node, start, stop, _ in found:
            np.testing.assert_array_equal(cloud.boxes[node, 0], rows[start:stop].min(axis=0), err_msg=name)
            np.testing.assert_array_equal(cloud.boxes[node, 1], rows[start:stop].max(axis=0), err_msg=name)
        np.testing.assert_array_equal(np.sort(cloud.order), np.arange(cloud.n_points), err_msg=name)


@pytest.mark.parametrize("dim", [dim for dim in DIMS if dim <= BLOCK_DIM])
def test_nearest_is_that_of_brute_force(dim):
    rng = np.random.default_rng(100 + dim)
    for name, points in clouds(dim).items():
        cloud = Cloud(points)
        rows = cloud.at(np.arange(cloud.n_points))
        scale = cloud.size / np.sqrt(dim)
        queries = np.vstack(
            [rows[:: max(len(rows) // 9, 1)], scale * rng.normal(size=(20, dim)), np.full((1, dim), 1e9)]
        )
        for point in queries:
            squared = ((rows - point) ** 2).sum(axis=1)
            ranked = np.sort(squared)
            widest = np.argmax(np.diff(ranked))  # a threshold that rounding cannot move across an observation
            for apart in (-1.0, 0.0, 0.5 * (ranked[widest] + ranked[widest + 1])):
                allowed = squared[squared > apart]
                expected = allowed.min() if allowed.size else np.inf
                found = nearest_sq(cloud.blocks, cloud.boxes, cloud.n_points, point, apart)
                # The same sum in another order of rounding: at most 16 terms.
                assert found == pytest.approx(expected, rel=1e-14), name


@pytest.mark.parametrize("dim", DIMS)
def test_leaves_are_exactly_those_whose_box_meets_the_ball(dim):
    rng = np.random.default_rng(200 + dim)
    for name, points in clouds(dim).items():
        cloud = Cloud(points)
        leaves = np.array(sorted((start // LEAF, node) for node, start, _, leaf in nodes(cloud) if leaf))[:, 1]
        found = np.full(len(leaves), -1)
        rows = cloud.at(np.arange(cloud.n_points))
        for point in np.vstack([rows[:3], cloud.size / np.sqrt(dim) * rng.normal(size=(6, dim))]):
            low, high = cloud.boxes[leaves, 0], cloud.boxes[leaves, 1]
            squared = (np.maximum(np.maximum(low - point, point - high), 0.0) ** 2).sum(axis=1)
            for radius in cloud.size * np.array([1e-3, 0.1, 0.4, 2.0]):
                count = leaves_within(cloud.boxes, cloud.corners, len(leaves), point, radius**2, found)
                np.testing.assert_array_equal(found[:count], np.flatnonzero(squared < radius**2), err_msg=name)
                inside = ((rows - point) ** 2).sum(axis=1) < radius**2
                assert set(np.flatnonzero(inside) // LEAF) <= set(found[:count].tolist()), name


@pytest.mark.parametrize("dim", DIMS)
def test_the_tree_does_not_depend_on_the_order_of_the_rows(dim):
    rng = np.random.default_rng(300 + dim)
    for name, points in clouds(dim).items():
        points = points - points.mean(axis=0)
        points[::3] *= -1.0  # some zeros are now negative, and equal to the positive ones
        cloud = Cloud(points)
        for order in (rng.permutation(len(points)), np.arange(len(points))[::-1], np.lexsort(points.T)):
            shuffled = Cloud(points[order])
            assert shuffled.boxes.tobytes() == cloud.boxes.tobytes(), name
            assert shuffled.blocks.tobytes() == cloud.blocks.tobytes(), name
            assert shuffled.rows.tobytes() == cloud.rows.tobytes(), name


def test_zeros_of_either_sign_are_the_same_number():
    points = np.random.default_rng(0).normal(size=(100, 3))
    points = np.vstack([points, -points])
    points[:50, 1] = 0.0
    negative = points.copy()
    negative[:50, 1] = -0.0
    assert Cloud(points).blocks.tobytes() == Cloud(negative).blocks.tobytes()


def test_sorted_and_organ_pipe_orders_are_built_in_time_n_log_n():
    # Orders that make a careless quickselect quadratic; with 3·10⁵ points that would take minutes.
    n = 300_000
    line = np.arange(float(n))
    for x in (line, line[::-1], np.minimum(line, line[::-1]), line % 7, np.zeros(n)):
        cloud = Cloud(np.column_stack([x, line % 2]))
        assert cloud.boxes[0, 1, 0] - cloud.boxes[0, 0, 0] == np.ptp(x)
