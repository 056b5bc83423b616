"""The archive of the classes that Spark's JVM loads, from which the next start loads them preprocessed.

Loading, verifying and linking some 20,000 classes is most of a start and of a first run. The JVM can store them in a
file of about 200 MB in the user's cache folder: AppCDS on Java 17 to 24, the AOT cache on 25 (JEP 483, 514, 515).
CPU seconds of the whole process tree to the session / in the first run after it, on Java 17, one run each on a
machine with other load: 12.0 / 20.8 without the archive, 5.6 / 16.0 with it.

An archive is valid for one build of Java, one set of jars and one set of flags: its name has a digest of them. It is
optional: if it or its folder is unusable, Spark starts without it. The environment variable
CHANGELOG_STUDIO_ARCHIVE=off disables it; an absolute path there is the folder of the archives.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = "CHANGELOG_STUDIO_ARCHIVE"
# The JVM prints warnings, such as one for a rejected archive, to standard output, which has the changelog.
QUIET: Final = ("-Xlog:disable", "-Xlog:all=warning:stderr", "-XX:+DisplayVMOutputToStderr")
_KEPT: Final = 2
_ROOM_BYTES: Final = 1 << 30
_RETRY_S: Final = 7 * 24 * 3600
_VERSION: Final = re.compile(r'^JAVA_VERSION="?(\d+)', re.MULTILINE)


@dataclass(frozen=True)
class ClassArchive:
    """The one archive for a Java, a Spark and the flags. It may not exist."""

    path: Path
    is_aot: bool

    def to_read(self) -> list[str]:
        """The JVM's options that use it; none if it does not exist. The JVM checks it, and may reject it."""
        if not self.path.is_file():
            return []
        # The time of the last use, by which the oldest are removed.
        with contextlib.suppress(OSError):
            os.utime(self.path)
        return [f"-XX:AOTCache={self.path}" if self.is_aot else f"-XX:SharedArchiveFile={self.path}"]

    def to_write(self, draft: Path) -> list[str]:
        """The JVM's options that write one when the JVM ends."""
        return [f"-XX:AOTCacheOutput={draft}" if self.is_aot else f"-XX:ArchiveClassesAtExit={draft}"]

    def is_wanted(self) -> bool:
        """True if an attempt makes sense: no archive, enough room, and no attempt within the last week."""
        try:
            if self.path.exists() or time.time() - self._note.stat().st_mtime < _RETRY_S:
                return False
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return self._has_room()

    @contextmanager
    def draft(self) -> Iterator[Path | None]:
        """A draft's path, for one process at a time; None if another process has it. Remaining drafts are removed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("a") as lock:
            try:
                # The lock ends with the process, even if it is killed.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield None
                return
            draft = self.path.with_suffix(".draft")
            self._remove_drafts(draft)
            try:
                yield draft
            finally:
                self._remove_drafts(draft)

    def adopt(self, draft: Path) -> None:
        """Move a complete archive into place, and remove the least recently used ones. Raises OSError."""
        with draft.open("rb") as written:
            # If it were moved before its content is on disk, a power failure could leave zeros under a valid name.
            os.fsync(written.fileno())
        draft.replace(self.path)
        self._note.unlink(missing_ok=True)
        archives = sorted(
            self.path.parent.glob("classes-*.archive"), key=lambda file: file.stat().st_mtime, reverse=True
        )
        for old in [file for file in archives if file != self.path][_KEPT - 1 :]:
            for file in (old, old.with_suffix(".lock"), old.with_suffix(".failed")):
                file.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove it, and note the failure, so that it is not created again on every start."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._note.touch()

    @property
    def _note(self) -> Path:
        return self.path.with_suffix(".failed")

    def _has_room(self) -> bool:
        folder = next(folder for folder in self.path.parents if folder.exists())
        return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > _ROOM_BYTES

    @staticmethod
    def _remove_drafts(draft: Path) -> None:
        # Java 25 writes a second file beside it, with another suffix.
        for file in draft.parent.glob(f"{draft.name}*"):
            with contextlib.suppress(OSError):
                file.unlink()


def class_archive(
    java_home: Path, flags: Sequence[str], cache: Path, environ: Mapping[str, str] = os.environ
) -> ClassArchive | None:
    """The archive for this Java with these flags; None if it is impossible, or disabled by the user."""
    chosen = environ.get(ENVIRONMENT, "")
    if chosen.lower() in ("off", "0", "no", "false"):
        return None
    folder = Path(chosen) if Path(chosen).is_absolute() else cache
    from pyspark import __version__, find_spark_home

    try:
        release = (java_home / "release").resolve(strict=True)
        built = release.read_text(encoding="utf-8", errors="replace")
        jars = Path(find_spark_home._find_spark_home()) / "jars"
        # The JVM compares name, size and time of every jar: an archive of another installation is useless to it.
        newest = max(jar.stat().st_mtime_ns for jar in jars.iterdir())
        facts = [str(release), str(release.stat().st_mtime_ns), built, str(jars), str(newest), *flags]
    except (OSError, ValueError):
        return None
    if (version := _VERSION.search(built)) is None:
        return None
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    name = f"classes-spark{__version__}-java{version[1]}-{digest}.archive"
    return ClassArchive(folder / name, int(version[1]) >= 25)
