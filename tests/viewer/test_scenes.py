"""Scenes of objects before anything is drawn: every kind, every kind of bad input, and the bytes of a page."""

from __future__ import annotations

import gzip
import json
import re
import sys

import numpy as np
import pytest

import subbundle as sb
from subbundle.viewer import packing, page
from subbundle.viewer.rows import MOST_POINTS, shown_rows

TORUS = sb.datasets.torus(300, seed=1).points


def test_positions_keep_sixteen_bits():
    description, block = packing.pack(sb.view(TORUS).scene)
    record = description["layers"][0]["positions"]
    _, offset, length = record["codes"]["buffer"]
    codes = np.frombuffer(gzip.decompress(block), np.uint16, length, offset).reshape(-1, 3)
    back = np.array(record["low"]) + codes * np.array(record["step"])
    # Half a step, and the rounding of the arithmetic.
    assert (np.abs(back - TORUS) <= 0.5001 * np.array(record["step"])).all()


def test_missing_values_have_a_code_of_their_own():
    codes, low, high = packing.codes_of(np.array([1.0, np.nan, 3.0, np.inf, 2.0]))
    assert (low, high) == (1.0, 3.0)
    assert codes.tolist() == [0, 65535, 65534, 65535, 32767]


def test_faces_are_restored_from_their_differences():
    faces = np.random.default_rng(0).integers(0, 300, (50, 3))
    description, block = packing.pack(sb.view(sb.Mesh(TORUS, faces)).scene)
    _, offset, length = description["layers"][0]["faces"]["buffer"]
    differences = np.frombuffer(gzip.decompress(block), np.uint32, length, offset)
    assert np.cumsum(differences, dtype=np.uint32).reshape(-1, 3).tolist() == faces.tolist()


def test_what_is_hidden_has_its_layers_but_does_not_show():
    layers = sb.view({"first": TORUS, "second": TORUS}, hidden=["first"]).scene.layers
    assert [(layer.name, layer.visible) for layer in layers] == [("first", False), ("second", True)]
    assert not sb.view({"first": TORUS}, hidden="first").scene.layers[0].visible
    with pytest.raises(ValueError, match=r"hidden must name what is viewed: points\. Got mesh, 3"):
        sb.view(TORUS, hidden=["mesh", 3])


def test_the_same_view_gives_the_same_bytes():
    pytest.importorskip("k3d")
    assert sb.view(TORUS).html() == sb.view(TORUS).html()


def test_a_title_cannot_end_its_element():
    pytest.importorskip("k3d")
    text = sb.view(TORUS, title="</script><script>alert(1)</script>").html()
    assert "<script>alert" not in text
    found = re.search(r'id="sb-description">(.*?)</script>', text, re.DOTALL)
    assert json.loads(found[1])["title"] == "</script><script>alert(1)</script>"


def test_our_modules_become_one_without_imports():
    code = page.module()
    assert not re.search(r"^(import|export) ", code, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", code, re.MULTILINE)
    assert len(names) == len(set(names))


def test_no_module_of_ours_names_an_address():
    assert not re.search(r"https?://|//cdn|unpkg", page.module() + page.style())


@pytest.mark.parametrize(
    ("thing", "kinds"),
    [
        (TORUS, ["points"]),
        (TORUS[:, :2], ["points"]),
        (TORUS[:, :1], ["points"]),
        (TORUS.tolist(), ["points"]),
        (sb.Cloud(TORUS), ["points"]),
        (sb.datasets.torus(300), ["points"]),
        ({"one": TORUS, "two": TORUS + 3.0}, ["points", "points"]),
        (sb.PrincipalSubbundle(TORUS, 2, 0.4), ["points"]),
        (sb.geodesic(sb.bundles.SphereTangent(2), [0, 0, 1.0], [1.0, 0.0], length=1.0), ["lines"]),
        (sb.geodesic(sb.bundles.SphereTangent(2), [0, 0, 1.0], np.eye(2), length=1.0), ["lines"]),
        (sb.Chart(sb.bundles.SphereTangent(2), [0, 0, 1.0], 1.0, n_geodesics=32), ["points", "points", "lines"]),
        (sb.submanifold(sb.bundles.SphereTangent(2), [0, 0, 1.0], 1.0, step=0.2), ["points", "points", "lines"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_every_kind_of_object(thing, kinds):
    scene = sb.view(thing).scene
    assert [layer.kind for layer in scene.layers] == kinds
    packing.pack(scene)


def test_data_frames_are_coloured_by_text_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": TORUS[:, 0], "y": TORUS[:, 1], "kind": ["a", "b"] * 150})
    table = sb.view(frame).scene.tables[0]
    assert [(q.name, q.labels) for q in table.quantities] == [("kind", ("a", "b"))]
    assert table.default == "kind"


def test_a_report_is_shown_with_the_cloud():
    cloud = sb.datasets.torus(300, noise=0.02).points
    scene = sb.view({"torus": cloud, "report": sb.diagnose(cloud, 2, 0.2)}).scene
    assert len(scene.figures) == 1
    assert scene.figures[0].png.startswith(b"\x89PNG")
    assert ("rank", "2 (given)") in scene.facts or any(name == "rank" for name, _ in scene.facts)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (np.zeros((0, 3)), "points must hold at least one point; it is empty"),
        (np.full((5, 3), np.nan), "points must hold at least one finite point; all 5 rows have NaN or infinity"),
        (np.zeros(5), r"points must be a 2-D array of points, shape \(n_points, dim\); got shape \(5,\)"),
        ({}, "view needs at least one object; got an empty dict"),
        (sb.AtlasEmbedding(2), "AtlasEmbedding must be fitted before it is viewed"),
        (sb.GeodesicDistance(2), "GeodesicDistance must be fitted before it is viewed"),
        (sb.Mesh(TORUS, np.zeros((0, 3), int)), "Mesh must have at least one face; it has none"),
    ],
)
def test_bad_input_gets_a_message(thing, message):
    with pytest.raises(ValueError, match=message):
        sb.view(thing)


def test_unsupported_objects_are_named():
    with pytest.raises(TypeError, match="view takes arrays of points, Mesh, Atlas.*; got set"):
        sb.view({1, 2})


def test_rows_with_nan_are_left_out_and_counted():
    cloud = TORUS.copy()
    cloud[[3, 8]] = np.nan
    scene = sb.view(cloud).scene
    assert scene.notes == ["2 rows of points with NaN or infinity are not shown"]
    assert scene.tables[0].rows[:5].tolist() == [0, 1, 2, 4, 5]


def test_a_hundred_million_points_are_thinned_before_they_are_copied():
    # No such array fits into the memory of a test: one row stands for all.
    huge = np.broadcast_to(np.array([[1.0, 2.0, 3.0]]), (10**8, 3))
    shown = shown_rows(huge, "scan")
    assert shown.notes == ("showing 1,000,000 of 100,000,000 points of scan",)
    assert shown.points.shape == (MOST_POINTS, 3)
    assert (np.diff(shown.rows) > 0).all()
    assert shown.rows[0] < 100
    assert shown.rows[-1] >= 10**8 - 100


def test_the_message_for_an_unknown_colour_lists_the_known_ones():
    with pytest.raises(ValueError, match="color must be one of x, y, z; got 'heat'"):
        sb.view(TORUS, color="heat")


def test_columns_must_fit():
    with pytest.raises(ValueError, match=r"'heat' must have one entry per point, 300; got shape \(299,\)"):
        sb.view(TORUS, columns={"heat": np.zeros(299)})


def test_without_k3d_the_message_names_the_extra(monkeypatch):
    page.library.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "k3d", None)
    with pytest.raises(ImportError, match=r'pip install "subbundle\[view\]"'):
        sb.view(TORUS).html()


def test_only_html(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .html; got 'a.pdf'"):
        sb.view(TORUS).save(tmp_path / "a.pdf")


def test_bundles_on_manifolds_have_estimates_too():
    """A small circle of the unit sphere at the polar angle 1: its geodesic curvature is cot 1."""
    turn = np.linspace(0.0, 2.0 * np.pi, 300, endpoint=False)
    ring = np.column_stack([np.sin(1.0) * np.cos(turn), np.sin(1.0) * np.sin(turn), np.full(300, np.cos(1.0))])
    bundle = sb.RiemannianSubbundle(ring, 1, 0.1, space=sb.spaces.Sphere(2))
    shown = {quantity.name: quantity.values for quantity in sb.view(bundle).scene.tables[0].quantities}
    np.testing.assert_allclose(shown["curvature"], 1.0 / np.tan(1.0), rtol=0.02)
    np.testing.assert_allclose(shown["distance to the ridge"], 0.0, atol=1e-3)
