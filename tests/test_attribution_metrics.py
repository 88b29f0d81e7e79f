"""F1, BLEU-4 and the share of words that do not match: numbers worked out by hand, parity, properties."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab.attribution import bleu4, same_answer, token_f1, word_mismatch
from factlab.attribution.treebank import tokens

GOLD = "Deep Residual Learning for Image Recognition"  # 6 words


@pytest.mark.parametrize(
    ("predicted", "gold", "f1", "mismatch"),
    [
        (GOLD, GOLD, 1, 0),
        ("deep residual learning, for image\n recognition.", GOLD, 1, 0),
        ("Deep Learning", GOLD, 2 * 2 / (2 + 6), 4 / 6),
        ("Deep Deep Learning", GOLD, 2 * 2 / (3 + 6), 4 / 6),
        ("Sparse Coding", GOLD, 0, 1),
        ("", GOLD, 0, 1),
        ("a b c d", "c d e", 2 * 2 / 7, 3 / 5),
        ("data set", "dataset", 1, 0),
    ],
)
def test_f1_and_mismatch_by_hand(predicted, gold, f1, mismatch):
    assert token_f1(predicted, gold) == pytest.approx(f1)
    assert word_mismatch(predicted, gold) == pytest.approx(mismatch)


@pytest.mark.parametrize(
    ("predicted", "gold", "f1", "mismatch"),
    [
        ("Deep Learning", "Deep learning", 2 * 1 / 4, 1 / 2),  # case counts
        ("Deep Deep Learning", GOLD, 2 * 2 / (2 + 6), 0),  # sets; 1 − precision
        ("What is it?", "What is it", 2 * 3 / 7, 1 / 4),  # `?` is a token
        ("BERT: a model", "BERT", 2 * 1 / 5, 3 / 4),
    ],
)
def test_released_counts_sets_of_treebank_tokens(predicted, gold, f1, mismatch):
    for variant in ("released", "tables"):
        assert token_f1(predicted, gold, variant) == pytest.approx(f1)
        assert word_mismatch(predicted, gold, variant) == pytest.approx(mismatch)


def test_bleu_by_hand():
    assert bleu4("a b c", "a b c") == 1  # effective order
    assert bleu4("a b c", "a b c", "released") == 0  # no four words in a row, no smoothing
    assert bleu4("BERT", "bert") == 1
    # precisions 4/5, 3/4, 2/3, 1/2: their product is 1/5
    assert bleu4("a b c d x", "a b c d e") == pytest.approx(0.2**0.25)
    assert bleu4("a b c d x", "a b c d e", "released") == pytest.approx(0.2**0.25)
    # all n-grams match, two words too few
    assert bleu4("a b c d", "a b c d e f") == pytest.approx(math.exp(1 - 6 / 4))
    # 2/4, 1/3, then no match: 1/(2·2), 1/(4·1)
    assert bleu4("a b x y", "a b c d") == pytest.approx((2 / 4 * 1 / 3 * 1 / 4 * 1 / 4) ** 0.25)
    assert bleu4("a b x y", "a b c d", "released") == 0
    assert bleu4("x y z w", "a b c d") == 0
    assert bleu4("", "a b c d") == 0


def test_bleu_clips_repeated_words():
    # `the` counts twice of seven; no bigram: 1/(2·6), 1/(4·5), 1/(8·4)
    expected = (2 / 7 * 1 / 12 * 1 / 20 * 1 / 32) ** 0.25
    assert bleu4("the the the the the the the", "the cat is on the mat") == pytest.approx(expected)


def test_nothing_to_compare_with_is_undefined():
    for variant in ("paper", "released", "tables"):
        for measure in (token_f1, bleu4, word_mismatch):
            assert math.isnan(measure("BERT", "", variant))


def test_authors_are_compared_as_people():
    gold = ["John Smith", "Wei Zhang"]
    assert token_f1(["J. Smith", "Zhang, Wei"], gold) == 1
    assert bleu4(["J. Smith", "Zhang, Wei"], gold) == 1
    assert word_mismatch(["J. Smith", "Zhang, Wei"], gold) == 0
    assert token_f1(["J. Smith"], gold) == pytest.approx(2 * 2 / (2 + 4))
    assert word_mismatch(["Jane Smith", "Wei Zhang"], gold) == pytest.approx(2 / 5)
    assert token_f1("J. Smith", "John Smith") == 1 / 2  # texts are texts
    assert token_f1(["J. Smith"], gold, "released") == pytest.approx(2 * 1 / (2 + 5))  # J. | Smith; a comma between two


@pytest.mark.parametrize("measure", [token_f1, bleu4, word_mismatch])
def test_a_wrong_variant_says_what_there_is(measure):
    with pytest.raises(ValueError, match="'paper', 'released', 'tables'"):
        measure("a", "b", variant="text")
    with pytest.raises(TypeError, match="not 3"):
        measure(3, "b")


# --- parity ---

SENTENCES = [
    "What's in a name? A Rose (by Any Other)",
    'Don\'t stop: "now" or never.',
    "They've said we'll see it's O'Connor's, can't we",
    "Costs rose 3.5% to 1,000; GPT-4 and C++ -- why?",
    "YOLO9000: Better, Faster, Stronger",
    "'Tis the cat's 'whiskers'",
    "We cannot and gonna lemme wanna",
    "A [new] {kind} of <thing> & more...",
    "`` quoted '' text",
    "$\\ell_1$ norms @ home #1!",
    "Smith et al.",
    "John Smith, Wei Zhang, Eric P. Xing",
    "“curly” ‘quotes’ «guillemets»",
    "x",
    "",
]


def test_treebank_tokens_by_hand():
    assert tokens('Don\'t stop: "now".') == ("Do", "n't", "stop", ":", "``", "now", "''", ".")
    assert tokens("Part 1.5 costs 1,000.") == ("Part", "1.5", "costs", "1,000", ".")
    assert tokens("Social networks. A study") == ("Social", "networks", ".", "A", "study")


@pytest.mark.parametrize("text", SENTENCES)
def test_tokens_as_nltk_makes_them(text):
    tokenize = pytest.importorskip("nltk.tokenize").word_tokenize
    assert list(tokens(text)) == tokenize(text, preserve_line=True)  # one sentence: NLTK needs no data


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        ("a b c d e f", "a b c d x f"),
        ("a b c d", "a b c d e f g"),
        ("a b c d e e", "e a b c d"),
        ("Deep nets ?", "Deep nets !"),
    ],
)
def test_released_bleu_is_nltks(predicted, gold):
    nltk = pytest.importorskip("nltk.translate.bleu_score")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an order without a match, which NLTK then counts as 2e-308
        expected = nltk.sentence_bleu([gold.split()], predicted.split())
    assert bleu4(predicted, gold, "released") == pytest.approx(expected, abs=1e-12)


WORDS = st.lists(st.sampled_from("deep graph net of learning sparse".split()), min_size=1, max_size=9).map(" ".join)  # noqa: SIM905


@settings(max_examples=200, deadline=None)
@given(WORDS, WORDS)
def test_bleu_is_sacrebleus(predicted, gold):
    from sacrebleu.metrics import BLEU

    assume_other = predicted != gold
    score = BLEU(tokenize="none", effective_order=True).sentence_score(predicted, [gold]).score / 100
    if assume_other and predicted.replace(" ", "") != gold.replace(" ", ""):
        assert bleu4(predicted, gold) == pytest.approx(score)


ANSWERS = st.one_of(st.text(max_size=40), WORDS)


@settings(max_examples=300, deadline=None)
@given(ANSWERS, ANSWERS, st.sampled_from(["paper", "released", "tables"]))
def test_measures_stay_in_range_and_agree_with_identity(predicted, gold, variant):
    values = [measure(predicted, gold, variant) for measure in (token_f1, bleu4, word_mismatch)]
    assert all(math.isnan(v) or 0 <= v <= 1 for v in values)
    if variant == "paper" and same_answer(predicted, gold) and not math.isnan(values[0]):
        assert values == [1, 1, 0]
    if variant == "paper" and not math.isnan(values[0]) and values[0] == 0:
        assert values[2] == 1


@settings(max_examples=100, deadline=None)
@given(WORDS, WORDS)
def test_f1_and_mismatch_are_symmetric_under_paper(a, b):
    assert token_f1(a, b) == pytest.approx(token_f1(b, a))
    assert word_mismatch(a, b) == pytest.approx(word_mismatch(b, a))
