"""Forms drawn from an operator's parameter model: nothing here knows any operator.

spec       what a field is, from its type and its json_schema_extra
complaints what is wrong, by the path of the field
binding    how a widget reads and writes the document
fields     one widget per kind of field
items      lists of sub-models, as repeated rows
marking    the expression with the word that is wrong
functions  what the completion of expressions offers beside columns
grid       rows of data typed in
suggest    values to start with, so that a node that was just added usually works
"""
