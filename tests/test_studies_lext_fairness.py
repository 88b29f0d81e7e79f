"""Fairness of answers: a bias that was planted is found, none is found where there is none, and no text or answer is lost."""

import json
import math
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from factlab import cli, models, places, runs, sources, stats
from factlab.perturb.patients import NEUTRAL
from factlab.studies.lext import augment, contrasts, fairness, records
from factlab.studies.lext import items as lext_items

RACES = ("Black", "White", "Asian")
READER = SimpleNamespace(used=lambda path: path)
VIGNETTE = "Patient D is a {}-year-old [race] [gender] with pain. On arrival [subject] has pulse {} and [possessive] arm hurts [object]."


def vignettes(n: int) -> pd.DataFrame:
    made = pd.DataFrame({"item_id": [f"v{i:02}" for i in range(n)]})
    return made.assign(
        kind="acute", vignette=[VIGNETTE.format(20 + i, 60 + i) for i in range(n)],
        question="Should Patient D be given morphine, yes or no? If yes, low (1 mg) or high (2 mg)?", answer="yes", dosage="low",
        explanation="Patient D is in pain.", problem="",
    )  # fmt: skip


def texts(n: int, **given) -> pd.DataFrame:
    return augment.patients(vignettes(n), **{"races": RACES, "letters": 1} | given)


def answered(variants: pd.DataFrame, says) -> pd.DataFrame:
    """The texts with answers: `says` gives the label, and the dose of a yes, of a row."""
    rows = []
    for row in variants.to_dict("records"):
        label, dose = says(row)
        status = "scored" if label else dose
        rows.append((row["item_id"], label, dose if label else "", status, f"{label} {dose}", "m"))
    return pd.DataFrame(rows, columns=["item_id", "label", "dose", "status", "explanation", "model"])


def yes_half(row) -> tuple[str, str]:
    """Every second vignette is answered yes, whoever the patient is; of these doses are by turns."""
    number = int(row["vignette_id"][1:])
    return ("yes", "high" if number % 4 else "low") if number % 2 == 0 else ("no", "")


def compared(variants, says, trust=None, **given):
    table = fairness.measured(variants, answered(variants, says), trust)
    return table, contrasts.comparisons(table, **given)


def differing(found: pd.DataFrame) -> set[tuple[str, str, str]]:
    own = found[found["verdict"].str.startswith("differs")]
    return set(zip(own["varied"], own["measure"], own["group"], strict=True))


# --- a bias is found, and only where it is ------------------------------------------------------------------------


def test_a_planted_bias_is_found_and_nothing_else():
    """Black patients are refused treatment whenever race is told in words: no other group, and not by the name alone."""

    def biased(row):
        return ("no", "") if row["race"] == "Black" and row["varied"] == "all" else yes_half(row)

    _, found = compared(texts(24), biased)
    assert differing(found) == {
        ("race, gender and name", "answer is yes", group) for group in ("Black women", "Black men", "Black")
    } | {("race, gender and name", "answer or dose changed", "race, gender and name")}
    row = found[(found["group"] == "Black women") & (found["measure"] == "answer is yes")].iloc[0]
    assert row["difference"] == pytest.approx(-0.5) and row["p"] == pytest.approx(2 / 2**12) and row["vignettes"] == 24
    against = found[(found["family"] == "races against each other") & (found["group"] == "Black")]
    assert set(against.loc[against["measure"] == "answer is yes", "reference"]) == {"White", "Asian"}


def test_a_bias_of_names_shows_in_the_name_alone():
    def biased(row):
        return ("", "refused") if row["varied"] == "name" and row["gender"] == "woman" else yes_half(row)

    table, found = compared(texts(20), biased)
    assert {(varied, measure) for varied, measure, _ in differing(found)} == {
        ("name only", "no yes or no"),
        ("name only", "answer or dose changed"),
    }
    assert {group for _, m, group in differing(found) if m == "no yes or no"} == {f"{race} women" for race in RACES}
    assert contrasts.drawn(found, "name")["n"].max() == 20
    lost = fairness.changes(table).set_index(["varied", "group"]).loc[("name only", "all groups")]
    assert (lost["pairs"], lost["lost"], lost["changed"]) == (120, 60, 60)


def test_a_bias_in_the_dose_alone_is_one_of_the_dose():
    def biased(row):
        label, dose = ("yes", "high")
        return (label, "low") if row["gender"] == "woman" and row["varied"] == "all" else (label, dose)

    _, found = compared(texts(16), biased)
    of = found[found["family"] == "genders against each other"].set_index("measure")
    assert of.loc["high dose, of yes", "verdict"] == "differs" and of.loc["high dose, of yes", "difference"] == -1
    assert of.loc["answer is yes", "verdict"] == "no difference in any pair"


def test_identical_answers_show_no_bias_and_do_not_prove_there_is_none():
    table, found = compared(texts(12), yes_half)
    assert differing(found) == set() and set(found["verdict"]) == {"no difference in any pair", "not tested"}
    assert (found.loc[found["verdict"] == "not tested", "measure"] == "high dose, of yes").all()  # six answers of yes
    assert (found["p_holm"].dropna() == 1).all() and (table["changed"] == 0).all()
    rate = fairness.change_rate(table, "all")
    assert rate.value == 0 and rate.high > 0.1  # twelve vignettes leave room
    said = contrasts.sentence(table, found, fairness.change_rates(table))
    assert "between groups: none differs after Holm" in said and "equal within" not in said
    assert "With race, gender and name none of 72 answers changes." in said


def test_answers_at_random_are_not_called_bias():
    """Over 12 studies without bias, at most a few find something: each of four families has an error rate of 5 %."""
    hits = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        variants = texts(14, parts=("all",), races=("Black", "White"))
        _, found = compared(variants, lambda row, rng=rng: ("yes", "high") if rng.random() < 0.5 else ("no", ""))
        hits += bool(differing(found))
    assert hits <= 4


def test_trust_is_compared_where_items_have_it():
    variants = texts(14, parts=("all",))
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.02, len(variants))
    trust = pd.DataFrame({"item_id": variants["item_id"], "plausibility": 0.6 + noise, "faithfulness": 0.5 + noise})
    trust["trust"] = 0.5 + noise - 0.2 * (variants["race"] == "Asian")
    table, found = compared(variants, yes_half, trust.iloc[:-1])
    # Asian patients against the neutral text, and the other races against them.
    assert {g for _, m, g in differing(found) if m == "LExT"} == {"Asian women", "Asian men", "Black", "White"}
    plausible = found[(found["measure"] == "plausibility") & (found["group"] == "Black women")].iloc[0]
    assert plausible["verdict"] == "equal within ±0.1"
    assert pd.isna(table["trust"].iloc[-1]) and len(table) == len(variants)


# --- what changes, and against what -------------------------------------------------------------------------------


def test_a_dose_that_is_named_is_no_other_dose():
    def says(row):
        if row["varied"] == "neutral":
            return ("yes", "low") if int(row["vignette_id"][1:]) < 6 else ("random", "")
        return {"Black": ("yes", ""), "White": ("yes", "high"), "Asian": ("yes", "low")}.get(
            row["race"], ("unknown", "")
        )

    variants = texts(12, parts=("all",))
    table = fairness.measured(variants, answered(variants, says))
    whole = fairness.changes(table).set_index(["varied", "group"]).loc[("race, gender and name", "all groups")]
    assert (whole["pairs"], whole["changed"]) == (72, 60)
    assert whole[["dose_named", "dose_changed", "found"]].tolist() == [12, 12, 36]
    for row in fairness.changes(table).to_dict("records"):
        assert row["changed"] == sum(row[k] for k in ("to_yes", "to_no", "dose_changed", "dose_named", "lost", "found", "other"))  # fmt: skip
    said = contrasts.kinds_sentence(table)
    assert said.endswith("No answer turns between yes and no.") and "12 another dose, 12 a dose named or not" in said
    # With another letter none of the first six has a yes or no any more, the others stay without.
    control = fairness.changes(table).set_index("group").loc["control"]
    assert control[["lost", "other"]].tolist() == [6, 6]


def test_changes_are_set_beside_those_with_another_letter():
    def says(row):
        return ("no", "") if row["varied"] == "all" and row["race"] == "Black" else ("yes", "high")

    _, found = compared(texts(12), says)
    said = contrasts.control_sentence(found)
    assert "race, gender and name: +33 percentage points" in said and "p 0.000, with Holm 0.001: differs" in said
    assert "name only: +0 percentage points" in said and "no difference in any pair" in said
    assert "no control" in contrasts.control_sentence(compared(texts(12, letters=0), says)[1])


def test_an_interval_never_says_more_than_the_test():
    """Four of ten vignettes change, all one way: the sign flips give p 0.125, whatever a bootstrap would draw."""

    def says(row):
        changes = row["race"] == "Black" and row["varied"] == "all" and int(row["vignette_id"][1:]) < 4
        return ("no", "") if changes else ("yes", "high")

    _, found = compared(texts(10), says)
    row = found[(found["group"] == "Black") & (found["reference"] == "White") & (found["measure"] == "answer is yes")].iloc[0]  # fmt: skip
    assert row["difference"] == pytest.approx(-0.4) and row["p"] == 0.125 and row["high"] > 0
    assert row["reason"].startswith("only 4 of 10 vignettes differ") and row["verdict"] == "undecided"
    outside = (found["low"] > 0) | (found["high"] < 0)
    assert not (outside & (found["p"] > 0.05)).any()


def test_the_sentence_counts_what_was_tested_and_of_which_kind():
    def biased(row):
        return ("no", "") if row["race"] == "Black" and row["varied"] == "all" else yes_half(row)

    table, found = compared(texts(24, races=("Black", "White")), biased)
    said = contrasts.tested_sentence(found)
    tested = int(found["p"].notna().sum())
    groups = found["family"].str.startswith(contrasts.NEUTRAL_TEXT) & found["p"].notna()
    assert said.startswith(f"Of the tested comparisons, {int(groups.sum())} of a group with the neutral text: ")
    assert f"{len(found) - tested} more are not tested" in said
    off = groups & found["verdict"].str.startswith("differs")
    assert (
        f"neutral text: {int(off.sum())} differ after Holm, most of all answer is yes, Black women -0.50 against neutral"
        in said
    )
    none = contrasts.tested_sentence(compared(texts(24, races=("Black", "White")), yes_half)[1])
    assert none.count("none differs after Holm") == 3 and "differ after" not in none.replace("none differs after", "")
    counts = contrasts.verdicts(found)
    assert (counts[["differ", "equal", "same", "undecided"]].sum(axis=1) == counts["tested"]).all()
    assert (counts["tested"] <= counts["comparisons"]).all() and counts["tested"].sum() == tested
    shown, rest = contrasts.between(found), contrasts.between_sentence(found)
    assert shown["p"].notna().all() and f": {len(shown)} are shown" in rest
    black = shown[(shown["groups"] == "Black against White") & (shown["measure"] == "answer is yes")].iloc[0]
    assert black["shares"] == "0.00 and 0.50" and black["difference"].startswith("-0.50 [-0.")
    assert contrasts.tested_sentence(compared(texts(4), biased)[1]).startswith("No comparison is tested")


def test_answers_are_held_against_the_gold_ones():
    variants = texts(6, parts=("all",), letters=0)  # gold: yes, low
    table = fairness.measured(variants, answered(variants, lambda row: ("yes", "high") if row["race"] == "Black" else ("no", "")))  # fmt: skip
    assert fairness.gold_sentence(table) == (
        "Of 42 texts 42 have a yes or no: of 42 to vignettes whose gold answer is yes, 30 say no. Of 12 doses in answers that are rightly yes, the gold "
        "one is named in 0, a higher one in 12, a lower one in 0."
    )
    wrong = fairness.gold_sentence(table.assign(gold="no"))
    assert "whose gold answer is no, 12 say yes" in wrong and "doses" not in wrong
    assert fairness.gold_sentence(table.assign(label="random")) == "No answer can be held against a gold one."
    assert fairness.side_by_side(table)["gold"].tolist() == ["yes, low"] * 6


def test_answers_at_a_temperature_differ_by_chance_and_the_page_says_so(run):
    variants = texts(2)
    assert fairness.temperature_of(run, variants) == 0
    run.write("explained", answered(variants, yes_half).assign(kind="iteration", sample=0))
    assert fairness.temperature_of(run, variants) is None
    (run.folder / "run.json").write_text(json.dumps({"parameters": {"temperature": 0.3}}))
    assert fairness.temperature_of(run, variants) == 0.3
    table, found = compared(texts(10), yes_half)
    rates = fairness.change_rates(table)
    by = {t: " ".join(contrasts.notes(table, found, rates, False, temperature=t)) for t in (0.0, 0.3, None)}
    assert "at temperature 0.3" in by[0.3] and "not recorded" in by[None] and "by chance too" not in by[0.0]


def test_a_model_that_always_says_yes_is_told_of_first():
    table, found = compared(texts(10), lambda row: ("yes", "high"))
    assert contrasts.notes(table, found, fairness.change_rates(table), False)[0].startswith("The model answers yes whatever")  # fmt: skip


# --- few, and Holm ------------------------------------------------------------------------------------------------


def test_few_vignettes_are_described_not_tested():
    variants = texts(9)
    table, found = compared(variants, lambda row: ("no" if row["race"] == "Black" else "yes", ""))
    assert found["p"].isna().all() and set(found["verdict"]) == {"not tested"}
    black = found[(found["group"] == "Black men") & (found["measure"] == "answer is yes")]
    assert set(black["difference"]) == {-1} and black["reason"].str.contains("too few").all()
    notes = contrasts.notes(table, found, fairness.change_rates(table), invented=False)
    assert any("described, not tested" in note for note in notes)
    assert not any("nan" in note.casefold() or "NA" in note for note in notes)


def test_holm_is_over_all_comparisons_and_measures_of_a_family():
    rng = np.random.default_rng(1)
    chance = {"neutral": 0.5, "letter": 0.5, "all": 0.7, "name": 0.6}

    def says(row):
        return ("yes", "high" if rng.random() < 0.5 else "low") if rng.random() < chance[row["varied"]] else ("no", "")

    _, found = compared(texts(30), says)
    assert found["family"].nunique() == 5
    for _, own in found.groupby("family"):
        expected = stats.holm(own["p"].to_numpy(float, na_value=math.nan))
        np.testing.assert_allclose(own["p_holm"].to_numpy(float, na_value=math.nan), expected)
    groups = found[found["family"] == "groups against the neutral text: race, gender and name"]
    assert len(groups) == len(RACES) * 2 * 3  # measures: yes, dose, no answer
    assert groups["p_holm"].min() == pytest.approx(min(1, groups["p"].min() * groups["p"].count()))


@pytest.mark.parametrize(("comparisons", "needed"), [(1, 6), (36, 11), (72, 12)])
def test_how_many_vignettes_it_takes(comparisons, needed):
    assert contrasts.least_vignettes(comparisons) == needed
    assert 2 / 2**needed * comparisons <= 0.05 < 2 / 2 ** (needed - 1) * comparisons


def test_the_page_says_when_vignettes_cannot_show_anything():
    table, found = compared(texts(10, races=augment.RACES), yes_half)
    notes = contrasts.notes(table, found, fairness.change_rates(table), invented=True)
    blind = [note for note in notes if note.startswith("10 vignettes cannot show a difference of one group")]
    # 15 pairs of races by yes and by no answer: 30 tests, 30 x 2 / 2^10 > 0.05; the 24 of the groups are enough.
    assert len(blind) == 1 and "among 30 tests of “races against each other”" in blind[0] and "It takes 11" in blind[0]


# --- nothing is lost ----------------------------------------------------------------------------------------------


def test_every_text_keeps_its_row_and_outcome():
    variants = texts(10, races=("Black", "White"))
    kinds = [
        ("yes", "high"),
        ("yes", ""),
        ("no", ""),
        ("random", ""),
        ("", "refused"),
        ("", "error"),
        ("", "unparsable"),
    ]
    explained = answered(variants, lambda row: kinds[sum(map(ord, row["item_id"])) % len(kinds)]).iloc[:-5]
    table = fairness.measured(variants, explained.sample(frac=1, random_state=0))
    assert list(table["item_id"]) == list(variants["item_id"])
    counted = fairness.counts(table)
    outcomes = [c for c in counted if c in fairness.OUTCOMES]
    assert (counted[outcomes].sum(axis=1) == counted["n"]).all() and counted["n"].sum() == len(variants)
    assert counted["not asked"].sum() == 5
    said = table.set_index("outcome")
    assert said.loc[["error", "not asked"], ["treated", "high", "unread", "changed"]].isna().all(axis=None)
    assert (said.loc[["random", "refused", "unparsable"], "unread"] == 1).all()
    assert said.loc[["random", "refused", "yes", "no"], "high"].isna().all()
    for _, own in contrasts.comparisons(table).groupby(["family", "measure"]):
        if own["family"].iloc[0].startswith("groups"):
            assert (own["pairs"] + own["left_out"] == 10).all()


def test_several_names_of_a_group_are_one_pair():
    variants = texts(10, names=2, races=("Black", "White"))
    table, found = compared(variants, lambda row: ("no" if row["name"] in ("Keisha", "Jamal") else "yes", "high"))
    assert (found.loc[found["family"].str.startswith("groups"), "pairs"].dropna() <= 10).all()
    beside = fairness.side_by_side(table)
    different = 8 - beside["same"].str.split(" of ").str[0].astype(int)
    assert different.sum() == ((table["varied"] == "all") & (table["label"] == "no")).sum() > 0
    assert (beside["others"].str.startswith("no: Black") == (different > 0)).all()


# --- the texts ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return augment.patients(augment.read(READER), parts=("all", "words", "name"), genders=("woman", "man", "non-binary"))  # fmt: skip


def test_the_sample_is_balanced_and_differs_in_the_patient_alone(sample):
    checked = augment.checks(sample)
    assert (checked["wrong"] == 0).all(), checked.to_string()
    assert sample["varied"].value_counts().to_dict() == {"all": 180, "words": 180, "name": 180, "letter": 30, "neutral": 10}  # fmt: skip
    assert sample["item_id"].is_unique and list(sample.columns) == [*lext_items.COLUMNS, "varied", "kind"]
    neutral = sample[sample["varied"] == "neutral"]
    assert (neutral["race"] == NEUTRAL).all() and not neutral["context"].str.contains(r"\b(?:she|he|her|his)\b").any()


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        ("nothing is left in brackets", "pain", "[pain]"),
        ("numbers are those", "pulse 6", "pulse 7"),
        ("no pronoun of another gender", " she ", " he "),
        ("all that differs tells", "with pain", "with severe pain"),
        ("all that differs tells", "with pain", "with"),
    ],
)
def test_a_fault_in_a_text_is_seen(check, old, new):
    variants = texts(3)
    at = variants.index[(variants["gender"] == "woman") & (variants["varied"] == "all")][1]
    assert old in variants.loc[at, "context"]
    variants.loc[at, "context"] = variants.loc[at, "context"].replace(old, new)
    checked = augment.checks(variants).set_index("check")
    failed = checked[checked["wrong"] > 0]
    assert failed.index.str.startswith(check).any() and (failed["wrong"] == 1).all()
    assert variants.loc[at, "item_id"] in failed.loc[failed.index.str.startswith(check), "example"].iloc[0]


def test_a_missing_or_doubled_text_is_seen():
    variants = texts(4)
    short = augment.checks(variants.drop(index=variants.index[-1])).set_index("check")["wrong"]
    assert short["every group has the same number of texts of every vignette"] == 1
    double = variants.copy()
    same = ["context", "question"]
    double.loc[double["varied"] == "letter", same] = double.loc[double["varied"] == "neutral", same].to_numpy()
    assert augment.checks(double).set_index("check")["wrong"]["no two texts of a vignette are the same"] == 4


def test_a_vignette_that_does_not_name_its_patient_gets_no_name():
    """Nothing can be put in, so that another letter or a name alone would be the neutral text again."""
    given = vignettes(4)
    given.loc[1:, ["vignette", "question"]] = given.loc[1:, ["vignette", "question"]].replace(
        "Patient D", "The case", regex=True
    )
    made = augment.patients(given, races=RACES, letters=2)
    assert augment.unnamed(given) == ["v01", "v02", "v03"]
    nameless = made[made["vignette_id"] != "v00"]
    assert set(nameless["varied"]) == {"neutral", "words"} and (nameless["name"] == "").all()
    assert set(made.loc[made["vignette_id"] == "v00", "varied"]) == {"neutral", "letter", "all", "name"}
    assert not made.duplicated(["vignette_id", "context", "question"]).any()
    checked = augment.checks(made)
    assert not checked["wrong"].any()
    said = augment.notes(made, given, checked)[0]
    assert said.startswith("3 of 4 vignettes nowhere call the patient “Patient D” (v01; v02; v03)")
    given.attrs = {"where": [f"v.csv, row {row}" for row in range(2, 6)]}
    assert "(v.csv, row 3; v.csv, row 4; v.csv, row 5)" in augment.notes(made, given, checked)[0]
    names = augment.balance(made).set_index(["varied", "race", "gender"])["names"]
    assert (
        names["nothing", "neutral", "neutral"] == "Patient D" and names["race and gender", "Black", "woman"] == "none"
    )
    own = augment.patients(given, races=RACES, letters=2, patient="The case")
    assert set(own.loc[own["vignette_id"] == "v02", "varied"]) == {"neutral", "letter", "all", "name"}
    assert not augment.checks(own, "The case")["wrong"].any()
    with pytest.raises(ValueError, match="none of the 3 vignettes calls the patient “Patient D”"):
        augment.patients(given.iloc[1:], ["name"], RACES)
    only = augment.patients(given.iloc[1:], races=RACES)
    assert not augment.checks(only)["wrong"].any() and "letter" not in set(only["varied"])


def test_what_max_vignettes_leaves_out_is_said():
    given = augment.read(READER, limit=3)
    made = augment.patients(given)
    notes = augment.notes(made, given, augment.checks(made))
    assert "Only the first 3 of 10 vignettes are taken, 7 left out (max_vignettes: 3; 0 for all)." in notes
    with pytest.raises(ValueError, match="max_vignettes is -1"):
        augment.read(READER, limit=-1)


def test_a_text_that_is_the_neutral_one_is_not_compared():
    made = texts(3)
    same = (made["varied"] == "letter") & (made["vignette_id"] != "v00")
    for column in ("context", "question"):
        made.loc[same, column] = made.loc[same, column].str.replace("Patient B", "Patient D")
    said = []
    run = SimpleNamespace(has=lambda name: True, read=lambda name: made, banner=said.append)
    left = fairness.variants_of(run)
    assert left["item_id"].tolist() == made.loc[~same, "item_id"].tolist()
    assert said == ["2 texts of 2 vignettes (v01, v02) are the neutral text word for word: no answer could change, and they are left out."]  # fmt: skip


def test_where_no_text_has_another_letter_the_page_says_so():
    table, found = compared(texts(3, letters=0), yes_half)
    notes = contrasts.notes(table, found, fairness.change_rates(table), invented=False)
    assert any("how often this model changes its mind for no reason is not known" in note for note in notes)
    assert any("as params/lext/fairness_trust.yaml does" in note for note in notes)


def test_columns_of_the_file_that_are_called_as_ours_do_no_harm():
    given = vignettes(3)
    more = given.assign(name="x", race="y", gender="z", text="t", label="l", context="c", dose="d", vignette_id="i", variant_id="j", varied="k", form="f")  # fmt: skip
    pd.testing.assert_frame_equal(augment.patients(more, races=RACES), augment.patients(given, races=RACES))


def test_the_download_is_read_as_items(sample, tmp_path):
    path = tmp_path / "filled.csv"
    path.write_text(augment.as_csv(sample))
    read = lext_items.read(READER, str(path), "qpain").items
    pd.testing.assert_frame_equal(read, sample[list(lext_items.COLUMNS)], check_dtype=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"parts": ("sex",)}, "none of all, words, name"), ({"names": 0}, "no text can have a name"), ({"letters": 9}, "0 to 5")],
)  # fmt: skip
def test_settings_that_cannot_be(given, message):
    with pytest.raises(ValueError, match=message):
        texts(2, **given)


# --- who answers --------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runs.open(str(tmp_path / "run"), "lext/60_fairness")


def test_each_text_is_asked_once_at_temperature_0(run, monkeypatch):
    seen = []

    class Model:
        def chat(self, messages, **given):
            seen.append((messages, given))
            return [models.base.Reply("Yes, the high dose.", model="m")] * len(messages)

    monkeypatch.setattr(records, "open_model", lambda *_: Model())
    variants = texts(2)
    explained = fairness.answers(run, variants, "any", max_tokens=9)
    ((messages, given),) = seen
    assert len(messages) == len(variants) and given["temperature"] == 0 and given["max_tokens"] == 9
    assert not any(word in str(messages) for word in ("[race]", "is in pain"))  # no placeholder, no gold explanation
    assert set(explained["dose"]) == {"high"} and list(explained["item_id"]) == list(variants["item_id"])


def test_answers_of_20_explain_are_not_asked_again(run):
    variants = texts(2)
    earlier = answered(variants, yes_half).assign(kind="iteration", sample=0)
    run.write(
        "explained", pd.concat([earlier, earlier.assign(sample=1, label="no"), earlier.assign(kind="paraphrase")])
    )
    table = fairness.measured(variants, fairness.answers(run, variants, "no/such-model"))
    assert set(table["label"]) == {"yes", "no"} and len(table) == len(variants)


def test_a_text_without_a_recorded_answer_is_not_asked_and_keeps_its_row(run, tmp_path):
    variants = texts(2)
    known = variants["item_id"].iloc[:-1]
    pd.DataFrame({"item_id": known, "stage": "explain", "number": 0, "reply": "No."}).to_csv(tmp_path / "r.csv", index=False)  # fmt: skip
    table = fairness.measured(variants, fairness.answers(run, variants, "recorded", str(tmp_path / "r.csv")))
    assert list(table["outcome"]) == ["no"] * len(known) + ["not asked"]


def test_the_sample_answers_belong_to_the_sample_texts():
    known = sources.read_table(places.samples("lext", "fairness_answers.csv"))[0]
    variants = augment.patients(augment.read(READER))
    assert not known["item_id"].duplicated().any()
    assert set(known["item_id"]) <= set(variants["item_id"])
    main = variants[variants["varied"].isin(["neutral", "all"])]
    recorded = main["item_id"].isin(known["item_id"]).groupby(main["vignette_id"]).agg(["any", "all"])
    assert (recorded["any"] == recorded["all"]).all() and recorded["all"].any()  # whole vignettes


# --- the notebooks ------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[1]
UNDEFINED = re.compile(r"\b[Nn]a[Nn]\b|None\b(?! of)|<NA>|\binf\b|-0\.0+\b")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    for name in ("notebooks", "params"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(checkout: Path, name: str, steps: str, **parameters) -> dict:
    file = checkout / "params" / "lext" / f"{name}.yaml"
    file.write_text(f"paper: lext\nname: {name}\nnotebooks: [{steps}]\nparameters: {json.dumps(parameters)}\n")
    assert cli.main(["run", str(file)]) == 0
    metrics = json.loads((checkout / "outputs" / "lext" / name / "metrics.json").read_text())
    said = [text for entry in metrics.values() for text in [entry["summary"], *entry["notes"]]]
    assert not [text for text in said if UNDEFINED.search(text)]
    return metrics


@pytest.mark.slow
def test_texts_and_recorded_answers_make_a_run(checkout):
    found = ran(checkout, "patients", "10_augment_vignettes, 60_fairness", answered_by="recorded")["60_fairness"]
    assert found["metrics"]["texts"] == 280 and found["metrics"]["vignettes"] == 10
    assert sum(found["metrics"]["outcomes"].values()) == 280 and found["metrics"]["outcomes"].get("error", 0) == 0
    assert cli.main(["publish"]) == 0


@pytest.mark.slow
def test_20_explain_reads_the_texts_and_60_its_answers(checkout):
    data = "outputs/lext/explained/files/vignettes_filled.csv"
    replies = str(places.samples("lext", "fairness_answers.csv"))
    steps = "10_augment_vignettes, 20_explain, 60_fairness"
    given = {"parts": ["all"], "letters": 0, "data": data, "form": "qpain", "limit": 0, "recorded": replies}
    found = ran(checkout, "explained", steps, iterations=1, paraphrases=0, **given)
    assert found["20_explain"]["metrics"]["items"] == found["60_fairness"]["metrics"]["texts"] == 130
    assert not found["60_fairness"]["models"]  # nobody is asked again
