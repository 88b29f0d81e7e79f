"""DAHL section 5.2: samples of the questions, compared as published and for equality, and the size that would settle it."""

import collections
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_ind

from factlab import runs, stats
from factlab.stats import all_pairs
from factlab.studies import sample_check

UNDEFINED = re.compile(r"\bnan\b|None|<NA>|\binf\b", re.IGNORECASE)
CATEGORIES = ["a"] * 50 + ["b"] * 30 + ["c"] * 20
SPREAD = np.arange(12) / 11
WIDE = dict(x=SPREAD, y=SPREAD, z=SPREAD)  # equal means, too few to be shown equal within 0.05
FAR = dict(x=SPREAD, y=SPREAD + 2)
FEW = dict(x=SPREAD[:9], y=SPREAD)
SAME = dict(x=[0.1] * 12, y=[0.1] * 12)


# ---------------------------------------------------------------- drawing


@pytest.mark.parametrize(
    ("n", "fraction", "size"), [(8573, 0.1, 857), (58, 0.2, 12), (58, 0.1, 6), (25, 0.1, 3), (3, 0.1, 1), (5, 1.0, 5), (0, 0.1, 0)]
)  # fmt: skip
def test_the_size_of_a_sample(n, fraction, size):
    assert sample_check.size(n, fraction) == size
    assert [len(rows) for rows in sample_check.draw(["a"] * n, fraction, 2).values()] == [size, size]


@pytest.mark.parametrize("disjoint", [False, True])
def test_every_sample_keeps_the_shares_of_the_categories(disjoint):
    drawn = sample_check.draw(CATEGORIES, 0.1, 5, disjoint=disjoint)
    assert list(drawn) == [f"sample {i}" for i in range(1, 6)]
    for rows in drawn.values():
        assert collections.Counter(np.array(CATEGORIES)[rows]) == {"a": 5, "b": 3, "c": 2}
        assert rows.tolist() == sorted(set(rows.tolist()))
    assert len({tuple(rows) for rows in drawn.values()}) == 5  # five different ones
    again = sample_check.draw(CATEGORIES, 0.1, 5, disjoint=disjoint)
    assert all((again[name] == drawn[name]).all() for name in drawn)
    other = sample_check.draw(CATEGORIES, 0.1, 5, disjoint=disjoint, seed=1)
    assert any((other[name] != drawn[name]).any() for name in drawn)


def test_disjoint_samples_share_nothing_and_may_use_up_everything():
    drawn = sample_check.draw(CATEGORIES, 0.2, 5, disjoint=True)
    assert sorted(np.concatenate(list(drawn.values()))) == list(range(100))
    assert sample_check.shared(drawn) == [0] * 10


FAULTS = [
    (dict(fraction=0.3, samples=5, disjoint=True), "5 samples of 30 that share no question need 150; there are 100"),
    (dict(fraction=0.0, samples=5, disjoint=True), "fraction"),
    (dict(fraction=0.0), "fraction"),
    (dict(fraction=1.5), "fraction"),
    (dict(fraction=0.1, samples=0), "samples: expected at least 1"),
]


@pytest.mark.parametrize(("settings", "message"), FAULTS)
def test_a_draw_that_cannot_be_made_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        sample_check.draw(CATEGORIES, **settings)


def test_the_names_of_many_samples_sort():
    names = list(sample_check.draw(CATEGORIES, 0.1, 12))
    assert names == sorted(names) and names[0] == "sample 01" and names[11] == "sample 12"


def test_members_are_the_drawn_answers_below_each_other():
    answers = pd.DataFrame(
        {"response_id": list("pqr"), "category": ["a", "a", None], "precision": [0.1, None, 0.3], "text": "…"}
    )
    found = sample_check.members(answers, {"sample 1": np.array([0, 2]), "sample 2": np.array([2])})
    assert found.columns.tolist() == ["sample", "response_id", "category", "precision"]
    assert found[["sample", "response_id"]].values.tolist() == [["sample 1", "p"], ["sample 1", "r"], ["sample 2", "r"]]
    assert len(sample_check.members(answers.head(0), sample_check.draw([], 0.1))) == 0


OVERLAPS = [
    ({"s": [1, 2]}, [], "one sample: nothing to compare"),
    ({"s": [1, 2], "t": [3, 4]}, [0], "no two samples share a question"),
    ({"s": [1, 2], "t": [2, 3], "u": [1, 2]}, [1, 2, 1], "two samples of 2 share 1.3 questions on average (1 to 2)"),
    ({"s": [], "t": []}, [0], "no two samples share a question"),
]


@pytest.mark.parametrize(("drawn", "shared", "sentence"), OVERLAPS)
def test_what_samples_share(drawn, shared, sentence):
    drawn = {name: np.array(rows, int) for name, rows in drawn.items()}
    assert sample_check.shared(drawn) == shared
    assert sample_check.overlap_sentence(drawn) == sentence


# ---------------------------------------------------------------- the size that would be needed


def test_the_size_needed_by_hand():
    # 0 and 1 ten times each: s² = 20 / 19 / 4. z(0.95) = 1.6449, both for alpha and for power 0.9.
    assert sample_check.needed([0, 1] * 10, 0.1) == int(np.ceil(2 * (2 * 1.6448536) ** 2 * (5 / 19) / 0.01)) == 570
    assert sample_check.needed([0, 1, None] * 10, 0.1) == 570  # what has no score has no spread
    # power 0.8: z(0.9) = 1.2816
    assert sample_check.needed([0, 1] * 10, 0.1, power=0.8) == int(
        np.ceil(2 * (1.6448536 + 1.2815516) ** 2 * (5 / 19) / 0.01)
    )


def shown_equal(n: int, margin: float, scores: np.ndarray, pairs: int = 4000) -> float:
    """Share of pairs of independent samples of n scores, drawn with replacement, that Welch's TOST shows to be equal."""
    drawn = np.random.default_rng(n).choice(scores, size=(2, pairs, n))
    means, errors = drawn.mean(axis=2), drawn.var(axis=2, ddof=1) / n
    error = errors.sum(axis=0)
    df = error**2 / (errors**2 / (n - 1)).sum(axis=0)
    reach = student.ppf(0.95, df) * np.sqrt(error)
    return float((np.abs(means[0] - means[1]) + reach < margin).mean())


@pytest.mark.parametrize(("spread", "margin"), [("shares", 0.08), ("zeros and ones", 0.15)])
def test_the_size_needed_gives_the_power_it_promises(spread, margin):
    scores = np.random.default_rng(0).beta(2, 1, 500) if spread == "shares" else np.repeat([0.0, 1.0], [150, 350])
    n = sample_check.needed(scores, margin)
    assert shown_equal(n, margin, scores) == pytest.approx(0.9, abs=0.02)  # standard error of the simulation 0.005
    assert shown_equal(n // 2, margin, scores) < 0.7
    assert shown_equal(sample_check.needed(scores, margin, power=0.8), margin, scores) == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("scores", [[], [0.5] * 9, [0.1] * 12, [None] * 12, [0.1, None] * 9])
def test_without_spread_no_size_can_be_told(scores):
    assert sample_check.needed(scores, 0.05) is None
    assert sample_check.needed_sentence(None, len(scores), 0.05).endswith("cannot be told")


@pytest.mark.parametrize("margin", [0, -1, float("nan")])
def test_the_margin_of_the_size_is_above_0(margin):
    with pytest.raises(ValueError, match="margin"):
        sample_check.needed([0, 1] * 10, margin)


@pytest.mark.parametrize(
    ("found", "n", "sentence"),
    [
        (87, 8573, "about 87 scored answers in each sample for a margin of ±0.05, 1% of these 8,573 questions"),
        (58, 58, "about 58 scored answers in each sample for a margin of ±0.05, 100% of these 58 questions"),
        (1200, 58, "about 1,200 scored answers in each sample for a margin of ±0.05, more than the 58 there are"),
    ],
)
def test_the_size_needed_in_words(found, n, sentence):
    assert sample_check.needed_sentence(found, n, 0.05) == sentence


# ---------------------------------------------------------------- in words

READINGS = [
    # (arms, margin, published reading, equivalence reading, summary)
    (WIDE, 0.05, "As published: 0 of 3 pairs have p < 0.05 in the t-test, 0 in the F-test (smallest p 1). The paper would call the samples interchangeable.",
     "0 of 3 pairs are shown to be equal within ±0.05; the 90 % intervals of the differences reach to ±0.23.",
     "of 3 pairs of samples of 20%, 0 differ by the published test and 0 are shown to be equal within ±0.05"),
    (WIDE, 0.9, "As published: 0 of 3 pairs have p < 0.05 in the t-test, 0 in the F-test (smallest p 1). The paper would call the samples interchangeable.",
     "3 of 3 pairs are shown to be equal within ±0.9; the 90 % intervals of the differences reach to ±0.23.",
     "of 3 pairs of samples of 20%, 0 differ by the published test and 3 are shown to be equal within ±0.9"),
    (FAR, 0.05, f"As published: 1 of 1 pairs have p < 0.05 in the t-test, 0 in the F-test (smallest p {ttest_ind(*FAR.values()).pvalue:.2g}).",
     "0 of 1 pairs are shown to be equal within ±0.05; the 90 % intervals of the differences reach to ±2.23.",
     "of 1 pairs of samples of 20%, 1 differ by the published test and 0 are shown to be equal within ±0.05"),
    (FEW, 0.05, "Not tested: 9 items in an arm: too few to test, 10 needed.", "Not tested: 9 items in an arm: too few to test, 10 needed.",
     "not tested: 9 items in an arm: too few to test, 10 needed"),
    (SAME, 0.05, "As published: 0 of 1 pairs have p < 0.05 in the t-test, 0 in the F-test (smallest p 1). The paper would call the samples interchangeable.",
     "Not tested: no difference: every score is the same.",
     "of 1 pairs of samples of 20%, 0 differ by the published test and 0 are shown to be equal within ±0.05"),
    ({}, 0.05, "Not tested: no pairs.", "Not tested: no pairs.", "not tested: no pairs"),
]  # fmt: skip


@pytest.mark.parametrize(("arms", "margin", "published", "equivalence", "summary"), READINGS)
def test_what_the_tests_say(arms, margin, published, equivalence, summary):
    pairs = all_pairs(arms, margin)
    assert sample_check.published_reading(pairs) == published
    assert sample_check.equivalence_reading(pairs, margin) == equivalence
    assert sample_check.summary(pairs, 0.2, margin) == summary


APART, TOGETHER = {"x": np.array([1, 2]), "y": np.array([3, 4])}, {"x": np.array([1, 2]), "y": np.array([2, 3])}
WARNINGS = [
    # (arms, what was drawn, margin, beginning of each warning)
    (WIDE, APART, 0.9, []),
    (WIDE, TOGETHER, 0.9, ["The samples share questions"]),
    (WIDE, APART, 0.05, ["At least one pair is not shown to be equal within ±0.05"]),
    (FEW, APART, 0.05, ["1 of 1 pairs are not tested: 9 items in an arm"]),
    (FEW | {"z": SPREAD}, APART, 0.05, ["2 of 3 pairs are not tested: 9 items", "At least one pair"]),
    (SAME, APART, 0.05, ["1 of 1 pairs have one and the same score throughout"]),
    ({}, {}, 0.05, []),
]


@pytest.mark.parametrize(("arms", "drawn", "margin", "starts"), WARNINGS)
def test_what_to_distrust(arms, drawn, margin, starts):
    notes = sample_check.warnings(all_pairs(arms, margin), drawn, margin)
    assert len(notes) == len(starts) and all(map(str.startswith, notes, starts)), notes


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, 0.3, 1.0, None]), max_size=13), max_size=3))
def test_whatever_was_scored_the_words_hold_no_undefined_number(scores):
    arms = dict(zip("xyz", scores, strict=False))
    pairs = all_pairs(arms, 0.1)
    said = [sample_check.published_reading(pairs), sample_check.equivalence_reading(pairs, 0.1)]
    said += [sample_check.summary(pairs, 0.1, 0.1), *sample_check.warnings(pairs, APART, 0.1)]
    assert not [text for text in said if UNDEFINED.search(text)], said


# ---------------------------------------------------------------- the recorded answers


@pytest.mark.parametrize("disjoint", [False, True])
def test_the_recorded_answers(tmp_path, monkeypatch, disjoint):
    monkeypatch.chdir(tmp_path)
    answers = runs.open("", "dahl/60_sample_check").read("precision")
    drawn = sample_check.draw(answers["category"], 0.2, 4, disjoint=disjoint)
    members = sample_check.members(answers, drawn)
    assert len(members) == 4 * 12 and (max(sample_check.shared(drawn)) == 0) == disjoint
    pairs = all_pairs({name: group["precision"] for name, group in members.groupby("sample")}, 0.05)
    assert len(pairs) == 6 and not pairs["equivalent"].fillna(False).any()
    for row in pairs.dropna(subset="p").itertuples():
        two = [members.loc[members["sample"] == name, "precision"].dropna() for name in (row.a, row.b)]
        assert row.difference == pytest.approx(two[0].mean() - two[1].mean())
    everything = answers["precision"].dropna()
    assert sample_check.needed(everything, 0.05) > len(answers)
    assert stats.estimate(everything).n == answers["status"].eq("scored").sum()
