"""From a folder of sources to an index that can be searched (10_index_corpus): MS-Exam-Gen, section III.A.

The reader of documents is `sources.corpus`, the store of vectors `retrieval.store`, the vectors themselves come from `models.embed`,
whose store on disk keeps them: a corpus that has not changed is read and hashed again, and nothing of it is embedded again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab.models.base import ModelError
from factlab.sources import corpus

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from factlab.runs import Workspace

BM25 = "bm25"


class Index:
    """Passages and a way to find them by a text.

    Parameters
    ----------
    chunks : DataFrame
        chunk_id, file, text, from `sources.corpus.chunk`.
    embed : function, optional
        Texts to vectors; None ranks by shared words (BM25).
    store : optional
        From `retrieval.store.open_store`, with the vectors of the chunks; needed with `embed`.
    """

    def __init__(self, chunks: pd.DataFrame, embed: Any = None, store: Any = None) -> None:
        from factlab.retrieval import Bm25

        self.chunks = chunks.reset_index(drop=True)
        self.texts = dict(zip(self.chunks["chunk_id"], self.chunks["text"], strict=True))
        self.files = dict(zip(self.chunks["chunk_id"], self.chunks["file"], strict=True))
        self._embed, self._store = embed, store
        self._bm25 = Bm25(self.chunks) if embed is None else None

    def __len__(self) -> int:
        return len(self.chunks)

    def vectors(self, texts: Sequence[str]) -> np.ndarray | None:
        """(n, d) vectors of some texts, or None where the index ranks by words."""
        return None if self._embed is None or not len(texts) else self._embed(list(texts))

    def find(self, queries: Sequence[str], k: int = 3, per_source: int = 0, most: int = 0) -> pd.DataFrame:
        """The passages nearest to each query.

        Parameters
        ----------
        queries : sequence of str
        k : how many are retrieved for a query.
        per_source : at most so many of them from one file, the nearest ones; 0: no limit.
        most : so many of what is then left; 0: all.

        Returns
        -------
        DataFrame : query (number), rank (from 1, among those that stay), score, chunk_id, file.
        """
        import pandas as pd

        columns = ["query", "rank", "score", "chunk_id", "file"]
        queries = list(queries)
        if not queries or not len(self.chunks):
            return pd.DataFrame(columns=columns).astype({"query": "int64", "rank": "int64", "score": "float64"})
        if self._bm25 is not None:
            found = self._bm25.search(queries, k)
            names = self.chunks["chunk_id"].to_numpy()
        else:
            import numpy as np

            found = self._store.search(self._embed(queries), k)
            names = np.array(self._store.ids, dtype=object)
        found = found.sort_values(["query", "rank"])
        found["chunk_id"] = names[found["passage"].to_numpy()]
        found["file"] = found["chunk_id"].map(self.files)
        if per_source:
            found = found[found.groupby(["query", "file"]).cumcount() < per_source]
        if most:
            found = found[found.groupby("query").cumcount() < most]
        found["rank"] = found.groupby("query").cumcount() + 1
        return found[columns].reset_index(drop=True)


def index(
    chunks: pd.DataFrame,
    retriever: str = "local/minilm",
    store: str = "numpy",
    folder: Path | None = None,
    *,
    mode: str = "cache",
    max_cost_usd: float | None = None,
    progress: bool = True,
) -> tuple[Index, dict[str, Any]]:
    """Embed the passages and put them into a store.

    Parameters
    ----------
    chunks : from `sources.corpus.chunk`.
    retriever : an embedder, as `models.embed.load` takes it, or 'bm25' for shared words, which needs none. Published:
        openai/text-embedding-3-large.
    store : 'numpy' or 'chroma' (published), see `retrieval.store`.
    folder : where the store lies; None: in memory.
    mode, max_cost_usd : of the embedder.

    Returns
    -------
    Index, and a dict: passages, different (texts), from_store (texts whose vectors were on disk already), embedded, without_vector,
    dimensions (0 with BM25), seconds.

    Raises
    ------
    ModelError : the embedder cannot be used, or not one passage got a vector.
    """
    import numpy as np

    start = time.perf_counter()
    different = int(chunks["text"].nunique())
    told = {"passages": len(chunks), "different": different, "from_store": 0, "embedded": 0, "without_vector": 0}
    if retriever == BM25:
        made = Index(chunks)
        return made, told | {"dimensions": 0, "seconds": time.perf_counter() - start}
    from factlab.models import embed
    from factlab.retrieval.store import open_store

    embedder = embed.load(retriever, mode=mode)
    texts = list(dict.fromkeys(chunks["text"]))
    before = _cached(retriever)
    encoded = embedder.encode(texts, max_cost_usd=max_cost_usd, progress=progress)
    told["from_store"] = _cached(retriever) - before
    failed = [error for error in encoded.error if error]
    if len(chunks) and (encoded.status != "scored").all():
        raise ModelError(f"{retriever}: no passage could be embedded. {failed[0] if failed else ''}".strip())
    told["embedded"] = different - told["from_store"] - len(failed)
    row = {text: number for number, text in enumerate(texts)}
    vectors = encoded.vectors[[row[text] for text in chunks["text"]]]
    told["without_vector"] = int((~np.isfinite(vectors).all(axis=1)).sum())
    place = open_store(store, folder, retriever)
    place.add(chunks["chunk_id"].tolist(), vectors)
    # What an older corpus had and this one has not must not be found.
    usable = chunks["chunk_id"] if store == "numpy" else chunks["chunk_id"][np.isfinite(vectors).all(axis=1)]
    place.keep(usable.tolist())
    made = Index(chunks, embedder, place)
    return made, told | {"dimensions": int(vectors.shape[1]), "seconds": time.perf_counter() - start}


def _cached(name: str) -> int:
    from factlab import models

    return models.usage().get(name, {}).get("cached", 0)


def index_sentence(told: dict[str, Any], retriever: str) -> str:
    """What `index` did, in words."""
    if retriever == BM25:
        return f"{told['passages']:,} passages, found by shared words (BM25); nothing was embedded"
    again = f"{told['from_store']:,} of {told['different']:,} different passages were embedded before"
    failed = f"; {told['without_vector']:,} have no vector and are never found" if told["without_vector"] else ""
    return f"{told['passages']:,} passages in {told['dimensions']} dimensions, {told['seconds']:.1f} s: {again}{failed}"


def of_run(
    run: Workspace, retriever: str, store: str = "numpy", mode: str = "cache", max_cost_usd: float | None = None
) -> Index:
    """The index that 10_index_corpus made, opened again from its table of passages and the vectors on disk.

    In a notebook opened by hand with no such table, the sample notes, cut as published, with a banner.

    Raises
    ------
    FileNotFoundError : the run has no such table; the message says what to run first.
    """
    from factlab import places

    if run.has("chunks") or not run.interactive:
        chunks = run.read("chunks")
    else:
        run.banner(
            "There is no table “chunks” from an earlier step, so this page works on the 12 sample notes. Run 10_index_corpus, or "
            "`factlab run`, to use your own sources."
        )
        chunks = corpus.chunk(corpus.read_corpus(places.samples("ms_exam_gen", "sources"))[0])
    return index(chunks, retriever, store, _folder(run, retriever, store), mode=mode, max_cost_usd=max_cost_usd)[0]


def _folder(run: Workspace, retriever: str, store: str) -> Path:
    """Vectors of two embedders never share a folder."""
    import re

    return run.folder / "index" / f"{store}-{re.sub(r'[^A-Za-z0-9.]+', '-', retriever)[-60:]}"


def make(
    run: Workspace,
    chunks: pd.DataFrame,
    retriever: str,
    store: str = "numpy",
    mode: str = "cache",
    max_cost_usd: float | None = None,
) -> tuple[Index, dict[str, Any]]:
    """`index` with its store in the folder of a run."""
    return index(chunks, retriever, store, _folder(run, retriever, store), mode=mode, max_cost_usd=max_cost_usd)


def sizes(manifest: pd.DataFrame) -> pd.DataFrame:
    """Passages of each document, for a figure: `document`, `passages`; documents without one are left out."""
    table = manifest[manifest["chunks"] > 0]
    return table.rename(columns={"title": "document", "chunks": "passages"})[["document", "passages"]]


def looked_at(documents: Sequence[corpus.Document], most: int = 500_000) -> list[corpus.Document]:
    """The first documents of together at most so many characters (one at least), whose sentences are looked at: it takes 5 s a million."""
    import itertools

    ends = itertools.accumulate(len(document.text) for document in documents)
    return [d for n, (d, end) in enumerate(zip(documents, ends, strict=True)) if n == 0 or end <= most]


def ways_to_cut(documents: Sequence[corpus.Document], size: int, overlap: int) -> pd.DataFrame:
    """What both ways of cutting do to the sentences: cut, passages, sentences, split (stand whole in no passage), share."""
    import pandas as pd

    rows = []
    for name, whole in (("after so many characters (published)", False), ("between sentences", True)):
        chunks = corpus.chunk(documents, size, overlap, whole)
        split, every = corpus.cut_sentences(documents, chunks)
        rows.append((name, len(chunks), every, split, split / every if every else None))
    table = pd.DataFrame(rows, columns=["cut", "passages", "sentences", "split", "share"])
    return table.astype({"share": "Float64"})


def split_sentence(split: tuple[int, int]) -> str:
    """How many sentences are cut, in words: (those that stand whole in no passage, all)."""
    if not split[0]:
        return "every sentence stands whole in some passage" if split[1] else "no sentences"
    return f"{split[0]:,} of {split[1]:,} sentences stand whole in no passage"


def warnings(
    manifest: pd.DataFrame, chunks: pd.DataFrame, told: dict[str, Any], split: tuple[int, int], sample: bool
) -> list[str]:
    """What to distrust in a corpus, from the numbers."""
    notes = []
    if sample:
        notes.append(
            "The sources are the sample notes, which a language model wrote for this project and no clinician reviewed: not for clinical use."
        )
    out = manifest[~manifest["included"]]
    if len(out):
        why = out["why"].value_counts()
        notes.append(f"{len(out)} of {len(manifest)} files are left out; most often: {why.index[0]} ({why.iloc[0]}).")
    notes += [f"{row.file}: {row.note}." for row in manifest[manifest["note"] != ""].itertuples()][:5]
    if split[0]:
        notes.append(
            f"{split_sentence(split)}: an item may rest on half a sentence. With whole_sentences "
            "none is cut that fits into a passage."
        )
    if told["without_vector"]:
        notes.append(f"{told['without_vector']} passages have no vector and can never be retrieved.")
    few = manifest[manifest["included"]]
    if len(few) and len(chunks):
        largest = few.sort_values("chunks").iloc[-1]
        if len(few) > 1 and largest["chunks"] > len(chunks) / 3:
            notes.append(
                f"{largest['title']} makes {100 * largest['chunks'] / len(chunks):.0f} % of the passages: retrieval will favour it."
            )
    if 0 < len(few) < 5:
        notes.append(
            f"Only {len(few)} {'document' if len(few) == 1 else 'documents'}: a synthesis item needs several sources, and an exam more than one view."
        )
    return notes
