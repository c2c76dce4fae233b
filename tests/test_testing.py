"""The laws hold for the analytic bundles, and each check notices the bundle that breaks its law."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import subbundle.testing as laws
from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent

POINTS, COVECTORS = np.random.default_rng(8).normal(size=(2, 6, 3))
POINTS /= np.linalg.norm(POINTS, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "bundle", [Heisenberg(), SphereTangent(2), SphereTangent(5), Constant(np.eye(4)[:, :2])], ids=repr
)
def test_analytic_bundles_obey_all_laws(bundle):
    points, covectors = np.random.default_rng(1).normal(size=(2, 5, bundle.ambient_dim))
    laws.check_subbundle(bundle, points, covectors, euclidean=not isinstance(bundle, Heisenberg))


@dataclass
class Broken:
    """The tangent spaces of spheres with one thing wrong."""

    wrong: str
    ambient_dim: int = 3
    rank: int = 2
    length_scale: float = 1.0
    is_costly: bool = False
    amount: float = 1e-3

    def frame(self, points):
        frame = SphereTangent(2).frame(points)
        if self.wrong == "frame":
            frame.vectors[:, :, 0] *= 1.0 + self.amount
        return frame

    def field(self, points, covectors):
        field = SphereTangent(2).field(points, covectors)
        if self.wrong == "force":
            return replace(field, force=(1.0 + self.amount) * field.force)
        if self.wrong == "speed":
            return replace(field, velocity=(1.0 + self.amount) * field.velocity)
        if self.wrong == "vertical":
            return replace(field, velocity=field.velocity + self.amount * points)
        if self.wrong == "inhomogeneous":
            # Force that is not quadratic in η.
            return replace(field, force=field.force * (1.0 + self.amount * np.linalg.norm(covectors, axis=1)[:, None]))
        if self.wrong == "batch":
            return replace(field, velocity=field.velocity * (1.0 + 1e-16 * len(points) ** 2))
        if self.wrong == "rough":
            # Not smooth: kinks at a spacing of 1e-2 cost the high-order methods their order.
            kink = np.abs(points[:, :1] / 1e-2 % 2.0 - 1.0)
            return replace(field, force=field.force * (1.0 + self.amount * kink))
        return field


@pytest.mark.parametrize(
    ("wrong", "check", "words"),
    [
        ("frame", laws.check_frame_orthonormal, "the frame is orthonormal"),
        (
            "force",
            laws.check_force_is_gradient,
            "force = −∂H/∂p, relative error must be at most 1e-06; it is 0.000",
        ),
        ("speed", laws.check_force_is_gradient, "velocity = F Fᵀη"),
        ("force", laws.check_hamiltonian_conserved, "H is constant along geodesics"),
        ("inhomogeneous", laws.check_time_homogeneity, "the force is quadratic in η"),
        ("speed", laws.check_unit_speed_length, "length of a geodesic is the given one"),
        ("vertical", laws.check_horizontality, "geodesics are horizontal"),
        ("batch", laws.check_batch_invariance, "field.velocity must not depend on the size of the batch"),
    ],
)
def test_broken_laws_are_noticed(wrong, check, words):
    arguments = (POINTS,) if check is laws.check_frame_orthonormal else (POINTS, COVECTORS)
    check(Broken("nothing"), *arguments)
    with pytest.raises(AssertionError, match=words):
        check(Broken(wrong), *arguments)


def test_a_rough_field_is_noticed_by_its_order():
    laws.check_convergence_order(Broken("nothing"), POINTS, COVECTORS, method="rk4")
    with pytest.raises(AssertionError, match="rk4 must converge with slope 4; it is"):
        laws.check_convergence_order(Broken("rough"), POINTS, COVECTORS, method="rk4")


def test_threads_must_not_matter():
    laws.check_n_jobs_invariance(lambda n_jobs: SphereTangent(2), POINTS, COVECTORS)
    with pytest.raises(AssertionError, match=r"must not depend on n_jobs \(1 against 2\)"):
        laws.check_n_jobs_invariance(lambda n_jobs: Broken("speed", amount=1e-15 * n_jobs), POINTS, COVECTORS)


@dataclass
class Centred:
    """The tangent spaces of the spheres around the mean of some data, with its spread as length scale."""

    data: np.ndarray
    scale: float
    wrong: str = ""
    ambient_dim: int = 3
    rank: int = 2
    is_costly: bool = False

    @property
    def length_scale(self):
        return self.scale

    @property
    def centre(self):
        return np.zeros(3) if self.wrong == "centre" else self.data.mean(axis=0)

    def frame(self, points):
        return SphereTangent(2).frame(points - self.centre)

    def field(self, points, covectors):
        field = SphereTangent(2).field(points - self.centre, covectors)
        if self.wrong == "axis":
            return replace(field, force=field.force + 1e-3 * covectors[:, :1] * field.velocity)
        if self.wrong == "scale":
            return replace(field, force=field.force * (1.0 + 1e-3 * self.scale))
        return field


@pytest.mark.parametrize(("wrong", "words"), [("centre", "translation"), ("axis", "rotation"), ("scale", "scaling")])
def test_equivariance(wrong, words):
    data = np.random.default_rng(0).normal(size=(20, 3))
    points = data.mean(axis=0) + POINTS
    laws.check_equivariance(Centred, data, points, COVECTORS)
    with pytest.raises(AssertionError, match=f"geodesics are equivariant under {words}"):
        laws.check_equivariance(lambda moved, scale: Centred(moved, scale, wrong), data, points, COVECTORS)


def test_incomplete_geodesics_are_reported():
    with pytest.raises(AssertionError, match=r"geodesics must be complete.*the eigenvalue gap closed.*shorter length"):
        laws.check_hamiltonian_conserved(SphereTangent(2), np.zeros((1, 3)), np.ones((1, 3)))
