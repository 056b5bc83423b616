"""Writes workbooks for tests, cell by cell."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
Cell = str | float | tuple[float, int] | bool | None
# Styles of numbers, by their index in the file: plain, a time, a day.
TIME, DAY = 1, 2
ERROR = "#DIV/0!"


def write_workbook(path: Path, sheets: Mapping[str, Mapping[int, Sequence[Cell]]]) -> None:
    """Write sheets, each with its rows by number. A pair is a number with its style."""
    names = list(sheets)
    tags = "".join(f'<sheet name="{escape(name)}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(names, 1))
    links = "".join(
        f'<Relationship Id="r{at}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{at}.xml"/>'
        for at in range(1, len(names) + 1)
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types"/>')
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{tags}</sheets></workbook>'
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships">{links}'
            f'<Relationship Id="styles" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{_MAIN}"><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="22"/>'
            '<xf numFmtId="14"/></cellXfs></styleSheet>',
        )
        for at, name in enumerate(names, 1):
            rows = "".join(_row(number, cells) for number, cells in sheets[name].items())
            sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/sheet{at}.xml", sheet)


def _row(number: int, cells: Sequence[Cell]) -> str:
    written = "".join(_cell(f"{chr(65 + at)}{number}", cell) for at, cell in enumerate(cells) if cell is not None)
    return f'<row r="{number}">{written}</row>'


def _cell(place: str, cell: Cell) -> str:
    match cell:
        case bool():
            return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
        case "#DIV/0!":
            return f'<c r="{place}" t="e"><v>{cell}</v></c>'
        case str():
            return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
        case (number, style):
            return f'<c r="{place}" s="{style}"><v>{number}</v></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'
