"""The way to the page What if with delays to try at an operator."""

from __future__ import annotations

import streamlit as st

from storage.event_time.needed_waits import LateOperator
from storage.model import Run
from ui.components.event_time.tried_delays import in_address
from ui.shell import words
from ui.shell.guard import guarded
from ui.shell.navigation import lead_to
from ui.shell.state import state


def delay_button(
    run: Run,
    ran: LateOperator,
    wanted: LateOperator,
    *,
    key: str,
    help: str | None = None,
) -> None:
    """Draw it. If there are several sources, it says whose delays differ from those that ran."""
    st.button(_label(ran, wanted), key=key, icon=":material/tune:", on_click=_try, args=(run.run_id, wanted), help=help)


def _label(ran: LateOperator, wanted: LateOperator) -> str:
    """Markdown."""
    changed = {source: delay_ms for source, delay_ms in wanted.delays_ms.items() if delay_ms != ran.delays_ms[source]}
    if len(changed) == len(ran.sources) and len({*changed.values()}) == 1:
        where = " at each source" if len(changed) > 1 else ""
        return f"Try a delay of {words.duration(wanted.delay_ms)}{where}"
    delays = (f"{words.duration(delay_ms)} at {words.escaped(source)}" for source, delay_ms in changed.items())
    return f"Try {'a delay' if len(changed) == 1 else 'delays'} of {' and '.join(delays)}"


@guarded
def _try(run_id: int, wanted: LateOperator) -> None:
    state.hold(run=run_id, seen=wanted.node, delay=in_address(wanted), lateness=None, keep=None)
    lead_to("what_if")
    state.write_url()
