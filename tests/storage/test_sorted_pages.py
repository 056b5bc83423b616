"""A page far into records sorted by a column is that of one query, however the page is found."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from engine.model.changelog import RowKind
from storage import Store
from storage.changelogs import sorted_pages as module
from storage.changelogs.filters import EVENT
from storage.wanted import ALL, Comparison, Filter, SortOrder, Term
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

ROWS = 60
TYPES = {
    "number": "bigint",
    "tie": "int",
    "same": "bigint",
    "real": "double",
    "word": "string",
    "money": "decimal(20,3)",
    "day": "date",
    "at": "timestamp_ntz",
    "flag": "boolean",
    "items": "array<int>",
}
ITEMS = edge("items", columns(**TYPES), mode="[I,UA,D]", key=["number"])
START = datetime(1969, 12, 31, 23, 0, 0, 1, UTC).replace(tzinfo=None)


def values(at: int) -> tuple[object, ...]:
    number = at * 37 % ROWS
    if at % 9 == 0:
        return (number, *[None] * (len(TYPES) - 1))
    real = float("nan") if at % 11 == 0 else float("-inf") if at % 13 == 0 else number / 3
    return (
        *(number, number % 3, 7, real, f"it's {number % 20}", Decimal(number * 1000 + 1) / 1000),
        *(date(2026, 1, 1) + timedelta(number % 8), START + timedelta(microseconds=number * 999_999)),
        *(number % 2 == 0, [number % 5]),
    )


@pytest.fixture
def run_id(store: Store, tmp_path: Path) -> int:
    kinds = [RowKind.INSERT.symbol, RowKind.DELETE.symbol]
    records = [(at, b"", kinds[at % 4 == 0], values(at)) for at in range(1, ROWS + 1)]
    return recorded(store, tmp_path, plan(ITEMS), Epoch(records={"items": records}))


@pytest.mark.parametrize("descending", [False, True], ids=["smallest first", "largest first"])
@pytest.mark.parametrize("by", [*TYPES, EVENT])
def test_a_page_far_in_is_that_of_one_query(
    by: str, descending: bool, store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = (
        ALL,
        Filter(frozenset({RowKind.INSERT})),
        Filter(terms=(Term("tie", Comparison.EQ, ("1",)),)),
        Filter(terms=(Term("tie", Comparison.EQ, ("5",)),)),
    )
    order = SortOrder(by, descending)
    wholes = [store.changelog.page(run_id, "items", filter=each, order=order, limit=ROWS) for each in filters]
    monkeypatch.setattr("storage.changelogs.changelog.NEAR", -1)
    for sample, parts in ((ROWS, 3), (7, 3), (7, 100), (ROWS, ROWS)):
        store.changelog._sorted = module.SortedPages(store.runs._database)
        monkeypatch.setattr(module, "_SAMPLE", sample)
        monkeypatch.setattr(module, "_PARTS", parts)
        for wanted, whole in zip(filters, wholes, strict=True):
            for offset in (0, 1, 17, whole.total // 2, whole.total - 3, whole.total - 1, whole.total):
                if offset >= 0:
                    page = store.changelog.page(run_id, "items", filter=wanted, order=order, offset=offset, limit=9)
                    rows = [record.row for record in whole.records[offset : offset + 9]]
                    assert ([record.row for record in page.records], page.total) == (rows, whole.total)
