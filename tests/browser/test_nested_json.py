"""Nested JSON: a dropped file of objects in objects, grouped by a field of one, and the words that find operators."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from engine.registry import operators
from tests.browser.canvas_page import app as app
from tests.browser.canvas_page import choose, keys, node, open_draft, run
from tests.browser.conftest import OpenPage, rows

CITIES = ("Bonn", "Ulm", "Bonn", "Kiel")
# By word, the operator that comes first; for several words of windows, the one that most need.
FIRST = {
    "tumble": "window_aggregate",
    "hop": "window_aggregate",
    "session": "window_aggregate",
    "where": "filter",
    "select": "project",
    "distinct": "deduplicate",
    "limit": "topn",
    "flatten": "unnest",
    "enrich": "lookup_join",
    "lookup": "lookup_join",
    "cep": "match_recognize",
    "dedupe": "deduplicate",
    "rank": "topn",
}


def orders() -> str:
    """Every fifth order is 40 s behind the one before it."""
    lines = []
    for at in range(100):
        seconds = at * 20 - (60 if at % 5 == 4 else 0)
        customer = {"city": CITIES[at % 4], "geo": {"lat": at / 10}}
        placed = f"2025-03-14T17:{seconds // 60 % 60:02}:{seconds % 60:02}"
        lines.append({"id": at, "customer": customer, "meta": {"placed": placed}, "lines": [{"sku": "a", "qty": at}]})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_a_field_of_a_row_is_grouped_by(open_page: OpenPage, tmp_path: Path, color_scheme: str) -> None:
    page = open_page(color_scheme=color_scheme)
    (tmp_path / "orders.jsonl").write_text(orders())
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "orders.jsonl")
    page.wait_for_url("**/build?**")
    node(page, "orders").click()
    expect(page.get_by_text("all 100 are objects").first).to_be_visible()
    # The time inside of an object is the event time, with the delay that the disorder of the lines needs.
    expect(page.get_by_text("A watermark delay of 1 min keeps all of the first 100 records")).to_be_visible()

    node(page, "latest").click()
    choose(page, "Key columns", "customer.city · STRING")
    expect(node(page, "latest")).to_contain_text("city")
    run(page)
    page.get_by_role("link", name="Inspect", exact=True).click()
    expect(rows(page, "Changelog").last).to_contain_text('{"city": "Kiel", "geo": {"lat": 9.9}}')


def test_words_of_sql_and_of_other_tools_find_operators(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty3")
    page.get_by_role("button", name="+ Add").click()
    search = page.get_by_role("combobox", name="Search operators")
    first = page.locator(".palette [data-operator]").first
    for word, operator in FIRST.items():
        search.fill(word)
        expect(first, word).to_have_attribute("data-operator", operator)
    keys(page, "Escape", "Escape", "Control+k")
    commands = page.get_by_role("combobox", name="Search commands and nodes")
    for word, operator in FIRST.items():
        commands.fill(word)
        command = page.get_by_role("dialog").get_by_text(f"Add {operators()[operator].title}", exact=True)
        expect(command, word).to_be_visible()
