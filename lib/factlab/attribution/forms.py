"""The forms in which titles and names are compared: without TeX, mark-up, case, accents, dashes and punctuation.

The layer under `titles` and `names`. REASONS takes its gold titles and authors from a search service and its sentences
from LaTeX and PDF, so the same title comes as `Schr\\"odinger`, `Schrödinger` and `Schrodinger`, in one line or in two.
"""

import html
import re
import unicodedata
from functools import lru_cache

from factlab.text import normalise

# --- TeX ---------------------------------------------------------------------------------------------------------

_MARKS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a", "b": "\u0331",
    "d": "\u0323",
}  # fmt: skip
# `\'e`, `\'{e}`, `{\'e}`, `\"{\i}`; an accent named by a letter needs braces or a space: `\v{s}`, `\c c`.
_ACCENT = re.compile(
    r"""\\(?:(?P<sign>['`^"~=.])\s*(?:\{\s*(?P<s1>\\?[A-Za-z])\s*\}|(?P<s2>\\?[A-Za-z]))
    |(?P<letter>[cvuHkrbd])(?:\s*\{\s*(?P<l1>\\?[A-Za-z])\s*\}|\s+(?P<l2>\\?[A-Za-z])))""",
    re.VERBOSE,
)
_LETTERS = {
    "ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å",
    "AA": "Å", "i": "i", "j": "j", "dh": "ð", "th": "þ", "dj": "đ", "ell": "l", "times": "x", "infty": "infinity",
    "ldots": "...", "dots": "...", "textendash": "-", "textemdash": "-", "textquoteright": "'", "and": " and ",
}  # fmt: skip
_DROPPED = re.compile(r"\\(?:footnote(?:mark)?|thanks|cite\w*|label|ref|vspace|hspace)\*?\s*(?:\[[^\]]*\])?\{[^{}]*\}")
_STYLE = re.compile(
    r"(?:text|math)\w*|emph|it|itshape|bf|bfseries|rm|sc|scshape|tt|em|sf|sl|[lL]arge|LARGE|small|mbox|hbox|left|right"
    r"|ensuremath|operatorname|protect|relax|displaystyle|boldsymbol|bm|pmb|[mM]ake[uU]ppercase|uppercase|lowercase"
    r"|NoCaseChange|underline|url|href|hat|bar|tilde|vec|noopsort|newline|linebreak|break|quad|qquad|to|xspace|hfill"
)
_COMMAND = re.compile(r"\\(?P<name>[A-Za-z]+)\*?(?P<gap>\s*)")


def _accented(match: re.Match) -> str:
    base = (match["s1"] or match["s2"] or match["l1"] or match["l2"]).lstrip("\\")
    return unicodedata.normalize("NFC", base + _MARKS[match["sign"] or match["letter"]])


def _named(match: re.Match) -> str:
    name = match["name"]
    if name in _LETTERS:
        return _LETTERS[name]
    if _STYLE.fullmatch(name):
        return ""
    return f"{name.removeprefix('var')} " if match["gap"] or match.end() < len(match.string) else name


def without_tex(text: str) -> str:
    """Text as TeX would print it, roughly: accents and letters in Unicode, commands and braces gone, maths by name.

    `Erd\\H{o}s~P.` becomes `Erdős P.`, `$\\ell_1$-norm` `l1-norm`, `{BERT}` `BERT`, `\\emph{In vivo}` `In vivo`. Text
    without any of ``\\ { } $ ~`` is returned as it is.
    """
    if not re.search(r"[\\{}$~]", text):
        return text
    text = _DROPPED.sub("", text)
    text = re.sub(r"\\\\(?=\s|$)", " ", text).replace("\\-", "")
    text = _ACCENT.sub(_accented, text)
    text = re.sub(r"\\([&%#_$])", r" \1 " if "\\&" in text else r"\1", text)
    text = _COMMAND.sub(_named, text)
    text = re.sub(r"\\[,;:! ()\[\]{}]", " ", text).replace("\\", "")
    text = text.replace("``", '"').replace("''", '"').replace("~", " ")
    if "$" in text:  # outside of maths an underscore is an underscore
        text = re.sub(r"[\^_](?=[\w{+-])", "", text)
    return re.sub(r"[{}$]", "", text)


# --- words -------------------------------------------------------------------------------------------------------

_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|sub|sup|sc|scp|tt|span|italic|bold|mml:\w+|inline-formula)(?:\s[^<>]*)?/?>", re.I
)
_STROKES = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        "ı": "i",
        "ħ": "h",
        "×": "x",
        "∞": "infinity",
    }
)
_GREEK = str.maketrans(
    {
        chr(point): f" {unicodedata.name(chr(point)).rsplit(' ', 1)[-1].casefold()} "
        for point in range(0x3B1, 0x3CA)
        if chr(point) != "ς"
    }
    | {"ς": " sigma ", "λ": " lambda "}  # Unicode spells it LAMDA
)
# Vowel signs of Indic, Thai and Arabic scripts are marks, not letters, and belong to their word all the same.
_INNER = r"(?:[^\W_]|[\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0dff\u0e31-\u0e4e])"
_WORD = re.compile(rf"\d+(?:\.\d+)+|{_INNER}+(?:\+\+|\#)?")
_ASCII_WORD = re.compile(r"\d+(?:\.\d+)+|[a-z0-9]+(?:\+\+|#)?")
_APOSTROPHES = re.compile(r"(?<=\w)['`´ʻʼ′](?=\w)")


def without_accents(text: str) -> str:
    """Latin, Greek and Cyrillic letters without their accents, and the letters with a stroke as a typewriter has them."""
    if text.isascii():
        return text
    kept, base = [], ""
    for character in unicodedata.normalize("NFD", text):
        if not unicodedata.combining(character):
            base = character
        elif base and unicodedata.name(base, "").startswith(("LATIN", "GREEK", "CYRILLIC")) and base not in "иИ":
            continue  # й is a letter of its own
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_STROKES)


@lru_cache(maxsize=1 << 16)
def words(text: str) -> tuple[str, ...]:
    """The words of a title (or of names) in comparison form.

    Lower case, no accents, TeX, HTML, apostrophes or punctuation; a hyphen or dash parts words; `&` is the word and;
    Greek letters are spelled. A point inside a number and what follows a letter in `C++` and `C#` are kept.
    """
    if "&" in text or "<" in text:
        text = _TAG.sub("", html.unescape(text))
    text = without_accents(normalise(without_tex(text)).casefold())
    text = _APOSTROPHES.sub("", text.replace("&", " and "))
    if text.isascii():
        return tuple(_ASCII_WORD.findall(text))
    text = without_accents(normalise(text.translate(_GREEK)).casefold())
    return tuple(_WORD.findall(text))


@lru_cache(maxsize=1 << 16)
def squeezed(text: str) -> str:
    """The words of a title run together: `Pre-training`, `Pretraining` and `Pre training` are one title's spelling.

    Digits of two words stay apart (`GPT-3 5` is not `GPT-35`). A title without any word keeps its signs.
    """
    found = words(text)
    if not found:
        return normalise(text).casefold()
    joined = found[0]
    for word in found[1:]:
        joined += f" {word}" if joined[-1].isdigit() and word[0].isdigit() else word
    return joined
