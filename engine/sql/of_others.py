"""What the grammar reads of other databases and Flink does not have: refused, since a query without it means another.

Source: answers of Flink 2.3.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

_PARTS: Final[dict[type[Expr], dict[str, str]]] = {
    exp.Star: dict.fromkeys(
        ("except_", "replace", "rename"), "* takes all columns in Flink, without EXCEPT and REPLACE. Name the columns."
    ),
    exp.Distinct: {
        "on": "DISTINCT ON is of another database. Number the rows, and keep the first: ROW_NUMBER() OVER (PARTITION "
        "BY k ORDER BY ts) AS rn, and WHERE rn = 1 around it."
    },
    exp.Group: {
        "all": "GROUP BY ALL is of another database. Name the columns.",
        "totals": "WITH TOTALS is of another database. Write GROUP BY GROUPING SETS ((a), ()).",
    },
    exp.Limit: {"expressions": "LIMIT takes a number in Flink. For rows per key, number them with ROW_NUMBER()."},
    exp.LimitOptions: dict.fromkeys(("percent", "with_ties"), "LIMIT and FETCH take a number of rows in Flink."),
    exp.Table: {
        "sample": "TABLESAMPLE is of another database. Write WHERE RAND() < 0.1.",
        "pivots": "PIVOT is of another database. Write an aggregate per column: SUM(v) FILTER (WHERE k = 'x') AS x.",
        "hints": "WITH (...) behind a table in FROM is of another database. Leave it out.",
    },
    exp.Subquery: {
        "sample": "TABLESAMPLE is of another database. Write WHERE RAND() < 0.1.",
        "pivots": "PIVOT is of another database. Write an aggregate per column: SUM(v) FILTER (WHERE k = 'x') AS x.",
    },
    exp.Select: {
        "locks": "FOR UPDATE is of another database. Leave it out.",
        "kind": "SELECT AS is of another database. Write SELECT ROW(a, b).",
    },
    exp.SetOperation: {
        "by_name": "UNION BY NAME is of another database. Give both queries their columns in one order."
    },
    exp.In: {"unnest": "IN UNNEST is of another database. Write ARRAY_CONTAINS(arr, x)."},
    exp.Ordered: {"with_fill": "WITH FILL is of another database. Leave it out."},
}


def refuse_others(node: Expr) -> None:
    """Raise SqlRejected for a part of a query that only other databases know."""
    for kind, parts in _PARTS.items():
        if isinstance(node, kind):
            for part, sentence in parts.items():
                if node.args.get(part):
                    raise SqlRejected(sentence, node)
    if isinstance(node, exp.Rollup | exp.Cube) and not node.expressions:
        word = type(node).__name__.upper()
        message = f"WITH {word} is of another database. Write GROUP BY {word} (a, b)."
        raise SqlRejected(message, node.parent)
    if isinstance(node, exp.If) and not isinstance(node.parent, exp.Case) and node.args.get("false") is None:
        message = "IF takes three values in Flink: IF(condition, a, b). Or write CASE WHEN ... THEN ... END."
        raise SqlRejected(message, node)
