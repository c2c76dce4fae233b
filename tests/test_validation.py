"""Checks of arguments: what passes unchanged, what is refused, with which message."""

import re

import numpy as np
import pytest

import subbundle as sb
from subbundle import Status
from subbundle._validation import as_choice, as_integer, as_points, as_positive, as_real, tabular


def test_a_good_array_is_not_copied():
    points = np.zeros((4, 3))
    assert as_points(points, "points") is points
    assert as_real(points, "points") is points


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        np.array([[1, 2], [3, 4]], dtype=">f4"),
        np.array([[1, 3], [2, 4]], dtype=np.float64).T,
        np.array([[1, 2, 3, 4]], dtype=np.float16).reshape(2, 2),
        np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=False),
    ],
)
def test_what_holds_real_numbers_becomes_contiguous_float64(value):
    array = as_points(value, "points")
    np.testing.assert_array_equal(array, [[1.0, 2.0], [3.0, 4.0]])
    assert type(array) is np.ndarray
    assert array.dtype == np.float64
    assert array.flags.c_contiguous


def test_as_real_accepts_nan_and_as_points_does_not():
    value = [[1.0, np.nan], [np.inf, 2.0], [0.0, 0.0]]
    assert np.isnan(as_real(value, "x")[0, 1])
    message = "x must be finite; 2 entries are NaN or infinite, first in row 0. Drop such rows with "
    with pytest.raises(ValueError, match=re.escape(message + "x[np.isfinite(x).all(axis=-1)].")):
        as_points(value, "x")


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        (5.0, {"ndim": None}, ValueError, "x must be at least 1-D; got shape ()"),
        (5.0, {}, ValueError, "x must be a 2-D array, shape (n_points, dim); got shape ()"),
        ([1.0, 2.0], {}, ValueError, "got shape (2,). For a single point write x[None, :]."),
        ([[1.0, 2.0]], {"ndim": 1}, ValueError, "x must be one point, shape (dim,); got shape (1, 2)"),
        ([[1.0, 2.0]], {"ndim": 3}, ValueError, "x must be 3-D; got shape (1, 2)"),
        ([[1.0, 2.0]], {"dim": 3}, ValueError, "x must have 3 coordinates per point; got shape (1, 2)"),
        (
            [["a", "b"]],
            {},
            TypeError,
            "x must hold real numbers; got an array of dtype <U1. Pass np.asarray(x, dtype=float)",
        ),
        ([[None, 1.0]], {}, TypeError, "x must hold real numbers; got an array of dtype object"),
        ([[1j]], {}, TypeError, "dtype complex128. Pass the real and imaginary parts as separate columns."),
        ([[1.0], [1.0, 2.0]], {}, ValueError, "x must be an array; got rows of unequal length"),
        (np.array(["2020-01-01"], "M8[D]"), {}, TypeError, "got an array of dtype datetime64[D]"),
        (
            np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]),
            {},
            ValueError,
            "x must have no masked entries; 1 are masked. Drop such rows with np.ma.compress_rows(x).",
        ),
    ],
)
def test_bad_arrays(value, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        as_points(value, "x", **options)


@pytest.mark.parametrize("value", [1, np.int32(1), np.uint8(1)])
def test_integers_of_any_kind(value):
    result = as_integer(value, "n", low=1)
    assert result == 1
    assert type(result) is int


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        (0, {"low": 1}, ValueError, "n must be an integer >= 1; got 0."),
        (9, {"low": 1, "high": 4}, ValueError, "n must be an integer in 1..4; got 9."),
        (
            9,
            {"low": 1, "high": 4, "why": "four seasons"},
            ValueError,
            "n must be an integer in 1..4 (four seasons); got 9.",
        ),
        (2.0, {"low": 1}, TypeError, "n must be an integer >= 1; got 2.0."),
        (True, {"low": 1}, TypeError, "n must be an integer >= 1; got True."),
        ("2", {"low": 1}, TypeError, "n must be an integer >= 1; got '2'."),
        (None, {"low": 1}, TypeError, "n must be an integer >= 1; got None."),
    ],
)
def test_bad_integers(value, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        as_integer(value, "n", **options)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int64(2)])
def test_positive_numbers_of_any_kind(value):
    result = as_positive(value, "a")
    assert result == 2.0
    assert type(result) is float


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf])
def test_numbers_that_are_not_positive(value):
    with pytest.raises(ValueError, match=re.escape(f"a must be positive and finite; got {float(value)!r}. Try 1.")):
        as_positive(value, "a", hint="Try 1.")


@pytest.mark.parametrize("value", ["1", None, True, [1.0], 1j])
def test_values_that_are_no_numbers(value):
    with pytest.raises(TypeError, match=re.escape(f"a must be a positive number; got {value!r}.")):
        as_positive(value, "a")


def test_choices():
    assert as_choice("b", "letter", ("a", "b")) == "b"
    for value in ("c", None, 1):
        with pytest.raises(ValueError, match=re.escape(f"letter must be one of 'a', 'b'; got {value!r}.")):
            as_choice(value, "letter", ("a", "b"))


def test_every_status_has_a_message_of_its_own():
    messages = {status.message for status in Status}
    assert len(messages) == len(Status)


_ROWS = [[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({"a": [0.0], "b": [1.0]}, TypeError, r"got a dict\. Write np\.column_stack\(list\(X\.values"),
        (iter(_ROWS), TypeError, r"got a list_iterator\. Write np\.array\(list\(X"),
        ({1.0, 2.0}, TypeError, r"got a set\. Write np\.array"),
        ([[0.0, 1.0], [0.0]], ValueError, "rows of unequal length"),
        ("points.csv", TypeError, r"got a str\. Read the file first: np\.loadtxt\('points\.csv'\)"),
    ],
)
@pytest.mark.parametrize("name", ["PrincipalSubmanifold", "AtlasEmbedding", "GeodesicDistance", "SurfaceReconstructor"])
def test_estimators_refuse_what_is_no_table_with_a_message(name, value, error, message):
    with pytest.raises(error, match=f"X must be an array.*{message}"):
        getattr(sb, name)().fit(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [["a", "b"], ["1", "2"]],
            r"2 of 2 do not, such as 0 with 'a'\. .* np\.delete\(X, \[0, 1\], axis=1",
        ),
        (
            np.array([[1.0, "north"]], object),
            r"1 of 2 do not, such as 1 with 'north'\. .* np\.delete\(X, \[1\], ",
        ),
    ],
)
def test_estimators_refuse_text_with_a_message(value, message):
    with pytest.raises(ValueError, match=rf"X must hold numbers in every column; {message}.* or encode them first\."):
        sb.AtlasEmbedding().fit(value)


@pytest.mark.parametrize("name", ["PrincipalSubmanifold", "AtlasEmbedding", "GeodesicDistance", "SurfaceReconstructor"])
@pytest.mark.parametrize("kind", ["text", "category"])
def test_estimators_name_the_columns_that_hold_no_numbers(name, kind):
    pandas = pytest.importorskip("pandas")
    values = {"text": ["red"] * 8, "category": pandas.Categorical(["red", "blue"] * 4)}
    table = pandas.DataFrame({"x": np.arange(8.0), "colour": values[kind], "y": ["1.5"] * 8, "n": np.arange(8)})
    message = r"1 of 4 do not, such as 'colour' with .*X\.drop\(columns=\['colour'\]\), or encode them first, pd\.get"
    with pytest.raises(ValueError, match=rf"X must hold numbers in every column; {message}"):
        getattr(sb, name)().fit(table)


@pytest.mark.parametrize("kind", ["date", "with a time zone", "text", "object"])
@pytest.mark.parametrize("framed", [True, False])
def test_the_advice_for_dates_makes_them_days(kind, framed):
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2020-02-27", periods=8)
    values = {
        "date": days,
        "with a time zone": days.tz_localize("UTC"),
        "text": days.strftime("%Y-%m-%d"),
        "object": np.array([day.date() for day in days], object),
    }
    X = pd.DataFrame({"x": np.arange(8.0), "day": values[kind], "y": np.arange(8)})
    if not framed:
        if kind == "with a time zone":
            pytest.skip("NumPy's dates have none")
        X = X.assign(day=X["day"].astype(str)).to_numpy() if kind == "date" else X.to_numpy()
    with pytest.raises(
        (ValueError, TypeError), match="1 of 3 do not, such as .* or count days from a fixed"
    ) as refused:
        sb.AtlasEmbedding().fit(X)
    assert "get_dummies" not in str(refused.value)
    exec(re.search(r"fixed date on: (.*)\.$", str(refused.value))[1], {"pd": pd, "np": np, "X": X})
    column = X["day"] if framed else X[:, 1]
    np.testing.assert_array_equal(np.asarray(column, float), np.arange(8.0))
    tabular(X, "X")


def test_categories_beside_dates_are_reported_too():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"kind": ["a", "b"], "day": pd.date_range("2020-01-01", periods=2)})
    with pytest.raises(ValueError, match=r"or encode them first, pd\.get_dummies\(X\); count days from .*X\['day'\] ="):
        sb.AtlasEmbedding().fit(X)


@pytest.mark.parametrize("name", ["PrincipalSubmanifold", "AtlasEmbedding", "GeodesicDistance"])
@pytest.mark.parametrize("features", [3, 12])
def test_an_array_is_no_number_of_components(name, features):
    rows = np.random.default_rng(0).standard_normal((40, features))
    with pytest.raises(TypeError, match=r"reduce_dim must be an integer in 2\.\.\d+ \(or 'auto', or None\); got array"):
        getattr(sb, name)(1, bandwidth=1.0, reduce_dim=np.array([1.0, 2.0])).fit(rows)


@pytest.mark.parametrize("make", [sb.spaces.Sphere, sb.spaces.Hyperbolic, sb.spaces.SPD, sb.spaces.SO])
def test_spaces_of_dimension_zero_are_refused(make):
    with pytest.raises(MemoryError, match="A point of this space would hold .* numbers"):
        make(10**30)


def test_a_list_of_rows_is_a_table():
    np.testing.assert_array_equal(as_points(_ROWS, "points"), _ROWS)
