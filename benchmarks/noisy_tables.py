"""Sparse noisy tables: sheets of 500 to 5000 rows with noise of a fortieth to a twentieth of their radius of curvature.

Swiss rolls and S-surfaces in R³, several draws of each, at the defaults: root mean square error of the coordinates
after a rigid motion. The error depends on whether rows are replaced by local fits, so both the median and the worst
draw are reported. They are compared with Isomap with its neighbour count chosen by the truth (first draw, up to 3000
rows), and with √2 σ: noise along the sheet is not identifiable. Isomap is run once and kept in
results/noisy_tables-peers.json.
"""

from __future__ import annotations

import json
import time
import warnings

import numpy as np
from sklearn.manifold import Isomap

import subbundle as sb
from benchmarks._report import FOLDER, Bar, Result, Table
from benchmarks._tables import rigid_error

SHAPES = {"Swiss roll": sb.datasets.swiss_roll, "S-surface": sb.datasets.s_surface}
ROWS = (500, 800, 1500, 3000, 5000)
NOISES = (0.025, 0.05)
SEEDS = range(4)
NEIGHBOURS = (5, 8, 12, 20)
MOST_FOR_ISOMAP = 3000
PEERS = FOLDER / "noisy_tables-peers.json"


def error(data: sb.datasets.Dataset, found: np.ndarray) -> float:
    return rigid_error(data.coordinates, found)["rigid error"]


def isomap(data: sb.datasets.Dataset) -> float:
    return min(error(data, Isomap(n_neighbors=count).fit_transform(data.points)) for count in NEIGHBOURS)


def run() -> Result:
    peers: dict[str, float] = json.loads(PEERS.read_text()) if PEERS.exists() else {}
    rows, ratios, behind = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in SHAPES.items():
            for noise in NOISES:
                for count in ROWS:
                    key, floor = f"{name} {count}, σ = {noise}", np.sqrt(2.0) * noise
                    errors, fits, start = [], [], time.process_time()
                    for seed in SEEDS:
                        data = make(count, noise=noise, seed=seed)
                        model = sb.AtlasEmbedding(n_components=2, n_jobs=1).fit(data.points)
                        errors.append(error(data, model.embedding_))
                        fits.append(model.n_denoising_neighbors_)
                    seconds = (time.process_time() - start) / len(SEEDS)
                    if key not in peers and count <= MOST_FOR_ISOMAP:
                        peers[key] = isomap(make(count, noise=noise, seed=SEEDS[0]))
                        PEERS.write_text(json.dumps(peers, indent=1, ensure_ascii=False) + "\n")
                    ratios += [one / floor for one in errors]
                    behind += [errors[0] / peers[key]] if key in peers else []
                    rows.append([key, float(np.median(errors)), max(errors), peers.get(key), floor, str(fits), seconds])
                    print(*rows[-1], *errors, flush=True)
    columns = ["", "median", "worst", "Isomap, best by truth", "√2 σ", "neighbours of the fits", "seconds (processor)"]
    bars = [
        Bar("error over √2 σ, median", float(np.median(ratios)), 1.1),
        Bar("error over √2 σ, worst", float(np.max(ratios)), 3.0),
        Bar("behind Isomap, worst", float(np.max(behind)), 1.0),
    ]
    return Result("Thin noisy tables", __doc__.split("\n\n")[1].replace("\n", " "), [Table(columns, rows)], bars)
