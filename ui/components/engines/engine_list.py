"""The list of engines, each with its facts, the status of its server, and its actions."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.errors import EngineUnavailable
from engine.spark.engines import Engine, remove_engine
from engine.spark.servers import folder_of, servers
from ui.components.engines.engine_findings import engine_findings
from ui.components.engines.engine_form import engine_form, is_editing, open_form
from ui.engines.chosen import forget_choice
from ui.engines.engine_tests import engine_tests
from ui.engines.known import Known, choose_default
from ui.shell.guard import guarded
from ui.shell.words import code, escaped


@guarded
def _test(engine: Engine) -> None:
    engine_tests().start(engine)


@guarded
def _stop(engine: Engine) -> None:
    engine_tests().stop(engine)


@guarded
def _use(name: str) -> None:
    choose_default(name)
    forget_choice()


@guarded
def _remove(name: str) -> None:
    remove_engine(name)
    engine_tests().forget(name)


@st.dialog("Remove this engine?", icon=":material/delete:")
def _ask_to_remove(engine: Engine) -> None:
    st.write(f"**{escaped(engine.name)}** and its token are deleted. A run that waits for it will fail.")
    st.caption("Its runs stay, with all their records.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="engine-keep"):
            st.rerun()
        if st.button(
            "Remove the engine", type="primary", key="engine-remove-sure", on_click=_remove, args=(engine.name,)
        ):
            st.rerun()


def engine_list(listed: Sequence[Known]) -> None:
    """Draw the engines; an engine that is being changed is drawn as a form."""
    running = {server.folder for server in servers()}
    for entry in listed:
        if is_editing(entry.engine):
            engine_form(entry.engine, [other.engine.name for other in listed if other is not entry])
        else:
            _engine(entry, is_running=entry.engine.is_ours and _folder(entry.engine) in running)


def _folder(engine: Engine) -> object:
    try:
        return folder_of(engine.address)
    except EngineUnavailable:
        return None


def _engine(each: Known, *, is_running: bool) -> None:
    engine, name = each.engine, each.engine.name
    test = engine_tests().of(engine)
    is_testing = test is not None and test.ended is None
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{escaped(name)}**", width="content")
            if is_running:
                st.badge("running", icon=":material/play_circle:", color="green")
            elif engine.is_ours:
                st.badge("not running", icon=":material/pause_circle:", color="gray", help="It starts with a run.")
            if each.is_default:
                st.badge("for new runs", icon=":material/check:", color="blue")
            st.space("stretch")
            if not each.is_default:
                st.button("Use for new runs", key=f"engine-use|{name}", type="tertiary", on_click=_use, args=(name,))
            st.button(
                "Test",
                key=f"engine-test|{name}",
                icon=":material/network_check:",
                disabled=is_testing,
                on_click=_test,
                args=(engine,),
                help=f"Test {escaped(name)}: connection, versions, cores and files.",
            )
            if each.is_own:
                st.button(
                    "Edit",
                    key=f"engine-edit|{name}",
                    icon=":material/edit:",
                    on_click=open_form,
                    args=(name,),
                    help=f"Edit {escaped(name)}",
                )
                if st.button(
                    "Remove", key=f"engine-remove|{name}", icon=":material/delete:", help=f"Remove {escaped(name)}"
                ):
                    _ask_to_remove(engine)
        st.caption(_facts(each))
        if test is not None:
            engine_findings(test, is_running=is_testing, stop=_stop)


def _facts(each: Known) -> str:
    engine = each.engine
    parts = [
        code(engine.address) if engine.address != engine.name else "",
        "used by the pages for previews and checks" if each.is_home else "",
        f"workspace {code(engine.shown_workspace)}" if engine.workspace else "sees the files of this machine",
        "changelogs stay there" if engine.changelogs_stay else "",
        "a token is kept" if engine.token else "",
        "encrypted (TLS)" if engine.use_ssl else "",
    ]
    return " · ".join(part for part in parts if part)
