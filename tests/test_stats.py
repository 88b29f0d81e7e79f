"""Estimates: known intervals, sentences, what is undefined and why, and how the bootstrap behaves."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.stats import Estimate, estimate, estimates_by, proportion, resampling, signature

# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [  # Newcombe 1998, Statistics in Medicine 17:857, Table I, method 3 (Wilson)
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson(k, n, low, high):
    for e in (proportion(k, n), estimate([1] * k + [0] * (n - k))):
        assert e.value == pytest.approx(k / n)
        assert (e.low, e.high) == pytest.approx((low, high), abs=5e-5)
        assert (e.n, e.method) == (n, "Wilson")


def test_cluster_interval_agrees_with_the_linearised_variance():
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(400), rng.integers(1, 8, 400))
    values = np.clip(rng.normal(0.5, 0.1, 400)[clusters] + rng.normal(0, 0.1, len(clusters)), 0, 1)
    e = estimate(values, clusters)
    residual = np.bincount(clusters, weights=values - values.mean())
    se = math.sqrt((residual**2).sum()) / len(values)  # Taylor series for a ratio of cluster totals
    assert e.value == pytest.approx(values.mean())
    assert (e.low, e.high) == pytest.approx((e.value - 1.96 * se, e.value + 1.96 * se), abs=0.12 * se)
    assert (e.n, e.clusters) == (len(values), 400)


def test_bootstrap_counts_are_multinomial():
    k = 50  # identity: each replicate shows its counts
    counts = resampling.bootstrap_sums(np.eye(k), replicates=4000)
    assert (counts.sum(axis=1) == k).all()
    assert counts.mean() == pytest.approx(1)
    assert counts.var() == pytest.approx(1 - 1 / k, rel=0.02)
    assert np.corrcoef(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-1 / (k - 1), abs=0.05)


def test_merged_and_unmerged_draws_have_one_distribution():
    few = np.repeat([[0.0], [1.0]], 100, axis=0)  # two distinct rows: counts drawn directly
    many = few + np.linspace(0, 1e-9, 200)[:, None]  # all distinct: rows drawn one by one
    a, b = (resampling.bootstrap_sums(x, replicates=8000) for x in (few, many))
    assert a.mean() == pytest.approx(b.mean(), abs=0.5)
    assert a.std() == pytest.approx(b.std(), rel=0.04)


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("e", "sentence"),
    [
        (
            Estimate(0.41, 0.35, 0.47, n=58, counts={"unknown": 3, "refused": 6}, unit="answers"),
            "0.41 [0.35, 0.47], 58 answers, 9 left out: 6 refused, 3 unknown",
        ),
        (Estimate(0.41, 0.35, 0.47, n=8573), "0.41 [0.35, 0.47], 8,573 items"),
        (Estimate(0.4123, 0.4082, 0.4164, n=8573), "0.412 [0.408, 0.416], 8,573 items"),
        (Estimate(0.5, n=1, reason="one value", unit="answers"), "0.50 (no interval: one value), 1 answer"),
        (
            Estimate(None, reason="no answers", counts={"refused": 2}, unit="answers"),
            "undefined: no answers, 0 answers, 2 left out: 2 refused",
        ),
        (Estimate(math.nan), "undefined: no value, 0 items"),
        (Estimate(-0.001, -0.2, 0.2, n=20), "0.00 [-0.20, 0.20], 20 items"),
    ],
)
def test_sentence(e, sentence):
    assert str(e) == sentence
    assert sentence in e._repr_html_()


def test_html_is_escaped():
    e = Estimate(None, reason="<b>no</b> & nothing", signature='a"b')
    assert "<b>" not in e._repr_html_()
    assert "&lt;b&gt;no" in e._repr_html_() and "a&quot;b" in e._repr_html_()


def test_signature():
    assert signature("dahl", subject="local/smollm2", unknown="exclude-response", n=58, seed=0, v="0.1.0") == (
        "dahl|subject:local/smollm2|unknown:exclude-response|n:58|seed:0|v:0.1.0"
    )
    assert signature("dahl", checker=None, subject="a|b\nc", v="1") == "dahl|subject:a/b c|v:1"
    made = estimate([0.1, 0.5, 0.9, 0.7, 0.3], name="dahl", parts={"subject": "recorded"}, seed=7).signature
    assert made.startswith("dahl|subject:recorded|n:5|") and "|seed:7|" in made and "|v:" in made


def test_estimate_is_frozen_picklable_and_json_safe():
    e = estimate([0.1, 0.5, 0.9, None], counts={"refused": 2})
    with pytest.raises(FrozenInstanceError):
        e.value = 1
    assert pickle.loads(pickle.dumps(e)) == e
    assert replace(e, unit="answers").unit == "answers"
    for each in (e, Estimate(math.nan, math.inf), estimate([])):
        assert Estimate.from_dict(json.loads(json.dumps(each.to_dict(), allow_nan=False))) == each
    with pytest.raises(ValueError, match="unknown field vale"):
        Estimate.from_dict({"vale": 1})


# ---------------------------------------------------------------- undefined is an answer with a reason


@pytest.mark.parametrize(
    ("values", "clusters", "value", "status", "reason"),
    [
        ([], None, None, "undefined", "no items"),
        ([None, math.nan], None, None, "undefined", "no items"),
        ([0.7], None, 0.7, "scored", "one value"),
        ([1], None, 1.0, "scored", "one value"),
        ([0.1, 0.9], ["a", "a"], 0.5, "scored", "one cluster"),
        ([1, 1], ["a", "a"], 1.0, "scored", "one cluster"),
        ([0.5] * 20, None, 0.5, "scored", "all values equal"),
        ([0.1, 0.9] * 20, np.repeat(np.arange(20), 2), 0.5, "scored", "all cluster means equal"),
    ],
)
def test_no_interval(values, clusters, value, status, reason):
    e = estimate(values, clusters)
    assert e.value == (None if value is None else pytest.approx(value))
    assert (e.low, e.high, e.status, e.reason) == (None, None, status, reason)
    assert "nan" not in str(e).lower()


def test_proportion_undefined():
    assert (proportion(0, 0).status, proportion(0, 0).reason) == ("undefined", "no items")
    assert str(proportion(1, 1, unit="answers")) == "1.00 (no interval: one value), 1 answer"


def test_all_right_is_not_certain():
    independent, clustered = estimate([1] * 20), estimate([1] * 20, np.repeat(np.arange(10), 2))
    assert independent.low == pytest.approx(1 - 0.1611, abs=5e-5)
    # Ten clusters of two may be no more than ten independent items: 0 of 10 has an upper limit of 0.2775.
    assert clustered.low == pytest.approx(1 - 0.2775, abs=5e-5)
    assert independent.high == clustered.high == 1


def test_few_clusters_are_pointed_out():
    e = estimate(np.linspace(0, 1, 30), np.arange(30) % 5)
    assert e.low < e.value < e.high
    assert "only 5 clusters" in e.reason and "only 5 clusters" in str(e)
    assert estimate(np.linspace(0, 1, 30), np.arange(30) % 10).reason == ""


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_bootstrap_of_fewer_than_five_is_not_made(n):
    for e in (estimate(np.linspace(0.1, 0.8, n)), estimate(np.linspace(0.1, 0.8, 4 * n), np.repeat(np.arange(n), 4))):
        assert (e.low, e.high, e.status) == (None, None, "scored")
        assert f"{n} {'items' if e.clusters is None else 'clusters'}: too few for an interval, 5 needed" in str(e)
    assert estimate([0, 1]).low == pytest.approx(0.095, abs=5e-4)  # Wilson's needs no resampling


def test_summing_draws_and_counting_them_give_the_same_replicates():
    sums = np.random.default_rng(3).random(40)
    one = resampling.bootstrap_sums(np.column_stack([sums, np.ones(40)]), 200, seed=5)
    # A third column that varies makes the counts be taken.
    other = resampling.bootstrap_sums(np.column_stack([sums, np.ones(40), np.argsort(np.argsort(sums))]), 200, seed=5)
    assert one == pytest.approx(other[:, :2]) and (one[:, 1] == 40).all()


@pytest.mark.parametrize(
    "clusters",
    [
        list("abcdefabcdef"),
        (c for c in "abcdefabcdef"),
        pd.Categorical(list("abcdefabcdef")),
        [(1, i % 6) for i in range(12)],
    ]
    + [pd.array([1, 2, 3, 4, 5, 6] * 2, dtype="Int64"), pd.Series(list("abcdefabcdef"), dtype="str")],
    ids=["list", "generator", "categories", "tuples", "Int64", "str"],
)
def test_labels_of_clusters_come_in_any_kind(clusters):
    e = estimate(np.linspace(0, 1, 12), clusters)
    assert e.clusters == 6 and e.low < e.value < e.high


def test_undefined_scores_are_counted_out():
    e = estimate([0.2, None, 0.4, math.nan, pd.NA, 0.9], ["a", None, "b", "b", "c", "c"], counts={"refused": 1})
    assert (e.n, e.clusters, e.counts) == (3, 3, {"refused": 1, "undefined": 3})
    assert e.value == pytest.approx(0.5)
    assert estimate(pd.Series([0.2, None, 0.9], dtype="Float64")).counts == {"undefined": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["0.2", "yes"],), r"values, row 1: 'yes' is not a number"),
        (([0.1, math.inf],), r"values, row 1: the number is infinite"),
        (([[0.1], [0.2]],), "one column"),
        (([0.1, 0.2], ["a"]), "values has 2 rows and clusters has 1"),
        (([0.1, 0.2], ["a", None]), "clusters, row 1: no label"),
        (([0.1, 0.2, 0.4, 0.5, 0.7], None, 0), "replicates"),
        (([0.1, 0.2, 0.4, 0.5, 0.7], None, 10.5), "replicates"),
        ((0.5,), "values: expected a column .*, got float '0.5'"),
        ((None,), "values: expected a column .*, got None"),
        (([0.1, 0.2], "source"), "clusters: expected a column .*, got str 'source'"),
        (([0.1, 0.2], [["a"], ["b"]]), "clusters: a label must be"),
        (([0.1, 1e200],), "values, row 1: 1e.200 is too large"),
        ((pd.Series([0.1, 0.2]), pd.Series(["a", "b"], index=[1, 0])), "different row labels"),
    ],
)
def test_errors_say_where(arguments, message):
    with pytest.raises(ValueError, match=message):
        estimate(*arguments)
    with pytest.raises(ValueError, match="0 <= k <= n"):
        proportion(3, 2)


# ---------------------------------------------------------------- by group


def test_estimates_by():
    frame = pd.DataFrame(
        {
            "category": ["ENT"] * 12 + ["Dental"] * 3 + [None],
            "precision": [i / 11 for i in range(12)] + [0.5, None, 0.7] + [None],
            "status": ["scored"] * 12 + ["scored", "refused", "scored"] + ["error"],
            "paper": [f"p{i % 11}" for i in range(16)],
        }
    )
    out = estimates_by(frame, "precision", "category", clusters="paper", unit="answers")
    assert out["category"].tolist() == ["Dental", "ENT", "(missing)"]
    assert out["n"].tolist() == [2, 12, 0]
    assert out["small"].tolist() == [True, False, True]
    assert out["counts"].tolist() == ["1 refused", "", "1 error"]
    assert out["status"].tolist() == ["scored", "scored", "undefined"]
    assert out["text"][2] == "undefined: no answers, 0 answers, 1 left out: 1 error"
    alone = estimate(frame["precision"][:12], frame["paper"][:12], unit="answers")
    assert out.loc[1, ["value", "low", "high"]].tolist() == [alone.value, alone.low, alone.high]
    assert "nan" not in out.to_html().lower()
    assert np.isnan(np.asarray(out["value"], float)).tolist() == [False, False, True]


def test_estimates_by_errors():
    frame = pd.DataFrame({"x": [1.0], "level": ["a"]})
    assert "value" in estimates_by(frame[:0].rename(columns={"level": "kind"}), "x", "kind")
    with pytest.raises(ValueError, match=r"no column 'y'; the table has x, level"):
        estimates_by(frame, "x", "y")
    with pytest.raises(ValueError, match="level is also a column of the result"):
        estimates_by(frame, "x", "level")


# ---------------------------------------------------------------- properties

scores = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=3, max_size=60)


@settings(max_examples=40, deadline=None)
@given(scores, st.integers(1, 12), st.randoms(use_true_random=False))
def test_rows_may_come_in_any_order(values, groups, random):
    clusters = [f"c{i % groups}" for i in range(len(values))]
    shuffled = list(zip(values, clusters, strict=True))
    random.shuffle(shuffled)
    for labelled in (False, True):
        a = estimate(values, clusters if labelled else None, replicates=200)
        b = estimate(
            [v for v, _ in shuffled], [f"other {c}" for _, c in shuffled] if labelled else None, replicates=200
        )
        assert (a.value, a.reason) == (pytest.approx(b.value), b.reason)
        assert (a.low is None) == (b.low is None)
        if a.low is not None:
            assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(scores)
def test_interval_stays_within_the_data_and_around_the_mean(values):
    e = estimate(values, replicates=500)
    assert e.value == pytest.approx(np.mean(values))
    if e.low is not None:
        assert 0 <= e.low <= e.value <= e.high <= 1


def test_same_seed_same_interval():
    values = np.random.default_rng(0).random(300)
    assert estimate(values, seed=3) == estimate(values, seed=3)
    assert estimate(values, seed=3).low != estimate(values, seed=4).low


def test_clusters_widen_the_interval_when_items_of_one_source_resemble_each_other():
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(40), 10)
    values = np.clip(rng.random(40)[clusters] + rng.normal(0, 0.02, 400), 0, 1)
    alone, clustered = estimate(values), estimate(values, clusters)
    assert (clustered.high - clustered.low) > 2.5 * (alone.high - alone.low)  # intraclass correlation 1: sqrt(10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "mean", "least"), [(12, 0.5, 0.92), (30, 0.4, 0.92), (30, 0.9, 0.89), (150, 0.8, 0.93)]
)
def test_coverage(groups, mean, least):
    rng, runs, hits = np.random.default_rng(groups), 800, 0
    for _ in range(runs):
        clusters = np.repeat(np.arange(groups), 1 + rng.poisson(3, groups))
        rates = rng.beta(3 * mean, 3 * (1 - mean), groups)
        e = estimate(rng.binomial(10, rates[clusters]) / 10, clusters, replicates=1000)
        hits += e.low <= mean <= e.high
    assert least <= hits / runs <= 0.975
