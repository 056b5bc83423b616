"""Engines by name: those that the user has added, and any address.

They are in a file of the user, with their tokens, and not in the shared store. The file is read on each access, so
that the app and the command line see each other's changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from engine.errors import EngineUnavailable
from engine.reading.servers.named_servers import is_host

_FILE: Final = "engines.json"
_OURS: Final = re.compile(r"^(local(\[(\d+|\*)(,\d+)?\])?|spark://.+)$")


@dataclass(frozen=True)
class Engine:
    """An engine on which pipelines run.

    name: for users; an engine without one is named by its address. address: local[n], spark://host:port, or
    sc://host:port. workspace: a folder or URI that the engine's workers can write, "" if they see the files of
    this machine. token, use_ssl: for an `sc://` server; options: other parts of its URL, for each request, such as
    `x-databricks-cluster-id=0123`. changelogs_stay: those of bounded runs stay in the workspace, which this machine
    then reads, too.
    """

    name: str
    address: str
    workspace: str = ""
    token: str = field(default="", repr=False)
    use_ssl: bool = False
    options: str = ""
    changelogs_stay: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether the studio starts its server."""
        return not self.address.startswith("sc://")

    @property
    def typed(self) -> str:
        """The address as a user types it, with its options but without its token."""
        return f"{self.address}/;{self.options}" if self.options else self.address

    @property
    def shown_workspace(self) -> str:
        """The workspace, without keys and passwords in its URI."""
        plain, has_query, _ = self.workspace.partition("?")
        return re.sub(r"//[^/]*@", "//…@", plain) + ("?…" if has_query else "")

    @property
    def url(self) -> str:
        """The complete address for PySpark's client."""
        parts = [self.address.rstrip("/") + "/"]
        if self.token:
            parts.append(f"token={quote(self.token, safe='')}")
        if self.use_ssl:
            parts.append("use_ssl=true")
        if self.options:
            parts.append(self.options)
        # Detects a peer that disappeared silently.
        parts += ["grpc_keepalive_time_ms=20000", "grpc_keepalive_timeout_ms=10000"]
        return ";".join(parts)


def engine_called(name: str) -> Engine:
    """The engine with this name, or at this address. Raises EngineUnavailable."""
    added = engines()
    return added[name] if name in added else engine_at(name)


def engine_at(address: str, *, name: str = "", workspace: str = "") -> Engine:
    """The engine at an address in the users' notation, such as `sc://host:port/;token=...;use_ssl=true`.

    Its token is separated, so that it is never shown. Raises EngineUnavailable.
    """
    address = address.strip()
    if _OURS.match(address) and all(map(is_host, _masters(address))):
        return Engine(name or address, address, workspace)
    plain, _, given = address.partition(";")
    url = urlsplit(plain.rstrip("/"))
    try:
        is_good = (
            url.scheme == "sc"
            and bool(url.hostname)
            and is_host(url.hostname or "")
            and not url.path
            and (url.port or 1) > 0
        )
    except ValueError:
        is_good = False
    options = dict(part.partition("=")[::2] for part in given.split(";") if part)
    others = ";".join(f"{key}={value}" for key, value in options.items() if key not in ("token", "use_ssl"))
    # Only headers: any other option could be a secret, such as a password, that must not be shown.
    is_known = all(value and (key in ("token", "use_ssl") or key.startswith("x-")) for key, value in options.items())
    if not is_good or not is_known:
        message = (
            f"{plain or 'nothing'} is not an engine: write local[2], spark://host:port, or "
            "sc://host:port/;token=...;use_ssl=true, or the name of an engine that you have added."
        )
        raise EngineUnavailable(message)
    short = f"sc://{url.netloc.rpartition('@')[2]}"
    use_ssl = options.get("use_ssl", "").lower() == "true"
    return Engine(name or short, short, workspace, unquote(options.get("token", "")), use_ssl, others)


def _masters(address: str) -> list[str]:
    """The hosts of a cluster's masters: `spark://one:7077,two:7077`."""
    if not address.startswith("spark://"):
        return []
    return [master.rpartition(":")[0] or master for master in address.removeprefix("spark://").split(",")]


def engines() -> dict[str, Engine]:
    """The engines that the user has added, by name. Raises EngineUnavailable if their file is broken."""
    path = engines_file()
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        names = {field.name for field in fields(Engine)}
        return {spec["name"]: Engine(**{key: value for key, value in spec.items() if key in names}) for spec in written}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        message = f"the file of engines, {path}, cannot be read: {error}. Repair it, or move it away."
        raise EngineUnavailable(message) from error


def save_engine(engine: Engine) -> None:
    """Add an engine, or change the one with this name. Raises EngineUnavailable."""
    _write(engines() | {engine.name: engine})


def remove_engine(name: str) -> None:
    """Remove an engine from the file. Raises EngineUnavailable."""
    _write({key: engine for key, engine in engines().items() if key != name})


def engines_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The path of the file."""
    home = Path(environ.get("HOME") or Path.home())
    user = home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".config"
    return Path(environ.get("XDG_CONFIG_HOME") or user) / "changelog-studio" / _FILE


def _write(kept: Mapping[str, Engine]) -> None:
    write_secretly(engines_file(), json.dumps([asdict(engine) for engine in kept.values()], indent=2))


def write_secretly(path: Path, text: str) -> None:
    """Replace a file atomically, readable for this user only. Raises EngineUnavailable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A temporary file is readable for its owner only from the start.
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as draft:
            draft.write(text)
        try:
            Path(draft.name).replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                Path(draft.name).unlink()
            raise
    except OSError as error:
        message = f"the file {path} cannot be written: {error}."
        raise EngineUnavailable(message) from error
