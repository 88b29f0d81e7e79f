"""Tokens in the manner of the Penn Treebank, as NLTK's `word_tokenize` gives them.

REASONS' released code counts these, with their case and with punctuation as tokens of its own. The rules are written
anew, so that scoring needs neither NLTK nor its data; tests compare with NLTK where it is installed.
"""

import re
from functools import lru_cache

from factlab.text import sentences

# One token of a sentence, left to right. A comma or colon before a digit belongs to its number; other points stay inside.
_SCAN = re.compile(
    r"\.{2,}|--|``|''"
    r"|[«»“”‘’„;@#$%&?!*\[\](){}<>\"`]"
    r"|[:,](?!\d)"
    r"|(?:(?!\.{2,}|--|``|'')[^\s«»“”‘’„;@#$%&?!*\[\](){}<>\"`:,]|[:,](?=\d))+"
)
_ENDING = re.compile(r"(?<=[^' ])(?:n't|'(?:ll|re|ve|[smd])|')$", re.IGNORECASE)
_FINAL = re.compile(r"(?<!\.)\.(?=[\])}>\"'»”’ ]*$)")
_COMPOUND = {"cannot": 3, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "wanna": 3, "d'ye": 1, "more'n": 4}


def _word(token: str, quoted: bool) -> list[str]:
    """A run of letters as tokens: an opening quote, contractions and endings taken off."""
    opens = not quoted and token[0] == "'" and len(token) > 1
    if opens and not re.fullmatch(r"'(?:re|ve|ll|m|t|s|d|n)", token, re.IGNORECASE):
        return ["'", *_word(token[1:], False)]
    cut = _COMPOUND.get(token.casefold())
    if cut:
        return [token[:cut], token[cut:]]
    ending = _ENDING.search(token)
    if ending and ending.start():
        return [*_word(token[: ending.start()], True), ending[0]]
    return [token]


def _sentence(text: str) -> list[str]:
    final = _FINAL.search(text)
    if final and final.start() > 0:
        text = f"{text[: final.start()]} . {text[final.end() :]}"
    tokens: list[str] = []
    for found in _SCAN.finditer(text):
        token = found[0]
        if token in ('"', "''"):
            before = text[found.start() - 1 : found.start()]
            tokens.append("``" if not before or before in " ([{<" else "''")
        elif len(token) > 1 and not re.fullmatch(r"\.{2,}|--|``|''", token):
            tokens += _word(token, False)
        else:
            tokens.append(token)
    return tokens


@lru_cache(maxsize=1 << 16)
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text, with their case.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple of str
        `Don't stop: "now".` gives `Do n't stop : `` now '' .`

    Notes
    -----
    NLTK first parts sentences with a trained model (Punkt); here `text.sentences` does, and only where a full stop stands
    inside the text, since it decides nothing but whether that stop is a token.
    """
    text = " ".join(text.split())
    parts: list[str] = []
    for part in sentences(text) if ". " in text else [text]:
        # after a single letter (`Eric P. Xing`, `A v. B`) Punkt sees no end
        if parts and re.search(r"(?:^|\W)\w\.$", parts[-1]):
            parts[-1] += f" {part}"
        else:
            parts.append(part)
    return tuple(token for part in parts for token in _sentence(part))
