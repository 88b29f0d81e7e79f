"""The Rasch model of a panel: one ability for each endpoint, one difficulty for each item, and whether it may be believed.

P(endpoint j is right on item i) = 1 / (1 + exp(b_i − a_j)), in logits. An exam has many items and few endpoints, so
abilities are estimated conditionally on how many of the panel are right on each item, which leaves item difficulties out
(Andersen 1970, JRSS B 32:283, with persons and items exchanged); difficulties follow from the abilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from factlab.exam.hardness import _answers
from factlab.stats import signature
from factlab.stats.resampling import FEW

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

FEWEST_ENDPOINTS = 5  # below this an item has too few different scores to order anything
FEWEST_ITEMS = 30  # items that some are right and some are wrong on
_MOST_ENDPOINTS = 200
_UNTESTED = "fit not tested: too few easy or hard items, or an endpoint is right or wrong on all of them"


@dataclass(frozen=True)
class Rasch:
    """A fitted Rasch model.

    Attributes
    ----------
    endpoints : DataFrame
        One row an endpoint: endpoint, correct, n, ability (logits, mean 0 over the endpoints that have one), se, infit and
        outfit (mean squares of the residuals given how many are right on an item, 1 where
        the model holds; below 0.7 or above 1.3 is worth a look), status, reason.
    items : DataFrame
        One row an item: item_id, missed, difficulty (logits on the scale of the abilities, higher is harder), se, status, reason.
    statistic, df, p : float or None
        Andersen's test: do the abilities fit easy and hard items alike? A small p says that the model does not hold.
    n : int
        Items behind the abilities: those that some endpoints are right on and others wrong.
    status : str
        `scored`, or `undefined` when there is no fit.
    reason : str
        Why there is none, or what to distrust.
    signature : str
    """

    endpoints: pd.DataFrame
    items: pd.DataFrame
    statistic: float | None
    df: int | None
    p: float | None
    n: int
    status: str
    reason: str
    signature: str


def rasch(correct: pd.DataFrame | ArrayLike) -> Rasch:
    """Fit the Rasch model, or say why it cannot be fitted.

    Parameters
    ----------
    correct : (n, m) array or DataFrame
        0 or 1, items by endpoints; a missing answer counts as wrong.

    Returns
    -------
    Rasch
        `undefined` with fewer than five endpoints that have an ability, or fewer than 30 items that divide them.

    Raises
    ------
    ValueError
        If an answer is neither 0 nor 1, or there are more than 200 endpoints.

    Notes
    -----
    * Abilities: conditional maximum likelihood, Newton's method; an endpoint that is right or wrong on every item that divides the
      panel has no finite ability, is left out, and said. Standard errors from the information, with the mean held at 0.
    * Difficulties: Warm's weighted likelihood (1989, Psychometrika 54:427) given the abilities, which is finite for items that
      all or none are right on. It depends on the miss count alone: the Rasch scale orders items just as `difficulty`
      does, and adds the distances and their standard errors.
    * Andersen's test: conditional likelihoods of the items below and above the median miss count against that of all, chi-square
      with m − 1 degrees of freedom (Andersen 1973, Psychometrika 38:123).
    * With a dozen endpoints a difficulty has a standard error of 0.6 logits and more. Items with a wrong key, and endpoints that
      guess, break the model; the test, infit and outfit tell.
    """
    table = _answers(correct)
    x = table.to_numpy()
    n, m = x.shape
    if m > _MOST_ENDPOINTS:
        raise ValueError(f"correct: {m} endpoints; at most {_MOST_ENDPOINTS}. Items are rows, endpoints are columns")
    kept = _dividing(x)
    used = _informative(x[:, kept])
    reason = ""
    if kept.sum() < FEWEST_ENDPOINTS:
        reason = f"{int(kept.sum())} endpoints with a finite ability: too few, {FEWEST_ENDPOINTS} needed"
    elif used.sum() < FEWEST_ITEMS:
        reason = f"{int(used.sum())} items divide the panel: too few, {FEWEST_ITEMS} needed"
    made = signature("rasch", n=n, endpoints=m, ability="conditional", difficulty="warm")
    if reason:
        return _unfitted(table, int(used.sum()), reason, made)
    fitted = _conditional(x[used][:, kept])
    if fitted is None:
        return _unfitted(
            table, int(used.sum()), "the abilities did not converge: endpoints fall apart into separate groups", made
        )
    abilities, se, _ = fitted
    statistic, df, p, why = _andersen(x[used][:, kept], fitted)
    difficulty, item_se = _warm(x[:, kept].sum(axis=1).astype(int), abilities)
    left = [str(c) for c, k in zip(table.columns, kept, strict=True) if not k]
    notes = [f"left out, right or wrong throughout: {', '.join(left)}"] if left else []
    if kept.sum() < FEW:
        notes.append(f"only {int(kept.sum())} endpoints: difficulties are rough")
    if p is not None and p < 0.05:
        notes.append(
            f"the model does not hold (Andersen's test, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}): read it as a summary"
        )
    notes += [why] if why else []
    endpoints = _endpoints(table, kept, used, abilities, se)
    items = _items(table, difficulty, item_se, x[:, kept])
    return Rasch(endpoints, items, statistic, df, p, int(used.sum()), "scored", "; ".join(notes), made)


def _dividing(x: np.ndarray) -> np.ndarray:
    """Endpoints that are neither right nor wrong on all items that divide those left (one that leaves may leave others so)."""
    kept = np.ones(x.shape[1], dtype=bool)
    while kept.any():
        inner = x[_informative(x[:, kept])]
        extreme = kept & ((inner.sum(axis=0) == 0) | (inner.sum(axis=0) == len(inner)))
        if not extreme.any():
            return kept
        kept &= ~extreme
    return kept


def _informative(x: np.ndarray) -> np.ndarray:
    right = x.sum(axis=1)
    return (right > 0) & (right < x.shape[1])


# --- abilities ---------------------------------------------------------------------------------------------------


def _conditional(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Abilities, standard errors and log-likelihood, given how many are right on each item; None where it does not converge."""
    m = x.shape[1]
    scores, totals = x.sum(axis=0), np.bincount(x.sum(axis=1).astype(int), minlength=m + 1)
    share = (scores + 0.5) / (len(x) + 1)
    a = np.log(share / (1 - share))
    a -= a.mean()
    likelihood, gradient, information = _moments(a, scores, totals)
    for _ in range(200):
        # The information has no inverse along a shift of all abilities; with this it does, and the step has mean 0.
        step = np.linalg.solve(information + 1 / m, gradient)
        step *= min(1.0, 2 / max(np.abs(step).max(), 1e-12))  # far from the solution a full step may overshoot
        size = 1.0
        while True:
            trial = _moments(a + size * step, scores, totals)
            if trial[0] >= likelihood - 1e-10 * abs(likelihood) or size < 1e-6:
                break
            size /= 2
        a = a + size * step
        likelihood, gradient, information = trial
        if np.abs(a).max() > 25:
            return None
        if np.abs(size * step).max() < 1e-9:
            break
    covariance = np.linalg.inv(information + 1 / m) - 1 / m
    se = np.sqrt(np.maximum(np.diag(covariance), 0))
    return (a - a.mean(), se, likelihood) if np.isfinite(se).all() else None


def _moments(a: np.ndarray, scores: np.ndarray, totals: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Conditional log-likelihood, its gradient, and the information, (m,) and (m, m)."""
    m = len(a)
    p = 1 / (1 + np.exp(-a))
    inner = np.flatnonzero(totals[1:m]) + 1  # numbers of right answers that divide the panel and do occur
    weights = totals[inner]
    gamma = _events(p)[inner]
    # ln of the sum over all answers with r right is ln(P(r right)) − sum ln(1 − p).
    likelihood = float(scores @ a - weights @ (np.log(gamma) - np.log1p(-p).sum()))
    first, second = np.empty((m, len(inner))), np.empty((m, m))
    for j, without in enumerate(_left_out(p)):
        first[j] = p[j] * without[inner - 1] / gamma
        others = np.delete(p, j)
        two = [both[inner[inner > 1] - 2] @ (weights / gamma)[inner > 1] for both in _left_out(others)]
        second[j] = np.insert(p[j] * others * np.array(two), j, 0.0)
    expected = first @ weights
    second[np.arange(m), np.arange(m)] = expected
    return likelihood, scores - expected, second - (first * weights) @ first.T


def _events(p: np.ndarray) -> np.ndarray:
    """How likely 0, 1, … of independent events are, (m + 1,)."""
    out = np.ones(1)
    for one in p:
        out = np.convolve(out, (1 - one, one))
    return out


def _left_out(p: np.ndarray) -> Iterator[np.ndarray]:
    """`_events` without each event in turn, (m,): products of what stands before and after it.

    Dividing it out of the whole costs less, but loses every digit in the tails.
    """
    after = [np.ones(1)]
    for one in p[:0:-1]:
        after.append(np.convolve(after[-1], (1 - one, one)))
    before = np.ones(1)
    for one, rest in zip(p, reversed(after), strict=True):
        yield np.convolve(before, rest)
        before = np.convolve(before, (1 - one, one))


def _andersen(
    x: np.ndarray, fitted: tuple[np.ndarray, np.ndarray, float]
) -> tuple[float | None, int | None, float | None, str]:
    right = x.sum(axis=1)
    hard = right < np.median(right) if (right < np.median(right)).any() else right <= np.median(right)
    halves = [x[hard], x[~hard]]
    for half in halves:
        if len(half) < FEWEST_ITEMS or not _dividing(half).all():
            return None, None, None, _UNTESTED
    parts = [_conditional(half) for half in halves]
    if any(part is None for part in parts):
        return None, None, None, _UNTESTED
    from scipy.stats import chi2

    statistic, df = max(0.0, 2 * (sum(part[2] for part in parts) - fitted[2])), x.shape[1] - 1
    return statistic, df, float(chi2.sf(statistic, df)), ""


# --- difficulties ------------------------------------------------------------------------------------------------


def _warm(right: np.ndarray, abilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Difficulty and standard error for each item, from how many of the endpoints are right on it."""
    from scipy.optimize import brentq

    def slope(b: float, r: int) -> float:
        p = 1 / (1 + np.exp(b - abilities))
        w = p * (1 - p)
        # Warm's equation for the difficulty −b: right − expected + J / (2 I) = 0, J the sum of w (1 − 2p).
        return float(r - p.sum() + (w * (1 - 2 * p)).sum() / (2 * w.sum()))

    low, high = abilities.min() - 15, abilities.max() + 15
    of = {}
    for r in np.unique(right).tolist():
        b = brentq(slope, low, high, args=(r,), xtol=1e-10)
        p = 1 / (1 + np.exp(b - abilities))
        of[r] = b, 1 / math.sqrt((p * (1 - p)).sum())
    pairs = np.array([of[r] for r in right.tolist()]).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _endpoints(table, kept, used, abilities, se) -> pd.DataFrame:
    import pandas as pd

    x = table.to_numpy()[used][:, kept]
    right = x.sum(axis=1).astype(int)
    p = 1 / (1 + np.exp(-abilities))
    whole = _events(p)
    # How likely each endpoint is right where `right` of the panel are: not taken from difficulties, which fit their own items.
    expected = np.column_stack([one * without[right - 1] for one, without in zip(p, _left_out(p), strict=True)])
    expected = expected / whole[right][:, None]
    w = expected * (1 - expected)
    residual = (x - expected) ** 2
    infit, outfit = residual.sum(axis=0) / w.sum(axis=0), (residual / w).mean(axis=0)
    found = dict(zip(np.flatnonzero(kept).tolist(), zip(abilities, se, infit, outfit, strict=True), strict=True))
    rows = []
    for column, endpoint in enumerate(table.columns):
        right = int(table.iloc[:, column].sum())
        values = found.get(column, (None,) * 4)
        why = "" if column in found else "no finite ability: right or wrong wherever the panel is divided"
        rows.append((endpoint, right, len(table), *values, "undefined" if why else "scored", why))
    columns = ["endpoint", "correct", "n", "ability", "se", "infit", "outfit", "status", "reason"]
    return _floats(pd.DataFrame(rows, columns=columns), ["ability", "se", "infit", "outfit"])


def _items(table, difficulty, se, x) -> pd.DataFrame:
    import pandas as pd

    right, m = x.sum(axis=1), x.shape[1]
    reasons = np.where(right == m, "every endpoint is right", np.where(right == 0, "every endpoint is wrong", ""))
    said = [f"{r}: only a limit" if r else "" for r in reasons]
    frame = pd.DataFrame(
        {"item_id": table.index, "missed": (m - right).astype(int), "difficulty": difficulty, "se": se}
    )
    return _floats(frame.assign(status="scored", reason=said), ["difficulty", "se"])


def _unfitted(table: pd.DataFrame, n: int, reason: str, made: str) -> Rasch:
    import pandas as pd

    blank = {"status": "undefined", "reason": reason}
    right = table.sum(axis=0).astype(int).tolist()
    empty = dict.fromkeys(["ability", "se", "infit", "outfit"])
    endpoints = pd.DataFrame({"endpoint": list(table.columns), "correct": right, "n": len(table)}).assign(
        **empty, **blank
    )
    missed = (table.shape[1] - table.sum(axis=1)).astype(int).tolist()
    items = pd.DataFrame({"item_id": list(table.index), "missed": missed}).assign(difficulty=None, se=None, **blank)
    return Rasch(
        _floats(endpoints, list(empty)),
        _floats(items, ["difficulty", "se"]),
        None,
        None,
        None,
        n,
        "undefined",
        reason,
        made,
    )


def _floats(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    for name in names:
        frame[name] = pd.array([None if v is None or v != v else float(v) for v in frame[name]], dtype="Float64")
    return frame
