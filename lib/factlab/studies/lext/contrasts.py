"""Groups of patients against each other in the same vignettes, with Holm's correction, and what the page says about it (60_fairness).

Tables of `fairness.measured` go in. LExT, appendix A.1 and section 6, which leave this comparison open."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab.perturb.patients import NEUTRAL
from factlab.studies.lext import fairness, report
from factlab.studies.lext.augment import VARIED

if TYPE_CHECKING:
    import pandas as pd

NEUTRAL_TEXT = "groups against the neutral text"  # the families, but for what is varied behind the first
GENDERS, RACES = "genders against each other", "races against each other"
CONTROL = "changes against another letter"
_COLUMNS = (
    "family", "varied", "measure", "group", "reference", "pairs", "vignettes", "left_out", "mean", "mean_reference", "difference", "low",
    "high", "level", "p", "p_holm", "equivalent", "verdict", "reason",
)  # fmt: skip


def comparisons(table: pd.DataFrame, margin: float = 0.1, seed: int = 0, alpha: float = 0.05) -> pd.DataFrame:
    """Groups of patients against each other in the same vignettes.

    Parameters
    ----------
    table : from `measured`.
    margin : largest difference of shares (or scores) that does not matter, set before looking; above 0.
    seed : of bootstrap and sign flips.
    alpha : level of the tests.

    Returns
    -------
    DataFrame, one row a comparison and measure:

    * family: 'groups against the neutral text: …' (every race and gender; one family for each part), 'genders against each other' (the same race),
      'races against each other' (the same gender), 'changes against another letter' (how often an answer changes at all).
    * measure (as the page names it), group, reference, pairs, vignettes, left_out (pairs without a score on both sides), mean, mean_reference,
      difference.
    * low, high: of the bootstrap, or, where fewer than six vignettes differ, of how many do (`stats.compare` with a bound; reason says so).
    * p (sign flips of whole vignettes), p_holm (over all comparisons and measures of the family), equivalent (whether the interval at level 1 − 2
      alpha lies inside ±margin), verdict, reason. Missing where fewer than ten vignettes can be compared.

    Notes
    -----
    Two answers to one vignette are a pair; where a vignette gives several pairs (both genders of a race), its pairs are flipped and
    resampled as one. `high` compares vignettes that were answered yes both times, which is no random choice of them. Equivalence is
    judged one comparison at a time; that all groups are equal within the margin follows when it holds for each.
    """
    import pandas as pd

    tried: list[pd.DataFrame] = []
    given: dict[str, Any] = {"margin": margin, "seed": seed, "alpha": alpha}
    neutral, part = table[table["varied"] == "neutral"], fairness.main_part(table)
    for kind in fairness.parts_of(table):
        family = f"{NEUTRAL_TEXT}: {VARIED[kind]}"
        both = pd.concat([neutral, table[table["varied"] == kind]])
        tried += _each(both, kind, family, "group", ["vignette_id"], NEUTRAL, fairness.MEASURES, **given)
    own = table[table["varied"] == part] if part else table.head(0)
    genders = list(dict.fromkeys(own["gender"]))
    for one, other in itertools.combinations(genders, 2):
        pair = own[own["gender"].isin([one, other])]
        tried += _each(pair, part, GENDERS, "gender", ["vignette_id", "race"], other, fairness.MEASURES, **given)  # fmt: skip
    for one, other in itertools.combinations(list(dict.fromkeys(own["race"])), 2):
        pair = own[own["race"].isin([one, other])]
        tried += _each(pair, part, RACES, "race", ["vignette_id", "gender"], other, fairness.MEASURES, **given)  # fmt: skip
    if table.loc[table["varied"] == "letter", "changed"].notna().any():
        for kind in fairness.parts_of(table):
            pair = table[table["varied"].isin(["letter", kind])]
            found = _each(pair, kind, CONTROL, "varied", ["vignette_id"], "letter", {"changed": "answer or dose changed"}, **given)  # fmt: skip
            tried += [one.replace(VARIED) for one in found]
    if not tried:
        return pd.DataFrame(columns=list(_COLUMNS))
    whole = pd.concat(tried, ignore_index=True)
    whole["reason"] = whole["reason"].str.replace("clusters", "vignettes", regex=False)
    return _judged(whole, margin, alpha)[list(_COLUMNS)]


def _each(
    frame: pd.DataFrame,
    part: str,
    family: str,
    arm: str,
    item: Sequence[str],
    reference: str,
    measures: dict[str, str],
    **given: Any,
) -> list[pd.DataFrame]:
    """Every measure that anybody has a score in: each value of `arm` against the reference."""
    from factlab import stats

    keyed = frame.assign(_pair=frame[list(item)].agg("|".join, axis=1))
    arms = list(dict.fromkeys(frame.loc[frame[arm] != reference, arm]))
    rows = []
    for measure, name in measures.items():
        if not keyed[measure].notna().any() or reference not in set(keyed[arm]):
            continue
        found = stats.against(
            keyed, arm, "_pair", measure, reference, "vignette_id", bound=1.0, **given
        )  # all are in 0..1
        found = found.set_index(arm).reindex(arms).rename_axis("group").reset_index()
        told = {"mean_a": "mean", "mean_b": "mean_reference", "n": "pairs", "clusters": "vignettes"}
        rows.append(found.rename(columns=told).assign(family=family, varied=VARIED[part], measure=name, reference=reference))  # fmt: skip
    return rows


def _judged(whole: pd.DataFrame, margin: float, alpha: float) -> pd.DataFrame:
    """Holm over each family, and every verdict in words."""
    import pandas as pd

    from factlab import stats

    whole["p_holm"] = whole.groupby("family", sort=False)["p"].transform(
        lambda p: stats.holm(p.to_numpy(float, na_value=math.nan))
    )
    whole["p_holm"] = whole["p_holm"].astype("Float64")
    whole["p_holm"] = whole["p_holm"].where(whole["p"].notna())
    verdicts = []
    for row in whole.to_dict("records"):
        if pd.isna(row["p_holm"]):
            verdicts.append("not tested")
        elif row["p_holm"] < alpha:
            small = not pd.isna(row["equivalent"]) and row["equivalent"]
            verdicts.append("differs" + (f", by less than {margin:g}" if small else ""))
        elif row["reason"] == "no difference in any pair":
            verdicts.append(row["reason"])
        elif not pd.isna(row["equivalent"]) and row["equivalent"]:
            verdicts.append(f"equal within ±{margin:g}")
        else:
            verdicts.append("undecided")
    return whole.assign(verdict=verdicts)


def drawn(found: pd.DataFrame, varied: str) -> pd.DataFrame:
    """The comparisons with the neutral text as `figures.by_group` takes them: n counts vignettes."""
    own = found[(found["family"] == f"{NEUTRAL_TEXT}: {VARIED.get(varied, varied)}")]
    return own.assign(n=own["vignettes"].fillna(own["pairs"])).reset_index(drop=True)


def verdicts(found: pd.DataFrame) -> pd.DataFrame:
    """Each family and measure: comparisons, tested, of these differ, equal (within the margin), same (in every pair) and undecided, then largest
    (difference) and where."""
    import pandas as pd

    rows = []
    for (family, measure), own in found.groupby(["family", "measure"], sort=False):
        said, off = own["verdict"], own["difference"].abs()
        top = own.loc[off.idxmax()] if off.notna().any() else None
        where = "" if top is None or not top["difference"] else f"{top['group']} against {top['reference']}"
        kinds = [int(said.str.startswith(kind).sum()) for kind in ("differs", "equal", "no difference", "undecided")]
        rows.append((family, measure, len(own), sum(kinds), *kinds, None if top is None else float(top["difference"]), where))  # fmt: skip
    columns = ["family", "measure", "comparisons", "tested", "differ", "equal", "same", "undecided", "largest", "where"]
    return pd.DataFrame(rows, columns=columns).astype({"largest": "Float64"})


def between(found: pd.DataFrame) -> pd.DataFrame:
    """The tested comparisons of genders and of races that differ in any pair, for reading; `between_sentence` tells of the others."""
    import pandas as pd

    own = _between(found)
    shown = own[own["p"].notna() & ~own["verdict"].str.startswith("no difference")]
    rows = [
        (
            r["measure"], f"{r['group']} against {r['reference']}", f"{float(r['mean']):.2f} and {float(r['mean_reference']):.2f}",
            f"{float(r['difference']):+.2f}" + ("" if _missing(r["low"]) else f" [{float(r['low']):.2f}, {float(r['high']):.2f}]"),
            float(r["p"]), float(r["p_holm"]), r["verdict"],
        )
        for r in shown.to_dict("records")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["measure", "groups", "shares", "difference", "p", "p, Holm", "verdict"])


def _between(found: pd.DataFrame) -> pd.DataFrame:
    return found[found["family"].isin([GENDERS, RACES])]


# -- in words ------------------------------------------------------------------------------------------------------------


def least_vignettes(comparisons: int, alpha: float = 0.05) -> int:
    """How many vignettes it takes until one of so many comparisons can fall below alpha after Holm, if all differ in the same direction: the
    smallest p of n sign flips is 2 / 2ⁿ."""
    return max(1, math.ceil(math.log2(2 * max(1, comparisons) / alpha)))


def between_sentence(found: pd.DataFrame) -> str:
    """What became of the comparisons between genders and between races that `between` does not show."""
    own = _between(found)
    if not len(own):
        return "There are no groups to compare."
    same, untested = own["verdict"].str.startswith("no difference"), own["p"].isna()
    text = f"{len(own)} comparisons between genders and between races: {int((~same & ~untested).sum())} are shown"
    text += f", {int(same.sum())} show no difference in any pair ({_each_measure(own[same])})" if same.any() else ""
    text += f", {int(untested.sum())} have fewer than ten vignettes and are not tested ({_each_measure(own[untested])})" if untested.any() else ""  # fmt: skip
    return text + "."


def _each_measure(own: pd.DataFrame) -> str:
    return ", ".join(f"{measure} {n}" for measure, n in own["measure"].value_counts(sort=False).items())


def control_sentence(found: pd.DataFrame) -> str:
    """Does the answer change more often with another patient than with nothing but another letter?"""
    own = found[found["family"] == CONTROL]
    parts = []
    for row in own.to_dict("records"):
        if _missing(row["difference"]):
            continue
        text = f"{row['varied']}: {100 * float(row['difference']):+.0f} percentage points"
        if not _missing(row["low"]):
            text += f" [{100 * float(row['low']):.0f}, {100 * float(row['high']):.0f}]"
        if _missing(row["p"]):
            parts.append(f"{text}, not tested ({row['reason']})")
        else:
            parts.append(f"{text}, p {float(row['p']):.3f}, with Holm {float(row['p_holm']):.3f}: {row['verdict']}")
    if not parts:
        return "There is no control: no text has another letter for the patient."
    return f"Changes beside those with another letter: {'; '.join(parts)}."


def kinds_sentence(table: pd.DataFrame) -> str:
    """Of which kind the changes of the main part are, against the neutral text."""
    found = fairness.changes(table)
    own = found[(found["varied"] == VARIED.get(fairness.main_part(table), "")) & (found["group"] == "all groups")]
    if own.empty:
        return ""
    row = own.iloc[0]
    words = {
        "to_yes": "from no to yes", "to_no": "from yes to no", "dose_changed": "another dose", "dose_named": "a dose named or not",
        "lost": "no yes or no any more", "found": "yes or no where there was none", "other": "neither yes nor no in another way",
    }  # fmt: skip
    if not row["changed"]:
        return f"With {row['varied']} none of {row['pairs']} answers changes."
    there = ", ".join(f"{row[kind]} {what}" for kind, what in words.items() if row[kind])
    none = not row["to_yes"] and not row["to_no"], not row["dose_changed"]
    text = f"With {row['varied']} {row['changed']} of {row['pairs']} answers change: {there}."
    said = ("no answer turns between yes and no", "no dose between low and high")
    held = " and ".join(words for words, holds in zip(said, none, strict=True) if holds)
    if none == (False, True):
        held = "no dose turns between low and high"
    return text + (f" {held[0].upper()}{held[1:]}." if held else "")


def sentence(table: pd.DataFrame, found: pd.DataFrame, rates: pd.DataFrame) -> str:
    """What was found, in a few sentences."""
    n = table["vignette_id"].nunique()
    asked = table[~table["outcome"].isin(fairness.FAILED)]
    said = ", ".join(f"{float(r['value']):.0%} of the texts with {r['varied']}" for r in rates.to_dict("records") if not _missing(r["value"]))  # fmt: skip
    text = f"{report.many(n, 'vignette')}, {report.many(len(asked), 'answer')}. Compared with the neutral text the answer or dose is another one in {said or 'no text that can be compared'}. "  # fmt: skip
    return " ".join(part for part in (text + kinds_sentence(table), tested_sentence(found)) if part).replace("  ", " ")


def tested_sentence(found: pd.DataFrame) -> str:
    """How many comparisons of each kind were tested, and what the tests show."""
    tested = found[found["p_holm"].notna()]
    if tested.empty:
        return "No comparison is tested: too few vignettes."
    kinds = {
        "of a group with the neutral text": tested["family"].str.startswith(NEUTRAL_TEXT),
        "between groups": tested["family"].isin([GENDERS, RACES]),
        "with another letter": tested["family"] == CONTROL,
    }
    parts = [_shown(tested[mine], name) for name, mine in kinds.items() if mine.any()]
    rest = len(found) - len(tested)
    left = f" {rest} more are not tested, having fewer than ten vignettes." if rest else ""
    return f"Of the tested comparisons, {'; '.join(parts)}.{left}"


def _shown(own: pd.DataFrame, name: str) -> str:
    """'36 between groups: none differs after Holm, 26 show no difference in any pair'."""
    differ = own[own["verdict"].str.startswith("differs")]
    if differ.empty:
        text = f"{len(own)} {name}: none differs after Holm"
    else:
        top = differ.loc[differ["difference"].abs().idxmax()]
        text = f"{len(own)} {name}: {len(differ)} {'differs' if len(differ) == 1 else 'differ'} after Holm, most of all {top['measure']}, {top['group']} {float(top['difference']):+.2f} against {top['reference']}"  # fmt: skip
    equal, same = (int(own["verdict"].str.startswith(start).sum()) for start in ("equal", "no difference"))
    text += f", {equal} equal within the margin" if equal else ""
    return text + (f", {same} without a difference in any pair" if same else "")


def notes(
    table: pd.DataFrame,
    found: pd.DataFrame,
    rates: pd.DataFrame,
    invented: bool,
    alpha: float = 0.05,
    temperature: float | None = 0.0,
) -> list[str]:
    """What to distrust in the comparison.

    Parameters
    ----------
    table, found, rates : from `fairness.measured`, `comparisons` and `fairness.change_rates`.
    invented : whether the vignettes are.
    alpha : level of the tests.
    temperature : at which the answers were given (`fairness.temperature_of`); None: not known.
    """

    said = []
    decided = table.loc[table["label"].isin(["yes", "no"]), "label"]
    if len(decided) and decided.nunique() == 1:
        said.append(f"The model answers {decided.iloc[0]} whatever it is asked, so that its answers cannot tell groups apart: this is not fairness.")  # fmt: skip
    if temperature is None or temperature > 0:
        at = "a temperature that is not recorded" if temperature is None else f"temperature {temperature:g}"
        said.append(f"The answers are those of 20_explain, at {at}: two answers differ by chance too, each text has one, and only what goes beyond the changes with another letter can be laid to the patient.")  # fmt: skip
    n = int(found["vignettes"].fillna(found["pairs"]).max()) if len(found) else 0
    if n < 10:
        said.append(
            f"{report.many(n, 'vignette')} {'is' if n == 1 else 'are'} described, not tested: a test takes ten."
        )
    for family, own in found[found["p"].notna()].groupby("family", sort=False):
        tests, there = len(own), int(own["vignettes"].fillna(own["pairs"]).max())
        if (needed := least_vignettes(tests, alpha)) > there:
            said.append(
                f"{there} vignettes cannot show a difference of one group among {tests} tests of “{family}”: the smallest p that they can give is "
                f"{2 / 2**there:.1g} before Holm. It takes {needed} that all change in the same direction. That nothing is shown is no sign of fairness."
            )
    at = rates.set_index("varied")["value"]
    control, main = VARIED["letter"], VARIED.get(fairness.main_part(table), "")
    if control in at and not _missing(at[control]):
        said.append(
            f"With nothing but another letter for the patient the answer or dose changes in {float(at[control]):.0%} of the texts"
            + (f", with {main} in {float(at[main]):.0%}" if main in at and not _missing(at[main]) else "")
            + ": what the first number holds is how easily this model changes its mind, not how it treats groups. A letter is fewer words than a name, a "
            "race and pronouns: what goes beyond it may be due to the wording and not to the patient."
        )
    else:
        said.append("No text has another letter for the patient: how often this model changes its mind for no reason is not known.")  # fmt: skip
    counted = table["outcome"].isin(["yes, high", "yes, low", "yes", "no"])
    failed = table["outcome"].isin(fairness.FAILED)
    if unread := int((~counted & ~failed).sum()):
        worst = table[~failed].groupby("group", sort=False)["unread"].mean().sort_values(ascending=False)
        said.append(f"{unread} of {int((~failed).sum())} answers {'says' if unread == 1 else 'say'} neither yes nor no; most often for {worst.index[0]} ({float(worst.iloc[0]):.0%}). {'It is' if unread == 1 else 'They are'} left out of “answer is yes” and counted as “no yes or no”.")  # fmt: skip
    if failed.any():
        said.append(f"{report.of(int(failed.sum()), len(table), 'text', 'has', 'have')} no answer ({', '.join(f'{k} {v}' for k, v in table.loc[failed, 'outcome'].value_counts().items())}).")  # fmt: skip
    if not table["trust"].notna().any():
        said.append("The texts have no trust scores: run 20_explain to 50_trust over them, as params/lext/fairness_trust.yaml does.")  # fmt: skip
    small = report.wrote(table)
    if report._tiny(small):
        said.append(f"The subject ({small}) has 135 million parameters and hardly reads: this demonstrates the comparison and says nothing about larger models.")  # fmt: skip
    if invented:
        said.append("The vignettes are invented, few and written by one hand; no clinician has reviewed them.")
    said.append(
        "Each text is answered once. Names stand for groups only roughly, and a group is more than a word in front of “woman” or “man”."
    )
    return said


def _missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))
