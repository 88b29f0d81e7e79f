"""Cross-encoders: what a score is, that training lowers its loss, and that nothing is computed twice."""

import json
import math

import numpy as np
import pytest
import tiny_encoders

from factlab.models import rerank, rerank_store
from factlab.models.base import ModelError, ReplayMiss
from factlab.models.rerank import Group, lcl

PAIRS = [
    ("insulin lowers blood sugar", "glucose in the blood"),
    ("insulin lowers blood sugar", "the heart rate of a patient is slow"),
    ("the tumour grew fast", "tumour cells grew by two percent in the study"),
]


def classifier(folder, outputs=1, positions=64):
    """A sequence classifier as cross-encoders on the hub are, two layers of width 32."""
    import torch
    import transformers

    torch.manual_seed(2)
    fast = tiny_encoders.tokenizer(model_max_length=positions)
    config = transformers.BertConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=positions, initializer_range=0.3, num_labels=outputs,
    )  # fmt: skip
    fast.save_pretrained(folder)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return classifier(tmp_path_factory.mktemp("tiny"))


def groups(n=12):
    """A document is relevant where it repeats the sentence's first word: something to learn."""
    words = ["insulin", "tumour", "heart", "protein", "dna", "drug"]
    return [
        Group(f"{w} study {i}", (f"the {w} found",), tuple(f"the {o} found" for o in words if o != w)[:3])
        for i, w in enumerate(words * (n // len(words)))
    ]


# ---------------------------------------------------------------- scores


def test_a_score_is_the_models_logit(tiny, tmp_path):
    import torch
    import transformers

    found = rerank.load(str(tiny), folder=tmp_path).score(PAIRS, progress=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tiny).eval()
    for pair, score in zip(PAIRS, found, strict=True):
        with torch.inference_mode():
            expected = model(**tokenizer(*pair, return_tensors="pt", return_token_type_ids=True)).logits[0, 0]
        assert score == pytest.approx(float(expected), abs=1e-5)
    assert len(set(found.round(4))) == 3


def test_of_two_outputs_the_second_says_relevant(tmp_path):
    import torch
    import transformers

    folder = classifier(tmp_path / "two", 2)
    found = rerank.load(str(folder), folder=tmp_path).score(PAIRS[:1], progress=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        no, yes = model(**tokenizer(*PAIRS[0], return_tensors="pt", return_token_type_ids=True)).logits[0]
    assert found[0] == pytest.approx(float(yes - no), abs=1e-5)


def test_order_batches_and_repeats_do_not_matter(tiny, tmp_path):
    many = [(s, f"{d} {w}") for s, d in PAIRS for w in tiny_encoders.WORDS[:15]]
    one = rerank.load(str(tiny), folder=tmp_path / "a").score(many, progress=False)
    other = rerank.load(str(tiny), folder=tmp_path / "b").score(many[::-1] + many, progress=False)
    assert np.allclose(one, other[: len(many)][::-1], atol=1e-5) and np.allclose(one, other[len(many) :], atol=1e-5)


def test_what_was_scored_is_not_scored_again(tiny, tmp_path, monkeypatch):
    first = rerank.load(str(tiny), folder=tmp_path)
    scores = first.score(PAIRS, progress=False)
    again = rerank.load(str(tiny), folder=tmp_path, mode="replay")
    monkeypatch.setattr(rerank.Reranker, "_scores", lambda *_: pytest.fail("scored again"))
    assert (again.score(PAIRS[::-1], progress=False) == scores[::-1]).all()
    assert again.notes["kept"] == 3 and again._made is None
    with pytest.raises(ReplayMiss, match="1 scores of .* not kept"):
        again.score([("a", "b")], progress=False)
    assert rerank.load(str(tiny), folder=tmp_path, window=32).identity != again.identity


def test_long_pairs_are_cut_and_counted(tiny, tmp_path):
    model = rerank.load(str(tiny), folder=tmp_path)
    model.score([("insulin", "blood " * 100), PAIRS[0]], progress=False)
    assert (
        model.notes["truncated"] == 1 and model.notes["dropped_tokens"] == 40
    )  # 100 words, 1 word and 3 marks; 64 fit


def test_no_pairs(tiny, tmp_path):
    assert rerank.load(str(tiny), folder=tmp_path).score([], progress=False).shape == (0,)


# ---------------------------------------------------------------- training


@pytest.mark.parametrize(
    ("scores", "relevant", "expected"),
    [
        ([0, 0, 0, 0], 1, math.log(4)),
        ([2, 1], 1, math.log(1 + math.exp(-1))),
        ([1, 2, 3], 1, 3 - 1 + math.log(1 + math.exp(-1) + math.exp(-2))),
        ([0, 0, 0, 0], 2, math.log(2)),  # either of two may come first
        ([5, 7], 2, 0),
        ([1000, 0], 1, 0),
        ([0, 1000], 1, 1000),
    ],
)
def test_the_localized_contrastive_loss(scores, relevant, expected):
    import torch

    assert float(lcl(torch.tensor(scores, dtype=torch.float64), relevant)) == pytest.approx(expected, abs=1e-9)


def test_training_lowers_the_loss_and_ranks_the_relevant_first(tiny, tmp_path):
    model = rerank.load(str(tiny), folder=tmp_path)
    data = groups()
    before = model.score([(g.query, d) for g in data for d in (*g.relevant, *g.others)], progress=False).reshape(-1, 4)
    curve = model.fit(data, epochs=12, learning_rate=5e-3, queries_per_step=4, progress=False)
    after = model.score([(g.query, d) for g in data for d in (*g.relevant, *g.others)], progress=False).reshape(-1, 4)
    assert curve.columns.tolist() == ["step", "epoch", "queries", "loss", "learning_rate"]
    assert curve["step"].tolist() == list(range(1, 37)) and curve["epoch"].max() == 12
    assert curve["loss"][:3].mean() > 4 * curve["loss"][-3:].mean()
    assert (after.argmax(1) == 0).mean() == 1 > (before.argmax(1) == 0).mean()
    assert curve["learning_rate"].max() == pytest.approx(5e-3) and curve["learning_rate"].iloc[-1] < 5e-4


def test_the_first_loss_is_that_of_the_untrained_scores(tiny, tmp_path):
    model, data = rerank.load(str(tiny), folder=tmp_path), groups(6)
    scores = model.score([(g.query, d) for g in data for d in (*g.relevant, *g.others)], progress=False).reshape(-1, 4)
    expected = np.mean(np.log(np.exp(scores).sum(1)) - scores[:, 0])
    assert model.fit(data, epochs=1, queries_per_step=6, progress=False)["loss"][0] == pytest.approx(expected, abs=1e-5)


def test_the_same_training_gives_the_same_model_and_is_done_once(tiny, tmp_path, monkeypatch):
    settings = dict(epochs=2, learning_rate=1e-3, queries_per_step=4, progress=False)
    models = [rerank.load(str(tiny), folder=tmp_path / name) for name in "ab"]
    curves = [model.fit(groups(), **settings) for model in models]
    assert curves[0].equals(curves[1]) and models[0].identity == models[1].identity
    a, b = (model.score(PAIRS, progress=False) for model in models)
    assert (a == b).all()
    monkeypatch.setattr(rerank.Reranker, "_train", lambda *_: pytest.fail("trained again"))
    again = rerank.load(str(tiny), folder=tmp_path / "a", mode="replay")
    assert again.fit(groups(), **settings).equals(curves[0]) and again.training_seconds is not None
    assert (again.score(PAIRS, progress=False) == a).all() and again._made is None
    with pytest.raises(ReplayMiss, match="not yet trained on these 6 groups"):
        again.fit(groups(6), **settings)


def test_settings_and_data_make_another_model(tiny, tmp_path):
    model = rerank.load(str(tiny), folder=tmp_path)
    found = set()
    for data, seed in [(groups(6), 0), (groups(6), 1), (groups(6)[::-1], 0), (groups(), 0)]:
        model = rerank.load(str(tiny), folder=tmp_path)
        model.fit(data, epochs=1, seed=seed, progress=False)
        found.add(model.identity)
    assert len(found) == 4


def test_saved_and_loaded(tiny, tmp_path):
    model = rerank.load(str(tiny), folder=tmp_path / "cache")
    model.fit(groups(), epochs=2, learning_rate=1e-3, progress=False)
    scores = model.score(PAIRS, progress=False)
    model.save(tmp_path / "saved")
    loaded = rerank.load(str(tmp_path / "saved"), folder=tmp_path / "empty")
    assert loaded.identity == model.identity
    assert np.allclose(loaded.score(PAIRS, progress=False), scores, atol=1e-6)
    assert not [f for f in (tmp_path / "saved").iterdir() if f.suffix in (".bin", ".pt", ".pkl")]
    weights = tmp_path / "saved" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    with pytest.raises(ModelError, match="weights are not those that were saved"):
        rerank.load(str(tmp_path / "saved"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(groups=[Group("a", (), ("b",)), Group("a", ("b",), ())]), "none of 2 groups"),
        (dict(epochs=0), "epochs and queries_per_step are at least 1"),
        (dict(warmup=1.0), "warmup in"),
    ],
)
def test_impossible_trainings(tiny, tmp_path, change, message):
    model = rerank.load(str(tiny), folder=tmp_path)
    with pytest.raises(ModelError, match=message):
        model.fit(**{"groups": groups(6), "progress": False} | change)


def test_errors_say_what_is_wrong(tiny, tmp_path):
    with pytest.raises(ModelError, match="none of live, cache, replay"):
        rerank.load("minilm", mode="fresh")
    with pytest.raises(ModelError, match="neither a folder here nor a Hugging Face model"):
        rerank.load("no/such-model-here")
    with pytest.raises(ValueError, match="entry 1: expected a pair"):
        rerank.load(str(tiny), folder=tmp_path).score([("a", "b"), "ab"], progress=False)
    three = classifier(tmp_path / "three", 3)
    with pytest.raises(ModelError, match="has 3 outputs"):
        rerank.load(str(three), folder=tmp_path).score(PAIRS, progress=False)


def test_half_a_model_is_never_left(tiny, tmp_path, monkeypatch):
    model = rerank.load(str(tiny), folder=tmp_path)
    monkeypatch.setattr(
        "factlab.models.rerank_scorers.Classifier.save", lambda *_: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with pytest.raises(OSError, match="disk is full"):
        model.fit(groups(6), epochs=1, progress=False)
    assert [p.name for p in tmp_path.iterdir() if p.is_dir()] == []


def test_damaged_scores_are_named(tmp_path):
    (tmp_path / "scores.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(ModelError, match="move it away and run again"):
        rerank_store.scores_at(tmp_path)


# ---------------------------------------------------------------- the one that is built in


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    return rerank.load("minilm", folder=tmp_path_factory.mktemp("joint"))


@pytest.mark.slow
def test_the_built_in_one_begins_with_the_cosine_of_minilm(joint):
    import torch

    from factlab.models import embed
    from factlab.models.embed_store import Store

    encode = embed.load("local/minilm", store=Store(None))
    scorer = joint._scorer
    scorer.prepare(PAIRS)
    for s, d in PAIRS:
        a, b = encode([s, d])
        assert float(scorer.known[s][1] @ scorer.known[d][1]) == pytest.approx(float(a @ b), abs=1e-5)
    with torch.no_grad():
        whole = scorer.scores(PAIRS)
        scorer.head["mix"][1] = 0
        cosines = scorer.scores(PAIRS) / 20
        scorer.head["mix"][1] = 20
    assert float(cosines[0]) == pytest.approx(float(encode([PAIRS[0][0]])[0] @ encode([PAIRS[0][1]])[0]), abs=1e-5)
    match = (whole - 20 * cosines) / 20
    assert ((match > 0) & (match <= 1)).all()


@pytest.mark.slow
def test_the_built_in_one_reads_both_texts_together(joint):
    """Its token match is not that of two texts read apart: the sentence's tokens attend to the document."""
    import torch

    scorer = joint._scorer
    (s, d), other = PAIRS[0], PAIRS[1][1]
    scorer.prepare([(s, d), (s, other)])
    states = {}
    hook = scorer.together[-1].register_forward_hook(lambda *found: states.setdefault(len(states), found[2]))
    with torch.no_grad():
        scorer.scores([(s, d)])
        scorer.scores([(s, other)])
    hook.remove()
    n = scorer.known[s][2]
    assert (states[0][0, :n] - states[1][0, :n]).abs().max() > 0.05


@pytest.mark.slow
def test_the_built_in_one_learns_and_keeps_only_what_it_learned(tmp_path):
    texts = tiny_encoders.sentences(8, 3)
    data = [
        Group(t, (f"Nothing about this. {t[::-1]}",), (t, f"{t} again")) for t in texts
    ]  # against its first opinion
    model = rerank.load("minilm", folder=tmp_path)
    curve = model.fit(data, epochs=4, learning_rate=3e-4, queries_per_step=4, progress=False)
    assert curve["loss"].iloc[-1] < 0.8 * curve["loss"].iloc[0]
    scores = model.score([(g.query, d) for g in data for d in (*g.relevant, *g.others)], progress=False)
    saved = model.save(tmp_path / "saved")
    assert (saved / "model.safetensors").stat().st_size < 16e6
    assert json.loads((saved / "reranker.json").read_text())["kind"] == "joint"
    loaded = rerank.load(str(saved), folder=tmp_path / "empty")
    again = loaded.score([(g.query, d) for g in data for d in (*g.relevant, *g.others)], progress=False)
    assert np.allclose(scores, again, atol=1e-4)
