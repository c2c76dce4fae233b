"""Compiled code of the interpolant for k ≤ 2: cubic Hermite weights, value and Jacobian, and its border.

A table [L, R + 1, 4, dim] holds at node (r_i, θ_j) the point and its derivatives, scaled to the cell: X, h X_r, Δ X_θ,
h Δ X_rθ. Inside a cell, with t = (r − r_i)/h and s = (θ − θ_j)/Δ,

    X(r, θ) = Σ_{a,b ∈ {0,1}}  p_a(t) p_b(s) X + q_a(t) p_b(s) h X_r + p_a(t) q_b(s) Δ X_θ + q_a(t) q_b(s) h Δ X_rθ

with the cubic Hermite basis p_0 = 1 − p_1, p_1 = t²(3 − 2t), q_0 = t(1 − t)², q_1 = t²(t − 1). In Cartesian
coordinates v = r u(θ) the Jacobian is X_r uᵀ + (X_θ/r) u_⊥ᵀ. Points are relative to the base point, so X and X_θ vanish
exactly at r = 0, and X_θ/r keeps its digits there. In one dimension the two rays are the two sides of v = 0, without s.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import NOTICEABLE
from subbundle.charts.tuning import CENTRE


@kernel
def hermite(t):
    """p_1, q_0 and q_1 of the cubic Hermite basis at ``t``."""
    return t * t * (3.0 - 2.0 * t), t * (1.0 - t) * (1.0 - t), t * t * (t - 1.0)


@kernel
def hermite_slopes(t, width):
    """Their derivatives by the coordinate of which a cell is ``width`` long."""
    return 6.0 * t * (1.0 - t) / width, (1.0 - t) * (1.0 - 3.0 * t) / width, t * (3.0 * t - 2.0) / width


@kernel
def squared_distance(a, b):
    """|a − b|²."""
    total = 0.0
    for d in range(a.size):
        total += (a[d] - b[d]) ** 2
    return total


@kernel
def cell_of(v, n_rays):
    """Distance from 0, number of the ray before ``v`` [k], and the position s between it and the next."""
    if v.size == 1:
        return abs(v[0]), (0 if v[0] >= 0.0 else 1), 0.0
    angle = np.arctan2(v[1], v[0]) / (2.0 * np.pi) * n_rays
    if angle < 0.0:
        angle += n_rays
    ray = min(int(angle), n_rays - 1)
    return np.hypot(v[0], v[1]), ray, angle - ray


@kernel
def border_at(border, ray, s):
    """ρ at position ``s`` of the cell after ``ray``."""
    return border[ray, 0] + s * (border[ray, 1] - border[ray, 0])


@kernel
def evaluate(table, step, v, point, jacobian):
    """Write the point [dim] and the Jacobian [dim, k] at the coordinates ``v`` [k]."""
    n_rays, n_nodes, _, dim = table.shape
    r, ray, s = cell_of(v, n_rays)
    r = max(r, CENTRE * step)
    node = min(int(r / step), n_nodes - 2)
    t = r / step - node
    p1, q0, q1 = hermite(t)
    dp1, dq0, dq1 = hermite_slopes(t, step)
    if v.size == 1:
        sign = 1.0 if ray == 0 else -1.0
        a, b = table[ray, node], table[ray, node + 1]
        for d in range(dim):
            point[d] = (1.0 - p1) * a[0, d] + p1 * b[0, d] + q0 * a[1, d] + q1 * b[1, d]
            jacobian[d, 0] = sign * (dp1 * (b[0, d] - a[0, d]) + dq0 * a[1, d] + dq1 * b[1, d])
        return
    after = ray + 1 if ray + 1 < n_rays else 0
    o1, e0, e1 = hermite(s)
    # A chart whose radius is near the smallest floating-point numbers has points, and no derivatives.
    do1, de0, de1 = hermite_slopes(s, max(2.0 * np.pi / n_rays * r, 1e-300))
    a, b, c, e = table[ray, node], table[ray, node + 1], table[after, node], table[after, node + 1]
    size = np.hypot(v[0], v[1])
    u0, u1 = (v[0] / size, v[1] / size) if size > 0.0 else (1.0, 0.0)
    for d in range(dim):
        # Along r first: value, r-derivative, and the same of the angular derivative, on both rays.
        x0 = (1.0 - p1) * a[0, d] + p1 * b[0, d] + q0 * a[1, d] + q1 * b[1, d]
        x1 = (1.0 - p1) * c[0, d] + p1 * e[0, d] + q0 * c[1, d] + q1 * e[1, d]
        w0 = (1.0 - p1) * a[2, d] + p1 * b[2, d] + q0 * a[3, d] + q1 * b[3, d]
        w1 = (1.0 - p1) * c[2, d] + p1 * e[2, d] + q0 * c[3, d] + q1 * e[3, d]
        dx0 = dp1 * (b[0, d] - a[0, d]) + dq0 * a[1, d] + dq1 * b[1, d]
        dx1 = dp1 * (e[0, d] - c[0, d]) + dq0 * c[1, d] + dq1 * e[1, d]
        dw0 = dp1 * (b[2, d] - a[2, d]) + dq0 * a[3, d] + dq1 * b[3, d]
        dw1 = dp1 * (e[2, d] - c[2, d]) + dq0 * c[3, d] + dq1 * e[3, d]
        point[d] = (1.0 - o1) * x0 + o1 * x1 + e0 * w0 + e1 * w1
        radial = (1.0 - o1) * dx0 + o1 * dx1 + e0 * dw0 + e1 * dw1
        across = do1 * (x1 - x0) + de0 * w0 + de1 * w1
        jacobian[d, 0] = radial * u0 - across * u1
        jacobian[d, 1] = radial * u1 + across * u0


@kernel
def inside_batch(border, coordinates, slack, inside):
    """Which ``coordinates`` [n, k] lie in the domain."""
    for i in range(coordinates.shape[0]):
        r, ray, s = cell_of(coordinates[i], border.shape[0])
        inside[i] = r <= border_at(border, ray, s) + slack


@kernel
def border_search_batch(table, step, border, targets, rays, starts, width, coordinates, points, residuals):
    """Nearest point on the border within ``width`` of the positions ``starts`` [n] in the cells ``rays`` [n].

    By golden section; the ends of a cell are left to its neighbours, whose border may be another.
    """
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    jacobian = np.empty((table.shape[3], coordinates.shape[1]))
    for i in range(targets.shape[0]):
        # Corners are left to the next cell, whose border may be another.
        low, high = max(starts[i] - width, NOTICEABLE), min(starts[i] + width, 1.0 - NOTICEABLE)
        for _ in range(40):
            left, right = high - golden * (high - low), low + golden * (high - low)
            nearer = _border_distance(
                table, step, border, targets[i], rays[i], left, coordinates[i], points[i], jacobian
            )
            other = _border_distance(
                table, step, border, targets[i], rays[i], right, coordinates[i], points[i], jacobian
            )
            if nearer <= other:
                high = right
            else:
                low = left
        best, chosen = np.inf, starts[i]
        for s in (low, 0.5 * (low + high), high):
            now = _border_distance(table, step, border, targets[i], rays[i], s, coordinates[i], points[i], jacobian)
            if now < best:
                best, chosen = now, s
        residuals[i] = np.sqrt(
            _border_distance(table, step, border, targets[i], rays[i], chosen, coordinates[i], points[i], jacobian)
        )


@kernel
def border_coordinates(border, ray, s, v):
    """Write the coordinates of the border at position ``s`` of the cell after ``ray``."""
    r = border_at(border, ray, s)
    if v.size == 1:
        v[0] = r if ray == 0 else -r
    else:
        angle = 2.0 * np.pi / border.shape[0] * (ray + s)
        v[0], v[1] = r * np.cos(angle), r * np.sin(angle)


@kernel
def _border_distance(table, step, border, target, ray, s, v, point, jacobian):
    border_coordinates(border, ray, s, v)
    evaluate(table, step, v, point, jacobian)
    return squared_distance(point, target)
