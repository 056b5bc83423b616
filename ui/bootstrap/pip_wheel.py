"""Fetch pip itself from the configured package index, for a Python without ensurepip.

The steps are those of pip: read its settings, query the index, choose a version, check the file. get-pip.py and the
installer of uv need hosts that a machine behind a mirror of the index cannot reach.
"""

from __future__ import annotations

import base64
import configparser
import hashlib
import html.parser
import os
import re
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from ui.bootstrap.errors import SetupError

_DEFAULT_INDEX = "https://pypi.org/simple"
_WHEEL = re.compile(r"/pip-(\d+(?:\.\d+)*)-py3-none-any\.whl$")


def download_pip(folder: Path) -> Path:
    """Download the newest pip that runs on this Python into a folder.

    Raises: SetupError when no configured index has one.
    """
    settings = pip_settings()
    indexes = [settings.get("index-url", _DEFAULT_INDEX), *settings.get("extra-index-url", "").split()]
    reasons = []
    for index in indexes:
        try:
            return _download_from(index, settings.get("cert"), folder)
        except (OSError, ValueError) as error:
            reasons.append(f"{_without_credentials(index)}: {error}")
    msg = (
        "This Python has no ensurepip, and pip cannot be fetched from the package index either "
        f"({'; '.join(reasons)}). Install python3-venv, or set PIP_INDEX_URL to an index that can be reached."
    )
    raise SetupError(msg)


def pip_settings() -> dict[str, str]:
    """Return pip's settings as pip sees them: the system's files, then the user's, then PIP_ variables."""
    settings: dict[str, str] = {}
    for file in _configuration_files():
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            msg = f"pip's settings in {file} cannot be read: {error}"
            raise SetupError(msg) from error
        for section in ("global", "install"):
            if parser.has_section(section):
                settings.update(parser.items(section))
    for name in ("index-url", "extra-index-url", "cert"):
        if value := os.environ.get("PIP_" + name.upper().replace("-", "_")):
            settings[name] = value
    return settings


def _configuration_files() -> list[Path]:
    explicit = os.environ.get("PIP_CONFIG_FILE")
    if explicit == os.devnull:
        return []
    home = Path.home()
    user = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    system = Path("/etc")
    files = [system / "xdg/pip/pip.conf", system / "pip.conf", home / ".pip/pip.conf", user / "pip/pip.conf"]
    if sys.platform == "darwin":
        files.insert(0, Path("/Library/Application Support/pip/pip.conf"))
        files.append(home / "Library" / "Application Support" / "pip" / "pip.conf")
    return files + ([Path(explicit)] if explicit else [])


class _Links(html.parser.HTMLParser):
    """Collect (URL, oldest Python) of every file on an index page that was not yanked."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[int, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "a" and attributes.get("href") and "data-yanked" not in attributes:
            oldest = re.search(r">=\s*([\d.]*\d)", attributes.get("data-requires-python") or "")
            self.found.append((attributes["href"] or "", _version(oldest[1]) if oldest else ()))


def _download_from(index: str, certificates: str | None, folder: Path) -> Path:
    page = index.rstrip("/") + "/pip/"
    links = _Links()
    links.feed(_read(page, certificates).decode())
    wheels = [
        (_version(match[1]), address)
        for address, oldest in links.found
        if (match := _WHEEL.search("/" + unquote(urlsplit(address).path))) and oldest <= sys.version_info[:3]
    ]
    if not wheels:
        msg = "it lists no pip for this Python"
        raise ValueError(msg)
    address, fragment = urldefrag(urljoin(page, max(wheels)[1]))
    content = _read(address, certificates)
    promised = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
    if promised and hashlib.sha256(content).hexdigest() != promised:
        msg = "the pip that it sent does not match its checksum"
        raise ValueError(msg)
    wheel = folder / unquote(Path(urlsplit(address).path).name)
    wheel.write_bytes(content)
    return wheel


def _read(address: str, certificates: str | None) -> bytes:
    # urllib does not understand user:password@host, which is how private indexes are configured.
    request = urllib.request.Request(_without_credentials(address), headers={"Accept": "text/html"})
    parts = urlsplit(address)
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        encoded = base64.b64encode(secret.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {encoded}")
    context = ssl.create_default_context(cafile=certificates) if parts.scheme == "https" else None
    with urllib.request.urlopen(request, timeout=60, context=context) as answer:
        return bytes(answer.read())


def _without_credentials(address: str) -> str:
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
