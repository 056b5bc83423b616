"""The canvas in an exported page: the pipeline as a picture, and the records of a run or an event on its edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.model.changelog import SYMBOLS, RowKind
from ui.components.grid import Cell, Row, Table, html_of
from ui.export.picture import picture_as_html


def canvas_as_html(drawn: Mapping[str, Any]) -> str:
    """The data that a canvas draws, as static HTML."""
    used = {node["operator"] for node in drawn["document"]["nodes"]}
    what = {name: drawn[name] for name in ("name", "colors", "document", "nodes", "edges")}
    catalog = [entry for entry in drawn["catalog"] if entry["operator"] in used]
    tables = [*_counts(drawn["edges"]), *_records(drawn["edges"])]
    return picture_as_html({**what, "catalog": catalog}) + "".join(
        f'<div class="grid">{html_of(table)}</div>' for table in tables
    )


def _counts(edges: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """The number of records of each kind on each edge, for the run that the canvas shows."""
    counted = {edge: fact["counts"] for edge, fact in edges.items() if "counts" in fact}
    if counted:
        rows = [
            Row((Cell(_named(edge)), *(_count(counts.get(kind, 0)) for kind in SYMBOLS)))
            for edge, counts in counted.items()
        ]
        yield Table(("records on", *SYMBOLS), rows, frozenset(SYMBOLS))


def _count(number: int) -> Cell:
    return Cell(f"{number:,}" if number else "", is_number=True)


def _records(edges: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """The records that an event sent along each edge."""
    rows = [
        Row((Cell(_named(edge)), Cell(kinds=(RowKind.of(record["kind"]),)), Cell(record["title"])))
        for edge, fact in edges.items()
        for record in fact.get("records", ())
    ]
    rows += [Row(note=f"{_named(edge)}: and {fact['more']:,} more") for edge, fact in edges.items() if fact.get("more")]
    if rows:
        yield Table(("on", "kind", "record"), rows, narrow=frozenset({"kind"}))


def _named(edge: str) -> str:
    source, _, target = edge.partition(">")
    return f"{source} → {target.removesuffix(':in')}"
