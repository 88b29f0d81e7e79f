"""Which option a reply chooses: a letter, or the words of an option, or none of them.

MS-Exam-Gen, section IV: models are asked for a letter from A to D alone, and what cannot be read is recorded as a parse
failure instead of being scored. Nothing is guessed here: two letters are no choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from factlab.replies import Parsed, bare, label, plain, strip_reasoning
from factlab.text import fold

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Letters of other alphabets that look the same, and the blood-type emoji: read only where they are the whole answer.
_LOOKS_LIKE = str.maketrans("АВСЕ" + "ΑΒΕ" + "🅰🅱", "ABCE" + "ABE" + "AB")
# "Option B says that …" weighs an option, it does not choose it.
_WEIGHED = re.compile(
    r"\b(?:option|choice|answer) ([A-Z])\b(?= (?:says|states|describes|refers|mentions|suggests|claims|lists|involves"
    r"|talks|reads|sounds|looks|has|does|can|could|may|might|would not|wouldn't)\b)",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"^(.+?)[\"'*_)]*[,;:]?(?: [-–—])? (?:(?:(?:is|are|was|would be) )?(?:\w+ly )?(?:wrong|incorrect|false|untrue)"
    r"|(?:is|are|was|would be) not (?:correct|right|true)|(?:isn['’]t|cannot be|can['’]t be) (?:correct|right|true))[.!\"'*_]*$",
    re.IGNORECASE,
)
_LETTER_AND_TEXT = re.compile(r"^[\"'(\[]*([A-Za-z])[\"')\]]*(?:[.):,]| ?[-–—])[\"')\]]*\s+(\S.*)$", re.DOTALL)


def parse_choice(
    reply: str | None, options: int | Sequence[str] = 4, *, prompt: str | None = None, cut: bool = False
) -> Parsed:
    """Which option a reply chooses.

    Parameters
    ----------
    reply : str or None
        The reply as the model gave it. None stands for a failed call.
    options : int, or sequence of str
        How many options were offered, 2 to 26; or their texts in the order shown, which lets a reply name an option by its words.
    prompt : str, optional
        What was asked, so that an echo of it is not read as an answer.
    cut : bool
        Whether the reply stopped at its token limit: without an answer it is `truncated` then, not `unparsable`.

    Returns
    -------
    Parsed
        value: a capital letter, or None with status `refused` (also `I don't know`), `truncated` (reasoning that never
        ends), `unparsable` (several letters, a letter that was not offered, `None of the above`, a letter beside the
        text of another option) or `error` (no reply).

    Raises
    ------
    ValueError
        If there are fewer than 2 or more than 26 options.

    Notes
    -----
    In this order: the whole reply is the text of one option (`Hepatitis B` is no B); a letter, as `replies.label` reads
    labels (mark-up, LaTeX, code fences, JSON, announcements, corrections, negations); the text of one option, read by
    the same rules.
    """
    texts = None if isinstance(options, int) else [str(option) for option in options]
    count = options if texts is None else len(texts)
    if not 2 <= count <= len(_LETTERS):
        raise ValueError(f"options: expected 2 to {len(_LETTERS)}, got {count}")
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    letters = _LETTERS[:count]
    named = _by_text(texts or [], letters)
    answer = Parsed(_without_rejected(answer.value, named), "scored")
    said = bare(answer.value)
    if fold(said) in named:
        return Parsed(named[fold(said)], "scored")
    if len(alike := said.translate(_LOOKS_LIKE)) == 1 and alike in letters:
        return Parsed(alike, "scored")
    lines = [_lettered(line, named) for line in answer.value.splitlines() if line.strip()]
    if len(lines) == 1 and lines[0] and lines[0][1] == lines[0][0]:
        return Parsed(lines[0][0], "scored")  # no echo, though the prompt has this very line
    if _lists_again(lines, letters):
        return Parsed(None, "truncated" if cut else "unparsable")
    if (whole := _lettered(answer.value, named)) and whole[1] not in (None, whole[0]):
        return Parsed(None, "unparsable")

    text = _WEIGHED.sub("that one", answer.value)
    for parts in (letters, list(named)):
        read = label(text, list(parts), prompt=prompt) if parts else Parsed(None, "unparsable")
        if read.status == "scored":
            return Parsed(read.value if parts is letters else named[read.value], "scored")
        if read.status == "refused":
            return read
    return Parsed(None, "truncated" if cut else "unparsable")


def _without_rejected(text: str, named: dict[str, str]) -> str:
    """A reply without the lines that name an option only to reject it: `A: Cortex is wrong`."""
    kept = []
    for line in text.splitlines(keepends=True):
        own = _REJECTED.match(line.strip())
        found = own and _lettered(own[1], named)
        if not (found and found[1] == found[0] and _lettered(line, named) != found):
            kept.append(line)
    return "".join(kept)


def why_unread(reply: str | None, options: Sequence[str], *, cut: bool = False) -> str:
    """Why `parse_choice` reads no choice in a reply, in a few words; empty where it reads one.

    Parameters
    ----------
    reply, cut : as for `parse_choice`.
    options : texts in the order shown.
    """
    read = parse_choice(reply, options, cut=cut)
    if read.status == "scored":
        return ""
    if read.status == "error":
        return "no reply"
    if read.status == "refused":
        return "refuses, or does not know"
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return "reasoning without an end"
    letters = _LETTERS[: len(options)]
    named = _by_text([str(option) for option in options], letters)
    lines = [_lettered(line, named) for line in answer.value.splitlines() if line.strip()]
    limit = ", cut at its limit" if cut else ""
    if _lists_again(lines, letters):
        return f"repeats the options{limit}"
    if (whole := _lettered(answer.value, named)) and whole[1] not in (None, whole[0]):
        return f"gives letter {whole[0]} beside the words of {whole[1]}"
    begun = re.findall(r"^\W*([A-Za-z])(?:[.):]|$)", answer.value, re.MULTILINE)
    if len(set(map(str.upper, begun))) > 1:
        return f"names several letters{limit}"
    return f"no letter and no option can be read{limit}"


def _by_text(texts: Sequence[str], letters: str) -> dict[str, str]:
    """The letter of each option by its text; texts that several options share, or that are letters themselves, name none."""
    folded = [fold(bare(text)) for text in texts]
    taken = {fold(letter) for letter in letters}
    return {
        text: letter
        for text, letter in zip(folded, letters, strict=False)
        if text and folded.count(text) == 1 and text not in taken
    }


def _lettered(text: str, named: dict[str, str]) -> tuple[str, str | None] | None:
    """The letter in front of a text, and the letter of the option whose whole text follows it, None where none does."""
    found = _LETTER_AND_TEXT.match(" ".join(plain(text).split()))
    return found and (found[1].upper(), named.get(fold(bare(found[2]))))


def _lists_again(lines: Sequence[tuple[str, str | None] | None], letters: str) -> bool:
    """Whether a reply repeats the options from the first on, and nothing else: the last may be cut off."""
    if len(lines) < 2 or not all(lines):
        return False
    return [line[0] for line in lines] == list(letters[: len(lines)]) and all(a == b for a, b in lines[:-1])
