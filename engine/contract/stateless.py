"""The base of kernels that keep nothing."""

from __future__ import annotations

from typing import Any

from engine.contract.kernel import Kernel, Key
from engine.contract.state_in_words import Description, Names


class StatelessKernel(Kernel):
    """A kernel that keeps nothing from one record to the next."""

    def start(self, key: Key, state: Any | None) -> None:
        """There is no state."""

    def finish(self) -> Any | None:
        """Nothing is kept."""
        return None

    def describe(self, names: Names) -> Description:
        """Nothing is kept."""
        return ()
