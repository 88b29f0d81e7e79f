"""DAHL from questions to page, headless: once with every role played by a server, once by the built-in model."""

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from factlab.cli import main

from server import Answer, Server  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    for name in ("notebooks", "params"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(asked: str) -> Answer:
    """Subject, splitter and checker in one: which of them is asked shows in the prompt."""
    if "atomic units" in asked:
        text = asked.split("<text>")[1].split("</text>")[0]
        return Answer("\n".join(f"- {s.strip()}." for s in text.split(".") if s.strip()))
    if "<statement>" in asked:
        statement = asked.split("<statement>")[1].split("</statement>")[0]
        return Answer("False." if "moon" in statement else "**True**")
    if "heart" in asked:
        return Answer(
            "The heart pumps blood. The heart lies on the moon. The heart pumps blood. It is", finish="length"
        )
    if "soul" in asked:
        return Answer("I’m sorry, but I can’t help with that.")
    return Answer("Blood is red.")


def test_every_role_by_a_server(checkout, monkeypatch, capsys):
    secret = "sk-" + "f4K3" * 10
    questions = checkout / "questions.csv"
    questions.write_text(
        "question,category\nWhat is the heart?,Anatomy\nWhat is blood?,Physiology\nWhat is the soul?,Other\n"
    )
    claims = checkout / "claims.csv"
    claims.write_text(
        "claim,label\n" + "".join(f"Fact {i} is on the moon.,false\nFact {i} is so.,true\n" for i in range(10))
    )
    with Server(default=answer) as server:
        name = f"openai/tiny@{server.url}"
        monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", secret)
        values = {"subject": name, "splitter": name, "checker": name, "questions": questions, "audit": claims}
        arguments = ["run", "params/dahl/demo.yaml"] + [f"-p{k}={v}" for k, v in values.items()]
        assert main(arguments) == 0
        once = server.count()
        assert main(arguments) == 0 and main([*arguments, "--force"]) == 0
        assert server.count() == once, "a reply was asked for twice"
        sent = [s.headers.get("authorization") or s.headers.get("Authorization") for s in server.requests]
    assert main(["publish"]) == 0
    run = checkout / "outputs" / "dahl" / "demo"
    precision = pd.read_parquet(run / "tables" / "precision.parquet").set_index("category")
    assert precision["status"].to_dict() == {"Anatomy": "scored", "Physiology": "scored", "Other": "refused"}
    # "The heart pumps blood. The heart lies on the moon.": the repeated and the unfinished sentence are gone.
    assert precision["precision"].dropna().to_dict() == {"Anatomy": 0.5, "Physiology": 1.0}
    metrics = json.loads((run / "metrics.json").read_text())["30_score"]
    assert metrics["headline"]["value"] == 0.75 and metrics["headline"]["n"] == 2
    assert metrics["metrics"]["judge_audit"]["accuracy"]["value"] == 1
    record = json.loads((run / "run.json").read_text())
    assert record["status"] == "done" and record["models"][name]["served"] == ["tiny-served"]
    assert "dahl/check" in record["prompts"] and "dahl/split" in record["prompts"]
    assert any(secret in (header or "") for header in sent), "the key was meant to be sent"
    leaks = [p for p in checkout.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert leaks == [] and secret not in "".join(capsys.readouterr())


def test_the_demo_in_small_with_the_builtin_model(checkout, capsys):
    small = ["-p", "limit=3", "-p", "max_tokens=40"]
    rows = "The heart pumps blood.,true\nThe liver is in the skull.,false\n" * 6
    (checkout / "claims.csv").write_text("claim,label\n" + rows)
    assert main(["run", "params/dahl/demo.yaml", *small, "-p", f"audit={checkout / 'claims.csv'}"]) == 0
    assert main(["publish"]) == 0
    out = capsys.readouterr().out
    assert "DAHL score" in out and "Judge audit: local/smollm2" in out
    run = checkout / "outputs" / "dahl" / "demo"
    responses = pd.read_parquet(run / "tables" / "responses.parquet")
    assert len(responses) == 3 and responses["response"].str.len().gt(50).all() and responses["error"].isna().all()
    site = checkout / "outputs" / "site"
    for page in (
        "index.html",
        "dahl/demo/index.html",
        "dahl/demo/20_generate_responses.html",
        "dahl/demo/30_score.html",
    ):
        assert (site / page).is_file()
    assert (
        "demonstration" in (site / "index.html").read_text()
        and os.fspath(checkout) not in (site / "index.html").read_text()
    )


def test_notebooks_open_alone_on_the_recorded_sample(checkout):
    """As in JupyterLab: no run, the notebook's own folder as working folder, the parameters as they stand but for the labels."""
    import papermill

    from factlab import places, sources, units

    answers = units.clean(units.prepare(sources.read_table(places.samples("dahl", "responses.csv"))[0]))
    found = sorted({u for text in answers["cleaned"] for u in units.rule_units(text)})
    pd.DataFrame({"unit": found, "verdict": "true"}).to_csv(checkout / "labels.csv", index=False)
    folder = checkout / "notebooks" / "dahl"
    given = {"checker": "reference", "verdicts": str(checkout / "labels.csv")}
    papermill.execute_notebook(
        folder / "30_score.ipynb", checkout / "out.ipynb", parameters=given, cwd=folder, progress_bar=False
    )
    shown = (checkout / "out.ipynb").read_text()
    assert "recorded sample" in shown
    metrics = json.loads((checkout / "outputs" / "dahl" / "interactive" / "metrics.json").read_text())["30_score"]
    assert metrics["headline"]["value"] == 1 and metrics["headline"]["n"] == 58
