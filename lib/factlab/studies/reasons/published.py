"""REASONS' printed numbers (90_published): tables, what the text says about them, and a run beside them.

`published/reasons` (Tables 3 to 9, claims of the text) and the folder of a run go in; tables and sentences come out. Whether the printed
numbers agree with each other is worked out in `audit`. Rates are in percent as printed, and in 0..1 where a figure draws them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import comparability
from factlab.studies.reasons import audit, definitions

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

SCORES_STEP = "20_query"
MODES = {
    6: "indirect",
    7: "direct_metadata",
    8: "direct",
    9: "sid",
}  # of 20_query, by the table that prints its numbers
TITLES = {6: "zero-shot indirect", 7: "direct with metadata", 8: "zero-shot direct", 9: "SID"}
FIGURES = {3: 8, 4: 7, 5: 6, 6: 9}  # which table a figure averages
_SETTINGS = ("metadata", "escalate", "pass_policy", "variant", "temperature", "max_tokens", "top_p")


def printed_cells() -> pd.DataFrame:
    """Tables 6 to 9 below each other: table, domain, model, hr, f1, bleu, pp, note; without the rows Mean and SD."""
    import pandas as pd

    tables = [comparability.published("reasons", f"table{t}").assign(table=t) for t in MODES]
    cells = pd.concat(tables, ignore_index=True)
    return cells[["table", "domain", "model", *audit.METRICS, "note"]]


def as_shares(table: pd.DataFrame) -> pd.DataFrame:
    """The same table with hallucination rate and pass percentage as shares in 0..1, for figures."""
    return table.assign(hr=table["hr"].astype("Float64") / 100, pp=table["pp"].astype("Float64") / 100)


def averages(means: pd.DataFrame, table: int, yours: pd.DataFrame | None = None) -> pd.DataFrame:
    """What Figures 3 to 6 show: the Mean row of a table, and the run's own below it.

    Parameters
    ----------
    means : `published/reasons/means.csv`.
    table : 6 to 9.
    yours : from `own_scores`.

    Returns
    -------
    DataFrame : model, hr, f1, bleu, pp (0..1), whose ('' or 'yours'), and of the run its intervals.
    """
    import pandas as pd

    own = means[(means["table"] == table) & (means["statistic"] == "Mean")]
    printed = as_shares(own)[["model", *audit.METRICS]].assign(whose="")
    if yours is None or not len(mine := yours[yours["mode"] == MODES[table]]):
        return printed.reset_index(drop=True)
    return pd.concat([printed, mine.drop(columns="mode").assign(whose="yours")], ignore_index=True)


def by_domain(cells: pd.DataFrame, means: pd.DataFrame, table: int) -> pd.DataFrame:
    """One of Tables 6 to 9 for a heatmap: domain (Mean and SD among them), model, hr, f1, bleu, pp in 0..1.

    Raises
    ------
    ValueError : there is no such table.
    """
    import pandas as pd

    if table not in MODES:
        raise ValueError(f"table is {table!r}; those by domain are {', '.join(map(str, MODES))}")
    rows = means[means["table"] == table].rename(columns={"statistic": "domain"})
    whole = pd.concat([cells[cells["table"] == table], rows], ignore_index=True)
    return as_shares(whole)[["domain", "model", *audit.METRICS]]


def swapped() -> pd.DataFrame:
    """Table 3 for a figure: model, changed ('title' or 'abstract'), row (both in words), hr, f1, bleu, pp in 0..1."""
    table = as_shares(comparability.published("reasons", "table3"))
    return table.assign(row=table["model"] + ", " + table["changed"] + "s")[["model", "changed", "row", *audit.METRICS]]


# -- what the text says --------------------------------------------------------------------------------------------------


def check_claims(claims: pd.DataFrame, cells: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """What the text says about cells and Mean rows, against them.

    Parameters
    ----------
    claims : `published/reasons/claims.csv`.
    cells, means : Tables 6 to 9.

    Returns
    -------
    DataFrame : claim, printed, recomputed (what the table has), verdict ('holds', 'does not hold'), where (table and section).

    Notes
    -----
    A number holds where the table's, rounded or cut off, gives it; 'about' and 'from … to', which
    the text writes with ~, within a tenth of it (percent: 'about' within 1); 'lowest' and 'highest' where no other
    domain, or model, is below or above, and a tie is said.
    """
    import pandas as pd

    whole = pd.concat([cells, means.rename(columns={"statistic": "domain"})], ignore_index=True)
    found = []
    for claim in claims.itertuples():
        at = whole[(whole["table"] == claim.table) & (whole["domain"] == claim.domain)].set_index("model")
        values = {model: float(at.loc[model, claim.metric]) for model in claim.model.split()}
        if claim.relation in ("lowest", "highest"):
            said, holds = _extreme(claim, whole, values)
        else:
            said = ", ".join(f"{model} {value:g}" for model, value in values.items())
            holds = all(_relation(claim, value) for value in values.values())
            said += "" if holds else _elsewhere(claim, whole, values)
        what = f"{claim.model}: {claim.claim}" + ("" if claim.domain == "Mean" else f" ({claim.domain})")
        printed = "" if pd.isna(claim.printed) else f"{claim.relation.removeprefix('is')} {claim.printed:.{int(claim.decimals)}f}".strip()  # fmt: skip
        verdict = "holds" if holds else "does not hold"
        found.append((what, printed or claim.relation, said, verdict, f"Table {claim.table}; {claim.source}"))
    return pd.DataFrame(found, columns=["claim", "printed", "recomputed", "verdict", "where"])


def _relation(claim: Any, value: float) -> bool:
    printed = float(claim.printed)
    if claim.relation == "is":
        return _is(value, printed, int(claim.decimals))
    if claim.relation.startswith("from"):
        return 0.9 * float(claim.relation.split()[1]) <= value <= 1.1 * printed
    return {
        "about": abs(value - printed) <= (0.1 * printed if printed <= 1 else 1.0),
        "above": value > printed,
        "below": value < printed,
        "at most": value <= printed,
    }[claim.relation]


def _is(value: float, printed: float, digits: int) -> bool:
    step = 10.0**-digits
    return abs(value - printed) <= step / 2 + 1e-9 or -1e-9 <= value - printed < step - 1e-9


def _extreme(claim: Any, whole: pd.DataFrame, values: dict[str, float]) -> tuple[str, bool]:
    """What is lowest or highest among domains or models."""
    ((model, value),) = values.items()
    own = whole[whole["table"] == claim.table]
    if claim.over == "domains":
        pool = own[(own["model"] == model) & ~own["domain"].isin(["Mean", "SD"])].set_index("domain")[claim.metric]
    else:
        pool = own[own["domain"] == claim.domain].set_index("model")[claim.metric]
    pool = pool.astype(float)
    end = pool.min() if claim.relation == "lowest" else pool.max()
    at = pool.index[pool == end].tolist()
    name = claim.domain if claim.over == "domains" else model
    tie = len(at) > 1 and name in at
    return f"{name} {value:g}, {claim.relation} {', '.join(at)} {end:g}" + (" (a tie)" if tie else ""), value == end


def _elsewhere(claim: Any, whole: pd.DataFrame, values: dict[str, float]) -> str:
    """Where else the printed number stands for the same model and domain."""
    if claim.relation != "is" or len(values) != 1:
        return ""
    same = whole[(whole["model"] == claim.model) & (whole["domain"] == claim.domain) & (whole["table"] != claim.table)]
    at = [f"Table {r.table}" for r in same.itertuples() if _is(float(getattr(r, claim.metric)), float(claim.printed), int(claim.decimals))]  # fmt: skip
    return f"; it stands in {', '.join(at)}" if at else ""


def check_domains(claims: pd.DataFrame, cells: pd.DataFrame, rank: int = 4) -> pd.DataFrame:
    """Appendix B's domains of high and low rates: for how many of the models it names each is among the `rank` highest or lowest.

    Parameters
    ----------
    claims : `published/reasons/domain_claims.csv`.
    rank : a third of twelve; the text does not say what high and low mean. Of equal rates all count.

    Returns
    -------
    DataFrame : claim, printed (the models named), recomputed (rank of the domain for each), verdict, where.
    """
    import pandas as pd

    rows = []
    for claim in claims.itertuples():
        ranks = {}
        for model in claim.models.split():
            own = cells[(cells["table"] == claim.table) & (cells["model"] == model)].set_index("domain")["hr"]
            order = own.astype(float).rank(method="min", ascending=claim.side == "low")
            ranks[model] = int(order[claim.domain])
        inside = sum(r <= rank for r in ranks.values())
        verdict = "holds" if inside == len(ranks) else "does not hold"
        said = f"{inside} of {len(ranks)}: " + ", ".join(f"{model} {r}" for model, r in ranks.items())
        what = f"{claim.domain} is {claim.side} ({TITLES[claim.table]})"
        rows.append((what, claim.models, said, verdict, f"Table {claim.table}; Appendix B"))
    return pd.DataFrame(rows, columns=["claim", "printed", "recomputed", "verdict", "where"])


def findings(cells: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """All that the text says and that its tables can be asked about: `check_claims`, `check_domains` and `comparisons` below each other."""
    import pandas as pd

    read = {name: comparability.published("reasons", name) for name in ("claims", "domain_claims", "table5")}
    parts = [
        comparisons(cells, means, audit.size_effect(cells, read["table5"])),
        check_claims(read["claims"], cells, means),
        check_domains(read["domain_claims"], cells),
    ]
    return pd.concat(parts, ignore_index=True)


def claims_sentence(found: pd.DataFrame) -> str:
    """How many claims hold (from `findings`), in words."""
    counts = found["verdict"].value_counts()
    shown = [f"{counts.get(kind, 0)} {words}" for kind, words in (("holds", "hold"), ("in part", "hold in part"), ("does not hold", "do not hold"))]  # fmt: skip
    return f"Of {len(found)} claims of the text {', '.join(shown)}."


def comparisons(cells: pd.DataFrame, means: pd.DataFrame, effect: pd.DataFrame) -> pd.DataFrame:
    """Claims that compare tables, models or domains, each under every reading that comes to mind.

    Parameters
    ----------
    cells, means : Tables 6 to 9.
    effect : from `audit.size_effect`.

    Returns
    -------
    DataFrame : claim, printed, recomputed, verdict ('holds', 'does not hold', 'in part'), where.
    """
    import pandas as pd

    mean = means[means["statistic"] == "Mean"].set_index(["table", "model"])
    rate = mean["hr"].astype(float)
    rows = [_reduction(rate)]
    rows += [_improvement(cells, domain, printed) for domain, printed in (("QC", 57.8), ("CV", 37.4))]
    rows += [_a_third_higher(mean, metric) for metric in ("f1", "bleu")]
    models = list(dict.fromkeys(cells["model"]))
    worse = [m for m in models if rate[7, m] >= rate[8, m]]
    listed = ", ".join(f"{m} {rate[8, m]:g} to {rate[7, m]:g}" for m in worse)
    rows.append(("metadata lower the rate of every model but D", "all but D", f"risen: {listed}", _verdict(worse == ["D"]), "Tables 7 and 8; section 6"))  # fmt: skip
    lower = [m for m in models if (6, m) in rate.index and rate[6, m] <= rate[8, m]]
    listed = ", ".join(f"{m} {rate[8, m]:g} to {rate[6, m]:g}" for m in lower)
    rows.append(("the indirect query has a higher rate in every model", "all", f"not higher: {listed or 'none'}", _verdict(not lower), "Tables 6 and 8; section 6"))  # fmt: skip
    worse = swapped().pivot(index="model", columns="changed", values="hr")
    better = worse.index[worse["abstract"] <= worse["title"]].tolist()
    rows.append(("swapped abstracts do more harm than swapped titles", "generally", f"higher rate in {len(worse) - len(better)} of {len(worse)}; not in {', '.join(better)}", "holds" if not better else "in part", "Table 3; section 7"))  # fmt: skip
    passes = comparability.published("reasons", "table3")["pp"].astype(float)
    shares = {n: sum(audit.is_share(p, n) for p in passes) for n in (200, audit.SWAPPED)}
    rows.append(("sentences with swapped metadata", "200", "pass percentages that are k of n: " + ", ".join(f"{k} of {len(passes)} with n = {n}" for n, k in shares.items()), _verdict(shares[200] == len(passes)), "Table 3; section 7"))  # fmt: skip
    times = comparability.published("reasons", "table5")
    sizes = audit.sizes(cells, means).dropna(subset=["sentences"]).set_index("domain")["sentences"]
    spent = times[times["model"] == "OpenAI"].set_index("domain")["seconds"].astype(float).rank()
    listed = ", ".join(f"{name} {n}" for name, n in sizes.sort_values().items())
    said = f"sentences by the pass percentages: {listed}; by time with OpenAI's models QC is {_ordinal(int(spent['QC']))} of {len(spent)}"
    rows.append(("QC is the smallest domain", "smallest", said, _verdict(sizes.idxmin() == "QC" and spent["QC"] == 1), "Tables 5, 6, 8, 9; section 6"))  # fmt: skip
    trained = times.pivot(index="domain", columns="model", values="seconds")
    slower = trained.index[trained["AdvRAG(L)"] >= trained["AdvRAG(M)"]].tolist()
    rows.append(("advanced retrieval takes Llama less time than Mistral", "less", f"less in {len(trained) - len(slower)} of {len(trained)} domains; not in {', '.join(slower)}", "in part" if slower else "holds", "Table 5; Appendix A.6"))  # fmt: skip
    strength = effect.assign(size=effect["rho"].astype(float).abs()).groupby("table")["size"].mean()
    listed = ", ".join(f"{TITLES[t]} {v:.2f}" for t, v in strength.items())
    rows.append(("size matters less for SID than for direct and indirect queries", "less", f"mean size of the rank correlation with time: {listed}", _verdict(strength[9] < min(strength[6], strength[8])), "Tables 5, 6, 8, 9; section 6"))  # fmt: skip
    costs = comparability.published("reasons", "costs").set_index("what")["usd"].astype(float)
    parts = costs.drop("in total").sum()
    rows.append(("cost of the research", f"{costs['in total']:.2f}", f"{parts:.2f}", _verdict(abs(parts - costs["in total"]) < 0.005), "Appendix A.2"))  # fmt: skip
    return pd.DataFrame(rows, columns=["claim", "printed", "recomputed", "verdict", "where"])


def _ordinal(k: int) -> str:
    return f"{k}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(k, 'th') }"


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _reduction(rate: pd.Series) -> tuple[str, ...]:
    """Abstract: retrieval with Mistral lowers the rate of indirect queries by 42 %."""
    steps = [(t, m) for m in ("RM", "AdvRAG(M)") for t in MODES if (t, m) in rate.index]
    found = {f"{m}, {TITLES[t]}": 100 * (1 - rate[t, m] / rate[t, "M"]) for t, m in steps}
    said = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
    indirect = [v for name, v in found.items() if name.endswith((TITLES[6], TITLES[9]))]
    holds = any(round(v) == 42 for v in indirect)
    return ("retrieval lowers Mistral's rate in indirect queries", "42 %", f"percent, against M: {said}", _verdict(holds), "Mean rows; abstract")  # fmt: skip


def _improvement(cells: pd.DataFrame, domain: str, printed: float) -> tuple[str, ...]:
    """Section 6: what metadata improve on average in a domain."""
    own = cells[cells["domain"] == domain].pivot(index="model", columns="table", values="hr").astype(float)
    without, given = own[8].to_numpy(), own[7].to_numpy()
    readings = {
        "mean difference, points": np.mean(without - given),
        "mean relative fall, %": 100 * np.mean(1 - given / without),
        "fall of the mean, %": 100 * (1 - given.mean() / without.mean()),
    }
    said = ", ".join(f"{name} {value:.1f}" for name, value in readings.items())
    holds = any(round(v, 1) == printed for v in readings.values())
    return (f"metadata improve {domain} on average", f"{printed} %", said, _verdict(holds), "Tables 7 and 8, all models; section 6")  # fmt: skip


def _a_third_higher(mean: pd.DataFrame, metric: str) -> tuple[str, ...]:
    own = mean.loc[8][metric].astype(float)
    base = own[["G1", "G2", "G3"]]
    gain = 100 * (own["AdvRAG(L)"] / base.mean() - 1)
    each = ", ".join(f"{m} {100 * (own['AdvRAG(L)'] / own[m] - 1):+.0f} %" for m in ["G1", "G2", "G3", "AdvRAG(M)"])
    return (
        f"AdvRAG(L) has about 30 % higher {audit.NAMES[metric]} than G1 to G3",
        "about 30 %",
        f"{gain:+.0f} % against their mean; {each}",
        "in part" if abs(gain - 30) <= 3 else "does not hold",
        "Table 8; section 6",
    )


# -- a run beside them ---------------------------------------------------------------------------------------------------


def own_scores(run: Workspace, label: str = "") -> pd.DataFrame | None:
    """The run's averages over domains, one row a mode that Tables 6 to 9 have.

    Parameters
    ----------
    run : in whose folder 20_query has written `scores_by_domain`.
    label : what to call the model; empty: `subject` or `model` among the run's parameters.

    Returns
    -------
    DataFrame or None : mode, model, hr, f1, bleu, pp (0..1, missing where undefined) and what else `attribution.score` tells; None where
    there is no such table or nothing of these modes in it.
    """
    if not run.has("scores_by_domain"):
        return None
    table = run.read("scores_by_domain")
    own = table[(table["domain"] == "Mean") & table["mode"].isin(list(MODES.values()))]
    given = run.parameters()
    name = label or given.get("subject") or given.get("model") or "your run"
    return own.drop(columns="domain").assign(model=name).reset_index(drop=True) if len(own) else None


def own_settings(run: Workspace, same_prompts: bool = False) -> dict[str, Any]:
    """What the run did, by the aspects of `published/reasons/settings.csv`; empty where it has no record of its parameters.

    Parameters
    ----------
    same_prompts : whether the prompts were the printed ones, which no record tells.
    """
    given = run.parameters()
    if not given:
        return {}
    model = str(given.get("subject") or given.get("model") or "")
    names = comparability.published("reasons", "models")["name"]
    among = any(model.split("/")[-1].casefold() == name.casefold() for name in names)
    found: dict[str, Any] = {
        "model": "one of the eleven of Figure 3" if among else model or None,
        "sentences": given.get("citations") or given.get("records") or "the sample sentences",
        "prompts": "as printed in sections 3 and 4" if same_prompts else "our own words",
    }
    return found | {name: given[name] for name in _SETTINGS if name in given}


def summary(yours: pd.DataFrame | None, verdict: str, found: pd.DataFrame, off: pd.DataFrame) -> str:
    """The result in one line.

    Parameters
    ----------
    found : from `findings`.
    off : from `audit.unfollowed`.
    """
    wrong = int((found["verdict"] != "holds").sum())
    said = f"{wrong} of {len(found)} claims of the text do not hold, or in part only; {len(off)} columns of Tables 6 to 9 have a Mean or Standard Deviation that does not follow"  # fmt: skip
    return said + ("" if yours is None else f". {verdict.split(':')[0].split(';')[0].rstrip('.')}") + "."


def warnings(yours: pd.DataFrame | None, verdict: str, ranges: pd.DataFrame) -> list[str]:
    """What a reader should distrust.

    Parameters
    ----------
    ranges : from `definitions.compatible`, of Tables 6 to 9.
    """
    never = int((~ranges[definitions.VARIANTS[0]]).sum())
    notes = [
        f"{never} of {len(ranges)} cells of Tables 6 to 9 cannot come from the text's formula of the hallucination rate, and the released code "
        "computes another rate: scores under the variant 'paper' are not on one scale with them.",
        "The tables are printed without intervals, and the number of sentences of a domain is not in the text.",
        "A claim that does not hold is one that the printed tables do not bear out under the readings shown; the text may mean another.",
    ]
    return ([verdict] if yours is not None else []) + notes
