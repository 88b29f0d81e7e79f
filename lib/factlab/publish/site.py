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
from factlab.publish import downloads, grids, pictures, records, words
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
    found: dict[str, list[records.Run]] = {}
    (fresh / "factlab.css").write_bytes((_HERE / "site.css").read_bytes())
    for run in grids.linked([records.read(folder, redactor) for folder in records.folders(outputs)]):
        key = f"{run.paper}/{run.name}"
        others = repr((run.arms, run.compared_in))  # what its page shows of other runs
        print_now = hashlib.sha256(f"{made_by} {_fingerprint(run.folder)} {others}".encode()).hexdigest()
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
        found.setdefault(run.paper, []).append(run)
    groups = _newest_first(found)
    html = _page("index.html.j2", root="", groups=groups, built=datetime.now(UTC), version=__version__)
    downloads.write(fresh / "index.html", html)
    downloads.write(fresh / _STATE, json.dumps(state, indent=1, sort_keys=True))
    return Report(site / "index.html", sum(map(len, found.values())), rendered, tuple(warnings))


def _newest_first(found: Mapping[str, list[records.Run]]) -> list[tuple[str, str, str, list[records.Run], int]]:
    """The papers: key, name, question, the runs that have a card of their own, and how many runs there are in all."""

    def age(run: records.Run) -> float:
        try:
            return -run.started.timestamp() if run.started else -run.folder.stat().st_mtime
        except (OverflowError, OSError, ValueError):
            return 0.0

    groups = []
    for paper, runs in found.items():
        cards = sorted((run for run in runs if not run.is_arm), key=age)
        groups.append((paper, *records.paper_title(paper), cards, len(runs)))
    return sorted(groups, key=lambda group: age(group[3][0]))


def _render(run: records.Run, target: Path, redactor: Redactor) -> _Pages:
    """Write the pages and downloads of one run."""
    from factlab.publish import notebook

    pages = _Pages()
    figures = downloads.copy_figures(run, target, redactor, pages.warnings)
    tables = downloads.write_tables(run, target, redactor, pages.warnings)
    files = downloads.copy_files(run, target, redactor, pages.warnings)
    with_page = [step for step in run.steps if step.notebook]
    names = frozenset(step.page for step in with_page)
    alts: dict[str, str] = {step.figure: step.alt for step in run.steps if step.figure and step.alt}
    for i, step in enumerate(with_page):
        warn = lambda what, step=step: pages.warnings.append(f"{step.name}: {what}")  # noqa: E731
        try:
            nb = notebook.read(step.notebook)
            downloads.copy_notebook(nb, target / "notebooks" / step.notebook.name, redactor)
            pages.notebooks.append(step.name)
            body = notebook.body(nb, step.name, redactor, figures, names)
        except Exception as error:  # one broken notebook must not take the site with it
            warn(f"the notebook could not be shown ({type(error).__name__})")
            body = notebook.Body(html='<p class="left-out">This notebook could not be shown.</p>')
        for warning in body.warnings:
            warn(warning)
        for name, octets in body.images.items():
            downloads.write(target / "images" / name, octets)
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
        downloads.write(target / step.page, html)
    for step in run.steps:
        if step.figure and step.figure not in alts:
            pages.warnings.append(f"{step.name}: headline figure {step.figure} has no description (alt text)")
    records_left = [
        name for name in ("run.json", "metrics.json") if downloads.copy_json(run.folder / name, target / name, redactor)
    ]
    html = _page(
        "run.html.j2",
        root="../../",
        run=run,
        paper=records.paper_title(run.paper),
        tables=tables,
        files=files,
        figures=figures.kinds,
        records_left=records_left,
        saved=pages.notebooks,
        warnings=pages.warnings,
    )
    downloads.write(target / "index.html", html)
    return pages


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


def _state(site: Path) -> Mapping[str, Any]:
    try:
        state = json.loads((site / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _fingerprint(folder: Path) -> str:
    """Changes when any file of the run does: names, sizes and times, which a rename or a new write always changes."""
    parts = ["*.json", "notebooks/*", "tables/*", "figures/*", "files/*"]
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
