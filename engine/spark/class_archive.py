"""The archive of the classes that Spark's JVM loads, from which the next start takes them ready-made.

Loading, verifying and linking some 20,000 classes is most of a start and of a first run. The JVM can keep them in a
file: AppCDS on Java 17 to 24, on 25 the AOT cache (JEP 483, 514, 515), each about 200 MB, in the user's cache folder.
CPU seconds of the whole process tree to the session / in the first run after it, on Java 17, one run each on a machine
that was not quiet: 12.0 / 20.8 without, 5.6 / 16.0 with it.

An archive is good for one build of Java, one set of jars and one set of flags: its name has a digest of them. It is a
gain and never a condition: whatever is wrong with it or its folder, Spark starts without. The environment variable
CHANGELOG_STUDIO_ARCHIVE=off switches it off; an absolute path there is the folder of the archives.
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
# The JVM prints its warnings, and there is one where it declines an archive, to standard output: that is our changelog.
QUIET: Final = ("-Xlog:disable", "-Xlog:all=warning:stderr", "-XX:+DisplayVMOutputToStderr")
_KEPT: Final = 2
_ROOM_BYTES: Final = 1 << 30
_RETRY_S: Final = 7 * 24 * 3600
_VERSION: Final = re.compile(r'^JAVA_VERSION="?(\d+)', re.MULTILINE)


@dataclass(frozen=True)
class ClassArchive:
    """The one archive that fits a Java, a Spark and the flags. Whether it exists is another question."""

    path: Path
    is_aot: bool

    def to_read(self) -> list[str]:
        """The JVM's options that use it; none where it is not there. The JVM looks whether it fits, and may decline."""
        if not self.path.is_file():
            return []
        # The time of the last use: by it the oldest are removed.
        with contextlib.suppress(OSError):
            os.utime(self.path)
        return [f"-XX:AOTCache={self.path}" if self.is_aot else f"-XX:SharedArchiveFile={self.path}"]

    def to_write(self, draft: Path) -> list[str]:
        """The JVM's options that write one when it ends."""
        return [f"-XX:AOTCacheOutput={draft}" if self.is_aot else f"-XX:ArchiveClassesAtExit={draft}"]

    def is_wanted(self) -> bool:
        """True where making one is worth a try: there is none, there is room, and the last try is a week ago."""
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
        """A name to write it to, for one process at a time; None where another one does. What is left is removed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("a") as lock:
            try:
                # The lock ends with the process, however that ends.
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
        """Move a complete archive into place, and remove those that were not used for longest. Raises OSError."""
        with draft.open("rb") as written:
            # Moved before its content is on the disk, a loss of power leaves a file of zeros under a good name.
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
        """Take it away, and note that it failed: it is not made again on every start."""
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
    """The archive for this Java with these flags; None where there can be none, or the user wants none."""
    chosen = environ.get(ENVIRONMENT, "")
    if chosen.lower() in ("off", "0", "no", "false"):
        return None
    folder = Path(chosen) if Path(chosen).is_absolute() else cache
    from pyspark import __version__, find_spark_home

    try:
        release = (java_home / "release").resolve(strict=True)
        built = release.read_text(encoding="utf-8", errors="replace")
        jars = Path(find_spark_home._find_spark_home()) / "jars"
        # The JVM compares name, size and time of every jar: an archive of another installation is of no use to it.
        newest = max(jar.stat().st_mtime_ns for jar in jars.iterdir())
        facts = [str(release), str(release.stat().st_mtime_ns), built, str(jars), str(newest), *flags]
    except (OSError, ValueError):
        return None
    if (version := _VERSION.search(built)) is None:
        return None
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    name = f"classes-spark{__version__}-java{version[1]}-{digest}.archive"
    return ClassArchive(folder / name, int(version[1]) >= 25)
