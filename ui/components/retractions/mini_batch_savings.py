"""The savings of mini-batch: the same run in bundles, in the background, and the counts of both side by side."""

from __future__ import annotations

import streamlit as st

from storage.model import Edge, Run, RunStatus
from ui.components.changelog.table_comparison import comparison_table
from ui.components.grid import grid
from ui.components.retractions.retraction_tables import saved_table
from ui.components.runs.background_run import background_run
from ui.runs.operator_lines import pipeline_of
from ui.runs.variants import in_mini_batch
from ui.shell import words, workspace


def mini_batch_savings(run: Run, edge: Edge) -> None:
    """Draw the size of a bundle, run the variant in the background, and compare the results."""
    st.markdown("In mini-batch mode an operator folds the records of a bundle and emits once per key.")
    if run.status is not RunStatus.FINISHED:
        st.info("This run has not finished, so there is nothing to compare with.", icon=":material/info:")
        return
    suggested = max(2, min(10_000, run.last_seq // 4))
    size = st.number_input("Records per bundle", 1, 1_000_000, suggested, key="mini-batch-size", width=220)
    variant = in_mini_batch(pipeline_of(run), int(size))
    other = background_run(run, variant, label=f"Run it in bundles of {size:,}", key="mini-batch-run")
    if other is None:
        return
    runs = workspace.store().runs
    saved = run.records - other.records
    st.markdown(
        f"Run {other.run_id} in bundles of **{size:,}**: **{other.records:,}** records instead of {run.records:,}"
        + (f", {saved / run.records:.0%} fewer." if saved > 0 and run.records else ", so it saves nothing.")
    )
    grid(saved_table(runs.counters(run.run_id), runs.counters(other.run_id)), key="mini-batch-saved", label="Saved")
    comparison = workspace.store().table_differences.between(run.run_id, other.run_id, edge.node, edge.port)
    if comparison.is_same:
        st.success(
            f"The table of {edge.name} is the same in both: {words.count(comparison.equal, 'row')}.",
            icon=":material/check_circle:",
        )
    else:
        st.warning(f"The tables of {edge.name} differ in {words.count(comparison.different, 'row')}.")
        grid(
            comparison_table(edge, comparison, "record by record", "mini-batch"),
            key="mini-batch-rows",
            label="Differences",
        )
