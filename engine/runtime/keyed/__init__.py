"""Keyed steps: records distributed by key over tasks, sorted, and processed by kernels with keyed state.

inputs       the files of the input, the computation on their records, the keys of each task
bundling     in mini-batch, the records of bundles that end
hashing      keys as numbers
bucket       the records of some keys in a task, sorted, with their state
states       the state of keys between epochs
worker       the loop of plain kernels inside Spark's Python workers
chunks       the loop of columnar kernels there
node_files   the other files that a task of a keyed step writes
key_times    the keys that took longest
"""
