"""LExT's scores as the page shows them: tables in short, one item whole, what plainer measures notice."""

import pandas as pd
import pytest

from factlab.studies.lext import overlaps, trust

CONTEXT = (
    "Of 800 women on aspirin 14 fell ill, and of 800 on placebo 35 did, in a trial that nobody was told the arms of."
)
ROWS = pd.DataFrame(
    [
        ("all", "plausibility", 0.66, 0.54, 0.75, 8, "only 8 items: the interval is likely too narrow", "a|interval:bca|x"),
        ("all", "faithfulness", 0.2222, 0.0, 0.3333, 6, "only 6 items: the interval is likely too narrow", "a|interval:bca|x"),
        ("all", "trust", 0.33, 0.0, 0.46, 6, "only 6 items: the interval is likely too narrow", "a|interval:bca|x"),
        ("Q-Pain form", "plausibility", 0.61, None, None, 4, "4 items: too few for an interval, 5 needed", "a|n:4"),
        ("Q-Pain form", "faithfulness", None, None, None, 0, "no items", "a|n:0"),
        ("Q-Pain form", "trust", None, None, None, 0, "no item has a faithfulness", "a|n:0"),
        ("all", "qag", 0.0, 0.0, 0.32, 8, "", "a|interval:wilson"),
    ],
    columns=["data", "metric", "value", "low", "high", "n", "reason", "signature"],
).astype({"value": "Float64", "low": "Float64", "high": "Float64"})  # fmt: skip


def test_scores_stand_in_short_and_what_holds_for_all_is_said_once():
    wide = trust.table6(ROWS).set_index("score")
    assert wide.index.tolist() == ["plausibility", "faithfulness", "LExT"]
    assert wide["all items"].tolist() == [
        "0.66 [0.54, 0.75], n = 8",
        "0.22 [0.00, 0.33], n = 6",
        "0.33 [0.00, 0.46], n = 6",
    ]
    assert wide["Q-Pain form"].tolist() == ["0.61, n = 4", "undefined", "undefined"]
    said = trust.intervals_note(ROWS)
    assert "no interval where fewer than 5" in said and "fewer than 10 items are likely too narrow" in said
    assert "Wilson" in said and "Wilson" not in trust.intervals_note(ROWS.iloc[:6])
    assert trust.intervals_note(ROWS.assign(n=80, reason="", low=0.1)) == ""


def test_who_was_asked_is_as_the_replies_say():
    calls = pd.DataFrame({"stage": ["explain", "question", "flip", "keywords"], "model": ["small", "large", "large", ""]})  # fmt: skip
    assert [trust.who(calls, role) for role in ("subject", "larger", "judge")] == ["small", "large", "nobody"]


def call(stage: str, number: int, asked: str, reply: str, read: str = "") -> dict:
    return {"item_id": "a", "stage": stage, "number": number, "asked": asked, "reply": reply, "read": read}


def test_one_item_shows_its_context_once_and_the_end_of_every_prompt():
    asked = f"<context>\n{CONTEXT}\n</context>\n\nDoes it help? Explain in two sentences."
    redacted = asked.replace("aspirin", "[REDACTED]").replace("placebo", "[REDACTED]")
    calls = pd.DataFrame(
        [call("redacted", 0, redacted, "I cannot tell.", "unknown"), call("qag_answerable", 1, "x?", "No.", "no")]
        + [call("explain", i, asked, "Yes, it does." if i < 4 else "No.", "yes" if i < 4 else "no") for i in range(5)]
        + [call("qag_answerable", 0, "w?", "", ""), {**call("explain", 0, asked, "other"), "item_id": "b"}]
    )
    shown = trust.worked_calls(calls, "a", CONTEXT)
    stages = ["1.1 to 5 explain", "4b.1 qag answerable", "4b.2 qag answerable", "6b.1 redacted"]
    assert shown["stage"].tolist() == [f"{stage}, subject" for stage in stages]
    assert shown["prompt"][0] == "<context>\nas above\n</context>\n\nDoes it help? Explain in two sentences."
    assert shown["reply"][0] == "4 × Yes, it does. | No." and shown["read as"][0] == "4 × yes | no"
    assert shown["reply"][1] == "–"
    cut = shown["prompt"][3]
    assert "women on [REDACTED] 14 fell ill" in cut and "nobody was told" not in cut and cut.endswith("two sentences.")
    assert cut.count("[REDACTED]") == 2 and len(cut) < 200
    alone = trust.worked_calls(calls.drop(columns="asked"), "a", CONTEXT)  # recorded replies have no prompts
    assert len(alone) == 8 and (alone["prompt"] == "").all()


def test_what_is_known_of_the_item_stands_in_lines():
    items = pd.DataFrame(
        [{"item_id": "a", "question": "q?", "context": CONTEXT, "label": "no", "dose": "", "explanation": "e"}]
    )
    shown = trust.worked_facts(items, "a")
    assert shown["what"].tolist() == ["item", "question", "context", "gold answer", "expert's explanation"]
    assert shown["text"].tolist() == ["a", "q?", CONTEXT, "no", "e"]


QUALITY = pd.DataFrame(
    {"measure": ["BLEU", "ROUGE-L", "weighted accuracy"], "n": 8, "wrong_below_good": ["6 of 8", "8 of 8", "7 of 8"]}
)


def test_who_notices_a_wrong_reason_is_said():
    said = overlaps.known_sentence(QUALITY)
    assert said.startswith("Of 8 pairs LExT's weighted accuracy puts the wrong reason below the good one in 7 (")
    assert "probability of 0.04); ROUGE-L 8, BLEU 6." in said  # 9 of 256
    assert "no pair" in overlaps.known_sentence(QUALITY.assign(wrong_below_good="0 of 0"))


@pytest.mark.parametrize(
    ("reasons", "said"),
    [(["", ""], ""), (["only 6 items: not tested"] * 2, "2 of 2 correlations: only 6 items: not tested")],
)
def test_reasons_of_correlations_are_said_once(reasons, said):
    assert overlaps.correlations_note(pd.DataFrame({"reason": reasons})) == said
