"""The workloads, in SQL that both Flink and the studio support.

Events are `seq, k, v, ts`: a number, a key, a value, a time in ms; the watermark is 5 s behind. `ev2` is the same file
again, for joins. Only the standard library is imported, since an interpreter with apache-flink imports this, too.
"""

from __future__ import annotations

from typing import Final

_NUMBERED: Final = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) rn FROM ev"


def _best(columns: str, order: str, rank: str) -> str:
    return f"SELECT {columns} FROM ({_NUMBERED.format(order=order)}) WHERE {rank}"


def _second(table: str, half: int) -> str:
    """Every other event, with windows of one second."""
    windows = f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(rt), INTERVAL '1' SECOND))"
    return f"(SELECT * FROM {windows} WHERE MOD(seq,2)={half})"


QUERIES: Final = {
    "scan": "SELECT seq,k,v,ts FROM ev",
    "dedup_last_rowtime": _best("seq,k,v,ts", "rt DESC", "rn=1"),
    "dedup_first_rowtime": _best("seq,k,v,ts", "rt ASC", "rn=1"),
    "dedup_last_proctime": _best("seq,k,v,ts", "pt DESC", "rn=1"),
    "top3": _best("seq,k,v,ts", "v DESC", "rn<=3"),
    "top3_rank": _best("seq,k,v,ts,rn", "v DESC", "rn<=3"),
    "word_freq": "SELECT c, COUNT(*) f FROM (SELECT k, COUNT(*) c FROM ev GROUP BY k) GROUP BY c",
    "agg": "SELECT k, COUNT(*) c, SUM(v) s, MIN(v) mn, MAX(v) mx FROM ev GROUP BY k",
    "top3_of_agg": (
        "SELECT k2,k,s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k2 ORDER BY s DESC) rn FROM "
        "(SELECT MOD(k,1000) k2, k, SUM(v) s FROM ev GROUP BY k)) WHERE rn<=3"
    ),
    "tumble": (
        "SELECT k, window_start, window_end, COUNT(*) c, SUM(v) s FROM TABLE(TUMBLE(TABLE ev, DESCRIPTOR(rt), "
        "INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end"
    ),
    "window_join": (
        f"SELECT a.k, a.v, b.v v2, a.window_start ws FROM {_second('ev', 0)} a JOIN {_second('ev2', 1)} b "
        "ON a.k=b.k AND a.window_start=b.window_start AND a.window_end=b.window_end"
    ),
    "join": (
        "SELECT a.k, a.s, b.c FROM (SELECT k, SUM(v) s FROM ev GROUP BY k) a LEFT JOIN "
        "(SELECT k, COUNT(*) c FROM ev2 WHERE v<100 GROUP BY k) b ON a.k=b.k"
    ),
}
DEFAULT: Final = ("scan", "dedup_last_rowtime", "word_freq", "tumble", "top3", "agg", "join")


def tables(workload: str, path: str) -> list[str]:
    """The CREATE TABLE statements of a workload's inputs. path: of the events, in the form that the reader needs."""
    used = ["ev", "ev2"] if "ev2" in QUERIES[workload] else ["ev"]
    return [
        f"""CREATE TABLE {name} (
    seq BIGINT, k BIGINT, v BIGINT, ts BIGINT, rt AS TO_TIMESTAMP_LTZ(ts, 3), pt AS PROCTIME(),
    WATERMARK FOR rt AS rt - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
        for name in used
    ]


def script(workload: str, path: str) -> str:
    """A workload as one script."""
    return "".join(f"{statement};\n" for statement in [*tables(workload, path), QUERIES[workload]])
