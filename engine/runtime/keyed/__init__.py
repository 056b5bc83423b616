"""Keyed steps: records spread by key over tasks, sorted, and given to kernels with what was kept of their keys.

inputs       which files, what is made of their records, which task has which keys
hashing      keys as numbers
bucket       the records of some keys in a task, sorted, with their state
states       what is kept of keys between epochs
worker       the loop of plain kernels inside Spark's Python workers
chunks       the loop of columnar kernels there
node_files   what else a task of a keyed step writes
key_times    which keys took longest
"""
