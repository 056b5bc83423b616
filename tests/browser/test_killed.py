"""The app killed in the middle of a run and started again: earlier runs are intact, the broken one is marked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import wait_until_settled
from tests.browser.lasting import LASTING
from tests.ui import seeded_store

pytestmark = pytest.mark.slow


def opened(browser: BrowserContext, app: App, place: str) -> Page:
    page = browser.new_page()
    page.goto(f"{app.url}/{place}")
    wait_until_settled(page)
    return page


def test_a_killed_app_comes_back_with_all_runs_and_the_broken_one_marked(
    browser: BrowserContext, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        seeded_store.windows(store, tmp_path)
        lasting = store.runs.create("Lasting", LASTING.to_json())
        store.runs.finish(lasting.run_id)
    with running_app(tmp_path, "local[2]") as app:
        page = opened(browser, app, f"run?run={lasting.run_id}")
        page.get_by_role("button", name="Run again").click()
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_role("button", name="Cancel")).to_be_visible()
        os.killpg(app.process.pid, signal.SIGKILL)
        app.process.wait(30)
        page.close()
    with running_app(tmp_path, "local[2]") as app:
        page = opened(browser, app, f"run?run={lasting.run_id + 1}")
        expect(page.get_by_text("closed or killed during this run")).to_be_visible()
        runs = page.get_by_role("region", name="All runs").locator("tbody tr")
        expect(runs.first).to_contain_text("interrupted")
        expect(runs.last).to_contain_text("finished")
        page.goto(f"{app.url}/changelog?run=1&edge=per_window")
        expect(page.get_by_role("region", name="Changelog").locator("tbody tr")).to_have_count(3)
        page.close()
