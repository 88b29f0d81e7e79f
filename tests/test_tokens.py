"""Token encoders and NLI models by name: tiny random ones made here, and the built-in MiniLM."""

import json

import numpy as np
import pytest
from tests import tiny_encoders

from factlab.models import ModelError, nli, tokens

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_encoders.bert(tmp_path_factory.mktemp("bert"))


def hidden(folder, text, layer):
    """What transformers computes for one text alone, all layers."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        out = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
    return out.hidden_states[layer][0].numpy()


@pytest.mark.parametrize("layer", [0, 1, 4])
@pytest.mark.parametrize("budget", [1, 40, 8000])
def test_vectors_are_those_of_the_layer_whatever_the_batch(tiny, layer, budget):
    texts = [*tiny_encoders.sentences(8), "", "a"]
    encode = tokens.load(str(tiny), layer, device="cpu", token_budget=budget)
    made = encode(texts)
    for text, one in zip(texts, made, strict=True):
        expected = hidden(tiny, text, layer)
        assert one.vectors.dtype == np.float32 and one.vectors.shape == expected.shape
        assert np.abs(one.vectors - expected).max() < 1e-5
        assert one.special.tolist() == [True, *[False] * (len(expected) - 2), True] and len(one.ids) == len(expected)
    assert encode.notes == {"encoded": 10, "truncated": 0, "dropped_tokens": 0}
    assert encode([]) == []


def test_batches_keep_the_budget_and_every_text():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 90, 200).tolist()
    made = tokens.batches(lengths, 300)
    assert sorted(i for batch in made for i in batch) == list(range(200))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 300 for batch in made)
    assert len(made) < 1.3 * sum(lengths) / 300 + 2
    assert tokens.batches([500, 2], 100) == [[0], [1]] and tokens.batches([], 5) == []


def test_a_mark_written_in_a_text_is_a_mark(tiny):
    (one,) = tokens.load(str(tiny), 2, device="cpu")(["cell [SEP] cell"])
    assert one.special.tolist() == [True, False, True, False, True]


def test_spaces_around_a_text_do_not_count(tiny):
    a, b = tokens.load(str(tiny), 2, device="cpu")(["the cell", "  the cell\n"])
    assert np.allclose(a.vectors, b.vectors, atol=1e-6)


def test_a_text_longer_than_the_window_is_counted_or_refused(tiny):
    long = "cell " * 100
    encode = tokens.load(str(tiny), 2, device="cpu")
    with pytest.warns(UserWarning, match="1 of 2 texts are longer than its 64 tokens; 38 tokens"):
        made = encode(["cell", long])
    assert encode.notes == {"encoded": 2, "truncated": 1, "dropped_tokens": 38} and encode.window == 64
    assert len(made[1].ids) == 64 and made[1].special.tolist() == [True, *[False] * 62, True]
    with pytest.raises(ModelError, match="1 of 2 texts are longer.*'cell cell"):
        tokens.load(str(tiny), 2, device="cpu", too_long="error")(["cell", long])


def test_the_window_is_known_even_if_the_tokenizer_does_not_say(tmp_path):
    folder = tiny_encoders.bert(tmp_path)
    tiny_encoders.tokenizer().save_pretrained(folder)  # its own limit: none
    assert tokens.load(str(folder), 2, device="cpu").window == 64
    config = {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}
    assert tokens.window(tiny_encoders.tokenizer(), config) == 512


def test_a_layer_is_published_or_has_to_be_chosen(tiny, tmp_path):
    with pytest.raises(ModelError, match="no layer is published for it; choose one, 0 to 4"):
        tokens.load(str(tiny))
    with pytest.raises(ModelError, match="layer 5 does not exist; it has the layers 0 to 4"):
        tokens.load(str(tiny), 5)
    assert tokens.load("local/minilm").layer == 6
    for name, layer in {"bert-base-uncased": 9, "roberta-large": 17, "deberta-xlarge-mnli": 40}.items():
        folder = tmp_path / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"num_hidden_layers": 48}))
        (folder / "model.safetensors").write_bytes(b"")
        assert tokens.load(f"hf/{folder}").layer == layer


def test_unknown_models_and_choices_are_errors():
    with pytest.raises(ModelError, match="neither a folder here nor a Hugging Face model"):
        tokens.load("nobody/nothing", 3)
    with pytest.raises(ModelError, match="'cut' or 'error'"):
        tokens.load("local/minilm", too_long="drop")


def test_identity_tells_layers_apart(tiny):
    assert len({tokens.load(str(tiny), n).identity for n in (1, 2)} | {tokens.load("local/minilm").identity}) == 3
    assert tokens.load(str(tiny), 1).identity == tokens.load(f"hf/{tiny}", 1).identity


def test_roberta_reads_a_first_word_as_one_after_a_space(tmp_path):
    """As BERTScore's numbers for roberta-large were computed."""
    import transformers
    from tokenizers import pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {t: i for i, t in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters, "Ġh"])}
    made = transformers.RobertaTokenizer(vocab=vocabulary, merges=[("Ġ", "h")], model_max_length=30)
    made.save_pretrained(tmp_path)
    config = transformers.RobertaConfig(
        vocab_size=len(vocabulary), hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=32, pad_token_id=1,
    )  # fmt: skip
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    encode = tokens.load(str(tmp_path), 1, device="cpu")
    a, b, empty = encode(["hi", "a hi", ""])
    assert a.ids[1] == b.ids[3] == vocabulary["Ġh"] and a.special.tolist() == [True, False, False, True]
    assert empty.special.all() and encode.window == 30


def test_deberta_is_cut_after_its_layer(tmp_path):
    folder = tiny_encoders.deberta(tmp_path, {0: "a", 1: "b"})
    (one,) = tokens.load(str(folder), 1, device="cpu")(["the cell grew"])
    assert np.abs(one.vectors - hidden(folder, "the cell grew", 1)).max() < 1e-5


def test_a_model_of_another_build_gives_the_layer_too(tmp_path):
    """DistilBERT keeps its layers elsewhere; ModernBERT where only the outputs of all layers tell."""
    import transformers

    small = {"vocab_size": 120, "pad_token_id": 0, "max_position_embeddings": 64}
    distil = transformers.DistilBertConfig(dim=16, hidden_dim=16, n_layers=3, n_heads=2, **small)
    modern = transformers.ModernBertConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2, bos_token_id=2, eos_token_id=3,
        cls_token_id=2, sep_token_id=3, **small,
    )  # fmt: skip
    for config, kind in ((distil, transformers.DistilBertModel), (modern, transformers.ModernBertModel)):
        folder = tmp_path / config.model_type
        tiny_encoders.tokenizer(model_max_length=64).save_pretrained(folder)
        kind(config).save_pretrained(folder)
        (one,) = tokens.load(str(folder), 2, device="cpu")(["the cell"])
        assert np.abs(one.vectors - hidden(folder, "the cell", 2)).max() < 1e-5


def test_baselines_of_a_layer(tmp_path):
    table = tmp_path / "b.tsv"
    table.write_text("LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.4,0.5,0.6\n")
    assert tokens.baseline(table, 1).tolist() == [0.4, 0.5, 0.6]
    with pytest.raises(ModelError, match="no layer 2; it has 0, 1"):
        tokens.baseline(table, 2)
    with pytest.raises(ModelError, match="cannot be read"):
        tokens.baseline(tmp_path / "none.tsv", 1)
    table.write_text("a\tb\n1\t2\n")
    with pytest.raises(ModelError, match="columns LAYER, P, R, F"):
        tokens.baseline(table, 1)


@pytest.mark.released
@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-large", "microsoft/deberta-xlarge-mnli"])
def test_published_baselines_have_the_default_layer(released, name):
    b = tokens.baseline(released / "bertscore" / "rescale_baseline" / f"{name}.tsv", tokens.LAYERS[name.split("/")[-1]])
    assert b.shape == (3,) and ((b > 0.3) & (b < 0.9)).all()
    if "deberta" in name:
        assert b[2] == pytest.approx(0.5150192, abs=1e-6)


# --- NLI ---

THREE = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return tiny_encoders.deberta(tmp_path_factory.mktemp("nli"), THREE)


@pytest.mark.parametrize("budget", [1, 8000])
def test_probabilities_by_the_models_own_labels(classifier, budget):
    import torch
    import transformers

    premises, hypotheses = tiny_encoders.sentences(6), tiny_encoders.sentences(6, 1)
    made = nli.load(str(classifier), device="cpu", token_budget=budget)(premises, hypotheses)
    tokenizer = transformers.AutoTokenizer.from_pretrained(classifier)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    for i, pair in enumerate(zip(premises, hypotheses, strict=True)):
        with torch.inference_mode():
            logits = model(**tokenizer(*pair, return_tensors="pt")).logits[0]
        expected = dict(zip(("contradiction", "neutral", "entailment"), logits.softmax(-1).tolist(), strict=True))
        assert {k: v[i] for k, v in made.items()} == pytest.approx(expected, abs=1e-5)
    assert np.ptp(made["contradiction"]) > 1e-3


def test_bert_is_told_which_text_is_the_second(tmp_path):
    import torch
    import transformers

    torch.manual_seed(2)
    tiny_encoders.tokenizer(model_max_length=64).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=120, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, initializer_range=0.5, id2label={0: "contradiction", 1: "entailment"},
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config).eval()
    model.save_pretrained(tmp_path)
    inputs = transformers.AutoTokenizer.from_pretrained(tmp_path)(
        "cell", "the heart", return_tensors="pt", return_token_type_ids=True
    )
    with torch.inference_mode():
        right = model(**inputs).logits.softmax(-1)[0, 0].item()
        wrong = model(**{k: v for k, v in inputs.items() if k != "token_type_ids"}).logits.softmax(-1)[0, 0].item()
    made = nli.load(str(tmp_path), device="cpu")(["cell"], ["the heart"])["contradiction"][0]
    assert made == pytest.approx(right, abs=1e-5) and abs(right - wrong) > 1e-4


def test_labels_that_say_nothing_have_to_be_given(tmp_path):
    folder = tiny_encoders.deberta(tmp_path, {0: "LABEL_0", 1: "LABEL_1"})
    with pytest.raises(ModelError, match="does not say what is entailment"):
        nli.load(str(folder))
    model = nli.load(str(folder), labels=["contradiction", "entailment"], device="cpu")
    assert set(model(["a"], ["the cell"])) == {"entailment", "contradiction"}
    with pytest.raises(ModelError, match="3 labels given, the model has 2 outputs"):
        nli.load(str(folder), labels=["contradiction", "neutral", "entailment"])


def test_pairs_longer_than_the_window_are_counted_or_refused(classifier):
    model = nli.load(str(classifier), device="cpu")
    with pytest.warns(UserWarning, match="1 of 2 pairs are longer than its 64 tokens"):
        made = model(["cell", "cell"], ["heart", "heart " * 80])
    assert made["neutral"].shape == (2,) and model.notes == {"asked": 2, "truncated": 1, "dropped_tokens": 20}
    with pytest.raises(ModelError, match="longer than its 64"):
        nli.load(str(classifier), too_long="error")(["cell"], ["heart " * 80])
    with pytest.raises(ValueError, match="two lists"):
        model(["a"], ["b", "c"])
    assert {k: v.shape for k, v in model([], []).items()} == dict.fromkeys(
        ("contradiction", "neutral", "entailment"), (0,)
    )
