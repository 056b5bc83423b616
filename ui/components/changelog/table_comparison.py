"""The rows in which two tables of an edge differ, as a grid."""

from __future__ import annotations

from storage.changelogs.table_differences import TableComparison
from storage.model import Edge
from ui.components.changelog.record_list import cell_of, number_columns_of
from ui.components.grid import Cell, Row, Table
from ui.shell import words


def comparison_table(edge: Edge, comparison: TableComparison, left: str, right: str) -> Table:
    """One line per key: a row of one table only, or the changed values, left → right. edge: of the left table."""
    rows: list[Row] = []
    for pair in comparison.rows:
        if pair.left is not None and pair.right is not None:
            cells = [
                cell_of(edge, at, new, was=words.value(edge.columns[at].shown(old)), changed=True)
                if repr(old) != repr(new)
                else cell_of(edge, at, new)
                for at, (old, new) in enumerate(zip(pair.left, pair.right, strict=True))
            ]
            rows.append(Row((Cell(f"{left} → {right}", tone="warn"), *cells)))
            continue
        values, name = (pair.left, left) if pair.left is not None else (pair.right, right)
        cells = [cell_of(edge, at, value) for at, value in enumerate(values or ())]
        rows.append(Row((Cell(f"only in {name}", tone="bad"), *cells)))
    return Table(("row", *comparison.columns), rows, number_columns_of(edge))
