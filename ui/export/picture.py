"""A pipeline as a picture in a page that needs no server: what the canvas draws, drawn by a script in the page."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

import changelog_studio_canvas


def picture_as_html(drawing: Mapping[str, Any], *, gap: int | None = None) -> str:
    """The place of the picture, which the script fills. drawing: what a canvas draws. gap: pixels between two nodes."""
    picture = {"drawing": drawing} | ({} if gap is None else {"gap": gap})
    return f'<div class="picture" data-picture="{escape(json.dumps(picture, ensure_ascii=False))}"></div>'


def picture_script() -> str:
    """The script, once per page. It loads nothing."""
    return f'<script type="module">{_built(changelog_studio_canvas.PICTURE)}</script>'


def camera_script() -> str:
    """What part of a picture is in view, as the variable `camera`, for scripts after it."""
    return f"<script>{_built(changelog_studio_canvas.CAMERA)}</script>"


@cache
def chart_library() -> str:
    """The library of the charts, once per page, compressed: without that it is twice as large as the page may be.

    Scripts after it wait for the promise `chartsLoaded`.
    """
    packed = files(changelog_studio_canvas).joinpath("dist", changelog_studio_canvas.CHARTS).read_bytes()
    return (
        f'<script type="text/plain" id="charts">{b64encode(packed).decode("ascii")}</script><script>{_UNPACK}</script>'
    )


_UNPACK: Final = """
const chartsLoaded = (async () => {
  const packed = Uint8Array.from(atob(document.getElementById('charts').textContent), sign => sign.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const library = document.createElement('script');
  library.textContent = await new Response(unpacked).text();
  document.head.append(library);
})();
"""


@cache
def _built(name: str) -> str:
    return files(changelog_studio_canvas).joinpath("dist", name).read_text("utf-8")
