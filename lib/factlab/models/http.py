"""Models behind an OpenAI-compatible server: OpenAI, Perplexity, vLLM, Ollama, `transformers serve` and the like.

The `openai` client does the retrying (connection failures, 408, 409, 429 and 5xx; waits grow from 0.5 to 8 s; a Retry-After of up
to two minutes is followed, a longer one ends the call). This module adds what an evaluation needs around it: a bounded number of
requests at a time and a minute, identical requests sent once, every reply handed over the moment it is there, a stop at the first
sign that no call can succeed, and keys that go to their own host only and are never printed.

All requests of one `run` live in an event loop of their own, in a thread of their own: a notebook's running loop is neither used
nor patched.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from factlab.models import prices, providers
from factlab.models.answers import error_text, read_answer, scrub
from factlab.models.base import Call, ModelError, Reply

log = logging.getLogger("factlab.models")

# The only headers that servers other than OpenAI's are sent: the client would add OpenAI's organisation, project and whatever
# OPENAI_CUSTOM_HEADERS holds.
_HEADERS = frozenset(
    ["host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "user-agent"]
)
_END = object()


class _Key(str):
    """A key that a traceback or debugger does not show."""

    def __repr__(self) -> str:
        return "<key>"


class RateLimit:
    """At most so many requests and tokens in any stretch of `window` seconds; None means no limit.

    What the client sends again by itself is not counted. A request larger than the token limit goes out alone.
    """

    def __init__(self, requests: int | None, tokens: int | None, window: float = 60.0) -> None:
        self.requests, self.tokens, self.window = requests, tokens, window
        self._sent: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def _delay(self, tokens: int, now: float) -> float:
        """Seconds until a request of so many tokens may go out; 0 books it."""
        with self._lock:
            while self._sent and self._sent[0][0] <= now - self.window:
                self._sent.popleft()
            full = self.requests is not None and len(self._sent) >= self.requests
            spent = self.tokens is not None and sum(n for _, n in self._sent) + tokens > self.tokens
            if self._sent and (full or spent):
                return self._sent[0][0] + self.window - now
            self._sent.append((now, tokens))
            return 0.0

    async def wait(self, tokens: int) -> None:
        """Return when a request of about so many tokens may be sent."""
        if self.requests is None and self.tokens is None:
            return
        while (delay := self._delay(tokens, time.monotonic())) > 0:
            await asyncio.sleep(delay)


class OpenAI:
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    model : the model's name as the server knows it.
    base_url : where `/chat/completions` is found, usually ending in `/v1`; default OpenAI's own.
    api_key : the key; default the environment variable of the host (see `providers.key_variables`): `OPENAI_API_KEY` for
        api.openai.com only, `FACTLAB_API_KEY_<HOST>` for any other. A server on this machine needs none.
    concurrency : requests in flight at a time.
    requests_per_minute, tokens_per_minute : limits kept over all runs of this object; a call counts its estimated prompt and its
        `max_tokens`.
    timeout : seconds that a server may stay silent before a try counts as failed.
    max_retries : further tries after a failed one; what is known to be hopeless (401, 403, 404) is not tried again.

    Attributes
    ----------
    notes : what the server or the table of providers made us leave out or change, one sentence each.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 8,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        timeout: float = 120.0,
        max_retries: int = 5,
    ) -> None:
        for name, value in {"concurrency": concurrency, "timeout": timeout}.items():
            if not value > 0:
                raise ModelError(f"{name} must be greater than 0, not {value!r}")
        for name, limit in {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}.items():
            if limit is not None and not limit > 0:
                raise ModelError(f"{name} must be greater than 0 (or None for no limit), not {limit!r}")
        if max_retries < 0:
            raise ModelError(f"max_retries must be 0 or more, not {max_retries!r}")
        self.model = model
        self.base_url = providers.check_url(base_url or providers.OPENAI_URL)
        self.host = providers.host_of(self.base_url)
        self.concurrency, self.timeout, self.max_retries = int(concurrency), float(timeout), int(max_retries)
        self.notes: list[str] = []
        self._default_url = base_url is None or self.base_url == providers.OPENAI_URL
        self._given_key = _Key(api_key) if api_key else None
        self._limit = RateLimit(requests_per_minute, tokens_per_minute)
        self._learnt: set[str] = set()

    def __repr__(self) -> str:
        return f"OpenAI({self.model!r} at {self.endpoint})"

    @property
    def endpoint(self) -> str:
        """Host, port and path of the server."""
        parts = urlsplit(self.base_url)
        return parts.netloc.lower() + parts.path

    def identity(self) -> dict[str, Any]:
        """What decides a reply besides the call: the endpoint and the model's name. Needs no key and no network."""
        return {"kind": "openai", "endpoint": self.endpoint, "model": self.model}

    def request(self, call: Call) -> tuple[str, dict[str, Any], list[str]]:
        """Path, JSON body and notes of the request that this call makes, as far as is known by now."""
        params = dict(call.params)
        if params.get("labels") and params.get("top_logprobs") is None:
            params["top_logprobs"] = 20 if call.messages is not None else 5
        if params.get("seed") is not None:
            params["seed"] = sample_seed(params["seed"], call.sample)
        chat = call.messages is not None
        fields, notes = providers.adapt(params, self.host, self.model, chat=chat, learnt=self._learnt)
        if not chat:
            return "/completions", {"model": self.model, "prompt": call.prompt or "", **fields}, notes
        messages, more = providers.adapt_messages(call.messages, self.host, self.model, self._learnt)
        return "/chat/completions", {"model": self.model, "messages": messages, **fields}, notes + more

    def run(self, calls: Sequence[Call], on_reply: Callable[[int, Reply], None]) -> None:
        """Send the calls; `on_reply(index, reply)` is called in this thread for each as soon as its reply is complete.

        Identical calls (the same texts, parameters and sample number) are sent once; the copies' replies are marked `cached`.
        A call that failed after all tries gives a Reply with `error`. Ctrl-C cancels what is under way and hands over what had
        come in.

        Raises
        ------
        ModelError : no call can succeed: no key, key refused, no such model, nothing left to pay with, server out of reach.
            Replies that were under way are waited for and handed over first.
        """
        groups: dict[str, list[int]] = {}
        for index, call in enumerate(calls):
            groups.setdefault(json.dumps(call.content(), sort_keys=True), []).append(index)
        if not groups:
            return
        waiting = deque((indices, calls[indices[0]]) for indices in groups.values())
        inbox: queue.SimpleQueue = queue.SimpleQueue()
        batch = _Batch(self, self._key(), waiting, inbox)
        batch.start()

        def hand_over(item: Any) -> None:
            indices, reply = item
            on_reply(indices[0], reply)
            for index in indices[1:]:
                on_reply(index, replace(reply, cached=True))

        item = _END
        try:
            while (item := _next(inbox)) is not _END:
                hand_over(item)
        except KeyboardInterrupt:
            batch.cancel()
            while item is not _END:  # the one in hand may have been interrupted half-way: it comes once more
                hand_over(item)
                item = _next(inbox)
            raise
        except BaseException:
            batch.cancel()
            raise
        finally:
            batch.join()
        if batch.failure is not None:
            raise batch.failure from None

    # ------------------------------------------------------------------------------------------------------ inside

    def _key(self) -> _Key | None:
        """The key for this host; None for a server on this machine without one."""
        names = providers.key_variables(self.base_url)
        local = providers.is_loopback(self.base_url)
        elsewhere = os.environ.get("OPENAI_BASE_URL")
        if self._default_url and elsewhere and elsewhere.rstrip("/") != providers.OPENAI_URL:
            raise ModelError(
                "OPENAI_BASE_URL is set, but a run's parameters must say which server answered: name it in the model, as in "
                f"openai/{self.model}@<base url>, or unset the variable to use {providers.OPENAI_URL}."
            )
        value, source = self._given_key, "api_key"
        for name in names if value is None else ():
            if os.environ.get(name, "").strip():
                value, source = os.environ[name], name
                break
        if value is None:
            if local:
                return None
            raise ModelError(
                f"no API key for {self.host}: set the environment variable {' or '.join(reversed(names))}."
            )
        key = _Key(value.strip())
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise ModelError(f"the key in {source} holds spaces or characters that cannot be sent; copy it again.")
        return key

    def _client(self, key: _Key | None):
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

        own = self.host == "api.openai.com"
        local = providers.is_loopback(self.base_url)

        async def strip(request) -> None:
            for name in list(request.headers):
                if (not own and name not in _HEADERS) or (name == "authorization" and key is None):
                    del request.headers[name]

        transport = DefaultAsyncHttpxClient(
            # A redirect would carry prompts to a server nobody named, and a proxy has no business between here and here.
            follow_redirects=False,
            trust_env=not local,
            # Plain http to this machine has no certificates to check, and reading those of the system takes 50 ms a run.
            verify=not (local and self.base_url.startswith("http://")),
            event_hooks={"request": [strip]},
        )
        return AsyncOpenAI(
            api_key=str(key or "none"),
            base_url=self.base_url,
            default_headers={"Authorization": f"Bearer {key or 'none'}"},
            timeout=Timeout(self.timeout, connect=min(self.timeout, 10.0)),
            max_retries=self.max_retries,
            http_client=transport,
        )

    def _note(self, notes: Sequence[str]) -> None:
        for note in notes:
            if note not in self.notes:
                self.notes.append(note)
                log.warning(note)

    async def _ask(self, client: Any, key: _Key | None, call: Call) -> tuple[Reply, bool]:
        """The reply to one call, and whether the server itself failed (out of reach, overloaded, broken)."""
        import openai

        before, refusal = None, ""
        while True:
            path, body, notes = self.request(call)
            if body == before:
                return Reply(finish="error", error=refusal), False
            before = body
            self._note(notes)
            try:
                data = await client.post(path, body=body, cast_to=object)
            except openai.APITimeoutError:
                why = f"{self.host}: no answer within {self.timeout:g} s ({self.max_retries + 1} tries)"
                return Reply(finish="error", error=why), True
            except openai.APIConnectionError as error:
                cause = scrub(str(error.__cause__ or error), key)
                why = f"{self.host}: connection failed ({self.max_retries + 1} tries): {cause}"
                return Reply(finish="error", error=why), True
            except openai.APIStatusError as error:
                said = scrub(error_text(error.body), key)
                refusal = f"{self.host} answered {error.status_code}: {said}"
                named = error.param if isinstance(error.param, str) else None
                refused = error.status_code in (400, 422) and providers.refused_parameter(said, named, body)
                if not refused:
                    return self._failed(error, said, key)
                # Dropped once, remembered and told: the request of the next turn differs, or the loop ends above.
                self._learnt.add(refused)
                continue
            except ValueError:
                return Reply(finish="error", error=f"{self.host}: the answer is not valid JSON"), True
            reply = read_answer(data, chat=call.messages is not None, max_tokens=call.params.get("max_tokens"), key=key)
            if reply.ok and reply.logprobs is None and body.get("logprobs"):
                self._note([f"{self.model} at {self.host} returned no log-probabilities although asked for them"])
            return reply, False

    def _failed(self, error: Any, said: str, key: _Key | None) -> tuple[Reply, bool]:
        """What a 3xx, 4xx or 5xx answer means: a failed call, a filtered one, or (raised) the end of the batch."""
        status, code = error.status_code, error.code or ""
        where = f"{self.host} answered {status}: {said}"
        if "content_filter" in code or (status == 403 and re.search(r"flagged|moderation", said, re.IGNORECASE)):
            return Reply(finish="filter", model=self.model), False
        if status in (401, 403):
            variables = " or ".join(providers.key_variables(self.base_url))
            raise ModelError(f"{where}. The key was not accepted; it is read from {variables}.")
        if status == 402 or code == "insufficient_quota":
            raise ModelError(f"{where}. Nothing is left to pay with on this account.")
        if status in (404, 405):
            hint = (
                f"Is {self.model!r} the model's exact name, and {self.base_url} the base URL (it usually ends in /v1)?"
            )
            raise ModelError(f"{where}. {hint}")
        if status < 400:
            target = scrub(error.response.headers.get("location", "elsewhere"), key)
            raise ModelError(f"{self.base_url} redirects to {target}; use the final address as the base URL.")
        if status == 400 and (code == "model_not_found" or _WRONG_MODEL.search(said)):
            raise ModelError(f"{where}. Is {self.model!r} the model's exact name?")
        retried = status in (408, 409, 429) or status >= 500
        if retried:
            where += f" (up to {self.max_retries + 1} tries)"
        if wait := error.response.headers.get("retry-after"):
            where += f"; it asks to wait {scrub(wait, key)} s"
        if status == 429:
            where += "; ask more slowly: lower `concurrency`, or set `requests_per_minute` or `tokens_per_minute`"
        return Reply(finish="error", error=where), retried


_WRONG_MODEL = re.compile(
    r"\b(invalid|unknown|no such) model\b|\bmodel\b[^.]{0,80}\b(not found|does not exist|not a valid|is not available)|server is pinned to",
    re.IGNORECASE,
)


def sample_seed(seed: int, sample: int) -> int:
    """The seed to send for one of several replies to the same prompt: `seed` itself for the first, a number made from both after.

    A server that honours seeds would otherwise give the same reply every time, and seed + sample would share replies between
    runs of neighbouring seeds.
    """
    import hashlib

    if sample == 0:
        return int(seed)
    return int.from_bytes(hashlib.sha256(f"{int(seed)}/{int(sample)}".encode()).digest()[:4], "big") >> 1


def _next(inbox: queue.SimpleQueue) -> Any:
    """The next item, waited for in short turns: a wait without an end cannot be interrupted everywhere."""
    while True:
        with suppress(queue.Empty):
            return inbox.get(timeout=0.25)


class _Batch:
    """The requests of one `run`, in their own thread and event loop."""

    def __init__(self, backend: OpenAI, key: _Key | None, waiting: deque, inbox: queue.SimpleQueue) -> None:
        self.backend, self.key, self.waiting, self.inbox = backend, key, waiting, inbox
        self.failure: BaseException | None = None
        self._in_a_row = 0  # calls that the server itself failed, without a good one in between
        self._most_in_a_row = max(10, 2 * backend.concurrency)
        self._cancel: Callable[[], Any] | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._work, name="factlab-requests", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def cancel(self) -> None:
        """Stop at once: nothing more is sent, what is under way is given up. Replies already here stay in the inbox."""
        self._started.wait()
        with suppress(RuntimeError):  # the loop has ended by itself
            self._cancel()

    def _work(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._all())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # told in the caller's thread
            self.failure = error
        finally:
            self._started.set()
            self.inbox.put(_END)

    async def _all(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        self._started.set()
        async with self.backend._client(self.key) as client:
            count = min(self.backend.concurrency, len(self.waiting))
            await asyncio.gather(*(self._one_after_another(client) for _ in range(count)))

    async def _one_after_another(self, client: Any) -> None:
        while self.waiting and self.failure is None:
            indices, call = self.waiting.popleft()
            size = prices.prompt_tokens(call) + (call.params.get("max_tokens") or 0)
            await self.backend._limit.wait(size)
            if self.failure is not None:
                return
            begun = time.perf_counter()
            try:
                reply, broken = await self.backend._ask(client, self.key, call)
            except ModelError as error:
                # Its traceback and context hold the server's own words and headers, which nothing here has cleaned.
                error.__context__ = None
                self.failure = self.failure or error.with_traceback(None)
                return
            self.inbox.put((indices, replace(reply, seconds=time.perf_counter() - begun)))
            self._in_a_row = self._in_a_row + 1 if broken else 0
            if self._in_a_row >= self._most_in_a_row and self.failure is None:
                self.failure = ModelError(
                    f"stopped after {self._in_a_row} failed calls in a row, {len(self.waiting)} not sent. The last: {reply.error}"
                )
