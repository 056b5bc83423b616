"""The settings of a shared studio: its logins and limits, read from the environment at the start.

    CHANGELOG_STUDIO_PEOPLE         a file with a line `name token` for each person
    CHANGELOG_STUDIO_LOGIN          oidc: Streamlit's login, configured in .streamlit/secrets.toml
    CHANGELOG_STUDIO_USER_HEADER    the header in which a proxy on this machine names the user
    CHANGELOG_STUDIO_ACCESS         everybody: no login, as an explicit choice
    CHANGELOG_STUDIO_FOLDERS        folders that sources may read besides uploads (engine.reading.files.named_folders)
    CHANGELOG_STUDIO_ADDRESSES      servers that sources may connect to (engine.reading.servers.named_servers)
    CHANGELOG_STUDIO_PYTHON         which Python code may run (engine.python_functions.consent); not set: none
    CHANGELOG_STUDIO_MOST_RUNS      the maximum number of running and waiting runs
    CHANGELOG_STUDIO_MOST_GB        the size of the store above which no run starts

and for each person who logs in:

    CHANGELOG_STUDIO_MOST_RUNS_EACH         the maximum number of running and waiting runs
    CHANGELOG_STUDIO_MOST_MEMORY_GB_EACH    the memory of the engines on this machine that the runs are on
    CHANGELOG_STUDIO_MOST_GB_EACH           the size of the runs in the store above which no run starts
    CHANGELOG_STUDIO_MOST_MINUTES_EACH      the time after which a run ends, unless it is live

A studio that other machines can reach does not start without one of the first four. See SERVING.md.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from engine.python_functions import consent
from engine.reading.files import named_folders
from engine.reading.files.received import FOLDER as RECEIVED
from engine.reading.servers import named_servers
from engine.spark.memory import HEAP_ENVIRONMENT, heap, heap_bytes
from storage.library.run_folders import recordings_folder, tests_folder
from ui.access.front_door import LOOPBACK, is_loopback
from ui.shell.uploads import FOLDER as UPLOADS

PEOPLE: Final = "CHANGELOG_STUDIO_PEOPLE"
LOGIN: Final = "CHANGELOG_STUDIO_LOGIN"
HEADER: Final = "CHANGELOG_STUDIO_USER_HEADER"
ACCESS: Final = "CHANGELOG_STUDIO_ACCESS"
MOST_RUNS: Final = "CHANGELOG_STUDIO_MOST_RUNS"
MOST_GB: Final = "CHANGELOG_STUDIO_MOST_GB"
MOST_RUNS_EACH: Final = "CHANGELOG_STUDIO_MOST_RUNS_EACH"
MOST_MEMORY_EACH: Final = "CHANGELOG_STUDIO_MOST_MEMORY_GB_EACH"
MOST_GB_EACH: Final = "CHANGELOG_STUDIO_MOST_GB_EACH"
MOST_MINUTES_EACH: Final = "CHANGELOG_STUDIO_MOST_MINUTES_EACH"
EVERYBODY: Final = "everybody"
OIDC: Final = "oidc"
ALLOWED_CODE: Final = "allowed-code.txt"
SHORTEST_TOKEN: Final = 20
_MOST_RUNS: Final = 8
_MOST_RUNS_EACH: Final = 4


class CannotServe(Exception):
    """The studio does not start; the sentence says what to change."""


@dataclass(frozen=True)
class Serving:
    """The settings. people: names by token. header: in lower case, empty if there is none. Of `each`: per person."""

    is_shared: bool = False
    people: Mapping[str, str] = field(default_factory=dict, repr=False)
    header: str = ""
    is_oidc: bool = False
    most_runs: int | None = None
    most_bytes: int | None = None
    most_runs_each: int | None = None
    most_memory_each: int | None = None
    most_bytes_each: int | None = None
    most_minutes_each: float | None = None

    @property
    def has_login(self) -> bool:
        """Whether people have to log in."""
        return bool(self.people or self.header or self.is_oidc)

    def person_of(self, token: str) -> str | None:
        """The person with this token, or None. The comparison takes as long for every token."""
        matching = None
        for known_token, name in self.people.items():
            if hmac.compare_digest(known_token.encode(), token.encode(errors="replace")):
                matching = name
        return matching


def serving_of(environ: Mapping[str, str], address: str | None, hosts: Collection[str]) -> Serving:
    """The settings in the environment. address: where the app listens; hosts: its configured host names.

    Raises CannotServe.
    """
    is_shared = not is_loopback(address) or any(host.strip().lower() not in LOOPBACK for host in hosts)
    header = environ.get(HEADER, "").strip().lower()
    login = environ.get(LOGIN, "").strip().lower()
    if login not in ("", OIDC):
        message = f"{LOGIN} is {login!r}; the only supported value is {OIDC}."
        raise CannotServe(message)
    if header and not is_loopback(address):
        message = (
            f"{HEADER} identifies users by a request header, which anyone who reaches the app directly could forge. "
            "Leave out --server.address, so that only the proxy on this machine reaches it."
        )
        raise CannotServe(message)
    people = _people(Path(environ[PEOPLE])) if environ.get(PEOPLE) else {}
    if is_shared and not (people or header or login or environ.get(ACCESS) == EVERYBODY):
        message = (
            "others can reach the app, and no login is configured: whoever opened it could run pipelines, and change "
            f"and delete what is stored. Set {PEOPLE} to a file with a line `name token` for each person, or "
            f"{LOGIN}=oidc, or {HEADER} to the header of a proxy on this machine that logs people in; or "
            f"{ACCESS}={EVERYBODY}, where nobody has to log in. ui/SERVING.md shows how."
        )
        raise CannotServe(message)
    has_login = bool(people or header or login)
    limits = (MOST_RUNS_EACH, MOST_MEMORY_EACH, MOST_GB_EACH, MOST_MINUTES_EACH)
    given = [name for name in limits if environ.get(name, "").strip()]
    if given and not has_login:
        message = f"{given[0]} limits each person, and without a login nobody knows whose run it is. Set {PEOPLE} too."
        raise CannotServe(message)
    memory = _bytes(environ, MOST_MEMORY_EACH)
    if memory is not None and memory < heap_bytes():
        message = (
            f"{MOST_MEMORY_EACH} is {environ[MOST_MEMORY_EACH].strip()}, and one engine takes {heap()}: nobody could "
            f"run anything. Set it higher, or {HEAP_ENVIRONMENT} lower."
        )
        raise CannotServe(message)
    return Serving(
        is_shared,
        people,
        header,
        login == OIDC,
        _count(environ, MOST_RUNS, _MOST_RUNS if is_shared else None),
        _bytes(environ, MOST_GB),
        _count(environ, MOST_RUNS_EACH, _MOST_RUNS_EACH if is_shared and has_login else None),
        memory,
        _bytes(environ, MOST_GB_EACH),
        _number(environ, MOST_MINUTES_EACH),
    )


def folders_of(environ: Mapping[str, str], store: Path) -> str:
    """The folders that sources may read in a shared studio: its own, beside its store, and the configured ones.

    Its own hold uploads, posted rows, and recordings of runs, which everybody may see.
    """
    recordings = [f"{named_folders.RECORDINGS}{folder(store)}" for folder in (recordings_folder, tests_folder)]
    own = [str(store.parent / UPLOADS), str(store.parent / RECEIVED), *recordings]
    return ",".join([*own, *filter(None, [environ.get(named_folders.ENVIRONMENT, "")])])


@cache
def serving() -> Serving:
    """The settings of this process. An app that was not started by `ui/server.py` serves this machine only."""
    return _started[-1] if _started else Serving()


def start_serving(how: Serving, store: Path) -> None:
    """Set the settings of this process, and restrict the files that sources read and the code that runs."""
    _started.append(how)
    serving.cache_clear()
    if how.is_shared:
        os.environ[named_folders.ENVIRONMENT] = folders_of(os.environ, store)
        os.environ.setdefault(named_servers.ENVIRONMENT, "")
    elif consent.ENVIRONMENT not in os.environ:
        os.environ[consent.ENVIRONMENT] = str(store.with_name(ALLOWED_CODE))


_started: Final[list[Serving]] = []


def _people(file: Path) -> dict[str, str]:
    try:
        if file.stat().st_mode & 0o077:
            message = f"{PEOPLE}: others can read {file}; run chmod 600 on it."
            raise CannotServe(message)
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{PEOPLE}: {file} cannot be read: {error}."
        raise CannotServe(message) from error
    people: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, token = line.strip().rpartition(" ")
        if not name.strip() or len(token) < SHORTEST_TOKEN or not re.fullmatch(r"[\w.~+/=-]+", token, re.ASCII):
            message = (
                f"{PEOPLE}: line {number} of {file} is no `name token` with a token of at least {SHORTEST_TOKEN} "
                "letters and digits. Make one with: openssl rand -hex 24."
            )
            raise CannotServe(message)
        if token in people:
            message = (
                f"{PEOPLE}: line {number} of {file} gives {name.strip()} the token of {people[token]}; nobody "
                "could tell who of them is logged in. Give everybody a token of their own."
            )
            raise CannotServe(message)
        people[token] = name.strip()
    if not people:
        message = f"{PEOPLE}: {file} has no line `name token`. Add one for each person."
        raise CannotServe(message)
    return people


def _count(environ: Mapping[str, str], name: str, default: int | None) -> int | None:
    number = _number(environ, name)
    return int(number) if number is not None else default


def _bytes(environ: Mapping[str, str], name: str) -> int | None:
    gigabytes = _number(environ, name)
    return int(gigabytes * (1 << 30)) if gigabytes is not None else None


def _number(environ: Mapping[str, str], name: str) -> float | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,6}([.][0-9]+)?", text) or float(text) <= 0:
        message = f"{name} is {text[:40]!r}, not a number above 0."
        raise CannotServe(message)
    return float(text)
