"""Files on the web: an https address instead of a path. A run fetches each file once, when it starts.

    fetching(folder)    inside this block, each address is fetched once into the folder; outside, nothing is fetched

Viewing a pipeline therefore sends no request. Only the named host may be in a private network; in a shared studio not
even that one, unless CHANGELOG_STUDIO_FOLDERS names it. Every redirect is checked like an address, and the connection
goes to exactly the IP address that was checked. Proxies are not used.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, NoReturn
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from engine.errors import OutOfReach, SourceError, SourceMissing
from engine.reading.files.named_folders import ENVIRONMENT, is_on_named_host, may_be_read, refused
from engine.reading.files.web_hosts import addresses_of, is_public, is_served
from engine.reading.servers.named_servers import is_host

LARGEST: Final = 2 << 30
"""The most bytes to fetch, counted as received."""
BEGINNING: Final = 64 << 20
"""The same if only the first rows or the columns are needed: a user waits for them."""
LONGEST_S: Final = 600.0
_ANSWER_S: Final = 20.0
_REDIRECTS: Final = 5
_MOVED: Final = (301, 302, 303, 307, 308)
_CHUNK: Final = 1 << 20
_HTTPS: Final = 443
_IN_ADDRESS: Final = "/%:@!$&'()*+,;=~?"


class NotFetched(SourceMissing):
    """A file on the web that was not fetched because fetching is off."""


@dataclass
class _Fetched:
    """The files fetched into a folder, by address. most: bytes of each."""

    folder: Path
    most: int
    files: dict[str, Path] = field(default_factory=dict)


_FETCHED: ContextVar[_Fetched | None] = ContextVar("where files of the web are fetched to", default=None)


@contextmanager
def fetching(folder: Path, most: int = LARGEST) -> Iterator[None]:
    """Inside this block, web files are fetched into a folder, once each; code that needs them must run inside too."""
    token = _FETCHED.set(_Fetched(folder, most))
    try:
        yield
    finally:
        _FETCHED.reset(token)


def is_web(path: str) -> bool:
    """Whether a path is a web address."""
    return path.strip().lower().startswith(("https://", "http://"))


def host_of(path: str) -> str:
    """The host of an address, with a port other than the default; empty for any other path."""
    try:
        parts = urlsplit(path.strip())
        port = parts.port
    except ValueError:
        return ""
    return f"{parts.hostname or ''}{'' if port in (None, _HTTPS) else f':{port}'}"


def fetched(address: str, node: str) -> Path:
    """The file of an address. Raises NotFetched outside of `fetching`, SourceError if the file is not available."""
    address = address.strip()
    _parts(address, node)
    into = _FETCHED.get()
    if into is None:
        message = (
            f"its file is on {host_of(address)}, which is contacted only when you press a button that reads from it, "
            "or when the pipeline runs. Take its columns from there, or declare them."
        )
        raise NotFetched(message, node, "path")
    if address not in into.files:
        into.folder.mkdir(parents=True, exist_ok=True)
        # The ending tells the compression. Spark skips files that begin with _ or a dot.
        name = re.sub(r"[^\w.-]", "_", PurePosixPath(unquote(urlsplit(address).path)).name)[-80:]
        target = into.folder / f"{len(into.files)}-{name}"
        _Fetch(address, node, into.most).to(target)
        into.files[address] = target
    return into.files[address]


class _Connection(http.client.HTTPSConnection):
    """A connection to the IP addresses that were checked, whatever the name resolves to now."""

    def __init__(self, host: str, port: int, addresses: list[str]) -> None:
        self._context_of_tls = ssl.create_default_context()
        super().__init__(host, port, timeout=_ANSWER_S, context=self._context_of_tls)
        self._addresses = addresses
        self._talking: ssl.SSLSocket | None = None

    def connect(self) -> None:
        """Connect to the first address that answers."""
        for at, address in enumerate(self._addresses):
            try:
                plain = socket.create_connection((address, self.port), self.timeout)
                break
            except OSError:
                if at + 1 == len(self._addresses):
                    raise
        self.sock = self._context_of_tls.wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False)
        # If a server announces that it closes, http.client drops the socket from which the body is still read.
        self._talking = self.sock
        self.sock.do_handshake()

    def leave(self) -> None:
        """Make all reads from it fail: a timeout does not stop a server that sends a byte now and then."""
        with contextlib.suppress(OSError):
            if self._talking is not None:
                self._talking.shutdown(socket.SHUT_RDWR)


class _Fetch:
    """The download of one file."""

    def __init__(self, address: str, node: str, most: int) -> None:
        self._address, self._node, self._most = address, node, most
        self._first_host = urlsplit(address).hostname
        self._until = time.monotonic() + LONGEST_S

    def to(self, target: Path) -> None:
        """Fetch it. Raises SourceError."""
        address = self._address
        for _ in range(_REDIRECTS + 1):
            parts = _parts(address, self._node)
            host = host_of(address)
            try:
                moved = self._asked(parts, target)
            except ssl.SSLCertVerificationError as error:
                self._fail(f"{host} has no valid certificate ({error.verify_message}); check the address", error)
            except ssl.SSLError as error:
                self._check_time(error)
                reason = (error.reason or "it broke off").replace("_", " ").lower()
                self._fail(f"{host} does not encrypt as it should ({reason}); check the address", error)
            except (OSError, http.client.HTTPException) as error:
                self._check_time(error)
                reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                message = f"{host} does not answer as it should: {reason}. Check the address, and try again"
                self._fail(message, error)
            if moved is None:
                return
            address = urljoin(address, moved)
        self._fail(f"it is redirected more than {_REDIRECTS} times; check the address")

    def _asked(self, parts: SplitResult, target: Path) -> str | None:
        """Send one request. None if the file was received, otherwise the address of the redirect."""
        host, port = str(parts.hostname), parts.port or _HTTPS
        connection = _Connection(host, port, self._addresses(parts, port))
        leaving = threading.Timer(max(0.0, self._until - time.monotonic()), connection.leave)
        leaving.daemon = True
        leaving.start()
        try:
            path = quote(parts.path or "/", safe=_IN_ADDRESS)
            path += f"?{quote(parts.query, safe=_IN_ADDRESS)}" if parts.query else ""
            connection.request("GET", path, headers={"Accept-Encoding": "identity", "User-Agent": "changelog-studio"})
            with connection.getresponse() as response:
                if response.status in _MOVED and (place := response.headers.get("Location")):
                    return place
                if response.status != http.HTTPStatus.OK:
                    self._fail(f"{host} answers {response.status} {response.reason}; check the address")
                self._kept(response, target)
            return None
        finally:
            leaving.cancel()
            connection.close()

    def _kept(self, response: http.client.HTTPResponse, target: Path) -> None:
        wanted, size = response.length, 0
        if (wanted or 0) > self._most:
            self._fail_too_large()
        with target.open("wb") as file:
            while read := response.read(_CHUNK):
                size += len(read)
                if size > self._most:
                    self._fail_too_large()
                self._check_time()
                file.write(read)
        self._check_time()
        if wanted is not None and size < wanted:
            self._fail(f"only {size:,} of its {wanted:,} bytes came; try again")

    def _addresses(self, parts: SplitResult, port: int) -> list[str]:
        """The IP addresses of a host to which connections are allowed."""
        host = str(parts.hostname)
        try:
            addresses = addresses_of(host, port)
        except (OSError, UnicodeError) as error:
            self._fail(f"the name {host} is not known; check the address", error)
        for address in addresses:
            if not is_public(address) and not self._may_be_private(parts):
                message = f"{host} leads to {address}, which is not a public address"
                advice = f"whoever runs the studio can allow it in {ENVIRONMENT}" if is_served() else "name it itself"
                self._fail(f"{message}; {advice}")
        return addresses

    def _may_be_private(self, parts: SplitResult) -> bool:
        """Whether it is named for what it is: by whoever runs a shared studio, else by the user, not by a redirect."""
        return is_on_named_host(parts.geturl()) if is_served() else parts.hostname == self._first_host

    def _check_time(self, cause: Exception | None = None) -> None:
        if time.monotonic() > self._until:
            self._fail(f"it takes longer than {LONGEST_S / 60:.0f} min; download it, and give its path", cause)

    def _fail_too_large(self) -> NoReturn:
        self._fail(f"it is larger than {self._most / 1e6:,.0f} MB; download it, and give its path")

    def _fail(self, what: str, cause: Exception | None = None) -> NoReturn:
        message = f"path: {self._address[:200]} cannot be fetched: {what}."
        raise SourceError(message, self._node, "path") from cause


def may_be_asked(address: str) -> bool:
    """Whether somebody else's client may ask an address, in a shared studio: one that is named with its host.

    Nothing is resolved: that client resolves the name again, and a name can lead to another address by then.
    """
    with contextlib.suppress(SourceError):
        return bool(_parts(address, "")) and (not is_served() or is_on_named_host(address))
    return False


def _parts(address: str, node: str) -> SplitResult:
    """The parts of an address that may be fetched. Raises SourceError."""
    try:
        parts = urlsplit(address)
        is_right = bool(parts.hostname) and is_host(str(parts.hostname)) and parts.port != 0
        is_right = is_right and address.isprintable() and " " not in address
    except ValueError:
        is_right = False
    if not is_right:
        message = f"path: {address[:200]!r} is not a web address; write it as https://host/folder/file.csv."
        raise SourceError(message, node, "path")
    if parts.scheme.lower() != "https":
        message = f"path: {address[:200]} would be sent unencrypted, and could be changed on its way. Use https."
        raise OutOfReach(message, node, "path")
    if parts.username is not None:
        message = "path: a name or password in an address would be kept with the pipeline. Download the file instead."
        raise SourceError(message, node, "path")
    if not may_be_read(address):
        raise SourceError(refused(address), node, "path")
    return parts
