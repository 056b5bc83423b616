"""The studio behind an OpenID Connect provider: nothing before the login, names after it, nothing after the log-out."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import NewPerson, wait_until_settled
from tests.browser.lasting import LASTING
from tests.browser.openid_provider import CLIENT, SECRET, Provider, running_provider
from tests.browser.run_page import run_again

COOKIE = "_streamlit_user"
CLOSED = (
    "GET /",
    "GET /run?run=1",
    "GET /media/0123456789abcdef.csv",
    "GET /component/changelog_studio_canvas/index.html",
    "GET /static/js/index.js",
    "GET /_stcore/host-config",
    "GET /_stcore/script-health-check",
    "PUT /_stcore/upload_file/session/file",
    "DELETE /_stcore/upload_file/session/file",
    "POST /rows/clicks",
    "GET /auth/login/../../_stcore/host-config",
    "GET /oauth2callback/",
)


def secrets_of(provider: Provider) -> str:
    return f"""[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "{CLIENT}"
client_secret = "{SECRET}"
server_metadata_url = "{provider.url}/.well-known/openid-configuration"
"""


def test_nothing_of_the_studio_is_there_before_the_login_nor_after_the_log_out(
    new_person: NewPerson, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        theirs = store.runs.create("Grace's numbers", LASTING.to_json(), made_by="grace@example.com")
        store.runs.fail(theirs.run_id, "cut short.")
    with running_provider() as provider:
        (tmp_path / "secrets.toml").write_text(secrets_of(provider))
        served = {"CHANGELOG_STUDIO_LOGIN": "oidc"}
        options = ("--secrets.files", str(tmp_path / "secrets.toml"))
        with running_app(tmp_path, "local[2]", served, options) as app:
            ada = new_person()
            nothing_answers(ada, app)
            page = ada.new_page()
            for wrong in ("expired", "forged", "replayed", "another's"):
                provider.wrong = wrong
                log_in(page, app, "ada")
                expect(page.get_by_role("button", name="Log in")).to_be_visible()
                assert not cookie(ada), wrong
            provider.wrong = ""
            log_in(page, app, "ada")
            what_is_made_has_a_name(page, app)
            a_changed_cookie_is_none(ada, app, new_person())
            page.get_by_role("button", name="Account").click()
            expect(page.get_by_text("ada@example.com", exact=True)).to_be_visible()
            # The old page also offers the login, for a moment before the browser leaves it.
            with page.expect_response("**/auth/logout"):
                page.get_by_role("button", name="Log out").click()
            expect(page.get_by_role("button", name="Log in")).to_be_visible()
            assert page.url.startswith(app.url)
            assert not cookie(ada)
            nothing_answers(ada, app)
        assert not provider.problems
    with Store.open(tmp_path / "studio.duckdb") as store:
        assert [run.made_by for run in store.runs.list()] == ["ada@example.com", "grace@example.com"]


def nothing_answers(person: BrowserContext, app: App) -> None:
    for request in CLOSED:
        method, _, path = request.partition(" ")
        answer = person.request.fetch(f"{app.url}{path}", method=method, max_redirects=0)
        assert answer.status == 401, f"{request}: {answer.status}"
        assert "Grace" not in answer.text()
    away = person.request.post(f"{app.url}//evil.example/x", max_redirects=0)
    assert (away.status, away.headers["location"].split("?")[0]) == (303, "/auth/login")
    assert not opens_a_socket(app, "")


def log_in(page: Page, app: App, name: str) -> None:
    page.goto(f"{app.url}/run?run=1")
    expect(page.get_by_text("Grace's numbers")).to_have_count(0)
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{app.url}/**")


def what_is_made_has_a_name(page: Page, app: App) -> None:
    expect(page).to_have_url(f"{app.url}/run?run=1")
    wait_until_settled(page)
    expect(page.get_by_text("by grace@example.com")).to_be_visible()
    run_again(page)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()


def a_changed_cookie_is_none(person: BrowserContext, app: App, forger: BrowserContext) -> None:
    signed = cookie(person)
    assert opens_a_socket(app, f"{COOKIE}={signed}")
    payload, _, signature = signed.partition(".")
    for changed in (
        f"{payload}A.{signature}",
        f"{payload}.{signature[:-3]}AAA",
        payload,
        '{"is_logged_in": true}',
        "2",
    ):
        assert not opens_a_socket(app, f"{COOKIE}={changed}")
        answer = forger.request.get(f"{app.url}/_stcore/host-config", headers={"cookie": f"{COOKIE}={changed}"})
        assert answer.status == 401


def cookie(person: BrowserContext) -> str:
    return "".join(each["value"] for each in person.cookies() if each["name"] == COOKIE)


def opens_a_socket(app: App, cookies: str) -> bool:
    url = app.url.replace("http", "ws", 1) + "/_stcore/stream"
    try:
        with connect(url, origin=app.url, additional_headers={"cookie": cookies}):  # type: ignore[arg-type]
            return True
    except InvalidStatus:
        return False


@pytest.mark.parametrize(
    ("auth", "sentence"),
    [
        ("", "you need to configure credentials"),
        ("[auth]\nredirect_uri = 'http://localhost:8501/oauth2callback'\n", 'missing the "cookie_secret" key'),
        (
            "[auth]\nredirect_uri = 'http://localhost:8501/oauth2callback'\ncookie_secret = 'xxx'\nclient_id = 'a'\n"
            "client_secret = 'b'\nserver_metadata_url = 'http://127.0.0.1:1/c'\n",
            "cookie_secret in .streamlit/secrets.toml has fewer than 20 characters",
        ),
    ],
)
def test_a_login_that_cannot_work_is_said_at_the_start(tmp_path: Path, auth: str, sentence: str) -> None:
    (tmp_path / "secrets.toml").write_text(auth)
    served, options = {"CHANGELOG_STUDIO_LOGIN": "oidc"}, ("--secrets.files", str(tmp_path / "secrets.toml"))
    with pytest.raises(RuntimeError, match="did not start") as refusal, running_app(tmp_path, None, served, options):
        pass
    said = " ".join(str(refusal.value).split())
    assert "The studio does not start: CHANGELOG_STUDIO_LOGIN=oidc" in said
    assert sentence in said
    assert "Traceback" not in said
