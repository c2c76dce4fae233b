"""Every tuned constant of jobs in tiles, with what it scales and why it has its value.

``python -m benchmarks mesh_tiles`` and ``scale_out`` check them; lengths of meshes are in cells of the grid. Constants
of the stages of `subbundle.surface` are read there.
"""

from __future__ import annotations

# `mesh_scale` -----------------------------------------------------------------------------------------------------

# Positions in a large scene at which its scale is estimated, and the least radius around each, in windows.
SCENE_PLACES, SCENE_WINDOWS = 32, 12.0
# Largest ratio of the length along a membrane over a gap to the width of the gap.
BULGE = 1.25

# `mesh_seeds`, `mesh_signs` ---------------------------------------------------------------------------------------

# Side of the voxels with one seed each at which bandwidths are tried: the risks are averaged over twenty cells.
PROBES = 5.0

# `mesh_sides`, `mesh_grid` ----------------------------------------------------------------------------------------

# Side of the smallest blocks that replace their seeds in winding numbers, and of the voxels around which seeds are
# summed one by one: errors of w are below some hundredths.
FINE = 4
# Fraction of a full sheet that seeds must cover for their tangent planes to determine the side away from it.
SHEET_COVERED = 0.5

# `mesh_level_set` -------------------------------------------------------------------------------------------------

# Connected components up to this width are clusters of outliers, or remnants beyond a border.
LEAST_WIDTH = 8.0

# `choosing`, `denoising` --------------------------------------------------------------------------------------------

# Widest bandwidth that is compared around positions, relative to the best one from a sparser sample.
WIDEST_TRIED = 2.0
# Least side of the voxels, in bandwidths, with one seed each for the signs of normals.
SIGN_VOXEL = 0.7
