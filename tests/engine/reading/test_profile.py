"""Proposals for a file's columns: types, the event time, and the delay that its records need."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.examples.from_file import first_pipeline
from engine.reading.typed.profile import delay_of
from engine.sources.csv import Csv

START = datetime(2024, 5, 1, 10, tzinfo=UTC)
# Every tenth record is 8 s behind, and one of a thousand six minutes.
TIMES = [START + timedelta(seconds=at - (8 if at % 10 == 9 else 0) - (360 if at == 700 else 0)) for at in range(1000)]


@pytest.mark.parametrize(
    ("write", "parameters"),
    [
        (lambda time: time.strftime("%Y-%m-%d %H:%M:%S"), {}),
        (lambda time: time.isoformat(), {}),
        (lambda time: f"{time:%Y-%m-%dT%H:%M:%S}Z", {}),
        (lambda time: f"{time.timestamp():.0f}", {"event_time_unit": "epoch_s"}),
        (lambda time: f"{time.timestamp() * 1000:.0f}", {}),
        (
            lambda time: f"{time.timestamp() * 1_000_000:.0f}",
            {
                "event_time": "order time_time",
                "computed": [{"name": "order time_time", "expression": {"flink": "TO_TIMESTAMP_LTZ(`order time`, 6)"}}],
            },
        ),
        (
            lambda time: f"{time.timestamp():.3f}",
            {
                "event_time": "order time_time",
                "computed": [
                    {
                        "name": "order time_time",
                        "expression": {"flink": "TO_TIMESTAMP_LTZ(CAST(ROUND(`order time` * 1000) AS BIGINT), 3)"},
                    }
                ],
            },
        ),
        (
            lambda time: "n/a" if time == TIMES[500] else f"{time:%Y-%m-%d %H:%M}",
            {"types": {"order time": "TIMESTAMP(3)"}, "watermark_delay_ms": 1},
        ),
    ],
    ids=["local", "zone", "utc", "s", "ms", "us", "fractions of s", "one is none"],
)
def test_a_column_of_times_is_proposed_as_event_time_with_the_delay_that_its_records_need(
    tmp_path: Path, write: object, parameters: dict[str, object]
) -> None:
    assert callable(write)
    lines = [f"{at},{1000000000 + at},{write(time)}" for at, time in enumerate(TIMES)]
    (tmp_path / "in.csv").write_text("\n".join(["order id,phone,order time", *lines]), encoding="utf-8")
    source = first_pipeline("in.csv", tmp_path).nodes[0]
    assert (
        source.parameters == {"path": "in.csv", "event_time": "order time", "watermark_delay_ms": 10_000} | parameters
    )


def test_almost_all_values_say_what_a_column_is_and_the_others_are_named(tmp_path: Path) -> None:
    rows = [f"{'x' if at == 7 else at},{'' if at < 2 else 'a'},{at}.5" for at in range(100)]
    (tmp_path / "in.csv").write_text("\n".join(["n,a,a", *rows]), encoding="utf-8")
    columns, times = Csv(path="in.csv").profile("n", tmp_path)
    assert [(column.name, str(column.type), str(column.proposed)) for column in columns] == [
        ("n", "string", "bigint"),
        ("a", "string", "string"),
        ("a_2", "double", "double"),
    ]
    assert columns[0].why == '99 of 100 are integers; 1 is not, such as "x"'
    assert columns[1].why == 'such as "a"; 2 empty'
    assert columns[2].note == "'a' in the file, which has another column of that name"
    assert times == ()


@pytest.mark.parametrize(("decimals", "kind"), [(".5", "numbers"), ("", "integers")])
def test_a_type_that_the_first_rows_have_is_counted_in_all_of_them(tmp_path: Path, decimals: str, kind: str) -> None:
    rows = [f"{at}{decimals}" for at in range(1_500)]
    rows[1_200] = "heavy"
    (tmp_path / "in.csv").write_text("\n".join(["kg", *rows]), encoding="utf-8")
    (column,), _ = Csv(path="in.csv").profile("n", tmp_path)
    assert column.why == f'1,499 of 1,500 are {kind}; 1 is not, such as "heavy"'


def test_nanoseconds_that_are_cut_off_are_told(tmp_path: Path) -> None:
    rows = [f"2024-05-01 10:00:{at:02}.12345678{at % 2},2024-05-01 10:00:00.123456000,1.123456789" for at in range(4)]
    (tmp_path / "in.csv").write_text("\n".join(["a,b,c", *rows]), encoding="utf-8")
    columns, _ = Csv(path="in.csv").profile("n", tmp_path)
    assert [column.why for column in columns] == [
        "all 4 are times without a zone; 4 have nanoseconds, which are cut off",
        "all 4 are times without a zone",
        "all 4 are numbers",
    ]


def test_the_delay_is_the_shortest_usual_one_that_keeps_99_of_100() -> None:
    in_order = list(range(0, 100_000, 100))
    assert delay_of(in_order) == (0, f"each of the first {len(in_order):,} records is later than the one before")
    # A record of the same time as the one before it is late for an OVER aggregate, unless there is a delay.
    assert delay_of([5, 5, 6]) == (1, "keeps all of the first 3 records; some have the same time")
    assert delay_of([*in_order[:980], *[time - 42_000 for time in in_order[980:]]])[0] == 60_000
    few = [*in_order[:995], *[time - 42_000 for time in in_order[995:]]]
    assert delay_of(few) == (0, "keeps 99.5 % of the first 1,000 records; the last is 41.9 s behind")
    far = [0, -400 * 86_400_000]
    assert delay_of(far) == (401 * 86_400_000, "keeps all of the first 2 records; the last is 400 days behind")
