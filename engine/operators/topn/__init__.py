"""Top N: the best rows of each partition, by ROW_NUMBER.

operator      parameters, schema, keys, the choice among the strategies, Flink SQL
ranks         the rank range, and what an insertion or a removal does to the rows below it
append_only   AppendFast: insert-only input
top_1         the one best row, for AppendFast and UpdateFast
updatable     UpdateFast: rows are replaced by better ones only
retractable   Retract: any input
"""

from engine.operators.topn.operator import TopN

OPERATOR = TopN
