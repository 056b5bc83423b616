"""Files of foreign formats for malformed inputs: workbooks, databases, Avro, compressed and nested ones.

Each is well-formed as an archive or a container, while what it says of itself may be wrong: counts, sizes, places.
"""

from __future__ import annotations

import bz2
import gzip
import io
import random
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ODS: Final = "urn:oasis:names:tc:opendocument:xmlns"
_NUMBERS: Final = ("-1", "0", "1e9", "2147483648", "4294967295", "4294967296", "1048577", "9" * 30, "", "x", "16385")
_TEXTS: Final = ("a", "1", "x" * 20_000, "&#0;", "&e;", "<a>", "]]>", "ü", "2024-01-01")
Damage = Callable[[random.Random, bytes], bytes]


class File(NamedTuple):
    """A file, and the source that is to read it."""

    operator: str
    name: str
    data: bytes


def workbook(chance: random.Random, damaged: Damage) -> File:
    """An .xlsx or .ods with some numbers and texts that do not fit, or a damaged one."""
    is_ods = chance.random() < 0.5
    parts = _ods(chance) if is_ods else _xlsx(chance)
    changed = {name: _renumbered(chance, text).encode("utf-8", "replace") for name, text in parts.items()}
    if chance.random() < 0.3:
        name = chance.choice(sorted(changed))
        changed[name] = damaged(chance, changed[name])
    if chance.random() < 0.1:
        del changed[chance.choice(sorted(changed))]
    data = _archive(changed, chance.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED]))
    ending = chance.choice([*(["ods"] if is_ods else ["xlsx"]) * 5, "xls", "xlsb", "xlsm"])
    return File("excel", f"in.{ending}", damaged(chance, data) if chance.random() < 0.3 else data)


def _renumbered(chance: random.Random, text: str) -> str:
    """Some numbers in quotes replaced, such as counts, places and repetitions."""
    places = list(re.finditer(r'(?<==")\$?[A-Z]*\d+(?=")', text))
    for place in sorted(
        chance.sample(places, min(len(places), chance.choice([0, 1, 2]))), key=lambda one: -one.start()
    ):
        letters = re.match(r"[A-Z]*", place[0])
        head = letters[0] if letters is not None and chance.random() < 0.5 else ""
        text = f"{text[: place.start()]}{head}{chance.choice(_NUMBERS)}{text[place.end() :]}"
    return text


def _xlsx(chance: random.Random) -> dict[str, str]:
    texts = [chance.choice(_TEXTS) for _ in range(3)]
    shared = "".join(f"<si><t>{text}</t></si>" for text in texts)
    cells = [
        f'<c r="A{{row}}" t="s"><v>{chance.randrange(3)}</v></c>',
        '<c r="B{row}"><v>1.5</v></c>',
        '<c r="C{row}" s="1" t="d"><v>45413.5</v></c>',
    ]
    rows = "".join(f'<row r="{row}">{"".join(cells).format(row=row)}</row>' for row in range(1, 4))
    return {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="S" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        f'relationships"><Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}" count="3" uniqueCount="3">{shared}</sst>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><dimension ref="A1:C3"/><sheetData>{rows}</sheetData>'
        "</worksheet>",
    }


def _ods(chance: random.Random) -> dict[str, str]:
    spaces = " ".join(f'xmlns:{name}="{_ODS}:{name}:1.0"' for name in ("office", "table", "text"))
    cell = '<table:table-cell table:number-columns-repeated="{}" office:value-type="{}" office:value="1">{}</table:{}>'
    rows = ""
    for _ in range(3):
        cells = "".join(
            cell.format(
                chance.choice([1, 2, 5]),
                chance.choice(["string", "float", "date", "boolean", "x"]),
                f"<text:p>{chance.choice(_TEXTS)}</text:p>",
                "table-cell",
            )
            for _ in range(3)
        )
        rows += f'<table:table-row table:number-rows-repeated="{chance.choice([1, 1, 3])}">{cells}</table:table-row>'
    return {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<manifest/>",
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>",
    }


def database(chance: random.Random, damaged: Damage) -> File:
    """A damaged SQLite file, or one with a view."""
    with tempfile.TemporaryDirectory(prefix="malformed-") as folder:
        place = Path(folder) / "a.db"
        with sqlite3.connect(place) as made:
            made.execute("CREATE TABLE t (a INTEGER, b TEXT, c BLOB, d REAL)")
            made.executemany(
                "INSERT INTO t VALUES (?, ?, ?, ?)", [(at, "x" * at, b"\0" * at, at / 3) for at in range(90)]
            )
            if chance.random() < 0.4:
                view = chance.choice(
                    ["a / (a - 3)", "randomblob(9)", "zeroblob(999999999)", "printf('%.*c', 900000000, 'x')"]
                )
                made.execute(f"CREATE VIEW v AS SELECT {view} AS v FROM t LIMIT 3")
        made.close()
        data = place.read_bytes()
    if chance.random() < 0.7:
        changed = bytearray(data)
        for _ in range(chance.choice([1, 10, 200])):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        data = damaged(chance, bytes(changed)) if chance.random() < 0.2 else bytes(changed)
    return File("sqlite", "in.db", data)


def compressed(chance: random.Random, damaged: Damage) -> File:
    """A compressed file: nested ones, one for another ending, one that unpacks to far more, a damaged one."""
    text = "c0,c1\n" + "".join(f"{at},x\n" for at in range(50))
    data = text.encode()
    match chance.randrange(6):
        case 0:
            data += bytes(chance.choice([1 << 20, 64 << 20]))
        case 1:
            data = _gzipped(data)
        case 2:
            data = b"\n".join([data, b"," * 2_000_000, b'"' * 2_000_001])
    pack, ending = chance.choice([(_gzipped, "gz"), (bz2.compress, "bz2"), (_gzipped, "bz2"), (_zipped, "gz")])
    packed = pack(data)
    if chance.random() < 0.3:
        packed *= chance.choice([2, 5])
    kind = chance.choice(["csv", "jsonl"])
    return File(kind, f"in.{kind}.{ending}", damaged(chance, packed) if chance.random() < 0.5 else packed)


def _gzipped(data: bytes) -> bytes:
    # Without the time, so that an input follows from its number.
    return gzip.compress(data, mtime=0)


def _zipped(data: bytes) -> bytes:
    return _archive({"in.csv": data}, zipfile.ZIP_DEFLATED)


def _archive(files: Mapping[str, bytes], compression: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            archive.writestr(info, content)
    return packed.getvalue()


def avro(chance: random.Random, damaged: Damage) -> File:
    """An Avro container, under its own name and those of other formats."""
    schema = b'{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}'
    head = b"Obj\x01\x04\x16avro.schema" + bytes([len(schema) * 2 & 0x7F | 0x80, len(schema) * 2 >> 7]) + schema
    data = head + b"\x14avro.codec\x08null\0" + b"\x07" * 16 + b"\x02\x02\x02" + b"\x07" * 16
    operator, ending = chance.choice(
        [
            ("avro", "avro"),
            ("csv", "avro"),
            ("parquet", "avro"),
            ("parquet", "parquet"),
            ("excel", "xlsx"),
            ("sqlite", "db"),
            ("duckdb", "ddb"),
        ]
    )
    return File(operator, f"in.{ending}", damaged(chance, data) if chance.random() < 0.5 else data)
