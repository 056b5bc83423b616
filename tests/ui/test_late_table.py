"""The late ledger as text, for cases that the seeded runs do not have."""

from __future__ import annotations

from datetime import UTC, datetime

from engine.contract.explanation import PlanExplanation
from storage.event_time.model import LateRecord, LateSummary, LateTotals
from storage.model import Run, RunStatus
from ui.components.event_time.late_sentences import late_sentence, lines_sentence
from ui.components.event_time.late_table import late_table


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
        "dropped": True,
        "used": "",
        "windows": 1,
    }
    return LateRecord(**(facts | more))  # type: ignore[arg-type]


def test_without_windows_there_is_no_column_for_them() -> None:
    table = late_table([late()], None)
    assert "window" not in table.columns
    cells = [cell.text for cell in table.rows[0].cells]
    assert (cells[:2], cells[3:5], cells[-1]) == (["dropped", "6.5 s"], ["8.5 s", "6"], "older than the watermark")


def test_the_date_is_said_once_where_it_is_the_same_for_all() -> None:
    assert "event time (1970-01-01)" in late_table([late()], None).columns
    assert "event time (UTC)" in late_table([late(), late(watermark_ms=10**12)], None).columns


def test_each_outcome_says_what_became_of_the_record() -> None:
    lines = [
        (late(), "dropped", ""),
        (late(dropped=False, used="padded"), "late but used: padded", ""),
        (
            late(dropped=False, window_start_ms=0, window_end_ms=1000, windows=3),
            "late but used: counted in its other windows",
            "[00:00:00, 00:00:01) and 2 more",
        ),
    ]
    for record, outcome, window in lines:
        cells = dict(zip(late_table([record], None).columns, late_table([record], None).rows[0].cells, strict=True))
        assert cells["outcome"].text == outcome
        assert (cells["outcome"].tone == "bad") is record.dropped
        assert window == (cells["window"].text if "window" in cells else "")


def run(status: RunStatus = RunStatus.FINISHED) -> Run:
    plan = PlanExplanation(())
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return Run(1, "a", status, None, None, "", "{}", plan, moment, None, "", "", 1, 1, 900, 0, 0, 0, 0)


def test_the_sentence_explains_how_records_and_drops_belong_together() -> None:
    totals = LateTotals(1204, 1200, 55, 18, 66, {"windows": (58, 0), "ranked": (18, 0), "converted": (0, 18)})
    summaries = [
        LateSummary("windows", "orders", 58, 0, 3000, 8000, None),
        LateSummary("ranked", "clicks", 18, 0, 1000, 900, None),
        LateSummary("converted", "orders", 0, 18, 9000, None, 9001),
    ]
    assert late_sentence(run(), totals, summaries) == (
        "**73 of 1,200 records were late**: **55 were dropped**, 76 times in all: by windows (58) and ranked (18); "
        "**18 were late but used** by converted. Watermark delays of **8 s** at orders and **900 ms** at clicks would "
        "have kept all that were dropped."
    )
    assert lines_sentence(totals).startswith("The list has 94 lines for these 73 records")
    once = LateTotals(9, 9, 1, 0, 0, {"first": (1, 0)})
    assert lines_sentence(once) == ""
    # Where no delay is known, none is promised.
    unknown = [LateSummary("first", "", 1, 0, None, None, None)]
    assert late_sentence(run(), once, unknown) == "**1 of 9 records was late**: **1 was dropped** by first."
    used = LateTotals(9, 9, 0, 2, 0, {"joined": (0, 2)})
    assert late_sentence(run(), used, [LateSummary("joined", "orders", 0, 2, 5, None, 6)]) == (
        "**2 of 9 records were late**: **2 were late but used** by joined. With a watermark delay of **6 ms**, none of "
        "them had been late."
    )


def test_while_a_run_goes_on_every_total_is_so_far() -> None:
    totals = LateTotals(900, 890, 1, 0, 0, {"first": (1, 0)})
    for status, scope in (
        (RunStatus.FINISHED, ""),
        (RunStatus.RUNNING, " so far, up to event 900"),
        (RunStatus.STOPPED, " up to event 900"),
    ):
        assert late_sentence(run(status), totals, []).startswith(f"**1 of 890 records was late**{scope}: "), status
