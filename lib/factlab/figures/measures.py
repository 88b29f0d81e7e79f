"""What the figures of REASONS share: names of the measures, why one is undefined, and names that fit their room."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Measure: short name, what it is, which way is better
MEASURES = {
    "hr": ("HR", "hallucination rate", "lower is better"),
    "f1": ("F1", "words shared", "higher is better"),
    "bleu": ("BLEU-4", "phrases shared", "higher is better"),
    "pp": ("PP", "share of passes", "neither is better"),
}
MOST_COLUMNS = 12  # models of a heatmap, or kinds of dots, drawn at most; the table behind the figure keeps them all
APART = ("Mean", "SD")  # rows over the groups, as `attribution.score` names them
SMALLEST = 5.0  # points of letters, at least
SIZE = 9.5  # points of the notes around a figure
PALE = "#6B6B6B"
_LEADING = 1.1  # height of a line of text in multiples of its size
_LEGIBLE = 6.5  # points of names, below which lines are left out


def apart(column: pd.Series) -> pd.Series:
    """Which rows are over the groups: Mean and SD."""
    return column.isin(APART)


def once(rows: pd.DataFrame, keys: Sequence[str], where: str) -> None:
    """Refuse a table with two rows of one name."""
    if (twice := rows.duplicated(list(keys))).any():
        row = rows[twice].iloc[0]
        which = ", ".join(f"{key} {row[key]!r}" for key in keys)
        raise ValueError(f"{where}: two rows for {which}; choose one, or combine them first")


def numbers(rows: pd.DataFrame, column: str) -> np.ndarray:
    """A column as floats; missing everywhere where there is none."""
    return drawing.floats(rows[column]) if column in rows.columns else np.full(len(rows), math.nan)


def why_undefined(row: pd.Series, metric: str, n: str) -> str:
    """Why a measure is undefined, in words: what the row says itself, or what its counts and its note say."""
    import pandas as pd

    def known(column: str) -> Any:
        value = row.get(column)
        return None if value is None or pd.isna(value) or value == "" else value

    for column in (f"{metric}_reason", "reason"):
        if known(column):
            return str(row[column])
    asked, passed = known(n), known("passed")
    if asked and asked == passed:
        return "passed on every query"
    if asked == 0:
        return "no reply could be scored" if known("left_out") else "no queries"
    note = str(known("note") or "")
    for part in note.split("; "):
        measures, _, reason = part.partition(": ")
        if metric in measures.split(", ") and reason:
            return reason
    return note if note and ": " not in note else "no number in the table"


def called(metric: str, name: str) -> tuple[str, str]:
    """What a measure is called, and which way is better, with a comma before it."""
    if name or metric not in MEASURES:
        return name or metric, ""
    short, what, better = MEASURES[metric]
    return {"hr": what, "pp": "pass percentage, as a share"}.get(metric, short), f", {better}"


def extent(counts: np.ndarray) -> str:
    """Fewest to most, in words; some must be known."""
    known = counts[~np.isnan(counts)]
    low, high = drawing.count(known.min()), drawing.count(known.max())
    return low if low == high else f"{low} to {high}"


def shrink(figure: Figure, centres: np.ndarray) -> None:
    """Smaller names, and no more of their lines than there is room for, where rows are less high than their letters."""
    if len(centres) < 2:
        return
    figure.draw_without_rendering()
    for axes in figure.axes:
        if not any(tick.get_text() for tick in axes.get_yticklabels()) and not axes.texts:
            continue  # the bar of colours
        at = axes.transData.transform(np.c_[np.zeros(len(centres)), centres])[:, 1]
        gaps = np.abs(np.diff(at)) * 72 / figure.dpi
        names = [tick.get_text().split("\n") for tick in axes.get_yticklabels()]
        most = max(1, int(gaps.min() / (_LEADING * _LEGIBLE)))
        if _size(gaps, names) < _LEGIBLE:
            names = [one if len(one) <= most else [*one[: most - 1], one[most - 1][:-1] + "…"] for one in names]
            axes.set_yticks(axes.get_yticks(), ["\n".join(one) for one in names])
        for texts, rows in ((axes.get_yticklabels(), names), (axes.texts, [[""]] * len(centres))):
            size = max(SMALLEST, min(10.0, _size(gaps, rows)))
            for text in texts:
                text.set_fontsize(min(size, text.get_fontsize()))


def _size(gaps: np.ndarray, names: Sequence[Sequence[str]]) -> float:
    """Points of letters at which neighbours just do not touch, their middles being so many points apart."""
    lines = np.array([len(one) for one in names], dtype=float)
    return float((gaps / ((lines[1:] + lines[:-1]) / 2 * _LEADING)).min())


def folded(name: str, width: int) -> str:
    """A name whose lines end at spaces and, where a word is longer than a line, also after its hyphens and strokes."""
    if max(map(len, name.split()), default=0) > width:
        name = re.sub("([-/_])", "\\1\u200b ", name)
    return drawing.wrapped(name, width).replace("\u200b ", "").replace("\u200b", "")


def grouped(names: Sequence[str], reasons: Sequence[str]) -> str:
    """Whom each reason holds for, the first few of them named."""
    groups: dict[str, list[str]] = {}
    for name, reason in zip(names, reasons, strict=True):
        if reason:
            groups.setdefault(reason, []).append(name)
    said = [
        ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "") + f" ({reason})"
        for reason, own in list(groups.items())[:3]
    ]
    return ", ".join(said) + (", and for other reasons, see the table" if len(groups) > 3 else "")
