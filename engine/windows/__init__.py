"""Event-time windows: which a row is in, what is kept of them, plain and columnar kernels, the batch answer."""
