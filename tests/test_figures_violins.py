"""Distributions of scores: violins, points, medians; and by number of errors, those without any apart."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import test_figures

from factlab import figures
from factlab.figures.violins import MOST_POINTS

RNG = np.random.default_rng(0)
SCORES = pd.DataFrame(
    [
        (m, s, v)
        for m in ("CheckEmbed", "BERTScore")
        for s, at in (("similar", 0.9), ("different", 0.6))
        for v in RNG.normal(at, 0.03, 20).clip(0, 1)
    ],
    columns=["method", "setting", "score"],
)
NASTY = pd.DataFrame(
    [("m", "equal", 0.5)] * 200
    + [("m", "many", v) for v in RNG.normal(0, 1, 500)]
    + [("m", None, None)] * 3
    + [("$m$ " + "of a long name " * 3, "few", v) for v in (0.1, 0.2, -1.06)]
    + [(None, "a group of a rather long name", 1.0)],
    columns=["method", "setting", "score"],
)
ERRORS = pd.DataFrame(
    [
        (m, e, 0.98 - d * e + v)
        for m, d in (("CheckEmbed", 0.005), ("BERTScore", 0.05))
        for e in range(11)
        for v in RNG.normal(0, 0.005, 25)
    ],
    columns=["method", "errors", "score"],
)
ODD = pd.DataFrame({"method": ["a"] * 4 + [None], "errors": [0, 0, 30, None, 2], "score": [0.5, 0.6, None, 0.3, 0.7]})
ALL = {
    "violins": partial(figures.score_violins, SCORES, notes={"CheckEmbed": "AUROC 1.00 [0.98, 1.00]"}),
    "nasty violins": partial(figures.score_violins, NASTY),
    "one violin": partial(figures.score_violins, SCORES.iloc[:20], panel=None),
    "no violins": partial(figures.score_violins, SCORES.iloc[:0]),
    "nothing scored": partial(figures.score_violins, SCORES.assign(score=None)),
    "errors": partial(figures.score_by_errors, ERRORS, mark={"CheckEmbed": 3, "BERTScore": None}),
    "odd errors": partial(figures.score_by_errors, ODD, mark=2),
    "errors of one": partial(figures.score_by_errors, ERRORS[ERRORS["errors"] == 4], panel=None),
    "no errors": partial(figures.score_by_errors, ERRORS.iloc[:0]),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6), (4.2, 7)])
@pytest.mark.parametrize("name", ALL)
def test_nothing_is_cut_off(name, figsize):
    if name == "nasty violins" and figsize == (4.2, 3.6):
        figsize = (4.2, 5)  # three panels of four groups with long names need some height
    test_figures.test_nothing_is_cut_off(partial(ALL[name], figsize=figsize))


def points(axes):
    """Heights of the points, one array a distribution."""
    from matplotlib.collections import PathCollection

    return [np.asarray(c.get_offsets())[:, 1] for c in axes.collections if isinstance(c, PathCollection)]


def shapes(axes):
    from matplotlib.collections import PathCollection

    return [c for c in axes.collections if not isinstance(c, PathCollection)]


def bars(axes):
    return [list(map(float, x.get_ydata())) for x in axes.lines if x.get_marker() == "None" and x.get_linewidth() > 2]


def dots(axes):
    return [(float(x.get_xdata()[0]), float(x.get_ydata()[0])) for x in axes.lines if x.get_marker() == "o"]


def ticks(axes):
    return [t.get_text().replace("\n", " ") for t in axes.get_xticklabels()]


# ---------------------------------------------------------------- score_violins


def test_a_panel_for_each_method_and_a_violin_for_each_group():
    figure, table = figures.score_violins(SCORES, notes={"CheckEmbed": "AUROC 0.98"})
    assert table.columns.tolist() == [
        *("method", "setting", "n", "missing", "lowest", "q1", "median", "q3", "highest", "points")
    ]
    assert table[["method", "setting"]].values.tolist() == [
        [m, s] for m in ("CheckEmbed", "BERTScore") for s in ("similar", "different")
    ]
    one = SCORES[(SCORES["method"] == "CheckEmbed") & (SCORES["setting"] == "different")]["score"]
    row = table.iloc[1]
    assert (row["n"], row["missing"], row["points"]) == (20, 0, 20)
    assert row[["lowest", "q1", "median", "q3", "highest"]].tolist() == one.quantile([0, 0.25, 0.5, 0.75, 1]).tolist()
    left, right = figure.axes
    assert [a.get_title(loc="left") for a in figure.axes] == ["CheckEmbed\nAUROC 0.98", "BERTScore"]
    assert [sorted(p) for p in points(left)][1] == sorted(one)
    assert bars(left)[1] == pytest.approx([row["q1"], row["q3"]])
    assert dots(left)[1] == pytest.approx((1, row["median"]))
    assert ticks(left)[1] == f"different median {row['median']:.2f} n = 20"
    assert left.get_ylim() == right.get_ylim() and not right.get_ylabel()  # one axis
    assert figures.describe(figure).startswith(
        "Violin plots of the score by setting, n = 80 scores. CheckEmbed (AUROC 0.98): similar median"
    )


def test_a_violin_ends_at_its_ends_and_no_point_lies_outside():
    figure, table = figures.score_violins(SCORES)
    for i, shape in enumerate(shapes(figure.axes[0])):
        corners = np.concatenate([path.vertices for path in shape.get_paths()])
        low, high = table[["lowest", "highest"]].astype(float).iloc[i]
        assert (corners[:, 1].min(), corners[:, 1].max()) == pytest.approx((low, high))
        assert 0.3 < abs(corners[:, 0] - i).max() <= 0.42
        across = np.asarray(figure.axes[0].collections[2 * i + 1].get_offsets())
        assert abs(across[:, 0] - i).max() < 0.42 and len(set(across[:, 0])) == 20


def test_of_many_scores_a_sample_is_drawn_and_it_says_so():
    figure, table = figures.score_violins(NASTY)
    assert table.set_index("setting").loc["many", ["n", "points"]].tolist() == [500, MOST_POINTS]
    drawn = points(figure.axes[0])[1]
    assert len(drawn) == MOST_POINTS and set(drawn) <= set(NASTY[NASTY["setting"] == "many"]["score"])
    assert f"a sample of {MOST_POINTS} points drawn where there are more" in figure.get_suptitle().replace("\n", " ")
    assert "sample" not in figures.score_violins(SCORES)[0].get_suptitle()


def test_few_equal_and_undefined_scores():
    figure, table = figures.score_violins(NASTY)
    assert len(shapes(figure.axes[0])) == 1  # of `equal` and `many`, only these have a density
    few = figure.axes[1]
    assert not shapes(few) and not bars(few) and len(points(few)[0]) == 3  # points only
    assert "n = 704 scores, 3 undefined" in figure.get_suptitle()
    assert table.set_index("setting").loc["(no name)", ["n", "missing"]].tolist() == [0, 3]
    assert "no scores" in [t.get_text() for t in figure.axes[0].texts]
    assert "(no name) no scores" in figures.describe(figure)


def test_axes_of_their_own():
    table = SCORES.assign(score=SCORES["score"].where(SCORES["method"] == "CheckEmbed", SCORES["score"] - 1))
    shared, own = (figures.score_violins(table, share=one)[0].axes for one in (True, False))
    assert shared[0].get_ylim() == shared[1].get_ylim() and shared[0].get_ylim()[0] < -0.3
    assert own[0].get_ylim()[0] > 0 > own[1].get_ylim()[1] and own[1].get_ylabel()


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
def test_names_do_not_overlap(figsize):
    table = pd.DataFrame([(f"group number {i}", v) for i in range(8) for v in (0.5, 0.6)], columns=["setting", "score"])
    for made in (
        figures.score_violins(SCORES, figsize=figsize),
        figures.score_violins(table, panel=None, figsize=figsize),
    ):
        made[0].draw_without_rendering()
        for axes in made[0].axes:
            boxes = [t.get_window_extent() for t in axes.get_xticklabels()]
            assert not any(a.overlaps(b) for a, b in zip(boxes, boxes[1:], strict=False))


# ---------------------------------------------------------------- score_by_errors


def test_a_distribution_for_each_number_of_errors():
    figure, table = figures.score_by_errors(ERRORS)
    assert table.columns.tolist()[:4] == ["method", "errors", "n", "missing"] and len(table) == 22
    assert table["errors"].tolist() == [*range(11)] * 2
    axes = figure.axes[0]
    assert ticks(axes) == [str(e) for e in range(11)]
    assert len(points(axes)) == 11
    middles = table["median"].astype(float).tolist()[:11]
    (line,) = [x for x in axes.lines if len(x.get_xdata()) == 11]
    assert line.get_ydata().tolist() == pytest.approx(middles)
    assert "n = 550 passages (25 a number)" in figure.get_suptitle()
    assert "CheckEmbed: errors 0 median 0.98" in figures.describe(figure)


def test_passages_without_errors_stand_apart():
    figure, table = figures.score_by_errors(ERRORS)
    axes = figure.axes[0]
    at = [x for x, _ in dots(axes)]
    assert at[1] - at[0] > 1.5 * (at[2] - at[1])
    (band,) = axes.patches
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx(
        table[["lowest", "highest"]].iloc[0].tolist()
    )
    colours = [tuple(c.get_facecolor()[0][:3]) for c in axes.collections]
    assert len(set(colours[:2])) == 1 and len(set(colours[2:])) == 1 and colours[0] != colours[2]
    later = figures.score_by_errors(ERRORS[ERRORS["errors"] > 0])[0].axes[0]
    assert not later.patches and [x for x, _ in dots(later)] == [*range(1, 11)]


def test_the_smallest_number_told_apart():
    figure, _ = ALL["errors"]()
    marked, other = figure.axes
    assert "told apart from none: 3" in [t.get_text() for t in marked.texts] and not other.texts
    dashed = [x for x in marked.lines if x.get_linestyle() == "--"]
    assert dashed[0].get_xdata()[0] == dots(marked)[3][0]
    assert "told apart from none: 3." in figures.describe(figure)
    narrow, _ = figures.score_by_errors(ERRORS, mark=3, figsize=(4.2, 3.6))
    said = narrow.axes[0].get_title(loc="left").replace("\n", " ")
    assert said.endswith("told apart from none: 3") or "told apart from none: 3" in [
        t.get_text() for t in narrow.axes[0].texts
    ]


def test_rows_without_a_number_are_counted():
    figure, table = figures.score_by_errors(ODD)
    assert "n = 3 passages, 1 undefined; 1 without errors" in figure.get_suptitle()
    assert table[["method", "errors", "n"]].values.tolist() == [["a", 0, 2], ["a", 30, 0], ["(no name)", 2, 1]]
    assert table["median"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.score_violins(ERRORS), "no column 'setting'"),
        (lambda: figures.score_by_errors(SCORES), "no column 'errors'"),
        (lambda: figures.score_by_errors(ERRORS.assign(errors=0.5)), "row 0: errors is 0.5, expected 0, 1, 2"),
        (lambda: figures.score_violins(SCORES.assign(score=np.inf)), "row 0: score is infinite"),
    ],
)
def test_what_cannot_be_drawn_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
