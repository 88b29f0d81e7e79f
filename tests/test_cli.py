"""The command line as people type it: what it prints, what it writes, and how it ends."""

import json
import shutil
from pathlib import Path

import pytest

from factlab.cli import main
from factlab.models import cache

ROOT = Path(__file__).resolve().parents[1]

ANSWERS = """question,response,category,source
What is aspirin?,Aspirin is a drug. Aspirin inhibits cyclooxygenase.,Pharmacology,a
Where is the heart?,The heart lies in the chest. The heart has five chambers.,Anatomy,b
Where is the liver?,The liver lies in the abdomen.,Anatomy,c
What is bile?,Bile is made in the liver.,Physiology,d
What is insulin?,Insulin is a hormone. Insulin raises the glucose level.,Physiology,e
What is a kidney?,The kidney filters blood.,Physiology,f
What is a spleen?,I don't know.,Anatomy,g
What is a lung?,,Anatomy,h
"""
LABELS = """unit,verdict
Aspirin is a drug.,true
Aspirin inhibits cyclooxygenase.,true
The heart lies in the chest.,true
The heart has five chambers.,false
The liver lies in the abdomen.,true
Bile is made in the liver.,true
Insulin is a hormone.,true
Insulin raises the glucose level.,false
The kidney filters blood.,true
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """An empty checkout as the working folder, without keys."""
    for name in ("notebooks", "params"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("run", "score", "publish", "cache", "data", "doctor"))


@pytest.mark.parametrize("command", [["--help"], ["score", "--help"], ["cache", "--help"]])
def test_help_ends_well(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0 and "usage: factlab" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ["answers.csv: no such file"]),
        ("", ["answers.csv: the file is empty"]),
        ("frage,antwort\na,b\n", ["no column 'question'", "'antwort' looks like it", "rename it to 'response'"]),
        ("question,response\n", ["headings and no rows"]),
        ('question,response\na,"b\n', ["row 2", "never closed"]),
        ("response_id,question,response\n1,a,b\n1,c,d\n", ["response_id '1' stands in row 2 and in row 3"]),
    ],
    ids=["no file", "empty", "columns", "no rows", "quotation mark", "ids"],
)
def test_a_table_that_cannot_be_scored(checkout, capsys, content, said):
    if content is not None:
        (checkout / "answers.csv").write_text(content, encoding="utf-8")
    assert main(["score", "dahl", "answers.csv", "--checker", "reference"]) == 1
    shown = capsys.readouterr().err
    assert "answers.csv" in shown and all(words in shown for words in said)
    assert "Traceback" not in shown and not (checkout / "outputs" / "dahl").exists()


def test_an_unknown_parameter_is_named_with_the_nearest_one(checkout, capsys):
    (checkout / "answers.csv").write_text(ANSWERS, encoding="utf-8")
    assert main(["score", "dahl", "answers.csv", "-p", "unknwon=false"]) == 1
    assert "did you mean 'unknown'" in capsys.readouterr().err


def test_a_parameters_file_that_is_not_there(checkout, capsys):
    assert main(["run", "params/dahl/nothing.yaml"]) == 1
    assert "nothing.yaml" in capsys.readouterr().err


def test_data_list(capsys):
    assert main(["data", "list"]) == 0
    assert "dahl:" in capsys.readouterr().out


def test_an_empty_site_is_built(checkout, capsys):
    assert main(["publish"]) == 0
    assert "outputs/site/index.html" in capsys.readouterr().out
    assert "No runs yet" in (checkout / "outputs" / "site" / "index.html").read_text(encoding="utf-8")


def test_the_cache_is_counted_exported_imported_and_merged(checkout, capsys):
    assert main(["cache", "stats"]) == 0
    assert capsys.readouterr().out.startswith("0 replies in outputs/cache/")
    weights = checkout / "outputs" / "finetuned" / "abc" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(bytes(2_000_000))
    assert main(["cache", "stats"]) == 0
    assert "1 fine-tuned models in outputs/finetuned, 2.0 MB" in capsys.readouterr().out
    assert main(["cache", "export", "replies.jsonl"]) == 0
    assert main(["cache", "import", "replies.jsonl"]) == 0
    assert "0 replies added, 0 already there" in capsys.readouterr().out
    other = checkout / "other.sqlite"
    shutil.copy(cache.default().path, other)
    assert main(["cache", "merge", str(other)]) == 0
    assert "0 replies added" in capsys.readouterr().out


@pytest.mark.slow
def test_doctor_says_what_is_there(checkout, capsys):
    status = main(["doctor"])
    shown = capsys.readouterr().out
    assert "ok   inside a checkout" in shown and "note OPENAI_API_KEY is not set" in shown
    assert status == (1 if "MISS" in shown else 0)


@pytest.mark.slow
def test_score_a_table_with_reference_labels(checkout, capsys):
    (checkout / "answers.csv").write_text(ANSWERS, encoding="utf-8-sig")
    (checkout / "labels.csv").write_text(LABELS, encoding="utf-8")
    command = ["score", "dahl", "answers.csv", "--checker", "reference", "--verdicts", "labels.csv"]
    assert main(command) == 0
    # Precisions 1, 1/2, 1, 1, 1/2, 1; one answer refused, one empty.
    assert "DAHL score 0.83 [" in capsys.readouterr().out
    folder = checkout / "outputs" / "dahl" / "score-answers.csv"
    score = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["30_score"]
    assert score["headline"]["value"] == pytest.approx(5 / 6)
    assert score["headline"]["low"] < 5 / 6 <= score["headline"]["high"] <= 1
    assert score["headline"]["counts"] == {"refused": 1, "error": 1}
    funnel = score["metrics"]["funnel"]
    assert (funnel[0]["n"], funnel[-1]["n"], sum(stage["left_out"] for stage in funnel)) == (8, 6, 2)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert run["status"] == "done" and "answers.csv" in run["data"]
    page = (checkout / "outputs" / "site" / "dahl" / "score-answers.csv" / "30_score.html").read_text(encoding="utf-8")
    assert "0.83" in page and str(checkout) not in page
    assert (folder / "figures" / "by_category.png").is_file()
    # Nothing has changed: nothing runs. Another label: the score changes with it.
    assert main(command) == 0
    assert "already done: 30_score" in capsys.readouterr().out
    (checkout / "labels.csv").write_text(LABELS.replace("chambers.,false", "chambers.,true"), encoding="utf-8")
    assert main(command) == 0
    assert "DAHL score 0.92" in capsys.readouterr().out
