"""The files in a dropped zip file."""

from __future__ import annotations

import io
from collections.abc import Mapping
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from engine.errors import PipelineError
from engine.reading.files import archives
from engine.reading.files.archives import unzipped

ENDINGS = (".csv", ".log")


def packed(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def held_in(content: bytes, name: str = "all.zip") -> list[tuple[str, bytes]]:
    return [(file, stream.read()) for file, stream in unzipped(io.BytesIO(content), name, ENDINGS)]


def test_the_files_that_sources_read_come_by_name() -> None:
    files = {
        "b/orders.csv": b"id\n1\n",
        "a.log.gz": b"x",
        "__MACOSX/b/._orders.csv": b"-",
        "read.me": b"",
        "c.csv/": b"",
    }
    assert held_in(packed(files)) == [("a.log.gz", b"x"), ("orders.csv", b"id\n1\n")]


def test_another_file_is_itself() -> None:
    assert held_in(b"id\n", "a.csv") == [("a.csv", b"id\n")]


def broken() -> bytes:
    content = bytearray(packed({"a.csv": b"id\n" * 100}))
    content[40] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (packed({"read.me": b""}), "all.zip holds no file that ends in .csv, .log; drop another file."),
        (packed({f"{at}.csv": b"" for at in range(21)}), "all.zip holds 21 files, and 20 are the most"),
        (b"id\n1\n", "all.zip cannot be unpacked: File is not a zip file. Unpack it yourself"),
        (broken(), "all.zip cannot be unpacked: "),
    ],
    ids=["none", "many", "no zip", "spoilt"],
)
def test_what_cannot_be_unpacked_is_a_sentence(content: bytes, sentence: str) -> None:
    with pytest.raises(PipelineError, match=sentence):
        held_in(content)


def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_BYTES", 100)
    with pytest.raises(PipelineError, match="all.zip holds more than"):
        held_in(packed({"a.csv": bytes(101)}))
