"""REASONS from records to page, headless: a server as subject, notebooks opened alone, and a table of one's own."""

import json
import os
import re
from functools import partial

import headless
import pandas as pd
import pytest
from headless import ROOT, UNDEFINED, sentences

from factlab import sources
from factlab.cli import main

from server import Answer, Server, last_text  # isort: skip

STEPS = ("10_build_dataset", "20_query", "40_adversarial_swaps", "50_domains", "90_published")
pytestmark = pytest.mark.slow


opened = partial(headless.opened, "reasons")


def test_a_server_names_what_it_is_shown(checkout, monkeypatch, capsys):
    """The subject passes closed-book, and copies whatever title or names a prompt shows: SID asks everything twice, swaps of the title
    are followed, those of the abstract go unnoticed."""
    secret = "sk-" + "f4K3" * 10
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", secret)
    records, _ = sources.read_citations(ROOT / "lib/factlab/samples/reasons/citations.csv")
    by_abstract = dict(zip(records["cited_abstract"], records["cited_title"], strict=True))

    def reply(body: dict) -> Answer:
        asked = last_text(body)
        shown = re.search(r"^Title: (.*)$", asked, flags=re.M)
        names = re.search(r"^Authors: (.*)$", asked, flags=re.M)
        if shown:
            return Answer(shown[1])
        if "Who are the authors?" in asked:
            return Answer(f"<authors>{names[1]}</authors>" if names else '["pass"]')
        found = [title for abstract, title in by_abstract.items() if abstract in asked]
        return Answer(f'"{found[0]}"' if found else "Pass.")

    spec = checkout / "params/reasons/demo.yaml"
    spec.write_text(re.sub(r"notebooks: .*", f"notebooks: [{', '.join(STEPS)}]", spec.read_text()))
    with Server(reply=reply) as server:
        arguments = ["run", "params/reasons/demo.yaml", f"-psubject=openai/tiny@{server.url}", "-pper_domain=1"]
        arguments += ["-pswaps=[title_nearest, abstract_nearest]"]
        assert main(arguments) == 0
        sent = [seen.prompt for seen in server.requests]
        assert main(arguments) == 0
        assert server.count() == len(sent), "a finished step was run again"
    assert len(sent) == len(set(sent)), "the same prompt was sent twice"
    run = checkout / "outputs" / "reasons" / "demo"
    asked = pd.read_parquet(run / "tables" / "citations.parquet")
    n = len(asked)
    assert n >= 12 and asked["domain"].nunique() == 12
    # direct, with metadata, indirect, with metadata; the true record and two swaps: SID's queries are among them.
    assert len(sent) == 7 * n
    closed = [p for p in sent if "Authors:" not in p]
    assert not [p for p in closed for title in asked["cited_title"] if title in p and "sentence cites" in p]
    answers = pd.read_parquet(run / "tables" / "answers.parquet")
    assert answers.groupby("mode")["status"].agg(lambda s: sorted(set(s))).to_dict() == {
        "direct": ["refused"], "direct_metadata": ["scored"], "indirect": ["refused"], "indirect_metadata": ["scored"], "sid": ["scored"],
    }  # fmt: skip
    assert answers[answers["mode"] == "sid"]["phase"].tolist() == [2] * n
    scores = pd.read_parquet(run / "tables" / "scores_by_mode.parquet").set_index("mode")
    assert scores["pp"].to_dict() == {
        "direct": 1,
        "direct_metadata": 0,
        "indirect": 1,
        "indirect_metadata": 0,
        "sid": 0,
    }
    assert scores.loc["sid", ["hr", "f1"]].tolist() == [0, 1] and scores.loc[["direct", "indirect"], "hr"].isna().all()
    assert answers.set_index("mode")["holds_gold"].groupby("mode").mean().to_dict() == {
        "direct": 0, "direct_metadata": 1, "indirect": 0, "indirect_metadata": 0, "sid": 0
    }  # fmt: skip
    outcomes = pd.read_parquet(run / "tables" / "swap_outcomes.parquet")
    assert outcomes.groupby("condition")["outcome"].agg(set).to_dict() == {
        "none": {"right"}, "title_nearest": {"follows"}, "abstract_nearest": {"right"}
    }  # fmt: skip
    metrics = json.loads((run / "metrics.json").read_text())
    assert set(metrics) == set(STEPS)
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert "indirect: no answers, " in metrics["20_query"]["summary"]
    assert "Not comparable" in metrics["90_published"]["summary"]
    assert main(["publish"]) == 0
    page = checkout / "outputs" / "site" / "reasons" / "demo" / "20_query.html"
    assert page.is_file() and os.fspath(checkout) not in page.read_text()
    leaks = [p for p in checkout.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert leaks == [] and secret not in "".join(capsys.readouterr())


def test_a_closed_book_that_holds_its_answer_fails_the_run(checkout, capsys):
    table = pd.read_csv(ROOT / "lib/factlab/samples/reasons/citations.csv", keep_default_na=False).head(3)
    table.loc[1, "sentence"] = f"As {table.loc[1, 'cited_title']} showed, rollouts can be stopped."
    table.to_csv(checkout / "mine.csv", index=False)
    (checkout / "own.yaml").write_text(
        "paper: reasons\nname: own\nnotebooks: [10_build_dataset, 20_query]\nparameters: {data: mine.csv}\n"
    )
    with Server() as server:
        arguments = ["run", "own.yaml", f"-psubject=openai/tiny@{server.url}"]
        assert main(arguments) == 1
        assert server.count() == 0
    said = capsys.readouterr().err
    assert "20_query" in said and "hold their own answer (indirect: reasons-02)" in said


def test_what_opens_alone_shows_the_recorded_samples(checkout):
    shown = {step: opened(checkout, step) for step in STEPS}
    assert all("reasons/" in shown[step] for step in ("20_query", "40_adversarial_swaps", "50_domains"))
    interactive = checkout / "outputs" / "reasons" / "interactive"
    metrics = json.loads((interactive / "metrics.json").read_text())
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert metrics["20_query"]["metrics"]["queries"] == 5 * 96
    answers = pd.read_parquet(interactive / "tables" / "answers.parquet")
    assert not (answers["status"] == "error").any()
    recorded = pd.read_csv(ROOT / "lib/factlab/samples/reasons/answers.csv", keep_default_na=False)
    assert answers["predicted"].tolist() == recorded["predicted"].tolist(), "the sample was read by an older parser"
    swaps = pd.read_parquet(interactive / "tables" / "swap_answers.parquet")
    assert not (swaps["status"] == "error").any()


def test_a_table_of_ones_own_is_scored(checkout, capsys):
    records = pd.read_csv(ROOT / "lib/factlab/samples/reasons/citations.csv", keep_default_na=False).head(16)
    replies = [
        records.assign(mode="indirect", reply=records["cited_title"].where(records.index % 2 == 0, "pass")),
        records.assign(mode="direct", reply='["Ada Lund"]'),
    ]
    pd.concat(replies).to_csv(checkout / "mine.csv", index=False)
    assert main(["score", "reasons", "mine.csv"]) == 0
    run = checkout / "outputs" / "reasons" / "score-mine.csv"
    scores = pd.read_parquet(run / "tables" / "scores_by_mode.parquet").set_index("mode")
    assert scores.loc["indirect", ["pp", "f1", "n"]].tolist() == [0.5, 0.5, 16]
    assert scores.loc["direct", ["pp", "f1"]].tolist() == [0, 0]
    assert main(["score", "reasons", "mine.csv", "--checker", "local/smollm2"]) == 1
    assert "asks no judge" in capsys.readouterr().err
