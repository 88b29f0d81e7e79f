"""Which items a study looks at when it does not look at all of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np


def stratified_sample(groups: Sequence[Hashable], fraction: float, seed: int = 0) -> np.ndarray:
    """Draw a share of the items so that every group keeps its share (DAHL, section 5.2: a tenth, same categories).

    Parameters
    ----------
    groups : (n,) sequence
        The group (category) of each item.
    fraction : float
        In (0, 1].
    seed : int

    Returns
    -------
    (m,) array of int
        Row numbers, ascending; m = round(n · fraction), at least 1 when there is an item.

    Raises
    ------
    ValueError
        If the fraction is not in (0, 1].

    Notes
    -----
    Each group gets ⌊its size · fraction⌋; what is missing to m goes to the groups with the largest remainders (Hare's method), ties
    by lot. Within a group the draw is without replacement.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction: expected a share above 0 and at most 1, got {fraction!r}")
    generator = np.random.default_rng(seed)
    names = np.array([str(group) for group in groups], dtype=object)
    labels, codes = np.unique(names.astype(str), return_inverse=True) if len(names) else (np.array([]), np.array([]))
    sizes = np.bincount(codes.astype(int), minlength=len(labels)) if len(names) else np.array([], dtype=int)
    wanted = min(len(names), max(1, int(len(names) * fraction + 0.5))) if len(names) else 0
    ideal = sizes * (wanted / len(names)) if len(names) else sizes
    quota = np.floor(ideal + 1e-9).astype(int)
    lot = generator.permutation(len(labels))
    # Largest remainder first; among equal ones the order of the lot decides.
    order = sorted(range(len(labels)), key=lambda g: (-round(float(ideal[g] - quota[g]), 9), lot[g]))
    for g in order[: wanted - int(quota.sum())]:
        quota[g] += 1
    picked = [generator.choice(np.flatnonzero(codes == g), quota[g], replace=False) for g in range(len(labels))]
    return np.sort(np.concatenate(picked)).astype(int) if picked else np.array([], dtype=int)
