"""The options of the whole pipeline: mini-batch, state TTL and Flink's other options that change a changelog."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.model.options import (
    BUNDLE_SIZE,
    CLOCK,
    COMPACT,
    DUPLICATES,
    KEEP_EDGES,
    KEEP_KEYS,
    LATENCY,
    MINI_BATCH,
    PHASES,
    SENSITIVE,
    STATE_TTL,
    ZONE,
    Option,
    ValueKind,
    has_state_ttl,
    is_on,
    kept_outputs,
)
from engine.model.zones import zone_names
from ui.builder.drafting import Drafting
from ui.builder.editing import outputs_of, set_option
from ui.shell.pending import pending

_ALWAYS: Final = (ZONE, STATE_TTL, SENSITIVE, DUPLICATES)
_IN_MINI_BATCH: Final = (BUNDLE_SIZE, LATENCY, COMPACT, PHASES)
_CHOICES: Final = {
    ValueKind.PHASES: dict.fromkeys(("AUTO", "ONE_PHASE", "TWO_PHASE"), ""),
    ValueKind.CLOCK: {
        "AUTO": "event times; live, the clock",
        "EVENT_TIME": "the largest so far",
        "ARRIVAL_COLUMN": "of the sources",
        "NONE": "nothing expires",
    },
}
"""The values of an option, and what each means where its name does not say it."""


def options_form(drafting: Drafting) -> None:
    """Draw a field per option; the options of mini-batch only if it is on."""
    _field(drafting, MINI_BATCH)
    if is_on(drafting.pipeline.options, MINI_BATCH):
        with st.container(border=True):
            for option in _IN_MINI_BATCH:
                _field(drafting, option)
    for option in _ALWAYS:
        _field(drafting, option)
        if option is STATE_TTL and has_state_ttl(drafting.pipeline.options):
            _field(drafting, CLOCK)


def keep_form(drafting: Drafting) -> None:
    """Draw what a run keeps of its records: which outputs, and of how many keys."""
    st.caption("A large run need not keep every record. All of it is computed, and counts and watermarks are whole.")
    for option in (KEEP_EDGES, KEEP_KEYS):
        _field(drafting, option)


def _field(drafting: Drafting, option: Option) -> None:
    generation = drafting.generation("options")
    text = drafting.pipeline.options.get(option.name, option.default)
    key = f"option|{option.name}|{drafting.key}|{generation}"

    def take(value: str | bool) -> None:
        if generation == drafting.generation("options"):
            new_text = str(value).lower() if isinstance(value, bool) else value.strip()
            # Mini-batch has fields of its own, and two of them get a value; a TTL has a clock. So all are redrawn.
            drafting.edit(set_option(drafting.pipeline, option, new_text), redraw=option in (MINI_BATCH, STATE_TTL))

    match option.value:
        case ValueKind.SWITCH:
            is_on = text.strip().lower() == "true"
            pending().draw(key, is_on, take)
            st.toggle(option.title, is_on, key=key, help=f"{option.description} Option: {option.name}.")
        case ValueKind.PHASES | ValueKind.CLOCK:
            meanings = _CHOICES[option.value]
            choices = list(meanings)
            shown = text.strip().upper() if text.strip().upper() in choices else choices[0]
            pending().draw(key, shown, take)
            st.selectbox(
                option.title,
                choices,
                choices.index(shown),
                key=key,
                format_func=lambda choice: f"{choice} · {meanings[choice]}" if meanings[choice] else choice,
                help=f"{option.description} Option: {option.name}.",
            )
        case ValueKind.OUTPUTS:
            outputs = [*outputs_of(drafting.pipeline), *kept_outputs(drafting.pipeline.options)]
            chosen = list(kept_outputs(drafting.pipeline.options))
            pending().draw(key, chosen, lambda names: take(", ".join(names)))
            st.multiselect(
                option.title,
                list(dict.fromkeys(outputs)),
                chosen,
                key=key,
                placeholder="all outputs",
                select_all=False,
                help=f"{option.description} Option: {option.name}.",
            )
        case ValueKind.ZONE:
            zones = sorted({"UTC", text.strip() or "UTC", *zone_names()})
            pending().draw(key, text, take)
            st.selectbox(
                option.title,
                zones,
                zones.index(text.strip() or "UTC"),
                key=key,
                accept_new_options=True,
                help=f"{option.description} Option: {option.name}.",
            )
        case ValueKind.NUMBER | ValueKind.TIME | ValueKind.ONE_IN:
            pending().draw(key, text, take)
            st.text_input(option.title, text, key=key, help=f"{option.description} Option: {option.name}.")
