"""REASONS' scores by domain: hallucination rate, F1, BLEU-4 and pass percentage, with intervals, Mean and SD.

Section 5.1 of the paper and its Tables 6 to 9. A table with one row a query goes in; `score_items` measures each row,
`score` averages them by group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from factlab.attribution.authors import parse_authors, split_authors
from factlab.attribution.metrics import Compared, as_answer, check_variant
from factlab.attribution.passes import is_pass

if TYPE_CHECKING:
    from factlab.stats import Estimate

STATUSES = ("scored", "refused", "truncated", "unparsable", "unknown", "no_units", "undefined", "error")
PASS_POLICIES = ("zero", "exclude")
METRICS = ("hr", "f1", "bleu", "pp")


def _check(frame: pd.DataFrame, wanted: Sequence[str], pass_policy: str, variant: str) -> None:
    check_variant(variant)
    if pass_policy not in PASS_POLICIES:
        raise ValueError(f"pass_policy={pass_policy!r} is not known; use one of {', '.join(map(repr, PASS_POLICIES))}")
    missing = [c for c in wanted if c not in frame.columns]
    if missing:
        raise ValueError(f"no column {missing[0]!r}; the table has {', '.join(map(str, frame.columns)) or 'none'}")


def score_items(frame: pd.DataFrame, variant: str = "paper", authors: bool = False) -> pd.DataFrame:
    """Measure each query by itself.

    Parameters
    ----------
    frame : DataFrame
        One row a query: `predicted` and `gold` (titles, or lists of authors; of two, one list makes the other be read as
        a list), `status` (`scored`, `refused` for a pass, or what kept an answer from being read).
    variant : {"paper", "released", "tables"}
    authors : bool
        Texts are lists of authors, as a CSV file holds them (`A, B and C`, `["A", "B"]`), not titles. Without effect
        under the other variants, whose authors compare texts.

    Returns
    -------
    DataFrame
        One row a query, with the index of `frame`: `exact` (is the answer exactly right), `mismatch` (share of unique
        words that do not match), `f1`, `bleu`, each missing unless the status is `scored`; `status`, in which a scored
        answer that is itself a pass has become `refused`, one without a gold answer `undefined`, and an empty one
        `unparsable`.

    Raises
    ------
    ValueError
        If a column is missing, a status is not known, or an answer is neither text nor a list of texts; the row is named.

    Notes
    -----
    Under "released" and "tables" a pass is a text that is `pass` in any case and nothing else, or a `refused` row without
    a text; every other text is scored, whatever its status (but `error`), as the authors' code does. For its numbers put
    the raw replies into `predicted`.
    """
    _check(frame, ("predicted", "gold", "status"), "zero", variant)
    status = frame["status"].astype(object).where(frame["status"].notna(), "error").to_numpy(dtype=object).copy()
    unknown = sorted({str(s) for s in pd.unique(status)} - set(STATUSES))
    if unknown:
        raise ValueError(f"column 'status': {unknown[0]!r} is not known; use one of {', '.join(STATUSES)}")
    size = len(frame)
    measured = np.full((4, size), np.nan)
    seen: dict[Any, tuple[float, ...]] = {}
    for i, (predicted, gold) in enumerate(zip(frame["predicted"].tolist(), frame["gold"].tolist(), strict=True)):
        try:
            predicted, gold = as_answer(predicted), as_answer(gold)
        except TypeError as error:
            raise ValueError(f"row {frame.index[i]!r}: {error}") from None
        status[i] = _outcome(predicted, gold, status[i], variant)
        if status[i] != "scored":
            continue
        if authors and variant == "paper":
            predicted, gold = _names(predicted), _names(gold)
        key = (
            predicted if isinstance(predicted, str) else tuple(predicted),
            gold if isinstance(gold, str) else tuple(gold),
        )
        if key not in seen:
            pair = Compared(predicted, gold, variant)
            seen[key] = (float(pair.exact), pair.mismatch(), pair.f1(), pair.bleu())
        measured[:, i] = seen[key]
    undefined = (status == "scored") & np.isnan(measured[1])  # a gold answer without a word in it
    status[undefined], measured[:, undefined] = "undefined", np.nan
    exact = pd.array([None if np.isnan(v) else bool(v) for v in measured[0]], dtype="boolean")
    columns = {
        name: pd.array(values, dtype="Float64")
        for name, values in zip(("mismatch", "f1", "bleu"), measured[1:], strict=True)
    }
    return pd.DataFrame({"exact": exact, **columns, "status": status.astype(str)}, index=frame.index)


def _names(cell: str | list[str]) -> list[str]:
    if isinstance(cell, list):
        return cell
    return parse_authors(cell).value or split_authors(cell)


def _outcome(predicted: str | list[str], gold: str | list[str], status: str, variant: str) -> str:
    if status == "error":
        return status
    if variant == "paper":
        if status != "scored":
            return status
        text = predicted if isinstance(predicted, str) else "; ".join(predicted) if len(predicted) < 3 else ""
        if is_pass(text):
            return "refused"
    elif isinstance(predicted, str) and predicted.casefold() == "pass":
        return "refused"
    elif not predicted:  # nothing to score: what kept it from being read stands
        return "unparsable" if status == "scored" else status
    if not gold or (isinstance(gold, str) and not gold.strip()):
        return "undefined"
    return "scored" if predicted and (not isinstance(predicted, str) or predicted.strip()) else "unparsable"


def score(
    frame: pd.DataFrame,
    by: str | Sequence[str] = ("domain",),
    pass_policy: str = "zero",
    variant: str = "paper",
    clusters: str | ArrayLike | None = None,
    *,
    authors: bool = False,
    replicates: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Hallucination rate, F1, BLEU-4 and pass percentage of each group, with Mean and SD over the groups.

    REASONS, section 5.1; the layout of Tables 6 to 9. In rates, 0..1.

    Parameters
    ----------
    frame : DataFrame
        As in `score_items`, with the columns of `by`.
    by : str or sequence of str
        Columns that define the groups. Mean and SD are taken over the last of them, within each combination of the
        others (`("model", "domain")`: over domains, one Mean and SD a model). Empty: one row, of all queries.
    pass_policy : {"zero", "exclude"}
        What a pass does. "zero": it scores 0 in F1 and BLEU, and is not exactly right in the first part of the
        hallucination rate, which runs over all queries of the domain (Q_D), as in the paper's formula. "exclude": F1,
        BLEU and both parts of the rate are of the answers alone. Under both a pass has no words, so that it never enters
        the second part of the rate, and under both it counts in `pp`.
    variant : {"paper", "released", "tables"}
        "paper": hr = ½ (share of queries whose answer is not exactly right + mean `word_mismatch` of the answers).
        "released": the authors' code, in which hr is the mean `word_mismatch` alone and passes are left out of all but
        `pp`, whatever `pass_policy` says. "tables": the same, but a pass scores 0 in F1 and BLEU, as Tables 6, 8 and 9
        mostly do (Table 3 fits "released").
    clusters : str or (n,) array, optional
        The source paper of each query, as a column or an array; intervals then resample papers.
    authors : bool
        As in `score_items`.
    replicates, seed : int
        Of the bootstrap, see `stats.estimate`.

    Returns
    -------
    DataFrame
        The columns of `by`, then hr, f1, bleu, pp (missing where undefined), n (queries with an answer or a pass: Q_D),
        answered, passed, left_out and `outcomes` (queries whose reply was cut, unreadable or failed, which enter
        nothing: how many, and what became of them in words); not_exact and mismatch (the two parts of hr, missing where
        it has only one); clusters; hr_low, hr_high and so on (95 % intervals, missing where there is none); `note` (why
        there is none, or what to distrust); `signature`. Groups are sorted; then follow the rows `Mean` (of the groups
        in which the measure is defined; n is the sum) and `SD` (ddof 1; missing for fewer than two groups).

    Raises
    ------
    ValueError
        If a column is missing, a keyword or a status is not known, or the columns of `by` take names of the result.

    Notes
    -----
    A domain without answers has no hallucination rate. The interval of hr under "zero" is that of its linearisation,
    since its two parts have different denominators; the interval of Mean treats the domains as given and resamples the
    queries (papers) within them.
    """
    keys = [by] if isinstance(by, str) else list(by)
    _check(frame, ["predicted", "gold", "status", *keys], pass_policy, variant)
    taken = sorted(set(keys) & set(_COLUMNS))
    if taken:
        raise ValueError(f"by: {', '.join(taken)} is also a column of the result; rename it in the table first")
    policy = {"paper": pass_policy, "released": "exclude", "tables": "zero"}[variant]
    table = score_items(frame, variant, authors).reset_index(drop=True)
    labels = _labels(frame, clusters)
    table["cluster"] = np.arange(len(table)) if labels is None else labels
    for key in keys:
        column = frame[key].astype(object).reset_index(drop=True)
        table[f"by:{key}"] = column.where(column.notna(), "(missing)")
    settings = {
        "policy": policy, "variant": variant, "clustered": labels is not None, "replicates": replicates, "seed": seed,
    }  # fmt: skip
    if not keys:
        return pd.DataFrame([_row(_values(table, policy, variant), table, settings)])[list(_COLUMNS)].pipe(_typed)
    rows: list[dict[str, Any]] = []
    outer = [f"by:{key}" for key in keys[:-1]]
    blocks = table.groupby(outer, observed=True) if outer else [((), table)]
    for outside, block in blocks:
        rows += _block(outside, block, keys, settings)
    return _typed(pd.DataFrame(rows, columns=[*keys, *_COLUMNS]))


_COLUMNS = (
    "hr", "f1", "bleu", "pp", "n", "answered", "passed", "left_out", "outcomes", "not_exact", "mismatch", "clusters",
    *(f"{metric}_{end}" for metric in METRICS for end in ("low", "high")), "note", "signature",
)  # fmt: skip
_COUNTS = ("n", "answered", "passed", "left_out", "clusters")
_WORDS = ("outcomes", "note", "signature")


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    for name in _COLUMNS:
        if name in _COUNTS:
            table[name] = pd.array(table[name].tolist(), dtype="Int64")
        elif name not in _WORDS:
            table[name] = pd.array(
                [None if v is None or pd.isna(v) else float(v) for v in table[name]], dtype="Float64"
            )
    return table


def _labels(frame: pd.DataFrame, clusters: str | ArrayLike | None) -> np.ndarray | None:
    if clusters is None:
        return None
    if isinstance(clusters, str):
        if clusters not in frame.columns:
            raise ValueError(f"no column {clusters!r}; the table has {', '.join(map(str, frame.columns))}")
        clusters = frame[clusters]
    labels = np.fromiter(clusters, dtype=object, count=len(clusters))
    if len(labels) != len(frame):
        raise ValueError(f"clusters has {len(labels)} rows, the table has {len(frame)}: one label a row is needed")
    return labels


def _values(table: pd.DataFrame, policy: str, variant: str) -> pd.DataFrame:
    """What each query adds to each measure of its group: columns of values whose means are the measures, NaN: nothing.

    The value of hr under "zero" is ½ (wrong + m̄ + N/A · (m − m̄) if answered), with N queries, A of them answered, whose
    mean mismatch is m̄: the mean over the N is the rate, and its spread that of the rate to first order.
    """
    answered, passed = (table["status"] == "scored").to_numpy(), (table["status"] == "refused").to_numpy()
    asked = answered | passed
    mismatch, f1, bleu = (table[name].to_numpy(float, na_value=np.nan) for name in ("mismatch", "f1", "bleu"))
    wrong = 1 - table["exact"].to_numpy(float, na_value=np.nan)
    if policy == "zero":
        f1, bleu = (np.where(passed, 0.0, v) for v in (f1, bleu))
    if variant != "paper":
        hr = mismatch
    elif policy == "exclude" or not answered.any():
        hr = (wrong + mismatch) / 2
    else:
        mean = mismatch[answered].mean()
        scaled = asked.sum() / answered.sum() * (mismatch - mean)
        hr = np.where(asked, (np.where(passed, 1.0, wrong) + mean + np.where(answered, scaled, 0.0)) / 2, np.nan)
    if policy == "zero":
        wrong = np.where(passed, 1.0, wrong)
    pp = np.where(asked, passed.astype(float), np.nan)
    columns = {"hr": hr, "f1": f1, "bleu": bleu, "pp": pp, "not_exact": wrong, "mismatch": mismatch}
    return pd.DataFrame(columns, index=table.index)


def _mean(values: np.ndarray) -> float | None:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else None


def _row(values: pd.DataFrame, table: pd.DataFrame, settings: dict[str, Any]) -> dict[str, Any]:
    """One row of the result, from the values of its queries."""
    status = table["status"]
    answered, passed = int((status == "scored").sum()), int((status == "refused").sum())
    others = status[~status.isin(["scored", "refused"])].value_counts()
    asked = status.isin(["scored", "refused"])
    row: dict[str, Any] = {
        "n": answered + passed,
        "answered": answered,
        "passed": passed,
        "left_out": int(others.sum()),
    }
    row["outcomes"] = ", ".join(
        f"{count} {name}" for name, count in sorted(others.items(), key=lambda o: (-o[1], o[0]))
    )
    row["clusters"] = table.loc[asked, "cluster"].nunique() if settings["clustered"] else None
    parts = settings["variant"] == "paper" and answered > 0
    row |= {name: _mean(values[name].to_numpy()) if parts else None for name in ("not_exact", "mismatch")}
    notes: dict[str, list[str]] = {}
    for metric in METRICS:
        found = _estimate(values[metric].to_numpy(), table["cluster"].to_numpy(), settings, metric)
        row[metric] = found.value if found.value is None else min(1.0, max(0.0, found.value))
        row[f"{metric}_low"], row[f"{metric}_high"] = (
            None if v is None else min(1.0, max(0.0, v)) for v in (found.low, found.high)
        )
        if found.reason:
            notes.setdefault(found.reason, []).append(metric)
    row["note"] = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in notes.items())
    row["signature"] = _signature(settings, row)
    return row


def _estimate(values: np.ndarray, clusters: np.ndarray, settings: dict[str, Any], metric: str) -> Estimate:
    from factlab.stats import estimate

    kept = ~np.isnan(values)
    labels = clusters[kept] if settings["clustered"] else None
    unit = "queries" if metric == "pp" or settings["policy"] == "zero" else "answers"
    return estimate(values[kept], labels, settings["replicates"], settings["seed"], unit=unit)


def _signature(settings: dict[str, Any], row: dict[str, Any]) -> str:
    from factlab.stats import signature

    paper = settings["variant"] == "paper"
    bleu = "sacrebleu,eff:yes,smooth:exp" if paper else "nltk,eff:no,smooth:none"
    return signature(
        "reasons", variant=settings["variant"], passes=settings["policy"], words="folded" if paper else "treebank", bleu=bleu,
        n=row["n"], clusters=row["clusters"], replicates=settings["replicates"], seed=settings["seed"],
    )  # fmt: skip


def _block(outside: tuple, block: pd.DataFrame, keys: list[str], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the groups within one combination of the outer keys, then Mean and SD over them."""
    rows, pooled = [], {metric: np.full(len(block), np.nan) for metric in METRICS}
    place = pd.Series(np.arange(len(block)), index=block.index)
    labels = dict(zip(keys[:-1], outside, strict=True))
    for label, group in block.groupby(f"by:{keys[-1]}", observed=True, sort=False):
        values = _values(group, settings["policy"], settings["variant"])
        rows.append({**labels, keys[-1]: label, **_row(values, group, settings)})
        for metric in METRICS:
            # Deviations from the group's mean, of a size such that their mean over all is that of the groups.
            deviations = values[metric].to_numpy() - (rows[-1][metric] if rows[-1][metric] is not None else np.nan)
            pooled[metric][place[group.index]] = deviations / max(1, int((~np.isnan(deviations)).sum()))
    rows.sort(key=lambda r: (str(type(r[keys[-1]]).__name__), r[keys[-1]]))
    means = {m: _mean(np.array([np.nan if r[m] is None else r[m] for r in rows])) for m in METRICS}
    values = pd.DataFrame(index=block.index)
    for metric in METRICS:
        held = ~np.isnan(pooled[metric])
        defined = sum(r[metric] is not None for r in rows)
        scaled = pooled[metric] * held.sum() / max(1, defined)
        values[metric] = np.where(held, scaled + (means[metric] if means[metric] is not None else np.nan), np.nan)
    for name in ("not_exact", "mismatch"):
        values[name] = np.nan
    mean = _row(values, block, settings)
    lone = sum((r["clusters"] if settings["clustered"] else r["n"]) == 1 for r in rows)
    if lone:
        said = (
            f"{lone} of {len(rows)} groups hold one {'cluster' if settings['clustered'] else 'query'} and add no spread"
        )
        mean["note"] = "; ".join(part for part in (mean["note"], said) if part)
    spread: dict[str, Any] = dict.fromkeys(_COLUMNS)
    for name in (*METRICS, "not_exact", "mismatch"):
        found = np.array([r[name] for r in rows if r[name] is not None], dtype=float)
        mean[name] = float(found.mean()) if found.size else None
        spread[name] = float(found.std(ddof=1)) if found.size > 1 else None
    spread |= {"outcomes": "", "signature": mean["signature"], "note": f"over {len(rows)} groups, ddof 1"}
    return [*rows, {**labels, keys[-1]: "Mean", **mean}, {**labels, keys[-1]: "SD", **spread}]
