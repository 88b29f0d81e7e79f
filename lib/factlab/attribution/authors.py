"""REASONS' direct queries: which authors did the model name?

Section 4 of the paper asks for a JSON array of names (`["pass"]` where they cannot be told) or for one XML element with
names between commas; models also write lists, `Surname, Given and …` and sentences. A reply goes in, a list of names as
written comes out.
"""

import re

from factlab.attribution import wrappings
from factlab.attribution.passes import declines
from factlab.replies import Parsed, parse_list, strip_reasoning, without_echo
from factlab.text import normalise

_KEYS = ("authors", "author", "author_names", "authornames", "author names", "names", "author_list", "name", "full_name",
         "fullname", "answer", "response", "result", "output")  # fmt: skip
_TAGS = r"authors?(?:[_ -]?(?:names?|list))?|names?|creators?|person|persons|people"

_PARTICLE = r"(?:v[oa]n|der|den|de[lr]?|della|d[aiu]|d[ao]s|l[ae]|ter|ten|zu[mr]?|al|bin|ibn|el)"
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_INITIALS = re.compile(rf"(?:[^\W\d_]\.[\s-]*){{1,5}}|{_CAPITAL}{{1,4}}|(?:{_CAPITAL}\.?[\s-]){{1,4}}{_CAPITAL}\.?")
_SUFFIX = re.compile(r"(?:jr|sr|ii|iii|iv|ph\.?\s?d|m\.?d)\.?", re.IGNORECASE)
_GROUP = re.compile(
    r"(?i:\b(?:team|group|collaboration|consortium|initiative|project|network|committee|inc|labs?|research|ai)\b)"
    r"|^[A-Z]\w*[A-Z]\w*$"
)
_OTHERS = re.compile(
    r"[,;]?\s*(?:\band\b|&)?\s*\b(?:et\.? al\b\.?|(?:and )?(?:(?:many|several|some|\d+|\w+) )?(?:others|other (?:co-?)?authors|colleagues|co-?authors))\s*\.?",
    re.I,
)
_LABEL = re.compile(
    r"^\W*(?:the )?(?:(?:full |complete )?(?:list of )?)?(?:paper'?s? )?(?:author(?:s|\(s\))?|names?|authored by|written by|by|answer)"
    r"(?: names?| list)?(?: (?:of|for|are|is)\b[^:\n]*)?\s*(?::|=|\bare\b|\bis\b)\s*",
    re.IGNORECASE,
)
# "The authors of the paper X are A, B and C", "X was written by A and B"
_SAID = re.compile(
    r"\b(?:authors?|author\(s\)|researchers|names)\b[^:\n]{0,300}?(?:\b(?:are|is|include|includes|were|was)\b:?|:)\s*(?=[\W_]*[^\W\d_])"
    r"|\b(?:written|authored|co-?authored|published|proposed|developed|introduced|created)\s+by(?:\s+(?:the\s+)?(?:authors?|researchers))?:?\s+",
    re.IGNORECASE,
)
_BY = re.compile(r"^[^\n]*[\"'*]\s*,?\s*by\s+", re.IGNORECASE)
_NUMBER = r"(?:^|[\s,;])\(?\d{1,2}[.)]\s+"
_MAX_AUTHORS = 5_000


def parse_authors(reply: str | None, prompt: str | None = None) -> Parsed:
    """Read the author names in a reply.

    Understands JSON arrays and objects (also first and last names apart), XML elements, numbered and bulleted lists,
    `A, B and C`, `A; B`, `Surname, Given and Surname, Given`, `Surname, G., & Surname, G.`, `Surname GN, …`,
    `Authors: …`, and the names in a sentence that says who wrote the paper. `et al.`, affiliations in brackets and
    footnote marks go; reasoning before the answer is stripped.

    Parameters
    ----------
    reply : str or None
        None stands for a failed call.
    prompt : str, optional
        The prompt; what the reply repeats of it is ignored.

    Returns
    -------
    Parsed
        value: list[str], each name as written, in order; None with status `refused` (a pass in any form, a refusal, an
        empty list), `unparsable` or `error`. Unfinished: `truncated`, with the names that are whole, or None.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    text = without_echo(answer.value, prompt).strip()
    if not text:
        return Parsed(None, "unparsable")
    if declines(text):
        return Parsed(None, "refused")
    inside = wrappings.contents(text, _KEYS, _TAGS)
    if inside is None:
        return _in_prose(text)
    names = [n for item in inside.items for n in split_authors(item)]
    names = [n for n in names if n and not declines(n)]
    if inside.cut:
        return Parsed(names or None, "truncated")
    if not names:
        return Parsed(None, "refused")
    if not all(_is_name(n, strict=False) for n in names) or len(names) > _MAX_AUTHORS:
        return Parsed(None, "unparsable")
    return Parsed(names, "scored")


def _in_prose(text: str) -> Parsed:
    lines = [line.strip() for line in wrappings.unmarked(text).splitlines() if line.strip()]
    listed = [re.match(r"(?:\(?\d{1,3}[.)]|[-•–*]|\[\d{1,3}\])\s+(\S.*)", line) for line in text.splitlines()]
    items = [m[1] for m in listed if m]
    names: list[str] = []
    if len(items) > 1 or (
        items
        and len(re.findall(_NUMBER, lines[0])) < 2
        and len(lines) <= 2
        and (len(lines) == 1 or lines[0].endswith(":"))
    ):
        whole = [wrappings.unmarked(item) for item in parse_list(text).value] or items
        found = [re.split(r"\s+[-–—:]\s+|\s*\(|:\s", item)[0] for item in items or whole]
        names = [n for item in found for n in split_authors(wrappings.unmarked(item))]
        return _checked(names)
    for number, line in enumerate(lines):
        label = _LABEL.match(line)
        if label and line[label.end() :].strip():
            return _checked(split_authors(_sentence(line[label.end() :])))
        if (label or _LABEL.match(line + ":") or line.endswith(":")) and number + 1 < len(lines):
            rest = lines[number + 1 :]
            return _checked([n for item in rest for n in split_authors(item)])
    whole = " ".join(lines)
    by = _BY.match(whole)
    if by:
        return _checked(split_authors(_sentence(whole[by.end() :])))
    direct = [n for line in lines for n in split_authors(line)]
    if direct and all(_is_name(n) for n in direct):
        return _checked(direct)
    first = split_authors(lines[0]) if lines else []
    if len(lines) > 1 and len(first) > 1 and all(_is_name(n) for n in first):
        return _checked(first)  # a remark below the names
    said = _SAID.search(whole)
    if said:
        return _checked(split_authors(_sentence(whole[said.end() :])))
    return Parsed(None, "unparsable")


def _sentence(text: str) -> str:
    """Text up to the end of its sentence, or the year in it; the full stop of an initial or of `Jr.` ends none."""
    text = re.sub(r",?\s+(?:but|however|although|though|who|which|all of)\b.*$", "", text)
    text = re.sub(r",?\s+(?:in|at|from|and (?:was )?published|published)\s[^,]*\b(?:19|20)\d\d\b.*$", "", text)
    for mark in re.finditer(r"[.!?](?=\s+[A-Z]|\s*$)", text):
        before = re.search(r"[\w.]*$", text[: mark.start()])[0]
        if mark[0] == "." and (
            len(before.split(".")[-1]) < 2 or before.casefold() in ("jr", "sr", "dr", "prof", "al", "st")
        ):
            continue
        return text[: mark.start()]
    return text


def _checked(names: list[str]) -> Parsed:
    kept = [n for n in names if n and not declines(n)]
    if names and not kept:
        return Parsed(None, "refused")
    if not kept or len(kept) > _MAX_AUTHORS or not all(_is_name(n) for n in kept):
        return Parsed(None, "unparsable")
    return Parsed(kept, "scored")


def _is_name(text: str, strict: bool = True) -> bool:
    """Whether a text can be a name: a few words with letters; in prose each begins with a capital, or is a particle."""
    words = text.replace(",", " ").split()
    if not words or len(words) > 8 or not re.search(r"[^\W\d_]", text) or re.search(r"[?!:]|https?|\d{3}", text):
        return False
    if not strict or _GROUP.search(text):
        return True
    for before, word in zip(["", *words], words, strict=False):
        letters = word.lstrip("'\"{(\\^`")
        if re.fullmatch(rf"{_PARTICLE}|e|y|und|'t", word, re.IGNORECASE) or re.fullmatch(_PARTICLE, before):
            continue
        if letters[:1].islower() and not re.search(r"[A-Z\\]", letters[:3]) and letters[:1].upper() != letters[:1]:
            return False
    return not re.match(r"(?:the|this|these|that|here|based|unfortunately|sorry|please)\b", text, re.IGNORECASE)


def _tidy(name: str) -> str:
    """A name without brackets' content, footnote marks, academic titles, quotes and white space around it."""
    name = normalise(re.sub(r"[¹²³⁰-⁹]+", "", name))
    name = re.sub(r"\s*\([^()]*\)?|\s*\[[^\[\]]*\]|(?<=[^\W\d_])[\d*†‡§¶]+(?=$|[\s,])|^[*†‡§¶]+", "", name)
    name = re.sub(r"^(?:and|&|with|by)\s+", "", name.strip(" \"'\t,;:"))
    name = re.sub(r"^(?:(?:Dr|Prof|Professor)\b\.?\s+)+", "", name)
    name = re.sub(r"^\W*(?:author|name)\s*\d*\s*:\s*", "", name, flags=re.IGNORECASE)
    name = name.strip(" \"'\t,;:*")
    if name.endswith(".") and not re.search(r"(?:^|[\s.-])[^\W\d_]{1,2}\.$|\b(?:jr|sr)\.$", name, re.IGNORECASE):
        name = name[:-1]
    return name


def _inverted(parts: list[str]) -> bool:
    """Whether parts between commas alternate between family and given names: `Smith, J., Doe, A. B.`"""
    if len(parts) < 2 or len(parts) % 2:
        return False
    if any(re.search(r"[\u3040-\u9fff\uac00-\ud7af]", p) for p in parts):
        return False  # such names have no comma inside
    family, given = parts[::2], parts[1::2]
    if all(_INITIALS.fullmatch(g) and len(g) < 16 for g in given) and not any(_INITIALS.fullmatch(f) for f in family):
        return True
    alone = [len(re.sub(rf"(?i)\b{_PARTICLE}\s+", "", f).split()) == 1 for f in family]
    few = all(len(g.split()) <= 3 for g in given)
    # `Vaswani, Shazeer, Parmar, Uszkoreit`: family names only, unless it is one pair.
    return all(alone) and few and (len(parts) == 2 or any(len(g.split()) > 1 or "." in g for g in given))


def split_authors(text: str) -> list[str]:
    """The names in a list of authors written as one string.

    Parts at semicolons and line breaks; at `and`, where each side is `Surname, Given` (BibTeX); else at commas and
    `and`, with family and given names put together again where they alternate.

    Parameters
    ----------
    text : str
        E.g. `Ashish Vaswani, Noam Shazeer and Niki Parmar`; an `Authors:` in front goes.

    Returns
    -------
    list of str
        `Surname, Given` stays so; `et al.` and `and others` go.
    """
    text = re.sub(r"^\s*authors?\s*:\s*", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\s*\n\s*(?=and\b|&)", " ", text.strip())
    held = re.fullmatch(r"[\[({<]([^\[\](){}<>]*)[\])}>]\.?", text)
    text = re.sub(r"[，、]", ", ", held[1] if held else text)
    text = re.sub(r"\s+[|/•·]\s+", "; ", text)
    if len(re.findall(_NUMBER, text)) > 1:  # `1) A, 2) B` in one line
        text = re.sub(_NUMBER, "; ", text)
    text = _OTHERS.sub("", re.sub(r"\s*\([^()]*\)", "", text))
    if ";" in text or "\n" in text:
        found = []
        for piece in re.split(r"[;\n]", text):
            piece = re.sub(r"^\s*(?:and|&)\s+", "", piece)
            found += split_authors(piece) if "\n" not in piece and ";" not in piece and piece.strip() else []
        return found
    chunks = [c for c in re.split(r"\s*,?\s+(?:and|und|&)\s+|\s*&\s+", text) if c and c.strip(" ,")]
    parts = [[p.strip() for p in _commas(chunk)] for chunk in chunks]
    flat = [p for chunk in parts for p in chunk]
    bibtex = len(chunks) > 1 and all(len(p) <= 2 for p in parts) and any(len(p) == 2 for p in parts)
    if bibtex and all(_inverted(p) or len(p) == 1 for p in parts) and sum(len(p) == 2 for p in parts) > len(parts) / 2:
        names = [", ".join(p) for p in parts]
    elif (len(chunks) == 1 or any(len(p) > 1 for p in parts)) and _inverted(flat):
        names = [", ".join(pair) for pair in zip(flat[::2], flat[1::2], strict=True)]
    elif len(flat) > 2 and _inverted(flat[:2]) and _INITIALS.fullmatch(flat[1]) and "." in flat[1]:
        # `Smith, J., & Jane Doe`: pairs as far as they go
        names, i = [], 0
        while i < len(flat):
            pair = (
                i + 1 < len(flat) and _INITIALS.fullmatch(flat[i + 1]) is not None and not _INITIALS.fullmatch(flat[i])
            )
            names.append(", ".join(flat[i : i + 2]) if pair else flat[i])
            i += 2 if pair else 1
    else:
        names = flat
    return [n for n in map(_tidy, names) if re.search(r"[^\W\d_]", n)]


def _commas(chunk: str) -> list[str]:
    """Parts at commas; a suffix (`Jr.`, `III`, `PhD`) stays with the name before it."""
    out: list[str] = []
    for part in chunk.split(","):
        if out and _SUFFIX.fullmatch(part.strip()):
            suffix = part.strip()
            out[-1] += "" if re.match(r"ph|m\.?d", suffix, re.IGNORECASE) else f" {suffix}"
        elif part.strip():
            out.append(part)
    return out
