"""Taggers of medical entities, for LExT's weighted accuracy: `tagger = entities.load_tagger("builtin")`, then `tagger(texts)`.

The built-in one is the gazetteer of `factlab.entities`, which needs no weights. Any token classifier in safetensors goes in its
place by Hugging Face id or folder; the paper's is a DeBERTa v3 fine-tuned for 41 types ("MedNER", section 3.1.1; on the hub
blaze999/Medical-NER). Both return the same: for each text a list of `Entity`, of which `factlab.entities.tags` makes what
`explanation.ner_weight` compares (the words without their type: see there) and `factlab.entities.frame` a table.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from factlab import entities
from factlab.entities import Entity
from factlab.models.base import ModelError
from factlab.models.tokens import _find, _settings, batches, default_budget, padded, pick_device, quietly, window
from factlab.text import fold

PUBLISHED = "blaze999/Medical-NER"
_SCHEME = frozenset("BIESLU")  # begin, inside, end, single; last and unit in the other scheme's words
_OVERLAP = 32  # tokens that neighbouring windows of a long text share


def load_tagger(
    name: str = "builtin",
    *,
    min_score: float = 0.0,
    device: str = "auto",
    dtype: str = "float32",
    token_budget: int | None = None,
) -> Builtin | Tagger:
    """A tagger by name.

    Parameters
    ----------
    name : 'builtin' (the gazetteer), or a Hugging Face id or a folder, with or without `hf/` before it.
    min_score : entities that the model gives a lower probability (the mean over their words, 0..1) are left out.
    device, dtype, token_budget : as for `tokens.load`; the gazetteer needs none of them.

    Returns
    -------
    A function from a list of texts to a list of lists of `Entity`, in their order; with `name`, `identity` (hash or commit of
    the weights, or of the lists), `types` and `notes`. A text that was tagged before is not tagged again.

    Raises
    ------
    ModelError : no such model, or one whose labels are no entities.
    """
    if not 0 <= min_score <= 1:
        raise ModelError(f"min_score={min_score!r}: expected a probability, 0 to 1")
    return Builtin() if name == "builtin" else Tagger(name, min_score, device, dtype, token_budget)


class Builtin:
    """The gazetteer, called like a model; made by `load_tagger`."""

    def __init__(self) -> None:
        self.name, self.types = "builtin", entities.types
        self.notes = {"asked": 0, "tagged": 0}
        self._known: dict[str, list[Entity]] = {}

    @functools.cached_property
    def identity(self) -> str:
        return hashlib.sha256(json.dumps(entities.terms()).encode()).hexdigest()

    def __call__(self, texts: Sequence[str]) -> list[list[Entity]]:
        return _once(self, texts, lambda new: [entities.tag(text) for text in new])


class Tagger:
    """A token classifier as a function from texts to entities; made by `load_tagger`.

    Attributes
    ----------
    name, types : what it is, and the types that its labels name.
    identity : hash or commit of the weights.
    window : the most tokens that the model reads at once; longer texts are read in windows that overlap.
    notes : since it was loaded, how many texts were `asked`, how many of them `tagged` by the model (the others were known),
        and how many of those were read in several `windows`.
    """

    def __init__(self, name: str, min_score: float, device: str, dtype: str, token_budget: int | None) -> None:
        self.name, self._min_score = name, min_score
        self._device, self._dtype, self._token_budget = device, dtype, token_budget
        self._folder, self.identity = _find(name)
        self._config = _settings(self._folder)
        self._labels = _labels(name, self._config)
        self.types = tuple(sorted({kind for _, kind in self._labels if kind}))
        self.notes = {"asked": 0, "tagged": 0, "windows": 0}
        self._known: dict[str, list[Entity]] = {}

    def __call__(self, texts: Sequence[str]) -> list[list[Entity]]:
        return _once(self, texts, self._tag)

    @functools.cached_property
    def _tokenizer(self) -> Any:
        import transformers

        made = transformers.AutoTokenizer.from_pretrained(self._folder)
        if not made.is_fast:
            raise ModelError(
                f"{self.name}: its tokenizer does not say where in the text a token stands (no tokenizer.json). "
                "Save it with save_pretrained() of a fast tokenizer, or take another model."
            )
        return made

    @functools.cached_property
    def window(self) -> int:
        return window(self._tokenizer, self._config)

    @functools.cached_property
    def _model(self) -> Any:
        import transformers

        make = transformers.AutoModelForTokenClassification.from_pretrained
        return quietly(make, self._folder, dtype=self._dtype).to(pick_device(self._device)).eval()

    def _tag(self, texts: list[str]) -> list[list[Entity]]:
        made = self._tokenizer(
            texts, truncation=True, max_length=self.window, stride=min(_OVERLAP, self.window // 4),
            return_overflowing_tokens=True, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False,
        )  # fmt: skip
        ids, owner = made["input_ids"], made["overflow_to_sample_mapping"]
        self.notes["windows"] += sum(owner.count(i) > 1 for i in set(owner))
        # Of a token that stands in two windows the one counts in which it is further from the edge.
        best: list[dict[tuple[int, int], tuple[int, np.ndarray]]] = [{} for _ in texts]
        for batch in batches([len(one) for one in ids], self._token_budget or default_budget(self._device)):
            for i, rows in zip(batch, self._probabilities([ids[i] for i in batch]), strict=True):
                for at, (place, mark) in enumerate(
                    zip(made["offset_mapping"][i], made["special_tokens_mask"][i], strict=True)
                ):
                    room = min(at, len(ids[i]) - at)
                    if not mark and room > best[owner[i]].get(tuple(place), (-1,))[0]:
                        best[owner[i]][tuple(place)] = room, rows[at]
        found = []
        for text, tokens in zip(texts, best, strict=True):
            placed = [(start, end, tokens[start, end][1]) for start, end in sorted(tokens)]
            found.append(spans(text, placed, self._labels, self._min_score))
        return found

    def _probabilities(self, batch: list[list[int]]) -> list[np.ndarray]:
        import torch

        ids, mask = padded(batch, self._tokenizer.pad_token_id or 0)
        model = self._model
        with torch.inference_mode():
            logits = model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device)).logits
            probabilities = torch.softmax(logits.double(), dim=-1).cpu().numpy()
        return [rows[: len(one)] for rows, one in zip(probabilities, batch, strict=True)]


def spans(
    text: str,
    tokens: Sequence[tuple[int, int, Sequence[float]]],
    labels: Sequence[tuple[str, str]],
    min_score: float = 0.0,
) -> list[Entity]:
    """Entities out of the probabilities of tokens.

    Parameters
    ----------
    text : what was tagged.
    tokens : (start, end, probabilities of the labels) of each token, in order; start and end in characters.
    labels : (place, type) of each label: place 'B', 'I', … or '' where labels have none; type '' for no entity.
    min_score : mean probability below which an entity is left out.

    Notes
    -----
    A word has the label of its first token, so that no entity ends within one. 'B' and 'S' begin an entity, any other place goes
    on with one of the same type and begins one where there is none. Without places, neighbours of the same type are one.
    """
    found: list[list] = []  # start, end, type, probabilities
    open_ = False
    last = -1  # where the word before ends
    for start, end, probabilities in tokens:
        start += len(text[start:end]) - len(text[start:end].lstrip())  # some tokenizers count the space before a word
        if start >= end:
            continue
        if start == last and text[start - 1].isalnum() and text[start].isalnum():  # more of the same word
            last = end
            if open_:
                found[-1][1] = end
            continue
        last = end
        best = int(np.argmax(probabilities))
        place, kind = labels[best]
        if not kind:
            open_ = False
        elif open_ and found[-1][2] == kind and place not in ("B", "S", "U"):
            found[-1][1] = end
            found[-1][3].append(float(probabilities[best]))
        else:
            found.append([start, end, kind, [float(probabilities[best])]])
            open_ = True
    kept = [(s, e, kind) for s, e, kind, scores in found if sum(scores) / len(scores) >= min_score]
    trimmed = [(s, e, kind) for s, e, kind in kept if any(c.isalnum() for c in text[s:e])]
    return [Entity(s, e, text[s:e], kind, fold(text[s:e])) for s, e, kind in trimmed]


def _labels(name: str, config: dict[str, Any]) -> list[tuple[str, str]]:
    """Place and type of each output."""
    named = config.get("id2label") or {}
    raw = [str(named[k]) for k in sorted(named, key=int)]
    if not raw or all(label.startswith("LABEL_") for label in raw):
        raise ModelError(
            f"{name}: its outputs have no names (id2label), so they are no entities. Name a token classifier, such as "
            f"{PUBLISHED}."
        )
    architectures = config.get("architectures") or []
    if architectures and not any("TokenClassification" in a for a in architectures):
        raise ModelError(f"{name}: this is a {architectures[0]}, not a token classifier (…ForTokenClassification).")
    found = []
    for label in raw:
        place, dash, kind = label.partition("-")
        if label.upper() in ("O", "OUTSIDE", "NONE"):
            found.append(("", ""))
        elif dash and place.upper() in _SCHEME:
            found.append((place.upper(), kind))
        else:
            found.append(("", label))
    return found


def _once(tagger: Any, texts: Sequence[str], tag: Any) -> list[list[Entity]]:
    """Each distinct text tagged once, and not again in a later call."""
    if isinstance(texts, str):
        raise ValueError("tagger: expected a list of texts, got one text; put it in a list")
    texts = list(texts)
    new = [text for text in dict.fromkeys(texts) if text not in tagger._known]
    if new:
        tagger._known.update(zip(new, tag(new), strict=True))
    tagger.notes["asked"] += len(texts)
    tagger.notes["tagged"] += len(new)
    return [list(tagger._known[text]) for text in texts]
