"""Does a reply decline to answer?

DAHL (section 3.1) leaves out noncommittal responses such as "It cannot be answered." or "I don't know."; the other
methods count them as abstentions. The layer under `replies.is_refusal`. Precision comes first: a refusal wrongly
found takes an answer out of a score, so only sentences in which the writer (I, we, the question) is the one who cannot,
and only replies that say nothing else, count.
"""

import re

from factlab.text import normalise


def _any(phrases: str) -> str:
    """A pattern for any of the phrases, given one a line or separated by `;`; a line that begins with `|` goes on."""
    phrases = re.sub(r"\n\s*(?=\|)", "", phrases)
    return "(?:" + "|".join(p.strip() for p in re.split(r"[;\n]", phrases) if p.strip()) + ")"


# All patterns below meet text in comparison form: lower case, straight quotes, single spaces, no end mark.
# Each is tried once, at the start of what is left of a sentence, so that no input makes them slow.
_LEAD_IN = re.compile(
    _any(
        r"""
        (?:i am|i'm|we are|we're) (?:so |very |really |truly |terribly )?sorry; sorry; apologies; my apologies
        i (?:do )?apologi[sz]e; unfortunately; regrettably; alas; well; hm+; honestly; to be honest; frankly; oh; no
        a; answer
        (?:the|my) (?:final )?answer is; (?:thank you|thanks) for (?:your|the|asking)(?: question| message| request)?
        i (?:understand|appreciate|see) [^,.]{1,120}(?=[,.]); (?:while|although) [^,.]{1,120}(?=[,.])
        i(?:'d| would) (?:like|love) to(?: be able to)? help(?: you)?; at (?:this|the) (?:time|moment)
        as of (?:now|my last update)
        (?:based on|given|from|according to) (?:the |my |this )?(?:provided |given |available |current )?(?:context
        |information|text|passage|knowledge|question)(?: provided| given| available| alone| above)?
        without (?:more|further|additional|the|any|access to)[^,.]{1,100}(?=,)
        (?:as|being) an? (?:ai|artificial|large|language|assistant|virtual|text|machine|chat)[^,.]{0,80}?(?:,
        |(?= i )|(?= i'm ))
        (?:i'm|i am) (?:just |only |merely |simply )?an? (?:ai|artificial|large language|language|virtual
        |text-based)[^,.]{0,80}?(?:,|(?= and (?:i |can|do|am))|(?= so i ))
        for (?:this|that|the inconvenience|any inconvenience|the confusion|any confusion); about that; to hear that
        to say; i am afraid; i'm afraid; i regret(?: to say| to inform you)?
        however; but; and; so; because; therefore; though; thus; that; i think; i believe; i feel; i guess
        """
    )
    + r"(?=$|\W)[\s,.:;!-]*"
)

_ADVERB = (
    r"(?:(?:just|simply|really|honestly|personally|currently|also|still|either|therefore|actually|truly"
    r"|definitively|directly|yet|quite) )*"
)
_CANNOT = _any(
    r"""
    can't; cannot; can not; cant; could not; couldn't; won't; will not; wouldn't; would not; am unable to
    'm unable to
    am not able to; 'm not able to; must decline; have to decline; need to decline; decline; refuse; am afraid i can't
    would rather not; 'd rather not; would prefer not to; 'd prefer not to; prefer not to
    """
)
# What an assistant says it cannot do. A bare "I can't" is left to patients ("I can't sleep").
_ACT = _any(
    r"""
    (?:be able to )?(?:answer|help|assist|say|tell|provide|give); comply; fulfil+; offer; generate; respond; reply
    determine; comment; discuss
    choose; select; pick; engage; do (?:that|this|so); continue; support; create; write; produce; browse; access; diagnose; recommend
    advise; speculate
    find (?:any|an|the|information|this|that); verify; confirm; share; make (?:a|any|that|this)
    complete (?:this|that|the|your)
    be of; see (?:the|any|an); view; open; guess; judge; decide; identify (?:the answer|this|that); retrieve; predict
    process
    evaluate; assess; check; be (?:certain|sure); know; accurately; think of; come up with
    """
)
_KNOWLEDGE = _any(
    r"""
    information; knowledge; data; access; answer; opinions?; beliefs?; feelings?; experiences?; ability; expertise
    capability
    context; details; clue; idea; means; enough to go on
    """
)
_QUANTITY = (
    r"(?:(?:enough|any|sufficient|adequate|complete|specific|personal|real-time|up-to-date|current|direct|the"
    r"|an|a|definitive|definite|detailed"
    r"|reliable|necessary|more|further|relevant|absolutely|slightest|good) )*"
)
_STATE = _any(
    r"""
    sure; certain; aware; familiar; qualified; comfortable; allowed; permitted; programmed; designed; trained
    equipped; authori[sz]ed
    capable; knowledgeable; able; in a position; a (?:doctor|medical|physician|lawyer|healthcare)
    """
)
_SUBJECT = (
    r"(?:it|this|that|(?:the|this|your|that) (?:above |given )?(?:question|query|answer|request|prompt"
    r"|claim|statement))"
)
_NOT_BE = r"(?:cannot|can't|can not|could not|couldn't) (?:currently |really |yet |simply |easily |definitively )?be"
_REFUSAL = re.compile(
    "|".join(
        [
            rf"i ?{_ADVERB}{_CANNOT}(?: {_ADVERB}(?:to )?{_ACT}\b|$|[.,;])",
            rf"i {_ADVERB}(?:do not|don't|dont|did not|didn't) {_ADVERB}know\b(?! that\b)",
            rf"i {_ADVERB}(?:do not|don't|dont) {_ADVERB}(?:have|possess) {_QUANTITY}{_KNOWLEDGE}\b",
            rf"i {_ADVERB}(?:do not|don't) {_ADVERB}(?:understand (?:the|this|your|what)|feel comfortable"
            rf"|provide|offer medical|recall|remember)\b",
            rf"i ?{_ADVERB}(?:have|'ve|'ve got|have got) no {_QUANTITY}(?:{_KNOWLEDGE}|way)\b",
            rf"i(?: am|'m) {_ADVERB}(?:not |un){_ADVERB}(?:entirely |completely |at all |very |100% )?{_STATE}\b",
            rf"i {_ADVERB}lack {_QUANTITY}{_KNOWLEDGE}\b",
            rf"i {_ADVERB}(?:must|have to|need to) (?:respectfully )?(?:decline|refuse|abstain)\b",
            # "We do not know why" is how papers write; of we, only what no paper says declines.
            r"we ?(?:cannot|can't|are unable to|are not able to|won't|don't|do not) (?:(?:answer|help|assist"
            r"|comply)\b|(?:know|say|tell)$)",
            rf"(?:{_SUBJECT} )?{_NOT_BE} (?:answered|said|told)\b",
            rf"{_SUBJECT} {_NOT_BE} (?:determined|known|established|inferred|verified|confirmed|decided|judged)\b",
            rf"{_SUBJECT} (?:is|are) (?:not answerable|unanswerable|(?:impossible|not possible) to answer"
            rf"|beyond my|outside (?:of )?my)\b",
            r"(?:it (?:is|'s) |it's )?(?:not possible|impossible|difficult|hard) (?:for me )?to (?:answer|say"
            r"|tell)\b(?! (?:whether|if|which|why|how|when|apart))",
            r"(?:cannot|can't|can not|unable to|not able to|could not) (?:answer|say|tell|help|assist|comply"
            r"|determine|respond|provide)\b",
            r"(?:don't|do not|dont) know\b",
            r"(?:there (?:is|was|isn't|is not) )?(?:not enough|insufficient|not sufficient|inadequate|enough|sufficient)"
            r" (?:evidence|data) to (?:answer|say|tell|give)\b",
            r"there (?:is|was) no (?:information|mention)(?: (?:about|on|of) (?:this|that|it))? in the (?:question|context"
            r"|text|passage|prompt)\b",
            r"(?:there (?:is|was|isn't|is not) )?(?:not enough|insufficient|no|not sufficient|inadequate|enough"
            r"|sufficient) (?:information|context|details?)"
            r"(?: (?:is |was )?(?:provided|given|available))?(?:$|[.,;]| to (?:answer|determine|respond|say"
            r"|tell|give|provide|conclude|decide|judge|verify)\b"
            r"| in the (?:question|context|text|passage|prompt)\b)",
            r"the (?:question|prompt|(?:provided|given) (?:text|context|information|passage)|(?:text|context"
            r"|information|passage) (?:provided|given))"
            r" (?:does not|doesn't|did not|is not|is un) ?(?:mention|specify|provide|contain|say|state|give"
            r"|include|clear|answerable)",
        ]
    )
)
# A whole reply that is nothing but one of these declines, too.
_ABSTENTIONS = frozenset(
    p.strip()
    for p in re.split(
        r"[;\n]",
        """
        unknown; not known; unsure; not sure; uncertain; unclear; not clear; undetermined; indeterminate; undecided
        undecidable; idk
        no idea; no clue; no answer; no comment; n/a; na; not applicable; not available; none available; it depends
        skip
        not enough information; not enough info; not enough context; not enough evidence; insufficient information
        insufficient data; insufficient evidence; information not available; no information; not provided
        not mentioned
        not specified; not stated; the information is not available; this information is not available; unanswerable; cannot answer; no response; cannot tell; can't tell; can't say
        cannot say
        cannot determine; can't determine; cannot be determined; to be determined; abstain; declined; refused
        who knows
        nobody knows; no one knows; i pass; i abstain; i'm sorry; i am sorry; sorry; i apologize; i apologise
        my apologies
        it is unknown; it's unknown; it is not known; it's not known; this is unknown; this is not known
        that is unknown
        the answer is unknown; the answer is not known; the answer is unclear; it is unclear; it's unclear
        it is not clear
        it's not clear; this is unclear; it cannot be determined; i can't; i cannot; i won't; i will not; i can not
        """,
    )
    if p.strip()
)

_FILLER = re.compile(
    _any(
        r"""
        (?:please|kindly) (?:consult|seek|contact|see|provide|let|feel|specify|clarify|rephrase|try|check|refer|ask
        |speak|talk|share|give|tell)\b
        (?:you|we) (?:should|may|might|could|can|would)(?: also)?(?: want to| wish to| need to)? (?:consult|seek
        |contact|speak|talk|ask|refer|try asking|provide|check|visit)\b
        (?:it (?:is|would be|'s) |it's )(?:always )?(?:best|important|advisable|recommended|better)(?: that you
        | for you)?(?: to)? (?:consult|seek|contact|speak|talk|ask|see|refer|check)
        (?:could|can|would) you (?:please |kindly )?(?:provide|clarify|specify|rephrase|tell|give|share|explain
        |be more|elaborate|repeat)\b
        if you (?:have|need|would|could|can|want|'d|provide|give|let|share|like) [^,]*(?:, (?:please|i|feel|let
        |you)\b|$)
        let me know; feel free
        i hope (?:this|that|you); how (?:can|may) i (?:help|assist); what (?:else )?(?:would you like|can i help)
        i(?:'d| would| will|'ll|'m| am) (?:be )?(?:always )?(?:happy|glad|pleased|here) to
        (?:is|was) there (?:anything|something) (?:else|specific)
        (?:that's|that is|this is|what) an? (?:very |really )?(?:good|great|excellent|interesting|important
        |difficult|complex|complicated|broad) (?:question|one|query)\b
        (?:thanks|thank you)(?: so much| very much)?(?: for [^,]*)?$
        my (?:training|knowledge|expertise|purpose|role|function|capabilities|responses?)\b
        i (?:was|am) (?:only |just )?(?:trained|designed|programmed|created)\b
        i (?:am|'m) (?:just |only )?an? (?:ai|artificial|language|virtual|large)\b
        i'm (?:just |only )?an? (?:ai|artificial|language|virtual|large)\b
        i (?:can )?(?:only )?(?:recommend|suggest|advise|encourage|urge) (?:that )?(?:you|consult|speak|seek
        |contact|check)\w*\b
        i can (?:help|assist|try)\b; i (?:would )?need (?:more|further|additional)
        (?:more|further|additional) (?:information|context|details) (?:is|are|would be|may be) (?:needed|required
        |necessary)
        (?:sure|certainly|of course|okay|ok|great|hello|hi|absolutely)(?: thing)?$
        (?:this|that|the|your) (?:question|request|topic|query) (?:is|goes|falls|may be|requires|would|involves
        |violates|appears|seems|lacks|contains|asks)\b
        (?:it|this|that) (?:goes against|violates|is against|would be (?:inappropriate|unethical|irresponsible)
        |is (?:beyond|outside) (?:of )?my)\b
        the (?:context|passage|text|document|information)(?: provided| given)? (?:does not|doesn't
        |did not) (?:mention|say|contain|provide|specify|state|include)\b
        """
    )
)
# "I am not sure, but the answer is 5": what follows the turn may be an answer all the same.
_TURN = re.compile(r"(?:,|;| -)? (?:but|however|though|although|yet)\b,? ")


def _comparison(sentence: str) -> str:
    folded = normalise(re.sub(r"[*_`#>]+", " ", sentence)).casefold()
    folded = re.sub(
        r"^\W*(?:(?:[-•]|\d+[.)])\s+)?(?:a|answer|response|assistant|final answer|verdict)\s*:\s*", "", folded
    )
    return folded.strip(" \"'()[]{}.!?,;:-…$\\")


def _without_lead_in(sentence: str) -> str:
    while (found := _LEAD_IN.match(sentence)) and found.end():
        sentence = sentence[found.end() :]
    return sentence


def _declines(sentence: str) -> bool:
    if sentence in _ABSTENTIONS:
        return True
    core = _without_lead_in(sentence)
    if core in _ABSTENTIONS:
        return True
    # The lead-ins may have eaten the start of a pattern ("no information is given"), so both forms are tried.
    found = _REFUSAL.match(core) or _REFUSAL.match(sentence)
    if not found:
        return False
    turn = _TURN.search(found.string, found.end())
    if not turn:
        return True
    rest = _without_lead_in(found.string[turn.end() :])
    return not rest or bool(_REFUSAL.match(rest) or _FILLER.match(rest))


def is_filler(sentence: str) -> bool:
    """Whether a sentence only keeps a conversation going (`Let me know…`, `Please consult…`) and states nothing."""
    folded = _comparison(sentence)
    core = _without_lead_in(folded)
    return not core or bool(_FILLER.match(folded) or _FILLER.match(core))


def is_refusal(text: str) -> bool:
    """Whether a reply declines to answer, or says that it does not know.

    True when at least one sentence declines and no sentence, before or after, answers: only apologies, offers of help
    and reasons may stand around it. A refusal inside an answer, a hedge that goes on to answer (`I'm not sure, but I
    think 5 %`) and statements about the world (`The cause is not known`) are no refusals. `pass` is not one either: it
    means something only where the prompt offered it.

    Parameters
    ----------
    text : str
        A reply without its reasoning; quotes may be straight or curly.

    Returns
    -------
    bool
    """
    pieces = re.split(r"(?<=[.!?…])[\"')\]*”’]*\s+|\n+", text.strip())
    sentences = [s for s in map(_comparison, pieces) if s]
    declined = False
    for sentence in sentences:
        if _declines(sentence):
            declined = True
        elif not is_filler(sentence):
            return False
    return declined
