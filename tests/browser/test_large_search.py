"""The records of a large edge that pass a filter: their first page comes before their number is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from engine.contract import frames
from engine.contract.recorder import EdgeFile, EpochOutput
from engine.model.changelog import RowKind
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, wait_until_settled
from tests.storage.written_runs import columns, edge, plan

pytestmark = pytest.mark.slow
# The text of each DOUBLE has to be written: the search takes 10 CPU seconds, and is stopped before its end.
ROWS, PARTS = 4_000_000, [f"part_{number}" for number in range(8)]
NUMBERS = edge("numbers", columns(**dict.fromkeys(PARTS, "double")), watermark_delay_ms=0)
RARE, OTHER = "77777", "33333"
COUNTED = re.compile(r"Changelog · [\d,]+ records match the filter")
# Of a search, on a busy machine.
TIMEOUT_MS = 120_000


def numbers(folder: Path) -> EpochOutput:
    """An epoch of records of random numbers between 0 and 1."""
    random = np.random.default_rng(1)
    columns = {
        frames.SEQ: pa.array(np.arange(1, ROWS + 1)),
        frames.STEP: pa.array([b""], pa.binary()).take(pa.array(np.zeros(ROWS, np.int8))),
        frames.KIND: pa.array(np.full(ROWS, RowKind.INSERT.value, np.int8)),
        **{name: pa.array(random.random(ROWS)) for name in PARTS},
    }
    file = folder / "numbers.parquet"
    pq.write_table(pa.table(columns), file)
    return EpochOutput(0, {("numbers", "out"): (EdgeFile(str(file)),)}, last_seq=ROWS)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        recording = store.record(store.runs.create("numbers", plan().pipeline_json).run_id)
        recording.begin(plan(NUMBERS))
        recording.commit(numbers(folder))
        recording.finish()
    with running_app(folder, "local[2]") as app:
        yield app


def first_event(page: Page) -> str:
    """The event of the first record in the list."""
    rows = page.get_by_role("region", name="Changelog", exact=True).get_by_role("row")
    return rows.nth(1).get_by_role("cell").first.inner_text()


def test_matches_are_paged_through_while_they_are_counted(open_page: OpenPage) -> None:
    page = open_page(f"changelog?run=1&edge=numbers&event=1000&contains={RARE}")
    records, stop = page.get_by_role("region", name="Changelog", exact=True), page.get_by_role("button", name="Stop")
    expect(records).to_be_visible()
    stop.click()
    on = page.get_by_role("button", name="Search on")
    expect(on).to_be_visible()
    so_far = re.compile(r"Changelog · at least [\d,]+ records match the filter, \d+ % searched")
    expect(page.get_by_text(so_far)).to_be_visible()
    page.get_by_role("button", name="Next", exact=True).last.click()
    expect(page.get_by_text("Its rows that match the filter are shown when all records are searched.")).to_be_visible()
    wait_until_settled(page)
    second = first_event(page)
    assert int(second.replace(",", "")) > 1000
    on.click()
    expect(page.get_by_text(COUNTED)).to_be_visible(timeout=TIMEOUT_MS)
    wait_until_settled(page)
    assert first_event(page) == second, "the page stays when the number of all is known"
    expect(page.get_by_text(re.compile(r"[\d,]+ to [\d,]+ of [\d,]+ records"))).to_be_visible()
    expect(page.get_by_text("Table after event 1,000")).to_be_visible()


def test_another_text_is_searched_instead(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=numbers&event=1000&contains=55555")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    text = page.get_by_label("Contains")
    text.fill(OTHER)
    text.press("Enter")
    expect(page.get_by_text(COUNTED)).to_be_visible(timeout=TIMEOUT_MS)
    cells = page.get_by_role("region", name="Changelog", exact=True).get_by_role("row").nth(1).inner_text()
    assert OTHER in cells
