"""A measure of each domain against the size of the domain (REASONS, Figure 7)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing, labels, measures
from factlab.figures.drawing import GREY, INK, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def metric_by_size(
    table: pd.DataFrame,
    metric: str = "hr",
    size: str = "sentences",
    label: str = "domain",
    correlation: pd.DataFrame | None = None,
    *,
    n: str = "n",
    small: int = SMALL,
    unit: str = "queries",
    name: str = "",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """One measure of each domain against its size, e.g. the number of its sentences or papers.

    REASONS, Figure 7 in kind, and what section 6 says of how well a domain is represented.

    Parameters
    ----------
    table : DataFrame
        One row a domain, of one model and mode: `label`, `size` (above 0), `metric` (0..1, missing where undefined)
        and, where known, `n` and the interval as hr_low, hr_high. Rows named Mean and SD are left out.
    metric, size, label, n : str
        Columns: the measure, size of the domain, its name, number of queries.
    correlation : DataFrame, optional
        What `stats.correlation` returns for the two; its row `spearman` is said in words above the figure.
    small : int
        Domains with fewer queries are hollow.
    unit, name : str
        What is counted; what the measure is called (as in `MEASURES` when empty).
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, size, metric, low, high, n, reason (why it is not drawn), smallest domain first.

    Raises
    ------
    ValueError
        If two rows are of one domain, a size is not above 0, or a measure is not from 0 to 1.

    Notes
    -----
    The size is on a log scale where the largest is at least ten times the smallest.
    """
    import pandas as pd

    given = drawing.rows(table, [label, size, metric])
    given = given[~measures.apart(given[label])].reset_index(drop=True)
    given[label] = drawing.named(given[label])
    measures.once(given, [label], "metric_by_size")
    sizes, values = drawing.floats(given[size]), drawing.floats(given[metric])
    if (wrong := np.flatnonzero((sizes <= 0) | np.isinf(sizes))).size:
        where = f"{label} {given[label][wrong[0]]!r}"
        raise ValueError(f"metric_by_size, {where}: {size} is {sizes[wrong[0]]:g}, expected a number above 0")
    drawing.shares_only(values, metric, "metric_by_size", label, given[label])
    why = [
        ""
        if not math.isnan(v) and not math.isnan(s)
        else measures.why_undefined(given.loc[i], metric, n)
        if math.isnan(v)
        else "no size"
        for i, (s, v) in enumerate(zip(sizes, values, strict=True))
    ]
    numbers = {size: sizes, metric: values, "low": measures.numbers(given, f"{metric}_low")}
    numbers |= {"high": measures.numbers(given, f"{metric}_high"), "n": measures.numbers(given, n)}
    shown = pd.DataFrame({label: given[label], **{k: drawing.floats_or_missing(v) for k, v in numbers.items()}})
    shown = shown.assign(reason=why).sort_values(size, kind="stable", na_position="last", ignore_index=True)
    rows = shown[shown["reason"] == ""].reset_index(drop=True)
    xs, ys, lows, highs, counts = (drawing.floats(rows[k]) for k in (size, metric, "low", "high", "n"))
    left = measures.grouped(shown[label], shown["reason"])
    few = int((counts < small).sum())
    title, better = measures.called(metric, name)
    said = [drawing.plural(len(rows), label, label + "s")]
    said += [_correlated(correlation)] if correlation is not None else []
    said += [f"n = {measures.extent(counts)} {unit} a {label}"] if (~np.isnan(counts)).any() else []
    said += [f"bars: {drawing.level(given)}intervals"] if not np.isnan(lows).all() else []
    said += [f"hollow: fewer than {small} {unit}"] if few else []
    said += [f"not drawn: {left}"] if left else []
    inches = figsize or (drawing.WIDTH, 4.2)
    with drawing.style():
        figure, axes = drawing.empty(inches)
        drawing.zoomed_axis(axes, np.concatenate([ys, lows, highs]), title + better)
        axes.set_ylabel(drawing.fitted(axes.get_ylabel(), inches[1] - 0.7))
        log = xs.size > 0 and xs.max() >= 10 * xs.min()
        _sizes_axis(axes, xs, log, inches[0] - 1.4)
        axes.set_xlabel(f"{size} of the {label}" + (" (log scale)" if log else ""))
        drawing.title(axes, "; ".join(said))
        if not len(rows):
            drawing.nothing(axes, f"no {label}s")
        for i in range(len(rows)):
            if not math.isnan(lows[i]):
                line = {"color": GREY, "lw": 1.1} if counts[i] < small else {"color": INK, "lw": 1.3}
                axes.plot([xs[i], xs[i]], [lows[i], highs[i]], zorder=2, **line)
            face = "white" if counts[i] < small else INK
            axes.plot([xs[i]], [ys[i]], "o", ms=6, mfc=face, mec=INK, mew=1.3, zorder=3, clip_on=False)
        room = {"dots": np.c_[xs, ys]}
        drawn = np.flatnonzero(~np.isnan(lows))
        room["strokes"] = [np.array([[xs[i], lows[i]], [xs[i], highs[i]]]) for i in drawn]
        anchors = [np.array([[x, y]]) for x, y in zip(xs, ys, strict=True)]
        texts = [drawing.wrapped(one, 18) for one in rows[label]]
        refused, made = labels.around(axes, anchors, texts, [INK] * len(rows), **room)
        if refused:  # the title gets longer, which leaves less room
            for one in made:
                one.remove()
            drawing.title(axes, "; ".join([*said, "names without room are in the table"]))
            refused, _ = labels.around(axes, anchors, texts, [INK] * len(rows), **room)
        drawing.settled(figure)
    alt = f"Scatter plot of {title}{better} against the {size} of the {label}{', log scale' if log else ''}; "
    alt += f"{'; '.join(said)}."
    for i in range(len(rows)):
        alt += f" {rows[label][i]}: {drawing.interval(ys[i], lows[i], highs[i])} at {xs[i]:,.10g}."
    alt += f" {drawing.plural(len(refused), 'name', 'names')} had no room." if refused else ""
    return drawing.described(figure, alt), shown


def _correlated(found: pd.DataFrame) -> str:
    import pandas as pd

    row = found.set_index("coefficient").loc["spearman"]
    if pd.isna(row["value"]):
        return f"rank correlation undefined: {row['reason']}"
    if pd.isna(row["low"]):
        return f"Spearman's rho {drawing.number(row['value'])}" + (f" ({row['reason']})" if row["reason"] else "")
    return f"Spearman's rho {drawing.interval(row['value'], row['low'], row['high'])}"


def _sizes_axis(axes: Axes, xs: np.ndarray, log: bool, inches: float) -> None:
    """Room at both ends, and on a log scale as many ticks as so many inches hold."""
    from matplotlib.ticker import FixedLocator, NullLocator

    if not xs.size:
        axes.set_xticks([])
        return
    if not log:
        room = 0.08 * float(np.ptp(xs)) or 0.5 * xs[0]
        axes.set_xlim(max(0.0, xs.min() - room), xs.max() + room)
        if (xs % 1 == 0).all():
            drawing.whole_numbers(axes.xaxis)
        axes.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
        return
    low, high = xs.min() / (room := (xs.max() / xs.min()) ** 0.08), xs.max() * room
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    decades = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [tick for decade in decades for tick in (decade, 2 * decade, 5 * decade) if low <= tick <= high]
    widest = max(len(f"{tick:,.10g}") for tick in fine)
    ticks = fine if len(fine) * (6 * widest + 8) <= inches * 72 else [t for t in decades if low <= t <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
