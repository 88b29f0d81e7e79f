"""LExT from questions to page, headless: recorded replies, notebooks opened alone, and a server as subject, larger model and judge."""

import itertools
import json
import os
from functools import partial
from pathlib import Path

import headless
import pandas as pd
import pytest
from headless import UNDEFINED, sentences

from factlab.cli import main

from server import Answer, Server, last_text  # isort: skip

STEPS = ("20_explain", "30_plausibility", "40_faithfulness", "50_trust")
NUMBERS = itertools.count()
pytestmark = pytest.mark.slow


opened = partial(headless.opened, "lext")


def run_file(checkout: Path, name: str, **parameters) -> str:
    given = json.dumps(parameters)
    (checkout / "params/lext" / f"{name}.yaml").write_text(
        f"paper: lext\nname: {name}\nnotebooks: [{', '.join(STEPS)}]\nparameters: {given}\n"
    )
    return f"params/lext/{name}.yaml"


def test_the_recorded_replies_give_the_demo_s_scores(checkout):
    """No language model is loaded: SmolLM2's replies stand in a table, and what was read from them is read again."""
    assert main(["run", run_file(checkout, "recorded", token_encoder="", judge="recorded")]) == 0
    assert main(["publish"]) == 0
    run = checkout / "outputs" / "lext" / "recorded"
    metrics = json.loads((run / "metrics.json").read_text())
    assert set(metrics) == set(STEPS)
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert metrics["20_explain"]["metrics"]["failed"] == 0
    items = pd.read_parquet(run / "tables" / "items.parquet")
    for name in ("plausibility_parts", "faithfulness_parts", "trust"):
        assert pd.read_parquet(run / "tables" / f"{name}.parquet")["item_id"].tolist() == items["item_id"].tolist()
    calls = pd.concat(
        pd.read_parquet(run / "tables" / f"{name}.parquet")
        for name in ("calls_explain", "calls_plausibility", "calls_faithfulness")
    )
    assert (calls["error"] == "").all() and calls["item_id"].nunique() == len(items)
    found = pd.read_parquet(run / "tables" / "trust_estimates.parquet")
    assert set(found["data"]) == {"all", "PubMedQA form", "Q-Pain form"}
    assert found["value"].dropna().between(-1, 1).all() and (found["value"].notna() | (found["reason"] != "")).all()
    page = checkout / "outputs" / "site" / "lext" / "recorded" / "50_trust.html"
    assert page.is_file() and os.fspath(checkout) not in page.read_text()


def test_what_opens_alone_shows_the_recorded_samples(checkout):
    opened(checkout, "50_trust", token_encoder="")
    shown = {step: opened(checkout, step) for step in ("30_plausibility", "40_faithfulness")}
    for text in shown.values():
        assert "recorded sample" in text and "lext/explained.csv" in text
    metrics = json.loads((checkout / "outputs" / "lext" / "interactive" / "metrics.json").read_text())
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert metrics["50_trust"]["metrics"]["items"] == 8


def reply(body: dict) -> Answer:
    """The subject, the larger model and the judge; it fails wherever zinc is mentioned and refuses where rest is."""
    asked, system = last_text(body), body["messages"][0]["content"]
    if "zinc" in asked.casefold():
        return Answer(None)
    if "medical advisor" in system:
        return Answer(
            "I'm sorry, but I can't help with that." if "rest help" in asked else "Yes. Aspirin prevents it in women."
        )
    if "rewrite questions" in system:
        return Answer(f"Is it so, asked for the {next(NUMBERS)}th time?")
    if "Write one question" in system:
        return Answer("Does aspirin prevent it?")
    if "only questions" in system:
        return Answer("1. Who is helped by it?\n2. What prevents it in women?")
    if "change explanations" in system:
        return Answer("No. Aspirin prevents nothing.")
    if "name the terms" in system:
        return Answer("aspirin, women")
    if "from a context" in system:
        return Answer("There is not enough information to say.")
    return Answer("Unknown" if "label answers" in system else "No" if "from the explanation" in system else "Yes")


def test_a_server_in_every_role(checkout, monkeypatch, capsys):
    """Three questions: one that goes well, one whose calls always fail, one that is refused: each keeps its row to the end."""
    secret = "sk-" + "f4K3" * 10
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", secret)
    (checkout / "questions.csv").write_text(
        "item_id,question,context,label,explanation\n"
        "well,Does aspirin help?,Aspirin was given to women.,yes,GOLD one: aspirin helps.\n"
        "broken,Does zinc help?,Zinc was given to men.,no,GOLD two: it does not.\n"
        "refused,Does rest help?,Rest was compared with walks.,maybe,GOLD three: nobody knows.\n"
    )
    with Server(reply=reply) as server:
        name = f"openai/tiny@{server.url}"
        given = dict(subject=name, judge=name, labels="judge", data="questions.csv", form="pubmedqa", token_encoder="")
        spec = run_file(checkout, "served", **given)
        assert main(["run", spec]) == 0
        asked = [json.dumps(seen.body) for seen in server.requests]
        assert not any("GOLD" in text for text in asked), "a prompt holds a gold explanation"
        record = (checkout / "outputs/lext/served/run.json").read_text()
        assert main(["run", spec]) == 0
        assert (checkout / "outputs/lext/served/run.json").read_text() == record, "a finished step was run again"
    run = checkout / "outputs" / "lext" / "served"
    trust = pd.read_parquet(run / "tables" / "trust.parquet").set_index("item_id")
    assert trust["status"].to_dict() == {"well": "scored", "broken": "undefined", "refused": "undefined"}
    assert (trust.loc[["broken", "refused"], "reasons"] != "").all()
    assert trust.loc["well", ["qag", "counterfactual", "contextual", "faithfulness"]].tolist() == [1, 1, 1, 1]
    explained = pd.read_parquet(run / "tables" / "explained.parquet")
    assert (explained.loc[explained["item_id"] == "broken", "status"] == "error").all()
    assert (
        explained.loc[(explained["item_id"] == "refused") & (explained["kind"] == "iteration"), "status"] == "refused"
    ).all()
    metrics = json.loads((run / "metrics.json").read_text())
    assert any("1 of 1 answer admits" in note for note in metrics["40_faithfulness"]["notes"])
    assert metrics["20_explain"]["metrics"]["failed"] > 0 and metrics["50_trust"]["metrics"]["items"] == 3
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert not any("135 million" in text for text in sentences(metrics)), "these are not the built-in model's"
    leaks = [p for p in checkout.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert leaks == [] and secret not in "".join(capsys.readouterr())
