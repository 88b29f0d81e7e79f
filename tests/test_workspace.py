"""The workspace: tables read back typed, runs gathered whatever they lack, files saved. See also the end of test_runs.py."""

import hashlib
import json

import pandas as pd
import pytest

from factlab import places, runs
from factlab.runs.workspace import _typed


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """A working folder of its own, and the banners that were shown."""
    monkeypatch.chdir(tmp_path)
    texts = []
    monkeypatch.setattr("IPython.display.display", lambda what: texts.append(what.data))
    return texts


def make(name: str, table: pd.DataFrame | None, record: object = None) -> str:
    run = runs.open(f"outputs/p/{name}", "p/1")
    if table is not None:
        run.write("t", table)
    if record is not None:
        places.write_json(run.folder / "run.json", record)
    return f"outputs/p/{name}"


def done(**parameters) -> dict:
    return {"status": "done", "parameters": parameters}


# ---------------------------------------------------------------- text to numbers

CELLS = [
    (["1", "2", ""], [1.0, 2.0, None]),
    (["0.5", "1e-3", "-2"], [0.5, 0.001, -2.0]),
    (["1", "two", ""], None),
    (["1,5", "2"], None),
    (["", ""], None),
    ([], None),
    (["true", "false"], None),
    (["1", "NA"], None),
    (["1", "nan"], None),
    (["1", "None"], None),
]


@pytest.mark.parametrize(("cells", "numbers"), CELLS)
def test_a_column_becomes_numbers_where_every_filled_cell_is_one(cells, numbers):
    table = pd.DataFrame({"x": cells, "x_id": cells}, index=range(2, len(cells) + 2), dtype="str")
    found = _typed(table)
    assert found.index.tolist() == list(range(len(cells))) and found["x_id"].tolist() == cells
    if numbers is None:
        assert found["x"].tolist() == cells
    else:
        assert found["x"].dtype == "Float64" and [None if x is pd.NA else x for x in found["x"]] == numbers
    assert table["x"].tolist() == cells  # the table given is left alone


@pytest.mark.parametrize("name", ["precision", "arms"])
def test_a_recorded_sample_reads_like_a_table_of_a_run(shown, name):
    table = runs.open("", "dahl/60_sample_check").read(name)
    assert table["precision"].dtype == "Float64" and table["question_id"].str.startswith("dahl-").all()
    assert (table["precision"].notna() == table["status"].eq("scored")).all()
    assert "problem" not in table and len(shown) == 1


# ---------------------------------------------------------------- what earlier steps left


def test_only_a_table_of_this_run_counts_as_there(shown):
    run = runs.open("", "dahl/60_sample_check")
    assert not run.has("precision") and len(run.read("precision"))
    run.write("precision", pd.DataFrame({"x": [1]}))
    assert run.has("precision") and not runs.open("outputs/dahl/other", "dahl/60_sample_check").has("precision")


RECORDS = [None, {}, {"parameters": None}, {"parameters": {}}]


@pytest.mark.parametrize("record", RECORDS)
def test_a_run_without_parameters_has_none(shown, record):
    run = runs.open(make("a", pd.DataFrame({"x": [1]}), record), "p/2")
    assert run.parameters() == {}
    assert run.gather("t", settings=("temperature",))["temperature"].isna().all()


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '"text"'])
def test_a_broken_record_is_no_record(shown, text):
    run = runs.open("outputs/p/a", "p/1")
    run.folder.mkdir(parents=True)
    for name in ("run.json", "metrics.json"):
        (run.folder / name).write_text(text)
    assert run.parameters() == {} and run.earlier("1") == {}
    run.finish(title="t")
    assert run.earlier("1")["title"] == "t"


def test_what_an_earlier_step_wrote_is_read_back(shown):
    folder = make("a", None, done(temperature=0.3))
    runs.open(folder, "p/1").finish(title="first", metrics={"n": 3, "nothing": float("nan")})
    run = runs.open(folder, "p/2")
    assert run.parameters() == {"temperature": 0.3}
    assert run.earlier("1")["metrics"] == {"n": 3, "nothing": None} and run.earlier("1")["headline"] is None
    run.finish(title="second")
    assert run.earlier("1")["title"] == "first" and run.earlier("2")["title"] == "second" and run.earlier("3") == {}


# ---------------------------------------------------------------- several runs


def test_rows_are_joined_one_to_one_whatever_their_labels(shown):
    """Two tables put below each other keep their row labels, so that each stands twice."""
    twice = pd.DataFrame({"x": [1, 2, 3, 4]}, index=[0, 1, 0, 1])
    found = runs.open(make("a", twice, done(t=0.1)), "p/2").gather("t", settings=("t",))
    assert found.values.tolist() == [["a", 0.1, 1], ["a", 0.1, 2], ["a", 0.1, 3], ["a", 0.1, 4]]


def test_columns_of_the_table_give_way_to_those_of_the_run(shown):
    table = pd.DataFrame({"run": ["?"], "x": [1], "t": [9]})
    found = runs.open(make("a", table, done(t=0.1)), "p/2").gather("t", settings=("t",))
    assert found.columns.tolist() == ["run", "t", "x"] and found.values.tolist() == [["a", 0.1, 1]]


def test_runs_that_lack_something_are_left_out_and_the_banner_says_what(shown):
    folders = [
        make("good", pd.DataFrame({"x": [1]}), done(t=0.1)),
        make("empty", pd.DataFrame({"x": [1]}).head(0), done(t=0.2)),
        make("bare", None, done(t=0.3)),
        make("unrecorded", pd.DataFrame({"x": [1]})),
        make("late", pd.DataFrame({"x": [1]}), {"status": "running"}),
        "outputs/p/nowhere",
    ]
    found = runs.open("outputs/p/all", "p/2").gather("t", folders, settings=("t",))
    assert found.values.tolist() == [["good", 0.1, 1]] and found["t"].dtype == float
    assert len(shown) == 1
    assert "Left out: bare (no table “t”), unrecorded (not done), late (not done), nowhere (not done)." in shown[0]
    with pytest.raises(FileNotFoundError, match="none of the runs bare, nowhere is done and has a table 't'"):
        runs.open("outputs/p/all", "p/2").gather("t", [folders[2], folders[5]])


def test_the_recorded_runs_stand_in_only_for_a_notebook_opened_by_hand(shown):
    found = runs.open("", "dahl/50_temperature").gather("precision", settings=("temperature", "checker"))
    assert found["run"].nunique() == found["temperature"].nunique() == 5
    assert len(shown) == 1 and "arms.csv" in shown[0]
    with pytest.raises(FileNotFoundError, match="no table 'precision'"):
        runs.open("outputs/dahl/one", "dahl/50_temperature").gather("precision")
    with pytest.raises(FileNotFoundError, match="none of the runs one"):
        runs.open("", "dahl/50_temperature").gather("precision", ["outputs/dahl/one"])
    with pytest.raises(FileNotFoundError, match="no table 't'"):
        runs.open("", "p/2").gather("t")  # a paper without recorded runs


# ---------------------------------------------------------------- files


def test_a_file_is_saved_as_it_stands_and_recorded_with_its_hash(shown):
    run = runs.open("outputs/p/a", "p/1")
    text = "naïve 漢字\r\nsecond\u2028line\n"
    path = run.save("deep/pairs.jsonl", text)
    assert path == run.folder / "files/deep/pairs.jsonl" and path.read_bytes() == text.encode()
    run.save("deep/pairs.jsonl", "")
    assert [p.name for p in path.parent.iterdir()] == ["pairs.jsonl"]  # overwritten, with nothing beside it
    run.finish(title="t")
    written = json.loads((run.folder / "metrics.json").read_text())["1"]["files"]
    assert written == {"deep/pairs.jsonl": hashlib.sha256(b"").hexdigest()}


def test_every_edited_version_of_a_kept_file_stays(shown):
    run = runs.open("outputs/p/a", "p/1")
    for text in ("a", "b", "a", "c"):
        path = run.save("review.csv", text, keep=True)
    assert path.read_text() == "c"
    assert sorted(p.read_text() for p in path.parent.iterdir()) == ["a", "b", "c"]


def test_a_file_that_cannot_be_written_is_told_with_its_place(shown):
    run = runs.open("outputs/p/a", "p/1")
    (run.folder / "files/taken").mkdir(parents=True)
    for keep in (False, True):
        with pytest.raises(places.PlaceError, match="outputs/p/a/files/taken"):
            run.save("taken", "text", keep)
