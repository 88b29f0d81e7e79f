"""Which definition of the hallucination rate, and of what a pass scores, can have given REASONS' printed cells? (90_published)

Section 5.1 of the paper against Tables 3 and 6 to 9. A rate and a share of passes leave F1 a range that depends on the definition; a cell
outside it cannot come from that definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from factlab.studies.reasons.audit import decimals

if TYPE_CHECKING:
    import pandas as pd

VARIANTS = ("text, any words", "text, passes zero", "text, passes excluded", "released", "tables")
_EPS = 1e-9


def f1_bounds(hr: float, pp: float, variant: str) -> tuple[float, float]:
    """The lowest and highest F1 that a hallucination rate and a share of passes leave possible, or (1, 0) where the two exclude each other.

    Parameters
    ----------
    hr, pp : in 0..1.
    variant : of `VARIANTS`.

        * "text, any words": what the text's rate fixes whatever a word is: at least 1 − 2 hr of the answers are exactly right, and those
          have F1 = 1, whether passes count as F1 = 0 or not at all;
        * "text, passes zero": ½ (share not exactly right, passes among them + mean share of unique words that do not match), and a pass
          has F1 = 0;
        * "text, passes excluded": the same of the answers alone;
        * "released": mean of 1 − precision over the answers, passes left out;
        * "tables": that rate, but a pass has F1 = 0.

    Notes
    -----
    With J the share of an answer's and the gold answer's unique words that both have, F1 (over sets) = 2J / (1 + J) ≥ J, which is concave:
    the mean of F1 lies between the mean of J and 2J̄ / (1 + J̄). An exactly right answer has J = 1. With a = 1 − pp and e the share of all
    queries that is exactly right, hr = ½ (1 − e + 1 − J̄) with 1 − 2 hr ≤ e ≤ a J̄. Of the released rate, 1 − hr is the mean precision P̄,
    and recall ≤ 1 gives F1 ≤ 2P̄ / (1 + P̄).
    """
    if variant == "text, any words":
        return (1 - pp) * max(0.0, 1 - 2 * hr), 1.0
    answered = 1 - pp
    if variant in ("released", "tables"):
        highest = 2 * (1 - hr) / (2 - hr)
        return 0.0, highest * (answered if variant == "tables" else 1.0)
    share = answered if variant == "text, passes zero" else 1.0
    if 1 - 2 * hr > share + _EPS:
        return 1.0, 0.0
    most = min(1.0, 2 - 2 * hr)
    least = min(1.0, share * (2 - 2 * hr) / (1 + share) / share) if share else 0.0
    return share * least, share * 2 * most / (1 + most)


def compatible(cells: pd.DataFrame) -> pd.DataFrame:
    """Which definition of the rate, and of what a pass does, can have given each cell.

    Returns
    -------
    DataFrame : table, domain, model, hr, f1, pp, and a column for each of `VARIANTS`, whether F1 lies within its bounds, all three numbers
    taken anywhere within their rounding or cutting off (one last digit to either side).
    """
    kept = [column for column in ("table", "changed", "domain", "model", "hr", "f1", "pp") if column in cells.columns]
    table = cells.dropna(subset=["hr", "f1", "pp"])[kept].reset_index(drop=True)
    for variant in VARIANTS:
        table[variant] = [_within(float(r.hr), float(r.f1), float(r.pp), variant) for r in table.itertuples()]
    return table


def _within(hr: float, f1: float, pp: float, variant: str) -> bool:
    step = 1e-4  # 0.01 percent
    rates = [min(1.0, max(0.0, hr / 100 + d)) for d in (-step, 0.0, step)]
    shares = [min(1.0, max(0.0, pp / 100 + d)) for d in (-step, 0.0, step)]
    bounds = [f1_bounds(h, p, variant) for h in rates for p in shares]
    possible = [(low, high) for low, high in bounds if low <= high]
    slack = 10.0 ** -decimals(f1)
    return bool(possible) and min(b[0] for b in possible) - slack <= f1 <= max(b[1] for b in possible) + slack


def compatible_counts(table: pd.DataFrame, shown: int = 4) -> pd.DataFrame:
    """From `compatible`: in how many cells of each table each definition can be true.

    Parameters
    ----------
    shown : how many of the cells are named that no reading of a word saves.

    Returns
    -------
    DataFrame, one row a table : table, cells, a count for each of `VARIANTS`, impossible (cells that "text, any words" cannot give).
    """
    import pandas as pd

    rows = []
    for number, own in table.groupby("table", sort=True):
        off = own[~own[VARIANTS[0]]]
        where = "domain" if "domain" in own.columns else "changed"
        named = [f"{model} {place}" for model, place in zip(off["model"], off[where], strict=True)]
        listed = ", ".join(named[:shown]) + (f" and {len(named) - shown} more" if len(named) > shown else "")
        rows.append((number, len(own), *(int(own[variant].sum()) for variant in VARIANTS), listed or "none"))
    return pd.DataFrame(rows, columns=["table", "cells", *VARIANTS, "impossible"])


def compatible_sentence(ranges: pd.DataFrame) -> str:
    """How many cells no reading saves, and which models' averages, in words (from `compatible`, of Tables 6 to 9).

    Notes
    -----
    A lower bound that holds in each domain holds of the averages over domains. A single wrong cell moves an average too: models
    with a rate of less than 1 % that stands beside rates above 10 % are passed over.
    """
    said = (
        f"{int((~ranges[VARIANTS[0]]).sum())} of {len(ranges)} cells of Tables 6 to 9 cannot come from the text's rate, whatever a word is "
        "and whatever a pass does"
    )
    examples = []
    for (table, model), own in ranges.groupby(["table", "model"], sort=True):
        hr, f1, pp = (own[name].astype(float) for name in ("hr", "f1", "pp"))
        least = ((1 - pp / 100) * (1 - hr / 50).clip(lower=0)).mean()
        if f1.mean() < least - 0.005 and not (hr.min() < 1 and hr.max() > 10):
            examples.append(
                f"{model} in Table {table}: a mean rate of {hr.mean():.2f} % leaves at least {100 * least:.1f} % of the queries answered exactly right, "
                f"but F1 is {f1.mean():.3f}"
            )
    return said + (f". {'; '.join(examples)}." if examples else ".")
