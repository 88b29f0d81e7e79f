"""Reading a draft that a model wrote: a question with options, key, explanation and quotes, as an item (30_write_items). MS-Exam-Gen, section III.B."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from factlab.exam import LETTERS, Evidence, Item
from factlab.replies import Parsed, parse_json, strip_reasoning, without_echo

if TYPE_CHECKING:
    from factlab.studies.ms_exam_gen.corpus import Index


@dataclass(frozen=True)
class Task:
    """One item to write: what about, with which label, from which passages (chunk ids, the nearest first)."""

    topic: str
    subtopic: str
    label: str
    parent: str = ""
    passages: tuple[str, ...] = ()


def read_draft(reply: str | None, prompt: str | None = None) -> Parsed:
    """The fields of an item in a reply: a JSON object, or labelled lines (`Question:`, `A)` … `D)`, `Answer:`, …).

    Returns
    -------
    Parsed : dict with question, question_type, options (list), answer, explanation, evidence (list of {passage, quote}); None with
    status 'unparsable', 'refused', 'truncated' or 'error' where there is no question with options.
    """
    parsed = parse_json(reply)
    if isinstance(parsed.value, list) and len(parsed.value) == 1 and isinstance(parsed.value[0], Mapping):
        parsed = Parsed(parsed.value[0], "scored")
    if isinstance(parsed.value, Mapping):
        found = _fields(parsed.value)
        return Parsed(found, "scored") if found else Parsed(None, "unparsable")
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    found = _lines(without_echo(answer.value, prompt))
    return (
        Parsed(found, "scored") if found else Parsed(None, "unparsable" if parsed.status == "scored" else parsed.status)
    )


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _fields(given: Mapping[str, Any]) -> dict[str, Any] | None:
    named = {str(k).casefold(): v for k, v in given.items()}

    def first(*names: str) -> Any:
        return next((named[n] for n in names if n in named), None)

    options = first("options", "choices")
    if isinstance(options, Mapping):
        options = [options[k] for k in sorted(options)]
    if not isinstance(options, list):
        options = [named[a.casefold()] for a in LETTERS if a.casefold() in named]
    question = _text(first("question", "stem"))
    if not question or not options:
        return None
    evidence = first("evidence", "quotes")
    evidence = [evidence] if isinstance(evidence, str | Mapping) else evidence if isinstance(evidence, list) else []
    quotes = []
    for one in evidence:
        one = {"quote": one} if isinstance(one, str) else one
        if isinstance(one, Mapping) and _text(one.get("quote")):
            passage = one.get("passage")
            quotes.append({"passage": passage if isinstance(passage, int) else None, "quote": one["quote"].strip()})
    return {
        "question": question,
        "question_type": _text(first("question_type", "type")),
        "options": _unlettered([_text(option) for option in options]),
        "answer": _text(first("answer", "key", "correct", "correct_answer", "correct_option")),
        "explanation": _text(first("explanation", "rationale")),
        "evidence": quotes,
    }


def _unlettered(options: list[str]) -> list[str]:
    """Options without letters of their own, where each has the one of its place."""
    marks = [
        re.match(rf"\(?{letter}[.):]\s+(?=\S)", option) for letter, option in zip("ABCDEFGH", options, strict=False)
    ]
    return [option[m.end() :] for option, m in zip(options, marks, strict=True)] if marks and all(marks) else options


_LINE = re.compile(
    r"^[ \t]*[*_#]*(?:(?P<name>question type|question|stem|options|(?:correct )?answer|key|explanation|rationale|evidence|quote)[ \t]*[*_]*[ \t]*:"
    r"|\(?(?P<letter>[A-Da-d])[.):])[*_]*[ \t]*(?P<rest>.*)$",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"^\W*(?:the )?(?:(?:correct|right|best) )?answer is:?\s*(?=\W*[A-D]\b)", re.IGNORECASE
)  # The answer is D) …


def _lines(text: str) -> dict[str, Any] | None:
    found: dict[str, str] = {}
    at = ""
    for line in text.splitlines():
        hit = _LINE.match(_SAID.sub("Answer: ", line))
        if hit:
            at = (hit["letter"] or hit["name"]).casefold().removeprefix("correct ")
            if at == "question" and at in found:
                break  # a second question
            found[at] = hit["rest"].strip()
        elif at and line.strip():
            found[at] = f"{found[at]} {line.strip()}".strip()
        else:
            at = "" if at in "abcd" else at  # an empty line ends an option
    if not found.get("question"):
        return None
    fields = dict(found) | {
        "options": [found[a] for a in "abcd" if a in found],
        "type": found.get("question type") or "not told",
    }
    fields["answer"] = found.get("answer", found.get("key", ""))
    quote = found.get("evidence", found.get("quote", "")).strip("\"“”' ")
    fields["evidence"] = [quote] if quote else []
    return _fields(fields) if fields["options"] else None


def as_item(found: Mapping[str, Any], task: Task, index: Index) -> Item:
    """An item from the fields of a draft: its key as a letter, its quotes with the passages and offsets where they stand.

    A key given as an option's text becomes that option's letter. A quote that does not stand in the passage that it names, but in
    another one that was shown, gets that one; one that stands in none keeps the named passage and has no offsets, which the audit flags.
    """
    options, key = found["options"], found["answer"].strip()
    if key.upper() not in LETTERS or not key:
        same = [n for n, option in enumerate(options) if option.casefold() == key.casefold()]
        lettered = re.match(r"\W*(?:option\s+)?([A-D])(?=[.):\s]|$)[.):\s]*(.*)$", key, re.IGNORECASE | re.DOTALL)
        key = LETTERS[same[0]] if len(same) == 1 and same[0] < 4 else _lettered(lettered, options) if lettered else key
    evidence = []
    for quoted in found["evidence"]:
        number, quote = quoted["passage"], quoted["quote"]
        named = task.passages[number - 1] if isinstance(number, int) and 0 < number <= len(task.passages) else ""
        places = [
            (chunk, locate(quote, index.texts[chunk])) for chunk in ([named] if named else []) + list(task.passages)
        ]
        chunk, span = next(((c, s) for c, s in places if s), (named or "; ".join(task.passages), None))
        start, end = span or (None, None)
        source = "; ".join(dict.fromkeys(index.files[c] for c in chunk.split("; ") if c in index.files))
        evidence.append(Evidence(chunk, quote, start, end, source))
    return Item(
        question=found["question"], options=tuple(options), key=key, label=task.label, topic=task.topic, subtopic=task.subtopic,
        question_type=found["question_type"], explanation=found["explanation"], evidence=tuple(evidence), batch=task.topic,
        parent=task.parent,
    )  # fmt: skip


def _lettered(found: re.Match[str], options: Sequence[str]) -> str:
    """The letter of `D) The vena cava`, or the whole where these are the words of other options alone: then no key can be read."""
    letter, words = found[1].upper(), " ".join(found[2].split()).casefold().rstrip(".")
    alike = [a for a, o in zip(LETTERS, options, strict=False) if o.casefold().rstrip(".") == words]
    return found[0] if alike and letter not in alike else letter


_SAME = str.maketrans({**dict.fromkeys("‘’‚‛ʼ", "'"), **dict.fromkeys("“”„‟", '"'), **dict.fromkeys("‐‑‒–—―", "-")})


def locate(quote: str, passage: str) -> tuple[int, int] | None:
    """Where a quote stands in a passage, in characters: white space, case and kinds of quotes and dashes do not matter.

    What is left out is written `…` or `[...]`: the span is from the first piece to the last. None where a piece is missing or out of order.
    """
    pieces = re.split(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\.\.\.|…)\s*", quote.translate(_SAME))
    pieces = [piece.strip(" \t\n\"'") for piece in pieces]
    text, at, start = passage.translate(_SAME), 0, None
    for piece in [p for p in pieces if p]:
        words = r"\s+".join(map(re.escape, piece.split()))
        hit = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE).search(text, at)
        if not hit:
            return None
        start, at = hit.start() if start is None else start, hit.end()
    return None if start is None else (start, at)
