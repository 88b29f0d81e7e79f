"""Questions, responses, and the data sets that the papers' authors released.

`read_questions` and `read_responses` read DAHL's benchmark as released, or a user's own table. `DATASETS` tells where each
released set lies, under which licence, and what its files must hash to; `fetch` brings it, checked.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .files import SourceError, nearest, write_atomically
from .tables import read_table

if TYPE_CHECKING:
    import pandas as pd

# DAHL, section 3.1: 28 categories adopted from MedMCQA, and "Other".
CATEGORIES: tuple[str, ...] = (
    "Anaesthesia",
    "Anatomy",
    "Bio-Statistics",
    "Biochemistry",
    "Cardiology",
    "Community Medicine",
    "Dental",
    "Dermatology",
    "ENT",
    "Forensic Medicine",
    "Genetics",
    "Immunology",
    "Medicine",
    "Microbiology",
    "Neurology",
    "O&G",
    "Oncology",
    "Ophthalmology",
    "Orthopaedics",
    "PSM",
    "Pathology",
    "Pediatrics",
    "Pharmacology",
    "Physiology",
    "Psychiatry",
    "Public Health",
    "Radiology",
    "Surgery",
    "Other",
)
_ALIASES = {
    "obstetrics gynaecology": "O&G",
    "obstetrics and gynaecology": "O&G",
    "obstetrics and gynecology": "O&G",
    "gynaecology and obstetrics": "O&G",
    "preventive and social medicine": "PSM",
    "social and preventive medicine": "PSM",
    "statistics": "Other",  # the released file's word for the paper's 29th category
    "anesthesia": "Anaesthesia",
    "orthopedics": "Orthopaedics",
    "paediatrics": "Pediatrics",
    "ear nose throat": "ENT",
}


def _category_key(name: str) -> str:
    words = re.sub(r"[^\w]+", " ", name.replace("&", " and ").replace("-", "")).casefold().split()
    return " ".join(words)


_BY_KEY = {_category_key(name): name for name in CATEGORIES} | _ALIASES


def category_name(name: str) -> str:
    """DAHL's name for a category, however it is written; a name that DAHL does not have is returned as it is.

    >>> category_name("obstetrics gynaecology")
    'O&G'
    """
    return _BY_KEY.get(_category_key(name), name.strip())


def content_ids(parts: Iterable[tuple[str, ...]], tie_breaks: Iterable[tuple[str, ...]], prefix: str) -> list[str]:
    """Identifiers that depend on what a row says, and not on where in the file it stands.

    Parameters
    ----------
    parts : iterable of tuples of str
        What is identified, one tuple a row. White space is folded, and Unicode composed, before hashing.
    tie_breaks : iterable of tuples of str
        What else tells rows with the same parts apart; it orders them.
    prefix : str
        A letter, so that a spreadsheet takes no identifier for a number ("12e45678").

    Returns
    -------
    list of str
        The prefix and 12 hexadecimal digits of SHA-256; the second row with the same parts ends in "-2", and so on.
    """
    bases = []
    for row in parts:
        folded = "\x1f".join(" ".join(unicodedata.normalize("NFC", part).split()) for part in row)
        bases.append(prefix + hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:12])
    order = sorted(range(len(bases)), key=lambda i, ties=list(tie_breaks): (bases[i], ties[i], i))
    ids = list(bases)
    for before, here in zip(order, order[1:], strict=False):
        if bases[before] == bases[here]:
            count = int(ids[before].rpartition("-")[2]) if "-" in ids[before] else 1
            ids[here] = f"{bases[here]}-{count + 1}"
    return ids


def read_questions(path: str | Path) -> "pd.DataFrame":
    """Read questions: a user's table, or DAHL's benchmark as released (8,573 rows, either of its two files).

    Parameters
    ----------
    path : str or Path
        See `read_table`. A column ``question`` (or ``prompt``, ``input``); ``category``, ``source`` and ``question_id``
        if there are any. Of the released file with source papers, ``new_category`` is the category (one of 29; its
        ``category`` is a list of free words) and ``context_index`` the source.

    Returns
    -------
    DataFrame
        Columns ``question_id``, ``question``, ``category``, ``source``, ``problem``, all text; index ``row``, see
        `read_table`. Categories have DAHL's names (`CATEGORIES`) where there is one. Identifiers that the file does
        not give are made from the question's text: a question keeps its identifier when the file is reordered, and has
        the same in both released files (among copies of one question, "-2" goes by category, then source).

    Raises
    ------
    SourceError
        See `read_table`; also when the file has no rows.
    """
    frame, _ = read_table(path, ["question"], ["category", "source", "question_id"])
    _some_rows(frame, path)
    _one_of_29(frame)
    _tidy(frame)
    return frame[["question_id", "question", "category", "source", "problem"]]


def read_responses(path: str | Path) -> "pd.DataFrame":
    """Read a user's table of questions and a model's responses, for scoring.

    Parameters
    ----------
    path : str or Path
        See `read_table`. Columns ``question`` (or ``prompt``, ``input``) and ``response`` (or ``answer``, ``output``,
        ``completion``); ``category``, ``question_id``, ``source``, ``finish_reason``, ``response_id`` if there are any.

    Returns
    -------
    DataFrame
        Columns ``response_id``, ``question_id``, ``question``, ``response``, ``category``, ``source``,
        ``finish_reason``, ``problem``, all text, the response exactly as in the file; index ``row``. Of the released
        benchmark with a column of responses added, ``new_category`` is the category. A question may come
        with several responses. Identifiers that the file does not give are made from the text.

    Raises
    ------
    SourceError
        See `read_table`; also when the file has no rows, or two rows the same ``response_id``.
    """
    frame, _ = read_table(path, ["question", "response"], _RESPONSE_COLUMNS)
    _some_rows(frame, path)
    _own_ids(frame, path)
    _one_of_29(frame)
    _tidy(frame, repeats=True)
    texts = list(zip(frame["question_id"], frame["response"], strict=True))
    made = content_ids(texts, zip(frame["category"], frame["source"], strict=True), "r")
    frame["response_id"] = [own.strip() or new for own, new in zip(frame["response_id"], made, strict=True)]
    return frame[
        [*["response_id", "question_id", "question", "response", "category", "source", "finish_reason", "problem"]]
    ]


_RESPONSE_COLUMNS = ("category", "question_id", "source", "finish_reason", "response_id")


def response_problems(path: str | Path) -> "pd.DataFrame":
    """What looks odd in a user's table of responses, to be shown beside its score.

    Parameters
    ----------
    path : str or Path
        A table that `read_responses` takes.

    Returns
    -------
    DataFrame
        Columns ``row`` (as a spreadsheet shows it; 0 for the file as a whole), ``column``, ``problem``: another encoding than
        UTF-8, empty cells, rows that repeat, blank lines left out. Empty when there is nothing to say.

    Raises
    ------
    SourceError
        See `read_table`.
    """
    return read_table(path, ["question", "response"], _RESPONSE_COLUMNS)[1]


def _some_rows(frame: "pd.DataFrame", path: str | Path) -> None:
    if not len(frame):
        raise SourceError(f"{path}: the file has headings and no rows; add the rows below the headings.")


def _one_of_29(frame: "pd.DataFrame") -> None:
    """In the benchmark as released with source papers, `category` is a list of free words and `new_category` one of 29."""
    new = [name for name in frame.columns if name.strip().casefold() in ("new_category", "new category")]
    if new:
        frame["category"] = frame[new[0]]


def _own_ids(frame: "pd.DataFrame", path: str | Path) -> None:
    seen: dict[str, int] = {}
    for row, own in zip(frame.index, frame["response_id"].str.strip(), strict=True):
        if own and seen.setdefault(own, row) != row:
            raise SourceError(
                f"{path}: response_id {own!r} stands in row {seen[own]} and in row {row}; give each response an id of its "
                "own, or take the column out (ids are then made)."
            )


def _tidy(frame: "pd.DataFrame", repeats: bool = False) -> None:
    """Fill in identifiers and give categories DAHL's names, in place."""
    frame["category"] = [category_name(name) for name in frame["category"]]
    frame["source"] = frame["source"].str.strip()
    questions = [(question,) for question in frame["question"]]
    if repeats:
        made = [content_ids([question], [()], "q")[0] for question in questions]
    else:
        made = content_ids(questions, zip(frame["category"], frame["source"], strict=True), "q")
    given = [own.strip() for own in frame["question_id"]]
    frame["question_id"] = [own or new for own, new in zip(given, made, strict=True)]
    if not repeats:
        seen: dict[str, int] = {}
        for row, own in zip(frame.index, given, strict=True):
            if own and seen.setdefault(own, row) != row:
                note = f"question_id {own!r} is already in row {seen[own]}"
                frame.loc[row, "problem"] = "; ".join(filter(None, [frame.loc[row, "problem"], note]))


# --- released data sets -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DataFile:
    """One file of a released data set: where it lies at a fixed commit, and what it must be."""

    name: str
    url: str
    sha256: str
    size: int  # bytes


@dataclass(frozen=True)
class Dataset:
    """A released data set, its licence as its authors state it, and its files."""

    name: str
    title: str
    repository: str
    licence: str
    files: tuple[DataFile, ...]


_NO_LICENCE = "none stated: for your own use, not to be passed on"


def _raw(repository: str, commit: str, path: str) -> str:
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


DATASETS: dict[str, Dataset] = {}
DATASETS.update(
    {
        dataset.name: dataset
        for dataset in (
            Dataset(
                "dahl",
                "DAHL: 8,573 biomedical questions in 29 categories",
                "https://github.com/seemdog/DAHL",
                _NO_LICENCE,
                (
                    DataFile(
                        "questions.csv",
                        _raw("seemdog/DAHL", "77f1b09584ac431611b0a34f7df67a275191ca46", "questions.csv"),
                        "ca59e63d012ee293b15656eb24b80b7e6bdd04ee858e405c72371355561d0ffb",
                        1171333,
                    ),
                    DataFile(
                        "questions_with_source_paper.csv",
                        _raw("seemdog/DAHL", "7a3c67dc341f658c5b63d80625f65a41df7847e0", "questions.csv"),
                        "b09851b9a5b33483a5bcdd672868242ca169697aff80fcb7db30f602db0723ad",
                        1427268,
                    ),
                ),
            ),
            Dataset(
                "pubmedqa",
                "PubMedQA: 1,000 labelled questions on abstracts",
                "https://github.com/pubmedqa/pubmedqa",
                "MIT",
                (
                    DataFile(
                        "ori_pqal.json",
                        _raw("pubmedqa/pubmedqa", "1f00b98d5cc626844bf8c4ca513b6e62c40071ec", "data/ori_pqal.json"),
                        "8b3276be8942ebbd77f3ddcda12c1749bf0e490045a736fd8438ee40cf37a41d",
                        2584787,
                    ),
                    DataFile(
                        "test_ground_truth.json",
                        _raw(
                            "pubmedqa/pubmedqa",
                            "3e7616d288b52edaf38f5fd5c59821c7806bde86",
                            "data/test_ground_truth.json",
                        ),
                        "939fe566f09017d13b1ca64d2ddfee0bc2374b366048152997669cccedc44d51",
                        11414,
                    ),
                ),
            ),
            Dataset(
                "reasons",
                "REASONS: sentences with the papers that they cite",
                "https://github.com/YashSaxena21/REASONS",
                _NO_LICENCE,
                (
                    DataFile(
                        "Adversarial.json",
                        _raw(
                            "YashSaxena21/REASONS", "c2c4e47513c8e9ee05e2ae47812960f587403ce0", "Data/Adversarial.json"
                        ),
                        "633ec16a33340680b2a30572a2b319112c6c964f3289998394addea4272dc8fe",
                        343031,
                    ),
                    DataFile(
                        "Biomolecules.json",
                        _raw(
                            "YashSaxena21/REASONS", "e4f06974c0f94218cb304b070f80d8841b3d448a", "Data/Biomolecules.json"
                        ),
                        "cd1ccad58a72420f13af96b6ac924ea07f76cde6a7f33ffdb14f962b3d04fadd",
                        78266,
                    ),
                    DataFile(
                        "Databases.json",
                        _raw("YashSaxena21/REASONS", "e4f06974c0f94218cb304b070f80d8841b3d448a", "Data/Databases.json"),
                        "4aa8e8a09799b84709af026fa9de8df2f03e1f27b98f3599ed41b0bc59e911f6",
                        522533,
                    ),
                    DataFile(
                        "HCI.json",
                        _raw("YashSaxena21/REASONS", "e4f06974c0f94218cb304b070f80d8841b3d448a", "Data/HCI.json"),
                        "5845eceacf83a2f1d925d85b7f255c9039b1c6ed60bfdf906fc1942f28e942ce",
                        623866,
                    ),
                ),
            ),
            Dataset(
                "checkembed",
                "CheckEmbed: legal texts with the terms that they define",
                "https://github.com/spcl/CheckEmbed",
                "BSD-3-Clause, with a request to cite",
                (
                    DataFile(
                        "legal_definitions.json",
                        _raw(
                            "spcl/CheckEmbed",
                            "32ccf55d2bd7db50d790025af1511319ceb5d609",
                            "examples/incremental_forced_hallucination/legal_summaries/dataset/legal_definitions.json",
                        ),
                        "5d366546a4587ef13e3987c1fa085878aa8d0de245531e0e54002bf8b3271f7f",
                        150048,
                    ),
                ),
            ),
        )
    }
)


def fetch(name: str, folder: str | Path, timeout: float = 60) -> list[Path]:
    """Download a released data set to ``folder/name``, checked against its SHA-256. Files already there stay.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    folder : str or Path
        Made if missing. With ``FACTLAB_DATA`` set to it, the tests find the files.
    timeout : float
        Seconds without an answer after which a download is given up.

    Returns
    -------
    list of Path
        The files, in the order of `DATASETS`.

    Raises
    ------
    SourceError
        An unknown name, no network, a file that is gone, or one that is not what it was: nothing is written then.
    """
    if name not in DATASETS:
        near = nearest(name, DATASETS)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(DATASETS)}."
        raise SourceError(f"no released data set {name!r}; {hint}")
    paths = []
    for file in DATASETS[name].files:
        path = Path(folder).expanduser() / name / file.name
        if not (path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256):
            write_atomically(path, _download(file, path, timeout))
        paths.append(path)
    return paths


def _download(file: DataFile, path: Path, timeout: float) -> bytes:
    import urllib.request  # 30 ms that nobody else should wait for

    try:
        with urllib.request.urlopen(file.url, timeout=timeout) as reply:
            data = reply.read(file.size + 1)
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise SourceError(
            f"{file.url} could not be downloaded ({reason}). Is there a network? You can also save it by hand as {path}."
        ) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != file.sha256:
        raise SourceError(
            f"{file.url} is not the file that is expected (SHA-256 {digest[:12]}… instead of {file.sha256[:12]}…, "
            f"{len(data)} bytes instead of {file.size}); nothing was written. A proxy's page, perhaps: open it in a browser."
        )
    return data
