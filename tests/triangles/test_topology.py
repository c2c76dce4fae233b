"""Connected components of the vertices of a mesh, against SciPy's."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from subbundle.triangles.topology import component_labels


@pytest.mark.parametrize("n_faces", [0, 5, 20, 60])
def test_labels_number_the_components_of_the_graph_by_their_first_vertex(n_faces):
    n = 60
    faces = np.random.default_rng(n_faces).integers(0, n, (n_faces, 3))
    found = component_labels(faces, n)
    ends = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    count, labels = connected_components(coo_array((np.ones(len(ends)), ends.T), shape=(n, n)), directed=False)
    assert len(np.unique(np.column_stack([found, labels]), axis=0)) == count == found.max() + 1
    first = np.unique(found, return_index=True)[1]
    assert (np.diff(first) > 0).all()
