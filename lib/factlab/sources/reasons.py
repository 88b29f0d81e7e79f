"""The data set of REASONS as its authors released it: one row for each sentence, with what it cites.

The files (section 3, Table 2) come from PDFs, so that sentences hold line breaks, hyphenation, ligatures, font codes in place of
letters, and begin or end in mid-sentence. What can be repaired is repaired, what cannot is told in `problem`.
"""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ..text import is_complete, sentences
from .files import SourceError, existing, foreign_format, read_bytes

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "row_id",
    "source_id",
    "source_version",
    "source_title",
    "source_url",
    "date",
    "domain",
    "licence",
    "sentence_id",
    "sentence",
    "citing",
    "before",
    "after",
    "tag",
    "cited_id",
    "cited_title",
    "cited_abstract",
    "cited_authors",
    "cited_venue",
    "cited_year",
    "cited_text",
    "cross_domain",
    "raw",
    "problem",
)


def read_reasons(path: str | Path) -> "pd.DataFrame":
    """Read released REASONS files.

    Parameters
    ----------
    path : str or Path
        One .json file (also gzipped), or a folder of them.

    Returns
    -------
    DataFrame
        One row a sentence, in the order of the files. The columns that matter:

        ``sentence``
            The passage as the authors put it to models, repaired: one line, no hyphenated breaks, Unicode NFKC, no stray
            marks at its beginning. It stops where the citation stood, and may begin in mid-sentence.
        ``citing``
            The last sentence of that passage, which is the one that cites.
        ``cited_title``, ``cited_abstract``, ``cited_authors``
            Without the prefixes ``Title:`` and the like; the authors a list of names, given names first, affiliations in
            brackets taken out.
        ``cited_text``
            The reference as printed, repaired; ``cited_year`` is its year (text; empty where none is found).
        ``cited_id``, ``source_id``, ``source_version``
            arXiv identifiers ("1706.03762", "cs/0612115") and "v3".
        ``domain``
            As in the file ("Human-Computer Interaction").
        ``raw``
            The sentence exactly as in the file.
        ``problem``
            What a user should know of this row; "; " between several, empty for none.

        ``row_id`` is "domain/source_id/sentence_id", with "-2" and so on where the file repeats it. The release has no ``date``,
        ``licence``, ``before``, ``after``, ``tag``, ``cited_venue``: these are empty text; ``cross_domain`` is empty too
        (the release does not tell the domain of what is cited).

    Raises
    ------
    SourceError
        Missing, not JSON (line and column are named), or not of this form (the place is named).

    See Also
    --------
    reasons_problems : what the files as a whole lack.
    """
    return _read(path)[0]


def reasons_problems(path: str | Path) -> "pd.DataFrame":
    """What looks odd in released REASONS files: rows with a problem, and papers without a sentence.

    Returns
    -------
    DataFrame
        Columns ``file``, ``row_id`` (empty: the file as a whole), ``level`` ("note" or "problem"), ``problem``.
    """
    return _read(path)[1]


def _read(path: str | Path) -> "tuple[pd.DataFrame, pd.DataFrame]":
    import pandas as pd

    path = existing(path, folder=True)
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.name.lower().endswith((".json", ".json.gz")))
        if not files:
            raise SourceError(
                f"{path}: no .json file in this folder; `factlab data get reasons` brings the released ones."
            )
    rows, problems = [], []
    for file in files:
        papers = _load(file)
        vocabulary = _vocabulary(papers)
        read = [row for domain, url, paper in papers for row in _rows(file, domain, url, paper, vocabulary)]
        seen: Counter = Counter()
        for row in read:
            seen[row["row_id"]] += 1
            if seen[row["row_id"]] > 1:
                row["row_id"] += f"-{seen[row['row_id']]}"
        rows += read
        without = sum(not paper["Sentences"] for _, _, paper in papers)
        if without:
            problems.append((file.name, "", "note", f"{without} of {len(papers)} papers without a sentence"))
        problems += [(file.name, row["row_id"], "problem", row["problem"]) for row in read if row["problem"]]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    text = [column for column in COLUMNS if column not in ("sentence_id", "cited_authors")]
    frame[text] = frame[text].astype("str")
    return frame, pd.DataFrame(problems, columns=["file", "row_id", "level", "problem"], dtype="str")


# --- the form of the file ---------------------------------------------------------------------------------------------


def _load(file: Path) -> list[tuple[str, str, dict]]:
    data = read_bytes(file)
    if foreign := foreign_format(data):
        raise SourceError(f"{file}: this is {foreign}, not JSON.")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SourceError(f"{file}: not UTF-8 (byte {error.start}); download it again.") from error
    except ValueError as error:
        raise SourceError(f"{file}: not JSON ({error}); is the file complete? Download it again.") from error
    form = '{domain: {arXiv address: {"Paper Title": …, "Sentences": […]}}}'
    if not isinstance(value, dict) or not all(isinstance(papers, dict) for papers in value.values()):
        raise SourceError(f"{file}: not a REASONS file; its form must be {form}.")
    found = []
    for domain, papers in value.items():
        for url, paper in papers.items():
            if not isinstance(paper, dict) or not isinstance(paper.get("Sentences"), list):
                raise SourceError(f"{file}: {domain} > {url} has no list of 'Sentences'; the form must be {form}.")
            found.append((domain, url, paper))
    return found


def _rows(file: Path, domain: str, url: str, paper: dict, vocabulary: Counter):
    identifier = re.search(r"abs/(.+?)(v\d+)?/?$", url)
    source = identifier[1] if identifier else url
    for number, item in enumerate(paper["Sentences"], 1):
        if not isinstance(item, dict) or not isinstance(item.get("Sentence"), str):
            raise SourceError(f"{file}: {domain} > {url}, sentence {number}: no text under 'Sentence'.")
        cited = item.get("Citation") if isinstance(item.get("Citation"), dict) else {}
        raw = item["Sentence"]
        sentence, lost = repair(raw, vocabulary)
        sentence = _LEADING.sub("", sentence)
        reference, lost_too = repair(str(item.get("Citation Text") or ""), vocabulary)
        reference = (
            re.sub(r"(?<![\d–-])\s+\d{1,3}$", "", reference)
            if "\n" in str(item.get("Citation Text")).rstrip()[-5:]
            else reference
        )
        pieces = sentences(sentence)
        title = _prefixed(cited, "Title")
        yield {
            "row_id": f"{domain}/{source}/{item.get('Sentence ID', number)}",
            "source_id": source,
            "source_version": (identifier[2] or "") if identifier else "",
            "source_title": _line(str(paper.get("Paper Title") or "")),
            "source_url": url,
            "date": "",
            "domain": domain,
            "licence": "",
            "sentence_id": item.get("Sentence ID", number),
            "sentence": sentence,
            "citing": pieces[-1] if pieces else "",
            "before": "",
            "after": "",
            "tag": "",
            "cited_id": re.sub(r"^arXiv:|v\d+$", "", str(cited.get("Citation Paper ID") or "").strip()),
            "cited_title": title,
            "cited_abstract": _prefixed(cited, "Abstract"),
            "cited_authors": _authors(_prefixed(cited, "Authors")),
            "cited_venue": "",
            "cited_year": _year(reference),
            "cited_text": reference,
            "cross_domain": "",
            "raw": raw,
            "problem": "; ".join(_problems(raw, sentence, pieces, title, lost + lost_too)),
        }


def _prefixed(cited: dict, name: str) -> str:
    text = str(cited.get(f"Citation Paper {name}") or "")
    return _line(re.sub(rf"^\s*{name}:\s*", "", text))


def _line(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", _codes(text)).split())


def _authors(text: str) -> list[str]:
    """Names of a list with commas; what stands in brackets is an affiliation, unless it is the name one goes by."""
    text = re.sub(r"\(([^()\s,.]+)\)(?=\s?[A-ZÀ-Þ][a-z])", r"(\1) ", text)
    kept = re.sub(r"\s*\((?![^()\s,.]+\)\s+[A-ZÀ-Þ])[^()]*\)", "", text)
    return [" ".join(name.split()) for name in kept.split(",") if name.strip()]


_IDENTIFIER = re.compile(r"arXiv\W*[\w.-]+(?:/\d+)?|https?://\S+|\b10\.\d{4,}/\S+", re.IGNORECASE)


def _year(reference: str) -> str:
    text = re.sub(r"\d+\s?[–-]\s?\d+", " ", _IDENTIFIER.sub(" ", reference))
    years = re.findall(r"(?<!\d)((?:19|20)\d\d)(?!\d)", text)
    return years[-1] if years else ""


_ENTRY = re.compile(
    r"\barXiv preprint\b|\bdoi\.org/|,\s*pp\.\s*\d|\bpages \d+[–-]\d|\b\d+\s?\(\d+\):\d|\bProceedings of\b.*\d{4}\b|,\s*vol\.\s*\d",
    re.IGNORECASE,
)


def _problems(raw: str, sentence: str, pieces: list[str], title: str, lost: int):
    if not re.search(r"[^\W\d_]{2}", sentence):
        yield "no words in the sentence"
    elif _ENTRY.search(sentence) and re.match(r"(?:\[?\d+[\].]\s*)?[A-Z]", sentence) and is_complete(sentence):
        yield "looks like an entry of the reference list, not a sentence"
    elif not re.match(r"[\"'“‘(\[]*[A-Z0-9]", sentence):
        yield "begins in mid-sentence"
    if pieces and len(pieces[-1].split()) < 3:
        yield "the citing sentence is cut to fewer than 3 words"
    if re.search(r"[^\W\d_]{30,}", sentence):
        yield "spaces are missing"
    if lost:
        yield f"{lost} characters could not be read"
    if not title:
        yield "no title of the cited paper"


# --- repairs ----------------------------------------------------------------------------------------------------------

_LEADING = re.compile(r"^(?:[\s,.;:)\]}!?·•–—-]|(?<=\s)and\s(?=\[))+")
# TeX's OT1 fonts, where a PDF gives codes instead of characters.
_LIGATURES = {
    "\x0b": "ff",
    "\x0c": "fi",
    "\r": "fl",
    "\x0e": "ffi",
    "\x0f": "ffl",
    "\x10": "ı",
    "\x11": "ȷ",
    "\x19": "ß",
}
_LIGATURES |= {"\x1a": "æ", "\x1b": "œ", "\x1c": "ø"}
_ACCENTS = {"\x12": "\u0300", "\x13": "\u0301", "\x14": "\u030c", "\x15": "\u0306", "\x16": "\u0304", "\x17": "\u030a"}
_ACCENTS |= {"\x18": "\u0327", "\x7f": "\u0308"}
_SPACING = {
    "¨": "\u0308",
    "´": "\u0301",
    "ˆ": "\u0302",
    "˜": "\u0303",
    "ˇ": "\u030c",
    "˘": "\u0306",
    "`": "\u0300",
    "¸": "\u0327",
}


def repair(text: str, vocabulary: Counter | None = None) -> tuple[str, int]:
    """Text that was cut from a PDF, as it was meant; and how many characters could not be read.

    Parameters
    ----------
    text : str
    vocabulary : Counter, optional
        Words in lower case of texts on the same subject. A word broken at a hyphen is joined ("tempo-/ral"), unless both
        halves, and not the whole, are known ("state-/of", "encoder-/decoder"), or the second begins with a capital.

    Returns
    -------
    text : str
        One line, NFKC, ligatures and font codes replaced.
    lost : int
    """
    text = _codes(re.sub(r"\r\n", "\n", text))
    text = unicodedata.normalize("NFKC", _dehyphenated(text, vocabulary or Counter()))
    lost = len(re.findall("[\x00-\x08\x0b-\x1f\x7f\ufffd\uffff\ue000-\uf8ff]", text))
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f\ufffd\uffff\ue000-\uf8ff]+", " ", text)
    text = re.sub(r"\b([A-Z]) \.(?=\s?[A-Z-])", r"\1.", text)  # kerned capitals: `V . Vanhoucke`
    text = re.sub(r"(?<=\d)\{\s?(?=\d)", "–", text)  # OT1's dash: 253{268
    text = re.sub(r"\s+([,;:!?])(?=\s|$)|\s+(\.)(?=\s*$|\s+[A-Z0-9])", r"\1\2", " ".join(text.split()))
    return text, lost


def _codes(text: str) -> str:
    """Font codes and accents that stand alone, as letters."""
    text = re.sub("\x0f(?=[A-Z])|(?<=\n)\x0f", "\n• ", text)  # the same code is a bullet in the fonts of symbols
    text = re.sub("(?<=[^\\W\\d_])([\x12-\x18\x7f])\\s?([A-Za-zı\x10])|([\x12-\x18\x7f])\\s?([A-Z])", _accent, text)
    text = re.sub(r"(?<=[A-Za-z])\s?([¨´ˆ˜ˇ˘¸])\s?([A-Za-zı])|(?<=[A-Za-z])\s?(`)(ı)", _spacing_accent, text)
    ligature = "[\x0b-\x11\x19-\x1c](?=[a-z])|(?<=[a-z])[\x0b-\x0f](?=[\\s.,;:)]|$)"
    return re.sub(ligature, lambda match: _LIGATURES[match[0]], text)


def _accent(match: re.Match) -> str:
    code, letter = (match[1], match[2]) if match[1] else (match[3], match[4])
    return unicodedata.normalize("NFC", {"\x10": "i", "ı": "i"}.get(letter, letter) + _ACCENTS[code])


def _spacing_accent(match: re.Match) -> str:
    mark, letter = (match[1], match[2]) if match[1] else (match[3], match[4])
    composed = unicodedata.normalize("NFC", ("i" if letter == "ı" else letter) + _SPACING[mark])
    return composed if len(composed) == 1 else match[0]


_BREAK = re.compile(r"([^\W\d_]+(?:[-‐][^\W\d_]+)*)[-‐­]\s*\n\s*([^\W_]+)")


def _dehyphenated(text: str, vocabulary: Counter) -> str:
    text = unicodedata.normalize("NFKC", text.replace("\xad\n", "-\n"))

    def joined(match: re.Match) -> str:
        first, second = match[1], match[2]
        last = re.split(r"[-‐]", first)[-1]
        whole, left, right = (last + second).lower(), last.lower(), second.lower()
        hyphenated = f"{left}-{right}"
        if vocabulary[whole] > vocabulary[hyphenated]:
            return first + second
        if vocabulary[hyphenated] or not second[0].islower():
            return f"{first}-{second}"
        both = vocabulary[left] > 1 and vocabulary[right] > 1 and len(left) > 2 and len(right) > 1 and left != "into"
        return f"{first}-{second}" if both or left in _PREFIXED else first + second

    return _BREAK.sub(joined, text)


_PREFIXED = frozenset(["self", "state", "well", "non", "real", "cross", "multi-modal", "art", "end", "one", "two"])


def _vocabulary(papers: list[tuple[str, str, dict]]) -> Counter:
    """Words and hyphenated words of the file, from its abstracts, titles and the inner parts of its lines."""
    words: Counter = Counter()
    for _, _, paper in papers:
        texts = [str(paper.get("Paper Title") or "")]
        for item in paper["Sentences"]:
            if isinstance(item, dict):
                texts += [str(item.get("Sentence") or ""), *map(str, (item.get("Citation") or {}).values())]
        for text in texts:
            text = unicodedata.normalize("NFKC", text).lower()
            text = re.sub(r"\S+-\s*\n\s*\S+", " ", text)  # broken words tell nothing
            words.update(re.findall(r"[^\W\d_]+", text))
            words.update(re.findall(r"(?=\b([^\W\d_]+-[^\W\d_]+)\b)", text))
    return words
