"""The SQL tab in the browser: an edited script changes the pipeline, a wrong one is marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import at_rest, held, node, open_example, run, run_button, tab, typed, write_rows
from tests.browser.conftest import press, wait_until_settled

STARTS_MS = 60_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running_app(tmp_path_factory.mktemp("app"), "local[2]") as running:
        yield running


def editor(page: Page) -> Locator:
    return held(page, "Flink SQL")


def replace(page: Page, old: str, new: str) -> None:
    expect(editor(page)).to_have_value(re.compile(re.escape(old)), timeout=STARTS_MS)
    typed(page, "Flink SQL").fill(editor(page).input_value().replace(old, new))
    typed(page, "Flink SQL").press("Control+Enter")
    wait_until_settled(page)


def test_an_edited_script_changes_the_pipeline_a_wrong_one_is_marked_and_a_file_of_one_opened(
    page: Page, tmp_path: Path
) -> None:
    open_example(page, "Word frequency")
    tab(page, "SQL")
    expect(editor(page)).to_have_value(re.compile("COUNT"), timeout=STARTS_MS)
    exported = tmp_path / "words.sql"
    exported.write_text(editor(page).input_value())
    before = editor(page).element_handle()
    replace(page, "SELECT cnt, COUNT(cnt) AS freq", "SELECT cnt, SUM(cnt) AS freq")
    # The changed pipeline has a new editor; for a moment both are there.
    page.wait_for_function("before => !before.isConnected", arg=before)
    expect(editor(page)).to_have_value(re.compile(r"SUM\(cnt\) AS freq"), timeout=STARTS_MS)
    replace(page, "SUM(cnt)", "SUM(count)")
    expect(page.get_by_text("unknown column 'count'.").first).to_be_visible(timeout=STARTS_MS)
    expect(page.locator(".cm-lintRange-error")).to_have_text("count")
    page.get_by_role("link", name="Pipelines").click()
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    wait_until_settled(page)
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(exported)
    page.wait_for_url("**/build?**")
    for name in ("words", "count_words", "count_counts", "frequencies"):
        expect(node(page, name)).to_be_visible()
    expect(run_button(page)).to_be_enabled()


def test_rows_that_are_entered_for_a_table_of_elsewhere_run_and_stand_in_its_script(page: Page, tmp_path: Path) -> None:
    script = tmp_path / "lake.sql"
    script.write_text("CREATE TABLE lake (id BIGINT, n STRING) WITH ('connector' = 'iceberg');\nSELECT n FROM lake;\n")
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(script)
    page.wait_for_url("**/build?**")
    page.get_by_role("button", name="Use rows for lake").click()
    expect(page.get_by_text("the connector 'iceberg' is not read here")).to_have_count(0)
    write_rows(page, "7, seven")
    run(page)
    tab(page, "SQL")
    expect(editor(page)).to_have_value(re.compile(r'^-- studio\.rows: \[\[7, "seven"\]\]\nCREATE TABLE lake'))
    tab(page, "Problems")
    expect(page.get_by_text("in place of its table ('connector' = 'iceberg'). It has 1 row.").first).to_be_visible()
    wait_until_settled(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It has none yet.").first).to_be_visible(timeout=STARTS_MS)


def test_what_cannot_be_read_of_a_script_is_marked_in_its_text(page: Page) -> None:
    script = (
        "CREATE TABLE seen (id INT);\nINSERT INTO seen VALUES (1);\nCREATE VIEW wrong AS SELECT nobody FROM seen "
        "WHERE id == 1;\n"
    )
    press(page, "Paste SQL or rows")
    page.get_by_label("Flink SQL, or rows with the column names").fill(script)
    page.get_by_role("button", name="Create a pipeline").click()
    page.wait_for_url("**/build?**", timeout=STARTS_MS)
    at_rest(page)
    # The list of problems has the notes, and nothing over the canvas repeats them.
    expect(page.get_by_text("Flink would refuse this: == is written =")).to_have_count(1)
    expect(page.get_by_role("radio", name="Problems")).to_be_checked()
    node(page, "wrong").click()
    page.get_by_role("button", name="Correct it in the SQL").click()
    expect(page.locator(".cm-lintRange-error")).to_have_text("nobody", timeout=STARTS_MS)
    replace(page, "nobody", "id")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    expect(run_button(page)).to_be_enabled()


def test_the_text_stays_where_it_is_scrolled_to_when_it_is_left(page: Page) -> None:
    rows = ", ".join(f"({at})" for at in range(9))
    views = "".join(f"CREATE VIEW v{at} AS SELECT id + {at} AS id FROM seen;\n" for at in range(30))
    reads = " UNION ALL ".join(f"SELECT id FROM v{at}" for at in range(30))
    press(page, "Paste SQL or rows")
    script = f"CREATE TABLE seen (id INT);\nINSERT INTO seen VALUES {rows};\n{views}{reads};\n"
    page.get_by_label("Flink SQL, or rows with the column names").fill(script)
    page.get_by_role("button", name="Create a pipeline").click()
    page.wait_for_url("**/build?**", timeout=STARTS_MS)
    at_rest(page)
    tab(page, "SQL")
    expect(editor(page)).to_have_value(re.compile("CREATE VIEW"), timeout=STARTS_MS)
    expect(page.get_by_text("leaving the text, makes the pipeline as it says")).to_be_visible()
    text = typed(page, "Flink SQL")
    text.click()
    page.keyboard.press("Control+End")
    before = editor(page).element_handle()
    page.keyboard.type("SELECT id FROM seen WHERE id > 3;")
    page.locator(".st-key-bench-name input").focus()
    page.wait_for_function("before => !before.isConnected", arg=before)
    expect(editor(page)).to_have_value(re.compile("id > 3"), timeout=STARTS_MS)
    page.wait_for_function("document.querySelector('.studio-editor .cm-scroller')?.scrollTop > 100")
    # No form opens beside it.
    expect(page.locator(".st-key-bench-panel")).to_have_count(0)
