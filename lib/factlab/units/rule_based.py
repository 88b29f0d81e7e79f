"""Atomic units without a model: the sentences, list items and labelled descriptions of a text, taken apart by rule.

DAHL, section 3.3, Step 1 (Figure 4, section 5.3) does this with a language model. Here `text.sentences` finds the
sentences, this module gives list items the heading they stand under and descriptions their term, and `clauses` takes
single sentences apart. Nothing is invented; where a rule is not sure the sentence stays whole.
"""

import re

from factlab.replies.refusals import is_filler
from factlab.text import fold, sentences
from factlab.units.clauses import agrees, as_sentence, asserts, finite, is_clause, parts_of
from factlab.units.verbs import ADVERB, AUX, BASE, NOUNS, PRESENT

_ITEM = re.compile(r"^\s*(?:[-*•‣◦–—+]\s+|\(?\d{1,3}[.)]\s+)")


def _with_headings(text: str) -> list[str]:
    """Lines of a text; items without a verb take the heading they stand under ("Symptoms include:" - "fever")."""
    lines, heading = [], ""
    given = text.splitlines()
    for number, line in enumerate(given):
        item = _ITEM.match(line)
        bare = re.sub(r"[*_`#]+", "", _ITEM.sub("", line)).strip()
        if not bare:
            lines.append("")
        elif not item and (bare.endswith(":") or _TITLE.match(line)):
            *before, last = sentences(bare)
            title = re.sub(
                r",? (?:including|such as|the following|(?:which|who) (?:are|include)|namely)$",
                "",
                last.rstrip(": "),
                flags=re.IGNORECASE,
            )
            heading = "" if _ANNOUNCES.search(title) else _opening(title)
            below = next((li for li in given[number + 1 :] if li.strip()), "")
            listed = _ITEM.match(below) and _named_only(_ITEM.sub("", below))
            stands_alone = heading == f"{title}:" and is_clause(title) and not listed
            lines += [*before, f"{title}." if stands_alone else "", ""]
        elif item and heading and _named_only(bare) and not (heading.endswith(":") and ": " in bare):
            body = bare.rstrip(" .;,")
            body = body[0].lower() + body[1:] if re.match(r"[A-Z][a-z]+(?:\s|$)", body) else body
            lines += ["", f"{heading} {body}.", ""]
        else:
            heading = heading if item else ""
            lines.append(line)
    return lines


_ANNOUNCES = re.compile(r"\b(?:here|following|below|follows)\b", re.IGNORECASE)
_TITLE = re.compile(r"\s*(?:#{1,6}\s+\S.*|(\*\*|__)[^*_]+\1\s*)$")  # `## Causes`, `**Causes**`


def _opening(title: str) -> str:
    """What a heading gives its items to begin with: `Symptoms include`, `Causes:`; nothing where it is long."""
    verb = finite(title + " x")
    if verb and re.fullmatch(
        r"(?:\W*(?:also|often|mainly|usually))?(?:\W*(?:\w+ed )?(?:by|as|of|for|in|to|with))?\W*", title[verb[1] :]
    ):
        return title
    return f"{title}:" if verb or len(title.split()) <= 6 else ""


def _named_only(item: str) -> bool:
    """Whether a list item only names something (`fever`, `Obesity.`) and states nothing by itself."""
    short = len(item.split()) <= 5 and not re.search(r"[.!?] ", item)
    return not finite(item.split(": ")[0]) and (not re.search(r"[.!?]$", item) or (short and not asserts(item)))


_BOLD_LABEL = re.compile(r"(\*\*|__)([^*_:]{1,80}?)(?::\1|\1:|\1 [-–—])\s+")
_LABEL = re.compile(r"((?:[^\W_][^:.;?!]{0,80}?))\s*:\s+(?=[A-Z\"'“‘(])")
# "Ossification: This stage begins …": what the pronoun stands for is the label.
_POINTS_BACK = re.compile(
    r"(?:this|these|it|they|that)(?: (?:type|form|kind|stage|phase|step|condition|process|procedure|method|disease"
    r"|disorder|syndrome|technique|test|drug|approach|principle)s?(?: of (?:the )?[\w-]+(?: [\w-]+)?)?)? "
    rf"(?=(?:{ADVERB}*)(\w+)\b)",
    re.IGNORECASE,
)


def _unlabelled(sentence: str) -> list[str]:
    """`Term: description` as sentences: the term as the subject, or left off as a heading is.

    `Fever: This is a raised temperature.` says what fever is; in `**Diagnosis**: The doctor takes a history.` the
    description stands alone, and a term that is a clause is one as well. Where none of it holds, the sentence stays.
    """
    bold = _BOLD_LABEL.match(sentence)
    plainly = re.sub(r"\*\*|__|`", "", f"{bold[2]}: {sentence[bold.end() :]}" if bold else sentence).strip()
    found = _LABEL.match(plainly) or (bold and re.match(r"([^:]+):\s+", plainly))
    if not found:
        return [plainly]
    label, rest = found[1], plainly[found.end() :]
    if not finite(f"x {label}") and re.match(re.escape(fold(label)) + r"\b", fold(rest)):
        return [rest]
    states = asserts(rest)
    verb = finite(f"x {label}")
    if verb and verb[2] != "past" and not bold:
        both = [rest] if fold(rest).startswith(fold(label)) else [label + ".", rest]
        return both if states and is_clause(label) else [plainly]
    if len(label.split()) > 8:
        return [plainly]
    back = _POINTS_BACK.match(rest)
    if back and back[1].casefold() in AUX | PRESENT | BASE:
        return [f"{label} {rest[back.end() :]}" if agrees(label, back[1].casefold()) else rest]
    first = re.match(rf"{ADVERB}*(\w+)", rest, re.IGNORECASE)
    if first and first[1].casefold() in AUX | (PRESENT - NOUNS):
        return [f"{label} {rest[0].lower()}{rest[1:]}"]
    return [rest if states else plainly]


def rule_units(text: str) -> list[str]:
    """Take a text apart into atomic units by rule.

    Stands in for the splitter of DAHL, section 3.3, Step 1, where no language model is at hand. Order is kept and
    nothing is invented: the words of a unit are those of its sentence. Questions, headings and polite formulas state
    nothing and are no units; the term of `Term: description` becomes the subject, or is left off as a heading is. Coordinated nouns and adjectives ("unconscious and immobile") stay together, as with the
    paper's splitter (section 5.3); pronouns are not resolved.

    Parameters
    ----------
    text : str
        A response after `units.preprocess`.

    Returns
    -------
    list of str
        Sentences with one piece of information each, as far as the rules reach; [] for a blank text.
    """
    units = []
    labelled = [piece for s in sentences("\n".join(_with_headings(text))) for piece in _unlabelled(" ".join(s.split()))]
    for sentence in labelled:
        nothing = not re.search(r"[^\W\d_]", sentence) or re.fullmatch(r"\W*[A-Za-z]\W*", sentence)
        if nothing or sentence.endswith("?") or is_filler(sentence):
            continue
        ended = re.search(r"[.!?…]+[\"')\]”’]*$", sentence)
        if not ended and len(sentence.split()) <= 6 and not finite(sentence) and ": " not in sentence:
            continue  # a heading
        body = sentence[: ended.start()] if ended and sentence[ended.start() :] == "." else sentence
        parts = parts_of(body)
        units += [sentence if ended else as_sentence(sentence)] if len(parts) == 1 else [as_sentence(p) for p in parts]
    return units
