"""The first page that a new user sees."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_server import App
from tests.browser.conftest import OpenPage, wait_until_settled


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_app_opens_in_the_colours_of_the_system(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page(color_scheme=color_scheme)
    shown = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    red, green, blue = (int(part) for part in shown.strip("rgb()").split(","))
    assert (red + green + blue > 3 * 128) == (color_scheme == "light")


def test_the_title_names_the_studio(page: Page) -> None:
    expect(page).to_have_title("Changelog Studio")


def test_the_navigation_has_five_places(page: Page) -> None:
    links = page.locator(".st-key-places").get_by_role("link")
    expect(links).to_have_text([re.compile(name) for name in ("Pipelines", "Build", "Runs", "Inspect", "Query store")])


def test_a_page_without_a_run_says_what_to_do_with_the_button_that_does_it(page: Page, app: App) -> None:
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text) if message.type in ("warning", "error") else None)
    for place in ("run", "event-time", "compare", "what-if"):
        page.goto(f"{app.url}/{place}")
        expect(page.get_by_role("heading", name=re.compile("^No(thing has run| runs) yet"))).to_be_visible()
        expect(page.get_by_role("button", name="Choose a pipeline or an example")).to_be_enabled()
    wait_until_settled(page)
    page.get_by_role("button", name="Choose a pipeline or an example").click()
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    assert told == []
