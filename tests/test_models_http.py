"""The HTTP backend against a real server on this machine, and the provider tables.

Each behaviour of a server is one row: what it does, and what the caller gets. Waits are short because the server says so
(`retry-after-ms`); where it cannot, one retry is allowed.
"""

import _thread
import asyncio
import importlib.util
import json
import logging
import os
import subprocess
import sys
import threading
import time
import traceback
import urllib.request

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server import Answer, Server, failure

from factlab.models import prices, providers
from factlab.models.answers import error_text, read_answer, scrub
from factlab.models.base import Call, ModelError, Reply
from factlab.models.http import OpenAI, RateLimit, sample_seed

KEY = "sk-" + "fake" * 6 + "0123"  # looks like a key, opens nothing


@pytest.fixture
def server():
    with Server() as running:
        yield running


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """No key or endpoint of the machine that runs the tests has a part in them."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "FACTLAB_API_KEY")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)


def ask(prompt: str, sample: int = 0, system: str | None = None, **params) -> Call:
    head = ({"role": "system", "content": system},) if system else ()
    return Call(messages=(*head, {"role": "user", "content": prompt}), params=params, sample=sample)


def run(model: OpenAI, *calls: Call) -> list[Reply]:
    got: dict[int, Reply] = {}
    model.run(calls, got.__setitem__)
    return [got[i] for i in range(len(calls))]


# --------------------------------------------------------------------------------------------- what comes back for what

ANSWERS = [
    # name, what the server does (in turn), the reply's fields, requests seen
    ("a reply", [Answer("Paris")], {"text": "Paris", "finish": "stop", "error": None, "model": "tiny-served"}, 1),
    ("usage", [Answer("a b c")], {"prompt_tokens": 7, "completion_tokens": 3}, 1),
    (
        "no usage",
        [Answer("x", top={"usage": None})],
        {"text": "x", "prompt_tokens": None, "completion_tokens": None},
        1,
    ),
    ("cut", [Answer("a b", finish="length")], {"text": "a b", "finish": "length", "error": None}, 1),
    ("filtered", [Answer(None, finish="content_filter")], {"text": "", "finish": "filter", "error": None}, 1),
    (
        "filtered prompt",
        [failure(400, "policy", code="content_filter")],
        {"text": "", "finish": "filter", "error": None},
        1,
    ),
    (
        "refusal",
        [Answer(None, message={"refusal": "I can't."})],
        {"text": "I can't.", "finish": "filter", "error": None},
        1,
    ),
    ("empty text", [Answer("")], {"text": "", "finish": "stop", "error": None}, 1),
    ("null text", [Answer(None)], {"text": "", "finish": "error", "error": "null"}, 1),
    (
        "cut while reasoning",
        [Answer(None, finish="length", message={"reasoning_content": "hmm"})],
        {"text": "", "finish": "length", "error": None, "reasoning": "hmm"},
        1,
    ),
    ("reasoning apart", [Answer("4", message={"reasoning_content": "2+2"})], {"text": "4", "reasoning": "2+2"}, 1),
    ("reasoning, other name", [Answer("4", message={"reasoning": "2+2"})], {"text": "4", "reasoning": "2+2"}, 1),
    (
        "text in parts",
        [Answer("", message={"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]})],
        {"text": "yes", "reasoning": "hm"},
        1,
    ),
    ("no choices", [Answer(top={"choices": []})], {"finish": "error", "error": "no choices"}, 1),
    ("choices null", [Answer(top={"choices": None})], {"finish": "error", "error": "no choices"}, 1),
    ("tool call", [Answer(None, finish="tool_calls")], {"finish": "error", "error": "tool_calls"}, 1),
    ("aborted", [Answer("half a", finish="abort")], {"finish": "error", "error": "abort"}, 1),
    (
        "error in a 200",
        [Answer(top={"error": {"message": "overloaded"}})],
        {"finish": "error", "error": "overloaded"},
        1,
    ),
    ("broken JSON", [Answer(raw='{"choices": [{"mess')], {"finish": "error", "error": "not valid JSON"}, 1),
    (
        "a web page",
        [Answer(raw="<html>", headers={"content-type": "text/html"})],
        {"finish": "error", "error": "JSON"},
        1,
    ),
    ("429, then a reply", [failure(429), failure(429), Answer("at last")], {"text": "at last", "error": None}, 3),
    (
        "Retry-After in seconds",
        [Answer(status=429, raw="{}", headers={"retry-after": "0.02"}), Answer("ok")],
        {"text": "ok"},
        2,
    ),
    ("500, then a reply", [failure(500), Answer("up again")], {"text": "up again", "error": None}, 2),
    ("503 for ever", [failure(503, "overloaded")], {"finish": "error", "error": "503: overloaded"}, 3),
    ("429 for ever", [failure(429, "slow down")], {"finish": "error", "error": "requests_per_minute"}, 3),
    ("400", [failure(400, "this prompt is too long")], {"finish": "error", "error": "too long"}, 1),
    (
        "asks to wait too long",
        [Answer(status=429, raw='{"error": "later"}', headers={"retry-after": "3600"})],
        {"finish": "error", "error": "wait 3600 s"},
        1,
    ),
]


@pytest.mark.parametrize(
    ("answers", "expected", "requests"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
def test_each_answer_of_a_server_has_its_reply(server, answers, expected, requests):
    server.script("q", *answers)
    [reply] = run(OpenAI("tiny", server.url, max_retries=2), ask("q", max_tokens=5))
    for name, value in expected.items():
        found = getattr(reply, name)
        if name == "error" and value is not None:
            assert value in found
        else:
            assert found == value, name
    assert reply.ok == (reply.finish != "error")
    assert server.count() == requests


@pytest.mark.parametrize("when", ["before", "midway"])
def test_a_dropped_connection_is_tried_again(server, when):
    server.script("once", Answer(drop=when), Answer("there"))
    server.script("always", Answer(drop=when))
    good, bad = run(OpenAI("tiny", server.url, max_retries=1), ask("once"), ask("always"))
    assert good.text == "there"
    assert bad.finish == "error" and "connection failed" in bad.error
    assert server.count("once") == server.count("always") == 2


def test_a_silent_server_is_given_up(server):
    server.script("q", Answer("too late", delay=1.0))
    [reply] = run(OpenAI("tiny", server.url, timeout=0.1, max_retries=0), ask("q"))
    assert reply.finish == "error" and "no answer within 0.1 s" in reply.error


def test_no_server_at_all():
    with Server() as gone:
        url = gone.url
    [reply] = run(OpenAI("tiny", url, max_retries=0), ask("q"))
    assert reply.finish == "error" and "connection failed" in reply.error


# -------------------------------------------------------------------------------------------------- many calls at once


def test_replies_belong_to_their_prompts_whatever_the_order_they_come_in(server):
    """Ten items with different latencies, five at a time: one fails, none is mixed up."""
    for i in range(10):
        server.script(f"q{i}", Answer(f"a{i}", delay=0.02 * ((7 * i) % 10)))
    server.script("q4", failure(400, "no"))
    order: list[int] = []
    got: dict[int, Reply] = {}

    def on_reply(index: int, reply: Reply) -> None:
        assert threading.current_thread() is threading.main_thread()  # a cache's connection belongs to one thread
        order.append(index)
        got[index] = reply

    OpenAI("tiny", server.url, concurrency=5).run([ask(f"q{i}") for i in range(10)], on_reply)
    assert [got[i].text for i in range(10)] == [f"a{i}" if i != 4 else "" for i in range(10)]
    assert got[4].finish == "error"
    assert order != sorted(order)
    assert 2 <= server.peak <= 5


def test_a_reply_is_handed_over_before_the_others_are_there(server):
    """What is paid for can be kept at once."""
    server.script("slow", Answer("late", delay=0.5))
    seen_open = []
    OpenAI("tiny", server.url).run(
        [ask("slow"), ask("fast")], lambda i, r: seen_open.append((r.text, server._active > 0))
    )
    assert seen_open[0] == ("fast", True)


def test_identical_calls_are_sent_once_and_samples_are_not_identical(server):
    calls = [ask("q", seed=1), ask("other"), ask("q", seed=1), ask("q", seed=1, sample=1), ask("q", seed=2)]
    replies = run(OpenAI("tiny", server.url), *calls)
    assert [r.text for r in replies] == ["q", "other", "q", "q", "q"]
    assert [r.cached for r in replies] == [False, False, True, False, False]
    assert server.count("q") == 3 and server.count("other") == 1
    seeds = {seen.body["seed"] for seen in server.requests if seen.prompt == "q"}
    assert seeds == {1, sample_seed(1, 1), 2}


@given(st.integers(0, 2**31 - 1), st.integers(0, 50))
def test_each_sample_has_its_own_seed(seed, sample):
    assert sample_seed(seed, 0) == seed
    assert 0 <= sample_seed(seed, sample) < 2**31
    assert len({sample_seed(seed, s) for s in range(5)}) == 5


def test_no_calls_no_requests(server):
    OpenAI("tiny", server.url).run([], lambda *_: pytest.fail("nothing was asked"))
    assert server.count() == 0


def test_requests_per_minute_are_kept(server):
    model = OpenAI("tiny", server.url, concurrency=8)
    model._limit = RateLimit(3, None, window=0.4)
    run(model, *(ask(f"q{i}") for i in range(7)))
    at = sorted(seen.at for seen in server.requests)
    # Any four in a row span a window; a little less is seen where the first was slow to arrive.
    assert all(later - earlier > 0.3 for earlier, later in zip(at, at[3:], strict=False))


@pytest.mark.parametrize(
    ("requests", "tokens", "sizes", "expected"),
    [
        (2, None, [1, 1, 1], [0, 0, 60]),
        (None, 100, [60, 40, 1], [0, 0, 60]),
        (None, 100, [500, 1], [0, 60]),  # larger than the limit: alone, not never
        (None, None, [10**9], [0]),
    ],
)
def test_limits_by_the_minute(requests, tokens, sizes, expected):
    limit = RateLimit(requests, tokens)
    assert [limit._delay(size, now=100.0) for size in sizes] == expected


# ------------------------------------------------------------------------------------------------------ when to stop


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (failure(401, "no such key"), "key was not accepted"),
        (failure(403, "country not supported"), "key was not accepted"),
        (failure(404, "the model does not exist", code="model_not_found"), "exact name"),
        (failure(400, "Invalid model 'tiny'"), "exact name"),
        (failure(402, "insufficient balance"), "Nothing is left to pay with"),
        (failure(429, "quota exceeded", code="insufficient_quota"), "Nothing is left to pay with"),
        (
            Answer(status=307, raw="", headers={"location": "http://elsewhere.test/v1"}),
            "redirects to http://elsewhere.test/v1",
        ),
    ],
)
def test_what_cannot_succeed_stops_the_batch(server, answer, says):
    calls = [ask(f"q{i}") for i in range(50)]
    for i in range(50):
        server.script(f"q{i}", answer)
    with pytest.raises(ModelError, match=says):
        run(OpenAI("tiny", server.url, concurrency=4, max_retries=1), *calls)
    assert 1 <= server.count() <= 4 * 2
    assert all(server.count(f"q{i}") <= 2 for i in range(50))


def test_a_refused_key_is_not_tried_again(server):
    server.script("q", failure(401))
    with pytest.raises(ModelError):
        run(OpenAI("tiny", server.url, max_retries=5), ask("q"))
    assert server.count() == 1


def test_replies_under_way_are_handed_over_before_the_stop(server):
    server.script("slow", Answer("paid for", delay=0.3))
    server.script("wrong", failure(401))
    got: dict[int, Reply] = {}
    with pytest.raises(ModelError):
        OpenAI("tiny", server.url, concurrency=2).run([ask("slow"), ask("wrong"), ask("unsent")], got.__setitem__)
    assert {i: r.text for i, r in got.items()} == {0: "paid for"}
    assert server.count("unsent") == 0


def test_a_server_that_fails_everything_is_left_alone(server):
    calls = [ask(f"q{i}") for i in range(200)]
    for i in range(200):
        server.script(f"q{i}", failure(500, "down"))
    got: dict[int, Reply] = {}
    with pytest.raises(ModelError, match=r"failed calls in a row, \d+ not sent.*down"):
        OpenAI("tiny", server.url, concurrency=4, max_retries=0).run(calls, got.__setitem__)
    assert 10 <= len(got) < 20 and all(not r.ok for r in got.values())


def test_failures_in_between_do_not_stop_a_batch(server):
    for i in range(60):
        server.script(f"q{i}", failure(500) if i % 2 else Answer("ok"))
    replies = run(OpenAI("tiny", server.url, concurrency=2, max_retries=0), *(ask(f"q{i}") for i in range(60)))
    assert sum(r.ok for r in replies) == 30


def test_an_interrupt_keeps_what_has_come_in_and_stops_the_rest(server):
    for i in range(40):
        server.script(f"q{i}", Answer("ok", delay=0.02 if i < 3 else 30.0))
    got: dict[int, Reply] = {}
    threading.Timer(0.6, _thread.interrupt_main).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        OpenAI("tiny", server.url, concurrency=4).run([ask(f"q{i}") for i in range(40)], got.__setitem__)
    assert sorted(got) == [0, 1, 2]
    assert time.monotonic() - started < 20  # the slow ones, of 30 s each, were not waited for
    assert not [t for t in threading.enumerate() if t.name == "factlab-requests"]


def test_a_reply_that_cannot_be_kept_stops_the_batch(server):
    def full(index, reply):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        OpenAI("tiny", server.url, concurrency=1).run([ask(f"q{i}") for i in range(50)], full)
    assert server.count() < 50


def test_it_runs_twice_inside_a_running_event_loop(server):
    """As in a notebook, whose cells run in a loop."""
    model = OpenAI("tiny", server.url)

    async def cell() -> list[str]:
        return [run(model, ask("one"))[0].text, run(model, ask("two"))[0].text]

    loop_type = asyncio.run.__module__
    assert asyncio.run(cell()) == ["one", "two"]
    assert asyncio.run.__module__ == loop_type == "asyncio.runners"


# --------------------------------------------------------------------------------------------------- what is asked


def test_chat_request(server):
    run(OpenAI("tiny", server.url), ask("q", system="s", temperature=0.6, top_p=0.9, max_tokens=9, stop=["\n"], seed=3))
    [seen] = server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
        "temperature": 0.6,
        "top_p": 0.9,
        "max_tokens": 9,
        "stop": ["\n"],
        "seed": 3,
    }


def test_bare_completion(server):
    [reply] = run(OpenAI("base", server.url), Call(prompt="Once upon", params={"max_tokens": 3, "temperature": 0.0}))
    [seen] = server.requests
    assert seen.path == "/v1/completions"
    assert seen.body == {"model": "base", "prompt": "Once upon", "max_tokens": 3, "temperature": 0.0}
    assert reply.text == "Once upon"


def test_log_probabilities_of_the_first_token(server):
    first = [
        {"token": "true", "logprob": -0.1},
        {"token": " True", "logprob": -2.5},
        {"token": "false", "logprob": None},
    ]
    server.script("chat", Answer("true", choice={"logprobs": {"content": [{"token": "true", "top_logprobs": first}]}}))
    server.script("bare", Answer("yes", choice={"logprobs": {"top_logprobs": [{" yes": -0.2, " no": -1.7}, {"x": 0}]}}))
    server.script("none", Answer("yes"))
    model = OpenAI("tiny", server.url, concurrency=1)
    chat, bare, none = run(
        model,
        ask("chat", top_logprobs=5),
        Call(prompt="bare", params={"top_logprobs": 20}),
        ask("none", labels=["yes", "no"]),
    )
    assert chat.logprobs == {"true": -0.1, " True": -2.5}
    assert bare.logprobs == {" yes": -0.2, " no": -1.7}
    assert none.logprobs is None and any("no log-probabilities" in note for note in model.notes)
    asked = [(seen.body.get("logprobs"), seen.body.get("top_logprobs")) for seen in server.requests]
    assert asked == [(True, 5), (5, None), (True, 20)]


def test_a_schema_becomes_a_response_format(server):
    closed = {
        "type": "object",
        "properties": {"v": {"type": "string"}},
        "required": ["v"],
        "additionalProperties": False,
    }
    run(OpenAI("tiny", server.url, concurrency=1), ask("closed", schema=closed), ask("open", schema={"type": "object"}))
    forms = [seen.body["response_format"] for seen in server.requests]
    assert forms[0] == {"type": "json_schema", "json_schema": {"name": "reply", "schema": closed, "strict": True}}
    assert forms[1]["json_schema"]["strict"] is False  # strict mode takes closed objects only


@pytest.mark.parametrize(
    ("params", "refused", "kept"),
    [
        ({"temperature": 0.6, "max_tokens": 5}, ("temperature",), {"max_tokens": 5}),
        ({"temperature": 0.6, "seed": 1}, ("seed", "temperature"), {}),
        ({"schema": {"type": "object"}}, ("response_format",), {}),
        ({"top_logprobs": 5, "max_tokens": 5}, ("logprobs",), {"max_tokens": 5}),
        ({"max_tokens": 5}, ("max_tokens",), {"max_completion_tokens": 5}),  # renamed, never lost
    ],
)
def test_a_refused_parameter_is_left_out_once_and_for_all(server, params, refused, kept):
    for prompt in ("one", "two"):
        server.script(prompt, Answer("fine", refuse=refused))
    model = OpenAI("tiny", server.url)
    assert run(model, ask("one", **params))[0].text == "fine"
    assert run(model, ask("two", **params))[0].text == "fine"
    assert server.count("one") == 1 + len(refused) and server.count("two") == 1
    sent = {k: v for k, v in server.requests[-1].body.items() if k not in ("model", "messages")}
    assert sent == kept
    assert len(model.notes) == len(set(refused) - {"max_tokens"})


def test_a_refusal_that_cannot_be_met_is_an_error_not_a_loop(server):
    server.script("q", Answer(refuse=("max_tokens", "max_completion_tokens")))
    [reply] = run(OpenAI("tiny", server.url), ask("q", max_tokens=5))
    assert reply.finish == "error" and "max_completion_tokens" in reply.error
    assert server.count() == 2


def test_a_system_role_that_is_refused_moves_into_the_users_text(server):
    server.script("s\n\nq", Answer("fine"))
    server.script("q", failure(400, "System role not supported"))
    model = OpenAI("gemma", server.url)
    assert run(model, ask("q", system="s"))[0].text == "fine"
    assert server.requests[-1].body["messages"] == [{"role": "user", "content": "s\n\nq"}]
    assert "no system role" in model.notes[0]


REFUSALS = [
    # what a server says, its `param` field, what was sent, the parameter meant
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
        "max_tokens",
    ),
    ("Unsupported value: 'temperature' does not support 0.6 with this model.", "temperature", "temperature"),
    ("Unexpected fields in the request: {'seed'}", None, "seed"),
    ("seed: Extra inputs are not permitted", None, "seed"),
    ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", None, "schema"),
    ("property 'logprobs' is unsupported, did you mean 'logit_bias'?", None, "top_logprobs"),
    ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", None, "top_p"),
    ("Model incompatible request argument supplied: top_p", None, "top_p"),
    ("System role not supported", None, "system"),
    ("Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3.", "temperature", None),
    ("max_tokens is too large: 100000. This model supports at most 4096 completion tokens.", "max_tokens", None),
    ("This model's maximum context length is 4096 tokens.", "messages", None),
    ("Unknown parameter: 'frequency_penalty'", "frequency_penalty", None),  # not one that was sent
]


@pytest.mark.parametrize(("said", "named", "expected"), REFUSALS, ids=[row[0][:40] for row in REFUSALS])
def test_which_parameter_is_refused(said, named, expected):
    sent = dict.fromkeys(
        ["temperature", "top_p", "max_tokens", "seed", "stop", "response_format", "logprobs", "top_logprobs"], 1
    )
    sent |= {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]}
    assert providers.refused_parameter(said, named, sent) == expected


# --------------------------------------------------------------------------------------------------------- providers

ALL = {"temperature": 0.6, "top_p": 0.9, "max_tokens": 256, "stop": ["a"], "seed": 7, "top_logprobs": 5}
PROVIDERS = [
    ("api.openai.com", "gpt-4o-mini", set(), set()),
    (
        "api.openai.com",
        "o3-mini",
        {"temperature", "top_p", "stop", "logprobs", "max_tokens"},
        {"max_completion_tokens"},
    ),
    ("api.openai.com", "gpt-5", {"temperature", "top_p", "stop", "logprobs", "max_tokens"}, {"max_completion_tokens"}),
    ("api.openai.com", "gpt-5-nano-2025-08-07", {"temperature", "max_tokens"}, {"max_completion_tokens"}),
    ("api.openai.com", "gpt-5-chat-latest", {"max_tokens"}, {"max_completion_tokens", "temperature"}),
    ("openrouter.ai", "openai/o4-mini", {"temperature", "max_tokens"}, {"max_completion_tokens"}),
    ("api.perplexity.ai", "sonar", {"seed", "logprobs"}, {"temperature", "max_tokens"}),
    ("api.anthropic.com", "claude-sonnet-4-0", {"seed", "logprobs"}, {"temperature", "max_tokens"}),
    ("api.mistral.ai", "mistral-small-latest", {"seed", "logprobs"}, {"random_seed"}),
    ("localhost", "falcon3-1b", set(), set(ALL)),  # o3 inside a name is not the model o3
    ("notopenai.com.test", "x", set(), {"seed", "logprobs", "temperature"}),
]


@pytest.mark.parametrize(("host", "model", "absent", "present"), PROVIDERS, ids=[f"{r[0]} {r[1]}" for r in PROVIDERS])
def test_what_each_provider_is_sent(host, model, absent, present):
    request, notes = providers.adapt(ALL, host, model)
    assert absent.isdisjoint(request)
    assert present <= set(request)
    # Nothing is dropped in silence: a parameter that is gone under every name has its note.
    told = " ".join(notes).replace("log-probabilities", "top_logprobs")
    gone = set(ALL) - set(request) - {"max_tokens"} - ({"seed"} if "random_seed" in request else set())
    assert all(name in told for name in gone)


def test_limits_of_a_provider_are_kept_and_told():
    request, notes = providers.adapt({"stop": list("abcdef"), "temperature": 1.5}, "api.openai.com", "gpt-4o")
    assert request == {"stop": list("abcd"), "temperature": 1.5} and len(notes) == 1
    request, notes = providers.adapt({"temperature": 1.5}, "api.anthropic.com", "claude-sonnet-4-0")
    assert request == {"temperature": 1.0} and "lowered" in notes[0]


def test_nothing_that_is_none_is_sent():
    assert providers.adapt(dict.fromkeys(ALL), "localhost", "x") == ({}, [])


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([("system", "s"), ("user", "u")], [("user", "s\n\nu")]),
        (
            [("system", "a"), ("user", "u"), ("assistant", "x"), ("system", "b"), ("user", "v")],
            [("user", "a\n\nb\n\nu"), ("assistant", "x"), ("user", "v")],
        ),
        ([("system", "s")], [("user", "s")]),
        ([("user", "u")], [("user", "u")]),
    ],
)
def test_folding_the_system_message(messages, expected):
    folded = providers.fold_system([{"role": r, "content": c} for r, c in messages])
    assert [(m["role"], m["content"]) for m in folded] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-4o-mini", ("gpt-4o-mini", "https://api.openai.com/v1")),
        ("openai/sonar@https://api.perplexity.ai", ("sonar", "https://api.perplexity.ai")),
        ("openai/org/model@http://localhost:8000/v1/", ("org/model", "http://localhost:8000/v1")),
        ("openai/@cf/meta/llama@https://gateway.test/v1", ("@cf/meta/llama", "https://gateway.test/v1")),
        ("openai/tiny@http://[::1]:8000/v1", ("tiny", "http://[::1]:8000/v1")),
    ],
)
def test_names(name, expected):
    assert providers.split_name(name) == expected


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("openai/", "no model named"),
        ("openai/tiny@localhost:8000/v1", "needs its scheme"),
        ("openai/tiny@ftp://host/v1", "must look like"),
        ("openai/tiny@http://host:port/v1", "must look like"),
        ("openai/tiny@https://user:secret@host/v1", "FACTLAB_API_KEY_HOST"),
        ("openai/tiny@https://host/v1?key=secret", "FACTLAB_API_KEY_HOST"),
    ],
)
def test_names_that_cannot_be_used(name, says):
    with pytest.raises(ModelError, match=says) as error:
        providers.split_name(name)
    assert "secret" not in str(error.value)


# -------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("url", "variables"),
    [
        ("https://api.openai.com/v1", ["FACTLAB_API_KEY_API_OPENAI_COM", "OPENAI_API_KEY"]),
        ("http://api.openai.com/v1", ["FACTLAB_API_KEY_API_OPENAI_COM"]),  # not in the clear
        ("https://api.openai.com.evil.test/v1", ["FACTLAB_API_KEY_API_OPENAI_COM_EVIL_TEST"]),
        ("https://lab-7.example.org:8443/v1", ["FACTLAB_API_KEY_LAB_7_EXAMPLE_ORG"]),
        ("https://api.perplexity.ai", ["FACTLAB_API_KEY_API_PERPLEXITY_AI", "PERPLEXITY_API_KEY"]),
    ],
)
def test_where_a_key_is_looked_for(url, variables):
    assert providers.key_variables(url) == variables


def test_a_key_goes_to_its_own_host_only(server, monkeypatch):
    """What the client would pick up from the environment by itself stays here."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}\nX-Team: {KEY}")
    run(OpenAI("tiny", server.url), ask("q"))
    assert KEY not in json.dumps(server.requests[0].headers)
    assert "authorization" not in server.requests[0].headers
    own = "key-for-this-host-0123"
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", own)
    run(OpenAI("tiny", server.url), ask("q"))
    assert server.requests[1].headers["authorization"] == f"Bearer {own}"
    assert KEY not in json.dumps(server.requests[1].headers)


def test_a_proxy_is_not_used_for_a_server_on_this_machine(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert run(OpenAI("tiny", server.url, max_retries=0), ask("q"))[0].text == "q"


def test_a_key_is_never_shown(server, monkeypatch, caplog):
    """A server that sends the key back in every place it can."""
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", KEY)
    server.script("500", failure(500, f"bad {KEY}"))
    server.script("echo", Answer(f"your key is {KEY}", message={"reasoning_content": KEY}, top={"model": KEY}))
    server.script("in 200", Answer(top={"error": {"message": KEY}}))
    server.script("401", failure(401, f"Incorrect API key provided: {KEY}"))
    server.script("redirect", Answer(status=308, raw="", headers={"location": f"http://x.test/?key={KEY}"}))
    model = OpenAI("tiny", server.url, max_retries=1)
    shown = ""
    with caplog.at_level(logging.DEBUG):
        shown += repr(run(model, ask("500"), ask("echo"), ask("in 200"))) + repr(model) + repr(model.notes)
        with pytest.raises(ModelError) as refused:
            run(model, ask("401"))
    # The transport's debug log prints the headers that a server sends; what this one puts there is its own doing.
    with pytest.raises(ModelError) as redirected:
        run(model, ask("redirect"))
    for error in (refused, redirected):
        shown += "".join(traceback.TracebackException.from_exception(error.value, capture_locals=True).format())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"  # it was really used
    assert "your key is <key>" in shown
    assert KEY not in shown
    assert KEY not in caplog.text
    assert KEY not in json.dumps(model.identity())


def test_a_missing_key_names_the_variable_and_sends_nothing(monkeypatch):
    for name, variable in [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://lab.invalid/v1", "FACTLAB_API_KEY_LAB_INVALID"),
    ]:
        monkeypatch.setattr(OpenAI, "_client", lambda *_: pytest.fail("a client was made"))
        with pytest.raises(ModelError, match=variable):
            run(OpenAI("tiny", name), ask("q"))


def test_a_key_that_cannot_be_sent_is_not_printed(server, monkeypatch):
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", KEY + " \u201d")
    with pytest.raises(ModelError, match="FACTLAB_API_KEY_127_0_0_1 holds spaces") as error:
        run(OpenAI("tiny", server.url), ask("q"))
    assert KEY not in str(error.value)


def test_another_endpoint_in_the_environment_is_not_followed_in_silence(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.test/v1")
    with pytest.raises(ModelError, match="OPENAI_BASE_URL is set"):
        run(OpenAI("gpt-4o-mini"), ask("q"))


def test_identity_needs_no_key_and_tells_endpoints_apart():
    one = OpenAI("m", "http://localhost:8000/v1/", timeout=1, max_retries=0, concurrency=1).identity()
    assert one == OpenAI("m", "http://LOCALHOST:8000/v1", api_key=KEY).identity()
    assert one == {"kind": "openai", "endpoint": "localhost:8000/v1", "model": "m"}
    assert OpenAI("m").identity()["endpoint"] == "api.openai.com/v1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Incorrect API key provided: " + KEY, "Incorrect API key provided: <key>"),
        ("Authorization: Bearer abc.def.ghi", "Authorization: Bearer <key>"),
        ("the task-based model sk-1", "the task-based model sk-1"),
    ],
)
def test_scrubbing_what_looks_like_a_key(text, expected):
    assert scrub(text, None) == expected


def test_a_short_placeholder_key_does_not_touch_a_models_words():
    answer = {"choices": [{"message": {"content": "EMPTY is none"}, "finish_reason": "stop"}]}
    assert read_answer(answer, chat=True, key="EMPTY").text == "EMPTY is none"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"message": "no"}, "no"),
        ({"detail": "Server is pinned"}, "Server is pinned"),
        (
            {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]},
            "seed: Extra inputs are not permitted",
        ),
        ("<html><h1>502 Bad\n Gateway</h1></html>", "502 Bad Gateway"),
        (None, "no reason given"),
        ({"error": {"message": "deep"}}, "deep"),
    ],
)
def test_error_texts(body, expected):
    assert error_text(body) == expected


FIELDS = [
    "choices",
    "message",
    "content",
    "text",
    "finish_reason",
    "usage",
    "logprobs",
    "top_logprobs",
    "token",
    "error",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(JSON, st.booleans())
def test_no_answer_of_a_server_breaks_the_reader(data, chat):
    for body in (data, {"choices": [data]}, {"choices": [{"message": data, "text": data, "logprobs": data}]}):
        reply = read_answer(body, chat=chat)
        assert reply.finish in ("stop", "length", "filter", "error")
        assert (reply.finish == "error") == (reply.error is not None)
        assert isinstance(reply.text, str)


# -------------------------------------------------------------------------------------------------------------- cost


def test_cost_of_a_known_model():
    calls = [ask("x" * 300, max_tokens=1000)] * 10
    estimate = prices.estimate_cost(calls, "openai/gpt-4o-mini", tokens=lambda text: len(text) // 3)
    assert (estimate.calls, estimate.prompt_tokens, estimate.max_completion_tokens) == (10, 10 * 107, 10_000)
    # 0.15 USD per million tokens in, 0.60 out
    assert estimate.usd == pytest.approx(1070 * 0.15e-6 + 10_000 * 0.60e-6)
    assert estimate.priced_on == "2025-08" and "check" in estimate.note


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("local/smollm2", 0),
        ("recorded", 0),
        ("hf/org/model", 0),
        ("openai/tiny@http://localhost:8000/v1", 0),
        ("openai/tiny@http://127.0.0.1:8000/v1", 0),
        ("openai/no-such-model", None),
        ("openai/gpt-4o-mini@https://gateway.test/v1", None),  # another shop, another price
        (
            "openai/sonar@https://api.perplexity.ai",
            pytest.approx(0.005 + 1e-6 * (3 + 4 + 1) + 1e-6 * 10),
        ),  # a fee per request
    ],
)
def test_cost_by_where_a_model_runs(model, usd):
    estimate = prices.estimate_cost([ask("abc", max_tokens=10)], model)
    assert estimate.usd == usd
    assert (estimate.usd is None) == ("no price known" in estimate.note)


def test_the_cost_limit():
    calls = [ask("abc", max_tokens=1_000_000)]
    assert prices.check_cost(calls, "openai/gpt-4o-mini", 0.70).usd == pytest.approx(0.60, abs=0.001)
    with pytest.raises(ModelError, match=r"stopped before sending.*0\.60 USD.*limit max_cost_usd is 0\.5"):
        prices.check_cost(calls, "openai/gpt-4o-mini", 0.5)
    with pytest.raises(ModelError, match="cannot be estimated"):
        prices.check_cost(calls, "openai/no-such-model", 100)
    assert prices.check_cost([], "openai/no-such-model", 0).calls == 0
    assert prices.check_cost(calls, "local/smollm2", 0).usd == 0


@pytest.mark.parametrize(
    ("usd", "shown"), [(None, "no price known"), (0.0, "0.00 USD"), (0.0003, "0.0003 USD"), (12.345, "12.35 USD")]
)
def test_an_estimate_reads_as_a_sentence(usd, shown):
    text = str(prices.CostEstimate(1, 1000, 2000, usd, None, ""))
    assert text.startswith("1 call, 1,000 tokens in, up to 2,000 out: ") and text.endswith(shown)


def test_a_call_without_a_limit_is_assumed_and_told():
    estimate = prices.estimate_cost([ask("abc"), ask("abc", max_tokens=1)], "openai/gpt-4o-mini")
    assert estimate.max_completion_tokens == prices.ASSUMED_MAX_TOKENS + 1
    assert "1 calls without max_tokens" in estimate.note


def test_a_price_table_of_ones_own(tmp_path, monkeypatch):
    table = tmp_path / "prices.csv"
    table.write_text(
        "host,model,input_usd,output_usd,request_usd,as_of,source\ngateway\\.test,mine,1,2,0,2026-01,invoice\n"
    )
    estimate = prices.estimate_cost(
        [ask("", max_tokens=1_000_000)], "openai/mine@https://gateway.test/v1", prices=table
    )
    assert estimate.usd == pytest.approx(2.0, abs=1e-4) and estimate.priced_on == "2026-01"
    unknown = prices.estimate_cost([ask("")], "openai/mine@https://gateway.test/v1")
    assert unknown.usd is None and "FACTLAB_PRICES" in unknown.note
    monkeypatch.setenv("FACTLAB_PRICES", str(table))
    assert prices.estimate_cost([ask("", max_tokens=1_000_000)], "openai/mine@https://gateway.test/v1") == estimate
    table.write_text("host,model,input_usd,output_usd,request_usd,as_of,source\n.*,mine,cheap,2,0,2026-01,invoice\n")
    with pytest.raises(ModelError, match="row 2.*cheap"):
        prices.estimate_cost([ask("x")], "openai/mine", prices=table)
    with pytest.raises(ModelError, match="No such file"):
        prices.estimate_cost([ask("x")], "openai/mine", prices=tmp_path / "absent.csv")


def test_every_row_of_the_price_table_is_complete_and_dated():
    rows = prices.price_table()
    assert len(rows) > 10
    for row in rows:
        writes = "embedding" not in row["model"]  # an embedder writes nothing
        assert float(row["input_usd"]) > 0 and (float(row["output_usd"]) > 0) == writes
        assert len(row["as_of"]) == 7 and row["source"]
    assert len({(row["host"], row["model"]) for row in rows}) == len(rows)


@given(st.text(max_size=200))
def test_the_token_estimate_is_a_whole_number_that_grows_with_the_text(text):
    assert (
        prices.estimate_tokens(text)
        <= prices.estimate_tokens(text + "a")
        <= len((text + "a").encode("utf-8", "replace"))
    )
    assert (prices.estimate_tokens(text) == 0) == (text == "")


def test_importing_the_backend_loads_no_client():
    code = "import sys; from factlab.models import providers; print([m for m in ('openai', 'pandas', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "options", [{"concurrency": 0}, {"timeout": 0}, {"max_retries": -1}, {"requests_per_minute": 0}]
)
def test_options_that_cannot_work(options):
    with pytest.raises(ModelError, match=next(iter(options))):
        OpenAI("tiny", "http://localhost:1/v1", **options)


# -------------------------------------------------------------------------------------------- a real model, end to end


@pytest.fixture(scope="module")
def transformers_serve(tmp_path_factory):
    """Base URL and model name of a `transformers serve` with the built-in model; skipped, with the reason, where it cannot start."""
    from factlab.models import weights

    missing = [name for name in ("transformers", "fastapi", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(
            f"`transformers serve` cannot start without {', '.join(missing)}: pip install 'transformers[serving]'"
        )
    try:
        folder = weights.smollm2()
    except ModelError as error:
        pytest.skip(f"no built-in weights: {error}")
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log.txt"
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder), "--device", "cpu"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=out, stderr=subprocess.STDOUT
        )
    try:
        for _ in range(240):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                    break
            except OSError:
                if process.poll() is not None:
                    last = (log.read_text().strip().splitlines() or ["no output"])[-1]
                    pytest.skip(f"`transformers serve` did not start: {last}")
                time.sleep(0.5)
        else:
            pytest.skip("`transformers serve` did not answer within two minutes")
        yield f"http://127.0.0.1:{port}/v1", str(folder)
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.mark.slow
def test_end_to_end_with_transformers_serve(transformers_serve):
    url, name = transformers_serve
    model = OpenAI(name, url, concurrency=2, max_retries=1)
    capital, again, cut = run(
        model,
        ask("What is the capital of France?", temperature=0.0, max_tokens=20, seed=0),
        ask("What is the capital of France?", temperature=0.0, max_tokens=20, seed=0),
        ask("Describe the human heart.", system="You are a doctor.", temperature=0.0, max_tokens=5, seed=0),
    )
    assert "Paris" in capital.text and capital.finish == "stop"
    assert again.text == capital.text and again.cached
    assert cut.finish == "length" and cut.completion_tokens == 5 and cut.prompt_tokens > 5
    [bare] = run(model, Call(prompt="The capital of France is", params={"temperature": 0.0, "max_tokens": 3}))
    assert "Paris" in bare.text and bare.finish == "length"
    with pytest.raises(ModelError, match="exact name"):
        run(OpenAI("another", url), ask("hello"))
