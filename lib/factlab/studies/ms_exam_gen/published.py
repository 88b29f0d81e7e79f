"""MS-Exam-Gen's printed numbers (90_published): what the text says about them, and what they imply.

`published/ms_exam_gen` goes in; tables and sentences come out. Whether the numbers follow from each other is worked out in `audit`; a run
stands beside them in `beside`. Verdicts: 'holds', 'in part', 'does not hold', and 'not shown' where the text has no number that could bear a claim out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from factlab import comparability
from factlab.studies.ms_exam_gen import audit

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["claim", "printed", "recomputed", "verdict", "where"]
VERDICTS = {"holds": "hold", "in part": "hold in part only", "does not hold": "do not hold", "not shown": "have no number that bears them out"}  # fmt: skip
CUES = {"structure": "structure", "both": "structure and stem", "longest_key": "key is the one longest option"}
BANKS = {"before": "legacy pool", "after": "refreshed items", "full": "whole bank"}
HEADS = {
    "labels": {"k": "passages found", "most_per_source": "of a source", "snippets": "shown", "sources": "sources (mean)", "fell": "points fallen"},
    "rules": {"stem": "stem, least", "shortest": "option, least", "longest_option": "option, most", "advantage": "longer by", "ratio": "times", "longest": "may be longest"},
}  # fmt: skip

Row = tuple[str, str, str, str, str]


def misses() -> pd.DataFrame:
    """Figure 2 (right) for `figures.miss_distribution`: missed ('0–1', '2–3', '4+'), share (0..1); the middle is what is left."""
    import pandas as pd

    at = audit.numbers()
    low, high = at["missed by 0–1"] / 100, at["missed by 4+"] / 100
    return pd.DataFrame({"missed": ["0–1", "2–3", "4+"], "share": [low, 1 - low - high, high]})


def printed(name: str) -> pd.DataFrame:
    """A table of `published/ms_exam_gen` with its columns in words."""
    return comparability.published("ms_exam_gen", name).rename(columns=HEADS.get(name, {}))


def shown_shares(found: pd.DataFrame) -> pd.DataFrame:
    """`audit.shares` for reading: what, printed (percent), of, items, by accident, 95 % interval (percent), where."""
    import pandas as pd

    rows = []
    for row in found.to_dict("records"):
        cue, _, bank = row["what"].rpartition(" ")
        what = f"{CUES[cue]}, {BANKS[bank]}" if cue in CUES else row["what"]
        interval = "–" if pd.isna(row["low"]) else f"{100 * row['low']:.1f} to {100 * row['high']:.1f}"
        rows.append((what, row["printed"], f"{row['n']:,} {row['of']}", row["items"], row["by_accident"], interval, row["where"]))  # fmt: skip
    return pd.DataFrame(rows, columns=["what", "printed", "of", "items", "by accident", "95 % interval", "where"])


# -- what the text says --------------------------------------------------------------------------------------------------


def check_claims(claims: pd.DataFrame) -> pd.DataFrame:
    """What the text says that follows from other numbers of it, against these.

    Parameters
    ----------
    claims : `published/ms_exam_gen/claims.csv`.

    Returns
    -------
    DataFrame : claim, printed, recomputed, verdict ('holds' or 'does not hold'), where.

    Raises
    ------
    ValueError : a claim names a number or a relation that there is not.
    """
    import pandas as pd

    at, rows = audit.numbers(), []
    for claim in claims.itertuples():
        parts = str(claim.parts).split(";")
        if absent := [part for part in parts if part not in at]:
            raise ValueError(f"claims, {claim.claim!r}: no number is called {absent[0]!r}")
        holds, said = _holds(claim, [at[part] for part in parts])
        printed = str(claim.relation) if pd.isna(claim.printed) else f"{claim.printed:,.{int(claim.decimals)}f}"
        rows.append((claim.claim, printed, said, "holds" if holds else "does not hold", claim.source))
    return pd.DataFrame(rows, columns=COLUMNS)


def _holds(claim: Any, values: list[float]) -> tuple[bool, str]:
    """Whether a relation holds, and what its numbers make, in words."""
    listed = [f"{v:,g}" if abs(v) < 1e6 else f"{v:,.0f}" for v in values]
    if claim.relation in ("sum", "product", "difference", "is"):
        made = {
            "sum": lambda: sum(values),
            "product": lambda: values[0] * values[1],
            "difference": lambda: values[0] - values[1],
            "is": lambda: values[0],
        }[claim.relation]()
        sign = {"sum": " + ", "product": " × ", "difference": " − ", "is": ""}[claim.relation]
        digits = 0 if made == round(made) else 2
        words = f"{made:,.{digits}f}" + (f" = {sign.join(listed)}" if sign else "")
        return abs(made - claim.printed) <= 0.5 * 10.0 ** -int(claim.decimals) + 1e-9, words
    pairs = list(zip(values, values[1:], strict=False))
    holds = {
        "at most": all(a <= b for a, b in pairs),
        "fell": all(a > b for a, b in pairs),
        "above": all(a > b for a, b in pairs),
        "ascending": all(a < b for a, b in pairs),
    }
    if claim.relation not in holds:
        raise ValueError(f"claims, {claim.claim!r}: the relation {claim.relation!r} is none of sum, product, difference, is, {', '.join(holds)}")  # fmt: skip
    return holds[claim.relation], {"fell": " to ", "above": " against "}.get(claim.relation, ", ").join(listed)


def comparisons() -> pd.DataFrame:
    """Claims that need more than one look at the numbers: claim, printed, recomputed, verdict, where."""
    import pandas as pd

    rows = [*_shares(), *_cues(), *_panel(), *_sources(), *_order(), *_unprinted()]
    return pd.DataFrame(rows, columns=COLUMNS)


def said(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _shares() -> list[Row]:
    found = audit.shares()
    telling = found[found["by_accident"] < 0.5]
    listed = ", ".join(f"{r.printed:.2f} % is {r.items} of {r.n:,}" for r in telling.itertuples())
    mean = audit.panel_mean()
    last = mean.iloc[-1]
    each = "; ".join(f"{row['from']}: {row['low']:.1f} to {row['high']:.1f}" for _, row in mean.iloc[:-1].iterrows())
    return [
        ("accuracies are shares of the bank", "two decimals", listed, said(bool(found["fits"].all())), "Table IV; section VI"),
        ("misses, accuracies and means of parents are of one panel", "its mean accuracy", f"{each}; left: {last['low']:.1f} to {last['high']:.1f}", said(last["low"] <= last["high"]), "Table IV; sections V and VI"),
    ]  # fmt: skip


def _cues() -> list[Row]:
    cells = audit.printed_cues().set_index("cue")
    probes = cells.loc[["structure", "both"]]
    chance = float(probes["chance"].iloc[0])
    left = {c: (float(r["after"]) - chance) / (float(r["before"]) - chance) for c, r in probes.iterrows()}
    words = ", ".join(f"{CUES[str(c)]} {100 * float(r['difference']):+.1f} points [{100 * float(r['low']):+.1f}, {100 * float(r['high']):+.1f}], {100 * (1 - left[str(c)]):.0f} % of what was above chance".replace("-", "−") for c, r in probes.iterrows())  # fmt: skip
    before, longest = (float(cells.loc["longest_key", bank]) for bank in ("before", "after"))
    others = (1 - longest) / 3
    return [
        ("refreshed construction reduced measurable cues", "structure, structure and stem", words, said(bool((probes["high"] < 0).all())), "section V; Figure 2"),
        ("the length of the key gives less away", f"{100 * before:.1f} to {100 * longest:.1f}", f"whoever took the one longest option found {100 * before:.1f} %; whoever leaves it out now finds {100 * others:.1f} % at most", said(others < before), "section V; Figure 2"),
    ]  # fmt: skip


def implied_easy_medium() -> dict[str, float]:
    """Share of keys told (percent) among Easy and Medium items, if the selector of the whole bank did on Hard and synthesis as their own did."""
    at, sizes = audit.numbers(), audit.wholes()
    whole, new = sizes["locked items"], sizes["refreshed items"]
    return {c: (at[f"{c} full"] * whole - at[f"{c} after"] * new) / (whole - new) for c in ("structure", "both")}


def _panel() -> list[Row]:
    at = audit.numbers()
    even, floor = audit.independent_panel(audit.even_panel()), audit.smallest_pearson()
    four = audit.exactly_four()
    best = audit.independent_panel(audit.easiest_panel())
    loo, agreement = at["leave-one-out correlation"], at["leave-one-out agreement"]
    printed = f"at least {loo:g}"
    return [
        ("some items are harder than others for the panel", "53.0 % missed by 0–1, 25.5 % by 4 and more", f"endpoints that err independently would leave at most {100 * best['low']:.1f} % to 0–1, and then {100 * best['flagged']:.1f} % to 4 and more", said(100 * best["low"] < at["missed by 0–1"]), "section V; Figure 2"),
        ("miss counts correlate with those without an endpoint", printed, f"with these shares and an agreement of {agreement:g} % Pearson's coefficient is at least {floor:.3f}: if {loo:g} is the smallest of the twelve, it is another, such as Spearman's" if floor > loo + 0.0005 else "possible", "in part" if floor > loo + 0.0005 else "holds", "section V"),
        ("that correlation shows that difficulty does not hang on one endpoint", printed, f"twelve evenly spread endpoints that err independently have {even['pearson']:.3f} (Pearson), {even['spearman']:.3f} (Spearman)", "not shown", "section V"),
        ("the agreement of flags shows it", f"at least {agreement:g} %", f"{100 * even['agreement']:.1f} % in that panel of independent endpoints, {100 * best['agreement']:.1f} % in the easiest one that the printed ends allow; up to {four[1]:.1f} % of the items are missed by exactly four and hang on one answer", "in part", "section V"),
    ]  # fmt: skip


def _sources() -> list[Row]:
    import numpy as np

    at, sizes = audit.numbers(), audit.wholes()
    labels = comparability.published("ms_exam_gen", "labels").set_index("label")
    rho, rows = at["sources and accuracy"], []
    parts = []
    for n in (sizes["refreshed items"], sizes["locked items"]):
        low, high = (float(np.tanh(np.arctanh(rho) + z * np.sqrt((1 + rho**2 / 2) / (n - 3)))) for z in (-1.96, 1.96))
        parts.append(f"[{low:.3f}, {high:.3f}] with {n:,} items")
    rows.append(("number of sources is weakly associated with accuracy", f"rho = {rho:g}", f"{' or '.join(parts)}; positive: items of more sources are answered right a little more often", "holds", "section VI"))  # fmt: skip
    least = float(labels.loc["synthesis", "snippets"]) / float(labels.loc["synthesis", "most_per_source"])
    inside = least <= at["sources of synthesis"] <= float(labels.loc["synthesis", "snippets"]) and 1 <= at["sources of Hard"] <= float(labels.loc["Hard", "k"])  # fmt: skip
    rows.append(("sources of an item are within what retrieval allows", "7.96 and 2.24", f"synthesis {least:g} to {labels.loc['synthesis', 'snippets']}, Hard 1 to {labels.loc['Hard', 'k']}", said(inside), "sections III.B and VI"))  # fmt: skip
    return rows


def _order() -> list[Row]:
    at = audit.numbers()
    ranks, points = audit.rank_changes(), audit.points_moved()
    rows = [
        ("the pilot keeps the coarse order of endpoints", f"rho = {at['order correlation']:g}", f"of {at['order endpoints']:.0f} endpoints without ties only a sum of squared rank differences of {', '.join(map(str, ranks)) or 'no whole number'} gives it: " + ("one pair of neighbours changed places" if ranks == [2] else "more than one pair changed places"), said(bool(ranks)), "section V"),
        ("mean absolute change", f"{at['order change']:g} points", f"{' or '.join(f'{p:g}' for p in points) or 'no sum of quarter points'} points over {at['order endpoints']:.0f} endpoints", said(bool(points)), "section V"),
    ]  # fmt: skip
    stable = at["order stability"]
    rows.append(("absolute scores are sensitive to the order of options", f"{stable:g} % stable", f"if that is the share of items with the same option in all four orders, {100 - stable:.1f} % changed, and scores by {at['order change']:g} points on average: losses and gains cancel", "holds", "section V"))  # fmt: skip
    rows.append(("nine of eleven endpoints show position effects", "9 of 11", "neither the test nor a correction for eleven tests is in the text", "not shown", "section V"))  # fmt: skip
    return rows


def _unprinted() -> list[Row]:
    labels = comparability.published("ms_exam_gen", "labels").dropna(subset=["fell"])
    fell = " and ".join(f"{r.fell:g}" for r in labels.itertuples())
    return [
        ("accuracy on Hard and synthesis items fell after refreshed generation", f"by {fell} points", "neither accuracies nor which endpoints are in the text; the items are others", "not shown", "section VI"),
        ("without the key-risk queues endpoints stay apart", "changed, not erased", "no queue, size or score is in the text", "not shown", "section V"),
        ("a varied panel reduced ceiling effects", "46.9 to 89.7 %", f"if the best endpoint is an API endpoint, {api_part():.0f} % of the range lies below all of these", "not shown", "section VI"),
        ("no answer was left unresolved", "0 of 36,696", f"a rate of up to {100 * unresolved_bound():.3f} % would still show none 1 time in 20; how replies were read is not in the text", "holds", "section V"),
    ]  # fmt: skip


def api_part() -> float:
    """Share of the accuracy range (percent) below the lowest API endpoint, if the best endpoint is one of them."""
    at = audit.numbers()
    whole = at[audit.BEST] - at[audit.WORST]
    return 100 * (1 - at["API range"] / whole)


def unresolved_bound() -> float:
    """Upper 95 % bound (0..1) of the rate of unresolved answers where none of so many is."""
    return float(1 - 0.05 ** (1 / audit.numbers()["predictions"]))


def findings() -> pd.DataFrame:
    """All claims of the text that its numbers can be asked about: `comparisons` and `check_claims` below each other."""
    import pandas as pd

    return pd.concat([comparisons(), check_claims(comparability.published("ms_exam_gen", "claims"))], ignore_index=True)


def claims_sentence(found: pd.DataFrame) -> str:
    """How many claims hold (from `findings`), in words."""
    counts = found["verdict"].value_counts()
    shown = [f"{counts.get(kind, 0)} {words}" for kind, words in VERDICTS.items()]
    return f"Of {len(found)} claims: {', '.join(shown)}."


def independence() -> pd.DataFrame:
    """Printed statistics of difficulty beside what two panels would have whose endpoints err independently.

    Returns
    -------
    DataFrame : statistic, printed, evenly spread (a panel within the printed ends), easiest (all but the worst as good as the best). In percent,
    correlations in −1..1.
    """
    import pandas as pd

    at = audit.numbers()
    even, best = audit.independent_panel(audit.even_panel()), audit.independent_panel(audit.easiest_panel())
    rows = [
        ("missed by 0–1, percent", at["missed by 0–1"], 100 * even["low"], 100 * best["low"]),
        ("missed by 4 and more, percent", at["missed by 4+"], 100 * even["flagged"], 100 * best["flagged"]),
        ("smallest agreement of flags, percent", at["leave-one-out agreement"], 100 * even["agreement"], 100 * best["agreement"]),
        ("smallest correlation, Pearson", at["leave-one-out correlation"], even["pearson"], best["pearson"]),
        ("smallest correlation, Spearman", at["leave-one-out correlation"], even["spearman"], best["spearman"]),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["statistic", "printed", "evenly spread", "easiest"])


def implied() -> pd.DataFrame:
    """What follows from the printed numbers though the text does not say it: what, value, from."""
    import pandas as pd

    at, sizes = audit.numbers(), audit.wholes()
    lowest = at[audit.BEST] - at["API range"]
    rules = comparability.published("ms_exam_gen", "rules")
    hard, four, rest = at["Hard"], audit.exactly_four(), implied_easy_medium()
    longest = audit.whole_numbers(at["longest_key after"], sizes["refreshed items"], 1)
    rows = [
        ("items missed by two or three endpoints", f"{100 - at['missed by 0–1'] - at['missed by 4+']:.1f} %", "53.0 and 25.5 %"),
        ("items missed by exactly four", f"{four[0]:.1f} to {four[1]:.1f} %", f"without an endpoint a flag changes in at most {100 - at['leave-one-out agreement']:.1f} % of the items; the lower end if that is reached"),
        ("legacy items that were flagged", f"{100 * at['legacy flagged'] / at['legacy pool']:.1f} %", "1,217 of 1,293"),
        ("lowest API endpoint", f"{lowest:.2f} %", "89.70 − 9.09, if the best endpoint is an API endpoint"),
        ("from the lowest endpoint up to the lowest API endpoint", f"{lowest - at[audit.WORST]:.2f} points", "80.61 − 46.89, if the best endpoint is an API endpoint"),
        ("items whose key is the one longest option", f"{longest[0]} to {longest[-1]}", "6.6 % of 1,766"),
        ("the same among Hard items", f"{100 * longest[0] / hard:.1f} to {100 * longest[-1] / hard:.1f} %", "if, as the rule has it, none is a synthesis item"),
        *[(f"advantage and ratio in {r.label} items", f"the ratio binds below {r.advantage / (r.ratio - 1):.1f} words, the advantage above", f"{r.advantage} words and {r.ratio:g} times, against one length of distractor") for r in rules.itertuples()],
        ("chunks of a source", f"{at['chunks'] / at['sources']:.0f} on average, some {1000 * at['chunks'] / 1e6:.1f} million characters in all", "4,289 chunks of 66 sources, 1,000 new characters each"),
        ("items of a subtopic", f"{at['locked items'] / at['subtopics']:.1f} on average; {at['Easy']:.0f} Easy and {at['Hard']:.0f} Hard items do not spread evenly over 53", "3,058 items, 53 subtopics"),
        ("Easy and Medium items", f"{rest['structure']:.1f} % of keys told by structure and {rest['both']:.1f} % with the stem: with the stem the refreshed strata (43.8 %) are the more cued ones", "whole bank and refreshed strata, if picks add up"),
        ("construction batches", "as many as topics; whether each is one topic is not said", "16 and 16"),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["what", "value", "from"])


# -- in words -----------------------------------------------------------------------------------------------------------


def interval_sentence() -> str:
    """How sure the printed accuracies are, in words."""
    at = audit.numbers()
    found = audit.shares().set_index("what")
    parts = []
    for name in (audit.BEST, audit.WORST, "missed by 4+"):
        e = found.loc[name]
        parts.append(f"{name} {at[name]:.1f} % [{100 * float(e['low']):.1f}, {100 * float(e['high']):.1f}]")
    return f"{'; '.join(parts)} (Wilson, items taken as independent: too narrow, since items of a batch are alike)."


def summary(results: pd.DataFrame | None, verdict: str, found: pd.DataFrame) -> str:
    """The result in one line.

    Parameters
    ----------
    found : from `findings`.
    """
    counts = found["verdict"].value_counts()
    text = (
        f"{counts.get('holds', 0)} of {len(found)} claims hold; the counts and shares add up, but a leave-one-out correlation of 0.934, if it is the "
        f"smallest of the twelve, cannot be Pearson's (at least {audit.smallest_pearson():.3f})"
    )
    return text + ("" if results is None else f". {verdict.split(':')[0].split(';')[0].rstrip('.')}") + "."


def warnings(results: pd.DataFrame | None, verdict: str, found: pd.DataFrame) -> list[str]:
    """What a reader should distrust; parameters as for `summary`."""
    at, even = audit.numbers(), audit.independent_panel(audit.even_panel())
    notes = [
        "Ten of the twelve rows of Table IV, nine of the thirteen means of Figure 3, its cells and all intervals are not in the text at hand: what needs "
        "them is a bound here, or left open.",
        f"A leave-one-out correlation of 0.934 says little: endpoints that err independently reach {even['spearman']:.3f} (Spearman). That items differ is "
        "shown by the miss counts.",
        f"In the refreshed strata the key is the one longest option in {at['longest_key after']:g} % of the items. Keys drawn by lot are that in at most "
        f"{at['chance']:g} %, in fewer where lengths tie, and in how many the text does not say: whether the longest option is now a cue against itself "
        "cannot be told.",
        "The text has GPT-5 mini write at temperatures of 0.0, 0.1 and 0.3; the interface of its maker, as users report it, refuses any temperature but 1 for "
        "that model. Which one was used cannot be told.",
    ]  # fmt: skip
    if (found["verdict"] == "does not hold").any():
        notes.append("A claim that does not hold is one that the printed numbers do not bear out under the reading shown; the text may mean another.")  # fmt: skip
    return ([verdict] if results is not None else []) + notes
