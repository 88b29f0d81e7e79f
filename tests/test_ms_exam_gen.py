"""MS-Exam-Gen from a bank to a page, headless: a server sits the exam, notebooks opened alone, and banks that changed."""

import json
import os
import re
from functools import partial
from pathlib import Path

import headless
import pandas as pd
import pytest
from headless import UNDEFINED, sentences

from factlab import exam
from factlab.cli import main

from server import Answer, Server, last_text  # isort: skip

STEPS = ("50_lock_and_evaluate", "60_difficulty", "70_option_order", "80_review_queues")
pytestmark = pytest.mark.slow


opened = partial(headless.opened, "ms_exam_gen")


def own_bank(path: Path) -> list[exam.Item]:
    """24 items on sums over four topics, one of them with a wrong key, none of which can be answered without adding."""
    items = []
    for n in range(24):
        right = str(2 * n + 3)
        options = [str(2 * n + 1), str(2 * n + 2), right, str(2 * n + 4)]
        key = "D" if n == 5 else "C"
        made = exam.Item(
            f"What is {n + 1} plus {n + 2}?", tuple(options), key, ("easy", "hard")[n % 2], f"sums {n % 4}", "addition", "knowledge",
            "Addition.", (exam.Evidence("sums.md", f"{n + 1} + {n + 2} = {right}", source="sums.md"),),
        )  # fmt: skip
        items.append(made)
    items = exam.shuffled(items, 3)
    exam.write_bank(items, path, locked=True)
    return items


def test_a_server_sits_an_exam_of_ones_own(checkout, monkeypatch, capsys):
    """Four endpoints on one server: one that adds, one that always says B, one that refuses, and one that built the bank."""
    secret = "sk-" + "f4K3" * 10
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", secret)
    items = own_bank(checkout / "sums.jsonl")
    (checkout / "book").mkdir()
    (checkout / "book" / "sums.md").write_text("\n".join(f"{n + 1} + {n + 2} = {2 * n + 3}" for n in range(24)))

    def reply(body: dict) -> Answer:
        asked, who = last_text(body), body["model"]
        if who == "refuser":
            return Answer("I cannot help with that.")
        if who == "stuck":
            return Answer("B")
        total = sum(map(int, re.search(r"What is (\d+) plus (\d+)", asked).groups()))
        letter = re.search(rf"^([A-D])\. {total}$", asked, flags=re.M)[1]
        return Answer(f"The answer is {letter}." if "passage" in asked else letter)

    with Server(reply=reply) as server:
        at = f"@{server.url}|answer|chat"
        panel = [
            f"adds = openai/adder{at}|closed",
            f"adds, open = openai/adder{at}|open",
            f"stuck = openai/stuck{at}|closed",
        ]
        panel += [
            f"refuses = openai/refuser{at}|closed",
            f"builder = openai/builder{at}|closed",
            "longest option = longest",
        ]
        spec = {
            "paper": "ms_exam_gen", "name": "own", "notebooks": list(STEPS),
            "parameters": {
                "bank": "sums.jsonl", "sources": "book", "panel": panel, "builders": ["builder"], "order_panel": [panel[0], panel[2]],
                "order_items": 12, "replicates": 200, "order_permutations": 500, "permutations": 200, "max_cost_usd": 1.0,
            },
        }  # fmt: skip
        (checkout / "own.yaml").write_text(json.dumps(spec))
        assert main(["run", "own.yaml"]) == 0
        sent = [(seen.body["model"], seen.prompt) for seen in server.requests]
        assert main(["run", "own.yaml"]) == 0
        assert server.count() == len(sent), "a finished step was run again"
    assert len(sent) == len(set(sent)), "the same prompt was sent twice"
    # Five endpoints ask 24 items once; two ask 12 of them in three more orders.
    assert len(sent) == 5 * 24 + 2 * 12 * 3
    assert sum("<passage>" in text for _, text in sent) == 24, "only the open book shows passages"
    assert {seen.body["temperature"] for seen in server.requests} == {0.0}

    run = checkout / "outputs" / "ms_exam_gen" / "own"
    results = pd.read_parquet(run / "tables" / "results.parquet")
    by = results.groupby("endpoint")["correct"].sum().to_dict()
    assert by["adds"] == by["adds, open"] == by["builder"] == 23 and by["refuses"] == 0
    assert by["stuck"] == sum(item.key == "B" for item in items)
    assert set(results[results["endpoint"] == "refuses"]["status"]) == {"refused"}
    scores = pd.read_parquet(run / "tables" / "accuracy.parquet").set_index("endpoint")
    assert (
        "builder" not in scores.index
        and scores.loc["refuses", "unresolved"] == 24
        and pd.isna(scores.loc["refuses", "value_resolved"])
    )
    assert scores.loc["adds", "value_resolved"] == pytest.approx(23 / 24)
    table = pd.read_parquet(run / "tables" / "difficulty.parquet").set_index("item_id")
    wrong_key = items[5].id
    assert table.loc[wrong_key, "missed"] == table["missed"].max() and table["panel"].eq(5).all()
    queues = pd.read_parquet(run / "tables" / "queues.parquet").set_index("item_id")
    assert (
        queues.index[0] == wrong_key
        and queues.loc[wrong_key, "key_text"] == "14"
        and queues.loc[wrong_key, "top_wrong_text"] == "13"
    )
    effects = pd.read_parquet(run / "tables" / "order_effects.parquet").set_index("endpoint")
    assert effects.loc["adds", ["items", "stable", "position_effect"]].tolist() == [12, 1.0, False]
    assert effects.loc["stuck", ["stable", "accuracy_mean", "position_effect"]].tolist() == [0.0, 0.25, True]
    metrics = json.loads((run / "metrics.json").read_text())
    assert set(metrics) == set(STEPS)
    assert metrics["50_lock_and_evaluate"]["metrics"]["bank_hash"] == exam.lock(items).hash
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert not any("sample bank" in text for text in sentences(metrics)), "this is not the sample"
    assert (run / "files" / "review.csv").read_text().startswith("item_id,own_id,queue,")
    assert main(["publish"]) == 0
    page = checkout / "outputs" / "site" / "ms_exam_gen" / "own" / "50_lock_and_evaluate.html"
    assert page.is_file() and os.fspath(checkout) not in page.read_text()
    leaks = [p for p in checkout.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert leaks == [] and secret not in "".join(capsys.readouterr())

    # A file that changed after it was locked is refused: here one explanation, which no id covers.
    path = checkout / "sums.jsonl"
    path.write_text(path.read_text().replace("Addition.", "Subtraction.", 1))
    assert main(["run", "own.yaml"]) == 1
    said = capsys.readouterr().err
    assert "sums.jsonl is not what was locked" in said and "explanation changed" in said


def test_a_panel_that_may_cost_too_much_is_not_asked(checkout, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 40)
    (checkout / "own.yaml").write_text(
        json.dumps(
            {
                "paper": "ms_exam_gen", "name": "dear", "notebooks": ["50_lock_and_evaluate"],
                "parameters": {"panel": ["openai/gpt-4o|answer|chat|closed"], "max_cost_usd": 0.0001},
            }
        )
    )  # fmt: skip
    assert main(["run", "own.yaml"]) == 1
    assert "stopped before sending" in capsys.readouterr().err


def test_what_opens_alone_shows_the_recorded_sample(checkout):
    shown = {
        step: opened(checkout, step)
        for step in ("60_difficulty", "80_review_queues", "70_option_order", "50_lock_and_evaluate")
    }
    assert all("ms_exam_gen/bank.csv" in text for text in shown.values())
    assert all("ms_exam_gen/results.csv" in shown[step] for step in ("60_difficulty", "80_review_queues"))
    interactive = checkout / "outputs" / "ms_exam_gen" / "interactive"
    metrics = json.loads((interactive / "metrics.json").read_text())
    assert set(metrics) == set(STEPS)
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    told = metrics["50_lock_and_evaluate"]["metrics"]
    assert told["items"] == 96 and told["endpoints"] >= 8 and told["answers"] == 96 * told["endpoints"]
    assert all(not entry["models"] for entry in metrics.values()), "a recorded sample asks no model"
    difficulty = metrics["60_difficulty"]
    assert difficulty["metrics"]["endpoints"] == told["endpoints"] and "96 items" in difficulty["summary"]
    assert metrics["70_option_order"]["metrics"]["items"] >= 24
    assert any("no clinician" in text for text in metrics["50_lock_and_evaluate"]["notes"])
    # After 50, the later notebooks read what it wrote, to the same end.
    again = opened(checkout, "60_difficulty")
    assert "ms_exam_gen/results.csv" not in again and "bank.csv" not in again
    assert (
        json.loads((interactive / "metrics.json").read_text())["60_difficulty"]["summary"]
        == metrics["60_difficulty"]["summary"]
    )
