"""Whether a text is a script of Flink SQL, wherever it is pasted, dropped or typed.

The beginning decides, after what people copy along: comments, a client's prompt, a byte order mark, semicolons.
"""

from __future__ import annotations

import re
from typing import Final

_BEFORE: Final = re.compile(r"(?:\s|\ufeff|;|--[^\n]*\n|/\*.*?\*/|Flink SQL>)*", re.DOTALL | re.IGNORECASE)
_BEGINNING: Final = re.compile(
    r"(?:CREATE|ALTER|DROP)\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(?:TEMPORARY\s+)?(?:SYSTEM\s+)?"
    r"(?:MATERIALIZED\s+)?(?:TABLE|VIEW|FUNCTION|CATALOG|DATABASE|MODEL)\b"
    r"|INSERT\s+(?:INTO|OVERWRITE)\b|WITH\s+[`\w]+\s*(?:\([^)]*\)\s*)?AS\s*\("
    r"|EXECUTE\s+STATEMENT\s+SET\b|BEGIN\s+STATEMENT\s+SET\b|EXPLAIN\s+\w|USE\s+(?:CATALOG\s+)?[`\w]+\s*;"
    r"|(?:RE)?SET\s+'[^'\n]+'\s*(?:=|;)|SELECT[^\S\t][^\t]*?\bFROM\s+[`(\w]|SELECT[^\S\t][^\t]*;",
    re.DOTALL | re.IGNORECASE,
)
_LOOKED_AT: Final = 100_000


def is_sql(text: str) -> bool:
    """Whether a text begins as a statement of Flink SQL does. Rows with the names in the first line do not."""
    head = text[:_LOOKED_AT]
    before = _BEFORE.match(head)
    return _BEGINNING.match(head, before.end() if before is not None else 0) is not None
