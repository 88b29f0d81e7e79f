"""Reading what a server sends back: a reply, an error for people, and nothing that looks like a key."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from factlab.models.base import Reply

_FINISH = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "safety", "recitation", "prohibited_content", "refusal"), "filter"),
}
_KEY_LIKE = re.compile(r"\b(sk|pk|rk|gsk|xai|pplx|hf|key)[-_][A-Za-z0-9_\-]{8,}|(?<=[Bb]earer )[A-Za-z0-9._~+/=\-]{8,}")


def scrub(text: str, key: str | None) -> str:
    """The text without the given key and without anything that looks like one."""
    if key and len(key) >= 4:
        text = text.replace(str(key), "<key>")
    return _KEY_LIKE.sub("<key>", text)


def error_text(body: Any) -> str:
    """The message in a server's error, in one line of at most 400 characters.

    Takes OpenAI's `{"message": …}`, FastAPI's `{"detail": …}` (also its list of places and messages), a bare string and HTML.
    """
    if isinstance(body, Mapping):
        body = next((body[k] for k in ("message", "detail", "error", "msg") if body.get(k)), body)
        if isinstance(body, Mapping) and body.get("message"):
            body = body["message"]
    if isinstance(body, list):
        parts = []
        for item in body:
            if isinstance(item, Mapping):
                place = ".".join(str(p) for p in item.get("loc", ()) if p != "body")
                parts.append(f"{place}: {item.get('msg') or item.get('message') or item}".removeprefix(": "))
            else:
                parts.append(str(item))
        body = "; ".join(parts)
    text = re.sub(r"<[^>]*>", " ", str(body)) if body is not None else ""
    text = " ".join(text.split()).rstrip(".")
    return (text[:400] + " …" if len(text) > 400 else text) or "no reason given"


def read_answer(data: Any, chat: bool, max_tokens: int | None = None, key: str | None = None) -> Reply:
    """The Reply in the JSON of a /chat/completions (`chat`) or /completions answer.

    Parameters
    ----------
    data : the parsed JSON.
    chat : which of the two it answers.
    max_tokens : what was asked for; tells a cut reply from a finished one where the server gives no finish reason.
    key : removed from the texts, should the server send it back.

    Returns
    -------
    Reply
        `finish` is 'error', with the reason in `error`, where there is no text to use: an error inside the answer, no choices, a
        null text. A null text is no failure when the reply was cut at max_tokens while still reasoning ('length') or withheld
        by a filter ('filter'). A refusal in the field of that name is the text, with finish 'filter'.
    """
    if not isinstance(data, Mapping):
        return _error("the server's answer is not a JSON object; is this the base URL of an OpenAI-compatible server?")
    usage = data.get("usage") if isinstance(data.get("usage"), Mapping) else {}
    common = {
        "prompt_tokens": _count(usage.get("prompt_tokens")),
        "completion_tokens": _count(usage.get("completion_tokens")),
        "model": _clean(str(data.get("model") or ""), key),
    }
    if data.get("error"):
        return _error(f"the server sent an error: {scrub(error_text(data['error']), key)}", **common)
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return _error("the server's answer holds no choices", **common)
    choice = choices[0]
    if choice.get("error"):
        return _error(f"the server sent an error: {scrub(error_text(choice['error']), key)}", **common)
    message = choice.get("message") if isinstance(choice.get("message"), Mapping) else {}
    text, reasoning = _text(message.get("content")) if chat else _text(choice.get("text"))
    for name in ("reasoning_content", "reasoning"):
        if not reasoning and isinstance(message.get(name), str):
            reasoning = message[name]
    reason = choice.get("finish_reason")
    finish = _FINISH.get(str(reason).lower())
    if finish is None and reason in (None, ""):
        used = common["completion_tokens"]
        finish = "length" if max_tokens and used is not None and used >= max_tokens else "stop"
    if isinstance(message.get("refusal"), str) and message["refusal"].strip():
        text, finish = message["refusal"], "filter"
    if finish is None:  # tool calls, an aborted reply, anything unheard of: usable only if there is a text
        if text is None or reason in ("error", "abort", "cancelled"):
            return _error(f"the reply ended with {scrub(str(reason), key)!r} and is not usable", **common)
        finish = "stop"
    if text is None and finish == "stop":
        return _error("the server sent no text (null)", **common)
    return Reply(
        text=_clean(text or "", key),
        finish=finish,
        reasoning=_clean(reasoning, key) if reasoning else None,
        logprobs=_first_token(choice.get("logprobs")),
        **common,
    )


def _error(why: str, **common: Any) -> Reply:
    return Reply(finish="error", error=why, **common)


def _clean(text: str, key: str | None) -> str:
    """A model's text without the key, should it be there. Short keys ("none", "EMPTY") are words, and words are left alone."""
    return text.replace(str(key), "<key>") if key and len(key) >= 12 else text


def _count(value: Any) -> int | None:
    return (
        int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None
    )


def _text(content: Any) -> tuple[str | None, str]:
    """Text and reasoning of a message's content: a string, null, or a list of typed parts."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return None, ""
    texts, thoughts = [], []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            thinking = str(part.get("type", "")).startswith(("think", "reason"))
            inner = part.get("thinking") if thinking and part.get("thinking") is not None else part.get("text")
            found = inner if isinstance(inner, str) else _text(inner)[0]
            if found:
                (thoughts if thinking else texts).append(found)
    return ("".join(texts) if texts else None), "".join(thoughts)


def _first_token(logprobs: Any) -> dict[str, float] | None:
    """Log-probabilities of the first token's candidates, in either endpoint's form."""
    if not isinstance(logprobs, Mapping):
        return None
    pairs: list[tuple[Any, Any]] = []
    content, legacy = logprobs.get("content"), logprobs.get("top_logprobs")
    if isinstance(content, list) and content and isinstance(content[0], Mapping):
        first = content[0]
        candidates = first.get("top_logprobs") or [first]
        pairs = [(c.get("token"), c.get("logprob")) for c in candidates if isinstance(c, Mapping)]
    elif isinstance(legacy, list) and legacy and isinstance(legacy[0], Mapping):
        pairs = list(legacy[0].items())
    found: dict[str, float] = {}
    for token, value in pairs:
        if isinstance(token, str) and isinstance(value, (int, float)) and math.isfinite(value):
            found[token] = max(float(value), found.get(token, -math.inf))
    return found or None
