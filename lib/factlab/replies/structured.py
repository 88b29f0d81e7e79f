"""JSON and lists in what a model wrote: fenced, surrounded by prose, in Python's spelling, with trailing commas.

The layer under `replies.parse_json` and `replies.parse_list`. Nothing here evaluates code: `json` and
`ast.literal_eval` read literals only, below a limit on size and depth.
"""

import ast
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from factlab.replies.cleaning import Parsed, plain, strip_reasoning, without_echo
from factlab.replies.refusals import is_filler, is_refusal

MAX_CHARS = 100_000
_MAX_DEPTH = 60
_MAX_SCANNED = 300_000  # characters looked at for closing brackets, all candidates together
_MISSING = object()

# --- JSON --------------------------------------------------------------------------------------------------------

_TOKENS = re.compile(
    r'"(?:\\.|[^"\\])*"'  # double-quoted
    r"|(?<=[\[{:,\s])'(?:\\.|[^'\\])*?'(?=\s*[\]}:,])"  # single-quoted, as a whole key or value
    r"|//[^\n]*|,(?=\s*[\]}])|\b(?:true|false|null|undefined)\b",
    re.DOTALL,
)
_AS_PYTHON = {"true": "True", "false": "False", "null": "None", "undefined": "None"}


def _repair(source: str) -> str:
    """A JSON-like text as a Python literal: constants respelled, comments and last commas gone."""

    def replace(match: re.Match) -> str:
        token = match[0]
        if token[0] in "\"'":
            return token.replace("\n", "\\n").replace("\\/", "/")
        return _AS_PYTHON.get(token, "")

    return _TOKENS.sub(replace, source)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def _as_json(value: Any) -> Any:
    """A literal as JSON knows it: tuples become lists; sets, bytes, complex and infinite numbers are rejected."""
    if isinstance(value, dict):
        return {str(k): _as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"{type(value).__name__} is not JSON")


def _read(source: str) -> Any:
    source = source.strip()
    if not source or _depth(source) > _MAX_DEPTH:
        return _MISSING
    straight = re.sub("[“”„]", '"', re.sub("[‘’]", "'", source))
    for text in dict.fromkeys((source, straight)):
        try:
            return json.loads(text, parse_constant=_finite, parse_float=_finite, strict=False)
        except (ValueError, RecursionError):
            pass
        try:
            return _as_json(ast.literal_eval(_repair(text)))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass
    return _MISSING


def _depth(source: str) -> int:
    depth = deepest = 0
    for character in source:
        if character in "[{(":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]})":
            depth -= 1
    return deepest


def _closing(text: str, start: int) -> int:
    """Position behind the bracket that closes the one at `start`, or -1. Brackets inside double quotes do not count."""
    depth, i = 0, start
    in_string = False
    while i < len(text):
        c = text[i]
        if in_string:
            if c == "\\":
                i += 1
            elif c in '"”':
                in_string = False
        elif c in '"“':
            in_string = True
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    return -1


_OPEN = re.compile(r"[\[{]")


def _bracketed(text: str) -> Iterator[str]:
    position = scanned = 0
    while scanned < _MAX_SCANNED and (found := _OPEN.search(text, position)):
        end = _closing(text, found.start())
        scanned += (end if end > 0 else len(text)) - found.start()
        if end < 0:
            position = found.end()
            continue
        yield text[found.start() : end]
        # An object inside braces that are not JSON ("{see [1]}") is still looked at.
        position = end if _read(text[found.start() : end]) is not _MISSING else found.end()


def json_values(text: str) -> list[Any]:
    """All JSON-like objects and arrays in a text, in order; the whole text or a code block may also be one scalar."""
    if len(text) > MAX_CHARS:
        return []
    fenced = re.findall(r"(?:```|~~~)[ \t]*\w*[ \t]*\n?(.*?)(?:```|~~~)", text, re.DOTALL)
    for source in [text, *fenced[::-1]]:
        value = _read(source)
        if value is not _MISSING:
            return [value]
    values = [_read(source) for source in _bracketed(text)]
    return [v for v in values if v is not _MISSING]


_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def _fits(value: Any, schema: dict) -> bool:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds:
        unknown = [k for k in kinds if k not in _TYPES]
        if unknown:
            raise ValueError(f"schema type {unknown[0]!r} is not one of {', '.join(_TYPES)}")
        right = any(isinstance(value, _TYPES[k]) and (k == "boolean" or not isinstance(value, bool)) for k in kinds)
        if not right:
            return False
    if "enum" in schema and not any(type(value) is type(e) and value == e for e in schema["enum"]):
        return False
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        return all(k in value for k in schema.get("required", [])) and all(
            _fits(v, inner[k]) for k, v in value.items() if k in inner
        )
    if isinstance(value, list) and "items" in schema:
        return all(_fits(v, schema["items"]) for v in value)
    return True


def parse_json(reply: str | None, schema: dict | None = None) -> Parsed:
    """Read the JSON value in a reply.

    Takes the whole reply, a code block, or an object or array inside prose; Python's spelling (`True`, `None`, single
    quotes, tuples), trailing commas, `//` comments and typographic quotes are read as meant. Where there are several,
    the last object wins, then the last array.

    Parameters
    ----------
    reply : str or None
    schema : dict, optional
        A JSON schema, of which `type`, `enum`, `required`, `properties` and `items` are checked; values that do not
        fit are passed over.

    Returns
    -------
    Parsed
        value: dict, list, or a scalar (only where the reply holds nothing else); None with status `truncated` when an
        object or array was begun and not ended, `refused`, `unparsable` (also above 100,000 characters) or `error`.

    Raises
    ------
    ValueError
        If the schema names a type that JSON does not have.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    values = [v for v in json_values(answer.value) if schema is None or _fits(v, schema)]
    for kind in (dict, list, object):
        of_kind = [v for v in values if isinstance(v, kind)]
        if of_kind:
            return Parsed(of_kind[-1], "scored")
    if is_refusal(answer.value):
        return Parsed(None, "refused")
    opened = re.search(r"(?:^|\n|```\w*\s*)\s*[\[{]", answer.value)
    cut = opened and _closing(answer.value, opened.end() - 1) < 0
    return Parsed(None, "truncated" if cut else "unparsable")


# --- lists -------------------------------------------------------------------------------------------------------

_MARK = re.compile(
    r"""^(?P<indent>\s*)(?P<mark>
        (?:[-*•‣◦●▪·–—+►✓✔→⇒➤➢](?=\s|$)|[•‣◦●▪►➤➢](?=\S)|[-–—](?=[A-Z]))          # a bullet
        |\[\d{1,3}\](?=\s)|\#\d{1,3}[.):]?(?=\s)|\d{1,3}\](?=\s)|\d{1,2}\ufe0f?\u20e3|[①-⑳](?=\s)|\(?\d{1,3}(?:[.)]|\.\))(?=\s|$)|\(?\d{1,3}[.)](?=[A-Z*"])|\d{1,3}(?::|\s+[-–—])(?=\s)   # a number
        |\(?[a-zA-Z][.)](?=\s|$)|(?:[ivx]{2,4}|[IVX]{2,4})[.)](?=\s)              # a letter or Roman number
    )\s*(?:\[[ xX]?\]\s*)?""",
    re.VERBOSE,
)
_NAMED = re.compile(
    r"^(?:atomic\s+)?(?:unit|fact|claim|statement|sentence|item|point)\s*#?\d{1,3}\s*[.):—–-]\s*", re.IGNORECASE
)
_PREAMBLE = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok|yes|absolutely|great)\b[^:\n]{0,12}?[,!.]?\s*)?"
    r"(?:here(?:'s| is| are)|here you go|below (?:are|is)|the following|these are|this is (?:the|a) list"
    r"|i(?:'ve| have) (?:split|broken|listed|extracted|identified)"
    r"|(?:the )?(?:list of )?(?:atomic|independent|individual|factual|extracted)? ?(?:units?|facts?|claims?"
    r"|statements?|sentences?|output|answer|result|list|breakdown)(?: are| is| of the (?:text|response|answer"
    r"|passage))?(?=\s*:|\s*$))"
    r"[^:\n]{0,160}(?::|$)\s*",
    re.IGNORECASE,
)
_POSTSCRIPT = re.compile(
    r"^(?:note(?: that)?\b|total\b[^.]{0,30}:|these (?:are|atomic|units|facts|statements|sentences)\b"
    r"|each (?:unit|fact|statement|sentence|of these)\b"
    r"|in total\b|there are \w+ (?:atomic )?(?:units|facts|statements))",
    re.IGNORECASE,
)
# `<li>`, `<unit>` begin an item; what ends one, and the list around them, only breaks the line.
_ELEMENT = re.compile(
    r"<\s*(/?)\s*(?:(ul|ol|[a-z_ ]*(?:units|facts|claims|statements|sentences|items|list))"
    r"|(?:li|(?:atomic[_ ]?)?(?:unit|fact|claim|statement|sentence|item)))(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\s*#{1,6}\s|^\s*\*\*[^*]+?:?\*\*:?\s*$")
_ENDED = re.compile(r"[.!?:;…][\"')\]”’*]*$")


def _marked(line: str, sequential: bool) -> tuple[int, str] | None:
    """Indent and text behind the list marks of a line; None if it has none. Letters and `1:` need a sequence."""
    line = re.sub(r"^(\s*)\*\*(\(?\d{1,3}[.)])(\*\*)?", r"\1\2", line)
    found = _MARK.match(line)
    if not found:
        return None
    mark = found["mark"].strip()
    if not sequential and (
        re.fullmatch(r"\(?[a-zA-Z][.)]|[ivxIVX]+[.)]", mark) or re.search(r"\d(?::|\s*[-–—])$", mark)
    ):
        return None
    rest = line[found.end() :]
    second = _MARK.match(rest)
    if (
        second
        and re.match(r"[-*•–]|\(?\d", second["mark"])
        and not re.search(r"\d(?::|\s*[-–—])$", second["mark"].strip())
    ):
        rest = rest[second.end() :]
    return len(found["indent"].expandtabs(4)), rest.strip()


def _in_sequence(lines: list[str]) -> bool:
    """Whether marks such as `a.` or `1:` count up from the first: only then are they marks, not `E. coli`."""
    marks = [re.sub(r"\W", "", m["mark"]).casefold() for m in map(_MARK.match, lines) if m]
    marks = [m for m in marks if m]
    letters = marks == [chr(97 + i) for i in range(min(len(marks), 26))]
    numbers = marks == [str(i + 1) for i in range(len(marks))]
    roman = marks == ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"][: len(marks)]
    return len(marks) > 1 and (letters or numbers or roman)


def _table(lines: list[str]) -> list[str] | None:
    """The items of a Markdown table: the column named after them, else the one with the longest cells."""
    rows = [[c.strip() for c in li.strip().strip("|").split("|")] for li in lines if li.strip().startswith("|")]
    ruled = [i for i, row in enumerate(rows) if all(re.fullmatch(r":?-+:?", c) for c in row)]
    if not ruled or ruled[0] == 0 or len(rows) < 3:
        return None
    head, body = rows[0], [r for i, r in enumerate(rows[1:], 1) if i not in ruled]
    named = [i for i, c in enumerate(head) if re.search(r"unit|fact|claim|statement|sentence|title|author", c, re.I)]
    named = [i for i in named if any(i < len(r) and re.search(r"[^\W\d]{2}", r[i]) for r in body)]
    longest = max(range(len(head)), key=lambda i: sum(len(r[i]) for r in body if i < len(r)))
    column = named[0] if named else longest
    return [r[column] for r in body if column < len(r)]


def _inline(line: str) -> list[str]:
    """`1. A is B. 2. C is D.` and `- A is B. - C is D.` on one line, taken apart."""
    numbers = [m for m in re.finditer(r"(?:(?<=^)|(?<=[.!?;]\s))\(?(\d{1,3})[.)]\s", line)]
    if (
        len(numbers) > 1
        and [int(m[1]) for m in numbers] == list(range(1, len(numbers) + 1))
        and not line[: numbers[0].start()].strip()
    ):
        ends = [m.start() for m in numbers[1:]] + [len(line)]
        return [line[m.start() : e].strip() for m, e in zip(numbers, ends, strict=True)]
    if re.match(r"\s*[-•*]\s", line):
        return re.split(r"(?<=[.!?])\s+(?=[-•*]\s+[A-Z])", line)
    return [line]


def _tidy(item: str) -> str:
    item = _NAMED.sub("", plain(item).replace("\n", " ").strip())
    if len(item) > 2 and item[0] + item[-1] in ('""', "''") and item[0] not in item[1:-1]:
        item = item[1:-1].strip()
    return item


def _strings(value: Any) -> list[str]:
    """The texts in a JSON list, or in the first list that an object holds."""
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list | dict) and _strings(v)]
        texts = [v for v in value.values() if isinstance(v, str)]
        return _strings(lists[0]) if lists else texts
    found = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            texts = [v for v in item.values() if isinstance(v, str)]
            found += [max(texts, key=len)] if texts else []
        elif isinstance(item, list):
            found += _strings(item)
    return found


def parse_list(reply: str | None, prompt: str | None = None) -> Parsed:
    """Read a list of short texts: a JSON array, numbered, bulleted or lettered lines, a table, or one text a line.

    A first line such as `Here are the atomic units:`, headings, closing remarks, blank lines and lone list marks are no
    items; a wrapped item is joined; an item under a heading item (`Symptoms include:`) that cannot stand alone gets the
    heading in front. `- The trial ran 2001 - 2004.` is one item and `E. coli grows.` has no list mark.

    Parameters
    ----------
    reply : str or None
    prompt : str, optional
        The prompt; what the reply repeats of it is ignored.

    Returns
    -------
    Parsed
        value: list[str], empty unless status is `scored` or `truncated` (a JSON array cut off: its complete items).
        A reply without items is `unparsable`.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed([], answer.status)
    text = without_echo(answer.value, prompt).strip()
    if is_refusal(text):
        return Parsed([], "refused")
    if re.search(r"[\[{]", text):
        values = [v for v in json_values(text) if isinstance(v, list | dict)]
        items = [i for i in (_tidy(s) for v in values for s in _strings(v)) if i]
        if items:
            return Parsed(items, "scored")
        if re.fullmatch(r"(?:```\w*)?\s*[\[{].*[\]}]\s*(?:```)?", text, re.DOTALL) and values:
            return Parsed([], "unparsable")  # JSON without a text in it
        if re.match(r"(?:```\w*\s*)?\[\s*[\"']", text):
            whole = [_tidy(s) for s in re.findall(r'"((?:\\.|[^"\\])*)"\s*(?=[,\]])', text)]
            return Parsed([w for w in whole if w], "truncated")
    text = re.sub(r"(?m)^[ \t]*(?:```|~~~).*$", "", text)
    text = _ELEMENT.sub(lambda tag: "\n" if tag[1] or tag[2] else "\n- ", text)
    lines = [piece for line in text.splitlines() for piece in _inline(line)]
    items = _table(lines)
    items = _lines(lines) if items is None else items
    items = [i for i in map(_tidy, items) if re.search(r"\w", i)]
    return Parsed(items, "scored" if items else "unparsable")


def _lines(lines: list[str]) -> list[str]:
    sequential = _in_sequence(lines)
    marks = [_marked(line, sequential) for line in lines]
    is_list = any(m and m[1] for m in marks)
    first = next((i for i, m in enumerate(marks) if m and m[1]), 0)
    announced = [
        i for i, line in enumerate(lines[:first]) if plain(line).endswith(":") and _PREAMBLE.match(plain(line))
    ]
    if announced:  # what stands before `Units:` is the text that was taken apart
        lines, marks = lines[announced[-1] :], marks[announced[-1] :]
    # The list mark below each line, and whether anything stands below it.
    below: list[tuple[int, str] | None] = [None] * len(lines)
    more = [False] * len(lines)
    for number in range(len(lines) - 2, -1, -1):
        mark = marks[number + 1]
        below[number] = mark if mark and mark[1] else below[number + 1]
        more[number] = more[number + 1] or bool(lines[number + 1].strip())
    items: list[str] = []
    heading: tuple[int, str] | None = None
    joinable = False
    for number, (line, mark) in enumerate(zip(lines, marks, strict=True)):
        text = plain(line)
        if not text or (mark and not re.search(r"\w", mark[1])) or re.fullmatch(r"\d{0,3}", re.sub(r"\W+", "", text)):
            joinable = joinable and not text and not is_list
            continue
        if mark:
            indent, item = mark
            under = below[number]
            if plain(item).endswith(":") and under and under[0] > indent:
                heading, joinable = (indent, plain(item).rstrip(": ")), False
                continue
            if heading and indent <= heading[0]:
                heading = None
            if heading and not _ENDED.search(plain(item)):
                item = f"{heading[1]} {item}"
            items.append(item)
            joinable = True
            continue
        if not items:
            preamble = _PREAMBLE.match(text)
            if preamble and (more[number] or preamble.end() < len(text)):
                text = text[preamble.end() :]
            elif more[number] and (text.endswith(":") or (is_list and _HEADING.match(line))):
                text = ""
            if not text or is_filler(text):
                continue
        elif is_list and _HEADING.match(line) or _POSTSCRIPT.match(text) or is_filler(text):
            joinable = False
            continue
        ended = items and _ENDED.search(plain(items[-1][-40:]))
        wrapped = text[0].islower() or is_list or bool(items and items[-1].endswith(","))
        if joinable and items and wrapped and not ended:
            items[-1] = f"{items[-1].rstrip()} {text}"
        else:
            items.append(text)
        joinable = True
    return items
