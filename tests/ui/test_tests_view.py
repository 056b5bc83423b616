"""The page Tests, the form that keeps a run, what stands beside the canvas, and what Flink says on a run's page."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from time import monotonic, sleep
from typing import cast

import pytest
from streamlit.testing.v1 import AppTest

from engine.errors import PipelineError
from engine.examples import examples
from engine.flink.asking import Asked
from engine.flink.comparison import Compared, Outcome
from engine.flink.environment import ENVIRONMENT
from engine.flink.places import Installed
from engine.flink.process import Session
from engine.kept.kept_test import KeptTest
from engine.kept.manifest import Wanted
from engine.kept.packed import packed, unpacked
from engine.model.pipeline import Pipeline
from storage import Store
from tests.storage.local_runs import run_locally
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from ui.runs import flink_answers
from ui.runs.flink_answers import answers
from ui.runs.kept_tests import Version, kept_tests
from ui.shell import workspace

LATE = examples()["02-window-late-record"]


def patient() -> Pipeline:
    """The example with a longer delay: no record is lost."""
    events = LATE.node("events")
    changed = events.with_parameters({**events.parameters, "watermark_delay_ms": 60_000})
    return LATE.model_copy(update={"nodes": tuple(changed if node.id == "events" else node for node in LATE.nodes)})


@pytest.fixture
def test(store: Store) -> KeptTest:
    run = run_locally(store, workspace.folder(), LATE)
    wanted = Wanted(name="A late record", edges=("results",), words="Record 6 is lost.")
    return kept_tests().keep(store.runs.get(run), wanted, None)


def has_run() -> None:
    until = monotonic() + 30
    while kept_tests().left and monotonic() < until:
        sleep(0.02)
    assert not kept_tests().left


def badges(app: AppTest) -> list[str]:
    return [row[0] for row in rows_of(app, "tests")]


def test_without_tests_the_page_says_how_to_keep_one(store: Store, open_view: OpenView) -> None:
    app = open_view("tests")
    assert any("press **Keep as test**" in info.value for info in app.info)


def test_a_test_is_green_then_red_with_its_difference_and_green_once_accepted(
    store: Store, open_view: OpenView, test: KeptTest
) -> None:
    kept_tests().start([kept_tests().version(test)])
    has_run()
    app = open_view("tests")
    assert rows_of(app, "tests") == [
        ["as expected", "A late record", "Record 6 is lost.", "the changelog", "results", "6"]
    ]
    assert not [button for button in app.button if button.key == "test-accept"]
    verdict = Version(test, patient())
    kept_tests().start([verdict])
    has_run()
    found = kept_tests().verdict(verdict)
    assert found is not None
    (difference,) = found.differences
    assert difference.event is not None
    # The folder has another version now: the page tests it, and offers to accept what it gives.
    (test.folder / "pipeline.json").write_text(patient().to_json(), encoding="utf-8")
    kept_tests().start([kept_tests().version(test)])
    has_run()
    app = open_view("tests")
    assert badges(app) == ["changed"]
    assert {row[0] for row in rows_of(app, "test-results")} >= {"expected", "got"}
    app.button(key="test-accept").click().run()
    has_run()
    assert badges(open_view("tests")) == ["as expected"]


def test_a_run_is_kept_by_the_form(store: Store, open_view: OpenView) -> None:
    run = run_locally(store, workspace.folder(), LATE)
    app = open_view("run", run=run)
    app.button(key="keep-as-test").click().run()
    app.text_input(key="keep-name").set_value("Late / again!")
    app.radio(key="keep-expects").set_value("The final table")
    app.button(key="keep-now").click().run()
    (kept,) = kept_tests().all()
    assert (kept.folder.name, kept.name, kept.manifest.expects) == ("late-again", "Late / again!", "table")
    assert kept.manifest.edges == ("results", "windows.late")
    assert kept.records == 6


def test_a_zip_of_a_test_is_taken_in_and_nothing_else(test: KeptTest, tmp_path: Path) -> None:
    again = unpacked(packed(test), tmp_path / "again")
    assert again.manifest == test.manifest
    assert again.expected() == test.expected()
    with pytest.raises(PipelineError, match="no zip of a kept test"):
        unpacked(b"PK", tmp_path / "other")
    spoilt = bytearray(packed(test))
    content = 30 + int.from_bytes(spoilt[26:28], "little")  # behind the first file's header and name
    spoilt[content : content + 4] = b"\xff" * 4
    with pytest.raises(PipelineError, match="no zip of a kept test"):
        unpacked(bytes(spoilt), tmp_path / "other")
    data = io.BytesIO(packed(test))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("../outside.jsonl", "x")
        archive.writestr("sources/../../outside.jsonl", "x")
    unpacked(data.getvalue(), tmp_path / "third")
    assert not (tmp_path / "outside.jsonl").exists()
    text = test.manifest.model_copy(update={"pipeline": "../secret.json"}).to_json()
    (again.folder / "test.json").write_text(text, encoding="utf-8")
    with pytest.raises(PipelineError, match="its pipeline elsewhere"):
        unpacked(packed(again), tmp_path / "fourth")


def test_what_flink_said_is_on_the_page_of_the_run(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_locally(store, workspace.folder(), LATE)
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert not [button for button in open_view("run", run=run).button if button.key == "ask-flink"]
    monkeypatch.setenv(ENVIRONMENT, "/opt/flink/bin/python")
    assert "Ask Flink" in [button.label for button in open_view("run", run=run).button]
    ours, theirs = ("+I", "a", 1000), ("+I", "a", 2000)
    differs = Compared(Outcome.DIFFERENT, 0, ours, theirs)
    answers().found[run] = (
        Asked("results", ("k", "n"), Compared(Outcome.EQUAL), (ours,), (ours,), plans=("our plan", "their plan")),
        Asked(
            "others",
            ("k", "n"),
            differs,
            (ours,),
            (theirs,),
            event=3,
            known="Top N with an offset",
            moments=frozenset(["n"]),
        ),
        Asked("third", reason="state expires."),
    )
    app = open_view("run", run=run)
    assert any("Flink says the same" in success.value for success in app.success)
    assert any("others: different (1 record of Flink, 1 of ours, first at event 3)" in e.value for e in app.error)
    assert rows_of(app, "flink-others") == [
        ["here", "+I", "a", "1970-01-01 00:00:01"],
        ["Flink", "+I", "a", "1970-01-01 00:00:02"],
    ]
    assert any("Top N with an offset" in caption.value for caption in app.caption)
    assert any("third: Flink was not asked" in info.value for info in app.info)


def test_flink_is_asked_in_the_background(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store.runs.get(run_locally(store, workspace.folder(), LATE))

    class Silent:
        is_running = True

        def ask(self, python: str, job: object) -> dict[str, object]:
            return {"error": "x.ValidationException: no such function"}

    monkeypatch.setenv(ENVIRONMENT, "/opt/flink/bin/python")
    monkeypatch.setattr(flink_answers, "place", lambda home: Installed("python", cast(Session, Silent())))
    answers().ask(run)
    until = monotonic() + 30
    while run.run_id in answers().going_on and monotonic() < until:
        sleep(0.02)
    (asked,) = answers().found[run.run_id]
    assert isinstance(asked, Asked)
    assert asked.sentence == "results: Flink refuses it: no such function"
