"""The work of an analyst in the browser: event time, what if, compare, SQL, export, presentation, stories."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from engine.examples import examples
from storage import Store
from tests.browser.accessible import violations
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, press, rows, wait_until_settled
from tests.browser.run_page import run_again
from tests.ui import seeded_store
from ui.builder.history import History

RUN_TIMEOUT_MS = 180_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs in its store.

    1 word count, 2 windows, 3 two sources, 4 a record from the future, 5 windows without late records, 6 a cancelled
    example, 7 words with a TTL.
    """
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.word_count(store, folder)
        seeded_store.windows(store, folder)
        seeded_store.two_sources(store, folder)
        seeded_store.future(store, folder)
        seeded_store.windows(store, folder, delay=12_000)
        late = examples()["02-window-late-record"]
        run = store.runs.create("A late record", late.to_json())
        store.runs.fail(run.run_id, "the run was cancelled.", cancelled=True)
        seeded_store.expiring(store, folder)
        store.drafts.save("late", History(late).to_json())
    with running_app(folder, "local[2]") as running:
        yield running


def test_a_brushed_range_shows_its_records(open_page: OpenPage) -> None:
    page = open_page("event-time?run=3")
    box = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 150, steps=8)
    page.mouse.up()
    expect(page.get_by_text(re.compile(r"^\d+ events from \d+ to \d+$"))).to_be_visible()
    first = rows(page, "Records of the range").first
    expect(first).to_contain_text("2001-09-09")
    assert 8 < int(first.locator("td").first.inner_text()) < 16


def test_the_record_from_the_future_is_named_and_shown(open_page: OpenPage) -> None:
    page = open_page("event-time?run=4")
    expect(page.get_by_role("alert").filter(has_text="came from the future")).to_contain_text("record 8 of clicks")
    page.get_by_role("button", name="Go there").click()
    expect(page).to_have_url(re.compile("event=8"))
    expect(page.get_by_role("region", name="Records of the range").locator("tr.current")).to_contain_text("02:46:48")


def test_sql_is_asked_answered_and_downloaded(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("sql?run=2")
    page.get_by_role("button", name="Late records by operator").click()
    expect(rows(page, "Result")).to_have_count(1)
    expect(rows(page, "Result").first).to_contain_text("the window had closed")
    wait_until_settled(page)
    with page.expect_download() as got:
        page.get_by_role("button", name="CSV").click()
    got.value.save_as(tmp_path / "out.csv")
    line = (tmp_path / "out.csv").read_text().splitlines()[1]
    assert line == '"per_window","true","the window had closed before the record arrived",,"2","5001"'
    page.get_by_role("textbox").fill("COPY runs TO 'x.csv'")
    page.get_by_role("button", name="Run query").click()
    expect(page.get_by_role("alert")).to_contain_text("it copies to or from a file")
    page.get_by_role("textbox").fill("SELECT seq,\n  wort\nFROM clicks")
    page.get_by_role("textbox").press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text('Line 2: Referenced column "wort" not found')
    expect(page.locator(".cm-lintRange-error")).to_have_text("wort")
    page.get_by_role("textbox").fill("SELECT seq\nFROM clicks")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    page.get_by_role("textbox").press("Control+Enter")
    expect(rows(page, "Result")).to_have_count(6)


def test_a_table_and_a_changelog_are_exported_to_folders(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("changelog?run=1&edge=inner&event=3")
    for opens, place, partition_by, told in (
        ("Download", tmp_path / "table", "word", "2 rows of the table after event 3 of inner in 2 files"),
        ("More formats", tmp_path / "records", "", "4 records of inner in 1 file"),
    ):
        press(page, opens)
        press(page, "Folder or bucket")
        form = page.get_by_role("dialog")
        folder = form.get_by_role("textbox", name="Folder")
        folder.fill(str(Path(__file__)))
        folder.press("Enter")
        expect(form.get_by_role("alert")).to_contain_text("a part of this path is a file")
        expect(form.get_by_role("button", name="Export")).to_be_disabled()
        folder.fill(str(place))
        folder.press("Enter")
        expect(form.get_by_role("alert")).to_have_count(0)
        if partition_by:
            form.get_by_role("combobox").click()
            page.get_by_role("option", name=partition_by).click()
            page.keyboard.press("Escape")
        wait_until_settled(page)
        assert violations(page) == []
        form.get_by_role("button", name="Export").click()
        expect(form).to_have_count(0)
        said = page.get_by_text(f"Exported {told} below {place}.")
        expect(said).to_be_visible()
        wait_until_settled(page)
        assert violations(page) == []
        press(page, "Close")
        expect(said).to_have_count(0)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet")} == {
        "table/word=Hello/part-00000.parquet",
        "table/word=World/part-00000.parquet",
        "records/part-00000.parquet",
    }
    assert pq.read_table(tmp_path / "records").column("kind").to_pylist() == ["+I", "+I", "-U", "+U"]


def test_a_delay_is_dragged_and_the_figures_follow(open_page: OpenPage) -> None:
    page = open_page("what-if?run=4")
    slider = page.get_by_role("slider", name=re.compile("Watermark delay of clicks"))
    expect(slider).to_have_attribute("aria-valuetext", "2 s")
    slider.press("ArrowRight")
    expect(page.get_by_test_id("stMetric").filter(has_text="Results wait")).to_contain_text("30 s")
    page.get_by_role("button", name="Nothing dropped").click()
    expect(page.get_by_test_id("stMetric").filter(has_text="Records kept")).to_contain_text("20 of 20")
    expect(rows(page, "Records that would be dropped or kept").first).to_contain_text("kept")


def test_two_runs_are_compared_by_a_link(open_page: OpenPage) -> None:
    page = open_page("compare?run=2&versus=5")
    expect(rows(page, "What differs").first).to_contain_text("different")
    expect(rows(page, "Final tables compared")).to_have_count(1)
    rows(page, "What differs").filter(has_text="Plan").click()
    expect(rows(page, "Plans compared").first).to_contain_text("Watermark delay")
    page.get_by_role("button", name="Swap").click()
    expect(page).to_have_url(re.compile("run=5.*versus=2"))
    expect(rows(page, "Plans compared").first).to_contain_text("12 s")


@pytest.mark.slow
def test_what_was_tried_is_applied_run_and_compared(open_page: OpenPage) -> None:
    page = open_page("run?run=6")
    run_again(page)
    expect(page.get_by_role("button", name="Open the changelog")).to_be_enabled(timeout=RUN_TIMEOUT_MS)
    page.get_by_role("link", name="Inspect").click()
    page.get_by_role("link", name="What if").click()
    page.get_by_role("button", name="Nothing dropped").click()
    page.get_by_role("button", name="Apply and run").click()
    expect(page).to_have_url(re.compile("/run?"), timeout=RUN_TIMEOUT_MS)
    expect(page.get_by_role("button", name="Compare with another run")).to_be_enabled(timeout=RUN_TIMEOUT_MS)
    page.get_by_role("button", name="Compare with another run").click()
    expect(rows(page, "What differs").filter(has_text="Late records")).to_contain_text("1 only in run 8")


def test_a_view_and_a_question_are_saved_and_found_again(open_page: OpenPage) -> None:
    page = open_page("sql?run=2&sql=SELECT 41 %2B 1 AS answer")
    page.get_by_role("button", name="Views").click()
    menu = page.get_by_test_id("stPopoverBody")
    expect(menu.get_by_test_id("stCode")).to_contain_text("sql=SELECT+41")
    link = menu.get_by_test_id("stCode").inner_text().strip()
    menu.get_by_role("textbox", name="Name of the view").fill("The answer")
    menu.get_by_role("button", name="Save this query").click()
    expect(page.get_by_role("button", name="The answer")).to_be_visible()
    expect(menu.get_by_role("link", name="The answer")).to_be_visible()
    page.goto(f"{page.url.partition('/sql')[0]}/changelog?run=1&edge=inner&event=3")
    expect(rows(page, "Changelog").first).to_be_visible()
    page.get_by_role("button", name="Views").click()
    menu.get_by_role("button", name="Save this view").click()
    expect(menu.get_by_role("link", name="Changelog, run 1, edge inner, event 3")).to_be_visible()
    menu.get_by_role("link", name="The answer").click()
    expect(rows(page, "Result")).to_have_text(["42"])
    # The link to copy opens the same page.
    page.goto("about:blank")
    page.goto(link)
    expect(rows(page, "Result")).to_have_text(["42"])


def test_late_records_are_sorted_by_a_click_on_a_head_and_taken_along(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("event-time?run=2")
    late, head = rows(page, "Late records"), page.get_by_role("columnheader", name="event", exact=True)
    expect(late.first).to_contain_text("id=5")
    head.get_by_role("button").click()
    expect(late.first).to_contain_text("id=6")
    expect(head).to_have_attribute("aria-sort", "descending")
    wait_until_settled(page)
    with page.expect_download() as got:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="CSV").first.click()
    assert got.value.suggested_filename == "run2-late.csv"
    got.value.save_as(tmp_path / "late.csv")
    head, *lines = csv.reader((tmp_path / "late.csv").read_text().splitlines())
    assert (head[-4:], [line[-4:] for line in lines]) == (
        ["late_pushed_by_event", "key", "id", "ts"],
        [["4", "b", "5", "1000000100001"], ["4", "b", "6", "1000000109000"]],
    )


def exported(page: Page, file: Path) -> str:
    """Save the page as HTML; the name that the app proposes."""
    wait_until_settled(page)
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as got:
        page.get_by_role("button", name="This page as HTML").click()
    got.value.save_as(file)
    assert file.stat().st_size < 1_000_000
    return got.value.suggested_filename


def test_a_page_is_exported_as_one_file_that_fetches_nothing(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("event-time?run=2")
    expect(rows(page, "Late records")).to_have_count(2)
    assert exported(page, tmp_path / "page.html") == "event-time-run-2.html"
    flow = open_page("retractions?run=1&part=The whole run")
    expect(flow.locator(".js-plotly-plot .sankey").first).to_be_visible()
    exported(flow, tmp_path / "flow.html")
    asked: list[str] = []
    reader = page.context.new_page()
    reader.on("request", lambda request: asked.append(request.url))
    reader.goto((tmp_path / "flow.html").as_uri())
    expect(reader.locator(".js-plotly-plot .sankey").first).to_be_visible()
    reader.goto((tmp_path / "page.html").as_uri())
    expect(reader.locator(".js-plotly-plot .legendtext").first).to_have_text("in time")
    expect(reader.get_by_text("2 of 6 records were late")).to_be_visible()
    expect(reader.locator("table").first).to_contain_text("the window had closed")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_chart_is_copied_and_saved_from_its_own_menu(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("event-time?run=2")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chart = page.locator(".js-plotly-plot").first
    for kind, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        chart.hover()
        chart.locator(".modebar-btn[data-title^='As a picture']").click()
        with page.expect_download() as got:
            page.get_by_role("menuitem", name=f"Save as {kind}").click()
        got.value.save_as(tmp_path / "chart")
        assert got.value.suggested_filename == f"event-time-2.{kind.lower()}"
        assert (tmp_path / "chart").read_bytes()[:4] == begins
    chart.hover()
    chart.locator(".modebar-btn[data-title^='As a picture']").click()
    page.get_by_role("menuitem", name="Copy").click()
    expect(page.get_by_text("Copied as a picture")).to_be_visible()


def test_presentation_is_large_without_chrome_and_in_the_url(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner&event=3", color_scheme="dark")
    page.get_by_role("button", name="Present").click()
    expect(page).to_have_url(re.compile("present=on"))
    expect(page.get_by_role("link", name="Changelog")).to_have_count(0)
    expect(page.get_by_test_id("stHeader")).to_be_hidden()
    page.reload()
    expect(rows(page, "Changelog").first).to_be_visible()
    page.get_by_role("button", name="Leave presentation").click()
    expect(page.get_by_role("link", name="Changelog")).to_be_visible()
    expect(page).not_to_have_url(re.compile("present"))


@pytest.mark.slow
def test_a_story_is_told_from_the_gallery_to_its_end(open_page: OpenPage) -> None:
    page = open_page()
    # By its key: on a slow machine the browser still draws the cards after the end of the script run, in any order.
    page.locator(".st-key-story-Word-frequency").get_by_role("button").click()
    expect(page.get_by_text("step 1 of 6")).to_be_visible()
    following = page.get_by_role("button", name="Next step")
    expect(following).to_be_enabled(timeout=RUN_TIMEOUT_MS)
    following.click()
    expect(page.get_by_text("step 2 of 6")).to_be_visible()
    expect(page).to_have_url(re.compile(r"changelog\?.*edge=count_words.*event=2"))
    following.click()
    expect(page.get_by_text("step 3 of 6")).to_be_visible()
    expect(rows(page, "Changelog").filter(has_text="-U")).to_have_count(1)
    page.reload()
    expect(page.get_by_text("step 3 of 6")).to_be_visible()
    for step in (4, 5, 6):
        following.click()
        expect(page.get_by_text(f"step {step} of 6")).to_be_visible()
    expect(page).to_have_url(re.compile("edge=frequencies"))
    page.get_by_role("button", name="Finish").click()
    expect(page.get_by_text("step 6 of 6")).to_have_count(0)
