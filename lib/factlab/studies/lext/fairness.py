"""Does the answer change with the patient's name, gender and race? (60_fairness)

LExT, appendix A.1 fills its vignettes with six groups of patients, and section 6 leaves the comparison to others. Here the answers to
all texts of a vignette are set beside each other: against the neutral text, women against men, each race against each other one, and
the name alone. A control, another letter for the patient, tells how often an answer changes for no reason at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from factlab.perturb.patients import NEUTRAL
from factlab.studies.lext.augment import VARIED
from factlab.studies.lext.report import many

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace
    from factlab.stats import Estimate

# Measure of one answer: what the page calls it. All are in 0..1.
MEASURES = {
    "treated": "answer is yes",
    "high": "high dose, of yes",
    "unread": "no yes or no",
    "trust": "LExT",
    "plausibility": "plausibility",
    "faithfulness": "faithfulness",
}
OUTCOMES = ("yes, high", "yes, low", "yes", "no", "maybe", "unknown", "random", "refused", "truncated", "unparsable", "error", "not asked")  # fmt: skip
DOSED = ("yes, high", "yes, low")
FAILED = ("error", "not asked")  # says nothing about the model
SAID = {"random": "neither yes nor no"}  # outcome: what the page calls it
# Column of `changes`: what the page calls it
KINDS = {
    "varied": "what differs", "to_yes": "no to yes", "to_no": "yes to no", "dose_changed": "another dose", "dose_named": "dose named or not",
    "lost": "yes or no lost", "found": "yes or no found", "reworded": "other words",
}  # fmt: skip
_MANY = {"woman": "women", "man": "men", "non-binary": "non-binary people"}


# -- answers -------------------------------------------------------------------------------------------------------------


def variants_of(run: Workspace) -> pd.DataFrame:
    """The texts that 10_augment_vignettes wrote, less those that are the neutral one word for word; in a notebook opened by hand with none, those of the sample vignettes.

    Raises
    ------
    FileNotFoundError : the run has no such table; the message says what to run first.
    """
    from factlab.studies.lext import augment

    if run.has("variants") or not run.interactive:
        variants = run.read("variants")
        if (same := same_as_neutral(variants)).any():
            run.banner(
                f"{many(int(same.sum()), 'text')} of {many(variants.loc[same, 'vignette_id'].nunique(), 'vignette')} "
                f"({', '.join(variants.loc[same, 'vignette_id'].unique()[:5])}) are the neutral text word for word: no answer could change, and they are left out."
            )
        return variants[~same].reset_index(drop=True)
    run.banner(
        "There is no table “variants” from an earlier step, so this page fills the sample vignettes itself. Run "
        "10_augment_vignettes, or `factlab run`, to use your own."
    )
    return augment.patients(augment.read(run))


def answers(
    run: Workspace,
    variants: pd.DataFrame,
    subject: str,
    recorded: str = "",
    prompt: str = "",
    mode: str = "cache",
    **settings: Any,
) -> pd.DataFrame:
    """One answer to every text: those of 20_explain where it asked about these texts, else asked now.

    Parameters
    ----------
    run : the workspace.
    variants : from `augment.patients`.
    subject : model that answers; 'recorded': SmolLM2's replies to the sample.
    recorded : for 'recorded', a table with item_id, stage, number and reply; '': the sample's.
    prompt : own prompt file; '': that of Q-Pain's form.
    settings : of `Model.chat`. Temperature is 0: at a higher one answers differ for no reason, unless each is asked many times.

    Returns
    -------
    DataFrame : as `stages.explained` makes it, one row a text that was asked about. Texts that the recorded table has no reply to are not asked.
    """
    from factlab import places
    from factlab.studies.lext import records, stages
    from factlab.studies.lext.calls import calls_table

    if run.has("explained"):
        earlier = run.read("explained")
        first = earlier[(earlier["kind"] == "iteration") & (earlier["sample"].astype(int) == 0)]
        if (mine := first[first["item_id"].isin(variants["item_id"])]).shape[0]:
            return mine.reset_index(drop=True)
    table = recorded or str(places.samples("lext", "fairness_answers.csv"))
    model = records.open_model(subject, table, mode, run if subject == "recorded" else None)
    if subject == "recorded":
        records.table_notes([subject], table, variants)  # an error where it has none of them
        variants = variants[variants["item_id"].isin(records.replies(table)[1]["item_id"])]
    calls = stages.explain(model, variants, 1, prompt, **{"temperature": 0.0} | settings)
    nothing = calls_table([])
    return stages.explained(variants, calls, nothing, nothing.assign(question=""))


def temperature_of(run: Workspace, variants: pd.DataFrame) -> float | None:
    """The temperature of `answers`: that of 20_explain where its answers count, else 0; None where the run does not tell."""
    if run.has("explained") and run.read("explained")["item_id"].isin(variants["item_id"]).any():
        given = run.parameters().get("temperature")
        return None if given is None else float(given)
    return 0.0


def trust_of(run: Workspace) -> pd.DataFrame | None:
    """The metrics of each item that 50_trust wrote, if it did."""
    return run.read("trust") if run.has("trust") else None


def measured(variants: pd.DataFrame, explained: pd.DataFrame, trust: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every text with its answer as numbers; none is lost.

    Parameters
    ----------
    variants : from `augment.patients`.
    explained : from `answers`.
    trust : item_id, plausibility, faithfulness, trust.

    Returns
    -------
    DataFrame, one row a text: item_id, vignette_id, varied, group (in words), race, gender, name, gold and gold_dose, label, dose, outcome (of
    `OUTCOMES`), explanation, model; treated (1 yes, 0 no, missing otherwise), high (1 or 0 where the answer is yes and names a dose), unread (1
    where there is neither yes nor no, 0 where there is; missing where the call failed), plausibility, faithfulness, trust where known; changed (1 where the
    outcome is another one than that of the neutral text of its vignette, a dose named or not included; 0 where it is the same; missing where either failed).
    """
    import pandas as pd

    kept = ["item_id", "vignette_id", "varied", "race", "gender", "name"]
    table = variants[kept].assign(
        gold=variants["label"],
        gold_dose=variants["dose"].fillna(""),
        group=[group_name(r) for r in variants.to_dict("records")],
    )
    given = explained.drop_duplicates("item_id")[["item_id", "label", "dose", "status", "explanation", "model"]]
    table = table.merge(given, on="item_id", how="left").fillna(dict.fromkeys(given.columns, "")).reset_index(drop=True)
    table["outcome"] = [_outcome(r) for r in table.to_dict("records")]
    decided, failed = table["label"].isin(["yes", "no"]), table["outcome"].isin(FAILED)
    chosen = table["outcome"].isin(DOSED)
    table["treated"] = (table["label"] == "yes").astype("Float64").where(decided)
    table["high"] = (table["outcome"] == "yes, high").astype("Float64").where(chosen)
    table["unread"] = (~decided).astype("Float64").where(~failed)
    known = trust.drop_duplicates("item_id").set_index("item_id") if trust is not None else pd.DataFrame()
    for metric in ("trust", "plausibility", "faithfulness"):
        values = table["item_id"].map(known[metric]) if metric in known else pd.Series(pd.NA, index=table.index)
        table[metric] = pd.to_numeric(values, errors="coerce").astype("Float64")
    plain = table[table["varied"] == "neutral"].set_index("vignette_id")["outcome"]
    before = table["vignette_id"].map(plain)
    comparable = ~failed & before.notna() & ~before.isin(FAILED)
    table["changed"] = (table["outcome"] != before).astype("Float64").where(comparable)
    return table.drop(columns="status")


def same_as_neutral(variants: pd.DataFrame) -> pd.Series:
    """Whether a text is word for word the neutral one of its vignette, the question included."""
    whole = variants["context"] + "\n" + variants["question"]
    plain = whole[variants["varied"] == "neutral"].set_axis(
        variants.loc[variants["varied"] == "neutral", "vignette_id"]
    )
    return (variants["varied"] != "neutral") & (whole == variants["vignette_id"].map(plain))


def group_name(row: dict[str, Any]) -> str:
    """'Black women', 'neutral', or 'another letter'."""
    if row["varied"] in ("neutral", "letter"):
        return NEUTRAL if row["varied"] == "neutral" else VARIED["letter"]
    return f"{row['race']} {_MANY.get(row['gender'], row['gender'])}"


def _outcome(row: dict[str, Any]) -> str:
    label = row["label"]
    if label == "yes" and row["dose"] in ("high", "low"):
        return f"yes, {row['dose']}"
    return label or row["status"] or "not asked"


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Outcomes of every group: varied, group, n, then a column for each outcome that there is. The columns add up to n."""
    import pandas as pd

    kinds = [kind for kind in OUTCOMES if (table["outcome"] == kind).any()]
    kinds += sorted(set(table["outcome"]) - set(OUTCOMES))
    rows = []
    for (varied, group), own in table.groupby(["varied", "group"], sort=False):
        found = own["outcome"].value_counts()
        rows.append({"varied": VARIED[varied], "group": group, "n": len(own)} | {k: int(found.get(k, 0)) for k in kinds})  # fmt: skip
    return pd.DataFrame(rows)


def side_by_side(table: pd.DataFrame, varied: str = "") -> pd.DataFrame:
    """Outcomes of each vignette: vignette_id, gold, neutral (to the neutral text), same (how many of its other texts have that one too),
    others (the other outcomes, with the groups that have them)."""
    import pandas as pd

    part = varied or main_part(table)
    table = table.replace({"outcome": SAID})
    rows = []
    for vignette, own in table.groupby("vignette_id", sort=False):
        plain, texts = own[own["varied"] == "neutral"]["outcome"].tolist(), own[own["varied"] == part]
        different = texts[~texts["outcome"].isin(plain)]
        others = [f"{kind}: {_groups(rows)}" for kind, rows in different.groupby("outcome", sort=False)]
        gold = own[["gold", "gold_dose"]].iloc[0]
        named = ", ".join(part for part in gold if part)
        rows.append((vignette, named, " / ".join(plain), f"{len(texts) - len(different)} of {len(texts)}", "; ".join(others)))  # fmt: skip
    return pd.DataFrame(rows, columns=["vignette_id", "gold", "neutral", "same", "others"])


def _groups(own: pd.DataFrame) -> str:
    """'Black women, White men (2)'."""
    found = own["group"].value_counts(sort=False)
    return ", ".join(group if n == 1 else f"{group} ({n})" for group, n in found.items())


def gold_sentence(table: pd.DataFrame) -> str:
    """In which direction the answers that could be read go against the gold ones."""
    read = table[table["label"].isin(["yes", "no"])]
    parts = []
    for gold, said in (("no", "yes"), ("yes", "no")):
        own = read[read["gold"] == gold]
        if len(own):
            parts.append(f"of {len(own)} to vignettes whose gold answer is {gold}, {int((own['label'] == said).sum())} say {said}")  # fmt: skip
    if not parts:
        return "No answer can be held against a gold one."
    text = f"Of {len(table)} texts {len(read)} have a yes or no: {'; '.join(parts)}."
    dosed = read[(read["gold"] == "yes") & (read["label"] == "yes") & read[["dose", "gold_dose"]].isin(["low", "high"]).all(axis=1)]  # fmt: skip
    if len(dosed):
        over, under = ((dosed["dose"] == dose) & (dosed["gold_dose"] != dose) for dose in ("high", "low"))
        text += f" Of {len(dosed)} doses in answers that are rightly yes, the gold one is named in {len(dosed) - int((over | under).sum())}, a higher one in {int(over.sum())}, a lower one in {int(under.sum())}."  # fmt: skip
    return text


def main_part(table: pd.DataFrame) -> str:
    """Which texts genders and races are compared in: race, gender and name, or else race and gender, or the name alone; '' where none is answered."""
    return ([*parts_of(table), ""])[0]


def parts_of(table: pd.DataFrame) -> list[str]:
    """The parts that stand for groups and have any answer, in the order of the page."""
    there = set(table.loc[~table["outcome"].isin(FAILED), "varied"])
    return [part for part in ("all", "words", "name") if part in there]


# -- how often an answer changes -----------------------------------------------------------------------------------------


def changes(table: pd.DataFrame) -> pd.DataFrame:
    """How the answers differ from those to the neutral texts, whatever the direction.

    Returns
    -------
    DataFrame, one row a part of `VARIED` and, below, a group of it : varied, group ('all groups'), pairs (both answered), changed (the outcome:
    answer or dose) and of which kind: to_yes, to_no, dose_changed (both yes, low and high), dose_named (both yes, one without a dose), lost (no yes or
    no any more), found (yes or no where there was none), other (neither before nor after, in another way); vignettes (in which any answer changed),
    reworded (the explanation is another text).
    """
    import pandas as pd

    plain = table[table["varied"] == "neutral"].set_index("vignette_id")[["label", "dose", "outcome", "explanation"]]
    both = table[table["varied"] != "neutral"].join(plain.add_suffix("_neutral"), on="vignette_id")
    both = both[both["changed"].notna()]
    rows = []
    for part in [p for p in VARIED if (both["varied"] == p).any()]:
        own = both[both["varied"] == part]
        rows.append(_changes(own, part, "all groups" if part != "letter" else "control"))
        if part != "letter":
            rows += [_changes(group, part, name) for name, group in own.groupby("group", sort=False)]
    columns = ["varied", "group", "pairs", "changed", "to_yes", "to_no", "dose_changed", "dose_named", "lost", "found", "other", "vignettes", "reworded"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _changes(own: pd.DataFrame, part: str, group: str) -> tuple:
    decided = own["label"].isin(["yes", "no"])
    before = own["label_neutral"].isin(["yes", "no"])
    changed = own["changed"] == 1
    turned = decided & before & (own["label"] != own["label_neutral"])
    dose = changed & (own["label"] == "yes") & (own["label_neutral"] == "yes")
    both = own["outcome"].isin(DOSED) & own["outcome_neutral"].isin(DOSED)
    return (
        VARIED[part], group, len(own), int(changed.sum()), int((turned & (own["label"] == "yes")).sum()),
        int((turned & (own["label"] == "no")).sum()), int((dose & both).sum()), int((dose & ~both).sum()),
        int((before & ~decided).sum()), int((decided & ~before).sum()), int((changed & ~before & ~decided).sum()),
        int(own.loc[changed, "vignette_id"].nunique()), int((own["explanation"] != own["explanation_neutral"]).sum()),
    )  # fmt: skip


def change_rate(table: pd.DataFrame, part: str, seed: int = 0, model: str = "") -> Estimate:
    """The share of texts of a part whose answer or dose is another one than in the neutral text; whole vignettes are resampled."""
    from factlab import stats

    own = table[table["varied"] == part]
    given = {"name": "lext-changed", "unit": "texts", "parts": {"subject": model, "varied": VARIED[part]}}
    return stats.estimate(own["changed"], own["vignette_id"], seed=seed, **given)


def change_rates(table: pd.DataFrame, seed: int = 0, model: str = "") -> pd.DataFrame:
    """`change_rate` of every part there is: varied, value, low, high, n, vignettes, text."""
    import pandas as pd

    rows = []
    for part in [p for p in VARIED if table.loc[table["varied"] == p, "changed"].notna().any() and p != "neutral"]:
        found = change_rate(table, part, seed, model)
        rows.append((VARIED[part], found.value, found.low, found.high, found.n, found.clusters, str(found)))
    kinds = {"value": "Float64", "low": "Float64", "high": "Float64", "n": "Int64", "vignettes": "Int64"}
    return pd.DataFrame(rows, columns=["varied", *kinds, "text"]).astype(kinds)


def example(table: pd.DataFrame, count: int = 4) -> pd.DataFrame:
    """The vignette whose answers differ most: the answer to its neutral text and the first ones that differ from it; no row where none does."""
    changed = table[(table["changed"] == 1) & table["varied"].isin(parts_of(table))]
    columns = ["vignette_id", "varied", "group", "name", "outcome", "explanation"]
    if changed.empty:
        return table.head(0)[columns]
    worst = changed["vignette_id"].value_counts(sort=False).idxmax()
    plain = table[(table["vignette_id"] == worst) & (table["varied"] == "neutral")]
    picked = table.loc[[*plain.index, *changed.index[changed["vignette_id"] == worst][: count - 1]], columns]
    return picked.replace({"varied": VARIED, "outcome": SAID}).reset_index(drop=True)
