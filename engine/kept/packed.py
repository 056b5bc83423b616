"""A kept test as a zip file, to be sent or taken to another studio."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from typing import Final
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

from engine.errors import PipelineError
from engine.kept.kept_test import EXPECTED, SOURCES, SQL, KeptTest
from engine.kept.manifest import FILE, PIPELINE
from engine.reading.files.archives import SPOILT

_NAME: Final = re.compile(rf"(?:{FILE}|{PIPELINE}|{SQL}|(?:{SOURCES}|{EXPECTED})/[^/\\]+\.jsonl)")
_LARGEST: Final = 64 << 20


def packed(test: KeptTest) -> bytes:
    """The zip of a test."""
    written = io.BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        for file in sorted(test.folder.rglob("*")):
            name = file.relative_to(test.folder).as_posix()
            if _NAME.fullmatch(name):
                archive.write(file, name)
    return written.getvalue()


def unpacked(data: bytes, folder: Path) -> KeptTest:
    """Write the test of a zip as a new folder. Raises PipelineError: it is none, or too large."""
    staging = folder.with_name(f".{folder.name}.{uuid4().hex}")
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            files = [member for member in archive.infolist() if _NAME.fullmatch(member.filename)]
            if sum(member.file_size for member in files) > _LARGEST:
                message = f"the test in this file is larger than {_LARGEST >> 20} MB."
                raise PipelineError(message)
            for member in files:
                target = staging / member.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(member))
        test = KeptTest.in_folder(staging)
        if test.manifest.pipeline != PIPELINE:
            message = "the test in this file has its pipeline elsewhere. Import one that has its own."
            raise PipelineError(message)
        staging.rename(folder)
    except SPOILT as error:
        message = "this file is no zip of a kept test."
        raise PipelineError(message) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return KeptTest.in_folder(folder)
