"""DAHL section 5.2, Figure 5: scores over temperatures, compared question by question, put in words."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import runs, stats
from factlab.studies import temperature

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
UNDEFINED = re.compile(r"\bnan\b|None|<NA>|\binf\b", re.IGNORECASE)
STEADY = np.tile([0.2, 0.4, 0.6, 0.8], 5)
FALLING = {0.1: STEADY + 0.15, 0.6: STEADY, 1.0: STEADY - np.tile([0.1, 0.2], 10)}


def answers(subject: str = "m", **arms) -> pd.DataFrame:
    """One row an answer; the arms' names are temperatures (t01: 0.1), the question's number is its source."""
    given = {int(name[1:]) / 10: scores for name, scores in arms.items()}
    return asked(given, subject)


def asked(arms: dict, subject: str = "m") -> pd.DataFrame:
    rows = [
        (subject, t, f"q{i}", f"paper {i}", None if s is None else float(s), "scored" if s is not None else "unknown")
        for t, scores in arms.items()
        for i, s in enumerate(scores)
    ]
    table = pd.DataFrame(rows, columns=["subject", "temperature", "question_id", "source", "precision", "status"])
    return table.astype({"temperature": float, "precision": "Float64"})


def story(table: pd.DataFrame, reference: float = 0.6, judges: tuple = ()) -> tuple[str, list[str]]:
    """The sentence and the warnings of 50_temperature for these answers, made as that notebook makes them."""
    arms = table.groupby(["subject", "temperature"]).agg(asked=("status", "size"), scored=("precision", "count"))
    by = stats.estimates_by(table, "precision", ["subject", "temperature"], clusters="source", unit="answers")
    compared = temperature.against_reference(table, reference, 0.05)
    slopes = temperature.slopes(table)
    trend = stats.estimates_by(slopes, "slope", "subject", clusters="source", unit="questions", name="slope")
    temperature.best(table)
    said = temperature.sentence(by, compared, trend), temperature.warnings(arms.reset_index(), compared, judges)
    assert not [text for text in (said[0], *said[1]) if UNDEFINED.search(text)], said
    return said


# ---------------------------------------------------------------- against one temperature


def test_every_temperature_is_compared_with_the_reference_within_its_model():
    two = pd.concat([asked(FALLING, "b"), asked({0.6: STEADY, 1.0: STEADY}, "a")])
    found = temperature.against_reference(two, 0.6, 0.05)
    assert found.columns[:2].tolist() == ["subject", "temperature"]
    assert found[["subject", "temperature"]].values.tolist() == [["a", 1.0], ["b", 0.1], ["b", 1.0]]
    assert found["difference"].tolist() == pytest.approx([0, 0.15, -0.15])
    assert found["differs"].tolist() == [False, True, True]
    alone = temperature.against_reference(asked(FALLING, "b"), 0.6, 0.05)
    assert found["p_holm"].tolist()[1:] == alone["p_holm"].tolist()  # corrected over a model's own comparisons


@pytest.mark.parametrize("reference", [0.5, 0.60001])
def test_a_reference_that_is_not_in_the_grid_leaves_nothing_to_compare(reference):
    found = temperature.against_reference(asked(FALLING), reference)
    assert len(found) == 0 and {"subject", "temperature"} <= set(found)
    said, notes = story(asked(FALLING), reference)
    assert "differ" not in said and "slope" in said
    assert notes == ["Not asked at the reference temperature, so not compared with it: m."]


def test_only_the_model_without_the_reference_is_left_out():
    both = pd.concat([asked(FALLING, "with"), answers("without", t1=STEADY, t10=STEADY)])
    assert set(temperature.against_reference(both)["subject"]) == {"with"}
    assert story(both)[1][0].endswith("not compared with it: without.")


def test_answers_to_one_question_at_one_temperature_count_as_one():
    table = asked(FALLING)
    tripled = pd.concat([table] * 3)
    for found in (table, tripled):
        row = temperature.against_reference(found).iloc[0]
        assert row["n"] == 20 and row["difference"] == pytest.approx(0.15)
        assert temperature.slopes(found)["n"].tolist() == [3] * 20


# ---------------------------------------------------------------- slopes


SLOPES = [
    # (scores of one question by temperature, slope worked out by hand, temperatures that count)
    ({0.0: [0.2], 1.0: [0.5]}, 0.3, 2),
    ({0.1: [0.9], 0.6: [0.9], 1.0: [0.9]}, 0.0, 3),
    ({0.0: [0.0], 0.5: [0.0], 1.0: [0.9]}, 0.9, 3),  # Σ(x − ½)(y − 0.3) / Σ(x − ½)² = 0.45 / 0.5
    ({0.0: [0.0], 0.5: [None], 1.0: [0.9]}, 0.9, 2),
]


@pytest.mark.parametrize(("arms", "slope", "n"), SLOPES)
def test_the_slope_of_a_question_is_least_squares(arms, slope, n):
    found = temperature.slopes(asked(arms))
    assert found["slope"].tolist() == pytest.approx([slope], abs=1e-12) and found["n"].tolist() == [n]
    assert found[["subject", "question_id", "source"]].values.tolist() == [["m", "q0", "paper 0"]]


@pytest.mark.parametrize("arms", [{}, {0.6: STEADY}, {0.1: [None], 0.6: [0.5]}, {np.nan: [0.1], 0.6: [0.2]}])
def test_one_temperature_has_no_slope(arms):
    found = temperature.slopes(asked(arms))
    assert len(found) == 0 and found.columns.tolist() == ["subject", "question_id", "source", "slope", "n"]


# ---------------------------------------------------------------- best


def test_the_best_temperature_and_those_below_it():
    found = temperature.best(asked(FALLING))
    assert found.values.tolist() == [["m", 0.1, pytest.approx(0.65), "none", "0.6, 1"]]


def test_too_few_to_test_are_not_called_worse():
    assert temperature.best(asked({t: s[:9] for t, s in FALLING.items()}))[["others", "worse"]].values.tolist() == [
        ["0.6, 1", "none"]
    ]


def test_of_equal_scores_the_lowest_temperature_is_named():
    assert temperature.best(answers(t8=STEADY, t3=STEADY))[["best", "others", "worse"]].values.tolist() == [
        [0.3, "0.8", "none"]
    ]


def test_a_temperature_that_wins_question_by_question_is_not_worse():
    """0.1 has the highest mean only because it has no score for the hard questions; on those both have it loses."""
    easy, hard = [0.80] * 12, [0.1] * 12
    table = answers(t1=[*easy, *([None] * 12)], t6=[*np.add(easy, 0.05 + np.arange(12) / 100), *hard])
    found = temperature.best(table)
    assert found[["best", "others", "worse"]].values.tolist() == [[0.1, "0.6", "none"]]
    assert stats.against(table, "temperature", "question_id", "precision", 0.1)["differs"].tolist() == [True]


def test_a_model_without_a_score_has_no_best_temperature():
    both = pd.concat([answers("mute", t1=[None] * 3, t6=[None] * 3), answers("m", t1=[0.5], t6=[None])])
    assert temperature.best(both).values.tolist() == [["m", 0.1, 0.5, "none", "none"]]
    assert len(temperature.best(asked({}))) == 0


# ---------------------------------------------------------------- in words


SENTENCES = [
    (FALLING, "m: 0.35 at 1 to 0.65 at 0.1; 2 of 2 temperatures differ from the reference; slope -0.33 [-0.35, -0.31]"),
    ({0.1: STEADY, 0.6: STEADY}, "m: 0.50 at all 2 temperatures; 0 of 1 temperatures differ from the reference"),
    ({0.6: STEADY}, "m: 0.50 at 0.6 alone"),
    ({0.1: [0.4] * 3, 0.6: [0.5] * 3}, "m: 0.40 at 0.1 to 0.50 at 0.6; too few to test"),
    ({0.1: [None] * 12, 0.6: [0.5] * 12}, "m: 0.50 at 0.6 alone; too few to test"),
    ({0.1: [0.0] * 12, 0.6: [0.0] * 12}, "m: 0.00 at all 2 temperatures; 0 of 1 temperatures differ from the reference"),
    ({0.1: [None] * 12, 0.6: [None] * 12}, "no answer was scored at any temperature"),
    ({np.nan: STEADY}, "the temperatures are not recorded"),
    ({}, "no answer was scored at any temperature"),
]  # fmt: skip


@pytest.mark.parametrize(("arms", "sentence"), SENTENCES)
def test_what_was_found_in_words(arms, sentence):
    said = story(asked(arms))[0]
    assert re.sub(r"\[.*?\]", "[]", said) == re.sub(r"\[.*?\]", "[]", sentence)


def test_a_slope_whose_interval_holds_0_is_no_trend():
    noise = np.random.default_rng(4).normal(0, 0.1, 20)
    said = story(asked({0.1: STEADY + noise, 0.6: STEADY}))[0]
    assert re.search(r"; slope [+-]\d\.\d\d \[-\d\.\d\d, \+\d\.\d\d\], no trend shown$", said)
    assert "no trend" not in story(asked(FALLING))[0]


def test_each_model_has_its_part():
    both = pd.concat([asked(FALLING, "b"), answers("a", t6=STEADY)])
    said = story(both)[0]
    assert said.startswith("a: 0.50 at 0.6 alone; b: 0.35 at 1 to 0.65 at 0.1; 2 of 2")


# ---------------------------------------------------------------- warnings


def test_nothing_to_distrust_is_said_when_there_is_nothing():
    assert story(asked(FALLING))[1] == []


def test_small_arms_and_lost_answers_are_counted():
    lost = [*STEADY[:9], *([None] * 11)]
    notes = story(answers(t1=lost, t6=STEADY))[1]
    assert notes[0] == "1 of 2 arms have fewer than 10 scored answers and are not tested."
    assert notes[1].startswith("11 of 40 answers have no score")


def test_different_judges_and_the_built_in_one_are_named():
    notes = story(asked(FALLING), judges=("local/smollm2", "openai/x"))[1]
    assert "different judges (local/smollm2, openai/x)" in notes[0] and "no judge" in notes[1]


def test_no_significant_difference_is_not_called_equality():
    noise = np.random.default_rng(4).normal(0, 0.1, 20)
    table = asked({0.1: STEADY + noise, 0.6: STEADY})
    row = temperature.against_reference(table).iloc[0]
    (note,) = story(table)[1]
    assert note.endswith(f"differences up to {max(-row['low'], row['high']):.2f} remain possible.")
    # The same answers at both temperatures: there is no interval, and none is made up.
    assert story(answers(t1=STEADY, t6=STEADY))[1] == [
        "No difference is significant, which does not make the scores equal."
    ]


def test_runs_that_do_not_say_their_temperature_are_named():
    assert story(asked({np.nan: STEADY}))[1] == [
        "The runs do not say at which temperature they were made, so nothing can be compared."
    ]


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from([0.1, 0.6, 1.0]), st.lists(st.sampled_from([0.0, 0.5, 1.0, None]), max_size=14)))
def test_whatever_was_scored_the_words_hold_no_undefined_number(arms):
    said, _ = story(asked(arms))
    assert said


# ---------------------------------------------------------------- the recorded arms


def test_the_recorded_arms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = runs.open("", "dahl/50_temperature").gather("precision", [], settings=("temperature", "checker"))
    said, notes = story(table, judges=tuple(table["checker"].unique()))
    temperatures = table["temperature"].nunique()
    assert len(temperature.against_reference(table)) == temperatures - 1 == 4
    assert len(temperature.slopes(table)) <= table["question_id"].nunique()
    assert said.startswith("local/smollm2: 0.") and any("no judge" in note for note in notes)
    wide = table.pivot(index="question_id", columns="temperature", values="precision")
    difference = (wide[1.0] - wide[0.6]).mean()  # by hand: over the questions scored at both
    assert temperature.against_reference(table)["difference"].iloc[-1] == pytest.approx(difference)
