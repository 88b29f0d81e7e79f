"""What taggers return, what of it LExT compares, and how good it is: entities as tuples and tables.

LExT, section 3.1.1 and Table 2. Pure functions of texts and entities, for the built-in gazetteer and for any other tagger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd


class Entity(NamedTuple):
    """One term in a text: `text[start:end]`, what kind of thing it is, and the name that its synonyms share."""

    start: int
    end: int
    text: str
    type: str
    canonical: str


BY = ("form", "type and form", "canonical")


def tags(found: Iterable[Entity], by: str = "form") -> list[str]:
    """The tags of one text, as `explanation.ner_weight` compares them.

    LExT, equation 1 and Table 2.

    Parameters
    ----------
    found : iterable of Entity
    by : {"form", "type and form", "canonical"}
        What makes two tags the same. "form": the words as they stand, without case and layout. "type and form": the same
        words as the same type. "canonical": the term that synonyms share (`MI` and `heart attacks`); for taggers other than
        the gazetteer this is the form.

    Returns
    -------
    list of str
        Sorted, each once.

    Notes
    -----
    "form" is the paper's reading: Table 2 prints a set of bare words (`fractures`, in the plural, `pain` beside
    `pain control`) without their types, and the paper says of beta that it softens "minor lexical mismatches", of which there
    would be fewer under "canonical".
    """
    if by not in BY:
        raise ValueError(f"by={by!r} is not known; use one of {', '.join(map(repr, BY))}")
    if by == "canonical":
        return sorted({fold(entity.canonical) for entity in found})
    return sorted({(f"{e.type}: " if by == "type and form" else "") + fold(e.text) for e in found})


def frame(found: Sequence[Sequence[Entity]], keys: Sequence | None = None) -> pd.DataFrame:
    """Entities of several texts as one table.

    Parameters
    ----------
    found : sequence of sequences of Entity
        One for each text, as `[tag(text) for text in texts]` or a tagger of `models.entities` gives them.
    keys : sequence, optional
        A name for each text; its number if left out.

    Returns
    -------
    DataFrame
        One row an entity, in the order of the texts: key, start, end (in characters), text, type, canonical. A text without
        entities has no row.
    """
    import pandas as pd

    names = list(range(len(found))) if keys is None else list(keys)
    if len(names) != len(found):
        raise ValueError(f"frame: {len(names)} keys for {len(found)} texts")
    rows = [(name, *entity) for name, entities in zip(names, found, strict=True) for entity in entities]
    return pd.DataFrame(rows, columns=["key", *Entity._fields])


def coverage(texts: Sequence[str], tag: Callable[[str], Sequence[Entity]]) -> pd.DataFrame:
    """What a tagger finds in some texts; above all, in how many of them nothing.

    Parameters
    ----------
    texts : sequence of str
    tag : function
        From a text to its entities: `entities.tag`, or `lambda text: tagger([text])[0]`.

    Returns
    -------
    DataFrame
        One row a type and a last row "all": type, texts_with (texts with at least one), entities, distinct (forms), words
        (in entities), share_of_words (of all words of all texts, 0..1; missing where there are no words).

    Notes
    -----
    An explanation without entities has the weight 0 (Table 2), so `texts - texts_with` of the last row is what to look at
    first. How much of a text should be tagged nobody knows: the share of words says nothing about right or wrong, for which
    see `agreement`.
    """
    import pandas as pd

    found = [list(tag(text)) for text in texts]
    total = sum(len(text.split()) for text in texts)
    rows = []
    for kind in [*sorted({e.type for entities in found for e in entities}), "all"]:
        kept = [[e for e in entities if kind in (e.type, "all")] for entities in found]
        flat = [e for entities in kept for e in entities]
        words = sum(len(e.text.split()) for e in flat)
        share = words / total if total else None
        rows.append(
            (kind, sum(map(bool, kept)), len(flat), len({fold(e.text) for e in flat}), words, share, len(found), total)
        )
    columns = ["type", "texts_with", "entities", "distinct", "words", "share_of_words", "texts", "words_in_all"]
    made = pd.DataFrame(rows, columns=columns)
    made["share_of_words"] = made["share_of_words"].astype("Float64")
    return made


def agreement(found: Sequence[Sequence[Entity]], marks: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Entities against what a reader marked by hand.

    Parameters
    ----------
    found : sequence of sequences of Entity
        One for each text.
    marks : sequence of sequences of str
        For each text the terms that a reader marked, as they stand there, as often as they do.

    Returns
    -------
    DataFrame
        One row a text: marked, tagged, both (how many are the same words, counted as often as they occur), missed and extra
        (lists), precision (both / tagged) and recall (both / marked), missing where nothing was tagged or marked.

    Notes
    -----
    The whole term must be the same: `pain` for a marked `neuropathic pain` is one missed and one extra.
    """
    import pandas as pd

    if len(found) != len(marks):
        raise ValueError(f"agreement: marks for {len(marks)} texts, entities of {len(found)}")
    rows = []
    for entities, marked in zip(found, marks, strict=True):
        if isinstance(marked, str):
            raise ValueError(f"agreement: expected a list of terms for each text, got one text: {marked!r:.60}")
        ours, theirs = Counter(fold(e.text) for e in entities), Counter(map(fold, marked))
        both = (ours & theirs).total()
        rows.append((theirs.total(), ours.total(), both, [*(theirs - ours).elements()], [*(ours - theirs).elements()]))
    made = pd.DataFrame(rows, columns=["marked", "tagged", "both", "missed", "extra"])
    for name, of in (("precision", "tagged"), ("recall", "marked")):
        made[name] = pd.array([b / n if n else None for b, n in zip(made["both"], made[of], strict=True)], "Float64")
    return made
