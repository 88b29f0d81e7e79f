"""DAHL: Step 0, atomic units, verdicts, factual precision and the score, as tables of inputs and right answers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import units
from factlab.replies import Parsed

# --- Step 0 ---

QUESTION = "What is aspirin used for?"
STEP_0 = [
    ("What is aspirin used for? It treats pain. It is cheap.", "It treats pain. It is cheap."),
    ("WHAT IS ASPIRIN USED FOR It treats pain.", "It treats pain."),
    ('"What is aspirin used for?" It treats pain.', "It treats pain."),
    ("**What is aspirin used for?**\n\nIt treats pain.", "It treats pain."),
    ("Q: What is aspirin used for?\nA: It treats pain.", "It treats pain."),
    ("Question: What is aspirin used for?\nAnswer: It treats pain.", "It treats pain."),
    ("What is aspirin used for? What is aspirin used for? It treats pain.", "It treats pain."),
    ("Answer: It treats pain.", "It treats pain."),
    ("It treats pain. What is aspirin used for? It is cheap.", "It treats pain. It is cheap."),
    ("It treats pain. It is cheap. IT TREATS PAIN! It is old.", "It treats pain. It is cheap. It is old."),
    ("It treats pain. It treats pain. It treats pain. It tre", "It treats pain."),
    ("It treats pain.\n\nIt is cheap.", "It treats pain.\n\nIt is cheap."),
    ("1. It treats pain.\n2. It is cheap.\n3.", "1. It treats pain.\n2. It is cheap."),
    ("- fever\n- cough\n- rash", "- fever\n- cough"),
    ("It treats pain. Its uses are:\n- fev", "It treats pain."),
    (
        "It treats pain (e.g. headache). It costs 1.5 dollars. It",
        "It treats pain (e.g. headache). It costs 1.5 dollars.",
    ),
    ("It treats", ""),
    ("What is aspirin used for?", ""),
    ("", ""),
    ("<think>What is asked?</think>It treats pain.", "It treats pain."),
    ("<think>It treats pain.", ""),
    ("### Question 1: What is aspirin used for?\n### Answer 1: It treats pain.", "It treats pain."),
    ("Q1. What is aspirin used for? A1. It treats pain.", "It treats pain."),
    ("The question is: What is aspirin used for? It treats pain.", "It treats pain."),
    ("It treats pain.\n\nQuestion: What is aspirin used for?\nAnswer: It treats pain.", "It treats pain."),
    (
        "What is aspirin used for in children? It treats fever.",
        "What is aspirin used for in children? It treats fever.",
    ),
    (
        '"What is aspirin used for?" is often asked.',
        '"What is aspirin used for?" is often asked.',
    ),
    ("It treats 5 people. It treats 6 people.", "It treats 5 people. It treats 6 people."),
    ("It is -5. It is 5.", "It is -5. It is 5."),
    ("- It treats pain.\n- It treats pain!\n- It is cheap.", "- It treats pain.\n- It is cheap."),
    ("It treats pain.\n\n## Dosage\n\nThe do", "It treats pain."),
    ("It treats pain. Uses include:", "It treats pain."),
    ("It treats pain.\n\n```python\nprint(1)\n```", "It treats pain.\n\n```python\nprint(1)\n```"),
    ("It treats pain.\n\n```python\nprint(1", "It treats pain."),
    ("| A | B |\n|---|---|\n| 1 | 2 |", "| A | B |\n|---|---|\n| 1 | 2 |"),
    ("It treats pain.[5]", "It treats pain.[5]"),
    ("It treats pain. It rises by 5%", "It treats pain."),
    ("它治疗疼痛。它很便宜。它", "它治疗疼痛。它很便宜。"),
    ("क्या यह ठीक है। यह", "क्या यह ठीक है।"),
]


@pytest.mark.parametrize(("response", "cleaned"), STEP_0)
def test_preprocess(response, cleaned):
    assert units.preprocess(response, QUESTION) == cleaned


def test_what_a_finished_response_ends_with_stays():
    for response in ("- fever\n- cough\n- rash", "It treats pain. Also fever"):
        assert units.preprocess(response, QUESTION, finished=True) == response
        assert units.preprocess(response, QUESTION, finished=False) != response


def test_a_short_prompt_is_not_taken_out_of_an_answer():
    assert units.preprocess("Aspirin is a drug.", "Aspirin") == "Aspirin is a drug."
    assert units.preprocess("Aspirin? Aspirin is a drug.", "Aspirin?") == "Aspirin is a drug."
    assert units.preprocess("It treats pain.", "") == "It treats pain."


def test_an_example_like_the_papers_and_its_record():
    prompt = "How often does torticollis (TC) occur in newborns, and which side is affected most?"
    response = (
        f"{prompt} The team reviewed 1,200 charts of newborns. Of these 1,200, 1,180 (98.3%) were complete. "
        "Of these 1,200, 1,180 (98.3%) were complete. The right side was affected in 60% of cases. The team "
        "defined TC as a t"
    )
    steps = units.preprocess_steps(response, prompt)
    assert steps.text == (
        "The team reviewed 1,200 charts of newborns. Of these 1,200, 1,180 (98.3%) were complete. "
        "The right side was affected in 60% of cases."
    )
    assert steps.prompt_removed == len(prompt)
    assert steps.repeated == ("Of these 1,200, 1,180 (98.3%) were complete.",)
    assert steps.unfinished == "The team defined TC as a t"


@pytest.mark.released
def test_the_papers_table_1(released):
    paper = released.parent / "papers" / "dahl.txt"
    if not paper.is_file():
        pytest.skip(f"the paper's text is not at {paper}")
    text = paper.read_text(encoding="utf-8")
    part = text[text.index("\nPrompt\n") : text.index("Table 1: An example")]
    prompt, rest = part.removeprefix("\nPrompt\n").split("\nResponse\n")
    before, after = rest.split("<Before Preprocessing>")[1].split("<After Preprocessing>")
    assert units.preprocess(before.strip(), prompt.strip()) == after.strip()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.text(max_size=40), st.sampled_from([None, True, False]))
def test_preprocess_never_fails_and_only_removes(response, prompt, finished):
    cleaned = units.preprocess(response, prompt, finished)
    assert len(cleaned) <= len(response) + 1


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["It treats pain.", "It is cheap.", "Fever falls.", "It was found in 1899 by F. Hoffmann."]),
        min_size=1,
        max_size=6,
    )
)
def test_preprocess_keeps_each_sentence_once_and_is_stable(sentences):
    cleaned = units.preprocess(f"{QUESTION} {' '.join(sentences)} And th", QUESTION)
    assert cleaned == " ".join(dict.fromkeys(sentences))
    assert units.preprocess(cleaned, QUESTION) == cleaned


# --- noncommittal ---


@pytest.mark.parametrize(
    ("text", "noncommittal"),
    [
        ("It cannot be answered.", True),
        ("I don’t know.", True),
        ("I’m sorry, but I can’t help", True),
        ("As an AI language model, I cannot give medical advice. Please consult a doctor.", True),
        ("It depends.", True),
        ("Unknown.", True),
        ("I hope this helps!", True),
        ("More research is needed.", True),
        ("It depends on many factors.", True),
        ("It depends on the dose and the age of the patient.", False),
        ("There is not enough evidence to answer this question.", True),
        ("The information is not available.", True),
        ("I'm sorry, but there is no information about that in the text.", True),
        ("I do not know the exact mechanism, but aspirin inhibits COX.", False),
        ("I don't know the answer. Heart failure is a condition in which the heart pumps too little blood.", False),
        ("As a large language model, I am unable to examine patients. The most common symptom is fever.", False),
        ("", False),
        ("Patients cannot be answered by phone.", False),
        ("The cause is not known.", False),
        ("It depends on the dose.", False),
        ("Aspirin treats pain. I don't know more.", False),
        ("I don't know the exact share, but about 5% of births are affected.", False),
        ("Aspirin treats pain. It may also lower fever, but the evidence is unclear. It is cheap.", False),
    ],
)
def test_noncommittal(text, noncommittal):
    assert units.is_noncommittal(text) is noncommittal


# --- Step 1 ---


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("- The trial ran 2001 - 2004.", ["The trial ran 2001 - 2004."]),
        ("1. A is B.", ["A is B."]),
        ("- A is B.\n- ", ["A is B."]),
        ("A is B.\n- ", ["A is B."]),
        ("A is B.\n\n\nC is D.\n", ["A is B.", "C is D."]),
        ("Here are the atomic units:\n\n1. A is B.\n\n2. C is D.", ["A is B.", "C is D."]),
        ("A is B. C is D.", ["A is B.", "C is D."]),
        ("1. A is B. It is C.\n2. D is E.", ["A is B. It is C.", "D is E."]),
        ('```json\n["A is B.", "C is D."]\n```', ["A is B.", "C is D."]),
        ("E. coli grows. S. aureus dies.", ["E. coli grows.", "S. aureus dies."]),
        ("", []),
        ("\n \n", []),
        ("-", []),
        ("None", []),
        ("There are no atomic units.", []),
        ("I don't know.", []),
        ("I’m sorry, but I can’t help.", []),
        ("The response contains no verifiable facts.", []),
        ("No atomic facts can be extracted.", []),
        ("N/A", []),
        ("None of the patients died.", ["None of the patients died."]),
        (None, []),
    ],
)
def test_parse_units(reply, expected):
    assert units.parse_units(reply) == expected


def test_why_there_are_no_units():
    assert units.read_units("") == Parsed([], "no_units")
    assert units.read_units("I can't help with that.") == Parsed([], "refused")
    assert units.read_units("<think>1. A is B.") == Parsed([], "truncated")
    assert units.read_units(None) == Parsed([], "error")


def test_the_released_code_counts_blank_lines():
    assert units.parse_units("A is B.\n\nC is D.", variant="released") == ["A is B.", "", "C is D."]
    assert units.parse_units(" \n", variant="released") == []


# --- Step 2 ---

TRUE = [
    "True",
    "true.",
    "TRUE",
    "True.",
    "**True**",
    "**Verdict:** True",
    "$\\text{true}$",
    "\\boxed{\\text{true}}",
    '"True"',
    "“True”",
    "True, because aspirin inhibits COX.",
    "The statement is true.",
    "This statement is true.",
    "It is true that aspirin inhibits COX.",
    "The claim is correct.",
    "The statement is factually accurate.",
    "Yes",
    "Yes.",
    "Yes, this is true.",
    "Correct.",
    "That's right.",
    "Not false.",
    "The statement is not false.",
    "It isn't false.",
    "This is not untrue.",
    "The answer is true.",
    "Answer: True",
    "Answer: true (see Smith 2004)",
    "ANSWER: $\\text{True}$",
    '```json\n{"verdict": True}\n```',
    '{"verdict": "true"}',
    "{'verdict': 'True', 'reason': 'it is false that...',}",
    '{"verdict": true, "explanation": "not false"}',
    "<think>It could be false...</think>True",
    "<answer>true</answer>",
    "True. It would be false to claim otherwise.",
    'The statement "Aspirin is a false friend" is true.',
    "Probably true.",
    "Most likely true.",
    "I think this is true.",
    "I believe the statement is true.",
    "The given statement is true, as aspirin inhibits COX-1 and COX-2.",
    "Based on the evidence, the statement is true.",
    "Therefore, the statement is true.",
    "The statement that false ribs are five pairs is true.",
    "Indeed, this is accurate.",
    "> True",
    "# True",
    "_True_",
    "The mechanism is unknown, but the claim is true.",
    "True, although the exact rate is unknown.",
    "Label: TRUE",
    "Verdict - true",
    "The verdict is: true",
    "The statement is **true**.",
    "Yes, the statement is correct.",
    "That is correct.",
    "The information is accurate.",
    "I would say true.",
    "true\n\nExplanation: The heart has four chambers.",
    "True\n\nQuestion: The heart has five chambers. True or false?\nAnswer: False",
    "True or False: True",
    "Final verdict: true",
    "Is the statement true or false? True.",
    "My answer is true",
    "The statement is indeed true",
    "This is a true statement.",
    "True statement.",
    "The statement is likely true.",
    "The statement appears to be true.",
    "The correct answer is True.",
    "✅ True",
    "Truth: the claim is true.",
    "The statement is true; there is no doubt.",
    "There's no doubt this is true.",
    '["true"]',
    "T",
    "t.",
    "✅",
    "Supported",
    "Yep",
    "proven true",
    "1) True",
    "True. (Confidence: 90%)",
    "Almost certainly true.",
    "Technically true.",
    "There is nothing wrong with this statement.",
    "No problem! The statement is true.",
    "No, wait. True.",
    "Is this statement true? Yes, it is.",
    "As an AI language model, I cannot verify this, but the statement is generally true.",
    "| Statement | Verdict |\n|---|---|\n| Aspirin is an acid | True |",
    "I’m not sure, but I think it’s true.",
    "True\n\nIs the following statement true or false?\nX is Y.\nFalse",
    'The statement "X is not Y" is true.',
    "It's true.",
]

FALSE = [
    "False",
    "false.",
    "Untrue.",
    "Not true.",
    "This is not true.",
    "It isn't true.",
    "It isn’t true.",
    "The statement is not true.",
    "The statement is false.",
    "No.",
    "No",
    "No, this is false.",
    "Incorrect.",
    "Not correct.",
    "The statement is incorrect.",
    "That's wrong.",
    "I don't think this is true.",
    "I do not believe the statement is true.",
    "This cannot be true.",
    "False. It is true that aspirin is a drug, but it isn't an antibiotic.",
    "No. It is true that aspirin is a drug, but it isn't an antibiotic.",
    "The statement is false, because the true incidence is 5%.",
    "The claim is inaccurate.",
    "**False**",
    "Answer: False",
    '{"verdict": False}',
    '{"verdict": "Not true"}',
    "Not accurate.",
    "Yes, this is false.",
    "The statement is far from true.",
    "It is not true that aspirin cures cancer.",
    "It is false that aspirin cures cancer.",
    "This is a false statement.",
    "False - the heart has four chambers.",
    "The statement is untrue.",
    "Verdict: not true",
    "Wait, is it? True or false... False.",
    "<think>true?</think>\n\nFalse",
    "No, it's not true.",
    "No, that is incorrect.",
    "No, the heart has four chambers.",
    "The statement is actually false.",
    "The statement is completely false.",
    "True. Wait, actually the statement is false.",
    "Answer: True\nCorrection.\nAnswer: False",
    "The statement is neither accurate nor true, it is false.",
    "Not a true statement.",
    "The statement is wrong.",
    "The statement isn't correct.",
    "This is simply not true.",
    "It's untrue.",
    "The claim was refuted.",
    "The answer is: False.",
    "That is not right.",
    "The statement is not factually accurate.",
    "F",
    "❌",
    "Answer: F",
    "(True/False) False",
    "true/false? false",
    "This is far from the truth.",
    "This is hardly true.",
    "Not at all true.",
    "By no means true.",
    "The statement is unlikely to be true.",
    "It would be wrong to say this is true.",
    "It's false that it's true.",
    "I would not say that this is true.",
    "I wouldn't call this true.",
    "None of this is true.",
    "No part of this statement is true.",
    "Neither part is true.",
    "The opposite is true.",
    "The statement does not hold true.",
    "While it is true that aspirin is a drug, the statement is false.",
    "It's true that the drug is used, however the statement is false.",
    "The statement is false. Aspirin is not a protein. It is true that it's an acid.",
    "It has been proven false.",
    "This is a myth.",
    "Is it false? Yes.",
    "Yes: false",
    '{"accurate": false, "reason": "It is true that X"}',
    '{"confidence": 0.9, "verdict": "FALSE."}',
    "Verdict: False | Confidence: 0.9",
    "Not supported",
    "Definitely not.",
    "<analysis>true</analysis>False",
]

UNKNOWN = [
    "Unknown",
    "unknown.",
    "It cannot be determined.",
    "Cannot be determined",
    "The truth of this statement cannot be determined.",
    "Not enough information",
    "Not enough information to determine whether this is true or false.",
    "It is unclear whether this is true.",
    "I don't know.",
    "I don’t know whether this is true.",
    "I cannot verify this claim.",
    "I cannot confirm that this is true.",
    "Unable to verify.",
    "Partially true.",
    "Partly true, partly false.",
    "Mostly true",
    "The statement is partially true.",
    "The statement is not entirely true.",
    "This might be true.",
    "It may be true or false.",
    "Possibly true.",
    "Uncertain.",
    "The statement is neither true nor false.",
    "Verdict: unknown",
    '{"verdict": "unknown"}',
    "The statement is unverifiable.",
    "Insufficient evidence.",
    "There is insufficient evidence to conclude that this is true.",
    "I am not sure whether it is true or false.",
    "Unknown. The statement may be true.",
    "Not necessarily true.",
    "Half true",
    "The answer is unknown.",
    "It is not known whether this is true.",
    "It's hard to say.",
    "The statement cannot be verified as true.",
    "It has not been verified.",
    "This claim is neither supported nor refuted.",
    "I'm not sure that this is true.",
    "Not all of this is true.",
    "This statement was true until 2010.",
    "Doubtful.",
]

NEITHER = [
    "True or false",
    "True/False",
    "True and false.",
    "Is it true or false?",
    "true | false",
    "Norepinephrine is released by the adrenal medulla.",
    "Norepinephrine is…",
    "None of the context mentions it.",
    "The true prevalence is 5%.",
    "False positives are common.",
    "True positives were counted.",
    "I know this…",
    "No evidence was presented at the meeting.",
    "Yes and no",
    '{"verdict": "true/false"}',
    '{"verdict": "true" | "false"}',
    "The drug is used in truecaller apps.",
    "Nothing.",
    "Noted.",
    "Falsehoods spread quickly.",
    "Both true and false",
    "Trueness is a property.",
    "Answer with true or false.",
    "true,false",
    '{"true": 0.4, "false": 0.6}',
    "To be true, it would need evidence.",
    "If true, this matters.",
    "Nein",
    "Non, c'est faux.",
    "Truthahn",
    "Normalerweise ja",
    "T cells are lymphocytes.",
]

ALL = (
    [(r, "true") for r in TRUE]
    + [(r, "false") for r in FALSE]
    + [(r, "unknown") for r in UNKNOWN]
    + [(r, None) for r in NEITHER]
)


@pytest.mark.parametrize(("reply", "verdict"), ALL)
def test_parse_verdict(reply, verdict):
    assert units.parse_verdict(reply).value == verdict


@pytest.mark.parametrize(
    ("reply", "paper", "released"),
    [
        ("true", Parsed("true", "scored"), Parsed("true", "scored")),
        ("Untrue.", Parsed("false", "scored"), Parsed("true", "scored")),
        ("Not true.", Parsed("false", "scored"), Parsed("true", "scored")),
        ("True, not false.", Parsed("true", "scored"), Parsed(None, "unparsable")),
        ("It cannot be determined.", Parsed("unknown", "unknown"), Parsed(None, "unparsable")),
        ("I’m sorry, but I can’t help", Parsed("unknown", "refused"), Parsed(None, "unparsable")),
        ("Norepinephrine", Parsed(None, "unparsable"), Parsed(None, "unparsable")),
        ("<think>true", Parsed(None, "truncated"), Parsed("true", "scored")),
        (None, Parsed(None, "error"), Parsed(None, "error")),
    ],
)
def test_verdicts_in_both_variants(reply, paper, released):
    assert units.parse_verdict(reply) == paper
    assert units.parse_verdict(reply, variant="released") == released


# --- Step 3 ---

RESPONSES = pd.DataFrame(
    [
        ("both", 2, "scored"),
        ("missing", 2, "scored"),
        ("unknown", 2, "scored"),
        ("empty", 0, "scored"),
        ("unreadable", 2, "scored"),
        ("repeated", 1, "scored"),
        ("refused", 3, "refused"),
        ("surplus", 1, "scored"),
        ("failed", 0, "error"),
        ("gap", 2, "scored"),
        ("only unknown", 1, "scored"),
    ],
    columns=["response_id", "n_units", "status"],
)
VERDICTS = pd.DataFrame(
    [
        ("both", 0, "true"),
        ("both", 1, "false"),
        ("missing", 0, "true"),
        ("unknown", 1, "true"),
        ("unknown", 2, "unknown"),
        ("unreadable", 1, "true"),
        ("unreadable", 2, None),
        ("repeated", 1, "false"),
        ("repeated", 1, "true"),
        ("surplus", 0, "true"),
        ("surplus", 1, "true"),
        ("gap", 0, "true"),
        ("gap", 5, "true"),
        ("only unknown", 0, "unknown"),
    ],
    columns=["response_id", "unit_no", "verdict"],
)


def _outcome(**options) -> dict[str, tuple]:
    table = units.factual_precision(RESPONSES, VERDICTS, **options)
    assert list(table["response_id"]) == list(RESPONSES["response_id"])
    return {r.response_id: (None if pd.isna(r.precision) else r.precision, r.status) for r in table.itertuples()}


PAPER = {
    "both": (0.5, "scored"),
    "missing": (None, "unparsable"),
    "unknown": (None, "unknown"),
    "empty": (None, "no_units"),
    "unreadable": (None, "unparsable"),
    "repeated": (1.0, "scored"),
    "refused": (None, "refused"),
    "surplus": (None, "unparsable"),
    "failed": (None, "error"),
    "gap": (None, "unparsable"),
    "only unknown": (None, "unknown"),
}


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({}, {}),
        ({"unknown": "exclude-unit"}, {"unknown": (1.0, "scored")}),
        ({"unknown": "false"}, {"unknown": (0.5, "scored"), "only unknown": (0.0, "scored")}),
        ({"zero_units": "zero"}, {"empty": (0.0, "scored")}),
        ({"zero_units": "one"}, {"empty": (1.0, "scored")}),
        (
            {"variant": "released"},
            {"empty": (0.0, "scored"), "unknown": (None, "unparsable"), "only unknown": (None, "unparsable")},
        ),
    ],
)
def test_factual_precision(options, changes):
    assert _outcome(**options) == PAPER | changes


def test_left_out_responses_say_why():
    table = units.factual_precision(RESPONSES, VERDICTS).set_index("response_id")
    assert table.loc["missing", "reason"] == "2 units, 1 verdict: 1 missing"
    assert table.loc["surplus", "reason"] == "1 unit, 2 verdicts: 1 surplus"
    assert table.loc["unknown", "reason"] == "1 of 2 units unknown"
    assert table.loc["unreadable", "reason"] == "1 of 2 verdicts could not be read"
    assert table.loc["repeated", "reason"] == "1 repeated verdict row, the newest counted"
    assert table.loc["both", "reason"] == ""
    assert list(table.loc["unknown", ["n_units", "n_true", "n_false", "n_unknown", "n_unparsable"]]) == [2, 1, 0, 1, 0]


def test_verdicts_as_booleans_and_capitals():
    responses = pd.DataFrame({"response_id": [1], "n_units": [2]})
    for verdicts in ([True, False], ["True", "FALSE"], np.array([True, False])):
        table = units.factual_precision(
            responses, pd.DataFrame({"response_id": 1, "unit_no": [1, 2], "verdict": verdicts})
        )
        assert table["precision"].tolist() == [0.5]


def test_verdicts_as_numbers_and_ids_of_another_type():
    responses = pd.DataFrame({"response_id": [1, 2], "n_units": [2, 1]})
    verdicts = pd.DataFrame({"response_id": ["1", "1", "2"], "unit_no": [1, 2, 1], "verdict": [1.0, 0.0, np.nan]})
    table = units.factual_precision(responses, verdicts)
    assert table["status"].tolist() == ["scored", "unparsable"] and table["precision"][0] == 0.5
    texts = responses.astype({"response_id": "str"})
    numbers = verdicts.assign(response_id=[1.0, 1.0, 2.0])
    assert units.factual_precision(texts, numbers)["status"].tolist() == ["scored", "unparsable"]


@pytest.mark.parametrize("dtype", ["str", "string", "category", object])
def test_tables_of_any_string_type(dtype):
    columns = {"response_id": dtype, "verdict": dtype}
    table = units.factual_precision(
        RESPONSES.astype({"response_id": dtype, "status": dtype}).set_axis([7] * len(RESPONSES)),
        VERDICTS.astype(columns).set_axis([3] * len(VERDICTS)),
    )
    assert table["status"].tolist() == [status for _, status in PAPER.values()]


def test_verdicts_of_nobody_are_told():
    with pytest.warns(UserWarning, match="2 verdicts are for 1 responses"):
        units.factual_precision(RESPONSES[RESPONSES["response_id"] != "both"], VERDICTS)


def test_empty_tables():
    table = units.factual_precision(RESPONSES.iloc[:0], VERDICTS.iloc[:0])
    assert len(table) == 0 and "precision" in table
    assert units.funnel(table)["n"].tolist() == [0] * 7
    assert units.dahl_score(table).status == "undefined"


@pytest.mark.parametrize(
    ("responses", "options", "message"),
    [
        (RESPONSES.drop(columns="n_units"), {}, "no column 'n_units'"),
        (RESPONSES.assign(n_units=-1), {}, "'both': -1 is not a whole number"),
        (RESPONSES.assign(n_units=1.5), {}, "not a whole number"),
        (RESPONSES.assign(status="fine"), {}, "'fine' is not known"),
        (RESPONSES, {"unknown": "drop"}, "unknown='drop' is not known"),
        (RESPONSES, {"zero_units": "half"}, "zero_units='half'"),
        (RESPONSES, {"variant": "new"}, "variant='new'"),
    ],
)
def test_wrong_input_is_named(responses, options, message):
    with pytest.raises(ValueError, match=message):
        units.factual_precision(responses, VERDICTS, **options)


TABLES = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.sampled_from(["true", "false", "unknown", None, "?"]), max_size=5)),
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(
    TABLES,
    st.randoms(),
    st.sampled_from(["exclude-response", "exclude-unit", "false"]),
    st.sampled_from(["exclude", "zero", "one"]),
)
def test_precision_is_a_share_and_the_order_of_verdicts_does_not_matter(table, random, unknown, zero_units):
    responses = pd.DataFrame({"response_id": range(len(table)), "n_units": [n for n, _ in table]})
    rows = [(i, k, v) for i, (_, verdicts) in enumerate(table) for k, v in enumerate(verdicts)]
    shuffled = random.sample(rows, len(rows))
    columns = ["response_id", "unit_no", "verdict"]
    first, second = (
        units.factual_precision(responses, pd.DataFrame(r, columns=columns), unknown=unknown, zero_units=zero_units)
        for r in (rows, shuffled)
    )
    pd.testing.assert_frame_equal(first, second)
    values = first["precision"].dropna()
    assert ((values >= 0) & (values <= 1)).all()
    assert (first["precision"].notna() == (first["status"] == "scored")).all()
    assert units.funnel(first)["n"].iloc[-1] == len(values)


# --- the score ---


def test_the_score_is_the_mean_over_scored_responses_and_counts_the_others():
    score = units.dahl_score(units.factual_precision(RESPONSES, VERDICTS))
    assert score.value == pytest.approx(0.75)
    assert score.n == 2 and score.unit == "answers" and score.signature.startswith("dahl|")
    assert score.counts == {"unparsable": 4, "unknown": 2, "no_units": 1, "refused": 1, "error": 1}


def test_the_score_of_bare_precisions_and_clusters():
    assert units.dahl_score([0.5, None, 1.0]).value == pytest.approx(0.75)
    table = units.factual_precision(RESPONSES, VERDICTS).assign(paper=range(len(RESPONSES)))
    assert units.dahl_score(table, clusters="paper").clusters == 2
    assert units.dahl_score(table, clusters=list(range(len(table)))).clusters == 2
    with pytest.raises(ValueError, match="1 entries for 11 responses"):
        units.dahl_score(table, clusters=[1])


def test_the_funnel_counts_every_response():
    funnel = units.funnel(units.factual_precision(RESPONSES, VERDICTS)).set_index("stage")
    assert funnel["n"].to_dict() == {
        "asked": 11,
        "answered": 10,
        "not refused": 9,
        "with units": 8,
        "all verdicts readable": 4,
        "no unknown": 2,
        "scored": 2,
    }
    assert funnel.loc["all verdicts readable", "left_out"] == 4
    assert funnel.loc["scored", "share"] == pytest.approx(2 / 11)
    with pytest.raises(ValueError, match="'fine' is not known"):
        units.funnel(["scored", "fine"])


def test_a_unit_that_could_not_be_judged_is_an_error_of_its_answer():
    responses = pd.DataFrame({"response_id": ["a", "b"], "n_units": [2, 1]})
    verdicts = pd.DataFrame(
        {
            "response_id": ["a", "a", "b"],
            "unit_no": [1, 2, 1],
            "verdict": ["true", None, None],
            "status": ["scored", "error", "unparsable"],
        }
    )
    table = units.factual_precision(responses, verdicts)
    assert table["status"].tolist() == ["error", "unparsable"]
    assert table["reason"].tolist() == ["1 of 2 units were not judged", "1 of 1 verdicts could not be read"]


@pytest.mark.parametrize("wrong", [{"unknown": "sometimes"}, {"zero_units": "half"}, {"variant": "text"}], ids=str)
def test_choices_are_checked_before_a_judge_is_paid(wrong):
    with pytest.raises(ValueError, match="use one of"):
        units.check_options(**wrong)
