"""MS-Exam-Gen's printed numbers: the tables as shipped, what follows from what, and a run beside them."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from factlab import comparability, exam, figures, places, runs
from factlab.runs.parameters import read_declared
from factlab.studies.ms_exam_gen import audit, banks, beside, published

AT = audit.numbers()
TABLES = ["claims", "counts", "cues", "labels", "misses", "parents", "rules", "settings", "statistics", "table4"]


# ---------------------------------------------------------------- what is shipped


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_read_and_name_their_source(name):
    table = comparability.published("ms_exam_gen", name)
    assert len(table) >= 2 and not table.duplicated().any()
    if "source" in table.columns:
        assert table["source"].str.match(r"(section|sections|abstract|four options)").all()


SPOTS = {
    "locked items": 3058, "Easy": 646, "Medium": 646, "Hard": 883, "synthesis": 883, "predictions": 36696, "primary endpoints": 12,
    "legacy pool": 1293, "legacy flagged": 1217, "raw files": 72, "sources": 66, "chunks": 4289, "topics": 16, "subtopics": 53,
    audit.BEST: 89.70, audit.WORST: 46.89, "accuracy range": 42.8, "API range": 9.09, "missed by 0–1": 53.0, "missed by 4+": 25.5,
    "structure before": 65.7, "structure after": 36.4, "structure full": 38.3, "both before": 64.4, "both after": 43.8, "both full": 41.2,
    "longest_key before": 68.1, "longest_key after": 6.6, "leave-one-out correlation": 0.934, "leave-one-out agreement": 96.2,
    "mean of RIS and CIS": 67.9, "sources of synthesis": 7.96, "sources of Hard": 2.24, "sources and accuracy": 0.054,
    "order correlation": 0.991, "order change": 2.82, "order stability": 56.9, "order effects": 9, "order endpoints": 11,
}  # fmt: skip


@pytest.mark.parametrize(("what", "value"), SPOTS.items())
def test_numbers_as_printed(what, value):
    assert AT[what] == value


def test_cue_rules_are_those_of_the_library():
    for row, rule in zip(comparability.published("ms_exam_gen", "rules").itertuples(), (exam.HARD, exam.SYNTHESIS), strict=True):  # fmt: skip
        found = {float(v) for v in vars(rule).values() if isinstance(v, int | float) and not isinstance(v, bool)}
        assert {float(row.stem), float(row.shortest), float(row.longest_option), float(row.advantage), float(row.ratio)} <= found  # fmt: skip


def test_settings_have_the_names_of_parameters():
    settings = comparability.published("ms_exam_gen", "settings")
    assert settings["aspect"].is_unique and set(settings["decides"]) == {"yes", "no"}
    own = {"bank", "items", "panel", "prompt", "unresolved", "builder", "retriever", "t"}
    assert set(settings["aspect"]) == own | set(beside._SETTINGS)
    folder = places.root() / "notebooks" / "ms_exam_gen"
    declared = set().union(*(read_declared(path) for path in folder.glob("*.ipynb")))
    assert set(beside._SETTINGS) - declared == set()


# ---------------------------------------------------------------- shares


@pytest.mark.parametrize(
    ("percent", "n", "decimals", "found"),
    [
        (89.70, 3058, 2, [2743]), (46.89, 3058, 2, [1434]), (9.09, 3058, 2, [278]), (89.71, 3058, 2, []), (50.0, 2, 1, [1]), (100.0, 7, 1, [7]),
        (0.0, 7, 1, [0]), (33.3, 3, 1, [1]), (33.4, 3, 1, []), (25.5, 3058, 1, [779, 780, 781]),
    ],
)  # fmt: skip
def test_whole_numbers_behind_a_share(percent, n, decimals, found):
    assert list(audit.whole_numbers(percent, n, decimals)) == found
    assert found == [k for k in range(n + 1) if abs(100 * k / n - percent) <= 0.5 * 10**-decimals + 1e-9]


def test_shares_fit_and_say_when_that_tells_nothing():
    found = audit.shares().set_index("what")
    assert found["fits"].all() and (found["by_accident"] < 1).sum() == 3
    assert found.loc["API range", "low"] is pd.NA and found.loc["structure before", "n"] == 1293
    low, high = found.loc[audit.BEST, ["low", "high"]]
    assert (low, high) == (pytest.approx(0.8857, abs=1e-4), pytest.approx(0.9073, abs=1e-4))
    assert "chance of 0.029" in audit.shares_sentence(found.reset_index())
    assert "89.7 % [88.6, 90.7]" in published.interval_sentence()


def test_cues_before_and_after():
    cells = audit.printed_cues().set_index("cue")
    assert cells.loc["structure", "difference"] == pytest.approx(-0.293)
    se = math.sqrt(0.657 * 0.343 / 1293 + 0.364 * 0.636 / 1766)
    assert cells.loc["structure", "high"] == pytest.approx(-0.293 + 1.96 * se)
    assert cells.loc["longest_key", ["chance", "full"]].isna().all()
    figure, table = figures.cue_bars(cells.reset_index())
    assert len(table) == 9 and "not known" in figures.describe(figure)
    rest = published.implied_easy_medium()
    n = {"new": 1766, "old": 1292}
    for cue in ("structure", "both"):
        assert rest[cue] * n["old"] + AT[f"{cue} after"] * n["new"] == pytest.approx(AT[f"{cue} full"] * 3058)
    assert rest["structure"] == pytest.approx(40.9, abs=0.05) and rest["both"] == pytest.approx(37.6, abs=0.05)


# ---------------------------------------------------------------- the panel


def simulated(accuracies, t=4, n=40_000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame((rng.random((n, len(accuracies))) < accuracies).astype(int))


@pytest.mark.parametrize(
    "accuracies", [audit.even_panel(), audit.easiest_panel(), [0.25] * 12, [0.9, 0.5, 0.3, 0.6, 0.8]]
)
def test_independent_panels_are_as_simulated(accuracies):
    found, correct = audit.independent_panel(accuracies), simulated(accuracies)
    loo = exam.leave_one_out(correct, 4)
    missed = exam.difficulty(correct)
    assert found["low"] == pytest.approx(float((missed <= 1).mean()), abs=0.01)
    assert found["flagged"] == pytest.approx(float((missed >= 4).mean()), abs=0.01)
    assert found["agreement"] == pytest.approx(float(loo["agreement"].min()), abs=0.01)
    assert found["pearson"] == pytest.approx(float(loo["pearson"].min()), abs=0.01)
    assert found["spearman"] == pytest.approx(float(loo["spearman"].min()), abs=0.01)


def test_alike_endpoints_that_guess_correlate_by_construction():
    assert audit.independent_panel([0.5] * 12)["pearson"] == pytest.approx(math.sqrt(11 / 12))


def test_panels_keep_to_what_is_printed():
    even = audit.even_panel()
    assert len(even) == 12 == len(audit.easiest_panel()) and even == sorted(even, reverse=True)
    assert (100 * even[0], 100 * even[-1]) == pytest.approx((89.70, 46.89)) and 100 * (
        even[0] - even[6]
    ) == pytest.approx(9.09)
    # No independent panel within the ends leaves more items to 0–1.
    best = audit.independent_panel(audit.easiest_panel())["low"]
    rng = np.random.default_rng(1)
    for _ in range(50):
        others = rng.uniform(0.4689, 0.8970, 10)
        assert audit.miss_counts([1 - 0.8970, 1 - 0.4689, *(1 - others)])[:2].sum() <= best + 1e-12
    assert best < 0.53 - 0.0005


def test_pearson_cannot_be_as_low_as_printed():
    """The bound holds in panels of any kind, and the printed value is below it."""
    assert audit.exactly_four() == (pytest.approx(3.75), pytest.approx(11.55))
    assert audit.smallest_pearson() == pytest.approx(0.9422, abs=1e-4) and audit.smallest_pearson() > 0.9345
    rng = np.random.default_rng(2)
    for _ in range(30):
        hard = rng.beta(*rng.uniform(0.2, 3, 2), size=(400, 1))
        correct = pd.DataFrame((rng.random((400, 12)) > hard ** rng.uniform(0.3, 3, 12)).astype(int))
        w = float(exam.difficulty(correct).var(ddof=0))
        loo = exam.leave_one_out(correct, 4)
        assert float(loo["pearson"].min()) >= math.sqrt(1 - 0.25 / w) - 1e-9
        four = float((exam.difficulty(correct) == 4).mean())
        least, most = audit.exactly_four(100 * float(loo["agreement"].min()))
        assert least / 100 - 1e-9 <= four <= most / 100 + 1e-9


def test_smallest_variance_is_below_that_of_any_such_counts():
    bound, rng = audit.smallest_variance(), np.random.default_rng(3)
    for _ in range(200):
        four = rng.uniform(0, 0.1155)
        weights = np.concatenate([0.53 * rng.dirichlet([1, 1]), 0.215 * rng.dirichlet([1, 1]), [four], (0.255 - four) * rng.dirichlet([0.3] * 8)])  # fmt: skip
        counts = np.arange(13)
        assert weights @ counts**2 - (weights @ counts) ** 2 >= bound


def test_mean_of_the_panel():
    table = audit.panel_mean().set_index("from")
    assert table.loc["all of them"].tolist() == pytest.approx([67.9, 85.375])
    accuracies = [89.70] * 6 + [80.61] + [89.70] * 4 + [46.89]
    assert table.iloc[1]["high"] == pytest.approx(np.mean(accuracies))
    assert table.iloc[0].tolist() == pytest.approx([100 - 100 * (0.53 + 3 * 0.215 + 12 * 0.255) / 12, 100 - 100 * (2 * 0.215 + 4 * 0.255) / 12])  # fmt: skip


# ---------------------------------------------------------------- order


def test_one_pair_of_neighbours_changed_places():
    from scipy.stats import spearmanr

    assert audit.rank_changes() == [2]
    ranks = np.arange(11)
    swapped = ranks.copy()
    swapped[[4, 5]] = swapped[[5, 4]]
    assert round(float(spearmanr(ranks, swapped).statistic), 3) == AT["order correlation"]
    assert audit.points_moved() == [31.0] and round(31 / 11, 2) == AT["order change"]


# ---------------------------------------------------------------- claims


def claim(**changes):
    row = {"claim": "c", "source": "s", "relation": "sum", "parts": "Easy;Medium", "printed": 1292.0, "decimals": 0}
    return pd.DataFrame([{**row, **changes}])


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"), ({"printed": 1293.0}, "does not hold"), ({"relation": "difference", "printed": 0.0}, "holds"),
        ({"relation": "product", "printed": 646.0**2}, "holds"), ({"relation": "is", "parts": audit.WORST, "printed": 46.9, "decimals": 1}, "holds"),
        ({"relation": "is", "parts": audit.WORST, "printed": 46.8, "decimals": 1}, "does not hold"), ({"relation": "at most"}, "holds"),
        ({"relation": "fell"}, "does not hold"), ({"relation": "above", "parts": "Hard;Easy"}, "holds"), ({"relation": "ascending"}, "does not hold"),
        ({"relation": "ascending", "parts": "Easy;Hard;locked items"}, "holds"),
    ],
)  # fmt: skip
def test_relations(changes, verdict):
    assert published.check_claims(claim(**changes))["verdict"].tolist() == [verdict]


def test_a_wrong_claim_is_refused():
    with pytest.raises(ValueError, match="no number is called 'Esay'"):
        published.check_claims(claim(parts="Esay"))
    with pytest.raises(ValueError, match="the relation 'near' is none of sum"):
        published.check_claims(claim(relation="near"))


def test_findings():
    found = published.findings()
    assert list(found.columns) == published.COLUMNS and found["claim"].is_unique
    assert found.notna().all(axis=None) and set(found["verdict"]) <= set(published.VERDICTS)
    assert not found["recomputed"].str.contains("nan|None").any()
    at = found.set_index("claim")["verdict"]
    assert at["items of the four labels make the bank"] == at["predictions of the primary panel"] == "holds"
    assert at["miss counts correlate with those without an endpoint"] == at["the agreement of flags shows it"] == "in part"  # fmt: skip
    assert at["nine of eleven endpoints show position effects"] == "not shown"
    assert at["some items are harder than others for the panel"] == "holds"
    assert at["the length of the key gives less away"] == "holds"
    said = found.set_index("claim")[["printed", "recomputed"]].agg(" ".join, axis=1)
    assert "31.1 % at most" in said["the length of the key gives less away"]
    # The text prints a bound: what needs the number itself is said to.
    loo = said["miss counts correlate with those without an endpoint"]
    assert loo.startswith("at least 0.934") and "if 0.934 is the smallest of the twelve" in loo
    assert "up to 11.5 %" in said["the agreement of flags shows it"]
    counts = found["verdict"].value_counts()
    assert published.claims_sentence(found).startswith(f"Of {len(found)} claims: {counts['holds']} hold, {counts['in part']} hold in part only, {counts.get('does not hold', 0)} do not hold, ")  # fmt: skip


def test_a_number_that_is_changed_is_found(monkeypatch):
    """The audit can fail: a misprint of each kind is noticed."""
    real = comparability.published

    def changed(table, column, old, new):
        def read(paper, name):
            frame = real(paper, name)
            if name == table:
                frame[column] = frame[column].where(frame[column] != old, new)
            return frame

        return read

    for table, column, old, new, name in [
        ("counts", "count", 3058, 3059, "predictions of the primary panel"),
        ("table4", "accuracy", 89.70, 89.71, "accuracies are shares of the bank"),
        ("statistics", "value", 0.991, 0.993, "the pilot keeps the coarse order of endpoints"),
        ("statistics", "value", 2.82, 2.83, "mean absolute change"),
        ("labels", "sources", 7.96, 4.2, "sources of an item are within what retrieval allows"),
        ("parents", "accuracy", 67.9, 88.0, "misses, accuracies and means of parents are of one panel"),
        ("cues", "after", 36.4, 64.0, "refreshed construction reduced measurable cues"),
    ]:
        monkeypatch.setattr(comparability, "published", changed(table, column, old, new))
        assert published.findings().set_index("claim")["verdict"][name] == "does not hold", name
    monkeypatch.setattr(comparability, "published", changed("statistics", "value", 0.934, 0.95))
    at = published.findings().set_index("claim")["verdict"]
    assert at["miss counts correlate with those without an endpoint"] == "holds"


def test_what_follows_unsaid():
    at = published.implied().set_index("what")["value"]
    assert at["items missed by two or three endpoints"] == "21.5 %" and at["legacy items that were flagged"] == "94.1 %"
    assert at["from the lowest endpoint up to the lowest API endpoint"] == "33.72 points" and not [w for w in at.index if "range of the five" in w]  # fmt: skip
    assert at["lowest API endpoint"] == "80.61 %" and at["items missed by exactly four"].endswith("11.5 %")
    assert at["advantage and ratio in Hard items"] == "the ratio binds below 26.7 words, the advantage above"
    assert published.independence().notna().all(axis=None)


# ---------------------------------------------------------------- figures


def test_figures_are_drawn_from_the_numbers():
    figure, table = figures.miss_distribution(published.misses(), panel=12)
    assert table["share"].sum() == pytest.approx(1) and "25.5 %" in figures.describe(figure)


def test_tables_are_shown_in_words():
    shown = published.shown_shares(audit.shares())
    assert shown["what"].is_unique and not shown["what"].str.contains("before|after|full|_").any()
    assert shown.set_index("what")["95 % interval"][[audit.BEST, "API range"]].tolist() == ["88.6 to 90.7", "–"]
    for name in published.HEADS:
        assert not {"k", "fell", "ratio", "longest"} & set(published.printed(name).columns)


# ---------------------------------------------------------------- a run beside them


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "resolve", lambda path: tmp_path)
    return runs.open("anywhere", "ms_exam_gen/90_published")


def answers(endpoints=12, items=30, overlap=0):
    rows = [
        (f"i{i}", f"e{e}", int((i + e) % endpoints < e), "scored" if i else "refused", e < overlap)
        for i in range(items)
        for e in range(endpoints)
    ]
    return pd.DataFrame(rows, columns=["item_id", "endpoint", "correct", "status", "overlap"])


def record(run, **parameters):
    (run.folder / "run.json").write_text(json.dumps({"parameters": parameters}))


def test_a_run_without_answers(run):
    assert beside.own_results(run) is None and beside.own_settings(run, None) == {}
    assert len(beside.table(run, None)) == 0 and beside.own_misses(run, None) is None
    run.write("results", answers().iloc[:0])
    assert beside.own_results(run) is None


def test_numbers_of_a_run_stand_beside_the_printed_ones(run):
    run.write("results", answers())
    results = beside.own_results(run)
    at = beside.table(run, results).set_index("measure")
    accuracy = answers().groupby("endpoint")["correct"].mean()
    assert at["this run"]["range"] == f"{100 * (accuracy.max() - accuracy.min()):.1f} points" and at["printed"]["range"] == "42.8 points"  # fmt: skip
    assert at["this run"]["unresolved answers"] == "12 of 360" and at["n"].unique().tolist() == [
        "30 items, 12 endpoints"
    ]
    missed = 12 - answers().groupby("item_id")["correct"].sum()
    assert at["this run"]["missed by a third of the panel"] == f"{100 * (missed >= 4).mean():.1f} % (4 of 12)"
    both = beside.own_misses(run, results)
    assert both[both["whose"] == "this run"]["share"].sum() == pytest.approx(1)
    _, drawn = figures.miss_distribution(both, series="whose")
    assert drawn[drawn["whose"] == "this run"]["at_least"].max() == pytest.approx(1)


def test_builders_and_other_orders_are_left_out(run):
    run.write("results", pd.concat([answers(overlap=2).assign(order=0), answers().assign(order=1)]))
    results = beside.own_results(run)
    assert results["endpoint"].nunique() == 10 and len(results) == 300
    assert beside.own_misses(run, results) is None  # ten endpoints, not twelve
    assert beside.flag_at(run, 10) == 3
    record(run, t=5)
    assert beside.flag_at(run, 10) == 5
    assert "(5 of 10)" in beside.table(run, results).set_index("measure")["this run"]["missed by a third of the panel"]


def test_one_endpoint_and_option_orders(run):
    run.write("results", answers(endpoints=1))
    at = beside.table(run, beside.own_results(run)).set_index("measure")["this run"]
    assert at["correlation without an endpoint, smallest (Pearson)"] == at["the same (Spearman)"] == "undefined"
    items = [exam.Item(f"q{i}", ("a", "b", "c", "d"), "ABCD"[i % 4], topic="t") for i in range(12)]
    sheet = exam.order_sheet(items)
    sat = pd.concat([sheet.assign(endpoint=e, choice=c, status="scored") for e, c in (("x", "A"), ("y", sheet["key"]))])
    effects = exam.order_effects(exam.mark_orders(sat, items), permutations=200)
    run.write("order_effects", effects)
    at = beside.table(run, beside.own_results(run)).set_index("measure")["this run"]
    assert at["same option in every order"] == "50.0 %" and at["position effects"] == "1 of 2"
    # One that cannot see places is not counted, and where none can there is nothing to say.
    run.write("order_effects", effects.assign(order_free=[False, True]))
    at = beside.table(run, beside.own_results(run)).set_index("measure")["this run"]
    assert at["same option in every order"] == "0.0 %" and at["position effects"] == "1 of 1"
    run.write("order_effects", effects.assign(order_free=True))
    assert "position effects" not in set(beside.table(run, beside.own_results(run))["measure"])


SAME = {
    "bank": "locked MS-MRI bank", "builder": "openai/gpt-5-mini", "retriever": "openai/text-embedding-3-large", "store": "chroma",
    "chunk_chars": 1200, "overlap": 200, "per_query": 4, "k": 3, "synthesis_k": 30, "per_source": 2, "snippets": 10, "temperature": 0,
    "repair_temperature": 0.1, "near": 0.9, "cosine": 0.9, "replicates": 4000, "order_items": 100,
}  # fmt: skip


def test_verdict(run):
    settings = comparability.published("ms_exam_gen", "settings")
    record(run, builder="local/smollm2", k=3, store="numpy")
    run.write("results", answers())
    results = beside.own_results(run)
    table, said = comparability.verdict(beside.own_settings(run, results), settings)
    assert said.startswith("Not comparable with the printed numbers: bank (") and "items (30; printed: 3058)" in said
    at = table.set_index("aspect")["same"]
    assert at["k"] and not at["store"] and at["t"] and pd.isna(at["overlap"])
    record(run, **SAME)
    table, said = comparability.verdict(beside.own_settings(run, results, same_prompt=True), settings)
    assert table.loc[table["same"] != True, "aspect"].tolist() == ["items", "panel"]  # noqa: E712  (missing is not same either)


def test_the_bank_and_the_items_in_four_orders_are_those_used(run):
    record(run, order_items=32)
    assert beside.own_settings(run, None)["order_items"] == 32
    sample = banks.sample_bank()
    run.write("bank", exam.to_table(sample))
    run.write("order_effects", pd.DataFrame({"endpoint": ["x"], "items": [29]}))
    settings = beside.own_settings(run, None)
    assert (settings["bank"], settings["order_items"]) == ("sample bank", 29)
    run.write("bank", exam.to_table([exam.Item("Which?", ("a", "b", "c", "d"), "A", topic="t")]))
    assert beside.own_settings(run, None)["bank"] == "the run's own items"


def test_summary_and_warnings():
    found = published.findings()
    said = published.summary(None, "", found)
    assert said.startswith(f"{(found['verdict'] == 'holds').sum()} of {len(found)} claims hold") and "at least 0.942" in said  # fmt: skip
    assert published.summary(answers(), "Not comparable with x: y.", found).endswith(". Not comparable with x.")
    assert "0.934, if it is the smallest of the twelve, cannot be Pearson's" in said
    notes = published.warnings(None, "", found)
    assert published.warnings(answers(), "no", found) == ["no", *notes]
    assert "6.6 %" in " ".join(notes) and "cannot be told" in " ".join(notes)
    wrong = published.warnings(None, "", found.assign(verdict="does not hold"))
    assert len(wrong) == len(notes) + 1 and wrong[-1].startswith("A claim that does not hold")
