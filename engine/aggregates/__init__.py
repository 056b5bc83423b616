"""Aggregation: the contract of a function, accumulators, plain and columnar kernels, the batch answer.

The functions themselves are in `engine/aggregates/functions`.
"""
