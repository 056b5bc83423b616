"""The app or its Spark is killed in the middle of a run: earlier runs are intact, and the next run works."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from engine.examples import examples
from engine.spark.left_behind import end_left
from engine.spark.servers import servers
from engine.spark.session import get_spark, server_of
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import wait_until_settled
from tests.browser.lasting import LASTING
from tests.browser.run_page import run_again
from tests.conftest import interpreted
from tests.ui import seeded_store

pytestmark = pytest.mark.slow
RUN_TIMEOUT_MS = 180_000


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
        run_again(page)
        expect(page.get_by_role("button", name="Cancel")).to_be_visible()
        os.killpg(app.pid, signal.SIGKILL)
        app.process.join(30)
        page.close()
    # Otherwise its job would occupy the cores until another process has a run there.
    spark = get_spark("local[2]")
    server = server_of(spark)
    assert server is not None
    end_left(spark, server)
    with running_app(tmp_path, "local[2]") as app:
        page = opened(browser, app, f"run?run={lasting.run_id + 1}")
        expect(page.get_by_text("closed or killed during this run")).to_be_visible()
        runs = page.get_by_role("region", name="All runs").locator("tbody tr")
        expect(runs.first).to_contain_text("interrupted")
        expect(runs.last).to_contain_text("finished")
        page.goto(f"{app.url}/changelog?run=1&edge=per_window")
        expect(page.get_by_role("region", name="Changelog").locator("tbody tr")).to_have_count(3)
        page.close()


def test_a_run_goes_on_once_when_spark_is_killed_then_says_so_and_the_next_one_starts_another(
    browser: BrowserContext, tmp_path: Path
) -> None:
    words = examples()["01-word-frequency"]
    with Store.open(tmp_path / "studio.duckdb") as store:
        lasting = store.runs.create("Lasting", LASTING.to_json())
        store.runs.finish(lasting.run_id)
        short = store.runs.create("Word frequency", words.to_json())
        store.runs.finish(short.run_id)
    # It has its own Spark, so that the other tests keep theirs.
    own = {"CHANGELOG_STUDIO_SERVERS": str(tmp_path / "servers"), **interpreted()}
    with running_app(tmp_path, "local[1]", own) as app:
        page = opened(browser, app, f"run?run={lasting.run_id}")
        run_again(page)
        expect(page.get_by_text("reading the sources")).to_be_visible(timeout=RUN_TIMEOUT_MS)
        [server] = servers(tmp_path / "servers")
        os.kill(server.jvm, signal.SIGKILL)
        expect(page.get_by_text("starting local[1] again")).to_be_visible(timeout=RUN_TIMEOUT_MS)
        expect(page.get_by_text("reading the sources")).to_be_visible(timeout=RUN_TIMEOUT_MS)
        [server] = servers(tmp_path / "servers")
        os.kill(server.jvm, signal.SIGKILL)
        said = "the engine local[1] ended twice while this run was computing"
        expect(page.get_by_text(said).first).to_be_visible(timeout=RUN_TIMEOUT_MS)
        page.goto(f"{app.url}/run?run={short.run_id}")
        wait_until_settled(page)
        run_again(page)
        expect(page.get_by_role("button", name="Open the changelog")).to_be_enabled(timeout=RUN_TIMEOUT_MS)
        [another] = servers(tmp_path / "servers")
        assert another.jvm != server.jvm
        another.kill()
        page.close()
