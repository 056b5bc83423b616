"""A pipeline with another state TTL."""

from __future__ import annotations

from engine.model.options import STATE_TTL
from engine.model.pipeline import Pipeline


def with_ttl(pipeline: Pipeline, ttl_ms: int) -> Pipeline:
    """The pipeline with one TTL for all of its state, of every operator and side; 0 for none."""
    options = {name: value for name, value in pipeline.options.items() if name != STATE_TTL.name}
    if ttl_ms:
        options[STATE_TTL.name] = f"{ttl_ms} ms"
    nodes = []
    for node in pipeline.nodes:
        own = {name: value for name, value in node.parameters.items() if not name.endswith("state_ttl_ms")}
        nodes.append(node.with_parameters(own))
    return pipeline.model_copy(update={"nodes": tuple(nodes), "options": options})
