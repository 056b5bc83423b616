"""Tests of the case tables: cells, keys, watermarks and cuts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from engine.contract.kernel import Kernel, Key, Output
from engine.contract.state_in_words import Description, Names, state_table
from engine.model.changelog import INSERT
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK
from tests.engine.cases import Case, check, check_cases, parse


class Echo(Kernel):
    """Emits each record at once, and again when the watermark has reached its last column."""

    def start(self, key: Key, state: Any | None) -> None:
        self.rows: list[Row] = state or []

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        out.emit(kind, row)
        out.set_timer(row[-1], row)

    def on_timer(self, time_ms: int, name: Row, out: Output) -> None:
        out.emit(INSERT, name)

    def finish(self) -> Any | None:
        return self.rows or None

    def describe(self, names: Names) -> Description:
        return (state_table("Rows", ("row",), [(row,) for row in self.rows]),) if self.rows else ()


class Forgetful(Echo):
    """Counts its records, and loses the count between epochs."""

    def describe(self, names: Names) -> Description:
        return ()

    def start(self, key: Key, state: Any | None) -> None:
        self.count = 0

    def on_record(self, kind: int, row: Row, out: Output) -> None:
        self.count += 1
        out.emit(kind, (self.count,))

    def finish(self) -> Any | None:
        return None


TWO_KEYS = """
    seq  kind  k   rt    wm
    1    +I    k1  3000  .
    2    +I    k2  2000  1000
    3    -D    k1  1000  .
    4    wm              2500
    5    wm              MAX
"""

test_tables_run = check_cases(
    [
        Case(
            "records at once, timers with the watermark, keys by position",
            kernel=Echo,
            key=("k",),
            given=TWO_KEYS,
            expect="""
                seq  kind  k   rt
                1    +I    k1  3000
                2    +I    k2  2000
                3    -D    k1  1000
                4    +I    k1  1000
                4    +I    k2  2000
                5    +I    k1  3000
            """,
            leaves_state=False,
        ),
        Case(
            "the watermark follows a column",
            kernel=Echo,
            watermark=("rt", 500),
            given="""
                seq  kind  rt
                1    +I    1000
                2    +I    1500
            """,
            expect="""
                seq  kind  rt
                1    +I    1000
                2    +I    1500
                2    +I    1000
            """,
            leaves_state=True,
        ),
    ]
)


def test_cells_are_read_as_what_they_look_like() -> None:
    _, lines = parse("a b c d e f g h\nNULL true -1 1.5 1.50d [1,x] 'a b' MAX")
    assert lines == [[None, True, -1, 1.5, Decimal("1.50"), [1, "x"], "a b", MAX_WATERMARK]]


def test_a_wrong_changelog_fails_with_both_tables() -> None:
    case = Case("wrong", kernel=Echo, given="seq kind rt\n1 +I 1000", expect="seq kind rt\n1 +I 1001")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)seq  kind  rt.*- 1    \+I    1001.*\+ 1    \+I    1000"):
        check(case)


def test_a_kernel_that_loses_state_between_epochs_fails() -> None:
    case = Case(
        "forgetful",
        kernel=Forgetful,
        given="seq kind v\n1 +I 7\n2 +I 7",
        expect="seq kind n\n1 +I 1\n2 +I 2",
    )
    with pytest.raises(AssertionError, match="cut into epochs after 1"):
        check(case)
