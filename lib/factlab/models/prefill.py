"""What prompts of a batch share is read once, in two steps: what all of them begin with, then what groups of them begin with, several
samples of one prompt above all. Shared tokens are the whole difference: positions are counted from the mask, and padding is not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PAYS = 24  # tokens that must be shared by all for a reading of their own; below, the copy costs as much
SAVES = 0.8  # share of the tokens above which reading by groups is not worth it


@dataclass(frozen=True)
class Layout:
    """How the rows of a batch are read.

    Attributes
    ----------
    shared : tokens that all rows begin with, read first; 0: not apart.
    group : for each row, its group.
    begins : for each group, the tokens after the shared ones that its rows begin with, read next; (): not apart.
    """

    shared: int
    group: tuple[int, ...]
    begins: tuple[tuple[int, ...], ...] = ((),)


def common(first: Sequence[int], last: Sequence[int]) -> int:
    """How many tokens two rows begin with alike."""
    shortest = min(len(first), len(last))
    return next((k for k in range(shortest) if first[k] != last[k]), shortest)


def shared_by_all(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with alike, leaving each at least one; 0 where so few that it does not pay."""
    if len(rows) < 2:
        return 0
    shared = min(common(min(rows), max(rows)), min(map(len, rows)) - 1)
    return shared if shared >= PAYS else 0


def layout(rows: Sequence[Sequence[int]]) -> Layout:
    """The reading that takes the fewest tokens, padding included. Of every row at least one token is left for the last step.

    Parameters
    ----------
    rows : tokens of each prompt, none empty.
    """
    together = (0,) * len(rows)
    if len(rows) < 2:
        return Layout(0, together)
    order = sorted(range(len(rows)), key=lambda i: tuple(rows[i]))
    longest = max(map(len, rows))
    shared = shared_by_all(rows)
    alike = [common(rows[a], rows[b]) for a, b in zip(order, order[1:], strict=False)]
    least, best = SAVES * len(rows) * (longest - shared), Layout(shared, together)
    # Neighbours that share so many tokens are of one group.
    for enough in sorted({n for n in alike if n >= shared + PAYS}):
        groups = [[order[0]]]
        for row, n in zip(order[1:], alike, strict=True):
            if n < enough:
                groups.append([])
            groups[-1].append(row)
        ends = _ends(rows, groups, shared)
        own = max(len(rows[i]) - end for g, end in zip(groups, ends, strict=True) for i in g)
        cost = len(groups) * (max(ends) - shared) + len(rows) * own
        if cost < least:
            of = {i: k for k, g in enumerate(groups) for i in g}
            begins = tuple(tuple(rows[g[0]][shared:end]) for g, end in zip(groups, ends, strict=True))
            least, best = cost, Layout(shared, tuple(of[i] for i in range(len(rows))), begins)
    return best


def _ends(rows: Sequence[Sequence[int]], groups: list[list[int]], shared: int) -> list[int]:
    """Where in its rows the beginning of each group ends."""
    many = {
        k: min(common(rows[g[0]], rows[g[-1]]), *(len(rows[i]) - 1 for i in g))
        for k, g in enumerate(groups)
        if len(g) > 1
    }
    # A row by itself leaves as many tokens for the last step as that reads of the others anyway.
    rest = max(len(rows[i]) - end for k, end in many.items() for i in groups[k])
    return [many.get(k, max(shared, len(rows[g[0]]) - rest)) for k, g in enumerate(groups)]


def read(model: Any, rows: Sequence[Sequence[int]], pad: int, room: int) -> tuple[Any, Any, Any]:
    """Token ids, mask and state of a batch as `generate` takes them.

    Parameters
    ----------
    model : of transformers, in inference mode.
    rows : tokens of each prompt.
    pad : token that fills gaps.
    room : tokens that will be written after them.

    Returns
    -------
    ids, mask : (rows, width) tensors; a row is [what all share][gap][its group's beginning][gap][its own], the mask 0 at gaps.
    cache : the state of the columns before the last gap. Of fixed size where the model takes that: it is not copied at every token,
        which a growing one is. None where there is nothing to give.
    """
    import torch

    def tensor(values: list[list[int]]) -> Any:
        return torch.tensor(values, device=model.device)

    plan = layout(rows)
    head, wide = list(rows[0][: plan.shared]), max(map(len, plan.begins))
    cache = None
    if head:
        cache = model(input_ids=tensor([head]), use_cache=True, logits_to_keep=1).cache
    if wide:
        mask = tensor([[1] * len(head) + [0] * (wide - len(b)) + [1] * len(b) for b in plan.begins])
        if cache is not None:
            cache.batch_repeat_interleave(len(plan.begins))
        cache = model(
            input_ids=tensor([[pad] * (wide - len(b)) + list(b) for b in plan.begins]),
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0)[:, len(head) :],
            cache=cache,
            use_cache=True,
            logits_to_keep=1,
        ).cache
    ids, masks = [], []
    begun = [plan.begins[g] for g in plan.group]
    longest = max(len(r) - len(head) - len(b) for r, b in zip(rows, begun, strict=True))
    for row, begin in zip(rows, begun, strict=True):
        own = list(row[len(head) + len(begin) :])
        gaps = wide - len(begin), longest - len(own)
        ids.append([*head, *[pad] * gaps[0], *begin, *[pad] * gaps[1], *own])
        masks.append([*[1] * len(head), *[0] * gaps[0], *[1] * len(begin), *[0] * gaps[1], *[1] * len(own)])
    return tensor(ids), tensor(masks), _spread(model, cache, plan.group, len(head) + wide + longest + room)


def _spread(model: Any, cache: Any, group: tuple[int, ...], width: int) -> Any:
    """A state with one row for each group (or one for all, or none) as one with a row for each prompt, `width` tokens wide where it can be."""
    import torch
    import transformers

    plain = cache is None or all(type(layer) is transformers.cache_utils.DynamicLayer for layer in cache.layers)
    if plain and getattr(model, "_can_compile_fullgraph", False):
        fixed = transformers.StaticCache(config=model.config, max_cache_len=width)
        if cache is not None:
            index = torch.tensor(group, device=model.device)
            for number, layer in enumerate(cache.layers):
                fixed.update(layer.keys[index], layer.values[index], number)
        return fixed
    if cache is not None:
        cache.batch_select_indices(torch.tensor(group, device=model.device))
    return cache
