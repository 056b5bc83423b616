"""Rows of a key as sequences that match a pattern (MATCH_RECOGNIZE), the way Flink's CEP library finds them.

pattern      the text of a pattern as variables with quantifiers
automaton    the states that a match goes through
references   the rows that a measure or a condition looks at: FIRST(A.v), LAST(A.v, 1), SUM(A.v), v
conditions   what DEFINE says of a variable, as a function of such values
values       how these values are read from the rows of a match
queue        Java's priority queue, whose order among equals decides which match comes first
matching     the automaton over the rows of one key; where it goes on after a match
state        what is kept of a key between epochs
kernel       rows in order of time through the automaton
"""
