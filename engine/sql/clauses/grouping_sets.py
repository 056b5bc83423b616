"""GROUPING SETS, ROLLUP and CUBE: each row once per set, with NULL for columns outside the set.

Source: Flink's DecomposeGroupingSetsRule: an Expand adds the number of the set ($e: one bit per omitted column, the
highest for the first column), and the aggregate above also groups by it. The sets come by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations, product
from math import prod

from sqlglot import exp

from engine.model.free_names import free_name
from engine.sql.algebra import Aggregate, Expr, Filter, Named, Relation, Select, Union, Unnested, plain, ref
from engine.sql.rejected import SqlRejected
from engine.sql.rules import moved

NUMBER = "$e"
MOST_SETS = 1024
_FUNCTIONS = ("GROUPING", "GROUPING_ID")

Set = tuple[Expr, ...]


def grouping_sets(group: exp.Group | None) -> list[Set] | None:
    """The sets of GROUP BY in order; None for a plain GROUP BY. Raises SqlRejected for more than MOST_SETS."""
    if group is None or group.find(exp.GroupingSets, exp.Rollup, exp.Cube) is None:
        return None
    _check_number(group)
    parts: list[list[Set]] = [[()]]
    for item in group.expressions:
        within = [_columns(element) for element in item.expressions]
        match item:
            case exp.GroupingSets():
                parts.append(within)
            case exp.Rollup():
                parts.append(_rollup(within))
            case exp.Cube():
                parts.append(_cube(within))
            case _:
                parts.append([(item,)])
    return [tuple(chain.from_iterable(choice)) for choice in product(*parts)]


def _check_number(group: exp.Group) -> None:
    sizes = (
        2.0 ** min(len(item.expressions), 99) if isinstance(item, exp.Cube) else len(item.expressions) + 1
        for item in group.expressions
        if isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube)
    )
    if prod(sizes) > MOST_SETS:
        message = (
            f"GROUP BY has more than {MOST_SETS:,} sets of columns, as CUBE doubles them with each column. Name those "
            "that you need in GROUPING SETS."
        )
        raise SqlRejected(message, group)


def expanded(relation: Relation, keys: Sequence[Expr], sets: Sequence[Set], at: Expr) -> tuple[Relation, list[Expr]]:
    """The rows once per set, and the columns of the keys, with the set's number last.

    The keys are separate columns, so that an aggregate of the same column still sees its value.
    Raises SqlRejected for a set that occurs twice: its rows would count once per occurrence, in one group.
    """
    names: list[str] = []
    for key in keys:
        names.append(free_name(plain(key) or "key", (*relation.columns, *names)))
    number = free_name(NUMBER, (*relation.columns, *names))
    by_number = {_omitted(keys, key_set): key_set for key_set in sets}
    if len(by_number) < len(sets):
        twice = next(key_set for place, key_set in enumerate(sets) if set(key_set) in map(set, sets[:place]))
        message = (
            f"GROUP BY has the set ({', '.join(plain(key) or key.sql() for key in twice)}) twice. Name each set once; "
            "for its rows twice, use UNION ALL."
        )
        raise SqlRejected(message, at)
    numbers = sorted(by_number)
    array = exp.Array(expressions=[_number(set_number) for set_number in numbers])
    passed_on: list[Named] = [(name, ref(name)) for name in relation.columns]
    chosen: list[Named] = []
    for name, key in zip(names, keys, strict=True):
        within = [set_number for set_number in numbers if key in by_number[set_number]]
        is_in = exp.In(this=ref(number), expressions=[_number(set_number) for set_number in within])
        chosen.append((name, key if within == numbers else _where(is_in, key) if within else _null(key)))
    rows = Unnested(relation, array, (number,), None, False, at)
    return Select(rows, (*passed_on, *chosen, (number, ref(number)))), [ref(name) for name in (*names, number)]


def in_order(
    relation: Relation, keys: Sequence[Expr], read: Sequence[Expr], is_computed_above: Callable[[Expr], bool]
) -> list[Expr]:
    """The keys in the order in which the sets' numbers count them: as written, or as the relation below has them.

    The latter if the keys and the arguments of the calls, `read`, are columns, and all that the relation has. Then
    nothing but their order is left to a projection between the two, and Flink takes it away, unless a filter, a union
    or the projection that computes a call of an aggregate takes it in.
    """
    columns = [plain(expression) for expression in (*keys, *read)]
    relation = moved(relation)
    while isinstance(relation, Select):
        below = {name: plain(item) for name, item in relation.items}
        columns = [below.get(name) if name is not None else None for name in columns]
        relation = relation.input
    takes_it_in = isinstance(relation, Filter | Union) or (
        isinstance(relation, Aggregate) and any(is_computed_above(call) for _, call in relation.calls)
    )
    if takes_it_in or set(columns) != set(relation.columns):
        return list(keys)
    places = {name: place for place, name in enumerate(relation.columns)}
    return [key for _, key in sorted(zip(columns, keys, strict=False), key=lambda pair: places[pair[0] or ""])]


def with_grouping(expression: Expr, keys: Sequence[Expr], columns: Sequence[Expr]) -> Expr:
    """The expression with GROUPING and GROUPING_ID as bits of the set's number. keys: as written in the query."""
    number = columns[-1]

    def swap(node: Expr) -> Expr:
        if not isinstance(node, exp.Anonymous) or node.name.upper() not in _FUNCTIONS:
            return node
        unknown = next((argument for argument in node.expressions if argument not in keys), None)
        if unknown is not None or not node.expressions:
            message = f"{node.name.upper()} takes columns of GROUP BY."
            raise SqlRejected(message, node)
        places = [len(keys) - 1 - list(keys).index(argument) for argument in node.expressions]
        bits = [_bit(number, place, 1 << (len(places) - 1 - at)) for at, place in enumerate(places)]
        whole: Expr = bits[0]
        for bit in bits[1:]:
            whole = exp.Add(this=whole, expression=bit)
        return exp.Paren(this=whole)

    rewritten: Expr = expression.copy().transform(swap, copy=False)
    return rewritten


def _omitted(keys: Sequence[Expr], columns: Set) -> int:
    """The number of a set: a bit per key that is not among its columns."""
    return sum(1 << (len(keys) - 1 - place) for place, key in enumerate(keys) if key not in columns)


def _bit(number: Expr, place: int, worth: int) -> Expr:
    """One bit of a number at a place, multiplied by `worth`."""
    divided = exp.Div(this=number.copy(), expression=_number(1 << place), typed=True)
    shifted = exp.Paren(this=divided) if place else number.copy()
    bit = exp.Mod(this=shifted, expression=_number(2))
    return exp.Mul(this=exp.Paren(this=bit), expression=_number(worth)) if worth > 1 else bit


def _number(value: int) -> Expr:
    return exp.Cast(this=exp.Literal.number(value), to=exp.DataType.build("BIGINT"))


def _null(key: Expr) -> Expr:
    """NULL with the type of an expression."""
    return _where(exp.Boolean(this=False), key)


def _where(condition: Expr, key: Expr) -> Expr:
    """The expression if a condition is true, else NULL."""
    return exp.Case(ifs=[exp.If(this=condition, true=key.copy())])


def _columns(item: Expr) -> Set:
    if isinstance(item, exp.Tuple):
        return tuple(item.expressions)
    return (item.this,) if isinstance(item, exp.Paren) else (item,)


def _rollup(items: Sequence[Set]) -> list[Set]:
    return [tuple(chain.from_iterable(items[:count])) for count in range(len(items), -1, -1)]


def _cube(items: Sequence[Set]) -> list[Set]:
    counts = range(len(items), -1, -1)
    return [tuple(chain.from_iterable(some)) for count in counts for some in combinations(items, count)]
