"""The late records and the rejected rows of a run: sorted by any column, page by page, and as CSV."""

from __future__ import annotations

import streamlit as st

from engine.contract.problems import cut_sentence
from storage.event_time.late_group import LateGroup
from storage.event_time.model import LateTotals
from storage.model import EventRange, Run
from ui.components.event_time.behind_watermark import behind_the_watermark
from ui.components.event_time.late_downloads import late_download, rejected_download
from ui.components.event_time.late_link import late_key, open_late_file, open_late_group
from ui.components.event_time.late_sentences import late_sentence, lines_sentence
from ui.components.event_time.late_table import late_table, rejected_table
from ui.components.runs.so_far import all_clear, so_far
from ui.components.shell.sorted_page import PAGE, offset_of, order_of, sorted_page
from ui.runs.operator_lines import pipeline_of
from ui.shell import words, workspace
from ui.shell.state import state


def late_records(run: Run, last_seq: int, *, height: int | None = None) -> None:
    """Draw the late records of a run up to an event, or those of the open group. A click on one opens its file."""
    key, group = late_key(run.run_id), LateGroup.of(state.group or "")
    order, offset = order_of(key), offset_of(key)
    events = EventRange(to_seq=last_seq)
    page = workspace.store().late.page(run.run_id, events, group=group, order=order, offset=offset, limit=PAGE)
    if group is not None:
        _only(run, group)
    has_sources = len(workspace.store().runs.stored(run.run_id).sources) > 1
    zone = workspace.store().runs.zone(run.run_id)
    table = late_table(page.records, state.event, order, zone, has_sources=has_sources)

    def pick(seq: str) -> None:
        open_late_file(run.run_id, int(seq))

    with sorted_page("Late records", key, table, page.total, "lines", height, on_pick=pick):
        late_download(run.run_id, page.total, group)


def _only(run: Run, group: LateGroup) -> None:
    """Draw which group is listed, and the way to all records."""
    which = "dropped" if group.only_dropped else "late"
    values = " and ".join(f"{name} = {'NULL' if value is None else value}" for name, value in group.values)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        said = f"Only {which} records of **{words.escaped(group.source)}** with **{words.escaped(values)}**"
        st.markdown(said, width="content")
        st.button(
            "All late records",
            key=f"late-all-{run.run_id}",
            icon=":material/close:",
            on_click=open_late_group,
            args=(run.run_id, None),
        )


def late_summary(run: Run, totals: LateTotals) -> None:
    """Draw how many records were late, what became of them, and how long the list of them is."""
    if not totals.late:
        none_late("No record was late for any operator", run)
        return
    store = workspace.store()
    has_several = len(store.runs.stored(run.run_id).sources) > 1
    summaries = store.late.summary(run.run_id, totals.last_seq)
    st.markdown(late_sentence(run, totals, summaries, has_several=has_several))
    if lines := lines_sentence(totals):
        st.caption(lines)


def none_late(sentence: str, run: Run) -> None:
    """Draw that no record was late, and why, if they were sorted by event time; and what was lost all the same.

    sentence: Markdown, without a full stop. Of a run that goes on, nothing is said for good, and nothing is counted.
    """
    lost = () if run.goes_on else behind_the_watermark(run)
    if lost:
        st.info(f"{sentence}, but {' and '.join(loss.told for loss in lost)}.", icon=":material/info:")
    else:
        all_clear(sentence, run)
    pipeline = pipeline_of(run)
    given = [node.parameters for node in pipeline.nodes if node.parameters.get("arrival_column")]
    is_by_time = pipeline.arrival.mode == "by_column" and all(
        parameters["arrival_column"] == parameters.get("event_time") for parameters in given
    )
    if is_by_time:
        st.caption(
            "The records of all sources were sorted by their event times, so none came late. Choose *by event time, "
            "each source in its own order* under *Pipeline* to see which come late in their sources."
        )


def rejected_summary(run: Run, totals: LateTotals) -> None:
    """Draw how many rows were rejected."""
    scope = f" {so_far(run)}" if so_far(run) else ""
    were, they, them = ("was", "it", "it") if totals.rejected == 1 else ("were", "they", "them")
    st.markdown(
        f"**{words.count(totals.rejected, 'row')} {were} rejected**{scope}: {they} could not be read, and the run went "
        f"on without {them}."
    )


def cut_values(run: Run) -> None:
    """Draw which columns of sources lost digits of their times."""
    for (source, column), count in workspace.store().late.cut(run.run_id).items():
        sentence = cut_sentence(count, words.escaped(f"{source}.{column}"))
        st.info(f"{sentence} Keep such digits in a column of texts.", icon=":material/content_cut:")


def rejected_rows(run: Run, *, height: int | None = None) -> None:
    """Draw the source rows that could not be read."""
    key = f"rejected-{run.run_id}"
    order, offset = order_of(key), offset_of(key)
    page = workspace.store().late.rejected(run.run_id, order=order, offset=offset, limit=PAGE)
    with sorted_page("Rejected rows", key, rejected_table(page.records, order), page.total, "rejected rows", height):
        rejected_download(run.run_id, page.total)
