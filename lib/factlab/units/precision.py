"""DAHL's Step 3: factual precision of each response, the DAHL score, and the funnel from asked to scored.

Section 3.3 of the paper. Tables of responses and verdicts go in, a table with one row a response comes out; `units`
re-exports the public names.
"""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from factlab.stats import Estimate

STATUSES = ("scored", "refused", "truncated", "unparsable", "unknown", "no_units", "undefined", "error")


def check_option(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise a ValueError that names the choices if a keyword has another value."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not known; use one of {', '.join(map(repr, allowed))}")


def check_options(unknown: str = "exclude-response", zero_units: str = "exclude", variant: str = "paper") -> None:
    """Raise a ValueError if a choice of `factual_precision` is not one of its own; worth doing before a judge is paid."""
    check_option("unknown", unknown, ("exclude-response", "exclude-unit", "false"))
    check_option("zero_units", zero_units, ("exclude", "zero", "one"))
    check_option("variant", variant, ("paper", "released"))


def _columns(frame: pd.DataFrame, name: str, wanted: tuple[str, ...]) -> None:
    missing = [c for c in wanted if c not in frame.columns]
    if missing:
        raise ValueError(f"{name} has no column {missing[0]!r}; it has {', '.join(map(str, frame.columns)) or 'none'}")


def _codes(verdicts: pd.Series) -> np.ndarray:
    """0 true, 1 false, 2 unknown, 3 unparsable."""
    codes, values = pd.factorize(verdicts)
    known = {"true": 0, "1": 0, "1.0": 0, "false": 1, "0": 1, "0.0": 1, "unknown": 2}
    table = np.array([known.get(str(v).strip().casefold(), 3) for v in values] + [3], dtype=np.int8)
    return table[codes]


def factual_precision(
    responses: pd.DataFrame,
    verdicts: pd.DataFrame,
    unknown: str = "exclude-response",
    zero_units: str = "exclude",
    variant: str = "paper",
) -> pd.DataFrame:
    """Step 3: the share of true units in each response.

    DAHL, section 3.3, Step 3: factual atomic units over all atomic units. Responses whose units and verdicts differ in
    number, and (section 5.3) those with an unknown unit, are left out: they keep their row, without a precision.

    Parameters
    ----------
    responses : DataFrame
        One row a response: `response_id`, `n_units` (its number of atomic units), optionally `status`; a status other
        than `scored` (refused, truncated, error …) is carried through. Of a response listed twice the last row counts.
    verdicts : DataFrame
        One row a judged unit: `response_id`, `unit_no` (from 0 or from 1), `verdict` ("true", "false", "unknown", in
        any case, or booleans, 1 and 0; None where the checker's reply could not be read). Of a unit judged twice the
        last row counts. An id that is a number in one table and text in the other is the same id.
    unknown : {"exclude-response", "exclude-unit", "false"}
        What an unknown unit does: its response is left out (the paper), the unit alone is, or it counts as false.
    zero_units : {"exclude", "zero", "one"}
        A response without units has no precision (status `no_units`), or scores 0, or 1.
    variant : {"paper", "released"}
        "released", the authors' code: a response with no units scores 0 and stays in, noncommittal responses are scored
        like others, and any unit that is neither true nor false makes its response unparsable.

    Returns
    -------
    DataFrame
        One row a response, in input order: response_id, n_units, n_true, n_false, n_unknown, n_unparsable, precision
        (0..1, missing unless scored), status, reason (why it was left out; or that repeated rows were passed over).

    Raises
    ------
    ValueError
        If a column is missing, an `n_units` is negative or not whole, a status or a keyword is not known.
    """
    check_options(unknown, zero_units, variant)
    _columns(responses, "responses", ("response_id", "n_units"))
    _columns(verdicts, "verdicts", ("response_id", "unit_no", "verdict"))
    if variant == "released":
        zero_units = "zero"

    listed_twice = responses["response_id"].duplicated(keep="last").to_numpy()
    repeated = set(responses["response_id"][listed_twice]) if listed_twice.any() else set()
    table = responses.loc[~listed_twice].reset_index(drop=True)
    ids = pd.Index(table["response_id"])
    n_units = _whole(table["n_units"], table["response_id"])
    n_known = np.where(np.isnan(n_units), -1, n_units).astype(np.int64)

    # Verdicts as integers: which response (row), which unit, which verdict. Everything after is counting.
    row = _rows_of(ids, pd.Index(verdicts["response_id"]))
    if (row < 0).any():
        lost = verdicts["response_id"][row < 0]
        warnings.warn(
            f"{len(lost)} verdicts are for {lost.nunique()} responses that are not among the responses "
            f"(first: {str(lost.iloc[0])!r}); they are not counted",
            stacklevel=2,
        )
    unit = pd.to_numeric(verdicts["unit_no"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    named = pd.factorize(verdicts["unit_no"], use_na_sentinel=False)[0]
    newest = ~pd.DataFrame({"row": row, "unit": named}).duplicated(keep="last").to_numpy()
    size = len(table)
    again = np.bincount(row[~newest & (row >= 0)], minlength=size)
    used = newest & (row >= 0)
    row, unit, code = row[used], unit[used], _codes(verdicts["verdict"])[used]
    counts = np.bincount(row * 4 + code, minlength=size * 4).reshape(size, 4)
    n_true, n_false, n_unknown, n_unparsable = counts.T
    total = counts.sum(axis=1)
    in_range = _in_range(row, unit, n_known, size)

    status = np.full(size, "scored", dtype=object)
    reason = np.full(size, "", dtype=object)

    def leave_out(where: np.ndarray, what: str, why: list[str] | str) -> None:
        where = where & (status == "scored")
        status[where] = what
        reason[where] = why if isinstance(why, str) else np.asarray(why, dtype=object)[where]

    carried = _carried(table)
    if variant == "released":  # that code does not tell noncommittal responses from others
        carried[(carried == "refused") & ((total > 0) | (n_known == 0))] = "scored"
    for what in STATUSES[1:]:
        leave_out((carried == what) & ((what != "no_units") | (total > 0)), what, f"{what} before scoring")
    leave_out(np.isnan(n_units), "undefined", "the number of units is not known")
    wrong = (total != n_known) | ~in_range
    if wrong.any():
        leave_out(wrong, "unparsable", [_mismatch(n, t, ok) for n, t, ok in zip(n_known, total, in_range, strict=True)])
    if "status" in verdicts.columns:
        failed = (verdicts["status"] == "error").to_numpy(dtype=bool, na_value=False)[used]
        n_failed = np.bincount(row[failed], minlength=size)
        why = [f"{n} of {t} units were not judged" for n, t in zip(n_failed, total, strict=True)]
        leave_out(n_failed > 0, "error", why)
    if (n_unparsable > 0).any():
        leave_out(
            n_unparsable > 0,
            "unparsable",
            [f"{n} of {t} verdicts could not be read" for n, t in zip(n_unparsable, total, strict=True)],
        )
    none = (n_known == 0) | (carried == "no_units")
    if zero_units == "exclude":
        leave_out(none, "no_units", "no atomic units")
    if (n_unknown > 0).any():
        why = [f"{n} of {t} units unknown" for n, t in zip(n_unknown, total, strict=True)]
        if variant == "released":
            leave_out(n_unknown > 0, "unparsable", why)
        elif unknown == "exclude-response":
            leave_out(n_unknown > 0, "unknown", why)
        elif unknown == "exclude-unit":
            leave_out((n_unknown > 0) & (n_unknown == total), "unknown", "all units unknown")

    judged = n_true + n_false + (n_unknown if unknown == "false" else 0)
    with np.errstate(invalid="ignore"):
        precision = np.where(judged > 0, n_true / np.maximum(judged, 1), 1.0 if zero_units == "one" else 0.0)
    precision = np.where(status == "scored", precision, np.nan)
    notes = again > 0
    if repeated or notes.any():
        doubled = ids.isin(list(repeated))
        for i in np.flatnonzero(notes | doubled):
            note = [reason[i]] if reason[i] else []
            note += [f"{_count(again[i], 'repeated verdict row')}, the newest counted"] if again[i] else []
            note += ["listed more than once, the last row counted"] if doubled[i] else []
            reason[i] = "; ".join(note)
    return pd.DataFrame(
        {
            "response_id": table["response_id"],
            "n_units": pd.array(n_known, dtype="Int64") if (n_known < 0).any() else n_known,
            "n_true": n_true,
            "n_false": n_false,
            "n_unknown": n_unknown,
            "n_unparsable": n_unparsable,
            "precision": pd.array(precision, dtype="Float64"),
            "status": status.astype(str),
            "reason": reason.astype(str),
        }
    )


def _rows_of(ids: pd.Index, wanted: pd.Index) -> np.ndarray:
    """Position of each wanted id, -1 where it is not there. Numbers read as text on one side only are the same ids."""
    if pd.api.types.is_numeric_dtype(ids) == pd.api.types.is_numeric_dtype(wanted):
        return ids.get_indexer(wanted)

    def text(index: pd.Index) -> pd.Index:
        return pd.Index([str(int(i)) if isinstance(i, float) and i.is_integer() else str(i) for i in index.tolist()])

    return text(ids).get_indexer(text(wanted)) if text(ids).is_unique else ids.get_indexer(wanted)


def _whole(n_units: pd.Series, ids: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(n_units, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    missing = n_units.isna().to_numpy()
    bad = (np.isnan(numbers) & ~missing) | (numbers < 0) | (np.mod(numbers, 1) > 0) | np.isinf(numbers)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"responses, column 'n_units', response {str(ids.iloc[first])!r}: {n_units.iloc[first]} is not a "
            f"whole number of units"
        )
    return numbers


def _carried(table: pd.DataFrame) -> np.ndarray:
    if "status" not in table.columns:
        return np.full(len(table), "scored", dtype=object)
    given = table["status"].astype(object).where(table["status"].notna(), "scored").replace("", "scored").to_numpy()
    unknown = sorted({str(s) for s in pd.unique(given)} - set(STATUSES))
    if unknown:
        raise ValueError(f"responses, column 'status': {unknown[0]!r} is not known; use one of {', '.join(STATUSES)}")
    return given.copy()


def _in_range(row: np.ndarray, unit: np.ndarray, n_units: np.ndarray, size: int) -> np.ndarray:
    """Whether the unit numbers of each response run on from 0 or from 1. Other names are only counted."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    with np.errstate(invalid="ignore"):  # a unit without a number makes its response's range NaN
        np.minimum.at(low, row, unit)
        np.maximum.at(high, row, unit)
        numbered = np.isfinite(low) & np.isfinite(high)
        runs = ((low == 0) | (low == 1)) & (high - low + 1 == n_units)
    return runs | ~numbered


def _mismatch(n_units: int, n_verdicts: int, in_range: bool) -> str:
    if n_units == n_verdicts and not in_range:
        return f"{_count(n_units, 'unit')} and as many verdicts, but their numbers do not run from 0 or 1"
    kind = "missing" if n_verdicts < n_units else "surplus"
    return f"{_count(n_units, 'unit')}, {_count(n_verdicts, 'verdict')}: {abs(n_units - n_verdicts)} {kind}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def dahl_score(
    precision: pd.DataFrame | ArrayLike,
    clusters: str | ArrayLike | None = None,
    *,
    replicates: int = 4000,
    seed: int = 0,
    parts: Mapping[str, Any] | None = None,
) -> "Estimate":
    """The DAHL score: the mean factual precision over responses, with its interval and what was left out.

    DAHL, section 3.3, Step 3: an unweighted mean, each response counting the same however many units it has.

    Parameters
    ----------
    precision : DataFrame or (n,) array
        What `factual_precision` returns, or bare precisions (missing: left out).
    clusters : str or (n,) array, optional
        The source paper of each question, as an array or a column of `precision`; the interval then resamples papers.
    replicates, seed : int
        Of the bootstrap, see `stats.estimate`.
    parts : mapping, optional
        What else belongs into the signature: subject, splitter, checker …

    Returns
    -------
    stats.Estimate
        In 0..1; `counts` holds the responses left out, by status.

    Raises
    ------
    ValueError
        If `clusters` has another length than `precision`, or is no column of it.
    """
    from factlab import stats

    if not isinstance(precision, pd.DataFrame):
        values = pd.Series(precision, dtype="Float64")
        precision = pd.DataFrame({"precision": values, "status": np.where(values.isna(), "undefined", "scored")})
    _columns(precision, "precision", ("precision", "status"))
    if isinstance(clusters, str):
        _columns(precision, "precision", (clusters,))
        clusters = precision[clusters]
    if clusters is not None and len(clusters) != len(precision):
        raise ValueError(f"clusters has {len(clusters)} entries for {len(precision)} responses")
    kept = (precision["status"] == "scored").to_numpy()
    values = precision["precision"].to_numpy(dtype=float, na_value=np.nan)[kept]
    clusters = None if clusters is None else np.asarray(clusters)[kept]
    counts = precision["status"][~kept].value_counts().to_dict()
    settings = {"counts": counts, "unit": "answers", "name": "dahl", "parts": parts}
    return stats.estimate(values, clusters, replicates, seed, **settings)


_STAGES = (
    ("asked", ()),
    ("answered", ("error", "truncated")),
    ("not refused", ("refused",)),
    ("with units", ("no_units",)),
    ("all verdicts readable", ("unparsable",)),
    ("no unknown", ("unknown",)),
    ("scored", ("undefined",)),
)


def funnel(precision: pd.DataFrame | ArrayLike) -> pd.DataFrame:
    """From asked to scored: how many responses each step leaves.

    Parameters
    ----------
    precision : DataFrame or (n,) array of str
        What `factual_precision` returns, or statuses alone.

    Returns
    -------
    DataFrame
        One row a stage: stage, n (responses that reach it), left_out (since the stage before), share (n over asked,
        0..1; missing where nothing was asked).

    Raises
    ------
    ValueError
        If a status is not in the shared vocabulary.
    """
    statuses = precision["status"] if isinstance(precision, pd.DataFrame) else pd.Series(precision, dtype=object)
    counts = statuses.value_counts()
    strange = sorted(set(map(str, counts.index)) - set(STATUSES))
    if strange or statuses.isna().any():
        raise ValueError(f"status {(strange or ['(missing)'])[0]!r} is not known; use one of {', '.join(STATUSES)}")
    left = np.array([sum(int(counts.get(s, 0)) for s in lost) for _, lost in _STAGES])
    n = len(statuses) - left.cumsum()
    share = n / len(statuses) if len(statuses) else np.full(len(n), np.nan)
    return pd.DataFrame({"stage": [s for s, _ in _STAGES], "n": n, "left_out": left, "share": share})
