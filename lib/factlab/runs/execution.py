"""Executing plans: each notebook headless in a process of its own, its status from that process, everything recorded.

A run is a sequence of steps in one folder. `run.json` is rewritten after each of them, so a run that was killed at any moment goes
on where it stopped: finished steps are skipped by key, replies already received come from the cache. Runs of a grid go through an
executor with a `submit` method; the local one is a pool of threads, each waiting for its notebook's process. Any other executor
with the same method (a cluster's client) can take its place, since `run_one` takes and returns plain data.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from factlab import places
from factlab.runs import provenance
from factlab.runs.parameters import Plan, RunError

Watch = Callable[[str, str, int, int], None]
"""Called with (run, what, done, total) as work goes on."""


@dataclass(frozen=True)
class Outcome:
    """How one run ended: 'done' or 'failed', where it lies, which steps were skipped as already done, what failed."""

    paper: str
    name: str
    status: str
    seconds: float
    skipped: tuple[str, ...] = ()
    failed_step: str | None = None
    cell: str | None = None
    error: str | None = None


def execute(
    plans: Sequence[Plan],
    jobs: int = 1,
    watch: Watch | None = None,
    force: bool = False,
    executor: Executor | None = None,
) -> list[Outcome]:
    """Run all plans; one that fails does not stop the others.

    Parameters
    ----------
    plans : from `parameters.plan`.
    jobs : how many runs at a time on this machine.
    watch : told of progress.
    force : run every step even if it is done already (its replies still come from the cache).
    executor : where the runs go; default: a local pool of `jobs` threads.

    Returns
    -------
    list of Outcome, in the order of the plans.
    """
    threads = max(1, (os.cpu_count() or 1) // max(1, jobs)) if jobs > 1 else None
    pool = executor or ThreadPoolExecutor(max_workers=max(1, jobs))
    with contextlib.ExitStack() as stack:
        if executor is None:
            stack.enter_context(pool)
        futures = [pool.submit(run_one, plan, watch, force, threads) for plan in plans]
        try:
            return [f.result() for f in futures]
        except BaseException:
            # Interrupted, or a folder that cannot be written: nothing of ours may go on unseen.
            for f in futures:
                f.cancel()
            if executor is None:
                _kill_children(os.getpid())
            raise


def run_one(plan: Plan, watch: Watch | None = None, force: bool = False, threads: int | None = None) -> Outcome:
    """Run one plan in its folder; never raises for what goes wrong inside a notebook."""
    from filelock import FileLock, Timeout

    folder = plan.folder
    with places.writing(folder):
        (folder / "notebooks").mkdir(parents=True, exist_ok=True)
    lock = FileLock(str(folder / ".lock"), timeout=0)
    try:
        with lock:
            return _run_locked(plan, watch or (lambda *_: None), force, threads)
    except Timeout:
        raise RunError(
            f"{places.shown(folder)} is being written by another factlab process: wait for it, or give this run another name"
        ) from None


def _run_locked(plan: Plan, watch: Watch, force: bool, threads: int | None) -> Outcome:
    began = time.monotonic()
    folder, label = plan.folder, f"{plan.paper}/{plan.name}"
    record = _read(folder / "run.json")
    old_steps = record.get("steps", {})
    commit, dirty = provenance.commit()
    record = {
        "paper": plan.paper,
        "name": plan.name,
        "status": "running",
        "started": _now(),
        "parameters": {k: v for n in plan.notebooks for k, v in plan.for_notebook(n).items()},
        "versions": provenance.versions(),
        "library": provenance.library_hash(),
        "commit": commit,
        "dirty": dirty,
        "steps": {},
    }
    wanted = {n.stem for n in plan.notebooks}
    _forget_other_steps(folder, wanted, old_steps)
    tables: dict[str, str] = {}
    skipped, failure = [], None
    for position, notebook in enumerate(plan.notebooks):
        step, parameters = notebook.stem, plan.for_notebook(notebook)
        watch(label, step, position, len(plan.notebooks))
        key = provenance.step_key(notebook, parameters, tables)
        old = old_steps.get(step, {})
        if not force and old.get("status") == "done" and old.get("key") == key and _intact(folder, step, old):
            record["steps"][step] = old
            skipped.append(step)
        else:
            record["steps"][step] = {"status": "running", "key": key}
            places.write_json(folder / "run.json", record)
            record["steps"][step] = {"key": key} | _run_step(plan, notebook, parameters, watch, threads)
        tables |= record["steps"][step].get("tables", {})
        if record["steps"][step]["status"] != "done":
            failure = record["steps"][step]["error"] | {"step": step}
            break
        places.write_json(folder / "run.json", record)
    record |= _collect(folder, record["steps"])
    record["status"] = "failed" if failure else "done"
    record["finished"] = _now()
    record["seconds"] = round(time.monotonic() - began, 2)
    places.write_json(folder / "run.json", record)
    watch(label, record["status"], len(plan.notebooks), len(plan.notebooks))
    failure = failure or {}
    return Outcome(
        plan.paper,
        plan.name,
        record["status"],
        record["seconds"],
        tuple(skipped),
        failure.get("step"),
        failure.get("cell"),
        f"{failure['name']}: {failure['message']}" if failure else None,
    )


def _run_step(
    plan: Plan, notebook: Path, parameters: dict[str, Any], watch: Watch, threads: int | None
) -> dict[str, Any]:
    """Execute one notebook in a process of its own and say how it ended."""
    target = plan.folder / "notebooks" / notebook.name
    part = target.with_name(target.name + ".part")
    progress = plan.folder / f".progress-{notebook.stem}.json"
    progress.unlink(missing_ok=True)
    given = parameters | {"run_dir": places.shown(plan.folder)}
    _forget_metrics(plan.folder, notebook.stem)
    # A server process with papermill already imported forks one child per notebook: quick to start, and alone when it is killed.
    context = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    if hasattr(context, "set_forkserver_preload"):
        context.set_forkserver_preload(["papermill", "factlab.runs.execution"])
    receive, send = context.Pipe(duplex=False)
    child = context.Process(
        target=_execute_notebook, args=(send, str(notebook), str(part), given, str(progress), threads), daemon=False
    )
    began = time.monotonic()
    child.start()
    send.close()
    answer: dict[str, Any] | None = None
    try:
        while child.is_alive() or receive.poll():
            if receive.poll(0.25):
                try:
                    answer = receive.recv()
                except EOFError:
                    break
                break
            now = _read(progress)
            if now:
                watch(f"{plan.paper}/{plan.name}", f"{notebook.stem}: {now['what']}", now["done"], now["total"])
            if time.monotonic() - began > plan.time_limit_s:
                answer = {
                    "cell": None,
                    "name": "TimeLimit",
                    "message": f"ran longer than {plan.time_limit_s:g} s (time_limit_s)",
                }
                break
    finally:
        _end(child)
        progress.unlink(missing_ok=True)
    if answer is None:
        why = f"the notebook's process ended without a word (exit code {child.exitcode}): killed, or out of memory"
        answer = {"cell": None, "name": "ProcessDied", "message": f"{why}; see {places.shown(Path(_log(part)))}"}
    seconds = round(time.monotonic() - began, 2)
    if answer.get("name"):
        # What was executed so far is worth reading, under a name that says it is not the result.
        if part.is_file():
            part.replace(target.with_name(f"{notebook.stem}.failed.ipynb"))
        return {"status": "failed", "seconds": seconds, "error": answer}
    with places.writing(target):
        part.replace(target)
    target.with_name(f"{notebook.stem}.failed.ipynb").unlink(missing_ok=True)
    Path(_log(part)).unlink(missing_ok=True)
    metrics = _read(plan.folder / "metrics.json").get(notebook.stem, {})
    return {"status": "done", "seconds": seconds, "error": None, "tables": metrics.get("tables", {})}


def _execute_notebook(
    send: Any, source: str, part: str, parameters: dict[str, Any], progress: str, threads: int | None
) -> None:
    """Runs in the child process: papermill executes the notebook and the verdict goes back through the pipe."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    # What the kernel says outside of its cells (warnings at its start, the last words of a crash) goes to a log file.
    log = os.open(_log(part), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    os.dup2(log, 2)
    os.environ["FACTLAB_PROGRESS"] = progress
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)
    import papermill
    from papermill.exceptions import PapermillExecutionError

    try:
        papermill.execute_notebook(
            source,
            part,
            parameters=parameters,
            kernel_name="python3",
            progress_bar=False,
            cwd=str(Path(source).parent),
            log_output=False,
        )
        send.send({})
    except PapermillExecutionError as error:
        send.send({"cell": _cell_name(source, part, error), "name": error.ename, "message": _plain(error.evalue)})
    except BaseException as error:  # whatever it is, the parent must hear of it
        send.send({"cell": None, "name": type(error).__name__, "message": _plain(str(error))})
    finally:
        send.close()


def _log(part: str | Path) -> str:
    return str(part).removesuffix(".ipynb.part") + ".log"


def _cell_name(source: str, part: str, error: Any) -> str:
    """The id of the failed cell, which is the same in the source notebook."""
    try:
        cells = json.loads(Path(part).read_text(encoding="utf-8"))["cells"]
        known = {c.get("id") for c in json.loads(Path(source).read_text(encoding="utf-8"))["cells"]}
        for cell in cells:
            if cell.get("id") in known and any(o.get("output_type") == "error" for o in cell.get("outputs", [])):
                return str(cell["id"])
    except (OSError, ValueError, KeyError):
        pass
    return f"cell {error.cell_index}"


def _plain(text: str) -> str:
    """An error's text without terminal colours and without this machine's folders."""
    import re

    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return text.replace(str(places.root()) + os.sep, "")[:2000]


def _die_with_parent() -> None:
    """End this process and its kernel when the process that asked for them is gone, so that nothing runs on unseen."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _kill_children(os.getpid())
        os._exit(1)


def _kill_children(pid: int) -> None:
    import psutil

    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                process.kill()


def _end(child: Any) -> None:
    """Wait briefly for a child that has said its last word; kill it and its kernel otherwise."""
    child.join(10 if not child.is_alive() else 5)
    if child.is_alive():
        _kill_children(child.pid)
        child.kill()
        child.join(10)


def _intact(folder: Path, step: str, old: dict[str, Any]) -> bool:
    """Whether what a finished step wrote is still there as it was written."""
    if not (folder / "notebooks" / f"{step}.ipynb").is_file() or step not in _read(folder / "metrics.json"):
        return False
    for name, digest in old.get("tables", {}).items():
        path = folder / "tables" / f"{name}.parquet"
        if not path.is_file() or provenance.file_hash(path) != digest:
            return False
    return True


def _forget_other_steps(folder: Path, wanted: set[str], old_steps: dict[str, Any]) -> None:
    """Remove what steps that this run no longer has left behind, so that a page never mixes two runs."""
    for step in set(old_steps) - wanted:
        for name, _ in old_steps[step].get("tables", {}).items():
            (folder / "tables" / f"{name}.parquet").unlink(missing_ok=True)
        for path in (folder / "notebooks").glob(f"{step}*.ipynb"):
            path.unlink()
        _forget_metrics(folder, step)


def _forget_metrics(folder: Path, step: str) -> None:
    metrics = _read(folder / "metrics.json")
    if metrics.pop(step, None) is not None:
        places.write_json(folder / "metrics.json", metrics)


def _collect(folder: Path, steps: dict[str, Any]) -> dict[str, Any]:
    """What the steps reported about models, prompts, data and their headline, put together for run.json."""
    metrics = _read(folder / "metrics.json")
    found: dict[str, Any] = {"models": {}, "prompts": {}, "data": {}, "signature": None}
    for step in steps:
        entry = metrics.get(step, {})
        for name, counts in entry.get("models", {}).items():
            total = found["models"].setdefault(name, {})
            for field, value in counts.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    total[field] = total.get(field, 0) + value
                elif isinstance(value, list):
                    total[field] = sorted({*total.get(field, []), *value})
                else:
                    total.setdefault(field, value)
        found["prompts"] |= entry.get("prompts", {})
        found["data"] |= entry.get("data", {})
        found["signature"] = (entry.get("headline") or {}).get("signature") or found["signature"]
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
