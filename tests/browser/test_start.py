"""The first thing that a newcomer sees."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage


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
    expect(links).to_have_text([re.compile(name) for name in ("Pipelines", "Build", "Runs", "Inspect", "SQL")])
