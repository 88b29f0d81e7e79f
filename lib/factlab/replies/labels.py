"""One label out of a few in what a model wrote: `true` or `false`, `yes`, `no` or `maybe`, `A` to `D`.

The layer under `replies.label`. A label is a whole word, never a part of one, and a word that is about something else
("the true incidence", "no information", "vitamin B") is no label either. The order in which places are searched is
the docstring of `label`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from factlab.replies.cleaning import Parsed, bare, plain, strip_reasoning, without_echo
from factlab.replies.refusals import is_refusal
from factlab.replies.structured import json_values
from factlab.text import fold

_OPPOSITE = {"true": "false", "yes": "no", "correct": "incorrect", "supported": "unsupported", "right": "wrong"}
_OPPOSITE |= {v: k for k, v in _OPPOSITE.items()}
_KEYS = (
    "verdict", "final_answer", "finalanswer", "final answer", "answer", "label", "judgment", "judgement", "choice",
    "prediction", "decision", "classification", "factuality", "truthfulness", "result", "conclusion", "is_true",
    "is_factual", "output", "value",
)  # fmt: skip

# --- where an answer is announced ---

_NAME = (
    r"(?:final |correct |best |right |my |overall )*(?:answers?|verdict|label|conclusion|judge?ment|decision"
    r"|choice|option"
    r"|result|classification|prediction|factuality|determination|evaluation|assessment)"
)
_ANNOUNCED = re.compile(
    rf"(?P<line>(?:^|(?<=[.!?] ))\W*(?:the )?{_NAME}(?: is)? ?[\"']? ?(?::|=|->|→|-)+|[\"']{_NAME}[\"'] ?:)"
    rf"|\b{_NAME}:|\b{_NAME}(?: to (?:this|the) question)?(?: is| was| would be| should be| must be|'s)"
    r"(?: therefore| thus| clearly| definitely| likely| probably| most likely| option)?\b ?:?",
    re.IGNORECASE | re.MULTILINE,
)
_RUN_ON = re.compile(r"^\W*(?:question|q|human|user|statement|claim|input|problem|example) ?\d*:", re.I | re.MULTILINE)
_REVISED = re.compile(
    r"\b(?:wait|correction|on second thought|let me (?:re-?think|reconsider|correct|re-?evaluate)|i (?:was"
    r"|am) (?:wrong|mistaken)"
    r"|scratch that|no, actually|actually, (?:no|this|it|that|the (?:statement|claim)))\b"
)
_CONCLUDING = re.compile(
    r"^\W*(?:therefore|thus|hence|so|in conclusion|overall|in summary|to sum up|finally|ultimately|in short"
    r"|consequently)\b"
)

# --- what stands before and after a label; all meet folded text ---

_LINK = r"(?:is|'s|are|was|were|be|being|remains|seems|appears|sounds|looks|holds|rings)(?: to be| as)?"
_THIS = (
    r"(?:(?:the|this|that|your|above|given|following|entire|whole) )*"
    r"(?:statement|claim|assertion|sentence|proposition|fact|unit|answer|it|this|that|which)"
)
# Words that may stand between "is", "not" and the label without changing what is meant.
_BETWEEN = (
    r"(?:(?:a|an|the|be|been|considered|deemed|found|regarded|as|actually|really|indeed|therefore|thus|clearly"
    r"|factually|scientifically"
    r"|technically|medically|generally|currently|known|to|simply|just|also|still|probably|likely|most|very"
    r"|in fact|at all|both|either"
    r"|certainly|definitely|absolutely|essentially|basically|overwhelmingly|well|itself|anything|said) )*"
)
_DEGREE = (
    r"(?:entirely|completely|fully|wholly|totally|quite|exactly|strictly|always|necessarily|universally"
    r"|precisely|perfectly"
    r"|definitively|definitely|certainly|absolutely|100%|altogether)"
)
_HALF = (
    r"(?:partially|partly|mostly|largely|somewhat|half|sort of|kind of|to some extent|in part|broadly|nearly"
    r"|almost|sometimes"
    r"|possibly|perhaps|maybe|potentially|more or less)"
)
_NOT = r"(?:\bnot|n't|\bnever|\bcannot|\bno longer|\bnor|\bneither|\bhardly|\bfar from|\banything but)"
_ANY_OF = rf"(?:{_NOT[3:-1]}|{_HALF}|{_DEGREE}|may|might|could|can) "

_NEGATED = re.compile(rf"{_NOT} {_BETWEEN}[\"'(]?$")
_NOT_THOUGHT = re.compile(
    rf"(?:(?:do|does|did|would)(?: not|n't) (?:think|believe|agree|consider|find|feel)|\b(?:i|we) (?:strongly "
    rf"|highly |must )*(?:disagree|doubt))(?: that)? {_THIS}"
    rf" ?(?:{_LINK})? {_BETWEEN}[\"'(]?$"
)
_DOUBTED = re.compile(
    rf"(?:{_NOT} {_BETWEEN}{_DEGREE} {_BETWEEN}|\b{_HALF}[ -]{_BETWEEN}|\b(?:may|might|could"
    rf"|can) (?:well )?be {_BETWEEN})[\"'(]?$"
)
_DOUBT_AFTER = re.compile(
    r"^[\"')]*,? (?:in part|to some extent|in some cases|only (?:if|in|when|under)|if|under (?:some|certain)"
    r"|but only)\b"
)
_LEFT_OPEN = re.compile(
    r"\b(?:whether|if|(?:cannot|can't|could not|couldn't|unable to|not able to|impossible to|not possible to"
    r"|not enough (?:\w+ ){0,2}to|insufficient (?:\w+ ){0,2}to"
    r"|no (?:evidence|way|reason)(?: to)?) ?(?:confirm|verify|determine|say|tell|establish|conclude|decide"
    r"|judge|assess|prove|know|believe|that))\b[^.;:,]{0,60}$"
)
_OF_THIS = re.compile(
    rf"(?:^|\W){_THIS}(?: (?:that|about|above|given"
    rf"|in question)\b[^.;]{{0,120}}?)? ?{_LINK}(?:n't)? (?:{_ANY_OF})*{_BETWEEN}(?:{_ANY_OF})*{_BETWEEN}[\"'(\[]?$"
)
_PREDICATE = re.compile(rf"(?:\b{_LINK}(?:n't)?|:|=|->|→) (?:{_ANY_OF})*{_BETWEEN}(?:{_ANY_OF})*{_BETWEEN}[\"'(\[]?$")
_CHOSEN = re.compile(
    r"\b(?:say|choose|chose|pick|picked|select|selected|go with|going with|vote|answer|answered|opt for"
    r"|lean(?:ing)? towards?|rated?|label(?:led)?|labell?ed|judged?"
    r"|marked|mark|considered?|option|choice|letter|classif\w+)(?: (?:is|as|it|this|that|would|be|for|option"
    r"|the|answer|statement))*[ :][\"'(\[]?$"
)
_ENDS = re.compile(
    r"^[\"')\]]*(?: ?$| ?[.,;:!?(\[)\]–—-]|['\"]| (?:statement|claim|assertion|because|since|as|that|according"
    r"|due|based|given|for|when|under"
    r"|but|although|however|so|here|this|it|the|there|in this|they|these|with)\b)"
)
_REJECTED = re.compile(
    r"^[\"')\]]* (?:isn't|wasn't|(?:is|was|are|would be|seems|can be|could be)(?: \w+)? ?(?:not|incorrect|wrong"
    r"|false|implausible|ruled out|unlikely|excluded))\b"
)
# "No information" and "A patient": a determiner, not an answer.
_GOES_ON = re.compile(
    r"^ (?!(?:because|since|as|is|isn't|was|it|this|that|the|they|there|these|he|she|we|i|and|but|or|not"
    r"|statement|seems|would|due|for|based|given|in this)\b)[a-z]"
)
# What may stand in front of an answer without saying anything of its own.
_OPENER = re.compile(
    r"\W*(?:(?:therefore|thus|hence|so|in conclusion|overall|in summary|finally|ultimately|consequently|i think"
    r"|i believe|i'd say|i would say"
    r"|sure|okay|ok|well|this is|it is|it's|that is|that's|definitely|absolutely|clearly|(?:most |very "
    r"|highly )?likely|probably|without (?:a |any )?doubt|undoubtedly|indeed|certainly|option|choice)\b\W*)*"
)
_JOIN = r"[\"')\]]*(?: ?(?:/|\|) ?|,? (?:or|and|nor|vs\.?|versus) |, )[\"'(\[]*"


_NEAR = 240  # characters
_MOST = 100  # mentions in one sentence


@dataclass(frozen=True)
class _Mention:
    label: str | None  # None: named and then taken back
    where: int  # 3 said of the statement, 2 said of something or chosen, 1 leads its sentence, 0 in passing
    doubted: bool
    whole: bool  # the sentence is nothing else
    itself: bool = True  # the label, not a synonym of it


class _Forms:
    """All spellings of the labels in one pattern, the longest first."""

    def __init__(self, labels: tuple[str, ...], synonyms: tuple[tuple[str, tuple[str, ...]], ...]):
        self.of = {fold(name): name for name in labels}
        for name, others in synonyms:
            if name not in labels:
                raise ValueError(f"synonyms are given for {name!r}, which is not one of the labels {list(labels)}")
            for other in others:
                self.of.setdefault(fold(other), name)
        if not self.of or "" in self.of:
            raise ValueError("labels must be one or more texts that are not empty")
        spelled = "(?:" + "|".join(re.escape(f) for f in sorted(self.of, key=len, reverse=True)) + ")"
        end = r"(?!\w|'\w|-\w)"
        self.pattern = re.compile(rf"(?<![\w'-]){spelled}{end}", re.IGNORECASE)
        self.menu = re.compile(rf"(?<![\w'-]){spelled}(?:{_JOIN}{spelled}{end})+", re.IGNORECASE)

    def opposite(self, label: str) -> str | None:
        return self.of.get(_OPPOSITE.get(fold(label), ""))

    def only(self, text: str) -> str | None:
        """The label that a model repeats and says nothing else."""
        if re.search(r"\w", self.pattern.sub(" ", text)):
            return None
        names = {self.of[fold(m[0])] for m in self.pattern.finditer(text)}
        return names.pop() if len(names) == 1 else None

    def mentions(self, sentence: str) -> list[_Mention]:
        """The labels that one sentence names, in order; a menu ("true or false", "A/B/C/D") names none."""
        menus = []
        for menu in islice(self.menu.finditer(sentence), _MOST):
            names = [m for m in self.pattern.finditer(menu[0]) if len(m[0]) > 1 or m[0].isupper()]
            if len({self.of[fold(m[0])] for m in names}) > 1 and not re.search(r"\bnot\b", menu[0]):
                menus.append(menu.span())
        found = []
        for match in islice(self.pattern.finditer(sentence), _MOST):
            if any(a <= match.start() < b for a, b in menus):
                continue
            form, label = fold(match[0]), self.of[fold(match[0])]
            # What bears on a label stands near it; a model that loops must not make this slow.
            before = fold(sentence[max(0, match.start() - _NEAR) : match.start()] + "|")[:-1]
            after = sentence[match.end() : match.end() + _NEAR]
            letter = len(form) == 1
            if letter and form.isalpha() and not match[0].isupper():
                continue
            if (form == "no" or (letter and form in "ai")) and _GOES_ON.match(after):
                continue
            after = fold("|" + after)[1:]
            if _LEFT_OPEN.search(before) or (re.search(r"\b(?:a|an|the) $", before) and not _ENDS.match(after)):
                continue
            leads = match.start() < _NEAR and _OPENER.fullmatch(before) is not None
            whole = leads and not re.search(r"\w", after)
            doubted = bool(_DOUBTED.search(before) or (_DOUBT_AFTER.match(after) and not letter))
            negated = not doubted and bool(_NEGATED.search(before) or _NOT_THOUGHT.search(before))
            if letter and _REJECTED.match(after):
                negated = True
            if " " in form or _OF_THIS.search(before):
                where = 3
            elif (
                _PREDICATE.search(before)
                or _CHOSEN.search(before)
                or negated
                or doubted
                or letter
                and re.match(
                    r"^[\"')\]]* (?:is|seems) (?:\w+ )?(?:correct|right|the (?:best|correct|right|answer)|true|best)",
                    after,
                )
                or letter
                and before.endswith("(")
                and after.startswith(")")
            ):
                where = 2
            else:
                where = 1 if (leads or re.fullmatch(rf"\W*{_HALF}\W*", before)) and _ENDS.match(after) else 0
            if whole or where or " " in form:
                said = self.opposite(label) if negated else label
                found.append(_Mention(said, where, doubted, whole, form == fold(label)))
        for start, _ in menus if not found else []:
            # "It may be true or false" is a verdict by halves, not a menu.
            if re.search(
                r"\b(?:may|might|could|can) be (?:either )?$", fold(sentence[max(0, start - _NEAR) : start] + "|")[:-1]
            ):
                found.append(_Mention(next(iter(self.of.values())), 3, True, False))
        return found


@lru_cache(maxsize=64)
def _forms(labels: tuple[str, ...], synonyms: tuple[tuple[str, tuple[str, ...]], ...]) -> _Forms:
    return _Forms(labels, synonyms)


def _sentences(text: str) -> list[str]:
    return [s for s in re.split(r"(?<=[.!?;])[\"')\]]*\s+|\n+", text) if re.search(r"\w", s)]


def _agreed(mentions: list[_Mention]) -> _Mention | str | None:
    """The one label that all mentions name; "conflict" if they differ; None if there is none."""
    named = [m for m in mentions if m.label is not None]
    if not named:
        return None
    if len({None if m.doubted else m.label for m in named}) > 1:
        return "conflict"
    return named[-1]


def _stance(text: str, forms: _Forms) -> _Mention | str | None:
    """What a reply says, from the strongest of its mentions (see `label`)."""
    sentences = _sentences(text)
    found = [forms.mentions(s) for s in sentences]
    for position, sentence in enumerate(sentences[1:], 1):
        if _REVISED.search(fold(sentence)):
            later = _stance("\n".join([_REVISED.sub(" ", fold(sentence)), *sentences[position + 1 :]]), forms)
            if later is not None:
                return later
    first = found[0] if found else []
    leading = [m for m in first[:1] if m.where == 1 or m.whole]
    # "Yes, this is false": of a yes and a plain word about the statement in one sentence, the plain word is meant.
    plainer = [
        m
        for m in first[1:]
        if leading and not leading[0].itself and m.itself and m.where == 3 and "," in sentences[0][:8]
    ]
    alone = [m for ms in found for m in ms if m.whole]
    said = _agreed(plainer) or _agreed(leading + [m for m in alone if m not in leading])
    if said is not None:
        return said
    for where in (3, 2):
        of_rank = [(s, m) for s, ms in zip(sentences, found, strict=True) for m in ms if m.where == where]
        said = _agreed([m for _, m in of_rank])
        if said == "conflict":
            closing = [m for s, m in of_rank if _CONCLUDING.match(fold(s))]
            return _agreed(closing) or "conflict"
        if said is not None:
            return said
    return None


def _announced(text: str, forms: _Forms) -> tuple[_Mention | str | None, str | None]:
    """What the last announcement ("Answer: B") that names a label says, and the text of the last one that is a line."""
    said, last_line = None, None
    for mark in list(_ANNOUNCED.finditer(text))[-_MOST:]:
        segment = next(
            (s for s in text[mark.end() : mark.end() + 2 * _NEAR].split("\n") if re.search(r"\w", s)), ""
        ).strip(" :\"'")
        whole = forms.of.get(fold(bare(segment)))
        if whole is None and re.match(r"\W*(?:answer|verdict)\W*:", segment, re.I):
            continue  # an announcement of an announcement: the next round reads it
        here = _Mention(whole, 3, False, True) if whole else _stance(segment, forms)
        if here is None and re.match(r"(?:option |choice |the )?[\"'(\[]*", segment):
            opened = re.sub(r"^(?:option |choice |the )?[\"'(\[]*", "", segment, flags=re.I)
            short = [m for m in forms.mentions(opened)[:1] if m.where]
            lead = forms.pattern.match(opened)
            if (
                lead
                and not short
                and _ENDS.match(fold("|" + opened[lead.end() :])[1:])
                and len(lead[0]) == 1
                or lead
                and lead[0].isupper()
                and re.match(r" [A-Z]", opened[lead.end() :])
                and len(lead[0]) == 1
            ):
                short = [_Mention(forms.of[fold(lead[0])], 3, False, False)]
            here = _agreed(short)
        if here is not None:
            said = here
        if mark["line"]:
            last_line = segment if here is None and not forms.menu.search(segment) else None
    return said, last_line


def _from_json(text: str, forms: _Forms) -> str | None:
    def one(value: object) -> str | None:
        if isinstance(value, bool):
            return forms.of.get("true" if value else "false") or forms.of.get("yes" if value else "no")
        if isinstance(value, str):
            said = forms.of.get(fold(bare(value)))
            if said is None and value.strip():
                inner = _stance(plain(value), forms)
                said = inner.label if isinstance(inner, _Mention) and not inner.doubted else None
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
        for key in _KEYS:
            if key in folded:
                if (said := one(folded[key])) is not None:
                    return said
                break
        else:
            named = {one(v) for v in folded.values() if isinstance(v, str | bool)} - {None}
            if len(named) == 1:
                return named.pop()
    return None


def label(
    reply: str | None,
    labels: Sequence[str],
    synonyms: Mapping[str, Sequence[str]] | None = None,
    prompt: str | None = None,
    doubted: str | None = None,
) -> Parsed:
    """Which of a few labels a reply gives.

    Decided in this order; the first that names a label ends the search.

    1. Reasoning is removed (unfinished: `truncated`), and what the reply repeats of `prompt`.
    2. The whole reply is a label, whatever its mark-up: `**B**`, `$B$`, `\\boxed{B}`, `(b)`, `"true"`.
    3. JSON: the field called verdict, answer, label …, else the only field that holds a label.
    4. What comes before a further `Question:`, `User:` … that the model went on to write by itself.
    5. Announced: `Answer: B`, `The verdict is false`; the last announcement wins. A line `Answer: …` without a label
       ends the search: `Answer: None of the above` chooses nothing, whatever was weighed before.
    6. In front, or alone in a sentence or line: `False. It is true that …` is false. A correction (`Wait, …`) counts
       instead of what it corrects. Two different ones: unparsable.
    7. Said of the statement (`this claim is true`, a synonym of several words), then said of anything or chosen
       (`I would go with B`). Where these differ, a concluding sentence (`Therefore …`) decides, else unparsable.

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

    Returns
    -------
    Parsed
        value: one of `labels`, or None with status `refused`, `truncated`, `unparsable` or `error`.

    Raises
    ------
    ValueError
        If there are no labels, one is empty, or synonyms are given for another word.
    """
    forms = _forms(tuple(labels), tuple((k, tuple(v)) for k, v in (synonyms or {}).items()))
    if reply and (
        plainly := forms.of.get(fold(reply).rstrip(" ."))
    ):  # most replies are one word; no need to look further
        return Parsed(plainly, "scored")
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    text = without_echo(answer.value, prompt)
    said: _Mention | str | None = None
    whole = forms.of.get(fold(bare(text))) or forms.only(text)
    whole = whole or _from_json(text, forms)
    if whole is not None:
        return Parsed(whole, "scored")
    text = plain(text)
    for run_on in _RUN_ON.finditer(text):
        if run_on.start() and isinstance(read := _read(text[: run_on.start()], forms)[0], _Mention):
            said = read
            break
    nothing = None
    if said is None:
        said, nothing = _read(text, forms)
    if isinstance(said, _Mention) and said.label is not None:
        if not said.doubted:
            return Parsed(said.label, "scored")
        return Parsed(doubted, "scored" if doubted is not None else "unparsable")
    declined = said is None and is_refusal(nothing if nothing is not None else text)
    return Parsed(None, "refused" if declined else "unparsable")


def _read(text: str, forms: _Forms) -> tuple[_Mention | str | None, str | None]:
    said, nothing = _announced(text, forms)
    if said is not None or nothing is not None:
        return (said if nothing is None else None), nothing
    return _stance(text, forms), None
