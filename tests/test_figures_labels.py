"""Labels beside and around: moved as little as possible, never on each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_figures import overlaps, written

from factlab.figures import drawing, labels


@pytest.mark.parametrize(
    ("wanted", "heights", "room", "centres"),
    [
        ([], [], (0, 10), []),
        ([2, 8], [1, 1], (0, 10), [2, 8]),  # nothing in the way
        ([5, 5], [2, 2], (0, 10), [4, 6]),  # as far one way as the other
        ([6, 5], [2, 4], (0, 20), [7, 4]),  # three apart: each gives way by one
        ([0, 10], [2, 2], (0, 10), [1, 9]),  # inside the room
        ([5, 5, 5], [2, 2, 2], (0, 4), [-1, 1, 3]),  # too many: out of the room below
        ([1, 1, 9], [2, 2, 2], (0, 10), [1, 3, 9]),
    ],
)
def test_spread(wanted, heights, room, centres):
    assert labels.spread(wanted, heights, *room).tolist() == pytest.approx(centres)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 100), st.floats(1, 20)), min_size=1, max_size=12))
def test_spread_never_overlaps_and_keeps_the_order(rows):
    wanted, heights = np.array(rows).T
    centres = labels.spread(wanted, heights, 0, 100)
    order = np.argsort(wanted, kind="stable")
    gaps = np.diff(centres[order]) - (heights[order][1:] + heights[order][:-1]) / 2
    assert (gaps >= -1e-9).all()
    assert (centres + heights / 2 <= 100 + 1e-9).all()
    if heights.sum() <= 100:
        assert (centres - heights / 2 >= -1e-9).all()


def axes_with(dots):
    figure, axes = drawing.empty((5, 4))
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.scatter(*np.transpose(dots))
    return figure, axes


def test_labels_around_a_crowd():
    dots = np.random.default_rng(0).uniform(0.3, 0.7, (14, 2))
    with drawing.style():
        figure, axes = axes_with(dots)
        texts = [f"model {i}" for i in range(14)]
        refused, made = labels.around(axes, dots[:, None], texts, ["black"] * 14, dots=dots)
        assert len(made) + len(refused) == 14 and len(made) >= 10
        boxes = written(figure)
        assert len(boxes) == len(made) and overlaps(boxes) == []
        on_page = axes.transData.transform(dots)
        assert not any(box.contains(x, y) for box in boxes.values() for x, y in on_page)


def test_a_label_without_room_is_refused():
    with drawing.style():
        figure, axes = axes_with([(0.5, 0.5)])
        refused, made = labels.around(axes, [[(0.5, 0.5)]], ["a very long name " * 20], ["black"])
    assert (refused, made) == ([0], [])


def test_labels_beside_get_smaller_before_they_leave_the_room():
    with drawing.style():
        figure, axes = axes_with([(0.5, 0.5)])
        few = labels.beside_axes(axes, [(0.5, 0.5)] * 3, list("abc"), ["black"] * 3)
        assert {label.get_fontsize() for label in few} == {10}
        assert overlaps(written(figure)) == []
        many = labels.beside_axes(axes, [(0.5, 0.5)] * 30, [str(i) for i in range(30)], ["black"] * 30)
        assert 6 < many[0].get_fontsize() < 10
