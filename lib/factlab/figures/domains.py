"""A measure in each domain, model by model, as a heatmap (REASONS, Tables 6 to 9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing, measures
from factlab.figures.drawing import SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def metric_by_domain(
    table: pd.DataFrame,
    metric: str = "hr",
    label: str = "domain",
    column: str = "model",
    *,
    n: str = "n",
    small: int = SMALL,
    unit: str = "queries",
    name: str = "",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """One measure of each model (or mode) in each domain, as a heatmap with numbers; Mean and SD apart.

    REASONS, Tables 6 to 9.

    Parameters
    ----------
    table : DataFrame
        One row a domain and model, e.g. `attribution.score` by model and domain: `label`, `column`, `metric` (0..1,
        missing where undefined), where known `n`, and the columns of `attribution.score` that say why a measure is
        undefined. The rows whose domain is `Mean` or `SD` stand below the others.
    metric, label, column, n : str
        Columns: the measure, what has a row, what has a column, number of queries.
    small : int
        Cells with fewer queries are hollow.
    unit, name : str
        What is counted; what the measure is called (as in `MEASURES` when empty).
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a cell, row by row: label, column, metric, n, reason (why it is undefined, also where the table has no
        such row: `not asked`).

    Raises
    ------
    ValueError
        If two rows are of one cell, or a measure is not from 0 to 1.

    Notes
    -----
    An undefined cell is hatched and has a letter, which the note above explains. A standard deviation has no colour: it
    is not on the scale. With more than `MOST_COLUMNS` models the first are drawn, with more than `MOST` domains the
    largest.
    """
    import pandas as pd

    given = drawing.rows(table, [label, column, metric]).reset_index(drop=True)
    given[label], given[column] = drawing.named(given[label]), drawing.named(given[column])
    measures.once(given, [label, column], "metric_by_domain")
    measured, asked = drawing.floats(given[metric]), measures.numbers(given, n)
    drawing.shares_only(measured, metric, "metric_by_domain", label, given[label])
    found = {key: i for i, key in enumerate(zip(given[label], given[column], strict=True))}
    below = [one for one in measures.APART if (given[label] == one).any()]
    models = list(dict.fromkeys(given[column]))
    fullest = given[column].value_counts(sort=False).idxmax() if len(given) else ""  # its order, then what it lacks
    order = pd.concat([given.loc[given[column] == fullest, label], given[label]])
    domains = [one for one in dict.fromkeys(order) if one not in measures.APART]
    cells = []
    for domain in [*domains, *below]:
        for model in models:
            i = found.get((domain, model))
            value = math.nan if i is None else measured[i]
            why = (
                ""
                if not math.isnan(value)
                else "not asked"
                if i is None
                else measures.why_undefined(given.loc[i], metric, n)
            )
            why = f"fewer than two {label}s" if why and domain == "SD" else why
            cells.append((domain, model, value, math.nan if i is None else asked[i], why))
    whole = pd.DataFrame(cells, columns=[label, column, metric, "n", "reason"])
    whole[metric], whole["n"] = (drawing.floats_or_missing(whole[k].to_numpy(dtype=float)) for k in (metric, "n"))
    totals = whole[whole[label].isin(domains)].groupby(label, sort=False)["n"].sum().rename("n").reset_index()
    drawn, fewer_rows = drawing.largest(totals, "n")
    rows_drawn, shown = [*drawn[label], *below], models[: measures.MOST_COLUMNS]
    fewer_columns = len(models) - len(shown)
    at = whole.set_index([label, column]).reindex(pd.MultiIndex.from_product([rows_drawn, shown]))
    shape = (len(rows_drawn), len(shown))
    values, counts = (drawing.floats(at[k]).reshape(shape) for k in (metric, "n"))
    reasons = at["reason"].to_numpy(dtype=object).reshape(shape)
    inner = len(drawn)
    letters = {why: _letter(k) for k, why in enumerate(dict.fromkeys(w for w in reasons.ravel() if w))}
    few = (counts < small) & ~np.isnan(values)
    title, better = measures.called(metric, name)
    said = [f"n = {measures.extent(counts[:inner])} {unit} a cell"] if (~np.isnan(counts[:inner])).any() else []
    said += [f"hollow: fewer than {small} {unit}"] if few.any() else []
    said += ["hatched: undefined (" + "; ".join(f"{k}: {why}" for why, k in letters.items()) + ")"] if letters else []
    said += ["SD has no colour"] if "SD" in below else []
    said += [f"{drawing.plural(fewer_rows, f'smaller {label}', f'smaller {label}s')} not drawn"] if fewer_rows else []
    said += [f"{drawing.plural(fewer_columns, f'more {column}', f'more {column}s')} not drawn"] if fewer_columns else []
    names = [drawing.wrapped(one, 26) for one in rows_drawn]
    size = figsize or (
        min(drawing.WIDTH, 2.6 + 0.95 * max(2, shape[1])),
        1.9 + 0.29 * max(2, shape[0]) + _heads(shown, drawing.WIDTH)[2],
    )
    with drawing.style():
        figure, axes = drawing.empty(size)
        if said:
            figure.suptitle(
                drawing.fitted("; ".join(said), size[0] - 0.3, measures.SIZE), x=0.01, ha="left", fontsize=measures.SIZE
            )
        ends = drawing.zoomed(np.concatenate([values[[r != "SD" for r in rows_drawn]].ravel(), []]))
        colours, bar = _scale(figure, axes, ends)
        centres = np.arange(shape[0]) + 0.5 + 0.35 * (np.arange(shape[0]) >= inner)
        _boxes(axes, values, centres, colours, [one == "SD" for one in rows_drawn])
        axes.spines[:].set_visible(False)
        drawing.row_names(axes, centres, names)
        heads, turned, _ = _heads(shown, size[0])
        axes.xaxis.tick_top()
        turn = (
            {"rotation": 45, "ha": "left", "rotation_mode": "anchor", "fontsize": 9, "linespacing": 1.0}
            if turned
            else {}
        )
        axes.set_xticks(np.arange(shape[1]) + 0.5, heads, **turn)
        axes.tick_params(axis="x", length=0, pad=3)
        axes.set_xlim(0, max(1, shape[1]))
        axes.set_ylim(centres[-1] + 0.5 if shape[0] else 1, 0)
        if not whole.size:
            axes.set_xticks([])
            drawing.nothing(axes, f"no {label}s")
        measures.shrink(figure, centres)
        figure.draw_without_rendering()
        wide = bar.ax.get_window_extent().width / figure.dpi + 0.4
        bar.set_label(drawing.fitted(f"{title} ({ends[0]:g} to {ends[1]:g}{better})", wide, 9))
        drawing.settled(figure)
        _inscribe(axes, values, reasons, letters, few, centres, colours, [one == "SD" for one in rows_drawn])
    one_row = label if "_" not in label else "row"  # the name of a column is not always a noun
    alt = f"Heatmap of {title}{better} by {one_row} and {column}: "
    alt += f"{drawing.plural(inner, one_row, one_row + 's')}, {drawing.plural(len(shown), column, column + 's')}."
    for j, model in enumerate(shown):
        own = values[:inner, j]
        if np.isnan(own).all():
            alt += f" {model}: undefined everywhere."
            continue
        low, high = int(np.nanargmin(own)), int(np.nanargmax(own))
        alt += f" {model}: from {drawing.number(own[low])} ({rows_drawn[low]}) to "
        alt += f"{drawing.number(own[high])} ({rows_drawn[high]})"
        for k, one in enumerate(below, start=inner):
            alt += f", {one} {'undefined' if math.isnan(values[k, j]) else drawing.number(values[k, j])}"
        alt += "."
    for why in letters:
        where = [f"{rows_drawn[i]}, {shown[j]}" for i, j in zip(*np.nonzero(reasons == why), strict=True)]
        more = f" and {len(where) - 4} more" if len(where) > 4 else ""
        alt += f" Undefined, {why}: {'; '.join(where[:4])}{more}."
    alt += f" {drawing.plural(int(few.sum()), 'cell', 'cells')} with fewer than {small} {unit}." if few.any() else ""
    alt += (
        f" Not drawn, but in the table: {drawing.plural(fewer_rows, f'smaller {label}', f'smaller {label}s')}."
        if fewer_rows
        else ""
    )
    alt += (
        f" Not drawn, but in the table: {drawing.plural(fewer_columns, f'more {column}', f'more {column}s')}."
        if fewer_columns
        else ""
    )
    return drawing.described(figure, alt), whole


def _letter(k: int) -> str:
    return chr(ord("a") + k % 26) * (1 + k // 26)


def _heads(names: Sequence[str], wide: float) -> tuple[list[str], bool, float]:
    """Names above the columns, whether they are turned because they do not fit, and how many inches high they are."""
    letters = max(3, int((wide - 2.2) / max(1, len(names)) * 72 / 6.2))  # that fit on a column
    if max((len(word) for one in names for word in one.split()), default=0) <= letters:
        upright = [drawing.wrapped(one, letters) for one in names]
        tallest = max((one.count("\n") + 1 for one in upright), default=1)
        if tallest < 4:
            return upright, False, 0.17 * tallest
    turned = [
        measures.folded(one, 36) for one in names
    ]  # two lines of a turned name touch their neighbour's where columns are narrow
    return turned, True, 0.055 * max(len(line) for one in turned for line in one.split("\n")) + 0.3


def _scale(figure: Figure, axes: Axes, ends: tuple[float, float]) -> tuple[Any, Any]:
    """The colours of numbers between two ends, and their bar below the axes."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    lightest, darkest = 0.12, 1.0  # the lightest tones of the map look like paper
    colours = ScalarMappable(Normalize(*ends), ListedColormap(colormaps["Blues"](np.linspace(lightest, darkest, 256))))
    bar = figure.colorbar(colours, ax=axes, location="bottom", fraction=0.05, pad=0.02, aspect=45)
    bar.set_label("\n", fontsize=measures.SIZE)  # room for two lines; their width is known when the names have theirs
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize=9)
    return colours, bar


def _boxes(axes: Axes, values: np.ndarray, centres: np.ndarray, colours: Any, plain: Sequence[bool]) -> None:
    from matplotlib.patches import Rectangle

    for i, centre in enumerate(centres):
        for j, value in enumerate(values[i]):
            corner = (j + 0.03, centre - 0.47)
            if math.isnan(value):
                look = {"facecolor": "white", "edgecolor": "#C8C8C8", "hatch": "////", "lw": 0}
            elif plain[i]:
                look = {"facecolor": "white", "edgecolor": "#DDDDDD", "lw": 0.8}
            else:
                look = {"facecolor": colours.to_rgba(value), "lw": 0}
            axes.add_patch(Rectangle(corner, 0.94, 0.94, **look))


def _inscribe(
    axes: Axes,
    values: np.ndarray,
    reasons: np.ndarray,
    letters: dict[str, str],
    few: np.ndarray,
    centres: np.ndarray,
    colours: Any,
    plain: Sequence[bool],
) -> None:
    """Make cells hollow, and write numbers, or letters of reasons, where legible: needs the size on the page."""
    from matplotlib.patches import Rectangle

    if not values.size:
        return
    frame = axes.get_window_extent()
    points = 72 / axes.figure.dpi
    wide, high = frame.width * points / values.shape[1], frame.height * points / abs(np.diff(axes.get_ylim())[0])
    left, low = 3.5 / wide + 0.03, 3.5 / high + 0.03
    for i, j in zip(*np.nonzero(few), strict=True):
        corner = (j + left, centres[i] - 0.5 + low)
        axes.add_patch(Rectangle(corner, 1 - 2 * left, 1 - 2 * low, facecolor="white", lw=0))
    size = min(9.5, (wide - 2) / 2.5, high / 1.25)
    if size < measures.SMALLEST:
        return
    for i, centre in enumerate(centres):
        for j, value in enumerate(values[i]):
            at = {"ha": "center", "va": "center", "fontsize": size}
            if math.isnan(value):
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
                axes.text(j + 0.5, centre, letters[reasons[i, j]], style="italic", color=measures.PALE, bbox=box, **at)
                continue
            dark = not few[i, j] and not plain[i] and np.dot(colours.to_rgba(value)[:3], [0.299, 0.587, 0.114]) < 0.52
            axes.text(j + 0.5, centre, drawing.number(value), color="white" if dark else "black", **at)
