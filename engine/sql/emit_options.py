"""Flink's options for early and late firing, as parameters of a query's window aggregates.

Flink applies them to tumbling and hopping group windows of older SQL and rejects them elsewhere. Flink's delays are in
processing time, on which a changelog here must not depend. A delay of 0 fires per record, as in Flink. A longer early
delay is measured in event time. A late delay has no effect: a late record updates its window at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engine.errors import PipelineError
from engine.model.options import has_effect, milliseconds
from engine.model.windowing import WindowKind
from engine.sql.algebra import Windowed
from engine.sql.rejected import SqlRejected

_PREFIX: Final = "table.exec.emit."
EARLY: Final = f"{_PREFIX}early-fire.enabled"
EARLY_DELAY: Final = f"{_PREFIX}early-fire.delay"
LATE: Final = f"{_PREFIX}late-fire.enabled"
LATE_DELAY: Final = f"{_PREFIX}late-fire.delay"
LATENESS: Final = f"{_PREFIX}allow-lateness"
EMIT_OPTIONS: Final = (EARLY, EARLY_DELAY, LATE, LATE_DELAY, LATENESS)


def emit_options(options: Mapping[str, str]) -> dict[str, str]:
    """The emit options among the options. Raises PipelineError for an invalid value."""
    given = {name: text for name, text in options.items() if name in EMIT_OPTIONS}
    for name, text in given.items():
        is_right = _is_switch(text) if name in (EARLY, LATE) else milliseconds(text) is not None
        if not is_right:
            what = "true or false" if name in (EARLY, LATE) else "a time such as 5 s"
            message = f"options: {name} is {what}, not {text!r}."
            raise PipelineError(message, "", "options")
    return given


def without_emit_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a pipeline: without the emit options and without options that have no effect.

    Raises PipelineError for an unknown name or an invalid value.
    """
    given = emit_options(options)
    return {name: text for name, text in options.items() if name not in given and has_effect(name, text)}


def firing(options: Mapping[str, str], windowed: Windowed) -> dict[str, Any]:
    """The firing parameters of a window aggregate. Raises SqlRejected unless it is a TUMBLE or HOP group window."""
    early, late = _is_on(options, EARLY), _is_on(options, LATE)
    if not early and not late:
        return {}
    if not windowed.is_group_window or windowed.windowing.kind is WindowKind.SESSION:
        what = "sessions" if windowed.is_group_window else "window functions in FROM"
        message = (
            f"{EARLY if early else LATE} is for GROUP BY TUMBLE(...) and HOP(...), not for {what}. Leave the option "
            "out, or set early firing and allowed lateness at the operator."
        )
        raise SqlRejected(message, windowed.at)
    parameters: dict[str, Any] = {}
    if late:
        parameters["allowed_lateness_ms"] = milliseconds(options.get(LATENESS, "0")) or 0
    if early:
        delay_ms = milliseconds(options.get(EARLY_DELAY, "0")) or 0
        parameters |= {"early_fire_every_ms": delay_ms} if delay_ms else {"early_fire_each_record": True}
    return parameters


def _is_on(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "false").strip().lower() == "true"


def _is_switch(text: str) -> bool:
    return text.strip().lower() in ("true", "false")
