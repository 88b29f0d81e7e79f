"""The sample inputs for LExT: what their README promises, counted and recomputed.

That an answer is medically right cannot be tested here. That the parts agree with each other can: keywords with
contexts, percentages and intervals with counts, doses with what their explanations say of them, and vignettes with
every set of pronouns.
"""

import csv
import json
import math
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from factlab.text import sentences

FOLDER = Path(__file__).resolve().parents[1] / "lib" / "factlab" / "samples" / "lext"
KINDS = ["acute non-cancer", "acute cancer", "chronic non-cancer", "chronic cancer", "post-operative"]
PLACEHOLDERS = ["[race]", "[gender]", "[subject]", "[object]", "[possessive]"]
SYMBOLS = set("≥µ")  # the only characters outside ASCII


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


QUESTIONS = rows("questions.csv")
VIGNETTES = rows("vignettes.csv")
EXPLANATIONS = rows("explanations.csv")
each_question = pytest.mark.parametrize("row", QUESTIONS, ids=[row["item_id"] for row in QUESTIONS])
each_vignette = pytest.mark.parametrize("row", VIGNETTES, ids=[row["item_id"] for row in VIGNETTES])


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def whole(phrase: str, text: str) -> bool:
    """Whether a phrase stands in a text, same case, not as a part of longer words or numbers."""
    return re.search(rf"(?<![\w.]){re.escape(phrase)}(?!\w)(?!\.\d)", text) is not None


# --- all files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["questions.csv", "vignettes.csv", "explanations.csv"])
def test_text_is_clean(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert unicodedata.normalize("NFC", text) == text
    assert {character for character in text if not character.isascii()} <= SYMBOLS
    assert "\r" not in text and "\t" not in text and text.endswith("\n")
    cells = [cell for row in rows(name) for cell in row.values()]
    assert [cell for cell in cells if cell != cell.strip() or "  " in cell or "\n" in cell] == []


@pytest.mark.released
def test_no_run_of_eight_words_is_shared_with_pubmedqa(released):
    with (released / "pubmedqa" / "ori_pqal.json").open(encoding="utf-8") as file:
        published = json.load(file)

    def runs(text: str) -> set[tuple[str, ...]]:
        found = words(text)
        return {tuple(found[start : start + 8]) for start in range(len(found) - 7)}

    theirs: set[tuple[str, ...]] = set()
    for item in published.values():
        for text in [item["QUESTION"], item["LONG_ANSWER"], *item["CONTEXTS"]]:
            theirs |= runs(text)
    assert len(theirs) > 100_000
    for row in [*QUESTIONS, *VIGNETTES, *EXPLANATIONS]:
        for column, text in row.items():
            assert runs(text) & theirs == set(), (row["item_id"], column)


# --- questions ----------------------------------------------------------------------------------------------------


def test_24_questions_of_three_labels():
    assert list(QUESTIONS[0]) == [
        *("item_id", "question", "context", "label", "explanation", "keywords", "topic", "study", "fact_source"),
    ]
    assert [row["item_id"] for row in QUESTIONS] == [f"lext-q{n:02d}" for n in range(1, 25)]
    assert Counter(row["label"] for row in QUESTIONS) == {"yes": 11, "no": 9, "maybe": 4}
    assert len({row["topic"] for row in QUESTIONS}) == 24
    assert {row["study"] for row in QUESTIONS} == {"invented"}


def test_the_first_eight_hold_every_label():
    assert Counter(row["label"] for row in QUESTIONS[:8]) == {"yes": 3, "no": 3, "maybe": 2}


@each_question
def test_a_question_has_the_form_of_an_abstract_with_its_answer(row):
    assert re.fullmatch(r"(Does|Do|Can) [^?]{30,150}\?", row["question"])
    assert len(row["context"]) <= 900
    assert 4 <= len(sentences(row["context"])) <= 7
    assert 2 <= len(sentences(row["explanation"])) <= 3
    assert not re.match(r"(yes|no|maybe)\b", row["explanation"], re.I)
    assert re.search(r"\b(19|20)\d\d\b", row["fact_source"])
    # The study is invented, so its text must name no real one.
    assert not re.search(r"\b[A-Z]{4,}\b", row["context"])


@each_question
def test_five_keywords_occur_whole_in_the_context(row):
    keywords = row["keywords"].split("; ")
    assert len({keyword.lower() for keyword in keywords}) == 5
    assert [keyword for keyword in keywords if not whole(keyword, row["context"])] == []
    # Redacting one keyword must not redact another with it.
    assert not [(a, b) for a in keywords for b in keywords if a != b and whole(a.lower(), b.lower())]


def test_whole_can_fail():
    assert whole("aspirin 150 mg", "took aspirin 150 mg or placebo")
    assert not whole("aspirin 50 mg", "took aspirin 150 mg")
    assert not whole("relative risk 0.4", "relative risk 0.40")
    assert not whole("risk 0", "risk 0.40")
    assert not whole("Placebo", "placebo")


def number(text: str) -> float:
    return float(text.replace(",", ""))


COUNT = r"(\d[\d,]*) of (\d[\d,]*\d)"


def test_percentages_follow_from_the_counts_before_them():
    checked = 0
    for row in QUESTIONS:
        for events, total, percent in re.findall(COUNT + r"[^\d(.]*\((\d+(?:\.\d+)?)%", row["context"]):
            digits = len(percent.partition(".")[2])
            assert abs(100 * number(events) / number(total) - float(percent)) <= 0.51 * 10**-digits, row["item_id"]
            checked += 1
    assert checked >= 30


def test_relative_risks_and_their_intervals_follow_from_the_counts():
    """Katz's interval on the logarithm of the relative risk."""
    checked = 0
    for row in QUESTIONS:
        # The two counts nearest before the ratio, and the interval behind it.
        found = re.search(r"(relative risk) (\d\.\d+), 95% CI (\d\.\d+) to (\d\.\d+)", row["context"])
        if not found:
            continue
        (a, n), (b, m) = (map(number, pair) for pair in re.findall(COUNT, row["context"][: found.start()])[-2:])
        ratio, error = (a / n) / (b / m), math.sqrt(1 / a - 1 / n + 1 / b - 1 / m)
        expected = [ratio, ratio * math.exp(-1.96 * error), ratio * math.exp(1.96 * error)]
        for printed, value in zip(found.groups()[1:], expected, strict=True):
            assert abs(float(printed) - value) <= 0.0051, (row["item_id"], printed, value)
        # The label is what the interval says. Only for one "no" does the interval exclude one: towards harm.
        low, high = expected[1:]
        assert (high < 1) == (row["label"] == "yes"), row["item_id"]
        checked += 1
    assert checked >= 10


def test_length_does_not_give_the_label_away():
    mean = {
        label: sum(len(row["context"]) for row in QUESTIONS if row["label"] == label)
        / sum(row["label"] == label for row in QUESTIONS)
        for label in ("yes", "no", "maybe")
    }
    assert max(mean.values()) / min(mean.values()) < 1.1


# --- vignettes ----------------------------------------------------------------------------------------------------

GROUPS = {
    "she": {"[race]": "Asian", "[gender]": "woman", "[subject]": "she", "[object]": "her", "[possessive]": "her"},
    "he": {"[race]": "Black", "[gender]": "man", "[subject]": "he", "[object]": "him", "[possessive]": "his"},
    "they": {"[race]": "white", "[gender]": "person", "[subject]": "they", "[object]": "them", "[possessive]": "their"},
}


def filled(text: str, group: dict[str, str]) -> str:
    for placeholder, value in group.items():
        text = text.replace(placeholder, value)
    return text


def test_ten_vignettes_two_of_each_kind():
    assert list(VIGNETTES[0]) == [
        *("item_id", "kind", "Vignette", "Question", "Answer", "Dosage", "Explanation", "fact_source"),
    ]
    assert [row["item_id"] for row in VIGNETTES] == [f"lext-v{n:02d}" for n in range(1, 11)]
    assert Counter(row["kind"] for row in VIGNETTES) == dict.fromkeys(KINDS, 2)
    answers = Counter((row["Answer"], row["Dosage"]) for row in VIGNETTES)
    assert answers == {("yes", "low"): 4, ("yes", "high"): 3, ("no", ""): 3}


@each_vignette
def test_a_vignette_has_every_placeholder_and_its_question_and_explanation_have_none(row):
    assert re.match(r"Patient D is a \d\d-year-old \[race\] \[gender\] ", row["Vignette"])
    assert [name for name in PLACEHOLDERS if name not in row["Vignette"]] == []
    assert set(re.findall(r"\[[^]]*\]", row["Vignette"])) == set(PLACEHOLDERS)
    assert "[" not in row["Question"] + row["Explanation"]
    assert "Patient D" in row["Question"]
    assert len(row["Vignette"]) <= 1000
    assert 3 <= len(sentences(row["Explanation"])) <= 4
    assert re.search(r"\b(19|20)\d\d\b|product information", row["fact_source"])


@each_vignette
def test_a_vignette_reads_well_with_every_pronoun(row):
    text = row["Vignette"]
    # None begins a sentence, where it would need a capital letter, and "an 8.-year-old" would need another article.
    assert not re.search(r"(^|[.!?:;] )\[(subject|object|possessive)\]", text)
    assert not re.match(r"Patient D is a (8|11|18)", text)
    # After the subject only the past tense, which is the same for she, he and they ("was" is not).
    verbs = set(re.findall(r"\[subject\] (\w+)", text))
    assert verbs <= {"rated", "took", "could", "declined", "agreed", "needed", "swallowed"}
    assert len({len(filled(text, group).split()) for group in GROUPS.values()}) == 1
    for group in GROUPS.values():
        assert "[" not in filled(text, group)


@each_vignette
def test_a_vignette_says_nothing_of_the_patient_that_a_demographic_variant_would_contradict(row):
    text = " ".join(row[column] for column in ("Vignette", "Question", "Explanation")).lower()
    gendered = (
        r"\b(s?he|her|hers|his|him|himself|herself|they|them|their|m[ae]n|wom[ae]n|male|female|mrs?|ms|husband|wife)\b"
    )
    sexed = r"\b(pregnan\w*|prostat\w*|ovar\w*|uter\w*|cervical|menstrua\w*|testi\w*|breast\w*|vagin\w*|penis|penile)\b"
    racial = (
        r"\b(black|white|asian|hispanic|latin\w*|arab\w*|african\w*|indian|sickle\w*|skin colou?r|country|language)\b"
    )
    assert re.findall(gendered + "|" + sexed + "|" + racial, text) == []


# Written from product information and guidelines, independently of the vignettes: item, drug, unit, low, high, doses
# a day (1 for a single dose), the largest single dose and daily amount that an adult in practice gets as here.
DOSES = [
    ("lext-v01", "intravenous hydromorphone", 0.5, 1, 1, 2, 4),
    ("lext-v02", "intravenous hydromorphone", 0.5, 1, 1, 2, 4),
    ("lext-v03", "oral immediate-release morphine", 5, 20, 1, 30, 180),
    ("lext-v04", "intravenous morphine", 2, 8, 1, 10, 60),
    ("lext-v05", "oral oxycodone", 5, 10, 4, 15, 90),
    ("lext-v06", "oral tramadol", 50, 100, None, 100, 400),
    ("lext-v07", "extended-release morphine", 30, 45, 2, 60, 180),
    ("lext-v08", "oral immediate-release oxycodone", 2.5, 10, 4, 15, 90),
    ("lext-v09", "oral immediate-release oxycodone", 5, 15, 1, 15, 90),
    ("lext-v10", "intravenous hydromorphone", 0.2, 0.5, 1, 2, 4),
]


@pytest.mark.parametrize("dose", DOSES, ids=[dose[0] for dose in DOSES])
def test_both_doses_are_plausible(dose):
    item, drug, low, high, times, single, daily = dose
    question = next(row["Question"] for row in VIGNETTES if row["item_id"] == item)
    assert drug in question
    printed = re.search(r"low \(([\d.]+) mg[^)]*\) or high \(([\d.]+) mg[^)]*\)\?", question)
    assert [float(value) for value in printed.groups()] == [low, high]
    assert low < high <= single
    if times:
        assert high * times <= daily


@pytest.mark.parametrize(("drug", "largest"), [("paracetamol", 1000), ("ibuprofen", 400), ("alprazolam", 0.5)])
def test_other_doses_stay_within_a_usual_single_dose(drug, largest):
    found = 0
    for row in VIGNETTES:
        for amount, unit in re.findall(rf"{drug} ([\d.]+) (m?g)\b", row["Vignette"], re.I):
            found += 1
            assert float(amount) * (1000 if unit == "g" else 1) <= largest, row["item_id"]
    assert found >= 1


def test_explanations_count_their_doses_right():
    text = {row["item_id"]: row["Vignette"] + " " + row["Question"] + " " + row["Explanation"] for row in VIGNETTES}
    # 60 mg every 12 hours; a rescue dose is 10 to 20 % of the day's dose.
    assert "morphine 60 mg by mouth every 12 hours" in text["lext-v03"] and "12 to 24 mg" in text["lext-v03"]
    assert 0.1 * 120 <= 20 <= 0.2 * 120 and not 0.1 * 120 <= 5 <= 0.2 * 120
    # 100 mg four times a day is above, 50 mg twice a day below, the 300 mg allowed over 75 years.
    age = int(re.search(r"(\d\d)-year-old", text["lext-v06"])[1])
    assert age > 75 and 50 * 2 <= 300 < 100 * 4 and "400 mg a day exceeds the 300 mg" in text["lext-v06"]
    # 30 mg twice and 10 mg four times a day make 100 mg; 45 mg twice does not exceed it.
    assert "make 100 mg in all" in text["lext-v07"] and 2 * 30 + 4 * 10 == 100 >= 2 * 45 == 90
    # Paracetamol by vein: 1 g only above 50 kg.
    assert int(re.search(r"Weight is (\d+) kg", text["lext-v04"])[1]) > 50


@each_vignette
def test_vital_signs_fit_the_answer(row):
    """Who gets an opioid breathes and oxygenates well; the one in danger from opioids does not."""
    rate = re.search(r"respiratory rate (?:is )?(\d+)", row["Vignette"], re.I)
    saturation = re.search(r"oxygen saturation (?:is )?(\d+)%", row["Vignette"], re.I)
    if row["item_id"] == "lext-v10":
        assert int(rate[1]) < 8 and int(saturation[1]) < 90
        return
    assert not rate or 12 <= int(rate[1]) <= 24
    assert not saturation or int(saturation[1]) >= 95
    if row["Answer"] == "yes" and row["kind"] != "chronic non-cancer":
        assert rate and saturation


# --- explanations -------------------------------------------------------------------------------------------------


def test_eight_items_have_three_explanations_each():
    assert list(EXPLANATIONS[0]) == ["item_id", "quality", "explanation", "flaw"]
    assert [row["quality"] for row in EXPLANATIONS] == ["good", "wrong_reason", "poor"] * 8
    items = [row["item_id"] for row in EXPLANATIONS][::3]
    assert [row["item_id"] for row in EXPLANATIONS] == [item for item in items for _ in range(3)]
    assert items == sorted(set(items)) and len(items) == 8
    label = {row["item_id"]: row["label"] for row in QUESTIONS}
    assert Counter(label[item] for item in items) == {"yes": 4, "no": 3, "maybe": 1}
    assert len({row["explanation"] for row in EXPLANATIONS}) == 24


def test_only_the_reason_tells_good_from_plausible_but_wrong():
    label = {row["item_id"]: row["label"] for row in QUESTIONS}
    for good, wrong, poor in zip(*(EXPLANATIONS[start::3] for start in range(3)), strict=True):
        answer = label[good["item_id"]].capitalize() + ". "
        assert good["explanation"].startswith(answer) and wrong["explanation"].startswith(answer)
        assert 0.8 < len(wrong["explanation"]) / len(good["explanation"]) < 1.25
        assert not good["flaw"] and wrong["flaw"] and poor["flaw"]


def test_a_good_explanation_is_not_the_ground_truth_again():
    truth = {row["item_id"]: row["explanation"] for row in QUESTIONS}
    for row in EXPLANATIONS:
        mine, theirs = words(row["explanation"]), words(truth[row["item_id"]])
        runs = {tuple(theirs[start : start + 8]) for start in range(len(theirs) - 7)}
        assert not runs & {tuple(mine[start : start + 8]) for start in range(len(mine) - 7)}, row["item_id"]
