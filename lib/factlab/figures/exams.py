"""What a panel made of an exam: how many endpoints miss an item, and accuracy topic by topic (MS-Exam-Gen, Figures 2 and 3)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import domains, drawing, measures
from factlab.figures.drawing import BLUE, INK, ORANGE, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_SERIES = 4  # drawn side by side at most; the table behind the figure keeps them all
_LEAST = 6.0  # points of the numbers above the bars, at least


def miss_distribution(
    table: pd.DataFrame,
    t: int = 4,
    series: str = "",
    *,
    panel: int | None = None,
    chance: float | None = None,
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How many items are missed by how many endpoints, the flagged ones apart.

    MS-Exam-Gen, Figure 2 (right).

    Parameters
    ----------
    table : DataFrame
        What `exam.miss_distribution` returns: missed (a whole number, or a band in words as `exam.difficulty_bands` writes them:
        `2–3`, `4+`), items (missing where only shares are known), and share (0..1; of the items when there is no such column).
    t : int
        An item missed by so many or more is flagged: orange, right of the dashed line.
    series : str
        Column that tells several panels apart, e.g. whose they are; then shares are drawn, side by side. Empty: there is one.
    panel : int, optional
        Number of endpoints, for the title; the largest count when None (unknown with bands).
    chance : float, optional
        How often a guess is right (0..1): rings show how many items so many endpoints would miss if each guessed for itself. For one series of
        counts from 0 to the size of the panel.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        series (where one is named), missed, items, share, at_least (share missed by so many or more), flagged, and with `chance` guessed (items
        expected), the fewest misses first.

    Raises
    ------
    ValueError
        If `missed` is neither a count nor a band, a band lies on both sides of t, a count stands twice, a share is not from 0 to 1, or `chance` is
        given for bands or several series.

    Notes
    -----
    Of more than four series the first four are drawn. Shares of bands need not add up to 1 where the rest is not known.
    """
    import pandas as pd

    given = drawing.rows(table, ["missed", *([series] if series else [])]).reset_index(drop=True)
    kinds = drawing.named(given[series]) if series else [""] * len(given)
    ends = [_ends(one, t) for one in given["missed"]]
    whole = pd.DataFrame({"series": kinds, "missed": [_written(one) for one in given["missed"]]})
    whole["items"], whole["share"] = (drawing.floats_or_missing(measures.numbers(given, k)) for k in ("items", "share"))
    measures.once(whole, ["series", "missed"], "miss_distribution")
    counts = drawing.floats(whole["items"])
    if (wrong := np.flatnonzero((counts < 0) | (counts % 1 > 0))).size:
        raise ValueError(f"miss_distribution, missed {whole['missed'][wrong[0]]}: items is {counts[wrong[0]]:g}, expected a whole number, 0 or more")  # fmt: skip
    if "share" not in given.columns:
        sums = whole.groupby("series")["items"].transform("sum").astype("Float64")
        whole["share"] = (whole["items"] / sums.where(sums > 0)).astype("Float64")
    drawing.shares_only(drawing.floats(whole["share"]), "share", "miss_distribution", "missed", whole["missed"])
    whole["start"], whole["flagged"] = [low for low, _ in ends], [low >= t for low, _ in ends]
    order = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    whole = whole.assign(place=whole["series"].map(order)).sort_values(["place", "start"], kind="stable", ignore_index=True)  # fmt: skip
    backwards = whole[::-1].groupby("series")["share"].cumsum()
    whole["at_least"] = backwards.reindex(whole.index).astype("Float64")
    shown = list(order)[:_SERIES]
    columns = whole[whole["series"].isin(shown)].drop_duplicates("missed").sort_values("start", kind="stable")
    labels, starts = columns["missed"].tolist(), columns["start"].tolist()
    several, known = len(shown) > 1, not whole["items"].isna().any()
    flagged = {kind: _tail(whole[whole["series"] == kind]) for kind in shown}
    numeric = all(label.isdigit() for label in labels)
    if chance is not None and not (numeric and known and len(order) <= 1):
        raise ValueError("miss_distribution: chance needs one series of counts with their items")
    guessed = [] if chance is None else _guessed(whole, starts, chance)
    size = figsize or (drawing.WIDTH, 3.4)
    with drawing.style():
        figure, axes = drawing.empty(size)
        width = 0.8 / max(1, len(shown))
        texts: list[tuple[float, float, str]] = []
        for j, kind in enumerate(shown):
            own = whole[whole["series"] == kind].set_index("missed")
            for label, start in zip(labels, starts, strict=True):
                value = own[("share" if several or not known else "items")].get(label, pd.NA)
                x = labels.index(label) + (j - (len(shown) - 1) / 2) * width
                if pd.isna(value):
                    continue
                colour = drawing.COLOURS[(0, 2, 3, 5)[j]] if several else ORANGE if start >= t else BLUE
                axes.bar(x, float(value), width=0.94 * width, color=colour, edgecolor="white", lw=0.6)
                texts.append((x, float(value), f"{value:,.0f}" if known and not several else _percent(float(value))))
        if guessed:
            axes.plot(range(len(labels)), guessed, ls="none", marker="o", ms=5, mfc="none", mec=INK, zorder=4)
        top = max([*(value for _, value, _ in texts), *guessed, 0.0])
        axes.set_ylim(0, 1.14 * top or 1)
        axes.set_xlim(-0.6, max(len(labels), 1) - 0.4)
        _counts_axis(axes, labels, numeric, size[0])
        axes.set_xlabel("endpoints that miss the item")
        axes.set_ylabel("items" if known and not several else "share of the items")
        if known and not several:
            drawing.whole_numbers(axes.yaxis)
        if not known or several:
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        axes.grid(axis="y", color="#E6E6E6", lw=0.8)
        boundary = sum(start < t for start in starts) - 0.5
        if len(labels):
            axes.axvline(boundary, color=INK, lw=1.2, ls=(0, (4, 2)), zorder=1)
            right = boundary < len(labels) - 1.2
            axes.annotate(
                f"t = {t}", (boundary, 1), xycoords=("data", "axes fraction"), xytext=(4 if right else -4, -2),
                textcoords="offset points", ha="left" if right else "right", va="top", fontsize=9, zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
            )  # fmt: skip
        else:
            drawing.nothing(axes, "no items")
        said = _sizes(whole, shown, panel, numeric)
        said += [_flagged(t, flagged, several)] if len(labels) else []
        said += ["rings: if all guessed"] if guessed else []
        said += [f"{len(order) - len(shown)} more series not drawn"] if len(order) > len(shown) else []
        drawing.title(axes, "; ".join(said))
        if several:
            from matplotlib.patches import Patch

            handles = [Patch(facecolor=drawing.COLOURS[(0, 2, 3, 5)[j]], label=drawing.wrapped(kind, 40)) for j, kind in enumerate(shown)]  # fmt: skip
            figure.legend(handles=handles, loc="outside upper left", ncols=2 if size[0] >= 6 else 1, frameon=False, borderpad=0)  # fmt: skip
        drawing.settled(figure)
        _inscribe(axes, texts, width)
    alt = f"Bars of how many endpoints miss an item, {'; '.join(said)}."
    for kind in shown:
        own = whole[whole["series"] == kind]
        parts = [f"{r.missed}: {_told(r)}" for r in own.itertuples() if not pd.isna(r.share)]
        alt += f" {kind + ': ' if kind else ''}missed by {', '.join(parts) or 'no item counted'}."
    if guessed:
        alt += f" If all guessed: {', '.join(f'{a}: {g:.1f}' for a, g in zip(labels, guessed, strict=True))} items."
    kept = whole[["series", "missed", "items", "share", "at_least", "flagged"]]
    kept = kept.assign(guessed=guessed) if guessed else kept
    kept = kept.rename(columns={"series": series}) if series else kept.drop(columns="series")
    kept["items"] = kept["items"].astype("Int64")
    return drawing.described(figure, alt), kept


def _guessed(whole: pd.DataFrame, missed: list[int], chance: float) -> list[float]:
    """Items that so many endpoints of a guessing panel miss; the panel is as large as the largest count."""
    from scipy.stats import binom

    return [float(whole["items"].sum() * p) for p in binom.pmf(missed, max(missed, default=0), 1 - chance)]


def _written(missed: Any) -> str:
    if isinstance(missed, str):
        return missed.strip().replace("-", "–")
    return f"{missed:g}" if isinstance(missed, float) else str(missed)


def _ends(missed: Any, t: int) -> tuple[int, float]:
    """Fewest and most misses of a count or band."""
    found = re.fullmatch(r"(\d+)(?:(\+)|–(\d+))?", _written(missed))
    if not found:
        raise ValueError(f"miss_distribution: missed is {missed!r}, expected a count such as 3 or a band such as 2–3 or 4+")  # fmt: skip
    low = int(found[1])
    high = math.inf if found[2] else int(found[3]) if found[3] else low
    if low < t <= high:
        raise ValueError(f"miss_distribution: t = {t} divides the band {_written(missed)}; choose a t at which a band begins")  # fmt: skip
    return low, high


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _told(row: Any) -> str:
    import pandas as pd

    return _percent(row.share) if pd.isna(row.items) else f"{row.items:,.0f} ({_percent(row.share)})"


def _tail(own: pd.DataFrame) -> float | None:
    share = own.loc[own["flagged"], "share"].dropna()
    return float(share.sum()) if own["share"].notna().any() else None


def _flagged(t: int, flagged: dict[str, float | None], several: bool) -> str:
    parts = [f"{_percent(v)}{f' ({kind})' if several else ''}" for kind, v in flagged.items() if v is not None]
    return f"missed by {t} or more{'' if several else ' (orange)'}: {', '.join(parts) or 'unknown'}"


def _sizes(whole: pd.DataFrame, shown: list[str], panel: int | None, numeric: bool) -> list[str]:
    """Items and endpoints, where they are known and there is one series."""
    if len(shown) != 1 or whole["items"].isna().any():
        return [f"{panel} endpoints"] if panel else []
    said = [f"n = {drawing.plural(int(whole['items'].sum()), 'item', 'items')}"]
    most = panel or (int(whole["missed"].astype(int).max()) if numeric and len(whole) else None)
    return [said[0] + (f", {drawing.plural(most, 'endpoint', 'endpoints')}" if most else "")]


def _counts_axis(axes: Any, labels: list[str], numeric: bool, wide: float) -> None:
    """As many of the counts as there is room for."""
    room = max(1, int((wide - 1.0) * 72 / (7 * max([2, *map(len, labels)]))))
    step = max(1, math.ceil(len(labels) / room)) if numeric else 1
    at = range(0, len(labels), step)
    axes.set_xticks(list(at), [labels[i] for i in at])
    axes.tick_params(axis="x", length=0)


def _inscribe(axes: Any, texts: list[tuple[float, float, str]], width: float) -> None:
    """Numbers above the bars, where all of them are legible."""
    if not texts:
        return
    points = axes.get_window_extent().width * 72 / axes.figure.dpi / abs(float(np.diff(axes.get_xlim())[0]))
    size = min(9.0, points * width / (0.6 * max(len(text) for _, _, text in texts)))
    if size < _LEAST:
        return
    for x, y, text in texts:
        axes.annotate(text, (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=size)


def topic_heatmap(
    table: pd.DataFrame,
    label: str = "topic",
    column: str = "endpoint",
    value: str = "value",
    n: str = "n",
    *,
    ordered: bool = True,
    small: int = SMALL,
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Accuracy of each endpoint in each topic (or label), with the number of items and the mean over endpoints.

    MS-Exam-Gen, Figure 3.

    Parameters
    ----------
    table : DataFrame
        One row a topic and endpoint, e.g. `exam.accuracy(results, by="topic")`: `label`, `column`, `value` (0..1, missing where
        undefined) and, where known, `n` and reason.
    label, column, value, n : str
        Columns: what has a row, what has a column, accuracy, number of items.
    ordered : bool
        Topics with the lowest mean first, which are to be looked at first; False: as given.
    small : int
        Cells with fewer items are hollow, unless all of them are: then a note says so.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a cell: label, column, value, n, mean (over the endpoints that have a value in the topic), reason.

    Raises
    ------
    ValueError
        If two rows are of one cell, or an accuracy is not from 0 to 1.

    Notes
    -----
    The mean is over endpoints, each counted once, and stands, where there are several, in brackets behind the topic, with the items: it depends on who is in
    the panel. Drawn by `metric_by_domain`: of more than 12 endpoints the first are drawn.
    """
    import pandas as pd

    given = drawing.rows(table, [label, column, value]).reset_index(drop=True)
    given[label] = drawing.named(given[label])
    scores = pd.DataFrame({label: given[label], "value": drawing.floats(given[value]), "n": measures.numbers(given, n)})
    by = scores.groupby(label, sort=False)
    means, most = by["value"].mean(), by["n"].max()
    names = list(means.index)
    if ordered:
        names = sorted(names, key=lambda one: (math.isnan(means[one]), means[one]))
    several = given[column].nunique() > 1  # the mean of one column would stand beside it twice
    said = {one: _bracketed(one, most[one], means[one] if several else math.nan) for one in names}
    brackets = ["items"] * bool(most.notna().any()) + [f"mean of the {column}s"] * several
    place = {one: i for i, one in enumerate(names)}
    about = f"; in brackets: {' and '.join(brackets)}" if brackets else ""
    if 0 < most.max() < small:  # a mark that every cell has marks none
        small, about = 0, f"{about}; each cell has fewer than {small} items"
    drawn = given.assign(**{label: given[label].map(said)}).iloc[np.argsort([place[one] for one in given[label]], kind="stable")]  # fmt: skip
    figure, cells = domains.metric_by_domain(
        drawn, value, label, column, n=n, small=small, unit="items", figsize=figsize,
        name=f"accuracy{about}",
    )  # fmt: skip
    back = {shown: one for one, shown in said.items()}
    cells[label] = cells[label].map(back)
    cells.insert(4, "mean", drawing.floats_or_missing(cells[label].map(means).to_numpy(dtype=float)))
    return figure, cells


def _bracketed(name: str, items: float, mean: float) -> str:
    parts = [] if math.isnan(items) else [f"{items:,.0f}"]
    parts += [] if math.isnan(mean) else [f"{mean:.2f}"]
    return f"{name} ({', '.join(parts)})" if parts else name
