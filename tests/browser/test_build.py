"""The gallery and the builder in the browser: open, compose, make errors, undo, reload, drop a file, run."""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import (
    add,
    add_column,
    at_rest,
    box,
    node,
    open_example,
    run_button,
    studio,
    tab,
    type_into,
)
from tests.browser.conftest import OpenPage, press, wait_until_settled
from tests.engine.sources.postgres_server import server

RUN_TIMEOUT_MS = 180_000
CSV = """order_id,customer,amount,created_at
1,alice,10.5,2024-01-01 10:00:00
2,bob,20,2024-01-01 10:00:05
1,alice,11.5,2024-01-01 10:00:07
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running_app(tmp_path_factory.mktemp("app"), "local[2]") as running:
        yield running


def test_an_example_is_opened_broken_and_mended(page: Page) -> None:
    open_example(page, "Window join that loses pairs")
    node(page, "joined").click()
    expect(box(page, "Window size")).to_have_value("10 s")
    # No Tab, no Enter: errors are shown while the user types.
    box(page, "Window size").fill("10 parsecs")
    expect(page.get_by_text("is not a duration").first).to_be_visible()
    expect(node(page, "joined")).to_have_attribute("aria-label", re.compile("joined, Window join, Window size"))
    expect(run_button(page)).to_be_disabled()
    box(page, "Window size").fill("10 s")
    expect(page.get_by_text("is not a duration")).to_have_count(0)
    expect(run_button(page)).to_be_enabled()


def test_nodes_and_edges_are_selected_with_mouse_and_keyboard(page: Page) -> None:
    open_example(page, "Word frequency")
    node(page, "count_counts").click()
    expect(box(page, "Name of the node")).to_have_value("count_counts")
    expect(page).to_have_url(re.compile("selection=count_counts"))
    node(page, "count_words>count_counts:in").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("count_words → count_counts", exact=True)).to_be_visible()
    press(page, "+ Add")
    expect(page.get_by_text("Enter inserts it on count_words → count_counts")).to_be_visible()
    press(page, "Disconnect")
    expect(page.get_by_text("its input is not connected").first).to_be_visible()


def test_what_was_typed_survives_a_reload_wrong_or_right(page: Page) -> None:
    open_example(page, "Window join that loses pairs")
    node(page, "joined").click()
    type_into(page, "Window size", "1 min")
    page.get_by_text("More", exact=True).click()
    type_into(page, "Window offset", "half a minute")
    page.reload()
    expect(box(page, "Window size")).to_have_value("1 min")
    expect(box(page, "Window offset")).to_have_value("half a minute")
    expect(page.get_by_text("is not a duration").first).to_be_visible()
    # Undo steps are kept as well.
    press(page, "Undo")
    expect(box(page, "Window offset")).to_have_value("0 s")
    press(page, "Undo")
    expect(box(page, "Window size")).to_have_value("10 s")


def test_undo_and_redo_by_keyboard(page: Page) -> None:
    open_example(page, "Word frequency")
    node(page, "count_words").click()
    expect(page.get_by_role("textbox", name="Name of the node")).to_have_value("count_words")
    press(page, "Delete")
    expect(node(page, "count_words")).to_have_count(0)
    expect(node(page, "words>count_counts:in")).to_be_visible()
    # A shortcut does nothing while its button is disabled.
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    page.keyboard.press("Control+z")
    expect(node(page, "count_words")).to_be_visible()
    expect(page.get_by_role("button", name="Redo")).to_be_enabled()
    page.keyboard.press("Control+Shift+z")
    expect(node(page, "count_words")).to_have_count(0)


def test_the_word_frequency_is_composed_from_nothing_and_run(page: Page) -> None:
    press(page, "New pipeline")
    page.wait_for_url("**/build?**")
    add(page, "Rows")
    page.get_by_role("radio", name="Text").click()
    lines = page.get_by_role("textbox", name="Rows, one per line: word")
    lines.fill("Hello\nWorld\nHello")
    lines.press("Control+Enter")
    wait_until_settled(page)
    add(page, "Aggregate")
    type_into(page, "Name", "cnt")
    add(page, "Aggregate")
    group = page.get_by_role("combobox", name=re.compile("Group by"))
    page.get_by_role("button", name=re.compile("word")).first.or_(group).first.wait_for()
    page.get_by_test_id("stMultiSelect").locator('[role="button"], button').first.click()
    at_rest(page)
    group.click()
    group.fill("cnt")
    page.get_by_role("option", name=re.compile("^cnt")).click()
    group.press("Escape")
    wait_until_settled(page)
    type_into(page, "Name", "freq")
    add(page, "Sink")
    expect(node(page, "aggregate_2>sink:in")).to_have_attribute("aria-label", re.compile(re.escape("+I -U +U -D")))
    run_button(page).click()
    expect(page.get_by_text("finished").first).to_be_visible(timeout=RUN_TIMEOUT_MS)
    page.get_by_role("button", name="Open its changelog").click()
    page.wait_for_url("**/changelog?**")
    expect(page.get_by_text("-D").first).to_be_visible()


def test_a_table_of_postgres_is_composed_from_nothing_and_followed(page: Page) -> None:
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as running:
        running.run(
            "CREATE TABLE orders (id bigint PRIMARY KEY, town text, amount numeric(10,2))",
            "ALTER TABLE orders REPLICA IDENTITY FULL",
            "INSERT INTO orders VALUES (1, 'a', 1.5), (2, 'b', 2.5)",
        )
        press(page, "New pipeline")
        page.wait_for_url("**/build?**")
        add(page, "Postgres CDC")
        page.get_by_text("More", exact=True).first.click()
        page.get_by_role("spinbutton", name="Port").fill(str(running.port))
        for label, text in (("Host", "127.0.0.1"), ("Database", "postgres"), ("Table", "order"), ("User", "studio")):
            type_into(page, label, text)
        type_into(page, "Replication slot", "studio")
        press(page, "Take the columns of the table")
        expect(page.get_by_text("there is no table public.order in").first).to_be_visible()
        type_into(page, "Table", "orders")
        press(page, "Take the columns of the table")
        expect(box(page, "Type").nth(2)).to_have_value("DECIMAL(10, 2)")
        add(page, "Aggregate")
        add(page, "Sink")
        page.get_by_role("button", name="Run live", exact=True).click()
        page.get_by_role("button", name="Open the run", exact=True).click()
        events = page.get_by_test_id("stMetric").filter(has_text=re.compile("^Events")).get_by_test_id("stMetricValue")
        expect(events).to_have_text("2", timeout=RUN_TIMEOUT_MS)
        running.run("UPDATE orders SET amount = 3 WHERE id = 1", "DELETE FROM orders WHERE id = 2")
        expect(events).to_have_text("5", timeout=RUN_TIMEOUT_MS)
        # None of its records has an event time.
        expect(page.get_by_test_id("stMetric").filter(has_text="Watermark")).to_have_count(0)
        page.get_by_role("button", name="End the sources").click()
        expect(page.get_by_text("finished").first).to_be_visible(timeout=RUN_TIMEOUT_MS)


def test_a_pipeline_is_saved_found_again_and_exported(page: Page, tmp_path: Path) -> None:
    open_example(page, "Top 3 with rank")
    type_into(page, "Name of the pipeline", "Best sellers")
    press(page, "Save")
    expect(page.get_by_role("button", name=re.compile("Saved"))).to_be_visible()
    press(page, "Pipeline")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as JSON").click()
    download.value.save_as(tmp_path / "export.json")
    assert json.loads((tmp_path / "export.json").read_text())["name"] == "Best sellers"
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Pipelines").click()
    expect(page.get_by_text("Best sellers", exact=True)).to_be_visible()


def test_an_export_is_imported_and_nonsense_refused_with_a_sentence(page: Page, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.json"
    nonsense.write_text('{"version": 1, "nodes": [], "colour": "red"}')
    press(page, "Import")
    page.get_by_test_id("stPopoverBody").locator("input[type=file]").set_input_files(nonsense)
    expect(page.get_by_role("alert")).to_contain_text("unknown field 'colour'", ignore_case=True)


def test_a_dropped_file_becomes_a_pipeline_that_runs(page: Page, tmp_path: Path) -> None:
    orders = tmp_path / "orders.csv"
    orders.write_text(CSV)
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(orders)
    page.wait_for_url("**/build?**")
    expect(node(page, "orders>latest:in")).to_be_visible()
    expect(page.get_by_text("order_id,customer,amount,created_at")).to_be_visible()
    run_button(page).click()
    expect(page.get_by_text("finished").first).to_be_visible(timeout=RUN_TIMEOUT_MS)


def test_a_dropped_array_of_objects_and_a_file_of_a_spreadsheet_are_read(page: Page, tmp_path: Path) -> None:
    array, sheet = tmp_path / "orders.json", tmp_path / "cities.csv"
    array.write_text('[{"id": 1, "city": "Köln"},\n {"id": 2, "city": "Bonn"}]')
    sheet.write_bytes("city;people\nKöln;1\nBonn;2\n".encode("cp1252"))
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files([array, sheet])
    page.wait_for_url("**/build?**")
    expect(page.get_by_text("one JSON object in each")).to_be_visible()
    expect(page.get_by_text("cp1252")).to_be_attached()
    expect(page.get_by_text('{"id": 2, "city": "Bonn"}')).to_be_visible()
    node(page, "cities").click()
    expect(page.get_by_text("Köln;1")).to_be_visible()


def test_a_dropped_zip_file_is_the_log_in_it_with_its_time(page: Page, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "logs.zip", "w") as archive:
        lines = [f'10.0.0.{at} - - [01/Dec/2026:10:00:0{at} +0000] "GET / HTTP/1.1" 200' for at in range(5)]
        archive.writestr("var/access.log", "\n".join(lines))
        archive.writestr("read.me", "")
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "logs.zip")
    page.wait_for_url("**/build?**")
    expect(node(page, "access")).to_contain_text("log_time")
    run_button(page).click()
    expect(page.get_by_text("finished").first).to_be_visible(timeout=RUN_TIMEOUT_MS)
    expect(page.get_by_text("2026-12-01 10:00:04").first).to_be_visible()


def test_files_that_are_dropped_at_once_become_sources_beside_each_other(page: Page, tmp_path: Path) -> None:
    for name in ("orders", "customers"):
        (tmp_path / f"{name}.csv").write_text(CSV)
    # All formats are there to read.
    told = page.locator(".st-key-drop [data-testid=stFileUploaderDropzone]")
    cut = "all => all.filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent)"
    assert told.locator("span, small, p").evaluate_all(cut) == []
    files = [tmp_path / "orders.csv", tmp_path / "customers.csv"]
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(files)
    page.wait_for_url("**/build?**")
    for name in ("orders", "customers"):
        expect(node(page, name)).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(2)


def test_rows_that_are_pasted_become_a_pipeline_that_runs(page: Page) -> None:
    press(page, "Paste SQL or rows")
    page.get_by_label("Flink SQL, or rows with the column names").fill(CSV.replace(",", "\t"))
    page.get_by_role("button", name="Create a pipeline").click()
    page.wait_for_url("**/build?**")
    expect(node(page, "pasted>latest:in")).to_be_visible()
    run_button(page).click()
    expect(page.get_by_text("finished").first).to_be_visible(timeout=RUN_TIMEOUT_MS)


def test_sql_that_is_pasted_or_dropped_is_read_as_sql_whatever_the_file_is_called(page: Page, tmp_path: Path) -> None:
    script = "-- a blog\nCREATE TABLE seen (id INT);\nINSERT INTO seen VALUES (1);\nSELECT id FROM seen;\n"
    press(page, "Paste SQL or rows")
    page.get_by_label("Flink SQL, or rows with the column names").fill(script)
    page.get_by_role("button", name="Create a pipeline").click()
    page.wait_for_url("**/build?**", timeout=RUN_TIMEOUT_MS)
    expect(node(page, "seen")).to_be_visible()
    # In the form of a source, too.
    page.goto(page.url.partition("/build")[0])
    (tmp_path / "orders.csv").write_text("id,amount\n1,2\n")
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "orders.csv")
    page.wait_for_url("**/build?**")
    # What is drawn as the engine starts and the rows are read moves the button below the mouse.
    at_rest(page)
    page.get_by_text("Use another file").click()
    page.get_by_label("Or paste rows").fill(script)
    press(page, "Use these rows")
    expect(node(page, "seen")).to_be_visible(timeout=RUN_TIMEOUT_MS)
    page.goto(page.url.partition("/build")[0])
    (tmp_path / "blog.csv").write_text(script)
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "blog.csv")
    page.wait_for_url("**/build?**", timeout=RUN_TIMEOUT_MS)
    expect(node(page, "seen")).to_be_visible()


def test_a_table_of_a_dropped_database_is_chosen_from_those_that_it_has(page: Page, tmp_path: Path) -> None:
    shop = tmp_path / "shop.sqlite"
    with sqlite3.connect(shop) as database:
        database.execute("CREATE TABLE customers (id INTEGER)")
        database.execute("CREATE TABLE orders (order_id INTEGER, amount REAL)")
        database.execute("INSERT INTO orders VALUES (7, 9.5)")
    database.close()
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(shop)
    page.wait_for_url("**/build?**")
    expect(page.get_by_text("There are 2: customers, orders. Choose one of them.").first).to_be_visible()
    at_rest(page)
    page.get_by_role("combobox", name="Table").click()
    page.get_by_role("option", name="orders").click()
    expect(page.get_by_text("all 1 are integers")).to_be_visible()
    expect(page.get_by_text("Choose one of them.")).to_have_count(0)


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_builder_fits_a_small_screen_in_both_themes(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page(color_scheme=color_scheme)
    open_example(page, "Deduplication, every way")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 1280
    # The canvas is the page.
    canvas = studio(page).bounding_box()
    assert canvas is not None
    assert canvas["width"] >= 1000
    assert canvas["height"] >= 640
    color = node(page, "clicks").locator(".name").evaluate("each => getComputedStyle(each).color")
    brightness = sum(int(part) for part in re.findall(r"\d+", color)[:3])
    assert (brightness < 3 * 128) == (color_scheme == "light")


def test_rows_of_a_list_are_added_moved_and_removed(page: Page) -> None:
    press(page, "New pipeline")
    page.wait_for_url("**/build?**")
    add(page, "Rows")
    add_column(page)
    names = page.get_by_role("textbox", name="Name", exact=True)
    expect(names).to_have_count(2)
    names.nth(1).fill("n")
    names.nth(1).press("Tab")
    wait_until_settled(page)
    page.get_by_test_id("stMenuButton").nth(1).get_by_role("button").click()
    page.get_by_role("option", name="Move up").or_(page.get_by_role("menuitem", name="Move up")).click()
    expect(names.nth(0)).to_have_value("n")
    page.get_by_test_id("stMenuButton").nth(0).get_by_role("button").click()
    page.get_by_role("option", name="Remove").or_(page.get_by_role("menuitem", name="Remove")).click()
    expect(names).to_have_count(1)
    expect(names.nth(0)).to_have_value("word")


def test_the_first_records_of_an_output_are_there_without_a_run(open_page: OpenPage) -> None:
    page = open_page()
    open_example(page, "Word frequency")
    tab(page, "Records")
    node(page, "words").click()
    expect(page.get_by_text("3 records from 3 rows of words: all rows.")).to_be_visible(timeout=RUN_TIMEOUT_MS)
    at_rest(page)
    node(page, "count_counts").click()
    expect(box(page, "Name of the node")).to_have_value("count_counts")
    # Arriving records do not close a list from which the user is choosing.
    page.get_by_role("combobox", name="Function").click()
    expect(page.get_by_text("6 records from 3 rows of words: all rows.")).to_be_visible(timeout=RUN_TIMEOUT_MS)
    page.get_by_role("option", name="SUM", exact=True).click()
    expect(node(page, "count_counts")).to_contain_text("SUM(cnt)")
    press(page, "Undo")
    expect(page.get_by_text("6 records from 3 rows of words: all rows.")).to_be_visible(timeout=RUN_TIMEOUT_MS)
    expect(page.get_by_role("row").filter(has_text="+I")).to_have_count(2)
    edge, drawer = page.get_by_role("separator", name="Height of the drawer"), page.locator(".st-key-drawer-half")
    height = drawer.evaluate("each => each.offsetHeight")
    edge.focus()
    page.keyboard.press("ArrowUp")
    assert drawer.evaluate("each => each.offsetHeight") == height + 24
