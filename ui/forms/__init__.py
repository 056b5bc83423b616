"""Forms drawn from an operator's parameter model: nothing here knows any operator.

spec            what a field is, from its type and its json_schema_extra
complaints      what is wrong, by the path of the field
binding         how a widget reads and writes the document
pending         what widgets say that the document does not have yet
fields          one widget per kind of field
durations       lengths of time, as text and in milliseconds
items           lists of sub-models, as repeated rows
code            a function in Python, and the consent to run it
marking         the expression with the word that is wrong
functions       what the completion of expressions offers beside columns
grid            rows of data typed in
files           the path of a file: typed, uploaded, or made of pasted rows
offered         choices that the source itself offers, such as the tables of a file
source_columns  the columns of a file, with their types
served_columns  the columns of a source whose rows are on a server
suggest         values to start with, so that a node that was just added usually works
"""
