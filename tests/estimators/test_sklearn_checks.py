"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import subbundle as sb

FEW = "it fits 10 to 80 points, and a surface needs 100"
FLAT = "it fits points of a plane, and a surface needs three dimensions"
# Those that fit so little data; tests/estimators/test_surface_reconstructor.py has the same laws on a sphere.
TOO_LITTLE = dict.fromkeys(
    (
        "check_dict_unchanged", "check_dont_overwrite_parameters", "check_dtype_object", "check_estimators_dtypes",
        "check_estimators_nan_inf", "check_estimators_pickle", "check_f_contiguous_array_estimator",
        "check_fit2d_predict1d", "check_fit_score_takes_y", "check_methods_sample_order_invariance",
        "check_methods_subset_invariance", "check_n_features_in_after_fitting", "check_pipeline_consistency",
        "check_positive_only_tag_during_fit", "check_transformer_data_not_an_array", "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ),
    FEW,
) | dict.fromkeys(
    (
        "check_estimators_fit_returns_self", "check_estimators_overwrite_params", "check_fit_check_is_fitted",
        "check_fit_idempotent", "check_n_features_in", "check_readonly_memmap_input",
    ),
    FLAT,
)  # fmt: skip


def too_little(estimator):
    return TOO_LITTLE if isinstance(estimator, sb.SurfaceReconstructor) else {}


# Twenty random points: the estimators warn that there is no shape in them, as they should. One dimension instead of two
# takes a third of the time.
@pytest.mark.filterwarnings("ignore::subbundle.SubbundleWarning")
@parametrize_with_checks(
    [
        sb.PrincipalSubmanifold(1),
        sb.AtlasEmbedding(1),
        sb.GeodesicDistance(),
        sb.GeodesicDistance(1, method="atlas"),
        sb.SurfaceReconstructor(),
    ],
    expected_failed_checks=too_little,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
