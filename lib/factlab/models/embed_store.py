"""Embeddings on disk: one SQLite file, shared by every notebook, run and process of a checkout, beside the reply cache.

A vector is kept under the sha256 of canonical JSON of everything that decides it (weights hash or endpoint and model, pooling,
dtype, window, text, version), as the bytes of little-endian float32; nothing is pickled. A text that was longer than the model's
window is kept as the list of its chunks, each of which has a vector of its own. Rows are committed batch by batch, so that a
killed process loses none but those of the batch it was at.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from factlab import places
from factlab.models import sqlite
from factlab.models.base import ModelError
from factlab.models.cache import canonical

VERSION = 1
_CHUNK = 500  # keys in one SELECT, below SQLite's limit on variables
_UNIT = 1e-3  # how far from 1 the length of a stored vector may be; a damaged one is hardly ever that close


def key(identity: Mapping[str, Any], text: str) -> str:
    """The key of one text with one model."""
    return hashlib.sha256(canonical({"version": VERSION, "model": identity, "text": text}).encode()).hexdigest()


class Store:
    """Vectors of length 1 and the chunks of long texts, by key.

    Parameters
    ----------
    path : the SQLite file; created with its folder when missing. None keeps everything in memory.

    Raises
    ------
    ModelError : the file cannot be opened, read or written, or a vector in it is damaged; the text says what to do.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        with places.writing(path or Path("memory")):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
        with self._told():
            self._db = sqlite.connect(":memory:" if path is None else str(path))
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, model TEXT, made REAL, tokens INTEGER, vector BLOB)"
            )
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS cuts (key TEXT PRIMARY KEY, model TEXT, made REAL, chunks TEXT)"
            )

    def _where(self) -> str:
        return "the store of embeddings" + (f" {places.shown(self.path)}" if self.path else "")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what SQLite complains of into a sentence that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "") or ""
            if "FULL" in code or "IOERR" in code:
                what = (
                    "cannot be written: the disk is full or failing. Free some space; what was embedded before is kept."
                )
            elif "READONLY" in code or "CANTOPEN" in code or "PERM" in code:
                what = "cannot be opened for writing: check the folder's owner and mode, or choose another folder."
            elif "NOTADB" in code or "CORRUPT" in code:
                what = "is not a usable SQLite file: move it away and run again (its texts will be embedded anew)."
            elif "BUSY" in code or "LOCKED" in code:
                what = "was locked by another process for more than a minute: let that one finish, then run again."
            else:
                what = f"failed: {error}"
            raise ModelError(f"{self._where()} {what}") from error

    def _select(self, what: str, keys: Sequence[str]) -> Iterator[tuple]:
        with self._told(), self._lock:
            for start in range(0, len(keys), _CHUNK):
                part = keys[start : start + _CHUNK]
                yield from self._db.execute(
                    f"SELECT {what} WHERE key IN ({','.join('?' * len(part))})", part
                ).fetchall()

    def vectors(self, keys: Sequence[str]) -> dict[str, tuple[np.ndarray, int]]:
        """Those that are there, by key: the (d,) float32 vector and how many tokens its text has."""
        found = {}
        for k, tokens, blob in self._select("key, tokens, vector FROM vectors", keys):
            good = isinstance(blob, bytes) and isinstance(tokens, int) and len(blob) and len(blob) % 4 == 0
            vector = np.frombuffer(blob, "<f4").astype(np.float32) if good else np.zeros(0, np.float32)
            with np.errstate(all="ignore"):  # damaged bytes can be any number
                good = abs(float(vector @ vector) - 1) < _UNIT
            if not good:
                raise ModelError(
                    f"{self._where()} holds a damaged vector (key {k[:12]}…): its bytes are no vector of length 1. Move the file "
                    "away and run again (its texts will be embedded anew), or use mode 'live', which writes over it."
                )
            found[k] = vector, tokens
        return found

    def cuts(self, keys: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
        """The chunks of the texts that were cut, by the text's key: each chunk's text and tokens."""
        found = {}
        for k, chunks in self._select("key, chunks FROM cuts", keys):
            try:
                found[k] = [(str(text), int(tokens)) for text, tokens in json.loads(chunks)]
            except (ValueError, TypeError) as error:
                raise ModelError(
                    f"{self._where()} holds a damaged list of chunks (key {k[:12]}…). Move the file away and run again (its "
                    "texts will be embedded anew), or use mode 'live', which writes over it."
                ) from error
        return found

    def put_vectors(self, model: str, rows: Iterable[tuple[str, np.ndarray, int]]) -> None:
        """Keep (key, vector, tokens), all or none; the newest wins."""
        made = time.time()
        self._insert(
            "vectors VALUES (?, ?, ?, ?, ?)", [(k, model, made, n, v.astype("<f4").tobytes()) for k, v, n in rows]
        )

    def put_cuts(self, model: str, rows: Iterable[tuple[str, list[tuple[str, int]]]]) -> None:
        """Keep (key of a text, its chunks with their tokens), all or none; the newest wins."""
        made = time.time()
        self._insert("cuts VALUES (?, ?, ?, ?)", [(k, model, made, json.dumps(chunks)) for k, chunks in rows])

    def _insert(self, into: str, rows: list[tuple]) -> None:
        with self._told(), self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany(f"INSERT OR REPLACE INTO {into}", rows)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def stats(self) -> list[dict[str, Any]]:
        """Vectors, tokens, bytes and dates by model, for `factlab cache stats`."""
        query = (
            "SELECT model, count(*), sum(tokens), sum(length(vector)), min(made), max(made) FROM vectors GROUP BY model"
        )
        with self._told(), self._lock:
            rows = self._db.execute(query + " ORDER BY model").fetchall()
        names = ("model", "embeddings", "tokens", "bytes", "first", "last")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def __len__(self) -> int:
        with self._told(), self._lock:
            return self._db.execute("SELECT count(*) FROM vectors").fetchone()[0]

    def close(self) -> None:
        self._db.close()


def default_path() -> Path:
    """Where the checkout keeps its embeddings: `outputs/cache/embeddings.sqlite`."""
    return places.outputs() / "cache" / "embeddings.sqlite"


_open: dict[Path, Store] = {}


def default() -> Store:
    """The checkout's store, opened once per process."""
    path = default_path()
    if path not in _open:
        _open[path] = Store(path)
    return _open[path]
