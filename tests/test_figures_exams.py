"""Figures of MS-Exam-Gen: how many endpoints miss an item, topics, cues, and the place of the key."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import test_figures
from test_figures import texts, ticks

from factlab import exam, figures

DRAW = np.random.default_rng(5)
PANEL = [f"local/smollm2|{p}|{s}|{b}" for p in ("answer", "answer_short") for s in ("chat", "choose") for b in ("closed", "open")]  # fmt: skip
SKILL = np.linspace(0.2, 0.6, len(PANEL))
CORRECT = pd.DataFrame((DRAW.random((96, len(PANEL))) < SKILL).astype(int), columns=PANEL)
MISSES = exam.miss_distribution(CORRECT)
ALIKE = exam.miss_distribution(CORRECT * 0)
WIDE = exam.miss_distribution(pd.DataFrame(DRAW.integers(0, 2, (300, 60))))
# MS-Exam-Gen, section V: 53.0 % missed by none or one, 25.5 % by four or more
BANDS = pd.DataFrame({"missed": ["0–1", "2–3", "4+"], "share": [0.53, 0.215, 0.255], "whose": "printed"})
BESIDE = pd.concat([BANDS, pd.DataFrame({"missed": ["0–1", "2–3", "4+"], "share": [0.02, None, 0.9], "whose": "yours"})], ignore_index=True)  # fmt: skip
TOPICS = [
    "RIS and CIS",
    "mimics and differential diagnosis of white matter lesions",
    "$criteria$ in space",
    "reporting",
]
GRID = pd.DataFrame(
    [(t, e, float(DRAW.random()), 6 if t == "reporting" else 24) for t in TOPICS for e in PANEL],
    columns=["topic", "endpoint", "value", "n"],
)
GAPS = GRID.assign(value=[None if i % 5 == 0 or i < 8 else v for i, v in enumerate(GRID["value"])])
MANY = pd.concat([GRID.assign(topic=GRID["topic"] + f" {i}") for i in range(4)])
# MS-Exam-Gen, section V
PRINTED = pd.DataFrame(
    {
        "cue": ["structure", "both", "longest_key"], "before": [0.657, 0.644, 0.681], "before_low": [0.631, 0.617, 0.655],
        "before_high": [0.683, 0.67, 0.706], "n_before": 1293, "after": [0.364, 0.438, 0.066], "after_low": [0.342, 0.415, 0.055],
        "after_high": [0.387, 0.461, 0.079], "n_after": 1766, "chance": [0.25, 0.25, None], "difference": [-0.293, -0.206, -0.615],
        "low": [-0.33, -0.24, -0.65], "high": [-0.26, -0.17, -0.59], "full": [0.383, 0.412, None], "n_full": 3058,
    }
)  # fmt: skip
PAIR = PRINTED.drop(columns=["full", "n_full"])
BARE = pd.DataFrame({"cue": ["structure", None], "after": [0.25, None]})
ORDERS = pd.DataFrame(
    [
        (e, place, v, v - 0.1, min(1.0, v + 0.1), n)
        for e, row, n in (
            ("GPT-4o", (0.9, 0.91, 0.9, 0.89), 100),
            ("local/smollm2|answer|chat|closed", (0.95, 0.12, 0.1, 0.11), 24),
            ("always A", (1.0, 0.1, 0.1, 0.1), 8),
        )
        for place, v in zip("ABCD", row, strict=True)
    ],
    columns=["endpoint", "key_place", "value", "low", "high", "n"],
)
TESTED = ORDERS.assign(p_holm=np.repeat([0.8, 0.0001, None], 4).astype(object))
HOLES = pd.DataFrame({"endpoint": ["a", "a", None], "key_place": [0, 3, 1], "value": [None, 0.5, 1.0]})
CROWD = pd.concat([ORDERS.assign(endpoint=ORDERS["endpoint"] + f" {i}") for i in range(20)])
ALL = {
    "misses": partial(figures.miss_distribution, MISSES),
    "all miss all": partial(figures.miss_distribution, ALIKE),
    "sixty endpoints": partial(figures.miss_distribution, WIDE, 20),
    "guessed": partial(figures.miss_distribution, MISSES, chance=0.25),
    "bands": partial(figures.miss_distribution, BANDS.drop(columns="whose"), panel=12),
    "bands of two": partial(figures.miss_distribution, BESIDE, series="whose"),
    "no items": partial(figures.miss_distribution, MISSES.assign(items=0, share=None)),
    "no counts": partial(figures.miss_distribution, MISSES.iloc[:0]),
    "topics": partial(figures.topic_heatmap, GRID),
    "one column": partial(figures.topic_heatmap, GRID[GRID["endpoint"] == PANEL[0]].drop(columns="n")),
    "topics with gaps": partial(figures.topic_heatmap, GAPS),
    "no topics": partial(figures.topic_heatmap, GRID.iloc[:0]),
    "cues": partial(figures.cue_bars, PAIR),
    "three banks": partial(figures.cue_bars, PRINTED),
    "one bank": partial(figures.cue_bars, BARE),
    "no cues": partial(figures.cue_bars, PAIR.iloc[:0]),
    "orders": partial(figures.order_shift, ORDERS),
    "tested": partial(figures.order_shift, TESTED),
    "places with holes": partial(figures.order_shift, HOLES, chance=None),
    "no orders": partial(figures.order_shift, ORDERS.iloc[:0]),
    "many topics": partial(figures.topic_heatmap, MANY),
    "many endpoints": partial(figures.order_shift, CROWD),
}
SMALLER = {name: make for name, make in ALL.items() if not name.startswith("many")}


@pytest.mark.parametrize("make", SMALLER.values(), ids=SMALLER)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("make", SMALLER.values(), ids=SMALLER)
@pytest.mark.filterwarnings("error")
def test_nothing_is_cut_off(make, figsize):
    test_figures.test_nothing_is_cut_off(partial(make, figsize=figsize))


@pytest.mark.parametrize("name", ["many topics", "many endpoints"])
def test_many_rows_are_whole_on_the_page(name):
    test_figures.test_nothing_is_cut_off(ALL[name])


def bars(figure):
    from matplotlib.patches import Rectangle

    return [p for p in figure.axes[0].patches if type(p) is Rectangle]


# ---------------------------------------------------------------- misses


def test_bars_are_the_items_and_the_flagged_ones_are_orange():
    figure, table = figures.miss_distribution(MISSES)
    assert [p.get_height() for p in bars(figure)] == MISSES["items"].tolist()
    assert [p.get_facecolor()[:3] == pytest.approx((0xD5 / 255, 0x5E / 255, 0)) for p in bars(figure)] == [m >= 4 for m in range(9)]  # fmt: skip
    assert table["flagged"].tolist() == [m >= 4 for m in range(9)] and table["at_least"][0] == pytest.approx(1)
    assert table["at_least"].tolist() == pytest.approx(MISSES["at_least"].tolist())
    share = 100 * float((exam.difficulty(CORRECT) >= 4).mean())
    assert f"n = 96 items, 8 endpoints; missed by 4 or more (orange): {share:.1f} %" in " ".join(texts(figure)).replace("\n", " ")  # fmt: skip
    (line,) = [one for one in figure.axes[0].lines if one.get_linestyle() == "--"]
    assert line.get_xdata()[0] == 3.5 and "t = 4" in texts(figure)
    assert {f"{n:,}" for n in MISSES["items"]} <= set(texts(figure))


def test_t_moves_the_line_and_the_share():
    for t in range(1, 9):
        figure, table = figures.miss_distribution(MISSES, t)
        share = float((exam.difficulty(CORRECT) >= t).mean())
        assert f"missed by {t} or more (orange): {100 * share:.1f} %" in figures.describe(figure)
        assert table.loc[table["flagged"], "share"].sum() == pytest.approx(share)


def test_what_guessing_would_leave_is_ringed():
    figure, table = figures.miss_distribution(MISSES, chance=0.25)
    expected = [96 * math.comb(8, k) * 0.75**k * 0.25 ** (8 - k) for k in range(9)]
    (rings,) = [one for one in figure.axes[0].lines if one.get_marker() == "o"]
    assert rings.get_ydata() == pytest.approx(expected) and table["guessed"].tolist() == pytest.approx(expected)
    assert "rings: if all guessed" in figures.describe(figure) and figure.axes[0].get_ylim()[1] > max(expected)
    assert "guessed" not in figures.miss_distribution(MISSES)[1].columns
    for table, series in ((BANDS, ""), (BESIDE, "whose")):
        with pytest.raises(ValueError, match="chance needs one series of counts"):
            figures.miss_distribution(table, series=series, chance=0.25)


def test_printed_bands_and_a_run_beside_them():
    figure, _ = ALL["bands"]()
    assert [p.get_height() for p in bars(figure)] == [0.53, 0.215, 0.255]
    assert "missed by 4 or more (orange): 25.5 %" in figures.describe(figure) and "12 endpoints" in figures.describe(figure)  # fmt: skip
    figure, table = ALL["bands of two"]()
    assert table["whose"].tolist() == ["printed"] * 3 + ["yours"] * 3 and table["share"].isna().sum() == 1
    assert "25.5 % (printed), 90.0 % (yours)" in figures.describe(figure) and len(bars(figure)) == 5
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["printed", "yours"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (BANDS.assign(missed=["0–2", "3–5", "6+"]), "t = 4 divides the band 3–5"),
        (BANDS.assign(missed=["few", "2–3", "4+"]), "missed is 'few', expected a count"),
        (BANDS.assign(missed=["0–1", "0-1", "4+"]), "two rows for series '', missed '0–1'"),
        (BANDS.assign(share=[53, 21.5, 25.5]), "share is 53, expected a share from 0 to 1"),
        (BANDS.assign(items=[1, 2.5, 3]), "items is 2.5, expected a whole number"),
        (BANDS.drop(columns="missed"), "no column 'missed'"),
    ],
)
def test_a_wrong_distribution_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        figures.miss_distribution(table)


# ---------------------------------------------------------------- topics


def test_topics_with_the_lowest_mean_come_first_with_their_items():
    figure, table = figures.topic_heatmap(GRID)
    means = GRID.groupby("topic")["value"].mean()
    order = means.sort_values().index.tolist()
    assert list(dict.fromkeys(table["topic"])) == order
    shown = [t.replace("\n", " ") for t in ticks(figure)]
    assert shown == [f"{t} ({6 if t == 'reporting' else 24}, {means[t]:.2f})" for t in order]
    assert table.set_index(["topic", "endpoint"])["value"].to_dict() == GRID.set_index(["topic", "endpoint"])["value"].to_dict()  # fmt: skip
    assert table.groupby("topic")["mean"].first().to_dict() == pytest.approx(means.to_dict())
    _, given = figures.topic_heatmap(GRID, ordered=False)
    assert list(dict.fromkeys(given["topic"])) == TOPICS


def test_cells_without_a_value_say_why_and_means_pass_over_them():
    _, table = figures.topic_heatmap(GAPS)
    first = table[table["topic"] == TOPICS[0]]
    assert first["mean"].isna().all() and (first["reason"] != "").all()
    assert list(dict.fromkeys(table["topic"]))[-1] == TOPICS[0]  # nothing known of it: last
    one = table[table["topic"] == "reporting"]
    assert one["mean"].iloc[0] == pytest.approx(float(one["value"].mean()))


def test_where_every_cell_has_few_items_none_is_hollow():
    figure, _ = figures.topic_heatmap(GRID.assign(n=6))
    said = figures.describe(figure)
    assert "each cell has fewer than 10 items" in said and "hollow" not in " ".join(texts(figure))
    figure, _ = figures.topic_heatmap(GRID)
    assert "each cell has fewer" not in figures.describe(figure) and "hollow: fewer than 10 items" in " ".join(texts(figure))  # fmt: skip


def test_accuracy_of_the_library_can_be_drawn():
    items = [exam.Item(f"question {i}", ("a", "b", "c", "d"), "A", topic=f"t{i % 3}") for i in range(12)]
    replies = pd.DataFrame([(i.id, e, c, "scored") for i in items for e, c in (("x", "A"), ("y", "B"))], columns=["item_id", "endpoint", "choice", "status"])  # fmt: skip
    _, table = figures.topic_heatmap(exam.accuracy(exam.mark(replies, items), by="topic", replicates=50))
    assert table["mean"].tolist() == [0.5] * 6 and table["n"].tolist() == [4] * 6


# ---------------------------------------------------------------- cues


def test_bars_of_cues_and_their_intervals():
    figure, table = figures.cue_bars(PRINTED)
    assert table["bank"].tolist() == ["before repair", "after repair", "whole bank"] * 3
    drawn = [p.get_width() for p in bars(figure)]
    assert drawn == [v for v in table["value"] if not pd.isna(v)] and len(drawn) == 8
    spans = [list(map(float, one.get_xdata())) for one in figure.axes[0].lines]
    assert [0.631, 0.683] in spans and spans.count([0.25, 0.25]) == 2
    assert {"0.66 [0.63, 0.68]", "0.07 [0.06, 0.08]", "0.38", "undefined"} <= set(texts(figure))
    assert "−0.29 [−0.33, −0.26]" in texts(ALL["cues"]()[0])
    said = figures.describe(figure)
    assert "structure of the options: before repair 0.66 [0.63, 0.68], after repair 0.36 [0.34, 0.39], whole bank 0.38, chance 0.25." in said  # fmt: skip
    assert "n = 1,293 (before repair), 1,766 (after repair), 3,058 (whole bank) items" in said


def test_each_bank_can_have_a_chance_of_its_own():
    own = PRINTED.assign(chance_before=[0.25, 0.25, 0.08], chance_after=[0.25, 0.25, 0.07], chance_full=None)
    figure, table = figures.cue_bars(own.drop(columns="chance"))
    assert table["chance"].tolist()[6:8] == [0.08, 0.07] and table["chance"].isna().tolist() == [False, False, True] * 3
    across = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert across == [0.25] * 4 + [0.08, 0.07]
    assert "key is the one longest option: before repair 0.68" in figures.describe(figure)
    assert ", chance 0.08 and 0.07." in figures.describe(figure)


def test_one_bank_needs_no_legend():
    figure, table = ALL["one bank"]()
    assert not figure.legends and table["bank"].tolist() == ["after repair"] * 2
    assert table["name"].tolist() == ["structure of the options", "(no name)"]
    with pytest.raises(ValueError, match="no column of before, after, full"):
        figures.cue_bars(BARE[["cue"]])
    with pytest.raises(ValueError, match="value is 65.7, expected a share"):
        figures.cue_bars(PRINTED.assign(before=[65.7, 0.1, 0.1]))


def test_the_comparison_of_the_library_can_be_drawn():
    rng = np.random.default_rng(1)

    def bank(long):
        for i in range(40):
            words = [" ".join(["word"] * int(rng.integers(3, 9))) + f" {i} {j}" for j in range(4)]
            words[i % 4] += " and more of it than the others have" * long
            yield exam.Item(f"question {i}", tuple(words), "ABCD"[i % 4], topic=f"t{i % 5}")

    before, after = list(bank(1)), list(bank(0))
    groups = [i.topic for i in before]
    found = exam.cue_comparison(before, after, (groups, groups), replicates=100)
    _, table = figures.cue_bars(found)
    at = table.set_index(["cue", "bank"])
    assert at.loc[("longest_key", "before repair"), "value"] == 1 and at.loc[("longest_key", "after repair"), "value"] < 0.6  # fmt: skip
    assert at.loc[("structure", "before repair"), "value"] > 0.9 and at["n"].eq(40).all()


# ---------------------------------------------------------------- place of the key


def test_a_disc_for_each_place_with_its_interval():
    figure, table = figures.order_shift(TESTED)
    discs = [one for one in figure.axes[0].lines if one.get_marker() == "o"]
    assert [float(d.get_xdata()[0]) for d in discs] == ORDERS["value"].tolist()
    assert [d.get_markerfacecolor() == "white" for d in discs] == [False] * 8 + [True] * 4
    rows = [int(d.get_ydata()[0]) for d in discs]
    assert rows == [0] * 4 + [1] * 4 + [2] * 4 and [d.get_ydata()[0] for d in discs] == sorted(d.get_ydata()[0] for d in discs)  # fmt: skip
    (chance,) = [one for one in figure.axes[0].lines if one.get_linestyle() == "--"]
    assert list(chance.get_xdata()) == [0.25, 0.25]
    assert table["range"].tolist()[::4] == pytest.approx([0.02, 0.85, 0.9])
    assert {"0.02", "0.85", "0.90", "<0.001", "0.800", "range", "p"} <= set(texts(figure))
    assert "always A: A 1.00 [0.90, 1.00], B 0.10 [0.00, 0.20]" in figures.describe(figure)
    assert "range 0.85, p below 0.001." in figures.describe(figure)


def test_answers_of_the_library_can_be_drawn():
    items = [exam.Item(f"question {i}", ("w", "x", "y", "z"), "ABCD"[i % 4], topic="t") for i in range(8)]
    sheet = exam.order_sheet(items)
    replies = pd.concat(
        [sheet.assign(endpoint="always A", choice="A", status="scored"), sheet.assign(endpoint="reads", choice=sheet["key"], status="scored")]
    )  # fmt: skip
    _, table = figures.order_shift(exam.mark_orders(replies, items))
    at = table.set_index(["endpoint", "key_place"])["value"]
    assert at["always A"].tolist() == [1, 0, 0, 0] and at["reads"].tolist() == [1, 1, 1, 1]
    assert table["n"].eq(8).all() and table["low"].isna().all()


def test_a_wrong_place_is_refused():
    with pytest.raises(ValueError, match="stands at 'E1', expected a letter"):
        figures.order_shift(HOLES.assign(key_place=["E1", "B", "C"]))
    with pytest.raises(ValueError, match="stands at 9"):
        figures.order_shift(HOLES.assign(key_place=9))
    with pytest.raises(ValueError, match="two rows for endpoint 'a', key_place 'A'"):
        figures.order_shift(HOLES.assign(key_place=0))


def test_many_endpoints_are_counted():
    figure, table = ALL["many endpoints"]()
    assert table["endpoint"].nunique() == 60 and len(ticks(figure)) == figures.MOST
    assert f"{60 - figures.MOST} smaller endpoints not drawn" in figures.describe(figure)
