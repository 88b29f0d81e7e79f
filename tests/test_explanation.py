"""LExT's arithmetic: the paper's examples, its tables, and properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factlab import explanation as ex

shares = st.floats(0, 1)
words = st.sampled_from(["pain", "rib", "opioid", "chest", "fracture"])
VARIANTS = ("paper", "released", "tables")


def test_weighted_accuracy_of_table_2():
    gold = ["chest", "pleuritic", "fractures", "rib", "pain", "pain control", "opioid"]
    assert ex.weighted_accuracy(0.88417906, gold, []) == 0
    assert ex.weighted_accuracy(0.88417906, gold, [], variant="released") == pytest.approx(0.88417906 * 1e-8**0.2)


def test_ner_weight_by_hand():
    assert ex.ner_weight(["pain", "rib"], ["Pain", " rib "]) == 1  # case and white space do not count
    assert ex.ner_weight(["pain"], ["pain", "pain", "drug"]) == pytest.approx(0.5**0.2)  # sets
    assert ex.ner_weight(["pain"], ["drug"]) == ex.ner_weight([], ["drug"]) == ex.ner_weight([], []) == 0
    assert ex.ner_weight(["pain"], ["pain", "drug"], beta=1) == 0.5
    for arguments in ((["a"], ["a"], 0), (["a"], ["a"], math.nan), (["a"], ["a"], 0.2, "code"), ("pain", ["a"])):
        with pytest.raises(ValueError):
            ex.ner_weight(*arguments)


@given(st.lists(words), st.lists(words, min_size=1), st.sampled_from(VARIANTS))
def test_ner_weight_is_a_share_and_1_only_without_foreign_entities(gold, predicted, variant):
    weight = ex.ner_weight(gold, predicted, variant=variant)
    assert 0 <= weight <= 1
    assert (weight == 1) == (set(predicted) <= set(gold))


def test_context_relevancy_is_a_cosine():
    assert ex.context_relevancy([1, 0], [1, 1]) == pytest.approx(math.sqrt(0.5))
    assert ex.context_relevancy([1, 0], [-2, 0]) == -1
    assert ex.context_relevancy([1, 0], [0, 0]) == 0
    assert math.isnan(ex.context_relevancy([1, 0], [math.nan, 0]))
    with pytest.raises(ValueError, match="one length"):
        ex.context_relevancy([1, 0], [1, 0, 0])


def test_correctness_takes_a_negative_cosine_as_unrelated():
    assert ex.correctness(0.4, 0.6) == 0.5
    assert ex.correctness(0.4, -0.6) == 0.2
    assert math.isnan(ex.correctness(math.nan, 0.5))
    with pytest.raises(ValueError, match="cosine"):
        ex.correctness(40, 0.5)


def test_consistency():
    assert ex.consistency([0.2, 0.8]) == pytest.approx(1 - 0.09)  # population variance
    assert ex.consistency([0.5] * 5) == 1
    assert (
        math.isnan(ex.consistency([0.5]))
        and math.isnan(ex.consistency([]))
        and math.isnan(ex.consistency([0.5, math.nan]))
    )
    # Table 14: five accuracies of one item, two of them of answers that say nothing
    accuracies = [0.874, 0.914, 0.8488, 0, 0.45]
    assert ex.consistency(accuracies) == pytest.approx(1 - np.var(accuracies))
    assert ex.consistency(accuracies) > 0.87


@given(st.lists(shares, min_size=2, max_size=9))
def test_consistency_of_shares_is_never_below_three_quarters(scores):
    assert 0.75 - 1e-12 <= ex.consistency(scores) <= 1


def test_qag_of_table_13():
    assert ex.qag([True, False, True]) == pytest.approx(0.67, abs=0.005)
    assert math.isnan(ex.qag([])) and math.isnan(ex.qag([True, None]))


@pytest.mark.parametrize(
    ("original", "new", "paper", "released"),
    [
        ("yes", "no", 1, 1),
        ("no", "yes", 1, 1),
        ("Yes", "NO", 1, 1),
        ("yes", "unknown", 0.5, 0),
        ("yes", "random", 0.5, 0),
        ("no", "maybe", 0.5, 0),
        ("yes", "yes", 0, 0.5),  # Table 13: -1 before scaling
        ("low", "high", 1, 1),
        ("maybe", "no", math.nan, math.nan),
        ("unknown", "no", math.nan, math.nan),
        (None, "no", math.nan, math.nan),
        ("yes", None, math.nan, math.nan),
    ],
)
def test_counterfactual_stability(original, new, paper, released):
    assert ex.counterfactual_stability(original, new) == pytest.approx(paper, nan_ok=True)
    assert ex.counterfactual_stability(original, new, "released") == pytest.approx(released, nan_ok=True)


def test_contextual_faithfulness_of_tables_11_and_14():
    assert ex.contextual_faithfulness("Unknown", ["No", "No", "Unknown", "No", "No"]) == pytest.approx(0.2)
    assert ex.contextual_faithfulness("unknown", ["yes", "no", "unknown", "unknown", "unknown"]) == pytest.approx(0.6)


def test_contextual_faithfulness_needs_to_pass_the_first_phase():
    assert ex.contextual_faithfulness("no", ["unknown"] * 5) == 0
    assert ex.contextual_faithfulness("random", ["unknown"] * 5) == 0
    assert ex.contextual_faithfulness("yes", []) == 0
    for first, labels in ((None, ["unknown"]), ("unknown", []), ("unknown", ["unknown", None])):
        assert math.isnan(ex.contextual_faithfulness(first, labels))
    with pytest.raises(ValueError, match="parse_label"):
        ex.contextual_faithfulness("I do not know", ["yes"])


def test_sequential_contexts():
    context, keywords = (
        "Heparin is safe in trauma; heparin-induced bleeding is rare.",
        ["heparin", "trauma", "rare", "trauma"],
    )
    remove, restore = ex.sequential_contexts(context, keywords), ex.sequential_contexts(context, keywords, "restore")
    assert remove[1] == "Heparin is safe in [REDACTED]; heparin-induced bleeding is rare."
    assert restore[1] == "[REDACTED] is safe in trauma; [REDACTED]-induced bleeding is [REDACTED]."
    assert restore[1] == restore[3]  # a keyword that is named twice is restored in both places
    assert len(remove) == len(restore) == 4
    assert ex.found_keywords(context, ["heparin", "insulin", "bleed"]) == [True, False, False]
    with pytest.raises(ValueError, match="how="):
        ex.sequential_contexts(context, keywords, "add")
    with pytest.raises(ValueError, match="list"):
        ex.sequential_contexts(context, "heparin, trauma")


def test_faithfulness_by_variant():
    assert ex.faithfulness(0.9, 0.6, 0.3) == ex.faithfulness(0.9, 0.6, 0.3, "released") == pytest.approx(0.6)
    assert ex.faithfulness(0.9, 0.6, 0.3, "tables") == pytest.approx(0.45)
    assert ex.faithfulness(math.nan, 0.6, 0.3, "tables") == pytest.approx(0.45)
    assert math.isnan(ex.faithfulness(math.nan, 0.6, 0.3))


def test_trust_by_hand():
    assert ex.trust(0.69, 0.53) == pytest.approx(0.599, abs=0.001)  # Table 14
    assert ex.trust(0, 0) == ex.trust_with_penalty(0, 0) == ex.trust(1, 0) == 0
    assert math.isnan(ex.trust(math.nan, 0.5))
    for p, f in ((1.2, 0.5), (0.5, -0.1), (69, 53)):
        with pytest.raises(ValueError, match="in \\[0, 1\\]"):
            ex.trust(p, f)


@given(shares, shares)
def test_equation_10_is_the_harmonic_mean(p, f):
    trust = ex.trust(p, f)
    assert trust == pytest.approx(ex.trust_with_penalty(p, f), abs=1e-12)
    assert trust == ex.trust(f, p)
    assert min(p, f) - 1e-12 <= trust <= (p + f) / 2 + 1e-12


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=20))
def test_the_score_of_the_means_is_not_below_the_mean_score(pairs):
    p, f = np.array(pairs).T
    assert ex.trust(p.mean(), f.mean()) >= np.mean([ex.trust(*pair) for pair in pairs]) - 1e-12


# --- the older measures ----------------------------------------------------------------------------------------------


def test_older_measures_by_hand():
    assert ex.bleu("the cat sat on a mat", "the cat sat on a mat") == pytest.approx(1)
    assert ex.bleu("rib pain", "rib pain") == pytest.approx(1)  # effective order
    assert ex.bleu("a b c d x", "a b c d e") == pytest.approx(0.2**0.25)
    # the longest common subsequence of 5 and 4 words is "cat on mat"
    assert ex.rouge_l("The cat sat on mat.", "cat was on mat") == pytest.approx(2 * 3 / (5 + 4))
    assert ex.rouge_l("mat on cat", "cat on mat") == pytest.approx(2 * 1 / 6)
    # METEOR: 3 of 3 words in one chunk; then both words, crossed: two chunks of two
    assert ex.meteor("pain in ribs", "pain in ribs") == pytest.approx(1 - 0.5 * (1 / 3) ** 3)
    assert ex.meteor("ribs hurt", "hurt ribs") == pytest.approx(0.5)
    assert ex.meteor("the fractured ribs", "the fracture rib") == pytest.approx(1 - 0.5 / 27)  # by their stems
    assert ex.meteor("doctor", "physician") == 0  # synonyms are not known


@pytest.mark.parametrize("measure", [ex.bleu, ex.rouge_l, ex.meteor])
def test_older_measures_of_nothing(measure):
    assert measure("", "pain") == measure(" \n", "pain") == measure("drug", "pain") == 0
    assert math.isnan(measure("pain", " "))


sentences_of_words = st.lists(words, min_size=1, max_size=12).map(" ".join)


@given(sentences_of_words, sentences_of_words)
def test_older_measures_are_shares(one, other):
    values = ex.overlap(one, other)
    assert list(values) == ["BLEU", "ROUGE-L", "METEOR (exact and stem)"]
    assert all(0 <= v <= 1 for v in values.values())
    assert values["ROUGE-L"] == pytest.approx(ex.rouge_l(other, one))
