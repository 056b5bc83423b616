"""Functions of Flink that are refused, each with the reason and an alternative."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.errors import unknown_name

_CLOCK: Final = (
    "tells the time of the machine, so that the same input would not give the same changelog. Use a column that holds "
    "the time, such as an event time."
)
_BITMAP: Final = (
    "works on bitmaps, which no column here holds. Collect the numbers by ARRAY_AGG(DISTINCT v), or count them by "
    "COUNT(DISTINCT v)."
)
_VARIANT: Final = (
    "makes a VARIANT, which no column here holds. Keep the JSON as a text, and read it by JSON_VALUE(j, '$.name') or "
    "JSON_QUERY."
)
_OBJECT: Final = "makes objects of a Java class. Use a row: ROW(a, b), or CAST((a, b) AS ROW<x INT, y STRING>)."
_MODEL: Final = (
    "asks a model or an index outside of the run, so that the same input would not give the same changelog. Call it in "
    "a function in Python: CREATE FUNCTION f AS 'functions.f' LANGUAGE PYTHON."
)
_WHY: Final = {
    _CLOCK: "NOW CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_ROW_TIMESTAMP",
    _BITMAP: "BITMAP_AND BITMAP_ANDNOT BITMAP_AND_AGG BITMAP_AND_CARDINALITY_AGG BITMAP_BUILD BITMAP_BUILD_AGG "
    "BITMAP_BUILD_CARDINALITY_AGG BITMAP_CARDINALITY BITMAP_FROM_BYTES BITMAP_OR BITMAP_OR_AGG "
    "BITMAP_OR_CARDINALITY_AGG BITMAP_TO_ARRAY BITMAP_TO_BYTES BITMAP_TO_STRING BITMAP_XOR BITMAP_XOR_AGG "
    "BITMAP_XOR_CARDINALITY_AGG",
    _VARIANT: "PARSE_JSON TRY_PARSE_JSON",
    _OBJECT: "OBJECT_OF OBJECT_UPDATE",
    _MODEL: "ML_PREDICT ML_EVALUATE VECTOR_SEARCH",
    "tells of a catalog, and a script here has none. Write its name as a text: 'default_database'.": "CURRENT_DATABASE",
    "is 0 unless GROUP BY names a set twice. Write 0, or GROUPING_ID(k) to tell the sets apart.": "GROUP_ID",
    "is for WATERMARK FOR of a connector that sends watermarks of its own, and none here does. Write the delay: "
    "rt - INTERVAL '5' SECOND.": "SOURCE_WATERMARK",
}

REFUSED: Final = {name: f"{name} {why}" for why, listed in _WHY.items() for name in listed.split()}
"""By name, a sentence with the reason and an alternative."""

WITHOUT_PARENTHESES: Final = frozenset(
    ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP")
)
"""The refused functions that are written like a column."""

_OF_ONE_RECORD: Final = {
    "is the moment at which the machine handles a record, and another run would have another. Use a column that holds "
    "the time, such as an event time.": "PROCTIME",
    "makes one JSON of several records, but an expression sees one at a time. Aggregate before, by ARRAY_AGG or "
    "LISTAGG.": "JSON_ARRAYAGG JSON_OBJECTAGG",
    "ranks a record among others, but an expression sees one at a time. Add the rank before, by an operator that ranks "
    "rows.": "ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE",
    "reads another record, but an expression sees one at a time. Add its value before, by an OVER aggregate.": "LEAD",
    "tells the sets of GROUPING SETS apart, which an expression has none of. Test the column: k IS NULL.": (
        "GROUPING GROUPING_ID"
    ),
    "is about windows, and an expression sees one record at a time. Assign the windows before, and use their columns "
    "window_start and window_end.": " ".join(
        kind + part
        for kind in ("TUMBLE", "HOP", "SESSION", "CUMULATE")
        for part in ("", "_START", "_END", "_ROWTIME", "_PROCTIME")
    ),
    "is what the stream has reached, not a value of the record. Add it before, by an operator that gives the current "
    "watermark.": "CURRENT_WATERMARK",
    "is of a match, and an expression sees one record at a time. Use it in MATCH_RECOGNIZE.": "MATCH_ROWTIME",
}

OF_QUERIES: Final = {name: f"{name} {why}" for why, listed in _OF_ONE_RECORD.items() for name in listed.split()}
"""The functions that a query has and an expression over one record has not: by name, as in REFUSED."""

OF_TABLES: Final = frozenset(("ML_PREDICT", "ML_EVALUATE", "VECTOR_SEARCH"))
"""The refused functions in FROM."""

UNIX_TIMESTAMP: Final = f"UNIX_TIMESTAMP() {_CLOCK}"
"""The sentence for UNIX_TIMESTAMP, which is refused only without an argument."""


_INSTEAD: Final = {
    "DATE_TRUNC": "FLOOR(ts TO MINUTE)",
    "TRUNC": "FLOOR(ts TO DAY) for times, TRUNCATE(x, 2) for numbers",
    "TIME_BUCKET": "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))",
    "DATEDIFF": "TIMESTAMPDIFF(DAY, a, b)",
    "DATE_ADD": "ts + INTERVAL '1' DAY",
    "DATE_SUB": "ts - INTERVAL '1' DAY",
    "GETDATE": "CURRENT_TIMESTAMP",
    "LEN": "CHAR_LENGTH(s)",
    "NVL": "COALESCE(a, b)",
    "ISNULL": "a IS NULL, or COALESCE(a, b)",
    "STRING_AGG": "LISTAGG(s, ',')",
    "GROUP_CONCAT": "LISTAGG(s, ',')",
    "TO_CHAR": "DATE_FORMAT(ts, 'yyyy-MM-dd')",
}
_OF_CONFLUENT: Final = (
    *("AI_COMPLETE", "AI_EMBEDDING", "AI_RUN_AGENT", "AI_TOOL_INVOKE", "ML_ANOMALY_DETECT", "ML_DETECT_ANOMALIES"),
    *("ML_DETECT_ANOMALIES_ROBUST", "ML_FORECAST", "VECTOR_SEARCH_AGG", "KEY_SEARCH_AGG", "TEXT_SEARCH_AGG"),
)
ELSEWHERE: Final = {
    **{name: f"{name} is no function of Flink's. Write {right}." for name, right in _INSTEAD.items()},
    **{name: f"{name} {_MODEL}" for name in _OF_CONFLUENT},
    **{
        name: f"{name} makes a table. Write FROM {name}(input => TABLE t)."
        for name in ("FROM_CHANGELOG", "TO_CHANGELOG")
    },
}
"""By name of a function of other databases or of Confluent's, a sentence with what to write."""


def called_elsewhere(name: str) -> str | None:
    """Why a function of Flink or of others is not called here; None for any other name."""
    return REFUSED.get(name.upper()) or ELSEWHERE.get(name.upper())


def no_function(kind: str, name: str, known: Iterable[str]) -> str:
    """The sentence for a missing function: the reason if it is refused, else the known names."""
    return called_elsewhere(name) or f"{unknown_name(kind, name, known)}."
