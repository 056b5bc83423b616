"""The hint STATE_TTL: how long the rows of a join's inputs are kept, or the groups over an input.

    SELECT /*+ STATE_TTL('o' = '3 d', 'p' = '1 d') */ * FROM orders AS o JOIN payments AS p ON o.id = p.id
    SELECT /*+ STATE_TTL('orders' = '1 d') */ k, COUNT(*) FROM orders GROUP BY k

An input is named by its alias, or by its table if it has none. An input that is itself a join has no name, as in Flink.
Source: Flink FLIP-292, StateTtlHint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.tokenizer_core import Token

from engine.errors import unknown_name
from engine.model.options import milliseconds
from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

# In a longer text the pattern would look at each part once for every other one.
_MOST_CHARS: Final = 10_000
_TEXT: Final = r"'((?:[^']|'')*)'"
_HINT: Final = re.compile(
    r"/\*\+(?:.*\)\s*,)?\s*STATE_TTL\s*\(((?:'[^']*'|[^'()])*)\)\s*(?:,.*)?\*/", re.DOTALL | re.IGNORECASE
)
_PAIR: Final = re.compile(rf"\s*(?:{_TEXT}|(\w+))\s*=\s*{_TEXT}\s*(?:,(?=.)|$)", re.DOTALL)


def is_read(tokens: Sequence[Token], at: int) -> bool:
    """Whether a token is this hint at its place, after SELECT."""
    after_select = at > 0 and tokens[at - 1].token_type is TokenType.SELECT
    text = tokens[at].text
    return after_select and len(text) <= _MOST_CHARS and _HINT.fullmatch(text) is not None


def check(select: exp.Select) -> None:
    """Raise SqlRejected for a hint that is not well-formed, or names what the query does not read, as Flink does."""
    ttls, names = _ttls_of(select), _inputs(select)
    for name in ttls:
        if name not in names:
            message = f"STATE_TTL: {unknown_name('input', name, names)}."
            raise SqlRejected(message, select.args["hint"])


def of_join(at: Expr) -> dict[str, Any]:
    """The TTLs of a join's sides, as parameters. at: the join in the query."""
    select = at.parent if isinstance(at, exp.Join) else None
    if not isinstance(select, exp.Select):
        return {}
    ttls, joins = _ttls_of(select), select.args["joins"]
    left = select.args["from_"].this.alias_or_name if joins[0] is at else None
    sides = {"left_state_ttl_ms": left, "right_state_ttl_ms": at.this.alias_or_name}
    return {parameter: ttls[name] for parameter, name in sides.items() if name in ttls}


def of_group(at: Expr) -> dict[str, Any]:
    """The TTL of the groups over a query's only input, as a parameter. at: the query."""
    if not isinstance(at, exp.Select) or len(names := _inputs(at)) != 1:
        return {}
    ttls = _ttls_of(at)
    return {"state_ttl_ms": ttls[names[0]]} if names[0] in ttls else {}


def _inputs(select: exp.Select) -> list[str]:
    """The inputs of FROM by name, in order."""
    from_ = select.args.get("from_")
    parts = [*([from_] if from_ is not None else []), *(select.args.get("joins") or ())]
    return [part.this.alias_or_name for part in parts]


def _ttls_of(select: exp.Select) -> dict[str, int]:
    hint = select.args.get("hint")
    if hint is None:
        return {}
    match = _HINT.fullmatch(hint.expressions[0].name)
    text = match[1] if match is not None else ""
    ttls: dict[str, int] = {}
    at = 0
    while at < len(text) and (pair := _PAIR.match(text, at)) is not None:
        name, value = (part.replace("''", "'") for part in pair.groups() if part is not None)
        ttl_ms = milliseconds(value)
        if ttl_ms is None:
            message = f"STATE_TTL: {value!r} is no time such as '1 d'."
            raise SqlRejected(message, hint)
        ttls[name] = ttl_ms
        at = pair.end()
    if at < len(text) or not ttls:
        message = "STATE_TTL takes a time for each input, such as STATE_TTL('orders' = '1 d', 'payments' = '6 h')."
        raise SqlRejected(message, hint)
    return ttls
