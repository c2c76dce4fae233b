"""Searching the box tree from inside other kernels."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import GROUP, LEAF


@kernel(fastmath={"reassoc", "contract", "nsz"})
def box_distance_sq(boxes, node, point):
    """Squared distance from ``point`` to the box of ``node``; zero inside it.

    Takes the whole array and an index: a view would count its references, and threads would wait for one another.
    """
    total = 0.0
    for j in range(point.size):
        gap = max(boxes[node, 0, j] - point[j], point[j] - boxes[node, 1, j], 0.0)
        total += gap * gap
    return total


@kernel
def nearest_sq(blocks, boxes, n_points, point, apart):
    """Squared distance from ``point`` to the nearest observation further than ``apart`` (squared; -1 excludes none).

    Returns inf when there is none. The nearer child is visited first, so that few leaves are read.
    """
    dim = point.size
    best = np.inf
    stack = np.empty((64, 3), np.int64)
    bounds = np.empty(64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, blocks.shape[0]
    bounds[0] = box_distance_sq(boxes, 0, point)
    distances = np.empty(LEAF)
    top = 1
    while top > 0:
        top -= 1
        if bounds[top] >= best:
            continue
        node, first, last = stack[top, 0], stack[top, 1], stack[top, 2]
        if last - first == 1:
            for i in range(LEAF):
                distances[i] = 0.0
            for j in range(dim):
                for i in range(LEAF):
                    offset = blocks[first, j, i] - point[j]
                    distances[i] += offset * offset
            for i in range(min(LEAF, n_points - first * LEAF)):
                if apart < distances[i] < best:
                    best = distances[i]
            continue
        middle = first + (last - first + 1) // 2
        left, right = node + 1, node + 2 * (middle - first)
        to_left = box_distance_sq(boxes, left, point)
        to_right = box_distance_sq(boxes, right, point)
        # What is pushed last is read first.
        slot_left = top if to_left > to_right else top + 1
        slot_right = 2 * top + 1 - slot_left
        stack[slot_left, 0], stack[slot_left, 1], stack[slot_left, 2] = left, first, middle
        stack[slot_right, 0], stack[slot_right, 1], stack[slot_right, 2] = right, middle, last
        bounds[slot_left], bounds[slot_right] = to_left, to_right
        top += 2
    return best


@kernel
def leaves_within(boxes, corners, n_leaves, point, radius_sq, found):
    """Write the leaves whose box meets the ball into ``found``, in memory order, and return their number.

    Boxes are halved down to `GROUP` leaves; those are tested together.
    """
    stack = np.empty((64, 3), np.int64)
    distances = np.empty(GROUP)
    node, first, last = 0, 0, n_leaves
    top, count = 0, 0
    while True:
        middle = first + (last - first + 1) // 2
        if last - first <= GROUP:
            _group_distances(corners, first, point, distances)
            for i in range(last - first):
                found[count] = first + i
                count += 1 if distances[i] < radius_sq else 0
        else:
            left, right = node + 1, node + 2 * (middle - first)
            meets_left = box_distance_sq(boxes, left, point) < radius_sq
            if box_distance_sq(boxes, right, point) < radius_sq:
                if not meets_left:
                    node, first = right, middle
                    continue
                stack[top, 0], stack[top, 1], stack[top, 2] = right, middle, last
                top += 1
            if meets_left:
                node, last = left, middle
                continue
        if top == 0:
            return count
        top -= 1
        node, first, last = stack[top, 0], stack[top, 1], stack[top, 2]


@kernel(fastmath=True)
def _group_distances(corners, first, point, distances):
    """Squared distances from ``point`` to the boxes of `GROUP` leaves."""
    for i in range(GROUP):
        distances[i] = 0.0
    for j in range(point.size):
        for i in range(GROUP):
            gap = max(max(corners[0, j, first + i] - point[j], point[j] - corners[1, j, first + i]), 0.0)
            distances[i] += gap * gap
