"""Verb forms and function words of biomedical English, as far as the rules of clauses.py need them.

A word list instead of a tagger: small, fast, and wrong in a known way: an unlisted verb leaves its sentence whole.
"""

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


BE = frozenset(["is", "are", "was", "were"])
HAVE = frozenset(["has", "have", "had"])
MODAL = frozenset(["can", "could", "may", "might", "must", "should", "will", "would"])
DO = frozenset(["does", "do", "did"])
AUX = BE | HAVE | MODAL | DO
SINGULAR, PLURAL = frozenset(["is", "was", "has", "does"]), frozenset(["are", "were", "have", "do"])

# Verbs whose -s form is hardly ever a noun; the form after `e` and `y` is made below.
VERBS = _set(
    """
    accelerate accept accompany accumulate achieve acquire act activate adapt add adhere administer affect
    aggravate allow alter amplify appear apply arise assess assist assume attach attack attract avoid become
    begin belong bind block boost break bring build carry catalyse catalyze characterise characterize choose
    circulate cleave colonise colonize combine come comprise compress confer confirm connect consist constitute
    constrict consume contain continue contribute control convert coordinate correlate correspond counteract
    cover create decline decrease define degrade deliver demonstrate depend deplete derive describe destroy
    detect deteriorate determine develop diagnose differ differentiate diffuse digest dilate diminish disappear
    disrupt distinguish divide drain drive elevate elicit eliminate emerge enable encode encompass enhance
    enlarge ensure enter establish evaluate evolve excrete exceed exert exhibit exist expand explain express
    extend facilitate fail fill filter find fluctuate follow form fuse gain generate get give govern grow guide
    happen help hydrolyse hydrolyze identify impair improve include incorporate increase indicate induce infect
    inflame inhibit initiate innervate integrate interact interfere invade involve irritate keep lack lead leave
    lie limit link live lose lower maintain make manifest mature mediate metabolise metabolize migrate mimic
    minimise minimize modify modulate move multiply mutate need neutralise neutralize observe obtain occlude
    occur offer originate oxidise oxidize pass penetrate perform persist play possess precede predict predispose
    present preserve prevent proceed produce progress proliferate promote protect prove provide quantify raise
    range reach react receive recognise recognize recommend recover recruit reduce reflect regenerate regulate
    relate relax release relieve relieve remain remove repair replace replicate represent require resemble
    resolve respond restore restrict result retain reveal rise rupture secrete seem send separate serve show
    shrink slow soften spread stabilise stabilize stem stimulate store strengthen suffer suggest supply support
    suppress surround survive sustain swell synthesise synthesize take target tend tolerate transcribe transfer
    transform translate transmit transport travel treat trigger undergo use utilise utilize vary visit weaken
    widen worsen yield measure cause affect examine investigate report recommend compare analyse analyze
    conclude exclude inform teach learn visualise visualize inactivate phosphorylate methylate inherit absorb
    eat drink breathe bleed heal cure vaccinate immunise immunize screen monitor dissolve evaporate emit harbour
    harbor house pump beat contract propel push pull hold open close account aim arrive ask attempt await bear
    blunt calm cease clear approve isolate review infer detach dissolve
    """
)
# Forms in -s that are as often nouns; as verbs only where no other verb is near and a noun phrase follows.
NOUNS = _set(
    """
    acts attacks attempts blocks boosts breaks causes changes clears closes contracts controls covers decreases
    declines differs drains drinks drives elevates extends filters finds focuses forms functions gains guides
    harbours harbors helps holds houses increases leads leaves lies limits links lives makes measures needs
    offers opens passes plays presents progresses pumps pushes pulls raises ranges reports results rises
    ruptures screens separates shows spreads stems stores supplies supports targets takes transfers transports
    travels treats triggers uses visits yields releases affects repairs aims asks beats bears works exercises
    accounts slows estimates
    """
)
_IRREGULAR = _set(
    """
    became began bound brought built came chose drove fell found gave got grew held kept led left lost made rose
    sent spread took underwent arose ate bled occurred transferred controlled transmitted admitted referred
    inferred submitted omitted permitted
    """
)
_PARTICIPLES = _set(
    """
    bound brought built chosen driven found given grown held kept known led left lost made sent seen shown
    spread taken undergone broken begun written drawn done understood thought put cut set read worn torn
    """
)
# Base forms that are nouns or adjectives as well, besides those in NOUNS.
_NOT_BASE = _set(
    """
    bear blunt calm clear close cure exhibit fuse lower mature mimic monitor need open pass present separate
    slow spread cover experience process leave live lead beat work
    """
)


def _third(verb: str) -> str:
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb) else "s")


def _past(verb: str) -> str:
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


PRESENT = frozenset(map(_third, VERBS))
PAST = frozenset(map(_past, VERBS)) | _IRREGULAR
PARTICIPLE = frozenset(map(_past, VERBS)) | _PARTICIPLES | _set("referred transferred controlled transmitted admitted")
# Patterns: an adverb with the space behind it; the opening of a clause that cannot stand alone.
ADVERB = r"(?:(?:also|often|then|sometimes|thus|thereby|therefore|further|even|still|always|never|\w{3,}ly) )"
RELATIVE = _set(
    """
    that which who whom whose where when whereby while because although if unless until since as than whether
    how why what
    """
)
SUBORDINATE = re.compile(
    r"(?:if|when|whenever|because|since|as|while|after|before|once|unless|until|whereas|although|though|even"
    r"|provided|given"
    r"|whether|not only|both|either|neither)\b",
    re.I,
)
PLURALS = _set(
    """
    they we these those bacteria children people women men data nuclei criteria atria mitochondria alveoli fungi
    villi vertebrae ova
    """
)

# After "can … and", and after a plural, these are verbs for sure.
BASE = frozenset(v for v in VERBS if _third(v) not in NOUNS) - _NOT_BASE | {"lead", "reduce"}
FUNCTION = _set(
    """
    a an the of in on for to with by from and or its their this these those such no any at as into between
    during other
    """
)
