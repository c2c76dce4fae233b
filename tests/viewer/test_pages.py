"""One file, opened from disk in a real browser: what is drawn, marked, measured, and not requested."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import subbundle as sb

HOVER, FIRST_PIN = (0xE6, 0x9F, 0x00), (0xD5, 0x5E, 0x00)


@pytest.fixture(scope="module")
def cap():
    """A cap of the unit sphere: points, normal coordinates, exact distances."""
    return sb.submanifold(sb.bundles.SphereTangent(2), [0.0, 0.0, 1.0], 1.2, step=0.1, n_geodesics=24)


def drawn(image):
    """Fraction of the pixels of the views that are no background."""
    views = image[60:560, 300:1090]
    return float((np.abs(views - 255).max(axis=2) > 30).mean())


def test_points_are_drawn_offline_without_any_request(opened):
    page = opened(sb.view(sb.datasets.torus(4000).points, title="a torus"))
    assert drawn(page.pixels()) > 0.05
    assert [url for url in page.requests if not url.startswith(("file:", "blob:", "data:"))] == []
    assert page.raw.title() == "a torus"
    assert page.raw.locator(".sb-mode").inner_text() == "geodesics: approximate"


def test_on_a_narrow_screen_the_scene_comes_first_and_is_as_wide_as_it(opened, page):
    page.raw.set_viewport_size({"width": 390, "height": 800})
    opened(sb.view(sb.datasets.torus(4000).points, title="a torus with a title that is longer than the screen is wide"))
    stage, controls = (page.raw.locator(name).bounding_box() for name in (".sb-stage", ".sb-sidebar"))
    assert (stage["x"], stage["width"]) == (0, 390)
    assert stage["height"] > 300
    assert controls["y"] >= stage["y"] + stage["height"] - 1
    assert page.raw.locator(".sb-bar").evaluate("(bar) => bar.scrollWidth <= bar.clientWidth")
    views = page.pixels()[int(stage["y"]) + 40 : int(stage["y"]) + 300]
    assert (np.abs(views - 255).max(axis=2) > 30).mean() > 0.05


def test_hovering_marks_the_linked_point_in_the_other_view(opened, cap):
    page = opened(sb.view(cap))
    row = 40
    there = page.place("space3", "layer1", row)
    assert not page.near(*there, HOVER)
    page.raw.mouse.move(*page.place("coordinates", "layer0", row))
    page.wait(f"subbundleView.state.hover?.index === {row}")
    assert page.near(*there, HOVER)
    assert f"row {row}" in page.raw.locator(".sb-tip").inner_text()
    page.raw.mouse.move(5, 5)
    page.wait("subbundleView.state.hover === null")


def test_hovering_colours_by_distance_along_the_shape(opened, cap):
    page = opened(sb.view(cap))
    before = page.pixels()
    page.raw.mouse.move(*page.place("coordinates", "layer0", 0))
    page.wait("subbundleView.spread?.quantity.name === 'distance along the shape'")
    # From the pole the distance is the polar angle. Paths in a graph are a few per cent longer; an arc of an edge is
    # estimated from the frames at its ends, which lean at the border of the cap.
    found = np.array(page.js("[...subbundleView.along.table0.from(0)]"))
    truth = cap.distances[cap.valid]
    assert (found >= 0.99 * truth).all()
    assert np.median(found[1:] / truth[1:]) < 1.06
    assert (np.abs(page.pixels() - before).max(axis=2) > 40).mean() > 0.005


def test_distances_in_the_page_are_those_of_its_graph(opened):
    view = sb.view(sb.datasets.torus(1200).points)
    graph = view.scene.tables[0].graph
    page = opened(view)
    found = np.array(page.js("[...subbundleView.along.table0.from(7)]"))
    matrix = csr_array((graph.lengths, graph.ends, graph.starts))
    # Lengths travel as float32.
    assert found == pytest.approx(dijkstra(matrix, indices=7), rel=1e-6)


def test_two_clicks_in_a_file_give_a_path_called_approximate(opened, cap):
    page = opened(sb.view(cap))
    valid = cap.points[cap.valid]
    first, second = 5, 12 * 12 + 9  # far enough out that no other point covers them
    for row in (first, second):
        page.raw.mouse.click(*page.place("coordinates", "layer0", row))
    page.wait("subbundleView.state.geodesic?.length > 0")
    assert page.js("subbundleView.state.pins.map((pin) => pin.index)") == [first, second]
    card = page.raw.locator(".sb-geodesic").inner_text()
    assert "approximate" in card
    straight = np.linalg.norm(valid[first] - valid[second])
    exact = 2.0 * np.arcsin(0.5 * straight)
    state = page.js("subbundleView.state.geodesic")
    assert state["straight"] == pytest.approx(straight, abs=1e-4)  # positions are 16-bit codes
    assert 0.99 * exact < state["length"] < 1.1 * exact
    assert page.near(*page.place("space3", "layer1", first), FIRST_PIN, reach=12)
    page.raw.keyboard.press("Escape")
    page.js("document.querySelector('.sb-geodesic button')?.click()")
    assert page.js("subbundleView.state.pins.length") == 0


def test_brushing_selects_in_every_view_and_fades_the_rest(opened, cap):
    page = opened(sb.view(cap))
    box = page.js("(({left, top}) => [left, top])(subbundleView.panels[0].element.getBoundingClientRect())")
    x, y = page.place("coordinates", "layer0", 0)
    page.raw.keyboard.down("Shift")
    page.raw.mouse.move(box[0] + 20, box[1] + 30)
    page.raw.mouse.down()
    page.raw.mouse.move(x, y, steps=4)
    page.raw.mouse.up()
    page.raw.keyboard.up("Shift")
    page.wait("Object.keys(subbundleView.state.selection).length === 1")
    marks = np.array(page.js("[...subbundleView.state.selection.table0]"), dtype=bool)
    coordinates = cap.coordinates[cap.valid]
    # Left of and above the pole: negative first coordinate, positive second.
    assert marks.any()
    assert (coordinates[marks, 0] < 0.02).all()
    assert (coordinates[marks, 1] > -0.02).all()
    shared = page.js("subbundleView.panels.map((p) => p.things.values().next().value.material.uniforms.dimmed.value)")
    assert shared == [pytest.approx(0.82)] * 2


def test_layers_colours_sizes_and_clips_change_what_is_drawn(opened):
    points = sb.datasets.torus(3000).points
    page = opened(sb.view(points, columns={"side": np.where(points[:, 0] > 0, "right", "left")}, color="side"))
    assert page.raw.locator(".sb-category").all_inner_texts() == ["left", "right"]
    categories = page.pixels()
    page.raw.select_option("[data-colour=table0]", "z")
    page.wait("subbundleView.quantityOf('table0').name === 'z'")
    numbers = page.pixels()
    assert (np.abs(numbers - categories).max(axis=2) > 40).mean() > 0.02
    page.js("subbundleView.setClip(subbundleView.panels[0], {axis: 2, place: 0.5, side: 1})")
    assert 0.3 < drawn(page.pixels()) / drawn(numbers) < 0.95
    page.raw.uncheck("[data-layer=layer0]")
    assert drawn(page.pixels()) < 0.2 * drawn(numbers)  # the box around it stays


def test_a_mesh_is_lit_and_its_border_drawn(opened):
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 40, endpoint=False), np.linspace(0, 1, 12))
    vertices = np.column_stack([np.cos(angle).ravel(), np.sin(angle).ravel(), height.ravel()])
    a = (np.arange(11)[:, None] * 40 + np.arange(40)).ravel()
    b = (np.arange(11)[:, None] * 40 + (np.arange(40) + 1) % 40).ravel()
    faces = np.concatenate([np.column_stack([a, b, b + 40]), np.column_stack([a, b + 40, a + 40])])
    page = opened(sb.view(sb.Mesh(vertices, faces), title="a cylinder"))
    image = page.pixels()
    orange = (np.abs(image - np.array(FIRST_PIN)).max(axis=2) < 25).sum()
    assert orange > 300
    assert drawn(image) > 0.1
    # Along the edges of the mesh a half turn is at most a few per cent longer than π, never shorter than the polygon.
    length = page.js("subbundleView.along.table0.between(0, 20).length")
    assert length == pytest.approx(40 * np.sin(np.pi / 40), rel=1e-3)


def test_a_path_along_a_coordinate_moves_through_space(opened):
    cloud = sb.datasets.s_surface(700, noise=0.01, seed=0).points
    with pytest.warns(sb.SubbundleWarning, match="outside the chart"):
        model = sb.PrincipalSubmanifold(2, radius=1.5).fit(cloud)
    page = opened(sb.view(model, cloud))
    page.js(
        """(() => {
            const slider = document.querySelector("[data-action=walk]");
            slider.value = 60;
            slider.dispatchEvent(new Event("input"));
        })()"""
    )
    walk = page.js("({value: subbundleView.data.walks[0].values[60], at: subbundleView.walked.space3})")
    middle = np.median(model.embedding_, axis=0)
    expected = model.inverse_transform([[walk["value"], middle[1]]])[0]
    assert walk["at"] == pytest.approx(expected.tolist(), abs=1e-5)  # float32


def test_rows_that_are_images_are_shown(opened):
    rng = np.random.default_rng(0)
    page = opened(sb.view(rng.random((60, 12)), image_shape=(3, 4)))
    page.raw.mouse.move(*page.place("space12", "layer0", 5))
    page.wait("subbundleView.state.hover !== null")
    assert page.raw.locator(".sb-tip canvas").count() == 1


def test_other_features_can_be_put_on_the_axes(opened):
    cloud = np.random.default_rng(0).normal(size=(500, 7)) * np.arange(1, 8)
    page = opened(sb.view(cloud))
    assert "7 dimensions: the first three principal components are shown" in page.raw.locator(".sb-note").inner_text()
    page.js("subbundleView.setAxes(subbundleView.panels[0], ['x1', 'x2', 'x3'])")
    limits = np.array(page.js("subbundleView.panels[0].record.limits"))
    assert limits == pytest.approx(np.column_stack([cloud[:, :3].min(axis=0), cloud[:, :3].max(axis=0)]))
    assert drawn(page.pixels()) > 0.01


def test_a_screenshot_is_an_image_of_the_views(opened):
    page = opened(sb.view(sb.datasets.torus(2000).points))
    with page.raw.expect_download() as download:
        page.raw.get_by_text("Screenshot").click()
    assert download.value.suggested_filename == "subbundle.png"
    from PIL import Image

    image = np.asarray(Image.open(download.value.path()).convert("RGB")).astype(int)
    assert (np.abs(image - 255).max(axis=2) > 30).mean() > 0.05


def test_a_file_reports_when_it_shows_a_subset(opened, monkeypatch):
    monkeypatch.setattr("subbundle.viewer.rows.MOST_POINTS", 1000)
    page = opened(sb.view(sb.datasets.torus(2500).points))
    assert page.raw.locator(".sb-note").inner_text() == "showing 1,000 of 2,500 points of points"
    rows = page.js("[...subbundleView.data.tables.table0.rows]")
    assert len(rows) == 1000
    assert (np.diff(rows) > 0).all()


def test_dark_and_light(opened):
    page = opened(sb.view(sb.datasets.torus(500).points))
    assert page.pixels()[60:640, 300:1000].mean() > 200
    page.raw.get_by_title("Light or dark").click()
    assert page.pixels()[60:640, 300:1000].mean() < 80
