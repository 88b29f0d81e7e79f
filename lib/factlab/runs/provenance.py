"""What made a result: versions, commit, hashes of the library, the data and the inputs."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from factlab import places

_REPORTED = (
    "factlab",
    "numpy",
    "pandas",
    "scipy",
    "statsmodels",
    "torch",
    "transformers",
    "openai",
    "papermill",
    "nbconvert",
)
_FILES, _LARGE = 10_000, 50_000_000  # files in a folder, bytes in one of them, whose content is hashed


def file_hash(path: Path) -> str:
    """sha256 of a file's content."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def library_hash() -> str:
    """One hash over what the package computes results with: code, prompts, published numbers, samples; not the site or the
    command line."""
    home = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*")):
        inside = path.relative_to(home)
        beside = inside.parts[0] in ("publish", "cli.py") or "__pycache__" in inside.parts
        if not beside and not any(part.startswith(".") for part in inside.parts) and path.is_file():
            digest.update(f"{inside.as_posix()}\0{file_hash(path)}\n".encode())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on; only those installed."""
    found = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for name in _REPORTED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit(root: Path) -> tuple[str | None, bool | None]:
    """The checkout's git commit and whether files differ from it; (None, None) where git knows of none."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def about(root: Path) -> dict[str, Any]:
    """What results are made with here and now: `versions`, `library`, `commit`, `dirty`."""
    revision, dirty = commit(root)
    return {"versions": versions(), "library": library_hash(), "commit": revision, "dirty": dirty}


def tables_of(root: Path, runs: Sequence[str]) -> dict[str, str]:
    """Hashes of every table of some runs that are done, by `<folder>/<table>`; a run that is not done counts as such."""
    found = {}
    for run in runs:
        record = places.read_json(root / run / "run.json")
        if record.get("status") != "done":
            found[run] = "not done"
            continue
        for step in record.get("steps", {}).values():
            found |= {f"{run}/{name}": digest for name, digest in step.get("tables", {}).items()}
    return found


def step_key(notebook: Path, parameters: Mapping[str, Any], tables: Mapping[str, str], library: str) -> str:
    """Key of one step: what its result depends on.

    Parameters
    ----------
    notebook : its source.
    parameters : resolved. Texts that name a file or folder (of a model too, as in `hf/<folder>`), as the notebook would find
        it, count with its content.
    tables : hashes of the tables of earlier steps.
    library : from `library_hash`.
    """
    record = {
        "notebook": file_hash(notebook),
        "parameters": dict(parameters),
        "library": library,
        "files": {text: digest for text in _texts(dict(parameters)) if (digest := _content(text, notebook.parent))},
        "tables": dict(tables),
    }
    return hashlib.sha256(json.dumps(record, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _content(text: str, start: Path) -> str | None:
    """Hash of the file or folder that a text names; None where it names none."""
    text = text.removeprefix("hf/").removeprefix("st/")
    if not text.strip():
        return None
    try:
        path = places.resolve(text, start)
        if path.is_file():
            return file_hash(path)
        if not path.is_dir() or path.resolve() in (start.resolve(), *start.resolve().parents):
            return None
        digest = hashlib.sha256()
        for number, file in enumerate(p for p in sorted(path.rglob("*")) if p.is_file()):
            # Beyond what can be read in a moment, size and time of change have to do.
            stat = file.stat()
            small = number < _FILES and stat.st_size < _LARGE
            content = file_hash(file) if small else f"{stat.st_size} {stat.st_mtime_ns}"
            digest.update(f"{file.relative_to(path).as_posix()}\0{content}\n".encode())
        return digest.hexdigest()
    except (OSError, ValueError, RuntimeError):
        return None  # no path at all: too long, a null byte, a "~" that is nobody's home
