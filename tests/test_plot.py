"""Figures: what is in front hides what is behind, scales are equal, nothing global is touched."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from subbundle import plot


def pixels(figure, tmp_path):
    path = plot.save_png(figure, tmp_path / "picture.png", dpi=60)
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def count(image, rgb):
    """Pixels within rounding and dithering of a colour."""
    return int((np.abs(image - np.array(rgb)).max(axis=2) < 40).sum())


def square(x):
    """A square of side 2 in the plane of constant x, as vertices and faces."""
    vertices = np.array([[x, -1, -1], [x, 1, -1], [x, 1, 1], [x, -1, 1]], dtype=float)
    return vertices, np.array([[0, 1, 2], [0, 2, 3]])


def test_view_is_a_right_handed_orthonormal_camera():
    for view in (plot.View(), plot.View(30.0, -70.0)):
        assert view.axes @ view.axes.T == pytest.approx(np.eye(3), abs=1e-15)
        assert np.linalg.det(view.axes) == pytest.approx(1.0)
    # From the x axis: y to the right, z up.
    assert plot.View(0.0, 0.0).axes == pytest.approx(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), abs=1e-15)


@pytest.mark.parametrize("curve_in_front", [True, False])
def test_a_surface_hides_a_curve_behind_it(tmp_path, curve_in_front):
    figure, (panel,) = plot.new_figure()
    scene = plot.Scene(plot.View(0.0, 0.0), fog=0.0)
    x = 1.0 if curve_in_front else -1.0
    scene.add_curves([[[x, -0.9, 0.0], [x, 0.9, 0.0]]], color="#ff0000", width=6.0)
    scene.add_triangles(*square(0.0), color="#0000ff")
    scene.draw(panel)
    assert (count(pixels(figure, tmp_path), (255, 0, 0)) > 100) == curve_in_front


def test_distant_objects_are_paler(tmp_path):
    figure, (panel,) = plot.new_figure()
    scene = plot.Scene(plot.View(0.0, 0.0), fog=1.0)
    scene.add_points([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]], color="black", size=400.0)
    scene.draw(panel, margin=0.3)
    image = pixels(figure, tmp_path)
    left, right = np.array_split(image.sum(axis=2), 2, axis=1)
    assert left.min() < 60
    assert right.min() > 700


def test_lit_points_on_the_far_side_are_left_out():
    from subbundle._closest import spiral_directions

    directions = spiral_directions(500)
    scene = plot.Scene(plot.View(0.0, 0.0))
    scene.add_points(directions, normals=directions)
    (items,) = scene._items
    assert len(items.depth) == np.count_nonzero(directions[:, 0] > 0)
    assert (items.depth > 0).all()


def test_rows_with_nan_are_left_out(tmp_path):
    figure, (panel,) = plot.new_figure()
    curve = np.zeros((1, 5, 3))
    curve[0, :, 1] = np.arange(5)
    curve[0, 3:] = np.nan
    scene = plot.Scene()
    scene.add_curves(curve, color=plot.colours_of(np.arange(5.0)[None]))
    scene.add_points([[np.nan, 0.0, 0.0]])
    assert [len(items.depth) for items in scene._items] == [2, 0]
    scene.draw(panel)
    plot.save_png(figure, tmp_path / "a.png", dpi=40)


def test_an_empty_scene_draws_nothing(tmp_path):
    figure, (panel,) = plot.new_figure()
    plot.Scene().draw(panel)
    assert (pixels(figure, tmp_path) == 255).all()


def test_axes_are_equal():
    _figure, (panel,) = plot.new_figure()
    scene = plot.Scene(plot.View(0.0, 0.0))
    scene.add_points([[0.0, 0.0, 0.0], [0.0, 8.0, 1.0]])
    scene.draw(panel)
    box = panel.get_window_extent()
    scale = [box.width / np.ptp(panel.get_xlim()), box.height / np.ptp(panel.get_ylim())]
    assert scale[0] == pytest.approx(scale[1])


def test_small_red_dots_stay_red_and_white_stays_white(tmp_path):
    figure, (panel,) = plot.new_figure()
    scene = plot.Scene(plot.View(0.0, 0.0), fog=0.0)
    vertices = np.random.default_rng(0).standard_normal((3000, 3))
    scene.add_points(vertices, color=plot.colours_of(vertices[:, 2]), size=30.0)
    scene.add_points([[5.0, 0.0, 0.0]], color="#ff0000", size=30.0)
    scene.draw(panel)
    image = pixels(figure, tmp_path)
    assert count(image, (255, 0, 0)) > 5
    assert (image[0] == 255).all()


def test_colours_are_a_sequential_map_between_the_limits():
    colors = plot.colours_of([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan], low=0.0, high=1.0)
    assert colors.shape == (6, 4)
    assert np.array_equal(colors[0], colors[1])
    assert np.array_equal(colors[3], colors[4])
    luminance = plot.colours_of(np.linspace(0, 1, 20))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) > 0).all()


def test_strokes_of_a_plane_bundle_are_centred_and_checked():
    _figure, (panel,) = plot.new_figure()
    plot.draw_lines_of_bundle(panel, [[0.0, 0.0]], [[1.0, 0.0]], length=0.5)
    (quiver,) = panel.collections
    assert quiver.pivot == "middle"
    with pytest.raises(ValueError, match="vectors must have 2 coordinates"):
        plot.draw_lines_of_bundle(panel, [[0.0, 0.0]], [[1.0, 0.0, 0.0]], length=0.5)


def test_arrows_reach_from_start_to_tip():
    scene = plot.Scene(plot.View(0.0, 0.0))
    scene.add_arrows([[0.0, 0.0, 0.0]], [[0.0, 2.0, 0.0]])
    shaft, *barbs = scene._items
    assert shaft.flat[0] == pytest.approx(np.array([[0.0, 0.0], [2.0, 0.0]]))
    for barb in barbs:
        assert barb.flat[0, 1] == pytest.approx(np.array([2.0, 0.0]))
        assert 0.0 < barb.flat[0, 0, 0] < 2.0


def test_only_png(tmp_path):
    figure, _ = plot.new_figure()
    with pytest.raises(ValueError, match=r"path must end in .png; got 'a.pdf'"):
        plot.save_png(figure, tmp_path / "a.pdf")


def test_without_matplotlib_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "subbundle\[plot\]"'):
        plot.new_figure()


def test_panels_of_our_own_load_no_pyplot():
    import subprocess

    script = (
        "import sys\n"
        "from subbundle import plot\n"
        "figure, (panel,) = plot.new_figure()\n"
        "scene = plot.Scene(); scene.add_points([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]); scene.draw(panel)\n"
        "plot.add_scale(figure, panel, 0.0, 1.0, 'x')\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
