"""Prompts are Markdown files under `prompts/`: a short front matter and the text, with `{{blanks}}` that the code fills.

A file has the sections `## system` (optional) and `## user`. Text under test is put between markers that cannot occur in it, so
that an answer which says "ignore the above" is read as material and not as an instruction.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from factlab import places
from factlab.models.base import ModelError

_USED: dict[str, str] = {}
_BLANK = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True)
class Prompt:
    """One prompt file.

    Attributes
    ----------
    name : as it was asked for, e.g. 'dahl/check'.
    role, stands_for, expects : from the front matter: who is asked, the figure or table of the paper, what should come back.
    system, user : the texts; only the user's has blanks.
    sha256 : of the file, for the record of a run.
    """

    name: str
    role: str
    stands_for: str
    expects: str
    system: str | None
    user: str
    sha256: str

    @property
    def blanks(self) -> list[str]:
        """Names of the blanks, in order of appearance."""
        return list(dict.fromkeys(_BLANK.findall(self.user)))

    def fill(self, **values: str) -> str:
        """The user's message with its blanks filled; a missing or a surplus value is an error."""
        wanted = set(_BLANK.findall(self.user))
        if wanted != set(values):
            missing, surplus = sorted(wanted - set(values)), sorted(set(values) - wanted)
            raise ModelError(
                f"prompt {self.name}: "
                + "; ".join(
                    part
                    for part in (missing and f"no value for {missing}", surplus and f"no blank called {surplus}")
                    if part
                )
            )
        # One pass over the template: a value that itself holds {{blank}} is left as it stands.
        return _BLANK.sub(lambda m: values[m[1]], self.user)


def delimited(text: str, tag: str = "text") -> str:
    """Text under test between markers; the same markers inside it are defused, so that it cannot close its own fence."""
    safe = re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", "‹", text, flags=re.I)
    return f"<{tag}>\n{safe}\n</{tag}>"


def used() -> dict[str, str]:
    """Name and sha256 of every prompt loaded in this process, for the record of a run."""
    return dict(_USED)


def _no_prompt(name: str, folder: Path) -> str:
    """What to say where there is no such prompt: the nearest ones, and of its paper all."""
    if name.endswith(".md"):
        return f"no prompt file {name!r}; is its path right?"
    shipped = sorted(p.relative_to(folder).with_suffix("").as_posix() for p in folder.rglob("*.md"))
    mine = [one for one in shipped if one.partition("/")[0] == name.partition("/")[0]]
    near = difflib.get_close_matches(name, mine or shipped, n=1)
    hint = f"did you mean {near[0]!r}? There" if near else "there"
    return f"no prompt called {name!r}; {hint} are {', '.join(mine or shipped)}, or name a .md file of your own"


@functools.cache
def load(name: str) -> Prompt:
    """A prompt by name ('dahl/check') or by the path of a user's own file.

    Raises
    ------
    ModelError : no such file, not UTF-8, no front matter, no `## user` section, or a blank in `## system`.
    """
    own = places.resolve(name)
    path = own if own.suffix == ".md" and own.is_file() else Path(__file__).parents[1] / "prompts" / f"{name}.md"
    if not path.is_file():
        raise ModelError(_no_prompt(name, Path(__file__).parents[1] / "prompts"))
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ModelError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from error
    front = re.match(r"---\n(.*?)\n---\n", text, flags=re.S)
    if not front:
        raise ModelError(f"{path}: starts with no front matter (three dashes, role/stands for/expects, three dashes)")
    fields = dict(re.findall(r"^([\w ]+?)\s*:\s*(.*)$", front[1], flags=re.M))
    body = re.split(r"^## (system|user)[ \t]*$", text[front.end() :], flags=re.M)
    sections = {k: v.strip() for k, v in zip(body[1::2], body[2::2], strict=True)}
    if not sections.get("user"):
        raise ModelError(f"{path}: has no section '## user'")
    if blank := _BLANK.search(sections.get("system", "")):
        raise ModelError(f"{path}: {blank[0]} stands under '## system', where nothing is filled; move it to '## user'")
    digest = hashlib.sha256(raw).hexdigest()
    _USED[name] = digest
    return Prompt(
        name,
        fields.get("role", ""),
        fields.get("stands for", ""),
        fields.get("expects", ""),
        sections.get("system"),
        sections["user"],
        digest,
    )
