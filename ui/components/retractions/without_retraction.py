"""The purpose of retraction: a run's table, the table of the same pipeline without retraction, the batch answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

import streamlit as st

from storage.changelogs.table_differences import DifferentRow, TableComparison
from storage.changelogs.update_pairs import key_of
from storage.model import Edge, Run, RunStatus, TableAsOf, Values
from ui.components.changelog.record_list import cell_of, number_columns_of
from ui.components.grid import Row, Table, grid
from ui.components.runs.background_run import background_run
from ui.components.runs.batch_check import batch_check
from ui.runs.operator_lines import pipeline_of
from ui.runs.variants import without_retraction
from ui.shell import words, workspace

_SHOWN: Final = 50


def tables_beside(run: Run, edge: Edge) -> None:
    """Draw the three tables; wrong cells of the table without retraction are marked."""
    if run.status is not RunStatus.FINISHED:
        st.info("This run has not finished, so there is no result to compare.", icon=":material/info:")
        return
    variant = without_retraction(pipeline_of(run))
    other = background_run(run, variant, label="Run it with retraction switched off", key="retraction-off")
    checked = batch_check(run)
    left, middle, right = st.columns(3, gap="medium")
    right_table = _table(run, edge)
    with left:
        st.markdown(f"**With retraction** · {words.count(right_table.total, 'row')}")
        grid(_drawn(edge, right_table, {}), key="with-retraction", height=320, label="With retraction")
    with middle:
        if other is None:
            st.markdown("**Without retraction**")
            st.caption("Run it to see its table here, with every wrong cell marked.")
        else:
            _without(run, other, edge, right_table)
    with right:
        st.markdown("**Batch answer**")
        node = checked.of(edge.node) if checked is not None else None
        if node is None:
            st.caption("After the check, Spark's own answer to the query appears here.")
        elif node.is_equal:
            grid(_drawn(edge, right_table, {}), key="batch-answer", height=320, label="Batch answer")
        else:
            st.error(node.sentence)


def _without(run: Run, other: Run, edge: Edge, right_table: TableAsOf) -> None:
    comparison = workspace.store().table_differences.between(run.run_id, other.run_id, edge.node, edge.port)
    wrong_table = _table(other, edge)
    st.markdown(f"**Without retraction** · {words.count(wrong_table.total, 'row')}")
    expected = {key_of(edge, row.values): row.values for row in right_table.rows}
    complete = right_table.total == len(right_table.rows)
    marked = _drawn(edge, wrong_table, expected if complete else {}, marks=complete)
    present_keys = {key_of(edge, row.values) for row in wrong_table.rows}
    missing = [values for key, values in expected.items() if key not in present_keys]
    if complete and missing and wrong_table.total == len(wrong_table.rows):
        gone = [
            Row([cell_of(edge, at, value) for at, value in enumerate(values)], tone="bad", is_gone=True)
            for values in missing
        ]
        marked = replace(marked, rows=[*marked.rows, Row(note="Missing here:"), *gone])
    grid(
        marked,
        key="without-retraction",
        height=320,
        label="Without retraction",
    )
    if comparison.is_same:
        st.caption(f"The final table of {edge.name} is the same without retraction: here it makes no difference.")
    else:
        st.markdown(f":red[**{words.count(comparison.different, 'row')} wrong**]: {_what_is_wrong(comparison)}")


def _what_is_wrong(comparison: TableComparison) -> str:
    """What is wrong with the rows without retraction, the right table of the two, and why."""
    both = [row for row in comparison.rows if row.left is not None and row.right is not None]
    missing = sum(row.right is None for row in comparison.rows)
    unexpected = sum(row.left is None for row in comparison.rows)
    larger = sum(_is_larger(row) for row in both)
    said = []
    if larger:
        said.append(f"{_rows(larger)} too large, since values that no longer hold were counted beside the new ones")
    if other := len(both) - larger:
        said.append(f"{_rows(other)} with another value, since one that no longer holds kept its place")
    if unexpected:
        said.append(f"{_rows(unexpected)} not in the right table, since nothing removed what no longer holds")
    if missing:
        said.append(f"{_rows(missing)} missing, since rows that no longer hold took the place")
    more = "; of those listed first" if comparison.different > len(comparison.rows) else ""
    return f"{'; '.join(said)}{more}."


def _rows(number: int) -> str:
    return "one is" if number == 1 else f"{number:,} are"


def _is_larger(row: DifferentRow) -> bool:
    """Whether every number that differs is larger without retraction."""
    pairs = [
        (left, right) for left, right in zip(row.left or (), row.right or (), strict=True) if repr(left) != repr(right)
    ]
    return bool(pairs) and all(_are_numbers(pair) and pair[1] > pair[0] for pair in pairs)


def _are_numbers(values: Sequence[object]) -> bool:
    return all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values)


def _table(run: Run, edge: Edge) -> TableAsOf:
    return workspace.store().changelog.table_as_of(run.run_id, edge.node, run.last_seq, edge.port, limit=_SHOWN)


def _drawn(edge: Edge, table: TableAsOf, expected: Mapping[tuple[str, ...], Values], *, marks: bool = False) -> Table:
    """The rows as a grid; with marks, cells that differ from the expected row and unexpected rows are marked as bad."""
    rows = []
    for row in table.rows:
        right = expected.get(key_of(edge, row.values))
        cells = []
        for at, value in enumerate(row.values):
            is_wrong = marks and right is not None and repr(right[at]) != repr(value)
            was = words.value(right[at]) if is_wrong and right is not None else None
            cell = cell_of(edge, at, value, was=was, changed=is_wrong)
            cells.append(replace(cell, tone="bad") if is_wrong else cell)
        rows.append(Row(cells, tone="bad" if marks and right is None else ""))
    if table.total > len(table.rows):
        rows.append(Row(note=f"… and {words.count(table.total - len(table.rows), 'more row')}."))
    return Table(edge.names, rows, number_columns_of(edge))
