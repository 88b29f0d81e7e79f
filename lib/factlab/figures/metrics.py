"""Hallucination rate, F1, BLEU-4 and pass percentage, model by model (REASONS, Figures 3 to 6)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing, measures
from factlab.figures.drawing import GREY, INK, ORANGE, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def metrics_by_model(
    table: pd.DataFrame,
    label: str = "model",
    *,
    n: str = "n",
    small: int = SMALL,
    unit: str = "queries",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Hallucination rate, F1, BLEU-4 and pass percentage of each model (or mode), in four panels with the same rows.

    REASONS, Figures 3 to 6 in kind.

    Parameters
    ----------
    table : DataFrame
        One row a model: `label`, hr, f1, bleu, pp (0..1, missing where undefined) and, where known, `n` (queries),
        hr_low, hr_high and so on (intervals), whose (`yours`: an orange diamond), and the columns of
        `attribution.score` that say why a measure is undefined. Rows named Mean and SD, which are of no model, are left
        out.
    label, n : str
        Columns: name of the model or mode, number of queries.
    small : int
        Rows with fewer queries are hollow.
    unit : str
        What is counted, in the plural.
    figsize : (float, float), optional
        Inches; narrower than 6, the panels are two by two.

    Returns
    -------
    (Figure, DataFrame)
        label, the four measures, their intervals (missing where there is none), n, whose, reason (why measures are
        undefined, in words), in the order given, which is that drawn, top first.

    Raises
    ------
    ValueError
        If two rows have one name, or a measure is not from 0 to 1.
    """
    import pandas as pd

    given = drawing.rows(table, [label, *measures.MEASURES])
    given = given[~measures.apart(given[label])].reset_index(drop=True)
    whole = pd.DataFrame({label: drawing.named(given[label])})
    measures.once(whole, [label], "metrics_by_model")
    for metric in measures.MEASURES:
        for column in (metric, f"{metric}_low", f"{metric}_high"):
            whole[column] = drawing.floats_or_missing(measures.numbers(given, column))
        drawing.shares_only(drawing.floats(whole[metric]), metric, "metrics_by_model", label, whole[label])
    whole["n"] = drawing.floats_or_missing(measures.numbers(given, n))
    whole["whose"] = given["whose"].fillna("").astype(str) if "whose" in given.columns else ""
    undefined = [
        [(m, measures.why_undefined(row, m, n)) for m in measures.MEASURES if pd.isna(whole.loc[i, m])]
        for i, row in given.iterrows()
    ]  # of each row
    whole["reason"] = ["; ".join(f"{measures.MEASURES[m][0]}: {why}" for m, why in one) for one in undefined]
    rows, passed_over = drawing.largest(whole, "n")
    counts, mine = drawing.floats(rows["n"]), (rows["whose"] == "yours").to_numpy(dtype=bool)
    names = [measures.folded(one, 22 if max(map(len, rows[label])) <= 44 else 30) for one in rows[label]]
    lines = [one.count("\n") + 1 for one in names]
    centres = drawing.row_centres(lines)
    known = counts[~np.isnan(counts)]
    vary = known.size > 0 and (known.size < len(counts) or known.min() < known.max())
    bars = any(rows[f"{m}_low"].notna().any() for m in measures.MEASURES)
    bare = bars and any((rows[f"{m}_low"].isna() & rows[m].notna()).any() for m in measures.MEASURES)
    few = int((counts < small).sum())
    said = [f"n = {measures.extent(counts)} {unit} a {label}"] if known.size else []
    said += ["?: n not known"] if 0 < known.size < len(counts) else []
    said += [f"bars: {drawing.level(given)}intervals"] if bars else []
    said += ["no bar: no interval"] if bare else []
    said += [f"hollow: fewer than {small} {unit}"] if few else []
    said += ["orange diamond: yours"] if mine.any() else []
    gaps = measures.grouped(rows[label], rows["reason"])
    said += [f"undefined: {gaps}"] if gaps else []
    said += [f"{passed_over} smaller ones not drawn"] if passed_over else []
    high = 1.5 + 0.25 * max(1, sum(max(1.0, 0.8 * k) for k in lines))
    size = figsize or (drawing.WIDTH, high)
    wide = size[0] >= 6
    with drawing.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        panels = figure.subplots(*((1, 4) if wide else (2, 2)), squeeze=False)
        if said:
            figure.suptitle(
                drawing.fitted("; ".join(said), size[0] - 0.3, measures.SIZE), x=0.01, ha="left", fontsize=measures.SIZE
            )
        for k, (axes, metric) in enumerate(zip(panels.ravel(), measures.MEASURES, strict=True)):
            values, lows, highs = (drawing.floats(rows[metric + end]) for end in ("", "_low", "_high"))
            short, what, better = measures.MEASURES[metric]
            axes.set_facecolor("white")
            axes.set_title(
                f"{short}\n{what},\n{better}" if wide else f"{short}: {better}",
                loc="left",
                fontsize=9 if size[0] > 7 else 7.5,
            )
            drawing.share_axis(axes, "")
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            first, last = axes.get_subplotspec().is_first_col(), axes.get_subplotspec().is_last_col()
            drawing.row_names(axes, centres, names if first else [""] * len(rows))
            axes.tick_params(axis="y", pad=8)  # a dot at 0 does not touch the name
            axes.set_ylim(*drawing.row_limits(centres, lines))
            for i, centre in enumerate(centres):
                if math.isnan(values[i]):
                    axes.text(0.03, centre, "undefined", va="center", style="italic", color=measures.PALE, fontsize=9)
                else:
                    _mark(axes, values[i], centre, lows[i], highs[i], counts[i] < small, mine[i])
                    drawing.beside(axes, drawing.number(values[i]), 29, centre)
                if last and vary:
                    drawing.beside(axes, drawing.count(counts[i]), 66, centre)
            if last and vary:
                drawing.heading(axes, "n", 66)
            if not len(rows) and k == 0:
                drawing.nothing(axes, f"no {label}s")
        measures.shrink(figure, centres)
        drawing.settled(figure)
    alt = "Dot plots of hallucination rate (lower is better), F1 and BLEU-4 (higher is better) and pass percentage"
    alt += f" (as a share), {drawing.plural(len(rows), label, label + 's')}."
    for i in range(len(rows)):
        parts = [
            f"{measures.MEASURES[m][0]} {drawing.interval(*_floats(rows, i, m))}"
            for m in measures.MEASURES
            if not pd.isna(rows[m][i])
        ]
        parts += [f"undefined {rows['reason'][i]}"] if rows["reason"][i] else []
        own = " (yours)" if mine[i] else ""
        alt += f" {rows[label][i]}{own}: {', '.join(parts)}" + (
            "." if math.isnan(counts[i]) else f", n = {drawing.count(counts[i])}."
        )
    alt += f" {few} with fewer than {small} {unit}." if few else ""
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole


def _floats(rows: pd.DataFrame, i: int, metric: str) -> list[float]:
    return [drawing.floats(rows[metric + end])[i] for end in ("", "_low", "_high")]


def _mark(axes: Axes, x: float, y: float, low: float, high: float, few: bool, mine: bool) -> None:
    colour = ORANGE if mine else INK
    if not math.isnan(low):
        line = {"color": GREY, "lw": 1.1} if few and not mine else {"color": colour, "lw": 1.4}
        axes.plot([low, high], [y, y], solid_capstyle="butt", zorder=2, **line)
    face, mark = "white" if few else colour, "D" if mine else "o"
    axes.plot(x, y, mark, ms=5.5, mfc=face, mec=colour, mew=1.3, zorder=3, clip_on=False)
