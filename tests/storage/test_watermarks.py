"""The combined watermark is the lowest of the sources that go on; as SQL it says so before every event."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pytest

from engine.model.combining import combined_watermark, meeting
from engine.model.timeline import MAX_WATERMARK
from storage.event_time.watermarks import Move, combined_before, lines_of

#                a            a            b            a             b
CASES = {
    "it starts when every source has a watermark, and follows the lowest": (
        [(1, "a", 5), (2, "a", 9), (3, "b", 4), (4, "a", 20), (5, "b", 12)],
        [(3, 4), (5, 12)],
    ),
    "a source that has ended holds nothing back": (
        [(1, "a", 5), (2, "b", 1), (3, "b", MAX_WATERMARK), (4, "a", 8), (5, "a", MAX_WATERMARK)],
        [(2, 1), (3, 5), (4, 8), (5, MAX_WATERMARK)],
    ),
    "moves count by their event, whatever their order": ([(7, "b", 3), (2, "a", 1)], [(7, 1)]),
}


@pytest.mark.parametrize(("moves", "expected"), CASES.values(), ids=CASES)
def test_the_combined_watermark(moves: Sequence[Move], expected: list[tuple[int, int]]) -> None:
    line = combined_watermark(lines_of(moves), meeting(["a", "b"]))
    assert list(zip(line.seqs.tolist(), line.marks.tolist(), strict=True)) == expected
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE events (seq BIGINT, source VARCHAR, watermark_ms BIGINT)")
        rows = {seq: (seq, "c", None) for seq in range(1, 10)} | {move[0]: move for move in moves}
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", list(rows.values()))
        found = connection.execute(combined_before("events", {"a": 0, "b": 0})).fetchall()
    after, before = None, []
    for seq in range(1, 10):
        before.append((seq, after))
        after = dict(expected).get(seq, after)
    assert found == before
