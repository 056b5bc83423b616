"""A shared studio: logins, the files that sources may read, and limits."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.contract.live import Live, Wish
from engine.errors import PipelineError, RunCancelled, SourceError
from engine.model.pipeline import Node, Pipeline
from engine.python_functions import consent
from engine.reading.files.input_files import find_files
from engine.reading.files.named_folders import ENVIRONMENT, may_be_read
from engine.reading.servers import named_servers
from storage import Store
from tests.ui.conftest import OpenView
from tests.ui.held_jobs import HeldJob
from ui.access import oidc, people
from ui.access import serving as serving_module
from ui.access.login import Door
from ui.access.serving import (
    ACCESS,
    HEADER,
    LOGIN,
    MOST_GB,
    MOST_RUNS,
    PEOPLE,
    CannotServe,
    Serving,
    folders_of,
    serving_of,
)
from ui.runs import budget
from ui.runs import manager as managers
from ui.runs.job import Job
from ui.runs.manager import RunManager
from ui.shell import workspace

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a0b1c2d3e4f5a0b1c2d3e4f5"
HELD = Serving(is_shared=True, people={TOKEN: "Ada Lovelace"})
PIPELINE = Pipeline(name="numbers", nodes=(Node(id="numbers", operator="rows"),))


def written(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def sent(
    serving: Serving, path: str = "/", *, kind: str = "http", method: str = "GET", body: bytes = b"", **headers: str
) -> dict[str, Any]:
    """The first message of the login's answer; {} if the request passes."""
    answers: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        answers.append({})

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        answers.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "method": method, "path": path, "headers": raw, "scheme": "http"}
    asyncio.run(Door(app, serving)(scope, receive, send))
    first: dict[str, Any] = answers[0]
    return first


def test_only_who_has_a_token_gets_in() -> None:
    assert sent(HELD)["status"] == 401
    assert sent(HELD, kind="websocket") == {"type": "websocket.close", "code": 1008}
    assert sent(HELD, cookie=f"x=1; changelog-studio={TOKEN}") == {}
    assert sent(HELD, kind="websocket", cookie=f"changelog-studio={TOKEN}") == {}
    assert sent(HELD, cookie=f"changelog-studio={TOKEN[:-1]}")["status"] == 401
    assert sent(HELD, "/_stcore/health") == {}
    assert sent(HELD, "/_stcore/health", kind="websocket") != {}


def test_a_token_is_typed_once() -> None:
    assert sent(HELD, method="POST", body=b"token=wrong")["status"] == 401
    answer = sent(HELD, "//evil.example", method="POST", body=f"token={TOKEN}".encode())
    headers = dict(answer["headers"])
    assert (answer["status"], headers[b"location"]) == (303, b"/evil.example")
    assert headers[b"set-cookie"].startswith(f"changelog-studio={TOKEN}; Path=/; HttpOnly; SameSite=Lax".encode())
    assert b"Secure" not in headers[b"set-cookie"]
    over_tls = sent(HELD, method="POST", body=f"token={TOKEN}".encode(), x_forwarded_proto="https")
    assert dict(over_tls["headers"])[b"set-cookie"].endswith(b"; Secure")


def test_who_logs_out_has_no_token_any_more() -> None:
    answer = sent(HELD, "/auth/logout", cookie=f"changelog-studio={TOKEN}")
    headers = dict(answer["headers"])
    assert (answer["status"], headers[b"location"]) == (303, b"/")
    assert headers[b"set-cookie"] == b"changelog-studio=; Path=/; Max-Age=0"
    by_proxy = Serving(is_shared=True, header="x-user")
    assert sent(by_proxy, "/auth/logout", x_user="ada") == {}


@pytest.mark.parametrize(
    ("kept", "location"),
    [
        ("%2Frun%3Frun%3D1%26edge%3Da.out", b"/run?run=1&edge=a.out"),
        ("%2F%2Fevil.example", b"/evil.example"),
        ("%5C%5Cevil.example", b"/evil.example"),
        ("https%3A%2F%2Fevil.example", b"/https://evil.example"),
        ("%2Frun%0D%0Aset-cookie%3A%20a%3D1", None),
        ("", None),
    ],
)
def test_a_login_with_a_provider_leads_to_what_was_asked_for(
    kept: str, location: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "is_logged_in", lambda cookies: True)
    monkeypatch.setattr(oidc, "login_url", lambda: "/auth/login")
    served = Serving(is_shared=True, is_oidc=True)
    answer = sent(served, cookie=f"changelog-studio-place={kept}")
    assert dict(answer.get("headers", ())).get(b"location") == location
    assert sent(served, "/runs", cookie=f"changelog-studio-place={kept}") == {}
    assert sent(served, kind="websocket", cookie=f"changelog-studio-place={kept}") == {}


def test_what_was_asked_for_is_kept_until_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oidc, "login_url", lambda: "/auth/login")
    served = Serving(is_shared=True, is_oidc=True)
    headers = dict(sent(served, "/run", method="POST")["headers"])
    assert headers[b"location"] == b"/auth/login"
    assert headers[b"set-cookie"] == b"changelog-studio-place=%2Frun; Path=/; HttpOnly; SameSite=Lax; Max-Age=600"
    over_tls = dict(sent(served, "/run", method="POST", x_forwarded_proto="https")["headers"])
    assert over_tls[b"set-cookie"] == headers[b"set-cookie"] + b"; Secure"


def test_with_a_provider_a_token_posts_rows_and_opens_no_page() -> None:
    both = Serving(is_shared=True, people={TOKEN: "a program"}, is_oidc=True)
    assert sent(both, "/rows/clicks", method="POST", authorization=f"Bearer {TOKEN}") == {}
    assert sent(both, cookie=f"changelog-studio={TOKEN}")["status"] == 401
    assert sent(both, kind="websocket", cookie=f"changelog-studio={TOKEN}")["type"] == "websocket.close"


def test_a_provider_without_its_packages_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "authlib.integrations.starlette_client", None)
    with pytest.raises(CannotServe, match=r"needs authlib\.\S+ Install what requirements\.txt names"):
        oidc.require_provider()


@pytest.mark.parametrize(
    ("serving", "headers", "passes"),
    [
        (HELD, {}, False),
        (HELD, {"authorization": f"Bearer {TOKEN}"}, True),
        (HELD, {"cookie": f"changelog-studio={TOKEN}"}, False),
        (Serving(is_oidc=True), {}, False),
        (Serving(header="x-user"), {"x_user": "ada"}, True),
        (Serving(header="x-user"), {"x_user": " "}, False),
        (Serving(), {}, True),
    ],
)
def test_rows_are_posted_with_a_token(serving: Serving, headers: dict[str, str], passes: bool) -> None:
    assert (sent(serving, "/rows/clicks", method="POST", **headers) == {}) is passes


@pytest.mark.parametrize(
    ("environ", "address", "hosts", "sentence"),
    [
        ({}, "0.0.0.0", [], "no login is configured"),
        ({}, None, [], "no login is configured"),
        ({}, "localhost", ["studio.example.com"], "no login is configured"),
        ({LOGIN: "ldap"}, "0.0.0.0", [], "the only supported value is oidc"),
        ({HEADER: "X-User"}, "0.0.0.0", [], "anyone who reaches the app directly could forge"),
        ({MOST_RUNS: "many"}, "localhost", [], "'many', not a number"),
        ({PEOPLE: "short"}, "localhost", [], "line 2 of"),
        ({PEOPLE: "open"}, "localhost", [], "run chmod 600"),
        ({PEOPLE: "nobody"}, "localhost", [], "has no line `name token`"),
        ({PEOPLE: "missing"}, "localhost", [], "cannot be read"),
        ({PEOPLE: "shared"}, "localhost", [], "line 2 of .* gives Grace the token of Ada"),
    ],
)
def test_it_does_not_start_without_a_login_where_others_reach_it(
    tmp_path: Path, environ: dict[str, str], address: str | None, hosts: list[str], sentence: str
) -> None:
    written(tmp_path / "short", "# people\nada 123\n")
    written(tmp_path / "open", f"ada {TOKEN}\n", 0o644)
    written(tmp_path / "nobody", "\n")
    written(tmp_path / "shared", f"Ada {TOKEN}\nGrace {TOKEN}\n")
    given = {name: str(tmp_path / value) if name == PEOPLE else value for name, value in environ.items()}
    with pytest.raises(CannotServe, match=sentence):
        serving_of(given, address, hosts)


def test_it_starts_with_a_login_or_where_it_is_told_by_name(tmp_path: Path) -> None:
    file = written(tmp_path / "people", f"Ada Lovelace {TOKEN}\n")
    held = serving_of({PEOPLE: file, MOST_GB: "0.5"}, "0.0.0.0", [])
    assert (held.person_of(TOKEN), held.person_of("x"), held.most_runs, held.most_bytes) == (
        "Ada Lovelace",
        None,
        8,
        1 << 29,
    )
    assert TOKEN not in repr(held)
    assert serving_of({HEADER: "X-User"}, "localhost", ["studio.example.com"]).header == "x-user"
    assert not serving_of({ACCESS: "everybody"}, "0.0.0.0", []).has_login
    assert serving_of({}, "127.0.0.1", ["localhost"]) == Serving()


def test_the_app_says_why_it_does_not_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamlit", "run", "ui/server.py", "--server.address", "0.0.0.0"]
    command += ["--server.headless", "true", "--server.port", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "The studio does not start: others can reach the app" in done.stderr
    assert "Traceback" not in done.stderr


def test_sources_read_uploads_and_named_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, beside = tmp_path / "named", tmp_path / "beside"
    for file in (named / "a.csv", beside / "files" / "b.csv", beside / "studio.csv", tmp_path / "secret.csv"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("k\n1\n")
    (named / "link.csv").symlink_to(tmp_path / "secret.csv")
    monkeypatch.setenv(ENVIRONMENT, folders_of({ENVIRONMENT: f"{named}, s3://bucket/in"}, beside / "s.duckdb"))
    for path in (str(named / "a.csv"), "files/b.csv", str(named / "a*.csv")):
        assert find_files(path, beside, "s", [".csv"])
    elsewhere = ["studio.csv", "../secret.csv", str(tmp_path / "secret.csv"), str(named / "link.csv"), str(tmp_path)]
    for path in (*elsewhere, str(tmp_path / "sec*.csv"), str(tmp_path / "none.csv"), "s3://other/x.csv"):
        with pytest.raises(SourceError, match="is in none of the folders that this studio reads"):
            find_files(path, beside, "s", [".csv"])
    for path in ("files/a\0b.csv", str(tmp_path / "a\0b.csv"), "files/\ud800.csv", "files/a\0*.csv"):
        assert not may_be_read(Path(path))
        with pytest.raises(SourceError, match="is not a file name: it has a character that file names cannot have"):
            find_files(path, beside, "s", [".csv"])


def test_code_in_python_is_allowed_by_whoever_has_the_studio_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "_started", [])
    monkeypatch.setenv(ENVIRONMENT, "")
    monkeypatch.setenv(named_servers.ENVIRONMENT, "")
    for how, expected in ((HELD, None), (Serving(), str(tmp_path / "allowed-code.txt"))):
        monkeypatch.delenv(consent.ENVIRONMENT, raising=False)
        serving_module.start_serving(how, tmp_path / "s.duckdb")
        assert os.environ.get(consent.ENVIRONMENT) == expected
    monkeypatch.setenv(consent.ENVIRONMENT, "")
    serving_module.start_serving(Serving(), tmp_path / "s.duckdb")
    assert not consent.can_allow()
    monkeypatch.undo()
    serving_module.serving.cache_clear()


def test_no_run_starts_beyond_the_limits_of_a_shared_studio(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def go_on(job: Job, _: Store) -> None:
        job.cancel.wait()
        raise RunCancelled

    manager = RunManager(store, execute=go_on)
    monkeypatch.setattr(budget, "serving", lambda: Serving(most_runs=2))
    for _ in range(2):
        manager.start(PIPELINE)
    with pytest.raises(PipelineError, match="this studio allows 2 runs at once, and 2 are running or waiting"):
        manager.start(PIPELINE)
    manager.close()
    monkeypatch.setattr(budget, "serving", lambda: Serving(most_bytes=1))
    with pytest.raises(PipelineError, match="Delete runs that nobody needs"):
        manager.start(PIPELINE)


def test_no_live_run_is_resumed_beyond_the_limits_of_a_shared_studio(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_on(job: Job, own: Store) -> None:
        if job.live is None:
            job.cancel.wait()
            raise RunCancelled
        own.runs.stop(job.run_id)

    manager = RunManager(store, execute=go_on)
    live = manager.start(PIPELINE, live=Live())
    assert manager.wait(live, 10)
    manager.start(PIPELINE)
    monkeypatch.setattr(budget, "serving", lambda: Serving(most_runs=1))
    with pytest.raises(PipelineError, match="this studio allows 1 run at once, and 1 is running or waiting"):
        manager.resume(live)
    monkeypatch.setattr(budget, "serving", lambda: Serving(most_bytes=1))
    with pytest.raises(PipelineError, match="Delete runs that nobody needs"):
        manager.resume(live)
    assert store.runs.get(live).can_resume
    manager.close()


def test_a_live_run_whose_first_job_is_not_over_yet_is_resumed_at_the_limit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = HeldJob()
    manager = RunManager(store, execute=work)
    live = manager.start(PIPELINE, live=Live())
    assert work.has_stopped.wait(10)
    monkeypatch.setattr(budget, "serving", lambda: Serving(most_runs=1))
    try:
        manager.resume(live)
    finally:
        work.may_end.set()
    assert manager.wait(live, 10)


@pytest.fixture
def others_run(store: Store) -> int:
    run = store.runs.create("of Ada", PIPELINE.to_json(), engine="local[2]", made_by="Ada <b>")
    store.runs.fail(run.run_id, "cut short.")
    return run.run_id


def test_what_another_made_is_deleted_only_after_a_second_question(others_run: int, open_view: OpenView) -> None:
    app = open_view("run", run=others_run)
    assert any("by Ada" in caption.value for caption in app.caption)
    app.button(key="run-delete").click().run()
    assert app.button(key="run-delete-sure").disabled
    assert app.checkbox(key="run-delete-agreed").label == "This belongs to Ada \\<b>. Do it anyway"
    saved = workspace.store().pipelines.save(PIPELINE.to_json(), name="p", made_by="Ada")
    app = open_view("gallery")
    assert app.button(key=f"p{saved.pipeline_id}|delete").disabled
    app.checkbox(key=f"p{saved.pipeline_id}|agreed").check().run()
    assert not app.button(key=f"p{saved.pipeline_id}|delete").disabled


def test_a_live_run_of_another_is_stopped_and_ended_only_after_a_second_question(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_on(job: Job, _: Store) -> None:
        assert job.live is not None
        while job.live.control.wait(60) is not Wish.STOP:
            pass

    manager = RunManager(store, execute=go_on)
    managers.use(manager)
    with monkeypatch.context() as her:
        her.setattr(managers, "person", lambda: "Ada")
        run_id = manager.start(PIPELINE, live=Live())
    app = open_view("run", run=run_id)
    assert not app.button(key="live-pause").disabled
    assert [app.button(key=f"live-{what}").disabled for what in ("stop", "end")] == [True, True]
    app.checkbox(key="live-stop-agreed").check().run()
    assert [app.button(key=f"live-{what}").disabled for what in ("stop", "end")] == [False, False]
    app.button(key="live-stop").click().run()
    assert manager.wait(run_id, 30)


def test_runs_and_versions_are_kept_with_who_made_them(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managers, "person", lambda: "Ada Lovelace")
    manager = RunManager(store, execute=lambda job, store: None)
    run_id = manager.start(PIPELINE)
    assert manager.wait(run_id, 10)
    assert store.runs.get(run_id).made_by == "Ada Lovelace"
    saved = store.pipelines.save("{}", name="p", made_by="Ada Lovelace")
    store.pipelines.save('{"a": 1}', name="p", pipeline_id=saved.pipeline_id, made_by="Grace")
    assert [version.made_by for version in store.pipelines.versions(saved.pipeline_id)] == ["Grace", "Ada Lovelace"]
    assert store.pipelines.list()[0].made_by == "Ada Lovelace"


def test_a_person_is_who_the_door_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(cookies={"changelog-studio": TOKEN}, headers={"x-user": "grace"})
    user = SimpleNamespace(is_logged_in=True, get={"email": "joan@example.com"}.get)
    monkeypatch.setattr(people, "st", SimpleNamespace(context=context, user=user))
    for how, name in (
        (HELD, "Ada Lovelace"),
        (Serving(header="x-user"), "grace"),
        (Serving(is_oidc=True), "joan@example.com"),
    ):
        monkeypatch.setattr(people, "serving", lambda how=how: how)
        assert people.person() == name
        assert people.is_anothers("somebody")
        assert not people.is_anothers(name)
        assert not people.is_anothers("")
