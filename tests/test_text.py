"""Sentences, completeness, and the forms for comparing: tables first, then properties."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from sentence_cases import LAYOUT, RUNNING

from factlab.text import fold, is_complete, normalise, sentences

MARKS = "-*+•‣◦▪●·–=_|:().0123456789"  # what list markers, rules and table lines consist of
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates and unassigned code points included
# fmt: off
LAYOUT_TEXT = st.lists(st.sampled_from([
    "A is", "B", "e.g.", "Fig.", "et al.", ". ", "? ", "...", "(", ")", "[1]", "”", "**", "# ", "- ", "* ", "1. ", "2) ",
    "12. ", " ", "\n", "\n\n", "\r\n", "---", "| x |", "x:",
])).map("".join)
# fmt: on


def dense(text: str) -> str:
    return "".join(text.split())


RUNNING_CASES = [pytest.param(marked, id=f"{kind}: {marked}") for kind, texts in RUNNING.items() for marked in texts]


@pytest.mark.parametrize("marked", RUNNING_CASES)
def test_running_text(marked):
    assert sentences(marked.replace("¦", "")) == [" ".join(part.split()) for part in marked.split("¦")]


@pytest.mark.parametrize(("kind", "text", "expected"), LAYOUT)
def test_layout(kind, text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "marked",
    [
        "它治疗疼痛。¦它很便宜。",
        "它有效吗？¦是。",
        "क्या यह ठीक है।¦ हाँ।",
        "هل هو آمن؟¦ نعم.",
        "Samples were given i.p.¦ Mice were killed.",
        "The mutation was found.¦ p.Gly12Asp was not.",
        "The mutation was found.¦ c.35G>A was not.",
        "Mt. Sinai opened.",
    ],
)
def test_other_scripts_and_routes(marked):
    assert sentences(marked.replace("¦", "")) == [part.strip() for part in marked.split("¦")]


def wrapped_cases():
    """Running texts wrapped at four words, less those where a capital, number or mark then opens a line."""
    for marked in (marked for texts in RUNNING.values() for marked in texts):
        words = marked.replace("¦", "").split()
        wrapped = "\n".join(" ".join(words[at : at + 4]) for at in range(0, len(words), 4))
        if "\n" in wrapped and not re.search(r"\n\W*[A-Z\d(.*○]|:\n|\n- ", wrapped):
            yield pytest.param(wrapped, marked, id=marked)


@pytest.mark.parametrize(("wrapped", "marked"), list(wrapped_cases()))
def test_wrapped_lines_are_joined(wrapped, marked):
    assert sentences(wrapped) == [" ".join(part.split()) for part in marked.split("¦")]


@pytest.mark.parametrize(
    ("sentence", "complete"),
    [
        ("Aspirin inhibits COX.", True),
        ("Is it safe?", True),
        ("Stop!", True),
        ("It depends…", True),
        ('He said "It works."', True),
        ("He said “It works.”", True),
        ("(It failed.)", True),
        ("It failed (see below).", True),
        ("**Aspirin inhibits COX.**", True),
        ("Mortality fell.[5]", True),
        ("Mortality fell.12,13", True),
        ("Mortality fell.¹²", True),
        ("The mass lies near the fascia. [13, 16].", True),
        ("Give fluids, salts, etc.", True),
        ("Heat to 30 °C.", True),
        ("Patients lacked vitamin D.  ", True),
        ("它很便宜。", True),
        ("यह ठीक है।", True),
        ("Aspirin inhibits", False),
        ("Treatment:", False),
        ("# Treatment", False),
        ("smoking", False),
        ("It rose (see Fig.", False),
        ("It treats pain, e.g.", False),
        ("It was 0.5", False),
        ("Version 2.1", False),
        ("2.", False),
        ("...", False),
        ("", False),
        ("He said “It works", False),
        ("It treats pain,", False),
    ],
)
def test_is_complete(sentence, complete):
    assert is_complete(sentence) is complete


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Foltyn\u2010Dumitru", "Foltyn-Dumitru"),
        ("2001\u20132004", "2001-2004"),
        ("O\u2019Connor", "O'Connor"),
        ("\u201cIt works\u201d", '"it works"'),
        ("classi\ufb01cation", "classification"),
        ("A title\n  wrapped here ", "a title wrapped here"),
        ("Stra\u00dfe", "STRASSE"),
        ("x\u00a0=\u2003y", "x = y"),
        ("e\u0301", "\u00e9"),
        ("\uff21\uff22", "ab"),
        ("CO\u2082", "CO2"),
        ("wait\u2026", "wait..."),
    ],
)
def test_fold_makes_the_same(one, other):
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("5-HT", "5 HT"), ("p53+/-", "p53"), ("a, b", "a b"), ("α", "a"), ("é", "e")]
)
def test_fold_keeps_apart(one, other):
    assert fold(one) != fold(other)


def test_normalise_keeps_case():
    assert normalise(" The \u201cNF\u2011κB\u201d\n site ") == 'The "NF-κB" site'


@pytest.mark.parametrize("function", [sentences, is_complete, fold, normalise])
def test_none_is_not_text(function):
    with pytest.raises((TypeError, AttributeError)):
        function(None)


@given(st.one_of(ANY_TEXT, LAYOUT_TEXT))
def test_nothing_is_lost_but_list_markers_and_rules(text):
    without = str.maketrans("", "", MARKS)
    assert dense("".join(sentences(text))).translate(without) == dense(text).translate(without)


@given(ANY_TEXT.map(lambda text: "x " + " ".join(text.split())))
def test_nothing_at_all_is_lost_from_running_text(text):
    assert dense("".join(sentences(text))) == dense(text)


@given(st.one_of(ANY_TEXT, LAYOUT_TEXT))
def test_sentences_are_stripped_and_never_empty(text):
    for sentence in sentences(text):
        assert sentence == " ".join(sentence.split()) != ""


WORDS = ["Patients", "Cells", "Enzymes", "Mice", "recovered", "slowly", "were", "measured", "twice", "kinases"]
PLAIN = st.tuples(st.sampled_from(WORDS[:4]), *[st.sampled_from(WORDS[4:])] * 3).map(" ".join)


@given(st.lists(PLAIN, max_size=6), st.sampled_from(".?!"))
def test_plain_sentences_come_back_as_they_went_in(plain, mark):
    plain = [sentence + mark for sentence in plain]
    for joint in (" ", "\n", "\n\n", "\n- ", "\r\n\r\n"):
        assert sentences(joint.join(plain)) == plain
    for sentence in plain:
        assert sentences(sentence) == [sentence]
        assert is_complete(sentence)


@given(ANY_TEXT)
def test_fold_and_normalise_are_idempotent(text):
    assert fold(fold(text)) == fold(text)
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    "unit", [".", "e.g. ", ".)", "(A. ", "1. ", "* ", "| ", "a.b", ".1,", "…\n", "- \n", "A\n", "[1] ."]
)
def test_a_long_degenerate_text_is_no_trouble(unit):
    """A model stuck in a loop: with quadratic work one of these would take minutes."""
    found = sentences(unit * 20_000)
    assert sum(map(len, found)) <= len(unit) * 20_000 and all(s == s.strip() != "" for s in found)
    assert isinstance(is_complete(unit * 20_000), bool)


@pytest.mark.released
def test_articles_lose_nothing(released):
    """All paragraphs of real articles, old and new markup."""
    files = sorted((released / "pmc").glob("*.*xml"))
    assert len(files) >= 13
    count = 0
    for file in files:
        tree = etree.parse(file, etree.XMLParser(load_dtd=False, no_network=True))
        for paragraph in tree.iter("p"):
            text = " ".join("".join(paragraph.itertext()).split())
            found = sentences(text)
            if not re.match(r"[-*•–(]|\d{1,2}[.)]", text):
                assert dense("".join(found)) == dense(text), (file.name, text[:80])
            count += len(found)
    assert count > 2_000


@pytest.mark.released
def test_abstracts_are_cut_at_their_full_stops(released):
    """A sanity bound on structured abstracts: nearly all sentences begin with a capital or digit and end in a mark."""
    abstracts = json.loads((released / "pubmedqa" / "ori_pqal.json").read_text(encoding="utf-8"))
    found = [s for entry in abstracts.values() for section in entry["CONTEXTS"] for s in sentences(section)]
    assert len(found) > 9_000
    assert sum(is_complete(s) for s in found) / len(found) > 0.97
    assert sum(s.lstrip("\"'([*")[0].islower() for s in found) / len(found) < 0.01
