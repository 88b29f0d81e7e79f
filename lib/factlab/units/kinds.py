"""Kinds of atomic unit on which annotators and models part (DAHL, section 5.3): coordination, pronouns, context.

Rules on the words of a unit, without its neighbours: rough, fast, and the same for everyone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from factlab.units.verbs import AUX, FUNCTION, PAST, PRESENT, VERBS

if TYPE_CHECKING:
    import pandas as pd

KINDS = {
    "coordination": "joins parts with and, or, as well as",
    "pronoun": "its subject is a pronoun, so that alone it does not say what it is about",
    "context": "points to what stood before it (this process, such, the above, however)",
}
_COORDINATION = re.compile(r"\b(?:and|or|as well as|along with|both)\b|&", re.IGNORECASE)
_OPENING = r"(?:(?:additionally|also|however|therefore|thus|then),? )?"
_PERSONAL = re.compile(rf"^{_OPENING}(?:it|they|he|she|we)\b", re.IGNORECASE)
# This, these …: the word after it (adverbs left aside) tells whether it stands alone or with a noun.
_DEMONSTRATIVE = re.compile(
    rf"^{_OPENING}(this|that|these|those)\b(?: (?:also|often|(?!family|anomaly|assembly)\w+ly)\b)*(?: ([\w-]+))?(?: ([\w-]+))?",
    re.IGNORECASE,
)
_SINGULAR = PRESENT | {"means"}
# Those that are adjectives as well are left out: "these clear membranes".
_PLURAL = VERBS - {"clear", "close", "lower", "mature", "open", "present", "separate", "slow"}
_POINTING = re.compile(
    r"\bsuch (?!as\b)\w+|\bthe (?:above|aforementioned|former|latter|same)\b(?! time\b)|\bas (?:described|mentioned)\b"
    r"|\b(?:described|mentioned) above\b|\bin this (?:way|case)\b"
    r"|^(?:however|therefore|thus|additionally|moreover|furthermore|in addition|as a result|in contrast|for example|"
    r"for instance|similarly|likewise|finally|in summary|overall|in conclusion|consequently|instead|conversely)\b",
    re.IGNORECASE,
)


def kinds(unit: str) -> tuple[str, ...]:
    """Which of `KINDS` a unit is of; none, one or two, since a pronoun as subject counts before other context.

    "This can lead to …" has a pronoun as its subject, "This process leads to …" points to the context.
    """
    text = " ".join(unit.split())
    found = ["coordination"] if _COORDINATION.search(text) else []
    pointing = _DEMONSTRATIVE.match(text)
    if _PERSONAL.match(text) or (pointing and _stands_alone(*(word.lower() for word in pointing.groups("")))):
        found.append("pronoun")
    elif pointing or _POINTING.search(text):
        found.append("context")
    return tuple(found)


def _stands_alone(pronoun: str, word: str, following: str) -> bool:
    """Whether "this" and its like are followed by a verb ("This leads to") and not by a noun ("This lead", "These results")."""
    if word in AUX:
        return True
    if word in PAST:  # "This increased the risk", but "this increased risk"
        return following in FUNCTION
    return word in (_SINGULAR if pronoun in ("this", "that") else _PLURAL)


def by_kind(frame: pd.DataFrame, outcome: str, clusters: str | None = None, seed: int = 0) -> pd.DataFrame:
    """How often something happens (two annotators disagree, a judge errs) among units of each kind and among the others.

    Parameters
    ----------
    frame : DataFrame with unit and a column of truth values.
    outcome : that column; rows where it is missing are left out.
    clusters : column of what the units came from (the response).

    Returns
    -------
    DataFrame, one row a kind (and `plain`, of no kind): kind, meaning, n, share, low, high (0..1, see `stats.estimate`), others_n,
    others_share (units that are not of the kind), text.
    """
    import pandas as pd

    from factlab import stats

    known = frame[frame[outcome].notna()]
    of = known["unit"].map(kinds)
    rows = []
    for kind, meaning in {**KINDS, "plain": "none of these"}.items():
        inside = of.map(lambda found, kind=kind: not found if kind == "plain" else kind in found).astype(bool)
        part, rest = known[inside], known[~inside]
        found = stats.estimate(
            part[outcome].astype(float), part[clusters] if clusters else None, seed=seed, unit="units", name="share"
        )
        others = float(rest[outcome].mean()) if len(rest) else None
        rows.append(
            {"kind": kind, "meaning": meaning, "n": found.n, "share": found.value, "low": found.low, "high": found.high,
             "others_n": len(rest), "others_share": others, "text": str(found)}
        )  # fmt: skip
    floats = dict.fromkeys(["share", "low", "high", "others_share"], "Float64")
    return pd.DataFrame(rows).astype(floats)
