"""A bank of items as a table and in a file, read, written and checked against its lock (MS-Exam-Gen, sections III and IV)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab.exam.items import FIELDS, LETTERS, Evidence, Item, canonical
from factlab.exam.locking import ChangedBankError, Lock, lock

if TYPE_CHECKING:
    import pandas as pd

# Names that other banks use for our columns.
_ALIASES = {
    "question": ("stem", "prompt", "question_text"),
    "key": (
        "answer",
        "correct",
        "correct_option",
        "correct_answer",
        "correct_choice",
        "answer_key",
        "cop",
        "answer_idx",
    ),
    "label": ("difficulty", "level"),
    "explanation": ("rationale", "exp"),
    "own_id": ("id", "question_id", "qid"),
}
_PLACE = ("chunk", "source", "start")  # of quotes that are plain text
_OPTION = ("option_{}", "{}", "opt_{}", "choice_{}", "answer_{}", "option{}", "choice{}", "op{}")
_LISTED = ("options", "choices")
_OURS = re.compile(r"q[0-9a-f]{12}")


def to_table(items: Iterable[Item]) -> pd.DataFrame:
    """Items as a table.

    Returns
    -------
    DataFrame
        One row an item: item_id, own_id, question, option_a to option_d (as many as the longest item has; empty beyond
        those of the item), n_options, key, label, topic, subtopic, question_type, explanation, evidence (a JSON list of
        chunk, quote, start, end, source), batch, parent, mark, order_seed (`Int64`). `from_table` gives the same items back.
    """
    import pandas as pd

    items = list(items)
    most = max([len(LETTERS), *(len(item.options) for item in items)])
    letters = "abcdefghijklmnopqrstuvwxyz"[:most]
    rows = []
    for item in items:
        offered = {f"option_{a}": item.options[n] if n < len(item.options) else "" for n, a in enumerate(letters)}
        row = {"item_id": item.id, "own_id": item.own_id, "question": item.question, **offered}
        row |= {"n_options": len(item.options), "key": item.key}
        row |= {name: getattr(item, name) for name in FIELDS}
        row["evidence"] = json.dumps([asdict(e) for e in item.evidence], ensure_ascii=False)
        rows.append({**row, "order_seed": item.order_seed})
    columns = ["item_id", "own_id", "question", *(f"option_{a}" for a in letters), "n_options", "key", *FIELDS]
    columns += ["evidence", "order_seed"]
    table = pd.DataFrame(rows, columns=columns)
    table["order_seed"] = pd.array(table["order_seed"].tolist(), dtype="Int64")
    return table


def from_table(table: pd.DataFrame, name: str = "items") -> list[Item]:
    """Items from a table.

    Parameters
    ----------
    table : DataFrame
        One row an item; headings in any case, with spaces, hyphens or underscores. Needed: `question` (or stem), the
        options as `option_a` … `option_d` (or A … D, option_1 … 4, choice_a … d, opa … opd, or one column `options` or
        `choices` with a list, or an object with a letter for each), `key` (or answer, correct answer, cop: a letter, the
        text of an option, or a number, see Notes). The other columns of `to_table` are read where they are; `evidence`
        may also be plain text, `||` between quotes, with columns `source` (or `chunk`; `;` between several) and `start`
        (of the first quote). An empty cell is an empty field: `audit` flags it. An `item_id` that is not `q` and 12
        hexadecimal digits, or an `id`, is the bank's own: it becomes `own_id`.
    name : str
        What to call the table in an error.

    Returns
    -------
    list of Item

    Raises
    ------
    ValueError
        If a column is missing or a cell cannot be read; the row is named, counted from 1, or by an index called `row`.
    ChangedBankError
        If `item_id` is not the id of its row's content: the row was edited after its id was given.

    Notes
    -----
    Keys that are all numbers, and not all the text of an option, count from 0 where one of them is 0, and from 1 where one is the
    number of options; where neither or both are so, nothing is guessed and the items have no key.
    """
    columns: dict[str, Any] = {}
    for column in table.columns:
        columns.setdefault(_fold(column), column)
    wanted = ("question", "key", *FIELDS, "evidence", *_PLACE, "order_seed", "item_id", "own_id", "n_options")
    found = {ours: _column(columns, ours) for ours in wanted}
    offered, listed = _option_columns(columns), next((columns[n] for n in _LISTED if n in columns), None)
    missing = [ours for ours in ("question", "key") if found[ours] is None]
    missing += [] if offered or listed is not None else ["option_a, option_b, … (or options)"]
    if missing:
        from factlab.sources.files import nearest

        there = ", ".join(map(str, table.columns)) or "none"
        near = [f"{hit!r} looks like {ours}" for ours in missing[:2] for hit in nearest(ours.split(",")[0], columns)]
        hint = f"{'; '.join(near)}; rename it" if near else "rename the ones that are meant"
        raise ValueError(f"{name}: no column {', '.join(missing)}; the table has {there}; {hint}")
    where = table.index if table.index.name == "row" else range(1, len(table) + 1)
    rows = list(zip(where, table.to_dict("records"), strict=True))
    options, items = [], []
    for number, record in rows:
        with _named(name, number):
            options.append(_options(record, found["n_options"], offered, listed))
    numbers = _numbers([_cell(record[found["key"]]) for _, record in rows], options)
    for (number, record), own in zip(rows, options, strict=True):
        with _named(name, number):
            items.append(_item(record, found, own, numbers))
    return items


@contextmanager
def _named(name: str, row: int) -> Iterator[None]:
    """An error about a row says which."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = ChangedBankError if isinstance(error, ChangedBankError) else ValueError
        raise kind(f"{name}, row {row}: {error}") from None


def _column(columns: Mapping[str, Any], ours: str) -> Any:
    return next((columns[n] for n in (ours, *_ALIASES.get(ours, ())) if n in columns), None)


def _fold(heading: Any) -> str:
    return re.sub(r"[\s_\-]+", "_", str(heading).strip().casefold()).strip("_")


def _option_columns(columns: Mapping[str, Any]) -> list[Any]:
    for marks in ("abcdefghijklmnopqrstuvwxyz", [str(number) for number in range(1, 27)]):
        for form in _OPTION:
            names = [form.format(mark) for mark in marks]
            if names[0] in columns and names[1] in columns:
                return [columns[n] for n in names if n in columns]
    return []


def _options(record: Mapping[Any, Any], counted: Any, offered: list[Any], listed: Any) -> list[str]:
    cells = [record[c] for c in offered] if offered else _list(record[listed], str(listed))
    options = [_cell(option) for option in cells]
    own = None if counted is None else _whole(_cell(record[counted]), "n_options")
    # Empty columns at the end may be there for longer items alone.
    while len(options) > (len(LETTERS) if own is None else own) and not options[-1]:
        options.pop()
    return options


def _numbers(keys: list[str], options: list[list[str]]) -> dict[str, str] | None:
    """The letters that numbers stand for where all keys are numbers; empty where the first one is not sure, None where keys are no numbers."""
    given = [key.strip().removesuffix(".0") for key in keys]
    told = [(key, own) for key, own in zip(given, options, strict=True) if key]
    most = max(map(len, options), default=0)
    if not told or not all(key.isdecimal() and int(key) <= most for key, _ in told):
        return None
    if all([canonical(option) for option in own].count(key) == 1 for key, own in told):
        return None  # the words of options, which are numbers
    low, high = "0" in given, any(key == str(len(own)) for key, own in told)
    if low == high:
        return {}
    return {str(n + high): letter for n, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:most])}


def _item(
    record: Mapping[Any, Any], found: Mapping[str, Any], options: list[str], numbers: Mapping[str, str] | None
) -> Item:
    def cell(ours: str) -> str:
        return "" if found[ours] is None else _cell(record[found[ours]])

    fields = {ours: cell(ours) for ours in ("question", *FIELDS)}
    evidence = [] if found["evidence"] is None else _all_evidence(record, found)
    given, own_id = cell("item_id").strip(), cell("own_id").strip()
    ours = bool(_OURS.fullmatch(given))
    item = Item(
        **fields,
        options=tuple(options),
        key=cell("key"),
        evidence=tuple(_evidence(e) for e in evidence),
        order_seed=_whole(cell("order_seed"), "order_seed"),
        own_id=own_id or ("" if ours else given),
    )
    if not (ours and item.id == given):  # else the key is as `to_table` wrote it
        item = replace(item, key=_key(cell("key"), options, numbers))
    if ours and given != item.id:
        raise ChangedBankError(
            f"item_id is {given}, but its question and options give {item.id}: the row was edited; clear its item_id to take it as new"
        )
    return item


def _key(written: str, options: list[str], numbers: Mapping[str, str] | None) -> str:
    """The letter that a cell means, by itself, as its number, or as the text of one option; as written where it means none."""
    key = written.strip()
    if key and key.upper() in LETTERS:
        return key
    if numbers is not None:
        return numbers.get(key.removesuffix(".0"), key)
    same = [n for n, option in enumerate(options) if canonical(option) == canonical(key)]
    if len(same) == 1:
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[same[0]]
    letter = key.strip("().: ")
    return letter if len(letter) == 1 else key


def _whole(text: str, column: str) -> int | None:
    try:
        return int(float(text)) if text.strip() else None
    except (ValueError, OverflowError):
        raise ValueError(f"{column}: expected a whole number, got {text[:40]!r}") from None


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return value if isinstance(value, str) else str(value)


def _list(value: Any, name: str) -> list[Any]:
    if isinstance(value, list | tuple) or type(value).__name__ == "ndarray":
        return list(value)
    read = value
    if not isinstance(value, Mapping):
        text = _cell(value).strip()
        if not text:
            return []
        try:
            read = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{name}: not a JSON list ({error})") from None
    if (
        isinstance(read, Mapping)
        and len(read) > 1
        and sorted(map(str.upper, read)) == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(read)])
    ):
        return [read[letter] for letter in sorted(read, key=str.upper)]
    if not isinstance(read, list):
        raise ValueError(f"{name}: expected a JSON list, got {str(value)[:40]!r}")
    return read


def _all_evidence(record: Mapping[Any, Any], found: Mapping[str, Any]) -> list[Any]:
    """A JSON list, or quotes as plain text with their places in columns of their own."""
    cell = record[found["evidence"]]
    if not isinstance(cell, str) or cell.lstrip().startswith("[{") or not cell.strip() or cell.strip() == "[]":
        return _list(cell, "evidence")
    place = {name: _cell(record[found[name]]).strip() for name in _PLACE if found[name] is not None}
    quotes = [quote.strip() for quote in cell.split("||")]
    sources = [source.strip() for source in place.get("source", "").split(";")]
    if len(sources) == 1 or len(sources) != len(quotes):
        sources = ["; ".join(sources)] * len(quotes)  # which quote is from which source is not said
    start = _whole(place.get("start", ""), "start")
    out = []
    for number, (quote, source) in enumerate(zip(quotes, sources, strict=True)):
        first = start if number == 0 else None  # the place is that of the first quote
        end = None if first is None else first + len(quote)
        out.append(Evidence(place.get("chunk") or source, quote, first, end, source))
    return out


def _evidence(value: Any) -> Evidence:
    if isinstance(value, Evidence):
        return value
    if isinstance(value, str):
        return Evidence(chunk="", quote=value)
    known = {"chunk", "quote", "start", "end", "source"}
    if not isinstance(value, Mapping) or not {"chunk", "quote"} <= set(value) <= known:
        raise ValueError(f"evidence: expected an object with chunk, quote, start, end and source, got {value!r:.80}")
    # A table's reader leaves numbers as they are written.
    places = {name: _whole(value[name], name) for name in ("start", "end") if isinstance(value.get(name), str)}
    return Evidence(**{**value, **places})


def read_bank(path: str | Path) -> list[Item]:
    """Items from a file, checked against its lock where it has one.

    Parameters
    ----------
    path : path
        A table as `sources.read_table` reads it (CSV with any separator, TSV, JSON lines, JSON, parquet, Excel), see
        `from_table`. A lock is the file beside it with `.lock.json` added to its name.

    Raises
    ------
    ChangedBankError
        If the file is not what was locked; the error says what changed.
    sources.SourceError
        If it cannot be read, or has no rows.
    ValueError
        If a column is missing or a cell cannot be read; the row is named as a spreadsheet shows it.
    """
    return read_bank_table(path)[0]


def read_bank_table(path: str | Path) -> tuple[list[Item], pd.DataFrame]:
    """`read_bank`, with what looked odd in the file.

    Returns
    -------
    (items, problems)
        problems: row (as a spreadsheet shows it; 0 for the file as a whole), column, problem; an own id that stands twice is
        one of them. Items are kept whatever is wrong with their rows.
    """
    import pandas as pd

    from factlab import sources

    path = Path(path)
    table, problems = sources.read_table(path)
    table = table.drop(columns="problem")
    if not len(table):
        raise sources.SourceError(f"{path}: no rows under the headings")
    items = from_table(table, path.name)
    locked = _lock_path(path)
    if locked.exists():
        Lock.read(locked).check(items, path.name)
    seen: dict[str, int] = {}
    twice = [
        (row, "own id", f"{item.own_id!r} is already in row {seen[item.own_id]}")
        for row, item in zip(table.index, items, strict=True)
        if item.own_id and seen.setdefault(item.own_id, row) != row
    ]
    return items, pd.concat([problems, pd.DataFrame(twice, columns=problems.columns)], ignore_index=True)


def write_bank(items: Iterable[Item], path: str | Path, locked: bool = False) -> None:
    """Write items to a file, and lock them.

    Parameters
    ----------
    items : iterable of Item
    path : path
        As for `read_bank`.
    locked : bool
        Write the lock beside it too.

    Raises
    ------
    ChangedBankError
        If the file is locked already and these are other items: a locked bank is never overwritten, a new one gets a
        new name.
    """
    path, items = Path(path), list(items)
    beside = _lock_path(path)
    if beside.exists():
        Lock.read(beside).check(items, path.name)
    made = lock(items) if locked else None  # refuses before anything is written
    table = to_table(items)
    if path.suffix in (".csv", ".tsv"):
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",", lineterminator="\n")
    elif path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif path.suffix in (".jsonl", ".json"):
        records = [{**r, "evidence": json.loads(r["evidence"])} for r in table.to_dict("records")]
        lines = [json.dumps({**r, "order_seed": _seed(r["order_seed"])}, ensure_ascii=False) for r in records]
        whole = "[\n" + ",\n".join(lines) + "\n]\n" if path.suffix == ".json" else "".join(f"{li}\n" for li in lines)
        path.write_text(whole, encoding="utf-8")
    else:
        raise ValueError(f"{path.name}: expected a name that ends in .csv, .tsv, .parquet, .jsonl or .json")
    if made:
        made.write(beside)


def _seed(value: Any) -> int | None:
    return int(value) if _cell(value) else None


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock.json")
