"""What made a result: versions, commit, hashes of the library, the data and the inputs."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Mapping
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


def file_hash(path: Path) -> str:
    """sha256 of a file's content."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


@functools.cache
def library_hash() -> str:
    """One hash over everything the package consists of: code, prompts, published numbers, samples."""
    home = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            digest.update(f"{path.relative_to(home).as_posix()}\0{file_hash(path)}\n".encode())
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


def commit() -> tuple[str | None, bool | None]:
    """The checkout's git commit and whether files differ from it; (None, None) outside a checkout."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(places.root()), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def step_key(notebook: Path, parameters: Mapping[str, Any], tables: Mapping[str, str]) -> str:
    """Key of one step: notebook source, resolved parameters, library, files that parameters name, tables of earlier steps."""
    files = {}
    for name, value in parameters.items():
        if isinstance(value, str) and value and "\n" not in value and len(value) < 500:
            path = places.resolve(value)
            if path.is_file():
                files[name] = file_hash(path)
            elif path.is_dir() and ("/" in value or "\\" in value):
                inside = sorted(p for p in path.rglob("*") if p.is_file())[:10_000]
                files[name] = hashlib.sha256("".join(file_hash(p) for p in inside).encode()).hexdigest()
    record = {
        "notebook": file_hash(notebook),
        "parameters": dict(parameters),
        "library": library_hash(),
        "files": files,
        "tables": dict(tables),
    }
    return hashlib.sha256(json.dumps(record, sort_keys=True, allow_nan=False).encode()).hexdigest()
