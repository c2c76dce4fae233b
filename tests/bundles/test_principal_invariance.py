"""What must not change a bit of the results, and what must transform them: order, batch, threads, motions, units."""

import pickle
from itertools import product
from threading import Thread

import numpy as np
import pytest
import threadpoolctl

from subbundle import Cloud, PrincipalSubbundle, Status
from subbundle.local.settings import CENTERINGS
from subbundle.testing import check_batch_invariance, check_equivariance, check_n_jobs_invariance

CHOICES = list(product(CENTERINGS, ("gaussian", "compact")))


def everything(bundle, points, covectors):
    """All arrays of a frame and a field, as bytes."""
    frame, field = bundle.frame(points), bundle.field(points, covectors)
    arrays = (frame.vectors, frame.eigenvalues, frame.mean, frame.density, frame.gap, frame.status)
    return [np.ascontiguousarray(array).tobytes() for array in (*arrays, field.velocity, field.force, field.status)]


def cloud_of(kind, wavy_cloud):
    """Observations and queries: up to three dimensions, blocks, rows, fewer points than dimensions, a flat cloud."""
    dim = {"plane": 2, "space": 3, "blocks": 7, "rows": 25, "few": 50, "flat": 9}[kind]
    n = {"few": 30}.get(kind, 350)
    data = wavy_cloud(dim, n, seed=dim)
    if kind == "flat":
        data = wavy_cloud(5, n, seed=1) @ np.linalg.qr(np.random.default_rng(0).normal(size=(dim, 5)))[0].T
    rng = np.random.default_rng(1)
    middle = data[np.linalg.norm(data - data.mean(axis=0), axis=1).argsort()[:5]]
    points = middle + 0.02 * rng.normal(size=middle.shape) / np.sqrt(dim)
    return data, points, rng.normal(size=points.shape)


KINDS = ["plane", "space", "blocks", "rows", "few", "flat"]


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize("kind", KINDS)
def test_order_of_the_observations_changes_nothing(wavy_cloud, kind, centering, kernel):
    data, points, covectors = cloud_of(kind, wavy_cloud)
    shuffled = data[np.random.default_rng(5).permutation(len(data))]
    results = [
        everything(PrincipalSubbundle(rows, 1, 0.8, centering=centering, kernel=kernel), points, covectors)
        for rows in (data, shuffled, data[::-1], np.asfortranarray(data), Cloud(shuffled))
    ]
    for result in results[1:]:
        assert result == results[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centering", CENTERINGS)
def test_batch_changes_nothing(wavy_cloud, kind, centering):
    data, points, covectors = cloud_of(kind, wavy_cloud)
    check_batch_invariance(PrincipalSubbundle(data, 1, 0.8, centering=centering), points, covectors, length=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_the_same_in_batches_of_every_size(wavy_cloud, kind):
    data, points, covectors = cloud_of(kind, wavy_cloud)
    bundle = PrincipalSubbundle(data, 1, 0.8, n_jobs=3)
    alone = bundle.field(points[:1], covectors[:1]).force
    for size in (2, 3, 5, 16, 17, 33, 200):
        rows = np.resize(np.arange(5), size)
        force = bundle.field(points[rows], covectors[rows]).force
        np.testing.assert_array_equal(force[rows == 0], np.repeat(alone, np.count_nonzero(rows == 0), axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_number_of_threads_changes_nothing(wavy_cloud, kind):
    data, points, covectors = cloud_of(kind, wavy_cloud)
    points, covectors = np.tile(points, (8, 1)), np.tile(covectors, (8, 1))
    points += 0.01 * np.random.default_rng(0).normal(size=points.shape) / np.sqrt(points.shape[1])
    check_n_jobs_invariance(
        lambda jobs: PrincipalSubbundle(data, 1, 0.8, centering="recentred", n_jobs=jobs), points, covectors, length=0.1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_through_pickle_gives_the_same_bits(wavy_cloud, kind):
    data, points, covectors = cloud_of(kind, wavy_cloud)
    bundle = PrincipalSubbundle(data, 1, 0.8, centering="recentred", kernel="compact")
    assert everything(pickle.loads(pickle.dumps(bundle)), points, covectors) == everything(bundle, points, covectors)


@pytest.mark.parametrize("kind", ["space", "rows"])
def test_callers_on_several_threads_get_the_same_bits_and_leave_blas_alone(wavy_cloud, kind):
    data, points, covectors = cloud_of(kind, wavy_cloud)
    bundle = PrincipalSubbundle(data, 1, 0.8, n_jobs=2)
    expected = everything(bundle, points, covectors)
    before = [library["num_threads"] for library in threadpoolctl.threadpool_info()]
    results = []
    threads = [
        Thread(target=lambda: results.extend(everything(bundle, points, covectors) for _ in range(5))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all(result == expected for result in results)
    assert [library["num_threads"] for library in threadpoolctl.threadpool_info()] == before


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize("kind", KINDS)
def test_frame_and_field_follow_a_motion_and_a_change_of_unit(wavy_cloud, kind, centering, kernel):
    # With T(x) = c Q x + b: P′ = Q P Qᵀ, and H′(Tp, Qη) = H(p, η), so the force turns with Q and is divided by c.
    data, points, covectors = cloud_of(kind, wavy_cloud)
    dim, rng = data.shape[1], np.random.default_rng(2)
    turn, move, scale = np.linalg.qr(rng.normal(size=(dim, dim)))[0], 10.0 * rng.normal(size=dim), 3.7
    bundle = PrincipalSubbundle(data, 1, 0.8, centering=centering, kernel=kernel)
    moved = PrincipalSubbundle(scale * data @ turn.T + move, 1, 0.8 * scale, centering=centering, kernel=kernel)
    there = scale * points @ turn.T + move
    frame, frame_there = bundle.frame(points), moved.frame(there)
    field, field_there = bundle.field(points, covectors), moved.field(there, covectors @ turn.T)
    np.testing.assert_array_equal(frame_there.status, frame.status)
    # Coordinates of size 10 c are rounded to 1e-15 of that; the force has it over the gap and the bandwidth.
    bound = 1e-11 / frame.gap.min()
    np.testing.assert_allclose(frame_there.eigenvalues, scale**2 * frame.eigenvalues, atol=1e-11 * scale**2)
    np.testing.assert_allclose(frame_there.mean, scale * frame.mean @ turn.T + move, atol=1e-11 * scale)
    np.testing.assert_allclose(frame_there.density, frame.density, rtol=1e-10)
    np.testing.assert_allclose(field_there.velocity, field.velocity @ turn.T, atol=bound)
    np.testing.assert_allclose(field_there.force, field.force @ turn.T / scale, atol=bound / frame.gap.min() * 10.0)


@pytest.mark.parametrize("kind", ["plane", "space", "rows"])
def test_geodesics_follow_the_data(wavy_cloud, kind):
    data, points, covectors = cloud_of(kind, wavy_cloud)
    check_equivariance(lambda rows, c: PrincipalSubbundle(rows, 1, 0.8 * c), data, points, covectors, length=0.3)


def test_powers_of_two_change_no_bit(wavy_cloud):
    # Scaling by a power of two only changes exponents.
    data, points, covectors = cloud_of("space", wavy_cloud)
    bundle, scaled = PrincipalSubbundle(data, 2, 0.8), PrincipalSubbundle(1024.0 * data, 2, 0.8 * 1024.0)
    field, field_scaled = bundle.field(points, covectors), scaled.field(1024.0 * points, covectors)
    np.testing.assert_array_equal(field_scaled.velocity, field.velocity)
    np.testing.assert_array_equal(field_scaled.force, field.force / 1024.0)


@pytest.mark.parametrize("dim", [2, 3, 6, 20])
def test_map_coordinates_lose_no_digit(wavy_cloud, dim):
    # Everything on a grid of 2⁻²⁰ and moved by whole numbers: the centred numbers are the same to the bit.
    data = np.round(wavy_cloud(dim, 300, seed=3) * 2**20) / 2**20
    points = np.round(data[:6] * 2**19) / 2**20
    covectors = np.random.default_rng(0).normal(size=points.shape)
    move = np.resize([500_000.0, 5_400_000.0, 300.0, -70_000.0], dim)
    bundle, far = PrincipalSubbundle(data, 1, 0.8), PrincipalSubbundle(data + move, 1, 0.8)
    near_field, far_field = bundle.field(points, covectors), far.field(points + move, covectors)
    assert (near_field.status == Status.OK).any()
    np.testing.assert_array_equal(far_field.velocity, near_field.velocity)
    np.testing.assert_array_equal(far_field.force, near_field.force)
    # Only the mean has to be written in the large numbers again: 2⁻³⁰ is the spacing of floats near 5.4e6.
    np.testing.assert_allclose(far.frame(points + move).mean - move, bundle.frame(points).mean, atol=2.0**-29)


@pytest.mark.parametrize("dim", [3, 20])
def test_duplicating_every_observation_changes_rounding_only(wavy_cloud, dim):
    data = wavy_cloud(dim, 200, seed=4)
    points, covectors = data[:4], np.random.default_rng(0).normal(size=(4, dim))
    once = PrincipalSubbundle(data, 1, 0.8)
    thrice = PrincipalSubbundle(np.repeat(data, 3, axis=0), 1, 0.8)
    a, b = once.field(points, covectors), thrice.field(points, covectors)
    np.testing.assert_array_equal(a.status, b.status)
    np.testing.assert_allclose(b.velocity, a.velocity, atol=1e-11)
    np.testing.assert_allclose(b.force, a.force, atol=1e-10 * np.nanmax(np.abs(a.force)))
    assert thrice.typical_mass == pytest.approx(3.0 * once.typical_mass, rel=0.05)  # another sample of observations


@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
@pytest.mark.parametrize("kind", ["plane", "space", "sixteen", "seventeen", "forty", "flat"])
def test_a_weight_of_two_is_the_observation_twice(wavy_cloud, kind, kernel):
    dim = {"sixteen": 16, "seventeen": 17, "forty": 40}.get(kind)
    if dim is None:
        data, points, covectors = cloud_of(kind, wavy_cloud)
    else:
        data, rng = wavy_cloud(dim, 350, seed=dim), np.random.default_rng(1)
        points, covectors = data[:5] + 0.02 / np.sqrt(dim), rng.normal(size=(5, dim))
    twice = np.arange(len(data)) % 3 == 0
    clouds = Cloud(data, np.where(twice, 2.0, 1.0)), Cloud(np.concatenate([data, data[twice]]))
    for centering in CENTERINGS:
        one, other = (
            PrincipalSubbundle(cloud, 1, 0.8, centering=centering, kernel=kernel, min_density=0.0) for cloud in clouds
        )
        frames, fields = (one.frame(points), other.frame(points)), [b.field(points, covectors) for b in (one, other)]
        # The same sums in another order.
        for name in ("vectors", "eigenvalues", "mean", "density", "gap"):
            a, b = (getattr(frame, name) for frame in frames)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(fields[0].force, fields[1].force, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(one.masses_after_shifts(data[:9]), other.masses_after_shifts(data[:9]), rtol=1e-6)
