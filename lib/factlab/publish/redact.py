"""What must not leave the machine: folders of the checkout and its user, and anything that looks like a key.

Every string that reaches a page or a download passes through one `Redactor`. It works on plain text, before any escaping.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

REMOVED = "[key removed]"

# Control characters and lone surrogates cannot be written as HTML; the bidirectional overrides let text pose as other text.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
_LINKS = re.compile(r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)")  # a terminal's links and titles
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~])?")
_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|pplx|gsk|xai|xoxb|xoxp|r8|nvapi|glpat)[-_][A-Za-z0-9_-]{8,}"
    r"|hf_[A-Za-z0-9]{12,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|AIza[\w-]{20,}|AKIA[A-Z0-9]{12,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{12,}")
_ASSIGNED = re.compile(
    r"""(?ix)((?:api_?-?key|secret|password|passwd|access_token|auth_token)["']?\s*[:=]\s*)(["'])(?!\2)[^"'\n]+\2"""
)
_IN_URL = re.compile(
    r"(://)[^/\s:@]+:[^/\s@]+@|([?&](?:api[_-]?key|key|token|access_token)=)[^&\s\"'<>]+", re.IGNORECASE
)
_SECRET_NAME = re.compile(
    r"(?i)(api_?-?key|secret|password|passwd|authorization|credential)s?$|(^|_)(access_|auth_)?token$"
)

_HOMES = re.compile(r"(?<![\w.\]/-])/(?:(?:home|Users)/[\w.@-]+|root(?![\w-]))|\b[A-Za-z]:\\{1,2}Users\\{1,2}[\w.@ -]+")
# Elsewhere on a machine only the last part of a path means anything to a reader.
_PLACES = re.compile(
    r"(?<![\w.\]:/-])/(?:home|mnt|media|data|scratch|private|srv|opt|var|gpfs|lustre|nfs|projects?|workspaces?|Volumes)"
    r"/(?:[^\s'\"<>:,;()|\\]+/)*([^\s'\"<>:,;()|/\\]*)"
)
_ABSOLUTE = re.compile(r"^(?:/|[A-Za-z]:[\\/])[^\n]*[\\/]([^\\/\n]+)$")


@dataclass(frozen=True)
class Redactor:
    """Replaces the machine's folders and keys in text.

    Parameters
    ----------
    folders : tuple of (str, str)
        Folder and what stands for it, longest folder first.
    secrets : tuple of str
        Exact values that must never appear, such as the keys in the environment.
    """

    folders: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()

    def __call__(self, text: str) -> str:
        """The text without keys, folders of the machine, and characters that no page can hold."""
        text = _UNPRINTABLE.sub("", _LINKS.sub("", text))
        for secret in self.secrets:
            text = text.replace(secret, REMOVED)
        text = _KEYS.sub(REMOVED, text)
        text = _BEARER.sub(rf"\1\2{REMOVED}", text)
        text = _ASSIGNED.sub(rf"\1\2{REMOVED}\2", text)
        text = _IN_URL.sub(lambda m: f"{m[1]}{REMOVED}@" if m[1] else f"{m[2]}{REMOVED}", text)
        for folder, name in self.folders:
            if folder in text:
                text = re.sub(rf"(?:file://)?(?<![\w.-]){re.escape(folder)}(?![\w-])", lambda _, name=name: name, text)
        text = _HOMES.sub("[home]", text)
        return _PLACES.sub(lambda m: f"[…]/{m[1]}", text)

    def value(self, value: Any, name: str = "") -> Any:
        """The same through lists and mappings; whole values of mappings are also judged by their name.

        Parameters
        ----------
        value : anything JSON can hold
        name : str
            The key under which the value stands: `api_key`, `token` and the like never show their value.
        """
        if isinstance(value, str):
            if _SECRET_NAME.search(name) and value:
                return REMOVED
            text = _ANSI.sub("", self(value))
            absolute = _ABSOLUTE.match(text)
            return f"[…]/{absolute[1]}" if absolute else text
        if isinstance(value, Mapping):
            return {self.value(str(k)): self.value(v, str(k)) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(v, name) for v in value]
        return value

    def texts(self, value: Any) -> Any:
        """The same for a notebook: every string as text, images left alone (a base64 string could match by chance)."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {k: v if k in ("image/png", "image/jpeg") else self.texts(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.texts(v) for v in value]
        return value


def for_machine(roots: Iterable[Path], environ: Mapping[str, str] | None = None) -> Redactor:
    """A redactor that knows this machine: the given checkouts, the home, Python's and the temporary folder, keys in the environment."""
    environ = os.environ if environ is None else environ
    known: dict[str, str] = {}
    for path in roots:
        _add(known, path, "[checkout]")
    _add(known, Path(sys.prefix), "[python]")
    if Path.home() != Path("/"):
        _add(known, Path.home(), "[home]")
    _add(known, Path(tempfile.gettempdir()), "[temporary]")
    folders = sorted(known.items(), key=lambda pair: -len(pair[0]))
    secrets = {
        value
        for name, value in environ.items()
        if len(value) >= 8 and _SECRET_NAME.search(name) and not re.fullmatch(r"[./~].*", value)
    }
    return Redactor(tuple(folders), tuple(sorted(secrets, key=len, reverse=True)))


def _add(known: dict[str, str], path: Path, name: str) -> None:
    for folder in {str(path.absolute()), str(path.resolve())}:
        if len(folder) > 3 and folder != "/usr":
            for spelling in (folder, quote(folder), folder.replace("\\", "\\\\")):
                known.setdefault(spelling, name)
