"""No traceback reaches the browser: the page shows the sentence of an error, the log has the traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import StudioError
from storage.errors import StoreError
from ui.shell.log import app_log
from ui.shell.navigation import LEADS_TO
from ui.shell.pending import pending
from ui.shell.words import escaped

P = ParamSpec("P")
LOG: Final = app_log()
_PENDING: Final = "errors-of-callbacks"
_UNEXPECTED: Final = (
    "an unexpected error occurred, and this page may be incomplete. Your work is saved. Reload the page; the details "
    "are in the app's log."
)


@contextmanager
def guard() -> Iterator[None]:
    """Show an error that ends the page, and the errors of the callbacks before it."""
    for sentence in st.session_state.pop(_PENDING, []):
        st.error(sentence, icon=":material/error:")
    with _in_sentences():
        yield


@contextmanager
def _in_sentences() -> Iterator[None]:
    try:
        yield
    except (StudioError, StoreError) as error:
        st.error(as_sentence(error), icon=":material/error:")
    except Exception:
        LOG.exception("a page failed")
        st.error(as_sentence(_UNEXPECTED), icon=":material/error:")


def guarded_fragment(*, run_every: float | None = None) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make a function a Streamlit fragment that shows an error that ends it: no guard is around it when it is redrawn.

    run_every: the seconds between its redraws. After a callback that failed or requested another page, the whole page
    runs again: only it shows errors of callbacks (the next redraw of the fragment would remove them) and opens pages.
    """

    def make(draw: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(draw)
        def guarded_draw(*args: P.args, **kwargs: P.kwargs) -> None:
            if _is_redraw() and (_PENDING in st.session_state or LEADS_TO in st.session_state):
                st.rerun()
            with _in_sentences():
                draw(*args, **kwargs)

        return st.fragment(guarded_draw, run_every=run_every)

    return make


def _is_redraw() -> bool:
    """Whether only fragments are drawn again, without the rest of the page."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def guarded(callback: Callable[P, None]) -> Callable[P, None]:
    """A callback whose error the next page shows. The pending changes of fields are applied before it."""

    @functools.wraps(callback)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        take_fields()
        _attempt(lambda: callback(*args, **kwargs))

    return call


def take_fields() -> None:
    """Apply the pending changes of fields; the next page shows their errors."""
    for change in pending().changes(st.session_state.to_dict()):
        _attempt(change)


def _attempt(action: Callable[[], None]) -> None:
    try:
        action()
    except (StudioError, StoreError) as error:
        _later(as_sentence(error))
    except Exception:
        LOG.exception("a callback failed")
        _later(as_sentence(_UNEXPECTED))


def as_sentence(error: object) -> str:
    """An error as Markdown: its own text, with a capital first letter if it begins with a plain word."""
    text = str(error)
    start = text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text
    return escaped(start)


def _later(sentence: str) -> None:
    waiting: list[str] | None = st.session_state.to_dict().get(_PENDING)
    if waiting is None:
        st.session_state[_PENDING] = [sentence]
    else:
        waiting.append(sentence)
