"""Errors of workers and of Spark, as one sentence of one node.

Several nodes may share a job: the sources, or a step and its stateless followers. An error that one of them raises
carries the node's name through Spark's traceback.
"""

from __future__ import annotations

import json
import re
import tempfile
from typing import Final

from engine.errors import TooDeep, shortened
from engine.spark.conditions import explained, plain
from engine.spark.memory import HEAP_ENVIRONMENT

TRACEBACKS: Final = "CHANGELOG_STUDIO_TRACEBACKS"
"""If set, the command line prints the traceback of unexpected errors."""

_LOST_WORKER: Final = (
    r"Python worker (exited unexpectedly|failed to connect back)|reading the port number from \w+'s stdout"
)
# Messages of Spark, Java and the system, with an explanation for the user.
_KNOWN: Final = (
    (
        r"java\.lang\.OutOfMemoryError|GC overhead limit exceeded",
        f"Spark ran out of memory. Give it more with {HEAP_ENVIRONMENT}, or run the pipeline in more epochs.",
    ),
    (
        # What Spark does before it starts tasks, such as computing constants, ended by an error of Java's.
        r"RPC that terminated with:\s+status = StatusCode\.UNKNOWN",
        "Spark could not plan it: an expression of constants needs more memory or stack than there is. Simplify it.",
    ),
    (
        r"RPC that terminated with:\s+status = StatusCode\.DEADLINE_EXCEEDED",
        "the engine did not answer in time. Perhaps the machine has too much to do: run it again when it has less.",
    ),
    (
        r"java\.lang\.StackOverflowError",
        "a regular expression, or a nested value, needs more of Spark's stack than there is. Use a pattern without a "
        "choice in a repetition, such as [ab]* for (a|b)*, or shorter texts.",
    ),
    (
        r"java\.lang\.ArithmeticException|NegativeArraySizeException|Requested array size exceeds VM limit",
        "a value is larger than Spark can make it. Make a shorter text or list.",
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
        _LOST_WORKER,
        "a Spark worker ended unexpectedly, usually because the machine ran out of memory. Run the pipeline in "
        "more epochs, or with fewer cores.",
    ),
    (
        r"\b(date value|year -?\d+ is) out of range",
        "a date or a time lies outside the years 1 to 9999. Filter such rows before it is computed, or keep it as a "
        "text.",
    ),
)


class NodeFailed(Exception):
    """An error of a node in a job that several nodes share."""

    def __init__(self, node: str, error: Exception) -> None:
        super().__init__(f"{json.dumps(node)} {error}")
        self.node, self.error = node, error


def failing_node(error: Exception) -> str:
    """The node that an error of a job names; "" for none."""
    raised = _raised(error)
    return _told(*raised)[0] if raised else ""


def lost_worker(error: Exception) -> bool:
    """Whether a worker of Spark ended by itself, without an error of its own."""
    return re.search(_LOST_WORKER, str(error)) is not None


def reason_of(error: Exception) -> str:
    """The error of a worker, or the message of Spark, in one sentence."""
    if (sentence := _known(error)) is not None:
        return sentence
    raised = _raised(error)
    if raised:
        return _told(*raised)[1]
    return (explained(str(error)) or plain(str(error)))[:500]


def failure_sentence(error: Exception) -> str:
    """An error of a run that does not come from the studio, in one sentence."""
    return f"it failed while running: {reason_of(error)}"


def unexpected_sentence(error: Exception) -> str:
    """An unexpected error, in one sentence."""
    match error:
        case RecursionError():
            return str(TooDeep("what was given"))
        case MemoryError():
            return "there is no memory left. Close other programs, or use a smaller input."
        case OSError():
            return f"{error.filename or 'the output'} cannot be read or written: {error.strerror or error}."
    if (sentence := _known(error)) is not None:
        return sentence
    return (
        f"an unexpected error occurred: {type(error).__name__}: {shortened(reason_of(error))}. "
        f"{TRACEBACKS}=1 shows where."
    )


def _known(error: Exception) -> str | None:
    """The explanation of a lost engine, or of a known message."""
    from engine.spark.session import loss_of_any

    if (loss := loss_of_any(error)) is not None:
        return loss
    text = str(error)
    told = next((told for sign, told in _KNOWN if re.search(sign, text, re.MULTILINE)), None)
    return None if told is None else told.replace("{temporary}", _temporary())


def _temporary() -> str:
    """The temporary folder on this machine."""
    try:
        return f" ({tempfile.gettempdir()})"
    except OSError:
        # No candidate folder has room for even one file.
        return ""


def _raised(error: Exception) -> tuple[str, str] | None:
    """The type and the message of a worker's error."""
    matches = re.findall(r"^([A-Za-z_][\w.]*): (.+)$", str(error), re.MULTILINE)
    return matches[-1] if "Traceback" in str(error) and matches else None


def _told(name: str, message: str) -> tuple[str, str]:
    """The node, and its error."""
    if name.rpartition(".")[2] != NodeFailed.__name__:
        return "", message
    node, end = json.JSONDecoder().raw_decode(message)
    return str(node), message[end + 1 :]
