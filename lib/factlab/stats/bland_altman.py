"""How far two ways of scoring lie apart, item by item: the limits of agreement of Bland and Altman.

A correlation says whether two scores rise together; it stays perfect when one is always twice the other. Here the
differences themselves are described: their mean (the bias) and the range in which most of them lie. `figures.bland_altman`
draws both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from factlab.stats import resampling
from factlab.stats.resampling import FEW, is_constant, table

if TYPE_CHECKING:
    import pandas as pd

LINES = ("bias", "lower limit", "upper limit")


def bland_altman(a: ArrayLike | pd.Series, b: ArrayLike | pd.Series, *, level: float = 0.95) -> pd.DataFrame:
    """Bias of one score against another, and the limits within which their differences lie.

    Parameters
    ----------
    a, b : (n,) arrays
        Scores of the same items in the same order and unit. Pairs with an undefined score are left out and counted.
    level : float
        Share of the differences that the limits are to hold, and confidence of the three intervals; between 0 and 1.

    Returns
    -------
    DataFrame
        Rows `bias`, `lower limit`, `upper limit`, with columns line, value, low, high (in the unit of the scores, a − b),
        n (pairs), sd (of the differences, ddof = 1), left_out, level, status, reason.

    Raises
    ------
    ValueError
        When a and b cannot be paired, or level is not between 0 and 1.

    Notes
    -----
    Bland and Altman (1986), Lancet 327:307; (1999), Statistical Methods in Medical Research 8:135. With d = a − b and
    z the normal quantile (1.96 at 0.95):

    * bias mean(d), interval mean(d) ± t sd / sqrt(n);
    * limits mean(d) ± z sd, interval of each: limit ± t sd sqrt(1 / n + z² / (2 (n − 1))), t with n − 1 degrees of
      freedom. This standard error is the approximation of the 1999 paper (1986: about sd sqrt(3 / n)); with few pairs
      exact intervals are not symmetric.

    The limits take the differences for normal, independent, and as wide at low scores as at high ones; look at the
    figure. They are not cut off at the ends of the scale, so those of scores from 0 to 1 can lie outside ±1. Items that
    share a source are taken as independent all the same.

    With fewer than ten pairs there is a bias, and neither intervals nor limits. When every difference is the same, its
    variance is zero: that is the bias, and there is nothing to draw limits from.
    """
    if not 0 < level < 1:
        raise ValueError(f"level: expected a share between 0 and 1, e.g. 0.95, got {level!r}")
    a, b, kept = resampling.pairs(a, b)
    d, n = a - b, len(a)
    sd = float(d.std(ddof=1)) if n > 1 else None
    if is_constant(d) and n > 1:
        sd = 0.0  # without rounding errors
    tail: dict[str, Any] = {"n": n, "sd": sd, "left_out": int((~kept).sum()), "level": level}
    bias = float(d.mean()) if n else None
    few = f"{n} {'pair' if n == 1 else 'pairs'}: too few for limits of agreement, {FEW} needed" if n < FEW else ""
    if few or sd == 0:
        reason = few or "zero variance: all differences equal, no limits of agreement"
        said = {"status": "undefined", "reason": reason}
        first = said if few else {"status": "scored", "reason": "no interval: all differences equal"}
        rows = [{"line": "bias", "value": bias, "low": None, "high": None, **tail, **first}]
        rows += [{"line": line, "value": None, "low": None, "high": None, **tail, **said} for line in LINES[1:]]
    else:
        from scipy.stats import norm, t

        z, reach = norm.ppf((1 + level) / 2), t.ppf((1 + level) / 2, n - 1)
        wide = reach * sd * math.sqrt(1 / n + z * z / (2 * (n - 1)))
        found = zip(LINES, (bias, bias - z * sd, bias + z * sd), (reach * sd / math.sqrt(n), wide, wide), strict=True)
        said = {"status": "scored", "reason": ""}
        rows = [{"line": x, "value": v, "low": v - half, "high": v + half, **tail, **said} for x, v, half in found]
    return table(rows).astype({"sd": "Float64"})
