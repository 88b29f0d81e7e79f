"""Texts as vectors, by name: `embed.load("local/minilm").encode(texts)` gives one vector for each text (CheckEmbed, sections 2 and 3).

===========================  =======================================================================
name                         what it is
===========================  =======================================================================
local/minilm                 all-MiniLM-L6-v2, built in
st/<id or folder>            any sentence-transformers model in safetensors, run here
openai/<model>               the OpenAI API
openai/<model>@<base url>    any server that has an `/embeddings` endpoint of that protocol
===========================  =======================================================================

Every vector has length 1, so that a dot product is a cosine. What is longer than a model takes in at once is never cut off: it is
cut into chunks at sentence ends, and the chunks' vectors are pooled. Every vector goes through the store of the checkout (see
`embed_store`): what was embedded once is neither computed nor paid for again, and finding it there loads no model.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from factlab.models.base import Call, ModelError, ReplayMiss
from factlab.models.cache import MODES
from factlab.models.embed_store import Store, key
from factlab.models.progress import bar
from factlab.text import sentences

if TYPE_CHECKING:
    import pandas as pd

LONG = ("pool", "error")


@dataclass(frozen=True)
class Batch:
    """What a model hands over the moment it is there: vectors for some of the texts, or why there are none.

    `rows` (m,) are numbers of the texts asked for, `vectors` (m, d) float32 or None, `tokens` what was read, for the bill.
    """

    rows: Sequence[int]
    vectors: np.ndarray | None
    error: str | None = None
    tokens: int = 0
    served: str = ""


class Backend(Protocol):
    """What stands behind a name: local weights or a server."""

    def identity(self) -> dict[str, Any]:
        """What identifies a vector besides its text; asking loads nothing."""

    def room(self) -> int | None:
        """Tokens of text that fit into the model at once; None where that is not known."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without those that the model puts around it."""

    def embed(self, texts: Sequence[str], done: Callable[[Batch], None]) -> None:
        """Embed texts that fit, in any order; `done` is called with each batch as soon as it is complete."""


@dataclass(frozen=True)
class Embedded:
    """Texts as vectors, in input order.

    Attributes
    ----------
    vectors : (n, d) float32, each of length 1; a text that has none is a row of NaN. d is 0 where no text has one.
    chunks : (n,) int, how many pieces each text was cut into: 1 for one that fits, 0 for one without text.
    tokens : (n,) int, tokens of each text without those that the model puts around it: by the model's tokenizer, for a server
        estimated (bytes over 3).
    status : (n,) str: 'scored', 'no_text' (missing, blank, or nothing the model has tokens for) or 'error'.
    error : (n,) why there is no vector; None where there is one.
    chunk_texts, chunk_tokens, chunk_vectors : of every piece of every text, one after the other: list of str, (m,), (m, d), with
        m = chunks.sum(). `of` gives those of one text.
    """

    vectors: np.ndarray
    chunks: np.ndarray
    tokens: np.ndarray
    status: np.ndarray
    error: np.ndarray
    chunk_texts: list[str]
    chunk_tokens: np.ndarray
    chunk_vectors: np.ndarray

    def of(self, row: int) -> np.ndarray:
        """(chunks[row], d) vectors of the pieces of one text, for comparing texts chunk by chunk."""
        ends = np.cumsum(self.chunks)
        return self.chunk_vectors[ends[row] - self.chunks[row] : ends[row]]

    def table(self) -> pd.DataFrame:
        """status, chunks, tokens, error: one row a text."""
        import pandas as pd

        return pd.DataFrame({name: getattr(self, name) for name in ("status", "chunks", "tokens", "error")})


def load(name: str, *, mode: str = "cache", store: Store | Path | str | None = None, **options: Any) -> Embedder:
    """An embedder by name; nothing heavy is loaded and nothing is sent until a vector is missing.

    Parameters
    ----------
    name : see the table at the top of this module.
    mode : 'cache' (embed only what is not in the store), 'live' (embed everything anew, and keep it), 'replay' (embed nothing; a
        text that is not in the store is an error that shows it).
    store : a store or its path; default: the checkout's own.
    options : `window` for all: longest chunk in tokens (default: what the model takes in). `device`, `dtype`, `token_budget`,
        `prompt` for local models; `concurrency`, `requests_per_minute`, `tokens_per_minute`, `timeout`, `max_retries`,
        `batch_size` for servers.

    Raises
    ------
    ModelError : the name is none of these, or there are no such weights.
    """
    if mode not in MODES:
        raise ModelError(f"mode {mode!r} is none of {', '.join(MODES)}")
    kind, _, rest = name.partition("/")
    if name == "local/minilm":
        from factlab.models import embed_local

        backend: Backend = embed_local.minilm(**options)
    elif kind == "st" and rest:
        from factlab.models import embed_local

        backend = embed_local.sentence_transformer(name, rest, **options)
    elif kind == "openai" and rest:
        from factlab.models import embed_http, providers

        served, base_url = providers.split_name(name)
        backend = embed_http.Embeddings(served, base_url=base_url, **options)
    else:
        known = ["local/minilm", "st/<id or folder>", "openai/<model>", "openai/<model>@<base url>"]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        raise ModelError(
            f"no embedder called {name!r}"
            + (f"; did you mean {near[0]}?" if near else ".")
            + f" Names are {', '.join(known)}"
        )
    if not isinstance(store, Store):
        from factlab.models import embed_store

        store = Store(Path(store)) if store else embed_store.default()
    return Embedder(name, backend, mode=mode, store=store)


class Embedder:
    """A named embedder with its store. Made by `load`; called with texts, it gives their vectors and nothing else."""

    def __init__(self, name: str, backend: Backend, *, mode: str = "cache", store: Store) -> None:
        self.name, self.backend, self.mode, self.store = name, backend, mode, store

    def __repr__(self) -> str:
        return f"<embedder {self.name}>"

    def __call__(self, texts: Sequence[str | None]) -> np.ndarray:
        """(n, d) vectors, for whatever takes an encoder as a function."""
        return self.encode(texts, progress=False).vectors

    def encode(
        self,
        texts: Sequence[str | None],
        *,
        long: str = "pool",
        max_cost_usd: float | None = None,
        progress: bool = True,
    ) -> Embedded:
        """One vector for each text, in input order; the same text is embedded once.

        Parameters
        ----------
        texts : None and NaN (a reply that never came) stand for no text.
        long : what becomes of a text longer than the model's window. 'pool': cut into chunks at sentence ends, its vector the mean
            of the chunks' unit vectors weighted by their tokens, brought to length 1. 'error': none, status 'error'.
        max_cost_usd : sending stops before it starts when the estimate is above this.

        Returns
        -------
        Embedded

        Raises
        ------
        ModelError : the model cannot be used at all (weights, key, name, cost limit). A text that fails by itself is a row of NaN
            with status 'error'.
        ReplayMiss : in mode 'replay', a text that is not in the store.

        Notes
        -----
        A chunk holds as many whole sentences as fit, a space between them; of a text that is cut, line breaks and list markers are
        lost (see `text.sentences`), of one that fits, nothing. A sentence longer than the window is halved at a space, a word
        longer than the window anywhere, until the parts fit.
        """
        if long not in LONG:
            raise ModelError(f"long must be one of {', '.join(map(repr, LONG))}, got {long!r}")
        if isinstance(texts, str):
            raise ModelError("encode wants a list of texts, got a single one: put it into a list")
        rows = [_text(t, i) for i, t in enumerate(texts)]
        keys = _Keys(self.backend.identity())
        plan, found = self._stored(list(dict.fromkeys(t for t in rows if t)), keys)
        stored = set(found)

        def wanted() -> list[str]:
            usable = (chunks for chunks in plan.values() if long == "pool" or len(chunks) == 1)
            return list(dict.fromkeys(t for chunks in usable for t, _ in chunks if t not in found))

        new = list(dict.fromkeys(t for t in rows if t and t not in plan))
        if self.mode == "replay" and (new or wanted()):
            first, missing = (new or wanted())[0], len({*new, *wanted()})
            shown = first if len(first) <= 1500 else first[:1500] + " …"
            raise ReplayMiss(
                f"mode 'replay': {missing} embeddings of {self.name} are not in the store. The first one missing is of:\n{shown}\n"
                "Embed it with mode 'cache'."
            )
        if new:
            plan |= self._cut(new, keys)
            if self.mode != "live":  # a chunk may be there although the text it is from is new
                parts = [t for text in new for t, _ in plan[text] if t != text]
                found |= {t: v for t, (v, _) in self._vectors(parts, keys).items()}
                stored = set(found)
        missing = wanted()
        if missing and max_cost_usd is not None:
            from factlab.models import prices

            prices.check_cost([Call(prompt=t, params={"max_tokens": 0}) for t in missing], self.name, max_cost_usd)
        errors = self._embed(missing, plan, found, keys, progress) if missing else {}
        embedded = _assemble(rows, plan, found, errors, long, self.backend)
        self._count(
            calls=sum(map(bool, rows)),
            cached=sum(bool(t) and all(part in stored for part, _ in plan[t]) for t in rows),
            errors=int((embedded.status == "error").sum()),
        )
        return embedded

    def _vectors(self, texts: Sequence[str], keys: _Keys) -> dict[str, tuple[np.ndarray, int]]:
        by_key = {keys[t]: t for t in texts}
        return {by_key[k]: row for k, row in self.store.vectors(list(by_key)).items()}

    def _stored(self, texts: list[str], keys: _Keys) -> tuple[dict[str, list[tuple[str, int]]], dict[str, np.ndarray]]:
        """What the store knows: the chunks of each text (a text that fits is its own), and vectors of chunks."""
        if self.mode == "live":
            return {}, {}
        whole = self._vectors(texts, keys)
        plan = {t: [(t, tokens)] for t, (_, tokens) in whole.items()}
        by_key = {keys[t]: t for t in texts if t not in whole}
        plan |= {by_key[k]: chunks for k, chunks in self.store.cuts(list(by_key)).items()}
        parts = self._vectors([t for chunks in plan.values() for t, _ in chunks if t not in whole], keys)
        return plan, {t: v for t, (v, _) in (whole | parts).items()}

    def _cut(self, texts: list[str], keys: _Keys) -> dict[str, list[tuple[str, int]]]:
        """Chunks and their tokens for texts that were never seen; what was really cut is noted in the store."""
        room, count = self.backend.room(), self.backend.count
        plan = {}
        for text, tokens in zip(texts, count(texts), strict=True):
            if tokens == 0:
                plan[text] = []
            elif room is None or tokens <= room:
                plan[text] = [(text, tokens)]
            else:
                parts = cut(text, count, room)
                plan[text] = list(zip(parts, count(parts), strict=True))
        self.store.put_cuts(
            self.name, [(keys[t], chunks) for t, chunks in plan.items() if [t] != [p for p, _ in chunks]]
        )
        return plan

    def _embed(
        self,
        texts: list[str],
        plan: dict[str, list[tuple[str, int]]],
        found: dict[str, np.ndarray],
        keys: _Keys,
        progress: bool,
    ) -> dict[str, str]:
        """Ask the model for what is missing, into `found` and the store; returns why where there is none."""
        tokens = {t: n for chunks in plan.values() for t, n in chunks}
        errors = dict.fromkeys(texts, "the model returned nothing for this text")
        with bar(len(texts), self.name, progress) as shown:

            def done(batch: Batch) -> None:
                good = []
                for i, row in enumerate(batch.rows):
                    text = texts[row]
                    vector = None if batch.vectors is None else unit(batch.vectors[i])
                    if vector is None:
                        errors[text] = batch.error or "the model returned a vector that is zero or not finite"
                        continue
                    found[text] = vector
                    errors.pop(text, None)
                    good.append((keys[text], vector, tokens[text]))
                self.store.put_vectors(self.name, good)
                self._count(prompt_tokens=batch.tokens, served=batch.served)
                shown.update(len(batch.rows))

            self.backend.embed(texts, done)
        return errors

    def _count(self, served: str = "", **counts: int) -> None:
        """Add to what `models.usage` says of this process, so that the run's record counts embedders as it counts chat models."""
        from factlab import models

        record = models._USAGE.setdefault(self.name, {"counts": Counter(), "served": set(), "notes": set()})
        record["served"] |= {served} - {""}
        record["notes"] |= set(getattr(self.backend, "notes", ()))
        for field in ("calls", "cached", "errors", "prompt_tokens", "completion_tokens"):
            record["counts"][field] += counts.get(field, 0)


class _Keys(dict):
    """Store keys by text, each worked out once."""

    def __init__(self, identity: dict[str, Any]) -> None:
        self.identity = identity

    def __missing__(self, text: str) -> str:
        self[text] = key(self.identity, text)
        return self[text]


def _text(value: Any, row: int) -> str:
    """The text to embed; '' where there is none."""
    if isinstance(value, str):
        # Half a character can stand in a str but no tokenizer and no request takes it.
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value if value.strip() else ""
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType":
        return ""
    raise ModelError(f"text {row} is a {type(value).__name__}, not a string")


def unit(vector: np.ndarray) -> np.ndarray | None:
    """The vector at length 1, float32; None for one that is zero or not finite."""
    with np.errstate(all="ignore"):
        vector = np.asarray(vector, dtype=np.float64)
        length = float(np.sqrt(vector @ vector))
    return (vector / length).astype(np.float32) if np.isfinite(length) and length > 0 else None


def _assemble(
    rows: list[str],
    plan: dict[str, list[tuple[str, int]]],
    found: dict[str, np.ndarray],
    errors: dict[str, str],
    long: str,
    backend: Backend,
) -> Embedded:
    width = max((len(v) for v in found.values()), default=0)
    plans = [plan[t] if t else [] for t in rows]
    parts = [part for chunks in plans for part in chunks]
    missing = np.full(width, np.nan, np.float32)
    chunk_vectors = np.array([found.get(t, missing) for t, _ in parts], np.float32).reshape(len(parts), width)
    chunk_tokens = np.array([n for _, n in parts], np.int64)
    chunks = np.array([len(c) for c in plans], np.int64)
    status = np.where(chunks > 0, "scored", "no_text").astype("<U7")
    error = np.full(len(rows), None, object)
    vectors = np.full((len(rows), width), np.nan, np.float32)
    tokens = np.zeros(len(rows), np.int64)
    for i, (end, n) in enumerate(zip(np.cumsum(chunks), chunks, strict=True)):
        own, weights = chunk_vectors[end - n : end], chunk_tokens[end - n : end]
        tokens[i] = weights.sum()
        failed = next((errors[t] for t, _ in plans[i] if t in errors), None)
        if n > 1 and long == "error":
            own[:] = np.nan
            failed = (
                f"the text ({tokens[i]:,} tokens) is longer than the model's window: it makes {n} chunks. With long='pool' "
                "their vectors are pooled."
            )
        elif n > 1 and failed is None:
            pooled = unit(weights @ own.astype(np.float64))
            failed = "its chunks' vectors cancel each other out" if pooled is None else None
            vectors[i] = missing if pooled is None else pooled
        elif n == 1 and failed is None:
            vectors[i] = own[0]
        if failed is not None:
            status[i], error[i] = "error", failed
    return Embedded(vectors, chunks, tokens, status, error, [t for t, _ in parts], chunk_tokens, chunk_vectors)


# ------------------------------------------------------------------------------------------------------------- chunks


def cut(text: str, count: Callable[[Sequence[str]], list[int]], room: int) -> list[str]:
    """Chunks of a text, each as many whole sentences as fit into `room` tokens.

    Parameters
    ----------
    text : a text of more than `room` tokens.
    count : gives the tokens of each of several texts.
    room : most tokens in a chunk.

    Returns
    -------
    list of str
        In order; joined by spaces they are the sentences of the text, but for words longer than `room`, which are cut.

    Raises
    ------
    ModelError : not even single characters fit.
    """
    limit = room
    while limit > 0:
        chunks = _pack(text, count, limit)
        # Sentences can take a token more together than apart, depending on the tokenizer.
        excess = max(count(chunks), default=0) - room
        if excess <= 0:
            return chunks
        limit -= excess
    raise ModelError(f"a window that leaves {room} tokens for text is too small to cut texts into")


def _pack(text: str, count: Callable[[Sequence[str]], list[int]], limit: int) -> list[str]:
    found = sentences(text) or text.split()  # nothing but rules and bullets: no sentence, yet something to embed
    units = [s if i == 0 else " " + s for i, s in enumerate(found)]
    sized = [part for s, n in zip(units, count(units), strict=True) for part in _halve(s, n, count, limit)]
    chunks, held, size = [], "", 0
    for part, n in sized:
        if held and size + n > limit:
            chunks.append(held.strip())
            held, size = "", 0
        held, size = held + part, size + n
    return [c for c in [*chunks, held.strip()] if c]


def _halve(part: str, tokens: int, count: Callable[[Sequence[str]], list[int]], limit: int) -> list[tuple[str, int]]:
    """The part with its tokens, or its halves, cut at the space nearest the middle, until they fit."""
    if tokens <= limit or len(part.strip()) < 2:
        return [(part, tokens)]
    middle = len(part) // 2
    spaces = [m.start() for m in re.finditer(r"(?<=\S) ", part)]
    at = min(spaces, key=lambda i: abs(i - middle), default=middle)
    halves = [part[:at], part[at:]]
    return [found for h, n in zip(halves, count(halves), strict=True) for found in _halve(h, n, count, limit)]
