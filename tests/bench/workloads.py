"""The workloads, in SQL that both Flink and the studio support.

Events are `seq, k, v, ts`: a number, a key, a value, a time in ms; the watermark is 5 s behind. `ev2` is the same file
again, for joins.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBERED: Final = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {order}) rn FROM {table}"
_SUMS: Final = "(SELECT MOD(k,1000) k2, k, SUM(v) s FROM ev GROUP BY k)"


def _best(columns: str, order: str, rank: str, *, partition: str = "k", table: str = "ev") -> str:
    numbered = _NUMBERED.format(partition=partition, order=order, table=table)
    return f"SELECT {columns} FROM ({numbered}) WHERE {rank}"


def _windows(windows: str) -> str:
    """Counts and sums by key and window."""
    return (
        f"SELECT k, window_start, window_end, COUNT(*) c, SUM(v) s FROM TABLE({windows}) "
        "GROUP BY k, window_start, window_end"
    )


def _over(frame: str) -> str:
    return f"SELECT seq, k, SUM(v) OVER (PARTITION BY k ORDER BY rt {frame} AND CURRENT ROW) s FROM ev"


def _second(table: str, half: int) -> str:
    """Every other event, with windows of one second."""
    windows = f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(rt), INTERVAL '1' SECOND))"
    return f"(SELECT * FROM {windows} WHERE MOD(seq,2)={half})"


_DIMENSION: Final = "dim"
_VIEWS: Final = {_DIMENSION: _best("k, v, rt", "rt DESC", "rn=1", table="ev2")}
_TUMBLING: Final = "TUMBLE(TABLE ev, DESCRIPTOR(rt), INTERVAL '10' SECOND)"

QUERIES: Final = {
    "scan": "SELECT seq,k,v,ts FROM ev",
    "dedup_last_rowtime": _best("seq,k,v,ts", "rt DESC", "rn=1"),
    "dedup_first_rowtime": _best("seq,k,v,ts", "rt ASC", "rn=1"),
    "dedup_last_proctime": _best("seq,k,v,ts", "pt DESC", "rn=1"),
    "top3": _best("seq,k,v,ts", "v DESC", "rn<=3"),
    "top3_rank": _best("seq,k,v,ts,rn", "v DESC", "rn<=3"),
    "word_freq": "SELECT c, COUNT(*) f FROM (SELECT k, COUNT(*) c FROM ev GROUP BY k) GROUP BY c",
    "agg": "SELECT k, COUNT(*) c, SUM(v) s, MIN(v) mn, MAX(v) mx FROM ev GROUP BY k",
    "max_of_counts": "SELECT MAX(c) m, MIN(c) n FROM (SELECT k, COUNT(*) c FROM ev GROUP BY k)",
    "distinct": "SELECT DISTINCT k, MOD(v,10) FROM ev",
    "distinct_count": "SELECT MOD(k,1000) k2, COUNT(DISTINCT v) c, COUNT(*) n FROM ev GROUP BY MOD(k,1000)",
    "listagg": "SELECT k, LISTAGG(CAST(v AS STRING)) s, AVG(v) a, MAX(v) m FROM ev GROUP BY k",
    "top3_of_agg": _best("k2,k,s", "s DESC", "rn<=3", partition="k2", table=_SUMS),
    "top1_of_sums": _best("k2,k,s", "s DESC", "rn<=1", partition="k2", table=_SUMS),
    "union_dedup": _best(
        "seq,k,v",
        "rt DESC",
        "rn=1",
        table="(SELECT * FROM ev WHERE v<500 UNION ALL SELECT * FROM ev2 WHERE v>=500)",
    ),
    "tumble": _windows(_TUMBLING),
    "hop": _windows("HOP(TABLE ev, DESCRIPTOR(rt), INTERVAL '2' SECOND, INTERVAL '10' SECOND)"),
    "cumulate": _windows("CUMULATE(TABLE ev, DESCRIPTOR(rt), INTERVAL '2' SECOND, INTERVAL '10' SECOND)"),
    "session": _windows("SESSION(TABLE ev PARTITION BY k, DESCRIPTOR(rt), INTERVAL '3' SECOND)"),
    "window_top3": _best(
        "k, window_start, window_end, s, rn",
        "s DESC",
        "rn<=3",
        partition="window_start, window_end",
        table=(
            f"(SELECT k, window_start, window_end, SUM(v) s FROM TABLE({_TUMBLING}) "
            "GROUP BY k, window_start, window_end)"
        ),
    ),
    "window_dedup": _best(
        "seq,k,v,window_end",
        "rt DESC",
        "rn<=1",
        partition="window_start, window_end, k",
        table=f"TABLE({_TUMBLING})",
    ),
    "window_join": (
        f"SELECT a.k, a.v, b.v v2, a.window_start ws FROM {_second('ev', 0)} a JOIN {_second('ev2', 1)} b "
        "ON a.k=b.k AND a.window_start=b.window_start AND a.window_end=b.window_end"
    ),
    "over_rows": _over("ROWS BETWEEN 10 PRECEDING"),
    "over_range": _over("RANGE BETWEEN INTERVAL '10' SECOND PRECEDING"),
    "over_all": _over("RANGE BETWEEN UNBOUNDED PRECEDING"),
    "join": (
        "SELECT a.k, a.s, b.c FROM (SELECT k, SUM(v) s FROM ev GROUP BY k) a LEFT JOIN "
        "(SELECT k, COUNT(*) c FROM ev2 WHERE v<100 GROUP BY k) b ON a.k=b.k"
    ),
    "join_rows": (
        "SELECT a.seq, b.seq seq2, a.k FROM ev a JOIN ev2 b ON a.k=b.k AND MOD(a.seq,8)=0 AND MOD(b.seq,8)=1"
    ),
    "full_join_aggs": (
        "SELECT a.k, a.s, b.c FROM (SELECT k, SUM(v) s FROM ev WHERE MOD(seq,2)=0 GROUP BY k) a FULL JOIN "
        "(SELECT k, COUNT(*) c FROM ev2 WHERE MOD(seq,2)=1 GROUP BY k) b ON a.k=b.k"
    ),
    "semi_join": "SELECT seq,k FROM ev WHERE k IN (SELECT k FROM ev2 WHERE v>990)",
    "interval_join": (
        "SELECT a.seq, b.seq seq2, a.k FROM ev a, ev2 b WHERE a.k=b.k AND MOD(a.seq,4)=0 AND MOD(b.seq,4)=1 "
        "AND b.rt BETWEEN a.rt - INTERVAL '2' SECOND AND a.rt + INTERVAL '2' SECOND"
    ),
    "temporal_join": (
        f"SELECT a.seq, a.k, d.v FROM ev a LEFT JOIN {_DIMENSION} FOR SYSTEM_TIME AS OF a.rt AS d ON a.k=d.k"
    ),
    "match": (
        "SELECT * FROM ev MATCH_RECOGNIZE (PARTITION BY k ORDER BY rt MEASURES A.v AS a, LAST(B.v) AS b "
        "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) "
        "DEFINE B AS B.v > A.v, C AS C.v < A.v) t"
    ),
}
DEFAULT: Final = ("scan", "dedup_last_rowtime", "word_freq", "tumble", "top3", "agg", "join")


def tables(workload: str, path: str) -> list[str]:
    """The CREATE TABLE and CREATE VIEW statements of a workload. path: of the events, in the reader's form."""
    query = QUERIES[workload]
    views = [f"CREATE TEMPORARY VIEW {name} AS {text}" for name, text in _VIEWS.items() if f" {name} " in query]
    used = [name for name in ("ev", "ev2") if re.search(rf"\b{name}\b", " ".join((query, *views)))]
    created = [
        f"""CREATE TABLE {name} (
    seq BIGINT, k BIGINT, v BIGINT, ts BIGINT, rt AS TO_TIMESTAMP_LTZ(ts, 3), pt AS PROCTIME(),
    WATERMARK FOR rt AS rt - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
        for name in used
    ]
    return [*created, *views]


def script(workload: str, path: str) -> str:
    """A workload as one script."""
    return "".join(f"{statement};\n" for statement in [*tables(workload, path), QUERIES[workload]])
