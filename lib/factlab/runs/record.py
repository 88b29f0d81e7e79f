"""What a run's folder holds: `run.json`, and the notebooks, tables, figures and metrics of its steps.

The record on disk is rewritten with every change of a step, whole or not at all, so that after a kill at any moment it says which
steps are done, and never more than that. Whoever uses a `Record` holds the folder's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factlab import places
from factlab.runs.provenance import file_hash


class Record:
    """The record of one run.

    Parameters
    ----------
    folder : the run's folder. What a killed process left half written in it is removed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = places.read_json(folder / "run.json")
        with places.writing(folder):
            for pattern in ("*.part", "*/*.part", ".progress-*"):
                for path in folder.glob(pattern):
                    path.unlink(missing_ok=True)

    @property
    def steps(self) -> dict[str, Any]:
        return self.data.setdefault("steps", {})

    def has(self, step: str, key: str) -> bool:
        """Whether the step is done under this key, and what it wrote is still there as it was written."""
        old = self.steps.get(step, {})
        if old.get("status") != "done" or old.get("key") != key:
            return False
        if not (self.folder / "notebooks" / f"{step}.ipynb").is_file() or step not in self.metrics():
            return False
        for name, digest in old.get("tables", {}).items():
            path = self.folder / "tables" / f"{name}.parquet"
            if not path.is_file() or file_hash(path) != digest:
                return False
        return True

    def keep_only(self, steps: Sequence[str]) -> None:
        """Remove what other steps left, and what a failed or killed one wrote, so that no page or step mixes two runs.

        `files/` stays: a person may have edited what lies there. A page shows those that a step says it wrote.
        """
        metrics = self.metrics()
        self.data["steps"] = {s: self.steps[s] for s in steps}
        kept = {
            "notebooks/*.ipynb": set(steps),
            "notebooks/*.log": set(),
            "tables/*.parquet": {name for s in steps for name in self.steps[s].get("tables", {})},
        } | {
            f"figures/*.{kind}": {name for s in steps for name in metrics.get(s, {}).get("figures", {})}
            for kind in ("png", "svg", "csv")
        }
        with places.writing(self.folder):
            for pattern, names in kept.items():
                for path in self.folder.glob(pattern):
                    if path.stem not in names:
                        path.unlink(missing_ok=True)
        if set(metrics) - set(steps):
            places.write_json(self.folder / "metrics.json", {s: metrics[s] for s in steps if s in metrics})

    def set(self, step: str, entry: dict[str, Any], status: str) -> None:
        """Write the state of one step and of the run."""
        self.steps[step] = entry
        self.data["status"] = status
        places.write_json(self.folder / "run.json", self.data)

    def close(self, status: str, now: str) -> None:
        """Write the run's end: its status, and what its steps reported about models, prompts and data."""
        self.data |= _collect(self.metrics(), list(self.steps))
        self.data |= {"status": status, "finished": now}
        self.data["seconds"] = round(sum(s.get("seconds") or 0 for s in self.steps.values()), 2)
        places.write_json(self.folder / "run.json", self.data)

    def metrics(self) -> dict[str, Any]:
        """What the steps wrote with `Workspace.finish`."""
        return places.read_json(self.folder / "metrics.json")


def _collect(metrics: dict[str, Any], steps: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"models": {}, "prompts": {}, "data": {}, "signature": None}
    leads = [step for step in steps if metrics.get(step, {}).get("lead")]
    for step in steps:
        entry = metrics.get(step, {})
        for name, counts in entry.get("models", {}).items():
            total = found["models"].setdefault(name, {})
            for field, value in counts.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    total[field] = (total.get(field) or 0) + value
                elif isinstance(value, list):
                    total[field] = sorted({*total.get(field, []), *value})
                else:
                    total.setdefault(field, value)
        found["prompts"] |= entry.get("prompts", {})
        found["data"] |= entry.get("data", {})
        if step in leads or not leads:
            found["signature"] = (entry.get("headline") or {}).get("signature") or found["signature"]
    return found
