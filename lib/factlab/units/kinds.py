"""Kinds of atomic unit on which annotators and models part (DAHL, section 5.3): coordination, pronouns, context."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from factlab.units.verbs import AUX, PAST, PRESENT

if TYPE_CHECKING:
    import pandas as pd

KINDS = {
    "coordination": "joins parts with and, or, as well as",
    "pronoun": "its subject is a pronoun, so that alone it does not say what it is about",
    "context": "points to what stood before it (this process, such, above, however)",
}
_COORDINATION = re.compile(r"\b(?:and|or|as well as|along with|both)\b|&", re.IGNORECASE)
_PERSONAL = re.compile(
    r"^(?:(?:additionally|also|however|therefore|thus|then),? )?(?:it|they|he|she|we|these|those|this|that)\b", re.I
)
_POINTING = re.compile(
    r"\b(?:such (?:a|an|\w+)|(?:the )?(?:above|aforementioned|former|latter|same)|as described|in this (?:way|case))\b"
    r"|^(?:however|therefore|thus|additionally|moreover|furthermore|in addition|as a result|in contrast|for example|"
    r"for instance|similarly|likewise|finally|in summary|overall|in conclusion|consequently|instead|conversely)\b",
    re.IGNORECASE,
)


def kinds(unit: str) -> tuple[str, ...]:
    """Which of `KINDS` a unit is of; none, one or several.

    "This can lead to …" has a pronoun as its subject, "This process leads to …" points to the context.
    """
    text = " ".join(unit.split())
    found = ["coordination"] if _COORDINATION.search(text) else []
    start = _PERSONAL.match(text)
    after = re.match(r"(?: (?:also|often|usually|typically|\w+ly))* (\w+)", text[start.end() :]) if start else None
    personal = bool(start) and start[0].split()[-1].lower() in ("it", "they", "he", "she", "we")
    verb = bool(after) and after[1].lower() in AUX | PRESENT | PAST
    if start and (personal or verb):
        found.append("pronoun")
    elif start or _POINTING.search(text):
        found.append("context")
    return tuple(found)


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
        row = {
            "kind": kind,
            "meaning": meaning,
            "n": found.n,
            "share": found.value,
            "low": found.low,
            "high": found.high,
        }
        row |= {"others_n": len(rest), "others_share": float(rest[outcome].mean()) if len(rest) else None}
        rows.append(row | {"text": str(found)})
    floats = dict.fromkeys(["share", "low", "high", "others_share"], "Float64")
    return pd.DataFrame(rows).astype(floats)
