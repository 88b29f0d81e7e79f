"""Plausibility against faithfulness, in four quadrants (LExT, Figure 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing, labels, measures
from factlab.figures.drawing import BLUE, GREY, INK, ORANGE, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Corner: right?, upper?, name
QUADRANTS = (
    (True, True, "plausible and faithful"),
    (False, True, "faithful only"),
    (True, False, "plausible only"),
    (False, False, "neither"),
)
_DARK_ORANGE = "#A84600"  # ORANGE for letters, with more contrast
_PRINTED = "#8A8A8A"  # of marks; their names are darker
_MOST_NAMED = 20  # marks that get a name
_MOST_TOLD = 20  # marks in the description


def quadrants(
    table: pd.DataFrame,
    label: str = "model",
    *,
    splits: tuple[float | None, float | None] = (0.5, 0.5),
    small: int = SMALL,
    unit: str = "items",
    source: str = "printed",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Plausibility against faithfulness, on lines of equal LExT score and in four quadrants.

    LExT, Figure 6.

    Parameters
    ----------
    table : DataFrame
        One row a model (or item): `label`, plausibility, faithfulness (0..1, missing where undefined) and, where known, the
        ends of their intervals (plausibility_low, plausibility_high, …), n (items), whose ("printed": grey; "yours": an
        orange diamond; else a blue dot), reason (why a score is undefined).
    label : str
        Column of the names.
    splits : (float or None, float or None)
        Where the quadrants meet: plausibility, faithfulness. Where one is None there is no such line, and there are no quadrants.
    small : int
        Of fewer items a mark is hollow.
    unit : str
        What n counts, in the plural.
    source : str
        Whose the printed scores are, for the title.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, plausibility, faithfulness, their intervals, trust (the harmonic mean of the two, missing with either), n,
        whose, quadrant, reason, in the order given. A mark on a dividing line is counted above it.

    Raises
    ------
    ValueError
        If a score or a split is not from 0 to 1.

    Notes
    -----
    Along a grey curve 2PF / (P + F) is the same. Both axes show the part of 0 to 1 that the marks, their intervals and the
    quadrants need, and say which. With more than 20 marks, only yours are named.
    """
    import pandas as pd

    given = drawing.rows(table, [label, "plausibility", "faithfulness"]).reset_index(drop=True)
    shown = pd.DataFrame({label: drawing.named(given[label])})
    for score in ("plausibility", "faithfulness"):
        for column in (score, f"{score}_low", f"{score}_high"):
            shown[column] = drawing.floats_or_missing(measures.numbers(given, column))
            drawing.shares_only(drawing.floats(shown[column]), column, "quadrants", label, shown[label])
    drawn_splits = [split for split in splits if split is not None]
    if not all(0 <= split <= 1 for split in drawn_splits):
        raise ValueError(f"quadrants: splits are {splits[0]} and {splits[1]}, expected numbers from 0 to 1")
    whole = len(drawn_splits) == 2
    p, f = (drawing.floats(shown[score]) for score in ("plausibility", "faithfulness"))
    shown["trust"] = drawing.floats_or_missing(_harmonic(p, f))
    shown["n"] = drawing.floats_or_missing(measures.numbers(given, "n"))
    shown["whose"] = given["whose"].fillna("").astype(str) if "whose" in given.columns else ""
    known = ~np.isnan(p) & ~np.isnan(f)
    at = {(right, upper): name for right, upper, name in QUADRANTS}
    sides = [values >= split if whole else known for values, split in zip((p, f), splits, strict=True)]
    shown["quadrant"] = [at[(bool(a), bool(b))] if ok and whole else "" for a, b, ok in zip(*sides, known, strict=True)]  # fmt: skip
    reasons = given["reason"].fillna("").astype(str) if "reason" in given.columns else [""] * len(given)
    shown["reason"] = ["" if ok else why or _missing(a, b) for ok, why, a, b in zip(known, reasons, p, f, strict=True)]
    size = figsize or (drawing.WIDTH, 5.2)
    said = _counts(shown, known, small, unit, source, drawing.level(given))
    with drawing.style():
        figure, axes = drawing.empty(size)
        every = shown.loc[known, [c for c in shown if c.startswith(("plausibility", "faithfulness"))]]
        ends = {
            score: drawing.zoomed(
                np.append(
                    every.filter(like=score).to_numpy(dtype=float, na_value=np.nan), np.nan if split is None else split
                )
            )
            for score, split in zip(("plausibility", "faithfulness"), splits, strict=True)
        }
        _axes(axes, ends)
        drawing.title(axes, "; ".join(said))
        _contours(axes, ends)
        for line, split in ((axes.axvline, splits[0]), (axes.axhline, splits[1])) if known.any() else ():
            if split is not None:
                line(split, color=GREY, lw=1, ls=(0, (5, 3)), zorder=1)
        order = np.argsort((shown["whose"] == "yours").to_numpy(), kind="stable")
        bars = [bar for i in order if known[i] for bar in _mark(axes, shown.iloc[i], small)]
        points = np.column_stack([p, f])
        corners = _corners(axes, drawn_splits, points[known]) if whole else []
        if not known.any():
            drawing.nothing(axes, "no marks")
        own = known & (shown["whose"] == "yours").to_numpy()
        named = np.flatnonzero(known if known.sum() <= _MOST_NAMED else own)
        named = sorted(named, key=lambda i: shown["whose"][i] != "yours")
        words = [_label(shown.iloc[i], label, own[i]) for i in named]
        colours = [_DARK_ORANGE if own[i] else measures.PALE if shown["whose"][i] == "printed" else INK for i in named]
        across, up = axes.get_xlim(), axes.get_ylim()
        meet = [] if splits[0] is None else [np.array([[splits[0]] * 2, up]).T]
        meet += [] if splits[1] is None else [np.array([across, [splits[1]] * 2]).T]
        room = {"dots": np.concatenate([points[known], *corners]), "strokes": [*bars, *meet]}
        refused, made = labels.around(axes, [points[[i]] for i in named], words, colours, **room)
        if refused or len(named) < known.sum():  # the title gets longer, which leaves less room
            for text in made:
                text.remove()
            drawing.title(axes, "; ".join([*said, "names without room are in the table"]))
            refused, _ = labels.around(axes, [points[[i]] for i in named], words, colours, **room)
        drawing.settled(figure)
    return drawing.described(figure, _told(shown, label, known, said, splits)), shown


def _harmonic(p: np.ndarray, f: np.ndarray) -> np.ndarray:
    total = p + f
    return np.divide(2 * p * f, total, out=np.where(np.isnan(total), np.nan, 0.0), where=total > 0)


def _missing(p: float, f: float) -> str:
    gone = [name for name, value in (("plausibility", p), ("faithfulness", f)) if math.isnan(value)]
    return f"no {' and no '.join(gone)}"


def _counts(shown: pd.DataFrame, known: np.ndarray, small: int, unit: str, source: str, level: str) -> list[str]:
    whose, counts = shown["whose"], drawing.floats(shown["n"])
    said = []
    for kind, words in (("printed", f"grey: {source}"), ("yours", "orange: yours")):
        if (n := int((known & (whose == kind)).sum())) > 0:
            own = counts[known & (whose == kind).to_numpy()]
            of = f", n = {measures.extent(own)} {unit}" if (~np.isnan(own)).any() else ""
            said.append(f"{words}, {drawing.plural(n, 'mark', 'marks')}{of}")
    rest = known & ~whose.isin(["printed", "yours"]).to_numpy()
    if rest.any() or not len(said):
        of = f", n = {measures.extent(counts[rest])} {unit}" if (~np.isnan(counts[rest])).any() else ""
        said.append(drawing.plural(int(rest.sum()), "mark", "marks") + of)
    ends = shown.loc[known, ["plausibility_low", "faithfulness_low"]]
    said += [f"bars: {level}intervals"] if ends.notna().any(axis=None) else []
    said += [f"hollow: n below {small}"] if (known & (counts < small)).any() else []
    hidden = int(shown.loc[known, ["plausibility", "faithfulness"]].astype(float).round(3).duplicated().sum())
    said += [f"{hidden} on top of another"] if hidden else []
    gone = shown[~known]
    said += [f"not drawn: {measures.grouped(gone.iloc[:, 0].tolist(), gone['reason'].tolist())}"] if len(gone) else []
    return said


def _axes(axes: Axes, ends: dict[str, tuple[float, float]]) -> None:
    for score, (low, high) in ends.items():
        axis, limits = (axes.xaxis, axes.set_xlim) if score == "plausibility" else (axes.yaxis, axes.set_ylim)
        room = 0.025 * (high - low)  # a mark on the edge is whole
        limits(low - room, high + room)
        step = next(step for step in (0.02, 0.05, 0.1, 0.25) if (high - low) / step < 7.1)
        axis.set_ticks(np.arange(round((high - low) / step) + 1) * step + low)
        axis.set_major_formatter(lambda value, _: f"{value:.2f}".rstrip("0").rstrip("."))
        part = "0 to 1" if (low, high) == (0, 1) else f"axis from {low:g} to {high:g}"
        axis.set_label_text(f"{score} ({part})")


def _contours(axes: Axes, ends: dict[str, tuple[float, float]]) -> None:
    """Curves of equal LExT score that leave the frame on its right, with their score there."""
    right, (low, high) = axes.get_xlim()[1], axes.get_ylim()
    steps = [t / 20 for t in range(1, 20)]
    top = high - 0.06 * (high - low)  # the heading stands above it
    inside = [t for t in steps if low < t * right / (2 * right - t) < top]
    for every in (1, 2, 4):
        kept = [t for t in inside if round(20 * t) % every == 0]
        if len(kept) <= 7:
            break
    for t in kept:
        x = np.linspace(
            max(axes.get_xlim()[0], t * high / (2 * high - t)), right, 300
        )  # from where it enters the frame
        axes.plot(x, t * x / (2 * x - t), color="#DCDCDC", lw=0.9, zorder=0.5, scalex=False, scaley=False)
        where = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
        axes.annotate(f"{t:g}", (right, t * right / (2 * right - t)), color=measures.PALE, fontsize=9, **where)
    if kept:
        where = {"xycoords": "axes fraction", "xytext": (4, 3), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate("LExT", (1, 1), color=measures.PALE, fontsize=9, **where)


def _mark(axes: Axes, row: pd.Series, small: int) -> list[np.ndarray]:
    """One mark with its intervals; returns the lines of these."""
    import pandas as pd

    colour = {"yours": ORANGE, "printed": _PRINTED}.get(row["whose"], BLUE)
    p, f = float(row["plausibility"]), float(row["faithfulness"])
    drawn = []
    for score, other in (("plausibility", f), ("faithfulness", p)):
        low, high = row[f"{score}_low"], row[f"{score}_high"]
        if pd.isna(low) or pd.isna(high):
            continue
        ends = np.array([float(low), float(high)])
        at = np.column_stack([ends, [other] * 2] if score == "plausibility" else [[other] * 2, ends])
        axes.plot(at[:, 0], at[:, 1], color=colour, lw=1.3, alpha=0.75, solid_capstyle="butt", zorder=2, clip_on=False)
        drawn.append(at)
    few = not pd.isna(row["n"]) and row["n"] < small
    mark, size = ("D", 7) if row["whose"] == "yours" else ("o", 6)
    look = {"mfc": "white" if few else colour, "mec": colour, "mew": 1.3, "ms": size, "zorder": 3, "clip_on": False}
    axes.plot([p], [f], mark, **look)
    return drawn


def _corners(axes: Axes, splits: Sequence[float], points: np.ndarray) -> list[np.ndarray]:
    """Names of the quadrants, each in a corner of its own where it hides no mark; returns points that labels must not cover.

    The outer corner comes first; a name for which no corner has room is left out (the description has it).
    """
    axes.figure.draw_without_rendering()
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    marks = axes.transData.transform(points.reshape(-1, 2))
    taken = []
    for is_right, is_upper, name in QUADRANTS:
        xs = (splits[0], right) if is_right else (left, splits[0])
        ys = (splits[1], high) if is_upper else (low, splits[1])
        width, height = np.ptp(axes.transData.transform(np.column_stack([xs, ys])), axis=0)
        places = [
            (is_right, is_upper),
            (is_right, not is_upper),
            (not is_right, is_upper),
            (not is_right, not is_upper),
        ]
        for (at_right, at_top), text in product(places, (name, name.replace(" ", "\n"))):
            look = {"ha": "right" if at_right else "left", "va": "top" if at_top else "bottom", "color": measures.PALE}
            look |= {"xytext": (-5 if at_right else 5, -4 if at_top else 4), "textcoords": "offset points"}
            made = axes.annotate(text, (xs[at_right], ys[at_top]), fontsize=9, style="italic", zorder=1, **look)
            box = made.get_window_extent()
            hidden = ((marks > [box.x0 - 8, box.y0 - 8]) & (marks < [box.x1 + 8, box.y1 + 8])).all(axis=1).any()
            if not hidden and box.width < width - 8 and box.height < height - 6:
                x, y = np.meshgrid(np.arange(box.x0, box.x1 + 6, 6), np.arange(box.y0, box.y1 + 6, 6))
                taken.append(axes.transData.inverted().transform(np.column_stack([x.ravel(), y.ravel()])))
                break
            made.remove()
    return taken


def _label(row: pd.Series, label: str, own: bool) -> str:
    text = drawing.wrapped(row[label], 24, hyphens=True)
    return f"{text}\nLExT {drawing.number(float(row['trust']))}" if own else text


def _told(
    shown: pd.DataFrame, label: str, known: np.ndarray, said: Sequence[str], splits: Sequence[float | None]
) -> str:
    alt = f"Scatter plot of faithfulness against plausibility with lines of equal LExT score; {'; '.join(said)}."
    if None in splits:
        named = [f"{score} {split:g}" for score, split in zip(("plausibility", "faithfulness"), splits, strict=True) if split is not None]  # fmt: skip
        alt += f" A line at {named[0]}, no quadrants." if named else " No quadrants."
    else:
        alt += f" The quadrants meet at plausibility {splits[0]:g} and faithfulness {splits[1]:g}."
    rows = shown[known]
    order = rows.sort_values("whose", key=lambda whose: whose != "yours", kind="stable")
    told = order.iloc[:_MOST_TOLD]
    for name in [*(quadrant for _, _, quadrant in QUADRANTS), ""]:
        inside = told[told["quadrant"] == name]
        parts = [
            f"{row[label]} (plausibility {_said(row, 'plausibility')}, faithfulness {_said(row, 'faithfulness')}, LExT "
            f"{drawing.number(float(row['trust']))}{', yours' if row['whose'] == 'yours' else ''})"
            for _, row in inside.iterrows()
        ]
        alt += f" {name[:1].upper()}{name[1:] or 'Marks'}: {', '.join(parts)}." if parts else ""
    if (more := len(rows) - len(told)) > 0:
        alt += f" {drawing.plural(more, 'more mark is', 'more marks are')} in the table."
    return alt


def _said(row: pd.Series, score: str) -> str:
    import pandas as pd

    ends = [math.nan if pd.isna(v) else float(v) for v in (row[score], row[f"{score}_low"], row[f"{score}_high"])]
    return drawing.interval(*ends)
