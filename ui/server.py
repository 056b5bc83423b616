"""What is served: `streamlit run ui/server.py`. The app of `ui/app.py` behind its front door."""

import sys
from pathlib import Path

from starlette.middleware import Middleware
from streamlit import config
from streamlit.starlette import App

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from ui.shell import posted_rows  # noqa: E402
from ui.shell.front_door import LOOPBACK, FrontDoor, is_loopback, warning_of  # noqa: E402


def _hosts() -> list[str] | None:
    """The names that the app has."""
    named: list[str] = config.get_option("server.allowedHosts")
    return named or (list(LOOPBACK) if is_loopback(config.get_option("server.address")) else None)


if (warning := warning_of(config.get_option("server.address"))) is not None:
    sys.stderr.write(f"\n{warning}\n")
app = App(
    "app.py",
    routes=[posted_rows.ROUTE],
    middleware=[Middleware(FrontDoor, hosts=_hosts(), origins=config.get_option("server.corsAllowedOrigins"))],
)
