"""The violations of WCAG 2.1, levels A and AA, that axe-core finds on a page.

The folder axe has axe-core as published by Deque (4.14.1), with its licence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import Page

_AXE: Final = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
_LEVELS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
_FIND: Final = """levels => axe.run(document, { runOnly: levels }).then(({ violations }) => violations.flatMap(each =>
    each.nodes.map(node => `${each.id}: ${node.html.slice(0, 160)} (${node.failureSummary.slice(0, 200)})`)))"""


def violations(page: Page, *, contrast_alone: bool = False) -> list[str]:
    """The violations with their places, in axe's words. The script of axe is loaded once per page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    found: list[str] = page.evaluate(_FIND, ["color-contrast"] if contrast_alone else _LEVELS)
    return found
