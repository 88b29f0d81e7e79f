"""Reading titles and authors in replies: what is a pass, where a title stands, how names are listed."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.attribution import is_pass, parse_authors, parse_title, same_authors, same_title, split_authors
from factlab.replies import Parsed

# --- a pass, for titles and authors alike ---

PASSES = [
    "pass", "Pass.", "PASS", "'pass'", '["pass"]', "['Pass.']", "<answer>pass</answer>", "<title>Pass</title>", "<author>pass</author>",
    "<authors><author>pass</author></authors>", "<pass/>", "<answer>\n  Pass.\n</answer>", "**Pass**", "`pass`", "[pass]", "(pass)",
    "“Pass”", "\\boxed{pass}", "```\npass\n```", "```xml\n<author>pass</author>\n```", '{"title": "pass"}', '{"authors": ["pass"]}',
    "Answer: pass", "**Answer:** pass", "Title: pass", "Response: pass", "pass\npass", "Pass…", "I pass.", "I'll pass on this one",
    "I would pass.", "I have to pass", "I'm going to pass.", "I am sorry, I have to pass.", "Sorry, pass.", "The answer is 'pass'.",
    "Pass - I cannot determine the paper.", "pass (not enough information)", "pass, because I do not know", "Pass; no match",
    "pass\n\nExplanation: the sentence is too vague to say.", '["pass"]\n\nThe authors cannot be determined from the title.',
    "I am not sure which paper is cited, so my answer is: pass", "Since I cannot verify the citation, I will write 'pass'.",
    "Unable to determine. Pass.", "The paper is not identifiable. pass", "<think>It may be BERT.</think>\n\npass",
]  # fmt: skip
NOTHING = [
    "I don't know.", "Unknown", "n/a", "None", "null", "[]", "Not found", "No matching paper found.",
    "I’m sorry, but I can’t help", "I'm sorry, but I cannot identify the paper from this sentence.",
]  # fmt: skip


@pytest.mark.parametrize("reply", PASSES + NOTHING)
def test_a_pass_in_all_its_forms_is_refused(reply):
    assert parse_title(reply) == Parsed(None, "refused")
    assert parse_authors(reply) == Parsed(None, "refused")


@pytest.mark.parametrize(
    "text",
    [
        "Pass the Salt: A Study of Requests",
        "One-Pass Learning",
        "pass@k evaluation",
        "Pass/Fail Grading",
        "Bypass",
        "Low-pass",
        "A Pass",
    ],
)
def test_a_title_that_holds_the_word_is_no_pass(text):
    assert not is_pass(text)
    assert parse_title(text) == Parsed(text, "scored")


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ('["Rafael Pass"]', ["Rafael Pass"]),
        ("Pass, Rafael", ["Pass, Rafael"]),
        ("R. Pass", ["R. Pass"]),
        ("Rafael Pass, Abhi Shelat", ["Rafael Pass", "Abhi Shelat"]),
        ('["pass", "John Smith"]', ["John Smith"]),
    ],
)
def test_a_person_called_pass_is_no_pass(reply, names):
    assert parse_authors(reply) == Parsed(names, "scored")


def test_authors_that_are_unknown_are_refused():
    assert parse_authors("Authors: unknown") == Parsed(None, "refused")


def test_failures_have_their_own_status():
    for parse in (parse_title, parse_authors):
        assert parse(None) == Parsed(None, "error")
        assert parse("") == Parsed(None, "unparsable")
        assert parse("<think>maybe BERT, no") == Parsed(None, "truncated")
    assert parse_title('["Attention Is') == Parsed(None, "truncated")
    assert parse_title("<title>Attention Is All") == Parsed(None, "truncated")
    assert parse_authors('["John Smith", "Mar') == Parsed(["John Smith"], "truncated")
    assert parse_authors("<authors>John Smith, Mar") == Parsed(["John Smith"], "truncated")
    assert parse_authors("<authors><author>John Smith</author><author>Ma") == Parsed(["John Smith"], "truncated")
    assert parse_authors("<authors>John Sm") == Parsed(None, "truncated")


# --- titles ---

WANTED = "Attention Is All You Need"
WRAPPED = [
    "{}", "{}.", '"{}"', "‘{}’", "«{}»", "**{}**", "_{}_", "# {}", "> {}", "- {}", "Title: {}", "**Title:** {}", "Paper Title: *{}*",
    "Citation: {}", "Response: {}", "[1] {}", "{} [12]", "\\textit{{{}}}", "\\title{{{}}}", "\\boxed{{{}}}", "```\n{}\n```",
    "<title>{}</title>", "<title>{}</title> This is the one.", "<citation><title>{}</title><year>2017</year></citation>",
    '["{}"]', '{{"title": "{}", "year": 2017}}', '{{"citation": {{"title": "{}"}}}}', '```json\n{{"paper_title": "{}"}}\n```',
    'The paper cited in this sentence is "{}" by Vaswani et al. (2017).', 'This sentence is citing the paper titled "{}."',
    "It seems the sentence is citing the paper '{}'", "The cited paper is: {}", "The paper that this sentence is citing is {}.",
    "The research paper being cited is **{}**.", "This sentence cites the paper {}", 'I\'m not certain, but it may be "{}".',
    "{} (Vaswani et al., 2017)", "{}, by Ashish Vaswani et al.", "{} - Vaswani et al.", "{}, 2017", '"{}" (Vaswani et al.)',
    "{} by Ashish Vaswani, Noam Shazeer, and Niki Parmar", 'A. Vaswani, N. Shazeer, "{}," in NeurIPS, 2017.',
    "{}\nAuthors: Vaswani et al.", "{}\n\nThis paper introduces the Transformer, which dispenses with recurrence.",
    "Sure! Here is the paper:\n\n{}", "{}. If this is not right, please let me know.", "<think>hm</think>\n{}",
]  # fmt: skip


@pytest.mark.parametrize("frame", WRAPPED)
def test_the_title_is_found(frame):
    assert parse_title(frame.format(WANTED)) == Parsed(WANTED, "scored")


def test_a_wrapped_title_is_one_line():
    assert parse_title("Attention\n  Is All\nYou Need").value == WANTED


@pytest.mark.parametrize(
    "title",
    [
        '"Why Should I Trust You?": Explaining the Predictions of Any Classifier',
        '"Please Enter Your Code" -- On the Risk of Shoulder Surfing',
        "Here Are the Papers: A Survey of What Is Known",
        "The Answer Is Blowing in the Wind",
        "The Fact Is What Is Said: On Paper",
        "The Curious Case of Neural Text Degeneration",
        "This Looks Like That: Deep Learning for Interpretable Image Recognition",
        "It's Not Just Size That Matters: Small Language Models Are Also Few-Shot Learners",
        "We Need to Talk About Random Splits",
        "You Only Look Once: Unified, Real-Time Object Detection",
        "Paper-to-Code Generation",
        "Detecting Obstacles by Erasing Them",
        "Summaries by Visualizing Activation and Attribution",
        "Can Accidents Be Predicted? Analyzed by A Benchmark",
        "Teaching Robots Without Sensors. What Are the Key Challenges?",
        "U-Net",
    ],
)
def test_a_title_that_looks_like_a_sentence_stays_whole(title):
    assert parse_title(title) == Parsed(title, "scored")


@pytest.mark.parametrize(
    "reply",
    [
        "1. Attention Is All You Need\n2. BERT\n3. GPT",
        "Paper 1: ABC\nPaper 2: DEF",
        '["A B C", "D E F"]',
        '"BERT" or "GPT"',
        'Either "A study of B" or "C of D".',
        "42",
        "arXiv:1706.03762",
        "https://arxiv.org/abs/1706.03762",
        "word " * 90,
    ],
)
def test_several_titles_or_none_are_unparsable(reply):
    assert parse_title(reply) == Parsed(None, "unparsable")


def test_the_prompt_is_no_answer():
    prompt = 'Sentence: "Transformers are used everywhere these days."\nWrite the title, or pass.'
    assert parse_title(f"{prompt}\nAttention Is All You Need", prompt).value == WANTED


# --- authors ---

THREE = ["John Smith", "Maria Garcia", "Wei Zhang"]
AUTHORS = [
    ('["John Smith", "Maria Garcia", "Wei Zhang"]', THREE),
    ('["John Smith", "Maria Garcia", "Wei Zhang",]', THREE),
    ('["John Smith" "Maria Garcia" "Wei Zhang"]', THREE),
    ("['John Smith', 'Sean O\\'Connor']", ["John Smith", "Sean O'Connor"]),
    ('```json\n["John Smith", "Maria Garcia"]\n```', THREE[:2]),
    ('authors = ["John Smith", "Maria Garcia"]', THREE[:2]),
    ('Here are the authors:\n["John Smith", "Maria Garcia"]\nLet me know if you need more.', THREE[:2]),
    ('{"authors": [{"first": "John", "last": "Smith"}, {"first": "Maria", "last": "Garcia"}]}', THREE[:2]),
    ('[{"name": "John Smith"}, {"name": "Maria Garcia"}]', THREE[:2]),
    ('{"authors": "John Smith, Maria Garcia"}', THREE[:2]),
    ('["John Smith, Maria Garcia"]', THREE[:2]),
    ('["Smith, John", "Garcia, Maria"]', ["Smith, John", "Garcia, Maria"]),
    ('["John Smith", "Maria Garcia", "et al."]', THREE[:2]),
    ("<authors>John Smith, Maria Garcia, Wei Zhang</authors>", THREE),
    ("<authors><author>John Smith</author><author>Maria Garcia</author></authors>", THREE[:2]),
    ("<author>John Smith</author>\n<author>Maria Garcia</author>", THREE[:2]),
    ("<Authors>\n<Author>John Smith</Author>\n</Authors>", THREE[:1]),
    ("<authors><author><first>John</first><last>Smith</last></author></authors>", THREE[:1]),
    ('<author name="John Smith"/><author name="Maria Garcia"/>', THREE[:2]),
    ("John Smith, Maria Garcia, and Wei Zhang", THREE),
    ("John Smith,\nMaria Garcia,\nand Wei Zhang", THREE),
    ("John Smith\nMaria Garcia\nWei Zhang", THREE),
    ("John Smith; Maria Garcia; Wei Zhang", THREE),
    ("John Smith | Maria Garcia | Wei Zhang", THREE),
    ("[John Smith, Maria Garcia]", THREE[:2]),
    ('"John Smith", "Maria Garcia"', THREE[:2]),
    ("John Smith & Maria Garcia", THREE[:2]),
    ("1. John Smith\n2. Maria Garcia\n3. Wei Zhang", THREE),
    ("1. John Smith, 2. Maria Garcia", THREE[:2]),
    ("Authors: 1) John Smith 2) Maria Garcia", THREE[:2]),
    ("- John Smith (MIT)\n- Maria Garcia (Stanford)", THREE[:2]),
    ("**Authors:**\n* John Smith\n* Maria Garcia", THREE[:2]),
    ("Authors: John Smith, Maria Garcia", THREE[:2]),
    ("The authors of this paper are John Smith, Maria Garcia and Wei Zhang.", THREE),
    ("The authors of “Deep Nets” are:\n\n1. John Smith\n2. Maria Garcia\n\nThey were all at Google.", THREE[:2]),
    ("“Deep Nets” was written by John Smith, Maria Garcia, and Wei Zhang in 2017.", THREE),
    ('"Deep Nets" by John Smith and Maria Garcia', THREE[:2]),
    ("I think the authors are John Smith and Maria Garcia, but I am not sure.", THREE[:2]),
    ("John Smith, Maria Garcia\n\nThese are the authors of the paper as listed on arXiv.", THREE[:2]),
    ("John Smith et al.", THREE[:1]),
    ("J. Smith, M. Garcia, et al.", ["J. Smith", "M. Garcia"]),
    ("W. Xiong, L. Wu, F. Alleva", ["W. Xiong", "L. Wu", "F. Alleva"]),
    ("John Smith¹*, Maria Garcia²", THREE[:2]),
    ("Dr. John Smith, Prof. Maria Garcia", THREE[:2]),
    ("John Smith, Jr., Maria Garcia", ["John Smith Jr.", "Maria Garcia"]),
    ("Smith, John", ["Smith, John"]),
    ("Smith, John and Garcia, Maria and Zhang, Wei", ["Smith, John", "Garcia, Maria", "Zhang, Wei"]),
    ("van der Berg, Jan and Garcia, Maria", ["van der Berg, Jan", "Garcia, Maria"]),
    ("Smith, J., Garcia, M. A., & Zhang, W.", ["Smith, J.", "Garcia, M. A.", "Zhang, W."]),
    ("Smith J, Garcia MA, Zhang W", ["Smith J", "Garcia MA", "Zhang W"]),
    ("Smith, J.; Garcia, M. A.", ["Smith, J.", "Garcia, M. A."]),
    ("Smith and Jones", ["Smith", "Jones"]),
    ("Vaswani, Shazeer, Parmar, Uszkoreit", ["Vaswani", "Shazeer", "Parmar", "Uszkoreit"]),
    ("Cicero Nogueira dos santos, Ludwig van Beethoven", ["Cicero Nogueira dos santos", "Ludwig van Beethoven"]),
    ("王伟, 李娜", ["王伟", "李娜"]),
    ("José García-López, Łukasz Kaiser", ["José García-López", "Łukasz Kaiser"]),
    ("OpenAI", ["OpenAI"]),
    ("Gemini Team, Rohan Anil", ["Gemini Team", "Rohan Anil"]),
]


@pytest.mark.parametrize(("reply", "names"), AUTHORS)
def test_authors_are_found(reply, names):
    assert parse_authors(reply) == Parsed(names, "scored")


@pytest.mark.parametrize(
    "reply", ["This paper is about transformers and deep learning.", "deep learning, machine translation"]
)
def test_prose_without_names_is_unparsable(reply):
    assert parse_authors(reply) == Parsed(None, "unparsable")


def test_split_authors_of_a_search_service():
    assert split_authors("Authors:William L. Hamilton, Jure Leskovec") == ["William L. Hamilton", "Jure Leskovec"]


# --- for every text ---

SIGNS = st.text(alphabet="pasPAS Jo.S,;:\"'[]{}<>/\\()*1-–\nandby&", max_size=60)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=80), SIGNS))
def test_nothing_raises_and_a_value_comes_with_scored(reply):
    title, authors = parse_title(reply), parse_authors(reply)
    assert (title.value is not None) == (title.status == "scored")
    assert (title.status != "scored") or re.search(r"\w", title.value)
    assert authors.status in ("scored", "refused", "truncated", "unparsable")
    assert authors.status != "scored" or (authors.value and all(n.strip() for n in authors.value))


WORD = st.sampled_from(
    ["Deep", "Graph", "Learning", "of", "Sparse", "Networks", "Theory", "for", "Proteins", "Analysis"]
)
TITLES = st.lists(WORD, min_size=3, max_size=9).map(lambda w: "On " + " ".join(w))
PEOPLE = st.builds(
    lambda g, m, f: f"{g} {m}{f}",
    st.sampled_from(["Anna", "Jean-Luc", "Wei", "José", "Olga", "Rafael"]),
    st.sampled_from(["", "B. ", "Q. R. ", "van der "]),
    st.sampled_from(["Smith", "O'Connor", "Zhang", "García", "Eckel-Passow", "Pass", "Müller"]),
)


@settings(max_examples=100, deadline=None)
@given(TITLES, st.sampled_from(WRAPPED))
def test_a_title_survives_its_wrapping(title, frame):
    found = parse_title(frame.format(title))
    assert found.status == "scored" and same_title(found.value, title)


@settings(max_examples=150, deadline=None)
@given(st.lists(PEOPLE, min_size=2, max_size=6, unique=True))
def test_authors_survive_every_way_to_list_them(names):
    def inverted(name: str) -> str:
        given, _, family = name.partition(" ") if " van " in name else name.rpartition(" ")
        return f"{family}, {given}"

    replies = [
        json.dumps(names),
        ", ".join(names),
        ", ".join(names[:-1]) + " and " + names[-1],
        "\n".join(f"{i}. {n}" for i, n in enumerate(names, 1)),
        "<authors>" + ", ".join(names) + "</authors>",
        "The authors are " + ", ".join(names) + ".",
        " and ".join(map(inverted, names)),
    ]
    for reply in replies:
        found = parse_authors(reply)
        assert found.status == "scored" and same_authors(found.value, names), reply


@pytest.mark.parametrize(
    "unit", ["A ", '"a" ', "pass ", "<author>", "[", "John Smith by ", "1. a\n", "Ab Cd, ", ", and", "\\'"]
)
def test_long_replies_take_no_long_time(unit):
    reply = unit * (60_000 // len(unit))
    began = time.perf_counter()
    parse_title(reply), parse_authors(reply)
    assert time.perf_counter() - began < 5
