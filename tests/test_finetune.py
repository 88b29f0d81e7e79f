"""Fine-tuning: a tiny random model learns a few replies by heart; prompts carry no loss; nothing is trained twice or leaks."""

import json
import math

import pytest

from factlab import models
from factlab.models import ModelError, finetune, weights
from factlab.models.cache import Cache

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
PROMPTS = ["first", "second one", "and a third, longer one", "d"]
TARGETS = ["Maps", "Trees", "Graph Cuts", "pass"]
QUICK = {"rank": 8, "alpha": 16, "lr": 2e-2, "batch_tokens": 256, "device": "cpu", "progress": False}


def tiny(folder, template=TEMPLATE, window=128):
    """A two-layer model with random weights and a byte-level tokenizer."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate([*alphabet, "</s>"])}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", bos_token="</s>")
    fast.chat_template = template
    fast.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=window, bos_token_id=256, eos_token_id=256,
            initializer_range=0.6,
        )  # fmt: skip
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """A model of this size is faster with one, and all else on the machine does not matter then."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def learned(base, tmp_path_factory):
    """(result, folder) of 120 passes over four pairs."""
    folder = tmp_path_factory.mktemp("out") / "learned"
    return finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, epochs=120, folder=folder, **QUICK), folder


def loaded(folder):
    return models.load(f"hf/{folder}", dtype="float32", device="cpu", cache=Cache(None))


def answers(folder):
    return [r.text for r in loaded(folder).chat(PROMPTS, max_tokens=16, progress=False)]


# -- what is learned --------------------------------------------------------------------------------------------------


def test_learns_what_it_is_shown_and_the_base_does_not_change(base, learned):
    result, folder = learned
    assert result.trained and result.folder == folder and result.pairs == 4 and result.too_long == 0
    assert result.losses["loss"].iloc[0] > 4 and result.losses["loss"].iloc[-1] < 0.1  # ln 257 = 5.5 is chance
    assert answers(folder) == TARGETS
    assert answers(base) != TARGETS
    assert answers(result.name.removeprefix("hf/")) == TARGETS
    before, after = (
        finetune.target_losses(f"hf/{f}", PROMPTS, TARGETS, device="cpu", progress=False) for f in (base, folder)
    )
    assert max(after) < 0.1 < 4 < min(before)


def test_each_step_is_told(learned):
    losses = learned[0].losses
    assert losses["step"].tolist() == list(range(1, len(losses) + 1))
    assert losses["epoch"].iloc[0] == 1 and losses["epoch"].iloc[-1] == 120
    # every epoch has every reply once: its letters and the mark that ends it
    assert set(losses.groupby("epoch")["tokens"].sum()) == {sum(len(t) + 1 for t in TARGETS)} == {learned[0].tokens}
    assert "4 pairs" in str(learned[0]) and "None" not in str(learned[0])


def test_the_trained_model_has_an_identity_of_its_own(base, learned):
    assert loaded(base).backend.identity()["weights"] != loaded(learned[1]).backend.identity()["weights"]
    assert list(learned[1].glob("*.safetensors")) and not list(learned[1].glob("*.bin"))


# -- the loss ---------------------------------------------------------------------------------------------------------


def reference(model, prompt, reply):
    """Cross-entropy of each reply token, one row alone, by the definition."""
    with torch.no_grad():
        logits = model(torch.tensor([prompt + reply])).logits[0].double()
    return [
        float(torch.logsumexp(logits[len(prompt) + k - 1], 0) - logits[len(prompt) + k - 1, token])
        for k, token in enumerate(reply)
    ]


def test_loss_is_that_of_the_reply_alone_whatever_else_is_in_the_batch(base):
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    rows = [([1, 2, 3], [4, 5]), ([9] * 40, [7, 8, 6, 256]), ([5], [3])]
    losses, counts = finetune.reply_losses(model, rows, 256)
    assert counts.tolist() == [2, 4, 1] and losses.shape == (3, 4)
    for row, found in zip(rows, losses.tolist(), strict=True):
        assert found[: 4 - len(row[1])] == [0.0] * (4 - len(row[1]))
        assert found[4 - len(row[1]) :] == pytest.approx(reference(model, *row), abs=1e-5)


def test_tokens_of_the_prompt_get_no_loss(base):
    """The gradient at the last layer's output is zero wherever a prompt's token is predicted."""
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    seen = {}
    model.lm_head.register_full_backward_hook(lambda module, of_inputs, of_outputs: seen.update(g=of_outputs[0]))
    losses, _ = finetune.reply_losses(model, [([1, 2, 3, 4], [5, 6]), ([1] * 9, [2, 3, 4, 5])], 256)
    losses.sum().backward()
    size = seen["g"].abs().sum(-1)  # (rows, last five positions): the fifth predicts what comes after the reply
    assert (size[0] > 0).tolist() == [False, False, True, True, False]
    assert (size[1] > 0).tolist() == [True, True, True, True, False]
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_what_is_read_is_what_the_model_is_asked_with(base):
    backend = loaded(base).backend
    backend._load()
    (row,) = finetune._rows(backend, ["why"], ["so"], "be brief")
    assert backend._tokenizer.decode(row[0]) == "<system>be brief</s><user>why</s><assistant>"
    assert backend._tokenizer.decode(row[1]) == "so</s>"


def test_a_base_model_reads_the_prompt_as_it_stands(tmp_path):
    plain = tiny(tmp_path / "plain", template=None)
    backend = loaded(plain).backend
    backend._load()
    (row,) = finetune._rows(backend, ["why"], ["so"], None)
    assert backend._tokenizer.decode(row[0]) == "why"
    with pytest.raises(ModelError, match="takes no system message"):
        finetune.finetune(f"hf/{plain}", ["why"], ["so"], system="x", folder=tmp_path / "new", steps=1, **QUICK)


# -- the same again ---------------------------------------------------------------------------------------------------


def test_same_seed_same_weights_another_seed_others(base, tmp_path):
    def train(name, seed):
        torch.manual_seed(len(name))  # what a user did before must not matter
        torch.rand(3)
        made = finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, steps=3, seed=seed, folder=tmp_path / name, **QUICK)
        return weights.folder_of(str(made.folder))[1], made.losses["loss"].tolist()

    first = train("a", 0)
    assert train("other", 0) == first
    assert train("b", 1)[0] != first[0]


def test_training_leaves_the_users_random_numbers_alone(base, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(2).tolist()
    torch.manual_seed(5)
    finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, steps=1, folder=tmp_path / "x", **QUICK)
    assert torch.rand(2).tolist() == expected


def test_the_same_is_not_trained_twice(base, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    fits = []
    fit = finetune._fit
    monkeypatch.setattr(finetune, "_fit", lambda *a: fits.append(1) or fit(*a))

    def train(**more):
        settings = QUICK | {"steps": 2} | more
        return finetune.finetune(f"hf/{base}", PROMPTS, settings.pop("targets", TARGETS), folder=folder, **settings)

    first = train()
    again = train()
    assert len(fits) == 1 and first.trained and not again.trained
    assert again.losses.equals(first.losses) and again.name == first.name and again.seconds == first.seconds
    assert "trained before" in str(again)
    for change in ({"lr": 1e-2}, {"seed": 3}, {"rank": 4}, {"steps": 3}, {"targets": TARGETS[::-1]}, {"system": "x"}):
        assert train(**change).trained, change
    train()
    made = len(fits)
    damaged = next(folder.glob("*.safetensors"))
    damaged.write_bytes(damaged.read_bytes()[:-4] + b"\1\2\3\4")
    assert train().trained and len(fits) == made + 1


def test_without_a_folder_it_lies_under_outputs(base, tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params").mkdir()
    monkeypatch.chdir(tmp_path)
    made = finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, steps=1, **QUICK)
    assert made.folder.parent == tmp_path / "outputs" / "finetuned"
    assert made.name == f"hf/outputs/finetuned/{made.folder.name}"
    assert len(loaded(made.name.removeprefix("hf/")).chat(["a"], max_tokens=2, progress=False)) == 1


def test_nothing_half_written_is_left(base, tmp_path, monkeypatch):
    folder, backend = tmp_path / "out", loaded(base).backend

    def stop(name):
        assert (tmp_path / "out.part" / "model.safetensors").is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(finetune, "_backend", lambda *a: backend)
    monkeypatch.setattr(finetune.weights, "folder_of", stop)
    with pytest.raises(KeyboardInterrupt):
        finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, steps=1, folder=folder, **QUICK)
    assert [p.name for p in tmp_path.iterdir() if p.is_dir()] == []


# -- what cannot be trained on ----------------------------------------------------------------------------------------


def test_too_long_pairs_are_counted_and_left_out(base, tmp_path):
    prompts, targets = [*PROMPTS, "x" * 200], [*TARGETS, "y"]
    made = finetune.finetune(f"hf/{base}", prompts, targets, steps=1, folder=tmp_path / "out", **QUICK)
    assert (made.pairs, made.too_long) == (4, 1) and "1 more left out" in str(made)
    found = finetune.target_losses(f"hf/{base}", prompts, targets, device="cpu", progress=False)
    assert [f is None for f in found] == [False] * 4 + [True]
    with pytest.raises(ModelError, match="none of the 1 pairs fits"):
        finetune.finetune(f"hf/{base}", prompts[-1:], targets[-1:], steps=1, folder=tmp_path / "none", **QUICK)


def test_a_pair_that_just_fits_is_trained_on(base):
    backend = loaded(base).backend
    backend._load()
    around = len("<user>") + len("<assistant>") + 1
    just = "x" * (128 - around - 2)
    assert [row is None for row in finetune._rows(backend, [just, just + "x"], ["y", "y"], None)] == [False, True]


@pytest.mark.parametrize("held_out, groups, message", [
    (["p3", "p9"], ["p1", "p2", "p3", "p1"], r"leak: 1 of the groups .*\(p3\)"),
    ([3], ["1", "2", "3", "1"], "leak"),
    (["p9"], None, "without groups"),
    ([], ["p1"], "4 pairs but 1 groups"),
])  # fmt: skip
def test_leaks_fail(base, tmp_path, held_out, groups, message):
    with pytest.raises(ModelError, match=message):
        finetune.finetune(
            f"hf/{base}", PROMPTS, TARGETS, groups=groups, held_out=held_out, folder=tmp_path / "x", **QUICK
        )
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("prompts, targets, message", [
    ([], [], "nothing to train on"),
    (["a"], [""], "pair 1 of 1: the reply is empty"),
    (["a", " \n"], ["b", "c"], "pair 2 of 2: the prompt is empty"),
    (["a"], [None], "the reply is empty"),
    (["a", "b"], ["c"], "as many replies"),
    ("ab", "cd", "a list of prompts"),
])  # fmt: skip
def test_bad_pairs_are_named(base, tmp_path, prompts, targets, message):
    with pytest.raises(ModelError, match=message):
        finetune.finetune(f"hf/{base}", prompts, targets, folder=tmp_path / "x", **QUICK)


@pytest.mark.parametrize(
    "setting", [{"rank": 0}, {"lr": -1.0}, {"epochs": 1.5}, {"batch_tokens": "many"}, {"steps": -2}]
)
def test_settings_out_of_range_are_named(base, tmp_path, setting):
    with pytest.raises(ModelError, match=f"{next(iter(setting))} must be a"):
        finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, folder=tmp_path / "x", **QUICK | setting)


def test_without_peft_it_says_how_to_add_it(base, tmp_path, monkeypatch):
    found = finetune.importlib.util.find_spec
    monkeypatch.setattr(finetune.importlib.util, "find_spec", lambda name: None if name == "peft" else found(name))
    with pytest.raises(ModelError, match="pip install peft"):
        finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, folder=tmp_path / "x", **QUICK)


@pytest.mark.parametrize("name", ["openai/gpt-4o", "recorded", "smollm2"])
def test_only_local_models_can_be_trained(name, tmp_path):
    with pytest.raises(ModelError, match="does not run on this machine"):
        finetune.finetune(name, PROMPTS, TARGETS, folder=tmp_path / "x", **QUICK)


def test_no_folder_of_the_users_is_replaced(base, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match="not replaced"):
        finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, steps=1, folder=mine, **QUICK)
    assert (mine / "thesis.txt").read_text() == "years of work"
    with pytest.raises(ModelError, match="overwrite the one it is made from"):
        finetune.finetune(f"hf/{base}", PROMPTS, TARGETS, steps=1, folder=base, **QUICK)


def test_a_diverging_training_is_stopped(base, tmp_path):
    with pytest.raises(ModelError, match="went astray.*lower lr"):
        finetune.finetune(
            f"hf/{base}", PROMPTS, TARGETS, steps=20, folder=tmp_path / "x", **QUICK | {"lr": 1e30, "alpha": 1e20}
        )
    assert not (tmp_path / "x").exists()


def test_learning_rate_rises_then_falls_and_never_is_zero():
    shares = [finetune._share(step, 40) for step in range(40)]
    assert shares[3] == max(shares) == 1.0 and shares[0] == 0.25 and 0 < shares[-1] < 0.05
    assert shares[4:] == sorted(shares[4:], reverse=True)
    assert [finetune._share(0, 1)] == [1.0]


def test_batches_hold_their_budget_and_every_row_once():
    rows = [([0] * n, [0]) for n in (3, 90, 5, 7, 7, 300, 2)]
    batches = finetune._packed(range(7), rows, 100)
    assert sorted(i for batch in batches for i in batch) == list(range(7))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(sum(map(len, rows[i])) for i in batch) <= 100
    assert [5] in batches and math.prod(map(len, batches)) > 1


@pytest.mark.slow
def test_the_built_in_model_learns_and_is_loaded_again(tmp_path):
    """Read from gguf, trained, saved as safetensors: the way that weights read from gguf cannot go by themselves."""
    prompts = ["Which paper? Sentence: layers that skip", "Which paper? Sentence: attention without recurrence"]
    targets = ["Deep Residual Learning for Image Recognition", "Attention Is All You Need"]
    made = finetune.finetune(
        "local/smollm2", prompts, targets, epochs=12, lr=2e-3, folder=tmp_path / "out", device="cpu", progress=False
    )
    assert made.losses["loss"].iloc[-1] < 0.3 < made.losses["loss"].iloc[0]
    model = models.load(made.name, device="cpu", cache=Cache(None))
    assert [r.text for r in model.chat(prompts, max_tokens=24, progress=False)] == targets
    assert json.loads((made.folder / "config.json").read_text())["model_type"] == "llama"
