"""Several arms at once: every pair of them, or each against one, with Holm's correction over the family."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from factlab.stats.comparisons import compare, equivalence, holm, two_sample
from factlab.stats.resampling import numbers, table

if TYPE_CHECKING:
    import pandas as pd


_PAIR = ["a", "b", "n_a", "n_b", "mean_a", "mean_b", "difference", "p_f", "test", "p", "p_holm", "low", "high"]
_PAIR += ["p_tost", "p_tost_holm", "equivalent", "verdict", "status", "reason"]


def all_pairs(arms: Mapping[str, ArrayLike], margin: float, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every pair of independent samples, tested as in DAHL section 5.2 and for equivalence.

    Parameters
    ----------
    arms : dict of name to (n,) array
        Scores of each sample; undefined ones are left out.
    margin : float
        Largest difference of means that does not matter, for the equivalence test; above 0.
    alpha : float
        Level of every test, and of the F-test that chooses between the two t-tests.

    Returns
    -------
    DataFrame
        One row a pair: a, b, n_a, n_b, mean_a, mean_b, difference (a − b), p_f (equal variances), test (Student's t, or Welch's where
        p_f < alpha, or undefined since one arm is constant; '' where neither applies), p (two-sided), p_holm, low, high (of the
        difference, at level 1 − 2 alpha), p_tost, p_tost_holm, equivalent (p_tost_holm < alpha), verdict, status, reason. All
        columns, and no row, for fewer than two arms.

    Raises
    ------
    ValueError
        If the margin is not above 0, or a score is no number.

    Notes
    -----
    The paper reports F-tests, then t-tests, uncorrected, and reads p > 0.05 as "no difference". That conclusion needs the equivalence
    test (TOST). Holm's correction is over the pairs, for the t-tests and for the equivalence tests apart. Pairs with an arm of fewer
    than ten are described, not tested (`two_sample`). Where every score of both arms is the same, p is 1, and equality within a margin
    is not testable.
    """
    rows: list[dict[str, Any]] = []
    for a, b in itertools.combinations(arms, 2):
        tests = two_sample(arms[a], arms[b], alpha=alpha).set_index("test")
        same = equivalence(arms[a], arms[b], margin, paired=False, alpha=alpha).iloc[0]
        applies = tests.index[tests["applies"].fillna(False).astype(bool)]
        used = tests.loc[applies[0] if len(applies) else "Student t"]
        row: dict[str, Any] = {"a": a, "b": b, **used[["n_a", "n_b", "mean_a", "mean_b", "difference"]]}
        row |= {"p_f": tests.loc["F-test", "p"], "test": used.name if len(applies) else "", "p": used["p"]}
        row |= {"low": same["low"], "high": same["high"], "p_tost": same["p"]}
        rows.append(row | {"status": used["status"], "reason": used["reason"]})
    for column in ("p", "p_tost"):
        for row, corrected in zip(rows, holm([row[column] for row in rows]), strict=True):
            row[f"{column}_holm"] = corrected
    for row in rows:
        row["equivalent"] = _below(row["p_tost_holm"], alpha)
        row["verdict"] = _verdict(row, margin, alpha)
    return _table(rows, _PAIR)


def _table(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """The rows with these columns in this order, which keep their types where there is no row."""
    return table([{c: row[c] for c in columns} for row in rows] or [dict.fromkeys(columns)]).head(len(rows))


def _below(p: float, alpha: float) -> bool | None:
    """Whether a p-value is significant; None for NaN, which was not tested."""
    return None if math.isnan(p) else bool(p < alpha)


def _verdict(row: Mapping[str, Any], margin: float, alpha: float) -> str:
    differs = _below(row["p_holm"], alpha)
    if differs is None:
        return "not tested"
    if row["equivalent"]:
        return f"equal within ±{margin:g}" + (", though they differ" if differs else "")
    return "they differ" if differs else "undecided: neither a difference nor equality is shown"


def against(
    frame: pd.DataFrame,
    arm: str,
    item: str,
    value: str,
    reference: Any,
    clusters: str | None = None,
    *,
    margin: float | None = None,
    bound: float | None = None,
    seed: int = 0,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Each arm against one of them, on the items that have a score in both.

    Parameters
    ----------
    frame : DataFrame
        One row an item and arm; an item with several rows in an arm counts with the mean of its scores. Rows without an arm or an
        item are passed over.
    arm, item, value : str
        Columns: the setting, the question, the score (missing where there is none).
    reference : value of `arm` that the others are compared with.
    clusters : str, optional
        Column of what the items came from (of an item's rows the first counts).
    margin : float, optional
        Largest difference that does not matter; with it each pair is tested for equivalence too. Above 0.
    bound : float, optional
        Largest difference that there can be, see `compare`.
    seed : int
        Of the bootstrap and of the sign flips.
    alpha : float
        Level of `differs`, and of each of the two tests behind `equivalent`.

    Returns
    -------
    DataFrame
        One row an arm besides the reference, in order: arm, then the columns of `compare` (a: the arm, b: the reference; left_out:
        items without a score in one of the two), with a margin equivalent (whether the interval at level 1 − 2 alpha lies inside
        ±margin), p_holm (over the arms), differs (p_holm < alpha). Missing where not tested; no row where the reference is alone.

    Raises
    ------
    ValueError
        If the reference is not among the arms, the margin is not above 0, or a score is no number.
    """
    if margin is not None and not margin > 0:
        raise ValueError(f"margin: expected a difference above 0, got {margin!r}")
    arms = sorted(frame[arm].dropna().unique())
    if reference not in arms:
        raise ValueError(f"{arm} {reference!r} is not among the arms {', '.join(map(str, arms)) or '(there are none)'}")
    scores = frame.assign(**{value: numbers(frame[value], value)})
    wide = scores.groupby([item, arm], observed=True)[value].mean().unstack(arm).reindex(columns=arms)
    of = frame.groupby(item, observed=True)[clusters].first().reindex(wide.index) if clusters else None
    rows = []
    for other in (a for a in arms if a != reference):
        found = compare(wide[other], wide[reference], of, seed=seed, bound=bound).iloc[0].to_dict()
        if margin is not None:
            narrow = compare(wide[other], wide[reference], of, seed=seed, level=1 - 2 * alpha, bound=bound)
            narrow = narrow[["low", "high"]]
            inside = (narrow.abs() < margin).all(axis=None)
            found["equivalent"] = bool(inside) if narrow.notna().all(axis=None) else None
        rows.append({arm: other, **found})
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row |= {"p_holm": corrected, "differs": _below(corrected, alpha)}
    columns = [arm, *compare([], []).columns, *(["equivalent"] if margin is not None else []), "p_holm", "differs"]
    return _table(rows, columns)
