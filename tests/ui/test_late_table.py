"""The late ledger as text, for cases that the seeded runs do not have."""

from __future__ import annotations

from storage.event_time.model import LateRecord, LateSummary
from ui.components.event_time.late_table import late_table, operator_sentences, summary_sentence


def late(**more: object) -> LateRecord:
    facts: dict[str, object] = {
        "node": "first",
        "port": "in",
        "operator": "deduplicate",
        "seq": 6,
        "step": b"",
        "source": "clicks",
        "event_time_ms": 500,
        "window_start_ms": None,
        "window_end_ms": None,
        "watermark_ms": 7000,
        "lateness_ms": 6500,
        "needed_delay_ms": 8500,
        "reason": "older than the watermark",
    }
    return LateRecord(**(facts | more))  # type: ignore[arg-type]


def test_without_windows_there_is_no_column_for_them() -> None:
    table = late_table([late()], None)
    assert "window it missed" not in table.columns
    assert [cell.text for cell in table.rows[0].cells][:4] == ["older than the watermark", "6.5 s", "8.5 s", "6"]


def test_the_date_is_said_once_where_it_is_the_same_for_all() -> None:
    assert "event time (1970-01-01)" in late_table([late()], None).columns
    assert "event time (UTC)" in late_table([late(), late(watermark_ms=10**12)], None).columns


def test_each_source_needs_a_delay_of_its_own() -> None:
    summaries = [
        LateSummary("joined", "orders", 2, 1000, 6000),
        LateSummary("joined", "cities", 1, 500, 900),
        LateSummary("counted", "orders", 1, 3000, 8000),
    ]
    assert summary_sentence(summaries, 3, 1200) == (
        "**3 of 1,200 records were late**; watermark delays of **8 s** at orders and **900 ms** at cities would have "
        "kept all."
    )
    assert operator_sentences(summaries)[0] == "joined: 2 late records of orders, by at most 1 s"
    assert operator_sentences(summaries[:1]) == []


def test_where_no_delay_is_known_none_is_promised() -> None:
    assert summary_sentence([LateSummary("a", "", 1, None, None)], 1, 9) == "**1 of 9 records was late**."
