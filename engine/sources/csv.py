"""CSV files: a file, a folder or a glob, in name order.

Input: UTF-8 with or without a byte order mark, LF or CRLF, plain or .gz/.bz2; quotes as in RFC 4180 (a
quote inside a quoted field is doubled; one in the middle of an unquoted field is plain text). Blank lines
are skipped. An empty field is null, and so is one that is the NULL text.
Output: insert-only, or what `kind_column` says, in the order of the lines. A line that cannot be read
is rejected with file, line and reason: a wrong number of fields, an open quote, bytes that are no UTF-8, a
value that does not fit, an unknown kind.
Types are inferred from the first `sample_rows` lines (`engine.reading.inference`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from pydantic import Field

from engine.errors import PipelineError
from engine.frames import FILE, LINE
from engine.operator import Derived, SourceFrames
from engine.reading.csv_sample import Dialect, sample_csv
from engine.reading.file_source import RowFile, one_character
from engine.reading.files import InputFile
from engine.reading.lines import PARSED, TEXT, read_lines
from engine.reading.texts import written
from engine.schema import Column, Schema

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_CORRUPT: Final = "corrupt"
_OPEN: Final = "a quoted field is not closed in its line, or goes on after its closing quote"


class Csv(RowFile):
    """CSV files."""

    operator: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    summary: ClassVar[str] = "Comma-separated files, line by line."
    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt")

    header: bool = Field(True, title="First line has names", description="Each file starts with the columns' names.")
    names: tuple[str, ...] = Field(
        (), title="Names", description="The columns' names, in place of those in the header or where there is none."
    )
    separator: str = Field(",", title="Separator", description=r"One character; \t is a tab.")
    quote: str = Field('"', title="Quote", description="The character around a field that holds a separator.")
    null_text: str = Field("", title="NULL text", description="What stands for NULL, besides nothing at all.")
    multi_line: bool = Field(
        False, title="Line breaks in quotes", description="A quoted field may hold line breaks. Slower."
    )
    sample_rows: int = Field(
        1000, ge=1, le=100_000, title="Rows for types", description="So many rows are looked at to infer the types."
    )

    @property
    def sampled(self) -> int:
        """The rows for types."""
        return self.sample_rows

    def derive(self, node: str, folder: Path) -> Derived:
        """Names from the header, types from the sample."""
        return self.described(node, self._columns(node, self.files(node, folder)))

    def read(self, spark: SparkSession, node: str, folder: Path) -> SourceFrames:
        """The lines as typed records, and those that cannot be read."""
        from pyspark.sql import functions as F

        schema = self.derive(node, folder).schema
        files = self.files(node, folder)
        columns = self._columns(node, files)
        fields = [f"c{at}" for at in range(len(columns))]
        layout = ", ".join(f"{name} STRING" for name in [*fields, _CORRUPT])
        options = {
            "sep": one_character(self.separator, node, "separator"),
            "quote": self.quote,
            "escape": self.quote,
            "nullValue": self.null_text,
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": _CORRUPT,
            "maxCharsPerColumn": "-1",
            "maxColumns": str(max(20480, len(columns) + 1)),
        }
        if self.multi_line:
            joined = _join_lines(read_lines(spark, files, F.lit(None), int(self.header)), self.quote)
            rows = joined.withColumn(PARSED, F.from_csv(TEXT, layout, options))
        else:
            rows = read_lines(spark, files, F.from_csv("value", layout, options), int(self.header))
        rows = rows.where(F.trim(TEXT) != "")
        if self.header:
            rows = rows.where(F.col(LINE) > 1)
        texts = [F.col(PARSED).getField(name) for name in fields]
        broken = self._broken(texts, F.col(PARSED).getField(_CORRUPT))
        values = {column.name: written(text, column.type) for text, column in zip(texts, columns, strict=True)}
        return self.typed(rows, schema, values, broken)

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The filesystem connector. Flink neither skips a header nor keeps the order of several files."""
        options = {
            "format": "csv",
            "csv.field-delimiter": self.separator,
            "csv.quote-character": self.quote,
            "csv.null-literal": self.null_text,
            "csv.ignore-parse-errors": "true",
        }
        return self.table(node, schema, options)

    def _columns(self, node: str, files: tuple[InputFile, ...]) -> tuple[Column, ...]:
        if one_character(self.separator, node, "separator") == one_character(self.quote, node, "quote"):
            message = f"separator and quote are both {self.quote!r}; choose two different characters."
            raise PipelineError(message, node, "quote")
        dialect = Dialect(
            self.header,
            self.names,
            one_character(self.separator, node, "separator"),
            one_character(self.quote, node, "quote"),
            self.null_text,
            self.multi_line,
            self.sample_rows,
        )
        return self.overridden(sample_csv(files, tuple(file.stamp for file in files), dialect, node), node)

    def _broken(self, fields: Sequence[SparkColumn], corrupt: SparkColumn) -> SparkColumn:
        """Why a line as a whole cannot be read.

        Spark's parser takes what it gets, so broken quotes are looked for here: with the well-formed quoted
        fields taken out, none may start with a quote. Only suspicious lines pay for the pattern (it is slower
        than all the rest): those with an odd number of quotes or a field that kept its first one.
        """
        from pyspark.sql import functions as F

        text = F.col(TEXT)
        quote, separator = re.escape(self.quote), re.escape(one_character(self.separator, "", "separator"))
        inside = f"[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+"
        whole = f"(?s)(?<=^|{separator}){quote}{inside}{quote}[ \\t]*(?={separator}|$)"
        without = F.regexp_replace(text, whole, "")
        kept = reduce(or_, (field.startswith(self.quote) for field in fields))
        suspicious = (_count(text, self.quote) % 2 == 1) | F.coalesce(kept, F.lit(False))
        is_open = F.when(
            F.contains(text, F.lit(self.quote)), F.when(suspicious, without.rlike(f"(?:^|{separator}){quote}"))
        )
        count = (F.size(F.split(without, separator, -1))).cast("string")
        return F.coalesce(
            F.when(~F.is_valid_utf8(text), F.lit("the line is not UTF-8; save the file as UTF-8")),
            F.when(is_open, F.lit(_OPEN)),
            F.when(corrupt.isNotNull(), F.concat(count, F.lit(f" fields for {len(fields)} columns"))),
        )


def _count(text: SparkColumn, quote: str) -> SparkColumn:
    """How many quotes there are."""
    from pyspark.sql import functions as F

    return F.length(text) - F.length(F.replace(text, F.lit(quote), F.lit("")))


def _join_lines(lines: DataFrame, quote: str) -> DataFrame:
    """Lines to records: a line break between an odd number of quotes belongs to the field."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_file = Window.partitionBy(FILE).orderBy(LINE)
    quotes = _count(F.col(TEXT), quote)
    before = F.coalesce(F.sum(quotes).over(in_file.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    start = F.last(F.when(before % 2 == 0, F.col(LINE)), ignorenulls=True).over(in_file)
    parts = F.array_sort(F.collect_list(F.struct(LINE, TEXT)))
    grouped = lines.withColumn("__record", start).groupBy(FILE, F.col("__record").alias(LINE))
    return grouped.agg(F.min("__ordinal").alias("__ordinal"), F.array_join(parts.getField(TEXT), "\n").alias(TEXT))


SOURCE = Csv
