"""The loss of a training: a dot a step, a line an epoch."""

import numpy as np
import pandas as pd
import pytest
from test_figures import texts

from factlab import figures

TABLE = pd.DataFrame({"step": [2, 1, 3, 4], "epoch": [1, 1, 2, 2], "loss": [1.0, 2.0, 0.5, 0.7]})


def test_steps_and_means():
    figure, table = figures.loss_curve(TABLE, guess=1.609)
    assert table["step"].tolist() == [1, 2, 3, 4] and table["epoch_mean"].tolist() == [1.5, 1.5, 0.6, 0.6]
    dots, first, second, guess = figure.axes[0].lines
    assert dots.get_xydata().tolist() == [[1, 2], [2, 1], [3, 0.5], [4, 0.7]]
    assert (first.get_ydata() == 1.5).all() and np.allclose(second.get_ydata(), 0.6)
    assert list(guess.get_ydata()) == [1.609, 1.609] and "guessing 1.61" in texts(figure)
    assert figures.describe(figure) == (
        "The loss of 4 steps of training. Mean of epoch 1 1.50, epoch 2 0.60. guessing: 1.61."
    )


def test_no_steps_and_missing_ones():
    figure, table = figures.loss_curve(TABLE.iloc[:0])
    assert len(table) == 0 and "no steps" in texts(figure)
    figure, table = figures.loss_curve(TABLE.assign(loss=[1.0, None, None, None]))
    assert len(table) == 4 and len(figure.axes[0].lines[0].get_xdata()) == 1


def test_a_negative_loss_is_refused():
    with pytest.raises(ValueError, match="step 3: loss is -1, expected at least 0"):
        figures.loss_curve(TABLE.assign(loss=[1, 1, -1, 1]))
