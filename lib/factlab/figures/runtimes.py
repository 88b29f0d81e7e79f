"""How long a comparison takes: seconds against the number of replies or their length, and by its parts (CheckEmbed, Figure 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing, labels
from factlab.figures.curves import MOST_LINES
from factlab.figures.drawing import BLUE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FEWEST = 3  # points through which a slope is fitted
_PARTS = (BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9")  # Okabe and Ito


def runtimes(
    table: pd.DataFrame,
    x: str = "k",
    value: str = "seconds",
    line: str = "method",
    expected: str = "expected",
    *,
    name: str = "seconds",
    x_name: str = "",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Seconds against a size on log–log axes, one line for each method.

    Parameters
    ----------
    table : DataFrame
        One row a run; runs of one method at one size are repeats. Rows without a method, a size or a time above 0 are
        left out and counted.
    x, value, line : str
        Columns: the size (above 0), the time, what has a line of its own.
    expected : str
        Column of the times expected at that size, e.g. growing with its square from the first; drawn as a dashed line
        where the table has it.
    name, x_name : str
        What the time and the size are called on the axes; the size like its column when empty.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a method and size, sorted: line, x, n (repeats), median, lowest, highest (of the time), expected, slope
        (of the line; missing with fewer than three sizes).

    Raises
    ------
    ValueError
        If a time or a size is below 0.

    Notes
    -----
    Dots are medians, bars go from the fastest to the slowest repeat. The slope is that of a straight line through the
    medians on these axes (least squares): the power of the size with which the time grows; it says nothing of sizes
    outside the measured ones. With more than `MOST_LINES` methods, the first are drawn.
    """
    whole, left_out, expects = _times(table, x, value, line, expected)
    names = list(dict.fromkeys(whole[line]))
    drawn, passed_over = names[:MOST_LINES], max(0, len(names) - MOST_LINES)
    rows = whole[whole[line].isin(drawn)]
    xs, middles, lows, highs, wanted = (drawing.floats(rows[k]) for k in (x, "median", "lowest", "highest", "expected"))
    repeats = rows["n"].to_numpy()
    n = f"{repeats.min():,}" if len(rows) else "0"
    n += f" to {repeats.max():,}" if len(rows) and repeats.max() > repeats.min() else ""
    said = [f"n = {n} {'run' if n == '1' else 'runs'} a dot"] if len(rows) else []
    said += ["bars: fastest to slowest"] if (highs > lows).any() else []
    said += ["dashed: expected growth"] if expects else []
    said += [f"{left_out:,} without {line}, {x} or time"] if left_out else []
    said += [f"{passed_over} more {line}s not drawn"] if passed_over else []
    fitted = drawing.floats(rows["slope"])
    slopes = {one: fitted[np.flatnonzero((rows[line] == one).to_numpy())[0]] for one in drawn}
    grows = {one: "" if math.isnan(slope) else f"slope {drawing.number(slope)}" for one, slope in slopes.items()}
    size = figsize or (drawing.WIDTH, 3.8 + 0.12 * max(0, len(drawn) - 6))
    with drawing.style():
        figure, axes = drawing.empty(size)
        _log_axis(axes, "x", xs, size[0] - 2.8)
        _log_axis(axes, "y", np.concatenate([middles, lows, highs, wanted]), size[1] - 1.1)
        axes.set_xlabel(drawing.fitted(f"{x_name or x} (log scale)", size[0] - 2.4))
        axes.set_ylabel(drawing.fitted(f"{name} (log scale)", size[1] - 1.0))
        axes.grid(color="#EBEBEB", lw=0.8)
        drawing.title(axes, "; ".join(said))
        if not len(rows):
            drawing.nothing(axes, "no run times")
        ends, texts, colours = [], [], []
        for i, one in enumerate(drawn):
            own = np.flatnonzero((rows[line] == one).to_numpy())
            colour = drawing.COLOURS[i % 7]
            axes.plot(xs[own], middles[own], color=colour, ls="-" if i < 7 else (0, (1, 1)), lw=1.5, zorder=3)
            if not np.isnan(wanted[own]).all():
                axes.plot(xs[own], wanted[own], color=colour, ls=(0, (4, 3)), lw=1.0, alpha=0.8, zorder=2)
            for k in own:
                if highs[k] > lows[k]:
                    axes.plot([xs[k]] * 2, [lows[k], highs[k]], color=colour, lw=1.2, zorder=3)
            axes.plot(xs[own], middles[own], drawing.MARKS[i % 7], color=colour, ms=5.5, mew=0, zorder=4, clip_on=False)
            ends.append((xs[own[-1]], middles[own[-1]]))
            texts.append((drawing.wrapped(one, 24 if size[0] > 6 else 15, hyphens=True) + f"\n{grows[one]}").strip())
            colours.append(colour)
        labels.beside_axes(axes, ends, texts, colours)
        drawing.settled(figure)
    alt = (
        f"Line plot of {name} against {x_name or x}, both on log scales, {drawing.plural(len(drawn), 'line', 'lines')}."
    )
    for one in drawn:
        own = np.flatnonzero((rows[line] == one).to_numpy())
        ends = [own[0], own[-1]] if len(own) > 1 else [own[0]]
        points = [f"{_seconds(middles[k])} at {xs[k]:g}" for k in ends]
        alt += f" {one}: {' to '.join(points)}" + (f", {grows[one]}." if grows[one] else ".")
    alt += f" {'; '.join(said)}." if said else " No run times."
    return drawing.described(figure, alt), whole


def runtime_parts(
    table: pd.DataFrame,
    label: str = "method",
    parts: Sequence[str] = ("embedding", "comparison"),
    total: str = "total",
    *,
    name: str = "seconds",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Seconds that each method takes, the parts of its work stacked, longest first.

    Parameters
    ----------
    table : DataFrame
        One row a method.
    label, parts, total : str, sequence of str, str
        Columns: name of the method, seconds of each part (0 or missing where it is not known apart), seconds of all
        (the sum of the parts where the column or the number is missing).
    name : str
        What is measured.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, the parts, total, sum (of the parts), as drawn, top first.

    Notes
    -----
    A method whose parts are not known has one grey bar. Where a total differs from the sum of its parts, the bar is the
    sum and the figure gives both. Times that differ much stand on one linear axis: its bars can be compared by length.
    """
    whole = drawing.rows(table, [label, *parts])
    whole = whole.assign(total=drawing.floats(whole[total]) if total in whole.columns else math.nan)
    for part in ("total", *parts):
        values = drawing.floats(whole[part])
        if (wrong := np.flatnonzero((values < 0) | np.isinf(values))).size:
            where = f"{label} {whole[label].iloc[wrong[0]]!r}"
            raise ValueError(f"runtime_parts, {where}: {part} is {values[wrong[0]]:g}, expected seconds, 0 or more")
        whole[part] = values
    whole["sum"] = whole[list(parts)].sum(axis=1, min_count=1)
    whole["total"] = whole["total"].fillna(whole["sum"])
    whole = whole[[label, *parts, "total", "sum"]].sort_values(
        "total", ascending=False, kind="stable", na_position="last"
    )
    whole = whole.reset_index(drop=True)
    rows, passed_over = drawing.largest(whole, "total")
    names = [drawing.wrapped(one, 30) for one in drawing.named(rows[label])]
    lines = [one.count("\n") + 1 for one in names]
    centres = drawing.row_centres(lines)
    totals, sums = drawing.floats(rows["total"]), np.nan_to_num(drawing.floats(rows["sum"]))
    values = {part: np.nan_to_num(drawing.floats(rows[part])) for part in parts}
    used = [part for part in parts if values[part].any()]
    said = [_total(totals[i], sums[i], [values[part][i] for part in used]) for i in range(len(rows))]
    with drawing.style():
        figure, axes = drawing.empty(
            figsize or (drawing.WIDTH, 0.8 + 0.34 * max(1, sum(max(1.0, 0.8 * k) for k in lines)))
        )
        start = np.zeros(len(rows))
        for part in used:
            colour = _PARTS[list(parts).index(part) % len(_PARTS)]
            axes.barh(centres, values[part], left=start, height=0.64, color=colour, label=part)
            start = start + values[part]
        rest = np.where(sums > 0, 0, np.nan_to_num(totals))
        if rest.any():
            axes.barh(centres, rest, height=0.64, color="#BBBBBB", label="parts not known")
        for i, centre in enumerate(centres):
            unknown = {"style": "italic", "color": "#6B6B6B"} if math.isnan(totals[i]) else {}
            where = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
            axes.annotate(said[i], (start[i] + rest[i], centre), **where, **unknown)
        axes.set_xlim(0, max((start + rest).max(initial=0), 1e-9))
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        drawing.row_names(axes, centres, names)
        axes.set_ylim(*drawing.row_limits(centres, lines))
        if not len(rows):
            drawing.nothing(axes, "no run times")
        handles, found = axes.get_legend_handles_labels()
        if found:
            wide = axes.figure.get_figwidth() > 6
            look = {"frameon": False, "handlelength": 1, "columnspacing": 1.4, "borderpad": 0.1, "title": name}
            axes.legend(
                handles,
                found,
                loc="lower left",
                bbox_to_anchor=(-0.01, 1.0),
                ncols=len(found) if wide else 1,
                alignment="left",
                **look,
            )
        if passed_over:
            drawing.note(axes, f"{passed_over} shorter ones not drawn")
    alt = f"Stacked bars of {name} by {label}, {drawing.plural(len(rows), 'bar', 'bars')}."
    for i, one in enumerate(drawing.named(rows[label])):
        split = [f"{part} {_seconds(values[part][i])}" for part in used if values[part][i]]
        alt += f" {one} {said[i]}" + (f" ({', '.join(split)})." if split else ".")
    alt += f" {passed_over} shorter ones are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), whole


def _times(table: pd.DataFrame, x: str, value: str, line: str, expected: str) -> tuple[pd.DataFrame, int, bool]:
    """Medians and ends of the repeats, how many rows had no place, and whether anything is expected."""
    import pandas as pd

    rows = drawing.rows(table, [x, value, line])
    sizes, seconds = drawing.floats(rows[x]), drawing.floats(rows[value])
    for numbers, column in ((sizes, x), (seconds, value)):
        if (wrong := np.flatnonzero((numbers < 0) | np.isinf(numbers))).size:
            where = f"{line} {rows[line].iloc[wrong[0]]!r}"
            raise ValueError(f"runtimes, {where}: {column} is {numbers[wrong[0]]:g}, expected a number above 0")
    wanted = drawing.floats(rows[expected]) if expected in rows.columns else np.full(len(rows), math.nan)
    wanted = np.where(wanted > 0, wanted, math.nan)
    kept = (sizes > 0) & (seconds > 0) & rows[line].notna().to_numpy()
    plain = pd.DataFrame({line: drawing.named(rows[line]), x: sizes, "seconds": seconds, "expected": wanted})[kept]
    plain["order"] = pd.factorize(plain[line])[0]
    groups = plain.groupby(["order", line, x], sort=True)
    found = groups["seconds"].agg(n="size", median="median", lowest="min", highest="max")
    found = found.assign(expected=groups["expected"].median()).reset_index()
    slopes = {one: _slope(own[x].to_numpy(), own["median"].to_numpy()) for one, own in found.groupby(line)}
    found["slope"] = [slopes[one] for one in found[line]]
    for column in ("median", "lowest", "highest", "expected", "slope"):
        found[column] = drawing.floats_or_missing(found[column].to_numpy(dtype=float))
    shown = found.drop(columns="order")
    return shown, int((~kept).sum()), bool(shown["expected"].notna().any())


def _slope(sizes: np.ndarray, seconds: np.ndarray) -> float:
    if len(sizes) < _FEWEST:
        return math.nan
    across, up = np.log(sizes), np.log(seconds)
    across = across - across.mean()
    return float(across @ up / (across @ across))


def _log_axis(axes: Axes, which: str, values: np.ndarray, inches: float) -> None:
    """A log axis around the values with as many ticks as so many inches hold, at the values where these are few."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    values = values[~np.isnan(values)]
    low, high = (values.min(), values.max()) if values.size else (1.0, 100.0)
    room = max((high / low) ** 0.06, 1.15)
    low, high = low / room, high * room
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)
    decades = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    space = inches * 72 / math.log10(high / low)  # points of a decade
    least = 26 if which == "x" else 16
    own = np.unique(values)
    choices = [own[::-step][::-1] for step in (1, 2, 3)] if which == "x" and len(own) < 12 else []
    choices += [[t * d for d in decades for t in steps] for steps in ((1, 2, 5), (1, 3), (1,))]
    choices += [[d for d in decades if round(math.log10(d)) % step == 0] for step in (2, 3, 5)]
    choices += [MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high), own[:1]]
    for choice in choices:
        ticks = [tick for tick in choice if low <= tick <= high]
        enough = 2 if which == "y" or len(own) > 1 else 1
        if len(ticks) >= enough and (np.diff(np.log10(ticks)) * space >= least).all():
            break
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda tick, _: f"{tick:,.10g}" if tick >= 1e-4 else f"{tick:.0e}")


def _seconds(value: float) -> str:
    """Three digits, and no more decimals than they need."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _total(total: float, whole: float, parts: Sequence[float]) -> str:
    if math.isnan(total):
        return "not measured"
    if not whole:
        return _seconds(total)
    sum_of = " + ".join(_seconds(part) for part in parts if part)
    text = f"{_seconds(whole)} = {sum_of}" if " + " in sum_of else _seconds(whole)
    return text + (f" (given as {_seconds(total)} in all)" if abs(total - whole) > 0.005 * max(total, whole) else "")
