"""Whether keys give themselves away: as first written, as audited, and after exclusion (40_audit). MS-Exam-Gen, section V and Figure 2 (left).

The probe itself is `exam.cue_probe`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab import exam
from factlab.exam import Item, lengths
from factlab.exam.cues import CHANCE

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace


STAGES = {"first": "as first written", "after": "as audited", "kept": "after exclusion"}
CUES = {
    "structure": "structure of the options",
    "both": "structure and words of the stem",
    "longest_key": "key is the one longest option",
}
FEWEST = (
    20  # items from which a selector is fitted: with a handful it learns nothing, and a share of them compares nothing
)


def first_drafts(run: Workspace) -> list[Item]:
    """What could be read of the first drafts, before any repair; empty where 30_write_items has not run."""
    from factlab.studies.ms_exam_gen.writing import as_first

    return (
        as_first(exam.from_table(run.read("first_drafts"), "the table first_drafts")) if run.has("first_drafts") else []
    )


def stages(run: Workspace, items: Sequence[Item], kept: Sequence[Item]) -> dict[str, Sequence[Item]]:
    """The banks that the probe compares: first drafts where there are any, the items that were audited, those that stay."""
    first = first_drafts(run)
    return ({"first": first} if first else {}) | {"after": items, "kept": kept}


def cues(stages: Mapping[str, Sequence[Item]], *, permutations: int = 199, seed: int = 0) -> pd.DataFrame:
    """How often the key is found from the looks of the options, at each stage of a bank.

    Parameters
    ----------
    stages : banks by stage, of `STAGES`.
    permutations : of the keys, for the test against chance; 0: no test.
    seed : of bootstrap and permutations.

    Returns
    -------
    DataFrame : stage, cue ('structure', 'both', 'longest_key'), value, low, high, chance (for longest_key that of this very bank, in which
    the longest options may be equal), p (one-sided; missing for longest_key, which has no test), n, status, reason. Missing with a reason
    where a stage has no items, and of the probe also with fewer than `FEWEST` of them or no two topics.
    """
    import pandas as pd

    rows = []
    for stage, given in stages.items():
        items = [item for item in given if item.key_number >= 0 and len(item.options) == len(exam.LETTERS)]
        groups = [item.topic for item in items]
        for cue in ("structure", "both", "longest_key"):
            row: dict[str, Any] = {
                "stage": stage,
                "cue": cue,
                "value": None,
                "low": None,
                "high": None,
                "chance": lengths.longest_by_chance(items) if cue == "longest_key" else CHANCE,
                "p": None,
            }
            row |= {"n": len(items), "status": "undefined", "reason": _why(items, groups)}
            # The share of longest keys needs no selector.
            if items and (cue == "longest_key" or not row["reason"]):
                found = (
                    exam.longest_key(items, groups, seed=seed)
                    if cue == "longest_key"
                    else exam.cue_probe(items, groups, cue, seed=seed)
                )
                row |= {"value": found.value, "low": found.low, "high": found.high, "status": "scored", "reason": ""}
                if permutations and cue != "longest_key":
                    row["p"] = float(
                        exam.cue_test(items, groups, cue, permutations=permutations, seed=seed)["p"].iloc[0]
                    )
            rows.append(row)
    table = pd.DataFrame(rows)
    for name in ("value", "low", "high", "chance", "p"):
        table[name] = pd.array([None if v is None or v != v else float(v) for v in table[name]], dtype="Float64")
    return table


def _why(items: Sequence[Item], groups: Sequence[str]) -> str:
    if not items:
        return "no items"
    if len(items) < FEWEST:
        return f"{len(items)} item{'s' * (len(items) != 1)}, fewer than {FEWEST}"
    return "" if len(set(groups)) > 1 else "all items are of one topic, so none can be left out"


def cue_table(found: pd.DataFrame) -> pd.DataFrame:
    """The same, one row a cue and columns for each stage, for `figures.cue_bars`."""
    import pandas as pd

    rows = []
    for cue, own in found.groupby("cue", sort=False):
        row: dict[str, Any] = {"cue": cue}
        for stage in own.to_dict("records"):
            name = stage["stage"]
            row |= {
                name: stage["value"],
                f"{name}_low": stage["low"],
                f"{name}_high": stage["high"],
                f"chance_{name}": stage["chance"],
                f"n_{name}": stage["n"],
            }
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.astype({c: "Float64" for c in table.columns if c != "cue" and not c.startswith("n_")})


def cue_sentence(found: pd.DataFrame) -> str:
    """What the probe found, in words."""
    said = []
    if not probed(found):
        return f"no probe for cues: fewer than {FEWEST} items at every stage, or one topic"
    for stage, own in found[found["cue"] == "structure"].groupby("stage", sort=False):
        row = own.iloc[0]
        name = STAGES.get(stage, stage)
        if row["status"] != "scored":
            said.append(f"{name}: undefined ({row['reason']})")
            continue
        p = "" if _missing(row["p"]) else f", p {row['p']:.3g}"
        said.append(f"{name}: {100 * row['value']:.0f} % of {row['n']} keys{p}")
    return "keys told from the structure of the options, with 25 % by chance: " + "; ".join(said)


def probed(found: pd.DataFrame) -> bool:
    """Whether the probe was made at any stage."""
    return bool(((found["cue"] != "longest_key") & (found["status"] == "scored")).any())


def in_words(found: pd.DataFrame) -> pd.DataFrame:
    """`cues` for reading: the bank and the cue by name, share of items with its interval, chance, p, items, and why there is no share."""
    told = found.assign(
        bank=found["stage"].map(lambda one: STAGES.get(one, one)), cue=found["cue"].map(CUES), items=found["n"]
    ).rename(columns={"value": "share", "reason": "why not"})
    return told[["bank", "cue", "share", "low", "high", "chance", "p", "items", "why not"]]


def _missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))
