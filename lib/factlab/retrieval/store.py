"""Where the vectors of passages lie and are searched: `open_store("numpy", folder)` (MS-Exam-Gen, section III.A).

Two kinds behind one function. `numpy`, the default, keeps a matrix in a file and compares every passage: exact, and quick up to some
hundred thousand passages. `chroma` is the database that the paper used, with an approximate index; it brings forty packages (the extra
`chroma`), and its telemetry is switched off. Filling with 4,289 vectors of 384 numbers takes 0.01 s and 2 s, 60 searches 0.02 s either
way; of the 30 nearest of random vectors, the hardest case, Chroma finds 93 % (80 % at 3,072 numbers). Ids and vectors go in, rankings as
of `dense_search` come out; no model is involved.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from factlab.retrieval.bm25 import RANKING
from factlab.retrieval.dense import dense_search

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("numpy", "chroma")
_AT_ONCE = 1000  # ids in one question to Chroma, below its database's limit on variables


class StoreError(RuntimeError):
    """A store cannot be opened or used; the message says why and what to do."""


class Store(Protocol):
    """What both kinds can do."""

    ids: list[str]

    def add(self, ids: Sequence[str], vectors: ArrayLike) -> None:
        """Put passages in; one whose id is known gets the new vector."""

    def keep(self, ids: Sequence[str]) -> None:
        """Leave only these passages in the store, in this order."""

    def search(self, queries: ArrayLike, k: int = 3) -> pd.DataFrame:
        """The k passages nearest to each query by cosine: query, rank, passage (its place in `ids`), score."""


def open_store(kind: str = "numpy", folder: str | Path | None = None, embedder: str = "") -> Store:
    """A store of vectors, made where there is none.

    Parameters
    ----------
    kind : {"numpy", "chroma"}
        Exact search in a matrix, or Chroma's approximate index (HNSW, cosine).
    folder : path, optional
        Where it lies on disk. None: in memory, gone at the end.
    embedder : str
        What the vectors are from; kept beside them, so that vectors of two embedders never meet in one store.

    Returns
    -------
    Store
        With `ids`, `add`, `keep` and `search`.

    Raises
    ------
    StoreError
        The kind is not known, Chroma is not installed, the folder holds a damaged store, or one of another kind or embedder.
    """
    if kind not in KINDS:
        raise StoreError(f"store {kind!r} is none of {', '.join(KINDS)}")
    folder = None if folder is None else Path(folder)
    if folder is not None:
        _check_label(folder, kind, embedder)
    made: Store = NumpyStore(folder) if kind == "numpy" else ChromaStore(folder)
    if folder is not None:
        _write_label(folder, kind, embedder)
    return made


def _label(folder: Path) -> dict[str, Any]:
    from factlab import places

    return places.read_json(folder / "store.json")


def _check_label(folder: Path, kind: str, embedder: str) -> None:
    known = _label(folder)
    for name, value in (("kind", kind), ("embedder", embedder)):
        if known.get(name, value) != value:
            raise StoreError(
                f"{folder}: this store has the {name} {known[name]!r}, not {value!r}; name another folder, or delete this one"
            )


def _write_label(folder: Path, kind: str, embedder: str) -> None:
    from factlab import places

    label = {"kind": kind, "embedder": embedder}
    if _label(folder) != label:
        places.write_json(folder / "store.json", label)


def _rows(ids: Sequence[str], vectors: ArrayLike) -> tuple[list[str], np.ndarray]:
    names, array = [str(one) for one in ids], np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != len(names):
        raise StoreError(f"{len(names)} ids with vectors of shape {array.shape}: one vector for each id is needed")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise StoreError(f"the id {twice!r} is given twice")
    return names, array


class NumpyStore:
    """A matrix and its ids, in `vectors.npy` and `ids.json`; every search compares every passage.

    A passage without a vector (a row of NaN) is kept and never found.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder, self.ids, self.vectors = folder, [], np.empty((0, 0), dtype=np.float32)
        if folder is None or not (folder / "ids.json").is_file():
            return
        try:
            self.ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
            self.vectors = np.load(folder / "vectors.npy", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise StoreError(f"{folder}: a damaged store ({error}); delete the folder and index again") from None
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.ids):
            raise StoreError(
                f"{folder}: {len(self.ids)} ids for vectors of shape {self.vectors.shape}; delete the folder"
            )

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, ids: Sequence[str], vectors: ArrayLike) -> None:
        names, array = _rows(ids, vectors)
        if not names:
            return
        if len(self.ids) and array.shape[1] != self.vectors.shape[1]:
            raise StoreError(
                f"vectors of {array.shape[1]} numbers for a store with {self.vectors.shape[1]}: from another embedder?"
            )
        place = {name: row for row, name in enumerate(self.ids)}
        new = [row for row, name in enumerate(names) if name not in place]
        known = [row for row, name in enumerate(names) if name in place]
        rows = [place[names[row]] for row in known]
        if not new and np.array_equal(self.vectors[rows], array[known], equal_nan=True):
            return  # nothing changed: nothing is written
        self.vectors = np.concatenate([self.vectors, array[new]]) if len(self.ids) else array[new]
        self.vectors[rows] = array[known]
        self.ids = self.ids + [names[row] for row in new]
        self._write()

    def keep(self, ids: Sequence[str]) -> None:
        if list(ids) == self.ids:
            return
        place = {name: row for row, name in enumerate(self.ids)}
        missing = [name for name in ids if name not in place]
        if missing:
            raise StoreError(f"the store has no passage {missing[0]!r}")
        self.vectors, self.ids = self.vectors[[place[name] for name in ids]], list(ids)
        self._write()

    def search(self, queries: ArrayLike, k: int = 3) -> pd.DataFrame:
        return dense_search(queries, self.vectors, k, similarity="cosine")

    def _write(self) -> None:
        from factlab import places

        if self.folder is None:
            return
        with places.writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self.folder / "vectors.part.npy"
            np.save(part, self.vectors, allow_pickle=False)
            part.replace(self.folder / "vectors.npy")
        places.write_atomic(self.folder / "ids.json", json.dumps(self.ids, ensure_ascii=False))


class ChromaStore:
    """A collection of Chroma; passages without a vector stay outside and are never found."""

    def __init__(self, folder: Path | None = None) -> None:
        try:
            import chromadb
        except ImportError:
            raise StoreError(
                "the store 'chroma' needs the extra `chroma`: python -m pip install 'factlab[chroma]', or take the store 'numpy', "
                "which needs nothing and is exact"
            ) from None
        settings = chromadb.config.Settings(anonymized_telemetry=False, is_persistent=folder is not None)
        if folder is None:
            self._client = chromadb.EphemeralClient(settings=settings)
            name = f"passages-{uuid.uuid4()}"  # clients in memory share one database
        else:
            self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
            name = "passages"
        # ef_search of 100 and more: the index misses fewer neighbours than with Chroma's own default.
        space = {"hnsw": {"space": "cosine", "ef_search": 200, "ef_construction": 200}}
        self._passages = self._client.get_or_create_collection(name, configuration=space, embedding_function=None)
        numbered = []
        for start in range(0, self._passages.count(), _AT_ONCE):
            kept = self._passages.get(include=["metadatas"], limit=_AT_ONCE, offset=start)
            numbered += zip([m["row"] for m in kept["metadatas"]], kept["ids"], strict=True)
        self.ids: list[str] = [name for _, name in sorted(numbered)]

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, ids: Sequence[str], vectors: ArrayLike) -> None:
        names, array = _rows(ids, vectors)
        place = {name: row for row, name in enumerate(self.ids)}
        usable = np.isfinite(array).all(axis=1) if len(names) else np.zeros(0, dtype=bool)
        names, array = [n for n, ok in zip(names, usable, strict=True) if ok], array[usable]
        if not names:
            return
        for name in names:
            place.setdefault(name, len(place))
        if self.ids:
            size = len(self._passages.get(ids=self.ids[:1], include=["embeddings"])["embeddings"][0])
            if size != array.shape[1]:
                raise StoreError(f"vectors of {array.shape[1]} numbers for a store with {size}: from another embedder?")
        same = self._same(names, array)
        batch = self._client.get_max_batch_size()
        todo = [row for row in range(len(names)) if not same[row]]
        for start in range(0, len(todo), batch):
            rows = todo[start : start + batch]
            metadata = [{"row": place[names[row]]} for row in rows]
            self._passages.upsert([names[row] for row in rows], embeddings=array[rows], metadatas=metadata)
        self.ids = list(place)

    def _same(self, names: list[str], array: np.ndarray) -> list[bool]:
        """Which of them are there already with this vector: writing them again would build the index again."""
        if not self.ids:
            return [False] * len(names)
        known: dict[str, Any] = {}
        for start in range(0, len(names), _AT_ONCE):
            kept = self._passages.get(ids=names[start : start + _AT_ONCE], include=["embeddings"])
            known |= dict(zip(kept["ids"], kept["embeddings"], strict=True))
        return [n in known and np.allclose(known[n], v, atol=1e-6) for n, v in zip(names, array, strict=True)]

    def keep(self, ids: Sequence[str]) -> None:
        there = set(self.ids)
        wanted = [name for name in ids if name in there]
        if wanted == self.ids:
            return
        gone = sorted(there - set(wanted))
        batch = min(self._client.get_max_batch_size(), _AT_ONCE)
        for start in range(0, len(gone), batch):
            self._passages.delete(ids=gone[start : start + batch])
        for start in range(0, len(wanted), batch):
            rows = range(start, min(start + batch, len(wanted)))
            self._passages.update([wanted[row] for row in rows], metadatas=[{"row": row} for row in rows])
        self.ids = wanted

    def search(self, queries: ArrayLike, k: int = 3) -> pd.DataFrame:
        import pandas as pd

        if k < 1:
            raise ValueError(f"search: k is the number of passages for a query, at least 1, got {k}")
        asked = np.asarray(queries, dtype=np.float32)
        asked = asked.reshape(0, 0) if not asked.size else asked
        with_vector = np.flatnonzero(np.isfinite(asked).all(axis=1)) if len(asked) else np.zeros(0, dtype=int)
        rows = []
        if len(with_vector) and self.ids:
            place = {name: row for row, name in enumerate(self.ids)}
            found = self._passages.query(
                query_embeddings=asked[with_vector], n_results=min(k, len(self.ids)), include=["distances"]
            )
            for query, names, far in zip(with_vector, found["ids"], found["distances"], strict=True):
                own = sorted((round(float(d), 6), place[name]) for name, d in zip(names, far, strict=True))
                rows += [(query, rank, passage, 1 - distance) for rank, (distance, passage) in enumerate(own, 1)]
        return pd.DataFrame(rows, columns=list(RANKING)).astype(RANKING)
