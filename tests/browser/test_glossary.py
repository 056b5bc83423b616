"""Terms are told where they stand, by mouse and by keyboard, and listed in the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from storage import Store
from tests.browser.accessible import violations
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, wait_until_settled
from tests.browser.told_terms import untold
from tests.ui import seeded_store
from ui.builder.history import History


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with a run in its store, windows that drop two records, and with a draft."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.windows(store, folder)
        store.drafts.save("words", History(seeded_store.words_counted()).to_json())
    with running_app(folder) as running:
        yield running


def _dropped(page: Page) -> None:
    expect(page.locator("[data-term=first]").filter(has_text="were dropped")).to_be_visible()


def test_a_term_is_told_on_hover_and_on_focus(open_page: OpenPage) -> None:
    page = open_page("event-time?run=1")
    _dropped(page)
    told, label = page.get_by_role("tooltip"), page.locator("strong", has_text="were dropped")
    label.hover()
    expect(told).to_contain_text("A late record that counts in no result.")
    page.mouse.move(5, 400)
    expect(told).to_be_hidden()
    page.keyboard.press("Tab")
    label.focus()
    expect(told).to_contain_text("A late record that counts in no result.")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()


def test_a_term_without_a_label_is_told_at_its_word_in_the_text(open_page: OpenPage) -> None:
    page = open_page("")
    told = page.get_by_role("tooltip")
    text = page.locator("[data-term=text]").filter(has_text="late record").first
    meaning = "A record that arrives when the watermark has passed the end of its window"
    expect(text).to_have_attribute("aria-description", re.compile(meaning))
    word = text.evaluate("""text => {
        const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT)
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const at = node.data.indexOf('late')
            if (at < 0) continue
            const range = new Range()
            range.setStart(node, at)
            range.setEnd(node, at + 4)
            const { x, y, width, height } = range.getBoundingClientRect()
            return { x: x + width / 2, y: y + height / 2 }
        }
    }""")
    page.mouse.move(word["x"], word["y"])
    expect(told).to_contain_text(meaning)
    page.mouse.move(5, 790)
    expect(told).to_be_hidden()
    page.keyboard.press("Tab")
    text.focus()
    expect(told).to_contain_text(meaning)
    assert violations(page) == []
    # An underline is drawn without a change of the text, which is Streamlit's.
    assert page.evaluate("CSS.highlights.get('changelog-studio-glossary').size") > 0


def test_the_name_of_the_product_is_no_term(open_page: OpenPage) -> None:
    page = open_page("")
    expect(page.locator("[data-term]").first).to_be_visible()
    expect(page.get_by_role("heading", name="Changelog Studio")).to_be_visible()
    expect(page.locator("[data-term]", has_text="Changelog Studio")).to_have_count(0)
    assert untold(page) == []


def test_only_the_first_mention_on_a_page_is_underlined(open_page: OpenPage) -> None:
    page = open_page("event-time?run=1")
    _dropped(page)
    rejected = page.locator("[data-term]").filter(has_text=re.compile("rejected", re.IGNORECASE))
    expect(rejected).to_have_count(2)
    assert [each.get_attribute("data-term") for each in rejected.all()] == ["first", "again"]


def test_enter_on_a_term_opens_the_list_at_it(open_page: OpenPage) -> None:
    page = open_page("event-time?run=1")
    _dropped(page)
    page.keyboard.press("Tab")
    page.locator("strong", has_text="were dropped").focus()
    expect(page.get_by_role("tooltip")).to_be_visible()
    page.keyboard.press("Enter")
    listed = page.get_by_role("dialog", name="Glossary")
    expect(listed.locator("article.sought")).to_contain_text("Dropped")
    expect(listed.locator("article.sought")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_bar_opens_the_list_and_terms_are_found(open_page: OpenPage, scheme: str) -> None:
    page = open_page("event-time?run=1", color_scheme=scheme)
    page.get_by_role("button", name="Glossary").click()
    listed = page.get_by_role("dialog", name="Glossary")
    assert violations(page) == []
    listed.get_by_role("searchbox").press_sequentially("record")
    expect(listed.locator("article", has_text="How far event time has come")).to_be_hidden()
    expect(listed.locator("article", has_text="A row with its kind")).to_be_visible()
    listed.get_by_role("searchbox").fill("zebra")
    expect(listed.get_by_role("status")).to_have_text("No term has this word.")


def test_the_commands_of_the_canvas_lead_to_a_term(open_page: OpenPage) -> None:
    page = open_page("build?draft=words")
    node = page.locator(".react-flow__node").first
    expect(node).to_be_visible()
    node.focus()
    page.keyboard.press("Control+k")
    page.get_by_label("Search commands and nodes").fill("watermark")
    page.get_by_role("option", name="What is Watermark?").click()
    shown = page.get_by_role("dialog", name="Glossary")
    expect(shown.locator("article.sought h4")).to_have_text("Watermark")


def test_on_build_neither_a_told_term_covers_what_its_tab_opens_nor_does_a_long_form_flatten_a_field(
    open_page: OpenPage,
) -> None:
    page = open_page("build?draft=words")
    late = page.get_by_role("radio", name="Late")
    late.click()
    expect(page.get_by_text("Records that came too late, and rows that could not be read.")).to_be_visible()
    page.mouse.move(5, 5)
    told = page.get_by_role("tooltip")
    late.hover()
    expect(told).to_contain_text("A record that arrives when the watermark has passed")
    below, tab = told.bounding_box(), late.bounding_box()
    assert below is not None
    assert tab is not None
    assert below["y"] + below["height"] <= tab["y"] + 1
    page.mouse.move(5, 5)
    expect(told).to_be_hidden()
    page.get_by_role("button", name="Pipeline", exact=True).click()
    described = page.get_by_role("textbox", name="Description")
    expect(described).to_be_visible()
    wait_until_settled(page)
    field = described.locator("xpath=ancestor::*[@data-testid='stElementContainer']").bounding_box()
    assert field is not None
    assert field["height"] >= 60


def test_a_told_label_does_not_cover_its_field(open_page: OpenPage) -> None:
    page = open_page("what-if?run=1")
    told = page.get_by_role("tooltip")
    label = page.locator('[data-testid="stWidgetLabel"] p[data-term="first"]').first
    label.hover()
    expect(told).to_be_visible()
    above, named = told.bounding_box(), label.bounding_box()
    assert above is not None
    assert named is not None
    assert above["y"] + above["height"] <= named["y"] + 1
