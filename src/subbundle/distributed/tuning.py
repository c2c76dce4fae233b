"""Every tuned number of jobs in tiles, with what it scales and why it has its value.

``python -m benchmarks mesh_tiles`` and ``scale_out`` check them; lengths of meshes are in cells of the grid. What the
stages of `subbundle.surface` have numbers for is read there.
"""

from __future__ import annotations

# `mesh_scale` -----------------------------------------------------------------------------------------------------

# Places of a large scene whose surroundings stand for it, and how far around, in windows, each must be known.
SCENE_PLACES, SCENE_WINDOWS = 32, 12.0
# Length along a membrane over a gap, bulging as it may, over that across.
BULGE = 1.25

# `mesh_seeds`, `mesh_signs` ---------------------------------------------------------------------------------------

# Side of the voxels with one seed each at which bandwidths are tried: the risks are averaged over twenty cells.
PROBES = 5.0
# Height of the mean normal (37 degrees) from which on a connected component is a height field.
UPWARD = 0.6

# `mesh_sides`, `mesh_grid` ----------------------------------------------------------------------------------------

# Side of the smallest blocks that stand for their seeds in winding numbers, and of all voxels next to which the seeds
# count one by one: errors of w stay below some hundredths.
FINE = 4
# Fraction of a full sheet that seeds must cover for their tangent planes to determine the side away from it.
SHEET_COVERED = 0.5

# `mesh_skin` ------------------------------------------------------------------------------------------------------

# Connected components no wider than this are clumps of outliers, or remnants beyond a border.
CRUMB = 8.0

# `choosing`, `denoising` --------------------------------------------------------------------------------------------

# Widest bandwidth that is tried around places, over the best one that a sparser sample has shown.
WIDEST_TRIED = 2.0
# Side of the voxels, in bandwidths, in which one row votes on the signs of normals, where there are few.
SIGN_VOXEL = 0.7
