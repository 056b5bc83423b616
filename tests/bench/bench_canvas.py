"""Measures the waiting times of a person at the canvas, in headless Chromium: `python -m tests.bench.bench_canvas`.

first paint      from the press of Open in the gallery to the drawn pipeline; goal 2 s
select to form   from the press on a node to the frame in which the form shows the node's name; goal 0.3 s
edge to records  from the press on an edge of a run to the first of its records in the drawer
pan, zoom        what a frame costs the page's main thread while the mouse drags the canvas and while its wheel turns,
                 with 8, 40 and 200 nodes; goal 16 ms with 40, 33 with 200. A busy machine makes frames late, not dearer
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, CDPSession, Page, expect, sync_playwright

from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import STUDIO, drafts, node, run, settled
from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.conftest import wait_until_settled
from tests.browser.shop import shop
from ui.builder.history import History

ROUNDS: Final = 9
SHOPS: Final = {8: 1, 40: 5, 200: 28}
FRAMES: Final = 60
PER_FRAME: Final = f"""async (kind) => {{
    const pane = {STUDIO}.querySelector('.react-flow__pane')
    const area = pane.getBoundingClientRect()
    const at = (x, y) => ({{ clientX: area.x + 300 + x, clientY: area.y + 200 + y, bubbles: true, cancelable: true,
        composed: true, view: window, buttons: 1 }})
    const turn = (n) => pane.dispatchEvent(new WheelEvent('wheel', {{ ...at(0, 0), deltaY: n % 30 < 15 ? 40 : -40 }}))
    const there = (n) => n % 30 < 15 ? 8 * (n % 15) : 120 - 8 * (n % 15)
    const drag = (n) => window.dispatchEvent(new MouseEvent('mousemove', at(there(n), n)))
    if (kind === 'pan') pane.dispatchEvent(new MouseEvent('mousedown', at(0, 0)))
    for (let n = 0; n < {FRAMES}; n++) {{
        kind === 'pan' ? drag(n) : turn(n)
        await new Promise(requestAnimationFrame)
    }}
    if (kind === 'pan') window.dispatchEvent(new MouseEvent('mouseup', at(0, 0)))
    await new Promise(requestAnimationFrame)
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
            shops = {f"shop{nodes}": shop(lanes) for nodes, lanes in SHOPS.items()}
            for key, pipeline in (drafts() | shops).items():
                store.drafts.save(key, History(pipeline).to_json())
        with running_app(folder) as app, sync_playwright() as playwright:
            path = chromium(Path(playwright.chromium.executable_path))
            browser = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
            expect.set_options(timeout=60_000)
            _print("first paint", [_first_paint(browser, app) for _ in range(ROUNDS)])
            _print("select to form", _forms(_page(browser, app, "build?draft=chain0")))
            _print("edge to records", _records(_page(browser, app, "build?draft=chain2")))
            for nodes in SHOPS:
                page = _page(browser, app, f"build?draft=shop{nodes}")
                for kind in ("pan", "zoom"):
                    _say(f"{kind} {nodes} nodes", _cost(page, kind))
                page.close()


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


def _cost(page: Page, kind: str) -> str:
    """What a frame of a gesture costs, of the cheapest of three rounds."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    rounds = []
    for _ in range(3):
        before = _spent(session)
        page.evaluate(PER_FRAME, kind)
        rounds.append([(now - then) * 1000 / FRAMES for now, then in zip(_spent(session), before, strict=True)])
    session.detach()
    task, script, style = min(rounds)
    return f"{task:.1f} ms per frame, of which scripts {script:.1f}, styles and layout {style:.1f}"


def _spent(session: CDPSession) -> list[float]:
    """The CPU seconds of the page's main thread, those of its scripts, and those of its styles and its layout."""
    found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return [
        found["TaskDuration"],
        found["ScriptDuration"],
        found["RecalcStyleDuration"] + found["LayoutDuration"],
    ]


def _print(what: str, took: list[float]) -> None:
    _say(what, f"median {statistics.median(took):.0f} ms, worst {max(took):.0f} ms of {len(took)}")


def _say(what: str, found: str) -> None:
    sys.stdout.write(f"{what:16} {found}\n")


if __name__ == "__main__":
    main()
