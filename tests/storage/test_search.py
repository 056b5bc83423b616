"""The search of a large edge, slice by slice: the same counts and pages as in one query, whatever the slices."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from storage import Store
from storage.changelogs import search as module
from storage.changelogs.as_of import Order
from storage.changelogs.search import Found
from storage.wanted import Comparison, Filter, SortOrder, Term, equal
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

ROWS = 24
ITEMS = edge("items", columns(name="string", n="bigint", part="double"))
PLAN = plan(ITEMS)
RECORDS = [(at, b"", "+I", (f"Name {at % 7}%", at * 11, at / 4)) for at in range(1, ROWS + 1)]
WANTED = {
    "a text in any case": Filter(text="nAME 3"),
    "digits": Filter(text="22"),
    "a dot": Filter(text=".25"),
    "a sign of LIKE": Filter(text="3%"),
    "a letter outside ASCII": Filter(text="é"),
    "nothing": Filter(text="Name 8"),
    "everything": Filter(text="name"),
    "digits of a column": Filter(terms=(Term("n", Comparison.LIKE, ("%22%",)),)),
    "a term": Filter(terms=equal([("n", 22)])),
    "from an event on": Filter(text="Name 3", from_seq=8, to_seq=16),
}
# By event, how many records a search in slices of 5 has looked at after each slice but the last: the last has 4.
FROM_THERE = {0: (5, 10, 15, 20), 12: (5, 10, 15, 20), ROWS + 1: (4, 9, 14, 19)}


@pytest.fixture
def run_id(store: Store, tmp_path: Path) -> int:
    return recorded(store, tmp_path, PLAN, Epoch(records={"items": RECORDS}))


@pytest.fixture(params=[1, 7, 100], ids="slices of {}".format)
def slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SLICE", request.param)


@pytest.mark.parametrize("most", [0, 5, 10_000])
@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.usefixtures("slices")
def test_counts_and_pages_are_those_of_one_query(
    wanted: Filter, most: int, store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = store.changelog
    whole = changes.page(run_id, "items", filter=wanted, limit=ROWS)
    monkeypatch.setattr(module, "MOST_ROWS", most)
    changes._matches.clear()
    for seq in (0, 1, 12, ROWS, ROWS + 1):
        changes.search(run_id, "items", seq, filter=wanted)
        before = sum(record.seq < seq for record in whole.records)
        found = changes.found(run_id, "items", seq, filter=wanted)
        assert found == Found(1.0, whole.total, before, whole.total - before)
        assert found.is_whole
        assert changes.counts(run_id, "items", seq, filter=wanted) == (before, whole.total)
        for offset in range(-before, whole.total - before + 1, 3):
            page = changes.page(run_id, "items", filter=wanted, from_event=seq, offset=offset, limit=4)
            assert page.records == whole.records[before + offset :][:4]
    for offset in range(0, whole.total + 1, 2):
        page = changes.page(run_id, "items", filter=wanted, offset=offset, limit=3)
        assert page.records == whole.records[offset : offset + 3]


@pytest.mark.parametrize("most", [0, 10_000])
@pytest.mark.parametrize("wanted", [WANTED["digits of a column"], WANTED["everything"]])
@pytest.mark.parametrize("seq", [0, 12, ROWS + 1])
def test_what_is_found_around_an_event_has_pages_while_the_search_goes_on(
    seq: int, wanted: Filter, most: int, store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLICE", 5)
    monkeypatch.setattr(module, "MOST_ROWS", most)
    monkeypatch.setattr(module, "_SHOWN", 1)
    changes, founds = store.changelog, []
    whole = changes.page(run_id, "items", filter=wanted, limit=ROWS).records
    changes._matches.clear()
    before = sum(record.seq < seq for record in whole)

    def looks() -> bool:
        founds.append(found := changes.found(run_id, "items", seq, filter=wanted))
        for offset in range(-found.before, found.after + 1):
            page = changes.page(run_id, "items", filter=wanted, from_event=seq, offset=offset, limit=3)
            there = whole[before + offset : before + min(offset + 3, found.after)]
            assert page.records == there
        return True

    looks()
    changes.search(run_id, "items", seq, filter=wanted, is_awaited=looks)
    looks()
    assert [found.part for found in founds] == [0, 0, *(part / ROWS for part in FROM_THERE[seq]), 1]


def test_a_search_ends_if_nobody_awaits_it(store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SLICE", 5)
    awaited, wanted = iter([True, True, False]), WANTED["everything"]
    store.changelog.search(run_id, "items", 1, filter=wanted, is_awaited=lambda: next(awaited))
    assert store.changelog.found(run_id, "items", 1, filter=wanted) == Found(10 / ROWS, 10, 0, 10)


@pytest.mark.parametrize("most", [0, 5, 10_000])
@pytest.mark.usefixtures("slices")
def test_a_search_that_was_ended_goes_on_with_the_other_slices(
    most: int, store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", most)
    changes, wanted, look = store.changelog, WANTED["digits"], module._looked_at
    looked: list[int] = []

    def ends_after(most_looks: int) -> None:
        def looks(database: Any, edge: Any, wanted: Any, first: int, *more: Any) -> Any:
            if len(looked) == most_looks:
                raise KeyboardInterrupt
            looked.append(first)
            return look(database, edge, wanted, first, *more)

        monkeypatch.setattr(module, "_looked_at", looks)

    ends_after(1)
    with contextlib.suppress(KeyboardInterrupt):
        changes.search(run_id, "items", 12, filter=wanted)
    ends_after(-1)
    assert changes.count(run_id, "items", filter=wanted) == 2
    for seq in (1, 12, ROWS):
        changes.search(run_id, "items", seq, filter=wanted)
        before = sum(at < seq for at in (2, 20))
        assert changes.found(run_id, "items", seq, filter=wanted) == Found(1.0, 2, before, 2 - before)
    assert len(looked) == len({*looked}), "no slice is looked at twice"


def test_an_edge_without_records_has_nothing_to_find(store: Store, tmp_path: Path) -> None:
    run_id = recorded(store, tmp_path, PLAN, Epoch(records={"items": []}))
    store.changelog.search(run_id, "items", 1, filter=Filter(text="a"))
    assert store.changelog.found(run_id, "items", 1, filter=Filter(text="a")) == Found()
    assert store.changelog.counts(run_id, "items", 1, filter=Filter(text="a")) == (0, 0)


@pytest.mark.parametrize("wanted", ["a text in any case", "digits", "nothing"])
def test_what_was_found_answers_the_other_questions(
    wanted: str, store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.changelogs.changelog._NEAR", 2)
    changes, found = store.changelog, WANTED[wanted]
    seqs = [record.seq for record in changes.page(run_id, "items", filter=found, limit=ROWS).records]
    changes._matches.clear()
    for is_searched in (False, True):
        if is_searched:
            changes.search(run_id, "items", 30, filter=found)
        for seq in (0, 30, ROWS + 1):
            table = changes.table_as_of(run_id, "items", seq, filter=found, limit=ROWS)
            assert [row.seq for row in table.rows] == [at for at in seqs if at <= seq]
            orders: dict[Order, Any] = {"position": table.rows, "newest": table.rows[::-1]}
            for order, known in orders.items():
                for offset in range(0, ROWS, 3):
                    page = changes.table_as_of(run_id, "items", seq, filter=found, order=order, offset=offset, limit=4)
                    assert (page.rows, page.total, page.offset) == (known[offset : offset + 4], len(known), offset)
            assert changes.next_seq(run_id, "items", seq, filter=found) == min(filter(seq.__lt__, seqs), default=None)
            assert changes.previous_seq(run_id, "items", seq, filter=found) == max(
                filter(seq.__gt__, seqs), default=None
            )
        by_name = changes.page(run_id, "items", filter=found, order=SortOrder("n", descending=True), limit=ROWS)
        assert [record.seq for record in by_name.records] == seqs[::-1]


@pytest.mark.parametrize("most", [0, 5, 10_000])
@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.usefixtures("slices")
def test_of_a_run_that_goes_on_only_what_is_new_is_searched(
    wanted: Filter, most: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", most)
    look = module._looked_at
    looked: list[int] = []

    def looks(database: Any, edge: Any, wanted: Any, first: int, end: int, known: int) -> Any:
        looked.extend(range(first, end))
        return look(database, edge, wanted, first, end, known)

    monkeypatch.setattr(module, "_looked_at", looks)
    run = store.runs.create("search", "{}")
    recorder, changes = store.record(run.run_id), store.changelog
    recorder.begin(PLAN)
    for epoch, begin in enumerate(range(0, ROWS, 6)):
        records = RECORDS[begin : begin + 6]
        recorder.commit(Epoch(epoch, {"items": records}).write(tmp_path / "files", [ITEMS]))
        found = changes.page(run.run_id, "items", filter=wanted, limit=ROWS)
        for seq in (1, 12, begin + 7):
            before = sum(record.seq < seq for record in found.records)
            assert changes.counts(run.run_id, "items", seq, filter=wanted) == (before, found.total)
    assert len(looked) == len({*looked}) <= ROWS
    changes._matches.clear()
    assert changes.page(run.run_id, "items", filter=wanted, limit=ROWS) == found
