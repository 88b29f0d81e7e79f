"""Models of natural language inference, for SelfCheckGPT: `nli = nli.load("hf/<id or folder>")`, then `nli(premises, hypotheses)`.

Any sequence classifier in safetensors whose labels say which is entailment and which contradiction. Weights are loaded at the
first pair.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from factlab.models.base import ModelError
from factlab.models.tokens import _find, _settings, batches, default_budget, padded, pick_device, quietly, window

# SelfCheckGPT's own model calls its two classes by numbers only; its code says which is which.
_KNOWN = {"deberta-v3-large-mnli": ("entailment", "contradiction")}
_MEANINGS = {"entail": "entailment", "neutral": "neutral", "contradict": "contradiction"}


def load(
    name: str,
    labels: Sequence[str] | None = None,
    *,
    too_long: str = "cut",
    device: str = "auto",
    dtype: str = "float32",
    token_budget: int | None = None,
) -> Nli:
    """An NLI model by name.

    Parameters
    ----------
    name : a Hugging Face id or a folder, with or without `hf/` before it.
    labels : what the model's outputs mean, in their order: 'entailment', 'neutral', 'contradiction' or the first and last of
        them; default: as its configuration says (`id2label`).
    too_long : what becomes of a pair longer than the model's window. 'cut': the end of the longer text is left out, with a
        warning, and counted in `nli.notes`; 'error': ModelError.
    device, dtype, token_budget : as for `tokens.load`.

    Raises
    ------
    ModelError : no such model, or labels that do not say which output is entailment and which contradiction.
    """
    return Nli(name, labels, too_long, device, dtype, token_budget)


class Nli:
    """A function from premises and hypotheses to probabilities; made by `load`.

    ``nli(premises, hypotheses)`` takes two lists of n texts and returns a dict of (n,) arrays: 'entailment', 'contradiction'
    and, where the model has it, 'neutral'; they sum to 1 for each pair.

    Attributes
    ----------
    name, labels : what it is, and what its outputs mean.
    identity : hash or commit of the weights.
    window : the most tokens of a pair, marks included.
    notes : since it was loaded, how many pairs were `asked`, how many of them `truncated`, and the `dropped_tokens`.
    """

    def __init__(
        self, name: str, labels: Sequence[str] | None, too_long: str, device: str, dtype: str, token_budget: int | None
    ) -> None:
        if too_long not in ("cut", "error"):
            raise ModelError(f"too_long is 'cut' or 'error', got {too_long!r}")
        self.name, self._too_long = name, too_long
        self._device, self._dtype, self._token_budget = device, dtype, token_budget
        self._folder, self.identity = _find(name)
        self._config = _settings(self._folder)
        self.labels = _labels(name, labels, self._config)
        self.notes = {"asked": 0, "truncated": 0, "dropped_tokens": 0}

    def __call__(self, premises: Sequence[str], hypotheses: Sequence[str]) -> dict[str, np.ndarray]:
        if isinstance(premises, str) or isinstance(hypotheses, str) or len(premises) != len(hypotheses):
            raise ValueError("nli: expected two lists of texts of the same length")
        encoded = self._encode(list(premises), list(hypotheses))
        found = np.zeros((len(encoded), len(self.labels)))
        for batch in batches([len(ids) for ids, _ in encoded], self._token_budget or default_budget(self._device)):
            found[batch] = self._probabilities([encoded[i] for i in batch])
        self.notes["asked"] += len(encoded)
        return {label: found[:, i] for i, label in enumerate(self.labels)}

    @functools.cached_property
    def _tokenizer(self) -> Any:
        import transformers

        return transformers.AutoTokenizer.from_pretrained(self._folder)

    @functools.cached_property
    def window(self) -> int:
        return window(self._tokenizer, self._config)

    def _encode(self, first: list[str], second: list[str]) -> list[tuple[list[int], list[int]]]:
        """Token numbers and segment numbers of each pair."""
        if not first:
            return []
        made = self._tokenizer(first, second, return_token_type_ids=True, verbose=False)
        pairs = list(zip(made["input_ids"], made["token_type_ids"], strict=True))
        long = [i for i, (ids, _) in enumerate(pairs) if len(ids) > self.window]
        if long:
            dropped = sum(len(pairs[i][0]) - self.window for i in long)
            what = f"{self.name}: {len(long)} of {len(pairs)} pairs are longer than its {self.window} tokens"
            if self._too_long == "error":
                raise ModelError(f"{what}, the first is: {first[long[0]][:60]!r}, {second[long[0]][:60]!r}")
            warnings.warn(f"{what}; {dropped} tokens are left out", stacklevel=4)
            self.notes["truncated"] += len(long)
            self.notes["dropped_tokens"] += dropped
            cut = self._tokenizer(
                [first[i] for i in long], [second[i] for i in long],
                truncation="longest_first", max_length=self.window, return_token_type_ids=True,
            )  # fmt: skip
            for i, ids, segments in zip(long, cut["input_ids"], cut["token_type_ids"], strict=True):
                pairs[i] = (ids, segments)
        return pairs

    @functools.cached_property
    def _model(self) -> Any:
        import transformers

        make = transformers.AutoModelForSequenceClassification.from_pretrained
        return quietly(make, self._folder, dtype=self._dtype).to(pick_device(self._device)).eval()

    def _probabilities(self, batch: list[tuple[list[int], list[int]]]) -> np.ndarray:
        import torch

        model = self._model
        ids, mask = padded([ids for ids, _ in batch], self._tokenizer.pad_token_id or 0)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self._config.get("type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = padded([segments for _, segments in batch], 0)[0]
        with torch.inference_mode():
            logits = model(**{k: v.to(model.device) for k, v in inputs.items()}).logits
            return torch.softmax(logits.double(), dim=-1).cpu().numpy()


def _labels(name: str, labels: Sequence[str] | None, config: dict[str, Any]) -> tuple[str, ...]:
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}  # what transformers takes it for
    raw = [str(named[k]) for k in sorted(named, key=int)]
    meant = [next((m for start, m in _MEANINGS.items() if label.lower().startswith(start)), label) for label in raw]
    if labels is not None:
        if len(labels) != len(raw):
            raise ModelError(f"{name}: {len(labels)} labels given, the model has {len(raw)} outputs")
        meant = list(labels)
    elif all(label.startswith("LABEL_") for label in raw):
        meant = list(_KNOWN.get(name.rstrip("/").rsplit("/", 1)[-1], meant))
    if sorted(meant) not in (["contradiction", "entailment"], ["contradiction", "entailment", "neutral"]):
        raise ModelError(
            f"{name}: its outputs are called {', '.join(raw)}, which does not say what is entailment and what "
            "contradiction. If it is an NLI model, say it: labels=['entailment', 'neutral', 'contradiction'] in its order."
        )
    return tuple(meant)
