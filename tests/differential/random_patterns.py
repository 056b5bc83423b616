"""A random step of a query with a pattern: MATCH_RECOGNIZE."""

from __future__ import annotations

from random import Random

from tests.differential.random_expressions import Column, some
from tests.differential.random_relations import Relation, Step

_NAMES = ("A", "B", "C", "D")
# The quantifiers of a variable. Flink rejects a greedy quantifier of the last variable.
_GREEDY = ("", "", "", "?", "*", "+", "{2}", "{1,}", "{0,2}", "{1,3}")
_RELUCTANT = ("*?", "+?", "{1,}?", "{0,2}?", "{2,3}?")
_LAST = ("", "", "", "?", "+?", "{2}", "{1,2}?", "*?")


def pattern(random: Random, below: Relation) -> Step:
    """Measures of the matches of a pattern with two to four variables, with or without partitions."""
    numbers = some(below.columns, "BIGINT", "INT")
    if below.is_loose or not numbers:
        return None
    keys = random.sample(below.keys, random.choice((0, 1, 1, 2)) if len(below.keys) > 1 else 1)
    # Flink confuses partition columns in an order other than the table's.
    keys.sort(key=below.names.index)
    values = [name for name in numbers if name not in keys] or numbers
    names = _NAMES[: random.choice((2, 2, 3, 3, 4))]
    terms = [name + random.choice(random.choice((_GREEDY, _GREEDY, _RELUCTANT))) for name in names[:-1]]
    terms.append(names[-1] + random.choice(_LAST))
    if all(term[1:2] in ("?", "*") or term[1:] in ("{0,2}", "{0,2}?") for term in terms):
        # A pattern that can match no rows at all is not allowed.
        terms[0] = names[0]
    measures, made = _measures(random, below, names, values)
    within = f" WITHIN INTERVAL '{random.choice((1, 2, 4))}' SECOND" if random.random() < 0.35 else ""
    if len(terms) > 2 and random.random() < 0.1:
        terms = [f"({' '.join(terms[:2])})", *terms[2:]]
    more = f", {random.choice(values)}" if random.random() < 0.2 else ""
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    defined = [name for name in names if random.random() < 0.85] or [names[0]]
    definitions = ", ".join(f"{name} AS {_condition(random, name, names, values)}" for name in defined)
    sql = (
        f"SELECT * FROM {below.name} MATCH_RECOGNIZE ({partition}ORDER BY {below.time}{more} "
        f"MEASURES {', '.join(measures)} ONE ROW PER MATCH {_skip(random, names, terms)}"
        f"PATTERN ({' '.join(terms)}){within} DEFINE {definitions}) AS m"
    )
    columns = [*(column for column in below.columns if column[0] in keys), *made]
    time = "mt" if "mt" in dict(made) else None
    return sql, Relation("", tuple(columns), time, None, is_append=True, is_loose=bool(keys))


def _skip(random: Random, names: tuple[str, ...], terms: list[str]) -> str:
    """The AFTER MATCH SKIP clause. It must not skip to the first row of the match: the job would fail."""
    certain = [name for name in names[1:] if name in terms and terms[0] in (names[0], f"{names[0]}+")]
    chosen = random.choice(("", "PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", "TO NEXT ROW", "variable"))
    if chosen == "variable":
        if not certain:
            return "AFTER MATCH SKIP PAST LAST ROW "
        return f"AFTER MATCH SKIP TO {random.choice(('FIRST ', 'LAST ', ''))}{random.choice(certain)} "
    return f"AFTER MATCH SKIP {chosen} " if chosen else ""


def _measures(
    random: Random, below: Relation, names: tuple[str, ...], values: list[str]
) -> tuple[list[str], list[Column]]:
    types = dict(below.columns)
    measures, made = [], []
    for at in range(random.randint(1, 4)):
        name, value = random.choice(names), random.choice(values)
        type_ = types[value]
        text, type_ = random.choice(
            (
                (f"{name}.{value}", type_),
                (f"FIRST({name}.{value})", type_),
                (f"LAST({name}.{value}, 1)", type_),
                (f"FINAL LAST({name}.{value})", type_),
                (f"LAST({value})", type_),
                (f"SUM({name}.{value})", type_),
                (f"AVG({name}.{value})", type_),
                (f"MIN({value})", type_),
                (f"MAX({name}.{value})", type_),
                (f"COUNT({name}.{value})", "BIGINT"),
                ("COUNT(*)", "BIGINT"),
                (f"CAST({name}.{value} + COALESCE(LAST({names[0]}.{value}), 0) AS BIGINT)", "BIGINT"),
            )
        )
        measures.append(f"{text} AS m{at}")
        made.append((f"m{at}", type_))
    if random.random() < 0.3:
        measures.append("MATCH_ROWTIME() AS mt")
        made.append(("mt", types[str(below.time)]))
    return measures, made


def _condition(random: Random, name: str, names: tuple[str, ...], values: list[str]) -> str:
    value = random.choice(values)
    before = names[: names.index(name)]
    forms = [
        f"{name}.{value} > {random.randint(-1, 2)}",
        f"{name}.{value} < {random.randint(1, 4)}",
        f"{value} <> {random.randint(0, 3)}",
        f"{name}.{value} IS NOT NULL",
        f"{name}.{value} >= LAST({name}.{value}, 1) OR LAST({name}.{value}, 1) IS NULL",
        f"SUM({name}.{value}) < {random.randint(2, 8)}",
        f"COUNT({name}.{value}) <= 2",
    ]
    if before:
        other = random.choice(before)
        forms += [
            f"{name}.{value} > {other}.{value}",
            f"{name}.{value} <= LAST({other}.{value})",
            f"{name}.{value} >= FIRST({other}.{value}) - 1",
            f"{name}.{value} > AVG({other}.{value})",
        ]
    return random.choice(forms)
