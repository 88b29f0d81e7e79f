"""A bank of items as a table and in a file, read, written and checked against its lock (MS-Exam-Gen, sections III and IV)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab.exam.items import FIELDS, LETTERS, Evidence, Item, canonical
from factlab.exam.locking import ChangedBankError, Lock, lock

if TYPE_CHECKING:
    import pandas as pd

# Names that other banks use for our columns.
_ALIASES = {
    "question": ("stem", "prompt"),
    "key": ("answer", "correct", "correct_option", "correct_answer"),
    "label": ("difficulty", "level"),
    "explanation": ("rationale",),
}
_PLACE = ("chunk", "source", "start")  # of quotes that are plain text
_OPTION = ("option_{}", "{}", "option {}", "opt_{}", "choice_{}")


def to_table(items: Iterable[Item]) -> pd.DataFrame:
    """Items as a table.

    Returns
    -------
    DataFrame
        One row an item: item_id, question, option_a to option_d (as many as the longest item has), key, label, topic,
        subtopic, question_type, explanation, evidence (a JSON list of chunk, quote, start, end, source), batch, parent,
        mark, order_seed (`Int64`).
    """
    import pandas as pd

    items = list(items)
    most = max([len(LETTERS), *(len(item.options) for item in items)])
    letters = "abcdefghijklmnopqrstuvwxyz"[:most]
    rows = []
    for item in items:
        offered = {f"option_{a}": item.options[n] if n < len(item.options) else "" for n, a in enumerate(letters)}
        row = {"item_id": item.id, "question": item.question, **offered, "key": item.key}
        row |= {name: getattr(item, name) for name in FIELDS}
        row["evidence"] = json.dumps([asdict(e) for e in item.evidence], ensure_ascii=False)
        rows.append({**row, "order_seed": item.order_seed})
    columns = ["item_id", "question", *(f"option_{a}" for a in letters), "key", *FIELDS, "evidence", "order_seed"]
    table = pd.DataFrame(rows, columns=columns)
    table["order_seed"] = pd.array(table["order_seed"].tolist(), dtype="Int64")
    return table


def from_table(table: pd.DataFrame, name: str = "items") -> list[Item]:
    """Items from a table.

    Parameters
    ----------
    table : DataFrame
        One row an item. Needed: `question` (or stem), the options as `option_a` … `option_d` (or A … D, or one column
        `options` with a list or a JSON list), `key` (or answer: a letter, or the text of an option). The other columns
        of `to_table` are read where they are; `evidence` may also be plain text, `||` between quotes, with columns
        `source` (or `chunk`; `;` between several) and `start` (of the first quote). An empty cell is an empty field: `audit` flags it.
    name : str
        What to call the table in an error.

    Returns
    -------
    list of Item

    Raises
    ------
    ValueError
        If a column is missing or a cell cannot be read; the row is named, counted from 1.
    ChangedBankError
        If `item_id` is not the id of its row's content: the row was edited after its id was given.
    """
    columns = {str(column).strip().casefold(): column for column in table.columns}
    found = {
        ours: _column(columns, ours)
        for ours in ("question", "key", *FIELDS, "evidence", *_PLACE, "order_seed", "item_id")
    }
    offered = _option_columns(columns)
    missing = [ours for ours in ("question", "key") if found[ours] is None]
    missing += [] if offered or "options" in columns else ["option_a, option_b, …"]
    if missing:
        there = ", ".join(map(str, table.columns)) or "none"
        raise ValueError(f"{name}: no column {', '.join(missing)}; the table has {there}")
    items = []
    for number, record in enumerate(table.to_dict("records"), 1):
        try:
            items.append(_item(record, found, offered, columns.get("options")))
        except (TypeError, ValueError) as error:
            kind = ChangedBankError if isinstance(error, ChangedBankError) else ValueError
            raise kind(f"{name}, row {number}: {error}") from None
    return items


def _column(columns: Mapping[str, Any], ours: str) -> Any:
    return next((columns[n] for n in (ours, *_ALIASES.get(ours, ())) if n in columns), None)


def _option_columns(columns: Mapping[str, Any]) -> list[Any]:
    for form in _OPTION:
        names = [form.format(a) for a in "abcdefghijklmnopqrstuvwxyz"]
        if names[0] in columns and names[1] in columns:
            return [columns[n] for n in names if n in columns]
    return []


def _item(record: Mapping[Any, Any], found: Mapping[str, Any], offered: list[Any], listed: Any) -> Item:
    fields = {ours: _cell(record[c]) for ours, c in found.items() if c is not None and ours in ("question", *FIELDS)}
    options = [_cell(record[c]) for c in offered] if offered else _list(record[listed], "options")
    while len(options) > len(LETTERS) and not options[-1]:
        options.pop()  # a column that only longer items need
    key = _cell(record[found["key"]])
    if key.strip().upper() not in LETTERS or not key.strip():
        same = [n for n, option in enumerate(options) if canonical(option) == canonical(key)]
        letter = key.strip("().: ")
        key = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[same[0]] if len(same) == 1 else letter if len(letter) == 1 else key
    evidence = [] if found["evidence"] is None else _all_evidence(record, found)
    seed = None if found["order_seed"] is None else _cell(record[found["order_seed"]])
    item = Item(
        **fields,
        options=tuple(map(str, options)),
        key=key,
        evidence=tuple(_evidence(e) for e in evidence),
        order_seed=int(float(seed)) if seed else None,
    )
    given = "" if found["item_id"] is None else _cell(record[found["item_id"]])
    if given and given.startswith("q") and given != item.id:
        raise ChangedBankError(
            f"item_id is {given}, but its question and options give {item.id}: the row was edited; clear its item_id to take it as new"
        )
    return item


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return value if isinstance(value, str) else str(value)


def _list(value: Any, name: str) -> list[Any]:
    if isinstance(value, list | tuple) or type(value).__name__ == "ndarray":
        return list(value)
    text = _cell(value).strip()
    if not text:
        return []
    try:
        read = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}: not a JSON list ({error})") from None
    if not isinstance(read, list):
        raise ValueError(f"{name}: expected a JSON list, got {text[:40]!r}")
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
    start = int(float(place["start"])) if place.get("start") else None
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
    return Evidence(**value)


def read_bank(path: str | Path) -> list[Item]:
    """Items from a file, checked against its lock where it has one.

    Parameters
    ----------
    path : path
        `.csv`, `.tsv`, `.parquet`, `.jsonl` or `.json` (a list of objects), see `from_table`. A lock is the file beside
        it with `.lock.json` added to its name.

    Raises
    ------
    ChangedBankError
        If the file is not what was locked; the error says what changed.
    ValueError
        If it cannot be read.
    """
    import pandas as pd

    path = Path(path)
    readers = {
        ".csv": lambda p: pd.read_csv(p, dtype=str, keep_default_na=False),
        ".tsv": lambda p: pd.read_csv(p, sep="\t", dtype=str, keep_default_na=False),
        ".parquet": pd.read_parquet,
        ".jsonl": lambda p: pd.DataFrame([json.loads(li) for li in p.read_text("utf-8").splitlines() if li.strip()]),
        ".json": lambda p: pd.DataFrame(json.loads(p.read_text("utf-8"))),
    }
    if path.suffix not in readers:
        raise ValueError(f"{path.name}: expected a file that ends in {', '.join(readers)}")
    items = from_table(readers[path.suffix](path), path.name)
    locked = _lock_path(path)
    if locked.exists():
        Lock.read(locked).check(items, path.name)
    return items


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
