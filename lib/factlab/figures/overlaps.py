"""What BLEU, ROUGE-L, METEOR and BERTScore say of the explanations that LExT scores (LExT, Figure 1)."""

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

OVERLAPS = ("BLEU", "ROUGE-L", "METEOR (exact and stem)", "BERTScore")


def overlap_against_trust(
    table: pd.DataFrame,
    columns: Sequence[str] | None = None,
    trust: str = "trust",
    *,
    group: str = "",
    unit: str = "explanations",
    name: str = "LExT",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """What BLEU, ROUGE-L, METEOR and BERTScore say of the same explanations as LExT, a panel each.

    LExT, Figure 1 in kind, which shows one model's numbers.

    Parameters
    ----------
    table : DataFrame
        One row an explanation: the measures, `trust` (0..1, missing where undefined), and `group` if one is named.
    columns : sequence of str, optional
        The measures. Default: those of `OVERLAPS` that the table has.
    trust : str
        Column of the score that the measures are compared with.
    group : str
        Column whose values have a colour and a mark of their own, e.g. the quality of explanations that were written for a
        test; empty: none.
    unit, name : str
        What a dot is, in the plural; what `trust` is called.
    figsize : (float, float), optional
        Inches; narrower than 6, the panels are two by two.

    Returns
    -------
    (Figure, DataFrame)
        One row a measure and explanation that has both: measure, value, `trust`, and `group`.

    Raises
    ------
    ValueError
        If there is no measure, or a number is above 1 or, but for BERTScore, below 0.

    Notes
    -----
    Each panel says Spearman's rank correlation with its interval (`stats.correlation`), and shows the part of its measure's scale that
    the values need: the measures are not on one scale, nor on that of the score. Means are not shown, since they would be of the
    explanations that have both.
    """
    import pandas as pd

    if columns is None:
        columns = [one for one in OVERLAPS if one in table.columns]
    if not len(columns):
        raise ValueError(f"overlap_against_trust: no column {', '.join(map(repr, OVERLAPS))}; the table has {', '.join(map(str, table.columns))}")  # fmt: skip
    given = drawing.rows(table, [*columns, trust, *([group] if group else [])]).reset_index(drop=True)
    y = drawing.floats(given[trust])
    drawing.shares_only(y, trust, "overlap_against_trust", "row", range(len(given)))
    groups = drawing.named(given[group]) if group else [""] * len(given)
    kinds = list(dict.fromkeys(groups))
    parts, panels = [], []
    for one in columns:
        x = drawing.floats(given[one])
        drawing.shares_only(np.maximum(x, 0) if "bertscore" in one.casefold() else x, one, "overlap_against_trust", "row", range(len(given)))  # fmt: skip
        kept = ~np.isnan(x) & ~np.isnan(y)
        part = pd.DataFrame({"measure": one, "value": x[kept], trust: y[kept]})
        parts.append(part.assign(**{group: np.array(groups, dtype=object)[kept]}) if group else part)
        panels.append((one, x, kept, _association(x[kept], y[kept])))
    shown = pd.concat(parts, ignore_index=True)
    lacking = [(one, int((~kept & ~np.isnan(y)).sum())) for one, _, kept, _ in panels]
    said = [drawing.plural(len(given), unit.removesuffix("s"), unit)]
    said += [f"{int(np.isnan(y).sum())} without {name}"] if np.isnan(y).any() else []
    said += [f"{n} without {one}" for one, n in lacking if n]
    size = figsize or (drawing.WIDTH, 3.1 if group else 2.9)
    across = min(len(columns), 4 if size[0] >= 6 else 2)
    with drawing.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        grid = figure.subplots(math.ceil(len(columns) / across), across, squeeze=False, sharey=True)
        figure.suptitle(drawing.fitted("; ".join(said), size[0] - 0.3, measures.SIZE), x=0.01, ha="left", fontsize=measures.SIZE)  # fmt: skip
        room = (size[0] - 0.9) / across - 0.15
        for k, axes in enumerate(grid.ravel()):
            if k >= len(columns):
                axes.set_axis_off()
                continue
            one, x, kept, found = panels[k]
            _panel(axes, x[kept], y[kept], np.array(groups, dtype=object)[kept], kinds, room, one)
            axes.set_title(drawing.fitted(found or "nothing to show", room, 8), loc="left", fontsize=8)
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(f"{name} (0 to 1)")
        if group:
            from matplotlib.lines import Line2D

            handles = [
                Line2D([], [], color=drawing.COLOURS[i % 7], marker=drawing.MARKS[i % 7], ls="", ms=5, label=kind)
                for i, kind in enumerate(kinds)
            ]
            if handles:
                figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, fontsize=9, handletextpad=0.2)  # fmt: skip
        drawing.settled(figure)
    alt = f"Scatter plots of {name} against {', '.join(columns)}, {'; '.join(said)}."
    for one, x, kept, found in panels:
        at = f"{x[kept].min():.2f} to {x[kept].max():.2f}, {found}" if kept.any() else "nothing to show"
        alt += f" {one}: {at}."
    return drawing.described(figure, alt), shown


def _association(x: np.ndarray, y: np.ndarray) -> str:
    """Spearman's rho with its interval, or why there is none."""
    import pandas as pd

    from factlab import stats

    if not len(x):
        return ""
    found = stats.correlation(x, y).set_index("coefficient").loc["spearman"]
    if pd.isna(found["value"]):
        return f"rho undefined: {found['reason']}"
    low, high = (math.nan if pd.isna(found[k]) else float(found[k]) for k in ("low", "high"))
    return f"rho {drawing.interval(float(found['value']), low, high)}"


def _panel(
    axes: Axes, x: np.ndarray, y: np.ndarray, groups: np.ndarray, kinds: Sequence[str], room: float, name: str
) -> None:
    axes.set_facecolor("white")
    for i, kind in enumerate(kinds):
        own = groups == kind
        if not own.any():
            continue
        look = {"ms": 5, "mew": 0, "alpha": 0.75, "ls": "", "zorder": 3, "clip_on": False}
        axes.plot(x[own], y[own], drawing.MARKS[i % 7], color=drawing.COLOURS[i % 7], **look)
    low, high = _ends(x)
    axes.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    axes.set_ylim(-0.03, 1.03)
    axes.set_xticks([low, (low + high) / 2, high], [f"{v:.4g}" for v in (low, (low + high) / 2, high)])
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.grid(color="#EEEEEE", lw=0.8)
    axes.set_xlabel(drawing.fitted(f"{name} ({low:g} to {high:g})", room, 9), fontsize=9)


def _ends(x: np.ndarray) -> tuple[float, float]:
    """Ends of the axis of a measure: 0 where it lies near the values, and round numbers around them."""
    if not len(x):
        return 0.0, 1.0
    least, most = float(x.min()), float(x.max())
    near = least if least < 0 or least > most - least else 0.0
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1) if step >= 0.2 * (most - near) or step == 1)
    low, high = (round(step * turn(end / step), 6) for turn, end in ((math.floor, near), (math.ceil, most)))
    return low, high if high > low else round(low + step, 6)
