"""Which option a reply chooses: a table of replies, and what may never raise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import exam
from factlab.exam import choices

OPTIONS = ["Dawson's fingers", "Central vein sign", "Hepatitis B", "T2 lesions"]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("ANSWER: $B$", "B"),
        ("ANSWER: **B**", "B"),
        ("ANSWER: (B)", "B"),
        ("b", "B"),
        ("(c)", "C"),
        ("D.", "D"),
        ("**C**", "C"),
        ("\\boxed{\\text{C}}", "C"),
        ("```\nB\n```", "B"),
        ('{"answer": "C"}', "C"),
        ("<answer>D</answer>", "D"),
        ("<think>maybe B, no C</think>A", "A"),
        ("The correct answer is B.", "B"),
        ("B) Dawson's fingers run along veins", "B"),
        ("C\n\nA is wrong because it is rare.", "C"),
        ("The best answer is option D, not A.", "D"),
        ("A is incorrect. B is incorrect. D is incorrect. So C.", "C"),
        ("I think it's A. Wait, actually it is B.", "B"),
        ("I was going to say A. Correction: C", "C"),
        ("It could be A or B, but I would go with B", "B"),
        ("A) w\nB) x\nC) y\nD) z\n\nAnswer: C", "C"),
        ("D. None of the above", "D"),
        ("Ｂ", "B"),
        ("Ⓑ", "B"),
        ("🅱️", "B"),
        ("В", "B"),  # Cyrillic
    ],
)
def test_a_letter(reply, value):
    assert exam.parse_choice(reply) == exam.parse_choice(reply, OPTIONS)
    parsed = exam.parse_choice(reply)
    assert (parsed.value, parsed.status) == (value, "scored")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("B: Central vein sign is wrong", None),
        ("B. Central vein sign - incorrect.", None),
        ("B) **Central vein sign** can't be right", None),
        ("A. Dawson's fingers is not correct.\nD", "D"),
        ("A. Dawson's fingers is wrong.\nB. Central vein sign is right.", "B"),
        ("B. Central vein sign is right", "B"),
    ],
)
def test_a_line_that_rejects_the_option_it_names_is_no_choice(reply, value):
    assert exam.parse_choice(reply, OPTIONS).value == value
    told = ["The claim is", "The claim is wrong", "x", "y"]
    assert exam.parse_choice("B. The claim is wrong", told).value == "B", "the option itself says so"


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("ANSWER: None of the above", "unparsable"),
        ("ANSWER: Don't know", "refused"),
        ("I don't know", "refused"),
        ("I’m sorry, but I can’t help with that.", "refused"),
        ("<think>maybe B, no C", "truncated"),
        ("<think>It is B.</think>", "truncated"),
        ("A, C", "unparsable"),
        ("A and C", "unparsable"),
        ("AC", "unparsable"),
        ("A\nC", "unparsable"),
        ("Answer: A or B", "unparsable"),
        ("Both A and C are correct.", "unparsable"),
        ("B is correct. C is also correct.", "unparsable"),
        ("All of the above", "unparsable"),
        ("E", "unparsable"),
        ("Answer: E", "unparsable"),
        ("1", "unparsable"),
        ("", "unparsable"),
        ("A patient with MS has lesions", "unparsable"),
        ("Vitamin D deficiency", "unparsable"),
        ("Let me think. Option A says one thing. Option B says", "unparsable"),
        (None, "error"),
    ],
)
def test_no_choice(reply, status):
    for options in (4, OPTIONS):
        parsed = exam.parse_choice(reply, options)
        assert (parsed.value, parsed.status) == (None, status)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Dawson’s fingers", "A"),
        ("The answer is the central vein sign.", "B"),
        ("central vein sign.", "B"),
        ("Hepatitis B", "C"),
        ("Answer: Hepatitis B", "C"),
        ("**C) Hepatitis B**", "C"),
        ('{"answer": "Central vein sign"}', "B"),
        ("Dawson's fingers and T2 lesions", None),
        ("not the central vein sign", None),
        ("B) Hepatitis B", None),  # letter and text contradict each other
        ("A. Dawson's fingers\nB. Central vein sign\nC. Hepatitis B\nD. T2 lesions\n\nAnswer: D", "D"),
    ],
)
def test_the_text_of_an_option(reply, value):
    assert exam.parse_choice(reply, OPTIONS).value == value


def test_options_that_cannot_be_told_apart_by_text():
    assert exam.parse_choice("same", ["same", "Same", "x", "y"]).value is None
    assert exam.parse_choice("B", ["B", "C", "D", "A"]).value == "B"  # the letter, not the text
    assert exam.parse_choice("3", ["1", "2", "3", "4"]).value == "C"


def test_a_cut_reply_without_an_answer_is_truncated():
    assert exam.parse_choice("First, the lesions are", cut=True).status == "truncated"
    assert exam.parse_choice("B", cut=True).value == "B"
    assert exam.parse_choice("I don't know", cut=True).status == "refused"


def test_an_option_that_stands_in_the_prompt_too_is_chosen_and_a_list_of_them_is_no_choice():
    texts = [
        "The central vein of a lesion on susceptibility-weighted images",
        "The spinal cord below C3",
        "Skin",
        "Bone",
    ]
    lines = [f"{letter}. {text}" for letter, text in zip("ABCD", texts, strict=True)]
    prompt = "\n".join(["Which?", *lines])
    for letter, line in zip("ABCD", lines, strict=True):
        assert exam.parse_choice(f"**{line}**", texts, prompt=prompt).value == letter
        assert exam.parse_choice("\n".join([*lines[:2], f"Answer: {letter}"]), texts, prompt=prompt).value == letter
    for cut in (lines[:2], [lines[0], "B. The spi"], lines):
        assert exam.parse_choice("\n".join(cut), texts, prompt=prompt, cut=True).status == "truncated"
        assert exam.parse_choice("\n".join(cut), texts).status == "unparsable"


def test_number_of_options():
    assert exam.parse_choice("E", 5).value == "E" and exam.parse_choice("C", 2).value is None
    for options in (1, 27, ["a"]):
        with pytest.raises(ValueError, match="2 to 26"):
            exam.parse_choice("A", options)


@pytest.mark.parametrize(
    ("reply", "cut", "why"),
    [
        ("B. Hepatitis B", False, ""),
        (None, False, "no reply"),
        ("I don't know.", False, "refuses, or does not know"),
        ("<think>The cord", True, "reasoning without an end"),
        ("A. red\nB. blue\nC. gr", True, "repeats the options, cut at its limit"),
        ("A. blue", False, "gives letter A beside the words of B"),
        ("A. rose\nC", False, "names several letters"),
        ("It is late.", True, "no letter and no option can be read, cut at its limit"),
    ],
)
def test_why_nothing_is_read(reply, cut, why):
    options = ["red", "Hepatitis B" if why == "" else "blue", "green", "grey"]
    assert choices.why_unread(reply, options, cut=cut) == why
    assert (why == "") == (exam.parse_choice(reply, options, cut=cut).status == "scored")


@settings(deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=20), min_size=2, max_size=5))
def test_nothing_raises_on_any_text(reply, options):
    parsed = exam.parse_choice(reply, options)
    assert parsed.value is None or parsed.value in "ABCDE"[: len(options)]
    assert (parsed.value is None) == (parsed.status != "scored")


@settings(deadline=None)
@given(
    st.sampled_from("ABCD"),
    st.sampled_from(["{}", "{}.", "({})", "**{}**", "Answer: {}", "The answer is {}.", "${}$", "\n{}\n"]),
)
def test_any_wrapping_of_a_letter(letter, form):
    assert exam.parse_choice(form.format(letter), OPTIONS).value == letter
