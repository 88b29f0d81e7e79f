"""The command line: `factlab run | score | publish | cache | data | doctor`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factlab import places

_EXPECTED = ("RunError", "ModelError", "ReplayMiss", "PlaceError", "SourceError", "MissingFile", "FetchError")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, or 1 when something failed, with the reason on standard error."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if not hasattr(chosen, "run"):
        parser.print_help()
        return 2
    try:
        return chosen.run(chosen)
    except KeyboardInterrupt:
        print("\nstopped. What was received is kept; the same command goes on from there.", file=sys.stderr)
        return 130
    except Exception as error:
        # What a user can mend is said in a sentence; anything else is a fault of ours and keeps its traceback.
        if type(error).__name__ not in _EXPECTED:
            raise
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        print(f"factlab: {text}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="factlab", description="Measure what language models get wrong in science. Run it inside a checkout."
    )
    commands = parser.add_subparsers(title="commands", metavar="")

    run = commands.add_parser("run", help="run the notebooks of one or more parameters files")
    run.add_argument("file", nargs="+", help="e.g. params/dahl/demo.yaml")
    _run_options(run)
    run.set_defaults(run=_run)

    score = commands.add_parser("score", help="score a table of replies that you have already")
    score.add_argument("method", choices=list(_SCORED))
    score.add_argument(
        "file",
        help="CSV, TSV, JSON lines or parquet. dahl: columns question and response. reasons: item_id, mode (direct, indirect, …), "
        "reply and, for each item, source_id, source_title, domain, sentence, cited_title, cited_authors",
    )
    score.add_argument("--checker", help="dahl: model that judges (default: local/smollm2, a weak judge)")
    score.add_argument("--splitter", help="dahl: model that splits, or 'rules' (default)")
    score.add_argument("--verdicts", help="dahl: table of labels, with --checker reference")
    score.add_argument("--evidence", help="dahl: folder of articles whose passages the judge is shown")
    score.add_argument("--name", help="name of the run (default: the file's name)")
    _run_options(score)
    score.set_defaults(run=_score)

    publish = commands.add_parser("publish", help="build the site from the runs in outputs/")
    publish.set_defaults(run=_publish)

    cache = commands.add_parser("cache", help="the reply cache")
    actions = cache.add_subparsers(title="actions", metavar="", required=True)
    stats = actions.add_parser("stats", help="replies and tokens by model")
    stats.set_defaults(run=_cache_stats)
    for name, text in (
        ("export", "write all replies to a JSON-lines file"),
        ("import", "take in replies from an exported file"),
        ("merge", "take in the replies of another checkout's cache file"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("file", type=Path)
        action.set_defaults(run=_cache_move, action=name)

    data = commands.add_parser("data", help="data that the papers' authors published")
    data.add_argument("action", choices=["get", "list"])
    data.add_argument("name", nargs="?", help="which data set")
    data.add_argument("--to", default="data", help="folder (default: data)")
    data.set_defaults(run=_data)

    doctor = commands.add_parser("doctor", help="check the environment, weights, folders and keys")
    doctor.set_defaults(run=_doctor)
    return parser


def _run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", action="append", default=[], metavar="NAME=VALUE", help="set a notebook parameter")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1)")
    parser.add_argument("--force", action="store_true", help="run finished steps again (replies come from the cache)")


# -- run and score ----------------------------------------------------------------------------------------------------


def _run(chosen: argparse.Namespace) -> int:
    from factlab import runs
    from factlab.runs.parameters import read_override

    overrides = dict(read_override(text) for text in chosen.p)
    return _execute([plan for file in chosen.file for plan in runs.plan(file, overrides)], chosen)


def _score(chosen: argparse.Namespace) -> int:
    from factlab import runs
    from factlab.runs.parameters import read_override

    file = Path(chosen.file).expanduser().resolve()
    # The tables are read here first, so that a fault in them is told at once and not from inside a notebook.
    notebooks, parameters = _SCORED[chosen.method](chosen, file)
    # The ending is part of the name: answers.csv and answers.jsonl are two runs.
    name = chosen.name or "score-" + "".join(c if c.isalnum() or c in "._-" else "-" for c in file.name)
    parameters |= dict(read_override(text) for text in chosen.p)
    spec = {"paper": chosen.method, "name": name, "notebooks": notebooks, "parameters": parameters}
    status = _execute(runs.plan(spec, where="factlab score"), chosen)
    print(f"page: {places.shown(_build())}")
    return status


def _score_dahl(chosen: argparse.Namespace, file: Path) -> tuple[list[str], dict[str, Any]]:
    from factlab import sources

    answers = sources.read_responses(file)
    odd = sources.response_problems(file)
    for row in odd.head(10).itertuples():
        print(f"note: row {row.row}: {row.problem}" if row.row else f"note: {row.problem}", file=sys.stderr)
    if len(odd) > 10:
        print(f"note: and {len(odd) - 10} more; the page lists them all", file=sys.stderr)
    if chosen.verdicts and not chosen.checker:
        chosen.checker = "reference"
    if chosen.checker == "reference" and not chosen.verdicts:
        raise sources.SourceError("--checker reference needs --verdicts TABLE, with the columns unit and verdict")
    for option in ("verdicts", "evidence"):
        if getattr(chosen, option):
            setattr(chosen, option, places.shown(Path(getattr(chosen, option)).expanduser().resolve()))
    if chosen.verdicts:
        sources.read_table(places.resolve(chosen.verdicts))
    print(f"{len(answers)} answers read from {chosen.file}", file=sys.stderr)
    given = {k: getattr(chosen, k) for k in ("checker", "splitter", "verdicts", "evidence") if getattr(chosen, k)}
    return ["30_score"], {"responses": places.shown(file)} | given


def _score_reasons(chosen: argparse.Namespace, file: Path) -> tuple[list[str], dict[str, Any]]:
    from factlab import sources
    from factlab.studies.reasons import query

    ignored = [f"--{k}" for k in ("checker", "splitter", "verdicts", "evidence") if getattr(chosen, k)]
    if ignored:
        raise sources.SourceError(
            f"{', '.join(ignored)}: for dahl only; REASONS compares with the cited works and asks no judge"
        )
    modes = list(dict.fromkeys(query.recorded(file, check=True)["mode"]))
    records, left_out = sources.read_citations(file, licences="any")
    print(f"{len(records)} sentences in {len(modes)} modes read from {chosen.file}", file=sys.stderr)
    shown = places.shown(file)
    parameters = {"data": shown, "licences": "any", "subject": "recorded", "recorded": shown, "modes": modes}
    return ["10_build_dataset", "20_query", "50_domains"], parameters


_SCORED = {"dahl": _score_dahl, "reasons": _score_reasons}


def _execute(plans: list[Any], chosen: argparse.Namespace) -> int:
    from factlab import runs

    with _Bars() as bars:
        outcomes = runs.execute(plans, jobs=chosen.jobs, watch=bars, force=chosen.force)
    for outcome in outcomes:
        where = f"outputs/{outcome.paper}/{outcome.name}"
        skipped = f", already done: {', '.join(outcome.skipped)}" if outcome.skipped else ""
        print(f"{outcome.status:6} {where} ({outcome.seconds:.0f} s{skipped})")
        for line in _headlines(places.root() / where) if outcome.status == "done" else []:
            print(f"       {line}")
    failed = [o for o in outcomes if o.status != "done"]
    for o in failed:
        where = f", {o.failed_step}, cell {o.cell or 'unknown'}" if o.failed_step else ""
        print(f"failed: {o.paper}/{o.name}{where}: {o.error}", file=sys.stderr)
    return 1 if failed else 0


def _headlines(folder: Path) -> list[str]:
    """The headline numbers of a run and what its notebooks say about them."""
    import json

    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    lines = []
    for step, entry in sorted(metrics.items()):
        if entry.get("summary"):
            lines.append(f"{step}: {entry['summary']}")
        lines += [f"  ! {note}" for note in entry.get("notes", [])]
    return lines


class _Bars:
    """Progress bars on a terminal, one per run; a plain line per step where output is no terminal."""

    def __init__(self) -> None:
        from threading import Lock

        self._bars: dict[str, Any] = {}
        self._last: dict[str, str] = {}
        self._lock = Lock()
        self._live = sys.stderr.isatty()

    def __enter__(self) -> _Bars:
        return self

    def __exit__(self, *_: object) -> None:
        for bar in self._bars.values():
            bar.close()

    def __call__(self, run: str, what: str, done: float, total: int) -> None:
        with self._lock:
            if not self._live:
                if self._last.get(run) != what:
                    print(f"{run}: {what}", file=sys.stderr, flush=True)
                    self._last[run] = what
                return
            from tqdm import tqdm

            if run not in self._bars:
                form = "{desc} |{bar}| {n_fmt}/{total_fmt} [{elapsed}]"
                self._bars[run] = tqdm(total=total, position=len(self._bars), bar_format=form, dynamic_ncols=True)
            bar = self._bars[run]
            bar.total, bar.n = total, round(done)
            bar.set_description_str(f"{run}  {what}")


# -- the rest ---------------------------------------------------------------------------------------------------------


def _build() -> Path:
    from factlab import publish

    report = publish.report(places.outputs())
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return report.index


def _publish(_: argparse.Namespace) -> int:
    print(f"open {places.shown(_build())}")
    return 0


def _cache_stats(_: argparse.Namespace) -> int:
    from factlab.models import cache, embed_store

    opened = cache.default()
    print(f"{len(opened)} replies in {places.shown(opened.path)}")
    for row in opened.stats():
        tokens = f"{row['prompt_tokens'] or 0:,} tokens in, {row['completion_tokens'] or 0:,} out"
        print(f"  {row['model'] or '(unnamed)'}: {row['replies']:,} replies, {tokens}")
    if embed_store.default_path().is_file():  # looking makes no file
        store = embed_store.default()
        print(f"{len(store)} embeddings in {places.shown(store.path)}")
        for row in store.stats():
            size = f"{row['tokens'] or 0:,} tokens, {row['bytes'] / 1e6:.1f} MB"
            print(f"  {row['model']}: {row['embeddings']:,} embeddings, {size}")
    for what, folder in (("rerankers", "cache/rerankers"), ("fine-tuned models", "finetuned")):
        place = places.outputs() / folder
        files = [path for path in place.rglob("*") if path.is_file()]
        if files:
            made = sum(path.is_dir() for path in place.iterdir())
            size = sum(path.stat().st_size for path in files) / 1e6
            print(f"{made} {what} in {places.shown(place)}, {size:,.1f} MB; delete what you no longer need")
    return 0


def _cache_move(chosen: argparse.Namespace) -> int:
    from factlab.models import cache

    opened = cache.default()
    if chosen.action == "export":
        print(f"{opened.export(chosen.file)} replies written to {chosen.file}")
        return 0
    added, there = (opened.import_ if chosen.action == "import" else opened.merge)(chosen.file)
    print(f"{added} replies added, {there} already there")
    return 0


def _data(chosen: argparse.Namespace) -> int:
    from factlab import sources

    if chosen.action == "list" or not chosen.name:
        for name, dataset in sources.DATASETS.items():
            print(f"{name}: {dataset.title} ({dataset.licence}), {len(dataset.files)} files")
        return 0
    for path in sources.fetch(chosen.name, chosen.to):
        print(path)
    return 0


def _doctor(_: argparse.Namespace) -> int:
    """Say what works here and what to do about the rest; exit status 1 when the demo could not run."""
    import importlib.util
    import os

    from factlab.models import ModelError, weights

    problems = 0

    def say(good: bool, text: str, remedy: str = "", needed: bool = True) -> None:
        nonlocal problems
        problems += needed and not good
        print(("ok   " if good else "MISS " if needed else "note ") + text + ("" if good else f"\n       {remedy}"))

    say(sys.version_info >= (3, 11), f"Python {sys.version.split()[0]}", "factlab needs 3.11 or newer")
    for package in ("torch", "transformers", "papermill", "nbconvert", "ipykernel"):
        say(importlib.util.find_spec(package) is not None, f"package {package}", "make env")
    for name, find in (("SmolLM2-135M", weights.smollm2_gguf), ("MiniLM", weights.minilm)):
        try:
            find()
            say(True, f"built-in weights {name}")
        except ModelError as error:
            say(False, f"built-in weights {name}", str(error))
    in_checkout = (places.root() / "notebooks").is_dir()
    say(in_checkout, "inside a checkout", "change to the folder that holds notebooks/ and params/")
    for folder in (places.outputs(), places.user_cache()):
        try:
            places.write_atomic(folder / ".doctor", "")
            (folder / ".doctor").unlink()
            say(True, f"can write {places.shown(folder)}")
        except OSError as error:
            say(False, f"cannot write {places.shown(folder)}", error.strerror or str(error))
    key = "OPENAI_API_KEY" in os.environ
    say(
        key,
        "OPENAI_API_KEY is set" if key else "OPENAI_API_KEY is not set",
        "only needed for openai/ models",
        needed=False,
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
