"""Aggregation: the functions, their accumulators, plain and columnar kernels, the batch answer."""
