"""The start of a live run, and what is asked before: whether a second one is meant, and what goes on.

Run live --> one is live already? --> no source goes on? --> the run starts
              show it                  make a source go on
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import streamlit as st

from engine.contract.source import Endless, Source
from engine.errors import StudioError
from engine.registry import configured
from storage.library.run_title import RunTitle
from ui.builder.drafting import Drafting
from ui.builder.editing import set_parameter
from ui.components.builder.bench import bench
from ui.components.builder.canvas_run import show_run
from ui.runs.of_pipeline import runs_of
from ui.runs.starting import start_run
from ui.shell import words, workspace
from ui.shell.guard import guarded

Agreed = Literal["nothing", "a second one", "it ends"]
_AGREED: tuple[Agreed, ...] = ("nothing", "a second one", "it ends")


@guarded
def run_live(drafting: Drafting, agreed: Agreed = "nothing") -> None:
    """Start a live run, or note what has to be asked first. agreed: the last question that was answered."""
    answered = _AGREED.index(agreed)
    bench().asks = None
    if answered < 1 and _live_ones(drafting):
        bench().asks = "a second one"
    elif answered < 2 and not any(source.goes_on for _, source in _sources(drafting)):
        bench().asks = "it ends"
    else:
        start_run(drafting, live=True)


def live_questions(drafting: Drafting) -> None:
    """Draw the open question, if there is one."""
    match bench().asks:
        case "a second one":
            _second(drafting)
        case "it ends":
            _without_end(drafting)


@guarded
def _put_away() -> None:
    bench().asks = None


@st.dialog("A live run of this pipeline goes on", icon=":material/sensors:", on_dismiss=_put_away)
def _second(drafting: Drafting) -> None:
    titles = _live_ones(drafting)
    names = ", ".join(f"run {title.run_id} (started {words.ago(title.started_at)})" for title in titles)
    st.write(f"Still live: {names}. A second one reads the sources once more, beside it.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Start a second one", key="live-second", on_click=run_live, args=(drafting, "a second one")):
            st.rerun()
        if titles and st.button(
            f"Show run {titles[0].run_id}", type="primary", key="live-show", on_click=_show, args=(titles[0].run_id,)
        ):
            st.rerun()


@guarded
def _show(run_id: int) -> None:
    bench().asks = None
    show_run(run_id)


@st.dialog("No source goes on", icon=":material/sensors:", on_dismiss=_put_away)
def _without_end(drafting: Drafting) -> None:
    st.write("Every source of this pipeline ends by itself, so a live run would end as soon as it has read them.")
    for node_id, endless in _could_go_on(drafting):
        if st.button(
            f"{words.escaped(node_id)}: {endless.label[:1].lower()}{endless.label[1:]}, and run live",
            key=f"live-endless|{node_id}",
            type="primary",
            icon=":material/sensors:",
            width="stretch",
            on_click=_go_on,
            args=(drafting, node_id, endless),
        ):
            st.rerun()
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Run live all the same", key="live-ends", on_click=run_live, args=(drafting, "it ends")):
            st.rerun()


@guarded
def _go_on(drafting: Drafting, node_id: str, endless: Endless) -> None:
    document = drafting.pipeline
    for name, value in endless.parameters.items():
        document = set_parameter(document, node_id, name, value)
    drafting.edit(document)
    run_live(drafting, "it ends")


def _live_ones(drafting: Drafting) -> tuple[RunTitle, ...]:
    runs = workspace.store().runs
    return tuple(title for title in runs_of(drafting.identity) if title.goes_on and runs.get(title.run_id).is_live)


def _sources(drafting: Drafting) -> Iterator[tuple[str, Source]]:
    for node in drafting.pipeline.nodes:
        try:
            source = configured(node)
        except StudioError:
            # The run itself reports a node that is not complete.
            continue
        if isinstance(source, Source):
            yield node.id, source


def _could_go_on(drafting: Drafting) -> Iterator[tuple[str, Endless]]:
    """The sources that can be read without an end, each with how."""
    for node_id, source in _sources(drafting):
        endless = source.endless
        if endless is not None and source.model_copy(update=dict(endless.parameters)).goes_on:
            yield node_id, endless
