"""Whether a judge can be believed: its verdicts on claims whose truth is known.

DAHL, REASONS and LExT let one model judge what another wrote, and a score is worth what its judge is worth. Labels and
verdicts go in; an `Audit` comes out, with a sentence to stand beside the score.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from factlab import stats
from factlab.stats import Estimate

if TYPE_CHECKING:
    import pandas as pd

ANSWERS = ("true", "false", "unknown", "unparsable")
_LOPSIDED = 0.9  # a verdict given to this share of the judged claims is named in the sentence


@dataclass(frozen=True)
class Audit:
    """What a judge's verdicts on labelled claims say about the judge.

    Attributes
    ----------
    judge : str
        Its name.
    n : int
        Claims that have a label.
    answered : int
        Of these, claims that the judge called true or false.
    unlabelled : int
        Claims without a label, left out of everything else.
    accuracy, sensitivity, specificity : Estimate
        Share of right verdicts among the answered claims; among those that are true; among those that are false.
    kappa : Estimate
        Cohen's kappa of verdicts and labels, in [-1, 1]; 0: no better than chance.
    auroc : Estimate
        Probability that a true claim was given a higher P(true) than a false one, ties counting half; 0.5: chance.
        Undefined where no probabilities were given.
    shares : dict of str to float
        Share of each verdict (true, false, unknown, unparsable) among the n claims; 0..1.
    base, commoner : float or None, str
        Share of the commoner label among the answered claims, and which it is: the accuracy of saying it every time.
    usable : bool
        The lower end of the accuracy's interval is above `base`, and at least half of the claims were answered.
    reason : str
        Why it is not usable; empty when it is.
    groups : dict of str to Estimate
        Accuracy in each group, where groups were given.
    """

    judge: str
    n: int
    answered: int
    unlabelled: int
    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    kappa: Estimate
    auroc: Estimate
    shares: Mapping[str, float] = field(hash=False)
    base: float | None
    commoner: str
    usable: bool
    reason: str
    groups: Mapping[str, Estimate] = field(default_factory=dict, hash=False)

    @property
    def one_answer(self) -> str | None:
        """The verdict that the judge gave to at least 90 % of the claims; None where there is none."""
        return next((answer for answer, share in self.shares.items() if share >= _LOPSIDED), None)

    def sentence(self) -> str:
        """The audit in one line, to stand beside a score."""
        if self.n == 0:
            return f"Judge audit: there were no labelled claims, so nothing is known about {self.judge}."
        left = f"; it left {self.n - self.answered} of {self.n} open" if self.answered < self.n else ""
        if self.answered == 0:
            return f"Judge audit: {self.judge} judged none of {self.n} labelled claims: {_DEMONSTRATION}."
        right = round(self.accuracy.value * self.answered)
        said = f"Judge audit: {self.judge} got {right} of {self.answered} labelled claims right"
        said += f" ({_numbers(self.accuracy)}){left}"
        if self.one_answer:
            of = "of them" if self.answered == self.n else f"of all {self.n}"
            said += f'; it said "{self.one_answer}" to {_percent(self.shares[self.one_answer])} {of}'
        if not self.usable:
            return f"{said}: {self.reason}, so {_DEMONSTRATION}."
        parts = [
            f"{_percent(found.value)} of the {found.n} {label} ones"
            for label, found in (("true", self.sensitivity), ("false", self.specificity))
        ]
        return f'{said}, where always saying "{self.commoner}" gets {self.base:.2f}: {" and ".join(parts)}.'

    def __str__(self) -> str:
        return self.sentence()

    def to_dict(self) -> dict[str, Any]:
        """The audit as a dictionary that `json.dumps(…, allow_nan=False)` accepts, with its sentence."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, value in plain.items():
            if isinstance(value, Estimate):
                plain[name] = value.to_dict()
        plain["shares"] = dict(self.shares)
        plain["groups"] = {name: found.to_dict() for name, found in self.groups.items()}
        return {**plain, "sentence": self.sentence()}


_DEMONSTRATION = "read the score above as a demonstration"


def audit(
    labels: Sequence[Any] | pd.Series,
    verdicts: Sequence[Any] | pd.Series,
    by: Sequence[Hashable] | pd.Series | None = None,
    *,
    probabilities: ArrayLike | pd.Series | None = None,
    clusters: Sequence[Hashable] | pd.Series | None = None,
    judge: str = "the judge",
    level: float = 0.95,
    seed: int = 0,
) -> Audit:
    """Score a judge on claims whose truth is known.

    Parameters
    ----------
    labels : (n,) sequence
        "true", "false", True or False; None or NaN where a claim has no label.
    verdicts : (n,) sequence
        Of the same claims in the same order: "true", "false" (or True, False), "unknown", or None, NaN or "unparsable"
        where the judge's reply could not be read.
    by : (n,) sequence, optional
        Groups, e.g. the category of each claim.
    probabilities : (n,) array, optional
        The judge's P(true) of each claim, 0..1; missing ones are left out.
    clusters : (n,) sequence, optional
        What the claims were drawn from (the answer, the source paper); the intervals then resample these.
    judge : str
        Its name, for the sentence.
    level : float
        Confidence level.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Audit

    Raises
    ------
    ValueError
        If the lengths differ, a label or verdict is not known, or a probability is not in 0..1.

    Notes
    -----
    A claim that the judge left open (unknown, unparsable) is no error of the judge: it is left out of accuracy,
    sensitivity and specificity and counted there, as DAHL leaves out responses with unknown units. Intervals:
    `stats.estimate` (Wilson's without clusters), `stats.agreement` and `stats.auroc`.
    """
    truth = _answers(labels, "labels", {"true", "false"})
    said = _answers(verdicts, "verdicts", set(ANSWERS))
    columns = {"verdicts": said, "by": by, "probabilities": probabilities, "clusters": clusters}
    for name, column in columns.items():
        if column is not None and len(column) != len(truth):
            raise ValueError(f"{name} has {len(column)} entries for {len(truth)} labels")
    labelled = truth != "unparsable"
    truth, said = truth[labelled], said[labelled]
    groups = None if clusters is None else np.asarray(clusters, dtype=object)[labelled]
    judged = np.isin(said, ("true", "false"))
    n, answered = len(truth), int(judged.sum())

    def share_right(where: np.ndarray, what: str, name: str) -> Estimate:
        right = (truth == said)[where & judged].astype(float)
        left = {answer: int((where & (said == answer)).sum()) for answer in ("unknown", "unparsable")}
        within = None if groups is None else groups[where & judged]
        return stats.estimate(right, within, seed=seed, level=level, unit=what, counts=left, name=name)

    everything = np.ones(n, dtype=bool)
    accuracy = share_right(everything, "claims", "judge-accuracy")
    counts = [int((truth[judged] == label).sum()) for label in ("true", "false")]
    commoner = "true" if counts[0] >= counts[1] else "false"
    base = max(counts) / answered if answered else None
    reason = _reason(n, answered, accuracy, base, commoner)
    named = np.array([], dtype=object)
    if by is not None:
        named = np.array(["(missing)" if _missing(value) else str(value) for value in by], dtype=object)[labelled]
    return Audit(
        judge=judge,
        n=n,
        answered=answered,
        unlabelled=int((~labelled).sum()),
        accuracy=accuracy,
        sensitivity=share_right(truth == "true", "true claims", "judge-sensitivity"),
        specificity=share_right(truth == "false", "false claims", "judge-specificity"),
        kappa=_kappa(truth[judged], said[judged], None if groups is None else groups[judged], level, seed),
        auroc=_auroc(truth == "true", probabilities, labelled, groups, level),
        shares={answer: float((said == answer).mean()) if n else 0.0 for answer in ANSWERS},
        base=base,
        commoner=commoner if answered else "",
        usable=not reason,
        reason=reason,
        groups={g: share_right(named == g, "claims", "judge-accuracy") for g in sorted(set(named))},
    )


def _reason(n: int, answered: int, accuracy: Estimate, base: float | None, commoner: str) -> str:
    """Why a judge is not usable."""
    if answered == 0:
        return "no labelled claim was judged" if n else "no labelled claims"
    if 2 * answered < n:
        return "more than half of the claims were left open"
    if base == 1:
        return f'all of these are {commoner}, which always saying "{commoner}" would get right'
    if accuracy.value <= base:
        return f'no better than always saying "{commoner}" ({base:.2f})'
    if accuracy.low is None:
        return f"the accuracy has no interval ({accuracy.reason})"
    if accuracy.low <= base:
        return f'not shown to be better than always saying "{commoner}" ({base:.2f})'
    return ""


def _missing(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or value != value  # NaN of any kind differs from itself


def _answers(values: Sequence[Any], name: str, known: set[str]) -> np.ndarray:
    """Answers as lower-case words, `unparsable` where there is none."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        word = "unparsable" if _missing(value) else str(value).strip().casefold()
        if word not in known and not _missing(value):
            expected = ", ".join(answer for answer in ANSWERS if answer in known)
            raise ValueError(f"{name}, entry {i}: expected {expected} or None, got {value!r}")
        out[i] = word
    return out


def _kappa(truth: np.ndarray, said: np.ndarray, clusters: np.ndarray | None, level: float, seed: int) -> Estimate:
    row = stats.agreement(said, truth, clusters, level=level, seed=seed).set_index("measure").loc["cohen_kappa"]
    number = {name: _plain(row[name]) for name in ("value", "low", "high", "clusters")}
    number |= {name: str(row[name]) for name in ("method", "status", "reason")}
    return Estimate(**number, level=level, n=len(truth), unit="claims")


def _plain(value: Any) -> Any:
    return None if _missing(value) else value


def _auroc(
    positive: np.ndarray, given: ArrayLike | None, labelled: np.ndarray, clusters: np.ndarray | None, level: float
) -> Estimate:
    if given is None:
        return Estimate(None, level=level, unit="claims", reason="no probabilities were given")
    import pandas as pd

    p = pd.to_numeric(pd.Series(given).reset_index(drop=True)).to_numpy(dtype=float, na_value=np.nan)
    if (outside := np.flatnonzero((p < 0) | (p > 1))).size:
        raise ValueError(f"probabilities, entry {outside[0]}: expected P(true) in 0..1, got {p[outside[0]]:g}")
    return stats.auroc(positive, p[labelled], clusters, level=level, unit="claims", classes=("true", "false"))


def _numbers(found: Estimate) -> str:
    if found.low is None:
        return f"{found.value:.2f}, no interval: {found.reason}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _percent(share: float | None) -> str:
    return f"{100 * share:.0f} %" if share is not None else "none"
