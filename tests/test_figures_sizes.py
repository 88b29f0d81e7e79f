"""Scores against size: families joined, sizes that nobody knows, one's own model, and labels apart."""

import numpy as np
import pandas as pd
import pytest
from test_figures import SIZES, SMALL_MODEL, UNSIZED, overlaps, texts, written

from factlab import figures


def joined(figure):
    found = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    return [list(zip(map(float, line.get_xdata()), map(float, line.get_ydata()), strict=True)) for line in found]


def diamonds(figure):
    return [line for line in figure.axes[0].lines if line.get_marker() == "D"]


def said(figure):
    return figure.axes[0].get_title(loc="left").replace("\n", " ")


def test_families_are_joined_and_singles_are_dots():
    figure, table = figures.score_by_size(SIZES, source="DAHL Table 2")
    assert table["model"].tolist() == SIZES["family"].tolist() and set(table["whose"]) == {"DAHL Table 2"}
    assert table["size_b"][0] is pd.NA and table["low"].isna().all()
    found = joined(figure)
    assert [(0.5, 0.7610), (1.5, 0.8151), (7, 0.8870), (72, 0.8997)] in found
    assert [(8, 0.8638)] in found and len(found) == 7
    assert figure.axes[0].get_xscale() == "log"
    # gpt-4o: a tick at the right edge
    (tick,) = [line for line in figure.axes[0].lines if line.get_marker() == 0]
    assert float(tick.get_ydata()[0]) == 0.9365
    assert {"gpt-4o", "size not\nknown", "Qwen-2", "Llama-3", "Llama-3.1"} <= set(texts(figure))
    assert said(figure) == "DAHL Table 2: 13 models, 8 families"
    assert "Qwen-2: 0.76 (0.5 billion), 0.82 (1.5 billion), 0.89 (7 billion), 0.90 (72 billion)." in figures.describe(
        figure
    )
    assert "gpt-4o: 0.94 (size not known)." in figures.describe(figure)


def test_ones_own_model_with_its_interval():
    figure, table = figures.score_by_size(SIZES, SMALL_MODEL)
    assert table.iloc[-1].tolist() == ["yours", "SmolLM2-135M-Instruct", 0.135, 0.41, 0.35, 0.47, 58]
    (dot,) = diamonds(figure)
    assert (float(dot.get_xdata()[0]), float(dot.get_ydata()[0])) == (0.135, 0.41)
    assert dot.get_markeredgecolor() == figures.ORANGE
    assert any(list(line.get_ydata()) == [0.35, 0.47] for line in figure.axes[0].lines)
    assert "SmolLM2-135M-Instruct\n0.41 [0.35, 0.47]" in texts(figure)
    assert "orange: yours with 95 % interval, n = 58" in said(figure)
    assert figure.axes[0].get_ylim()[0] <= 0.35 and "axis from 0.3 to 1" in figure.axes[0].get_ylabel()


def test_ones_own_models_of_unknown_size():
    figure, _ = figures.score_by_size(SIZES, UNSIZED.assign(n=[58, 9]))
    figure.draw_without_rendering()
    edge = figure.axes[0].get_window_extent().x1
    places = [float(dot.get_transform().transform((1, 0))[0]) for dot in diamonds(figure)]
    assert edge < places[0] < places[1]
    assert [dot.get_markerfacecolor() == "white" for dot in diamonds(figure)] == [False, True]
    assert "mine\n0.93 [0.90, 0.96]" in texts(figure) and "one more\n0.91" in texts(figure)
    assert "hollow: n below 10" in said(figure)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.4), (4.2, 4.4)])
@pytest.mark.parametrize("yours", [None, SMALL_MODEL, UNSIZED], ids=["none", "sized", "unsized"])
def test_every_label_is_there_and_none_covers_another(figsize, yours):
    figure, table = figures.score_by_size(SIZES, yours, figsize=figsize)
    boxes = written(figure)
    assert len(boxes) == table["model"].nunique() + 1  # and `size not known`
    assert overlaps(boxes) == []
    axes = figure.axes[0]
    dots = axes.transData.transform([point for line in joined(figure) for point in line])
    assert not any(box.contains(x, y) for box in written(figure, outside=False).values() for x, y in dots)


def test_many_families():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"family": [f"family {i // 2}" for i in range(120)], "score": rng.uniform(0.7, 0.9, 120)})
    figure, rows = figures.score_by_size(table.assign(size_b=np.exp(rng.normal(2, 1, 120))))
    assert len(rows) == 120 and overlaps(written(figure)) == []
    assert "names without room are in the table" in said(figure)
    assert "names had no room." in figures.describe(figure) and "45 more families" in figures.describe(figure)


def test_models_without_a_score_are_counted():
    figure, table = figures.score_by_size(SIZES.assign(score=[None, *SIZES["score"][1:]]), {"name": "x", "value": None})
    assert len(table) == 14 and "2 without a score" in said(figure)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("score", 90, "score_by_size, model 'gpt-4o': score is 90, expected a share"),
        ("size_b", 0, "score_by_size, model 'gpt-4o': size_b is 0, expected billions"),
    ],
)
def test_impossible_numbers(column, value, message):
    with pytest.raises(ValueError, match=message):
        figures.score_by_size(SIZES.assign(**{column: value}))
