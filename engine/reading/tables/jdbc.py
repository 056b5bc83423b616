"""Tables of Flink's jdbc connector: their addresses and options.

jdbc:sqlite:shop.db    jdbc:postgresql://HOST:PORT/DATABASE
"""

from __future__ import annotations

import re
from typing import Any, Final

from engine.contract.declared_table import DeclaredTable
from engine.reading.declared_options import DeclaredOptions
from engine.reading.servers.address import Address

CONNECTOR: Final = "jdbc"
OPTIONS: Final = (
    "url table-name driver username password compatible-mode connection.max-retry-timeout filter.handling.policy "
    "scan.* lookup.* sink.*"
)
OF_NO_MATTER: Final = r"(scan|lookup|sink|connection)\..*|driver"
_URL: Final = re.compile(r"jdbc:([a-z0-9]+):(.*)", re.DOTALL)
_PLACE: Final = re.compile(r"//(\[[^\]]+\]|[^/:?\[\]]+)(?::(\d{1,5}))?/([^/?]+)(?:\?(.*))?", re.DOTALL)


def kind_in(url: str) -> str:
    """The kind of database of an address; empty if it is none."""
    match = _URL.fullmatch(url)
    return match[1] if match is not None else ""


def file_in(url: str) -> str:
    """What follows the kind of database: of a database in a file, its path."""
    match = _URL.fullmatch(url)
    return match[2] if match is not None else ""


def is_served(table: DeclaredTable, *kinds: str) -> bool:
    """Whether a table is one of a server of these kinds."""
    url = table.options.get("url", "")
    return kind_in(url) in kinds and _PLACE.fullmatch(file_in(url)) is not None


def server_in(options: DeclaredOptions, first_user: str) -> dict[str, Any]:
    """The server, the database and the user of a table, whose options are taken. first_user: who there always is."""
    place = _PLACE.fullmatch(file_in(options.take("url")))
    assert place is not None, "only tables of a server are asked about"
    parameters: dict[str, Any] = {"host": place[1].strip("[]"), "database": place[3]}
    if place[2]:
        parameters["port"] = int(place[2])
    parameters["user"] = options.take("username")
    if not parameters["user"]:
        parameters["user"] = first_user
        options.note(f"without a 'username', the user {first_user} is asked for its rows.")
    parameters["password"] = options.password("password")
    if place[4]:
        options.note(f"the parameters of the URL are ignored: {place[4]}.")
    return parameters


def options_of(protocol: str, address: Address, table: str) -> dict[str, str]:
    """The options of a table of a server."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return {
        "connector": CONNECTOR,
        "url": f"jdbc:{protocol}://{host}:{address.port}/{address.database}",
        "table-name": table,
        "username": address.user,
        "password": address.password,
    }
