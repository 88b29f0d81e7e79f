"""Builds the site: reads every run, writes its pages and downloads into a folder beside the site, then swaps the two.

A run whose files did not change since the last build keeps its pages. A run that is gone loses them. Whoever looks at the site
meanwhile sees the old one or the new one, never half of either.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from factlab import __version__, places
from factlab.publish import pictures, records, words
from factlab.publish.redact import Redactor, for_machine

if TYPE_CHECKING:
    import jinja2

_HERE = Path(__file__).parent
_STATE = ".build.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """What a build did.

    Attributes
    ----------
    index : Path
        The page to open.
    runs, rendered : int
        Runs on the site; how many of them were rendered anew.
    warnings : tuple of str
        `paper/run/step: what`, for figures without a description, notebooks or tables that could not be shown.
    """

    index: Path
    runs: int = 0
    rendered: int = 0
    warnings: tuple[str, ...] = ()


@dataclass
class _Pages:
    """What rendering one run left behind, as kept in the state file for the next build."""

    warnings: list[str] = field(default_factory=list)
    notebooks: list[str] = field(default_factory=list)


def build(outputs: Path) -> Path:
    """Write the site of all runs in `outputs` to `outputs/site`.

    Parameters
    ----------
    outputs : Path
        The folder with `<paper>/<run>/…`; made if it is not there.

    Returns
    -------
    Path
        `outputs/site/index.html`.

    Raises
    ------
    factlab.places.PlaceError
        Where the folder cannot be written; the old site is then still in place.
    """
    result = report(outputs)
    for warning in result.warnings:
        _log.warning("%s", warning)
    return result.index


def report(outputs: Path) -> Report:
    """The same as `build`, with the number of runs and everything a reader should be warned about."""
    from filelock import FileLock

    outputs = Path(outputs).absolute()
    site = outputs / "site"
    with places.writing(site):
        outputs.mkdir(parents=True, exist_ok=True)
        with FileLock(outputs / ".site.lock"):
            _recover(outputs, site)
            fresh = outputs / f".site-new-{os.getpid()}"
            try:
                fresh.mkdir()
                result = _build(outputs, site, fresh)
                _swap(site, fresh)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    return result


def _build(outputs: Path, site: Path, fresh: Path) -> Report:
    redactor = for_machine((outputs.parent, places.root(), _HERE.parents[2]))
    old = _state(site)
    made_by = _fingerprint_of_code(redactor)
    state: dict[str, Any] = {}
    warnings: list[str] = []
    rendered = 0
    cards: dict[str, list[records.Run]] = {}
    (fresh / "factlab.css").write_bytes((_HERE / "site.css").read_bytes())
    for folder in records.folders(outputs):
        run = records.read(folder, redactor)
        key = f"{run.paper}/{run.name}"
        print_now = hashlib.sha256(f"{made_by} {_fingerprint(folder)}".encode()).hexdigest()
        there, target = site / run.paper / run.name, fresh / run.paper / run.name
        before = old.get(key)
        if isinstance(before, dict) and before.get("fingerprint") == print_now and (there / "index.html").is_file():
            shutil.copytree(there, target)
            pages = _Pages(list(before.get("warnings", [])))
        else:
            target.mkdir(parents=True)
            pages = _render(run, target, redactor)
            rendered += 1
        state[key] = {"fingerprint": print_now, "warnings": pages.warnings}
        warnings += [f"{key}/{w}" for w in pages.warnings]
        cards.setdefault(run.paper, []).append(run)
    groups = _newest_first(cards)
    html = _page("index.html.j2", root="", groups=groups, built=datetime.now(UTC), version=__version__)
    _write(fresh / "index.html", html)
    _write(fresh / _STATE, json.dumps(state, indent=1, sort_keys=True))
    return Report(site / "index.html", sum(map(len, cards.values())), rendered, tuple(warnings))


def _newest_first(cards: Mapping[str, list[records.Run]]) -> list[tuple[str, str, str, list[records.Run]]]:
    def age(run: records.Run) -> float:
        try:
            return -run.started.timestamp() if run.started else -run.folder.stat().st_mtime
        except (OverflowError, OSError, ValueError):
            return 0.0

    groups = [(paper, *records.paper_title(paper), sorted(runs, key=age)) for paper, runs in cards.items()]
    return sorted(groups, key=lambda group: age(group[3][0]))


def _render(run: records.Run, target: Path, redactor: Redactor) -> _Pages:
    """Write the pages and downloads of one run."""
    from factlab.publish import notebook

    pages = _Pages()
    figures = _copy_figures(run, target, redactor, pages)
    tables = _write_tables(run, target, redactor, pages)
    with_page = [step for step in run.steps if step.notebook]
    names = frozenset(step.page for step in with_page)
    alts: dict[str, str] = {step.figure: step.alt for step in run.steps if step.figure and step.alt}
    for i, step in enumerate(with_page):
        warn = lambda what, step=step: pages.warnings.append(f"{step.name}: {what}")  # noqa: E731
        try:
            nb = notebook.read(step.notebook)
            _copy_notebook(nb, target / "notebooks" / step.notebook.name, redactor)
            pages.notebooks.append(step.name)
            body = notebook.body(nb, step.name, redactor, figures, names)
        except Exception as error:  # one broken notebook must not take the site with it
            warn(f"the notebook could not be shown ({type(error).__name__})")
            body = notebook.Body(html='<p class="left-out">This notebook could not be shown.</p>')
        for warning in body.warnings:
            warn(warning)
        for name, octets in body.images.items():
            _write(target / "images" / name, octets)
        html = _page(
            "step.html.j2",
            root="../../",
            run=run,
            paper=records.paper_title(run.paper),
            step=step,
            body=body,
            previous=with_page[i - 1] if i else None,
            following=with_page[i + 1] if i + 1 < len(with_page) else None,
            number=i + 1,
            total=len(with_page),
            saved=pages.notebooks,
        )
        _write(target / step.page, html)
    for step in run.steps:
        if step.figure and step.figure not in alts:
            pages.warnings.append(f"{step.name}: headline figure {step.figure} has no description (alt text)")
    records_left = [
        name for name in ("run.json", "metrics.json") if _copy_json(run.folder / name, target / name, redactor)
    ]
    html = _page(
        "run.html.j2",
        root="../../",
        run=run,
        paper=records.paper_title(run.paper),
        tables=tables,
        figures=figures.kinds,
        records_left=records_left,
        saved=pages.notebooks,
        warnings=pages.warnings,
    )
    _write(target / "index.html", html)
    return pages


def _copy_figures(run: records.Run, target: Path, redactor: Redactor, pages: _Pages) -> pictures.Figures:
    """Copy the run's figures and return what of them is published; SVGs that are more than drawings stay out."""
    by_hash: dict[str, str] = {}
    kinds: dict[str, list[str]] = {}
    for name, found in run.figures.items():
        for kind in found:
            path = run.folder / "figures" / f"{name}.{kind}"
            octets = path.read_bytes()
            if kind == "png":
                if pictures.png_size(octets) is None:
                    pages.warnings.append(f"figures/{path.name} is not a picture and is left out")
                    continue
                by_hash[hashlib.sha256(octets).hexdigest()] = name
            elif kind == "svg" and not pictures.safe_svg(octets):
                pages.warnings.append(f"figures/{path.name} holds more than a drawing and is left out")
                continue
            if kind != "png":
                octets = redactor(octets.decode("utf-8", "replace")).encode()
            _write(target / "figures" / path.name, octets)
            kinds.setdefault(name, []).append(kind)
    return pictures.Figures(by_hash, {name: tuple(found) for name, found in kinds.items()})


def _write_tables(run: records.Run, target: Path, redactor: Redactor, pages: _Pages) -> list[dict[str, str]]:
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
            pages.warnings.append(f"tables/{path.name} cannot be read ({type(error).__name__}) and is left out")
            continue
        _write(target / "tables" / f"{path.stem}.csv", text)
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


def _copy_notebook(nb: Any, target: Path, redactor: Redactor) -> None:
    _write(target, json.dumps(redactor.texts(nb), indent=1, ensure_ascii=False) + "\n")


def _copy_json(source: Path, target: Path, redactor: Redactor) -> bool:
    try:
        value = json.loads(source.read_text(encoding="utf-8"), parse_constant=lambda _: None)
        _write(target, json.dumps(redactor.value(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    except (OSError, ValueError, RecursionError):
        return False
    return True


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    env.filters.update(quote=quote, when=words.when, plural=words.plural, shorten=records.shorten)
    return env


def _page(template: str, **content: Any) -> str:
    script = (_HERE / "site.js.html").read_text(encoding="utf-8")
    content |= {"script": script, "policy": _policy(script), "figure": pictures.figure, "plain": words.plain}
    return _environment().get_template(template).render(**content)


@functools.cache
def _policy(script: str) -> str:
    """A content security policy: our one script by its hash, pictures and styles of this site, nothing else at all."""
    import base64

    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'self' file:; img-src 'self' data: file:; "
        "base-uri 'none'; form-action 'none'"
    )


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))


def _state(site: Path) -> Mapping[str, Any]:
    try:
        state = json.loads((site / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _fingerprint(folder: Path) -> str:
    """Changes when any file of the run does: names, sizes and times, which a rename or a new write always changes."""
    parts = ["*.json", "notebooks/*", "tables/*", "figures/*"]
    files = sorted(p for pattern in parts for p in folder.glob(pattern) if p.is_file())
    stats = [(p.relative_to(folder).as_posix(), p.stat()) for p in files]
    return hashlib.sha256(repr([(n, s.st_size, s.st_mtime_ns, s.st_ino) for n, s in stats]).encode()).hexdigest()


def _fingerprint_of_code(redactor: Redactor) -> str:
    """Changes with this package's own files and with what is redacted."""
    digest = hashlib.sha256(repr(redactor).encode())
    for path in sorted(p for p in _HERE.iterdir() if p.suffix in (".py", ".css", ".html", ".j2")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _recover(outputs: Path, site: Path) -> None:
    """Clear away what a build that was killed left behind; the lock says that no other build is running."""
    aside = outputs / ".site-old"
    if aside.exists() and not site.exists():
        aside.rename(site)
    for stale in (aside, *outputs.glob(".site-new-*")):
        _remove(stale)


def _swap(site: Path, fresh: Path) -> None:
    aside = site.with_name(".site-old")
    if site.exists() or site.is_symlink():
        site.rename(aside)
    fresh.rename(site)
    _remove(aside)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)
