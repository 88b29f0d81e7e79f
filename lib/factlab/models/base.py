"""What a model is asked and what it answers, whatever stands behind its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class ModelError(RuntimeError):
    """A model cannot be used at all: wrong name or key, missing weights, a limit reached. The text says what to do."""


class ReplayMiss(ModelError):
    """Mode `replay` was asked for a reply that the cache does not hold."""


@dataclass(frozen=True)
class Reply:
    """One answer of a model, or the reason why there is none.

    Attributes
    ----------
    text : what the model wrote; empty when the call failed, and then `error` says why.
    finish : 'stop' (the model ended by itself), 'length' (cut at max_tokens), 'filter' or 'error'.
    prompt_tokens, completion_tokens : as counted by the model's own tokenizer; None when a server did not say.
    model : the model's name as the server gave it.
    cached : True when no model was asked for it in this call.
    error : what went wrong, for people; None when nothing did.
    reasoning : the reasoning a server returns apart from the answer.
    logprobs : log-probabilities of the first token, where asked for and given.
    seconds : what it took when it was first asked: from sending to the answer, tries included; of a local model, an even share of its
        batch. None where nobody took the time.
    """

    text: str = ""
    finish: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    cached: bool = False
    error: str | None = None
    reasoning: str | None = None
    logprobs: dict[str, float] | None = None
    seconds: float | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True)
class Choice:
    """Which of the given labels a model prefers.

    Attributes
    ----------
    label : the chosen label; None when the model's reply named none of them or the call failed.
    probabilities : label -> probability, summing to 1 over the given labels; None where the model only gave a text.
    text : the reply that was parsed, where there was one.
    status : 'scored', 'unparsable', 'refused', 'truncated' or 'error'.
    error : what went wrong, for people; None when nothing did.
    """

    label: str | None
    probabilities: Mapping[str, float] | None = None
    text: str = ""
    status: str = "scored"
    error: str | None = None


@dataclass(frozen=True)
class Call:
    """One request for one reply: chat messages, or a bare prompt for a base model.

    `params` holds temperature, top_p, max_tokens, stop, schema, seed, top_logprobs or, for a choice, labels. `sample` is the
    number of the reply among several to the same prompt. `about` is what the prompt is about (the bare unit inside a judge's
    prompt, say), by which `recorded` and `reference` look the answer up; it is no part of what a model sees or of the key.
    """

    messages: tuple[Mapping[str, str], ...] | None = None
    prompt: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    about: str | None = None

    def content(self) -> dict[str, Any]:
        """What decides the reply, as plain JSON: the model's part of the cache key."""
        body: dict[str, Any] = {
            "sample": self.sample,
            "params": {k: v for k, v in self.params.items() if v is not None},
        }
        if self.messages is not None:
            body["messages"] = [dict(m) for m in self.messages]
        else:
            body["prompt"] = self.prompt
        return body


class Backend(Protocol):
    """What stands behind a name: local weights or a server."""

    def identity(self) -> dict[str, Any]:
        """What identifies the model in a cache key: host or weights hash, name, template, dtype; never a key."""

    def run(self, calls: Sequence[Call], on_reply: Callable[[int, Reply], None]) -> None:
        """Answer all calls, in any order; `on_reply(index, reply)` is called the moment each one is complete."""
