"""What gives a key away, and what the place of a key does to the answers (MS-Exam-Gen, Figure 2 and section V)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing, measures
from factlab.figures.drawing import BLUE, GREY, INK, ORANGE, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CUES = {
    "structure": "structure of the options",
    "both": "structure and words of the stem",
    "overlap": "words of the stem",
    "longest_key": "key is the one longest option",
}
BANKS = {"before": "before repair", "after": "after repair", "full": "whole bank"}
CHANCE = 0.25  # of four options
_PLACES = "ABCDEFGH"
_WIDE = 5.5  # inches that hold a column of intervals beside the bars


def cue_bars(
    table: pd.DataFrame,
    banks: Mapping[str, str] = BANKS,
    *,
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How often a key can be told from the looks of its item, in one bank or several.

    MS-Exam-Gen, Figure 2 (left).

    Parameters
    ----------
    table : DataFrame
        What `exam.cue_comparison` returns, one row a cue: cue (`structure`, `both`, `longest_key` or any name), and for each of
        `banks` that the table knows a column of its name (0..1, missing where undefined); where known, with _low and _high behind the
        name, and n_ before it. Also chance, or chance_ before the bank's name where it is not the same in all (missing: none is drawn),
        difference with low and high, and level.
    banks : mapping
        Column of the table: what the legend calls it.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        cue, name, bank, value, low, high, n, chance, difference, difference_low, difference_high, one row a bar, in the order drawn,
        top first.

    Raises
    ------
    ValueError
        If the table has none of the banks, or a share is not from 0 to 1.
    """
    import pandas as pd

    given = drawing.rows(table, ["cue"]).reset_index(drop=True)
    used = [bank for bank in banks if bank in given.columns]
    if not used:
        raise ValueError(
            f"cue_bars: no column of {', '.join(banks)}; the table has {', '.join(map(str, given.columns))}"
        )
    used = [bank for bank in used if not len(given) or given[bank].notna().any()] or used[:1]
    names = [CUES.get(cue, cue) for cue in drawing.named(given["cue"])]
    chances = {
        bank: measures.numbers(given, f"chance_{bank}" if f"chance_{bank}" in given else "chance") for bank in used
    }
    change = [measures.numbers(given, k) for k in ("difference", "low", "high")]
    rows = []
    for i, (cue, name) in enumerate(zip(given["cue"], names, strict=True)):
        for bank in used:
            found = [measures.numbers(given, k)[i] for k in (bank, f"{bank}_low", f"{bank}_high", f"n_{bank}")]
            rows.append((cue, name, banks[bank], *found, chances[bank][i], *(one[i] for one in change)))
    columns = ["value", "low", "high", "n", "chance", "difference", "difference_low", "difference_high"]
    whole = pd.DataFrame(rows, columns=["cue", "name", "bank", *columns])
    for one in columns:
        whole[one] = drawing.floats_or_missing(whole[one].to_numpy(dtype=float))
    for one in ("value", "low", "high", "chance"):
        drawing.shares_only(drawing.floats(whole[one]), one, "cue_bars", "cue", whole["name"])
    k = len(used)
    size = figsize or (drawing.WIDTH, 1.5 + max(1, len(given)) * (0.22 + 0.24 * k))
    wide = size[0] >= _WIDE
    changes = wide and k > 1 and not np.isnan(change[0]).all()
    colours = [GREY, BLUE, "#56B4E9", ORANGE] if k > 1 else [BLUE]
    said = [_items(whole, banks[bank]) for bank in used]
    said = ["n = " + ", ".join(one for one in said if one) + " items"] if any(said) else []
    said += ["dashed: chance"] if whole["chance"].notna().any() else []
    said += [f"bars: {drawing.level(given)}intervals"] if whole["low"].notna().any() else []
    with drawing.style():
        figure, axes = drawing.empty(size)
        height = 0.84 / k
        for i in range(len(given)):
            for j in range(k):
                row, y = whole.iloc[i * k + j], i + 0.5 + (j - (k - 1) / 2) * height
                _bar(axes, row, y, height, colours[j % len(colours)])
                text = _gone(row) if pd.isna(row["value"]) else _estimate(row) if wide else f"{row['value']:.2f}"
                drawing.beside(axes, text, 96 if wide else 30, y)
            # One line where the chance is that of all banks, else one across each bar.
            own = [chances[bank][i] for bank in used]
            spans = [(i + 0.5 + (j - k / 2) * height, i + 0.5 + (j + 1 - k / 2) * height) for j in range(k)]
            if len(set(own)) == 1:
                own, spans = own[:1], [(i + 0.02, i + 0.98)]
            for at, span in zip(own, spans, strict=True):
                if not math.isnan(at):
                    axes.plot([at] * 2, span, color=INK, lw=1.3, ls=(0, (3, 2)), zorder=4)
            if changes and not math.isnan(change[0][i]):
                drawing.beside(axes, _signed(*(one[i] for one in change)), 224, i + 0.5)
        if len(given):
            drawing.heading(axes, "share of items" if wide else "share", 96 if wide else 30)
            if changes:
                drawing.heading(axes, "change", 224)
        else:
            drawing.nothing(axes, "no cues")
        drawing.share_axis(axes, "share of items whose key is told")
        drawing.row_names(axes, np.arange(len(given)) + 0.5, [drawing.wrapped(one, 20) for one in names])
        axes.set_ylim(max(1, len(given)), -0.04)
        if said:
            figure.supxlabel(drawing.fitted("; ".join(said), size[0] - 0.3, 9), x=0.01, ha="left", fontsize=9)
        if k > 1:
            from matplotlib.patches import Patch

            handles = [Patch(facecolor=colours[j % len(colours)], label=banks[bank]) for j, bank in enumerate(used)]
            figure.legend(handles=handles, loc="outside upper left", ncols=min(k, 3 if wide else 2), frameon=False, borderpad=0)  # fmt: skip
        measures.shrink(figure, np.arange(len(given)) + 0.5)
        drawing.settled(figure)
    alt = "Bars of how often the key is told by a cue."
    for name in dict.fromkeys(names):
        own = whole[whole["name"] == name]
        each = [(r["bank"], _gone(r) if pd.isna(r["value"]) else _estimate(r)) for _, r in own.iterrows()]
        parts = [f"{bank} {text}" if k > 1 else text for bank, text in each]
        by_lot = [f"{x:.2f}" for x in own["chance"].dropna()]
        known = f", chance {' and '.join(dict.fromkeys(by_lot))}" if by_lot else ""
        alt += f" {name}: {', '.join(parts)}{known}."
    alt += f" {'; '.join(said)}." if said else " No cues." if not len(given) else ""
    return drawing.described(figure, alt), whole


def _items(whole: pd.DataFrame, bank: str) -> str:
    counts = drawing.floats(whole.loc[whole["bank"] == bank, "n"])
    if np.isnan(counts).all():
        return ""
    return measures.extent(counts) + (f" ({bank})" if whole["bank"].nunique() > 1 else "")


def _gone(row: pd.Series) -> str:
    """Why a bar is absent: nothing could be computed, or nobody told."""
    import pandas as pd

    return "not known" if pd.isna(row["n"]) else "undefined"


def _estimate(row: pd.Series) -> str:
    low, high = (float(v) for v in drawing.floats(row[["low", "high"]]))
    return drawing.interval(float(row["value"]), low, high)


def _signed(value: float, low: float, high: float) -> str:
    def one(number: float) -> str:
        return f"{round(number, 2) + 0.0:+.2f}".replace("-", "−")

    return one(value) if math.isnan(low) else f"{one(value)} [{one(low)}, {one(high)}]"


def _bar(axes: Axes, row: pd.Series, y: float, height: float, colour: str) -> None:
    import pandas as pd

    if pd.isna(row["value"]):
        return
    axes.barh(y, float(row["value"]), height=0.92 * height, color=colour, lw=0, zorder=2)
    if not pd.isna(row["low"]) and not pd.isna(row["high"]):
        axes.plot([float(row["low"]), float(row["high"])], [y, y], color=INK, lw=1.5, solid_capstyle="butt", zorder=5)


def order_shift(
    table: pd.DataFrame,
    column: str = "endpoint",
    place: str = "key_place",
    *,
    chance: float | None = CHANCE,
    small: int = SMALL,
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Accuracy of each endpoint by where the key stands: what only reads the options is as good in every place.

    MS-Exam-Gen, section V (option order).

    Parameters
    ----------
    table : DataFrame
        One row an endpoint and place: `column`, `place` (a letter, or its number from 0), value (0..1, missing where undefined)
        and, where known, low, high, n, level, and per endpoint p_holm (of the position test). Or what `exam.mark_orders` returns,
        one row an answer with correct (0 or 1): then shares are taken here, without intervals.
    column, place : str
        Columns: whose accuracy it is; where the key stands.
    chance : float, optional
        A dashed line.
    small : int
        Of fewer items a mark is hollow.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        `column`, `place` (letter), value, low, high, n, range (highest less lowest value of the endpoint; missing with fewer than
        two), p_holm, in the order drawn, top first, all endpoints.

    Raises
    ------
    ValueError
        If an endpoint has two rows of one place, a place is none of A to H, or a value is not from 0 to 1.
    """
    import pandas as pd

    given = drawing.rows(table, [column, place])
    if "value" not in given.columns:
        given = drawing.rows(given, ["correct"]).groupby([column, place], sort=False)["correct"].agg(value="mean", n="size").reset_index()  # fmt: skip
    given = given.reset_index(drop=True)
    whole = pd.DataFrame({column: drawing.named(given[column]), place: [_letter(one) for one in given[place]]})
    for one in ("value", "low", "high", "n", "p_holm"):
        whole[one] = drawing.floats_or_missing(measures.numbers(given, one))
    measures.once(whole, [column, place], "order_shift")
    drawing.shares_only(drawing.floats(whole["value"]), "value", "order_shift", column, whole[column])
    order = {one: i for i, one in enumerate(dict.fromkeys(whole[column]))}
    whole = whole.assign(_i=whole[column].map(order)).sort_values(["_i", place], kind="stable", ignore_index=True)
    by = whole.groupby(column, sort=False)["value"]
    wide_of = (by.max() - by.min()).where(by.count() > 1)
    whole["range"] = drawing.floats_or_missing(whole[column].map(wide_of).to_numpy(dtype=float))
    whole = whole.drop(columns="_i")[[column, place, "value", "low", "high", "n", "range", "p_holm"]]
    groups = whole.groupby(column, sort=False).agg(n=("n", "sum"), range=("range", "first"), p=("p_holm", "first")).reset_index()  # fmt: skip
    drawn, passed_over = drawing.largest(groups, "n")
    letters = sorted(whole[place].unique())
    k = max(1, len(letters))
    counts = drawing.floats(whole["n"])
    tested = groups["p"].notna().any()
    said = [f"n = {measures.extent(counts)} items at a place"] if (~np.isnan(counts)).any() else []
    said += [f"lines: {drawing.level(given)}intervals"] if whole["low"].notna().any() else []
    said += [f"dashed: chance, {chance:g}"] if chance is not None else []
    said += [f"hollow: fewer than {small} items"] if (counts < small).any() else []
    said += ["p: position test, corrected"] if tested else []
    said += (
        [f"{drawing.plural(passed_over, f'smaller {column}', f'smaller {column}s')} not drawn"] if passed_over else []
    )
    size = figsize or (drawing.WIDTH, 1.3 + 0.52 * max(1, len(drawn)))
    letters_wide = 26 if size[0] >= _WIDE else 18
    names = [measures.folded(str(one).replace("|", "|\u200b "), letters_wide) for one in drawn[column]]
    centres = np.arange(len(drawn)) + 0.5
    with drawing.style():
        figure, axes = drawing.empty(size)
        if chance is not None:
            axes.axvline(chance, color=INK, lw=1.2, ls=(0, (4, 2)), zorder=1)
        for i in range(0, len(drawn), 2):
            axes.axhspan(i, i + 1, color="#F6F6F6", lw=0, zorder=0)
        for i, one in enumerate(drawn.to_dict("records")):
            drawing.beside(axes, "" if pd.isna(one["range"]) else f"{one['range']:.2f}", 36, centres[i])
            if tested:
                drawing.beside(axes, "" if pd.isna(one["p"]) else _p(float(one["p"])), 84, centres[i])
        if len(drawn):
            drawing.heading(axes, "range", 36)
            if tested:
                drawing.heading(axes, "p", 84)
        else:
            drawing.nothing(axes, f"no {column}s")
        drawing.share_axis(axes, "accuracy where the key stands at A, B, C, …" if k > 1 else "accuracy")
        drawing.row_names(axes, centres, names)
        axes.set_ylim(max(1, len(drawn)), 0)
        if said:
            figure.supxlabel(drawing.fitted("; ".join(said), size[0] - 0.3, 9), x=0.01, ha="left", fontsize=9)
        measures.shrink(figure, centres)
        drawing.settled(figure)
        points = axes.get_window_extent().height * 72 / figure.dpi / max(1, len(drawn))
        _marks(axes, whole, drawn[column].tolist(), column, place, letters, min(10.0, 1.25 * points * 0.9 / k), small)
    alt = f"Accuracy of each {column} by the place of the key."
    for one in drawn[column]:
        own = whole[whole[column] == one]
        parts = [f"{r[place]} {'undefined' if pd.isna(r['value']) else _estimate(r)}" for _, r in own.iterrows()]
        wide_ = own["range"].iloc[0]
        alt += f" {one}: {', '.join(parts)}" + ("" if pd.isna(wide_) else f", range {wide_:.2f}")
        alt += "." if pd.isna(own["p_holm"].iloc[0]) else f", {_p_said(float(own['p_holm'].iloc[0]))}."
    alt += f" {'; '.join(said)}." if said and len(drawn) else f" No {column}s." if not len(drawn) else ""
    return drawing.described(figure, alt), whole


def _letter(place: Any) -> str:
    if isinstance(place, str) and len(place) == 1 and place in _PLACES:
        return place
    if not isinstance(place, str) and float(place) in range(len(_PLACES)):
        return _PLACES[int(place)]
    raise ValueError(f"order_shift: the key stands at {place!r}, expected a letter from A to H or its number from 0")


def _p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _p_said(p: float) -> str:
    return "p below 0.001" if p < 0.001 else f"p = {p:.3f}"


def _marks(
    axes: Axes, whole: pd.DataFrame, names: Sequence[str], column: str, place: str, letters: Sequence[str], size: float, small: int
) -> None:  # fmt: skip
    """A disc with its letter for each place of the key, the places one below the other within a row."""
    import pandas as pd

    k = len(letters)
    at = {one: i for i, one in enumerate(names)}
    for row in whole[whole[column].isin(names)].to_dict("records"):
        if pd.isna(row["value"]):
            continue
        j = letters.index(row[place])
        x, y = float(row["value"]), at[row[column]] + 0.5 + (j - (k - 1) / 2) * 0.86 / k
        colour = drawing.COLOURS[_PLACES.index(row[place]) % len(drawing.COLOURS)]
        if not pd.isna(row["low"]) and not pd.isna(row["high"]):
            axes.plot([float(row["low"]), float(row["high"])], [y, y], color=colour, lw=1.2, alpha=0.7, solid_capstyle="butt", zorder=2, clip_on=False)  # fmt: skip
        few = not pd.isna(row["n"]) and row["n"] < small
        axes.plot([x], [y], "o", ms=size, mfc="white" if few else colour, mec=colour, mew=1.0, zorder=3, clip_on=False)
        if size >= 6:
            axes.annotate(row[place], (x, y), ha="center", va="center_baseline", fontsize=0.72 * size, color=colour if few else "white", zorder=4, annotation_clip=False)  # fmt: skip
