"""Do REASONS' printed numbers agree with each other? (90_published)

Tables 3 to 9 and what the text says about them, as `published/reasons` holds them, go in; tables of what follows and what does not come
out. Rates are in the units of the paper: hallucination rate (hr) and pass percentage (pp) in percent, F1 and BLEU in 0..1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import stats

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("hr", "f1", "bleu", "pp")
LARGEST = {"hr": 100.0, "f1": 1.0, "bleu": 1.0, "pp": 100.0}
NAMES = {"hr": "hallucination rate", "f1": "F1", "bleu": "BLEU", "pp": "pass percentage"}
RELEASED = {"Biomolecules": 27, "Databases": 182, "HCI": 229}  # sentences in the released files
SWAPPED = 159  # sentences in the released adversarial file
_TIMES = {"G1": "OpenAI", "G2": "OpenAI", "G3": "OpenAI"}  # columns of Table 5 that stand for several models
_EPS = 1e-9


def decimals(number: float) -> int:
    """How many decimals a number was printed with, at least two (a final zero is lost in a number: 64.3 is 64.30)."""
    return max(2, len(repr(float(number)).partition(".")[2]))


def follows(value: float, printed: float, slack: float = 0.0) -> str:
    """How a printed number follows from a computed one.

    Parameters
    ----------
    value : computed from the printed cells.
    printed : its decimals are those of `decimals`.
    slack : how far the value can be off since the cells are rounded.

    Returns
    -------
    str : 'rounded', 'cut off' (the further digits dropped), 'either', 'within rounding' (of the cells) or 'no'.
    """
    step = 10.0 ** -decimals(printed)
    rounded = abs(value - printed) <= step / 2 + _EPS
    cut = -_EPS <= value - printed < step - _EPS
    if rounded or cut:
        return "either" if rounded and cut else "rounded" if rounded else "cut off"
    near = -slack - _EPS <= value - printed + step / 2 and value - printed < step + slack - _EPS
    return "within rounding" if near else "no"


def _column(cells: pd.DataFrame, table: int, model: str, metric: str) -> pd.Series:
    own = cells[(cells["table"] == table) & (cells["model"] == model)].set_index("domain")[metric]
    return own.dropna().astype(float)


def _slack(values: np.ndarray) -> np.ndarray:
    return np.array([0.5 * 10.0 ** -decimals(v) for v in values])


def mean_rows(cells: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """The printed Mean and Standard Deviation of every column against its rows.

    Parameters
    ----------
    cells : table, domain, model, hr, f1, bleu, pp (`published.printed_cells`).
    means : `published/reasons/means.csv`.

    Returns
    -------
    DataFrame, one row a column of Tables 6 to 9 : table, metric, model, rows (cells that are known), mean, printed_mean, mean_follows, sd
    (ddof 1), sd_population (ddof 0), printed_sd, sd_follows, population_follows (each as in `follows`).

    Notes
    -----
    A mean of n cells is off by at most the mean of their half last digits, a standard deviation by at most the root of the sum of their
    squares over √(n − ddof). A column with a missing cell is given the slack of a cell that can be anything between the others.
    """
    import pandas as pd

    printed = means.set_index(["table", "model", "statistic"])
    rows = []
    for (table, model), _ in cells.groupby(["table", "model"], sort=False):
        for metric in METRICS:
            x = _column(cells, table, model, metric).to_numpy()
            slack = _slack(x)
            gap = (np.ptp(x) / len(x)) if len(x) < cells[cells["table"] == table]["domain"].nunique() else 0.0
            mean, sd = (float(printed.loc[(table, model, name), metric]) for name in ("Mean", "SD"))
            off = math.sqrt((slack**2).sum())
            n = len(x)
            rows.append(
                (table, metric, model, n, x.mean(), mean, follows(x.mean(), mean, slack.mean() + gap),
                 x.std(ddof=1), x.std(), sd, follows(x.std(ddof=1), sd, off / math.sqrt(n - 1) + gap),
                 follows(x.std(), sd, off / math.sqrt(n) + gap))
            )  # fmt: skip
    columns = [
        "table", "metric", "model", "rows", "mean", "printed_mean", "mean_follows", "sd", "sd_population", "printed_sd", "sd_follows",
        "population_follows",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def counted(audit: pd.DataFrame) -> pd.DataFrame:
    """How many Mean and Standard Deviation cells follow, and how (from `mean_rows`): rows mean, sd, sd_population."""
    kinds = ["rounded", "cut off", "either", "within rounding", "no"]
    named = {"mean": "mean_follows", "SD (ddof 1)": "sd_follows", "SD (ddof 0)": "population_follows"}
    import pandas as pd

    rows = [[name, *(int((audit[column] == kind).sum()) for kind in kinds)] for name, column in named.items()]
    return pd.DataFrame(rows, columns=["printed", *kinds])


def means_sentence(audited: pd.DataFrame, off: pd.DataFrame) -> str:
    """What `mean_rows` and `unfollowed` found, in words."""
    kinds = [*audited["mean_follows"], *audited["sd_follows"]]
    both, cut, rounded = (kinds.count(kind) for kind in ("either", "cut off", "rounded"))
    population = int(((audited["population_follows"] != "no") & (audited["sd_follows"] == "no")).sum())
    return (
        f"Of {len(kinds)} printed Means and Standard Deviations {both + cut + rounded} follow to the last digit: {cut} only if further digits "
        f"are cut off, {rounded} only if they are rounded. {len(off)} of {len(audited)} columns have one that does not follow; dividing by n "
        f"instead of n − 1 would explain {population} of them."
    )


def unfollowed(audit: pd.DataFrame) -> pd.DataFrame:
    """The columns whose Mean or Standard Deviation does not follow (from `mean_rows`)."""
    off = (audit["mean_follows"] == "no") | (audit["sd_follows"] == "no")
    return audit[off].reset_index(drop=True)


def repairs(cells: pd.DataFrame, means: pd.DataFrame, off: pd.DataFrame, most: int = 2) -> pd.DataFrame:
    """Columns whose Mean or SD does not follow: which one cell, changed or exchanged with another model's, would make both follow.

    Parameters
    ----------
    cells, means : as in `mean_rows`.
    off : from `unfollowed`.
    most : columns that more cells than this could repair tell nothing, and are left out.

    Returns
    -------
    DataFrame : table, metric, model, domain, printed, would_be (the middle of what fits), reading ('a share where percent is meant',
    'exchanged with' a model, or '').
    """
    import pandas as pd

    statistics = means.set_index(["table", "model", "statistic"])
    rows: list[tuple[Any, ...]] = []
    for column in off.itertuples():
        own = _column(cells, column.table, column.model, column.metric)
        mean, sd = (float(statistics.loc[(column.table, column.model, s), column.metric]) for s in ("Mean", "SD"))
        partners = off[(off["table"] == column.table) & (off["metric"] == column.metric)]["model"]
        found = []
        for domain, value in own.items():
            rest = own.drop(domain).to_numpy()
            fits = _would_be(rest, mean, sd, LARGEST[column.metric])
            if fits is None:
                continue
            same = cells[(cells["table"] == column.table) & (cells["domain"] == domain)].set_index("model")[
                column.metric
            ]
            swaps = [m for m in partners if m != column.model and _both(np.r_[rest, float(same[m])], mean, sd)]
            share = LARGEST[column.metric] == 100 and value < 1 and abs(fits / 100 - value) < 0.01
            reading = (
                f"exchanged with {', '.join(swaps)}" if swaps else "a share where percent is meant" if share else ""
            )
            found.append((column.table, column.metric, column.model, domain, value, fits, reading))
        rows += found if len(found) <= most else []
    return pd.DataFrame(rows, columns=["table", "metric", "model", "domain", "printed", "would_be", "reading"])


def _both(x: np.ndarray, mean: float, sd: float) -> bool:
    slack = _slack(x)
    off = math.sqrt((slack**2).sum() / (len(x) - 1))
    return follows(x.mean(), mean, slack.mean()) != "no" and follows(x.std(ddof=1), sd, off) != "no"


def _would_be(rest: np.ndarray, mean: float, sd: float, largest: float) -> float | None:
    """The middle of the values of one more cell with which mean and SD follow, to two decimals."""
    n, step = len(rest) + 1, 10.0 ** -decimals(mean)
    low, high = n * (mean - step) - rest.sum(), n * (mean + 2 * step) - rest.sum()
    grid = np.arange(math.floor(low * 100), math.ceil(high * 100) + 1) / 100
    good = [x for x in grid if 0 <= x <= largest and _both(np.r_[rest, x], mean, sd)]
    return round(float(np.mean(good)), 2) if good else None


def placements(
    row: Sequence[float], models: Sequence[str], rest: pd.DataFrame, means: pd.Series, sds: pd.Series
) -> list[str]:
    """A row with one number too few: which model's number can be the missing one, by the printed Mean and SD.

    Parameters
    ----------
    row : the numbers that are printed, one fewer than models.
    models : (m,) the columns in order.
    rest : (domains, m) the other rows.
    means, sds : (m,) printed Mean and Standard Deviation, rounded or cut off.

    Returns
    -------
    list of models : those for which all other columns follow exactly.
    """
    if len(row) != len(models) - 1:
        raise ValueError(f"placements: {len(row)} numbers for {len(models)} models; one fewer is expected")
    found = []
    for gap, missing in enumerate(models):
        filled = dict(zip([m for m in models if m != missing], [*row[:gap], *row[gap:]], strict=True))
        columns = {model: np.r_[rest[model].astype(float), value] for model, value in filled.items()}
        if all(
            follows(x.mean(), means[m]) not in ("no", "within rounding")
            and follows(x.std(ddof=1), sds[m]) not in ("no", "within rounding")
            for m, x in columns.items()
        ):
            found.append(missing)
    return found


# -- pass percentages, repeated cells, size ------------------------------------------------------------------------------


def pass_counts(cells: pd.DataFrame, sizes: dict[str, int] = RELEASED) -> pd.DataFrame:
    """Whether each pass percentage is a whole number of the sentences that the released files hold.

    Returns
    -------
    DataFrame : table, domain, model, pp, sentences, nearest (passes), is_share; without cells of 0, which any number of sentences gives.
    """
    rows = cells[cells["domain"].isin(list(sizes)) & (cells["pp"] > 0)][["table", "domain", "model", "pp"]].copy()
    rows["sentences"] = rows["domain"].map(sizes)
    rows["nearest"] = (rows["pp"].astype(float) * rows["sentences"] / 100).round().astype(int)
    rows["is_share"] = [is_share(float(r.pp), r.sentences) for r in rows.itertuples()]
    return rows.reset_index(drop=True)


def pass_sentence(counts: pd.DataFrame) -> str:
    """From `pass_counts`, in words: whose percentages are whole shares of the released sentences."""
    of = counts.groupby("model", sort=False)["is_share"].agg(["sum", "size"])
    listed = ", ".join(f"{model} {int(row['sum'])} of {int(row['size'])}" for model, row in of.iterrows())
    where = ", ".join(f"{name} ({n})" for name, n in counts.groupby("domain", sort=False)["sentences"].first().items())
    return f"Pass percentages that are whole shares of the released sentences of {where}: {listed}."


def is_share(percent: float, n: int) -> bool:
    """Whether a percentage is k of n for a whole k, rounded or cut off to the decimals that it has."""
    near = range(math.floor(percent * n / 100), math.ceil(percent * n / 100) + 1)
    return any(follows(100 * k / n, percent) in ("rounded", "cut off", "either") for k in near)


def sizes(
    cells: pd.DataFrame, means: pd.DataFrame, models: Sequence[str] = ("G1", "D"), most: int = 1000
) -> pd.DataFrame:
    """How many sentences a domain has: the smallest number of which all pass percentages of some models are whole shares.

    Parameters
    ----------
    cells, means : Tables 6 to 9. Cells equal to the printed Mean (`filled`) and cells of 0 tell nothing and are left out.
    models : whose percentages are shares of the released files' sizes where these are known.
    most : above it, accident finds a number; no answer then.

    Returns
    -------
    DataFrame : domain, sentences (missing where there is none up to `most`), chance (of so small a number or a smaller one by accident, about),
    percentages (how many were used), released (sentences of the released file, where there is one).
    """
    import pandas as pd

    equal = {(r.table, r.model, r.domain) for r in filled(cells, means).itertuples() if "pp" in r.measures}
    rows = []
    for domain, own in cells[cells["model"].isin(list(models)) & (cells["pp"] > 0)].groupby("domain", sort=False):
        used = [float(r.pp) for r in own.itertuples() if (r.table, r.model, domain) not in equal]
        n = next((n for n in range(2, most + 1) if all(is_share(p, n) for p in used)), None)
        # Of a number n, its shares with their rounding or cutting off cover 1.5 last digits each.
        chance = None if n is None else sum(min(1.0, 1.5e-4 * k) ** len(used) for k in range(2, n + 1))
        rows.append((domain, n, chance, len(used), RELEASED.get(domain)))
    table = pd.DataFrame(rows, columns=["domain", "sentences", "chance", "percentages", "released"])
    return table.astype({"sentences": "Int64", "released": "Int64"})


def filled(cells: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Cells whose hallucination rate or pass percentage is the printed Mean of their own column, to the last digit and above 0.

    Returns
    -------
    DataFrame : table, model, domain, measures, value.
    """
    import pandas as pd

    mean = means[means["statistic"] == "Mean"].set_index(["table", "model"])
    rows = []
    for cell in cells.itertuples():
        same = [m for m in ("hr", "pp") if getattr(cell, m) == mean.loc[(cell.table, cell.model), m] > 0]
        if same:
            value = ", ".join(f"{getattr(cell, m):g}" for m in same)
            rows.append((cell.table, cell.model, cell.domain, ", ".join(same), value))
    return pd.DataFrame(rows, columns=["table", "model", "domain", "measures", "value"])


def repeats(cells: pd.DataFrame) -> pd.DataFrame:
    """Two domains with the same hallucination rate of one model in one table, to the last digit.

    Returns
    -------
    DataFrame : table, model, domain, other, hr, same (which measures are equal and above 0).
    """
    import pandas as pd

    rows = []
    for (table, model), own in cells.groupby(["table", "model"], sort=False):
        listed = list(own.itertuples())
        for i, a in enumerate(listed):
            for b in listed[i + 1 :]:
                pairs = {m: (getattr(a, m), getattr(b, m)) for m in METRICS}
                same = [m for m, (x, y) in pairs.items() if pd.notna(x) and pd.notna(y) and x == y > 0]
                if "hr" in same:
                    rows.append((table, model, a.domain, b.domain, a.hr, ", ".join(same)))
    return pd.DataFrame(rows, columns=["table", "model", "domain", "other", "hr", "same"])


def size_effect(cells: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation of the hallucination rate with the time of Table 5 over the domains: time stands for the number of sentences, which
    the text prints for one domain only.

    Returns
    -------
    DataFrame : table, model, rho (Spearman), low, high, p, n.
    """
    import pandas as pd

    seconds = times.pivot(index="domain", columns="model", values="seconds").astype(float)
    rows = []
    for (table, model), own in cells.groupby(["table", "model"], sort=False):
        spent = seconds[_TIMES.get(model, model)].reindex(own["domain"]).to_numpy()
        found = stats.correlation(own["hr"].astype(float).to_numpy(), spent).set_index("coefficient").loc["spearman"]
        rows.append((table, model, *(found[name] for name in ("value", "low", "high", "p", "n"))))
    return pd.DataFrame(rows, columns=["table", "model", "rho", "low", "high", "p", "n"])
