"""Files of lines that grow, and folders that get new files: the byte ranges that a live run takes of them.

    position   {"files": {name: [at, inode, print]}}: how far each file has been read, and its fingerprint
    what       [[path, name, start, end], ...]: byte ranges of whole lines, in the order of the files' names

A last line counts once its line end is written. A file whose size or time of modification has changed is the same as
before if the bytes at both ends of the part already read are; otherwise it was rewritten, and is read from its start. A
renamed file (rotation) is read to its end first. Compressed files are read once, whole.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, NamedTuple, Protocol

import numpy as np

from engine.contract.scan import Scan
from engine.contract.stream import Json, Limit, Stopping, Taken, never
from engine.errors import SourceError
from engine.reading.files.input_files import InputFile
from engine.reading.files.storage import is_packed
from engine.reading.files.text_files import TextPart, ranges_of

_BLOCK: Final = 1 << 20
_NEWLINE: Final = 10
# The number of bytes at the start and the end of the part already read that identify a file.
_HEAD: Final = 1024
_TAIL: Final = 256
_IF_DELETED: Final = " If they were deleted for good, put a file of the same name without rows in their place."
_SHOWN: Final = 3


class Known(NamedTuple):
    """A file that has been read. at: the offset reached; print: the fingerprint of that part."""

    at: int
    inode: int
    print: str


class Watched(Protocol):
    """The source whose files are watched. files_go: deleted files never come back, and can be forgotten."""

    files_go: ClassVar[bool]

    def files(self, node: str, folder: Path) -> Sequence[InputFile]:
        """The files that exist now, by name. Raises SourceError."""

    def scan(self, node: str, folder: Path) -> Scan | None:
        """How the files are read now. Raises SourceError."""


@dataclass
class _Taking:
    """The result of one poll. left: how much more it may take. waiting: bytes that are left for the next poll.

    compared_ns: by name, the time of modification of the files that were compared with their fingerprints. away: known
    files that are not there, so it is not known whether they have been read to their end.
    """

    left: Limit
    quote: bytes
    ending: bool
    parts: list[TextPart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting: int = 0
    compared_ns: dict[str, int] = field(default_factory=dict)
    away: list[str] = field(default_factory=list)

    def take(self, path: Path, name: str, start: int, *, to_the_end: bool = False) -> int:
        """Take whole lines of a file; returns their end. to_the_end: also a last line without a line end."""
        size = path.stat().st_size
        if start >= size:
            return start
        with path.open("rb") as stream:
            end, lines, is_cut = _whole_lines(stream, start, size, self.left, self.quote)
            if not is_cut and to_the_end:
                end = size
        self.parts += ranges_of(str(path), name, start, end, whole=bool(self.quote))
        self.left = Limit(self.left.records - lines, self.left.bytes - (end - start))
        if is_cut:
            # The rest of this file comes before the next file.
            self.left = Limit(0, 0)
            self.waiting += size - end
        elif end < size:
            self.notes.append(f"{name}: its last line is not complete yet; it is read once it ends with a line break.")
        return end


@dataclass
class GrowingFiles:
    """The files of a source. scan: how they are read; quote: the quote within which fields may hold line breaks."""

    source: Watched
    node: str
    folder: Path
    scan: Scan
    interval_ms: int
    quote: bytes = b""
    _looked_ms: int | None = field(default=None)
    # By name: the time of modification when the file was last compared with its fingerprint.
    _compared_ns: dict[str, int] = field(default_factory=dict)

    def poll(
        self, position: Json, limit: Limit, now_ms: int, *, ending: bool = False, is_stopping: Stopping = never
    ) -> Taken:
        """The lines added since the last poll. Raises SourceError on the first poll and on the last one."""
        if not ending and self._looked_ms is not None and now_ms - self._looked_ms < self.interval_ms:
            return Taken(None, position)
        known_files = {name: Known(*values) for name, values in (position or {"files": {}})["files"].items()}
        try:
            files = self.source.files(self.node, self.folder)
        except SourceError as error:
            if position is None:
                raise
            if ending:
                raise self._no_end(error.sentence, _IF_DELETED) from error
            # The file may come back.
            self._looked_ms = now_ms
            return Taken(None, position, notes=(error.sentence,))
        if ending and known_files and not files and not self.source.files_go:
            # A folder that is away for a moment looks the same as files that were deleted.
            trouble = "none of its files is there."
            raise self._no_end(trouble, _IF_DELETED)
        taking = _Taking(limit, self.quote, ending)
        try:
            after = self._taken(files, known_files, taking)
        except (OSError, SourceError) as error:
            if isinstance(error, OSError):
                trouble = f"{error.filename} cannot be read: {error.strerror}."
            elif isinstance(error.__cause__, OSError) and position is not None:
                # So it is where the header of a file is looked at.
                trouble = error.sentence
            else:
                raise
            if ending:
                raise self._no_end(trouble) from error
            self._looked_ms = now_ms
            return Taken(None, position, notes=(trouble,))
        if ending and taking.away:
            more = f" and {len(taking.away) - _SHOWN} more" if len(taking.away) > _SHOWN else ""
            trouble = f"{', '.join(taking.away[:_SHOWN])}{more}: not there, although read before."
            raise self._no_end(trouble, _IF_DELETED)
        # Only now: after an error, the next poll has to notice again which files were rewritten.
        self._compared_ns |= taking.compared_ns
        # The next poll takes the rest, without waiting.
        self._looked_ms = None if taking.waiting else now_ms
        behind = f"{taking.waiting:,} bytes" if taking.waiting else ""
        what = [list(part) for part in taking.parts] or None
        return Taken(what, {"files": after}, behind=behind, notes=taking.notes)

    def read(self, what: Json) -> Scan:
        """The parts of these ranges."""
        return replace(self.scan, parts=tuple(TextPart(*part) for part in what))

    def close(self) -> None:
        """Nothing is open."""

    def _no_end(self, trouble: str, otherwise: str = "") -> SourceError:
        """The error of the last poll: a finished run must not lack lines that were there."""
        message = f"{trouble} The source cannot end before it is read; resume the run then.{otherwise}"
        return SourceError(message, self.node)

    def _taken(self, files: Sequence[InputFile], known: dict[str, Known], taking: _Taking) -> dict[str, Known]:
        there = {file.name: file for file in files}
        if self.source.files_go:
            known = {name: read for name, read in known.items() if name in there}
        inodes = {name: os.stat(file.path).st_ino for name, file in there.items()}
        _renamed(there, inodes, known)
        rotated = set()
        for name, read in [*known.items()]:
            if inodes.get(name) != read.inode and (rest := self._rest(there.get(name), name, read, inodes, taking)):
                rotated.add(name)
                if name not in there:
                    known[name] = rest
            elif name not in there and read.print:
                taking.away.append(name)
        after = dict(known)
        for name in sorted(there):
            path = Path(there[name].path)
            before: Known | None = known.get(name)
            if is_packed(str(path)):
                after[name] = before or self._whole(path, name, taking)
                continue
            at = 0 if before is None else before.at
            status = path.stat()
            size, is_touched = status.st_size, self._compared_ns.get(name) != status.st_mtime_ns
            is_other = before is not None and (is_touched or size != at or inodes[name] != before.inode)
            if before is not None and is_other and _print(path, at) != before.print:
                if name not in rotated:
                    taking.notes.append(
                        f"{name}: it was truncated or rewritten after {at:,} bytes of it had been read; it is read "
                        "from its start."
                    )
                before, at = None, 0
            taking.compared_ns[name] = status.st_mtime_ns
            exhausted = taking.left.records <= 0 or taking.left.bytes <= 0
            if exhausted:
                taking.waiting += max(0, size - at)
                end = at
            else:
                end = taking.take(path, name, at, to_the_end=taking.ending)
                if at == 0 < end:
                    # The header may have changed, or may be the first one seen.
                    scan = self.source.scan(self.node, self.folder)
                    assert scan is not None
                    self.scan = scan
            after[name] = (
                before
                if before is not None and (end, inodes[name]) == before[:2]
                else Known(end, inodes[name], _print(path, end))
            )
        return after

    def _whole(self, path: Path, name: str, taking: _Taking) -> Known:
        taking.parts.append(TextPart(str(path), name, 0, None))
        status = path.stat()
        return Known(status.st_size, status.st_ino, "")

    def _rest(
        self, file: InputFile | None, name: str, before: Known, inodes: Mapping[str, int], taking: _Taking
    ) -> Known | None:
        """Take the unread rest of a file that was renamed, and no longer belongs to the source."""
        place = Path(file.path).parent if file is not None else (self.folder.absolute() / name).parent
        if not place.is_dir() or not before.print or before.inode in inodes.values():
            return None
        for path in sorted(place.iterdir()):
            is_it = path.is_file() and path.stat().st_ino == before.inode
            if is_it and _print(path, before.at) == before.print:
                if path.stat().st_size == before.at:
                    return before
                taking.notes.append(f"{name}: it was renamed to {path.name}; the rest was read from there.")
                # To the end: this file is not visited again.
                limit, taking.left = taking.left, Limit(1 << 60, 1 << 60)
                end = taking.take(path, path.name, before.at, to_the_end=True)
                taking.left = limit
                return Known(end, before.inode, _print(path, end))
        return None


def _renamed(there: Mapping[str, InputFile], inodes: Mapping[str, int], known: dict[str, Known]) -> None:
    """Carry over the positions of files that were renamed within the source."""
    for new in sorted(set(there) - set(known)):
        for old, before in list(known.items()):
            is_gone = inodes.get(old) != before.inode
            if is_gone and before.inode == inodes[new] and _print(Path(there[new].path), before.at) == before.print:
                known[new] = known.pop(old)
                break


def _print(path: Path, at: int) -> str:
    """The fingerprint of a file's first `at` bytes; a different text if the file is shorter."""
    if path.stat().st_size < at:
        return "shorter"
    with path.open("rb") as stream:
        head = stream.read(min(at, _HEAD))
        stream.seek(max(0, at - _TAIL))
        return hashlib.blake2b(head + stream.read(min(at, _TAIL)), digest_size=8).hexdigest()


def _whole_lines(stream: BinaryIO, start: int, size: int, limit: Limit, quote: bytes) -> tuple[int, int, bool]:
    """The end of the whole lines from `start` on, within the limit; their number; whether more lines may follow.

    At least one is taken.
    """
    end, lines, at, is_open = start, 0, start, 0
    stream.seek(start)
    while at < size and lines < limit.records and (at - start < limit.bytes or not lines):
        room = limit.bytes - (at - start)
        block = np.frombuffer(stream.read(min(_BLOCK, size - at, room if room > 0 else _BLOCK)), np.uint8)
        if not len(block):
            break
        ends = np.flatnonzero(block == _NEWLINE)
        if quote:
            # A line break inside quotes does not end a line.
            quotes = np.cumsum(block == quote[0]) + is_open
            ends = ends[quotes[ends] % 2 == 0]
            is_open = int(quotes[-1] % 2)
        if len(ends) > limit.records - lines:
            ends = ends[: limit.records - lines]
            return at + int(ends[-1]) + 1, limit.records, True
        if len(ends):
            lines += len(ends)
            end = at + int(ends[-1]) + 1
        at += len(block)
    return end, lines, at < size
