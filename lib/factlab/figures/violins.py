"""How scores are distributed: similar against different passages, and by the number of errors (CheckEmbed, Figures 3, 4, 7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing
from factlab.figures.drawing import BLUE, GREY, INK, ORANGE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS = 60  # points drawn in a violin; of more, a sample
FEWEST = 5  # scores that a violin needs; of fewer, only the points are drawn
MOST_PANELS = 24  # panels drawn at most; the table behind the figure keeps them all
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito, without yellow
_MOST_TOLD = 16  # distributions of which the description gives more than the median
_LETTERS = 8.5  # points


def score_violins(
    table: pd.DataFrame,
    value: str = "score",
    group: str = "setting",
    panel: str | None = "method",
    notes: Mapping[Any, str] | None = None,
    *,
    share: bool = True,
    columns: int | None = None,
    name: str = "score",
    unit: str = "scores",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How the scores of some groups are distributed, side by side, in a panel for each method.

    Parameters
    ----------
    table : DataFrame
        One row a score.
    value, group, panel : str
        Columns: score (missing where undefined: left out and counted), what has a violin of its own, what has a panel of
        its own; panel None: one panel. Groups and panels are in the order of their first rows.
    notes : mapping of panel to str, optional
        Said in the title of a panel, e.g. its AUROC or overlap.
    share : bool
        Whether all panels have one vertical axis.
    columns : int, optional
        Panels side by side; as many as the width allows when None.
    name, unit : str
        What the score is called; what is counted.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a violin: panel, group, n, missing, lowest, q1, median, q3, highest (missing where n is 0), points (how
        many are drawn).

    Notes
    -----
    The dark bar is the middle half, the white dot the median; a violin ends at its lowest and highest score. Of more than
    `MOST_POINTS` scores a random sample is drawn, the same each time; of fewer than `FEWEST` the points alone. The width
    of a violin is the density of its scores (Gaussian kernel, Silverman's bandwidth); all have the same largest width.
    """
    rows, places = _rows(table, value, panel)
    groups = drawing.named(table[group]) if len(drawing.rows(table, [group])) else []
    order = list(dict.fromkeys(groups))
    rows["group"], known = groups, ~rows["value"].isna()
    found = [
        _summary(rows.loc[(rows["panel"] == place) & (rows["group"] == one), "value"].to_numpy())
        for place in places
        for one in order
    ]
    keys = [(place, one) for place in places for one in order]
    shown = _table(keys, found, [panel or "panel", group])
    there = rows.groupby(["panel", "group"]).size().index
    kept = [i for i, key in enumerate(keys) if key in there]
    drawn = places[:MOST_PANELS]
    passed_over = len(places) - len(drawn)
    notes = {str(key): text for key, text in (notes or {}).items()}
    said = _said(int(known.sum()), int((~known).sum()), unit)
    said += ["white dot: median; dark bar: middle half"] if any(len(f["points"]) for f in found) else []
    said += [f"a sample of {MOST_POINTS} points drawn where there are more"] if _sampled(found) else []
    said += [f"{passed_over} more panels not drawn"] if passed_over else []
    with drawing.style():
        figure, panels, inches = _panels(
            len(drawn), 0.8 * max(len(order), 2) + 0.25, 2.9, columns, figsize, said, share
        )
        room = inches / max(len(order), 2)  # of one violin
        for axes, place in zip(panels, drawn, strict=False):
            own = [found[keys.index((place, one))] for one in order]
            for i, one in enumerate(own):
                _violin(axes, i, one, _COLOURS[i % len(_COLOURS)], min(0.42, 0.65 / room))
                if not len(one["values"]) and (place, order[i]) in there:
                    _nothing(axes, i, f"no {unit}")
            _group_ticks(axes, order, own, room * 72)
            axes.set_xlim(*((-0.55, len(order) - 0.45) if len(order) > 1 else (-1.1, 1.1)))
            scale = np.concatenate([found[i]["values"] for i in kept]) if share and kept else _all(own)
            _score_axis(axes, scale, name, panels if share else [])
            _panel_title(axes, place if panel else "", notes.get(place, ""), inches)
        if not len(places):
            _bare(panels[0], f"no {unit}")
        drawing.settled(figure)
    alt = f"Violin plots of the {name} by {group}, {'; '.join(said[:1])}."
    for place in drawn:
        parts = [
            f"{one} {_told(found[keys.index((place, one))], unit, len(kept) > _MOST_TOLD)}"
            for one in order
            if (place, one) in there
        ]
        note = f" ({notes[place]})" if notes.get(place) else ""
        alt += f" {place}{note}: {'; '.join(parts)}." if panel else f" {'; '.join(parts)}{note}."
    alt += f" {passed_over} more panels are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), shown.iloc[kept].reset_index(drop=True)


def score_by_errors(
    table: pd.DataFrame,
    x: str = "errors",
    value: str = "score",
    panel: str | None = "method",
    mark: float | Mapping[Any, float | None] | None = None,
    *,
    mark_name: str = "told apart from none",
    share: bool = False,
    columns: int | None = None,
    name: str = "score",
    unit: str = "passages",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How the scores of passages are distributed at each number of errors, in a panel for each method.

    Parameters
    ----------
    table : DataFrame
        One row a passage.
    x, value, panel : str
        Columns: number of errors (a whole number, 0 or more), score (missing where undefined), what has a panel of its
        own; panel None: one panel. Rows without a number or a score are left out and counted.
    mark : float, or mapping of panel to float, optional
        The smallest number of errors whose passages are told apart from those without: a line there.
    mark_name : str
        What that line says.
    share : bool
        Whether all panels have one vertical axis; of their own, each shows the range of its scores.
    columns : int, optional
        Panels side by side; as many as the width allows when None.
    name, unit : str
        What the score is called; what is counted.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a distribution: panel, x, n, missing, lowest, q1, median, q3, highest (missing where n is 0), points (how
        many are drawn).

    Notes
    -----
    Passages without errors stand apart, and a light band goes on from their lowest to their highest score: what lies in
    it overlaps with them. The line joins the medians. Violins, bars and points as in `score_violins`.
    """
    rows, places = _rows(table, value, panel)
    rows["x"] = drawing.floats(drawing.rows(table, [x])[x])
    if (wrong := np.flatnonzero((rows["x"] < 0) | (rows["x"] % 1 > 0))).size:
        raise ValueError(f"score_by_errors, row {wrong[0]}: {x} is {rows['x'].iloc[wrong[0]]:g}, expected 0, 1, 2, …")
    placed = rows[~rows["x"].isna()]
    numbers = np.unique(placed["x"])
    keys = [(p, e) for p in places for e in numbers if ((placed["panel"] == p) & (placed["x"] == e)).any()]
    found = [_summary(placed.loc[(placed["panel"] == p) & (placed["x"] == e), "value"].to_numpy()) for p, e in keys]
    shown = _table(keys, found, [panel or "panel", x])
    shown[x] = shown[x].astype(int)
    drawn, gap = places[:MOST_PANELS], 0.7 if 0 in numbers else 0.0
    passed_over = len(places) - len(drawn)
    marks = mark if isinstance(mark, Mapping) else dict.fromkeys(drawn, mark)
    marks = {str(key): one for key, one in marks.items() if one is not None and not math.isnan(one)}
    known = ~placed["value"].isna()
    said = _said(int(known.sum()), int((~known).sum()), unit)
    said += [f"{len(rows) - len(placed):,} without {x}"] if len(placed) < len(rows) else []
    said += [f"band: range without {x}"] if gap and len(numbers) > 1 else []
    said += ["line: medians"] if len(numbers) > 1 else []
    said += [f"a sample of {MOST_POINTS} points drawn where there are more"] if _sampled(found) else []
    said += [f"{passed_over} more panels not drawn"] if passed_over else []
    ranges = [_range([f["n"] for (p, _), f in zip(keys, found, strict=True) if p == place]) for place in drawn]
    if one_range := len(set(ranges)) == 1 and len(numbers) > 1:
        said[0] += f" ({ranges[0]} a number)"
    span = float(np.ptp(numbers)) + gap + 1 if numbers.size else 1.0
    with drawing.style():
        figure, panels, inches = _panels(len(drawn), max(2.2, 0.28 * span), 2.6, columns, figsize, said, share)
        for number, (axes, place) in enumerate(zip(panels, drawn, strict=False)):
            own = {e: one for (p, e), one in zip(keys, found, strict=True) if p == place}
            at = {e: e + (gap if e else 0) for e in own}
            left = numbers[0] if numbers.size else 0
            axes.set_xlim(left - 0.6, left - 0.6 + span + 0.2)
            if gap and 0 in own and len(own) > 1 and len(own[0]["values"]):
                axes.axhspan(own[0]["lowest"], own[0]["highest"], color=BLUE, alpha=0.1, lw=0, zorder=0)
                axes.axvline(0.5 + gap / 2, color=GREY, lw=0.8, zorder=1)
            for e, one in own.items():
                _violin(axes, at[e], one, ORANGE if e else BLUE, 0.4, slim=inches < 0.4 * span)
                if not len(one["values"]):
                    _nothing(axes, at[e], f"no {unit}")
            middles = [(at[e], one["median"]) for e, one in own.items() if len(one["values"])]
            if len(middles) > 1:
                axes.plot(*np.transpose(middles), color=INK, lw=1.2, zorder=5)
            _number_ticks(axes, numbers, gap, inches / span)
            if number + axes.get_subplotspec().get_gridspec().ncols >= len(drawn):
                axes.set_xlabel(x)
            scale = placed.loc[known, "value"].to_numpy() if share else _all(own.values())
            _score_axis(axes, scale, name, panels if share else [])
            n = "" if one_range else f"n = {ranges[number]} {unit} a number"
            here = marks.get(place)
            text = f"{mark_name}: {here:g}" if here is not None else ""
            if here is not None:
                axes.axvline(here + (gap if here else 0), color=INK, lw=1, ls=(0, (4, 3)), zorder=1)
            if above := bool(text) and _width(text) < 0.6 * inches:
                _above(axes, here + (gap if here else 0), text, inches)
            note = "; ".join(part for part in (n, "" if above or not text else f"dashed: {text}") if part)
            _panel_title(axes, place if panel else "", note, inches, 17 if above else 6)
        if not len(places):
            _bare(panels[0], f"no {unit}")
        drawing.settled(figure)
    alt = f"Distributions of the {name} by number of {x}, {'; '.join(said[: 1 + (len(placed) < len(rows))])}."
    for place in drawn:
        own = [(e, one) for (p, e), one in zip(keys, found, strict=True) if p == place]
        few = own if len(own) <= 3 else [own[0], own[1], own[-1]]
        parts = [f"{x} {e:g} {_told(one, unit)}" for e, one in few]
        parts += [f"{mark_name}: {marks[place]:g}"] if place in marks else []
        alt += f" {place}: {'; '.join(parts) or f'no {unit}'}." if panel else f" {'; '.join(parts)}."
    alt += f" {passed_over} more panels are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), shown


def _rows(table: pd.DataFrame, value: str, panel: str | None) -> tuple[pd.DataFrame, list[str]]:
    """The scores with the name of their panel, and the panels in order."""
    import pandas as pd

    rows = drawing.rows(table, [value] + ([panel] if panel else []))
    values = drawing.floats(rows[value])
    if (wrong := np.flatnonzero(np.isinf(values))).size:
        raise ValueError(f"row {wrong[0]}: {value} is infinite; leave it missing where it is undefined")
    names = drawing.named(rows[panel]) if panel else [""] * len(rows)
    return pd.DataFrame({"panel": names, "value": values}), list(dict.fromkeys(names))


def _summary(values: np.ndarray) -> dict[str, Any]:
    """What is drawn and tabled of one distribution."""
    known = values[~np.isnan(values)]
    found: dict[str, Any] = {"n": known.size, "missing": len(values) - known.size, "values": known}
    ends = np.quantile(known, [0, 0.25, 0.5, 0.75, 1]) if known.size else np.full(5, math.nan)
    found |= dict(zip(("lowest", "q1", "median", "q3", "highest"), ends.tolist(), strict=True))
    chosen = np.sort(np.random.default_rng(0).choice(known.size, min(MOST_POINTS, known.size), replace=False))
    return found | {"points": known[chosen]}


def _table(keys: Sequence[tuple[Any, Any]], found: Sequence[dict[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    numbers = ("lowest", "q1", "median", "q3", "highest")
    columns: dict[str, Any] = {name: [key[i] for key in keys] for i, name in enumerate(names)}
    columns |= {one: [f[one] for f in found] for one in ("n", "missing")}
    columns |= {one: drawing.floats_or_missing(np.array([f[one] for f in found], dtype=float)) for one in numbers}
    return pd.DataFrame(columns | {"points": [len(f["points"]) for f in found]})


def _said(n: int, missing: int, unit: str) -> list[str]:
    return [f"n = {n:,} {unit}" + (f", {missing:,} undefined" if missing else "")]


def _range(counts: Sequence[int]) -> str:
    return " to ".join(f"{c:,}" for c in sorted({min(counts, default=0), max(counts, default=0)}))


def _sampled(found: Sequence[dict[str, Any]]) -> bool:
    return any(one["n"] > MOST_POINTS for one in found)


def _all(found: Any) -> np.ndarray:
    return np.concatenate([*[one["values"] for one in found], []])


def _told(one: dict[str, Any], unit: str, short: bool = False) -> str:
    if not one["n"]:
        return f"no {unit}"
    middle = f"median {drawing.interval(one['median'], math.nan, math.nan)}"
    if one["n"] == 1 or short:
        return f"{middle} (n = {one['n']:,})"
    half = f"middle half {drawing.number(one['q1'])} to {drawing.number(one['q3'])}"
    whole = f"range {drawing.number(one['lowest'])} to {drawing.number(one['highest'])}"
    return f"{middle}, {half}, {whole} (n = {one['n']:,})"


def _panels(
    n: int,
    least: float,
    high: float,
    columns: int | None,
    figsize: tuple[float, float] | None,
    said: Sequence[str],
    share: bool,
) -> tuple[Figure, list[Axes], float]:
    """Panels of at least so many inches, and how wide they are."""
    from matplotlib.figure import Figure

    wide = figsize[0] if figsize else drawing.WIDTH
    margin = 0.75  # of the vertical axis: of the first panel, or of each
    fit = (wide - margin) / least if share else wide / (least + margin)
    across = columns or max(1, min(n, int(fit)))
    if figsize and columns is None:  # more side by side where the rows would be too low
        while across < n and figsize[1] / math.ceil(n / across) < 1.5:
            across += 1
    down = max(1, math.ceil(n / across))
    if columns is None:
        across = max(1, math.ceil(n / down))  # even rows
    figure = Figure(figsize=figsize or (wide, high * down + 0.4), layout="constrained", facecolor="white")
    panels = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for axes in panels[max(n, 1) :]:
        axes.remove()
    for axes in panels:
        axes.set_facecolor("white")
    figure.suptitle(drawing.fitted("; ".join(said), wide - 0.3), x=0.01, ha="left", fontsize=10)
    inches = (wide - margin) / across - 0.1 if share else wide / across - margin
    return figure, panels[: max(n, 1)], max(inches, 0.5)


def _violin(axes: Axes, x: float, one: dict[str, Any], colour: str, width: float, slim: bool = False) -> None:
    """One distribution, centred at x: its violin, points, middle half and median."""
    values, points = one["values"], one["points"]
    density = _density(values) if len(values) >= FEWEST else None
    if density is not None:
        heights, shape = density
        axes.fill_betweenx(heights, x - width * shape, x + width * shape, color=colour, alpha=0.2, lw=0, zorder=2)
    if len(points):
        spread = np.interp(points, *density) if density is not None else np.full(len(points), 0.6)
        # Even steps of the golden ratio: no two neighbours at one place, and the same each time.
        steps = 2 * ((np.argsort(np.argsort(points, kind="stable")) * 0.618034 + 0.5) % 1) - 1
        aside = steps * width * 0.85 * spread if len(points) > 1 else np.zeros(1)
        size = 7 if slim else 13
        axes.scatter(x + aside, points, s=size, color=colour, alpha=0.65, lw=0, zorder=3, clip_on=False)
    if len(values) >= FEWEST:
        bar = {"color": INK, "lw": 2.5 if slim else 4, "solid_capstyle": "butt"}
        axes.plot([x, x], [one["q1"], one["q3"]], zorder=4, **bar)
    if len(values) > 1:
        look = {"mfc": "white", "mec": INK, "mew": 1.2, "ms": 4 if slim else 5.5}
        axes.plot([x], [one["median"]], "o", zorder=6, clip_on=False, **look)


def _density(values: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Heights and density there, the largest being 1; None where all scores are (nearly) equal."""
    q1, q3 = np.quantile(values, [0.25, 0.75])
    deviation = float(values.std(ddof=1))
    scale = min(deviation, (q3 - q1) / 1.34) or deviation
    if scale <= 1e-9 * max(1.0, float(np.abs(values).max())):
        return None
    # Not narrower than a hundredth of the range: where most scores are equal, a few others would be spikes.
    bandwidth = max(0.9 * scale * len(values) ** -0.2, 0.01 * float(np.ptp(values)))
    heights = np.linspace(values.min(), values.max(), 120)
    density = np.zeros(len(heights))
    for part in np.array_split(values, max(1, len(values) // 2000)):
        density += np.exp(-0.5 * ((heights[:, None] - part) / bandwidth) ** 2).sum(axis=1)
    return heights, density / density.max()


def _nothing(axes: Axes, x: float, text: str) -> None:
    place = axes.get_xaxis_transform()
    axes.text(x, 0.5, text, transform=place, ha="center", va="center", rotation=90, style="italic", color="#6B6B6B")


def _bare(axes: Axes, text: str) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    drawing.nothing(axes, text)


def _score_axis(axes: Axes, values: np.ndarray, name: str, shared: Sequence[Axes]) -> None:
    """The vertical axis; where panels share one, only the first of each row has its numbers and name."""
    if not values.size or (values.min() >= 0 and values.max() <= 1):
        drawing.zoomed_axis(axes, values, name)
    else:
        room = 0.06 * float(np.ptp(values)) or 0.1 * max(abs(float(values[0])), 1.0)
        axes.set_ylim(values.min() - room, values.max() + room)
        axes.grid(axis="y", color="#E6E6E6", lw=0.8)
        axes.set_ylabel(name)
    high = (axes.figure.get_figheight() - 0.4) / axes.get_subplotspec().get_gridspec().nrows - 0.9
    low, top = axes.get_ylim()
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= top]
    axes.set_yticks(ticks[:: max(1, math.ceil(0.17 * len(ticks) / max(high, 0.2)))])
    axes.set_ylabel(drawing.wrapped(axes.get_ylabel(), max(10, int(72 * high / 5))), fontsize=9.5)
    axes.tick_params(axis="x", length=0)
    axes.tick_params(axis="y", labelsize=9)
    if shared and not axes.get_subplotspec().is_first_col():
        axes.set_ylabel("")
        axes.tick_params(axis="y", labelleft=False, length=0)
        axes.spines["left"].set_visible(False)


def _group_ticks(axes: Axes, order: Sequence[str], own: Sequence[dict[str, Any]], points: float) -> None:
    """Below each violin, in so many points: its name, median and n; on end where there is no room."""
    longest = max([7, *(len(word) for one in order for word in one.split())])
    size = min(_LETTERS, (points - 2) / (0.62 * longest))
    flat = size >= 5.5
    size = size if flat else 7.0
    middle = "median " if flat and points >= 12 * 0.6 * size else ""
    lines = max(1, int(points / (1.3 * size)) - 1)  # of a name that stands on end
    ticks = []
    for text, one in zip(order, own, strict=True):
        wide = int((points - 2) / (0.62 * size)) if flat else max(10, math.ceil(len(text) / lines) + 2)
        numbers = [f"{middle}{drawing.number(one['median'])}"] if one["n"] else []
        numbers += [f"n = {one['n']:,}"]
        ticks.append("\n".join([drawing.wrapped(text, max(7, wide)), *(numbers if flat else [", ".join(numbers)])]))
    axes.set_xticks(range(len(order)), ticks, fontsize=size, rotation=0 if flat else 90)


def _panel_title(axes: Axes, name: str, note: str, inches: float, pad: float = 6) -> None:
    parts = [drawing.fitted(part, inches, 9.5) for part in (name, note) if part]
    axes.set_title("\n".join(parts), loc="left", fontsize=9.5, pad=pad, linespacing=1.15)


def _number_ticks(axes: Axes, numbers: np.ndarray, gap: float, inches: float) -> None:
    """A tick at each number of errors, or at as many as have room."""
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100) if s * inches * 72 >= 14), 200)
    own = [e for e in numbers if e == 0 or e % step == 0] if step > 1 else list(numbers)
    axes.set_xticks([e + (gap if e else 0) for e in own], [f"{e:g}" for e in own])


def _width(text: str) -> float:
    """Inches of a short note, roughly."""
    return len(text) * 0.55 * _LETTERS / 72


def _above(axes: Axes, x: float, text: str, inches: float) -> None:
    """A note above the axes at x, within their width."""
    left, right = axes.get_xlim()
    at, half = (x - left) / (right - left), 0.5 * _width(text) / inches
    align = "left" if at < half else "right" if at > 1 - half else "center"
    place = {"xycoords": ("data", "axes fraction"), "xytext": (0, 3), "textcoords": "offset points"}
    axes.annotate(text, (x, 1), ha=align, fontsize=_LETTERS, color="#6B6B6B", **place)
