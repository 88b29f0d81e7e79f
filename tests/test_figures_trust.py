"""Figures of LExT: plausibility against faithfulness, overlap measures against trust, rows of metrics, groups of patients."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import test_figures
from test_figures import lines, overlaps, texts, ticks, written

from factlab import explanation, figures
from factlab.figures import trust_rows

# LExT Table 6, PubMedQA, and a run beside it
PRINTED = pd.DataFrame(
    [("Biomistral", 0.6849, 0.21), ("Meditron", 0.6374, 0.1813), ("MMed-Llama3", 0.7348, 0.4005)]
    + [("Llama3", 0.7374, 0.419), ("Gemma", 0.7415, 0.645), ("Phi3.5", 0.6343, 0.2813)],
    columns=["model", "plausibility", "faithfulness"],
).assign(whose="printed")
YOURS = pd.DataFrame(
    {
        "model": ["SmolLM2-135M-Instruct"], "plausibility": [0.66], "plausibility_low": [0.58], "plausibility_high": [0.71],
        "faithfulness": [0.31], "faithfulness_low": [0.22], "faithfulness_high": [0.43], "n": [8], "whose": ["yours"],
    }
)  # fmt: skip
BOTH = pd.concat([PRINTED, YOURS], ignore_index=True)
DRAW = np.random.default_rng(3)
ITEMS = pd.DataFrame(
    {"item_id": [f"q{i}" for i in range(40)], "plausibility": DRAW.uniform(0.2, 1, 40), "faithfulness": np.arange(40) % 4 / 3}
)  # fmt: skip
GONE = pd.DataFrame({"model": ["a", "$b$", None], "plausibility": [0.5, None, 0], "faithfulness": [None, None, 0]})
OVERLAP = pd.DataFrame(
    {
        "BLEU": [0.02, 0.05, 0.1, 0.01, 0.2, None], "ROUGE-L": [0.2, 0.3, 0.25, 0.1, 0.4, 0.3],
        "METEOR (exact and stem)": [0.2, 0.2, 0.3, 0.1, 0.4, 0.3], "BERTScore": [0.8, 0.85, 0.83, 0.81, 0.9, 0.84],
        "trust": [0.5, 0.4, None, 0.3, 0.6, 0.2], "quality": ["good", "poor", "good", "poor", "wrong reason", None],
    }
)  # fmt: skip
ESTIMATES = pd.DataFrame(
    {
        "metric": explanation.METRICS,
        "value": pd.array([0.2, 0.45, 0.32, 0.98, 0.97, 0.975, 0.65, 0.6, None, 0.1, None, None], dtype="Float64"),
        "low": pd.array([0.1, 0.4, 0.28, 0.96, 0.95, 0.96, 0.6, 0.5, None, None, None, None], dtype="Float64"),
        "high": pd.array([0.3, 0.5, 0.38, 0.99, 0.99, 0.99, 0.7, 0.7, None, None, None, None], dtype="Float64"),
        "n": [8] * 7 + [30] * 5,
        "reason": [""] * 8 + ["every answer is a maybe, which has no opposite", "", "no item has a counterfactual", ""],
    }
)
PAIRED = pd.concat([ESTIMATES.assign(data="PubMedQA form"), ESTIMATES.assign(data="Q-Pain form")], ignore_index=True)
TABLE7 = pd.DataFrame({"metric": ["correctness", "qag", "trust"] * 2, "value": [0.5, 0.1, 0.4, 0.3, 0.2, 0.6]})
BESIDE = pd.concat([ESTIMATES, TABLE7.assign(whose="printed")], ignore_index=True)
GROUPS = pd.DataFrame(
    [
        ("LExT score", "Black women", -0.05, -0.11, 0.01, 0.4, 10, ""),
        ("LExT score", "Hispanic men of a rather long description", 0.12, 0.03, 0.21, 0.01, 12, ""),
        ("LExT score", "Asian women", None, None, None, None, 0, "no vignette has a score in both"),
        ("says yes", "Black women", 0.0, None, None, 1.0, 10, "no difference in any pair"),
        ("says yes", "Hispanic men of a rather long description", 0.1, None, None, None, 3, ""),
        ("says yes", "Asian women", -0.2, -0.3, -0.1, 0.6, 10, ""),
    ],
    columns=["measure", "group", "difference", "low", "high", "p_holm", "n", "reason"],
)
MANY = pd.concat([GROUPS.assign(group=GROUPS["group"] + f" {i}", n=i + 1) for i in range(20)])
ALL = {
    "quadrants": partial(figures.quadrants, BOTH, splits=(0.7, 0.4)),
    "printed alone": partial(figures.quadrants, PRINTED),
    "items": partial(figures.quadrants, ITEMS, "item_id"),
    "undefined": partial(figures.quadrants, GONE),
    "no models": partial(figures.quadrants, PRINTED.iloc[:0]),
    "all at one point": partial(figures.quadrants, PRINTED.assign(plausibility=1.0, faithfulness=0.0)),
    "overlap": partial(figures.overlap_against_trust, OVERLAP),
    "overlap by quality": partial(figures.overlap_against_trust, OVERLAP, group="quality"),
    "one explanation": partial(figures.overlap_against_trust, OVERLAP.iloc[:1]),
    "no explanations": partial(figures.overlap_against_trust, OVERLAP.iloc[:0]),
    "metrics": partial(figures.metric_rows, ESTIMATES),
    "metrics of two": partial(figures.metric_rows, PAIRED, "data"),
    "beside printed": partial(figures.metric_rows, BESIDE),
    "printed metrics": partial(figures.metric_rows, TABLE7.assign(whose="printed")),
    "no metrics": partial(figures.metric_rows, ESTIMATES.iloc[:0]),
    "groups": partial(figures.by_group, GROUPS, reference="White men"),
    "one group": partial(figures.by_group, GROUPS.iloc[2:3]),
    "many groups": partial(figures.by_group, MANY),
    "no groups": partial(figures.by_group, GROUPS.iloc[:0]),
}
SMALLER = {name: make for name, make in ALL.items() if name != "many groups"}


@pytest.mark.parametrize("make", SMALLER.values(), ids=SMALLER)
@pytest.mark.filterwarnings("error")
def test_like_every_figure(make):
    test_figures.test_every_figure(make)


@pytest.mark.parametrize("figsize", [None, (4.2, 3.6)])
@pytest.mark.parametrize("make", SMALLER.values(), ids=SMALLER)
@pytest.mark.filterwarnings("error")
def test_nothing_is_cut_off(make, figsize):
    test_figures.test_nothing_is_cut_off(partial(make, figsize=figsize))


# ---------------------------------------------------------------- quadrants


def test_marks_and_intervals_are_where_the_numbers_are():
    figure, table = ALL["quadrants"]()
    assert table["model"].tolist() == BOTH["model"].tolist()
    dots, (diamond,) = lines(figure, "o"), lines(figure, "D")
    assert [(float(d.get_xdata()[0]), float(d.get_ydata()[0])) for d in dots] == list(zip(PRINTED["plausibility"], PRINTED["faithfulness"], strict=True))  # fmt: skip
    assert (float(diamond.get_xdata()[0]), float(diamond.get_ydata()[0])) == (0.66, 0.31)
    assert diamond.get_markerfacecolor() == "white" and all(d.get_markerfacecolor() != "white" for d in dots)  # n = 8
    bars = [(list(map(float, b.get_xdata())), list(map(float, b.get_ydata()))) for b in lines(figure, "None")]
    assert ([0.58, 0.71], [0.31, 0.31]) in bars and ([0.66, 0.66], [0.22, 0.43]) in bars
    meet = [b for b in lines(figure, "None") if b.get_linestyle() == "--"]
    assert sorted([float(meet[0].get_xdata()[0]), float(meet[1].get_ydata()[0])]) == [0.4, 0.7]


def test_trust_is_the_harmonic_mean_and_quadrants_are_told():
    """Table 6: LExT of Gemma on PubMedQA is 0.6899."""
    _, table = ALL["quadrants"]()
    at = table.set_index("model")
    assert at["trust"]["Gemma"] == pytest.approx(0.6899, abs=1e-4)
    assert at["trust"].tolist() == pytest.approx([explanation.trust(p, f) for p, f in zip(BOTH["plausibility"], BOTH["faithfulness"], strict=True)])  # fmt: skip
    assert at["quadrant"].to_dict() == {
        "Biomistral": "neither", "Meditron": "neither", "MMed-Llama3": "plausible and faithful", "Llama3": "plausible and faithful",
        "Gemma": "plausible and faithful", "Phi3.5": "neither", "SmolLM2-135M-Instruct": "neither",
    }  # fmt: skip
    edges = pd.DataFrame({"model": list("abcd"), "plausibility": [0.5, 0.5, 0.4, 0.4], "faithfulness": [0.5, 0.4, 0.5, 0.4]})  # fmt: skip
    assert figures.quadrants(edges)[1]["quadrant"].tolist() == ["plausible and faithful", "plausible only", "faithful only", "neither"]  # fmt: skip


@pytest.mark.parametrize(("splits", "said"), [((0.7, None), "A line at plausibility 0.7, no quadrants. Marks: "), ((None, None), "No quadrants.")])  # fmt: skip
def test_without_a_line_there_are_no_quadrants(splits, said):
    figure, table = figures.quadrants(BOTH, splits=splits)
    assert (table["quadrant"] == "").all() and "neither" not in texts(figure)
    dashed = [line for line in lines(figure, "None") if line.get_linestyle() == "--"]
    assert len(dashed) == 2 - splits.count(None)
    assert said in figures.describe(figure) and "Biomistral (plausibility 0.68" in figures.describe(figure)


def test_curves_have_one_score_along_them():
    figure, _ = ALL["quadrants"]()
    curves = [line for line in lines(figure, "None") if len(line.get_xdata()) > 100]
    named = {float(t.get_text()) for t in figure.axes[0].texts if t.get_text().replace(".", "").isdigit()}
    found = set()
    for curve in curves:
        x, y = (np.asarray(v, dtype=float) for v in (curve.get_xdata(), curve.get_ydata()))
        scores = 2 * x * y / (x + y)
        assert np.ptp(scores) < 1e-9
        found.add(round(float(scores[0]), 9))
    assert len(curves) >= 4 and found == named


def test_names_lie_on_nothing():
    for figsize in (None, (4.2, 3.6)):
        figure, _ = ALL["quadrants"](figsize=figsize)
        assert overlaps(written(figure, outside=False)) == []
        said = [t.replace("\n", " ") for t in texts(figure)]
        assert {"Gemma", "Llama3", "MMed-Llama3", "SmolLM2-135M-Instruct LExT 0.42"} <= set(said)
    assert {"plausible and faithful", "faithful only", "plausible only", "neither"} <= set(texts(ALL["quadrants"]()[0]))


def test_what_has_no_place_is_named_and_stays_in_the_table():
    figure, table = ALL["undefined"]()
    assert table["reason"].tolist() == ["no faithfulness", "no plausibility and no faithfulness", ""]
    assert table["trust"].tolist() == [pd.NA, pd.NA, 0] and table["quadrant"].tolist() == ["", "", "neither"]
    assert "not drawn: a (no faithfulness), $b$ (no plausibility and no faithfulness)" in " ".join(texts(figure)).replace("\n", " ")  # fmt: skip
    given = GONE.assign(reason="every answer is a maybe")
    assert figures.quadrants(given)[1]["reason"].tolist() == ["every answer is a maybe"] * 2 + [""]


def test_many_items_have_no_names_and_hidden_ones_are_counted():
    figure, table = ALL["items"]()
    assert not {"q0", "q1"} & set(texts(figure)) and len(lines(figure, "o")) == 40
    assert "names without room are in the table" in " ".join(texts(figure)).replace("\n", " ")
    assert "20 more marks are in the table" in figures.describe(figure)
    assert "5 on top of another" in " ".join(texts(ALL["all at one point"]()[0]))


def test_the_axes_say_which_part_they_show():
    axes = ALL["quadrants"]()[0].axes[0]
    assert axes.get_xlabel() == "plausibility (axis from 0.5 to 0.8)"
    assert ALL["items"]()[0].axes[0].get_ylabel() == "faithfulness (0 to 1)"


def test_description_of_quadrants():
    said = figures.describe(ALL["quadrants"]()[0])
    assert said.startswith(
        "Scatter plot of faithfulness against plausibility with lines of equal LExT score; grey: printed, 6 marks; orange: "
        "yours, 1 mark, n = 8 items; bars: 95 % intervals; hollow: n below 10. The quadrants meet at plausibility 0.7 and "
        "faithfulness 0.4. Plausible and faithful: MMed-Llama3 (plausibility 0.73, faithfulness 0.40, LExT 0.52)"
    )
    assert "(plausibility 0.66 [0.58, 0.71], faithfulness 0.31 [0.22, 0.43], LExT 0.42, yours)" in said


# ---------------------------------------------------------------- overlap measures


def test_a_panel_a_measure():
    figure, table = ALL["overlap"]()
    assert table.groupby("measure", sort=False).size().to_dict() == {
        "BLEU": 4, "ROUGE-L": 5, "METEOR (exact and stem)": 5, "BERTScore": 5,
    }  # fmt: skip
    bleu = table[table["measure"] == "BLEU"]
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert np.c_[dots[0].get_xdata(), dots[0].get_ydata()].tolist() == bleu[["value", "trust"]].to_numpy(float).tolist()
    assert "6 explanations; 1 without LExT; 1 without BLEU" in texts(figure)
    labels = [a.get_xlabel().replace("\n", " ") for a in figure.axes]
    assert labels == ["BLEU (0 to 0.2)", "ROUGE-L (0 to 0.4)", "METEOR (exact and stem) (0 to 0.4)", "BERTScore (0.8 to 0.9)"]  # fmt: skip
    for axes, column in zip(figure.axes, OVERLAP.columns, strict=False):
        low, high = axes.get_xlim()
        assert low < OVERLAP[column][OVERLAP["trust"].notna()].min() and OVERLAP[column][OVERLAP["trust"].notna()].max() < high  # fmt: skip


def test_panels_say_the_rank_correlation():
    from factlab import stats

    said = figures.describe(ALL["overlap"]()[0])
    kept = OVERLAP.dropna(subset=["trust"])
    rho = stats.correlation(kept["BERTScore"], kept["trust"]).set_index("coefficient").loc["spearman"]
    assert f"BERTScore: 0.80 to 0.90, rho {rho['value']:.2f} [{rho['low']:.2f}, {rho['high']:.2f}]." in said
    assert "mean" not in said
    assert "rho undefined: n too small" in figures.describe(ALL["one explanation"]()[0])
    assert "BLEU: nothing to show." in figures.describe(ALL["no explanations"]()[0])


def test_qualities_have_their_own_marks():
    figure, table = ALL["overlap by quality"]()
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["good", "poor", "wrong reason", "(no name)"]
    assert {line.get_marker() for line in figure.axes[1].lines} == {"o", "s", "^", "D"}
    assert "D" not in {line.get_marker() for line in figure.axes[0].lines}  # it has no BLEU
    assert table["quality"].tolist()[:2] == ["good", "poor"]


def test_bertscore_may_be_below_0_and_the_others_not():
    figure, _ = figures.overlap_against_trust(OVERLAP.assign(BERTScore=OVERLAP["BERTScore"] - 1))
    assert figure.axes[3].get_xlim()[0] < -0.2 and figure.axes[0].get_xlim()[0] > -0.1
    with pytest.raises(ValueError, match="BLEU is -0.98, expected a share"):
        figures.overlap_against_trust(OVERLAP.assign(BLEU=OVERLAP["BLEU"] - 1))


# ---------------------------------------------------------------- rows of metrics


def test_metrics_stand_in_the_order_in_which_they_are_made():
    figure, table = figures.metric_rows(ESTIMATES.sample(frac=1, random_state=1))
    assert table["metric"].tolist() == list(explanation.METRICS)
    assert set(trust_rows.METRICS) == set(explanation.METRICS)
    assert [t.strip() for t in ticks(figure)][:3] == ["weighted accuracy", "context relevancy", "correctness"]
    assert [tick.get_fontweight() for tick in figure.axes[0].get_yticklabels()].count("bold") == 3
    left = [tick.get_window_extent().x0 for tick in figure.axes[0].get_yticklabels()]
    assert np.ptp(left) < 1  # spaces at the front set the parts in
    bottom, top = figure.axes[0].get_ylim()
    assert bottom > top
    dots = lines(figure, "o")
    assert [float(d.get_xdata()[0]) for d in dots] == [v for v in ESTIMATES["value"] if v is not pd.NA]
    assert [d.get_markerfacecolor() == "white" for d in dots] == [True] * 7 + [False] * 2
    bars = [list(map(float, b.get_xdata())) for b in lines(figure, "None")]
    assert bars[:2] == [[0.1, 0.3], [0.4, 0.5]] and len(bars) == 8


def test_undefined_metrics_say_why():
    figure, table = figures.metric_rows(ESTIMATES)
    said = texts(figure)
    assert any(text.startswith("undefined: every answer is a maybe") for text in said)
    assert "undefined" in said  # no reason is known for the last one
    assert table["reason"].tolist()[-2:] == ["no item has a counterfactual", "undefined"]
    assert "counterfactual stability undefined (every answer is a maybe, which has no opposite)" in figures.describe(figure)  # fmt: skip


def test_two_series_and_printed_ones():
    figure, _ = ALL["metrics of two"]()
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["PubMedQA form", "Q-Pain form"]
    first, second = lines(figure, "o")[0], lines(figure, "s")[0]
    assert float(first.get_ydata()[0]) < float(second.get_ydata()[0]) < 1
    figure, table = ALL["beside printed"]()
    grey = [line for line in lines(figure, "o") if line.get_color() == figures.GREY]
    assert [list(map(float, g.get_xdata())) for g in grey] == [[0.5, 0.3], [0.1, 0.2], [0.4, 0.6]]
    assert "grey dots: printed models" in " ".join(texts(figure)).replace("\n", " ") and "Printed: correctness 0.30 to 0.50" in figures.describe(figure)  # fmt: skip
    assert table[table["metric"] == "qag"]["whose"].tolist() == ["yours", "printed", "printed"]


def test_printed_numbers_of_two_data_sets_have_marks_of_their_own():
    printed = TABLE7.assign(whose="printed", model=list("ABCDEF"), dataset=["Q-Pain"] * 3 + ["PubMedQA"] * 3)
    yours = ESTIMATES.assign(model="yours", dataset=None)
    figure, table = figures.metric_rows(pd.concat([yours, printed]), "model", sets="dataset")
    grey = {mark: [float(line.get_xdata()[0]) for line in lines(figure, mark)] for mark in ("o", "^")}
    assert {0.5, 0.1, 0.4} <= set(grey["o"]) and grey["^"] == [0.3, 0.2, 0.6]
    said = figures.describe(figure)
    assert "grey: printed models, dots Q-Pain, triangles PubMedQA" in said
    assert (
        "Printed: correctness 0.30 (D, PubMedQA) to 0.50 (A, Q-Pain); QAG 0.10 (B, Q-Pain) to 0.20 (E, PubMedQA)"
        in said
    )
    assert set(table["dataset"]) >= {"Q-Pain", "PubMedQA"}
    test_figures.test_nothing_is_cut_off(lambda: (figure, table))


def test_similarities_may_be_below_0_and_shares_not():
    figure, _ = figures.metric_rows(ESTIMATES.assign(value=[-0.24] + [0.5] * 11, low=None, high=None))
    assert figure.axes[0].get_xlim() == (-0.3, 1) and "axis from -0.3" in figure.axes[0].get_xlabel()
    with pytest.raises(ValueError, match="metric 'qag': value is -0.1, expected a share"):
        figures.metric_rows(TABLE7.assign(value=-0.1).iloc[1:2])


def test_what_scores_returns_can_be_drawn():
    frame = pd.DataFrame(
        {
            "item_id": list("abcdefgh"), "cosines": [[0.5, 0.6]] * 8, "gold_tags": [["pain"]] * 8, "tags": [[["pain"], []]] * 8,
            "relevancy": [0.5, 0.6, 0.7, 0.4, 0.5, 0.3, 0.2, 0.9], "answered": [[True, False]] * 8,
            "label": ["yes", "maybe"] * 4, "counterfactual_label": ["no"] * 8,
        }
    )  # fmt: skip
    scores = explanation.score(frame, replicates=50)
    _, table = figures.metric_rows(scores.table())
    assert table.set_index("metric")["value"]["qag"] == 0.5 and table.set_index("metric")["reason"]["contextual"]
    figures.quadrants(scores.items.rename(columns={"reasons": "reason"}), "item_id")


# ---------------------------------------------------------------- groups


def test_differences_stand_around_0():
    figure, table = ALL["groups"]()
    assert [a.get_title(loc="left") for a in figure.axes] == ["LExT score", "says yes"]
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert low == -high == -0.5 and any(list(line.get_xdata()) == [0, 0] for line in axes.lines)
    dots = lines(figure, "o")
    assert [float(d.get_xdata()[0]) for d in dots] == [-0.05, 0.12]
    assert [d.get_markerfacecolor() == figures.BLUE for d in dots] == [False, True]  # p 0.01
    assert texts(figure).count("undefined") == 1 and table["reason"][2] == "no vignette has a score in both"
    assert [d.get_markerfacecolor() for d in figure.axes[1].lines if d.get_marker() == "o"].count("white") == 1  # n = 3


def test_a_measure_without_any_difference_is_named_and_not_drawn():
    flat = GROUPS[GROUPS["measure"] == "says yes"].assign(measure="answer is yes", difference=[0.0, 0.0, None])
    undefined = flat.assign(measure="high dose", difference=None)
    figure, table = figures.by_group(pd.concat([GROUPS, flat, undefined]))
    assert [a.get_title(loc="left") for a in figure.axes] == ["LExT score", "says yes", "high dose"]
    assert "no difference in any pair, not drawn: answer is yes" in " ".join(texts(figure)).replace("\n", " ")
    assert len(table) == 12
    alone, _ = figures.by_group(pd.concat([flat, flat.assign(measure="no yes or no")]))
    assert [a.get_title(loc="left") for a in alone.axes] == ["answer is yes"]


def test_n_stands_at_each_row_where_it_differs():
    figure, _ = figures.by_group(GROUPS)
    assert [t.get_text() for t in figure.axes[0].texts if t.get_text().isdigit()] == ["10", "12", "0"]
    same, _ = figures.by_group(GROUPS.assign(n=10))
    assert not [t for t in same.axes[0].texts if t.get_text().isdigit()]


def test_description_of_groups():
    said = figures.describe(ALL["groups"]()[0])
    assert said.startswith(
        "Dot plots of differences from White men by group, 3 groups. LExT score: Black women −0.05 [−0.11, +0.01], p 0.400; "
        "Hispanic men of a rather long description +0.12 [+0.03, +0.21], p 0.010; Asian women undefined (no vignette has a "
        "score in both)."
    )
    assert "says yes: Black women 0, p 1.000" in said and "n = 0 to 12 vignettes" in said
    assert "not tested" in figures.describe(figures.by_group(GROUPS.assign(p_holm=None))[0])


def test_what_against_returns_can_be_drawn():
    from factlab import stats

    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(f"v{i}", g, draw.uniform()) for i in range(12) for g in ("a", "b", "c")],
        columns=["vignette", "group", "trust"],
    )
    table = stats.against(frame, "group", "vignette", "trust", "a").assign(measure="LExT")
    figure, shown = figures.by_group(table, reference="a")
    assert shown["group"].tolist() == ["b", "c"] and shown["difference"].tolist() == table["difference"].tolist()
    assert "no p below 0.05 (Holm)" in figures.describe(figure) or "blue" in figures.describe(figure)


def test_many_groups():
    figure, table = ALL["many groups"]()
    test_figures.test_nothing_is_cut_off(lambda: (figure, table))
    assert len(table) == 120 and len(ticks(figure)) == figures.MOST
    assert "15 smaller ones not drawn" in " ".join(texts(figure)).replace("\n", " ")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.quadrants(PRINTED, "name"), "no column 'name'"),
        (lambda: figures.quadrants(PRINTED.assign(faithfulness=40)), "model 'Biomistral': faithfulness is 40, expected a share"),
        (lambda: figures.quadrants(PRINTED, splits=(70, 0.4)), "splits are 70 and 0.4, expected numbers from 0 to 1"),
        (lambda: figures.overlap_against_trust(PRINTED), "no column 'BLEU', 'ROUGE-L'"),
        (lambda: figures.overlap_against_trust(OVERLAP, group="kind"), "no column 'kind'"),
        (lambda: figures.overlap_against_trust(OVERLAP.assign(BERTScore=84)), "BERTScore is 84, expected a share"),
        (lambda: figures.metric_rows(PAIRED), "metric_rows: two rows for metric 'accuracy'"),
        (lambda: figures.metric_rows(GROUPS), "no column 'metric', 'value'"),
        (lambda: figures.by_group(pd.concat([GROUPS, GROUPS])), "by_group: two rows for group 'Black women', measure 'LExT score'"),
        (lambda: figures.by_group(GROUPS.assign(difference=5)), "group 'Black women', measure 'LExT score': difference is 5"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
