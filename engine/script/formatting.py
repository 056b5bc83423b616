"""Readable Flink SQL: a line per clause, a line per item of long lists, backticks only if needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import TokenType

from engine.script.statements import Cursor, Statement
from engine.sql.identifiers import identifier
from engine.sql.parsing import tokens_of

WIDTH: Final = 100
_CLAUSES: Final = (
    ("FROM",),
    ("WHERE",),
    ("GROUP", "BY"),
    ("HAVING",),
    ("WINDOW",),
    ("UNION", "ALL"),
    ("UNION",),
    ("INTERSECT",),
    ("EXCEPT",),
    ("LEFT", "JOIN"),
    ("RIGHT", "JOIN"),
    ("FULL", "JOIN"),
    ("INNER", "JOIN"),
    ("JOIN",),
    ("ON",),
)


def unquoted(sql: str, fixed: Sequence[str] = ()) -> str:
    """The SQL without unnecessary backticks. fixed: parts that stay unchanged.

    A part directly after AS is an alias and is not one of them.
    """
    for at, part in enumerate(fixed):
        sql = re.sub(rf"(?<!AS )(?<![.`]){re.escape(part)}(?! *\.)", f"fixed_part_{at}_", sql)
    text = _unquoted(sql)
    for at, part in enumerate(fixed):
        text = text.replace(f"fixed_part_{at}_", part)
    return text


def _unquoted(sql: str) -> str:
    pieces: list[str] = []
    at = 0
    for token in tokens_of(sql):
        if token.token_type is TokenType.IDENTIFIER:
            pieces += [sql[at : token.start], identifier(token.text)]
            at = token.end + 1
    return "".join(pieces) + sql[at:]


def laid_out(sql: str) -> str:
    """A long query with each clause on its own line; comments and literals stay unchanged."""
    if len(sql) <= WIDTH and "\n" not in sql:
        return sql
    tokens = tuple(tokens_of(sql))
    cursor, depth, breaks = Cursor(Statement(tokens, sql)), 0, []
    commas: list[int] = []
    is_list = False
    while not cursor.is_done:
        token = cursor.here
        if depth == 0:
            clause = next((words for words in _CLAUSES if cursor.sees(*words)), None)
            if token.text.upper() == "SELECT" and token.token_type is TokenType.SELECT:
                is_list = True
            if clause is not None:
                is_list = False
                breaks.append(token.start)
                cursor.skip(*clause)
                continue
            if is_list and token.token_type is TokenType.COMMA:
                commas.append(token.end + 1)
        depth += (token.text == "(") - (token.text == ")")
        cursor.at += 1
    cuts = sorted({0, *breaks, len(sql)})
    lines = []
    for start, end in zip(cuts, cuts[1:], strict=False):
        piece = sql[start:end].strip()
        inner = [at for at in commas if start < at < end]
        if len(piece) > WIDTH and inner and piece.upper().startswith("SELECT"):
            ends = [start, *inner, end]
            items = [sql[a:b].strip() for a, b in zip(ends, ends[1:], strict=False)]
            items[0] = items[0][len("SELECT") :].strip()
            piece = "SELECT\n" + "\n".join(f"  {item}" for item in items)
        lines.append(piece)
    return "\n".join(line for line in lines if line)
