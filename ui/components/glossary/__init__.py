"""The glossary: tells each term where its word stands as a label, on hover and focus, and lists all in a dialog.

The browser finds the words: in headings, labels, figures and tables' heads of any page, Streamlit's and ours. The first
mention on a page is underlined and takes the focus; the others only answer the mouse.
"""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from ui.components.glossary.terms import GLOSSARY, Term
from ui.components.registering import registered

_BOOK = (
    '<svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" fill="none" stroke="currentColor" '
    'stroke-width="1.8"><path d="M6 3h13v18H6a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zM4 19a2 2 0 0 1 2-2h13M9 7.5h6"/></svg>'
)


@cache
def _component() -> Any:
    return registered(Path(__file__).parent, html())


def glossary() -> None:
    """Draw the button that opens the glossary, and tell the terms on this page. Once per page."""
    _component()(key="glossary", data=None)


def html() -> str:
    """The button, the dialog with all terms, and the box of a single one."""
    parts = "".join(
        f"<section><h3>{escape(subject)}</h3>{''.join(map(_article, terms))}</section>"
        for subject, terms in GLOSSARY.items()
    )
    return (
        # Not in the page until it is opened: nobody who searches the page should find the text of each term.
        f"<template>{parts}</template>"
        f'<button type="button" class="open" aria-label="Glossary" title="Glossary" aria-haspopup="dialog">{_BOOK}'
        "</button>"
        '<dialog aria-labelledby="glossary-title"><header><h2 id="glossary-title">Glossary</h2>'
        '<input type="search" placeholder="Find a term" aria-label="Find a term">'
        '<button type="button" class="close" aria-label="Close the glossary">✕</button></header>'
        '<div class="terms" tabindex="0" role="region" aria-label="Terms"><p class="none" role="status"></p></div>'
        "</dialog>"
        '<div class="told" popover="manual" role="tooltip"></div>'
    )


def _article(term: Term) -> str:
    words, name, meaning = map(escape, ("|".join((term.name, *term.words)), term.name, term.meaning))
    return f'<article data-words="{words}"><h4>{name}</h4><p>{meaning}</p>{term.picture}</article>'
