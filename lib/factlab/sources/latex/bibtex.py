"""Databases of references (.bib), read as BibTeX reads them: strings, concatenation, cross-references, stray text between."""

import re

_ENTRY = re.compile(r"@\s*([A-Za-z]+)\s*([{(])")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def read_bib(text: str) -> tuple[dict[str, dict[str, str]], list[str]]:
    """All entries of a .bib file by key, as LaTeX, and what could not be read.

    Returns
    -------
    entries : dict
        Field names in lower case; "entrytype" is the type. The first of two entries with one key counts, as in BibTeX.
    problems : list of str
    """
    entries: dict[str, dict[str, str]] = {}
    strings = {month: month.capitalize() for month in _MONTHS}
    problems: list[str] = []
    position = 0
    while match := _ENTRY.search(text, position):
        kind, position = match[1].lower(), match.end()
        if kind == "comment":
            continue
        end = _close(text, position, match[2])
        following = re.compile(r"^[^\S\n]*@\s*[A-Za-z]+\s*\{\s*[^\s,{}]+\s*,", re.MULTILINE).search(text, position)
        if end < 0 or (following and following.start() < end and "\n" in text[position : following.start()]):
            line = text[: match.start()].count("\n") + 1
            problems.append(f"line {line}: an entry of type @{kind} whose braces do not close")
            end = following.start() if following else len(text)
            position_after = end
        else:
            position_after = end + 1
        body = text[position:end]
        position = position_after
        if kind == "preamble":
            continue
        if kind == "string":
            for name, value in _fields(body, strings).items():
                strings[name] = value
            continue
        key, comma, rest = body.partition(",")
        key = key.strip()
        if not comma or not key or "=" in key:
            line = text[: match.start()].count("\n") + 1
            problems.append(f"line {line}: an entry of type @{kind} without a key")
            continue
        if key not in entries:
            entries[key] = {"entrytype": kind, **_fields(rest, strings)}
    lower = {key.lower(): key for key in entries}
    for fields in entries.values():
        parent = entries.get(lower.get(fields.get("crossref", "").lower(), ""), {})
        for name, value in parent.items():
            if name == "title":
                fields.setdefault("booktitle", value)
            elif name != "entrytype":
                fields.setdefault(name, value)
    return entries, problems


def _close(text: str, position: int, opened: str) -> int:
    depth = 1 if opened == "{" else 0
    for match in re.compile(r"\\.|[{}()]" if opened == "(" else r"\\.|[{}]", re.DOTALL).finditer(text, position):
        mark = match[0]
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if opened == "{" and not depth:
                return match.start()
        elif mark == ")" and opened == "(" and not depth:
            return match.start()
    return -1


_FIELD = re.compile(r"(?:[\s,]|%[^\n]*\n)*([A-Za-z][\w:.+/-]*)\s*=\s*")


def _fields(body: str, strings: dict[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    position = 0
    while match := _FIELD.match(body, position):
        value, position = _value(body, match.end(), strings)
        fields.setdefault(match[1].lower(), " ".join(value.split()))
        after = re.compile(r"[^,]*,?").match(body, position)
        position = after.end() if after.end() > position else position + 1
    return fields


def _value(body: str, position: int, strings: dict[str, str]) -> tuple[str, int]:
    pieces: list[str] = []
    while position < len(body):
        mark = body[position]
        if mark.isspace() or mark == "#":
            position += 1
            continue
        if mark == "{":
            end = _close(body, position + 1, "{")
            end = len(body) if end < 0 else end
            pieces.append(body[position + 1 : end])
            position = end + 1
        elif mark == '"':
            end = _quote(body, position + 1)
            pieces.append(body[position + 1 : end])
            position = end + 1
        else:
            bare = re.compile(r"[^\s,#{}\"]+").match(body, position)
            if not bare or mark == ",":
                break
            pieces.append(strings.get(bare[0].lower(), bare[0]))
            position = bare.end()
        if not re.compile(r"\s*#").match(body, position):
            break
    return "".join(pieces), position


def _quote(body: str, position: int) -> int:
    depth = 0
    while position < len(body):
        mark = body[position]
        if mark == "\\":
            position += 1
        elif mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
        elif mark == '"' and depth <= 0:
            return position
        position += 1
    return position


def split_and(text: str) -> list[str]:
    """The names in an author field: "and" parts them where it stands outside of braces."""
    names, depth, start = [], 0, 0
    for match in re.finditer(r"[{}]|\s+and\s+", text, re.IGNORECASE):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
        elif not depth:
            names.append(text[start : match.start()].strip())
            start = match.end()
    return [name for name in [*names, text[start:].strip()] if name]
