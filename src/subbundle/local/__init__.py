"""The local model of a cloud: moments, tangent space, curvature and noise around a point."""
