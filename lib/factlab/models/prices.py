"""What a batch may cost before it is sent, and what it came to: from a dated price table (prices.csv)."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from factlab.models.base import Call, ModelError
from factlab.models.providers import host_of, is_loopback, split_name


@dataclass(frozen=True)
class CostEstimate:
    """What a batch may cost at most, before anything is sent.

    Attributes
    ----------
    calls : requests that would be sent.
    prompt_tokens : estimated tokens of all prompts.
    max_completion_tokens : the most that may be generated (the sum of `max_tokens`).
    usd : cost of both in US dollars, if every reply used all its tokens; None when no price is known.
    priced_on : as of when the price was known (YYYY-MM); None without one.
    note : what the figure leaves out or assumes.
    """

    calls: int
    prompt_tokens: int
    max_completion_tokens: int
    usd: float | None
    priced_on: str | None
    note: str

    def __str__(self) -> str:
        cost = "no price known"
        if self.usd is not None:
            cost = f"at most {self.usd:.2f} USD" if self.usd >= 0.01 or self.usd == 0 else f"at most {self.usd:.1g} USD"
        tokens = f"{self.prompt_tokens:,} tokens in, up to {self.max_completion_tokens:,} out"
        return f"{self.calls:,} call{'s' * (self.calls != 1)}, {tokens}: {cost}" + (
            f" ({self.note})" if self.note else ""
        )

    def check(self, max_cost_usd: float | None) -> None:
        """Raise a ModelError when the batch may cost more than the limit, or when that cannot be known."""
        if max_cost_usd is None or not self.calls:
            return
        if self.usd is None:
            raise ModelError(f"max_cost_usd is {max_cost_usd:g}, but the cost cannot be estimated: {self.note}")
        if self.usd > max_cost_usd:
            raise ModelError(
                f"stopped before sending: {self}; the limit max_cost_usd is {max_cost_usd:g}. Raise the limit, lower max_tokens, "
                "or ask fewer questions."
            )


ASSUMED_MAX_TOKENS = 1024  # what a call without max_tokens is taken to generate


def estimate_tokens(text: str) -> int:
    """How many tokens a text may take, without the model's tokenizer: its bytes in UTF-8 over 3, rounded up.

    Meant as an upper estimate: everyday English has 4 to 5 characters a token; whole biomedical articles, references included, had
    3.1 to 4.2 with SmolLM2's tokenizer. Bytes rather than characters, since other scripts take more tokens a character. No
    tokenizer is downloaded.
    """
    return math.ceil(len(text.encode("utf-8", "replace")) / 3)


def prompt_tokens(call: Call, tokens: Callable[[str], int] | None = None) -> int:
    """Estimated tokens of one call's prompt: its texts, 4 more for each chat message and 3 to open the reply."""
    count = tokens or estimate_tokens
    if call.messages is None:
        return count(call.prompt or "")
    total = 3 + sum(4 + count(message["content"]) for message in call.messages)
    schema = call.params.get("schema")
    return total + (count(json.dumps(schema)) if schema else 0)


def price_table(path: str | Path | None = None) -> list[dict[str, str]]:
    """Rows of a price table: a CSV of your own with the same columns (`path`, or what FACTLAB_PRICES names), else the packaged one.

    Columns: host and model (regular expressions that must match the whole), input_usd, output_usd (per million tokens),
    request_usd (per call), as_of (YYYY-MM), source. The first row that matches counts.
    """
    path = path or os.environ.get("FACTLAB_PRICES")
    where = Path(path) if path else resources.files("factlab.models") / "prices.csv"
    try:
        rows = list(csv.DictReader(where.read_text(encoding="utf-8-sig").splitlines()))
    except OSError as error:
        raise ModelError(f"price table {path}: {error.strerror}") from error
    needed = {"host", "model", "input_usd", "output_usd", "request_usd", "as_of"}
    for number, row in enumerate(rows, start=2):
        if missing := sorted(name for name in needed if row.get(name) is None):
            raise ModelError(f"price table {path}, row {number}: no value for {', '.join(missing)}")
        try:
            [float(row[name] or 0) for name in ("input_usd", "output_usd", "request_usd")]
            [re.compile(row[name]) for name in ("host", "model")]
        except (ValueError, re.error) as error:
            raise ModelError(f"price table {path}, row {number}: {error}") from error
    return rows


def estimate_cost(
    calls: Sequence[Call],
    model: str,
    tokens: Callable[[str], int] | None = None,
    prices: str | Path | None = None,
) -> CostEstimate:
    """The most that these calls can cost with the named model.

    Parameters
    ----------
    calls : the calls that would really be sent (not those found in the cache).
    model : a model's name as `models.load` takes it; `local/`, `hf/`, `recorded`, `reference` and servers on this machine
        cost nothing.
    tokens : counts the tokens of a text; default `estimate_tokens`.
    prices : path of a price table of your own (see `price_table`).

    Returns
    -------
    CostEstimate
        `usd` is None where no price is known. A call without `max_tokens` is taken to generate 1024 tokens, and the note says
        so. Retries and what a search model reads online are not in it.
    """
    total_in = sum(prompt_tokens(call, tokens) for call in calls)
    limits = [call.params.get("max_tokens") for call in calls]
    total_out = sum(ASSUMED_MAX_TOKENS if n is None else int(n) for n in limits)
    unlimited = sum(n is None for n in limits)
    assumed = f"{unlimited} calls without max_tokens taken as {ASSUMED_MAX_TOKENS} each" if unlimited else ""
    where, row = _price(model, prices)
    if row is None:
        usd = None if where.startswith("no price") else 0.0
        note = where if usd == 0.0 else "; ".join(filter(None, [where, assumed]))
        return CostEstimate(len(calls), total_in, total_out, usd, None, note)
    usd = _usd(row, len(calls), total_in, total_out)
    note = f"prices as of {row['as_of']}, check them with the provider"
    return CostEstimate(len(calls), total_in, total_out, usd, row["as_of"], "; ".join(filter(None, [note, assumed])))


def _price(model: str, prices: str | Path | None = None) -> tuple[str, dict[str, str] | None]:
    """The row of the price table for a model; without one, the reason: nothing to pay, or no price known."""
    if not model.startswith("openai/"):
        return "runs on this machine", None
    name, url = split_name(model)
    if is_loopback(url):
        return "server on this machine", None
    for row in price_table(prices):
        if re.fullmatch(row["host"], host_of(url)) and re.fullmatch(row["model"], name):
            return "", row
    remedy = "name a price table of your own in FACTLAB_PRICES, or set no limit"
    return f"no price known for {name} at {host_of(url)}; {remedy}", None


def _usd(row: Mapping[str, str], calls: int, tokens_in: int, tokens_out: int) -> float:
    per_token = tokens_in * float(row["input_usd"] or 0) + tokens_out * float(row["output_usd"] or 0)
    return per_token / 1e6 + calls * float(row["request_usd"] or 0)


def cost(model: str, calls: int, tokens_in: int, tokens_out: int) -> float | None:
    """US dollars that finished calls came to, by the price table; None where no price is known."""
    where, row = _price(model)
    if row is not None:
        return round(_usd(row, calls, tokens_in, tokens_out), 6)
    return None if where.startswith("no price") else 0.0


def check_cost(
    calls: Sequence[Call], model: str, max_cost_usd: float, prices: str | Path | None = None
) -> CostEstimate:
    """The estimate of `estimate_cost`, after a ModelError where it is above the limit or cannot be made."""
    estimate = estimate_cost(calls, model, prices=prices)
    estimate.check(max_cost_usd)
    return estimate
