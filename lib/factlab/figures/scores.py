"""Scores: by category, and against the length of the answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing
from factlab.figures.drawing import BLUE, COLOURS, GREY, INK, MARKS, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from factlab.stats import Estimate


def score_by_category(
    table: pd.DataFrame,
    value: str = "value",
    low: str = "low",
    high: str = "high",
    n: str = "n",
    label: str = "category",
    overall: Estimate | None = None,
    *,
    chance: float | None = None,
    kind: str = "",
    small: int = SMALL,
    unit: str = "answers",
    name: str = "score",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """A score and its interval for each category, highest first.

    Parameters
    ----------
    table : DataFrame
        One row a category, e.g. from `stats.estimates_by`.
    value, low, high, n, label : str
        Columns: score and interval (0..1, missing where undefined), number of items, name of the category.
    overall : Estimate, optional
        Drawn as a vertical line with its interval as a band.
    chance : float, optional
        Score of a guess, 0..1: a dashed line.
    kind : str
        Column with the kind of each category: a colour and a mark for each, in order of appearance. Empty: all are alike.
    small : int
        Categories with fewer items have a hollow dot and a lighter line. One without an interval has no line.
    unit, name : str
        What is counted; what the score is called on the axis.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        The table sorted as drawn, top first: those without a score, which say `not scored` (and why, where the table
        has a column `reason`), last.
    """
    whole = drawing.rows(table, [value, low, high, n, label]).sort_values(
        value, ascending=False, na_position="last", kind="stable"
    )
    whole = whole.reset_index(drop=True)
    rows, passed_over = drawing.largest(whole, n)
    scores, lows, highs = (drawing.floats(rows[column]) for column in (value, low, high))
    counts = drawing.floats(rows[n])
    drawing.shares_only(scores, value, "score_by_category", label, rows[label])
    level = drawing.level(rows)
    reasons = rows["reason"].fillna("").tolist() if "reason" in rows.columns else [""] * len(rows)
    names = [drawing.wrapped(one, 34) for one in rows[label]]
    lines = [one.count("\n") + 1 for one in names]
    centres = drawing.row_centres(lines)
    kinds = drawing.named(drawing.rows(rows, [kind])[kind]) if kind else [""] * len(rows)
    looks = {one: (COLOURS[k % len(COLOURS)], MARKS[k % len(MARKS)]) for k, one in enumerate(dict.fromkeys(kinds))}
    looks = looks if kind else {"": (INK, "o")}
    with drawing.style():
        figure, axes = drawing.empty(
            figsize or (drawing.WIDTH, 1.3 + 0.3 * bool(kind) + 0.27 * sum(max(1.0, 0.8 * k) for k in lines))
        )
        if chance is not None:
            axes.axvline(chance, color=INK, lw=1.2, ls=(0, (4, 2)), zorder=1)
        if overall is not None and overall.value is not None:
            if overall.low is not None:
                axes.axvspan(overall.low, overall.high, color=BLUE, alpha=0.13, lw=0)
            axes.axvline(overall.value, color=BLUE, lw=1.2, clip_on=False)
            axes.annotate(
                f"all {unit} {overall.value:.2f}",
                (overall.value, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="left" if overall.value < 0.12 else "right" if overall.value > 0.88 else "center",
                color=BLUE,
            )
        for i, centre in enumerate(centres):
            if math.isnan(scores[i]):
                said = f"not scored: {reasons[i]}" if reasons[i] else "not scored"
                axes.text(0.01, centre, said, va="center", style="italic", color="#6B6B6B")
                continue
            if not math.isnan(lows[i]):
                line = {"color": GREY, "lw": 1.1} if counts[i] < small else {"color": INK, "lw": 1.4}
                axes.plot([lows[i], highs[i]], [centre, centre], solid_capstyle="butt", zorder=2, **line)
            colour, mark = looks[kinds[i]]
            face = "white" if counts[i] < small else colour
            axes.plot(scores[i], centre, mark, ms=6, mfc=face, mec=colour, mew=1.3, zorder=3, clip_on=False)
            drawing.beside(axes, f"{scores[i]:.2f}", 44, centre)
        for i, centre in enumerate(centres):
            drawing.beside(axes, drawing.count(counts[i]), 84, centre)
        if len(rows):
            drawing.heading(axes, "score", 44)
            drawing.heading(axes, "n", 84)
        else:
            drawing.nothing(axes, "no categories")
        drawn = not np.isnan(lows).all()
        drawing.share_axis(
            axes, f"{name} (0 to 1)" + (f" with {level}interval" if drawn else "") if len(rows) else name
        )
        drawing.row_names(axes, centres, names)
        axes.set_ylim(*drawing.row_limits(centres, lines))
        hollow = int(((counts < small) & ~np.isnan(scores)).sum())
        bare = int((np.isnan(lows) & ~np.isnan(scores)).sum())
        said = [f"dashed: guessing, {chance:.2f}"] if chance is not None else []
        said += [f"hollow: fewer than {small} {unit}"] if hollow else []
        said += ["no line: no interval (too few, or all equal)"] if bare else []
        said += [f"{passed_over} smaller ones not drawn"] if passed_over else []
        if said:
            drawing.note(axes, "; ".join(said))
        if len(looks) > 1:
            from matplotlib.lines import Line2D

            marks = [Line2D([], [], ls="", marker=m, color=c, ms=6, label=one) for one, (c, m) in looks.items()]
            figure.legend(handles=marks, loc="outside upper left", ncols=2, frameon=False, borderpad=0, handletextpad=0)
    scored = np.flatnonzero(~np.isnan(scores))
    alt = f"Dot plot of the {name} in {drawing.plural(len(rows), 'category', 'categories')}."
    if scored.size:
        said = [
            f"{rows[label][i]} {drawing.interval(scores[i], lows[i], highs[i])}, n = {drawing.count(counts[i])}"
            for i in scored
        ]
        alt += f" Highest {said[0]}" + (f"; lowest {said[-1]}." if len(said) > 1 else ".")
    if overall is not None:
        alt += f" All {unit}: {overall}."
    alt += f" Guessing: {chance:.2f}." if chance is not None else ""
    for one in [k for k in looks if len(looks) > 1]:
        alt += f" {one}: {', '.join(str(rows[label][i]) for i in range(len(rows)) if kinds[i] == one)}."
    alt += f" {hollow} with fewer than {small} {unit}." if hollow else ""
    alt += f" {bare} without an interval." if bare else ""
    alt += f" {len(rows) - len(scored)} not scored." if len(scored) < len(rows) else ""
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole


def score_against_length(
    table: pd.DataFrame,
    precision: str = "precision",
    length: str = "n_units",
    *,
    unit: str = "atomic units",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Whether longer answers score higher or lower.

    Parameters
    ----------
    table : DataFrame
        One row an answer, e.g. from `units.factual_precision`.
    precision, length : str
        Columns: factual precision (0..1, missing where not scored) and length of the answer.
    unit : str
        What the length is measured in.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a dot: length, precision, answers (how many lie there; its area). Answers without a precision or a
        length are left out, and the figure says how many.

    Notes
    -----
    The title gives Spearman's rank correlation with its interval (`stats.correlation`) where it is defined.
    """
    import pandas as pd

    from factlab import stats

    rows = drawing.rows(table, [precision, length])
    x, y = drawing.floats(rows[length]), drawing.floats(rows[precision])
    kept = ~np.isnan(x) & ~np.isnan(y)
    left_out, x, y = int((~kept).sum()), x[kept], y[kept]
    found = stats.correlation(x, y).set_index("coefficient").loc["spearman"] if len(x) else None
    if found is None:
        said = ""
    elif pd.isna(found["value"]):
        said = f"; rank correlation undefined: {found['reason']}"
    elif pd.isna(found["low"]):
        said = f"; Spearman's rho {found['value']:.2f} ({found['reason']})"
    else:
        said = f"; Spearman's rho {drawing.interval(found['value'], found['low'], found['high'])}"
    n = f"n = {len(x):,} {'answer' if len(x) == 1 else 'answers'}"
    missing = f", {left_out:,} not scored" if left_out else ""
    with drawing.style():
        figure, axes = drawing.empty(figsize or (5.6, 3.6))
        shown = drawing.dots(axes, x, y, clip_on=False)
        shown = shown.rename(columns={"x": "length", "y": "precision", "items": "answers"})
        axes.set_ylim(-0.04, 1.04)
        axes.set_xlim(0, max(x.max() * 1.05, 1) if len(x) else 1)
        if len(x) and (x % 1 == 0).all():
            drawing.whole_numbers(axes.xaxis)
        axes.set_xlabel(f"length of the answer ({unit})")
        axes.set_ylabel("factual precision (0 to 1)")
        if not len(x):
            drawing.nothing(axes, "no scored answers")
        axes.set_title(f"{n}{missing}{said}", loc="left", fontsize=10)
        if len(shown) and (most := shown["answers"].max()) > 1:
            drawing.note(axes, f"dot area: answers at one point, up to {most:,}")
    alt = f"Scatter plot of factual precision against the length of the answer in {unit}, {n}{missing}{said}."
    return drawing.described(figure, alt), shown
