"""Accents, symbols and formulas as plain characters.

Here pylatexenc (MIT) serves: its tables know more than a thousand symbols, and it writes a formula on one line. The rest of
the reader is our own, since pylatexenc expands no macros, follows no conditionals, and has no notion of a section, a
citation or a file that is one of several.
"""

import functools
import re
import unicodedata

_ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    '"': "\u0308",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "u": "\u0306",
    "v": "\u030c",
    "H": "\u030b",
    "c": "\u0327",
    "d": "\u0323",
    "b": "\u0331",
    "r": "\u030a",
    "k": "\u0328",
}
ACCENTS = frozenset(_ACCENTS)

# Commands of one character, and a few that pylatexenc has no text for.
SYMBOLS = {
    "\\": " ",
    " ": " ",
    "\n": " ",
    "\t": " ",
    ",": " ",
    ";": " ",
    ":": " ",
    ">": " ",
    "!": "",
    "/": "",
    "-": "",
    "@": "",
    "%": "%",
    "&": "&",
    "$": "$",
    "#": "#",
    "_": "_",
    "{": "{",
    "}": "}",
    "|": "",
    "S": "§",
    "P": "¶",
    "dag": "†",
    "ddag": "‡",
    "dots": "…",
    "copyright": "©",
    "textregistered": "®",
    "texttrademark": "™",
    "textbullet": "•",
    "i": "ı",
    "j": "ȷ",
    "quad": " ",
    "qquad": " ",
    "enspace": " ",
    "thinspace": " ",
    "space": " ",
    "nobreakspace": " ",
    "newline": " ",
    "linebreak": " ",
    "tabularnewline": " ",
    "TeX": "TeX",
    "LaTeX": "LaTeX",
    "LaTeXe": "LaTeX2e",
    "BibTeX": "BibTeX",
    "texttildelow": "~",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "slash": "/",
    "nobreakdash": "",
    "textendash": "–",
    "textemdash": "—",
    "ldots": "…",
    "textellipsis": "…",
    "bibnamedelima": " ",
    "bibnamedelimb": " ",
    "bibnamedelimc": " ",
    "bibnamedelimd": " ",
    "bibnamedelimi": " ",
    "bibinithyphendelim": "-",
    "bibinitperiod": ".",
    "bibinitdelim": " ",
    "bibrangedash": "–",
    "eg": "e.g.",  # of the style of CVPR and others; these stand here for papers that come without it
    "ie": "i.e.",
    "etal": "et al.",
    "etc": "etc.",
    "wrt": "w.r.t.",
    "vs": "vs.",
    "cf": "cf.",
    "Eg": "E.g.",
    "Ie": "I.e.",
}


def accented(accent: str, base: str) -> str:
    """The base with an accent on its first letter, as one character where Unicode has it."""
    base = base.strip().replace("ı", "i", 1).replace("ȷ", "j", 1) if accent not in "cdbk" else base.strip()
    if not base:
        return "" if accent not in "~^" else accent
    return unicodedata.normalize("NFC", base[0] + _ACCENTS[accent] + base[1:])


@functools.lru_cache(maxsize=1)
def _converter():
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False, keep_comments=False)


@functools.lru_cache(maxsize=4096)
def symbol(name: str) -> str | None:
    """The character that a control word stands for; None where it stands for none."""
    if name in SYMBOLS:
        return SYMBOLS[name]
    if not name.isalpha():
        return None
    text = _converter().latex_to_text("\\" + name + "{}").strip()
    return text if 0 < len(text) <= 2 and not text.isascii() else None


_OPERATORS = re.compile(
    r"(\\(?:log|ln|exp|sin|cos|tan|max|min|sup|inf|lim|det|dim|ker|arg|Pr|operatorname\*?\s*\{[^{}]*\}))(?=\s*[\w\\])"
)
_SCRIPT = re.compile(r"([_^])\{(?!\s*\\[A-Za-z]+\s*\})([^{}]{2,})\}")
_FRACTION = re.compile(r"\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_FACES = re.compile(
    "[\U0001d400-\U0001d7ff\u2102\u210a-\u210d\u2110-\u2112\u2115\u2119-\u211d\u2124\u2128\u212c\u212d\u212f-\u2134]"
)
_SIZES = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|nonumber|notag)(?![A-Za-z])\.?"
)
MAX_FORMULA = 20_000  # characters of TeX; beyond it a formula is a table of numbers


def _term(source: str) -> str:
    """A numerator or denominator: in brackets where it has several terms."""
    return f"({source.strip()})" if re.search(r"[^\W_]\s*[-+=*/\s]\s*[\w\\]", source.strip()) else source.strip()


@functools.lru_cache(maxsize=4096)
def formula(source: str) -> str:
    """A formula on one line: `\\frac{a}{b}` is "a/b", `x_{ij}^{2}` is "x_(ij)^2", `\\mathcal{O}(n)` is "O(n)".

    Letters in other type faces are plain letters (bold, script and blackboard letters are for the eye). "[…]" stands for
    one that cannot be read, or is longer than `MAX_FORMULA`.
    """
    if len(source) > MAX_FORMULA:
        return "[…]"
    source = re.sub(r"\\(?:label|tag\*?|nonumber|vspace\*?|hspace\*?)\s*\{[^{}]*\}", "", source)
    source = _SIZES.sub("", source)
    source = re.sub(r"\\(?:underbrace|overbrace|mbox|text|textrm|mathrm|textbf|textit)\s*(?=\{)", r"\\text", source)
    source = _OPERATORS.sub(r"\1\\ ", source)
    source = re.sub(r"\\operatorname\*", r"\\operatorname", source)
    source = re.sub(r"(?<!\\)&", " ", source)
    for _ in range(4):  # the inner ones first
        source = _FRACTION.sub(lambda match: f" {_term(match[1])}/{_term(match[2])} ", source)
    source = _SCRIPT.sub(r"\1{(\2)}", source)
    try:
        text = _converter().latex_to_text(f"${source}$" if "$" not in source else source)
    except Exception:  # whatever it cannot take (deep nesting, stray marks) must not stop a paper
        return "[…]"
    text = _FACES.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return re.sub(r"\s+", " ", text).strip()
