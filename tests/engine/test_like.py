"""LIKE in Python says what its regular expression says, and is done with any text at once."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from engine.expressions.like import like

TEXTS = st.text("ab%_\\\n.", max_size=8)


def as_regular_expression(pattern: str) -> re.Pattern[str]:
    marks = {"%": ".*", "_": "."}
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    return re.compile("".join(marks.get(part, re.escape(part[-1])) for part in parts), re.DOTALL)


@given(TEXTS, TEXTS)
def test_it_is_that_of_a_regular_expression(text: str, pattern: str) -> None:
    assert like(pattern)(text) is (as_regular_expression(pattern).fullmatch(text) is not None)


def test_a_pattern_of_many_percents_takes_no_time() -> None:
    """The regular expression tries every way to place twenty a in 20,000: all of Python would wait for it."""
    matches = like("%a" * 20 + "%b")
    assert not matches("a" * 20_000)
    assert matches("a" * 20_000 + "b")
