"""The places that live runs of a shared studio may write to: CHANGELOG_STUDIO_TARGETS.

    /srv/results, s3://results/studio, db.example.com:5432, *.kafka.example.com:9092

A comma-separated list of folders, URI prefixes and servers. A shared studio, whose folders are named, writes nowhere
else; without the variable, nowhere. A studio of one person writes wherever its user may.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from engine.errors import PipelineError, shortened
from engine.reading.files.named_folders import ENVIRONMENT as FOLDERS
from engine.reading.files.named_folders import may_be_read
from engine.reading.servers.named_servers import ENVIRONMENT as ADDRESSES
from engine.reading.servers.named_servers import may_be_contacted

TARGETS: Final = "CHANGELOG_STUDIO_TARGETS"


def require_folder(place: Path | str, node: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise PipelineError for a folder, or a URI (a text), that may not be written to."""
    if FOLDERS in environ and not may_be_read(place, {FOLDERS: environ.get(TARGETS, "")}):
        raise PipelineError(_refused("folder", str(place)), node, "folder")


def require_server(host: str, port: int, node: str, field: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise PipelineError for a server that may not be written to. One that is listed need not be a source's, too."""
    if may_be_contacted(host, port, {ADDRESSES: environ.get(TARGETS, "")}):
        return
    if FOLDERS in environ or not may_be_contacted(host, port, environ):
        raise PipelineError(_refused(field, f"{host}:{port}"), node, field)


def _refused(field: str, place: str) -> str:
    return (
        f"{field}: {shortened(place)} is none of the places that live runs of this studio write to. Ask whoever runs "
        f"it to name it in {TARGETS}."
    )
