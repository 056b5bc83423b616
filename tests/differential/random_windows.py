"""Random chains of window operators: assigned, aggregated, aggregated again, ranked, filtered. Some rows are late."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.differential.random_jobs import Job

_FUNCTIONS = ("COUNT", "SUM", "MIN", "MAX", "AVG")
Operators = list[tuple[str, dict[str, Any]]]


def random_windows(random: Random) -> Job:
    """A random chain that begins with windows over the source's event time."""
    start = random.choice((0, 0, 20_000))
    rows = tuple(
        (
            random.choice(("a", "b", "c", None)),
            random.choice((None, *range(-2, 6))),
            random.randint(0, 3),
            start + at * 400 + random.randint(0, 24) * 250,
        )
        for at in range(random.randint(3, 24))
    )
    chain = _aggregated(random) if random.random() < 0.5 else _assigned(random)
    return Job(tuple(chain), rows, kinds=False, delay_ms=random.choice((0, 500, 2000)), options={})


def _windows(random: Random) -> dict[str, Any]:
    kind = random.choice(("tumble", "hop", "cumulate", "session"))
    unit = random.choice((500, 1000, 2000))
    lengths = {
        "tumble": {"size_ms": unit},
        "hop": {"size_ms": unit * random.randint(1, 4), "slide_ms": unit},
        "cumulate": {"size_ms": unit * random.randint(1, 4), "step_ms": unit},
        "session": {"gap_ms": unit},
    }[kind]
    # Flink rejects an offset of tumbling windows that is not shorter than their size.
    offsets = (0, 0, 250, -250) if kind == "tumble" else (0, 0, 250, 1500)
    offset = {"offset_ms": random.choice(offsets)} if kind != "session" else {}
    return {"kind": kind, **lengths, **offset}


def _aggregated(random: Random) -> Operators:
    windows = _windows(random)
    keys = random.choice((["k"], ["k"], ["w"], ["k", "w"], []))
    first = {**windows, "group_by": keys, "aggregates": _calls(random, ["v", "w"])}
    names = [call["name"] for call in first["aggregates"]]
    chain: Operators = [("window_aggregate", first)]
    match random.choice(("alone", "again", "rank", "over its time")):
        case "again":
            fewer = keys if windows["kind"] == "session" else keys[:1]
            again = {**_ATTACHED, "group_by": fewer, "aggregates": _calls(random, names)}
            chain.append(("window_aggregate", again))
        case "rank":
            chain.append(("window_topn", _rank(random, [], [names[0], *keys, *names[1:], "window_start"])))
        case "over its time":
            chain[0] = ("window_aggregate", {**first, "window_time": True})
            chain.append(
                ("window_aggregate", {**_windows(random), "group_by": [], "aggregates": _calls(random, names)})
            )
        case _:
            pass
    return chain


def _assigned(random: Random) -> Operators:
    windows = _windows(random)
    partition = {"partition_by": random.choice((["k"], ["k", "w"], []))} if windows["kind"] == "session" else {}
    chain: Operators = [("window_assign", {**windows, **partition})]
    if random.random() < 0.4 and windows["kind"] != "session":
        # Flink would move a condition between sessions and their aggregate below the sessions: another query.
        chain.append(("filter", {"condition": f"{random.choice(('v', 'w'))} > {random.randint(-1, 2)}"}))
    keys = partition.get("partition_by", random.choice((["k"], ["k", "w"], [])))
    match random.choice(("alone", "aggregate", "rank", "rank and aggregate")):
        case "aggregate":
            chain.append(
                ("window_aggregate", {**_ATTACHED, "group_by": keys, "aggregates": _calls(random, ["v", "w"])})
            )
        case "rank":
            chain.append(("window_topn", _rank(random, keys, ["v", "w"])))
        case "rank and aggregate":
            chain.append(("window_topn", _rank(random, keys, ["v"])))
            fewer = keys if windows["kind"] == "session" else keys[:1]
            chain.append(("window_aggregate", {**_ATTACHED, "group_by": fewer, "aggregates": _calls(random, ["w"])}))
        case _:
            pass
    return chain


_ATTACHED = {"window_start": "window_start", "window_end": "window_end"}


def _rank(random: Random, keys: list[str], order: list[str]) -> dict[str, Any]:
    order_by = [{"column": column, "descending": random.random() < 0.5} for column in order]
    start = random.choice((1, 1, 2))
    ranks = {"rank_start": start, "rank_end": start + random.randint(0, 2), "with_rank": random.random() < 0.5}
    return {**_ATTACHED, "partition_by": keys, "order_by": order_by, **ranks}


def _calls(random: Random, numbers: list[str]) -> list[dict[str, Any]]:
    calls = []
    for at in range(random.randint(1, 2)):
        function = random.choice(_FUNCTIONS)
        argument = None if function == "COUNT" and random.random() < 0.5 else random.choice(numbers)
        calls.append(
            {"function": function, "argument": argument, "name": f"{function.lower()}{random.randint(100, 999)}{at}"}
        )
    return calls
