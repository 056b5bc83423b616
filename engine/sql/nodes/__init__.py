"""Relations as nodes of a pipeline, made from the sources up, without unused columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engine.sql.algebra import (
    Aggregate,
    Called,
    Computed,
    Filter,
    Join,
    Matched,
    Numbered,
    Over,
    Rank,
    Repeated,
    Scan,
    Select,
    Sorted,
    Union,
    Unnested,
    Values,
    Windowed,
)
from engine.sql.empty import Empty, Padded, Totals
from engine.sql.nodes.empty import empty, padded, totals
from engine.sql.nodes.groups import aggregate
from engine.sql.nodes.joins import join
from engine.sql.nodes.patterns import matched
from engine.sql.nodes.processing_time import Arrived
from engine.sql.nodes.ranks import rank
from engine.sql.nodes.rows import arrived, called, computed, filter_, repeated, scan, select, union, unnested, values
from engine.sql.nodes.windows import numbered, over, sorted_, windowed

MAKERS: Final[Mapping[type, Any]] = {
    Scan: scan,
    Values: values,
    Select: select,
    Filter: filter_,
    Union: union,
    Repeated: repeated,
    Unnested: unnested,
    Called: called,
    Arrived: arrived,
    Matched: matched,
    Computed: computed,
    Aggregate: aggregate,
    Windowed: windowed,
    Numbered: numbered,
    Rank: rank,
    Sorted: sorted_,
    Over: over,
    Join: join,
    Empty: empty,
    Padded: padded,
    Totals: totals,
}
