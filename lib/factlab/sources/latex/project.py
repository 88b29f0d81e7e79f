"""Which file of an upload is the paper, and which file an `\\input` means."""

import json
import posixpath
import re

from ..files import SourceError
from .archive import Upload
from .tokens import Token, tokenise

_TEX = (".tex", ".ltx", ".latex", ".txt", "")
_CLASS = re.compile(r"^[^%\n]*\\document(?:class|style)\b(?:\s*\[[^\]]*\])?\s*\{([^}]*)\}", re.MULTILINE)
_BEGIN = re.compile(r"^[^%\n]*\\begin\s*\{document\}", re.MULTILINE)
_INPUT = re.compile(r"^[^%\n]*?\\(?:input|include|subfile|subfileinclude)\s*\{?\s*([^\s{}%\\]+)", re.MULTILINE)
_CITES = re.compile(r"\\[A-Za-z]*cite[A-Za-z]*\*?\s*(?:\[[^\]]*\]\s*)*\{")
_MAIN = re.compile(r"^(?:main|ms|paper|article|manuscript|arxiv|root|camera[-_ ]?ready|final)", re.IGNORECASE)
_OTHER = re.compile(
    r"draft|old|backup|bak|supp|append|response|rebuttal|reply|cover|letter|template|sample|example|poster|slides|copy|diff|"
    r"figure|standalone|notes|review|v\d+$",
    re.IGNORECASE,
)
_NO_PAPERS = ("beamer", "standalone", "letter", "subfiles", "tikzposter", "beamerposter", "exam")


def choose_root(upload: Upload) -> str:
    """The name of the file that the paper begins with.

    arXiv's own directions (00README) count first. Otherwise it is a file with `\\documentclass` that no other one inputs;
    of several, the one with the most citations and text in it and below it, unless its name says draft or supplement.

    Raises
    ------
    SourceError
        There is no LaTeX text at all.
    """
    texts = {name: text for name, text in upload.texts.items() if posixpath.splitext(name)[1].lower() in _TEX}
    if directed := _directed(upload):
        return directed
    whole = [name for name, text in texts.items() if _CLASS.search(text) and _BEGIN.search(text)]
    whole = whole or [name for name, text in texts.items() if _CLASS.search(text)]
    whole = whole or [name for name, text in texts.items() if "\\section" in text or "\\begin{document}" in text]
    whole = whole or [name for name, text in texts.items() if re.search(r"\\(?:chapter|title|input|bye|par)\b", text)]
    if not whole:
        names = ", ".join(sorted(upload.texts)[:8])
        raise SourceError(
            f"{upload.name}: no file with \\documentclass or \\section in it (found: {names}); give the LaTeX source of a paper."
        )
    below = {name: _below(name, texts) for name in whole}
    inner = {other for name in whole for other in below[name] - {name}}
    candidates = [name for name in whole if name not in inner] or whole
    ranked = sorted(candidates, key=lambda name: (-_weight(name, below[name], texts, upload), name.count("/"), name))
    if others := ranked[1:]:
        upload.notes.append(
            f"several files could be the paper: {ranked[0]} was read, and not {', '.join(others[:5])}"
            + (" …" if len(others) > 5 else "")
        )
    return ranked[0]


def _directed(upload: Upload) -> str | None:
    for name, text in upload.texts.items():
        if not posixpath.basename(name).upper().startswith("00README"):
            continue
        try:
            sources = json.loads(text).get("sources", [])
        except (ValueError, AttributeError):
            sources = []
            for match in re.finditer(r"^\s*(\S+)\s+toplevelfile\s*$", text, re.MULTILINE):
                sources.append({"filename": match[1], "usage": "toplevel"})
        for source in sources:
            if (
                isinstance(source, dict)
                and source.get("usage") == "toplevel"
                and source.get("filename") in upload.texts
            ):
                return source["filename"]
    return None


def _below(root: str, texts: dict[str, str]) -> set[str]:
    """The root and all files that it inputs, also through others (comments left aside)."""
    seen: set[str] = set()
    pending = [root]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for match in _INPUT.finditer(texts[name]):
            target = find(match[1], texts, posixpath.dirname(root), posixpath.dirname(name))
            if target:
                pending.append(target)
    return seen


def _weight(name: str, below: set[str], texts: dict[str, str], upload: Upload) -> float:
    stem = posixpath.splitext(posixpath.basename(name))[0]
    text = "".join(texts[part] for part in below)
    kind = _CLASS.search(texts[name])
    weight = len(text) / 1000 + 3 * len(_CITES.findall(text))
    weight *= 3 if _MAIN.search(stem) else 1
    weight *= (
        2
        if any(
            posixpath.splitext(other)[0] == posixpath.splitext(name)[0] and other.endswith(".bbl")
            for other in upload.texts
        )
        else 1
    )
    weight *= 0.2 if _OTHER.search(stem) else 1
    weight *= 0.05 if kind and kind[1].strip() in _NO_PAPERS else 1
    return weight * (2 if r"\title" in text else 1)


def find(target: str, texts: dict[str, str], *folders: str) -> str | None:
    """The file that `\\input{target}` means, looked for in the folders given; never outside of the upload."""
    target = target.strip().strip('"').replace("\\", "/")
    if not target or target.startswith("/"):
        return None
    lower: dict[str, str] | None = None
    for folder in dict.fromkeys(folders):
        path = posixpath.normpath(posixpath.join(folder, target))
        if path.startswith(".."):
            continue
        for candidate in (path + ".tex", path, path + ".ltx", path + ".txt"):
            if candidate in texts:
                return candidate
        if lower is None:  # made on a file system that does not mind case
            lower = {name.lower(): name for name in texts}
        for candidate in (path + ".tex", path):
            if candidate.lower() in lower:
                return lower[candidate.lower()]
    return None


class Files:
    """The files of an upload as tokens, each read once."""

    def __init__(self, upload: Upload, root: str):
        self.upload = upload
        self.root = root
        self._tokens: dict[str, list[Token]] = {}
        self.read: list[str] = []
        self._fetched = 0

    def tokens(self, name: str) -> list[Token]:
        if name not in self._tokens:
            self._tokens[name] = tokenise(self.upload.texts[name])
        if name not in self.read:
            self.read.append(name)
        return self._tokens[name]

    def fetch(self, target: str, current: str) -> tuple[str, list[Token]] | None:
        """For `Reader`: the file that an `\\input` within `current` means."""
        name = find(target, self.upload.texts, posixpath.dirname(self.root), posixpath.dirname(current), "")
        self._fetched += 1
        if name is None or self._fetched > 2000:
            return None
        return name, self.tokens(name)
