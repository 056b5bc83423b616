"""A presentation in front of a room: a screen of 1024 x 768 at 150 %, and pipelines of 8 and of 40 nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from engine.examples import examples
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.browser.shop import shop
from tests.storage.local_runs import run_locally
from ui.builder.history import History

ROOM = {"width": 1024, "height": 768}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs in its store: 1 eight nodes, 2 forty, 3 forty with folded groups, 4 an example with a story."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        for pipeline in (shop(1), shop(5), shop(5, folded=3), examples()["08-top-3"]):
            run_locally(store, folder, pipeline)
        store.drafts.save("forty", History(shop(5)).to_json())
    with running_app(folder, "local[2]") as running:
        yield running


def presented(open_page: OpenPage, path: str) -> Page:
    page = open_page("engines")
    page.set_viewport_size({"width": ROOM["width"], "height": ROOM["height"]})
    page.goto(f"{page.url.rsplit('/', 1)[0]}/{path}&present=on")
    wait_until_settled(page)
    expect(page.locator(".react-flow__node").first).to_be_visible()
    return page


def share(page: Page) -> float:
    """How much of the screen's height the graph has."""
    box = page.locator(".studio").bounding_box()
    assert box is not None
    assert box["width"] >= ROOM["width"] - 1
    return box["height"] / ROOM["height"]


def least_name(names: Locator) -> float:
    """The size of the smallest name on the screen, in px."""
    sizes = names.evaluate_all(
        "all => all.map(each => parseFloat(getComputedStyle(each).fontSize)"
        " * each.getBoundingClientRect().width / each.offsetWidth)"
    )
    assert sizes
    return min(sizes)


@pytest.mark.parametrize("path", ["time-travel?run=1&event=2", "time-travel?run=2&event=2", "build?draft=forty"])
def test_the_graph_is_the_page_and_a_room_can_read_its_names(open_page: OpenPage, path: str) -> None:
    page = presented(open_page, path)
    assert share(page) >= 0.75
    assert least_name(page.locator(".op .name .text")) >= 15.9
    assert page.evaluate("document.documentElement.scrollHeight") <= ROOM["height"]


@pytest.mark.parametrize("run", [1, 2, 3])
def test_the_view_follows_the_records_of_a_graph_that_is_too_large(open_page: OpenPage, run: int) -> None:
    page = presented(open_page, f"time-travel?run={run}&event=2")
    # People who do not want things to move see where the record begins.
    expect(page.locator('.time [data-pick="orders_berlin"]')).to_be_in_viewport(ratio=1)
    if run == 3:
        group = page.locator('.time [data-pick="group:berlin customers"]')
        expect(group).to_contain_text("berlin customers")
        expect(group).to_be_in_viewport(ratio=1)


# Of the records on edges, those that are cut.
CUT = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"


@pytest.mark.parametrize("is_presented", [True, False])
def test_records_on_edges_show_all_their_values(open_page: OpenPage, is_presented: bool) -> None:
    for address, changes in {
        "time-travel?run=1&event=4": ["+Ua, 2, 110"],
        "time-travel?run=4&event=5": [
            *("-Ubooks, b3, 70, 2", "+Ubooks, b5, 80, 2"),
            *("-Ubooks, b4, 60, 3", "+Ubooks, b3, 70, 3"),
        ],
    }.items():
        page = presented(open_page, address) if is_presented else open_page(address)
        records = page.locator(".time .records")
        expect(records.last.locator("li")).to_have_text(changes)
        expect(records.last).to_be_in_viewport(ratio=1)
        assert records.locator(".values").evaluate_all(CUT) == []
        canvas, last = page.locator(".studio").bounding_box(), records.last.bounding_box()
        assert canvas is not None
        assert last is not None
        assert canvas["y"] <= last["y"]
        assert last["y"] + last["height"] <= canvas["y"] + canvas["height"]


def test_player_and_story_are_lines_that_a_key_hides(open_page: OpenPage) -> None:
    page = presented(open_page, "time-travel?run=4&event=5&story=08-top-3.3")
    story, player = page.locator(".st-key-story"), page.locator(".st-key-time-player")
    expect(story.get_by_text("deletes")).to_be_visible()
    for each in (story, player):
        box = each.bounding_box()
        assert box is not None
        assert box["height"] <= ROOM["height"] / 10
    assert share(page) >= 0.7
    page.keyboard.press("h")
    expect(page).to_have_url(re.compile("present=bare"))
    expect(story).to_be_hidden()
    expect(player).to_be_hidden()
    assert share(page) >= 0.9
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("event=6"))
    page.keyboard.press("h")
    expect(story).to_be_visible()
    for key, step in (("ArrowRight", 4), ("ArrowLeft", 3), ("Space", 4), ("PageUp", 3)):
        page.keyboard.press(key)
        expect(story.get_by_text(f"step {step} of")).to_be_visible()
        wait_until_settled(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys of the presentation")).to_contain_text("End the presentation")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys of the presentation")).to_have_count(0)
    expect(story).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Changelog")).to_be_visible()


def test_keys_go_on_from_what_is_shown_before_the_page_is_drawn_again(open_page: OpenPage) -> None:
    page = presented(open_page, "time-travel?run=4&event=5&story=08-top-3.3")
    # The address changes as soon as a key is heard, the buttons at the end of the page.
    for key, shown in (
        *(("h", "present=bare"), ("h", "present=on"), ("h", "present=bare"), ("h", "present=on")),
        *(("n", "event=6"), ("n", "event=7"), ("p", "event=6"), ("p", "event=5")),
        *(("PageDown", "08-top-3.4"), ("PageDown", "08-top-3.5"), ("PageUp", "08-top-3.4"), ("PageUp", "08-top-3.3")),
    ):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(re.escape(shown)))


def test_one_thing_at_a_time(open_page: OpenPage) -> None:
    page = presented(open_page, "time-travel?run=4&event=5")
    expect(rows(page, "Table after event 5")).to_have_count(0)
    page.locator('[data-edge="sales>top_3:in"]').last.click()
    expect(rows(page, "Table after event 5").first).to_be_visible()
    expect(page.locator(".studio")).to_have_count(0)
    expect(page).to_have_url(re.compile("part=Table"))
    page.get_by_role("radio", name="Graph").click()
    expect(page.locator(".studio")).to_be_visible()


def test_build_shows_a_room_one_node_after_the_other_with_names_that_are_not_cut(open_page: OpenPage) -> None:
    page = presented(open_page, "build?draft=forty")
    names = page.locator(".op .name .text")
    # The lowest letters of a line reach out of it.
    cut = """all => all.filter(each => each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight + 5)
        .map(each => each.textContent)"""
    for shown in ("orders_berlin", "customers_berlin", "paid_orders_of_berlin", "spent_per_customer_in_berlin"):
        page.keyboard.press("ArrowRight")
        expect(page.locator(f'.react-flow__node.selected[data-pick="{shown}"]')).to_be_in_viewport(ratio=1)
        wait_until_settled(page)
        assert least_name(names) >= 15.9
        assert names.evaluate_all(cut) == []
    page.keyboard.press("ArrowLeft")
    expect(page.locator('.react-flow__node.selected[data-pick="paid_orders_of_berlin"]')).to_be_in_viewport(ratio=1)
    # Of the kinds of edges, too.
    assert least_name(page.locator(".badges .kind")) >= 15.9
