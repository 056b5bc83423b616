"""A function in Python, written in the browser: allowed once, then run; its exceptions are shown at its node."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import add, box, held, node, open_example, run, run_button, settled, type_into

STARTS_MS = 120_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    # The setting of a normally started app: other tests may have allowed all code.
    allowed = {"CHANGELOG_STUDIO_PYTHON": str(folder / "allowed-code.txt")}
    with running_app(folder, "local[2]", allowed) as running:
        yield running


def write_code(page: Page, text: str) -> None:
    code = box(page, "Code")
    code.fill(text)
    code.press("Control+Enter")
    settled(page)


def test_a_function_is_written_allowed_and_run(page: Page) -> None:
    open_example(page, "Word frequency")
    node(page, "count_words").click()
    expect(box(page, "Name of the node")).to_have_value("count_words")
    add(page, "Python function")
    expect(held(page, "Code")).to_have_value(re.compile("def f"))
    write_code(page, "def mark(word):\n    return word.upper() + '!'\n")
    type_into(page, "Expression", "word")
    expect(page.get_by_text("is not allowed yet").first).to_be_visible(timeout=STARTS_MS)
    page.get_by_role("button", name="Allow this code").click()
    settled(page)
    expect(page.get_by_text("is not allowed yet")).to_have_count(0)
    # The node's card had shown the error; now it shows the function.
    expect(node(page, "python_function")).to_contain_text("mark(word)")
    # A change of allowed code is allowed too.
    write_code(page, "def mark(word):\n    return word.lower() + '?'\n")
    expect(run_button(page)).to_be_enabled(timeout=STARTS_MS)
    run(page)
    # The start of the run has opened its records.
    expect(page.get_by_text("hello?").first).to_be_visible()
    write_code(page, "def mark(word):\n    return word.nothing()\n")
    run_button(page).click()
    failed = page.get_by_text(re.compile("has no attribute 'nothing' \\(line 2 of its code\\)")).first
    expect(failed).to_be_visible(timeout=STARTS_MS)
