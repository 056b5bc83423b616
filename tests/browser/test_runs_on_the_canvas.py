"""A run never leaves its canvas: live, killed, resumed, in two tabs, from SQL, a saved pipeline, posted rows, Kafka."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from engine.examples import examples
from engine.model.pipeline import Pipeline
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import node, settled, start_run, tab, type_into, typed
from tests.browser.conftest import OpenPage, press, wait_until_settled
from tests.engine.planning import pipeline_of
from tests.engine.sources.kafka_cluster import Cluster, cluster
from ui.builder.editing import set_parameter
from ui.builder.history import History

pytestmark = pytest.mark.slow
TIMEOUT_MS = 120_000
COUNT = {"group_by": ["id"], "aggregates": [{"function": "COUNT", "name": "n"}]}
LATE = {"kind": "tumble", "size_ms": 1000, "group_by": ["id"], "aggregates": [{"function": "COUNT", "name": "n"}]}
TYPES = {"id": "bigint", "ts": "bigint"}
SQL = """
CREATE TABLE seen (vehicle INT, place STRING, PRIMARY KEY (vehicle) NOT ENFORCED);
INSERT INTO seen VALUES (1, 'Mainz'), (2, 'Bonn');
CREATE TABLE paid (vehicle INT, fare INT);
INSERT INTO paid VALUES (1, 7), (2, 9);
SELECT s.place, p.fare FROM seen s JOIN paid p ON s.vehicle = p.vehicle;
"""


def status(page: Page, text: str) -> None:
    """Expect the badge of the run above the canvas."""
    expect(page.locator(".st-key-bench-run")).to_contain_text(text, timeout=TIMEOUT_MS)


def count(page: Page, edge: str, number: int) -> None:
    """Expect the number of inserts on an edge of the canvas."""
    inserts = page.locator(f'[data-edge="{edge}"] .kind').first
    expect(inserts).to_have_text(re.compile(rf"\+I\s*{number}$"), timeout=TIMEOUT_MS)


def opened(browser: BrowserContext, app: App, path: str) -> Page:
    page = browser.new_page()
    page.goto(f"{app.url}/{path}")
    wait_until_settled(page)
    return page


def test_a_live_run_of_a_watched_file_is_on_its_canvas_wherever_it_is_looked_at(
    browser: BrowserContext, tmp_path: Path
) -> None:
    file = tmp_path / "trips.csv"
    file.write_text("id,ts\n1,1000\n2,2000\n")
    trips = pipeline_of(
        "trips -> counts -> out\ntrips -> per_window -> windows",
        trips=("csv", {"path": str(file), "event_time": "ts"}),
        counts=("aggregate", COUNT),
        per_window=("window_aggregate", LATE),
        out=("sink", {"mode": "changelog"}),
        windows=("sink", {"mode": "changelog"}),
    )
    with Store.open(tmp_path / "studio.duckdb") as store:
        store.drafts.save("trips", History(trips).to_json())
    with running_app(tmp_path, "local[2]") as app:
        page = opened(browser, app, "build?draft=trips")
        press(page, "Run live")
        # The file is not watched: the run would end at once.
        expect(page.get_by_text("Every source of this pipeline ends by itself")).to_be_visible()
        press(page, "trips: watch it for more rows, and run live")
        status(page, "Run 1 running")
        count(page, "trips>counts:in", 2)
        with file.open("a") as more:
            more.write("3,9000\n1,500\n")
        count(page, "trips>counts:in", 4)
        expect(node(page, "trips")).to_contain_text("watermark 1970-01-01 00:00:09")
        expect(node(page, "per_window").locator("button.dropped")).to_be_visible()
        # More may come: what is late is so far, and nothing is all clear.
        tab(page, "Late")
        late = page.locator(".st-key-bench-drawer")
        expect(late).to_contain_text(re.compile(r"1 of 4 records was late.* so far, up to event 4", re.DOTALL))
        expect(late.get_by_test_id("stAlertContentSuccess")).to_have_count(0)
        two = opened(browser, app, "build?draft=trips")
        status(two, "Run 1 running")
        count(two, "trips>counts:in", 4)
        press(two, "Run live")
        expect(two.get_by_text("Still live: run 1")).to_be_visible()
        press(two, "Show run 1")
        press(two, "Pause")
        status(two, "Run 1 paused")
        page.bring_to_front()
        status(page, "Run 1 paused")
        with file.open("a") as more:
            more.write("4,9500\n")
        press(page, "One epoch")
        count(page, "trips>counts:in", 5)
        two.close()
        page.close()
        os.killpg(app.pid, signal.SIGKILL)
        app.process.join(30)
    with running_app(tmp_path, "local[2]") as app:
        page = opened(browser, app, "build?draft=trips")
        status(page, "Run 1 can be resumed")
        count(page, "trips>counts:in", 5)
        press(page, "Resume")
        status(page, "Run 1 running")
        with file.open("a") as more:
            more.write("5,9600\n")
        count(page, "trips>counts:in", 6)
        press(page, "End the sources")
        status(page, "Run 1 finished")
        # What is edited since is marked, and everything else keeps its counts.
        node(page, "per_window").click()
        settled(page)
        type_into(page, "Window size", "2 s")
        expect(node(page, "per_window").get_by_text("changed since run 1")).to_be_visible()
        expect(page.get_by_text("changed since run 1")).to_have_count(1)
        count(page, "trips>counts:in", 6)
        start_run(page)
        status(page, "Run 2 finished")
        expect(page.get_by_text("changed since run 1")).to_have_count(0)
        press(page, "Save")
        page.goto(f"{app.url}/build?pipeline=1")
        wait_until_settled(page)
        # Opened again, in a new draft: the bar names its run, and the canvas has its counts.
        status(page, "Run 2 finished")
        expect(page.get_by_text("No run is open")).to_have_count(0)
        count(page, "trips>counts:in", 6)
        page.close()


@pytest.fixture(scope="module")
def kafka() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, kafka: Cluster) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    kafka.send("orders", {"id": 1, "ts": 1000})
    columns = [{"name": name, "type": type_} for name, type_ in TYPES.items()]
    sources = {
        "posted": ("http_rows", {"path": "clicks", "types": TYPES, "fixed_columns": True}),
        "topic": (
            "kafka",
            {"servers": kafka.servers, "topic": "orders", "start": "earliest-offset", "columns": columns},
        ),
    }
    rates = examples()["09-temporal-join"]
    with Store.open(folder / "studio.duckdb") as store:
        store.drafts.save("rates", History(set_parameter(rates, "rates", "primary_key", [])).to_json())
        store.drafts.save("words", History(examples()["10-word-frequency-ttl"]).to_json())
        store.drafts.save("blank", History(Pipeline(name="blank")).to_json())
        for key, source in sources.items():
            steps = {"counts": ("aggregate", COUNT), "out": ("sink", {"mode": "changelog"})}
            pipeline = pipeline_of(f"{key} -> counts -> out", **{key: source}, **steps)
            store.drafts.save(key, History(pipeline).to_json())
    with running_app(folder, "local[2]") as running:
        yield running


def test_a_live_run_of_posted_rows_stays_on_its_canvas(open_page: OpenPage, app: App) -> None:
    page = open_page("build?draft=posted")
    press(page, "Run live")
    status(page, "Run 1 running")
    for at in (1, 2):
        body = json.dumps({"id": at, "ts": at * 1000}).encode()
        request = urllib.request.Request(f"{app.url}/rows/clicks", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=30).close()
        count(page, "posted>counts:in", at)
    press(page, "Stop")
    status(page, "Run 1 stopped")
    count(page, "posted>counts:in", 2)


def test_a_live_run_of_a_topic_stays_on_its_canvas(open_page: OpenPage, kafka: Cluster) -> None:
    page = open_page("build?draft=topic")
    press(page, "Run live")
    status(page, "Run 2 running")
    count(page, "topic>counts:in", 1)
    kafka.send("orders", {"id": 2, "ts": 2000})
    count(page, "topic>counts:in", 2)
    press(page, "End the sources")
    status(page, "Run 2 finished")


def test_a_run_of_typed_sql_appears_without_a_reload(open_page: OpenPage) -> None:
    page = open_page("build?draft=blank")
    tab(page, "SQL")
    script = typed(page, "Flink SQL")
    script.fill(SQL)
    script.press("Control+Enter")
    expect(node(page, "seen")).to_be_visible(timeout=TIMEOUT_MS)
    settled(page)
    start_run(page)
    status(page, "Run 3 finished")
    expect(node(page, "seen").locator(".run")).to_contain_text("2 out")
    expect(page.get_by_text(re.compile("changed since|not in run"))).to_have_count(0)


def test_a_press_declares_the_missing_key_and_a_late_version_is_used(open_page: OpenPage) -> None:
    page = open_page("build?draft=rates")
    tab(page, "Problems")
    press(page, "Use currency as primary key of rates")
    settled(page)
    start_run(page)
    status(page, " finished")
    converted = node(page, "converted")
    # Late is not lost: the version is kept for the orders of its time, and a left join emits each order.
    expect(converted.locator("button.late-but-used")).to_have_text("2 late but used")
    expect(converted.locator("button.dropped")).to_have_count(0)
    tab(page, "Late")
    late = page.locator(".st-key-bench-drawer")
    expect(late).to_contain_text("2 of 11 records were late: 2 were late but used by converted")


def test_what_a_node_holds_is_on_its_badge_which_opens_its_state(open_page: OpenPage) -> None:
    page = open_page("build?draft=words")
    start_run(page)
    status(page, " finished")
    badge = node(page, "count_words").get_by_role("button", name="count_words: state ")
    expect(badge).to_have_attribute("title", re.compile("^State: 3 accumulators of 3 keys"))
    expect(badge).to_have_text(re.compile(r"state [\d.]+ k?B · 2 expired"))
    badge.click()
    expect(page).to_have_url(re.compile("/state.*node=count_words"))
    expect(page.get_by_role("heading", name="count_words")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
