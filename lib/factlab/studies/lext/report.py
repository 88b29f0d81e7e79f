"""What LExT's pages say: sentences built from the numbers, and what to distrust in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab import explanation
from factlab.models import prompts
from factlab.studies.lext.trust import FAITHFULNESS, NAMES

if TYPE_CHECKING:
    import pandas as pd

    from factlab.explanation import Scores

SMALL = "SmolLM2"  # how the built-in model of 135 million parameters is named in tables
TINY = "local/smollm2"


# Heads of `labels_of`; appendix B.5 calls an answer random that names no label.
LABELS = {"gold": "gold label", "random": "names no label (random)", "none": "not read", "n": "items"}


def wrote(table: pd.DataFrame) -> str:
    """Who wrote the replies of a table, as they were named by who served them."""
    return ", ".join(dict.fromkeys(name for name in table["model"] if name)) or "nobody"


def _tiny(names: str) -> bool:
    return TINY in names or SMALL in names


def labels_of(explained: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """The first answer's label beside the gold one: gold, then a column for each label, n."""
    import pandas as pd

    first = explained[(explained["kind"] == "iteration") & (explained["sample"].astype(int) == 0)]
    both = (
        items[["item_id", "label"]]
        .rename(columns={"label": "gold"})
        .merge(first[["item_id", "label"]], on="item_id", how="left")
    )
    both[["gold", "label"]] = both[["gold", "label"]].fillna("").replace("", "none")
    table = pd.crosstab(both["gold"], both["label"])
    table.columns.name = None
    return table.assign(n=table.sum(axis=1)).reset_index()


def bare(explained: pd.DataFrame, words: int = 3) -> int:
    """How many answers are a label and (nearly) nothing else."""
    given = explained["explanation"].fillna("")
    return int(((given != "") & (given.str.split().str.len() <= words)).sum())


def explained_sentence(explained: pd.DataFrame, items: pd.DataFrame) -> str:
    """What was asked and how the first answers agree with the gold labels, and with the gold doses where the label is right."""
    first = explained[(explained["kind"] == "iteration") & (explained["sample"].astype(int) == 0)]
    gold = items[["item_id", "label", "dose"]].rename(columns={"label": "gold", "dose": "gold_dose"})
    both = first.merge(gold, on="item_id")
    right = both["label"] == both["gold"]
    plain, maybe = both["gold"].isin(["yes", "no"]), both["gold"] == "maybe"
    kinds = explained["kind"].value_counts()
    said = (
        f"{many(len(items), 'item')}, {many(kinds.get('iteration', 0), 'answer')} and {kinds.get('paraphrase', 0)} to paraphrases; "
        f"the first answer has the gold label in {int(right[plain].sum())} of {int(plain.sum())} items whose label is yes or no"
    )
    if maybe.any():
        said += f", in {int(right[maybe].sum())} of {int(maybe.sum())} whose label is maybe (which only a prompt of your own, or lext/explain_pubmedqa_maybe, offers)"
    if other := int((~plain & ~maybe).sum()):
        said += f"; {other} {'has' if other == 1 else 'have'} no gold label of yes, no or maybe"
    dosed = both[right & (both["gold_dose"] != "") & (both["dose"] != "")]
    if len(dosed):
        same = int((dosed["dose"] == dosed["gold_dose"]).sum())
        said += f"; where it is right and names a dose, the dose is right in {same} of {len(dosed)}"
    return said


def explained_notes(explained: pd.DataFrame, calls: pd.DataFrame, paraphrases: int, temperature: float) -> list[str]:
    """What to distrust in the answers."""
    notes = []
    for name in calls.loc[calls["stage"] == "explain", "prompt"].unique():
        if name and "context" not in prompts.load(name).blanks:
            notes.append(
                f"The prompt {name} does not show the context: the model answered without it, yet is asked which of its words it used."
            )
    failed = explained[explained["explanation"].fillna("") == ""]
    if len(failed):
        notes.append(
            f"{of(len(failed), len(explained), 'answer', 'holds', 'hold')} no explanation ({counts(failed['status'])}), and stay{'s' * (len(failed) == 1)} in the tables as missing."
        )
    if n := bare(explained):
        notes.append(
            f"{of(n, len(explained), 'answer', 'is', 'are')} a label with hardly a word more, scored as explanation{'s' * (n != 1)} all the same."
        )
    cut = int((explained["finish_reason"] == "length").sum())
    if cut:
        notes.append(
            f"{of(cut, len(explained), 'answer', 'ran', 'ran')} into max_tokens, to be scored without {'its' if cut == 1 else 'their'} end."
        )
    unread = explained[explained["label"].fillna("").isin(["random", "unknown", "maybe", ""])]
    if len(unread):
        where = unread["item_id"].drop_duplicates()
        whose = (
            f", all of item {where.iloc[0]}"
            if len(where) == 1 and len(unread) > 1
            else f", of {many(len(where), 'item')}"
        )
        notes.append(
            f"{of(len(unread), len(explained), 'answer', 'names', 'name')} neither yes nor no ({counts(unread['label'].replace('', 'none'))}){whose}. The rules read "
            "labels that are named; the paper's judge would also take an answer that suggests one. An item whose first answer is one of these has "
            "no counterfactual stability, so no faithfulness and no trust score."
        )
    if temperature == 0:
        notes.append(
            "At temperature 0 all answers to one prompt are the same: iterative stability is 1 and means nothing."
        )
    asked = calls[calls["stage"] == "paraphrase"]["item_id"].nunique() * paraphrases
    given = int((explained["kind"] == "paraphrase").sum())
    if given < asked:
        notes.append(f"The larger model wrote {given} of {asked} paraphrases that can be used.")
    if not asked and given:
        notes.append(
            "The paraphrases are the question word for word in fixed sentences: a model that only copes with these is not yet robust."
        )
    larger = wrote(calls[calls["stage"] == "paraphrase"])
    if _tiny(larger):
        notes.append(
            f"The “larger” model ({larger}) has 135 million parameters, 500 times fewer than the published Llama-70B: read its paraphrases before its scores."
        )
    return notes


def many(n: int, one: str, more: str = "") -> str:
    """A number with its noun: `1 item`, `3 items`."""
    return f"{n} {one if n == 1 else more or one + 's'}"


def of(n: int, whole: int, noun: str, one: str, more: str, nouns: str = "") -> str:
    """A part of a whole with its verb: `1 of 8 items has`, `3 of 8 items have`."""
    return f"{n} of {many(whole, noun, nouns)} {one if n == 1 else more}"


def counts(column: pd.Series) -> str:
    """How often each value stands in a column, in words: `4 yes, 3 no`."""
    return ", ".join(f"{n} {name}" for name, n in column.value_counts().items())


def with_questions(table: pd.DataFrame, items: pd.DataFrame, words: int = 6) -> pd.DataFrame:
    """A table whose items are named by the first words of their question too, in a column `item` instead of `item_id`."""
    asked = items.set_index("item_id")["question"].str.split()
    short = {name: " ".join(text[:words]) + (" …" if len(text) > words else "") for name, text in asked.items()}
    named = [f"{item}: {short[item]}" if item in short else item for item in table["item_id"]]
    return table.assign(item_id=named).rename(columns={"item_id": "item"})


def plausibility_notes(
    parts: pd.DataFrame,
    floor: pd.DataFrame,
    coverage: pd.DataFrame,
    written: pd.DataFrame,
    embedder: str,
    tagger: str,
    found: pd.DataFrame | None = None,
) -> list[str]:
    """What to distrust in plausibility; `found`: item metrics from `explanation.score_items`."""
    notes = []
    if found is not None and found["plausibility"].isna().any():
        notes.append(f"{reasons(found, ['plausibility'])}.")
    hollow = floor[(floor["kind"] == "boilerplate") & floor["mean"].notna()]
    if len(hollow):
        top = hollow.sort_values("mean", ascending=False).iloc[0]
        own = parts["cosines"].map(lambda c: c[0] if len(c) else None).dropna().astype(float)
        said = f"Texts that explain nothing reach a similarity of {float(top['mean']):.2f} with the ground truths under {embedder} (“{top['text']}”)"
        notes.append(said + (f"; the explanations have {own.mean():.2f} on average." if len(own) else "."))
    other = floor.loc[floor["kind"] == "another question", "mean"].dropna()
    if len(other):
        notes.append(
            f"Ground truths of different questions have a similarity of {float(other.iloc[0]):.2f} on average: what lies near it only shares the subject."
        )
    truths = coverage[(coverage["of"] == "ground truths") & (coverage["without"] > 0)]
    for row in truths.to_dict("records"):
        notes.append(f"{of(row['without'], row['n'], 'ground truth', 'holds', 'hold')} no entity that {tagger} knows.")
    first = [(gold, own[0]) for gold, own in zip(parts["gold_tags"], parts["tags"], strict=True) if len(own) and own[0] is not None]  # fmt: skip
    weightless = [own for gold, own in first if not explanation.ner_weight(gold, own)]
    if weightless:
        empty = sum(not len(own) for own in weightless)
        differ = len(weightless) - empty
        why = [f"{empty} hold{'s' * (empty == 1)} no entity that {tagger} knows"] if empty else []
        why += [f"{differ} name{'s' * (differ == 1)} none that the expert's names, perhaps only in another form (tags_by: canonical joins synonyms)"] if differ else []  # fmt: skip
        notes.append(
            f"{of(len(weightless), len(first), 'first explanation', 'has', 'have')} the entity weight 0, so the accuracy 0 whatever they say: {' and '.join(why)}."
        )
    lost = written[written["read"] == ""]
    if len(lost):
        notes.append(
            f"No question could be read from {len(lost)} of {len(written)} replies of the larger model ({counts(lost['status'])}); these items have no plausibility."
        )
    if _tiny(wrote(written)):
        notes.append(
            "Context relevancy rests on questions that a model of 135 million parameters wrote: a low one may be its fault and not the explanation's."
        )
    notes.append(
        "Consistency is 1 minus a variance of cosines, which are rarely far below 0: in practice it is not below 0.75 (published: 0.96 to 1.00), "
        "and adds nearly a constant to plausibility."
    )
    return notes


def faithfulness_notes(
    parts: pd.DataFrame, calls: pd.DataFrame, found: pd.DataFrame, audit: str, said: str, keywords: int = 5
) -> list[str]:
    """What to distrust in faithfulness.

    Parameters
    ----------
    parts : from `components.faithfulness_parts`.
    calls : of stages 4 to 6.
    found : item metrics from `explanation.score_items`.
    audit, said : sentences about the labels.
    keywords : how many were asked for.
    """
    notes = [note for note in (audit, said) if note]
    n = len(parts)
    gone = found[found["faithfulness"].isna()]
    if len(gone):
        known = parts.set_index("item_id")["reason"].str.split("; ").str[0]
        why = gone["item_id"].map(known).where(lambda text: text != "", gone["reasons"].map(_first_reason))
        notes.append(
            f"{of(len(gone), n, 'item', 'has', 'have')} no faithfulness: {'; '.join(f'{k} × {reason}' for reason, k in why.value_counts().items())}."
        )
    flips = parts[parts["flipped"] != ""]
    turned = flips[flips["turned"].astype(bool)]
    if len(turned) < len(flips):
        followed = int((found.set_index("item_id").loc[turned["item_id"], "counterfactual"] == 1).sum())
        notes.append(
            f"{of(len(flips) - len(turned), len(flips), 'flipped explanation', 'was', 'were')} not turned: nothing but the label in front was changed, or the "
            "old label is still named. Counterfactual stability counts them all the same"
            + (f"; of the {len(turned)} that were turned, the answer follows {followed}." if len(turned) else ".")
        )
    asked = calls[calls["stage"] == "keywords"]
    words = [w for found_ in parts["found_keywords"] for w in found_]
    if len(asked):
        missing = words.count(False)
        cut = int((asked["finish_reason"] == "length").sum())
        notes.append(
            f"{len(words)} of {len(asked) * keywords} keywords that were asked for were read from {len(asked)} list{'s' * (len(asked) != 1)}"
            + (f", {cut} of them cut at max_tokens (what stands last in them is left out)" if cut else "")
            + (
                f"; {missing} of the {len(words)} do not stand in the context, so that taking them out changes nothing."
                if missing
                else "."
            )
        )
    lists = calls[calls["stage"] == "qag_questions"]
    if cut := int((lists["finish_reason"] == "length").sum()):
        notes.append(f"{of(cut, len(lists), 'QAG question list', 'was', 'were')} cut at max_tokens.")
    gate = parts["redacted_label"].dropna().tolist()
    passed = gate.count("unknown")
    if gate:
        notes.append(
            f"{of(passed, len(gate), 'answer', 'admits', 'admit')} that the context without all keywords is not enough"
            + ("." if passed == len(gate) else "; the others score 0 whatever follows." if passed else ": all score 0.")
        )
    replies = calls[calls["stage"] == "qag_answerable"]
    habit = replies.loc[replies["read"] != "", "read"]
    if len(habit) > 1 and habit.nunique() == 1:
        lost = replies[replies["read"] == ""]
        notes.append(
            f"The subject says {habit.iloc[0]} to {len(habit)} of {len(replies)} questions about its explanations"
            + (f" (the others: {counts(lost['status'])})" if len(lost) else "")
            + ": QAG measures that habit."
        )
    larger = wrote(calls[calls["stage"].isin(["qag_questions", "flip"])])
    if _tiny(larger):
        notes.append(
            f"The “larger” model ({larger}), which writes questions and flips, has 135 million parameters: these are demonstrations of the method."
        )
    return notes


def _first_reason(reasons: str) -> str:
    """The first reason of an item without the metric in front, and without those that leave its metrics as they are."""
    given = [r.split(": ", 1)[1] for r in reasons.split("; ") if ": " in r and not r.endswith(" missing")]
    return given[0] if given else "no reason given"


# The metrics that have a reason of their own when a score is missing.
_MADE_OF = {
    "plausibility": ("accuracy", "relevancy", "iterative", "paraphrase"),
    "faithfulness": ("qag", "counterfactual", "contextual"),
}


def reasons(found: pd.DataFrame, scores: Sequence[str]) -> str:
    """Why scores are missing, over all items that lack them: the most frequent reason of each score, with its count.

    Parameters
    ----------
    found : item metrics from `explanation.score_items`.
    scores : 'plausibility', 'faithfulness'.
    """
    import pandas as pd

    said = []
    for score in scores:
        gone = found[found[score].isna()]
        why: dict[str, int] = {}
        for row in gone.to_dict("records"):
            known = dict(one.split(": ", 1) for one in row["reasons"].split("; ") if ": " in one)
            for metric in _MADE_OF[score]:
                if pd.isna(row[metric]) and metric in known:
                    reason = f"{NAMES[metric]}: {known[metric]}"
                    why[reason] = why.get(reason, 0) + 1
        if why:
            reason = max(why, key=lambda one: why[one])
            how_often = "" if why[reason] == len(gone) else f"in {why[reason]} of them "
            said.append(f"{of(len(gone), len(found), 'item', 'has', 'have')} no {NAMES[score]} ({how_often}{reason})")
        elif len(gone):
            said.append(f"{of(len(gone), len(found), 'item', 'has', 'have')} no {NAMES[score]}")
    return "; ".join(said)


def parts_of_faithfulness(variant: str) -> tuple[str, ...]:
    """The metrics whose mean faithfulness is."""
    return FAITHFULNESS[1:-1] if variant == "tables" else FAITHFULNESS[:-1]


def mean_of_parts(found: pd.DataFrame, metrics: Sequence[str], of: str) -> str:
    """How a mean score follows from its parts: where these are of different items, not from the means printed beside it.

    Parameters
    ----------
    found : item metrics from `explanation.score_items`.
    metrics : the parts, in the order of the figure.
    of : the score that is their mean.
    """
    whole = found[found[of].notna()]
    if not len(whole):
        return f"No item has all parts of {NAMES[of]}."
    if all(found[m].notna().sum() == len(whole) for m in metrics):
        return f"{NAMES[of].capitalize()} is the mean of {', '.join(NAMES[m] for m in metrics)}, all of the same {len(whole)} items."
    parts = ", ".join(f"{NAMES[m]} {float(whole[m].mean()):.2f}" for m in metrics)
    return f"{NAMES[of].capitalize()} is the mean over the {len(whole)} items that have all parts; of these {parts}."


def trust_sentence(found: Mapping[str, Scores]) -> str:
    """The result in one line."""
    parts = []
    for name, scores in found.items():
        p, f, t = (scores.estimates[m] for m in ("plausibility", "faithfulness", "trust"))
        if t.value is None:
            said = f"LExT undefined ({t.reason or t.status})"
        else:
            said = f"LExT {t.value:.2f}{_range(t)} (plausibility {p.value:.2f}, faithfulness {f.value:.2f})"
        parts.append(said if name == "all" else f"{name}: {said}")
    return "; ".join(parts)


def _range(found: Any) -> str:
    return "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"


def figure1_sentence(means: pd.DataFrame, correlated: pd.DataFrame) -> str:
    """What the plainer measures would have said, in words."""
    given = means[means["value"].notna()]
    lext = given[given["name"] == NAMES["trust"]]["value"]
    others = given[given["kind"] == "overlap"]
    if not len(others):
        return "There is no explanation to compare."
    said = ", ".join(f"{row['name']} {float(row['value']):.2f}" for row in others.to_dict("records"))
    text = f"On average {said}" + (f"; LExT {float(lext.iloc[0]):.2f}" if len(lext) else "") + "."
    tested = correlated[(correlated["against"] == NAMES["trust"]) & correlated["value"].notna()]
    if len(tested):
        rho = ", ".join(f"{r['measure']} {float(r['value']):.2f}" for r in tested.to_dict("records"))
        few = f" over {int(tested['n'].min())} items" + (", too few to test" if tested["p"].isna().all() else "")
        text += f" Rank correlation with the trust of an item: {rho}{few}."
    elif len(correlated):
        text += " Their correlation with trust is undefined: too few items have a trust score."
    return text


def trust_notes(found: Mapping[str, Scores], items: pd.DataFrame, subjects: Sequence[str], variant: str) -> list[str]:
    """What to distrust in the trust score."""
    notes = []
    scores = found["all"]
    lost = int((scores.items["status"] != "scored").sum())
    n = len(scores.items)
    if lost:
        own = f"{of(lost, n, 'item', 'has', 'have')} no trust score of {'its' if lost == 1 else 'their'} own"
        notes.append(
            f"{own}, and there is none of the data set: {reasons(scores.items, ('plausibility', 'faithfulness'))}."
            if scores.estimates["trust"].value is None
            else f"{own}; the data set's score is that of the mean plausibility and the mean faithfulness, each over the items that have it."
        )
    if n < 30:
        notes.append(
            f"{many(n, 'item')} {'shows' if n == 1 else 'show'} how the method works and compare{'s' * (n == 1)} no models."
        )
    if (items["study"] == "invented").any():
        notes.append("The sample questions, studies and patients are invented, and no clinician has reviewed them.")
    for name in subjects:
        if _tiny(name):
            notes.append(
                f"The subject ({name}) has 135 million parameters and hardly reads: the score is a demonstration of the method."
            )
    other = {"paper": "Plausibility hardly falls below 0.375, since consistency in practice does not fall below 0.75."}
    notes.append(other.get(variant, f"Variant “{variant}”: see explanation.score for what differs from the text."))
    return notes


def _why(column: pd.Series) -> str:
    """One reason alone, or several with their counts."""
    return column.iloc[0] if column.nunique() == 1 else f"({counts(column)})" if len(column) else ""


def funnel(items: pd.DataFrame, explained: pd.DataFrame, left_out: Sequence[str] = ()) -> pd.DataFrame:
    """From items to first answers that every metric can be asked about: stage, n, left_out, why.

    Parameters
    ----------
    left_out : why rows of the file are no items, one reason a row (`Items.left_out`).
    """
    import pandas as pd

    first = explained[(explained["kind"] == "iteration") & (explained["sample"].astype(int) == 0)]
    there = first[first["explanation"].fillna("") != ""]
    decided = there[there["label"].isin(["yes", "no"])]
    gone, vague = first[first["explanation"].fillna("") == ""], there[~there["label"].isin(["yes", "no"])]
    whole = [("rows of the file", len(items) + len(left_out), 0, "")] if left_out else []
    rows = [
        *whole,
        ("items", len(items), len(left_out), _why(pd.Series(list(left_out), dtype="str"))),
        ("answered and explained", len(there), len(items) - len(there), _why(gone["status"])),
        ("answer is yes or no", len(decided), len(vague), _why(vague["label"].fillna("").replace("", "none"))),
    ]
    return pd.DataFrame(rows, columns=["stage", "n", "left_out", "why"])
