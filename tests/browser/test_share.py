"""Save and share: versions and their restoration, copies, renaming, deletion and its undo, export and import."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.canvas_page import box, node, open_example, settled, type_into
from tests.browser.conftest import OpenPage, press, wait_until_settled


def row_of(page: Page, name: str) -> Locator:
    """The line of a saved pipeline in the gallery."""
    return page.get_by_test_id("stHorizontalBlock").filter(has=page.get_by_text(name, exact=True)).last


def more(page: Page, name: str) -> Locator:
    """Open the menu of a saved pipeline."""
    page.get_by_role("button", name=f"More for {name}", exact=True).or_(
        row_of(page, name).get_by_test_id("stPopover").get_by_role("button")
    ).first.click()
    return page.get_by_test_id("stPopoverBody")


def nodes(page: Page) -> list[str]:
    """The nodes and edges on the canvas, as their keys."""
    settled(page)
    return sorted(
        each or ""
        for each in page.locator(".studio [data-pick]").evaluate_all("all => all.map(each => each.dataset.pick)")
    )


def save_with_note(page: Page, note: str) -> None:
    press(page, "Pipeline")
    type_into(page, "Note for the next version", note)
    page.keyboard.press("Escape")
    press(page, "Save")
    expect(page.get_by_role("button", name=re.compile("Saved"))).to_be_visible()


def to_gallery(page: Page) -> None:
    page.get_by_role("link", name="Pipelines").click()
    expect(page.get_by_role("heading", name="Your pipelines")).to_be_visible()
    wait_until_settled(page)


def test_a_pipeline_is_kept_restored_copied_renamed_deleted_and_shared(page: Page, tmp_path: Path) -> None:
    open_example(page, "Word frequency")
    type_into(page, "Name of the pipeline", "Words")
    whole = nodes(page)
    save_with_note(page, "as it came")
    node(page, "count_words").click()
    expect(box(page, "Name of the node")).to_have_value("count_words")
    press(page, "Delete")
    expect(node(page, "count_words")).to_have_count(0)
    shorter = nodes(page)
    assert shorter != whole
    save_with_note(page, "without the words")

    press(page, "Pipeline")
    body = page.locator(".st-key-bench-panel")
    expect(body.get_by_text("as it came")).to_be_visible()
    expect(body.get_by_text("without the words")).to_be_visible()
    expect(body.get_by_role("button", name=re.compile("Open version 2"))).to_have_count(0)
    body.get_by_role("button", name=re.compile("Open version 1")).click()
    expect(node(page, "count_words")).to_have_count(1)
    wait_until_settled(page)
    assert nodes(page) == whole
    page.keyboard.press("Escape")
    press(page, "Undo")
    expect(node(page, "count_words")).to_have_count(0)
    assert nodes(page) == shorter
    press(page, "Redo")
    expect(node(page, "count_words")).to_have_count(1)
    save_with_note(page, "the words again")

    to_gallery(page)
    more(page, "Words").get_by_role("button", name="Duplicate").click()
    wait_until_settled(page)
    page.keyboard.press("Escape")
    expect(page.get_by_text("Words (copy)", exact=True)).to_be_visible()
    name = more(page, "Words (copy)").get_by_role("textbox", name="Name")
    name.fill("Twin of words")
    name.press("Enter")
    wait_until_settled(page)
    page.keyboard.press("Escape")
    expect(page.get_by_text("Twin of words", exact=True)).to_be_visible()
    expect(page.get_by_text("Words (copy)", exact=True)).to_have_count(0)

    more(page, "Twin of words").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Twin of words was deleted.")).to_be_visible()
    expect(page.get_by_text("Twin of words", exact=True)).to_have_count(0)
    wait_until_settled(page)
    press(page, "Undo")
    expect(page.get_by_text("Twin of words", exact=True)).to_be_visible()

    menu = more(page, "Twin of words")
    with page.expect_download() as download:
        menu.get_by_role("button", name="Export as JSON").click()
    export = tmp_path / "twin.json"
    download.value.save_as(export)
    page.keyboard.press("Escape")
    press(page, "Import")
    page.get_by_test_id("stPopoverBody").locator("input[type=file]").set_input_files(export)
    page.wait_for_url("**/build?**")
    expect(node(page, "count_words")).to_have_count(1)
    wait_until_settled(page)
    assert nodes(page) == whole


def test_two_people_save_one_pipeline_and_neither_loses_anything(open_page: OpenPage) -> None:
    one = open_page()
    open_example(one, "Word frequency")
    type_into(one, "Name of the pipeline", "Of two people")
    press(one, "Save")
    expect(one.get_by_role("button", name=re.compile("Saved"))).to_be_visible()
    other = open_page()
    row_of(other, "Of two people").get_by_role("button", name="Open", exact=True).click()
    other.wait_for_url("**/build?**")
    for page, old, new in ((one, "words", "lines"), (other, "frequencies", "results")):
        node(page, old).click()
        expect(box(page, "Name of the node")).to_have_value(old)
        type_into(page, "Name of the node", new)
        settled(page)
    press(one, "Save")
    expect(one.get_by_role("button", name=re.compile("Saved"))).to_be_visible()
    press(other, "Save")
    expect(other.get_by_text("Version 2 was saved since you began with version 1")).to_be_visible()
    press(other, "Merge both")
    expect(other.get_by_role("button", name=re.compile("Saved"))).to_be_visible()
    for name in ("lines", "results"):
        expect(node(other, name)).to_be_visible()
