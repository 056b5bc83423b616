"""Pipelines, options, schemas and changelogs: the values that all other parts exchange.

pipeline             the document: nodes, edges, order of arrival
options              Flink's options that change a changelog
schema               the columns of an edge
types                types as values, written as Spark, Flink SQL and Arrow
type_texts           types read from the texts of Spark, of Flink and of people
spark_types          types of Spark's columns
row_values           values of Arrow in Python, a ROW as a tuple
changelog            row kinds, and changelog modes
position             where in a run a record was emitted
origin               the input records of an output record
timeline             the watermark of an operator
combined_watermark   the watermark over several sources
windowing            event-time windows: which a timestamp falls into
row_order            the order of an operator's rows
binary_row           rows as Flink's bytes
printing             a changelog as text
guesses              which column of a table is the key, the time or the measure
free_names           names of columns and ids of nodes that are not taken
durations            durations in ms as text: for people, and in Flink SQL
row                  a row of a kernel, and its identity
processing_time      a column of processing time in Flink SQL
"""
