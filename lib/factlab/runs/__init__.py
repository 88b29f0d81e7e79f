"""Runs: a parameters file goes in, executed notebooks with their tables, figures and provenance come out.

`plan` reads and checks a parameters file, `execute` runs the plans; inside a notebook `open` gives the folder to read from and
write to. See `parameters`, `execution`, `workspace` and `provenance`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factlab.runs.execution import Outcome, execute
    from factlab.runs.parameters import Plan, RunError, plan
    from factlab.runs.workspace import Workspace, open  # noqa: A004

_HOMES = {
    "Workspace": "workspace",
    "open": "workspace",
    "Plan": "parameters",
    "RunError": "parameters",
    "plan": "parameters",
    "Outcome": "execution",
    "execute": "execution",
}
__all__ = ["Outcome", "Plan", "RunError", "Workspace", "execute", "open", "plan"]


def __getattr__(name: str):
    # A notebook needs the workspace only, the command line the rest: neither pays for the other's imports.
    if name in _HOMES:
        return getattr(importlib.import_module(f"factlab.runs.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'factlab.runs' has no attribute {name!r}")
