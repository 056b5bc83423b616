"""Sequences of rows of a key that match a pattern (MATCH_RECOGNIZE), found in the same way as by Flink's CEP library.

pattern      the text of a pattern as variables with quantifiers
automaton    the states that a match goes through
references   the values that a measure or a condition uses: FIRST(A.v), LAST(A.v, 1), SUM(A.v), v
conditions   the condition of a variable in DEFINE, as a function of such values
values       reads these values from the rows of a match
planned      measures and conditions as values computed by Spark, and the kernel's work on them
programs     conditions as programs over integers, for compiled code
queue        Java's priority queue, whose order among equals decides which match is first
meeting      whether a row meets a condition
matching     the search for matches, row by row
after_match  where the search continues after a match
in_time      the rule: rows in order of time through the search, the state between epochs
kernel       the kernel, whole batches at a time
batch        the matches of whole tables
"""
