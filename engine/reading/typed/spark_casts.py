"""Casts texts to typed columns in Spark, with the reason if a text does not fit its type. No UDF, no exception.

A number for a timestamp is epoch ms. A timestamp without a zone is UTC; one with a zone in a column without
zones becomes the UTC time. A decimal is rounded half up to its scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.contract.frames import FILE, KIND, LINE, ORDINAL, RAW, REASON, TEXT, WATERMARK
from engine.contract.scan import RAW_CHARS
from engine.contract.source import SourceFrames
from engine.model.changelog import INSERT
from engine.model.schema import Column as SchemaColumn
from engine.model.schema import Schema, TimeUnit
from engine.model.types import STRING, Timestamp, Type
from engine.reading.documents.document_values import MAX_EVENT_TIME_MS, MIN_EVENT_TIME_MS, OUT_OF_RANGE, with_article
from engine.reading.typed.kinds import NO_KIND_ADVICE, WORDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_VALUE_CHARS: Final = 100
_WORD_CHARS: Final = 40


@dataclass(frozen=True)
class Field:
    """A column's value as a text, for the reason of a rejected row, and in its type; null if it does not fit."""

    text: Column
    value: Column


def written(text: Column, type_: Type) -> Field:
    """A field that the file stores as a text."""
    from pyspark.sql import functions as F

    if isinstance(type_, Timestamp):
        from_ms = F.timestamp_micros(F.try_multiply(text.try_cast("bigint"), F.lit(1000)))
        # Spark reads 12:30 as today at 12:30, and 2024 as January 1st: a timestamp has to start with a date.
        with_date = F.when(text.rlike(r"^\s*[0-9]{4}-"), text.try_cast("timestamp"))
        return Field(text, F.coalesce(with_date, from_ms).cast(str(type_)))
    if type_.is_nested:
        return Field(text, F.from_json(text, str(type_)))
    return Field(text, text if type_ == STRING else text.try_cast(str(type_)))


def frames(
    parsed: DataFrame, schema: Schema, fields: Sequence[Field], broken: Column, kind: Column | None = None
) -> SourceFrames:
    """Typed records and rejected rows, in one frame, from lines with their fields.

    broken: the reason why the whole line cannot be read, or null. kind: TINYINT; without it all are +I.
    """
    from pyspark.sql import functions as F

    pairs = list(zip(schema, fields, strict=True))
    # The first item of a list: a filter on a coalesce over hundreds of columns keeps Catalyst busy forever.
    reasons = F.array(broken, *(misfit(column, field) for column, field in pairs))
    judged = parsed.withColumn(REASON, F.get(F.filter(reasons, lambda reason: reason.isNotNull()), F.lit(0)))
    return SourceFrames(
        judged.select(
            ORDINAL,
            (F.lit(INSERT).cast("tinyint") if kind is None else kind).alias(KIND),
            F.lit(None).cast("bigint").alias(WATERMARK),
            *(field.value.alias(column.name) for column, field in pairs),
            *rejection(F.col(REASON)),
        )
    )


def rejection(reason: Column) -> list[Column]:
    """The columns of a rejected line; the text only if there is a reason."""
    from pyspark.sql import functions as F

    raw = F.when(reason.isNotNull(), F.substring(F.make_valid_utf8(TEXT), 1, RAW_CHARS))
    return [F.col(FILE), F.col(LINE), raw.alias(RAW), reason.alias(REASON)]


def misfit(column: SchemaColumn, field: Field) -> Column:
    """The reason to reject a row because of this column; null if it fits."""
    from pyspark.sql import functions as F

    reason = F.lit(None).cast("string")
    if field.value is not field.text:
        unfit = field.text.isNotNull() & field.value.isNull()
        reason = F.when(unfit, _sentence(column, field, f"is not {with_article(column.type)}"))
    if column.time is None:
        return reason
    if column.time is TimeUnit.TIMESTAMP:
        ms = F.unix_millis(field.value.cast("timestamp"))
    else:
        factor = 1000 if column.time is TimeUnit.EPOCH_S else 1
        ms = F.try_multiply(field.value.cast("bigint"), F.lit(factor))
    missing = F.when(field.text.isNull(), F.lit(f"column {column.name!r}: the event time is null"))
    in_range = F.coalesce(ms.between(MIN_EVENT_TIME_MS, MAX_EVENT_TIME_MS), F.lit(False))
    return F.coalesce(missing, reason, F.when(~in_range, _sentence(column, field, OUT_OF_RANGE)))


def _sentence(column: SchemaColumn, field: Field, what: str) -> Column:
    from pyspark.sql import functions as F

    cut = F.substring(field.text, 1, _VALUE_CHARS)
    return F.concat(F.lit(f'column {column.name!r}: "'), cut, F.lit(f'" {what}'))


def kind_of(text: Column) -> Field:
    """The kind of a text, TINYINT; null for any other text."""
    from pyspark.sql import functions as F

    word = F.lower(F.trim(text))
    value = F.lit(None).cast("tinyint")
    for kind, words in WORDS.items():
        value = F.when(word.isin(*words), F.lit(kind).cast("tinyint")).otherwise(value)
    return Field(text, value)


def without_kind(name: str, kind: Field) -> Column:
    """The reason to reject a row without a kind; null if it has one. name: of the column."""
    from pyspark.sql import functions as F

    unknown = F.concat(
        F.lit(f'column {name!r}: "'),
        F.substring(kind.text, 1, _WORD_CHARS),
        F.lit(f'" is not a row kind; {NO_KIND_ADVICE}'),
    )
    missing = F.lit(f"column {name!r}: the row kind is missing; {NO_KIND_ADVICE}")
    return F.when(kind.value.isNull(), F.when(kind.text.isNull(), missing).otherwise(unknown))
