"""Event-time windows: assigners, window state, plain and columnar kernels, the batch answer."""
