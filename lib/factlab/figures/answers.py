"""What became of the answers: how many units they have, how many are left at each step, what the judge said."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from factlab.figures import drawing
from factlab.figures.drawing import BLUE, INK, VERDICTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def units_per_answer(
    counts: ArrayLike | pd.Series, *, unit: str = "atomic units", figsize: tuple[float, float] | None = None
) -> tuple[Figure, pd.DataFrame]:
    """How many atomic units the answers have.

    Parameters
    ----------
    counts : (n,) array of int
        Units of each answer; missing where the number is not known.
    unit : str
        What is counted, in the plural.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a bar: low, high (the fewest and the most units in it, both included), answers.
    """
    import pandas as pd

    given = drawing.floats(pd.Series(counts))
    known = given[~np.isnan(given)]
    if (known < 0).any() or (known % 1 > 0).any():
        raise ValueError("units_per_answer: expected whole numbers of units, 0 or more")
    top = int(known.max()) if known.size else 0
    width = max(1, math.ceil((top + 1) / 40))
    lows = np.arange(0, top + 1, width)
    heights = np.bincount((known // width).astype(int), minlength=len(lows)) if known.size else np.zeros(1, dtype=int)
    shown = pd.DataFrame({"low": lows, "high": lows + width - 1, "answers": heights})
    median = float(np.median(known)) if known.size else math.nan
    missing = len(given) - len(known)
    with drawing.style():
        figure, axes = drawing.empty(figsize or (drawing.WIDTH, 3.2))
        axes.bar(lows - 0.5, heights, width=width, align="edge", color=BLUE, edgecolor="white", lw=0.6)
        axes.set_xlim(-0.5, max(lows[-1] + width - 0.5, 9.5))
        axes.set_ylim(0, max(heights.max() * 1.12, 1))
        drawing.whole_numbers(axes.xaxis)
        drawing.whole_numbers(axes.yaxis)
        per_bar = f" (bars of {width})" if width > 1 else ""
        axes.set_xlabel(f"{unit} in an answer{per_bar}")
        axes.set_ylabel("answers")
        if known.size:
            axes.axvline(median, color=INK, lw=1.3, ls=(0, (4, 2)))
            left = median < (axes.get_xlim()[0] + axes.get_xlim()[1]) / 2
            axes.annotate(
                f"median {median:g}",
                (median, 1),
                xycoords=("data", "axes fraction"),
                xytext=(4 if left else -4, -2),
                textcoords="offset points",
                ha="left" if left else "right",
                va="top",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
            )
        else:
            drawing.nothing(axes, "no answers")
        note = f"n = {len(known):,} {'answer' if len(known) == 1 else 'answers'}"
        axes.set_title(f"{note}; {missing:,} more without a count" if missing else note, loc="right", fontsize=10)
    alt = f"Histogram of {unit} in an answer, {note}."
    if known.size:
        q1, q3 = np.quantile(known, [0.25, 0.75])
        alt += f" Median {median:g}, middle half {q1:g} to {q3:g}, range {known.min():g} to {top:g}."
        alt += f" {int((known == 0).sum())} with none." if (known == 0).any() else ""
    alt += f" {missing} without a count." if missing else ""
    return drawing.described(figure, alt), shown


_WHY = {
    "answered": "error or cut off",
    "not refused": "refused",
    "with units": "no atomic units",
    "all verdicts readable": "a verdict could not be read",
    "no unknown": "a unit is unknown",
    "scored": "undefined",
}


def outcomes(
    funnel: pd.DataFrame, *, unit: str = "answers", figsize: tuple[float, float] | None = None
) -> tuple[Figure, pd.DataFrame]:
    """From asked to scored: how many are left at each step, and why the others are not.

    Parameters
    ----------
    funnel : DataFrame
        What `units.funnel` returns, or any table with columns `stage` (or `step`), n (left), left_out (since the step
        before) and, optionally, `why`.
    unit : str
        What is counted.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        stage, n, left_out, why, in the order drawn, first step on top.
    """
    stage = "stage" if "stage" in funnel.columns else "step"
    rows = drawing.rows(funnel, [stage, "n", "left_out"]).rename(columns={stage: "stage"}).reset_index(drop=True)
    if "why" not in rows.columns:
        rows["why"] = [_WHY.get(str(one), "") for one in rows["stage"]]
    rows = rows[["stage", "n", "left_out", "why"]]
    left, lost = drawing.floats(rows["n"]), np.nan_to_num(drawing.floats(rows["left_out"]))
    asked = left[0] if len(left) else 0
    names = [drawing.wrapped(one, 30) for one in rows["stage"]]
    centres = np.arange(len(rows))
    with drawing.style():
        figure, axes = drawing.empty(figsize or (drawing.WIDTH, 0.9 + 0.36 * max(1, len(rows))))
        axes.barh(centres, left, height=0.62, color=[BLUE] * len(rows))
        axes.barh(centres, lost, left=left, height=0.62, color="#F3C9A5")
        for i, centre in enumerate(centres):
            share = f" ({drawing.percent(left[i] / asked)})" if i and asked else ""
            gone = f"   −{lost[i]:,.0f} {rows['why'][i]}".rstrip() if lost[i] else ""
            axes.annotate(
                f"{left[i]:,.0f}{share}{gone}",
                (left[i] + lost[i], centre),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
            )
        axes.set_xlim(0, max(asked, 1))
        axes.set_xticks([])
        axes.spines[["bottom"]].set_visible(False)
        drawing.row_names(axes, centres, names)
        axes.set_ylim(*drawing.row_limits(centres, [1] * len(rows)))
        axes.set_title(f"{unit} left (share of those asked) and lost at each step", loc="left", fontsize=10)
    parts = [f"{rows['stage'][0]} {asked:,.0f}"] if len(rows) else ["no steps"]
    for i in range(1, len(rows)):
        why = f" ({rows['why'][i]})" if rows["why"][i] else ""
        parts.append(f"{rows['stage'][i]} {left[i]:,.0f}" + (f", {lost[i]:,.0f} left out{why}" if lost[i] else ""))
    return drawing.described(figure, f"Bars of how many {unit} are left at each step: {'; '.join(parts)}."), rows


def verdict_shares(
    table: pd.DataFrame, label: str = "group", *, unit: str = "verdicts", figsize: tuple[float, float] | None = None
) -> tuple[Figure, pd.DataFrame]:
    """What the judge said, group by group.

    Parameters
    ----------
    table : DataFrame
        One row a group: `label`, and the number of verdicts in each of the columns true, false, unknown, unparsable (an
        absent column counts as none).
    label : str
        Column of the groups.
    unit : str
        What is counted.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, the four counts, n, and the shares as share_true and so on (0..1, missing where n is 0), as drawn, top
        first.
    """
    rows = drawing.rows(table, [label]).reset_index(drop=True)
    for verdict in VERDICTS:
        rows[verdict] = np.nan_to_num(drawing.floats(rows[verdict])).astype(int) if verdict in rows.columns else 0
    rows = rows[[label, *VERDICTS]].copy()
    if (rows[list(VERDICTS)] < 0).any(axis=None):
        raise ValueError("verdict_shares: a count is negative")
    rows["n"] = rows[list(VERDICTS)].sum(axis=1)
    shares = rows[list(VERDICTS)].to_numpy(float) / np.where(rows["n"] > 0, rows["n"], np.nan)[:, None]
    for j, verdict in enumerate(VERDICTS):
        rows[f"share_{verdict}"] = drawing.floats_or_missing(shares[:, j])
    whole = rows
    rows, passed_over = drawing.largest(whole, "n")
    shares = rows[[f"share_{v}" for v in VERDICTS]].astype(float).to_numpy(na_value=np.nan)
    names = [drawing.wrapped(one, 34) for one in rows[label]]
    lines = [one.count("\n") + 1 for one in names]
    centres = drawing.row_centres(lines)
    with drawing.style():
        figure, axes = drawing.empty(
            figsize or (drawing.WIDTH, 1.3 + 0.32 * max(1, sum(max(1.0, 0.75 * k) for k in lines)))
        )
        start = np.zeros(len(rows))
        for j, (verdict, colour) in enumerate(VERDICTS.items()):
            width = np.nan_to_num(shares[:, j])
            axes.barh(centres, width, left=start, height=0.7, color=colour, edgecolor="white", lw=0.8, label=verdict)
            for i in np.flatnonzero(width >= 0.06):
                ink = "white" if verdict in ("true", "unparsable") else "black"  # the higher contrast
                axes.text(
                    start[i] + width[i] / 2, centres[i], drawing.percent(width[i]), ha="center", va="center", color=ink
                )
            start = start + width
        for i, centre in enumerate(centres):
            if rows["n"][i] == 0:
                axes.text(0.01, centre, f"no {unit}", va="center", style="italic", color="#6B6B6B")
            drawing.beside(axes, f"{rows['n'][i]:,}", 44, centre)
        if len(rows):
            drawing.heading(axes, "n", 44)
        else:
            drawing.nothing(axes, "no groups")
        drawing.share_axis(axes, f"share of {unit}")
        drawing.row_names(axes, centres, names)
        axes.set_ylim(*drawing.row_limits(centres, lines))
        handles, labels = axes.get_legend_handles_labels()
        used = [k for k, verdict in enumerate(VERDICTS) if rows[verdict].sum()] if len(rows) else []
        if used:
            axes.legend(
                [handles[k] for k in used],
                [labels[k] for k in used],
                loc="lower left",
                bbox_to_anchor=(-0.01, 1.0),
                ncols=4,
                frameon=False,
                handlelength=1,
                columnspacing=1.4,
                borderpad=0.1,
            )
        if passed_over:
            drawing.note(axes, f"{passed_over} smaller ones not drawn")
    said = []
    for i in range(len(rows)):
        present = [f"{v} {drawing.percent(shares[i, j])}" for j, v in enumerate(VERDICTS) if rows[v][i]]
        said.append(f"{rows[label][i]}: {', '.join(present) or 'none'} (n = {rows['n'][i]:,})")
    alt = f"Stacked bars of the share of {unit}. {'; '.join(said) or 'No groups'}."
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole


def counts(
    table: pd.DataFrame,
    label: str = "category",
    n: str = "questions",
    unit: str = "questions",
    *,
    of: int | None = None,
    note: str = "",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How many questions each category has, most first.

    Parameters
    ----------
    table : DataFrame
        One row a category.
    label, n : str
        Columns: name of the category, number of questions (a whole number; missing where it is not known).
    unit : str
        What is counted, in the plural.
    of : int, optional
        How many there are, where one may be in several categories or in none: shares are of these. Without it the categories are parts
        of a whole, which is their sum.
    note : str
        More about the whole, for the heading.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, n, share (of `of`, or of all that were counted, 0..1; missing where n is, or where there is nothing to count), as
        drawn, top first. With more than `MOST` categories the largest are drawn; the table keeps them all.
    """
    whole = drawing.rows(table, [label, n])[[label, n]]
    known = drawing.floats(whole[n])
    if (wrong := np.flatnonzero((known < 0) | (known % 1 > 0))).size:
        where = f"{label} {whole[label].iloc[wrong[0]]!r}"
        raise ValueError(f"counts, {where}: {n} is {known[wrong[0]]:g}, expected a whole number, 0 or more")
    total = float(np.nansum(known)) if of is None else float(of)
    if of is not None and (wrong := np.flatnonzero(known > of)).size:
        raise ValueError(f"counts, {label} {whole[label].iloc[wrong[0]]!r}: {known[wrong[0]]:g} of {of:g} {unit}")
    whole["share"] = drawing.floats_or_missing(known / total if total else np.full(len(known), np.nan))
    whole = whole.sort_values(n, ascending=False, na_position="last", kind="stable").reset_index(drop=True)
    rows, passed_over = drawing.largest(whole, n)
    values = drawing.floats(rows[n])
    names = drawing.named(rows[label])
    wrapped = [drawing.wrapped(one, 34) for one in names]
    lines = [one.count("\n") + 1 for one in wrapped]
    centres = drawing.row_centres(lines)
    shares = [f" ({drawing.percent(value / total)})" if total else "" for value in values]
    said = ["not counted" if math.isnan(x) else f"{x:,.0f}{share}" for x, share in zip(values, shares, strict=True)]
    of_all = f"{total:,.0f} {unit}"
    of_all += f" in {drawing.plural(len(whole), 'category', 'categories')}" if label == "category" else ""
    of_all += f", {note}" if note else ""
    with drawing.style():
        figure, axes = drawing.empty(
            figsize or (drawing.WIDTH, 0.5 + 0.3 * max(1, sum(max(1.0, 0.8 * k) for k in lines)))
        )
        axes.barh(centres, np.nan_to_num(values), height=0.66, color=BLUE)
        for i, centre in enumerate(centres):
            unknown = {"style": "italic", "color": "#6B6B6B"} if math.isnan(values[i]) else {}
            axes.annotate(
                said[i],
                (np.nan_to_num(values[i]), centre),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
                **unknown,
            )
        axes.set_xlim(0, max(np.nan_to_num(values).max(initial=0), 1))
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        drawing.row_names(axes, centres, wrapped)
        axes.set_ylim(*drawing.row_limits(centres, lines))
        if not len(rows):
            drawing.nothing(axes, "no categories")
        drawing.title(axes, of_all + (f"; {passed_over} smaller ones not drawn" if passed_over else ""))
    alt = f"Bars of the number of {unit} by {label.replace('_', ' ')}: {of_all}."
    alt += " One may be counted several times." if of is not None else ""
    if (counted := np.flatnonzero(~np.isnan(values))).size:
        first, last = counted[0], counted[-1]
        alt += f" Most {names[first]} {said[first]}" + (f"; fewest {names[last]} {said[last]}." if last else ".")
    alt += f" {int(np.isnan(values).sum())} not counted." if np.isnan(values).any() else ""
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole
