"""Measures the waiting times of a person at the canvas, in headless Chromium: `python -m tests.bench.bench_canvas`.

first paint      from the press of Open in the gallery to the drawn pipeline; goal 2 s
select to form   from the press on a node to the frame in which the form shows the node's name; goal 0.3 s
edge to records  from the press on an edge of a run to the first of its records in the drawer
frame            between two frames while the mouse wheel turns, with 3 and with 200 nodes, and the ratio of both
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, expect, sync_playwright

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import STUDIO, drafts, node, run, settled
from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.conftest import wait_until_settled
from ui.builder.history import History

ROUNDS: Final = 9
# Sixty turns of the mouse wheel, one per frame: the median time between two frames, in ms.
FRAME_MS: Final = f"""async () => {{
    const pane = {STUDIO}.querySelector('.react-flow__pane')
    const area = pane.getBoundingClientRect()
    const turn = {{ clientX: area.x + 300, clientY: area.y + 200, bubbles: true, cancelable: true, composed: true }}
    const times = []
    for (let at = 0, last = performance.now(); at < 60; at++) {{
        pane.dispatchEvent(new WheelEvent('wheel', {{ ...turn, deltaY: at % 2 ? 40 : -40 }}))
        await new Promise(requestAnimationFrame)
        times.push(performance.now() - last)
        last = performance.now()
    }}
    return times.sort((a, b) => a - b)[30]
}}"""
FORM_MS: Final = """name => {
    window.formTook = null
    window.addEventListener('pointerdown', () => {
        const began = performance.now()
        const look = () => {
            const shown = document.querySelector('[aria-label="Name of the node"]')?.value === name
            shown ? (window.formTook = performance.now() - began) : requestAnimationFrame(look)
        }
        look()
    }, { capture: true, once: true })
}"""


def main() -> None:
    """Start the app with drafts in its store, and measure."""
    os.environ["CHANGELOG_STUDIO_ENGINE"] = "local[2]"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with Store.open(folder / "studio.duckdb") as store:
            for key, pipeline in drafts().items():
                store.drafts.save(key, History(pipeline).to_json())
        with running_app(folder) as app, sync_playwright() as playwright:
            path = chromium(Path(playwright.chromium.executable_path))
            browser = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
            expect.set_options(timeout=60_000)
            _print("first paint", [_first_paint(browser, app) for _ in range(ROUNDS)])
            _print("select to form", _forms(_page(browser, app, "build?draft=chain0")))
            _print("edge to records", _records(_page(browser, app, "build?draft=chain2")))
            few, many = (
                _frame(_page(browser, app, "build?draft=chain1")),
                _frame(_page(browser, app, "build?draft=large")),
            )
            sys.stdout.write(
                f"frame            3 nodes {few:.1f} ms, 200 nodes {many:.1f} ms, ratio {many / few:.2f}\n"
            )


def _page(browser: Browser, app: App, path: str = "") -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{app.url}/{path}")
    wait_until_settled(page)
    if path:
        settled(page)
    return page


def _first_paint(browser: Browser, app: App) -> float:
    page = _page(browser, app)
    card = page.get_by_test_id("stColumn").filter(has_text="Word frequency")
    card.get_by_role("button", name="Open").first.click()
    began = time.perf_counter()
    node(page, "count_counts").wait_for()
    took = (time.perf_counter() - began) * 1000
    page.close()
    return took


def _forms(page: Page) -> list[float]:
    took = []
    for name in ("words", "counts", "sink") * 3:
        page.evaluate(FORM_MS, name)
        node(page, name).click()
        page.wait_for_function("window.formTook !== null")
        took.append(float(page.evaluate("window.formTook")))
        settled(page)
    return took


def _records(page: Page) -> list[float]:
    run(page)
    took = []
    for edge, name in (("words>counts:in", "words"), ("counts>sink:in", "counts")) * 4:
        first = page.get_by_role("region", name=f"Changelog of {name}").locator("tbody tr").first
        began = time.perf_counter()
        page.locator(f'[data-edge="{edge}"]').click()
        first.wait_for()
        took.append((time.perf_counter() - began) * 1000)
        settled(page)
    return took


def _frame(page: Page) -> float:
    return statistics.median(float(page.evaluate(FRAME_MS)) for _ in range(3))


def _print(what: str, took: list[float]) -> None:
    _say(what, f"median {statistics.median(took):.0f} ms, worst {max(took):.0f} ms of {len(took)}")


def _say(what: str, found: str) -> None:
    sys.stdout.write(f"{what:16} {found}\n")


if __name__ == "__main__":
    main()
