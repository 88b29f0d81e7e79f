"""Texts as vectors: the mechanics with a made-up embedder, a tiny random BERT and a server on this machine, MiniLM where only it can tell."""

import json
import math
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server import Answer, Server, embedding, failure

from factlab import models
from factlab.models import embed, embed_local, embed_store, prices
from factlab.models.base import ModelError, ReplayMiss
from factlab.models.embed import Batch, Embedder, cut, unit
from factlab.models.embed_http import read_embeddings
from factlab.models.embed_store import Store, key


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """No key or endpoint of the machine that runs the tests has a part in them, and no count of an earlier test."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "FACTLAB_API_KEY")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(models, "_USAGE", {})


class Words:
    """An embedder of words: a text's vector says how often each letter opens a word; ten words fit."""

    def __init__(self, room=10, batch=3, fails=(), **identity):
        self.asked, self._room, self._batch, self._fails, self._identity = [], room, batch, fails, identity

    def identity(self):
        return {"model": "words", "room": self._room, **self._identity}

    def room(self):
        return self._room

    def count(self, texts):
        return [len(t.split()) for t in texts]

    @staticmethod
    def vector(text):
        found = np.zeros(26, np.float32)
        for word in text.split():
            found[ord(word[0].lower()) % 26] += 1
        return found

    def embed(self, texts, done):
        for start in reversed(range(0, len(texts), self._batch)):
            rows = range(start, min(start + self._batch, len(texts)))
            self.asked.append([texts[i] for i in rows])
            if any(f in texts[i] for i in rows for f in self._fails):
                done(Batch(rows, None, "it failed"))
            else:
                done(Batch(rows, np.array([self.vector(texts[i]) for i in rows]), tokens=len(rows), served="words-1"))


def words(store=None, mode="cache", **options) -> Embedder:
    return Embedder("words", Words(**options), mode=mode, store=Store(None) if store is None else store)


LONG = "One two three four five. Six seven eight nine ten. Alpha beta gamma. Delta epsilon zeta eta theta iota kappa."


# ------------------------------------------------------------------------------------------------ one vector for each text


def test_order_is_kept_and_the_same_text_embedded_once():
    texts = ["b a", "c", "b a", "d d d", "c", "e"]
    model = words(batch=2)
    found = model.encode(texts, progress=False)
    assert found.vectors.dtype == np.float32 and found.vectors.shape == (6, 26)
    np.testing.assert_allclose(found.vectors, [unit(Words.vector(t)) for t in texts], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-6)
    assert sorted(t for batch in model.backend.asked for t in batch) == ["b a", "c", "d d d", "e"]
    assert found.chunks.tolist() == [1] * 6 and found.tokens.tolist() == [2, 1, 2, 3, 1, 1]
    assert set(found.status) == {"scored"} and not any(found.error)
    np.testing.assert_array_equal(model(texts), found.vectors)


@pytest.mark.parametrize("nothing", [None, math.nan, "", "  \n", np.float64("nan")])
def test_no_text_is_a_row_of_nan(nothing):
    model = words()
    found = model.encode(["a", nothing], progress=False)
    assert found.status.tolist() == ["scored", "no_text"] and found.chunks.tolist() == [1, 0]
    assert np.isnan(found.vectors[1]).all() and not np.isnan(found.vectors[0]).any()
    assert model.backend.asked == [["a"]]


def test_nothing_but_no_text_and_nothing_at_all():
    assert words().encode([None, ""]).vectors.shape == (2, 0)
    assert words().encode([]).vectors.shape == (0, 0)


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ("one text", {}, "a list of texts"),
        (["a", 3], {}, "text 1 is a int"),
        (["a"], {"long": "cut"}, "'pool', 'error'"),
    ],
)
def test_what_cannot_be_embedded_is_said(texts, options, said):
    with pytest.raises(ModelError, match=said):
        words().encode(texts, **options)


def test_half_a_character_is_replaced():
    assert words().encode(["a \ud83d b"]).status.tolist() == ["scored"]


def test_a_text_that_fails_is_a_row_and_is_asked_again():
    store = Store(None)
    texts = ["good", "bad", "fine"]
    found = words(store, batch=1, fails=["bad"]).encode(texts, progress=False)
    assert found.status.tolist() == ["scored", "error", "scored"]
    assert found.error.tolist() == [None, "it failed", None]
    assert np.isnan(found.vectors[1]).all()
    again = words(store)
    assert again.encode(texts, progress=False).status.tolist() == ["scored"] * 3
    assert again.backend.asked == [["bad"]]


@pytest.mark.parametrize("bad", [np.zeros(26), np.full(26, np.nan), np.full(26, np.inf)])
def test_a_vector_of_no_length_is_an_error(bad):
    model = words()
    model.backend.vector = lambda text: bad.astype(np.float32)
    found = model.encode(["a"], progress=False)
    assert found.status.tolist() == ["error"] and "not finite" in found.error[0] and len(model.store) == 0


# -------------------------------------------------------------------------------------------------------------- long texts


def test_long_texts_are_cut_at_sentences_and_pooled_by_tokens():
    found = words().encode(["short", LONG, "x"], progress=False)
    assert found.chunks.tolist() == [1, 2, 1] and found.tokens.tolist() == [1, 20, 1]
    chunks = [
        "One two three four five. Six seven eight nine ten.",
        "Alpha beta gamma. Delta epsilon zeta eta theta iota kappa.",
    ]
    assert found.chunk_texts == ["short", *chunks, "x"] and found.chunk_tokens.tolist() == [1, 10, 10, 1]
    own = np.array([unit(Words.vector(c)) for c in chunks])
    np.testing.assert_allclose(found.of(1), own, atol=1e-7)
    np.testing.assert_allclose(found.vectors[1], unit(10 * own[0] + 10 * own[1]), atol=1e-6)
    assert found.table().columns.tolist() == ["status", "chunks", "tokens", "error"]


def test_weights_of_chunks_are_their_tokens():
    text = "A a a a a a a a a. B b."
    found = words().encode([text], progress=False)
    assert found.chunk_tokens.tolist() == [9, 2]
    np.testing.assert_allclose(found.vectors[0] @ unit(Words.vector("a")), 9 / math.hypot(9, 2), atol=1e-6)


def test_long_error_embeds_no_chunk_and_says_why():
    model = words()
    found = model.encode([LONG, "x"], long="error", progress=False)
    assert found.status.tolist() == ["error", "scored"] and "20 tokens" in found.error[0]
    assert np.isnan(found.vectors[0]).all() and np.isnan(found.of(0)).all() and found.chunks.tolist() == [2, 1]
    assert model.backend.asked == [["x"]]
    # The chunks may be in the store from elsewhere; the answer is the same.
    model.encode([LONG], progress=False)
    assert model.encode([LONG], long="error").status.tolist() == ["error"]


def test_one_failed_chunk_fails_its_text():
    found = words(batch=1, fails=["Six"]).encode([LONG], progress=False)
    assert found.status.tolist() == ["error"] and np.isnan(found.vectors[0]).all()
    assert np.isnan(found.of(0)).all(axis=1).tolist() == [True, False]


CUTS = [
    ("a sentence that is too long is halved at a space", "a b c d e f g h", 4, ["a b c d", "e f g h"]),
    ("and again", "a b c d e f g h i", 3, ["a b", "c d", "e f", "g h i"]),
    ("two sentences", "It is so. It was not.", 3, ["It is so.", "It was not."]),
    ("as many as fit", "Go on. Go on. Go on.", 4, ["Go on. Go on.", "Go on."]),
    ("no sentence, only rules", "---\n" * 6, 4, ["--- --- --- ---", "--- ---"]),
]


@pytest.mark.parametrize(("text", "room", "chunks"), [row[1:] for row in CUTS], ids=[row[0] for row in CUTS])
def test_cut(text, room, chunks):
    assert cut(text, Words().count, room) == chunks


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=30), min_size=1, max_size=40), st.integers(3, 20))
@settings(max_examples=60, deadline=None)
def test_chunks_fit_and_lose_nothing(parts, room):
    def letters(texts):  # a tokenizer by the letter, with a token more for what is put together
        return [len(t.replace(" ", "")) + t.count(". ") for t in texts]

    text = " ".join(p.capitalize() + "." for p in parts)
    chunks = cut(text, letters, room)
    assert max(letters(chunks)) <= room
    assert "".join(chunks).replace(" ", "") == text.replace(" ", "")


def test_a_window_that_holds_nothing_is_said():
    with pytest.raises(ModelError, match="too small"):
        cut("abc", lambda texts: [5 for _ in texts], 3)


# --------------------------------------------------------------------------------------------------------------- the store


def test_what_was_embedded_is_found_again(tmp_path):
    texts = ["a", LONG, "b", None]
    first = words(Store(tmp_path / "e.sqlite")).encode(texts, progress=False)
    again = words(Store(tmp_path / "e.sqlite"))
    second = again.encode(texts, progress=False)
    assert again.backend.asked == []
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.chunk_vectors, second.chunk_vectors)
    assert first.chunk_texts == second.chunk_texts and first.tokens.tolist() == second.tokens.tolist()
    other = words(again.store, revision=2)
    other.encode(["a"], progress=False)
    assert other.backend.asked == [["a"]]


def test_chunks_are_shared_between_texts():
    model = words()
    model.encode([LONG], progress=False)
    model.encode([LONG[: LONG.index("Alpha")] + "Another sentence follows here."], progress=False)
    assert model.backend.asked[1:] == [["Another sentence follows here."]]


def test_modes():
    store = Store(None)
    with pytest.raises(ReplayMiss, match=r"2 embeddings of words.*\nb b\n"):
        words(store, "replay").encode(["b b", "c", "b b"])
    assert len(store) == 0
    words(store).encode(["b b", "c"], progress=False)
    assert words(store, "replay").encode(["c", "b b", ""]).status.tolist() == ["scored", "scored", "no_text"]
    live = words(store, "live")
    live.encode(["c", "c"], progress=False)
    assert live.backend.asked == [["c"]]
    with pytest.raises(ModelError, match="live, cache, replay"):
        embed.load("local/minilm", mode="fresh")


def test_replay_misses_a_chunk_that_was_never_embedded():
    store = Store(None)
    words(store).encode([LONG], long="error", progress=False)
    assert words(store, "replay").encode([LONG], long="error").status.tolist() == ["error"]
    with pytest.raises(ReplayMiss, match="2 embeddings"):
        words(store, "replay").encode([LONG])


def test_an_interrupted_run_keeps_what_it_had(tmp_path):
    texts = [f"{c} text" for c in "abcdefgh"]

    class Dies(Words):
        def embed(self, texts, done):
            def count(batch):
                if len(self.asked) == 3:
                    raise KeyboardInterrupt
                done(batch)

            super().embed(texts, count)

    path = tmp_path / "e.sqlite"
    with pytest.raises(KeyboardInterrupt):
        Embedder("words", Dies(batch=2), store=Store(path)).encode(texts, progress=False)
    rest = words(Store(path), batch=2)
    np.testing.assert_allclose(rest(texts), [unit(Words.vector(t)) for t in texts], atol=1e-7)
    assert len([t for batch in rest.backend.asked for t in batch]) == 4


DAMAGE = [
    ("cut short", lambda blob: blob[:-3]),
    ("half of it", lambda blob: blob[: len(blob) // 8 * 4]),
    ("empty", lambda blob: b""),
    ("no bytes at all", lambda blob: None),
    ("all ones", lambda blob: b"\xff" * len(blob)),
    ("a bit flipped", lambda blob: bytes([blob[0], blob[1], blob[2], blob[3] ^ 0x08]) + blob[4:]),
]


@pytest.mark.parametrize("damage", [row[1] for row in DAMAGE], ids=[row[0] for row in DAMAGE])
def test_a_damaged_vector_is_told_in_a_sentence(tmp_path, damage):
    path = tmp_path / "e.sqlite"
    words(Store(path)).encode(["a b c d e f g h i j"], progress=False)
    with sqlite3.connect(path) as db:
        (blob,) = db.execute("SELECT vector FROM vectors").fetchone()
        first = next(i for i in range(0, len(blob), 4) if any(blob[i : i + 4]))
        db.execute("UPDATE vectors SET vector = ?", (damage(blob[first:] + blob[:first]),))
    with pytest.raises(ModelError, match=r"damaged vector .*[Mm]ove the file away"):
        words(Store(path)).encode(["a b c d e f g h i j"])
    words(Store(path), "live").encode(["a b c d e f g h i j"], progress=False)  # the way out that it names
    assert words(Store(path), "replay").encode(["a b c d e f g h i j"]).status.tolist() == ["scored"]


def test_a_damaged_list_of_chunks_is_told(tmp_path):
    path = tmp_path / "e.sqlite"
    words(Store(path)).encode([LONG], progress=False)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE cuts SET chunks = '[[\"a'")
    with pytest.raises(ModelError, match="damaged list of chunks"):
        words(Store(path)).encode([LONG])


def test_a_file_that_is_no_store_is_told(tmp_path):
    (tmp_path / "e.sqlite").write_text("not a database, " * 100)
    with pytest.raises(ModelError, match="not a usable SQLite file: move it away"):
        Store(tmp_path / "e.sqlite")


def test_keys_hold_what_decides_a_vector():
    local = embed.load("local/minilm", store=Store(None))
    same = embed.load("local/minilm", store=Store(None), device="cpu", token_budget=7)
    assert key(local.backend.identity(), "a") == key(same.backend.identity(), "a")
    others = [{"dtype": "bfloat16"}, {"window": 64}, {"prompt": "query: "}]
    different = [embed.load("local/minilm", store=Store(None), **o).backend.identity() for o in others]
    assert len({key(i, "a") for i in [local.backend.identity(), *different]}) == 4
    here = embed.load("openai/m@http://localhost:1/v1", store=Store(None), api_key="sk-secretsecret", timeout=3)
    assert "secret" not in json.dumps(here.backend.identity()) and "localhost:1/v1" in json.dumps(
        here.backend.identity()
    )


def test_a_notebook_that_finds_all_needs_no_torch(tmp_path):
    path = tmp_path / "e.sqlite"
    identity = embed.load("local/minilm", store=Store(None)).backend.identity()
    Store(path).put_vectors("local/minilm", [(key(identity, "a"), unit(np.ones(384)), 1)])
    code = f"""
import sys
from factlab.models import embed
found = embed.load("local/minilm", store={str(path)!r}).encode(["a", "a"], progress=False)
assert found.vectors.shape == (2, 384) and found.status.tolist() == ["scored"] * 2
print([m for m in ("torch", "transformers", "tokenizers", "sentence_transformers", "pandas", "openai") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_usage_is_counted_for_the_run_record():
    store = Store(None)
    words(store).encode(["a", "b", "b", None], progress=False)
    words(store, fails=["c"], batch=1).encode(["a", "c"], progress=False)
    found = models.usage()["words"]
    assert {k: found[k] for k in ("calls", "cached", "errors", "prompt_tokens", "usd")} == {
        "calls": 5,
        "cached": 1,
        "errors": 1,
        "prompt_tokens": 2,
        "usd": 0.0,
    }
    assert found["served"] == ["words-1"]


def test_names():
    for name in ("local/minlm", "st/", "hf/x", "minilm"):
        with pytest.raises(ModelError, match="no embedder called"):
            embed.load(name)
    with pytest.raises(ModelError, match="did you mean local/minilm"):
        embed.load("local/minlm")


def test_cache_stats_counts_embeddings(tmp_path, monkeypatch, capsys):
    from factlab.cli import main

    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["cache", "stats"]) == 0 and "embeddings" not in capsys.readouterr().out
    Embedder("words", Words(), store=embed_store.default()).encode(["a b", "c"], progress=False)
    assert main(["cache", "stats"]) == 0
    shown = capsys.readouterr().out
    assert "2 embeddings in outputs/cache/embeddings.sqlite" in shown and "words: 2 embeddings, 3 tokens" in shown


# ----------------------------------------------------------------------------------------------------------------- servers


@pytest.fixture
def server():
    with Server() as running:
        yield running


def served(server, store=None, **options) -> Embedder:
    options = {"max_retries": 2, "timeout": 5} | options
    return embed.load(f"openai/tiny@{server.url}", store=Store(None) if store is None else store, **options)


def test_a_server_gets_several_texts_at_a_time(server):
    texts = [f"text {i}" for i in range(10)] + ["text 3"]
    found = served(server, batch_size=4).encode(texts, progress=False)
    np.testing.assert_allclose(found.vectors, [unit(embedding(t)) for t in texts], atol=1e-6)
    assert sorted(len(seen.body["input"]) for seen in server.requests) == [2, 4, 4]
    assert all(seen.path == "/v1/embeddings" and seen.body["model"] == "tiny" for seen in server.requests)
    usage = models.usage()[f"openai/tiny@{server.url}"]
    assert usage["prompt_tokens"] == 20 and usage["served"] == ["tiny-served"] and usage["usd"] == 0.0


def test_vectors_are_put_where_their_number_says(server):
    data = [{"index": i, "embedding": embedding(t)} for i, t in ((1, "b"), (0, "a"))]
    server.script("a\nb", Answer(top={"data": data}))
    np.testing.assert_allclose(served(server)(["a", "b"]), [unit(embedding("a")), unit(embedding("b"))], atol=1e-6)


def test_only_what_is_missing_is_sent(server):
    store = Store(None)
    served(server, store)(["a", "b"])
    served(server, store)(["b", "c"])
    assert [seen.body["input"] for seen in server.requests] == [["a", "b"], ["c"]]


def test_a_busy_server_is_asked_again(server):
    server.script("a", failure(429), failure(503), Answer())
    assert served(server).encode(["a"], progress=False).status.tolist() == ["scored"]
    assert server.count() == 3


def test_one_refused_text_costs_the_others_nothing(server):
    server.script("a\nbad\nc", failure(400, "input is too long"))
    server.script("bad", failure(400, "input is too long"))
    found = served(server).encode(["a", "bad", "c"], progress=False)
    assert found.status.tolist() == ["scored", "error", "scored"]
    assert found.error[1] == "127.0.0.1 answered 400: input is too long"


def test_a_key_that_is_refused_ends_it_and_what_came_before_is_kept(server):
    store = Store(None)
    server.script("b", failure(401, "no such key"))
    with pytest.raises(ModelError, match="key was not accepted"):
        served(server, store, batch_size=1, concurrency=1)(["a", "b", "c"])
    assert len(store) == 1


ANSWERS = [
    ("one too few", Answer(top={"data": [{"index": 0, "embedding": [1.0]}]}), "1 embeddings for 2 texts"),
    ("none", Answer(top={"data": []}), "0 embeddings for 2 texts"),
    ("null", Answer(top={"data": None}), "no embeddings"),
    ("a chat reply", Answer(raw='{"choices": []}'), "no embeddings"),
    ("a list", Answer(raw="[1]"), "not a JSON object"),
    ("an error in a 200", Answer(top={"error": {"message": "overloaded"}}), "overloaded"),
    ("no JSON", Answer(raw='{"data": ['), "not valid JSON"),
    ("a web page", Answer(raw="<html>", headers={"content-type": "text/html"}), "JSON"),
    ("hung up", Answer(drop="midway"), "connection failed"),
    (
        "the same number twice",
        Answer(top={"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]}),
        "not numbered",
    ),
    (
        "two lengths",
        Answer(top={"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [2.0, 3.0]}]}),
        "one length",
    ),
    (
        "no numbers",
        Answer(top={"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": None}]}),
        "lists of numbers",
    ),
]


@pytest.mark.parametrize(("answer", "said"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_an_answer_without_vectors_is_an_error(server, answer, said):
    server.script("a\nb", answer)
    found = served(server, max_retries=0).encode(["a", "b"], progress=False)
    assert found.status.tolist() == ["error", "error"] and said in found.error[0]


def test_an_answer_without_usage_or_numbers_is_read():
    found = read_embeddings({"data": [{"embedding": [1, 2]}, {"embedding": [3, 4]}]}, 2, "m")
    assert found.vectors.tolist() == [[1, 2], [3, 4]] and found.prompt_tokens is None and found.model == "m"


def test_cost_is_checked_before_anything_is_sent(server, monkeypatch):
    row = {
        "host": ".*",
        "model": "tiny",
        "input_usd": "0.13",
        "output_usd": "0",
        "request_usd": "0",
        "as_of": "2025-08",
    }
    monkeypatch.setattr(prices, "price_table", lambda path=None: [row])
    monkeypatch.setattr(prices, "is_loopback", lambda url: False)
    model = served(server)
    texts = [f"text {i} " + "word " * 600 for i in range(100)]  # about 1,000 tokens each by the estimate
    with pytest.raises(ModelError, match="stopped before sending: 100 calls"):
        model.encode(texts, max_cost_usd=0.01)
    assert server.count() == 0
    model.encode(texts, max_cost_usd=0.02, progress=False)
    name = f"openai/tiny@{server.url}"
    tokens = 602 * 100  # as the server counts: words
    assert models.usage()[name]["prompt_tokens"] == tokens
    assert models.usage()[name]["usd"] == pytest.approx(tokens * 0.13e-6)
    model.encode(texts, max_cost_usd=0.0)  # all in the store: nothing to pay


def test_a_window_cuts_and_an_unknown_one_is_noted(server):
    text = "A sentence of some length. " * 20
    found = served(server, window=50).encode([text], progress=False)
    assert found.chunks[0] == 4 and all(prices.estimate_tokens(t) <= 50 for t in found.chunk_texts)
    whole = served(server)
    assert whole.encode([text], progress=False).chunks[0] == 1
    assert "some servers cut" in whole.backend.notes[0]
    assert embed.load("openai/text-embedding-3-large", store=Store(None)).backend.room() == 8191


# ------------------------------------------------------------------------------------------------------------ local models

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    ".",
    ",",
    "##s",
    "the",
    "heart",
    "cell",
    "drug",
    "dose",
    "rose",
    "fell",
    "in",
    "of",
    "a",
    "patient",
    "gene",
    "was",
    "not",
]
TEXTS = ["The heart.", "a drug dose was not in the cells of a patient", "gene", "The gene fell. " * 3, "of of of of of"]


def save_tiny(folder, pooling="mean", window=16, truncation=False, **more):
    """A two-layer BERT with random weights, in the form that sentence-transformers reads."""
    torch = pytest.importorskip("torch")
    import transformers
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers import models as kinds

    tokenizer = Tokenizer(kinds.WordPiece({w: i for i, w in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    if truncation:  # as in the file of MiniLM
        tokenizer.enable_truncation(4)
        tokenizer.enable_padding(length=4)
    names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **names).save_pretrained(
        folder
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=32, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    kinds = ["Transformer", "Pooling", "Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{k}"}
        for i, (k, p) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{m}": m.startswith(pooling) for m in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **modes, **more}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": window, "do_lower_case": False}))
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny"))


def local(folder, **options) -> Embedder:
    return embed.load(f"st/{folder}", store=Store(None), **options)


def by_hand(folder, texts, pooling="mean"):
    """One text after the other, no padding, no batch."""
    import torch
    import transformers

    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    with torch.inference_mode():
        for text in texts:
            ids = torch.tensor([tokenizer(text, truncation=False, padding=False)["input_ids"]])
            hidden = model(ids).last_hidden_state[0].numpy()
            found.append(unit(hidden.mean(0) if pooling == "mean" else hidden[0]))
    return np.array(found)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_batches_give_what_single_texts_give(tmp_path, pooling):
    folder = save_tiny(tmp_path, pooling, truncation=True)
    expected = by_hand(folder, TEXTS, pooling)
    assert np.abs(expected[:, None] - expected).max(-1)[~np.eye(5, dtype=bool)].min() > 0.01
    for options in ({}, {"token_budget": 1}, {"token_budget": 20}):
        model = local(folder, **options)
        np.testing.assert_allclose(model(TEXTS), expected, atol=1e-5)
        assert type(model.backend._model).__name__ == "BertModel"  # without sentence-transformers


def test_long_texts_keep_to_the_window(tiny):
    text = "The heart rose. A drug dose was not in the cells of a patient, the gene fell. Of a cell."
    model = local(tiny)
    found = model.encode([text, "gene", "gene " * 40], progress=False)
    assert found.chunks.tolist()[1] == 1 and found.chunks[0] >= 2 and max(found.chunk_tokens) <= 14
    assert found.tokens.tolist() == [25, 1, 40]
    np.testing.assert_allclose(found.chunk_vectors, by_hand(tiny, found.chunk_texts), atol=1e-5)
    pooled = unit(found.chunk_tokens[: found.chunks[0]] @ found.of(0))
    np.testing.assert_allclose(found.vectors[0], pooled, atol=1e-6)
    assert local(tiny, window=8).encode([text], progress=False).chunk_tokens.max() <= 6
    assert local(tiny, window=32).encode([text], progress=False).chunks.tolist() == [1]


def test_what_the_model_has_no_tokens_for_is_no_text(tiny):
    model = local(tiny)
    assert model.encode(["\u200b", "gene"], progress=False).status.tolist() == ["no_text", "scored"]
    replay = Embedder("x", embed.load(f"st/{tiny}", store=Store(None)).backend, mode="replay", store=model.store)
    assert replay.encode(["\u200b"]).status.tolist() == ["no_text"]


def test_windows_that_cannot_be(tiny):
    with pytest.raises(ModelError, match="window=64, but the model has 32 positions"):
        local(tiny, window=64)(["gene"])
    with pytest.raises(ModelError, match="leaves no room"):
        local(tiny, window=2)(["gene"])


def test_a_prompt_is_read_before_every_text(tiny):
    np.testing.assert_allclose(local(tiny, prompt="the ")(["gene"]), by_hand(tiny, ["the gene"]), atol=1e-5)


RECIPES = [
    ("as it is", {}, {}, embed_local.Recipe("mean", 16)),
    ("maximum", {"1_Pooling/config.json": {"pooling_mode_max_tokens": True}}, {}, embed_local.Recipe(None, 16)),
    (
        "two poolings",
        {"1_Pooling/config.json": {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True}},
        {},
        embed_local.Recipe(None, 16),
    ),
    ("pooling, new form", {"1_Pooling/config.json": {"pooling_mode": "cls"}}, {}, embed_local.Recipe("cls", 16)),
    (
        "a prompt",
        {"config_sentence_transformers.json": {"prompts": {"q": "query: "}, "default_prompt_name": "q"}},
        {},
        embed_local.Recipe("mean", 16, "query: "),
    ),
    (
        "prompts, none by default",
        {"config_sentence_transformers.json": {"prompts": {"q": "query: "}, "default_prompt_name": None}},
        {},
        embed_local.Recipe("mean", 16),
    ),
    (
        "prompt not averaged",
        {"1_Pooling/config.json": {"pooling_mode": "mean", "include_prompt": False}},
        {},
        embed_local.Recipe(None, 16),
    ),
    (
        "lower case by hand",
        {"sentence_bert_config.json": {"max_seq_length": 9, "do_lower_case": True}},
        {},
        embed_local.Recipe(None, 9),
    ),
    ("another architecture", {"config.json": {"model_type": "qwen2"}}, {}, embed_local.Recipe(None, 16)),
    ("no modules", {}, {"modules.json", "sentence_bert_config.json"}, embed_local.Recipe("mean", None)),
]


@pytest.mark.parametrize(("files", "gone", "recipe"), [r[1:] for r in RECIPES], ids=[r[0] for r in RECIPES])
def test_recipes_are_read_from_the_files(tiny, tmp_path, files, gone, recipe):
    import shutil

    folder = shutil.copytree(tiny, tmp_path / "copy")
    before = local(folder).backend.identity()
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    for name in gone:
        (folder / name).unlink()
    assert embed_local.read_recipe(folder) == recipe
    # Whatever changes the vectors changes the key, also in a folder inside the folder.
    assert (local(folder).backend.identity() == before) == (not files and not gone)


def test_weights_that_cannot_be_loaded_are_told(tiny, tmp_path):
    import shutil

    folder = shutil.copytree(tiny, tmp_path / "copy")
    (folder / "config.json").write_text('{"model_type": "bert", "vocab_size": 7}')
    with pytest.raises(ModelError, match="copy cannot be loaded: "):
        local(folder)(["gene"])


def test_pickled_weights_are_refused(tiny, tmp_path):
    import shutil

    folder = shutil.copytree(tiny, tmp_path / "copy")
    (folder / "3_Dense").mkdir()
    (folder / "3_Dense" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ModelError, match="3_Dense has no .safetensors"):
        local(folder)
    with pytest.raises(ModelError, match="neither a folder here nor"):
        embed.load("st/no/such-model")


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 2000))
@settings(max_examples=60, deadline=None)
def test_batches_hold_every_row_once_and_keep_to_the_budget(lengths, budget):
    found = embed_local.batches(lengths, budget)
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    for batch in found:
        sizes = [lengths[i] for i in batch]
        assert sizes == sorted(sizes, reverse=True) and (len(batch) == 1 or len(batch) * sizes[0] <= budget)


def test_sorting_leaves_little_padding():
    """What makes it fast, counted instead of timed: tokens computed, padding included, against a loop over batches of 32."""
    from benchmarks.embedding import mixed_texts

    lengths = [len(t.split()) + 2 for t in mixed_texts()]
    ours = sum(len(b) * lengths[b[0]] for b in embed_local.batches(lengths, 2048))
    loop = sum(32 * max(lengths[i : i + 32]) for i in range(0, len(lengths), 32))
    assert ours < 1.1 * sum(lengths) and loop > 3 * ours


# -------------------------------------------------------------------------------------------------- sentence-transformers


@pytest.mark.slow
def test_minilm_is_what_sentence_transformers_gives():
    from benchmarks.embedding import mixed_texts
    from sentence_transformers import SentenceTransformer

    from factlab.models import weights

    assert embed_local.read_recipe(weights.minilm()) == embed_local.MINILM
    texts = [*mixed_texts(40), "Größe: 5 µm — naïve café 中文 😀", "x", "A\nB\tC", " spaced "]
    model = embed.load("local/minilm", store=Store(None))
    found = model.encode(texts, progress=False)
    expected = SentenceTransformer(str(weights.minilm())).encode(texts)
    assert found.chunks.max() == 1
    np.testing.assert_allclose(found.vectors, expected, atol=1e-5)


@pytest.mark.slow
def test_minilm_reads_a_long_text_to_its_end():
    head = "Aspirin lowers the risk of heart attacks in men who had one before. " * 30
    tail = "The orchestra played a waltz under the chestnut trees of the park. " * 30
    model = embed.load("local/minilm", store=Store(None))
    found = model.encode([head, head + tail, tail], progress=False)
    assert found.chunks.min() >= 2 and found.chunk_tokens.max() <= 254
    near, far = found.vectors @ found.vectors[1], found.vectors[0] @ found.vectors[2]
    assert far < 0.3 and near[0] > 0.6 and near[2] > 0.6


@pytest.mark.slow
def test_other_modules_are_left_to_sentence_transformers(tmp_path):
    import torch
    from sentence_transformers import SentenceTransformer

    folder = save_tiny(tmp_path, "max")
    model = local(folder)
    found = model.encode([*TEXTS, "gene " * 40], progress=False)
    assert type(model.backend._model).__name__ == "SentenceTransformer" and found.chunks.tolist() == [1] * 5 + [4]
    theirs = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    np.testing.assert_allclose(found.chunk_vectors, theirs.encode(found.chunk_texts), atol=1e-5)
    with_prompt = local(folder, prompt="the ")(["gene"])
    np.testing.assert_allclose(with_prompt, theirs.encode(["gene"], prompt="the "), atol=1e-5)


@pytest.mark.slow
def test_models_saved_by_sentence_transformers_are_read(tmp_path):
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(save_tiny(tmp_path / "made")), device="cpu")
    theirs.save(str(tmp_path / "saved"))
    np.testing.assert_allclose(local(tmp_path / "saved")(TEXTS), theirs.encode(TEXTS), atol=1e-5)
