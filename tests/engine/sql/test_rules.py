"""Queries as they are read, and as the rules leave them: relations from the outermost to the tables."""

from __future__ import annotations

from dataclasses import fields

import pytest

from engine.sql.algebra import Filter, Join, Rank, Relation, Scan, Select
from engine.sql.clauses.query import read
from engine.sql.names import Names
from engine.sql.parsing import tokens_of, trees_of
from engine.sql.rules import RULES, rewritten
from tests.engine.sql.queries import TABLES

CASES = [
    (
        "SELECT a + 1 AS b FROM (SELECT v + 1 AS a FROM t)",
        "Select[a + 1 b](Select[v + 1 a](t))",
        "Select[(v + 1) + 1 b](t)",
    ),
    (
        "SELECT k, w FROM (SELECT w, k FROM u)",
        "Select[k, w](Select[w, k](u))",
        "Select[k, w](u)",
    ),
    (
        "SELECT k, COUNT(*) AS n FROM (SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY rt) AS s FROM t) GROUP BY k",
        "Select[k, n](Aggregate(Select[k, s](Over(t))))",
        "Aggregate(Select[k, s](Over(t)))",
    ),
    (
        "SELECT * FROM (SELECT v + 1 AS a FROM t) WHERE a > 1",
        "Select[a](Filter[a > 1](Select[v + 1 a](t)))",
        "Select[(v + 1) a](Filter[(v + 1) > 1](t))",
    ),
    (
        "SELECT t.k FROM t JOIN u ON t.k = u.k AND t.v > 1 WHERE u.w > 2",
        "Select[k](Filter[w > 2](Join[INNER AND k = k0 AND v > 1](t, u)))",
        "Select[k](Join[INNER AND k = k0](Filter[v > 1](t), Filter[w > 2](u)))",
    ),
    (
        "SELECT t.k FROM t LEFT JOIN u ON t.k = u.k WHERE u.w > 2",
        "Select[k](Filter[w > 2](Join[LEFT AND k = k0](t, u)))",
        "Select[k](Join[INNER AND k = k0](t, Filter[w > 2](u)))",
    ),
    (
        "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM t) WHERE n <= 3 AND k <> 'a'",
        "Select[k](Filter[n <= 3 AND k <> 'a'](Select[k, n](Numbered(t))))",
        "Select[k](Filter[k <> 'a'](Rank[1..3](t)))",
    ),
    (
        "SELECT v + 1 AS a FROM t ORDER BY v LIMIT 3 OFFSET 2",
        "Select[a](Select[a, order0](Limit(Select[v + 1 a, v order0](t))))",
        "Select[((v + 1)) a](Rank[3..5](t))",
    ),
    (
        "SELECT k FROM t UNION ALL SELECT k FROM u UNION ALL SELECT g FROM t",
        "SetOperation(SetOperation(Select[k](t), Select[k](u)), Select[g](t))",
        "Union(Select[k](t), Select[k](u), Select[g k](t))",
    ),
    (
        "SELECT k FROM t UNION SELECT k FROM u",
        "SetOperation(Select[k](t), Select[k](u))",
        "Aggregate(Union(Select[k](t), Select[k](u)))",
    ),
    (
        "SELECT k FROM t INTERSECT SELECT k FROM u",
        "SetOperation(Select[k](t), Select[k](u))",
        "Aggregate(Join[SEMI AND k IS NOT DISTINCT FROM k0](Select[k](t), Select[k](u)))",
    ),
    (
        "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
        "SetOperation(Select[k](t), Select[k](u))",
        "Repeated(Select[k, sum_vcol_marker](Filter[sum_vcol_marker > 0](Aggregate(Union("
        "Select[k, CAST(1 AS BIGINT) vcol_marker](t), Select[k, -CAST(1 AS BIGINT) vcol_marker](u))))))",
    ),
    (
        "SELECT k FROM (SELECT k, v FROM t WHERE v > 1 AND v < 0) WHERE k = 'a'",
        "Select[k](Filter[k = 'a'](Select[k, v](Filter[v > 1 AND v < 0](t))))",
        "Empty(Select[k](Empty(Filter[v > 1 AND v < 0 AND k = 'a'](t))))",
    ),
    (
        "SELECT t.k FROM t LEFT JOIN (SELECT k FROM u WHERE w IS NULL AND w = 1) u ON t.k = u.k",
        "Select[k](Join[LEFT AND k = k0](t, Select[k](Filter[w IS NULL AND w = 1](u))))",
        "Select[k](Padded())",
    ),
    (
        "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE 1 = 0)",
        "Select[k](Join[SEMI](t, Empty(Select[1 EXPR$0](Filter[1 = 0](u)))))",
        "Empty(Select[k](Empty(t)))",
    ),
    (
        "SELECT t.k, COUNT(*) AS n FROM t LEFT JOIN (SELECT k, COUNT(*) AS c FROM u GROUP BY k) u ON t.k = u.k "
        "GROUP BY t.k",
        "Select[k, n](Aggregate(Join[LEFT AND k = k0](t, Select[k, c](Aggregate(u)))))",
        "Aggregate(t)",
    ),
    (
        "SELECT u.k, COUNT(*) AS n FROM (SELECT DISTINCT k FROM t) t RIGHT JOIN u ON t.k = u.k AND u.w > 1 "
        "GROUP BY u.k",
        "Select[k0 k, n](Aggregate(Join[RIGHT AND k = k0 AND w > 1](Aggregate(Select[k](t)), u)))",
        "Select[k0 k, n](Aggregate(Select[k k0, w, ut](u)))",
    ),
    (
        "SELECT COUNT(DISTINCT t.v) FILTER (WHERE t.v > 1) AS n FROM t LEFT JOIN u ON t.k = u.k",
        "Select[n](Aggregate(Join[LEFT AND k = k0](t, u)))",
        "Aggregate(Join[LEFT AND k = k0](t, u))",
    ),
    (
        "SELECT t.k, COUNT(DISTINCT t.v) AS n FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.k",
        "Select[k, n](Aggregate(Join[LEFT AND k = k0](t, u)))",
        "Aggregate(t)",
    ),
    (
        "SELECT DISTINCT t.k FROM t LEFT JOIN u ON t.k = u.k",
        "Aggregate(Select[k](Join[LEFT AND k = k0](t, u)))",
        "Aggregate(Select[k](t))",
    ),
    (
        "SELECT t.k, MAX(t.v) AS n FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.k",
        "Select[k, n](Aggregate(Join[LEFT AND k = k0](t, u)))",
        "Aggregate(Join[LEFT AND k = k0](t, u))",
    ),
    (
        "SELECT t.k, COUNT(u.w) AS n FROM t LEFT JOIN (SELECT k, MAX(w) AS w FROM u GROUP BY k) u ON t.k = u.k "
        "GROUP BY t.k",
        "Select[k, n](Aggregate(Join[LEFT AND k = k0](t, Select[k, w](Aggregate(u)))))",
        "Aggregate(Join[LEFT AND k = k0](t, Aggregate(u)))",
    ),
    (
        "(SELECT k FROM t ORDER BY rt) UNION ALL SELECT k FROM u",
        "SetOperation(Select[k](Select[k, order0](Sorted(Select[k, rt order0](t)))), Select[k](u))",
        "Union(Select[k](t), Select[k](u))",
    ),
    (
        "SELECT k FROM t ORDER BY rt",
        "Select[k](Select[k, order0](Sorted(Select[k, rt order0](t))))",
        "Select[k](Sorted(Select[k, rt order0](t)))",
    ),
]


def outline(relation: Relation) -> str:
    """A relation as text: Filter[v > 1](t)."""
    if isinstance(relation, Scan):
        return relation.table.name
    told = ""
    match relation:
        case Select():
            told = ", ".join(
                name if item.sql() == f'"{name}"' else f"{item.sql()} {name}" for name, item in relation.items
            )
        case Filter():
            told = relation.condition.sql()
        case Join():
            told = " AND ".join([relation.kind.name, *(one.sql() for one in relation.condition)])
        case Rank():
            told = f"{relation.start}..{relation.end}"
    below: list[Relation] = []
    for field in fields(relation):  # type: ignore[arg-type]
        if field.name in ("input", "left", "right"):
            below.append(getattr(relation, field.name))
        elif field.name == "inputs":
            below += getattr(relation, field.name)
    inside = f"[{told}]" if told else ""
    return f"{type(relation).__name__}{inside}({', '.join(map(outline, below))})".replace('"', "")


@pytest.mark.parametrize(("sql", "written", "by_rules"), CASES)
def test_a_query_is_read_as_it_is_written_and_the_rules_move_its_parts(sql: str, written: str, by_rules: str) -> None:
    names = Names({table.name: table for table in TABLES})
    relation = read(trees_of(tokens_of(sql), sql)[0], names)
    assert outline(relation) == written
    assert outline(rewritten(relation, names)) == by_rules


def test_every_rule_has_a_case() -> None:
    written = " ".join(case[1] for case in CASES)
    assert all(f"{kind.__name__}[" in written or f"{kind.__name__}(" in written for kind, _ in RULES)
