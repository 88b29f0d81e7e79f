"""Similarity of answers, its summary, the decision to accept, thresholds for an embedder, and long answers."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import stability
from factlab.stability import (
    Summary,
    accept,
    chunked_similarity,
    pool,
    read_first,
    rule_quality,
    similarity,
    summaries,
    summarise,
    thresholds,
    truth_similarity,
    with_empty,
)
from factlab.stability.calibration import _folds

NAN = math.nan
SEEDS = st.integers(0, 10**6)


def vectors(seed, k=6, d=32):
    return np.random.default_rng(seed).normal(size=(k, d)).astype(np.float32)


def matrix(*above):
    """A symmetric matrix from the entries above its diagonal, row by row."""
    k = int((1 + math.sqrt(1 + 8 * len(above))) / 2)
    m = np.eye(k)
    m[np.triu_indices(k, 1)] = above
    return np.maximum(m, m.T) if min(above, default=0) >= 0 else m + m.T - np.eye(k)


# ---------------------------------------------------------------- similarity

ROOT_HALF = math.sqrt(0.5)
PAIRS = [
    # a, b, cosine, Pearson
    ([1, 0], [0, 1], 0, -1),
    ([1, 0], [1, 1], ROOT_HALF, 0),  # (1, 1) does not vary: no direction under Pearson
    ([1, 2, 3], [2, 4, 6], 1, 1),
    ([1, 2, 3], [3, 2, 1], 10 / 14, -1),
    ([1, 0, 0], [-1, 0, 0], -1, -1),
    ([3, 4, 0], [4, 3, 0], 24 / 25, 23 / 26),  # less the mean 7/3: products add up to 69/9, squares to 78/9
    ([0, 0, 0], [1, 2, 3], 0, 0),
    ([0, 0, 0], [0, 0, 0], 0, 0),
]


@pytest.mark.parametrize(("a", "b", "cosine", "pearson"), PAIRS)
def test_pairs_by_hand(a, b, cosine, pearson):
    for metric, expected in (("cosine", cosine), ("pearson", pearson)):
        found = similarity([a, b], metric)
        assert found.dtype == np.float32
        assert found == pytest.approx(np.array([[1, expected], [expected, 1]]), abs=1e-6)


def test_pearson_is_that_of_numpy():
    x = vectors(0) + 3
    assert similarity(x, "pearson") == pytest.approx(np.corrcoef(x.astype(float)), abs=1e-6)


@pytest.mark.parametrize("constant", [0.1, 1e-8, 12345.678, 3e30])
def test_a_vector_of_equal_entries_does_not_correlate_with_rounding(constant):
    x = np.vstack([np.full(1001, constant, dtype=np.float32), vectors(1, 2, 1001)])
    x[0, ::7] = np.nextafter(x[0, ::7], np.float32(0))
    assert (similarity(x, "pearson")[0] == [1, 0, 0]).all()


def test_missing_texts():
    x = vectors(2, 4)
    x[1] = NAN
    x[3, 5] = NAN  # one is enough
    found = similarity(x)
    missing = np.isnan(found)
    assert missing[[1, 3]].all() and missing[:, [1, 3]].all()
    assert not missing[np.ix_([0, 2], [0, 2])].any() and found[0, 0] == found[2, 2] == 1


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(["cosine", "pearson"]), st.sampled_from([1e-30, 1e-3, 7.0, 1e30]))
def test_similarity_does_not_depend_on_scale_or_order(seed, metric, scale):
    x = vectors(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    found = similarity(x, metric)
    assert similarity(x * rng.uniform(0.5, 2, (len(x), 1)) * scale, metric) == pytest.approx(found, abs=2e-6)
    assert similarity(x[order], metric) == pytest.approx(found[np.ix_(order, order)], abs=1e-6)
    assert (found == found.T).all() and (np.diagonal(found) == 1).all() and np.abs(found).max() <= 1


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_both_metrics_agree_where_means_are_zero(seed):
    x = vectors(seed).astype(float)
    x -= x.mean(axis=1, keepdims=True)
    assert similarity(x, "pearson") == pytest.approx(similarity(x), abs=2e-6)
    assert similarity(x + 0.5, "pearson") == pytest.approx(similarity(x), abs=2e-6)


def test_equal_vectors_are_not_more_than_alike():
    found = similarity(np.repeat(vectors(3, 1, 999), 50, axis=0))
    assert found.max() <= 1 and found.min() > 1 - 1e-6


@pytest.mark.parametrize("k", [0, 1])
def test_few_texts(k):
    assert (similarity(np.ones((k, 4))) == np.ones((k, k))).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: similarity([1, 2]), r"\(k, d\) array, one row a text, got shape \(2,\)"),
        (lambda: similarity(np.ones((3, 0))), r"got shape \(3, 0\)"),
        (lambda: similarity([[1, 2], [1]]), "of numbers"),
        (lambda: similarity([["a", "b"]]), "of numbers"),
        (lambda: similarity([[1, 2], [1, math.inf]]), "embeddings, row 1: an entry is infinite"),
        (lambda: similarity([[1, 2]], "euclid"), "metric: expected"),
        (lambda: summarise([[1, 2]]), r"matrix: expected a \(k, k\) array"),
        (lambda: summarise([[1, math.inf], [1, 1]]), "row 0, column 1: the similarity is infinite"),
        (lambda: summarise(np.eye(2), variant="old"), "variant: expected"),
        (lambda: summarise(np.empty((0, 0)), truth=True), "cannot be the ground truth"),
        (lambda: truth_similarity([]), "cannot be the ground truth"),
        (lambda: summarise(matrix(NAN, 0.5, 0.5)), "row 0, column 1: the similarity is missing though both"),
        (lambda: with_empty(np.eye(2), [True]), "empty: expected 2 booleans"),
        (lambda: with_empty(np.eye(2), [0, 1]), "empty: expected 2 booleans"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_released_rule_for_empty_texts():
    x = vectors(4, 5)
    x[[1, 3, 4]] = NAN
    found = with_empty(similarity(x), np.array([False, True, False, True, False]))
    a = similarity(x)[0, 2]
    expected = [
        [1, -1, a, -1, NAN],
        [-1, 1, -1, 1, NAN],
        [a, -1, 1, -1, NAN],
        [-1, 1, -1, 1, NAN],
        [NAN, NAN, NAN, NAN, NAN],  # failed, not empty
    ]
    assert found == pytest.approx(np.array(expected, dtype=np.float32), nan_ok=True)
    assert found.dtype == np.float32 and np.isnan(similarity(x)[1, 1])  # a copy


# ---------------------------------------------------------------- summaries


def test_summary_by_hand():
    found = summarise(matrix(0.8, 0.6, 1.0))
    assert (found.level, found.spread) == pytest.approx((0.8, math.sqrt(0.08 / 3)))
    assert found.frobenius == pytest.approx(math.sqrt((3 + 2 * (0.64 + 0.36 + 1)) / 9))
    assert (found.k, found.status, found.missing, found.reason) == (3, "scored", 0, "")
    released = summarise(matrix(0.8, 0.6, 1.0), variant="released")
    assert (released.level, released.spread) == pytest.approx((math.sqrt(2 / 3), found.spread))
    assert (released.frobenius, released.spectral) == (found.frobenius, found.spectral)


@pytest.mark.parametrize(
    ("m", "frobenius", "spectral"),
    [
        (np.ones((5, 5)), 1, 1),
        (np.ones((50, 50)), 1, 1),
        (np.eye(4), 1 / 2, 1 / 4),
        (np.kron(np.eye(2), np.ones((3, 3))), math.sqrt(1 / 2), 1 / 2),  # two groups that have nothing in common
    ],
)
def test_norms_of_known_matrices(m, frobenius, spectral):
    found = summarise(m)
    assert (found.frobenius, found.spectral) == pytest.approx((frobenius, spectral))


def test_ground_truth_is_left_out():
    m = matrix(0.9, 0.7, 0.1, 0.8, 0.2, 0.3)
    assert summarise(m, truth=True) == summarise(m[:3, :3])
    assert truth_similarity(m) == pytest.approx([0.1, 0.2, 0.3])


def test_missing_replies_are_left_out_and_counted():
    full = matrix(0.9, 0.7, 0.8)
    holed = np.full((5, 5), NAN)
    kept = [0, 2, 3]
    holed[np.ix_(kept, kept)] = full
    found = summarise(holed)
    assert (found.k, found.missing) == (3, 2)
    assert found.level == pytest.approx(0.8)
    assert "3 replies, 2 without an embedding left out" in str(found)
    np.fill_diagonal(holed, 1)  # some comparisons give a missing text a similarity to itself
    assert summarise(holed) == found


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize(
    ("m", "k", "missing", "reason"),
    [
        (np.empty((0, 0)), 0, 0, "no reply to compare"),
        ([[1.0]], 1, 0, "one reply: there is no pair to compare"),
        ([[NAN]], 0, 1, "no reply to compare"),
        ([[1, NAN], [NAN, NAN]], 1, 1, "one reply: there is no pair to compare"),
        (np.full((4, 4), NAN), 0, 4, "no reply to compare"),
    ],
)
def test_undefined_summaries(m, k, missing, reason, variant):
    found = summarise(m, variant=variant)
    assert (found.status, found.k, found.missing, found.reason) == ("undefined", k, missing, reason)
    assert all(math.isnan(x) for x in (found.level, found.spread, found.frobenius, found.spectral))
    assert not accept(found, level=-9, spread=9)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["level"] is None


def test_two_replies_have_a_spread_that_says_nothing():
    found = summarise(matrix(0.95))
    assert (found.level, found.spread) == pytest.approx((0.95, 0))
    assert "one pair" in found.reason and accept(found)


def test_one_empty_reply_is_full_agreement_under_the_released_summary():
    m = with_empty(np.ones((5, 5)), np.array([True, False, False, False, False]))
    assert summarise(m, variant="released").level == 1
    assert summarise(m).level == pytest.approx((6 - 4) / 10)
    assert summarise(m).spread == pytest.approx(math.sqrt(1 - 0.04))


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(["paper", "released"]))
def test_summary_properties(seed, variant):
    m = similarity(vectors(seed))
    order = np.random.default_rng(seed).permutation(len(m))
    found, other = summarise(m, variant=variant), summarise(m[np.ix_(order, order)], variant=variant)
    for name in ("level", "spread", "frobenius", "spectral"):
        assert getattr(found, name) == pytest.approx(getattr(other, name), abs=1e-9)
    assert 1 / len(m) - 1e-6 <= found.spectral <= found.frobenius + 1e-9 <= 1 + 1e-6
    mean, root = summarise(m), summarise(m, variant="released")
    assert root.level**2 == pytest.approx(mean.level**2 + mean.spread**2)  # so never below the mean


def test_both_directions_of_a_matrix_that_is_not_symmetric_count():
    assert summarise(np.array([[1, 0.2], [0.6, 1]])).level == pytest.approx(0.4)


def scored(level, spread, status="scored"):
    return Summary(level, spread, 1.0, 1.0, 10, status)


@pytest.mark.parametrize(
    ("level", "spread", "expected"),
    [(0.91, 0.04, True), (0.9, 0.04, False), (0.91, 0.05, False), (0.93, 0.06, False), (0.2, 0.0, False)],
)
def test_the_rule_is_strict(level, spread, expected):
    assert accept(scored(level, spread)) is expected
    assert accept(scored(level, spread, "undefined")) is False


def test_limits_of_the_rule_can_be_chosen():
    assert accept(scored(0.7, 0.2), level=0.6, spread=math.inf)


def test_read_first_the_one_that_is_least_like_the_others():
    m = matrix(0.9, 0.1, 0.8, 0.2, 0.9, 0.3)  # sums 1.8, 2.0, 0.6, 2.0
    assert read_first(m).tolist() == [2, 0, 1, 3]
    assert read_first(m, truth=True).tolist() == [2, 0, 1]
    holed = m.copy()
    holed[0] = holed[:, 0] = NAN
    assert read_first(holed).tolist() == [2, 1, 3, 0]
    assert read_first(np.empty((0, 0))).tolist() == []


def test_table_of_summaries():
    good, undefined = matrix(0.9, 0.7, 0.8), np.full((3, 3), NAN)
    table = summaries([good, undefined], truth=True)
    assert table["status"].tolist() == ["scored", "undefined"]
    assert table.loc[0, "level"] == pytest.approx(0.9)
    assert table.loc[0, "truth_similarity"] == pytest.approx(0.75)
    assert table.loc[0, "truth_spread"] == pytest.approx(0.05)
    assert math.isnan(table.loc[1, "truth_similarity"])
    assert "truth_similarity" not in summaries([good]) and list(summaries([]).columns)[:2] == ["level", "spread"]


# ---------------------------------------------------------------- thresholds


def labelled(n=40, seed=0, spread_counts=False):
    """Right answers agree at 0.8 and more, wrong ones at less than 0.7; where the spread counts, levels say nothing."""
    rng = np.random.default_rng(seed)
    right = np.arange(n) % 2 == 0
    apart = np.where(right, rng.uniform(0.8, 0.9, n), rng.uniform(0.6, 0.7, n))
    nothing = rng.uniform(0.6, 0.9, n)
    return (nothing, 1 - apart, right) if spread_counts else (apart, nothing / 10, right)


def test_classes_that_are_apart_are_parted():
    levels, spreads, right = labelled()
    found = thresholds(levels, spreads, right)
    assert found.level == pytest.approx((levels[right].min() + levels[~right].max()) / 2)
    assert found.spread == math.inf  # not needed, so not used
    assert (found.apparent, found.quality["balanced_accuracy"].value, found.quality["precision"].value) == (1, 1, 1)
    assert (found.n, found.right, found.wrong, found.left_out, found.status) == (40, 20, 20, 0, "scored")
    assert found.level_range[0] <= found.level <= found.level_range[1]
    chosen = [accept(scored(a, b), found.level, found.spread) for a, b in zip(levels, spreads, strict=True)]
    assert chosen == right.tolist()
    assert str(found).startswith("accept if level > 0.7") and "spread" not in str(found)


def test_the_spread_is_used_where_it_helps():
    levels, spreads, right = labelled(spread_counts=True)
    found = thresholds(levels, spreads, right)
    assert found.spread == pytest.approx((spreads[right].max() + spreads[~right].min()) / 2)
    assert found.level == -math.inf and found.apparent == 1
    assert "and spread < 0.2" in str(found)
    assert thresholds(levels, None, right).apparent < 0.8


def test_thresholds_follow_the_scale_of_the_embedder():
    levels, spreads, right = labelled()
    a, b = thresholds(levels, spreads, right), thresholds(0.3 * levels + 0.1, spreads, right)
    assert b.level == pytest.approx(0.3 * a.level + 0.1)
    assert b.quality["balanced_accuracy"].value == 1
    assert not any(accept(scored(x, 0.0)) for x in 0.3 * levels + 0.1)  # the paper's limits accept none


def test_held_out_quality_of_noise_is_chance():
    rng = np.random.default_rng(5)
    levels, spreads, right = rng.random(400), rng.random(400), rng.random(400) < 0.5
    found = thresholds(levels, spreads, right, replicates=20)
    estimate = found.quality["balanced_accuracy"]
    assert found.apparent > 0.53  # flattering
    assert estimate.low < 0.5 < estimate.high


def test_grid_finds_the_best_pair_of_limits():
    rng = np.random.default_rng(6)
    levels, spreads = rng.random(30).round(1), rng.random(30).round(1)
    right = rng.random(30) < levels
    found = thresholds(levels, spreads, right, replicates=1)
    cuts = [-1, *(np.unique(levels) + 0.05)]
    best = max(
        ((levels > a) & (spreads < b))[right].mean() + 1 - ((levels > a) & (spreads < b))[~right].mean()
        for a in cuts
        for b in np.unique(spreads) + 0.05
    )
    assert found.apparent == pytest.approx(best / 2)


def test_a_wanted_precision():
    levels = np.linspace(0, 1, 41)
    right = (np.arange(41) % 3 == 0) | (levels > 0.6)
    found = thresholds(levels, None, right, precision=0.9)
    accepted = levels > found.level
    assert right[accepted].mean() >= 0.9
    looser = [c for c in (levels - 0.0125) if c < found.level and right[levels > c].mean() >= 0.9]
    assert all(right[levels > c].sum() <= right[accepted].sum() for c in looser)
    assert found.objective == "right answers at precision 0.9"
    hopeless = thresholds(levels, None, ~right, precision=1)
    assert (hopeless.status, hopeless.reason) == ("undefined", "no limits reach a precision of 1")


@pytest.mark.parametrize(
    ("right", "wrong", "reason"),
    [
        (9, 50, "only 9 right answers, 10 of each are needed"),
        (50, 9, "only 9 wrong answers, 10 of each are needed"),
        (0, 0, "only 0 wrong answers, 10 of each are needed"),
    ],
)
def test_too_few_of_a_class_is_said_and_not_fitted(right, wrong, reason):
    found = thresholds(np.arange(right + wrong), None, [True] * right + [False] * wrong)
    assert (found.status, found.reason, found.quality) == ("undefined", reason, {})
    assert math.isnan(found.level) and str(found).startswith(f"no thresholds: {reason}")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["level"] is None


def test_unlabelled_and_undefined_answers_are_left_out_and_counted():
    levels, spreads, right = labelled(42)
    labels = [None, *right[1:]]
    levels[1] = NAN
    assert (lambda t: (t.n, t.left_out))(thresholds(levels, spreads, labels, replicates=1)) == (40, 2)


def test_folds_hold_whole_documents_and_both_classes():
    rng = np.random.default_rng(8)
    documents = rng.permutation(np.repeat(np.arange(20), 3))
    fold = _folds(np.ones(60, dtype=bool), documents, 20, 5, rng)
    assert all(len(set(fold[documents == d])) == 1 for d in range(20)) and len(set(fold)) == 5
    right = np.arange(50) < 20
    fold = _folds(right, np.arange(50), None, 10, rng)
    assert (np.bincount(fold[right]) == 2).all() and (np.bincount(fold[~right]) == 3).all()


def test_quality_of_documents_with_labels_by_lot_is_chance():
    rng = np.random.default_rng(7)
    documents = np.repeat(np.arange(60), 2)
    right = np.repeat(rng.random(60) < 0.5, 2)
    levels = np.repeat(rng.random(60), 2)
    found = thresholds(levels, None, right, documents, replicates=5)
    assert found.quality["accepted"].clusters == 60
    assert found.quality["balanced_accuracy"].low < 0.5 < found.quality["balanced_accuracy"].high
    again = thresholds(levels, None, right, documents, replicates=5)
    assert again.to_dict() == found.to_dict()  # one seed, one answer
    assert "one cluster" in thresholds(levels, None, right, np.zeros(120)).reason


def test_quality_of_a_rule_by_hand():
    accepted = [True] * 8 + [False] * 2 + [True] * 3 + [False] * 7 + [True]
    correct = [True] * 10 + [False] * 10 + [None]
    found = rule_quality(accepted, correct)
    shares = {name: e.value for name, e in found.items()}
    assert shares == pytest.approx(
        {
            "accepted": 11 / 20,
            "precision": 8 / 11,
            "sensitivity": 0.8,
            "specificity": 0.7,
            "balanced_accuracy": 0.75,
        }
    )
    a, b, both = found["sensitivity"], found["specificity"], found["balanced_accuracy"]
    assert both.low == pytest.approx(0.75 - math.hypot(a.value - a.low, b.value - b.low) / 2)
    assert both.counts == {"unlabelled": 1} and both.n == 20
    nothing = rule_quality([False, False], [True, False])
    assert nothing["precision"].reason == "no accepted answers" and nothing["balanced_accuracy"].value == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: thresholds([1, 2], None, [True]), "levels has 2 rows and correct has 1"),
        (lambda: thresholds([1, 2], [1], [True, False]), "spreads has 1 rows"),
        (lambda: thresholds([1], None, [2]), "correct: expected True, False"),
        (lambda: thresholds([1], None, [True], precision=90), "precision: expected a share"),
        (lambda: thresholds([1], None, [True], folds=1), "folds: expected at least 2"),
        (lambda: rule_quality([0.7], [True]), "accepted and correct: expected True or False"),
        (lambda: rule_quality([True], [True], clusters=[]), "clusters has 0 rows for 1 answers"),
    ],
)
def test_threshold_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------- long answers


def test_pooled_vector_by_hand():
    assert pool([[2, 0], [0, 5]]) == pytest.approx([ROOT_HALF, ROOT_HALF])  # directions, not lengths
    assert pool([[2, 0], [0, 5]], [3, 4]) == pytest.approx([0.6, 0.8])
    assert pool([[3, 4]]) == pytest.approx([0.6, 0.8])
    assert pool([[3, 4], [NAN, NAN]], [1, 9]) == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("chunks", [[[NAN, NAN]], [[1, 2], [-1, -2]], [[0, 0]], np.empty((0, 2))])
def test_what_cannot_be_pooled_is_missing(chunks):
    found = pool(chunks)
    assert found.shape == (2,) and found.dtype == np.float32 and np.isnan(found).all()


def test_chunk_by_chunk_by_hand():
    a = [[1, 0], [0, 1]]
    b = [[1, 0]]
    found = chunked_similarity([a, b])
    assert found[0, 1] == pytest.approx(((1 + 0) / 2 + 1) / 2)  # a to b: 1 and 0; b to a: 1
    weighted = chunked_similarity([a, b], weights=[[3, 1], [1]])
    assert weighted[0, 1] == pytest.approx((3 / 4 + 1) / 2)
    assert (np.diagonal(found) == 1).all() and (found == found.T).all()
    unweighted = chunked_similarity([a, b, b], weights=[[0, 1], [1], [0]])  # what does not count is not there
    assert unweighted[0, 1] == 0 and np.isnan(unweighted[2]).all()


def test_order_and_repetition_of_chunks_do_not_count():
    x = vectors(8, 6)
    found = chunked_similarity([x[:3], x[[2, 0, 1]], np.vstack([x[:3], x[:3]]), x[3:]])
    assert found[0, 1] == found[0, 2] == pytest.approx(1, abs=1e-6)
    assert found[0, 3] == pytest.approx(found[2, 3], abs=1e-6)


@pytest.mark.parametrize("metric", ["cosine", "pearson"])
def test_answers_of_one_chunk_are_compared_as_wholes(metric):
    x = vectors(9)
    assert chunked_similarity([row[None] for row in x], metric) == pytest.approx(similarity(x, metric), abs=1e-6)
    assert similarity([pool([row]) for row in x]) == pytest.approx(similarity(x), abs=1e-6)


def test_answers_without_chunks_are_missing():
    x = vectors(10, 3)
    holed = np.vstack([x[:1], np.full((1, 32), NAN)])
    found = chunked_similarity(
        [x, [], holed, np.full((2, 32), NAN), x], weights=[[1, 2, 1], [], [1, 1], [1, 1], [1, 2, 1]]
    )
    assert np.isnan(found[[1, 3]]).all() and np.isnan(found[:, [1, 3]]).all()
    assert found[0, 2] == pytest.approx(chunked_similarity([x, x[:1]], weights=[[1, 2, 1], [1]])[0, 1])
    assert chunked_similarity([]).shape == (0, 0) and summarise(found).missing == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pool([[1, 2]], [1, 2]), "weights: expected 1 numbers of at least 0"),
        (lambda: pool([[1, 2]], [-1]), "weights: expected 1 numbers of at least 0"),
        (lambda: chunked_similarity([[[1, 2]], [1, 2]]), "answers, entry 1: embeddings"),
        (lambda: chunked_similarity([[[1, 2]], [[1, 2, 3]]]), "different lengths: 2, 3"),
        (lambda: chunked_similarity([[[1, 2]]], weights=[]), "weights: 0 arrays for 1 answers"),
        (lambda: chunked_similarity([], "euclid"), "metric: expected"),
    ],
)
def test_long_answer_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------- the package


def test_every_public_name_is_there_and_no_module_hides_a_function():
    code = (
        "import sys\n"
        "from factlab.stability.similarity import accept\n"
        "from factlab.stability.bertscore import Tokens\n"
        "from factlab import stability\n"
        "assert callable(stability.similarity) and callable(stability.bertscore)\n"
        "print(*(name for name in ('torch', 'transformers', 'scipy', 'factlab.models') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""  # nothing heavy comes along
    assert all(hasattr(stability, name) for name in stability.__all__)
