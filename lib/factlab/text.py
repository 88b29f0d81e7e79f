"""Sentences, and the same text written the same way: what every method here starts from.

Goes in: prose from an article, or what a model wrote, with its Markdown, lists and line breaks. Comes out: its sentences
in order with nothing lost (DAHL Step 0 and the rule-based splitter, SelfCheckGPT, readers of articles), and forms of a
string for comparing. There is no library underneath: with blingfire, nupunkt, segtok or biosenter as a base, more
boundaries in biomedical text came out wrong. `tests/sentence_cases.py` is the specification.
"""

import re
import unicodedata
from collections.abc import Iterator

# ---------------------------------------------------------------------------------------------- where a sentence may end

_CLOSE = r"""["'”’»)\]}*_」』）]"""  # brackets, quotes and Markdown emphasis that close with a sentence
_WIDE = "。！？।॥؟۔"  # end marks of other scripts: they end a sentence wherever they stand
_CITED = r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*"
# Citation marks belong to the sentence before them: `fell.[5]`, `fell.12,13`, `fell.^12`, `fell.¹²`.
_ATTACHED = rf"(?:\[{_CITED}\]|(?<=[a-z][a-z)\]][.?!]){_CITED}|\^\d{{1,3}}|[⁰¹²³⁴-⁹⁻]+)"
# A run of marks, what closes with it, also `fell. [13, 16]` where a new sentence follows; then white space, or a next
# sentence glued on (`small.The`, `unclear.AIM:`), as left behind by lost line breaks.
_END = re.compile(
    rf"""(?<![.?!…])(?P<mark>[.?!…]++){_CLOSE}*{_ATTACHED}*
    (?:\s\[{_CITED}\](?=\.?(?:\s+["“(\[]?[A-Z]|\s*$))\.?)?
    (?:\s+|(?<=[a-z)%][.?!])(?=(?P<glued>[A-Z][a-z]*\s)|[A-Z]{{3}}[A-Z &,-]*[:/]))
    | [{_WIDE}]++{_CLOSE}*\s*""",
    re.VERBOSE,
)
_COMPLETE = re.compile(rf"(?P<mark>[.?!…{_WIDE}]){_CLOSE}*{_ATTACHED}*(?:\s?\[{_CITED}\]\.?)?{_CLOSE}*$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that open sentences and are hardly ever names, nouns or the second half of an abbreviation.
_OPENERS = _words(
    """A After All Also Although An And Any As At Because Before Besides Both But By Conversely Currently Despite Do Does
    During Each Even Every Finally First For From Furthermore Given He Hence Her Here His How However I If In Indeed
    Instead Is It Its Later Like Many Moreover Most Next No Nor Not Note Nothing Of On Once One Only Or Other Others Our
    Over Recently Second She Similarly Since So Some Still Such Than That The Their Then There Therefore These They
    Third This Those Though Through Thus To Under Unlike Until Upon We What When Where Whereas Whether Which While Who
    Why With Within Without Yet You Your"""
)
# Words after which a single capital is an initial (`by A. Fleming`) rather than a label (`kappa B. Cells`), and a line
# is not finished.
_FUNCTION = _words(
    """a about after an and are as at be because been before between by de for from had has have he if in into is it
    nor of on or our over per said says she than that the their then they this to under van via von was we were when
    where which while who with within without"""
)
# Never the last word of a sentence: what they announce is still to come.
_ANNOUNCE = _words(
    """approx bv ca cf cv dr e.g eg eq eqs fig figs i.e ie incl mol mr mrs ms mt nos pp prof pv ref refs resp st str subsp
    suppl tab var viz vol vols vs wt"""
)
# The next word tells whether these end a sentence: one of the openers, or (second set) any capitalised word.
_MAYBE = _words(
    """app apr aug capt ch co corp dec dept ed eds feb gen inc jan jr jul jun lt ltd mar nov oct sec sect sep sept sgt
    sr univ"""
)
_MAYBE_BEFORE_NAME = _words("a.m al b.i.d etc i.m i.p i.v p.m p.o s.c sp spp ssp t.i.d")
_LABELLED = re.compile(
    r"(?:App\.|Appendix|Class|Fig\.|Figure|Grade|Group|Hepatitis|Panel|Part|Stage|Table|Type|Vitamin)$"
)
_WORD = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*$")
_QUOTES = re.compile(r"""["'“‘«(\[{*_]*""")
# mRNA, pH, p53, c-Kit, f(x), p.Gly12Asp, c.35G>A, and the panels of a figure: `b Image`, `a–d show`, `(b) Image`, `(a–e)`, `(ii)`
_LOWER_OPENING = re.compile(
    r"[a-z]{1,5}-?[A-Z0-9]|[a-z]\(|[cgmnpr]\.[A-Z0-9]|[a-z] [A-Z]|[a-z][–-][a-z]\s|\((?:[a-z](?:[–-][a-z])?|[ivx]{2,4})\)"
)


def _ends(text: str, start: int, match: re.Match) -> bool:
    """Whether the sentence that began at `start` ends with this mark."""
    dot, rest = match.start(), match.end()
    if rest == len(text):
        return True
    if text[rest] in ".,;:)]}=<>/?!…+±":
        return False
    first = text[_QUOTES.match(text, rest).end() :][:1] if text[rest] in "\"'“‘«([{*_" else text[rest]
    if "a" <= first <= "z" and not _LOWER_OPENING.match(text, rest):
        return False
    if _in_brackets(text, max(start + 1, dot - 400), dot, rest):
        return False
    if match["mark"] != "." or text[dot + 1] in ")]}\"'”’»":
        return True
    before = text[max(start, dot - 80) : dot].rsplit(maxsplit=1)
    word = before[-1].lstrip("([{\"'“‘*_~<>=") if before else ""
    previous = before[0] if len(before) == 2 else ""
    last = previous.rsplit(maxsplit=1)[-1] if previous else ""
    if (
        word.isdigit() and len(word) < 3
    ):  # the `1.` of an enumeration belongs to what follows, but not that of `Fig. 1.`
        return last != "" and (last[-1] not in ".?!:;…" or last.strip("([.").casefold() in _ANNOUNCE)
    return not _WORD.match(word) or _ends_after(word, last, text[rest : rest + 40])


def _ends_after(word: str, last: str, rest: str) -> bool:
    """Whether a sentence ends after `word` and its full stop, between the `last` word before it and the `rest`."""
    if len(word) > 1 and word.isupper() and "." not in word:  # MR, CV, SP are acronyms, unlike `Mr.`, `cv.`, `sp.`
        return True
    key = word.casefold()
    following = re.match(r"[\"'“‘*_]*([^\W_]*)(.?)", rest)
    opener = following[2] != "." and (following[1] in _OPENERS or following[1].endswith("ly") and following[2] == ",")
    if key in _ANNOUNCE:
        return False
    if key in _MAYBE_BEFORE_NAME:  # `Bacillus sp. Akob et al. showed`, but `Bacillus sp. SUK1`
        return opener or re.match(r"[A-Z][a-z]+", following[1]) is not None
    if key in ("no", "p"):
        return not rest[0].isdigit()
    if len(word) == 1:
        if last[-1:].isdigit() or opener or re.match(r"[A-Z] [a-z]", rest):  # `12 h.`, `in G. The`, `of Q. Q is`
            return True
        if word.islower():
            return not rest[0].isdigit()
        noun = last.isalpha() and last.islower() and len(last) > 2 and last not in _FUNCTION
        return noun or _LABELLED.search(last) is not None
    return opener if key in _MAYBE or "." in word and len(word) < 7 else True


def _in_brackets(text: str, start: int, dot: int, rest: int) -> bool:
    """Whether a bracket opened after `start` is still open and closes soon: `(P = 0.3. Not significant)`."""
    for left, right in ("()", "[]"):
        if text.count(left, start, dot) > text.count(right, start, rest):
            close = text.find(right, rest, rest + 200)
            if close >= 0 and text.find(left, rest, close) < 0:
                return True
    return False


def _split(block: str) -> Iterator[str]:
    """Sentences of one block of running text."""
    start = position = 0
    while match := _END.search(block, position):
        glued = match["glued"] and match["glued"].strip() not in _OPENERS
        if match["mark"] is None or not glued and _ends(block, start, match):
            yield block[start : match.end()].strip()
            start = position = match.end()
        else:
            position = match.end("mark")
    if start < len(block):
        yield block[start:]


# ------------------------------------------------------------------------------------------------------ lines and blocks

_BULLET = re.compile(r"(?:[-*+•‣◦▪●·–](?:\s+|$))+")
_NUMBER = re.compile(r"\(?(\d{1,2})[.)](?:\s+|$)")
_RULE = re.compile(r"[-*_=]{3,}|\|[-:| ]+")  # `---`, and the line below a table's head
_HEADING = re.compile(r"#{1,6}\s.*|(\*\*|__)[^*_]+\1:?|\|.*|```.*")  # table rows and code fences stand alone as well
_FINISHED = re.compile(rf"[.?!…:;]{_CLOSE}*$")
_LINE_START = re.compile(r"""["'“‘*_(\[]*[A-Z0-9]""")


def _blocks(text: str) -> Iterator[str]:
    """Stretches that no sentence crosses: paragraphs, list items without their marker, headings, table rows."""
    lines: list[str] = []  # of the block that is open
    item = False  # whether that block is a list item
    for line in text.splitlines():
        line = " ".join(line.split())
        number = _NUMBER.match(line)
        if number and lines and not item and int(number[1]) != 1 and not _FINISHED.search(lines[-1]):
            number = None  # a wrapped line: `aged / 12. He was well.`
        marker = _BULLET.match(line) or number
        rule, heading = _RULE.fullmatch(line), _HEADING.fullmatch(line)
        if marker or rule or heading or not line:
            yield from _close(lines, item)
            lines, item = [], marker is not None
            line = line[marker.end() :] if marker else line
        if heading and not rule:
            yield line
        elif line and not rule:
            lines.append(line)
    yield from _close(lines, item)


def _close(lines: list[str], item: bool) -> Iterator[str]:
    """The open block: one run of text, or line by line where its lines are items that have no full stops."""
    if not lines:
        return
    starts = [_LINE_START.match(line) is not None for line in lines]
    open_end = any(line[-1] in ",-–" or line.rsplit(maxsplit=1)[-1] in _FUNCTION for line in lines[:-1])
    items = len(lines) > 2 and not item and all(starts) and not open_end
    first = 0
    for number in range(1, len(lines)):
        if items or starts[number] and lines[number - 1].endswith((":", ":**")):
            yield " ".join(lines[first:number])
            first = number
    yield " ".join(lines[first:])


# -------------------------------------------------------------------------------------------------------- public functions


def sentences(text: str) -> list[str]:
    """Split text into sentences.

    Made for biomedical prose and for what models write: gene names, species, citations, abbreviations, units and
    initials do not split; lists, headings and line breaks do where they end something.

    Parameters
    ----------
    text : str
        Prose or Markdown, of any length; may be empty, wrapped at any width, or cut off in mid-sentence.

    Returns
    -------
    list of str
        In order, without surrounding white space, inner white space and line wraps folded to one space; none is empty.
        Nothing but layout is lost: list markers (`- `, `* `, `1. `, `2) ` at the start of a line), rules (`---`) and
        the rule below a table's head. Headings, table rows and list items are sentences of their own, with or without
        a full stop: see `is_complete`. A citation mark goes with the sentence before it.

    Notes
    -----
    A line break ends a sentence before a list item, heading, table row or blank line, after a line that ends in a
    colon, and between three or more lines that all begin with a capital or digit and none of which hangs in the air
    (items without full stops). Any other line break is a wrapped line.

    Examples
    --------
    >>> sentences("p50.c-rel binds kappa B. Cells were lysed.")
    ['p50.c-rel binds kappa B.', 'Cells were lysed.']
    """
    found: list[str] = []
    for block in _blocks(text):
        for sentence in _split(block):
            if found and not re.search(r"\w", sentence):  # stray marks: `**`, `)`
                found[-1] += " " + sentence
            else:
                found.append(sentence)
    return found


def is_complete(sentence: str) -> bool:
    """Whether a sentence was brought to its end.

    Parameters
    ----------
    sentence : str
        One element of what `sentences` returns.

    Returns
    -------
    bool
        True for a final `.`, `?`, `!` or `…` (or `。`, `।`, `؟` …), also before closing quotes, brackets, emphasis and citation marks
        (`fell.[5]`, `fell.¹²`). False for headings, list items without a mark, a lone number (`2.`), and text that
        stops at an abbreviation which announces more (`see Fig.`, `e.g.`).
    """
    tail = sentence.rstrip()[-80:]
    match = _COMPLETE.search(tail)
    if match is None or not re.search(r"[^\W\d_]", tail):
        return False
    words = tail[: match.start()].split()
    return match["mark"] != "." or not words or words[-1].lstrip("([\"'“‘*_").casefold() not in _ANNOUNCE


_ASCII = str.maketrans({**dict.fromkeys("‘’‚‛ʼ", "'"), **dict.fromkeys("“”„‟", '"'), **dict.fromkeys("‐‑‒–—―", "-")})


def normalise(text: str) -> str:
    """The same text written the same way: for showing, and for matching that minds case.

    Unicode NFKC (ligatures, full-width forms, superscripts), curly quotes and the dashes U+2010 to U+2015 in ASCII,
    every stretch of white space one space, none at the ends. All else is kept.
    """
    return " ".join(unicodedata.normalize("NFKC", text).translate(_ASCII).split())


def fold(text: str) -> str:
    """The form in which two strings are compared: `normalise`, without case.

    `Foltyn‐Dumitru` (U+2010) and `FOLTYN-DUMITRU`, `O’Connor` and `o'connor`, `A …\\n  B` and `a ... b` are the same.
    """
    return normalise(normalise(text).casefold())
