"""Clouds without a suitable bandwidth: a result with a warning, or an error that names what is missing."""

import numpy as np
import pytest

from subbundle import SubbundleWarning
from subbundle.selection import choose_bandwidth
from subbundle.selection.bandwidth import compare_bandwidths

PURPOSES = ("ridge", "tangents", "geodesics")


@pytest.mark.parametrize("purpose", PURPOSES)
def test_pure_noise_gives_a_warning(purpose):
    noise = np.random.default_rng(0).standard_normal((1500, 3))
    with pytest.warns(SubbundleWarning, match=r"No shape of dimension 2 stands out|a ridge of dimension 2"):
        choice = choose_bandwidth(noise, 2, purpose=purpose)
    assert 0.0 < choice.bandwidth < 10.0


def test_a_full_lattice_has_no_surface_in_it():
    lattice = np.stack(np.meshgrid(*[np.arange(9.0)] * 3), axis=-1).reshape(-1, 3)
    with pytest.warns(SubbundleWarning, match=r"No shape of dimension 2 stands out|a ridge of dimension 2"):
        choice = choose_bandwidth(lattice, 2)
    assert 0.5 < choice.bandwidth < 9.0


def test_a_flat_lattice_gets_more_than_its_spacing():
    sheet = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0), [0.0]), axis=-1).reshape(-1, 3)
    choice = compare_bandwidths(sheet, 2)
    # Less than half the spacing, and only one observation counts; flat, so that any more will do.
    assert 0.5 < choice.bandwidth < 30.0
    assert choice.remark == ""


def test_rounded_observations_are_no_obstacle():
    rng = np.random.default_rng(0)
    angle, height = rng.uniform(0.0, np.pi, 1200), rng.uniform(0.0, 60.0, 1200)
    arch = np.column_stack([40.0 * np.cos(angle), 40.0 * np.sin(angle), height])
    choice = compare_bandwidths(np.round(arch), 2)
    # Between the rounding and the radius of the arch.
    assert 1.0 < choice.bandwidth < 40.0
    assert choice.remark == ""


def test_copies_of_few_observations_are_few():
    places = np.random.default_rng(0).standard_normal((15, 3))
    with pytest.warns(SubbundleWarning, match="at none do most of the 15 distinct observations"):
        choose_bandwidth(np.repeat(places, 50, axis=0), 2)


def test_errors_name_what_is_missing():
    with pytest.raises(ValueError, match="points must not all be equal"):
        choose_bandwidth(np.ones((50, 3)), 2)
    with pytest.raises(ValueError, match=r"at least rank \+ 2 = 4 distinct observations .*; got 3\."):
        choose_bandwidth(np.repeat(np.eye(3), 40, axis=0), 2)
    with pytest.raises(ValueError, match=r"at least 2 coordinates .*; got 1\. Points on a line need no bandwidth"):
        choose_bandwidth(np.random.default_rng(0).standard_normal((200, 1)), 1)


def test_a_line_has_no_second_dimension():
    line = np.outer(np.linspace(0.0, 1.0, 400), [1.0, 2.0, 2.0])
    with pytest.warns(SubbundleWarning, match="a ridge of dimension 2"):
        choice = choose_bandwidth(line, 2)
    assert choice.method == "neighbour distance"
    assert choose_bandwidth(line, 1).bandwidth > 0.0
