"""A run's folder as plain records for the pages. Every field is optional and nothing about its type is taken for granted:
a crash, an older version or a hostile reply must not break the page of another run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from factlab.publish import words
from factlab.publish.redact import Redactor

PAPERS = {
    "dahl": ("DAHL", "How much of what a model writes about medicine is true, one atomic fact at a time?"),
    "ms_exam_gen": ("MS-Exam-Gen", "Do exam items made from articles test knowledge, or give their answer away?"),
    "reasons": ("REASONS", "Can a model name the paper a sentence cites, or does it invent one?"),
    "lext": ("LExT", "Does the explanation a model gives explain its answer?"),
    "checkembed": ("CheckEmbed", "Does a model say the same when it is asked again?"),
    "crosspaper": ("Across the papers", "What do the five methods say about the same replies?"),
}
ROLES = frozenset({"subject", "splitter", "checker", "judge", "writer", "embedder", "encoder", "author", "paraphraser"})
FAILED = frozenset({"failed", "error", "timeout"})
SKIPPED = frozenset({"site", "cache"})
BY_HAND = (
    "interactive"  # where notebooks that were opened by hand write: no run, and nobody asked for it to be published
)


@dataclass(frozen=True)
class Headline:
    """A step's score in words: what stands large, the interval, what was left out, the bar."""

    value: str
    interval: str = ""
    scored: str = ""
    left_out: str = ""
    reason: str = ""
    method: str = ""
    signature: str = ""
    bar: str = ""


@dataclass(frozen=True)
class Step:
    """One notebook of a run."""

    name: str
    title: str
    page: str
    notebook: Path | None
    status: str = ""
    seconds: str = words.NOT_RECORDED
    key: str = ""
    error: Mapping[str, str] = field(default_factory=dict)
    headline: Headline | None = None
    what: str = ""  # the headline measures
    leads: bool = False
    summary: str = ""  # empty where it says what the headline says
    figure: str = ""
    alt: str = ""
    notes: tuple[str, ...] = ()
    metrics: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Arm:
    """One run of a grid, as the run that compares them lists it; every field is ready to print."""

    name: str
    found: bool  # whether the site has its page
    status: str
    settings: tuple[tuple[str, str], ...] = ()  # the parameters in which the arms differ
    title: str = ""
    headline: Headline | None = None
    problem: str = ""


@dataclass(frozen=True)
class Run:
    """One run: what its card and its page show. Times are datetimes or None, everything else is ready to print."""

    paper: str
    name: str
    folder: Path
    status: str
    started: datetime | None
    seconds: str
    steps: tuple[Step, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: tuple[tuple[str, str], ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    prompts: tuple[tuple[str, str], ...] = ()
    models: tuple[Mapping[str, str], ...] = ()
    totals: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    dirty: bool = False
    signature: str = ""
    figures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()
    finished: datetime | None = None
    compares: tuple[str, ...] = ()  # folders, as run.json names them
    arms: tuple[Arm, ...] = ()  # the same as a reader sees them; filled by `grids.linked`
    compared_in: tuple[str, ...] = ()  # names of the runs of this paper that compare it; likewise

    @property
    def notes(self) -> tuple[str, ...]:
        """What to distrust, from every step, each once."""
        return tuple(note for _, notes in self.notes_by_step for note in notes)

    @property
    def notes_by_step(self) -> tuple[tuple[Step, tuple[str, ...]], ...]:
        """The same under the step that says it first."""
        seen: set[str] = set()
        found = []
        for step in self.steps:
            new = tuple(note for note in dict.fromkeys(step.notes) if note not in seen)
            seen.update(new)
            if new:
                found.append((step, new))
        return tuple(found)

    @property
    def lead(self) -> Step | None:
        """The step whose score stands on the card: the one that says so, else the last with a value or with a reason for having none."""
        scored = [s for s in self.steps if s.headline and s.leads] or [s for s in self.steps if s.headline]
        return next(
            (s for s in reversed(scored) if s.headline.bar or s.headline.interval), scored[-1] if scored else None
        )

    @property
    def picture(self) -> Step | None:
        """The step whose figure stands on the card: that of the score; without one the first, which says what the run is about."""
        with_figure = [s for s in self.steps if s.figure]
        if self.lead in with_figure:
            return self.lead
        return with_figure[-1 if self.lead else 0] if with_figure else None

    @property
    def is_arm(self) -> bool:
        """Whether another card lists this run. One that compares runs itself has a card in any case, so that none gets lost."""
        return bool(self.compared_in) and not self.arms


def folders(outputs: Path) -> list[Path]:
    """Every run's folder: `<paper>/<run>` that holds a notebook, run.json or metrics.json; the site, the cache and what was opened by
    hand are not runs."""
    found = []
    for paper in sorted(outputs.iterdir()) if outputs.is_dir() else []:
        if not paper.is_dir() or paper.name in SKIPPED or paper.name.startswith((".", "_")):
            continue
        found += [
            run
            for run in sorted(paper.iterdir())
            if run.is_dir()
            and run.name != BY_HAND
            and not run.name.startswith(".")
            and any((run / part).exists() for part in ("run.json", "metrics.json", "notebooks"))
        ]
    return found


def read(folder: Path, redactor: Redactor) -> Run:
    """The records of one run; what is missing or unreadable becomes a problem that the page names."""
    problems: list[str] = []
    run = _json(folder / "run.json", problems, redactor)
    failed = _text(run.get("status")) in FAILED
    # A run that failed says so itself; that it has no numbers yet is no second problem.
    metrics = _json(folder / "metrics.json", [] if failed else problems, redactor)
    states = _mapping(run.get("steps"))
    figures = _figures(folder)
    notebooks = _notebooks(folder, states)
    names = sorted({*notebooks, *states, *metrics}, key=_in_order)
    steps = tuple(_step(n, notebooks.get(n), _mapping(states.get(n)), _mapping(metrics.get(n)), figures) for n in names)
    for step in steps:
        if step.status in FAILED or step.error:
            what = ": ".join(p for p in (step.error.get("name"), step.error.get("message")) if p)
            problems.append(f"{step.title}: failed" + (f" ({shorten(what)})" if what else ""))
    models = _models(run.get("models"), _mapping(run.get("parameters")))
    return Run(
        paper=folder.parent.name,
        name=folder.name,
        folder=folder,
        status=_status(run, folder),
        started=words.moment(run.get("started")),
        finished=words.moment(run.get("finished")),
        seconds=words.duration(run.get("seconds")),
        steps=steps,
        parameters=_mapping(run.get("parameters")),
        versions=_pairs(run.get("versions")),
        data=_pairs(run.get("data")),
        prompts=_pairs(run.get("prompts")),
        models=models[0],
        totals=models[1],
        commit=_text(run.get("commit")),
        dirty=run.get("dirty") is True,
        signature=_text(run.get("signature")),
        figures=figures,
        tables=tuple(sorted((folder / "tables").glob("*.parquet"))),
        files=_files(folder, metrics),
        problems=tuple(problems),
        compares=tuple(c.strip() for c in _list(run.get("compares")) if isinstance(c, str) and c.strip()),
    )


def headline(estimate: Any) -> Headline | None:
    """An Estimate's dict in words; None where there is nothing to say."""
    estimate = _mapping(estimate)
    if not estimate:
        return None
    value, low, high = (words.finite(estimate.get(k)) for k in ("value", "low", "high"))
    status, reason = _text(estimate.get("status")), _text(estimate.get("reason"))
    noun = _text(estimate.get("unit")) or "items"
    n = words.finite(estimate.get("n"))
    left, why = words.left_out(_mapping(estimate.get("counts")))
    scored = f"{words.count(n)} {noun.removesuffix('s') if n == 1 else noun}" if n is not None else ""
    if scored and value is not None:
        scored += " scored"
    clusters = words.finite(estimate.get("clusters"))
    if scored and clusters is not None:
        scored += f", from {words.plural(clusters, 'cluster')}"
    left_out = f"{words.count(left)} left out: {why}" if left else ""
    method = _text(estimate.get("method"))
    if value is None:
        why_not = reason or (f"status {status}" if status and status != "scored" else "no reason recorded")
        return Headline("undefined", "", scored, left_out, why_not, method, _text(estimate.get("signature")))
    digits = words.digits_for(low, high)
    level = words.finite(estimate.get("level")) or 0.95
    interval = ""
    if low is not None and high is not None:
        interval = f"{level * 100:.0f} % interval {words.number(low, digits)} to {words.number(high, digits)}"
    shown = words.number(value, digits)
    label = f"{shown} on a scale from 0 to 1" + (f", {interval}" if interval else ", no interval")
    return Headline(
        shown,
        interval or "no interval",
        scored,
        left_out,
        reason,
        method,
        _text(estimate.get("signature")),
        words.interval_bar(value, low, high, label),
    )


def paper_title(paper: str) -> tuple[str, str]:
    """The name of a paper and the question it asks."""
    return PAPERS.get(paper, (paper, ""))


def step_title(name: str) -> str:
    """`30_score` as `Score`."""
    stem = re.sub(r"^\d+[_-]", "", name).replace("_", " ").strip()
    return stem[:1].upper() + stem[1:] if stem else name


def shorten(text: str, length: int = 160) -> str:
    """One line of at most `length` characters, cut at a word."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"


def _step(
    name: str, notebook: Path | None, state: Mapping, metric: Mapping, figures: Mapping[str, tuple[str, ...]]
) -> Step:
    failure = state.get("error")
    failure = {"message": failure} if isinstance(failure, str) else _mapping(failure)
    error = {k: _text(failure.get(k)) for k in ("cell", "name", "message")}
    error = error if any(error.values()) else {}
    figure = Path(_text(metric.get("figure"))).stem
    notes = metric.get("notes")
    values = _mapping(metric.get("metrics"))
    score = headline(metric.get("headline"))
    summary = _text(metric.get("summary"))
    return Step(
        name=name,
        title=_text(metric.get("title")) or step_title(name),
        page=f"{name if name != 'index' else 'index-step'}.html",
        notebook=notebook,
        status=_text(state.get("status")),
        seconds=words.duration(state.get("seconds")),
        key=_text(state.get("key")),
        error=error,
        headline=score,
        what=_text(metric.get("what")),
        leads=metric.get("lead") is True,
        summary="" if score and _repeats(summary, metric["headline"]) else summary,
        figure=figure if "png" in figures.get(figure, ()) else "",
        alt=_text(metric.get("alt")),
        notes=tuple(_text(n) for n in _list(notes) if _text(n)),
        # Lists and records have tables and notes of their own; a mapping with a value is an Estimate.
        metrics=tuple((str(k), _shown(v)) for k, v in values.items() if not _nested(v)),
    )


def _repeats(summary: str, estimate: Mapping[str, Any]) -> bool:
    """Whether a summary is no more than the name of a score and the score as a sentence."""
    from factlab.stats import Estimate

    try:
        said = str(Estimate.from_dict(estimate))
    except (TypeError, ValueError, AttributeError):
        return False
    return summary.endswith(said) and len(summary.removesuffix(said)) < 40


def _notebooks(folder: Path, states: Mapping[str, Any]) -> dict[str, Path]:
    """The notebook of each step; of a step that failed, the copy that stops at the failure (`30_score.failed.ipynb`)."""
    found = {p.stem: p for p in sorted((folder / "notebooks").glob("*.ipynb")) if not p.name.startswith(".")}
    for name in [n for n in found if n.endswith(".failed")]:
        path, step = found.pop(name), name.removesuffix(".failed")
        if step not in found or _text(_mapping(states.get(step)).get("status")) in FAILED:
            found[step] = path
    return found


def _nested(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, Mapping) and "value" not in value)


def _models(recorded: Any, parameters: Mapping[str, Any]) -> tuple[tuple[Mapping[str, str], ...], Mapping[str, str]]:
    rows, sums = [], {}
    priced = True
    for key, value in _mapping(recorded).items():
        value = _mapping(value)
        role, _, name = key.partition("/")
        if role not in ROLES or not name:
            role, name = (key, "") if key in ROLES else (_text(value.get("role")) or _roles(key, parameters), key)
        row = {"role": role, "name": _text(value.get("name")) or name or _text(value.get("served"))}
        row["served"] = _text(value.get("served")) or words.NOT_RECORDED
        for k in ("calls", "cached", "prompt_tokens", "completion_tokens"):
            n = words.finite(value.get(k))
            row[k] = words.DASH if n is None else words.count(n)
            sums[k] = sums.get(k, 0) + (n or 0)
        usd = words.finite(value.get("usd"))
        unused = usd is None and row["calls"] == "0"
        priced = priced and (usd is not None or unused)
        sums["usd"] = sums.get("usd", 0) + (usd or 0)
        row["usd"] = words.money(usd) if usd is not None else words.DASH if unused else "no price known"
        rows.append(row)
    totals = {k: words.count(v) for k, v in sums.items() if k != "usd"}
    if rows:
        totals["usd"] = (
            words.money(sums["usd"]) if priced else "not known for every model" if sums["usd"] else "no price known"
        )
    return tuple(rows), totals


def _roles(model: str, parameters: Mapping[str, Any]) -> str:
    """The roles that a run's parameters give to a model: `subject, checker`."""
    return ", ".join(name for name, value in parameters.items() if name in ROLES and value == model)


def _figures(folder: Path) -> dict[str, tuple[str, ...]]:
    kinds: dict[str, list[str]] = {}
    for path in sorted((folder / "figures").glob("*")):
        kind = path.suffix[1:].lower()
        if kind in ("png", "svg", "csv") and path.is_file():
            kinds.setdefault(path.stem, []).append(kind)
    return {name: tuple(found) for name, found in kinds.items()}


def _status(run: Mapping[str, Any], folder: Path) -> str:
    """The status as recorded; a run that says it is running while nobody holds its lock was killed."""
    from filelock import FileLock, Timeout

    status = _text(run.get("status")) or words.NOT_RECORDED
    if status != "running":
        return status
    lock = FileLock(str(folder / ".lock"), timeout=0)
    try:
        with lock:
            return "stopped"
    except (Timeout, OSError):
        return status


def _files(folder: Path, metrics: Mapping[str, Any]) -> tuple[Path, ...]:
    """The files that the steps saved. Older versions of one that a person may edit lie beside it and stay in the folder."""
    found = [p for p in sorted((folder / "files").glob("*")) if p.is_file() and not p.name.startswith(".")]
    saved = {name for step in metrics.values() for name in _mapping(_mapping(step).get("files"))}

    def older(path: Path) -> bool:
        mark = re.fullmatch(r"(.+)\.[0-9a-f]{8}", path.stem)
        return bool(mark) and f"{mark[1]}{path.suffix}" in saved and path.name not in saved

    return tuple(path for path in found if not older(path))


def _json(path: Path, problems: list[str], redactor: Redactor) -> Mapping[str, Any]:
    if not path.exists():
        problems.append(f"{path.name} is missing: the run was stopped early, or an older version made it")
        return {}
    try:
        return _mapping(redactor.value(json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))))
    except (OSError, ValueError, RecursionError):
        problems.append(f"{path.name} cannot be read: run the same command again to write it anew")
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    number = words.finite(value)
    return "" if number is None else f"{number:g}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        found = headline(value) if "value" in value else None
        return f"{found.value} ({found.interval or found.reason})" if found else words.DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return words.number(value, 1 if abs(words.finite(value) or 0) >= 10 else 3)
    return _text(value) or words.DASH


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(k), _text(v) or words.NOT_RECORDED) for k, v in sorted(_mapping(value).items()))


def _in_order(name: str) -> tuple[float, str]:
    number = re.match(r"\d+", name)
    return (float(number[0]) if number else float("inf"), name)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []
