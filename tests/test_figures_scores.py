"""Scores by category and against length: what is drawn where, and what becomes of ugly tables."""

import pandas as pd
import pytest
from test_figures import categories, lines, texts, ticks

from factlab import figures, stats

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


def test_chance_is_a_dashed_line_and_kinds_have_marks_of_their_own():
    table = categories(kind=["open", "closed", "open", "closed"])
    figure, kept = figures.score_by_category(table, chance=0.25, kind="kind")
    (dashed,) = [x for x in figure.axes[0].lines if x.get_linestyle() == "--"]
    assert list(dashed.get_xdata()) == [0.25, 0.25] and "dashed: guessing, 0.25" in " ".join(texts(figure))
    marks = sorted(
        (x.get_ydata()[0], x.get_marker(), x.get_mec()) for x in figure.axes[0].lines if x.get_marker() != "None"
    )
    looks = [(kind, mark, colour) for kind, (_, mark, colour) in zip(kept["kind"], marks, strict=False)]
    assert len(set(looks)) == 2 and len({mark for _, mark, _ in looks}) == len({colour for _, _, colour in looks}) == 2
    assert {t.get_text() for t in figure.legends[0].get_texts()} == {"open", "closed"}
    assert "Guessing: 0.25. " in figures.describe(figure) and f"open: {kept.loc[kept['kind'] == 'open', 'category'].iloc[0]}" in figures.describe(figure)  # fmt: skip
    plain, _ = figures.score_by_category(table)
    assert not plain.legends and "Guessing" not in figures.describe(plain)


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


# ---------------------------------------------------------------- score_against_length


def test_scatter_counts_answers_at_one_point():
    table = pd.DataFrame({"n_units": [2, 2, 4, 5, 6, 7], "precision": [1.0, 1.0, 0.5, 0.4, 0.3, None]})
    figure, rows = figures.score_against_length(table)
    assert rows.values.tolist() == [[2, 1.0, 2], [4, 0.5, 1], [5, 0.4, 1], [6, 0.3, 1]]
    (dots,) = figure.axes[0].collections
    assert dots.get_offsets().tolist() == rows[["length", "precision"]].values.tolist()
    assert dots.get_sizes()[0] == 2 * dots.get_sizes()[1]
    assert "n = 5 answers, 1 not scored; Spearman's rho -1.00" in figures.describe(figure)
