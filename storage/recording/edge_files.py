"""Loads the Parquet files of an edge into its table, in position order: a row's rowid is its index in the changelog.

The sort makes it slower than a plain load, and its cost grows with the width of the sort key. Most edges have few
distinct steps (edges with timers have many). For these, position and kind are packed into one BIGINT. 15.6 M records
with two values then take 3.9 CPU seconds, against 2.4 for a plain load; sorted by seq and step, the INSERT alone takes
4.6. Tasks sort what they write piece by piece, which halves the time of the sort by seq and step.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Generic, NamedTuple, TypeVar

from engine.contract.frames import KIND as FILE_KIND
from engine.contract.frames import PLACE, SEQ, STEP
from engine.contract.recorder import ClockFile, EdgeFile, StayingFile
from engine.model.changelog import RowKind
from storage.database.connection import Cursor
from storage.database.sql import blob, identifier, literal
from storage.database.tables import KIND
from storage.model import Edge, EdgeColumn

Counts = Mapping[RowKind, int]


class Loaded(NamedTuple):
    """The records that were stored, by kind, {} without any, and the number of those that the edge does not keep."""

    counts: Counts = {}
    left_out: int = 0


# The names of a file's folders must not be read as columns.
PARQUET: Final = "hive_partitioning = false"
_FILES: Final = f"read_parquet($files, {PARQUET})"
# With more distinct steps than this, records are sorted by the step itself, not by its rank.
_FEW_STEPS: Final = 32
_SAMPLE: Final = 100_000
# The most files that one statement reads: it opens all of them during planning.
_AT_ONCE: Final = 64
# Between the parts of a key whose hash decides whether its records are kept.
_BETWEEN: Final = "chr(31)"
# The most frequent first: a CASE tests in this order.
_KINDS: Final = (RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.INSERT, RowKind.DELETE)


def load(cursor: Cursor, edge: Edge, files: Sequence[EdgeFile]) -> Loaded:
    """Append to the edge's table those of the files' records that it keeps."""
    # A source's edge has numbered files only, any other edge none.
    numbered = consecutive((file, file.first_seq) for file in files if file.first_seq is not None)
    if numbered:
        return _load_numbered(cursor, edge, numbered)
    in_order = sorted(files, key=lambda file: file.low)
    is_sorted = all(file.is_rising for file in files) and all(a.high < b.low for a, b in pairwise(in_order))
    return _load_placed(cursor, edge, [file.path for file in in_order], is_sorted=is_sorted) if files else Loaded()


def stay(cursor: Cursor, edge: Edge, files: Sequence[StayingFile]) -> Loaded:
    """Count the files of an epoch among those of an edge whose records stay in the workspace."""
    names = "run_id, table_name, path, bytes, last_seq"
    for file in files:
        values = [edge.run_id, edge.table, file.path, file.size, file.high]
        cursor.execute(f"INSERT INTO run_staying_files ({names}) VALUES (?, ?, ?, ?, ?)", values)
    if not files:
        return Loaded()
    paths_sql = "SELECT path FROM run_staying_files WHERE run_id = ? AND table_name = ? ORDER BY rowid"
    cursor.execute(staying_view(edge, [str(path) for (path,) in cursor.execute(paths_sql, values[:2]).fetchall()]))
    return Loaded({kind: sum(file.counts[kind] for file in files) for kind in RowKind})


def staying_view(edge: Edge, paths: Sequence[str]) -> str:
    """The statement that shows the records of files as those of an edge; without any, it has no records."""
    names = [identifier(column.stored_as) for column in edge.columns]
    if paths:
        values = "".join(f", {_stored(column)} AS {name}" for column, name in zip(edge.columns, names, strict=True))
        position = f"{PLACE} AS rowid, {SEQ} AS seq, {STEP} AS step, {_kind(FILE_KIND)} AS kind"
        rows = f"SELECT {position}{values} FROM read_parquet([{', '.join(map(literal, paths))}], {PARQUET})"
    else:
        pairs = zip(edge.columns, names, strict=True)
        values = "".join(f", NULL::{column.duckdb_type} AS {name}" for column, name in pairs)
        position = f"NULL::BIGINT AS rowid, NULL::BIGINT AS seq, NULL::BLOB AS step, NULL::{KIND} AS kind"
        rows = f"SELECT {position}{values} WHERE false"
    return f"CREATE OR REPLACE VIEW {edge.tables.staying(edge.table)} AS {rows}"


File = TypeVar("File", EdgeFile, ClockFile)


@dataclass(frozen=True)
class NumberedFiles(Generic[File]):
    """Files of consecutive events of one source, in order, read as one relation so that DuckDB reads in parallel.

    first_seqs: the event of each file's first row.
    """

    files: Sequence[File]
    first_seqs: Sequence[int]

    @property
    def relation(self) -> str:
        """The relation with the rows of all files."""
        paths = ", ".join(literal(file.path) for file in self.files)
        return f"read_parquet([{paths}], {PARQUET}, file_row_number = true)"

    @property
    def seq(self) -> str:
        """The SQL of a row's event number."""
        return f"file_row_number + {self.each(self.first_seqs)}"

    @property
    def low(self) -> int:
        """The first event of the range to read."""
        return max(self.files[0].low, self.first_seqs[0])

    @property
    def condition(self) -> str:
        """The SQL condition on the rows of the range to read."""
        bounds = [f"{self.seq} >= {self.low}"] if self.low > self.first_seqs[0] else []
        if self.files[-1].high < 1 << 62:
            bounds.append(f"{self.seq} <= {self.files[-1].high}")
        return " AND ".join(bounds) or "true"

    def each(self, values: Sequence[int | None]) -> str:
        """The SQL of a number that differs by file."""
        written = ["NULL" if value is None else str(int(value)) for value in values]
        if len(set(written)) == 1:
            return f"{written[0]}::BIGINT"
        return f"list_extract([{', '.join(written)}]::BIGINT[], (file_index + 1)::BIGINT)"


def consecutive(
    files: Iterable[tuple[File, int]], same: Callable[[File], Hashable] = lambda file: None
) -> list[NumberedFiles[File]]:
    """Group files, given with their first events: a group has no gaps, equal values of `same`, and limited size."""
    in_order = sorted(files, key=lambda each: max(each[0].low, each[1]))
    groups: list[list[tuple[File, int]]] = []
    for file, first in in_order:
        last = groups[-1][-1][0] if groups else None
        if last and last.high + 1 == first >= file.low and same(last) == same(file) and len(groups[-1]) < _AT_ONCE:
            groups[-1].append((file, first))
        else:
            groups.append([(file, first)])
    return [NumberedFiles([file for file, _ in group], [first for _, first in group]) for group in groups]


def columns_of(cursor: Cursor, file: str) -> set[str]:
    """The names of a file's columns."""
    rows = cursor.execute(f"DESCRIBE FROM read_parquet($file, {PARQUET})", {"file": file}).fetchall()
    return {str(row[0]) for row in rows}


def is_kept(edge: Edge) -> str:
    """The SQL condition on the records of an edge's files that it keeps: the same keys in every run and on any machine.

    One hash of texts for all types: joined edges may have the same key as INT and as BIGINT.
    """
    if not edge.share.by:
        return "true" if edge.share.one_in else "false"
    columns = {column.name: column for column in edge.columns}
    parts = (f"coalesce(CAST({_stored(columns[name])} AS VARCHAR), '')" for name in edge.share.by)
    return f"md5_number_lower({f' || {_BETWEEN} || '.join(parts)}) % {edge.share.one_in} = 0"


def _load_numbered(cursor: Cursor, edge: Edge, files: Sequence[NumberedFiles[EdgeFile]]) -> Loaded:
    """Load a source's records. They are stored in order, so nothing is sorted."""
    table, kept_where = edge.tables.named(edge.table), is_kept(edge)
    has_kinds = FILE_KIND in columns_of(cursor, files[0].files[0].path)
    kind = _kind(FILE_KIND) if has_kinds else f"'{RowKind.INSERT.symbol}'::{KIND}"
    counts, records = dict.fromkeys(RowKind, 0), 0
    for part in files:
        of_part = f"FROM {part.relation} WHERE {part.condition}"
        if kept_where != "true":
            records += _count(cursor, of_part)
            of_part = f"{of_part} AND {kept_where}"
        inserted = cursor.execute(
            f"INSERT INTO {table} SELECT {part.seq}, ''::BLOB, {kind}{_values(edge)} {of_part}"
        ).fetchone()
        if has_kinds:
            _add(counts, cursor.execute(f"SELECT {FILE_KIND}, count(*) {of_part} GROUP BY ALL").fetchall())
        else:
            counts[RowKind.INSERT] += int(inserted[0]) if inserted else 0
    stored = sum(counts.values())
    return Loaded(counts if stored else {}, max(records - stored, 0))


def _load_placed(cursor: Cursor, edge: Edge, files: Sequence[str], *, is_sorted: bool) -> Loaded:
    """Load an operator's records. Unless their files follow each other in order, they are sorted by position."""
    parameters: dict[str, object] = {"files": files}
    kept_where = is_kept(edge)
    placed = _FILES if kept_where == "true" else f"(FROM {_FILES} WHERE {kept_where})"
    records = 0 if kept_where == "true" else _count(cursor, f"FROM {_FILES}", parameters)
    # If there are many steps, a sample shows it without a scan of all records. Most epochs are not larger than it: then
    # it also counts them.
    most = _FEW_STEPS * len(RowKind)
    groups = cursor.execute(
        f"SELECT {STEP}, {FILE_KIND}, count(*) FROM (SELECT {STEP}, {FILE_KIND} FROM {placed} LIMIT {_SAMPLE}) "
        f"GROUP BY ALL LIMIT {most + 1}",
        parameters,
    ).fetchall()
    if not groups:
        return Loaded(left_out=records)
    is_all = len(groups) <= most and sum(records for _, _, records in groups) < _SAMPLE
    steps = {bytes(step) for step, _, _ in groups}
    if not is_all and not is_sorted and len(steps) <= _FEW_STEPS:
        distinct = f"SELECT DISTINCT {STEP} FROM {placed} LIMIT {_FEW_STEPS + 1}"
        steps = {bytes(step) for (step,) in cursor.execute(distinct, parameters).fetchall()}
    rows = f"SELECT {SEQ}, {STEP}, {_kind(FILE_KIND)}{_values(edge)} FROM {placed}"
    if not is_sorted:
        rows = f"{rows} ORDER BY {SEQ}, {STEP}" if len(steps) > _FEW_STEPS else _packed(edge, placed, sorted(steps))
    cursor.execute(f"INSERT INTO {edge.tables.named(edge.table)} {rows}", parameters)
    counts = dict.fromkeys(RowKind, 0)
    if is_all:
        _add(counts, [(kind, records) for _, kind, records in groups])
    else:
        _add(counts, cursor.execute(f"SELECT {FILE_KIND}, count(*) FROM {placed} GROUP BY ALL", parameters).fetchall())
    return Loaded(counts, max(records - sum(counts.values()), 0))


def _count(cursor: Cursor, rows: str, parameters: dict[str, object] | None = None) -> int:
    row = cursor.execute(f"SELECT count(*) {rows}", parameters).fetchone()
    return int(row[0]) if row else 0


def _packed(edge: Edge, placed: str, steps: Sequence[bytes]) -> str:
    """The records in order, sorted by one number: seq, then the step's rank, then the kind."""
    bits = len(steps).bit_length()
    ranked = ", ".join(map(blob, steps))
    # Nearly free: the file has a dictionary of its steps, and each entry is ranked once.
    packed = f"({SEQ} << {bits + 2}) | (list_position([{ranked}], {STEP})::BIGINT << 2) | {FILE_KIND}"
    branches = " ".join(f"WHEN {at} THEN {blob(step)}" for at, step in enumerate(steps, 1))
    step = f"CASE ({PLACE} >> 2) & {(1 << bits) - 1} {branches} END"
    names = [identifier(column.name) for column in edge.columns]
    values = "".join(f", {name}" for name in names)
    return (
        f"SELECT {PLACE} >> {bits + 2}, {step}, {_kind(f'{PLACE} & 3')}{_values(edge)} "
        f"FROM (SELECT {packed} AS {PLACE}{values} FROM {placed} ORDER BY {PLACE})"
    )


def _kind(number: str) -> str:
    """The kind of a RowKind's number. The branches have the column's type: a cast per row would double the cost."""
    branches = " ".join(f"WHEN {kind.value} THEN '{kind.symbol}'::{KIND}" for kind in _KINDS)
    return f"CASE {number} {branches} END"


def _values(edge: Edge) -> str:
    return "".join(f", {_stored(column)}" for column in edge.columns)


def _stored(column: EdgeColumn) -> str:
    """A column of a file as it is stored. An instant's cast consults the time zone: 0.13 s for a million."""
    name = identifier(column.name)
    is_time = column.duckdb_type == "TIMESTAMP"
    return f"make_timestamp(epoch_us({name}))" if is_time else f"CAST({name} AS {column.duckdb_type})"


def _add(counts: dict[RowKind, int], kind_counts: Iterable[Sequence[int]]) -> None:
    kinds = {kind.value: kind for kind in RowKind}
    for kind, records in kind_counts:
        counts[kinds[kind]] += int(records)
