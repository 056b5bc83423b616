"""Time zones: what clocks show in one at an instant, and when they show it.

    instants   |---------|=========|---------|      one hour is shown twice: clocks are set back
    local      |---------|=========|
                         |=========|---------|

Times: ms; of instants since 1970 in UTC, of local times as if they were in UTC. A local time that clocks skip is read
with the offset before the change, so it is later; one that they show twice is the earlier of both, as in Java.
Source: java.time.LocalDateTime.atZone, Flink TimeWindowUtil.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from difflib import get_close_matches
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Clock, Longs, Timeline

_OFFSET: Final = re.compile(r"GMT([+-])(?:(\d|1[0-8])|(0\d|1[0-8])(?::?([0-5]\d))?)")
# Changes are searched for from week to week; none is undone within one. Rules of the future go on until 2400.
_FIRST: Final = datetime(1840, 1, 1, tzinfo=UTC)
_WEEKS: Final = 29_220
_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True)
class Zone:
    """A time zone. changes: the instants at which its offset changes. offsets: before the first, then after each."""

    name: str
    changes: Longs = field(compare=False, repr=False)
    offsets: Longs = field(compare=False, repr=False)

    def local_ms(self, instants: Longs) -> Longs:
        """What clocks show at these instants."""
        return instants + self.offsets[np.searchsorted(self.changes, instants, side="right")]

    def instants_ms(self, local: Longs) -> Longs:
        """The instants at which clocks show these local times."""
        return local - self.offsets[np.searchsorted(self._in_local(np.maximum), local, side="right")]

    def timers_ms(self, local: Longs) -> Longs:
        """The instants at which these local times are over for good: the later one if clocks show them twice.

        A time that clocks skip is over when they skip it.
        """
        after = np.searchsorted(self._in_local(np.minimum), local, side="right")
        skipped = after != np.searchsorted(self._in_local(np.maximum), local, side="right")
        skipped &= np.append(0, np.diff(self.offsets))[after] > 0
        at = local - self.offsets[after]
        return np.where(skipped, self.changes[after - 1], at) if skipped.any() else at

    def reached_ms(self, watermarks: Longs) -> Longs:
        """The last local time that is over for good at these watermarks, of which the first and last stay."""
        place = np.searchsorted(self.changes, watermarks, side="right")
        local = watermarks + self.offsets[place]
        # What will be shown again is not over.
        again = np.append(self._in_local(np.minimum), MAX_WATERMARK)
        is_again = (local >= again[place]) & (np.append(np.diff(self.offsets), 0)[place] < 0)
        local = np.where(is_again, again[place] - 1, local)
        is_bound = (watermarks == MIN_WATERMARK) | (watermarks == MAX_WATERMARK)
        return np.where(is_bound, watermarks, local)

    def local_sql(self, instant: str) -> str:
        """A TIMESTAMP_LTZ in Spark SQL, whose session is in UTC, as a local TIMESTAMP."""
        return f"convert_timezone('UTC', '{self.name}', CAST({instant} AS TIMESTAMP_NTZ))"

    def instant_sql(self, local: str) -> str:
        """A local TIMESTAMP in Spark SQL as a TIMESTAMP_LTZ."""
        return f"CAST(convert_timezone('{self.name}', 'UTC', {local}) AS TIMESTAMP)"

    def windows_ms(self, starts: Longs, ends: Longs) -> tuple[Longs, Longs]:
        """The instants [start, end) of these windows of local time: some last 23 or 25 hours."""
        return self.instants_ms(starts), self.timers_ms(ends - 1) + 1

    def text(self, micros: int, *, is_instant: bool) -> str:
        """A time as ISO 8601, with milliseconds at least: an instant as clocks show it, with their offset."""
        away_ms = int(self.offsets[np.searchsorted(self.changes, micros // 1000, side="right")]) if is_instant else 0
        local = _EPOCH.replace(tzinfo=None) + timedelta(microseconds=micros + away_ms * 1000)
        text = local.isoformat(timespec="microseconds" if micros % 1000 else "milliseconds")
        hours, minutes = divmod(abs(away_ms) // 60_000, 60)
        return f"{text}{'-' if away_ms < 0 else '+'}{hours:02d}:{minutes:02d}" if is_instant else text

    def shown(self, instant: datetime) -> datetime:
        """An instant as clocks show it, with their offset. instant: in UTC."""
        at = np.searchsorted(self.changes, (instant - _EPOCH) // timedelta(milliseconds=1), side="right")
        return instant.astimezone(timezone(timedelta(milliseconds=int(self.offsets[at]))))

    def is_twice(self, local_ms: int) -> bool:
        """Whether clocks show this local time twice."""
        local = np.array([local_ms])
        return bool(self.instants_ms(local)[0] < self.timers_ms(local)[0])

    def timeline(self, line: Timeline) -> Timeline:
        """A watermark in local time: a step reaches the times that are over for good."""
        start_ms = int(self.reached_ms(np.array([line.start_ms]))[0])
        return Timeline.rising(line.seqs, self.reached_ms(line.marks), start_ms)

    def clock(self, clock: Clock) -> Clock:
        """The same of a clock that is asked for single times."""
        return _LocalClock(self, clock)

    def _in_local(self, choose: np.ufunc) -> Longs:
        """The local times from which on each change has happened, if those that are shown twice or skipped go by."""
        local: Longs = self.changes + choose(self.offsets[:-1], self.offsets[1:])
        return local


@dataclass(frozen=True)
class _LocalClock:
    zone: Zone
    clock: Clock

    def due(self, time_ms: int, after_seq: int) -> int | None:
        """The event at which a local time is over for good."""
        if time_ms not in (MIN_WATERMARK, MAX_WATERMARK):
            time_ms = int(self.zone.timers_ms(np.array([time_ms]))[0])
        return self.clock.due(time_ms, after_seq)

    def at(self, seq: int) -> int:
        """The watermark after an event, in local time."""
        return int(self.zone.reached_ms(np.array([self.clock.at(seq)]))[0])


def zone_named(name: str) -> Zone | None:
    """The zone of a name, or None for UTC. Raises ValueError with a sentence that has the most similar name."""
    name = name.strip()
    if is_utc(name):
        return None
    if (offset := _OFFSET.fullmatch(name)) is not None:
        away = (int(offset[2] or offset[3]) * 60 + int(offset[4] or 0)) * 60_000
        return Zone(name, np.zeros(0, np.int64), np.array([-away if offset[1] == "-" else away]))
    if name in zone_names():
        return _from_database(name)
    by_lower = {zone_name.lower(): zone_name for zone_name in zone_names()} | {
        zone_name.rpartition("/")[2].lower(): zone_name for zone_name in sorted(zone_names())
    }
    near = get_close_matches(name.lower(), by_lower, 1, 0.5)
    hint = f"Did you mean {by_lower[near[0]]}? " if near else ""
    message = (
        f"{name!r} is no time zone. {hint}A zone is UTC, a name of the time zone database such as Europe/Berlin, or "
        "an offset such as GMT+02:00"
    )
    raise ValueError(message)


def is_utc(name: str) -> bool:
    """Whether it is a name of UTC."""
    return name.strip().upper() in _UTC


_UTC: Final = ("UTC", "GMT", "ETC/UTC", "ETC/GMT", "GMT+00:00", "GMT-00:00", "UCT", "ZULU", "DEFAULT")


@cache
def zone_names() -> frozenset[str]:
    """The names of the time zone database that Flink takes, too."""
    return frozenset(available_timezones() - {"localtime", "Factory", "EST", "MST", "HST"})


@cache
def _from_database(name: str) -> Zone:
    zone = ZoneInfo(name)

    def offset(at: datetime) -> timedelta:
        utc_offset = at.astimezone(zone).utcoffset()
        assert utc_offset is not None
        return utc_offset

    changes, offsets = list[int](), [_ms(offset(_FIRST))]
    at, before = _FIRST, offset(_FIRST)
    for _ in range(_WEEKS):
        after = offset(at + _WEEK)
        if after != before:
            low, high = at, at + _WEEK
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
                low, high = (middle, high) if offset(middle) == before else (low, middle)
            changes.append(_ms(high - _EPOCH))
            offsets.append(_ms(after))
        at, before = at + _WEEK, after
    return Zone(name, np.array(changes, np.int64), np.array(offsets, np.int64))


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _ms(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)
