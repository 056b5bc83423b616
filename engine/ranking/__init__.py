"""Ranking: sort keys, the rules of Top N and the kernels that run them, the batch answer."""
