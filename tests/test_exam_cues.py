"""The cue probe finds what was planted, and nothing in a bank of random words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.exam_items import bank, item

from factlab import exam

TOPICS = [f"t{n % 16}" for n in range(160)]


@pytest.mark.parametrize("seed", range(6))
def test_the_regression_is_scikit_learns(seed):
    """Many draws at once, keys that follow from a feature wholly, features that are one another's copy, and constant ones."""
    from sklearn.linear_model import LogisticRegression

    from factlab.exam import cues

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40 * 4 ** (seed % 3), 5))
    x[:, 3], x[:, 4] = x[:, 0], 0
    y = np.column_stack([rng.integers(0, 2, (len(x), 3)), x[:, 0] > 0.7, x[:, 1] > -1]).astype(float)
    found = cues._fitted(x, y)
    for column, weights in zip(y.T, found.T, strict=True):
        model = LogisticRegression(C=cues.C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(x, column)
        assert weights == pytest.approx([*model.intercept_, *model.coef_[0]], abs=1e-8)


def test_draws_in_several_parts_are_the_same_draws(monkeypatch):
    from factlab.exam import cues

    items, topics = bank(30), TOPICS[:30]
    whole = exam.cue_test(items, topics, permutations=19)
    monkeypatch.setattr(cues, "_DRAWS", 7)
    pd.testing.assert_frame_equal(exam.cue_test(items, topics, permutations=19), whole)


@pytest.mark.parametrize("features", ["structure", "overlap", "both"])
def test_nothing_is_found_in_a_random_bank(features):
    items, topics = bank(1000, seed=2), [f"t{n % 16}" for n in range(1000)]
    e = exam.cue_probe(items, topics, features)
    assert e.low <= 0.25 <= e.high and e.clusters == 16 and e.n == 1000
    assert f"features:{features}" in e.signature and "chance:0.25" in e.signature


def test_the_test_keeps_its_level_in_random_banks():
    topics = [f"t{n % 5}" for n in range(60)]
    p = [exam.cue_test(bank(60, seed=s), topics, "both", permutations=39, seed=99 + s)["p"][0] for s in range(15)]
    assert sum(v <= 0.05 for v in p) <= 3 and 0.3 < np.mean(p) < 0.7


def test_the_test_finds_a_planted_cue():
    row = exam.cue_test(bank(96, 0.5), TOPICS[:96], permutations=39).iloc[0]
    assert row["p"] == 1 / 40 and row["value"] > row["chance_high"] and row["groups"] == 16
    assert row["value"] == pytest.approx(exam.cue_probe(bank(96, 0.5), TOPICS[:96]).value)
    assert 0.2 < row["chance"] < 0.3
    with pytest.raises(ValueError, match="permutations"):
        exam.cue_test(bank(8), TOPICS[:8], permutations=0)


def test_long_keys_are_found():
    few, many = (exam.cue_probe(bank(160, planted), TOPICS) for planted in (0.3, 1.0))
    assert many.value > 0.95
    assert few.low > 0.25 and few.value < many.low


def cued(change, n=160, seed=3):
    """A random bank whose keys (never its distractors) are changed."""
    out = []
    for one in bank(n, seed=seed):
        options = list(one.options)
        options[one.key_number] = change(options[one.key_number], one)
        out.append(replace(one, options=tuple(options)))
    return out


@pytest.mark.parametrize(
    "change",
    [
        lambda text, one: text.replace(" ", " may ", 1),  # a hedge
        lambda text, one: text.replace(" ", " 42 ", 1),
        lambda text, one: text.replace(" ", " MRI ", 1),
        lambda text, one: text.replace(" ", ", ", 2),
        lambda text, one: text.replace(" ", " (", 1) + ")",
        lambda text, one: " ".join(text.split()[:5]),  # the shortest
    ],
)
def test_each_kind_of_structure_is_found(change):
    assert exam.cue_probe(cued(change), TOPICS, replicates=400).low > 0.3


def test_words_of_the_stem_are_found_by_overlap_alone():
    items = cued(lambda text, one: " ".join([*text.split()[:-4], *one.question.split()[:4]]))
    structure, overlap, both = (exam.cue_probe(items, TOPICS, f) for f in ("structure", "overlap", "both"))
    assert structure.low <= 0.25 <= structure.high
    assert overlap.low > 0.4 and both.low > 0.4


def test_places_give_nothing_away():
    same = [item(question=f"q{n}?", options=("a b", "c d", "e f", "g h"), key="A") for n in range(40)]
    picks = exam.cue_picks(same, TOPICS[:40])
    assert (picks["correct"] == 0.25).all()  # equal options share the pick


def test_what_is_learnt_comes_from_other_topics():
    # In each topic the key is told by length, long or short: of no use to a topic with the other habit.
    items = [i for n, i in enumerate(cued(lambda text, one: text + " word" * 6)) if n % 16 == 0]
    others = [i for n, i in enumerate(cued(lambda text, one: " ".join(text.split()[:4]), seed=4)) if n % 16 == 1]
    groups = ["long"] * len(items) + ["short"] * len(others)
    assert exam.cue_probe(items + others, groups).value < 0.1


def test_the_topic_that_is_left_out_teaches_nothing():
    from factlab.exam.cues import _Probe

    items = bank(40)
    groups = TOPICS[:40]
    other = [
        replace(i, question=i.question + " lemo" * 9) if g == "t3" else i for i, g in zip(items, groups, strict=True)
    ]
    for number in range(16):
        (held, x), (_, y) = (_Probe(some, groups, "both").folds[number] for some in (items, other))
        assert np.allclose(x[~held], y[~held]) == (number == 3)


def test_order_of_rows_makes_no_difference():
    items = bank(96, 0.3)
    a = exam.cue_picks(items, TOPICS[:96])
    b = exam.cue_picks(items[::-1], TOPICS[:96][::-1])[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(a[["item_id", "picked", "correct"]], b[["item_id", "picked", "correct"]])


def test_before_and_after_repair():
    before, after = bank(160, 0.8), bank(160, 0.0, seed=9)
    table = exam.cue_comparison(before, after, (TOPICS, TOPICS), replicates=1000).set_index("cue")
    assert list(table.index) == ["structure", "both", "longest_key"]
    assert (table["difference"] < -0.3).all() and (table["high"] < 0).all()
    assert np.allclose((table["after"] - table["before"]).astype(float), table["difference"].astype(float))
    same = exam.cue_comparison(after, bank(160, seed=11), (TOPICS, TOPICS), replicates=1000).set_index("cue")
    assert (same["low"] < 0).all() and (same["high"] > 0).all()
    few = exam.cue_comparison(before[:32], after[:32], (["a", "b"] * 16,) * 2).set_index("cue")
    assert few["low"].isna().all() and few["reason"].str.contains("no interval").all()


def test_where_keys_stand():
    even = exam.key_places(bank(400))
    assert even["items"].sum() == 400 and even["p"][0] > 0.01
    leaning = exam.key_places([replace(i, key="B" if n % 2 else i.key) for n, i in enumerate(bank(100))])
    assert leaning["p"][0] < 0.001 and leaning["share"].astype(float).idxmax() == 1
    assert exam.key_places(bank(19))["p"].isna().all() and exam.key_places([])["share"].isna().all()


def test_features_stand_beside_those_of_the_same_item():
    table = exam.option_features([item(options=("a b", "c d", "e f MRI 3.5", "may, g"))])
    assert table["is_key"].tolist() == [False, True, False, False]
    assert np.allclose(table.drop(columns=["item", "option", "is_key"]).sum(), 0)
    assert table["numerals"].idxmax() == 2 and table["hedges"].idxmax() == 3 and table["capitals"].idxmax() == 2
    assert len(exam.option_features([])) == 0


@pytest.mark.parametrize(
    ("items", "groups", "features", "message"),
    [
        (bank(4), ["a"] * 4, "structure", "two are needed"),
        (bank(4), ["a", "b"], "structure", "2 labels for 4 items"),
        (bank(4), list("abab"), "looks", "features"),
        ([*bank(3), item(key="")], list("abab"), "structure", "item 4 .* has no key"),
    ],
)
def test_what_cannot_be_probed_is_said(items, groups, features, message):
    with pytest.raises(ValueError, match=message):
        exam.cue_probe(items, groups, features)
