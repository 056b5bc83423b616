"""Forms drawn from an operator's parameter model, without code for particular operators.

spec            the description of a field, from its type and its json_schema_extra
complaints      the errors, by the path of the field
binding         how a widget reads and writes the document
fields          one widget per kind of field
durations       lengths of time, as text and in milliseconds
items           lists of sub-models, as repeated rows
code            a function in Python, and the consent to run it
marking         an expression with the wrong word marked
grid            rows of data typed in
files           the path of a file: typed, uploaded, or made of pasted rows
offered         choices that the source itself offers, such as the tables of a file
source_columns  the columns of a file, with their types
served_columns  the columns of a source whose rows are on a server
without_columns a source whose parameters that name columns are left out
suggest         initial values, so that a new node usually works
"""
