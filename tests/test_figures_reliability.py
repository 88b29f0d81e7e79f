"""Risk against coverage: the curves of the table, the best and a random order, areas, and odd tables."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import test_figures

from factlab import figures, stability

RNG = np.random.default_rng(0)
ERROR = np.array([0.0] * 30 + [1.0] * 10)
CONFIDENCE = {"CheckEmbed": -ERROR + RNG.normal(0, 0.5, 40), "BERTScore": RNG.normal(0, 1, 40)}
CURVES = pd.concat([stability.risk_coverage(c, ERROR).assign(method=m) for m, c in CONFIDENCE.items()])
AREAS = {m: stability.aurc(c, ERROR) for m, c in CONFIDENCE.items()}
LOSS = RNG.beta(2, 5, 40)
LOSSES = stability.risk_coverage(-LOSS + RNG.normal(0, 0.2, 40), LOSS)
ODD = pd.DataFrame({"method": ["a", "b", None, "$c$"], "coverage": [1, 0.5, 1, None], "risk": [0, 0.2, 1, 0.3]})
ALL = {
    "two": partial(figures.risk_coverage, CURVES, areas=AREAS),
    "one": partial(figures.risk_coverage, LOSSES, line=None, oracle=stability.risk_coverage(-LOSS, LOSS)),
    "odd": partial(figures.risk_coverage, ODD),
    "none": partial(figures.risk_coverage, CURVES.iloc[:0]),
    "many": partial(
        figures.risk_coverage,
        pd.concat([CURVES.iloc[:40].assign(method=f"a method of the number {i}") for i in range(14)]),
    ),
    "one answer": partial(figures.risk_coverage, stability.risk_coverage([1], [1]), line=None),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("name", ALL)
def test_nothing_is_cut_off(name, figsize):
    test_figures.test_nothing_is_cut_off(partial(ALL[name], figsize=figsize))


def labels(figure):
    legend = figure.axes[0].get_legend()
    return [t.get_text() for t in legend.get_texts()] if legend else []


def curves(figure):
    found = [line for line in figure.axes[0].lines if line.get_marker() == "None" and len(line.get_xdata())]
    return [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in found]


def said(figure):
    return figure.axes[0].get_title(loc="left").replace("\n", " ")


def test_the_curves_are_those_of_the_table():
    figure, table = figures.risk_coverage(CURVES)
    assert table.columns.tolist() == ["method", "coverage", "risk", "low", "high", "area"]
    assert table["method"].drop_duplicates().tolist() == ["CheckEmbed", "BERTScore", "best order", "random order"]
    own = CURVES[CURVES["method"] == "CheckEmbed"]
    x, y = curves(figure)[0]
    assert x.tolist() == own["coverage"].tolist() and y.tolist() == own["risk"].tolist()
    assert table["risk"].tolist()[:40] == own["risk"].tolist()
    assert figure.axes[0].get_xlim() == (0, 1) and figure.axes[0].get_ylim()[0] < 0


def test_best_and_random_order():
    figure, table = figures.risk_coverage(CURVES)
    best, chance = stability.aurc_bounds(ERROR)
    last = table.groupby("method")["area"].last()
    assert (last["best order"], last["random order"]) == pytest.approx((best, chance))
    wanted = stability.risk_coverage(-np.arange(40.0), ERROR)  # right answers first
    own = table[table["method"] == "best order"]
    assert own["risk"].tolist() == pytest.approx(wanted["risk"].tolist())
    (x, y) = curves(figure)[-1]
    assert (x.tolist(), y.tolist()) == ([0, 1], [0.25, 0.25])


def test_names_and_areas_from_the_highest_risk_down():
    figure, table = ALL["two"]()
    area = AREAS["CheckEmbed"]
    assert f"CheckEmbed\narea {area.value:.2f} [{area.low:.2f}, {area.high:.2f}]" in labels(figure)
    order = [label.split("\n")[0] for label in labels(figure)]
    means = table.astype({"risk": float}).groupby("method")["risk"].mean()
    assert order == means.sort_values(ascending=False).index.tolist() and order[-2:] == ["CheckEmbed", "best order"]
    plain = labels(figures.risk_coverage(CURVES)[0])
    assert f"CheckEmbed\narea {area.value:.2f}" in plain
    assert (
        "best order: 0.00 at coverage 0.25, 0.00 at coverage 0.5, 0.25 at coverage 1; area 0.04."
        in figures.describe(figure)
    )


def test_bands_of_one_or_two_curves_from_ten_answers_on():
    figure, _ = figures.risk_coverage(CURVES)
    assert len(figure.axes[0].collections) == 2
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    own = CURVES[(CURVES["method"] == "CheckEmbed") & (CURVES["n"] >= 10)]
    assert (band[:, 0].min(), band[:, 1].max()) == pytest.approx((0.25, own["high"].max()))
    assert said(figure) == "n = 40 answers; bands: 95 % intervals of a point, from 10 answers on"
    three = pd.concat([CURVES, CURVES.iloc[:40].assign(method="c")])
    assert not figures.risk_coverage(three)[0].axes[0].collections


def test_losses_need_an_oracle_of_ones_own():
    figure, table = figures.risk_coverage(LOSSES, line=None)
    assert table["curve"].drop_duplicates().tolist() == ["", "random order"]
    figure, table = ALL["one"]()
    assert table["curve"].drop_duplicates().tolist() == ["", "best order", "random order"]
    best = table[table["curve"] == "best order"]
    assert best["area"].iloc[-1] == pytest.approx(stability.aurc_bounds(LOSS)[0])


def test_different_answers_have_no_common_bounds():
    other = stability.risk_coverage(CONFIDENCE["BERTScore"][:30], ERROR[:30]).assign(method="BERTScore")
    figure, table = figures.risk_coverage(pd.concat([CURVES.iloc[:40], other]))
    assert set(table["method"]) == {"CheckEmbed", "BERTScore"}
    assert "n = 30 to 40 answers" in said(figure) and "risk of all differs: no random order" in said(figure)


def test_odd_rows_are_counted():
    figure, table = figures.risk_coverage(ODD)
    assert len(table) == 3 and "1 point without coverage or risk" in said(figure)
    assert "b: 0.20 at coverage 0.25, 0.20 at coverage 0.5, not reached at coverage 1." in figures.describe(figure)


def test_many_curves():
    figure, table = ALL["many"]()
    assert "2 more curves not drawn" in said(figure) and len(labels(figure)) == 14
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.axes[0].get_legend().get_texts()]
    assert not any(a.overlaps(b) for a, b in zip(boxes, boxes[1:], strict=False))
    assert table["method"].nunique() == 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coverage": 50}, "risk_coverage, 'CheckEmbed': coverage is 50, expected a share from 0 to 1"),
        ({"risk": -0.1}, "risk_coverage, 'CheckEmbed': risk is -0.1, expected 0 or more"),
    ],
)
def test_impossible_numbers(change, message):
    with pytest.raises(ValueError, match=message):
        figures.risk_coverage(CURVES.assign(**change))


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="no column 'method'"):
        figures.risk_coverage(LOSSES)
