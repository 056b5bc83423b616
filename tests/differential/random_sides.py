"""Random steps over one relation and additional values: constants, an aggregate of all rows, the watermark."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.differential.random_expressions import some
from tests.differential.random_relations import Relation, Step, changing

_CONSTANTS = {"STRING": ("'a'", "'b'", "'d'"), "BIGINT": ("0", "1", "7"), "INT": ("0", "1", "7")}


def with_constants(random: Random, below: Relation) -> Step:
    """A step with constants: a join with VALUES, IN, or a UNION with them."""
    able = [(name, type_) for name, type_ in below.columns if name in below.keys and type_ in _CONSTANTS]
    if not able or "c" in below.names:
        return None
    key, type_ = random.choice(able)
    constants = random.sample(_CONSTANTS[type_], random.randint(1, 3))
    loose = replace(changing(below, below.columns), is_loose=True)
    match random.choice(("join", "left join", "in", "union")):
        case "in":
            sign = random.choice(("", "NOT "))
            rows = ", ".join(f"({each})" for each in constants)
            return f"SELECT {', '.join(below.names)} FROM {below.name} WHERE {key} {sign}IN (VALUES {rows})", loose
        case "union":
            rows = ", ".join(f"(CAST({each} AS {type_}))" for each in constants)
            union = random.choice(("UNION", "UNION ALL"))
            sql = f"SELECT {key} FROM {below.name} {union} SELECT x FROM (VALUES {rows}) AS d(x)"
            return sql, replace(loose, columns=((key, type_),))
        case kind:
            rows = ", ".join(f"({each}, CAST({at} AS BIGINT))" for at, each in enumerate(constants))
            items = ", ".join(f"l.{name}" for name in below.names)
            sql = (
                f"SELECT {items}, d.c FROM {below.name} AS l {kind.upper()} (VALUES {rows}) AS d(x, c) ON l.{key} = d.x"
            )
            return sql, replace(loose, columns=(*below.columns, ("c", "BIGINT")))


def with_whole(random: Random, below: Relation) -> Step:
    """Each row with an aggregate of all rows, or of all rows of its key."""
    numbers = some(below.columns, "BIGINT", "INT")
    if not numbers or "whole" in below.names or not below.is_append:
        return None
    number, key = random.choice(numbers), random.choice(below.keys)
    call = f"{random.choice(('MAX', 'MIN', 'SUM', 'COUNT'))}({number})"
    made = "BIGINT" if call.startswith("COUNT") else dict(below.columns)[number]
    of_key = random.choice(("", f" WHERE r.{key} = l.{key}"))
    items = ", ".join(f"l.{name}" for name in below.names)
    sql = f"SELECT {items}, (SELECT {call} FROM {below.name} AS r{of_key}) AS whole FROM {below.name} AS l"
    return sql, replace(changing(below, (*below.columns, ("whole", made))), is_loose=True)


def watermark(random: Random, below: Relation) -> Step:
    """Each row with the current watermark as a text, or with 'late' if it is late."""
    if below.is_loose or "wm" in below.names:
        return None
    text = f"CURRENT_WATERMARK({below.time})"
    late = f"CASE WHEN {below.time} <= {text} THEN 'late' END"
    item = random.choice((f"CAST({text} AS STRING)", late))
    names = [name for name in below.names if name != below.time or random.random() < 0.8]
    columns = tuple(column for column in below.columns if column[0] in names)
    time = below.time if below.time in names else None
    after = replace(below, columns=(*columns, ("wm", "STRING")), time=time, processing_time=None, has_windows=False)
    return f"SELECT {', '.join([*names, f'{item} AS wm'])} FROM {below.name}", after
