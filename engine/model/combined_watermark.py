"""Combines the watermarks of the sources above an operator, of which some may be idle.

    orders ---> union ---> join         Combined((Combined(("orders", "returns"), is_union=True), "rates"))
    returns ----^          ^
    rates -----------------+

The combined watermark is the lowest of all active inputs, and never falls. Idle inputs do not count; if all are idle,
the highest counts. An input that resumes behind the combined watermark counts again at once for an operator with
several inputs: the watermark stands still until this input has caught up. Below a union, the input counts only once it
has caught up.

Above a processing time that a query adds, the watermark is that of the latest input: one clock goes on for all of them.
Source: Flink StatusWatermarkValve (the channels of one input, which is what a union makes), CombinedWatermarkStatus
(the inputs of one operator).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final, Self

import numpy as np

from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Idle, Longs, Timeline

Stretches = Sequence[tuple[int, int]]
# The order within one event: inputs that become active, then the new watermark, then inputs that become idle.
_COUNTS, _IS_IDLE = 0, 2


@dataclass(frozen=True)
class Combined:
    """Several watermarks combined into one. inputs: sources, or further combinations. held_ms: its delay.

    is_union: whether the inputs are channels of one input. made_by: the node that combines them.
    """

    inputs: tuple[Above, ...]
    held_ms: int = 0
    is_union: bool = False
    made_by: str = ""


class Latest(Combined):
    """The highest watermark of several inputs that have not ended."""


Above = str | Combined
"""The origin of a watermark: one source, or a combination of several."""
NOTHING: Final = Combined(())


def meeting(inputs: Sequence[Above], *, is_union: bool = False, node: str = "", held_ms: int = 0) -> Above:
    """The combination of these origins. One that arrives on several paths counts once, however often paths branch."""
    distinct: list[Above] = []
    for origin in inputs:
        is_known = any(origin == other if isinstance(origin, str) else origin is other for other in distinct)
        if not is_known and origin != NOTHING:
            distinct.append(origin)
    inputs = distinct
    if len(inputs) == 1 and held_ms == 0:
        return inputs[0]
    return Combined(tuple(inputs), held_ms, is_union, node)


def latest_of(inputs: Sequence[Above]) -> Above:
    """The watermark of whichever source above these inputs is the latest."""
    sources = holdbacks_of(meeting(inputs))
    return next(iter(sources)) if len(sources) == 1 else Latest(tuple(sorted(sources)))


def has_latest(above: Above) -> bool:
    """Whether a part of it goes by the latest of its inputs."""
    return _has_latest(above, {})


def _has_latest(above: Above, known: dict[int, bool]) -> bool:
    """The same, with results already `known` by identity, as many paths may lead to one origin."""
    if isinstance(above, str | Latest):
        return isinstance(above, Latest)
    if id(above) not in known:
        known[id(above)] = any(_has_latest(input_, known) for input_ in above.inputs)
    return known[id(above)]


def holdbacks_of(above: Above) -> Mapping[str, int]:
    """The sources, each with the ms by which it is held back; of two paths, the longer delay counts."""
    return _holdbacks(above, {})


def _holdbacks(above: Above, known: dict[int, Mapping[str, int]]) -> Mapping[str, int]:
    """The same, with results already `known` by identity, as many paths may lead to one origin."""
    if isinstance(above, str):
        return {above: 0}
    if id(above) not in known:
        held: dict[str, int] = {}
        for input_ in above.inputs:
            for source, by_ms in _holdbacks(input_, known).items():
                held[source] = max(by_ms + above.held_ms, held.get(source, 0))
        known[id(above)] = held
    return known[id(above)]


def without_delays(above: Above) -> Above:
    """The same combination, of which no part is held back."""
    return _without_delays(above, {})


def _without_delays(above: Above, known: dict[int, Above]) -> Above:
    """The same, with results already `known` by identity, as many paths may lead to one origin."""
    if isinstance(above, str | Latest):
        return above
    if id(above) not in known:
        inputs = [_without_delays(input_, known) for input_ in above.inputs]
        known[id(above)] = meeting(inputs, is_union=above.is_union, node=above.made_by)
    return known[id(above)]


@dataclass(frozen=True)
class Standing:
    """The state before some events: the combined watermark, and those of its inputs.

    behind: the active inputs of a union that have not caught up.
    """

    mark_ms: int = MIN_WATERMARK
    behind: tuple[int, ...] = ()
    inputs: tuple[Standing | None, ...] = ()

    def to_json(self) -> Any:
        """As plain values."""
        return [self.mark_ms, list(self.behind), [input_ and input_.to_json() for input_ in self.inputs]]

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """From plain values; older versions stored a number."""
        if isinstance(values, int):
            return cls(values)
        mark_ms, behind, inputs = values
        return cls(mark_ms, tuple(behind), tuple(input_ and cls.from_json(input_) for input_ in inputs))


@dataclass(frozen=True)
class Course:
    """A watermark over some events. idle: when it does not count; standing: the state after them."""

    line: Timeline
    idle: Stretches = ()
    standing: Standing | None = None


def combined_watermark(
    sources: Mapping[str, Timeline], above: Above, idle: Idle | None = None, before: Standing | None = None
) -> Timeline:
    """The combined watermark of these sources. idle: when they do not count; before: the state before these events."""
    return followed(sources, above, idle, before).line


def followed(
    sources: Mapping[str, Timeline], above: Above, idle: Idle | None = None, before: Standing | None = None
) -> Course:
    """The same, and the state of all inputs after these events."""
    if before is None and not has_latest(above) and not any((idle or {}).get(name) for name in holdbacks_of(above)):
        # The minimum does not depend on the order of combination.
        held = holdbacks_of(above)
        return Course(_lowest_of([shifted(sources[name], -held[name]) for name in sorted(held) if name in sources]))
    return _follow(above, sources, idle or {}, before) or Course(Timeline.of([]))


def _lowest_of(lines: Sequence[Timeline]) -> Timeline:
    if not lines:
        return Timeline.of([])
    if len(lines) == 1:
        return lines[0]
    seqs = np.unique(np.concatenate([line.seqs for line in lines]))
    return _rising(min(line.start_ms for line in lines), seqs, _lowest(lines, seqs))


def _follow(above: Above, sources: Mapping[str, Timeline], idle: Idle, before: Standing | None) -> Course | None:
    if isinstance(above, str):
        return Course(sources[above], tuple(idle.get(above, ()))) if above in sources else None
    standings = before.inputs if before is not None and before.inputs else (None,) * len(above.inputs)
    every = [_follow(input_, sources, idle, own) for input_, own in zip(above.inputs, standings, strict=True)]
    inputs = [course for course in every if course is not None]
    if not inputs:
        return None
    behind: tuple[int, ...] = ()
    if isinstance(above, Latest):
        line = _latest([course.line for course in inputs], before)
    elif above.is_union:
        valve = _Valve(inputs, before)
        line, behind = valve.follow(), valve.behind
    else:
        line = _join(inputs, before)
    last_ms = int(line.marks[-1]) if len(line.marks) else line.start_ms
    standing = Standing(last_ms, behind, tuple(None if course is None else course.standing for course in every))
    return Course(shifted(line, -above.held_ms), reduce(_both, [course.idle for course in inputs]), standing)


def _latest(lines: Sequence[Timeline], before: Standing | None) -> Timeline:
    """The highest of some watermarks. An input that has ended counts with what it had before, until all have."""
    seqs = np.unique(np.concatenate([line.seqs for line in lines]))
    marks = np.stack([np.concatenate(([np.int64(line.start_ms)], line.before(seqs + 1))) for line in lines])
    highest = np.where(marks == MAX_WATERMARK, MIN_WATERMARK, marks).max(axis=0)
    floor_ms = MIN_WATERMARK if before is None else before.mark_ms
    after = np.maximum.accumulate(np.maximum(highest, floor_ms))
    after[(marks == MAX_WATERMARK).all(axis=0)] = MAX_WATERMARK
    return _rising(int(after[0]), seqs, after[1:])


def _join(inputs: Sequence[Course], before: Standing | None) -> Timeline:
    """The inputs of one operator: every active input holds the watermark back."""
    lines = [course.line for course in inputs]
    turns = np.array([at for course in inputs for stretch in course.idle for at in stretch], np.int64)
    seqs = np.unique(np.concatenate([turns, *(line.seqs for line in lines)]))
    # Before the first event, too: earlier watermarks count.
    seqs = np.concatenate(([np.int64(MIN_WATERMARK)], seqs[(seqs > MIN_WATERMARK) & (seqs < MAX_WATERMARK)]))
    marks = np.stack([np.concatenate(([np.int64(line.start_ms)], line.before(seqs[1:] + 1))) for line in lines])
    counts = np.ones(marks.shape, np.bool_)
    for at, course in enumerate(inputs):
        for first, until in course.idle:
            counts[at] &= (seqs < first) | (seqs >= until)
    lowest = np.where(counts, marks, MAX_WATERMARK).min(axis=0)
    lowest = np.where(counts.any(axis=0), lowest, marks.max(axis=0))
    floor_ms = MIN_WATERMARK if before is None else before.mark_ms
    after = np.maximum.accumulate(np.maximum(lowest, floor_ms))
    return _rising(int(after[0]), seqs[1:], after[1:])


@dataclass
class _Valve:
    """The channels of one input. One that is idle, or has not caught up since, is not aligned: it holds nothing back.

    Each incoming watermark updates the combined one; a channel that becomes active again does not.
    """

    channels: Sequence[Course]
    before: Standing | None
    _counts: set[int] = field(default_factory=set)
    _aligned: set[int] = field(default_factory=set)
    _last_ms: int = MIN_WATERMARK
    _seqs: list[Longs] = field(default_factory=list)
    _marks: list[Longs] = field(default_factory=list)

    def follow(self) -> Timeline:
        """Its watermark."""
        self._counts = {
            at for at, channel in enumerate(self.channels) if all(first != MIN_WATERMARK for first, _ in channel.idle)
        }
        behind = () if self.before is None else self.before.behind
        self._aligned = self._counts - set(behind)
        starts = [self.channels[at].line.start_ms for at in self._aligned]
        self._last_ms = min(starts, default=MIN_WATERMARK) if self.before is None else self.before.mark_ms
        start_ms, done = self._last_ms, MIN_WATERMARK
        for seq, what, at in self._turns():
            self._watermarks(done, seq if what == _COUNTS else seq + 1)
            done = seq if what == _COUNTS else seq + 1
            if what == _COUNTS:
                self._counts.add(at)
                if self._mark_ms(at, seq) >= self._last_ms:
                    self._aligned.add(at)
            else:
                self._becomes_idle(at, seq)
        self._watermarks(done, MAX_WATERMARK)
        nothing = np.zeros(0, np.int64)
        seqs, marks = np.concatenate([nothing, *self._seqs]), np.concatenate([nothing, *self._marks])
        # Changes at one event take effect together.
        is_last = np.searchsorted(seqs, seqs, side="right") - 1 == np.arange(len(seqs))
        return _rising(start_ms, seqs[is_last], marks[is_last])

    @property
    def behind(self) -> tuple[int, ...]:
        """The active channels that have not caught up."""
        return tuple(sorted(self._counts - self._aligned))

    def _turns(self) -> list[tuple[int, int, int]]:
        turns = [
            (seq, what, at)
            for at, channel in enumerate(self.channels)
            for stretch in channel.idle
            for seq, what in zip(stretch, (_IS_IDLE, _COUNTS), strict=True)
        ]
        return sorted(turn for turn in turns if MIN_WATERMARK < turn[0] < MAX_WATERMARK)

    def _mark_ms(self, at: int, before_seq: int) -> int:
        return int(self.channels[at].line.before(np.array([before_seq]))[0])

    def _becomes_idle(self, at: int, seq: int) -> None:
        mark_ms = self._mark_ms(at, seq + 1)
        self._counts.discard(at)
        self._aligned.discard(at)
        if mark_ms != self._last_ms:
            # Flink 2.3 recomputes the watermark only if this channel held it back.
            return
        if not self._counts:
            self._emit(seq, max(self._mark_ms(index, seq + 1) for index in range(len(self.channels))))
        elif self._aligned:
            self._emit(seq, min(self._mark_ms(index, seq + 1) for index in self._aligned))

    def _emit(self, seq: int, mark_ms: int) -> None:
        if mark_ms > self._last_ms:
            self._last_ms = mark_ms
            self._seqs.append(np.array([seq], np.int64))
            self._marks.append(np.array([mark_ms], np.int64))

    def _watermarks(self, first: int, until: int) -> None:
        """The watermarks that arrive at the events [first, until)."""
        rises = {at: _within(self.channels[at].line, first, until) for at in self._counts}
        seqs = np.unique(np.concatenate([np.zeros(0, np.int64), *(line.seqs for line in rises.values())]))
        while len(seqs):
            lowest = np.full(len(seqs), self._last_ms)
            if self._aligned:
                lowest = _lowest([self.channels[at].line for at in sorted(self._aligned)], seqs)
            after = np.maximum.accumulate(np.maximum(lowest, self._last_ms))
            before = np.concatenate(([np.int64(self._last_ms)], after[:-1]))
            # The channel that first catches up with the others counts from there on.
            caught = len(seqs)
            places = {}
            for at in self._counts - self._aligned:
                own = _within(rises[at], int(seqs[0]), until)
                own_places = np.searchsorted(seqs, own.seqs)
                reached = np.flatnonzero(own.marks >= before[own_places])
                if len(reached):
                    places[at] = int(own_places[reached[0]])
                    caught = min(caught, places[at])
            self._seqs.append(seqs[:caught])
            self._marks.append(after[:caught])
            self._last_ms = int(after[caught - 1]) if caught else self._last_ms
            self._aligned |= {at for at, place in places.items() if place == caught}
            seqs = seqs[caught:]


def _within(line: Timeline, first: int, until: int) -> Timeline:
    low, high = np.searchsorted(line.seqs, [first, until], side="left")
    return Timeline(line.start_ms, line.seqs[low:high], line.marks[low:high])


def _lowest(lines: Sequence[Timeline], seqs: Longs) -> Longs:
    """The lowest of some watermarks after each of these events."""
    lowest: Longs = np.minimum.reduce([line.before(seqs + 1) for line in lines])
    return lowest


def _rising(start_ms: int, seqs: Longs, marks: Longs) -> Timeline:
    rises = np.diff(marks, prepend=np.int64(start_ms)) != 0 if len(marks) else np.zeros(0, dtype=bool)
    return Timeline(start_ms, seqs[rises], marks[rises])


def _both(one: Stretches, other: Stretches) -> Stretches:
    """When both are idle."""
    return [
        (max(first, begins), min(until, ends))
        for first, until in one
        for begins, ends in other
        if max(first, begins) < min(until, ends)
    ]


def shifted(line: Timeline, by_ms: int) -> Timeline:
    """The line, shifted by `by_ms`; MIN and MAX watermarks are unchanged."""
    if by_ms == 0:
        return line
    marks = np.where(line.marks == MAX_WATERMARK, MAX_WATERMARK, line.marks + by_ms)
    start = line.start_ms if line.start_ms in (MIN_WATERMARK, MAX_WATERMARK) else line.start_ms + by_ms
    return Timeline(start, line.seqs, marks)
