"""The contracts between the parts of the engine: operators and their steps, kernels, frames, recorders.

operator          an operator: its parameters, rules and kernel
source            a source
parameters        the base of both; named, partition_by: parameters that several have
derived           what the planner derives of an output
requirements      what an operator requires of its inputs
step              an operator's work on Spark
kernel            the rule of a stateful operator, key by key
columnar_kernel   the same on whole Arrow batches
scan              a source that workers read
sending           how workers receive the studio's code
stream            a source that a live run reads
live              a live run: its controls and its stored values
frames            column names and schemas between the parts
recorder          how a run's output leaves the engine
batch_input       an input of a batch step
batch_rows        changelogs as tables, the last row of each key, values that can be compared
bundling          the bundles of mini-batch
late_port         the second output for late records
late_rule         when a record is late for an operator
problems          dropped records, records late but used, and rejected rows, as numbers
table_call        the call of a table function in SQL
explanation       an explained plan
state_in_words    the state of a key, for users
meaning           why a record was emitted, in words
"""
