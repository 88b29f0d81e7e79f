"""What the plots share: colours, limits and style, an empty figure, rows of names and numbers, notes, and how numbers are
written. Nothing here knows what is plotted.

Colours are those of Okabe and Ito (2008), which people with any colour vision can tell apart; each meaning has a colour
of its own, and a label too.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#9A9A9A", "#333333"
VERDICTS = {"true": BLUE, "false": ORANGE, "unknown": "#BBBBBB", "unparsable": "#666666"}
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", INK, "#56B4E9", "#E69F00")  # of lines: Okabe and Ito, without yellow
MARKS = ("o", "s", "^", "D", "v", "P", "X")
SMALL = 10  # groups with fewer items are drawn hollow
MOST = 45  # groups drawn at most; the table behind the figure keeps them all
WIDTH = 7.5  # inches
_STYLE = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.fonttype": "none",
    "svg.hashsalt": "factlab",  # the same figure gives the same file
}


def style() -> Any:
    """Our settings on top of matplotlib's own, whatever the caller has set; put back at the end of the block."""
    from matplotlib import style

    return style.context(["default", _STYLE])


def empty(figsize: tuple[float, float]) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    axes.set_facecolor("white")
    return figure, axes


def described(figure: Figure, alt: str) -> Figure:
    figure.set_label(" ".join(alt.split()))
    return figure


def rows(table: pd.DataFrame, wanted: Sequence[str]) -> pd.DataFrame:
    absent = [column for column in wanted if column not in table.columns]
    if absent:
        has = ", ".join(map(str, table.columns))
        raise ValueError(f"no column {', '.join(map(repr, absent))}; the table has {has}")
    return table.copy()


def floats(column: pd.Series) -> np.ndarray:
    import pandas as pd

    return pd.to_numeric(column).to_numpy(dtype=float, na_value=np.nan)


def floats_or_missing(values: np.ndarray) -> Any:
    import pandas as pd

    return pd.array([None if math.isnan(v) else v for v in values], dtype="Float64")


def named(column: pd.Series) -> list[str]:
    """Names as text; a missing one says so."""
    return ["(no name)" if missing else str(one) for one, missing in zip(column, column.isna(), strict=True)]


def shares_only(values: np.ndarray, value: str, where: str, label: str, names: Sequence[Any]) -> None:
    """Refuse scores that are not from 0 to 1, such as percentages."""
    if (outside := np.flatnonzero((values < 0) | (values > 1))).size:
        at = outside[0]
        raise ValueError(f"{where}, {label} {names[at]!r}: {value} is {values[at]:g}, expected a share from 0 to 1")


def level(rows: pd.DataFrame) -> str:
    """The confidence of the intervals in a table, with a space after it; 95 % where it does not say."""
    known = floats(rows["level"]) if "level" in rows.columns else np.empty(0)
    known = known[~np.isnan(known)]
    return f"{100 * known[0]:.3g} % " if known.size else "95 % "


def row_centres(lines: Sequence[int]) -> np.ndarray:
    """Where the rows lie, each as high as its label has lines."""
    heights = np.array([max(1.0, 0.8 * k) for k in lines])
    return heights.cumsum() - heights / 2


def row_limits(centres: np.ndarray, lines: Sequence[int]) -> tuple[float, float]:
    if not len(centres):
        return 1.0, 0.0
    first, last = (max(1.0, 0.8 * lines[i]) / 2 + 0.1 for i in (0, -1))
    return float(centres[-1] + last), float(centres[0] - first)


def row_names(axes: Axes, centres: np.ndarray, names: Sequence[str]) -> None:
    axes.set_yticks(centres, names)
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)  # a dollar sign in a name is a dollar sign
        tick.set_linespacing(1.0)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def beside(axes: Axes, text: str, points: float, y: float) -> None:
    """A number beside a row, right-aligned so many points to the right of the axes."""
    at = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "annotation_clip": False}
    axes.annotate(text, (1, y), xytext=(points, 0), ha="right", va="center", **at)


def heading(axes: Axes, text: str, points: float) -> None:
    """The heading of a column of such numbers."""
    axes.annotate(text, (1, 1), xycoords="axes fraction", xytext=(points, 3), textcoords="offset points", ha="right")


def nothing(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", style="italic")


def wrapped(name: Any, width: int = 34, hyphens: bool = False) -> str:
    """A name on as few lines as its length needs, the lines of about one length; `hyphens`: it may break at them."""
    parts = str(name).replace("-", "- ") if hyphens else str(name)
    words, longest = {"break_on_hyphens": hyphens}, max([8, *map(len, parts.split())])
    lines = textwrap.wrap(str(name), width, **words)
    even = (textwrap.wrap(str(name), narrower, **words) for narrower in range(longest, width))
    return "\n".join(next((found for found in even if len(found) <= len(lines)), lines))


def fitted(text: str, inches: float, size: float = 10) -> str:
    """Text on as many lines as its letters of so many points need in so many inches."""
    return "\n".join(textwrap.wrap(text, max(12, int(inches * 72 / (0.56 * size)))))


def title(axes: Axes, text: str, pad: float = 6) -> None:
    """What the figure counts, above it, on the lines that the width of the figure allows."""
    axes.set_title(fitted(text, axes.figure.get_figwidth() - 0.9), loc="left", fontsize=10, pad=pad)


def dots(axes: Axes, x: np.ndarray, y: np.ndarray, **settings: Any) -> pd.DataFrame:
    """Draw dots whose area is the number of items at one point; returns x, y, items, one row a dot."""
    import pandas as pd

    at = pd.DataFrame({"x": x, "y": y}).value_counts(sort=False).rename("items").reset_index()
    at = at.sort_values(["x", "y"], ignore_index=True)
    most = int(at["items"].max()) if len(at) else 1
    area = np.maximum(at["items"].to_numpy(float) * min(22, 420 / most), 6)
    axes.scatter(at["x"], at["y"], s=area, color=BLUE, alpha=0.6, lw=0, **settings)
    return at


def zoomed(values: np.ndarray) -> tuple[float, float]:
    """Ends of an axis for shares: the tenths around the values, or 0 and 1 where that saves less than 0.3."""
    values = values[~np.isnan(values)]
    if not values.size:
        return 0.0, 1.0
    margin = max(0.01, 0.05 * float(np.ptp(values)))
    low = max(0.0, math.floor(10 * (values.min() - margin)) / 10)
    high = min(1.0, math.ceil(10 * (values.max() + margin)) / 10)
    return (low, high) if high - low < 0.71 else (0.0, 1.0)


def zoomed_axis(axes: Axes, values: np.ndarray, name: str) -> None:
    """A vertical axis for shares, which says which part of 0 to 1 it shows."""
    low, high = zoomed(values)
    room = 0.02 * (high - low)  # a dot on the edge is whole
    axes.set_ylim(low - room, high + room)
    step = next(step for step in (0.02, 0.05, 0.1, 0.25) if (high - low) / step < 7.1)
    axes.set_yticks(np.arange(round((high - low) / step) + 1) * step + low)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.2f}".rstrip("0").rstrip("."))
    axes.grid(axis="y", color="#E6E6E6", lw=0.8)
    whole = (low, high) == (0, 1)
    axes.set_ylabel(f"{name} (0 to 1)" if whole else f"{name} (axis from {low:g} to {high:g})")


def share_axis(axes: Axes, name: str) -> None:
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.grid(axis="x", color="#E6E6E6", lw=0.8)
    axes.set_xlabel(name)


def whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))


def largest(rows: pd.DataFrame, n: str) -> tuple[pd.DataFrame, int]:
    """The groups that are drawn, in their order, and how many smaller ones are not."""
    if len(rows) <= MOST:
        return rows, 0
    kept = rows[n].fillna(0).sort_values(ascending=False, kind="stable").index[:MOST]
    return rows.loc[sorted(kept)].reset_index(drop=True), len(rows) - MOST


def note(axes: Axes, text: str) -> None:
    axes.annotate(
        text,
        (1, 0),
        xycoords="axes fraction",
        xytext=(0, -34),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=9,
        color="#6B6B6B",
    )


def interval(value: float, low: float, high: float) -> str:
    numbers = [f"{round(number, 2) + 0.0:.2f}" for number in (value, low, high)]  # + 0.0: no minus before a zero
    return numbers[0] if math.isnan(low) else f"{numbers[0]} [{numbers[1]}, {numbers[2]}]"


def percent(share: float) -> str:
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 < share < 1 else f"{100 * share:.0f} %"


def count(n: float) -> str:
    return "?" if math.isnan(n) else f"{n:,.0f}"


def plural(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def number(value: float) -> str:
    """Two decimals, or none where the number is large; no minus before a zero."""
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def settled(figure: Figure) -> None:
    """Lay a figure out once and for all: constrained layout moves a little with every drawing, and so would the file."""
    for _ in range(2):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
