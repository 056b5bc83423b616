"""Names of tables and views as ids of nodes."""

from __future__ import annotations

import re
from typing import Final

from engine.model.free_names import LONGEST_ID, free_id
from engine.sql.nodes.emitter import Emitter

_ID: Final = re.compile(r"[^A-Za-z0-9_ -]")


def node_id(name: str, emitter: Emitter) -> str:
    """A name as a free node id: characters other than letters, digits, blanks, _ and - become _."""
    return free_id(node_id_of(name), [node.id for node in emitter.nodes])


def node_id_of(name: str) -> str:
    """A name as a node id, which may be taken. A long name is cut off."""
    wanted = _ID.sub("_", name)
    wanted = wanted if wanted[:1].isascii() and wanted[:1].isalpha() else f"t{wanted}"
    return wanted[:LONGEST_ID]
