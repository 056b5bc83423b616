"""Measures the time from a row's arrival in its file to the page of a live run, in a browser.

A thread appends rows to CSV files at a rate. The app, a process of its own, runs a live count by key over them. The
browser notes each change of the number of events on the run's page. A row has arrived once it is in its file.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, expect, sync_playwright

from storage import Store
from tests.bench import process_tree
from tests.bench.live_runs import counting, footprint
from tests.browser.app_server import App, running_app
from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.conftest import VIEWPORT, wait_until_settled
from tests.browser.run_page import figure, press, set_number
from ui.builder.history import History

_BEAT_S: Final = 0.1
_FILE_S: Final = 300
_LOOK_S: Final = 5
_KEYS: Final = 10_000
_START_MS: Final = 120_000
# The browser draws the page, so its clock tells the time of a change. It is the machine's clock.
_NOTE: Final = """label => {
    const shown = () => [...document.querySelectorAll('[data-testid=stMetric]')]
        .find(each => each.innerText.startsWith(label))?.querySelector('[data-testid=stMetricValue]')?.innerText
    window.noted = []
    let last
    new MutationObserver(() => {
        const now = shown()
        if (now !== undefined && now !== last) window.noted.push([Date.now() / 1000, last = now])
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
}"""
_TAKE: Final = "() => { const taken = window.noted; window.noted = []; return taken }"


class Feed(threading.Thread):
    """Appends rows at a rate. came: times, each with the total number of rows in the files at that time."""

    def __init__(self, folder: Path, per_second: int) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.per_second = per_second
        self.came: list[tuple[float, int]] = []
        self._stopped = threading.Event()
        self._written = 0
        self._append(0, 1)

    def run(self) -> None:
        """Append the due rows, until stopped."""
        began = time.time() - self._written / self.per_second
        self.came = []
        while not self._stopped.wait(_BEAT_S):
            since = time.time() - began
            self._append(int(since / _FILE_S), int(since * self.per_second))

    def stop(self) -> None:
        """Stop appending."""
        self._stopped.set()
        self.join()

    def _append(self, file: int, up_to: int) -> None:
        path = self.folder / f"part-{file:04d}.csv"
        rows = "".join(f"{number},{number * 7919 % _KEYS}\n" for number in range(self._written, up_to))
        with path.open("a") as stream:
            if stream.tell() == 0:
                stream.write("number,key\n")
            stream.write(rows)
        self._written = up_to
        self.came.append((time.time(), up_to))


def page_latency(per_second: int, seconds: int, engine: str, keep: int | None) -> None:
    """Print, for each tenth of the time, the latency of the page, and the CPU time and the memory of the app."""
    with tempfile.TemporaryDirectory(prefix="live-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        feed = Feed(folder / "in", per_second)
        with Store.open(folder / "studio.duckdb") as store:
            types = {"number": "bigint", "key": "bigint"}
            rows = counting("csv", path=str(feed.folder), types=types, monitor_interval_ms=100)
            store.drafts.save("live", History(rows).to_json())
        with running_app(folder, engine) as app, _browser() as page:
            page.goto(f"{app.url}/build?draft=live")
            wait_until_settled(page)
            press(page, "Run live")
            page.goto(f"{app.url}/run?run=1")
            expect(figure(page, "Events")).to_have_text("1", timeout=_START_MS)
            if keep is not None:
                set_number(page, "Keep", "The last events", str(keep))
            page.evaluate(_NOTE, "Events")
            feed.start()
            _follow(page, app, feed, seconds)
            feed.stop()


def _follow(page: Page, app: App, feed: Feed, seconds: int) -> None:
    began, first = time.time(), 0
    at, used = began, sum(process_tree.cpu(app.pid).values())
    shown: list[tuple[float, int]] = []
    waits: list[float] = []
    tenth = 1
    while tenth <= 10:
        page.wait_for_timeout(_LOOK_S * 1000)
        for when, text in page.evaluate(_TAKE):
            shown.append((float(when), int(str(text).replace(",", ""))))
        new = _waits(shown, feed.came)
        # In place: the feed appends meanwhile.
        del feed.came[: len(new)]
        waits += new
        if time.time() - began < tenth * seconds / 10 or not waits:
            continue
        now, cpu = time.time(), sum(process_tree.cpu(app.pid).values())
        waits.sort()
        sys.stdout.write(
            f"{now - began:6.0f} s  {(shown[-1][1] - first) / (now - at):9,.0f} events/s  "
            f"to the page {statistics.median(waits):5.2f} s, 99 of 100 in {waits[len(waits) * 99 // 100]:5.2f} s, "
            f"at most {waits[-1]:5.2f} s  CPU {(cpu - used) / (now - at):4.2f}  "
            f"{footprint(app.pid, app.store)}\n"
        )
        sys.stdout.flush()
        at, used, first, shown, waits = now, cpu, shown[-1][1], shown[-1:], []
        tenth += 1


def _waits(shown: Sequence[tuple[float, int]], came: Sequence[tuple[float, int]]) -> list[float]:
    """The waiting times of the rows that the page has shown, in order of arrival: one per entry of `came`."""
    waits: list[float] = []
    for when, total in shown:
        while len(waits) < len(came) and came[len(waits)][1] <= total:
            waits.append(when - came[len(waits)][0])
    return waits


@contextmanager
def _browser() -> Iterator[Page]:
    with sync_playwright() as playwright:
        path = chromium(Path(playwright.chromium.executable_path))
        launched = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        yield launched.new_page(viewport=VIEWPORT)
        launched.close()
