"""Published scores against the size of the models, and where yours lies among them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing, labels
from factlab.figures.drawing import BLUE, INK, ORANGE, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DARK_ORANGE = "#A84600"  # ORANGE for letters, with more contrast
_MOST_TOLD = 15  # families in the description
_COLUMNS = ("whose", "model", "size_b", "score", "low", "high", "n")


def score_by_size(
    table: pd.DataFrame,
    yours: pd.DataFrame | Mapping[str, Any] | None = None,
    *,
    name: str = "score",
    source: str = "published",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Published scores against the size of the model, and where yours lies among them.

    Parameters
    ----------
    table : DataFrame
        One row a model: family, size_b (billions of parameters; missing where it is not published), score (0..1).
    yours : DataFrame or mapping of column to value(s), optional
        One row a model: name, value (0..1), and, where known, size_b, low, high (its interval), n (items), level (of the
        interval).
    name : str
        What the score is called on the axis.
    source : str
        Whose scores those of the table are, e.g. `DAHL Table 2`.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a model, in the order given, yours last: whose (`source` or `yours`), model (family or name), size_b,
        score, low, high, n.

    Notes
    -----
    Models of one family are joined. Sizes are on a log scale; a model without a size has a tick at the right edge, yours
    a diamond there. Labels never cover each other: one for which there is no room is left out, and the title says so.
    """
    shown, level = _joined(table, yours, source)
    sizes, scores, lows, highs, counts = (drawing.floats(shown[k]) for k in _COLUMNS[2:])
    mine, scored = (shown["whose"] == "yours").to_numpy(dtype=bool), ~np.isnan(scores)
    named = shown["model"].to_numpy(dtype=object)
    size = figsize or (drawing.WIDTH, 4.4)
    texts = [drawing.wrapped(one, 24 if size[0] > 6 else 15, hyphens=True) for one in named]
    for i in np.flatnonzero(mine & scored):
        texts[i] += "\n" + drawing.interval(scores[i], lows[i], highs[i])
    unsized = np.flatnonzero(scored & np.isnan(sizes))
    sized = np.flatnonzero(scored & ~np.isnan(sizes))
    families = {
        family: sized[~mine[sized] & (named[sized] == family)] for family in dict.fromkeys(named[sized[~mine[sized]]])
    }
    families = {family: own[np.argsort(sizes[own], kind="stable")] for family, own in families.items()}
    n_theirs, unscored = int((scored & ~mine).sum()), int((~scored).sum())
    kinds = len(set(named[scored & ~mine]))
    few = int((scored & mine & (counts < SMALL)).sum())
    said = [f"{source}: {drawing.plural(n_theirs, 'model', 'models')}, {drawing.plural(kinds, 'family', 'families')}"]
    if (scored & mine).any():
        bars = f" with {level}interval" if not np.isnan(lows).all() else ""
        known = [drawing.count(c) for c in counts[scored & mine] if not math.isnan(c)]
        said += [f"orange: yours{bars}" + (f", n = {', '.join(dict.fromkeys(known))}" if known else "")]
    said += [f"hollow: n below {SMALL}"] if few else []
    said += [f"{unscored} without a score"] if unscored else []
    with drawing.style():
        figure, axes = drawing.empty(size)
        drawing.zoomed_axis(axes, np.concatenate([scores, lows, highs]), name)
        _size_axis(axes, sizes[sized], figure.get_figwidth() - (2.6 if len(unsized) else 1.4))
        drawing.title(axes, "; ".join(said))
        if not scored.any():
            drawing.nothing(axes, "no scores")
        for own in families.values():
            axes.plot(sizes[own], scores[own], "-o", color=BLUE, lw=1.2, ms=5.5, mew=0, zorder=2)
        for i in sized[mine[sized]]:
            _yours(axes, sizes[i], scores[i], lows[i], highs[i], counts[i], axes.transData)
        _at_the_edge(axes, unsized, mine, scores, lows, highs, counts, texts)

        own_marks = list(sized[mine[sized]])
        points = np.column_stack([sizes, scores])
        # Families of one model first: their names have fewer places to go.
        families = dict(sorted(families.items(), key=lambda one: min(len(one[1]), 2)))
        anchors = [points[[i]] for i in own_marks]
        anchors += [points[[own[-1], *own[:-1]]] for own in families.values()]
        words = [texts[i] for i in own_marks] + [texts[own[-1]] for own in families.values()]
        colours = [_DARK_ORANGE] * len(own_marks) + [INK] * len(families)
        bars = [np.array([[sizes[i], lows[i]], [sizes[i], highs[i]]]) for i in own_marks if not math.isnan(lows[i])]
        room = {"dots": points[sized], "strokes": [points[own] for own in families.values()] + bars}
        refused, made = labels.around(axes, anchors, words, colours, **room)
        if refused:  # the title gets longer, which leaves less room
            for label in made:
                label.remove()
            drawing.title(axes, "; ".join([*said, "names without room are in the table"]))
            refused, _ = labels.around(axes, anchors, words, colours, **room)
    return drawing.described(figure, _told(shown, name, said, families, refused)), shown


def _joined(table: pd.DataFrame, yours: Any, source: str) -> tuple[pd.DataFrame, str]:
    """Both tables as one, its numbers checked, and the level of the intervals."""
    import pandas as pd

    theirs = drawing.rows(table, ["family", "size_b", "score"])[["family", "size_b", "score"]]
    parts = [theirs.assign(whose=source, model=drawing.named(theirs["family"]))]
    level = ""
    if yours is not None:
        if isinstance(yours, Mapping):
            yours = pd.DataFrame({key: list(v) if np.ndim(v) else [v] for key, v in yours.items()})
        mine = drawing.rows(yours, ["name", "value"])
        level = drawing.level(mine)
        mine = mine.assign(whose="yours", model=drawing.named(mine["name"])).drop(columns="score", errors="ignore")
        parts.append(mine.rename(columns={"value": "score"}))
    parts = [part.reindex(columns=list(_COLUMNS)) for part in parts]
    columns: dict[str, Any] = {k: [one for part in parts for one in part[k]] for k in _COLUMNS[:2]}
    for k in _COLUMNS[2:]:
        columns[k] = drawing.floats_or_missing(np.concatenate([drawing.floats(part[k]) for part in parts]))
    shown = pd.DataFrame(columns)
    drawing.shares_only(drawing.floats(shown["score"]), "score", "score_by_size", "model", shown["model"])
    sizes = drawing.floats(shown["size_b"])
    if (wrong := np.flatnonzero(sizes <= 0)).size:
        where = f"model {shown['model'][wrong[0]]!r}"
        raise ValueError(f"score_by_size, {where}: size_b is {sizes[wrong[0]]:g}, expected billions of parameters")
    return shown, level


def _size_axis(axes: Axes, sizes: np.ndarray, inches: float) -> None:
    """A log axis with as many ticks as so many inches hold."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = (sizes.min() / 1.8, sizes.max() * 1.8) if sizes.size else (0.1, 100.0)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    decades = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [tick for decade in decades for tick in (decade, 2 * decade, 5 * decade) if low <= tick <= high]
    ticks = fine if len(fine) <= inches * 72 / 24 else [tick for tick in decades if low <= tick <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    axes.set_xlabel(drawing.fitted("billions of parameters (log scale)", inches + 0.8))


def _yours(axes: Axes, x: float, score: float, low: float, high: float, n: float, transform: Any) -> None:
    if not math.isnan(low):
        axes.plot([x, x], [low, high], color=ORANGE, lw=1.6, transform=transform, zorder=3, clip_on=False)
    face = "white" if n < SMALL else ORANGE
    look = {"mfc": face, "mec": ORANGE, "mew": 1.4, "ms": 7, "zorder": 4, "clip_on": False}
    axes.plot([x], [score], "D", transform=transform, **look)


def _at_the_edge(
    axes: Axes,
    rows: np.ndarray,
    mine: np.ndarray,
    scores: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    counts: np.ndarray,
    texts: Sequence[str],
) -> None:
    """Models without a size: a tick at the right edge, or a diamond a little beside it, and a label."""
    from matplotlib.transforms import ScaledTranslation

    if not len(rows):
        return

    def right(points: float) -> Any:
        return axes.get_yaxis_transform() + ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)

    points, asides = 8.0, []
    for i in rows:
        asides.append(points if mine[i] else 4.0)
        if mine[i]:
            _yours(axes, 1, scores[i], lows[i], highs[i], counts[i], right(points))
            points += 9
        else:
            axes.plot([1], [scores[i]], marker=0, ms=9, mew=2, color=BLUE, transform=right(0), clip_on=False, zorder=3)
    head = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": 9, "color": "#6B6B6B"}
    axes.annotate("size not\nknown", (1, 0), xytext=(15, -6), va="top", **head)
    colours = [_DARK_ORANGE if mine[i] else BLUE for i in rows]
    words = [texts[i] for i in rows]
    made = labels.beside_axes(axes, [(None, scores[i]) for i in rows], words, colours, points + 10, asides)
    for label, i in zip(made, rows, strict=True):
        label.set_color(_DARK_ORANGE if mine[i] else INK)


def _told(
    shown: pd.DataFrame, name: str, said: Sequence[str], families: Mapping[str, np.ndarray], refused: Sequence[int]
) -> str:
    sizes, scores, lows, highs, _ = (drawing.floats(shown[k]) for k in _COLUMNS[2:])

    def size(i: int) -> str:
        return f"{sizes[i]:.3g} billion" if not math.isnan(sizes[i]) else "size not known"

    alt = f"Scatter plot of the {name} against the size of the model; {'; '.join(said)}."
    for family, own in list(families.items())[:_MOST_TOLD]:
        alt += f" {family}: {', '.join(f'{scores[i]:.2f} ({size(i)})' for i in own)}."
    rest = [
        i for i in range(len(shown)) if not math.isnan(scores[i]) and not any(i in own for own in families.values())
    ]
    for i in rest:
        alt += f" {shown['model'][i]}: {drawing.interval(scores[i], lows[i], highs[i])} ({size(i)})."
    more = len(families) - _MOST_TOLD
    alt += f" {drawing.plural(more, 'more family is', 'more families are')} in the table." if more > 0 else ""
    return alt + (f" {drawing.plural(len(refused), 'name', 'names')} had no room." if refused else "")
