"""The first steps on a canvas: it invites, names what is to do, and stands still; a row is posted by a copied line."""

from __future__ import annotations

import re
import shlex
import urllib.request

from playwright.sync_api import Page, expect

from tests.browser.canvas_page import add, box, node, open_draft, settled, tab
from tests.browser.canvas_page import (
    app as app,
)
from tests.browser.conftest import OpenPage

TABS = ("Records", "Table as of", "Late", "Plan", "SQL", "Problems")


def color(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"))


def canvas_box(page: Page) -> dict[str, float]:
    area = page.locator(".st-key-bench-canvas").bounding_box()
    assert area is not None
    return dict(area)


def test_a_new_canvas_invites_and_a_new_node_says_what_is_to_do(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty")
    before = canvas_box(page)
    expect(page.get_by_text("Add a source with")).to_be_visible()
    expect(page.get_by_text(re.compile("pipeline is empty|problem"))).to_have_count(0)
    add(page, "aggregate")
    to_do = page.get_by_role("button", name="1 to do")
    expect(to_do).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d problem"))).to_have_count(0)
    expect(node(page, "aggregate").locator(".op.to-do")).to_be_visible()
    assert canvas_box(page) == before
    # It leads to what is to do.
    to_do.click()
    expect(page.locator(".st-key-bench-drawer").get_by_role("button", name="Show", exact=True)).to_be_visible()


def test_the_canvas_keeps_its_place_in_every_tab_of_the_drawer(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain8")
    places = {}
    for name in TABS:
        tab(page, name)
        places[name] = canvas_box(page)
    assert all(place == places[TABS[0]] for place in places.values()), places


def test_dark_is_chosen_for_all_pages_and_the_system_again(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain9")
    before = color(page)

    def choose(name: str) -> None:
        page.locator(".st-key-theme-choice").get_by_role("button").click()
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(lambda url: "theme=" not in url)
        settled(page)

    choose("Dark")
    try:
        assert color(page) != before
        # The draft is still the open one, and another page, loaded anew, is dark, too.
        expect(node(page, "counts")).to_be_visible()
        page.goto(page.url.partition("/build")[0])
        expect(page.get_by_role("button", name="New pipeline")).to_be_visible()
        assert color(page) != before
        page.go_back()
        settled(page)
    finally:
        choose("As the system")
    assert color(page) == before


def test_a_copied_line_posts_a_row_that_the_form_shows_by_itself(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty1")
    add(page, "http")
    box(page, "Address").fill("orders")
    expect(page.get_by_text("Nothing was posted yet")).to_be_visible()
    settled(page)
    post(page.get_by_test_id("stCode").first.inner_text())
    # Without a click: the row, its columns, and no complaint.
    expect(page.get_by_text("The newest rows, posted just now")).to_be_visible()
    expect(page.get_by_test_id("stCode").nth(1)).to_contain_text('{"id": 1, "amount": 9.5')
    expect(page.get_by_text("its columns are not known")).to_have_count(0)
    expect(page.get_by_text("to do")).to_have_count(0)
    settled(page)
    post(page.get_by_test_id("stCode").first.inner_text().replace('"id": 1', '"id": 7'))
    expect(page.get_by_test_id("stCode").nth(1)).to_contain_text('{"id": 7')


def post(line: str) -> None:
    """Do what curl would do with this line."""
    words = shlex.split(line.replace("\\\n", " "))
    assert words[0] == "curl"
    options = dict(zip(words[2::2], words[3::2], strict=True))
    header = tuple(options["-H"].split(": ", 1))
    request = urllib.request.Request(words[1], options["-d"].encode(), dict([header]))
    urllib.request.urlopen(request, timeout=30).close()
