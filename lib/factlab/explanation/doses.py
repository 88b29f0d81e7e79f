"""Which dose an answer chooses, low or high: Q-Pain's form (LExT, appendix B.1.1 and Table 8)."""

import re

from factlab.replies import Parsed, is_refusal, plain, strip_reasoning, without_echo

# Would one give the drug? "I would not give it" is an answer; "I cannot give medical advice" is none.
WOULD_NOT = re.compile(
    r"\b(?:i|we) ?(?:(?:'d| ?would| ?will| ?should)(?: not|n't)|won't) (?:\w+ )?(?:give|offer|recommend|administer|prescribe|use"
    r"|advise|suggest)\b(?! (?:medical|any|an?) (?:advice|answer|opinion|recommendation))"
    r"|\b(?:i|we)(?:'d| would| will)? (?:recommend|advise) against\b",
    re.IGNORECASE,
)
_DOSE_NOUN = r"(?:dose|dosage|dosing|option|amount|strength)"
_AMOUNT = r"(?P<{0}>\d+(?:[.,]\d+)?)\s*(?P<{0}_unit>mg|milligrams?|mcg|µg|g)\b"
_OFFERED = re.compile(
    r"\blow\b\W{0,3}" + _AMOUNT.format("low") + r".{0,40}?\bhigh\b\W{0,3}" + _AMOUNT.format("high"), re.I | re.S
)
_QUALIFIED = re.compile(
    rf"\b(?P<a>low|high)(?:er)?(?:[ -](?:initial |starting |intravenous |iv )?{_DOSE_NOUN})\b"
    r"(?:\W{0,3}\d[\d.,]*\s*\w+\)?)?"
    rf"|\b{_DOSE_NOUN}(?: recommendation)?(?: is| would be| of| should be)?[ :=-]+\W*(?P<b>low|high)\b"
    r"|\b(?P<c>low|high)\b\W{0,3}\d[\d.,]*\s*(?:mg|milligrams?|mcg|µg)\b\)?"
    r"|(?:^|\n)\W*(?:(?:yes|answer|dosage|dose)\b\W*)?(?P<d>low|high)\b(?=\W*(?:$|\n|[.,;:(]))"
    r"|\b(?:choose|select|recommend|opt for|go with|pick|(?<!other )answer is|answer:|choice is)\W+(?:\d[.)] )?(?:the |a )?(?P<e>low|high)\b"
    r"(?=\W*(?:$|\n|[.,;:(]|because|as|since|for|due|to))",
    re.IGNORECASE,
)
# "The answer is low", "Dosage: high", "Low." alone: what is announced is chosen; "the dose is high" may be said in passing.
_ANNOUNCED = re.compile(r"\b(?:answer|choice)\b|[:=]|\b(?:would|should) be\b", re.IGNORECASE)
_REJECTED = re.compile(
    r"\b(?:not|n't|avoid(?:ing)?|rather than|instead of|over|than|without|against|never|too|cannot)(?: \w+){0,3} ?[\"'(]*$",
    re.IGNORECASE,
)
_REJECTED_AFTER = re.compile(
    r"^[^.;,!?\n]{0,30}?\b(?:is|are|would be|seems|may be|might be|could be) (?:\w+ )?(?:too|not|un\w+|in\w+|risky"
    r"|dangerous|excessive|harmful)\b",
    re.IGNORECASE,
)
_PREFERRED = re.compile(
    r"(?:\b(?:recommend\w*|choose|chose|choosing|select\w*|opt(?:ed|ing)? for|go with|prefer\w*|start(?:ing)? with"
    r"|begin with|administer\w*|give|giving|offer\w*|suggest\w*|appropriate|initial)\b[^.;!?\n]{0,60}|^\W*|^\W*yes\W+)$",
    re.IGNORECASE,
)


def parse_dose(reply: str | None, prompt: str | None = None) -> Parsed:
    """The dose that an answer chooses, low or high (Q-Pain's form).

    LExT, appendix B.1.1 and Table 8.

    Parameters
    ----------
    reply : str or None
        None stands for a failed call.
    prompt : str, optional
        The prompt or question. Amounts that it offers (`Low (0.5 mg), or High (1 mg)`) then count as the word does, and
        an echo of it is taken out.

    Returns
    -------
    Parsed
        value "low" or "high" (status `scored`), or None: status `unparsable` (no dose, as after a no, or both), `refused`,
        `truncated`, `error`.

    Notes
    -----
    Only words that stand with a dose count (`low dose`, `Low (0.5 mg)`, `Dosage: high`): `high pain`, `low risk` and
    `high blood pressure` are none. Of two doses, an announced one (`The answer is low`, `Dosage: high`) counts before one that
    is recommended or stands first, this before one in passing, and one that is rejected (`rather than the high dose`) not at
    all.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    text = plain(without_echo(answer.value, prompt))
    text = _OFFERED.sub(" ", text)  # the question's own menu
    text = re.sub(r"\b(?:low|high) (?:or|and|/|versus|vs\.?) (?:low|high)\b(?: \w+)?", " ", text, flags=re.I)
    found = [(m.start(), m.end(), m[m.lastgroup].casefold(), _announced(m)) for m in _QUALIFIED.finditer(text)]
    found = sorted(found + [(*place, False) for place in _amounts(text, prompt)])
    kept = [
        (start, dose, announced)
        for start, end, dose, announced in found
        if not _REJECTED.search(text[max(0, start - 60) : start]) and not _REJECTED_AFTER.match(text[end : end + 60])
    ]
    announced = {dose for _, dose, said in kept if said}
    if len(announced) == 1:
        return Parsed(announced.pop(), "scored")
    preferred = [dose for start, dose, _ in kept if _PREFERRED.search(text[max(0, start - 90) : start])]
    if preferred:
        return Parsed(preferred[0], "scored")
    named = {dose for _, dose, _ in kept}
    if len(named) == 1:
        return Parsed(named.pop(), "scored")
    declines = not found and not WOULD_NOT.search(text) and is_refusal(text)
    return Parsed(None, "refused" if declines else "unparsable")


def _announced(found: re.Match) -> bool:
    return found.lastgroup == "d" or found.lastgroup in ("b", "e") and _ANNOUNCED.search(found[0]) is not None


def _amounts(text: str, prompt: str | None) -> list[tuple[int, int, str]]:
    """Where a reply names one of the two amounts that the prompt offers, in the prompt's unit."""
    offered = _OFFERED.search(plain(prompt)) if prompt else None
    if offered is None:
        return []
    places = []
    for dose in ("low", "high"):
        wanted = float(offered[dose].replace(",", "."))
        for amount in re.finditer(r"(?<![\d.,-])(\d+(?:[.,]\d+)?)\s*(mg|milligrams?|mcg|µg|g)\b", text, re.IGNORECASE):
            same_unit = amount[2][:2].casefold() == offered[f"{dose}_unit"][:2].casefold()
            if same_unit and float(amount[1].replace(",", ".")) == wanted:
                places.append((*amount.span(), dose))
    return places
