"""Fine-tuning a local model on prompts and the replies wanted to them (REASONS, section 4.1: cross-entropy on the citation).

Pairs of prompt and reply go in; a folder with the trained weights comes out, which `models.load("hf/<folder>")` loads like any
other model, and whose content is part of every cache key. What is trained is a LoRA adapter (package peft): two small matrices
beside each linear layer, merged into the weights at the end. The same training is not done twice.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import models, places
from factlab.models import local, weights
from factlab.models.base import Call, ModelError
from factlab.models.cache import canonical
from factlab.models.progress import bar

if TYPE_CHECKING:
    import pandas as pd

_TRAINING = 1  # raised when the way of training changes, so that an older result is not taken for a new one
# Not *.json: those are hashed as part of the model (see `weights.folder_of`), and how long a training took is no part of it.
_RECORD = "training.jsonl"
_CLIP = 1.0  # largest norm of a step's gradient: one odd batch must not undo the others
_WARM_UP = 0.1  # share of the steps in which the learning rate rises
_NO_LOSS = -100  # label of a token that is read only


@dataclass(frozen=True)
class Finetuned:
    """A trained model and how it came about.

    Attributes
    ----------
    name : what `models.load` takes.
    folder : where the weights are (safetensors).
    losses : DataFrame, one row a step: step (from 1), epoch (from 1), loss (mean cross-entropy of a reply token, in nats, before
        the step), tokens (reply tokens in the batch).
    pairs, tokens : pairs trained on, and the reply tokens in them (once through).
    too_long : pairs left out because prompt and reply do not fit the model's window together.
    seconds : how long the training took when it was done.
    trained : False when the folder held this very training already.
    """

    name: str
    folder: Path
    losses: pd.DataFrame
    pairs: int
    tokens: int
    too_long: int
    seconds: float
    trained: bool

    def __str__(self) -> str:
        first, last = self.losses["loss"].iloc[0], self.losses["loss"].iloc[-1]
        left = f", {self.too_long} more left out as longer than the model's window" if self.too_long else ""
        return (
            f"{self.pairs} pairs, {len(self.losses)} steps, {self.seconds:,.0f} s; loss of a reply token {first:.2f} in the "
            f"first step, {last:.2f} in the last{left}{'' if self.trained else ' (trained before, taken from its folder)'}"
        )


def finetune(
    name: str,
    prompts: Sequence[str],
    targets: Sequence[str],
    *,
    system: str | None = None,
    groups: Sequence[str] | None = None,
    held_out: Iterable[str] = (),
    rank: int = 16,
    alpha: float = 32.0,
    epochs: int = 3,
    steps: int = 0,
    lr: float = 5e-4,
    batch_tokens: int = 2048,
    seed: int = 0,
    folder: Path | str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    progress: bool = True,
) -> Finetuned:
    """Train a model to give the wanted replies.

    Parameters
    ----------
    name : local/smollm2 or hf/<id or folder>.
    prompts, targets : (n,) what is asked, in full, and the reply wanted. The prompt is put into the model's chat template, as it is
        when the model is asked; a model without one reads it as it stands.
    system : the system message before each prompt.
    groups : (n,) where each pair is from (its source paper).
    held_out : groups kept for testing; a pair from one of them is an error.
    rank, alpha : of the adapter: W + alpha / rank · B A, with A (rank, in) and B (out, rank).
    epochs : times each pair is shown.
    steps : when above 0, that many steps instead, over the pairs as often as they last.
    lr : the highest learning rate; it rises over the first tenth of the steps and then falls linearly.
    batch_tokens : largest number of tokens in a step, padding included; a longer pair is a step of its own.
    seed : of the adapter's first values and of the order of the pairs.
    folder : where the trained model goes; default: a folder under outputs/finetuned named by what decides the training. A folder
        with another training in it is replaced; one with anything else in it is an error.
    device, dtype : 'auto': what the machine has; single precision but for CUDA, where the weights are read in half.

    Raises
    ------
    ModelError : peft is missing; no pairs, an empty one, none that fits; a held-out group among the pairs; a setting out of range;
        a folder that may not be replaced, or no room on its disk; a loss that is no longer a number.

    Notes
    -----
    The loss is the mean cross-entropy over the tokens of the replies of a batch, the mark that ends a reply included; tokens of
    prompts are read but carry no loss. AdamW without weight decay, no dropout, gradients clipped at norm 1. On one machine with one
    number of threads the weights are the same to the bit; on a GPU up to the order in which it adds.
    """
    _check_settings(
        rank=rank, alpha=alpha, lr=lr, batch_tokens=batch_tokens, **({"steps": steps} if steps else {"epochs": epochs})
    )
    _check_pairs(prompts, targets, groups, held_out)
    if importlib.util.find_spec("peft") is None:
        raise ModelError(
            "fine-tuning needs the package peft. Add it with:  python -m pip install peft  (or the extra: 'factlab[models]')"
        )
    backend = _backend(name, device, dtype)
    schedule = {"steps": int(steps)} if steps else {"epochs": int(epochs)}
    settings = {
        "rank": int(rank), "alpha": float(alpha), "lr": float(lr), "batch_tokens": int(batch_tokens), "seed": int(seed), **schedule,
    }  # fmt: skip
    identity = backend.identity()
    decided_by = {
        "version": _TRAINING,
        "base": [identity["weights"], identity["template"], identity["dtype"]],
        "data": _sha256([system, [list(pair) for pair in zip(prompts, targets, strict=True)]]),
        "settings": settings,
    }
    key = _sha256(decided_by)
    place = places.outputs() / "finetuned" / key[:16] if folder is None else places.resolve(folder)
    if place.exists() and place.resolve() == backend.folder.resolve():
        raise ModelError(
            f"{places.shown(place)}: the model would overwrite the one it is made from; choose another folder"
        )
    from filelock import FileLock

    with places.writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(place) + ".lock"):
            if (known := _read(place, key)) is not None:
                return known
            if place.exists() and not (place / _RECORD).is_file() and (not place.is_dir() or any(place.iterdir())):
                raise ModelError(
                    f"{places.shown(place)}: holds something that no training here made, and is not replaced; choose another folder"
                )
            _train(backend, list(prompts), list(targets), system, settings, place, key, progress)
            found = _read(place, key)
    if found is None:
        raise ModelError(
            f"{places.shown(place)}: the trained model cannot be read back; is another program writing there?"
        )
    return replace(found, trained=True)


def target_losses(
    name: str,
    prompts: Sequence[str],
    targets: Sequence[str],
    *,
    system: str | None = None,
    batch_tokens: int = 2048,
    device: str = "auto",
    dtype: str = "auto",
    progress: bool = True,
) -> list[float | None]:
    """How unlikely a model finds replies: for each pair the mean cross-entropy of a reply token, in nats.

    Returns
    -------
    list of n numbers of 0 or more; 0 is certainty. None where prompt and reply do not fit the model's window together.

    Raises
    ------
    ModelError : no pairs, an empty one, or a model that does not run here.
    """
    _check_pairs(prompts, targets, None, ())
    backend = _backend(name, device, dtype)
    backend._load()
    rows = _rows(backend, prompts, targets, system)
    fitting = sorted((i for i, row in enumerate(rows) if row is not None), key=lambda i: -sum(map(len, rows[i])))
    found: list[float | None] = [None] * len(rows)
    torch = local._torch()
    with torch.inference_mode(), bar(len(rows), f"reading with {name}", progress) as shown:
        shown.update(len(rows) - len(fitting))
        for batch in _packed(fitting, rows, batch_tokens):
            losses, counts = reply_losses(backend._model, [rows[i] for i in batch], backend._tokenizer.pad_token_id)
            for i, loss, count in zip(batch, losses.sum(1).tolist(), counts.tolist(), strict=True):
                found[i] = loss / count
            shown.update(len(batch))
    return found


def reply_losses(model: Any, rows: Sequence[tuple[list[int], list[int]]], pad: int) -> tuple[Any, Any]:
    """Cross-entropy of each token of each reply.

    Parameters
    ----------
    model : causal language model of transformers.
    rows : (n,) token numbers of a prompt and of its reply, at least one each.
    pad : token number that fills up shorter rows; it is not seen.

    Returns
    -------
    (losses, counts) : (n, longest reply) tensor in nats, aligned on the right, 0 before a reply begins; (n,) reply tokens.
    """
    torch = local._torch()
    longest, keep = max(len(p) + len(r) for p, r in rows), max(len(r) for _, r in rows)
    # Padded on the left, all replies end in the same column, and the model need not compute what it says about prompts.
    gaps = [longest - len(p) - len(r) for p, r in rows]
    ids = torch.tensor([[pad] * gap + p + r for gap, (p, r) in zip(gaps, rows, strict=True)], device=model.device)
    mask = torch.tensor([[0] * gap + [1] * (longest - gap) for gap in gaps], device=model.device)
    labels = torch.tensor([[_NO_LOSS] * (keep - len(r)) + r for _, r in rows], device=model.device)
    logits = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(1) - 1).clamp(min=0),
        use_cache=False,
        logits_to_keep=keep + 1,
    ).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), labels.flatten(), ignore_index=_NO_LOSS, reduction="none"
    )
    return losses.view(labels.shape), (labels != _NO_LOSS).sum(1)


# -- checks -----------------------------------------------------------------------------------------------------------


def _check_settings(**settings: float) -> None:
    for name, value in settings.items():
        whole = name not in ("alpha", "lr")
        if not isinstance(value, int | float | np.number) or not value > 0 or (whole and value != int(value)):
            raise ModelError(f"fine-tuning: {name} must be a {'whole ' if whole else ''}number above 0, got {value!r}")


def _check_pairs(
    prompts: Sequence[str], targets: Sequence[str], groups: Sequence[str] | None, held_out: Iterable[str]
) -> None:
    if isinstance(prompts, str) or isinstance(targets, str) or len(prompts) != len(targets):
        raise ModelError("fine-tuning needs a list of prompts and a list of as many replies")
    if not len(prompts):
        raise ModelError("nothing to train on: there is no pair of a prompt and a reply")
    for i, (prompt, target) in enumerate(zip(prompts, targets, strict=True), start=1):
        for what, value in (("prompt", prompt), ("reply", target)):
            if not isinstance(value, str) or not value.strip():
                raise ModelError(f"pair {i} of {len(prompts)}: the {what} is empty; leave the pair out or fill it")
    kept = {str(group) for group in held_out}
    if groups is not None and len(groups) != len(prompts):
        raise ModelError(f"{len(prompts)} pairs but {len(groups)} groups: give one for each pair")
    if kept and groups is None:
        raise ModelError("held_out names groups kept for testing, but the pairs come without groups: pass both")
    leaked = sorted(kept & {str(group) for group in groups or ()})
    if leaked:
        raise ModelError(
            f"leak: {len(leaked)} of the groups kept for testing are among the pairs to train on ({', '.join(leaked[:5])}"
            f"{', …' if len(leaked) > 5 else ''}). Take their pairs out, or test on others."
        )


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def _backend(name: str, device: str, dtype: str) -> local.Local:
    where = local.machine()["device"] if device == "auto" else device
    # Half precision on a CPU would lose the small steps of a training; peft keeps the adapter in single precision anyway.
    kind = ("bfloat16" if where.startswith("cuda") else "float32") if dtype == "auto" else dtype
    if not name.startswith(("local/", "hf/")):
        raise ModelError(
            f"{name} does not run on this machine: only local/smollm2 and hf/<id or folder> can be trained"
        )
    return models.load(name, mode="live", device=where, dtype=kind).backend


# -- training ---------------------------------------------------------------------------------------------------------


def _rows(
    backend: local.Local, prompts: Sequence[str], targets: Sequence[str], system: str | None
) -> list[tuple[list[int], list[int]] | None]:
    """Tokens of prompt and reply, the prompt's as when the model is asked; None for a pair longer than the window."""
    if system is not None and not backend.is_chat:
        raise ModelError(f"{backend.name} is a base model (no chat template) and takes no system message")
    end = backend._tokenizer.eos_token_id
    window = getattr(backend._model.config, "max_position_embeddings", None) or 1 << 30
    opening = [] if system is None else [{"role": "system", "content": system}]
    rows: list[tuple[list[int], list[int]] | None] = []
    for prompt, target in zip(prompts, targets, strict=True):
        chat = (*opening, {"role": "user", "content": prompt})
        _, asked = backend._tokens(Call(messages=chat) if backend.is_chat else Call(prompt=prompt))
        reply = backend._tokenizer(target, add_special_tokens=False)["input_ids"] + ([] if end is None else [end])
        rows.append((list(asked), reply) if len(asked) + len(reply) <= window else None)
    return rows


def _packed(order: Sequence[int], rows: Sequence[tuple[list[int], list[int]] | None], budget: int) -> list[list[int]]:
    """Rows in their order, cut into batches that hold at most `budget` tokens with their padding."""
    batches: list[list[int]] = [[]]
    width = 0
    for i in order:
        width = max(width, sum(map(len, rows[i])))
        if batches[-1] and (len(batches[-1]) + 1) * width > budget:
            batches.append([])
            width = sum(map(len, rows[i]))
        batches[-1].append(i)
    return [batch for batch in batches if batch]


def _schedule(rows: Sequence[Any], settings: dict[str, Any]) -> list[tuple[int, list[int]]]:
    """(epoch, rows of the batch) of every step: each epoch has all rows once, in an order of its own."""
    fitting = [i for i, row in enumerate(rows) if row is not None]
    rng = np.random.default_rng(settings["seed"])
    plan: list[tuple[int, list[int]]] = []
    epoch = 0
    while len(plan) < settings["steps"] if "steps" in settings else epoch < settings["epochs"]:
        epoch += 1
        order = [fitting[k] for k in rng.permutation(len(fitting))]
        plan += [(epoch, batch) for batch in _packed(order, rows, settings["batch_tokens"])]
    return plan[: settings.get("steps")]


def _train(
    backend: local.Local, prompts: list[str], targets: list[str], system: str | None, settings: dict[str, Any], place: Path,
    key: str, progress: bool,
) -> None:  # fmt: skip
    start = time.perf_counter()
    backend._load()
    rows = _rows(backend, prompts, targets, system)
    kept = [row for row in rows if row is not None]
    if not kept:
        raise ModelError(f"none of the {len(rows)} pairs fits the window of {backend.name}; shorten the prompts")
    needed = sum(p.numel() * p.element_size() for p in backend._model.parameters()) * 1.05
    free = shutil.disk_usage(place.parent).free
    if free < needed:
        raise ModelError(
            f"{places.shown(place.parent)} has {free / 1e6:,.0f} MB free; the trained model takes {needed / 1e6:,.0f} MB. Free some "
            "space, or name a folder on another disk."
        )
    merged, losses = _fit(backend, rows, settings, progress)
    record = {
        "key": key,
        "base": backend.name,
        "settings": settings,
        "pairs": len(kept),
        "tokens": sum(len(reply) for _, reply in kept),
        "too_long": len(rows) - len(kept),
        "packages": {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")},
    }
    part = place.with_name(place.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        merged.save_pretrained(part)
        backend._tokenizer.save_pretrained(part)
        record |= {"content": weights.folder_of(str(part))[1], "seconds": time.perf_counter() - start}
        lines = [json.dumps(line, sort_keys=True) for line in (record, *losses)]
        (part / _RECORD).write_text("\n".join(lines) + "\n", encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        os.replace(part, place)  # noqa: PTH105  (a folder, replaced whole)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _fit(
    backend: local.Local, rows: Sequence[Any], settings: dict[str, Any], progress: bool
) -> tuple[Any, list[dict[str, Any]]]:
    """The model with its adapter trained and merged, and the loss of every step."""
    torch = local._torch()
    plan = _schedule(rows, settings)
    pad = backend._tokenizer.pad_token_id
    losses: list[dict[str, Any]] = []
    with _seeded(settings["seed"]), bar(len(plan), f"training {backend.name}", progress) as shown:
        model = _with_adapter(backend._model, settings["rank"], settings["alpha"])
        model.train()
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=settings["lr"], weight_decay=0.0)
        for step, (epoch, batch) in enumerate(plan):
            for group in optimizer.param_groups:
                group["lr"] = settings["lr"] * _share(step, len(plan))
            of_tokens, counts = reply_losses(model, [rows[i] for i in batch], pad)
            loss = of_tokens.sum() / counts.sum()
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(trained, _CLIP)
            value = loss.item()
            if not np.isfinite(value) or not bool(torch.isfinite(norm)):
                raise ModelError(
                    f"the training went astray: loss {value}, norm of its gradient {norm.item()} in step {step + 1}; lower lr "
                    f"({settings['lr']:g}) or alpha ({settings['alpha']:g})"
                )
            optimizer.step()
            losses.append({"step": step + 1, "epoch": epoch, "loss": value, "tokens": int(counts.sum())})
            shown.update(1)
        merged = model.merge_and_unload()
    return merged, losses


def _share(step: int, steps: int) -> float:
    """Share of the highest learning rate in a step: up over the first tenth, then down to (but not reaching) nothing."""
    warm = max(1, round(_WARM_UP * steps))
    return (step + 1) / warm if step < warm else (steps - step) / (steps - warm + 1)


def _with_adapter(model: Any, rank: int, alpha: float) -> Any:
    import peft

    # Every linear layer but the last, which in small models is the embedding as well.
    settings = peft.LoraConfig(
        r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft reads a property that transformers is about to rename
        return peft.get_peft_model(model, settings)


@contextmanager
def _seeded(seed: int):
    """torch's random numbers fixed inside, and as they were afterwards."""
    torch = local._torch()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


# -- what a folder holds ----------------------------------------------------------------------------------------------


def _read(place: Path, key: str) -> Finetuned | None:
    """The training in a folder when it is this one and its files are as they were written; else None."""
    import pandas as pd

    with suppress(OSError, ValueError, KeyError, TypeError, ModelError):
        record, *losses = [json.loads(line) for line in (place / _RECORD).read_text(encoding="utf-8").splitlines()]
        if record["key"] != key or weights.folder_of(str(place.resolve()))[1] != record["content"]:
            return None
        table = pd.DataFrame(losses, columns=["step", "epoch", "loss", "tokens"])
        counted = {name: record[name] for name in ("pairs", "tokens", "too_long", "seconds")}
        return Finetuned(name=f"hf/{places.shown(place)}", folder=place, losses=table, trained=False, **counted)
    return None
