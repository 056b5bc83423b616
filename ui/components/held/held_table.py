"""The operators of a run with what they hold, how it grows, and what that means in a day and in a month."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from engine.model.zones import Zone
from storage.event_time.held_states import HeldState, LargeKey
from ui.components.grid import Cell, Row, Table
from ui.shell import words

_DAY: Final = 24
_MONTH: Final = 24 * 30
_ONE: Final = {"rows": "row", "accumulators": "accumulator", "values": "value"}


def held_table(states: Sequence[HeldState], chosen: str, freed: Mapping[str, str]) -> Table:
    """One line per operator. freed: what frees its state, in words."""
    columns = ("operator", "holds now", "keys", "size", "most so far", "expired", "grows per hour", "what frees it")
    rows = []
    for state in states:
        last, most = state.last, state.most
        rows.append(
            Row(
                (
                    Cell(state.node, is_strong=True),
                    Cell(held_in_words(last.entries)),
                    Cell(f"{last.keys:,}", is_number=True),
                    Cell(words.size(last.size), is_number=True),
                    Cell(f"{most.total:,}", note=f"after event {most.seq:,}", is_number=True),
                    Cell(f"{last.expired:,}", is_number=True),
                    Cell(_per(state.growth_per_hour(), 1), is_number=True),
                    Cell(freed.get(state.node, ""), is_prose=True),
                ),
                pick=state.node,
                is_current=state.node == chosen,
            )
        )
    return Table(columns, rows, frozenset({"keys", "size", "most so far", "expired", "grows per hour"}))


def growth_sentences(state: HeldState, zone: Zone | None = None) -> Iterator[str]:
    """What the growth of a state means in a day and in a month, in Markdown."""
    rate, free = state.growth_per_hour(), state.growth_per_hour(with_expired=True)
    last = state.last
    if rate is None or free is None:
        yield _still(state, zone)
        return
    entry = last.size / last.total if last.total else 0.0
    if last.expired:
        most, entries = state.most, words.count(state.most.total, "entry", "entries")
        yield (
            f"**With its TTL** it holds what was written within one TTL: **{entries}** at most so far "
            f"({words.size(round(most.total * entry))}), after event {most.seq:,}."
        )
        yield (
            f"**Without a TTL** it would grow by up to **{_per(free, 1)}** an hour: in a day by "
            f"{_grown(free, entry, _DAY)}, in a month by {_grown(free, entry, _MONTH)}, if no key returned."
        )
    elif rate > 0:
        yield (
            f"It grows by **{_per(rate, 1)}** entries an hour: in a day by **{_grown(rate, entry, _DAY)}**, in a month "
            f"by **{_grown(rate, entry, _MONTH)}**, if the second half of this run goes on like that."
        )
    else:
        yield "It did not grow in the second half of this run."


def _still(state: HeldState, zone: Zone | None) -> str:
    """Why its growth is not known, in Markdown: the clock is not ahead of where it was in the middle of the run."""
    stood = "The recorded clock stood still"
    unknown = "how fast the state grows is not known"
    last_ms = state.last.clock_ms
    if last_ms is None:
        return f"{stood} (no source has an event time): {unknown}."
    since = next(point for point in state.points if point.clock_ms == last_ms)
    return (
        f"**{stood} after event {since.seq:,}**, at {words.moment(last_ms, zone)}: {unknown}. It is the largest "
        "event time so far, so sources that are read one after the other move it only once. Where they are merged by "
        "event time, it moves all the time."
    )


def held_in_words(entries: Mapping[str, int]) -> str:
    """What a state holds: `2 left rows, 1 right row`."""
    return ", ".join(of_kind(number, kind) for kind, number in entries.items() if number) or "nothing"


def of_kind(number: int, kinds: str) -> str:
    """A number of entries with what they are: `1 accumulator`, `2 rows in the frame`; of several kinds, their names."""
    if ", " in kinds:
        return f"{words.count(number, 'entry', 'entries')} ({kinds})"
    named = kinds if number != 1 else " ".join(_ONE.get(word, word) for word in kinds.split(" "))
    return f"{number:,} {named}"


def largest_table(keys: Sequence[LargeKey]) -> Table:
    """The keys with the most entries."""
    rows = [Row((Cell(_key(large_key.key)), Cell(f"{large_key.entries:,}", is_number=True))) for large_key in keys]
    return Table(("key", "entries"), rows, frozenset({"entries"}))


def _key(text: str) -> str:
    return text.removeprefix("[").removesuffix("]") or "the only key"


def _per(rate: float | None, hours: int) -> str:
    if rate is None:
        return ""
    return f"{rate * hours:+,.0f}" if abs(rate * hours) >= 10 or not rate else f"{rate * hours:+,.1f}"


def _grown(rate: float, entry: float, hours: int) -> str:
    size = f" ({words.size(round(rate * hours * entry))})" if rate > 0 and entry else ""
    return f"{_per(rate, hours)} entries{size}"
