"""Scores against temperature: lines, dots and intervals side by side, labels at their ends."""

import numpy as np
import pandas as pd
import pytest
from test_figures import overlaps, texts, written

from factlab import figures
from factlab.figures.curves import MOST_LINES

COLUMNS = ["temperature", "subject", "value", "low", "high", "n"]
TABLE = pd.DataFrame(
    [
        (1.0, "b", 0.5, 0.45, 0.55, 50),
        (0.0, "b", 0.6, 0.55, 0.65, 50),
        (0.0, "a", 0.7, 0.6, 0.75, 9),
        (1.0, "a", 0.7, None, None, 40),
    ],
    columns=COLUMNS,
)


def drawn(figure):
    """(x, y) of each joined line, of each interval, of each dot."""
    found = {"line": [], "bar": [], "dot": []}
    for line in figure.axes[0].lines:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        kind = "dot" if line.get_marker() != "None" else "bar" if len(x) == 2 and x[0] == x[1] else "line"
        found[kind].append((x.tolist(), y.tolist()))
    return found


def said(figure):
    return figure.axes[0].get_title(loc="left").replace("\n", " ")


def many(lines, name="model {}"):
    rows = [(t, name.format(i), 0.5, 0.4, 0.6, 20 + i) for i in range(lines) for t in (0, 0.5, 1)]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_lines_dots_and_bars():
    figure, table = figures.score_lines(TABLE)
    assert table.columns.tolist() == COLUMNS
    assert table[["subject", "temperature"]].values.tolist() == [["b", 0], ["b", 1], ["a", 0], ["a", 1]]
    found = drawn(figure)
    assert found["line"] == [([0, 1], [0.6, 0.5]), ([0, 1], [0.7, 0.7])]
    assert found["bar"] == [([0, 0], [0.55, 0.65]), ([1, 1], [0.45, 0.55]), ([0, 0], [0.6, 0.75])]
    assert found["dot"] == [([0], [0.6]), ([1], [0.5]), ([0], [0.7]), ([1], [0.7])]
    dots = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, False, True, False]
    assert said(figure) == "n = 9 to 50 answers a dot; bars: 95 % intervals; hollow: fewer than 10 answers"
    assert figures.describe(figure) == (
        "Line plot of the score against temperature, 2 lines. b: 0.60 [0.55, 0.65] at 0 to 0.50 [0.45, 0.55] at 1. "
        "a: 0.70 [0.60, 0.75] at 0 to 0.70 at 1. n = 9 to 50 answers a dot. 1 with fewer than 10 answers."
    )


def test_intervals_do_not_hide_each_other():
    figure, _ = figures.score_lines(many(4))
    bars = [line for line in figure.axes[0].lines if line.get_marker() == "None" and len(line.get_xdata()) == 2]
    figure.draw_without_rendering()
    at_zero = sorted(float(bar.get_transform().transform((0, 0.5))[0]) for bar in bars if bar.get_xdata()[0] == 0)
    assert len(at_zero) == 4 and min(np.diff(at_zero)) > 3  # pixels
    assert at_zero[-1] < figure.axes[0].transData.transform((0.25, 0))[0]  # nearer to its own x than to the next


@pytest.mark.parametrize(
    ("low", "high", "limits", "label"),
    [
        (0.55, 0.75, (0.5, 0.8), "score (axis from 0.5 to 0.8)"),
        (0.02, 0.18, (0, 0.2), "score (axis from 0 to 0.2)"),
        (0.05, 0.95, (0, 1), "score (0 to 1)"),
        (0.25, 0.95, (0, 1), "score (0 to 1)"),
        (0.35, 0.95, (0.3, 1), "score (axis from 0.3 to 1)"),
        (0.99, 1.0, (0.9, 1), "score (axis from 0.9 to 1)"),
    ],
)
def test_the_axis_says_what_it_shows(low, high, limits, label):
    table = TABLE.assign(value=(low + high) / 2, low=low, high=high)
    axes = figures.score_lines(table)[0].axes[0]
    assert axes.get_ylabel() == label
    assert axes.get_ylim() == pytest.approx(limits, abs=0.03 * (limits[1] - limits[0]))
    assert axes.get_ylim()[0] <= low and axes.get_ylim()[1] >= high


def test_a_missing_score_interrupts_its_line():
    table = many(1).assign(value=[0.5, None, 0.6], n=[20, None, 30])
    figure, rows = figures.score_lines(table)
    assert len(rows) == 3 and len(drawn(figure)["dot"]) == 2
    assert np.isnan(drawn(figure)["line"][0][1]).tolist() == [False, True, False]
    assert "n = 20 to 30 answers a dot" in said(figure) and "1 not scored" in said(figure)


def test_rows_without_a_place_are_counted():
    table = TABLE.assign(temperature=[None, 0, 0, 1], subject=["b", "b", None, "a"])
    figure, rows = figures.score_lines(table)
    assert len(rows) == 4 and len(drawn(figure)["dot"]) == 2
    assert "2 without temperature or subject" in said(figure)


def test_published_temperature():
    figure, _ = figures.score_lines(TABLE, mark=0.6)
    assert "published 0.6" in texts(figure)
    assert any(list(line.get_xdata()) == [0.6, 0.6] for line in figure.axes[0].lines)
    assert "temperature 0.6: published." in figures.describe(figure)
    assert figures.score_lines(TABLE, mark=2)[0].axes[0].get_xlim()[1] > 2


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("name", ["model {}", "model {} with a rather long name"])
def test_labels_do_not_overlap(figsize, name):
    figure, _ = figures.score_lines(many(8, name), figsize=figsize)
    boxes = written(figure)
    assert len(boxes) == 8 and overlaps(boxes) == []
    ends = figure.axes[0].get_window_extent().x1
    assert all(box.x0 > ends for box in boxes.values())


def test_many_lines():
    figure, rows = figures.score_lines(many(20))
    assert len(rows) == 60 and len(drawn(figure)["line"]) == MOST_LINES
    assert "8 smaller lines not drawn" in said(figure)
    assert "model 19" in texts(figure) and "model 0" not in texts(figure)  # those with most answers stay


def test_two_rows_at_one_place_are_refused():
    with pytest.raises(ValueError, match="two rows for subject 'b' at temperature 0; combine them"):
        figures.score_lines(TABLE.assign(temperature=0.0))


def test_percentages_are_refused():
    with pytest.raises(ValueError, match="score_lines, subject 'b': value is 60, expected a share"):
        figures.score_lines(TABLE.assign(value=60))
