"""The reply cache: one SQLite file, shared by every notebook, run and process of a checkout.

What was asked and answered once is never asked again. A key is the sha256 of canonical JSON of everything that decides a reply
(host or weights hash, model, chat template, dtype, messages, sampling parameters, sample number, cache version) and of nothing
that does not: no API key, timeout or retry. Only complete, successful replies are kept, each committed the moment it
arrives, so that a killed process loses none that was received.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from factlab import places
from factlab.models import sqlite
from factlab.models.base import Call, ModelError, Reply

VERSION = 1
MODES = ("live", "cache", "replay")
_CHUNK = 500  # keys in one SELECT, below SQLite's limit on variables
_STORED = tuple(f.name for f in fields(Reply) if f.name not in ("cached", "error"))


# JSON with one spelling for one meaning: sorted keys, no spaces, no NaN.
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def key(identity: Mapping[str, Any], call: Call) -> str:
    """The cache key of one call to one model."""
    # A lone surrogate can stand in a str but not in UTF-8; it must not make a prompt impossible to ask.
    text = canonical({"version": VERSION, "model": identity, "call": call.content()})
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Cache:
    """Replies on disk.

    Parameters
    ----------
    path : the SQLite file; created with its folder when missing. None keeps the replies in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        with places.writing(path or Path("memory")):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = self._open(":memory:" if path is None else str(path))

    def _open(self, name: str) -> sqlite3.Connection:
        try:
            db = sqlite.connect(name)
            db.execute(
                "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT, made REAL, reply TEXT) WITHOUT ROWID"
            )
            return db
        except sqlite3.Error as error:
            raise ModelError(self._explain(error)) from error

    def _where(self) -> str:
        return "the reply cache" if self.path is None else f"the reply cache {places.shown(self.path)}"

    def _explain(self, error: sqlite3.Error) -> str:
        where = self._where()
        code = getattr(error, "sqlite_errorname", "") or ""
        if "FULL" in code or "IOERR" in code:
            return (
                f"cannot write {where}: the disk is full or failing. Free some space; replies received before are kept."
            )
        if "READONLY" in code or "CANTOPEN" in code or "PERM" in code:
            return f"cannot open {where} for writing: check the folder's owner and mode, or choose another folder."
        if "NOTADB" in code or "CORRUPT" in code:
            return f"{where} is not a usable SQLite file: move it away and run again (its replies will be asked anew)."
        if "BUSY" in code or "LOCKED" in code:
            return f"{where} was locked by another process for more than a minute: let that one finish, then run again."
        return f"{where} failed: {error}"

    def get_many(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are there, by key."""
        found: dict[str, Reply] = {}
        try:
            with self._lock:
                for start in range(0, len(keys), _CHUNK):
                    part = keys[start : start + _CHUNK]
                    marks = ",".join("?" * len(part))
                    rows = self._db.execute(f"SELECT key, reply FROM replies WHERE key IN ({marks})", part)
                    for k, reply in rows:
                        found[k] = Reply(**json.loads(reply), cached=True)
        except (ValueError, TypeError) as error:
            raise ModelError(
                f"{self._where()} holds a reply that cannot be read ({error}); move the file away and run again, or take its "
                "good replies along with `factlab cache export` and `import`."
            ) from error
        except sqlite3.Error as error:
            raise ModelError(self._explain(error)) from error
        return found

    def put(self, key: str, reply: Reply) -> None:
        """Keep one reply; a failed or unfinished call is not one."""
        self.put_many([(key, reply)])

    def put_many(self, pairs: Iterable[tuple[str, Reply]]) -> None:
        """Keep several replies in one transaction; the newest wins."""
        now = time.time()
        rows = []
        for k, reply in pairs:
            if reply.ok and reply.finish != "error":
                stored = {name: v for name, v in asdict(reply).items() if name in _STORED and v is not None}
                rows.append((k, reply.model, now, json.dumps(stored)))
        self._insert("REPLACE", rows)

    def _insert(self, otherwise: str, rows: list[tuple]) -> int:
        """Insert rows in one transaction, or none of them; returns how many rows changed."""
        try:
            with self._lock:
                before = self._db.total_changes
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    self._db.executemany(f"INSERT OR {otherwise} INTO replies VALUES (?, ?, ?, ?)", rows)
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                    raise
                return self._db.total_changes - before
        except sqlite3.Error as error:
            raise ModelError(self._explain(error)) from error

    def _rows(self, query: str) -> list[tuple]:
        try:
            with self._lock:
                return self._db.execute(query).fetchall()
        except sqlite3.Error as error:
            raise ModelError(self._explain(error)) from error

    def stats(self) -> list[dict[str, Any]]:
        """Replies, tokens and dates by model, for `factlab cache stats`."""
        rows = self._rows(
            "SELECT model, count(*), min(made), max(made), sum(json_extract(reply, '$.prompt_tokens')),"
            " sum(json_extract(reply, '$.completion_tokens')) FROM replies GROUP BY model ORDER BY model"
        )
        names = ("model", "replies", "first", "last", "prompt_tokens", "completion_tokens")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def export(self, path: Path) -> int:
        """Write every reply as one JSON line (key, model, made, reply) and return how many there are."""
        rows = self._rows("SELECT key, model, made, reply FROM replies ORDER BY key")
        lines = [json.dumps({"key": k, "model": m, "made": t, "reply": json.loads(r)}) for k, m, t, r in rows]
        places.write_atomic(path, "".join(line + "\n" for line in lines))
        return len(lines)

    def import_(self, path: Path) -> tuple[int, int]:
        """Take in replies from an exported file; those already there stay. Returns (added, already there)."""
        rows = []
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{path} cannot be read: {error}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                stored, made = record["reply"], float(record["made"])
                reply = Reply(**stored)
                if not isinstance(reply.text, str) or set(stored) - set(_STORED) or len(record["key"]) != 64:
                    raise ValueError("not a reply")
                rows.append((record["key"], record["model"], made, json.dumps(stored)))
            except (ValueError, KeyError, TypeError) as error:
                raise ModelError(
                    f"{path}, line {number}: not an exported reply ({error}); nothing was imported. "
                    "Files for import are made by `factlab cache export`."
                ) from error
        return self._add(rows)

    def merge(self, path: Path) -> tuple[int, int]:
        """Take in the replies of another cache file; those already there stay. Returns (added, already there)."""
        if not path.is_file():
            raise ModelError(f"{path} is not there; name another checkout's outputs/cache/replies.sqlite")
        other = Cache(path)
        try:
            return self._add(other._rows("SELECT key, model, made, reply FROM replies"))
        finally:
            other.close()

    def _add(self, rows: list[tuple]) -> tuple[int, int]:
        added = self._insert("IGNORE", rows)
        return added, len(rows) - added

    def __len__(self) -> int:
        return self._rows("SELECT count(*) FROM replies")[0][0]

    def close(self) -> None:
        self._db.close()


_open: dict[Path, Cache] = {}


def default() -> Cache:
    """The checkout's cache, `outputs/cache/replies.sqlite`, opened once per process."""
    path = places.outputs() / "cache" / "replies.sqlite"
    if path not in _open:
        _open[path] = Cache(path)
    return _open[path]
