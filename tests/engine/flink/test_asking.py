"""Flink is asked about the gallery and queries of Nexmark: recorded answers, and a real Flink where there is one.

    CHANGELOG_STUDIO_FLINK=<python with apache-flink>  pytest tests/engine/flink [--update-golden]

A recorded answer is of exactly one question. With a Flink it is asked again; --update-golden records what it says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any, Final

import pytest

from engine.contract.cancel import Cancel
from engine.errors import EngineUnavailable, RunCancelled
from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.flink.asking import Asked, Asking
from engine.flink.comparison import Compared, Outcome, compared
from engine.flink.environment import ENVIRONMENT, VERSION, home_beside, install, python_in, remove, require_python
from engine.flink.known import FLINK_MD, KNOWN, line_of
from engine.flink.process import FlinkProcess, Session
from engine.flink.question import Question
from engine.flink.values import inserted
from engine.model.pipeline import Pipeline
from engine.model.state_ttl import with_ttl
from engine.model.type_texts import type_from
from tests.conformance.case import Case

RECORDED: Final = Path(__file__).parent / "recorded"
CASES: Final = Path(__file__).parents[2] / "conformance" / "cases"
NEXMARK: Final = ("q2", "q3", "q4", "q5", "q7", "q8", "q18", "q20")
EQUAL, OTHER_ORDER, SAME = Outcome.EQUAL, Outcome.OTHER_ORDER, Outcome.SAME_TABLE
"""By pipeline: what Flink says of each sink, or why it cannot be asked."""
SAID: Final[dict[str, dict[str, Outcome | str]]] = {
    "01-word-frequency": {"frequencies": EQUAL},
    "02-window-late-record": {"results": EQUAL},
    "03-window-lost-records": {"results": EQUAL},
    "04-window-nothing-lost": {"results": EQUAL},
    "05-window-join": {"pairs": EQUAL},
    "06-window-join-lost": {"pairs": EQUAL},
    "07-deduplication": {
        "last_by_time_rows": EQUAL,
        "first_by_time_at_once_rows": "in Flink only in mini-batch",
        "first_by_time_rows": EQUAL,
        "first_to_arrive_rows": EQUAL,
        "last_to_arrive_rows": EQUAL,
        "last_profile_rows": "no deduplication of a changelog",
    },
    "08-top-3": {"best_sellers": EQUAL},
    "09-temporal-join": {"result": "cannot be set among changes"},
    "10-word-frequency-ttl": {"frequencies": "by the machine's clock"},
    "11-join-ttl": {"shipped": "by the machine's clock"},
}


def no_spark() -> Any:
    raise AssertionError


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    found = Session()
    yield found
    found.cancel()


def asked(name: str, pipeline: Pipeline, sink: str, session: Session, update: bool) -> Asked:
    """What Flink says: recorded, or asked if there is a Flink."""
    file = RECORDED / f"{name}.{sink}.json"
    python = os.environ.get(ENVIRONMENT)

    def ask(asked: Question) -> dict[str, Any]:
        job = asked.job
        question = sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        if python:
            answer = session.ask(python, job)
            if update:
                file.write_text(json.dumps({"question": question, "answer": answer}, indent=1) + "\n", encoding="utf-8")
                return answer
            assert answer == known.get("answer")
        assert known.get("question") == question, "the question is another one than Flink was asked"
        found: dict[str, Any] = known["answer"]
        return found

    return Asking(pipeline, None, Path(), no_spark).asked(sink, ask)


@pytest.mark.parametrize(("name", "sink"), [(name, sink) for name, sinks in SAID.items() for sink in sinks])
def test_the_gallery_says_what_flink_says(
    name: str, sink: str, session: Session, request: pytest.FixtureRequest
) -> None:
    found = asked(name, examples()[name], sink, session, request.config.getoption("--update-golden"))
    said = SAID[name][sink]
    if isinstance(said, Outcome):
        assert found.compared == Compared(said), found.sentence
        assert "changelogMode" in found.plans[1]
        assert sink in found.plans[0]
    else:
        assert found.compared is None
        assert said in found.sentence


@pytest.mark.parametrize("query", NEXMARK)
def test_nexmark_says_what_flink_says(query: str, session: Session, request: pytest.FixtureRequest) -> None:
    name = f"nexmark_{query}"
    pipeline = Case.read(CASES / f"{name}.json").pipeline(TypeRules())
    update = bool(request.config.getoption("--update-golden"))
    found = asked(name, pipeline, pipeline.nodes[-1].id, session, update)
    assert found.is_equal, found.sentence


def test_every_sink_of_the_gallery_is_here() -> None:
    for name, pipeline in examples().items():
        assert list(SAID[name]) == Asking(pipeline, None, Path(), no_spark).sinks


def test_a_difference_has_both_sides_its_event_and_the_line_that_tells_it() -> None:
    """Flink's Top N is given a changelog without the -U, as its Top 1 has it (FLINK-39966)."""
    pipeline = examples()["08-top-3"]
    asking = Asking(pipeline, None, Path(), no_spark)
    (sink,) = asking.sinks
    ours = asking.asked(sink, lambda job: {"changelog": []}).ours
    found = asking.asked(sink, lambda job: {"changelog": [record for record in ours if record[0] != "-U"]})
    assert found.compared is not None
    assert not found.is_equal
    at = found.compared.at
    assert at is not None
    assert found.compared.ours == ours[at]
    assert found.compared.ours[0] == "-U"
    assert found.compared.theirs == next(record for record in ours[at:] if record[0] != "-U")
    assert found.event is not None
    assert found.known.startswith("Top 1 ordered by a value ascending")
    refused = asking.asked(sink, lambda job: {"error": "a\norg.x.ValidationException: no such column\n\tat x"})
    assert refused.sentence == f"{sink}: Flink refuses it: no such column"


def test_lines_that_are_named_stand_in_flink_md() -> None:
    lines = FLINK_MD.read_text(encoding="utf-8").splitlines()
    assert all(any(line.startswith(each.begins) for line in lines) for each in KNOWN)
    assert line_of("## Timers that are due at once") == "Timers that are due at once"


def test_only_an_order_that_flink_leaves_open_is_overlooked() -> None:
    ours, theirs = [("+I", "a", 1), ("+I", "b", 1)], [("+I", "b", 1), ("+I", "a", 1)]
    assert compared(ours, ours, is_open=False).outcome is EQUAL
    assert compared(ours, theirs, is_open=True).outcome is OTHER_ORDER
    assert compared(ours, theirs, is_open=False) == Compared(SAME, 0, ours[0], theirs[0])
    assert compared(ours, theirs[:1], is_open=True) == Compared(Outcome.DIFFERENT, 0, ours[0], theirs[0])
    upserts = [*ours, ("+U", "a", 2)]
    assert compared(upserts, [("+I", "b", 1), ("+I", "a", 2)], is_open=False, key=[0]).outcome is SAME


def test_what_cannot_be_asked_is_said_before() -> None:
    asking = Asking(with_ttl(examples()["01-word-frequency"], 1000), None, Path(), no_spark)
    found = asking.question(asking.sinks[0])
    assert isinstance(found, str)
    assert "by the machine's clock" in found


def test_without_a_flink_it_is_said_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    home = home_beside(tmp_path / "studio.duckdb")
    assert home == tmp_path / "studio.flink" / "2.3.0"
    assert python_in(home) is None
    with pytest.raises(EngineUnavailable, match="python -m engine flink install"):
        require_python(home)
    monkeypatch.setenv(ENVIRONMENT, "/opt/flink/bin/python")
    assert require_python(home) == "/opt/flink/bin/python"
    with pytest.raises(EngineUnavailable, match="cannot be started"):
        FlinkProcess(str(tmp_path / "none"))


FAKE_INSTALLER: Final = """#!/bin/sh
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit; fi
for last; do :; done
{then}
"""


def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str) -> Path:
    """An interpreter whose venv has a pip that does this; $last is what it should install. Returns Flink's home."""
    fake = tmp_path / "python"
    fake.write_text(FAKE_INSTALLER.format(then=then), encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(fake))
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    return home_beside(tmp_path / "studio.duckdb")


def test_an_installation_is_told_step_by_step_and_is_there_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = installer(tmp_path, monkeypatch, 'echo "Collecting $last"')
    told: list[str] = []
    assert install(home, told.append) == python_in(home)
    assert told == ["Collecting wheel", f"Collecting apache-flink=={VERSION}"]
    remove(home)
    assert python_in(home) is None


def test_an_installation_that_is_cancelled_ends_at_once_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pip that downloads says nothing for a long time, and may have started others."""
    pid = tmp_path / "pid"
    home = installer(tmp_path, monkeypatch, f"sleep 600 & echo $! > {pid}; echo Collecting; wait")
    cancel = Cancel()
    with pytest.raises(RunCancelled, match="cancelled"):
        install(home, lambda step: cancel.set(), cancel)
    assert not [*home.parent.iterdir()]
    assert python_in(home) is None
    for _ in range(200):
        if not Path(f"/proc/{pid.read_text().strip()}").exists():
            break
        Event().wait(0.02)
    else:
        pytest.fail("what the installer has started goes on")


def test_an_installation_that_fails_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = installer(tmp_path, monkeypatch, "echo ERROR: no matching distribution; exit 1")
    with pytest.raises(EngineUnavailable, match="cannot be installed: .*no matching distribution"):
        install(home)
    assert not [*home.parent.iterdir()]


def test_a_process_that_ends_is_an_error_and_the_next_question_starts_another(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nread line\necho noise\necho "[{\\"changelog\\": [[\\"+I\\", 1]]}]"\n', encoding="utf-8")
    fake.chmod(0o755)
    session = Session()
    assert session.ask(str(fake), {"sql": "x"}) == {"changelog": [["+I", 1]]}
    with pytest.raises(EngineUnavailable, match="Flink has ended"):
        session.ask(str(fake), {"sql": "x"})
    assert not session.is_running
    assert session.ask(str(fake), {"sql": "x"}) == {"changelog": [["+I", 1]]}


def test_a_process_without_a_question_is_ended(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nread line\necho "[{\\"changelog\\": []}]"\nread line\n', encoding="utf-8")
    fake.chmod(0o755)
    session = Session(idle_s=0.05)
    session.ask(str(fake), {})
    for _ in range(200):
        if not session.is_running:
            break
        Event().wait(0.02)
    assert not session.is_running


@pytest.mark.parametrize(
    ("value", "type_", "wanted"),
    [
        (3_000_000_000, "DOUBLE", 3e9),
        ("12.345", "DOUBLE", 12.345),
        ("Infinity", "DOUBLE", "Infinity"),
        (1.005, "DECIMAL(12, 2)", "1.01"),
        ("-0.5", "DECIMAL(12, 2)", "-0.50"),
        ("NaN", "DECIMAL(12, 2)", "NaN"),
        (7, "BIGINT", 7),
        ("7", "STRING", "7"),
        (None, "DOUBLE", None),
        (True, "DOUBLE", True),
    ],
)
def test_a_number_is_compared_as_its_sink_has_it(value: object, type_: str, wanted: object) -> None:
    found = inserted(value, type_from(type_))
    assert (found, type(found)) == (wanted, type(wanted))
