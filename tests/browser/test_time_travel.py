"""Time travel in the browser: one player controls canvas, lanes, table and state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.ui import seeded_store
from ui.shell.theme import THEMES


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with two runs in its store: 1 the example of the word frequency, 2 windows with late records."""
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.example(store, folder)
        seeded_store.windows(store, folder)
    with running_app(folder, "local[2]") as running:
        yield running


def lit(page: Page) -> Locator:
    """The records on the canvas, by edge."""
    return page.locator(".time .records")


def number(page: Page) -> Locator:
    return page.get_by_role("spinbutton", name="Event", exact=True)


def test_the_canvas_shows_what_every_edge_carried(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=1&event=3")
    expect(lit(page)).to_have_count(3)
    expect(page.locator('[data-edge="count_words>count_counts:in"] li')).to_have_text(["-UHello, 1", "+UHello, 2"])
    expect(page.locator(".time .react-flow__node.lit")).to_have_count(4)
    page.keyboard.press("p")
    expect(number(page)).to_have_value("2")
    expect(page.locator('[data-edge="count_words>count_counts:in"] li')).to_have_text(["+IWorld, 1"])
    page.get_by_role("button", name="Start").click()
    expect(lit(page)).to_have_count(0)
    expect(page.locator(".time .react-flow__node.lit")).to_have_count(0)


def test_the_event_is_a_picture_for_a_slide(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("time-travel?run=1&event=3")
    expect(lit(page)).to_have_count(3)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="As a picture").press("i")
    expect(page.get_by_role("status").get_by_text("Copied as a picture")).to_be_visible()
    assert copied_picture(page).startswith(b"\x89PNG")
    for dark, paper in ((False, THEMES["light"]["background"]), (True, THEMES["dark"]["background"])):
        page.get_by_role("button", name="As a picture").click()
        if dark:
            page.get_by_role("menuitemcheckbox", name="On dark").click()
        with page.expect_download() as saved:
            page.get_by_role("menuitem", name="Save as SVG").click()
        assert saved.value.suggested_filename == "Word-frequency-event-3.svg"
        saved.value.save_as(tmp_path / "event.svg")
        texts = [
            each.text for each in ElementTree.parse(tmp_path / "event.svg").iter("{http://www.w3.org/2000/svg}text")
        ]
        assert {"words", "count_words", "-U", "Hello, 1", "Hello, 2"} <= set(texts)
        assert paper in (tmp_path / "event.svg").read_text(encoding="utf-8")


def test_a_table_and_a_chart_are_pictures_for_slides(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("time-travel?run=1&event=3")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    table = page.get_by_role("region", name="Table after event 3")
    for shot in (table, page.locator(".js-plotly-plot").first):
        page.evaluate("navigator.clipboard.writeText('')")
        expect(page.get_by_text("Copied as a picture")).to_have_count(0)
        shot.hover()
        page.keyboard.press("i")
        expect(page.get_by_text("Copied as a picture")).to_be_visible()
        assert copied_picture(page).startswith(b"\x89PNG")
    expect(page.get_by_role("button", name="Picture of this table")).to_be_hidden()
    table.hover()
    page.get_by_role("button", name="Picture of this table").click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Save as SVG").click()
    assert saved.value.suggested_filename == "Table-after-event-3.svg"
    saved.value.save_as(tmp_path / "table.svg")
    tree = ElementTree.parse(tmp_path / "table.svg")
    texts = [each.text for each in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(filter(None, texts)) == ["1", "1", "1", "2", "cnt", "freq"]


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_a_cascade_and_a_timeline_are_pictures_in_both_themes(
    open_page: OpenPage, tmp_path: Path, color_scheme: str
) -> None:
    background = THEMES["dark" if color_scheme == "dark" else "light"]["background"]
    for address, shown, saver in (
        ("retractions?run=1&event=3", "[aria-label='What event 3 did']", "Picture of this table"),
        ("event-time?run=2", ".js-plotly-plot", "As a picture"),
    ):
        page = open_page(address, color_scheme=color_scheme)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.evaluate("navigator.clipboard.writeText('')")
        part = page.locator(shown).first
        expect(part).to_be_visible()
        wait_until_settled(page)
        camera = page.get_by_role("button", name=saver).or_(part.locator(f"[data-title^='{saver}']")).first
        # As a person does: once more, if the page did not yet listen to the mouse.
        for _ in range(5):
            page.mouse.move(640, 1)
            part.hover()
            with suppress(AssertionError):
                expect(camera).to_be_visible(timeout=5_000)
                break
        page.keyboard.press("i")
        expect(page.get_by_text("Copied as a picture")).to_be_visible()
        assert copied_picture(page).startswith(b"\x89PNG")
        part.hover()
        camera.click()
        with page.expect_download() as saved:
            page.get_by_role("menuitem", name="Save as SVG").click()
        saved.value.save_as(tmp_path / "part.svg")
        text = (tmp_path / "part.svg").read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert background in text or rgb(background) in text


def rgb(color: str) -> str:
    """A colour like `#ffffff` as browsers write it in styles."""
    return f"rgb({', '.join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))})"


def copied_picture(page: Page) -> bytes:
    return bytes(
        page.evaluate(
            "async () => { const [item] = await navigator.clipboard.read();"
            " return [...new Uint8Array(await (await item.getType('image/png')).arrayBuffer())] }"
        )
    )


def test_the_player_is_driven_by_keys_and_the_url_follows(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=2&event=1")
    expect(lit(page)).to_have_count(1)
    for key, event in (("n", 2), ("w", 3), ("l", 5), ("p", 4)):
        page.keyboard.press(key)
        expect(number(page)).to_have_value(str(event))
        expect(page).to_have_url(re.compile(f"event={event}"))
        wait_until_settled(page)
    page.reload()
    expect(number(page)).to_have_value("4")
    page.keyboard.press("u")
    expect(page.get_by_text("None after event 4.")).to_be_visible()


def test_a_click_and_a_key_put_no_frame_around_the_page(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=1&event=3")
    main = page.get_by_test_id("stMain")
    main.click(position={"x": 8, "y": 300})
    page.keyboard.press("p")
    expect(number(page)).to_have_value("2")
    expect(main).to_be_focused()
    expect(main).to_have_css("outline-style", "none")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    main.focus()
    expect(main).to_have_css("outline-style", "solid")


def test_it_plays_to_the_end_and_stops(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=1&event=1")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(number(page)).to_have_value("3")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press("k")
    expect(number(page)).to_have_value("1")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_click_on_an_edge_shows_its_table_and_on_a_node_its_state(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=1&event=3")
    expect(rows(page, "Table after event 3")).to_have_text(["11", "21"])
    page.locator('[data-edge="count_words>count_counts:in"]').click()
    expect(rows(page, "Table after event 3")).to_have_text(["Hello2", "World1"])
    expect(page.get_by_role("region", name="Table after event 3").locator("td.changed")).to_have_text("2")
    page.locator('.time [data-pick="count_words"]').click()
    expect(rows(page, "count_words word = Hello Result")).to_have_text("Hello2")
    expect(page).to_have_url(re.compile("node=count_words"))
    expect(page.locator(".time .react-flow__node.selected")).to_have_attribute("data-id", "count_words")


def test_the_state_of_a_key_is_followed_or_typed(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=1&event=3")
    expect(rows(page, "count_counts cnt = 1 Accumulators")).to_have_text(["number of rows1", "number of cnt1"])
    expect(page.get_by_role("region", name="count_counts cnt = 1 Result").locator("td.changed")).to_have_text("1")
    page.keyboard.press("p")
    expect(rows(page, "count_counts cnt = 1 Result")).to_have_text("12")
    box = page.get_by_role("combobox", name="Key (cnt)")
    box.click()
    box.fill("2")
    box.press("Enter")
    expect(page.get_by_text("No record of this key has arrived yet.")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next", exact=False).first.click()
    expect(rows(page, "count_counts cnt = 2 Result")).to_have_text("21")


def test_a_click_on_a_marble_goes_to_its_event(open_page: OpenPage) -> None:
    page = open_page("time-travel?run=2&event=1")
    marbles = page.locator(".js-plotly-plot .trace.scatter .point")
    expect(marbles.first).to_be_visible()
    page.locator(".js-plotly-plot").scroll_into_view_if_needed()
    places = marbles.evaluate_all("all => all.map(each => each.getBoundingClientRect().x)")
    place = marbles.nth(places.index(max(places[:6]))).bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 4, place["y"] + 4)
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(number(page)).to_have_value("6")


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_player_stays_in_sight(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page("time-travel?run=1&event=3", color_scheme=color_scheme)
    rows(page, "count_counts cnt = 2 Result").scroll_into_view_if_needed()
    page.mouse.wheel(0, 3000)
    expect(page.get_by_role("button", name="Play")).to_be_in_viewport(ratio=1)
    width = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth")
    assert width <= 0


def test_the_player_of_another_page_stands_at_the_same_event(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&event=3")
    expect(number(page)).to_have_value("3")
    for name in ("Time travel", "Retractions", "Time travel", "Changelog"):
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(f"**/{name.lower().replace(' ', '-')}?**")
        wait_until_settled(page)
        expect(number(page)).to_have_value("3")
        expect(page.get_by_test_id("stSliderThumbValue")).to_have_text("3")
