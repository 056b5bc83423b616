"""Unsupported SQL is reported with its line, its column, the reason and an alternative."""

from __future__ import annotations

import pytest

from engine.sql import SqlRejected
from tests.engine.sql.queries import read

REFUSED = [
    ("SELECT k FROM", "this is not Flink SQL"),
    ("SELECT x FROM t", "line 1, column 8: unknown column 'x'. Available: k, g, v, rt, pt."),
    ("SELECT k\nFROM missing", "line 2, column 6: unknown table 'missing'. Available: t, a, u, c, w."),
    ("SELECT k FROM t JOIN u ON t.k = u.k", "line 1, column 8: the column 'k' is ambiguous. Write t.k or u.k."),
    ("SELECT z.k FROM t", "line 1, column 8: unknown table 'z'. Available: t."),
    ("SELECT k, v FROM t GROUP BY k", "line 1, column 11: the column 'v' is neither grouped by nor aggregated."),
    ("SELECT SUM(COUNT(*)) FROM t", "line 1, column 8: an aggregate cannot stand inside another."),
    ("SELECT COUNT() FROM t", "line 1, column 8: COUNT() counts nothing. Write COUNT(*) for rows, or a column."),
    ("SELECT ARRAY[] FROM t", "ARRAY[] needs a value, from which its type follows: ARRAY[a, b]."),
    ("SELECT MAP[] AS m FROM t", "line 1, column 14: this is not Flink SQL: the brackets before 'AS' are empty."),
    ("SELECT SOUNDEX(k) FROM t", "line 1, column 8: unknown function 'SOUNDEX'. The most similar of "),
    ("SELECT UPPER(k, g) FROM t", "line 1, column 8: UPPER takes 1 arguments, but it is given 2."),
    (
        "SELECT (rt, rt) OVERLAPS rt AS o FROM t",
        "line 1, column 9: OVERLAPS stands between two periods: (a, b) OVERLAPS",
    ),
    (
        "SELECT (rt, k) OVERLAPS (rt, rt) AS o FROM t",
        "OVERLAPS compares TIMESTAMPs, TIMESTAMP_LTZs or DATEs, all of one",
    ),
    (
        "SELECT (rt, rt) CONTAINS (rt, rt) AS o FROM t",
        "line 1, column 17: CONTAINS of periods is not there, as in Flink.",
    ),
    (
        "SELECT (rt, rt) IMMEDIATELY PRECEDES PERIOD (rt, v) AS o FROM t",
        "IMMEDIATELY PRECEDES of periods is not there, as in Flink",
    ),
    (
        "SELECT k FROM t WHERE v = '1'",
        "line 1, column 23: v is a number and '1' a text: Flink does not compare them so. Write CAST('1' AS INT)",
    ),
    (
        "SELECT CASE WHEN v > 1 THEN v ELSE 'none' END AS x FROM t",
        "line 1, column 18: its values are a number and a text, for which Flink has no type. CAST them to one type.",
    ),
    ("SELECT COALESCE(v, 'x') AS x FROM t", "line 1, column 8: its values are a number and a text"),
    ("SELECT IF(v > 1, v, k) AS x FROM t", "its values are a number and a text"),
    ("SELECT ARRAY[rt, k] AS x FROM t", "its values are a time and a text"),
    (
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "line 1, column 64: n names itself, and Flink plans no WITH RECURSIVE. Write a view for each step.",
    ),
    ("SELECT v + k AS x FROM t", "v is a number and k a text: a text has no arithmetic. Write CAST(k AS INT)"),
    ("SELECT k || v AS x FROM t", "v is a number and k a text: || puts texts together. Write CAST(v AS STRING)."),
    (
        "SELECT CAST(v AS TIMESTAMP_LTZ(3)) AS x FROM t",
        "line 1, column 13: a number is not cast to TIMESTAMP_LTZ. Write TO_TIMESTAMP_LTZ(v, 3).",
    ),
    (
        "SELECT DATE_FORMAT(rt, 'YYYY-e') AS x FROM t",
        "line 1, column 8: the letter e in the pattern of DATE_FORMAT is not supported. Write yyyy for the year",
    ),
    ("SELECT k FROM t QUALIFY v > 1", "QUALIFY needs a window function, such as ROW_NUMBER() OVER (...) = 1."),
    ("SELECT * FROM t", "the processing time 'pt' has no value to output."),
    (
        "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '1' SECOND)) GROUP BY window_start",
        "'pt' is a processing time, and t does not say when its records arrived. Give it a column with these times",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT k, PROCTIME() AS p FROM t GROUP BY k) GROUP BY TUMBLE(p, INTERVAL '1' SECOND)",
        "'p' is a processing time, and t does not say when its records arrived. Give it a column with these times",
    ),
    (
        "SELECT COUNT(*) OVER (ORDER BY p RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW) AS n "
        "FROM (SELECT k, PROCTIME() AS p FROM a GROUP BY k)",
        "an over aggregate by time needs an insert-only input",
    ),
    (
        "SELECT COUNT(*) OVER (ORDER BY p RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW) AS n "
        "FROM (SELECT t.pt AS p FROM t JOIN u ON t.k = u.k)",
        "'p' is a processing time of rows below a join or a group, and no time attribute above it. Add another one",
    ),
    ("SELECT k FROM t JOIN u ON t.k = u.k", "line 1, column 8: the column 'k' is ambiguous. Write t.k or u.k."),
    (
        "SELECT k FROM (SELECT k, v AS k FROM t) AS s",
        "line 1, column 8: the column 'k' is ambiguous: s has several. Give each a name of its own, with AS.",
    ),
    ("SELECT t.k FROM t JOIN u AS t ON TRUE", "line 1, column 24: two tables of FROM are called t."),
    (
        "SELECT t.k FROM t JOIN t AS s ON t.pt = s.pt",
        "line 1, column 36: 'pt' is a processing time, which stands for the order of arrival",
    ),
    ("SELECT pt IS NULL AS x FROM t", "line 1, column 8: 'pt' is a processing time"),
    ("SELECT k FROM t ORDER BY k", "line 1, column 26: ORDER BY needs LIMIT"),
    ("SELECT k FROM t ORDER BY 2 LIMIT 1", "line 1, column 26: ORDER BY 2 means the column at that place, but there"),
    ("SELECT k FROM t ORDER BY MAX(v) LIMIT 1", "line 1, column 26: ORDER BY takes an aggregate of a query that"),
    ("SELECT k FROM t GROUP BY k ORDER BY v LIMIT 1", "line 1, column 37: the column 'v' is neither grouped by nor"),
    ("SELECT k AS x, v AS x FROM t ORDER BY x LIMIT 1", "line 1, column 39: the query selects two columns 'x'"),
    ("SELECT DISTINCT k FROM t ORDER BY v LIMIT 1", "line 1, column 35: SELECT DISTINCT has no v to order by"),
    ("SELECT k FROM t OFFSET 3", "OFFSET needs LIMIT"),
    ("SELECT k FROM t; SELECT k FROM u", "one query is read at a time, but there are 2 statements."),
    ("SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM t", "ROW_NUMBER needs a last rank"),
    (
        "SELECT MAX(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(v), INTERVAL '1' DAY)) GROUP BY window_start, window_end",
        "'v' is not an event time; rt is one.",
    ),
    (
        "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(rt), INTERVAL '1' MONTH)) GROUP BY window_start",
        "has no fixed length. Use DAY, HOUR, MINUTE or SECOND",
    ),
    (
        "SELECT COUNT(*) FROM TABLE(HOP(TABLE t, DESCRIPTOR(rt), INTERVAL '3' SECOND, INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end",
        "below an aggregate the table function HOP needs a size that is a multiple of its slide. Aggregate with GROUP "
        "BY HOP(`rt`, INTERVAL '3' SECOND, INTERVAL '10' SECOND), HOP_START and HOP_END.",
    ),
    ("SELECT k FROM w FOR SYSTEM_TIME AS OF w.wt", "FOR SYSTEM_TIME AS OF must follow JOIN"),
    (
        "SELECT p FROM t RIGHT JOIN w FOR SYSTEM_TIME AS OF t.pt ON t.k = w.k",
        "line 1, column 28: a lookup join is inner or left, not right. Use [LEFT] JOIN.",
    ),
    (
        "SELECT p FROM t JOIN w FOR SYSTEM_TIME AS OF t.pt ON t.v > w.p",
        "line 1, column 22: a lookup join needs a column of the table that equals one of the left side in ON",
    ),
    (
        "WITH n AS (SELECT k, COUNT(*) AS c FROM w GROUP BY k) "
        "SELECT c FROM t JOIN n FOR SYSTEM_TIME AS OF t.pt ON t.k = n.k",
        "line 1, column 76: rows can be looked up in a table, or in a query that only picks and computes columns",
    ),
    (
        "SELECT p FROM t JOIN w FOR SYSTEM_TIME AS OF PROCTIME() ON t.k = w.k",
        "FOR SYSTEM_TIME AS OF takes the event time or the processing time of the left side, a column and nothing",
    ),
    (
        "SELECT p FROM t JOIN w FOR SYSTEM_TIME AS OF t.v ON t.k = w.k",
        "line 1, column 48: 'v' is not an event time of the left side.",
    ),
    (
        "SELECT p FROM t RIGHT JOIN w FOR SYSTEM_TIME AS OF t.rt ON t.k = w.k",
        "a temporal join is inner or left, not right. Use [LEFT] JOIN.",
    ),
    (
        "SELECT p FROM t JOIN w FOR SYSTEM_TIME AS OF t.rt ON t.v = w.p",
        "is (k), but the join compares (p).",
    ),
    (
        "SELECT w FROM t JOIN u FOR SYSTEM_TIME AS OF t.rt ON t.k = u.k",
        "a temporal join needs a versioned table on the right, but",
    ),
    (
        "SELECT p FROM t JOIN w FOR SYSTEM_TIME AS OF t.rt ON t.v > w.p",
        "a temporal join needs the versioned table's primary key in ON: l.k = v.k.",
    ),
    ("SELECT t.k.c FROM t", "there is no field 'c' in 'k': it is STRING, which has no fields."),
    (
        "SELECT CAST(ROW(k) AS ROW<a INT, b INT>) AS r FROM t",
        "a CAST to a ROW of 2 fields needs a ROW of 2 fields, but",
    ),
    ("SELECT r.* FROM (SELECT ROW(k, v) AS r FROM t)", "the fields of 'r' are not known here. Name them one by one"),
    ("SELECT x.* FROM t", "unknown column 'x'"),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES A.v AS x PATTERN (A B+) DEFINE A AS TRUE)",
        "line 1, column 72: the last variable B+ is greedy: it would never be known to end. Make it reluctant (B+?)",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES A.v AS x PATTERN (A) DEFINE A AS A.v > PREV(A.v))",
        "line 1, column 93: PREV looks at rows of the input, which Flink does not support. Use LAST(A.v, 1)",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES A.v AS x ALL ROWS PER MATCH PATTERN (A) "
        "DEFINE A AS TRUE)",
        "ALL ROWS PER MATCH is not supported, as in Flink. Use ONE ROW PER MATCH",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rt MEASURES SUM(A.v + B.v) AS x PATTERN (A B) DEFINE A AS TRUE)",
        "one of FIRST, LAST and the aggregates is about the rows of one variable, as in Flink.",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rt MEASURES COUNT(DISTINCT A.v) AS x PATTERN (A) DEFINE A AS TRUE)",
        "DISTINCT is not supported in MATCH_RECOGNIZE, as in Flink.",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rt MEASURES A.v AS x PATTERN (A) DEFINE A AS A.v > LAST(A.v, -1))",
        "LAST counts a number of rows, such as LAST(A.v, 1), but got '-1'",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rt MEASURES A.v AS x PATTERN (A) DEFINE A AS LAST() > 1)",
        "LAST takes a value and maybe a number of rows: LAST(A.v, 1)",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rt MEASURES A.v AS x PATTERN (A) DEFINE A AS A.v = 'x')",
        "A.v is a number and 'x' a text: Flink does not compare them so.",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES Z.v AS x PATTERN (A) DEFINE A AS TRUE)",
        "line 1, column 54: unknown variable 'Z'. Available: A, in the pattern.",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES A.v AS x PATTERN (A) DEFINE A AS TRUE)",
        "MATCH_RECOGNIZE is ordered by a time first, an event time or a processing time; 'v' is none.",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES A.v AS x AFTER MATCH SKIP TO LAST Z PATTERN (A) "
        "DEFINE A AS TRUE)",
        "unknown variable 'Z'. Available: A.",
    ),
    (
        "SELECT JSON_ARRAYAGG(v) FILTER (WHERE v > 1) AS j FROM t",
        "line 1, column 8: JSON_ARRAYAGG takes no FILTER, OVER or WITHIN GROUP, as in Flink. Filter in a sub-query.",
    ),
    ("SELECT a FROM (VALUES (1), (2, 3)) AS x(a)", "the first row of VALUES has 1 values, this one has 2."),
    ("SELECT a FROM u AS x(a, b)", "2 names are given for 3 columns."),
    ("SELECT x FROM t JOIN u USING (g)", "USING names 'g', which is not a column of both sides."),
    ("SELECT k, RANK() OVER (PARTITION BY k ORDER BY v, g) AS rn FROM t", "RANK needs a last rank"),
    (
        "SELECT k FROM t WHERE v > ANY (SELECT w FROM u)",
        "line 1, column 39: a sub-query is supported in FROM, and in SELECT, WHERE and HAVING for one value, as",
    ),
    ("SELECT t.* EXCEPT (k) FROM t", "line 1, column 10: * takes all columns in Flink, without EXCEPT and REPLACE."),
    ("SELECT * REPLACE (v + 1 AS v) FROM t", "* takes all columns in Flink, without EXCEPT and REPLACE."),
    ("SELECT DISTINCT ON (k) k, v FROM t", "DISTINCT ON is of another database. Number the rows"),
    ("SELECT k, SUM(v) AS s FROM t GROUP BY k WITH ROLLUP", "Write GROUP BY ROLLUP (a, b)."),
    ("SELECT k, SUM(v) AS s FROM t GROUP BY k WITH TOTALS", "Write GROUP BY GROUPING SETS ((a), ())."),
    ("SELECT SUM(IF v > 2 THEN 1) AS x FROM t", "IF takes three values in Flink: IF(condition, a, b)."),
    ("SELECT k FROM t LIMIT 50 PERCENT", "LIMIT and FETCH take a number of rows in Flink."),
    ("SELECT k FROM t FETCH FIRST 5 ROWS WITH TIES", "LIMIT and FETCH take a number of rows in Flink."),
    ("SELECT k FROM t LIMIT 5 BY k", "For rows per key, number them with ROW_NUMBER()."),
    ("SELECT k FROM t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is of another database. Write WHERE RAND() < 0.1."),
    ("SELECT * FROM (SELECT k FROM t) TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is of another database."),
    (
        "SELECT * FROM t PIVOT (SUM(v) FOR k IN ('a', 'b'))",
        "PIVOT is of another database. Write an aggregate per column",
    ),
    ("SELECT k FROM t FOR UPDATE", "FOR UPDATE is of another database. Leave it out."),
    ("SELECT k FROM t WITH (NOLOCK)", "WITH (...) behind a table in FROM is of another database. Leave it out."),
    ("SELECT k FROM t UNION BY NAME SELECT k FROM u", "Give both queries their columns in one order."),
    ("SELECT k FROM t WHERE v > (SELECT k, w FROM u)", "a scalar sub-query gives one column, but this one gives k, w."),
    (
        "SELECT k FROM t WHERE v > (SELECT MAX(w) FROM u WHERE u.w > t.v)",
        "a sub-query and the outer query are related by equality of a column of each",
    ),
    (
        "SELECT k FROM t WHERE v > (SELECT w FROM u WHERE u.k = t.k)",
        "a sub-query that uses columns of the outer query must give one aggregate",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT w FROM u WHERE u.k = t.k GROUP BY w)",
        "a grouped sub-query can be compared with the outer query only by columns that it groups by.",
    ),
    ("SELECT k FROM t WHERE (k, v) NOT IN (SELECT k, w FROM u)", "Instead of NOT IN write NOT EXISTS."),
    (
        "SELECT k, v FROM t UNION ALL SELECT k FROM u",
        "both sides of UNION need the same columns, but the left one has 2",
    ),
    ("SELECT v FROM t UNION SELECT k FROM u", "the column 'v' is INT and STRING on different sides"),
    (
        "SELECT k, g FROM t GROUP BY GROUPING SETS ((k, g), (g), (g, k))",
        "GROUP BY has the set (g, k) twice. Name each set once; for its rows twice, use UNION ALL.",
    ),
    (
        f"SELECT k FROM t GROUP BY CUBE ({', '.join(f'k + {at}' for at in range(30))})",
        "GROUP BY has more than 1,024 sets of columns, as CUBE doubles them with each column.",
    ),
    ("SELECT k, GROUPING(v) FROM t GROUP BY ROLLUP (k)", "line 1, column 11: GROUPING takes columns of GROUP BY."),
    (
        "SELECT k FROM (SELECT * FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k)) x JOIN t ON x.k = t.g "
        "WHERE t.k NOT IN (SELECT k, w FROM u)",
        "the query of IN has to give one column",
    ),
    (
        "SELECT k FROM t WHERE v IN (SELECT w, k FROM u WHERE u.k = t.k)",
        "line 1, column 36: the query of IN has to give one column, but it gives w, k.",
    ),
    (
        "SELECT k FROM t WHERE v IN (SELECT MAX(w) FROM u WHERE u.k = t.k)",
        "line 1, column 56: a sub-query of IN with an aggregate cannot use columns of the outer query.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT MAX(w) FROM u WHERE u.x = t.k)",
        "line 1, column 58: unknown column 'u.x'. Available: k, w, ut.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT LISTAGG(k), w FROM u)",
        "line 1, column 50: the column 'w' is neither grouped by nor aggregated.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT MAX(w) FROM u WHERE w IN (SELECT nope FROM t))",
        "line 1, column 71: unknown column 'nope'. Available: k, g, v, rt, pt.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT MAX(w) FROM u WHERE u.k = t.k HAVING MAX(w) > 1)",
        "line 1, column 58: a sub-query with HAVING cannot use columns of the outer query.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT MAX(w) FROM u WHERE u.k = t.k OFFSET 1)",
        "line 1, column 58: a sub-query with OFFSET cannot use columns of the outer query.",
    ),
    ("SELECT k FROM t WHERE EXISTS (SELECT SUM(k) FROM u)", "line 1, column 38: SUM(k) needs a number"),
    ("SELECT k FROM t WHERE EXISTS (SELECT SUM(k) FROM u WHERE u.k = t.k)", "line 1, column 38: SUM(k)"),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT SUM(k) FROM u WHERE u.k = t.k GROUP BY u.k)",
        "line 1, column 38: SUM(k)",
    ),
    ("SELECT k FROM t WHERE EXISTS (SELECT SOUNDEX(k) FROM u)", "line 1, column 38: unknown function 'SOUNDEX'."),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u UNION ALL SELECT SOUNDEX('a') FROM u)",
        "line 1, column 64: unknown function 'SOUNDEX'.",
    ),
    (
        "SELECT k FROM t WHERE NOT EXISTS (SELECT w, SOUNDEX(k) FROM u WHERE u.k = t.k)",
        "line 1, column 45: unknown function 'SOUNDEX'.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT w + SOUNDEX(t.k) FROM u WHERE u.k = t.k)",
        "line 1, column 42: unknown function 'SOUNDEX'.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT MAX(w) FROM u WHERE SOUNDEX(u.k) = t.k)",
        "line 1, column 58: unknown function 'SOUNDEX'.",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT w, nope FROM u WHERE u.k = t.k)",
        "line 1, column 41: unknown column 'nope'. Available: k, w, ut.",
    ),
    ("SELECT k FROM t WHERE NULLIF(v) = 1", "line 1, column 23: NULLIF takes 2 arguments, but it is given 1."),
    (
        "SELECT k FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(), INTERVAL '1' DAY))",
        "line 1, column 37: the time of TUMBLE is DESCRIPTOR(column).",
    ),
    (
        "SELECT k FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(v + 1), INTERVAL '1' DAY))",
        "line 1, column 37: the time of TUMBLE is DESCRIPTOR(column).",
    ),
    (
        "SELECT k FROM TABLE(SESSION(TABLE t PARTITION BY '', DESCRIPTOR(rt), INTERVAL '1' DAY))",
        "line 1, column 35: PARTITION BY takes columns here.",
    ),
    (
        "SELECT k FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(rt), INTERVAL 'inf' SECOND))",
        "'inf' is not a number of seconds.",
    ),
    (
        "SELECT k FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(rt), INTERVAL '+-5' SECOND))",
        "'+-5' is not a number of seconds.",
    ),
    (
        "SELECT k FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(rt), INTERVAL '--5' SECOND))",
        "'--5' is not a number of seconds.",
    ),
    # Flink 2.3 calls each of these an illegal interval literal format.
    *(
        (
            f"SELECT MAX(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(rt), INTERVAL {text})) GROUP BY window_start",
            "is not a",
        )
        for text in ("'.5' SECOND", "'5.' SECOND", "'1.1234567' SECOND", "'1.5' DAY", "'1:.5' MINUTE TO SECOND")
    ),
    (
        "SELECT rt + INTERVAL '.5' SECOND AS x FROM t",
        "line 1, column 22: '.5' is not a number of seconds. Only seconds",
    ),
    ("SELECT rt + INTERVAL '1.5' HOUR AS x FROM t", "'1.5' is not a number of hours. Only seconds have a fraction"),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY rt PATTERN (A) DEFINE A AS TRUE)",
        "MATCH_RECOGNIZE needs MEASURES: the output of a match, such as MEASURES LAST(A.v) AS v.",
    ),
    ("SELECT SUM(DISTINCT) FROM t", "line 1, column 8: SUM(DISTINCT) needs an argument, such as SUM(DISTINCT v)."),
    ("SELECT JSON_VALUE(k, '$[') FROM t", "line 1, column 22: the path of JSON_VALUE cannot be read from '[' on."),
    (
        "SELECT JSON_QUERY(k, 'lax $..b') FROM t",
        "the path of JSON_QUERY cannot be read from '..b' on. Write the names and the places in lists that lead to one",
    ),
    ("SELECT JSON_EXISTS(k, '') FROM t", "the path of JSON_EXISTS cannot be read from '' on."),
    ("SELECT JSON_EXISTS(k, '$.a[*]') FROM t", "the path of JSON_EXISTS cannot be read from '[*]' on."),
    ("SELECT JSON_VALUE(k, 'a b') FROM t", "the path of JSON_VALUE cannot be read from ' b' on."),
    ("SELECT JSON_VALUE(k, '$.a['' b'']') FROM t", "the path of JSON_VALUE cannot be read from"),
    ("SELECT ARRAY[v, 1][0] AS x FROM t", "an ARRAY has no element at 0. Places count from 1: [1]."),
    ("SELECT ARRAY[v, 1][-1] AS x FROM t", "an ARRAY has no element at -1. Places count from 1: [1]."),
    ("SELECT JSON_OBJECT('a') FROM t", "line 1, column 8: an argument of JSON_OBJECT is missing."),
    ("SELECT TIMESTAMPADD(FORTNIGHT, 1, rt) FROM t", "line 1, column 8: unknown unit 'FORTNIGHT'."),
    ("SELECT TIMESTAMPADD(, 1, rt) FROM t", "line 1, column 8: an argument of TIMESTAMPADD is missing."),
    ("SELECT CEIL() FROM t", "an argument of CEIL is missing."),
    ("SELECT CAST(v AS DECIMAL(x)) FROM t", "the length or precision of a type is a number, not X."),
    ("SELECT k FROM t WHERE k IN (VALUES ('a'), ())", "the first row of VALUES has 1 values, this one has 0."),
    ("SELECT t.k FROM t JOIN w FOR SYSTEM_TIME ON t.k = w.k", "FOR SYSTEM_TIME needs the time of the left side:"),
    ("SELECT ARRAY_AGG(ORDER BY k) FROM t", "line 1, column 8: ARRAY_AGG needs an argument before ORDER BY."),
    (
        "SELECT * FROM FROM_CHANGELOG(input =>",
        "line 1, column 15: FROM_CHANGELOG needs its input, and a value for each name",
    ),
    (
        "SELECT COUNT(*) AS n FROM t GROUP BY TIMESTAMP '2024-01-01 00:00:00.123456789'",
        "TIMESTAMP '2024-01-01 00:00:00.123456789' has nanoseconds, which would be lost here. Write at most 6 digits",
    ),
    (
        "SELECT CAST(ARRAY[k] AS ARRAY<TIMESTAMP(9)>) AS x FROM t",
        "TIMESTAMP(9) has nanoseconds, of which the last three",
    ),
    ("SELECT * FROM FROM_CHANGELOG()", "FROM_CHANGELOG needs its input, and a value for each name"),
    ("SELECT * FROM FROM_CHANGELOG(input => TABLE t PARTITION BY k)", "takes no PARTITION BY, as in Flink 2.3. Write"),
    ("SELECT * FROM FROM_CHANGELOG(input => TABLE t, op => k)", "op of FROM_CHANGELOG names one column: op =>"),
    ("SELECT * FROM FROM_CHANGELOG(TABLE t)", "the input has no column 'op' with the kinds. It has k, g, v, rt, pt."),
    ("SELECT * FROM FROM_CHANGELOG(input => t)", "the input of FROM_CHANGELOG is TABLE t, or a query in parentheses."),
    (
        "SELECT * FROM TO_CHANGELOG(input => TABLE t, foo => 1)",
        "TO_CHANGELOG takes input, op, op_mapping, each once",
    ),
    ("SELECT * FROM TO_CHANGELOG(TABLE t, op_mapping => MAP['x', 'y'])", "op_mapping of TO_CHANGELOG: 'x' is no kind."),
    ("SELECT * FROM TO_CHANGELOG(TABLE t, op_mapping => 'x')", "op_mapping of TO_CHANGELOG is a map of texts"),
    ("SELECT TO_CHANGELOG(k) FROM t", "TO_CHANGELOG makes a table. Write FROM TO_CHANGELOG(input => TABLE t)."),
    (
        "SELECT * FROM FROM_CHANGELOG(TABLE t, op => DESCRIPTOR(k), op_mapping => MAP['a', 'INSERT', 'b', 'INSERT'])",
        "op_mapping of FROM_CHANGELOG has INSERT twice. Write its texts with commas: MAP['c, r', 'INSERT'].",
    ),
    (
        "SELECT * FROM FROM_CHANGELOG(TABLE t, op => DESCRIPTOR(k), op_mapping => MAP['u', 'UPDATE_AFTER'])",
        "updates_before: a row after an update needs the row before it.",
    ),
    ("SELECT PERCENTILE(v, . 0.3) FROM t", "line 1, column 8: 0.0.3 is not a number, or"),
    ("SELECT k FROM t WHERE v > CAST(2 AS DECIMAL(5, 999999999)) AND v < 9", "the type DECIMAL(5, 999999999) is not"),
    ("SELECT k FROM t WHERE v > CAST(2 AS DECIMAL(1, 2, 3)) AND v < 9", "the type DECIMAL(1, 2, 3) is not supported."),
    ("SELECT k FROM t WHERE v > 1e999999999 AND v < 1", "1e999999999 is not a number, or is out of range."),
]


@pytest.mark.parametrize(("sql", "sentence"), REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(sql: str, sentence: str) -> None:
    with pytest.raises(SqlRejected) as caught:
        read(sql)
    assert sentence in str(caught.value)
