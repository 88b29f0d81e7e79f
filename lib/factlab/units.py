"""DAHL: how much of what a model wrote is true, atomic unit by atomic unit.

Section 3.3 of the paper. Step 0 cleans a response (`preprocess`), Step 1 takes it apart into atomic units
(`parse_units` reads a splitter model's reply, `clauses.rule_units` needs no model), Step 2 reads the checker's verdicts
(`parse_verdict`), Step 3 makes a factual precision per response (`factual_precision`) and their mean, the DAHL score
(`dahl_score`). Noncommittal responses (section 3.1) are recognised by `is_noncommittal`.
"""

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from factlab.clauses import rule_units
from factlab.replies import (
    Parsed,
    is_filler,
    is_refusal,
    label,
    parse_list,
    strip_reasoning,
    without_echo,
    words_with_ends,
)
from factlab.text import fold, is_complete, sentences

if TYPE_CHECKING:
    from factlab.stats import Estimate

__all__ = [
    "Cleaned",
    "dahl_score",
    "factual_precision",
    "funnel",
    "is_noncommittal",
    "parse_units",
    "parse_verdict",
    "preprocess",
    "preprocess_steps",
    "read_units",
    "rule_units",
]

STATUSES = ("scored", "refused", "truncated", "unparsable", "unknown", "no_units", "undefined", "error")

# --- Step 0: response preprocessing ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cleaned:
    """A response after Step 0, and what was taken out of it.

    Attributes
    ----------
    text : str
        What is left to score.
    prompt_removed : int
        Characters of prompt echoed in front, scaffolding such as `Q:` and `Answer:` included.
    repeated : tuple of str
        Sentences removed because they, or the prompt, had been said before; in order.
    unfinished : str
        The end that was cut off by the length limit; empty if there was none.
    """

    text: str
    prompt_removed: int
    repeated: tuple[str, ...]
    unfinished: str


_ASKS = r"(?:###?\s*)?(?:question|q|prompt|user|human|instruction|query|input)\s*\d*\s*[:.]"
_ANSWERS = r"(?:###?\s*)?(?:answer|a|response|assistant|output|ans|reply)\s*\d*\s*:"
_SCAFFOLD = re.compile(rf"^[\s\"'“”‘’*_>#-]*(?:{_ASKS})\W*", re.IGNORECASE)
_ANSWER = re.compile(rf"^[\s\"'“”‘’*_>-]*(?:{_ANSWERS})[\s*_]*", re.IGNORECASE)
_MARKS = re.compile(r"^[\s\"'“”‘’*_>#•–—-]*(?:\(?\d{1,3}[.)]\s+)?")


def _key(sentence: str) -> str:
    """The form in which sentences are compared: folded, without list marks, scaffolding and end mark."""
    bare = _ANSWER.sub("", _SCAFFOLD.sub("", _MARKS.sub("", sentence)))
    return fold(bare).strip(" .!?:;\"'*_()")


def _echo(response: str, prompt: str) -> int:
    """Length of the prompt as echoed at the start of a response, scaffolding included; 0 if it is not there."""
    asked = [w for w, _ in words_with_ends(prompt)]
    start = 0
    while asked:
        scaffold = _SCAFFOLD.match(response[start:])
        begin = start + (scaffold.end() if scaffold else 0)
        said = words_with_ends(response[begin:], limit=len(asked))
        if [w for w, _ in said] != asked:
            break
        end = begin + said[-1][1]
        closing = re.match(r"[ \t]*[?.!:\"'“”‘’»)\]}*_]*", response[end:]).end()
        # One or two words are also how an answer starts ("Aspirin" - "Aspirin is …"): there the echo must end visibly.
        if len(asked) < 4 and not (response[end : end + closing].strip() or response[end:].startswith("\n") or not response[end:].strip()):
            break
        start = end + closing
    answer = _ANSWER.match(response[start:])
    return start + answer.end() if answer else start


def _located(text: str) -> list[tuple[str, str]]:
    """The sentences of a text, each with what stands before it (space, line breaks, list marks)."""
    pieces, position = [], 0
    for sentence in sentences(text):
        pattern = r"\s+".join(map(re.escape, sentence.split()))
        found = re.compile(pattern).search(text, position)
        if found:
            pieces.append((text[position : found.start()], found[0]))
            position = found.end()
        else:
            pieces.append((" ", sentence))
    if text[position:].strip():
        pieces.append((text[position:], ""))  # list marks with nothing behind them
    return pieces


def preprocess_steps(response: str, prompt: str, finished: bool | None = None) -> Cleaned:
    """Step 0 with a record of what it took out, for a before-and-after display; see `preprocess`."""
    text = strip_reasoning(response).value
    echoed = _echo(text, prompt)
    seen = {key for key in map(_key, sentences(prompt)) if key.count(" ") >= 2}
    kept, repeated = [], []
    after_echo = False
    for gap, sentence in _located(text[echoed:].strip()):
        key = _key(sentence)
        if key and key in seen:
            repeated.append(sentence)
            after_echo = True
            continue
        if after_echo:
            sentence = _ANSWER.sub("", sentence)
        after_echo = not key
        if sentence or not key:
            kept.append((gap, sentence))
        seen.add(key)
    unfinished = ""
    if kept and not finished and not is_complete(kept[-1][1]):
        cut = [kept.pop()]
        while kept and kept[-1][1].endswith((":", ":**")):  # the heading of a list whose first item was cut
            cut.insert(0, kept.pop())
        unfinished = "".join(gap + sentence for gap, sentence in cut).strip()
    elif kept and not kept[-1][1]:
        kept.pop()
    text = "".join(gap + sentence for gap, sentence in kept).strip()
    return Cleaned(text, echoed, tuple(repeated), unfinished)


def preprocess(response: str, prompt: str, finished: bool | None = None) -> str:
    """Step 0: a response without the echoed prompt, repeated sentences and an unfinished end.

    DAHL, section 3.3, Step 0 and Table 1. Removed are (1) the prompt in front, exact or up to case, spacing,
    punctuation and quotes, with scaffolding such as `Q: … A:`; (2) sentences already said, compared without case,
    typographic differences and end mark, the first of each staying, and later echoes of the prompt; (3) the last sentence
    if it does not end. Of a list without full stops only the last item counts as unfinished. Reasoning goes first.

    Parameters
    ----------
    response, prompt : str
        As generated, and as asked.
    finished : bool, optional
        True when the model is known to have stopped by itself: then an unpunctuated end is no cut and stays.
        None (not known) or False (cut at the length limit) apply the paper's rule.

    Returns
    -------
    str
        With its line breaks. Empty when nothing is left: a response that is one unfinished sentence, or only an echo.

    Notes
    -----
    The released code has no Step 0; it exists in the text only. The paper did this with regular expressions it
    does not give.
    """
    return preprocess_steps(response, prompt, finished).text


_NOTHING_SAID = re.compile(
    r"(?:there (?:is|are)|i have|we have) (?:currently )?no (?:(?:clear|definite|definitive|simple|single|known|right) )*answers?(?: to (?:this|that|the) question)?"
    r"|(?:it|that|this)(?: all)? depends|it is (?:hard|difficult|impossible) to (?:say|tell|know)(?: for sure| with certainty)?"
    r"|more research is (?:needed|required)|(?:yes|no|maybe|perhaps|possibly)|the answer (?:is|to (?:this|that|the) question is) (?:not |un)(?:known|clear|certain)(?: at this time| yet)?"
    r"|to be determined|this (?:question )?is (?:a )?(?:difficult|hard|open)(?: question| one)?(?: to answer)?|none(?: of the above)?|no comment"
)


def is_noncommittal(text: str) -> bool:
    """Whether a response commits itself to nothing that could be true or false.

    DAHL, section 3.1: responses such as "It cannot be answered." or "I don't know." are left out of the factual
    precision, as they are about informativeness. True for refusals (`replies.is_refusal`), for texts of nothing but
    polite formulas, and for empty answers such as "It depends." A long answer with one hedge in it is none of these.

    Parameters
    ----------
    text : str
        A response, best after `preprocess`.

    Returns
    -------
    bool
        False for an empty text, which is no answer at all (`no_units`).
    """
    text = strip_reasoning(text).value
    said = [s for s in sentences(text) if _key(s)]
    if not said:
        return False
    return is_refusal(text) or all(
        is_filler(s) or is_refusal(s) or _NOTHING_SAID.fullmatch(_key(s)) is not None for s in said
    )


# --- Step 1: atomic units ----------------------------------------------------------------------------------------

_NO_UNITS = re.compile(
    r"(?:there (?:are|is) )?no(?:ne|thing)?(?: (?:atomic|factual|verifiable|independent) ?)*(?:units?|facts?|claims?|statements?|information)?"
    r"(?: (?:found|to extract|to list|in (?:the|this) (?:text|response|answer|passage)|(?:can|could) be (?:found|extracted|identified)))?"
)


def read_units(reply: str | None, prompt: str | None = None, variant: str = "paper") -> Parsed:
    """Step 1: the atomic units in a splitter model's reply, and how reading them went.

    DAHL, section 3.3, Step 1: a unit is a sentence with one piece of information that is true or false. Read are lists of
    every kind (`replies.parse_list`); a reply that is running text gives one unit a sentence.

    Parameters
    ----------
    reply : str or None
        None stands for a failed call.
    prompt : str, optional
        The splitter's prompt, to recognise an echo.
    variant : {"paper", "released"}
        "released": one unit a line, blank lines included, as in the authors' code; only a blank reply has none.

    Returns
    -------
    Parsed
        value: list[str]; status `scored`, or with an empty list `no_units`, `refused`, `truncated` or `error`.
    """
    _check("variant", variant, ("paper", "released"))
    if variant == "released":
        if reply is None:
            return Parsed([], "error")
        return Parsed(reply.split("\n"), "scored") if reply.strip() else Parsed([], "no_units")
    read = parse_list(reply, prompt=prompt)
    if read.status in ("error", "refused"):
        return read
    units = [u for u in read.value if re.search(r"[^\W\d_]", u)]
    # Running text is taken apart; an item of a list stays whole, as its splitter meant it.
    listed = len(units) > 1 or (reply is not None and re.search(r"(?m)^[ \t]*(?:[-*•\[{|]|\(?\d+[.):])", reply))
    if units and not listed:
        units = [s for s in sentences(without_echo(" ".join(units), prompt)) if re.search(r"[^\W\d_]", s)]
    if len(units) == 1 and _NO_UNITS.fullmatch(_key(units[0])):
        units = []
    if not units:
        return Parsed([], "truncated" if read.status == "truncated" else "no_units")
    return Parsed(units, read.status)


def parse_units(reply: str | None, prompt: str | None = None, variant: str = "paper") -> list[str]:
    """Step 1: the atomic units in a splitter model's reply; [] for a refusal, an empty or a failed one.

    `read_units` also says why there are none. Blank lines and lone list marks are no units.
    """
    return read_units(reply, prompt, variant).value


# --- Step 2: verdicts --------------------------------------------------------------------------------------------

_VERDICTS = ("true", "false", "unknown")


def _terms(text: str) -> tuple[str, ...]:
    return tuple(t.strip() for t in re.split(r"[;\n]", text) if t.strip())


_SYNONYMS = {
    "true": _terms("yes; correct; accurate; right; factual; verified; confirmed; factually correct; factually accurate"),
    "false": _terms(
        "no; untrue; incorrect; inaccurate; wrong; refuted; erroneous; misleading; debunked; factually incorrect; factually inaccurate"
    ),
    "unknown": _terms(
        """
        uncertain; unclear; undetermined; indeterminate; unverifiable; unverified; inconclusive; undecided; unsure; unproven
        not sure; not certain; not clear; not known; not verifiable; not enough information; not enough evidence
        not enough context; insufficient information; insufficient evidence; insufficient data; no information
        lack of information; lack of evidence; hard to say; difficult to say; don't know; do not know; neither true nor false
        cannot be determined; can't be determined; cannot be verified; can't be verified; cannot be confirmed
        can't be confirmed; cannot be judged; cannot be answered; cannot be established; could not be determined
        could not be verified; cannot determine; can't determine; cannot verify; can't verify; cannot confirm; can't confirm
        cannot say; can't say; could not determine; could not verify; unable to determine; unable to verify
        unable to confirm; not able to determine; not able to verify; not possible to determine; not possible to verify
        impossible to determine; impossible to verify; impossible to say; n/a; cannot tell; can't tell
        """
    ),
}


def parse_verdict(reply: str | None, prompt: str | None = None, variant: str = "paper") -> Parsed:
    """Step 2: the checker's verdict on one atomic unit.

    DAHL, section 3.3, Step 2, and 5.3 ("unknown"). Words are read as `replies.label` reads them: `Untrue.` and `Not true.`
    are false, `Norepinephrine …` is no "no". A verdict by halves (`partly true`, `mostly true`, `not entirely true`, `might be
    true`) is unknown: the paper counts only responses "definitively labeled as true or false". A likely one (`probably
    true`) counts in full.

    Parameters
    ----------
    reply : str or None
        None stands for a failed call.
    prompt : str, optional
        The checker's prompt, to recognise an echo of its "true or false".
    variant : {"paper", "released"}
        "released": the authors' rule, on the lower-cased reply: "true" or "false" as a substring; both or neither is
        unparsable. It reads `Untrue.` as true.

    Returns
    -------
    Parsed
        value "true" or "false" (status `scored`), "unknown" (status `unknown`, or `refused` where the checker declined to
        judge), or None (status `unparsable`, `truncated`, `error`).
    """
    _check("variant", variant, ("paper", "released"))
    if variant == "released":
        if reply is None:
            return Parsed(None, "error")
        says = ["true" in reply.lower(), "false" in reply.lower()]
        return Parsed(("true", "false")[says.index(True)], "scored") if sum(says) == 1 else Parsed(None, "unparsable")
    read = label(reply, _VERDICTS, _SYNONYMS, prompt=prompt, doubted="unknown")
    if read.status == "refused":
        return Parsed("unknown", "refused")
    return Parsed("unknown", "unknown") if read.value == "unknown" else read


# --- Step 3: scores ----------------------------------------------------------------------------------------------


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not known; use one of {', '.join(map(repr, allowed))}")


def _columns(frame: pd.DataFrame, name: str, wanted: tuple[str, ...]) -> None:
    missing = [c for c in wanted if c not in frame.columns]
    if missing:
        raise ValueError(f"{name} has no column {missing[0]!r}; it has {', '.join(map(str, frame.columns)) or 'none'}")


def _codes(verdicts: pd.Series) -> np.ndarray:
    """0 true, 1 false, 2 unknown, 3 unparsable."""
    codes, values = pd.factorize(verdicts)
    known = {"true": 0, "false": 1, "unknown": 2}
    table = np.array([known.get(str(v).strip().casefold(), 3) for v in values] + [3], dtype=np.int8)
    return table[codes]


def factual_precision(
    responses: pd.DataFrame,
    verdicts: pd.DataFrame,
    unknown: str = "exclude-response",
    zero_units: str = "exclude",
    variant: str = "paper",
) -> pd.DataFrame:
    """Step 3: the share of true units in each response.

    DAHL, section 3.3, Step 3: factual atomic units over all atomic units. Responses whose units and verdicts differ in
    number, and (section 5.3) those with an unknown unit, are left out: they keep their row, without a precision.

    Parameters
    ----------
    responses : DataFrame
        One row a response: `response_id`, `n_units` (its number of atomic units), optionally `status`; a status other
        than `scored` (refused, truncated, error …) is carried through. Of a response listed twice the last row counts.
    verdicts : DataFrame
        One row a judged unit: `response_id`, `unit_no` (from 0 or from 1), `verdict` ("true", "false", "unknown", or
        None where the checker's reply could not be read). Of a unit judged twice the last row counts.
    unknown : {"exclude-response", "exclude-unit", "false"}
        What an unknown unit does: its response is left out (the paper), the unit alone is, or it counts as false.
    zero_units : {"exclude", "zero", "one"}
        A response without units has no precision (status `no_units`), or scores 0, or 1.
    variant : {"paper", "released"}
        "released", the authors' code: a response with no units scores 0 and stays in, noncommittal responses are scored
        like others, and any unit that is neither true nor false makes its response unparsable.

    Returns
    -------
    DataFrame
        One row a response, in input order: response_id, n_units, n_true, n_false, n_unknown, n_unparsable, precision
        (0..1, missing unless scored), status, reason (why it was left out; or that repeated rows were passed over).

    Raises
    ------
    ValueError
        If a column is missing, an `n_units` is negative or not whole, a status or a keyword is not known.
    """
    _check("unknown", unknown, ("exclude-response", "exclude-unit", "false"))
    _check("zero_units", zero_units, ("exclude", "zero", "one"))
    _check("variant", variant, ("paper", "released"))
    _columns(responses, "responses", ("response_id", "n_units"))
    _columns(verdicts, "verdicts", ("response_id", "unit_no", "verdict"))
    if variant == "released":
        zero_units = "zero"

    listed_twice = responses["response_id"].duplicated(keep="last").to_numpy()
    repeated = set(responses["response_id"][listed_twice]) if listed_twice.any() else set()
    table = responses.loc[~listed_twice].reset_index(drop=True)
    ids = pd.Index(table["response_id"])
    n_units = _whole(table["n_units"], table["response_id"])
    n_known = np.where(np.isnan(n_units), -1, n_units).astype(np.int64)

    # Verdicts as integers: which response (row), which unit, which verdict. Everything after is counting.
    row = ids.get_indexer(pd.Index(verdicts["response_id"]))
    if (row < 0).any():
        lost = verdicts["response_id"][row < 0]
        warnings.warn(
            f"{len(lost)} verdicts are for {lost.nunique()} responses that are not among the responses "
            f"(first: {lost.iloc[0]!r}); they are not counted",
            stacklevel=2,
        )
    unit = pd.to_numeric(verdicts["unit_no"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    named = pd.factorize(verdicts["unit_no"], use_na_sentinel=False)[0]
    newest = ~pd.DataFrame({"row": row, "unit": named}).duplicated(keep="last").to_numpy()
    size = len(table)
    again = np.bincount(row[~newest & (row >= 0)], minlength=size)
    used = newest & (row >= 0)
    row, unit, code = row[used], unit[used], _codes(verdicts["verdict"])[used]
    counts = np.bincount(row * 4 + code, minlength=size * 4).reshape(size, 4)
    n_true, n_false, n_unknown, n_unparsable = counts.T
    total = counts.sum(axis=1)
    in_range = _in_range(row, unit, n_known, size)

    status = np.full(size, "scored", dtype=object)
    reason = np.full(size, "", dtype=object)

    def leave_out(where: np.ndarray, what: str, why: list[str] | str) -> None:
        where = where & (status == "scored")
        status[where] = what
        reason[where] = why if isinstance(why, str) else np.asarray(why, dtype=object)[where]

    carried = _carried(table)
    if variant == "released":  # that code does not tell noncommittal responses from others
        carried[(carried == "refused") & ((total > 0) | (n_known == 0))] = "scored"
    for what in STATUSES[1:]:
        leave_out((carried == what) & ((what != "no_units") | (total > 0)), what, f"{what} before scoring")
    leave_out(np.isnan(n_units), "undefined", "the number of units is not known")
    wrong = (total != n_known) | ~in_range
    if wrong.any():
        leave_out(wrong, "unparsable", [_mismatch(n, t, ok) for n, t, ok in zip(n_known, total, in_range, strict=True)])
    if (n_unparsable > 0).any():
        leave_out(n_unparsable > 0, "unparsable", [f"{n} of {t} verdicts could not be read" for n, t in zip(n_unparsable, total, strict=True)])
    none = (n_known == 0) | (carried == "no_units")
    if zero_units == "exclude":
        leave_out(none, "no_units", "no atomic units")
    if (n_unknown > 0).any():
        why = [f"{n} of {t} units unknown" for n, t in zip(n_unknown, total, strict=True)]
        if variant == "released":
            leave_out(n_unknown > 0, "unparsable", why)
        elif unknown == "exclude-response":
            leave_out(n_unknown > 0, "unknown", why)
        elif unknown == "exclude-unit":
            leave_out((n_unknown > 0) & (n_unknown == total), "unknown", "all units unknown")

    judged = n_true + n_false + (n_unknown if unknown == "false" else 0)
    with np.errstate(invalid="ignore"):
        precision = np.where(judged > 0, n_true / np.maximum(judged, 1), 1.0 if zero_units == "one" else 0.0)
    precision = np.where(status == "scored", precision, np.nan)
    notes = again > 0
    if repeated or notes.any():
        doubled = ids.isin(list(repeated))
        for i in np.flatnonzero(notes | doubled):
            note = [reason[i]] if reason[i] else []
            note += [f"{_count(again[i], 'repeated verdict row')}, the newest counted"] if again[i] else []
            note += ["listed more than once, the last row counted"] if doubled[i] else []
            reason[i] = "; ".join(note)
    return pd.DataFrame(
        {
            "response_id": table["response_id"],
            "n_units": pd.array(n_known, dtype="Int64") if (n_known < 0).any() else n_known,
            "n_true": n_true,
            "n_false": n_false,
            "n_unknown": n_unknown,
            "n_unparsable": n_unparsable,
            "precision": pd.array(precision, dtype="Float64"),
            "status": status.astype(str),
            "reason": reason.astype(str),
        }
    )


def _whole(n_units: pd.Series, ids: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(n_units, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    missing = n_units.isna().to_numpy()
    bad = (np.isnan(numbers) & ~missing) | (numbers < 0) | (np.mod(numbers, 1) > 0) | np.isinf(numbers)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"responses, column 'n_units', response {ids.iloc[first]!r}: {n_units.iloc[first]!r} is not a whole number of units"
        )
    return numbers


def _carried(table: pd.DataFrame) -> np.ndarray:
    if "status" not in table.columns:
        return np.full(len(table), "scored", dtype=object)
    given = table["status"].astype(object).where(table["status"].notna(), "scored").replace("", "scored").to_numpy()
    unknown = sorted({str(s) for s in pd.unique(given)} - set(STATUSES))
    if unknown:
        raise ValueError(f"responses, column 'status': {unknown[0]!r} is not known; use one of {', '.join(STATUSES)}")
    return given.copy()


def _in_range(row: np.ndarray, unit: np.ndarray, n_units: np.ndarray, size: int) -> np.ndarray:
    """Whether the unit numbers of each response run on from 0 or from 1. Numbers that are no numbers are only counted."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, row, unit)
    np.maximum.at(high, row, unit)
    numbered = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        runs = ((low == 0) | (low == 1)) & (high - low + 1 == n_units)
    return runs | ~numbered


def _mismatch(n_units: int, n_verdicts: int, in_range: bool) -> str:
    if n_units == n_verdicts and not in_range:
        return f"{_count(n_units, 'unit')} and as many verdicts, but their numbers do not run from 0 or 1"
    kind = "missing" if n_verdicts < n_units else "surplus"
    return f"{_count(n_units, 'unit')}, {_count(n_verdicts, 'verdict')}: {abs(n_units - n_verdicts)} {kind}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def dahl_score(precision: pd.DataFrame | ArrayLike, clusters: str | ArrayLike | None = None) -> "Estimate":
    """The DAHL score: the mean factual precision over responses, with its interval and what was left out.

    DAHL, section 3.3, Step 3: an unweighted mean, each response counting the same however many units it has.

    Parameters
    ----------
    precision : DataFrame or (n,) array
        What `factual_precision` returns, or bare precisions (missing: left out).
    clusters : str or (n,) array, optional
        The source paper of each question, as an array or a column of `precision`; the interval then resamples papers.

    Returns
    -------
    stats.Estimate
        In 0..1; `counts` holds the responses left out, by status.

    Raises
    ------
    ValueError
        If `clusters` has another length than `precision`, or is no column of it.
    """
    from factlab import stats

    if not isinstance(precision, pd.DataFrame):
        values = pd.Series(precision, dtype="Float64")
        precision = pd.DataFrame({"precision": values, "status": np.where(values.isna(), "undefined", "scored")})
    _columns(precision, "precision", ("precision", "status"))
    if isinstance(clusters, str):
        _columns(precision, "precision", (clusters,))
        clusters = precision[clusters]
    if clusters is not None and len(clusters) != len(precision):
        raise ValueError(f"clusters has {len(clusters)} entries for {len(precision)} responses")
    kept = (precision["status"] == "scored").to_numpy()
    values = precision["precision"].to_numpy(dtype=float, na_value=np.nan)[kept]
    clusters = None if clusters is None else np.asarray(clusters)[kept]
    counts = precision["status"][~kept].value_counts().to_dict()
    return stats.estimate(values, clusters, counts=counts, unit="answers", name="dahl")


_STAGES = (
    ("asked", ()),
    ("answered", ("error", "truncated")),
    ("not refused", ("refused",)),
    ("with units", ("no_units",)),
    ("all verdicts readable", ("unparsable",)),
    ("no unknown", ("unknown",)),
    ("scored", ("undefined",)),
)


def funnel(precision: pd.DataFrame | ArrayLike) -> pd.DataFrame:
    """From asked to scored: how many responses each step leaves.

    Parameters
    ----------
    precision : DataFrame or (n,) array of str
        What `factual_precision` returns, or statuses alone.

    Returns
    -------
    DataFrame
        One row a stage: stage, n (responses that reach it), left_out (since the stage before), share (n over asked, 0..1;
        missing where nothing was asked).

    Raises
    ------
    ValueError
        If a status is not in the shared vocabulary.
    """
    statuses = precision["status"] if isinstance(precision, pd.DataFrame) else pd.Series(precision, dtype=object)
    counts = statuses.value_counts()
    strange = sorted(set(map(str, counts.index)) - set(STATUSES))
    if strange or statuses.isna().any():
        raise ValueError(f"status {(strange or ['(missing)'])[0]!r} is not known; use one of {', '.join(STATUSES)}")
    left = np.array([sum(int(counts.get(s, 0)) for s in lost) for _, lost in _STAGES])
    n = len(statuses) - left.cumsum()
    share = n / len(statuses) if len(statuses) else np.full(len(n), np.nan)
    return pd.DataFrame({"stage": [s for s, _ in _STAGES], "n": n, "left_out": left, "share": share})
