"""When two spellings are one title, and when two are one person's name."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.attribution import pair_authors, parse_title, same_answer, same_author, same_authors, same_title
from factlab.attribution.forms import without_tex, words

SAME_TITLES = [
    ("A …\n  B", "A … B"),
    ("BERT: Pre-training of Networks", "Bert – pretraining of\n networks."),
    ("{BERT}: a model", "BERT: A Model"),
    ('Schr\\"{o}dinger bridges', "Schrödinger Bridges"),
    ("Schrodinger bridges", "Schrödinger Bridges"),
    ("Erd\\H{o}s--R\\'enyi graphs", "Erdős–Rényi Graphs"),
    ("Learning with $\\ell_1$ norms", "Learning with ℓ1 norms"),
    ("On $\\alpha$-divergence", "On α-Divergence"),
    ("On $\\alpha$-divergence", "On alpha-divergence"),
    ("$\\mu$-calculus", "µ-calculus"),
    ("CO$_2$ capture", "CO₂ capture"),
    ("CO<sub>2</sub> capture", "CO2 Capture"),
    ("$L^2$ theory", "L² Theory"),
    ("$\\mathcal{O}(n)$ attention", "O(n) Attention"),
    ("O(n\\log n) sorting", "O(n log n) Sorting"),
    ("\\emph{In vivo} imaging", "In Vivo Imaging"),
    ("A {\\bf bold} move", "A bold move"),
    ("\\LaTeX{} tricks", "LaTeX tricks"),
    ("100\\% safe", "100% safe"),
    ("R&D in firms", "R \\& D in firms"),
    ("R&amp;D in firms", "R&D in firms"),
    ("tempo-\nral logic", "temporal logic"),
    ("classiﬁcation", "classification"),
    ("“Why?” she asked", "'Why?' she asked"),
    ("Gödel’s proof", "Godel's Proof"),
    ("Deep Residual  Learning.", "deep residual learning"),
    ("深度学习", "深度 学习"),
]
OTHER_TITLES = [
    ("Attention is all you need", "Attention is not all you need"),
    ("BERT", "BERT: Pre-training of Networks"),
    ("C++ in practice", "C in practice"),
    ("C# in practice", "C in practice"),
    ("Llama 2.5", "Llama 25"),
    ("GPT-3 5", "GPT-35"),
    ("Part 1", "Part 2"),
    ("?", "!"),
    ("", ""),
    ("", "BERT"),
    ("A survey", "The survey"),
]


@pytest.mark.parametrize(("a", "b"), SAME_TITLES)
def test_one_title(a, b):
    assert same_title(a, b) and same_title(b, a)


@pytest.mark.parametrize(("a", "b"), OTHER_TITLES)
def test_two_titles(a, b):
    assert not same_title(a, b) and not same_title(b, a)


def test_tex_as_it_prints():
    assert without_tex("Erd\\H{o}s~P. and \\v{S}ime, {\\L}ukasz, \\'{\\i}, \\ss") == "Erdős P. and Šime, Łukasz, í, ß"
    assert without_tex("no TeX here_1") == "no TeX here_1"


def test_words_of_a_title():
    assert words("Non-Autoregressive $\\beta$-VAE: C++, 2.5× faster & Gödel’s") == (
        "non", "autoregressive", "beta", "vae", "c++", "2.5", "x", "faster", "and", "godels",
    )  # fmt: skip


SAME_AUTHORS = [
    ("John Smith", "Smith, John"),
    ("John Smith", "J. Smith"),
    ("John Smith", "Smith J"),
    ("John Smith", "JOHN SMITH"),
    ("John Smith", "Dr. John Smith"),
    ("John Smith", "John A. Smith"),
    ("John A. Smith", "Smith JA"),
    ("Smith, John A.", "J. Smith"),
    ("John Smith Jr.", "John Smith"),
    ("Smith, John, Jr.", "John Smith Jr."),
    ("Chr. Manning", "Christopher D. Manning"),
    ("J. Robert Oppenheimer", "Robert Oppenheimer"),
    ("Jan van der Berg", "van der Berg, J."),
    ("Beethoven, Ludwig van", "Ludwig van Beethoven"),
    ("Ludwig Beethoven", "Ludwig van Beethoven"),
    ("Aäron van den Oord", "Aaron van den Oord"),
    ("Rami Al-Rfou", "Al-Rfou, R."),
    ("Di Wang", "Wang, Di"),
    ("Quoc V. Le", "Le, Quoc"),
    ("Ben Smith", "B. Smith"),
    ("Foltyn‐Dumitru, Martha", "Martha Foltyn-Dumitru"),
    ("{Eckel-Passow}, Jeanette E.", "Jeanette E. Eckel-Passow"),
    ("Jeanette Eckel Passow", "Jeanette E. Eckel-Passow"),
    ("Sean O’Connor", "S. O'Connor"),
    ("D'Angelo, Gino", "Gino D’Angelo"),
    ("de Oliveira SD", "Danilo de Oliveira Silva"),
    ("Danilo Silva", "Danilo de Oliveira Silva"),
    ("García Márquez, Gabriel", "Gabriel García Márquez"),
    ("Pérez, M.", "María Pérez Gómez"),
    ("Wu X-G", "Wu Xiaogang"),
    ("Wu X-G", "Xiaogang Wu"),
    ("Wu XG", "Xiao-Gang Wu"),
    ("Wei Zhang", "Zhang Wei"),
    ("W. Zhang", "Zhang Wei"),
    ("LI Bo", "Bo Li"),
    ("Hyungwon Chung", "Hyung-Won Chung"),
    ("Jean Pierre Serre", "Jean-Pierre Serre"),
    ("J.-P. Serre", "Jean-Pierre Serre"),
    ("J. P. Serre", "Jean-Pierre Serre"),
    ("Hans Müller", "Hans Muller"),
    ("Müller, Hans", "Hans Mueller"),
    ("Søren Kierkegaard", "Soren Kierkegaard"),
    ("{\\L}ukasz Kaiser", "Lukasz Kaiser"),
    ("Erd\\H{o}s, P.", "Paul Erdős"),
    ("Иванов И. И.", "Иванов Иван Иванович"),
    ("王伟", "王伟"),
]
OTHER_AUTHORS = [
    ("John Smith", "Jane Smith"),
    ("John Smith", "John Smyth"),
    ("John Smith", "Smith"),
    ("John Smith", "S. John"),
    ("John Smith", "John S"),
    ("John Smith Jr.", "John Smith Sr."),
    ("John A. Smith", "John B. Smith"),
    ("Smith, John", "John, Smith"),
    ("A. Smith", "B. Smith"),
    ("R. J. Smith", "J. Smith"),
    ("L. Bartlett", "Peter L. Bartlett"),
    ("Yoshua Bengio", "Samy Bengio"),
    ("Y. Bengio", "Samy Bengio"),
    ("Wei Zhang", "Wei Wang"),
    ("Xin Wang", "Xun Wang"),
    ("Li Wang", "Wang Lin"),
    ("Wu X-G", "Wu Xiaoming"),
    ("Wu Xiaogang", "Wu Xiaoming"),
    ("Jan de Vries", "Piet de Vries"),
    ("de Oliveira SD", "Maria de Oliveira Costa"),
    ("王伟", "王芳"),
    ("", ""),
    ("", "John Smith"),
]


@pytest.mark.parametrize(("a", "b"), SAME_AUTHORS)
def test_one_person(a, b):
    assert same_author(a, b) and same_author(b, a)


@pytest.mark.parametrize(("a", "b"), OTHER_AUTHORS)
def test_two_people(a, b):
    assert not same_author(a, b) and not same_author(b, a)


def test_each_author_is_paired_once():
    gold = ["John Smith", "Jane Smith", "Wei Zhang"]
    assert pair_authors(["J. Smith", "John Smith"], gold) == [(0, 1), (1, 0)]
    assert len(pair_authors(["J. Smith", "J. Smith", "J. Smith"], gold)) == 2
    # `J. Smith` must give way: only then can both be placed.
    assert len(pair_authors(["J. Smith", "J. A. Smith"], ["John A. Smith", "Jane B. Smith"])) == 2
    assert same_authors(["Zhang, Wei", "J. Smith", "Smith, John"], gold)
    assert not same_authors(["John Smith", "Jane Smith"], gold)
    assert not same_authors([], [])


def test_answers_are_titles_or_people():
    assert same_answer("bert", "BERT") and same_answer(["J. Smith"], ["John Smith"])
    assert same_answer(["J. Smith", "Doe, Jane"], "John Smith and Jane Doe")


TEXTS = st.one_of(st.text(max_size=30), st.sampled_from([x for pair in SAME_AUTHORS + SAME_TITLES for x in pair]))


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_identity_is_symmetric_and_holds_of_oneself(a, b):
    assert same_title(a, b) == same_title(b, a)
    assert same_author(a, b) == same_author(b, a)
    if re.search(r"[A-Za-z]", a):
        assert same_title(a, a.upper()) == same_title(a.upper(), a)
        assert same_title(a, f" {a}\n")


def _released(folder):
    titles, authors = set(), set()
    for path in sorted((folder / "reasons").glob("*.json")):
        for papers in json.loads(path.read_text(encoding="utf-8")).values():
            for paper in papers.values():
                titles.add(paper["Paper Title"])
                for sentence in paper["Sentences"]:
                    cited = sentence["Citation"] or {}
                    titles.add((cited.get("Citation Paper Title") or "").removeprefix("Title:"))
                    names = (cited.get("Citation Paper Authors") or "").removeprefix("Authors:").split(",")
                    authors |= {n.strip() for n in names}
    return titles - {""}, {n for n in authors if len(n.split()) > 1 and not re.search(r"[()]", n)}


@pytest.mark.released
def test_released_titles_and_names_are_themselves(released):
    titles, names = _released(released)
    assert len(titles) > 2_000 and len(names) > 2_000
    wrong = [t for t in titles if not same_title(parse_title(t).value or "", t)]
    assert wrong == []
    keys = {" ".join(t.split()).casefold() for t in titles}
    assert len(keys) == len({"".join(words(t)) for t in titles})  # no two of them are confused

    def inverted(name):
        given, family = name.rsplit(" ", 1)
        return f"{family}, {given}"

    def initials(name):
        *given, family = name.split()
        return " ".join(f"{g[0]}." for g in given) + f" {family}"

    plain = [n for n in names if not re.search(r"\b(?:Jr|II|III)\b", n)]
    lost = [n for n in plain for form in (inverted, initials) if not same_author(form(n), n)]
    assert len(lost) <= len(plain) / 500
