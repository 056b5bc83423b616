"""Errors of workers and of Spark, as one sentence of one node.

Several nodes may share a job: the sources, or a step and the stateless ones that follow it. What one of them raises
carries the node's name through Spark's traceback.
"""

from __future__ import annotations

import json
import re


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

    raised = _raised(error)
    return _told(*raised)[1] if raised else sentence_of(error)[:500]


def failure_sentence(error: Exception) -> str:
    """A foreign error of a run in one sentence."""
    return f"it failed while running: {reason_of(error)}"


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
