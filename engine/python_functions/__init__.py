"""Functions that people write in Python: what a text declares, and its calls in Spark's workers.

declared     the functions of a text with their types, read without running any of it
consent      whose code may run: it can do whatever the studio can
stand_in     what PyFlink's functions import, without PyFlink
values       Arrow's values as functions get them, and their results as Arrow's
calls        a function on Arrow columns, a record at a time
on_spark     the same as a column of a frame
"""
