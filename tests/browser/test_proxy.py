"""The studio behind nginx, with the configuration of ui/SERVING.md, and two people at once."""

from __future__ import annotations

import base64
import http.client
import re
import socket
import ssl
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from storage import Store
from tests.browser.app_server import running_app
from tests.browser.conftest import NewPerson, wait_until_settled
from tests.browser.lasting import LASTING
from tests.browser.nginx import NAME, running_nginx
from tests.browser.run_page import run_again
from tests.serving import serving

ADA, GRACE = "a0b1c2d3e4f5a0b1c2d3e4f5", "b0b1c2d3e4f5a0b1c2d3e4f5"
OPTIONS = ("--server.allowedHosts", NAME)
ROWS = b'[{"k": 1}]'
JSON = {"content-type": "application/json"}


def test_two_people_work_behind_a_proxy_with_tokens(new_person: NewPerson, tmp_path: Path) -> None:
    lasting_of_ada(tmp_path)
    people = tmp_path / "people"
    people.write_text(f"Ada {ADA}\nGrace {GRACE}\n")
    people.chmod(0o600)
    served = {"CHANGELOG_STUDIO_PEOPLE": str(people), "CHANGELOG_STUDIO_MOST_RUNS": "1"}
    with (
        running_app(tmp_path, "local[2]", served, OPTIONS) as app,
        running_nginx(tmp_path / "nginx", app.url) as port,
    ):
        who_is_refused(port)
        ada, grace = new_person(), new_person()
        page = logged_in(ada, port, ADA)
        (kept,) = [each for each in ada.cookies() if each["name"] == "changelog-studio"]
        assert (kept["secure"], kept["httpOnly"], kept["sameSite"]) == (True, True, "Lax")
        assert not opens_a_socket(port, "https://evil.example", ADA)
        assert opens_a_socket(port, f"https://{NAME}:{port}", ADA)
        a_file_is_taken(ada, port, tmp_path)
        run_again(page)
        expect(page.get_by_role("button", name="Cancel the run")).to_be_enabled()
        theirs = logged_in(grace, port, GRACE)
        run_again(theirs)
        expect(
            theirs.get_by_text("this studio allows 1 run at once, and 1 is running or waiting").first
        ).to_be_visible()
        theirs.goto(f"https://{NAME}:{port}/run?run=2")
        cancel = theirs.get_by_role("button", name="Cancel the run")
        expect(cancel).to_be_disabled()
        theirs.get_by_text("This belongs to Ada. Do it anyway").click()
        expect(cancel).to_be_enabled()
        cancel.click()
        expect(theirs.get_by_role("region", name="All runs").locator("tbody tr").first).to_contain_text("cancelled")
    with Store.open(tmp_path / "studio.duckdb") as store:
        assert [(run.run_id, run.made_by) for run in store.runs.list()] == [(2, "Ada"), (1, "Ada")]


def test_a_proxy_that_logs_people_in_says_who_they_are(new_person: NewPerson, tmp_path: Path) -> None:
    lasting_of_ada(tmp_path)
    served = {"CHANGELOG_STUDIO_USER_HEADER": "X-Forwarded-User"}
    passwords = "Ada:{PLAIN}one\nGrace:{PLAIN}two\n"
    with (
        running_app(tmp_path, "local[2]", served, OPTIONS) as app,
        running_nginx(tmp_path / "nginx", app.url, passwords) as port,
    ):
        assert asked(port, "GET", "/") == 401
        assert asked(port, "GET", "/", headers={"X-Forwarded-User": "Ada"}) == 401
        basic = base64.b64encode(b"Grace:two").decode()
        assert asked(port, "POST", "/rows/clicks", ROWS, JSON | {"Authorization": f"Basic {basic}"}) == 200
        page = new_person().new_page()
        page.goto(f"https://Grace:two@{NAME}:{port}/_stcore/health")
        page.goto(f"https://{NAME}:{port}/run?run=1")
        wait_until_settled(page)
        expect(page.get_by_text(re.compile("by Ada"))).to_be_visible()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text("This belongs to Ada. Do it anyway")).to_be_visible()


class Told(BaseHTTPRequestHandler):
    """Answers with the user that the proxy names."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(self.headers.get_all("X-Forwarded-User", [])).encode())

    def log_message(self, *_: Any) -> None:
        """Write no log of requests: tests do not need it."""


@pytest.mark.parametrize(("passwords", "told"), [("", "[]"), ("Grace:{PLAIN}two\n", "['Grace']")])
def test_what_a_browser_says_of_itself_does_not_get_through(tmp_path: Path, passwords: str, told: str) -> None:
    server = HTTPServer(("127.0.0.1", 0), Told)
    with (
        serving(server),
        running_nginx(tmp_path / "nginx", f"http://127.0.0.1:{server.server_port}", passwords) as port,
    ):
        basic = base64.b64encode(b"Grace:two").decode()
        said = {
            "Host": NAME,
            "Authorization": f"Basic {basic}",
            "X-Forwarded-User": "Ada",
            "x-forwarded-user": "Ada",
        }
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=unverified(), timeout=30)
        connection.request("GET", "/", headers=said)
        assert connection.getresponse().read().decode() == told
        connection.close()


def lasting_of_ada(folder: Path) -> None:
    with Store.open(folder / "studio.duckdb") as store:
        run = store.runs.create("Lasting", LASTING.to_json(), made_by="Ada")
        store.runs.fail(run.run_id, "cut short.")


def who_is_refused(port: int) -> None:
    bearer = JSON | {"Authorization": f"Bearer {ADA}"}
    assert asked(port, "GET", "/run?run=1") == 401
    assert asked(port, "GET", "/", headers={"X-Forwarded-User": "Ada"}) == 401
    assert asked(port, "GET", "/", headers={"Host": "evil.example"}) == 403
    assert asked(port, "POST", "/rows/clicks", ROWS, JSON) == 401
    assert asked(port, "POST", "/rows/clicks", ROWS, bearer | {"Origin": "https://evil.example"}) == 403
    assert asked(port, "POST", "/rows/clicks", ROWS, bearer) == 200


def asked(port: int, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> int:
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=unverified(), timeout=30)
    connection.request(method, path, body, {"Host": f"{NAME}:{port}"} | (headers or {}))
    status = connection.getresponse().status
    connection.close()
    return status


def unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def opens_a_socket(port: int, origin: str, token: str) -> bool:
    headers = {"cookie": f"changelog-studio={token}"}
    url = f"wss://{NAME}:{port}/_stcore/stream"
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        try:
            with connect(url, sock=sock, ssl=unverified(), origin=origin, additional_headers=headers):  # type: ignore[arg-type]
                return True
        except InvalidStatus:
            return False


def logged_in(person: BrowserContext, port: int, token: str) -> Page:
    page = person.new_page()
    page.goto(f"https://{NAME}:{port}/run?run=1")
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    wait_until_settled(page)
    assert page.url == f"https://{NAME}:{port}/run?run=1"
    return page


def a_file_is_taken(person: BrowserContext, port: int, folder: Path) -> None:
    (folder / "orders.csv").write_text("order_id,amount\n1,10\n2,20\n")
    page = person.new_page()
    page.goto(f"https://{NAME}:{port}/")
    wait_until_settled(page)
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(folder / "orders.csv")
    page.wait_for_url("**/build?**")
    expect(page.get_by_text("order_id,amount")).to_be_visible()
    page.close()
