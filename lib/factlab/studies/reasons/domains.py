"""What the queries say together (20_query, 50_domains): modes against each other, domains, sizes, times, tokens.

REASONS, section 6, Tables 5 to 9 and Figures 3 to 7. Answers (`query.ask`) and scores (`query.score`) go in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab import stats
from factlab.studies.reasons import query

if TYPE_CHECKING:
    import pandas as pd

PAIRS = (
    ("direct_metadata", "direct"),
    ("indirect_metadata", "indirect"),
    ("sid", "indirect"),
    ("sid", "indirect_metadata"),
)
MEASURES = ("right", "made_up", "passed", "f1")


def between_modes(
    answers: pd.DataFrame, pairs: Sequence[tuple[str, str]] = PAIRS, measures: Sequence[str] = MEASURES, seed: int = 0
) -> pd.DataFrame:
    """What metadata and asking twice change, on the queries that have an outcome in both modes.

    Parameters
    ----------
    answers : as `query.ask` returns them, several modes below each other.
    pairs : (mode, reference); pairs of which one was not asked are passed over.
    measures : of `query.measured`.
    seed : of the resampling.

    Returns
    -------
    DataFrame : mode, reference, measure, mean, mean_reference, difference, low, high (95 %, source papers resampled), p, p_holm (over
    all rows), n, left_out, reason (why not tested). Missing where not tested.
    """
    import pandas as pd

    measured = query.measured(answers)
    rows: list[dict[str, Any]] = []
    for mode, reference in pairs:
        if not {mode, reference} <= set(measured["mode"]):
            continue
        a, b = (measured[measured["mode"] == m].set_index("item_id") for m in (mode, reference))
        both = a.join(b[list(measures)].add_suffix("_reference"), how="inner")
        for measure in measures:
            found = stats.compare(both[measure], both[f"{measure}_reference"], both["source_id"], seed=seed).iloc[0]
            row = {"mode": mode, "reference": reference, "measure": measure.replace("_", " ")}
            row |= {"mean": found["mean_a"], "mean_reference": found["mean_b"]}
            rows.append(row | found[["difference", "low", "high", "p", "n", "left_out", "reason"]].to_dict())
    columns = [
        "mode",
        "reference",
        "measure",
        "mean",
        "mean_reference",
        "difference",
        "low",
        "high",
        "p",
        "p_holm",
        "n",
    ]
    columns += ["left_out", "reason"]
    for row, corrected in zip(rows, stats.holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = corrected
    table = pd.DataFrame(rows, columns=columns)
    numbers = ["mean", "mean_reference", "difference", "low", "high", "p", "p_holm"]
    return table.astype(dict.fromkeys(numbers, "Float64") | {"n": "Int64", "left_out": "Int64"})


def outcomes(answers: pd.DataFrame) -> pd.DataFrame:
    """How many answers of each mode are right, other than right, passes, or unreadable (which failed calls and prompts left out are too).

    Returns
    -------
    DataFrame : mode (with spaces), right, other, passes, unreadable, n.
    """
    measured = query.measured(answers)
    counts = measured.assign(
        right=measured["right"].eq(1).fillna(False),
        other=measured["made_up"].eq(1).fillna(False),
        passes=measured["passed"].eq(1).fillna(False),
        unreadable=measured["right"].isna(),
    )
    table = counts.groupby("mode", sort=False)[["right", "other", "passes", "unreadable"]].sum().reset_index()
    table["n"] = table[["right", "other", "passes", "unreadable"]].sum(axis=1)
    return table.assign(mode=table["mode"].str.replace("_", " "))


def escalation(answers: pd.DataFrame) -> pd.DataFrame:
    """SID, step by step: how many queries were asked again, what came of them, and what that cost in tokens.

    Returns
    -------
    DataFrame : step, queries, of (the queries it is a share of). Empty where SID was not asked.
    """
    import pandas as pd

    sid = query.measured(answers[answers["mode"] == "sid"])
    if not len(sid):
        return pd.DataFrame(columns=["step", "queries", "of"])
    again = sid["phase"] == 2
    right = sid["right"].eq(1).fillna(False)
    passed = sid["passed"].eq(1).fillna(False)
    steps = [
        ("asked with the sentence alone", len(sid), len(sid)),
        ("right at once", int((right & ~again).sum()), len(sid)),
        ("asked again with metadata", int(again.sum()), len(sid)),
        ("right then", int((right & again).sum()), int(again.sum())),
        ("a pass in the end", int(passed.sum()), len(sid)),
    ]
    return pd.DataFrame(steps, columns=["step", "queries", "of"])


def tokens(answers: pd.DataFrame) -> pd.DataFrame:
    """What each mode cost: queries, prompt_tokens, completion_tokens, seconds (missing where not told), mean prompt tokens a query.

    The tokens that SID saves against showing the metadata to every query are those of `sid` against `indirect_metadata`.
    """
    grouped = answers.groupby("mode", sort=False)
    table = grouped[["prompt_tokens", "completion_tokens", "seconds"]].sum(min_count=1)
    table.insert(0, "queries", grouped.size())
    table["prompt_tokens_each"] = table["prompt_tokens"] / table["queries"]
    return table.reset_index()


def saved(costs: pd.DataFrame) -> str:
    """How SID's tokens compare with those of asking everything with metadata, in words; '' where one of them is not known."""
    import pandas as pd

    total = costs.set_index("mode")[["prompt_tokens", "completion_tokens"]].sum(axis=1, skipna=False)
    both = [total.get(mode, pd.NA) for mode in ("sid", "indirect_metadata")]
    if any(pd.isna(value) or value == 0 for value in both):
        return ""
    sid, whole = (int(value) for value in both)
    change = abs(sid - whole) / whole
    word = "saves" if sid < whole else "costs"
    more = "" if sid < whole else " more"
    return f"SID {word} {change:.0%}{more} tokens ({sid:,} against {whole:,} with metadata from the start)."


def seconds_by_domain(answers: pd.DataFrame) -> pd.DataFrame:
    """How long each domain took (Table 5 in kind).

    Returns
    -------
    DataFrame : mode, domain, seconds (total; missing where no reply told its time), n (queries with a time), untimed.
    """
    grouped = answers.groupby(["mode", "domain"], sort=False)["seconds"]
    table = grouped.agg(seconds=lambda s: s.sum(min_count=1), n="count", asked="size").reset_index()
    return table.assign(untimed=table["asked"] - table["n"]).drop(columns="asked")


def with_sizes(scores: pd.DataFrame, answers: pd.DataFrame, sizes: pd.DataFrame | None = None) -> pd.DataFrame:
    """Scores by domain beside the size of each domain, without the Mean and SD rows.

    Parameters
    ----------
    scores : of `query.score` by mode and domain.
    answers : the answers behind them; without `sizes`, a domain's size is the number of its sentences here.
    sizes : domain and sentences (of the data set as a whole), where the answers are a sample of it.

    Returns
    -------
    DataFrame : the rows of `scores` that are domains, with sentences.
    """
    kept = scores[~scores["domain"].isin(["Mean", "SD"])]
    own = answers.groupby("domain")["item_id"].nunique()
    return kept.assign(sentences=kept["domain"].map(own if sizes is None else sizes.set_index("domain")["sentences"]))


def size_effect(sized: pd.DataFrame, metrics: Sequence[str] = ("hr", "f1", "pp")) -> pd.DataFrame:
    """Do larger domains fare better (section 6, Figure 7)? Rank correlation of each measure with the size, over domains.

    Returns
    -------
    DataFrame : mode, metric, rho (Spearman; missing where undefined), low, high, p, p_holm (over all rows), n (domains), reason.
    """
    import pandas as pd

    rows = []
    for mode, some in sized.groupby("mode", sort=False):
        for metric in metrics:
            found = (
                stats.correlation(some["sentences"].astype("Float64"), some[metric])
                .set_index("coefficient")
                .loc["spearman"]
            )
            told = found[["low", "high", "p", "n", "reason"]].to_dict()
            rows.append({"mode": mode, "metric": metric, "rho": found["value"], **told})
    for row, corrected in zip(rows, stats.holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = corrected
    table = pd.DataFrame(rows, columns=["mode", "metric", "rho", "low", "high", "p", "p_holm", "n", "reason"])
    return table.astype(dict.fromkeys(["rho", "low", "high", "p", "p_holm"], "Float64") | {"n": "Int64"})


def extremes(scores: pd.DataFrame, metric: str = "hr") -> pd.DataFrame:
    """The domains with the highest and the lowest measure in each mode, with their intervals; those that overlap are not told apart.

    Returns
    -------
    DataFrame : mode, highest, lowest (domain and interval in words), apart (whether the two intervals do not overlap; missing where
    one has none). Modes in which the measure is defined in fewer than two domains are left out.
    """
    import pandas as pd

    rows = []
    for mode, some in (
        scores[~scores["domain"].isin(["Mean", "SD"])].dropna(subset=[metric]).groupby("mode", sort=False)
    ):
        if len(some) < 2:
            continue
        some = some.sort_values(metric, kind="stable")
        lowest, highest = some.iloc[0], some.iloc[-1]
        known = not (pd.isna(lowest[f"{metric}_high"]) or pd.isna(highest[f"{metric}_low"]))
        apart = bool(highest[f"{metric}_low"] > lowest[f"{metric}_high"]) if known else None
        ends = (f"{row['domain']} {_in_words(row, metric)}" for row in (highest, lowest))
        rows.append((mode, *ends, apart))
    return pd.DataFrame(rows, columns=["mode", "highest", "lowest", "apart"]).astype({"apart": "boolean"})


def _in_words(row: Any, metric: str) -> str:
    """A measure of one row of `query.score` with its interval, where it has one."""
    import pandas as pd

    value, low, high = (row[name] for name in (metric, f"{metric}_low", f"{metric}_high"))
    return f"{value:.2f}" + ("" if pd.isna(low) else f" [{low:.2f}, {high:.2f}]")


def sentence(scores: pd.DataFrame) -> str:
    """What the modes scored, in one sentence: hallucination rate and passes of each."""
    import pandas as pd

    def said(row: Any) -> str:
        rate = "no answers" if pd.isna(row["hr"]) else f"hallucination rate {_in_words(row, 'hr')}, F1 {row['f1']:.2f}"
        return f"{row['mode'].replace('_', ' ')}: {rate}, {row['passed']} of {row['n']} passed"

    return "; ".join(said(row) for _, row in scores.iterrows()) or "nothing was asked"


def warnings(answers: pd.DataFrame, scores: pd.DataFrame, escalate: str, sample: bool) -> list[str]:
    """What to distrust in these scores, one sentence each.

    Parameters
    ----------
    answers, scores : of `query.ask` and `query.score` (by mode).
    escalate : how SID was asked.
    sample : whether the records are the built-in ones.
    """
    notes = []
    if sample:
        notes.append(
            "The sentences are samples written for this project around well-known works, by a language model, eight a domain: "
            "they show how the method works and compare no domains."
        )
    for row in scores.itertuples():
        if row.left_out:
            notes.append(
                f"{row.mode}: {row.left_out} of {row.n + row.left_out} replies enter no score ({row.outcomes})."
            )
    held = answers[answers["holds_gold"]].groupby("mode").size()
    if len(held):
        listed = ", ".join(f"{mode} {count}" for mode, count in held.items())
        notes.append(
            f"Prompts that hold the gold answer, as these modes publish it: {listed}. Such scores measure copying too."
        )
    if "sid" in set(answers["mode"]) and escalate == "oracle":
        notes.append(
            "SID asked again wherever the first answer was wrong, as published: no user of a model can know that."
        )
    return notes


def against_rest(answers: pd.DataFrame, measure: str = "made_up", seed: int = 0) -> pd.DataFrame:
    """Each domain of each mode against its other domains: difference of the mean of a measure (`query.measured`).

    Returns
    -------
    DataFrame : mode, domain, mean, rest, difference, p (sign of the difference over source papers: Welch's t-test of the papers'
    means), p_holm (over all rows), differs, n (papers), reason (why not tested).
    """
    import pandas as pd

    by_paper = (
        query.measured(answers).groupby(["mode", "domain", "source_id"], sort=False)[measure].mean().reset_index()
    )
    rows = []
    for mode, some in by_paper.dropna(subset=[measure]).groupby("mode", sort=False):
        for domain in some["domain"].unique():
            own, rest = (some.loc[some["domain"].eq(domain) == side, measure] for side in (True, False))
            tests = stats.two_sample(own, rest).set_index("test")
            welch = tests.loc["Welch t"]
            told = {
                "mean": welch["mean_a"],
                "rest": welch["mean_b"],
                "difference": welch["difference"],
                "p": welch["p"],
            }
            rows.append({"mode": mode, "domain": domain, **told, "n": len(own), "reason": welch["reason"]})
    for row, corrected in zip(rows, stats.holm([row["p"] for row in rows]), strict=True):
        row |= {"p_holm": corrected, "differs": None if corrected != corrected else bool(corrected < 0.05)}
    table = pd.DataFrame(
        rows, columns=["mode", "domain", "mean", "rest", "difference", "p", "p_holm", "differs", "n", "reason"]
    )
    numbers = ["mean", "rest", "difference", "p", "p_holm"]
    return table.astype(dict.fromkeys(numbers, "Float64") | {"differs": "boolean", "n": "Int64"})


def domain_warnings(scores: pd.DataFrame, effect: pd.DataFrame) -> list[str]:
    """What to distrust in scores by domain, one sentence each."""
    rows = scores[~scores["domain"].isin(["Mean", "SD"])]
    notes = []
    few = rows[rows["n"] < 10]
    if len(few):
        notes.append(
            f"{len(few)} of {len(rows)} cells rest on fewer than ten queries (the smallest on {int(few['n'].min())}): they describe, and "
            "compare no domains."
        )
    undefined = rows[rows["hr"].isna()]
    if len(undefined):
        notes.append(
            f"{len(undefined)} of {len(rows)} cells have no hallucination rate, since nothing was answered there."
        )
    if len(effect) and effect["rho"].isna().all():
        notes.append(f"Whether size matters cannot be told here: {effect['reason'].iloc[0]}.")
    return notes


def domain_sentence(scores: pd.DataFrame, ends: pd.DataFrame, metric: str) -> str:
    """What the domains show, in words."""
    modes = scores["mode"].nunique()
    told = int(ends["apart"].fillna(False).sum())
    domains_ = scores.loc[~scores["domain"].isin(["Mean", "SD"]), "domain"].nunique()
    return (
        f"{domains_} domains in {modes} modes; in {told} of {len(ends)} modes the intervals of the highest and the lowest "
        f"{NAMES.get(metric, metric)} do not overlap"
    )


NAMES = {"hr": "hallucination rate", "f1": "F1", "bleu": "BLEU-4", "pp": "pass percentage"}
