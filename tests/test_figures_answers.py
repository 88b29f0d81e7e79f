"""Answers, verdicts and questions, counted: bars and what is said beside them."""

import numpy as np
import pandas as pd
import pytest
from test_figures import bars, lines, texts, ticks

from factlab import figures, units

# ---------------------------------------------------------------- units_per_answer


def test_histogram_counts_every_answer():
    figure, table = figures.units_per_answer([0, 3, 3, 5, None])
    assert table.values.tolist() == [[0, 0, 1], [1, 1, 0], [2, 2, 0], [3, 3, 2], [4, 4, 0], [5, 5, 1]]
    assert [(x + w / 2, h) for x, w, h in bars(figure)] == [(0, 1), (1, 0), (2, 0), (3, 2), (4, 0), (5, 1)]
    assert float(lines(figure, "None")[0].get_xdata()[0]) == 3
    assert {"median 3", "n = 4 answers; 1 more without a count"} <= set(texts(figure))


def test_a_very_long_answer_widens_the_bars():
    figure, table = figures.units_per_answer([4] * 100 + [170])
    assert len(table) <= 40
    assert table["answers"].sum() == 101
    last = table.iloc[-1]
    assert last["low"] <= 170 <= last["high"] and last["answers"] == 1
    assert figure.axes[0].get_xlim()[1] > 170
    assert "bars of 5" in figure.axes[0].get_xlabel()


@pytest.mark.parametrize("counts", [[-1], [1.5]])
def test_impossible_counts(counts):
    with pytest.raises(ValueError, match="whole numbers"):
        figures.units_per_answer(counts)


# ---------------------------------------------------------------- outcomes


def test_funnel():
    funnel = units.funnel(["scored"] * 58 + ["refused"] * 6 + ["truncated"] * 20)
    figure, table = figures.outcomes(funnel)
    assert table["n"].tolist() == funnel["n"].tolist()
    assert ticks(figure) == funnel["stage"].tolist()
    widths = [w for _, w, _ in bars(figure)]
    assert widths[:7] == funnel["n"].tolist() and widths[7:] == funnel["left_out"].tolist()
    assert {"84", "64 (76 %)   −20 error or cut off", "58 (69 %)   −6 refused", "58 (69 %)"} <= set(texts(figure))


def test_a_funnel_of_ones_own():
    steps = pd.DataFrame({"step": ["asked", "read"], "n": [10, 9], "left_out": [0, 1], "why": ["", "lost in the post"]})
    figure, table = figures.outcomes(steps)
    assert table.columns.tolist() == ["stage", "n", "left_out", "why"]
    assert "9 (90 %)   −1 lost in the post" in texts(figure)


# ---------------------------------------------------------------- verdict_shares


def test_shares_add_up():
    table = pd.DataFrame({"group": ["a", "b"], "true": [3, 0], "false": [96, 0], "unparsable": [1, 0]})
    figure, rows = figures.verdict_shares(table)
    assert rows["n"].tolist() == [100, 0]
    assert rows.loc[0, ["share_true", "share_false", "share_unknown", "share_unparsable"]].tolist() == [
        0.03,
        0.96,
        0,
        0.01,
    ]
    assert rows.loc[1, "share_true"] is pd.NA
    ends = sorted((x, x + w) for x, w, _ in bars(figure) if w)
    assert np.ravel(ends).tolist() == pytest.approx([0, 0.03, 0.03, 0.99, 0.99, 1])
    assert "no verdicts" in texts(figure)
    assert [t.get_text() for t in figure.axes[0].get_legend().get_texts()] == ["true", "false", "unparsable"]


# ---------------------------------------------------------------- counts

QUESTIONS = pd.DataFrame({"category": ["Skin", "Heart", None, "Bone"], "questions": [15, 60, 0, None], "note": "x"})


def test_counts_are_sorted_and_shared_out():
    figure, table = figures.counts(QUESTIONS)
    assert table.columns.tolist() == ["category", "questions", "share"]
    assert ticks(figure) == ["Heart", "Skin", "(no name)", "Bone"]
    assert table["share"].tolist()[:3] == [0.8, 0.2, 0] and table["share"][3] is pd.NA
    assert [w for _, w, _ in bars(figure)] == [60, 15, 0, 0]
    assert {"75 questions in 4 categories", "60 (80 %)", "15 (20 %)", "0 (0 %)", "not counted"} <= set(texts(figure))
    assert figures.describe(figure) == (
        "Bars of the number of questions by category: 75 questions in 4 categories. "
        "Most Heart 60 (80 %); fewest (no name) 0 (0 %). 1 not counted."
    )
    bottom, top = figure.axes[0].get_ylim()
    assert bottom > top  # the first row is on top


def test_counts_of_ones_own():
    table = pd.DataFrame({"paper": ["a", "b"], "units": [1, 3]})
    figure, rows = figures.counts(table, "paper", "units", unit="atomic units")
    assert rows["paper"].tolist() == ["b", "a"] and "4 atomic units" in texts(figure)


def test_counts_of_what_may_be_in_several():
    table = pd.DataFrame({"flag": ["long", "short"], "items": [2, 1]})
    figure, rows = figures.counts(table, "flag", "items", "items", of=96, note="2 flagged")
    assert rows["share"].tolist() == [2 / 96, 1 / 96]
    assert {"96 items, 2 flagged", "2 (2 %)", "1 (1 %)"} <= set(texts(figure))
    assert figures.describe(figure).startswith("Bars of the number of items by flag: 96 items, 2 flagged. One may be")
    with pytest.raises(ValueError, match="flag 'long': 2 of 1 items"):
        figures.counts(table, "flag", "items", "items", of=1)


def test_nothing_to_share_out():
    figure, rows = figures.counts(QUESTIONS.iloc[2:3])
    assert rows["share"][0] is pd.NA and "0" in texts(figure)


@pytest.mark.parametrize(("n", "said"), [(-1, "-1"), (1.5, "1.5")])
def test_what_is_no_count(n, said):
    with pytest.raises(ValueError, match=f"counts, category 'Heart': questions is {said}, expected a whole number"):
        figures.counts(QUESTIONS.assign(questions=[1, n, 0, 0]))


def test_many_categories():
    table = pd.DataFrame({"category": [f"c{i}" for i in range(200)], "questions": range(200)})
    figure, rows = figures.counts(table)
    assert len(rows) == 200 and len(ticks(figure)) == figures.MOST
    assert "155 smaller ones not drawn" in " ".join(texts(figure)).replace("\n", " ")
    # Shares are of all questions, drawn or not: 199 of 19,900.
    assert rows["share"][0] == 199 / 19900 and "199 (1 %)" in texts(figure)
