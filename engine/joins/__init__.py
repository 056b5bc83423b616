"""Joins: keys, kinds and columns, columnar kernels, the batch answers."""
