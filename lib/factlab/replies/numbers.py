"""The score that a reply gives, as the last number in it that is a score and no part of the prompt's own scale."""

import re

from factlab.replies.cleaning import Parsed, plain, strip_reasoning, without_echo
from factlab.replies.refusals import is_refusal

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
# "between 1 and 5", "1-5", "from 1 to 5", "scale of 1 to 5": the scale, not a score on it.
_SCALE = re.compile(
    rf"\(?\b(?:(?:an? )?(?:integer|number|score|rating|value) )?(?:between|from|range(?: of)?|scale(?: of"
    rf"| from)?|of) {_NUMBER} ?(?:and|to|-|through) ?{_NUMBER}\b\)?"
    rf"|[(\[] ?{_NUMBER} ?(?:-|to|,|/|\|) ?{_NUMBER}(?: ?[/|,] ?{_NUMBER})* ?[)\]]|(?<![\w.]){_NUMBER} ?(?:to"
    rf"|-) ?{_NUMBER} scale\b"
    rf"|(?<![\w./]){_NUMBER}(?: ?[/|] ?{_NUMBER}){{2,}}",
    re.IGNORECASE,
)
# "1 = poor", "5: excellent", "5 means", "5 being the best": what a score stands for
_RUBRIC = re.compile(
    rf"(?:^|(?<=[\s(,;])){_NUMBER} ?(?:=|means\b|being\b|is (?:the )?(?:best|worst|highest|lowest)|represents\b"
    rf"|indicates\b|stands for\b)[^\n,;.)]*",
    re.IGNORECASE | re.MULTILINE,
)
_MARKED = re.compile(
    r"(?:\b(?:score|rating|rate|grade|answer|mark|points?|likert|result|value|evaluation|confidence|verdict)s?\b[\"']?"
    rf"(?:[^\d\n.:=]{{0,40}}?(?:\bis\b|\bof\b|\bas\b|\bat\b|:|=|->|→)"
    rf"|\b) ?[\"'(\[]* ?)(?P<named>{_NUMBER})(?![\d%]|\.\d)(?: ?(?:/|out of) ?(?P<top>{_NUMBER}))?"
    rf"|(?<![\w.])(?P<over>{_NUMBER}) ?(?:/|out of) ?(?P<high>{_NUMBER})\b|^[\W_]*?(?P<alone>{_NUMBER})[\W_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_LOOSE = re.compile(rf"(?<![\w.%/])(?:(?<=\s)|(?<=[(\"'\[])|^){_NUMBER}(?![\w%]|\.\d|/\d)", re.MULTILINE)
# "3-4", "3 or 4": two scores are none; read as a number that is on no scale
_TWO = re.compile(rf"(?<![\w.]){_NUMBER}(?:-| or | to ){_NUMBER}(?![\w%]|\.\d)")
_OFF = str(10**9)
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def _scores(text: str, high: float) -> list[str]:
    """Numbers named as scores, else all numbers that stand alone; `4/10` is no score on a scale that ends at 5."""
    marked = list(_MARKED.finditer(text))
    if marked:
        tops = [float(m["top"] or m["high"] or high) for m in marked]
        said = [m["named"] or m["alone"] or m["over"] for m in marked]
        return [score if top == high else _OFF for score, top in zip(said, tops, strict=True)]
    if "\n" in text:
        text = re.sub(r"^\s*\(?\d{1,2}[.)]\s+(?=\S)", " ", text, flags=re.MULTILINE)
    return _LOOSE.findall(text)


def last_number(reply: str | None, low: float, high: float, prompt: str | None = None) -> Parsed:
    """The last score that a reply gives on a scale.

    What is a score: a number that is named one (`Score: 4`, `rating of 4`), stands over the top of the scale (`4/5`,
    `4 out of 5`), or alone on its line; the last of these wins. Only where there is none, the last number in the text.
    The scale itself (`an integer between 1 and 5`), its rubric (`5 = excellent`), list numbers and echoed lines of
    `prompt` are no scores.

    Parameters
    ----------
    reply : str or None
    low, high : float
        Ends of the scale, both possible. A named score outside of it is `unparsable`, not replaced by another number.
    prompt : str, optional
        The prompt, to recognise an echo of its own wording.

    Returns
    -------
    Parsed
        value: int or float, or None with status `unparsable`, `refused`, `truncated` or `error`.

    Raises
    ------
    ValueError
        If `low` is not below `high`.
    """
    if not low < high:
        raise ValueError(f"the scale must go up: low={low}, high={high}")
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    text = plain(without_echo(answer.value, prompt))
    text = _TWO.sub(_OFF, _RUBRIC.sub(" ", _SCALE.sub(" ", text)))
    scores = _scores(text, high)
    if not scores and not re.search(r"\d", text):
        spelled = re.sub(rf"\b(?:{'|'.join(_WORDS)})\b", lambda m: str(_WORDS.index(m[0].casefold())), text, flags=re.I)
        scores = _scores(spelled, high)
    numbers = [float(s) for s in scores]
    fitting = [n for n in numbers if low <= n <= high]
    if not fitting:
        return Parsed(None, "refused" if not scores and is_refusal(text) else "unparsable")
    return Parsed(int(fitting[-1]) if fitting[-1].is_integer() else fitting[-1], "scored")
