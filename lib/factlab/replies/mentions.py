"""Which labels one sentence names, and how: said of the statement, chosen, in front, negated, by halves.

The layer under `labels`. A label is a whole word, never a part of one, and a word that is about something else ("the
true incidence", "no information", "vitamin B") is no label either. All patterns here are about what stands before and
after the word.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from factlab.text import fold

_OPPOSITE = {"true": "false", "yes": "no", "correct": "incorrect", "supported": "unsupported", "right": "wrong"}
_OPPOSITE |= {v: k for k, v in _OPPOSITE.items()}

# --- what stands before and after a label; all patterns meet folded text ---

_LINK = (
    r"(?:is|'s|are|was|were|be|being|remains|seems|appears|sounds|looks|holds|rings|does|do|did"
    r"|(?:has|have|had|would have) been)(?: to be| as)?"
)
_STATEMENT = (
    r"(?:(?:the|this|that|your|above|given|following|entire|whole) )*"
    r"(?:statement|claim|assertion|sentence|proposition|fact|unit|answer)"
)
_IT = r"(?:the |this |that )?(?:one|it|this|that|which|they)"
_THIS = rf"(?:{_STATEMENT}|{_IT})"
# Words that may stand between "is", "not" and the label without changing what is meant.
_BETWEEN = (
    r"(?:(?:a|an|the|be|been|considered|deemed|found|regarded|proven|proved|shown|demonstrated|as|actually|really"
    r"|indeed|therefore|thus|clearly|factually|scientifically|technically|medically|generally|widely|thoroughly"
    r"|currently|now|since|long|known|to|simply|just|also|still|yet|probably|likely|most|very|in fact|at all|both"
    r"|either|certainly|definitely|absolutely|essentially|basically|overwhelmingly|well|itself|anything|hold|ring"
    r"|sound|seem|appear|look|remain) )*"
)
_DEGREE = (
    r"(?:entirely|completely|fully|wholly|totally|quite|exactly|strictly|always|necessarily|universally|precisely"
    r"|perfectly|definitively|definitely|certainly|absolutely|100%|altogether)"
)
_HALF = (
    r"(?:partially|partly|mostly|largely|somewhat|half|sort of|kind of|to some extent|in part|broadly|nearly"
    r"|almost(?! (?:certainly|definitely|surely))|sometimes|possibly|perhaps|maybe|potentially|more or less)"
)
_NOTS = (
    r"\bnot|n't|\bnever|\bnothing|\bcannot|\bno longer|\bnor|\bneither|\bhardly|\bscarcely|\bfar from|\banything but"
    r"|\bunlikely|\bby no means|\bin no way|\bopposite of|\breverse of"
)
_NOT = f"(?:{_NOTS})"
_ANY_OF = f"(?:{_NOTS}|{_HALF}|{_DEGREE}|may|might|could|can) "
_QUALIFIED = rf"(?:{_ANY_OF})*{_BETWEEN}(?:{_ANY_OF})*{_BETWEEN}[\"'(\[]?$"

# "None of this is true", "the opposite is true": the subject negates.
_NO_SUBJECT = (
    r"(?:\b(?:none of|neither|nothing|no (?:part|aspect|portion) of|not (?:a|one) word of|the (?:opposite|reverse|contrary))"
    rf"\b[^.;:,]{{0,40}}? ?{_LINK}|\bnot the case that {_THIS} {_LINK})"
)
_NEGATED = re.compile(rf"(?:{_NOT}|{_NO_SUBJECT}) {_BETWEEN}[\"'(]?$")
# "I don't think it is", "It would be wrong to say that it is", "I wouldn't call it"
_NOT_THOUGHT = re.compile(
    r"(?:(?:do|does|did|would|should|could|can)(?: not|n't) (?:think|believe|agree|consider|find|feel|say|call|claim)"
    r"|\b(?:i|we) (?:strongly |highly |must )*(?:disagree|doubt)"
    r"|\b(?:wrong|false|incorrect|inaccurate|misleading|untrue) to (?:say|claim|state|assert|suggest|conclude|call)"
    rf"|\bfalse)(?: that)? {_THIS} ?(?:{_LINK})? {_BETWEEN}[\"'(]?$"
)
_DOUBTED = re.compile(
    rf"(?:{_NOT} {_BETWEEN}{_DEGREE} {_BETWEEN}|\b{_HALF}[ -]{_BETWEEN}|\b(?:may|might|could|can) (?:well )?be "
    rf"{_BETWEEN}|\bnot (?:all|every\w*|each)\b[^.;:,]{{0,40}}? ?{_LINK} {_BETWEEN})[\"'(]?$"
)
_DOUBT_AFTER = re.compile(
    r"^[\"')]*,? (?:in part|to some extent|in some cases|only (?:if|in|when|under)|if|under (?:some|certain)|but only"
    r"|until)\b"
)
_LEFT_OPEN = re.compile(
    r"(?:\b(?:whether|if|(?:cannot|can't|could not|couldn't|unable to|not able to|impossible to|not possible to"
    r"|not enough (?:\w+ ){0,2}to|insufficient (?:\w+ ){0,2}to|no (?:evidence|way|reason)(?: to)?) ?(?:confirm|verify"
    r"|determine|say|tell|establish|conclude|decide|judge|assess|prove|know|believe|that)"
    r"|not (?:\w+ )?(?:sure|certain|convinced|clear))\b[^.;:,]{0,60}|^\W*to be )$"
)
_ABOUT = r"(?: (?:that|about|above|given|in question)\b[^.;]{0,120}?)?"
_OF_STATEMENT = re.compile(rf"(?:^|\W){_STATEMENT}{_ABOUT} ?{_LINK}(?:n't)? {_QUALIFIED}")
_OF_IT = re.compile(rf"(?:^|\W){_IT}{_ABOUT} ?{_LINK}(?:n't)? {_QUALIFIED}")
_PREDICATE = re.compile(rf"(?:\b{_LINK}(?:n't)?|:|=|->|→) {_QUALIFIED}")
_CHOSEN = re.compile(
    r"\b(?:say|choose|chose|pick|picked|select|selected|go with|going with|vote|answer|answered|opt for"
    r"|lean(?:ing)? towards?|rated?|label(?:led)?|labell?ed|judged?|marked|mark|considered?|option|choice|letter"
    r"|classif\w+)(?: (?:is|as|it|this|that|one|would|be|for|option|the|answer|statement))*[ :][\"'(\[]?$"
)
_ENDS = re.compile(
    r"^[\"')\]]*(?: ?$| ?[.,;:!?(\[)\]|=–—-]|['\"]| (?:statement|claim|assertion|because|since|as|that|according|due"
    r"|based|given|for|when|under|but|although|however|so|here|this|it|the|there|in this|they|these|with|rather|not"
    r"|instead)\b)"
)
# "No information" and "A patient": a determiner, not an answer.
_GOES_ON = re.compile(
    r"^ (?!(?:because|since|as|is|isn't|was|it|this|that|the|they|there|these|he|she|we|i|and|but|or|not|statement"
    r"|seems|would|due|for|based|given|in this)\b)[a-z]"
)
# What may stand in front of an answer without saying anything of its own; a list number goes with it.
_OPENER = re.compile(
    r"\W*(?:\d{1,2}[.):]\W+)?(?:(?:therefore|thus|hence|so|in conclusion|overall|in summary|finally|ultimately"
    r"|consequently|nonetheless|nevertheless|however|notably|in fact|actually|i think|i believe|i'd say|i would say"
    r"|(?:i'm |i am )?not (?:\w+ )?(?:sure|certain),? but|sure|okay|ok|well|this is|it is|it's|that is|that's"
    r"|definitely|absolutely|clearly|technically|generally|factually|scientifically|medically|very|(?:most |very |highly )?likely|probably|almost certainly"
    r"|without (?:a |any )?doubt|no doubt|undoubtedly|indeed|certainly|proven|option|choice)\b\W*)*"
)
# Of letters: "B is correct", "B is my answer", "A is ruled out", "not A, so …".
_APPROVED = re.compile(
    r"^[\"')\]]* (?:is|seems) (?:(?:\w+ )?(?:correct|right|true|best|better|the (?:best|correct|right|answer))"
    r"|(?:my|the) (?:\w+ )?(?:answer|choice|option|pick))\b"
)
_REJECTED = re.compile(
    r"^[\"')\]]* (?:isn't|wasn't|(?:is|was|are|would be|seems|can be|could be)(?: \w+)? ?(?:not|incorrect|wrong"
    r"|false|implausible|ruled out|unlikely|excluded))\b"
)
_INSTEAD = re.compile(r"\bnot \w,? (?:but|so)(?: it's| it is)? [\"'(\[]?$")
_JOIN = r"[\"')\]]*(?: ?(?:/|\|) ?|,? (?:or|and|nor|vs\.?|versus|&) | ?[,;+] ?)[\"'(\[]*"

NEAR = 240  # characters: what bears on a label stands near it, and a model that loops must not make this slow
MOST = 100  # mentions in one sentence


@dataclass(frozen=True)
class Mention:
    """One label as a sentence names it.

    Attributes
    ----------
    label : the label meant, its opposite where negated; None: named and then taken back.
    rank : 4 said of the statement by name, 3 of it or this, 2 of something or chosen, 1 leads its sentence, 0 in passing.
    doubted : a verdict by halves.
    whole : the sentence is nothing else.
    itself : the label's own word, not a synonym.
    """

    label: str | None
    rank: int
    doubted: bool = False
    whole: bool = False
    itself: bool = True


class Forms:
    """All spellings of the labels in one pattern, the longest first."""

    def __init__(self, labels: tuple[str, ...], synonyms: tuple, alone: tuple):
        self.of = {fold(name): name for name in labels}
        self.whole: dict[str, str] = {}
        for table, given in ((self.of, synonyms), (self.whole, alone)):
            for name, others in given:
                if name not in labels:
                    raise ValueError(f"synonyms are given for {name!r}, which is not one of the labels {list(labels)}")
                for other in others:
                    table.setdefault(fold(other), name)
        if not self.of or "" in self.of:
            raise ValueError("labels must be one or more texts that are not empty")
        self.whole |= self.of
        spelled = "(?:" + "|".join(re.escape(f) for f in sorted(self.of, key=len, reverse=True)) + ")"
        end = r"(?!\w|'\w|-\w|\.\d)"
        self.pattern = re.compile(rf"(?<![\w'-]){spelled}{end}", re.IGNORECASE)
        self.menu = re.compile(rf"(?<![\w'-]){spelled}(?:{_JOIN}{spelled}{end})+", re.IGNORECASE)

    def opposite(self, label: str) -> str | None:
        return self.of.get(_OPPOSITE.get(fold(label), ""))

    def only(self, text: str) -> str | None:
        """The label that a model repeats and says nothing else."""
        if re.search(r"\w", self.pattern.sub(" ", text)) or self.menu.search(text) and "," in text:
            return None
        names = {self.of[fold(m[0])] for m in self.pattern.finditer(text)}
        return names.pop() if len(names) == 1 else None

    def _menus(self, sentence: str) -> list[tuple[int, int]]:
        """Where choices are listed: `true or false`, `A/B/C/D`, `A) x B) y C) z`."""
        menus = []
        for menu in islice(self.menu.finditer(sentence), MOST):
            names = [m for m in self.pattern.finditer(menu[0]) if len(m[0]) > 1 or m[0].isupper()]
            if len({self.of[fold(m[0])] for m in names}) > 1 and not re.search(r"\bnot\b", menu[0]):
                menus.append(menu.span())
        items = [
            m
            for m in islice(self.pattern.finditer(sentence), MOST)
            if re.match(r"[A-Za-z][.):] ", sentence[m.start() : m.end() + 2])
        ]
        if len({fold(m[0]) for m in items}) > 2:
            menus += [m.span() for m in items]
        return menus

    def mentions(self, sentence: str) -> list[Mention]:
        """The labels that one sentence names, in order; a menu names none."""
        menus = self._menus(sentence)
        found = []
        for match in islice(self.pattern.finditer(sentence), MOST):
            if not any(a <= match.start() < b for a, b in menus):
                said = self._mention(sentence, match, menus)
                found += [said] if said else []
        for start, _ in menus if not found else []:
            # "It may be true or false" is a verdict by halves, not a menu.
            before = fold(sentence[max(0, start - NEAR) : start] + "|")[:-1]
            if re.search(r"\b(?:may|might|could|can) be (?:either )?$", before):
                found.append(Mention(next(iter(self.of.values())), 3, doubted=True))
        return found

    def in_front(self, answer: str) -> Mention | None:
        """The label that an announced answer begins with: `option B because …`, `A Metformin`."""
        opened = re.sub(r"^(?:option |choice |letter |the )?[\"'(\[<]*", "", answer, flags=re.IGNORECASE)
        lead = self.pattern.match(opened)
        if lead is None or self.menu.match(opened):
            return None
        said = next((m for m in self.mentions(opened)[:1] if m.rank), None)
        after = opened[lead.end() :]
        names = lead[0].isupper() and re.match(r" [A-Z]", after)
        if said is None and len(lead[0]) == 1 and (names or _ENDS.match(fold("|" + after)[1:])):
            return Mention(self.of[fold(lead[0])], 3)
        return said if said and said.label is not None else None

    def _mention(self, sentence: str, match: re.Match, menus: list[tuple[int, int]]) -> Mention | None:
        form = fold(match[0])
        label = self.of[form]
        before = sentence[: match.start()]
        for start, end in menus:  # "(true/false) false": the menu says nothing
            before = before[:start] + " " * (end - start) + before[end:] if end <= match.start() else before
        before = fold(before[-NEAR:] + "|")[:-1]
        after = sentence[match.end() : match.end() + NEAR]
        letter = len(form) == 1
        lower = letter and form.isalpha() and not match[0].isupper()
        if lower and not (re.fullmatch(r"\W*", before) and re.match(r"\) ", after)):
            return None  # "c) insulin" chooses, "a drug" does not
        if (form == "no" or (letter and form in "ai")) and _GOES_ON.match(after):
            return None
        after = fold("|" + after)[1:]
        if _LEFT_OPEN.search(before) or (re.search(r"\b(?:a|an|the) $", before) and not _ENDS.match(after)):
            return None
        leads = match.start() < NEAR and _OPENER.fullmatch(before) is not None
        whole = leads and not re.search(r"\w", after)
        doubted = bool(_DOUBTED.search(before) or (_DOUBT_AFTER.match(after) and not letter))
        negated = not doubted and bool(_NEGATED.search(before) or _NOT_THOUGHT.search(before))
        negated = negated or (letter and _REJECTED.match(after) is not None)
        if _OF_STATEMENT.search(before):
            rank = 4
        elif " " in form or _OF_IT.search(before):
            rank = 3
        elif (
            negated
            or doubted
            or _PREDICATE.search(before)
            or _CHOSEN.search(before)
            or letter
            and (_APPROVED.match(after) or _INSTEAD.search(before) or (before.endswith("(") and after.startswith(")")))
        ):
            rank = 2
        else:
            rank = 1 if (leads or re.fullmatch(rf"\W*{_HALF}\W*", before)) and _ENDS.match(after) else 0
        if not (rank or whole):
            return None
        return Mention(self.opposite(label) if negated else label, rank, doubted, whole, form == fold(label))


@lru_cache(maxsize=64)
def forms_of(labels: tuple[str, ...], synonyms: tuple, alone: tuple = ()) -> Forms:
    """The spellings of a set of labels, compiled once."""
    return Forms(labels, synonyms, alone)
