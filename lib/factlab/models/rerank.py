"""Cross-encoders, which read a sentence and a document together and say how well they fit: REASONS' advanced retrieval (section 4.1).

`rerank.load("minilm")` makes one from the built-in encoder; `rerank.load("cross-encoder/ms-marco-MiniLM-L-12-v2")`, the published one
(Table 4), or any other sequence classifier with one output is loaded from the hub or a folder, in safetensors. `fit` fine-tunes it with the localized
contrastive loss, `score` scores pairs. A fine-tuned model and every score are kept, so that a repeated run asks nothing of torch.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import places
from factlab.models import rerank_store as kept
from factlab.models import weights
from factlab.models.base import ModelError, ReplayMiss
from factlab.models.cache import MODES
from factlab.models.embed_local import batches
from factlab.models.progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models.rerank_scorers import Pair, Scorer

BUILT_IN = "minilm"
PUBLISHED = "cross-encoder/ms-marco-MiniLM-L-12-v2"  # Table 4; the text of section 4.1 says an MPNet of 12 layers
_CHUNK = 1_024  # pairs whose texts are prepared together


@dataclass(frozen=True)
class Group:
    """What is learned from for one sentence: its relevant documents and others, G_s of the paper."""

    query: str
    relevant: tuple[str, ...]
    others: tuple[str, ...]


def load(
    name: str = BUILT_IN,
    *,
    window: int | None = None,
    device: str = "auto",
    mode: str = "cache",
    folder: Path | str | None = None,
) -> Reranker:
    """A cross-encoder by name; nothing heavy is loaded until a score is missing.

    Parameters
    ----------
    name : 'minilm' (built in, see `rerank_scorers.Joint`), a Hugging Face id (`hf/` before it may be left out), or a folder: one that
        `save` wrote, or any sequence classifier in safetensors with one output.
    window : most tokens: of a text for 'minilm' (default and most: 256), of a pair for others. The end of what is longer is not
        read, and counted in `notes`.
    device : 'auto' takes what the machine does fast.
    mode : 'cache' (score and train only what was not before), 'live' (anew, and keep it), 'replay' (neither: what is not kept is an
        error).
    folder : where fine-tuned models and scores are kept; default: the checkout's `outputs/cache/rerankers`.

    Raises
    ------
    ModelError : no such model, no safetensors, or no such mode.
    """
    if mode not in MODES:
        raise ModelError(f"mode {mode!r} is none of {', '.join(MODES)}")
    return Reranker(name, window, device, mode, Path(folder) if folder else kept.default_folder())


class Reranker:
    """A cross-encoder; made by `load`.

    Attributes
    ----------
    name : what it was asked for by.
    identity : hash of all that decides a score: weights, window and, after `fit`, what it was trained on.
    notes : since it was loaded: pairs `asked`, how many of them were `kept` from before, texts or pairs `truncated`, `dropped_tokens`.
    training_seconds : what the training took, of the processor; None for a model that was not fine-tuned here.
    """

    def __init__(self, name: str, window: int | None, device: str, mode: str, folder: Path) -> None:
        self.name, self.mode = name, mode
        self._window, self._device, self._folder = window, device, folder
        self._source: Path | None = None  # a folder with learned weights
        self._made: Scorer | None = None
        self.training_seconds: float | None = None
        self.notes: Counter = Counter()
        if name in (BUILT_IN, "local/minilm"):
            self._kind, self._base = "joint", None
            content = f"joint:{weights.MINILM_SHA256}"
        else:
            wanted = name.removeprefix("hf/")
            if wanted.startswith("ms-marco-"):
                wanted = f"cross-encoder/{wanted}"
            path = places.resolve(wanted)
            settings = kept.read(path) if path.is_dir() else None
            if settings is not None:
                self._kind, self._source = settings["kind"], path
                self._window = window or settings["window"]
                self._base, content = path, settings["identity"]
            else:
                self._base, content = weights.folder_of(wanted)
                self._kind = "classifier"
        self.identity = kept.digest("model", content, self._window)

    def __repr__(self) -> str:
        return f"<reranker {self.name}>"

    @property
    def _scorer(self) -> Scorer:
        if self._made is None:
            from factlab.models import rerank_scorers

            if self._kind == "joint":
                self._made = rerank_scorers.Joint(self._device, self._window)
                if self._source is not None:
                    self._made.restore(self._source)
            else:
                self._made = rerank_scorers.Classifier(self._source or self._base, self._device, self._window)
        return self._made

    def score(self, pairs: Sequence[Pair], progress: bool = True) -> np.ndarray:
        """How well each document fits its sentence.

        Parameters
        ----------
        pairs : list of (sentence, document)
            The same pair is scored once.
        progress : whether a bar is shown.

        Returns
        -------
        (n,) array of float
            Logits, in input order: higher fits better; comparable between documents of one sentence.

        Raises
        ------
        ValueError : an entry is not a pair of texts.
        ReplayMiss : in mode 'replay', a pair that was never scored.
        """
        listed = _checked(pairs)
        keys = [kept.digest(self.identity, *pair) for pair in listed]
        store = kept.scores_at(self._folder)
        found = {} if self.mode == "live" else store.get(list(dict.fromkeys(keys)))
        self.notes["asked"] += len(listed)
        self.notes["kept"] += sum(key in found for key in keys)
        missing = {key: pair for key, pair in zip(keys, listed, strict=True) if key not in found}
        if missing and self.mode == "replay":
            first = next(iter(missing.values()))
            raise ReplayMiss(
                f"mode 'replay': {len(missing)} scores of {self.name} are not kept. The first one missing is of:\n{first[0][:300]}\n"
                f"{first[1][:300]}\nScore it with mode 'cache'."
            )
        order = list(missing)
        with bar(len(order), self.name, progress and bool(order)) as shown:
            for start in range(0, len(order), _CHUNK):
                part = order[start : start + _CHUNK]
                fresh = self._scores([missing[key] for key in part], shown.update)
                if not np.isfinite(fresh).all():
                    raise ModelError(f"{self.name} gave a score that is not a number; its weights may be damaged")
                store.put(self.name, zip(part, fresh.tolist(), strict=True))
                found |= dict(zip(part, fresh.tolist(), strict=True))
        return np.array([found[key] for key in keys], dtype=float)

    def _scores(self, pairs: list[Pair], done: Any) -> np.ndarray:
        import torch

        scorer = self._scorer
        found = np.zeros(len(pairs))
        lengths = scorer.prepare(pairs)
        with torch.inference_mode():
            for batch in batches(lengths, self._budget()):
                found[batch] = scorer.scores([pairs[i] for i in batch]).double().cpu().numpy()
                done(len(batch))
        self._count_cuts()
        return found

    def _budget(self) -> int:
        return self._scorer.budget.get(str(self._scorer.device).split(":")[0], 2_048)

    def _count_cuts(self) -> None:
        self.notes["truncated"], self.notes["dropped_tokens"] = len(self._scorer.cut), sum(self._scorer.cut.values())

    def fit(
        self,
        groups: Sequence[Group],
        *,
        epochs: int = 2,
        learning_rate: float = 1e-4,
        queries_per_step: int = 8,
        warmup: float = 0.1,
        weight_decay: float = 0.01,
        seed: int = 0,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Fine-tune on groups of documents with the localized contrastive loss; the model is another one afterwards.

        Parameters
        ----------
        groups : sequence of Group
            Of each sentence the relevant documents and those that are not, from `retrieval.hard_negatives`. A group without the one or
            the other teaches nothing and is left out.
        epochs : how often each group is seen, at least 1.
        learning_rate : at its highest, after the warm-up; it then falls to 0 in a straight line.
        queries_per_step : sentences in one step.
        warmup : share of the steps in which the rate rises, in [0, 1).
        weight_decay : of AdamW, for weights; the two factors of the built-in model's head do not decay.
        seed : order of the groups.
        progress : whether a bar is shown.

        Returns
        -------
        DataFrame
            The loss curve, a row a step: step (from 1), epoch (from 1), queries, loss (mean over the step's sentences, before the
            step), learning_rate.

        Raises
        ------
        ModelError : nothing to learn from, a setting out of range, or a loss that is not a number.
        ReplayMiss : in mode 'replay', a model that was not trained before.

        Notes
        -----
        Loss of a sentence s (section 4.1): −log( Σ_{d⁺} exp z(s, d⁺) / Σ_{d ∈ G_s} exp z(s, d) ), its mean over sentences. With one
        relevant document this is the printed equation. For several, the paper writes the set {d⁺} as an index; read here as: some
        relevant document is ranked first, so their probabilities add up.

        No dropout: with so few steps it costs more than it brings, and the same data give the same model on one machine. The model
        is kept under the hash of the model it started from, the groups, the settings and a version; the same call loads it.
        """
        import pandas as pd

        used = [group for group in groups if group.relevant and group.others]
        if not used:
            raise ModelError(
                f"{self.name}: none of {len(groups)} groups has a relevant document and another one to learn from"
            )
        if epochs < 1 or queries_per_step < 1 or not learning_rate > 0 or not 0 <= warmup < 1 or weight_decay < 0:
            raise ModelError(
                f"{self.name}: epochs and queries_per_step are at least 1, learning_rate is above 0, warmup in [0, 1), weight_decay "
                f"not below 0; got {epochs}, {queries_per_step}, {learning_rate}, {warmup}, {weight_decay}"
            )
        settings = {
            "epochs": int(epochs), "learning_rate": float(learning_rate), "queries_per_step": int(queries_per_step),
            "warmup": float(warmup), "weight_decay": float(weight_decay), "seed": int(seed),
        }  # fmt: skip
        data = kept.digest(*[[g.query, list(g.relevant), list(g.others)] for g in used])
        trained = kept.digest("fit", self.identity, data, settings)
        folder = self._folder / trained[:32]
        record = None if self.mode == "live" else kept.read(folder)
        if record is None and self.mode == "replay":
            raise ReplayMiss(
                f"mode 'replay': {self.name} was not yet trained on these {len(used)} groups. Train it with mode 'cache'."
            )
        if record is None:
            began = time.process_time()
            curve = self._train(used, settings, progress)
            seconds = time.process_time() - began
            columns = ["step", "epoch", "queries", "loss", "learning_rate"]
            record = {
                "kind": self._kind, "base": self.name, "identity": trained, "window": self._window, "settings": settings,
                "groups": len(used), "training_seconds": round(seconds, 1), "curve": curve, "columns": columns,
            }  # fmt: skip
            kept.write(folder, record, self._scorer.save)
        else:
            self._made = None  # loaded again, with what was learned, when a score is missing
        self._source, self.training_seconds = folder, record["training_seconds"]
        self.identity = kept.digest("model", trained, self._window)
        kinds = {"step": "int64", "epoch": "int64", "queries": "int64", "loss": "float64", "learning_rate": "float64"}
        return pd.DataFrame(record["curve"], columns=record["columns"]).astype(kinds)

    def _train(self, groups: list[Group], settings: dict[str, Any], progress: bool) -> list[list[float]]:
        import torch

        scorer = self._scorer
        every, rate = scorer.learned(), settings["learning_rate"]
        optimiser = torch.optim.AdamW(
            [
                {"params": p, "lr": rate * factor, "weight_decay": settings["weight_decay"] * decays}
                for p, factor, decays in every
            ]
        )
        highest = [group["lr"] for group in optimiser.param_groups]
        generator, size = np.random.default_rng(settings["seed"]), settings["queries_per_step"]
        steps = settings["epochs"] * math.ceil(len(groups) / size)
        rising = round(settings["warmup"] * steps)
        curve: list[list[float]] = []
        with bar(steps, f"fine-tuning {self.name}", progress) as shown:
            for epoch in range(1, settings["epochs"] + 1):
                order = generator.permutation(len(groups))
                for start in range(0, len(order), size):
                    done = len(curve)
                    share = (done + 1) / (rising + 1) if done < rising else (steps - done) / (steps - rising)
                    for group, high in zip(optimiser.param_groups, highest, strict=True):
                        group["lr"] = high * share
                    optimiser.zero_grad()
                    batch = [groups[i] for i in order[start : start + size]]
                    loss = self._loss(batch)
                    if not math.isfinite(loss.item()):
                        raise ModelError(
                            f"{self.name}: the loss is no number at step {done + 1}; use a smaller learning_rate"
                        )
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(
                        [p for group in optimiser.param_groups for p in group["params"]], 1.0
                    )
                    optimiser.step()
                    curve.append([done + 1, epoch, len(batch), loss.item(), rate * share])
                    shown.update(1)
        self._count_cuts()
        return curve

    def _loss(self, batch: list[Group]) -> Any:
        """Mean localized contrastive loss of some groups."""
        import torch

        pairs = [(g.query, d) for g in batch for d in (*g.relevant, *g.others)]
        lengths = self._scorer.prepare(pairs)
        parts = batches(lengths, self._budget())
        scores = torch.cat([self._scorer.scores([pairs[i] for i in part]) for part in parts])
        place = torch.empty(len(pairs), dtype=torch.long)
        place[torch.tensor([i for part in parts for i in part])] = torch.arange(len(pairs))
        scores, losses, start = scores[place.to(scores.device)], [], 0
        for group in batch:
            n = len(group.relevant) + len(group.others)
            losses.append(lcl(scores[start : start + n], len(group.relevant)))
            start += n
        return torch.stack(losses).mean()

    def save(self, folder: Path | str) -> Path:
        """Write the model as safetensors with its settings; `load(folder)` brings it back.

        Of the built-in model only what was learned is written (14 MB); the rest is read from the installed weights.
        """
        path = Path(folder)
        record = kept.read(self._source) if self._source is not None else None
        record = record or {"kind": self._kind, "base": self.name, "identity": self.identity, "window": self._window}
        kept.write(path, record, self._scorer.save)
        return path


def lcl(scores: Any, relevant: int) -> Any:
    """The localized contrastive loss of one sentence; see `Reranker.fit`.

    Parameters
    ----------
    scores : (n,) tensor
        z of its documents, the relevant ones first.
    relevant : how many those are, 1 to n.

    Returns
    -------
    tensor : at least 0.
    """
    import torch

    return torch.logsumexp(scores, 0) - torch.logsumexp(scores[:relevant], 0)


def _checked(pairs: Sequence[Pair]) -> list[Pair]:
    listed = list(pairs)
    for i, pair in enumerate(listed):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise ValueError(f"score, entry {i}: expected a pair of texts, got {pair!r}")
    return [(a, b) for a, b in listed]
