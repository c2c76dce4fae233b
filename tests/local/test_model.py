"""The local model against closed forms: planes, paraboloids, spheres; weights, robust windows, standard errors."""

import numpy as np
import pytest

import subbundle as sb
from subbundle import Status
from subbundle.kernels import tail
from subbundle.local.many import Fit
from subbundle.local.model import fit_local
from subbundle.local.neighbours import Neighbours
from subbundle.local.standard_errors import radius95
from subbundle.local.tuning import FLATNESS, LEFT_OUT


def plane(n, noise, seed, dim=3):
    """A square of side 2 in the first two coordinates, noise in the others."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(-1.0, 1.0, (n, 2)), noise * rng.standard_normal((n, dim - 2))])


def paraboloid(n, seed):
    """The graph of x²/2 − xy/4 + y²/10, without noise; II at 0 is its matrix of second derivatives."""
    x, y = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, n))
    return np.column_stack([x, y, 0.5 * x**2 - 0.25 * x * y + 0.1 * y**2]), np.array([[1.0, -0.25], [-0.25, 0.2]])


@pytest.mark.parametrize("robust", [None, 2.0])
@pytest.mark.parametrize("dim", [3, 5, 20])
def test_a_paraboloid_is_found_exactly(robust, dim):
    if robust is not None and dim > 3:
        pytest.skip("robust windows are for surfaces in R³")
    points, second = paraboloid(1500, 0)
    turn = np.linalg.qr(np.random.default_rng(dim).normal(size=(dim, dim)))[0]
    cloud = sb.Cloud(np.pad(points, ((0, 0), (0, dim - 3))) @ turn.T)
    start = np.zeros((1, dim)) + 1e-3 * turn[:, 2]
    tangents = turn[None, :, :2]
    found = fit_local(cloud, start, 0.1, 2, steps=8, robust=robust, tangents=None if robust is None else tangents)
    assert found.status[0] == Status.OK
    # A graph of degree two is in the span of the features over its own tangent plane; arcs are not parabolas, which a
    # robust window assumes them to be: (κ a)⁴/8 of the bandwidth. The weight of flatness is 0.1 in some 15 neighbours.
    assert np.linalg.norm(found.points[0]) < 2e-4
    t = found.tangents[0]
    np.testing.assert_allclose(t @ t.T, tangents[0] @ tangents[0].T, atol=5e-3)
    inner = t.T @ tangents[0]
    expected = np.einsum("ai,bj,ij,d->abd", inner, inner, second, turn[:, 2])
    np.testing.assert_allclose(found.second_form[0], expected, atol=0.04)


def test_a_stretched_window_is_a_window_on_a_stretched_cloud():
    # Weights and the fit are the same in affine coordinates; arcs, which are not, come in with the second round.
    points, factor = plane(3000, 0.05, 0), 2.5
    start = np.zeros((20, 3))
    start[:, :2] = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 2))
    tangents = np.tile(np.eye(3)[:, :2], (20, 1, 1))
    long = np.array([factor, 1.0, 1.0])
    options = {"robust": 0.3, "tangents": tangents}
    plain = fit_local(sb.Cloud(points), start, 0.1, 2, **options)
    stretched = fit_local(sb.Cloud(points * long), start * long, 0.1, 2, stretch=factor, **options)
    # Coordinates and sums have single precision, 6e-8 of a bandwidth of 0.1; a few hundred of them are added.
    np.testing.assert_allclose(stretched.points, plain.points * long, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(stretched.mass, plain.mass, rtol=1e-6)
    np.testing.assert_allclose(stretched.height_gain, plain.height_gain, rtol=1e-5)


def test_the_error_on_a_sphere_falls_with_the_fourth_power():
    points = sb.datasets.sphere(20000).points
    cloud, widths = sb.Cloud(points), np.array([0.14, 0.185, 0.28])
    fits = [fit_local(cloud, points[:200], width, 2, steps=6, errors=False) for width in widths]
    errors = [np.abs(np.linalg.norm(fit.points, axis=1) - 1.0).mean() for fit in fits]
    order = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    # Theory: 4. The finite sample adds an error that does not fall.
    assert 3.2 < order < 4.8
    # II(u, u) = −x |u|² on the unit sphere; the bias is a fraction a² of it.
    expected = -np.einsum("ab,nd->nabd", np.eye(2), fits[0].points)
    np.testing.assert_allclose(fits[0].second_form, expected, atol=3.0 * widths[0] ** 2)


def test_order_0_is_mean_and_eigenvalues():
    points = plane(2000, 0.02, 0)
    found = fit_local(sb.Cloud(points), points[:5], 0.2, 2, order=0)
    for i in range(5):
        t = np.sum((points - points[i]) ** 2, axis=1) / 0.04
        w = np.where(t < tail(2, LEFT_OUT), np.exp(-0.5 * t), 0.0)
        mean = w @ points / w.sum()
        np.testing.assert_allclose(found.mean[i], mean, atol=1e-12)
        second = (w * (points - mean).T) @ (points - mean) / w.sum()
        np.testing.assert_allclose(found.eigenvalues[i], np.linalg.eigvalsh(second)[::-1], rtol=1e-9)
        assert found.mass[i] == pytest.approx(w.sum(), rel=1e-11)
        assert found.n_effective[i] == pytest.approx(w.sum() ** 2 / (w @ w), rel=1e-11)
    np.testing.assert_array_equal(found.points, points[:5])


@pytest.mark.parametrize(("dim", "robust"), [(3, None), (3, 0.1), (16, None), (17, None)])
def test_weights_count_as_repetitions(dim, robust):
    points = plane(600, 0.02, 1, dim)
    cloud = sb.Cloud(points, np.where(np.arange(600) < 300, 3.0, 1.0))
    repeated = sb.Cloud(np.concatenate([points, points[:300], points[:300]]))
    start = np.column_stack([np.linspace(-0.4, 0.4, 7)] * 2 + [np.zeros((7, dim - 2))])
    up = np.tile(np.eye(3)[:, :2], (7, 1, 1))
    options = {"steps": 2, "robust": robust, "tangents": None if robust is None else up}
    one, other = (fit_local(c, start, 0.2, 2, **options) for c in (cloud, repeated))
    # The same sums in another order; those of robust windows in single precision.
    close = {"rtol": 1e-7, "atol": 1e-9} if robust is None else {"rtol": 1e-5, "atol": 1e-5}
    for name in ("points", "forms", "n_effective", "residual", *(["noise"] if robust is None else [])):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), **close, err_msg=name)


def test_one_width_per_row_is_one_fit_per_width():
    points = plane(800, 0.02, 2)
    cloud = sb.Cloud(points)
    widths = np.array([0.15, 0.3, 0.2])
    together = fit_local(cloud, points[:3], widths, 2, steps=2)
    for i in range(3):
        alone = fit_local(cloud, points[i : i + 1], widths[i], 2, steps=2)
        np.testing.assert_array_equal(alone.points[0], together.points[i])
        np.testing.assert_array_equal(alone.position_error[0], together.position_error[i])


def test_a_robust_window_ignores_a_second_sheet():
    sheet = plane(4000, 0.005, 3)
    both = np.concatenate([sheet, sheet + [0.0, 0.0, 0.08]])
    start = np.column_stack([np.random.default_rng(0).uniform(-0.5, 0.5, (30, 2)), np.zeros(30)])
    up = np.tile(np.eye(3)[:, :2], (30, 1, 1))
    found = fit_local(sb.Cloud(both), start, 0.1, 2, robust=0.02, tangents=up, steps=3)
    # Sixteen noise levels away; without the cut the mean of both sheets is found, 0.04.
    assert np.abs(found.points[:, 2]).max() < 0.004
    assert np.sqrt(np.median(found.residual)) == pytest.approx(0.005, rel=0.2)


def test_rows_without_neighbours_stay_and_have_a_status():
    cloud = sb.Cloud(plane(300, 0.01, 4))
    far = np.array([[50.0, 0.0, 0.0]])
    found = fit_local(cloud, far, 0.01, 2, robust=0.01, tangents=np.eye(3)[None, :, :2], steps=3)
    assert found.status[0] == Status.LEFT_SUPPORT
    np.testing.assert_array_equal(found.points, far)


@pytest.mark.parametrize("dim", [3, 6, 20])
def test_the_standard_errors_of_noise_on_a_plane(dim):
    # The same places in many draws: offsets are N(0, s²) there, and s is what the model reports.
    start = np.zeros((4, dim))
    start[:, :2] = [[0.3, 0.2], [-0.3, 0.1], [0.0, -0.4], [0.1, 0.0]]
    offsets, sines = [], []
    for seed in range(60 if dim < 20 else 20):
        found = fit_local(sb.Cloud(plane(800, 0.04, seed, dim)), start, 0.2, 2, steps=4)
        offsets.append(np.linalg.norm(found.points[:, 2:], axis=1) / found.position_error)
        sines.append(np.linalg.norm(found.tangents[:, 2:], axis=(1, 2)) / found.tangent_error)
    # 240 offsets of which a nominal 95 % are within 1.96: binomial scatter 1.4 %, neighbours shared between places; the
    # noise is estimated from some 30 neighbours.
    assert 0.90 < np.mean(np.array(offsets) < 1.96) < 0.99
    # Slopes b_a of 240 fits: 5 % for their root mean square; at the ends of the window noise counts in full.
    assert np.sqrt(np.mean(np.square(sines))) == pytest.approx(1.0, abs=0.15)


def test_the_standard_error_includes_the_bias_of_a_sphere():
    data = sb.datasets.sphere(4000, noise=0.01, seed=0)
    cloud = sb.Cloud(data.points)
    for width in (0.1, 0.2, 0.4):
        found = fit_local(cloud, data.points[::20], width, 2, steps=6)
        off = data.distance(found.points)
        # At 0.4 the bias is four times the noise of the fit, at 0.2 as large: then its estimate is as noisy as itself.
        assert np.mean(off < 1.96 * found.position_error) > 0.85
        assert np.median(found.position_error) < 2.0 * np.sqrt(np.mean(off**2)) + 1e-4


def test_quantiles_of_a_length():
    rng = np.random.default_rng(0)
    for m in (1, 3, 8):
        for bias in (0.0, 1.0, 5.0):
            draws = rng.standard_normal((200_000, m))
            draws[:, 0] += bias
            exact = np.quantile(np.linalg.norm(draws, axis=1), 0.95)
            # Sankaran's approximation is good to a few per cent at one degree of freedom, better above.
            assert radius95(np.ones(1), np.full(1, bias**2), m)[0] == pytest.approx(exact, rel=0.03)


def test_a_cut_of_zero_keeps_what_lies_on_the_quadric():
    # A cloud without noise: nothing differs from the plane by more than rounding.
    rng = np.random.default_rng(5)
    plane = np.column_stack([rng.uniform(-1.0, 1.0, (500, 2)), np.zeros(500)])
    points = np.array([[0.0, 0.0, 0.01], [0.2, -0.1, 0.0]])
    model = fit_local(sb.Cloud(plane), points, 0.3, 2, robust=0.0, steps=3)
    assert (model.status == sb.Status.OK).all()
    # Rounding of a bandwidth of 0.3 in single precision, 6e-8 of it.
    np.testing.assert_allclose(model.points[:, 2], 0.0, atol=2e-8)


@pytest.mark.parametrize("n", [120, 12])
def test_the_quadric_of_many_dimensions_is_a_penalised_least_squares_fit(n):
    # 12 neighbours do not determine 18 slopes: components outside their span stay zero in both solvers.
    rng = np.random.default_rng(4)
    rank, points = 18, rng.standard_normal((n, 20))
    weights = rng.uniform(0.1, 1.0, n)
    near = Neighbours(
        rows=points, point=np.zeros(20), width=2.0, places=np.arange(n), counts=np.ones(n), weights=weights,
        slopes=weights, squares=float(weights @ weights), mass=float(weights.sum()), log_mass=0.0, shift=np.zeros(20),
        nearest=0.0,
    )  # fmt: skip
    fit = Fit(near, np.eye(20)[:, :rank])
    tau, heights = points[:, :rank] / 2.0, points[:, rank:] / 2.0
    first, second = np.triu_indices(rank)
    design = np.column_stack([np.ones(n), tau, tau[:, first] * tau[:, second]])
    penalty = np.sqrt(FLATNESS * near.squares / near.mass)
    below = np.diag(np.where(np.arange(design.shape[1]) > rank, penalty, 0.0))
    stacked = np.vstack([np.sqrt(weights)[:, None] * design, below])
    right = np.vstack([np.sqrt(weights)[:, None] * heights, np.zeros((len(below), 2))])
    expected, *_ = np.linalg.lstsq(stacked, right, rcond=None)
    residual = np.sum((stacked[:n] @ expected - right[:n]) ** 2) / near.mass
    if n > rank + 1:
        np.testing.assert_allclose(fit.coefficients[:, rank:], expected, atol=1e-9)
    # Below, the solution is one of many with the same residual.
    np.testing.assert_allclose(fit.residual, residual, rtol=1e-6, atol=1e-9)
