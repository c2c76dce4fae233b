"""How well a cloud can be laid out in k dimensions: the figures of `AtlasEmbedding` on a sample, before any fit."""

from __future__ import annotations

import numpy as np

from subbundle.atlas.atlas_distance import AtlasDistance
from subbundle.cloud import Cloud
from subbundle.embedding.quality import ROWS, Quality, quality
from subbundle.embedding.table import lay_out_table


def layout_quality(cloud: Cloud, rank: int, n_jobs: int | None = None) -> Quality:
    """Figures of the layout of some observations of ``cloud`` in R^rank, principal components beside it."""
    # In the order of their first appearance in the tree, so that nothing depends on the order they came in.
    rows = cloud.at(cloud.sample(ROWS))
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    layout = lay_out_table(
        rows, np.ones(len(rows)), rank, metric="auto", n_neighbors=None, bandwidth="auto", n_jobs=n_jobs
    )
    coordinates = layout.atlas.locate(rows).coordinates
    along = AtlasDistance(layout.atlas.atlas, layout.path_tie)
    return quality(rows, coordinates, along.stress(rows, coordinates))
