"""What an answer comes wrapped in: JSON, XML elements, Markdown. The layer under `parse_title` and `parse_authors`.

REASONS' prompts ask for a JSON array, for an XML element or for a bare title; models mix them, fence them and cut them off.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from factlab.replies import parse_json, parse_list, plain


@dataclass(frozen=True)
class Contents:
    """The texts that a wrapping held, in order; `cut` when it was begun and not ended."""

    items: list[str]
    cut: bool = False


_GIVEN = (
    "first",
    "firstname",
    "first_name",
    "given",
    "given_name",
    "given_names",
    "forename",
    "forenames",
    "givenname",
)
_FAMILY = ("last", "lastname", "last_name", "surname", "family", "family_name", "familyname", "keyname")
_EMPTY = re.compile(r"<\s*([\w:-]+)\s*/\s*>")
_ELEMENT = re.compile(r"<\s*([A-Za-z][\w:-]*)(?:\s[^<>]*)?>([^<]*)<\s*/\s*\1\s*>")


def unmarked(text: str) -> str:
    """Text without Markdown, code fences, HTML and stray elements, on its lines; a TeX tie is a space."""
    text = re.sub(r"(?<=\w)~(?=\w)", " ", html.unescape(text))
    text = re.sub(r"<\s*/?\s*[A-Za-z][\w:-]*(?:\s+[\w:-]+=[^<>]*)?\s*/?\s*>", " ", text)
    text = re.sub(r"\\(?:title|author)\{(.*)\}", r"\1", re.sub("[«»]", '"', text))
    return re.sub(r"(?m)^\s*Answer:\s*", "", plain(text))


def contents(text: str, keys: Sequence[str], tags: str) -> Contents | None:
    """What the JSON or the XML elements in a reply hold; None where there is neither.

    Parameters
    ----------
    text : str
    keys : sequence of str
        Keys of a JSON object that hold what is wanted, best first, in lower case.
    tags : str
        Pattern of the names of elements that hold it.
    """
    inside = _json(text, keys)
    return inside if inside is not None else _elements(text, tags)


def _json(text: str, keys: Sequence[str]) -> Contents | None:
    if not re.search(r"[\[{]", text) or not re.search(r"[\"'“”‘’]|\[\s*\]|\bnull\b|\bNone\b", text):
        return None
    read = parse_json(re.sub(r"(?<=[\w.])\"\s+\"(?=\w)", '", "', text))  # a comma forgotten
    if read.status == "scored" and isinstance(read.value, dict | list):
        held = _strings(read.value, keys)
        whole = re.match(r"\s*(?:```\w*\s*)?[\[{]", text) is not None
        # `[12]` or `[1, 2]` inside prose is a citation mark.
        if held or (whole and not _numbers(read.value)):
            return Contents(held)
        return None
    if re.search(r"(?:^|\n|```\w*\s*|:\s*)\s*[\[{]\s*[\"'“{]", text) and read.status == "truncated":
        return Contents([i for i in parse_list(text).value if i], cut=True)
    return None


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, int | float) for v in value)


def _strings(value: Any, keys: Sequence[str]) -> list[str]:
    """The texts in a JSON value: all of a list, of an object what its best key holds."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, list):
        return [s for v in value for s in _strings(v, keys)]
    if isinstance(value, dict):
        by_name = {str(k).casefold().strip(): v for k, v in value.items()}
        parts = [
            next((by_name[k] for k in names if isinstance(by_name.get(k), str)), "") for names in (_GIVEN, _FAMILY)
        ]
        if parts[1]:
            return [" ".join(p for p in parts if p)]
        for key in keys:
            if by_name.get(key) is not None:
                return _strings(by_name[key], keys)
        if len(by_name) == 1:
            return _strings(next(iter(by_name.values())), keys)
    return []


def _elements(text: str, tags: str) -> Contents | None:
    if "<" not in text:
        return None
    wanted = re.compile(rf"(?:{tags})s?|answer|response|output|result|final[_-]?answer", re.IGNORECASE)
    text = re.sub(r"<\s*([\w:-]+)\s[^<>]*?\bname\s*=\s*\"([^\"<>]+)\"[^<>]*/\s*>", r"<\1>\2</\1>", text)
    text = _EMPTY.sub(r"<\1></\1>", re.sub(r"(?m)^\s*```.*$", "", text))
    found, position = [], 0
    opened = [m for m in re.finditer(r"<\s*([A-Za-z][\w:-]*)(?:\s[^<>]*)?>", text) if wanted.fullmatch(m[1])]
    for mark in opened:
        if mark.start() < position:
            continue
        end = re.search(rf"<\s*/\s*{re.escape(mark[1])}\s*>", text[mark.end() :], re.IGNORECASE)
        if not end:
            rest = text[mark.end() :]
            whole = _inner(rest, wanted) or [rest.rpartition(",")[0]]  # the last of a list may be half a name
            return Contents([f for f in [*found, *whole] if f.strip()], cut=True)
        body = text[mark.end() : mark.end() + end.start()]
        inner = _inner(body, wanted)
        found += inner if inner is not None else [html.unescape(body).strip()]
        position = mark.end() + end.end()
    return Contents([f for f in found if f.strip()]) if opened else None


def _inner(body: str, wanted: re.Pattern) -> list[str] | None:
    """The elements inside an element: `<author>…</author>`, `<first>…</first><last>…</last>`; None if it has none."""
    named = _ELEMENT.findall(body)
    if not named:
        return None
    given = [v for n, v in named if n.casefold() in _GIVEN]
    family = [v for n, v in named if n.casefold() in _FAMILY]
    if family and len(given) == len(family):
        return [f"{g.strip()} {f.strip()}" for g, f in zip(given, family, strict=True)]
    best = [v for n, v in named if wanted.fullmatch(n)] or [
        v for n, v in named if n.casefold() in ("name", "li", "item")
    ]
    return [html.unescape(v).strip() for v in best or [v for _, v in named]]
