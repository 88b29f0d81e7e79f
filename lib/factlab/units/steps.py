"""Steps 0 to 2 on one response: cleaning it, reading the splitter's list of units, reading the checker's verdict."""

import re
from dataclasses import dataclass

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
from factlab.units.precision import check_option

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


_ASKS = r"(?:###?\s*)?(?:(?:the |your )?question(?: is| was)?|q|prompt|user|human|instruction|query|input)\s*\d*\s*[:.]"
_ANSWERS = r"(?:###?\s*)?(?:(?:answer|a|response|assistant|output|ans|reply)\s*\d*\s*:|(?:answer|a|ans)\s?\d+\.)"
_SCAFFOLD = re.compile(rf"^[\s\"'“”‘’*_>#-]*(?:{_ASKS})\W*", re.IGNORECASE)
_ANSWER = re.compile(rf"^[\s\"'“”‘’*_>-]*(?:{_ANSWERS})[\s*_]*", re.IGNORECASE)
_MARKS = re.compile(r"^[\s\"'“”‘’*_>#•–—-]*(?:\(?\d{1,3}[.)]\s+)?")


def _key(sentence: str) -> str:
    """The form in which sentences are compared: folded, without list marks, scaffolding and end mark."""
    bare = _ANSWER.sub("", _SCAFFOLD.sub("", _MARKS.sub("", sentence)))
    return fold(bare).strip(" .!?:;\"'*_()。।؟۔")


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
        # A prompt is also how a sentence starts ("Aspirin" - "Aspirin is …", "… used for" - "… used for in children?"):
        # the echo must end visibly, at the least (of four words and more) before a word that is not in lower case.
        ends = response[end : end + closing].strip() or response[end:].startswith("\n") or not response[end:].strip()
        quoted = re.search("[\"'”’»]", response[end : end + closing])  # `"What is it?" is often asked.`
        if quoted and re.match(r"[ \t]+[a-z]", response[end + closing :]):
            break
        if not ends and (len(asked) < 4 or re.match(r"\s*[^\W\d_A-Z]|\s*\d", response[end:])):
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


# `Its uses are:`, `## Dosage`, `**Dosage**`, an opening code fence
_LEADS_ON = re.compile(r":(?:\*\*)?$|^#{1,6}\s|^\*\*[^*]+\*\*:?$|^```")


def _brought_to_its_end(last: str, text: str) -> bool:
    """Whether the last sentence of a text is whole; a table's row and a closed code block are."""
    row = len(last) > 1 and last[0] == last[-1] == "|"
    return is_complete(last) or row or (last.endswith("```") and text.count("```") % 2 == 0)


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
    if kept and not finished and not _brought_to_its_end(kept[-1][1], text):
        cut = [kept.pop()]
        while kept and _LEADS_ON.search(kept[-1][1]):  # the heading of what was cut
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
    typographic differences and end mark, the first of each staying, and later echoes of the prompt; (3) the last
    sentence if it does not end, with the heading that announced it. Of a list without full stops only the last item
    counts as unfinished; a table's last row and a closed code block are whole. Reasoning goes first. A prompt that is
    only the beginning of the response's first sentence is no echo.

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
    r"(?:there (?:is|are)|i have|we have) (?:currently )?no (?:(?:clear|definite|definitive|simple|single|known"
    r"|right) )*answers?(?: to (?:this|that|the) question)?"
    r"|(?:it|that|this)(?: all)? depends(?: on (?:(?:many|several|various|different|a number of|a lot of) )?"
    r"(?:\w+ )?(?:factors|things|circumstances))?"
    r"|it is (?:hard|difficult|impossible) to (?:say|tell|know|determine)(?: for sure| with certainty)?"
    r"|(?:that is |what )?an? (?:good|great|difficult|hard|interesting) question|(?:hmm,? )?(?:good|great) question"
    r"|more research is (?:needed|required)|(?:yes|no|maybe|perhaps|possibly)|the answer (?:is|to (?:this|that"
    r"|the) question is) (?:not |un)(?:known|clear|certain)(?: at this time| yet)?"
    r"|to be determined|this (?:question )?is (?:a )?(?:difficult|hard|open)(?: question| one)?(?: to answer)?"
    r"|none(?: of the above)?|no comment"
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
    r"(?:the|this) (?:text|response|answer|passage|sentence) (?:contains|has|states|makes) no(?: \w+){0,3}"
    r"|(?:n/a|empty)|(?:there (?:are|is) )?no(?:ne|thing)?(?: (?:atomic|factual|verifiable|independent))* ?(?:units?|facts?"
    r"|claims?|statements?|information)?"
    r"(?: (?:found|to extract|to list|in (?:the|this) (?:text|response|answer|passage)|(?:can"
    r"|could) be (?:found|extracted|identified)))?"
)


def read_units(reply: str | None, prompt: str | None = None, variant: str = "paper") -> Parsed:
    """Step 1: the atomic units in a splitter model's reply, and how reading them went.

    DAHL, section 3.3, Step 1: a unit is a sentence with one piece of information that is true or false. Read are
    lists of every kind (`replies.parse_list`); a reply that is running text gives one unit a sentence.

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
    check_option("variant", variant, ("paper", "released"))
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
    "true": _terms(
        "yes; truthful; correct; accurate; right; factual; verified; confirmed; factually correct; factually accurate"
    ),
    "false": _terms(
        "no; nope; untrue; incorrect; inaccurate; wrong; refuted; erroneous; misleading; debunked; disproven; disproved; "
        "factually incorrect; factually inaccurate; far from the truth; a myth; a falsehood; a misconception; "
        "a common misconception; a common myth"
    ),
    "unknown": _terms(
        """
        maybe; ambiguous; uncertain; unclear; undetermined; indeterminate; unverifiable; unverified; inconclusive
        undecided; unsure; unproven
        not sure; not certain; not clear; not known; not verifiable; not enough information; not enough evidence
        not enough context; insufficient information; insufficient evidence; insufficient data; no information
        lack of information; lack of evidence; hard to say; difficult to say; don't know; do not know
        neither true nor false; neither supported nor refuted; not true or false; confirmed or denied
        not verified; not been verified; not yet been verified; not confirmed; not been confirmed; not yet been confirmed
        not proven; not been proven; not yet been proven
        cannot be determined; can't be determined; cannot be verified; can't be verified; cannot be confirmed
        can't be confirmed; cannot be judged; cannot be answered; cannot be established; could not be determined
        could not be verified; cannot determine; can't determine; cannot verify; can't verify
        cannot confirm; can't confirm; cannot say; can't say; could not determine; could not verify
        unable to determine; unable to verify; unable to confirm
        not able to determine; not able to verify; not possible to determine; not possible to verify
        impossible to determine; impossible to verify; impossible to say; n/a; cannot tell; can't tell
        """
    ),
}

# Words that are a verdict only where they are all that is said.
_ALONE = {
    "true": _terms("t; y; yep; yeah; ✅; ✔; ✓; ☑; 👍; supported; entailed; agree; definitely true; proven"),
    "false": _terms(
        "f; n; nah; ❌; ✗; ✘; ✖; 👎; unsupported; not supported; contradicted; disagree; falsehood; myth; fiction; not so"
        "; definitely not; absolutely not; certainly not; of course not; not at all; probably not; most likely not"
        "; unlikely; not really"
    ),
    "unknown": _terms(
        "u; unk; doubtful; questionable; debatable; controversial; disputed; ?; nei; it depends; neither"
    ),
}


def parse_verdict(reply: str | None, prompt: str | None = None, variant: str = "paper") -> Parsed:
    """Step 2: the checker's verdict on one atomic unit.

    DAHL, section 3.3, Step 2, and 5.3 ("unknown"). Words are read as `replies.label` reads them: `Untrue.` and
    `Not true.` are false, `Norepinephrine …` is no "no". A verdict by halves (`partly true`, `mostly true`,
    `not entirely true`, `might be true`) is unknown: the paper counts only responses "definitively labeled as true or
    false". A likely one (`probably true`) counts in full.

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
        value "true" or "false" (status `scored`), "unknown" (status `unknown`, or `refused` where the checker
        declined to judge), or None (status `unparsable`, `truncated`, `error`).
    """
    check_option("variant", variant, ("paper", "released"))
    if variant == "released":
        if reply is None:
            return Parsed(None, "error")
        says = ["true" in reply.lower(), "false" in reply.lower()]
        return Parsed(("true", "false")[says.index(True)], "scored") if sum(says) == 1 else Parsed(None, "unparsable")
    read = label(reply, _VERDICTS, _SYNONYMS, prompt=prompt, doubted="unknown", alone=_ALONE)
    if read.status == "refused":
        return Parsed("unknown", "refused")
    return Parsed("unknown", "unknown") if read.value == "unknown" else read
