"""What kernels say in the local time of a zone, as instants: output, late records, fired windows.

A kernel of windows over instants knows no zone: it is given local times, and the watermark in local time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from engine.contract.columnar_kernel import Fired, Longs
from engine.model.timeline import Timeline
from engine.model.zones import Zone


@dataclass(frozen=True)
class LocalTimes:
    """The output of a step in a zone. columns: the places of output columns that are instants; the others stay local.

    instants: loads the watermark of the operator, not in local time.
    """

    zone: Zone
    columns: tuple[int, ...]
    instants: Callable[[], Timeline]

    def outputs(self, columns: Sequence[Any]) -> list[Any]:
        """The output columns. Times are BIGINT microseconds."""
        return [self._micros(column) if at in self.columns else column for at, column in enumerate(columns)]

    def _micros(self, local: Any) -> pa.Array:
        micros = (local if isinstance(local, pa.Array) else pa.array(local, pa.int64())).cast(pa.int64())
        longs: Longs = micros.fill_null(0).to_numpy(zero_copy_only=False)
        local_ms, rest = np.divmod(longs, 1000)
        return pa.array(self.zone.instants_ms(local_ms) * 1000 + rest, mask=micros.is_null().to_numpy(False))

    def lates(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """The columns of late records, from `seq` on (`engine.contract.frames.late_schema`)."""
        seqs, steps, times, starts, ends, marks, lateness, *rest = columns
        has_window = starts.is_valid().to_numpy(zero_copy_only=False)
        windows = self.zone.windows_ms(_longs(starts), _longs(ends))
        watermarks = self.instants().before(_longs(seqs))
        missed = self.zone.timers_ms(_longs(marks) - _longs(lateness))
        return [
            seqs,
            steps,
            pa.array(self.zone.instants_ms(_longs(times))),
            *(pa.array(bounds, mask=~has_window) for bounds in windows),
            pa.array(watermarks),
            pa.array(watermarks - missed),
            *rest,
        ]

    def fired(self, windows: Fired) -> Fired:
        """The windows that fired."""
        return Fired(windows.seqs, *self.zone.windows_ms(windows.starts_ms, windows.ends_ms))


def _longs(values: pa.Array) -> Longs:
    longs: Longs = values.fill_null(0).to_numpy(zero_copy_only=False)
    return longs
