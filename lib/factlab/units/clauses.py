"""One sentence taken apart at clause boundaries by rule; the layer under `rule_based.rule_units`.

The rules take the safe cases only: clauses joined by a semicolon or a comma and a conjunction, verb phrases that share a subject, non-restrictive
relative clauses, and "followed by". Each unit is a sentence made of the words of its own
sentence, plus a repeated subject; where a rule is not sure the sentence stays whole. Verbs are known from a word list.
"""

import re

from factlab.units.verbs import (
    ADVERB,
    AUX,
    BASE,
    BE,
    DO,
    FUNCTION,
    MODAL,
    NOUNS,
    PARTICIPLE,
    PAST,
    PLURAL,
    PLURALS,
    PRESENT,
    RELATIVE,
    SINGULAR,
    SUBORDINATE,
    VERBS,
)

# --- a sentence with its parts hidden ----------------------------------------------------------------------------


def _mask(sentence: str) -> str:
    """The sentence with brackets, quotes and numbers blotted out, character for character: no rule cuts there."""
    masked = list(sentence)
    for pattern in (r"\([^()]*\)", r"\[[^\[\]]*\]", r"\"[^\"]*\"", r"“[^”]*”", r"\d[\d,.:/–-]*\d"):
        for found in re.finditer(pattern, "".join(masked)):
            masked[found.start() : found.end()] = "0" * len(found[0])
    text = "".join(masked)
    # What is between two things stays with both of them.
    for found in re.finditer(r"\b(?:between|both|either|neither|from)\b[^,;]*?\b(and|or|nor|to)\b", text, re.I):
        start, end = found.span(1)
        text = text[:start] + "&" * (end - start) + text[end:]
    return text


def words_of(text: str) -> list[tuple[str, int, int]]:
    return [(m[0].casefold(), m.start(), m.end()) for m in re.finditer(r"[^\W_]+(?:[-'’][^\W_]+)*", text)]


def finite(text: str) -> tuple[int, int, str] | None:
    """The first finite verb: (start, end, kind), kind one of aux, present, plural, past; None if none is known.

    An auxiliary is preferred to a form in -s, and that to one in -ed, which may be a participle ("patients treated
    with X are …"). Words behind a relative pronoun are not looked at.
    """
    words = words_of(text)
    stop = next((i for i, (w, _, _) in enumerate(words) if w in RELATIVE and i > 0), len(words))
    kinds = (
        ("aux", AUX),
        ("present", PRESENT - NOUNS),
        ("plural", BASE),
        ("past", PAST),
        ("present", NOUNS & PRESENT),
    )
    for kind, forms in kinds:
        for i, (word, start, end) in enumerate(words[:stop]):
            if word not in forms or i == 0:
                continue
            previous = words[i - 1][0]
            if kind != "aux" and (previous in FUNCTION or (kind == "past" and previous in AUX)):
                continue
            if (
                kind == "plural"
                and not is_plural(previous)
                and not (previous.endswith("ly") and i > 1 and is_plural(words[i - 2][0]))
            ):
                continue
            if (
                kind == "present"
                and i + 1 < len(words)
                and words[i + 1][0] in ("of", "and", "or", "is", "are", "was", "were")
            ):
                continue
            return start, end, kind
    return None


def is_plural(noun: str) -> bool:
    """By the ending; of names such as pancreas, virus and sepsis only the certain ones."""
    return (noun.endswith("s") and not re.search(r"(?:ss|us|is|as|os)$", noun)) or noun in PLURALS or noun.endswith("i")


def is_clause(text: str) -> bool:
    """Whether a text can stand alone: a subject, then a finite verb that something follows."""
    text = text.strip(" ,;")
    words = words_of(text)
    if len(words) < 3 or (SUBORDINATE.match(text) and not re.match(r"(?:both|either|neither)\b", text, re.I)):
        return False
    if words[0][0] in RELATIVE | AUX or words[0][0] in (
        "of",
        "in",
        "with",
        "to",
        "by",
        "for",
        "and",
        "or",
        "not",
        "including",
    ):
        return False
    verb = finite(text)
    return verb is not None and text[: verb[0]].strip() != "" and len(text[verb[1] :].split()) >= 1


def asserts(text: str) -> bool:
    """Whether a text has a finite verb, also one that is spelled like a noun (`the bones repair themselves`)."""
    verb = finite(text)
    words = [w for w, _, _ in words_of(text)]
    pairs = zip(words, words[1:], strict=False)
    return (verb is not None and verb[2] != "past") or any(is_plural(a) and b in VERBS for a, b in pairs)


def as_sentence(text: str) -> str:
    """A clause as a sentence: capital in front, full stop behind."""
    text = re.sub(r"\s+", " ", text).strip(" ,;:")
    text = re.sub(r"^(?:and|but|or|so|yet|while|whereas|although|though)\s+(?!\w+ly\b,)", "", text)
    first = re.match(r"[^\W_]+(?:-[^\W_]+)*", text)
    if (
        first
        and first[0].islower()
        and first[0].replace("-", "").isalpha()
        and len(first[0]) > 1
        or re.match(r"a ", text)
    ):
        text = text[0].upper() + text[1:]
    return text if re.search(r"[.!?…][\"')\]”’]*$", text) else text + "."


# --- rules; each takes a sentence without its full stop and gives its parts, or None --------------------------------


def _cut(text: str, pattern: str, flags: int = re.I) -> list[tuple[str, str]]:
    masked = _mask(text)
    return [(text[: m.start()], text[m.end() :]) for m in re.finditer(pattern, masked, flags)]


def _semicolon(text: str) -> list[str] | None:
    masked = _mask(text)
    cuts = [m.start() for m in re.finditer(";", masked)]
    if not cuts:
        return None
    bounds = [-1, *cuts, len(text)]
    parts = [
        re.sub(
            r"^\s*(?:however|therefore|thus|moreover|furthermore|in addition|additionally|and|consequently),?\s+",
            "",
            text[a + 1 : b],
            flags=re.I,
        ).strip()
        for a, b in zip(bounds, bounds[1:], strict=False)
    ]
    return parts if all(is_clause(p) for p in parts) else None


def _conjoined(text: str) -> list[str] | None:
    """`X does A, and Y does B`; a subject and a verb stand on both sides."""
    for left, right in _cut(text, r",\s+(?:and|but|while|whereas|yet|although|though|so)\s+(?=\S)"):
        right = re.sub(r"^(?:therefore|thus|consequently|hence|then|also),?\s+", "", right)
        if (
            ":" not in _mask(left)
            and is_clause(left)
            and _ended(left)
            and _own_subject(right)
            and not SUBORDINATE.match(left.strip())
        ):
            return [left, right]
    for left, right in _cut(text, r"\s+(?:and|but)\s+(?=(?:it|they|this|these|he|she)\s)"):
        verb = finite(right)
        if (
            is_clause(left)
            and is_clause(right)
            and verb
            and len(right[: verb[0]].split()) <= 3
            and not SUBORDINATE.match(left)
        ):
            return [left, right]
    return None


def _ended(left: str) -> bool:
    """Whether a clause that goes on with `that …` has come to a verb after it ("we found that A, and B …")."""
    _, that, content = left.rpartition(" that ")
    return not that or finite(f"x {content}") is not None


def _own_subject(right: str) -> bool:
    """Whether what follows a comma and a conjunction is a clause with a subject before its verb, no list item."""
    if (
        not is_clause(right)
        or re.match(r"\w+ly \w+ed\b", right)
        or re.match(rf"{ADVERB}*(?:{'|'.join(AUX)})\b", right, re.I)
    ):
        return False
    verb = finite(right)
    subject = right[: verb[0]]
    # "…, A, and B compared with C": a participle behind a list, no verb.
    if verb[2] == "past" and re.match(r"\s*(?:with|to|by)\b", right[verb[1] :]):
        return False
    # "A, B, and C are …": what looks like the subject of the second clause is the end of a list.
    return (
        "," not in _mask(subject) and len(subject.split()) <= 14 and not re.search(r"\b(?:to|by|and|or)\s*$", subject)
    )


def _concession(text: str) -> list[str] | None:
    """`Although X, Y`: both are asserted."""
    found = re.match(r"(?:although|though|while|whereas)\s+", text, re.I)
    if not found:
        return None
    for left, right in _cut(text, r",\s+"):
        left = left[found.end() :]
        if re.match(r"\w+ing\b", right):
            continue
        if is_clause(left) and is_clause(right):
            return [left, right]
    return None


def _followed_by(text: str) -> list[str] | None:
    """`The most common sites are A and B, followed by C`: the subject is repeated (the paper's Figure 4)."""
    for left, right in _cut(text, r",\s+followed by\s+"):
        verb = finite(left)
        if not verb or left[verb[0] : verb[1]].casefold() not in BE or _has_relative(left[: verb[0]]):
            return None
        said = [w for w, _, _ in words_of(left[verb[1] :])]
        if len(said) > 2 and any(w in PARTICIPLE or w.endswith("ed") for w in said[:3]):
            return None  # "are associated with A, followed by B": it is A that B comes after
        return [left, f"{left[: verb[1]]} followed by {right}"]
    return None


# "…, which suggests that": what these are said of is the whole clause, or may be.
_OF_THE_CLAUSE = frozenset(
    [
        "means",
        "suggests",
        "indicates",
        "makes",
        "allows",
        "leads",
        "results",
        "explains",
        "causes",
        "helps",
        "can",
        "may",
        "could",
        "reduces",
        "increases",
        "improves",
    ]
)


def _relative(text: str) -> list[str] | None:
    """`X, which is A, does B` and `… B, which is A`: the clause becomes a sentence about what it stands behind."""
    masked = _mask(text)
    for found in re.finditer(rf",\s+(?:which|who)\s+(?={ADVERB}*(?:{'|'.join(AUX)}|\w+s)\b)", masked):
        before, after = text[: found.start()], text[found.end() :]
        verb = re.match(rf"{ADVERB}*(\w+)", after)
        form = verb[1].casefold()
        if form not in AUX | PRESENT or form in _OF_THE_CLAUSE:
            continue
        if not finite(before) and not _has_relative(before):
            end = re.search(r",\s+", _mask(after))
            if not end or not _simple_subject(before):
                continue
            clause, rest = after[: end.start()], after[end.end() :]
            main = f"{before} {rest}"
            goes_on = any(w in AUX | PRESENT | PAST for w, _, _ in words_of(rest)[:2])
            if goes_on and is_clause(main) and agrees(before, form):
                return [f"{before} {clause}", main]
            continue
        noun = _last_noun_phrase(before)
        if noun and agrees(noun, form) and not re.search(r",\s", _mask(after)) and is_clause(before):
            return [before, f"{noun} {after}"]
    return None


def _simple_subject(text: str) -> bool:
    return (
        len(text.split()) <= 8
        and "," not in text
        and not SUBORDINATE.match(text)
        and not re.match(r"(?:in|on|at|for|with|by|to|from|during|among|of)\b", text, re.I)
    )


def _last_noun_phrase(text: str) -> str | None:
    """The noun phrase at the end of a clause, if it begins with an article and nothing is attached to it."""
    found = re.search(r"(?:^|\s)(?:(\w+)\s+)?((?:an?|the)\s+(?:[\w-]+\s+){0,3}[\w-]+(?:\s+\([^()]*\))?)$", text, re.I)
    if not found or (found[1] or "").casefold() not in AUX | PRESENT | PAST | {"by", "as", "into", "called", "be"}:
        return None
    inside = [w for w, _, _ in words_of(found[2])][1:]
    if any(w in FUNCTION | AUX | PARTICIPLE | PRESENT | BASE for w in inside):
        return None
    return re.sub(r"^an?\s", lambda m: m[0].capitalize(), found[2])


def agrees(noun: str, verb: str) -> bool:
    """Whether number fits; where the verb does not show it, or a name ends oddly, only clear cases pass."""
    words = words_of(re.sub(r"\([^()]*\)", "", noun))
    if not words:
        return False
    head = next((words[i - 1][0] for i, (w, _, _) in enumerate(words) if w in ("of", "in", "with") and i), words[-1][0])
    joined = any(w == "and" for w, _, _ in words)
    plural = joined or is_plural(head)
    if verb in SINGULAR or verb in PRESENT:
        return not plural
    return plural if verb in PLURAL else True


# What may follow a verb in -s that is not a noun there, and a participle that goes on with "was".
_NOT_AFTER_VERB = frozenset(["of", "and", "or", ""])
_AFTER_NOUN_LIKE = frozenset(["a", "an", "the", "to", "with", "no"])
_AFTER_PARTICIPLE = frozenset(["by", "with", "to", "from", "in", "as", "into", "for", "on", "at", "through", "using"])
_NOUN_LIKE = frozenset(
    [
        "causes",
        "plays",
        "helps",
        "leads",
        "makes",
        "takes",
        "increases",
        "decreases",
        "controls",
        "supports",
        "presents",
        "results",
    ]
)


def _verb_phrases(text: str) -> list[str] | None:
    """`X does A and does B`: one subject, two verb phrases; the auxiliary is repeated where it is shared."""
    if SUBORDINATE.match(text):
        return None
    # The verb that stands before the first conjunction, if any ("included 100 patients and was held in Spain").
    conjunction = re.search(r"\b(?:and|but)\b", _mask(text), re.I)
    verb = (conjunction and finite(text[: conjunction.start()])) or finite(text)
    if not verb:
        return None
    start, end, kind = verb
    subject = text[:start]
    own = re.sub(r"^(?:in|among|during|at|on|for|after|before|with) [^,]+,", "", subject, flags=re.I)
    if not own.strip() or "," in _mask(own) or _has_relative(own):
        return None
    series = _series(text[end:], kind)
    # "drugs significantly improved A and did not …": the adverb is the first verb's own.
    adverb = re.search(r"\s\w+ly\s*$", own)
    subject = subject[: len(subject) - len(adverb[0])] + " " if adverb and len(own.split()) > 2 else subject
    if series:
        return [f"{text[:end]}{series[0]}", *(f"{subject}{piece}" for piece in series[1:])]
    for left, right in _cut(text[end:], rf"(?:,\s+|\s+)(?:and|but)\s+(?=(?:{ADVERB}|not )*\w)"):
        prefix = _shared(text[start:end].casefold(), kind, left, right) if left.strip() else None
        if prefix is not None:
            return [f"{text[:end]}{left}", f"{subject}{prefix}{right}"]
    return None


def _series(rest: str, kind: str) -> list[str] | None:
    """`A, does B, and does C` behind a first verb, where every piece begins with a verb of the same kind."""
    verbs = {"present": PRESENT - NOUNS, "plural": BASE}.get(kind, frozenset())
    pieces = re.split(r",\s+(?:and\s+)?", rest)
    if len(pieces) < 3 or len(pieces) != len(re.split(r",\s+(?:and\s+)?", _mask(rest))):
        return None
    heads = [(words_of(piece) or [("", 0, 0)])[0][0] for piece in pieces[1:]]
    return pieces if all(head in verbs for head in heads) else None


def _shared(first: str, kind: str, left: str, right: str) -> str | None:
    """What a second verb phrase needs between the subject and itself: nothing, or the first's auxiliary; None: no verb.

    `first` is the first finite verb, of this kind; `left` is what stands between it and the conjunction.
    """
    lead = re.match(rf"(?:{ADVERB}|not )*", right)[0]
    words = [w for w, _, _ in words_of(right[len(lead) :])[:2]] + ["", ""]
    word, following = words[0], words[1]
    if _has_relative(left) or (
        "," in _mask(left) and not (word in AUX and re.search(r"\b(?:and|or)\b[^,]*$", _mask(left)))
    ):
        return None  # "is A, B and does C": the commas may belong to the same list as the "and"
    if word in AUX:
        if word in MODAL | DO and not following:
            return None
        same_number = {first, word} <= SINGULAR or {first, word} <= PLURAL or (kind == "present" and word in SINGULAR)
        return "" if same_number or kind == "past" or word in MODAL or first in MODAL or word == "had" else None
    if word in PRESENT and following not in _NOT_AFTER_VERB:
        if kind == "present" and following not in AUX | {"in"}:
            return ""
        if first in SINGULAR - {"was"} and (
            word not in NOUNS or (word in _NOUN_LIKE and following in _AFTER_NOUN_LIKE)
        ):
            return ""
        return None
    if word in BASE and following not in _NOT_AFTER_VERB:
        if kind == "plural":
            return ""
        if first in MODAL and (word != "lead" or following == "to") and "not" not in lead and not _infinitive(left):
            return f"{first} "
        return None
    if (
        first in BE
        and word.endswith(("ed", "en", "own", "ound", "ade", "ept", "ent"))
        and following in _AFTER_PARTICIPLE
    ):
        main = [w for w, _, _ in words_of(re.sub(rf"^\s*(?:{ADVERB}|not )*", "", left))[:1]]
        if main and main[0] in PARTICIPLE and not _other_participle(left, main[0]):
            return f"{first} "
    if (
        kind == "past"
        and word in PAST
        and following not in _NOT_AFTER_VERB | {"by"}
        and not _other_participle(left, "")
    ):
        return "" if not finite(f"x {right[len(lead) + len(word) :]}") else None
    return None


def _has_relative(text: str) -> bool:
    return any(w in RELATIVE for w, _, _ in words_of(text))


def _infinitive(left: str) -> bool:
    """Whether "and" may go on with an infinitive ("can be trained to perform X and detect Y")."""
    return re.search(r"\bto (?!(?:the|an?|its|their|this|these)\b)[a-z]+", left) is not None


def _other_participle(left: str, main: str) -> bool:
    """Whether a participle besides the main one is near enough for "and" to continue it instead."""
    return any(w in PARTICIPLE and w != main for w, _, _ in words_of(left))


_RULES = (_semicolon, _concession, _conjoined, _followed_by, _relative, _verb_phrases)


def parts_of(text: str, depth: int = 0) -> list[str]:
    if depth > 6 or len(text) > 2000:
        return [text]
    for rule in _RULES:
        parts = rule(text)
        if parts:
            return [piece for part in parts for piece in parts_of(part.strip(" ,;"), depth + 1)]
    return [text]
