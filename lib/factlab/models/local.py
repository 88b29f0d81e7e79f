"""Models that run on this machine, through transformers.

Calls are sorted by length and answered in batches under a token budget; what prompts of a batch share is read once (`prefill`). torch is imported when the first reply is really needed: a notebook that finds all of them in the cache never pays for it.

Sampling noise is keyed by (seed, prompt, sample number): each reply has a random stream of its own, and each token is the
winner of a race of exponential clocks with the probabilities as rates, which is a draw from the distribution. So a reply does
not depend on which others were in its batch, on the order of the prompts or on what was cached before, up to the last bits of
floating point, which a batch of another shape can change: the race makes that matter once in some 10^5 tokens in fp32 (inverting
the cumulative distribution would be a hundred times more sensitive), more often in bf16.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from factlab import places
from factlab.models import prefill
from factlab.models.base import Call, ModelError, Reply

_SAMPLER = 1  # raised when the way of sampling changes, so that older replies are not taken for new ones
_CHOICE_BUDGET = (
    8_000  # tokens in a batch of choices: they only read, and smaller batches stay in the processor's cache
)
_TOP = 1024  # tokens sorted at first for top_p; the rest only where these do not reach it


def _torch():
    try:
        import torch
    except ImportError as error:
        raise ModelError(
            "local models need the extra `models` (torch, transformers): python -m pip install 'factlab[models]'"
        ) from error
    return torch


def _decide_machine() -> dict[str, str]:
    torch = _torch()
    if torch.cuda.is_available():
        return {"device": "cuda", "dtype": "bfloat16" if torch.cuda.is_bf16_supported() else "float32"}
    if torch.backends.mps.is_available():
        return {"device": "mps", "dtype": "float32"}
    # On a CPU bf16 is only faster where the matrix units take it; elsewhere it is emulated and much slower.
    fast = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)()
    return {"device": "cpu", "dtype": "bfloat16" if fast else "float32"}


@functools.cache
def machine() -> dict[str, str]:
    """Device and dtype that are fast here, remembered on disk so that asking does not import torch each time."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return {"device": "cpu", "dtype": "float32"}
    mark = (
        f"{platform.node()}-{platform.machine()}-{version}-{'gpu' if Path('/proc/driver/nvidia').exists() else 'cpu'}"
    )
    note = places.user_cache() / f"machine-{hashlib.sha256(mark.encode()).hexdigest()[:12]}.json"
    try:
        known = json.loads(note.read_text())
        return {"device": str(known["device"]), "dtype": str(known["dtype"])}
    except (OSError, ValueError, KeyError):
        decided = _decide_machine()
        places.write_json(note, decided)
        return decided


def noise(seed: int, prompt: str, sample: int) -> np.random.Generator:
    """The stream of noise that decides one reply; the same for the same arguments, always."""
    digest = hashlib.sha256(f"{seed}\0{sample}\0{prompt}".encode("utf-8", "surrogatepass")).digest()
    return np.random.Generator(np.random.SFC64(int.from_bytes(digest[:16], "little")))


class Local:
    """A causal language model loaded from safetensors.

    Parameters
    ----------
    name : the name it was asked for by, e.g. 'local/smollm2'.
    folder : folder of the weights, or a function that finds (and, once, converts) them.
    content : hash or commit that identifies the weights.
    device, dtype : 'auto' takes what the machine does fast.
    token_budget : largest number of tokens (prompts and replies together) held in one batch.
    template : what identifies the chat template where that is known without looking at the folder (built-in weights, which
        need not even be converted when every reply is in the cache).
    """

    scores_labels = True
    on_part: Callable[[float], None] | None = None  # told how many replies' worth of work the current batch has done

    def __init__(
        self,
        name: str,
        folder: Path | Callable[[], Path],
        content: str,
        device: str = "auto",
        dtype: str = "auto",
        token_budget: int = 24_000,
        template: str | None = None,
    ) -> None:
        self.name, self._folder, self._content = name, folder, content
        self._known_template = template
        self._device, self._dtype, self.token_budget = device, dtype, token_budget
        self._model: Any = None
        self._tokenizer: Any = None

    @property
    def folder(self) -> Path:
        if not isinstance(self._folder, Path):
            self._folder = self._folder()
        return self._folder

    @functools.cached_property
    def dtype(self) -> str:
        return machine()["dtype"] if self._dtype == "auto" else self._dtype

    @functools.cached_property
    def _template(self) -> str:
        """The chat template as written in the model's files; '' for a base model. Read without transformers."""
        if self._known_template is not None:
            return self._known_template
        jinja = self.folder / "chat_template.jinja"
        if jinja.is_file():
            return jinja.read_text(encoding="utf-8")
        config = self.folder / "tokenizer_config.json"
        template = json.loads(config.read_text(encoding="utf-8")).get("chat_template") if config.is_file() else None
        return json.dumps(template) if isinstance(template, list) else template or ""

    @property
    def is_chat(self) -> bool:
        """Whether the model has a chat template; a base model has none and takes bare text only."""
        return bool(self._template)

    def identity(self) -> dict[str, Any]:
        template = hashlib.sha256(self._template.encode()).hexdigest()[:16]
        return {"weights": self._content, "template": template, "dtype": self.dtype, "sampler": _SAMPLER}

    def _load(self) -> None:
        if self._model is not None:
            return
        torch = _torch()
        import transformers

        # Progress bars and advice of the library would bury ours; its errors still come through.
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        device = machine()["device"] if self._device == "auto" else self._device
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, padding_side="left")
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model = transformers.AutoModelForCausalLM.from_pretrained(
            self.folder, dtype=getattr(torch, self.dtype), use_safetensors=True
        ).to(device)
        self._model.eval()

    def _tokens(self, call: Call) -> tuple[str, list[int]]:
        """The text that a call really shows the model, and its tokens."""
        if call.messages is None:
            return call.prompt or "", self._tokenizer(call.prompt or "")["input_ids"] or [self._start_token()]
        if not self.is_chat:
            raise ModelError(f"{self.name} is a base model (no chat template): use complete() or the bare prompt style")
        messages = [dict(m) for m in call.messages]
        text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return text, self._tokenizer(text, add_special_tokens=False)["input_ids"]

    def _start_token(self) -> int:
        for token in (self._tokenizer.bos_token_id, self._tokenizer.eos_token_id):
            if token is not None:
                return token
        raise ModelError(f"{self.name} cannot be asked with an empty prompt")

    def run(self, calls: Sequence[Call], on_reply: Callable[[int, Reply], None]) -> None:
        self._load()
        torch = _torch()
        window = getattr(self._model.config, "max_position_embeddings", None) or 1 << 30
        groups: dict[str, list[int]] = defaultdict(list)
        tokens: dict[int, tuple[str, list[int]]] = {}
        for i, call in enumerate(calls):
            text, ids = self._tokens(call)
            room = window - len(ids) - (0 if "labels" in call.params else int(call.params["max_tokens"]))
            if room < 0:
                on_reply(i, Reply(finish="error", error=f"the prompt ({len(ids)} tokens) and the reply do not fit the "
                                  f"model's window of {window} tokens"))  # fmt: skip
                continue
            tokens[i] = (text, ids)
            # Calls that differ in temperature alone share a batch: the rows of a batch are sampled each by itself.
            alike = call.params | {"temperature": bool(call.params.get("temperature"))}
            groups[json.dumps(alike, sort_keys=True)].append(i)
        with torch.inference_mode():
            for members in groups.values():
                params = calls[members[0]].params
                # The largest first: memory shows at once. Equal prompts side by side: they are read once.
                members.sort(key=lambda i: (len(tokens[i][1]), tokens[i][1]), reverse=True)
                work = self._choose if "labels" in params else self._generate
                extra = (
                    max(len(x) for x in self._label_tokens(params["labels"]))
                    if "labels" in params
                    else int(params["max_tokens"])
                )
                budget = min(self.token_budget, _CHOICE_BUDGET) if "labels" in params else self.token_budget
                for batch in self._batches(members, tokens, extra, budget):
                    begun = time.perf_counter()
                    replies = work([calls[i] for i in batch], [tokens[i] for i in batch])
                    each = (time.perf_counter() - begun) / len(batch)
                    for i, reply in zip(batch, replies, strict=True):
                        on_reply(i, dataclasses.replace(reply, seconds=each))

    def _batches(
        self, members: list[int], tokens: dict[int, tuple[str, list[int]]], extra: int, budget: int
    ) -> list[list[int]]:
        batches: list[list[int]] = [[]]
        width = 0
        for i in members:
            width = max(width, len(tokens[i][1]) + extra)
            if batches[-1] and (len(batches[-1]) + 1) * width > budget:
                batches.append([])
                width = len(tokens[i][1]) + extra
            batches[-1].append(i)
        # Even batches are faster than full ones with a small rest.
        count = len(batches)
        size = -(-len(members) // count)
        return [members[k : k + size] for k in range(0, len(members), size)] if count > 1 else batches

    def _prefix(self, rows: list[list[int]]) -> tuple[int, Any]:
        """Length of the prefix that all rows share (leaving each at least one token), and its state read once."""
        shared = prefill.shared_by_all(rows)
        if not shared:
            return 0, None
        ids = _torch().tensor([rows[0][:shared]], device=self._model.device)
        past = self._model(input_ids=ids, use_cache=True, logits_to_keep=1).cache
        past.batch_repeat_interleave(len(rows))
        return shared, past

    # -- generation ---------------------------------------------------------------------------------------------------

    def _generate(self, calls: list[Call], tokens: list[tuple[str, list[int]]]) -> list[Reply]:
        import transformers

        params = calls[0].params
        rows = [ids for _, ids in tokens]
        most = int(params["max_tokens"])
        pad = self._tokenizer.pad_token_id
        ids, mask, past = prefill.read(self._model, rows, pad, most)
        longest = ids.shape[1]
        ends = self._model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or [])
        if self._tokenizer.eos_token_id is not None and self._tokenizer.eos_token_id not in ends:
            ends.append(self._tokenizer.eos_token_id)
        stops = [params["stop"]] if isinstance(params.get("stop"), str) else list(params.get("stop") or [])
        processors = transformers.LogitsProcessorList()
        if params["temperature"] > 0:
            streams = [
                noise(int(params.get("seed") or 0), t, c.sample) for c, (t, _) in zip(calls, tokens, strict=True)
            ]
            temperatures = [float(c.params["temperature"]) for c in calls]
            processors.append(_keyed_sampler(streams, temperatures, params["top_p"]))
        criteria = transformers.StoppingCriteriaList([_stop_strings(self._tokenizer, stops, longest)] if stops else [])
        if self.on_part is not None:
            criteria.append(_reporter(self.on_part, len(rows) / most))
        out = self._model.generate(
            input_ids=ids,
            attention_mask=mask,
            cache=past,
            logits_processor=processors,
            stopping_criteria=criteria,
            generation_config=transformers.GenerationConfig(
                do_sample=False,
                max_new_tokens=most,
                eos_token_id=ends,
                pad_token_id=pad,
                use_cache=True,
                disable_compile=True,
            ),
        )[:, longest:]
        return [self._reply(new, ends, stops, len(row)) for new, row in zip(out.tolist(), rows, strict=True)]

    def _reply(self, new: list[int], ends: list[int], stops: list[str], prompt_tokens: int) -> Reply:
        cut = next((k for k, token in enumerate(new) if token in ends), None)
        used = len(new) if cut is None else cut + 1
        text = self._tokenizer.decode(new if cut is None else new[:cut], skip_special_tokens=True)
        finish = "length" if cut is None else "stop"
        first = min((at for at in (text.find(s) for s in stops) if at >= 0), default=None)
        if first is not None:
            text, finish = text[:first], "stop"
            while used > 1 and len(self._tokenizer.decode(new[: used - 1])) > first:
                used -= 1
        return Reply(text, finish, prompt_tokens, used, self.name)

    # -- choosing among labels ----------------------------------------------------------------------------------------

    def _label_tokens(self, labels: Sequence[str]) -> list[list[int]]:
        return [self._tokenizer(label, add_special_tokens=False)["input_ids"] for label in labels]

    def _choose(self, calls: list[Call], tokens: list[tuple[str, list[int]]]) -> list[Reply]:
        """Log-likelihood of each label after each prompt, summed over the label's tokens."""
        torch = _torch()
        labels = list(calls[0].params["labels"])
        rows = [ids for _, ids in tokens]
        shared, past = self._prefix(rows)
        by_label = self._label_tokens(labels)
        # One reading of the prompts gives the first token of every label; what is left of longer ones is read after it.
        longer = any(len(label) > 1 for label in by_label)
        own = [r[shared:] for r in rows]
        first, past = self._logprobs(own, shared, past, keep=longer)
        score = torch.stack([first[:, label[0]] for label in by_label], dim=1).double()
        for k, label in enumerate(by_label):
            if len(label) > 1:
                score[:, k] += self._continued(own, shared, past, label).double()
        values = score.cpu().tolist()
        return [
            Reply(labels[int(np.argmax(v))], "stop", len(r), 1, self.name, logprobs=dict(zip(labels, v, strict=True)))
            for v, r in zip(values, rows, strict=True)
        ]

    def _logprobs(self, rows: list[list[int]], shared: int, past: Any, keep: bool) -> tuple[Any, Any]:
        """(rows, vocabulary) log-probabilities of what follows each row, and the state after reading them if it is to be kept."""
        torch = _torch()
        longest = max(map(len, rows))
        device = self._model.device
        pad = self._tokenizer.pad_token_id
        # Padded on the right: nothing real can look at what comes after it, and positions need no care.
        ids = torch.tensor([r + [pad] * (longest - len(r)) for r in rows], device=device)
        last = torch.tensor([len(r) - 1 for r in rows], device=device)
        wanted = torch.unique(last)
        out = self._model(
            input_ids=ids,
            attention_mask=self._mask(rows, shared),
            position_ids=torch.arange(shared, shared + longest, device=device).expand(len(rows), -1),
            cache=past,
            use_cache=past is not None or keep,
            logits_to_keep=wanted,
        )
        picked = out.logits[torch.arange(len(rows), device=device), torch.searchsorted(wanted, last)]
        return torch.log_softmax(picked.float(), dim=-1), out.cache if keep else None

    def _continued(self, rows: list[list[int]], shared: int, past: Any, label: list[int]) -> Any:
        """(rows,) log-probability of a label's tokens after its first, given the state after the prompts, which stays as it was."""
        torch = _torch()
        device = self._model.device
        begun = torch.tensor([label[:-1]] * len(rows), device=device)
        start = torch.tensor([[shared + len(r)] for r in rows], device=device)
        logits = self._model(
            input_ids=begun,
            attention_mask=torch.cat([self._mask(rows, shared), torch.ones_like(begun)], dim=1),
            position_ids=start + torch.arange(begun.shape[1], device=device),
            cache=past,
            use_cache=True,
        ).logits
        past.crop(-begun.shape[1])
        found = torch.log_softmax(logits.float(), dim=-1)
        return found[:, torch.arange(begun.shape[1], device=device), label[1:]].sum(dim=1)

    def _mask(self, rows: list[list[int]], shared: int) -> Any:
        longest = max(map(len, rows))
        return _torch().tensor(
            [[1] * (shared + len(r)) + [0] * (longest - len(r)) for r in rows], device=self._model.device
        )


def _keyed_sampler(streams: list[np.random.Generator], temperatures: list[float], top_p: float):
    """A logits processor that picks the token of each row: temperature, top_p, then the race of exponential clocks."""
    torch = _torch()
    import transformers

    divisors = torch.tensor(temperatures, dtype=torch.float32)[:, None]

    class KeyedSampler(transformers.LogitsProcessor):
        def __call__(self, input_ids, scores):
            p = torch.softmax(scores.float() / divisors.to(scores.device), dim=-1)
            if top_p < 1:
                ordered = torch.topk(p, min(_TOP, p.shape[1]), dim=-1).values
                if bool((ordered.sum(-1) < top_p).any()):
                    ordered = torch.sort(p, dim=-1, descending=True).values
                # The smallest set that reaches top_p ends at the first token whose predecessors do.
                inside = ordered.cumsum(-1) - ordered < top_p
                least = torch.where(inside, ordered, torch.inf).min(-1, keepdim=True).values
                p = torch.where(p >= least, p, 0.0)
            # In double precision: in single, one clock in 2^24 stands at exactly zero, and with a vocabulary of fifty thousand
            # such a clock would let a token of no probability win every few hundred tokens.
            clocks = np.stack([s.standard_exponential(p.shape[1]) for s in streams])
            where = "cpu" if p.device.type == "mps" else p.device  # Apple's GPUs have no double precision
            token = (p.to(where) / torch.from_numpy(clocks).to(where)).argmax(-1, keepdim=True).to(p.device)
            return torch.full_like(scores, -torch.inf).scatter_(1, token, 0.0)

    return KeyedSampler()


def _reporter(on_part: Callable[[float], None], share: float):
    """A stopping criterion that stops nothing and tells at every token how far the batch is."""
    torch = _torch()
    import transformers

    class Reporter(transformers.StoppingCriteria):
        done = 0.0

        def __call__(self, input_ids, scores, **kwargs):
            self.done += share
            on_part(self.done)
            return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    return Reporter()


def _stop_strings(tokenizer: Any, stops: list[str], start: int):
    """A stopping criterion that ends each row where one of the strings has been written."""
    torch = _torch()
    import transformers

    class StopStrings(transformers.StoppingCriteria):
        def __call__(self, input_ids, scores, **kwargs):
            # A stop string can span tokens, and decoding from the start of the reply is the only exact test.
            texts = tokenizer.batch_decode(input_ids[:, start:])
            done = [any(s in text for s in stops) for text in texts]
            return torch.tensor(done, device=input_ids.device)

    return StopStrings()
