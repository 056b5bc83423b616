"""The error for unsupported SQL: its place in the text, the problem and an alternative."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from engine.errors import StudioError


class SqlRejected(StudioError):
    """A query, or a part of one, is not supported. line and column count from 1; 0: unknown. reason: without them."""

    def __init__(self, sentence: str, at: exp.Expr | None = None, place: tuple[int, int] | None = None) -> None:
        self.line, self.column = place or place_of(at)
        self.reason = sentence
        where = f"line {self.line}, column {self.column}: " if self.line else ""
        super().__init__(f"{where}{sentence}")


class NoClock(SqlRejected):
    """A processing time is read, or windows are over it, and it has no values.

    table: the node of its table, if that is known. for_windows: whether windows are over it. for_queries: whether a
    query reads the clock by another name. keeps_up: whether it goes on with each row, however late others may come.
    """

    def __init__(
        self,
        sentence: str,
        at: exp.Expr | None,
        table: str = "",
        *,
        for_windows: bool = False,
        for_queries: bool = False,
        keeps_up: bool = False,
    ) -> None:
        super().__init__(sentence, at)
        self.table = table
        self.for_windows = for_windows
        self.for_queries = for_queries
        self.keeps_up = keeps_up


def place_of(at: exp.Expr | None) -> tuple[int, int]:
    """Line and column of an expression's first token with a known place; (0, 0) if there is none."""
    return min(_places(at), default=(0, 0))


def last_place_of(at: exp.Expr | None) -> tuple[int, int]:
    """Line and column of an expression's last token with a known place; (0, 0) if there is none."""
    return max(_places(at), default=(0, 0))


def _places(at: exp.Expr | None) -> Iterator[tuple[int, int]]:
    for node in at.walk() if at is not None else ():
        if (meta := node.meta) and "line" in meta:
            yield meta["line"], meta["col"] - (meta["end"] - meta["start"])
