"""Tells the page in its head what Streamlit's page finds out too late.

- Its server's address. Without it, the page guesses: it asks below each part of its own address first, so that each
  link to a page begins with answers of 404.
- The library of its charts. It has 4.7 MB, and its start occupies the browser for most of a second, which was a part of
  the first chart that a user opened. It is read beside Streamlit's own script, and started once a page is drawn and
  nothing has happened for a second.
- The theme that the user chose, by a link with `theme` in its query. Streamlit keeps one by the path of the page at
  which the browser came in, so that each page could have another.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import streamlit

from ui.access.front_door import Asgi, Message, Receive, Send

_HEAD: Final = b"<head>"
_STATIC: Final = Path(streamlit.__file__).parent / "static"
_TOLD: Final = """<script>
window.__streamlit = { BACKEND_BASE_URL: location.origin + %s };
</script>"""
THEME: Final = "theme"
_CHOSEN: Final = """<script>
{
  const own = "changelog-studio-theme", here = new URL(location), asked = here.searchParams.get(%(theme)s);
  if (["Light", "Dark", "System"].includes(asked)) localStorage.setItem(own, JSON.stringify(asked));
  if (asked !== null) {
    here.searchParams.delete(%(theme)s);
    history.replaceState(history.state, "", here);
  }
  const chosen = localStorage.getItem(own);
  if (chosen !== null) localStorage.setItem(`stActiveTheme-${location.pathname}-v2`, chosen);
}
</script>"""
_CHARTS: Final = """<link rel="modulepreload" crossorigin fetchpriority="low" href=%s>
<script>
{
  let calm = 0;
  const busy = () => { calm = 0; };
  for (const kind of ["pointerdown", "pointermove", "wheel", "keydown"]) addEventListener(kind, busy, true);
  const timer = setInterval(() => {
    calm = document.querySelector('[data-test-script-state="notRunning"]') ? calm + 1 : 0;
    if (calm < 5) return;
    clearInterval(timer);
    requestIdleCallback(() => import(%s));
  }, 200);
}
</script>"""


class PageHead:
    """ASGI middleware. base: the path below which the app is served, such as /studio; "" for none."""

    def __init__(self, app: Asgi, base: str = "") -> None:
        self._app = app
        path = f"/{base.strip('/')}"
        told = _TOLD % json.dumps(path) + _CHOSEN % {"theme": json.dumps(THEME)}
        for library in charts_library():
            address = json.dumps(f"{path.rstrip('/')}/{library}")
            told += _CHARTS % (address, address)
        self._head = _HEAD + told.encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, and put what the page is told into its head."""
        if scope["type"] != "http" or scope["method"] != "GET" or not _may_be_page(scope):
            return await self._app(scope, receive, send)
        # Some 6 kB, which would otherwise come compressed.
        scope["headers"] = [header for header in scope["headers"] if header[0].lower() != b"accept-encoding"]
        held: Message | None = None

        async def told(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_page(message):
                held = message
                return
            if held is not None:
                start, held = held, None
                body = message.get("body", b"")
                message["body"] = body.replace(_HEAD, self._head, 1)
                longer = len(message["body"]) - len(body)
                start["headers"] = [
                    (name, b"%d" % (int(value) + longer) if name.lower() == b"content-length" else value)
                    for name, value in start["headers"]
                ]
                await send(start)
            await send(message)

        await self._app(scope, receive, told)


def charts_library() -> tuple[str, ...]:
    """The script of the charts' library, below the app's address; () if Streamlit has it elsewhere."""
    return tuple(path.relative_to(_STATIC).as_posix() for path in _STATIC.glob("static/js/PlotlyChart.*.js"))


def _may_be_page(scope: Message) -> bool:
    """Whether a browser asks for a page."""
    return any(name.lower() == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _is_page(start: Message) -> bool:
    return start["status"] == 200 and any(
        name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in start["headers"]
    )
