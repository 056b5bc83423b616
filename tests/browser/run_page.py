"""The page of a run: its figures and its buttons."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import press, wait_until_settled


def figure(page: Page, label: str) -> Locator:
    """The number of a metric."""
    return page.get_by_test_id("stMetric").filter(has_text=re.compile(f"^{label}")).get_by_test_id("stMetricValue")


def number(page: Page, label: str) -> int:
    """The number of a metric, as an int."""
    return int(figure(page, label).inner_text().replace(",", ""))


def run_again(page: Page) -> None:
    """Repeat the run that the page shows, without changes."""
    # A page behind another one is drawn once a second, and one that is drawn anew closes what is opened meanwhile.
    page.bring_to_front()
    press(page, "Run again")
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Run", exact=True).click()


def set_number(page: Page, popover: str, label: str, value: str) -> None:
    """Type a number into a form that a button opens."""
    press(page, popover)
    box = page.get_by_role("spinbutton", name=label)
    box.fill(value)
    box.press("Enter")
    wait_until_settled(page)
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
