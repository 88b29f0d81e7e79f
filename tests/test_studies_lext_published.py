"""LExT's printed numbers: the tables as shipped, what follows from what, and a run beside them."""

import json
import random

import pandas as pd
import pytest

from factlab import comparability, explanation, figures, places, runs
from factlab.studies.lext import audit, published

MODELS = ["Biomistral", "Meditron", "MMed-Llama3", "Llama3", "Gemma", "Phi3.5"]
CELLS = audit.printed_cells()
CLAIMS = comparability.published("lext", "claims")


# ---------------------------------------------------------------- what is shipped


def test_tables_6_and_7_are_whole():
    assert len(CELLS) == 12 and CELLS.notna().all(axis=None)
    assert CELLS["model"].tolist() == MODELS * 2 and CELLS["dataset"].tolist() == ["Q-Pain"] * 6 + ["PubMedQA"] * 6
    assert CELLS.drop(columns=["dataset", "model"]).stack().between(0, 1).all()


SPOTS = [
    # dataset, model, P, F, LExT, correctness, consistency, QAG, counterfactual, contextual
    ("Q-Pain", "Meditron", 0.6564, 0.1918, 0.2968, 0.327, 0.986, 0.114, 0.075, 0.589),
    ("Q-Pain", "Llama3", 0.7635, 0.5845, 0.6621, 0.543, 0.984, 0.214, 0.405, 0.764),
    ("PubMedQA", "Biomistral", 0.6849, 0.21, 0.3214, 0.407, 0.964, 0.320, 0.400, 0.020),
    ("PubMedQA", "Gemma", 0.7415, 0.645, 0.6899, 0.483, 0.999, 0.456, 0.819, 0.471),
    ("PubMedQA", "Phi3.5", 0.6343, 0.2813, 0.3898, 0.269, 0.999, 0.272, 0.451, 0.112),
]


@pytest.mark.parametrize("spot", SPOTS)
def test_cells_as_printed(spot):
    row = CELLS[(CELLS["dataset"] == spot[0]) & (CELLS["model"] == spot[1])].iloc[0]
    assert row[["plausibility", "faithfulness", "trust", *audit.COMPONENTS]].tolist() == list(spot[2:])


@pytest.mark.released
def test_tables_6_and_7_are_those_beside_the_released_code(released):
    golden = json.loads((released / "lext" / "golden.json").read_text())
    for row in CELLS.itertuples():
        six, seven = golden["table6"][row.model], golden["table7"][row.model]
        second = row.dataset == "PubMedQA"
        assert [row.plausibility, row.faithfulness, row.trust] == six[3 * second :][:3]
        assert [getattr(row, c) for c in audit.COMPONENTS] == seven[second::2]


def test_the_smaller_tables():
    benchmarks = comparability.published("lext", "table5").set_index("model")
    assert benchmarks.index.tolist() == MODELS and benchmarks["size_b"].tolist() == [7, 7, 8, 8, 7, 3.8]
    assert benchmarks["pubmedqa"].tolist()[:5] == [0.376, 0.744, 0.8, 0.73, 0.66]
    assert benchmarks["medqa"].tolist()[:5] == [0.444, 0.479, 0.65, 0.761, 0.48]
    assert benchmarks.loc["Phi3.5", ["pubmedqa", "medqa"]].isna().all()
    assert comparability.published("lext", "table1")["cosine"].tolist() == [0.5989, 0.3143, 0.4601]
    assert comparability.published("lext", "table2").iloc[0].tolist() == [0.88417906, 7, 0, 0]
    assert comparability.published("lext", "table3").iloc[0].tolist() == [0.753, 0.389]
    assert comparability.published("lext", "table4")["cosine"].tolist() == [0.866833, 0.32328147]
    at = audit.worked()
    assert [at[f"accuracy of answer {i}"] for i in range(1, 6)] == [0.874, 0.914, 0.8488, 0, 0.45]
    assert (at["qag"], at["contextual"], at["plausibility"], at["faithfulness"], at["trust"]) == (0.768632653, 0.6, 0.69, 0.53, 0.599)  # fmt: skip


def test_uncertain_cells_are_marked():
    noted = comparability.published("lext", "table14").dropna(subset=["note"])
    assert set(noted["what"]) == {"questions for QAG", "counterfactual", "contextual"}
    assert comparability.published("lext", "table11")["note"].notna().tolist() == [False, True]


def test_claims_point_to_cells():
    columns = {5: {"pubmedqa", "medqa"}, 6: {"plausibility", "faithfulness", "trust"}, 7: set(audit.COMPONENTS)}
    for claim in CLAIMS.itertuples():
        assert set(claim.models.split()) <= set(MODELS)
        assert set(claim.metrics.split()) <= columns[claim.table]
        assert pd.isna(claim.datasets) or set(claim.datasets.split()) <= set(audit.DATASETS)
        assert pd.isna(claim.datasets) == (claim.table == 5 or claim.relation == "below-pubmedqa")
        assert pd.isna(claim.printed) == (claim.relation != "is") and pd.isna(claim.rivals) == (
            claim.relation != "above"
        )
    assert sorted(comparability.published("lext", "quadrants")["model"]) == sorted(MODELS)
    settings = comparability.published("lext", "settings")
    assert settings["aspect"].is_unique and set(settings["decides"]) == {"yes", "no"}


# ---------------------------------------------------------------- what Table 6 follows from


def test_lext_follows_everywhere_plausibility_in_9_and_faithfulness_without_qag_in_11():
    counts = audit.counted(audit.derived(CELLS)).set_index("rule")
    assert counts["of"].eq(12).all()
    assert counts["follow"].to_dict() == {
        audit.HARMONIC: 12, audit.PLAUSIBLE: 9, audit.THREE: 0, audit.TWO: 11,
        "F = mean of QAG and counterfactual": 0, "F = mean of QAG and contextual": 0,
    }  # fmt: skip
    assert counts["others"][audit.TWO] == "Meditron on Q-Pain (0.1918, not 0.3320)"
    assert "Llama3 on PubMedQA (0.7374, not 0.6880)" in counts["others"][audit.PLAUSIBLE]
    assert audit.derived_sentence(counts.reset_index()).endswith("gives none of them; without QAG it gives 11.")


def test_rounding_of_the_cells_never_makes_a_true_score_not_follow():
    """Scores that are made before anything is rounded follow; one that is moved by more than rounding does not."""
    draw = random.Random(4)
    for _ in range(200):
        parts = {name: draw.uniform(0.05, 1) for name in audit.COMPONENTS}
        p = explanation.plausibility(parts["correctness"], parts["consistency"])
        f = explanation.faithfulness(parts["qag"], parts["counterfactual"], parts["contextual"])
        row = {name: round(v, 3) for name, v in parts.items()}
        row |= {"plausibility": round(p, 4), "faithfulness": round(f, 4), "trust": round(explanation.trust(p, f), 4)}
        cell = pd.DataFrame([{"dataset": "d", "model": "m", **row}])
        follows = audit.derived(cell).set_index("rule")["follows"]
        assert follows[[audit.HARMONIC, audit.PLAUSIBLE, audit.THREE]].all()
        moved = audit.derived(cell.assign(plausibility=row["plausibility"] - 0.0012)).set_index("rule")["follows"]
        assert not moved[audit.PLAUSIBLE]


def test_faithfulness_as_the_text_defines_it_changes_who_leads():
    table = audit.rebuilt(CELLS).set_index(["dataset", "model"])
    assert (table.loc[("PubMedQA", "Llama3"), "printed_rank"], table.loc[("PubMedQA", "Llama3"), "rank"]) == (2, 3)
    assert table.loc[("Q-Pain", "Meditron"), "moved"] == 3
    llama = table.loc[("Q-Pain", "Llama3")]
    assert llama["faithfulness"] == pytest.approx((0.214 + 0.405 + 0.764) / 3) and llama["rank"] == 1
    said = audit.rebuilt_sentence(table.reset_index())
    assert "on PubMedQA MMed-Llama3 from 3 to 2, Llama3 from 2 to 3" in said
    assert said.startswith("With plausibility and faithfulness made from Table 7")
    assert table.loc[("Q-Pain", "Phi3.5"), "plausibility"] == pytest.approx((0.426 + 0.978) / 2)  # printed: 0.7133
    same = table.reset_index().assign(moved=0)
    assert "on Q-Pain nobody changes places" in audit.rebuilt_sentence(same)


def test_associations_and_spread():
    found = audit.associations(CELLS).set_index(["dataset", "first", "second"])
    assert found.loc[("PubMedQA", "faithfulness", "plausibility"), "rho"] == pytest.approx(0.829, abs=1e-3)
    assert (found["n"] == 6).all()
    apart = audit.spread(CELLS).set_index(["dataset", "metric"])
    # 0.964 to 0.999, a half of which reaches plausibility
    assert apart.loc[("PubMedQA", "consistency"), "reaches"] == pytest.approx(0.0175)
    assert apart.loc[("Q-Pain", "contextual"), "reaches"] == pytest.approx(0.764 / 3)


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize(
    ("value", "n", "decimals", "is_share"),
    [(0.67, 3, 2, True), (0.66, 3, 2, False), (0.2, 5, 3, True), (0.768632653, 5, 9, False), (0.8, 5, 9, True), (0.0, 7, 3, True)],
)  # fmt: skip
def test_shares_of_whole_numbers(value, n, decimals, is_share):
    assert audit.is_share(value, n, decimals) is is_share


def test_a_number_of_items_is_found_and_an_accident_is_not():
    few = CELLS[CELLS["dataset"] == "Q-Pain"].assign(
        counterfactual=[k / 14 for k in (3, 5, 6, 9, 11, 13)], contextual=[k / 35 for k in (1, 4, 6, 9, 17, 22)]
    )
    few = few.assign(**{c: few[c].round(3) for c in ("counterfactual", "contextual")})
    (row,) = audit.sizes(few).to_dict("records")
    assert row["items"] == 7 and row["expected"] > 100
    assert "cannot be told" not in audit.sizes_sentence(audit.sizes(few))
    both = audit.sizes(CELLS)
    assert both["items"].tolist() == [315, 285] and (both["items"] >= both["expected"]).all()
    assert audit.sizes_sentence(both).count("cannot be told") == 2
    assert "no number fits" in audit.sizes_sentence(audit.sizes(CELLS, most=20))


def test_table_14s_qag_is_a_mean_of_49_numbers():
    assert audit.mean_of(0.768632653, 9) == 49 and audit.mean_of(0.6, 9) == 1 and audit.mean_of(0.123456789, 9) is None
    assert round(37.663 / 49, 9) == 0.768632653


# ---------------------------------------------------------------- worked examples


def test_examples_are_worked_again():
    found = audit.examples().set_index("claim")
    held = found[found["verdict"] == "holds"].index
    assert {"weighted accuracy without an entity", "contextual faithfulness of the example", "answer yes, then no", "answer yes, then yes", "QAG score of the example", "LExT of the example"} <= set(held)  # fmt: skip
    assert found["printed"]["similarity of answer 5"] == "0.32523147 in the text"
    wrong = found[found["verdict"] == "does not hold"].index.tolist()
    assert wrong == [
        "similarity of the opening of a list of results to the ground truth",
        "similarity of answer 1",
        "similarity of answer 5",
        "keywords are taken out one at a time",
        "QAG score of 5 questions",
        "faithfulness of the example",
        "questions for QAG in the example of one metric",
        "labels that a judge chooses from",
    ]
    assert found["recomputed"]["weighted accuracy without an entity"].endswith("0.0222 with the authors' code")


def test_no_rule_gives_table_14_its_faithfulness():
    readings = audit.faithfulness_readings().set_index("rule")
    assert readings["faithfulness"].round(3).tolist() == [0.456, 0.623, 0.3, 0.55, 0.53]
    assert (
        readings["trust"]["printed"] == 0.599
    )  # as printed; of the printed plausibility and faithfulness it is 0.5995


def test_the_relevancy_that_table_14_needs():
    low, high = audit.relevancy_needed(0.874)
    iterative = explanation.consistency([0.874, 0.914, 0.8488, 0, 0.45])
    for relevancy, robust, p in ((low, 1.0, 0.685), (high, 0.75, 0.695)):
        made = ((0.874 + relevancy) / 2 + (iterative + robust) / 2) / 2
        assert made == pytest.approx(p)
    assert high < 0.389  # Table 3's question is about something else


# ---------------------------------------------------------------- what the text says


def test_claims_of_the_text():
    found = published.check_claims(CLAIMS, CELLS).set_index("claim")
    verdicts = found["verdict"]
    assert verdicts["MMed-Llama3: highest score on PubMedQA"] == "holds"
    assert verdicts["Gemma, Llama3: lead in correctness on both data sets"] == "in part"
    assert "Llama3 0.377 in correctness, PubMedQA, 4th highest" in found["recomputed"]["Gemma, Llama3: lead in correctness on both data sets"]  # fmt: skip
    assert verdicts["Phi3.5: correctness comparable to the others"] == "does not hold"
    better = "Llama3, Gemma: better than medical models in plausibility and faithfulness"
    assert found["recomputed"][better].startswith("14 of 16: plausibility, Q-Pain: Llama3 0.7635 and MMed-Llama3 0.7705 are not;")  # fmt: skip
    assert found["printed"][better] == "above MMed-Llama3, Meditron"
    assert found["recomputed"]["Gemma: underperforms on Q-Pain"].startswith("2 of 3: plausibility 0.7942 and 0.7415")
    assert "(a tie)" in found["recomputed"]["Gemma: very poor contextual faithfulness on Q-Pain"]
    assert verdicts.value_counts().to_dict() == {"holds": 13, "in part": 10, "does not hold": 1}


def claim(**changes):
    row = {
        "claim": "c", "source": "s", "table": 7, "datasets": "Q-Pain", "metrics": "qag", "models": "Gemma", "relation": "highest 1",
        "rivals": None, "printed": None,
    }  # fmt: skip
    return pd.DataFrame([row | changes]).convert_dtypes()


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"relation": "highest 3"}, "holds"), ({"relation": "highest 2"}, "does not hold"), ({"relation": "lowest 4"}, "holds"),
        ({"relation": "not lowest 3"}, "holds"), ({"relation": "not lowest 4"}, "does not hold"),
        ({"relation": "above", "rivals": "Phi3.5 Meditron"}, "holds"), ({"relation": "above", "rivals": "Phi3.5 Llama3"}, "in part"),
        ({"relation": "is", "printed": 0.177}, "holds"), ({"relation": "is", "printed": 0.178}, "does not hold"),
        ({"metrics": "qag consistency"}, "in part"),
    ],
)  # fmt: skip
def test_relations(changes, verdict):
    """Table 7, QAG on Q-Pain: 0.214, 0.184, 0.177 (Gemma), 0.154, 0.126, 0.114."""
    assert published.check_claims(claim(**changes), CELLS)["verdict"].tolist() == [verdict]


def test_quadrants_of_figure_6():
    found = published.quadrant_lines(CELLS)
    at = found.set_index(["reading", "score"])
    assert pd.isna(at.loc[("Q-Pain", "faithfulness"), "line"]) and found["line"].isna().sum() == 1
    assert published.lines(found) == (0.7, 0.4)
    _, table = figures.quadrants(published.figure6(CELLS), splits=published.lines(found))
    sides = comparability.published("lext", "quadrants").set_index("model")
    names = {("yes", "yes"): "plausible and faithful", ("yes", "no"): "plausible only", ("no", "no"): "neither"}
    assert {r.model: r.quadrant for r in table.itertuples()} == {m: names[(s.plausible, s.faithful)] for m, s in sides.iterrows()}  # fmt: skip
    assert "not on Q-Pain, where Gemma, MMed-Llama3, Biomistral cannot be parted by faithfulness" in published.quadrants_sentence(found)  # fmt: skip
    with pytest.raises(ValueError, match="dataset is 'MedQA'; those of Table 6 are Q-Pain, PubMedQA"):
        published.figure6(CELLS, "MedQA")


def test_each_figure_6_has_the_lines_of_its_own_data_set():
    found = published.quadrant_lines(CELLS)
    assert published.lines(found, "Q-Pain")[1] is None and published.lines(found, "Q-Pain")[0] is not None
    splits = published.lines(found, "PubMedQA")
    _, table = figures.quadrants(published.figure6(CELLS, "PubMedQA"), splits=splits)
    sides = table.set_index("model")["quadrant"]
    assert (
        sides["Biomistral"] == sides["MMed-Llama3"] == "plausible only" and sides["Gemma"] == "plausible and faithful"
    )  # section 5.3
    _, none = figures.quadrants(published.figure6(CELLS, "Q-Pain"), splits=published.lines(found, "Q-Pain"))
    assert (none["quadrant"] == "").all()
    assert "No line of faithfulness" in published.caption(found, "Q-Pain")
    assert published.caption(found) == "Figure 6: mean of both data sets. Lines at plausibility 0.7 and faithfulness 0.4, which part the models as section 5.3 does."  # fmt: skip
    assert f"plausibility {splits[0]:g} and faithfulness {splits[1]:g}" in published.caption(found, "PubMedQA")


def test_findings_and_their_sentence():
    found = published.findings(CELLS)
    assert list(found.columns) == ["claim", "printed", "recomputed", "verdict", "where"]
    assert found.notna().all(axis=None) and (found["where"] != "").all()
    first = found.set_index("claim")["verdict"]
    assert first["general-purpose models tend to outperform the medical ones"] == "holds"
    assert first["the quadrants of Figure 6"] == "in part"
    counts = found["verdict"].value_counts()
    assert counts.sum() == len(found) and set(counts.index) == {"holds", "in part", "does not hold", published.UNTOLD}
    # Rank correlations over six models, with intervals of −0.6 to 0.9 and −0.1 to 1: neither a trade-off nor none.
    assert first["plausibility and faithfulness are traded off"] == published.UNTOLD and counts[published.UNTOLD] == 1
    said = f"{counts['holds']} hold, {counts['in part']} hold in part, {counts['does not hold']} do not hold"
    assert published.claims_sentence(found) == f"Of {len(found)} claims and examples {said}, 1 cannot be told."
    told = found[found["verdict"] != published.UNTOLD]
    assert published.claims_sentence(told).endswith(f"{said}.")


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [([(-0.9, -0.1), (-0.8, -0.2)], "holds"), ([(-0.9, -0.1), (0.2, 0.9)], "does not hold"), ([(-0.9, -0.1), (-0.2, 0.3)], "cannot be told"), ([(float("nan"),) * 2], "cannot be told")],
)  # fmt: skip
def test_a_sign_is_told_by_intervals(ends, verdict):
    assert published._all_below_0(ends) == verdict


# ---------------------------------------------------------------- a run beside them


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "resolve", lambda path: tmp_path)
    return runs.open("anywhere", "lext/90_published")


def estimates(data: str = "all", subject: float = 0.3) -> pd.DataFrame:
    frame = pd.DataFrame({"metric": list(explanation.METRICS), "value": subject, "low": subject - 0.1, "high": subject + 0.1})  # fmt: skip
    return frame.assign(data=data, n=8, left_out=0, reason="", text="", signature="")


def record(run, **parameters):
    (run.folder / "run.json").write_text(json.dumps({"parameters": parameters}))


def test_a_run_without_scores(run):
    assert published.own_scores(run) is None and published.own_settings(run) == {}
    run.write("trust_estimates", estimates().iloc[:0])
    assert published.own_scores(run) is None


def test_scores_of_a_run_stand_beside_the_printed_ones(run):
    run.write("trust_estimates", estimates())
    record(run, subject="local/smollm2")
    yours = published.own_scores(run)
    assert set(yours["metric"]) == set(published.METRICS) and set(yours["model"]) == {"local/smollm2"}
    for dataset in ("", "Q-Pain", "PubMedQA"):
        table = published.figure6(CELLS, dataset, yours)
        assert table["whose"].tolist() == ["printed"] * 6 + ["yours"] and table["plausibility_low"].tolist()[-1] == pytest.approx(0.2)  # fmt: skip
    assert published.own_scores(run, "mine")["model"].unique().tolist() == ["mine"]
    _, shown = figures.metric_rows(published.metrics(CELLS, yours=yours), "model")
    assert (shown["whose"] == "printed").sum() == 96 and (shown["whose"] == "yours").sum() == 8
    assert len(published.metrics(CELLS, "Q-Pain")) == 48


def test_forms_of_items_stand_beside_their_data_set(run):
    run.write(
        "trust_estimates", pd.concat([estimates(), estimates("PubMedQA form", 0.4), estimates("Q-Pain form", 0.2)])
    )
    yours = published.own_scores(run)
    last = {d: float(published.figure6(CELLS, d, yours)["plausibility"].iloc[-1]) for d in ("", "Q-Pain", "PubMedQA")}
    assert last == {"": 0.3, "Q-Pain": 0.2, "PubMedQA": 0.4}
    run.write("trust_estimates", estimates())
    run.write("items", pd.DataFrame({"item_id": ["a", "b"], "form": ["qpain", "qpain"]}))
    yours = published.own_scores(run)
    assert len(published.figure6(CELLS, "Q-Pain", yours)) == 7 and len(published.figure6(CELLS, "PubMedQA", yours)) == 6
    assert len(published.figure6(CELLS, "", yours)) == 7


def test_tables_keep_their_decimals_and_have_the_run_below(run):
    assert published.beside(CELLS)["model"].tolist() == MODELS * 2
    values = pd.concat([estimates(), estimates("PubMedQA form", 0.4)])
    values.loc[values["metric"] == "qag", "value"] = None
    run.write("trust_estimates", values)
    yours = published.own_scores(run, "mine")
    table = published.beside(CELLS, yours)
    assert list(table.columns) == ["items", "model", "correctness", "consistency", "QAG", "counterfactual", "contextual", "plausibility", "faithfulness", "LExT"]  # fmt: skip
    assert list(published.beside(CELLS, yours, published.SCORES).columns[2:]) == [
        "plausibility",
        "faithfulness",
        "LExT",
    ]
    printed = table.iloc[2]
    assert (printed["plausibility"], printed["contextual"]) == ("0.7705", "0.120")  # Q-Pain, MMed-Llama3
    own = table.tail(2).set_index("items")
    assert own.index.tolist() == ["yours, all", "yours, PubMedQA form"] and own["QAG"].tolist() == ["", ""]
    assert own.loc["yours, PubMedQA form", ["plausibility", "correctness"]].tolist() == ["0.4000", "0.400"]
    assert "over all its items" not in published.metrics_caption(yours) and "over all" not in published.metrics_caption(
        None
    )
    both = pd.concat([yours, yours.assign(dataset="Q-Pain")])
    assert published.metrics_caption(both).endswith("over all its items, in the forms of PubMedQA and Q-Pain.")


def test_recorded_replies_are_named_after_who_gave_them(run):
    record(run, subject="recorded", larger="")
    assert published.served(run) == {"subject": "recorded", "larger": "recorded"}
    run.write("calls_explain", pd.DataFrame({"item_id": "a", "stage": ["explain", "paraphrase"], "model": ["small/one", "big/one"]}))  # fmt: skip
    run.write("trust_estimates", estimates())
    assert published.served(run) == {"subject": "small/one", "larger": "big/one"}
    assert set(published.own_scores(run)["model"]) == {"small/one"}
    assert published.own_settings(run)["larger"] == "big/one" and published.own_settings(run)["subject"] == "small/one"


def test_how_much_a_metric_can_move_is_said():
    said = published.spread_sentence(CELLS)
    assert "on PubMedQA consistency moves its score by at most 0.018" in said and "on Q-Pain consistency" in said


SAME = {
    "subject": "ollama/Gemma", "larger": "Llama 70B", "embedder": "BERT", "variant": "tables", "iterations": 5, "paraphrases": 3,
    "keywords": 5, "beta": 0.2, "qag_questions": 5, "tagger": "DeBERTaV3 with 41 kinds of medical entities", "data": "my.csv", "paraphrase": "question",
    "labels": "judge", "sequential": "remove",
}  # fmt: skip


def test_verdict(run):
    settings = comparability.published("lext", "settings")
    record(run, subject="local/smollm2", larger="local/smollm2", variant="paper", iterations=5, beta=0.2)
    table, said = comparability.verdict(published.own_settings(run), settings)
    assert (
        said.startswith("Not comparable") and "variant (paper; printed: tables)" in said and "the sample items" in said
    )
    assert table.set_index("aspect")["same"]["iterations"] and pd.isna(table.set_index("aspect")["same"]["keywords"])
    record(run, **SAME)
    _, said = comparability.verdict(published.own_settings(run, same_prompts=True), settings)
    assert "subject" not in said and said == "Not comparable with the printed numbers: items (my.csv; printed: Q-Pain or PubMedQA)."  # fmt: skip
    record(run, **{**SAME, "qag_questions": 8, "sequential": "restore"})
    _, said = comparability.verdict(published.own_settings(run, same_prompts=True, same_items=True), settings)
    assert (
        said
        == "Comparable with care; what differs: sequential (restore; printed: remove), qag_questions (8; printed: 5)."
    )


def test_summary_and_warnings():
    counts, found = audit.counted(audit.derived(CELLS)), published.findings(CELLS)
    said = published.summary(None, "", counts, found)
    assert said.startswith("Of 12 cells of Table 6 LExT follows in 12, plausibility in 9, faithfulness as defined in 0 (without QAG 11)")  # fmt: skip
    assert published.summary(found, "Not comparable with x: y.", counts, found).endswith(". Not comparable with x.")
    notes = published.warnings(None, "", counts, CELLS)
    assert len(published.warnings(found, "no", counts, CELLS)) == len(notes) + 1
    assert "moves plausibility by at most 0.018" in notes[1]
