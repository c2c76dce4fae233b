"""The elementary functions: right, and a number has the same bits at every position."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from subbundle import _elementwise

SINGLE = {
    name: getattr(_elementwise, name)
    for name in ("sin", "cos", "exp", "expm1", "log", "log1p", "sinh", "cosh", "arcsinh", "arctan")
}
FUNCTIONS = SINGLE | {
    "arctan2": lambda x: _elementwise.arctan2(np.sin(3.0 * x), x),
    "power": lambda x: _elementwise.power(x, -0.17),
}
VALUES = np.random.default_rng(0).uniform(0.01, 5.0, 41)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batches_of_every_size_and_start(name):
    function = FUNCTIONS[name]
    whole = function(VALUES)
    for size in range(1, 41):
        for start in range(42 - size):
            assert_array_equal(function(VALUES[start : start + size]), whole[start : start + size])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_layout(name):
    function = FUNCTIONS[name]
    whole = function(VALUES)
    assert_array_equal(function(VALUES[::-1]), whole[::-1])
    assert_array_equal(function(np.repeat(VALUES, 3)[::3]), whole)
    table = np.asfortranarray(VALUES[:40].reshape(8, 5))
    assert_array_equal(function(table), whole[:40].reshape(8, 5))
    for value, expected in zip(VALUES, whole, strict=True):
        assert function(np.asarray(value)) == expected


@pytest.mark.parametrize("name", SINGLE)
def test_the_values_are_those_of_the_c_library(name):
    scalar = getattr(math, {"arcsinh": "asinh", "arctan": "atan"}.get(name, name))
    # Python calls the same library; one unit in the last place is left for compilers that bring their own.
    np.testing.assert_array_max_ulp(SINGLE[name](VALUES), np.array([scalar(value) for value in VALUES]), maxulp=1)


def test_angles_and_powers():
    x, y = np.cos(VALUES), np.sin(VALUES)
    np.testing.assert_array_max_ulp(_elementwise.arctan2(y, x), np.array(list(map(math.atan2, y, x))), maxulp=1)
    np.testing.assert_array_max_ulp(_elementwise.power(VALUES, 0.3), np.array([v**0.3 for v in VALUES]), maxulp=1)


def test_ends_of_the_range():
    assert_array_equal(_elementwise.exp(np.array([-np.inf, 1e4, np.nan])), [0.0, np.inf, np.nan])
    assert_array_equal(_elementwise.log(np.array([0.0, -1.0, np.inf])), [-np.inf, np.nan, np.inf])
    assert_array_equal(_elementwise.log1p(np.array([-1.0, -2.0, 0.0])), [-np.inf, np.nan, 0.0])
    assert_array_equal(_elementwise.arctan2(np.zeros((0, 3)), np.ones(3)), np.zeros((0, 3)))
    assert_array_equal(_elementwise.power(np.array([0.0, 1.0, -1.0]), -0.5), [np.inf, 1.0, np.nan])
