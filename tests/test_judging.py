"""Judge audits: what is counted, when a judge is usable, and the sentence that stands beside a score."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.judging import Audit, audit
from factlab.stats import proportion


def table(tt=0, tf=0, ft=0, ff=0, t_open=0, f_open=0, answer="unknown"):
    """Labels and verdicts from counts: tf is a true claim called false."""
    labels = ["true"] * (tt + tf + t_open) + ["false"] * (ft + ff + f_open)
    verdicts = ["true"] * tt + ["false"] * tf + [answer] * t_open + ["true"] * ft + ["false"] * ff + [answer] * f_open
    return labels, verdicts


# ---------------------------------------------------------------- what is counted


def test_a_table_worked_by_hand():
    found = audit(*table(tt=45, tf=5, ft=10, ff=40))
    assert (found.n, found.answered, found.unlabelled) == (100, 100, 0)
    for got, (k, n) in {found.accuracy: (85, 100), found.sensitivity: (45, 50), found.specificity: (40, 50)}.items():
        expected = proportion(k, n)
        assert (got.value, got.low, got.high, got.n) == pytest.approx((k / n, expected.low, expected.high, n))
    assert found.kappa.value == pytest.approx((0.85 - 0.5) / 0.5)  # p_e = 0.5 * 0.55 + 0.5 * 0.45
    assert found.shares == pytest.approx({"true": 0.55, "false": 0.45, "unknown": 0, "unparsable": 0})
    assert (found.base, found.usable, found.reason) == (0.5, True, "")


def test_what_the_judge_left_open_is_counted_and_no_error():
    found = audit(*table(tt=40, tf=5, ff=40, t_open=5, f_open=10))
    assert (found.n, found.answered) == (100, 85)
    assert found.accuracy.value == pytest.approx(80 / 85)
    assert found.accuracy.counts == {"unknown": 15}
    assert found.sensitivity.counts == {"unknown": 5}
    assert found.shares["unknown"] == 0.15
    assert "it left 15 of 100 open" in found.sentence()


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, "unparsable"])
def test_verdicts_that_could_not_be_read(nothing):
    found = audit(["true", "false", "true"], ["true", nothing, "true"])
    assert (found.n, found.answered, found.accuracy.counts) == (3, 2, {"unparsable": 1})


def test_claims_without_a_label_are_left_out_and_counted():
    found = audit(["true", None, "false"], ["true", "true", "false"])
    assert (found.n, found.unlabelled, found.accuracy.value) == (2, 1, 1.0)


def test_booleans_and_series_with_any_index():
    labels = pd.Series([True, False, True, False], index=[7, 7, 1, 0])
    assert audit(labels, pd.Series(["TRUE", " false ", "false", False], index=[0, 1, 2, 3])).accuracy.value == 0.75


def test_groups():
    found = audit(["true"] * 4, ["true", "false", "true", None], by=["b", "b", "a", None])
    assert {name: e.value for name, e in found.groups.items()} == {"(missing)": None, "a": 1.0, "b": 0.5}


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(1)
    right = np.repeat(rng.random(30) < 0.7, 10)
    labels = rng.random(300) < 0.5
    verdicts = np.where(right, labels, ~labels)
    alone, together = audit(labels, verdicts), audit(labels, verdicts, clusters=np.repeat(np.arange(30), 10))
    assert together.accuracy.clusters == 30
    assert together.accuracy.high - together.accuracy.low > 2 * (alone.accuracy.high - alone.accuracy.low)


# ---------------------------------------------------------------- usable, and the sentence

SENTENCES = [
    (
        table(tt=2, tf=58, ff=60),
        False,
        'Judge audit: m got 62 of 120 labelled claims right (0.52 [0.43, 0.60]); it said "false" to 98 % of them: '
        'not shown to be better than always saying "true" (0.50), so read the score above as a demonstration.',
    ),
    (
        table(tf=60, ff=60),
        False,
        'Judge audit: m got 60 of 120 labelled claims right (0.50 [0.41, 0.59]); it said "false" to 100 % of them: '
        'no better than always saying "true" (0.50), so read the score above as a demonstration.',
    ),
    (
        table(tt=55, tf=5, ft=5, ff=55),
        True,
        'Judge audit: m got 110 of 120 labelled claims right (0.92 [0.85, 0.95]), where always saying "true" gets '
        "0.50: 92 % of the 60 true ones and 92 % of the 60 false ones.",
    ),
    (
        table(tt=20),
        False,
        'Judge audit: m got 20 of 20 labelled claims right (1.00 [0.84, 1.00]); it said "true" to 100 % of them: '
        'all of these are true, which always saying "true" would get right, so read the score above as a '
        "demonstration.",
    ),
    (
        table(tt=10, ff=10, t_open=30),
        False,
        "Judge audit: m got 20 of 20 labelled claims right (1.00 [0.84, 1.00]); it left 30 of 50 open: more than "
        "half of the claims were left open, so read the score above as a demonstration.",
    ),
    (
        table(t_open=3, f_open=2),
        False,
        "Judge audit: m judged none of 5 labelled claims: read the score above as a demonstration.",
    ),
    (([], []), False, "Judge audit: there were no labelled claims, so nothing is known about m."),
    (
        (["true"], ["false"]),
        False,
        'Judge audit: m got 0 of 1 labelled claims right (0.00, no interval: one value); it said "false" to 100 % of '
        'them: all of these are true, which always saying "true" would get right, so read the score above as a '
        "demonstration.",
    ),
]


@pytest.mark.parametrize(("data", "usable", "sentence"), SENTENCES)
def test_sentence(data, usable, sentence):
    found = audit(*data, judge="m")
    assert found.usable is usable
    assert found.sentence() == str(found) == sentence


def test_a_judge_that_says_one_thing_is_named_with_what_it_is_a_share_of():
    found = audit(*table(tf=5, ff=90, t_open=5))
    assert found.one_answer == "false" and 'it said "false" to 95 % of all 100' in found.sentence()
    assert audit(*table(tt=8, ff=2)).one_answer is None
    assert len({found, found}) == 1


def test_accuracy_above_the_commoner_label_but_not_for_sure():
    found = audit(*table(tt=7, tf=3, ft=4, ff=6))
    assert not found.usable and "not shown to be better" in found.reason


ANSWER = st.sampled_from(["true", "false", "unknown", None])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["true", "false", None]), ANSWER, st.none() | st.floats(0, 1)), max_size=30))
def test_any_audit_can_be_written_and_follows_its_rule(rows):
    labels, verdicts, p = ([row[i] for row in rows] for i in range(3))
    found = audit(labels, verdicts, probabilities=p)
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["sentence"] == found.sentence()
    assert isinstance(found, Audit)
    assert found.usable == (found.reason == "")
    if found.usable:
        assert found.accuracy.low > found.base and 2 * found.answered >= found.n
    if found.n:
        assert sum(found.shares.values()) == pytest.approx(1)


# ---------------------------------------------------------------- probabilities


@pytest.mark.parametrize(
    ("labels", "p", "auroc"),
    [
        ([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1], 0.75),
        ([1, 0], [0.5, 0.5], 0.5),
        ([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1], 1.0),
        ([1, 1, 0, 0, 1], [0.1, 0.2, 0.8, 0.9, None], 0.0),
    ],
)
def test_auroc_by_hand(labels, p, auroc):
    labels = [bool(x) for x in labels]
    assert audit(labels, labels, probabilities=p).auroc.value == pytest.approx(auroc)


def test_auroc_interval_is_that_of_delong():
    rng = np.random.default_rng(0)
    labels = rng.random(80) < 0.4
    p = np.round(np.clip(0.5 + 0.15 * labels + rng.normal(0, 0.2, 80), 0, 1), 1)  # with ties
    x, y = p[labels], p[~labels]
    wins = (x[:, None] > y) + 0.5 * (x[:, None] == y)  # the definition, pair by pair
    theta = wins.mean()
    se = np.sqrt(wins.mean(axis=1).var(ddof=1) / len(x) + wins.mean(axis=0).var(ddof=1) / len(y))
    found = audit(labels, labels, probabilities=p).auroc
    logit = np.log(theta / (1 - theta)) + np.array([-1, 1]) * 1.959964 * se / (theta * (1 - theta))
    assert (found.value, found.low, found.high) == pytest.approx((theta, *(1 / (1 + np.exp(-logit)))), rel=1e-6)
    singles = audit(labels, labels, probabilities=p, clusters=np.arange(80)).auroc  # each its own cluster: the same
    assert (singles.low, singles.high) == pytest.approx((found.low, found.high))


def test_auroc_of_whole_clusters_is_that_of_fewer_claims():
    rng = np.random.default_rng(3)
    labels = rng.random(40) < 0.5
    p = np.clip(0.5 + 0.2 * labels + rng.normal(0, 0.3, 40), 0, 1)
    few = audit(labels, labels, probabilities=p).auroc
    copies = audit(*[np.repeat(labels, 5)] * 2, probabilities=np.repeat(p, 5), clusters=np.repeat(range(40), 5)).auroc
    assert (copies.value, copies.low, copies.high) == pytest.approx((few.value, few.low, few.high))
    assert copies.clusters == 40


@pytest.mark.parametrize(
    ("labels", "p", "reason"),
    [
        ([True, False], None, "no probabilities were given"),
        ([True, True], [0.1, 0.2], "the claims are not both true and false"),
        ([True, False], [0.1, None], "the claims are not both true and false"),
    ],
)
def test_auroc_undefined(labels, p, reason):
    found = audit(labels, labels, probabilities=p).auroc
    assert (found.value, found.status, found.reason) == (None, "undefined", reason)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit(["true"], ["true", "false"]), "verdicts has 2 entries for 1 labels"),
        (
            lambda: audit(["true", "maybe"], ["true", "true"]),
            "labels, entry 1: expected true, false or None, got 'maybe'",
        ),
        (lambda: audit(["true"], ["The claim is true"]), "verdicts, entry 0"),
        (lambda: audit(["true"], ["true"], probabilities=[1.2]), "probabilities, entry 0"),
        (lambda: audit(["true"], ["true"], by=[]), "by has 0 entries"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
