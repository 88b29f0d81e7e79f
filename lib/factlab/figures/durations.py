"""How long each domain took, model by model (REASONS, Table 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing, measures

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UNITS = (("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0))
_LONG = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours"}
# Round durations in seconds: first those that a log axis shows where it can, then those it shows where there is room
_COARSE = [*10.0 ** np.arange(-6, 2), 60.0, 600.0, *3600 * 10.0 ** np.arange(6)]
_FINE = [*(m * d for d in 10.0 ** np.arange(-6, 0) for m in (2, 5)), 2.0, 5.0, 20.0, 30.0, 120.0, 300.0, 1200.0, 1800.0]
_FINE += [3600 * m * d for d in 10.0 ** np.arange(6) for m in (2, 5)]


def seconds_by_domain(
    table: pd.DataFrame,
    value: str = "seconds",
    label: str = "domain",
    column: str = "model",
    *,
    n: str = "n",
    unit: str = "queries",
    name: str = "time",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How long each domain took, one dot for each model (or mode).

    REASONS, Table 5 in kind.

    Parameters
    ----------
    table : DataFrame
        One row a domain and model: `label`, `column`, `value` (seconds in all, 0 or more; missing where not measured)
        and, where known, `n` (queries).
    value, label, column, n : str
        Columns: seconds, what has a row, what has a kind of dot, number of queries.
    unit, name : str
        What is counted, in the plural; what the time is called on the axis.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a domain and model: label, column, value, n; the domain with the longest time first.

    Raises
    ------
    ValueError
        If two rows are of one domain and model, or a time is below 0.

    Notes
    -----
    The axis is a log scale where the longest time is at least ten times the shortest and none is 0. Dots of one domain
    stand a little above each other, so that none hides another. With more than `MOST_COLUMNS` models the first are
    drawn, with more than `MOST` domains those that took longest.
    """
    import pandas as pd

    given = drawing.rows(table, [label, column, value])
    given = given[~measures.apart(given[label])].reset_index(drop=True)
    whole = pd.DataFrame({k: drawing.named(given[k]) for k in (label, column)})
    measures.once(whole, [label, column], "seconds_by_domain")
    times = drawing.floats(given[value])
    if (wrong := np.flatnonzero((times < 0) | np.isinf(times))).size:
        where = f"{label} {whole[label][wrong[0]]!r}, {column} {whole[column][wrong[0]]!r}"
        raise ValueError(f"seconds_by_domain, {where}: {value} is {times[wrong[0]]:g}, expected seconds, 0 or more")
    whole[value], whole["n"] = drawing.floats_or_missing(times), drawing.floats_or_missing(measures.numbers(given, n))
    models = list(dict.fromkeys(whole[column]))
    longest = whole.groupby(label, sort=False)[value].max().rename("longest").reset_index()
    longest = longest.sort_values("longest", ascending=False, kind="stable", na_position="last", ignore_index=True)
    rank = {one: i for i, one in enumerate(longest[label])}
    order = pd.DataFrame({"row": whole[label].map(rank), "column": pd.factorize(whole[column])[0]})
    whole = whole.loc[order.sort_values(["row", "column"], kind="stable").index].reset_index(drop=True)
    rows, fewer_rows = drawing.largest(longest, "longest")
    shown, fewer_columns = models[: measures.MOST_COLUMNS], max(0, len(models) - measures.MOST_COLUMNS)
    drawn = whole[whole[label].isin(rows[label]) & whole[column].isin(shown)].reset_index(drop=True)
    xs, counts = drawing.floats(drawn[value]), drawing.floats(drawn["n"])
    missing = int(np.isnan(xs).sum())
    known = xs[~np.isnan(xs)]
    log = known.size > 0 and known.min() > 0 and known.max() >= 10 * known.min()
    names = [drawing.wrapped(one, 26) for one in rows[label]]
    lines = [max(one.count("\n") + 1, 1 + 0.12 * len(shown)) for one in names]
    row = min((max(1.0, 0.8 * k) for k in lines), default=1.0)
    centres = drawing.row_centres(lines)
    said = [f"n = {measures.extent(counts)} {unit} a dot"] if (~np.isnan(counts)).any() else []
    said += [f"{missing:,} not measured"] if missing else []
    said += [f"{drawing.plural(fewer_rows, f'faster {label}', f'faster {label}s')} not drawn"] if fewer_rows else []
    said += [f"{drawing.plural(fewer_columns, f'more {column}', f'more {column}s')} not drawn"] if fewer_columns else []
    columns = _legend_columns(shown, figsize[0] if figsize else drawing.WIDTH)
    size = figsize or (
        drawing.WIDTH,
        1.2 + 0.25 * sum(max(1.0, 0.8 * k) for k in lines) + 0.19 * math.ceil(len(shown) / columns),
    )
    with drawing.style():
        figure, axes = drawing.empty(size)
        place = {one: centre for one, centre in zip(rows[label], centres, strict=True)}
        dodge = min(0.16, 0.75 * row / max(1, len(shown) - 1))
        for above, below in zip(centres, centres[1:], strict=False):
            axes.axhline((above + below) / 2, color="#F0F0F0", lw=0.8, zorder=0)
        for j, one in enumerate(shown):
            own = np.flatnonzero((drawn[column] == one).to_numpy())
            ys = [place[drawn[label][i]] + (j - (len(shown) - 1) / 2) * dodge for i in own]
            look = {"color": drawing.COLOURS[j % 7], "ls": "none", "mew": 0, "ms": 6, "clip_on": False, "zorder": 3}
            axes.plot(xs[own], ys, drawing.MARKS[(j + 3 * (j // 7)) % 7], label=drawing.wrapped(one, 40), **look)
        for one, centre in place.items():
            if np.isnan(xs[(drawn[label] == one).to_numpy()]).all():
                at = axes.get_yaxis_transform()
                axes.text(0.01, centre, "not measured", transform=at, va="center", style="italic", color=measures.PALE)
        drawing.row_names(axes, centres, names)
        axes.tick_params(axis="y", pad=8)
        axes.set_ylim(*drawing.row_limits(centres, lines))
        axes.grid(axis="x", color="#E6E6E6", lw=0.8)
        _time_axis(axes, known, log, name, size[0] - 2.4)
        if not len(rows):
            axes.set_xticks([])
            drawing.nothing(axes, "no times")
        if said:
            text = drawing.fitted("; ".join(said), size[0] - 0.3, measures.SIZE)
            figure.supxlabel(text, x=0.01, ha="left", fontsize=measures.SIZE)
        if shown:
            look = {"frameon": False, "handlelength": 1, "columnspacing": 1.2, "borderpad": 0, "handletextpad": 0.3}
            look |= {"loc": "outside upper left", "alignment": "left", "fontsize": measures.SIZE}
            figure.legend(ncols=columns, **look)
        measures.shrink(figure, centres)
        drawing.settled(figure)
    alt = f"Dot plot of {name} by {label}, {drawing.plural(len(rows), label, label + 's')}, "
    alt += f"{drawing.plural(len(shown), column, column + 's')}{', log scale' if log else ''}."
    for one in shown:
        own = drawn[(drawn[column] == one) & drawn[value].notna()].sort_values(value, kind="stable")
        if not len(own):
            alt += f" {one}: not measured."
            continue
        ends = [own.iloc[0], own.iloc[-1]] if len(own) > 1 else [own.iloc[0]]
        points = [f"{_duration(float(row[value]))} ({row[label]})" for row in ends]
        alt += f" {one}: {' to '.join(points)}, {_duration(float(own[value].sum()))} in all."
    alt += f" {'; '.join(said)}." if said else ""
    return drawing.described(figure, alt), whole


def _time_axis(axes: Axes, known: np.ndarray, log: bool, name: str, inches: float) -> None:
    """A log axis with ticks at round durations, or a linear one from 0 in the unit that suits the longest."""
    from matplotlib.ticker import FixedLocator, NullLocator

    if not log:
        longest = known.max(initial=0)
        short, seconds = next((u for u in reversed(_UNITS) if longest >= 2 * u[1]), _UNITS[1 if not longest else 0])
        axes.set_xlim(0, longest * 1.05 or 1)
        axes.xaxis.set_major_formatter(lambda tick, _: f"{tick / seconds:,.10g}")
        step = next(s for d in 10.0 ** np.arange(-6, 9) for s in (d, 2 * d, 5 * d) if (longest or 1) / seconds / s <= 6)
        axes.xaxis.set_major_locator(FixedLocator(np.arange(0, 7.5) * step * seconds))
        axes.set_xlim(0, longest * 1.05 or 1)
        axes.set_xlabel(f"{name} in {_LONG[short]}")
        return
    low, high = known.min() / (room := (known.max() / known.min()) ** 0.05), known.max() * room
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    space = inches * 72 / math.log10(high / low)  # points of a decade
    ticks: list[float] = []
    for tick in [*_COARSE, *_FINE]:
        if low <= tick <= high and all(abs(math.log10(tick / other)) * space >= 42 for other in ticks):
            ticks.append(tick)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda tick, _: _duration(tick))
    axes.set_xlabel(f"{name} (log scale)")


def _duration(seconds: float) -> str:
    """Three digits of the unit that suits."""
    short, unit = next((u for u in reversed(_UNITS) if seconds >= u[1]), _UNITS[0] if seconds else _UNITS[1])
    digits = seconds / unit
    return f"{digits:,.0f} {short}" if digits >= 100 else f"{float(f'{digits:.3g}'):g} {short}"


def _legend_columns(names: Sequence[str], wide: float) -> int:
    longest = max((len(line) for one in names for line in drawing.wrapped(one, 40).split("\n")), default=1)
    return max(1, min(len(names) or 1, int((wide - 0.2) / (0.35 + 0.08 * longest))))
