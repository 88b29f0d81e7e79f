"""Several arms at once: every pair as DAHL tests its samples, each arm against one, corrections and what cannot be tested."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f, ttest_ind
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind

from factlab.stats import against, all_pairs, compare, equivalence

SPREAD = np.arange(12) / 11  # mean 0.5
RNG = np.random.default_rng(5)
ARMS = {name: np.clip(RNG.normal(mean, sd, 40), 0, 1) for name, mean, sd in [("x", 0.5, 0.1), ("y", 0.5, 0.11), ("z", 0.7, 0.25)]}  # fmt: skip
SCORES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, None]), min_size=0, max_size=14)


# ---------------------------------------------------------------- every pair


def test_each_pair_is_tested_as_scipy_and_statsmodels_do():
    found = all_pairs(ARMS, 0.08)
    assert list(zip(found["a"], found["b"], strict=True)) == [("x", "y"), ("x", "z"), ("y", "z")]
    p, p_tost = [], []
    for row, (a, b) in zip(found.itertuples(), itertools.combinations(ARMS.values(), 2), strict=True):
        ratio = a.var(ddof=1) / b.var(ddof=1)
        p_f = 2 * min(f.cdf(ratio, 39, 39), f.sf(ratio, 39, 39))
        assert row.p_f == pytest.approx(p_f)
        assert row.test == ("Student t" if p_f >= 0.05 else "Welch t")
        p.append(ttest_ind(a, b, equal_var=p_f >= 0.05).pvalue)
        p_tost.append(ttost_ind(a, b, -0.08, 0.08, usevar="unequal")[0])
        assert (row.p, row.p_tost) == (pytest.approx(p[-1]), pytest.approx(p_tost[-1]))
        assert row.difference == pytest.approx(a.mean() - b.mean())
        interval = ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
        assert (row.low, row.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert set(found["test"]) == {"Student t", "Welch t"}  # both ways were taken
    assert found["p_holm"].tolist() == pytest.approx(multipletests(p, method="holm")[1])
    assert found["p_tost_holm"].tolist() == pytest.approx(multipletests(p_tost, method="holm")[1])
    assert found["equivalent"].tolist() == [True, False, False]
    assert found["verdict"].tolist() == ["equal within ±0.08", "they differ", "they differ"]


FEW = "9 items in an arm: too few to test, 10 needed"
PAIRS = [
    # (a, b, margin, test, verdict, status, reason)
    (SPREAD, SPREAD, 0.5, "Student t", "equal within ±0.5", "scored", ""),
    (SPREAD, SPREAD, 0.01, "Student t", "undecided: neither a difference nor equality is shown", "scored", ""),
    (SPREAD, SPREAD + 2, 0.5, "Student t", "they differ", "scored", ""),
    (SPREAD / 100, SPREAD / 100 + 0.02, 0.5, "Student t", "equal within ±0.5, though they differ", "scored", ""),
    (SPREAD, [0.5] * 12, 0.5, "Welch t", "equal within ±0.5", "scored", ""),  # one arm constant: no F-test
    ([0.1] * 12, [0.1] * 15, 0.5, "", "undecided: neither a difference nor equality is shown", "scored", "no difference: every score is the same"),
    ([0.1] * 12, [0.2] * 12, 0.5, "", "not tested", "undefined", "zero variance, not testable"),
    (SPREAD, SPREAD[:9], 0.5, "", "not tested", "undefined", FEW),
    (SPREAD, [*SPREAD[:9], None, np.nan], 0.5, "", "not tested", "undefined", FEW),
    (SPREAD, [], 0.5, "", "not tested", "undefined", FEW.replace("9", "0")),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "margin", "test", "verdict", "status", "reason"), PAIRS)
def test_what_is_said_of_a_pair(a, b, margin, test, verdict, status, reason):
    row = all_pairs({"a": a, "b": b}, margin).iloc[0]
    assert (row["test"], row["verdict"], row["status"], row["reason"]) == (test, verdict, status, reason)
    assert row.isna()["p"] == (verdict == "not tested")
    assert row.isna()["equivalent"] == row.isna()["p_tost"] == (not test)


def test_a_pair_that_cannot_be_tested_is_no_comparison_for_the_correction():
    alone = all_pairs({"x": ARMS["x"], "y": ARMS["y"]}, 0.05).iloc[0]
    beside = all_pairs({"x": ARMS["x"], "y": ARMS["y"], "few": [0.5]}, 0.05)
    assert beside["p_holm"].isna().tolist() == [False, True, True]
    assert beside["p_holm"].iloc[0] == alone["p_holm"] == alone["p"]
    assert beside.loc[1, "mean_b"] == 0.5 and beside.loc[1, "n_b"] == 1  # described


@pytest.mark.parametrize("arms", [{}, {"alone": SPREAD}])
def test_without_a_pair_there_are_columns_and_no_row(arms):
    found = all_pairs(arms, 0.05)
    assert len(found) == 0 and found.dtypes.astype(str)["p_holm"] == "Float64"
    assert found.columns.tolist() == all_pairs(ARMS, 0.05).columns.tolist()


@pytest.mark.parametrize("margin", [0, -0.1, float("nan"), None])
def test_a_margin_is_above_0(margin):
    with pytest.raises(ValueError, match="margin"):
        all_pairs(ARMS, margin)


@settings(max_examples=40, deadline=None)
@given(st.lists(SCORES, min_size=2, max_size=4))
def test_no_pair_is_lost_and_a_corrected_p_is_never_smaller(scores):
    arms = dict(zip("wxyz", scores, strict=False))
    found = all_pairs(arms, 0.1)
    assert len(found) == len(arms) * (len(arms) - 1) / 2
    assert (found["p_holm"].isna() == found["p"].isna()).all() and not (found["p_holm"] < found["p"]).any()
    assert not (found["p_tost_holm"] < found["p_tost"]).any()
    assert (found["p"].isna() == (found["verdict"] == "not tested")).all()
    assert (found["reason"] != "")[found["p"].isna()].all()
    tested = found[found["equivalent"].eq(True).fillna(False)]
    assert (tested["low"] > -0.1).all() and (tested["high"] < 0.1).all()
    turned = (
        all_pairs(dict(reversed(arms.items())), 0.1)
        .set_index(["b", "a"])
        .loc[list(zip(found["a"], found["b"], strict=True))]
    )
    assert turned["p"].to_numpy(float) == pytest.approx(found["p"].to_numpy(float), nan_ok=True)
    assert -turned["difference"].to_numpy(float) == pytest.approx(found["difference"].to_numpy(float), nan_ok=True)


# ---------------------------------------------------------------- each against one


def answers(**arms) -> pd.DataFrame:
    """One row a question and arm; the question's number is its source."""
    rows = [(name, f"q{i}", i, s) for name, scores in arms.items() for i, s in enumerate(scores)]
    return pd.DataFrame(rows, columns=["arm", "question", "source", "score"])


def test_each_arm_is_paired_with_the_reference_by_question():
    base = np.tile([0.2, 0.4, 0.6, 0.8], 5)
    better, noisy = base + 0.1, base + np.tile([0.01, -0.01], 10)
    frame = answers(base=base, better=better, noisy=noisy).sample(frac=1, random_state=1)
    found = against(frame, "arm", "question", "score", "base", margin=0.05)
    assert found["arm"].tolist() == ["better", "noisy"]
    assert found["difference"].tolist() == pytest.approx([0.1, 0], abs=1e-12)
    assert found["differs"].tolist() == [True, False]
    assert found["n"].tolist() == [20, 20] and found["left_out"].tolist() == [0, 0]
    # All differences of `better` are the same, so there is no interval, and without one no claim of equivalence.
    assert found["equivalent"].isna().tolist() == [True, False] and found["equivalent"].iloc[1]
    expected = compare(noisy, base, seed=3)["p"].iloc[0]
    assert against(frame, "arm", "question", "score", "base", seed=3)["p"].iloc[1] == pytest.approx(expected, abs=0.02)


def test_p_is_corrected_over_the_arms_that_were_tested():
    base = np.linspace(0, 0.5, 12)
    ten = {f"arm {i}": base + np.where(np.arange(12) < i, -0.1, 0.1) for i in range(3)}
    frame = answers(base=base, **ten, few=base[:9])
    found = against(frame, "arm", "question", "score", "base")
    # Sign flips by hand: 12, 11 and 10 of 12 equal differences are positive.
    p = [2 / 4096, 2 * 13 / 4096, 2 * 79 / 4096]
    assert found["p"].tolist()[:3] == pytest.approx(p)
    assert found["p_holm"].tolist()[:3] == pytest.approx(multipletests(p, method="holm")[1])
    assert found["arm"].iloc[3] == "few" and found.iloc[3][["p", "p_holm", "differs"]].isna().all()
    assert found["reason"].iloc[3] == "9 pairs: too few to test, 10 needed" and found["left_out"].iloc[3] == 3


def test_clusters_are_kept_together():
    """Twenty questions of five papers are five independent pieces, too few to test."""
    frame = answers(base=np.tile([0.2, 0.5], 10), other=np.tile([0.4, 0.6], 10)).assign(
        source=lambda t: t["source"] % 5
    )
    assert against(frame, "arm", "question", "score", "base")["p"].notna().all()
    found = against(frame, "arm", "question", "score", "base", "source")
    assert found["clusters"].iloc[0] == 5 and found["p"].isna().all()


def test_the_interval_decides_equivalence_as_two_one_sided_tests_do():
    """The bootstrap interval at 0.9 against statsmodels' TOST, at margins on both sides of its limit."""
    rng = np.random.default_rng(2)
    base = rng.random(60)
    other = base + rng.normal(0.02, 0.1, 60)
    frame = answers(base=base, other=other)
    tost = equivalence(other, base, 0.05).iloc[0]
    limit = max(abs(tost["low"]), abs(tost["high"]))
    for margin, expected in ((limit * 0.95, False), (limit * 1.05, True)):
        found = against(frame, "arm", "question", "score", "base", margin=margin)
        assert (
            found["equivalent"].tolist() == [expected]
            and equivalence(other, base, margin)["equivalent"].iloc[0] == expected
        )


def test_several_answers_count_with_their_mean_and_a_missing_one_not_at_all():
    rows = [
        ("a", "q1", 0.0),
        ("a", "q1", 1.0),
        ("a", "q1", None),
        ("b", "q1", 0.9),
        ("a", "q2", 1.0),
        ("b", "q2", None),
    ]
    rows += [("a", "q3", None), ("b", "q3", None), (None, "q1", 0.5), ("b", None, 0.5)]
    found = against(pd.DataFrame(rows, columns=["arm", "q", "s"]), "arm", "q", "s", "b").iloc[0]
    assert found["mean_a"] == 0.5 and found["mean_b"] == 0.9 and found["n"] == 1
    assert found["left_out"] == 2  # q2, without a score in one arm, and q3, without one in both


def test_no_score_at_all_is_described():
    found = against(answers(a=[None] * 12, b=[None] * 12), "arm", "question", "score", "a", "source", margin=0.1).iloc[
        0
    ]
    assert found["n"] == 0 and found["left_out"] == 12 and found["status"] == "undefined"
    assert found[["mean_a", "difference", "low", "p", "p_holm", "differs", "equivalent"]].isna().all()


def test_the_reference_alone_has_nothing_beside_it():
    found = against(answers(a=SPREAD), "arm", "question", "score", "a", margin=0.1)
    two = against(answers(a=SPREAD, b=SPREAD), "arm", "question", "score", "a", margin=0.1)
    assert len(found) == 0 and found.columns.tolist() == two.columns.tolist()


FAULTS = [
    ("c", 0.1, SPREAD, "arm 'c' is not among the arms a, b"),
    ("a", 0, SPREAD, "margin: expected a difference above 0"),
    ("a", 0.1, ["high"] * 12, "score, row 12: 'high' is not a number"),
]


@pytest.mark.parametrize(("reference", "margin", "scores", "message"), FAULTS)
def test_a_fault_is_named(reference, margin, scores, message):
    with pytest.raises(ValueError, match=message):
        against(answers(a=SPREAD, b=scores), "arm", "question", "score", reference, margin=margin)


def test_without_any_arm_the_reference_is_missing():
    with pytest.raises(ValueError, match="there are none"):
        against(answers().astype({"score": float}), "arm", "question", "score", "a")


@settings(max_examples=25, deadline=None)
@given(SCORES, SCORES, st.randoms())
def test_neither_the_order_of_rows_nor_other_arms_change_a_comparison(a, b, random):
    frame = answers(a=[*a, 0.5], b=[*b, 0.5])
    order = list(frame.index)
    random.shuffle(order)
    found = against(frame, "arm", "question", "score", "a")
    pd.testing.assert_frame_equal(against(frame.loc[order], "arm", "question", "score", "a"), found, rtol=1e-9)
    three = against(pd.concat([frame, answers(c=SPREAD)]), "arm", "question", "score", "a")
    columns = ["arm", "difference", "p", "n"]
    pd.testing.assert_frame_equal(three.loc[three["arm"] == "b", columns].reset_index(drop=True), found[columns])
    back = against(frame, "arm", "question", "score", "b")
    assert back["p"].isna().iloc[0] == found["p"].isna().iloc[0]
