"""How a cross-encoder scores a batch of pairs, in torch: `Joint`, made from the built-in MiniLM, and `Classifier`, any from the hub.

Both have the same four parts: `prepare` (what the texts of some pairs need before they meet), `scores` (a tensor that can be
learned from), `learned` (what is learned, with its share of the learning rate), `save` and `restore`. `rerank` calls them; nothing else should.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from factlab.models import weights
from factlab.models.base import ModelError
from factlab.models.tokens import _settings, padded, pick_device, quietly, window

Pair = tuple[str, str]
_COMMONEST = 1996  # number of "the" in MiniLM's vocabulary, its first word
ALONE = 4  # MiniLM's layers that read each text alone; the other two read the pair
_KEPT = 1_500  # texts whose states are held at once: about 300 MB


class Joint:
    """A cross-encoder out of the built-in all-MiniLM-L6-v2, which was trained to embed texts and has no head for pairs.

    A head with random weights would need far more pairs than a sample has before it beat the vectors that MiniLM already makes. So
    the score begins as something sensible and learns from there:

        z(s, d) = a · cos(e(s), e(d)) + b · m(s, d) + w · (u ⊙ v)

    e is MiniLM's own vector of a text, as the bi-encoder has it, and stays as it is. The other two come from reading the pair together:
    the first four layers read each text alone (their states are computed once a text), the last two read both, every token
    attending to those of both texts. m is the mean, over the sentence's tokens, of the largest cosine with a token of the
    document, rare tokens counting more; u and v are the mean vectors of both texts at length 1. At the start a = b = 20 and w = 0.
    Learned are the last two layers, a, b and w. How rare a token is, its number tells: the vocabulary is in the order of frequency
    (the weight is log(number / number of "the") + 0.05, and 0 for marks).

    Nothing in it is random. z is a logit: only differences between documents of one sentence mean anything.
    """

    kind = "joint"
    budget = {"cpu": 3_000, "cuda": 65_536, "mps": 8_192}

    def __init__(self, device: str, most: int | None) -> None:
        import torch
        import transformers

        folder = weights.minilm()
        self.device = pick_device(device)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.encoder = (
            quietly(transformers.AutoModel.from_pretrained, folder, dtype=torch.float32).to(self.device).eval()
        )
        self.encoder.requires_grad_(False)
        self.window = min(most or 256, 256)  # MiniLM was trained on texts of at most 256 tokens
        layers = self.encoder.encoder.layer
        self.together = torch.nn.ModuleList(copy.deepcopy(layer) for layer in layers[ALONE:]).requires_grad_(True)
        self.head = {
            "mix": torch.nn.Parameter(torch.tensor([20.0, 20.0], device=self.device)),
            "product": torch.nn.Parameter(torch.zeros(self.encoder.config.hidden_size, device=self.device)),
        }
        self.known: dict[str, tuple[Any, Any, int, Any]] = {}
        self.cut: dict[str, int] = {}

    def learned(self) -> list[tuple[list[Any], float, bool]]:
        """Parameters, the learning rate's factor, and whether weights decay. A head of few numbers needs larger steps."""
        return [
            (list(self.together.parameters()), 1.0, True),
            ([self.head["mix"]], 500.0, False),
            ([self.head["product"]], 10.0, True),
        ]

    def prepare(self, pairs: Sequence[Pair]) -> list[int]:
        """Read each text alone; tokens of each pair."""
        import torch

        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        if len(self.known) + sum(text not in self.known for text in texts) > _KEPT:
            self.known = {text: self.known[text] for text in texts if text in self.known}
        new = [text for text in texts if text not in self.known]
        if new:
            listed = self.tokenizer(new, verbose=False)["input_ids"]
            self.cut |= {
                t: len(ids) - self.window for t, ids in zip(new, listed, strict=True) if len(ids) > self.window
            }
            listed = [ids if len(ids) <= self.window else [*ids[: self.window - 1], ids[-1]] for ids in listed]
            from factlab.models.embed_local import batches

            with torch.inference_mode():
                for batch in batches([len(ids) for ids in listed], 2_048):
                    ids, mask = (
                        t.to(self.device) for t in padded([listed[i] for i in batch], self.tokenizer.pad_token_id)
                    )
                    states = self.encoder.embeddings(input_ids=ids)
                    gaps = _blocked(mask[:, None, None, :].bool())
                    layers = self.encoder.encoder.layer
                    for layer in layers[:ALONE]:
                        states = layer(states, gaps)
                    last = states
                    for layer in layers[ALONE:]:
                        last = layer(last, gaps)
                    vectors = _unit((last * mask[..., None]).sum(1))
                    for row, i in enumerate(batch):
                        own = states[row, : len(listed[i])].clone()
                        self.known[new[i]] = (
                            own,
                            vectors[row].clone(),
                            len(listed[i]),
                            _rarity(ids[row, : len(listed[i])]),
                        )
        return [self.known[s][2] + self.known[d][2] for s, d in pairs]

    def scores(self, pairs: Sequence[Pair]) -> Any:
        """(n,) logits; `prepare` has seen the pairs."""
        import torch

        first, second = ([self.known[pair[side]] for pair in pairs] for side in (0, 1))
        width = max(a[2] + b[2] for a, b in zip(first, second, strict=True))
        states = torch.zeros(len(pairs), width, self.encoder.config.hidden_size, device=self.device)
        of_first = torch.zeros(len(pairs), width, dtype=torch.bool, device=self.device)
        of_second, rarity = torch.zeros_like(of_first), torch.zeros(len(pairs), width, device=self.device)
        for row, ((s, _, n, rare), (d, _, m, _)) in enumerate(zip(first, second, strict=True)):
            states[row, :n], states[row, n : n + m], rarity[row, :n] = s, d, rare
            of_first[row, :n], of_second[row, n : n + m] = True, True
        gaps = _blocked((of_first | of_second)[:, None, None, :])
        for layer in self.together:
            states = layer(states, gaps)
        tokens = _unit(states)
        nearest = (tokens @ tokens.transpose(1, 2)).masked_fill(~of_second[:, None, :], -2.0).amax(-1)
        match = (nearest * rarity).sum(1) / rarity.sum(1)
        u, v = (_unit((states * part[..., None]).sum(1)) for part in (of_first, of_second))
        alone = (torch.stack([s[1] for s in first]) * torch.stack([d[1] for d in second])).sum(1)
        mix = self.head["mix"]
        return mix[0] * alone + mix[1] * match + 20 * (u * v) @ self.head["product"]

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        found = {f"together.{name}": value for name, value in self.together.state_dict().items()}
        found |= {f"head.{name}": value.detach() for name, value in self.head.items()}
        save_file({name: value.cpu().contiguous() for name, value in found.items()}, folder / "model.safetensors")

    def restore(self, folder: Path) -> None:
        import torch
        from safetensors.torch import load_file

        found = load_file(folder / "model.safetensors")
        self.together.load_state_dict(
            {k.removeprefix("together."): v for k, v in found.items() if k.startswith("together.")}
        )
        with torch.no_grad():
            for name, value in self.head.items():
                value.copy_(found[f"head.{name}"])


class Classifier:
    """A cross-encoder from the hub or a folder: a sequence classifier that reads both texts at once and has one output.

    Of one with two outputs the score is the second less the first. An encoder without a head (`microsoft/mpnet-base`) gets one with
    random weights, always the same; until it is fine-tuned its scores mean nothing.
    """

    kind = "classifier"
    budget = {"cpu": 2_048, "cuda": 65_536, "mps": 8_192}

    def __init__(self, folder: Path, device: str, most: int | None) -> None:
        import torch
        import transformers

        self.device = pick_device(device)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        make = transformers.AutoModelForSequenceClassification.from_pretrained
        fresh = not any("SequenceClassification" in name for name in _settings(folder).get("architectures") or [])
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                options = {"num_labels": 1} if fresh else {}
                self.model = quietly(make, folder, dtype=torch.float32, use_safetensors=True, **options)
            self.model = self.model.to(self.device).eval()
        except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ModelError(f"{folder.name} cannot be loaded as a cross-encoder: {why}") from error
        if self.model.config.num_labels not in (1, 2):
            raise ModelError(
                f"{folder.name} has {self.model.config.num_labels} outputs; a reranker has one score, or two classes of "
                "which the second is 'relevant'"
            )
        positions = window(self.tokenizer, _settings(folder))
        self.window = min(most or positions, positions)
        self.segments = getattr(self.model.config, "type_vocab_size", 0) > 1
        self.known: dict[Pair, tuple[list[int], list[int]]] = {}
        self.cut: dict[Pair, int] = {}

    def learned(self) -> list[tuple[list[Any], float, bool]]:
        return [(list(self.model.parameters()), 1.0, True)]

    def prepare(self, pairs: Sequence[Pair]) -> list[int]:
        self.known = (
            {pair: self.known[pair] for pair in pairs if pair in self.known} if len(self.known) > 20_000 else self.known
        )
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        if new:
            first, second = [s for s, _ in new], [d for _, d in new]
            # The end of the longer text is left out, as cross-encoders are trained.
            cut = self.tokenizer(
                first, second, truncation="longest_first", max_length=self.window, return_token_type_ids=True
            )
            whole = self.tokenizer(first, second, verbose=False)["input_ids"]
            for pair, ids, segments, every in zip(new, cut["input_ids"], cut["token_type_ids"], whole, strict=True):
                self.known[pair] = ids, segments
                if len(every) > len(ids):
                    self.cut[pair] = len(every) - len(ids)
        return [len(self.known[pair][0]) for pair in pairs]

    def scores(self, pairs: Sequence[Pair]) -> Any:
        listed = [self.known[pair] for pair in pairs]
        ids, mask = padded([ids for ids, _ in listed], self.tokenizer.pad_token_id or 0)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.segments:
            inputs["token_type_ids"] = padded([segments for _, segments in listed], 0)[0]
        logits = self.model(**{name: value.to(self.device) for name, value in inputs.items()}).logits.float()
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def restore(self, folder: Path) -> None:
        """Nothing: it was made from the folder that it was saved in."""


Scorer = Joint | Classifier


def _rarity(ids: Any) -> Any:
    """Weights of a text's tokens, by their numbers; the marks at both ends have none, unless there is nothing else."""
    weights = (ids.float().clamp(min=_COMMONEST) / _COMMONEST).log() + 0.05
    if len(ids) > 2:
        weights[0] = weights[-1] = 0
    return weights


def _blocked(seen: Any) -> Any:
    """What is added to attention: 0 where a token is seen, a large negative number where there is none."""
    import torch

    return torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, float(np.finfo(np.float32).min) / 2)


def _unit(vectors: Any) -> Any:
    import torch

    return torch.nn.functional.normalize(vectors, dim=-1)
