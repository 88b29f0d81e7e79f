"""How a score changes with a number that was varied, such as the temperature: one line for each model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing, labels
from factlab.figures.drawing import GREY, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 12  # lines drawn at most; the table behind the figure keeps them all


def score_lines(
    table: pd.DataFrame,
    x: str = "temperature",
    line: str = "subject",
    value: str = "value",
    low: str = "low",
    high: str = "high",
    n: str = "n",
    mark: float | None = None,
    *,
    mark_name: str = "published",
    unit: str = "answers",
    name: str = "score",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """A score with its interval against a number that was varied, one line for each model.

    Parameters
    ----------
    table : DataFrame
        One row a line and x. A row without an x or a name is left out of the figure and counted; a missing score
        interrupts its line.
    x, line, value, low, high, n : str
        Columns: the number, what has a line of its own, score and interval (0..1, missing where undefined), items.
    mark : float, optional
        A vertical line at this x, e.g. the temperature of the paper.
    mark_name : str
        What that x is.
    unit, name : str
        What is counted; what the score is called on the axis.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        The table, sorted by line (in the order of their first rows) and x. With more than `MOST_LINES` lines, those
        with the most items are drawn.

    Notes
    -----
    Dots of one x stand side by side, a few points apart, so that no interval hides another. Hollow: fewer than `SMALL`
    items. The axis shows the tenths around the intervals, and says so, unless that saves less than 0.3 of 0 to 1.
    """
    import pandas as pd

    whole = drawing.rows(table, [x, line, value, low, high, n])
    whole = whole.assign(_order=pd.factorize(whole[line])[0], _x=drawing.floats(whole[x]))
    whole = whole.sort_values(["_order", "_x"], kind="stable").reset_index(drop=True)
    placed = whole["_x"].notna() & (whole["_order"] >= 0)
    if (twice := whole[placed].duplicated(["_order", "_x"])).any():
        row = whole[placed][twice].iloc[0]
        raise ValueError(f"score_lines: two rows for {line} {row[line]!r} at {x} {row['_x']:g}; combine them first")
    sums = whole[placed].groupby("_order")[n].sum().sort_values(ascending=False, kind="stable")
    chosen = sorted(sums.index[:MOST_LINES])
    rows, passed_over = whole[placed & whole["_order"].isin(chosen)].reset_index(drop=True), len(sums) - len(chosen)
    left_out = int((~placed).sum())
    scores, lows, highs = (drawing.floats(rows[column]) for column in (value, low, high))
    drawing.shares_only(scores, value, "score_lines", line, rows[line])
    counts, xs, codes = drawing.floats(rows[n]), drawing.floats(rows["_x"]), rows["_order"].to_numpy()
    dots = ~np.isnan(scores)
    hollow, unscored = int((dots & (counts < SMALL)).sum()), int((~dots).sum())
    names = [drawing.named(rows.loc[codes == code, line])[0] for code in chosen]
    with drawing.style():
        figure, axes = drawing.empty(figsize or (drawing.WIDTH, 3.6 + 0.1 * max(0, len(chosen) - 6)))
        drawing.zoomed_axis(axes, np.concatenate([scores, lows, highs]), name)
        _numbers_axis(axes, xs, mark)
        axes.set_xlabel(x)
        if mark is not None:
            axes.axvline(mark, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
            left, right = axes.get_xlim()
            at = (mark - left) / (right - left)
            axes.annotate(
                f"{mark_name} {mark:g}",
                (mark, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="left" if at < 0.12 else "right" if at > 0.88 else "center",
                color="#6B6B6B",
                fontsize=9,
            )
        n_range = _range(counts[dots])
        said = [f"n = {n_range} {unit} a dot"] if n_range else []
        said += [f"bars: {drawing.level(rows)}intervals"] if not np.isnan(lows).all() else []
        said += [f"hollow: fewer than {SMALL} {unit}"] if hollow else []
        said += [f"{unscored} not scored"] if unscored else []
        said += [f"{left_out} without {x} or {line}"] if left_out else []
        said += [f"{passed_over} smaller lines not drawn"] if passed_over else []
        drawing.title(axes, "; ".join(said), pad=18 if mark is not None else 6)
        if not dots.any():
            drawing.nothing(axes, "no scores")
        ends, texts, colours, asides = [], [], [], []
        step = _step(axes, xs, len(chosen))
        for i, code in enumerate(chosen):
            own = np.flatnonzero(codes == code)
            aside = (i - (len(chosen) - 1) / 2) * step
            look = {
                "color": drawing.COLOURS[i % 7],
                "marker": drawing.MARKS[i % 7],
                "ls": "-" if i < 7 else (0, (4, 1.5)),
            }
            _line(axes, xs[own], scores[own], lows[own], highs[own], counts[own], look, aside)
            if dots[own].any():
                last = own[dots[own]][-1]
                ends.append((xs[last], scores[last]))
                texts.append(drawing.wrapped(names[i], 24, hyphens=True))
                colours.append(look["color"])
                asides.append(aside)
        labels.beside_axes(axes, ends, texts, colours, asides=asides)
    alt = f"Line plot of the {name} against {x}, {drawing.plural(len(chosen), 'line', 'lines')}."
    for i, code in enumerate(chosen):
        own = np.flatnonzero((codes == code) & dots)
        points = [f"{drawing.interval(scores[k], lows[k], highs[k])} at {xs[k]:g}" for k in own]
        few = points if len(points) <= 3 else [points[0], points[-1]]
        alt += f" {names[i]}: {' to '.join(few) or 'not scored'}"
        if len(points) > 3:
            alt += f", highest {points[int(np.argmax(scores[own]))]}"
        alt += "."
    alt += f" {x} {mark:g}: {mark_name}." if mark is not None else ""
    alt += f" n = {n_range} {unit} a dot." if n_range else ""
    alt += f" {hollow} with fewer than {SMALL} {unit}." if hollow else ""
    alt += f" {unscored} not scored." if unscored else ""
    alt += f" {left_out} without {x} or {line}." if left_out else ""
    alt += f" {passed_over} smaller lines are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole.drop(columns=["_order", "_x"])


def _line(
    axes: Axes,
    xs: np.ndarray,
    scores: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    counts: np.ndarray,
    look: Mapping[str, Any],
    aside: float,
) -> None:
    """One line with its bars and marks, so many points beside its x."""
    from matplotlib.transforms import ScaledTranslation

    moved = axes.transData + ScaledTranslation(aside / 72, 0, axes.figure.dpi_scale_trans)
    colour = look["color"]
    axes.plot(xs, scores, color=colour, ls=look["ls"], lw=1.4, alpha=0.75, transform=moved, zorder=2)
    for i in np.flatnonzero(~np.isnan(scores)):
        if not math.isnan(lows[i]):
            axes.plot([xs[i]] * 2, [lows[i], highs[i]], color=colour, lw=1.1, transform=moved, zorder=2)
        face = "white" if counts[i] < SMALL else colour
        axes.plot(
            [xs[i]],
            [scores[i]],
            marker=look["marker"],
            ms=6,
            mfc=face,
            mec=colour,
            mew=1.3,
            transform=moved,
            zorder=3,
            clip_on=False,
        )


def _numbers_axis(axes: Axes, xs: np.ndarray, mark: float | None) -> None:
    """A horizontal axis with room at both ends, its ticks at the numbers themselves where they are few and apart."""
    every = np.unique(xs if mark is None else np.append(xs, mark))
    low, high = (every[0], every[-1]) if every.size else (0.0, 1.0)
    room = 0.07 * (high - low) or 0.5 * max(abs(low), 1.0)
    axes.set_xlim(low - room, high + room)
    own = np.unique(xs)
    if 0 < own.size <= 9 and (np.diff(own) >= 0.07 * (high - low)).all():
        axes.set_xticks(own, [f"{number:g}" for number in own])


def _step(axes: Axes, xs: np.ndarray, lines: int) -> float:
    """Points between lines side by side: at most five, together at most half of the way to the next x."""
    left, right = axes.get_xlim()
    gaps = np.diff(np.unique(xs))
    wide = 0.62 * axes.figure.get_figwidth() * 72 * (gaps.min() if gaps.size else right - left) / (right - left)
    return min(5.0, 0.5 * wide / max(1, lines - 1))


def _range(counts: np.ndarray) -> str:
    known = counts[~np.isnan(counts)]
    if not known.size:
        return ""
    low, high = drawing.count(known.min()), drawing.count(known.max())
    return low if low == high else f"{low} to {high}"
