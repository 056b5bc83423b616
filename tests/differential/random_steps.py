"""Random steps of a query: each is a SELECT over one relation, with the relation that results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from tests.differential.random_expressions import condition, expression, is_number, is_plain, is_time, some
from tests.differential.random_patterns import pattern
from tests.differential.random_relations import (
    WINDOW,
    Relation,
    Step,
    aggregates,
    changing,
    columns_of,
    partition_by,
)
from tests.differential.random_sides import watermark, with_constants, with_whole


def of_one(random: Random, below: Relation) -> tuple[str, Step]:
    """A random step over one relation, with its name."""
    weighted: list[tuple[Callable[[Random, Relation], Step], int]] = [
        (with_constants, 1),
        (with_whole, 1),
        (project, 2),
        (filtered, 2),
        (aggregated, 4),
        (grouping_sets, 1),
        (distinct, 1),
        (top_n, 3),
        (unnested, 1),
    ]
    if not below.is_loose:
        weighted += [(over_values, 1), (limited, 1)]
    if below.time:
        weighted += [(over_time, 3), (windowed, 2), (window_aggregate, 5), (group_window, 2), (last_by_time, 2)]
        weighted += [(sorted_by_time, 1), (watermark, 1), (pattern, 4)]
    if below.has_windows:
        weighted += [(window_again, 6), (window_top_n, 6)]
    if below.processing_time and not below.is_loose:
        weighted += [(by_arrival, 4)]
    step = random.choices([each for each, _ in weighted], [weight for _, weight in weighted])[0]
    return step.__name__, step(random, below)


def project(random: Random, below: Relation) -> Step:
    """Some of the columns, and one or two expressions."""
    kept = [column for column in below.columns if column[0] == below.time or random.random() < 0.8]
    kept += [column for column in WINDOW if below.has_windows and column not in kept]
    kept = kept or list(below.columns[:1])
    made = [expression(random, below.columns) for _ in range(random.choice((1, 1, 2)))]
    new = [(f"x{at}_{random.randint(0, 99)}", type_) for at, (_, type_) in enumerate(made)]
    items = [name for name, _ in kept] + [f"{text} AS {name}" for (text, _), (name, _) in zip(made, new, strict=True)]
    if below.processing_time:
        items.append(below.processing_time)
    return f"SELECT {', '.join(items)} FROM {below.name}", replace(below, columns=(*kept, *new))


def filtered(random: Random, below: Relation) -> Step:
    """The rows that meet a condition."""
    return f"SELECT * FROM {below.name} WHERE {condition(random, below.columns)}", below


def aggregated(random: Random, below: Relation) -> Step:
    """GROUP BY, or one group of all rows; sometimes with HAVING."""
    keys = random.sample(below.keys, random.randint(0, min(2, len(below.keys))))
    calls, made = aggregates(random, below)
    sql = f"SELECT {', '.join([*keys, *calls])} FROM {below.name}"
    if keys:
        sql += f" GROUP BY {', '.join(keys)}"
    if random.random() < 0.15:
        sql += " HAVING COUNT(*) > 1"
    return sql, changing(below, [*columns_of(below, keys), *made])


def grouping_sets(random: Random, below: Relation) -> Step:
    """ROLLUP, CUBE or GROUPING SETS of two columns."""
    if len(below.keys) < 2:
        return None
    a, b = random.sample(below.keys, 2)
    calls, made = aggregates(random, below)
    sets = random.choice((f"ROLLUP ({a}, {b})", f"CUBE ({a}, {b})", f"GROUPING SETS (({a}), ({b}), ())"))
    sql = f"SELECT {a}, {b}, {', '.join(calls)}, GROUPING_ID({a}, {b}) AS gid FROM {below.name} GROUP BY {sets}"
    return sql, changing(below, [*columns_of(below, [a, b]), *made, ("gid", "BIGINT")])


def distinct(random: Random, below: Relation) -> Step:
    """SELECT DISTINCT of some columns."""
    keys = random.sample(below.keys, random.randint(1, min(2, len(below.keys))))
    return f"SELECT DISTINCT {', '.join(keys)} FROM {below.name}", changing(below, columns_of(below, keys))


def top_n(random: Random, below: Relation) -> Step:
    """A Top N."""
    partition = random.sample(below.keys, random.randint(0, min(2, len(below.keys))))
    able = [name for name, type_ in below.columns if is_plain(type_) and type_ != "BOOLEAN" and not is_time(type_)]
    if not able:
        return None
    order = random.sample(able, len(able) if below.is_loose else random.randint(1, min(2, len(able))))
    # With an offset, Flink loses or delays updates after retractions.
    start = random.choice((1, 1, 1, 2)) if below.is_append and not below.is_loose else 1
    # Flink 2.3 treats a Top 1 by columns other than time as insert-only (FLINK-39966, FLINK-40368).
    end = start + random.randint(1, 2)
    rank = f"rn <= {end}" if start == 1 else f"rn BETWEEN {start} AND {end}"
    with_rank = random.random() < 0.5
    columns = [*below.columns, *([("rn", "BIGINT")] if with_rank else [])]
    if "rn" in below.names:
        return None
    by = ", ".join(f"{name}{random.choice(('', ' DESC'))}" for name in order)
    number = f"ROW_NUMBER() OVER ({partition_by(partition)}ORDER BY {by})"
    if random.random() < 0.2:
        items = [*below.names, *([f"{number} AS rn"] if with_rank else [])]
        asked = rank if with_rank else rank.replace("rn", number, 1)
        return f"SELECT {', '.join(items)} FROM {below.name} QUALIFY {asked}", changing(below, columns)
    inner = f"SELECT *, {number} AS rn FROM {below.name}"
    sql = f"SELECT {', '.join(name for name, _ in columns)} FROM ({inner}) WHERE {rank}"
    return sql, changing(below, columns)


def last_by_time(random: Random, below: Relation) -> Step:
    """The first or last row of each key by event time."""
    keys = random.sample(below.keys, random.randint(1, min(2, len(below.keys))))
    order = random.choice(("ASC", "DESC"))
    inner = f"SELECT *, ROW_NUMBER() OVER ({partition_by(keys)}ORDER BY {below.time} {order}) AS rn FROM {below.name}"
    sql = f"SELECT {', '.join(below.names)} FROM ({inner}) WHERE rn = 1"
    first = order == "ASC"
    made = changing(below, below.columns)
    # The first row waits for the watermark.
    return sql, replace(made, is_append=first, time=below.time if first else None, is_loose=below.is_loose or first)


def by_arrival(random: Random, below: Relation) -> Step:
    """The first, last, first two, or second and third rows of each key in order of arrival."""
    keys = random.sample(below.keys, random.randint(1, min(2, len(below.keys))))
    order, rank = random.choice((("", "= 1"), (" DESC", "= 1"), ("", "<= 2"), ("", "BETWEEN 2 AND 3")))
    over = f"({partition_by(keys)}ORDER BY {below.processing_time}{order})"
    inner = f"SELECT *, ROW_NUMBER() OVER {over} AS rn FROM {below.name}"
    sql = f"SELECT {', '.join(below.names)} FROM ({inner}) WHERE rn {rank}"
    return sql, replace(changing(below, below.columns), is_append=not order)


def over_time(random: Random, below: Relation) -> Step:
    """Aggregates, ROW_NUMBER or LAG OVER the event time."""
    partition = random.sample(below.keys, random.randint(0, min(2, len(below.keys))))
    frame = random.choice(
        (
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
            "RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW",
            "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        )
    )
    over = f"OVER ({partition_by(partition)}ORDER BY {below.time}"
    if random.random() < 0.25:
        name, type_ = random.choice(below.columns)
        calls = [(f"LAG({name}) {over})", type_), (f"ROW_NUMBER() {over})", "BIGINT")]
        texts = [f"{text} AS o{at}" for at, (text, _) in enumerate(calls)]
        made = [(f"o{at}", type_) for at, (_, type_) in enumerate(calls)]
    else:
        calls_, made = aggregates(random, below, plain=True, suffix=f" {over} {frame})")
        texts = calls_
    if any(name in below.names for name, _ in made):
        return None
    sql = f"SELECT {', '.join([*below.names, *texts])} FROM {below.name}"
    after = replace(below, columns=(*below.columns, *made), processing_time=None, is_loose=True, has_windows=False)
    return sql, after


def over_values(random: Random, below: Relation) -> Step:
    """A running sum OVER the order of a value."""
    numbers = some(below.columns, "BIGINT", "INT")
    if not numbers or "o" in below.names:
        return None
    over = f"({partition_by(random.sample(below.keys, 1))}ORDER BY {random.choice(numbers)})"
    text = f"SUM({random.choice(numbers)}) OVER {over} AS o"
    columns = [*below.columns, ("o", "BIGINT")]
    return f"SELECT {', '.join(below.names)}, {text} FROM {below.name}", changing(below, columns)


def limited(random: Random, below: Relation) -> Step:
    """ORDER BY value LIMIT n, or LIMIT alone."""
    if not below.is_append or random.random() < 0.6:
        able = [name for name, type_ in below.columns if is_number(type_) or type_ == "STRING"]
        if not able:
            return None
        order = f" ORDER BY {random.choice(able)}{random.choice(('', ' DESC'))}"
        offset = random.choice(("", "", " OFFSET 1")) if below.is_append else ""
        sql = f"SELECT * FROM {below.name}{order} LIMIT {random.randint(2, 4)}{offset}"
    else:
        sql = f"SELECT * FROM {below.name} LIMIT {random.randint(1, 6)}"
    if below.processing_time:
        return None
    return sql, changing(below, below.columns)


def sorted_by_time(random: Random, below: Relation) -> Step:
    """ORDER BY the event time, then by a value."""
    number = some(below.columns, "BIGINT", "INT", "STRING")
    if below.processing_time or not number:
        return None
    return f"SELECT * FROM {below.name} ORDER BY {below.time}, {random.choice(number)}", replace(below, is_loose=True)


def unnested(random: Random, below: Relation) -> Step:
    """UNNEST of an array of two columns, sometimes with the ordinality."""
    numbers = some(below.columns, "BIGINT")
    if not numbers or "e" in below.names:
        return None
    a, b = random.choice(numbers), random.choice(numbers)
    inner = f"SELECT *, ARRAY[{a}, {b}] AS list FROM {below.name}"
    made = [("e", "BIGINT"), ("n", "INT")] if random.random() < 0.3 and "n" not in below.names else [("e", "BIGINT")]
    names = ", ".join(name for name, _ in made)
    join, on = random.choice((("CROSS JOIN", ""), ("LEFT JOIN", " ON TRUE")))
    ordinality = " WITH ORDINALITY" if len(made) > 1 else ""
    sql = f"SELECT {', '.join(below.names)}, {names} FROM ({inner}) {join} UNNEST(list){ordinality} AS u({names}){on}"
    return sql, replace(below, columns=(*below.columns, *made), processing_time=None, has_windows=False)


def table_function(random: Random, below: Relation, partition: Iterable[str] = ()) -> str:
    """A random windowing table function over a relation."""
    size, unit = random.choice((2, 3, 4)), random.choice((500, 1000))

    def interval(ms: int) -> str:
        return f"INTERVAL '{ms / 1000:.1f}' SECOND(1, 1)" if ms % 1000 else f"INTERVAL '{ms // 1000}' SECOND"

    kind = random.choice(("TUMBLE", "TUMBLE", "HOP", "CUMULATE", "SESSION"))
    time = f"DESCRIPTOR({below.time})"
    keys = list(partition)
    match kind:
        case "TUMBLE":
            given = [time, interval(size * unit)]
        case "SESSION":
            given = [time, interval(unit)]
        case _:
            given = [time, interval(unit), interval(size * unit)]
    listed = f"({', '.join(keys)})" if len(keys) > 1 else "".join(keys)
    by = f" PARTITION BY {listed}" if kind == "SESSION" and keys else ""
    return f"TABLE({kind}(TABLE {below.name}{by}, {', '.join(given)}))"


def _unwindowed(below: Relation) -> bool:
    return not any(name.startswith("window_") for name in below.names)


def windowed(random: Random, below: Relation) -> Step:
    """The rows with their windows."""
    if not _unwindowed(below):
        return None
    sql = f"SELECT {', '.join(below.names)}, window_start, window_end FROM {table_function(random, below)}"
    made = replace(below, columns=(*below.columns, *WINDOW), processing_time=None, has_windows=True, time=None)
    return sql, replace(made, is_loose=below.is_loose or "SESSION" in sql)


def window_aggregate(random: Random, below: Relation) -> Step:
    """Window aggregates, sometimes with the window time."""
    if not _unwindowed(below):
        return None
    keys = random.sample(below.keys, random.randint(0, min(2, len(below.keys))))
    calls, made = aggregates(random, below, mergeable=True)
    with_time = random.random() < 0.4
    bounds = [*WINDOW, *([("window_time", "TIMESTAMP(3)")] if with_time else [])]
    names = [name for name, _ in bounds]
    function = table_function(random, below, keys)
    sql = f"SELECT {', '.join([*keys, *names, *calls])} FROM {function} GROUP BY {', '.join([*keys, *names])}"
    columns = (*columns_of(below, keys), *bounds, *made)
    time = "window_time" if with_time else None
    return sql, Relation("", columns, time, None, is_append=True, is_loose=True, has_windows=True)


def window_again(random: Random, below: Relation) -> Step:
    """Window aggregates over rows that already have windows."""
    keys = [name for name in below.keys if random.random() < 0.4]
    calls, made = aggregates(random, below, mergeable=True)
    by = [*keys, "window_start", "window_end"]
    sql = f"SELECT {', '.join([*by, *calls])} FROM {below.name} GROUP BY {', '.join(by)}"
    columns = (*columns_of(below, keys), *WINDOW, *made)
    return sql, Relation("", columns, None, None, is_append=True, is_loose=True, has_windows=True)


def window_top_n(random: Random, below: Relation) -> Step:
    """A window Top N."""
    keys = random.sample(below.keys, random.randint(0, 1))
    able = [name for name, type_ in below.columns if is_number(type_) or type_ == "STRING"]
    if not able or "rn" in below.names:
        return None
    order = random.sample(able, len(able))
    if below.time and random.random() < 0.4 and not below.is_loose:
        order = [below.time]
    by = ", ".join(f"{name}{random.choice(('', ' DESC'))}" for name in order)
    over = f"(PARTITION BY {', '.join(['window_start', 'window_end', *keys])} ORDER BY {by})"
    with_rank = random.random() < 0.5
    columns = (*below.columns, *([("rn", "BIGINT")] if with_rank else []))
    inner = f"SELECT *, ROW_NUMBER() OVER {over} AS rn FROM {below.name}"
    sql = f"SELECT {', '.join(name for name, _ in columns)} FROM ({inner}) WHERE rn <= {random.randint(1, 3)}"
    return sql, replace(below, columns=columns, is_loose=True, time=None)


def group_window(random: Random, below: Relation) -> Step:
    """The legacy group windows: functions in GROUP BY."""
    keys = random.sample(below.keys, random.randint(0, min(2, len(below.keys))))
    calls, made = aggregates(random, below, mergeable=True)
    kind = random.choice(("TUMBLE", "HOP", "SESSION"))
    lengths = {"TUMBLE": "INTERVAL '2' SECOND", "SESSION": "INTERVAL '1' SECOND"}.get(
        kind, "INTERVAL '1' SECOND, INTERVAL '2' SECOND"
    )
    given = f"({below.time}, {lengths})"
    bounds = [f"{kind}_START{given} AS ws", f"{kind}_END{given} AS we"]
    group = ", ".join([*keys, f"{kind}{given}"])
    sql = f"SELECT {', '.join([*keys, *bounds, *calls])} FROM {below.name} GROUP BY {group}"
    columns = (*columns_of(below, keys), ("ws", "TIMESTAMP(3)"), ("we", "TIMESTAMP(3)"), *made)
    return sql, Relation("", columns, None, None, is_append=True, is_loose=True)
