"""What LExT's pages say: sentences built from the numbers, and what to distrust in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab.studies.lext.trust import NAMES

if TYPE_CHECKING:
    import pandas as pd

    from factlab.explanation import Scores

SMALL = "SmolLM2"  # how the built-in model of 135 million parameters is named in tables
TINY = "local/smollm2"


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
    both["label"] = both["label"].fillna("").replace("", "none")
    table = pd.crosstab(both["gold"], both["label"])
    table.columns.name = None
    return table.assign(n=table.sum(axis=1)).reset_index()


def bare(explained: pd.DataFrame, words: int = 3) -> int:
    """How many answers are a label and (nearly) nothing else."""
    given = explained["explanation"].fillna("")
    return int(((given != "") & (given.str.split().str.len() <= words)).sum())


def explained_sentence(explained: pd.DataFrame, items: pd.DataFrame) -> str:
    """What was asked and how the first answers agree with the gold labels."""
    first = explained[(explained["kind"] == "iteration") & (explained["sample"].astype(int) == 0)]
    both = first.merge(items[["item_id", "label"]].rename(columns={"label": "gold"}), on="item_id")
    right = int((both["label"] == both["gold"]).sum())
    kinds = explained["kind"].value_counts()
    return (
        f"{len(items)} items, {kinds.get('iteration', 0)} answers and {kinds.get('paraphrase', 0)} to paraphrases; "
        f"the first answer has the gold label in {right} of {len(both)}"
    )


def explained_notes(explained: pd.DataFrame, calls: pd.DataFrame, paraphrases: int, temperature: float) -> list[str]:
    """What to distrust in the answers."""
    notes = []
    failed = explained[explained["explanation"].fillna("") == ""]
    if len(failed):
        notes.append(
            f"{len(failed)} of {len(explained)} answers hold no explanation ({_counts(failed['status'])}); they stay in the tables as missing."
        )
    if n := bare(explained):
        notes.append(
            f"{n} of {len(explained)} answers are a label with hardly a word more, which are scored as explanations."
        )
    cut = int((explained["finish_reason"] == "length").sum())
    if cut:
        notes.append(
            f"{cut} of {len(explained)} answers ran into max_tokens and end in the middle; they are scored as they stand."
        )
    unread = explained[explained["label"].fillna("").isin(["random", "unknown", "maybe", ""])]
    if len(unread):
        notes.append(
            f"{len(unread)} of {len(explained)} answers say neither yes nor no ({_counts(unread['label'].replace('', 'none'))}). An item whose "
            "first answer is one of them has no counterfactual stability, so no faithfulness and no trust score."
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


def _counts(column: pd.Series) -> str:
    return ", ".join(f"{n} {name}" for name, n in column.value_counts().items())


def plausibility_notes(
    parts: pd.DataFrame, floor: pd.DataFrame, coverage: pd.DataFrame, written: pd.DataFrame, embedder: str, tagger: str
) -> list[str]:
    """What to distrust in plausibility."""
    notes = []
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
    for row in coverage.to_dict("records"):
        if row["without"]:
            notes.append(
                f"{row['without']} of {row['n']} {row['of']} hold no entity that {tagger} knows; the entity weight is then 0 whatever the text says."
            )
    lost = written[written["read"] == ""]
    if len(lost):
        notes.append(
            f"No question could be read from {len(lost)} of {len(written)} replies of the larger model ({_counts(lost['status'])}); these items have no plausibility."
        )
    if _tiny(wrote(written)):
        notes.append(
            "Context relevancy rests on questions that a model of 135 million parameters wrote: a low one may be its fault and not the explanation's."
        )
    notes.append(
        "Consistency is 1 minus a variance of numbers between 0 and 1, so never below 0.75 (published: 0.96 to 1.00): it adds nearly a constant to plausibility."
    )
    return notes


def faithfulness_notes(
    parts: pd.DataFrame, calls: pd.DataFrame, found: pd.DataFrame, audit: str, said: str
) -> list[str]:
    """What to distrust in faithfulness.

    Parameters
    ----------
    parts : from `trust.faithfulness_parts`.
    calls : of stages 4 to 6.
    found : item metrics from `explanation.score_items`.
    audit, said : sentences about the labels.
    """
    notes = [note for note in (audit, said) if note]
    n = len(parts)
    no_flip = int(found["counterfactual"].isna().sum())
    if no_flip:
        notes.append(
            f"{no_flip} of {n} items have no counterfactual stability, so no faithfulness: most often since the answer is neither yes nor no."
        )
    same = int(parts["unchanged"].sum())
    flips = int((parts["flipped"] != "").sum())
    if same:
        notes.append(
            f"{same} of {flips} flipped explanations are word for word the old ones: the larger model did not turn them."
        )
    words = [w for found_ in parts["found_keywords"] for w in found_]
    if words and not all(words):
        notes.append(
            f"{words.count(False)} of {len(words)} keywords do not stand in the context, so that taking them out changes nothing."
        )
    gate = parts["redacted_label"].dropna().tolist()
    passed = gate.count("unknown")
    if gate:
        notes.append(
            f"{passed} of {len(gate)} answers admit that the context without all keywords is not enough; the others score 0 whatever follows."
        )
    yes = [a for answers in parts["answered"] for a in answers if a is not None]
    if yes and len(set(yes)) == 1:
        notes.append(
            f"The subject says {'yes' if yes[0] else 'no'} to all {len(yes)} questions about its explanations: QAG measures that habit."
        )
    larger = wrote(calls[calls["stage"].isin(["qag_questions", "flip"])])
    if _tiny(larger):
        notes.append(
            f"The “larger” model ({larger}), which writes questions and flips, has 135 million parameters: these are demonstrations of the method."
        )
    return notes


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
        notes.append(
            f"{lost} of {n} items have no trust score of their own; the data set's score is that of the mean plausibility and the mean faithfulness, each over the items that have it."
        )
    if n < 30:
        notes.append(f"{n} items show how the method works and compare no models.")
    if (items["study"] == "invented").any():
        notes.append("The sample questions, studies and patients are invented, and no clinician has reviewed them.")
    for name in subjects:
        if _tiny(name):
            notes.append(
                f"The subject ({name}) has 135 million parameters and hardly reads: the score is a demonstration of the method."
            )
    other = {"paper": "Plausibility is at least 0.375 by construction, since consistency cannot fall below 0.75."}
    notes.append(other.get(variant, f"Variant “{variant}”: see explanation.score for what differs from the text."))
    return notes


def _why(column: pd.Series) -> str:
    """One reason alone, or several with their counts."""
    return column.iloc[0] if column.nunique() == 1 else f"({_counts(column)})" if len(column) else ""


def funnel(items: pd.DataFrame, explained: pd.DataFrame) -> pd.DataFrame:
    """From items to first answers that every metric can be asked about: stage, n, left_out, why."""
    import pandas as pd

    first = explained[(explained["kind"] == "iteration") & (explained["sample"].astype(int) == 0)]
    there = first[first["explanation"].fillna("") != ""]
    decided = there[there["label"].isin(["yes", "no"])]
    gone, vague = first[first["explanation"].fillna("") == ""], there[~there["label"].isin(["yes", "no"])]
    rows = [
        ("items", len(items), 0, ""),
        ("answered and explained", len(there), len(items) - len(there), _why(gone["status"])),
        ("answer is yes or no", len(decided), len(vague), _why(vague["label"].fillna("").replace("", "none"))),
    ]
    return pd.DataFrame(rows, columns=["stage", "n", "left_out", "why"])
