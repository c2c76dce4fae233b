"""The protocol of charts: one law for both kinds, for lists of either and of both, for atlases and their
layouts, inside and outside.

All are charts of the unit sphere, where Φ(v) = cos|v| μ + sin|v| F v/|v| and the projection of x is x/|x|.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

import subbundle as sb
from subbundle.atlas.linked_atlas import LinkedAtlas
from subbundle.bundles.analytic import SphereTangent
from subbundle.charts.base import InvertibleChart
from subbundle.charts.chart_list import ChartList
from subbundle.charts.quadratic_chart import QuadraticChart, QuadraticCharts, gathered
from subbundle.embedding.laid_out_atlas import LaidOutAtlas
from subbundle.geodesics.start import directions

RADIUS = 0.3
# Quadratic charts leave out the fourth order, 0.3⁴/24 in height, geodesics are interpolated to 1e-3; a blend is the
# mean of projections that differ by as much.
ATOL = 2e-3
BASES = np.array([[0.0, 0.0, 1.0], [np.sin(0.2), 0.0, np.cos(0.2)]])


def quadratic(base):
    """The third-order expansion on the sphere: II(u, w) = −⟨u, w⟩ x."""
    frame = np.linalg.svd(base[None])[2][1:].T
    return QuadraticChart(base, frame, -np.eye(2)[:, :, None] * base, RADIUS)


def geodesic(base):
    return sb.Chart(SphereTangent(2), base, RADIUS)


class Alone:
    """One chart, with the calls of a list."""

    def __init__(self, chart):
        assert isinstance(chart, InvertibleChart)
        self.chart, self.frames = chart, (chart.frame,)

    def locate(self, points, numbers, **options):
        return self.chart.locate(points, **options), numbers

    def __getattr__(self, name):
        return lambda coordinates, numbers: getattr(self.chart, name)(coordinates)


class Listed:
    def __init__(self, charts):
        self.charts, self.frames = charts, [chart.frame for chart in charts]

    def locate(self, points, numbers, **options):
        return self.charts.locate(points, numbers, **options), numbers

    def __getattr__(self, name):
        return getattr(self.charts, name)


class Blended:
    """An atlas: it chooses the charts itself."""

    def __init__(self, atlas):
        self.atlas, self.frames = atlas, [chart.frame for chart in atlas.charts]

    def locate(self, points, numbers):
        located = self.atlas.locate(points)
        return located, located.charts

    def extent_along(self, coordinates, numbers):
        return self.atlas.charts.extent_along(coordinates, numbers)

    def __getattr__(self, name):
        return getattr(self.atlas, name)


def dense():
    """The principal subbundle of a sphere without noise."""
    return sb.PrincipalSubbundle(sb.datasets.sphere(6000, noise=0.0).points, 2, 0.1)


def linked():
    charts = [quadratic(base) for base in BASES]
    links = csr_array(np.array([[0.0, 0.2], [0.2, 0.0]]))
    return LinkedAtlas(gathered(charts, 1), BASES, links, 0.0)


class LaidOut:
    """A layout of one chart by its own coordinates, which are those of the layout then."""

    def __init__(self):
        chart = quadratic(BASES[0])
        one = LinkedAtlas(gathered([chart], 1), BASES[:1], csr_array((1, 1)), 0.0)
        self.layout, self.frames = (
            LaidOutAtlas(one, np.eye(2)[None], np.zeros((1, 2)), csr_array((1, 1))),
            [chart.frame],
        )

    def locate(self, points, numbers):
        return self.layout.locate(points), numbers

    def extent_along(self, coordinates, numbers):
        return self.layout.atlas.charts.extent_along(coordinates, numbers)

    def __getattr__(self, name):
        return lambda coordinates, numbers: getattr(self.layout, name)(coordinates)


SUBJECTS = {
    "geodesic chart": lambda: Alone(geodesic(BASES[0])),
    "quadratic chart": lambda: Alone(quadratic(BASES[0])),
    "list of both": lambda: Listed(ChartList([geodesic(BASES[0]), quadratic(BASES[1])])),
    "quadratic list": lambda: Listed(gathered([quadratic(base) for base in BASES], 1)),
    "geodesic atlas": lambda: Blended(sb.Atlas(SphereTangent(2), BASES, RADIUS)),
    "quadratic atlas": lambda: Blended(sb.Atlas(dense(), BASES, RADIUS, charts="quadratic")),
    "linked atlas": lambda: Blended(linked()),
    "layout of an atlas": LaidOut,
}
ALONE = [name for name in SUBJECTS if "atlas" not in name]


@pytest.fixture(scope="module", params=SUBJECTS)
def subject(request):
    return SUBJECTS[request.param]()


@pytest.fixture(scope="module", params=ALONE)
def without_blending(request):
    return SUBJECTS[request.param]()


def exact(subject, v, numbers):
    """Φ(v), one chart a row."""
    length = np.linalg.norm(v, axis=1, keepdims=True)
    frames = np.stack([subject.frames[number] for number in numbers])
    along = np.einsum("ndk,nk->nd", frames, v) / np.maximum(length, 1e-300)
    return np.cos(length) * BASES[numbers] + np.sin(length) * along


def rows_of(subject, radius, count=24):
    """Coordinates of this length in all directions, and charts in turn."""
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False) + 0.1
    return radius * np.column_stack([np.cos(angle), np.sin(angle)]), np.arange(count) % len(subject.frames)


def test_inside_a_chart_is_the_exponential_map(subject):
    v, numbers = rows_of(subject, 0.25)
    sphere = exact(subject, v, numbers)
    np.testing.assert_allclose(subject.inverse_transform(v, numbers), sphere, atol=ATOL)
    assert subject.inside(v, numbers).all()
    np.testing.assert_allclose(subject.extent_along(v, numbers), RADIUS, rtol=1e-6)
    h = 1e-4
    ends = [[exact(subject, v + sign * h * unit, numbers) for sign in (1, -1)] for unit in np.eye(2)]
    slopes = np.stack([(ahead - behind) / (2 * h) for ahead, behind in ends], axis=2)
    # The derivative of what a chart leaves out is larger than that by 4/|v|.
    np.testing.assert_allclose(subject.jacobian(v, numbers), slopes, atol=10 * ATOL)


def test_inside_a_point_is_projected_along_the_normal(subject):
    v, numbers = rows_of(subject, 0.2)
    sphere = exact(subject, v, numbers)
    located, charts = subject.locate(1.02 * sphere, numbers)
    assert (located.status == sb.Status.OK).all()
    np.testing.assert_allclose(located.points, sphere, atol=ATOL)
    np.testing.assert_allclose(located.residuals, 0.02, atol=ATOL)
    # Coordinates are those in the chart that is named.
    np.testing.assert_allclose(exact(subject, located.coordinates, charts), sphere, atol=ATOL)
    np.testing.assert_allclose(subject.inverse_transform(located.coordinates, charts), located.points, atol=ATOL)


def test_outside_there_is_nothing(subject):
    v, numbers = rows_of(subject, 0.31)
    assert not subject.inside(v, numbers).any()
    assert np.isnan(subject.inverse_transform(v, numbers)).all()
    assert np.isnan(subject.jacobian(v, numbers)).all()
    np.testing.assert_allclose(subject.extent_along(v, numbers), RADIUS, rtol=1e-6)
    unknown = np.full_like(v, np.nan)
    assert not subject.inside(unknown, numbers).any()
    assert np.isnan(subject.inverse_transform(unknown, numbers)).all()
    assert np.isnan(subject.jacobian(unknown, numbers)).all()
    assert np.isnan(subject.extent_along(unknown, numbers)).all()


def test_a_point_beyond_has_a_status(subject):
    angle = np.linspace(0.0, 6.0, 8)
    beyond = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(8)])
    located, _ = subject.locate(beyond, np.arange(8) % len(subject.frames))
    np.testing.assert_array_equal(located.status, sb.Status.LEFT_SUPPORT)


def test_without_blending_the_nearest_point_beyond_lies_on_the_border(without_blending):
    v, numbers = rows_of(without_blending, 0.5)
    far = exact(without_blending, v, numbers)
    located, _ = without_blending.locate(far, numbers)
    assert np.isnan(located.coordinates).all()
    assert np.isnan(located.points).all()
    located, _ = without_blending.locate(far, numbers, outside="nearest")
    np.testing.assert_array_equal(located.status, sb.Status.LEFT_SUPPORT)
    border = exact(without_blending, RADIUS * v / 0.5, numbers)
    np.testing.assert_allclose(located.points, border, atol=ATOL)
    np.testing.assert_allclose(located.residuals, np.linalg.norm(far - border, axis=1), atol=ATOL)


@pytest.mark.parametrize("make", [geodesic, quadratic])
def test_arrays_and_back_give_the_same_bits(make):
    chart = make(BASES[1])
    again = type(chart).from_arrays(chart.to_arrays())
    v, _ = rows_of(Alone(chart), 0.2)
    np.testing.assert_array_equal(again.inverse_transform(v), chart.inverse_transform(v))
    np.testing.assert_array_equal(again.locate(1.1 * again.base_point).points, chart.locate(1.1 * BASES[1]).points)


def test_an_atlas_takes_rows_as_it_gives_them():
    atlas = linked()
    one = atlas.locate(BASES[0])
    assert atlas.inverse_transform(one.coordinates, one.charts).shape == (3,)
    assert np.isnan(atlas.inverse_transform([[0.0, 0.0]], [-1])).all()
    with pytest.raises(ValueError, match=r"charts hold a number in 0\.\.1"):
        atlas.jacobian([[0.0, 0.0]], [2])


def test_quadratic_charts_need_data():
    with pytest.raises(ValueError, match="needs a bundle of data"):
        sb.Atlas(SphereTangent(2), BASES, RADIUS, charts="quadratic")
    with pytest.raises(ValueError, match="near a ridge"):
        sb.Atlas(dense(), [[0.0, 0.0, 9.0]], RADIUS, charts="quadratic")


def bent(dim, rank, seed):
    """A quadratic chart with other curvatures in other directions; its radius, 1, is half a radius of curvature."""
    rng = np.random.default_rng(seed)
    form = rng.normal(size=(rank, rank, dim)) * 0.3
    form[:, :, :rank] = 0.0
    return QuadraticChart(np.zeros(dim), np.eye(dim)[:, :rank], 0.5 * (form + form.transpose(1, 0, 2)), 1.0)


@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 2), (5, 2), (5, 3)])
def test_the_border_of_a_bent_chart_is_searched(dim, rank):
    chart = bent(dim, rank, 0)
    targets = np.random.default_rng(1).normal(size=(60, dim)) * 2.0
    located = chart.locate(targets, outside="nearest")
    beyond = located.status == sb.Status.LEFT_SUPPORT
    assert beyond.sum() > 20
    rim = chart.inverse_transform(directions(rank, 2 if rank == 1 else 40000))
    apart = cKDTree(rim).query(targets[beyond])[0]
    np.testing.assert_allclose(np.linalg.norm(located.coordinates[beyond], axis=1), 1.0)
    # No point of the border is nearer; those compared are 0.01 apart, and distances grow with half the square.
    assert (located.residuals[beyond] <= apart + 1e-9).all()
    np.testing.assert_allclose(located.residuals[beyond], apart, atol=1e-3)


def test_a_search_that_ends_at_a_saddle_has_not_converged():
    """Beyond the centre of curvature of a parabola the vertex is the furthest point around, not the nearest."""
    parabola = QuadraticCharts([[0.0, 0.0]], [[[1.0], [0.0]]], [[[0.0, -1.0]]], [3.0], n_jobs=1)
    targets = np.stack(np.meshgrid(np.linspace(-3, 3, 41), np.linspace(-4, 2, 41)), axis=-1).reshape(-1, 2)
    located = parabola.locate(targets, np.zeros(len(targets), np.int64))
    assert (located.status == sb.Status.NOT_CONVERGED).any()
    assert np.isnan(located.coordinates[located.status != sb.Status.OK]).all()
    tau = np.linspace(-4.0, 4.0, 80001)
    true = cKDTree(np.column_stack([tau, -0.5 * tau**2])).query(targets)[0]
    good = located.status == sb.Status.OK
    assert good.sum() > 1000
    np.testing.assert_allclose(located.residuals[good], true[good], atol=1e-4)
