"""Run times: medians and repeats on log axes, slopes, and bars of their parts."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import test_figures
from test_figures import overlaps, written

from factlab import figures

TIMES = pd.DataFrame(
    [
        (m, k, a * k**b * r, a * k**b)
        for m, a, b in (("slow", 0.1, 2), ("fast", 0.2, 1))
        for k in (2, 8, 32)
        for r in (0.5, 1, 4)
    ],
    columns=["method", "k", "seconds", "expected"],
)
ODD = pd.DataFrame(
    {
        "method": ["a", "a", "$b$ " + "of a long name " * 3, None, "c", "d", "d"],
        "k": [1, 1, 1, 2, None, 7, 9],
        "seconds": [1e-5, 2e-5, 3, 1, 2, 0, 5000],
    }
)
# The released runtime_data.csv of CheckEmbed: 15 + 1.1 is not 19.1
RELEASED = pd.DataFrame(
    [("bert", 0, 0, 360), ("scgpt", 0, 0, 140), ("ce_gpt", 55, 1.1, 56.1), ("ce_gte", 15, 1.1, 19.1)],
    columns=["method", "embedding", "comparison", "total"],
)
ALL = {
    "times": partial(figures.runtimes, TIMES),
    "odd times": partial(figures.runtimes, ODD),
    "one time": partial(figures.runtimes, TIMES.iloc[:3]),
    "no times": partial(figures.runtimes, TIMES.iloc[:0]),
    "many": partial(figures.runtimes, pd.concat([TIMES.assign(method=f"method {i}") for i in range(14)])),
    "parts": partial(figures.runtime_parts, RELEASED),
    "no parts": partial(figures.runtime_parts, RELEASED.iloc[:0]),
    "unknown parts": partial(
        figures.runtime_parts,
        pd.DataFrame({"method": [None, "a"], "embedding": [None, 0.001], "comparison": [None, 0.5]}),
    ),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_nothing_is_cut_off(make, figsize):
    test_figures.test_nothing_is_cut_off(partial(make, figsize=figsize))


def drawn(figure, style):
    found = [line for line in figure.axes[0].lines if line.get_linestyle() == style and line.get_marker() == "None"]
    return [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in found if len(line.get_xdata()) > 2]


def said(figure):
    return figure.axes[0].get_title(loc="left").replace("\n", " ")


# ---------------------------------------------------------------- runtimes


def test_medians_repeats_and_expected_growth():
    figure, table = figures.runtimes(TIMES)
    assert table.columns.tolist() == ["method", "k", "n", "median", "lowest", "highest", "expected", "slope"]
    assert table.iloc[0, :7].tolist() == pytest.approx(["slow", 2, 3, 0.4, 0.2, 1.6, 0.4])
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("log", "log")
    (slow, fast), dashed = drawn(figure, "-"), drawn(figure, "--")
    assert slow[0] == [2, 8, 32] and slow[1] == pytest.approx([0.4, 6.4, 102.4])
    assert fast[1] == pytest.approx([0.4, 1.6, 6.4])
    assert [y for _, y in dashed] == [pytest.approx(slow[1]), pytest.approx(fast[1])]
    bars = [
        line.get_ydata()
        for line in figure.axes[0].lines
        if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    ]
    assert len(bars) == 6 and list(bars[0]) == pytest.approx([0.2, 1.6])
    assert said(figure) == "n = 3 runs a dot; bars: fastest to slowest; dashed: expected growth"
    assert figures.describe(figure) == (
        "Line plot of seconds against k, both on log scales, 2 lines. slow: 0.4 at 2 to 102 at 32, slope 2.00. "
        "fast: 0.4 at 2 to 6.4 at 32, slope 1.00. "
        "n = 3 runs a dot; bars: fastest to slowest; dashed: expected growth."
    )


def test_the_slope_is_the_power_of_the_size():
    figure, table = figures.runtimes(TIMES)
    slopes = table.groupby("method")["slope"].first()
    assert (slopes["slow"], slopes["fast"]) == pytest.approx((2, 1))
    assert {"slow\nslope 2.00", "fast\nslope 1.00"} <= set(written(figure))
    rng = np.random.default_rng(0)
    noisy = TIMES.assign(seconds=TIMES["seconds"] * np.exp(rng.normal(0, 0.3, len(TIMES))))
    own = figures.runtimes(noisy)[1].query("method == 'slow'").astype({"median": float})
    wanted = np.polyfit(np.log(own["k"]), np.log(own["median"]), 1)[0]
    assert own["slope"].iloc[0] == pytest.approx(wanted)
    two = TIMES[TIMES["k"] < 10]  # through two points every line is perfect
    figure, table = figures.runtimes(two)
    assert table["slope"].isna().all() and set(written(figure)) == {"slow", "fast"}


def test_without_expectations_or_repeats():
    figure, table = figures.runtimes(TIMES.iloc[1::3].drop(columns="expected"))
    assert not drawn(figure, "--") and table["expected"].isna().all()
    assert said(figure) == "n = 1 run a dot"


def test_rows_without_a_place_are_counted():
    figure, table = figures.runtimes(ODD)
    assert len(table) == 3 and "n = 1 to 2 runs a dot" in said(figure)
    assert said(figure).endswith("3 without method, k or time")


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("name", ["times", "many", "odd times"])
def test_labels_and_ticks_do_not_overlap(name, figsize):
    figure, _ = ALL[name](figsize=figsize)
    assert overlaps(written(figure)) == []
    axes = figure.axes[0]
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        boxes = [t.get_window_extent() for t in ticks if t.get_text()]
        assert len(boxes) >= 2
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_many_methods():
    figure, table = ALL["many"]()
    assert table["method"].nunique() == 14 and "2 more methods not drawn" in said(figure)
    assert len(written(figure)) == 12


# ---------------------------------------------------------------- runtime_parts


def test_parts_are_stacked_and_a_wrong_total_is_shown():
    figure, table = figures.runtime_parts(RELEASED.iloc[::-1])
    assert table["method"].tolist() == ["bert", "scgpt", "ce_gpt", "ce_gte"]
    assert table["sum"].tolist() == pytest.approx([0, 0, 56.1, 16.1])
    boxes = [(p.get_x(), p.get_width()) for p in figure.axes[0].patches if p.get_width()]
    assert boxes == [pytest.approx(box) for box in [(0, 55), (0, 15), (55, 1.1), (15, 1.1), (0, 360), (0, 140)]]
    assert set(written(figure)) == {"360", "140", "56.1 = 55 + 1.1", "16.1 = 15 + 1.1 (given as 19.1 in all)"}
    legend = [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert legend == ["embedding", "comparison", "parts not known"]
    assert "ce_gpt 56.1 = 55 + 1.1 (embedding 55, comparison 1.1)." in figures.describe(figure)


def test_a_method_that_was_not_measured_stays():
    figure, table = ALL["unknown parts"]()
    assert table["total"].isna().tolist() == [False, True] and "not measured" in written(figure)
    assert "(no name) not measured." in figures.describe(figure)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.runtimes(RELEASED), "no column 'k', 'seconds'"),
        (
            lambda: figures.runtimes(TIMES.assign(seconds=-1)),
            "runtimes, method 'slow': seconds is -1, expected a number",
        ),
        (lambda: figures.runtimes(TIMES.assign(k=np.inf)), "runtimes, method 'slow': k is inf"),
        (lambda: figures.runtime_parts(TIMES), "no column 'embedding', 'comparison'"),
        (
            lambda: figures.runtime_parts(RELEASED.assign(embedding=-1)),
            "method 'bert': embedding is -1, expected seconds",
        ),
    ],
)
def test_what_cannot_be_drawn_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
