"""Where things lie: the checkout, its outputs, the user's cache of converted weights.

A checkout is the unit of use, found by walking up from the working folder, so that a notebook opened in JupyterLab, one run
headless and the command line agree. The installed package alone (no checkout around) falls back to the working folder.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PlaceError(OSError):
    """A folder or file cannot be written; the text names it and what to do."""


def root(start: Path | None = None) -> Path:
    """The checkout around `start` (default: the working folder), or the working folder itself where there is none."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "notebooks").is_dir() and (folder / "params").is_dir():
            return folder
    return here


def outputs() -> Path:
    """The folder that every run, the site and the reply cache are written to."""
    return root() / "outputs"


def user_cache() -> Path:
    """The user's own cache folder, for what is the same in every checkout: converted weights, notes about the machine."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "factlab"


def samples(*parts: str) -> Path:
    """A file or folder shipped under `samples/`, e.g. `samples("dahl", "questions.csv")`."""
    return Path(__file__).parent.joinpath("samples", *parts)


def resolve(path: str | Path) -> Path:
    """A user's path: as it stands when absolute, else from the working folder, else from the checkout."""
    given = Path(path).expanduser()
    if given.is_absolute() or given.exists():
        return given
    return root() / given


def shown(path: Path) -> str:
    """A path as messages and records show it: relative to the checkout where it lies inside."""
    try:
        return path.resolve().relative_to(root()).as_posix()
    except ValueError:
        return str(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write into a message about the place and the remedy."""
    try:
        yield
    except OSError as error:
        if isinstance(error, PlaceError):
            raise
        why = {
            errno.ENOSPC: "the disk is full: free some space",
            errno.EDQUOT: "the disk quota is used up: free some space",
            errno.EFBIG: "the file may not grow further (a size limit is set)",
            errno.EACCES: "no permission to write there: change the folder's owner or mode, or choose another folder",
            errno.EPERM: "no permission to write there: change the folder's owner or mode, or choose another folder",
            errno.EROFS: "it lies on a read-only file system: choose another folder",
            errno.ENOTDIR: "one of the folders above it is a file: choose another folder",
            errno.EEXIST: "a file of that name stands where a folder is needed: move it away",
        }.get(error.errno, str(error))
        raise PlaceError(
            error.errno, f"cannot write {shown(path)}: {why}. What was finished before is kept."
        ) from error


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a whole file or nothing: a reader, or a crash, never meets half of it."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as f:
                f.write(data.encode() if isinstance(data, str) else data)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def write_json(path: Path, value: object) -> None:
    """Write JSON that any reader accepts: no NaN, sorted keys, one file or nothing."""
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n")
