"""Atomic units without a model: sentences taken apart at clause boundaries by rule.

DAHL, section 3.3, Step 1 (Figure 4, section 5.3) does this with a language model. The rules here take the safe cases
only: clauses joined by a semicolon or a comma and a conjunction, verb phrases that share a subject, non-restrictive
relative clauses, "followed by", and list items under a heading. Each unit is a sentence made of the words of its own
sentence, plus a repeated subject; where a rule is not sure the sentence stays whole. Verbs are known from a word list.
"""

import re

from factlab.refusals import is_filler
from factlab.text import sentences

# --- words -------------------------------------------------------------------------------------------------------

_BE = frozenset("is are was were".split())
_HAVE = frozenset("has have had".split())
_MODAL = frozenset("can could may might must should will would".split())
_DO = frozenset("does do did".split())
_AUX = _BE | _HAVE | _MODAL | _DO
_SINGULAR, _PLURAL = frozenset("is was has does".split()), frozenset("are were have do".split())

# Verbs whose -s form is hardly ever a noun; the form after `e` and `y` is made below.
_VERBS = """accelerate accept accompany accumulate achieve acquire act activate adapt add adhere administer affect aggravate
allow alter amplify appear apply arise assess assist assume attach attack attract avoid become begin belong bind block boost
break bring build carry catalyse catalyze characterise characterize choose circulate cleave colonise colonize combine come
comprise compress confer confirm connect consist constitute constrict consume contain continue contribute control convert
coordinate correlate correspond counteract cover create decline decrease define degrade deliver demonstrate depend deplete
derive describe destroy detect deteriorate determine develop diagnose differ differentiate diffuse digest dilate diminish disappear
disrupt distinguish divide drain drive elevate elicit eliminate emerge enable encode encompass enhance enlarge ensure enter
establish evaluate evolve excrete exceed exert exhibit exist expand explain express extend facilitate fail fill filter find
fluctuate follow form fuse gain generate get give govern grow guide happen help hydrolyse hydrolyze identify impair improve include
incorporate increase indicate induce infect inflame inhibit initiate innervate integrate interact interfere invade
involve irritate keep lack lead leave lie limit link live lose lower maintain make manifest mature mediate metabolise metabolize
migrate mimic minimise minimize modify modulate move multiply mutate need neutralise neutralize observe obtain occlude occur
offer originate oxidise oxidize pass penetrate perform persist play possess precede predict predispose present preserve prevent
proceed produce progress proliferate promote protect prove provide quantify raise range reach react receive recognise recognize recommend recover
recruit reduce reflect regenerate regulate relate relax release relieve relieve remain remove repair replace replicate represent require
resemble resolve respond restore restrict result retain reveal rise rupture secrete seem send separate serve show shrink slow
soften spread stabilise stabilize stem stimulate store strengthen suffer suggest supply support suppress surround survive
sustain swell synthesise synthesize take target tend tolerate transcribe transfer transform translate transmit transport travel
treat trigger undergo use utilise utilize vary visit weaken widen worsen yield measure cause affect examine investigate report recommend
compare analyse analyze conclude exclude inform teach learn visualise visualize inactivate phosphorylate methylate
inherit absorb eat drink breathe bleed heal cure vaccinate immunise immunize screen monitor dissolve evaporate emit
harbour harbor house pump beat contract propel push pull hold open close account aim arrive ask attempt
await bear blunt calm cease clear approve isolate review infer detach dissolve""".split()
# Forms in -s that are as often nouns; as verbs only where no other verb is near and a noun phrase follows.
_NOUNS = frozenset(
    """acts attacks attempts blocks boosts breaks causes changes clears closes contracts controls covers decreases declines
    differs drains drinks drives elevates extends filters finds focuses forms functions gains guides harbours harbors helps holds houses
    increases leads leaves lies limits links lives makes measures needs offers opens passes plays presents progresses pumps
    pushes pulls raises ranges reports results rises ruptures screens separates shows spreads stems stores supplies supports
    targets takes transfers transports travels treats triggers uses visits yields releases affects repairs aims asks
    beats bears works exercises produces accounts slows estimates""".split()
)
_IRREGULAR = {
    "became": "become", "began": "begin", "bound": "bind", "brought": "bring", "built": "build", "came": "come",
    "chose": "choose", "drove": "drive", "fell": "fall", "found": "find", "gave": "give", "got": "get", "grew": "grow",
    "held": "hold", "kept": "keep", "led": "lead", "left": "leave", "lost": "lose", "made": "make", "rose": "rise",
    "sent": "send", "spread": "spread", "took": "take", "underwent": "undergo", "arose": "arise", "ate": "eat", "bled": "bleed",
}  # fmt: skip
_PARTICIPLES = frozenset(
    """bound brought built chosen driven found given grown held kept known led left lost made sent seen shown spread taken
    undergone broken begun written drawn done understood thought put cut set read worn torn""".split()
)
# Base forms that are nouns or adjectives as well, besides those in _NOUNS.
_NOT_BASE = frozenset(
    """bear blunt calm clear close cure exhibit fuse lower mature mimic monitor need open pass present separate slow spread
    cover experience process leave live lead beat work""".split()
)


def _third(verb: str) -> str:
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb) else "s")


def _past(verb: str) -> str:
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


_PRESENT = frozenset(map(_third, _VERBS))
_PAST = frozenset(map(_past, _VERBS)) | frozenset("occurred transferred controlled bled transmitted admitted referred inferred submitted omitted permitted".split()) | set(_IRREGULAR)
_PARTICIPLE = frozenset(map(_past, _VERBS)) | _PARTICIPLES | frozenset("referred transferred controlled".split())
_ADVERB = r"(?:(?:also|often|then|usually|typically|commonly|generally|frequently|sometimes|thus|thereby|therefore|subsequently|further|eventually|even|still|always|never|rarely|can't|\w{3,}ly) )"
_RELATIVE = frozenset("that which who whom whose where when whereby while because although if unless until since as than whether how why what".split())
_SUBORDINATE = re.compile(r"(?:if|when|whenever|because|since|as|while|after|before|once|unless|until|whereas|although|though|even|provided|given|whether|not only|both|either|neither)\b", re.I)
_PLURALS = frozenset("they we these those bacteria children people women men data nuclei criteria atria mitochondria alveoli fungi villi vertebrae ova".split())
_PRONOUN = re.compile(r"(?:it|they|he|she|this|these|those|we|there|its|their|his|her)\b", re.I)


# After "can … and", and after a plural, these are verbs for sure.
_BASE = frozenset(v for v in _VERBS if _third(v) not in _NOUNS) - _NOT_BASE | {"lead", "reduce"}


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


def _words(text: str) -> list[tuple[str, int, int]]:
    return [(m[0].casefold(), m.start(), m.end()) for m in re.finditer(r"[^\W_]+(?:[-'’][^\W_]+)*", text)]


def _finite(text: str) -> tuple[int, int, str] | None:
    """The first finite verb: (start, end, kind), kind one of aux, present, plural, past; None if none is known.

    An auxiliary is preferred to a form in -s, and that to one in -ed, which may be a participle ("patients treated with X
    are …"). Words behind a relative pronoun are not looked at.
    """
    words = _words(text)
    stop = next((i for i, (w, _, _) in enumerate(words) if w in _RELATIVE and i > 0), len(words))
    kinds = (("aux", _AUX), ("present", _PRESENT - _NOUNS), ("plural", _BASE), ("past", _PAST), ("present", _NOUNS & _PRESENT))
    for kind, forms in kinds:
        for i, (word, start, end) in enumerate(words[:stop]):
            if word not in forms or (i == 0 and kind != "aux") or i == 0:
                continue
            previous = words[i - 1][0]
            if kind != "aux" and (previous in _FUNCTION or (kind == "past" and previous in _AUX)):
                continue
            if kind == "plural" and not _is_plural(previous) and not (previous.endswith("ly") and i > 1 and _is_plural(words[i - 2][0])):
                continue
            if kind == "present" and i + 1 < len(words) and words[i + 1][0] in ("of", "and", "or", "is", "are", "was", "were"):
                continue
            return start, end, kind
    return None


_FUNCTION = frozenset(
    "a an the of in on for to with by from and or its their this these those such no any at as into between during other".split()
)


def _is_plural(noun: str) -> bool:
    """By the ending; of names such as pancreas, virus and sepsis only the certain ones."""
    return (noun.endswith("s") and not re.search(r"(?:ss|us|is|as|os)$", noun)) or noun in _PLURALS


def _is_clause(text: str) -> bool:
    """Whether a text can stand alone: a subject, then a finite verb that something follows."""
    text = text.strip(" ,;")
    words = _words(text)
    if len(words) < 3 or (_SUBORDINATE.match(text) and not re.match(r"(?:both|either|neither)\b", text, re.I)):
        return False
    if words[0][0] in _RELATIVE | _AUX or words[0][0] in ("of", "in", "with", "to", "by", "for", "and", "or", "not", "including"):
        return False
    verb = _finite(text)
    return verb is not None and text[: verb[0]].strip() != "" and len(text[verb[1] :].split()) >= 1


def _sentence(text: str) -> str:
    """A clause as a sentence: capital in front, full stop behind."""
    text = re.sub(r"\s+", " ", text).strip(" ,;:")
    text = re.sub(r"^(?:and|but|or|so|yet|while|whereas|although|though)\s+(?!\w+ly\b,)", "", text)
    first = re.match(r"[^\W_]+(?:-[^\W_]+)*", text)
    if first and first[0].islower() and first[0].replace("-", "").isalpha() and len(first[0]) > 1 or re.match(r"a ", text):
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
    parts = [re.sub(r"^\s*(?:however|therefore|thus|moreover|furthermore|in addition|additionally|and|consequently),?\s+", "", text[a + 1 : b], flags=re.I).strip() for a, b in zip(bounds, bounds[1:], strict=False)]
    return parts if all(_is_clause(p) for p in parts) else None


def _conjoined(text: str) -> list[str] | None:
    """`X does A, and Y does B`; a subject and a verb stand on both sides."""
    for left, right in _cut(text, r",\s+(?:and|but|while|whereas|yet|although|though|so)\s+(?=\S)"):
        right = re.sub(r"^(?:therefore|thus|consequently|hence|then|also),?\s+", "", right)
        if _is_clause(left) and _ended(left) and _own_subject(right) and not _SUBORDINATE.match(left.strip()):
            return [left, right]
    for left, right in _cut(text, r"\s+(?:and|but)\s+(?=(?:it|they|this|these|he|she)\s)"):
        verb = _finite(right)
        if _is_clause(left) and _is_clause(right) and verb and len(right[: verb[0]].split()) <= 3 and not _SUBORDINATE.match(left):
            return [left, right]
    return None


def _ended(left: str) -> bool:
    """Whether a clause that goes on with `that …` has come to the verb of that part too ("we found that A, and B …")."""
    _, that, content = left.rpartition(" that ")
    return not that or _finite(f"x {content}") is not None


def _own_subject(right: str) -> bool:
    """Whether what follows a comma and a conjunction is a clause with a subject before its verb, no list item."""
    if not _is_clause(right) or re.match(r"\w+ly \w+ed\b", right) or re.match(rf"{_ADVERB}*(?:{'|'.join(_AUX)})\b", right, re.I):
        return False
    verb = _finite(right)
    subject = right[: verb[0]]
    # "…, A, and B compared with C": a participle behind a list, no verb.
    if verb[2] == "past" and re.match(r"\s*(?:with|to|by)\b", right[verb[1] :]):
        return False
    # "A, B, and C are …": what looks like the subject of the second clause is the end of a list.
    return "," not in _mask(subject) and len(subject.split()) <= 14 and not re.search(r"\b(?:to|by)\s*$", subject)


def _concession(text: str) -> list[str] | None:
    """`Although X, Y`: both are asserted."""
    found = re.match(r"(?:although|though|while|whereas)\s+", text, re.I)
    if not found:
        return None
    for left, right in _cut(text, r",\s+"):
        left = left[found.end() :]
        if re.match(r"\w+ing\b", right):
            continue
        if _is_clause(left) and _is_clause(right):
            return [left, right]
    return None


def _followed_by(text: str) -> list[str] | None:
    """`The most common sites are A and B, followed by C`: the subject is repeated (the paper's Figure 4)."""
    for left, right in _cut(text, r",\s+followed by\s+"):
        verb = _finite(left)
        if not verb or left[verb[0] : verb[1]].casefold() not in _BE or _RELATIVE & {w for w, _, _ in _words(left[: verb[0]])}:
            return None
        return [left, f"{left[: verb[1]]} followed by {right}"]
    return None


def _relative(text: str) -> list[str] | None:
    """`X, which is A, does B` and `… B, which is A`: the clause becomes a sentence about what it stands behind."""
    masked = _mask(text)
    for found in re.finditer(rf",\s+(?:which|who)\s+(?={_ADVERB}*(?:{'|'.join(_AUX)}|\w+s)\b)", masked):
        before, after = text[: found.start()], text[found.end() :]
        verb = re.match(rf"{_ADVERB}*(\w+)", after)
        form = verb[1].casefold()
        if form not in _AUX and form not in _PRESENT or form in ("means", "suggests", "indicates", "makes", "allows", "leads", "results", "explains", "causes", "helps", "can", "may", "could", "reduces", "increases", "improves"):
            continue
        if not _finite(before) and not _RELATIVE & {w for w, _, _ in _words(before)}:
            end = re.search(r",\s+", _mask(after))
            if not end or not _simple_subject(before):
                continue
            clause, rest = after[: end.start()], after[end.end() :]
            main = f"{before} {rest}"
            first = _words(rest)[:2]
            if first and any(w in _AUX | _PRESENT | _PAST for w, _, _ in first) and _is_clause(main) and _agrees(before, form):
                return [f"{before} {clause}", main]
            continue
        noun = _last_noun_phrase(before)
        if noun and _agrees(noun, form) and not re.search(r",\s", _mask(after)) and _is_clause(before):
            return [before, f"{noun} {after}"]
    return None


def _simple_subject(text: str) -> bool:
    return len(text.split()) <= 8 and "," not in text and not _SUBORDINATE.match(text) and not re.match(r"(?:in|on|at|for|with|by|to|from|during|among|of)\b", text, re.I)


def _last_noun_phrase(text: str) -> str | None:
    """The noun phrase at the end of a clause, if it begins with an article and nothing is attached to it."""
    found = re.search(r"(?:^|\s)(?:(\w+)\s+)?((?:an?|the)\s+(?:[\w-]+\s+){0,3}[\w-]+(?:\s+\([^()]*\))?)$", text, re.I)
    if not found or (found[1] or "").casefold() not in _AUX | _PRESENT | _PAST | {"by", "as", "into", "called", "be"}:
        return None
    inside = [w for w, _, _ in _words(found[2])][1:]
    if any(w in _FUNCTION | _AUX | _PARTICIPLE | _PRESENT | _BASE for w in inside):
        return None
    return re.sub(r"^an?\s", lambda m: m[0].capitalize(), found[2])


def _agrees(noun: str, verb: str) -> bool:
    """Whether number fits; where the verb does not show it, or a name ends oddly, only clear cases pass."""
    words = _words(re.sub(r"\([^()]*\)", "", noun))
    if not words:
        return False
    head = next((words[i - 1][0] for i, (w, _, _) in enumerate(words) if w in ("of", "in", "with") and i), words[-1][0])
    joined = any(w == "and" for w, _, _ in words)
    plural = joined or _is_plural(head)
    if verb in _SINGULAR or verb in _PRESENT:
        return not plural
    return plural if verb in _PLURAL else True


def _verb_phrases(text: str) -> list[str] | None:
    """`X does A and does B`: one subject, two verb phrases; the auxiliary is repeated where it is shared."""
    if _SUBORDINATE.match(text):
        return None
    # The verb of the first phrase, if it stands before the first conjunction ("included 100 patients and was held in Spain").
    conjunction = re.search(r"\b(?:and|but)\b", _mask(text), re.I)
    verb = (conjunction and _finite(text[: conjunction.start()])) or _finite(text)
    if not verb:
        return None
    start, end, kind = verb
    subject, first = text[:start], text[start:end].casefold()
    if _RELATIVE & {w for w, _, _ in _words(subject)} or not subject.strip() or "," in _mask(re.sub(r"^(?:in|among|during|at|on|for|after|before|with) [^,]+,", "", subject, flags=re.I)):
        return None
    adverb = re.match(rf"(?:{_ADVERB}|not )*", text[end:].lstrip())[0]
    participle = _words(text[end:].lstrip()[len(adverb) :])[:1]
    series = re.split(r",\s+(?:and\s+)?", _mask(text[end:]))
    heads = [(_words(piece) or [("", 0, 0)])[0][0] for piece in series[1:]]
    strict = {"present": _PRESENT - _NOUNS, "plural": _BASE}.get(kind, frozenset())
    if len(series) > 2 and all(h in strict for h in heads):
        pieces = re.split(r",\s+(?:and\s+)?", text[end:])
        if len(pieces) == len(series):
            return [f"{text[:end]}{pieces[0]}", *(f"{subject}{piece}" for piece in pieces[1:])]
    for left, right in _cut(text[end:], rf"(?:,\s+|\s+)(?:and|but)\s+(?=(?:{_ADVERB}|not )*\w)"):
        inner = _RELATIVE & {w for w, _, _ in _words(left)}
        lead = re.match(rf"(?:{_ADVERB}|not )*", right)[0]
        tail = _words(right[len(lead) :])
        if inner or not tail or len(left.split()) < 1:
            continue
        word, following = tail[0][0], tail[1][0] if len(tail) > 1 else ""
        if "," in _mask(left) and not (word in _AUX and re.search(r"\b(?:and|or)\b[^,]*$", _mask(left))):
            continue  # "is A, B and does C": the commas may belong to the same list as the "and"
        prefix = None
        if word in _AUX and word not in _DO | _MODAL or (word in _MODAL | _DO and following):
            same = {first, word} <= _SINGULAR or {first, word} <= _PLURAL or word in _MODAL or first in _MODAL or word == "had" or kind == "past" or (kind == "present" and word in _SINGULAR)
            prefix = subject if same else None
        elif kind == "present" and word in _PRESENT and following not in ("of", "and", "or", "", "in", "are", "is", "were", "was"):
            prefix = subject
        elif kind == "plural" and word in _BASE and following not in ("and", "or", ""):
            prefix = subject
        elif first in ("is", "has", "does") and word in _PRESENT - _NOUNS and following not in ("of", "and", "or", ""):
            prefix = subject
        elif first in ("is", "has") and word in ("causes", "affects", "produces", "plays", "helps", "leads", "makes", "takes", "increases", "decreases", "controls", "supports", "presents", "results") and following in ("a", "an", "the", "to", "in", "with", "no") and not (following == "in" and word not in ("results",)):
            prefix = subject
        elif first in _BE and participle and participle[0][0] in _PARTICIPLE and (word in _PARTICIPLE or word.endswith("ed")) and following in ("by", "with", "to", "from", "in", "as", "into", "for", "on", "at", "through", "using") and not _other_participle(left, participle[0][0]):
            prefix = f"{subject}{first} "
        elif kind == "past" and word in _PAST and following not in ("by", "of", "and", "or", "") and not _other_participle(left, "") and not _finite(f"x {right[len(lead) + len(word) :]}"):
            prefix = subject
        elif first in _MODAL and word in _BASE and following not in ("and", "or", "") and (word != "lead" or following == "to") and not lead.startswith("not") and not _infinitive(left):
            prefix = f"{subject}{first} "
        if prefix is None:
            continue
        return [f"{text[:end]}{left}", f"{prefix}{right}"]
    return None


def _infinitive(left: str) -> bool:
    """Whether "and" may go on with an infinitive ("can be trained to perform X and detect Y")."""
    return re.search(r"\bto (?!(?:the|an?|its|their|this|these)\b)[a-z]+", left) is not None


def _other_participle(left: str, main: str) -> bool:
    """Whether a participle besides the main one is near enough for "and" to continue it instead."""
    return any(w in _PARTICIPLE and w != main for w, _, _ in _words(left))


_RULES = (_semicolon, _concession, _conjoined, _followed_by, _relative, _verb_phrases)


def _parts(text: str, depth: int = 0) -> list[str]:
    if depth > 6 or len(text) > 2000:
        return [text]
    for rule in _RULES:
        parts = rule(text)
        if parts:
            return [piece for part in parts for piece in _parts(part.strip(" ,;"), depth + 1)]
    return [text]


# --- the whole text ----------------------------------------------------------------------------------------------

_ITEM = re.compile(r"^\s*(?:[-*•‣◦–—+]\s+|\(?\d{1,3}[.)]\s+)")


def _with_headings(text: str) -> list[str]:
    """Lines of a text; items without a verb take the heading they stand under ("Symptoms include:" - "fever")."""
    lines, heading = [], ""
    for line in text.splitlines():
        bare = re.sub(r"[*_`#]+", "", _ITEM.sub("", line)).strip()
        if not bare:
            lines.append("")
        elif bare.endswith(":") and not _ITEM.match(line):
            heading = bare.rstrip(": ") if _finite(bare) and not re.search(r"\b(?:following|below|follows)\b", bare) else ""
            if not heading and _is_clause(bare.rstrip(":")) and not re.search(r"\b(?:here|following|below|follows)\b", bare, re.I):
                lines += [bare.rstrip(": ") + ".", ""]
        elif _ITEM.match(line) and heading and not _finite(bare.split(": ")[0]) and not re.search(r"[.!?]$", bare):
            item = bare[0].lower() + bare[1:] if re.match(r"[A-Z][a-z]+(?:\s|$)", bare) else bare
            lines += ["", f"{heading} {item}.", ""]
        else:
            heading = heading if _ITEM.match(line) else ""
            lines.append(line)
    return lines


def rule_units(text: str) -> list[str]:
    """Take a text apart into atomic units by rule.

    Stands in for the splitter of DAHL, section 3.3, Step 1, where no language model is at hand. Order is kept and nothing is
    invented: the words of a unit are those of its sentence. Questions, headings and polite formulas state nothing and are no
    units. Coordinated nouns and adjectives ("unconscious and immobile") stay together, as with the paper's splitter
    (section 5.3); pronouns are not resolved.

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
    for sentence in sentences("\n".join(_with_headings(text))):
        sentence = re.sub(r"\s+", " ", re.sub(r"\*\*|__|`", "", sentence)).strip()
        if not re.search(r"[^\W\d_]", sentence) or sentence.endswith("?") or is_filler(sentence):
            continue
        ended = re.search(r"[.!?…]+[\"')\]”’]*$", sentence)
        if not ended and len(sentence.split()) <= 6 and not _finite(sentence):
            continue  # a heading
        body = sentence[: ended.start()] if ended and sentence[ended.start() :] == "." else sentence
        parts = _parts(body)
        units += [sentence if ended else _sentence(sentence)] if len(parts) == 1 else [_sentence(p) for p in parts]
    return units
