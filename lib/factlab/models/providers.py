"""What each provider accepts, what it costs, and how a request is fitted to both: data and pure functions, nothing is sent.

A parameter that a provider or model refuses is left out of the request and told in a note, so that a run with a reasoning model
does not stop at `temperature`. What the table does not know is learnt from the server's own refusal (`refused_parameter`).
Prices are a dated table in prices.csv: check them with the provider before a large run, or pass a table of your own.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from factlab.models.base import ModelError

OPENAI_URL = "https://api.openai.com/v1"
PARAMETERS = ("temperature", "top_p", "max_tokens", "stop", "schema", "seed", "top_logprobs")
# The name a request carries for each of our parameters, where it differs.
_WIRE_NAMES = {"schema": "response_format", "top_logprobs": "logprobs"}


@dataclass(frozen=True)
class Rule:
    """What the models matching `host` and `model` (regular expressions, searched) do not take.

    Attributes
    ----------
    refuses : parameters left out of the request; 'system' means that the system message is folded into the user's.
    rename : our name -> the provider's name.
    most : parameter -> largest accepted value (for `stop`: how many strings).
    """

    host: str
    model: str
    refuses: frozenset[str] = frozenset()
    rename: Mapping[str, str] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)


# Every matching rule applies. Patterns on the model alone also hold behind gateways ("openai/o3-mini" on another host).
RULES: tuple[Rule, ...] = (
    # OpenAI's reasoning models: sampling is fixed and max_tokens is called max_completion_tokens (it covers hidden reasoning).
    Rule(
        "",
        r"(^|/)(o\d|gpt-5(-mini|-nano|-pro)?(-\d{4}|$))",
        frozenset({"temperature", "top_p", "stop", "top_logprobs"}),
        {"max_tokens": "max_completion_tokens"},
    ),
    # Later ones take some sampling parameters, depending on the effort: left to the server's own answer.
    Rule("", r"(^|/)gpt-5", rename={"max_tokens": "max_completion_tokens"}),
    Rule("", r"(^|/)o1-(mini|preview)", frozenset({"system", "schema"})),
    Rule("", r"(^|/)gpt-4o(-mini)?-search-preview", frozenset({"temperature", "top_p", "seed", "top_logprobs"})),
    Rule(r"(^|\.)api\.openai\.com$", "", most={"stop": 4, "top_logprobs": 20, "temperature": 2}),
    Rule(r"(^|\.)anthropic\.com$", "", frozenset({"seed", "top_logprobs", "schema"}), most={"temperature": 1}),
    Rule(r"(^|\.)perplexity\.ai$", "", frozenset({"seed", "top_logprobs", "stop"})),
    Rule(r"(^|\.)mistral\.ai$", "", frozenset({"top_logprobs"}), {"seed": "random_seed"}),
    Rule(r"(^|\.)groq\.com$", "", frozenset({"top_logprobs"}), most={"stop": 4}),
    Rule(r"(^|\.)deepseek\.com$", "", frozenset({"schema", "seed"}), most={"top_logprobs": 20}),
    Rule(r"(^|\.)deepseek\.com$", r"reasoner", frozenset({"temperature", "top_p", "top_logprobs"})),
)

# Environment variables that hold a provider's key under its own name; a key is only ever sent to its own host, over https.
KEY_VARIABLES: Mapping[str, str] = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "api.perplexity.ai": "PERPLEXITY_API_KEY",
    "api.together.xyz": "TOGETHER_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}


def split_name(name: str) -> tuple[str, str]:
    """Model and base URL of `openai/<model>` or `openai/<model>@<base url>`.

    Raises
    ------
    ModelError : no model in the name, or what follows `@` is not a usable URL.

    Examples
    --------
    >>> split_name("openai/sonar@https://api.perplexity.ai")
    ('sonar', 'https://api.perplexity.ai')
    """
    rest = name.removeprefix("openai/")
    found = re.fullmatch(r"(?P<model>.+?)@(?P<url>[a-z]+://.*)", rest, re.DOTALL)
    if found:
        return found["model"], check_url(found["url"])
    model, at, tail = rest.rpartition("@")
    if at and re.match(r"(localhost|\[|[\w.-]+:\d+|[\w-]+(\.[\w-]+)+/)", tail):
        raise ModelError(
            f"{name}: the address after '@' needs its scheme, as in openai/{model or 'model'}@http://{tail}"
        )
    if not rest.strip():
        raise ModelError(f"{name!r}: no model named; write openai/<model> or openai/<model>@<base url>")
    return rest, OPENAI_URL


def check_url(url: str) -> str:
    """The base URL without a trailing slash, or a ModelError where it cannot be one (or holds a password or key)."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise ModelError("a model's base URL must look like https://host/v1 or http://localhost:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ModelError(
            f"the base URL for {host} holds a user name, password, query or fragment. Keys do not belong into a model's name, "
            f"which is printed and kept: set the environment variable {key_variables(url)[0]} instead."
        )
    return url.rstrip("/")


def host_of(url: str) -> str:
    """Host name in lower case, without the port."""
    return (urlsplit(url).hostname or "").lower()


def is_loopback(url: str) -> bool:
    """Whether the server runs on this machine: no key is needed and nothing is paid."""
    host = host_of(url)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def key_variables(url: str) -> list[str]:
    """Environment variables in which a key for this server is looked for, in order.

    First `FACTLAB_API_KEY_` and the host in capitals with every other character as `_`
    (`FACTLAB_API_KEY_LAB_EXAMPLE_ORG`), then the provider's usual name, for https only. `OPENAI_API_KEY` is for
    api.openai.com alone and is never sent elsewhere.
    """
    host = host_of(url)
    names = ["FACTLAB_API_KEY_" + re.sub(r"[^A-Z0-9]+", "_", host.upper()).strip("_")]
    if host in KEY_VARIABLES and url.lower().startswith("https://"):
        names.append(KEY_VARIABLES[host])
    return names


def _rules(host: str, model: str) -> list[Rule]:
    return [rule for rule in RULES if re.search(rule.host, host) and re.search(rule.model, model)]


def adapt(
    params: Mapping[str, Any],
    host: str,
    model: str,
    chat: bool = True,
    learnt: Iterable[str] = (),
) -> tuple[dict[str, Any], list[str]]:
    """Turn our sampling parameters into a request's, leaving out what the provider refuses.

    Parameters
    ----------
    params : temperature, top_p, max_tokens, stop, schema (JSON Schema), seed, top_logprobs; None is not sent, other
        names (such as `labels`) are not the server's business.
    host, model : where the request goes; they choose the rules.
    chat : True for /chat/completions, False for the bare /completions of base models.
    learnt : parameters this server refused before (see `refused_parameter`); 'max_tokens' among them means that the server
        wants the other name for it.

    Returns
    -------
    (request, notes) : keyword arguments of the request, and one sentence for each thing that was changed or left out.
    """
    rules, learnt = _rules(host, model), set(learnt)
    refused = frozenset().union(*(rule.refuses for rule in rules)) | learnt
    rename = {k: v for rule in rules for k, v in rule.rename.items()}
    most = {k: v for rule in rules for k, v in rule.most.items()}
    if not chat:
        refused |= {"schema"}
        rename.pop("max_tokens", None)
        most["top_logprobs"] = min(most.get("top_logprobs", 5), 5)
    request: dict[str, Any] = {}
    notes: list[str] = []
    for name in PARAMETERS:
        value = params.get(name)
        if value is None or (name == "stop" and not value):
            continue
        if name == "max_tokens":  # never left out: it bounds the cost
            swap = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
            wire = rename.get(name, name)
            request[swap[wire] if wire in learnt else wire] = value
            continue
        if name in refused:
            notes.append(f"{model} at {host} does not take {_told(name)}: left out")
            continue
        limit = most.get(name)
        if name == "stop":
            value = [value] if isinstance(value, str) else list(value)
            if limit is not None and len(value) > limit:
                notes.append(f"{host} takes {limit} stop strings: the last {len(value) - int(limit)} were left out")
                value = value[: int(limit)]
        elif limit is not None and value > limit:
            notes.append(f"{host} takes {name} up to {limit:g}: {value:g} was lowered to it")
            value = type(value)(limit)
        request |= _wire(rename.get(name, name), value, chat)
    return request, notes


def _told(name: str) -> str:
    return {"schema": "a JSON schema (the prompt alone asks for the form)", "top_logprobs": "log-probabilities"}.get(
        name, name
    )


def _wire(name: str, value: Any, chat: bool) -> dict[str, Any]:
    if name == "schema":
        form = {"name": "reply", "schema": dict(value), "strict": _is_strict(value)}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    if name == "top_logprobs":
        return {"logprobs": True, "top_logprobs": int(value)} if chat else {"logprobs": int(value)}
    return {name: value}


def _is_strict(schema: Any) -> bool:
    """Whether a schema meets the conditions of strict mode: every object closed, every property required."""
    if isinstance(schema, Mapping):
        if "properties" in schema or schema.get("type") == "object":
            closed = schema.get("additionalProperties") is False
            if not closed or set(schema.get("required", ())) != set(schema.get("properties", {})):
                return False
        return all(_is_strict(v) for v in schema.values())
    return all(_is_strict(v) for v in schema) if isinstance(schema, (list, tuple)) else True


def fold_system(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The same messages with every system message put in front of the first user message, for models without that role."""
    system = "\n\n".join(m["content"] for m in messages if m["role"] == "system")
    rest = [dict(m) for m in messages if m["role"] != "system"]
    if not system:
        return rest
    first = next((i for i, m in enumerate(rest) if m["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *rest]
    rest[first]["content"] = system + "\n\n" + rest[first]["content"]
    return rest


def adapt_messages(
    messages: Sequence[Mapping[str, str]], host: str, model: str, learnt: Iterable[str] = ()
) -> tuple[list[dict[str, str]], list[str]]:
    """The messages as this model takes them, and a note where the system message had to be folded into the user's."""
    has_system = any(m["role"] == "system" for m in messages)
    if has_system and ("system" in learnt or any("system" in rule.refuses for rule in _rules(host, model))):
        return fold_system(messages), [f"{model} at {host} has no system role: it was put before the user's text"]
    return [dict(m) for m in messages], []


_REFUSAL = re.compile(
    r"unsupported|not\s+(be\s+)?(supported|support|permitted|allowed|available|enabled|implemented)|does(n't| not) support"
    r"|unexpected|unknown|unrecogni[sz]ed|extra (inputs?|fields?)|incompatible|cannot (both )?be (used|specified)|deprecated",
    re.IGNORECASE,
)


def refused_parameter(message: str, named: str | None, request: Mapping[str, Any]) -> str | None:
    """Which of the parameters just sent a server's 400 or 422 answer refuses; None when it complains of something else.

    Parameters
    ----------
    message : the error's text.
    named : the `param` field of the error, where the server filled it in.
    request : the request as it was sent.

    Returns
    -------
    str or None
        A name out of PARAMETERS, 'max_completion_tokens' or 'system', as `adapt(learnt=...)` and
        `adapt_messages(learnt=...)` take it.
    """
    if not _REFUSAL.search(message):
        return None
    sent = [k for k in request if k not in ("model", "messages", "prompt")]
    ours = {"response_format": "schema", "logprobs": "top_logprobs", "random_seed": "seed"}
    if named and named.split(".")[0].split("[")[0] in sent:
        wire = named.split(".")[0].split("[")[0]
        return ours.get(wire, wire)
    system = any(m.get("role") == "system" for m in request.get("messages", ()))
    if system and re.search(
        r"\bsystem\b.{0,20}\b(role|message|prompt|instruction)|role.{0,12}\bsystem\b", message, re.IGNORECASE
    ):
        return "system"
    places = [(found.start(), k) for k in sent if (found := re.search(rf"(?<!\w){re.escape(k)}(?!\w)", message))]
    if (
        not places
        and "response_format" in sent
        and re.search(r"json[_ ]schema|structured output", message, re.IGNORECASE)
    ):
        return "schema"
    if not places:
        return None
    if re.search(r"\bboth\b", message) and {"temperature", "top_p"} <= {k for _, k in places}:
        return "top_p"  # either would do; temperature is what papers report
    return ours.get(min(places)[1], min(places)[1])
