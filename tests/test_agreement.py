"""Correlation and agreement: textbook values, parity with another package, inputs that have no coefficient."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.stats import agreement, confusion, correlation, krippendorff_alpha, pearson_p

# IQ and hours of television a week, ten people: a textbook example of rank correlation (rho = -29/165)
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", part C: four observers, twelve units
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def shows_no_nan(frame: pd.DataFrame) -> bool:
    return not any(word in frame.to_html().lower() for word in (">nan<", ">inf<", ">none<"))


# ---------------------------------------------------------------- correlation


def test_dahl_section_5_3():
    # r = 0.5508 of 99 responses is printed with p = 3.4927e-9; r was rounded to four digits.
    assert pearson_p(0.5508, 99) == pytest.approx(3.4927e-9, rel=0.005)
    assert pearson_p(0.55085, 99) < 3.4927e-9 < pearson_p(0.55075, 99)
    assert pearson_p(-0.5508, 99) == pearson_p(0.5508, 99)
    assert (pearson_p(0, 30), pearson_p(1, 30)) == (1, 0)
    with pytest.raises(ValueError, match="n >= 3"):
        pearson_p(0.5, 2)


def test_correlation_textbook():
    out = correlation(IQ, HOURS).set_index("coefficient")
    r = -73.6 / math.sqrt(592.1 * 1855.6)  # sums of products and squares about the means 102.7 and 19.8
    assert out["value"].tolist() == pytest.approx([r, -29 / 165, -1 / 9])
    assert out.loc["spearman", "p"] == pytest.approx(0.627188, abs=1e-5)
    assert out.loc["pearson", "p"] == pytest.approx(pearson_p(out.loc["pearson", "value"], 10))
    fisher = [math.tanh(math.atanh(r) + sign * 1.959964 / math.sqrt(7)) for sign in (-1, 1)]
    assert out.loc["pearson", ["low", "high"]].tolist() == pytest.approx(fisher, abs=1e-6)
    assert (out["n"] == 10).all() and (out["status"] == "scored").all()


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([1, 1, 1, 1], [1, 2, 3, 4], "constant input"),
        ([1, 2, 3, 4], [0.1 + 0.2, 0.3, 0.3, 0.3], "constant input"),  # equal but for rounding
        ([1, 1, 1], [1, 2, 3], "n too small"),
        ([1, 2], [3, 4], "n too small"),
        ([], [], "n too small"),
        ([1, 2, 3, None, 5], [1, 2, 3, 4, None], "n too small"),
    ],
)
def test_correlation_undefined(a, b, reason):
    out = correlation(a, b)
    assert (out["status"] == "undefined").all() and (out["reason"] == reason).all()
    assert out[["value", "low", "high", "p"]].isna().all(axis=None)
    assert shows_no_nan(out)


def test_correlation_without_interval():
    perfect = correlation([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert (perfect["value"] == 1).all() and perfect["low"].isna().all()
    assert (perfect["reason"] == "no interval: perfect correlation").all()
    four = correlation([1, 2, 3, 4], [1, 3, 2, 4]).set_index("coefficient")
    assert four.loc["kendall", "reason"] == "no interval: n too small" and four.loc["pearson", "reason"] == ""
    assert shows_no_nan(perfect) and shows_no_nan(four)


def test_correlation_of_clustered_rows():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(25), 8)
    a, b = rng.normal(size=(2, 25))[:, clusters] + rng.normal(0, 0.1, (2, 200))
    plain, clustered = correlation(a, b), correlation(a, b, clusters, replicates=200)
    assert clustered["value"].tolist() == pytest.approx(plain["value"].tolist())
    width, narrow = (frame["high"] - frame["low"] for frame in (clustered, plain))
    assert (width > 1.8 * narrow).all()  # 25 sources say less than 200 rows would
    assert (clustered["p"] > plain["p"]).all()
    assert correlation(a, b, np.zeros(200)).loc[0, "reason"] == "one cluster"
    assert "only 5 clusters" in correlation(a, b, clusters % 5, replicates=50).loc[0, "reason"]


def test_cluster_bootstrap_of_single_rows_comes_near_the_formula():
    a, b = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 150).T
    plain, single = correlation(a, b), correlation(a, b, np.arange(150), replicates=600)
    for name in ("low", "high"):
        assert single[name].tolist() == pytest.approx(plain[name].tolist(), abs=0.04)


# ---------------------------------------------------------------- agreement


def test_kappa_textbook():
    # Two readers, 50 proposals: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no; p_o = 0.7, p_e = 0.5
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    out = agreement(a, b).set_index("measure")
    assert out.loc["raw agreement", "value"] == pytest.approx(0.7)
    assert out.loc["cohen_kappa", "value"] == pytest.approx(0.4)
    # Fleiss, Cohen and Everitt: se = sqrt(0.01624) by the formula, worked below
    po, rows, cols = np.array([[15, 10], [5, 20]]) / 50, np.array([0.5, 0.5]), np.array([0.4, 0.6])
    pe, kappa = 0.5, 0.4
    diagonal = sum(po[i, i] * (1 - (rows[i] + cols[i]) * (1 - kappa)) ** 2 for i in range(2))
    off = (1 - kappa) ** 2 * sum(po[i, j] * (cols[i] + rows[j]) ** 2 for i in range(2) for j in range(2) if i != j)
    se = math.sqrt((diagonal + off - (kappa - pe * (1 - kappa)) ** 2) / (50 * (1 - pe) ** 2))
    assert out.loc["cohen_kappa", ["low", "high"]].tolist() == pytest.approx(
        [0.4 - 1.96 * se, 0.4 + 1.96 * se], abs=1e-4
    )
    assert out.loc["krippendorff_alpha", "value"] == pytest.approx(krippendorff_alpha([a, b]))
    assert confusion(a, b).to_numpy().tolist() == [[15, 10], [5, 20]]
    assert confusion(a, b).index.tolist() == ["no", "yes"]


def test_bootstrap_of_kappa_comes_near_the_formula():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < 0.6, a, rng.integers(0, 3, 300))
    formula, bootstrap = (agreement(a, b, c).set_index("measure") for c in (None, np.arange(300)))
    for measure in ("raw agreement", "cohen_kappa"):
        both = [frame.loc[measure, ["low", "high"]].tolist() for frame in (formula, bootstrap)]
        assert both[0] == pytest.approx(both[1], abs=0.02)
    assert bootstrap.loc["cohen_kappa", "method"].startswith("bootstrap")


@pytest.mark.parametrize(
    ("a", "b", "raw", "kappa", "reason"),
    [
        ([1, 1, 1], [1, 1, 1], 1.0, None, "one label only; raw agreement is 1.00 of 3 pairs"),
        (["true"] * 20, ["true"] * 20, 1.0, None, "one label only; raw agreement is 1.00 of 20 pairs"),
        (["true"] * 20, ["false"] * 20, 0.0, 0.0, "no interval: one rater gave one label only"),
        (["true"] * 20, ["true", "false"] * 10, 0.5, 0.0, "no interval: one rater gave one label only"),
        (["true", "false"] * 10, ["true", "false"] * 10, 1.0, 1.0, "no interval: agreement is perfect"),
        (["true", "false"] * 2, ["true", "false"] * 2, 1.0, 1.0, "no interval: only 4 pairs"),
        ([], [], None, None, "no complete pair"),
        (["true", None], [None, "true"], None, None, "no complete pair"),
    ],
)
def test_agreement_degenerate(a, b, raw, kappa, reason):
    out = agreement(a, b)
    found = out.set_index("measure")
    for measure, right in (("raw agreement", raw), ("cohen_kappa", kappa)):
        value = found.loc[measure, "value"]
        assert pd.isna(value) if right is None else value == pytest.approx(right)
    assert found.loc["cohen_kappa", "reason"] == reason
    assert found.loc["cohen_kappa", "status"] == ("undefined" if kappa is None else "scored")
    assert pd.isna(found.loc["cohen_kappa", "low"])
    if raw is not None:
        assert found.loc["raw agreement", "low"] < 1  # even perfect agreement has an interval
    assert shows_no_nan(out)


def test_missing_labels_are_counted_and_other_kinds_of_label_refused():
    out = agreement(pd.Series(["true", None, "false", "true"]), ["true", "true", math.nan, "false"])
    assert (out["n"] == 2).all() and (out["left_out"] == 2).all()
    with pytest.raises(ValueError, match="a holds number, b holds str: no label can agree"):
        agreement([True, False], ["true", "false"])
    with pytest.raises(ValueError, match="label 'c' is not one of labels"):
        agreement(["a", "c"], ["a", "b"], labels=["a", "b"])


# ---------------------------------------------------------------- Krippendorff's alpha


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_published(level, alpha):
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(alpha, abs=5e-4)
    words = [[None if v is None else "abcde"[v - 1] for v in row] for row in OBSERVERS]
    if level != "interval":
        assert krippendorff_alpha(words, level) == pytest.approx(alpha, abs=5e-4)


def test_alpha_binary_by_hand():
    # Krippendorff 2011, part A: ten units, two observers, alpha = 0.095
    a, b = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha([a, b]) == pytest.approx(1 - 19 * 8 / (2 * 14 * 6))
    assert agreement(a, b).set_index("measure").loc["krippendorff_alpha", "value"] == pytest.approx(0.0952, abs=5e-5)


@pytest.mark.parametrize("ratings", [[[1, 1], [1, 1]], [[1, None], [None, 1]], [[None], [None]], [[1, 2, 3]], [[], []]])
def test_alpha_undefined(ratings):
    assert math.isnan(krippendorff_alpha(ratings))


def test_alpha_order_of_words_matters_on_an_ordinal_scale():
    rows = [["low", "high", "mid", "low", "high"], ["mid", "high", "mid", "low", "mid"]]
    ranks = [[["low", "mid", "high"].index(v) for v in row] for row in rows]
    assert krippendorff_alpha(rows, "ordinal", labels=["low", "mid", "high"]) == krippendorff_alpha(ranks, "ordinal")
    for wrong, message in ((("interval",), "labels, row 0: 'high' is not a number"), (("ratio",), "scale: expected")):
        with pytest.raises(ValueError, match=message):
            krippendorff_alpha(rows, *wrong)
    with pytest.raises(ValueError, match="one entry an item"):
        krippendorff_alpha([[1, 2], [1]])


ratings = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=raters, max_size=raters), min_size=3, max_size=15
    )
)


@settings(max_examples=60, deadline=None)
@given(ratings, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_as_the_other_package(rows, level):
    other = pytest.importorskip("krippendorff")
    data = np.array(rows, dtype=float).T  # raters, items
    ours = krippendorff_alpha(data, level)
    rated = data[:, (~np.isnan(data)).sum(axis=0) >= 2]
    if len(np.unique(rated[~np.isnan(rated)])) < 2:
        assert math.isnan(ours)
    else:
        assert ours == pytest.approx(other.alpha(reliability_data=data, level_of_measurement=level), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("tfu"), st.sampled_from("tfu")), min_size=2, max_size=40), st.randoms())
def test_agreement_is_symmetric_and_blind_to_order(rows, random):
    a, b = zip(*rows, strict=True)
    random.shuffle(rows)
    c, d = zip(*rows, strict=True)
    one, two = agreement(a, b, replicates=50), agreement(d, c, replicates=50)
    values = [np.asarray(frame["value"], float) for frame in (one, two)]
    assert values[0] == pytest.approx(values[1], nan_ok=True)
    assert (one["value"].dropna() <= 1).all()
