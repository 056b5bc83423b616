"""Expressions: completion by keyboard and mouse while the user types, and the wrong word underlined."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.canvas_page import add, box, held, node, open_example, run_button, studio
from tests.browser.conftest import OpenPage, press, wait_until_settled
from tests.browser.test_build import app

__all__ = ["app"]
SPARK_STARTS_MS = 120_000


@pytest.fixture(params=["light", "dark"])
def filtering(request: pytest.FixtureRequest, open_page: OpenPage) -> Page:
    """A filter after the counted words, in both themes."""
    page = open_page(color_scheme=request.param)
    filter_the_counts(page)
    expect(box(page, "Condition")).to_be_visible()
    return page


def filter_the_counts(page: Page) -> None:
    """Add a filter after the counted words."""
    open_example(page, "Word frequency")
    node(page, "count_words").click()
    expect(box(page, "Name of the node")).to_have_value("count_words")
    add(page, "Filter")


def options(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Columns and functions").get_by_role("option")


def chosen(page: Page) -> Locator:
    return page.get_by_role("option", selected=True)


def test_columns_and_functions_are_completed_and_the_wrong_word_is_marked(filtering: Page) -> None:
    page = filtering
    field = box(page, "Condition")
    field.fill("")
    field.press("Control+Space")
    # The columns of the input with their types come first.
    expect(options(page).nth(0)).to_have_text(re.compile("word.*STRING"))
    expect(options(page).nth(1)).to_have_text(re.compile("cnt.*BIGINT"))
    field.press("Escape")
    expect(options(page)).to_have_count(0)

    field.press_sequentially("c")
    expect(chosen(page)).to_have_text(re.compile("^cnt"))
    expect(field).to_have_attribute("aria-activedescendant", str(chosen(page).get_attribute("id")))
    field.press("ArrowDown")
    expect(chosen(page)).not_to_have_text(re.compile("^cnt"))
    field.press("ArrowUp")
    field.press("Tab")
    expect(held(page, "Condition")).to_have_value("cnt")
    expect(field).to_be_focused()
    field.press_sequentially(" > 1 AND upp")
    told = r"UPPER\(text\)\s+The text in capital letters\.\s+UPPER\('Flink'\) is FLINK"
    expect(chosen(page)).to_have_text(re.compile(told))
    field.press("Enter")
    field.press_sequentially("wo")
    options(page).filter(has_text="STRING").click()
    field.press_sequentially(") = 'HELLO")
    # There is no completion within a string literal.
    expect(options(page)).to_have_count(0)
    field.press_sequentially("'")
    expect(held(page, "Condition")).to_have_value("cnt > 1 AND UPPER(word) = 'HELLO'")
    wait_until_settled(page)
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    expect(run_button(page)).to_be_enabled(timeout=SPARK_STARTS_MS)

    field.fill("cnt > nobody + 1")
    expect(page.locator(".cm-lintRange-error")).to_have_text("nobody", timeout=SPARK_STARTS_MS)
    under = page.locator(".cm-lintRange-error").bounding_box()
    above = field.bounding_box()
    assert under is not None
    assert above is not None
    assert above["y"] < under["y"] < above["y"] + 90
    expect(page.get_by_text("unknown column 'nobody'").first).to_be_visible()
    expect(run_button(page)).to_be_disabled()
    field.fill("cnt > uper(word)")
    expect(page.locator(".cm-lintRange-error")).to_have_text("uper")
    field.fill("cnt >")
    expect(page.locator(".cm-lintPoint-error")).to_be_attached()
    field.fill("cnt")
    expect(page.locator(".cm-lintRange-error")).to_have_text("cnt")
    expect(page.get_by_text("a condition must be true or false").first).to_be_visible()
    field.fill("cnt > 1")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)


def test_what_was_completed_reaches_the_document_and_undo_takes_it_back(open_page: OpenPage) -> None:
    page = open_page()
    filter_the_counts(page)
    field = box(page, "Condition")
    field.fill("cn")
    field.press("End")
    field.press("Control+Space")
    expect(chosen(page)).to_be_visible()
    field.press("Enter")
    expect(held(page, "Condition")).to_have_value("cnt")
    field.press_sequentially(" > 2")
    field.press("Tab")
    wait_until_settled(page)
    page.reload()
    expect(held(page, "Condition")).to_have_value("cnt > 2")
    studio(page).focus()
    press(page, "Undo")
    expect(held(page, "Condition")).to_have_value("true")


def test_flink_s_spelling_is_understood_and_what_nobody_understands_is_said_at_its_field(open_page: OpenPage) -> None:
    page = open_page()
    filter_the_counts(page)
    field = box(page, "Condition")
    field.fill("CAST(word AS NOTHING(3)) IS NULL")
    expect(page.get_by_role("button", name="Show problems in filter")).to_be_visible(timeout=SPARK_STARTS_MS)
    wait_until_settled(page)
    page.reload()
    # The canvas is there, and the typed expression with its error as well.
    expect(page.get_by_role("button", name="Show problems in filter")).to_be_visible()
    expect(page.get_by_text("went wrong")).to_have_count(0)
    expect(held(page, "Condition")).to_have_value("CAST(word AS NOTHING(3)) IS NULL")
    field.fill("CAST(word AS TIMESTAMP(3)) IS NULL")
    expect(page.get_by_role("button", name="Show problems in filter")).to_have_count(0)
    expect(run_button(page)).to_be_enabled()
