"""The findings of an engine's test so far, one per line: icon, sentence and advice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import streamlit as st

from engine.spark.engines import Engine
from ui.engines.engine_tests import TOPICS, EngineTest
from ui.shell import words
from ui.shell.guard import as_sentence, guarded_fragment

if TYPE_CHECKING:
    from engine.spark.probing import Finding

_REFRESH_S: Final = 0.5
_SIGNS: Final = {
    "good": ":green[:material/check_circle:]",
    "doubtful": ":orange[:material/warning:]",
    "broken": ":red[:material/error:]",
}
_WORDS: Final = {
    "reach": "Connection",
    "spark": "Spark",
    "python": "Python",
    "compiler": "Compiler",
    "cores": "Cores",
    "workspace": "Files",
}
_ASKED: Final = {
    "reach": "connecting",
    "spark": "asking for the version of Spark",
    "python": "asking the workers for their Python",
    "compiler": "compiling a rule",
    "cores": "counting the cores",
    "workspace": "writing a file and reading it back",
}


def engine_findings(test: EngineTest, *, is_running: bool, stop: Callable[[Engine], None]) -> None:
    """Draw the findings, and refresh them while the test runs. stop: ends the test."""
    if is_running:
        _going_on(test, stop)
    else:
        _findings(test)
        st.caption(_conclusion(test))


@guarded_fragment(run_every=_REFRESH_S)
def _going_on(test: EngineTest, stop: Callable[[Engine], None]) -> None:
    if test.ended is not None:
        st.rerun()
    _findings(test)
    done = min(len({finding.topic for finding in test.findings}) / len(TOPICS), 1.0)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(done, text=f"{_ASKED[test.next_topic]} · {test.seconds:.0f} s")
        name = test.engine.name
        st.button("Stop the test", key=f"engine-stop|{name}", type="tertiary", on_click=stop, args=(test.engine,))


def _findings(test: EngineTest) -> None:
    if test.findings:
        st.markdown("  \n".join(map(_line, test.findings)))


def _line(finding: Finding) -> str:
    topic = _WORDS.get(finding.topic, finding.topic)
    line = f"{_SIGNS[finding.fit.value]} **{topic}**: {as_sentence(finding.sentence)}"
    # The advice has its own line below the sentence.
    advice = f"  \n:small[:material/subdirectory_arrow_right: {as_sentence(finding.advice)}]" if finding.advice else ""
    return f"{line}{advice}"


def _conclusion(test: EngineTest) -> str:
    fits = [finding.fit.value for finding in test.findings]
    took = f"tested in {words.elapsed(test.seconds)}"
    if test.is_stopped:
        return f"The test was stopped · {took}"
    if "broken" in fits:
        return f"Pipelines cannot run here yet · {took}"
    if "doubtful" in fits:
        return f"Pipelines run here, with the warnings above · {took}"
    return f"Ready for pipelines · {took}"
