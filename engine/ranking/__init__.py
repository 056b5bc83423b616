"""Ranking: sort keys, rows kept in order, the kernels of Top N, plain and columnar, the batch answer."""
