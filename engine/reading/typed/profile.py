"""Findings about the columns at the beginning of a file, for users: each type with its reason, and the event time.

    ordered_at   timestamp_ntz   2,018 of 2,021 are times, such as 2024-05-01 10:00:00; 3 are not, such as "n/a"
    ts           bigint          all 2,021 are integers; they count milliseconds since 1970
    Zeit         string          all 2,021 are times as dd.MM.yyyy HH:mm:ss, which a computed column reads
    Preis        string          all 2,021 are numbers with a decimal comma, which a computed column can read

If almost all values of a column have one type, that type is proposed: the remaining values are then rejected, as the
alternative is a column of texts. The watermark delay is derived from the disorder of the times.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from math import ceil
from typing import Final

import pyarrow as pa

from engine.contract.source import ComputedColumn
from engine.expressions.flink_sql import flink
from engine.model.schema import Column, TimeUnit
from engine.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Timestamp,
    Type,
    literal,
    quote,
)
from engine.reading.files.csv_sample import Dialect, header_of, records_of_file, renamed_columns
from engine.reading.files.input_files import InputFile
from engine.reading.typed.casts import cut_of
from engine.reading.typed.inference import infer_text, kind_of_text
from engine.reading.typed.number_texts import writing_of
from engine.reading.typed.time_patterns import milliseconds, pattern_of

ROWS: Final = 20_000
"""The number of rows in the profile."""
_ALMOST_ALL: Final = 0.95
_ENOUGH: Final = 20
_KEPT: Final = 0.99
_PLURAL: Final[dict[Type, str]] = {
    BIGINT: "integers",
    DOUBLE: "numbers",
    BOOLEAN: "true or false",
    DATE: "dates",
    TIMESTAMP_NTZ: "times without a zone",
    TIMESTAMP: "times with a zone",
    STRING: "texts",
}
# Years 2000 to 2100, in seconds.
_PLAUSIBLE_S: Final = (946_684_800, 4_102_444_800)
_UNITS: Final = {"s": 1, "ms": 1000, "us": 1_000_000}
_TO_MS: Final = {"s": " * 1000", "ms": "", "us": " / 1000"}
_COUNTED: Final = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}
_TIME_ENDINGS: Final = ("time", "timestamp", "date", "_at", "_ts", "epoch", "rowtime")
_DAY_MS: Final = 86_400_000
_DELAYS_MS: Final = (0, 1) + tuple(
    1000 * delay for delay in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400)
)


@dataclass(frozen=True)
class ColumnProfile:
    """One column. type: read by default; proposed: the better type; why: the reason in words.

    unit: the unit of numbers since 1970, if they look like times. pattern: of texts that are times (TO_TIMESTAMP).
    number: Flink SQL that reads texts as numbers. note: why the name differs from the file's, or "".
    is_unique: whether no two of enough rows have the same value.
    """

    name: str
    type: Type
    proposed: Type
    why: str
    unit: str | None = None
    pattern: str | None = None
    number: str | None = None
    note: str = ""
    is_unique: bool = False

    @property
    def is_time(self) -> bool:
        """Whether the column with its proposed type, or what is computed from it, can be an event time."""
        return self.unit is not None or self.is_moment

    @property
    def is_moment(self) -> bool:
        """Whether its values are written as times, and are no numbers that may count from 1970."""
        return self.pattern is not None or isinstance(self.proposed, Timestamp) or self.proposed == DATE

    @property
    def is_day(self) -> bool:
        """Whether its values are days without a time of day."""
        return self.proposed == DATE or (self.pattern is not None and "mm" not in self.pattern)


@dataclass(frozen=True)
class TimeProposal:
    """An event time with its watermark. parameters: of the source; why: the reason in words."""

    column: str
    parameters: dict[str, object] = field(hash=False)
    why: str = ""


@lru_cache(maxsize=32)
def profile_of(
    files: tuple[InputFile, ...], dialect: Dialect, node: str
) -> tuple[tuple[ColumnProfile, ...], tuple[TimeProposal, ...]]:
    """The columns of CSV files, and proposals for those that can be the event time. Raises SourceError."""
    rows: list[list[str]] = []
    header: list[str] = []
    for file in files:
        header = header or header_of(file, dialect, node)
        rows.extend(islice(records_of_file(file, dialect, node), ROWS - len(rows)))
    width = len(dialect.names or header) or max(map(len, rows), default=0)
    fitting = [row for row in rows if len(row) == width]
    notes = renamed_columns(header) if not dialect.names else {}
    names = dialect.names or dialect.named(header) or tuple(f"column{at}" for at in range(1, width + 1))
    nulls = ("", dialect.null_text)
    texts = [[None if row[at].strip() in nulls else row[at].strip() for row in fitting] for at in range(len(names))]
    sampled = [Column(name, infer_text(held[: dialect.sample_rows])) for name, held in zip(names, texts, strict=True)]
    return profile_columns(sampled, texts, notes)


def profile_columns(
    columns: Sequence[Column],
    texts: Sequence[Sequence[str | None]],
    notes: Mapping[str, str],
    expressions: Mapping[str, ComputedColumn] | None = None,
) -> tuple[tuple[ColumnProfile, ...], tuple[TimeProposal, ...]]:
    """Profiles of columns of texts. columns: with the types as read; texts: by column, None for null.

    notes: by column, why its name differs from the origin's. expressions: of what is no column of the origin, such as a
    field of a ROW: it is only proposed as the event time.
    """
    profiles, proposals = [], []
    for column, held in zip(columns, texts, strict=True):
        profile = _profile(column.name, column.type, held, notes.get(column.name, ""))
        profiles.append(profile)
        computed = (expressions or {}).get(column.name)
        if profile.is_time and (proposal := _proposal(profile, held, computed)) is not None:
            proposals.append(proposal)
    origin_profiles = [profile for profile in profiles if profile.name not in (expressions or {})]
    return tuple(origin_profiles), tuple(sorted(proposals, key=lambda each: _rank(each.column, profiles)))


def _profile(name: str, type_: Type, texts: Sequence[str | None], note: str) -> ColumnProfile:
    values = [text for text in texts if text is not None]
    kinds = Counter(map(kind_of_text, values))
    missing = len(texts) - len(values)
    beside = f"; {missing:,} empty" if missing else ""
    if not values:
        return ColumnProfile(name, type_, type_, "no value", note=note)
    proposed, fit = type_, len(values)
    for kind, parts in _WIDER.items():
        count = sum(kinds[part] for part in parts)
        if type_ == STRING and kinds[kind] and _ALMOST_ALL * len(values) <= count < len(values):
            proposed, fit = kind, count
            break
    # A type from the first rows, or of the user.
    if type_ in (BIGINT, DOUBLE, BOOLEAN):
        fit = sum(kinds[part] for part in _WIDER[type_]) or fit
    is_cut = cut_of(pa.array(values), proposed)
    cut = 0 if is_cut is None else is_cut.true_count
    beside += f"; {cut:,} {'has' if cut == 1 else 'have'} nanoseconds, which are cut off" if cut else ""
    beside += f" (of the first {ROWS:,} rows)" if len(texts) >= ROWS else ""
    is_unique = len(values) >= _ENOUGH and len(set(values)) == len(values)
    if fit < len(values):
        odd = next(text for text in values if kind_of_text(text) not in _WIDER[proposed])
        rest = len(values) - fit
        others = f"{rest:,} {'is' if rest == 1 else 'are'} not"
        said = f'{fit:,} of {len(values):,} are {_PLURAL[proposed]}; {others}, such as "{odd[:40]}"'
        return ColumnProfile(name, type_, proposed, said + beside, note=note, is_unique=is_unique)
    unit = _unit_of(name, values) if type_ in (BIGINT, DOUBLE) else None
    least = ceil(_ALMOST_ALL * len(values))
    pattern = pattern_of(values, least) if type_ == STRING else None
    writing = writing_of(values, least) if type_ == STRING and pattern is None else None
    said = f"all {len(values):,} are {_plural(type_)}" if type_ != STRING else f'such as "{values[0][:40]}"'
    if unit is not None:
        said += f", {_COUNTED[unit]} since 1970"
    if pattern is not None:
        said = _share(sum(milliseconds(value, pattern) is not None for value in values), values, f"times as {pattern}")
    if writing is not None:
        said = _share(writing.count(values), values, writing.words)
    number = writing and writing.number.format(quote(name))
    return ColumnProfile(name, type_, type_, said + beside, unit, pattern, number, note, is_unique)


def _share(count: int, values: Sequence[str], words: str) -> str:
    return f"{'all' if count == len(values) else f'{count:,} of'} {len(values):,} are {words}"


_WIDER: Final[dict[Type, tuple[Type, ...]]] = {
    BIGINT: (BIGINT,),
    DOUBLE: (DOUBLE, BIGINT),
    DATE: (DATE,),
    TIMESTAMP: (TIMESTAMP, TIMESTAMP_NTZ, DATE),
    TIMESTAMP_NTZ: (TIMESTAMP_NTZ, DATE),
    BOOLEAN: (BOOLEAN,),
}


def _unit_of(name: str, values: Iterable[str]) -> str | None:
    """The unit of numbers, if all are plausible times; with few digits only if the name suggests a time, too."""
    numbers = [float(value) for value in values]
    low, high = _PLAUSIBLE_S
    for unit, factor in _UNITS.items():
        if all(low * factor <= number < high * factor for number in numbers):
            return unit if unit != "s" or _is_named_as_time(name) else None
    return None


def _is_named_as_time(name: str) -> bool:
    lower = name.lower().strip()
    return lower in ("ts", "t", "at") or lower.endswith(_TIME_ENDINGS) or lower.startswith(("time", "date"))


def _plural(type_: Type) -> str:
    if type_.is_nested:
        return "lists" if isinstance(type_, Array) else "objects"
    return _PLURAL.get(type_, type_.flink)


def _rank(name: str, columns: Sequence[ColumnProfile]) -> tuple[bool, bool, bool, int]:
    column = next(profile for profile in columns if profile.name == name)
    place = [profile.name for profile in columns].index(name)
    return column.is_day, not _is_named_as_time(name), not column.is_moment, place


def _proposal(
    column: ColumnProfile, texts: Iterable[str | None], computed: ComputedColumn | None
) -> TimeProposal | None:
    times = [ms for text in texts if text is not None and (ms := _milliseconds(text, column)) is not None]
    if not times:
        return None
    delay, why = delay_of(times)
    if column.is_day and delay > 2 * _DAY_MS:  # Days of birth, say, or the newest first.
        return None
    name, value = (column.name, quote(column.name)) if computed is None else (computed.name, computed.expression)
    moment = _moment(column, value)
    parameters: dict[str, object] = {"watermark_delay_ms": delay}
    if moment is not None:
        name = f"{name}_time"
    elif column.unit == "s":
        parameters["event_time_unit"] = TimeUnit.EPOCH_S.value
    if moment is not None or computed is not None:
        parameters["computed"] = [{"name": name, "expression": flink(moment or value)}]
    parameters["event_time"] = name
    if column.proposed != column.type and computed is None:
        parameters["types"] = {column.name: column.proposed.flink}
    return TimeProposal(column.name, parameters, why)


def _moment(column: ColumnProfile, value: str) -> str | None:
    """The time of a value in Flink SQL, if it has to be computed."""
    if column.pattern is not None:
        return f"TO_TIMESTAMP({value}, {literal(column.pattern)})"
    if column.proposed == DATE:
        return f"CAST({value} AS TIMESTAMP(3))"
    if column.unit is not None and column.type == DOUBLE:
        return f"TO_TIMESTAMP_LTZ(CAST(ROUND({value}{_TO_MS[column.unit]}) AS BIGINT), 3)"
    return f"TO_TIMESTAMP_LTZ({value}, 6)" if column.unit == "us" else None


def delay_of(times_ms: Sequence[int]) -> tuple[int, str]:
    """The shortest usual delay in ms with which 99 % of the records are in time for any operator, and a sentence on it.

    An operator that is as strict as possible, such as an OVER aggregate, drops a record whose time the watermark has
    reached. So a record of the same time as an earlier one needs a delay of 1 ms.
    """
    needed, top = [], times_ms[0] - 1
    for time in times_ms:
        needed.append(max(0, top - time + 1))
        top = max(top, time)
    needed.sort()
    wanted = needed[min(len(needed) - 1, int(_KEPT * len(needed)))]
    at = bisect_left(_DELAYS_MS, wanted)
    delay = _DELAYS_MS[at] if at < len(_DELAYS_MS) else -(-wanted // _DAY_MS) * _DAY_MS
    in_time = sum(lag <= delay for lag in needed)
    if not needed[-1]:
        return 0, f"each of the first {len(needed):,} records is later than the one before"
    share = f"{100 * in_time / len(needed):.4g} %" if in_time < len(needed) else "all"
    last = f"the last is {_length(needed[-1] - 1)} behind" if needed[-1] > 1 else "some have the same time"
    return delay, f"keeps {share} of the first {len(needed):,} records; {last}"


def _length(ms: int) -> str:
    for unit, size in (("days", _DAY_MS), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms >= 2 * size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms} ms"


def _milliseconds(text: str, column: ColumnProfile) -> int | None:
    from engine.reading.typed.casts import moment_of

    if column.unit is not None:
        return round(float(text) * 1000 / _UNITS[column.unit])
    if column.pattern is not None:
        return milliseconds(text, column.pattern)
    micros = moment_of(text)
    return None if micros is None else micros // 1000
