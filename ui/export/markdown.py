"""Streamlit's Markdown as HTML: CommonMark and tables; Streamlit's own marks are reduced to their text.

An icon `:material/info:` is removed; a coloured or small text `:red[late]` becomes plain text. HTML is escaped, and
links and images are disabled: an exported page sends no requests, whatever text it contains.
"""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

_ICON: Final = re.compile(r":material/[a-z0-9_]+:\s*")
_TONE: Final = re.compile(r":[a-z]+(?:-[a-z]+)?(?=\[)")


def as_html(text: str) -> str:
    """A text of paragraphs, lists and tables."""
    html: str = _MARKDOWN.render(text)
    return html


def as_inline_html(text: str) -> str:
    """A text of one line, without a paragraph around it."""
    html: str = _MARKDOWN.renderInline(text)
    return html


def _icon(state: StateInline, silent: bool) -> bool:
    matched = _ICON.match(state.src, state.pos, state.posMax)
    if matched is not None:
        state.pos = matched.end()
    return matched is not None


def _tone(state: StateInline, silent: bool) -> bool:
    matched = _TONE.match(state.src, state.pos, state.posMax)
    if matched is None:
        return False
    end = state.md.helpers.parseLinkLabel(state, matched.end())
    if end < 0:
        return False
    if not silent:
        last, state.pos, state.posMax = state.posMax, matched.end() + 1, end
        state.md.inline.tokenize(state)
        state.posMax = last
    state.pos = end + 1
    return True


def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["link", "image", "autolink", "reference"])
    parser.inline.ruler.push("icon", _icon)
    parser.inline.ruler.push("tone", _tone)
    return parser


_MARKDOWN: Final = _markdown()
