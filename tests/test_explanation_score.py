"""From a table of items to a data set's LExT score; the papers' tables and the authors' own calls."""

import json
import math
import time

import numpy as np
import pandas as pd
import pytest

from factlab import explanation as ex

ITEM = {
    "item_id": "a",
    "cosines": [0.8, 0.6],
    "gold_tags": ["pain", "rib"],
    "tags": [["pain", "rib"], ["drug"]],
    "relevancy": 0.6,
    "paraphrase_cosines": [0.5, 0.5, 0.8],
    "paraphrase_tags": [["pain"], ["rib"], ["pain"]],
    "answered": [True, False, True, True],
    "label": "yes",
    "counterfactual_label": "yes",
    "redacted_label": "unknown",
    "sequential_labels": ["unknown", "no", "no", "unknown", "random"],
}


def one(**changes) -> pd.Series:
    variant = changes.pop("variant", "paper")
    return ex.score_items(pd.DataFrame([{**ITEM, **changes}]), variant).iloc[0]


def test_one_item_by_hand():
    row = one()
    assert row["accuracy"] == pytest.approx(0.8) and row["correctness"] == pytest.approx(0.7)
    assert row["iterative"] == pytest.approx(1 - 0.01) and row["paraphrase"] == pytest.approx(1 - 0.02)
    assert row["consistency"] == pytest.approx(0.985) and row["plausibility"] == pytest.approx(0.8425)
    assert (row["qag"], row["counterfactual"], row["contextual"]) == (0.75, 0, 0.4)
    assert row["faithfulness"] == pytest.approx(1.15 / 3)
    assert row["trust"] == pytest.approx(ex.trust(0.8425, 1.15 / 3))
    assert (row["status"], row["reasons"], row["answers"], row["paraphrases"]) == ("scored", "", 2, 3)


def test_variants_of_one_item():
    released, tables = one(variant="released"), one(variant="tables")
    assert released["iterative"] == pytest.approx(1 - 0.16)  # of weighted accuracies 0.8 and 0
    assert released["counterfactual"] == 0.5
    assert released["faithfulness"] == pytest.approx((0.75 + 0.5 + 0.4) / 3)
    assert tables["faithfulness"] == pytest.approx((0.5 + 0.4) / 2)
    assert one(variant="released", tags=[[], []])["accuracy"] == pytest.approx(0.8 * 1e-8**0.2)


@pytest.mark.parametrize(
    ("changes", "metric", "value", "reason"),
    [
        ({"cosines": [None, 0.6], "tags": [None, ["drug"]]}, "accuracy", None, "accuracy: no first answer"),
        ({"cosines": [0.8, None, 0.6], "tags": [["pain"], None, []]}, "iterative", 0.99, "1 of 3 answers missing"),
        ({"cosines": [0.8], "tags": [["pain"]]}, "iterative", None, "1 answer, two are needed"),
        ({"gold_tags": []}, "accuracy", 0, "the ground truth has no entities"),
        ({"relevancy": math.nan}, "relevancy", None, "no question was written"),
        ({"answered": []}, "qag", None, "qag: no questions"),
        ({"answered": [True, None, False]}, "qag", 0.5, "qag: 1 of 3 questions missing"),
        ({"label": "maybe"}, "counterfactual", None, "the answer is maybe, which has no opposite"),
        ({"counterfactual_label": None}, "counterfactual", None, "no answer to the flipped explanation"),
        ({"redacted_label": None}, "contextual", None, "contextual: no answer"),
        ({"redacted_label": "no", "sequential_labels": None}, "contextual", 0, ""),
        ({"sequential_labels": ["unknown", None]}, "contextual", 1, "contextual: 1 of 2 answers missing"),
    ],
)
def test_what_is_missing_is_said(changes, metric, value, reason):
    row = one(**changes)
    assert reason in row["reasons"]
    assert pd.isna(row[metric]) if value is None else row[metric] == pytest.approx(value)
    assert row["status"] == ("undefined" if value is None else "scored")
    assert pd.isna(row["trust"]) == (value is None)


def test_what_was_not_measured_is_missing():
    row = ex.score_items(pd.DataFrame([ITEM])[["item_id", "cosines", "paraphrase_cosines"]]).iloc[0]
    assert row["consistency"] == pytest.approx(0.985)
    assert pd.isna(row["accuracy"]) and pd.isna(row["faithfulness"])
    assert "qag: no column 'answered'" in row["reasons"] and "iterative" not in row["reasons"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cosines": [0.8]}, "item 'a': 1 cosines and 2 tags"),
        ({"cosines": [8, 6]}, "item 'a': expected a cosine"),
        ({"cosines": 0.8}, "item 'a': cosines: expected a list"),
        ({"relevancy": "high"}, "item 'a': relevancy: 'high' is not a number"),
        ({"tags": ["pain", "rib"]}, "item 'a': tags: expected a list, got 'pain'"),
        ({"label": "I would"}, "item 'a': original: 'I would' is no label"),
    ],
)
def test_errors_name_the_item(changes, message):
    with pytest.raises(ValueError, match=message):
        one(**changes)


def test_errors_of_the_table():
    frame = pd.DataFrame([ITEM])
    for wrong, message in (
        (frame.drop(columns="item_id"), "item_id"),
        (pd.concat([frame, frame]), "more than one row"),
        (frame[["item_id"]], "none of the columns"),
    ):
        with pytest.raises(ValueError, match=message):
            ex.score_items(wrong)
    for options in ({"variant": "code"}, {"aggregate": "median"}, {"clusters": "vignette"}):
        with pytest.raises(ValueError, match=next(iter(options.values()))):
            ex.score(frame, **options)


def many(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    changes = [
        {
            "item_id": f"item {i}",
            "vignette": i // 2,
            "cosines": list(rng.uniform(0.3, 0.95, 2)),
            "relevancy": rng.uniform(0.2, 0.9),
            "label": ["yes", "no", "maybe"][rng.choice(3, p=[0.5, 0.4, 0.1])],
            "counterfactual_label": ["yes", "no", "unknown"][rng.integers(3)],
            "redacted_label": ["yes", "unknown"][rng.integers(2)],
        }
        for i in range(n)
    ]
    return pd.DataFrame([{**ITEM, **change} for change in changes])


def test_a_data_sets_score_is_that_of_its_means():
    scores = ex.score(many(24), parts={"subject": "local/x"})
    found = scores.estimates
    assert list(found) == list(ex.METRICS)
    assert scores.lext.value == pytest.approx(ex.trust(found["plausibility"].value, found["faithfulness"].value))
    assert 0 < scores.lext.low < scores.lext.value < scores.lext.high < 1
    undefined = int(scores.items["faithfulness"].isna().sum())
    assert undefined and found["faithfulness"].counts == {"undefined": undefined}
    assert scores.lext.reason == "plausibility over 24 items"
    assert scores.lext.n == found["faithfulness"].n == 24 - undefined and scores.lext.counts == {"undefined": undefined}
    key = f"lext|subject:local/x|variant:paper|beta:0.2|aggregate:means|n:{24 - undefined}"
    assert scores.lext.signature.startswith(key)
    assert list(scores.table()["metric"]) == list(ex.METRICS)


def test_the_mean_of_items_is_an_option_and_lower():
    frame = many(24)
    means, items = ex.score(frame).lext, ex.score(frame, aggregate="items").lext
    kept = ex.score_items(frame)["trust"].dropna().astype(float)
    assert items.value == pytest.approx(kept.mean()) and items.n == len(kept)
    assert items.value < means.value


def test_the_interval_resamples_items_jointly():
    # P and F of an item mirror each other, so that means of both hardly move the score; drawn apart they would.
    p = np.linspace(0.3, 0.7, 30)
    joint = ex.trust_of_means(p, 1 - p)
    apart = ex.trust_of_means(p, np.random.default_rng(1).permutation(1 - p))
    assert joint.high - joint.low < (apart.high - apart.low) / 3


def test_the_interval_resamples_clusters():
    # Each vignette in five copies: as clusters they count once.
    p, f = np.repeat(np.linspace(0.3, 0.9, 12), 5), np.repeat(np.linspace(0.2, 0.8, 12), 5)
    alone, clustered = ex.trust_of_means(p, f), ex.trust_of_means(p, f, np.repeat(np.arange(12), 5))
    assert clustered.value == pytest.approx(alone.value) and clustered.clusters == 12
    assert clustered.high - clustered.low > 1.8 * (alone.high - alone.low)
    frame = many(24)
    scores = ex.score(frame, clusters="vignette")
    assert scores.lext.clusters == scores.estimates["faithfulness"].clusters < scores.estimates["plausibility"].clusters == 12  # fmt: skip


def test_the_interval_does_not_depend_on_the_order_of_items():
    frame = many(24)
    first, other = ex.score(frame).lext, ex.score(frame.sample(frac=1, random_state=3)).lext
    assert (first.low, first.high) == pytest.approx((other.low, other.high))


@pytest.mark.parametrize(
    ("p", "f", "value", "reason"),
    [
        ([0.5, 0.7], [0.2, 0.4], ex.trust(0.6, 0.3), "2 items: too few"),
        ([0.5, 0.7, 0.6, 0.9, 0.4, 0.5], [0] * 6, 0, "all resamples give the same score"),
        ([0.5] * 6, [None] * 6, None, "no item has a faithfulness"),
        ([], [], None, "no item has a plausibility"),
    ],
)
def test_scores_without_an_interval(p, f, value, reason):
    found = ex.trust_of_means(np.array(p, dtype=object), np.array(f, dtype=object))
    assert found.low is None and reason in found.reason
    assert found.value is None if value is None else found.value == pytest.approx(value)


def test_a_table_survives_parquet(tmp_path):
    frame = many(8)
    frame.to_parquet(tmp_path / "items.parquet")
    pd.testing.assert_frame_equal(ex.score_items(pd.read_parquet(tmp_path / "items.parquet")), ex.score_items(frame))


def test_a_thousand_items_take_seconds():
    frame = many(1000)
    started = time.perf_counter()
    assert ex.score(frame).estimates["plausibility"].n == 1000
    assert time.perf_counter() - started < 10


# --- what the authors published --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def golden(released):
    path = released / "lext" / "golden.json"
    return json.loads(path.read_text())


@pytest.mark.released
def test_the_authors_own_call(golden):
    call = golden["notebook_lext_call"]
    # An empty explanation was scored: no entities.
    weight = ex.ner_weight(["paracetamol", "fever"], [], variant="released")
    assert weight == pytest.approx(call["ner_weight_empty_pred"])
    accuracy = ex.weighted_accuracy(call["cosine_implied"], ["paracetamol", "fever"], [], variant="released")
    assert accuracy == pytest.approx(call["accuracy"])
    assert ex.correctness(accuracy, call["context_relevancy"]) == pytest.approx(call["correctness"])
    consistency = ex.combined_consistency(call["iterative_stability"], call["paraphrase_stability"])
    assert consistency == pytest.approx(call["consistency"])
    plausibility = ex.plausibility(call["correctness"], consistency)
    assert plausibility == pytest.approx(call["plausibility"])
    assert ex.counterfactual_stability("yes", "no", "released") == call["counterfactual"]
    faithfulness = ex.faithfulness(call["qag"], call["counterfactual"], call["contextual"], "released")
    assert faithfulness == pytest.approx(call["faithfulness"])
    assert ex.trust(plausibility, faithfulness) == pytest.approx(call["lext"])


@pytest.mark.released
def test_the_authors_second_call(golden):
    call = golden["notebook_second"]
    assert ex.correctness(call["accuracy"], call["context_relevancy"]) == pytest.approx(call["correctness"])
    consistency = ex.combined_consistency(call["iterative_stability"], call["paraphrase_stability"])
    assert consistency == pytest.approx(call["consistency"])


@pytest.mark.released
def test_table_6_within_propagated_rounding(golden):
    for model, row in golden["table6"].items():
        for p, f, printed in (row[:3], row[3:]):
            # the score grows with both, so that the corners of the rounding bound it
            half = 0.00005
            low, high = ex.trust(p - half, f - half), ex.trust(p + half, f + half)
            assert low - half <= printed <= high + half, (model, p, f)


@pytest.mark.released
def test_table_6_follows_from_table_7(golden):
    """Faithfulness without QAG in 11 of 12 cells, plausibility in 9 of 12, as the audit says."""
    plausible, tables, paper, total = [], [], [], 0
    for model, row in golden["table6"].items():
        corr_q, corr_p, cons_q, cons_p, qag_q, qag_p, cf_q, cf_p, ctx_q, ctx_p = golden["table7"][model]
        cells = (
            ("Q", row[:2], corr_q, cons_q, qag_q, cf_q, ctx_q),
            ("P", row[3:5], corr_p, cons_p, qag_p, cf_p, ctx_p),
        )
        for dataset, (p, f), correctness, consistency, qag, counterfactual, contextual in cells:
            total += 1
            near = {"abs": 0.0005 + 0.00005 + 1e-9}  # parts are printed with three digits, their means with four
            if ex.plausibility(correctness, consistency) != pytest.approx(p, **near):
                plausible.append((model, dataset))
            if ex.faithfulness(qag, counterfactual, contextual, "tables") != pytest.approx(f, **near):
                tables.append((model, dataset))
            if ex.faithfulness(qag, counterfactual, contextual) != pytest.approx(f, **near):
                paper.append((model, dataset))
    assert total == 12
    assert tables == [("Meditron", "Q")]
    assert len(plausible) == 3 and ("Llama3", "P") in plausible
    assert len(paper) == 12, "no cell is the mean of all three"


def test_a_table_from_a_csv_file_scores_the_same(tmp_path):
    """Lists stand in text files as JSON; an empty cell is missing."""
    cells = {"cosines": [0.8, None, 0.7], "gold_tags": ["rib"], "tags": [["rib"], None, []], "answered": [True, False], "sequential_labels": []}  # fmt: skip
    frame = pd.DataFrame([{"item_id": "a", "relevancy": 0.5} | cells, {"item_id": "b", "relevancy": 0.4}])
    written = frame.assign(**{c: frame[c].map(lambda v: json.dumps(v) if isinstance(v, list) else v) for c in cells})
    written.to_csv(tmp_path / "parts.csv", index=False)
    pd.testing.assert_frame_equal(ex.score_items(pd.read_csv(tmp_path / "parts.csv")), ex.score_items(frame))
    with pytest.raises(ValueError, match=r"item 'a': cosines: expected a list, got '0.8, 0.7'; write it as JSON"):
        ex.score_items(frame.head(1).assign(cosines="0.8, 0.7"))
