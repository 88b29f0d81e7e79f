"""Runs: what a parameters file may say, and what becomes of its notebooks, killed kernels and killed commands included."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pandas as pd
import psutil
import pytest
from server import Answer, Server, failure

from factlab import cli, places, runs
from factlab.models import providers
from factlab.models.cache import Cache
from factlab.runs import execution, provenance
from factlab.runs.parameters import RunError, read_declared, read_override
from factlab.runs.record import Record

HOSTILE = {
    "text": 'it\'s "quoted", a \\ backslash, {braces}, %s, naïve 漢字 🙂\nsecond line\u2028third',
    "nothing": None,
    "items": [1, "two", None, [3.5, {"deep": [True, "é"]}]],
    "ratio": 1e-07,
}

MAKE = (
    "run_dir: str = ''  # folder of this run\n"
    "text: str = ''  # any text\n"
    "nothing: str | None = 'set'  # may be null\n"
    "items: list = []  # anything\n"
    "ratio: float = 0.5  # a number\n"
    "how: str = 'well'  # well, raise, die, orphan or sleep\n"
    "data: str = ''  # a file",
    {"workspace": "from factlab import runs\nrun = runs.open(run_dir, 'tiny/10_make')"},
    {
        "trouble": "import os, time\n"
        "if how == 'raise': raise ValueError('no such luck')\n"
        "if how == 'die': os.kill(os.getpid(), 9)\n"
        "if how == 'orphan': os.kill(os.getppid(), 9); time.sleep(600)\n"
        "if how == 'sleep': time.sleep(600)"
    },
    {
        "table": "import pandas as pd\n"
        "t = run.write('made', pd.DataFrame({'x': [1, 2, 3]}))\n"
        "run.finish(title='made', metrics=dict(text=text, nothing=nothing, items=items, ratio=ratio))"
    },
)
COUNT = (
    "run_dir: str = ''  # folder of this run\nfactor: int = 2  # times",
    {"workspace": "from factlab import figures, runs\nrun = runs.open(run_dir, 'tiny/20_count')"},
    {
        "count": "t = run.read('made') * factor\n"
        "counted = run.write('counted', t)\n"
        "run.figure('units', figures.units_per_answer(t['x']))\n"
        "run.finish(title='counted', metrics={'total': t['x'].sum(), 'none': float('nan')})"
    },
)
ASK = (
    "run_dir: str = ''  # folder of this run\nurl: str = ''  # server\nhead: str = 'q'  # begins every prompt\nn: int = 40  # how many",
    {
        "ask": "import pandas as pd\n"
        "from factlab import models, runs\n"
        "run = runs.open(run_dir, 'tiny/30_ask')\n"
        "model = models.load('openai/tiny@' + url, concurrency=4, max_retries=0)\n"
        "asked = [f'{head} {i}' for i in range(n)]\n"
        "replies = models.table(model.chat(asked)).drop(columns='cached')\n"
        "replies.insert(0, 'prompt', asked)\n"
        "out = run.write('replies', replies)\n"
        "run.finish(title='asked')\n"
        "replies"
    },
)
COMPARE = (
    "run_dir: str = ''  # folder of this run\nruns: list = []  # folders to compare\nratio_grid: list = []  # all ratios",
    {
        "compare": "from factlab import runs as made\n"
        "run = made.open(run_dir, 'tiny/50_compare')\n"
        "both = run.write('both', run.gather('counted', runs, settings=('ratio', 'factor', 'nowhere')))\n"
        "run.finish(title='compared', metrics={'runs': both['run'].nunique(), 'grid': ratio_grid})"
    },
)


def write_notebook(path: Path, parameters: str, *cells: dict[str, str], tags: tuple[str, ...] = ()) -> Path:
    def cell(name: str, source: str, tags: list[str]) -> dict:
        metadata = {"tags": tags} if tags else {}
        return {
            "cell_type": "code",
            "id": name,
            "metadata": metadata,
            "source": source,
            "outputs": [],
            "execution_count": None,
        }

    made = [cell("parameters", parameters, ["parameters"])]
    made += [cell(name, source, []) for c in cells for name, source in c.items()]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    kernel |= {"tags": list(tags)} if tags else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    return path


def make_checkout(folder: Path) -> Path:
    (folder / "params" / "tiny").mkdir(parents=True)
    for name, parts in {"10_make": MAKE, "20_count": COUNT, "30_ask": ASK}.items():
        write_notebook(folder / "notebooks" / "tiny" / f"{name}.ipynb", *parts)
    write_notebook(folder / "notebooks" / "tiny" / "50_compare.ipynb", *COMPARE, tags=("compare",))
    return folder


def spec(name: str = "one", notebooks: tuple[str, ...] = ("10_make", "20_count"), **more) -> dict:
    return {"paper": "tiny", "name": name, "notebooks": list(notebooks), **more}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(make_checkout(tmp_path))
    return tmp_path


def read_run(checkout: Path, name: str) -> dict:
    return json.loads((checkout / "outputs" / "tiny" / name / "run.json").read_text())


# -- parameters -------------------------------------------------------------------------------------------------------

FAULTS = [
    # (what the file says beside paper, name and notebooks, what the message must hold)
    ({"parameters": {"ratoi": 0.1}}, ["ratoi", "did you mean 'ratio'"]),
    ({"parameters": {"run_dir": "elsewhere"}}, ["run_dir"]),
    ({"parameters": {"factor": "two"}}, ["factor", "integer", "'two'"]),
    ({"parameters": {"factor": 2.0}}, ["factor", "integer"]),
    ({"parameters": {"text": 5}}, ["text", "string"]),
    ({"parameters": {"ratio": float("nan")}}, ["ratio", "NaN and infinity"]),
    ({"parameters": {"ratio": float("inf")}}, ["ratio", "NaN and infinity"]),
    ({"parameters": {"items": [1, [float("nan")]]}}, ["items", "NaN"]),
    ({"parameters": {"items": [{1: "number as a key"}]}}, ["items", "texts as keys"]),
    ({"parameters": {"ratio": 0.1}, "grid": {"ratio": [0.2]}}, ["ratio", "`grid`"]),
    ({"grid": {"ratio": []}}, ["ratio", "no values"]),
    ({"grid": {"ratio": [0.2, 0.2]}}, ["same combination twice"]),
    ({"grid": {"ratio": [0.2, "high"]}}, ["ratio", "number", "'high'"]),
    ({"parametres": {}}, ["parametres", "did you mean 'parameters'"]),
    ({"time_limit_s": 0}, ["time_limit_s", "greater than 0"]),
    ({"name": "../up"}, ["name"]),
    ({"notebooks": ["10_mkae"]}, ["10_make"]),
    ({"paper": "huge"}, ["huge", "tiny"]),
]


@pytest.mark.parametrize(("more", "words"), FAULTS, ids=[str(list(f[0].items()))[:60] for f in FAULTS])
def test_a_fault_in_a_parameters_file_is_named(checkout, more, words):
    with pytest.raises(RunError) as caught:
        runs.plan(spec() | more, where="one.yaml")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("paper: tiny\nname: [", ["params/tiny/x.yaml", "line 2"]),
        ("just words", ["params/tiny/x.yaml", "`paper`"]),
        ("paper: tiny\nname: x\nnotebooks: [10_make]\nparameters: {items: [2024-01-01]}", ["items", "dates go in quotes"]),
    ],
)  # fmt: skip
def test_a_fault_in_the_yaml_itself_is_told_with_its_place(checkout, text, words):
    Path("params/tiny/x.yaml").write_text(text)
    with pytest.raises(RunError) as caught:
        runs.plan("params/tiny/x.yaml")
    for word in words:
        assert word in str(caught.value)


def test_a_missing_file_names_those_that_are_there(checkout):
    Path("params/tiny/here.yaml").write_text("paper: tiny")
    with pytest.raises(RunError, match=r"params/tiny/here\.yaml"):
        runs.plan("params/tiny/there.yaml")


def test_a_grid_is_one_run_per_combination_with_stable_names(checkout):
    plans = runs.plan(spec(parameters={"text": "t"}, grid={"ratio": [0.1, 0.2], "factor": [1, 2]}))
    assert [(p.parameters["ratio"], p.parameters["factor"]) for p in plans] == [(0.1, 1), (0.1, 2), (0.2, 1), (0.2, 2)]
    assert len({p.name for p in plans}) == 4 and all(p.name.startswith("one-") for p in plans)
    again = runs.plan(spec(parameters={"text": "t"}, grid={"factor": [2, 1], "ratio": [0.2, 0.1]}))
    assert {p.name for p in again} == {p.name for p in plans}


BOTH = ["10_make", "20_count"]
ALL = (*BOTH, "50_compare")


def test_a_notebook_that_compares_runs_once_over_the_grid(checkout):
    *arms, last = runs.plan(spec(notebooks=ALL, grid={"ratio": [0.1, 0.2]}, parameters={"factor": 3}))
    assert [[n.stem for n in p.notebooks] for p in [*arms, last]] == [BOTH, BOTH, ["50_compare"]]
    assert last.name == "one" and last.compares == tuple(f"outputs/tiny/{p.name}" for p in arms)
    (notebook,) = last.notebooks
    assert last.given(notebook) == {"run_dir": "outputs/tiny/one", "runs": list(last.compares)}
    assert last.for_notebook(notebook) == {}


def test_without_a_grid_it_is_a_step_like_others_and_may_be_told_what_to_compare(checkout):
    (plan,) = runs.plan(spec(notebooks=ALL))
    assert [n.stem for n in plan.notebooks] == list(ALL) and plan.compares == ()
    (plan,) = runs.plan(spec(notebooks=("50_compare",), parameters={"runs": ["outputs/tiny/a", "outputs/tiny/b"]}))
    assert plan.for_notebook(plan.notebooks[0]) == {"runs": ["outputs/tiny/a", "outputs/tiny/b"]}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"notebooks": ["50_compare"]}, "needs a notebook to run for each combination"),
        ({"notebooks": list(ALL), "parameters": {"runs": ["a"]}}, "`runs` is filled by the grid"),
        ({"notebooks": list(ALL), "parameters": {"ratio_grid": [1]}}, "unknown name 'ratio_grid'"),
    ],
)
def test_a_comparison_that_cannot_be_is_told(checkout, more, words):
    with pytest.raises(RunError, match=words):
        runs.plan(spec(grid={"ratio": [0.1]}) | more)


def test_all_values_of_a_grid_reach_the_notebook_that_asks_for_them_and_are_no_part_of_the_key(checkout):
    write_notebook(checkout / "notebooks" / "tiny" / "50_compare.ipynb", *COMPARE)  # no longer tagged
    plans = runs.plan(spec(notebooks=ALL, grid={"ratio": [0.1, 0.2]}))
    ask = plans[0].notebooks[2]
    assert plans[0].given(ask)["ratio_grid"] == [0.1, 0.2]
    assert set(plans[0].for_notebook(ask)) == {"runs"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("ratio=0.25", ("ratio", 0.25)),
        ("text=a, b", ("text", "a, b")),
        ("text=", ("text", "")),
        ("nothing=null", ("nothing", None)),
        ("items=[1, two]", ("items", [1, "two"])),
        ("text=a=b", ("text", "a=b")),
        ("text={unclosed", ("text", "{unclosed")),
    ],
)
def test_overrides_are_read_as_yaml(given, expected):
    assert read_override(given) == expected


def test_overrides_win_and_reach_only_the_notebook_that_declares_them(checkout):
    (plan,) = runs.plan(spec(parameters={"ratio": 0.1}), {"ratio": 0.2, "factor": 5})
    first, second = plan.notebooks
    assert plan.for_notebook(first)["ratio"] == 0.2 and "factor" not in plan.for_notebook(first)
    assert plan.for_notebook(second) == {"factor": 5}
    with pytest.raises(RunError, match="name=value"):
        read_override("no equals sign")


def test_the_parameters_cell_is_read_with_types_and_help(checkout):
    declared = read_declared(checkout / "notebooks/tiny/10_make.ipynb")
    assert declared["ratio"].type is float and declared["ratio"].help == "a number"
    assert declared["nothing"].type == str | None
    bad = write_notebook(checkout / "notebooks/tiny/90_bad.ipynb", "run_dir = ''")
    with pytest.raises(RunError, match="line 1"):
        read_declared(bad)


# -- keys -------------------------------------------------------------------------------------------------------------


def test_a_key_changes_with_everything_a_step_depends_on_and_with_nothing_else(checkout):
    notebook = checkout / "notebooks/tiny/10_make.ipynb"
    data, folder = checkout / "data.csv", checkout / "articles"
    data.write_text("a")
    folder.mkdir()
    (folder / "1.xml").write_text("one")
    parameters = {"data": "data.csv", "items": ["articles", "~nobody/at/all", "x" * 5000, "\0"], "model": "hf/articles"}

    def key(tables=None, library="L", **more):
        return provenance.step_key(notebook, parameters | more, tables or {}, library)

    seen = [key()]
    assert key() == seen[0]
    data.touch()
    (checkout / "unrelated.csv").write_text("b")
    assert key() == seen[0]
    seen += [key(ratio=0.1), key(tables={"made": "1"}), key(library="M")]
    data.write_text("b")
    seen.append(key())
    (folder / "1.xml").rename(folder / "2.xml")
    seen.append(key())
    notebook.write_text(notebook.read_text() + "\n")
    seen.append(key())
    assert len(set(seen)) == len(seen)


# -- what is done is not done again (papermill stands aside) -----------------------------------------------------------


class Written:
    """Stands for the process that runs notebooks: writes at once what they would write, and remembers which were run."""

    ran: list[str] = []
    fail: str = ""

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def execute(self, notebook, part, parameters, **_):
        self.ran.append(notebook.stem)
        folder = part.parents[1]
        part.write_text("{}")
        table = folder / "tables" / ("made.parquet" if notebook.stem == "10_make" else "counted.parquet")
        table.parent.mkdir(exist_ok=True)
        table.write_bytes(str(parameters.get("text", "")).encode())
        if notebook.stem == self.fail:
            return {"cell": "trouble", "name": "ValueError", "message": "as asked"}
        wrote = {table.stem: provenance.file_hash(table)}
        metrics = json.loads((folder / "metrics.json").read_text()) if (folder / "metrics.json").exists() else {}
        places.write_json(folder / "metrics.json", metrics | {notebook.stem: {"tables": wrote}})
        return None


@pytest.fixture
def written(monkeypatch):
    monkeypatch.setattr(execution, "Headless", Written)
    monkeypatch.setattr(provenance, "library_hash", lambda: "0" * 64)  # somebody may edit the library meanwhile
    monkeypatch.setattr(Written, "ran", [])
    monkeypatch.setattr(Written, "fail", "")
    return Written


def done(name="one", overrides=None, **more):
    (outcome,) = runs.execute(runs.plan(spec(name), overrides), **more)
    return outcome


CHANGES = {
    "nothing": (lambda f: None, {}, []),
    "a parameter of the first step": (lambda f: None, {"text": "other"}, BOTH),
    "a parameter of the second step": (lambda f: None, {"factor": 3}, ["20_count"]),
    "the first notebook": (lambda f: _append(f / "../../../notebooks/tiny/10_make.ipynb"), {}, BOTH),
    "the second notebook": (lambda f: _append(f / "../../../notebooks/tiny/20_count.ipynb"), {}, ["20_count"]),
    "a table, tampered with": (lambda f: _append(f / "tables/made.parquet"), {}, BOTH),
    "a table, removed": (lambda f: (f / "tables/counted.parquet").unlink(), {}, ["20_count"]),
    "an executed notebook, removed": (lambda f: (f / "notebooks/20_count.ipynb").unlink(), {}, ["20_count"]),
    "the metrics, removed": (lambda f: (f / "metrics.json").unlink(), {}, BOTH),
    "the record, cut short": (lambda f: (f / "run.json").write_text('{"steps": {'), {}, BOTH),
}


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


@pytest.mark.parametrize("what", CHANGES)
def test_only_what_changed_runs_again(checkout, written, what):
    change, overrides, expected = CHANGES[what]
    done()
    before = read_run(checkout, "one")
    written.ran.clear()
    change(checkout / "outputs/tiny/one")
    outcome = done(overrides=overrides)
    assert (written.ran, outcome.skipped) == (expected, tuple(BOTH[: len(BOTH) - len(expected)]))
    after = read_run(checkout, "one")
    assert after["status"] == "done" and set(after["steps"]) == set(BOTH)
    if what == "nothing":
        assert after == before


def test_a_comparison_runs_again_only_when_a_run_it_compares_changed(checkout, written):
    def ran(**more):
        written.ran.clear()
        outcomes = runs.execute(runs.plan(spec(notebooks=ALL, grid={"text": ["a", "b"]}, **more)), jobs=2)
        assert [o.status for o in outcomes] == ["done"] * 3 and outcomes[-1].name == "one"
        return sorted(written.ran)

    assert ran() == sorted(BOTH * 2 + ["50_compare"])
    assert read_run(checkout, "one")["compares"] == [
        f"outputs/tiny/{p.name}" for p in runs.plan(spec(grid={"text": ["a", "b"]}))
    ]
    assert ran() == []
    (checkout / "outputs/tiny" / runs.plan(spec(grid={"text": ["b"]}))[0].name / "tables/made.parquet").unlink()
    assert ran() == BOTH  # written again just as it was, so the comparison stands
    assert ran(parameters={"factor": 3}) == ["20_count", "20_count"]
    written.fail = "20_count"
    runs.execute(runs.plan(spec(notebooks=ALL, grid={"text": ["a", "b"]}, parameters={"factor": 4})))
    assert written.ran[-1] == "50_compare"  # it must say that nothing is left to compare


def test_force_runs_everything_again(checkout, written):
    done()
    assert done(force=True).skipped == () and written.ran == BOTH * 2


def test_what_a_failed_step_wrote_is_not_taken_for_a_result(checkout, written):
    written.fail = "10_make"
    outcome = done()
    assert (outcome.status, outcome.failed_step, outcome.cell) == ("failed", "10_make", "trouble")
    folder = checkout / "outputs/tiny/one"
    assert (folder / "tables/made.parquet").exists() and (folder / "notebooks/10_make.failed.ipynb").exists()
    written.fail = ""
    runs.execute(runs.plan(spec(notebooks=("20_count",))))
    assert not (folder / "tables/made.parquet").exists()
    assert not (folder / "notebooks/10_make.failed.ipynb").exists()


def test_a_run_whose_first_step_changed_and_failed_shows_no_older_second_step(checkout, written):
    done()
    written.fail = "10_make"
    done(overrides={"text": "new"})
    folder = checkout / "outputs/tiny/one"
    assert not (folder / "notebooks/20_count.ipynb").exists() and not (folder / "tables/counted.parquet").exists()
    assert set(read_run(checkout, "one")["steps"]) == {"10_make"}
    assert Record(folder).metrics() == {}


def test_a_folder_in_use_is_left_alone_and_the_other_runs_finish(checkout, written):
    from filelock import FileLock

    plans = runs.plan(spec(grid={"ratio": [0.1, 0.2]}))
    plans[0].folder.mkdir(parents=True)
    with FileLock(plans[0].folder / ".lock"):
        busy, free = runs.execute(plans)
    assert busy.status == "failed" and "another factlab process" in busy.error and busy.failed_step is None
    assert free.status == "done"
    assert not (plans[0].folder / "run.json").exists()


def test_a_folder_beneath_a_file_is_told_in_a_sentence(checkout, written, capsys):
    (checkout / "outputs").write_text("a file")
    Path("params/tiny/one.yaml").write_text(json.dumps(spec()))
    assert cli.main(["run", "params/tiny/one.yaml"]) == 1
    said = capsys.readouterr().err
    assert "cannot write outputs/tiny/one" in said and "choose another folder" in said and "Traceback" not in said


class Cluster:
    """An executor that, like a cluster's client, pickles all that comes and goes, and works from another folder."""

    def __init__(self, elsewhere):
        self.elsewhere = elsewhere

    def submit(self, function, *arguments):
        sent, future, here = pickle.dumps((function, arguments)), Future(), Path.cwd()
        os.chdir(self.elsewhere)
        try:
            function, arguments = pickle.loads(sent)
            future.set_result(pickle.loads(pickle.dumps(function(*arguments))))
        finally:
            os.chdir(here)
        return future


def test_runs_can_go_through_any_executor(checkout, written, tmp_path_factory):
    heard = []
    outcomes = runs.execute(
        runs.plan(spec(grid={"ratio": [0.1, 0.2]})),
        executor=Cluster(tmp_path_factory.mktemp("worker")),
        watch=lambda *said: heard.append(said),  # a lambda does not pickle
    )
    assert [o.status for o in outcomes] == ["done", "done"]
    assert all((checkout / "outputs/tiny" / o.name / "run.json").exists() for o in outcomes)
    assert [(said[0], said[1]) for said in heard] == [(f"tiny/{o.name}", "done") for o in outcomes]


def test_leftovers_of_a_killed_process_are_removed(checkout, written):
    folder = checkout / "outputs/tiny/one"
    left = [
        folder / n
        for n in (".run.json.1-2.part", "notebooks/10_make.ipynb.part", "tables/made.part", ".progress-x.json")
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    done()
    assert not any(path.exists() for path in left)


# -- real notebooks ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Three runs of a grid, two at a time: one good, one whose cell raises, one whose kernel is killed, one whose papermill is."""
    folder = make_checkout(tmp_path_factory.mktemp("ran"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(provenance, "library_hash", lambda: "0" * 64)  # somebody may edit the library meanwhile
        heard: list[tuple] = []
        plans = runs.plan(spec("grid", parameters=HOSTILE, grid={"how": ["raise", "well", "die", "orphan"]}))
        outcomes = runs.execute(plans, jobs=2, watch=lambda *said: heard.append(said))
        again = runs.execute(plans[1:2])
    return folder, {p.parameters["how"]: o for p, o in zip(plans, outcomes, strict=True)}, heard, again[0]


@pytest.mark.slow
def test_a_run_is_recorded(ran):
    folder, outcomes, heard, again = ran
    outcome = outcomes["well"]
    assert (outcome.status, outcome.error) == ("done", None), outcome
    record = read_run(folder, outcome.name)
    assert record["status"] == "done" and record["seconds"] > 0
    assert record["versions"]["papermill"] and len(record["library"]) == 64 and "commit" in record
    assert record["parameters"] == HOSTILE | {"how": "well", "data": "", "factor": 2}
    made = folder / "outputs/tiny" / outcome.name
    for step, table in (("10_make", "made"), ("20_count", "counted")):
        entry = record["steps"][step]
        assert entry["status"] == "done" and entry["seconds"] > 0 and len(entry["key"]) == 64
        assert entry["tables"] == {table: provenance.file_hash(made / f"tables/{table}.parquet")}
    assert pd.read_parquet(made / "tables/counted.parquet")["x"].tolist() == [2, 4, 6]
    assert not list(made.rglob("*.part")) and not list(made.glob(".progress*")) and not list(made.rglob("*.log"))
    assert {said[1] for said in heard if said[0].endswith(outcome.name)} >= {"10_make", "20_count", "done"}
    assert again.skipped == ("10_make", "20_count")


@pytest.mark.slow
def test_parameters_arrive_as_they_were_given(ran):
    folder, outcomes, *_ = ran
    metrics = json.loads((folder / "outputs/tiny" / outcomes["well"].name / "metrics.json").read_text())
    assert metrics["10_make"]["metrics"] == HOSTILE
    assert metrics["20_count"]["metrics"] == {"total": 12, "none": None}


@pytest.mark.slow
def test_a_figure_is_three_files_and_has_alt_text_on_the_page(ran):
    folder, outcomes, *_ = ran
    made = folder / "outputs/tiny" / outcomes["well"].name
    assert sorted(p.name for p in (made / "figures").iterdir()) == ["units.csv", "units.png", "units.svg"]
    alt = json.loads((made / "metrics.json").read_text())["20_count"]["figures"]["units"]["alt"]
    shown = (made / "notebooks/20_count.ipynb").read_text()
    assert alt and alt in shown and str(folder) not in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "error", "cell"),
    [
        ("raise", "ValueError: no such luck", "trouble"),
        ("die", "DeadKernelError: the kernel died", "trouble"),
        ("orphan", "ProcessDied: the notebook's process ended without a word (exit code -9)", "trouble"),
    ],
)
def test_a_failure_fails_its_own_run_and_names_the_cell(ran, how, error, cell):
    folder, outcomes, *_ = ran
    outcome = outcomes[how]
    assert (outcome.status, outcome.failed_step, outcome.cell) == ("failed", "10_make", cell)
    assert outcome.error.startswith(error)
    record = read_run(folder, outcome.name)
    assert record["status"] == "failed" and list(record["steps"]) == ["10_make"]
    made = folder / "outputs/tiny" / outcome.name / "notebooks"
    assert (made / "10_make.failed.ipynb").is_file()
    assert not (made / "10_make.ipynb").exists() and not (made / "20_count.ipynb").exists()


@pytest.mark.slow
def test_a_comparison_gets_what_the_grid_wrote(checkout):
    outcomes = runs.execute(runs.plan(spec(notebooks=ALL, grid={"ratio": [0.1, 0.2]}, parameters={"factor": 3})))
    assert [o.status for o in outcomes] == ["done"] * 3, outcomes
    both = pd.read_parquet(checkout / "outputs/tiny/one/tables/both.parquet")
    assert both["ratio"].tolist() == [0.1] * 3 + [0.2] * 3 and set(both["factor"]) == {3}
    assert both["x"].tolist() == [3, 6, 9] * 2 and both["nowhere"].isna().all()


@pytest.mark.slow
def test_no_kernel_outlives_the_process_that_fed_it(ran):
    assert wait_for(lambda: not kernels(ran[0]), 10)


@pytest.mark.slow
def test_a_notebook_that_runs_too_long_is_ended(checkout):
    (plan,) = runs.plan(spec(parameters={"how": "sleep"}, time_limit_s=5))
    (outcome,) = runs.execute([plan])
    assert outcome.status == "failed" and outcome.error.startswith("TimeLimit: ran longer than 5 s")
    assert outcome.cell in (None, "parameters", "workspace", "trouble")  # as far as a slow machine came in that time
    assert not kernels(checkout)
    assert read_run(checkout, "one")["steps"]["10_make"]["status"] == "failed"


# -- whole commands, killed -------------------------------------------------------------------------------------------

PROMPTS = [f"q {i}" for i in range(40)]


def command(checkout: Path, *words: str, before: str = "", **env: str) -> subprocess.Popen:
    """`factlab …` in the checkout, as a process of its own."""
    code = f"{before}\nimport sys\nfrom factlab.cli import main\nsys.exit(main({list(words)!r}))"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=checkout,
        env=os.environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ask(checkout: Path, url: str, name: str = "ask", **parameters) -> tuple[str, str]:
    text = json.dumps(spec(name, ("30_ask",), parameters={"url": url} | parameters))
    (checkout / f"params/tiny/{name}.yaml").write_text(text)
    return "run", f"params/tiny/{name}.yaml"


def kernels(checkout: Path) -> list[psutil.Process]:
    """The processes that work for this checkout: kernels and those that feed them."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(checkout) and process.pid != os.getpid():
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def wait_for(condition, seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


def kept(checkout: Path) -> set[str]:
    """The prompts whose replies are in the cache (the server answers with the prompt)."""
    path = checkout / "outputs/cache/replies.sqlite"
    if not path.exists():
        return set()
    cache = Cache(path)
    rows = cache._db.execute("SELECT json_extract(reply, '$.text') FROM replies").fetchall()
    cache.close()
    return {text for (text,) in rows}


@pytest.mark.slow
def test_killed_at_any_moment_the_same_command_goes_on_and_asks_nothing_twice(checkout):
    """A reply that was kept is never asked for again. Only requests in flight at the moment of a kill (at most as many as
    the notebook's `concurrency`, 4) may be sent again, since nobody was left to hear their answers."""
    with Server(default=lambda prompt: Answer(prompt, delay=0.15)) as server:
        words = ask(checkout, server.url)
        folder = checkout / "outputs/tiny/ask"
        # Killed before the kernel is up, when a few are answered, and when most are.
        for moment in (
            lambda: (folder / "run.json").exists(),
            lambda: len(kept(checkout)) >= 5,
            lambda: len(kept(checkout)) >= 25,
        ):
            process = command(checkout, *words)
            assert wait_for(moment), process.communicate(timeout=5)
            process.kill()
            process.communicate()
            assert wait_for(lambda: not kernels(checkout), 10), "a kernel outlived the command"
            assert read_run(checkout, "ask")["status"] == "running"
            before, sent = kept(checkout), {p: server.count(p) for p in PROMPTS}
            assert sum(sent.values()) - len(before) <= 4 * 3
        process = command(checkout, *words)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert all(server.count(p) == sent[p] for p in before)
        assert server.count() <= len(PROMPTS) + 4 * 3
        assert read_run(checkout, "ask")["status"] == "done"
        table = pd.read_parquet(folder / "tables/replies.parquet")
        assert table["prompt"].tolist() == table["response"].tolist() == PROMPTS
        # A run that was never killed ends with the same table; here it finds every reply in the cache.
        asked = server.count()
        process = command(checkout, *ask(checkout, server.url, "calm"))
        assert process.communicate(timeout=120) and process.returncode == 0
        assert server.count() == asked
        pd.testing.assert_frame_equal(table, pd.read_parquet(checkout / "outputs/tiny/calm/tables/replies.parquet"))


@pytest.mark.slow
def test_ctrl_c_ends_kernel_and_command_and_says_so(checkout):
    with Server(default=lambda prompt: Answer(prompt, delay=1.0)) as server:
        process = command(checkout, *ask(checkout, server.url))
        assert wait_for(lambda: len(kept(checkout)) >= 2)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 130 and "the same command goes on" in said and "Traceback" not in said
    assert not kernels(checkout)
    assert read_run(checkout, "ask")["status"] == "stopped"


@pytest.mark.slow
def test_two_commands_share_one_cache(checkout):
    with Server(default=lambda prompt: Answer(prompt, delay=0.02)) as server:
        both = [command(checkout, *ask(checkout, server.url, name)) for name in ("left", "right")]
        said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    for name in ("left", "right"):
        table = pd.read_parquet(checkout / f"outputs/tiny/{name}/tables/replies.parquet")
        assert table["response"].tolist() == PROMPTS
    assert kept(checkout) == set(PROMPTS)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes")
def test_a_full_disk_is_told_in_a_sentence(checkout):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))"
    Path("params/tiny/one.yaml").write_text(json.dumps(spec()))
    process = command(checkout, "run", "params/tiny/one.yaml", before=limit)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "may not grow" in said and "Traceback" not in said, said


@pytest.mark.slow
def test_no_key_is_written_anywhere(checkout, monkeypatch):
    key = "sk-" + "fake" * 8
    with Server() as server:
        for name in providers.key_variables(server.url):
            monkeypatch.setenv(name, key)
        monkeypatch.setenv("OPENAI_API_KEY", key)
        server.script("q 1", failure(400, f"Incorrect key: Bearer {key}"))
        server.script("q 2", Answer(raw=f'{{"broken": "{key}'))
        process = command(checkout, *ask(checkout, server.url, n=4))
        said, _ = process.communicate(timeout=120)
        assert any(key in str(seen.headers) for seen in server.requests)  # it was sent, else this would prove nothing
    assert process.returncode == 0, said
    table = pd.read_parquet(checkout / "outputs/tiny/ask/tables/replies.parquet")
    assert table["status"].tolist() == ["", "error", "error", ""]
    files = [p for p in (checkout / "outputs").rglob("*") if p.is_file()]
    assert len(files) > 5 and not [p for p in files if key.encode() in p.read_bytes()] and key not in said


# -- the workspace ----------------------------------------------------------------------------------------------------


def test_opened_alone_a_notebook_shows_the_recorded_sample_and_says_so(checkout, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda what: shown.append(what.data))
    run = runs.open("", "dahl/30_score")
    assert "claim" in run.read("claims").columns
    assert len(shown) == 1 and "recorded sample" in shown[0] and "claims" in shown[0]
    run.write("claims", pd.DataFrame({"claim": ["own"]}))
    assert run.read("claims")["claim"].tolist() == ["own"] and len(shown) == 1
    with pytest.raises(FileNotFoundError, match="earlier notebooks"):
        run.read("nowhere")


def test_a_run_never_falls_back_to_the_sample(checkout):
    with pytest.raises(FileNotFoundError, match="claims"):
        runs.open("outputs/dahl/one", "dahl/30_score").read("claims")


def test_a_file_that_a_person_edited_is_never_lost(checkout, written):
    done()
    run = runs.open("outputs/tiny/one", "tiny/10_make")
    path = run.save("review.csv", "a\n", keep=True)
    path.write_text("a, edited\n")
    done(overrides={"text": "other"})  # everything else of the run is made anew
    assert path.read_text() == "a, edited\n"
    run.save("review.csv", "b\n", keep=True)
    run.save("review.csv", "b\n", keep=True)
    assert sorted(p.read_text() for p in path.parent.iterdir()) == ["a, edited\n", "b\n"]
    run.finish(title="t")
    assert list(Record(run.folder).metrics()["10_make"]["files"]) == ["review.csv"]


def make_arms(checkout: Path, **status: str) -> list[str]:
    for name, state in status.items():
        run = runs.open(f"outputs/tiny/{name}", "tiny/20_count")
        run.write("counted", pd.DataFrame({"x": [1, 2]}))
        places.write_json(run.folder / "run.json", {"status": state, "parameters": {"ratio": 0.5, "name": name}})
    return [f"outputs/tiny/{name}" for name in status]


def test_runs_are_gathered_with_their_settings_and_what_is_not_done_is_named(checkout, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda what: shown.append(what.data))
    arms = make_arms(checkout, a="done", b="failed", c="done")
    both = runs.open("outputs/tiny/all", "tiny/50_compare").gather("counted", arms, settings=("name", "ratio", "no"))
    assert both.columns.tolist() == ["run", "name", "ratio", "no", "x"]
    assert both[["run", "name", "x"]].values.tolist() == [["a", "a", 1], ["a", "a", 2], ["c", "c", 1], ["c", "c", 2]]
    assert both["no"].isna().all()
    assert len(shown) == 1 and "Left out" in shown[0] and "b" in shown[0]


def test_nothing_to_gather_is_told(checkout):
    arms = make_arms(checkout, a="failed", b="running")
    with pytest.raises(FileNotFoundError, match="none of the runs a, b is done"):
        runs.open("outputs/tiny/all", "tiny/50_compare").gather("counted", arms)
    with pytest.raises(FileNotFoundError, match="no table 'counted'"):
        runs.open("outputs/tiny/all", "tiny/50_compare").gather("counted")


def test_a_single_run_gathers_itself_even_before_it_is_done(checkout):
    make_arms(checkout, a="running")
    assert len(runs.open("outputs/tiny/a", "tiny/50_compare").gather("counted", [])) == 2


def test_a_banner_shows_text_as_text(checkout, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda what: shown.append(what.data))
    runs.open("", "dahl/30_score").banner("<script>alert(1)</script>")
    assert "<script>" not in shown[0]


def test_tables_are_shown_as_words(tmp_path, monkeypatch, capsys):
    """Yes and no, lists between semicolons, one line a text; columns that hold nothing are left out, what is missing stays missing."""
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    table = pd.DataFrame(
        {
            "text": ["a\n b", ""],
            "right": [True, False],
            "maybe": pd.array([None, True], dtype="boolean"),
            "words": [["x", "y"], [None, True]],
            "share": [0.5, 1.0],
            "reason": ["", ""],
            "p": [None, None],
        }
    )
    run = runs.open(str(tmp_path), "dahl/30_score")
    run.show(table)
    assert list(shown[0]) == ["text", "right", "maybe", "words", "share"]
    assert shown[0].iloc[0, [0, 1, 3, 4]].tolist() == ["a b", "yes", "x; y", 0.5] and shown[0]["maybe"].iloc[0] == "–"
    assert shown[0].iloc[1].tolist() == ["", "no", "yes", "–; yes", 1.0] and shown[0]["share"].dtype == "float64"
    run.show(table.head(0), empty="nothing")
    assert len(shown) == 1 and capsys.readouterr().out == "nothing\n"


def test_the_signature_is_that_of_the_step_that_leads():
    from factlab.runs.record import _collect

    steps = {
        "20_a": {"headline": {"signature": "a"}, "lead": True},
        "30_b": {"headline": {"signature": "b"}},
        "40_c": {"headline": None},
    }
    assert _collect(steps, list(steps))["signature"] == "a"
    assert _collect(steps | {"20_a": {"headline": {"signature": "a"}}}, list(steps))["signature"] == "b"


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.0, "1"), (0.9997, "1.000"), (0.31, "0.31"), (0.3100004, "0.310"), (0.1 + 0.2, "0.3"), (0.0002, "2e-04"), (4289.0, "4,289")],
)  # fmt: skip
def test_numbers_keep_the_zeros_that_say_something(number, text):
    from factlab.runs.workspace import _number

    assert _number(number) == text


def test_a_parameter_with_two_defaults_is_recorded_for_both_notebooks(tmp_path):
    import dataclasses

    from factlab.runs.parameters import Parameter, Plan

    first, second = Path("40_audit.ipynb"), Path("50_lock.ipynb")
    fields = {f.name: None for f in dataclasses.fields(Parameter)}
    declared = {
        first: {"exclude": Parameter(**fields | {"default": ["cue"]}), "seed": Parameter(**fields | {"default": 0})},
        second: {"exclude": Parameter(**fields | {"default": []}), "seed": Parameter(**fields | {"default": 0})},
    }
    plan = Plan("p", "r", (first, second), {}, 60, declared)
    assert plan.resolved() == {"exclude": ["cue"], "seed": 0, "exclude (50_lock)": []}
    assert dataclasses.replace(plan, parameters={"exclude": ["x"]}).resolved() == {"exclude": ["x"], "seed": 0}


def test_what_is_missing_is_null_in_the_records(tmp_path):
    run = runs.open(str(tmp_path), "dahl/30_score")
    missing = pd.array([None], dtype="Float64").min()
    run.finish(metrics={"a": missing, "b": [pd.NaT, 1.5], "c": {"d": float("nan")}})
    entry = json.loads((tmp_path / "metrics.json").read_text())["30_score"]
    assert entry["metrics"] == {"a": None, "b": [None, 1.5], "c": {"d": None}}
