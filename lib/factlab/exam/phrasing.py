"""What is wrong with the words of an item: phrasing, labels, contradictions, trivia (MS-Exam-Gen, section III.C).

The paper names these kinds of flags without their rules; the rules are ours. Each looks at one item and says what it found.
A flag is a reason to look, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from factlab.exam.items import Item
from factlab.text import fold

ABSOLUTES = re.compile(
    r"\b(?:always|never|all|none|every|only|must|cannot|no|any|entirely|completely|exclusively|solely|invariably"
    r"|absolutely|without exception|regardless|impossible|guarantees?|certainly|definitely|universally|alone)\b"
)
Found = Iterator[tuple[str, str]]  # flag, detail

_SOURCE = (
    r"(?:passage|text|excerpt|article|paper|document|snippet|context(?! of\b)|source|chunk|abstract|manuscript|author|study"
    r"|evidence|material|paragraph|section|table|figure|review)s?"
)
_GIVEN = r"(?:above|given|provided|cited|retrieved|preceding)"
_REFERS = re.compile(
    r"\b(?:according to|based on|as (?:described|stated|mentioned|noted|outlined|defined|reported|summari[sz]ed) (?:in|by)"
    rf"|from|in|per) (?:the|this|these|that) (?:{_GIVEN} |following )?{_SOURCE}\b"
    rf"|\bthe {_GIVEN} {_SOURCE}\b"
    rf"|\bthe {_SOURCE} (?:above|below|provided|given|states?|says?|describes?|mentions?|reports?|notes?)\b"
    r"|\b(?:mentioned|described|stated|listed|shown) (?:above|below)\b",
    re.IGNORECASE,
)
_ALL_NONE = re.compile(
    r"^\W*(?:all|none|any|neither|both|each)(?: of)? (?:the |these )?(?:above|options?|choices?|answers?|preceding|other options)"
    r"\b|^\W*(?:all|none) of (?:these|them)\W*$",
    re.IGNORECASE,
)
_COMBINED = re.compile(
    r"^\W*(?i:both |either |only )?\(?[A-D]\)?(?:, \(?[A-D]\)?)*,? (?:and|or|&) \(?[A-D]\)?(?i: only)?\W*$"
)
_NEGATIVE = re.compile(
    r"\b(?:NOT|EXCEPT|LEAST|NEVER)\b|\bexcept:?\W*$"
    r"|\b(?i:which|what|who|when|where)\b[^.?]*\b(?:is|are|does|do|would|should|can|could) not\b[^.?]*\?"
)
_UNFINISHED = re.compile(r"(?:[?:…]|\.\.\.|_{2,})[\"')\]]*\s*$")
_ARTICLE = re.compile(r"\b(an?)\s*(?:_{2,}|:|…|\.\.\.)?\s*$", re.IGNORECASE)

_OWN_LETTER = re.compile(r"^\s*(?:\(?[A-Da-d]\)|[A-D][.:])\s+\S")
_LEVEL = re.compile(
    r"^\W*(?:very hard|hard|medium|easy|synthesis)\b\s*[:\])-]|[(\[]\s*(?:very hard|hard|medium|easy|synthesis|difficulty)\b[^)\]]*[)\]]"
    r"|\bdifficulty\s*:",
    re.IGNORECASE,
)
_NAMES_LETTER = re.compile(r"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Dd]istractor)s? \(?([A-D])\b\)?|\(([A-D])\)")
_RIGHT_LETTER = re.compile(
    r"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer) \(?([A-D])\)? (?:is|was) (?:therefore |thus |clearly )?(?:the )?(?:single )?"
    r"(?:correct|right|best)\b"
    r"|\b(?:[Cc]orrect|[Rr]ight|[Bb]est) (?:answer|option|choice|key) (?:is|:)(?: option)? ?\(?([A-D])\b\)?(?! \w)"
    r"|\b[Tt]he (?:answer|key) is(?: option)? \(?([A-D])\b\)?(?! \w)",
)
_TRIVIA = re.compile(
    r"\b(?:in (?:what|which) year|what year|which year|when) (?:was|were|did|is) (?:the |this |these )?(?:[\w-]+ ){0,6}?"
    r"(?:publish|releas|issu|appear|writ|founded|established|convene|conven|meeting|updated)\w*"
    r"|\b(?:who|which (?:author|researcher|group|society|journal|institution|university|publisher)s?) (?:was |were |has |have )?"
    r"(?:first |originally )?(?:wrote|author\w*|publish\w*|led|chaired|funded|sponsored|edited|coined)\b"
    r"|\bwho (?:was|is|were|are) the (?:first |lead |corresponding |senior )?(?:author|editor|chair|investigator)s?\b"
    r"|\b(?:in|by|of) which journal\b|\bwhich journal\b|\b(?:DOI|PMID|PMCID|ISSN|ISBN)\b"
    r"|\bhow many (?:authors|references|citations|pages|figures|tables|sections|centres|centers|sites|panel members|experts)\b"
    r"|\bhow many (?:\w+ )?(?:patients|participants|subjects|people|individuals) (?:were|was|did|took)\b"
    r"|\b(?:which|what) (?:page|table|figure|chapter|grant|appendix)(?: number)?\b",
    re.IGNORECASE,
)


def phrasing(item: Item) -> Found:
    """Wording that a sound item avoids."""
    if found := _REFERS.search(item.question):
        yield "refers_to_source", f"the stem says {found[0]!r}, which an examinee does not see"
    if found := _named(item, _ALL_NONE):
        yield "all_or_none", f"{found}: an option about the other options"
    if found := _named(item, _COMBINED):
        yield "combined_option", f"{found}: an option made of other options"
    if found := _NEGATIVE.search(item.question):
        yield "negative_stem", f"the stem asks for what does not hold: {found[0][:30]!r}"
    if item.question.strip() and not _UNFINISHED.search(item.question) and not _ARTICLE.search(item.question):
        yield "not_a_question", "the stem ends in neither a question mark, a colon nor a gap"
    if (found := _ARTICLE.search(item.question)) and item.key_number >= 0:
        fits = [_begins_with_vowel(option) == (found[1].casefold() == "an") for option in item.options]
        if len(set(fits)) > 1:
            yield "article_cue", f"only {sum(fits)} of {len(fits)} options fit the {found[1]!r} that the stem ends in"
    stem = fold(item.question)
    if item.key_number >= 0 and _holds(stem, item.options[item.key_number]):
        others = [option for option in item.distractors if _holds(stem, option)]
        if not others:
            yield "key_in_stem", "the stem holds the words of the key and of no other option"
    absolute = [ABSOLUTES.search(fold(option)) is not None for option in item.distractors]
    if (
        item.key_number >= 0
        and absolute
        and all(absolute)
        and not ABSOLUTES.search(fold(item.options[item.key_number]))
    ):
        yield "absolute_cue", "every distractor says always, never, only or the like, and the key does not"
    if item.key_number >= 0 and (shared := _stem_words(item)):
        yield "stem_words_cue", f"the key repeats {', '.join(shared)}"


def _stem_words(item: Item) -> list[str]:
    """The words of the stem in the key, where they are three and more and half of its words, but hardly any of a distractor's."""
    stem = set(_long_words(item.question))
    key = _long_words(item.options[item.key_number])
    shared = [word for word in key if word in stem]
    others = [_long_words(option) for option in item.distractors]
    common = [sum(word in stem for word in words) / max(1, len(words)) for words in others]
    return shared if len(shared) >= 3 and 2 * len(shared) >= len(key) and max(common, default=0) <= 0.25 else []


def _long_words(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"[^\W\d_]{4,}", fold(text))))


def labels(item: Item, known: Sequence[str]) -> Found:
    """Labels that are wrong, or that give themselves away."""
    if item.label and item.label not in known:
        yield "unknown_label", f"{item.label!r} is not one of {', '.join(known)}"
    if found := _named(item, _OWN_LETTER):
        yield "letter_in_option", f"{found}: a letter of its own, which shuffling makes wrong"
    if found := _LEVEL.search(item.question):
        yield "label_in_stem", f"the stem shows its label: {found[0][:30]!r}"
    if item.label == "synthesis" and item.evidence and len(item.sources) < 2:
        yield "single_source", f"a synthesis item with evidence from {len(item.sources)} named source"
    named = _letters(_NAMES_LETTER, item.explanation) | _letters(_RIGHT_LETTER, item.explanation)
    if named:
        yield (
            "explanation_names_letter",
            f"the explanation speaks of {', '.join(sorted(named))}; shuffling makes that wrong",
        )


def contradiction(item: Item) -> Found:
    """An explanation that gives another answer than the key."""
    if item.key_number < 0:
        return
    right = _letters(_RIGHT_LETTER, item.explanation)
    if right - {item.key}:
        yield "explanation_other_letter", f"the explanation gives {', '.join(sorted(right))}, the key is {item.key}"
    said = fold(item.explanation)
    for letter, option in zip(item.letters, item.options, strict=True):
        text = fold(option).rstrip(" .")
        if letter == item.key or not text or text not in said:
            continue
        if re.search(rf"\b(?:answer|option|choice) is:? (?:the )?[\"']?{re.escape(text)}(?!\w)", said):
            yield "explanation_other_option", f"the explanation gives the words of {letter}, the key is {item.key}"
            return


def trivia(item: Item) -> Found:
    """Questions about publications, not about their subject."""
    if found := _TRIVIA.search(item.question):
        yield "trivia", f"the stem asks {found[0]!r}"


def _letters(pattern: re.Pattern, text: str) -> set[str]:
    return {letter for found in pattern.finditer(text) for letter in found.groups() if letter}


def _named(item: Item, pattern: re.Pattern) -> str:
    return ", ".join(a for a, text in zip(item.letters, item.options, strict=True) if pattern.search(text))


def _holds(folded_stem: str, option: str) -> bool:
    words = fold(option).strip(" .")
    if len(words) < 4 or words not in folded_stem:
        return False
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", folded_stem) is not None


def _begins_with_vowel(option: str) -> bool:
    word = re.search(r"\w+", option)
    if word is None:
        return False
    first = word[0]
    if len(first) > 1 and first.isupper() or re.search(r"\d", first):
        return first[0] in "AEFHILMNORSX8"  # MRI, FLAIR and 8 are spoken with a vowel first
    sounded = first.casefold()
    if re.match(r"uni(?!n|m)|use|usu|eu|one\b|once", sounded):
        return False
    return sounded[0] in "aeiou" or sounded.startswith(("hour", "honest"))
