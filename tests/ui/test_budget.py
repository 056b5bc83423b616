"""The budget of each person in a shared studio, and who uses what."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract.live import Live
from engine.errors import PipelineError, RunCancelled
from engine.model.pipeline import Node, Pipeline
from engine.spark.engines import Engine, save_engine
from engine.spark.memory import HEAP_ENVIRONMENT
from storage import Store
from storage.model import RunStatus
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from ui.access.serving import (
    MOST_GB_EACH,
    MOST_MEMORY_EACH,
    MOST_RUNS_EACH,
    PEOPLE,
    CannotServe,
    Serving,
    serving_of,
)
from ui.components.engines import usage_table
from ui.runs import budget
from ui.runs import manager as managers
from ui.runs.job import Job
from ui.runs.manager import RunManager

TOKEN = "a0b1c2d3e4f5a0b1c2d3e4f5"
PIPELINE = Pipeline(name="numbers", nodes=(Node(id="numbers", operator="rows"),))


class Person:
    """Who is at the keyboard, in a studio with these limits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.name = "Ada"
        for module in (managers, budget):
            monkeypatch.setattr(module, "person", lambda: self.name)

    def is_allowed(self, **limits: float) -> None:
        how = Serving(is_shared=True, header="x-user", **limits)  # type: ignore[arg-type]
        for module in (budget, usage_table):
            self._monkeypatch.setattr(module, "serving", lambda: how)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(monkeypatch)


def go_on(job: Job, _: Store) -> None:
    job.cancel.wait()
    raise RunCancelled


def test_each_person_has_runs_of_their_own(store: Store, person: Person) -> None:
    person.is_allowed(most_runs_each=2, most_runs=3)
    manager = RunManager(store, execute=go_on)
    first = manager.start(PIPELINE, live=Live())
    manager.start(PIPELINE)
    with pytest.raises(PipelineError, match="you have 2 runs going on, and this studio allows 2 per person. Wait"):
        manager.start(PIPELINE)
    person.name = "Grace"
    manager.start(PIPELINE)
    with pytest.raises(PipelineError, match="this studio allows 3 runs at once, and 3 are running or waiting"):
        manager.start(PIPELINE)
    manager.cancel(first)
    assert manager.wait(first, 10)
    person.name = "Ada"
    manager.start(PIPELINE)
    person.name = "Grace"
    with pytest.raises(PipelineError, match="Ada has 2 runs going on, and this studio allows 2 per person"):
        manager.resume(first)
    manager.close()


def test_each_person_has_memory_for_engines(store: Store, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEAP_ENVIRONMENT, "3g")
    save_engine(Engine("twin", "local[2]"))
    save_engine(Engine("far", "sc://host:9"))
    person.is_allowed(most_memory_each=4 << 30)
    manager = RunManager(store, execute=go_on)
    manager.start(PIPELINE, master="local[2]")
    sentence = r"your runs .* 1 engine with 3g of memory .* allows 4 GB per person. Run it on local\[2\], or wait"
    with pytest.raises(PipelineError, match=sentence):
        manager.start(PIPELINE, master="local[1]")
    for master in ("twin", "far"):
        manager.start(PIPELINE, master=master)
    person.name = "Grace"
    manager.start(PIPELINE, master="local[1]")
    manager.close()


def test_each_person_has_room_in_the_store(store: Store, seeded: dict[str, int], person: Person) -> None:
    store.record(store.runs.create("of Ada", PIPELINE.to_json(), made_by="Ada").run_id)
    recording = store.runs.recordings_folder() / "run_6_to_3" / "clicks.jsonl"
    recording.parent.mkdir(parents=True)
    recording.write_bytes(b"x" * 3_000_000)
    manager = RunManager(store, execute=lambda job, store: None)
    person.is_allowed(most_bytes_each=3 << 20)
    assert manager.wait(manager.start(PIPELINE), 10)
    person.is_allowed(most_bytes_each=2 << 20)
    sentence = "your runs have 2.86 MB in the store, and this studio allows 2 MB per person. Delete runs that you no"
    with pytest.raises(PipelineError, match=sentence):
        manager.start(PIPELINE)
    person.name = "Grace"
    assert manager.wait(manager.start(PIPELINE), 10)


def test_a_run_ends_after_its_persons_minutes_and_a_live_one_goes_on(store: Store, person: Person) -> None:
    person.is_allowed(most_minutes_each=0.005)

    def go_on_until_cancelled(job: Job, _: Store) -> None:
        assert job.cancel.wait(10)
        raise job.cancel.error()

    manager = RunManager(store, execute=go_on_until_cancelled)
    live, bounded = manager.start(PIPELINE, live=Live()), manager.start(PIPELINE)
    assert manager.wait(bounded, 10)
    run = store.runs.get(bounded)
    assert (run.status, run.error) == (
        RunStatus.CANCELLED,
        "this studio allows 0.3 s per run, and this one took longer. Use fewer records, or ask whoever runs the studio "
        "for more.",
    )
    assert store.runs.get(live).goes_on
    manager.close()


def test_the_page_of_engines_tells_who_uses_what(
    store: Store, seeded: dict[str, int], person: Person, open_view: OpenView
) -> None:
    assert "Who uses what" not in [each.value for each in open_view("engines").subheader]
    manager = RunManager(store, execute=go_on)
    managers.use(manager)
    person.is_allowed(most_runs_each=2, most_bytes_each=3 << 30)
    manager.start(PIPELINE)
    app = open_view("engines")
    rows = rows_of(app, "usage")
    assert [row[:4] for row in rows] == [["without a login", "", "5", f"{records(store):,}"], ["Ada", "1", "1", "0"]]
    assert rows[0][4].endswith("MB") or rows[0][4].endswith("kB")
    assert rows[1][4] == "0 kB"
    assert any("allows each person 2 runs going on and 3 GB in the store." in each.value for each in app.caption)
    manager.close()


def records(store: Store) -> int:
    return sum(run.records for run in store.runs.list())


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({MOST_RUNS_EACH: "2"}, f"{MOST_RUNS_EACH} limits each person, and without a login nobody knows whose run"),
        ({MOST_GB_EACH: "2"}, "without a login nobody knows"),
        ({PEOPLE: "people", MOST_MEMORY_EACH: "2", HEAP_ENVIRONMENT: "4g"}, "is 2, and one engine takes 4g"),
        ({PEOPLE: "people", MOST_GB_EACH: "much"}, "'much', not a number above 0"),
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], sentence: str
) -> None:
    monkeypatch.setenv(HEAP_ENVIRONMENT, environ.get(HEAP_ENVIRONMENT, "4g"))
    with pytest.raises(CannotServe, match=sentence):
        serving_of(environ | _people(tmp_path, environ), "localhost", [])


def test_a_shared_studio_has_a_budget_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEAP_ENVIRONMENT, "4096m")
    people = _people(tmp_path, {PEOPLE: "people"})
    assert serving_of(people, "0.0.0.0", []).most_runs_each == 4
    assert serving_of(people, "localhost", []).most_runs_each is None
    how = serving_of(people | {MOST_RUNS_EACH: "2", MOST_MEMORY_EACH: "4", MOST_GB_EACH: "0.5"}, "localhost", [])
    assert (how.most_runs_each, how.most_memory_each, how.most_bytes_each) == (2, 4 << 30, 1 << 29)


def _people(folder: Path, environ: dict[str, str]) -> dict[str, str]:
    file = folder / "people"
    file.write_text(f"Ada {TOKEN}\n")
    file.chmod(0o600)
    return {PEOPLE: str(file)} if PEOPLE in environ else {}
