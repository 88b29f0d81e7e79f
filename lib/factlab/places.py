"""Where things lie: the checkout, its outputs, the user's cache of converted weights.

A checkout is the unit of use, found by walking up from the working folder, so that a notebook opened in JupyterLab, one run
headless and the command line agree. The installed package alone (no checkout around) falls back to the working folder.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class PlaceError(OSError):
    """A folder or file cannot be written; the text names it and what to do."""

    def __str__(self) -> str:
        return self.strerror or super().__str__()  # a sentence for people, without "[Errno 28]" before it


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


def resolve(path: str | Path, start: Path | None = None) -> Path:
    """A user's path: as it stands when absolute, else from `start` (default: the working folder), else from the checkout."""
    given = Path(path).expanduser()
    if given.is_absolute():
        return given
    here = given if start is None else start / given
    return here if here.exists() else root(start) / given


def shown(path: Path) -> str:
    """A path as messages and records show it: relative to the checkout where it lies inside."""
    home = root()
    # First as it is written: an `outputs` that links to another disk still belongs to the checkout.
    for form in (Path(os.path.abspath(path)), path.resolve()):  # noqa: PTH100  (absolute(), with ".." taken out)
        if form.is_relative_to(home):
            return form.relative_to(home).as_posix()
    return str(path)


_WHY = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EFBIG: "the file may not grow further (a size limit is set)",
    errno.EACCES: "no permission to write there: change the folder's owner or mode, or choose another folder",
    errno.EPERM: "no permission to write there: change the folder's owner or mode, or choose another folder",
    errno.EROFS: "it lies on a read-only file system: choose another folder",
    errno.ENOTDIR: "one of the folders above it is a file: choose another folder",
    errno.EEXIST: "a file of that name stands where a folder is needed: move it away",
    errno.EISDIR: "a folder of that name stands there: move it away",
}


def explain(path: Path, error: OSError) -> str:
    """A failure to write, in a sentence: which place, why, what to do."""
    why = _WHY.get(error.errno or 0, str(error))
    return f"cannot write {shown(path)}: {why}. What was finished before is kept."


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write into a `PlaceError` about the place and the remedy."""
    try:
        yield
    except OSError as error:
        if isinstance(error, PlaceError):
            raise
        raise PlaceError(error.errno, explain(path, error)) from error


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a whole file or nothing: a reader, or a crash, never meets half of it."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
        try:
            with part.open("wb") as f:
                f.write(data.encode() if isinstance(data, str) else data)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def write_json(path: Path, value: object) -> None:
    """Write JSON that any reader accepts: no NaN, sorted keys, one file or nothing."""
    text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        # Half a character, as broken text under test may hold: written as an escape, which is plain ASCII.
        data = json.dumps(value, indent=1, sort_keys=True, allow_nan=False).encode()
    write_atomic(path, data + b"\n")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty where there is none that can be read."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
