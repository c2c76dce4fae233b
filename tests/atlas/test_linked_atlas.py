"""Charts linked along a manifold: weights, components, orientation, distances and layouts in closed form."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import subbundle as sb
from subbundle.atlas.atlas_distance import AtlasDistance
from subbundle.atlas.linked_atlas import LinkedAtlas
from subbundle.charts.chart_list import ChartList
from subbundle.charts.quadratic_chart import QuadraticChart, QuadraticCharts, gathered
from subbundle.embedding.laid_out_atlas import LaidOutAtlas


def linked(points, count):
    """Distances to the nearest ``count`` neighbours of ``points`` [m, dim], symmetric."""
    apart = cdist(points, points)
    kept = apart <= np.sort(apart, axis=1)[:, [count]]
    return csr_array(np.where((kept | kept.T) & (apart > 0.0), apart, 0.0))


@pytest.fixture(scope="module")
def sphere():
    """300 charts of radius 0.5 on the unit sphere, with its second fundamental form: II(u, w) = −⟨u, w⟩ x."""
    golden = np.arange(300) * np.pi * (3.0 - np.sqrt(5.0))
    height = 1.0 - (2.0 * np.arange(300) + 1.0) / 300
    bases = np.column_stack([np.cos(golden), np.sin(golden), height])
    bases[:, :2] *= np.sqrt(1.0 - height**2)[:, None]
    frames = np.linalg.svd(bases[:, None])[2][:, 1:].transpose(0, 2, 1)
    forms = np.stack([-bases, np.zeros_like(bases), -bases], axis=1)
    charts = QuadraticCharts(bases, frames, forms, np.full(300, 0.5), n_jobs=1)
    return LinkedAtlas(charts, bases, linked(bases, 8), 0.0)


def on_circle(angles, closed):
    """An atlas on the unit circle with charts at ``angles`` [m], and its layout, cut between the last and the first."""
    count = len(angles)
    bases = np.column_stack([np.cos(angles), np.sin(angles)])
    frames = np.column_stack([-np.sin(angles), np.cos(angles)])[:, :, None]
    charts = QuadraticCharts(bases, frames, -bases[:, None], np.full(count, 0.4), n_jobs=1)
    apart = np.abs(angles[:, None] - angles)
    around = np.minimum(apart, 2.0 * np.pi - apart)
    along, cut = (csr_array(np.where((each > 0.0) & (each < 0.6), each, 0.0)) for each in (around, apart))
    atlas = LinkedAtlas(charts, bases, along if closed else cut, 0.0)
    return LaidOutAtlas(atlas, np.ones((count, 1, 1)), angles[:, None], cut)


def test_the_weights_are_those_of_the_formulas(sphere):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    points *= rng.uniform(0.9, 1.1, size=(40, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    # Charts that disagree by twice the threshold of equal weights: ε = 1/4.
    atlas = LinkedAtlas(sphere.charts, sphere.origins, sphere.links, 0.04)
    blended = atlas.project(points)
    for row, x in enumerate(points):
        distance = np.linalg.norm(atlas.origins - x, axis=1)
        order = np.argsort(distance)
        near, span = order[:10], distance[order[10]]
        located = [atlas.charts[int(c)].locate(x) for c in near]
        scores = [one.residuals**2 + 0.875 * distance[c] ** 2 for c, one in zip(near, located, strict=True)]
        nearest = near[int(np.argmin(scores))]
        allowed = np.append(atlas.links[[nearest]].nonzero()[1], nearest)
        weights = (1.0 - (distance[near] / span) ** 2) ** 3 / (0.25 + (distance[near] / 0.5) ** 2)
        weights = np.where(np.isin(near, allowed), weights, 0.0)
        expected = np.average([one.points for one in located], axis=0, weights=weights)
        assert blended.nearest[row] == nearest
        # The same sums in another order.
        np.testing.assert_allclose(blended.points[row], expected, atol=1e-13)


def test_every_list_of_charts_gives_the_same_answers(sphere):
    few = QuadraticCharts(
        *(getattr(sphere.charts, name)[:5] for name in ("base_points", "frames", "forms", "radii")), n_jobs=1
    )
    plain = ChartList([few[j] for j in range(5)])
    assert isinstance(gathered(list(plain), 1), QuadraticCharts)
    assert not isinstance(
        gathered([*plain, sb.Chart(sb.bundles.SphereTangent(2), [0, 0, 1.0], 0.5)], 1), QuadraticCharts
    )
    charts = np.array([3, 0, 4, 0, 1, 2])
    points = few.base_points[charts] + 0.1 * np.random.default_rng(1).normal(size=(6, 3))
    points[2] += 2.0  # outside
    first, second = few.locate(points, charts), plain.locate(points, charts)
    for name in ("coordinates", "points", "residuals", "status"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.status[2] == sb.Status.LEFT_SUPPORT
    inside = first.coordinates[[0, 1, 3]]
    for name in ("jacobian", "extent_along"):
        np.testing.assert_array_equal(*(getattr(each, name)(inside, charts[[0, 1, 3]]) for each in (few, plain)))


def test_points_beyond_all_charts_are_not_covered(sphere):
    located = sphere.locate([[0.0, 0.0, 1.0], [0.0, 0.0, 40.0]])
    assert located.coverage[0] > 0.5
    north = on_circle(np.linspace(0.5, 2.5, 30), closed=False).locate(np.array([[0.0, 1.0], [0.0, -1.0]]))
    np.testing.assert_array_equal(north.status, [sb.Status.OK, sb.Status.LEFT_SUPPORT])
    np.testing.assert_array_equal(north.coverage > 0.0, [True, False])
    # From the angle 2.5 it is 0.4 to the border of the last chart and 3π/2 − 2.5 to the point, continued as a parabola.
    assert north.beyond[0] == 0.0
    assert north.beyond[1] > 0.5


def test_distances_are_great_circles(sphere):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(14, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = AtlasDistance(sphere, 0.0).pairwise(points)
    expected = np.arccos(np.clip(points @ points.T, -1.0, 1.0))
    # Paths converge within 2e-3 of a radius; towards the antipode all paths are as long, and converge last.
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=1e-7)
    assert np.median(found / np.where(expected > 0.0, expected, 1.0)) == pytest.approx(1.0, abs=2e-3)
    np.testing.assert_array_equal(found, AtlasDistance(sphere, 0.0).pairwise(points, points).T)


def test_components_and_orientation(sphere):
    assert sphere.orientable
    np.testing.assert_array_equal(sphere.labels, 0)
    blended = sphere.project(sphere.base_points[::7])
    normals = sphere.normals(blended)
    inward = np.sum(normals * blended.points, axis=1)
    # All on one side, along the radius up to the fourth order of a blend over charts 0.2 apart.
    np.testing.assert_allclose(np.abs(inward), 1.0, atol=1e-3)
    assert abs(inward.sum()) == pytest.approx(len(inward), rel=1e-3)
    both = np.concatenate([sphere.base_points[:100] + 5.0, sphere.base_points])
    apart = LinkedAtlas(
        QuadraticCharts(both, *(np.concatenate([x[:100], x]) for x in (sphere.charts.frames, sphere.charts.forms)),
                        np.full(400, 0.5), n_jobs=1),
        both, linked(both, 4), 0.0,
    )  # fmt: skip
    np.testing.assert_array_equal(apart.labels, np.repeat([1, 0], [100, 300]))


def test_a_moebius_band_has_no_orientation():
    def band(t, w):
        return np.stack(
            [(2.0 + w * np.cos(0.5 * t)) * np.cos(t), (2.0 + w * np.cos(0.5 * t)) * np.sin(t), w * np.sin(0.5 * t)],
            axis=-1,
        )

    t, w = (each.ravel() for each in np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False), [-0.2, 0.0, 0.2]))
    h = 1e-5
    slopes = [band(t + h, w) - band(t - h, w), band(t, w + h) - band(t, w - h)]
    frames = np.linalg.qr(np.stack(slopes, axis=2))[0]
    charts = QuadraticCharts(band(t, w), frames, np.zeros((180, 3, 3)), np.full(180, 0.4), n_jobs=1)
    atlas = LinkedAtlas(charts, charts.base_points, linked(charts.base_points, 8), 0.0)
    assert not atlas.orientable
    np.testing.assert_array_equal(atlas.labels, 0)


def test_distances_are_the_same_in_forty_dimensions(sphere, monkeypatch):
    """Up to five dimensions points are read in the space itself, above through products of charts."""
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 3)))[0].T
    charts = sphere.charts
    parts = charts.base_points @ turned, turned.T @ charts.frames, charts.forms @ turned
    wide = LinkedAtlas(QuadraticCharts(*parts, charts.radii, n_jobs=1), parts[0], sphere.links, 0.0)
    points = np.random.default_rng(1).normal(size=(25, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = AtlasDistance(wide, 0.0).pairwise(points @ turned)
    # Rounding in sums of 40 terms, through up to a hundred rounds.
    np.testing.assert_allclose(found, AtlasDistance(sphere, 0.0).pairwise(points), rtol=1e-9, atol=1e-12)
    # Room for one pair of charts: products are formed again and again, to the same bits.
    monkeypatch.setattr("subbundle.atlas.atlas_distance._PRODUCTS", 0)
    np.testing.assert_array_equal(AtlasDistance(wide, 0.0).pairwise(points @ turned), found)


def test_a_circle_is_laid_out_by_its_angle_and_distances_do_not_depend_on_the_cut():
    angles = np.linspace(-np.pi, np.pi, 60, endpoint=False)
    layout = on_circle(angles, closed=True)
    asked = np.linspace(-3.0, 3.0, 41)
    points = np.column_stack([np.cos(asked), np.sin(asked)]) * 1.02
    located = layout.locate(points)
    # The parabolas of charts 0.1 apart leave the circle by 0.1⁴/8 and their normal coordinates by less.
    np.testing.assert_allclose(located.coordinates[:, 0], asked, atol=1e-4)
    # Charts up to 0.4 away have little weight, and leave the circle by 0.4⁴/24 there.
    np.testing.assert_allclose(layout.inverse_transform(asked[:, None]), points / 1.02, atol=1e-3)
    np.testing.assert_allclose(
        layout.jacobian(asked[5:6, None])[0, :, 0], [-np.sin(asked[5]), np.cos(asked[5])], atol=1e-3
    )
    ends = np.array([[np.cos(x), np.sin(x)] for x in (-np.pi + 0.2, np.pi - 0.2)])
    assert np.ptp(layout.locate(ends).coordinates) > 5.0
    # Across the cut it is 0.4; paths converge within 2e-3 radii.
    assert AtlasDistance(layout.atlas, 0.0).between(ends[:1], ends[1:])[0] == pytest.approx(0.4, abs=4e-3)


def test_arrays_and_back_to_the_bit():
    layout = on_circle(np.linspace(-np.pi, np.pi, 40, endpoint=False), closed=True)
    arrays = layout.to_arrays()
    again = LaidOutAtlas.from_arrays(arrays, 0.0, n_jobs=1)
    points = np.random.default_rng(3).normal(size=(20, 2))
    for name in ("coordinates", "points", "coverage", "labels"):
        np.testing.assert_array_equal(getattr(again.locate(points), name), getattr(layout.locate(points), name))
    for name, value, message in [
        ("shifts", arrays["shifts"][1:], "shifts must fit the other arrays"),
        ("links", arrays["links"] + 40, "links must be numbers of charts"),
        ("length_columns", arrays["length_columns"] - 40, "length_columns must be numbers of charts"),
        ("radii", -arrays["radii"], "radii must be positive"),
        ("forms", arrays["forms"] * np.nan, "must be below"),
    ]:
        with pytest.raises(ValueError, match=message):
            LaidOutAtlas.from_arrays(arrays | {name: value}, 0.0, n_jobs=1)


def test_one_chart_is_an_atlas():
    chart = QuadraticChart(np.zeros(3), np.eye(3)[:, :2], np.zeros((2, 2, 3)), 1.0)
    atlas = LinkedAtlas(gathered([chart], 1), np.zeros((1, 3)), csr_array((1, 1)), 0.0)
    located = atlas.locate([0.3, 0.2, 0.5])
    np.testing.assert_allclose(located.coordinates, [0.3, 0.2], atol=1e-15)
    assert located.residuals == pytest.approx(0.5)
