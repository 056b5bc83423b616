"""User-defined Python functions: the declarations in a text, and calls in Spark's workers.

declared     the functions of a text with their types, read without running the text
classes      the classes of a text with their methods, for aggregate functions
consent      the code that may run: code has all rights of the studio
stand_in     a replacement for PyFlink's imports, without PyFlink
containers   rows, list views and map views in accumulators, and their conversion to plain values between epochs
loading      runs a text in the process that has the records; errors of its code
values       Arrow's values as arguments of functions, and their results as Arrow values
calls        a function on Arrow columns, a record at a time
aggregates   an aggregate function and its accumulators, a value at a time
on_spark     both as a column of a frame
"""
