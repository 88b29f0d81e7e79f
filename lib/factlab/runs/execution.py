"""Executing plans: each notebook headless in another process, its status from that process, everything recorded.

A run is a sequence of steps in one folder. `run.json` is rewritten after each of them, so a run that was killed at any moment goes
on where it stopped: finished steps are skipped by key, replies already received come from the cache. Runs of a grid go through an
executor with a `submit` method; the local one is a pool of threads, each waiting for its notebook's process. Any other executor
with the same method (a cluster's client) can take its place, since `run_one` takes and returns plain data that pickles.
"""

from __future__ import annotations

import contextlib
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
from factlab.runs.headless import Headless
from factlab.runs.parameters import Plan, RunError
from factlab.runs.record import Record

Watch = Callable[[str, str, int, int], None]
"""Called with (run, what, done, total) as work goes on."""


class _Stopped(BaseException):
    """The caller was interrupted, so its runs end; no fault, and not to be taken for one."""


@dataclass(frozen=True)
class Outcome:
    """How one run ended: 'done' or 'failed', where it lies, which steps were skipped as already done, what failed.

    A run that could not be worked on at all (its folder is in use, or cannot be written) is 'failed' without a `failed_step`.
    """

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
    """Run all plans; one that fails does not stop the others. Comparisons come last, over the runs that are done.

    A step that is done is not run again, whatever its parameters say: with `mode: live` too, only `force` asks anew, so that going
    on after a crash pays for nothing twice that was finished.

    Parameters
    ----------
    plans : from `parameters.plan`.
    jobs : how many runs at a time on this machine.
    watch : told of progress.
    force : run every step even if it is done already (its replies still come from the cache, except with `mode: live`).
    executor : where the runs go; default: a local pool of `jobs` threads. Another one needs `submit(function, *arguments)` whose
        futures have `result` and `cancel`; it is given plans and returns outcomes, which pickle, and its workers need the
        checkout at the same path. `watch` stays here and hears of the runs as they are collected.

    Returns
    -------
    list of Outcome, in the order of the plans.
    """
    last = [plan for plan in plans if plan.compares]
    if last and len(last) < len(plans):
        first = [plan for plan in plans if not plan.compares]
        ended = execute(first, jobs, watch, force, executor) + execute(last, jobs, watch, force, executor)
        order = [plans.index(plan) for plan in first + last]
        return [outcome for _, outcome in sorted(zip(order, ended, strict=True), key=lambda pair: pair[0])]
    if executor is not None:
        futures = [executor.submit(run_one, plan, None, force) for plan in plans]
        return _gather(futures, watch)
    threads = max(1, (os.cpu_count() or 1) // jobs) if jobs > 1 else None
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        try:
            return _gather([pool.submit(run_one, plan, watch, force, threads, stop) for plan in plans])
        except BaseException:
            # Interrupted: nothing of ours may go on unseen. Leaving the pool waits until the last kernel is gone.
            stop.set()
            raise


def _gather(futures: Sequence[Any], watch: Watch | None = None) -> list[Outcome]:
    """Every outcome; a fault of ours is raised only when the others have finished."""
    outcomes, faults = [], []
    try:
        for future in futures:
            try:
                outcome = future.result()
            except Exception as fault:
                faults.append(fault)
                continue
            outcomes.append(outcome)
            if watch:
                watch(f"{outcome.paper}/{outcome.name}", outcome.status, 1, 1)
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    if faults:
        raise faults[0]
    return outcomes


def run_one(
    plan: Plan,
    watch: Watch | None = None,
    force: bool = False,
    threads: int | None = None,
    stop: threading.Event | None = None,
) -> Outcome:
    """Run one plan in its folder. What goes wrong in a notebook, or with the folder, is part of the outcome.

    Parameters
    ----------
    threads : how many threads numerical libraries may use in each kernel; None: as many as they like.
    stop : when it is set, the notebook under way is ended.
    """
    from filelock import FileLock, Timeout

    folder, began = plan.folder, time.monotonic()
    lock = FileLock(str(folder / ".lock"), timeout=0)
    try:
        with places.writing(folder):
            (folder / "notebooks").mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
            except Timeout:
                raise RunError(
                    f"{places.shown(folder)} is being written by another factlab process: wait for it, or give this run "
                    "another name"
                ) from None
        try:
            return _run_locked(plan, watch or (lambda *_: None), force, threads, stop or threading.Event())
        finally:
            lock.release()
    except (RunError, places.PlaceError) as problem:
        return Outcome(plan.paper, plan.name, "failed", round(time.monotonic() - began, 2), error=str(problem))


def _run_locked(plan: Plan, watch: Watch, force: bool, threads: int | None, stop: threading.Event) -> Outcome:
    began, label = time.monotonic(), f"{plan.paper}/{plan.name}"
    record = Record(plan.folder)
    about = provenance.about(plan.root)
    tables = provenance.tables_of(plan.root, plan.compares)
    skipped: list[str] = []
    failure: dict[str, Any] = {}
    with Headless(plan.root, threads) as headless:
        for position, notebook in enumerate(plan.notebooks):
            step, parameters = notebook.stem, plan.for_notebook(notebook)
            watch(label, step, position, len(plan.notebooks))
            key = provenance.step_key(notebook, parameters, tables, about["library"])
            anew = force or len(skipped) < position or not record.has(step, key)
            if not anew:
                skipped.append(step)
            else:
                # Of this step and those after it nothing older may stay: it would pass for a result of this run.
                record.keep_only([n.stem for n in plan.notebooks[:position]])
                if len(skipped) == position:
                    head = {"paper": plan.paper, "name": plan.name, "started": _now(), "parameters": plan.resolved()}
                    head |= {"compares": list(plan.compares)} if plan.compares else {}
                    record.data = head | about | {"steps": record.steps}
                record.set(step, {"status": "running", "key": key}, "running")
                try:
                    ended = _run_step(plan, notebook, parameters, watch, headless, stop)
                except BaseException:
                    with contextlib.suppress(OSError):
                        record.set(step, {"status": "stopped", "key": key}, "stopped")
                    raise
                record.set(step, {"key": key, "finished": _now()} | about | ended, "running")
                if ended["status"] != "done":
                    failure = ended["error"] | {"step": step}
                    break
            tables |= record.steps[step].get("tables", {})
    status = "failed" if failure else "done"
    if len(skipped) < len(plan.notebooks):
        record.close(status, _now())
    elif record.data.get("status") != "done" or set(record.steps) != set(skipped):
        record.keep_only(skipped)  # the steps are those of an earlier attempt, which did not come to write its end
        record.close(status, _now())
    watch(label, status, len(plan.notebooks), len(plan.notebooks))
    return Outcome(
        plan.paper,
        plan.name,
        status,
        round(time.monotonic() - began, 2),
        tuple(skipped),
        failure.get("step"),
        failure.get("cell"),
        f"{failure['name']}: {failure['message']}" if failure else None,
    )


def _run_step(
    plan: Plan, notebook: Path, parameters: dict[str, Any], watch: Watch, headless: Headless, stop: threading.Event
) -> dict[str, Any]:
    """Execute one notebook and say how it ended."""
    step, label = notebook.stem, f"{plan.paper}/{plan.name}"
    target = plan.folder / "notebooks" / notebook.name
    part, log = target.with_name(target.name + ".part"), target.with_suffix(".log")
    progress = plan.folder / f".progress-{step}.json"

    def tick() -> None:
        if stop.is_set():
            raise _Stopped
        now = places.read_json(progress)
        if now:
            watch(label, f"{step}: {now['what']}", now["done"], now["total"])

    began = time.monotonic()
    given = parameters | plan.given(notebook)
    try:
        error = headless.execute(
            notebook, part, given, log=log, progress=progress, limit_s=plan.time_limit_s, tick=tick
        )
    finally:
        progress.unlink(missing_ok=True)
    seconds = round(time.monotonic() - began, 2)
    with places.writing(target):
        if error is not None:
            # What was executed so far is worth reading, under a name that says it is not the result.
            if part.is_file():
                part.replace(target.with_name(f"{step}.failed.ipynb"))
            return {"status": "failed", "seconds": seconds, "error": error}
        part.replace(target)
        log.unlink(missing_ok=True)
    wrote = places.read_json(plan.folder / "metrics.json").get(step, {})
    return {"status": "done", "seconds": seconds, "error": None, "tables": wrote.get("tables", {})}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
