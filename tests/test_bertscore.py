"""BERTScore: against its definition with made-up vectors, and against the package `bert-score` with the same encoder."""

import importlib
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import packages, tiny_encoders

from factlab.stability.bertscore import Tokens, bertscore, bertscore_pairwise

module = importlib.import_module("factlab.stability.bertscore")  # in the package, the name is the function's
CLS, SEP = 1, 2


def encode(texts):
    """Letters are tokens, between marks; a vector depends on the letter and on its neighbours, like a contextual one."""
    table = np.random.default_rng(0).standard_normal((200, 16)).astype(np.float32) + 0.7
    made = []
    for text in texts:
        ids = np.array([CLS, *(ord(c) % 190 + 5 for c in text.replace(" ", "")), SEP])
        around = np.pad(table[ids], ((1, 1), (0, 0)))
        vectors = table[ids] * 3 + 0.4 * around[:-2] + 0.2 * around[2:]
        made.append(Tokens(ids, vectors.astype(np.float32), np.isin(ids, [CLS, SEP])))
    return made


def by_definition(candidate, reference, documents=None):
    """One pair, written out as sums over tokens."""
    (a,), (b,) = encode([candidate]), encode([reference])

    def weight(ids, special):
        if documents is None:
            return [0.0 if s else 1.0 for s in special]
        sets = [set(t.ids.tolist()) for t in encode(documents)]
        return [math.log((len(sets) + 1) / (sum(int(i) in s for s in sets) + 1)) for i in ids]

    def cosine(u, v):
        return float(u @ v) / math.sqrt(float(u @ u) * float(v @ v))

    s = [[cosine(u.astype(float), v.astype(float)) for v in b.vectors] for u in a.vectors]
    wa, wb = weight(a.ids, a.special), weight(b.ids, b.special)
    p = sum(w * max(row) for w, row in zip(wa, s, strict=True)) / sum(wa)
    r = sum(w * max(row[j] for row in s) for j, w in enumerate(wb)) / sum(wb)
    return p, r, 2 * p * r / (p + r)


TEXTS = ["insulin lowers blood sugar", "the heart", "a", "glucose is raised by it", "the heart beats", "b c d"]


@pytest.mark.parametrize("idf", [False, True])
def test_all_pairs_by_definition(idf):
    candidates, references = TEXTS[:4], [*TEXTS[2:], TEXTS[3]]
    P, R, F = bertscore(candidates, references, encode, idf=idf)
    assert P.shape == R.shape == F.shape == (4, 5)
    for i, c in enumerate(candidates):
        for j, r in enumerate(references):
            expected = by_definition(c, r, references if idf else None)
            assert (P[i, j], R[i, j], F[i, j]) == pytest.approx(expected, abs=1e-6)


def test_repeated_references_count_again_for_idf_and_other_texts_can_be_given():
    once = bertscore(TEXTS, TEXTS, encode, idf=True).f
    assert not np.allclose(once, bertscore(TEXTS, [*TEXTS, *TEXTS[:1] * 5], encode, idf=True).f[:, :6], atol=1e-4)
    assert np.allclose(once[:2], bertscore(TEXTS[:2], TEXTS, encode, idf=True).f)
    assert np.allclose(once[:2, 3:], bertscore(TEXTS[:2], TEXTS[3:], encode, idf=TEXTS).f)


def test_same_lists_give_mirrored_scores_and_ones_on_the_diagonal():
    P, R, F = bertscore(TEXTS, TEXTS, encode)
    assert np.allclose(P, R.T) and np.allclose(F, F.T)
    assert np.allclose(np.diag(F), 1, atol=1e-6) and (F - np.eye(len(F)) < 0.9999).all()


@pytest.mark.parametrize("side", [1, 7, 40, 10_000])
def test_blocks_change_nothing(monkeypatch, side):
    expected = bertscore(TEXTS, TEXTS[::-1] + ["zz"], encode, idf=True)
    monkeypatch.setattr(module, "_SIDE", side)
    for mine, right in zip(bertscore(TEXTS, TEXTS[::-1] + ["zz"], encode, idf=True), expected, strict=True):
        assert np.allclose(mine, right, atol=1e-6)


def test_no_block_of_similarities_is_larger_than_said():
    starts = np.cumsum([0, 20, 20, 20, 70, 5, 45, 1])
    blocks = module._blocks(starts, 50)
    assert blocks == [(0, 2), (2, 3), (3, 4), (4, 6), (6, 7)]  # 40, 20, one longer text, 50, 1


def test_each_distinct_text_is_encoded_once_and_all_in_one_call():
    asked = []
    bertscore([*TEXTS, *TEXTS], [TEXTS[0]] * 9, lambda texts: asked.append(list(texts)) or encode(texts))
    assert asked == [TEXTS]


def test_paired_lists_are_the_diagonal():
    references = TEXTS[1:] + [TEXTS[0]]
    for idf in (False, True):
        every = bertscore(TEXTS, references, encode, idf=idf, baseline=[0.1, 0.2, 0.3])
        for whole, paired in zip(
            every, bertscore_pairwise(TEXTS, references, encode, idf, [0.1, 0.2, 0.3]), strict=True
        ):
            assert np.allclose(np.diag(whole), paired, atol=1e-6)
    with pytest.raises(ValueError, match="6 candidates but 1 references"):
        bertscore_pairwise(TEXTS, ["a"], encode)


def test_rescaling():
    P, R, F = bertscore(TEXTS, TEXTS[:3], encode)
    p, r, f = bertscore(TEXTS, TEXTS[:3], encode, baseline=[0.3, 0.4, 0.5])
    assert np.allclose(p, (P - 0.3) / 0.7) and np.allclose(r, (R - 0.4) / 0.6) and np.allclose(f, (F - 0.5) / 0.5)
    assert np.allclose(bertscore(TEXTS, TEXTS[:3], encode, baseline=0.5).recall, (R - 0.5) / 0.5)
    with pytest.raises(ValueError, match="below 1"):
        bertscore(TEXTS, TEXTS, encode, baseline=1.0)


@pytest.mark.parametrize("idf", [False, True])
def test_empty_texts_score_zero_and_are_flagged(idf):
    with pytest.warns(UserWarning, match="5 of 6 pairs are undefined"):
        scores = bertscore(["", "abc"], ["", "  ", "abd ef"], encode, idf=idf)
    assert scores.status.tolist() == [["undefined"] * 3, ["undefined", "undefined", "scored"]]
    for values in scores:
        assert (values[scores.status == "undefined"] == 0).all()
    assert scores.f[1, 2] == pytest.approx(
        by_definition("abc", "abd ef", ["", "  ", "abd ef"] if idf else None)[2], abs=1e-6
    )


def test_the_case_that_breaks_the_package():
    with pytest.warns(UserWarning, match="1 of 1 pairs"):
        P, R, F = bertscore([""], ["Hello World."], encode, idf=True)
    assert (P, R, F) == (0, 0, 0)


def test_an_encoder_may_return_no_token_at_all():
    def bare(texts):
        return [Tokens(t.ids[1:-1], t.vectors[1:-1], t.special[1:-1]) for t in encode(texts)]

    with pytest.warns(UserWarning, match="5 of 9"):
        scores = bertscore(["ab", "", "cd"], ["ab", "cd", ""], bare)
    assert scores.f[0, 0] == pytest.approx(1) and scores.f[2, 1] == pytest.approx(1) and (scores.f[1] == 0).all()


def test_one_reference_gives_idf_nothing_to_weigh_and_it_is_said():
    with pytest.warns(UserWarning, match="undefined"):
        scores = bertscore(["abc", "xyz"], ["abc"], encode, idf=True)
    assert np.isnan(scores.recall).all() and (scores.f == 0).all() and (scores.status == "undefined").all()
    assert np.isnan(scores.precision[0, 0]) and np.isfinite(scores.precision[1, 0])


def test_nothing_to_score():
    assert bertscore([], TEXTS, encode).f.shape == (0, 6) and bertscore([], [], encode, idf=True).f.shape == (0, 0)
    assert bertscore(TEXTS, [], encode).precision.shape == (6, 0)


def test_what_cannot_be_scored_is_named():
    with pytest.raises(ValueError, match="references, entry 1: expected a text, got None"):
        bertscore(["a"], ["b", None], encode)
    with pytest.raises(ValueError, match="put it in a list"):
        bertscore("a", ["b"], encode)
    with pytest.raises(ValueError, match="0 results for 2 texts"):
        bertscore(["a"], ["b"], lambda texts: [])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text("abcde ", min_size=0, max_size=12), min_size=1, max_size=5))
def test_scores_stay_in_range_and_do_not_depend_on_company(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together = bertscore(texts, texts[::-1], encode)
        for i, a in enumerate(texts):
            for j, b in enumerate(texts[::-1]):
                alone = bertscore([a], [b], encode)
                assert [x[i, j] for x in together] == pytest.approx([x[0, 0] for x in alone], abs=1e-6)
    assert all((x >= -1 - 1e-6).all() and (x <= 1 + 1e-6).all() for x in together)


# --- the package ---


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    pytest.importorskip("torch")
    return tiny_encoders.bert(tmp_path_factory.mktemp("bert"))


def every_pair(scorer, candidates, references, **options):
    pairs = [(c, r) for c in candidates for r in references]
    out = scorer.score([c for c, _ in pairs], [r for _, r in pairs], **options)
    return [x.numpy().reshape(len(candidates), len(references)) for x in out]


@pytest.mark.parametrize("layer", [0, 2, 4])
@pytest.mark.parametrize("idf", [False, True])
def test_equals_the_package_on_a_random_encoder(tiny, layer, idf):
    pytest.importorskip("bert_score")
    from factlab.models import tokens

    candidates, references = tiny_encoders.sentences(9), [*tiny_encoders.sentences(7, seed=1), "the cell [SEP] grew"]
    scorer = packages.bert_scorer(tiny, layer, idf=idf)
    if idf:
        scorer.compute_idf(references)
    # One pair at a time: the package sets a negative similarity to 0 where it happens to be padded.
    theirs = every_pair(scorer, candidates, references, batch_size=1)
    mine = bertscore(candidates, references, tokens.load(str(tiny), layer, device="cpu"), idf=idf)
    for a, b in zip(mine, theirs, strict=True):
        assert np.abs(a - b).max() < 1e-5
    assert np.ptp(mine.f) > 0.05


@pytest.mark.parametrize("idf", [False, True])
def test_equals_the_package_on_empty_texts_and_rescaled(tiny, tmp_path, idf):
    pytest.importorskip("bert_score")
    from factlab.models import tokens

    table = tmp_path / "baseline.tsv"
    table.write_text("LAYER,P,R,F\n" + "".join(f"{i},0.{i + 1},0.{i + 2},0.{i + 3}\n" for i in range(5)))
    texts = ["the cell grew", "", "insulin lowers blood sugar .", "  ", "it is a drug"]
    scorer = packages.bert_scorer(tiny, 3, idf=idf, lang="en", rescale_with_baseline=True, baseline_path=str(table))
    if idf:
        scorer.compute_idf(texts)
    theirs = every_pair(scorer, texts, texts, batch_size=1)
    encode_tiny = tokens.load(str(tiny), 3, device="cpu")
    with pytest.warns(UserWarning, match="16 of 25"):
        mine = bertscore(texts, texts, encode_tiny, idf=idf, baseline=tokens.baseline(table, 3))
    for a, b in zip(mine, theirs, strict=True):
        assert np.abs(a - b).max() < 1e-5
    assert mine.f[1, 0] == pytest.approx(-0.6 / 0.4)


def test_equals_the_packages_idf_of_a_paired_call(tiny):
    """In one call with two lists, the package counts the list of references."""
    bert_score = pytest.importorskip("bert_score")
    from factlab.models import tokens

    candidates, references = tiny_encoders.sentences(6, 3), tiny_encoders.sentences(6, 4)
    theirs = bert_score.score(
        candidates, references, model_type=str(tiny), num_layers=4, idf=True, nthreads=0, device="cpu", batch_size=1
    )
    mine = bertscore_pairwise(candidates, references, tokens.load(str(tiny), 4, device="cpu"), idf=True)
    for a, b in zip(mine, theirs, strict=True):
        assert np.abs(a - b.numpy()).max() < 1e-5


@pytest.mark.parametrize("idf", [False, True])
def test_equals_the_package_on_the_builtin_encoder(idf):
    pytest.importorskip("bert_score")
    from factlab.models import tokens, weights

    candidates = [
        "Insulin lowers the level of glucose in blood.",
        "The heart beats faster.",
        "It did not grow; p53+/- mice died.",
    ]
    references = [
        "Glucose in the blood falls after insulin is given.",
        "Tumour growth was 5% slower (Fig. 2).",
        *candidates[:1],
    ]
    scorer = packages.bert_scorer(weights.minilm(), 6, idf=idf)
    if idf:
        scorer.compute_idf(references)
    theirs = every_pair(scorer, candidates, references)
    mine = bertscore(candidates, references, tokens.load("local/minilm", device="cpu"), idf=idf)
    for a, b in zip(mine, theirs, strict=True):
        assert np.abs(a - b).max() < 1e-5


@pytest.mark.released
def test_equals_the_package_in_one_call_on_its_own_examples(released):
    """In batches, as it is used: with real sentences no best similarity is negative, so its padding changes nothing."""
    pytest.importorskip("bert_score")
    from factlab.models import tokens, weights

    candidates, references = (
        (released / "bertscore" / name).read_text().splitlines()[:8] for name in ("hyps.txt", "refs.txt")
    )
    theirs = every_pair(packages.bert_scorer(weights.minilm(), 6), candidates, references)
    for a, b in zip(bertscore(candidates, references, tokens.load("local/minilm", device="cpu")), theirs, strict=True):
        assert np.abs(a - b).max() < 1e-5


@pytest.mark.released
def test_an_empty_text_scores_as_in_the_matrices_that_checkembed_published(released):
    """Their entries for empty texts are the rescaled 0 of microsoft/deberta-xlarge-mnli, layer 40."""
    import json

    from factlab.models import tokens

    table = released / "bertscore" / "rescale_baseline" / "microsoft" / "deberta-xlarge-mnli.tsv"
    b = tokens.baseline(table, tokens.LAYERS["deberta-xlarge-mnli"])
    with pytest.warns(UserWarning, match="undefined"):
        value = bertscore([""], ["a definition"], encode, baseline=b).f[0, 0]
    folder = released / "checkembed" / "results" / "legal_definitions" / "BertScore"
    published = [x for file in folder.glob("*.json") for x in _numbers(json.loads(file.read_text()))]
    assert min(published) == pytest.approx(value, abs=1e-4)
    assert sum(abs(x - value) < 1e-4 for x in published) > 10


def _numbers(value):
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, float):
        yield value
