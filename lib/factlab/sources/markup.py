"""From JATS markup to plain prose: what stays in the line, what breaks it, and what floats beside it.

Journal articles of PubMed Central and others come as JATS (or its forerunner, the NLM archiving DTD, 2.x). Elements go
in with local names only (see `parsing.parse`); paragraphs of plain text and `Float`s come out. Every word of the source
is in one of the two, except what a reader of the printed page would not see (`HIDDEN`).

Conventions for text that plain characters cannot show

* Subscripts stand on the line: ``H<sub>2</sub>O`` is "H2O", ``C<sub>max</sub>`` is "Cmax". Where two digits would meet
  and read as another number, "_" or a space keeps them apart: ``x1<sub>2</sub>`` is "x1_2".
* Superscripts become Unicode superscripts where every character has one ("m²", "10⁻³", "Ca²⁺", "¹⁸F"), ordinals and
  marks stay as they are ("1st", "®"), all others take a caret ("p53^R175H", "^{99x}Tc").
* Where the source glues a word to a script (``m<sup>2</sup>of``), a space is put between.
* White space of any kind is one space; soft hyphens and spaces of no width are removed.
* A formula is written on one line from its MathML, else its TeX, else its text; one that exists only as a picture
  leaves "[…]" in its place, and is counted.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from .formulas import bare_tex, linear_math

# Marks for the second pass; XML 1.0 forbids these characters, so that no article can hold them.
_SUP, _SUP_END, _SUB, _SUB_END, _BREAK, _GAP = "\x01", "\x02", "\x03", "\x04", "\x05", "\x06"

NO_FORMULA = "[…]"

# Not seen by a reader of the article: machine-readable doubles, descriptions for other media, rights of single floats.
HIDDEN = frozenset(
    [
        "alt-text",
        "long-desc",
        "object-id",
        "index-term",
        "index-term-range-end",
        "sec-meta",
        "permissions",
        "inline-graphic",
        "inline-media",
        "processing-meta",
        "ref-list",
        "col",
        "colgroup",
        "annotation",
        "annotation-xml",
    ]
)
FLOATS = {
    "fig": "figure",
    "fig-group": "figure",
    "table-wrap": "table",
    "table-wrap-group": "table",
    "table": "table",
    "array": "table",
    "tgroup": "table",
    "boxed-text": "box",
    "supplementary-material": "supplement",
    "inline-supplementary-material": "supplement",
    "media": "media",
    "graphic": "figure",
    "chem-struct-wrap": "structure",
    "fn": "footnote",
}
BLOCKS = frozenset(
    [
        "p",
        "sec",
        "title",
        "subtitle",
        "list",
        "list-item",
        "def-list",
        "def-item",
        "def-head",
        "term-head",
        "disp-quote",
        "attrib",
        "statement",
        "speech",
        "speaker",
        "verse-group",
        "verse-line",
        "preformat",
        "code",
        "disp-formula-group",
        "question",
        "question-wrap",
        "answer",
        "answer-set",
        "explanation",
        "option",
        "table-wrap-foot",
        "sig-block",
        "sig",
        "notes",
        "ack",
        "app",
        "app-group",
        "glossary",
        "bio",
        "fn",
        "fn-group",
        "caption",
        "tr",
        "row",
        "textual-form",
        "abstract",
        "trans-abstract",
        "kwd-group",
        "block-alternatives",
    ]
)
_FORMULAS = frozenset(["inline-formula", "disp-formula", "math", "tex-math"])
_TABLES = frozenset(["table-wrap", "table", "array", "tgroup"])
# What `_table` has read; `alternatives` holds a table and its picture.
_TABLE_PARTS = ("table", "tgroup", "alternatives", "thead", "tbody", "tfoot", "tr")
_MAY_BE_EMPTY = frozenset(["table", "array", "tgroup", "media", "graphic", "fig-group", "table-wrap-group", "fn"])
_LABELLED = frozenset(["list-item", "fn", "statement", "verse-group"])
_IN_LINE_FLOATS = frozenset(["fn", "inline-supplementary-material"])


@dataclass(frozen=True)
class Float:
    """A figure, table, box, supplement or footnote, taken out of the running text.

    Parameters
    ----------
    kind : str
        "figure", "table", "box", "supplement", "media", "structure" or "footnote".
    id, label, caption : str
        As printed; empty where there is none. The caption's title and paragraphs are separated by blank lines.
    text : str
        What else can be read in it. Of a table: one row a line, cells separated by tabs, then its notes.
    """

    kind: str
    id: str
    label: str
    caption: str
    text: str


@dataclass
class Beside:
    """What the reading of one article collects beside its prose."""

    floats: list[Float] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)


def text_of(element) -> str:
    """All text of an element on one line; what floats in it is left out. None gives an empty string."""
    return " ".join(paragraphs_of(element, Beside())) if element is not None else ""


def paragraphs_of(element, beside: Beside) -> list[str]:
    """The paragraphs of an element, in order; floats found in it are added to `beside`."""
    return _split(_content(element, beside))


def paragraphs_of_child(element, beside: Beside) -> list[str]:
    """As `paragraphs_of`, for an element met among its siblings: a figure yields a float and no paragraph."""
    return _split(_render(element, beside))


def loose(text: str | None) -> list[str]:
    """Text between elements, as a paragraph, if there is any."""
    return _split(text or "")


def _content(element, beside: Beside, leave_out: frozenset[str] = frozenset()) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag not in leave_out:
            parts.append(_render(child, beside))
        parts.append(child.tail or "")
    return "".join(parts)


def _render(element, beside: Beside) -> str:
    tag = element.tag
    if tag in HIDDEN:
        return ""
    if tag in FLOATS and not (tag == "fn" and _is_listed_note(element)):
        _take_out(element, beside)
        return "" if tag in _IN_LINE_FLOATS else _GAP
    if tag in _FORMULAS:
        return _GAP + _formula(element, beside) + _GAP
    if tag == "sup":
        return _SUP + _content(element, beside) + _SUP_END
    if tag == "sub":
        return _SUB + _content(element, beside) + _SUB_END
    if tag in ("break", "hr"):
        return " "
    if tag == "rt" or (tag == "def" and _is_in_line(element)):
        return f" ({text_of(element)})"
    if tag == "label":
        return _content(element, beside) + " "
    if tag == "alternatives":
        return _alternatives(element, beside)
    if tag in _LABELLED and element.find("label") is not None:
        label, rest = text_of(element.find("label")), _content(element, beside, leave_out=frozenset(["label"]))
        return f"{_BREAK}{label} {rest.lstrip(_BREAK + ' ')}{_BREAK}"
    if tag == "def-item":
        return _BREAK + _definition(element, beside) + _BREAK
    if tag in BLOCKS:
        return _BREAK + _content(element, beside) + _BREAK
    return _content(element, beside)


def _is_in_line(definition) -> bool:
    parent = definition.getparent()
    return parent is not None and parent.tag == "abbrev"


def _is_listed_note(element) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag in ("fn-group", "table-wrap-foot", "author-notes")


def _alternatives(element, beside: Beside) -> str:
    """The first version of several that has something to read."""
    known = len(beside.floats)
    for child in element:
        rendered = _render(child, beside)
        if _visible(rendered) or len(beside.floats) > known:
            return rendered
    return ""


def _visible(marked: str) -> bool:
    return bool(marked.strip(_BREAK + _GAP + " \t\r\n"))


def _definition(element, beside: Beside) -> str:
    term = " ".join(" ".join(paragraphs_of(child, beside)) for child in element.iterchildren("term"))
    first, *more = [part for child in element.iterchildren("def") for part in paragraphs_of(child, beside)] or [""]
    mark = "" if not term or not first or term[-1] in ":.;,=–—" else ":"
    return _BREAK.join([f"{term}{mark} {first}", *more])


# --- floats -------------------------------------------------------------------------------------------------------


def _take_out(element, beside: Beside) -> None:
    """Add an element, and what floats inside it, to the floats."""
    label = text_of(element.find("label"))
    captions = [part for child in element.iterchildren("caption") for part in paragraphs_of(child, beside)]
    place = len(beside.floats)
    rest = _table(element, beside) if element.tag in _TABLES else ""
    inside = frozenset(["label", "caption", *(_TABLE_PARTS if element.tag in _TABLES else ())])
    rest = "\n\n".join([rest, *_split(_content(element, beside, leave_out=inside))]).strip("\n")
    taken = Float(FLOATS[element.tag], element.get("id", ""), label, "\n\n".join(captions), rest)
    if element.tag in _MAY_BE_EMPTY and not (taken.label or taken.caption or taken.text):
        return  # a mere wrapper, or the link to a file: nothing in it to read
    beside.floats.insert(place, taken)


def _table(element, beside: Beside) -> str:
    """Rows as lines, cells between tabs."""

    def depth(node) -> int:
        return sum(1 for _ in node.iterancestors("td", "th", "entry"))

    own = [row for row in element.iter("tr", "row") if depth(row) == depth(element)]
    rows = ([" ".join(paragraphs_of(cell, beside)) for cell in row] for row in own)
    return "\n".join("\t".join(cells) for cells in rows)


# --- second pass: scripts, white space, paragraphs ------------------------------------------------------------------

_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_RAISED = dict(zip("0123456789+−=()nm", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿᵐ", strict=True))
_MARKS = _SUP + _SUP_END + _SUB + _SUB_END
_DASHES = "-‐‑–−"
_ORDINALS = frozenset(["st", "nd", "rd", "th"])
_SCRIPT = re.compile(f"([{_SUP}{_SUB}])([^{_SUP}-{_SUB_END}]*)[{_SUP_END}{_SUB_END}]")
_WORD_FOLLOWS = re.compile(f"[{_MARKS}]*[A-Z]?[a-z]{{2,}}")
_GAPS = re.compile(rf"[ {_GAP}]*{_GAP}[ {_GAP}]*")


def _split(marked: str) -> list[str]:
    if not marked.isascii():
        marked = marked.translate(_UNSEEN)
    return [text for text in (_line(part) for part in marked.split(_BREAK)) if text]


def _line(marked: str) -> str:
    text = " ".join(marked.split())
    if _SUP in text or _SUB in text:
        # Space just inside a script belongs outside of it: "R<sup>2 </sup>=".
        text = re.sub(f"([{_SUP}{_SUB}]) ", r" \1", text)
        text = re.sub(f" ([{_SUP_END}{_SUB_END}])", r"\1 ", text)
        while (new := _SCRIPT.sub(_script, text)) != text:
            text = new
    if _GAP in text:
        text = _GAPS.sub(lambda m: "" if m.string[m.end() : m.end() + 1] in tuple(",.;:)]") else " ", text)
    return " ".join(text.split())


def _script(match: re.Match) -> str:
    kind, content = match[1], match[2].strip()
    if not content:
        return " " if match[2] else ""
    before = match.string[: match.start()].rstrip(_MARKS)[-1:]
    rest = match.string[match.end() :]
    after = rest.lstrip(_MARKS)[:1]
    space = " " if _WORD_FOLLOWS.match(rest) else ""
    if kind == _SUB:
        start = "_" if before.isdecimal() and content[0].isdecimal() else ""
        return start + content + (" " if content[-1].isdecimal() and after.isdecimal() and rest[0] != _SUP else space)
    if raised := _raise(content):
        touching = match.string[match.start() - 1] == _SUP_END or before in _RAISED.values()
        start = " " if touching and before.isdigit() and content[0].isdecimal() else ""
        return start + raised + (space if before.isalnum() or before in tuple(")]") else "")
    if (content in _ORDINALS and before.isdecimal()) or not any(c.isalnum() for c in content):
        return content + space
    if not before and after.isalnum():
        space = " "  # the mark that opens a note: "<sup>a</sup>In a recent …"
    braced = " " in content or (after.isalnum() and not space)
    return ("^{" + content + "}" if braced else "^" + content) + space


def _raise(content: str) -> str | None:
    """Unicode superscripts, or None unless every character has one. A dash is a minus only at either end."""
    if content[0] in _DASHES:
        content = "−" + content[1:]
    if content[-1] in _DASHES:
        content = content[:-1] + "−"
    # "m" for metastable isotopes alone (99m): a raised "mm" or "m" of any other kind is a word.
    if not re.fullmatch(r"\d+m|[^m]+", content) or not all(c in _RAISED for c in content):
        return None
    return "".join(_RAISED[c] for c in content)


# --- formulas -------------------------------------------------------------------------------------------------------


def _formula(element, beside: Beside) -> str:
    math = next(element.iter("math"), None)
    tex = next(element.iter("tex-math"), None)
    if (
        math is not None
        and (text := linear_math(math))
        or tex is not None
        and (text := bare_tex("".join(tex.itertext())))
    ):
        pass
    else:
        text = _content(element, beside, leave_out=frozenset(["label", "alternatives"]))
        if not _visible(text):
            text = NO_FORMULA
            beside.counts["formula"] += 1
    label = element.find("label")
    return text if label is None else f"{text} {text_of(label)}"
