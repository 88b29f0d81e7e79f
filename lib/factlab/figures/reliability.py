"""What is gained by answering only when confident: risk against coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.figures import drawing
from factlab.figures.curves import MOST_LINES
from factlab.figures.drawing import GREY, INK, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from factlab.stats import Estimate

_LOOKS = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
_ORACLE, _RANDOM = "best order", "random order"
_COLUMNS = ("coverage", "risk", "low", "high", "area")


def risk_coverage(
    table: pd.DataFrame,
    line: str | None = "method",
    areas: Mapping[Any, Estimate] | None = None,
    oracle: pd.DataFrame | None = None,
    *,
    name: str = "share of wrong answers",
    unit: str = "answers",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """How often the answers given are wrong when only the most confident ones are given.

    Parameters
    ----------
    table : DataFrame
        What `stability.risk_coverage` returns (coverage, risk and, where known, n, low, high, area), for several methods
        one below the other, with a column that names them.
    line : str
        Column of the methods; None: one curve.
    areas : mapping of method to Estimate, optional
        What `stability.aurc` returns for each: its interval stands in the label. Without it the area is the last one of
        the column.
    oracle : DataFrame, optional
        What `stability.risk_coverage` returns for the order that puts the smallest errors first, `risk_coverage(-error,
        error)`. Made here when None, where all methods were asked the same answers and an answer is right or wrong.
    name, unit : str
        What the risk is; what is given or held back.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a point, sorted: line, coverage, risk, low, high, area; the best and the random order last.

    Raises
    ------
    ValueError
        If a coverage does not lie in 0..1 or a risk is below 0.

    Notes
    -----
    Lower is better. A band is the interval of the risk at that coverage alone, drawn from `SMALL` answers on, and not for
    more than two curves. In random order the risk is, on average, that of all answers at any coverage: a straight line, drawn where it is the
    same for all methods.
    """
    curves, left_out = _curves(table, line)
    names = list(curves)
    drawn, passed_over = names[:MOST_LINES], max(0, len(names) - MOST_LINES)
    whole = {one: own for one, own in curves.items() if len(own)}
    ends = [(own["n"].iloc[-1], own["risk"].iloc[-1]) for own in whole.values()]
    same = bool(ends) and all(np.allclose(np.nan_to_num(end), np.nan_to_num(ends[0])) for end in ends)
    bounds: dict[str, pd.DataFrame] = {}
    if oracle is not None:
        bounds[_ORACLE] = _curve(oracle, "oracle")
    elif same and all(own["low"].notna().any() for own in whole.values()):
        bounds[_ORACLE] = _best(*ends[0])
    if same:
        bounds[_RANDOM] = _flat(ends[0][1])
    estimates = {str(key): one for key, one in (areas or {}).items()}
    said_area = {one: _area(own, estimates.get(one)) for one, own in (curves | bounds).items()}
    n = sorted({int(end[0]) for end in ends if not math.isnan(end[0])})
    said = [f"n = {' to '.join(f'{k:,}' for k in sorted({n[0], n[-1]}))} {unit}"] if n else []
    banded = {one: curves[one][curves[one]["low"].notna() & ~(curves[one]["n"] < SMALL)] for one in drawn}
    bands = len(drawn) <= 2 and any(len(own) for own in banded.values())
    said += [f"bands: {drawing.level(table)}intervals of a point, from {SMALL} {unit} on"] if bands else []
    said += ["areas with intervals"] if any("[" in text for text in said_area.values()) else []
    said += [f"{drawing.plural(left_out, 'point', 'points')} without coverage or risk"] if left_out else []
    said += ["risk of all differs: no random order"] if len(ends) > 1 and not same else []
    said += [f"{passed_over} more curves not drawn"] if passed_over else []
    risks = [curves[one]["risk"] for one in drawn] + [own["risk"] for own in bounds.values()]
    risks += [own["high"] for own in banded.values()] if bands else []
    size = figsize or (drawing.WIDTH, 4.0 + 0.3 * max(0, len(drawn) - 6))
    with drawing.style():
        figure, axes = drawing.empty(size)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        _risk_axis(axes, np.concatenate([*risks, []]), name, size[1] - 1.0)
        axes.set_xlabel(drawing.fitted(f"coverage (share of {unit} given, surest first)", size[0] - 2.6))
        axes.grid(color="#EBEBEB", lw=0.8)
        drawing.title(axes, "; ".join(said))
        if not whole:
            drawing.nothing(axes, f"no {unit}")
        looks = {
            one: {"color": drawing.COLOURS[i % 7], "ls": _LOOKS[i // 7 % 4], "lw": 1.7} for i, one in enumerate(drawn)
        }
        looks |= {
            _ORACLE: {"color": INK, "ls": (0, (4, 2)), "lw": 1.2},
            _RANDOM: {"color": GREY, "ls": (0, (1, 1)), "lw": 1.4},
        }
        shown = {one: own for one, own in ({k: curves[k] for k in drawn} | bounds).items() if len(own)}
        for one, own in shown.items():
            x, y = own["coverage"].to_numpy(), own["risk"].to_numpy()
            axes.plot(x, y, zorder=3 if one in drawn else 2, solid_joinstyle="round", **looks[one])
            if one in bounds:
                continue
            axes.plot(x[:1], y[:1], "o", color=looks[one]["color"], ms=3.5, mew=0, zorder=4, clip_on=False)
            if bands:
                at = banded[one]
                axes.fill_between(at["coverage"], at["low"], at["high"], color=looks[one]["color"], alpha=0.12, lw=0)
        _names(axes, shown, said_area, looks, size)
        drawing.settled(figure)
    alt = f"Line plot of the {name} against coverage, {drawing.plural(len(drawn), 'curve', 'curves')}"
    alt += f", {'; '.join(said)}." if said else "."
    for one, own in shown.items():
        points = [f"{_risk(own, c)} at coverage {c:g}" for c in (0.25, 0.5, 1)] if one != _RANDOM else [_risk(own, 1)]
        alt += f" {one or 'risk'}: {', '.join(points)}" + (f"; {said_area[one]}." if said_area[one] else ".")
    alt += f" {passed_over} more curves are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), _joined(curves | bounds, line)


def _curves(table: pd.DataFrame, line: str | None) -> tuple[dict[str, pd.DataFrame], int]:
    """The points of each method by coverage, in the order of their first rows, and how many rows have no place."""
    rows = drawing.rows(table, ["coverage", "risk"] + ([line] if line else []))
    names = np.array(drawing.named(rows[line]) if line else [""] * len(rows), dtype=object)
    found = {one: _curve(rows[names == one], one or "risk_coverage") for one in dict.fromkeys(names)}
    return found, len(rows) - sum(map(len, found.values()))


def _curve(rows: pd.DataFrame, where: str) -> pd.DataFrame:
    import pandas as pd

    have = {
        one: drawing.floats(rows[one]) if one in rows.columns else np.full(len(rows), math.nan)
        for one in (*_COLUMNS, "n")
    }
    own = pd.DataFrame(have)
    own = own[own["coverage"].notna() & own["risk"].notna()].sort_values("coverage", kind="stable", ignore_index=True)
    for column, top in (("coverage", 1.0), ("risk", math.inf)):
        wrong = own[column][(own[column] < 0) | (own[column] > top) | np.isinf(own[column])]
        if len(wrong):
            raise ValueError(
                f"risk_coverage, {where!r}: {column} is {wrong.iloc[0]:g}, expected "
                + ("a share from 0 to 1" if top == 1 else "0 or more")
            )
    return own


def _best(n: float, risk: float) -> pd.DataFrame:
    """The curve of n answers, a share `risk` of them wrong, when every right one comes before every wrong one."""
    import pandas as pd

    if math.isnan(n):
        n = 1000  # near enough for a curve
    given = np.arange(1, round(n) + 1)
    wrong = np.maximum(given - (len(given) - round(n * risk)), 0)
    risks = wrong / given
    area = np.cumsum(risks) / given
    own = pd.DataFrame({"coverage": given / len(given), "risk": risks, "area": area, "n": given})
    return own.reindex(columns=[*_COLUMNS, "n"])


def _flat(risk: float) -> pd.DataFrame:
    import pandas as pd

    own = pd.DataFrame({"coverage": [0.0, 1.0], "risk": risk, "area": risk})
    return own.reindex(columns=[*_COLUMNS, "n"])


def _area(own: pd.DataFrame, estimate: Any) -> str:
    if estimate is not None and estimate.value is not None:
        low, high = (math.nan if one is None else one for one in (estimate.low, estimate.high))
        return f"area {drawing.interval(estimate.value, low, high)}"
    last = own["area"].iloc[-1] if len(own) else math.nan
    return "" if math.isnan(last) else f"area {drawing.number(last)}"


def _risk(own: pd.DataFrame, coverage: float) -> str:
    """The risk at the first point that reaches a coverage."""
    reached = own["risk"][own["coverage"] >= coverage - 1e-9]
    return drawing.number(reached.iloc[0]) if len(reached) else "not reached"


def _joined(curves: Mapping[str, pd.DataFrame], line: str | None) -> pd.DataFrame:
    import pandas as pd

    parts = [own[list(_COLUMNS)] for own in curves.values()]
    names = [one for one, own in curves.items() for _ in range(len(own))]
    numbers = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(_COLUMNS), dtype=float)
    columns = {one: drawing.floats_or_missing(numbers[one].to_numpy(dtype=float)) for one in _COLUMNS}
    return pd.DataFrame({line or "curve": names} | columns)


def _risk_axis(axes: Axes, risks: np.ndarray, name: str, inches: float) -> None:
    """From 0 to the tenth above the highest risk; a risk is compared with none at all."""
    risks = risks[~np.isnan(risks)]
    top = max(0.1, math.ceil(round(10 * float(risks.max()), 6)) / 10) if risks.size else 1.0
    axes.set_ylim(-0.015 * top, 1.015 * top)
    step = next((one for one in (0.02, 0.05, 0.1, 0.25, 0.5, 1) if top / one < 6.1), top / 5)
    ticks = np.arange(math.floor(top / step + 1e-9) + 1) * step
    axes.set_yticks(ticks, [f"{tick:.2f}".rstrip("0").rstrip(".") or "0" for tick in ticks])
    axes.set_ylabel(drawing.fitted(name, inches))


def _names(
    axes: Axes,
    curves: Mapping[str, pd.DataFrame],
    areas: Mapping[str, str],
    looks: Mapping[str, Any],
    size: tuple[float, float],
) -> None:
    """Name and area of each curve in a column on the right, the highest first: their ends coincide."""
    order = sorted(curves, key=lambda one: -float(curves[one]["risk"].mean()))
    for wide in (22, 34) if size[0] > 6 else (14, 22, 34):  # longer lines where there would be too many
        texts = {one: (drawing.wrapped(one, wide, hyphens=True) + "\n" + areas[one]).strip() for one in order}
        order = [one for one in order if texts[one]]
        lines = sum(texts[one].count("\n") + 1 for one in order)
        letters = 72 * (size[1] - 0.5) / (1.25 * lines + 0.9 * len(order) + 0.1)
        if letters >= 7:
            break
    if not order:
        return
    letters = max(5.5, min(9.5, letters))
    handles = [axes.plot([], [], label=texts[one], **looks[one])[0] for one in order]
    look = {"frameon": False, "fontsize": letters, "labelspacing": 0.9 if letters > 7 else 0.3, "handlelength": 1.8}
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), **look)
