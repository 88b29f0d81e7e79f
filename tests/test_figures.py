"""Figures: what is drawn where, what is said beside it, what becomes of ugly tables. Artists and data, not pixels."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from factlab import figures, stats, units


def categories(**columns):
    table = pd.DataFrame(
        {
            "category": ["Heart", "Skin", "Bone", "Lung"],
            "value": pd.array([0.5, 0.9, None, 0.2], dtype="Float64"),
            "low": pd.array([0.4, 0.8, None, None], dtype="Float64"),
            "high": pd.array([0.6, 1.0, None, None], dtype="Float64"),
            "n": [40, 9, 0, 1],
        }
    )
    return table.assign(**columns)


def texts(figure):
    """Every text of a figure with its position: its titles, labels and annotations."""
    from matplotlib.text import Text

    return [t.get_text() for t in figure.findobj(Text) if t.get_text() and t.get_visible()]


def ticks(figure):
    return [t.get_text() for t in figure.axes[0].get_yticklabels()]


def lines(figure, marker):
    return [line for line in figure.axes[0].lines if line.get_marker() == marker]


def bars(figure):
    return [(p.get_x(), p.get_width(), p.get_height()) for p in figure.axes[0].patches]


# ---------------------------------------------------------------- score_by_category


def test_dots_and_intervals_are_where_the_numbers_are():
    figure, table = figures.score_by_category(categories())
    assert table["category"].tolist() == ticks(figure) == ["Skin", "Heart", "Lung", "Bone"]
    dots = lines(figure, "o")
    assert [float(d.get_xdata()[0]) for d in dots] == [0.9, 0.5, 0.2]
    assert [d.get_markerfacecolor() == "white" for d in dots] == [True, False, True]  # fewer than ten answers
    heights = [float(d.get_ydata()[0]) for d in dots]
    assert heights == list(figure.axes[0].get_yticks()[:3])
    bottom, top = figure.axes[0].get_ylim()
    assert bottom > max(heights) > min(heights) > top  # the first row is on top
    assert [list(map(float, line.get_xdata())) for line in lines(figure, "None")] == [[0.8, 1.0], [0.4, 0.6]]


def test_a_category_without_a_score_stays_and_says_so():
    figure, table = figures.score_by_category(categories(reason=["", "", "no answers", ""]))
    said = texts(figure)
    assert "not scored: no answers" in said
    assert len(table) == 4
    assert [t for t in said if t in ("40", "9", "0", "1")] == [
        "9",
        "40",
        "1",
        "0",
        "0",
        "1",
    ]  # n of each row, axis ends


def test_overall_is_a_line_with_a_band():
    overall = stats.estimate([1] * 30 + [0] * 20)
    figure, _ = figures.score_by_category(categories(), overall=overall)
    line = next(x for x in lines(figure, "None") if list(x.get_ydata()) == [0, 1])
    assert float(line.get_xdata()[0]) == 0.6
    (band,) = figure.axes[0].patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((overall.low, overall.high))
    assert "all answers 0.60" in texts(figure)


def test_names_are_wrapped_and_dollars_are_dollars():
    long = "Endocrinology, Diabetes and Metabolism of Rare Inherited Disorders in Children"
    figure, _ = figures.score_by_category(categories(category=[long, "$5 and $6", "x" * 80, ""]))
    labels = figure.axes[0].get_yticklabels()
    assert max(len(part) for label in labels for part in label.get_text().split("\n")) <= 34
    assert long in [label.get_text().replace("\n", " ") for label in labels]
    assert not any(label.get_parse_math() for label in labels)


def test_rows_do_not_overlap():
    names = [f"Speciality {i} " + "of a rather long name " * (i % 3) for i in range(29)]
    table = pd.DataFrame({"category": names, "value": 0.5, "low": 0.5, "high": 0.5, "n": 20})
    figure, _ = figures.score_by_category(table)
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in zip(boxes, boxes[1:], strict=False))
    assert all(box.x0 >= 0 for box in boxes)


def test_percentages_are_refused():
    with pytest.raises(ValueError, match="'Skin': value is 90, expected a share from 0 to 1"):
        figures.score_by_category(categories(value=[0.5, 90.0, 0.1, 0.2]))


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


# ---------------------------------------------------------------- score_against_length


def test_scatter_counts_answers_at_one_point():
    table = pd.DataFrame({"n_units": [2, 2, 4, 5, 6, 7], "precision": [1.0, 1.0, 0.5, 0.4, 0.3, None]})
    figure, rows = figures.score_against_length(table)
    assert rows.values.tolist() == [[2, 1.0, 2], [4, 0.5, 1], [5, 0.4, 1], [6, 0.3, 1]]
    (dots,) = figure.axes[0].collections
    assert dots.get_offsets().tolist() == rows[["length", "precision"]].values.tolist()
    assert dots.get_sizes()[0] == 2 * dots.get_sizes()[1]
    assert "n = 5 answers, 1 not scored; Spearman's rho -1.00" in figures.describe(figure)


# ---------------------------------------------------------------- all of them

FRAME = categories()
VERDICTS = pd.DataFrame({"group": ["a"], "true": [1], "false": [2]})
LENGTHS = pd.DataFrame({"n_units": [1, 2], "precision": [0.5, 1]})
ALL = {
    "categories": lambda **s: figures.score_by_category(FRAME, **s),
    "no categories": lambda **s: figures.score_by_category(FRAME.iloc[:0], **s),
    "one category": lambda **s: figures.score_by_category(FRAME.iloc[:1], **s),
    "nothing scored": lambda **s: figures.score_by_category(FRAME.iloc[2:3], overall=stats.estimate([]), **s),
    "units": lambda **s: figures.units_per_answer([1, 2, 3], **s),
    "equal units": lambda **s: figures.units_per_answer([0, 0], **s),
    "no answers": lambda **s: figures.units_per_answer([], **s),
    "funnel": lambda **s: figures.outcomes(units.funnel(["scored", "refused"]), **s),
    "nothing asked": lambda **s: figures.outcomes(units.funnel([]), **s),
    "all refused": lambda **s: figures.outcomes(units.funnel(["refused"] * 3), **s),
    "verdicts": lambda **s: figures.verdict_shares(VERDICTS, **s),
    "no verdicts": lambda **s: figures.verdict_shares(VERDICTS.iloc[:0], **s),
    "lengths": lambda **s: figures.score_against_length(LENGTHS, **s),
    "no lengths": lambda **s: figures.score_against_length(LENGTHS.iloc[:0], **s),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_every_figure(make):
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure, table = make(figsize=(6, 4))
    image, drawing = figures.png(figure), figures.svg(figure)
    assert dict(matplotlib.rcParams) == before
    assert tuple(figure.get_size_inches()) == (6, 4)
    assert isinstance(table, pd.DataFrame)
    assert (figures.png(figure), figures.svg(figure)) == (image, drawing)
    assert figures.png(make(figsize=(6, 4))[0]) == image  # made anew: the same bytes
    assert figures.describe(figure).endswith(".")
    assert not any("nan" in text.lower() for text in [*texts(figure), figures.describe(figure)])


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_nothing_is_cut_off(make):
    figure, _ = make()
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 >= 0 and drawn.y0 >= 0
    assert drawn.x1 <= width and drawn.y1 <= height


def test_the_callers_settings_do_not_change_a_figure():
    import matplotlib

    plain = figures.png(ALL["categories"]()[0])
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30, "axes.grid": True}):
        assert figures.png(ALL["categories"]()[0]) == plain


def test_description_is_built_from_the_numbers():
    figure, _ = figures.score_by_category(categories(), overall=stats.estimate([1] * 30 + [0] * 20, unit="answers"))
    assert figures.describe(figure) == (
        "Dot plot of the score in 4 categories. Highest Skin 0.90 [0.80, 1.00], n = 9; lowest Lung 0.20, n = 1. "
        "All answers: 0.60 [0.46, 0.72], 50 answers. 2 with fewer than 10 answers. 1 without an interval. 1 not scored."
    )


def test_shown_in_a_notebook_with_its_description(monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda data, **settings: shown.append((data, settings)))
    figure, _ = ALL["units"]()
    figures.show(figure, caption="Units")
    (data, settings), said = shown[0], figures.describe(figure)
    assert data == {"image/png": figures.png(figure), "text/plain": said}
    assert settings == {"metadata": {"image/png": {"alt": said, "caption": "Units"}}, "raw": True}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.score_by_category(FRAME, value="f1"), "no column 'f1'; the table has category"),
        (lambda: figures.outcomes(FRAME), "no column 'step', 'left_out'"),
        (lambda: figures.verdict_shares(FRAME), "no column 'group'"),
        (lambda: figures.score_against_length(FRAME), "no column 'precision', 'n_units'"),
    ],
)
def test_a_missing_column_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_pyplot_is_never_imported():
    code = (
        "import sys; from factlab import figures; assert 'matplotlib' not in sys.modules; "
        "figures.png(figures.units_per_answer([1, 2])[0]); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_hundreds_of_groups_are_drawn_as_the_largest_ones_and_kept_in_the_table():
    n = 300
    table = pd.DataFrame(
        {"category": [f"c{i}" for i in range(n)], "value": 0.5, "low": 0.4, "high": 0.6, "n": range(1, n + 1)}
    )
    figure, kept = figures.score_by_category(table)
    assert len(kept) == n and f"{n - figures.MOST} smaller ones are not drawn" in figures.describe(figure)
    assert len(figure.axes[0].get_yticks()) == figures.MOST and "c299" in figures.describe(figure)
    counts = pd.DataFrame({"group": table["category"], "true": table["n"], "false": 1})
    figure, kept = figures.verdict_shares(counts)
    assert len(kept) == n and "smaller ones are not drawn" in figures.describe(figure)
