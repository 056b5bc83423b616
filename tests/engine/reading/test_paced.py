"""Generated records at a rate."""

from __future__ import annotations

from pathlib import Path

from engine.contract.stream import Limit
from engine.sources.datagen import Datagen
from engine.sources.generator import Generator

ALL = Limit(1 << 40, 1 << 40)


def test_so_many_records_are_due_as_the_rate_says() -> None:
    stream = Generator(rows=None, rate=2.5).stream("n", Path(), "run")
    first = stream.poll(None, ALL, 10_000)
    assert (first.what, first.is_end) == (None, False)
    taken = [stream.poll(None, ALL, 10_000 + now_ms).what for now_ms in (399, 400, 2000)]
    assert taken == [None, [0, 1], [0, 5]]


def test_a_run_that_is_resumed_does_not_catch_up() -> None:
    stream = Generator(rows=None, rate=10).stream("n", Path(), "run")
    assert stream.poll(70, ALL, 5000).what is None
    assert stream.poll(70, ALL, 5500).what == [70, 75]


def test_a_machine_that_cannot_keep_up_makes_fewer() -> None:
    stream = Generator(rows=None, rate=1000).stream("n", Path(), "run")
    stream.poll(None, ALL, 0)
    assert stream.poll(0, Limit(100, 1), 1000).what == [0, 100]
    assert stream.poll(100, Limit(100, 1), 1010).what == [100, 110]


def test_nothing_more_is_made_for_a_run_that_is_ended() -> None:
    stream = Generator(rows=None, rate=1000).stream("n", Path(), "run")
    stream.poll(None, ALL, 0)
    assert stream.poll(7, ALL, 9000, ending=True).what is None


def test_it_ends_where_it_has_an_end() -> None:
    stream = Generator(rows=3, rate=1).stream("n", Path(), "run")
    stream.poll(None, ALL, 0)
    taken = stream.poll(2, ALL, 9000)
    assert (taken.what, taken.position, taken.is_end) == ([2, 3], 3, True)


def test_a_sequence_with_an_end_ends_its_source() -> None:
    column = {"name": "n", "kind": "sequence", "min": 5, "max": 9}
    assert Datagen.model_validate({"columns": [column], "rows": None}).size == 5
    assert Datagen.model_validate({"columns": [column | {"max": None}], "rows": None}).size is None
