"""Zip files: the files in one, and what reading one can raise."""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import IO, Final
from zipfile import BadZipFile, ZipFile

from engine.errors import PipelineError
from engine.reading.files.storage import ending_of

SPOILT: Final = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
"""If the file is spoilt, encrypted, or packed in a way that Python does not know."""
_MOST_FILES: Final = 20
_MOST_BYTES: Final = 4 << 30


def unzipped(stream: IO[bytes], name: str, endings: Collection[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """The files in a zip file that have one of the endings, by name; of any other file, the file itself.

    Each can be read until the next one is asked for. Raises PipelineError.
    """
    if PurePosixPath(name).suffix.lower() != ".zip":
        yield name, stream
        return
    try:
        with ZipFile(stream) as archive:
            held = [file for file in archive.infolist() if ending_of(file.filename) in endings and not file.is_dir()]
            # A Mac adds one to each file.
            held = [file for file in held if not file.filename.startswith("__MACOSX/")]
            if not held:
                message = f"{name} holds no file that ends in {', '.join(sorted(endings))}; drop another file."
                raise PipelineError(message)
            if len(held) > _MOST_FILES:
                message = f"{name} holds {len(held)} files, and {_MOST_FILES} are the most; unpack it, and drop some."
                raise PipelineError(message)
            if sum(file.file_size for file in held) > _MOST_BYTES:
                message = f"{name} holds more than {_MOST_BYTES >> 30} GB; unpack it, and give the path of a file."
                raise PipelineError(message)
            for file in sorted(held, key=lambda file: file.filename):
                with tempfile.TemporaryFile() as copy, archive.open(file) as packed:
                    shutil.copyfileobj(packed, copy)
                    copy.seek(0)
                    yield PurePosixPath(file.filename).name, copy
    except SPOILT as error:
        message = f"{name} cannot be unpacked: {error}. Unpack it yourself, and drop what it holds."
        raise PipelineError(message) from error
