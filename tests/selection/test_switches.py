"""Both sides of every switch on the size of a cloud: no result jumps by more than its own standard error."""

import numpy as np
import pytest

import subbundle as sb
from subbundle._types import Status
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.selection import choose_local_bandwidth, choose_rank
from subbundle.selection.bandwidth import compare_bandwidths
from subbundle.selection.tuning import SAMPLE

NOISE, RANK = 0.03, 2
SHAPES = {"sphere": (sb.datasets.sphere, 0.35), "torus": (sb.datasets.torus, 0.25)}


def noisy(name, n, dim):
    """A surface [n, dim] with noise in all directions, the points without it, and offsets from it."""
    data = SHAPES[name][0](n, seed=0)
    clean = np.pad(data.clean, ((0, 0), (0, dim - 3)))
    points = clean + NOISE * np.random.default_rng(5).standard_normal(clean.shape)

    def offsets(some):
        return np.hypot(data.distance(np.ascontiguousarray(some[:, :3])), np.linalg.norm(some[:, 3:], axis=1))

    return points, clean, offsets


def test_one_dimension_more_changes_kernel_reach_and_code_but_not_the_ridge():
    # Up to 16 dimensions the compact kernel, trees and steps of Newton; above the Gaussian without its lightest rows,
    # BLAS and plain steps. One more direction of noise moves a point by the share that it has in its error.
    points, clean, _ = noisy("torus", 1500, BLOCK_DIM + 1)
    ridges, frames = [], []
    for dim in (BLOCK_DIM, BLOCK_DIM + 1):
        bundle = sb.PrincipalSubbundle(points[:, :dim], RANK, SHAPES["torus"][1])
        ridges.append(sb.ridge_project(bundle, points[:80, :dim], errors=True))
        frames.append(bundle.frame(clean[:80, :dim]).vectors)
    assert all((ridge.status == Status.OK).all() for ridge in ridges)
    few, many = ridges
    moved = np.linalg.norm(few.points - many.points[:, :BLOCK_DIM], axis=1)
    assert (moved < np.maximum(few.position_error, many.position_error)).mean() > 0.95
    # In the noise of a direction lack of fit is one part in fourteen or fifteen, and few are neighbours.
    np.testing.assert_allclose(np.median(few.noise), np.median(many.noise), rtol=0.1)
    np.testing.assert_allclose(np.median(few.position_error), np.median(many.position_error), rtol=0.35)
    inner = np.einsum("ndk,ndl->nkl", frames[0], frames[1][:, :BLOCK_DIM])
    sine = np.sqrt(np.maximum(RANK - np.sum(inner**2, axis=(1, 2)), 0.0))
    assert np.median(sine) < np.median(few.tangent_error)


def test_components_are_reduced_without_a_jump_of_bandwidth_or_rank():
    points, *_ = noisy("sphere", 500, BLOCK_DIM + 1)
    found = [compare_bandwidths(points[:, :dim], RANK) for dim in (BLOCK_DIM, BLOCK_DIM + 1)]
    # Any bandwidth within the flatness of the minimum has about the same risk.
    few, many = found
    assert abs(np.log(few.bandwidth / many.bandwidth)) < np.log(max(few.flatness, many.flatness))
    assert few.error == pytest.approx(many.error, rel=0.3)
    ranks = [choose_rank(points[:, :dim]) for dim in (BLOCK_DIM, BLOCK_DIM + 1)]
    assert [choice.rank for choice in ranks] == [RANK, RANK]
    assert abs(ranks[0].confidence - ranks[1].confidence) < 0.1


@pytest.mark.parametrize("name", SHAPES)
def test_folds_give_way_to_halves_without_a_jump(name):
    points, _, offsets = noisy(name, SAMPLE, 3)
    errors, choices = [], []
    for n in (SAMPLE - 1, SAMPLE):
        choices.append(compare_bandwidths(points[:n], RANK))
        ridge = sb.ridge_project(sb.PrincipalSubbundle(points[:n], RANK, choices[-1].bandwidth), points[:300])
        errors.append(float(np.sqrt(np.mean(offsets(ridge.points) ** 2))))
    assert abs(errors[0] - errors[1]) < 0.2 * min(choice.error for choice in choices)
    # One bandwidth below, and none of the point above, where nothing varies.
    assert {choose_local_bandwidth(points[:n], RANK).method for n in (SAMPLE - 1, SAMPLE)} == {"one bandwidth"}


def test_a_bandwidth_is_chosen_by_risk_as_soon_as_there_is_one():
    # A switch at 100 observations made the error of the ridge fall from 0.17 to 0.02 with one more.
    points, _, offsets = noisy("sphere", 120, 3)
    errors = {}
    for n in (60, 80, 99, 100, 120):
        choice = compare_bandwidths(points[:n], RANK)
        assert choice.method == "split-sample risk"
        ridge = sb.ridge_project(sb.PrincipalSubbundle(points[:n], RANK, choice.bandwidth), points[:60])
        errors[n] = float(np.sqrt(np.mean(offsets(ridge.points) ** 2)))
    assert abs(errors[100] - errors[99]) < 0.01
    assert errors[120] < errors[80] < 0.05
    assert errors[60] < 0.1
    # Of very few there is none, and the distance to some neighbours is taken.
    assert compare_bandwidths(points[:12], RANK).method == "neighbour distance"
