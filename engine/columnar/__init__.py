"""Shared code of columnar kernels: columns, runs of records, paths, the order of Flink's state, kernels without
workers.

Their contract is `engine.contract.columnar_kernel`.
"""
