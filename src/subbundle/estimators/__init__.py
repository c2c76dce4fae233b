"""scikit-learn estimators: thin classes around the functions of the library."""

from subbundle.estimators.atlas_embedding import AtlasEmbedding
from subbundle.estimators.geodesic_distance import GeodesicDistance
from subbundle.estimators.principal_submanifold import PrincipalSubmanifold
from subbundle.estimators.surface_reconstructor import SurfaceReconstructor

__all__ = ["AtlasEmbedding", "GeodesicDistance", "PrincipalSubmanifold", "SurfaceReconstructor"]
