"""Streamlit's login with an OpenID Connect provider, checked before the app answers.

Streamlit itself opens its WebSocket and serves its files without a login; only a page can check it. Here every request
needs the cookie that Streamlit signs after the login, except the requests of the login itself.
"""

from __future__ import annotations

import importlib
import json
from typing import Final

from starlette.requests import cookie_parser
from streamlit import config
from streamlit.auth_util import get_cookie_with_chunks, get_secrets_auth_section, validate_auth_credentials
from streamlit.errors import StreamlitAuthError
from streamlit.url_util import make_url_path
from streamlit.user_info import generate_login_redirect_url
from streamlit.web.server.server_util import AUTH_COOKIE_NAME, get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

from ui.access.serving import LOGIN, SHORTEST_TOKEN, CannotServe

LOG_OUT: Final = "auth/logout"
_LOGIN_ITSELF: Final = ("auth/login", LOG_OUT, "oauth2callback")


def require_provider() -> None:
    """Check that people can log in.

    Raises CannotServe if a package or a part of `[auth]` is missing, or if the cookie secret is too short.
    """
    try:
        importlib.import_module("authlib.integrations.starlette_client")
        importlib.import_module("joserfc")
    except ImportError as error:
        message = (
            f"{LOGIN}=oidc needs {error.name}. Install what requirements.txt names: pip install -r requirements.txt."
        )
        raise CannotServe(message) from error
    try:
        validate_auth_credentials("default")
    except StreamlitAuthError as error:
        message = f"{LOGIN}=oidc: {' '.join(str(error).split())} ui/SERVING.md shows a complete [auth] section."
        raise CannotServe(message) from error
    if len(str(get_secrets_auth_section()["cookie_secret"])) < SHORTEST_TOKEN:
        message = (
            f"{LOGIN}=oidc: cookie_secret in .streamlit/secrets.toml has fewer than {SHORTEST_TOKEN} characters; "
            "whoever guesses it can log in as anyone. Make one with: openssl rand -hex 24."
        )
        raise CannotServe(message)


def is_login_itself(path: str) -> bool:
    """Whether a path belongs to the login itself, which needs no login."""
    base = config.get_option("server.baseUrlPath")
    return any(path == make_url_path(base, place) for place in _LOGIN_ITSELF)


def log_out_path() -> str:
    """The path of the logout."""
    return make_url_path(config.get_option("server.baseUrlPath"), LOG_OUT)


def first_page() -> str:
    """The path of the app's first page on this host."""
    return make_url_path(config.get_option("server.baseUrlPath"), "/")


def is_logged_in(cookies: str) -> bool:
    """Whether a Cookie header has a complete login cookie that was signed here and has not expired."""
    parts = {name: value for name, value in cookie_parser(cookies).items() if name.startswith(AUTH_COOKIE_NAME)}

    def signed(name: str) -> bytes | None:
        value = parts.get(name)
        return decode_signed_value(get_cookie_secret(), name, value) if value else None

    payload = get_cookie_with_chunks(signed, AUTH_COOKIE_NAME)
    try:
        person = json.loads(payload) if payload else None
    except ValueError:
        return False
    return isinstance(person, dict) and person.get("is_logged_in") is True


def login_url() -> str:
    """The URL on this host that redirects to the provider; it is valid for two minutes."""
    return generate_login_redirect_url("default")
