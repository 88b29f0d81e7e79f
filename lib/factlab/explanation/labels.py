"""What a subject answered: yes, no, maybe, that it cannot know, or something else.

LExT, appendix B.1 (the forms of the two data sets) and B.5 (labels of answers to redacted contexts). The paper lets a
larger model label the answers; here rules do, `parse_judged_label` reads such a judge's reply, and a study counts where
the two disagree. The rules read labels, not opinions: an answer that suggests yes without saying so is `random` to them.
"""

import re

from factlab.explanation.doses import WOULD_NOT, parse_dose
from factlab.replies import Parsed, bare, is_refusal, label, plain, strip_reasoning, without_echo
from factlab.text import fold

LABELS = ("yes", "no", "maybe", "unknown", "random")
_OPPOSITE = {"yes": "no", "no": "yes", "low": "high", "high": "low"}
_ANSWERS = ("yes", "no", "maybe")
_ALONE = {"yes": ["y", "yeah", "yep"], "no": ["n", "nope"], "maybe": ["perhaps", "possibly"]}
# Answers where they are the whole reply: in front of more, `Certainly!` and `Of course.` are a manner of speaking.
_WHOLE = {
    "yes": ("affirmative", "absolutely", "definitely", "certainly", "of course", "true", "correct", "sure"),
    "no": ("negative", "never", "not", "false", "incorrect"),
}
_UNKNOWN_WORDS = {
    "unknown": ["inconclusive", "undetermined", "indeterminate", "unclear", "not known", "cannot be determined"],
}

# All patterns below meet text without mark-up, its quotes straight.
_YES_NO = r"[\"'(]*\b(?:yes|no)\b[\"')]*(?:(?:,? (?:or|nor|and) (?:a )?|/)[\"'(]*(?:yes|no)\b[\"')]*)?"
_WITHIN = r"[^.;:!?,\n]"  # inside one clause
_UNABLE = (
    r"(?:\bcan ?not|\bcan't|\bcould not|\bcouldn't|\bunable to|\bnot able to|\b(?:im|not )possible(?: for \w+)? to"
    r"|\b(?:hard|difficult) to|\bnot enough (?:\w+ ){1,4}to|\binsufficient (?:\w+ ){1,4}to"
    r"|\bnot (?:sure|certain|confident)(?: enough)? to|\bcan neither)"
)
_SAY = (
    r"(?:say|answer|give|conclude|tell|respond|reply|state|choose|decide|determine|predict|commit|confirm|provide"
    r"|label|offer|recommend)"
)
# "I cannot say yes", "it is unclear whether the answer is no": the label is named, and nothing is known.
_CANNOT_SAY = re.compile(
    rf"{_UNABLE} (?:\w+ ){{0,2}}?{_SAY}\b{_WITHIN}{{0,40}}?{_YES_NO}"
    r"|\b(?:unclear|unknown|uncertain|undecided|not (?:sure|certain|clear|known)|n't know|not know"
    rf"|no way (?:to know|of knowing)) (?:whether|if|that|about)\b{_WITHIN}{{0,80}}?{_YES_NO}",
    re.IGNORECASE,
)
# "I would not say yes", "neither yes nor no", "yes and no": the label is named, and not meant in full.
_WOULD_NOT_SAY = re.compile(
    rf"\b(?:would|do|does|should|will|did|is)(?: not|n't) (?:\w+ ){{0,2}}?"
    rf"(?:say|answer(?! (?:is|was|to))|call|choose|go with|simply)\b{_WITHIN}{{0,30}}?{_YES_NO}"
    r"|\bneither [\"'(]*(?:yes|no)\b[\"')]* nor (?:a )?[\"'(]*(?:yes|no)\b"
    r"|\b(?:both |a )?[\"'(]*(?:yes\b[\"')]* and (?:a )?[\"'(]*no|no\b[\"')]* and (?:a )?[\"'(]*yes)\b"
    r"|\b(?:no|not an?) (?:simple|clear|straightforward|easy|definite|definitive|black-and-white)[ -](?:yes|no)\b"
    rf"{_WITHIN}{{0,12}}\b(?:yes|no)\b",
    re.IGNORECASE,
)
# "I don't think the answer is yes": an announcement, but of the opposite.
_NOT_THOUGHT = re.compile(
    r"\b(?:do|does|would)(?: not|n't) (?:think|believe|say|feel)(?: that)? the answer (?:is|would be|should be) "
    r"[\"'(]*(yes|no)\b",
    re.IGNORECASE,
)
_OPENED = r"(?:^|\b(?:answer|label|verdict)(?: to (?:this|the) question)?(?: is| would be| should be)?[ :]+)\W*"
_FLAT_NO = re.compile(
    rf"({_OPENED})(?:(?:absolutely|definitely|certainly|probably|clearly|surely|of course|most likely|likely"
    r"|almost certainly) not|not at all|by no means)\b(?= *(?:[.,;:!\n]|$))",
    re.IGNORECASE,
)
_HALF = re.compile(
    rf"{_OPENED}(?:not (?:necessarily|always|entirely|completely|exactly|quite|in all cases)|possibly|perhaps"
    r"|sometimes|potentially|partially|partly|somewhat|to some extent|in some cases"
    r"|it (?:may|might|could)(?: well| or may not)? be(?=\W*(?:$|so\b|true\b))"
    r"|it (?:could|may|might) go either way)\b",
    re.IGNORECASE,
)
_SOURCE = r"(?:context|text|passage|study|abstract|vignette|question|case|scenario|information|document|prompt|data)"
_KNOWLEDGE = r"(?:information|context|details?|data|knowledge)"
# Said of the writer, the source or the answer; what a study or a patient cannot do says nothing about what is known here.
_NOT_KNOWN = re.compile(
    rf"(?:\bnot|n't|\bnever) (?:\w+ ){{0,2}}?(?:enough|sufficient|adequate) (?:\w+ )?{_KNOWLEDGE}\b"
    rf"|\b(?:insufficient|inadequate|incomplete|lack(?:s|ing)?(?: of)?(?: the| any| enough| sufficient| necessary)?|no"
    rf"|not enough|too little) (?:relevant |specific |further )?{_KNOWLEDGE}\b"
    r"|\b(?:not enough|insufficient) evidence (?:\w+ ){0,2}?to (?:say|tell|determine|conclude|answer|decide|predict|give)"
    r"|n't know\b(?! that)|\b(?:i|we) (?:\w+ )?(?:do |did )?not know\b(?! that)"
    r"|\b(?:i am|i'm|we are) (?:\w+ )?(?:not (?:\w+ )?(?:sure|certain)|unsure|uncertain)\b"
    rf"|\b(?:i|we) (?:cannot|can't|can not|could not|couldn't|am unable to|are unable to|am not able to) (?:\w+ ){{0,2}}?"
    r"(?:say|answer|tell|determine|predict|conclude|know|decide|provide|give|make|identify|assess|label)\b"
    r"|(?:^|[.!?\n] ?|, |; )(?:cannot|can't|unable to|not able to)"
    r" (?:be )?(?:\w+ )?(?:say|answer|tell|determine|predict|conclude|said|answered|determined|predicted|known)\b"
    r"|\bit(?:'s| is| would be| remains) (?:\w+ )?(?:not possible|impossible|difficult|hard|unclear|not clear|uncertain"
    r"|unknown)\b"
    rf"|\b(?:it|this|that|(?:the |this |your )?(?:question|answer|label))\b[^.;!?\n]{{0,60}}?\b(?:cannot|can't|can not"
    r"|could not|couldn't) be (?:\w+ )?(?:answered|determined|predicted|known|said|told|inferred|established|given)\b"
    rf"|\b{_SOURCE}(?: provided| given)? (?:does not|doesn't|did not|do not|don't) (?:\w+ )?(?:provide|mention|say"
    r"|specify|contain|state|include|give|address|tell|answer|allow)\b"
    rf"|\b{_SOURCE}(?: provided| given)? is (?:\w+ )?(?:insufficient|inadequate"
    r"|incomplete|not enough|not sufficient|too \w+)\b"
    r"|\bmakes? it (?:\w+ )?(?:hard|difficult|impossible) to (?:\w+ )?(?:say|answer|tell|determine|predict"
    r"|conclude|know)\b|\bno (?:label|answer|prediction|conclusion|decision) can be\b|\bthere is no way (?:to|of)\b|\bi know nothing\b"
    rf"|\bnone of (?:the|this|these) (?:\w+ )?{_SOURCE}\b|\bnothing in the {_SOURCE}\b"
    rf"|\b(?:more|further|additional) (?:\w+ )?{_KNOWLEDGE} (?:is|are|would be|will be) (?:needed|required|necessary)\b"
    rf"|\b(?:i|we)(?:'d| would)? (?:need|require) (?:\w+ )?(?:more|further|additional) (?:\w+ )?{_KNOWLEDGE}\b"
    r"|(?:^|[.!?\n:] ?)\W*it (?:really |all )?depends\b|\banswer (?:\w+ )?depends\b"
    r"|\bno (?:clear|definite|definitive|conclusive|certain|single) answer\b",
    re.IGNORECASE,
)
# "I'm not sure if it is safe, but yes", "To be honest, yes."
_AFTER_ALL = re.compile(
    r"(?:\b(?:but|so|thus|hence|therefore),?|^[^.;:!?\n]{1,40},|\bit(?:'s| is) an?)"
    r" [\"'(]*(yes|no)\b(?=[\"')]* ?(?:[.,;:!–—-]|$|from me))",
    re.IGNORECASE,
)
_I_CANNOT = re.compile(
    r"\b(?:i|we) (?:do not|don't|cannot|can't|could not|couldn't|am unable|am not able|lack)\b"
    rf"|\b(?:not enough|insufficient|no) (?:\w+ )?{_KNOWLEDGE}\b|n't (?:\w+ )?enough {_KNOWLEDGE}\b",
    re.IGNORECASE,
)
_HALF_AFTER = re.compile(
    r"\W*(?:yes|no)\W+(?:but )?(?:possibly|perhaps|maybe|sometimes|partially|partly|not always)\b", re.I
)
# In Q-Pain's form a reply often says yes and then announces the dose: "Yes. The answer is: Low."
_OPENER = re.compile(r"[\W_]*(yes|no)\b[\"')]*(?=[ \t]*(?:[.,;:!\n–—-]|$))", re.IGNORECASE)
_OTHER_ANSWER = re.compile(
    r"\b(?:the |my )?(?:final |correct )?(?:answer|choice|dosage|dose)(?: is)? ?:(?!\W*(?:yes|no|maybe)\b)[^\n]{0,40}?(?=[.\n]\D|$)",
    re.IGNORECASE | re.MULTILINE,
)
_LEADING_NO = re.compile(r"\W*no\b[\s.,;:!–—-]*", re.IGNORECASE)


def flip(label: str) -> str | None:
    """The opposite label, which a counterfactual explanation should lead to.

    LExT, section 3.2.2 and appendix B.6.

    Parameters
    ----------
    label : str
        In any case.

    Returns
    -------
    str or None
        yes for no and no for yes, low for high and high for low; None where there is no opposite (maybe, unknown,
        random): such an answer cannot be flipped.
    """
    return _OPPOSITE.get(label.strip().casefold()) if isinstance(label, str) else None


def parse_label(reply: str | None, prompt: str | None = None, doses: bool = False) -> Parsed:
    """The label of an answer to a yes/no question.

    LExT, appendix B.5, where the labels are Yes (says or suggests yes), No, Unknown (something like not having enough
    knowledge to answer) and Random (everything else). `maybe` is PubMedQA's third label.

    Parameters
    ----------
    reply : str or None
        What the subject wrote. None stands for a failed call.
    prompt : str, optional
        The prompt, to recognise an echo of its "yes or no".
    doses : bool
        Q-Pain's form, whose prompt asks for a dose too (appendix B.1.1). An answer that opens with a lone yes or no and goes
        on to announce something else (`Yes. The answer is: Low.`) has that label; one that names no label and chooses a
        dose (`parse_dose`) is a yes.

    Returns
    -------
    Parsed
        value "yes", "no" or "maybe" (status `scored`), "unknown" (status `unknown`, or `refused` where the whole reply
        declines), "random" (status `unparsable`: a text, or an empty one, that gives none of these), or None (status
        `truncated`: only unfinished reasoning; `error`: no reply).

    Notes
    -----
    Whole words, in the order of `replies.label`: `I know this` and `Norepinephrine` hold no "no". Negation turns a label
    (`not yes`: no; `I would not give it`: no). A verdict by halves (`perhaps yes`, `yes, if …`, `not necessarily`, `yes
    and no`, `I would not say yes`) is maybe; a likely one (`probably yes`) counts in full. A label that the writer cannot
    give (`I cannot say yes`, `unclear whether the answer is no`) is unknown, as is `it depends …`, which Table 11 labels
    so, and a "No," that opens `No, I do not have enough information`. A label that is given counts, whatever doubts
    follow (`Yes. More data are needed.`).
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    written = without_echo(answer.value, prompt)
    text = plain(written)
    hint = "unknown" if _CANNOT_SAY.search(text) else "maybe" if _WOULD_NOT_SAY.search(text) else None
    if _NOT_THOUGHT.search(text):
        written = text = _NOT_THOUGHT.sub(lambda m: f"think the answer is {flip(m[1])}", text)
    if hint or _FLAT_NO.search(text):
        text = _WOULD_NOT_SAY.sub(" something ", _CANNOT_SAY.sub(" something ", text))
        written = text = _FLAT_NO.sub(r"\1No", text)
    found = label(written, _ANSWERS, prompt=prompt, doubted="maybe", alone=_ALONE)
    if found.value == "no" and (opened := _LEADING_NO.match(text)) and _only_cannot(text[opened.end() :]):
        return Parsed("unknown", "unknown")
    if found.value is not None:
        return Parsed("maybe", "scored") if _HALF_AFTER.match(text) else found
    said = fold(bare(text))
    for name, words in _WHOLE.items():
        if said in words:
            return Parsed(name, "scored")
    if after_all := {m[1].casefold() for m in _AFTER_ALL.finditer(text)}:
        return Parsed(after_all.pop() if len(after_all) == 1 else "maybe", "scored")
    if doses and (opened := _opening(text)):
        return Parsed(opened, "scored")
    if doses and parse_dose(reply, prompt).value is not None:
        return Parsed("yes", "scored")
    named = label(written, ("unknown", "random"), alone=_UNKNOWN_WORDS)
    if named.value is not None:
        return Parsed(named.value, "unknown" if named.value == "unknown" else "unparsable")
    if hint is not None:
        return Parsed(hint, "scored" if hint == "maybe" else "unknown")
    if WOULD_NOT.search(text):
        return Parsed("no", "scored")
    if is_refusal(text):
        return Parsed("unknown", "refused")
    if _HALF.search(text):
        return Parsed("maybe", "scored")
    return Parsed("unknown", "unknown") if _NOT_KNOWN.search(text) else Parsed("random", "unparsable")


def _opening(text: str) -> str | None:
    """The lone yes or no in front of a reply, if what it announces after that names no other label."""
    opened = _OPENER.match(text)
    if opened is None:
        return None
    said = label(_OTHER_ANSWER.sub(" ", text), _ANSWERS, doubted="maybe", alone=_ALONE).value
    return said if said == opened[1].casefold() else None


def _only_cannot(rest: str) -> bool:
    """Whether what follows a "No," says in one sentence that the writer cannot answer: the no is about being able to."""
    return is_refusal(rest) and _I_CANNOT.search(rest) is not None


def parse_judged_label(reply: str | None, prompt: str | None = None) -> Parsed:
    """The label that a judge model gives an answer (LExT, appendix B.5).

    Parameters
    ----------
    reply : str or None
        The judge's reply: one of the five labels, however dressed.
    prompt : str, optional
        The judge's prompt, which lists the labels.

    Returns
    -------
    Parsed
        value one of `LABELS` with status `scored`; None with status `unparsable`, `refused`, `truncated` or `error`. A
        judge that names no label has not judged: its silence is not "random".
    """
    return label(reply, LABELS, prompt=prompt)
