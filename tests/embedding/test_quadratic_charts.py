"""Normal coordinates to third order, members and links, against the sphere's closed forms and known rotations."""

import numpy as np
import pytest

from subbundle import datasets
from subbundle.charts.quadric_kernels import base_coordinates, exp_chart, foot, normal_from_tangent
from subbundle.embedding.alignment import align
from subbundle.embedding.chart_links import Links, link_charts, nearest_orthogonal
from subbundle.embedding.quadratic_charts import SmallCharts, bandwidth_charts, cover, member_weights, tree_of
from subbundle.embedding.synchronisation import rotations
from subbundle.local.quadrics import QuadricFitter


def north_pole():
    """The exact chart of the unit sphere at its north pole."""
    bases, frames = np.array([[0.0, 0.0, 1.0]]), np.eye(3)[None, :, :2].copy()
    forms = np.zeros((1, 3, 3))
    forms[0, 0, 2] = forms[0, 2, 2] = -1.0
    return bases, frames, forms


def log_of(point):
    bases, frames, forms = north_pole()
    tau, v = np.empty(2), np.empty(2)
    mixed, square, offset, small = np.empty((2, 3)), np.empty(3), np.empty(3), np.empty((3, 2))
    foot(np.array(point, dtype=float), bases, frames, forms, 0, tau, mixed, square, offset, small)
    normal_from_tangent(mixed, square, tau, v)
    return v


def test_log_on_the_sphere_is_right_to_third_order():
    angles = np.array([0.1, 0.2, 0.4])
    direction = np.array([0.6, 0.8])
    errors = []
    for angle in angles:
        v = log_of([*(np.sin(angle) * direction), np.cos(angle)])
        np.testing.assert_allclose(v / np.linalg.norm(v), direction, atol=1e-12)
        errors.append(abs(np.linalg.norm(v) - angle))
    order = np.polyfit(np.log(angles), np.log(errors), 1)[0]
    # The graph of the form leaves the sphere at fourth order, which moves its foot at fifth.
    assert 4.5 < order < 5.5


def test_exp_undoes_log():
    bases, frames, forms = north_pole()
    tau, mixed, square, point = np.empty(2), np.empty((2, 3)), np.empty(3), np.empty(3)
    v = np.array([0.3, -0.5])
    exp_chart(bases, frames, forms, 0, v, tau, mixed, square, point)
    np.testing.assert_allclose(log_of(point), v, atol=1e-10)


def test_the_foot_is_the_nearest_point():
    bases, frames, forms = north_pole()
    point = np.array([0.4, 0.1, 1.3])
    tau = np.empty(2)
    mixed, square, offset, small = np.empty((2, 3)), np.empty(3), np.empty(3), np.empty((3, 2))
    squared = foot(point, bases, frames, forms, 0, tau, mixed, square, offset, small)
    grid = np.stack(np.meshgrid(*[np.linspace(-0.8, 0.8, 801)] * 2), axis=-1).reshape(-1, 2)
    graph = np.column_stack([grid, 1.0 - 0.5 * np.sum(grid**2, axis=1)])
    # The grid has a spacing of 0.002, so its best is off by the square of that at most.
    best = np.sum((graph - point) ** 2, axis=1).min()
    assert best - 1e-5 < squared <= best


def flat_charts(seed=0, turn=True):
    """Overlapping pieces of a flat square, each with coordinates of its own after a known rotation."""
    rng = np.random.default_rng(seed)
    plane = rng.uniform(0.0, 4.0, (1500, 2))
    centres = np.stack(np.meshgrid(*[np.arange(0.25, 4.0, 0.5)] * 2), axis=-1).reshape(-1, 2)
    order, boxes = tree_of(np.column_stack([centres, np.zeros(len(centres))]))
    centres = centres[order]
    angles = rng.uniform(0.0, 2.0 * np.pi, len(centres))
    turns = np.stack([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
    turns[::2, 1] *= -1.0  # every other chart is a mirror image
    starts, places, coordinates = [0], [], []
    for centre, matrix in zip(centres, turns, strict=True):
        near = np.flatnonzero(np.linalg.norm(plane - centre, axis=1) < 0.8)
        places.append(near)
        coordinates.append((plane[near] - centre) @ matrix.T)
        starts.append(starts[-1] + len(near))
    count = len(centres)
    v = np.concatenate(coordinates)
    frames = np.zeros((count, 3, 2))
    frames[:, :2] = turns.transpose(0, 2, 1)
    charts = SmallCharts(
        np.column_stack([centres, np.zeros(count)]), frames, np.zeros((count, 3, 3)), boxes, np.full(count, 0.8),
        np.full(count, 0.5), np.array(starts), np.concatenate(places), v, member_weights(v, np.full(len(v), 0.8)),
        len(plane),
    )  # fmt: skip
    return charts, plane, turns


def rigid_error(found, truth):
    found, truth = found - found.mean(axis=0), truth - truth.mean(axis=0)
    turn = nearest_orthogonal((found.T @ truth)[None])[0][0]
    return float(np.sqrt(np.mean(np.sum((found @ turn - truth) ** 2, axis=1))))


def test_links_recover_the_turns():
    charts, _, turns = flat_charts()
    links = link_charts(charts, least=6, n_jobs=1)
    for (c, e), turn in zip(links.pairs, links.turns, strict=True):
        # v_c = x T_c', so v_c = v_e (T_e T_c').
        np.testing.assert_allclose(turn, turns[e] @ turns[c].T, atol=1e-10)


def test_rotations_agree_with_all_turns():
    charts, _, _ = flat_charts()
    links = link_charts(charts, least=6, n_jobs=1)
    found = rotations(links, links.components(), 2)
    for (c, e), turn in zip(links.pairs, links.turns, strict=True):
        # Conjugate gradients end at 1e-4, from a start that is exact here.
        np.testing.assert_allclose(found[e], turn @ found[c], atol=1e-3)


def test_alignment_recovers_the_plane():
    charts, plane, _ = flat_charts()
    links = link_charts(charts, least=6, n_jobs=1)
    found = align(charts, links, links.components())
    known = np.isfinite(found.positions[:, 0])
    assert known.mean() > 0.99
    # Exact data: what is left is the tolerance of conjugate gradients, 1e-4 of the first step of size 4.
    assert rigid_error(found.positions[known], plane[known]) < 1e-3
    assert found.residual < 1e-3


def test_alignment_of_noisy_charts_does_not_bend():
    charts, plane, _ = flat_charts()
    noise = 0.02 * np.random.default_rng(1).standard_normal(charts.coordinates.shape)
    noisy = SmallCharts(*[getattr(charts, name) for name in charts.__dataclass_fields__])
    noisy.coordinates[:] += noise
    links = link_charts(noisy, least=6, n_jobs=1)
    found = align(noisy, links, links.components())
    known = np.isfinite(found.positions[:, 0])
    # A point lies in eight charts: averaging leaves less than the noise of one.
    assert rigid_error(found.positions[known], plane[known]) < 0.02 * np.sqrt(2.0)


def test_separate_parts_are_aligned_on_their_own():
    charts, _, _ = flat_charts()
    links = link_charts(charts, least=6, n_jobs=1)
    left = charts.bases[:, 0] < 2.0
    inside = left[links.pairs[:, 0]] == left[links.pairs[:, 1]]
    parted = links.only(inside)
    labels = parted.components()
    assert labels.max() == 1
    assert np.isfinite(align(charts, parted, labels).residual)
    assert isinstance(parted, Links)


def test_cover_and_members():
    data = datasets.s_surface(1500, seed=0)
    fitter = QuadricFitter(data.points, 2)
    rows = cover(fitter, 0.2, np.ones(1500, bool))
    chosen = fitter.observations[rows]
    apart = np.linalg.norm(chosen[:, None] - chosen[None], axis=2) + 9.0 * np.eye(len(chosen))
    assert apart.min() >= 0.2
    assert np.linalg.norm(fitter.observations[:, None] - chosen[None], axis=2).min(axis=1).max() <= 0.2
    charts = bandwidth_charts(fitter, fitter.fit(chosen, 0.2, steps=3), 0.2, 0.5, 0.2, n_jobs=1)
    first = slice(charts.starts[0], charts.starts[1])
    straight = np.linalg.norm(fitter.observations[charts.places[first]] - charts.bases[0], axis=1)
    lengths = np.linalg.norm(charts.coordinates[first], axis=1)
    # A chord of length c on a unit circle spans an arc of at most c + c^3/24 + ...
    assert np.all(lengths > straight - 0.01)
    assert np.all(lengths < straight + straight**3 / 24 + 0.01)


def test_coordinates_of_bases_are_arcs():
    angle = 0.3
    bases = np.array([[0.0, 0.0, 1.0], [np.sin(angle), 0.0, np.cos(angle)]])
    frames = np.stack([np.eye(3)[:, :2], np.column_stack([[np.cos(angle), 0.0, -np.sin(angle)], [0.0, 1.0, 0.0]])])
    forms = np.zeros((2, 3, 3))
    forms[:, 0] = forms[:, 2] = -bases
    forward, backward = np.empty((1, 2)), np.empty((1, 2))
    base_coordinates(bases, np.ascontiguousarray(frames), forms, np.array([[0, 1]]), forward, backward)
    # Fifth order: angle^5 = 2e-3 times a constant well below one.
    np.testing.assert_allclose([forward[0, 0], -backward[0, 0]], angle, atol=4e-4)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_orthogonal_factor(k):
    matrices = np.random.default_rng(k).standard_normal((5, k, k))
    factors, values = nearest_orthogonal(matrices)
    np.testing.assert_allclose(factors @ factors.transpose(0, 2, 1), np.broadcast_to(np.eye(k), (5, k, k)), atol=1e-12)
    assert np.all(np.diff(values, axis=1) <= 0.0)
