"""Demographic variants of vignettes: grammar, balance, and what may not be filled."""

import re
from pathlib import Path

import pandas as pd
import pytest

from factlab import perturb, sources
from factlab.perturb import fill, variants
from factlab.perturb.patients import GENDERS, NAMES, NEUTRAL, RACES

SAMPLES = Path(perturb.__file__).parents[1] / "samples" / "lext"
TEXT = "Patient D is a 40-year-old [race] [gender]. On arrival [subject] has pain in [possessive] knee."


def table(*texts: str, **columns) -> pd.DataFrame:
    made = pd.DataFrame({"item_id": [f"v{i}" for i in range(len(texts))], "vignette": list(texts)})
    return made.assign(question="Should Patient D be treated?", **columns)


# --- grammar ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "she", "he", "they"),
    [
        # pronouns
        ("told [object] of [possessive] risk", "told her of her risk", "told him of his risk", "told them of their risk"),
        ("hurt [reflexive]", "hurt herself", "hurt himself", "hurt themselves"),
        # a capital where a sentence begins
        ("[subject] fell", "She fell", "He fell", "They fell"),
        ("It hurts. [possessive] arm", "It hurts. Her arm", "It hurts. His arm", "It hurts. Their arm"),
        ("It hurts!\n[subject] fell", "It hurts!\nShe fell", "It hurts!\nHe fell", "It hurts!\nThey fell"),
        ("in 7.5 h [subject] fell", "in 7.5 h she fell", "in 7.5 h he fell", "in 7.5 h they fell"),
        ("It hurts, e.g. [possessive] arm", *(f"It hurts, e.g. {p} arm" for p in ("her", "his", "their"))),
        ("worse; [subject] fell", "worse; she fell", "worse; he fell", "worse; they fell"),
        ("today [Subject] fell", "today She fell", "today He fell", "today They fell"),
        # verbs
        ("as [subject] has", "as she has", "as he has", "as they have"),
        ("as [subject] is", "as she is", "as he is", "as they are"),
        ("as [subject] was", "as she was", "as he was", "as they were"),
        ("as [subject] does", "as she does", "as he does", "as they do"),
        ("as [subject] have", "as she has", "as he has", "as they have"),
        ("as [subject] are", "as she is", "as he is", "as they are"),
        ("as [subject] hasn't", "as she hasn't", "as he hasn't", "as they haven't"),
        ("as [subject] also has", "as she also has", "as he also has", "as they also have"),
        ("as [subject] currently takes", *(f"as {p}" for p in ("she currently takes", "he currently takes", "they currently take"))),
        ("as [subject] denies", "as she denies", "as he denies", "as they deny"),
        ("as [subject] uses", "as she uses", "as he uses", "as they use"),
        ("as [subject] reaches", "as she reaches", "as he reaches", "as they reach"),
        ("as [subject] goes", "as she goes", "as he goes", "as they go"),
        ("as [subject] lies", "as she lies", "as he lies", "as they lie"),
        # a second verb, where it is plain whose it is
        ("as [subject] takes iron and is well", *(f"as {p}" for p in ("she takes iron and is well", "he takes iron and is well", "they take iron and are well"))),
        ("as [subject] rests but still has it", *(f"as {p}" for p in ("she rests but still has it", "he rests but still has it", "they rest but still have it"))),
        ("as [subject] said the pain is bad and was worse", *(f"as {p} said the pain is bad and was worse" for p in ("she", "he", "they"))),
        ("as [subject] fell, and the arm is hurt", *(f"as {p} fell, and the arm is hurt" for p in ("she", "he", "they"))),
        # forms that all share
        ("as [subject] rated", "as she rated", "as he rated", "as they rated"),
        ("as [subject] could", "as she could", "as he could", "as they could"),
        ("as [subject] always fell", "as she always fell", "as he always fell", "as they always fell"),
        ("if [subject] were ill", "if she were ill", "if he were ill", "if they were ill"),
        # the verb in front
        ("Does [subject] have it?", "Does she have it?", "Does he have it?", "Do they have it?"),
        ("when was [subject] seen?", "when was she seen?", "when was he seen?", "when were they seen?"),
        ("the fact is [subject] fell", "the fact is she fell", "the fact is he fell", "the fact is they fell"),
        # contractions
        ("as [subject]'s ill", "as she’s ill", "as he’s ill", "as they’re ill"),
        ("as [subject]'s been ill", "as she’s been ill", "as he’s been ill", "as they’ve been ill"),
    ],
)  # fmt: skip
def test_pronouns_and_verbs(text, she, he, they):
    assert fill(text, "Asian", "woman") == she
    assert fill(text, "Asian", "man") == he
    assert fill(text, "Asian", "non-binary") == fill(text, "", NEUTRAL) == they


@pytest.mark.parametrize(
    ("text", "race", "expected"),
    [
        ("a [race] [gender]", "Asian", "an Asian woman"),
        ("an [race] [gender]", "Black", "a Black woman"),
        ("A [race] [gender]", "Indian", "An Indian woman"),
        ("A [race] [gender]", "Hispanic", "A Hispanic woman"),
        ("a [race] [gender]", "European", "a European woman"),
        ("a [race] [gender]", "Ukrainian", "a Ukrainian woman"),
        ("a [race] [gender]", "African American", "an African American woman"),
        ("a [race] [gender]", "Indigenous", "an Indigenous woman"),
        ("an 80-year-old [race] [gender]", "Black", "an 80-year-old Black woman"),
        ("a [race] [gender]", NEUTRAL, "a woman"),
        ("an 80-year-old [race] [gender]", "", "an 80-year-old woman"),
        ("a\n[RACE] [Gender]", "Asian", "an\nAsian Woman"),
        ("Vitamin A [race] a", "Asian", "Vitamin An Asian a"),  # the price: a capital A that is no article
    ],
)
def test_articles(text, race, expected):
    assert fill(text, race, "woman") == expected


def test_names_take_the_place_of_the_patient():
    text = "Patient D fell. Patient D's arm; Patient Dx; 'Patient D'"
    assert fill(text, "Asian", "woman", "Hana") == "Hana fell. Hana's arm; Patient Dx; 'Hana'"
    assert fill(text, "Asian", "woman") == text
    assert fill("Mr X fell", "Asian", "man", "Jun", patient="Mr X") == "Jun fell"
    assert fill("Patient D", "Asian", "man", r"\1") == r"\1"


def test_the_example_in_the_docstring():
    import doctest

    import factlab.perturb.demographics as module

    assert doctest.testmod(module).failed == 0


# --- variants -----------------------------------------------------------------------------------------------------


def test_every_item_with_every_race_gender_and_a_neutral_one():
    made = variants(table(TEXT, TEXT))
    assert len(made) == 2 * (6 * 2 + 1)
    cells = made.groupby(["race", "gender"]).size()
    assert set(cells) == {2} and len(cells) == 13
    assert made["variant_id"].is_unique
    assert list(made.columns[:7]) == ["variant_id", "item_id", "race", "gender", "name", "text", "question"]
    # In every item the same people in the same order, so that answers can be paired.
    groups = [g[["race", "gender"]].to_numpy().tolist() for _, g in made.groupby("item_id", sort=False)]
    assert groups[0] == groups[1]


def test_the_neutral_variant_names_nothing():
    row = variants(table(TEXT)).iloc[0]
    assert row["text"] == "Patient D is a 40-year-old person. On arrival they have pain in their knee."
    assert (row["race"], row["gender"], row["name"]) == (NEUTRAL, NEUTRAL, "Patient D")
    assert row["question"] == "Should Patient D be treated?"
    assert NEUTRAL not in set(variants(table(TEXT), baseline=False)["race"])


def test_the_name_stands_in_vignette_question_and_explanation():
    made = variants(table(TEXT, explanation="Patient D has pain.", answer="yes", dosage="low"), baseline=False)
    for row in made.to_dict("records"):
        assert row["name"] in NAMES[row["race"]][row["gender"]]
        assert row["text"].startswith(f"{row['name']} is a 40-year-old {row['race']} {row['gender']}.")
        assert row["question"] == f"Should {row['name']} be treated?"
        assert row["explanation"] == f"{row['name']} has pain."
        assert (row["answer"], row["dosage"]) == ("yes", "low")


def test_only_the_patient_changes():
    """With the words for the patient taken out again, all variants of an item are one text."""
    for _, group in variants(sources.read_vignettes(SAMPLES / "vignettes.csv")).groupby("item_id"):
        bare = set()
        for row in group.to_dict("records"):
            person = GENDERS[row["gender"]]
            text = re.sub(rf"\b{row['name']}\b", "N", row["text"])
            text = re.sub(rf"-old (?:{row['race']} )?{person.noun}\b", "-old P", text)
            for word in (person.subject, person.object, person.possessive):
                text = re.sub(rf"\b{word}\b", "X", text)
            bare.add(text)
        assert len(bare) == 1


def test_samples_read_well_with_everyone():
    made = variants(sources.read_vignettes(SAMPLES / "vignettes.csv"), genders=("woman", "man", "non-binary"))
    assert len(made) == 10 * (6 * 3 + 1)
    for row in made.to_dict("records"):
        text = f"{row['text']} {row['question']} {row['explanation']}"
        assert "[" not in text and "\0" not in text and "  " not in text
        assert not re.search(r"\bthey (?:is|has|was|does|\w+[^s]s)\b", text, re.IGNORECASE), text
        assert not re.search(r"\ba [aeiouAEIOU]\w", text.replace("a European", "")), text
        assert not re.search(r"[.!?] (?:she|he|they|her|his|their)\b", text)
        assert ("Patient D" in text) == (row["gender"] == NEUTRAL)
        forbidden = {"woman": "he|him|his|they|them|their", "man": "she|her|they|them|their"}.get(
            row["gender"], "she|her|he|him|his"
        )
        assert not re.search(rf"\b(?:{forbidden})\b", row["text"]), row["variant_id"]  # fmt: skip


def test_names_are_balanced_and_drawn_by_the_seed():
    texts = table(*[TEXT] * 12)
    made = variants(texts, baseline=False)
    for (race, gender), group in made.groupby(["race", "gender"]):
        counts = group["name"].value_counts()
        assert set(counts.index) == set(NAMES[race][gender]) and counts.max() - counts.min() == 0
    assert variants(texts).equals(variants(texts))
    assert not variants(texts, seed=1)["name"].equals(variants(texts)["name"])
    # Other groups beside it change nothing.
    alone = variants(texts, races=["Asian"], genders=["man"], baseline=False)
    same = made[(made["race"] == "Asian") & (made["gender"] == "man")]
    assert alone["name"].tolist() == same["name"].tolist()


def test_several_names_or_none():
    three = variants(table(TEXT, TEXT), names=3, baseline=False)
    assert len(three) == 2 * 12 * 3 and three["variant_id"].is_unique
    assert three.groupby(["item_id", "race", "gender"])["name"].nunique().eq(3).all()
    none = variants(table(TEXT), names=0)
    assert len(none) == 13 and set(none["name"]) == {"Patient D"} and none["text"].nunique() == 13
    assert none["variant_id"].is_unique


def test_other_groups_with_names_of_ones_own():
    lists = {"Roma": {"woman": ["Esma", "Mirela"]}}
    made = variants(table(TEXT), races=["Roma"], genders=["woman"], names=2, name_lists=lists, baseline=False)
    assert set(made["name"]) == {"Esma", "Mirela"}
    assert "a 40-year-old Roma woman" in made["text"][0]


def test_the_lists_of_names():
    assert tuple(NAMES) == RACES and len(RACES) == 6  # LExT, appendix A.1
    everyone = [name for race in NAMES.values() for names in race.values() for name in names]
    assert len(everyone) == len(set(everyone))  # no name in two groups
    for race in RACES:
        assert {gender: len(names) for gender, names in NAMES[race].items()} == {"woman": 6, "man": 6, "non-binary": 3}
    assert all(re.fullmatch(r"[A-Z][a-z]+(-[A-Za-z][a-z]+)?", name) for name in everyone)


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([TEXT + " [posessive] arm"], {}, r"item 'v0', vignette: \[posessive\].*did you mean \[possessive\]\?"),
        ([TEXT + " [REDACTED]"], {}, r"\[REDACTED\] is no known placeholder"),
        ([TEXT, "Patient D fell."], {}, "item 'v1': the vignette has no placeholder"),
        ([TEXT + " [subject] is of [race] descent"], {}, "cannot be left out of the neutral variant"),
        ([TEXT, None], {}, "item 'v1': vignette is no text"),
        ([TEXT], {"genders": ["female"]}, "gender 'female' is not known; use one of 'woman'"),
        ([TEXT], {"races": "Asian"}, "races must be a list"),
        ([TEXT], {"races": ["Asian", "Asian"]}, "nothing is repeated"),
        ([TEXT], {"races": ["Martian"]}, "0 known for race 'Martian'"),
        ([TEXT], {"names": 7}, "7 names asked for, 6 known"),
        ([TEXT], {"names": -1}, "a whole number, 0 or more"),
        ([TEXT], {"genders": [NEUTRAL]}, "baseline"),
    ],
)
def test_refused(texts, options, message):
    with pytest.raises(ValueError, match=message):
        variants(table(*texts), **options)


def test_refused_tables():
    with pytest.raises(ValueError, match="no column 'vignette'"):
        variants(table(TEXT).drop(columns="vignette"))
    with pytest.raises(ValueError, match="'v0' stands in more than one row"):
        variants(pd.concat([table(TEXT), table(TEXT)]))


def test_race_may_stand_alone_without_the_neutral_variant():
    made = variants(table("[subject] is of [race] descent"), races=["Asian"], genders=["man"], baseline=False)
    assert made["text"][0] == "He is of Asian descent"


def test_references_in_brackets_are_left():
    assert fill("[subject] fell [5], [12-14].", "Asian", "man") == "He fell [5], [12-14]."


def test_other_brackets_stand_where_that_is_wanted():
    assert (
        fill("[Subject] has [CT scan] pain [sic].", NEUTRAL, NEUTRAL, strict=False) == "They have [CT scan] pain [sic]."
    )


def test_columns_of_the_file_that_are_called_as_ours_are_kept_beside_them():
    made = variants(table(TEXT, name=["x"], race=["y"], dose=["z"]), races=["Asian"], genders=["man"])
    assert made.columns.is_unique and made[["name.file", "race.file", "dose"]].iloc[0].tolist() == ["x", "y", "z"]
    assert made["race"].tolist() == [NEUTRAL, "Asian"]


@pytest.mark.parametrize(("verb", "plural"), [("focuses", "focus"), ("uses", "use"), ("aches", "ache"), ("teaches", "teach"), ("biases", "bias"), ("increases", "increase")])  # fmt: skip
def test_verbs_that_end_in_es(verb, plural):
    assert fill(f"[subject] {verb} it.", NEUTRAL, NEUTRAL) == f"They {plural} it."
