"""The hot questions read a few row groups of a large changelog, never all of it: that they lie in position order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import duckdb
import pytest

from engine.contract.recorder import EdgeFile, EdgeView, EpochOutput
from engine.model.changelog import RowKind
from storage import Store
from storage.database.connection import Database
from storage.model import EventRange
from storage.wanted import Filter
from tests.storage.beside import beside
from tests.storage.written_runs import columns, edge, plan

EVENTS: Final = 600_000
GROUP: Final = 122_880
CLICKS = edge("clicks", columns(k="bigint", ts="bigint*"), watermark_delay_ms=0)
TOTALS = edge("totals", columns(k="bigint", n="bigint"), "[I,UB,UA]", ["k"])
SHOWN = edge(
    "shown", columns(m="bigint", k="bigint"), "[I,UB,UA]", ["k"], view=EdgeView("totals", "out", ("n", "k"), b"0")
)
LATE_IN_THE_RUN: Final = EVENTS - 1000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Run 1: clicks of a thousand users, and for each a -U and a +U of the user's total."""
    folder = tmp_path_factory.mktemp("plans")
    click = "i % 1000 AS k, i AS ts"
    tables = {
        "clicks": f"SELECT i AS __seq, ''::BLOB AS __step, 0::TINYINT AS __kind, {click} FROM events",
        "totals": "SELECT i AS __seq, from_hex('0' || s) AS __step, (s + 1)::TINYINT AS __kind, i % 1000 AS k, "
        "(i - 1 + s) AS n FROM events, range(2) q(s) ORDER BY i, s",
        "watermarks": "SELECT i AS seq, 'clicks' AS source, i AS event_time_ms, i AS watermark_ms, false AS is_end "
        "FROM events",
    }
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW events AS SELECT i FROM range(1, {EVENTS + 1}) r(i)")
        for name, sql in tables.items():
            (folder / name).mkdir()
            connection.execute(f"COPY ({sql}) TO '{folder / name / 'part.parquet'}' (FORMAT parquet)")
    with Store.open(folder / "studio.duckdb") as opened:
        planned = plan(CLICKS, TOTALS, SHOWN, wires=[("clicks", "totals"), ("totals", "shown")])
        run = opened.runs.create("large", planned.pipeline_json)
        recording = opened.record(run.run_id)
        recording.begin(planned)
        files = {(name, "out"): (EdgeFile(str(folder / name / "part.parquet")),) for name in ("clicks", "totals")}
        recording.commit(EpochOutput(0, files, watermarks=(folder / "watermarks",), last_seq=EVENTS))
        # Several threads begin with a row group each before the first has found enough for a page.
        with beside(opened) as database, database.cursor() as cursor:
            cursor.execute("SET threads = 1")
        yield opened


QUESTIONS: Final[dict[str, Callable[[Store], object]]] = {
    "a page far into the changelog": lambda store: store.changelog.page(1, "totals", offset=EVENTS),
    "a folded page": lambda store: store.changelog.changes(1, "totals", offset=EVENTS),
    "a page from an event on": lambda store: store.changelog.page(
        1, "totals", filter=Filter(from_seq=LATE_IN_THE_RUN, to_seq=LATE_IN_THE_RUN + 50)
    ),
    "a page far into a view": lambda store: store.changelog.page(1, "shown", offset=EVENTS),
    "a folded page of a view": lambda store: store.changelog.changes(1, "shown", offset=EVENTS),
    "a page of a view from an event on": lambda store: store.changelog.page(
        1, "shown", filter=Filter(from_seq=LATE_IN_THE_RUN, to_seq=LATE_IN_THE_RUN + 50)
    ),
    "the cascade of an event": lambda store: store.changelog.cascade(1, LATE_IN_THE_RUN),
    "the next retraction": lambda store: store.changelog.next_seq(
        1, "totals", LATE_IN_THE_RUN, filter=Filter(frozenset({RowKind.UPDATE_BEFORE}))
    ),
    "the insert-only table as of an event": lambda store: store.changelog.table_as_of(
        1, "clicks", LATE_IN_THE_RUN, offset=EVENTS // 2
    ),
    "the records of a range": lambda store: store.arrivals.page(1, EventRange(LATE_IN_THE_RUN, LATE_IN_THE_RUN + 50)),
    "the timeline of a range": lambda store: store.timeline.timeline(
        1, EventRange(LATE_IN_THE_RUN, LATE_IN_THE_RUN + 50)
    ),
    "two changelogs side by side": lambda store: store.run_differences.records(
        1, 1, "totals", from_seq=LATE_IN_THE_RUN
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_hot_question_reads_few_row_groups(store: Store, monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    asked: list[tuple[str, Any]] = []
    for name in ("rows", "row", "arrow"):
        ask = getattr(Database, name)

        def noted(self: Database, sql: str, parameters: Any = None, ask: Any = ask, **more: Any) -> Any:
            asked.append((sql, parameters))
            return ask(self, sql, parameters, **more)

        monkeypatch.setattr(Database, name, noted)
    QUESTIONS[question](store)
    monkeypatch.undo()
    # What only counts reads one column, at a nanosecond a row.
    pages = [(sql, parameters) for sql, parameters in asked if not sql.startswith(("SELECT count(*)", "SELECT min("))]
    read = {sql: groups_read(store, sql, parameters) for sql, parameters in pages}
    assert read
    for sql, groups in read.items():
        # Where a page or an event falls on the seam of two row groups, both are read.
        assert groups <= 3, f"{groups} row groups are read by {sql}"


def groups_read(store: Store, sql: str, parameters: Any) -> int:
    """How many row groups of the run's tables a query reads."""
    with beside(store) as database, database.cursor() as cursor:
        found = cursor.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}", parameters).fetchall()
    return sum(_scans(json.loads(found[0][1])["operator"]))


def _scans(nodes: list[dict[str, Any]]) -> Iterator[int]:
    for node in nodes:
        if "run_1" in str(node.get("extra_info", {}).get("Table", "")):
            yield int(node["row_groups_scanned"])
        yield from _scans(node.get("children", []))


def test_a_question_that_reads_everything_would_be_noticed(store: Store) -> None:
    assert groups_read(store, "SELECT sum(n) FROM run_1.totals", None) >= 2 * EVENTS // GROUP
