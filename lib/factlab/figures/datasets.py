"""What a data set holds in each domain: papers collected, papers left after the filter, sentences (REASONS, Figure 2 in kind)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing
from factlab.figures.drawing import BLUE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_PALE = "#BFD9EA"  # of papers that the filter took
_COLUMNS = ("papers", "papers_left", "sentences")


def papers_by_domain(
    table: pd.DataFrame, label: str = "domain", *, figsize: tuple[float, float] | None = None
) -> tuple[Figure, pd.DataFrame]:
    """Papers and citing sentences of each domain, side by side.

    Parameters
    ----------
    table : DataFrame
        One row a domain: `label`, papers (all), papers_left (after the filter), sentences (that are left); whole numbers.
    label : str
        Column of the domains; an empty one is drawn as "(not told)".
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label and the three counts, most sentences first, which is the order drawn, top first. With more than `MOST` domains those
        with most sentences are drawn; the table keeps them all.

    Raises
    ------
    ValueError
        A column is missing, a count is negative or no whole number, or more papers are left than there were.
    """
    whole = drawing.rows(table, [label, *_COLUMNS])[[label, *_COLUMNS]]
    for column in _COLUMNS:
        values = drawing.floats(whole[column])
        if not ((values >= 0) & (values % 1 == 0)).all():
            raise ValueError(f"papers_by_domain: {column} must hold whole numbers, 0 or more")
    if (wrong := np.flatnonzero(drawing.floats(whole["papers_left"]) > drawing.floats(whole["papers"]))).size:
        raise ValueError(f"papers_by_domain, {label} {whole[label].iloc[wrong[0]]!r}: more papers left than there were")
    whole = whole.sort_values("sentences", ascending=False, kind="stable").reset_index(drop=True)
    rows, passed_over = drawing.largest(whole, "sentences")
    names = [name or "(not told)" for name in drawing.named(rows[label])]
    wrapped = [drawing.wrapped(name, 26) for name in names]
    lines = [one.count("\n") + 1 for one in wrapped]
    centres = drawing.row_centres(lines)
    papers, left, sentences = (drawing.floats(rows[column]) for column in _COLUMNS)
    with drawing.style():
        from matplotlib.figure import Figure

        height = 0.9 + 0.3 * max(1, sum(max(1.0, 0.8 * k) for k in lines))
        figure = Figure(figsize=figsize or (drawing.WIDTH, height), layout="constrained", facecolor="white")
        first, second = figure.subplots(1, 2, sharey=True)
        first.barh(centres, papers, height=0.66, color=_PALE)
        first.barh(centres, left, height=0.66, color=BLUE)
        second.barh(centres, sentences, height=0.66, color=BLUE)
        of_papers = [f"{a:,.0f}" if a == b else f"{a:,.0f} of {b:,.0f}" for a, b in zip(left, papers, strict=True)]
        for axes, values, texts in ((first, papers, of_papers), (second, sentences, [f"{n:,.0f}" for n in sentences])):
            at = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
            for value, text, centre in zip(values, texts, centres, strict=True):
                axes.annotate(text, (value, centre), **at)
            axes.set_xlim(0, max(values.max(initial=0), 1) * 1.25)  # room for the number of the longest bar
            axes.set_xticks([])
            axes.spines["bottom"].set_visible(False)
        taken = papers.sum() > left.sum()
        first.set_title("source papers" + (" left (pale: left out)" if taken else ""), loc="left", fontsize=10)
        second.set_title(f"sentences: {sentences.sum():,.0f}", loc="left", fontsize=10)
        drawing.row_names(first, centres, wrapped)
        second.tick_params(axis="y", length=0, labelleft=False)
        second.spines["left"].set_visible(False)
        first.set_ylim(*drawing.row_limits(centres, lines))
        if not len(rows):
            drawing.nothing(first, "no domains")
        if passed_over:
            drawing.note(second, f"{passed_over} smaller ones not drawn")
    parts = [
        f"{name}: {text} {'paper' if text == '1' else 'papers'}, {count:,.0f} {'sentence' if count == 1 else 'sentences'}"
        for name, text, count in zip(names, of_papers, sentences, strict=True)
    ]
    alt = f"Bars of source papers and of citing sentences by {label}. {'; '.join(parts) or 'No domains'}."
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole
