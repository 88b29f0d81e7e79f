"""What models answer when the metadata they are shown belong to another work (REASONS, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing
from factlab.figures.drawing import BLUE, ORANGE, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What can become of a query: what the figure says, its colour, the colour of letters on it
OUTCOMES = {
    "right": ("right", BLUE, "white"),
    "keeps": ("keeps its wrong answer", "#56B4E9", "black"),
    "follows": ("follows the swap", ORANGE, "black"),
    "passes": ("passes", "#BBBBBB", "black"),
    "other": ("another wrong answer", "#CC79A7", "black"),
    "unreadable": ("unreadable", "#666666", "white"),
}
_WIDE = 5.5  # inches that hold three columns of the legend, and the intervals beside the bars
_SMALLEST = 5.5  # points of the numbers in the bars, at least


def outcomes_by_swap(
    table: pd.DataFrame,
    label: str = "condition",
    *,
    unit: str = "queries",
    small: int = SMALL,
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """What became of the queries under each kind of swap.

    Parameters
    ----------
    table : DataFrame
        One row a condition (e.g. none, title, abstract, by embedding, partial edit, inserted term): `label` and the
        numbers of queries right, keeps, follows, passes, other, unreadable (an absent column counts as none). They
        exclude each other: `keeps` is an answer as without the swap that is not right. Where known, follows_low and
        follows_high (interval of the share that follows the swap, 0..1) and n (must be their sum).
    label : str
        Column of the conditions.
    unit : str
        What is counted, in the plural.
    small : int
        Conditions with fewer queries are hollow.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, the six counts, n, the shares as share_right and so on (0..1, missing where n is 0), follows_low and
        follows_high, in the order given, which is that drawn, top first.

    Raises
    ------
    ValueError
        If a count is negative or no whole number, or n is not their sum.

    Notes
    -----
    A part too narrow for its number has none in the bar, and a figure narrower than 5.5 inches has no column of
    intervals; all of them are in the description and in the table.
    """
    given = drawing.rows(table, [label]).reset_index(drop=True)
    whole = given[[label]].assign(**{label: drawing.named(given[label])})
    for outcome in OUTCOMES:
        counted = drawing.floats(given[outcome]) if outcome in given.columns else np.zeros(len(given))
        if (wrong := np.flatnonzero((counted < 0) | (counted % 1 > 0) | np.isinf(counted))).size:
            where = f"{label} {whole[label][wrong[0]]!r}"
            raise ValueError(
                f"outcomes_by_swap, {where}: {outcome} is {counted[wrong[0]]:g}, expected a whole number, 0 or more"
            )
        whole[outcome] = np.nan_to_num(counted).astype(int)
    whole["n"] = whole[list(OUTCOMES)].sum(axis=1)
    if "n" in given.columns and (wrong := np.flatnonzero(drawing.floats(given["n"]) - whole["n"].to_numpy())).size:
        where = f"{label} {whole[label][wrong[0]]!r}"
        raise ValueError(
            f"outcomes_by_swap, {where}: n is {given['n'][wrong[0]]}, but the outcomes add up to {whole['n'][wrong[0]]}"
        )
    shares = whole[list(OUTCOMES)].to_numpy(float) / np.where(whole["n"] > 0, whole["n"], np.nan)[:, None]
    for j, outcome in enumerate(OUTCOMES):
        whole[f"share_{outcome}"] = drawing.floats_or_missing(shares[:, j])
    for end in ("follows_low", "follows_high"):
        known = drawing.floats(given[end]) if end in given.columns else np.full(len(given), np.nan)
        whole[end] = drawing.floats_or_missing(known)
    rows, passed_over = drawing.largest(whole, "n")
    shares = np.array([drawing.floats(rows[f"share_{one}"]) for one in OUTCOMES]).T.reshape(len(rows), len(OUTCOMES))
    counts, lows, highs = (drawing.floats(rows[k]) for k in ("n", "follows_low", "follows_high"))
    few = counts < small
    names = [drawing.wrapped(one, 28) for one in rows[label]]
    lines = [one.count("\n") + 1 for one in names]
    centres = drawing.row_centres(lines)
    used = [one for one in OUTCOMES if len(rows) and rows[one].sum()]
    said = [f"hollow: fewer than {small} {unit}"] if (few & (counts > 0)).any() else []
    said += [f"{passed_over} smaller ones not drawn"] if passed_over else []
    size = figsize or (drawing.WIDTH, 1.4 + 0.36 * max(1, sum(max(1.0, 0.75 * k) for k in lines)))
    bars = size[0] >= _WIDE and not np.isnan(lows).all()
    with drawing.style():
        figure, axes = drawing.empty(size)
        starts = np.c_[np.zeros(len(rows)), np.nan_to_num(shares).cumsum(axis=1)]
        for j, (_, colour, _) in enumerate(OUTCOMES.values()):
            for i in np.flatnonzero(np.nan_to_num(shares[:, j])):
                look = {"facecolor": "white" if few[i] else colour, "edgecolor": colour if few[i] else "white"}
                left, width = starts[i, j] + 0.004 * few[i], shares[i, j] - 0.008 * few[i]
                axes.barh(centres[i], width, left=left, height=0.7, lw=2 if few[i] else 0.8, **look)
        for i, centre in enumerate(centres):
            if not counts[i]:
                axes.text(0.01, centre, f"no {unit}", va="center", style="italic", color="#6B6B6B")
            drawing.beside(axes, drawing.count(counts[i]), 40, centre)
            if bars and counts[i]:
                drawing.beside(axes, _follows(rows["share_follows"][i], lows[i], highs[i]), 128, centre)
        if len(rows):
            drawing.heading(axes, "n", 40)
        else:
            drawing.nothing(axes, "no conditions")
        if bars:
            drawing.heading(axes, f"follows [{drawing.level(given).strip()}]", 128)
        drawing.share_axis(axes, f"share of {unit}")
        drawing.row_names(axes, centres, names)
        axes.tick_params(axis="y", pad=6)
        axes.set_ylim(*drawing.row_limits(centres, lines))
        if said:
            figure.supxlabel(drawing.fitted("; ".join(said), size[0] - 0.3, 9), x=0.01, ha="left", fontsize=9)
        if used:
            from matplotlib.patches import Patch

            handles = [Patch(facecolor=OUTCOMES[one][1], label=OUTCOMES[one][0]) for one in used]
            look = {"frameon": False, "handlelength": 1, "columnspacing": 1.4, "borderpad": 0, "alignment": "left"}
            columns = min(len(used), 3 if size[0] >= _WIDE else 2)
            figure.legend(handles=handles, loc="outside upper left", ncols=columns, **look)
        drawing.settled(figure)
        _inscribe(axes, shares, starts, centres, few)
    alt = f"Stacked bars of what became of the {unit} under each {label}."
    for i in range(len(rows)):
        parts = []
        for j, outcome in enumerate(OUTCOMES):
            if rows[outcome][i]:
                parts.append(f"{OUTCOMES[outcome][0]} {drawing.percent(shares[i, j])}")
                if outcome == "follows" and not np.isnan(lows[i]):
                    parts[-1] = f"{OUTCOMES[outcome][0]} {_follows(shares[i, j], lows[i], highs[i])}"
        alt += f" {rows[label][i]}: {', '.join(parts) or f'no {unit}'} (n = {drawing.count(counts[i])})."
    alt += " No conditions." if not len(rows) else ""
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole


def _follows(share: float, low: float, high: float) -> str:
    """A share with its interval, in percent."""
    said = drawing.percent(share)
    return said if np.isnan(low) else f"{said} [{100 * low:.0f}, {100 * high:.0f}]"


def _inscribe(axes: Axes, shares: np.ndarray, starts: np.ndarray, centres: np.ndarray, few: np.ndarray) -> None:
    """The numbers of the parts that have room for them, which needs the width of the axes on the page."""
    frame, scale = axes.get_window_extent(), 72 / axes.figure.dpi
    row = frame.height * scale / abs(float(np.diff(axes.get_ylim())[0]))
    size = min(9.5, 0.7 * row / 1.2)
    for i, centre in enumerate(centres):
        for j, (_, _, ink) in enumerate(OUTCOMES.values()):
            if np.isnan(shares[i, j]):
                continue
            text = drawing.percent(shares[i, j])
            if shares[i, j] * frame.width * scale < 0.62 * size * len(text) + 4 or size < _SMALLEST:
                continue
            look = {"ha": "center", "va": "center", "color": "black" if few[i] else ink, "fontsize": size}
            axes.text(starts[i, j] + shares[i, j] / 2, centre, text, **look)
