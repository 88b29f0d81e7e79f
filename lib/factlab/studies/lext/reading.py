"""Reading the replies of LExT's stages: labels, questions, keywords (LExT, appendix B). A reply goes in with what it was asked, a text and a
status come out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from factlab import explanation, questions, replies
from factlab.text import fold

OPPOSED = ("yes", "no")


def label(text: str, row: dict[str, Any], message: str) -> tuple[str, str]:
    found = explanation.parse_label(text, row["question"], doses=row.get("form") == "qpain")
    return found.value or "", found.status


def judged(text: str, row: dict[str, Any], message: str) -> tuple[str, str]:
    found = explanation.parse_judged_label(text, message)
    return found.value or "", found.status


_TEXT_ANSWERS = re.compile(
    r"^\W*the (?:text|explanation|passage)(?: given| provided)? (?:(?P<no>(?:does not|doesn't|did not|cannot|can't) (?:\w+ )?"
    r"(?:answer|provide|contain|mention|address|give|state|specify|say|include|explain))"
    r"|(?:does (?:\w+ )?answer|(?:\w+ )?answers) (?:the|this|that) question)\b",
    re.IGNORECASE,
)


def answerable(text: str, row: dict[str, Any], message: str) -> tuple[str, str]:
    """Whether a text answers a question: yes or no, also as a sentence that says so (`The text does not answer …`)."""
    found = replies.label(text, OPPOSED, prompt=message)
    if found.value is None and (said := _TEXT_ANSWERS.match(replies.plain(replies.strip_reasoning(text).value or ""))):
        return ("no" if said["no"] else "yes"), "scored"
    return found.value or "", found.status


def whole_text(text: str, row: dict[str, Any], message: str) -> tuple[str, str]:
    """A reply that is a text of its own."""
    answer = replies.strip_reasoning(text)
    if answer.status != "scored":
        return "", answer.status
    if replies.is_refusal(answer.value):
        return "", "refused"
    value = answer.value.strip()
    return value, "scored" if value else "unparsable"


_HEADING = re.compile(
    r"^\W*(?:(?:re\w+|new|generated|own|the) ){0,2}(?:question|version)(?: \d{1,2})?\W*:\W*", re.IGNORECASE
)


def _unheaded(questions: Iterable[str]) -> list[str]:
    """Questions without `Rewritten question:` and the like in front."""
    return [text for text in (_HEADING.sub("", question) for question in questions) if text]


def several_questions(text: str, row: dict[str, Any], message: str) -> tuple[str, str]:
    found = questions.parse_questions(text, message)
    kept = distinct(_unheaded(found.value or []))[: row.get("count")]
    return "\n".join(kept), found.status if kept or found.status != "scored" else "unparsable"


def one_question(text: str, row: dict[str, Any], message: str) -> tuple[str, str]:
    found = questions.parse_questions(text, message)
    return ([*_unheaded(found.value or []), ""])[0], found.status


def several_keywords(text: str, row: dict[str, Any], message: str) -> tuple[str, str]:
    found = parse_keywords(text, row["count"], cut=row.get("cut", False))
    return "\n".join(found.value), found.status


def parse_keywords(reply: str | None, count: int = 5, cut: bool = False) -> replies.Parsed:
    """The keywords in a reply: between commas, semicolons or line breaks, numbered or not.

    Parameters
    ----------
    reply : what the subject wrote; None for a failed call.
    count : of more the first so many are kept.
    cut : the reply ran into max_tokens: the last piece of it may be half a keyword, and is left out.

    Returns
    -------
    Parsed : list of str, [] with status 'unparsable', 'refused', 'truncated' or 'error' where there is none. What has more than six
    words is a sentence and no keyword.
    """
    answer = replies.strip_reasoning(reply)
    if answer.status != "scored":
        return replies.Parsed([], answer.status)
    if replies.is_refusal(answer.value):
        return replies.Parsed([], "refused")
    text = re.sub(r"(?m)^.*:[ \t*]*$", "", replies.plain(answer.value))  # a line that announces the list
    text = re.sub(r"(?im)^[^\n:]{0,80}\b(?:key ?)?(?:words?|terms?)\b[^\n:]{0,60}:", "", text)
    parts = re.split(r"[;\n]|,(?!\d)|(?<!\d),", text)
    parts = parts[:-1] if cut else parts
    marks = r"^\s*(?:[-*•]|\(?\d{1,2}[.)](?!\d))\s*|^\s*and\s+"
    tidy = [re.sub(marks, "", part).strip(" \t.:?!\"'“”‘’*[]()") for part in parts]
    kept = distinct(w for w in tidy if re.search(r"[^\W\d_]|\d%|\d\.\d", w) and len(w.split()) <= 6)[:count]
    return replies.Parsed(kept, "scored" if kept else "unparsable")


def distinct(texts: Iterable[str], besides: str = "") -> list[str]:
    """Texts in order, each once whatever its case, white space and closing mark, and none that is `besides`."""
    seen = {fold(besides).rstrip("?. ")}
    kept = []
    for text in texts:
        form = fold(text).rstrip("?. ")
        if form and form not in seen:
            seen.add(form)
            kept.append(text)
    return kept
