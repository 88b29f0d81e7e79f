"""Do LExT's printed numbers follow from each other? (90_published)

Tables 1 to 14, as `published/lext` holds them, go in; tables of what follows and what does not come out. Scores are in 0..1. What the
text says about the tables is checked in `published`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab import comparability, explanation

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("Q-Pain", "PubMedQA")
DECIMALS = {"table6": 4, "table7": 3}  # final zeros are lost where a table is read as numbers: 0.21 is 0.2100
COMPONENTS = ("correctness", "consistency", "qag", "counterfactual", "contextual")
# Rule: what it makes, from which numbers, where the paper says so ("" where it does not)
RULES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "LExT = 2PF / (P + F)": ("trust", ("plausibility", "faithfulness"), "equation 15"),
    "P = mean of correctness and consistency": ("plausibility", ("correctness", "consistency"), "section 3.3"),
    "F = mean of QAG, counterfactual and contextual": (
        "faithfulness",
        ("qag", "counterfactual", "contextual"),
        "section 3.3",
    ),
    "F = mean of counterfactual and contextual": ("faithfulness", ("counterfactual", "contextual"), ""),
    "F = mean of QAG and counterfactual": ("faithfulness", ("qag", "counterfactual"), ""),
    "F = mean of QAG and contextual": ("faithfulness", ("qag", "contextual"), ""),
}
HARMONIC, PLAUSIBLE, THREE, TWO = list(RULES)[:4]
_EPS = 1e-9


def printed_cells() -> pd.DataFrame:
    """Tables 6 and 7 side by side: dataset, model, plausibility, faithfulness, trust and the five components."""
    read = [comparability.published("lext", name) for name in ("table6", "table7")]
    return read[0].merge(read[1], on=["dataset", "model"], how="inner", validate="1:1")


def derived(cells: pd.DataFrame) -> pd.DataFrame:
    """Every score of Table 6 made again from what it is said to be made from.

    Parameters
    ----------
    cells : from `printed_cells`.

    Returns
    -------
    DataFrame, one row a rule, data set and model : rule, source, dataset, model, printed, recomputed, difference (printed less recomputed),
    tolerance, follows.

    Notes
    -----
    The tolerance is what rounding can do: half a last digit of the printed score, and of each number that goes in times how much the score
    changes with it.
    """
    import pandas as pd

    rows = []
    for rule, (made, parts, source) in RULES.items():
        of = "table6" if made == "trust" else "table7"
        half = 0.5 * 10.0 ** -DECIMALS[of]
        for cell in cells.to_dict("records"):
            given = [float(cell[part]) for part in parts]
            if made == "trust":
                value, slope = explanation.trust(*given), 2 * (given[0] ** 2 + given[1] ** 2) / sum(given) ** 2
            else:
                value, slope = float(np.mean(given)), 1.0
            allowed = 0.5 * 10.0 ** -DECIMALS["table6"] + slope * half
            off = float(cell[made]) - value
            rows.append((rule, source, cell["dataset"], cell["model"], float(cell[made]), value, off, allowed, abs(off) <= allowed + _EPS))  # fmt: skip
    columns = ["rule", "source", "dataset", "model", "printed", "recomputed", "difference", "tolerance", "follows"]
    return pd.DataFrame(rows, columns=columns)


def counted(found: pd.DataFrame) -> pd.DataFrame:
    """How many cells follow each rule (from `derived`): rule, source, follow, of, largest (difference, either way), others (which do not)."""
    import pandas as pd

    rows = []
    for rule, own in found.groupby("rule", sort=False):
        off = own[~own["follows"]]
        listed = ", ".join(
            f"{r.model} on {r.dataset} ({r.printed:g}, not {r.recomputed:.4f})" for r in off.itertuples()
        )
        few = listed if len(off) <= 4 else f"{len(off)} cells"
        rows.append((rule, own["source"].iloc[0], int(own["follows"].sum()), len(own), float(own["difference"].abs().max()), few))  # fmt: skip
    return pd.DataFrame(rows, columns=["rule", "source", "follow", "of", "largest", "others"])


def derived_sentence(counts: pd.DataFrame) -> str:
    """What `counted` found, in words."""
    at = counts.set_index("rule")
    of = int(counts["of"].iloc[0])
    return (
        f"LExT follows from the printed plausibility and faithfulness in {at['follow'][HARMONIC]} of {of} cells of Table 6, plausibility from "
        f"Table 7 in {at['follow'][PLAUSIBLE]}. Faithfulness as section 3.3 defines it, the mean of three metrics, gives "
        f"{at['follow'][THREE] or 'none'} of them; without QAG it gives {at['follow'][TWO]}."
    )


def rebuilt(cells: pd.DataFrame) -> pd.DataFrame:
    """Table 6 as the text would have it from Table 7, plausibility made anew and faithfulness with QAG, and who then leads.

    Returns
    -------
    DataFrame : dataset, model, printed_trust, printed_rank, plausibility, faithfulness, trust (made from Table 7 by section 3.3), rank, moved
    (how many places up). Ranks are within a data set, 1 the highest.
    """
    import pandas as pd

    rows = []
    for cell in cells.to_dict("records"):
        p = explanation.plausibility(float(cell["correctness"]), float(cell["consistency"]))
        f = explanation.faithfulness(*(float(cell[part]) for part in ("qag", "counterfactual", "contextual")))
        rows.append((cell["dataset"], cell["model"], float(cell["trust"]), p, f, explanation.trust(p, f)))
    table = pd.DataFrame(rows, columns=["dataset", "model", "printed_trust", "plausibility", "faithfulness", "trust"])
    for new, column in (("printed_rank", "printed_trust"), ("rank", "trust")):
        table[new] = table.groupby("dataset")[column].rank(ascending=False, method="min").astype(int)
    table["moved"] = table["printed_rank"] - table["rank"]
    return table[["dataset", "model", "printed_trust", "printed_rank", "plausibility", "faithfulness", "trust", "rank", "moved"]]  # fmt: skip


def rebuilt_sentence(table: pd.DataFrame) -> str:
    """Who changes places when both scores are made as the text says (from `rebuilt`), in words."""
    parts = []
    for dataset, own in table.groupby("dataset", sort=False):
        moved = own[own["moved"] != 0].sort_values("rank")
        listed = ", ".join(f"{r.model} from {r.printed_rank} to {r.rank}" for r in moved.itertuples())
        parts.append(f"on {dataset} {listed or 'nobody changes places'}")
    return f"With plausibility and faithfulness made from Table 7 by section 3.3, ranks by LExT change: {'; '.join(parts)}."


# -- what goes with what -------------------------------------------------------------------------------------------------

PAIRS = (
    ("faithfulness", "plausibility"),
    ("trust", "faithfulness"),
    ("trust", "plausibility"),
    ("plausibility", "correctness"),
    ("plausibility", "consistency"),
)


def associations(cells: pd.DataFrame) -> pd.DataFrame:
    """Rank correlations over the six models of what the text calls related, and of what makes up a score.

    Returns
    -------
    DataFrame : dataset, first, second, rho (Spearman), low, high, n, reason. Six models are described, not tested.
    """
    import pandas as pd

    from factlab import stats

    rows = []
    for dataset, own in cells.groupby("dataset", sort=False):
        for first, second in PAIRS:
            pair = (own[name].astype(float).to_numpy() for name in (first, second))
            found = stats.correlation(*pair).set_index("coefficient").loc["spearman"]
            rows.append((dataset, first, second, *(found[k] for k in ("value", "low", "high", "n", "reason"))))
    return pd.DataFrame(rows, columns=["dataset", "first", "second", "rho", "low", "high", "n", "reason"])


def spread(cells: pd.DataFrame) -> pd.DataFrame:
    """How far the models lie apart in each component, and how much of it reaches the score that it enters: a half, or a third.

    Returns
    -------
    DataFrame : dataset, metric, lowest, highest, range, reaches (range in P or F, by section 3.3).
    """
    import pandas as pd

    rows = []
    for dataset, own in cells.groupby("dataset", sort=False):
        for metric in COMPONENTS:
            values = own[metric].astype(float)
            share = 2 if metric in ("correctness", "consistency") else 3
            wide = float(values.max() - values.min())
            rows.append((dataset, metric, float(values.min()), float(values.max()), wide, wide / share))
    return pd.DataFrame(rows, columns=["dataset", "metric", "lowest", "highest", "range", "reaches"])


# -- counts --------------------------------------------------------------------------------------------------------------


def is_share(value: float, n: int, decimals: int) -> bool:
    """Whether a number, rounded to so many decimals, is k / n for a whole k."""
    return abs(round(value * n) / n - value) <= 0.5 * 10.0**-decimals + _EPS


def sizes(cells: pd.DataFrame, most: int = 1000) -> pd.DataFrame:
    """How many items stand behind a data set: the smallest number of which all of Table 7's counterfactual and contextual scores can be means.

    Returns
    -------
    DataFrame : dataset, items (missing where none fits up to `most`), expected (the number at which one fits by accident, about).

    Notes
    -----
    Supposes that all models have scores for the same n items: counterfactual scores of 0, ½ or 1 make k / 2n, contextual ones of fifths make
    k / 5n. A number that is not below the expected one tells nothing.
    """
    import pandas as pd

    step = 10.0 ** -DECIMALS["table7"]
    rows = []
    for dataset, own in cells.groupby("dataset", sort=False):
        known = [
            (float(v), k) for metric, k in (("counterfactual", 2), ("contextual", 5)) for v in own[metric] if v > 0
        ]
        fits = next((n for n in range(1, most + 1) if all(is_share(v, k * n, DECIMALS["table7"]) for v, k in known)), None)  # fmt: skip
        chance = np.cumsum([np.prod([min(1.0, k * n * step) for _, k in known]) for n in range(1, most + 1)])
        by_accident = int(np.searchsorted(chance, 1.0)) + 1 if chance[-1] >= 1 else None
        rows.append((dataset, fits, by_accident))
    return pd.DataFrame(rows, columns=["dataset", "items", "expected"]).astype({"items": "Int64", "expected": "Int64"})


def sizes_sentence(found: pd.DataFrame) -> str:
    """What `sizes` found, in words."""
    import pandas as pd

    parts = []
    for row in found.to_dict("records"):
        n, accident = (None if pd.isna(row[k]) else int(row[k]) for k in ("items", "expected"))
        told = n is not None and accident is not None and 2 * n < accident
        fits = "no number fits" if n is None else f"{n} is the first that fits"
        near = f"{row['dataset']}: {fits}, about {accident} would by accident"
        parts.append(near if told else f"{near}, so that it cannot be told")
    return f"Read from the scores, as shares of whole numbers of items, {'; '.join(parts)}."


def mean_of(value: float, decimals: int, of: int = 3, most: int = 60) -> int | None:
    """The smallest number of values with `of` decimals of which a printed number can be the mean; None where there is none up to `most`."""
    return next((n for n in range(1, most + 1) if is_share(value, n * 10**of, decimals)), None)


# -- the worked examples -------------------------------------------------------------------------------------------------


def examples() -> pd.DataFrame:
    """Tables 1 to 4 and 11 to 14, and what the text counts: what follows by the rules of section 3, and what does not.

    Returns
    -------
    DataFrame : claim, printed, recomputed, verdict ('holds', 'does not hold', 'in part'), where.
    """
    import pandas as pd

    rows = [*_floor(), *_entities(), *_iterations(), *_contextual(), *_flips(), *_worked(), *_counts()]
    return pd.DataFrame(rows, columns=["claim", "printed", "recomputed", "verdict", "where"])


Row = tuple[str, str, str, str, str]


def said(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _floor() -> list[Row]:
    cosines = comparability.published("lext", "table1").set_index("predicted")["cosine"].astype(float)
    about = {"an empty text": 0.31, "the opening of a list of results": 0.58}  # section 3.1.1
    return [
        (f"similarity of {what} to the ground truth", f"{number:.2f}", f"{cosines[what]:.4f}", said(abs(cosines[what] - number) <= 0.005), "Table 1; section 3.1.1")
        for what, number in about.items()
    ]  # fmt: skip


def _entities() -> list[Row]:
    row = comparability.published("lext", "table2").iloc[0]
    gold, cosine = [f"entity {i}" for i in range(int(row["gold_entities"]))], float(row["cosine"])
    by = {v: explanation.weighted_accuracy(cosine, gold, [], variant=v) for v in ("paper", "released")}
    found = f"{by['paper']:g} by equation 3 with 0 for no entity; {by['released']:.4f} with the authors' code"
    return [("weighted accuracy without an entity", f"{row['weighted_accuracy']:g}", found, said(by["paper"] == row["weighted_accuracy"]), "Table 2; section 3.1.1")]  # fmt: skip


def _iterations() -> list[Row]:
    rows = []
    for row in comparability.published("lext", "table4").itertuples():
        same = float(row.cosine) == float(row.in_text)
        rows.append((f"similarity of answer {row.iteration}", f"{row.in_text:.8g} in the text", f"{row.cosine:.8g} in the table", said(same), "Table 4; section 3.1.2"))  # fmt: skip
    return rows


def _contextual() -> list[Row]:
    table = comparability.published("lext", "table11").set_index("experiment")
    gate, labels = (str(table.loc[k, "labels"]).split() for k in (1, 2))
    score = explanation.contextual_faithfulness(gate[0], labels)
    printed = float(table.loc[2, "score"])
    return [
        ("contextual faithfulness of the example", f"{printed:g}", f"{labels.count('unknown')} of {len(labels)} unknown: {score:g}", said(abs(score - printed) < 0.005), "Table 11; equation 8"),
        ("keywords are taken out one at a time", "removed (section 3.2.3)", "in the example, as in B.5, all are out and one is put back at a time", "does not hold", "Table 11; section 3.2.3"),
    ]  # fmt: skip


def _flips() -> list[Row]:
    rows = []
    for row in comparability.published("lext", "table13").itertuples():
        labels = str(row.labels).split()
        if row.metric == "qag":
            score = explanation.qag([label == "yes" for label in labels])
            rows.append(("QAG score of the example", f"{row.score:g}", f"{labels.count('yes')} of {len(labels)}: {score:.2f}", said(abs(score - float(row.score)) <= 0.005), f"Table {row.table}; equation 7"))  # fmt: skip
            continue
        score = explanation.counterfactual_stability(*labels)
        flipped = "flips" if score == 1 else "stays"
        rows.append((f"answer {labels[0]}, then {labels[1]}", str(row.verdict), f"{flipped}: {score:g}", said((score == 1) == (row.verdict == "faithful")), f"Table {row.table}; section 3.2.2"))  # fmt: skip
    return rows


def worked() -> dict[str, float]:
    """The numbers of Table 14 by what they are."""
    table = comparability.published("lext", "table14")
    return dict(zip(table["what"], table["value"].astype(float), strict=True))


def faithfulness_readings() -> pd.DataFrame:
    """What Table 14's three metrics would make of its faithfulness under every rule that comes to mind: rule, faithfulness, trust (with the
    printed plausibility); the last row is what is printed, both numbers.
    """
    import pandas as pd

    at = worked()
    q, kept, c = at["qag"], 0.5, at["contextual"]
    rows = {
        "mean of three, unfaithful = 0 (section 3.3)": explanation.faithfulness(q, at["counterfactual"], c),
        "mean of three, unfaithful = 0.5 (authors' code)": explanation.faithfulness(q, kept, c),
        "without QAG, unfaithful = 0": explanation.faithfulness(q, at["counterfactual"], c, "tables"),
        "without QAG, unfaithful = 0.5 (as Table 6)": explanation.faithfulness(q, kept, c, "tables"),
    }
    made = [(rule, f, explanation.trust(at["plausibility"], f)) for rule, f in rows.items()]
    made.append(("printed", at["faithfulness"], at["trust"]))
    return pd.DataFrame(made, columns=["rule", "faithfulness", "trust"])


def relevancy_needed(accuracy: float) -> tuple[float, float]:
    """The context relevancies that give Table 14 its plausibility, with so high an accuracy.

    Returns
    -------
    low, high : over a paraphrase robustness from 0.75 (the least that scores in 0..1 can have) to 1, and the rounding of the plausibility.
    """
    at = worked()
    iterative = explanation.consistency([at[f"accuracy of answer {i}"] for i in range(1, 6)])

    def needed(p: float, robust: float) -> float:
        return 2 * (2 * p - (iterative + robust) / 2) - accuracy

    return needed(at["plausibility"] - 0.005, 1.0), needed(at["plausibility"] + 0.005, 0.75)


def _worked() -> list[Row]:
    at = worked()
    n, q = int(at["questions for QAG"]), at["qag"]
    p, f, t = (at[k] for k in ("plausibility", "faithfulness", "trust"))
    ends = [explanation.trust(p + d, f + d) for d in (-0.005, 0.005)]
    readings = faithfulness_readings().set_index("rule")["faithfulness"].drop("printed")
    fitting = [rule for rule, value in readings.items() if abs(value - f) <= 0.005]
    accuracies = [at[f"accuracy of answer {i}"] for i in range(1, 6)]
    first, mean = (relevancy_needed(a) for a in (accuracies[0], float(np.mean(accuracies))))
    beside = float(comparability.published("lext", "table3")["context_relevancy"].iloc[0])
    several = mean_of(q, 9)
    chance = 0.0 if several is None else 1e-6 * several * (several + 1) / 2  # of so few or fewer, by accident
    many = f"; to all its digits it is a mean of {several} numbers with three decimals (by accident 1 time in {1 / chance:.0f})" if chance else ""  # fmt: skip
    relevancy = (
        f"needs a relevancy of {first[0]:.2f} to {first[1]:.2f} with the first accuracy, of {mean[0]:.2f} to {mean[1]:.2f} with the mean of five; "
        f"that of Table 3, whose question is about something else, is {beside:g}"
    )
    possible = "holds" if first[1] >= beside else "in part" if mean[1] >= beside else "does not hold"
    return [
        (f"QAG score of {n} questions", f"{q:.9f}", f"not k of {n}" + many, said(is_share(q, n, 9)), "Table 14; equation 7"),
        ("faithfulness of the example", f"{f:g}", ", ".join(f"{v:.3f} {k}" for k, v in readings.items()), said(bool(fitting)), "Table 14; section 3.3"),
        ("plausibility of the example", f"{p:g}", relevancy, possible, "Tables 3 and 14; section 3.1"),
        ("LExT of the example", f"{t:g}", f"{explanation.trust(p, f):.4f}; {ends[0]:.3f} to {ends[1]:.3f} with rounding", said(ends[0] <= t <= ends[1]), "Table 14; equation 15"),
    ]  # fmt: skip


def _counts() -> list[Row]:
    table = comparability.published("lext", "counts")
    return [
        (row.what, str(row.asked), f"{row.shown} shown", said(row.shown == row.asked), str(row.where))
        for row in table.itertuples()
    ]


def unfollowed(found: pd.DataFrame, rules: Sequence[str] = (HARMONIC, PLAUSIBLE, THREE, TWO)) -> pd.DataFrame:
    """The cells that do not follow from the rules of the text and from the one that fits best (from `derived`)."""
    return found[~found["follows"] & found["rule"].isin(list(rules))].reset_index(drop=True)
