"""How similar the replies to one prompt are to each other: matrices of similarity as heatmaps (CheckEmbed, Figures 5 and 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from factlab.figures import drawing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CELLS = 12  # rows of a matrix whose cells have numbers in them, at most
MOST_MATRICES = 12  # matrices drawn at most; the table behind the figure keeps them all
_LIGHT, _DARK = 0.2, 1.0  # the part of matplotlib's `Blues` that is used: its lightest tones look like paper
_SMALLEST = 5.5  # points of the numbers in the cells, at least
_SIZE = 9.5  # points of the titles


def similarity_heatmaps(
    matrices: ArrayLike | Sequence[ArrayLike],
    names: str | Sequence[str],
    truth: bool = False,
    summaries: Any | Sequence[Any] | None = None,
    *,
    columns: int | None = None,
    name: str = "similarity",
    unit: tuple[str, str] = ("reply", "replies"),
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """Matrices of similarity side by side, on one scale of colours.

    Parameters
    ----------
    matrices : (k, k) array, or sequence of them
        Similarity of each reply with each, at most 1; k may differ. NaN where a reply could not be compared: hatched,
        and counted in the title.
    names : str, or sequence of str
        What each matrix is, e.g. `document 0, CheckEmbed`; all different.
    truth : bool
        Whether the last row and column of each matrix are the ground truth: set apart, and named so.
    summaries : Summary or sequence of Summary, optional
        `level` and `spread` of each matrix; what `stability.summarise` returns for it when None.
    columns : int, optional
        How many stand side by side; as many as make them largest in `figsize` when None.
    name, unit : str, (str, str)
        What the colours mean; what is compared, one and many.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        One row a cell: name, i, j (from 1; the ground truth has the last number), similarity (missing where the matrix
        has NaN).

    Raises
    ------
    ValueError
        If a matrix is not square or has a number above 1 or an infinite one, or if the names do not fit.

    Notes
    -----
    The numbers stand in the cells of matrices of at most `MOST_CELLS` rows, where they are legible.
    """
    import pandas as pd

    if isinstance(names, str):
        matrices, names = [matrices], [names]
        summaries = None if summaries is None else [summaries]
    names = [str(one) for one in names]
    squares = _checked(matrices, names, truth)
    if summaries is None:
        summaries = [_summary(one, square, truth) for one, square in zip(names, squares, strict=True)]
    if len(summaries) != len(squares):
        raise ValueError(f"similarity_heatmaps: {len(squares)} matrices, {len(summaries)} summaries")
    cells = [np.indices(square.shape).reshape(2, -1) + 1 for square in squares]
    table = pd.DataFrame(
        {
            "name": [one for one, square in zip(names, squares, strict=True) for _ in range(square.size)],
            "i": np.concatenate([i for i, _ in cells]) if cells else np.empty(0, dtype=int),
            "j": np.concatenate([j for _, j in cells]) if cells else np.empty(0, dtype=int),
            "similarity": drawing.floats_or_missing(np.concatenate([*[square.ravel() for square in squares], []])),
        }
    )
    passed_over = max(0, len(squares) - MOST_MATRICES)
    drawn = squares[:MOST_MATRICES]
    sizes = [max(0, len(square) - truth) for square in drawn]
    said = [_said(square, summary, truth, unit) for square, summary in zip(drawn, summaries, strict=False)]
    known = np.concatenate([*[square[~np.isnan(square)] for square in drawn], []])
    low, high = _scale(known)
    hatched = any(np.isnan(square).any() for square in drawn)
    wide = columns or min(len(drawn) or 1, 2 if len(drawn) <= 4 else 3)
    if figsize is None:
        side = (drawing.WIDTH - 1.3) / max(wide, 2)
        figsize = (side * wide + 1.3, (side + 0.45) * max(1, math.ceil(len(drawn) / wide)) + 0.4)
    elif columns is None:
        wide = _columns(len(drawn), figsize)
    notes = [f"last row and column of {'each' if len(drawn) > 1 else 'the matrix'}: ground truth"] if truth else []
    notes += ["hatched: missing"] if hatched else []
    notes += [f"{passed_over} more matrices not drawn"] if passed_over else []
    with drawing.style():
        figure, panels = _grid(len(drawn), wide, figsize)
        if notes:
            text = drawing.fitted("; ".join(notes), figsize[0] - 0.3, _SIZE)
            figure.suptitle(text, x=0.01, ha="left", fontsize=_SIZE, color="#6B6B6B")
        meshes = [_cells(axes, square, truth, low, high) for axes, square in zip(panels, drawn, strict=False)]
        meshes = [mesh for mesh in meshes if mesh is not None]
        if meshes:
            bar = figure.colorbar(meshes[0], ax=panels, fraction=0.05, pad=0.02, aspect=28)
            bar.set_label(drawing.fitted(name, figsize[1] - 0.8))
            bar.outline.set_visible(False)
            bar.ax.tick_params(length=2)
        _finish(figure, panels, drawn, names, said, truth, unit)
    alt = f"Heatmaps of the {name} between {unit[1]}, {drawing.plural(len(drawn), 'matrix', 'matrices')}"
    alt += ", the last row and column being the ground truth." if truth else "."
    for one, text, square, k in zip(names, said, drawn, sizes, strict=False):
        alt += f" {one}: {text}{_told(square, k, truth)}."
    alt += f" {passed_over} more matrices are not drawn; they are in the table." if passed_over else ""
    return drawing.described(figure, alt), table


def _checked(matrices: Any, names: Sequence[str], truth: bool) -> list[np.ndarray]:
    squares = [np.asarray(one, dtype=float) for one in matrices]
    if len(squares) != len(names):
        raise ValueError(f"similarity_heatmaps: {len(squares)} matrices, {len(names)} names")
    if len(set(names)) < len(names):
        twice = next(one for i, one in enumerate(names) if one in names[:i])
        raise ValueError(f"similarity_heatmaps, names: {twice!r} stands for two matrices")
    for one, square in zip(names, squares, strict=True):
        if square.size == 0 and not truth:
            continue
        if square.ndim != 2 or square.shape[0] != square.shape[1] or not square.size:
            raise ValueError(f"similarity_heatmaps, {one!r}: the shape is {square.shape}, expected a square matrix")
        if np.isinf(square).any() or (square > 1.001).any():  # single precision ends a little above 1
            wrong = square[np.isinf(square) | (square > 1.001)][0]
            raise ValueError(f"similarity_heatmaps, {one!r}: a similarity is {wrong:g}, expected at most 1")
    return [square.reshape(0, 0) if not square.size else square for square in squares]


def _summary(name: str, square: np.ndarray, truth: bool) -> Any:
    from factlab import stability

    try:
        return stability.summarise(square, truth=truth)
    except ValueError as error:
        raise ValueError(f"similarity_heatmaps, {name!r}: {error}") from None


def _colours() -> Any:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["Blues"](np.linspace(_LIGHT, _DARK, 256)))


def _scale(known: np.ndarray) -> tuple[float, float]:
    """Ends of the colours: the tenths around all numbers."""
    if not known.size:
        return 0.0, 1.0
    low = math.floor(round(10 * float(known.min()), 3)) / 10
    high = min(1.0, math.ceil(round(10 * float(known.max()), 3)) / 10)
    return (low, high) if high > low else (low - 0.1, high)


def _missing(square: np.ndarray, truth: bool) -> tuple[int, bool, int]:
    """Replies without a similarity to any other, whether the ground truth is missing, and single missing cells."""
    k = max(0, len(square) - truth)
    gaps = np.isnan(square)
    rows = np.diagonal(gaps)[:k] | ((gaps[:k, :k] | np.eye(k, dtype=bool)).all(axis=1) & (k > 1))
    no_truth = bool(truth and gaps[-1, :-1].all() and gaps[:-1, -1].all() and len(square) > 1)
    left = gaps[:k, :k][np.ix_(~rows, ~rows)].sum() if k else 0
    if truth and not no_truth:
        left += gaps[-1, :k][~rows].sum() + gaps[:k, -1][~rows].sum() + gaps[-1, -1]
    return int(rows.sum()), no_truth, int(left)


def _said(square: np.ndarray, summary: Any, truth: bool, unit: tuple[str, str]) -> str:
    def two(value: Any) -> str:
        return "undefined" if value is None or math.isnan(value) else drawing.number(value)

    k = max(0, len(square) - truth)
    rows, no_truth, cells = _missing(square, truth)
    text = f"level {two(summary.level)}, spread {two(summary.spread)}; {drawing.plural(k, *unit)}"
    text += f", {rows:,} missing" if rows else ""
    text += ", no ground truth" if no_truth else ""
    return text + (f", {drawing.plural(cells, 'cell', 'cells')} missing" if cells else "")


def _told(square: np.ndarray, k: int, truth: bool) -> str:
    """The range between two different replies, and to the ground truth."""
    between = square[:k, :k][~np.eye(k, dtype=bool)]
    between = between[~np.isnan(between)]
    text = (
        f"; between two from {drawing.number(between.min())} to {drawing.number(between.max())}" if between.size else ""
    )
    to_truth = square[-1, :-1] if truth and len(square) else np.empty(0)
    to_truth = to_truth[~np.isnan(to_truth)]
    if to_truth.size:
        text += f"; to the ground truth from {drawing.number(to_truth.min())} to {drawing.number(to_truth.max())}"
    return text


def _columns(n: int, figsize: tuple[float, float]) -> int:
    """How many side by side make n squares largest."""
    wide, high = figsize[0] - 1.3, figsize[1] - 0.5
    return max(range(1, max(n, 1) + 1), key=lambda c: min(wide / c, high / math.ceil(max(n, 1) / c) - 0.6))


def _grid(n: int, columns: int, figsize: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="compressed", facecolor="white")
    rows = max(1, math.ceil(n / columns))
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in panels:
        axes.set_aspect("equal")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, pad=2, labelsize=8.5)
    for axes in panels[max(n, 1) :]:
        axes.remove()
    if not n:
        panels[0].set_xticks([])
        panels[0].set_yticks([])
        drawing.nothing(panels[0], "no matrices")
    return figure, panels[: max(n, 1)]


def _edges(k: int, truth: bool) -> np.ndarray:
    """Edges of the rows, the last row some way off where it is the ground truth."""
    edges = np.arange(k + 1, dtype=float)
    gap = max(0.35, 0.025 * k)
    return np.r_[edges[:-1], edges[-2:] + gap] if truth and k > 1 else edges


def _cells(axes: Axes, square: np.ndarray, truth: bool, low: float, high: float) -> Any:
    """Draw one matrix, its first row on top."""
    k = len(square)
    axes.set_facecolor("white")
    if not k:
        axes.set_xlim(0, 1)
        axes.set_ylim(1, 0)
        drawing.nothing(axes, "no replies")
        return None
    edges = _edges(k, truth)
    apart = len(edges) > k + 1
    cells = np.insert(np.insert(square, k - 1, np.inf, axis=0), k - 1, np.inf, axis=1) if apart else square
    thin = {"edgecolors": "white", "linewidth": 0.6} if k <= 25 else {"rasterized": True, "linewidth": 0}
    mesh = axes.pcolormesh(edges, edges, np.ma.masked_invalid(cells), cmap=_colours(), vmin=low, vmax=high, **thin)
    if np.isnan(square).any():
        gaps = np.ma.masked_where(~np.isnan(cells), np.zeros(cells.shape))
        axes.pcolor(edges, edges, gaps, facecolor="none", edgecolor="#A8A8A8", hatch="//////", linewidth=0, cmap=None)
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(edges[-1], 0)
    return mesh


def _finish(
    figure: Figure,
    panels: Sequence[Axes],
    squares: Sequence[np.ndarray],
    names: Sequence[str],
    said: Sequence[str],
    truth: bool,
    unit: tuple[str, str],
) -> None:
    """Titles, ticks and numbers, which need the size of the panels on the page."""
    scale = 72 / figure.dpi
    for _ in range(2):  # titles of more lines leave less room, which can make more lines
        figure.draw_without_rendering()
        for axes, one, text in zip(panels, names, said, strict=False):
            inches = axes.get_window_extent().width * scale / 72
            size = _SIZE if inches > 1.5 else 7.0
            fitted = [drawing.fitted(part, inches, size) for part in (one, text)]
            axes.set_title("\n".join(fitted), loc="left", fontsize=size, pad=4, linespacing=1.1)
        for axes, square in zip(panels, squares, strict=False):
            cell = axes.get_window_extent().width * scale / max(1.0, _edges(len(square), truth)[-1])
            _ticks(axes, len(square), truth, cell)
    for axes in panels:
        place = axes.get_subplotspec()
        if place.is_first_col():
            axes.set_ylabel(unit[0], fontsize=9, labelpad=3)
        if panels.index(axes) + place.get_gridspec().ncols >= len(panels):
            axes.set_xlabel(unit[0], fontsize=9, labelpad=2)
    drawing.settled(figure)
    for axes, square in zip(panels, squares, strict=False):
        if 0 < len(square) <= MOST_CELLS:
            _numbers(axes, square, truth, axes.get_window_extent().width * scale / _edges(len(square), truth)[-1])


def _ticks(axes: Axes, k: int, truth: bool, cell: float) -> None:
    """Numbers of the rows, as many as fit cells of so many points."""
    if not k:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    edges = _edges(k, truth)
    n = k - 1 if truth else k
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100) if s * cell >= 9 + 4 * len(str(n))), n or 1)
    shown = [i for i in range(1, n + 1) if i == 1 or i % step == (1 if step == 2 else 0)]
    last = edges[-1] - 0.5
    for axis, room in ((axes.xaxis, 20), (axes.yaxis, 11)):
        own = [i for i in shown if not truth or (last - (i - 0.5)) * cell >= room]
        axis.set_ticks([i - 0.5 for i in own] + [last] * truth, [*map(str, own), *["truth"] * truth])


def _numbers(axes: Axes, square: np.ndarray, truth: bool, cell: float) -> None:
    texts = [["" if math.isnan(one) else drawing.number(one) for one in row] for row in square]
    # Widths of the signs in multiples of the size of the letters.
    widest = max(sum({".": 0.32, "-": 0.36}.get(sign, 0.64) for sign in text) for row in texts for text in row)
    size = min(9.0, (cell - 1.5) / max(widest, 1))
    if size < _SMALLEST or not widest:
        return
    mesh = axes.collections[0]
    k, edges = len(square), _edges(len(square), truth)
    centres = np.arange(k) + 0.5
    centres[-1] = edges[-1] - 0.5
    colours = mesh.cmap(mesh.norm(np.nan_to_num(square)))
    dark = colours[..., :3] @ [0.299, 0.587, 0.114] < 0.52
    for i in range(k):
        for j in range(k):
            if texts[i][j]:
                ink = "white" if dark[i, j] else "black"
                axes.text(centres[j], centres[i], texts[i][j], ha="center", va="center", fontsize=size, color=ink)
