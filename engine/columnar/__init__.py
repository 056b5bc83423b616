"""Shared code of columnar kernels, whose contract is `engine.contract.columnar_kernel`.

columns       Arrow columns to and from NumPy, rows selected and compared
runs          adjacent records that belong together, and running values over them
paths         the positions of outputs
positions     records in order of position
binary_rows   the order of Flink's state
rules         loops that are interpreted for few records and compiled for many
in_process    kernels without workers: for previews, replays and tests
"""
