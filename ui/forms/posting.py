"""How rows are posted to a source: a line to copy, and the rows that were posted last, which appear by themselves."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st

from engine.model import types
from engine.model.schema import Column
from engine.reading.files.received import is_address, newest_rows, received_files
from ui.access.serving import serving
from ui.components.beat import beat
from ui.forms.binding import FormContext
from ui.shell import words, workspace
from ui.shell.guard import guarded_fragment

_LOOK_AGAIN_MS: Final = 1000
_SHOWN: Final = 3
_ROW_CHARS: Final = 160
# The first rows are in the preview of the pipeline as well, which the whole page draws.
_PREVIEWED_BYTES: Final = 1 << 16
_SOME_ROW: Final = {"id": 1, "amount": 9.5, "ts": "2026-01-31 12:00:00"}
_NOON_MS: Final = 1_769_860_800_000


def posting(form: FormContext, address: str) -> None:
    """Draw the line that posts a row to an address, and what was posted there."""
    if not is_address(address):
        return
    computed = {column.get("name") for column in form.node.parameters.get("computed", ()) if isinstance(column, dict)}
    columns = [column for column in form.output or () if column.name not in computed]
    st.markdown("**Post a row**")
    st.code(curl_line(_base(), address, columns, with_token=bool(serving().people)), language="bash", wrap_lines=True)
    if serving().people:
        st.caption("TOKEN is the token with which you log in.")
    elif serving().has_login:
        st.caption("A program needs a token in `CHANGELOG_STUDIO_PEOPLE`, or the login of the proxy.")
    _posted(form.node.id, address, _state(address))


def curl_line(base: str, address: str, columns: Iterable[Column], *, with_token: bool) -> str:
    """The command that posts an example row of these columns to an address of the app at `base`."""
    row = {column.name: _example(column) for column in columns} or _SOME_ROW
    parts = [f"curl {base}/rows/{address}", "-H 'Content-Type: application/json'"]
    if with_token:
        parts.append('-H "Authorization: Bearer $TOKEN"')
    return " \\\n  ".join([*parts, f"-d {shlex.quote(json.dumps(row, ensure_ascii=False))}"])


def _example(column: Column) -> Any:
    match column.type:
        case types.BIGINT if column.time is not None:
            return _NOON_MS
        case types.BOOLEAN:
            return True
        case types.FLOAT | types.DOUBLE | types.Decimal():
            return 9.5
        case types.DATE:
            return "2026-01-31"
        case types.Time():
            return "12:00:00"
        case types.Timestamp():
            return "2026-01-31 12:00:00"
        case types.Array():
            return []
        case types.Map() | types.Row():
            return {}
        case type_:
            return 1 if type_ in types.INTEGERS else "a"


def _base() -> str:
    """The address of the app as the browser knows it, also behind a proxy."""
    shown = urlsplit(st.context.url or "")
    return f"{shown.scheme}://{shown.netloc}" if shown.netloc else f"http://localhost:{st.get_option('server.port')}"


@guarded_fragment()
def _posted(node: str, address: str, drawn: object) -> None:
    """Draw the newest rows and look for more. If the page shows rows as well, it is drawn again with each of them."""
    if _state(address) != drawn:
        st.rerun()
    files = received_files(workspace.folder(), address)
    if not files:
        st.caption(":material/hourglass_empty: Nothing was posted yet. Rows appear here as soon as they are posted.")
    else:
        posted_at = datetime.fromtimestamp(files[-1].stat().st_mtime, UTC)
        rows = [_shortened(row) for row in newest_rows(files, _SHOWN)]
        st.caption(f"The newest rows, posted {words.ago(posted_at)}:")
        st.code("\n".join(rows), language="json")
    beat(_LOOK_AGAIN_MS, key=f"posted|{node}|{address}")


def _state(address: str) -> int:
    """What the page shows of posted rows: their size while they are few enough for the preview to show them."""
    return min(sum(path.stat().st_size for path in received_files(workspace.folder(), address)), _PREVIEWED_BYTES)


def _shortened(row: str) -> str:
    return row if len(row) <= _ROW_CHARS else row[:_ROW_CHARS] + "…"
