"""LExT's printed numbers (90_published): tables, what the text says about them, and a run beside them.

`published/lext` (Tables 1 to 14, claims of the text) and the folder of a run go in; tables and sentences come out. Whether the printed
numbers follow from each other is worked out in `audit`. Scores are in 0..1, `trust` is the LExT score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab import comparability
from factlab.studies.lext import audit

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

STEPS = ("20_explain", "30_plausibility", "40_faithfulness", "50_trust")
SCORES = ("plausibility", "faithfulness", "trust")
METRICS = ("correctness", "consistency", "plausibility", "qag", "counterfactual", "contextual", "faithfulness", "trust")
NAMES = {"qag": "QAG", "counterfactual": "counterfactual stability", "contextual": "contextual faithfulness", "trust": "LExT", "pubmedqa": "PubMedQA", "medqa": "MedQA"}  # fmt: skip
FORMS = {"pubmedqa": "PubMedQA", "qpain": "Q-Pain"}  # forms of a run's items, by the data set whose form they have
UNTOLD = "cannot be told"  # verdict where the printed numbers are too few
GENERAL = ("Llama3", "Gemma", "Phi3.5")
MEDICAL = ("Biomistral", "Meditron", "MMed-Llama3")
_SETTINGS = (
    "variant",
    "iterations",
    "paraphrases",
    "paraphrase",
    "keywords",
    "sequential",
    "labels",
    "beta",
    "qag_questions",
)


# -- Figure 6 ------------------------------------------------------------------------------------------------------------


def figure6(cells: pd.DataFrame, dataset: str = "", yours: pd.DataFrame | None = None) -> pd.DataFrame:
    """Plausibility and faithfulness of the six models, and the run's own below them.

    Parameters
    ----------
    cells : from `audit.printed_cells`.
    dataset : 'Q-Pain' or 'PubMedQA'; empty: the mean of the two.
    yours : from `own_scores`; see `of_dataset`.

    Returns
    -------
    DataFrame : model, plausibility, faithfulness, trust, whose ('printed' or 'yours'), and of the run its intervals and n.

    Raises
    ------
    ValueError : there is no such data set.
    """
    import pandas as pd

    if dataset and dataset not in audit.DATASETS:
        raise ValueError(f"dataset is {dataset!r}; those of Table 6 are {', '.join(audit.DATASETS)}")
    scores = ["plausibility", "faithfulness"]
    if dataset:
        own = cells[cells["dataset"] == dataset][["model", *scores, "trust"]]
    else:
        own = cells.groupby("model", sort=False)[scores].mean().reset_index()
    printed = own.assign(whose="printed").reset_index(drop=True)
    if yours is None:
        return printed
    rows = []
    for model, group in of_dataset(yours, dataset).groupby("model", sort=False):
        at = group.drop_duplicates("metric").set_index("metric")
        row: dict[str, Any] = {"model": model, "whose": "yours"}
        for metric in [*scores, "trust"]:
            for name, column in ((metric, "value"), (f"{metric}_low", "low"), (f"{metric}_high", "high")):
                row[name] = at[column].get(metric, pd.NA)
        rows.append(row | {"n": at["n"].get("trust", pd.NA)})
    return pd.concat([printed, pd.DataFrame(rows)], ignore_index=True) if rows else printed


def quadrant_lines(cells: pd.DataFrame) -> pd.DataFrame:
    """Where the lines of Figure 6 must lie for the quadrants that section 5.3 names, read as either data set or as their mean.

    Returns
    -------
    DataFrame, one row a reading and score : reading, score, above (highest model that must lie below the line), below (lowest that must lie
    above it), line (their middle; missing where there is none), broken_by (the models in the way).
    """
    import pandas as pd

    sides = comparability.published("lext", "quadrants").set_index("model")
    rows = []
    for reading in ("", *audit.DATASETS):
        own = figure6(cells, reading).set_index("model")
        for score, side in (("plausibility", "plausible"), ("faithfulness", "faithful")):
            values = own[score].astype(float)
            over, under = (values[sides.index[sides[side] == yes]] for yes in ("yes", "no"))
            low, high = float(under.max()), float(over.min())
            broken = [*over.index[over <= low], *under.index[under >= high]]
            rows.append((reading or "mean of both", score, low, high, None if broken else (low + high) / 2, ", ".join(broken)))  # fmt: skip
    table = pd.DataFrame(rows, columns=["reading", "score", "above", "below", "line", "broken_by"])
    return table.astype({"line": "Float64"})


def lines(found: pd.DataFrame, dataset: str = "", digits: int = 3) -> tuple[float | None, float | None]:
    """The lines of plausibility and faithfulness that fit section 5.3 with one data set, or the mean of both (from `quadrant_lines`); None
    where no line does. They are rounded to as few decimals, up to `digits`, as still part the models."""
    at = found[found["reading"] == (dataset or "mean of both")].set_index("score")
    return _line(at.loc["plausibility"], digits), _line(at.loc["faithfulness"], digits)


def _line(row: pd.Series, digits: int) -> float | None:
    import pandas as pd

    if pd.isna(row["line"]):
        return None
    tried = (round(float(row["line"]), k) for k in range(1, digits + 1))
    return next((line for line in tried if row["above"] < line <= row["below"]), float(row["line"]))


def caption(found: pd.DataFrame, dataset: str = "") -> str:
    """Which numbers a figure 6 shows, and where its lines come from (from `quadrant_lines`)."""
    splits = lines(found, dataset)
    what = f"Figure 6: {dataset or 'mean of both data sets'}."
    gone = [score for score, line in zip(("plausibility", "faithfulness"), splits, strict=True) if line is None]
    if gone:
        return f"{what} No line of {' or '.join(gone)} parts the models as section 5.3 does, so there are no quadrants."
    return f"{what} Lines at plausibility {splits[0]:g} and faithfulness {splits[1]:g}, which part the models as section 5.3 does."


def quadrants_sentence(found: pd.DataFrame) -> str:
    """From `quadrant_lines`, in words."""
    parts = []
    for reading, own in found.groupby("reading", sort=False):
        broken = own[own["line"].isna()]
        if len(broken):
            parts.append(f"not on {reading}" + "".join(f", where {r.broken_by} cannot be parted by {r.score}" for r in broken.itertuples()))  # fmt: skip
        else:
            ranges = ", ".join(f"{r.score} parted between {r.above:.3f} and {r.below:.3f}" for r in own.itertuples())
            parts.append(f"{'for the' if reading.startswith('mean') else 'on'} {reading} ({ranges})")
    return f"The quadrants that section 5.3 names exist {'; '.join(parts)}."


# -- what the text says --------------------------------------------------------------------------------------------------


def check_claims(claims: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """What the text says about cells of Tables 5 to 7, against them.

    Parameters
    ----------
    claims : `published/lext/claims.csv`.
    cells : from `audit.printed_cells`.

    Returns
    -------
    DataFrame : claim, printed (the relation), recomputed (what the table has), verdict ('holds' where it does for every model, metric and data
    set that are meant, 'in part' for some, 'does not hold' for none), where.

    Notes
    -----
    Ranks are among the six models of a data set; of equal ones all have the better rank.
    """
    import pandas as pd

    rows = []
    for claim in claims.itertuples():
        cases = _cases(claim, cells)
        good = sum(holds for holds, _ in cases)
        verdict = "holds" if good == len(cases) else "in part" if good else "does not hold"
        what = f"{claim.models.replace(' ', ', ')}: {claim.claim}"
        found = f"{good} of {len(cases)}: " + "; ".join(words for _, words in cases if words)
        rows.append((what, _relation(claim), found, verdict, f"Table {claim.table}; {claim.source}"))
    return pd.DataFrame(rows, columns=["claim", "printed", "recomputed", "verdict", "where"])


def _relation(claim: Any) -> str:
    """What a claim says of its cells, in words."""
    if claim.relation == "is":
        return f"{float(claim.printed):g}"
    if claim.relation == "above":
        return f"above {claim.rivals.replace(' ', ', ')}"
    if claim.relation == "below-pubmedqa":
        return "lower on Q-Pain than on PubMedQA"
    side, k = claim.relation.rsplit(" ", 1)
    negated, end = ("not ", side.removeprefix("not ")) if side.startswith("not ") else ("", side)
    return f"{negated}the {end}" if k == "1" else f"{negated}among the {k} {end}"


def _cases(claim: Any, cells: pd.DataFrame) -> list[tuple[bool, str]]:
    """Each comparison that a claim means: whether it holds, and in words what the table has (where another one does not say it)."""
    import pandas as pd

    models, metrics = claim.models.split(), claim.metrics.split()
    out: list[tuple[bool, str]] = []
    if claim.relation == "below-pubmedqa":
        by = cells.set_index(["dataset", "model"])
        for metric in metrics:
            here, there = (float(by.loc[(dataset, models[0]), metric]) for dataset in audit.DATASETS)
            out.append((here < there, f"{NAMES.get(metric, metric)} {here:g} and {there:g}"))
        return out
    for dataset in [""] if pd.isna(claim.datasets) else claim.datasets.split():
        own = cells[cells["dataset"] == dataset] if dataset else comparability.published("lext", "table5")
        for metric in metrics:
            values = own.set_index("model")[metric].dropna().astype(float)
            where = ", ".join(part for part in (NAMES.get(metric, metric), dataset) if part)
            if claim.relation != "above":
                out += [_ranked(claim, values, model, where) for model in models]
                continue
            pairs = [(m, rival) for m in models for rival in claim.rivals.split()]
            wrong = [f"{m} {values[m]:g} and {rival} {values[rival]:g}" for m, rival in pairs if values[m] <= values[rival]]  # fmt: skip
            words = f"{where}: {', '.join(wrong) if wrong else 'all'}{' are not' if wrong else ''}"
            out += [(values[m] > values[rival], words if i == 0 else "") for i, (m, rival) in enumerate(pairs)]
    return out


def _ranked(claim: Any, values: pd.Series, model: str, where: str) -> tuple[bool, str]:
    value = float(values[model])
    if claim.relation == "is":
        return abs(value - float(claim.printed)) < 1e-9, f"{where} {value:g}"
    side, k = claim.relation.rsplit(" ", 1)
    rank = int(values.rank(method="min", ascending=side != "highest")[model])
    tied = " (a tie)" if (values == value).sum() > 1 else ""
    inside = rank <= int(k)
    end = "highest" if side == "highest" else "lowest"
    place = end if rank == 1 else f"{_ordinal(rank)} {end}"
    return inside != side.startswith("not"), f"{model} {value:g} in {where}, {place}{tied}"


def _ordinal(k: int) -> str:
    return f"{k}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(k, 'th') }"


def comparisons(cells: pd.DataFrame) -> pd.DataFrame:
    """Claims that compare kinds of models or scores with each other: claim, printed, recomputed, verdict, where."""
    import pandas as pd

    at = cells.set_index(["dataset", "model"])
    rows = []
    pairs = [(d, g, m) for d in audit.DATASETS for g in GENERAL for m in MEDICAL]
    better = [(d, g, m) for d, g, m in pairs if at.loc[(d, g), "trust"] > at.loc[(d, m), "trust"]]
    each = ", ".join(f"{d} {sum(one[0] == d for one in better)} of {len(pairs) // 2}" for d in audit.DATASETS)
    rows.append(("general-purpose models tend to outperform the medical ones", "LExT of most pairs", each, audit.said(all(2 * sum(one[0] == d for one in better) > len(pairs) // 2 for d in audit.DATASETS)), "Table 6; abstract"))  # fmt: skip
    gap = {m: abs(float(at.loc[("Q-Pain", m), "faithfulness"]) - float(at.loc[("PubMedQA", m), "faithfulness"])) for m in (*GENERAL, *MEDICAL)}  # fmt: skip
    listed = ", ".join(f"{m} {v:.3f}" for m, v in gap.items())
    holds = min(gap[m] for m in GENERAL) > max(gap[m] for m in MEDICAL)
    rows.append(("general-purpose models are inconsistent in faithfulness", "more than the medical ones", f"difference of the two data sets: {listed}", audit.said(holds), "Table 6; abstract"))  # fmt: skip
    found = audit.associations(cells).set_index(["first", "second", "dataset"])
    rho = {d: float(found.loc[("faithfulness", "plausibility", d), "rho"]) for d in audit.DATASETS}
    listed = ", ".join(f"{d} rho {v:.2f} [{found.loc[('faithfulness', 'plausibility', d), 'low']:.2f}, {found.loc[('faithfulness', 'plausibility', d), 'high']:.2f}]" for d, v in rho.items())  # fmt: skip
    ends = [
        [float(found.loc[("faithfulness", "plausibility", d), end]) for end in ("low", "high")] for d in audit.DATASETS
    ]
    rows.append(("plausibility and faithfulness are traded off", "one rises as the other falls", f"{listed} over six models", _all_below_0(ends), "Table 6; section 5.3"))  # fmt: skip
    parted = quadrant_lines(cells)
    bad = parted[parted["line"].isna()]
    good = [r for r, own in parted.groupby("reading", sort=False) if own["line"].notna().all()]
    why = "; ".join(f"not on {r.reading} ({r.broken_by}, {r.score})" for r in bad.itertuples())
    rows.append(("the quadrants of Figure 6", "two, two and two models", f"possible for {' and '.join(good) or 'neither'}" + (f"; {why}" if why else ""), "holds" if not len(bad) else "in part" if good else "does not hold", "Table 6; section 5.3"))  # fmt: skip
    return pd.DataFrame(rows, columns=["claim", "printed", "recomputed", "verdict", "where"])


def _all_below_0(ends: Sequence[Sequence[float]]) -> str:
    """The verdict on numbers said to be below 0, from their intervals: 'cannot be told' where one holds both signs or there is none."""
    if all(high < 0 for _, high in ends):
        return "holds"
    return "does not hold" if any(low > 0 for low, _ in ends) else UNTOLD


def findings(cells: pd.DataFrame) -> pd.DataFrame:
    """All that the text says and that its tables can be asked about: `comparisons`, `check_claims` and `audit.examples` below each other."""
    import pandas as pd

    parts = [comparisons(cells), check_claims(comparability.published("lext", "claims"), cells), audit.examples()]
    return pd.concat(parts, ignore_index=True)


def claims_sentence(found: pd.DataFrame) -> str:
    """How many claims hold (from `findings`), in words."""
    return f"Of {len(found)} claims and examples {_verdicts(found)}."


def _verdicts(found: pd.DataFrame) -> str:
    counts = found["verdict"].value_counts()
    words = {"holds": "hold", "in part": "hold in part", "does not hold": "do not hold", UNTOLD: UNTOLD}
    return ", ".join(
        f"{counts.get(kind, 0)} {said}" for kind, said in words.items() if kind != UNTOLD or kind in counts
    )


# -- a run beside them ---------------------------------------------------------------------------------------------------


def printed_metrics(cells: pd.DataFrame, dataset: str = "") -> pd.DataFrame:
    """Tables 6 and 7 for a figure of all metrics: model, dataset, metric, value, whose ('printed')."""
    own = cells[cells["dataset"] == dataset] if dataset else cells
    long = own.melt(["model", "dataset"], [m for m in METRICS if m in own.columns], "metric", "value")
    return long.assign(whose="printed")


def metrics(cells: pd.DataFrame, dataset: str = "", yours: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every metric of the six models and of the run, below each other, for `figures.metric_rows`.

    Parameters
    ----------
    cells : from `audit.printed_cells`.
    dataset : 'Q-Pain' or 'PubMedQA'; empty: both.
    yours : from `own_scores`.
    """
    import pandas as pd

    printed = printed_metrics(cells, dataset)
    if yours is None:
        return printed
    return pd.concat([printed, of_dataset(yours, dataset)], ignore_index=True)


def beside(
    cells: pd.DataFrame, yours: pd.DataFrame | None = None, metrics: Sequence[str] = (*audit.COMPONENTS, *SCORES)
) -> pd.DataFrame:
    """Tables 6 and 7 (those of their `metrics`) with as many decimals as printed, and the run's rows below them, by the form of its items.

    Returns
    -------
    DataFrame : items, model, then the scores as text ('' where undefined), named as the paper names them.
    """
    import pandas as pd

    rows = [(r["dataset"], r["model"], r) for r in cells.to_dict("records")]
    if yours is not None:
        for (dataset, model), own in yours.groupby(["dataset", "model"], sort=False):
            form = f"yours, {dataset} form" if dataset else "yours, all"
            rows.append((form, model, own.drop_duplicates("metric").set_index("metric")["value"].to_dict()))
    places = {metric: audit.DECIMALS["table6" if metric in SCORES else "table7"] for metric in metrics}
    made = [
        {"items": items, "model": model}
        | {_named(m): "" if pd.isna(at.get(m)) else f"{float(at[m]):.{places[m]}f}" for m in metrics}
        for items, model, at in rows
    ]
    return pd.DataFrame(made)


def _named(metric: str) -> str:
    """A metric in as few words as a heading has room for."""
    return NAMES.get(metric, metric).removesuffix(" stability").removesuffix(" faithfulness")


def metrics_caption(yours: pd.DataFrame | None) -> str:
    """What the figure of all metrics shows."""
    text = "Tables 6 and 7: every metric of the six models on both data sets."
    own = [] if yours is None else [d for d in yours["dataset"].unique() if d]
    whole = yours is not None and (yours["dataset"] == "").any()
    if len(own) > 1 and whole:
        return f"{text} The run's numbers are over all its items, in the forms of {' and '.join(own)}."
    return text


def of_dataset(yours: pd.DataFrame, dataset: str = "") -> pd.DataFrame:
    """The run's scores of items in the form of a data set; of all items where it does not tell forms apart, or `dataset` is empty."""
    own, whole = (yours[yours["dataset"] == name] for name in (dataset, ""))
    return own if dataset and len(own) else whole if len(whole) else yours if not dataset else yours[:0]


def served(run: Workspace) -> dict[str, str]:
    """Who answered as subject and as larger model, by the names that the replies carry; by the parameters where there are no replies ('': the larger
    model is the subject). `recorded` replies name the model that gave them."""
    from factlab.studies.lext import records, trust

    given = run.parameters()
    subject = str(given.get("subject") or given.get("model") or "")
    found = {"subject": subject, "larger": str(given.get("larger") or subject)}
    if any(run.has(name) for name in ("calls_explain", "calls_plausibility", "calls_faithfulness")):
        calls = records.calls_of(run)
        found |= {role: name for role in found if (name := trust.who(calls, role)) != "nobody"}
    return found


def own_scores(run: Workspace, label: str = "") -> pd.DataFrame | None:
    """The run's estimates, one row a metric (and form of the items, where the run tells them apart).

    Parameters
    ----------
    run : in whose folder 50_trust has written `trust_estimates`; its `items`, where it has them, tell the form of the items.
    label : what to call the model; empty: as `served` names the subject.

    Returns
    -------
    DataFrame or None : model, dataset ('Q-Pain' or 'PubMedQA' by the form of the items, '' for all of them), metric, value, low, high (missing
    where undefined), n, left_out, reason, whose ('yours'); None where there is no such table or nothing in it.
    """
    import pandas as pd

    if not run.has("trust_estimates"):
        return None
    table = run.read("trust_estimates")
    table = table[table["metric"].isin(METRICS)].reset_index(drop=True)
    if not len(table):
        return None
    name = label or served(run)["subject"] or "your run"
    named = table["data"].astype(str) if "data" in table else pd.Series("all", index=table.index)
    forms = named.map(lambda data: next((d for d in audit.DATASETS if data.startswith(d)), _only_form(run)))
    kept = ["metric", "value", "low", "high", "n", "left_out", "reason"]
    wanted = table.reindex(columns=kept)
    wanted["reason"] = wanted["reason"].fillna("").astype(str)
    table = pd.concat([pd.DataFrame({"model": name, "dataset": forms}, index=wanted.index), wanted], axis=1)
    return table.assign(whose="yours")


def _only_form(run: Workspace) -> str:
    """The data set in whose form all items of the run are; '' where there are both, or it has no record of them."""
    forms = run.read("items")["form"].unique().tolist() if run.has("items") else []
    return FORMS.get(str(forms[0]), "") if len(forms) == 1 else ""


def own_settings(run: Workspace, same_prompts: bool = False, same_items: bool = False) -> dict[str, Any]:
    """What the run did, by the aspects of `published/lext/settings.csv`; empty where it has no record of its parameters.

    Parameters
    ----------
    same_prompts : whether the prompts were those of appendix B, which no record tells.
    same_items : whether the items of `data` are the authors' own, which no record tells either.
    """
    given = run.parameters()
    if not given:
        return {}
    names = served(run)
    subject = names["subject"]
    printed = [name.casefold() for name in comparability.published("lext", "table5")["model"]]
    among = subject.split("/")[-1].casefold() in printed
    found: dict[str, Any] = {
        "subject": "one of the six of Table 5" if among else subject or None,
        "items": "Q-Pain or PubMedQA" if same_items else given.get("data") or "the sample items",
        "prompts": "as printed in appendix B" if same_prompts else "our own words",
    }
    found |= {name: given[name] for name in ("embedder", "tagger", *_SETTINGS) if name in given}
    found["larger"] = names["larger"]
    return {aspect: value for aspect, value in found.items() if value != ""}


def summary(yours: pd.DataFrame | None, verdict: str, counts: pd.DataFrame, found: pd.DataFrame) -> str:
    """The result in one line.

    Parameters
    ----------
    counts : from `audit.counted`.
    found : from `findings`.
    """
    at = counts.set_index("rule")
    text = (
        f"Of 12 cells of Table 6 LExT follows in {at['follow'][audit.HARMONIC]}, plausibility in {at['follow'][audit.PLAUSIBLE]}, faithfulness "
        f"as defined in {at['follow'][audit.THREE]} (without QAG {at['follow'][audit.TWO]}); of {len(found)} claims and examples "
        f"{_verdicts(found)}"
    )
    return text + ("" if yours is None else f". {verdict.split(':')[0].split(';')[0].rstrip('.')}") + "."


def spread_sentence(cells: pd.DataFrame) -> str:
    """How much of a score the metrics that tell models apart least and most can move (from `audit.spread`), in words."""
    parts = []
    for dataset, own in audit.spread(cells).groupby("dataset", sort=False):
        least, most = own.loc[own["reaches"].idxmin()], own.loc[own["reaches"].idxmax()]
        parts.append(f"on {dataset} {NAMES.get(least['metric'], least['metric'])} moves its score by at most {least['reaches']:.3f}, {NAMES.get(most['metric'], most['metric'])} by {most['reaches']:.3f}")  # fmt: skip
    return f"Among the six models {'; '.join(parts)}."


def warnings(yours: pd.DataFrame | None, verdict: str, counts: pd.DataFrame, cells: pd.DataFrame) -> list[str]:
    """What a reader should distrust.

    Parameters
    ----------
    counts : from `audit.counted`.
    cells : from `audit.printed_cells`.
    """
    at, apart = counts.set_index("rule"), audit.spread(cells)
    wide = apart[apart["metric"] == "consistency"]["reaches"].max()
    other = apart[apart["metric"] == "correctness"]["reaches"].min()
    notes = [
        f"The printed faithfulness is the mean of three metrics in {at['follow'][audit.THREE]} of {at['of'][audit.THREE]} cells and leaves QAG out "
        f"in {at['follow'][audit.TWO]}: scores under the variant 'paper' are not on one scale with Table 6; the variant 'tables' is.",
        f"Consistency hardly tells the models apart: it moves plausibility by at most {wide:.3f}, correctness by {other:.3f} and more.",
        "The tables are printed without intervals, for six models each, and the number of items is not in the text. "
        + audit.sizes_sentence(audit.sizes(cells)),
        "Section 3.2.3 removes one keyword at a time, appendix B.5 and Table 11 restore one; which of the two made Table 7 cannot be told.",
        "A claim that does not hold is one that the printed tables do not bear out under the reading shown; the text may mean another.",
    ]
    return ([verdict] if yours is not None else []) + notes
