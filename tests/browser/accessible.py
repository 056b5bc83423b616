"""What axe-core finds on a page, with all of its rules: WCAG 2.1 and 2.2, levels A and AA, and its best practices.

The folder axe has axe-core as published by Deque (4.14.1), with its licence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import Page

_AXE: Final = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
# Streamlit's own elements, which are the same in every app: its link to the content and its popovers are outside of all
# landmarks, and the area of its file uploader has a label without a role.
_OF_STREAMLIT: Final = ("region", "presentation-role-conflict")
_FIND: Final = """([only, without]) => axe.run(document, {
    resultTypes: ['violations'],
    rules: Object.fromEntries(without.map(each => [each, { enabled: false }])),
    ...(only.length ? { runOnly: only } : {})
}).then(({ violations }) => violations.flatMap(each =>
    each.nodes.map(node => `${each.id}: ${node.html.slice(0, 160)} (${node.failureSummary.slice(0, 200)})`)))"""
# What fades in has the contrast of a moment, as has what is being drawn again. What never ends, such as a spinner, is
# looked at as it is.
_IS_STILL: Final = """() => !document.querySelector('[data-stale="true"]') && document.getAnimations().every(each =>
    each.playState !== 'running' || each.effect.getComputedTiming().endTime === Infinity)"""
_LOOKS: Final = 5
"""A violation is found each time; a transition that begins while axe looks is not."""


def violations(page: Page, *only: str) -> list[str]:
    """The violations with their places, in axe's words. The script of axe is loaded once per page.

    only: these rules alone.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    found: list[str] = []
    for _ in range(_LOOKS):
        page.wait_for_function(_IS_STILL)
        found = page.evaluate(_FIND, [list(only), list(_OF_STREAMLIT)])
        if not found:
            break
    return found
