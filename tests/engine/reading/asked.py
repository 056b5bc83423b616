"""Functions that a test has called in a process of its own; the process imports this module."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from engine.errors import UnknownColumn
from engine.reading.files.input_files import InputFile


def abort() -> None:
    os.abort()


def take(mib: int) -> int:
    return len(bytearray(mib << 20))


def stay(seconds: float) -> None:
    time.sleep(seconds)


def count(end: int, pause_s: float) -> Iterator[int]:
    for number in range(end):
        time.sleep(pause_s)
        yield number


def refuse() -> None:
    node = "n"
    raise UnknownColumn(node, "field", "q", ("k", "v"))


def fail(text: str) -> None:
    raise SystemError(text)


def process() -> tuple[int, str]:
    return os.getpid(), os.environ["TMPDIR"]


def first_bytes(file: InputFile) -> tuple[int, bytes]:
    with file.open() as stream:
        stream.seek(2_000_000)
        return stream.tell(), stream.read(3)


def process_and_wait() -> Iterator[tuple[int, str]]:
    yield process()
    time.sleep(60)
