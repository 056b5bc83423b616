"""The meaning of a ranking's records: rows that enter, move, and fall past the last rank."""

from __future__ import annotations

from engine.contract.meaning import Emission, EmittedRecord, Meaning, of_result
from engine.model.changelog import RowKind


def of_ranking(emission: Emission, rank_end: int | None, rank_column: str | None) -> Meaning:
    """rank_end: the last rank, if there is one. rank_column: the column with the rank; None without one."""
    if rank_column is None or rank_column not in emission.names:
        return _unranked(emission, "the best rows" if rank_end is None else f"the best {rank_end}")
    place = emission.names.index(rank_column)

    def row_of(record: EmittedRecord) -> tuple[str, ...]:
        return tuple(repr(value) for at, value in enumerate(record.values) if at != place)

    record = emission.record
    rank = record.values[place]
    ranks = [
        other.values[place]
        for other in emission.others
        if row_of(other) == row_of(record) and other.adds is not record.adds
    ]
    if not ranks:
        if record.adds:
            return Meaning(f"rank {rank}: a row enters")
        gone = "falls past the last rank" if _is_pushed_out(emission) else "is gone"
        return Meaning(f"rank {rank}: the row that was there {gone}")
    before, after = (ranks[0], rank) if record.adds else (rank, ranks[0])
    if before == after:
        return Meaning(f"rank {rank}: the row stays, and is emitted again")
    is_down = isinstance(before, int) and isinstance(after, int) and after > before
    return Meaning(f"rank {before} → {after}: {'the incumbent moves down' if is_down else 'the row moves up'}")


def _is_pushed_out(emission: Emission) -> bool:
    """Whether at least as many records add rows as remove them: then a removed row was pushed out."""
    coming = sum(record.adds for record in emission.records)
    return len(emission.records) > 1 and 2 * coming >= len(emission.records)


def _unranked(emission: Emission, best: str) -> Meaning:
    if emission.partner is not None and emission.key:
        return of_result(emission)
    match emission.kind:
        case RowKind.INSERT:
            return Meaning(f"it is among {best} now")
        case RowKind.UPDATE_BEFORE:
            return Meaning("the row that was there is retracted")
        case RowKind.UPDATE_AFTER:
            return Meaning("the row that is there now")
        case _:
            return Meaning(f"it is no longer among {best}")
