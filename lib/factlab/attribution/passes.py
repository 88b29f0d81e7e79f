"""Is a reply a pass? REASONS' prompts let a model write `pass` where it does not know; models write it in many ways.

The layer under `parse_title` and `parse_authors`. A pass is a word of its own, never a part of one: titles hold
`One-pass`, and people are called Pass.
"""

import re
from functools import lru_cache

from factlab.replies import bare, is_refusal, plain

_WILL = r"will|would|must|have to|should|shall|am going to|need to|choose to|chose to|am forced to|can only"
_FORM = re.compile(
    rf"(?:(?:so|therefore|thus|hence|sorry|ok|okay|no),? )?(?:i(?:'ll|'d|'m going to|'ve to|(?: (?:{_WILL}))*)?"
    r"(?: have to)? )?(?:(?:say|write|answer|respond with|reply) )?\W*pass(?:ed|ing)?"
    r"(?: on (?:this|that|it)(?: one| question| query| sentence)?)?",
    re.IGNORECASE,
)
# "…, so I write 'pass'", "Therefore, my answer is: pass"
_CONCLUDED = re.compile(
    r"(?:\b(?:answer|respond(?: with)?|response|write|writing|say|reply(?: with)?|return|output|result|is|be|just|so|therefore|thus)\b"
    r"|[:;→-])\s*(?:is\s*|i\s*|a\s*)?[:,]?\s*[\"'(\[*`]*pass[\"')\]*`.!]*$",
    re.IGNORECASE,
)
_QUOTED_PASS = re.compile(
    r"\b(?:answer|respond|response|write|say|reply|return|output|result|is|with|choose|select|give)\b[^.\n]{0,25}[\"'`]pass[.\"'`]",
    re.I,
)
_REASON = re.compile(
    r"^\W*(?:i|i'm|i've|the|this|that|there|as|because|since|due|no|not|cannot|can't|could|couldn't|unable|insufficient|without|my"
    r"|it|if|please|note|explanation|reason|given|based|unknown|sorry|unfortunately|more|none|we|(?:title|authors?) (?:is|are|cannot|can not|not|unknown))\b",
    re.IGNORECASE,
)


# What a model writes in place of a title or names that it does not have, beside what `replies.is_refusal` knows.
_NOTHING = re.compile(
    r"(?:none|null|nil|nothing|not found|unidentified|unidentifiable"
    r"|no (?:(?:matching|specific|relevant|such|exact|suitable) )?(?:papers?|titles?|authors?|citations?|match(?:es)?|results?)"
    r"(?: (?:was |were |is |are |has been |can be |could be )?(?:found|identified|available|known|provided|given|cited|determined))?"
    r"|(?:the )?(?:paper|title|citation|authors?|author names?) (?:is |are |was |were )?(?:not found|unknown|not available|unidentified"
    r"|not provided|not known|(?:cannot|could not) be (?:determined|identified|found)))",
    re.IGNORECASE,
)
_CANNOT_NAME = re.compile(
    r"(?:(?:i'm|i am|we are) (?:very )?sorry,?(?: but)? |sorry,?(?: but)? |unfortunately,? |based on [^,]{1,100}, )*"
    r"i(?:'m| am|'ve| have)? ?(?:can't|cannot|can not|could not|couldn't|(?:was |am )?(?:not able|unable) to|don't|do not|did not|didn't"
    r"|failed to|not been able to) (?:\w+ )?(?:identify|determine|find|locate|name|verify|recogni[sz]e|come up|match|pinpoint|tell)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1 << 14)
def declines(reply: str) -> bool:
    """Whether a reply names nothing: a pass in any form, a refusal, `None`, or `I cannot identify the paper`."""
    if passes(reply) or is_refusal(reply) or _NOTHING.fullmatch(bare(reply)):
        return True
    text = " ".join(plain(reply).split())
    return (
        _CANNOT_NAME.match(text) is not None
        and re.search(r"\"[^\"]{4,}\"|\bbut (?:it|the|this|i)\b|\bhowever\b", text) is None
    )


def is_pass(text: str) -> bool:
    """Whether a short answer is nothing but a pass.

    `pass`, `Pass.`, `'PASS'`, `["pass"]`, `<answer>pass</answer>`, `<pass/>`, `**pass**`, `\\boxed{pass}`, `I'll pass`,
    `Title: pass`. Not `Pass the salt`, `Rafael Pass`, `One-pass learning` or an empty text.
    """
    if not 4 <= len(text) <= 400 or "pass" not in text.casefold():
        return False
    text = re.sub(r"<\s*/?\s*[\w:-]+(?:\s[^<>]*)?>", " ", re.sub(r"<\s*(pass)\s*/?\s*>", r" \1 ", text, flags=re.I))
    text = re.sub(r"^\W*(?:[\w-]+ ){0,3}[\w-]+[\"']?\s*:\s*(?=\W*pass\b)", "", bare(text), flags=re.I)
    parts = [p for p in re.split(r"[\s,;\"'\[\](){}]+", text) if p]
    repeated = bool(parts) and all(re.fullmatch(r"\W*pass\W*", p, re.IGNORECASE) for p in parts)
    return repeated or _FORM.fullmatch(bare(text)) is not None


def passes(reply: str) -> bool:
    """Whether a whole reply is a pass: the word alone, with a reason behind it, or as the conclusion of its reasons.

    Parameters
    ----------
    reply : str
        Without its reasoning block.

    Returns
    -------
    bool
        `Pass - I cannot tell.` and `I am not sure, so my answer is: pass` are passes; `Pass, Rafael` and a title
        followed by `(else I would pass)` are not.
    """
    if "pass" not in reply.casefold():
        return False
    if is_pass(reply):
        return True
    text = plain(reply).strip()
    first = re.match(r"([^\n.:;(,–—]+?)\s*(?:[.:;!(,–—]|\s-\s|\n|$)", text)
    if first and is_pass(first[1]):
        rest = text[first.end() :].strip()
        # "Pass, Rafael" is a person: behind the word there must be a reason.
        if not rest or is_pass(rest) or is_refusal(rest) or (_REASON.match(rest) and len(rest.split()) > 1):
            return True
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and is_pass(lines[0]) and not re.fullmatch(r"[\"'].*[\"']", lines[1]):
        return True
    last = re.split(r"(?<=[^\W\d_]{2}[.!?])\s+", lines[-1])[-1] if lines else ""
    others = re.findall(r"\"([^\"\n]{4,})\"", text)
    if any(not is_pass(o) for o in others):
        return False  # something else is quoted: the answer may be that
    whole = " ".join(lines)
    if is_pass(last) and (len(lines) > 1 or len(whole) > len(last)):
        return _REASON.match(whole) is not None or is_refusal(whole[: -len(last)])
    clause = re.split(r"[,;:]\s+|\b(?:so|therefore|thus|hence)\b,?\s+", last)[-1]
    if re.match(r"i\b", clause, re.IGNORECASE) and is_pass(clause):
        return True
    concluded = _CONCLUDED.search(last) or _QUOTED_PASS.search(whole)
    return concluded is not None and _REASON.match(whole) is not None
