"""Expressions in a time zone: what depends on it is told Spark, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from engine.errors import PlanRejected
from engine.expressions import Expression
from engine.expressions.analyzer import TypeRules
from engine.expressions.zoned import in_zone
from engine.model.pipeline import Pipeline
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ
from engine.model.zones import Zone, zone_named
from engine.planner import plan

SCHEMA = Schema(
    (
        *(Column("x", TIMESTAMP), Column("n", TIMESTAMP_NTZ), Column("d", DATE), Column("s", STRING)),
        Column("i", BIGINT),
    )
)
LOCAL = "CONVERT_TIMEZONE('UTC', 'Asia/Tokyo', CAST(x AS TIMESTAMP_NTZ))"
N = "CAST(CONVERT_TIMEZONE('Asia/Tokyo', 'UTC', CAST(n AS TIMESTAMP_NTZ)) AS TIMESTAMP)"


def tokyo() -> Zone:
    zone = zone_named("Asia/Tokyo")
    assert zone is not None
    return zone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAST(x AS STRING)", f"CAST({LOCAL} AS STRING)"),
        ("CAST(x AS DATE)", f"CAST({LOCAL} AS DATE)"),
        ("hour(x) + 1", f"HOUR({LOCAL}) + 1"),
        ("extract(DAY FROM x)", f"EXTRACT(DAY FROM {LOCAL})"),
        ("x || 'a'", f"{LOCAL} || 'a'"),
        ("transform(array(x), y -> year(y))", f"TRANSFORM(ARRAY(x), y -> YEAR({LOCAL.replace('x AS', 'y AS')}))"),
        ("CAST(n AS TIMESTAMP)", N),
        ("CAST(CAST(n AS TIMESTAMP) AS DATE)", "CAST(CAST(n AS TIMESTAMP_NTZ) AS DATE)"),
        ("x > n", f"x > {N}"),
        ("x IN (n, x)", f"x IN ({N}, x)"),
        ("x BETWEEN n AND n", f"x BETWEEN {N} AND {N}"),
        ("CASE WHEN i = 1 THEN x ELSE n END", f"CASE WHEN i = 1 THEN x ELSE {N} END"),
        ("coalesce(x, n)", f"COALESCE(x, {N})"),
        ("unix_seconds(x)", f"UNIX_SECONDS({LOCAL})"),
        (
            "from_unixtime(i, 'yyyy')",
            f"DATE_FORMAT({LOCAL.replace('x AS', 'TIMESTAMP_SECONDS(i) AS')}, 'yyyy')",
        ),
    ],
)
def test_what_depends_on_the_zone_is_told_spark(text: str, expected: str) -> None:
    made = in_zone(text, SCHEMA, tokyo())
    assert made == expected
    rules = TypeRules()
    assert rules.type_of(made, SCHEMA, "", "") == rules.type_of(text, SCHEMA, "", "")


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "hour(n)",
        "unix_millis(x)",
        "x + INTERVAL '1' DAY",
        "x > x",
        "CAST(n AS STRING)",
        "i + 1",
        "upper(s)",
        "x >",
    ],
)
def test_what_does_not_depend_on_it_stays_as_it_is(text: str) -> None:
    assert in_zone(text, SCHEMA, tokyo()) == text


def test_arrow_knows_zones() -> None:
    zone = zone_named("America/Los_Angeles")
    assert zone is not None
    given = [0, 1_710_064_799_999_999, 1_710_064_800_000_001, 1_730_622_600_000_000, None]
    rows = pa.table({"x": pa.array(given, pa.timestamp("us", "UTC"))})
    schema = Schema((Column("x", TIMESTAMP),))
    local = Expression.parse(zone.local_sql("x")).arrow(schema)
    back = Expression.parse(zone.instant_sql(zone.local_sql("x"))).arrow(schema)
    assert local is not None
    assert back is not None
    shown = [None if each is None else each.isoformat() for each in local(rows).to_pylist()]
    assert shown == [
        "1969-12-31T16:00:00",
        "2024-03-10T01:59:59.999999",
        "2024-03-10T03:00:00.000001",
        "2024-11-03T01:30:00",
        None,
    ]
    assert back(rows).cast(pa.int64()).to_pylist() == given


def joined(type_: str) -> Pipeline:
    """A join with a condition on an instant and a time of this type."""

    def source(of: str) -> dict[str, object]:
        return {"columns": [{"name": "k", "type": "int"}, {"name": "t", "type": of}], "rows": [[1, 0]]}

    return Pipeline.from_dict(
        {
            "nodes": [
                {"id": "a", "operator": "rows", "parameters": source("timestamp")},
                {"id": "b", "operator": "rows", "parameters": source(type_)},
                {
                    "id": "pairs",
                    "operator": "join",
                    "parameters": {"left_keys": ["k"], "right_keys": ["k"], "condition": "t < t0"},
                },
            ],
            "edges": [
                {"source": "a", "target": "pairs", "target_port": "left"},
                {"source": "b", "target": "pairs", "target_port": "right"},
            ],
            "options": {"table.local-time-zone": "Asia/Tokyo"},
        }
    )


def test_a_condition_over_several_rows_must_not_depend_on_it() -> None:
    assert plan(joined("timestamp"), TypeRules(), Path()).zone == tokyo()
    with pytest.raises(PlanRejected, match="depends on the time zone Asia/Tokyo"):
        plan(joined("timestamp_ntz"), TypeRules(), Path())
