"""Engines in the browser: added, tested, changed, removed, and a run on the second one beside the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import open_example, start_run
from tests.browser.conftest import OpenPage, press, rows, wait_until_settled
from tests.storage.staying_runs import files_in

TEST_TIMEOUT_MS = 120_000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running_app(tmp_path_factory.mktemp("app"), "local[2]") as running:
        yield running


def field(page: Page, label: str) -> Locator:
    return page.get_by_role("textbox", name=label, exact=True)


def of_engine(page: Page, action: str, name: str) -> Locator:
    """A button of one engine."""
    return page.locator(f"[class*='st-key-engine-{action}-{name}'] button").first


def added(page: Page, name: str, address: str) -> None:
    press(page, "Add an engine")
    field(page, "Name").fill(name)
    field(page, "Address").fill(address)
    # The field was not blurred before: its last input counts all the same.
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("A new engine")).to_have_count(0)
    wait_until_settled(page)


def removed(page: Page, name: str) -> None:
    of_engine(page, "remove", name).click()
    page.get_by_role("button", name="Remove the engine").click()
    expect(of_engine(page, "remove", name)).to_have_count(0)
    wait_until_settled(page)


def test_a_server_that_is_not_there_is_a_sentence_and_its_token_is_nowhere(open_page: OpenPage, app: App) -> None:
    page = open_page("engines")
    added(page, "far", "sc://localhost:1/;token=s3cret-token")
    expect(page.get_by_text("a token is kept")).to_be_visible()
    of_engine(page, "test", "far").click()
    # Addresses are not links: they contain an invisible character.
    expect(page.get_by_text(re.compile("There is no Spark Connect server at sc:.?//localhost:1"))).to_be_visible()
    expect(page.get_by_text("Pipelines cannot run here yet")).to_be_visible()
    of_engine(page, "edit", "far").click()
    expect(field(page, "Token")).to_have_value("")
    assert "s3cret" not in page.content() + page.url
    assert "s3cret" not in app.log.read_text(errors="replace")
    field(page, "Name").fill("farther")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(of_engine(page, "edit", "farther")).to_be_visible()
    expect(page.get_by_text("a token is kept")).to_be_visible()
    removed(page, "farther")
    expect(page.get_by_text("Add another engine to run where")).to_be_visible()


def test_what_is_wrong_is_said_at_its_field_and_put_right_with_the_keyboard(open_page: OpenPage) -> None:
    page = open_page("engines")
    press(page, "Add an engine")
    field(page, "Address").fill("https://host")
    press(page, "Save")
    expect(page.get_by_text("Enter a name")).to_be_visible()
    expect(page.get_by_text("This is the address of a web page")).to_be_visible()
    field(page, "Name").focus()
    page.keyboard.type("far")
    field(page, "Address").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("sc://host:9/;token=s3cret;use_ssl=true")
    page.keyboard.press("Enter")
    # The token and TLS of the address are in their own fields.
    expect(field(page, "Address")).to_have_value("sc://host:9")
    expect(page.get_by_label("Token", exact=True)).to_have_value("s3cret")
    expect(page.get_by_role("checkbox", name="Encrypt the connection (TLS)")).to_be_checked()
    press(page, "Cancel")
    expect(field(page, "Name")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_embedded_engine_is_found_good(open_page: OpenPage, scheme: Literal["light", "dark"]) -> None:
    page = open_page("engines", color_scheme=scheme)
    expect(page.get_by_role("button", name="Remove")).to_have_count(0)
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text("Ready for pipelines")).to_be_visible(timeout=TEST_TIMEOUT_MS)
    for topic in ("Connection", "Spark", "Python", "Cores", "Files"):
        expect(page.get_by_text(f"{topic}:")).to_be_visible()
    expect(page.get_by_text("2 tasks at once.")).to_be_visible()
    # The findings are still there after the page is opened again.
    page.goto(page.url)
    expect(page.get_by_text("Ready for pipelines")).to_be_visible()


def run_on(page: Page, engine: str) -> None:
    """Run an example on an engine."""
    page.get_by_role("link", name="Pipelines").click()
    wait_until_settled(page)
    open_example(page, "Word frequency")
    choice = page.get_by_role("combobox", name="Engine")
    expect(choice).to_be_visible()
    wait_until_settled(page)
    choice.click()
    page.get_by_role("option", name=engine).click()
    wait_until_settled(page)
    start_run(page)


def test_a_run_on_a_second_engine_says_so(open_page: OpenPage) -> None:
    page = open_page("engines")
    added(page, "one core", "local[1]")
    run_on(page, "one core")
    expect(page.get_by_text("Run 1 finished")).to_be_visible(timeout=TEST_TIMEOUT_MS)
    expect(page.get_by_text("on one core")).to_be_visible()
    page.get_by_role("button", name="Open the run").click()
    expect(page.get_by_text("on one core")).to_be_visible()
    expect(rows(page, "All runs").first).to_contain_text("one core")
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_test_id("stPopoverBody").get_by_role("combobox", name="Engine")).to_have_value("one core")


def test_changelogs_of_a_run_stay_in_the_workspace_and_its_pages_read_them_there(
    open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page("engines")
    press(page, "Add an engine")
    name = f"stays in {tmp_path.name}"
    field(page, "Name").fill(name)
    field(page, "Address").fill("local[2]")
    field(page, "Workspace").fill(str(tmp_path / "workspace"))
    page.get_by_text("Changelogs of bounded runs stay there").click()
    press(page, "Save")
    expect(page.get_by_text("changelogs stay there").first).to_be_visible()
    run_on(page, name)
    expect(page.get_by_text(re.compile(r"Run \d+ finished"))).to_be_visible(timeout=TEST_TIMEOUT_MS)
    page.get_by_role("button", name="Open the run").click()
    expect(page.get_by_text("The changelogs of this run stay in the workspace of its engine")).to_be_visible()
    assert len(files_in(tmp_path / "workspace")) > 1
    run = re.search(r"run=(\d+)", page.url)
    assert run is not None
    page = open_page(f"changelog?run={run[1]}")
    expect(rows(page, "Changelog").first).to_be_visible()
