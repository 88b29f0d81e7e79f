"""CheckEmbed from replies to page, headless: the demo in small, notebooks opened alone, and a server as subject and embedder."""

import json
import os
import re
from functools import partial

import headless
import pandas as pd
import pytest
from headless import ROOT, UNDEFINED, sentences

from factlab.cli import main

from server import Answer, Server, last_text  # isort: skip

STEPS = (
    "10_generate_replies",
    "20_verify",
    "30_similar_vs_different",
    "40_forced_errors",
    "60_reliability",
    "90_published",
)
pytestmark = pytest.mark.slow


opened = partial(headless.opened, "checkembed")


def test_the_demo_in_small(checkout, capsys):
    spec = checkout / "params/checkembed/demo.yaml"
    spec.write_text(re.sub(r"notebooks: .*", f"notebooks: [{', '.join(STEPS)}]", spec.read_text()))
    small = ["-plimit=4", "-pversions=1", "-perrors=[0, 1, 3, 5]"]
    assert main(["run", "params/checkembed/demo.yaml", *small]) == 0
    assert main(["publish"]) == 0
    run = checkout / "outputs" / "checkembed" / "demo"
    metrics = json.loads((run / "metrics.json").read_text())
    assert set(metrics) == set(STEPS)
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert metrics["10_generate_replies"]["metrics"] == {
        "questions": 4, "replies": 40, "failed": 0, "pairs": 8, "passages": 48
    }  # fmt: skip
    decided = pd.read_parquet(run / "tables" / "decisions.parquet").set_index("item_id")
    assert (
        (decided["k"] == 10).all()
        and decided["level"].between(0, 1).all()
        and decided["truth_similarity"].notna().all()
    )
    assert metrics["20_verify"]["headline"]["n"] == 4
    assert metrics["20_verify"]["headline"]["value"] == decided["accepted"].mean()
    told = pd.read_parquet(run / "tables" / "separations.parquet")
    assert set(told["method"]) == {"CheckEmbed", "BERTScore", "SelfCheckGPT"} and set(told["kind"]) == {
        "all",
        "generic",
    }
    fewest = pd.read_parquet(run / "tables" / "smallest.parquet").set_index("method")
    # CheckEmbed, section 4.3: one error is told from none.
    assert fewest.loc["CheckEmbed", "from_none"] == 1
    assert metrics["60_reliability"]["metrics"]["questions"] == {"these replies": 4}
    assert "Not comparable" in metrics["90_published"]["summary"]
    page = checkout / "outputs" / "site" / "checkembed" / "demo" / "20_verify.html"
    assert page.is_file() and os.fspath(checkout) not in page.read_text()


@pytest.fixture
def without_torch(tmp_path, monkeypatch):
    """From here on, notebooks cannot import torch."""

    def block():
        folder = tmp_path / "blocked"
        folder.mkdir()
        (folder / "torch.py").write_text("raise ImportError('torch was imported although everything is stored')\n")
        monkeypatch.setenv("PYTHONPATH", os.fspath(folder), prepend=os.pathsep)

    return block


def test_what_opens_alone_shows_the_recorded_samples(checkout, without_torch):
    first = opened(checkout, "60_reliability")
    assert "recorded sample" in first and "checkembed/replies.csv" in first and "checkembed/legal_chunks.csv" in first
    given = {"20_verify": {}, "30_similar_vs_different": {}, "40_forced_errors": {"versions": 1}, "90_published": {}}
    shown = {step: opened(checkout, step, **values) for step, values in given.items()}
    samples = {
        "20_verify": {"replies", "legal_chunks", "descriptions"},
        "30_similar_vs_different": {"descriptions"},
        "40_forced_errors": {"passages"},
        "90_published": set(),
    }
    found = {step: set(re.findall(r"recorded sample \(checkembed/(\w+)\.csv\)", text)) for step, text in shown.items()}
    assert found == samples
    interactive = checkout / "outputs" / "checkembed" / "interactive"
    metrics = json.loads((interactive / "metrics.json").read_text())
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert metrics["60_reliability"]["metrics"]["questions"] == {
        "these replies": 10
    }  # two of twelve texts define nothing
    assert metrics["20_verify"]["metrics"]["questions"] == 12
    told = pd.read_parquet(interactive / "tables" / "separations.parquet").query("kind == 'all'").set_index("method")
    assert told["n"].tolist() == [80] * 3 and told["auroc"].idxmax() == "CheckEmbed"

    # From the stores alone: what embeds whole texts loads no model the second time.
    (interactive / "tables" / "decisions.parquet").unlink()
    without_torch()
    assert "recorded sample" in opened(checkout, "60_reliability")
    again = json.loads((interactive / "metrics.json").read_text())
    assert again["60_reliability"]["summary"] == metrics["60_reliability"]["summary"]
    opened(checkout, "10_generate_replies")
    opened(checkout, "90_published")


def test_a_server_is_asked_again_until_its_replies_agree(checkout, monkeypatch, capsys):
    """Three texts: replies that agree at once, that agree in the second round, and calls that always fail. No different pair can be
    read, and two passages are too few to test: every later step has something undefined to live with."""
    secret = "sk-" + "f4K3" * 10
    monkeypatch.setenv("FACTLAB_API_KEY_127_0_0_1", secret)
    (checkout / "texts.csv").write_text(
        "item_id,text,truth\ncertain,Clause one.,One\nwavering,Clause two.,\nbroken,Clause three.,\n"
    )
    (checkout / "params/checkembed/live.yaml").write_text(
        f"paper: checkembed\nname: live\nnotebooks: [{', '.join(STEPS)}]\n"
        "parameters: {k: 3, limit: 3, regenerate: 1, versions: 1, errors: [0, 2], token_encoder: local/minilm}\n"
    )
    two = pd.read_csv(ROOT / "lib/factlab/samples/checkembed/passages.csv").query("passage_id <= 'passage-02'")
    two.to_csv(checkout / "passages.csv", index=False)
    count = {"wavering": 0}

    def reply(body: dict) -> Answer:
        asked = last_text(body)
        if "input" in body:
            return Answer()
        if "Describe two different things" in asked:
            return Answer("I would rather not.")
        if "DESCRIPTION" in asked:
            return Answer("DESCRIPTION 1\nA short passage.\n\nDESCRIPTION 2\nAnother, longer passage.")
        if "Clause three" in asked:
            return Answer(None)
        if "Clause two" in asked:
            count["wavering"] += 1
            return Answer(f"Two. The clause {'again' * min(count['wavering'], 4)}")
        return Answer("One. The clause")

    with Server(reply=reply) as server:
        name = f"openai/tiny@{server.url}"
        arguments = ["run", "params/checkembed/live.yaml"] + [f"-p{k}={name}" for k in ("subject", "embedder")]
        arguments += ["-ptexts=texts.csv", "-ppassages=passages.csv"]
        assert main(arguments) == 0
        chats = [s.prompt for s in server.requests if "input" not in s.body]
        # Three replies each; the wavering and the broken ones once more; three topics, described alike and in pairs.
        assert sum("Clause one" in c for c in chats) == 3 and sum("Clause two" in c for c in chats) == 6
        assert sum("DESCRIPTION" in c for c in chats) == 6
        embedded = server.count() - len(chats)
        record = (checkout / "outputs/checkembed/live/run.json").read_text()
        assert main(arguments) == 0
        assert (checkout / "outputs/checkembed/live/run.json").read_text() == record, "a finished step was run again"
        assert server.count() == len(chats) + embedded
    run = checkout / "outputs" / "checkembed" / "live"
    replies = pd.read_parquet(run / "tables" / "replies.parquet")
    assert replies.groupby("item_id")["status"].agg(lambda s: (s == "error").sum()).to_dict() == {
        "certain": 0, "wavering": 0, "broken": 3
    }  # fmt: skip
    decided = pd.read_parquet(run / "tables" / "decisions.parquet").set_index("item_id")
    assert decided["accepted"].to_dict() == {"certain": True, "wavering": False, "broken": False}
    assert decided["k"].to_dict() == {"certain": 3, "wavering": 3, "broken": 0}
    assert decided["truth_similarity"].notna().to_dict() == {"certain": True, "wavering": False, "broken": False}
    again = pd.read_parquet(run / "tables" / "again.parquet").set_index("item_id")
    assert again["round"].tolist() == [1, 1] and again["accepted"].to_dict() == {"wavering": True, "broken": False}
    pairs = pd.read_parquet(run / "tables" / "pairs.parquet")
    read = (pairs["text_2"] == "Another, longer passage.").groupby(pairs["setting"]).sum()
    assert len(pairs) == 6 and read.to_dict() == {"similar": 3, "different": 0} and "None" not in set(pairs["error"])
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["10_generate_replies"]["metrics"]["failed"] == 3
    assert metrics["20_verify"]["metrics"]["accepted_later"] == 1
    assert {row["auroc"] for row in metrics["30_similar_vs_different"]["metrics"]["separations"]} == {None}
    assert {row["from_one"] for row in metrics["40_forced_errors"]["metrics"]["smallest"]} == {None}
    assert metrics["60_reliability"]["summary"] == "these replies: correlation undefined (n too small)"
    assert not [text for text in sentences(metrics) if UNDEFINED.search(text)]
    assert not any("135 million" in text for text in sentences(metrics)), "these are not the sample's replies"
    leaks = [p for p in checkout.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert leaks == [] and secret not in "".join(capsys.readouterr())
