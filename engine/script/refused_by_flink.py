"""What a script has that is read here and that Flink would refuse, and the script as Flink wants it.

    SELECT v.value, FROM v WHERE v.a == 1 LIMIT 5, 10   ->   SELECT v.`value` FROM v WHERE v.a = 1 LIMIT 10 OFFSET 5

The rules look at tokens: only the slips change, not the rest of a text. Source: answers of Flink 2.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from engine.model.free_names import free_name
from engine.model.types import DATE, Time, Timestamp, Type
from engine.script.of_databases import closed, of_databases
from engine.script.other_operators import other_operators
from engine.script.statements import Cursor, Statement, of_others, statements, without_prompts
from engine.script.tables import TableDdl, create_table
from engine.script.windows_of_both import bounds_of_both, repeated_bounds
from engine.sql.identifiers import RESERVED
from engine.sql.rejected import SqlRejected

# Of lines that are left out: why, and the characters in whose place -- begins a comment.
_NOT_SQL: Final = {
    "slashes": ("// begins no comment: comments are -- to the end of a line, or /* ... */", 2),
    "shell": ("this line is a command of a shell or a notebook, which is left out. Make it a comment: --", 0),
}
_INTERVAL: Final = re.compile(r"\s*(\d+)\s*(second|minute|hour|day|week|month|year)s?\s*", re.IGNORECASE)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?")
_TIME: Final = re.compile(r"\d\d:\d\d:\d\d(\.\d{1,3})?")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_OF_A_TABLE: Final = ("WATERMARK", "CONSTRAINT", "PRIMARY", "UNIQUE")
_CASTS: Final = ("CAST", "TRY_CAST")
_WITH_UNIT: Final = ("EXTRACT", "TIMESTAMPDIFF", "TIMESTAMPADD")
_AFTER_ALIAS: Final = frozenset(
    (",", ")", "FROM", "WHERE", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "ON", "GROUP BY", "ORDER BY")
)
_NOT_AFTER_A_NAME: Final = (TokenType.L_PAREN, TokenType.STRING)
_BEFORE_A_UNIT: Final = ("TO", "AS", "INTERVAL")
_TWO_NUMBERS: Final = [TokenType.NUMBER, TokenType.COMMA, TokenType.NUMBER]
_OPENING: Final = ("(", "[", "CASE")
_CLOSING: Final = (")", "]", "END")
_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)
_NO_NAMES: Final = ("TRUE", "FALSE", "NULL", "END", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP")


@dataclass(frozen=True)
class Slip:
    """A part of a script that Flink would refuse. instead: what takes the place of its characters, [start, end)."""

    line: int
    why: str
    start: int
    end: int
    instead: str

    @property
    def sentence(self) -> str:
        """The note about it."""
        return f"line {self.line}: Flink would refuse this: {self.why}."


@lru_cache(64)
def slips(script: str) -> tuple[Slip, ...]:
    """The slips of a script in their order; none if it cannot be split into statements."""
    try:
        parts = statements(without_prompts(script))
    except SqlRejected:
        return ()
    try:
        declared = _declared(parts)
    except RecursionError:
        # Whoever reads the script says that it is nested too deeply.
        return ()
    named = _reserved_names(parts)
    all_slips: list[Slip] = []
    for kind, at in of_others(script):
        line = script.count("\n", 0, at) + 1
        why, length = _NOT_SQL[kind]
        all_slips.append(Slip(line, why, at, at + length, "--" if length else "-- "))
    for statement in parts:
        for rule in (_commas, _limits, _intervals, _bounds, _repeated):
            all_slips += rule(statement.tokens)
        all_slips += (_slip(*other) for other in other_operators(statement.tokens, script))
        all_slips += _lookups(statement, declared)
        all_slips += _names(statement, named)
        if statement.creates("TABLE"):
            all_slips += _databases(statement)
            all_slips += _keys(statement.tokens)
        if statement.creates("VIEW"):
            all_slips += _same_columns(statement.tokens)
        all_slips += _rows(statement, declared)
        for stray in statement.strays:
            all_slips.append(_slip([stray], "a semicolon stands within the query, which goes on after it", ""))
        if statement.lacks_semicolon:
            last, end = statement.tokens[-1], statement.tokens[-1].end + 1
            all_slips.append(Slip(last.line, "a semicolon is missing at the end of the statement", end, end, ";"))
    return tuple(sorted(all_slips, key=lambda slip: slip.start))


def notes(script: str) -> list[str]:
    """A sentence for each kind of slip, with the line of its first one."""
    by_reason = {slip.why: slip.sentence for slip in reversed(slips(script))}
    return [by_reason.pop(slip.why) for slip in slips(script) if slip.why in by_reason]


def as_flink_wants(script: str) -> str:
    """The script without its slips; all else stays as it is written."""
    for slip in reversed(slips(script)):
        script = script[: slip.start] + slip.instead + script[slip.end :]
    return script


def _slip(tokens: Sequence[Token], why: str, instead: str) -> Slip:
    return Slip(tokens[0].line, why, tokens[0].start, tokens[-1].end + 1, instead)


def _commas(tokens: Sequence[Token]) -> Iterator[Slip]:
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.COMMA and (_word(after) == "FROM" or after.token_type is TokenType.R_PAREN):
            yield _slip([token], f"there is a comma too many before {after.text}", "")


def _limits(tokens: Sequence[Token]) -> Iterator[Slip]:
    for at, token in enumerate(tokens):
        rest = tokens[at + 1 : at + 4]
        if _word(token) == "LIMIT" and [token.token_type for token in rest] == _TWO_NUMBERS:
            first, _, count = (token.text for token in rest)
            right = f"{count} OFFSET {first}"
            yield _slip(rest, f"LIMIT {first}, {count} is written LIMIT {right}", right)


def _intervals(tokens: Sequence[Token]) -> Iterator[Slip]:
    for before, token in pairwise(tokens):
        if _word(before) == "INTERVAL" and token.token_type is TokenType.STRING:
            match = _INTERVAL.fullmatch(token.text)
            if match is not None:
                right = f"'{match[1]}' {match[2].upper()}"
                yield _slip([token], f"INTERVAL '{token.text}' is written INTERVAL {right}", right)


def _bounds(tokens: Sequence[Token]) -> Iterator[Slip]:
    for at, table in bounds_of_both(tokens).items():
        name = tokens[at].text
        yield _slip([tokens[at]], f"{name} is ambiguous, as both tables of the join have it", f"{table}.{name}")


def _repeated(tokens: Sequence[Token]) -> Iterator[Slip]:
    for at in repeated_bounds(tokens):
        yield _slip(tokens[at - 1 : at + 1], f"{tokens[at].text} is ambiguous above this query, whose * has it", "")


def _databases(statement: Statement) -> Iterator[Slip]:
    for part in of_databases(statement.tokens):
        instead = f"Flink has {part.instead}" if part.instead else "Flink has no such thing"
        slip = _slip(part.tokens, f"{part.word} is of other databases; {instead}", part.instead)
        # What goes takes the blank before it along.
        yield slip if part.instead else replace(slip, start=len(statement.text[: slip.start].rstrip()))


def _keys(tokens: Sequence[Token]) -> Iterator[Slip]:
    """A key of a table that Flink would have to enforce."""
    for at, token in enumerate(tokens):
        if _word(token) != "PRIMARY KEY":
            continue
        end = closed(tokens, at + 1) - 1 if _word(_at(tokens, at + 1)) == "(" else at
        if [_word(_at(tokens, place)) for place in (end + 1, end + 2)] != ["NOT", "ENFORCED"]:
            slip = _slip(tokens[at : end + 1], "a PRIMARY KEY is NOT ENFORCED: Flink does not own the data", "")
            yield replace(slip, start=slip.end, instead=" NOT ENFORCED")


def _same_columns(tokens: Sequence[Token]) -> Iterator[Slip]:
    """Columns of a view that are called as one before them; here, too, they get the next free name."""
    words = [_word(token) for token in tokens]
    selects = next((at for at in range(len(words) - 1) if words[at : at + 2] == ["AS", "SELECT"]), None)
    if selects is None or "(" in words[:selects]:
        return
    items: list[list[Token]] = [[]]
    depth = 0
    for token, word in zip(tokens[selects + 2 :], words[selects + 2 :], strict=True):
        if depth == 0 and word in ("FROM", ","):
            items.append([])
            if word == "FROM":
                break
            continue
        depth += (word in _OPENING) - (word in _CLOSING)
        items[-1].append(token)
    taken: list[str] = []
    for item in items:
        called = item[-1] if item and item[-1].token_type in _NAMES else None
        if any(token.token_type is TokenType.STAR and len(item) < 4 for token in item):
            return
        if called is None:
            continue
        name = free_name(called.text, taken)
        is_alias = len(item) > 1 and item[-2].token_type is not TokenType.DOT
        if name != called.text:
            slip = _slip([called], f"the view has two columns called {called.text}", f"`{name}`")
            yield slip if is_alias else replace(slip, start=slip.end, instead=f" AS {name}")
        taken.append(name)


def _at(tokens: Sequence[Token], place: int) -> Token | None:
    return tokens[place] if place < len(tokens) else None


def _names(statement: Statement, named: frozenset[str]) -> Iterator[Slip]:
    """Reserved words as names without backticks."""
    tokens = statement.tokens if not statement.begins("SET") else ()
    is_table = statement.creates("TABLE")
    columns = set(_column_places(tokens)) if is_table else set()
    callers: list[str] = []
    for at, token in enumerate(tokens):
        before = _word(tokens[at - 1]) if at else ""
        if token.token_type is TokenType.L_PAREN:
            callers.append(before)
        elif token.token_type is TokenType.R_PAREN and callers:
            callers.pop()
        word = _word(token)
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if word not in RESERVED or word in _NO_NAMES or (after is not None and after.token_type in _NOT_AFTER_A_NAME):
            continue
        is_typed = before == "AS" and bool(callers) and callers[-1] in _CASTS
        ends = after is None or _word(after) in _AFTER_ALIAS
        is_alias = before == "AS" and ends and not is_typed and not is_table
        is_unit = before == "(" and callers[-1:] and callers[-1] in _WITH_UNIT
        # In CREATE TABLE, other places are of types.
        can_be = (before in ("FOR", "AS") or len(callers) > 1) if is_table else before not in _BEFORE_A_UNIT
        is_used = token.text in named and can_be and not is_unit and not is_typed and not _is_amount(tokens[at - 1])
        if at in columns or before == "." or is_alias or is_used:
            why = f"{token.text} is a reserved word, which takes backticks as a name"
            yield _slip([token], why, f"`{token.text}`")


def _is_amount(token: Token) -> bool:
    return token.token_type in (TokenType.STRING, TokenType.NUMBER)


def _reserved_names(parts: Sequence[Statement]) -> frozenset[str]:
    """The reserved words that a script has as names of columns."""
    return frozenset(
        statement.tokens[at].text
        for statement in parts
        if statement.creates("TABLE")
        for at in _column_places(statement.tokens)
    )


def _column_places(tokens: Sequence[Token]) -> Iterator[int]:
    """The places of the columns of CREATE TABLE that are called by reserved words."""
    depth = 0
    for at, token in enumerate(tokens):
        word = _word(token)
        if depth == 0 and word in ("WITH", "AS", "LIKE"):
            return
        if depth == 1 and _word(tokens[at - 1]) in ("(", ",") and word in RESERVED and word not in _OF_A_TABLE:
            yield at
        depth += (token.text in "(<") - (token.text in ")>")


def _declared(parts: Sequence[Statement]) -> dict[str, TableDdl]:
    """The tables of a script, by name."""
    tables: dict[str, TableDdl] = {}
    for statement in parts:
        if statement.creates("TABLE"):
            with suppress(SqlRejected):
                table, _ = create_table(statement)
                tables[table.name] = table
    return tables


def looked_up(name: str, connector: str) -> str:
    """Why Flink refuses a lookup in a table of a connector that it cannot ask."""
    return f"the rows of {name} are looked up, which the connector {connector!r} cannot"


def _lookups(statement: Statement, declared: Mapping[str, TableDdl]) -> Iterator[Slip]:
    """Lookups in files, which a JOIN of all their rows answers, too. Files with a key and a watermark have versions."""
    tokens = statement.tokens
    for at in range(1, len(tokens)):
        if [_word(_at(tokens, at + place)) for place in range(4)] != ["FOR", "SYSTEM_TIME", "AS", "OF"]:
            continue
        table = declared.get(tokens[at - 1].text)
        if table is None or table.connector != "filesystem" or (table.primary_key and table.watermark):
            continue
        end = at + 5
        while (after := _at(tokens, end)) is not None and after.token_type is TokenType.DOT:
            end += 2
        why = f"{looked_up(table.name, table.connector)}. A JOIN without FOR SYSTEM_TIME takes all of them"
        slip = _slip(tokens[at:end], why, "")
        yield replace(slip, start=tokens[at - 1].end + 1)


def _rows(statement: Statement, declared: Mapping[str, TableDdl]) -> Iterator[Slip]:
    """NULL and texts in the rows of INSERT INTO ... VALUES, which take the type of their column only here."""
    cursor = Cursor(statement)
    try:
        if not cursor.skip("INSERT", "INTO"):
            return
        table = declared.get(cursor.name())
        types = {column.name: column.type for column in table.written} if table is not None else {}
        names = list(cursor.listed()) if cursor.sees("(") else list(types)
    except SqlRejected:
        return
    if not cursor.skip("VALUES"):
        return
    depth = place = 0
    tokens = statement.tokens
    for at in range(cursor.at, len(tokens)):
        token = tokens[at]
        if depth == 1 and token.token_type is TokenType.COMMA:
            place += 1
        around = tokens[at - 1 : at + 2 : 2]
        is_alone = depth == 1 and all(_word(neighbour) in ("(", ",", ")") for neighbour in around)
        if is_alone and place < len(names) and (type_ := types.get(names[place])) is not None:
            yield from _item(token, type_)
        opens = token.token_type is TokenType.L_PAREN
        if depth == 0 and opens:
            place = 0
        depth += opens - (token.token_type is TokenType.R_PAREN)


def _item(token: Token, type_: Type) -> Iterator[Slip]:
    if token.token_type is TokenType.NULL:
        yield _slip([token], "a bare NULL in VALUES has no type", f"CAST(NULL AS {type_.flink})")
    elif token.token_type is TokenType.STRING:
        is_moment = isinstance(type_, Timestamp) and _MOMENT.fullmatch(token.text)
        is_time = isinstance(type_, Time) and _TIME.fullmatch(token.text)
        is_day = type_ == DATE and _DAY.fullmatch(token.text)
        word = "TIMESTAMP" if is_moment else "DATE" if is_day else "TIME" if is_time else ""
        if word:
            yield _slip([token], f"a text is no {word}", f"{word} '{token.text}'")


def _word(token: Token | None) -> str:
    """A token in capitals; empty for a quoted name, for a text and for the end."""
    if token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return ""
    return token.text.upper()
