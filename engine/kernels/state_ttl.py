"""The state TTL of Flink's options.

There is no clock here by which state could expire, but the option shows all the same: an operator that may
have forgotten a row emits what did not change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

OPTION: Final = "table.exec.state.ttl"


def has_state_ttl(options: Mapping[str, str]) -> bool:
    """Whether a time to live above zero is set, as in `1 h` or `36000 ms`."""
    found = re.match(r"\s*(\d+)", options.get(OPTION, ""))
    return found is not None and int(found[1]) > 0
