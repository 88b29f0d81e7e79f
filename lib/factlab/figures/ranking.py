"""How the loss of a model fell while it was trained."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from factlab.figures import drawing
from factlab.figures.drawing import BLUE, GREY

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def loss_curve(
    table: pd.DataFrame,
    x: str = "step",
    y: str = "loss",
    epoch: str = "epoch",
    guess: float | None = None,
    *,
    guess_name: str = "guessing",
    name: str = "loss",
    figsize: tuple[float, float] | None = None,
) -> tuple[Figure, pd.DataFrame]:
    """The loss of each step, and its mean over each epoch.

    Parameters
    ----------
    table : DataFrame
        One row a step, e.g. from `models.rerank.Reranker.fit`. A step without a loss is left out of the figure.
    x, y, epoch : str
        Columns: number of the step, its loss (at least 0), the epoch it belongs to.
    guess : float, optional
        A horizontal line at this loss: that of a model that knows nothing.
    guess_name, name : str
        What that line is; what the loss is called on the axis.
    figsize : (float, float), optional
        Inches.

    Returns
    -------
    (Figure, DataFrame)
        The table sorted by step, with a column `epoch_mean`: the mean loss of the step's epoch.

    Notes
    -----
    The loss of a step is that of a few sentences before the model learned from them, so it scatters; what fell is seen in the means.
    From the second epoch on the sentences were seen before: a lower mean there is no proof that others are ranked better.
    """
    whole = drawing.rows(table, [x, y, epoch]).sort_values(x, kind="stable").reset_index(drop=True)
    losses = drawing.floats(whole[y])
    if (losses < 0).any():
        row = int(np.argmax(losses < 0))
        raise ValueError(f"loss_curve, {x} {whole[x][row]}: {y} is {losses[row]:g}, expected at least 0")
    whole["epoch_mean"] = whole.groupby(epoch)[y].transform("mean")
    steps, epochs = drawing.floats(whole[x]), whole[epoch].to_numpy()
    there = ~np.isnan(losses)
    numbers = list(dict.fromkeys(epochs[there]))
    means = []
    with drawing.style():
        figure, axes = drawing.empty(figsize or (drawing.WIDTH, 3.0))
        axes.plot(steps[there], losses[there], "o", ms=3.5, color=GREY, alpha=0.8, zorder=2)
        for number in numbers:
            own = np.flatnonzero((epochs == number) & there)
            means.append(float(whole["epoch_mean"][own[0]]))
            axes.plot(steps[own[[0, -1]]] + [-0.4, 0.4], [means[-1]] * 2, color=BLUE, lw=2, zorder=3)
            axes.annotate(
                f"{means[-1]:.2f}", (steps[own].mean(), means[-1]), xytext=(0, 4), textcoords="offset points",
                ha="center", color=BLUE, zorder=4, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
            )  # fmt: skip
        top = max([*losses[there], guess or 0.0, 0.1])
        if guess is not None:
            axes.axhline(guess, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
            axes.annotate(
                f"{guess_name} {guess:.2f}", (1, guess), xycoords=("axes fraction", "data"), xytext=(0, 3),
                textcoords="offset points", ha="right", color="#6B6B6B", fontsize=9,
            )  # fmt: skip
        axes.set_ylim(0, top * 1.12)
        axes.set_xlabel(x)
        axes.set_ylabel(name)
        axes.grid(axis="y", color="#E6E6E6", lw=0.8)
        if there.any():
            drawing.title(axes, "dots: single steps; lines: means of the epochs")
        else:
            drawing.nothing(axes, "no steps")
    alt = f"The {name} of {drawing.plural(int(there.sum()), 'step', 'steps')} of training."
    if means:
        alt += " Mean of " + ", ".join(f"epoch {n:g} {m:.2f}" for n, m in zip(numbers, means, strict=True)) + "."
    if guess is not None and not math.isnan(guess):
        alt += f" {guess_name}: {guess:.2f}."
    return drawing.described(figure, alt), whole
