"""How far to trust what is learned from a cloud, before anything is fitted."""

from subbundle.diagnostics.integrability import non_integrability
from subbundle.diagnostics.report import Report, diagnose

__all__ = ["Report", "diagnose", "non_integrability"]
