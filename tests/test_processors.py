"""Other processors, emulated: NumPy without AVX-512, kernels compiled for any 64-bit processor, older code of BLAS.

Each runs in a process of its own and must keep the promises of docs/concepts.md: rows equal to the bit there too, and
results close to those of this processor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_info

import subbundle as sb

OTHERS = {
    "NumPy without AVX-512": {
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
    },
    "kernels for any processor": {"NUMBA_CPU_NAME": "generic"},
}


def evaluations(rows: slice = slice(None)) -> dict[str, np.ndarray]:
    """One evaluation of each kind, at some of twelve rows; the field where its kernels are compiled anyway."""
    rng = np.random.default_rng(5)
    results = {}
    for space in (sb.spaces.Sphere(3), sb.spaces.Hyperbolic(2), sb.spaces.SPD(3), sb.spaces.SPD(7), sb.spaces.SO(3),
                  sb.spaces.SO(5), sb.spaces.Kendall(4, 2), sb.spaces.Kendall(5, 3)):  # fmt: skip
        x, y = space.random_point(12, rng)[rows], space.random_point(12, rng)[rows]
        results[f"{space} dist"] = space.dist(x, y)
        results[f"{space} log"] = space.log(y, x)
        results[f"{space} exp"] = space.exp(0.3 * space.to_tangent(y, x), x)
        results[f"{space} transport"] = space.parallel_transport(space.to_tangent(y, x), x, y)
    if os.environ.get("NUMBA_CPU_NAME"):
        return results
    cloud = rng.normal(size=(300, 3)) * [1.0, 0.6, 0.05]
    bundle = sb.PrincipalSubbundle(cloud, 2, 0.5, n_jobs=1)
    field = bundle.field(cloud[:12][rows], rng.normal(size=(12, 3))[rows])
    return results | {"velocity": field.velocity, "force": field.force}


def check_rows() -> None:
    """Every row alone has the bits that it has among the others."""
    whole = evaluations()
    for row in range(12):
        for name, value in evaluations(slice(row, row + 1)).items():
            np.testing.assert_array_equal(value[0], whole[name][row], err_msg=name)


def test_rows_here():
    check_rows()


def layout() -> np.ndarray:
    """A table of noisy rows, where rounding once chose between two layouts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SubbundleWarning)
        return sb.AtlasEmbedding(2, n_jobs=1).fit(scale(load_wine().data)).embedding_


def architectures() -> list[str]:
    """The processors that the code of BLAS is for."""
    return sorted(str(library.get("architecture")) for library in threadpool_info())


def elsewhere(job: str, **environment: str) -> object:
    """What a ``job`` of `JOBS` gives in a process with this environment."""
    # NumPy prints a warning where a feature to be disabled is not there, which is what is wanted.
    environment = {**os.environ, **environment, "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(sb.__path__[0]).parent), environment.get("PYTHONPATH", "")])
    ran = subprocess.run([sys.executable, __file__, job], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("other", OTHERS)
def test_another_processor(other):
    there = elsewhere("rows", **OTHERS[other])
    here = evaluations()
    assert len(there) >= 32
    for name, value in there.items():
        # Rounding errors of a few hundred operations, in logs near a cut locus and eigenvectors enlarged a hundredfold.
        np.testing.assert_allclose(value, here[name], rtol=1e-12, atol=1e-12, err_msg=f"{other}: {name}")


def test_the_layout_of_a_table_does_not_depend_on_the_code_of_blas():
    there, coordinates = elsewhere("layout", OPENBLAS_CORETYPE="Nehalem")
    if there == architectures():
        pytest.skip("BLAS has no other code for this processor")
    here = layout()
    # Other sums of rounded products, enlarged by eigenproblems and a few hundred steps of an iteration; another choice
    # among layouts moves rows by more than a deviation.
    np.testing.assert_allclose(coordinates, here, atol=1e-6 * here.std())


def _rows() -> dict[str, object]:
    check_rows()
    return {name: value.tolist() for name, value in evaluations().items()}


JOBS = {"rows": _rows, "layout": lambda: (architectures(), layout().tolist())}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]]()))
