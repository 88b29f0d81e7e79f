"""Faithfulness: does an explanation reflect what the model's answer rested on?

LExT, section 3.2. Labels and yes/no answers go in (`labels` reads them from replies), numbers come out: QAG,
counterfactual stability, contextual faithfulness, and their mean. What is undefined is NaN.
"""

import math
from collections.abc import Iterable, Sequence

from factlab.explanation.labels import LABELS, flip
from factlab.explanation.plausible import check_variant, share
from factlab.perturb import redact
from factlab.text import fold

HOW = ("remove", "restore")
_KNOWN = (*LABELS, "low", "high")


def qag(answered: Iterable[bool | None]) -> float:
    """How many of the questions written from an explanation it answers, in the subject's own view.

    LExT, equation 7: positive labels over questions. (Table 13: yes, no, yes is 0.67.)

    Parameters
    ----------
    answered : iterable of bool or None
        One a question: True where the subject says that its explanation answers it. A reply that is not a yes is False;
        None stands for a call that failed.

    Returns
    -------
    float
        In [0, 1]; NaN without questions, or where one is missing (`score_items` leaves these out first, and counts them in
        its reasons).

    Notes
    -----
    The questions are written from the explanation, so that a careful reader says yes to all of them: what is measured is
    whether the subject can find in a text what is there, not whether the text reflects its reasons.
    """
    given = list(answered)
    if not given or any(_missing(a) for a in given):
        return math.nan
    return sum(bool(a) for a in given) / len(given)


def counterfactual_stability(original: str | None, new: str | None, variant: str = "paper") -> float:
    """Does the answer follow when the explanation is turned into its opposite?

    LExT, section 3.2.2 and appendix B.6.

    Parameters
    ----------
    original : str or None
        The label of the subject's answer: yes or no, low or high.
    new : str or None
        Its label when it is given the turned explanation: one of `LABELS`, or a dose. None stands for a call that failed.
    variant : {"paper", "released", "tables"}
        "paper": flipped +1, nothing meaningful 0, kept −1, scaled by min–max to 1, 0.5 and 0. "released" and "tables":
        flipped 1, kept 0.5, no answer 0, so that a model that never follows still gets half of the points.

    Returns
    -------
    float
        1, 0.5 or 0. NaN where the original label has no opposite (maybe, unknown, random: there is nothing to flip), or
        one is missing.

    Notes
    -----
    Nothing meaningful is what neither follows nor keeps: unknown, random, and a maybe.
    """
    check_variant(variant)
    original, new = _label(original, "original"), _label(new, "new")
    wanted = flip(original) if original else None
    if wanted is None or new is None:
        return math.nan
    raw = 1 if new == wanted else -1 if new == original else 0
    return (raw + 1) / 2 if variant == "paper" else {1: 1.0, -1: 0.5, 0: 0.0}[raw]


def contextual_faithfulness(redacted_label: str | None, labels: Iterable[str | None]) -> float:
    """Does the subject notice when the words are gone that its answer is said to rest on?

    LExT, section 3.2.3, equation 8.

    Parameters
    ----------
    redacted_label : str or None
        Label of the answer with all keywords taken out. Other than "unknown" gives 0: the answer did not rest on them.
    labels : iterable of str or None
        Labels of the answers to the contexts of `sequential_contexts`, one a keyword. None stands for a failed call.

    Returns
    -------
    float
        Share of "unknown" among `labels`, in [0, 1] (Table 11: one of five is 0.2). NaN where the first label is missing,
        or the others are and matter.
    """
    first = _label(redacted_label, "redacted_label")
    if first is None:
        return math.nan
    if first != "unknown":
        return 0.0
    given = [_label(one, "labels") for one in labels]
    if not given or None in given:
        return math.nan
    return given.count("unknown") / len(given)


def sequential_contexts(
    context: str, keywords: Sequence[str], how: str = "remove", mark: str = "[REDACTED]"
) -> list[str]:
    """The contexts of the second phase, one a keyword.

    Parameters
    ----------
    context : str
    keywords : sequence of str
        The subject's own, five in the paper.
    how : {"remove", "restore"}
        The paper contradicts itself. "remove" (section 3.2.3): each context lacks one keyword. "restore" (appendix B.5
        and the example of Table 11): each lacks all keywords but one, which is a far easier test to pass.
    mark : str

    Returns
    -------
    list of str
        In the order of the keywords.

    Notes
    -----
    Under "restore" a keyword that holds another one (`chest pain`, `pain`) comes back with the other's mark in it.
    """
    if how not in HOW:
        raise ValueError(f"how={how!r} is not known; use one of {', '.join(map(repr, HOW))}")
    if isinstance(keywords, str):
        raise ValueError(f"keywords: expected several texts, got one: {keywords!r:.60}; put them into a list")
    if how == "remove":
        return [redact(context, [keyword], mark) for keyword in keywords]
    return [redact(context, [k for k in keywords if fold(k) != fold(kept)], mark) for kept in keywords]


def found_keywords(context: str, keywords: Sequence[str]) -> list[bool]:
    """Which keywords stand in a context at all: a subject that makes one up takes nothing away, and the answer stays.

    Parameters
    ----------
    context : str
    keywords : sequence of str

    Returns
    -------
    list of bool
    """
    mark = "\N{OBJECT REPLACEMENT CHARACTER}"
    return [redact(context, [keyword], mark) != context for keyword in keywords]


def faithfulness(qag: float, counterfactual: float, contextual: float, variant: str = "paper") -> float:
    """The mean of QAG, counterfactual stability and contextual faithfulness.

    LExT, sections 3.2 and 3.3.

    Parameters
    ----------
    qag, counterfactual, contextual : float
        In [0, 1].
    variant : {"paper", "released", "tables"}
        "paper" and "released": the mean of all three. "tables": the mean of the last two, without QAG, which is what
        Table 6 holds in 11 of its 12 cells (all but Meditron on Q-Pain).

    Returns
    -------
    float
        In [0, 1]; NaN where one that counts is missing.
    """
    check_variant(variant)
    parts = [share(counterfactual, "counterfactual"), share(contextual, "contextual")]
    if variant != "tables":
        parts.append(share(qag, "qag"))
    return sum(parts) / len(parts)


def _missing(value: object) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"


def _label(value: str | None, name: str) -> str | None:
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
        return None
    label = value.strip().casefold() if isinstance(value, str) else value
    if label not in _KNOWN:
        raise ValueError(
            f"{name}: {value!r:.60} is no label; use one of {', '.join(_KNOWN)} (parse_label reads replies)"
        )
    return label
