"""Embedders behind an OpenAI-compatible `/embeddings` endpoint, asked with the client, keys, limits and retries of `http`.

Several texts go in one request. Where a server refuses a request for what is in it, its texts are sent one by one, so that one bad
text does not cost the others their vectors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from factlab.models import prices
from factlab.models.answers import error_text, scrub
from factlab.models.base import Call, ModelError, Reply
from factlab.models.embed import Batch
from factlab.models.http import OpenAI

_WINDOWS = {r"text-embedding-(3-small|3-large|ada-002)": 8191}  # OpenAI, 2025-08
_REQUEST_TOKENS = (
    50_000  # estimated; OpenAI takes 300,000 a request, and what is under way is lost when the process dies
)
_REFUSED = re.compile(r" answered (400|413|422): ")


@dataclass(frozen=True)
class _Vectors(Reply):
    vectors: np.ndarray | None = None


class Embeddings(OpenAI):
    """An embedder behind an OpenAI-compatible server.

    Parameters
    ----------
    model, base_url, settings : see `http.OpenAI`.
    window : most tokens in a text, estimated as bytes over 3 (a little too many for English prose, so that a text is rather cut early
        than refused). Default: known for OpenAI's own models; for others None, and texts are sent whole.
    batch_size : most texts in a request.
    """

    def __init__(
        self, model: str, base_url: str | None = None, window: int | None = None, batch_size: int = 32, **settings: Any
    ) -> None:
        super().__init__(model, base_url, **settings)
        if batch_size < 1 or (window is not None and window < 1):
            raise ModelError("window and batch_size must be 1 or more")
        known = next((n for pattern, n in _WINDOWS.items() if re.fullmatch(pattern, model)), None)
        self._window, self._size = window or known, int(batch_size)

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"window": self._window}

    def room(self) -> int | None:
        if self._window is None:
            self._note(
                [
                    f"how long a text {self.model} at {self.host} takes is not known: texts are sent whole, and some servers cut "
                    "what is too long without a word. Give `window` to have long texts cut into chunks here."
                ]
            )
        return self._window

    def count(self, texts: Sequence[str]) -> list[int]:
        return [prices.estimate_tokens(t) for t in texts]

    def embed(self, texts: Sequence[str], done: Callable[[Batch], None]) -> None:
        apart = self._send(texts, self._requests(texts), done)
        self._send(texts, [[i] for i in apart], done)

    def _requests(self, texts: Sequence[str]) -> list[list[int]]:
        found: list[list[int]] = []
        held = 0
        for i, tokens in enumerate(self.count(texts)):
            if not found or len(found[-1]) == self._size or held + tokens > _REQUEST_TOKENS:
                found.append([])
                held = 0
            found[-1].append(i)
            held += tokens
        return found

    def _send(self, texts: Sequence[str], requests: list[list[int]], done: Callable[[Batch], None]) -> list[int]:
        """Send the requests; returns the texts of those that were refused and that more than one text was in."""
        apart: list[int] = []
        calls = [
            Call(prompt="\n".join(texts[i] for i in rows), params={"input": [texts[i] for i in rows]})
            for rows in requests
        ]

        def on_reply(number: int, reply: Reply) -> None:
            rows = requests[number]
            if isinstance(reply, _Vectors):
                done(Batch(rows, reply.vectors, tokens=reply.prompt_tokens or 0, served=reply.model))
            elif len(rows) > 1 and (reply.finish == "filter" or _REFUSED.search(reply.error or "")):
                apart.extend(rows)
            else:
                done(Batch(rows, None, reply.error or f"{self.host} withheld it (content filter)"))

        self.run(calls, on_reply)
        return apart

    async def _ask(self, client: Any, key: Any, call: Call) -> tuple[Reply, bool]:
        """The vectors of one request, and whether the server itself failed."""
        import openai

        tries = f"({self.max_retries + 1} tries)"
        try:
            body = {"model": self.model, "input": call.params["input"]}
            data = await client.post("/embeddings", body=body, cast_to=object)
        except openai.APITimeoutError:
            return Reply(finish="error", error=f"{self.host}: no answer within {self.timeout:g} s {tries}"), True
        except openai.APIConnectionError as error:
            why = f"{self.host}: connection failed {tries}: {scrub(str(error.__cause__ or error), key)}"
            return Reply(finish="error", error=why), True
        except openai.APIStatusError as error:
            return self._failed(error, scrub(error_text(error.body), key), key)
        except ValueError:
            return Reply(finish="error", error=f"{self.host}: the answer is not valid JSON"), True
        try:
            return read_embeddings(data, len(call.params["input"]), self.model), False
        except ValueError as error:
            return Reply(finish="error", error=f"{self.host}: {scrub(str(error), key)}"), True


def read_embeddings(data: Any, count: int, model: str = "") -> _Vectors:
    """The vectors in the JSON of an /embeddings answer to `count` texts, in the order of the texts.

    Raises
    ------
    ValueError : the answer is an error, or does not hold one vector of numbers for each text, all of one length.
    """
    if not isinstance(data, Mapping):
        raise ValueError(
            "the server's answer is not a JSON object; is this the base URL of an OpenAI-compatible server?"
        )
    if data.get("error"):
        raise ValueError(f"the server sent an error: {error_text(data['error'])}")
    items = data.get("data")
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ValueError("the server's answer holds no embeddings")
    if len(items) != count:
        raise ValueError(f"the server sent {len(items)} embeddings for {count} texts")
    order = [item.get("index", i) for i, item in enumerate(items)]
    if sorted(order, key=str) != sorted(range(count), key=str):
        raise ValueError("the server's embeddings are not numbered one for each text")
    try:
        vectors = np.array([item.get("embedding") for item in items], dtype=np.float32)
    except (TypeError, ValueError):
        vectors = np.zeros(0)
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise ValueError("the server's embeddings are not lists of numbers, all of one length")
    usage = data.get("usage") if isinstance(data.get("usage"), Mapping) else {}
    used = usage.get("prompt_tokens")
    used = int(used) if isinstance(used, int | float) and math.isfinite(used) else None
    return _Vectors(prompt_tokens=used, model=str(data.get("model") or model), vectors=vectors[np.argsort(order)])
