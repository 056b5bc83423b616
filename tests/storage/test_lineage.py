"""What an output record was made of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.model.origin import Origin
from engine.model.position import timer
from storage import Store
from storage.changelogs.lineage import Ancestor
from storage.database.connection import Database
from tests.storage.written_runs import COUNTS, Epoch, Event, columns, edge, plan, recorded

COUNTED = columns(cnt="bigint", freq="bigint")
WORDS = edge("words", columns(word="string"), watermark_delay_ms=0)
INNER = edge("inner", columns(word="string", cnt="bigint"), "[I,UB,UA]", ["word"])
OUTER = edge("outer", COUNTED, "[I,UB,UA,D]", ["cnt"])
OUT = edge("out", COUNTED, "[I,UB,UA,D]", ["cnt"])
PLAN = plan(WORDS, INNER, OUTER, OUT, wires=[("words", "inner"), ("inner", "outer"), ("outer", "out")])
CHANGES = [
    (1, b"\0\0", "+I", (1, 1)),
    (2, b"\0\0", "-U", (1, 1)),
    (2, b"\0\1", "+U", (1, 2)),
    (3, b"\0\0", "-U", (1, 2)),
    (3, b"\0\1", "+U", (1, 1)),
    (3, b"\1\0", "+I", (2, 1)),
]
EPOCH = Epoch(
    records={
        "words": [(1, b"", "+I", ("Hello",)), (2, b"", "+I", ("World",)), (3, b"", "+I", ("Hello",))],
        "inner": COUNTS,
        "outer": CHANGES,
        "out": CHANGES,
    }
)
ORIGINS = {("inner", "in"): Origin((("word", "word"),)), ("outer", "in"): Origin((("cnt", "cnt"),))}


def lines(entry: Ancestor, depth: int = 0) -> list[str]:
    more = f" and {entry.more} more" if entry.more else ""
    record = entry.record
    mine = f"{'  ' * depth}{entry.edge.node} {record.seq} {record.kind.symbol}{record.values}{more}"
    return [mine, *(line for parent in entry.parents for line in lines(parent, depth + 1))]


@pytest.fixture
def run_id(store: Store, tmp_path: Path) -> int:
    return recorded(store, tmp_path, PLAN, EPOCH)


def traced(store: Store, run_id: int, row: int, **limits: int) -> list[str]:
    found = store.lineage.of(run_id, "out", row, ORIGINS, **limits)
    assert found is not None
    return lines(found)


def test_a_result_leads_back_to_all_records_of_its_keys(store: Store, run_id: int) -> None:
    assert traced(store, run_id, 5) == [
        "out 3 +I(2, 1)",
        "  outer 3 +I(2, 1)",
        "    inner 3 +U('Hello', 2)",
        "      words 3 +I('Hello',)",
        "      words 1 +I('Hello',)",
    ]


def test_what_is_taken_back_was_made_of_the_rows_of_before(store: Store, run_id: int) -> None:
    assert traced(store, run_id, 3) == [
        "out 3 -U(1, 2)",
        "  outer 3 -U(1, 2)",
        "    inner 2 +I('World', 1)",
        "      words 2 +I('World',)",
        "    inner 1 +I('Hello', 1)",
        "      words 1 +I('Hello',)",
    ]


def test_the_row_that_was_passed_on_comes_before_the_others_that_it_was_ranked_with(
    store: Store, tmp_path: Path
) -> None:
    totals = edge("totals", columns(day="bigint", city="string", total="bigint"), watermark_delay_ms=0)
    top = edge("top", columns(day="bigint", city="string", total="bigint"), "[I,UB,UA,D]", ["day", "city"])
    cities = [("Leipzig", 9), ("Bremen", 7), ("Berlin", 8)]
    epoch = Epoch(
        records={
            "totals": [(at, b"", "+I", (1, city, total)) for at, (city, total) in enumerate(cities, 1)],
            "top": [(3, b"\0", "+I", (1, "Leipzig", 9))],
        }
    )
    run_id = recorded(store, tmp_path, plan(totals, top, wires=[("totals", "top")]), epoch)
    origins = {("top", "in"): Origin((("day", "day"),))}
    for siblings, expected in ((8, ["Leipzig", "Berlin", "Bremen"]), (1, ["Leipzig"])):
        found = store.lineage.of(run_id, "top", 0, origins, siblings=siblings)
        assert found is not None
        assert [parent.record.values[1] for parent in found.parents] == expected


def test_rows_beyond_the_limit_are_counted(store: Store, run_id: int) -> None:
    assert traced(store, run_id, 3, siblings=1)[2:] == [
        "    inner 2 +I('World', 1)",
        "      words 2 +I('World',)",
    ]
    assert traced(store, run_id, 3, siblings=1)[1] == "  outer 3 -U(1, 2) and 1 more"


def test_a_row_that_is_not_there_has_no_lineage(store: Store, run_id: int) -> None:
    assert store.lineage.of(run_id, "out", 99, ORIGINS) is None


@pytest.mark.parametrize(
    ("zone", "away_ms"), [("UTC", 0), ("America/Los_Angeles", -28_800_000), ("GMT+05:30", 19_800_000)]
)
def test_a_window_is_made_of_its_records_that_were_not_late(
    zone: str, away_ms: int, store: Store, tmp_path: Path
) -> None:
    clicks = edge("clicks", columns(key="string", ts="bigint*"), watermark_delay_ms=0)
    windowed = edge("windowed", columns(key="string", start="timestamp_ntz", end="timestamp_ntz", n="bigint"))
    start = away_ms * 1000
    step = timer(1, 9_999, 1, b"") + b"\0"
    epoch = Epoch(
        records={
            "clicks": [
                (1, b"", "+I", ("a", 1_000)),
                (2, b"", "+I", ("b", 2_000)),
                (3, b"", "+I", ("a", 10_000)),
                (4, b"", "+I", ("a", 9_000)),
            ],
            "windowed": [
                (3, step, "+I", ("a", start, start + 10_000_000, 1)),
                (3, step[:-1] + b"\1", "+I", ("b", start, start + 10_000_000, 1)),
            ],
        },
        late=[("windowed", "in", 4, b"", 9_000, 0, 10_000, 10_000, 1, "late")],
    )
    planned = plan(clicks, windowed, wires=[("clicks", "windowed")])
    document = json.loads(planned.pipeline_json) | {"options": {"table.local-time-zone": zone}}
    run_id = recorded(store, tmp_path, replace(planned, pipeline_json=json.dumps(document)), epoch)
    origins = {("windowed", "in"): Origin((("key", "key"),), ("start", "end"))}
    found = store.lineage.of(run_id, "windowed", 0, origins)
    assert found is not None
    assert [(parent.record.seq, parent.record.values) for parent in found.parents] == [(1, ("a", 1_000))]


def test_both_sides_of_a_pair_are_found_and_a_padded_side_has_none(store: Store, tmp_path: Path) -> None:
    sides = [edge(name, columns(k="bigint", v="string"), watermark_delay_ms=0) for name in ("left", "right")]
    joined = edge("joined", columns(k="bigint", v="string", k0="bigint", v0="string"), "[I,UB,UA,D]")
    planned = plan(*sides, joined)
    document = planned.pipeline_json.replace(
        "[]",
        '[{"source": "left", "target": "joined", "target_port": "left"}, '
        '{"source": "right", "target": "joined", "target_port": "right"}]',
    )
    epoch = Epoch(
        records={
            "left": [(1, b"", "+I", (1, "a"))],
            "right": [(2, b"", "+I", (1, "b"))],
            "joined": [
                (1, b"\0\0", "+I", (1, "a", None, None)),
                (2, b"\1\0", "-D", (1, "a", None, None)),
                (2, b"\1\1", "+I", (1, "a", 1, "b")),
            ],
        }
    )
    run_id = recorded(store, tmp_path, replace(planned, pipeline_json=document), epoch)
    left, right = Origin((("k", "k"), ("v", "v"))), Origin((("k", "k0"), ("v", "v0")))
    origins = {("joined", "left"): left, ("joined", "right"): right}
    pair, padded = (store.lineage.of(run_id, "joined", row, origins) for row in (2, 0))
    assert pair is not None
    assert padded is not None
    assert [parent.record.values for parent in pair.parents] == [(1, "a"), (1, "b")]
    assert [parent.record.values for parent in padded.parents] == [(1, "a")]


def test_of_a_large_event_only_the_causes_are_read(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = edge("s", columns(k="bigint"), watermark_delay_ms=0)
    edges = (source, edge("many", columns(k="bigint")), edge("shown", columns(k="bigint")))
    many = [at.to_bytes(2, "big") for at in range(2000)]
    records: dict[str, list[Event]] = {
        "s": [(1, b"", "+I", (0,))],
        "many": [(1, step, "+I", (at,)) for at, step in enumerate(many)],
        "shown": [(1, step + b"\0", "+I", (at,)) for at, step in enumerate(many)],
    }
    run_id = recorded(store, tmp_path, plan(*edges, wires=[("s", "many"), ("many", "shown")]), Epoch(records=records))
    sizes = []

    def rows(database: Database, *asked: Any, **more: Any) -> list[tuple[Any, ...]]:
        answer = read(database, *asked, **more)
        sizes.append(len(answer))
        return answer

    read = Database.rows
    monkeypatch.setattr(Database, "rows", rows)
    root = store.lineage.of(run_id, "shown", 7, {})
    assert root is not None
    assert lines(root) == ["shown 1 +I(7,)", "  many 1 +I(7,)", "    s 1 +I(0,)"]
    assert max(sizes) < 10
