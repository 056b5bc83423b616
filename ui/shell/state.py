"""The state of a session as one typed object, kept in the URL, so that a reload or a shared link restores it.

    pipeline   the saved pipeline that is open        ?pipeline=3
    draft      the key of the draft being edited      ?draft=k3f9a1
    run        the run that is open                   ?run=12
    versus     the run that it is compared with       ?versus=11
    edge       the edge whose changelog is shown      ?edge=totals
    selection  what is selected in the builder        ?selection=totals
    event      the event at which all is shown        ?event=6
    node       the operator whose state is shown      ?node=totals
    key        the key of that state, as JSON         ?key=["Hello"]
    seen       the operator whose event time is shown ?seen=windows
    range      the events that a chart shows          ?range=100-250
    kinds      the kinds of records that are listed   ?kinds=-U +U
    contains   the text that listed records contain   ?contains=hel
    where      the conditions on their columns        ?where=cnt > 2, word LIKE 'a%'
    events     the events whose records are listed    ?events=100-250
    sort       the column that sorts the records      ?sort=-cnt
    order      the order of the table beside them     ?order=newest
    part       the part of the page that is shown     ?part=Late records
    delay      the watermark delay that is tried, ms   ?delay=5000, or ?delay=5000,0 of two sources
    lateness   the allowed lateness beside it, in ms  ?lateness=1000
    keep       the share of records to keep, in %     ?keep=95
    group      the late records that are listed       ?group=["vans", {"city": "Leipzig"}, true]
    test       the kept test that is shown            ?test=late-order
    sql        the query on the page Query store      ?sql=FROM words
    story      the open story, and its step           ?story=01-word-frequency.3
    write      whether the story is being written     ?write=on
    present    whether the page is presented, and     ?present=on
               whether without its controls           ?present=bare

Streamlit drops the URL's parameters when the page changes; `sync` writes them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.shell.kept import kept

NAMES: Final = (
    *("pipeline", "draft", "run", "versus", "edge", "selection", "event", "node", "key"),
    *("seen", "range", "kinds", "contains", "where", "events", "sort", "order", "part", "group", "test", "sql"),
    *("delay", "lateness", "keep"),
    *("story", "write", "present"),
)
SHOWN: Final = (
    *("versus", "selection", "node", "key", "seen"),
    *("range", "kinds", "contains", "where", "events", "sort", "order", "part", "group", "sql"),
    *("delay", "lateness", "keep"),
)
"""What a page shows beside its run, its edge and its event."""
Value = TypeVar("Value", bound=str | int)
KEY: Final = "what-is-open"
_LONGEST: Final = 200
# A longer query stays in the session only: browsers and mail programs truncate longer URLs.
LONGEST_SQL: Final = 1500
_OF_RUN: Final = ("node", "key", "seen", "range", "group", "delay", "lateness", "keep")
_OF_EDGE: Final = ("kinds", "contains", "where", "events", "sort", "order")
_REMEMBERED: Final = 50


@dataclass
class Opened:
    """The values by the names above, and the URLs that the session has written, the latest last."""

    values: dict[str, str] = field(default_factory=dict)
    written: list[dict[str, str]] = field(default_factory=list)


class _Value(Generic[Value]):
    """An attribute of the session: the value under its own name, None if the URL has none that can be read."""

    def __init__(self, read: Callable[[str], Value | None]) -> None:
        self._read = read

    def __set_name__(self, owner: type[SessionState], name: str) -> None:
        self._name = name

    def __get__(self, session: SessionState, owner: type[SessionState]) -> Value | None:
        text = session.text(self._name)
        return None if text is None else self._read(text)

    def __set__(self, session: SessionState, value: Value | None) -> None:
        session.update(**{self._name: value})


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


class SessionState:
    """The one access to the session and the URL. Setting an attribute to None removes it from the URL.

    Streamlit may interrupt a run when the URL is written; the values are set before that.
    """

    def sync(self) -> None:
        """Adopt a URL that the user entered, then write the URL. Called once per script run, before the page.

        With every rerun the browser sends the URL that it had at that time. If the session has written that URL
        before, it may be outdated and is ignored, unless the user went back or forward in the history.
        """
        longest = {"sql": LONGEST_SQL, "where": LONGEST_SQL}
        shown = {
            name: st.query_params[name][: longest.get(name, _LONGEST)] for name in NAMES if name in st.query_params
        }
        opened = self._open()
        # An empty URL results from a change of page and does not clear the state.
        if shown and (shown not in opened.written or _went_back()):
            opened.values = shown
            opened.written = []
        self.write_url()

    def write_url(self) -> None:
        """Write the state to the URL."""
        opened, wanted = self._open(), self.as_query()
        if wanted not in opened.written[-1:]:
            opened.written = [*opened.written, wanted][-_REMEMBERED:]
        if {name: st.query_params[name] for name in NAMES if name in st.query_params} != wanted:
            st.query_params.from_dict(wanted)

    def as_query(self) -> dict[str, str]:
        """The state as the URL's parameters."""
        values = self._open().values
        return {name: values[name] for name in NAMES if name in values}

    def update(self, **values: str | int | None) -> None:
        """Set several at once, by their names above."""
        self.hold(**values)
        self.write_url()

    def hold(self, **values: str | int | None) -> None:
        """Like `update`, but without writing the URL, so it cannot interrupt the run. Call `write_url` afterwards."""
        held = self._open().values
        if "run" in values and str(values["run"]) != held.get("run"):
            # The operators, what is tried at them, the key, the range and the group belong to the former run.
            values = {**dict.fromkeys(_OF_RUN), **values}
        if "edge" in values and values["edge"] != held.get("edge") and "edge" in held:
            # So does what is asked of the former edge.
            values = {**dict.fromkeys(_OF_EDGE), **values}
        for name, value in values.items():
            if name not in NAMES:
                message = f"the session has no {name!r}; it has {', '.join(NAMES)}"
                raise KeyError(message)
            if value is None:
                held.pop(name, None)
            else:
                held[name] = str(value)

    pipeline = _Value(_number)
    """The saved pipeline that is open."""
    draft = _Value(str)
    """The key of the draft that is being edited."""
    run = _Value(_number)
    """The run that is open."""
    versus = _Value(_number)
    """The run that the open one is compared with."""
    edge = _Value(str)
    """The edge whose changelog is shown: a node, or node.port."""
    selection = _Value(str)
    """What is selected in the builder: a node's id, or an edge as `from>to:port`."""
    event = _Value(_number)
    """The event (seq) at which everything is shown."""
    node = _Value(str)
    """The operator whose state is shown; None: the one that the event touched."""
    key = _Value(str)
    """The key whose state is shown, as JSON; None: those that the event touched."""
    seen = _Value(str)
    """The operator whose event time is shown; None: the whole pipeline."""

    @property
    def range(self) -> tuple[int, int] | None:
        """The first and the last event that a chart shows; None: all."""
        low, _, high = (self.text("range") or "").partition("-")
        return (int(low), int(high)) if low.isdecimal() and high.isdecimal() else None

    kinds = _Value(str)
    """The kinds of records that are listed; None: all."""
    contains = _Value(str)
    """The text that listed records contain."""
    where = _Value(str)
    """The conditions on the columns of listed records, as typed."""
    events = _Value(str)
    """The first and the last event whose records are listed, either of which may be missing: `100-`."""
    sort = _Value(str)
    """The column that sorts the records, with its direction: `-cnt`; None: their order of emission."""
    order = _Value(str)
    """The order of the table beside them: `key`, `newest`, or a column as in `sort`."""

    part = _Value(str)
    """The part of the page that is shown; None: its first."""
    delay = _Value(str)
    """The watermark delay that is tried, in ms; of several sources one each: `5000,0`. None: as in the run."""
    lateness = _Value(_number)
    """The allowed lateness that is tried, in ms; None: as in the run."""
    keep = _Value(str)
    """The share of the records that was asked for, in percent."""
    group = _Value(str)
    """The group of late records that is listed; None: all."""
    test = _Value(str)
    """The folder of the kept test that is shown."""
    sql = _Value(str)
    """The query on the page Query store."""
    story = _Value(str)
    """The open story with its step, from 1: `01-word-frequency.3`."""

    @property
    def write(self) -> bool:
        """Whether the open story is being written."""
        return self.text("write") == "on"

    @property
    def present(self) -> bool:
        """Whether the page is presented: large, and without the bars around it."""
        return self.text("present") in ("on", "bare")

    @property
    def is_bare(self) -> bool:
        """Whether a presented page is without its controls, whose keys still work."""
        return self.text("present") == "bare"

    def text(self, name: str) -> str | None:
        """The value of a name, as it is in the URL; None if it is not set."""
        return self._open().values.get(name)

    def _open(self) -> Opened:
        return kept(KEY, Opened)


def _went_back() -> bool:
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def remembered(key: str, start: Mapping[str, Any]) -> dict[str, Any]:
    """A component's own values in the session, copied from `start` at the first use."""
    if key not in st.session_state:
        st.session_state[key] = dict(start)
    values: dict[str, Any] = st.session_state[key]
    return values


state: Final = SessionState()
