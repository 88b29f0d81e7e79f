"""What is wrong with a bank, item by item: the deterministic audits of MS-Exam-Gen, section III.C.

Items, and where there are any embeddings and passages, go in; one row for each item and flag comes out. Flags are kept, as
in the paper, where near-duplicates stay flagged in the final audit; what leaves the bank is decided by a rule (`screen`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from factlab.exam import duplicates, lengths, phrasing
from factlab.exam.items import LABELS, LETTERS, Item
from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

# Every flag with its group and what it means.
FLAGS: Mapping[str, tuple[str, str]] = {
    "no_question": ("schema", "the stem is empty"),
    "option_count": ("schema", "not four options"),
    "empty_option": ("schema", "an option is empty"),
    "repeated_option": ("schema", "two options say the same"),
    "no_key": ("schema", "the key names no option"),
    "no_metadata": ("schema", "label, topic, subtopic or question type is missing"),
    "no_explanation": ("schema", "there is no explanation"),
    "no_evidence": ("schema", "no passage is cited"),
    "refers_to_source": ("phrasing", "the stem speaks of a text that the examinee does not see"),
    "all_or_none": ("phrasing", "an option about all or none of the options"),
    "combined_option": ("phrasing", "an option made of other options"),
    "negative_stem": ("phrasing", "the stem asks for what does not hold"),
    "not_a_question": ("phrasing", "the stem does not end as a question"),
    "article_cue": ("phrasing", "the article at the end of the stem fits some options only"),
    "key_in_stem": ("phrasing", "the stem holds the key, word for word, and no other option"),
    "absolute_cue": ("phrasing", "every distractor has an absolute word, and the key has none"),
    "stem_words_cue": ("phrasing", "the key repeats the words of the stem, and no distractor does"),
    "unknown_label": ("label", "a construction label that is not known"),
    "letter_in_option": ("label", "an option begins with a letter of its own"),
    "label_in_stem": ("label", "the stem shows how hard it is meant to be"),
    "single_source": ("label", "a synthesis item from one source"),
    "explanation_names_letter": ("label", "the explanation speaks of options by letter"),
    "explanation_other_letter": ("contradiction", "the explanation gives another letter as right"),
    "explanation_other_option": ("contradiction", "the explanation gives another option's words as right"),
    "conflicting_key": ("contradiction", "the same question and options with another key"),
    "exact_duplicate": ("duplicate", "the same stem and options as an earlier item"),
    "near_duplicate": ("duplicate", "a stem like that of an earlier item"),
    "semantic_duplicate": ("duplicate", "a synthesis item that means the same as another item"),
    "trivia": ("trivia", "a question about a publication"),
    "short_stem": ("cue", "the stem has too few words"),
    "short_option": ("cue", "an option has too few words"),
    "long_option": ("cue", "an option has too many words"),
    "length_advantage": ("cue", "the key is longer than the distractors by more words than the rule allows"),
    "length_ratio": ("cue", "the key is more times as long as the distractors than the rule allows"),
    "longest_key": ("cue", "in a synthesis item, the key is the one longest option"),
    "unknown_chunk": ("evidence", "the cited passage is not in the corpus"),
    "quote_not_found": ("evidence", "the quote does not stand in the cited passage"),
    "quote_elsewhere": ("evidence", "the quote stands in the passage, but not where it says"),
}
GROUPS = tuple(dict.fromkeys(group for group, _ in FLAGS.values()))
_COLUMNS = {
    "row": "int64",
    "item_id": "str",
    "group": "str",
    "flag": "str",
    "value": "Float64",
    "limit": "Float64",
    "other": "Int64",
    "detail": "str",
}


def audit(
    items: Sequence[Item],
    *,
    vectors: ArrayLike | None = None,
    chunks: Mapping[str, str] | pd.DataFrame | None = None,
    cue_rules: Mapping[str, lengths.CueRule] = lengths.PAPER_RULES,
    against: lengths.Against = "mean",
    unit: lengths.Unit = "words",
    near: float = 0.90,
    cosine: float = 0.90,
    text: Literal["stem", "item"] = "stem",
    measure: duplicates.Measure = "gestalt",
    flagged: Literal["later", "both"] = "later",
    labels: Sequence[str] = LABELS,
) -> pd.DataFrame:
    """All flags of a bank.

    MS-Exam-Gen, section III.C.

    Parameters
    ----------
    items : sequence of Item
    vectors : (n, d) array, optional
        Embeddings of the items, for synthesis items that mean the same; NaN where an item was not embedded.
    chunks : mapping of id to text, or DataFrame, optional
        The passages (columns `chunk` and `text`), to see that evidence stands in them.
    cue_rules : mapping of label to CueRule
        Length limits, by construction label; labels without a rule are not checked for length.
    against, unit
        What the length of the key is compared with, see `lengths.advantage`: our reading, not the paper's words.
    near, cosine : float
        From which string similarity and which cosine two items are duplicates.
    text : {"stem", "item"}
        What is compared letter by letter: the stem, or the stem with its options.
    measure : {"gestalt", "indel", "levenshtein"}
        See `duplicates.near_pairs`.
    flagged : {"later", "both"}
        Of two near or semantic duplicates, flag the one that comes later (so that leaving out what is flagged keeps
        one), or both.
    labels : sequence of str
        Known construction labels.

    Returns
    -------
    DataFrame
        One row an item and flag, in the order of the items and of `FLAGS`: row (number of the item, from 0), item_id,
        group, flag, value and limit (what was measured, and the limit it broke; missing where there is none), other
        (row of the other item, of duplicates the most alike), detail. ``attrs["not_checked"]`` says which flags could not be looked
        for, and why.

    Raises
    ------
    ValueError
        If a setting is not one of its values, or vectors and items differ in number.
    """
    import pandas as pd

    items = list(items)
    lengths.check(against, unit)
    if flagged not in ("later", "both"):
        raise ValueError(f"flagged: expected 'later' or 'both', got {flagged!r}")
    passages = None if chunks is None else _passages(chunks)
    rows: list[dict[str, Any]] = []
    for number, item in enumerate(items):
        for flag, value, limit, detail in _of_one(item, cue_rules, against, unit, labels, passages):
            rows.append({"row": number, "flag": flag, "value": value, "limit": limit, "other": None, "detail": detail})
    rows += _same(items)
    pairs = duplicates.near_pairs([duplicates.content(item, text) for item in items], near, measure)
    rows += _alike("near_duplicate", pairs, near, flagged, "similarity")
    not_checked = {} if passages is not None else dict.fromkeys(_flags_of("evidence"), "no passages were given")
    if vectors is None:
        any_synthesis = any(item.label == "synthesis" for item in items)
        not_checked["semantic_duplicate"] = (
            "no embeddings were given" if any_synthesis else "no item is labelled synthesis"
        )
    else:
        vectors = np.asarray(vectors, dtype=float)
        if len(vectors) != len(items):
            raise ValueError(f"vectors has {len(vectors)} rows for {len(items)} items: one embedding an item is needed")
        synthesis = np.array([item.label == "synthesis" for item in items], dtype=bool)
        rows += _alike(
            "semantic_duplicate",
            duplicates.cosine_pairs(vectors, synthesis, cosine),
            cosine,
            flagged,
            "cosine",
            synthesis,
        )
    order = {flag: number for number, flag in enumerate(FLAGS)}
    rows.sort(key=lambda r: (r["row"], order[r["flag"]]))
    made = [{**r, "item_id": items[r["row"]].id, "group": FLAGS[r["flag"]][0]} for r in rows]
    table = pd.DataFrame({name: pd.array([r[name] for r in made], dtype=kind) for name, kind in _COLUMNS.items()})
    table.attrs["not_checked"] = not_checked
    return table


def _of_one(item: Item, cue_rules, against, unit, labels, passages) -> Iterator[tuple[str, Any, Any, str]]:
    for found in (
        _schema(item),
        phrasing.phrasing(item),
        phrasing.labels(item, labels),
        phrasing.contradiction(item),
        phrasing.trivia(item),
        _evidence(item, passages) if passages is not None else (),
    ):
        for flag, detail in found:
            yield flag, None, None, detail
    if item.label in cue_rules:
        yield from lengths.cue_flags(item, cue_rules[item.label], against, unit)


def _schema(item: Item) -> phrasing.Found:
    if not item.question.strip():
        yield "no_question", "the stem is empty"
    if len(item.options) != len(LETTERS):
        yield "option_count", f"{len(item.options)} option{'s' * (len(item.options) != 1)}"
    if empty := [a for a, option in zip(item.letters, item.options, strict=True) if not option.strip()]:
        yield "empty_option", ", ".join(empty)
    told = [duplicates.normal(option) or option for option in item.options]
    # Options of signs only (`+`, `-`) have no normal form.
    if repeated := sorted({a for a, t in zip(item.letters, told, strict=True) if t.strip() and told.count(t) > 1}):
        yield "repeated_option", f"{' and '.join(repeated)} say the same"
    if item.key_number < 0:
        yield "no_key", f"the key is {item.key!r}" if item.key else "there is no key"
    missing = [
        n.replace("_", " ") for n in ("label", "topic", "subtopic", "question_type") if not getattr(item, n).strip()
    ]
    if missing:
        yield "no_metadata", f"no {', '.join(missing)}"
    if not item.explanation.strip():
        yield "no_explanation", "there is no explanation"
    if not any(e.quote.strip() for e in item.evidence):
        yield "no_evidence", "no passage is quoted"


# --- evidence ----------------------------------------------------------------------------------------------------


def _passages(chunks: Mapping[str, str] | pd.DataFrame) -> dict[str, str]:
    if not hasattr(chunks, "columns"):
        return dict(chunks)
    name = next((n for n in ("chunk", "chunk_id", "sha256") if n in chunks.columns), None)
    if name is None or "text" not in chunks.columns:
        raise ValueError(f"chunks: no column 'chunk' and 'text'; the table has {', '.join(map(str, chunks.columns))}")
    return dict(zip(chunks[name], chunks["text"], strict=True))


_LEFT_OUT = re.compile(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)\s*")


def _evidence(item: Item, passages: Mapping[str, str]) -> phrasing.Found:
    unknown, absent, moved = [], [], []
    for number, e in enumerate(item.evidence, 1):
        where = f"evidence {number} ({e.chunk or 'no passage named'})"
        named = [passages[c] for c in (e.chunk, *map(str.strip, e.chunk.split(";"))) if c in passages]
        if not named:
            unknown.append(where)
        elif not any(_stands(e.quote, passage) for passage in named):
            absent.append(where)
        elif None not in (e.start, e.end) and not any(_stands(e.quote, p[e.start : e.end]) for p in named):
            moved.append(f"{where}, {e.start} to {e.end}")
    for flag, found in (("unknown_chunk", unknown), ("quote_not_found", absent), ("quote_elsewhere", moved)):
        if found:
            yield flag, "; ".join(found)


def _stands(quote: str, passage: str) -> bool:
    """Whether a quote stands in a passage: its pieces in order, apart from case, white space and kinds of quotes."""
    pieces = [fold(piece).strip(" \"'") for piece in _LEFT_OUT.split(quote)]
    pieces = [piece for piece in pieces if piece]
    passage, at = fold(passage), 0
    for piece in pieces:
        found = re.compile(rf"(?<!\w){re.escape(piece)}(?!\w)").search(passage, at)
        if not found:
            return False
        at = found.end()
    return bool(pieces)


# --- the same again ----------------------------------------------------------------------------------------------


def _same(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Items with the same stem and options as an earlier one, and of those the ones with another key."""
    rows: list[dict[str, Any]] = []
    first: dict[tuple, int] = {}
    conflicts: dict[int, int] = {}
    for number, item in enumerate(items):
        stem = duplicates.normal(item.question)
        if not stem:
            continue
        earlier = first.setdefault((stem, *sorted(map(fold, item.options))), number)
        if earlier == number:
            continue
        blank = {"value": None, "limit": None}
        detail = f"the same as item {earlier + 1} ({items[earlier].id})"
        rows.append({"row": number, "flag": "exact_duplicate", **blank, "other": earlier, "detail": detail})
        keys = [fold(i.options[i.key_number]) if i.key_number >= 0 else "" for i in (item, items[earlier])]
        if all(keys) and keys[0] != keys[1]:
            conflicts[number] = earlier
            conflicts.setdefault(earlier, number)
    for number, other in conflicts.items():
        detail = f"item {other + 1} ({items[other].id}) asks the same with another key"
        rows.append(
            {"row": number, "flag": "conflicting_key", "value": None, "limit": None, "other": other, "detail": detail}
        )
    return rows


def _alike(
    flag: str, pairs: pd.DataFrame, limit: float, flagged: str, what: str, only: np.ndarray | None = None
) -> list[dict]:
    """One row for each item that is like others: the most alike (of several the first), and how many more."""
    best: dict[int, list[tuple[float, int]]] = {}
    for later, earlier, value in pairs.itertuples(index=False):
        sides = [(later, earlier)] if flagged == "later" else [(later, earlier), (earlier, later)]
        if only is not None:
            # The synthesis item of a mixed pair is the candidate, wherever it stands.
            sides = [(a, b) for a, b in [(later, earlier), (earlier, later)] if only[a]][: len(sides)]
        for row, other in sides:
            best.setdefault(int(row), []).append((-float(value), int(other)))
    rows = []
    for row, found in best.items():
        value, other = min(found)
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        detail = f"{what} {-value:.3f} to item {other + 1}{more}"
        rows.append({"row": row, "flag": flag, "value": -value, "limit": limit, "other": other, "detail": detail})
    return rows


# --- what follows from flags -------------------------------------------------------------------------------------


def _flags_of(name: str) -> list[str]:
    return [flag for flag, (group, _) in FLAGS.items() if name in (flag, group)]


def screen(items: Sequence[Item], flags: pd.DataFrame, exclude: Iterable[str]) -> pd.DataFrame:
    """Which items stay in the bank under a rule of exclusion.

    Parameters
    ----------
    items : sequence of Item
    flags : DataFrame
        From `audit`, of the same items.
    exclude : iterable of str
        Flags, or groups of flags (`GROUPS`), that put an item out.

    Returns
    -------
    DataFrame
        One row an item, in order: row, item_id, label, topic, kept (bool), reasons (the flags that put it out, `, `
        between), flags (all of them). Items are flagged whether or not they are kept.

    Raises
    ------
    ValueError
        If a name is neither a flag nor a group, with the nearest one; or flags are not those of these items.
    """
    import pandas as pd

    if isinstance(exclude, str):
        raise ValueError(f"exclude: expected a list of flags or groups, got the text {exclude!r}")
    out = set()
    for name in exclude:
        if not _flags_of(name):
            near = difflib.get_close_matches(name, [*FLAGS, *GROUPS], 1)
            raise ValueError(
                f"exclude: {name!r} is neither a flag nor a group" + (f"; did you mean {near[0]!r}?" if near else "")
            )
        out.update(_flags_of(name))
    of: dict[int, list[str]] = {}
    for row, item_id, flag in flags[["row", "item_id", "flag"]].itertuples(index=False):
        if row >= len(items) or items[row].id != item_id:
            raise ValueError(
                f"flags: row {row} is {item_id}, which is not that item of the bank; audit these items first"
            )
        of.setdefault(row, []).append(flag)
    rows = [
        {
            "row": number,
            "item_id": item.id,
            "label": item.label,
            "topic": item.topic,
            "kept": not out.intersection(of.get(number, [])),
            "reasons": ", ".join(flag for flag in of.get(number, []) if flag in out),
            "flags": ", ".join(of.get(number, [])),
        }
        for number, item in enumerate(items)
    ]
    return pd.DataFrame(rows, columns=["row", "item_id", "label", "topic", "kept", "reasons", "flags"])


def audit_summary(items: Sequence[Item], flags: pd.DataFrame) -> pd.DataFrame:
    """How many items have each flag.

    Returns
    -------
    DataFrame
        One row a flag of `FLAGS`: group, flag, meaning, items (`Int64`; missing where it was not looked for), share (of
        all items), status (`scored`, or `undefined` for not looked for), reason.
    """
    import pandas as pd

    not_checked = flags.attrs.get("not_checked", {})
    counts = flags["flag"].value_counts()
    n, rows = len(items), []
    for flag, (group, meaning) in FLAGS.items():
        reason = not_checked.get(flag, "")
        found = None if reason else int(counts.get(flag, 0))
        share = None if reason or not n else found / n
        status = "undefined" if reason or not n else "scored"
        rows.append([group, flag, meaning, found, share, status, reason or ("" if n else "no items")])
    table = pd.DataFrame(rows, columns=["group", "flag", "meaning", "items", "share", "status", "reason"])
    table["items"] = pd.array(table["items"].tolist(), dtype="Int64")
    table["share"] = pd.array([None if s is None or s != s else s for s in table["share"]], dtype="Float64")
    return table
