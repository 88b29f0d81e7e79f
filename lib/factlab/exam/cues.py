"""Can the key be told from the options alone? The leave-one-topic-out logistic selector of MS-Exam-Gen, section III.C.

Each option is described by its structure (how long it is beside the others, numerals, hedges, absolutes, punctuation) and,
where asked, by the words that it shares with the stem. A logistic regression learns from all topics but one which option is
the key, and picks in the topic that was left out. A bank without such cues is picked right one time in four.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from factlab.exam.items import LETTERS, Item
from factlab.exam.phrasing import ABSOLUTES
from factlab.stats import Estimate, estimate, signature
from factlab.stats.resampling import bootstrap_sums, cluster_codes, cluster_sums
from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd

Features = Literal["structure", "overlap", "both"]
C = 0.5  # inverse strength of the L2 penalty, as in the paper
CHANCE = 0.25
_DRAWS = 256  # banks that are fitted together: 16 MB for 3,058 items
_HEDGES = re.compile(
    r"\b(?:may|might|can|could|often|usually|typically|generally|commonly|frequently|sometimes|likely|possibly|probably"
    r"|mainly|mostly|primarily|tends?|suggests?|some|most|many|rarely|seldom|relatively|approximately|about|in part"
    r"|depending|particularly|especially|unless|when|if)\b"
)
_STRUCTURE = (
    "words", "characters", "longest", "shortest", "rank", "word_length", "numerals", "hedges", "absolutes", "commas",
    "other_marks", "brackets", "capitals",
)  # fmt: skip


def option_features(items: Sequence[Item]) -> pd.DataFrame:
    """How each option looks beside the others of its item.

    Parameters
    ----------
    items : sequence of Item

    Returns
    -------
    DataFrame
        One row an option: item (row number), option (number, from 0), is_key, then words and characters (natural
        logarithm), longest and shortest (1 for the one longest or shortest, by characters), rank (of the length in 0..1, ties
        shared), word_length (mean characters of a word), numerals, hedges, absolutes, commas, other_marks (semicolons,
        colons, dashes, slashes), brackets, capitals (words of capitals, such as MRI), all of these counts. Each number has its
        item's mean taken off, since only differences between the options of an item can give a key away.
    """
    import pandas as pd

    rows, numbers = [], []
    for number, item in enumerate(items):
        described = np.array([_described(option) for option in item.options], dtype=float).reshape(
            len(item.options), -1
        )
        sizes = described[:, 1]
        below = (sizes[:, None] > sizes).sum(axis=1) + ((sizes[:, None] == sizes).sum(axis=1) - 1) / 2
        longest = (sizes[:, None] > sizes).sum(axis=1) == len(sizes) - 1
        shortest = (sizes[:, None] < sizes).sum(axis=1) == len(sizes) - 1
        added = np.column_stack([longest, shortest, below / max(1, len(sizes) - 1)])
        whole = np.column_stack([described[:, :2], added, described[:, 2:]])
        numbers.append(whole - whole.mean(axis=0))
        rows += [(number, place, place == item.key_number) for place in range(len(item.options))]
    frame = pd.DataFrame(rows, columns=["item", "option", "is_key"])
    values = np.concatenate(numbers) if numbers else np.empty((0, len(_STRUCTURE)))
    return pd.concat([frame, pd.DataFrame(values, columns=list(_STRUCTURE))], axis=1)


def _described(option: str) -> list[float]:
    folded, words = fold(option), option.split()
    return [
        np.log1p(len(words)),
        np.log1p(len(" ".join(words))),
        sum(map(len, words)) / max(1, len(words)),
        len(re.findall(r"\d+(?:[.,]\d+)*", option)),
        len(_HEDGES.findall(folded)),
        len(ABSOLUTES.findall(folded)),
        option.count(","),
        len(re.findall(r"[;:/–—]| - ", option)),
        len(re.findall(r"[(\[]", option)),
        len(re.findall(r"\b[A-Z][A-Z0-9-]+\b", option)),
    ]


def cue_picks(items: Sequence[Item], groups: Sequence[Hashable], features: Features = "structure") -> pd.DataFrame:
    """What the selector picks in each item, having learnt from the other groups.

    Parameters
    ----------
    items : sequence of Item
        Each with a key.
    groups : sequence
        The topic of each item, one label each: what is left out together.
    features : {"structure", "overlap", "both"}
        Structure of the options; TF–IDF cosine of option and stem; or both (the paper's "structure plus stem").

    Returns
    -------
    DataFrame
        One row an item, in order: item_id, group, picked (letter; the first of several equal ones), probability (that
        the selector gives the picked option, among the options of its item), correct (1 or 0; where several options are
        equally likely, the share of the key among them).

    Raises
    ------
    ValueError
        If an item has no key, there are fewer than two groups, or `features` is none of the three.

    Notes
    -----
    L2-penalised logistic regression, C = 0.5, over all options, on standardised features (scikit-learn
    `LogisticRegression`, `StandardScaler`); scaling and word weights are learnt without the group that is left out. In an
    item the option with the highest probability is picked.
    """
    import pandas as pd

    probe = _Probe(items, groups, features)
    rows = []
    scores = np.split(probe.scores(probe.keys[:, None])[:, 0], probe.starts[1:-1])
    for item, label, mine in zip(probe.items, probe.groups, scores, strict=True):
        best = np.flatnonzero(mine == mine.max())
        odds = np.exp(mine - mine.max())
        right = float(item.key_number in best) / len(best)
        rows.append((item.id, label, item.letters[best[0]], float(odds[best[0]] / odds.sum()), right))
    return pd.DataFrame(rows, columns=["item_id", "group", "picked", "probability", "correct"])


class _Probe:
    """The selector with everything that does not depend on which options are keys made ready."""

    def __init__(self, items: Sequence[Item], groups: Sequence[Hashable], features: Features) -> None:
        from sklearn.preprocessing import StandardScaler

        if features not in ("structure", "overlap", "both"):
            raise ValueError(f"features: expected 'structure', 'overlap' or 'both', got {features!r}")
        self.items, self.groups = list(items), list(groups)
        if len(self.groups) != len(self.items):
            raise ValueError(
                f"groups has {len(self.groups)} labels for {len(self.items)} items: one label an item is needed"
            )
        for number, item in enumerate(self.items, 1):
            if item.key_number < 0 or len(item.options) < 2:
                raise ValueError(f"item {number} ({item.id}) has no key among its options; leave it out of the probe")
        codes, count = cluster_codes(self.groups, np.ones(len(self.items), dtype=bool))
        if count is None or count < 2:
            raise ValueError(f"groups: {count or 0} group; two are needed, one to learn from and one to pick in")
        table = option_features(self.items)
        self.of_item = table["item"].to_numpy()
        self.keys = np.array([item.key_number for item in self.items])
        self.starts = np.searchsorted(self.of_item, np.arange(len(self.items) + 1))
        structure = table[list(_STRUCTURE)].to_numpy()
        overlap = _Overlap(self.items) if features != "structure" else None
        self.folds = []  # rows held out, and all rows scaled by the others
        for group in range(count):
            held = (codes == group)[self.of_item]
            columns = [] if features == "overlap" else [structure]
            if overlap is not None:
                columns.append(overlap.columns(codes != group))
            x = np.column_stack(columns)
            self.folds.append((held, StandardScaler().fit(x[~held]).transform(x)))

    def scores(self, keys: np.ndarray) -> np.ndarray:
        """(options, draws) logits of all options, from selectors that learnt one column of keys (items, draws) in the other groups."""
        is_key = np.zeros((len(self.of_item), keys.shape[1]))
        is_key[self.starts[:-1, None] + keys, np.arange(keys.shape[1])] = 1.0
        scores = np.empty(is_key.shape)
        for held, x in self.folds:
            weights = _fitted(x[~held], is_key[~held])
            # Rounding must not decide between options that look the same.
            scores[held] = np.round(_with_one(x[held]) @ weights, 9)
        return scores

    def accuracy(self, keys: np.ndarray) -> np.ndarray:
        """(draws,) share of items in which the selector picks the key, for each column of keys (items, draws)."""
        if keys.shape[1] > _DRAWS:
            parts = [keys[:, at : at + _DRAWS] for at in range(0, keys.shape[1], _DRAWS)]
            return np.concatenate([self.accuracy(part) for part in parts])
        scores, first = self.scores(keys), self.starts[:-1]
        best = np.maximum.reduceat(scores, first, axis=0)
        ties = np.add.reduceat(scores == np.repeat(best, np.diff(self.starts), axis=0), first, axis=0)
        picked = np.take_along_axis(scores, first[:, None] + keys, axis=0) == best
        return (picked / ties).mean(axis=0)


def _with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x])


def _fitted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(1 + features, draws) weights of one logistic regression for each column of y (rows, draws), intercept first and not penalised.

    As `sklearn.linear_model.LogisticRegression(C=C)`, to the ninth decimal, by Newton's method for all draws at once: thousands of fits
    with a dozen features each are nearly all overhead otherwise.
    """
    x = _with_one(x)
    ridge = np.diag([0.0, *[1 / C] * (x.shape[1] - 1)])
    squares = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    weights = np.zeros((x.shape[1], y.shape[1]))
    for _ in range(100):
        p = 1 / (1 + np.exp(-(x @ weights)))
        slope = x.T @ (p - y) + ridge @ weights
        bend = (squares.T @ (p * (1 - p))).T.reshape(-1, *ridge.shape) + ridge
        step = np.linalg.solve(bend, slope.T[:, :, None])[:, :, 0].T
        weights -= step
        if np.abs(step).max(initial=0.0) < 1e-11:
            return weights
    raise ArithmeticError("the probe's regression did not settle; please report the bank that it was given")


class _Overlap:
    """TF–IDF cosine of every option with its stem, with word weights from a part of the items."""

    def __init__(self, items: Sequence[Item]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self.of_item = np.repeat(np.arange(len(items)), [len(item.options) for item in items])
        vectoriser = CountVectorizer(token_pattern=r"(?u)\b\w+\b", preprocessor=fold)
        texts = [item.question for item in items] + [option for item in items for option in item.options]
        try:
            counts = vectoriser.fit_transform(texts)
        except ValueError:  # not one word in the whole bank
            counts = None
        self.stems = None if counts is None else counts[: len(items)]
        self.options = None if counts is None else counts[len(items) :]

    def columns(self, learnt: np.ndarray) -> np.ndarray:
        """(options, 2): cosine of option and stem, and whether it is the one highest, less the item's mean."""
        from scipy.sparse import vstack
        from sklearn.feature_extraction.text import TfidfTransformer

        if self.stems is None:
            return np.zeros((len(self.of_item), 2))
        weights = TfidfTransformer().fit(vstack([self.stems[learnt], self.options[learnt[self.of_item]]]))
        stems, options = weights.transform(self.stems), weights.transform(self.options)
        cosine = np.asarray(options.multiply(stems[self.of_item]).sum(axis=1)).ravel()
        top = np.full(self.of_item[-1] + 1, -np.inf)
        np.maximum.at(top, self.of_item, cosine)
        highest = cosine >= top[self.of_item] - 1e-12
        alone = highest & (np.bincount(self.of_item, highest)[self.of_item] == 1)
        x = np.column_stack([cosine, alone])
        mean = cluster_sums(x, self.of_item) / np.bincount(self.of_item)[:, None]
        return x - mean[self.of_item]


def cue_probe(
    items: Sequence[Item],
    groups: Sequence[Hashable],
    features: Features = "structure",
    *,
    replicates: int = 4000,
    seed: int = 0,
    level: float = 0.95,
) -> Estimate:
    """How often the key is found from the looks of the options alone, against 0.25 by chance.

    MS-Exam-Gen, sections III.C and V: 65.7 % before and 36.4 % after repair from structure, 64.4 % and 43.8 % with the
    words of the stem.

    Parameters
    ----------
    items, groups, features
        As in `cue_picks`.
    replicates, seed, level
        Of the bootstrap over groups.

    Returns
    -------
    Estimate
        Share of items picked right, 0..1, with an interval over groups (none with fewer than five).

    Notes
    -----
    The interval takes the selector as given. Selectors that learn from mostly the same items err together, so that over banks
    without cues the share varies more than the interval tells: of 60 such banks of 400 items over 16 topics, 5 % (structure) and
    12 % (both) had an interval wholly above 0.25, where 2.5 % should. Whether there is a cue is for `cue_test` to say.
    """
    picks = cue_picks(items, groups, features)
    parts = {"features": features, "C": C, "chance": CHANCE}
    return estimate(picks["correct"], picks["group"], replicates, seed, level=level, name="cue_probe", parts=parts)


def cue_test(
    items: Sequence[Item],
    groups: Sequence[Hashable],
    features: Features = "structure",
    *,
    permutations: int = 199,
    seed: int = 0,
) -> pd.DataFrame:
    """Whether the key is found more often than it would be in the same bank with keys drawn by lot.

    Parameters
    ----------
    items, groups, features
        As in `cue_picks`.
    permutations : int
        How often keys are drawn anew and the selector learns again, at least 1: 16 fits each for 16 topics.
    seed : int

    Returns
    -------
    DataFrame
        One row: features, value (share picked right), chance (mean over drawn keys), chance_low, chance_high (that hold 95 % of
        them), p (one-sided), n, groups, permutations, signature.

    Notes
    -----
    p = (1 + draws that reach the value) / (1 + permutations). Exact whatever the options are like, since without a cue the key
    might as well be any other option.
    """
    import pandas as pd

    if permutations < 1:
        raise ValueError(f"permutations: expected at least 1, got {permutations}")
    probe = _Probe(items, groups, features)
    value, rng = float(probe.accuracy(probe.keys[:, None])[0]), np.random.default_rng(seed)
    sizes = np.diff(probe.starts)
    drawn = probe.accuracy(np.column_stack([rng.integers(0, sizes) for _ in range(permutations)]))
    p = (1 + int((drawn >= value - 1e-12).sum())) / (1 + permutations)
    low, high = np.quantile(drawn, [0.025, 0.975])
    made = signature("cue_test", features=features, C=C, n=len(probe.items), permutations=permutations, seed=seed)
    row = {"features": features, "value": value, "chance": drawn.mean(), "chance_low": low, "chance_high": high, "p": p}
    row |= {"n": len(probe.items), "groups": len(probe.folds), "permutations": permutations, "signature": made}
    return pd.DataFrame([row])


def key_places(items: Sequence[Item]) -> pd.DataFrame:
    """Where the keys stand: a bank that was not shuffled favours a letter.

    Parameters
    ----------
    items : sequence of Item
        Of four options; those without a key are left out.

    Returns
    -------
    DataFrame
        One row a letter: letter, items, share (missing without items), p (chi-square test of equal shares, the same in each row;
        missing with fewer than 20 items, where it is not made).
    """
    import pandas as pd
    from scipy.stats import chisquare

    counts = np.bincount([i.key_number for i in items if 0 <= i.key_number < len(LETTERS)], minlength=len(LETTERS))
    n = int(counts.sum())
    p = float(chisquare(counts).pvalue) if n >= 20 else None
    shares = pd.array([c / n if n else None for c in counts], dtype="Float64")
    return pd.DataFrame(
        {"letter": list(LETTERS), "items": counts, "share": shares, "p": pd.array([p] * len(LETTERS), dtype="Float64")}
    )


def cue_comparison(
    before: Sequence[Item],
    after: Sequence[Item],
    groups: tuple[Sequence[Hashable], Sequence[Hashable]],
    *,
    replicates: int = 4000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """The cues of two banks side by side: before and after repair.

    MS-Exam-Gen, section V and Figure 2 (left).

    Parameters
    ----------
    before, after : sequence of Item
        They need not be the same items; each bank has a selector of its own, fitted in the same way.
    groups : (sequence, sequence)
        The topic of each item of both.
    replicates, seed, level
        Of the bootstrap over groups, drawn apart for both banks.

    Returns
    -------
    DataFrame
        Rows `structure`, `both`, `longest_key` (share of items with the key as the one longest option, not a probe), with
        columns cue, before, before_low, before_high, after, after_low, after_high, chance, difference (after − before), low,
        high, n_before, n_after, status, reason. Missing where undefined.
    """
    import pandas as pd

    from factlab.exam.lengths import key_is_longest

    rows = []
    for cue in ("structure", "both", "longest_key"):
        values = []
        for items, labels in zip((before, after), groups, strict=True):
            if cue == "longest_key":
                found = np.array([float(key_is_longest(item)) for item in items])
            else:
                found = cue_picks(items, labels, cue)["correct"].to_numpy()
            values.append((found, list(labels)))
        estimates = [estimate(v, g, replicates, seed, level=level) for v, g in values]
        row: dict[str, object] = {"cue": cue}
        for name, e in zip(("before", "after"), estimates, strict=True):
            row |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high, f"n_{name}": e.n}
        row |= {"chance": None if cue == "longest_key" else CHANCE, "difference": None, "low": None, "high": None}
        row |= {"status": "scored", "reason": ""}
        if any(e.value is None for e in estimates):
            rows.append({**row, "status": "undefined", "reason": "a bank without items"})
            continue
        row["difference"] = estimates[1].value - estimates[0].value
        if any(e.low is None for e in estimates):
            row["reason"] = "no interval: " + next(e.reason for e in estimates if e.low is None)
        else:
            drawn = [_replicated(v, g, replicates, seed + 1 + i) for i, (v, g) in enumerate(values)]
            shares = (1 - level) / 2, (1 + level) / 2
            row["low"], row["high"] = map(float, np.quantile(drawn[1] - drawn[0], shares))
        rows.append(row)
    order = ["cue", "before", "before_low", "before_high", "after", "after_low", "after_high", "chance", "difference"]
    table = pd.DataFrame(rows)[[*order, "low", "high", "n_before", "n_after", "status", "reason"]]
    for name in [*order[1:], "low", "high"]:
        table[name] = pd.array([None if v is None or v != v else v for v in table[name]], dtype="Float64")
    return table


def _replicated(values: np.ndarray, groups: Sequence[Hashable], replicates: int, seed: int) -> np.ndarray:
    codes, _ = cluster_codes(groups, np.ones(len(values), dtype=bool))
    drawn = bootstrap_sums(cluster_sums(np.column_stack([values, np.ones(len(values))]), codes), replicates, seed)
    return drawn[:, 0] / drawn[:, 1]
