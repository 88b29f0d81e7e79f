"""DAHL section 5.3: automated scores beside annotators', the number of units, and where labels part."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, ttest_ind, ttest_rel

from factlab import judging, places, runs, stats
from factlab.sources import SourceError
from factlab.studies import annotators

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
UNDEFINED = re.compile(r"\bnan\b|None|<NA>|\binf\b", re.IGNORECASE)


def write(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def units(**answers: str) -> pd.DataFrame:
    """Judged units, a letter each: t(rue), f(alse), u(nknown), - (no verdict)."""
    named = {"t": "true", "f": "false", "u": "unknown", "-": None}
    rows = [(r, i, f"unit {i} of {r}", named[v]) for r, text in answers.items() for i, v in enumerate(text, start=1)]
    return pd.DataFrame(rows, columns=["response_id", "unit_no", "unit", "verdict"])


def labelled(a: dict[str, str], b: dict[str, str], settled: dict[str, str] | None = None) -> pd.DataFrame:
    table = units(**a).rename(columns={"verdict": "label_a"}).assign(label_b=units(**b)["verdict"])
    both = table["label_a"].where(table["label_a"] == table["label_b"])
    return table.assign(label=both if settled is None else units(**settled)["verdict"])


def own(**by: dict[str, str]) -> pd.DataFrame:
    tables = [units(**a).rename(columns={"verdict": "label"}).assign(annotator=name) for name, a in by.items()]
    columns = ["annotator", "response_id", "unit_no", "unit", "label"]
    return pd.concat(tables)[columns].reset_index(drop=True) if tables else pd.DataFrame(columns=columns)


# ---------------------------------------------------------------- reading


def test_annotations_are_read_with_labels_in_any_case(tmp_path):
    text = "Annotator,response id,Unit,Label,unit_no\nA,r1,one,TRUE,7\n B ,r1,uno, false ,\nA,r1,two,Unknown,9\nA,r2,one,true,\n"
    found = annotators.read_annotations(write(tmp_path, text))
    assert found["label"].tolist() == ["true", "false", "unknown", "true"]
    assert found["annotator"].tolist() == ["A", "B", "A", "A"]
    assert found["unit_no"].tolist() == [1, 1, 2, 1]  # counted anew, whatever the file says


def test_a_settled_label_counts_before_the_one_that_both_gave(tmp_path):
    text = "response_id,unit,label_a,label_b,label\nr,1,true,true,\nr,2,true,false,\nr,3,true,false,False\nr,4,true,true,unknown\n"
    found = annotators.read_labels(write(tmp_path, text))
    assert found["label"].fillna("-").tolist() == ["true", "-", "false", "unknown"]
    assert found["unit_no"].tolist() == [1, 2, 3, 4]
    without = annotators.read_labels(write(tmp_path, text.replace(",label\n", ",note\n")))
    assert without["label"].fillna("-").tolist() == ["true", "-", "-", "true"]


@pytest.mark.parametrize("columns", ["annotator,response_id,unit,label", "response_id,unit,label_a,label_b"])
def test_a_table_without_rows_is_read(tmp_path, columns):
    read = annotators.read_annotations if columns.startswith("annotator") else annotators.read_labels
    found = read(write(tmp_path, columns + "\n"))
    assert len(found) == 0 and {"unit_no", "label"} <= set(found)


FAULTS = [
    (
        "annotator,response_id,unit,label\nA,r,u,true\nA,r,v,maybe",
        "row 3: label 'maybe' is none of true, false, unknown",
    ),
    ("annotator,response_id,unit,label\nA,r,u,", "row 2: label '' is none of"),
    ("annotator,response_id,unit,label\nA,r,u,true\n,r,v,true", "row 3: annotator ''"),
    (
        "annotator,response_id,unit,label\nautomated,r,u,true",
        "row 2: annotator 'automated'; give each annotator another",
    ),
    ("annotator,response_id,unit\nA,r,u", "no column 'label'"),
    ("response_id,unit,label_a,label_b\nr,u,true,wrong", "row 2: label_b 'wrong' is none of"),
    ("response_id,unit,label_a,label_b,label\nr,u,true,true,\nr,v,true,true,yes", "row 3: label 'yes' is none of"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_a_fault_in_a_table_is_named_with_its_row(tmp_path, text, message):
    read = annotators.read_annotations if text.startswith("annotator") else annotators.read_labels
    with pytest.raises(SourceError, match=message):
        read(write(tmp_path, text))


# ---------------------------------------------------------------- matching


def test_units_get_labels_by_answer_and_text():
    judged = units(r1="tf", r2="t", r3="t").assign(p_true=0.5, error=None)
    judged.loc[1, "unit"] = "of another splitter"
    known = labelled({"r1": "tt", "r2": "f"}, {"r1": "tt", "r2": "t"})
    found = annotators.automated_units(judged, known)
    assert found.columns.tolist() == [
        "response_id",
        "unit_no",
        "unit",
        "verdict",
        "p_true",
        "label",
        "label_a",
        "label_b",
    ]
    assert found["response_id"].tolist() == ["r1", "r1", "r2"]  # r3 was not labelled
    assert found["label_a"].fillna("-").tolist() == ["true", "-", "false"]
    assert found["label"].fillna("-").tolist() == ["true", "-", "-"]
    said = annotators.matching_sentence(found, known, own(A={"r2": "t", "r9": "t"}))
    assert said == (
        "1 answers have automated and annotators' units (1 only automated ones, 1 only annotators'); "
        "2 of 3 automated units are among the 3 that the annotators labelled"
    )


def test_a_text_that_stands_twice_in_an_answer_stays_two_units():
    twice = units(r="tf").assign(unit="the same")
    known = labelled({"r": "tf"}, {"r": "tf"}).assign(unit="the same")
    found = annotators.automated_units(twice, known)
    assert found["unit_no"].tolist() == [1, 2] and found["label"].tolist() == ["true", "true"]


# ---------------------------------------------------------------- scores


def test_the_scores_of_everyone_by_hand():
    judged = annotators.automated_units(units(r1="tttf", r2="tu", r3="ff"), labelled({"r1": "ttff", "r2": "tt", "r3": "ft"}, {"r1": "ttff", "r2": "tt", "r3": "ff"}))  # fmt: skip
    theirs = own(A={"r1": "ttf", "r2": "tf"}, B={"r1": "f", "r2": "u", "r4": "t"})
    found = annotators.scores(judged, theirs).set_index("response_id")
    assert found.index.tolist() == ["r1", "r2", "r3"]  # r4 has no automated units
    nan = np.nan
    expected = {
        "automated": [0.75, nan, 0],  # r2: one unit unknown
        "reference": [0.5, 1, nan],  # r3: one unit not settled
        "A": [2 / 3, 0.5, nan],
        "B": [0, nan, nan],
        "annotators": [1 / 3, nan, nan],  # only where both have a score
        "units_automated": [4, 2, 2],
        "units_A": [3, 2, nan],
        "units_B": [1, 1, nan],
        "units_annotators": [2, 1.5, nan],
    }
    assert set(found) == set(expected)
    for column, values in expected.items():
        assert found[column].tolist() == pytest.approx(values, nan_ok=True), column
    assert annotators.annotator_names(found) == ["A", "B"]
    # The same rule for all: an unknown unit alone is left out.
    softer = annotators.scores(judged, theirs, "exclude-unit").set_index("response_id")
    assert softer.loc["r2", ["automated", "A"]].tolist() == [1, 0.5] and np.isnan(softer.loc["r2", "B"])


def test_a_column_of_the_file_called_verdict_does_no_harm():
    theirs = own(A={"r": "tf"}).assign(verdict="true")
    judged = annotators.automated_units(units(r="t"), labelled({"r": "t"}, {"r": "t"}))
    assert annotators.scores(judged, theirs)["A"].tolist() == [0.5]


def test_without_annotators_or_without_units_the_table_has_its_columns():
    judged = annotators.automated_units(units(r="tf"), labelled({"r": "tf"}, {"r": "tf"}))
    found = annotators.scores(judged, own())
    assert found[["automated", "units_automated"]].values.tolist() == [[0.5, 2]]
    assert found[["annotators", "units_annotators"]].isna().all(axis=None)
    nothing = annotators.scores(judged.head(0), own(A={"r": "t"}))
    assert len(nothing) == 0 and {"automated", "reference", "A", "annotators", "units_A"} <= set(nothing)


def test_scores_need_verdicts():
    with pytest.raises(ValueError, match="no verdicts: name a judge"):
        annotators.scores(units(r="t").drop(columns="verdict").assign(label="true"), own(A={"r": "t"}))
    with pytest.raises(ValueError, match="unknown='skip'"):
        annotators.scores(units(r="t").assign(label="true"), own(A={"r": "t"}), "skip")


# ---------------------------------------------------------------- agreement


def table(automated, a, b=None, reference=None, counts=(3, 4, 5)) -> pd.DataFrame:
    """A table as `scores` makes it, from scores alone."""
    frame = {"response_id": [f"r{i}" for i in range(len(automated))], "automated": automated, "A": a}
    frame |= {} if b is None else {"B": b}
    made = pd.DataFrame(frame).astype(dict.fromkeys([c for c in frame if c != "response_id"], float))
    names = [c for c in made if c in "AB"]
    made["annotators"] = made[names].mean(axis=1, skipna=False)
    made["reference"] = made["annotators"] if reference is None else np.array(reference, float)
    for name, count in zip(["automated", *names], counts, strict=False):
        made[f"units_{name}"] = count
    return made.assign(units_annotators=made[[f"units_{name}" for name in names]].mean(axis=1))


RNG = np.random.default_rng(1)
A, B = RNG.random(30), RNG.random(30)
MACHINE = (A + B) / 2 + RNG.normal(0, 0.1, 30)


def test_each_pair_is_correlated_as_scipy_does():
    found = annotators.correlations(table(MACHINE, A, B, reference=A))
    assert found["pair"].unique().tolist() == ["automated and annotators", "reference and annotators", "A and B"]
    assert found["measure"].tolist() == ["pearson", "spearman", "kendall"] * 3
    r, p = pearsonr(MACHINE, (A + B) / 2)
    assert found.loc[0, ["value", "p"]].tolist() == pytest.approx([r, p])
    assert found.loc[6, "value"] == pytest.approx(pearsonr(A, B)[0])
    low, high = pearsonr(MACHINE, (A + B) / 2).confidence_interval()
    assert annotators.pearson_note(found) == f"Pearson r {r:.2f} [{low:.2f}, {high:.2f}]"


NOTES = [
    (table([0.1, 0.2, 0.3], [0.1, 0.2, 0.4]), "r undefined: n too small"),
    (table([0.5] * 12, A[:12]), "r undefined: constant input"),
    (table([None] * 12, A[:12]), "r undefined: n too small"),
    (table([], []), "r undefined: n too small"),
    (table(A, 2 * A), "Pearson r 1.00"),
]


@pytest.mark.parametrize(("made", "note"), NOTES)
def test_a_correlation_that_is_undefined_or_perfect_in_words(made, note):
    found = annotators.correlations(made)
    assert annotators.pearson_note(found) == note
    assert annotators.summary(found, stats.agreement([], []), "judge").startswith(f"judge against annotators: {note}, ")


def test_only_one_annotator_has_nobody_to_agree_with():
    found = annotators.correlations(table(MACHINE, A))
    assert found["pair"].unique().tolist() == ["automated and annotators", "reference and annotators"]
    said = annotators.summary(found, stats.agreement([], []), "judge")
    assert said.endswith(", 30 answers")


def test_what_the_splitter_alone_changes():
    said = annotators.splitter_sentence(table(MACHINE, A, A, reference=[*(A[:29] - 0.1), None]))
    mean = A[:29].mean()
    assert said == (
        f"With the annotators' own labels on the splitter's units the score is {mean - 0.1:.2f}, on their own units {mean:.2f}: "
        "the splitter alone changes it by -0.10 (n = 29)."
    )
    noise = np.tile([0.05, -0.15], 15)
    low, high = stats.compare(A + noise, A).loc[0, ["low", "high"]]
    said = annotators.splitter_sentence(table(MACHINE, A, A, reference=A + noise))
    assert said.endswith(f"changes it by -0.05 [{low:+.2f}, {high:+.2f}] (n = 30).") and low < 0 < high + 0.1
    # All differences 0: they are no shares, and there is no interval that begins at 0.
    assert "by +0.00 (n = 30)" in annotators.splitter_sentence(table(MACHINE, A, A))
    assert annotators.splitter_sentence(table(MACHINE, A, A, reference=[None] * 30)).startswith("No answer has labels")


# ---------------------------------------------------------------- number of units


def test_the_number_of_units_is_tested_as_published_and_for_equality():
    rng = np.random.default_rng(0)
    theirs = rng.integers(3, 9, 30)
    made = table(MACHINE, A, B, counts=(theirs + np.tile([0, 1], 15), theirs, theirs))
    found = annotators.unit_counts(made, 1.0)
    assert found["pair"].tolist() == ["automated and annotators", "automated and A", "automated and B", "A and B"]
    row = found.iloc[0]
    pair = made["units_automated"], made["units_annotators"]
    interval = ttest_rel(*pair).confidence_interval(0.9)
    assert row[["difference", "low", "high"]].tolist() == pytest.approx([0.5, interval.low, interval.high])
    assert row["p_t"] == pytest.approx(ttest_ind(*pair).pvalue) and row["n"] == 30
    assert row["verdict"] == "equivalent within ±1"
    assert annotators.unit_counts(made, 0.5)["verdict"].iloc[0] == "not shown to be equivalent within ±0.5"
    assert found.iloc[3]["verdict"] == "not tested" and "zero variance" in found.iloc[3]["reason"]


@pytest.mark.parametrize("n", [0, 1, 9])
def test_too_few_answers_are_described(n):
    found = annotators.unit_counts(table(A[:n], A[:n], B[:n]))
    assert found["n"].tolist() == [n] * 4 and set(found["verdict"]) == {"not tested"}
    assert found[["low", "p_t", "p_tost"]].isna().all(axis=None)
    assert found["mean_a"].isna().all() == (n == 0) and found["reason"].str.contains("too few").all()


# ---------------------------------------------------------------- labels


def test_disagreement_by_kind_of_unit():
    table = pd.DataFrame(
        [
            ("r1", "Iron and zinc are metals.", "true", "false", "true", "true"),
            ("r1", "It is a metal.", "true", "true", "true", "unknown"),
            ("r2", "Iron and lead are metals.", "true", "true", "true", "false"),
            ("r2", "Iron is a metal.", "true", "unknown", None, "true"),
            ("r2", "Lead is a metal.", None, None, None, None),
        ],
        columns=["response_id", "unit", "label_a", "label_b", "label", "verdict"],
    ).assign(unit_no=1)
    found = annotators.kinds_of_disagreement(table).set_index(["who", "kind"])
    between, errs = found.loc["annotators disagree"], found.loc["judge errs"]
    assert between.loc["coordination", ["n", "share", "others_n", "others_share"]].tolist() == [2, 0.5, 2, 0.5]
    assert between.loc["pronoun", ["n", "share"]].tolist() == [1, 0.0]
    assert between.loc["plain", ["n", "share"]].tolist() == [1, 1.0]
    assert errs.loc["coordination", ["n", "share"]].tolist() == [2, 0.5]
    assert errs.loc["pronoun", ["n", "share"]].tolist() == [1, 1.0]  # unknown is not what was settled
    assert errs.loc["plain", "n"] == 0 and pd.isna(errs.loc["plain", "share"])  # nothing settled, nothing judged
    shown = annotators.examples(table)
    assert shown["unit"].tolist() == [
        "Iron and zinc are metals.",
        "Iron is a metal.",
        "It is a metal.",
        "Iron and lead are metals.",
    ]
    assert annotators.examples(table, 2)["unit"].tolist() == ["Iron and zinc are metals.", "It is a metal."]
    nothing = annotators.kinds_of_disagreement(table.head(0))
    assert nothing["n"].eq(0).all() and len(nothing) == len(found) and len(annotators.examples(table.head(0))) == 0


def test_a_unit_is_an_example_once():
    both = annotators.automated_units(units(r="tt"), labelled({"r": "ff"}, {"r": "tf"}, settled={"r": "ff"}))
    assert annotators.examples(both)["unit"].tolist() == ["unit 1 of r", "unit 2 of r"]


# ---------------------------------------------------------------- in words


def test_nothing_to_distrust_is_said_when_there_is_nothing():
    made = table(MACHINE, A, B, counts=(np.arange(30), np.arange(30) + np.tile([0, 1], 15), np.arange(30)))
    assert annotators.warnings(annotators.correlations(made), annotators.unit_counts(made), None, False) == []


def test_what_to_distrust():
    made = table(
        1 - A[:12],
        A[:12] ** 3,
        RNG.random(12),
        counts=(np.arange(12), np.arange(12) + 3, np.arange(12) + RNG.integers(3, 6, 12)),
    )
    made["automated"] = RNG.random(12)
    found, counts = annotators.correlations(made), annotators.unit_counts(made)
    assert found["low"].iloc[0] < 0 < found["high"].iloc[0]
    trust = judging.audit(["true"] * 3, ["true"] * 3, judge="j")
    notes = annotators.warnings(found, counts, trust, True)
    assert notes[0].startswith("A language model made the sample annotations") and notes[1] == trust.sentence()
    assert notes[2] == "Answers that have both scores: only 12; the paper had 99."
    assert notes[3].endswith("not shown to differ from 0.")
    a, b = counts.loc[0, ["mean_a", "mean_b"]]
    assert notes[4:] == [
        f"Splitter and annotators do not find the same number of units: {a:.1f} and {b:.1f} an answer."
    ]


def test_a_difference_in_units_that_is_not_excluded_is_none_that_is_shown():
    made = table(MACHINE, A, B, counts=(np.tile([1, 9], 15), np.tile([9, 1], 15), np.tile([9, 1], 15)))
    (note,) = annotators.warnings(annotators.correlations(made), annotators.unit_counts(made), None, False)
    assert (
        note
        == "The numbers of units of splitter and annotators are not shown to be equivalent within ±1: 5.0 and 5.0 an answer."
    )


def test_an_undefined_correlation_is_a_warning():
    made = table([0.5] * 30, A, B)
    notes = annotators.warnings(annotators.correlations(made), annotators.unit_counts(made), None, False)
    assert notes == ["The correlation of automated and annotators' score is undefined: constant input."]


def test_the_summary():
    found = annotators.correlations(table(MACHINE, A, B))
    labels = ["true", "false"] * 10
    between = stats.agreement(labels, [*labels[:18], "true", "true"])
    note, kappa = annotators.pearson_note(found), between["value"].iloc[1]
    said = annotators.summary(found, between, "openai/x")
    r = pearsonr(A, B)[0]
    assert (
        said
        == f"openai/x against annotators: {note}, 30 answers; between annotators r {r:.2f}, kappa {kappa:.2f} on the same units"
    )
    three = table(MACHINE, A, B).assign(C=A, units_C=1)
    assert f"; between annotators r {r:.2f} to 1.00, kappa" in annotators.summary(
        annotators.correlations(three), between, "x"
    )
    same = stats.agreement(["true"] * 12, ["true"] * 12)  # kappa undefined
    assert annotators.summary(found, same, "x").endswith(f"; between annotators r {r:.2f}")


LABELS = st.lists(st.text("tfu-", min_size=1, max_size=3), max_size=13)


@settings(max_examples=40, deadline=None)
@given(LABELS, LABELS, LABELS)
def test_whatever_was_labelled_the_words_hold_no_undefined_number(machine, first, second):
    named = [{f"r{i}": text for i, text in enumerate(given)} for given in (machine, first, second)]
    known = labelled(named[0], named[0])
    automated = annotators.automated_units(units(**named[0]), known)
    made = annotators.scores(automated, own(A=named[1], B=named[2]))
    assert len(made) == len(machine) and made["automated"].dropna().between(0, 1).all()
    found, counts = annotators.correlations(made), annotators.unit_counts(made)
    between = stats.agreement(automated["label_a"], automated["label_b"])
    said = [annotators.pearson_note(found), annotators.splitter_sentence(made), annotators.summary(found, between, "x")]
    said += [*annotators.warnings(found, counts, None, True), annotators.matching_sentence(automated, known, own())]
    assert not [text for text in said if UNDEFINED.search(text)], said


# ---------------------------------------------------------------- the sample annotations


def test_the_sample_annotations(tmp_path, monkeypatch):
    """All of 40_annotator_agreement but the judge, with the settled labels as verdicts: then machine and reference are one."""
    monkeypatch.chdir(tmp_path)
    run = runs.open("", "dahl/40_annotator_agreement")
    assert not run.has("verdicts")
    theirs = annotators.read_annotations(places.samples("dahl", "annotations.csv"))
    known = annotators.read_labels(places.samples("dahl", "units.csv"))
    automated = annotators.automated_units(known, known)
    assert len(automated) == len(known) and automated["label_a"].notna().all()
    automated["verdict"] = automated["label"]
    made = annotators.scores(automated, theirs)
    assert len(made) == known["response_id"].nunique()
    pd.testing.assert_series_equal(made["automated"], made["reference"], check_names=False)
    # One answer by hand: the share of true units, where none is unknown.
    for name in annotators.annotator_names(made):
        mine = theirs[theirs["annotator"] == name].groupby("response_id")["label"]
        share = mine.apply(lambda x: (x == "true").mean())[~mine.apply(lambda x: (x == "unknown").any())]
        seen = made.set_index("response_id")[name].dropna()
        assert seen.to_dict() == pytest.approx(share[share.index.isin(made["response_id"])].to_dict())
    found = annotators.correlations(made)
    assert found.loc[0, "value"] == pytest.approx(made[["automated", "annotators"]].corr().iloc[0, 1])
    assert annotators.kinds_of_disagreement(automated)["n"].sum() > 0
    run.write("scores", made), run.write("correlations", found), run.write("unit_counts", annotators.unit_counts(made))
    run.finish(title="t", metrics={"correlations": found.to_dict("records")})
