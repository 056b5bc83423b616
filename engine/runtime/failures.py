"""Errors of workers and of Spark, as one sentence of one node.

Several nodes may share a job: the sources, or a step and the stateless ones that follow it. What one of them raises
carries the node's name through Spark's traceback.
"""

from __future__ import annotations

import json
import re
import tempfile
from typing import Final

from engine.errors import TooDeep, shortened
from engine.spark.memory import HEAP_ENVIRONMENT

TRACEBACKS: Final = "CHANGELOG_STUDIO_TRACEBACKS"
"""Set, the command line shows where an error comes from that nobody expected."""

# What Spark, Java and the system say, and what it means for whoever runs a pipeline.
_KNOWN: Final = (
    (
        r"java\.lang\.OutOfMemoryError|GC overhead limit exceeded",
        f"Spark ran out of memory. Give it more with {HEAP_ENVIRONMENT}, or run the pipeline in more epochs.",
    ),
    (
        r"^(?:[\w.]+\.)?\w*MemoryError\b|std::bad_alloc",
        "a worker ran out of memory. Run the pipeline in more epochs, with fewer cores, or with smaller windows.",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "the disk is full. Make room beside the store and in the folder of temporary files{temporary}, or set TMPDIR "
        "to another.",
    ),
    (
        r"Python worker (exited unexpectedly|failed to connect back)|reading the port number from \w+'s stdout",
        "a Spark worker ended unexpectedly, usually because the machine ran out of memory. Run the pipeline in "
        "more epochs, or with fewer cores.",
    ),
)


class NodeFailed(Exception):
    """What a node raised in a job that it shares with others."""

    def __init__(self, node: str, error: Exception) -> None:
        super().__init__(f"{json.dumps(node)} {error}")


def failing_node(error: Exception) -> str:
    """The node that an error of a job names; "" where it names none."""
    raised = _raised(error)
    return _told(*raised)[0] if raised else ""


def reason_of(error: Exception) -> str:
    """What a worker raised, or what Spark says, in one sentence."""
    from engine.spark.analyzer import sentence_of

    if (known := _known(str(error))) is not None:
        return known
    raised = _raised(error)
    return _told(*raised)[1] if raised else sentence_of(error)[:500]


def failure_sentence(error: Exception) -> str:
    """A foreign error of a run in one sentence."""
    return f"it failed while running: {reason_of(error)}"


def unexpected_sentence(error: Exception) -> str:
    """An error that nobody expected, in one sentence."""
    match error:
        case RecursionError():
            return str(TooDeep("what was given"))
        case MemoryError():
            return "there is no memory left. Close other programs, or use a smaller input."
        case OSError():
            return f"{error.filename or 'the output'} cannot be read or written: {error.strerror or error}."
    if (known := _known(str(error))) is not None:
        return known
    return (
        f"an unexpected error occurred: {type(error).__name__}: {shortened(reason_of(error))}. "
        f"{TRACEBACKS}=1 shows where."
    )


def _known(text: str) -> str | None:
    """What is meant, where it is known."""
    told = next((told for sign, told in _KNOWN if re.search(sign, text, re.MULTILINE)), None)
    return None if told is None else told.replace("{temporary}", _temporary())


def _temporary() -> str:
    """Which folder is meant on this machine."""
    try:
        return f" ({tempfile.gettempdir()})"
    except OSError:
        # None has room for a single file.
        return ""


def _raised(error: Exception) -> tuple[str, str] | None:
    """The type and the message of what a worker raised."""
    matches = re.findall(r"^([A-Za-z_][\w.]*): (.+)$", str(error), re.MULTILINE)
    return matches[-1] if "Traceback" in str(error) and matches else None


def _told(name: str, message: str) -> tuple[str, str]:
    """The node, and what it raised."""
    if name.rpartition(".")[2] != NodeFailed.__name__:
        return "", message
    node, end = json.JSONDecoder().raw_decode(message)
    return str(node), message[end + 1 :]
