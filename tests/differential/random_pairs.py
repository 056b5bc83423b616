"""Random steps over two relations: joins of all kinds, sub-queries, set operations."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.differential.random_expressions import is_number, is_plain
from tests.differential.random_relations import WINDOW, Relation, Step
from tests.differential.random_steps import table_function

_OUTER = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


def of_two(random: Random, left: Relation, right: Relation) -> tuple[str, Step]:
    """A random step over two relations, with its name."""
    able: list[Callable[[Random, Relation, Relation], Step]] = [join, join, sub_query, set_operation]
    if left.time and right.time and left.is_append and right.is_append:
        able += [interval_join, interval_join, window_join, window_join]
    step = random.choice(able)
    return step.__name__, step(random, left, right)


def join(random: Random, left: Relation, right: Relation) -> Step:
    """A regular join."""
    on = _equal(random, left, right)
    if on is None:
        return None
    kind = random.choice(_OUTER)
    on += _unequal(random, left, right)
    items, columns = _both(left, right)
    sql = f"SELECT {items} FROM {left.name} AS l {kind} {right.name} AS r ON {on}"
    is_append = kind == "JOIN" and left.is_append and right.is_append
    return sql, Relation("", columns, None, None, is_append=is_append, is_loose=True)


def sub_query(random: Random, left: Relation, right: Relation) -> Step:
    """A sub-query: IN, EXISTS, NOT EXISTS, or a scalar one."""
    pairs = _pairs(left, right)
    if not pairs:
        return None
    a, b = random.choice(pairs)
    match random.choice(("in", "exists", "not exists", "scalar")):
        case "in":
            where = f"l.{a} IN (SELECT {b} FROM {right.name})"
        case "exists":
            more = _unequal(random, left, right)
            where = f"EXISTS (SELECT 1 FROM {right.name} AS r WHERE l.{a} = r.{b}{more})"
        case "not exists":
            more = _unequal(random, left, right)
            where = f"NOT EXISTS (SELECT 1 FROM {right.name} AS r WHERE l.{a} = r.{b}{more})"
        case _:
            numbers = [(a, b) for a, b in pairs if is_number(dict(left.columns)[a])]
            if not numbers:
                return None
            a, b = random.choice(numbers)
            where = f"l.{a} >= (SELECT {random.choice(('MIN', 'AVG', 'COUNT'))}({b}) FROM {right.name})"
    items = ", ".join(f"l.{name}" for name in left.names)
    sql = f"SELECT {items} FROM {left.name} AS l WHERE {where}"
    return sql, Relation("", left.columns, None, None, is_append=False, is_loose=True)


def set_operation(random: Random, left: Relation, right: Relation) -> Step:
    """UNION, INTERSECT and EXCEPT, with and without ALL."""
    pairs = _pairs(left, right)
    pairs = [pair for pair in pairs if is_plain(dict(left.columns)[pair[0]])]
    chosen = random.sample(pairs, min(len(pairs), random.randint(1, 2)))
    if not chosen or len({a for a, _ in chosen}) < len(chosen):
        return None
    operation = random.choice(("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"))
    sql = f"SELECT {', '.join(a for a, _ in chosen)} FROM {left.name} {operation} "
    sql += f"SELECT {', '.join(b for _, b in chosen)} FROM {right.name}"
    columns = tuple((a, dict(left.columns)[a]) for a, _ in chosen)
    is_append = operation == "UNION ALL" and left.is_append and right.is_append
    return sql, Relation("", columns, None, None, is_append=is_append, is_loose=True)


def interval_join(random: Random, left: Relation, right: Relation) -> Step:
    """An interval join."""
    on = _equal(random, left, right)
    if on is None or dict(left.columns)[str(left.time)] != dict(right.columns)[str(right.time)]:
        return None
    lower = random.choice((-3, -1, 0, 1))
    upper = lower + random.choice((0, 1, 4))
    bounds = [f"r.{right.time} {'-' if ms < 0 else '+'} INTERVAL '{abs(ms)}' SECOND" for ms in (lower, upper)]
    on += f" AND l.{left.time} BETWEEN {bounds[0]} AND {bounds[1]}{_unequal(random, left, right)}"
    items, columns = _both(left, right)
    sql = f"SELECT {items} FROM {left.name} AS l {random.choice(_OUTER)} {right.name} AS r ON {on}"
    return sql, Relation("", columns, None, None, is_append=True, is_loose=True)


def window_join(random: Random, left: Relation, right: Relation) -> Step:
    """A window join: inner, outer, semi or anti."""
    on = _equal(random, left, right)
    if on is None or any(name in dict(WINDOW) for name in (*left.names, *right.names)):
        return None
    key = on.split(" = ")[0].removeprefix("l.")
    function = table_function(random, left, [key])
    if key not in right.names and "SESSION" in function:
        return None
    other = function.replace(f"TABLE {left.name}", f"TABLE {right.name}", 1)
    other = other.replace(f"DESCRIPTOR({left.time})", f"DESCRIPTOR({right.time})")
    on += " AND l.window_start = r.window_start AND l.window_end = r.window_end" + _unequal(random, left, right)
    items, columns = _both(left, right)
    if random.random() < 0.25:
        sign = random.choice(("", "NOT "))
        items = ", ".join(f"l.{name}" for name in left.names)
        where = f"{sign}EXISTS (SELECT 1 FROM (SELECT * FROM {other}) AS r WHERE {on})"
        sql = f"SELECT {items} FROM (SELECT * FROM {function}) AS l WHERE {where}"
        return sql, Relation("", left.columns, None, None, is_append=True, is_loose=True)
    kind = random.choice(_OUTER)
    sql = f"SELECT {items} FROM (SELECT * FROM {function}) AS l {kind} (SELECT * FROM {other}) AS r ON {on}"
    return sql, Relation("", columns, None, None, is_append=True, is_loose=True)


def temporal_join(random: Random, left: Relation, right: Relation) -> Step:
    """A temporal join. The right side is keyed by k."""
    kind = random.choice(("JOIN", "LEFT JOIN"))
    items, columns = _both(left, right)
    sql = f"SELECT {items} FROM {left.name} AS l {kind} {right.name} FOR SYSTEM_TIME AS OF l.{left.time} AS r "
    sql += f"ON l.k = r.k{_unequal(random, left, right)}"
    return sql, Relation("", columns, None, None, is_append=left.is_append, is_loose=True)


def _pairs(left: Relation, right: Relation) -> list[tuple[str, str]]:
    """The pairs of columns with equal types, one of each side."""
    return [(a, b) for a, one in left.columns for b, other in right.columns if one == other]


def _equal(random: Random, left: Relation, right: Relation) -> str | None:
    pairs = [(a, b) for a, b in _pairs(left, right) if a in left.keys and b in right.keys]
    if not pairs:
        return None
    a, b = random.choice([pair for pair in pairs if pair[0] == pair[1]] or pairs)
    return f"l.{a} = r.{b}"


def _unequal(random: Random, left: Relation, right: Relation) -> str:
    numbers = [(a, b) for a, b in _pairs(left, right) if is_number(dict(left.columns)[a])]
    if not numbers or random.random() < 0.7:
        return ""
    a, b = random.choice(numbers)
    return f" AND l.{a} {random.choice(('<', '>=', '<>'))} r.{b}"


def _both(left: Relation, right: Relation) -> tuple[str, tuple[tuple[str, str], ...]]:
    items = [*(f"l.{name}" for name in left.names), *(f"r.{name} AS r_{name}" for name in right.names)]
    return ", ".join(items), (*left.columns, *((f"r_{name}", type_) for name, type_ in right.columns))
