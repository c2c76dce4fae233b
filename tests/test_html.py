"""What notebooks show: well-formed, true, small, safe, and made without a plotting package."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import subbundle as sb
from subbundle._html import card, dots, endings, strokes

CLOUD = sb.datasets.torus(400, noise=0.02, seed=0).points


class Cells(HTMLParser):
    """Text of the cells of a table, and the tags that are still open at the end."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("th", "td"):
            self.cells[-1] += data


def facts_of(obj):
    """Names and values that a notebook shows of ``obj``."""
    read = Cells(re.sub(r"<(circle|polyline)[^>]*/>", "", obj._repr_html_()))
    assert read.open == []
    return dict(zip(read.cells[::2], read.cells[1::2], strict=True))


def test_a_bundle_shows_its_settings_and_its_cloud():
    bundle = sb.PrincipalSubbundle(CLOUD, rank=2, bandwidth=0.25)
    facts = facts_of(bundle)
    assert (facts["observations"], facts["rank"], facts["bandwidth"]) == ("400 in R^3", "2", "0.25")
    assert bundle._repr_html_().count("<circle") == 400
    assert len(bundle._repr_html_()) < 25_000
    ridge = facts_of(sb.ridge_project(bundle, CLOUD[:50]))
    assert ridge["points"] == "50 in R^3"
    assert sum(int(value.split()[0]) for value in ridge.values() if value.endswith("of 50")) == 50


def test_geodesics_and_submanifolds_show_statuses():
    bundle = sb.bundles.SphereTangent(2)
    fan = sb.geodesic(bundle, [0, 0, 1.0], [[1.0, 0.0], [0.0, 1.0]], length=1.5)
    assert facts_of(fan)["reached"] == "2 of 2"
    assert fan._repr_html_().count("<polyline") == 2
    assert facts_of(sb.geodesic(bundle, [0, 0, 1.0], [1.0, 0.0], length=1.5))["longest"] == "1.5"
    sheet = sb.submanifold(bundle, [0, 0, 1.0], 1.0, step=0.1, n_geodesics=5)
    assert facts_of(sheet)["points reached"] == "51 of 51"
    assert facts_of(sb.log(bundle, [0, 0, 1.0], [[1.0, 0, 0]]))["longest"] == "1.571"
    assert facts_of(sb.Chart(bundle, [0, 0, 1.0], radius=1.0, n_geodesics=32))["radius"] == "1"


def test_what_was_projected_chosen_and_read_is_shown():
    bundle = sb.bundles.SphereTangent(2)
    chart = sb.Chart(bundle, [0, 0, 1.0], radius=1.0, n_geodesics=32)
    north, south = [0.0, 0.6, 0.8], [0.0, 0.6, -0.8]
    located = facts_of(chart.locate([north, south]))
    assert float(located["residual, median"]) < 1e-3  # the chart's tolerance
    assert sum(int(value.split()[0]) for value in located.values() if value.endswith("of 2")) == 2
    assert float(facts_of(chart.locate(north))["residual, median"]) < 1e-3
    data = sb.datasets.sphere(300, noise=0.1)
    assert facts_of(data)["points"] == "300 in R^3"
    # The offset of the observations is the noise across the sphere.
    assert float(facts_of(data)["offset, root mean square"]) == pytest.approx(0.1, rel=0.2)
    choice = facts_of(sb.selection.choose_rank(CLOUD))
    assert (choice["rank"], choice["chosen by"]) == ("2", "covariances")
    scan = sb.scans.Scan(CLOUD, {"intensity": np.ones(400)}, 3, CLOUD)
    assert (facts_of(scan)["rows left out"], facts_of(scan)["also"]) == ("3", "normals, intensity")
    atlas = sb.Atlas(bundle, base_points=[north], radius=1.0)
    assert facts_of(atlas.project([north]))["charts per point"] == "1"


def test_a_mesh_shows_its_report():
    tetrahedron = sb.Mesh(np.eye(4)[:, :3], np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]))
    facts = facts_of(tetrahedron)
    assert (facts["vertices"], facts["border"], facts["Euler characteristic"]) == ("4", "closed", "2")
    assert float(facts["area"]) == pytest.approx(1.5 + 0.75**0.5, rel=1e-3)  # three half squares and a triangle


def test_a_report_shows_its_lines_and_warnings():
    report = sb.diagnose(np.concatenate([CLOUD[:100], CLOUD[:100] + [9.0, 0.0, 0.0]]), rank=2, bandwidth=0.25)
    assert facts_of(report)["observations"] == "200 in R^3"
    assert report._repr_html_().count("⚠") == len(report.warnings) > 0


def test_data_on_a_manifold_names_the_space():
    circle = np.column_stack([np.cos(np.linspace(0, 2, 50)), np.sin(np.linspace(0, 2, 50)), np.zeros(50)])
    bundle = sb.RiemannianSubbundle(circle, rank=1, bandwidth=0.3, space=sb.spaces.Sphere(2))
    assert facts_of(bundle)["observations"] == "50 on Sphere(dim=2)"


def test_an_estimator_shows_what_it_learned_below_its_parameters():
    model = sb.PrincipalSubmanifold(1, bandwidth=0.2, denoise=False)
    before = model._repr_html_()
    curve = np.column_stack([np.linspace(0, 1, 60), np.linspace(0, 1, 60) ** 2])
    after = model.fit(curve)._repr_html_()
    assert "fitted</strong>" in after
    assert "fitted</strong>" not in before
    assert model._repr_mimebundle_()["text/html"].count("<circle") == 60


def test_text_is_escaped():
    shown = card("<b>", [("<i>", "a & b")], notes=["<script>"])
    assert "<b>" not in shown
    assert "<script>" not in shown
    assert Cells(shown).cells == ["<i>", "a & b"]


def test_plots_leave_out_rows_that_are_not_finite():
    rows = np.random.default_rng(0).normal(size=(20, 5))
    rows[3] = np.nan
    assert dots(rows).count("<circle") == 19
    assert dots(rows[:1]).count("<circle") == 1
    assert dots(np.empty((0, 3))) == ""
    assert strokes(np.full((2, 4, 3), np.nan)).count("<circle") == 0
    places = np.array(re.findall(r'c[xy]="([\d.]+)"', dots(1e6 * rows)), dtype=float)
    assert places.min() >= 0.0
    assert places.max() <= 150.0


def test_endings_are_counted_by_their_messages():
    assert endings(np.array([1, 0, 0], np.int8)) == [
        (sb.Status.OK.message, "2 of 3"),
        (sb.Status.LEFT_SUPPORT.message, "1 of 3"),
    ]


def test_no_plotting_package_is_loaded():
    script = (
        "import sys, numpy as np; from subbundle._html import card, dots;"
        "card('x', [('a', 1.0)], picture=dots(np.eye(3))); print('matplotlib' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
