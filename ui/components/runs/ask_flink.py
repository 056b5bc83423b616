"""Ask Flink: the run's records through a real Flink, and what it says beside ours."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from engine.flink.comparison import Outcome
from engine.model.changelog import RowKind
from storage.model import Run, RunStatus
from ui.components.grid import Cell, Row, Table, grid
from ui.runs.flink_answers import answers, can_ask
from ui.shell import words
from ui.shell.guard import as_sentence, guarded, guarded_fragment
from ui.shell.navigation import go

if TYPE_CHECKING:
    from engine.flink.asking import Asked

_REFRESH_S = 0.7


def ask_flink(run: Run) -> None:
    """Draw the button, the question that goes on, or the answer."""
    if run.status is not RunStatus.FINISHED or not run.records or run.kept_from > 1:
        return
    if run.run_id in answers().going_on:
        _going_on(run.run_id)
        return
    said = answers().found.get(run.run_id)
    if isinstance(said, str):
        st.warning(as_sentence(said), icon=":material/hourglass_disabled:")
    else:
        for asked in said or ():
            _draw(asked)
    if not can_ask():
        if st.button(
            "Ask Flink",
            icon=":material/contract:",
            key="flink-to-engines",
            help="Whether Flink itself gives the same changelog. It is not installed yet: this opens Engines.",
        ):
            go("engines")
        return
    st.button(
        "Ask Flink again" if said else "Ask Flink",
        icon=":material/contract:",
        key="ask-flink",
        on_click=guarded(answers().ask),
        args=(run,),
        help="The records of this run go through Flink with the pipeline's SQL, in their order and with their "
        "watermarks, and its changelog is compared with this one.",
    )


@guarded_fragment(run_every=_REFRESH_S)
def _going_on(run_id: int) -> None:
    step = answers().going_on.get(run_id)
    if step is None:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/hourglass_top: Flink: {words.escaped(step)}")
        st.button("Cancel", key="flink-cancel", on_click=guarded(answers().cancel), args=(run_id,))


def _draw(asked: Asked) -> None:
    sentence = as_sentence(words.escaped(asked.sentence))
    if asked.compared is None:
        st.info(sentence, icon=":material/info:")
        return
    if asked.is_equal:
        st.success(f"**Flink says the same.** {sentence}", icon=":material/verified:")
    elif asked.compared.outcome is Outcome.SAME_TABLE:
        st.warning(sentence, icon=":material/difference:")
    else:
        st.error(sentence, icon=":material/error:")
    if asked.by:
        st.caption(f"Asked: {words.escaped(asked.by)}.")
    if asked.compared.at is not None:
        grid(sides_table(asked), key=f"flink-{asked.sink}", label=f"First difference of {asked.sink}")
    if asked.known:
        st.caption(f"Perhaps the known one of FLINK.md: {words.escaped(asked.known)}")
    if all(asked.plans):
        with st.expander(f"Both plans of {words.escaped(asked.sink)}", icon=":material/account_tree:"):
            ours, theirs = st.columns(2)
            for column, title, plan in ((ours, "Changelog Studio", asked.plans[0]), (theirs, "Flink", asked.plans[1])):
                column.caption(title)
                # It may scroll in both directions, which keys have to reach.
                column.html(
                    f'<pre tabindex="0" role="region" aria-label="Plan of {title}" '
                    f'style="max-height:20rem;overflow:auto;font-size:.85rem">{escape(plan)}</pre>'
                )


def sides_table(asked: Asked) -> Table:
    """The first record that differs, on both sides."""
    assert asked.compared is not None
    rows = [
        Row(
            (
                Cell(who, tone=tone),
                *((Cell(kinds=(RowKind.of(record[0]),)),) if record else (Cell("no record"),)),
                *(Cell(words.value(cell)) for cell in (asked.values(record) if record else [""] * len(asked.columns))),
            )
        )
        for who, tone, record in (("here", "good", asked.compared.ours), ("Flink", "bad", asked.compared.theirs))
    ]
    return Table(("", "kind", *asked.columns), rows, narrow=frozenset({"kind"}))
