"""Rows posted over HTTP, kept in files of JSON lines per address, which sources read like any other files.

    received/orders.jsonl               rows posted to /rows/orders
    received/orders.part000001.jsonl    rows posted after the first file reached 64 MB, and so on, in name order

A file is removed once a run has released it and no other run of the store needs it. A post counts once all of its
lines are on disk. The incomplete line of an interrupted post is not read; the next post removes it.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from engine.contract.live import Decision
from engine.reading.files.object_lines import NotObjects, object_lines

FOLDER: Final = "received"
FILE_BYTES: Final = 64 << 20
_ADDRESS: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_FILE: Final = re.compile(rf"{FOLDER}/({_ADDRESS.pattern})(?:\.part\d{{6}})?\.jsonl")
_BLOCK: Final = 1 << 16
_locks: Final[dict[Path, threading.Lock]] = defaultdict(threading.Lock)


class NotReceived(ValueError):
    """A post that was refused; the message is the reason."""


class PostedSource:
    """Marks a source of rows that are posted to the app; its parameter `path` is their address."""


def is_address(name: str) -> bool:
    """Whether rows can be posted under this name."""
    return _ADDRESS.fullmatch(name) is not None


def received_file(folder: Path, address: str) -> Path:
    """The first file of an address; it may not exist."""
    return folder / FOLDER / f"{address}.jsonl"


def received_files(folder: Path, address: str) -> list[Path]:
    """The existing files of an address, in order."""
    first = received_file(folder, address)
    parts = sorted(first.parent.glob(f"{address}.part*.jsonl"))
    return [first, *parts] if first.is_file() else parts


def newest_rows(files: Sequence[Path], most: int) -> list[str]:
    """The last complete rows in the last of an address's files, in order."""
    with files[-1].open("rb") as file:
        end = _end_of_lines(file)
        start = max(0, end - _BLOCK)
        file.seek(start)
        lines = file.read(end - start).splitlines()
    return [line.decode(errors="replace") for line in lines[-most:]]


def forget_read(folder: Path, own: Iterable[str], others: Callable[[], Iterable[str]]) -> None:
    """Remove files of rows that a run has let go. Raises OSError.

    own, others: the decisions of the epochs that the run still has, and those of other runs. A file is removed if it
    precedes all files that these name; addresses that none of the own epochs names keep their files.
    """
    first = _first_files(own)
    older = {name: file for name, file in first.items() if received_files(folder, name)[:1] < [folder / FOLDER / file]}
    if not older:
        return
    needed = _first_files(others())
    for address, name in older.items():
        until = min(name, needed.get(address, name))
        for path in received_files(folder, address):
            if path.name < until:
                path.unlink(missing_ok=True)


def _first_files(decisions: Iterable[str]) -> dict[str, str]:
    """The first file that epochs name, by address."""
    first: dict[str, str] = {}
    for decision in decisions:
        for what in Decision.from_json(decision).took.values() if decision else ():
            for part in what if isinstance(what, list) else ():
                match part:
                    case [str(), str(name), *_] if (file_match := _FILE.fullmatch(name)) is not None:
                        file = name.removeprefix(f"{FOLDER}/")
                        first[file_match[1]] = min(file, first.get(file_match[1], file))
    return first


def rows_in(body: bytes) -> list[str]:
    """The rows of a post, each as one line that keeps all digits. Raises NotReceived.

    A post is one JSON object, an array of objects, or several objects in sequence, as in JSON Lines.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"The body is not UTF-8 at byte {error.start}."
        raise NotReceived(message) from error
    try:
        rows = list(object_lines(text, _DECODER))
    except NotObjects as error:
        message = f"The body {error}"
        raise NotReceived(message) from error
    if not rows:
        message = "The body has no rows; post a JSON object, an array of them, or one per line."
        raise NotReceived(message)
    return rows


def _refuse(name: str) -> None:
    message = f"{name} is no JSON value"
    raise ValueError(message)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def receive(folder: Path, address: str, rows: list[str]) -> None:
    """Store the rows: once this returns, they are on disk. Raises OSError."""
    with _locks[received_file(folder, address)]:
        path = _file_for_more(folder, address)
        is_new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if not is_new else "xb+") as file:
            end = _end_of_lines(file)
            file.truncate(end)
            file.seek(end)
            try:
                file.write("".join(f"{row}\n" for row in rows).encode())
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
        if is_new:
            sync_folder(path.parent)


def _file_for_more(folder: Path, address: str) -> Path:
    """The last file of an address, or a new one if the last is full."""
    files = received_files(folder, address)
    if not files:
        return received_file(folder, address)
    last = files[-1]
    if last.stat().st_size < FILE_BYTES:
        return last
    number = int(last.stem.rpartition(".part")[2]) if ".part" in last.stem else 0
    return last.with_name(f"{address}.part{number + 1:06}.jsonl")


def _end_of_lines(file: BinaryIO) -> int:
    """The end of the last whole line."""
    at = file.seek(0, os.SEEK_END)
    while at:
        start = max(0, at - _BLOCK)
        file.seek(start)
        newline = file.read(at - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        at = start
    return 0


def sync_folder(folder: Path) -> None:
    """Make the directory entries of a folder durable."""
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
