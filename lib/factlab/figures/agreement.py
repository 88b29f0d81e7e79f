"""Two scores of the same items against each other: an automated one and people's, one judge and another.

`pairs` shows how they rise together, `bland_altman` how far they lie apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from factlab.figures import drawing, labels
from factlab.figures.drawing import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def bland_altman(
    a: ArrayLike | pd.Series,
    b: ArrayLike | pd.Series,
    names: tuple[str, str] = ("automated", "annotators"),
    unit: str = "score",
    limits: pd.DataFrame | None = None,
    *,
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How far two scores of the same items lie apart, and whether that depends on the score.

    Parameters
    ----------
    a, b : (n,) arrays
        Scores of the same items in the same order and unit; pairs with a missing one are left out and counted.
    names : (str, str)
        Who gave a and b.
    unit : str
        What the scores are, or are measured in.
    limits : DataFrame, optional
        What `stats.bland_altman` returns; made here when None. Lines without a value are not drawn, and the title says
        why.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a pair, in the order given: mean, difference (a − b).

    Notes
    -----
    Bland and Altman (1986), Lancet 327:307. Bias and limits of agreement are lines, their intervals light bands.
    """
    import pandas as pd

    from factlab import stats
    from factlab.stats import resampling

    first, second, kept = resampling.pairs(a, b)
    left_out = int((~kept).sum())
    shown = pd.DataFrame({"mean": (first + second) / 2, "difference": first - second})
    rows = drawing.rows(
        stats.bland_altman(a, b) if limits is None else limits, ["line", "value", "low", "high"]
    ).reset_index(drop=True)
    values, lows, highs = (drawing.floats(rows[one]) for one in ("value", "low", "high"))
    drawn = np.flatnonzero(~np.isnan(values))
    # One row a line; what is undefined has one reason, that of the last line without a value or an interval.
    reasons = rows["reason"].fillna("").tolist() if "reason" in rows.columns else [""] * len(rows)
    reason = next((reasons[i] for i in reversed(range(len(rows))) if math.isnan(lows[i]) and reasons[i]), "")
    said = {i: f"{rows['line'][i]} {drawing.interval(values[i], lows[i], highs[i])}" for i in drawn}
    n = f"n = {drawing.plural(len(shown), 'pair', 'pairs')}" + (f", {left_out:,} left out" if left_out else "")
    bands = f"; bands: {drawing.level(rows)}intervals" if not np.isnan(lows).all() else ""
    why = f"; {reason.removeprefix(drawing.plural(len(shown), 'pair', 'pairs') + ': ')}" if reason else ""
    with drawing.style():
        figure, axes = drawing.empty(figsize or (drawing.WIDTH, 3.8))
        colours = [BLUE if rows["line"][i] == "bias" else ORANGE for i in range(len(rows))]
        for i in drawn:
            if not math.isnan(lows[i]):
                axes.axhspan(lows[i], highs[i], color=colours[i], alpha=0.13, lw=0)
            axes.axhline(values[i], color=colours[i], lw=1.4, ls="-" if rows["line"][i] == "bias" else (0, (5, 2)))
        if len(shown):
            axes.axhline(0, color=GREY, lw=0.8, zorder=1)
        rounded = shown.round(9)  # 0.5 − 0.3 and 0.6 − 0.4 are one point
        at = drawing.dots(axes, rounded["mean"], rounded["difference"], zorder=3)
        axes.set_xlim(*_room(shown["mean"].to_numpy()))
        axes.set_ylim(*_room(np.concatenate([shown["difference"], values, lows, highs, [0]])))
        a_name, b_name = names
        high = axes.figure.get_figheight() - 1.2
        axes.set_xlabel(f"mean of the two ({unit})")
        axes.set_ylabel(drawing.fitted(f"{a_name} − {b_name} ({unit})", high))
        if not len(shown):
            drawing.nothing(axes, "no pairs")
        most = int(at["items"].max()) if len(at) else 1
        area = f"; dot area: pairs at one point, up to {most:,}" if most > 1 else ""
        drawing.title(axes, n + why + bands + area)
        texts = [said[i].replace(" [", "\n[") for i in drawn]
        labels.beside_axes(axes, [(None, values[i]) for i in drawn], texts, [colours[i] for i in drawn])
    alt = f"Bland–Altman plot of {names[0]} minus {names[1]} ({unit}) against their mean, {n}."
    if len(drawn):
        alt += f" {'; '.join(said.values())}.".replace(" bias", " Bias", 1)
    if len(shown):
        d = shown["difference"]
        alt += f" Differences from {drawing.number(d.min())} to {drawing.number(d.max())}."
    alt += f" {reason[:1].upper()}{reason[1:]}." if reason else ""
    return drawing.described(figure, alt), shown


def pairs(
    a: ArrayLike | pd.Series,
    b: ArrayLike | pd.Series,
    names: tuple[str, str] = ("automated", "annotators"),
    unit: str = "score",
    note: str = "",
    *,
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Two scores of the same items against each other, with the line on which they would be equal.

    Parameters
    ----------
    a, b : (n,) arrays
        Scores of the same items in the same order and unit; pairs with a missing one are left out and counted. Both
        axes run from 0 to 1, or over the range of the numbers where one lies outside.
    names : (str, str)
        Who gave a (across) and b (up); they differ, since they name the columns of the table.
    unit : str
        What the scores are, or are measured in.
    note : str
        Said in the title and the description, e.g. a correlation with its interval.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a pair, in the order given, the columns called as in `names`.

    Notes
    -----
    The area of a dot is the number of pairs at one point; dots that overlap in part are darker there.
    """
    import pandas as pd

    from factlab.stats import resampling

    across, up = (str(name) for name in names)
    if across == up:
        raise ValueError(f"pairs, names: both are {across!r}; the columns of the table need two names")
    first, second, kept = resampling.pairs(a, b)
    left_out = int((~kept).sum())
    shown = pd.DataFrame({across: first, up: second})
    every = np.concatenate([first, second])
    shares = bool(((every >= 0) & (every <= 1)).all())
    low, high = (-0.03, 1.03) if shares else _room(np.append(every, 0) if every.min() > 0 else every)
    n = f"n = {drawing.plural(len(shown), 'pair', 'pairs')}" + (f", {left_out:,} left out" if left_out else "")
    with drawing.style():
        figure, axes = drawing.empty(figsize or (4.8, 4.9))
        at = drawing.dots(axes, first, second, zorder=3, clip_on=False)
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        axes.set_aspect("equal", anchor="W")
        if shares:
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
            axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        elif (every % 1 == 0).all():
            drawing.whole_numbers(axes.xaxis)
            drawing.whole_numbers(axes.yaxis)
        side = min(figure.get_size_inches()) - 1.0
        axes.set_xlabel(drawing.fitted(f"{across} ({unit})", side))
        axes.set_ylabel(drawing.fitted(f"{up} ({unit})", side))
        if len(shown):
            axes.plot([low, high], [low, high], color=GREY, lw=1, zorder=1)
            beside = {"xycoords": "axes fraction", "xytext": (11, -3), "textcoords": "offset points"}
            axes.annotate("equal", (1, 1), color="#6B6B6B", fontsize=9, **beside)
        else:
            drawing.nothing(axes, "no pairs")
        most = int(at["items"].max()) if len(at) else 1
        area = f"; dot area: pairs at one point, up to {most:,}" if most > 1 else ""
        drawing.title(axes, n + (f"; {note}" if note else "") + area)
    alt = f"Scatter plot of {up} against {across} ({unit}), {n}" + (f"; {note.rstrip('.')}." if note else ".")
    if len(shown):
        above, below = int((second > first).sum()), int((second < first).sum())
        alt += f" {up} higher in {above:,}, lower in {below:,}, equal in {len(shown) - above - below:,}."
        alt += f" Mean of {across} {drawing.number(first.mean())}, of {up} {drawing.number(second.mean())}."
    return drawing.described(figure, alt), shown


def _room(values: np.ndarray) -> tuple[float, float]:
    """Ends of an axis with a little room around the values."""
    values = values[~np.isnan(values)]
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.1 * max(abs(high), 0.5)
    return low - margin, high + margin
