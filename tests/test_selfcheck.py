"""SelfCheckGPT's scores: from made-up models whose answers are known, and against the package `selfcheckgpt`."""

import importlib.util
import math

import numpy as np
import pytest
from tests import packages, tiny_encoders

from factlab.stability import passage_score, selfcheck_bertscore, selfcheck_nli, selfcheck_prompt
from factlab.stability.bertscore import Tokens


def encode(texts):
    """Words as tokens, each a direction of its own: F1 is that of the words in common."""
    seen = {}
    made = []
    for text in texts:
        ids = np.array([seen.setdefault(word, len(seen)) for word in text.lower().split()], int)
        made.append(Tokens(ids, np.eye(64, dtype=np.float32)[ids], np.zeros(len(ids), bool)))
    return made


# --- BERTScore ---


def test_one_minus_the_mean_of_the_best_sentence_of_each_sample():
    sentences = ["a b", "x y"]
    samples = [["a b", "c d"], ["a c", "x e f"], ["q"]]
    assert selfcheck_bertscore(sentences, samples, encode) == pytest.approx(
        [1 - (1 + 0.5 + 0) / 3, 1 - (0 + 0.4 + 0) / 3]
    )


def test_with_a_baseline_each_f_is_rescaled_and_the_score_stays_in_range():
    scores = selfcheck_bertscore(["a b", "x y"], [["a b"], ["a c"]], encode, baseline=[0.9, 0.9, 0.25])
    assert scores == pytest.approx([1 - (1 + 0.25 / 0.75) / 2, 1])


def test_samples_without_sentences_are_left_out_and_no_sample_is_no_score():
    assert selfcheck_bertscore(["a b"], [["a b"], []], encode) == pytest.approx([0])
    assert np.isnan(selfcheck_bertscore(["a b", "c"], [[], []], encode)).tolist() == [True, True]
    assert np.isnan(selfcheck_bertscore(["a b"], [], encode)).all()
    assert selfcheck_bertscore([], [["a"]], encode).shape == (0,)


def test_every_distinct_sentence_is_encoded_once():
    asked = []
    samples = [["a b", "c d"], ["c d", "e f"], ["a b"]]
    selfcheck_bertscore(["a b", "g"], samples, lambda texts: asked.extend(texts) or encode(texts))
    assert sorted(asked) == ["a b", "c d", "e f", "g"]


def test_a_sample_or_an_answer_given_as_one_text_is_pointed_out():
    with pytest.raises(ValueError, match="sample 1 is one text"):
        selfcheck_bertscore(["a"], [["a"], "a b"], encode)
    with pytest.raises(ValueError, match="one text"):
        selfcheck_bertscore("a b", [["a"]], encode)


# --- NLI ---


def nli(premises, hypotheses):
    """By the number of letters: a premise of 1 with a hypothesis of 3 contradicts with 3/4, and half is neutral."""
    a, b = (np.array([len(t) for t in texts], float) for texts in (premises, hypotheses))
    return {"entailment": 0.5 * a / (a + b), "neutral": np.full(len(a), 0.5), "contradiction": 0.5 * b / (a + b)}


def test_mean_probability_of_contradiction_without_neutral():
    sentences, samples = ["a", "bb"], ["ccc", "d"]
    assert selfcheck_nli(sentences, samples, nli) == pytest.approx([(3 / 4 + 1 / 2) / 2, (3 / 5 + 1 / 3) / 2])
    assert selfcheck_nli(sentences, samples, nli, variant="paper") == pytest.approx(
        [(1 / 4 + 1 / 2) / 2, (2 / 5 + 2 / 3) / 2]
    )
    with pytest.raises(ValueError, match="'released' or 'paper'"):
        selfcheck_nli(sentences, samples, nli, variant="text")


def test_arrays_will_do_and_lists_of_sentences_are_joined():
    def columns(*names):
        return lambda p, h: np.stack([nli(p, h)[name] for name in names], axis=1)

    expected = selfcheck_nli(["a"], ["cc d"], nli)
    assert selfcheck_nli(["a"], [["cc", "d"]], nli) == pytest.approx(expected)
    assert selfcheck_nli(["a"], ["cc d"], columns("entailment", "contradiction")) == pytest.approx(expected)
    assert selfcheck_nli(["a"], ["cc d"], columns("entailment", "neutral", "contradiction")) == pytest.approx(expected)
    assert selfcheck_nli(["a"], ["cc d"], lambda p, h: [0.25]) == pytest.approx([0.25])
    with pytest.raises(ValueError, match="2 or 3 probabilities"):
        selfcheck_nli(["a"], ["b"], lambda p, h: np.zeros((1, 4)))
    with pytest.raises(ValueError, match="no probability of entailment"):
        selfcheck_nli(["a"], ["b"], lambda p, h: {"contradiction": [1.0]})


def test_each_distinct_pair_is_asked_once_and_empty_samples_never():
    asked = []

    def counting(premises, hypotheses):
        asked.extend(zip(premises, hypotheses, strict=True))
        return nli(premises, hypotheses)

    scores = selfcheck_nli(["a", "bb", "a"], ["ccc", "", "ccc", "d", " "], counting)
    assert sorted(asked) == [("a", "ccc"), ("a", "d"), ("bb", "ccc"), ("bb", "d")]
    assert scores[0] == scores[2] == pytest.approx((3 / 4 + 3 / 4 + 1 / 2) / 3)
    assert np.isnan(selfcheck_nli(["a"], ["", []], nli)).all() and np.isnan(selfcheck_nli(["a"], [], nli)).all()


# --- prompt ---


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Yes", 0), ("yes.", 0), ("**Yes**", 0), ("Answer: Yes", 0), ("Yes, the context says so.", 0), ("Supported", 0),
        ("No", 1), ("no.", 1), ("NO!", 1), ("No, the context gives another year.", 1), ("not supported", 1),
        ("Not enough information", 0.5), ("Not enough information.", 0.5), ("None of the context mentions it", 0.5),
        ("Norepinephrine is named there", 0.5), ("Noted.", 0.5), ("Nothing is said of it", 0.5), ("I don't know.", 0.5),
        ("Yesterday it was", 0.5), ("unknown", 0.5), ("N/A", 0.5), ("maybe", 0.5), ("", 0.5), ("Yes and no", 0.5),
        ("<think>No, wait", 0.5), ("<think>No?</think> Yes", 0), ("I’m sorry, but I can’t help", 0.5),
    ],
)  # fmt: skip
def test_a_reply_is_read_as_whole_words(reply, value):
    assert selfcheck_prompt([[reply]]).tolist() == [value]


def test_mean_over_samples_without_failed_calls():
    verdicts = [["Yes", "No", "No"], ["No", None], [None], [], "No"]
    assert selfcheck_prompt(verdicts)[[0, 1, 4]].tolist() == [pytest.approx(2 / 3), 1, 1]
    assert np.isnan(selfcheck_prompt(verdicts)[[2, 3]]).all()
    with pytest.raises(ValueError, match="one text"):
        selfcheck_prompt("No")
    with pytest.raises(ValueError, match="sentence 1: expected a text or None, got 0.5"):
        selfcheck_prompt([["Yes"], [0.5]])


def test_passage_score_is_the_mean_of_its_sentences():
    assert passage_score([0.2, 0.6]) == pytest.approx(0.4)
    assert passage_score([0.2, math.nan]) == pytest.approx(0.2) and math.isnan(passage_score([]))


# --- the package ---


@pytest.fixture
def package():
    pytest.importorskip("torch")
    pytest.importorskip("bert_score")
    if importlib.util.find_spec("selfcheckgpt") is None:
        pytest.skip("selfcheckgpt is not installed")
    return packages.selfcheckgpt


def _answer_and_samples():
    rows = tiny_encoders.sentences(30, seed=5)
    answer = rows[:4]
    samples = [[*rows[4:7], answer[1]], rows[7:9], [answer[0][:20] + " cell.", *rows[9:12]], rows[12:13]]
    return answer, samples


@pytest.mark.parametrize("rescale", [False, True])
def test_bertscore_variant_equals_the_package(package, tmp_path, rescale):
    import bert_score

    from factlab.models import tokens, weights

    table = tmp_path / "baseline.tsv"
    table.write_text("LAYER,P,R,F\n" + "".join(f"{i},0.1,0.2,0.3\n" for i in range(7)))
    fixed = {"model_type": str(weights.minilm()), "num_layers": 6, "device": "cpu", "baseline_path": str(table)}
    answer, samples = _answer_and_samples()
    with package(
        score=lambda candidates, references, **options: bert_score.score(candidates, references, **options, **fixed)
    ) as theirs:
        expected = theirs.SelfCheckBERTScore(rescale_with_baseline=rescale).predict(
            answer, [" ".join(s) for s in samples]
        )
    baseline = tokens.baseline(table, 6) if rescale else None
    mine = selfcheck_bertscore(answer, samples, tokens.load("local/minilm", device="cpu"), baseline=baseline)
    assert np.abs(mine - expected).max() < 1e-5
    assert np.ptp(mine) > 0.05


def test_nli_variant_equals_the_package(package, tmp_path):
    from factlab.models import nli as models_nli

    folder = tiny_encoders.deberta(tmp_path, {0: "entailment", 1: "contradiction"}, positions=48)
    answer, samples = _answer_and_samples()
    whole = [" ".join(s) for s in samples]
    with package() as theirs:
        expected = theirs.SelfCheckNLI(nli_model=str(folder)).predict(answer, whole)
    model = models_nli.load(str(folder), device="cpu")
    with pytest.warns(UserWarning, match="longer than its 48 tokens"):  # the package cuts them without a word
        mine = selfcheck_nli(answer, samples, model)
        reversed_ = selfcheck_nli(answer, whole, model, variant="paper")
    assert np.abs(mine - expected).max() < 1e-5
    assert 0 < model.notes["truncated"] < model.notes["asked"]
    assert np.ptp(mine) > 1e-3 and np.abs(reversed_ - expected).max() > 1e-3
