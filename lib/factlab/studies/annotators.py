"""DAHL section 5.3: the automated score beside that of annotators who took the same answers apart by themselves.

In go a table of the annotators' own units with labels, a table of the labels that two of them gave to the splitter's units, and the
judge's verdicts on these. Out come a score of each answer by everyone, and how far scores, numbers of units and labels agree.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab import stats
from factlab.sources import SourceError, read_table
from factlab.units import by_kind, factual_precision

if TYPE_CHECKING:
    import pandas as pd

    from factlab.judging import Audit

LABELS = ("true", "false", "unknown")
NOT_NAMES = ("", "annotators", "automated", "reference", "response_id")  # of an annotator: other columns of `scores`


def read_annotations(path: str | Path) -> pd.DataFrame:
    """Each annotator's own units of each answer, labelled.

    Parameters
    ----------
    path : table with the columns annotator, response_id, unit, label ('true', 'false' or 'unknown', in any case).

    Returns
    -------
    DataFrame : these columns and all others of the file; unit_no counts the rows of each annotator and answer from 1.

    Raises
    ------
    SourceError : a label is none of the three, or an annotator has no name, or that of a column here; the message gives the row.
    """
    table, _ = read_table(path, required=["annotator", "response_id", "unit", "label"])
    table["label"] = _labels(table["label"], path)
    table["annotator"] = table["annotator"].str.strip()
    wrong = table["annotator"][table["annotator"].isin(NOT_NAMES)]
    if len(wrong):
        raise SourceError(
            f"{path}, row {wrong.index[0]}: annotator {wrong.iloc[0]!r}; give each annotator another name"
        )
    table["unit_no"] = table.groupby(["annotator", "response_id"]).cumcount() + 1
    return table.reset_index(drop=True)


def read_labels(path: str | Path) -> pd.DataFrame:
    """The labels that two annotators gave to the same units.

    Parameters
    ----------
    path : table with response_id, unit, label_a and label_b ('true', 'false' or 'unknown', in any case); label (what was settled) where
        there is such a column.

    Returns
    -------
    DataFrame : these columns and all others of the file; label is the one that both gave where nothing was settled, and missing where
    they differ. unit_no counts the rows of each answer from 1.

    Raises
    ------
    SourceError : a label is none of the three; the message gives the row.
    """
    table, _ = read_table(path, required=["response_id", "unit", "label_a", "label_b"], optional=["label"])
    for column in ("label_a", "label_b"):
        table[column] = _labels(table[column], path)
    both = table["label_a"].where(table["label_a"] == table["label_b"])
    settled = table["label"].str.strip() != ""
    table["label"] = _labels(table["label"][settled], path).reindex(table.index).where(settled, both)
    table["unit_no"] = table.groupby("response_id").cumcount() + 1
    return table.reset_index(drop=True)


def _labels(column: pd.Series, path: str | Path) -> pd.Series:
    read = column.str.strip().str.lower()
    wrong = read[~read.isin(LABELS)]
    if len(wrong):
        raise SourceError(
            f"{path}, row {wrong.index[0]}: {column.name} {wrong.iloc[0]!r} is none of {', '.join(LABELS)}"
        )
    return read


def automated_units(units: pd.DataFrame, labelled: pd.DataFrame) -> pd.DataFrame:
    """The splitter's units with the annotators' labels, by answer and text.

    Parameters
    ----------
    units : DataFrame with response_id, unit_no, unit, and verdict and p_true where a run has judged them.
    labelled : from `read_labels`.

    Returns
    -------
    DataFrame : the units of answers that the annotators labelled: those columns, and label, label_a and label_b, missing where a unit's
    text is not among theirs (another splitter). Of a text labelled twice in one answer the first labels count.
    """
    known = labelled.drop_duplicates(["response_id", "unit"]).set_index(["response_id", "unit"])
    table = units[units["response_id"].isin(set(labelled["response_id"]))].reset_index(drop=True)
    table = table[[c for c in ("response_id", "unit_no", "unit", "verdict", "p_true") if c in table]]
    return table.join(known[["label", "label_a", "label_b"]], on=["response_id", "unit"])


def matching_sentence(automated: pd.DataFrame, labelled: pd.DataFrame, own: pd.DataFrame) -> str:
    """How far the three tables are about the same answers and units, in words.

    Parameters
    ----------
    automated : from `automated_units`.
    labelled : from `read_labels`.
    own : from `read_annotations`.
    """
    answers, theirs = set(automated["response_id"]), set(own["response_id"])
    return (
        f"{len(answers & theirs)} answers have automated and annotators' units ({len(answers - theirs)} only automated ones, "
        f"{len(theirs - answers)} only annotators'); {automated['label_a'].notna().sum()} of {len(automated)} automated units are among "
        f"the {len(labelled)} that the annotators labelled"
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
    DataFrame, one row an answer that has automated units: response_id, automated, reference (the splitter's units with the settled
    labels), one column for each annotator, annotators (their mean, missing where one of them has none), and units_automated,
    units_<annotator>, units_annotators (mean). Scores are 0..1; missing where an answer is left out, or an annotator has no units of it.

    Raises
    ------
    ValueError : the automated units have no verdicts, or `unknown` is not known.
    """
    import pandas as pd

    def precision(table: pd.DataFrame, label: str) -> pd.DataFrame:
        sizes = table.groupby("response_id", sort=False).size().rename("n_units").reset_index()
        verdicts = table[["response_id", "unit_no"]].assign(verdict=table[label])
        found = factual_precision(sizes, verdicts, unknown=unknown).set_index("response_id")
        return found[["precision", "n_units"]].astype(float)

    if "verdict" not in automated:
        raise ValueError("the automated units have no verdicts: name a judge, or run 30_score first")
    machine = precision(automated, "verdict")
    frames = {"automated": machine["precision"], "reference": precision(automated, "label")["precision"]}
    frames["units_automated"] = machine["n_units"]
    names = sorted(own["annotator"].unique())
    for name in names:
        found = precision(own[own["annotator"] == name], "label").reindex(machine.index)
        frames[name], frames[f"units_{name}"] = found["precision"], found["n_units"]
    table = pd.DataFrame(frames, index=machine.index)
    table["annotators"] = table[names].mean(axis=1, skipna=False)
    table["units_annotators"] = table[[f"units_{name}" for name in names]].mean(axis=1, skipna=False)
    return table.rename_axis("response_id").reset_index()


def annotator_names(table: pd.DataFrame) -> list[str]:
    """The annotators in a table of `scores`."""
    names = [c.removeprefix("units_") for c in table if c.startswith("units_")]
    return [name for name in names if name not in NOT_NAMES]


def _pairs(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(itertools.combinations(annotator_names(table), 2))


_AGAINST = [("automated", "annotators"), ("reference", "annotators")]


def correlations(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Pearson, Spearman and Kendall of the pairs that matter: automated and annotators, settled labels and annotators, annotator and annotator.

    Parameters
    ----------
    table : from `scores`.
    seed : for `stats.correlation`, which resamples nothing here: every answer counts as a source of its own.

    Returns
    -------
    DataFrame : pair ('automated and annotators' first), measure (pearson, spearman, kendall), and the other columns of
    `stats.correlation`.
    """
    import pandas as pd

    frames = []
    for a, b in [*_AGAINST, *_pairs(table)]:
        found = stats.correlation(table[a], table[b], seed=seed).rename(columns={"coefficient": "measure"})
        found.insert(0, "pair", f"{a} and {b}")
        frames.append(found)
    return pd.concat(frames, ignore_index=True)


def pearson_note(found: pd.DataFrame) -> str:
    """Pearson's r of the automated and the annotators' score with its interval, for a figure.

    Parameters
    ----------
    found : from `correlations`.
    """
    row = found.iloc[0]
    if row.isna()["value"]:
        return f"r undefined: {row['reason']}"
    interval = "" if row.isna()["low"] else f" [{row['low']:.2f}, {row['high']:.2f}]"
    return f"Pearson r {row['value']:.2f}{interval}"


def splitter_sentence(table: pd.DataFrame) -> str:
    """What the splitter alone changes: the annotators' labels on its units against their own units.

    Parameters
    ----------
    table : from `scores`.
    """
    gap = stats.compare(table["reference"], table["annotators"]).iloc[0]
    if not gap["n"]:
        return "No answer has labels on the splitter's units and on the annotators' own."
    interval = "" if gap.isna()["low"] else f" [{gap['low']:+.2f}, {gap['high']:+.2f}]"
    return (
        f"With the annotators' own labels on the splitter's units the score is {gap['mean_a']:.2f}, on their own units "
        f"{gap['mean_b']:.2f}: the splitter alone changes it by {gap['difference']:+.2f}{interval} (n = {gap['n']})."
    )


def unit_counts(table: pd.DataFrame, margin: float = 1.0) -> pd.DataFrame:
    """Number of units an answer: the t-test as published, and paired equivalence tests.

    Parameters
    ----------
    table : from `scores`.
    margin : difference of the mean numbers that does not matter, in units; above 0.

    Returns
    -------
    DataFrame, one row a pair ('automated and annotators' first): pair, mean_a, mean_b, difference, low, high (90 %, paired), p_t (two
    samples, as published: Student's or Welch's as the F-test says; missing where not tested), p_tost, verdict, n (answers), reason.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for a, b in [_AGAINST[0], *(("automated", name) for name in annotator_names(table)), *_pairs(table)]:
        pair = table[[f"units_{a}", f"units_{b}"]].dropna()
        first, second = pair.iloc[:, 0], pair.iloc[:, 1]
        tests = stats.two_sample(first, second)
        used = tests[tests["applies"].fillna(False)]
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

    Parameters
    ----------
    automated : from `automated_units`, with verdict. 'unknown' is a label like the others; a unit without one of the two is left out.
    seed : of the resampling, which draws answers.

    Returns
    -------
    DataFrame : who ('annotators disagree', 'judge errs'), and the columns of `units.by_kind`.
    """
    import pandas as pd

    found = []
    for who, differ in _disagreements(automated).items():
        shares = by_kind(automated.assign(differ=differ), "differ", "response_id", seed)
        shares.insert(0, "who", who)
        found.append(shares)
    return pd.concat(found, ignore_index=True)


def _disagreements(automated: pd.DataFrame) -> dict[str, pd.Series]:
    """Whether two labels of a unit differ (boolean, missing where one of them is), for the annotators and for the judge."""
    found = {}
    for who, a, b in (("annotators disagree", "label_a", "label_b"), ("judge errs", "verdict", "label")):
        known = automated[a].notna() & automated[b].notna()
        found[who] = (automated[a] != automated[b]).astype("boolean").where(known)
    return found


def examples(automated: pd.DataFrame, most: int = 6) -> pd.DataFrame:
    """Units on which the annotators part (up to half), then others on which the judge contradicts what was settled.

    Parameters
    ----------
    automated : from `automated_units`, with verdict.
    most : rows at most.
    """
    import pandas as pd

    part, errs = _disagreements(automated).values()
    between = automated[part.fillna(False)].head(most // 2)
    judge = automated[errs.fillna(False)].drop(index=between.index, errors="ignore").head(most - len(between))
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
        notes.append(f"Answers that have both scores: only {row['n']}; the paper had 99.")
    if row.isna()["value"]:
        notes.append(f"The correlation of automated and annotators' score is undefined: {row['reason']}.")
    elif not row.isna()["low"] and row["low"] <= 0 <= row["high"]:
        notes.append("The correlation of automated and annotators' score is not shown to differ from 0.")
    pair = counts.iloc[0]
    if "not shown" in pair["verdict"]:
        numbers = f"{pair['mean_a']:.1f} and {pair['mean_b']:.1f} an answer"
        if pair["low"] > 0 or pair["high"] < 0:
            notes.append(f"Splitter and annotators do not find the same number of units: {numbers}.")
        else:
            notes.append(f"The numbers of units of splitter and annotators are {pair['verdict']}: {numbers}.")
    return notes


def summary(found: pd.DataFrame, between: pd.DataFrame, judge: str) -> str:
    """The result in one line.

    Parameters
    ----------
    found : from `correlations`.
    between : from `stats.agreement` of the two annotators' labels.
    judge : its name.
    """
    n = found["n"].iloc[0]
    said = f"{judge} against annotators: {pearson_note(found)}, {n} answer{'' if n == 1 else 's'}"
    against = [f"{a} and {b}" for a, b in _AGAINST]
    pearson = found[(found["measure"] == "pearson") & ~found["pair"].isin(against)]["value"].dropna()
    kappa = between.loc[between["measure"] == "cohen_kappa", "value"].dropna()
    parts = []
    if len(pearson):
        low, high = pearson.min(), pearson.max()
        parts.append(f"r {low:.2f}" if len(pearson) == 1 else f"r {low:.2f} to {high:.2f}")
    parts += [f"kappa {value:.2f} on the same units" for value in kappa]
    return said + (f"; between annotators {', '.join(parts)}" if parts else "")
