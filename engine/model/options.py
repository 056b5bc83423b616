"""The options of a pipeline: Flink's options that change a changelog, under their names in Flink.

This is the only list of them, with their form texts and allowed values. Flink's other options (memory, networks,
parallelism, clean-up of state) are accepted by name and have no effect; for a few, only one value matches the studio.
Source: Flink ExecutionConfigOptions, OptimizerConfigOptions, TableConfigOptions, PipelineOptions, ExecutionOptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from engine.errors import PipelineError, available
from engine.model.zones import Zone, zone_named

_DURATION: Final = re.compile(r"(\d{1,20})\s*([a-zµ]*)", re.ASCII)
_UNITS_MS: Final = {
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
# An epoch time in ms and such a duration are together still a BIGINT.
_LONGEST_MS: Final = (1 << 60) - 1


class ValueKind(Enum):
    """The kind of an option's value, as error messages name it."""

    SWITCH = "true or false"
    NUMBER = "a number of records, -1 where there is no limit"
    TIME = "a time such as 5 s"
    PHASES = "AUTO, ONE_PHASE or TWO_PHASE"
    CLOCK = "AUTO, EVENT_TIME, ARRIVAL_COLUMN or NONE"
    ZONE = "a time zone such as UTC, Europe/Berlin or GMT+02:00"
    OUTPUTS = "names of nodes, or NODE.PORT, separated by commas; empty for all"
    ONE_IN = "a number from 1 (all keys) to 1000000"


@dataclass(frozen=True)
class Option:
    """One option. name: Flink's. title, description: of its field in a form."""

    name: str
    title: str
    description: str
    value: ValueKind
    default: str


MINI_BATCH: Final = Option(
    "table.exec.mini-batch.enabled",
    "Mini-batch",
    "Fold the records of a bundle first, so that each key emits once per bundle.",
    ValueKind.SWITCH,
    "false",
)
BUNDLE_SIZE: Final = Option(
    "table.exec.mini-batch.size",
    "Bundle size",
    "The number of records after which a bundle ends.",
    ValueKind.NUMBER,
    "-1",
)
LATENCY: Final = Option(
    "table.exec.mini-batch.allow-latency",
    "Allowed latency",
    "Flink also ends a bundle after this time. Here no real time passes; watermarks advance in steps of this length.",
    ValueKind.TIME,
    "0 ms",
)
COMPACT: Final = Option(
    "table.exec.deduplicate.mini-batch.compact-changes-enabled",
    "Compact the changes of a bundle",
    "Deduplication by event time emits only the last change of a key in a bundle.",
    ValueKind.SWITCH,
    "false",
)
PHASES: Final = Option(
    "table.optimizer.agg-phase-strategy",
    "Aggregation in phases",
    "Whether a bundle is first folded per key, before the bundles that emit are counted.",
    ValueKind.PHASES,
    "AUTO",
)
STATE_TTL: Final = Option(
    "table.exec.state.ttl",
    "State TTL",
    "Above zero, an entry of state goes this long after its last write, by the clock of the run, and operators also "
    "emit results that did not change. The plan says of each operator whether it obeys. 0: state never goes.",
    ValueKind.TIME,
    "0 ms",
)
CLOCK: Final = Option(
    "changelog-studio.clock",
    "Clock of the state TTL",
    "EVENT_TIME: as if each record had come at its event time; the clock is the largest of all sources so far. "
    "AUTO: the same for a bounded run; a live run goes by the time at which each epoch was decided, which is kept with "
    "it. ARRIVAL_COLUMN: the clock is the largest time so far in the arrival columns of the sources. NONE: nothing "
    "expires. Not an option of Flink, which reads the clock of the machine.",
    ValueKind.CLOCK,
    "AUTO",
)
SENSITIVE: Final = Option(
    "table.exec.deduplicate.insert-update-after-sensitive-enabled",
    "Tell +I from +U",
    "Off: deduplication emits the first row of a key as +U where no consumer needs -U.",
    ValueKind.SWITCH,
    "true",
)
DUPLICATES: Final = Option(
    "table.exec.source.cdc-events-duplicate",
    "The source may repeat events",
    "A changelog with a primary key is normalised, so that an event that arrives twice counts once.",
    ValueKind.SWITCH,
    "false",
)
CLEAN_UP: Final = Option(
    "table.exec.interval-join.min-cleanup-interval",
    "Clean-up of interval joins",
    "Interval joins keep rows for this much longer in event time, so they also pad them later.",
    ValueKind.TIME,
    "0 ms",
)
ZONE: Final = Option(
    "table.local-time-zone",
    "Time zone",
    "The zone in which a TIMESTAMP_LTZ is shown, converted and cut off, and whose days and hours its windows have: a "
    "name such as Europe/Berlin, or an offset such as GMT+02:00.",
    ValueKind.ZONE,
    "UTC",
)
IDLE_TIMEOUT: Final = Option(
    "table.exec.source.idle-timeout",
    "Idle timeout",
    "In a live run, a source without records for this long no longer holds back the watermark, until its next record. "
    "0: it always does.",
    ValueKind.TIME,
    "0 ms",
)
RETRACTION: Final = Option(
    "changelog-studio.retraction",
    "Retraction",
    "Off: nothing is ever retracted, which gives wrong results. Shows what retraction is for. Not an option of Flink.",
    ValueKind.SWITCH,
    "true",
)
KEEP_EDGES: Final = Option(
    "changelog-studio.keep.edges",
    "Keep only the records of",
    "The outputs whose records a run keeps in the store; empty: all. Nothing else changes: all nodes run, and their "
    "counts, watermarks and late records are kept. Pages that need other records say so. Not an option of Flink.",
    ValueKind.OUTPUTS,
    "",
)
KEEP_KEYS: Final = Option(
    "changelog-studio.keep.keys",
    "Keep one key in",
    "1: the records of all keys are kept. 100: all records of one key in a hundred, chosen by a hash of the key, so "
    "that what became of such a key is there from its source to the result. Not an option of Flink.",
    ValueKind.ONE_IN,
    "1",
)
OPTIONS: Final = {
    option.name: option
    for option in (
        MINI_BATCH,
        BUNDLE_SIZE,
        LATENCY,
        COMPACT,
        PHASES,
        STATE_TTL,
        CLOCK,
        ZONE,
        SENSITIVE,
        DUPLICATES,
        CLEAN_UP,
        IDLE_TIMEOUT,
        RETRACTION,
        KEEP_EDGES,
        KEEP_KEYS,
    )
}
# By name, the values that match the studio's behaviour. Any other would change results, which is not supported.
_ONLY: Final[Mapping[str, tuple[str, ...]]] = {
    "execution.runtime-mode": ("streaming", "automatic"),
    "table.exec.legacy-cast-behaviour": ("disabled",),
    "table.exec.sink.not-null-enforcer": ("error",),
    "table.exec.sink.nested-constraint-enforcer": ("ignore",),
    "table.exec.sink.type-length-enforcer": ("ignore",),
    "table.exec.sink.upsert-materialize": ("auto",),
    "table.sql-dialect": ("default",),
}
# Options of a cluster, a client or a file system: a session may set them, and they never change a result.
_OF_A_CLUSTER: Final = tuple(
    [
        "akka",
        "blob",
        "cluster",
        "env",
        "fs",
        "heartbeat",
        "high-availability",
        "historyserver",
        "io",
        "jobmanager",
        "jobstore",
        "kubernetes",
        "metrics",
        "pekko",
        "process",
        "python",
        "queryable-state",
        "resourcemanager",
        "rest",
        "s3",
        "security",
        "slotmanager",
        "slow-task-detector",
        "sql-gateway",
        "task",
        "taskmanager",
        "user",
        "web",
        "yarn",
        "zookeeper",
    ]
)


def has_effect(name: str, text: str) -> bool:
    """Whether an option belongs to a pipeline. Raises PipelineError for an unknown name or value.

    False: an option of Flink that no result depends on.
    """
    if name in OPTIONS:
        if OPTIONS[name] is ZONE:
            _require_zone(text)
        if not _is_right(OPTIONS[name].value, text):
            message = f"options: {name} is {OPTIONS[name].value.value}, not {text!r}."
            raise PipelineError(message, "", "options")
        return True
    if name in _ONLY and text.strip().lower() not in _ONLY[name]:
        message = (
            f"options: {name} = {text!r} is not supported: it would change results. Use {_ONLY[name][0].upper()}, "
            "or leave it out."
        )
        raise PipelineError(message, "", "options")
    if name not in _flinks() and name.partition(".")[0] not in _OF_A_CLUSTER:
        near = get_close_matches(name, [*OPTIONS, *_flinks()], n=1)
        hint = f"Did you mean {near[0]}?" if near else f"{available(name, OPTIONS)}."
        message = f"options: {name!r} is not an option. {hint}"
        raise PipelineError(message, "", "options")
    return False


def is_foreign(name: str) -> bool:
    """Whether an option is neither one of Flink's nor similar to one: of a service around Flink, say."""
    names = [*OPTIONS, *_flinks()]
    return name not in names and name.partition(".")[0] not in _OF_A_CLUSTER and not get_close_matches(name, names, n=1)


@cache
def _flinks() -> frozenset[str]:
    """The names of Flink's options for a session."""
    return frozenset((Path(__file__).parent / "flink_options.txt").read_text(encoding="utf-8").split())


def check_options(options: Mapping[str, str]) -> None:
    """Raise PipelineError for an unknown option, or a value that it cannot have."""
    for name, text in options.items():
        has_effect(name, text)


def is_on(options: Mapping[str, str], option: Option) -> bool:
    """Whether a switch is on."""
    return _text(options, option) == "true"


def zone(options: Mapping[str, str]) -> Zone | None:
    """The time zone, None for UTC."""
    return zone_named(options.get(ZONE.name, ZONE.default))


def _require_zone(text: str) -> None:
    try:
        zone_named(text)
    except ValueError as error:
        message = f"options: {ZONE.name}: {error}."
        raise PipelineError(message, "", "options") from error


def records(options: Mapping[str, str], option: Option) -> int:
    """A number of records; -1 where there is no limit."""
    return int(_text(options, option))


def time_ms(options: Mapping[str, str], option: Option) -> int:
    """A time in ms."""
    duration_ms = milliseconds(_text(options, option))
    assert duration_ms is not None, "the options were checked"
    return duration_ms


def has_state_ttl(options: Mapping[str, str]) -> bool:
    """Whether a TTL is set: unchanged results are then emitted again, whether or not a clock lets state expire."""
    return time_ms(options, STATE_TTL) > 0


def state_ttl_ms(options: Mapping[str, str]) -> int:
    """How long an entry of state lives after its last write; 0 if it never expires."""
    return time_ms(options, STATE_TTL) if expires(options) else 0


def expires(options: Mapping[str, str]) -> bool:
    """Whether a clock lets state expire, where a TTL is set."""
    return _text(options, CLOCK) != "none"


def goes_by_epochs(options: Mapping[str, str]) -> bool:
    """Whether the state of a live run goes by the times of its epochs, and not by event time."""
    return _text(options, CLOCK) == "auto"


def goes_by_arrival(options: Mapping[str, str]) -> bool:
    """Whether the recorded clock goes by the arrival columns of the sources."""
    return _text(options, CLOCK) == "arrival_column"


def kept_outputs(options: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the outputs whose records are kept; () for all."""
    return tuple(name.strip() for name in options.get(KEEP_EDGES.name, "").split(",") if name.strip())


def one_key_in(options: Mapping[str, str]) -> int:
    """The records of one key in so many are kept; 1 for all."""
    return int(_text(options, KEEP_KEYS))


def keeps_less(options: Mapping[str, str]) -> bool:
    """Whether a run does not keep all records."""
    return bool(kept_outputs(options)) or one_key_in(options) > 1


def is_one_phase(options: Mapping[str, str]) -> bool:
    """Whether aggregation must not fold records before it counts them."""
    return _text(options, PHASES) == "one_phase"


def _text(options: Mapping[str, str], option: Option) -> str:
    return options.get(option.name, option.default).strip().lower()


def _is_right(value: ValueKind, text: str) -> bool:
    text = text.strip().lower()
    match value:
        case ValueKind.SWITCH:
            return text in ("true", "false")
        case ValueKind.NUMBER:
            return re.fullmatch(r"-1|[1-9]\d{0,17}", text) is not None
        case ValueKind.TIME:
            return milliseconds(text) is not None
        case ValueKind.PHASES:
            return text in ("auto", "one_phase", "two_phase")
        case ValueKind.CLOCK:
            return text in ("auto", "event_time", "arrival_column", "none")
        case ValueKind.ONE_IN:
            return re.fullmatch(r"[1-9]\d{0,5}|1000000", text) is not None
        case ValueKind.ZONE | ValueKind.OUTPUTS:
            return True


def milliseconds(text: str) -> int | None:
    """A duration as Flink writes it (5 s, 100 ms, 1 h), in ms; None for any other text, and above BIGINT.

    A duration of 2^60 ms or more, such as Flink's longest (Long.MAX), is 2^60 - 1.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS_MS:
        return None
    duration_ms = int(match[1]) * _UNITS_MS[match[2]]
    return min(duration_ms, _LONGEST_MS) if duration_ms < 1 << 63 else None
