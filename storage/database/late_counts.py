"""How many records were late, as SQL: by operator, and of the whole run, in which a record counts once.

A record of an operator may be late for several of its windows. The same record of a source may be late for several
operators, below other steps: it is dropped if one of them dropped it, else late but used.
"""

from __future__ import annotations

from typing import Final

# A step that starts with FF was fired by a watermark: it is a record of its own, not that of its event.
FROM_TIMER: Final = "step >= '\\xFF'::BLOB"
_OF_SOURCE: Final = f"seq, CASE WHEN {FROM_TIMER} THEN step END"

LATE_OPERATORS: Final = """
INSERT INTO run_problems (run_id, node, dropped, used)
SELECT $run, node, count(*) FILTER (dropped), count(*) FILTER (NOT dropped)
FROM (SELECT node, bool_or({dropped}) AS dropped FROM {late} GROUP BY node, port, seq, step) GROUP BY node
"""
LATE_RECORDS: Final = f"""
INSERT INTO run_late_records (run_id, dropped, used)
SELECT $run, count(*) FILTER (dropped), count(*) FILTER (NOT dropped)
FROM (SELECT bool_or({{dropped}}) AS dropped FROM {{late}} GROUP BY {_OF_SOURCE})
"""
