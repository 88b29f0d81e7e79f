"""Opening users' files: bytes in, or an error that a person can act on.

Shared by the readers of articles, of tables and of released data sets. Nothing here knows what the bytes mean.
"""

import difflib
import gzip
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

MAX_BYTES = 512 * 1024 * 1024  # one file, unpacked; a gzip file may hide far more than its size on disk tells

_MAGIC = (
    (b"%PDF", "a PDF file"),
    (b"PK\x03\x04", "a zip archive (an Excel workbook, perhaps)"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file"),
    (b"PAR1", "a parquet file"),
)


class SourceError(ValueError):
    """A file that cannot be used; the message says which, where and what to do."""


class MissingFile(SourceError, FileNotFoundError):
    """There is no such file or folder; the message names the nearest one that exists."""

    __str__ = ValueError.__str__


def nearest(word: str, choices: Iterable[str], n: int = 1) -> list[str]:
    """The choices that look most like a word, best first; upper and lower case count as the same."""
    folded = {choice.casefold(): choice for choice in choices}
    return [folded[hit] for hit in difflib.get_close_matches(word.casefold(), list(folded), n=n, cutoff=0.6)]


def existing(path: str | Path, folder: bool = False) -> Path:
    """The path, if it is a file (or, on request, a folder).

    Raises
    ------
    MissingFile
        Nothing is there; the nearest name in the same folder is suggested.
    SourceError
        It is a folder where a file is needed.
    """
    path = Path(path).expanduser()
    if not path.exists():
        parent = path.parent
        if not parent.is_dir():
            raise MissingFile(f"{path}: there is no folder {parent}; check the path.")
        near = nearest(path.name, (entry.name for entry in parent.iterdir()))
        hint = f"did you mean {near[0]!r}?" if near else "check the name and the folder."
        raise MissingFile(f"{path}: no such file in {parent}; {hint}")
    if path.is_dir() and not folder:
        raise SourceError(f"{path}: this is a folder, and one file is needed; name a file in it.")
    return path


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file, gzip undone (told by its content, not by its name).

    Raises
    ------
    SourceError
        Missing, a folder, empty, unreadable, a damaged gzip file, or larger than `MAX_BYTES` when unpacked.
    """
    path = existing(path)
    try:
        with path.open("rb") as file:
            start = file.read(2)
            file.seek(0)
            data = (gzip.GzipFile(fileobj=file) if start == b"\x1f\x8b" else file).read(MAX_BYTES + 1)
    except (gzip.BadGzipFile, EOFError) as error:
        raise SourceError(f"{path}: damaged gzip file ({error}); download or pack it again.") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if len(data) > MAX_BYTES:
        raise SourceError(f"{path}: larger than {MAX_BYTES // 2**20} MiB when unpacked; split the file.")
    if not data.strip():
        raise SourceError(f"{path}: the file is empty ({len(data)} bytes).")
    return data


def foreign_format(data: bytes) -> str | None:
    """What a file is by its first bytes ('a PDF file'), or None where they tell nothing."""
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


def write_atomically(path: str | Path, data: bytes) -> Path:
    """Write a file so that it is there whole or not at all; missing folders are made.

    Raises
    ------
    SourceError
        The folder cannot be written, or the disk is full.
    """
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise SourceError(f"{path}: cannot be written ({error.strerror or error}).") from error
    return path


def _umask() -> int:
    # mkstemp makes files that only their owner may read; the mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
