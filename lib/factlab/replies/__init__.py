"""Reading what a model wrote: reasoning stripped, one label, a list, JSON, a score, a refusal.

What every method of this package needs of a reply, in one place and with one vocabulary of outcomes (`Parsed.status`).
Text goes in, a `Parsed` comes out; nothing raises on any text, and nothing is guessed: what cannot be read says so.
"""

from factlab.replies.cleaning import Parsed, bare, plain, strip_reasoning, without_echo, words_with_ends
from factlab.replies.labels import label
from factlab.replies.numbers import last_number
from factlab.replies.refusals import is_filler, is_refusal
from factlab.replies.structured import parse_json, parse_list

__all__ = [
    "Parsed",
    "bare",
    "is_filler",
    "is_refusal",
    "label",
    "last_number",
    "parse_json",
    "parse_list",
    "plain",
    "strip_reasoning",
    "without_echo",
    "words_with_ends",
]
