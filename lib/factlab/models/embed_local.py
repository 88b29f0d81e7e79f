"""Embedders that run on this machine: the built-in MiniLM, and any sentence-transformers model in safetensors.

Texts are sorted by tokens and embedded in batches under a token budget, which wastes little on padding and keeps a batch in the
processor's cache. Encoders that end in mean or first-token pooling, as MiniLM does, are run by transformers alone; every other
model by sentence-transformers, module by module as its files say. torch is imported when the first vector is really needed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from factlab import places
from factlab.models import weights
from factlab.models.base import ModelError
from factlab.models.embed import Batch
from factlab.models.local import machine

# Encoders whose input is token numbers and a mask, and nothing else that matters.
_PLAIN = {"bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"}
_OFFSET = {"camembert", "mpnet", "roberta", "xlm-roberta"}  # their positions begin after that of the padding
_BUDGETS = {"cpu": 2_048, "cuda": 65_536, "mps": 8_192}  # tokens a batch; fastest of 256 to 16,384 on a 2-core CPU


@dataclass(frozen=True)
class Recipe:
    """What the files of a sentence-transformers model say about getting from a text to its vector.

    Attributes
    ----------
    pooling : 'mean' or 'cls' where transformers alone can follow it; None: left to sentence-transformers.
    window : most tokens in a text, special ones included; None: what the tokenizer and the weights say.
    prompt : text that the model wants before every text.
    """

    pooling: str | None
    window: int | None
    prompt: str = ""


MINILM = Recipe("mean", 256)


def minilm(**options: Any) -> Local:
    """The built-in all-MiniLM-L6-v2."""
    content = f"minilm:{weights.MINILM_SHA256}"
    return Local("local/minilm", weights.minilm, content, MINILM, **options)


def sentence_transformer(name: str, given: str, **options: Any) -> Local:
    """A model by Hugging Face id or folder."""
    folder, content = weights.folder_of(given)
    return Local(name, folder, _whole(folder, content, given), read_recipe(folder), **options)


def _whole(folder: Path, content: str, given: str) -> str:
    """The content identity with the folders of its modules in it (pooling, dense layers), which change a vector too."""
    files = [f for f in sorted(folder.glob("*/*")) if f.is_file()]
    for bad in files:
        if bad.suffix in (".bin", ".pt", ".ckpt") and not any(bad.parent.glob("*.safetensors")):
            raise ModelError(
                f"{given}: {bad.parent.name} has no .safetensors weights; pickled weights are not loaded, since they can run code."
            )
    inner = [f for f in files if f.suffix in (".json", ".safetensors", ".txt", ".model")]
    if not inner:
        return content
    listed = "".join(f"{f.relative_to(folder).as_posix()}\0{weights.sha256(f)}\n" for f in inner)
    return hashlib.sha256(f"{content}\n{listed}".encode()).hexdigest()


def read_recipe(folder: Path) -> Recipe:
    """The recipe of a model's folder; one without `modules.json` is a bare encoder, whose tokens are averaged."""
    shown = places.read_json(folder / "config_sentence_transformers.json")
    prompt = (shown.get("prompts") or {}).get(shown.get("default_prompt_name") or "") or ""
    settings = places.read_json(folder / "sentence_bert_config.json")
    window = settings.get("max_seq_length")
    path = folder / "modules.json"
    modules = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    kinds = [m["type"].rsplit(".", 1)[-1] for m in modules]
    pooling = "mean"
    if modules:
        inside = places.read_json(folder / modules[1]["path"] / "config.json") if len(modules) > 1 else {}
        pooling = _pooling(inside)
        whole = (
            kinds[:2] == ["Transformer", "Pooling"] and kinds[2:] in ([], ["Normalize"]) and modules[0]["path"] == ""
        )
        if not whole or inside.get("include_prompt") is False:
            pooling = None
    plain = places.read_json(folder / "config.json").get("model_type") in _PLAIN
    simple = set(settings) <= {"max_seq_length", "do_lower_case"} and not settings.get("do_lower_case")
    return Recipe(pooling if plain and simple else None, window, prompt)


def _pooling(config: dict[str, Any]) -> str | None:
    """'mean' or 'cls' where that is all the pooling; its settings have been written in two ways."""
    named = config.get("pooling_mode")
    old = [k.removeprefix("pooling_mode_") for k, on in config.items() if k.startswith("pooling_mode_") and on is True]
    modes = (
        [named]
        if isinstance(named, str)
        else list(named or [m.removesuffix("_tokens").removesuffix("_token") for m in old])
    )
    return modes[0] if modes in (["mean"], ["cls"]) else None


class Local:
    """An embedder loaded from safetensors.

    Parameters
    ----------
    name : the name it was asked for by.
    folder : folder of the weights, or a function that finds them.
    content : hash or commit that identifies them.
    recipe : how its vectors are made.
    device : 'auto' takes what the machine does fast.
    dtype : of the weights. float32, since texts are told apart by the third decimal of a cosine; models of billions of parameters may
        need 'bfloat16'.
    token_budget : most tokens in one batch, padding included.
    window : longest chunk in tokens, special ones included; shorter or, as far as the model has positions, longer than its own.
    prompt : text put before every text, in place of the model's own.
    """

    def __init__(
        self,
        name: str,
        folder: Path | Callable[[], Path],
        content: str,
        recipe: Recipe,
        device: str = "auto",
        dtype: str = "float32",
        token_budget: int | None = None,
        window: int | None = None,
        prompt: str | None = None,
    ) -> None:
        self.name, self._folder, self._content, self._recipe = name, folder, content, recipe
        self._device, self._dtype, self._budget, self._window = device, dtype, token_budget, window
        self._prompt = recipe.prompt if prompt is None else prompt
        self._pooling = recipe.pooling
        self._tokenizer: Any = None
        self._model: Any = None
        self._limit = 0

    def identity(self) -> dict[str, Any]:
        return {
            "weights": self._content,
            "pooling": self._pooling or "modules",
            "prompt": self._prompt,
            "dtype": self._dtype,
            "window": self._window or self._recipe.window,
        }

    def room(self) -> int:
        self._load()
        around = self._tokenizer.num_special_tokens_to_add() + self._plain_count([self._prompt])[0]
        if self._limit <= around:
            raise ModelError(
                f"{self.name}: a window of {self._limit} tokens leaves no room for text ({around} are taken)"
            )
        return self._limit - around

    def count(self, texts: Sequence[str]) -> list[int]:
        self._load()
        return self._plain_count(texts)

    def _plain_count(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._tokens(texts, special=False)]

    def _tokens(self, texts: Sequence[str], special: bool) -> list[list[int]]:
        # Truncation and padding are switched off by name: some tokenizer files come with both switched on.
        return self._tokenizer(
            list(texts), add_special_tokens=special, truncation=False, padding=False, return_attention_mask=False
        )["input_ids"]

    def _load(self) -> None:
        if self._model is not None:
            return
        folder = self._folder if isinstance(self._folder, Path) else self._folder()
        packages = ["torch", "transformers"] + ["sentence_transformers"] * (self._pooling is None)
        if missing := [p for p in packages if importlib.util.find_spec(p) is None]:
            raise ModelError(
                f"local embedders need the extra `models` ({', '.join(missing)} is missing): "
                "python -m pip install 'factlab[models]'"
            )
        import torch
        import transformers

        # Progress bars and advice of the library would bury ours; its errors still come through.
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        device = machine()["device"] if self._device == "auto" else self._device
        settings = {"dtype": getattr(torch, self._dtype), "use_safetensors": True}
        try:
            model, most, positions = self._open(folder, device, settings)
        except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            why = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ModelError(f"{self.name} cannot be loaded: {why}") from error
        if self._window and positions and self._window > positions:
            raise ModelError(f"{self.name}: window={self._window}, but the model has {positions} positions")
        self._limit = int(self._window or most or positions or 1 << 30)
        self._budget = self._budget or _BUDGETS.get(str(device).split(":")[0], 2_048)
        self._device, self._model = device, model.eval()

    def _open(self, folder: Path, device: str, settings: dict[str, Any]) -> tuple[Any, int | None, int | None]:
        """The model, its window as its files give it, and how many positions its weights have."""
        import transformers

        if self._pooling is None:
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(folder), device=device, model_kwargs=settings, local_files_only=True)
            self._tokenizer, most = model.tokenizer, model.max_seq_length
            if not hasattr(self._tokenizer, "num_special_tokens_to_add"):
                raise ModelError(
                    f"{self.name}: its tokens cannot be counted, so that long texts could be cut off unseen"
                )
            if self._window:
                model.max_seq_length = self._window
            return model, most, getattr(getattr(model[0], "config", None), "max_position_embeddings", None)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModel.from_pretrained(folder, **settings).to(device)
        offset = (model.config.pad_token_id or 0) + 1 if model.config.model_type in _OFFSET else 0
        positions = model.config.max_position_embeddings - offset
        return model, self._recipe.window or min(self._tokenizer.model_max_length, positions), positions

    def embed(self, texts: Sequence[str], done: Callable[[Batch], None]) -> None:
        self._load()
        import torch

        rows = self._tokens([self._prompt + t for t in texts], special=True)
        work = self._by_modules if self._pooling is None else self._forward
        with torch.inference_mode():
            for batch in batches([len(r) for r in rows], self._budget):
                longest = len(rows[batch[0]])
                if longest > self._limit:  # would be cut off by some models and fail in others
                    done(Batch([batch[0]], None, f"{longest} tokens do not fit the model's window of {self._limit}"))
                    batch = batch[1:]
                if batch:
                    vectors = work([texts[i] for i in batch], [rows[i] for i in batch])
                    done(Batch(batch, vectors, tokens=sum(len(rows[i]) for i in batch), served=self.name))

    def _forward(self, texts: list[str], rows: list[list[int]]) -> np.ndarray:
        import torch

        longest, pad = len(rows[0]), self._tokenizer.pad_token_id or 0
        ids = torch.tensor([r + [pad] * (longest - len(r)) for r in rows], device=self._device)
        lengths = torch.tensor([len(r) for r in rows], device=self._device)
        mask = (torch.arange(longest, device=self._device) < lengths[:, None]).long()
        hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        pooled = hidden[:, 0] if self._pooling == "cls" else (hidden * mask[..., None]).sum(1) / lengths[:, None]
        return pooled.cpu().numpy()

    def _by_modules(self, texts: list[str], rows: list[list[int]]) -> np.ndarray:
        return self._model.encode(
            texts, batch_size=len(texts), prompt=self._prompt, show_progress_bar=False, convert_to_numpy=True
        ).astype(np.float32)


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Rows in batches by length, the longest first (memory shows at once).

    A batch's rows times its longest row keep to the budget. A batch that holds a quarter of it already, enough to be quick, takes no
    row that would be more than a tenth padding.
    """
    found: list[list[int]] = []
    longest = 0
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        size = len(found[-1]) * longest if found else 0
        if not found or size + longest > budget or (size > budget / 4 and lengths[i] < 0.9 * longest):
            found.append([])
            longest = lengths[i]
        found[-1].append(i)
    return found
