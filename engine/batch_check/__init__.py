"""The batch answer: each operator's result over whole tables in plain Spark SQL, compared with the changelogs of a run.

check     compares every operator's table with its batch answer
result    the result of the comparison

This code is independent of the kernels, so that an agreement is meaningful.
"""
