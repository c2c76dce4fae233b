"""Diagnostics of a cloud, before anything is fitted."""

from subbundle.diagnostics.integrability import Twist, non_integrability, twist
from subbundle.diagnostics.report import Report, diagnose

__all__ = ["Report", "Twist", "diagnose", "non_integrability", "twist"]
