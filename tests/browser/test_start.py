"""The first thing that a newcomer sees."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, wait_until_settled


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_app_opens_in_the_colours_of_the_system(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page(color_scheme=color_scheme)
    shown = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    red, green, blue = (int(part) for part in shown.strip("rgb()").split(","))
    assert (red + green + blue > 3 * 128) == (color_scheme == "light")


def test_the_title_names_the_studio(page: Page) -> None:
    expect(page).to_have_title("Changelog Studio")


def test_nothing_lies_over_the_navigation_however_wide_the_window_is(page: Page) -> None:
    tools = page.locator(".st-key-page-tools")
    expect(page.get_by_role("button", name="Present")).to_be_visible()
    for width in (1280, 1200, 1100, 1024, 800):
        page.set_viewport_size({"width": width, "height": 768})
        wait_until_settled(page)
        above = tools.bounding_box()
        assert above is not None
        for link in page.get_by_test_id("stTopNavLink").all():
            below = link.bounding_box()
            assert below is not None
            is_beside = below["x"] + below["width"] <= above["x"] or above["x"] + above["width"] <= below["x"]
            assert is_beside or below["y"] + below["height"] <= above["y"], f"at {width} pixels"
