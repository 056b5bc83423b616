"""Random scalar expressions and conditions in Flink SQL, over columns with known types."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

Column = tuple[str, str]
"""A name and a Flink type: STRING, INT, BIGINT, DECIMAL(10, 2), BOOLEAN, TIMESTAMP(3), ARRAY<BIGINT>, ..."""

WHOLE = ("INT", "BIGINT")


def is_number(type_: str) -> bool:
    """Whether values of a type can be added."""
    return type_ in WHOLE or type_.startswith("DECIMAL")


def is_plain(type_: str) -> bool:
    """Whether a type is neither an array nor a multiset, so that its values can be compared and sorted."""
    return not type_.startswith(("ARRAY", "MULTISET"))


def is_time(type_: str) -> bool:
    """Whether a type is a point in time."""
    return type_.startswith("TIMESTAMP")


def some(columns: Sequence[Column], *types: str) -> list[str]:
    """The names of the columns with one of these types; DECIMAL or TIMESTAMP alone matches every precision."""
    return [name for name, type_ in columns if type_ in types or type_.partition("(")[0] in types]


# By a column's type: expressions over the column, `{}`, and their types. They fail for no value of the sources.
_OF_ONE: dict[str, tuple[tuple[str, str], ...]] = {
    "STRING": (
        ("UPPER({})", "STRING"),
        ("{} || '!'", "STRING"),
        ("CONCAT_WS('-', {}, 'x')", "STRING"),
        ("CHAR_LENGTH({})", "INT"),
        ("SUBSTRING({}, 1, 1)", "STRING"),
        ("COALESCE({}, 'none')", "STRING"),
        ("NULLIF({}, 'a')", "STRING"),
        ("CASE {} WHEN 'a' THEN 1 WHEN 'b' THEN 2 END", "INT"),
        ("REPLACE({}, 'a', 'bb')", "STRING"),
        ("LPAD({}, 3, '*')", "STRING"),
        ("POSITION('b' IN {})", "INT"),
        ("REGEXP_EXTRACT({}, '([a-z])', 1)", "STRING"),
        ("SPLIT_INDEX({}, 'b', 0)", "STRING"),
        ("{} LIKE '%b%'", "BOOLEAN"),
        ("{} IS NULL", "BOOLEAN"),
        ("IF({} = 'a', 'yes', 'no')", "STRING"),
        ("TRIM(BOTH 'a' FROM {})", "STRING"),
        ("REVERSE({})", "STRING"),
        ("INITCAP({})", "STRING"),
        ("JSON_VALUE('{{\"a\": 1}}', '$.a') || {}", "STRING"),
        ("TRY_CAST({} AS INT)", "INT"),
    ),
    "BIGINT": (
        ("{} + 1", "BIGINT"),
        ("{} * 2 - 3", "BIGINT"),
        ("MOD({}, 3)", "INT"),
        ("{} / 2", "BIGINT"),
        ("ABS({})", "BIGINT"),
        ("-{}", "BIGINT"),
        ("SIGN({})", "BIGINT"),
        ("COALESCE({}, 0)", "BIGINT"),
        ("NULLIF({}, 2)", "BIGINT"),
        ("CASE WHEN {} > 1 THEN 'much' WHEN {} > 0 THEN 'some' ELSE 'none' END", "STRING"),
        ("CAST({} AS STRING)", "STRING"),
        ("CAST({} AS DECIMAL(10, 2))", "DECIMAL(10, 2)"),
        ("CAST({} AS INT)", "INT"),
        ("{} > 1", "BOOLEAN"),
        ("GREATEST({}, 1)", "BIGINT"),
        ("LEAST({}, 1)", "BIGINT"),
        ("ARRAY[{}, 7]", "ARRAY<BIGINT>"),
        ("MAP['x', {}]['x']", "BIGINT"),
    ),
    "INT": (
        ("{} + 1", "INT"),
        ("{} * {}", "INT"),
        ("{} % 2", "INT"),
        ("CAST({} AS BIGINT)", "BIGINT"),
        ("COALESCE({}, -1)", "INT"),
        ("{} BETWEEN 1 AND 2", "BOOLEAN"),
        ("POWER({}, 2) > 3", "BOOLEAN"),
        ("CASE WHEN {} IN (1, 3) THEN 'odd' END", "STRING"),
    ),
    "DECIMAL": (
        ("CAST({} AS BIGINT)", "BIGINT"),
        ("CAST({} AS STRING)", "STRING"),
        ("CAST({} * 2 AS DECIMAL(10, 2))", "DECIMAL(10, 2)"),
        ("CAST(ROUND({}, 1) AS DECIMAL(10, 2))", "DECIMAL(10, 2)"),
        ("CAST(FLOOR({}) AS BIGINT)", "BIGINT"),
        ("CAST(CEIL({}) AS BIGINT)", "BIGINT"),
        ("CAST({} / 4 AS DECIMAL(10, 2))", "DECIMAL(10, 2)"),
        ("CAST(ABS({}) AS DECIMAL(10, 2))", "DECIMAL(10, 2)"),
        ("{} > 1.5", "BOOLEAN"),
    ),
    "BOOLEAN": (
        ("NOT {}", "BOOLEAN"),
        ("{} IS TRUE", "BOOLEAN"),
        ("CASE WHEN {} THEN 1 ELSE 0 END", "INT"),
        ("CAST({} AS STRING)", "STRING"),
    ),
    "TIMESTAMP": (
        ("EXTRACT(SECOND FROM {})", "BIGINT"),
        ("DATE_FORMAT({}, 'HH:mm:ss')", "STRING"),
        ("CAST(FLOOR({} TO MINUTE) AS STRING)", "STRING"),
        ("MINUTE({})", "BIGINT"),
        ("CAST({} AS STRING)", "STRING"),
    ),
    "ARRAY": (
        ("CARDINALITY({})", "INT"),
        ("{}[1]", "BIGINT"),
        ("ARRAY_CONTAINS({}, 7)", "BOOLEAN"),
    ),
}


def expression(random: Random, columns: Sequence[Column]) -> tuple[str, str]:
    """An expression and its type."""
    name, type_ = random.choice(columns)
    numbers = [one for one, other in columns if other in WHOLE]
    if len(numbers) > 1 and random.random() < 0.25:
        a, b = random.sample(numbers, 2)
        form = random.choice(("{} + {}", "{} - {}", "COALESCE({}, {})", "CASE WHEN {} > 1 THEN {} ELSE 0 END"))
        return f"CAST({form.format(a, b)} AS BIGINT)", "BIGINT"
    forms = _OF_ONE.get(type_) or _OF_ONE.get(type_.partition("(")[0]) or _OF_ONE.get(type_.partition("<")[0])
    if not forms:
        return name, type_
    form, made = random.choice(forms)
    return form.replace("{}", name).replace("{{", "{").replace("}}", "}"), made


def condition(random: Random, columns: Sequence[Column]) -> str:
    """A random condition."""
    if random.random() < 0.2:
        sign = random.choice(("AND", "OR"))
        return f"({_comparison(random, columns)}) {sign} {_comparison(random, columns)}"
    return _comparison(random, columns)


def _comparison(random: Random, columns: Sequence[Column]) -> str:
    name, type_ = random.choice([column for column in columns if is_plain(column[1])] or columns)
    if type_ == "STRING":
        forms = ["{} <> 'b'", "{} IN ('a', 'b', 'some')", "{} IS NOT NULL", "{} LIKE 'a%'", "{} >= 'b'", "NOT {} = 'a'"]
    elif is_number(type_):
        forms = ["{} > 0", "{} <= 3", "{} <> 1", "{} BETWEEN 0 AND 4", "{} IS NOT NULL", "{} IN (0, 1, 2, 4)"]
    elif type_ == "BOOLEAN":
        forms = ["{}", "{} IS NOT TRUE"]
    else:
        forms = ["{} IS NOT NULL"]
    return random.choice(forms).replace("{}", name)
