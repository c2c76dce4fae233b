"""The principal subbundle under the laws that every subbundle must obey."""

from itertools import product

import numpy as np
import pytest

from subbundle import PrincipalSubbundle
from subbundle.local.settings import CENTERINGS
from subbundle.testing import check_subbundle

CHOICES = list(product(CENTERINGS, ("gaussian", "compact")))


def smooth_surface(dim, n, seed=0):
    """A gently waving sheet in R^dim with a little noise, dense enough that the bundle turns slowly."""
    rng = np.random.default_rng(seed)
    sheet = rng.uniform(-1.5, 1.5, size=(n, min(2, dim - 1)))
    waves = 0.2 * np.sin(sheet @ rng.normal(size=(sheet.shape[1], dim - sheet.shape[1])))
    data = np.column_stack([sheet, waves]) + 0.05 * rng.normal(size=(n, dim)) / np.sqrt(dim)
    return data @ np.linalg.qr(rng.normal(size=(dim, dim)))[0].T


SMALL = [(dim, n, *choice) for (dim, n), choice in product([(2, 300), (3, 800)], CHOICES)]
# Above three dimensions the loops are not unrolled, above sixteen rows take the place of blocks, above forty Krylov
# spaces that of full decompositions; one of each centring is enough.
LARGE = [(6, 400, "local", "compact"), (6, 400, "recentred", "gaussian"), (6, 400, "none", "gaussian")]
LARGE += [(20, 250, "recentred", "compact"), (50, 150, "none", "gaussian")]


@pytest.mark.parametrize(("dim", "n", "centering", "kernel"), SMALL + LARGE)
def test_every_law_holds(dim, n, centering, kernel):
    data = smooth_surface(dim, n)
    bundle = PrincipalSubbundle(data, min(2, dim - 1), 0.4, centering=centering, kernel=kernel)
    rng = np.random.default_rng(1)
    points = data[np.linalg.norm(data, axis=1).argsort()[:2]]
    # An observation that comes into reach of the compact kernel makes the third derivative of its slope jump; methods
    # of fourth order see that once their error is small.
    floor = 1e-7 if kernel == "compact" else 1e-11
    check_subbundle(bundle, points, rng.normal(size=points.shape), length=0.5, floor=floor)
