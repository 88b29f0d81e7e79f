"""How hard items turned out to be, as far as this panel can tell (MS-Exam-Gen, sections III.D and V, Figure 2).

Empirical difficulty is the number of endpoints that miss an item. It depends on who is in the panel, and may come from an
ambiguous item, a wrong key or a prompt as well as from knowledge; it says what to review first, not how hard a question is.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.exam.items import Item
from factlab.stats import Estimate, correlation, estimate
from factlab.stats.resampling import FEWEST, is_constant

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

MISSED = 4  # of 12 endpoints: the paper's flag
BANDS = (0, 2, 4)  # missed by 0–1, 2–3, 4 and more


def difficulty(correct: pd.DataFrame | ArrayLike) -> pd.Series:
    """How many of the panel miss each item.

    Parameters
    ----------
    correct : (n, m) array or DataFrame
        1 where the endpoint is right; 0, False or missing (an answer that could not be read) where it is not.

    Returns
    -------
    Series of int
        In 0..m, named `missed`, with the index of `correct`.
    """
    table = _answers(correct)
    return (table == 0).sum(axis=1).astype("int64").rename("missed")


def _answers(correct: pd.DataFrame | ArrayLike) -> pd.DataFrame:
    import pandas as pd

    table = correct if isinstance(correct, pd.DataFrame) else pd.DataFrame(np.asarray(correct, dtype=object))
    numbers = table.astype(object).where(table.notna(), 0).astype(float)
    wrong = ~numbers.isin([0.0, 1.0])
    if wrong.to_numpy().any():
        row, column = (int(v) for v in np.argwhere(wrong.to_numpy())[0])
        raise ValueError(
            f"correct, row {row}, column {table.columns[column]}: {numbers.iloc[row, column]:g} is neither 0 nor 1"
        )
    return numbers


def miss_distribution(correct: pd.DataFrame | ArrayLike) -> pd.DataFrame:
    """How many items are missed by none, one, two, … of the panel (Figure 2).

    Returns
    -------
    DataFrame
        One row for each count from 0 to m: missed, items, share, at_least (share missed by so many or more; missing shares
        where there is no item).
    """
    import pandas as pd

    table = _answers(correct)
    counts = np.bincount(difficulty(table), minlength=table.shape[1] + 1)
    n = counts.sum()
    share = counts / n if n else [None] * len(counts)
    tail = counts[::-1].cumsum()[::-1] / n if n else [None] * len(counts)
    floats = {"share": pd.array(list(share), dtype="Float64"), "at_least": pd.array(list(tail), dtype="Float64")}
    return pd.DataFrame({"missed": np.arange(len(counts)), "items": counts, **floats})


def missed_by(
    correct: pd.DataFrame | ArrayLike,
    t: int = MISSED,
    groups: Sequence[Hashable] | None = None,
    *,
    replicates: int = 4000,
    seed: int = 0,
) -> Estimate:
    """Share of items that at least t endpoints miss.

    MS-Exam-Gen, section V: 25.5 % for t = 4 of 12.

    Parameters
    ----------
    correct : (n, m) array or DataFrame
    t : int
        1 to m.
    groups : (n,) sequence, optional
        The batch of each item.
    replicates, seed : int
        Of the bootstrap.

    Raises
    ------
    ValueError
        If t is above the number of endpoints or below 1.
    """
    table = _answers(correct)
    if not 1 <= t <= max(1, table.shape[1]):
        raise ValueError(f"t: expected 1 to {table.shape[1]} endpoints, got {t}")
    flagged = (difficulty(table) >= t).astype(float)
    parts = {"t": t, "panel": table.shape[1]}
    return estimate(flagged.to_numpy(), groups, replicates, seed, name="missed_by", parts=parts)


def leave_one_out(correct: pd.DataFrame, t: int = MISSED) -> pd.DataFrame:
    """Whether difficulty stays when one endpoint leaves the panel.

    MS-Exam-Gen, section V: correlation of at least 0.934 and agreement of at least 96.2 %, whichever of 12 is left out.

    Parameters
    ----------
    correct : (n, m) DataFrame
    t : int
        Endpoints that must miss an item to flag it, the same in both panels.

    Returns
    -------
    DataFrame
        One row an endpoint: endpoint (left out), pearson and spearman (miss counts with and without it), agreement (share of items
        with the same flag), item_rest (Pearson correlation of missing an item with how many of the others miss it), status, reason.

    Notes
    -----
    The paper does not say which correlation. Counts with and without an endpoint share all other endpoints, so that high
    values come by construction: of m endpoints that answer at random the expected Pearson correlation is sqrt((m − 1) / m), 0.957
    for 12. `item_rest` has no such part, and shows whether an endpoint finds hard what others find hard.
    """
    import pandas as pd

    table = _answers(correct)
    missed, rows = difficulty(table).to_numpy(), []
    for endpoint in table.columns:
        own = 1 - table[endpoint].to_numpy()
        rest = missed - own
        row: dict[str, Any] = {
            "endpoint": endpoint,
            "agreement": float(((missed >= t) == (rest >= t)).mean()) if len(rest) else None,
        }
        both = correlation(missed, rest).set_index("coefficient") if table.shape[1] > 1 else None
        alone = correlation(own, rest).set_index("coefficient") if table.shape[1] > 1 else None
        row["pearson"] = None if both is None else both.loc["pearson", "value"]
        row["spearman"] = None if both is None else both.loc["spearman", "value"]
        row["item_rest"] = None if alone is None else alone.loc["pearson", "value"]
        row["reason"] = "one endpoint only" if both is None else both.loc["pearson", "reason"]
        if (
            both is not None
            and both.loc["pearson", "status"] == "scored"
            and alone.loc["pearson", "status"] != "scored"
        ):
            row["reason"] = f"item_rest: {alone.loc['pearson', 'reason']}"
        row["status"] = "undefined" if both is None else both.loc["pearson", "status"]
        rows.append(row)
    columns = ["endpoint", "pearson", "spearman", "agreement", "item_rest", "status", "reason"]
    frame = pd.DataFrame(rows, columns=columns)
    for name in columns[1:5]:
        frame[name] = pd.array([None if pd.isna(v) else float(v) for v in frame[name]], dtype="Float64")
    frame["reason"] = frame["reason"].where(
        frame["status"] == "undefined", frame["reason"].str.replace("no interval: perfect correlation", "")
    )
    return frame


def difficulty_bands(missed: Sequence[int] | pd.Series, starts: Sequence[int] = BANDS) -> pd.Series:
    """Miss counts in words: `0–1`, `2–3`, `4+`.

    Parameters
    ----------
    missed : (n,) sequence of int
    starts : sequence of int
        Where each band begins, ascending, the first 0.

    Returns
    -------
    Series
        Ordered categories, named `difficulty`.
    """
    import pandas as pd

    starts = [int(s) for s in starts]
    if not starts or starts[0] != 0 or any(a >= b for a, b in zip(starts, starts[1:], strict=False)):
        raise ValueError(f"starts: expected ascending whole numbers from 0, got {starts}")
    names = [str(a) if b - a == 1 else f"{a}–{b - 1}" for a, b in zip(starts, starts[1:], strict=False)] + [
        f"{starts[-1]}+"
    ]
    counts = pd.Series(missed)
    place = np.searchsorted(starts, counts.to_numpy(), side="right") - 1
    bands = pd.Categorical.from_codes(place, categories=names, ordered=True)
    return pd.Series(bands, index=counts.index, name="difficulty")


def accuracy_by_difficulty(correct: pd.DataFrame, starts: Sequence[int] = BANDS, others: bool = True) -> pd.DataFrame:
    """Accuracy of every endpoint in bands of empirical difficulty.

    Parameters
    ----------
    correct : (n, m) DataFrame
    starts : sequence of int
        Of the bands.
    others : bool
        True: the band of an item is how many of the *other* endpoints miss it. False: of all, as in the paper, where an
        endpoint's own answer moves an item into its band and accuracy falls with it by construction.

    Returns
    -------
    DataFrame
        One row an endpoint and band: endpoint, difficulty, items, correct, value (missing where there is no item).
    """
    import pandas as pd

    table = _answers(correct)
    missed, rows = difficulty(table), []
    for endpoint in table.columns:
        counted = missed - (1 - table[endpoint]).astype(int) if others else missed
        bands = difficulty_bands(counted, starts)
        for band, right in table[endpoint].groupby(bands, observed=False):
            rows.append((endpoint, band, len(right), int(right.sum()), right.mean() if len(right) else None))
    frame = pd.DataFrame(rows, columns=["endpoint", "difficulty", "items", "correct", "value"])
    frame["value"] = pd.array([None if v is None or v != v else v for v in frame["value"]], dtype="Float64")
    return frame


def discrimination(correct: pd.DataFrame) -> pd.DataFrame:
    """Does an item tell strong endpoints from weak ones?

    Parameters
    ----------
    correct : (n, m) DataFrame

    Returns
    -------
    DataFrame
        One row an item: item_id, share (of the panel that is right), discrimination (Pearson correlation of being right on the item
        with the endpoint's share of right answers on all other items, −1..1), upper_lower (share right in the better half of the
        panel less that in the worse half, an endpoint in the middle left out; ties between halves shared), status, reason. `undefined`
        where all are right, all are wrong, the endpoints are equally good elsewhere, or there are fewer than five.

    Notes
    -----
    With a dozen endpoints an item's correlation has a standard error of some 0.3: a negative value is a reason to look at
    the key, not a finding.
    """
    import pandas as pd

    table = _answers(correct)
    x = table.to_numpy()
    n, m = x.shape
    rest = (x.sum(axis=0) - x) / max(1, n - 1)
    dx, dr = x - x.mean(axis=1, keepdims=True), rest - rest.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (dx * dr).sum(axis=1) / np.sqrt((dx**2).sum(axis=1) * (dr**2).sum(axis=1))
    share = x.mean(axis=1) if m else np.zeros(n)
    rows = []
    for i in range(n):
        reason = f"{m} endpoints: too few, {FEWEST} needed" if m < FEWEST or n < 2 else ""
        if not reason and share[i] in (0, 1):
            reason = "every endpoint is right" if share[i] == 1 else "every endpoint is wrong"
        if not reason and is_constant(rest[i]):
            reason = "the endpoints are equally good on the other items"
        value = None if reason else float(np.clip(r[i], -1, 1))
        halves = None if reason else _halves(x[i], rest[i])
        rows.append((table.index[i], share[i], value, halves, "undefined" if reason else "scored", reason))
    frame = pd.DataFrame(rows, columns=["item_id", "share", "discrimination", "upper_lower", "status", "reason"])
    for name in ("share", "discrimination", "upper_lower"):
        frame[name] = pd.array([None if v is None or v != v else v for v in frame[name]], dtype="Float64")
    return frame


def _halves(right: np.ndarray, rest: np.ndarray) -> float:
    """Share right of the better half less that of the worse; endpoints that tie at the cut count in part."""
    half = len(rest) // 2

    def top(scores: np.ndarray) -> float:
        cut = np.sort(scores)[-half]
        above, at = scores > cut, scores == cut
        return (right[above].sum() + right[at].mean() * (half - above.sum())) / half

    return float(top(rest) - top(-rest))


def source_counts(
    items: Sequence[Item], correct: pd.DataFrame, groups: Sequence[Hashable] | None = None
) -> pd.DataFrame:
    """Whether items that draw on more sources are harder.

    MS-Exam-Gen, section VI: 7.96 sources an item for synthesis, 2.24 for Hard; rho = 0.054 with accuracy.

    Parameters
    ----------
    items : sequence of Item
    correct : (n, m) DataFrame
        With the items' ids as index.
    groups : (n,) sequence, optional
        The batch of each item.

    Returns
    -------
    DataFrame
        The rows of `stats.correlation` between the number of sources and the share of the panel that is right, with mean_sources in
        front, for all items (label `all`) and for each label that has any.
    """
    import pandas as pd

    table = _answers(correct)
    share = table.mean(axis=1)
    absent = [item.id for item in items if item.id not in table.index]
    if absent:
        raise ValueError(f"correct: no row for item {absent[0]}")
    counts = pd.Series([len(item.sources) for item in items], dtype=float)
    right = pd.Series([share[item.id] for item in items], dtype=float)
    names = pd.Series([item.label for item in items], dtype=object)
    of = None if groups is None else pd.Series(list(groups), dtype=object)
    parts = []
    for label in ["all", *dict.fromkeys(n for n in names if n)]:
        kept = names.index if label == "all" else names.index[names == label]
        found = correlation(counts[kept], right[kept], None if of is None else of[kept])
        found.insert(0, "mean_sources", counts[kept].mean() if len(kept) else None)
        found.insert(0, "label", label)
        parts.append(found)
    return pd.concat(parts, ignore_index=True)
