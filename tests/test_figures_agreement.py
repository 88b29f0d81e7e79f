"""Two scores against each other: the dots, the lines of agreement, and what is said where there are none."""

import numpy as np
import pandas as pd
import pytest
from test_figures import overlaps, texts, written

from factlab import figures, stats

# Differences 2 (six times) and −1 (four times): bias 0.8, limits 0.8 ± 3.036, see test_bland_altman.py
A, B = [5, 6, 7, 8, 9, 10, 1, 2, 3, 4], [3, 4, 5, 6, 7, 8, 2, 3, 4, 5]


def levels(figure):
    """Heights of the horizontal lines, zero apart."""
    return [float(line.get_ydata()[0]) for line in figure.axes[0].lines if line.get_ydata()[0]]


def title(figure):
    return figure.axes[0].get_title(loc="left").replace("\n", " ")


# ---------------------------------------------------------------- bland_altman


def test_differences_against_means():
    figure, table = figures.bland_altman(A, B)
    assert table.columns.tolist() == ["mean", "difference"]
    assert table["difference"].tolist() == [2] * 6 + [-1] * 4
    assert table["mean"].tolist() == [4, 5, 6, 7, 8, 9, 1.5, 2.5, 3.5, 4.5]
    (dots,) = figure.axes[0].collections
    assert sorted(dots.get_offsets().tolist()) == sorted(table.values.tolist())
    assert levels(figure) == pytest.approx([0.8, -2.236363, 3.836363], abs=1e-6)
    bands = [(p.get_y(), p.get_y() + p.get_height()) for p in figure.axes[0].patches]
    wanted = stats.bland_altman(A, B)[["low", "high"]].to_numpy(float)
    assert np.ravel(bands).tolist() == pytest.approx(wanted.ravel().tolist())
    assert {"bias 0.80\n[-0.31, 1.91]", "upper limit 3.84\n[1.87, 5.80]"} <= set(texts(figure))
    assert title(figure) == "n = 10 pairs; bands: 95 % intervals"
    assert figures.describe(figure) == (
        "Bland–Altman plot of automated minus annotators (score) against their mean, n = 10 pairs. "
        "Bias 0.80 [-0.31, 1.91]; lower limit -2.24 [-4.20, -0.27]; upper limit 3.84 [1.87, 5.80]. "
        "Differences from -1.00 to 2.00."
    )


def test_every_line_and_dot_is_within_the_axes():
    figure, table = figures.bland_altman(A, B)
    bottom, top = figure.axes[0].get_ylim()
    assert bottom < -4.2 and top > 5.8
    left, right = figure.axes[0].get_xlim()
    assert left < table["mean"].min() and right > table["mean"].max()


def test_too_few_for_limits():
    figure, table = figures.bland_altman([*A[:4], None], B[:5])
    assert len(table) == 4 and levels(figure) == [2] and not figure.axes[0].patches
    assert title(figure) == "n = 4 pairs, 1 left out; too few for limits of agreement, 10 needed"
    assert "4 pairs: too few for limits of agreement" in figures.describe(figure)


def test_all_differences_equal():
    figure, _ = figures.bland_altman(A, np.subtract(A, 1))
    assert levels(figure) == [1]
    assert "zero variance: all differences equal" in title(figure)


def test_limits_of_ones_own():
    limits = stats.bland_altman(A, B, level=0.9)
    figure, _ = figures.bland_altman(A[:3], B[:3], names=("x", "y"), unit="l/min", limits=limits)
    assert levels(figure) == pytest.approx(limits["value"].tolist())
    assert "bands: 90 % intervals" in title(figure)
    assert figure.axes[0].get_ylabel().replace("\n", " ") == "x − y (l/min)"


@pytest.mark.parametrize("figsize", [None, (4.2, 3.4)])
def test_limits_close_together_are_still_legible(figsize):
    far = [*np.tile(A, 20), 900], [*np.tile(B, 20), 0]
    figure, _ = figures.bland_altman(*far, figsize=figsize)
    boxes = written(figure)
    assert len(boxes) == 3 and overlaps(boxes) == []


def test_pairs_at_one_point_make_one_larger_dot():
    figure, table = figures.bland_altman([0.1 + 0.2, 0.3], [0.1, 0.1])  # equal but for rounding
    (dots,) = figure.axes[0].collections
    assert len(dots.get_offsets()) == 1 and len(table) == 2
    assert "dot area: pairs at one point, up to 2" in title(figure)


# ---------------------------------------------------------------- pairs


def test_scatter_with_the_line_of_equality():
    figure, table = figures.pairs(
        [0.2, 0.2, 0.5, 0.9, None], [0.4, 0.4, 0.5, 0.1, 1], ("judge", "people"), note="r = 0.1"
    )
    assert table.columns.tolist() == ["judge", "people"]
    assert table.values.tolist() == [[0.2, 0.4], [0.2, 0.4], [0.5, 0.5], [0.9, 0.1]]
    (dots,) = figure.axes[0].collections
    assert dots.get_offsets().tolist() == [[0.2, 0.4], [0.5, 0.5], [0.9, 0.1]]
    assert dots.get_sizes()[0] == 2 * dots.get_sizes()[1]
    (line,) = figure.axes[0].lines
    assert list(line.get_xdata()) == list(line.get_ydata())
    axes = figure.axes[0]
    assert axes.get_xlim() == axes.get_ylim() and axes.get_xlim()[0] < 0 and axes.get_xlim()[1] > 1
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("judge (score)", "people (score)")
    assert title(figure) == "n = 4 pairs, 1 left out; r = 0.1; dot area: pairs at one point, up to 2"
    assert figures.describe(figure) == (
        "Scatter plot of people against judge (score), n = 4 pairs, 1 left out; r = 0.1. "
        "people higher in 2, lower in 1, equal in 1. Mean of judge 0.45, of people 0.35."
    )


def test_counts_have_an_axis_of_their_own():
    figure, _ = figures.pairs([3, 40], [12, 20], unit="atomic units")
    low, high = figure.axes[0].get_xlim()
    assert low < 0 and high > 40 and figure.axes[0].get_ylim() == (low, high)


def test_two_names_are_needed():
    with pytest.raises(ValueError, match="names: both are 'judge'"):
        figures.pairs([1], [1], ("judge", "judge"))


def test_columns_are_not_mixed_up():
    for draw in (figures.pairs, figures.bland_altman):
        with pytest.raises(ValueError, match="different row labels"):
            draw(pd.Series([1, 2]), pd.Series([1, 2], index=[1, 0]))
