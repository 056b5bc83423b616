"""Records behind the watermark that lost something, late or not, and the delay with which none comes so."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from storage.event_time.needed_waits import LateOperator
from storage.model import Run
from ui.components.event_time.delay_button import delay_button
from ui.runs.batch_checks import checker
from ui.shell import words, workspace


@dataclass(frozen=True)
class Behind:
    """Those of an interval join. lossless_ms: the least delay with which there are none.

    pairs: how many pairs they cost; None as long as the batch check has not counted any.
    """

    ran: LateOperator
    records: int
    lossless_ms: int
    pairs: int | None

    @property
    def told(self) -> str:
        """What they cost, in a sentence without its full stop. Markdown."""
        name = words.escaped(self.ran.node)
        if self.pairs is None:
            return f"{words.count(self.records, 'record')} came behind the watermark of {name}"
        return f"{words.count(self.pairs, 'pair')} of {name} {'was' if self.pairs == 1 else 'were'} never made"


def behind_the_watermark(run: Run, node: str | None = None) -> tuple[Behind, ...]:
    """Those of each interval join, or of one node."""
    what_if, check = workspace.store().what_if, checker().result_of(run.run_id)
    losses = []
    for operator in what_if.operators(run.run_id):
        behind = what_if.behind(run.run_id, operator) if node in (None, operator.node) else None
        if behind is None or not (number := behind.lost(operator.delay_ms)):
            continue
        checked = check.of(operator.node) if check is not None else None
        pairs = checked.let_go or None if checked is not None else None
        losses.append(Behind(operator, number, behind.lossless_ms, pairs))
    return tuple(losses)


def behind_watermark(run: Run, node: str | None = None) -> None:
    """Draw them for each interval join, or for the one from whose point of view the page is seen."""
    for loss in behind_the_watermark(run, node):
        # What is needed is a delay with which the watermark is 1 ms before the record.
        most = words.duration(max(loss.lossless_ms - 1 - loss.ran.delay_ms, 0))
        came = f"**{words.count(loss.records, 'record')} came behind the watermark** of {words.escaped(loss.ran.node)}"
        cost = (
            "late or not, such a record may miss partners that were let go"
            if loss.pairs is None
            else f"**{loss.told}**, since one of the two rows had been let go"
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"{came}, by at most {most}: {cost}.", width="content")
            delay_button(run, loss.ran, loss.ran.with_delay(loss.lossless_ms), key=f"behind-{loss.ran.node}")
