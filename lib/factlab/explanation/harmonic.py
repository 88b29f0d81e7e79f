"""The LExT score of one plausibility and one faithfulness (LExT, section 3.3 and appendix A.2)."""

from factlab.explanation.plausible import share


def trust(plausibility: float, faithfulness: float) -> float:
    """Can an explanation be trusted? The harmonic mean of plausibility and faithfulness.

    LExT, equation 15: 2PF / (P + F).

    Parameters
    ----------
    plausibility, faithfulness : float
        P and F, in [0, 1]: of one item, or a data set's means.

    Returns
    -------
    float
        In [0, 1], between the lower of the two and their mean; 0 when both are 0. NaN where one is missing.

    Notes
    -----
    A data set's score in Table 6 is that of its mean P and mean F, which is never below the mean of the items' scores.
    """
    p, f = share(plausibility, "plausibility"), share(faithfulness, "faithfulness")
    return 2 * p * f / (p + f) if p + f != 0 else 0.0


def trust_with_penalty(plausibility: float, faithfulness: float) -> float:
    """The same score as the paper builds it: the average less a penalty for disagreement.

    LExT, equation 10: (P + F) / 2 − (P − F)² / (2 (P + F)). Equal to `trust` but for rounding; here to be checked against.

    Parameters
    ----------
    plausibility, faithfulness : float
        In [0, 1].

    Returns
    -------
    float
        In [0, 1]; 0 when both are 0, where the equation itself has no value. NaN where one is missing.
    """
    p, f = share(plausibility, "plausibility"), share(faithfulness, "faithfulness")
    return (p + f) / 2 - (p - f) ** 2 / (2 * (p + f)) if p + f != 0 else 0.0
