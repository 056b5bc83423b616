"""Variants of a run with one change, for comparison: in mini-batch, or with retraction switched off.

A variant is identified by its document, so that it is run only once and is found again after a reload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.model.options import BUNDLE_SIZE, LATENCY, MINI_BATCH, RETRACTION
from engine.model.pipeline import Pipeline

_LATENCY: Final = "1 s"


def in_mini_batch(pipeline: Pipeline, size: int) -> Pipeline:
    """The pipeline in mini-batch with bundles of `size` records. If it has a latency, that one is kept."""
    latency = pipeline.options.get(LATENCY.name, _LATENCY)
    name = f"{pipeline.name}, mini-batch of {size:,}"
    return with_options(pipeline, name, {MINI_BATCH.name: "true", BUNDLE_SIZE.name: str(size), LATENCY.name: latency})


def without_retraction(pipeline: Pipeline) -> Pipeline:
    """The pipeline with retraction switched off."""
    return with_options(pipeline, f"{pipeline.name}, retraction off", {RETRACTION.name: "false"})


def with_options(pipeline: Pipeline, name: str, options: Mapping[str, str]) -> Pipeline:
    """The same pipeline with these options and another name."""
    return pipeline.model_copy(update={"name": name, "options": {**pipeline.options, **options}})
