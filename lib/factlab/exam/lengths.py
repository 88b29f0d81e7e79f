"""Does the length of an option give the key away? The cue thresholds of MS-Exam-Gen, section III.C, and how they are read.

Hard items: stem of 18 words and more, options of 8 to 60, the key at most 4 words longer and at most 1.15 times as long.
Synthesis items: 35; 14 to 70; 2; 1.08; and the key not the one longest option.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from factlab.exam.items import Item
from factlab.stats import Estimate, estimate

Against = Literal["mean", "longest"]
Unit = Literal["words", "characters"]


@dataclass(frozen=True)
class CueRule:
    """Limits that an item keeps to; what equals a limit is inside.

    Attributes
    ----------
    stem : int
        Fewest words of the stem.
    shortest, longest : int
        Fewest and most words of each option.
    advantage : float
        Most words by which the key may be longer than the distractors.
    ratio : float
        Most times that the key may be as long as the distractors.
    longest_key : bool
        Whether the key may be the one longest option.
    """

    stem: int
    shortest: int
    longest: int
    advantage: float
    ratio: float
    longest_key: bool = True


HARD = CueRule(18, 8, 60, 4, 1.15)
SYNTHESIS = CueRule(35, 14, 70, 2, 1.08, longest_key=False)
PAPER_RULES: Mapping[str, CueRule] = MappingProxyType({"hard": HARD, "synthesis": SYNTHESIS})


def size(text: str, unit: Unit = "words") -> int:
    """Length of a text: words are what white space separates, characters are counted without outer white space."""
    return len(text.split()) if unit == "words" else len(" ".join(text.split()))


def check(against: str, unit: str) -> None:
    """Refuse settings that do not exist."""
    if against not in ("mean", "longest"):
        raise ValueError(f"against: expected 'mean' or 'longest', got {against!r}")
    if unit not in ("words", "characters"):
        raise ValueError(f"unit: expected 'words' or 'characters', got {unit!r}")


def advantage(item: Item, against: Against = "mean", unit: Unit = "words") -> tuple[float, float] | None:
    """How much longer the key is than the distractors.

    Parameters
    ----------
    item : Item
    against : {"mean", "longest"}
        What the key is compared with: the mean length of the distractors, or that of the longest.
    unit : {"words", "characters"}

    Returns
    -------
    (float, float) or None
        Difference and ratio; below 0 and below 1 where the key is shorter. None without a key or where the distractors
        are empty.

    Notes
    -----
    The paper says "length advantage" and "correct/distractor ratio", not against what. The mean is our reading: against
    the longest distractor an advantage above 0 would be the same as a key that is the one longest option, and for
    synthesis, where that is forbidden by a rule of its own, the limits of 2 words and 1.08 would never be reached.
    """
    check(against, unit)
    others = [size(option, unit) for option in item.distractors]
    if item.key_number < 0 or not others or not max(others):
        return None
    reference = max(others) if against == "longest" else sum(others) / len(others)
    key = size(item.options[item.key_number], unit)
    return key - reference, key / reference


def key_is_longest(item: Item, unit: Unit = "words") -> bool:
    """Whether the key is longer than every other option; False without a key."""
    if item.key_number < 0 or not item.distractors:
        return False
    return size(item.options[item.key_number], unit) > max(size(option, unit) for option in item.distractors)


def longest_by_chance(items: Sequence[Item], unit: Unit = "words") -> float | None:
    """How often the key would be the one longest option if it were drawn by lot.

    Returns
    -------
    float or None
        In 0..1: the mean over the items with a key of 1 / options where one option is longer than all others, else 0. Below 0.25 with four
        options wherever the longest are equal. None without items.
    """
    shares = []
    for item in items:
        if item.key_number < 0:
            continue
        sizes = sorted((size(option, unit) for option in item.options), reverse=True)
        shares.append(1 / len(sizes) if len(sizes) > 1 and sizes[0] > sizes[1] else 0.0)
    return sum(shares) / len(shares) if shares else None


def cue_flags(
    item: Item, rule: CueRule, against: Against = "mean", unit: Unit = "words"
) -> Iterator[tuple[str, float, float | None, str]]:
    """What an item breaks of a rule: flag, value, limit, detail.

    Lengths of stem and options are words, as the paper's limits are; `unit` is that of the comparison with the
    distractors only.
    """
    stem = size(item.question)
    if stem < rule.stem:
        yield "short_stem", stem, rule.stem, f"{stem} words"
    sizes = {letter: size(option) for letter, option in zip(item.letters, item.options, strict=True)}
    for flag, outside, limit, worst in (
        ("short_option", {a: n for a, n in sizes.items() if n < rule.shortest}, rule.shortest, min),
        ("long_option", {a: n for a, n in sizes.items() if n > rule.longest}, rule.longest, max),
    ):
        if outside:
            yield flag, worst(outside.values()), limit, ", ".join(f"{a}: {n} words" for a, n in outside.items())
    found = advantage(item, against, unit)
    if found is not None:
        longer, ratio = found
        than = "the longest distractor" if against == "longest" else "the mean distractor"
        if longer > rule.advantage + 1e-9:
            yield "length_advantage", longer, rule.advantage, f"the key is {longer:.3g} {unit} longer than {than}"
        if ratio > rule.ratio + 1e-9:
            yield "length_ratio", ratio, rule.ratio, f"the key is {ratio:.3g} times as long as {than}"
    if not rule.longest_key and key_is_longest(item, unit):
        yield "longest_key", size(item.options[item.key_number], unit), None, "the key is the one longest option"


def longest_key(
    items: Sequence[Item],
    clusters: Sequence[Hashable] | None = None,
    *,
    unit: Unit = "words",
    replicates: int = 4000,
    seed: int = 0,
) -> Estimate:
    """How often the key is the one longest option.

    MS-Exam-Gen, section V: 68.1 % of the replaced Hard and synthesis items, 6.6 % of the locked ones.

    Parameters
    ----------
    items : sequence of Item
        Those without a key are left out and counted as `undefined`.
    clusters : sequence, optional
        What the items were drawn from (topic, batch), one label each.
    unit : {"words", "characters"}
    replicates, seed : int
        Of the bootstrap.

    Returns
    -------
    Estimate
        In 0..1. Of options as long as each other, none is longest, so that a bank without this cue is at or below 0.25.
    """
    check("mean", unit)
    values: list[Any] = [float(key_is_longest(item, unit)) if item.key_number >= 0 else None for item in items]
    parts = {"unit": unit}
    return estimate(values, clusters, replicates, seed, name="longest_key", parts=parts)
