"""The HTML of a grid: all user data is escaped, kinds are badges, changes are marked."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engine.model.changelog import RowKind
from ui.components.grid import Cell, Row, Table, html_of, number_columns
from ui.shell.theme import KIND_COLORS


def one(cell: Cell) -> str:
    return html_of(Table(("c",), [Row((cell,))]))


def test_what_users_wrote_is_never_markup() -> None:
    evil = '<img src=x onerror="alert(1)">'
    rows = [Row((Cell.of(evil, was=evil, note=evil),), pick=evil), Row(note=evil)]
    html = html_of(Table((evil,), rows))
    assert "<img" not in html
    assert html.count("&lt;img") == 6


def test_a_kind_is_a_badge_in_its_colour_with_its_sign() -> None:
    for kind in RowKind:
        html = one(Cell(kinds=(kind,)))
        assert kind.symbol in html
        assert KIND_COLORS[kind] in html


def test_a_changed_cell_says_what_it_was() -> None:
    html = one(Cell.of(2, was="1", changed=True))
    assert 'class="number changed"' in html
    assert "<del>1</del>" in html


def test_null_is_told_apart_from_the_text_null() -> None:
    assert 'class="null"' in one(Cell.of(None))
    assert 'class="null"' not in one(Cell.of("NULL"))


def test_a_long_text_is_cut_and_whole_on_hover() -> None:
    html = one(Cell.of("x" * 500))
    assert "…" in html
    assert f'title="{"x" * 500}"' in html


NUMBERS = [(1, True), (1.5, True), (Decimal("1.50"), True), (True, False), ("1", False), (None, False)]


@pytest.mark.parametrize(("value", "is_number"), NUMBERS)
def test_numbers_are_set_to_the_right_below_their_heading(value: object, is_number: bool) -> None:
    assert Cell.of(value).is_number == is_number
    assert number_columns(["a"], [[value], [None]]) == ({"a"} if is_number or value is None else set())
