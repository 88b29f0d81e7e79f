"""A progress bar that works in three places: a terminal, a notebook, and a headless run watched by another process.

Headless, the notebook's own output must stay clean and its page readable, so the bar is written as one JSON line to the file
that the run named in FACTLAB_PROGRESS, and the command line draws it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

VARIABLE = "FACTLAB_PROGRESS"


class _Reported:
    def __init__(self, path: Path, total: int, what: str) -> None:
        self._path, self._total, self._what, self._done, self._last = path, total, what, 0, float("-inf")
        if total:
            self.update(0)  # the first reply can be long in coming

    def update(self, n: float = 1) -> None:
        self._done += n
        if time.monotonic() - self._last >= 0.2 or self._done >= self._total:
            self._last = time.monotonic()
            part = self._path.with_suffix(".new")
            # A lost progress line is not worth a lost run.
            with suppress(OSError):
                part.write_text(json.dumps({"what": self._what, "done": round(self._done, 1), "total": self._total}))
                part.replace(self._path)


@contextmanager
def bar(total: int, what: str, show: bool = True) -> Iterator:
    """A bar with `update(n)`; draws nothing for nothing to do."""
    if os.environ.get(VARIABLE) and show:
        yield _Reported(Path(os.environ[VARIABLE]), total, what)
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=what, disable=not show or total == 0, leave=False, dynamic_ncols=True) as drawn:
        yield drawn
