"""The check of a run's tables against Spark's own batch answer: automatic for small runs, by a click for others."""

from __future__ import annotations

import streamlit as st

from engine.batch_check.result import NodeCheck
from engine.contract.operator import Operator
from engine.contract.recorder import ALL
from engine.model.options import zone
from engine.model.pipeline import Pipeline
from engine.registry import configured
from storage.model import Run, RunStatus
from ui.components.grid import Cell, Row, Table, grid
from ui.components.live.retention import how_to_keep_more
from ui.components.shell.finding import finding
from ui.runs.batch_checks import SMALL, CheckResult, checker
from ui.shell import words, workspace
from ui.shell.engine_gate import GateStatus, gate
from ui.shell.guard import as_sentence, guarded, guarded_fragment
from ui.shell.navigation import lead_to
from ui.shell.state import state

_REFRESH_S = 0.7


@guarded
def _start(run: Run) -> None:
    checker().start(run)


@guarded_fragment(run_every=_REFRESH_S)
def _going_on(run_id: int) -> None:
    node = checker().going_on.get(run_id)
    if node is None:
        st.rerun()
    st.caption(f":material/hourglass_top: Spark is computing the batch answer: {node}")


def batch_check(run: Run) -> CheckResult | None:
    """Draw the findings of a run's check, its progress, or the button for it; return the findings, if there are any."""
    if run.status is not RunStatus.FINISHED or not run.records:
        return None
    if run.kept_from > 1:
        st.caption("Its first records were deleted, so Spark's batch answer cannot be computed.")
        return None
    left_out = [edge.name for edge in workspace.store().runs.edges(run.run_id) if edge.share != ALL]
    if left_out:
        names = words.escaped(", ".join(left_out))
        st.caption(
            f"Spark's batch answer needs all records, and this run has not kept those of {names}. {how_to_keep_more()}"
        )
        return None
    cut = [edge.name for edge in workspace.store().runs.edges(run.run_id) if edge.kept_from > 1 and edge.is_insert_only]
    if cut:
        st.caption(
            f"The first records of {words.escaped(', '.join(cut))} were deleted, so not all tables can be checked."
        )
        return None
    pipeline = Pipeline.from_json(run.document)
    if (in_zone := zone(pipeline.options)) is not None:
        st.caption(f"Spark's batch answer has the days of UTC: a run in the time zone {in_zone.name} is not checked.")
        return None
    operators = [operator for node in pipeline.nodes if isinstance(operator := configured(node), Operator)]
    if not operators:
        st.caption("Only sources ran, so there is no result that Spark's batch answer could be compared with.")
        return None
    if any(any(operator.state_ttls_ms(pipeline.options)) for operator in operators):
        st.caption("State expires in this run, but not in a batch: what expiry has changed is told as a difference.")
    checks = checker()
    if run.run_id in checks.going_on:
        _going_on(run.run_id)
        return None
    result = checks.result_of(run.run_id)
    if result is None:
        if run.records <= SMALL and gate().status is GateStatus.READY:
            checks.start(run)
            _going_on(run.run_id)
            return None
        st.button(
            "Check against the batch answer",
            icon=":material/fact_check:",
            key="batch-check",
            on_click=_start,
            args=(run,),
            help="Spark computes the same query over the records that were not dropped, without the studio's kernels. "
            "Both tables must be equal.",
        )
        return None
    _draw(run, result)
    return result


def _draw(run: Run, result: CheckResult) -> None:
    if result.error:
        st.warning(f"The batch check failed: {as_sentence(result.error)}", icon=":material/fact_check:")
    elif result.is_equal:
        sinks = result.checked.sinks
        rows = sum(node.same for node in sinks)
        names = ", ".join(node.node for node in sinks)
        without = f" without the {words.count(run.dropped, 'dropped record')}" if run.dropped else ""
        st.success(
            f"**Equal to Spark's batch answer**{without}: {words.count(rows, 'row')} of {names} compared, and the "
            "output of every upstream operator.",
            icon=":material/verified:",
        )
    else:
        for node in result.checked.nodes:
            if not node.is_equal:
                st.error(node.sentence, icon=":material/error:")
                grid(differences_table(node), key=f"check-{node.node}", height=260, label=f"Differences of {node.node}")
    for node in result.checked.nodes:
        if node.let_go:
            _let_go(run, node)
    if result.error or not result.is_equal:
        st.button("Check again", icon=":material/replay:", key="batch-check", on_click=_start, args=(run,))


def _let_go(run: Run, node: NodeCheck) -> None:
    """Draw what neither the stream nor the batch answer has, and the way to the delay that would have it."""
    finding(
        words.escaped(node.let_go_sentence),
        ":material/warning:",
        "Event time",
        ":material/timeline:",
        _see,
        (run.run_id, node.node),
        key=f"let-go-{node.node}",
        help=f"The records as {node.node} saw them.",
    )


@guarded
def _see(run_id: int, node: str) -> None:
    state.hold(run=run_id, seen=node)
    lead_to("event_time")
    state.write_url()


def differences_table(node: NodeCheck) -> Table:
    """The rows in which both tables differ, each with the table that has it."""
    rows = [
        Row(
            (
                Cell(
                    "only in the batch answer"
                    if not row.in_stream
                    else "only in the stream's table"
                    if not row.in_batch
                    else f"{row.in_batch} times in batch, {row.in_stream} in the stream",
                    tone="good" if not row.in_stream else "bad",
                ),
                *(Cell(cell) for cell in row.row),
            )
        )
        for row in node.differences
    ]
    return Table(("", *node.columns), rows)
