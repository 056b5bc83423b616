"""How large a text an expression can make of a record: what grows too much is refused before Spark makes it.

    hex(hex(...)), base64(...)                   a factor for each
    replace(a, b, c), regexp_replace(a, b, c)    each byte of a may become c
    a || b || ..., array_join(a, b)              their sum, and a separator for each part
    format_string('%90000d', n), format_number   the widths that they name

The size is a polynomial of the bytes of the columns that the expression names. Where it is more than a few times these
bytes, Spark computes it for each record, and fails with a sentence where it is more than MOST_MADE_BYTES.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from sqlglot import exp

from engine.expressions.parsing import SPARK, UNREADABLE, called, tree_of

MOST_BYTES: Final = 16 << 20
"""What one call makes that is told how much to make."""
MOST_MADE_BYTES: Final = 256 << 20
ALWAYS: Final = "TRUE"
"""The condition of an expression that makes too much of any record."""
_FACTOR: Final = 16.0
_NUMBER_BYTES: Final = 40.0
_FEW: Final = 1000
_MOST_WIDTH: Final = 100_000
_FACTORS: Final = {
    "hex": 2.0,
    "base64": 1.5,
    "encode": 4.0,
    "url_encode": 3.0,
    "to_json": 6.0,
}
_GROWS: Final = re.compile(
    r"replace|format|printf|array_join|\b(?:" + "|".join(_FACTORS) + r")\b|\brepeat\b|pad\b", re.IGNORECASE
)
_WIDTH: Final = re.compile(r"%[^a-zA-Z%]*")

Polynomial = tuple[float, ...]


def too_large(sql: str) -> str | None:
    """The condition under which a Spark SQL expression makes too large a text; None if it cannot."""
    if not _GROWS.search(sql) and sql.count(",") + sql.count("||") < _FACTOR:
        return None
    try:
        tree = tree_of(sql)
        sizes = _Sizes()
        size = sizes.of(tree)
    except UNREADABLE:
        # Spark refuses it, or reads it in another way.
        return None
    conditions = list(sizes.odd)
    if size[0] > MOST_MADE_BYTES or ALWAYS in conditions:
        return ALWAYS
    if len(size) > 2 or (len(size) == 2 and size[1] > _FACTOR):
        variables = {name.name for lambda_ in tree.find_all(exp.Lambda) for name in lambda_.expressions}
        columns = {column.sql(SPARK) for column in tree.find_all(exp.Column) if column.parts[0].name not in variables}
        given = " + ".join(f"coalesce(octet_length(CAST({column} AS STRING)), 0)" for column in sorted(columns)) or "0"
        size_sql = ""
        for factor in reversed(size):
            size_sql = f"{factor:.6e}" + (f" + ({given}) * ({size_sql})" if size_sql else "")
        conditions.append(f"{size_sql} > {MOST_MADE_BYTES}")
    return " OR ".join(conditions) or None


class _Sizes:
    """The sizes of the parts of an expression. odd: conditions under which a part names too large a width."""

    def __init__(self) -> None:
        self.odd: list[str] = []
        # By the identity of a part, which lives as long as its tree: parts stand in many others.
        self._known: dict[int, Polynomial] = {}

    def of(self, node: exp.Expr) -> Polynomial:
        """What a part makes, and what it is made of: never less than any of its own parts."""
        if (size := self._known.get(id(node))) is None:
            size = self._known[id(node)] = self._of(node)
        return size

    def _of(self, node: exp.Expr) -> Polynomial:
        if isinstance(node, exp.Column):
            return (0.0, 1.0)
        if isinstance(node, exp.Literal):
            return (float(len(node.name.encode("utf-8", "replace"))) if node.is_string else _NUMBER_BYTES,)
        parts = [self.of(part) for part in _parts(node)]
        whole = _added(parts)
        if isinstance(node, exp.Case | exp.If):
            return _most(parts)
        match called(node), node.expressions:
            case "coalesce" | "ifnull" | "nvl", _:
                return _most(parts)
            case "replace" | "regexp_replace", [text, sought, by, *_]:
                return self._replaced(text, sought, by, whole, is_pattern=called(node) == "regexp_replace")
            case "array_join", [_, separator, *_]:
                return _added([whole, _times(self.of(separator), (0.0, 1.0))])
            case "concat_ws", [separator, *_]:
                return _added([whole, _times(self.of(separator), (float(len(parts)),))])
            case "repeat", [text, times] if _is_small(text, times):
                return _times(whole, (max(_number(times), 1.0),))
            case "repeat" | "lpad" | "rpad", _:
                # It has a guard of its own.
                return _added([whole, (float(MOST_BYTES),)])
            case "format_string" | "printf", formats:
                return _added([whole, (self._width(formats),)])
            case "format_number", [_, digits]:
                if not _is_number(digits) or _number(digits) > _FEW:
                    self.odd.append(f"coalesce(try_cast({digits.sql(SPARK)} AS INT) > {_FEW}, FALSE)")
                return _added([whole, (float(_FEW),)])
            case name, _ if name in _FACTORS:
                return _times(whole, (_FACTORS[name],))
        return whole

    def _replaced(
        self, text: exp.Expr, sought: exp.Expr, by: exp.Expr, whole: Polynomial, *, is_pattern: bool
    ) -> Polynomial:
        instead = self.of(by)
        if is_pattern:
            # It may find nothing between any two bytes, which stay.
            instead = _added([instead, (1.0,)])
        elif isinstance(sought, exp.Literal) and sought.is_string:
            instead = _times(instead, (1 / max(len(sought.name), 1),))
        if len(instead) == 1 and instead[0] <= 1:
            return whole
        return _most([whole, _times(self.of(text), instead)])

    def _width(self, arguments: list[exp.Expr]) -> float:
        """The bytes that the widths of a format add."""
        if not arguments:
            return 0.0
        given = arguments[0]
        if isinstance(given, exp.Literal) and given.is_string:
            numbers = [number for place in _WIDTH.findall(given.name) for number in re.findall(r"\d+", place)]
            widths = sum(float(number) for number in numbers)
            if widths > _MOST_WIDTH:
                self.odd.append(ALWAYS)
            return min(widths, _MOST_WIDTH)
        self.odd.append(f"coalesce({given.sql(SPARK)} rlike '[0-9]{{6}}', FALSE)")
        return float(_MOST_WIDTH)


def _parts(node: exp.Expr) -> list[exp.Expr]:
    return list(_operands(node))


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        for operand in value if isinstance(value, list) else [value]:
            if isinstance(operand, exp.Expr) and not isinstance(operand, exp.DataType | exp.Identifier):
                yield operand


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _number(node: exp.Expr) -> float:
    return float(node.name[:12])


def _is_small(text: exp.Expr, times: exp.Expr) -> bool:
    """Whether a repeat has no guard, as `engine.expressions.costs` gives it one."""
    guarded = (called(part) in ("repeat", "lpad", "rpad") for part in text.find_all(exp.Anonymous))
    return _is_number(times) and _number(times) <= _FEW and not any(guarded)


def _added(parts: list[Polynomial]) -> Polynomial:
    return tuple(sum(coefficients) for coefficients in zip_longest(*parts, fillvalue=0.0)) or (0.0,)


def _most(parts: list[Polynomial]) -> Polynomial:
    return tuple(max(coefficients) for coefficients in zip_longest(*parts, fillvalue=0.0)) or (0.0,)


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    product = [0.0] * (len(one) + len(other) - 1)
    for at, left in enumerate(one):
        for to, right in enumerate(other):
            product[at + to] = min(product[at + to] + left * right, 1e300)
    return tuple(product)
