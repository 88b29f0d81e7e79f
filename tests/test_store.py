"""Stores of vectors: both kinds give the same table, survive on disk, and refuse what does not belong together."""

import sys

import numpy as np
import pytest

from factlab.retrieval import dense_search
from factlab.retrieval.store import KINDS, StoreError, open_store

IDS = [f"p{i}" for i in range(40)]
QUERIES = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)


@pytest.fixture(params=KINDS)
def kind(request):
    if request.param == "chroma":
        pytest.importorskip("chromadb", reason="chromadb is not installed")
    return request.param


def vectors(n: int = 40, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def test_search_is_that_of_every_passage(kind):
    store = open_store(kind)
    store.add(IDS, vectors())
    found, right = store.search(QUERIES, 4), dense_search(QUERIES, vectors(), 4, "cosine")
    assert list(found) == list(right) and found.dtypes.tolist() == right.dtypes.tolist()
    assert found[["query", "rank", "passage"]].equals(right[["query", "rank", "passage"]])
    assert np.allclose(found["score"], right["score"], atol=1e-5)
    assert store.ids == IDS


def test_a_known_passage_gets_its_new_vector(kind):
    store = open_store(kind)
    store.add(IDS[:3], vectors(3))
    store.add(["p2", "new"], QUERIES[:2])
    assert store.ids == ["p0", "p1", "p2", "new"]
    found = store.search(QUERIES[:2], 1)
    assert found["passage"].tolist() == [2, 3] and np.allclose(found["score"], 1, atol=1e-5)


def test_what_is_not_kept_is_not_found(kind):
    store = open_store(kind)
    store.add(IDS, vectors())
    store.keep(["p7", "p3"])
    assert store.ids == ["p7", "p3"] and len(store) == 2
    found = store.search(vectors()[[3]], 9)
    assert found["passage"].tolist() == [1, 0]


def test_more_passages_than_a_database_takes_at_once(kind, tmp_path):
    many = [f"p{i}" for i in range(33_000)]
    store = open_store(kind, tmp_path, "e")
    store.add(many, vectors(33_000, 2))
    store.keep(many[1:])
    again = open_store(kind, tmp_path, "e")
    assert again.ids == many[1:]
    assert again.search(vectors(33_000, 2)[[9]], 1)["score"].iloc[0] == pytest.approx(1, abs=1e-5)


def test_lies_on_disk(kind, tmp_path):
    open_store(kind, tmp_path, "e").add(IDS, vectors())
    again = open_store(kind, tmp_path, "e")
    assert again.ids == IDS
    assert again.search(vectors()[[5]], 1)["passage"].tolist() == [5]


def test_a_text_without_vector_is_never_found(kind):
    store, given = open_store(kind), vectors()
    given[5] = np.nan
    store.add(IDS, given)
    found = store.search(np.vstack([QUERIES[:1], np.full((1, 6), np.nan)]), 40)
    assert len(found) == 39 and set(found["query"]) == {0}
    assert "p5" not in [store.ids[i] for i in found["passage"]]


def test_nothing_in_it(kind):
    assert open_store(kind).search(QUERIES, 3).empty


@pytest.mark.parametrize(
    ("ids", "given", "said"),
    [
        (["a", "a"], vectors(2), "twice"),
        (["a"], vectors(2), "one vector for each"),
        (["a"], vectors(1, 5), "another embedder"),
    ],
)
def test_what_does_not_fit(kind, ids, given, said):
    store = open_store(kind)
    store.add(IDS, vectors())
    with pytest.raises(StoreError, match=said):
        store.add(ids, given)


def test_two_embedders_never_meet(kind, tmp_path):
    open_store(kind, tmp_path, "small")
    with pytest.raises(StoreError, match="'small'"):
        open_store(kind, tmp_path, "large")
    with pytest.raises(StoreError, match="kind"):
        open_store(next(k for k in KINDS if k != kind), tmp_path, "small")


def test_an_unknown_kind():
    with pytest.raises(StoreError, match="numpy, chroma"):
        open_store("faiss")


def test_without_chroma_it_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(StoreError, match=r"pip install 'factlab\[chroma\]'"):
        open_store("chroma")


def test_a_damaged_store(tmp_path):
    open_store("numpy", tmp_path).add(IDS, vectors())
    (tmp_path / "vectors.npy").write_bytes(b"nothing")
    with pytest.raises(StoreError, match="damaged"):
        open_store("numpy", tmp_path)
