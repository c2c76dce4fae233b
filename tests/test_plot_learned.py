"""Plots of what was learned: axes in and out, colours and marks, and messages."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import subbundle as sb
from subbundle import plot

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_axes_are_taken_and_returned():
    flat = RNG.random((40, 2))
    choice = sb.selection.choose_bandwidth(sb.datasets.torus(600, noise=0.02).points, 2)
    arc = sb.geodesic(sb.bundles.SphereTangent(2), [0, 0, 1.0], np.eye(2), length=1.0)
    triangle = sb.Mesh(np.eye(3), np.array([[0, 1, 2]]))
    for draw in (
        lambda **given: plot.embedding(flat, **given),
        lambda **given: plot.distances(np.ones((40, 40)), flat, **given),
        lambda **given: plot.bandwidth(choice, **given),
        lambda **given: plot.geodesics(arc, RNG.random((30, 3)), **given),
        lambda **given: plot.mesh(triangle, [0.0, 1.0, 2.0], **given),
    ):
        given, open_before = Figure().add_subplot(), pyplot.get_fignums()
        assert draw(ax=given) is given
        assert pyplot.get_fignums() == open_before
        # A notebook shows the figures of pyplot when a cell ends.
        assert draw().figure is pyplot.gcf()
        pyplot.close()


@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_faces_without_a_value_are_pale(ax, unknown):
    square = sb.Mesh(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    for values, greys in (([0.2, unknown], 1), ([0.2, 0.8], 0)):
        plot.mesh(square, values, ax=ax)
        drawn = np.concatenate([each.get_facecolor() for each in ax.collections if "Poly" in type(each).__name__])
        ax.clear()
        # Grey has three nearly equal channels; the two colours of the scale, lit alike, have not.
        assert np.count_nonzero(np.ptp(drawn[:, :3], axis=1) < 0.1) == greys


def test_numbers_get_a_scale_and_text_marks_that_differ_in_grey(ax):
    flat = RNG.random((60, 2))
    plot.embedding(flat, np.linspace(0.0, 1.0, 60), label="time", ax=ax)
    assert [other.get_ylabel() for other in ax.figure.axes[1:]] == ["time"]
    words = plot.embedding(flat, np.repeat(["a", "b", "c"], 20))
    shapes = {collection.get_paths()[0].vertices.shape for collection in words.collections}
    assert len(shapes) > 1
    assert [text.get_text() for text in words.get_legend().get_texts()] == ["a", "b", "c"]


def test_a_distance_matrix_counts_each_pair_once_and_names_what_is_missing(ax):
    points = RNG.random((30, 3))
    along = np.linalg.norm(points[:, None] - points[None], axis=2)
    along[0, 1] = along[1, 0] = np.inf
    plot.distances(along, points, ax=ax)
    assert ax.get_title() == f"1 of {30 * 29 // 2} pairs without a path"


def test_trust_leaves_rows_outside_hollow(ax):
    status = np.repeat(np.array([0, 1], np.int8), [45, 5])
    known = {"coordinates": RNG.random((50, 2)), "distortion": RNG.random(50), "status": status}
    plot.trust(SimpleNamespace(training_quantities=lambda: known), ax=ax)
    assert ax.get_legend().get_texts()[0].get_text() == "outside the charts: 5"


def test_geodesics_in_many_dimensions_are_projected_without_stretching():
    line = np.outer(np.linspace(0.0, 1.0, 20), np.ones(6) / np.sqrt(6.0))
    ax = plot.geodesics(line)
    width = np.ptp(ax.get_xlim())
    assert 0.5 < width < 1.5


def test_a_display_draws_the_attributes_of_the_estimator(ax):
    model = SimpleNamespace(embedding_=RNG.random((30, 2)), distortion_=RNG.random(30))
    display = plot.EmbeddingDisplay.from_estimator(model, color="distortion", ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    other = Figure().add_subplot()
    assert display.plot(ax=other).ax_ is other


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot.embedding(np.zeros(3)), r"coordinates must be a 2-D array, shape \(n, k\); got shape \(3,\)"),
        (lambda: plot.embedding(np.zeros((3, 2)), [1, 2]), r"color must have one entry per row, 3; got shape \(2,\)"),
        (lambda: plot.distances(np.zeros((3, 3)), np.zeros((4, 2))), "straight must have the shape of along"),
        (lambda: plot.mesh(sb.Mesh(np.eye(4), np.array([[0, 1, 2]]))), "mesh must lie in R³; it lies"),
        (lambda: plot.mesh(sb.Mesh(np.eye(3), np.array([[0, 1, 2]])), [1.0, 2.0]), "color must have one entry per v"),
        (lambda: plot.EmbeddingDisplay.from_estimator(SimpleNamespace()), "SimpleNamespace must be fitted before"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_message(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
