"""Mini-batch: records are folded in bundles, and a key emits its result once per bundle.

A bundle ends with every `size`-th record that reaches the operator, whatever its key; with a watermark of
one of its inputs; and with the end of the input. Flink's latency is a wall-clock time, which never elapses
here. If an operator downstream needs event time, watermarks advance in steps of the latency, as by Flink's
mini-batch assigner; otherwise the first event of the last source of an input ends the bundle before it, and the
end of a source.
Source: Flink ExecutionConfigOptions, MiniBatchIntervalInferRule, CountBundleTrigger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import PipelineError
from engine.model.options import BUNDLE_SIZE, LATENCY, MINI_BATCH, is_on, is_one_phase, records, time_ms


@dataclass(frozen=True)
class MiniBatch:
    """The options of mini-batch if it is on. size: the number of records of a bundle."""

    size: int
    latency_ms: int


@dataclass(frozen=True)
class Bundling:
    """How a keyed step bundles its input.

    two_phases: the records of a bundle are first folded per key; the folds are then counted into the bundles with which
    the operator emits.
    """

    size: int
    two_phases: bool = False


def mini_batch(options: Mapping[str, str]) -> MiniBatch | None:
    """The options of mini-batch, or None if it is off. Raises PipelineError if one of its two options is missing."""
    if not is_on(options, MINI_BATCH):
        return None
    size, latency_ms = records(options, BUNDLE_SIZE), time_ms(options, LATENCY)
    if size < 1:
        message = (
            f"options: mini-batch is on, but {BUNDLE_SIZE.name} is not set. Set it to a number of records above zero."
        )
        raise PipelineError(message, "", "options")
    if latency_ms < 1:
        message = f"options: mini-batch is on, but {LATENCY.name} is not set. Set it to a time such as 5 s."
        raise PipelineError(message, "", "options")
    return MiniBatch(size, latency_ms)


def bundling(options: Mapping[str, str], *, two_phases: bool = False) -> Bundling | None:
    """How a step bundles its input with these options; None if it does not.

    two_phases: whether the step can fold before it counts, unless an option requires one phase.
    """
    batch = mini_batch(options)
    if batch is None:
        return None
    return Bundling(batch.size, two_phases and not is_one_phase(options))
