"""Contextual vectors of tokens, for BERTScore: `encode = tokens.load("hf/roberta-large")`, then `encode(texts)`.

The encoder is named like any other model: `local/minilm` (built in), or `hf/<id or folder>`, where `hf/` may be left out. The
vectors are those of one layer; which one decides the scores, so models without a published choice have to be told. Weights are
loaded at the first text.
"""

from __future__ import annotations

import csv
import functools
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from factlab import places
from factlab.models.base import ModelError
from factlab.stability.bertscore import Tokens

# The layer that agreed best with human judgement, as published with BERTScore (Zhang et al. 2020) and its package. MiniLM, made
# for whole texts, has none: its last layer.
LAYERS = {
    "bert-base-uncased": 9,
    "roberta-large": 17,
    "deberta-xlarge-mnli": 40,
    "local/minilm": 6,
}
# These tokenizers tell a word at the start of a text from one after a space; BERTScore's published numbers put a space first.
_SPACE_FIRST = {"roberta", "gpt2"}


def baseline(path: str | Path, layer: int) -> np.ndarray:
    """Baselines of an encoder's layer, for `bertscore(…, baseline=…)`, from a file as published with BERTScore.

    Parameters
    ----------
    path : a table with commas and the columns LAYER, P, R, F, one row a layer (the package's `rescale_baseline/en/<model>.tsv`).
    layer : which row; `encode.layer`.

    Returns
    -------
    (3,) array : b for precision, recall and F1.

    Raises
    ------
    ModelError : the file is missing, has other columns, or no such layer.
    """
    found = places.resolve(path)
    try:
        with found.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        values = {int(row["LAYER"]): [float(row[k]) for k in "PRF"] for row in rows}
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: expected a table with commas and the columns LAYER, P, R, F") from error
    if layer not in values:
        raise ModelError(f"{path}: no layer {layer}; it has {', '.join(map(str, values)) or 'none'}")
    return np.array(values[layer])


def load(
    name: str,
    layer: int | None = None,
    *,
    too_long: str = "cut",
    device: str = "auto",
    dtype: str = "float32",
    token_budget: int | None = None,
) -> Encoder:
    """A token encoder by name.

    Parameters
    ----------
    name : 'local/minilm', a Hugging Face id or a folder.
    layer : whose output to take, 0 (before the first) to the number of layers; default: see `LAYERS`.
    too_long : what becomes of a text longer than the model's window. 'cut': its end is left out, as in the package, with a
        warning, and counted in `encode.notes`; 'error': ModelError.
    device, dtype : 'auto' takes the device that is fast here. float32 is what the published numbers were computed in.
    token_budget : largest number of tokens, padding included, in one batch; default: `default_budget`.

    Returns
    -------
    Encoder : a function from texts to a list of `Tokens`, in their order.

    Raises
    ------
    ModelError : no such model, no such layer, or none given for a model without a published one.
    """
    return Encoder(name, layer, too_long, device, dtype, token_budget)


class Encoder:
    """A function from texts to `Tokens`; made by `load`.

    Attributes
    ----------
    name, layer : what it was asked for.
    identity : what a store of its vectors must be keyed by: weights, layer, dtype.
    window : the most tokens of a text, marks included.
    notes : since it was loaded, how many texts it has `encoded`, how many of them were `truncated`, and the `dropped_tokens`.
    """

    def __init__(
        self, name: str, layer: int | None, too_long: str, device: str, dtype: str, token_budget: int | None
    ) -> None:
        if too_long not in ("cut", "error"):
            raise ModelError(f"too_long is 'cut' or 'error', got {too_long!r}")
        self.name, self._too_long = name, too_long
        self._device, self._dtype, self._token_budget = device, dtype, token_budget
        self._folder, content = _find(name)
        self._config = _settings(self._folder)
        n = next((self._config[k] for k in ("num_hidden_layers", "n_layers") if k in self._config), None)
        if layer is None:
            layer = LAYERS.get(name, LAYERS.get(name.rstrip("/").rsplit("/", 1)[-1]))
            if layer is None:
                raise ModelError(f"{name}: no layer is published for it; choose one, 0 to {n}: layer=…")
        if not isinstance(layer, int) or layer < 0 or (n is not None and layer > n):
            raise ModelError(f"{name}: layer {layer} does not exist; it has the layers 0 to {n}")
        self.layer = layer
        self.identity = f"{content}|layer:{layer}|{dtype}"
        self.notes = {"encoded": 0, "truncated": 0, "dropped_tokens": 0}

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        if isinstance(texts, str):
            raise ValueError("encode: expected a list of texts, got one text; put it in a list")
        listed = self._ids([text.strip() for text in texts])
        found: list[Any] = [None] * len(listed)
        for batch in batches([len(ids) for ids in listed], self._token_budget or default_budget(self._device)):
            for i, vectors in zip(batch, self._vectors([listed[i] for i in batch]), strict=True):
                ids = np.array(listed[i], dtype=np.int64)
                found[i] = Tokens(ids, vectors, np.isin(ids, self._special))
        self.notes["encoded"] += len(found)
        return found

    @functools.cached_property
    def _tokenizer(self) -> Any:
        import transformers

        more = {"add_prefix_space": True} if self._config.get("model_type") in _SPACE_FIRST else {}
        return transformers.AutoTokenizer.from_pretrained(self._folder, **more)

    @functools.cached_property
    def _special(self) -> list[int]:
        """The marks that BERTScore gives the weight 0. The package knows these two only (T5's end mark counts as a word)."""
        return [t for t in (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id) if t is not None]

    @functools.cached_property
    def window(self) -> int:
        return window(self._tokenizer, self._config)

    def _ids(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        listed = self._tokenizer(texts, add_special_tokens=True, verbose=False)["input_ids"]
        long = [i for i, ids in enumerate(listed) if len(ids) > self.window]
        if long:
            dropped = sum(len(listed[i]) - self.window for i in long)
            what = f"{self.name}: {len(long)} of {len(texts)} texts are longer than its {self.window} tokens"
            if self._too_long == "error":
                raise ModelError(f"{what}, the first is: {texts[long[0]][:80]!r}. Shorten or split them.")
            warnings.warn(f"{what}; {dropped} tokens at their ends are left out", stacklevel=4)
            self.notes["truncated"] += len(long)
            self.notes["dropped_tokens"] += dropped
            cut = self._tokenizer([texts[i] for i in long], truncation=True, max_length=self.window)["input_ids"]
            for i, ids in zip(long, cut, strict=True):
                listed[i] = ids
        return listed

    @functools.cached_property
    def _model(self) -> Any:
        import transformers

        model = quietly(transformers.AutoModel.from_pretrained, self._folder, dtype=self._dtype)
        model = getattr(model, "encoder", model) if hasattr(model, "decoder") else model
        part = next((p for p in ("encoder", "transformer") if hasattr(getattr(model, p, None), "layer")), None)
        self._cut = part is not None
        if part is not None:  # what comes after the layer need not be computed
            inner = getattr(model, part)
            inner.layer = inner.layer[: self.layer]
        return model.to(pick_device(self._device)).eval()

    def _vectors(self, batch: list[list[int]]) -> list[np.ndarray]:
        import torch

        ids, mask = padded(batch, self._tokenizer.pad_token_id or 0)
        model = self._model
        with torch.inference_mode():
            out = model(
                input_ids=ids.to(model.device), attention_mask=mask.to(model.device), output_hidden_states=not self._cut
            )
            hidden = out.last_hidden_state if self._cut else out.hidden_states[self.layer]
            hidden = hidden.float().cpu().numpy()
        # A copy of each, so that a short text does not keep the padding of its whole batch in memory.
        return [vectors[: len(tokens)].copy() for vectors, tokens in zip(hidden, batch, strict=True)]


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Numbers of the texts for each batch: sorted by length, longest first, at most `budget` tokens with the padding."""
    made: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if made and (len(made[-1]) + 1) * lengths[made[-1][0]] <= budget:
            made[-1].append(i)
        else:
            made.append([i])
    return made


def padded(batch: Sequence[Sequence[int]], pad: int) -> tuple[Any, Any]:
    """Token numbers and mask as tensors (texts, longest text), filled up on the right."""
    import torch

    ids = torch.full((len(batch), max(map(len, batch))), pad, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, one in enumerate(batch):
        ids[i, : len(one)] = torch.tensor(one)
        mask[i, : len(one)] = 1
    return ids, mask


def window(tokenizer: Any, config: dict[str, Any]) -> int:
    """The most tokens the model takes: the smaller of what its tokenizer and its positions allow."""
    positions = config.get("max_position_embeddings") or config.get("n_positions") or 10**9
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "longformer"):
        positions -= config.get("pad_token_id", 1) + 1  # their positions are counted from after the padding's number
    return int(min(positions, tokenizer.model_max_length))


def pick_device(device: str) -> str:
    from factlab.models import local

    return local.machine()["device"] if device == "auto" else device


def default_budget(device: str) -> int:
    """Tokens in a batch. A processor is no faster with more, and then pads more; other devices want to be filled."""
    return 1_000 if pick_device(device) == "cpu" else 16_000


def quietly(make: Any, *inputs: Any, **options: Any) -> Any:
    """Load a model without transformers' progress bars and its remarks on weights that are not needed here."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return make(*inputs, **options)
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _find(name: str) -> tuple[Path, str]:
    from factlab.models import weights

    if name == "local/minilm":
        return weights.minilm(), weights.MINILM_SHA256
    return weights.folder_of(name.removeprefix("hf/"))


def _settings(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: no readable config.json, so this is no Hugging Face model") from error
