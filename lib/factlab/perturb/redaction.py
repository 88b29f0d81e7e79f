"""Keywords taken out of a context, to see whether a model's answer rested on them (LExT, section 3.2.3, "redaction")."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

_LETTER = r"[\w\u0300-\u036f]"  # combining accents are part of the letter before them
# Characters that people and editors write for each other.
_FAMILIES = ("-\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "'\u2018\u2019\u02bc", '"\u201c\u201d\u201e\u201f')
_ALIKE = {character: f"[{re.escape(family)}]" for family in _FAMILIES for character in family}


def redact(text: str, keywords: str | Iterable[str], mark: str = "[REDACTED]", ignore_case: bool = True) -> str:
    """Put a mark in the place of every keyword.

    Parameters
    ----------
    text : str
    keywords : str or iterable of str
        A single string is a list with commas, semicolons or line breaks between (a comma within a number, as in 2,4-D, is none).
        Empty keywords are ignored.
    mark : str
        What stands there instead. Marks that are already in the text are left alone, so that redacting twice changes nothing.
    ignore_case : bool
        False: only keywords written as given, for US beside us.

    Returns
    -------
    str
        All else is as it was, white space too.

    Notes
    -----
    Whole words only: letters, digits and the underscore go on a word; hyphens, apostrophes and slashes do not
    (`insulin-dependent` without `insulin` is `[REDACTED]-dependent`, but `IL-2` is not in `IL-21`). A number ends where its
    digits do: `5%` is neither in `15%` nor in `0.5%`. `p53+` is not in `p53+/-`. Any white space, dash, apostrophe or quote in a
    keyword stands for any other of its sort, and accents may be composed or not. Keywords that overlap, or of which one
    holds the other, are covered by one mark.
    """
    pattern = [re.compile(p, re.IGNORECASE if ignore_case else 0) for p in _patterns(keywords)]
    while (redacted := _once(text, pattern, mark)) != text:  # a mark ends words, so that a second look may find more
        text = redacted
    return text


def _patterns(keywords: str | Iterable[str]) -> list[str]:
    if isinstance(keywords, str):
        keywords = re.split(r"[;\n]|,(?!\d)|(?<!\d),", keywords)
    found = {}
    for keyword in keywords:
        if words := unicodedata.normalize("NFC", keyword).split():
            forms = dict.fromkeys(
                r"\s+".join("".join(_ALIKE.get(c, re.escape(c)) for c in unicodedata.normalize(form, w)) for w in words)
                for form in ("NFC", "NFD")
            )
            found[_start(words[0][0]) + f"(?:{'|'.join(forms)})" + _end(words[-1][-1])] = None
    return list(found)


def _start(first: str) -> str:
    """What may not stand before a keyword that begins so."""
    if first.isdigit():
        return rf"(?<!{_LETTER})(?<!\d[.,])"
    return rf"(?<!{_LETTER})" if re.match(_LETTER, first) else ""


def _end(last: str) -> str:
    """What may not stand behind a keyword that ends so."""
    if last.isdigit():
        return rf"(?!{_LETTER})(?![.,]\d)"
    if re.match(_LETTER, last):
        return rf"(?!{_LETTER})"
    return r"(?!/?[-+\u2212])" if last in "+-\u2212" else ""


def _once(text: str, patterns: list[re.Pattern], mark: str) -> str:
    parts = text.split(mark) if mark.strip() else [text]
    return mark.join(_covered(part, list(_spans(part, patterns)), mark) for part in parts)


def _spans(text: str, patterns: list[re.Pattern]) -> Iterator[tuple[int, int]]:
    for pattern in patterns:
        match = pattern.search(text)
        while match:
            yield match.span()
            match = pattern.search(text, match.start() + 1)  # the next one may overlap this one


def _covered(text: str, spans: list[tuple[int, int]], mark: str) -> str:
    pieces, kept = [], 0
    for start, end in _merged(spans):
        pieces += [text[kept:start], mark]
        kept = end
    return "".join([*pieces, text[kept:]])


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
