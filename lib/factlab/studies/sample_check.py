"""DAHL section 5.2: does a sample of the questions stand for all of them?

In goes one table of answers, one row an answer: category, precision (0..1, missing unless scored). Several stratified samples are drawn
from it and compared in pairs (`stats.all_pairs`), as published and for equivalence, and the size is computed that would settle it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from factlab import stats
from factlab.stats.resampling import FEW, is_constant, numbers

if TYPE_CHECKING:
    import pandas as pd


def size(n: int, fraction: float) -> int:
    """How many of n items a sample holds: n · fraction rounded, half up, and at least 1 when there is an item."""
    return max(1, int(n * fraction + 0.5)) if n else 0


def draw(
    groups: Sequence[Hashable], fraction: float, samples: int = 5, disjoint: bool = False, seed: int = 0
) -> dict[str, np.ndarray]:
    """Several stratified samples.

    Parameters
    ----------
    groups : (n,) sequence
        Category of each item.
    fraction : float
        Of all items, in (0, 1].
    samples : int
        How many, at least 1.
    disjoint : bool
        Whether no item may be in two samples. The paper drew each from all questions.
    seed : int

    Returns
    -------
    dict of name ("sample 1" …; "sample 01" … from ten on, so that they sort) to row numbers, ascending.

    Raises
    ------
    ValueError
        If the fraction is not in (0, 1], samples is below 1, or there are not enough items for so many disjoint samples.
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction: expected a share above 0 and at most 1, got {fraction!r}")
    if samples < 1:
        raise ValueError(f"samples: expected at least 1, got {samples}")
    groups = np.array([str(g) for g in groups], dtype=object)
    wanted = size(len(groups), fraction)
    if disjoint and samples * wanted > len(groups):
        raise ValueError(
            f"{samples} samples of {wanted} that share no question need {samples * wanted}; there are {len(groups)}. Take fewer or "
            "smaller samples, or disjoint=False"
        )
    found: dict[str, np.ndarray] = {}
    left = np.arange(len(groups))
    for i in range(samples):
        share = min(1.0, wanted / len(left)) if disjoint and len(left) else fraction
        picked = stats.stratified_sample(groups[left], share, seed=seed * 1000 + i)
        found[f"sample {i + 1:0{len(str(samples))}}"] = left[picked]
        if disjoint:
            left = np.setdiff1d(left, left[picked])
    return found


def members(answers: pd.DataFrame, drawn: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The answers of each sample below each other: sample (its name), and of response_id, question_id, category, source, precision and
    status those that there are. An answer that is in two samples has two rows."""
    import pandas as pd

    kept = ["response_id", "question_id", "category", "source", "precision", "status"]
    tables = [answers.iloc[rows].assign(sample=name) for name, rows in drawn.items()]
    return pd.concat(tables, ignore_index=True)[["sample", *[c for c in kept if c in answers]]]


def shared(drawn: Mapping[str, np.ndarray]) -> list[int]:
    """How many items each pair of samples shares."""
    return [len(np.intersect1d(a, b)) for a, b in itertools.combinations(drawn.values(), 2)]


def overlap_sentence(drawn: Mapping[str, np.ndarray]) -> str:
    """How much the samples share, in words."""
    common = shared(drawn)
    if not common:
        return "one sample: nothing to compare"
    if not max(common):
        return "no two samples share a question"
    each = len(next(iter(drawn.values())))
    return f"two samples of {each} share {np.mean(common):.1f} questions on average ({min(common)} to {max(common)})"


def needed(scores: ArrayLike, margin: float, power: float = 0.9, alpha: float = 0.05) -> int | None:
    """Items per sample for two samples to be shown equal within a margin, when there is no difference.

    Parameters
    ----------
    scores : (n,) array
        Whose spread is taken; undefined ones are left out.
    margin : float
        Of the equivalence test, in the unit of the scores; above 0.
    power, alpha : float
        Chance of success; level of each one-sided test.

    Returns
    -------
    int or None
        None where the spread is not known (fewer than ten scores, or all equal).

    Raises
    ------
    ValueError
        If the margin is not above 0.

    Notes
    -----
    n = 2 (z(1 − alpha) + z((1 + power) / 2))² s² / margin², s² with ddof = 1: the normal approximation for TOST at a true difference of
    zero (Julious 2004, Stat. Med. 23:1921, equation for equivalence with equal arms), one or two items short of what Student's t would
    need. Both samples are independent, and so are their items; one pair is tested, without Holm's correction for several.
    """
    from scipy.stats import norm

    if not margin > 0:
        raise ValueError(f"margin: expected a difference above 0, got {margin!r}")
    x = numbers(scores, "scores")
    x = x[~np.isnan(x)]
    if len(x) < FEW or is_constant(x):
        return None
    reach = norm.ppf(1 - alpha) + norm.ppf((1 + power) / 2)
    return math.ceil(2 * reach**2 * x.var(ddof=1) / margin**2)


def needed_sentence(found: int | None, n: int, margin: float) -> str:
    """The size that is needed, in words, beside the n there are."""
    if found is None:
        return f"fewer than {FEW} scored answers, or no spread: the size that would be needed cannot be told"
    share = f", {found / n:.0%} of these {n:,} questions" if found <= n else f", more than the {n:,} there are"
    return f"about {found:,} scored answers in each sample for a margin of ±{margin:g}{share}"


def published_reading(pairs: pd.DataFrame) -> str:
    """What the paper would conclude: no p below 0.05, so the samples are taken as equal.

    Parameters
    ----------
    pairs : from `stats.all_pairs`.
    """
    tested = pairs[pairs["p"].notna()]
    if not len(tested):
        return f"Not tested: {_reason(pairs)}."
    low, uneven = (int((tested[column] < 0.05).sum()) for column in ("p", "p_f"))
    said = (
        f"As published: {low} of {len(tested)} pairs have p < 0.05 in the t-test, {uneven} in the F-test (smallest p "
    )
    said += f"{tested['p'].min():.2g})."
    return said + ("" if low else " The paper would call the samples interchangeable.")


def _reason(pairs: pd.DataFrame) -> str:
    return pairs["reason"].iloc[0] if len(pairs) else "no pairs"


def equivalence_reading(pairs: pd.DataFrame, margin: float) -> str:
    """What the equivalence tests of `stats.all_pairs` (at level 0.05, hence 90 % intervals) say."""
    tested = pairs[pairs["p_tost"].notna()]
    if not len(tested):
        return f"Not tested: {_reason(pairs)}."
    equal = int(tested["equivalent"].sum())
    widest = tested[["low", "high"]].abs().max(axis=None)
    return (
        f"{equal} of {len(tested)} pairs are shown to be equal within ±{margin:g}; the 90 % intervals of the differences reach to "
        f"±{widest:.2f}."
    )


def warnings(pairs: pd.DataFrame, drawn: Mapping[str, np.ndarray], margin: float) -> list[str]:
    """What a reader should distrust.

    Parameters
    ----------
    pairs : from `stats.all_pairs`.
    drawn : from `draw`.
    margin : of the equivalence tests.
    """
    notes = []
    untested = pairs[pairs["p"].isna()]
    if len(untested):
        notes.append(f"{len(untested)} of {len(pairs)} pairs are not tested: {untested['reason'].iloc[0]}.")
    if max(shared(drawn), default=0):
        notes.append(
            "The samples share questions, so they resemble each other more than independent ones would; the tests assume that they do not."
        )
    if len(pairs) and pairs["equivalent"].eq(False).any():
        notes.append(
            f"At least one pair is not shown to be equal within ±{margin:g}: samples of this size leave the question open."
        )
    same = int((pairs["p"].notna() & pairs["p_tost"].isna()).sum())
    if same:
        notes.append(f"{same} of {len(pairs)} pairs have one and the same score throughout: no spread to test with.")
    return notes


def summary(pairs: pd.DataFrame, fraction: float, margin: float) -> str:
    """The result in one line."""
    tested = pairs[pairs["p"].notna()]
    if not len(tested):
        return f"not tested: {_reason(pairs)}"
    low, equal = int((tested["p"] < 0.05).sum()), int(tested["equivalent"].sum())
    return (
        f"of {len(tested)} pairs of samples of {fraction:.0%}, {low} differ by the published test and {equal} are shown to be equal "
        f"within ±{margin:g}"
    )
