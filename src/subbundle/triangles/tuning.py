"""Every tuned number of triangle meshes, with what it scales and why it has its value.

Meshes of scans are evaluated by benchmarks/scans, those in R^d and of atlases by tests of topology, area and borders.
"""

from __future__ import annotations

# Connected components with less than this fraction of the area of the largest one are dropped: they are clumps of
# outliers.
SMALLEST_PART = 0.004
# A neighbour is on the same sheet when its plane is inclined by less than 60 degrees: |det T_iᵀ T_j|.
SAME_PLANE = 0.5
# Cosines of the dihedral angles at a quad's two diagonals that differ by less are equal, and the shorter one is taken.
EQUAL_BEND = 0.05
# A cut nearer to a vertex than this fraction of an edge is moved to the vertex, to avoid slivers.
SNAP = 0.25
# Powers with which the threshold of cost is raised, tried in turn where the topology would change; then so many times
# more triangles are tried.
AGGRESSIVENESS, MORE_FACES = (5.0, 3.0, 7.0), 1.3
