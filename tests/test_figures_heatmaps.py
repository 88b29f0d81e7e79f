"""Matrices of similarity: one scale of colours, the ground truth apart, what is missing hatched and counted."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import test_figures

from factlab import figures, stability

# Three replies and the ground truth
A = np.array([[1, 0.9, 0.8, 0.3], [0.9, 1, 0.7, 0.2], [0.8, 0.7, 1, 0.4], [0.3, 0.2, 0.4, 1]])
B = np.full((3, 3), 0.5) + 0.5 * np.eye(3)


def without(matrix, *rows):
    matrix = np.array(matrix, dtype=float)
    matrix[list(rows)] = np.nan
    matrix[:, list(rows)] = np.nan
    return matrix


def titles(figure):
    return [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes if axes.get_title(loc="left")]


def mesh(figure, panel=0):
    return figure.axes[panel].collections[0]


ALL = {
    "one": partial(figures.similarity_heatmaps, A, "document 0, CheckEmbed"),
    "with truth": partial(figures.similarity_heatmaps, [A, B], ["a", "$b$ " + "long " * 12], True),
    "missing": partial(figures.similarity_heatmaps, [without(A, 1), without(A, 0, 1, 2, 3)], ["a", "b"], True),
    "grid": partial(figures.similarity_heatmaps, [A] * 4, list("abcd"), True),
    "only the truth": partial(figures.similarity_heatmaps, [[[1.0]]], ["a"], True),
    "large": partial(figures.similarity_heatmaps, np.eye(60), "a", True),
    "no replies": partial(figures.similarity_heatmaps, [[]], ["a"]),
    "no matrices": partial(figures.similarity_heatmaps, [], []),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6), (4.2, 7)])
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_nothing_is_cut_off(make, figsize):
    test_figures.test_nothing_is_cut_off(partial(make, figsize=figsize))


def test_one_row_a_cell():
    _, table = figures.similarity_heatmaps([A, B], ["a", "b"])
    assert table.columns.tolist() == ["name", "i", "j", "similarity"] and len(table) == 25
    assert table.iloc[1].tolist() == ["a", 1, 2, 0.9]
    assert table[table["name"] == "b"]["similarity"].tolist() == B.ravel().tolist()


def test_level_and_spread_are_those_of_the_summary():
    figure, _ = figures.similarity_heatmaps([A, B], ["a", "b"])
    summary = stability.summarise(A)
    assert titles(figure) == [
        f"a level {summary.level:.2f}, spread {summary.spread:.2f}; 4 replies",
        "b level 0.50, spread 0.00; 3 replies",
    ]
    released = stability.summarise(A, variant="released")
    figure, _ = figures.similarity_heatmaps(A, "a", summaries=released)
    assert released.level != summary.level and f"level {released.level:.2f}" in titles(figure)[0]


def test_the_ground_truth_stands_apart_and_is_not_in_the_level():
    figure, _ = figures.similarity_heatmaps(A, "a", True)
    # Mean of 0.9, 0.8, 0.7 and their population standard deviation
    assert titles(figure) == ["a level 0.80, spread 0.08; 3 replies"]
    edges = np.unique(mesh(figure).get_coordinates()[..., 0])
    assert edges.tolist() == pytest.approx([0, 1, 2, 3, 3.35, 4.35])
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "2", "3", "truth"]
    bottom, top = axes.get_ylim()
    assert bottom > top  # the first row on top
    drawn = mesh(figure).get_array()
    assert drawn[3].mask.all() and drawn[:, 3].mask.all()  # the gap
    assert np.delete(np.delete(drawn, 3, axis=0), 3, axis=1).tolist() == A.tolist()
    assert figures.describe(figure) == (
        "Heatmaps of the similarity between replies, 1 matrix, the last row and column being the ground truth. "
        "a: level 0.80, spread 0.08; 3 replies; between two from 0.70 to 0.90; to the ground truth from 0.20 to 0.40."
    )


def test_one_scale_of_colours_with_a_bar():
    figure, _ = figures.similarity_heatmaps([A, B], ["a", "b"])
    assert mesh(figure, 0).get_clim() == mesh(figure, 1).get_clim() == (0.2, 1)
    assert figure.axes[-1].get_ylabel() == "similarity" and len(figure.axes) == 3
    low = np.array([[1, -1.0619], [-1.0619, 1]])  # rescaled BERTScore of an empty text
    assert mesh(figures.similarity_heatmaps(low, "a")[0]).get_clim() == pytest.approx((-1.1, 1))
    light, dark = (mesh(figure).cmap(end)[:3] for end in (0.0, 1.0))
    assert sum(light) > sum(dark) + 1  # more alike is darker, whatever the colours look like to the reader


def test_numbers_in_the_cells_where_they_are_legible():
    figure, _ = figures.similarity_heatmaps(A, "a")
    written = [t for t in figure.axes[0].texts]
    assert [t.get_text() for t in written] == [f"{x:.2f}" for x in A.ravel()]
    figure.draw_without_rendering()
    cell = figure.axes[0].get_window_extent().width / 4
    assert all(t.get_window_extent().width < cell for t in written)
    assert {t.get_color() for t in written if t.get_text() == "1.00"} == {"white"}
    assert {t.get_color() for t in written if t.get_text() == "0.20"} == {"black"}
    assert not figures.similarity_heatmaps(np.eye(13), "a")[0].axes[0].texts  # too many
    assert not figures.similarity_heatmaps([np.eye(12)] * 9, list("abcdefghi"), figsize=(4, 4))[0].axes[0].texts


def test_missing_replies_are_hatched_and_counted():
    figure, table = figures.similarity_heatmaps([without(A, 1)], ["a"], True)
    assert titles(figure) == ["a level 0.80, spread 0.00; 3 replies, 1 missing"]
    assert "hatched: missing" in figure.get_suptitle()
    hatched = figure.axes[0].collections[1]
    assert hatched.get_hatch() and len(hatched.get_paths()) == 7
    assert table["similarity"].isna().sum() == 7
    figure, _ = figures.similarity_heatmaps(without(A, 3), "a", True)
    assert titles(figure) == ["a level 0.80, spread 0.08; 3 replies, no ground truth"]
    figure, _ = figures.similarity_heatmaps(without(A, 0, 1, 2, 3), "a", True)
    assert titles(figure) == ["a level undefined, spread undefined; 3 replies, 3 missing, no ground truth"]


def test_a_single_missing_cell_needs_a_summary_of_ones_own():
    gap = A.copy()
    gap[0, 1] = np.nan
    with pytest.raises(ValueError, match="similarity_heatmaps, 'a': matrix, row 0, column 1"):
        figures.similarity_heatmaps(gap, "a")
    figure, _ = figures.similarity_heatmaps(gap, "a", summaries=stability.summarise(A))
    assert titles(figure)[0].endswith("4 replies, 1 cell missing")


def test_ticks_do_not_overlap():
    for k in (11, 31, 100):
        figure, _ = figures.similarity_heatmaps([np.eye(k)] * 2, ["a", "b"], True)
        figure.draw_without_rendering()
        for ticks in (figure.axes[0].get_xticklabels(), figure.axes[0].get_yticklabels()):
            boxes = [t.get_window_extent() for t in ticks]
            assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
            assert {"1", "truth"} <= {t.get_text() for t in ticks}


def test_many_matrices():
    figure, table = figures.similarity_heatmaps([B] * 14, [f"m{i}" for i in range(14)])
    assert table["name"].nunique() == 14 and len(titles(figure)) == 12
    assert "2 more matrices not drawn" in figure.get_suptitle()
    assert figures.describe(figure).endswith("2 more matrices are not drawn; they are in the table.")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.similarity_heatmaps([A, B], ["a"]), "2 matrices, 1 names"),
        (lambda: figures.similarity_heatmaps([A, B], ["a", "a"]), "'a' stands for two matrices"),
        (lambda: figures.similarity_heatmaps([A[:2]], ["a"]), r"'a': the shape is \(2, 4\), expected a square"),
        (lambda: figures.similarity_heatmaps(100 * A, "a"), "'a': a similarity is 100, expected at most 1"),
        (lambda: figures.similarity_heatmaps([A], ["a"], summaries=[]), "1 matrices, 0 summaries"),
        (lambda: figures.similarity_heatmaps([np.zeros((0, 0))], ["a"], True), "expected a square matrix"),
    ],
)
def test_what_cannot_be_drawn_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_table_is_a_frame_even_when_empty():
    table = ALL["no matrices"]()[1]
    assert isinstance(table, pd.DataFrame) and table.columns.tolist() == ["name", "i", "j", "similarity"]
