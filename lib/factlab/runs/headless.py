"""Notebooks executed one after another by papermill, in a process of their own.

`Headless` is the caller's side, `main` (`python -m factlab.runs.headless`) the other. A job goes in as one JSON line on the standard
input, its verdict comes back as one on the standard output, so nothing is pickled, forked or imported twice, and every system does
the same. When the caller is gone, however it ended, the input ends: the process then kills its kernel and itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from factlab import places

Error = dict[str, str | None]
"""What ended a notebook: `cell` (its id, None where unknown), `name` of the exception, `message`."""


class Headless:
    """A process that keeps papermill imported and executes the notebooks of one run; started by the first of them.

    Parameters
    ----------
    root : the checkout.
    threads : how many threads numerical libraries may use in a kernel; None: as many as they like.
    """

    def __init__(self, root: Path, threads: int | None = None) -> None:
        self._root, self._threads = root, threads
        self._process: subprocess.Popen | None = None
        self._verdicts: queue.Queue[Error | None | EOFError] = queue.Queue()

    def __enter__(self) -> Headless:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def execute(
        self,
        notebook: Path,
        part: Path,
        parameters: Mapping[str, Any],
        *,
        log: Path,
        progress: Path,
        limit_s: float,
        tick: Callable[[], None],
    ) -> Error | None:
        """Execute one notebook, whatever happens to it.

        Parameters
        ----------
        notebook, part : the source, and the file that the executed cells are written to as they end; both in the checkout.
        parameters : passed as JSON.
        log : takes what the kernel says outside of its cells.
        progress : where the notebook's progress bars write (see `models.progress`).
        limit_s : wall-clock limit in seconds.
        tick : called about four times a second; what it raises ends the notebook and passes through.

        Returns
        -------
        None when every cell ran, else what went wrong. After a time limit or a death the process is gone; the next call starts
        another.
        """
        job = {
            # From the checkout, where the process works: papermill writes both into the notebook.
            "source": notebook.relative_to(self._root).as_posix(),
            "part": part.relative_to(self._root).as_posix(),
            "parameters": dict(parameters),
            "log": str(log),
            "progress": str(progress),
        }
        deadline = time.monotonic() + limit_s
        verdict: Error | None | EOFError
        try:
            process = self._start(log)
            with contextlib.suppress(OSError):  # it died at its start: the end of its output says so below
                process.stdin.write(json.dumps(job, allow_nan=False).encode() + b"\n")
                process.stdin.flush()
            while True:
                with contextlib.suppress(queue.Empty):
                    verdict = self._verdicts.get(timeout=0.25)
                    break
                tick()
                if time.monotonic() > deadline:
                    verdict = _error("TimeLimit", f"ran longer than {limit_s:g} s (time_limit_s)")
                    self.kill()
                    break
        except BaseException:
            self.kill()
            raise
        if isinstance(verdict, EOFError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)  # its output has ended, so it is about to
            why = f"the notebook's process ended without a word (exit code {process.poll()}): killed, or out of memory"
            self.kill()
            verdict = _error("ProcessDied", f"{why}; see {places.shown(log)}")
        if verdict is not None and verdict["cell"] is None:
            verdict["cell"] = _last_cell(notebook, part)
        return verdict

    def kill(self) -> None:
        """End the process and its kernel now."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            _kill_tree(process.pid)
            process.wait()
            self._verdicts = queue.Queue()

    def _start(self, log: Path) -> subprocess.Popen:
        if self._process is not None:
            return self._process
        env = dict(os.environ) | {
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            # A `python3` kernel that the user once installed from another environment must not take the place of ours.
            "JUPYTER_PREFER_ENV_PATH": "1",
        }
        if self._threads:
            env["OMP_NUM_THREADS"] = str(self._threads)
        # A session of its own: Ctrl-C reaches the caller only, which then ends this process in good order.
        apart: dict[str, Any] = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {"start_new_session": True}
        )
        with places.writing(log):
            errors = log.open("wb")
        with errors:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "factlab.runs.headless"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._root,
                env=env,
                **apart,
            )
        threading.Thread(target=_collect, args=(self._process.stdout, self._verdicts), daemon=True).start()
        return self._process


def _collect(output: Any, verdicts: queue.Queue) -> None:
    try:
        with output:
            for line in output:
                verdicts.put(json.loads(line))
    finally:
        verdicts.put(EOFError())


def _error(name: str, message: str, cell: str | None = None) -> Error:
    return {"cell": cell, "name": name, "message": message}


def _last_cell(notebook: Path, part: Path) -> str | None:
    """The id of the last code cell that was begun, for an end that papermill does not record."""
    try:
        known = {c.get("id") for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"]}
        cells = json.loads(part.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return None
    # By its start, not by its status: after a kernel's death papermill calls every cell completed.
    begun = [
        c["id"]
        for c in cells
        if c.get("id") in known and c["cell_type"] == "code" and c["metadata"].get("papermill", {}).get("start_time")
    ]
    return begun[-1] if begun else None


def _kill_tree(pid: int) -> None:
    """Kill a process with all it started, itself last, and wait (5 s at most) until they are gone."""
    import psutil

    tree: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        tree = [*process.children(recursive=True), process]
    tree = [each for each in tree if each.pid != os.getpid()]
    for each in tree:
        with contextlib.suppress(psutil.Error):
            each.kill()
    until = time.monotonic() + 5
    while any(_lives(each) for each in tree) and time.monotonic() < until:
        time.sleep(0.02)


def _lives(process: Any) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


# -- the other side -----------------------------------------------------------------------------------------------------


def main() -> None:
    """Execute the jobs that come in on the standard input until it ends."""
    # The pipe to the caller gets a number that no kernel inherits; what else is printed goes to the log.
    verdicts = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_receive, args=(jobs,), daemon=True).start()
    # jsonschema, which checks notebooks, would build a grammar for international web addresses: 2.7 s for a format that
    # notebooks do not have. It does without where that package is missing.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    import papermill  # noqa: F401

    while True:
        job = jobs.get()
        log = os.open(job["log"], os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND, 0o644)
        _redirect(log)
        os.environ["FACTLAB_PROGRESS"] = job["progress"]
        verdict = _papermill(job["source"], job["part"], job["parameters"])
        _redirect(os.open(os.devnull, os.O_WRONLY))
        verdicts.write(json.dumps(verdict).encode() + b"\n")
        verdicts.flush()


def _receive(jobs: queue.Queue) -> None:
    for line in sys.stdin.buffer:
        jobs.put(json.loads(line))
    _kill_tree(os.getpid())
    os._exit(1)


def _redirect(target: int) -> None:
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)


def _papermill(source: str, part: str, parameters: dict[str, Any]) -> Error | None:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    try:
        papermill.execute_notebook(
            source,
            part,
            parameters=parameters,
            kernel_name="python3",
            progress_bar=False,
            cwd=str(Path(source).parent.resolve()),
            log_output=False,
        )
    except PapermillExecutionError as error:
        return _error(error.ename, _plain(error.evalue), _failed_cell(source, part) or f"number {error.cell_index}")
    except OSError as error:
        return _error(type(error).__name__, places.explain(Path(error.filename or part), error))
    except BaseException as error:  # whatever it is, the caller must hear of it
        if type(error).__name__ == "DeadKernelError":
            return _error("DeadKernelError", "the kernel died: killed, or out of memory")
        return _error(type(error).__name__, _plain(str(error)))
    return None


def _failed_cell(source: str, part: str) -> str | None:
    """The id of the cell that raised, which is the same in the source notebook."""
    try:
        known = {c.get("id") for c in json.loads(Path(source).read_text(encoding="utf-8"))["cells"]}
        for cell in json.loads(Path(part).read_text(encoding="utf-8"))["cells"]:
            if cell.get("id") in known and any(o.get("output_type") == "error" for o in cell.get("outputs", [])):
                return str(cell["id"])
    except (OSError, ValueError, KeyError):
        pass
    return None


def _plain(text: str) -> str:
    """An error's text without terminal colours and without this machine's folders."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return text.replace(str(places.root()) + os.sep, "")[:2000]


if __name__ == "__main__":
    main()
