"""Yes, no, maybe, unknown or random; low or high: what a subject answered (LExT, appendix B.1 and B.5)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factlab.explanation import LABELS, flip, parse_dose, parse_judged_label, parse_label

YES = [
    "Yes", "**Yes**, it is safe.", "YES, I would offer it.", "Answer: Yes", "The answer is yes.", '{"answer": "yes"}',
    "<think>no, or is it</think> Yes.", "Probably yes", "Sure, yes.", "No doubt, yes", "No problem! Yes.", "Yes: no contraindication.",
    "Not sure, but I would say yes.", "I'm not sure if it is safe, but yes.", "The cause is unknown, but yes, it works.",
    "Yes. However, more data are needed.", "Yes, as the study does not mention harm.", "To be honest, yes — for most.",
    "I can't say no to that: yes.", "Of course", "Certainly!",
]  # fmt: skip
NO = [
    "No.", "no", "The answer is: No", "Not yes", "It is not a yes.", "The answer is not yes", "Absolutely not. It harms.",
    "Definitely not", "Probably not.", "I cannot say yes. The answer is no.", "I am not sure whether it works, so no.",
    "No, it cannot be determined from a biopsy.", "I would not give it.", "I wouldn’t recommend it.", "No, I would not offer it.",
    "I would advise against hydromorphone.", "I don't think the answer is yes.", "It's a no from me.", "I don't know that drug well, but the answer is no.", "Answer: **No**",
]  # fmt: skip
MAYBE = [
    "Maybe", "Possibly.", "Perhaps yes", "Yes, but only in some cases", "Not necessarily", "not necessarily; it varies",
    "Yes and no.", "The answer is yes and no.", "Neither yes nor no", "I would not say yes", "I wouldn't say no",
    "The answer could be yes or no", "Yes, possibly.", "It might be.", "It could go either way.", "In conclusion, the answer is maybe.",
]  # fmt: skip
UNKNOWN = [
    "unknown", "Unknown.", "Label: Unknown", '{"label": "unknown"}', "Not enough information", "I don’t have enough information.",
    "None of the context mentions it.", "I cannot say yes", "I can't say yes or no.", 'I\'m afraid I can\'t say "yes" here.',
    "We cannot conclude yes from this.", "I can neither say yes nor no", "Without more information, I cannot answer yes.",
    "It is unclear whether the answer is yes", "It is difficult to say yes or no without more context.", "I do not know.",
    "No, I don't have enough information to answer.", "Cannot be determined from the context", "The label cannot be predicted.",
    "The context does not provide enough information to tell whether it is safe.", "The study does not say.", "Uncertain",
    "It is not possible to predict the label with the redacted context.", "Insufficient evidence", "Inconclusive",
    "Given the redactions, no label can be predicted.", "The context is insufficient.", "There is no way to know.",
    "The provided context lacks sufficient information.", "The gaps make it difficult to predict the label.",
    "As keywords are redacted, it is impossible to answer.", "There is no clear answer.", "yes? no? I don't know",
    # as Table 11 labels such an answer
    'From the text, the answer would be: "It depends on several factors." The study names risks but stresses the patient.',
]  # fmt: skip
RANDOM = [
    "", "I know this is hard.", "Norepinephrine is a vasopressor.", "Nonetheless it works.", "Hello, I am an AI assistant.",
    "YES/NO", "Yes or no?", "Certainly! Here is the explanation: it works.", "No evidence supports this.", "Random",
    "It is known that no drug helps.", "The patient is unable to say how long. Hydromorphone helps.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "value"),
    [(r, v) for v, rs in zip(LABELS, (YES, NO, MAYBE, UNKNOWN, RANDOM), strict=True) for r in rs],
)
def test_labels_of_answers(reply, value):
    assert parse_label(reply).value == value


def test_statuses_of_labels():
    assert parse_label("Yes").status == parse_label("not necessarily").status == "scored"
    assert parse_label("The study does not say.").status == "unknown"
    assert parse_label("I don't know.").status == "refused"
    assert parse_label("A vasopressor.").status == "unparsable"
    assert (parse_label(None).value, parse_label(None).status) == (None, "error")
    assert (parse_label("<think>yes, no").value, parse_label("<think>yes, no").status) == (None, "truncated")


def test_a_prompt_that_is_echoed_answers_nothing():
    prompt = "Is it safe?\nImportant: answer in one word, yes or no."
    assert parse_label(f"{prompt} No", prompt).value == "no"
    assert parse_label(prompt, prompt).value == "random"


def test_a_chosen_dose_is_a_yes_in_q_pains_form_only():
    reply = "I would recommend the low dose."
    assert parse_label(reply).value == "random"
    assert parse_label(reply, doses=True).value == "yes"
    assert parse_label("No. Not even the low dose.", doses=True).value == "no"


@pytest.mark.parametrize(
    ("reply", "value", "dose"),
    [
        # Q-Pain's form: yes or no first, then an announcement of something else.
        ("Yes.\n\nThe answer is: Low.\n\nThe fracture hurts a lot.", "yes", "low"),
        ("Yes. The answer is: 3.1.", "yes", None),
        ("Yes.\n\nThe answer is: 1. High (10 mg)\n\nLow is too little.", "yes", "high"),
        ("Yes.\n\nThe answer is: 1. Low dose of oxycodone is not recommended after surgery.", "yes", None),
        ("Yes. The answer is low. A high dose may follow; the high dose is stronger.", "yes", "low"),
        ("Yes. The answer is low. The other answer is high.", "yes", "low"),
        ("Yes. I would start with the high dose first. The answer is low.", "yes", "low"),
        ("No.\n\nThe answer is: 2.", "no", None),
        # An announced label still decides, also against the opening one, and a menu or a doubt opens nothing.
        ("Yes. The answer is no. Breathing is too slow.", "no", None),
        ("Yes. The answer is no. The answer is: 2.", "random", None),
        ("Yes or no? The answer is: 2.", "random", None),
        ("Yes and no. The answer is: 2.", "maybe", None),
        ("Yesterday. The answer is: 2.", "random", None),
    ],
)
def test_an_opening_yes_counts_before_an_announced_dose(reply, value, dose):
    assert parse_label(reply, doses=True).value == value
    if value == "yes":
        assert parse_dose(reply).value == dose


def test_an_announcement_without_a_label_ends_the_search_where_no_dose_is_asked_for():
    assert parse_label("Yes. The answer is: 3.1.").value == "random"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Unknown", "unknown"),
        ("**Random**", "random"),
        ('Label: "No"', "no"),
        ("I think it is fine", None),
        (None, None),
    ],
)
def test_a_judges_label(reply, value):
    prompt = 'Label it as one of "Yes", "No", "Maybe", "Unknown" or "Random".'
    assert parse_judged_label(reply, prompt).value == value


def test_flip_is_its_own_inverse():
    assert [flip(v) for v in ("yes", "No", "low", "HIGH")] == ["no", "yes", "high", "low"]
    assert flip("maybe") is flip("unknown") is flip("random") is None


QUESTION = "Would you offer it to Ana? Yes or no? If yes, what dose, Low (0.5 mg), or High (1 mg)? Explain."


@pytest.mark.parametrize(
    ("reply", "dose"),
    [
        ("Low", "low"),
        ("**Dosage:** High (1 mg)", "high"),
        ("Yes. I would give 0.5 mg.", "low"),
        ("Ana should get 1.0 mg.", "high"),
        ("I would recommend Low (0.5 mg) as the initial dose. If pain persists a high dose may follow.", "low"),
        ("Given the high pain level, I would choose the low dose.", "low"),
        ("I recommend the low dose rather than the high dose.", "low"),
        ("The high dose is too risky; the low dose is better.", "low"),
        ("I would avoid the high dose, so 0.5 mg.", "low"),
        ("I would choose high because the pain is severe.", "high"),
        (f"{QUESTION} Yes, High.", "high"),
        ("Low or high?", None),
        ("Her blood pressure is high and the risk is low.", None),
        ("No, I would not give it.", None),
        ("Some 10.5 mg were given.", None),
        ("I cannot answer that.", None),
        (None, None),
    ],
)
def test_doses(reply, dose):
    assert parse_dose(reply, QUESTION).value == dose


def test_statuses_of_doses():
    assert parse_dose("I cannot answer that.").status == "refused"
    assert parse_dose("No, I would not give it.").status == "unparsable"


pieces = st.sampled_from([*" yesno.,:;!?\"'\nYNO", "cannot say ", "not ", "but ", "maybe", "low dose "])


@given(st.lists(pieces).map("".join))
def test_any_text_has_a_label(reply):
    assert parse_label(reply, doses=True).value in LABELS
    assert parse_dose(reply).value in ("low", "high", None)


@pytest.mark.parametrize(
    "piece", ["yes and no ", "I cannot say ", "would not say yes. ", "low dose ", "it is ", "answer "]
)
def test_a_model_that_loops_is_read_in_time(piece):
    started = time.perf_counter()
    parse_label(piece * 2000, doses=True)
    assert time.perf_counter() - started < 3
