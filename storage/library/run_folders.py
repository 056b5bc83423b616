"""The folders beside a store that have files of its runs."""

from __future__ import annotations

from pathlib import Path


def state_folder(store: Path, run_id: int) -> Path:
    """The folder with a live run's state."""
    return store.absolute().parent / f"{store.stem}.live" / f"run_{run_id}"


def tests_folder(store: Path) -> Path:
    """The folder with the tests that runs were kept as."""
    return store.absolute().parent / f"{store.stem}.tests"


def recordings_folder(store: Path) -> Path:
    """The folder with the recordings of all runs."""
    return store.absolute().parent / f"{store.stem}.recordings"
