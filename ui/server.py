"""The served app: `streamlit run ui/server.py`. It is `ui/app.py` behind host checks and the login."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.middleware import Middleware
from streamlit import config
from streamlit.starlette import App

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from storage import default_path  # noqa: E402
from ui.access import oidc, posted_rows  # noqa: E402
from ui.access.front_door import LOOPBACK, FrontDoor, is_loopback, warning_of  # noqa: E402
from ui.access.login import Door  # noqa: E402
from ui.access.page_head import PageHead  # noqa: E402
from ui.access.serving import CannotServe, serving, serving_of, start_serving  # noqa: E402
from ui.shell.ahead import load_ahead  # noqa: E402
from ui.shell.overtaken import draw_the_open_page  # noqa: E402


def _hosts() -> list[str] | None:
    """The accepted host names; None: any."""
    named: list[str] = config.get_option("server.allowedHosts")
    return named or (list(LOOPBACK) if is_loopback(config.get_option("server.address")) else None)


_address = config.get_option("server.address")
try:
    _how = serving_of(os.environ, _address, config.get_option("server.allowedHosts"))
    if _how.is_oidc:
        oidc.require_provider()
    start_serving(_how, default_path())
except CannotServe as refusal:
    sys.stderr.write(f"\nThe studio does not start: {refusal}\n")
    sys.stderr.flush()
    # Streamlit would show a traceback of anything that is raised.
    os._exit(2)
if (warning := warning_of(_address, has_login=serving().has_login)) is not None:
    sys.stderr.write(f"\n{warning}\n")

draw_the_open_page()


@asynccontextmanager
async def _while_it_serves(_: App) -> AsyncIterator[None]:
    """End the runs with the server: its signal ends the process before Python's exit handlers run."""
    load_ahead()
    yield
    # Here, so that the server answers before all of the engine is loaded.
    from ui.runs import manager

    await asyncio.to_thread(manager.close)


app = App(
    "app.py",
    lifespan=_while_it_serves,
    routes=[posted_rows.ROUTE],
    middleware=[
        Middleware(
            FrontDoor,
            hosts=_hosts(),
            origins=config.get_option("server.corsAllowedOrigins"),
            changing=[oidc.log_out_path()],
        ),
        Middleware(Door, serving=serving()),
        Middleware(PageHead, base=config.get_option("server.baseUrlPath")),
    ],
)
