"""Every plot of the notebooks: a table goes in, `(figure, table)` comes out, the table being what the figure shows, row
by row.

Figures are plain matplotlib `Figure` objects, made without pyplot, so that none stays open and no global setting
changes. Colours are those of Okabe and Ito (2008), which people with any colour vision can tell apart; each meaning has
a colour of its own, and a label too. `describe` gives the text for readers who cannot see the figure, built from its
numbers; `show`, `png` and `svg` put it on a page or into files.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from factlab.stats import Estimate

BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#9A9A9A", "#333333"
VERDICTS = {"true": BLUE, "false": ORANGE, "unknown": "#BBBBBB", "unparsable": "#666666"}
SMALL = 10  # groups with fewer items are drawn hollow
MOST = 45  # groups drawn at most; the table behind the figure keeps them all
_WIDTH = 7.5  # inches
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
    "svg.fonttype": "none",
    "svg.hashsalt": "factlab",  # the same figure gives the same file
}


# ---------------------------------------------------------------- on a page


def describe(figure: Figure) -> str:
    """The text that stands for a figure where it cannot be seen, built from its numbers.

    Parameters
    ----------
    figure : Figure
        Made by a function of this module.

    Returns
    -------
    str
        Empty for any other figure.
    """
    return str(figure.get_label() or "")


def png(figure: Figure, dpi: int = 144) -> bytes:
    """A figure as PNG. The same figure gives the same bytes; its description is in the file's metadata."""
    return _saved(figure, "png", {"Software": None, "Description": describe(figure)}, dpi=dpi)


def svg(figure: Figure) -> bytes:
    """A figure as SVG, its text kept as text. The same figure gives the same bytes."""
    return _saved(figure, "svg", {"Date": None, "Creator": None, "Description": describe(figure)})


def _saved(figure: Figure, kind: str, metadata: Mapping[str, Any], **settings: Any) -> bytes:
    out = io.BytesIO()
    with _style():
        figure.savefig(out, format=kind, metadata=metadata, facecolor="white", **settings)
    return out.getvalue()


def show(figure: Figure, caption: str = "", picture: bytes | None = None) -> None:
    """Show a figure in a notebook, with its description as alternative text.

    Parameters
    ----------
    figure : Figure
    caption : str
        A line to stand below it on a published page.
    picture : bytes, optional
        What `png` returned for it before, so that it is not drawn twice.

    Notes
    -----
    The picture is exactly what `png` returns; the description is in the output's metadata, where nbconvert looks for
    it.
    """
    from IPython.display import display

    said = {"alt": describe(figure)} | ({"caption": caption} if caption else {})
    display(
        {"image/png": picture or png(figure), "text/plain": describe(figure)}, metadata={"image/png": said}, raw=True
    )


# ---------------------------------------------------------------- the plots


def score_by_category(
    table: pd.DataFrame,
    value: str = "value",
    low: str = "low",
    high: str = "high",
    n: str = "n",
    label: str = "category",
    overall: Estimate | None = None,
    *,
    small: int = SMALL,
    unit: str = "answers",
    name: str = "score",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """A score and its interval for each category, highest first.

    Parameters
    ----------
    table : DataFrame
        One row a category, e.g. from `stats.estimates_by`.
    value, low, high, n, label : str
        Columns: score and interval (0..1, missing where undefined), number of items, name of the category.
    overall : Estimate, optional
        Drawn as a vertical line with its interval as a band.
    small : int
        Categories with fewer items have a hollow dot and a lighter line. One without an interval has no line.
    unit, name : str
        What is counted; what the score is called on the axis.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        The table sorted as drawn, top first: those without a score, which say `not scored` (and why, where the table
        has a column `reason`), last.
    """
    whole = _rows(table, [value, low, high, n, label]).sort_values(
        value, ascending=False, na_position="last", kind="stable"
    )
    whole = whole.reset_index(drop=True)
    rows, passed_over = _largest(whole, n)
    scores, lows, highs = (_floats(rows[column]) for column in (value, low, high))
    counts = _floats(rows[n])
    if (outside := np.flatnonzero((scores < 0) | (scores > 1))).size:
        where = f"{label} {rows[label][outside[0]]!r}"
        raise ValueError(f"score_by_category, {where}: {value} is {scores[outside[0]]:g}, expected a share from 0 to 1")
    level = f"{100 * float(rows['level'][0]):.3g} % " if "level" in rows.columns and len(rows) else "95 % "
    reasons = rows["reason"].fillna("").tolist() if "reason" in rows.columns else [""] * len(rows)
    names = [_wrapped(one, 34) for one in rows[label]]
    lines = [one.count("\n") + 1 for one in names]
    centres = _centres(lines)
    with _style():
        figure, axes = _empty(figsize or (_WIDTH, 1.3 + 0.27 * sum(max(1.0, 0.8 * k) for k in lines)))
        if overall is not None and overall.value is not None:
            if overall.low is not None:
                axes.axvspan(overall.low, overall.high, color=BLUE, alpha=0.13, lw=0)
            axes.axvline(overall.value, color=BLUE, lw=1.2, clip_on=False)
            axes.annotate(
                f"all {unit} {overall.value:.2f}",
                (overall.value, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="left" if overall.value < 0.12 else "right" if overall.value > 0.88 else "center",
                color=BLUE,
            )
        for i, centre in enumerate(centres):
            if math.isnan(scores[i]):
                said = f"not scored: {reasons[i]}" if reasons[i] else "not scored"
                axes.text(0.01, centre, said, va="center", style="italic", color="#6B6B6B")
                continue
            if not math.isnan(lows[i]):
                line = {"color": GREY, "lw": 1.1} if counts[i] < small else {"color": INK, "lw": 1.4}
                axes.plot([lows[i], highs[i]], [centre, centre], solid_capstyle="butt", zorder=2, **line)
            face = "white" if counts[i] < small else INK
            axes.plot(scores[i], centre, "o", ms=6, mfc=face, mec=INK, mew=1.3, zorder=3, clip_on=False)
            _right(axes, f"{scores[i]:.2f}", 44, centre)
        for i, centre in enumerate(centres):
            _right(axes, _count(counts[i]), 84, centre)
        if len(rows):
            _head(axes, "score", 44)
            _head(axes, "n", 84)
        else:
            _nothing(axes, "no categories")
        drawn = not np.isnan(lows).all()
        _share_axis(axes, f"{name} (0 to 1)" + (f" with {level}interval" if drawn else "") if len(rows) else name)
        _names(axes, centres, names)
        axes.set_ylim(*_limits(centres, lines))
        hollow = int(((counts < small) & ~np.isnan(scores)).sum())
        bare = int((np.isnan(lows) & ~np.isnan(scores)).sum())
        said = [f"hollow: fewer than {small} {unit}"] if hollow else []
        said += ["no line: no interval (too few, or all equal)"] if bare else []
        said += [f"{passed_over} smaller ones not drawn"] if passed_over else []
        if said:
            _note(axes, "; ".join(said))
    scored = np.flatnonzero(~np.isnan(scores))
    alt = f"Dot plot of the {name} in {_plural(len(rows), 'category', 'categories')}."
    if scored.size:
        said = [f"{rows[label][i]} {_interval(scores[i], lows[i], highs[i])}, n = {_count(counts[i])}" for i in scored]
        alt += f" Highest {said[0]}" + (f"; lowest {said[-1]}." if len(said) > 1 else ".")
    if overall is not None:
        alt += f" All {unit}: {overall}."
    alt += f" {hollow} with fewer than {small} {unit}." if hollow else ""
    alt += f" {bare} without an interval." if bare else ""
    alt += f" {len(rows) - len(scored)} not scored." if len(scored) < len(rows) else ""
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return _described(figure, alt), whole


def units_per_answer(
    counts: ArrayLike | pd.Series, *, unit: str = "atomic units", figsize: tuple[float, float] | None = None
) -> tuple[Figure, pd.DataFrame]:
    """How many atomic units the answers have.

    Parameters
    ----------
    counts : (n,) array of int
        Units of each answer; missing where the number is not known.
    unit : str
        What is counted, in the plural.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a bar: low, high (the fewest and the most units in it, both included), answers.
    """
    import pandas as pd

    given = _floats(pd.Series(counts))
    known = given[~np.isnan(given)]
    if (known < 0).any() or (known % 1 > 0).any():
        raise ValueError("units_per_answer: expected whole numbers of units, 0 or more")
    top = int(known.max()) if known.size else 0
    width = max(1, math.ceil((top + 1) / 40))
    lows = np.arange(0, top + 1, width)
    heights = np.bincount((known // width).astype(int), minlength=len(lows)) if known.size else np.zeros(1, dtype=int)
    shown = pd.DataFrame({"low": lows, "high": lows + width - 1, "answers": heights})
    median = float(np.median(known)) if known.size else math.nan
    missing = len(given) - len(known)
    with _style():
        figure, axes = _empty(figsize or (_WIDTH, 3.2))
        axes.bar(lows - 0.5, heights, width=width, align="edge", color=BLUE, edgecolor="white", lw=0.6)
        axes.set_xlim(-0.5, max(lows[-1] + width - 0.5, 9.5))
        axes.set_ylim(0, max(heights.max() * 1.12, 1))
        _whole(axes.xaxis)
        _whole(axes.yaxis)
        per_bar = f" (bars of {width})" if width > 1 else ""
        axes.set_xlabel(f"{unit} in an answer{per_bar}")
        axes.set_ylabel("answers")
        if known.size:
            axes.axvline(median, color=INK, lw=1.3, ls=(0, (4, 2)))
            left = median < (axes.get_xlim()[0] + axes.get_xlim()[1]) / 2
            axes.annotate(
                f"median {median:g}",
                (median, 1),
                xycoords=("data", "axes fraction"),
                xytext=(4 if left else -4, -2),
                textcoords="offset points",
                ha="left" if left else "right",
                va="top",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
            )
        else:
            _nothing(axes, "no answers")
        note = f"n = {len(known):,} {'answer' if len(known) == 1 else 'answers'}"
        axes.set_title(f"{note}; {missing:,} more without a count" if missing else note, loc="right", fontsize=10)
    alt = f"Histogram of {unit} in an answer, {note}."
    if known.size:
        q1, q3 = np.quantile(known, [0.25, 0.75])
        alt += f" Median {median:g}, middle half {q1:g} to {q3:g}, range {known.min():g} to {top:g}."
        alt += f" {int((known == 0).sum())} with none." if (known == 0).any() else ""
    alt += f" {missing} without a count." if missing else ""
    return _described(figure, alt), shown


_WHY = {
    "answered": "error or cut off",
    "not refused": "refused",
    "with units": "no atomic units",
    "all verdicts readable": "a verdict could not be read",
    "no unknown": "a unit is unknown",
    "scored": "undefined",
}


def outcomes(
    funnel: pd.DataFrame, *, unit: str = "answers", figsize: tuple[float, float] | None = None
) -> tuple[Figure, pd.DataFrame]:
    """From asked to scored: how many are left at each step, and why the others are not.

    Parameters
    ----------
    funnel : DataFrame
        What `units.funnel` returns, or any table with columns `stage` (or `step`), n (left), left_out (since the step
        before) and, optionally, `why`.
    unit : str
        What is counted.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        stage, n, left_out, why, in the order drawn, first step on top.
    """
    stage = "stage" if "stage" in funnel.columns else "step"
    rows = _rows(funnel, [stage, "n", "left_out"]).rename(columns={stage: "stage"}).reset_index(drop=True)
    if "why" not in rows.columns:
        rows["why"] = [_WHY.get(str(one), "") for one in rows["stage"]]
    rows = rows[["stage", "n", "left_out", "why"]]
    left, lost = _floats(rows["n"]), np.nan_to_num(_floats(rows["left_out"]))
    asked = left[0] if len(left) else 0
    names = [_wrapped(one, 30) for one in rows["stage"]]
    centres = np.arange(len(rows))
    with _style():
        figure, axes = _empty(figsize or (_WIDTH, 0.9 + 0.36 * max(1, len(rows))))
        axes.barh(centres, left, height=0.62, color=[BLUE] * len(rows))
        axes.barh(centres, lost, left=left, height=0.62, color="#F3C9A5")
        for i, centre in enumerate(centres):
            share = f" ({_percent(left[i] / asked)})" if i and asked else ""
            gone = f"   −{lost[i]:,.0f} {rows['why'][i]}".rstrip() if lost[i] else ""
            axes.annotate(
                f"{left[i]:,.0f}{share}{gone}",
                (left[i] + lost[i], centre),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                annotation_clip=False,
            )
        axes.set_xlim(0, max(asked, 1))
        axes.set_xticks([])
        axes.spines[["bottom"]].set_visible(False)
        _names(axes, centres, names)
        axes.set_ylim(*_limits(centres, [1] * len(rows)))
        axes.set_title(f"{unit} left (share of those asked) and lost at each step", loc="left", fontsize=10)
    parts = [f"{rows['stage'][0]} {asked:,.0f}"] if len(rows) else ["no steps"]
    for i in range(1, len(rows)):
        why = f" ({rows['why'][i]})" if rows["why"][i] else ""
        parts.append(f"{rows['stage'][i]} {left[i]:,.0f}" + (f", {lost[i]:,.0f} left out{why}" if lost[i] else ""))
    return _described(figure, f"Bars of how many {unit} are left at each step: {'; '.join(parts)}."), rows


def verdict_shares(
    table: pd.DataFrame, label: str = "group", *, unit: str = "verdicts", figsize: tuple[float, float] | None = None
) -> tuple[Figure, pd.DataFrame]:
    """What the judge said, group by group.

    Parameters
    ----------
    table : DataFrame
        One row a group: `label`, and the number of verdicts in each of the columns true, false, unknown, unparsable (an
        absent column counts as none).
    label : str
        Column of the groups.
    unit : str
        What is counted.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        label, the four counts, n, and the shares as share_true and so on (0..1, missing where n is 0), as drawn, top
        first.
    """
    rows = _rows(table, [label]).reset_index(drop=True)
    for verdict in VERDICTS:
        rows[verdict] = np.nan_to_num(_floats(rows[verdict])).astype(int) if verdict in rows.columns else 0
    rows = rows[[label, *VERDICTS]].copy()
    if (rows[list(VERDICTS)] < 0).any(axis=None):
        raise ValueError("verdict_shares: a count is negative")
    rows["n"] = rows[list(VERDICTS)].sum(axis=1)
    shares = rows[list(VERDICTS)].to_numpy(float) / np.where(rows["n"] > 0, rows["n"], np.nan)[:, None]
    for j, verdict in enumerate(VERDICTS):
        rows[f"share_{verdict}"] = _floats_or_missing(shares[:, j])
    whole = rows
    rows, passed_over = _largest(whole, "n")
    shares = rows[[f"share_{v}" for v in VERDICTS]].astype(float).to_numpy(na_value=np.nan)
    names = [_wrapped(one, 34) for one in rows[label]]
    lines = [one.count("\n") + 1 for one in names]
    centres = _centres(lines)
    with _style():
        figure, axes = _empty(figsize or (_WIDTH, 1.3 + 0.32 * max(1, sum(max(1.0, 0.75 * k) for k in lines))))
        start = np.zeros(len(rows))
        for j, (verdict, colour) in enumerate(VERDICTS.items()):
            width = np.nan_to_num(shares[:, j])
            axes.barh(centres, width, left=start, height=0.7, color=colour, edgecolor="white", lw=0.8, label=verdict)
            for i in np.flatnonzero(width >= 0.06):
                ink = "white" if verdict in ("true", "unparsable") else "black"  # the higher contrast
                axes.text(start[i] + width[i] / 2, centres[i], _percent(width[i]), ha="center", va="center", color=ink)
            start = start + width
        for i, centre in enumerate(centres):
            if rows["n"][i] == 0:
                axes.text(0.01, centre, f"no {unit}", va="center", style="italic", color="#6B6B6B")
            _right(axes, f"{rows['n'][i]:,}", 44, centre)
        if len(rows):
            _head(axes, "n", 44)
        else:
            _nothing(axes, "no groups")
        _share_axis(axes, f"share of {unit}")
        _names(axes, centres, names)
        axes.set_ylim(*_limits(centres, lines))
        handles, labels = axes.get_legend_handles_labels()
        used = [k for k, verdict in enumerate(VERDICTS) if rows[verdict].sum()] if len(rows) else []
        if used:
            axes.legend(
                [handles[k] for k in used],
                [labels[k] for k in used],
                loc="lower left",
                bbox_to_anchor=(-0.01, 1.0),
                ncols=4,
                frameon=False,
                handlelength=1,
                columnspacing=1.4,
                borderpad=0.1,
            )
        if passed_over:
            _note(axes, f"{passed_over} smaller ones not drawn")
    said = []
    for i in range(len(rows)):
        present = [f"{v} {_percent(shares[i, j])}" for j, v in enumerate(VERDICTS) if rows[v][i]]
        said.append(f"{rows[label][i]}: {', '.join(present) or 'none'} (n = {rows['n'][i]:,})")
    alt = f"Stacked bars of the share of {unit}. {'; '.join(said) or 'No groups'}."
    alt += f" {passed_over} smaller ones are not drawn; they are in the table." if passed_over else ""
    return _described(figure, alt), whole


def score_against_length(
    table: pd.DataFrame,
    precision: str = "precision",
    length: str = "n_units",
    *,
    unit: str = "atomic units",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Whether longer answers score higher or lower.

    Parameters
    ----------
    table : DataFrame
        One row an answer, e.g. from `units.factual_precision`.
    precision, length : str
        Columns: factual precision (0..1, missing where not scored) and length of the answer.
    unit : str
        What the length is measured in.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a dot: length, precision, answers (how many lie there; its area). Answers without a precision or a
        length are left out, and the figure says how many.

    Notes
    -----
    The title gives Spearman's rank correlation with its interval (`stats.correlation`) where it is defined.
    """
    from factlab import stats

    rows = _rows(table, [precision, length])
    x, y = _floats(rows[length]), _floats(rows[precision])
    kept = ~np.isnan(x) & ~np.isnan(y)
    left_out, x, y = int((~kept).sum()), x[kept], y[kept]
    import pandas as pd

    shown = pd.DataFrame({"length": x, "precision": y}).value_counts(sort=False).rename("answers").reset_index()
    shown = shown.sort_values(["length", "precision"], ignore_index=True)
    found = stats.correlation(x, y).set_index("coefficient").loc["spearman"] if len(x) else None
    if found is None:
        said = ""
    elif pd.isna(found["value"]):
        said = f"; rank correlation undefined: {found['reason']}"
    elif pd.isna(found["low"]):
        said = f"; Spearman's rho {found['value']:.2f} ({found['reason']})"
    else:
        said = f"; Spearman's rho {_interval(found['value'], found['low'], found['high'])}"
    n = f"n = {len(x):,} {'answer' if len(x) == 1 else 'answers'}"
    missing = f", {left_out:,} not scored" if left_out else ""
    with _style():
        figure, axes = _empty(figsize or (5.6, 3.6))
        most = int(shown["answers"].max()) if len(shown) else 1
        area = np.maximum(shown["answers"].to_numpy(float) * min(22, 420 / most), 6)
        axes.scatter(shown["length"], shown["precision"], s=area, color=BLUE, alpha=0.6, lw=0, clip_on=False)
        axes.set_ylim(-0.04, 1.04)
        axes.set_xlim(0, max(x.max() * 1.05, 1) if len(x) else 1)
        if len(x) and (x % 1 == 0).all():
            _whole(axes.xaxis)
        axes.set_xlabel(f"length of the answer ({unit})")
        axes.set_ylabel("factual precision (0 to 1)")
        if not len(x):
            _nothing(axes, "no scored answers")
        axes.set_title(f"{n}{missing}{said}", loc="left", fontsize=10)
        if most > 1:
            _note(axes, f"dot area: answers at one point, up to {most:,}")
    alt = f"Scatter plot of factual precision against the length of the answer in {unit}, {n}{missing}{said}."
    return _described(figure, alt), shown


# ---------------------------------------------------------------- parts


def _style() -> Any:
    """Our settings on top of matplotlib's own, whatever the caller has set; put back at the end of the block."""
    from matplotlib import style

    return style.context(["default", _STYLE])


def _empty(figsize: tuple[float, float]) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    axes.set_facecolor("white")
    return figure, axes


def _described(figure: Figure, alt: str) -> Figure:
    figure.set_label(" ".join(alt.split()))
    return figure


def _rows(table: pd.DataFrame, wanted: Sequence[str]) -> pd.DataFrame:
    absent = [column for column in wanted if column not in table.columns]
    if absent:
        has = ", ".join(map(str, table.columns))
        raise ValueError(f"no column {', '.join(map(repr, absent))}; the table has {has}")
    return table.copy()


def _floats(column: pd.Series) -> np.ndarray:
    import pandas as pd

    return pd.to_numeric(column).to_numpy(dtype=float, na_value=np.nan)


def _floats_or_missing(values: np.ndarray) -> Any:
    import pandas as pd

    return pd.array([None if math.isnan(v) else v for v in values], dtype="Float64")


def _centres(lines: Sequence[int]) -> np.ndarray:
    """Where the rows lie, each as high as its label has lines."""
    heights = np.array([max(1.0, 0.8 * k) for k in lines])
    return heights.cumsum() - heights / 2


def _limits(centres: np.ndarray, lines: Sequence[int]) -> tuple[float, float]:
    if not len(centres):
        return 1.0, 0.0
    first, last = (max(1.0, 0.8 * lines[i]) / 2 + 0.1 for i in (0, -1))
    return float(centres[-1] + last), float(centres[0] - first)


def _names(axes: Axes, centres: np.ndarray, names: Sequence[str]) -> None:
    axes.set_yticks(centres, names)
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)  # a dollar sign in a name is a dollar sign
        tick.set_linespacing(1.0)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _right(axes: Axes, text: str, points: float, y: float) -> None:
    """A number beside a row, right-aligned so many points to the right of the axes."""
    at = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "annotation_clip": False}
    axes.annotate(text, (1, y), xytext=(points, 0), ha="right", va="center", **at)


def _head(axes: Axes, text: str, points: float) -> None:
    """The heading of a column of such numbers."""
    axes.annotate(text, (1, 1), xycoords="axes fraction", xytext=(points, 3), textcoords="offset points", ha="right")


def _nothing(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", style="italic")


def _wrapped(name: Any, width: int = 34) -> str:
    """A name on as few lines as its length needs, the lines of about one length."""
    words, longest = {"break_on_hyphens": False}, max([8, *map(len, str(name).split())])
    lines = textwrap.wrap(str(name), width, **words)
    even = (textwrap.wrap(str(name), narrower, **words) for narrower in range(longest, width))
    return "\n".join(next((found for found in even if len(found) <= len(lines)), lines))


def _share_axis(axes: Axes, name: str) -> None:
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.grid(axis="x", color="#E6E6E6", lw=0.8)
    axes.set_xlabel(name)


def _whole(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))


def _largest(rows: pd.DataFrame, n: str) -> tuple[pd.DataFrame, int]:
    """The groups that are drawn, in their order, and how many smaller ones are not."""
    if len(rows) <= MOST:
        return rows, 0
    kept = rows[n].fillna(0).sort_values(ascending=False, kind="stable").index[:MOST]
    return rows.loc[sorted(kept)].reset_index(drop=True), len(rows) - MOST


def _note(axes: Axes, text: str) -> None:
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


def _interval(value: float, low: float, high: float) -> str:
    numbers = [f"{round(number, 2) + 0.0:.2f}" for number in (value, low, high)]  # + 0.0: no minus before a zero
    return numbers[0] if math.isnan(low) else f"{numbers[0]} [{numbers[1]}, {numbers[2]}]"


def _percent(share: float) -> str:
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 < share < 1 else f"{100 * share:.0f} %"


def _count(n: float) -> str:
    return "?" if math.isnan(n) else f"{n:,.0f}"


def _plural(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
