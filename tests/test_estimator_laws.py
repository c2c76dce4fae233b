"""Laws that hold whatever the numbers are: motions, scales, orders of rows, files. Hypothesis draws them, the same ones
in every run."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import subbundle as sb

FEW = settings(max_examples=2, derandomize=True, deadline=None, database=None)
FILES = settings(FEW, max_examples=20)
ROWS = np.random.default_rng(0).uniform(-1.0, 1.0, (160, 2))
# A bowl, whose paths have no shorter way around.
BOWL = np.column_stack([ROWS, 0.3 * (ROWS**2).sum(axis=1)]) + 0.005 * np.random.default_rng(1).normal(size=(160, 3))
DATA, FRESH = BOWL[:150], BOWL[150:]
# Coordinates that are written with all digits; float32 in some files.
SINGLE = arrays(np.float32, st.tuples(st.integers(1, 6), st.just(3)), elements=st.floats(-1e6, 1e6, width=32))
PARAMETERS = st.fixed_dictionaries(
    {}, optional={"bandwidth": st.floats(0.3, 0.8), "reduce_dim": st.sampled_from([None, "auto"]), "n_jobs": st.just(1)}
)


@st.composite
def motions(draw):
    """A rotation, a shift of some sizes of the data, and a factor."""
    turn = np.linalg.qr(np.random.default_rng(draw(st.integers(0, 2**31))).standard_normal((3, 3)))[0]
    shift = np.array(draw(st.tuples(*[st.floats(-30.0, 30.0)] * 3)))
    return turn, shift, 2.0 ** draw(st.floats(-20.0, 20.0))


def outcomes(points, fresh, scale, order):
    """Quantities without units of models of ``points``, by name, rows in their first order, and how exact they are."""
    chart = sb.PrincipalSubmanifold(2, bandwidth=0.35 * scale, n_jobs=1).fit(points)
    metric = sb.GeodesicDistance(2, bandwidth=0.35 * scale, n_jobs=1).fit(points)
    # Rows as they are: the halves of the table that choose the fits are others when it is rotated.
    atlas = sb.AtlasEmbedding(2, bandwidth=None, n_jobs=1).fit(points)
    back = np.argsort(order)
    inside = np.where(chart.status_ == sb.Status.OK, 1.0 / scale, np.nan)
    lengths = (inside * np.linalg.norm(chart.embedding_, axis=1))[back]
    gaps = np.linalg.norm(np.diff(atlas.embedding_[back], axis=0), axis=1) / scale
    return {
        # Geodesics start along the axes of a frame, and between them a chart errs by up to a hundredth of a bandwidth.
        "radial coordinates": (lengths, 5e-3),
        "residuals of a chart": ((inside * chart.residuals_)[back], 5e-3),
        # Landmarks are others, and paths are straightened to 1e-4 of a bandwidth.
        "distances": (metric.pairwise(fresh[:4]) / scale, 1e-3),
        # Landmarks are others, and layouts are iterated to 1e-4 or so of their size.
        "gaps of an atlas": (gaps, 1e-2),
        "components": (atlas.labels_[back], 0.0),
    }


@cache
def plain():
    return outcomes(DATA, FRESH, 1.0, np.arange(150))


@pytest.mark.filterwarnings("ignore::subbundle.SubbundleWarning")
@FEW
@given(motion=motions(), order=st.permutations(range(150)))
def test_models_move_and_scale_with_the_data_in_any_order(motion, order):
    turn, shift, scale = motion
    moved, fresh = (scale * (rows @ turn + shift) for rows in (DATA, FRESH))
    for name, (values, tolerance) in outcomes(moved[order], fresh, scale, order).items():
        known = np.isfinite(values) & np.isfinite(plain()[name][0])
        assert known.mean() > 0.85, name
        np.testing.assert_allclose(values[known], plain()[name][0][known], atol=tolerance, err_msg=name)


@FILES
@given(points=SINGLE, suffix=st.sampled_from([".ply", ".npy", ".csv", ".xyz"]))
def test_points_come_back_from_files(points, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"points{suffix}"
        if suffix == ".ply":
            sb.io.write_ply(path, points)
        elif suffix == ".npy":
            np.save(path, points)
        else:
            np.savetxt(path, points, delimiter="," if suffix == ".csv" else " ", fmt="%.17g")
        np.testing.assert_array_equal(sb.io.read_points(path), points.astype(np.float64))


@pytest.mark.filterwarnings("ignore::subbundle.SubbundleWarning")
@FEW
@given(kind=st.sampled_from(["PrincipalSubmanifold", "AtlasEmbedding", "GeodesicDistance"]), parameters=PARAMETERS)
def test_models_come_back_from_files(kind, parameters):
    model = getattr(sb, kind)(2, **parameters).fit(DATA)
    with tempfile.TemporaryDirectory() as folder:
        again = sb.load(sb.save(model, Path(folder) / "model.npz"))
    assert again.get_params() == model.get_params()
    one, other = (each.locate(FRESH) for each in (model, again))
    for name in ("coordinates", "points", "residuals", "status"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
