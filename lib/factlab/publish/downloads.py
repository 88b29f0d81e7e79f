"""What a run's page offers to download: figures, tables as CSV, text files, notebooks and records, each redacted first.

What cannot be published (half-written, no text, more than a drawing) is left out, and a warning on the page says so.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from factlab.publish import pictures, records, words
from factlab.publish.redact import Redactor

LARGEST_FILE = 20_000_000  # bytes; a page is no place for a larger one


def copy_figures(run: records.Run, target: Path, redactor: Redactor, warnings: list[str]) -> pictures.Figures:
    """Copy the run's figures and return what of them is published; SVGs that are more than drawings stay out."""
    by_hash: dict[str, str] = {}
    kinds: dict[str, list[str]] = {}
    for name, found in run.figures.items():
        for kind in found:
            path = run.folder / "figures" / f"{name}.{kind}"
            octets = path.read_bytes()
            if kind == "png":
                if pictures.png_size(octets) is None:
                    warnings.append(f"figures/{path.name} is not a picture and is left out")
                    continue
                by_hash[hashlib.sha256(octets).hexdigest()] = name
            elif kind == "svg" and not pictures.safe_svg(octets):
                warnings.append(f"figures/{path.name} holds more than a drawing and is left out")
                continue
            if kind != "png":
                octets = redactor(octets.decode("utf-8", "replace")).encode()
            write(target / "figures" / path.name, octets)
            kinds.setdefault(name, []).append(kind)
    return pictures.Figures(by_hash, {name: tuple(found) for name, found in kinds.items()})


def write_tables(run: records.Run, target: Path, redactor: Redactor, warnings: list[str]) -> list[dict[str, str]]:
    """Every table as CSV (missing values empty, lists and mappings as JSON), with its size for the list of downloads."""
    written = []
    for path in run.tables:
        try:
            import pandas as pd

            frame = pd.read_parquet(path)
            for column in [c for c in frame.columns if frame[c].dtype == "object"]:
                frame[column] = frame[column].map(_cell)
            text = redactor(frame.to_csv(index=not isinstance(frame.index, pd.RangeIndex), lineterminator="\n"))
        except Exception as error:  # pyarrow raises many kinds for a half-written file
            warnings.append(f"tables/{path.name} cannot be read ({type(error).__name__}) and is left out")
            continue
        write(target / "tables" / f"{path.stem}.csv", text)
        written.append(
            {
                "name": path.stem,
                "rows": words.plural(len(frame), "row"),
                "columns": words.plural(len(frame.columns), "column"),
                "size": words.size(len(text.encode())),
            }
        )
    return written


def _cell(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | tuple | dict) else value


def copy_files(run: records.Run, target: Path, redactor: Redactor, warnings: list[str]) -> list[dict[str, str]]:
    """Copy every text file that the run saved for use elsewhere; returns names and sizes for the list of downloads."""
    copied = []
    for path in run.files:
        name, text, why = redactor(path.name), "", ""
        try:
            if path.stat().st_size > LARGEST_FILE:
                why = f"is larger than {words.size(LARGEST_FILE)}"
            else:
                text = path.read_bytes().decode("utf-8")
                why = "is not text" if "\0" in text else "has a name that no page can hold" if name != path.name else ""
        except UnicodeDecodeError:
            why = "is not text (UTF-8)"
        except OSError as error:
            why = f"cannot be read ({type(error).__name__})"
        if why:
            warnings.append(f"files/{name} {why} and is left out")
            continue
        octets = redactor(text).encode()
        write(target / "files" / name, octets)
        copied.append({"name": name, "size": words.size(len(octets))})
    return copied


def copy_notebook(nb: Any, target: Path, redactor: Redactor) -> None:
    """Write a notebook as it ran."""
    write(target, json.dumps(redactor.texts(nb), indent=1, ensure_ascii=False) + "\n")


def copy_json(source: Path, target: Path, redactor: Redactor) -> bool:
    """Copy a record without what no JSON reader accepts (NaN); False where it cannot be read."""
    try:
        value = json.loads(source.read_text(encoding="utf-8"), parse_constant=lambda _: None)
        write(target, json.dumps(redactor.value(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    except (OSError, ValueError, RecursionError):
        return False
    return True


def write(path: Path, content: str | bytes) -> None:
    """Write a file of the site, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
