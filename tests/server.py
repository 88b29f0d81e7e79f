"""A server on this machine that speaks the chat-completions protocol and misbehaves on demand.

    with Server() as server:
        server.script("two", Answer("2"))                                 # any request whose last text is "two"
        server.script("busy", failure(429, wait_ms=10), Answer("done"))   # first a 429, then a reply; the last one repeats
        model = OpenAI("tiny", server.url)

A prompt without a script gets itself back, a text to embed the numbers of `embedding`. By hand: `python -m tests.server --port 8123`; there a prompt that names one of the
DEMO behaviours ("429", "slow", "broken", …) gets it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the server does with one request.

    Attributes
    ----------
    text : the reply's text; None sends null. `message` and `choice` add or replace fields beside it, `top` those of the whole body.
    delay : seconds before it answers.
    status, headers : of the HTTP answer.
    raw : sent instead of the JSON, as it is.
    refuse : fields of the request that are refused with a 400 naming them (the answer is given once none is sent).
    drop : close the connection: "before" any byte, "midway" through the body.
    """

    text: str | None = "ok"
    finish: str | None = "stop"
    message: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)
    top: dict[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: str | None = None
    refuse: tuple[str, ...] = ()
    drop: str | None = None


def failure(status: int, message: str = "scripted failure", wait_ms: int | None = 10, **fields: Any) -> Answer:
    """An error answer in OpenAI's form; `wait_ms` says how soon to try again."""
    headers = {} if wait_ms is None else {"retry-after-ms": str(wait_ms)}
    body = {"error": {"message": message, "type": "scripted", **fields}}
    return Answer(status=status, headers=headers, raw=json.dumps(body))


@dataclass(frozen=True)
class Seen:
    """One request as it came in, and when (seconds, monotonic)."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float

    @property
    def prompt(self) -> str:
        return last_text(self.body)


def last_text(body: dict[str, Any]) -> str:
    """The last message's content, the bare prompt, or the texts to embed, one a line."""
    if "input" in body:
        return "\n".join([body["input"]] if isinstance(body["input"], str) else body["input"])
    messages = body.get("messages")
    return messages[-1]["content"] if messages else body.get("prompt", "")


def embedding(text: str) -> list[float]:
    """The eight numbers that the server's `/embeddings` gives for a text; always the same, not of length 1."""
    return [float(b) - 127.5 for b in hashlib.sha256(text.encode()).digest()[:8]]


class Server:
    """The server, in threads of its own; a context manager. `requests` keeps everything it was sent.

    What has no script is answered by `default`, from the last text, or by `reply`, from the whole request.
    """

    def __init__(self, port: int = 0, model: str = "tiny-served", default: Any = None, reply: Any = None) -> None:
        self.model, self.requests, self.peak = model, [], 0
        self._scripts: dict[str, list[Answer]] = {}
        by_prompt = default or (lambda prompt: Answer(prompt))
        self._default = reply or (lambda body: by_prompt(last_text(body)))
        self._taken: Counter[str] = Counter()
        self._active = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), type("Bound", (_Handler,), {"owner": self}))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Server:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def script(self, prompt: str, *answers: Answer) -> None:
        """What the successive requests for this prompt get; the last answer repeats."""
        self._scripts[prompt] = list(answers)

    def count(self, prompt: str | None = None) -> int:
        """How many requests came in, for one prompt or in all."""
        return len(self.requests) if prompt is None else sum(seen.prompt == prompt for seen in self.requests)

    def serve_forever(self) -> None:
        self._http.serve_forever()

    def take(self, seen: Seen) -> Answer:
        with self._lock:
            self.requests.append(seen)
            self._active += 1
            self.peak = max(self.peak, self._active)
            answers = self._scripts.get(seen.prompt)
            if answers is None:
                return self._default(seen.body)
            turn = min(self._taken[seen.prompt], len(answers) - 1)
            self._taken[seen.prompt] += 1
            return answers[turn]

    def done(self) -> None:
        with self._lock:
            self._active -= 1


class _Handler(BaseHTTPRequestHandler):
    owner: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, json.dumps({"object": "list", "data": [{"id": self.owner.model, "object": "model"}]}), {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(raw or b"{}")
        answer = self.owner.take(Seen(self.path, headers, body, time.monotonic()))
        try:
            if answer.delay:
                time.sleep(answer.delay)
            self._answer(answer, body)
        except OSError:  # the client has gone
            self.close_connection = True
        finally:
            self.owner.done()

    def _answer(self, answer: Answer, body: dict[str, Any]) -> None:
        refused = next((name for name in answer.refuse if name in body), None)
        if refused:
            message = f"Unsupported parameter: '{refused}' is not supported with this model."
            error = {
                "message": message,
                "type": "invalid_request_error",
                "param": refused,
                "code": "unsupported_parameter",
            }
            return self._send(400, json.dumps({"error": error}), {})
        if answer.drop == "before":
            return self._hang_up()
        text = answer.raw if answer.raw is not None else json.dumps(self._body(answer, body))
        if answer.drop == "midway":
            self.send_response(answer.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text.encode()) + 50))
            self.end_headers()
            self.wfile.write(text.encode()[:20])
            self.wfile.flush()
            return self._hang_up()
        return self._send(answer.status, text, answer.headers)

    def _embeddings(self, answer: Answer, texts: list[str]) -> dict[str, Any]:
        used = sum(len(t.split()) for t in texts)
        data = [{"object": "embedding", "index": i, "embedding": embedding(t)} for i, t in enumerate(texts)]
        usage = {"prompt_tokens": used, "total_tokens": used}
        return {"object": "list", "data": data, "model": self.owner.model, "usage": usage, **answer.top}

    def _body(self, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
        if "input" in body:
            return self._embeddings(answer, [body["input"]] if isinstance(body["input"], str) else body["input"])
        chat = "messages" in body
        words = len((answer.text or "").split())
        text = (
            {"message": {"role": "assistant", "content": answer.text, **answer.message}}
            if chat
            else {"text": answer.text}
        )
        return {
            "id": "scripted",
            "object": "chat.completion" if chat else "text_completion",
            "created": 0,
            "model": self.owner.model,
            "choices": [{"index": 0, "finish_reason": answer.finish, **text, **answer.choice}],
            "usage": {"prompt_tokens": 7, "completion_tokens": words, "total_tokens": 7 + words},
            **answer.top,
        }

    def _send(self, status: int, text: str, headers: dict[str, str]) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


DEMO: dict[str, Answer] = {
    "slow": Answer("slow but sure", delay=3.0),
    "429": failure(429, "slow down", wait_ms=500),
    "500": failure(500, "the server broke"),
    "401": failure(401, "no such key"),
    "404": failure(404, "no such model"),
    "broken": Answer(raw='{"choices": [{"mess'),
    "drop": Answer(drop="midway"),
    "empty": Answer(top={"choices": []}),
    "null": Answer(None),
    "refusal": Answer(None, message={"refusal": "I can't help with that."}),
    "length": Answer("a reply that was cut", finish="length"),
    "unsupported": Answer("without it", refuse=("temperature",)),
    "no usage": Answer("uncounted", top={"usage": None}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="A chat-completions server on this machine that misbehaves on demand.")
    parser.add_argument("--port", type=int, default=8123)
    port = parser.parse_args().port

    def demo(prompt: str) -> Answer:
        return next((answer for name, answer in DEMO.items() if name in prompt), Answer(prompt))

    server = Server(port, default=demo)
    print(f"serving {server.url}; prompts that get a special answer: {', '.join(DEMO)}. Ctrl-C ends it.")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
