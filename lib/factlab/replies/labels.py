"""One label out of a few in what a model wrote: `true` or `false`, `yes`, `no` or `maybe`, `A` to `D`.

The layer under `replies.label`: where in a reply an answer is looked for, and which of several counts; the order is the
docstring of `label`. What a single sentence says is read in `mentions`.
"""

import re
from collections.abc import Mapping, Sequence

from factlab.replies.cleaning import Parsed, bare, plain, strip_reasoning, without_echo
from factlab.replies.mentions import MOST, NEAR, Forms, Mention, forms_of
from factlab.replies.refusals import is_refusal
from factlab.replies.structured import json_values
from factlab.text import fold

_KEYS = (
    "verdict", "final_answer", "finalanswer", "final answer", "answer", "label", "judgment", "judgement", "choice",
    "prediction", "decision", "classification", "factuality", "truthfulness", "result", "conclusion", "is_true",
    "is_factual", "output", "value",
)  # fmt: skip

# --- where an answer is announced ---

_NAME = (
    r"(?:final |correct |best |right |my |overall )*(?:answers?|verdict|label|conclusion|judge?ment|decision|choice"
    r"|option|result|classification|prediction|factuality|determination|evaluation|assessment)"
)
_ANNOUNCED = re.compile(
    rf"(?P<line>(?:^|(?<=[.!?] ))\W*(?:the )?{_NAME}(?: is)? ?[\"']? ?(?::|=|->|→|-)+|[\"']{_NAME}[\"'] ?:"
    rf"|\[{_NAME}\])"
    rf"|\b{_NAME}:|\b{_NAME}(?: to (?:this|the) question)?(?: is| was| would be| should be| must be|'s)"
    r"(?: therefore| thus| clearly| definitely| likely| probably| most likely| option)?\b ?:?",
    re.IGNORECASE | re.MULTILINE,
)
# What a model writes when it goes on with a task of its own: `Question: …`, `Is the next statement true or false?`
_RUN_ON = re.compile(
    r"^(?:\W*(?:question|q|human|user|statement|claim|input|problem|example|context|passage|abstract) ?\d*:"
    r"|[^\n]*\b(?:true or false|yes or no)\b[^\n]*\?[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_REVISED = re.compile(
    r"\b(?:wait|correction|on second thought|let me (?:re-?think|reconsider|correct|re-?evaluate)"
    r"|i (?:was|am) (?:wrong|mistaken)|scratch that|no, actually"
    r"|actually, (?=(?:no|this|it|that|the (?:statement|claim))\b))\b[^\w\"']*",
    re.IGNORECASE,
)
_REVISIONS = 9  # of a model that goes on correcting itself, the last ones are tried
_CONCLUDING = re.compile(
    r"^\W*(?:therefore|thus|hence|so|in conclusion|overall|in summary|to sum up|finally|ultimately|in short"
    r"|consequently)\b"
)


def _sentences(text: str) -> list[str]:
    return [s for s in re.split(r"(?<=[.!?;])[\"')\]]*\s+|\n+", text) if re.search(r"\w", s)]


def _agreed(mentions: list[Mention]) -> Mention | str | None:
    """The one label that all mentions name; "conflict" if they differ; None if there is none."""
    named = [m for m in mentions if m.label is not None]
    if not named:
        return None
    if len({None if m.doubted else m.label for m in named}) > 1:
        return "conflict"
    return named[-1]


def _answered(sentences: list[str], forms: Forms) -> list[str]:
    """Sentences without the questions that others follow; `Is this false? Yes.` says false."""
    asks = [re.search(r"\?[\"')\]]*$", s) is not None for s in sentences[:-1]] + [False]
    kept = [s for s, question in zip(sentences, asks, strict=False) if not question]
    if len(kept) == len(sentences):
        return sentences
    last = [s for s, question in zip(sentences, asks, strict=False) if question][-1]
    named = {forms.of[fold(m[0])] for m in forms.pattern.finditer(last[-NEAR:])}
    reply = re.match(r"\W*(yes|no)\b", kept[0], re.IGNORECASE)
    no = forms.of.get("no")
    if reply and no is not None and named == {no}:  # where "yes" alone would say the opposite
        kept[0] = (no if reply[1].casefold() == "yes" else forms.opposite(no) or reply[1]) + "."
    return kept


def _stance(text: str, forms: Forms) -> Mention | str | None:
    """What a reply says, from the strongest of its mentions (see `label`); what follows a last correction comes first."""
    sentences = _answered(_sentences(text), forms)
    revised = [(i, m.end()) for i, s in enumerate(sentences) if (m := _REVISED.search(s))]
    for position, end in revised[: -_REVISIONS - 1 : -1]:
        # As it was written: a single letter counts in running text only as a capital.
        later = _strongest([sentences[position][end:], *sentences[position + 1 :]], forms)
        if later is not None:
            return later
    return _strongest(sentences, forms)


def _strongest(sentences: list[str], forms: Forms) -> Mention | str | None:
    found = [forms.mentions(s) for s in sentences]
    first = found[0] if found else []
    if not first and sentences and (alone := forms.whole.get(fold(bare(sentences[0])))):
        first = [Mention(alone, 3, whole=True)]
    leading = [m for m in first[:1] if m.rank == 1 or m.whole]
    # "Yes, this is false": of a yes and a plain word about the statement in one sentence, the plain word is meant.
    plainer = [
        m
        for m in first[1:]
        if leading
        and not leading[0].itself
        and m.itself
        and m.rank >= (2 if ":" in sentences[0][:8] else 3)
        and re.match(r"\W*\w+\s*[,:–—-]", sentences[0])
    ]
    alone = [m for ms in found for m in ms if m.whole]
    said = _agreed(plainer) or _agreed(leading + [m for m in alone if m not in leading])
    if said is not None:
        return said
    for rank in (4, 3, 2):
        of_rank = [(s, m) for s, ms in zip(sentences, found, strict=True) for m in ms if m.rank == rank]
        said = _agreed([m for _, m in of_rank])
        if said == "conflict":
            closing = [m for s, m in of_rank if _CONCLUDING.match(fold(s))]
            return _agreed(closing) or "conflict"
        if said is not None:
            return said
    return None


def _announced(text: str, forms: Forms) -> tuple[Mention | str | None, str | None]:
    """What the last announcement ("Answer: B") that names a label says, and the text of the last one that is a line."""
    said, last_line = None, None
    for mark in list(_ANNOUNCED.finditer(text))[-MOST:]:
        lines = text[mark.end() : mark.end() + NEAR].split("\n")
        segment = next((s for s in lines if re.search(r"\w", s) or fold(bare(s)) in forms.whole), "").strip(" :\"'")
        whole = forms.whole.get(fold(bare(segment)))
        if whole is None and re.match(r"\W*(?:answer|verdict)\W*:", segment, re.I):
            continue  # an announcement of an announcement: the next round reads it
        here = Mention(whole, 3, whole=True) if whole else _stance(segment, forms) or forms.in_front(segment)
        if here is not None:
            said = here
        if mark["line"]:
            last_line = segment if here is None and not forms.menu.search(segment) else None
    return said, last_line


def _from_json(text: str, forms: Forms) -> str | None:
    """The label in the last JSON object that names one; "" where it weighs several."""

    def one(value: object) -> str | None:
        if isinstance(value, bool):
            return forms.of.get("true" if value else "false") or forms.of.get("yes" if value else "no")
        if isinstance(value, str):
            said = forms.whole.get(fold(bare(value)))
            if said is None and value.strip():
                inner = _stance(plain(value), forms)
                said = inner.label if isinstance(inner, Mention) and not inner.doubted else None
            return said
        return forms.of.get(str(value)) if isinstance(value, int) else None

    for value in reversed(json_values(text) if re.search(r"[\[{]", text) else []):
        if isinstance(value, list):
            value = value[0] if len(value) == 1 else None
        if not isinstance(value, dict):
            if value is not None and (said := one(value)):
                return said
            continue
        folded = {fold(k): v for k, v in value.items()}
        if len(folded.keys() & set(map(fold, forms.of))) > 1:  # {"A": 0.1, "B": 0.9} weighs the labels, it names none
            true = {forms.of[k] for k, v in folded.items() if v is True and k in forms.of}
            return true.pop() if len(true) == 1 else ""
        key = next((k for k in _KEYS if k in folded), None)
        if key is not None:
            if (said := one(folded[key])) is not None:
                return said
            continue
        # {"accurate": false}: the key is the label; else the only field that holds one, true or false before texts.
        flags = {k: v for k, v in folded.items() if isinstance(v, bool)}
        named = {forms.of[k] if v else forms.opposite(forms.of[k]) for k, v in flags.items() if k in forms.of}
        named = named or {one(v) for v in flags.values()} or {one(v) for v in folded.values() if isinstance(v, str)}
        if len(named - {None}) == 1:
            return (named - {None}).pop()
    return None


def _without_options(text: str, forms: Forms) -> str:
    """A reply without the options that it lists again, one a line from the first on: `A) …`, `B) …`, `C) …`."""
    lines = text.split("\n")
    listed = [
        i for i, line in enumerate(lines) if (m := forms.pattern.match(line)) and re.match(r"[.):] ", line[m.end() :])
    ]
    letters = [fold(lines[i][0]) for i in listed if len(forms.pattern.match(lines[i])[0]) == 1]
    if (
        len(letters) < 3
        or len(letters) < len(listed)
        or letters != [f for f in forms.of if len(f) == 1][: len(letters)]
    ):
        return text
    return "\n".join(line for i, line in enumerate(lines) if i not in listed)


def _from_table(text: str) -> str:
    """A Markdown table of one row, its answer column as an announcement (`Verdict: …`); any other text as it is."""
    rows = [
        [c.strip() for c in line.strip().strip("|").split("|")] for line in text.splitlines() if line.count("|") > 1
    ]
    if len(rows) != 3 or not all(re.fullmatch(r":?-+:?", c) for c in rows[1]) or len(rows[0]) != len(rows[2]):
        return text
    cells = [f"Answer: {cell}" for name, cell in zip(rows[0], rows[2], strict=True) if re.fullmatch(_NAME, name, re.I)]
    return "\n".join([*(line for line in text.splitlines() if line.count("|") < 2), *cells]) if cells else text


def label(
    reply: str | None,
    labels: Sequence[str],
    synonyms: Mapping[str, Sequence[str]] | None = None,
    prompt: str | None = None,
    doubted: str | None = None,
    alone: Mapping[str, Sequence[str]] | None = None,
) -> Parsed:
    """Which of a few labels a reply gives.

    Decided in this order; the first that names a label ends the search.

    1. Reasoning is removed (unfinished: `truncated`), and what the reply repeats of `prompt`.
    2. The whole reply is a label, whatever its mark-up: `**B**`, `$B$`, `\\boxed{B}`, `(b)`, `"true"`.
    3. JSON: the field called verdict, answer, label …, else the only field that holds a label or is named by one
       (`{"accurate": false}`); of several objects the last.
    4. What comes before a further `Question:`, `User:`, `…, true or false?` that the model went on to write by itself.
    5. Announced: `Answer: B`, `The verdict is false`; the last announcement wins. A line `Answer: …` without a label
       ends the search: `Answer: None of the above` chooses nothing, whatever was weighed before.
    6. In front, or alone in a sentence or line: `False. It is true that …` is false. A correction (`Wait, …`) counts
       instead of what it corrects. Two different ones: unparsable.
    7. Said of the statement by name (`this claim is true`), then of it (`it is true that …`, a synonym of several
       words), then of anything or chosen (`I would go with B`). Where these differ, a concluding sentence
       (`Therefore …`) decides, else unparsable. A question says nothing but with its answer (`Is it false? Yes.`).

    A negated label counts as its opposite (`not true`, `isn't false`, `I don't think it is true`; true and false, yes
    and no, correct and incorrect, supported and unsupported) or, where it has none, not at all (`not B`). Menus (`true
    or false`, `A/B/C/D`) name nothing, nor does a label behind `whether` or `cannot confirm that`. A verdict by halves
    (`partly true`, `might be false`, `not entirely true`) gives `doubted`; a likely one (`probably true`) counts.

    Parameters
    ----------
    reply : str or None
        None stands for a failed call.
    labels : sequence of str
        Case matters only for single letters in running text, so that "a" is not A.
    synonyms : mapping, optional
        Other words for a label: ``{"false": ["untrue", "incorrect"]}``.
    prompt : str, optional
        The prompt, to recognise an echo of its own wording.
    doubted : str, optional
        Label for verdicts by halves; without it they are unparsable.
    alone : mapping, optional
        Words that stand for a label only where they are the whole answer: ``{"true": ["t", "✅"]}``.

    Returns
    -------
    Parsed
        value: one of `labels`, or None with status `refused`, `truncated`, `unparsable` or `error`.

    Raises
    ------
    ValueError
        If there are no labels, one is empty, or synonyms are given for another word.
    """
    forms = forms_of(
        tuple(labels),
        tuple((k, tuple(v)) for k, v in (synonyms or {}).items()),
        tuple((k, tuple(v)) for k, v in (alone or {}).items()),
    )
    if reply and (plainly := forms.of.get(fold(reply).rstrip(" ."))):  # most replies are one word
        return Parsed(plainly, "scored")
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    text = re.sub(r"\s*—\s*", " — ", without_echo(answer.value, prompt))
    whole = forms.whole.get(fold(bare(text))) or forms.only(text) or _from_json(text, forms)
    if whole is not None:
        return Parsed(whole or None, "scored" if whole else "unparsable")
    text = _without_options(plain(_from_table(text)), forms)
    said, nothing = None, None
    for run_on in _RUN_ON.finditer(text):
        if run_on.start() and isinstance(read := _read(text[: run_on.start()], forms)[0], Mention):
            said = read
            break
    if said is None:
        said, nothing = _read(text, forms)
    if isinstance(said, Mention) and said.label is not None:
        if not said.doubted:
            return Parsed(said.label, "scored")
        return Parsed(doubted, "scored" if doubted is not None else "unparsable")
    declined = said is None and is_refusal(nothing if nothing is not None else text)
    return Parsed(None, "refused" if declined else "unparsable")


def _read(text: str, forms: Forms) -> tuple[Mention | str | None, str | None]:
    said, nothing = _announced(text, forms)
    if said is not None or nothing is not None:
        return (said if nothing is None else None), nothing
    return _stance(text, forms), None
