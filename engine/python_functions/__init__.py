"""Functions that people write in Python: what a text declares, and its calls in Spark's workers.

declared     the functions of a text with their types, read without running any of it
classes      its classes with their methods, for those that are aggregate functions
consent      whose code may run: it can do whatever the studio can
stand_in     what PyFlink's functions import, without PyFlink
containers   rows, and the views of lists and maps in accumulators; all of these as plain values between epochs
loading      a text that runs, in the process that has the records, and what is said where it fails
values       Arrow's values as functions get them, and their results as Arrow's
calls        a function on Arrow columns, a record at a time
aggregates   an aggregate function and its accumulators, a value at a time
on_spark     both as a column of a frame
"""
