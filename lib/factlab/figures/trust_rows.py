"""Every metric of LExT as rows of dots, and how they change with the patient's group (LExT, Table 7 and appendix A.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing, measures
from factlab.figures.drawing import BLUE, GREY, INK, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Metric: what it is called, how far it is set in, whether it is made of those above it
METRICS = {
    "accuracy": ("weighted accuracy", 2, False),
    "relevancy": ("context relevancy", 2, False),
    "correctness": ("correctness", 1, True),
    "iterative": ("iterative stability", 2, False),
    "paraphrase": ("paraphrase robustness", 2, False),
    "consistency": ("consistency", 1, True),
    "plausibility": ("plausibility", 0, True),
    "qag": ("QAG", 1, False),
    "counterfactual": ("counterfactual stability", 1, False),
    "contextual": ("contextual faithfulness", 1, False),
    "faithfulness": ("faithfulness", 0, True),
    "trust": ("LExT", 0, True),
}
_PRINTED, _GREYS, _RAISED = ("o", "^", "s"), (GREY, INK, "#9A9A9A"), (-0.16, 0.16, 0)  # of printed numbers, by set
_MOST_OWN = 4  # series of one's own, or measures of a comparison, drawn at most; the table keeps them all


def metric_rows(
    table: pd.DataFrame,
    series: str = "",
    *,
    small: int = SMALL,
    unit: str = "items",
    source: str = "printed models",
    sets: str = "",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Every metric that makes up a LExT score, with its interval, in the order in which they are put together.

    LExT, Tables 6 and 7 in kind.

    Parameters
    ----------
    table : DataFrame
        One row a metric (and series): metric (names of `explanation.METRICS`; others are left out), value (0..1, missing
        where undefined) and, where known, low, high, n, reason (why it is undefined), level, whose ("printed": a small grey
        dot without a number; anything else is drawn as yours). What `Scores.table` returns will do.
    series : str
        Column that tells one's own rows of a metric apart (a model, a data set); empty: there is one a metric.
    small : int
        Of fewer items a dot is hollow.
    unit : str
        What n counts, in the plural.
    source : str
        Whose the grey marks are.
    sets : str
        Column that tells printed rows apart (a data set): each of its values has a grey mark of its own; empty: all are dots.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        metric, name, series and sets (where they are named), whose, value, low, high, n, reason, in the order drawn, top first, printed
        rows of a metric last.

    Raises
    ------
    ValueError
        If a metric has two rows of one series, or a value is above 1, or below 0 where a metric cannot be.

    Notes
    -----
    Of more than four series the first four are drawn. A printed number has no interval.
    """
    import pandas as pd

    given = drawing.rows(table, ["metric", "value", *([series] if series else [])])
    given = given[given["metric"].isin(list(METRICS))].reset_index(drop=True)
    whole = pd.DataFrame({"metric": given["metric"].astype(str)})
    whole["name"] = [METRICS[metric][0] for metric in whole["metric"]]
    if series:
        whole[series] = drawing.named(given[series])
    printed = (given["whose"] == "printed") if "whose" in given.columns else pd.Series(False, index=given.index)
    if sets:
        whole[sets] = drawing.named(given[sets])
    whole["whose"] = np.where(printed.fillna(False).to_numpy(dtype=bool), "printed", "yours")
    for column in ("value", "low", "high", "n"):
        whole[column] = drawing.floats_or_missing(measures.numbers(given, column))
    reason = given["reason"].fillna("").astype(str) if "reason" in given.columns else pd.Series("", index=given.index)
    gone = whole["value"].isna()
    whole["reason"] = np.where(gone & (reason == ""), "undefined", np.where(gone, reason, ""))
    measures.once(whole[whole["whose"] == "yours"], ["metric", *([series] if series else [])], "metric_rows")
    values = drawing.floats(whole["value"])
    negative = whole["metric"].isin(["accuracy", "relevancy"]).to_numpy()  # cosines
    drawing.shares_only(np.where(negative, np.maximum(values, 0), values), "value", "metric_rows", "metric", whole["metric"])  # fmt: skip
    order = {metric: i for i, metric in enumerate(METRICS)}
    keys = whole.assign(a=whole["metric"].map(order), b=whole["whose"] == "printed")
    whole = whole.loc[keys.sort_values(["a", "b"], kind="stable").index].reset_index(drop=True)
    mine = whole[whole["whose"] == "yours"]
    kinds = list(dict.fromkeys(mine[series])) if series else [""] * bool(len(mine))
    drawn_kinds, more = kinds[:_MOST_OWN], max(0, len(kinds) - _MOST_OWN)
    metrics = [metric for metric in METRICS if (whole["metric"] == metric).any()]
    of = list(dict.fromkeys(whole.loc[whole["whose"] == "printed", sets])) if sets else []
    said = _metric_notes(table, whole, drawn_kinds, more, series, small, unit, source, of)
    each = 0.27 * max(1.0, 0.62 * len(drawn_kinds))
    size = figsize or (drawing.WIDTH, 1.35 + each * max(1, len(metrics)))
    single = len(drawn_kinds) == 1
    with drawing.style():
        figure, axes = drawing.empty(size)
        centres = np.arange(len(metrics)) + 0.5
        _metric_axis(axes, whole)
        for centre, metric in zip(centres, metrics, strict=True):
            own = whole[whole["metric"] == metric]
            if METRICS[metric][2]:
                axes.axhspan(centre - 0.5, centre + 0.5, color="#F4F4F4", lw=0, zorder=0)
            theirs = own[own["whose"] == "printed"]
            for kind, mark, grey, up in zip(of or [""], _PRINTED, _GREYS, _RAISED if len(of) > 1 else (0,) * 3, strict=False):  # fmt: skip
                x = drawing.floats(theirs.loc[theirs[sets] == kind, "value"] if sets else theirs["value"])
                if len(x):
                    axes.plot(x, [centre + up] * len(x), mark, ms=4.5, color=grey, alpha=0.75, mew=0, zorder=2, clip_on=False)  # fmt: skip
            for j, kind in enumerate(drawn_kinds):
                rows = own[(own["whose"] == "yours") & ((own[series] == kind) if series else True)]
                y = centre + (j - (len(drawn_kinds) - 1) / 2) * 0.72 / len(drawn_kinds)
                for _, row in rows.iterrows():
                    _metric_dot(axes, row, y, drawing.COLOURS[j], drawing.MARKS[j], small, size[0], 9 if single else 7)
                    if single:
                        drawing.beside(axes, "" if pd.isna(row["value"]) else drawing.number(float(row["value"])), 36, y)  # fmt: skip
                        drawing.beside(axes, drawing.count(math.nan if pd.isna(row["n"]) else float(row["n"])), 72, y)
        if single and len(metrics):
            drawing.heading(axes, "score", 36)
            drawing.heading(axes, "n", 72)
        if not len(metrics):
            drawing.nothing(axes, "no metrics")
        names = [("    " * METRICS[m][1]) + METRICS[m][0] for m in metrics]
        drawing.row_names(axes, centres, names)
        for tick, metric in zip(axes.get_yticklabels(), metrics, strict=True):
            tick.set_fontweight("bold" if METRICS[metric][1] == 0 else "normal")
            tick.set_horizontalalignment("left")
        axes.set_ylim(max(1, len(metrics)), 0)
        if said:
            figure.supxlabel(drawing.fitted("; ".join(said), size[0] - 0.3, 9), x=0.01, ha="left", fontsize=9)
        if series and len(drawn_kinds) > 1:
            from matplotlib.lines import Line2D

            handles = [
                Line2D([], [], color=drawing.COLOURS[j], marker=drawing.MARKS[j], ls="", ms=6, label=drawing.wrapped(kind, 40))
                for j, kind in enumerate(drawn_kinds)
            ]  # fmt: skip
            columns = 2 if size[0] >= 6 else 1
            figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, handletextpad=0.2, borderpad=0)  # fmt: skip
        measures.shrink(figure, centres)
        _left_aligned(axes)
        drawing.settled(figure)
    return drawing.described(figure, _metrics_told(whole, metrics, kinds, series, sets, said)), whole


def _left_aligned(axes: Axes) -> None:
    """Names of rows one below the other at their left ends, so that their setting in can be seen."""
    axes.figure.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in axes.get_yticklabels()]
    widest = max((box.width for box in boxes), default=0) * 72 / axes.figure.dpi
    axes.tick_params(axis="y", pad=widest + 8)


def _metric_axis(axes: Axes, whole: pd.DataFrame) -> None:
    known = np.concatenate([drawing.floats(whole[c]) for c in ("value", "low")])
    known = known[~np.isnan(known)]
    low = min(0.0, math.floor(10 * known.min()) / 10) if known.size else 0.0
    drawing.share_axis(axes, "score (0 to 1)")
    if low < 0:
        axes.set_xlim(low, 1)
        axes.axvline(0, color=GREY, lw=0.8, zorder=1)
        axes.set_xlabel(f"score (0 to 1; similarities can be below 0, axis from {low:g})")


def _metric_dot(axes: Axes, row: pd.Series, y: float, colour: str, mark: str, small: int, wide: float, letters: float) -> None:  # fmt: skip
    import pandas as pd

    if pd.isna(row["value"]):
        text = f"undefined: {row['reason']}" if row["reason"] != "undefined" else "undefined"
        most = max(12, int((wide - 3.4) * 72 / (0.52 * letters)))
        text = text if len(text) <= most else text[: most - 1].rstrip() + "…"
        axes.text(0.01, y, text, va="center", style="italic", color=measures.PALE, fontsize=letters, zorder=4, transform=axes.get_yaxis_transform())  # fmt: skip
        return
    few = not pd.isna(row["n"]) and row["n"] < small
    if not pd.isna(row["low"]) and not pd.isna(row["high"]):
        ends = [float(row["low"]), float(row["high"])]
        axes.plot(ends, [y, y], color=colour, lw=1.1 if few else 1.6, solid_capstyle="butt", zorder=3, clip_on=False)
    look = {"mfc": "white" if few else colour, "mec": colour, "mew": 1.3, "ms": 6, "zorder": 4, "clip_on": False}
    axes.plot([float(row["value"])], [y], mark, **look)


def _metric_notes(
    table: pd.DataFrame, whole: pd.DataFrame, kinds: Sequence[str], more: int, series: str, small: int, unit: str, source: str,
    sets: Sequence[str],
) -> list[str]:  # fmt: skip
    own = whole[whole["whose"] == "yours"]
    counts = drawing.floats(own["n"])
    said = [f"n = {measures.extent(counts)} {unit}"] if (~np.isnan(counts)).any() else []
    said += [f"lines: {drawing.level(table)}intervals"] if own["low"].notna().any() else []
    bare = own["value"].notna() & own["low"].isna()
    said += ["no line: no interval"] if bare.any() and own["low"].notna().any() else []
    said += [f"hollow: fewer than {small} {unit}"] if ((counts < small) & own["value"].notna().to_numpy()).any() else []
    shapes = ", ".join(f"{shape} {one}" for shape, one in zip(("dots", "triangles", "squares"), sets, strict=False))
    said += [f"grey: {source}, {shapes}" if len(sets) > 1 else f"grey dots: {source}"] if (whole["whose"] == "printed").any() else []  # fmt: skip
    said += [f"{more} more in the table"] if more else []
    said += ["undefined: reasons in the table"] if own["value"].isna().any() else []
    return said


def _metrics_told(
    whole: pd.DataFrame, metrics: Sequence[str], kinds: Sequence[str], series: str, sets: str, said: Sequence[str]
) -> str:
    alt = f"Dot plot of {drawing.plural(len(metrics), 'metric', 'metrics')} of LExT."
    for kind in kinds:
        own = whole[(whole["whose"] == "yours") & ((whole[series] == kind) if series else True)]
        parts = []
        for _, row in own.iterrows():
            value, low, high = (drawing.floats(whole[c])[row.name] for c in ("value", "low", "high"))
            why = "undefined" if row["reason"] in ("", "undefined") else f"undefined ({row['reason']})"
            parts.append(f"{row['name']} " + (why if math.isnan(value) else drawing.interval(value, low, high)))
        alt += f" {kind + ': ' if kind else ''}{', '.join(parts)}."
    theirs = whole[whole["whose"] == "printed"].dropna(subset=["value"])
    if len(theirs):
        ends = []
        for metric, own in theirs.groupby("metric", sort=False):
            low, high = own.loc[own["value"].astype(float).idxmin()], own.loc[own["value"].astype(float).idxmax()]
            named = [", ".join(row[c] for c in (series, sets) if c) for row in (low, high)]
            each = [f"{float(row['value']):.2f}" + (f" ({name})" if name else "") for row, name in zip((low, high), named, strict=True)]  # fmt: skip
            ends.append(f"{METRICS[metric][0]} {' to '.join(each)}")
        alt += f" Printed: {'; '.join(ends)}."
    return alt + (f" {'; '.join(said)}." if said else "")


# --- groups -----------------------------------------------------------------------------------------------------------


def by_group(
    table: pd.DataFrame,
    label: str = "group",
    measure: str = "measure",
    *,
    reference: str = "",
    small: int = SMALL,
    unit: str = "vignettes",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How much trust, answer or dose differ between groups of patients in the same vignettes, a panel a measure.

    LExT, appendix A.1 prepares the comparison and does not make it.

    Parameters
    ----------
    table : DataFrame
        One row a measure and group, e.g. from `stats.against`: `label`, `measure`, difference (group less reference, in -1..1;
        missing where undefined) and, where known, low, high (its interval), level, p_holm, n (pairs: vignettes with a score
        in both), reason (why it is undefined).
    label, measure : str
        Columns: the group; what differs, one panel each in the order given.
    reference : str
        The group that the others are compared with, e.g. `White men`; empty: not said.
    small : int
        Of fewer pairs a dot is hollow.
    unit : str
        What n counts, in the plural.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, measure, difference, low, high, p_holm, n, reason, in the order given.

    Raises
    ------
    ValueError
        If a group has two rows of one measure, or a difference is not from -1 to 1.

    Notes
    -----
    On the line at 0 a group is treated as the reference is. A dot is blue where p_holm is below 0.05. All panels have the
    same axis, as wide on both sides. A measure in which no group differs at all is named and not drawn, but for the first where there is no other.
    Of more than four measures the first four are drawn, of more than 45 groups those with most pairs.
    """
    import pandas as pd

    given = drawing.rows(table, [label, measure, "difference"]).reset_index(drop=True)
    whole = pd.DataFrame({k: drawing.named(given[k]) for k in (label, measure)})
    measures.once(whole, [label, measure], "by_group")
    for column in ("difference", "low", "high", "p_holm", "n"):
        whole[column] = drawing.floats_or_missing(measures.numbers(given, column))
    d = drawing.floats(whole["difference"])
    if (wrong := np.flatnonzero(np.abs(d) > 1)).size:
        at = f"{label} {whole[label][wrong[0]]!r}, {measure} {whole[measure][wrong[0]]!r}"
        raise ValueError(f"by_group, {at}: difference is {d[wrong[0]]:g}, expected a difference of shares from -1 to 1")
    reason = given["reason"].fillna("").astype(str) if "reason" in given.columns else pd.Series("", index=given.index)
    whole["reason"] = reason.to_numpy()
    kinds = list(dict.fromkeys(whole[measure]))
    flat = [kind for kind in kinds if not _varies(whole[whole[measure] == kind])]
    flat = flat if len(flat) < len(kinds) else flat[1:]
    kinds = [kind for kind in kinds if kind not in flat]
    shown, more = kinds[:_MOST_OWN], max(0, len(kinds) - _MOST_OWN)
    sizes = whole.groupby(label, sort=False)["n"].max().rename("n").reset_index()
    rows, fewer = drawing.largest(sizes, "n")
    names = [drawing.wrapped(one, 24) for one in rows[label]]
    lines = [one.count("\n") + 1 for one in names]
    centres = drawing.row_centres(lines)
    drawn = whole[whole[label].isin(rows[label]) & whole[measure].isin(shown)]
    said = _group_notes(given, drawn, small, unit, more, fewer)
    said += [f"no difference in any pair, not drawn: {', '.join(flat)}"] if flat else []
    counts = drawing.floats(drawn["n"])
    vary = bool((~np.isnan(counts)).any()) and len(set(counts.tolist())) > 1
    size = figsize or (drawing.WIDTH, 1.75 + 0.27 * sum(max(1.0, 0.8 * k) for k in lines))
    reach = _reach(drawn)
    with drawing.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        panels = figure.subplots(1, max(1, len(shown)), squeeze=False)[0]
        if said:
            figure.suptitle(drawing.fitted("; ".join(said), size[0] - 0.3, measures.SIZE), x=0.01, ha="left", fontsize=measures.SIZE)  # fmt: skip
        room = (size[0] - 1.8) / max(1, len(shown)) - 0.1
        for k, axes in enumerate(panels):
            axes.set_facecolor("white")
            axes.set_xlim(-reach, reach)
            axes.set_xticks([-reach, 0, reach], [_signed(-reach), "0", _signed(reach)])
            axes.grid(axis="x", color="#E6E6E6", lw=0.8)
            drawing.row_names(axes, centres, names if k == 0 else [""] * len(rows))
            axes.set_ylim(*drawing.row_limits(centres, lines))
            if not len(rows):
                drawing.nothing(axes, f"no {label}s")
                continue
            axes.axvline(0, color=INK, lw=1, zorder=1)
            axes.set_title(drawing.fitted(shown[k], room, 9.5), loc="left", fontsize=9.5)
            own = drawn[drawn[measure] == shown[k]].set_index(label)
            for one, centre in zip(rows[label], centres, strict=True):
                if one in own.index:
                    _difference(axes, own.loc[one], centre, small, room)
                    if vary:
                        drawing.beside(axes, drawing.count(drawing.floats(own["n"])[own.index.get_loc(one)]), 26, centre)  # fmt: skip
            if vary:
                drawing.heading(axes, "n", 26)
        if len(rows):
            figure.supxlabel(drawing.fitted(f"difference{' from ' + reference if reference else ''}, of shares or scores in 0 to 1", size[0] - 0.3), fontsize=10)  # fmt: skip
        measures.shrink(figure, centres)
        for _ in range(3):  # many panels in little room come to rest slowly
            figure.draw_without_rendering()
        drawing.settled(figure)
    alt = f"Dot plots of differences{' from ' + reference if reference else ''} by {label}, {drawing.plural(len(rows), label, label + 's')}."
    for kind in shown:
        parts = []
        for _, row in drawn[drawn[measure] == kind].iterrows():
            if pd.isna(row["difference"]):
                parts.append(f"{row[label]} undefined" + (f" ({row['reason']})" if row["reason"] else ""))
                continue
            p = "" if pd.isna(row["p_holm"]) else f", p {row['p_holm']:.3f}"
            parts.append(f"{row[label]} {_with_interval(row)}{p}")
        alt += f" {kind}: {'; '.join(parts)}." if parts else ""
    return drawing.described(figure, alt + (f" {'; '.join(said)}." if said else "")), whole


def _varies(own: pd.DataFrame) -> bool:
    """Whether any group of a measure differs; one that is undefined everywhere is drawn as such."""
    d = drawing.floats(own["difference"])
    return bool(np.isnan(d).all() or (np.abs(d[~np.isnan(d)]) > 1e-12).any())


def _reach(drawn: pd.DataFrame) -> float:
    """How far the axis goes on both sides of 0: to a round number beyond all differences and intervals."""
    known = np.abs(np.concatenate([drawing.floats(drawn[c]) for c in ("difference", "low", "high")]))
    most = float(np.nanmax(known)) if (~np.isnan(known)).any() else 0.0
    return next((step for step in (0.05, 0.1, 0.2, 0.3, 0.5) if most <= 0.96 * step), 1.0)


def _group_notes(given: pd.DataFrame, drawn: pd.DataFrame, small: int, unit: str, more: int, fewer: int) -> list[str]:
    counts, d = drawing.floats(drawn["n"]), drawing.floats(drawn["difference"])
    said = [f"paired by vignette, n = {measures.extent(counts)} {unit}"] if (~np.isnan(counts)).any() else []
    said += [f"lines: {drawing.level(given)}intervals"] if drawn["low"].notna().any() else []
    said += ["no line: no interval"] if (~np.isnan(d) & drawn["low"].isna().to_numpy()).any() else []
    tested = drawn["p_holm"].notna()
    said += ["blue: p below 0.05 (Holm)" if (drawn["p_holm"] < 0.05).fillna(False).any() else "no p below 0.05 (Holm)"] if tested.any() else []  # fmt: skip
    said += ["not tested"] if len(drawn) and not tested.any() else []
    said += [f"hollow: fewer than {small} {unit}"] if ((counts < small) & ~np.isnan(d)).any() else []
    gone = drawn[np.isnan(d)]
    said += ["undefined: reasons in the table"] if len(gone) else []
    said += [f"{drawing.plural(more, 'more measure', 'more measures')} in the table"] if more else []
    said += [f"{fewer} smaller ones not drawn"] if fewer else []
    return said


def _difference(axes: Axes, row: pd.Series, y: float, small: int, room: float) -> None:
    import pandas as pd

    if pd.isna(row["difference"]):
        where: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "ha": "center", "va": "center"}
        where |= {"bbox": {"facecolor": "white", "lw": 0, "pad": 0.5}}
        axes.text(0.5, y, "undefined", style="italic", color=measures.PALE, fontsize=9, zorder=4, **where)
        return
    differs = not pd.isna(row["p_holm"]) and row["p_holm"] < 0.05
    few = not pd.isna(row["n"]) and row["n"] < small
    colour = BLUE if differs else INK
    if not pd.isna(row["low"]) and not pd.isna(row["high"]):
        ends = [float(row["low"]), float(row["high"])]
        axes.plot(ends, [y, y], color=colour, lw=1.1 if few else 1.5, solid_capstyle="butt", zorder=2, clip_on=False)
    look = {"mfc": "white" if few else colour, "mec": colour, "mew": 1.3, "ms": 5.5, "zorder": 3, "clip_on": False}
    axes.plot([float(row["difference"])], [y], "o", **look)


def _signed(value: float) -> str:
    text = f"{abs(round(value, 2)):.2f}".rstrip("0").rstrip(".") if abs(value) >= 0.005 else "0"
    return text if text == "0" else ("+" if value > 0 else "−") + text


def _with_interval(row: pd.Series) -> str:
    import pandas as pd

    text = _signed(float(row["difference"]))
    return text if pd.isna(row["low"]) else f"{text} [{_signed(float(row['low']))}, {_signed(float(row['high']))}]"
