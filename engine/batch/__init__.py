"""The batch answer: what each operator says of whole tables, as plain Spark SQL, and whether the changelogs come to it.

rows         changelogs as tables, the last row of each key, values that can be compared
aggregates   aggregate functions over groups and frames
windows      which windows rows fall into
checking     every operator's table beside its batch answer
checked      what that found

Nothing here knows a kernel, so that agreeing with one means something.
"""
