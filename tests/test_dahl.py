"""DAHL from questions to page, headless: once with every role played by a server, once by the built-in model."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from factlab.cli import main

from server import Answer, Server  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


def answer(asked: str) -> Answer:
    """Writer, categoriser, subject, splitter and checker in one: which of them is asked shows in the prompt."""
    if "examination questions about the subject" in asked:
        title = asked.split("<article>")[1].strip().splitlines()[0]
        lines = [f"What should be known about “{title}”?", "What does this study show?", "Which treatment was chosen?"]
        return Answer("Here are the questions:\n" + "\n".join(f"{i}. {line}" for i, line in enumerate(lines, 1)))
    if "To which field of medicine" in asked:
        return Answer("ambiguous" if "chosen" in asked else "Public Health" if "health" in asked.lower() else "Surgery")
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
        arguments = ["run", "params/dahl/live.yaml"] + [f"-p{k}={v}" for k, v in values.items()]
        assert main(arguments) == 0
        once = server.count()
        assert main(arguments) == 0 and main([*arguments, "--force"]) == 0
        assert server.count() == once, "a reply was asked for twice"
        sent = [s.headers.get("authorization") or s.headers.get("Authorization") for s in server.requests]
    assert main(["publish"]) == 0
    run = checkout / "outputs" / "dahl" / "live"
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


@pytest.mark.released
def test_a_benchmark_from_real_articles_reviewed_by_a_person(checkout, monkeypatch, released):
    """13 articles of PubMed Central: questions by a server, what the rules caught, a person's table read back, what is left."""
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", "none-needed")
    run = checkout / "outputs" / "dahl" / "paper_build"
    with Server(default=answer) as server:
        name = f"openai/tiny@{server.url}"
        values = {"writer": name, "categoriser": name, "articles": released / "pmc", "max_cost_usd": "null"}
        values["benchmark"] = released / "dahl" / "questions_with_source_paper.csv"
        arguments = ["run", "params/dahl/paper_build.yaml"] + [f"-p{k}={v}" for k, v in values.items()]
        assert main(arguments) == 0
        first = json.loads((run / "metrics.json").read_text())["10_build_questions"]["metrics"]
        funnel = {row["stage"]: row["n"] for row in first["funnel"]}
        assert (first["articles"], first["written"]) == (13, 39)
        # 13 questions of their own, and two that every article repeats.
        assert (funnel["distinct"], funnel["stand alone by rule"], funnel["of one category"]) == (15, 13, 13)
        assert (first["audited"], first["audited_repeats"]) == (8573, 69)
        built = pd.read_parquet(run / "tables" / "questions.parquet")
        assert built["source"].nunique() == 13 and built["source"].str.contains("PMC|10\\.").all()
        shares = pd.read_parquet(run / "tables" / "rule_shares.parquet").set_index("rule")
        assert 0 < shares.loc["any automatic rule", "share"] < 0.05

        review = pd.read_csv(run / "files" / "review.csv", keep_default_na=False)
        assert set(review["rule"]) == {"the study; was used", "the study", "was used"} - {"the study; was used"}
        # In the run's own folder, as people do: keep one with a category of their own, drop one that no rule caught.
        review.loc[review["question"] == "Which treatment was chosen?", ["decision", "category"]] = ["keep", "oncology"]
        review.loc[len(review)] = {"question": built["question"][0], "decision": "drop"}
        review.to_csv(run / "files" / "review.csv", index=False)
        assert main([*arguments, f"-preview={run / 'files' / 'review.csv'}"]) == 0
    again = pd.read_parquet(run / "tables" / "questions.parquet").set_index("question")
    assert again.loc["Which treatment was chosen?", "category"] == "Oncology"
    assert built["question"][0] not in again.index and len(again) == 13
    kept = pd.read_csv(run / "files" / "review.csv", keep_default_na=False).set_index("question")
    assert kept.loc["Which treatment was chosen?", "decision"] == "keep"


def test_a_grid_of_temperatures_is_compared_and_ranked(checkout, monkeypatch):
    """Five runs by a server: at the highest temperature it says something false beside; too few questions are said, not tested."""
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", "none-needed")
    rows = "".join(f"What is organ {i}?,Anatomy,paper {i}\n" for i in range(12))
    (checkout / "questions.csv").write_text("question,category,source\n" + rows)
    (checkout / "claims.csv").write_text("claim,label\n" + "It is on the moon.,false\nIt is so.,true\n" * 6)
    (checkout / "params" / "dahl" / "grid.yaml").write_text(
        (checkout / "params" / "dahl" / "demo_temperature.yaml").read_text().replace("fraction: 0.5", "samples: 2")
    )

    def warm(request: dict) -> Answer:
        asked = request["messages"][-1]["content"]
        if "<statement>" in asked or "atomic units" in asked:
            return answer(asked)
        more = " It lies on the moon." if request["temperature"] == 1 else ""
        return Answer(f"{asked.removeprefix('What is ').rstrip('?').capitalize()} is an organ.{more}")

    with Server(reply=warm) as server:
        name = f"openai/tiny@{server.url}"
        values = {"subject": name, "checker": name, "questions": "questions.csv", "audit": "claims.csv"}
        assert main(["run", "params/dahl/grid.yaml"] + [f"-p{k}={v}" for k, v in values.items()]) == 0
    folder = checkout / "outputs" / "dahl" / "demo_temperature"
    compared = pd.read_parquet(folder / "tables" / "against_reference.parquet").set_index("temperature")
    assert compared["n"].tolist() == [12] * 4 and compared["difference"].tolist() == [0, 0, 0, -0.5]
    assert compared["differs"].tolist() == [False, False, False, True]
    assert compared["equivalent"].fillna(False).tolist()[-1] is False
    lines = [json.loads(line) for line in (folder / "files" / "preferences.jsonl").read_text().splitlines()]
    assert len(lines) == 12 and {tuple(line) for line in lines} == {tuple(lines[0])}
    assert lines[0]["chosen"] == [{"role": "assistant", "content": "Organ 0 is an organ."}]
    assert lines[0]["rejected"][0]["content"].endswith("moon.")
    metrics = json.loads((folder / "metrics.json").read_text())
    assert "1 of 4 temperatures differ" in metrics["50_temperature"]["summary"]


def test_what_opens_alone_shows_the_recorded_samples(checkout):
    """As in JupyterLab, on what the samples hold: annotators, temperatures, samples, preferences, the published table."""
    import papermill

    folder = checkout / "notebooks" / "dahl"
    shown = {}
    for step in ("40_annotator_agreement", "50_temperature", "60_sample_check", "70_preferences", "90_published"):
        given = {"judge": ""} if step.startswith("40") else {}
        if given:  # the verdicts of a run, since this test asks no model
            labels = pd.read_csv(ROOT / "lib/factlab/samples/dahl/units.csv", keep_default_na=False)
            tables = checkout / "outputs" / "dahl" / "interactive" / "tables"
            tables.mkdir(parents=True)
            labels.rename(columns={"label_b": "verdict"}).to_parquet(tables / "verdicts.parquet")
        papermill.execute_notebook(
            folder / f"{step}.ipynb", checkout / "out.ipynb", given, cwd=folder, progress_bar=False
        )
        shown[step] = (checkout / "out.ipynb").read_text()
    assert [step for step, text in shown.items() if "this page shows the recorded sample" in text] == [
        "50_temperature", "60_sample_check", "70_preferences"
    ]  # fmt: skip
    metrics = json.loads((checkout / "outputs" / "dahl" / "interactive" / "metrics.json").read_text())
    assert (
        "5 temperatures" not in metrics["50_temperature"]["summary"] and "slope" in metrics["50_temperature"]["summary"]
    )
    assert "of 10 pairs" in metrics["60_sample_check"]["summary"]
    assert metrics["90_published"]["summary"].startswith("published: 0.74 to 0.94")
    assert all("NaN" not in entry["summary"] and "<NA>" not in entry["summary"] for entry in metrics.values())


def test_the_headline_is_a_measurement_on_labels(checkout, capsys):
    """The demo's score without a model: recorded answers, labels, and what follows from both."""
    spec = (
        (checkout / "params/dahl/demo.yaml")
        .read_text()
        .replace("40_annotator_agreement, ", "")
        .replace("  judge:", "  # judge:")
    )
    (checkout / "params/dahl/demo.yaml").write_text(spec)
    assert main(["run", "params/dahl/demo.yaml"]) == 0
    metrics = json.loads((checkout / "outputs/dahl/demo/metrics.json").read_text())
    headline = metrics["30_score"]["headline"]
    labels = pd.read_csv(ROOT / "lib/factlab/samples/dahl/units.csv", keep_default_na=False)
    judged = labels.groupby("response_id")["label"]
    shares = judged.agg(lambda found: (found == "true").mean())[judged.agg(lambda found: "unknown" not in set(found))]
    assert headline["value"] == pytest.approx(shares.mean()) and headline["n"] == len(shares) == 54
    assert metrics["30_score"]["models"]["reference"]["errors"] == 0
    assert "local/smollm2" not in metrics["30_score"]["models"]
    assert (
        "subject:recorded local/smollm2" in headline["signature"]
        and "Not comparable" in metrics["90_published"]["summary"]
    )


def test_the_demo_in_small_with_the_builtin_model(checkout, capsys):
    small = ["-p", "limit=3", "-p", "max_tokens=40"]
    rows = "The heart pumps blood.,true\nThe liver is in the skull.,false\n" * 6
    (checkout / "claims.csv").write_text("claim,label\n" + rows)
    assert main(["run", "params/dahl/live.yaml", *small, "-p", f"audit={checkout / 'claims.csv'}"]) == 0
    assert main(["publish"]) == 0
    out = capsys.readouterr().out
    assert "DAHL score" in out and "Judge audit: local/smollm2" in out
    run = checkout / "outputs" / "dahl" / "live"
    responses = pd.read_parquet(run / "tables" / "responses.parquet")
    assert len(responses) == 3 and responses["response"].str.len().gt(50).all() and responses["error"].isna().all()
    site = checkout / "outputs" / "site"
    for page in (
        "index.html",
        "dahl/live/index.html",
        "dahl/live/20_generate_responses.html",
        "dahl/live/30_score.html",
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
