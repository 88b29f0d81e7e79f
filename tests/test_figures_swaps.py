"""Adversarial swaps: what became of the queries, condition by condition."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import test_figures
from test_figures import overlaps, texts, ticks, written

from factlab import figures
from factlab.figures import swaps

OUTCOMES = ["right", "keeps", "follows", "passes", "other", "unreadable"]
SWAPS = pd.DataFrame(
    [
        ("none", 120, 0, 0, 60, 15, 5),
        ("title", 70, 20, 80, 20, 10, 0),
        ("abstract, nearest by $embedding$ of all the abstracts", 3, 1, 4, 0, 0, 0),
        ("partial edit", 0, 0, 0, 0, 0, 0),
    ],
    columns=["condition", *OUTCOMES],
)
INTERVALS = SWAPS.assign(follows_low=[None, 0.33, None, None], follows_high=[None, 0.47, None, None])
MANY = pd.concat([SWAPS.assign(condition=SWAPS["condition"] + f" {i}", right=i) for i in range(20)])
ALL = {
    "swaps": partial(figures.outcomes_by_swap, SWAPS),
    "intervals": partial(figures.outcomes_by_swap, INTERVALS),
    "one": partial(figures.outcomes_by_swap, SWAPS.iloc[3:]),
    "none": partial(figures.outcomes_by_swap, SWAPS.iloc[:0]),
    "many": partial(figures.outcomes_by_swap, MANY),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_nothing_is_cut_off(make, figsize):
    test_figures.test_nothing_is_cut_off(partial(make, figsize=figsize))


def bars(figure, row):
    """Left ends and widths of the parts of one row."""
    axes = figure.axes[0]
    centre = axes.get_yticks()[row]
    return [
        (p.get_x(), p.get_width(), p.get_facecolor()[:3] == (1, 1, 1))
        for p in axes.patches
        if abs(p.get_y() + p.get_height() / 2 - centre) < 0.01
    ]


def test_shares_in_the_order_given():
    figure, table = figures.outcomes_by_swap(SWAPS)
    assert table["condition"].tolist() == SWAPS["condition"].tolist()
    assert ticks(figure)[:2] == ["none", "title"] and figure.axes[0].get_ylim()[0] > figure.axes[0].get_ylim()[1]
    assert table["n"].tolist() == [200, 200, 8, 0]
    assert table.loc[1, [f"share_{one}" for one in OUTCOMES]].tolist() == [0.35, 0.1, 0.4, 0.1, 0.05, 0]
    assert table["share_right"][3] is pd.NA and table["follows_low"].isna().all()
    assert np.ravel(bars(figure, 1)).tolist() == pytest.approx(
        np.ravel([(0, 0.35, 0), (0.35, 0.1, 0), (0.45, 0.4, 0), (0.85, 0.1, 0), (0.95, 0.05, 0)]).tolist()
    )
    assert {"60 %", "30 %", "35 %", "40 %", "no queries", "200", "8", "0"} <= set(texts(figure))
    assert figure.axes[0].get_xlabel() == "share of queries" and figure.axes[0].get_xlim() == (0, 1)


def test_the_description_has_every_share():
    figure, _ = figures.outcomes_by_swap(INTERVALS)
    assert figures.describe(figure) == (
        "Stacked bars of what became of the queries under each condition. "
        "none: right 60 %, passes 30 %, another wrong answer 8 %, unreadable 2 % (n = 200). "
        "title: right 35 %, keeps its wrong answer 10 %, follows the swap 40 % [33, 47], passes 10 %, "
        "another wrong answer 5 % (n = 200). abstract, nearest by $embedding$ of all the abstracts: right 38 %, "
        "keeps its wrong answer 12 %, follows the swap 50 % (n = 8). partial edit: no queries (n = 0)."
    )


def test_few_queries_are_hollow():
    figure, _ = figures.outcomes_by_swap(SWAPS)
    assert [hollow for *_, hollow in bars(figure, 0)] == [False] * 4
    assert [hollow for *_, hollow in bars(figure, 2)] == [True] * 3
    assert "hollow: fewer than 10 queries" in texts(figure)
    assert "hollow" not in " ".join(texts(figures.outcomes_by_swap(SWAPS.iloc[:2])[0]))


def test_the_interval_of_the_share_that_follows():
    figure, table = figures.outcomes_by_swap(INTERVALS)
    assert {"follows [95 %]", "40 % [33, 47]", "50 %"} <= set(texts(figure))
    assert table["follows_high"][1] == 0.47
    assert "follows [90 %]" in texts(figures.outcomes_by_swap(INTERVALS.assign(level=0.9))[0])
    assert "[33, 47]" not in " ".join(texts(figures.outcomes_by_swap(INTERVALS, figsize=(4.2, 3.6))[0]))


def test_the_legend_names_what_there_is():
    legend = figures.outcomes_by_swap(SWAPS.iloc[:1])[0].legends[0]
    assert [t.get_text() for t in legend.get_texts()] == ["right", "passes", "another wrong answer", "unreadable"]
    colours = [colour for _, colour, _ in swaps.OUTCOMES.values()]
    assert len(set(colours)) == 6


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
def test_numbers_lie_in_their_parts(figsize):
    figure, _ = figures.outcomes_by_swap(INTERVALS, figsize=figsize)
    axes = figure.axes[0]
    assert overlaps(written(figure)) == []
    figure.draw_without_rendering()
    parts = [p.get_window_extent() for p in axes.patches]
    numbers = [
        t for t in axes.texts if t.get_text().endswith("%") and t.get_position()[0] <= 1 and t.get_ha() == "center"
    ]
    assert len(numbers) >= 4
    for number in numbers:
        box = number.get_window_extent()
        assert any(part.x0 <= box.x0 and box.x1 <= part.x1 and part.y0 <= box.y1 for part in parts), number


def test_absent_columns_count_as_none():
    _, table = figures.outcomes_by_swap(SWAPS[["condition", "right", "passes"]])
    assert table["n"].tolist() == [180, 90, 3, 0] and (table["follows"] == 0).all()


def test_many_conditions():
    figure, table = ALL["many"]()
    assert len(table) == 80 and len(ticks(figure)) == figures.MOST
    assert "35 smaller ones not drawn" in " ".join(texts(figure)).replace("\n", " ")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (SWAPS.drop(columns="condition"), "no column 'condition'"),
        (SWAPS.assign(keeps=-1), "outcomes_by_swap, condition 'none': keeps is -1, expected a whole number"),
        (SWAPS.assign(other=0.5), "condition 'none': other is 0.5, expected a whole number"),
        (SWAPS.assign(n=[200, 199, 8, 0]), "condition 'title': n is 199, but the outcomes add up to 200"),
    ],
)
def test_what_cannot_be_drawn_is_named(table, message):
    with pytest.raises(ValueError, match=message):
        figures.outcomes_by_swap(table)
