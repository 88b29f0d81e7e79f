"""Measures by model, by domain and by size, and times: order, numbers, intervals, what is undefined and why."""

from functools import partial

import pandas as pd
import pytest
import test_figures
from test_figures import overlaps, texts, ticks, written

from factlab import attribution, figures, stats

# REASONS, Table 8 (zero-shot direct): the Mean row of three models, as rates
PUBLISHED = pd.DataFrame(
    [
        ("G1", 0.3233, 0.4, 0.35, 0.3785),
        ("P", 0.9467, 0.05, 0.0, 0.0034),
        ("AdvRAG(L)", 0.5195, 0.45, 0.42, 0.0),
    ],
    columns=["model", "hr", "f1", "bleu", "pp"],
)
MEASURED = pd.DataFrame(
    {
        "model": ["a", "b", "c"],
        "hr": [0.5, None, 0.25],
        "f1": [0.25, 0.0, 0.75],
        "bleu": [0.125, 0.0, 0.5],
        "pp": [0.0, 1.0, 0.1],
        "hr_low": [0.4, None, None],
        "hr_high": [0.6, None, None],
        "n": [40, 40, 9],
        "passed": [0, 40, 1],
        "note": ["", "hr: no queries", "hr, f1: only 2 clusters: too few"],
    }
)
LONG = pd.DataFrame(
    {
        "model": [f"publisher-{i}/a-rather-long-model-name-of-{i}B-Instruct-v0.{i} with $metadata$" for i in range(12)],
        **{metric: [i / 12 for i in range(12)] for metric in ("hr", "f1", "bleu", "pp")},
        **{f"hr_{end}": [max(0, i / 12 - 0.05) for i in range(12)] for end in ("low", "high")},
        "n": range(1, 13),
    }
)
# Every domain and mode once, one absent, one undefined
CELLS = pd.DataFrame(
    [("AI", "x", 0.5, 20), ("AI", "y", 0.25, 20), ("Databases", "x", 0.75, 9), ("Graphics", "x", None, 12)]
    + [("Graphics", "y", 1.0, 30), ("Mean", "x", 0.625, 41), ("Mean", "y", 0.625, 50)]
    + [("SD", "x", 0.17678, None), ("SD", "y", 0.53033, None)],
    columns=["domain", "mode", "hr", "n"],
).assign(passed=[0, 0, 0, 12, 0, None, None, None, None])
MANY = pd.DataFrame(
    [
        (f"domain {i} of a rather long name", f"publisher/model-{j}-of-a-long-name", (i + j) / 80, i + 1)
        for i in range(47)
        for j in range(13)
    ],
    columns=["domain", "model", "hr", "n"],
)
SIZES = pd.DataFrame(
    {
        "domain": ["Computer Vision", "AI", "Quantum Computing", "Graphics", "Mean"],
        "sentences": [5000, 700, 50, None, 1437.5],
        "hr": [0.5, 0.625, 0.75, 0.6, 0.62],
        "hr_low": [0.4, 0.5, None, 0.5, 0.5],
        "hr_high": [0.6, 0.75, None, 0.7, 0.7],
        "n": [80, 40, 4, 20, 144],
    }
)
# REASONS, Table 5: hours and minutes of three groups of models in three domains
HOURS = pd.DataFrame(
    [
        (domain, model, 3600 * hours + 60 * minutes)
        for domain, own in {
            "Biomolecules": ((1, 11), (0, 10), (7, 40)),
            "CV": ((47, 45), (19, 24), (302, 14)),
            "QC": ((7, 26), (1, 59), (113, 54)),
        }.items()
        for model, (hours, minutes) in zip(("OpenAI", "L", "AdvRAG(M)"), own, strict=True)
    ],
    columns=["domain", "model", "seconds"],
)
ODD_TIMES = HOURS.assign(seconds=[0, None, *HOURS["seconds"][2:6], None, None, None], n=range(1, 10))
ALL = {
    "published": partial(figures.metrics_by_model, PUBLISHED),
    "measured": partial(figures.metrics_by_model, MEASURED),
    "long names": partial(figures.metrics_by_model, LONG),
    "yours": partial(figures.metrics_by_model, pd.concat([PUBLISHED, MEASURED.assign(whose="yours")])),
    "one model": partial(figures.metrics_by_model, MEASURED.iloc[1:2]),
    "no models": partial(figures.metrics_by_model, MEASURED.iloc[:0]),
    "cells": partial(figures.metric_by_domain, CELLS, column="mode"),
    "many cells": partial(figures.metric_by_domain, MANY),
    "one cell": partial(figures.metric_by_domain, CELLS.iloc[3:4], column="mode"),
    "no cells": partial(figures.metric_by_domain, CELLS.iloc[:0], column="mode"),
    "sizes": partial(figures.metric_by_size, SIZES, correlation=stats.correlation([1, 2], [2, 3])),
    "one size": partial(figures.metric_by_size, SIZES.iloc[2:3]),
    "no sizes": partial(figures.metric_by_size, SIZES.iloc[3:]),
    "times": partial(figures.seconds_by_domain, HOURS),
    "odd times": partial(figures.seconds_by_domain, ODD_TIMES),
    "many times": partial(figures.seconds_by_domain, MANY.assign(seconds=MANY["hr"] * 1e5), value="seconds"),
    "short times": partial(figures.seconds_by_domain, HOURS.assign(seconds=HOURS["seconds"] / 1e9)),
    "one time": partial(figures.seconds_by_domain, HOURS.iloc[:1]),
    "no times": partial(figures.seconds_by_domain, HOURS.iloc[:0]),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_nothing_is_cut_off(make, figsize):
    test_figures.test_nothing_is_cut_off(partial(make, figsize=figsize))


def dots(axes):
    """Marks drawn: x, y, whether hollow, kind."""
    return [
        (line.get_xdata()[0], line.get_ydata()[0], line.get_markerfacecolor() == "white", line.get_marker())
        for line in axes.lines
        if line.get_marker() != "None" and len(line.get_xdata()) == 1
    ]


def heading(figure):
    return figure.get_suptitle().replace("\n", " ")


def apart(labels):
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


# ---------------------------------------------------------------- metrics_by_model


def test_four_panels_in_the_order_given():
    figure, table = figures.metrics_by_model(PUBLISHED.iloc[::-1])
    assert table["model"].tolist() == ticks(figure) == ["AdvRAG(L)", "P", "G1"]
    assert len(figure.axes) == 4
    for axes, metric in zip(figure.axes, ("hr", "f1", "bleu", "pp"), strict=True):
        assert [x for x, _, _, _ in dots(axes)] == PUBLISHED[metric].tolist()[::-1]
        assert axes.get_xlim() == (0, 1) and axes.get_ylim()[0] > axes.get_ylim()[1]  # the first row is on top
    titles = [axes.get_title(loc="left").split("\n") for axes in figure.axes]
    assert [title[-1].split()[0] for title in titles] == ["lower", "higher", "higher", "neither"]
    assert {"0.32", "0.95", "0.52"} <= set(texts(figure))


def test_intervals_few_and_undefined():
    figure, table = figures.metrics_by_model(MEASURED)
    hr, f1 = figure.axes[:2]
    assert [(x, hollow) for x, _, hollow, _ in dots(hr)] == [(0.5, False), (0.25, True)]
    bars = [list(line.get_xdata()) for line in hr.lines if line.get_marker() == "None"]
    assert bars == [[0.4, 0.6]] and not [line for line in f1.lines if line.get_marker() == "None"]
    assert "undefined" in [t.get_text() for t in hr.texts] and "40" in [t.get_text() for t in figure.axes[3].texts]
    assert table["reason"].tolist() == ["", "HR: passed on every query", ""]
    assert table["f1_low"].isna().all() and table["hr"][1] is pd.NA
    assert heading(figure) == (
        "n = 9 to 40 queries a model; bars: 95 % intervals; no bar: no interval; hollow: fewer than 10 queries; "
        "undefined: b (HR: passed on every query)"
    )
    assert figures.describe(figure) == (
        "Dot plots of hallucination rate (lower is better), F1 and BLEU-4 (higher is better) and pass percentage "
        "(as a share), 3 models. a: HR 0.50 [0.40, 0.60], F1 0.25, BLEU-4 0.12, PP 0.00, n = 40. "
        "b: F1 0.00, BLEU-4 0.00, PP 1.00, undefined HR: passed on every query, n = 40. "
        "c: HR 0.25, F1 0.75, BLEU-4 0.50, PP 0.10, n = 9. 1 with fewer than 10 queries."
    )


def test_your_run_beside_the_published_ones():
    figure, table = ALL["yours"]()
    marks = [(hollow, kind) for _, _, hollow, kind in dots(figure.axes[0])]
    assert marks == [(False, "o")] * 3 + [(False, "D"), (True, "D")]
    assert table["whose"].tolist() == [""] * 3 + ["yours"] * 3
    assert "orange diamond: yours" in heading(figure) and "?: n not known" in heading(figure)
    assert "a (yours): HR 0.50 [0.40, 0.60]" in figures.describe(figure)


def test_mean_and_sd_are_of_no_model():
    rows = pd.concat([PUBLISHED, PUBLISHED.iloc[:2].assign(model=["Mean", "SD"])])
    assert figures.metrics_by_model(rows)[1]["model"].tolist() == PUBLISHED["model"].tolist()


@pytest.mark.parametrize("figsize", [None, (6, 4), (4.2, 3.6)])
def test_twelve_long_names_are_readable(figsize):
    figure, table = figures.metrics_by_model(LONG, figsize=figsize)
    names = [one for one in figure.axes[0].get_yticklabels()]
    assert len(names) == 12 and table["model"].tolist() == LONG["model"].tolist()
    assert all(one.get_text().replace("\n", "").startswith("publisher-") for one in names)
    figure.draw_without_rendering()
    if figsize is None:
        whole = [one.get_text().replace("\n", "").replace(" ", "") for one in names]
        assert whole == [one.replace(" ", "") for one in LONG["model"]]
        assert min(one.get_fontsize() for one in names) >= 9
        assert apart(names)
    for axes in figure.axes:
        assert apart(axes.texts)


# ---------------------------------------------------------------- metric_by_domain


def cells(figure):
    """Numbers and letters in the heatmap, by column and row."""
    return {(int(t.get_position()[0]), round(t.get_position()[1], 2)): t.get_text() for t in figure.axes[0].texts}


def test_a_heatmap_with_mean_and_sd_apart():
    figure, table = figures.metric_by_domain(CELLS, column="mode")
    assert table.columns.tolist() == ["domain", "mode", "hr", "n", "reason"]
    assert table.iloc[:4].drop(columns="n").values.tolist() == [
        ["AI", "x", 0.5, ""],
        ["AI", "y", 0.25, ""],
        ["Databases", "x", 0.75, ""],
        ["Databases", "y", pd.NA, "not asked"],
    ]
    assert ticks(figure) == ["AI", "Databases", "Graphics", "Mean", "SD"]
    centres = figure.axes[0].get_yticks().tolist()
    assert centres == pytest.approx([0.5, 1.5, 2.5, 3.85, 4.85])  # Mean and SD stand off
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["x", "y"]
    assert cells(figure) == {
        (0, 0.5): "0.50",
        (1, 0.5): "0.25",
        (0, 1.5): "0.75",
        (1, 1.5): "a",
        (0, 2.5): "b",
        (1, 2.5): "1.00",
        (0, 3.85): "0.62",
        (1, 3.85): "0.62",
        (0, 4.85): "0.18",
        (1, 4.85): "0.53",
    }
    assert heading(figure) == (
        "n = 9 to 30 queries a cell; hollow: fewer than 10 queries; "
        "hatched: undefined (a: not asked; b: passed on every query); SD has no colour"
    )
    assert figure.axes[1].get_xlabel().replace("\n", " ") == "hallucination rate (0 to 1, lower is better)"
    assert figures.describe(figure) == (
        "Heatmap of hallucination rate, lower is better by domain and mode: 3 domains, 2 modes. "
        "x: from 0.50 (AI) to 0.75 (Databases), Mean 0.62, SD 0.18. "
        "y: from 0.25 (AI) to 1.00 (Graphics), Mean 0.62, SD 0.53. "
        "Undefined, not asked: Databases, y. Undefined, passed on every query: Graphics, x. "
        "1 cell with fewer than 10 queries."
    )


def test_colours_are_of_the_numbers_but_not_those_of_sd():
    figure, _ = figures.metric_by_domain(CELLS, column="mode")
    boxes = [p for p in figure.axes[0].patches if p.get_width() > 0.93]
    assert len(boxes) == 10 and sum(p.get_hatch() is not None for p in boxes) == 2
    shade = {round(p.get_x() - 0.03) + 10 * i: sum(p.get_facecolor()[:3]) for i, p in enumerate(boxes)}
    faces = list(shade.values())
    assert faces[1] > faces[0] > faces[2] > faces[5]  # 0.25, 0.5, 0.75, 1: more is darker
    assert faces[8] == faces[9] == 3  # white
    hollow = [p for p in figure.axes[0].patches if p.get_width() < 0.93]
    assert [(int(p.get_x()), int(p.get_y())) for p in hollow] == [(0, 1)] and "hollow" in heading(figure)
    figure, _ = figures.metric_by_domain(CELLS.assign(n=[20, 20, 20, 12, 30, 9, 50, None, None]), column="mode")
    hollow = [p for p in figure.axes[0].patches if p.get_width() < 0.93]
    assert [(int(p.get_x()), int(p.get_y())) for p in hollow] == [(0, 3)]  # a Mean of few


def test_order_of_domains_is_that_of_the_fullest_column():
    figure, _ = figures.metric_by_domain(CELLS.iloc[[3, 0, 1, 4]].assign(domain=["G", "H", "A", "G"]), column="mode")
    assert ticks(figure) == ["G", "H", "A"]
    lacking = pd.DataFrame({"domain": ["B", "A", "B"], "mode": ["x", "y", "y"], "hr": 0.5})
    assert ticks(figures.metric_by_domain(lacking, column="mode")[0]) == ["A", "B"]


def test_straight_from_the_scores():
    asked = pd.DataFrame(
        [
            (domain, mode, "The one" if i % 2 else "Another", "The one", "refused" if domain == "CV" else "scored")
            for domain in ("AI", "CV", "QC")
            for mode in ("direct", "indirect")
            for i in range(12)
        ],
        columns=["domain", "mode", "predicted", "gold", "status"],
    )
    asked.loc[asked["domain"] == "QC", "status"] = "truncated"
    scored = attribution.score(asked, by=("mode", "domain"), replicates=50)
    figure, table = figures.metric_by_domain(scored, column="mode")
    assert ticks(figure) == ["AI", "CV", "QC", "Mean", "SD"]
    ai = scored[scored["domain"] == "AI"]["hr"].tolist()
    assert table[table["domain"] == "AI"]["hr"].tolist() == ai
    why = dict(zip(table["domain"], table["reason"], strict=True))
    assert (why["CV"], why["QC"]) == ("passed on every query", "no reply could be scored")
    assert why["SD"] == "fewer than two domains"
    panels, table = figures.metrics_by_model(attribution.score(asked, by=("mode",), replicates=50), "mode")
    assert table["mode"].tolist() == ["direct", "indirect"] and table["hr_low"].notna().all()


def test_names_of_columns_do_not_overlap():
    for models, figsize in ((3, None), (12, None), (12, (6, 4))):
        rows = MANY[MANY["domain"].isin(MANY["domain"].unique()[:3])]
        rows = rows[rows["model"].isin(rows["model"].unique()[:models])]
        figure, _ = figures.metric_by_domain(rows, figsize=figsize)
        figure.draw_without_rendering()
        heads = figure.axes[0].get_xticklabels()
        assert len(heads) == models
        if heads[0].get_rotation() == 0:
            assert apart(heads)
        else:  # turned by 45 degrees: the lines of one name take less than the way to the next
            wide = figure.axes[0].get_window_extent().width / models * 72 / figure.dpi
            tall = max(one.get_text().count("\n") + 1 for one in heads) * heads[0].get_fontsize() * 1.15
            assert tall * 1.42 < 2 * wide
        assert apart(figure.axes[0].texts)


def test_a_turned_name_that_fits_on_one_line_is_not_broken():
    names = ["SmolLM2 short calibrated closed", *(f"endpoint {i} of the panel" for i in range(11))]
    table = pd.DataFrame([("easy", name, 0.5, 20) for name in names], columns=["items_of", "endpoint", "hr", "n"])
    figure, _ = figures.metric_by_domain(table, label="items_of", column="endpoint", name="accuracy")
    assert (
        figure.axes[0].get_xticklabels()[0].get_text() == names[0]
        and figure.axes[0].get_xticklabels()[0].get_rotation()
    )
    # The name of a column is not always a noun.
    assert figures.describe(figure).startswith("Heatmap of accuracy by row and endpoint: 1 row, 12 endpoints.")


def test_many_cells():
    figure, table = ALL["many cells"]()
    assert len(table) == 47 * 13 and len(ticks(figure)) == figures.MOST
    assert "2 smaller domains not drawn; 1 more model not drawn" in heading(figure)
    assert "domain 46" in ticks(figure)[-1] and "in the table: 2 smaller domains." in figures.describe(figure)


# ---------------------------------------------------------------- metric_by_size


def test_a_measure_against_the_size():
    figure, table = figures.metric_by_size(SIZES)
    assert table.columns.tolist() == ["domain", "sentences", "hr", "low", "high", "n", "reason"]
    assert table["domain"].tolist() == ["Quantum Computing", "AI", "Computer Vision", "Graphics"]  # Mean is no domain
    assert table["reason"].tolist() == ["", "", "", "no size"]
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    assert dots(axes) == [(50, 0.75, True, "o"), (700, 0.625, False, "o"), (5000, 0.5, False, "o")]
    bars = [(line.get_xdata()[0], list(line.get_ydata())) for line in axes.lines if line.get_marker() == "None"]
    assert bars == [(700, [0.5, 0.75]), (5000, [0.4, 0.6])]
    assert set(written(figure)) == {"Quantum Computing", "AI", "Computer Vision"}
    assert axes.get_title(loc="left").replace("\n", " ") == (
        "3 domains; n = 4 to 80 queries a domain; bars: 95 % intervals; hollow: fewer than 10 queries; "
        "not drawn: Graphics (no size)"
    )
    assert "Computer Vision: 0.50 [0.40, 0.60] at 5,000." in figures.describe(figure)


def test_a_linear_axis_where_sizes_are_alike():
    figure, _ = figures.metric_by_size(SIZES.assign(sentences=[9, 5, 1, 3, 4]))
    assert figure.axes[0].get_xscale() == "linear" and "log" not in figure.axes[0].get_xlabel()
    assert figures.metric_by_size(SIZES.assign(sentences=[10, 5, 1, 3, 4]))[0].axes[0].get_xscale() == "log"


def test_the_correlation_in_words():
    sizes, rates = [50, 100, 200, 400, 800, 1600], [0.9, 0.8, 0.85, 0.7, 0.5, 0.6]
    table = pd.DataFrame({"domain": list("abcdef"), "sentences": sizes, "hr": rates})
    found = stats.correlation(sizes, rates)
    rho = found.set_index("coefficient").loc["spearman"]
    figure, _ = figures.metric_by_size(table, correlation=found)
    words = f"Spearman's rho {rho['value']:.2f} [{rho['low']:.2f}, {rho['high']:.2f}]"
    assert words in figure.axes[0].get_title(loc="left").replace("\n", " ") and words in figures.describe(figure)
    assert "rank correlation undefined: n too small" in figures.describe(ALL["sizes"]()[0])
    assert "correlation" not in figures.describe(figures.metric_by_size(table)[0])


@pytest.mark.parametrize("figsize", [None, (4.2, 3.4)])
def test_names_of_domains_do_not_overlap(figsize):
    rows = pd.DataFrame({"domain": [f"Domain of Name {i}" for i in range(12)], "sentences": [100, 101, 1500] * 4})
    figure, _ = figures.metric_by_size(rows.assign(hr=[0.5, 0.51, 0.9, 0.52] * 3), figsize=figsize)
    boxes = written(figure)
    assert overlaps(boxes) == []
    if len(boxes) < 12:
        assert "names without room are in the table" in figure.axes[0].get_title(loc="left").replace("\n", " ")
        assert f"{12 - len(boxes)} name" in figures.describe(figure)


# ---------------------------------------------------------------- seconds_by_domain


def times(figure):
    lines = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    return {line.get_label(): (list(line.get_xdata()), line.get_marker()) for line in lines}


def test_the_longest_domain_first():
    figure, table = figures.seconds_by_domain(HOURS)
    assert ticks(figure) == ["CV", "QC", "Biomolecules"]
    assert table["domain"].tolist() == ["CV"] * 3 + ["QC"] * 3 + ["Biomolecules"] * 3
    assert table["seconds"].tolist()[:3] == [171900, 69840, 1088040]
    assert times(figure)["OpenAI"] == ([171900, 26760, 4260], "o")
    assert len({marker for _, marker in times(figure).values()}) == 3
    axes = figure.axes[0]
    assert axes.get_xscale() == "log" and [t.get_text() for t in axes.get_xticklabels()] == [
        "10 min",
        "1 h",
        "10 h",
        "100 h",
    ]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["OpenAI", "L", "AdvRAG(M)"]
    assert figures.describe(figure) == (
        "Dot plot of time by domain, 3 domains, 3 models, log scale. "
        "OpenAI: 1.18 h (Biomolecules) to 47.8 h (CV), 56.4 h in all. "
        "L: 10 min (Biomolecules) to 19.4 h (CV), 21.6 h in all. "
        "AdvRAG(M): 7.67 h (Biomolecules) to 302 h (CV), 424 h in all."
    )


def test_dots_of_one_domain_do_not_hide_each_other():
    figure, _ = figures.seconds_by_domain(HOURS.assign(seconds=60))
    heights = [tuple(line.get_ydata()) for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert len(set(heights)) == 3
    assert figure.axes[0].get_xscale() == "linear" and figure.axes[0].get_xlabel() == "time in seconds"


def test_no_time_and_none_measured():
    figure, table = ALL["odd times"]()
    assert ticks(figure) == ["CV", "Biomolecules", "QC"]
    assert figure.axes[0].get_xscale() == "linear"  # 0 has no place on a log scale
    assert "not measured" in texts(figure) and "n = 1 to 9 queries a dot; 4 not measured" in texts(figure)
    assert table["seconds"].isna().sum() == 4
    assert "OpenAI: 0 s (Biomolecules) to 47.8 h (CV)" in figures.describe(figure)


def test_more_models_than_colours_stay_apart():
    figure, table = ALL["many times"]()
    looks = [
        (line.get_marker(), line.get_color()) for line in figure.axes[0].lines if line.get_marker() not in ("None", "")
    ]
    assert len(set(looks)) == len(looks) == 12
    assert len(table) == 47 * 13 and "1 more model not drawn" in figures.describe(figure)


def test_ticks_of_times_do_not_overlap():
    for name in ("times", "many times", "short times", "odd times"):
        for figsize in (None, (4.2, 3.6)):
            figure, _ = ALL[name](figsize=figsize)
            figure.draw_without_rendering()
            shown = [t for t in figure.axes[0].get_xticklabels() if t.get_text()]
            assert len(shown) >= 2 and apart(shown)


# ---------------------------------------------------------------- what cannot be drawn


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.metrics_by_model(CELLS), "no column 'model', 'f1', 'bleu', 'pp'"),
        (lambda: figures.metrics_by_model(PUBLISHED.assign(model="m")), "metrics_by_model: two rows for model 'm'"),
        (lambda: figures.metrics_by_model(PUBLISHED.assign(pp=37.9)), "model 'G1': pp is 37.9, expected a share"),
        (lambda: figures.metric_by_domain(CELLS), "no column 'model'"),
        (
            lambda: figures.metric_by_domain(CELLS.assign(mode="x"), column="mode"),
            "metric_by_domain: two rows for domain 'AI', mode 'x'; choose one",
        ),
        (lambda: figures.metric_by_domain(CELLS.assign(hr=-1), column="mode"), "domain 'AI': hr is -1, expected"),
        (lambda: figures.metric_by_size(CELLS), "no column 'sentences'"),
        (
            lambda: figures.metric_by_size(SIZES.assign(sentences=0)),
            "metric_by_size, domain 'Computer Vision': sentences is 0, expected a number above 0",
        ),
        (lambda: figures.metric_by_size(SIZES.assign(domain="d")), "metric_by_size: two rows for domain 'd'"),
        (lambda: figures.seconds_by_domain(HOURS.assign(model="m")), "two rows for domain 'Biomolecules', model 'm'"),
        (
            lambda: figures.seconds_by_domain(HOURS.assign(seconds=-1)),
            "seconds_by_domain, domain 'Biomolecules', model 'OpenAI': seconds is -1, expected seconds",
        ),
    ],
)
def test_what_cannot_be_drawn_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
