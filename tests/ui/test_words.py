"""Values as text for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from engine.model.zones import zone_named
from ui.shell import words


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1200, "1.2 s"),
        (10_002, "10.002 s"),
        (60_000, "1 min"),
        (123_500, "2 min 3.5 s"),
        (90_061_000, "1 d 1 h 1 min 1 s"),
        (-250, "-250 ms"),
    ],
)
def test_a_duration_is_exact_and_short(ms: int, text: str) -> None:
    assert words.duration(ms) == text


def test_an_instant_is_utc_with_milliseconds() -> None:
    assert words.instant(1_000_000_050_000) == "2001-09-09 01:47:30.000"
    assert words.instant(-1) == "1969-12-31 23:59:59.999"


def test_an_instant_that_is_none_is_said_in_words() -> None:
    assert words.instant(None) == "none yet"
    assert words.instant(words.END_MS) == "end of input"
    assert words.instant(10**17) == "100000000000000000 ms"


def test_a_window_says_its_day_once_and_milliseconds_only_where_there_are_some() -> None:
    assert words.window(1_000_000_100_000, 1_000_000_110_000) == "[2001-09-09 01:48:20, 01:48:30)"
    assert words.window(500, 1500, "1970-01-01") == "[00:00:00.500, 00:00:01.500)"
    assert words.window(None, None) == ""


def test_a_count_has_its_noun() -> None:
    assert words.count(1, "record") == "1 record"
    assert words.count(1204, "record") == "1,204 records"
    assert words.count(2, "query", "queries") == "2 queries"


def test_how_long_ago_is_said_as_people_say_it() -> None:
    now = datetime(2024, 5, 10, 12, tzinfo=UTC)
    before = [timedelta(seconds=3), timedelta(minutes=5), timedelta(hours=3), timedelta(days=1)]
    assert [words.ago(now - span, now) for span in before] == ["just now", "5 min ago", "3 h ago", "yesterday"]
    assert words.ago(now - timedelta(days=9), now) == "2024-05-01"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (Decimal("1.50"), "1.50"),
        ([1, None, "a"], "[1, NULL, a]"),
        (b"\x00\xff", "0x00ff"),
        (datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05"),  # noqa: DTZ001 - as DuckDB hands it out
        (datetime(2024, 1, 2, 3, 4, 5, 999_000, UTC), "2024-01-02 03:04:05.999"),
        (datetime(2024, 1, 2, 3, 4, 5, 999_001, UTC), "2024-01-02 03:04:05.999001"),
        (
            {"a": {"b": 1.5, "at": datetime(2024, 1, 2, 3)}, "l": [{"c": None}, True], 5: "x"},  # noqa: DTZ001
            '{"a": {"b": 1.5, "at": "2024-01-02 03:00:00"}, "l": [{"c": null}, true], "5": "x"}',
        ),
    ],
)
def test_a_value_is_one_line_of_text(cell: object, text: str) -> None:
    assert words.value(cell) == text


def test_a_float_is_shown_without_what_adding_left_of_it() -> None:
    assert [words.value(each) for each in (959.1200000000001, 0.1 + 0.2, 2.0, -1234.5678, 1e22, float("inf"))] == [
        "959.12",
        "0.3",
        "2.0",
        "-1234.5678",
        "1e+22",
        "inf",
    ]


def test_a_float_of_32_bits_is_shown_as_the_number_that_it_means() -> None:
    shown = [words.value(each) for each in (24.600000381469727, -0.10000000149011612, 3.4028234663852886e38)]
    assert shown == ["24.6", "-0.1", "3.4028235e+38"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![t](http://host/x.png)", "!\\[t\\](http:\u2060//host/x.png)"),
        ("\\[a](b)", "\\\\\\[a\\](b)"),
        (":red[x] :material/bolt: :smile:", ":red\\[x\\] :\u2060material/bolt: :\u2060smile:"),
        ("# a\n> b\n1. c\n- d", "\\# a\n\\> b\n1\\. c\n\\- d"),
        (
            "$a$ **b** __c__ _d_ ~~e~~ `f` <b> &lt;",
            "\\$a\\$ \\*\\*b\\*\\* \\_\\_c\\_\\_ \\_d\\_ \\~~e\\~~ \\`f\\` \\<b> \\&lt;",
        ),
        ("www.host", "www\u2060.host"),
        ("count_words: 10:00:05 is 2 > 1, or -1", "count_words: 10:00:05 is 2 > 1, or -1"),
    ],
)
def test_a_name_is_no_markdown(text: str, shown: str) -> None:
    assert words.escaped(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [("a=1", "`a=1`"), ("`a` :red[b]", "`a :red[b]`"), ("a\n\nb", "`a  b`"), ("`", "` `")]
)
def test_code_is_not_ended_by_what_is_in_it(text: str, shown: str) -> None:
    assert words.code(text) == shown


def test_a_text_in_a_chart_is_no_html() -> None:
    assert words.in_chart("<a href='x'>a</a> &lt;") == "&lt;a href='x'&gt;a&lt;/a&gt; &amp;lt;"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (1_710_053_999_000, "2024-03-10 01:59:59.000"),
        (1_710_054_000_000, "2024-03-10 03:00:00.000"),
        # The hour that clocks show twice.
        (1_730_611_800_000, "2024-11-03 01:30:00.000-04:00"),
        (1_730_615_400_000, "2024-11-03 01:30:00.000-05:00"),
        (1_730_619_000_000, "2024-11-03 02:30:00.000"),
        (words.END_MS, "end of input"),
        (None, "none yet"),
    ],
)
def test_an_instant_in_a_zone_is_what_its_clocks_show(ms: int | None, text: str) -> None:
    assert words.instant(ms, zone_named("America/New_York")) == text


def test_the_head_of_times_names_their_zone() -> None:
    zone = zone_named("Asia/Tokyo")
    assert words.event_time(None) == "event time (UTC)"
    assert words.event_time(None, "2024-01-01") == "event time (2024-01-01)"
    assert words.event_time(zone) == "event time (Asia/Tokyo)"
    assert words.event_time(zone, "2024-01-01") == "event time (2024-01-01 Asia/Tokyo)"
    assert words.window(0, 3_600_000, zone=zone) == "[1970-01-01 09:00:00, 10:00:00)"
