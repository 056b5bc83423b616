"""What reading a zip file can raise if the file is spoilt, encrypted, or packed in a way that Python does not know."""

from __future__ import annotations

import zlib
from typing import Final
from zipfile import BadZipFile

SPOILT: Final = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
