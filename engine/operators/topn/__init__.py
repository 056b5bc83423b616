"""Top N: the best rows of each partition, by ROW_NUMBER; by RANK and DENSE_RANK as an addition of ours.

operator      parameters, schema, keys, the choice among the strategies, Flink SQL
ranks         the rank range, and what an insertion or a removal does to the rows below it
append_only   AppendFast: insert-only input
top_1         the one best row, for AppendFast and UpdateFast
updatable     UpdateFast: rows are replaced by better ones only
retractable   Retract: any input
tied          RANK and DENSE_RANK: any input, rows that are equally good share a rank
"""

from engine.operators.topn.operator import TopN

OPERATOR = TopN
