"""The tuned number of clouds."""

# Up to so many dimensions a leaf's coordinates are stored one after the other, for vector code over the points of a
# leaf; above, rows are kept whole, for BLAS, and the default kernel is the Gaussian. Measured: at 16 dimensions both
# take the same time, at 3 blocks are four times faster. Preliminary estimates use so many components.
BLOCK_DIM = 16
