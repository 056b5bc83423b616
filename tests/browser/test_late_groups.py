"""Which records are late: of vans in three cities, whose trips lie in a file each, those of Leipzig arrive late; and
when, on the map of 20,000 clicks.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect

from engine.model.pipeline import Arrival, Pipeline
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, rows, wait_until_settled
from tests.engine.planning import pipeline_of
from tests.storage.local_runs import run_locally
from tests.ui import seeded_store

RUN_TIMEOUT_MS = 180_000
# In name order, so that the records of Leipzig come after later ones of Berlin.
CLICKS = 20_000
CITIES = {"1-berlin": "car", "2-halle": "car", "3-leipzig": "van"}


def write_trips(folder: Path) -> None:
    """A file for each city, with a trip every five seconds. Those of the last file come when all windows have fired."""
    for at, (city, kind) in enumerate(CITIES.items()):
        lines = [f"{kind},{city}-{n},2025-03-14T08:{10 * (at % 2) + n // 12:02}:{n % 12 * 5:02}" for n in range(40)]
        (folder / f"{city}.csv").write_text("\n".join(["kind,trip,started", *lines, ""]), encoding="utf-8")


def many_clicks(folder: Path) -> Pipeline:
    """A click per second. Every 50th is late, by three minutes in the first half and by three hours in the second."""
    late_s = (180, 3 * 3600)
    times = [n - (late_s[n * 2 // CLICKS] if n % 50 == 49 else n % 7) for n in range(CLICKS)]
    lines = [f"{n},{seeded_store.BASE + time * 1000}" for n, time in enumerate(times)]
    (folder / "clicks.csv").write_text("\n".join(["id,ts", *lines, ""]), encoding="utf-8")
    types = {"id": "bigint", "ts": "bigint"}
    timed = {"types": types, "event_time": "ts", "watermark_delay_ms": 10_000}
    return pipeline_of(
        "clicks -> per_minute -> out",
        clicks=("csv", {"path": str(folder / "clicks.csv"), **timed}),
        per_minute=("window_aggregate", {"kind": "tumble", "size_ms": 60_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )


def orders_and_refunds() -> Pipeline:
    """Two sources that arrive by event time. Two refunds are late; an order comes out of order, but in time."""
    seconds = {"orders": [0, 30, 5, 90, 120, 150], "refunds": [10, 70, 1, 100, 2, 160]}
    sources = {
        name: (
            "rows",
            {
                "columns": [{"name": "id", "type": "bigint"}, {"name": "ts", "type": "bigint"}],
                "rows": [[n, seeded_store.BASE + time * 1000] for n, time in enumerate(times)],
                "event_time": "ts",
                "watermark_delay_ms": 0,
            },
        )
        for name, times in seconds.items()
    }
    pipeline = pipeline_of(
        "orders -> all -> per_window -> out\nrefunds -> all",
        **sources,
        all=("union", {}),
        per_window=("window_aggregate", {"kind": "tumble", "size_ms": 20_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    return pipeline.model_copy(update={"arrival": Arrival(mode="by_event_time")})


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with run 1, of the three files, run 2, of many clicks, and run 3, of two sources."""
    folder = tmp_path_factory.mktemp("app")
    (folder / "trips").mkdir()
    write_trips(folder / "trips")
    pipeline = pipeline_of(
        "trips -> per_minute -> out",
        trips=("csv", {"path": str(folder / "trips"), "event_time": "started", "watermark_delay_ms": 0}),
        per_minute=("window_aggregate", {"kind": "tumble", "size_ms": 60_000, "aggregates": [seeded_store.COUNT]}),
        out=("sink", {"mode": "changelog"}),
    )
    with Store.open(folder / "studio.duckdb") as store:
        run_locally(store, folder, pipeline)
        run_locally(store, folder, many_clicks(folder))
        run_locally(store, folder, orders_and_refunds())
    with running_app(folder, "local[2]") as running:
        yield running


def test_late_records_are_grouped_by_file_and_a_group_leads_to_its_records(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("event-time?run=1&part=Which+ones%3F")
    expect(page.get_by_text("records have kind = van; of all")).to_be_visible()
    page.get_by_role("button", name="Group by file, too").click()
    # Not "finished": so the page before calls the first run. It has no "Run again", but a "run again with".
    expect(page.get_by_role("button", name=re.compile("Run again"))).to_be_visible(timeout=RUN_TIMEOUT_MS)
    page = open_page("event-time?run=4&part=Which+ones%3F")
    of_file = rows(page, "Which records are late").filter(has_text="3-leipzig.csv").first
    expect(of_file).to_contain_text("100.0%")
    of_file.click()
    wait_until_settled(page)
    expect(page.locator(".js-plotly-plot").filter(has_text="3-leipzig.csv")).to_be_visible()
    page.get_by_role("button", name=re.compile("^See .* dropped records with file = 3-leipzig.csv")).click()
    expect(page.get_by_text("Only dropped records of trips with file = 3-leipzig.csv")).to_be_visible()
    expect(page).to_have_url(re.compile("group=.*leipzig.csv"))
    listed = rows(page, "Late records")
    expect(listed.first).to_contain_text("3-leipzig.csv")
    # The address alone shows them, and what is saved is what is listed.
    page = open_page(re.sub("^https?://[^/]*/", "", page.url))
    expect(page.get_by_text("Only dropped records of trips with file = 3-leipzig.csv")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).first.click()
    assert "leipzig" in download.value.suggested_filename
    download.value.save_as(tmp_path / "group.csv")
    with (tmp_path / "group.csv").open(encoding="utf-8") as saved:
        found = list(csv.DictReader(saved))
    assert {(row["file"], row["late_outcome"]) for row in found} == {("3-leipzig.csv", "dropped")}
    assert all(int(row["late_pushed_by_event"]) < int(row["late_event"]) for row in found)
    page.get_by_role("button", name="All late records").click()
    expect(page).not_to_have_url(re.compile("group="))


def test_what_is_late_in_one_of_several_sources_that_arrive_by_event_time_is_seen(open_page: OpenPage) -> None:
    page = open_page("event-time?run=3&part=Late+records")
    listed = rows(page, "Late records")
    expect(listed).to_have_count(2)
    # The source comes first.
    expect(listed.first).to_have_text(re.compile("^refunds.*dropped"))
    # Which ones? begins with the source that lost most.
    page = open_page("event-time?run=3&part=Which+ones%3F")
    expect(page.get_by_text("Of the dropped records of all sources")).to_contain_text("100% came from refunds")
    expect(page.get_by_role("combobox", name="Source", exact=True)).to_have_value("refunds")


def test_what_is_tried_can_be_shared_and_is_one_delay_per_source(open_page: OpenPage) -> None:
    page = open_page("what-if?run=3")
    expect(page.get_by_text("of the records are in time.")).to_be_visible()
    keep = page.get_by_role("spinbutton", name="Keep % of the records")
    keep.fill("50")
    keep.press("Enter")
    expect(page.get_by_text("nothing needs to change")).to_be_visible()
    expect(page).to_have_url(re.compile("keep=50"))
    keep.fill("100")
    keep.press("Enter")
    expect(page.get_by_text("100 % need a delay of")).to_be_visible()
    expect(page).to_have_url(re.compile("delay="))
    wait_until_settled(page)
    # The address alone shows it; each source has a slider.
    page = open_page(re.sub("^https?://[^/]*/", "", page.url))
    expect(page.get_by_text("100 % need a delay of")).to_be_visible()
    expect(page.get_by_text("Watermark delay of orders", exact=True)).to_be_visible()
    expect(page.get_by_text("Watermark delay of refunds", exact=True)).to_be_visible()
    page = open_page("what-if?run=3&delay=0,100000")
    expect(page.get_by_test_id("stMetric").filter(has_text="Records dropped")).to_contain_text("0")


# Of the heat map: its rows as the axis names them, each with how many different numbers its cells have in either half.
CELLS: Final = """() => {
    const [chart] = document.querySelectorAll('.js-plotly-plot')
    const map = chart._fullData.find(each => each.type === 'heatmap')
    const names = chart._fullLayout.yaxis.ticktext
    return Array.from(map.z, (row, at) => {
        const cells = Array.from(row), half = cells.length / 2
        const seen = part => new Set(part.filter(each => Number.isFinite(each))).size
        return [names[at], seen(cells.slice(0, half)), seen(cells.slice(half))]
    })
}"""


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_a_map_of_many_records_tells_how_late_they_were_and_when(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page("event-time?run=2", color_scheme=color_scheme)
    chart = page.locator(".js-plotly-plot").first
    expect(chart.locator(".heatmaplayer image, .heatmaplayer .hm").first).to_be_attached()
    legend = chart.locator(".legendtext")
    expect(legend).to_have_text(["dropped"])
    seen = {name: (first, second) for name, first, second in page.evaluate(CELLS)}
    behind = {name: halves for name, halves in seen.items() if name.endswith("behind")}
    ahead = {name: halves for name, halves in seen.items() if name.endswith("ahead")}
    # No diagonal: what is in time stays in its rows over the whole run, late records are where they were late.
    assert any(min(halves) >= 1 for halves in ahead.values())
    assert [halves[0] > 0 for name, halves in behind.items() if "min" in name].count(True) == 1
    assert [halves[1] > 0 for name, halves in behind.items() if " h" in name].count(True) == 1
    assert sum(sum(halves) > 0 for halves in seen.values()) >= 3
