"""The file of a store: the one that a path leads to, if it can be a file at all."""

from __future__ import annotations

from pathlib import Path

from storage.errors import StoreUnreadable


def home_of(path: Path) -> Path:
    """The path with a ~ at its start replaced. Raises StoreUnreadable for a user that does not exist."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        reason = "it begins with the home of a user that does not exist."
        raise StoreUnreadable(path, reason) from error


def place_of(path: Path) -> Path:
    """The file that a path leads to, which need not exist. Raises StoreUnreadable for anything that cannot be a file.

    DuckDB would wait for the writer of a pipe, and write to a device.
    """
    try:
        str(path).encode()
        place = home_of(path).resolve()
        is_other = place.exists() and not place.is_file()
        lowest = next(folder for folder in place.parents if folder.exists())
    except UnicodeError as error:
        reason = "its name has a byte that is no text in UTF-8."
        raise StoreUnreadable(path, reason) from error
    except ValueError as error:
        reason = "its name has a character that names of files cannot have."
        raise StoreUnreadable(path, reason) from error
    except RuntimeError as error:
        reason = "its path is a loop of symbolic links."
        raise StoreUnreadable(path, reason) from error
    except OSError as error:
        reason = f"{error.strerror or error}."
        raise StoreUnreadable(path, reason) from error
    if is_other:
        what = "a folder" if place.is_dir() else "a device, a pipe or a socket"
        reason = f"it is {what}, not a file."
        raise StoreUnreadable(path, reason)
    if not lowest.is_dir():
        reason = f"{lowest.name} on the way to it is a file, not a folder."
        raise StoreUnreadable(path, reason)
    return place
