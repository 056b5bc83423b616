"""A live run: started in the builder, watched, paused, stepped, killed with its app, resumed, and ended."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import BrowserContext, expect

from engine.model.changelog import SYMBOLS
from storage import Store
from storage.recording.retention import Keep
from tests.browser.accessible import violations
from tests.browser.app_server import running_app
from tests.browser.canvas_page import node, start_run
from tests.browser.conftest import press, wait_until_settled
from tests.browser.run_page import figure, number, set_number
from tests.engine.planning import pipeline_of
from ui.builder.history import History

pytestmark = pytest.mark.slow
TIMEOUT_MS = 120_000
COUNT = {"function": "COUNT", "name": "n"}
WITHOUT_END = pipeline_of(
    "numbers -> per_window -> out\nnumbers -> counted -> best -> two",
    numbers=("generator", {"rows": None, "rate": 200, "keys": 5, "disorder": 0.2, "disorder_ms": 3000}),
    per_window=("window_aggregate", {"kind": "tumble", "size_ms": 1000, "group_by": ["key"], "aggregates": [COUNT]}),
    counted=("aggregate", {"group_by": ["key"], "aggregates": [COUNT]}),
    best=("topn", {"partition_by": [], "order_by": [{"column": "n", "descending": True}], "rank_end": 2}),
    out=("sink", {"mode": "changelog"}),
    two=("sink", {"mode": "changelog"}),
)


def test_a_live_run_is_watched_paused_stepped_killed_resumed_and_ended(browser: BrowserContext, tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        store.drafts.save("live", History(WITHOUT_END).to_json())
    with running_app(tmp_path, "local[2]") as app:
        page = browser.new_page()
        page.goto(f"{app.url}/build?draft=live")
        wait_until_settled(page)
        press(page, "Run live")
        # The canvas shows the first counts.
        expect(page.locator('[data-edge="numbers>counted:in"] .kind')).to_be_visible(timeout=TIMEOUT_MS)
        assert violations(page) == []
        press(page, "Open the run")
        expect(figure(page, "Dropped")).to_have_text(re.compile("[1-9]"), timeout=TIMEOUT_MS)
        press(page, "Pause")
        expect(page.get_by_text("paused").first).to_be_visible(timeout=TIMEOUT_MS)
        expect(page.get_by_role("button", name="One epoch")).to_be_visible(timeout=TIMEOUT_MS)
        wait_until_settled(page)
        assert violations(page) == []
        press(page, "Alerts")
        assert violations(page) == []
        page.keyboard.press("Escape")
        set_number(page, "Keep", "The last events", "1000000")
        set_number(page, "Alerts", "Records dropped in the last minute: more than (%)", "0.5")
        before = number(page, "Epochs")
        press(page, "One epoch")
        expect(figure(page, "Epochs")).to_have_text(str(before + 1), timeout=TIMEOUT_MS)
        events = number(page, "Events")
        press(page, "Continue")
        expect(figure(page, "Epochs")).not_to_have_text(str(before + 1), timeout=TIMEOUT_MS)
        expect(page.get_by_text("were dropped, more than 0.5 %").first).to_be_visible(timeout=TIMEOUT_MS)
        assert violations(page) == []
        os.killpg(app.pid, signal.SIGKILL)
        app.process.join(30)
        page.close()
    with running_app(tmp_path, "local[2]") as app:
        page = browser.new_page()
        page.goto(f"{app.url}/run?run=1")
        expect(page.get_by_text("it can go on after its last epoch")).to_be_visible(timeout=TIMEOUT_MS)
        press(page, "Resume")
        expect(page.get_by_role("button", name="End the sources")).to_be_visible(timeout=TIMEOUT_MS)
        expect(figure(page, "Events")).not_to_have_text(f"{events:,}", timeout=TIMEOUT_MS)
        press(page, "End the sources")
        check = page.get_by_role("button", name="Check against the batch answer")
        # No record is lost or duplicated: the batch answer over all records is the same. Small runs need no button.
        equal = page.get_by_text(re.compile("Equal to Spark's batch answer"))
        expect(check.or_(equal).first).to_be_visible(timeout=TIMEOUT_MS)
        assert "finished" in page.get_by_test_id("stMain").inner_text()
        if check.is_visible():
            check.click()
        expect(equal).to_be_visible(timeout=TIMEOUT_MS)
        # The conditions that were met are still listed, each with a link to its event.
        expect(page.get_by_text("were dropped, more than 0.5 %").first).to_be_visible()
        press(page, "Try a change on these records")
        page.wait_for_url("**/build?**", timeout=TIMEOUT_MS)
        expect(node(page, "numbers")).to_have_attribute(
            "aria-label", re.compile("numbers, Recording"), timeout=TIMEOUT_MS
        )
        start_run(page)
        press(page, "Open the run")
        page.wait_for_url("**run=2**", timeout=TIMEOUT_MS)
        again = page.get_by_role("row").filter(has=page.get_by_role("cell", name="2", exact=True))
        expect(again).to_contain_text("finished", timeout=TIMEOUT_MS)
        page.close()
    with Store.open(tmp_path / "studio.duckdb") as store:
        assert store.retention.of(1) == Keep(1_000_000, None)
        live, again = store.runs.edges(1), store.runs.edges(2)
        assert {edge.name: edge.counts for edge in live} == {edge.name: edge.counts for edge in again}


def written(folder: Path) -> tuple[list[int], Counter[str]]:
    """The epochs of a folder, and the number of its records by kind, as its manifests name them."""
    manifests: list[dict[str, Any]] = [json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))]
    files = [file["path"] for manifest in manifests for file in manifest["files"]]
    kinds = [kind for file in files for kind in pq.read_table(folder / file).column("kind").to_pylist()]
    return [manifest["epoch"] for manifest in manifests], Counter(kinds)


def test_a_sink_is_told_where_to_write_and_its_page_says_what_is_there(browser: BrowserContext, tmp_path: Path) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        store.drafts.save("live", History(WITHOUT_END).to_json())
    (tmp_path / "file").write_text("")
    place = tmp_path / "results"
    with running_app(tmp_path, "local[2]") as app:
        page = browser.new_page()
        page.goto(f"{app.url}/build?draft=live")
        wait_until_settled(page)
        node(page, "two").click()
        wait_until_settled(page)
        folder = page.get_by_role("textbox", name="Folder")
        expect(folder).to_have_count(0)
        page.get_by_role("radio", name="Parquet").click()
        folder.fill(str(tmp_path / "file"))
        wait_until_settled(page)
        page.get_by_text("Live runs write there").click()
        said = page.get_by_text("a part of this path is a file")
        expect(said.first).to_be_visible()
        assert violations(page) == []
        folder.fill(str(place))
        expect(said).to_have_count(0)
        wait_until_settled(page)
        press(page, "Run live")
        press(page, "Open the run")
        expect(page.get_by_text(f"two writes to {place}")).to_contain_text("up to epoch", timeout=TIMEOUT_MS)
        press(page, "Stop")
        line = page.get_by_text(f"two wrote to {place}")
        expect(line).to_be_visible(timeout=TIMEOUT_MS)
        told = re.search(r"([0-9,]+) records?, up to epoch ([0-9,]+)", line.inner_text())
        page.close()
    assert told is not None
    records, epoch = (int(each.replace(",", "")) for each in told.groups())
    epochs, kinds = written(place)
    with Store.open(tmp_path / "studio.duckdb") as store:
        (edge,) = (edge for edge in store.runs.edges(1) if edge.node == "two")
        assert kinds == Counter({SYMBOLS[kind]: count for kind, count in edge.counts.items() if count})
    assert (records, epoch) == (kinds.total(), max(epochs))
