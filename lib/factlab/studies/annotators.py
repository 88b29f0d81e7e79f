"""DAHL section 5.3: the automated score beside that of annotators who took the same answers apart by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import stats
from factlab.sources import SourceError, read_table
from factlab.units import by_kind, factual_precision

if TYPE_CHECKING:
    import pandas as pd

    from factlab.judging import Audit

LABELS = ("true", "false", "unknown")


def read_annotations(path: str | Path) -> pd.DataFrame:
    """Each annotator's own units of each answer, labelled.

    Parameters
    ----------
    path : table with the columns annotator, response_id, unit, label ('true', 'false', 'unknown'); unit_no is added where it is missing.

    Raises
    ------
    SourceError : a label is none of the three; the message gives the row.
    """
    table, _ = read_table(path, required=["annotator", "response_id", "unit", "label"], optional=["unit_no"])
    table["label"] = _labels(table["label"], path)
    numbers = table.groupby(["annotator", "response_id"]).cumcount() + 1
    table["unit_no"] = numbers
    return table.reset_index(drop=True)


def read_labels(path: str | Path) -> pd.DataFrame:
    """The labels that two annotators gave to the same units.

    Parameters
    ----------
    path : table with response_id, unit, label_a and label_b; unit_no, and label (what was settled; the label both gave where it is
        missing).

    Raises
    ------
    SourceError : a label is none of the three; the message gives the row.
    """
    table, _ = read_table(path, required=["response_id", "unit", "label_a", "label_b"], optional=["unit_no", "label"])
    for column in ("label_a", "label_b"):
        table[column] = _labels(table[column], path)
    both = table["label_a"].where(table["label_a"] == table["label_b"])
    table["label"] = table["label"].str.strip().str.lower()
    table["label"] = table["label"].where(table["label"] != "", both)
    table["unit_no"] = table.groupby("response_id").cumcount() + 1
    return table.reset_index(drop=True)


def _labels(column: pd.Series, path: str | Path) -> pd.Series:
    read = column.str.strip().str.lower()
    wrong = read[~read.isin(LABELS)]
    if len(wrong):
        raise SourceError(f"{path}, row {wrong.index[0]}: label {wrong.iloc[0]!r} is none of {', '.join(LABELS)}")
    return read


def automated_units(units: pd.DataFrame, labelled: pd.DataFrame) -> pd.DataFrame:
    """The splitter's units with the annotators' labels, by answer and text.

    Parameters
    ----------
    units : DataFrame with response_id, unit_no, unit, and verdict where a run has judged them.
    labelled : from `read_labels`.

    Returns
    -------
    DataFrame : the units of answers that the annotators labelled; label, label_a and label_b missing where a unit's text is not among
    theirs (another splitter).
    """
    known = labelled.drop_duplicates(["response_id", "unit"]).set_index(["response_id", "unit"])
    table = units[units["response_id"].isin(set(labelled["response_id"]))]
    table = table[[c for c in ("response_id", "unit_no", "unit", "verdict", "p_true") if c in table]].reset_index(
        drop=True
    )
    return table.join(known[["label", "label_a", "label_b"]], on=["response_id", "unit"])


def matching_sentence(automated: pd.DataFrame, labelled: pd.DataFrame, own: pd.DataFrame) -> str:
    """How far the three tables are about the same answers and units, in words."""
    answers = set(automated["response_id"])
    both = answers & set(own["response_id"])
    found = int(automated["label"].notna().sum())
    return (
        f"{len(both)} answers have automated and annotators' units ({len(answers - both)} only automated ones, "
        f"{len(set(own['response_id']) - answers)} only annotators'); {found} of {len(automated)} automated units carry labels"
    )


def scores(automated: pd.DataFrame, own: pd.DataFrame, unknown: str = "exclude-response") -> pd.DataFrame:
    """Factual precision of each answer, the automated way and by each annotator.

    Parameters
    ----------
    automated : from `automated_units`, with verdict.
    own : from `read_annotations`.
    unknown : see `units.factual_precision`; the same rule for all.

    Returns
    -------
    DataFrame, one row an answer: response_id, automated, one column for each annotator, annotators (their mean, missing where one of
    them has none), reference (the splitter's units with the settled labels), and units_automated, units_<annotator>,
    units_annotators (mean).
    """
    import pandas as pd

    def precision(table: pd.DataFrame, label: str) -> pd.DataFrame:
        sizes = table.groupby("response_id", sort=False).size().rename("n_units").reset_index()
        verdicts = table.rename(columns={label: "verdict"})[["response_id", "unit_no", "verdict"]]
        found = factual_precision(sizes, verdicts, unknown=unknown).set_index("response_id")
        return found[["precision", "n_units"]].astype(float)

    frames: dict[str, pd.Series] = {}
    machine = precision(automated, "verdict")
    frames["automated"], frames["units_automated"] = machine["precision"], machine["n_units"]
    frames["reference"] = precision(automated.drop(columns="verdict"), "label")["precision"]
    names = sorted(own["annotator"].unique())
    for name in names:
        found = precision(own[own["annotator"] == name], "label")
        frames[name], frames[f"units_{name}"] = found["precision"], found["n_units"]
    table = pd.DataFrame(frames).dropna(subset=["units_automated"])
    table["annotators"] = table[names].mean(axis=1, skipna=False)
    table["units_annotators"] = table[[f"units_{name}" for name in names]].mean(axis=1, skipna=False)
    return table.rename_axis("response_id").reset_index()


def annotator_names(table: pd.DataFrame) -> list[str]:
    """The annotators in a table of `scores`."""
    return [
        c.removeprefix("units_")
        for c in table
        if c.startswith("units_") and c not in ("units_automated", "units_annotators")
    ]


def correlations(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Pearson, Spearman and Kendall of the pairs that matter: automated and annotators, settled labels and annotators, annotator and annotator.

    Returns
    -------
    DataFrame : pair, measure, and the columns of `stats.correlation`.
    """
    import pandas as pd

    names = annotator_names(table)
    wanted = [("automated", "annotators"), ("reference", "annotators")]
    wanted += [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    frames = []
    for a, b in wanted:
        found = stats.correlation(table[a], table[b], seed=seed).rename(columns={"coefficient": "measure"})
        found.insert(0, "pair", f"{a} and {b}")
        frames.append(found)
    return pd.concat(frames, ignore_index=True)


def pearson_note(found: pd.DataFrame) -> str:
    """Pearson's r of the automated and the annotators' score with its interval, for a figure."""
    row = found.iloc[0]
    if row["value"] is None or row["value"] != row["value"]:
        return f"r undefined: {row['reason']}"
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if row["low"] == row["low"] else ""
    return f"Pearson r {row['value']:.2f}{interval}"


def splitter_sentence(table: pd.DataFrame) -> str:
    """What the splitter alone changes: the annotators' labels on its units against their own units."""
    both = table.dropna(subset=["reference", "annotators"])
    if not len(both):
        return "No answer has labels on the splitter's units and on the annotators' own."
    gap = stats.estimate(both["reference"] - both["annotators"], unit="answers")
    interval = f" [{gap.low:+.2f}, {gap.high:+.2f}]" if gap.low is not None else ""
    return (
        f"With the annotators' own labels on the splitter's units the score is {both['reference'].mean():.2f}, on their own units "
        f"{both['annotators'].mean():.2f}: the splitter alone changes it by {gap.value:+.2f}{interval} (n = {len(both)})."
    )


def unit_counts(table: pd.DataFrame, margin: float = 1.0) -> pd.DataFrame:
    """Number of units an answer: the t-test as published, and paired equivalence tests.

    Returns
    -------
    DataFrame, one row a pair: pair, mean_a, mean_b, difference, low, high (90 %, paired), p_t (two samples, as published: Student's or
    Welch's as the F-test says), p_tost, verdict, n, reason.
    """
    import pandas as pd

    names = annotator_names(table)
    wanted = [("automated", "annotators"), *[("automated", name) for name in names]]
    wanted += [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    rows: list[dict[str, Any]] = []
    for a, b in wanted:
        pair = table[[f"units_{a}", f"units_{b}"]].dropna()
        first, second = pair.iloc[:, 0], pair.iloc[:, 1]
        tests = stats.two_sample(first, second)
        used = tests[tests["applies"].fillna(False).astype(bool)]
        same = stats.equivalence(first, second, margin, paired=True).iloc[0]
        rows.append(
            {"pair": f"{a} and {b}", "mean_a": first.mean(), "mean_b": second.mean(), "difference": same["difference"],
             "low": same["low"], "high": same["high"], "p_t": used["p"].iloc[0] if len(used) else None, "p_tost": same["p"],
             "verdict": same["verdict"], "n": len(pair), "reason": same["reason"]}
        )  # fmt: skip
    floats = dict.fromkeys(["mean_a", "mean_b", "difference", "low", "high", "p_t", "p_tost"], "Float64")
    return pd.DataFrame(rows).astype(floats)


def kinds_of_disagreement(automated: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """For each kind of unit: how often the annotators disagree, and how often the judge contradicts the settled label.

    Returns
    -------
    DataFrame : who ('annotators', 'judge'), and the columns of `units.by_kind`.
    """
    import pandas as pd

    parts = automated.assign(
        annotators=_differ(automated["label_a"], automated["label_b"]),
        judge=_differ(automated["verdict"], automated["label"]),
    )
    found = [
        by_kind(parts, who, "response_id", seed).assign(
            who="annotators disagree" if who == "annotators" else "judge errs"
        )
        for who in ("annotators", "judge")
    ]
    table = pd.concat(found, ignore_index=True)
    return table[["who", *[c for c in table.columns if c != "who"]]]


def _differ(a: pd.Series, b: pd.Series) -> pd.Series:
    """Whether two labels differ; missing where one is."""
    known = a.notna() & b.notna()
    return (a != b).astype("boolean").where(known).astype(object).where(known, None)


def examples(automated: pd.DataFrame, most: int = 6) -> pd.DataFrame:
    """Units on which the annotators part first, then those on which the judge contradicts what was settled."""
    import pandas as pd

    between = automated[_differ(automated["label_a"], automated["label_b"]).eq(True)].head(most // 2)
    judge = automated[_differ(automated["verdict"], automated["label"]).eq(True)].head(most - len(between))
    return pd.concat([between, judge])[["response_id", "unit", "label_a", "label_b", "label", "verdict"]]


def warnings(found: pd.DataFrame, counts: pd.DataFrame, trust: Audit | None, sample: bool) -> list[str]:
    """What a reader should distrust.

    Parameters
    ----------
    found : from `correlations`.
    counts : from `unit_counts`.
    trust : audit of the judge on the settled labels.
    sample : whether the annotators are those of the sample data.
    """
    notes = []
    if sample:
        notes.append(
            "A language model made the sample annotations, in two passes; no person did. Two passes of one model agree more than two people "
            "would, and what it does not know it does not know twice."
        )
    if trust is not None:
        notes.append(trust.sentence())
    row = found.iloc[0]
    if row["n"] < 30:
        notes.append(f"Only {row['n']} answers have both scores; the paper had 99.")
    if row["low"] == row["low"] and row["low"] is not None and row["low"] < 0 < row["high"]:
        notes.append("The correlation of automated and annotators' score is not shown to differ from 0.")
    pair = counts.iloc[0]
    if "not shown" in str(pair["verdict"]):
        notes.append(
            f"Splitter and annotators do not find the same number of units ({pair['mean_a']:.1f} against {pair['mean_b']:.1f} an answer)."
        )
    return notes


def summary(found: pd.DataFrame, between: pd.DataFrame, judge: str) -> str:
    """The result in one line."""
    measures = between.set_index("measure")["value"]
    kappa = measures.get("cohen_kappa", np.nan)
    said = f"{judge} against annotators: {pearson_note(found)}, {found['n'].iloc[0]} answers; between annotators"
    agree = found[(found["measure"] == "pearson") & ~found["pair"].str.contains("automated|reference")]
    if len(agree) and agree["value"].iloc[0] == agree["value"].iloc[0]:
        said += f" r {agree['value'].iloc[0]:.2f}"
    return said + (f", kappa {kappa:.2f} on the same units" if kappa == kappa else "")
