"""Pages of a changelog: filters, folding, cascades, exports."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from engine.model.changelog import RowKind
from storage import Store
from storage.changelogs.exported_values import Format
from storage.errors import ExportFailed, UnknownColumn
from storage.model import Change, ChangePage
from storage.wanted import Comparison, Filter, SortOrder, Term, equal
from tests.engine.planning import pipeline_of, rows
from tests.storage.local_runs import run_locally
from tests.storage.written_runs import COUNTS, Epoch, columns, edge, plan, recorded

WORDS = edge("words", columns(word="string", ts="bigint"), watermark_delay_ms=0)
TOTALS = edge("totals", columns(word="string", n="bigint"), "[I,UB,UA]", ["word"])
JOINED = edge("joined", columns(word="string"), "[I,UB,UA,D]")
PLAN = plan(WORDS, TOTALS, JOINED, wires=[("words", "totals"), ("totals", "joined")])
EPOCH = Epoch(
    records={
        "words": [
            (1, b"", "+I", ("Hello", 10)),
            (2, b"", "+I", ("World", 20)),
            (3, b"", "+I", ("Hello", 30)),
        ],
        "totals": COUNTS,
        "joined": [
            (3, b"\0\0", "-U", ("a",)),
            (3, b"\0\1", "-U", ("b",)),
            (3, b"\1\0", "+U", ("a2",)),
            (3, b"\1\1", "+U", ("b2",)),
            (4, b"\0", "-U", ("a2",)),
            (4, b"\1", "+U", ("a3",)),
            (5, b"\0", "-D", ("a3",)),
        ],
    }
)


@pytest.fixture
def run_id(store: Store, tmp_path: Path) -> int:
    return recorded(store, tmp_path, PLAN, EPOCH)


def lines(page: ChangePage) -> list[str]:
    def show(change: Change) -> str:
        before = change.before.values if change.before else ()
        after = change.after.values if change.after else ()
        return f"{before} -> {after} {','.join(change.changed)}".strip()

    return [show(change) for change in page.changes]


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (Filter(), [0, 1, 2, 3]),
        (Filter(kinds=frozenset({RowKind.UPDATE_AFTER, RowKind.UPDATE_BEFORE})), [2, 3]),
        (Filter(text="HELL"), [0, 2, 3]),
        (Filter(text="2"), [3]),
        (Filter(text="%"), []),
        (Filter(terms=equal((("word", "World"),))), [1]),
        (Filter(terms=equal((("n", "2"), ("word", "Hello")))), [3]),
        (Filter(terms=equal((("n", "two"),))), []),
        (Filter(terms=equal((("n", None),))), []),
        (Filter(from_seq=2, to_seq=2), [1]),
        (Filter(terms=(Term("n", Comparison.GT, ("1",)),)), [3]),
        (Filter(terms=(Term("n", Comparison.LE, ("1",)), Term("word", Comparison.NE, ("World",)))), [0, 2]),
        (Filter(terms=(Term("word", Comparison.LIKE, ("%or%",)),)), [1]),
        (Filter(terms=(Term("word", Comparison.NOT_LIKE, ("%or%",)),)), [0, 2, 3]),
        (Filter(terms=(Term("n", Comparison.IN, ("2", "3")),)), [3]),
        (Filter(terms=(Term("n", Comparison.NOT_IN, ("2", "3")),)), [0, 1, 2]),
        (Filter(terms=(Term("n", Comparison.IS_NOT_NULL),)), [0, 1, 2, 3]),
    ],
)
def test_a_filter_keeps_the_records_that_meet_all_of_it(
    store: Store, run_id: int, wanted: Filter, rows: list[int]
) -> None:
    page = store.changelog.page(run_id, "totals", filter=wanted)
    assert [record.row for record in page.records] == rows
    assert page.total == len(rows) == store.changelog.count(run_id, "totals", filter=wanted)
    before = len([record for record in page.records if record.seq < 3])
    assert store.changelog.counts(run_id, "totals", 3, filter=wanted) == (before, len(rows))


def test_pages_go_on_from_an_offset(store: Store, run_id: int) -> None:
    first = store.changelog.page(run_id, "totals", limit=3)
    assert ([record.row for record in first.records], first.total) == ([0, 1, 2], 4)
    second = store.changelog.page(run_id, "totals", offset=3, limit=3)
    assert [record.row for record in second.records] == [3]
    filtered = store.changelog.page(run_id, "totals", filter=Filter(text="hello"), offset=1, limit=1)
    assert [record.row for record in filtered.records] == [2]


def test_records_are_sorted_by_a_column_with_the_stored_order_for_ties(store: Store, run_id: int) -> None:
    def rows(order: SortOrder) -> list[int]:
        return [record.row for record in store.changelog.page(run_id, "totals", order=order, limit=3).records]

    assert rows(SortOrder("n", descending=True)) == [3, 0, 1]
    assert rows(SortOrder("word")) == [0, 2, 3]
    assert rows(SortOrder("event", descending=True)) == [2, 3, 1]
    found = store.changelog.table_as_of(run_id, "totals", 3, order=SortOrder("n", descending=True))
    assert [row.values for row in found.rows] == [("Hello", 2), ("World", 1)]
    with pytest.raises(UnknownColumn, match="unknown column 'count'"):
        rows(SortOrder("count"))


def test_an_unknown_column_in_a_filter_lists_those_that_exist(store: Store, run_id: int) -> None:
    with pytest.raises(UnknownColumn, match="totals: unknown column 'count'. Available: word, n"):
        store.changelog.page(run_id, "totals", filter=Filter(terms=equal((("count", 1),))))


def test_a_pair_is_one_change_with_the_changed_columns(store: Store, run_id: int) -> None:
    assert lines(store.changelog.changes(run_id, "totals")) == [
        "() -> ('Hello', 1)",
        "() -> ('World', 1)",
        "('Hello', 1) -> ('Hello', 2) n",
    ]


def test_updates_of_a_join_that_are_not_next_to_each_other_stay_alone(store: Store, run_id: int) -> None:
    assert lines(store.changelog.changes(run_id, "joined")) == [
        "('a',) -> ()",
        "('b',) -> ()",
        "() -> ('a2',)",
        "() -> ('b2',)",
        "('a2',) -> ('a3',) word",
        "('a3',) -> ()",
    ]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_pair_cut_by_a_page_is_shown_once(store: Store, run_id: int, limit: int) -> None:
    shown: list[str] = []
    for offset in range(0, 4, limit):
        shown += lines(store.changelog.changes(run_id, "totals", offset=offset, limit=limit))
    assert shown == lines(store.changelog.changes(run_id, "totals"))


def test_a_filter_that_one_half_passes_shows_the_whole_change(store: Store, run_id: int) -> None:
    for kind in (RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER):
        page = store.changelog.changes(run_id, "totals", filter=Filter(kinds=frozenset({kind})))
        assert lines(page) == ["('Hello', 1) -> ('Hello', 2) n"]


def test_the_cascade_of_an_event_is_in_the_order_of_emission(store: Store, run_id: int) -> None:
    cascade = store.changelog.cascade(run_id, 3)
    assert [(entry.edge.node, entry.record.kind.symbol, entry.record.values) for entry in cascade] == [
        ("words", "+I", ("Hello", 30)),
        ("totals", "-U", ("Hello", 1)),
        ("joined", "-U", ("a",)),
        ("joined", "-U", ("b",)),
        ("totals", "+U", ("Hello", 2)),
        ("joined", "+U", ("a2",)),
        ("joined", "+U", ("b2",)),
    ]


def test_one_can_jump_to_the_next_and_the_previous_event(store: Store, run_id: int) -> None:
    changes = store.changelog
    assert changes.next_seq(run_id, "totals", 1) == 2
    assert changes.next_seq(run_id, "totals", 0, filter=Filter(frozenset({RowKind.UPDATE_BEFORE}))) == 3
    assert changes.next_seq(run_id, "totals", 3) is None
    assert changes.previous_seq(run_id, "joined", 5, filter=Filter(frozenset({RowKind.UPDATE_AFTER}))) == 4
    assert changes.previous_seq(run_id, "totals", 1) is None
    assert changes.next_seq(run_id, "totals", 0, filter=Filter(terms=equal((("word", "World"),)))) == 2
    assert changes.next_seq(run_id, "totals", 0, filter=Filter(from_seq=3)) == 3
    assert changes.previous_seq(run_id, "totals", 9, filter=Filter(text="world", to_seq=1)) is None


def test_an_export_holds_what_the_filter_keeps(store: Store, run_id: int, tmp_path: Path) -> None:
    wanted = Filter(terms=equal((("word", "Hello"),)))
    for format_ in ("csv", "parquet"):
        file = tmp_path / f"it's totals.{format_}"
        assert store.changelog.export(run_id, "totals", file, filter=wanted, format=format_) == 3
    assert (tmp_path / "it's totals.csv").read_text() == (
        "seq,step,kind,word,n\n1,00,+I,Hello,1\n3,00,-U,Hello,1\n3,01,+U,Hello,2\n"
    )
    with duckdb.connect() as client:
        read = client.execute("SELECT step, kind FROM read_parquet(?)", [str(tmp_path / "it's totals.parquet")])
        assert read.fetchall() == [(b"\0", "+I"), (b"\0", "-U"), (b"\1", "+U")]


def test_an_export_to_nowhere_says_so(store: Store, run_id: int, tmp_path: Path) -> None:
    with pytest.raises(ExportFailed, match=r"the export to .*totals\.csv failed"):
        store.changelog.export(run_id, "totals", tmp_path / "missing" / "totals.csv")


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_json_lines_have_position_and_kind(store: Store, run_id: int, tmp_path: Path) -> None:
    assert store.changelog.export(run_id, "totals", tmp_path / "t.jsonl", format="json") == 4
    assert lines_of(tmp_path / "t.jsonl")[:3:2] == [
        '{"seq":1,"step":"00","kind":"+I","word":"Hello","n":1}',
        '{"seq":3,"step":"00","kind":"-U","word":"Hello","n":1}',
    ]


def test_debezium_json_is_what_flink_writes(store: Store, run_id: int, tmp_path: Path) -> None:
    store.changelog.export(run_id, "totals", tmp_path / "t.jsonl", format="debezium")
    # An update is a delete and an insert, as in DebeziumJsonSerializationSchema.
    assert lines_of(tmp_path / "t.jsonl") == [
        '{"before":null,"after":{"word":"Hello","n":1},"op":"c"}',
        '{"before":null,"after":{"word":"World","n":1},"op":"c"}',
        '{"before":{"word":"Hello","n":1},"after":null,"op":"d"}',
        '{"before":null,"after":{"word":"Hello","n":2},"op":"c"}',
    ]


def test_a_changelog_goes_into_a_database_of_one_table(store: Store, run_id: int, tmp_path: Path) -> None:
    wanted = Filter(terms=equal((("word", "Hello"),)))
    expected = [(1, b"\0", "+I", "Hello", 1), (3, b"\0", "-U", "Hello", 1), (3, b"\1", "+U", "Hello", 2)]
    assert store.changelog.export(run_id, "totals", tmp_path / "t.duckdb", filter=wanted, format="duckdb") == 3
    with duckdb.connect(str(tmp_path / "t.duckdb")) as client:
        assert client.execute("SELECT * FROM totals").fetchall() == expected
    assert store.changelog.export(run_id, "totals", tmp_path / "t.sqlite", filter=wanted, format="sqlite") == 3
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as client:
        assert client.execute("SELECT * FROM totals").fetchall() == expected
    assert {path.name for path in tmp_path.glob("t.*")} == {"t.duckdb", "t.sqlite"}


TABLES: list[tuple[Format, str]] = [
    ("csv", "word,n\nHello,{n}\nWorld,1\n"),
    ("json", '{{"word":"Hello","n":{n}}}\n{{"word":"World","n":1}}\n'),
    (
        "debezium",
        '{{"before":null,"after":{{"word":"Hello","n":{n}}},"op":"c"}}\n'
        '{{"before":null,"after":{{"word":"World","n":1}},"op":"c"}}\n',
    ),
]


@pytest.mark.parametrize(("format_", "text"), TABLES)
@pytest.mark.parametrize(("seq", "n"), [(2, 1), (3, 2), (9, 2)])
def test_the_table_after_an_event_is_exported_by_its_key(
    store: Store, run_id: int, tmp_path: Path, format_: Format, text: str, seq: int, n: int
) -> None:
    assert store.changelog.export_table(run_id, "totals", seq, tmp_path / "t", format=format_) == 2
    assert (tmp_path / "t").read_text() == text.format(n=n)


def test_the_table_of_an_edge_that_only_inserts_ends_with_the_event(store: Store, run_id: int, tmp_path: Path) -> None:
    assert store.changelog.export_table(run_id, "words", 2, tmp_path / "t.sqlite", format="sqlite") == 2
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as client:
        assert client.execute("SELECT * FROM words").fetchall() == [("Hello", 10), ("World", 20)]


# What SQL of the store calls columns and tables of its own.
TAKEN = (
    *("place", "row", "copy", "nth", "level", "low", "present", "puts", "delivered", "writer", "overtook"),
    *("opened", "until_seq", "ended", "entry", "entries", "late", "l", "c", "a", "b", "x0", "a0", "k", "k0", "v0"),
    *("in_a", "records", "source", "node", "port", "watermark_ms", "event_time_ms", "state", "block", "bucket"),
    *("is_late", "bound"),
)


def test_columns_may_be_called_as_the_stores_own(store: Store, tmp_path: Path) -> None:
    sent = [[*(f"{name}-{at % 3}" for name in TAKEN), at % 7 * 1_000] for at in range(20)]

    def ran() -> int:
        pipeline = pipeline_of(
            "sent -> latest -> out",
            sent=rows(", ".join(f"{name} string" for name in TAKEN) + ", ts bigint", rows=sent, event_time="ts"),
            latest=("deduplicate", {"keys": ["place", "c"], "keep": "last", "order": "arrival"}),
            out=("sink", {"mode": "changelog"}),
        )
        return run_locally(store, tmp_path, pipeline)

    one, other = ran(), ran()
    assert [[*record.values] for record in store.changelog.page(one, "sent").records] == sent
    table = store.changelog.table_as_of(one, "latest", 30)
    assert sorted([*row.values] for row in table.rows) == sorted(sent[-3:])
    wanted = Filter(terms=equal([("place", "place-1"), ("c", "c-1"), ("row", "row-1")]))
    assert store.changelog.page(one, "sent", filter=wanted).total == 7
    for node in ("sent", "latest", "out"):
        assert store.run_differences.first_different_event(one, other, node) is None
        assert store.table_differences.between(one, other, node).is_same
    assert store.telling_values.groups(one, "sent").late == 0
    assert not store.disorder.deliver(one, "latest", writers=1, seed=1, materialised=True).lost
