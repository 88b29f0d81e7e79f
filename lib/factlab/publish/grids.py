"""Which runs compare which: a grid is run as one run for each combination of its values (its arms) and one that compares them.

The comparing run names its arms in run.json as `outputs/<paper>/<arm>`. Only runs of its own paper that lie on the site count as
found; whatever else stands there (a folder that is gone, one that lies elsewhere, no name at all) is listed as missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from factlab.publish import words
from factlab.publish.records import Arm, Run

MISSING = "missing"


def linked(runs: Iterable[Run]) -> list[Run]:
    """The same runs, each with its arms and with the names of the runs that compare it."""
    known = {(run.paper, run.name): run for run in runs}
    compared_in: dict[tuple[str, str], list[str]] = {}
    arms = {key: _arms(run, known) for key, run in known.items()}
    for (paper, name), listed in arms.items():
        for arm in listed:
            if arm.found:
                compared_in.setdefault((paper, arm.name), []).append(name)
    return [replace(r, arms=arms[key], compared_in=tuple(compared_in.get(key, ()))) for key, r in known.items()]


def _arms(run: Run, known: Mapping[tuple[str, str], Run]) -> tuple[Arm, ...]:
    """What a run compares, in its order, each once; not itself."""
    folders = dict.fromkeys(map(PurePosixPath, run.compares))
    found = [(folder, known.get((run.paper, _name(folder, run.paper)))) for folder in folders]
    differing = _differing([arm for _, arm in found if arm and arm is not run])
    return tuple(
        _arm(arm, differing) if arm else Arm(_name(folder, run.paper) or str(folder), False, MISSING)
        for folder, arm in found
        if arm is not run
    )


def _arm(run: Run, differing: Sequence[str]) -> Arm:
    lead = run.lead
    return Arm(
        run.name,
        True,
        run.status,
        tuple((name, words.plain(run.parameters.get(name))) for name in differing) if run.parameters else (),
        lead.title if lead else "",
        lead.headline if lead else None,
        run.problems[0] if run.problems else "",
    )


def _differing(arms: Sequence[Run]) -> list[str]:
    """The parameters whose values, as a reader sees them, are not the same in all arms that recorded any."""
    shown = [{name: words.plain(value) for name, value in arm.parameters.items()} for arm in arms if arm.parameters]
    names = dict.fromkeys(name for values in shown for name in values)
    return [name for name in names if len({values.get(name, words.plain(None)) for values in shown}) > 1]


def _name(folder: PurePosixPath, paper: str) -> str:
    """The name of a run where the folder is that of a run of this paper; else empty."""
    return folder.name if folder.parent == PurePosixPath("outputs", paper) else ""
