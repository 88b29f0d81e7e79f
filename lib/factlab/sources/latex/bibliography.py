"""The bibliography of a paper, from wherever its authors left it: `\\bibitem`s in the text, a .bbl, a .bib, or several of these.

What was printed comes first (it has the order and nothing that is not cited); a .bib beside it fills in the fields.
"""

import posixpath
import re
from dataclasses import replace

from .bibtex import read_bib, split_and
from .entries import Entry, from_fields, from_text
from .reader import Reader
from .tokens import CMD, OPEN, OTHER, SPACE, Stream, Token, plain, tokenise


def read_bibliography(
    reader: Reader, texts: dict[str, str], root: str, cited: list[str]
) -> tuple[list[Entry], list[str]]:
    """All entries in the order printed, and notes.

    Parameters
    ----------
    reader : Reader
        After the paper was read.
    texts : dict
        The files of the upload.
    root : str
    cited : list of str
        Keys, in the order in which they are first cited.
    """
    notes: list[str] = []
    entries: list[Entry] = []
    for file, tokens in reader.bibliographies:
        entries += _items(reader, tokens, "bbl" if file.endswith(".bbl") else "bibitem", len(entries))
    if not entries and (bbl := _bbl(texts, root, cited)):
        if r"\entry{" in texts[bbl] and r"\bibitem" not in texts[bbl]:
            entries = _biblatex(reader, texts[bbl])
        else:
            before = len(reader.bibliographies)
            reader.files = [bbl]
            reader.run(tokenise(texts[bbl]), type(reader.sink)())
            for _, tokens in reader.bibliographies[before:]:
                entries += _items(reader, tokens, "bbl", len(entries))
            if not entries and r"\bibitem" in texts[bbl]:
                entries = _items(reader, tokenise(texts[bbl]), "bbl", 0)
        if not entries:
            notes.append(f"{bbl}: no entry in it")
    databases, problems = _databases(reader, texts)
    notes += problems
    if databases:
        entries = _merged(reader, entries, databases, cited)
    seen: dict[str, Entry] = {}
    for entry in entries:
        if entry.key in seen:
            notes.append(f"the key {entry.key} stands twice in the bibliography; the first entry counts")
        else:
            seen[entry.key] = entry
    entries = [replace(entry, number=number) for number, entry in enumerate(seen.values(), 1)]
    untitled = sum(not entry.title for entry in entries)
    if untitled:
        notes.append(f"{untitled} of {len(entries)} entries in the bibliography without a title")
    lost = [key for key in dict.fromkeys(cited) if key not in seen]
    if entries and lost:
        shown = ", ".join(lost[:5]) + (" …" if len(lost) > 5 else "")
        notes.append(
            f"{len(lost)} cited key{'s' if len(lost) > 1 else ''} without an entry in the bibliography: {shown}"
        )
    if not entries:
        notes.append("no bibliography: neither \\bibitem, nor a .bbl, nor a .bib with the keys that are cited")
    return entries, notes


def _bbl(texts: dict[str, str], root: str, cited: list[str]) -> str | None:
    """The .bbl of the root by its name; else the one that has most of the cited keys."""
    own = posixpath.splitext(root)[0] + ".bbl"
    found = [name for name in texts if name.lower().endswith(".bbl")]
    if own in found and texts[own].strip():
        return own
    keys = set(cited)
    return max(found, key=lambda name: (sum(key in texts[name] for key in keys), name == own), default=None)


# --- \bibitem ---------------------------------------------------------------------------------------------------------


def _items(reader: Reader, tokens: list[Token], source: str, before: int) -> list[Entry]:
    if tokens and tokens[0] == (CMD, "bib"):
        return [_amsrefs(reader, tokens, before + 1)]
    stream = Stream(tokens)
    pieces: list[tuple[str, str, list[Token]]] = []
    while (token := stream.next()) is not None:
        if token[0] == CMD and token[1] in ("bibitem", "Bibitem", "bibitem*"):
            label = stream.optional()
            pieces.append((plain(stream.argument()), reader.text_of(label) if label else "", []))
        elif token[0] == CMD and token[1] == "bib":
            stream.push([token])
            key, fields = _bib_call(stream)
            pieces.append((key, "\x00amsrefs", fields))
        elif token[0] == CMD and reader.macros.define(token[1], stream):
            continue
        elif token[0] == CMD and reader.macros.is_condition(token[1]):
            reader.macros.condition(token[1], stream)
        elif token[0] == CMD and _hides_item(reader, token[1]):
            reader.macros.expand(token[1], stream)
        elif pieces:
            pieces[-1][2].append(token)
    entries = []
    for number, (key, label, body) in enumerate(pieces, before + 1):
        if label == "\x00amsrefs":
            entries.append(_from_amsrefs(reader, key, body, number))
            continue
        reader.finished = False
        entries.append(from_text(key, number, reader.entry_text(body), label, source))
    return entries


def _hides_item(reader: Reader, name: str) -> bool:
    macro = reader.macros.known.get(name)
    return macro is not None and (CMD, "bibitem") in macro.body


# --- amsrefs ----------------------------------------------------------------------------------------------------------


def _bib_call(stream: Stream) -> tuple[str, list[Token]]:
    stream.next()
    key = plain(stream.argument())
    stream.argument()
    return key, stream.argument()


def _amsrefs(reader: Reader, tokens: list[Token], number: int) -> Entry:
    stream = Stream(tokens)
    stream.next()
    return _from_amsrefs(reader, plain(stream.argument()), tokens[4:], number)


def _from_amsrefs(reader: Reader, key: str, body: list[Token], number: int) -> Entry:
    """`\\bib{key}{article}{author={…}, title={…}}`: each field with its value, authors one field each."""
    fields: dict[str, str] = {}
    people: list[str] = []
    stream = Stream(body)
    name = ""
    while (token := stream.next()) is not None:
        if token[0] == OPEN:
            stream.push([token])
            inner = stream.group()
            if inner is None:
                stream.next()
                continue
            value = reader.text_of(inner)
            name = re.sub(r"[^\w]", "", name).lower()
            if name == "author":
                people.append(value)
            elif name:
                fields.setdefault(name, value)
            name = ""
        elif token[0] not in (SPACE, OTHER):
            name += token[1]
    return from_fields(key, number, fields, people, "bibitem")


# --- biblatex's .bbl --------------------------------------------------------------------------------------------------

_BIBLATEX_ENTRY = re.compile(r"\\entry\{([^}]*)\}\{([^}]*)\}\{[^}]*\}(?:\{[^}]*\})?(.*?)\\endentry", re.DOTALL)
_BIBLATEX_FIELD = re.compile(r"\\(field|list|verb|name)\b")


def _biblatex(reader: Reader, text: str) -> list[Entry]:
    """Entries of the .bbl that biber writes: `\\field{title}{…}`, `\\name{author}{2}{}{{{hash=…}{family={…}, given={…}}}}`."""
    entries: list[Entry] = []
    for match in _BIBLATEX_ENTRY.finditer(text):
        fields: dict[str, str] = {}
        people: list[str] = []
        stream = Stream(tokenise(match[3]))
        while (token := stream.next()) is not None:
            if token == (CMD, "field"):
                name, value = plain(stream.argument()), reader.text_of(stream.argument())
                fields.setdefault(name, value)
            elif token == (CMD, "list"):
                name, _, value = plain(stream.argument()), stream.argument(), stream.argument()
                fields.setdefault(name, reader.text_of(value))
            elif token == (CMD, "name"):
                name, _, _, value = (stream.argument() for _ in range(4))
                if plain(name) == "author":
                    people = _biblatex_names(reader, value)
            elif token == (CMD, "verb") and stream.peek() and stream.peek()[0] == OPEN:
                name = plain(stream.argument())
                value = re.search(rf"\\verb\{{{re.escape(name)}\}}\s*\n?\s*\\verb\s+(\S+)", match[3])
                if value:
                    fields.setdefault(name, value[1])
        entries.append(from_fields(match[1], len(entries) + 1, fields, people, "bbl"))
    return entries


def _biblatex_names(reader: Reader, tokens: list[Token]) -> list[str]:
    people = []
    stream = Stream(tokens)
    while (token := stream.peek()) is not None:
        if token[0] != OPEN:
            stream.next()
            continue
        person = stream.group()
        if person is None:
            break
        parts = Stream(person)
        parts.skip_space()
        parts.argument()  # hashes
        found: dict[str, str] = {}
        inside = Stream(parts.argument())
        name = ""
        while (piece := inside.next()) is not None:
            if piece[0] == OPEN:
                inside.push([piece])
                found[re.sub(r"[^\w]", "", name)] = reader.text_of(inside.group() or [])
                name = ""
            elif piece[0] != SPACE:
                name += piece[1]
        family = " ".join(found[part] for part in ("prefix", "family") if found.get(part))
        people.append(", ".join(part for part in (family, found.get("suffix"), found.get("given")) if part))
    return people


# --- .bib -------------------------------------------------------------------------------------------------------------


def _databases(reader: Reader, texts: dict[str, str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """The entries of the .bib files that the paper names, or of all that came with it where it names none of them."""
    files = {name.lower(): name for name in texts if name.lower().endswith(".bib")}
    named = []
    for database in reader.databases:
        path = posixpath.normpath(database.removesuffix(".bib") + ".bib").lower()
        match = files.get(path) or next((name for low, name in files.items() if low.endswith("/" + path)), None)
        if match:
            named.append(match)
    entries: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    for name in named or list(files.values()):
        read, wrong = read_bib(texts[name])
        problems += [f"{name}: {problem}" for problem in wrong]
        for key, fields in read.items():
            entries.setdefault(key, fields)
    return entries, problems


def _merged(
    reader: Reader, printed: list[Entry], databases: dict[str, dict[str, str]], cited: list[str]
) -> list[Entry]:
    """The printed entries with the fields of the .bib; without any, those of the .bib that are cited."""
    keys = [entry.key for entry in printed]
    if not printed:
        keys = list(databases) if "*" in reader.nocite else [*cited, *reader.nocite]
    else:
        keys += [key for key in cited if key not in set(keys)]
    lower = {key.lower(): key for key in databases}
    by_key = {entry.key: entry for entry in printed}
    merged = []
    for number, key in enumerate(dict.fromkeys(keys), 1):
        fields = databases.get(key) or databases.get(lower.get(key.lower(), ""))
        if fields is None:
            if key in by_key:
                merged.append(by_key[key])
            continue
        entry = _from_bib(reader, key, number, fields)
        old = by_key.get(key)
        if old is None:
            merged.append(entry)
            continue
        better = {
            name: value
            for name, value in vars(entry).items()
            if value and name in ("title", "authors", "venue", "year", "arxiv", "doi", "url")
        }
        merged.append(replace(old, **better, et_al=entry.et_al if entry.authors else old.et_al, how="fields"))
    return merged


def _from_bib(reader: Reader, key: str, number: int, fields: dict[str, str]) -> Entry:
    people = [
        reader.text_of(tokenise(name)) if not _is_group(name) else _group(reader, name)
        for name in split_and(fields.get("author", ""))
    ]
    plain_fields = {}
    for name, value in fields.items():
        if name in ("abstract", "file", "keywords", "annote", "note", "author", "editor", "entrytype"):
            if name == "note" and re.search(r"arxiv", value, re.IGNORECASE):
                plain_fields[name] = value
            continue
        plain_fields[name] = value if name in ("url", "doi", "eprint") else reader.text_of(tokenise(value))
    plain_fields = {name: re.sub(r"\\([_%&#])", r"\1", value) for name, value in plain_fields.items()}
    return from_fields(key, number, plain_fields, people)


def _is_group(name: str) -> bool:
    """Whether a name is the name of a group, protected as a whole: `{World Health Organization}`."""
    return name.startswith("{") and name.endswith("}") and name.count("{") == 1


def _group(reader: Reader, name: str) -> str:
    # A comma in it parts no surname from a given name.
    return reader.text_of(tokenise(name)).replace(",", "\ue00f")
