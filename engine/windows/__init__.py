"""Event-time windows: window state, plain and columnar kernels, the batch answer."""
