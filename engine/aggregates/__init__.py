"""Aggregation: the contract of a function, accumulators, plain and columnar kernels, the batch answer.

The functions themselves stand in `engine/aggregates/functions`.
"""
