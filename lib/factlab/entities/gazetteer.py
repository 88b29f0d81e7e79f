"""A gazetteer of medical terms: diseases, drugs, anatomy, findings, procedures, tests and organisms.

The lists in `terms/` were written for this project, one term a line with its synonyms behind bars. Words are compared in one
spelling (British and American, singular and plural, accents, hyphens), acronyms as they are written. The longest term
wins; there is no model, and no sense of context: `cold` in "a cold room" would be one if it were listed.

A site and what is wrong there are two terms where the whole is no more than both (`chest` and `pain`, `rib` and `fractures`), as
in LExT's Table 2; what has a name of its own is one (`lung cancer`, `neuropathic pain`). Numbers, doses, units, ages and
routes are not tagged: the 41 types of the paper's tagger include some of them, but Table 2 shows none.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from importlib import resources

from factlab.entities.tables import Entity

types = ("anatomy", "disease", "drug", "finding", "organism", "procedure", "test")
_FILES = {
    "diseases": "disease",
    "drugs": "drug",
    "anatomy": "anatomy",
    "findings": "finding",
    "procedures": "procedure",
    "tests": "test",
    "organisms": "organism",
}
_MARKS = "\u0300-\u036f"  # combining accents belong to the letter before them
_TOKEN = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*(?:['’]s(?![^\W_]))?")
_GAP = re.compile(r"[ \t\u00a0]*(?:[-‐‑–−][ \t]*|['’] |\r?\n)?[ \t\u00a0]*")
_INITIAL = re.compile(r"\.[ \u00a0]?")


def tag(text: str) -> list[Entity]:
    """The medical terms of a text.

    Parameters
    ----------
    text : str
        Prose; may be empty.

    Returns
    -------
    list of Entity
        In order, without overlap: start, end (in characters: `text[start:end]`), text, type (one of `types`) and canonical,
        the name that synonyms share. At each place the longest term is taken.

    Notes
    -----
    Whole words only. Any case, except for acronyms: `MI` is one, `mi` is not, and `IT` is none. A term goes over one line
    break, not over a comma, full stop or bracket (but `C. difficile` is whole).

    Examples
    --------
    >>> [(e.text, e.type, e.canonical) for e in tag("Heart attacks are MIs.")]
    [('Heart attacks', 'disease', 'myocardial infarction'), ('MIs', 'disease', 'myocardial infarction')]
    """
    first, acronyms = _index()
    tokens = [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text)]
    keys = [_key(word) for word, _, _ in tokens]
    found, i, n = [], 0, len(tokens)
    while i < n:
        taken = 1
        hit = None
        for rest, entry in first.get(keys[i], ()):
            end = i + 1 + len(rest)
            if not rest or (keys[i + 1 : end] == rest and _joined(text, tokens[i:end])):
                hit, taken = entry, 1 + len(rest)
                break
        if taken == 1 and (acronym := _acronym(tokens, i, acronyms)):
            hit = acronym
        if hit and hit[0]:
            start, end = tokens[i][1], tokens[i + taken - 1][2]
            if text[end - 2 : end] in ("'s", "’s"):
                end -= 2
            found.append(Entity(start, end, text[start:end], *hit))
        i += taken
    return found


def terms() -> list[tuple[str, str, tuple[str, ...]]]:
    """The gazetteer itself: (type, canonical, synonyms) of every term, in the order of the lists."""
    return [
        (kind, forms[0], tuple(forms[1:])) for name, kind in _FILES.items() for forms in _lines(name)
    ]  # fmt: skip


def _lines(name: str) -> Iterator[list[str]]:
    content = resources.files("factlab.entities").joinpath("terms", f"{name}.txt").read_text(encoding="utf-8")
    for line in content.splitlines():
        if line.strip() and not line.startswith("#"):
            yield [form.strip() for form in line.split("|")]


# --- one spelling -------------------------------------------------------------------------------------------------------

_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "μ": "mu"}
_AMERICAN = [
    (re.compile(pattern), by)
    for pattern, by in (
        ("ae|oe", "e"),
        ("sulph", "sulf"),
        ("leuc", "leuk"),
        (r"(?<=[mnbvldg])our(?=s?$|al)", "or"),
        (r"tre(?=s?$)", "ter"),
        (r"re(?=s?$)(?<=fibre)", "er"),
        (r"is(?=e[ds]?$|ing$|er$|ation$|ations$)", "iz"),
        (r"(?<=al)ys(?=e[ds]?$|ing$)", "yz"),
        (r"mme(?=s?$)", "m"),
    )
]
# Plurals that no rule makes.
_PLURALS = dict(
    re.findall(
        r"(\w+)/(\w+)",
        """bacteria/bacterium atria/atrium ganglia/ganglion diverticula/diverticulum ova/ovum septa/septum foci/focus
    nuclei/nucleus thrombi/thrombus emboli/embolus bronchi/bronchus fungi/fungus bacilli/bacillus cocci/coccus testes/testis
    feet/foot teeth/tooth calculi/calculus alveoli/alveolus villi/villus phalanges/phalanx larynges/larynx cortices/cortex
    stomata/stoma carcinomata/carcinoma sera/serum lice/louse calves/calf mitochondria/mitochondrion menisci/meniscus
    glomeruli/glomerulus spermatozoa/spermatozoon humeri/humerus uteri/uterus criteria/criterion knives/knife
    """,
    )
)


@functools.lru_cache(maxsize=500_000)
def _key(word: str) -> str:
    """A word in the spelling in which it is looked up, the same for its plural; not a word to show."""
    if word[-2:] in ("'s", "’s"):
        word = word[:-2]
    folded = word.casefold()
    if not folded.isascii():
        folded = "".join(_GREEK.get(c, c) for c in unicodedata.normalize("NFKD", folded))
        folded = re.sub(f"[{_MARKS}]", "", folded)
    folded = _PLURALS.get(folded, folded)
    if len(folded) < 4:
        return folded
    if folded.endswith("ae"):  # vertebrae, fibulae
        folded = folded[:-1]
    if len(folded) > 4:
        for pattern, by in _AMERICAN:
            folded = pattern.sub(by, folded)
    return _singular(folded)


def _singular(word: str) -> str:
    """Cut so that singular and plural come out the same: biopsy and biopsies, diagnosis and diagnoses, mass and masses."""
    if len(word) > 4:
        if word.endswith("ies"):
            return word[:-3] + "y"
        if word.endswith(("ses", "sis", "zes", "xes")):
            return word[:-2]
        if word.endswith(("se", "ze")):
            return word[:-1]
        if word.endswith(("ches", "shes")):
            return word[:-2]
    if word.endswith("s") and word[-2:] not in ("ss", "us", "is"):
        return word[:-1]
    return word


# --- looking up ---------------------------------------------------------------------------------------------------------

# Acronyms that are words too: none where everything around them is in capitals.
_WORDS = frozenset({"ALL", "AIDS", "PET", "PAD", "HIT", "CAT", "TENS"})
_PREFIX = re.compile(r"\b(pre|post|anti|non|intra|peri|sub|micro|hyper|hypo)(?=[a-z]{4})", re.IGNORECASE)
_Entry = tuple[str, str]


def is_acronym(form: str) -> bool:
    """Whether a form is written in capitals to be read as one: `MI`, `BRCA1`, `PrEP`, not `Crohn` or `HbA1c`."""
    if not form.isalnum() or sum(c.isupper() for c in form) < 2:
        return False
    return form.upper() == form or len(form) <= 6 and form.isalpha()


def spellings(form: str) -> set[tuple[str, ...]]:
    """The keys of a form's words, with its hyphens as spaces and closed up, and with a hyphen behind a prefix."""
    written = {form, re.sub(r"(?<=\w)-(?=\w)", "", form), _PREFIX.sub(r"\1-", form)}
    return {tuple(_key(m.group()) for m in _TOKEN.finditer(one)) for one in written}


@functools.cache
def _index() -> tuple[dict[str, list[tuple[list[str], _Entry]]], dict[str, _Entry]]:
    """Terms by their first key, longest first; and acronyms as they are written."""
    whole: dict[tuple[str, ...], _Entry] = {}
    acronyms: dict[str, _Entry] = {}
    listed = [("", "", tuple(forms)) for forms in _lines("other")] + terms()
    for kind, canonical, synonyms in listed:
        for form in (canonical, *synonyms):
            if is_acronym(form):
                acronyms.setdefault(form, (kind, canonical))
            else:
                for keys in spellings(form) - {()}:
                    whole.setdefault(keys, (kind, canonical))
    first: dict[str, list[tuple[list[str], _Entry]]] = {}
    for keys in sorted(whole, key=len, reverse=True):
        first.setdefault(keys[0], []).append((list(keys[1:]), whole[keys]))
    return first, acronyms


def _joined(text: str, tokens: list[tuple[str, int, int]]) -> bool:
    """Whether nothing but a space, hyphen or line break stands between the words (a full stop behind an initial)."""
    for (word, _, end), (_, start, _) in zip(tokens, tokens[1:], strict=False):
        gap = text[end:start]
        if gap != " " and not _GAP.fullmatch(gap) and not (len(word) == 1 and _INITIAL.fullmatch(gap)):
            return False
    return True


def _acronym(tokens: list[tuple[str, int, int]], i: int, acronyms: dict[str, _Entry]) -> _Entry | None:
    word = tokens[i][0]
    if len(word) < 2 or word.islower():
        return None
    if word[-2:] in ("'s", "’s"):
        word = word[:-2]
    hit = acronyms.get(word) or (acronyms.get(word[:-1]) if word[-1:] == "s" else None)
    if hit and word in _WORDS:
        beside = [tokens[j][0] for j in (i - 1, i + 1) if 0 <= j < len(tokens)]
        if beside and all(b.isupper() and len(b) > 1 and b not in acronyms for b in beside):
            return None
    return hit
