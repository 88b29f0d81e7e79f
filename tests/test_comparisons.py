"""Comparisons: textbook data, the degenerate inputs that break other tools, and properties of the tests."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.stats import compare, equivalence, holm, resampling, two_sample

# Student's sleep data (R `datasets::sleep`): hours of extra sleep under two drugs, ten patients
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
# Darwin's maize (Fisher 1935, The Design of Experiments, section 17): cross- minus self-fertilised, eighths of an inch
MAIZE = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], dtype=float)


def shows_no_nan(frame: pd.DataFrame) -> bool:
    return not any(word in frame.to_html().lower() for word in (">nan<", ">inf<", ">none<"))


# ---------------------------------------------------------------- paired


def test_sign_flips_fisher_maize():
    row = compare(MAIZE, np.zeros(15)).loc[0]
    assert row["difference"] == pytest.approx(314 / 15)
    # Fisher counted 863 of 32768 arrangements with a sum of at least 314; both tails: 1726.
    assert row["p"] == pytest.approx(1726 / 32768)
    assert row["p_method"] == "sign flips, exact"
    assert row["cohen_dz"] == pytest.approx(MAIZE.mean() / MAIZE.std(ddof=1))
    # Wilcoxon signed ranks by hand: the two negative differences, 67 and 48, have ranks 14 and 10 of 15.
    assert row["rank_biserial"] == pytest.approx((120 - 24 - 24) / 120)
    assert row["low"] < row["difference"] < row["high"]


def test_random_sign_flips_come_near_the_t_test():
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(0)
    a, b = rng.random(200), rng.random(200)
    b -= 0.06
    row = compare(a, b, replicates=20000).loc[0]
    assert row["p_method"] == "sign flips, 20000 random"
    assert row["p"] == pytest.approx(ttest_rel(a, b).pvalue, abs=0.003)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(9, 1, 22 / 1024), (5, 15, 0.04138947), (10, 0, 2 / 1024), (0, 0, 1.0), (6, 6, 1.0)],  # 2 P(Bin(n, 1/2) <= min)
)
def test_mcnemar(only_a, only_b, p):
    a = [1] * only_a + [0] * only_b + [1] * 20 + [0] * 10
    b = [0] * only_a + [1] * only_b + [1] * 20 + [0] * 10
    row = compare(a, b).loc[0]
    assert (row["only_a"], row["only_b"]) == (only_a, only_b)
    assert row["p_mcnemar"] == pytest.approx(p)
    if only_a + only_b <= 16:
        assert row["p"] == pytest.approx(p)  # on 0/1 scores both are the sign test


@pytest.mark.parametrize(
    ("a", "b", "clusters", "status", "reason"),
    [
        ([0.1] * 9, [0.2] * 9, None, "undefined", "9 pairs: too few to test"),
        ([], [], None, "undefined", "0 pairs: too few to test"),
        ([0.1, 0.3] * 20, [0.2, 0.1] * 20, [0, 1, 2, 3] * 10, "undefined", "4 clusters: too few to test"),
        ([0.1, 0.3] * 6, [0.1, 0.3] * 6, None, "scored", "no difference in any pair"),
        ([0.5] * 12, [0.4] * 12, None, "scored", "no interval: all differences equal"),
    ],
)
def test_compare_says_what_it_cannot(a, b, clusters, status, reason):
    frame = compare(a, b, clusters)
    row = frame.loc[0]
    assert row["status"] == status and row["reason"].startswith(reason)
    assert pd.isna(row["low"]) and pd.isna(row["high"])
    assert pd.isna(row["p"]) == (status == "undefined")
    assert shows_no_nan(frame)


def test_identical_arms_p_is_one_and_constant_difference_is_tested_exactly():
    same = np.random.default_rng(1).random(30)
    assert compare(same, same).loc[0, "p"] == 1
    assert compare([0.5] * 12, [0.4] * 12).loc[0, "p"] == pytest.approx(2 / 2**12)


def test_pairs_with_a_gap_are_left_out_and_counted():
    row = compare([None, *MAIZE], [0.5, *np.zeros(14), None]).loc[0]
    assert (row["n"], row["left_out"]) == (14, 2)


def test_clusters_are_flipped_together():
    a = np.repeat([1.0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0], 10)
    row = compare(a, 1 - a, np.repeat(np.arange(11), 10)).loc[0]
    # 11 equal sums, one of them negative: |sum| >= 9 of 11 leaves 0, 1, 10 or 11 negative signs.
    assert row["p"] == pytest.approx(2 * (1 + 11) / 2**11)
    assert pd.isna(row["p_mcnemar"])  # it would take the pairs for independent


def test_pairs_are_not_mixed_up():
    a, b = pd.Series(range(12), index=range(12)), pd.Series(range(12), index=range(11, -1, -1))
    with pytest.raises(ValueError, match="different row labels"):
        compare(a, b)
    with pytest.raises(ValueError, match="a has 3 rows and b has 2"):
        compare([1, 2, 3], [1, 2])
    assert compare(a, pd.Series(range(12), index=range(100, 112))).loc[0, "difference"] == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=10, max_size=30))
def test_swapping_the_arms_only_turns_the_sign(rows):
    a, b = np.array(rows, dtype=float).T / 10
    one, other = compare(a, b, replicates=300).loc[0], compare(b, a, replicates=300).loc[0]
    assert one["difference"] == pytest.approx(-other["difference"])
    assert 0 < one["p"] <= 1 and one["p"] == pytest.approx(other["p"])


@pytest.mark.slow
def test_sign_flips_keep_their_level_under_the_null():
    rng, runs = np.random.default_rng(3), 400
    clusters = np.repeat(np.arange(25), 4)
    p = []
    for _ in range(runs):
        shared = rng.normal(0, 0.2, 25)[clusters]  # differences that clusters share, symmetric about 0
        p.append(compare(shared + rng.normal(0, 0.1, 100), np.zeros(100), clusters, replicates=400).loc[0, "p"])
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.08


# ---------------------------------------------------------------- many comparisons


@pytest.mark.parametrize(
    ("p", "corrected"),
    [
        (
            [0.01, 0.04, 0.03, 0.005],
            [0.03, 0.06, 0.06, 0.02],
        ),  # by hand: 4 × .005, 3 × .01, 2 × .03, then at least that
        ([0.01, None, 0.04, math.nan], [0.02, math.nan, 0.04, math.nan]),
        ([0.6, 0.9], [1.0, 1.0]),
        ([0.03], [0.03]),
        ([], []),
        ([None], [math.nan]),
    ],
)
def test_holm(p, corrected):
    assert holm(p) == pytest.approx(np.array(corrected, dtype=float), nan_ok=True)


def test_holm_takes_a_column_of_results_and_refuses_what_is_no_p():
    frame = pd.concat([compare(MAIZE, np.zeros(15)), compare([1], [2])], ignore_index=True)
    assert holm(frame["p"]) == pytest.approx([1726 / 32768, math.nan], nan_ok=True)
    with pytest.raises(ValueError, match="p, row 1: 1.2 is not a p-value"):
        holm([0.1, 1.2])


def test_holm_as_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(0).random(40) ** 3
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_never_lowers(p):
    p, out = np.array(p), holm(p)
    assert (out >= p).all() and (out <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(out[order]) >= 0).all()
    assert out[order[0]] == pytest.approx(min(1.0, len(p) * p[order[0]]))


# ---------------------------------------------------------------- equivalence


def test_tost_paired_by_hand():
    row = equivalence(DRUG_1, DRUG_2, margin=3.0).loc[0]
    d = np.subtract(DRUG_1, DRUG_2)
    t = (d.mean() + 3.0) / (d.std(ddof=1) / math.sqrt(10))  # 3.654 with 9 degrees of freedom
    from scipy.stats import t as student

    assert row["difference"] == pytest.approx(-1.58)
    assert row["p"] == row["p_lower"] == pytest.approx(student.sf(t, 9))
    # R: t.test(…, paired = TRUE, conf.level = 0.90): half-width t(0.95, 9) × 0.38896 = 0.71300
    assert (row["low"], row["high"]) == pytest.approx((-1.58 - 0.71300, -1.58 + 0.71300), abs=1e-4)
    assert row["equivalent"] and row["verdict"] == "equivalent within ±3"
    assert not equivalence(DRUG_1, DRUG_2, margin=2.0).loc[0, "equivalent"]


def test_no_significant_difference_is_not_equivalence():
    rng = np.random.default_rng(4)
    a, b = rng.random(12), rng.random(12)
    assert two_sample(a, b).loc[3, "p"] > 0.05
    row = equivalence(a, b, margin=0.05, paired=False).loc[0]
    assert not row["equivalent"] and row["verdict"] == "not shown to be equivalent within ±0.05"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 0.5), st.booleans())
def test_equivalent_exactly_when_the_interval_lies_inside_the_margin(seed, margin, paired):
    a, b = np.random.default_rng(seed).random((2, 25))
    row = equivalence(a, b, margin, paired=paired).loc[0]
    assert row["equivalent"] == (-margin < row["low"] and row["high"] < margin)


@pytest.mark.parametrize(
    ("a", "b", "paired", "reason"),
    [
        (DRUG_1[:9], DRUG_2[:9], True, "9 items in an arm: too few to test"),
        (DRUG_1, DRUG_2[:4], False, "4 items in an arm: too few to test"),
        ([0.5] * 10, [0.5] * 10, True, "zero variance, not testable"),
        ([0.5] * 10, [0.4] * 12, False, "zero variance, not testable"),
    ],
)
def test_equivalence_not_tested(a, b, paired, reason):
    frame = equivalence(a, b, 0.1, paired=paired)
    assert frame.loc[0, "reason"].startswith(reason)
    assert frame.loc[0, "verdict"] == "not tested" and pd.isna(frame.loc[0, "equivalent"])
    assert shows_no_nan(frame)
    with pytest.raises(ValueError, match="margin"):
        equivalence(a, b, 0, paired=paired)


# ---------------------------------------------------------------- two samples, as DAHL compares its five


def test_two_sample_sleep():
    out = two_sample(DRUG_1, DRUG_2).set_index("test")
    # R: var.test F = 0.79834, p = 0.7427; t.test(var.equal = TRUE) t = -1.8608, p = 0.07919;
    # t.test df = 17.776, p = 0.07939
    assert out.loc["F-test", ["statistic", "p"]].tolist() == pytest.approx([0.79834, 0.7427], abs=5e-5)
    assert out.loc["Student t", ["statistic", "df", "p"]].tolist() == pytest.approx([-1.8608, 18, 0.07919], abs=5e-5)
    assert out.loc["Welch t", ["df", "p"]].tolist() == pytest.approx([17.776, 0.07939], abs=5e-4)
    assert out.loc["Welch t", ["low", "high"]].tolist() == pytest.approx([-3.3654832, 0.2054832], abs=1e-5)
    assert out["applies"].tolist()[2:] == [True, False]
    # R: car::leveneTest F = 0.2482, p = 0.6244
    assert out.loc["Levene", ["statistic", "p"]].tolist() == pytest.approx([0.2482, 0.6244], abs=5e-5)


def test_two_sample_turns_to_welch_when_variances_differ():
    rng = np.random.default_rng(0)
    out = two_sample(rng.normal(0, 0.05, 40), rng.normal(0, 0.5, 40)).set_index("test")
    assert out.loc["F-test", "p"] < 0.001 and out.loc["Levene", "p"] < 0.001
    assert out["applies"].tolist()[2:] == [False, True]


@pytest.mark.parametrize(
    ("a", "b", "p", "status", "reason"),
    [
        (DRUG_1, DRUG_1, [1, 1, 1, 1], "scored", ""),
        ([0.5] * 12, [0.5] * 12, [1, 1, 1, 1], "scored", "no difference"),
        ([0.1 + 0.2] * 12, [0.3] * 12, [1, 1, 1, 1], "scored", "no difference"),  # equal but for rounding
        ([0.5] * 12, [0.6] * 12, [None] * 4, "undefined", "zero variance, not testable"),
        (DRUG_1[:9], DRUG_2, [None] * 4, "undefined", "9 items in an arm: too few to test"),
        ([], [], [None] * 4, "undefined", "0 items in an arm: too few to test"),
    ],
)
def test_two_sample_degenerate(a, b, p, status, reason):
    out = two_sample(a, b)
    assert out["test"].tolist() == ["F-test", "Levene", "Student t", "Welch t"]
    for found, right in zip(out["p"], p, strict=True):
        assert pd.isna(found) if right is None else found == pytest.approx(right)
    assert (out["status"] == status).all() and out["reason"].str.startswith(reason).all()
    assert shows_no_nan(out)


def test_two_sample_partly_degenerate():
    one_constant = two_sample([0.5] * 12, np.linspace(0, 1, 12)).set_index("test")
    assert one_constant.loc["F-test", "reason"] == "zero variance in one arm, not testable"
    assert one_constant.loc["Welch t", "applies"] and one_constant.loc["Welch t", "p"] == pytest.approx(1)
    halves = two_sample([0, 1] * 6, [0, 1] * 8).set_index("test")
    assert halves.loc["Levene", "reason"] == "deviations do not vary, not testable"
    assert halves.loc["Student t", "status"] == "scored"
    assert shows_no_nan(one_constant) and shows_no_nan(halves)


# ---------------------------------------------------------------- few pairs that differ


def few(n: int, below: int = 0, above: int = 0) -> np.ndarray:
    return np.r_[-np.ones(below), np.ones(above), np.zeros(n - below - above)]


@pytest.mark.parametrize(
    ("n", "below", "above", "low", "high"),
    [
        (
            10,
            0,
            0,
            -0.3085,
            0.3085,
        ),  # Clopper-Pearson, one-sided 97.5 %: 0 of 10 leaves 0.3085, 1 of 10 0.4450, 4 of 10 0.7376
        (10, 1, 0, -0.4450, 0.3085),
        (10, 4, 0, -0.7376, 0.3085),
        (10, 1, 1, -0.4450, 0.4450),
        (100, 0, 0, -0.0362, 0.0362),
    ],
)
def test_few_that_differ_have_the_interval_of_how_many_do(n, below, above, low, high):
    d = few(n, below, above)
    row = compare(d, np.zeros(n), bound=1).iloc[0]
    assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))
    assert row["p"] > 0.05 and row["low"] < 0 < row["high"]
    what = f"only {below + above} of {n} pairs differ" if d.any() else "no difference in any pair"
    assert row["reason"].startswith(what)
    twice = compare(2 * d, np.zeros(n), bound=2).iloc[0]
    assert twice["low"] == pytest.approx(2 * row["low"])


def test_enough_that_differ_and_no_bound_have_the_bootstrap():
    d = few(10, 6)
    plain, bounded = (compare(d, np.zeros(10), bound=bound).iloc[0] for bound in (None, 1))
    assert (plain["low"], plain["high"]) == (bounded["low"], bounded["high"]) and bounded["high"] < 0
    alone = compare(few(10, 4), np.zeros(10)).iloc[0]
    assert alone["high"] < 0 and alone["p"] > 0.1  # what the bound is for


def test_more_differences_never_make_a_narrower_interval():
    wide = [np.ptp(resampling.rare_interval(few(20, k), np.ones(20), 0.95)) for k in range(6)]
    assert wide == sorted(wide)
    even, uneven = (resampling.rare_interval(few(20, 2), sizes, 0.95) for sizes in (np.ones(20), np.arange(20) + 1.0))
    assert uneven[0] < even[0] and uneven[1] > even[1]


@pytest.mark.parametrize(("share", "one_way"), [(0.05, 0.5), (0.2, 1.0), (0.5, 0.75)])
def test_the_interval_covers_and_never_says_more_than_the_test(share, one_way):
    rng, covered = np.random.default_rng(2), 0
    for _ in range(200):
        d = np.where(rng.random(10) < share, np.where(rng.random(10) < one_way, 1.0, -1.0), 0.0)
        row = compare(d, np.zeros(10), replicates=500, bound=1).iloc[0]
        covered += row["low"] <= share * (2 * one_way - 1) <= row["high"]
        assert row["low"] <= 0 <= row["high"] or row["p"] <= 0.05 or (d != 0).sum() >= 6
    assert covered >= 186  # 95 of 100, less three standard errors


def test_one_pair_or_cluster_is_one():
    assert compare([1.0], [0.0])["reason"].tolist() == ["1 pair: too few to test, 10 needed"]
    alone = compare([1.0, 1.0], [0.0, 0.5], clusters=["a", "a"])
    assert alone["reason"].tolist() == ["1 cluster: too few to test, 10 needed"]
