"""Work with a file: sums and a Top 3 per window, the late rows, the delay that keeps them, the runs compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.canvas_page import (
    at_rest,
    box,
    choose,
    drag,
    ids,
    middle,
    node,
    palette_entry,
    run,
    settled,
    tab,
    type_into,
)
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.browser.test_build import app

__all__ = ["app"]
RUN_TIMEOUT_MS = 180_000
# Orders of four places over an hour, one per 20 s; each fifth is 50 s late. One time is invalid.
PLACES = ("Harbour", "North", "South", "Old Town")


def orders() -> str:
    """The file: column names with a space, times as people write them, and one invalid time."""
    arrivals = sorted((at * 20 + (50 if at % 5 == 4 else 0), at) for at in range(180))
    lines = ["order no,placed at,place,price"]
    for _, at in arrivals:
        time = f"2025-03-14T17:{at * 20 // 60:02}:{at * 20 % 60:02}"
        lines.append(f"{at},{'tea time' if at == 90 else time},{PLACES[at % 4]},{at % 7 + 0.5}")
    return "\n".join(lines) + "\n"


def put_before_the_sink(page: Page, operator: str) -> None:
    """Drag an operator from the palette to the last edge."""
    settled(page)
    before = len(ids(page))
    entry = palette_entry(page, operator)
    edge = page.locator(".react-flow__edge[data-pick$='>sink:in']")
    drag(page, middle(entry), middle(edge))
    expect(page.locator(".react-flow__node")).to_have_count(before + 1)
    settled(page)


@pytest.mark.slow
def test_sums_and_a_top_3_per_window_the_late_records_and_the_delay_that_keeps_them(
    open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page()
    (tmp_path / "orders.csv").write_text(orders())
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "orders.csv")
    page.wait_for_url("**/build?**")
    expect(page.get_by_role("checkbox", name="placed at is the event time")).to_be_checked()
    expect(
        page.get_by_text(re.compile("179 of 180 are times without a zone; 1 is not, such as .tea time"))
    ).to_be_visible()
    expect(rows(page, "Rejected rows")).to_contain_text(["tea time"])
    expect(page.get_by_text("Of all 180 rows, 1 would be rejected.")).to_be_visible()
    type_into(page, "Watermark delay", "5 s")

    node(page, "counts").click()
    expect(box(page, "Name of the node")).to_have_value("counts")
    page.keyboard.press("Delete")
    expect(node(page, "counts")).to_have_count(0)
    put_before_the_sink(page, "window_aggregate")
    type_into(page, "Window size", "10 min")
    # It groups and counts; another function is chosen.
    expect(page.get_by_test_id("stMultiSelect").filter(has_text="Group by")).to_contain_text("place · STRING")
    choose(page, "Function", "SUM")
    expect(page.get_by_text("Of: SUM(...) needs a column. Choose what to aggregate.")).to_be_visible()
    at_rest(page)
    argument = page.get_by_role("combobox", name="Of", exact=True)
    argument.fill("pri")
    argument.press("Enter")
    settled(page)
    # A word is the column that it begins. Streamlit takes it as another value.
    expect(argument).to_have_value("price")
    put_before_the_sink(page, "window_topn")
    # It has three ranks, the highest sum first, and uses the windows that are attached to the sums.
    expect(node(page, "window_topn")).to_contain_text("sum_price")
    expect(box(page, "Window size")).to_have_count(0)
    expect(page.get_by_text(re.compile("timestamp_ntz|size_ms"))).to_have_count(0)

    run(page)
    expect(node(page, "orders")).to_contain_text("1 rejected")
    expect(node(page, "sink")).to_contain_text("18 in")
    tab(page, "Late")
    said = page.get_by_text(re.compile(r"\d+ of 179 records were late"))
    expect(page.get_by_text("would have kept all")).to_be_visible()
    late = int(re.findall(r"\d+", said.inner_text())[0])
    assert late > 0
    expect(rows(page, "Late records").first).to_contain_text("the window had closed")

    page.get_by_role("link", name="Inspect", exact=True).click()
    page.get_by_role("link", name="What if", exact=True).click()
    page.get_by_role("button", name="Nothing dropped").click()
    expect(page.get_by_test_id("stMetric").filter(has_text="Records kept")).to_contain_text("179 of 179")
    page.get_by_role("button", name="Apply and run").click()
    page.wait_for_url("**/run?**", timeout=RUN_TIMEOUT_MS)
    comparing = page.get_by_role("button", name="Compare with another run")
    expect(comparing).to_be_enabled(timeout=RUN_TIMEOUT_MS)
    wait_until_settled(page)
    comparing.click()
    expect(rows(page, "What differs").filter(has_text="Late records")).to_contain_text(f"{late} only in run")
    expect(rows(page, "What differs").filter(has_text="Final table")).to_contain_text("different")


@pytest.mark.slow
def test_german_times_and_numbers(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page()
    lines = [f"30.11.2026 10:{at // 60:02}:{at % 60:02};G{at % 3};{at // 2},{at % 2 * 5}" for at in range(100)]
    (tmp_path / "log.csv").write_text("\n".join(["Zeit;Gerät;Temperatur", *lines]), encoding="utf-8")
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "log.csv")
    page.wait_for_url("**/build?**")
    expect(page.get_by_role("checkbox", name="Zeit is the event time")).to_be_checked()
    expect(page.get_by_text("all 100 are numbers with a decimal comma")).to_be_visible()
    page.get_by_role("button", name="Add as number").click()
    expect(page.get_by_role("button", name="Add as number")).to_have_count(0)
    settled(page)
    tab(page, "Records")
    first = rows(page, "First records of log").first
    expect(first).to_contain_text(re.compile("0,0.*2026-11-30 10:00:00.*0.0"), timeout=RUN_TIMEOUT_MS)
