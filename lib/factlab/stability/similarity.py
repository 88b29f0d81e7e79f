"""How alike a model's answers to one question are: CheckEmbed (Besta et al. 2024), sections 2 and 4.2.

One embedding an answer goes in; the matrix of similarities of all pairs (the paper's heatmap), its summary and the
decision to accept come out. Answers that agree are a sign of confidence, not of truth: `truth_similarity` measures
that, where a ground truth is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

Metric = Literal["cosine", "pearson"]
Variant = Literal["paper", "released"]
_CONSTANT = 1e-6  # a deviation this small against the vector is the rounding of float32


def similarity(embeddings: ArrayLike, metric: Metric = "cosine") -> np.ndarray:
    """Similarity of every pair of embeddings.

    CheckEmbed, section 2: "cosine similarity; we also experiment with Pearson correlation".

    Parameters
    ----------
    embeddings : (k, d) array
        One row a text. A text without an embedding (empty, failed) is a row of NaN; one NaN is enough.
    metric : {"cosine", "pearson"}
        Pearson is the cosine after each vector's own mean is taken off; the two agree where these means are 0.

    Returns
    -------
    (k, k) array of float32
        Symmetric, in [-1, 1], 1 on the diagonal; NaN in the row and column of a missing text.

    Raises
    ------
    ValueError
        If the embeddings are no table of numbers, an entry is infinite, or the metric is not known.

    Notes
    -----
    A vector without a direction (all zeros; for Pearson: all entries equal, up to the rounding of float32) has
    similarity 0 to every other vector and 1 to itself. Rounding is clipped to [-1, 1].
    """
    if metric not in ("cosine", "pearson"):
        raise ValueError(f'metric: expected "cosine" or "pearson", got {metric!r}')
    unit = directions(embeddings, metric)
    # The product of an array with its own transpose is computed once and mirrored: half the work, and symmetric.
    found = unit @ unit.T
    np.clip(found, -1, 1, out=found)
    present = ~np.isnan(unit[:, 0])
    np.fill_diagonal(found, np.where(present, np.float32(1), np.float32(np.nan)))
    return found


def directions(embeddings: ArrayLike, metric: Metric = "cosine") -> np.ndarray:
    """The vectors scaled to length 1, for Pearson after their means are taken off.

    Parameters, errors and what has no direction (a row of zeros): see `similarity`.

    Returns
    -------
    (k, d) array of float32
        Rows of length 1, of zeros, or of NaN.
    """
    try:
        x = np.array(embeddings, dtype=np.float32)
    except (TypeError, ValueError):
        raise ValueError("embeddings: expected a (k, d) array of numbers, one row a text") from None
    if x.ndim != 2 or x.shape[1] == 0:
        raise ValueError(f"embeddings: expected a (k, d) array, one row a text, got shape {x.shape}")
    size = np.abs(x).max(axis=1, initial=0)  # NaN where the row has one
    if np.isinf(size).any():
        raise ValueError(f"embeddings, row {int(np.isinf(size).argmax())}: an entry is infinite in single precision")
    x[np.isnan(size)] = np.nan
    # Squares of very large or very small entries would leave the range of float32.
    x /= np.where(size > 0, size, np.float32(1))[:, None]
    if metric == "pearson":
        x -= x.mean(axis=1, keepdims=True)
        x[np.abs(x).max(axis=1) <= _CONSTANT] = 0
    length = np.sqrt(np.einsum("ij,ij->i", x, x))
    x /= np.where(length > 0, length, np.float32(1))[:, None]
    x[np.isnan(length)] = np.nan
    return x


def with_empty(matrix: ArrayLike, empty: ArrayLike) -> np.ndarray:
    """The released rule for empty texts: two empty ones are alike (1), one empty and one not are opposite (−1).

    Parameters
    ----------
    matrix : (k, k) array
    empty : (k,) array of bool
        Which texts are empty. (The paper does not say what becomes of them; without this rule they are left out.)

    Returns
    -------
    (k, k) array
        A copy of the same type. An empty text has 1 on the diagonal (in the released matrices the diagonal entry of an
        empty ground truth is −1). A text that is missing for another reason stays NaN against all others.
    """
    out = _square(matrix).copy()
    if not np.issubdtype(out.dtype, np.floating):
        out = out.astype(float)
    empty = np.asarray(empty)
    if empty.dtype != bool or empty.shape != (len(out),):
        raise ValueError(f"empty: expected {len(out)} booleans, one a text, got {empty.dtype} of shape {empty.shape}")
    failed = np.isnan(np.diagonal(out)) & ~empty
    out[empty] = out[:, empty] = -1
    out[np.ix_(empty, empty)] = 1
    out[failed] = out[:, failed] = np.nan
    return out


@dataclass(frozen=True)
class Summary:
    """A matrix of similarities in a few numbers.

    Attributes
    ----------
    level : float
        How alike the replies are. Paper: mean over the pairs, in [-1, 1]; released: root mean square, in [0, 1].
    spread : float
        Standard deviation over the pairs, in [0, 1].
    frobenius : float
        Frobenius norm of the whole matrix (diagonal included) divided by k: the root mean square of all its entries. 1
        when all replies are the same, 1/√k when none has anything to do with another.
    spectral : float
        Largest singular value divided by k. 1 when all replies are the same, 1/k when none has anything to do with
        another; it falls between when they fall into groups (two equal groups far apart: 1/2).
    k : int
        Replies compared.
    status : str
        `scored` or `undefined`; the four numbers are then NaN.
    reason : str
        Why it is undefined, or what to distrust.
    missing : int
        Replies left out because they have no embedding.
    variant : str
        `paper` or `released`.
    """

    level: float
    spread: float
    frobenius: float
    spectral: float
    k: int
    status: str
    reason: str = ""
    missing: int = 0
    variant: str = "paper"

    def __str__(self) -> str:
        compared = f"{self.k} {'reply' if self.k == 1 else 'replies'}"
        if self.missing:
            compared += f", {self.missing} without an embedding left out"
        if self.status != "scored":
            return f"undefined: {self.reason}, {compared}"
        note = f" ({self.reason})" if self.reason else ""
        return f"level {self.level:.2f}, spread {self.spread:.2f}, {compared}{note}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that `json.dumps(…, allow_nan=False)` accepts: what is undefined is None."""
        plain = asdict(self)
        return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in plain.items()}


def summarise(matrix: ArrayLike, truth: bool = False, variant: Variant = "paper") -> Summary:
    """Level and spread of the similarities of all pairs of replies.

    CheckEmbed, section 4.2: "mean or a matrix norm combined with a standard deviation".

    Parameters
    ----------
    matrix : (k, k) array
        From `similarity`, `bertscore` or another comparison of all pairs; the entries need not lie in [-1, 1]. A reply
        with NaN on the diagonal, or against all others, is missing: it is left out and counted.
    truth : bool
        The last row and column are the ground truth; they are left out.
    variant : {"paper", "released"}
        Paper: level is the mean over the pairs. Released: the root mean square (called Frobenius norm there), which is
        never below the mean and counts a similarity of −1 as full agreement: with the released rule for empty texts,
        one empty reply among equal ones gives level 1.

    Returns
    -------
    Summary
        `undefined` when fewer than two replies are left: there is no pair.

    Raises
    ------
    ValueError
        If the matrix is not square, an entry is infinite, or a single pair is NaN though both replies are there.

    Notes
    -----
    The pairs are those above the diagonal; of a matrix that is not symmetric both directions count. The spread divides
    by the number of pairs (population), as in the released summaries, and is 0 for two replies, whatever they say.

    The released Pearson summaries of the legal documents are of two sets: their deviation leaves the ground truth out,
    their level has it in. `summarise(m, truth=False, variant="released").level` gives that number.
    """
    if variant not in ("paper", "released"):
        raise ValueError(f'variant: expected "paper" or "released", got {variant!r}')
    m = _square(matrix)
    if truth:
        if not len(m):
            raise ValueError("matrix: it is empty, so its last row cannot be the ground truth")
        m = m[:-1, :-1]
    given = len(m)
    m = m.astype(float)[np.ix_(*[_present(m)] * 2)]
    k = len(m)
    common = {"k": k, "missing": given - k, "variant": variant}
    if k < 2:
        reason = "no reply to compare" if k == 0 else "one reply: there is no pair to compare"
        return Summary(math.nan, math.nan, math.nan, math.nan, status="undefined", reason=reason, **common)
    pairs = m[~np.eye(k, dtype=bool)]
    level = float(pairs.mean() if variant == "paper" else np.sqrt((pairs**2).mean()))
    return Summary(
        level=level,
        spread=float(pairs.std()),
        frobenius=float(np.sqrt((m**2).mean())),
        spectral=float(np.linalg.norm(m, 2) / k),
        status="scored",
        reason="one pair: its spread is 0 whatever the replies say" if k == 2 else "",
        **common,
    )


def accept(summary: Summary, level: float = 0.9, spread: float = 0.05) -> bool:
    """Whether replies agree well enough to be believed without a look, by the paper's rule.

    CheckEmbed, section 4.2: "mean is very high (e.g., >0.9) and the std is low (e.g., <0.05)".

    Parameters
    ----------
    summary : Summary
    level, spread : float
        Limits, both strict. The defaults are the paper's for its embedders; other embedders have other scales, see
        `thresholds`.

    Returns
    -------
    bool
        False for an undefined summary. (The paper's own example of an accepted answer, with a level of 0.93 and a
        spread of 0.06, fails its rule.)

    Notes
    -----
    Replies without an embedding have been left out of the summary (`summary.missing`): where an empty reply should
    count as disagreement, apply `with_empty` to the matrix first.
    """
    return summary.status == "scored" and bool(summary.level > level and summary.spread < spread)


def truth_similarity(matrix: ArrayLike) -> np.ndarray:
    """Closeness of each reply to the ground truth.

    CheckEmbed, figures 5 and 6: the last row of the heatmap.

    Parameters
    ----------
    matrix : (k + 1, k + 1) array
        The ground truth last.

    Returns
    -------
    (k,) array
        The last column, without the ground truth itself; NaN for a missing reply, all NaN where the ground truth is
        missing. (A column: rows are candidates and columns references, where the two differ.)
    """
    m = _square(matrix)
    if not len(m):
        raise ValueError("matrix: it is empty, so its last column cannot be the ground truth")
    return m[:-1, -1].copy()


def read_first(matrix: ArrayLike, truth: bool = False) -> np.ndarray:
    """In which order a person should read the replies: first the one that is least like the others.

    Parameters
    ----------
    matrix : (k, k) array
    truth : bool
        The last row and column are the ground truth; they are left out.

    Returns
    -------
    (k,) array of int
        Row numbers. The last of the replies that could be compared is the most typical one; after it come the missing
        ones, with which nothing could be compared. Ties keep the order of the replies.
    """
    m = _square(matrix)
    m = m[:-1, :-1] if truth else m
    present = np.flatnonzero(_present(m))
    kept = m.astype(float)[np.ix_(present, present)]
    np.fill_diagonal(kept, 0)
    # Both directions, for a matrix that is not symmetric; rounded, so that equal replies tie.
    liking = np.round(kept.sum(axis=0) + kept.sum(axis=1), 6)
    missing = np.setdiff1d(np.arange(len(m)), present)
    return np.concatenate([present[np.argsort(liking, kind="stable")], missing])


def summaries(matrices: Sequence[ArrayLike], truth: bool = False, variant: Variant = "paper") -> pd.DataFrame:
    """One row a question: the summary of its matrix and the closeness of its replies to the ground truth.

    Parameters
    ----------
    matrices : sequence of (k, k) arrays
        One a question; k may differ.
    truth, variant
        As in `summarise`.

    Returns
    -------
    DataFrame
        level, spread, frobenius, spectral, k, status, reason, missing, variant; with `truth` also truth_similarity, the
        mean of `truth_similarity` over the replies (NaN where the ground truth is missing), and truth_spread, its
        standard deviation. How far agreement can stand for truth: `stats.correlation(t["level"],
        t["truth_similarity"])`.
    """
    import pandas as pd

    rows = []
    for matrix in matrices:
        row = asdict(summarise(matrix, truth, variant))
        if truth:
            near = truth_similarity(matrix).astype(float)
            near = near[~np.isnan(near)]
            row["truth_similarity"] = float(near.mean()) if near.size else math.nan
            row["truth_spread"] = float(near.std()) if near.size else math.nan
        rows.append(row)
    columns = list(Summary.__dataclass_fields__) + (["truth_similarity", "truth_spread"] if truth else [])
    return pd.DataFrame(rows, columns=columns)


def _square(matrix: ArrayLike) -> np.ndarray:
    m = np.asarray(matrix)
    if m.shape == (0,):
        m = m.reshape(0, 0)
    if m.ndim != 2 or m.shape[0] != m.shape[1] or m.dtype.kind not in "fiu":
        raise ValueError(f"matrix: expected a (k, k) array of numbers, got {m.dtype} of shape {m.shape}")
    if np.isinf(m).any():
        row, column = np.argwhere(np.isinf(m))[0]
        raise ValueError(f"matrix, row {row}, column {column}: the similarity is infinite")
    return m


def _present(m: np.ndarray) -> np.ndarray:
    """Which replies are there: (k,) array of bool."""
    absent = np.isnan(m)
    present = ~np.diagonal(absent)
    if present.sum() > 1:
        others = absent[np.ix_(present, present)]
        alone = (others.sum(axis=1) == len(others) - 1) | (others.sum(axis=0) == len(others) - 1)
        present[np.flatnonzero(present)[alone]] = False
    left = absent & present & present[:, None]
    if left.any():
        row, column = np.argwhere(left)[0]
        raise ValueError(
            f"matrix, row {row}, column {column}: the similarity is missing though both replies are there; "
            "set the whole row and column of a missing reply to NaN"
        )
    return present
