"""What axe-core finds on a page against WCAG 2.1, levels A and AA.

The folder axe has it as Deque publishes it (4.14.1), with its licence.
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
    """What is violated where, in axe's words; a page's own script is not let in twice."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    found: list[str] = page.evaluate(_FIND, ["color-contrast"] if contrast_alone else _LEVELS)
    return found
