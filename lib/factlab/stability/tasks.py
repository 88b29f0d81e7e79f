"""The texts that CheckEmbed's evaluation compares (sections 4.1 to 4.3): what is read from replies, and passages with forced errors.

Strings and tables go in and come out; the prompts and the models that answer them are elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab.replies import Parsed, is_refusal, strip_reasoning

if TYPE_CHECKING:
    import pandas as pd

_HEAD = r"^[#*\s_]*{}[#*:\s_.]*$"


def _after(text: str, head: str) -> str | None:
    """What stands below the last line that is such a heading (hashes, asterisks and colons around it are no matter)."""
    found = list(re.finditer(_HEAD.format(head), text, flags=re.IGNORECASE | re.MULTILINE))
    return text[found[-1].end() :] if found else None


def parse_pair(reply: str | None) -> Parsed:
    """The two passages of a reply to `describe_same` or `describe_two`.

    Returns
    -------
    Parsed : (text, text); None with status 'unparsable' where a heading or a passage is missing, 'refused', 'truncated' or 'error' as in
    `replies`.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    first = _after(answer.value, r"description\s+1")
    second = _after(answer.value, r"description\s+2")
    if first is None or second is None:
        return Parsed(None, "refused" if is_refusal(answer.value) else "unparsable")
    cut = re.search(_HEAD.format(r"description\s+2"), first, flags=re.IGNORECASE | re.MULTILINE)
    texts = (first[: cut.start()].strip() if cut else first.strip(), second.strip())
    return Parsed(texts, "scored") if all(texts) else Parsed(None, "unparsable")


def parse_passage(reply: str | None) -> Parsed:
    """The passage of a reply to `passage` or `passage_with_errors`, without the list of errors before it.

    Returns
    -------
    Parsed : str; None with status 'unparsable' where there is a list of errors and no heading PASSAGE, else as in `replies`. A reply with
    neither heading is a passage.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    if is_refusal(answer.value):
        return Parsed(None, "refused")
    text = _after(answer.value, "passage")
    if text is None:
        listed = _after(answer.value, "errors") is not None
        text = "" if listed else answer.value
    return Parsed(text.strip(), "scored") if text.strip() else Parsed(None, "unparsable")


def with_errors(
    passages: pd.DataFrame, counts: Sequence[int] = tuple(range(11)), versions: int = 5, seed: int = 0
) -> pd.DataFrame:
    """Passages in which some sentences are replaced by false ones: the test of section 4.3 with the number of errors known for certain.

    Parameters
    ----------
    passages : DataFrame
        One row a sentence: passage_id, topic, sentence_no, sentence, false_sentence (empty where there is none).
    counts : numbers of errors; none may be above the number of false sentences of a passage.
    versions : how many passages of each number, with the errors drawn anew; without errors there is one text, so it stands once.
    seed : int

    Returns
    -------
    DataFrame : passage_id, topic, errors, version, text, replaced (numbers of the sentences, joined by spaces).

    Raises
    ------
    ValueError
        If a passage has fewer false sentences than errors are asked for.

    Notes
    -----
    The paper has a model write each passage anew, so passages with different numbers of errors differ in wording too, and whether the
    errors are really in them is not known. Here nothing but the errors differs.
    """
    import pandas as pd

    rows = []
    for number, (passage, lines) in enumerate(passages.groupby("passage_id", sort=False)):
        lines = lines.sort_values("sentence_no", key=lambda column: column.astype(int))
        can = np.flatnonzero(lines["false_sentence"].fillna("").str.strip() != "")
        if max(counts, default=0) > len(can):
            raise ValueError(f"passage {passage!r} has {len(can)} false sentences; {max(counts)} errors were asked for")
        generator = np.random.default_rng([seed, number])
        for errors in counts:
            for version in range(versions if 0 < errors < len(can) else 1):
                chosen = set(generator.choice(can, errors, replace=False).tolist())
                both = zip(lines["sentence"], lines["false_sentence"], strict=True)
                text = " ".join(false if i in chosen else true for i, (true, false) in enumerate(both))
                replaced = " ".join(str(n) for i, n in enumerate(lines["sentence_no"]) if i in chosen)
                rows.append((passage, lines["topic"].iloc[0], errors, version, text, replaced))
    return pd.DataFrame(rows, columns=["passage_id", "topic", "errors", "version", "text", "replaced"])
