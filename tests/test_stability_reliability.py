"""Separation, risk and coverage, AUROC; and CheckEmbed's released matrices against their summaries."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import stats
from factlab.stability import (
    accept,
    aurc,
    aurc_bounds,
    read_first,
    risk_coverage,
    separation,
    summaries,
    summarise,
    truth_similarity,
)

NAN = math.nan
SCORES = st.lists(st.integers(0, 6).map(lambda x: x / 4), min_size=1, max_size=12)


def logit(p):
    return math.log(p / (1 - p))


# ---------------------------------------------------------------- separation

GROUPS = [
    # similar, different, AUROC, share in the common range, overlap coefficient, cut
    ([0.9, 0.8], [0.2, 0.1], 1, 0, 0, 0.5),
    ([0.1], [0.9], 0, 0, 0, 0.5),
    ([0.5, 0.5], [0.5], 0.5, 1, 1, 0.5),
    ([0.9, 0.5], [0.6, 0.1], 0.75, 0.5, 0.5, 0.3),  # common range 0.5..0.6 holds two of four
    ([0.9, 0.4, 0.8, 0.7], [0.5, 0.3, 0.2], 11 / 12, 2 / 7, 1 / 4, 0.6),
]


@pytest.mark.parametrize(("similar", "different", "auroc", "shared", "overlap", "cut"), GROUPS)
def test_groups_by_hand(similar, different, auroc, shared, overlap, cut):
    found = separation(similar, different)
    assert (found.auroc.value, found.shared, found.overlap) == pytest.approx((auroc, shared, overlap))
    assert found.cut == pytest.approx(cut)
    assert (found.similar, found.different, found.missing) == (len(similar), len(different), 0)


@settings(max_examples=60, deadline=None)
@given(SCORES, SCORES)
def test_separation_follows_its_definitions(similar, different):
    found = separation(similar, different)
    a, b = np.array(similar), np.array(different)
    assert found.auroc.value == pytest.approx(((a[:, None] > b) + 0.5 * (a[:, None] == b)).mean())
    cuts = np.append(np.unique(np.concatenate([a, b])) + 0.01, -1)
    errors = [(a <= c).mean() + (b > c).mean() for c in cuts]
    assert found.overlap == pytest.approx(min(*errors, *(2 - e for e in errors)))
    turned = separation(different, similar)
    assert turned.auroc.value == pytest.approx(1 - found.auroc.value)
    assert (turned.overlap, turned.shared) == pytest.approx((found.overlap, found.shared))
    json.dumps(found.to_dict(), allow_nan=False)


def test_undefined_scores_are_counted_and_empty_groups_said():
    found = separation([0.9, None, 0.8], [0.1, NAN])
    assert (found.similar, found.different, found.missing) == (2, 1, 2)
    assert found.auroc.counts == {"undefined": 2}
    empty = separation([], [0.1])
    assert (empty.auroc.status, empty.auroc.reason) == ("undefined", "the pairs are not both similar and different")
    assert math.isnan(empty.overlap) and json.loads(json.dumps(empty.to_dict(), allow_nan=False))["overlap"] is None


def test_topics_in_both_groups_are_clusters():
    rng = np.random.default_rng(0)
    topic = rng.normal(size=(30, 1))
    similar, different = (topic + 0.1 * rng.normal(size=(30, 4)) + shift for shift in (0.5, 0))
    labels = np.repeat(np.arange(30), 4)
    alone = separation(similar.ravel(), different.ravel()).auroc
    together = separation(similar.ravel(), different.ravel(), (labels, labels)).auroc
    assert together.clusters == 30 and together.value == alone.value
    # A topic moves both groups alike, which a cluster bootstrap sees: its deviation on the logit scale is the interval's.
    drawn = [separation(similar[d].ravel(), different[d].ravel()) for d in rng.integers(0, 30, (400, 30))]
    deviation = np.std([logit(x.auroc.value) for x in drawn])
    assert (logit(together.high) - logit(together.low)) / (2 * 1.96) == pytest.approx(deviation, rel=0.15)
    assert together.high - together.low < 0.8 * (alone.high - alone.low)
    with pytest.raises(ValueError, match="expected 120 labels of the similar and 120"):
        separation(similar.ravel(), different.ravel(), (labels, labels[:3]))


# ---------------------------------------------------------------- AUROC


def test_auroc_of_classes_that_do_not_overlap_has_an_interval():
    found = stats.auroc([True] * 12 + [False] * 20, np.arange(32)[::-1])
    wilson = stats.proportion(12, 12)
    assert (found.value, found.low, found.high) == pytest.approx((1, wilson.low, 1))
    assert found.method == "Wilson, 12 pairs" and "do not overlap" in found.reason
    assert stats.auroc([True, False], [1, 0]).low is None
    # Ten clusters with both classes make five pairs without a common cluster.
    clustered = stats.auroc([True, False] * 10, [1, 0] * 10, np.repeat(range(10), 2))
    assert clustered.method == "Wilson, 5 pairs" and clustered.low < stats.auroc([True, False] * 10, [1, 0] * 10).low


def test_auroc_interval_covers():
    rng = np.random.default_rng(1)
    truth, hits, runs = 0.5 + math.erf(0.5) / 2, 0, 400  # normal scores, one standard deviation apart
    for _ in range(runs):
        scores = np.concatenate([rng.normal(1, 1, 20), rng.normal(0, 1, 20)])
        found = stats.auroc(np.arange(40) < 20, scores)
        hits += found.low <= truth <= found.high
    assert 0.91 <= hits / runs <= 0.99


def test_few_of_a_class_are_pointed_out():
    assert stats.auroc([True, False] * 4, [3, 1, 2, 2, 5, 4, 1, 2]).reason.startswith("only 4 positive items")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([True, False], [1]), "positive has 2 rows and scores has 1"),
        (([True, None], [1, 2]), "positive, row 1: no class"),
        (([True, False], [1, "high"]), "scores, row 1"),
        (([True, False], [1, 2], [1]), "clusters has 1 rows"),
    ],
)
def test_auroc_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        stats.auroc(*arguments)


# ---------------------------------------------------------------- risk and coverage


def test_risk_coverage_by_hand():
    table = risk_coverage([0.9, 0.6, 0.8, 0.7], [0, 1, 1, 0])  # surest first: 0, 1, 0, 1
    assert table["threshold"].tolist() == [0.9, 0.8, 0.7, 0.6]
    assert table["n"].tolist() == [1, 2, 3, 4] and table["coverage"].tolist() == [0.25, 0.5, 0.75, 1]
    assert table["risk"].tolist() == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert table["area"].iloc[-1] == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    wilson = stats.proportion(1, 3)
    assert (table["low"][2], table["high"][2]) == pytest.approx((wilson.low, wilson.high))


def test_equally_sure_answers_are_given_together():
    table = risk_coverage([0.9, 0.5, 0.5], [0, 1, 0])
    assert table["n"].tolist() == [1, 3]
    # The middle one of three is either of the two: mean of the orders 0,1,0 and 0,0,1.
    by_order = np.mean([[0, 1 / 2, 1 / 3], [0, 0, 1 / 3]])
    assert table["area"].iloc[-1] == pytest.approx(by_order) == aurc([0.9, 0.5, 0.5], [0, 1, 0]).value
    assert aurc([1, 1, 1, 1], [0, 1, 1, 1]).value == pytest.approx(0.75)


def test_best_and_random_order():
    errors = [1, 0, 0, 1]
    best, chance = aurc_bounds(errors)
    assert (best, chance) == pytest.approx(((0 + 0 + 1 / 3 + 1 / 2) / 4, 0.5))
    assert aurc([1, 4, 3, 2], errors).value == pytest.approx(best)
    assert all(math.isnan(x) for x in aurc_bounds([None]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 0.5])), min_size=1, max_size=20), st.randoms())
def test_area_properties(rows, random):
    c, e = zip(*rows, strict=True)
    found = aurc(c, e, replicates=1).value
    assert aurc_bounds(e)[0] - 1e-12 <= found <= aurc(e, e, replicates=1).value + 1e-12
    assert aurc(np.exp(c), e, replicates=1).value == pytest.approx(found)  # only the order counts
    shuffled = random.sample(rows, len(rows))
    assert aurc(*zip(*shuffled, strict=True), replicates=1).value == pytest.approx(found)
    assert risk_coverage(c, e)["area"].iloc[-1] == pytest.approx(found)


def test_area_interval():
    rng = np.random.default_rng(2)
    c = rng.random(200)
    e = rng.random(200) < 1 - c
    found = aurc(c, e)
    assert found.low < found.value < found.high < aurc_bounds(e)[1]  # better than chance, for sure
    copies = aurc(np.repeat(c, 4), np.repeat(e, 4), np.repeat(range(200), 4))
    assert (copies.value, copies.clusters) == (pytest.approx(found.value, abs=0.01), 200)
    assert copies.high - copies.low == pytest.approx(found.high - found.low, rel=0.15)


@pytest.mark.parametrize(
    ("c", "e", "value", "reason"),
    [
        ([], [], None, "no answers"),
        ([0.5, NAN], [NAN, 1], None, "no answers"),
        ([1, 2, 3], [0, 1, 0], 0.2777777, "3 answers: too few"),
        ([1, 2, 3, 4, 5], [0] * 5, 0, "all errors equal"),
    ],
)
def test_area_without_an_interval(c, e, value, reason):
    found = aurc(c, e)
    assert found.value == (None if value is None else pytest.approx(value)) and found.low is None
    assert found.reason.startswith(reason)


def test_risk_of_nothing_and_of_losses():
    assert len(risk_coverage([], [])) == 0
    assert risk_coverage([2, 1], [0.3, 0.5])["low"].isna().all()
    for function in (risk_coverage, aurc):
        with pytest.raises(ValueError, match="error: expected losses of at least 0"):
            function([1], [-1])


# ---------------------------------------------------------------- released matrices

PARTS = {
    "cosine_sim": ("frob_norm_cosine_sim", "std_dev_cosine_sim"),
    "pearson_corr": ("frob_norm_pearson_corr", "std_dev_pearson_corr"),
    "result": ("frobenius_norm", "std_dev"),
}
NO_TRUTH = {5, 10, 17, 19, 20}


def documents(folder, model, method="CheckEmbed"):
    name = f"{model}_gpt-embedding-large_results.json" if method == "CheckEmbed" else f"{model}_bert.json"
    file = folder / "checkembed" / "results" / "legal_definitions" / method / name
    return json.loads(file.read_text(encoding="utf-8"))["data"]


@pytest.mark.released
def test_every_released_summary_follows_from_its_matrix(released):
    seen = 0
    for file in sorted((released / "checkembed" / "results").rglob("*.json")):
        if file.parent.name == "SelfCheckGPT":
            continue
        truth = "legal_definitions" in file.parts
        for item in json.loads(file.read_text(encoding="utf-8"))["data"]:
            for part in PARTS.keys() & item.keys():
                level, spread = (item[name] for name in PARTS[part])
                found = summarise(item[part], truth, variant="released")
                assert found.spread == pytest.approx(spread, abs=1e-6), (file.name, item["index"], part)
                if truth and part == "pearson_corr":  # here alone the ground truth is in the level
                    assert found.level != pytest.approx(level, abs=1e-3)
                    found = summarise(item[part], False, variant="released")
                assert found.level == pytest.approx(level, abs=1e-6), (file.name, item["index"], part)
                seen += 1
    assert seen == 15 * 50 + 12 * 50 + 2 * 22 * 3  # BERTScore and cosine, Pearson, legal documents


@pytest.mark.released
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_the_papers_example_of_an_accepted_answer_fails_its_rule(released, variant):
    found = summarise(documents(released, "gpt")[0]["cosine_sim"], truth=True, variant=variant)
    expected = {"released": 0.9325, "paper": 0.9306}[variant]
    assert (found.level, found.spread) == pytest.approx((expected, 0.0603), abs=5e-5)
    assert not accept(found)
    bert = summarise(documents(released, "gpt", "BertScore")[0]["result"], truth=True, variant=variant)
    assert round(bert.spread, 2) == 0.27  # section 4.2


@pytest.mark.released
@pytest.mark.parametrize(("model", "r"), [("gpt", 0.39), ("gpt4-turbo", 0.28)])
def test_stability_goes_little_with_closeness_to_the_truth(released, model, r):
    matrices = [item["cosine_sim"] for item in documents(released, model)]
    table = summaries(matrices, truth=True, variant="released")
    empty = {i for i, m in enumerate(matrices) if (truth_similarity(m) == -1).all()}
    assert empty == NO_TRUTH
    known = table.drop(index=sorted(NO_TRUTH))
    row = stats.correlation(known["level"], known["truth_similarity"]).set_index("coefficient").loc["pearson"]
    assert (round(row["value"], 2), row["n"]) == (r, 17)
    assert row["low"] < 0 < row["high"]  # 17 documents do not show that there is any


@pytest.mark.released
@pytest.mark.parametrize(("model", "accepted"), [("gpt", 8), ("gpt4-turbo", 14)])
def test_an_answer_can_be_stable_and_far_from_the_truth(released, model, accepted):
    items = documents(released, model)
    table = [summarise(item["cosine_sim"], truth=True, variant="released") for item in items]
    assert sum(map(accept, table)) == accepted
    assert accept(table[18]) and truth_similarity(items[18]["cosine_sim"]).mean() == pytest.approx(0.23, abs=0.005)


@pytest.mark.released
def test_the_reply_to_read_first_is_the_odd_one(released):
    m = np.array(documents(released, "gpt", "BertScore")[0]["result"])
    order = read_first(m, truth=True)
    inner = pd.DataFrame(m[:-1, :-1]).where(~np.eye(10, dtype=bool))
    assert order[0] == inner.mean().idxmin() and sorted(order) == list(range(10))
