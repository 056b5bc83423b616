"""The combined watermark of several sources, some of them idle, equals that of Flink's valves, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from engine.model.combined_watermark import (
    Above,
    Combined,
    Latest,
    Standing,
    combined_watermark,
    followed,
    holdbacks_of,
    latest_of,
    meeting,
    without_delays,
)
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle, Longs, Timeline, places_in

A_AND_B = {"a": Timeline.of([(1, 10), (6, 15), (7, 40), (9, 60)]), "b": Timeline.of([(2, 20), (4, 30), (8, 50)])}


def steps(above: Above, lines: Mapping[str, Timeline], idle: Idle) -> list[tuple[int, int]]:
    line = combined_watermark(lines, above, idle)
    return list(zip(line.seqs.tolist(), line.marks.tolist(), strict=True))


def test_below_a_union_a_source_that_comes_back_counts_once_it_has_caught_up() -> None:
    # a is idle after event 3, and resumes at event 6, behind b: only b counts, until a has reached 40.
    idle = {"a": [(3, 6)]}
    union, join = Combined(("a", "b"), is_union=True), Combined(("a", "b"))
    assert steps(union, A_AND_B, idle) == [(2, 10), (3, 20), (4, 30), (8, 40), (9, 50)]
    assert steps(join, A_AND_B, idle) == [(2, 10), (3, 20), (4, 30), (8, 40), (9, 50)]
    lines = A_AND_B | {
        "b": Timeline.of([(2, 20), (4, 30), (5, 35), (8, 50)]),
        "a": Timeline.of([(1, 10), (6, 15), (9, 60)]),
    }
    # The union does not wait for a; an operator with two inputs does.
    assert steps(union, lines, idle) == [(2, 10), (3, 20), (4, 30), (5, 35), (8, 50)]
    assert steps(join, lines, idle) == [(2, 10), (3, 20), (4, 30), (5, 35), (9, 50)]


@pytest.mark.parametrize("is_union", [True, False])
@pytest.mark.parametrize("turns", [{"low": 5, "high": 6}, {"low": 6, "high": 5}], ids=["low first", "high first"])
def test_where_all_are_idle_the_highest_counts_in_whatever_order_they_became_so(
    turns: dict[str, int], is_union: bool
) -> None:
    # The answers of Flink 2.3's StatusWatermarkValve and IndexedCombinedWatermarkStatus for inputs at 10 and 50.
    lines = {"low": Timeline.of([(1, 10)]), "high": Timeline.of([(2, 50)])}
    above = Combined(("low", "high"), is_union=is_union)
    line = combined_watermark(lines, above, {name: [(turn, 9)] for name, turn in turns.items()})
    assert [line.at(seq) for seq in (2, 4, 6, 9)] == [10, 10, 50, 50]


def test_below_a_union_that_has_come_back_behind_it_a_join_waits() -> None:
    above = Combined((Combined(("a", "b"), is_union=True), "c"))
    lines = {
        "a": Timeline.of([(1, 10), (7, 20)]),
        "b": Timeline.of([(2, 50), (9, 130)]),
        "c": Timeline.of([(3, 100), (8, 120)]),
    }
    # a and b are idle: the union has 50, and only c counts. With a active, the union counts, although a is behind.
    idle = {"a": [(4, 7)], "b": [(5, 9)]}
    assert steps(above, lines, idle) == [(3, 10), (4, 50), (5, 100), (9, 120)]


def test_one_input_is_itself_and_what_is_held_back_adds_up() -> None:
    assert meeting(["a"]) == "a"
    held = meeting([meeting(["a", "b"], held_ms=5), "a"], held_ms=2)
    assert holdbacks_of(held) == {"a": 7, "b": 7}
    assert holdbacks_of(without_delays(held)) == {"a": 0, "b": 0}
    assert steps(held, {"a": Timeline.of([(1, 100)]), "b": Timeline.of([(2, 90), (3, MAX_WATERMARK)])}, {}) == [
        (2, 83),
        (3, 93),
    ]


def test_it_is_what_flinks_own_classes_answered() -> None:
    # Each line: calls of Flink 2.3's StatusWatermarkValve (union) or IndexedCombinedWatermarkStatus (join) with the
    # number of inputs, each call as input:what:watermark, and the watermark after each call.
    for line in (Path(__file__).parent / "flink_valves.txt").read_text().splitlines():
        asked, _, answered = line.partition(" = ")
        kind, count, *calls = asked.split()
        names = tuple("abc"[: int(count)])
        lines: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
        idle: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
        expected, seq = [MIN_WATERMARK], 0
        for call, answer in zip(calls, answered.split(), strict=True):
            at, what, *mark = call.split(":")
            name = names[int(at)]
            if what == "active":
                # The input's next record is the same event, so the answer has no event of its own.
                idle[name][-1] = (idle[name][-1][0], seq + 1)
                continue
            seq += 1
            if what == "idle":
                idle[name].append((seq, MAX_WATERMARK))
            else:
                lines[name].append((seq, int(mark[0])))
            expected.append(MIN_WATERMARK if answer == "-" else int(answer))
        whole = {name: Timeline.of(of_source) for name, of_source in lines.items()}
        found = combined_watermark(whole, Combined(names, is_union=kind == "union"), idle)
        assert [found.at(at) for at in range(seq + 1)] == expected, line


class Channel:
    """The state of an input in Flink's valve and combined status."""

    def __init__(self) -> None:
        self.mark, self.is_idle, self.is_aligned = MIN_WATERMARK, False, True


class Operator:
    """A model of Flink, for one watermark or status at a time: StatusWatermarkValve and CombinedWatermarkStatus."""

    def __init__(self, above: Above) -> None:
        self.above = above
        self.inputs = [Operator(each) for each in above.inputs] if isinstance(above, Combined) else []
        self.channels = [Channel() for _ in self.inputs]
        self.last, self.is_idle, self.told_idle = MIN_WATERMARK, False, False

    def source(self, name: str, what: str, mark: int = 0) -> list[tuple[str, int]]:
        """The output for a watermark or status of a source."""
        if isinstance(self.above, str):
            return [(what, mark)] if self.above == name else []
        out: list[tuple[str, int]] = []
        for channel, input_ in zip(self.channels, self.inputs, strict=True):
            for kind, value in input_.source(name, what, mark):
                out += self.valve(channel, kind, value) if self.above.is_union else self.status(channel, kind, value)
        held = self.above.held_ms
        return [(k, v if k != "mark" or v == MAX_WATERMARK else v - held) for k, v in out]

    def emit(self, mark: int) -> list[tuple[str, int]]:
        if mark <= self.last:
            return []
        self.last = mark
        return [("mark", mark)]

    def valve(self, channel: Channel, kind: str, mark: int) -> list[tuple[str, int]]:
        aligned = [each for each in self.channels if each.is_aligned]
        if kind == "mark":
            if self.is_idle or channel.is_idle or mark <= channel.mark:
                return []
            channel.mark = mark
            if not channel.is_aligned and mark >= self.last:
                channel.is_aligned = True
                aligned = [each for each in self.channels if each.is_aligned]
            return self.emit(min(each.mark for each in aligned)) if aligned else []
        if kind == "idle" and not channel.is_idle:
            channel.is_idle, channel.is_aligned = True, False
            aligned = [each for each in self.channels if each.is_aligned]
            if all(each.is_idle for each in self.channels):
                # Flink 2.3 tests whether this channel held the watermark; later versions do not.
                out = self.emit(max(each.mark for each in self.channels)) if channel.mark == self.last else []
                self.is_idle = True
                return [*out, ("idle", 0)]
            if channel.mark == self.last and aligned:
                return self.emit(min(each.mark for each in aligned))
        if kind == "active" and channel.is_idle:
            channel.is_idle = False
            channel.is_aligned = channel.mark >= self.last
            if self.is_idle:
                self.is_idle = False
                return [("active", 0)]
        return []

    def status(self, channel: Channel, kind: str, mark: int) -> list[tuple[str, int]]:
        if kind == "mark":
            channel.mark = max(mark, channel.mark)
        else:
            channel.is_idle = kind == "idle"
        active = [each.mark for each in self.channels if not each.is_idle]
        out = self.emit(min(active) if active else max(each.mark for each in self.channels))
        was_idle, self.is_idle = self.is_idle, not active
        return [*out, ("idle" if self.is_idle else "active", 0)] if was_idle != self.is_idle else out


SHAPES: Sequence[Above] = (
    Combined(("a", "b"), is_union=True),
    Combined(("a", "b", "c"), is_union=True),
    Combined(("a", "b", "c")),
    Combined((Combined(("a", "b"), is_union=True), "c")),
    Combined((Combined(("a", "b"), held_ms=2), "c"), is_union=True),
    Combined((Combined(("a", "b"), is_union=True), Combined(("b", "c"), is_union=True)), held_ms=3),
    Combined((Combined(("a", "b"), is_union=True), Combined(("a", "c"))), is_union=True),
)


@pytest.mark.parametrize("above", SHAPES, ids=str)
def test_it_is_what_flink_comes_to_step_by_step_in_any_split(above: Above) -> None:
    chance = Random(7)
    for _ in range(120):
        size = 24
        lines: dict[str, list[tuple[int, int]]] = {name: [] for name in "abc"}
        idle: dict[str, list[tuple[int, int]]] = {name: [] for name in "abc"}
        flink, expected, marks = Operator(above), [], dict.fromkeys("abc", 0)
        for seq in range(1, size + 1):
            name = chance.choice("abc")
            is_idle = bool(idle[name]) and idle[name][-1][1] == MAX_WATERMARK
            if not is_idle and chance.random() < 0.25:
                idle[name].append((seq, MAX_WATERMARK))
                flink.source(name, "idle")
            else:
                if is_idle:
                    idle[name][-1] = (idle[name][-1][0], seq)
                    flink.source(name, "active")
                marks[name] += chance.choice([0, 1, 4, 20])
                if chance.random() < 0.02:
                    marks[name] = MAX_WATERMARK // 2
                lines[name].append((seq, marks[name]))
                flink.source(name, "mark", marks[name])
            expected.append(flink.last if flink.last == MIN_WATERMARK else flink.last - getattr(above, "held_ms", 0))
        whole = {name: Timeline.of(of_source) for name, of_source in lines.items()}
        line = combined_watermark(whole, above, idle)
        assert [line.at(seq) for seq in range(1, size + 1)] == expected
        # The result is the same if cut at any event, with only the information up to then.
        cut, at = chance.randrange(1, size), 0
        found, before = [], None
        for first, last in ((at, cut), (cut, size)):
            part = {
                name: Timeline.of([s for s in of_source if first < s[0] <= last], whole[name].at(first))
                for name, of_source in lines.items()
            }
            own = {name: [_within(each, first, last) for each in of_source] for name, of_source in idle.items()}
            known = {name: [each for each in of_source if each] for name, of_source in own.items()}
            course = followed(part, above, known, before)
            found += [course.line.at(seq) for seq in range(first + 1, last + 1)]
            before = course.standing and Standing.from_json(course.standing.to_json())
        assert found == expected


def _within(stretch: tuple[int, int], first: int, last: int) -> tuple[int, int] | tuple[()]:
    """A stretch from an epoch's view: an earlier beginning is MIN_WATERMARK, a later end MAX_WATERMARK."""
    begins, until = stretch
    if begins > last or until <= first:
        return ()
    return (MIN_WATERMARK if begins <= first else begins, MAX_WATERMARK if until > last else until)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("size", [0, 1, 3, 500, 30_000])
def test_a_place_is_found_in_a_long_line_as_in_a_short_one(size: int, ends: bool) -> None:
    line, values = np.arange(100_000) * 3, np.random.default_rng(size).integers(-10, 310_000, size)
    if ends:
        line[-1] = values[-1:] = MAX_WATERMARK
        values[:1] = MIN_WATERMARK
    assert places_in(line, values).tolist() == np.searchsorted(line, values).tolist()
    long = Timeline(-7, line[:-1], line[:-1] - 5)
    assert long.before(values).tolist() == [long.at(value - 1) for value in values.tolist()]


def test_the_latest_source_leads_and_one_that_has_ended_counts_with_its_last_time_whatever_the_cuts() -> None:
    lines = {
        "a": Timeline.of([(1, 10), (5, 40), (6, MAX_WATERMARK)]),
        "b": Timeline.of([(2, 20), (4, 30), (7, 35), (9, 50), (10, MAX_WATERMARK)]),
    }
    above = Latest(("a", "b"))
    assert steps(above, lines, {"a": [(3, 5)]}) == [(1, 10), (2, 20), (4, 30), (5, 40), (9, 50), (10, MAX_WATERMARK)]
    assert latest_of([meeting(["b", "a"], held_ms=5), "a"]) == above == without_delays(above)
    assert latest_of(["a", "a"]) == "a"
    for at in range(11):
        early = {name: Timeline(line.start_ms, *_until(line, at)) for name, line in lines.items()}
        late = {name: Timeline(line.at(at), *_after(line, at)) for name, line in lines.items()}
        reached = followed(early, above)
        rest = followed(late, above, before=reached.standing)
        seqs, marks = ([*one, *other] for one, other in zip(_arrays(reached.line), _arrays(rest.line), strict=True))
        assert list(zip(seqs, marks, strict=True)) == steps(above, lines, {}), at


def _until(line: Timeline, at: int) -> tuple[Longs, Longs]:
    return line.seqs[line.seqs <= at], line.marks[line.seqs <= at]


def _after(line: Timeline, at: int) -> tuple[Longs, Longs]:
    return line.seqs[line.seqs > at], line.marks[line.seqs > at]


def _arrays(line: Timeline) -> tuple[list[int], list[int]]:
    return line.seqs.tolist(), line.marks.tolist()
