"""Replays as they are shared: a file, opened where there is no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page


def offline(page: Page, button: str, folder: Path, **context: Any) -> tuple[Page, str]:
    """A page without a network, and the address of the replay that a button saves. context: of Playwright's context."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    file = folder / "replay.html"
    download.value.save_as(file)
    assert page.context.browser is not None
    return page.context.browser.new_context(offline=True, **context).new_page(), file.as_uri()
