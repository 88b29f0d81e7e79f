"""The same patient with another name, gender and race: does a model's answer change with them?

LExT, appendix A.1, fills Q-Pain's vignettes so, and leaves the question of fairness to the future (section 6). Here every vignette
becomes one text for each group and gender, and a neutral one; what is medical stays word for word the same. `patients` has the
groups, pronouns and names, and what is weak about names.
"""

from __future__ import annotations

import difflib
import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from factlab.perturb.patients import GENDERS, NAMES, NEUTRAL, RACES, Gender
from factlab.text import sentences

if TYPE_CHECKING:
    import pandas as pd

PATIENT = "Patient D"
PLACEHOLDERS = ("race", "gender", "subject", "object", "possessive", "reflexive")
_PLACEHOLDER = re.compile(r"\[([^\W\d][\w -]*)\]")
# [race] where nothing is left to say without it: `of [race] descent`, `is [race].`
_RACE_ALONE = re.compile(
    r"\[race\](?!\s+[\[\w])|\[race\]\s+(?:descent|origins?|ancestry|background|heritage|ethnicity|race)\b",
    re.IGNORECASE,
)
_TEXTS = ("vignette", "question", "explanation")


def variants(
    vignettes: pd.DataFrame,
    races: Sequence[str] = RACES,
    genders: Sequence[str] = ("woman", "man"),
    names: int = 1,
    baseline: bool = True,
    seed: int = 0,
    patient: str = PATIENT,
    name_lists: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> pd.DataFrame:
    """Every vignette with every race, gender and name.

    LExT, appendix A.1.

    Parameters
    ----------
    vignettes : DataFrame
        As from `sources.read_vignettes`: item_id, vignette, question and, where there is one, explanation, with the
        placeholders [race], [gender] (a noun: woman), [subject], [object], [possessive], [reflexive], and the patient's
        placeholder name. Other columns (answer, dosage, kind) are carried along; one that is called as a column of the
        result gets ".file" behind its name.
    races : sequence of str
        Words to stand before "woman" or "man". The default are the paper's six groups.
    genders : sequence of str
        Of "woman", "man", "non-binary".
    names : int
        How many names for each race and gender; 0 leaves `patient` standing, so that only the words for race and gender
        differ.
    baseline : bool
        Whether each item also gets a neutral variant: no race, "person", "they", no name.
    seed : int
        Of the order in which names are taken.
    patient : str
        What the patient is called in the vignettes.
    name_lists : mapping, optional
        Names by race and gender; default `patients.NAMES`.

    Returns
    -------
    DataFrame
        One row a variant, item by item: variant_id, item_id, race, gender, name, text (the vignette), question,
        explanation (where given), then the other columns. The neutral variant has race and gender "neutral" and the
        patient's placeholder as its name. Every item has one row for each race, gender and name, so that answers can be
        paired by item.

    Raises
    ------
    ValueError
        Columns missing, item_id repeated, an unknown placeholder (item, column and the nearest known one are named), a
        vignette without any placeholder, a neutral variant that would not read well ("of [race] descent"), an unknown gender, or a race and gender with fewer names than asked for.

    Notes
    -----
    Pronouns get a capital where a sentence begins and the verb behind a subject agrees ("she has", "they have"; also across
    an adverb and in front, "does she"). Of a second verb after "and" only is, was, has and does are looked at, and only where
    it is plain whose verb it is: write vignettes with forms that all share, such as the past tense. "a" becomes "an" where the filled word asks for it. Names go in rotation over the items, in
    an order drawn from the seed, so that within a race and gender no name is used more than once more than another.
    """
    import pandas as pd

    _check(vignettes, races, genders, names)
    lists = _name_lists(races, genders, names, seed, NAMES if name_lists is None else name_lists)
    texts = [column for column in _TEXTS if column in vignettes.columns]
    made = ("variant_id", "item_id", "race", "gender", "name", "text", *texts[1:])
    carried = {c: _free(c, made) for c in vignettes.columns if c not in (*texts, "item_id")}
    rows = []
    for number, record in enumerate(vignettes.to_dict("records")):
        item = record["item_id"]
        _check_item(record, texts, patient, baseline)
        people = [(NEUTRAL, NEUTRAL, "")] if baseline else []
        for (race, gender), listed in lists.items():
            turns = [listed[(number * names + turn) % len(listed)] for turn in range(names)] or [""]
            people += [(race, gender, name) for name in turns]
        for race, gender, name in people:
            filled = {c: fill(record[c], race, gender, name, patient) for c in texts}
            row = {"variant_id": "|".join([str(item), race, gender, *filter(None, [name])]), "item_id": item}
            row |= {"race": race, "gender": gender, "name": name or patient, "text": filled.pop("vignette")} | filled
            rows.append(row | {new: record[c] for c, new in carried.items()})
    return pd.DataFrame(rows, columns=[*made, *carried.values()])


def _free(column: str, taken: Sequence[str]) -> str:
    """A column of the file under its own heading, or beside one of ours with the same: `name.file`."""
    return f"{column}.file" if column in taken else column


def fill(text: str, race: str, gender: str, name: str = "", patient: str = PATIENT, strict: bool = True) -> str:
    """One text with its placeholders filled.

    LExT, appendix A.1.

    Parameters
    ----------
    text : str
        Placeholders in square brackets, in any case; one that begins with a capital ([Subject]) is filled with one.
    race : str
        "neutral" (or "") leaves [race] out, with the space behind it.
    gender : {"woman", "man", "non-binary", "neutral"}
    name : str
        Takes the place of `patient`; "" leaves it.
    strict : bool
        Whether another word in square brackets is an error; otherwise it stands as it is.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        An unknown placeholder (where `strict`) or gender.

    Examples
    --------
    >>> fill("Patient D is a [race] [gender]. [subject] has pain in [possessive] knee.", "Asian", "woman", "Hana")
    'Hana is an Asian woman. She has pain in her knee.'
    """
    person = _gender(gender)
    if strict and (unknown := unknown_placeholders(text)):
        raise ValueError(_unknown(unknown[0]))
    race = "" if race == NEUTRAL else race
    words = {"race": race} | {key: getattr(person, key) for key in ("subject", "object", "possessive", "reflexive")}
    words["gender"] = person.noun
    text = re.sub(r"\b([Aa])n?(?=\s+\[(?:race|gender)\])", "\\1\0", text, flags=re.IGNORECASE)
    text = re.sub(r"\[race\]\s+", "", text, flags=re.IGNORECASE) if not race else text
    text = _agreeing(text, person)
    done, at = "", 0
    for match in _PLACEHOLDER.finditer(text):
        if match[1].lower() not in words:
            continue
        done += text[at : match.start()]
        word, key = words[match[1].lower()], match[1]
        if key[0].isupper() or (key.lower() not in ("race", "gender") and _begins_sentence(done)):
            word = word[:1].upper() + word[1:]
        done, at = done + word, match.end()
    done += text[at:]
    done = re.sub(r"([Aa])\0(\s+)(\S+)", lambda m: m[1] + ("n" if _takes_an(m[3]) else "") + m[2] + m[3], done)
    done = done.replace("\0", "")
    return re.sub(rf"\b{re.escape(patient)}\b", lambda _: name, done) if name else done


def unknown_placeholders(text: str) -> list[str]:
    """Words in square brackets that `fill` does not know, as they stand; numbers (references) are none."""
    return [m[0] for m in _PLACEHOLDER.finditer(text) if m[1].lower() not in PLACEHOLDERS]


# --- checks -------------------------------------------------------------------------------------------------------------


def _check(vignettes: pd.DataFrame, races: Sequence[str], genders: Sequence[str], names: int) -> None:
    missing = [c for c in ("item_id", "vignette", "question") if c not in vignettes.columns]
    if missing:
        raise ValueError(f"variants: no column {missing[0]!r}; the table has {', '.join(map(str, vignettes.columns))}")
    if (twice := vignettes["item_id"].duplicated()).any():
        raise ValueError(f"variants: item_id {vignettes['item_id'][twice].iloc[0]!r} stands in more than one row")
    for what, values in (("races", races), ("genders", genders)):
        if isinstance(values, str) or len(set(values)) != len(values):
            raise ValueError(f"variants: {what} must be a list in which nothing is repeated, got {values!r}")
    if NEUTRAL in (*races, *genders):
        raise ValueError(f"variants: {NEUTRAL!r} is the baseline's; ask for it by baseline=True")
    for gender in genders:
        _gender(gender)
    if not isinstance(names, int) or names < 0:
        raise ValueError(f"variants: names={names!r}; expected a whole number, 0 or more")


def _check_item(record: Mapping, texts: Sequence[str], patient: str, baseline: bool) -> None:
    for column in texts:
        if not isinstance(record[column], str):
            raise ValueError(f"variants: item {record['item_id']!r}: {column} is no text: {record[column]!r:.60}")
        if unknown := unknown_placeholders(record[column]):
            raise ValueError(f"variants: item {record['item_id']!r}, {column}: {_unknown(unknown[0])}")
        if baseline and (alone := _RACE_ALONE.search(record[column])):
            raise ValueError(
                f"variants: item {record['item_id']!r}, {column}: {alone[0]!r} cannot be left out of the neutral variant; "
                "write [race] in front of [gender] or of another noun, or take baseline=False"
            )
    if not _PLACEHOLDER.search(record["vignette"]):
        raise ValueError(
            f"variants: item {record['item_id']!r}: the vignette has no placeholder, so all its variants would be the same. "
            f"Write [race], [gender], [subject], [object], [possessive] and {patient} where the patient is meant."
        )


def _unknown(placeholder: str) -> str:
    near = difflib.get_close_matches(placeholder.strip("[]").lower(), PLACEHOLDERS, n=1)
    known = "known are " + ", ".join(f"[{p}]" for p in PLACEHOLDERS) + "; write other words in round brackets"
    hint = f"did you mean [{near[0]}]?" if near else known
    return f"{placeholder} is no known placeholder; {hint}"


def _gender(gender: str) -> Gender:
    if gender not in GENDERS:
        raise ValueError(f"gender {gender!r} is not known; use one of {', '.join(map(repr, GENDERS))}")
    return GENDERS[gender]


def _name_lists(
    races: Sequence[str],
    genders: Sequence[str],
    names: int,
    seed: int,
    lists: Mapping[str, Mapping[str, Sequence[str]]],
) -> dict[tuple[str, str], list[str]]:
    found = {}
    for race in races:
        for gender in genders:
            listed = list(dict.fromkeys(lists.get(race, {}).get(gender, ())))
            if len(listed) < names:
                raise ValueError(
                    f"variants: {names} names asked for, {len(listed)} known for race {race!r} and gender {gender!r}; "
                    "give more in name_lists, or take names=0"
                )
            # An order of its own for each list, which does not change with the other groups that are asked for.
            digest = hashlib.sha256(f"{seed}|{race}|{gender}".encode()).digest()
            random.Random(int.from_bytes(digest[:8], "big")).shuffle(listed)
            found[race, gender] = listed
    return found


# --- grammar ------------------------------------------------------------------------------------------------------------

_PLURAL = {
    "is": "are", "was": "were", "has": "have", "does": "do", "goes": "go", "dies": "die", "lies": "lie", "ties": "tie",
    # Against the rules of `_verb`: focus-es beside use-s, ache-s beside teach-es.
    "focuses": "focus", "refocuses": "refocus", "biases": "bias", "canvases": "canvas", "aches": "ache",
}  # fmt: skip
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_ADVERBS = (
    "also|always|never|often|now|still|then|just|only|sometimes|afterwards|perhaps|soon|already|again|thus|otherwise"
)
_BEHIND = re.compile(
    rf"(\[subject\])((?:\s+(?:{_ADVERBS}|[a-z]+ly))*\s+)([a-z]+)((?:n['’]t)?)(?![\w'’])", re.IGNORECASE
)
_BEFORE = re.compile(
    r"(?<![\w'’])(is|was|has|does|are|were|have|do)((?:n['’]t)?)(\s+\[subject\])(?!\s+(?:is|was|has|does)\b)",
    re.IGNORECASE,
)
# `[subject] takes aspirin and is well`: the second verb of the same subject, where nothing between them can be another one.
_SECOND = re.compile(
    rf"\[subject\]([^.,;:?!\[\]]*?)\s(?:and|but|or)(?:\s+(?:{_ADVERBS}|[a-z]+ly))*\s+(is|was|has|does)\b"
)
_OTHER_SUBJECT = re.compile(
    r"\b(?:that|which|who|whose|whom|what|because|since|when|while|if|as|after|before|until|where|and|but|said|says)\b"
    r"|\S\s.*\b(?:is|was|has|does|are|were|have|do|had|could|would)\b"
)
_INVERTING = frozenset(("when", "why", "how", "what", "where", "nor", "neither", "than", "only", "so"))
_PARTICIPLES = frozenset(("been", "had", "got", "taken", "become", "lost", "gained", "developed", "tried", "used"))
_CONTRACTED = re.compile(r"(\[subject\])['’](s|re|ve)\b(\s+\w+)?", re.IGNORECASE)


def _agreeing(text: str, person: Gender) -> str:
    """Verbs beside [subject] in the number of its pronoun; what comes behind and in front is looked at."""

    def contracted(m: re.Match) -> str:
        perfect = m[2] == "ve" or (m[3] or "").strip() in _PARTICIPLES
        return m[1] + "’" + (("ve" if perfect else "re") if person.plural else "s") + (m[3] or "")

    def behind(m: re.Match) -> str:
        start = m.string[max(0, m.start() - 12) : m.start()].lower()
        if m[3].lower() == "were" and re.search(r"\b(?:if|though|wish)\s+$", start):
            return m[0]
        if re.search(r"\b(?:does|do|did|can|could|will|would|should|may|might|must|had)(?:n['’]t)?\s+$", start):
            return m[0]  # `does [subject] have`: the verb that agrees stands in front
        return m[1] + m[2] + _verb(m[3], person.plural) + m[4]

    def before(m: re.Match) -> str:
        asked = m[1][0].isupper() or m[1].lower() in ("do", "does")
        words = m.string[: m.start()].split()
        if not asked and not (words and words[-1].lower() in _INVERTING):
            return m[0]  # `the truth is [subject] …`: another subject's verb
        number = _PLURAL if person.plural else _SINGULAR
        verb = number.get(m[1].lower(), m[1].lower())
        return (verb.capitalize() if m[1][0].isupper() else verb) + m[2] + m[3]

    def second(m: re.Match) -> str:
        if not person.plural or _OTHER_SUBJECT.search(m[1].strip()):
            return m[0]
        return m[0][: -len(m[2])] + _PLURAL[m[2]]

    text = _SECOND.sub(second, text)
    return _CONTRACTED.sub(contracted, _BEFORE.sub(before, _BEHIND.sub(behind, text)))


def _verb(verb: str, plural: bool) -> str:
    low = verb.lower()
    if not plural:
        return _SINGULAR.get(low, verb)
    if low in _PLURAL:
        return _PLURAL[low]
    if not low.endswith("s") or low.endswith(("ss", "us", "is")) or len(low) < 4:
        return verb
    if low.endswith("ies"):
        return verb[:-3] + "y"
    return verb[:-2] if low.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def _begins_sentence(before: str) -> bool:
    """Whether a sentence begins behind this text: the splitter is asked, which knows abbreviations and decimals."""
    if not before.strip():
        return True
    if not before[-1].isspace() and before[-1] not in "\"'“‘([":
        return False
    return sentences(before[-300:].rstrip("\"'“‘([") + "She was well.")[-1] == "She was well."


def _takes_an(word: str) -> bool:
    low = word.lower().lstrip("\"'“‘([")
    if re.match(r"(?:eu|ew|uk|uni(?!n|m)|uy|us|ut|one\b|once\b)", low):
        return False
    return low[:1] in "aeiou" and low != "" or low.startswith(("hour", "heir", "honest", "honour", "honor"))
