"""Parameters files: read, checked against the notebooks' own parameters, expanded into one plan per run.

A file names the paper, the run, the notebooks and their parameters:

    paper: dahl
    name: demo
    notebooks: [20_generate_responses, 30_score]
    parameters: {subject: local/smollm2, temperature: 0.6}
    grid: {temperature: [0.2, 0.6]}     # optional: one run per combination
    time_limit_s: 3600                  # optional: wall-clock limit of one notebook

Every parameter must be one that a notebook declares in its `parameters` cell, with a value of the declared type.

Two names have a meaning in a grid. A notebook whose metadata carries the tag `compare` runs once, after all combinations, and gets
their folders as `runs`. A parameter `<name>_grid` tells a notebook all values that `<name>` takes in the grid, so that it can do
in one go what the others will need too; it decides how the work is done and never what comes out, so it is no part of a step's key.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import io
import itertools
import json
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic
import yaml

from factlab import places

_TYPES: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}
_OWN = ("run_dir",)  # given by the run, not by the file
COMPARE = "compare"  # tag of a notebook that runs once over all runs of a grid


class RunError(ValueError):
    """A parameters file or notebook cannot be used; the text says where and what to do."""


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's parameters cell."""

    name: str
    type: Any
    default: Any
    help: str


@dataclass(frozen=True)
class Plan:
    """One run: which notebooks, with which parameters, into which folder.

    `parameters` holds what the file and the command line set; a notebook's own defaults fill the rest. `compares` lists the folders
    (from the checkout) that a comparison goes over, `hints` what helps to do the work without changing what comes out.
    """

    paper: str
    name: str
    notebooks: tuple[Path, ...]
    parameters: Mapping[str, Any]
    time_limit_s: float
    declared: Mapping[Path, Mapping[str, Parameter]] = field(repr=False)
    compares: tuple[str, ...] = ()
    hints: Mapping[str, Any] = field(default_factory=dict)
    root: Path = field(default_factory=places.root)  # the checkout; kept, since a worker's working folder is another

    @property
    def folder(self) -> Path:
        """The folder that the run is written to."""
        return self.root / "outputs" / self.paper / self.name

    def resolved(self) -> dict[str, Any]:
        """Every parameter of every notebook of the run; one whose default is another in a later notebook stands there again, with
        that notebook's name behind it."""
        found: dict[str, Any] = {}
        for notebook in self.notebooks:
            for name, value in self.for_notebook(notebook).items():
                if found.setdefault(name, value) != value:
                    found[f"{name} ({notebook.stem})"] = value
        return found

    def for_notebook(self, notebook: Path) -> dict[str, Any]:
        """Every parameter of one notebook that decides what comes out, resolved."""
        return {
            name: self.parameters.get(name, p.default)
            for name, p in self.declared[notebook].items()
            if name not in _OWN and not name.endswith("_grid") and not (name == "runs" and self.compares)
        }

    def given(self, notebook: Path) -> dict[str, Any]:
        """What one notebook is given beside its parameters: its folder, the runs to compare, hints."""
        extra = {"run_dir": self.folder.relative_to(self.root).as_posix()} | dict(self.hints)
        if self.compares:
            extra["runs"] = list(self.compares)
        return {name: value for name, value in extra.items() if name in self.declared[notebook]}


class _File(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)

    paper: str
    name: str = pydantic.Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    notebooks: list[str] = pydantic.Field(min_length=1)
    parameters: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    time_limit_s: float = pydantic.Field(default=6 * 3600, gt=0)


def read_declared(notebook: Path) -> dict[str, Parameter]:
    """The parameters that a notebook declares, in order.

    Raises
    ------
    RunError : no or several parameters cells, or a line that is not `name: type = value`.
    """
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except FileNotFoundError:
        raise _no_notebook(notebook) from None
    except (ValueError, KeyError) as error:
        raise RunError(f"{places.shown(notebook)} is not a notebook ({error})") from error
    tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise RunError(f"{places.shown(notebook)} has {len(tagged)} cells tagged 'parameters'; exactly one is needed")
    source = tagged[0]["source"]
    source = "".join(source) if isinstance(source, list) else source
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for line in ast.parse(source).body:
        if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None):
            raise RunError(
                f"{places.shown(notebook)}, parameters cell, line {line.lineno}: every line must read `name: type = value`"
            )
        annotation = ast.unparse(line.annotation)
        try:
            kind = eval(annotation, {"__builtins__": {}}, _TYPES)  # noqa: S307  (the notebook's own source, builtin types only)
            default = ast.literal_eval(line.value)
        except (NameError, TypeError, ValueError, SyntaxError) as error:
            raise RunError(
                f"{places.shown(notebook)}, parameters cell, line {line.lineno}: {annotation!r} must be made of "
                f"{', '.join(_TYPES)} and the value a literal"
            ) from error
        found[line.target.id] = Parameter(line.target.id, kind, default, comments.get(line.end_lineno, ""))
    return found


def is_comparison(notebook: Path) -> bool:
    """Whether a notebook goes over several runs: its metadata carries the tag `compare`."""
    try:
        metadata = json.loads(notebook.read_text(encoding="utf-8")).get("metadata", {})
    except (OSError, ValueError, AttributeError):
        return False
    return COMPARE in metadata.get("tags", [])


def _no_notebook(path: Path) -> RunError:
    there = sorted(p.stem for p in path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.stem, there, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(there) or 'none'}"
    return RunError(f"no notebook {places.shown(path)}{hint}")


def plan(
    source: str | Path | Mapping[str, Any], overrides: Mapping[str, Any] | None = None, where: str = ""
) -> list[Plan]:
    """The runs that a parameters file asks for.

    Parameters
    ----------
    source : path of the YAML file, or what such a file holds.
    overrides : parameters that replace the file's own (the command line's `-p name=value`).
    where : what messages call the source when it is not a file.

    Raises
    ------
    RunError : the file cannot be read, has unknown fields, or a parameter is unknown or of the wrong type. Unknown names come with
        the nearest known one.
    """
    if isinstance(source, Mapping):
        raw: Any = dict(source)
    else:
        path = places.resolve(source)
        where = places.shown(path)
        raw = _read_yaml(path)
    try:
        wanted = _File.model_validate(raw)
    except pydantic.ValidationError as error:
        raise RunError(_explain(error, where, [*_File.model_fields])) from error
    home = places.root() / "notebooks" / wanted.paper
    if not home.is_dir():
        papers = sorted(p.name for p in home.parent.glob("*/")) if home.parent.is_dir() else []
        raise RunError(f"{where}: no notebooks for paper {wanted.paper!r}; there are {', '.join(papers) or 'none'}")
    notebooks = tuple(home / f"{name.removesuffix('.ipynb')}.ipynb" for name in wanted.notebooks)
    declared = {n: read_declared(n) for n in notebooks}
    combined = dict(wanted.parameters) | dict(overrides or {})
    known: dict[str, Parameter] = {}
    for parameters in declared.values():
        for name, p in parameters.items():
            if name not in _OWN and not name.endswith("_grid"):
                if name in known and known[name].type != p.type:
                    raise RunError(f"parameter {name!r} is declared with two types in the notebooks of {where}")
                known[name] = p
    both = set(wanted.grid) & set(combined)
    if both:
        raise RunError(f"{where}: {', '.join(sorted(both))} stands both in `parameters` (or -p) and in `grid`")
    empty = [name for name, values in wanted.grid.items() if not values]
    if empty:
        raise RunError(f"{where}: `grid` gives no values for {', '.join(empty)}")
    _check_plain(combined | wanted.grid, where)
    if not wanted.grid:
        values = _check(combined, known, where)
        return [Plan(wanted.paper, wanted.name, notebooks, values, wanted.time_limit_s, declared)]
    if "runs" in combined:
        raise RunError(f"{where}: `runs` is filled by the grid; leave it out, or leave the grid out")
    comparing = tuple(n for n in notebooks if is_comparison(n))
    single = tuple(n for n in notebooks if n not in comparing)
    if not single:
        raise RunError(f"{where}: a grid needs a notebook to run for each combination, besides those that compare")
    hints = {f"{name}_grid": values for name, values in wanted.grid.items()}
    plans = []
    for combination in itertools.product(*([(name, v) for v in values] for name, values in wanted.grid.items())):
        values = _check(combined | dict(combination), known, where)
        digest = hashlib.sha256(json.dumps(dict(combination), sort_keys=True).encode()).hexdigest()[:8]
        name = f"{wanted.name}-{digest}"
        plans.append(Plan(wanted.paper, name, single, values, wanted.time_limit_s, declared, hints=hints))
    if len({p.name for p in plans}) < len(plans):
        raise RunError(f"{where}: `grid` lists the same combination twice")
    if comparing:
        folders = tuple(f"outputs/{wanted.paper}/{p.name}" for p in plans)
        values = _check(combined, known, where)
        plans.append(
            Plan(wanted.paper, wanted.name, comparing, values, wanted.time_limit_s, declared, compares=folders)
        )
    return plans


def _read_yaml(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        there = sorted(places.shown(p) for p in (places.root() / "params").glob("*/*.yaml"))
        raise RunError(f"no file {places.shown(path)}; there are {', '.join(there) or 'none'}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{places.shown(path)} cannot be read: {error}") from error
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RunError(f"{places.shown(path)} is not valid YAML: {error}") from error
    if not isinstance(raw, dict):
        raise RunError(
            f"{places.shown(path)}: wants `paper`, `name`, `notebooks` and `parameters`, each on a line of its own"
        )
    return raw


def _check(values: Mapping[str, Any], known: Mapping[str, Parameter], where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {name: (p.type, p.default) for name, p in known.items()}
    config = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())
    checker = pydantic.create_model("Parameters", __config__=config, **fields)
    try:
        return checker.model_validate(dict(values)).model_dump(include=set(values))
    except pydantic.ValidationError as error:
        raise RunError(_explain(error, where, list(known))) from error


def _check_plain(values: Mapping[str, Any], where: str) -> None:
    """Parameters go through JSON, so what it cannot hold (a date, NaN deep in a list, a number as a key) is refused by name."""
    for name, value in values.items():
        try:
            same = json.loads(json.dumps(value, allow_nan=False)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            raise RunError(
                f"{where}: {name}: wants numbers, texts, true, false, null, and lists or mappings (with texts as keys) of them; "
                f"dates go in quotes, and NaN and infinity are no numbers here (got {value!r})"
            )


def _explain(error: pydantic.ValidationError, where: str, known: Sequence[str]) -> str:
    lines = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name, known, n=1)
            known_text = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            lines.append(f"{where}: unknown name {name!r}; {known_text}")
        elif problem["type"] == "missing":
            lines.append(f"{where}: {name!r} is missing")
        else:
            lines.append(f"{where}: {name}: {problem['msg']} (got {problem['input']!r})")
    return "\n".join(lines)


def read_override(text: str) -> tuple[str, Any]:
    """`name=value` from the command line; the value is read as YAML, so 0.6 is a number and 'a, b' a text."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"\w+", name.strip()):
        raise RunError(f"-p {text}: write it as name=value")
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError:
        read = value
    return name.strip(), "" if read is None and not value.strip() else read
