"""Vignettes with placeholders become one text for each patient, and it is checked that nothing medical changed (10_augment_vignettes).

LExT, appendix A.1. Beside the patients of the paper (race, gender and name at once) there are texts in which only a part of that
differs, and one control: another letter for the patient, which should change no answer."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab import perturb
from factlab.perturb.demographics import PATIENT
from factlab.perturb.patients import GENDERS, NEUTRAL, RACES
from factlab.studies.lext.items import COLUMNS, SAMPLES
from factlab.studies.lext.report import many
from factlab.text import sentences

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

# What differs from the neutral text of the same vignette.
VARIED = {
    "neutral": "nothing",
    "letter": "another letter",
    "all": "race, gender and name",
    "words": "race and gender",
    "name": "name only",
}
PARTS = ("all", "words", "name")
LETTERS = ("Patient B", "Patient K", "Patient S", "Patient G", "Patient M")
_CARRIED = (
    "item_id", "kind", "vignette", "question", "answer", "dosage", "explanation", "keywords", "study",
)  # fmt: skip
_QPAIN = {
    "context": "Vignette", "question": "Question", "label": "Answer", "dose": "Dosage", "explanation": "Explanation",
}  # fmt: skip


def read(run: Workspace, path: str = "", limit: int = 0) -> pd.DataFrame:
    """Vignettes with their placeholders: the samples, or a table in Q-Pain's columns (`sources.read_vignettes`).

    Parameters
    ----------
    run : the workspace; the file is recorded in it.
    path : '' for the samples, whose patients are invented (column study).
    limit : at most so many, the first ones; 0: all.

    Raises
    ------
    ValueError : a limit below 0.
    """
    from factlab import places, sources

    if limit < 0:
        raise ValueError(f"max_vignettes is {limit}; give how many to take, or 0 for all")

    found = sources.read_vignettes(run.used(path or places.samples("lext", SAMPLES["qpain"])))
    found = found if path else found.assign(study="invented")
    if not limit or len(found) <= limit:
        return found
    said = f"Only the first {limit} of {len(found)} vignettes are taken, {len(found) - limit} left out (max_vignettes: {limit}; 0 for all)."
    whole = [said, *found.attrs.get("problems", [])]
    found = found.head(limit)
    found.attrs = found.attrs | {"problems": whole}
    return found


def patients(
    vignettes: pd.DataFrame,
    parts: Sequence[str] = ("all", "name"),
    races: Sequence[str] = RACES,
    genders: Sequence[str] = ("woman", "man"),
    names: int = 1,
    letters: int = 3,
    seed: int = 0,
    patient: str = PATIENT,
) -> pd.DataFrame:
    """Every vignette with every patient (LExT, appendix A.1), as items that 20_explain and 60_fairness can ask about.

    Parameters
    ----------
    vignettes : from `read`: item_id, vignette, question, answer, dosage, explanation, with placeholders.
    parts : 'all' (race, gender and name), 'words' (race and gender; the patient keeps the letter), 'name' (the same names as in 'all'; the rest
        of the text is neutral).
    races, genders, names, seed : as in `perturb.variants`.
    letters : how many neutral texts call the patient by another letter; at most five.
    patient : what the vignettes call the patient. Where one does not, no name or letter can be put into it: its texts of 'all' become such of
        'words', and it has none with another letter or the name alone, which would be the neutral text again (`unnamed`).

    Returns
    -------
    DataFrame, one row a text, vignette by vignette: the columns of `items`, then varied (a key of `VARIED`) and kind. race and gender are
    'neutral' in neutral texts and in those with another letter; where only the name differs they are the group in which it is common. name is ''
    where the patient keeps the letter.

    Raises
    ------
    ValueError : no such part, names without a name, too many letters, no text but neutral ones, and as in `perturb.variants`.
    """
    import pandas as pd

    if unknown := [part for part in parts if part not in PARTS]:
        raise ValueError(f"parts: {unknown[0]!r} is none of {', '.join(PARTS)}")
    others = [letter for letter in LETTERS if letter != patient]
    if not 0 <= letters <= len(others):
        raise ValueError(f"letters is {letters}; it can be 0 to {len(others)}")
    if names < 1 and {"all", "name"} & set(parts):
        raise ValueError("names is 0, so that no text can have a name: take parts: [words], or names: 1")
    # A file's other columns are not needed, and may be called as ours are.
    vignettes = vignettes[[column for column in vignettes.columns if column in _CARRIED]]
    nameless = unnamed(vignettes, patient)
    named = perturb.variants(vignettes, races, genders, names, seed=seed, patient=patient)
    neutral, people = named[named["race"] == NEUTRAL], named[named["race"] != NEUTRAL]
    made = [neutral.assign(varied="neutral", name="")]
    originals = vignettes.set_index("item_id")
    calls = [{"item_id": i, "race": NEUTRAL, "gender": NEUTRAL, "name": n} for i in originals.index if i not in nameless for n in others[:letters]]  # fmt: skip
    made.append(_renamed(originals, calls, "letter", patient))
    people = people[~people["item_id"].isin(nameless)]
    plain = perturb.variants(vignettes, races, genders, 0, baseline=False, seed=seed, patient=patient)
    plain = plain.assign(varied="words", name="")
    for part in dict.fromkeys(parts):
        if part == "all":
            made.append(people.assign(varied="all"))
            made.append(plain[plain["item_id"].isin(nameless)] if "words" not in parts else plain.head(0))
        elif part == "words":
            made.append(plain)
        else:
            made.append(_renamed(originals, people.to_dict("records"), "name", patient))
    if nameless and not any(map(len, made[1:])):
        raise ValueError(
            f"none of the {len(nameless)} vignettes calls the patient “{patient}”, so that no name can be put in; say in `patient` what they do, or take parts: [words]"
        )
    table = pd.concat([one for one in made if len(one)], ignore_index=True)
    order = {item: place for place, item in enumerate(vignettes["item_id"])}
    table = table.sort_values("item_id", key=lambda column: column.map(order), kind="stable").reset_index(drop=True)
    table = table.rename(columns={"item_id": "vignette_id", "variant_id": "item_id", "text": "context", "answer": "label", "dosage": "dose"})  # fmt: skip
    table = table.assign(form="qpain").reindex(columns=[*COLUMNS, "varied", "kind"])
    return table.astype("object").fillna("").astype("str")


def unnamed(vignettes: pd.DataFrame, patient: str = PATIENT) -> list[str]:
    """The item_id of vignettes that nowhere call the patient so, in text or question."""
    called = re.compile(rf"\b{re.escape(patient)}\b")
    asked = vignettes["vignette"] + "\n" + vignettes["question"]
    return [item for item, text in zip(vignettes["item_id"], asked, strict=True) if not called.search(text)]


def _renamed(originals: pd.DataFrame, people: Sequence[dict[str, Any]], varied: str, patient: str) -> pd.DataFrame:
    """Neutral texts in which the patient has a name, or another letter."""
    import pandas as pd

    rows = []
    for person in people:
        own = originals.loc[person["item_id"]]
        key = [person["item_id"], person["race"], person["gender"], person["name"], *(["name only"] if varied == "name" else [])]  # fmt: skip
        texts = {c: perturb.fill(own[c], NEUTRAL, NEUTRAL, person["name"], patient) for c in ("vignette", "question", "explanation")}  # fmt: skip
        row = own.to_dict() | {c: person[c] for c in ("item_id", "race", "gender", "name")} | texts
        rows.append(row | {"variant_id": "|".join(key), "text": row.pop("vignette"), "varied": varied})
    return pd.DataFrame(rows)


def as_csv(variants: pd.DataFrame) -> str:
    """The texts in Q-Pain's columns, and who the patient is behind them: what `read_vignettes` and 20_explain (form qpain) read."""
    columns = [*_QPAIN, "item_id", "kind", "vignette_id", "race", "gender", "name", "varied", "study"]
    return variants[columns].rename(columns=_QPAIN).to_csv(index=False)


# -- what differs --------------------------------------------------------------------------------------------------------


def differing(text: str, neutral: str) -> list[tuple[str, str]]:
    """Runs of words that differ between two texts: (in the neutral one, in this one), in order."""
    old, new = neutral.split(), text.split()
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(" ".join(old[a:b]), " ".join(new[c:d])) for tag, a, b, c, d in steps if tag != "equal"]


def _with_neutral(variants: pd.DataFrame) -> pd.DataFrame:
    """Each text with the neutral one of its vignette as `neutral`."""
    plain = variants[variants["varied"] == "neutral"].set_index("vignette_id")["context"]
    return variants.assign(neutral=variants["vignette_id"].map(plain))


def shown(variants: pd.DataFrame, vignette: str = "") -> pd.DataFrame:
    """All texts of one vignette ('': the first) beside its neutral text: varied, race, gender, name, differs (neutral → this), sentences (those that
    differ; of the neutral text all), text."""
    own = _with_neutral(variants)
    own = own[own["vignette_id"] == (vignette or own["vignette_id"].iloc[0])]
    differs, told = [], []
    for text, neutral in zip(own["context"], own["neutral"], strict=True):
        differs.append("; ".join(f"{a or '·'} → {b or '·'}" for a, b in dict.fromkeys(differing(text, neutral))))
        known = set(sentences(neutral)) if text != neutral else set()
        told.append(" … ".join(one for one in sentences(text) if one not in known))
    table = own.assign(differs=differs, sentences=told, varied=own["varied"].map(VARIED))
    table = table.rename(columns={"context": "text"})
    return table[["varied", "race", "gender", "name", "differs", "sentences", "text"]].reset_index(drop=True)


def balance(variants: pd.DataFrame, patient: str = PATIENT) -> pd.DataFrame:
    """Texts, vignettes and names of each group: varied (texts that differ in more and in less share a row where the names are the same), race,
    gender, texts (of each kind), vignettes, names (how often each; without one what the vignettes call the patient, or 'none')."""
    import pandas as pd

    plain = variants[variants["varied"] == "neutral"].assign(item_id=variants["vignette_id"])
    nameless = set(unnamed(plain.rename(columns={"context": "vignette"}), patient))
    rows: dict[tuple[Any, ...], list[str]] = {}
    for (varied, race, gender), own in variants.groupby(["varied", "race", "gender"], sort=False):
        names = own.loc[own["name"] != "", "name"].value_counts(sort=False)
        said = ", ".join(f"{name} {n}" for name, n in names.items())
        if not said:
            said = "none" if nameless.issuperset(own["vignette_id"]) else patient
        kind = varied if race == NEUTRAL else ""  # neutral texts and other letters keep a row each
        key = (kind, race, gender, len(own), own["vignette_id"].nunique(), said)
        rows.setdefault(key, []).append(VARIED[varied])
    columns = ["varied", "race", "gender", "texts", "vignettes", "names"]
    return pd.DataFrame([("; ".join(kinds), *key[1:]) for key, kinds in rows.items()], columns=columns)


def one_of_each(every: pd.DataFrame) -> pd.DataFrame:
    """Of the texts of one vignette (`shown`) the first of each kind and gender that differs from the neutral one."""
    return every[every["differs"] != ""].drop_duplicates(["varied", "gender"]).reset_index(drop=True)


_VERBS = {frozenset(pair) for pair in (("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"))}
_PERSONAL = {g: {p.subject, p.object, p.possessive, p.reflexive} for g, p in GENDERS.items() if g in ("woman", "man")}
_PLAIN = {"a", "an", *(word for p in GENDERS.values() for word in (*p.noun.split(), p.subject, p.object, p.possessive, p.reflexive))}  # fmt: skip


def _words(text: str) -> list[str]:
    bare = (re.sub(r"^\W+|(?:['’]s)?\W*$", "", word).lower() for word in text.split())
    return [word for word in bare if word]


def _same_verb(a: str, b: str) -> bool:
    return frozenset((a, b)) in _VERBS or re.sub(r"(?:ies|y|e?s)$", "", a) == re.sub(r"(?:ies|y|e?s)$", "", b)


def _foreign(row: dict[str, Any], patient: str) -> list[str]:
    """Words of a text that are not in the neutral one and tell neither race, gender nor name."""
    known = _PLAIN | set(_words(f"{row['name']} {row['race']} {patient}"))
    strange = []
    for old, new in differing(row["context"], row["neutral"]):
        before = _words(old)
        strange += [w for w in _words(new) if w not in known and not any(_same_verb(w, o) for o in before)]
        strange += [w for w in before if w not in known and not any(_same_verb(w, n) for n in _words(new))]
    return strange


def _wrong_pronouns(row: dict[str, Any]) -> list[str]:
    """Pronouns and nouns of another gender than the patient's that the neutral text has not."""
    told = row["gender"] if row["varied"] in ("all", "words") else NEUTRAL
    other = {w for g, words in _PERSONAL.items() if g != told for w in (*words, g)} - _PERSONAL.get(told, set())
    return sorted(other & set(_words(row["context"])) - set(_words(row["neutral"])))


def checks(variants: pd.DataFrame, patient: str = PATIENT) -> pd.DataFrame:
    """What must hold for a difference between answers to be one between patients; `patient`: what the vignettes call the patient.

    Returns
    -------
    DataFrame : check, of (texts or groups looked at), wrong (how many fail), example (of a failure).
    """
    import pandas as pd

    asked = variants.assign(context=variants["context"] + "\n" + variants["question"])
    rows = _with_neutral(asked).to_dict("records")
    found: list[tuple[str, int, list[str]]] = []

    def each(check: str, fails: Any) -> None:
        wrong = [f"{row['item_id']}: {', '.join(map(str, said))}" for row in rows if (said := fails(row))]
        found.append((check, len(rows), wrong))

    groups, uneven = 0, []
    for _, own in variants.groupby("varied", sort=False):  # a vignette without a name has no texts with another one
        cells = own.groupby(["varied", "race", "gender", "vignette_id"], sort=False).size().unstack(fill_value=0)
        groups += len(cells)
        uneven += [str(key) for key, row in cells.iterrows() if row.nunique() > 1 or row.min() == 0]
    found.append(("every group has the same number of texts of every vignette", groups, uneven))
    spread = variants[variants["name"] != ""].groupby(["varied", "race", "gender"])["name"].value_counts()
    per = spread.groupby(level=[0, 1, 2]).agg(["min", "max"])
    found.append(("no name of a group stands more than once more often than another", len(per), [str(k) for k, r in per.iterrows() if r["max"] - r["min"] > 1]))  # fmt: skip
    each("nothing is left in brackets", lambda r: re.findall(r"\[[A-Za-z][\w -]*\]", f"{r['context']} {r['question']} {r['explanation']}"))  # fmt: skip
    each("numbers are those of the neutral text", lambda r: sorted(set(_numbers(r["context"])) ^ set(_numbers(r["neutral"]))))  # fmt: skip
    each("no pronoun of another gender", _wrong_pronouns)
    each("all that differs tells race, gender or name", lambda r: _foreign(r, patient))
    twice = variants[variants.duplicated(["vignette_id", "context", "question"])]
    found.append(("no two texts of a vignette are the same", len(variants), list(twice["item_id"])))
    return pd.DataFrame([(check, of, len(wrong), (wrong or [""])[0]) for check, of, wrong in found], columns=["check", "of", "wrong", "example"])  # fmt: skip


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)*", text)


def sentence(variants: pd.DataFrame, checked: pd.DataFrame) -> str:
    """What was made, and whether it holds."""
    n = variants["vignette_id"].nunique()
    parts = [f"{int(k)} with {VARIED[v]}" for v, k in variants["varied"].value_counts(sort=False).items() if v != "neutral"]  # fmt: skip
    wrong = checked[checked["wrong"] > 0]
    held = (
        "all checks hold" if wrong.empty else f"{len(wrong)} of {len(checked)} checks fail: {'; '.join(wrong['check'])}"
    )
    return f"{many(n, 'vignette')} became {many(len(variants), 'text')}: {', '.join([f'{n} neutral', *parts])}; {held}"


def notes(variants: pd.DataFrame, vignettes: pd.DataFrame, checked: pd.DataFrame, patient: str = PATIENT) -> list[str]:
    """What to distrust in the texts; `patient`: what the vignettes call the patient."""
    said = [f"{row['check']}: {row['wrong']} of {row['of']} fail, e.g. {row['example']}." for row in checked[checked["wrong"] > 0].to_dict("records")]  # fmt: skip
    used = variants.loc[variants["varied"].isin(("all", "name")), ["race", "gender", "name"]].drop_duplicates()
    if len(used):
        sizes = used.groupby(["race", "gender"]).size()
        fewest, most = int(sizes.min()), int(sizes.max())
        each = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        said.append(
            f"A name is a rough sign of a group: of each race and gender {each} name{'s' * (most > 1)} {'are' if most > 1 else 'is'} used. They also tell of age, class and country, "
            "and a model may know some of them from famous people."
        )
    said.append(
        "Neutral texts say “they” and “person”, which is rarer than “she” and “he”: a difference from them can be one of language. "
        "Compare genders with each other as well."
    )
    # An identifier that was made from the texts stands in no file: rows are named where they are known.
    where = dict(zip(vignettes["item_id"], vignettes.attrs.get("where", []), strict=False))
    if nameless := unnamed(vignettes, patient):
        named = "; ".join(where.get(item, item) for item in nameless[:5]) + (
            f" and {len(nameless) - 5} more" if len(nameless) > 5 else ""
        )
        said.insert(
            0,
            f"{len(nameless)} of {many(len(vignettes), 'vignette')} nowhere call{'s' * (len(nameless) == 1)} the patient “{patient}” ({named}): no name and no other "
            "letter can be put in, so that texts differ in race and gender at most. If the patient is called otherwise, say so in `patient`.",
        )
    said += vignettes.attrs.get("problems", [])
    bad = vignettes[vignettes["problem"] != ""]
    if len(bad):
        said.append(f"{len(bad)} of {many(len(vignettes), 'vignette')} {'has' if len(bad) == 1 else 'have'} a problem in their file, e.g. {where.get(bad['item_id'].iloc[0], bad['item_id'].iloc[0])}: {bad['problem'].iloc[0]}.")  # fmt: skip
    if (variants["study"] == "invented").any():
        said.append("The patients of the samples are invented, and no clinician has reviewed them.")
    return said
