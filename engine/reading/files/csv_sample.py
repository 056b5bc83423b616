"""Reads the start of CSV files, without Spark, to determine the columns' names and types."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import IO, Final

from engine.contract.frames import is_reserved
from engine.errors import SourceError, SourceMissing
from engine.model.schema import Column
from engine.reading.files.input_files import InputFile, opened, text_lines
from engine.reading.files.together import AT_ONCE, in_groups, of_each
from engine.reading.typed.columns import check_names, usable_names
from engine.reading.typed.inference import infer_text

ENDINGS: Final = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Dialect:
    """The notation of these files, and the number of rows in the sample."""

    header: bool
    names: tuple[str, ...]
    separator: str
    quote: str
    null_text: str
    multi_line: bool
    sample_rows: int

    def named(self, header: Sequence[str]) -> tuple[str, ...]:
        """The columns' names with this header."""
        return self.names or usable_names(header)


@lru_cache(maxsize=64)
def sample_csv(files: tuple[InputFile, ...], dialect: Dialect, node: str) -> tuple[Column, ...]:
    """Names and inferred types. For the cache, a changed file is a different file.

    Raises SourceMissing: all files are empty; SourceError: a header that differs from the first file's, not UTF-8.
    """
    names = dialect.names
    first: InputFile | None = None
    rows: list[list[str]] = []
    for together in in_groups(files, AT_ONCE):
        most = dialect.sample_rows - len(rows)
        for file, (raw_header, of_file) in zip(together, _beginnings(together, dialect, node, most), strict=True):
            if dialect.header:
                if not raw_header:
                    continue
                _check_header(raw_header, file, node)
                header = list(usable_names(raw_header))
                if first is None:
                    names = names or tuple(header)
                    first = file
                    _check_width(names, header, file, node)
                elif dialect.names:
                    _check_width(names, header, file, node)
                elif tuple(header) != names:
                    raise _other_header(header, file, names, first, node)
            rows.extend(of_file[: dialect.sample_rows - len(rows)])
    if not names and rows:
        names = tuple(f"column{at}" for at in range(1, len(rows[0]) + 1))
    if not names:
        message = f"{files[0].name} is empty, so its columns are not known; give a file with a header, or names."
        raise SourceMissing(message, node, "path")
    check_names(names, node, "names")
    fitting = [row for row in rows if len(row) == len(names)]
    nulls = ("", dialect.null_text)
    return tuple(
        Column(name, infer_text(None if row[at] in nulls else row[at] for row in fitting))
        for at, name in enumerate(names)
    )


def _beginnings(
    files: Sequence[InputFile], dialect: Dialect, node: str, most: int
) -> Sequence[tuple[list[str], list[list[str]]]]:
    """The header and the first rows of each file, at most so many."""

    def beginning(file: InputFile) -> tuple[list[str], list[list[str]]]:
        with opened(file, node) as stream:
            records = _records(stream, dialect)
            raw_header = next(records, []) if dialect.header else []
            return raw_header, list(islice(records, most)) if raw_header or not dialect.header else []

    return of_each(beginning, files)


def _records(stream: IO[bytes], dialect: Dialect) -> Iterator[list[str]]:
    """The records. If quotes cannot hold line breaks, line by line, so that an open quote affects one line only."""
    lines = text_lines(stream)
    if dialect.multi_line:
        yield from _parsed((f"{line}\n" for line in lines), dialect)
        return
    for at, line in enumerate(lines):
        if line.strip():
            yield from _parsed([line], dialect)
        elif at == 0 and dialect.header:
            yield [""]


def _parsed(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str]]:
    reader = csv.reader(lines, delimiter=dialect.separator, quotechar=dialect.quote)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:  # a field of more than 128 kB: Spark reads it, the sample does without
            continue


def _check_header(header: list[str], file: InputFile, node: str) -> None:
    if header == [""]:
        message = f"line 1 of {file.name} is blank; start the file with the columns' names, or give names."
        raise SourceError(message, node, "path")
    if any("\ufffd" in name or "\0" in name for name in header):
        message = f"the header of {file.name} is not UTF-8 text; save the file as UTF-8."
        raise SourceError(message, node, "path")


def _check_width(names: tuple[str, ...], header: list[str], file: InputFile, node: str) -> None:
    if len(names) != len(header):
        message = f"names: {len(names)} names, but {file.name} has {len(header)} columns: {', '.join(header)}."
        raise SourceError(message, node, "names")


def _other_header(
    header: list[str], file: InputFile, names: tuple[str, ...], first: InputFile, node: str
) -> SourceError:
    if missing := [name for name in names if name not in header]:
        what = f"lacks the column {missing[0]!r}"
    elif added := [name for name in header if name not in names]:
        what = f"has a column {added[0]!r} more"
    else:
        what = "has its columns in another order"
    message = f"{file.name} {what} than {first.name} ({', '.join(names)}); read it as a source of its own."
    if what.startswith("lacks"):
        message = f"{file.name} {what}, which {first.name} has; read it as a source of its own."
    return SourceError(message, node, "path")


def renamed_columns(header: Sequence[str]) -> dict[str, str]:
    """Notes on the columns whose names differ from the file's, by column name."""
    said = {}
    for name, usable in zip((name.strip() for name in header), usable_names(header), strict=True):
        if name == usable:
            continue
        if not name:
            said[usable] = "it has no name in the file"
        elif is_reserved(name):
            said[usable] = f"{name!r} in the file; the studio has a column of that name"
        else:
            said[usable] = f"{name!r} in the file, which has another column of that name"
    return said


def records_of_file(file: InputFile, dialect: Dialect, node: str) -> Iterator[list[str]]:
    """The rows of a file without its header. Raises SourceError."""
    with opened(file, node) as stream:
        records = _records(stream, dialect)
        if dialect.header:
            next(records, None)
        yield from records


def header_of(file: InputFile, dialect: Dialect, node: str) -> list[str]:
    """The names as written in a file. Raises SourceError."""
    with opened(file, node) as stream:
        return next(_records(stream, dialect), []) if dialect.header and not dialect.names else []
