"""Models by name, in any role: `models.load("local/smollm2").chat(["What is anaemia?"])`.

========================  =============================================================================
name                      what it is
========================  =============================================================================
local/smollm2             SmolLM2-135M-Instruct, built in
hf/<id or folder>         any causal model in safetensors, run here by transformers
openai/<model>            the OpenAI API
openai/<model>@<base url> any server that speaks its protocol: vLLM, Ollama, Perplexity, transformers serve
recorded                  replies read from a table
reference                 labels read from a table
========================  =============================================================================

Every reply goes through the cache of the checkout (see `cache`), so that nothing is asked, or paid for, twice.
"""

from __future__ import annotations

import difflib
import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factlab.models.base import Backend, Call, Choice, ModelError, ReplayMiss, Reply
from factlab.models.cache import MODES, Cache, canonical, key
from factlab.models.progress import bar

__all__ = ["Call", "Choice", "Model", "ModelError", "ReplayMiss", "Reply", "load", "prompts", "usage"]

_USAGE: dict[str, dict[str, Any]] = {}


def __getattr__(name: str):
    if name in (
        "cache",
        "prompts",
        "weights",
        "local",
        "http",
        "prices",
        "providers",
        "tables",
        "progress",
        "embed",
        "entities",
    ):
        return importlib.import_module(f"factlab.models.{name}")
    raise AttributeError(f"module 'factlab.models' has no attribute {name!r}")


def load(
    name: str, *, table: Any = None, mode: str = "cache", cache: Cache | Path | str | None = None, **options: Any
) -> Model:
    """A model by name; nothing heavy is loaded and nothing is sent until the first reply is needed.

    Parameters
    ----------
    name : see the table at the top of this module.
    table : for `recorded` and `reference`: a DataFrame or the path of a file.
    mode : 'cache' (ask only what is not in the cache), 'live' (ask everything anew, and keep it), 'replay' (ask nothing; a reply
        that is not in the cache is an error that shows the prompt).
    cache : a cache or its path; default: the checkout's own.
    options : passed to the backend: `device`, `dtype`, `token_budget` for local models; `concurrency`, `requests_per_minute`,
        `tokens_per_minute`, `timeout`, `max_retries` for servers.

    Raises
    ------
    ModelError : the name is none of these, or the table cannot be used.
    """
    if mode not in MODES:
        raise ModelError(f"mode {mode!r} is none of {', '.join(MODES)}")
    kind, _, rest = name.partition("/")
    if name in ("recorded", "reference"):
        from factlab.models.tables import Table

        return Model(name, Table(name, table), mode="live", cache=None)
    if not isinstance(cache, Cache):
        from factlab.models import cache as cache_module

        cache = Cache(Path(cache)) if cache else cache_module.default()
    if name == "local/smollm2":
        from factlab.models import local, weights

        content = f"gguf:{weights.SMOLLM2_SHA256}"
        backend: Backend = local.Local(name, weights.smollm2, content, template=weights.SMOLLM2_SHA256, **options)
    elif kind == "hf" and rest:
        from factlab.models import local, weights

        folder, content = weights.folder_of(rest)
        backend = local.Local(name, folder, content, **options)
    elif kind == "openai" and rest:
        from factlab.models import http, providers

        served, base_url = providers.split_name(name)
        backend = http.OpenAI(served, base_url=base_url, **options)
    else:
        known = [
            "local/smollm2",
            "recorded",
            "reference",
            "hf/<id or folder>",
            "openai/<model>",
            "openai/<model>@<base url>",
        ]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        raise ModelError(
            f"no model called {name!r}"
            + (f"; did you mean {near[0]}?" if near else ".")
            + f" Names are {', '.join(known)}"
        )
    return Model(name, backend, mode=mode, cache=cache)


def table(replies: Sequence[Reply]):
    """Replies as a DataFrame, in order: response, finish_reason, tokens, cached, model, error, status.

    `status` is 'error' for a failed call, 'refused' for one that the server's filter ended, 'truncated' for a reply with nothing in
    it because it ran into max_tokens (reasoning that never ended), else empty: it stays to be scored.
    """
    import pandas as pd

    def status(r: Reply) -> str:
        if not r.ok:
            return "error"
        if not r.text.strip() and r.finish in ("filter", "length"):
            return "refused" if r.finish == "filter" else "truncated"
        return ""

    columns = ["response", "finish_reason", "prompt_tokens", "completion_tokens", "cached", "model", "error", "status"]
    rows = [
        (r.text, r.finish, r.prompt_tokens, r.completion_tokens, r.cached, r.model, r.error, status(r)) for r in replies
    ]
    return pd.DataFrame(rows, columns=columns).astype({"prompt_tokens": "Int64", "completion_tokens": "Int64"})


def usage() -> dict[str, dict[str, Any]]:
    """What each model was asked in this process: calls, cached, errors, prompt_tokens and completion_tokens (missing where nobody
    counted), usd (None where no price is known), the names under which servers answered, and what they were not sent because they refuse it."""
    from factlab.models import prices

    found = {}
    for name, record in _USAGE.items():
        counts = record["counts"]
        asked = counts["calls"] - counts["cached"]
        found[name] = dict(counts) | {
            "usd": prices.cost(name, asked, counts["prompt_tokens"], counts["completion_tokens"]),
            "served": sorted(record["served"]),
            "notes": sorted(record["notes"]),
        }
    return found


class Model:
    """A named model with its cache. Made by `load`."""

    def __init__(self, name: str, backend: Backend, *, mode: str, cache: Cache | None) -> None:
        self.name, self.backend, self.mode, self.cache = name, backend, mode, cache

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    @property
    def is_chat(self) -> bool:
        """Whether the model takes chat messages; a base model takes bare text only."""
        return getattr(self.backend, "is_chat", True)

    @property
    def is_local(self) -> bool:
        """Whether the model's weights are on this machine, so that many prompts at once are cheaper than one by one."""
        return hasattr(self.backend, "token_budget")

    def chat(
        self,
        prompts: Sequence[str | Sequence[Mapping[str, str]]],
        *,
        system: str | None = None,
        temperature: float | Sequence[float] = 0.0,
        top_p: float = 1.0,
        max_tokens: int = 256,
        stop: str | Sequence[str] | None = None,
        schema: Mapping[str, Any] | None = None,
        seed: int = 0,
        samples: int = 1,
        first: int = 0,
        about: Sequence[str] | None = None,
        max_cost_usd: float | None = None,
        progress: bool = True,
    ) -> list[Reply]:
        """Answers to chat prompts, in input order; with `samples` > 1 those of one prompt stand together.

        Parameters
        ----------
        prompts : the user's messages, or whole conversations as lists of {"role", "content"}.
        system : a system message put before each prompt.
        temperature : 0 takes the likeliest token. A list gives each prompt its own; a local model answers them in one batch.
        top_p : share of probability mass that is sampled from, in (0, 1].
        max_tokens : the longest reply, in the model's tokens.
        stop : string(s) at which a reply ends.
        schema : JSON schema the reply must follow, where the server can enforce it.
        seed : with the prompt and the sample number it fixes the noise of local models.
        samples : replies per prompt; each has its own place in the cache.
        first : number of the first of them, to go on where an earlier call ended.
        about : what each prompt is about, for `recorded` and `reference`.
        max_cost_usd : sending stops before it starts when the estimate is above this.

        Raises
        ------
        ModelError : the model cannot be used at all (key, name, weights, cost limit). A single failed call is a Reply with
            `error`.
        ReplayMiss : in mode 'replay', a reply that is not in the cache.
        """
        messages = []
        for p in prompts:
            turns = [{"role": "user", "content": p}] if isinstance(p, str) else [dict(m) for m in p]
            messages.append(tuple([{"role": "system", "content": system}] * (system is not None) + turns))
        params = [_params(t, top_p, max_tokens, stop, seed, schema) for t in _each(temperature, len(messages))]
        calls = [
            Call(messages=m, params=params[i], sample=s, about=about[i] if about else None)
            for i, m in enumerate(messages)
            for s in range(first, first + _samples(samples))
        ]
        return self._ask(calls, progress, max_cost_usd)

    def complete(
        self,
        prompts: Sequence[str],
        *,
        temperature: float | Sequence[float] = 0.0,
        top_p: float = 1.0,
        max_tokens: int = 256,
        stop: str | Sequence[str] | None = None,
        seed: int = 0,
        samples: int = 1,
        about: Sequence[str] | None = None,
        max_cost_usd: float | None = None,
        progress: bool = True,
    ) -> list[Reply]:
        """Continuations of bare texts, as base models are asked: no template, no system message. Otherwise as `chat`."""
        params = [_params(t, top_p, max_tokens, stop, seed) for t in _each(temperature, len(prompts))]
        calls = [
            Call(prompt=p, params=params[i], sample=s, about=about[i] if about else None)
            for i, p in enumerate(prompts)
            for s in range(_samples(samples))
        ]
        return self._ask(calls, progress, max_cost_usd)

    def choose(
        self,
        prompts: Sequence[str],
        labels: Sequence[str],
        *,
        system: str | None = None,
        baseline: str | None = None,
        max_tokens: int = 16,
        about: Sequence[str] | None = None,
        max_cost_usd: float | None = None,
        progress: bool = True,
    ) -> list[Choice]:
        """The label each prompt gets.

        A local model scores every label by its log-likelihood after the prompt. A server is asked at temperature 0: where it
        returns log-probabilities of the first token they give the probabilities, else the reply is read by whole words.

        Parameters
        ----------
        prompts : the user's messages.
        labels : two or more distinct words, e.g. ["true", "false", "unknown"].
        baseline : a prompt without content, such as one about "N/A". What a local model would say to it is divided out of every
            choice, since small models lean to one label whatever they are asked (contextual calibration, Zhao et al. 2021).
        max_tokens : length of the reply where one is read; raise it for models that reason first.
        """
        if len(set(labels)) < 2 or len(set(labels)) != len(labels):
            raise ModelError(f"choose() wants two or more different labels, got {list(labels)}")
        scored = getattr(self.backend, "scores_labels", False)
        if scored:
            params: dict[str, Any] = {"labels": list(labels)}
        else:
            params = _params(0.0, 1.0, max_tokens, None, 0) | {"top_logprobs": 20}
        head = ({"role": "system", "content": system},) if system is not None else ()
        asked = [*prompts, baseline] if baseline is not None and scored else list(prompts)
        calls = [
            Call(
                messages=(*head, {"role": "user", "content": p}),
                params=params,
                about=about[i] if about and i < len(about) else None,
            )
            for i, p in enumerate(asked)
        ]
        replies = self._ask(calls, progress, max_cost_usd)
        lean = replies[len(prompts)].logprobs if len(asked) > len(prompts) else None
        return [_choice(reply, list(labels), p, scored, lean) for reply, p in zip(replies, prompts, strict=False)]

    def estimate(self, prompts: Sequence[str], *, max_tokens: int = 256, samples: int = 1):
        """Calls, tokens and US dollars that `chat` would cost at most with nothing in the cache. See prices.estimate_cost."""
        from factlab.models import prices

        params = _params(0.0, 1.0, max_tokens, None, 0)
        calls = [
            Call(messages=({"role": "user", "content": p},), params=params, sample=s)
            for p in prompts
            for s in range(samples)
        ]
        return prices.estimate_cost(calls, self.name)

    def _ask(self, calls: list[Call], progress: bool, max_cost_usd: float | None) -> list[Reply]:
        identity = self.backend.identity()
        keys = [str(i) if self.cache is None else key(identity, call) for i, call in enumerate(calls)]
        found: dict[str, Reply] = {}
        if self.cache is not None and self.mode != "live":
            found = self.cache.get_many(list(dict.fromkeys(keys)))
        # One call per key: the same prompt twice in one batch is asked once.
        missing: dict[str, Call] = {}
        for k, call in zip(keys, calls, strict=True):
            if k not in found:
                missing.setdefault(k, call)
        if missing and self.mode == "replay":
            raise ReplayMiss(_describe_miss(self.name, next(iter(missing.values())), len(missing), len(calls)))
        if missing and max_cost_usd is not None:
            from factlab.models import prices

            prices.check_cost(list(missing.values()), self.name, max_cost_usd)
        fresh: dict[str, Reply] = {}
        if missing:
            order = list(missing)
            counted = 0.0
            with bar(len(order), self.name, progress) as shown:

                def on_part(replies_begun: float) -> None:
                    """Move the bar on; a local batch tells how far it is, so that the bar does not stand still for minutes."""
                    nonlocal counted
                    now = len(fresh) + replies_begun
                    if now > counted:
                        shown.update(now - counted)
                        counted = now

                def on_reply(i: int, reply: Reply) -> None:
                    fresh[order[i]] = reply
                    if self.cache is not None:
                        self.cache.put(order[i], reply)
                    on_part(0.0)

                if hasattr(self.backend, "on_part"):
                    self.backend.on_part = on_part
                self.backend.run(list(missing.values()), on_reply)
        lost = Reply(finish="error", error="the model returned nothing for this call")
        replies = [found.get(k) or fresh.get(k, lost) for k in keys]
        self._count(replies, fresh.values())
        return replies

    def _count(self, replies: Sequence[Reply], fresh: Any) -> None:
        empty = {"counts": Counter(), "served": set(), "notes": set()}
        record = _USAGE.setdefault(self.name, empty)
        record["served"] |= {r.model for r in replies if r.model}
        record["notes"] |= set(getattr(self.backend, "notes", ()))
        counts = record["counts"]
        counts["calls"] += len(replies)
        counts["cached"] += sum(r.cached for r in replies)
        counts["errors"] += sum(not r.ok for r in replies)
        for field in ("prompt_tokens", "completion_tokens"):
            told = [count for r in fresh if (count := getattr(r, field)) is not None]
            if (
                told or not fresh
            ):  # where nobody counted (recorded replies), there is no count: 0 would say that nothing was read
                counts[field] += sum(told)


def _samples(samples: int) -> int:
    if samples < 1:
        raise ModelError(f"samples must be 1 or more, got {samples}")
    return samples


def _each(temperature: float | Sequence[float], count: int) -> list[float]:
    """One temperature for each prompt."""
    if not isinstance(temperature, list | tuple):
        return [temperature] * count
    if len(temperature) != count:
        raise ModelError(
            f"{count} prompts but {len(temperature)} temperatures: give one number, or one for each prompt"
        )
    return list(temperature)


def _params(temperature, top_p, max_tokens, stop, seed, schema=None) -> dict[str, Any]:
    if not (isinstance(temperature, int | float) and math.isfinite(temperature) and temperature >= 0):
        raise ModelError(f"temperature must be a number of 0 or more, got {temperature!r}")
    if not (isinstance(top_p, int | float) and 0 < top_p <= 1):
        raise ModelError(f"top_p must be above 0 and at most 1, got {top_p!r}")
    if int(max_tokens) < 1:
        raise ModelError(f"max_tokens must be 1 or more, got {max_tokens!r}")
    stops = [stop] if isinstance(stop, str) else list(stop) if stop else None
    found = {
        "temperature": float(temperature),
        "top_p": float(top_p),
        "max_tokens": int(max_tokens),
        "stop": stops,
        "seed": int(seed),
        "schema": dict(schema) if schema else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _choice(
    reply: Reply, labels: list[str], prompt: str, scored: bool, lean: Mapping[str, float] | None = None
) -> Choice:
    if not reply.ok:
        return Choice(None, None, reply.text, "error", reply.error)
    if scored:
        scores = {label: value - (lean[label] if lean else 0.0) for label, value in reply.logprobs.items()}
        return Choice(max(scores, key=scores.get), _softmax(scores), reply.text)
    from factlab import replies

    if reply.finish == "filter" and not reply.text:
        return Choice(None, None, "", "refused")
    parsed = replies.label(reply.text, labels, {k: v for k, v in _SYNONYMS.items() if k in labels}, prompt=prompt)
    probabilities = _from_first_token(reply.logprobs, labels)
    if parsed.value is None and reply.finish == "length":
        return Choice(None, None, reply.text, "truncated")
    return Choice(parsed.value, probabilities, reply.text, parsed.status)


_SYNONYMS = {"true": ["correct"], "false": ["untrue", "incorrect"]}


def _softmax(scores: Mapping[str, float]) -> dict[str, float]:
    top = max(scores.values())
    weights = {label: math.exp(value - top) for label, value in scores.items()}
    total = sum(weights.values())
    return {label: w / total for label, w in weights.items()}


def _from_first_token(logprobs: Mapping[str, float] | None, labels: list[str]) -> dict[str, float] | None:
    """Probabilities over the labels from a server's first-token alternatives; None where they name no label clearly."""
    mass = dict.fromkeys(labels, 0.0)
    for token, value in (logprobs or {}).items():
        start = token.strip().lower()
        fits = [label for label in labels if start and label.lower().startswith(start)]
        if len(fits) == 1:
            mass[fits[0]] += math.exp(value)
    total = sum(mass.values())
    return {label: m / total for label, m in mass.items()} if total > 0.5 else None


def _describe_miss(name: str, call: Call, missing: int, total: int) -> str:
    shown = call.prompt if call.messages is None else "\n".join(f"[{m['role']}] {m['content']}" for m in call.messages)
    shown = shown if len(shown) <= 1500 else shown[:1500] + " …"
    return (
        f"mode 'replay': {missing} of {total} replies of {name} are not in the cache. The first one missing is sample "
        f"{call.sample} at {canonical(dict(call.params))} to:\n{shown}\nAsk for it with mode 'cache', or import the cache it is in."
    )
