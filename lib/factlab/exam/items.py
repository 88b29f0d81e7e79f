"""A multiple-choice item: stem, four options, key, labels and evidence, and how its options are ordered.

MS-Exam-Gen, sections III.B and III.C. An item may be faulty (that is what `audit` is for); only `lock` refuses one. Its id
comes from what it asks and offers, so that shuffling its options or editing its labels keeps it.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

LETTERS = "ABCD"
LABELS = ("easy", "medium", "hard", "synthesis")
# The paper stores the multi-source stream under the label of its generator.
_LABEL_ALIASES = {"very hard": "synthesis", "very_hard": "synthesis", "multi-source synthesis": "synthesis"}
FIELDS = ("label", "topic", "subtopic", "question_type", "explanation", "batch", "parent", "mark")  # all texts


@dataclass(frozen=True)
class Evidence:
    """What an item rests on.

    Attributes
    ----------
    chunk : str
        Id of the passage, or the ids of several (`; ` between) where it is not recorded which of them it is.
    quote : str
        Words of the passage; what is left out is written `…` or `[...]`.
    start, end : int or None
        Where the quote stands in the passage, in characters; None where that was not recorded.
    source : str
        Id of the document that the passage is from; several as for `chunk`.
    """

    chunk: str
    quote: str
    start: int | None = None
    end: int | None = None
    source: str = ""


@dataclass(frozen=True)
class Item:
    """A question with options of which one is the key.

    Attributes
    ----------
    question : str
        The stem.
    options : tuple of str
        In the order in which they are shown, `A` first; four of them.
    key : str
        Letter of the right option.
    label : str
        Construction label, one of `LABELS` (`very hard` is read as `synthesis`): metadata, not a measured difficulty.
    topic, subtopic, question_type, explanation : str
    evidence : tuple of Evidence
    batch : str
        The construction batch, what the bootstrap draws first; the topic stands in where there is none.
    parent : str
        The semantic parent: topics that overlap share one.
    mark : str
        A remark of whoever made the item, such as a fault built in on purpose. Nothing is computed from it.
    order_seed : int or None
        Seed of the last shuffle.
    own_id : str
        What the bank it is from calls it, so that answers recorded under that name find it. No part of `id`, nor of a lock.

    Raises
    ------
    TypeError
        If a field is of the wrong kind.
    """

    question: str
    options: tuple[str, ...]
    key: str
    label: str = ""
    topic: str = ""
    subtopic: str = ""
    question_type: str = ""
    explanation: str = ""
    evidence: tuple[Evidence, ...] = ()
    batch: str = ""
    parent: str = ""
    mark: str = ""
    order_seed: int | None = None
    own_id: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.options, str):
            raise TypeError(f"options: expected a list of texts, got the text {self.options[:40]!r}")
        object.__setattr__(self, "options", tuple(self.options))
        object.__setattr__(self, "evidence", tuple(self.evidence))
        for name in ("question", "key", "own_id", *FIELDS):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name}: expected a text, got {getattr(self, name)!r:.60}")
        for option in self.options:
            if not isinstance(option, str):
                raise TypeError(f"options: expected texts, got {option!r:.60}")
        if not all(isinstance(e, Evidence) for e in self.evidence):
            raise TypeError("evidence: expected a list of Evidence")
        label = " ".join(self.label.split()).casefold()
        object.__setattr__(self, "label", _LABEL_ALIASES.get(label, label))
        key = self.key.strip()
        object.__setattr__(self, "key", key.upper() if len(key) == 1 else key)  # what is no letter is shown as written

    @property
    def letters(self) -> str:
        """The letters of the options: `ABCD` for four."""
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(self.options)]

    @property
    def key_number(self) -> int:
        """Which option is the key, from 0; −1 where the key names none."""
        return self.letters.find(self.key) if len(self.key) == 1 else -1

    @property
    def distractors(self) -> tuple[str, ...]:
        """The options that are not the key, in order."""
        return tuple(option for number, option in enumerate(self.options) if number != self.key_number)

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the documents that the evidence is from, each once."""
        named = [source.strip() for e in self.evidence for source in e.source.split(";")]
        return tuple(dict.fromkeys(source for source in named if source))

    @cached_property
    def id(self) -> str:
        """`q` and 12 hexadecimal digits of a sha256: of the stem, the right answer, and the distractors in sorted order.

        White space and the composition of accents (NFC) make no difference; the order of the options, labels,
        explanation and evidence make none either. Another word, another case or another key gives another id.
        """
        right = [self.options[self.key_number]] if self.key_number >= 0 else [f"({self.key})"]
        content = [[self.question], right, sorted(self.distractors)]
        written = json.dumps([[canonical(text) for text in part] for part in content], ensure_ascii=False)
        return "q" + hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def reordered(self, order: Sequence[int]) -> Item:
        """The item with its options in another order.

        Parameters
        ----------
        order : sequence of int
            For each new place the number of the option that goes there, from 0.

        Returns
        -------
        Item
            With the same id.

        Raises
        ------
        ValueError
            If `order` does not name each option once.
        """
        order = [int(number) for number in order]
        if sorted(order) != list(range(len(self.options))):
            raise ValueError(f"order: expected each of 0 to {len(self.options) - 1} once, got {order}")
        key = self.letters[order.index(self.key_number)] if self.key_number >= 0 else self.key
        return replace(self, options=tuple(self.options[number] for number in order), key=key)


def canonical(text: str) -> str:
    """A text with white space folded and accents composed; all else (case, superscripts) means something and stays."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def shuffled(items: Iterable[Item], seed: int = 0) -> list[Item]:
    """Items with their options in random order, the seed recorded in each.

    Parameters
    ----------
    items : iterable of Item
    seed : int

    Returns
    -------
    list of Item
        In order. The order of an item's options depends on the seed and the item alone: not on the items beside it, nor
        on the order that its options had.

    Notes
    -----
    MS-Exam-Gen, section III.B: options are shuffled after generation, since a generator favours a place for the key.
    """
    out = []
    for item in items:
        digest = hashlib.sha256(f"{seed}\n{item.id}".encode()).digest()
        order = np.random.default_rng(int.from_bytes(digest[:8], "big")).permutation(len(item.options))
        sorted_first = sorted(range(len(item.options)), key=lambda number: (canonical(item.options[number]), number))  # noqa: B023
        out.append(replace(item.reordered([sorted_first[number] for number in order]), order_seed=int(seed)))
    return out


def cyclic_orders(item: Item) -> list[Item]:
    """The item with its options rotated by 0, 1, 2 and 3 places, so that every option stands once in every place.

    MS-Exam-Gen, sections IV and V. Rotation r shows option (p + r) mod k in place p, numbers from 0, k options.
    """
    k = len(item.options)
    return [item.reordered([(place + rotation) % k for place in range(k)]) for rotation in range(k)]
