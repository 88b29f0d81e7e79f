"""Limits of agreement: published data, numbers worked out by hand, and what cannot be said."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.stats import bland_altman

# Bland and Altman 1986, table 1: peak expiratory flow (l/min), first reading with a Wright meter and a mini meter
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
# Differences 2 (six times) and −1 (four times): mean 0.8, squares 6 · 1.2² + 4 · 1.8² = 21.6, variance 21.6 / 9 = 2.4
A, B = [5, 6, 7, 8, 9, 10, 1, 2, 3, 4], [3, 4, 5, 6, 7, 8, 2, 3, 4, 5]


def test_peak_flow():
    found = bland_altman(WRIGHT, MINI).set_index("line")
    assert found.loc["bias", "value"] == pytest.approx(-2.1, abs=0.05)
    assert found.loc["bias", "sd"] == pytest.approx(38.8, abs=0.05)
    assert found.loc["bias", ["low", "high"]].tolist() == pytest.approx([-22.0, 17.8], abs=0.1)
    # The paper takes 2 sd for 1.96 sd: −79.7 and 75.5.
    assert found.loc["lower limit", "value"] == pytest.approx(-79.7 + 0.04 * 38.8, abs=0.1)
    assert found.loc["upper limit", "value"] == pytest.approx(75.5 - 0.04 * 38.8, abs=0.1)
    # ... and sd sqrt(3 / n) for the standard error of a limit: 16.3, with t = 2.12.
    for line in ("lower limit", "upper limit"):
        assert (found.loc[line, "high"] - found.loc[line, "low"]) / 2 == pytest.approx(2.12 * 16.3, rel=0.01)


def test_by_hand():
    found = bland_altman(A, B)
    assert found.columns.tolist() == [
        *["line", "value", "low", "high", "n", "sd", "left_out", "level", "status", "reason"],
    ]
    assert found["line"].tolist() == ["bias", "lower limit", "upper limit"]
    assert found["sd"].tolist() == pytest.approx([math.sqrt(2.4)] * 3)
    # t(9) = 2.262157, z = 1.959964: 2.262157 · sqrt(0.24) = 1.108226, 1.959964 · sqrt(2.4) = 3.036363,
    # 2.262157 · sqrt(2.4 · (1 / 10 + 3.841459 / 18)) = 1.961951
    wanted = [
        [0.8, 0.8 - 1.108226, 0.8 + 1.108226],
        [-2.236363, -2.236363 - 1.961951, -2.236363 + 1.961951],
        [3.836363, 3.836363 - 1.961951, 3.836363 + 1.961951],
    ]
    assert np.ravel(found[["value", "low", "high"]]).tolist() == pytest.approx(np.ravel(wanted).tolist(), abs=5e-6)
    assert found["status"].tolist() == ["scored"] * 3 and found["n"].tolist() == [10] * 3


def test_another_level():
    found = bland_altman(A, B, level=0.9).set_index("line")
    # z = 1.644854, t(9) = 1.833113
    assert found.loc["upper limit", "value"] == pytest.approx(0.8 + 1.644854 * math.sqrt(2.4), abs=5e-6)
    assert found.loc["bias", "high"] == pytest.approx(0.8 + 1.833113 * math.sqrt(0.24), abs=5e-6)
    assert found["level"].tolist() == [0.9] * 3


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_level_is_a_share(level):
    with pytest.raises(ValueError, match="level: expected a share between 0 and 1"):
        bland_altman(A, B, level=level)


@pytest.mark.parametrize(
    ("a", "b", "bias", "sd", "statuses", "reason"),
    [
        (A[:9], B[:9], 1.0, 1.5, ["undefined"] * 3, "9 pairs: too few for limits of agreement, 10 needed"),
        ([3], [1], 2.0, None, ["undefined"] * 3, "1 pair: too few"),
        ([], [], None, None, ["undefined"] * 3, "0 pairs: too few"),
        ([None] * 12, [1] * 12, None, None, ["undefined"] * 3, "0 pairs: too few"),
        ([0.3] * 12, [0.1] * 12, 0.2, 0.0, ["scored", "undefined", "undefined"], "zero variance"),
        (np.arange(12) / 10 + 0.1, np.arange(12) / 10, 0.1, 0.0, ["scored", "undefined", "undefined"], "zero variance"),
    ],
)
def test_what_cannot_be_said(a, b, bias, sd, statuses, reason):
    found = bland_altman(a, b)
    assert found["status"].tolist() == statuses
    assert found["reason"][2].startswith(reason)
    for name, wanted in (("value", bias), ("sd", sd)):
        assert found[name][0] is pd.NA if wanted is None else found[name][0] == pytest.approx(wanted)
    assert found["value"][1:].isna().all()
    assert found[["low", "high"]].isna().all(axis=None)
    assert "nan" not in found.to_html().lower().replace("<na>", "")


def test_pairs_with_a_gap_are_left_out_and_counted():
    found = bland_altman([None, *A, 1], [1, *B, math.nan])
    assert found["left_out"].tolist() == [2] * 3
    assert found["value"].tolist() == bland_altman(A, B)["value"].tolist()


def test_pairs_are_not_mixed_up():
    with pytest.raises(ValueError, match="different row labels"):
        bland_altman(pd.Series(A), pd.Series(B, index=range(9, -1, -1)))
    with pytest.raises(ValueError, match="a has 3 rows and b has 2"):
        bland_altman([1, 2, 3], [1, 2])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=10, max_size=30))
def test_swapping_the_scores_mirrors_the_lines(rows):
    a, b = np.array(rows, dtype=float).T
    one, other = (bland_altman(*both).set_index("line") for both in ((a, b), (b, a)))
    for line, mirrored in (("bias", "bias"), ("lower limit", "upper limit")):
        if one.loc[line, "status"] == "undefined":
            assert len({x - y for x, y in rows}) == 1
            continue
        assert one.loc[line, "value"] == pytest.approx(-other.loc[mirrored, "value"])
        if one.loc[line, "low"] is not pd.NA:
            assert one.loc[line, "low"] == pytest.approx(-other.loc[mirrored, "high"])
            assert one.loc[line, "low"] < one.loc[line, "value"] < one.loc[line, "high"]


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    truth = {"bias": 0.1, "lower limit": 0.1 - 1.959964 * 0.2, "upper limit": 0.1 + 1.959964 * 0.2}
    held = dict.fromkeys(truth, 0)
    for _ in range(1000):
        for _, row in bland_altman(rng.normal(0.1, 0.2, 30), np.zeros(30)).iterrows():
            held[row["line"]] += row["low"] <= truth[row["line"]] <= row["high"]
    assert all(930 <= count <= 970 for count in held.values()), held
