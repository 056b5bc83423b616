"""The input of the engine form, read as an engine or as a sentence for every wrong field."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from engine.errors import EngineUnavailable
from engine.reading.files.named_folders import ENVIRONMENT as FOLDERS
from engine.reading.files.named_folders import may_be_read
from engine.reading.servers.named_servers import not_listed, unlisted
from engine.spark.engines import Engine, engine_at
from ui.shell.words import escaped

NAME_LENGTH: Final = 60
# Of Spark Connect, if an address has none.
_CONNECT_PORT: Final = 15002
# In backticks, because Markdown would parse the brackets.
_FORMS: Final = "Write `local[2]`, `spark://host:port` or `sc://host:port`."


@dataclass(frozen=True)
class Typed:
    """The fields as typed. forget_token: the stored token is to be deleted."""

    name: str
    address: str
    workspace: str = ""
    token: str = field(default="", repr=False)
    use_ssl: bool = False
    forget_token: bool = False
    changelogs_stay: bool = False


def split_address(address: str) -> tuple[str, str, bool] | None:
    """Split a pasted `sc://host:port/;token=...;use_ssl=true` into address, token and TLS; None if it has neither."""
    if ";" not in address:
        return None
    try:
        engine = engine_at(address)
    except EngineUnavailable:
        return None
    return (engine.typed, engine.token, engine.use_ssl) if engine.token or engine.use_ssl else None


def read(typed: Typed, taken: Collection[str], before: Engine | None = None) -> tuple[Engine | None, Mapping[str, str]]:
    """The engine, or None, and the errors by field. taken: names of other engines; before: the edited engine."""
    name, workspace = typed.name.strip(), typed.workspace.strip()
    engine, wrong = _at(typed.address.strip())
    complaints = {"address": wrong} if wrong else {}
    if not name:
        complaints["name"] = "Enter a name. Runs are listed under it."
    elif name.casefold() in {taken_name.casefold() for taken_name in taken}:
        complaints["name"] = f"There is an engine called {escaped(name)} already."
    elif _is_address(name) and (engine is None or name != engine.address):
        complaints["name"] = "This name looks like an address. Choose another one."
    if workspace and not workspace.startswith("/") and "://" not in workspace:
        complaints["workspace"] = "Write an absolute path, `/mnt/shared/studio`, or a URI, `s3a://bucket/studio`."
    elif workspace and not may_be_read(workspace if "://" in workspace else Path(workspace)):
        complaints["workspace"] = f"This studio reads and writes only where {FOLDERS} allows it."
    elif typed.changelogs_stay and not workspace:
        complaints["workspace"] = "Name the folder or URI where the changelogs are to stay."
    if engine is None or complaints:
        return None, complaints
    engine = replace(engine, name=name, workspace=workspace, changelogs_stay=typed.changelogs_stay)
    if engine.is_ours:
        return engine, {}
    return replace(engine, token=_token(typed, engine, before), use_ssl=typed.use_ssl or engine.use_ssl), {}


def _token(typed: Typed, engine: Engine, before: Engine | None) -> str:
    """The token that was typed, pasted with the address, or stored. A stored one is used for its own address only."""
    if token := typed.token.strip() or engine.token:
        return token
    is_kept = before is not None and before.address == engine.address and not typed.forget_token
    return before.token if before is not None and is_kept else ""


def _at(address: str) -> tuple[Engine | None, str]:
    if not address:
        return None, f"Enter the address of the engine. {_FORMS}"
    url = urlsplit(address.partition(";")[0])
    if url.scheme in ("http", "https"):
        host = url.netloc.rpartition("@")[2].partition(":")[0] or "host"
        return None, f"This is the address of a web page. Write `sc://{host}:443`, with TLS, for Spark Connect there."
    try:
        engine = engine_at(address)
    except EngineUnavailable:
        # The message does not repeat the input, which may contain a token.
        return None, f"This is not the address of an engine. {_FORMS}"
    if engine.address.startswith("spark://") and not _has_port(engine.address):
        return None, "Add the port: `spark://host:7077`."
    if "://" in engine.address and (other := unlisted(engine.address, _CONNECT_PORT)) is not None:
        return None, escaped(not_listed(other))
    return engine, ""


def _has_port(address: str) -> bool:
    try:
        return all(urlsplit(f"spark://{host}").port for host in address.removeprefix("spark://").split(","))
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        engine_at(name)
    except EngineUnavailable:
        return "://" in name
    return True
