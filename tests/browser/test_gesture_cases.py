"""The canvas shows a gesture before Python has answered; tests/ui/test_gestures.py expects the same of Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from tests.ui.gesture_cases import CASES, CATALOG, answer

_CANVAS: Final = Path(__file__).resolve().parents[2] / "ui" / "canvas"
_ORIGIN: Final = "http://canvas.test"
_OUTCOME: Final = """async ([of, case_, catalog]) => {
    const { outcome } = await import(of)
    return outcome(case_, catalog)
}"""


@pytest.fixture(scope="module")
def sources(browser: BrowserContext) -> Iterator[Page]:
    """A page that can import the unbundled sources of the canvas, without a server."""
    page = browser.new_page()
    page.route(f"{_ORIGIN}/**", _serve)
    page.goto(f"{_ORIGIN}/")
    yield page
    page.close()


def _serve(route: Route) -> None:
    path = route.request.url.removeprefix(f"{_ORIGIN}/")
    if path:
        route.fulfill(path=_CANVAS / path, content_type="text/javascript")
    else:
        route.fulfill(body="<!doctype html><link rel=icon href=data:,>", content_type="text/html")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_the_document_that_is_shown_at_once(sources: Page, case: dict[str, Any]) -> None:
    module = f"{_ORIGIN}/tests/gesture_outcome.js"
    assert sources.evaluate(_OUTCOME, [module, case, CATALOG]) == answer(case)
