"""REASONS' indirect queries: which title did the model name, and is it the title that is cited?

Section 4 of the paper: given a sentence, the model is to write the title of the paper that is cited, or `pass`. The
metrics ask whether the answer is right (`I[ĉ ≠ c]` in the hallucination rate, section 5.1); what makes two titles one
is not said there, and `same_title` states it.
"""

import re

from factlab.attribution import wrappings
from factlab.attribution.forms import squeezed
from factlab.attribution.passes import declines, is_pass
from factlab.replies import Parsed, strip_reasoning, without_echo


def same_title(a: str, b: str) -> bool:
    """Whether two strings are the same title.

    Case, accents, TeX and HTML mark-up, the kind of dashes and quotes, punctuation, line wraps and whether a compound is
    hyphenated, joined or apart do not matter. Words do: a missing subtitle, article or `not` makes another title. So do
    numbers, and the point inside one.

    Parameters
    ----------
    a, b : str

    Returns
    -------
    bool
        False where either is empty: no title is no title's equal.
    """
    left = squeezed(a)
    return bool(left) and left == squeezed(b)


_TITLE_KEYS = (
    "title", "paper_title", "papertitle", "paper title", "cited_title", "cited_paper", "cited_paper_title",
    "citation_paper_title", "citation paper title", "citation_title", "citation", "cited paper", "reference", "paper",
    "answer", "response", "result", "output", "name",
)  # fmt: skip
_TITLE_TAGS = r"(?:cit(?:ed|ation)[_ -]?)?(?:paper[_ -]?)?title|cit(?:ation|ed[_ -]?paper)|paper|reference"

_LABEL = re.compile(
    r"^\W*(?:the )?(?:(?:most |best )?(?:likely|probable|possible) )?(?:(?:cited|referenced|citation|research|source|full"
    r"|complete|correct) )*(?:paper |research |article )*(?:title|paper|citation|reference|answer|response|record)"
    r"(?: title| name)?(?: of the (?:cited |research |citation )*paper)?(?:\s+is\b|\s*[:=]|\s+-\s)\s*:?\s*(?=\S)",
    re.IGNORECASE,
)
# "The paper cited in this sentence is X", "This sentence is citing X", "It refers to the paper X"
_SAID = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok|yes)\b[,!.:]?\s*)?(?:i (?:think|believe) (?:that )?|based on [^,]{1,120}, )?"
    r"(?:(?:the|this|that|here)\b[^.?!:\"“]{0,140}?\b(?:is citing|cites|is called|is titled|is entitled|is likely|is probably"
    r"|refers to|is referring to|might be|could be|would be|may be|appears to be|seems to be|is|are)|it\b[^.?!:\"“]{0,40}?"
    r"\b(?:is|cites|refers to|is citing))\b\s*(?:most likely |likely |probably |possibly )?"
    r"(?:the )?(?:paper|article|work|study|title)?\s*(?:titled|entitled|called|named|by the title|with the title|is)?[:,]?\s*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"([^\"\n]{2,400}?)[,.]?\"|(?<![\w'])'((?:[^'\n]|(?<=\w)'(?=\w)){8,400}?)[,.]?'(?!\w)")
_FURTHER = re.compile(
    r"^\W*(?:(?:authors?|years?|venue|journal|abstract|doi|url|arxiv|published|explanation|reason(?:ing)?|note|source"
    r"|confidence|publication|conference|link)\b[^:\n]{0,30}:|(?-i:This|The|It|That|These|In this|I|Please|However|Here|As)\b"
    r"(?=[^\n]{20,})[^\n]*[.!?]$|by\s+[A-Z])",
    re.IGNORECASE,
)
# What follows the title in one line: `X (Vaswani et al., 2017)`, `X, by A. Vaswani and others`, `X (2017)`
_PERSON = r"(?:[A-Z][\w'-]*\.?\s+){1,3}[A-Z][\w'-]*"
_TRAILER = re.compile(
    r"\s*(?:\((?:[^()]*\bet al\b[^()]*|[^()]*\b(?:19|20)\d\d[a-z]?)\)|\[\d{1,3}\]|,\s*(?:19|20)\d\d"
    r"|(?:,\s+by|\s[-–]|\s+by)\s+[^,:]{2,60}?\bet al\b\.?[^:]{0,20}"
    rf"|(?:,\s+by\s+{_PERSON}|\s+by\s+{_PERSON}(?:,\s+{_PERSON})+)(?:,?\s+(?:and|&)\s+{_PERSON})?)[.\s]*$"
)
_LEADER = re.compile(r"^(?:\[\d{1,3}\]\s+|[A-Z][\w'-]+ et al\.?,?\s*\(?(?:19|20)\d\d[a-z]?\)?[.,:]?\s+)")
_ITEM = re.compile(r"^\s*(?:\d{1,2}[.)]|[-•–]|(?:paper|title|option|citation) #?\d{1,2}[:.)])\s+(\S.*)", re.IGNORECASE)
_LABELLED = re.compile(r"\W*(?:paper |cited |citation )*title\s*:\s*\S", re.IGNORECASE)
_PREAMBLE = re.compile(r"\W*(?:sure|certainly|of course|here (?:is|'s)|okay|ok)\b[^\n]*[:!.]$", re.IGNORECASE)
_PART_QUOTED = re.compile(
    r"(?:\"[^\"]+\"|'(?:[^']|(?<=\w)'(?=\w))+')\s*"
    r"(?!by\b|is\b|in\b|from\b|or\b|and\b|[,.(]|[-–][^:]*\bet al\b)[\w:–-]"
)
_PROSE = re.compile(r"(?:I|We|You)\b.*\b(?:am|are|was|have|think|would|could|can|need|believe)\b")
_AFTERTHOUGHT = re.compile(r"(?<=[a-z)\d])[.!]\s+(?:If|Please|Let me|Note|However|This (?:paper|is)|I)\b.*$", re.DOTALL)
_ADDRESS = re.compile(r"(?:arxiv:\s*\S+|https?://\S+|doi:\s*\S+|10\.\d{4,}/\S+)", re.IGNORECASE)
_SIGNS = re.compile(  # beside a title in quotes: what tells that the rest is not a title
    r"\b(?:paper|article|titled|entitled|cit(?:es|ed|ing)|(?:may|might|could|would) be)\b|^[\"']|^Either\b|\bI(?:'m)?\b|,\""
)
_MAX_WORDS = 60


def parse_title(reply: str | None, prompt: str | None = None) -> Parsed:
    """Read the title of the cited paper in a reply.

    Understands a bare title in one line or several, quotes, Markdown, `Title: …`, JSON, XML elements, a title in quotes
    inside a sentence, and a remark after it; reasoning before the answer is stripped.

    Parameters
    ----------
    reply : str or None
        None stands for a failed call.
    prompt : str, optional
        The prompt; what the reply repeats of it is ignored.

    Returns
    -------
    Parsed
        value: the title in one line, without Markdown and dollar signs, other TeX as written; None with status `refused` (a pass in any form, a refusal,
        `unknown`), `truncated` (unfinished reasoning, JSON or element), `unparsable` (nothing, several titles, prose
        that names none) or `error`.
    """
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    text = without_echo(answer.value, prompt).strip()
    if not text:
        return Parsed(None, "unparsable")
    if declines(text):
        return Parsed(None, "refused")
    inside = wrappings.contents(text, _TITLE_KEYS, _TITLE_TAGS)
    if inside is not None:
        return _one_of(inside)
    return _in_prose(wrappings.unmarked(text))


def _one_of(inside: wrappings.Contents) -> Parsed:
    """The title among what a wrapping held; several different ones are no answer."""
    if inside.cut:
        return Parsed(None, "truncated")
    found = [_unquoted(" ".join(wrappings.unmarked(item).split())) for item in inside.items]
    titles = {squeezed(f): f for f in found if f and not declines(f)}
    titles.pop("", None)
    if len(titles) == 1:
        return _checked(next(iter(titles.values())))
    return Parsed(None, "unparsable" if titles else "refused")


def _in_prose(text: str) -> Parsed:
    items = [m[1] for m in map(_ITEM.match, text.splitlines()) if m]
    if len(items) > 1:
        return _one_of(wrappings.Contents(items))
    lines = _lines_of_title(text)
    line = _ITEM.sub(r"\1", " ".join(lines))
    if is_pass(line):
        return Parsed(None, "refused")
    quoted = [a or b for a, b in _QUOTED.findall(line)]
    said, label = _SAID.match(line), _LABEL.match(line)
    if label and label[0].rstrip().casefold().endswith("is") and re.search(r"\s[A-Z]", label[0]):
        label = None  # `The Answer Is Blowing`: in a title the words of a label are capitalised
    if _unquoted(line) != line:
        return _checked(line)
    if quoted and (said or label or _SIGNS.search(line)):
        # `"Why Should I Trust You?": Explaining …` begins with a quotation that is a part of the title
        if not _PART_QUOTED.match(line):
            different = {squeezed(q) for q in quoted}
            return _checked(quoted[0]) if len(different) == 1 else Parsed(None, "unparsable")
    elif label:
        line = line[label.end() :]
    elif said and re.search(r":\s*$|\btitled|\bcit(?:es|ed|ing)|refers|referring|called", said[0]):
        line = line[said.end() :]
    return _checked(line)


def _lines_of_title(text: str) -> list[str]:
    """The lines that hold the title: the first paragraph, without an announcement above it and remarks below it."""
    paragraphs = [[li.strip() for li in p.splitlines() if li.strip()] for p in re.split(r"\n\s*\n", text)]
    paragraphs = [p for p in paragraphs if p and re.search(r"\w", " ".join(p))]
    lines = paragraphs[0] if paragraphs else []
    labelled = [line.strip() for line in text.splitlines() if _LABELLED.match(line)]
    if len(labelled) == 1 and labelled[0] not in lines[:1]:
        return labelled
    if len(paragraphs) > 1 and (lines[-1].endswith(":") or len(lines) == 1 and _PREAMBLE.match(lines[0])):
        lines = paragraphs[1]
    elif len(lines) > 1 and lines[0].endswith(":") and (_LABEL.match(lines[0] + " x") or _PREAMBLE.match(lines[0])):
        lines = lines[1:]
    end = next((i for i, line in enumerate(lines) if i and _FURTHER.match(line)), len(lines))
    return lines[:end]


def _unquoted(title: str) -> str:
    """A text without the one pair of quotes around it; quotes inside it, or of a part of it, stay."""
    title = title.strip()
    held = re.fullmatch(r"([\"'])(.{2,}?)[.,]?\1[.,]*", title)
    if held and (held[1] not in held[2] or held[1] == "'" and not re.search(r"(?<!\w)'|'(?!\w)", held[2])):
        return held[2]
    if title.count('"') == 1:
        return title.strip('"')
    return title


def _checked(title: str) -> Parsed:
    """A candidate without trailers; unparsable where it is too long for a title or holds no word."""
    title = _AFTERTHOUGHT.sub("", title)
    title = _LEADER.sub("", _unquoted(" ".join(title.split())))
    bare = _TRAILER.sub("", title)
    title = _unquoted((bare if squeezed(bare) else title).rstrip(",;: "))
    if title.endswith(".") and not title.endswith("..") and not re.search(r"\b[A-Z]\.$|\b(?:al|etc|vs)\.$", title):
        title = title[:-1]
    if declines(title):
        return Parsed(None, "refused")
    prose = len(title.split()) > 3 and _PROSE.match(title)
    if not re.search(r"[^\W\d_]", title) or len(title.split()) > _MAX_WORDS or prose or _ADDRESS.fullmatch(title):
        return Parsed(None, "unparsable")
    return Parsed(title, "scored")
