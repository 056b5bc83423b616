"""Beside the canvas: how many of the pipeline's tests the current edit changes."""

from __future__ import annotations

import streamlit as st

from ui.builder.drafting import Drafting
from ui.runs.kept_tests import Version, kept_tests
from ui.shell.guard import guarded, guarded_fragment
from ui.shell.navigation import lead_to
from ui.shell.state import state


def tests_beside(drafting: Drafting) -> None:
    """Run the tests of the pipeline on the document as it is now, and say how many are not as expected."""
    tests = kept_tests()
    versions = [Version(test, drafting.pipeline) for test in tests.of(drafting.identity)]
    if not versions:
        return
    tests.start(versions)
    if all(tests.verdict(version) is not None for version in versions):
        _say(versions)
    else:
        _wait(versions)


@guarded_fragment(run_every=1.0)
def _wait(versions: list[Version]) -> None:
    if not kept_tests().left:
        st.rerun()
    st.caption(f":material/hourglass_top: running {len(versions)} test{'s' * (len(versions) > 1)}")


def _say(versions: list[Version]) -> None:
    verdicts = [(version, kept_tests().verdict(version)) for version in versions]
    changed = [version for version, verdict in verdicts if verdict is not None and not verdict.is_same]
    number = f"{len(versions)} test{'s' * (len(versions) > 1)}"
    if not changed:
        st.caption(f":green[:material/check_circle:] {number} as expected")
        return
    st.button(
        f"{len(changed)} of {number} changed: see the first",
        key="tests-changed",
        icon=":material/difference:",
        on_click=guarded(_open),
        args=(changed[0].test.folder.name,),
    )


def _open(folder: str) -> None:
    state.hold(test=folder)
    lead_to("tests")
