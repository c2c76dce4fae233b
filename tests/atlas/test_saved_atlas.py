"""Atlases, charts and bundles in files: the same bits afterwards, and nothing from a damaged file."""

import json

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.analytic import Constant, SphereTangent

NEW = sb.datasets.sphere(40, noise=0.02, seed=8).points


@pytest.fixture(scope="module")
def bundle():
    return sb.PrincipalSubbundle(sb.datasets.sphere(1500, noise=0.02, seed=0).points, 2, 0.25, n_jobs=1)


def around(charts):
    """A few overlapping charts: those of a whole sphere take longer."""
    rise = np.linspace(0.0, 1.0, 4)
    return np.column_stack([np.sin(rise), np.zeros(4), np.cos(rise)]), 0.7 if charts == "geodesic" else 0.4


def changed(path, **changes):
    """The file with entries of its description or its arrays replaced."""
    with np.load(path) as file:
        arrays = dict(file)
    description = json.loads(arrays["description"].tobytes())
    for name, value in changes.items():
        if name in description:
            description[name] = value
        else:
            assert "own." + name in arrays
            arrays["own." + name] = np.asarray(value)
    arrays["description"] = np.frombuffer(json.dumps(description).encode(), np.uint8)
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("charts", ["geodesic", "quadratic"])
def test_a_loaded_atlas_gives_the_same_bits(bundle, charts, tmp_path):
    atlas = sb.Atlas(bundle, *around(charts), charts=charts, closest="geodesic")
    again = sb.load(sb.save(atlas, tmp_path / "atlas.npz"))
    assert repr(again) == repr(atlas)
    located, twice = atlas.locate(NEW), again.locate(NEW)
    near = located.status == sb.Status.OK
    assert near.any()
    for name in ("coordinates", "points", "residuals", "status", "spread", "charts"):
        np.testing.assert_array_equal(getattr(twice, name), getattr(located, name))
    rows = located.coordinates[near], located.charts[near]
    for name in ("inverse_transform", "jacobian", "inside"):
        np.testing.assert_array_equal(getattr(again, name)(*rows), getattr(atlas, name)(*rows))
    np.testing.assert_array_equal(again.labels, atlas.labels)
    np.testing.assert_array_equal(again.mesh().vertices, atlas.mesh().vertices)
    ends = located.points[near][:3]
    np.testing.assert_array_equal(
        sb.pairwise_distance(again.bundle, ends), sb.pairwise_distance(atlas.bundle, ends)
    )  # fmt: skip


def test_bundles_and_charts_are_saved_too(bundle, tmp_path):
    def again(model):
        return sb.load(sb.save(model, tmp_path / "model.npz"))

    chart = sb.Chart(bundle, [0.0, 0.0, 1.0], 0.5)
    np.testing.assert_array_equal(again(chart).transform(NEW), chart.transform(NEW))
    assert isinstance(again(chart).bundle, sb.PrincipalSubbundle)
    small = sb.Atlas(bundle, *around("quadratic"), charts="quadratic").charts[0]
    np.testing.assert_array_equal(again(small).transform(NEW), small.transform(NEW))
    in_closed_form = sb.Atlas(SphereTangent(2), [[0.0, 0.0, 1.0]], 0.3)
    assert again(in_closed_form).bundle == SphereTangent(2)
    width = sb.LocalBandwidth([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], [0.25, 0.35], smoothing=0.5)
    varying = sb.PrincipalSubbundle(bundle.rows, 2, width, n_jobs=1)
    on_sphere = sb.RiemannianSubbundle(sb.spaces.Sphere(2).projection(NEW), 1, 0.5, space=sb.spaces.Sphere(2))
    for model in (bundle, varying, on_sphere):
        points = model.rows[:5]
        np.testing.assert_array_equal(again(model).frame(points).vectors, model.frame(points).vectors)


def test_a_bundle_that_is_code_is_not_saved(tmp_path):
    flat = sb.Chart(Constant(np.eye(3)[:, :2]), np.zeros(3), 0.5)
    with pytest.raises(TypeError, match="learned from data or one of Heisenberg, SphereTangent to be saved; got Const"):
        sb.save(flat, tmp_path / "chart.npz")


BIG = [[10**9, 10**9, 10**9]] * 4


@pytest.mark.parametrize(
    ("charts", "changes"),
    [
        ("geodesic", {"points.shapes": BIG}),
        ("geodesic", {"counts.shapes": [[-1]] * 4}),
        ("geodesic", {"kind": 1}),
        ("geodesic", {"kind": 5}),
        ("geodesic", {"closest": -9}),
        ("geodesic", {"sigma": -1.0}),
        ("geodesic", {"sigma": "text"}),
        ("geodesic", {"bundle": {"class": "system"}}),
        ("geodesic", {"class": "RiemannianSubbundle"}),
        ("geodesic", {"version": 4}),
        ("quadratic", {"radii": [np.nan] * 4}),
        ("quadratic", {"radii": np.ones(3)}),
        ("quadratic", {"forms": np.zeros((4, 2, 3))}),
        ("quadratic", {"frames": np.zeros((4, 3, 1))}),
        ("quadratic", {"base_points": np.full((4, 3), np.inf)}),
    ],
)
def test_damaged_files_are_refused(bundle, charts, changes, tmp_path):
    atlas = sb.Atlas(bundle, *around(charts), charts=charts)
    path = changed(sb.save(atlas, tmp_path / "atlas.npz"), **changes)
    with pytest.raises(ValueError, match=r"atlas\.npz (is damaged|was written by a later version)"):
        sb.load(path)
