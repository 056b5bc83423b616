"""Mini-batch: records are folded in bundles, and a key says once per bundle what they come to.

A bundle ends with every `size`-th record that reaches the operator, whatever its key; with a watermark of
one of its inputs; and with the end of the input. Its latency is a time on the wall, which never elapses
here. Watermarks pass in steps of the latency where an operator below needs event time, as Flink's mini-batch
assigner lets them; elsewhere only the end of a source ends a bundle.
Source: Flink ExecutionConfigOptions, MiniBatchIntervalInferRule, CountBundleTrigger.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.errors import PipelineError

ENABLED: Final = "table.exec.mini-batch.enabled"
SIZE: Final = "table.exec.mini-batch.size"
LATENCY: Final = "table.exec.mini-batch.allow-latency"
COMPACT: Final = "table.exec.deduplicate.mini-batch.compact-changes-enabled"
PHASES: Final = "table.optimizer.agg-phase-strategy"

_DURATION: Final = re.compile(r"(\d+)\s*([a-zµ]*)")
_UNITS_MS: Final = {
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}


@dataclass(frozen=True)
class MiniBatch:
    """The options of mini-batch where it is on. size: records of a bundle."""

    size: int
    latency_ms: int


@dataclass(frozen=True)
class Bundling:
    """How a keyed step bundles its input.

    two_phases: the records of a bundle are folded per key first, and it is these that are counted into the
    bundles by which the operator emits.
    """

    size: int
    two_phases: bool = False


def is_on(options: Mapping[str, str], name: str) -> bool:
    """Whether an option that is true or false is true; options are false by default."""
    return options.get(name, "false").strip().lower() == "true"


def mini_batch(options: Mapping[str, str]) -> MiniBatch | None:
    """The options of mini-batch, or None where it is off. Raises PipelineError where they make no sense."""
    if not is_on(options, ENABLED):
        return None
    text = options.get(SIZE, "").strip()
    if not text.isdigit() or int(text) == 0:
        message = f"options: mini-batch is on, but {SIZE} is {text or 'not set'}. Set a number of records above zero."
        raise PipelineError(message, "", "options")
    latency = options.get(LATENCY, "").strip().lower()
    found = _DURATION.fullmatch(latency)
    if found is None or found[2] not in _UNITS_MS or int(found[1]) == 0:
        message = f"options: mini-batch is on, but {LATENCY} is {latency or 'not set'}. Set a time such as 5 s."
        raise PipelineError(message, "", "options")
    return MiniBatch(int(text), int(found[1]) * _UNITS_MS[found[2]])


def bundling(options: Mapping[str, str], *, two_phases: bool = False) -> Bundling | None:
    """How a step bundles its input under these options; None where it does not.

    two_phases: whether the step can fold before it counts; the option that asks for one phase overrules it.
    """
    batch = mini_batch(options)
    if batch is None:
        return None
    one_phase = options.get(PHASES, "auto").strip().lower() == "one_phase"
    return Bundling(batch.size, two_phases and not one_phase)
