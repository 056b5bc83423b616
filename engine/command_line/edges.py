"""The edge that a command shows or writes: `--edge NODE` or `--edge NODE.PORT`, by default the only sink's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.contract.operator import OUT
from engine.errors import PipelineError, unknown_name


def chosen_edge(wanted: str | None, outputs: Mapping[str, Sequence[str]], sinks: Sequence[str]) -> tuple[str, str]:
    """The node and port. outputs: the output ports by node. Raises PipelineError."""
    if wanted is None:
        if len(sinks) != 1:
            message = f"there are {len(sinks)} sinks; choose an output with --edge: {', '.join(outputs)}."
            raise PipelineError(message)
        return sinks[0], OUT
    named = {f"{node}.{port}": (node, port) for node, ports in outputs.items() for port in ports}
    named |= {node: (node, OUT) for node in outputs}
    if wanted in named:
        return named[wanted]
    name, _, port = wanted.partition(".")
    if name in outputs:
        message = f"{name}: {unknown_name('output', port, outputs[name])}."
    else:
        message = f"{unknown_name('node', name, outputs)}."
    raise PipelineError(message)
