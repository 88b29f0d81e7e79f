"""Do MS-Exam-Gen's printed numbers follow from each other, and what follows from them? (90_published)

`published/ms_exam_gen` goes in; tables of what fits, what does not and what is implied come out. Shares are in percent as printed, in
the table of intervals in 0..1. The text at hand has two of the twelve rows of Table IV and four of the thirteen means of Figure 3, so
much is a bound. What the text says about its numbers is checked in `published`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import comparability, stats

if TYPE_CHECKING:
    import pandas as pd

_EPS = 1e-9
BEST, WORST = "accuracy of Gemini 2.5 Flash", "accuracy of Phi-4 mini"


def numbers() -> dict[str, float]:
    """Every printed number by its name, and `passages found` (queries times passages): what claims refer to."""
    read = {name: comparability.published("ms_exam_gen", name) for name in ("counts", "statistics", "table4", "labels", "cues", "misses", "parents")}  # fmt: skip
    found = dict(zip(read["counts"]["what"], read["counts"]["count"].astype(float), strict=True))
    found |= dict(zip(read["statistics"]["what"], read["statistics"]["value"].astype(float), strict=True))
    found |= {f"accuracy of {r.endpoint}": float(r.accuracy) for r in read["table4"].itertuples()}
    found |= {f"mean of {r.parent}": float(r.accuracy) for r in read["parents"].itertuples()}
    found |= {f"missed by {r.missed}": float(r.share) for r in read["misses"].itertuples()}
    labelled = read["labels"].dropna(subset=["sources"])
    found |= {f"sources of {r.label}": float(r.sources) for r in labelled.itertuples()}
    cues = read["cues"].melt("cue", var_name="bank").dropna()
    found |= {f"{r.cue} {r.bank}": float(r.value) for r in cues.itertuples()}
    return found | {"passages found": found["queries"] * found["passages per query"]}


# -- shares of a whole number of items -----------------------------------------------------------------------------------


def whole_numbers(percent: float, n: int, decimals: int) -> range:
    """The whole numbers of which a share in percent, rounded to so many decimals, can be k of n."""
    half = 0.5 * 10.0**-decimals
    low, high = (percent - half - _EPS) * n / 100, (percent + half + _EPS) * n / 100
    return range(max(0, math.ceil(low)), min(n, math.floor(high)) + 1)


# What is a share of what: name of the number, name of the whole, decimals, where it is printed
SHARES = (
    (BEST, "locked items", 2, "Table IV"),
    (WORST, "locked items", 2, "Table IV"),
    ("API range", "locked items", 2, "section VI"),
    ("missed by 0–1", "locked items", 1, "section V"),
    ("missed by 4+", "locked items", 1, "section V"),
    ("structure before", "legacy pool", 1, "section V"),
    ("both before", "legacy pool", 1, "section V"),
    ("longest_key before", "legacy pool", 1, "section V"),
    ("structure after", "refreshed items", 1, "section V"),
    ("both after", "refreshed items", 1, "section V"),
    ("longest_key after", "refreshed items", 1, "section V"),
    ("structure full", "locked items", 1, "section V"),
    ("both full", "locked items", 1, "section V"),
    ("order stability", "order answers", 1, "section V"),
)


def wholes() -> dict[str, int]:
    """What shares are of: locked items, legacy pool, refreshed items (Hard and synthesis), order answers (items by endpoints)."""
    at = numbers()
    return {
        "locked items": int(at["locked items"]),
        "legacy pool": int(at["legacy pool"]),
        "refreshed items": int(at["Hard"] + at["synthesis"]),
        "order answers": int(at["order items"] * at["order endpoints"]),
    }


def shares() -> pd.DataFrame:
    """Every printed share as a whole number of items, with the interval that the paper does not print.

    Returns
    -------
    DataFrame, one row a share : what, printed (percent), of, n, items (the whole numbers that give it, in words), fits, by_accident (how often
    some number would fit: 1 says that a fit tells nothing), low, high (0..1, Wilson, 95 %; missing for a range and for order stability).

    Notes
    -----
    The intervals take items as independent. Items of a batch are not, so that the true ones are wider; the ones of cues also leave out that
    the selectors were fitted.
    """
    import pandas as pd

    at, sizes, rows = numbers(), wholes(), []
    for what, of, decimals, where in SHARES:
        n, percent = sizes[of], at[what]
        found = whole_numbers(percent, n, decimals)
        accident = min(1.0, n * 10.0**-decimals / 100)
        one = found[len(found) // 2] if found and what not in ("API range", "order stability") else None
        e = None if one is None else stats.proportion(one, n)
        items = "none" if not found else f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
        rows.append((what, percent, of, n, items, bool(found), accident, e and e.low, e and e.high, where))
    table = pd.DataFrame(
        rows, columns=["what", "printed", "of", "n", "items", "fits", "by_accident", "low", "high", "where"]
    )
    return table.astype({"low": "Float64", "high": "Float64"})


def shares_sentence(found: pd.DataFrame) -> str:
    """What `shares` found, in words."""
    telling = found[found["by_accident"] < 0.5]
    listed = ", ".join(f"{r.what} {r.printed:.2f} % ({r.items})" for r in telling.itertuples())
    return (
        f"{int(found['fits'].sum())} of {len(found)} printed shares can be a whole number of items. Only where few numbers would fit does that tell "
        f"something: {listed}; together a chance of {np.prod(telling['by_accident']):.3f}."
    )


def printed_cues() -> pd.DataFrame:
    """Figure 2 (left) for `figures.cue_bars`: cue, before, after, full with intervals and numbers of items (0..1), chance, difference with
    its interval (independent banks, items taken as independent, normal approximation).
    """
    import pandas as pd

    cells = comparability.published("ms_exam_gen", "cues")
    found, sizes = shares().set_index("what"), wholes()
    of = {"before": "legacy pool", "after": "refreshed items", "full": "locked items"}
    rows: list[dict[str, Any]] = []
    for cell in cells.to_dict("records"):
        row: dict[str, Any] = {"cue": cell["cue"], "chance": None if cell["cue"] == "longest_key" else numbers()["chance"] / 100}  # fmt: skip
        for bank, whole in of.items():
            name = f"{cell['cue']} {bank}"
            known = name in found.index
            row |= {bank: float(cell[bank]) / 100 if known else None, f"n_{bank}": sizes[whole] if known else None}
            row |= {f"{bank}_{end}": found.loc[name, end] if known else None for end in ("low", "high")}
        error = math.sqrt(sum(row[b] * (1 - row[b]) / row[f"n_{b}"] for b in ("before", "after")))
        change = row["after"] - row["before"]
        rows.append(row | {"difference": change, "low": change - 1.96 * error, "high": change + 1.96 * error})
    table = pd.DataFrame(rows)
    return table.astype(dict.fromkeys([c for c in table.columns if c != "cue"], "Float64"))


# -- the panel -----------------------------------------------------------------------------------------------------------


def miss_counts(shares_missed: Sequence[float]) -> np.ndarray:
    """Distribution of how many endpoints miss an item if each misses its share of the items independently of the others: (m + 1,)."""
    counts = np.ones(1)
    for p in shares_missed:
        counts = np.convolve(counts, [1 - p, p])
    return counts


def independent_panel(accuracies: Sequence[float], t: int = 4) -> dict[str, float]:
    """What the statistics of difficulty would be in a panel whose endpoints err independently, item by item.

    Parameters
    ----------
    accuracies : in 0..1, one an endpoint.
    t : misses that flag an item.

    Returns
    -------
    dict : low (share missed by 0 or 1), flagged (by t or more), pearson and spearman (the smallest correlation of the counts with those without
    an endpoint), agreement (the smallest share with the same flag).
    """
    missed = [1 - a for a in accuracies]
    whole = miss_counts(missed)
    found = {"low": float(whole[:2].sum()), "flagged": float(whole[t:].sum())}
    each = [_left_out(missed[:i] + missed[i + 1 :], missed[i], t) for i in range(len(missed))]
    return found | {name: min(one[name] for one in each) for name in ("pearson", "spearman", "agreement")}


def _left_out(rest: list[float], own: float, t: int) -> dict[str, float]:
    others = miss_counts(rest)
    joint = np.zeros((len(others) + 1, len(others)))  # rows: all endpoints, columns: without this one
    for r, p in enumerate(others):
        joint[r, r] += p * (1 - own)
        joint[r + 1, r] += p * own
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    flips = sum(joint[r + 1, r] for r in range(len(others)) if r < t <= r + 1)
    ranks = [np.cumsum(side) - side / 2 for side in (rows, columns)]
    return {
        "pearson": _correlation(joint, np.arange(len(rows)), np.arange(len(columns))),
        "spearman": _correlation(joint, *ranks),
        "agreement": 1 - float(flips),
    }


def _correlation(joint: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    x, y = x - joint.sum(axis=1) @ x, y - joint.sum(axis=0) @ y
    return float(x @ joint @ y / math.sqrt((joint.sum(axis=1) @ x**2) * (joint.sum(axis=0) @ y**2)))


def even_panel() -> list[float]:
    """Twelve accuracies (0..1) within what is printed: the API endpoints even between the best and the lowest of them, the others even below
    them, down to the lowest. An illustration: ten of the twelve are not in the text.
    """
    at = numbers()
    api, rest = int(at["API endpoints"]), int(at["primary endpoints"] - at["API endpoints"])
    lowest = at[BEST] - at["API range"]
    own = np.linspace(at[BEST], lowest, api)
    others = np.linspace(lowest, at[WORST], rest + 1)[1:]
    return [float(v) / 100 for v in [*own, *others]]


def easiest_panel() -> list[float]:
    """The twelve accuracies (0..1) with the fewest misses that the printed ends allow: all but the worst endpoint are as good as the best.

    No panel within these ends whose endpoints err independently has more items that are missed by none or one.
    """
    at = numbers()
    return [at[BEST] / 100] * (int(at["primary endpoints"]) - 1) + [at[WORST] / 100]


def exactly_four(agreement: float | None = None) -> tuple[float, float]:
    """Between which shares of the items (percent) are missed by exactly as many endpoints as flag one.

    Parameters
    ----------
    agreement : the smallest over endpoints, percent; as printed when None.

    Notes
    -----
    The flag is t misses with and without the endpoint, as the text seems to mean it. It changes where exactly t miss the item, the endpoint among them. Summed over the m endpoints that is t times the share of
    such items, so it is at most m / t times the largest change; and no change is larger than that share itself. The text prints the agreement as
    a bound: the upper end holds whatever it is, the lower one where the smallest agreement is the number printed.
    """
    at = numbers()
    most = 100 - (at["leave-one-out agreement"] - 0.05 if agreement is None else agreement)
    least = 100 - (at["leave-one-out agreement"] + 0.05 if agreement is None else agreement)
    return least, most * at["primary endpoints"] / at["flag"]


def smallest_variance() -> float:
    """The smallest variance that miss counts can have with the printed shares of 0–1 and of 4 and more, and the printed agreement, rounding
    included: every item at the place of its band nearest to the middle.
    """
    at = numbers()
    _, most = exactly_four()
    found = []
    for few, many in itertools.product((-0.05, 0.05), repeat=2):
        low, flagged = (at["missed by 0–1"] + few) / 100, (at["missed by 4+"] + many) / 100
        four = min(most / 100, flagged)
        weights = np.array([low, 1 - low - flagged, four, flagged - four])
        for first, second in itertools.product((0, 1), (2, 3)):
            counts = np.array([first, second, at["flag"], at["flag"] + 1])
            found.append(float(weights @ (counts - weights @ counts) ** 2))
    return min(found)


def smallest_pearson() -> float:
    """Below what no Pearson correlation of miss counts with and without an endpoint can be, given `smallest_variance`.

    Notes
    -----
    With W the variance of the counts and v that of the endpoint's own misses (at most a quarter), the correlation is at least sqrt(1 − v / W), reached where its misses
    are uncorrelated with those of the others.
    """
    return math.sqrt(1 - 0.25 / smallest_variance())


def panel_mean() -> pd.DataFrame:
    """Between what the mean accuracy of the panel lies (percent), by each of the printed statements: from, low, high; the last row is what all leave."""
    import pandas as pd

    at = numbers()
    m, api = at["primary endpoints"], at["API endpoints"]
    few, many = at["missed by 0–1"] / 100, at["missed by 4+"] / 100
    middle, lowest = 1 - few - many, at[BEST] - at["API range"]
    rest = m - api
    rows = [
        (
            "misses of 0–1, 2–3 and 4 to 12",
            100 * (1 - (few + 3 * middle + m * many) / m),
            100 * (1 - (2 * middle + 4 * many) / m),
        ),
        (
            "best, worst and range of the API endpoints",
            (at[BEST] + (api - 1) * lowest + rest * at[WORST]) / m,
            ((api - 1) * at[BEST] + lowest + (rest - 1) * at[BEST] + at[WORST]) / m,
        ),
        ("lowest mean of a parent", at["mean of RIS and CIS"], 100.0),
    ]
    table = pd.DataFrame(rows, columns=["from", "low", "high"])
    table.loc[len(table)] = ("all of them", table["low"].max(), table["high"].min())
    return table


# -- option order --------------------------------------------------------------------------------------------------------


def rank_changes() -> list[int]:
    """The sums of squared rank differences that give the printed rank correlation of the endpoints (without ties): 2 is one neighbouring pair."""
    at = numbers()
    m = int(at["order endpoints"])
    whole = m * (m**2 - 1)
    possible = range(0, whole // 3 + 1, 2)
    return [d for d in possible if abs(1 - 6 * d / whole - at["order correlation"]) <= 0.0005 + _EPS]


def points_moved() -> list[float]:
    """The sums over endpoints of absolute changes, in points, that give the printed mean: scores of one order are whole points of 100
    items, means of four orders quarters of them.
    """
    at = numbers()
    m, step = int(at["order endpoints"]), 1 / at["orders"]
    around = range(int(at["order change"] * m / step) - 4, int(at["order change"] * m / step) + 6)
    return [k * step for k in around if abs(k * step / m - at["order change"]) <= 0.005 + _EPS]
