"""Run, changelog and event time in the browser: on seeded runs, and on one that Spark executes here."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, expect

from engine.examples import examples
from storage import Store
from tests.browser.accessible import violations
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.browser.lasting import LASTING
from tests.browser.replays import offline
from tests.ui import seeded_store

RUN_TIMEOUT_MS = 180_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs in its store.

    1 word count, 2 windows, 3 two sources, 4 failed, 5 an example, 6 interrupted, 7 a long one, 8 with a TTL, 9 windows
    with an alert.
    """
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.word_count(store, folder)
        seeded_store.windows(store, folder)
        seeded_store.two_sources(store, folder)
        seeded_store.failed(store)
        words = examples()["01-word-frequency"]
        run = store.runs.create("Word frequency", words.to_json())
        store.runs.fail(run.run_id, "the run was cancelled.", cancelled=True)
        store.runs.create("cut short", words.to_json())
        lasting = store.runs.create("Lasting", LASTING.to_json())
        store.runs.fail(lasting.run_id, "the run was cancelled.", cancelled=True)
        seeded_store.expiring(store, folder)
        seeded_store.alerted(store, folder)
    with running_app(folder, "local[2]") as running:
        yield running


def grid(page: Page, label: str) -> Locator:
    return page.get_by_role("region", name=label, exact=True)


def number(page: Page) -> Locator:
    return page.get_by_role("spinbutton", name="Event", exact=True)


# The parts of the bar above every page that overlap another part, or lie outside the window.
OVERLAPS = """() => {
    const parts = [...document.querySelectorAll('.st-key-top-bar :is(a, [role=group], button, .run-edge-event)')]
        .filter(each => !each.parentElement.closest('.st-key-top-bar [role=group]'))
        .map(each => ({ name: each.textContent || each.className, at: each.getBoundingClientRect() }))
        .filter(each => each.at.width > 0)
    const touches = (one, other) => one.left < other.right - 1 && other.left < one.right - 1
        && one.top < other.bottom - 1 && other.top < one.bottom - 1
    const found = parts.flatMap((one, at) =>
        parts.slice(at + 1).filter(other => touches(one.at, other.at)).map(other => `${one.name} and ${other.name}`))
    return [parts.length, [...found, ...parts.filter(each => each.at.right > innerWidth).map(each => each.name)]]
}"""


def test_nothing_of_the_bar_lies_over_anything_and_the_open_run_and_edge_go_along(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner&event=3")
    for width in (1200, 1100, 1024):
        page.set_viewport_size({"width": width, "height": 768})
        wait_until_settled(page)
        parts, overlaps = page.evaluate(OVERLAPS)
        assert parts >= 10
        assert overlaps == [], f"at {width} pixels"
    for place in ("Runs", "Query store", "Inspect"):
        page.get_by_role("link", name=place, exact=True).click()
        wait_until_settled(page)
        expect(page).to_have_url(re.compile("run=1&edge=inner&event=3"))
        expect(page.get_by_role("combobox", name="Run", exact=True)).to_have_value(re.compile("^1 ·"))
        expect(page.get_by_role("combobox", name="Edge", exact=True)).to_have_value(re.compile("^inner ·"))
        expect(page.get_by_text(re.compile("^event 3 of"))).to_be_visible()
    expect(page).to_have_url(re.compile("/changelog"))


def test_a_failed_run_says_at_its_node_what_was_wrong(open_page: OpenPage) -> None:
    page = open_page("run?run=4")
    expect(page.get_by_role("alert")).to_contain_text("Guard it with NULLIF")
    expect(rows(page, "Operators of the run").nth(1)).to_contain_text("failed")


def test_a_run_that_was_killed_with_the_app_is_marked(open_page: OpenPage) -> None:
    page = open_page("run?run=6")
    expect(page.get_by_text("closed or killed")).to_be_visible()
    expect(rows(page, "All runs").filter(has_text="cut short")).to_contain_text("interrupted")


def test_a_click_in_the_list_opens_a_run_and_the_url_says_so(open_page: OpenPage) -> None:
    page = open_page("run?run=4")
    rows(page, "All runs").filter(has_text="windows of ten seconds").last.click()
    expect(page.get_by_role("heading", name="windows of ten seconds")).to_be_visible()
    expect(page).to_have_url(re.compile(r"run=2\b"))


def test_an_event_is_picked_in_the_list_with_mouse_and_keyboard(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner&event=3")
    rows(page, "Changelog").nth(1).click()
    expect(number(page)).to_have_value("2")
    expect(page).to_have_url(re.compile("event=2"))
    expect(grid(page, "Table after event 2").locator("tbody")).to_have_text("Hello1World1")
    grid(page, "Changelog").press("ArrowUp")
    expect(number(page)).to_have_value("1")
    expect(grid(page, "Changelog").locator("tr.current")).to_have_count(1)
    page.keyboard.press("n")
    expect(number(page)).to_have_value("2")


def test_the_slider_moves_list_table_and_cascade(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner&event=1")
    page.get_by_role("slider").press("ArrowRight")
    page.get_by_role("slider").press("ArrowRight")
    expect(number(page)).to_have_value("3")
    expect(grid(page, "Changelog").locator("tr.current")).to_have_count(2)
    expect(grid(page, "Table after event 3").locator("td.changed")).to_have_text("2")
    expect(rows(page, "What event 3 did")).to_have_count(9)


def test_chips_and_text_filter_the_list(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner")
    page.get_by_role("button", name="+U 1, update after").click()
    expect(rows(page, "Changelog")).to_have_count(1)
    expect(page.get_by_role("button", name="+U 1, update after")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="+U 1, update after").click()
    expect(rows(page, "Changelog")).to_have_count(4)
    page.get_by_role("textbox", name="Where").fill("word = World")
    page.keyboard.press("Enter")
    expect(rows(page, "Changelog")).to_have_count(1)


def test_folded_an_update_is_one_change(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner")
    page.get_by_role("radio", name="folded").click()
    expect(rows(page, "Changelog")).to_have_count(3)
    expect(rows(page, "Changelog").last).to_contain_text("1 → 2")


def test_the_changelog_is_downloaded_as_it_is_filtered(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("changelog?run=1&edge=inner")
    page.get_by_role("textbox", name="Where").fill("word = Hello")
    page.keyboard.press("Enter")
    expect(rows(page, "Changelog")).to_have_count(3)
    # The list is filtered before the buttons below it are.
    wait_until_settled(page)
    with page.expect_download() as got:
        page.get_by_role("button", name="CSV").click()
    got.value.save_as(tmp_path / "out.csv")
    assert got.value.suggested_filename == "run1-inner.csv"
    lines = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert lines == [
        ["seq", "step", "kind", "word", "cnt"],
        ["1", "00", "+I", "Hello", "1"],
        ["3", "00", "-U", "Hello", "1"],
        ["3", "01", "+U", "Hello", "2"],
    ]
    with page.expect_download() as got:
        page.get_by_role("button", name="Parquet").click()
    got.value.save_as(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column("cnt").to_pylist() == [1, 1, 2]
    page.get_by_role("button", name="More formats").click()
    with page.expect_download() as got:
        page.get_by_role("button", name="Debezium JSON").click()
    got.value.save_as(tmp_path / "out.debezium.jsonl")
    assert got.value.suggested_filename == "run1-inner.debezium.jsonl"
    changes = map(json.loads, (tmp_path / "out.debezium.jsonl").read_text().splitlines())
    assert [change["op"] for change in changes] == ["c", "d", "c"]


def test_what_users_wrote_is_not_run_as_markup(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(rows(page, "Changelog")).to_have_count(6)


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_chart_shows_records_windows_and_watermark(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page("event-time?run=2", color_scheme=color_scheme)
    legend = page.locator(".js-plotly-plot .legendtext")
    expect(legend).to_have_text(["in time", "dropped", "watermark", "window", "window fires"])
    expect(page.get_by_text("2 of 6 records were late")).to_be_visible()
    expect(rows(page, "Late records").first).to_contain_text("10.002 s")
    expect(rows(page, "Rejected rows")).to_have_count(2)


def test_a_drag_over_the_chart_zooms_into_those_events(open_page: OpenPage) -> None:
    page = open_page("event-time?run=3")
    area = page.locator(".js-plotly-plot .nsewdrag").first
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 150, steps=8)
    page.mouse.up()
    expect(page.get_by_role("button", name="Whole run")).to_be_enabled()
    expect(page.get_by_role("slider").first).not_to_have_value("1")
    page.get_by_role("button", name="Whole run").click()
    expect(page.get_by_role("slider").first).to_have_value("1")


def test_a_late_record_leads_to_what_its_event_did(open_page: OpenPage) -> None:
    page = open_page("event-time?run=2")
    parts = page.get_by_role("radiogroup", name="Show")
    parts.get_by_text("Which ones?").click()
    expect(page.get_by_text("records have key = b; of all")).to_be_visible()
    parts.get_by_text("Late records").click()
    rows(page, "Late records").last.click()
    expect(page.get_by_text("Event 4 of clicks pushed the watermark past it")).to_be_visible()
    expect(rows(page, "In time, would have come out at per_window")).to_contain_text("[5, 6]")
    page.get_by_role("button", name="See what event 6 did").click()
    expect(page).to_have_url(re.compile(r"changelog\?.*event=6"))
    expect(rows(page, "What event 6 did")).to_have_count(1)


def test_a_late_records_file_is_opened_from_the_chart_and_wherever_its_event_is_shown(open_page: OpenPage) -> None:
    page = open_page("event-time?run=2")
    file = page.get_by_text("Event 4 of clicks pushed the watermark past it")
    points = page.locator(".js-plotly-plot .scatterlayer .point")
    expect(page.locator(".js-plotly-plot .legendtext").nth(1)).to_have_text("dropped")
    # After the three windows that fired and the four records in time.
    box = points.nth(7).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_text("Event 5 of clicks, a late record")).to_be_visible()
    expect(file).to_be_visible()
    for elsewhere in ("time-travel?run=2&event=6", "changelog?run=2&event=6"):
        page = open_page(elsewhere)
        page.get_by_role("button", name="Event 6 was late: open its file").click()
        expect(page.get_by_text("Event 6 of clicks, a late record")).to_be_visible()
    page = open_page("time-travel?run=2&event=6")
    page.get_by_role("button", name="per_window: 1 dropped, show records").click()
    expect(page.get_by_text("Event 6 of clicks, a late record")).to_be_visible()
    page.get_by_role("button", name="Try a delay of 10.002 s").click()
    expect(page.get_by_role("slider", name="Watermark delay of clicks")).to_have_attribute("aria-valuetext", "10.002 s")
    expect(page.get_by_test_id("stMetric").filter(has_text="Records dropped")).to_contain_text("-2")


def test_an_alert_leads_to_the_file_of_a_late_record(open_page: OpenPage) -> None:
    page = open_page("run?run=9")
    expect(page.get_by_text("were dropped, more than 10 %")).to_be_visible()
    page.get_by_role("button", name="A late record", exact=True).click()
    expect(page).to_have_url(re.compile(r"event-time\?.*run=9.*event=6"))
    expect(page.get_by_text("Event 6 of clicks, a late record")).to_be_visible()
    expect(page.get_by_text("Event 4 of clicks pushed the watermark past it")).to_be_visible()


def test_late_records_are_saved_with_their_own_columns_typed(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("event-time?run=2")
    with page.expect_download() as got:
        page.get_by_role("button", name="Parquet", exact=True).first.click()
    assert got.value.suggested_filename == "run2-late.parquet"
    got.value.save_as(tmp_path / "late.parquet")
    saved = pq.read_table(tmp_path / "late.parquet")
    types = {field.name: str(field.type) for field in saved.schema}
    assert {name: types[name] for name in ("key", "id", "ts")} == {"key": "string", "id": "string", "ts": "int64"}
    first, second = saved.to_pylist()
    assert (first["key"], first["id"], first["ts"]) == ("b", "5", seeded_store.BASE + 100_001)
    assert [each["late_event"] for each in (first, second)] == [5, 6]
    assert {each["late_pushed_by_event"] for each in (first, second)} == {4}
    assert {each["late_outcome"] for each in (first, second)} == {"dropped"}
    assert all(each["late_why"] and each["late_window_start"] < each["late_window_end"] for each in (first, second))


def test_the_link_to_what_is_shown_is_copied_by_keys_and_opens_it_again(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner&event=3&where=cnt > 1")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Share").press("Enter")
    link = page.get_by_role("button", name="Copy link")
    expect(link).to_be_visible()
    link.press("Enter")
    said = page.get_by_role("status").get_by_text("Copied: the page Changelog, run 1, event 3.")
    expect(said).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(copied).query) == {
        "run": ["1"],
        "edge": ["inner"],
        "event": ["3"],
        "where": ["cnt > 1"],
    }


WITHOUT_DATA: Final = "document.documentElement.outerHTML.length - document.getElementById('data').textContent.length"


def test_a_replay_steps_from_window_to_window_and_is_small_beside_its_data(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("time-travel?run=2&event=1", color_scheme="dark")
    page.get_by_role("button", name="Share").click()
    replay, address = offline(page, "A replay as HTML", tmp_path)
    told = page.get_by_text("replay-run-2.html goes to your browser's downloads.")
    expect(told).to_contain_text("It has the events 1 to 7 of run 2. It opens at event 1.")
    replay.goto(address)
    expect(replay.locator("#now")).to_have_text(re.compile("^event 1 of"))
    # In the page's theme, although its reader's is light; and without a finding.
    expect(replay.locator("body")).to_have_css("background-color", "rgb(21, 23, 28)")
    assert violations(replay) == []
    for event in (3, 4):
        replay.keyboard.press("w")
        expect(replay.locator("#now")).to_have_text(re.compile(f"^event {event} of"))
    replay.keyboard.press("l")
    expect(replay.locator("#now")).to_have_text(re.compile("^event 5 of"))
    assert replay.evaluate(WITHOUT_DATA) <= 500_000
    replay.context.close()


# Of the words Hello 1, World 1, Hello 2: what a condition leaves of the changelog and of the table after event 3.
CONDITIONS: Final = {
    "word = World": (["World"], ["World1"]),
    "word <> World": (["Hello"] * 3, ["Hello2"]),
    "cnt < 2": (["Hello", "World", "Hello"], ["World1"]),
    "cnt > 1": (["Hello"], ["Hello2"]),
    "word LIKE 'W%'": (["World"], ["World1"]),
    "word IN (World, Moon)": (["World"], ["World1"]),
    "word IS NULL": ([], []),
    "word LIKE '%o%' AND cnt >= 2": (["Hello"], ["Hello2"]),
}


def test_conditions_filter_the_changelog_and_the_table_beside_it_and_stand_in_the_address(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner&event=3")
    for condition, (records, table) in CONDITIONS.items():
        where = page.get_by_role("textbox", name="Where")
        where.fill(condition)
        where.press("Enter")
        expect(rows(page, "Changelog")).to_have_text([re.compile(word) for word in records])
        expect(rows(page, "Table after event 3")).to_have_text(table)
        page.wait_for_function("asked => new URLSearchParams(location.search).get('where') === asked", arg=condition)
        wait_until_settled(page)
    page.reload()
    expect(page.get_by_role("textbox", name="Where")).to_have_value(condition)
    expect(rows(page, "Changelog")).to_have_count(1)
    expect(rows(page, "Table after event 3")).to_have_text(table)


def test_a_replay_plays_its_events_without_a_server(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("time-travel?run=1&event=3&story=01-word-frequency.1")
    page.get_by_role("button", name="Share").click()
    replay, address = offline(page, "A replay as HTML", tmp_path, viewport={"width": 390, "height": 844})
    wrong: list[str] = []
    replay.on("console", lambda message: wrong.append(message.text))
    replay.on("pageerror", lambda error: wrong.append(str(error)))
    replay.goto(address)
    # At the event that was on screen, and at the step of the story.
    expect(replay.locator("#now")).to_have_text("event 3 of 3")
    expect(replay.locator("#step")).to_have_text("step 1 of 6")
    replay.get_by_role("slider", name="Event").fill("0")
    replay.get_by_role("slider", name="Event").blur()
    expect(replay.locator("#now")).to_have_text("before the first event")
    for _ in range(3):
        replay.keyboard.press("n")
    expect(replay.locator("#now")).to_have_text("event 3 of 3")
    expect(replay.locator("#graph .node.lit")).to_have_count(4)
    expect(replay.locator("#graph .dot").first).to_be_attached()
    expect(replay.locator("#table tbody tr")).to_have_text(["11", "21"])
    expect(replay.locator("#cascade tbody tr")).to_have_count(9)
    expect(replay.locator("#cascade .why").filter(has_text="cnt 1 → 2")).not_to_have_count(0)
    expect(replay.locator("#summary")).to_contain_text("it caused 8 records, 3 of them retractions")
    replay.keyboard.press("p")
    expect(replay.locator("#table tbody tr")).to_have_text(["12"])
    replay.keyboard.press("l")
    expect(replay.locator("#summary")).to_have_text("None after event 2 in this file.")
    replay.keyboard.press("u")
    expect(replay.locator("#now")).to_have_text("event 3 of 3")
    replay.get_by_role("combobox", name="The table of").select_option(label="words")
    expect(replay.locator("#table tbody tr")).to_have_count(3)
    replay.keyboard.press("k")
    expect(replay.locator("#now")).to_have_text("event 1 of 3")
    expect(replay.locator("#step")).to_have_text("step 1 of 6")
    replay.get_by_role("combobox", name="The table of").blur()
    for key, at in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
        replay.keyboard.press(key)
        expect(replay.locator("#step")).to_have_text(f"step {at} of 6")
    overflow = "document.documentElement.scrollWidth - innerWidth"
    assert (replay.evaluate(overflow), wrong) == (0, [])
    replay.context.close()


def test_other_ttls_are_tried_on_the_records_of_a_run(open_page: OpenPage) -> None:
    page = open_page("state?run=8")
    page.get_by_role("radio", name="What if", exact=True).click()
    page.get_by_role("button", name="Run these records again").click()
    told = page.get_by_text("The smallest TTL that changes nothing for 99.9 % of the events is 2 h")
    expect(told).to_be_visible(timeout=RUN_TIMEOUT_MS)
    tried = grid(page, "State TTLs that were tried")
    expect(tried).to_contain_text("event 5")
    tried.get_by_text("1 h", exact=True).click()
    expect(page.get_by_text("is the first with other results")).to_be_visible()
    expect(grid(page, "frequencies").first).to_be_visible()


def test_two_sessions_look_at_different_places(open_page: OpenPage) -> None:
    one, other = open_page("changelog?run=1&edge=inner&event=3"), open_page("changelog?run=2&edge=per_window")
    rows(one, "Changelog").first.click()
    expect(number(one)).to_have_value("1")
    expect(number(other)).to_have_value("7")
    expect(rows(other, "Changelog")).to_have_count(3)


def start(page: Page) -> None:
    before = page.url
    page.get_by_role("button", name="Run again").click()
    page.get_by_role("spinbutton", name="Epochs").fill("3")
    page.get_by_role("spinbutton", name="Epochs").press("Enter")
    wait_until_settled(page)
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Run", exact=True).click()
    expect(page).not_to_have_url(before)


@pytest.mark.slow
def test_a_run_goes_on_while_nobody_looks_and_a_reload_finds_it(open_page: OpenPage) -> None:
    page = open_page("run?run=5")
    start(page)
    expect(rows(page, "Operators of the run")).to_have_count(4)
    page.get_by_role("link", name="Inspect").click()
    expect(page).to_have_url(re.compile("/changelog"))
    wait_until_settled(page)
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page).to_have_url(re.compile("/run"))
    wait_until_settled(page)
    page.reload()
    expect(page.get_by_role("button", name="Open the changelog")).to_be_enabled(timeout=RUN_TIMEOUT_MS)
    expect(rows(page, "Operators of the run").last).to_contain_text("frequencies")
    page.get_by_role("button", name="Open the changelog").click()
    expect(rows(page, "Changelog")).to_have_count(6)
    expect(rows(page, "Changelog").last).to_contain_text("+I")


@pytest.mark.slow
def test_a_run_is_cancelled_by_another_session(open_page: OpenPage) -> None:
    page = open_page("run?run=7")
    start(page)
    other = open_page(page.url.rpartition("/")[2])
    other.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The run was cancelled.", exact=True)).to_be_visible(timeout=RUN_TIMEOUT_MS)
    expect(rows(page, "All runs").first).to_contain_text("cancelled")


def test_a_run_is_deleted_after_a_question(open_page: OpenPage) -> None:
    page = open_page("run?run=6")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Keep it").click()
    expect(rows(page, "All runs").filter(has_text="cut short")).to_have_count(1)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete the run").click()
    expect(rows(page, "All runs").filter(has_text="cut short")).to_have_count(0)
