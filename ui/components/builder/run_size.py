"""What a bounded run of the pipeline will take: told before it starts, with a warning if a disk will not hold it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final

import streamlit as st

from engine.errors import StudioError
from engine.local.run_size import RunSize
from engine.model.pipeline import Pipeline
from engine.spark.engines import Engine
from engine.spark.server_command import cores_of
from ui.builder.previewing import size_of
from ui.components.beat import beat
from ui.engines.chosen import chosen
from ui.engines.known import engine_of, master_of
from ui.shell import workspace
from ui.shell.guard import guarded_fragment

_AT_ONCE_S: Final = 0.05
_LOOK_AGAIN_MS: Final = 500


def size_of_run(pipeline: Pipeline) -> None:
    """Draw what a run will take, if that is much."""
    _when_known(pipeline, _say, "run-size")


def room_for_run(pipeline: Pipeline) -> None:
    """Draw a warning if a disk will not hold it."""
    _when_known(pipeline, _warn, "run-room")


def _when_known(pipeline: Pipeline, draw: Callable[[RunSize], None], key: str) -> None:
    size = size_of(pipeline)
    if size is not None:
        wait([size], _AT_ONCE_S)
        _arriving(size, draw, key)


@guarded_fragment()
def _arriving(size: Future[RunSize], draw: Callable[[RunSize], None], key: str) -> None:
    """Draw it once it is computed; nothing else is redrawn."""
    if size.cancelled():
        # It was dropped before it started, to make room for newer ones: the page asks again.
        st.rerun()
    if not size.done():
        beat(_LOOK_AGAIN_MS, key=f"{key}-beat")
        return
    try:
        run_size = size.result()
    except StudioError:
        # The preview says what is wrong with the rows.
        return
    if run_size.is_told:
        draw(run_size)


def _say(size: RunSize) -> None:
    engine = _engine()
    st.caption(size.sentence(cores_of(engine.address) if engine.address.startswith("local") else None))


def _warn(size: RunSize) -> None:
    place = workspace.folder()
    if sentence := size.shortage(place, None if _engine().workspace else place):
        st.warning(sentence, icon=":material/hard_drive:")


def _engine() -> Engine:
    return engine_of(master_of(chosen()))
