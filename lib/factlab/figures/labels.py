"""Direct labels that do not cover each other: in a column to the right of a plot, or around its points.

Both need the size of the plot on the page, so they lay out the figure once, without drawing it. Limits, axis labels and
titles must be set before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from factlab.figures.drawing import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 10  # points
_SMALLEST = 6.5
_LEADING = 1.25  # height of a line of text in multiples of its size
_LEADER = {"arrowstyle": "-", "lw": 0.9, "ls": ":", "relpos": (0, 0.5), "shrinkA": 2, "shrinkB": 3}
_NEAR = 7  # labels farther away than this have a line to their point
_DISTANCES = (7, 13, 21, 31, 43, 58, 76)  # points between a dot and its label


def spread(wanted: ArrayLike, heights: ArrayLike, low: float, high: float) -> np.ndarray:
    """Move labels apart until none covers another, as little as possible (least squares).

    Parameters
    ----------
    wanted, heights : (k,) arrays
        Where the centre of each label should be, and how high it is.
    low, high : float
        The room. Labels that need more stand out of it below.

    Returns
    -------
    (k,) array
        Centres, in the order given; labels that want the same place keep their order, the first lowest.
    """
    wanted, heights = np.asarray(wanted, dtype=float), np.asarray(heights, dtype=float)
    if not wanted.size:
        return wanted
    order = np.argsort(wanted, kind="stable")
    heights = heights[order]
    above = heights.cumsum() - heights / 2 - heights[0] / 2  # centre above the lowest one's when all are stacked
    # In what is left after the stack is taken away, labels touch where neighbours are equal: a monotone regression.
    blocks: list[list[float]] = []
    for value in wanted[order] - above:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            value, weight = blocks.pop()
            blocks[-1] = [
                (blocks[-1][0] * blocks[-1][1] + value * weight) / (blocks[-1][1] + weight),
                blocks[-1][1] + weight,
            ]
    free = np.concatenate([np.full(int(weight), value) for value, weight in blocks])
    lowest, highest = low + heights[0] / 2, high - heights.sum() + heights[0] / 2
    free = np.clip(free, lowest, highest) if lowest <= highest else np.full(len(free), highest)
    out = np.empty(len(free))
    out[order] = free + above
    return out


def beside_axes(
    axes: Axes,
    at: Sequence[tuple[float | None, float]],
    texts: Sequence[str],
    colours: Sequence[str],
    points: float = 16,
    asides: Sequence[float] | None = None,
) -> list[Any]:
    """Labels in a column to the right of the axes, each with a thin line to what it names.

    Parameters
    ----------
    axes : Axes
    at : sequence of (x, y)
        What is named, in data coordinates; x None is the right edge.
    texts, colours : sequence of str
        Labels, which may have several lines, and the colours of their thin lines.
    points : float
        Left end of the labels, right of the axes.
    asides : sequence of float, optional
        How many points right of its x each of the named is drawn.

    Returns
    -------
    list of Annotation
    """
    from matplotlib.transforms import ScaledTranslation

    if not texts:
        return []
    axes.figure.draw_without_rendering()
    room = axes.get_window_extent().height * 72 / axes.figure.dpi
    rows = sum(text.count("\n") + 1 for text in texts)
    size = min(_SIZE, max(_SMALLEST, room / (rows * _LEADING)))
    heights = [(text.count("\n") + 1) * size * _LEADING for text in texts]
    fractions = axes.transAxes.inverted().transform(axes.transData.transform([(0, y) for _, y in at]))[:, 1]
    centres = spread(fractions * room, heights, 0, room) / room
    right = axes.transAxes + ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    made = []
    for (x, y), text, colour, centre, aside in zip(at, texts, colours, centres, asides or [0] * len(at), strict=True):
        base = axes.get_yaxis_transform() if x is None else axes.transData
        made.append(
            axes.annotate(
                text,
                (1 if x is None else x, y),
                xycoords=base + ScaledTranslation(aside / 72, 0, axes.figure.dpi_scale_trans),
                xytext=(1, centre),
                textcoords=right,
                va="center",
                fontsize=size,
                linespacing=1.05,
                arrowprops={**_LEADER, "color": colour},
                annotation_clip=False,
            )
        )
    return made


def around(
    axes: Axes,
    anchors: Sequence[ArrayLike],
    texts: Sequence[str],
    colours: Sequence[str],
    *,
    dots: ArrayLike = (),
    strokes: Sequence[ArrayLike] = (),
    size: float = 9.5,
) -> tuple[list[int], list[Any]]:
    """Labels around points, where they cover neither each other nor a point.

    Parameters
    ----------
    axes : Axes
    anchors : sequence of (m, 2) arrays
        For each label the points it may stand beside, the best one first, in data coordinates.
    texts, colours : sequence of str
    dots : (k, 2) array
        Every point that must stay visible.
    strokes : sequence of (m, 2) arrays
        Lines that are better not covered.
    size : float
        Of the letters, in points.

    Returns
    -------
    list of int
        The labels for which there was no room; they are not drawn.
    list of Annotation
        The others.

    Notes
    -----
    One label after the other, in the order given, takes the free place that is nearest and crosses the fewest lines:
    eight directions, seven distances. A label farther away has a thin line to its point, which crosses no other label.
    """
    figure, refused, made = axes.figure, [], []
    figure.draw_without_rendering()
    scale = 72 / figure.dpi
    frame = axes.get_window_extent()
    frame = np.array([frame.x0 + 1, frame.y0 + 1, frame.x1 - 1, frame.y1 - 1]) * scale
    on_page = lambda points: axes.transData.transform(np.asarray(points, dtype=float).reshape(-1, 2)) * scale  # noqa: E731
    taken = [np.r_[dot - 5, dot + 5] for dot in on_page(dots)]
    at_first = len(taken)
    inked = [_along(on_page(stroke)) for stroke in strokes if len(stroke) > 1]
    lines = np.concatenate(inked) if inked else np.empty((0, 2))
    for number, (points, text, colour) in enumerate(zip(anchors, texts, colours, strict=True)):
        trial = axes.annotate(text, (0.5, 0.5), xycoords="axes fraction", fontsize=size, linespacing=1.05)
        extent = trial.get_window_extent()
        trial.remove()
        wide, high = extent.width * scale + 2, extent.height * scale + 1
        best: tuple[float, Any] = (np.inf, None)
        written = taken[at_first:]
        for rank, point in enumerate(on_page(points)):
            for far in _DISTANCES:
                for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
                    away = far if not (dx and dy) else 0.75 * far
                    centre = point + [dx * (away + wide / 2), dy * (away + high / 2)]
                    box = np.r_[centre - [wide / 2, high / 2], centre + [wide / 2, high / 2]]
                    if (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any() or _covers(box, taken):
                        continue
                    leader = _along(np.array([point, centre])) if far > _NEAR else np.empty((0, 2))
                    if any(((leader > own[:2]) & (leader < own[2:])).all(axis=1).any() for own in written):
                        continue
                    crossed = ((lines > box[:2]) & (lines < box[2:])).all(axis=1).sum()
                    cost = far + 0.15 * abs(dx * dy) * far + 10 * rank + 3 * min(crossed, 12)
                    if cost < best[0]:
                        best = cost, (rank, centre, box, leader)
        if best[1] is None:
            refused.append(number)
            continue
        rank, centre, box, leader = best[1]
        taken.append(box)
        lines = np.concatenate([lines, leader])
        point = np.asarray(points, dtype=float).reshape(-1, 2)[rank]
        label = axes.annotate(
            text,
            point,
            xytext=centre - on_page(point)[0],
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            linespacing=1.05,
            color=colour,
            arrowprops={"arrowstyle": "-", "lw": 0.7, "color": GREY, "shrinkA": 0, "shrinkB": 4}
            if len(leader)
            else None,
            zorder=5,
        )
        made.append(label)
    return refused, made


def _covers(box: np.ndarray, taken: Sequence[np.ndarray]) -> bool:
    if not taken:
        return False
    others = np.array(taken)
    return bool(((box[:2] < others[:, 2:]) & (box[2:] > others[:, :2])).all(axis=1).any())


def _along(corners: np.ndarray) -> np.ndarray:
    """Points every few points of length along a line."""
    pieces = []
    for start, end in zip(corners, corners[1:], strict=False):
        steps = max(2, int(np.hypot(*(end - start)) / 3))
        pieces.append(start + np.linspace(0, 1, steps)[:, None] * (end - start))
    return np.concatenate(pieces)
