"""Tests: runs that were kept, each run again on the newest version of its pipeline, and what has changed."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.kept.packed import packed, unpacked
from ui.builder.drafting import open_draft
from ui.components.grid import grid
from ui.components.kept.test_list import difference_table, test_table, verdict_cell
from ui.runs.kept_tests import Version, kept_tests
from ui.shell import words
from ui.shell.guard import as_sentence, guarded, guarded_fragment
from ui.shell.navigation import go
from ui.shell.state import state

_REFRESH_S: Final = 0.7


@guarded
def _choose(folder: str) -> None:
    state.update(test=folder)


@guarded
def _accept(version: Version) -> None:
    """Only what was looked at is accepted: the verdict that is shown."""
    verdict = kept_tests().verdict(version)
    if verdict is not None and verdict.differences:
        version.test.accept(verdict.answers, version.pipeline)
        kept_tests().start([kept_tests().version(version.test)])


@guarded
def _delete(version: Version) -> None:
    version.test.remove()
    state.update(test=None)


@guarded
def _import() -> None:
    tests = kept_tests()
    for file in st.session_state["tests-import"] or ():
        test = unpacked(file.getvalue(), tests.free_folder(file.name.removesuffix(".zip")))
        state.update(test=test.folder.name)


@guarded_fragment(run_every=_REFRESH_S)
def _going_on(seen: int) -> None:
    tests = kept_tests()
    if len(tests.left) != seen:
        st.rerun()
    done = tests.total - len(tests.left)
    with st.container(horizontal=True, vertical_alignment="center"):
        name = words.escaped(tests.left[0].test.name) if tests.left else ""
        st.progress(min(1.0, done / max(tests.total, 1)), f"{done + 1} of {tests.total}: {name}")
        st.button("Cancel", key="tests-cancel", on_click=guarded(tests.cancel))


def _show(version: Version) -> None:
    test, verdict = version.test, kept_tests().verdict(version)
    with st.container(border=True, key="test-file"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(words.escaped(test.name), anchor=False, width="content")
            cell = verdict_cell(version)
            st.badge(cell.text, color={"good": "green", "bad": "red"}.get(cell.tone, "gray"))  # type: ignore[arg-type]
        if test.manifest.words:
            st.markdown(words.escaped(test.manifest.words))
        which = "the version in the folder" if version.pipeline is None else "the newest version of the pipeline"
        st.caption(f"Tested: {which}, on the kept records. Folder: {words.code(str(test.folder))}")
        if verdict is not None and verdict.problem:
            st.error(as_sentence(verdict.problem), icon=":material/error:")
        for difference in verdict.differences if verdict is not None else ():
            st.markdown(f":red[:material/difference:] {words.escaped(difference.sentence)}")
            grid(
                difference_table(difference),
                key=f"test-{difference.edge}",
                label=f"First difference of {difference.edge}",
            )
        _actions(version, can_accept=verdict is not None and bool(verdict.differences))


def _actions(version: Version, *, can_accept: bool) -> None:
    test = version.test
    with st.container(horizontal=True):
        if can_accept:
            st.button(
                "This is right: expect it from now on",
                type="primary",
                icon=":material/check:",
                key="test-accept",
                on_click=_accept,
                args=(version,),
                help="Replaces what the test expects by what came out, and its pipeline by this version.",
            )
        if st.button("Open the pipeline", icon=":material/account_tree:", key="test-open"):
            open_draft(version.pipeline or test.pipeline(), identity=test.identity)
            go("build")
        st.download_button(
            "Download",
            lambda: packed(test),
            f"{test.folder.name}.zip",
            "application/zip",
            on_click="ignore",
            icon=":material/download:",
        )
        with st.popover("Delete", icon=":material/delete:"):
            st.markdown("The folder of this test is deleted.")
            st.button("Delete the test", type="primary", key="test-delete", on_click=_delete, args=(version,))


tests = kept_tests()
versions = [tests.version(test) for test in tests.all()]
with st.container(horizontal=True, vertical_alignment="center"):
    st.subheader("Tests", anchor=False, width="content")
    st.space("stretch")
    with st.popover("Import", icon=":material/upload:"):
        st.file_uploader("Tests as zip files", "zip", accept_multiple_files=True, key="tests-import", on_change=_import)
    st.button(
        "Run all",
        type="primary",
        icon=":material/play_arrow:",
        key="tests-run",
        disabled=not versions or bool(tests.left),
        on_click=guarded(tests.again),
        args=(versions,),
    )
if not versions:
    st.info(
        "No tests yet. Open a finished run and press **Keep as test**: what its sources read and what came out is "
        "kept, and every later version of the pipeline is compared with it.",
        icon=":material/fact_check:",
    )
    if st.button("Open the runs", icon=":material/play_circle:"):
        go("run")
else:
    tests.start([version for version in versions if tests.verdict(version) is None])
    if tests.left:
        _going_on(len(tests.left))
    shown = next((version for version in versions if version.test.folder.name == state.test), None)
    shown = shown or next(
        (version for version in versions if (outcome := tests.verdict(version)) and not outcome.is_same), versions[0]
    )
    grid(test_table(versions, shown.test.folder.name), key="tests", on_pick=_choose, label="Tests")
    _show(shown)
    st.caption(
        f"Tests are folders of text in {words.code(str(tests.folder))}, ready for git; "
        "`python -m engine test FOLDER` runs them in CI."
    )
