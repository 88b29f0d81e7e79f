"""What rerankers leave on disk, beside the reply cache: fine-tuned models, each in a folder of its own, and scores of pairs in one SQLite file.

Both are kept under the sha256 of everything that decides them, so that the same run asks nothing of torch the second time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from factlab import places
from factlab.models import sqlite, weights
from factlab.models.base import ModelError
from factlab.models.cache import canonical

VERSION = 1  # raised when a score or a training comes out differently than before
SETTINGS = "reranker.json"


def digest(*parts: Any) -> str:
    """sha256 of what is given, and of the version."""
    return hashlib.sha256(canonical([VERSION, *parts]).encode("utf-8", "surrogatepass")).hexdigest()


class Scores:
    """Scores of pairs, by key. A path of None keeps them in memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        with places.writing(path or Path("memory")):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
        with self._told():
            self._db = sqlite.connect(":memory:" if path is None else str(path))
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, model TEXT, score REAL) WITHOUT ROWID"
            )

    @contextmanager
    def _told(self) -> Any:
        try:
            yield
        except sqlite3.Error as error:
            where = f" {places.shown(self.path)}" if self.path else ""
            raise ModelError(
                f"the store of rerankers' scores{where} cannot be used ({error}). Free some space or check who owns it; if it is "
                "damaged, move it away and run again (its pairs will be scored anew)."
            ) from error

    def get(self, keys: Sequence[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        with self._told():
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                rows = self._db.execute(
                    f"SELECT key, score FROM scores WHERE key IN ({','.join('?' * len(part))})", part
                )
                found |= dict(rows.fetchall())
        return found

    def put(self, model: str, rows: Iterable[tuple[str, float]]) -> None:
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?, ?)", [(k, model, s) for k, s in rows])
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def default_folder() -> Path:
    """Where the checkout keeps them: `outputs/cache/rerankers`."""
    return places.outputs() / "cache" / "rerankers"


_open: dict[Path, Scores] = {}


def scores_at(folder: Path | None) -> Scores:
    """The scores kept in a folder, opened once per process; those of None are kept in memory and are new each time."""
    if folder is None:
        return Scores(None)
    path = folder.resolve() / "scores.sqlite"
    if path not in _open:
        _open[path] = Scores(path)
    return _open[path]


def write(folder: Path, settings: dict[str, Any], save: Any) -> None:
    """A model's folder, whole or not at all: `save(folder)` writes the weights, the settings follow with their hash."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    with places.writing(folder):
        try:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            save(part)
            places.write_json(part / SETTINGS, {**settings, "weights": _weights(part)})
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def read(folder: Path) -> dict[str, Any] | None:
    """The settings of a kept model; None where there is none.

    Raises
    ------
    ModelError : the weights are not those that were saved.
    """
    settings = places.read_json(folder / SETTINGS)
    if not settings:
        return None
    if settings.get("weights") != _weights(folder):
        raise ModelError(
            f"{places.shown(folder)}: its weights are not those that were saved with it; remove the folder"
        )
    return settings


def _weights(folder: Path) -> str:
    path = folder / "model.safetensors"
    return weights.sha256(path) if path.is_file() else ""
