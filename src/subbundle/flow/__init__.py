"""Integrators of the geodesic equations, batched, for any object with the protocol of a subbundle."""

from subbundle.flow.integrate import METHODS, ORDERS, Trajectories, integrate

__all__ = ["METHODS", "ORDERS", "Trajectories", "integrate"]
