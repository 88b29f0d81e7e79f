"""File formats of tables: each reader turns bytes into rows of cells, as written, with what looked odd on the way."""

import contextlib
import csv
import importlib.util
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .files import SourceError, foreign_format, read_bytes

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
WHOLE_FILE = 0


@dataclass
class RawTable:
    """A file as rows of cells, before anyone asks what the columns mean."""

    header: list[str]
    rows: list[list[str]]
    numbers: list[int]  # row numbers as a spreadsheet shows them
    problems: list[tuple[int, str, str]] = field(default_factory=list)  # row, column, problem


def read_raw(path: Path, count_found: Callable[[list[str]], int]) -> RawTable:
    """Read a file of any of the known formats.

    Parameters
    ----------
    path : Path
        An existing file.
    count_found : function
        How many of the columns that the caller looks for are in a heading; it decides between separators.
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix in (".xls", ".ods", ".doc", ".docx", ".pdf"):
        raise SourceError(f"{path}: {suffix} files are not read; save the table as CSV (UTF-8).")
    data = read_bytes(path)
    foreign = foreign_format(data)
    if suffix in (".xlsx", ".xlsm"):
        raw = _from_excel(path)
    elif suffix == ".parquet" or foreign == "a parquet file":
        raw = _from_parquet(path, data)
    elif foreign:
        raise SourceError(f"{path}: this is {foreign}, whatever its name says; save the table as CSV (UTF-8).")
    else:
        text, note = _decode(path, data)
        if suffix in (".jsonl", ".ndjson"):
            raw = _from_json_lines(text)
        elif suffix == ".json":
            raw = _from_json(path, text)
        else:
            raw = _from_csv(path, text, count_found, "\t" if suffix == ".tsv" else ",")
        if note:
            raw.problems.append((WHOLE_FILE, "", note))
    if not raw.header:
        raise SourceError(f"{path}: no columns in the file.")
    if not raw.rows:
        raw.problems.append((WHOLE_FILE, "", "the file has headings and no rows"))
    return raw


def _decode(path: Path, data: bytes) -> tuple[str, str]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ("utf-16",)
    elif b"\x00" in data[:1000]:
        raise SourceError(f"{path}: holds zero bytes: not a text file, or UTF-16 without a mark; save as CSV (UTF-8).")
    else:
        encodings = ("utf-8-sig", "cp1252")
    where = 1
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            where = data[: error.start].count(b"\n") + 1
            continue
        notes = []
        if encoding == "cp1252":
            notes.append(f"not UTF-8 (line {where}); read as Windows-1252. Check the accents, and save as CSV (UTF-8).")
        if zeros := text.count("\x00"):
            line = text[: text.index("\x00")].count("\n") + 1
            notes.append(f"{zeros} zero byte{'s' * (zeros > 1)} (the first in line {line}) became blanks.")
        return text.replace("\x00", " "), " ".join(notes)
    raise SourceError(f"{path}: line {where} is neither UTF-8 nor Windows-1252; save the file as CSV (UTF-8).")


def _from_csv(path: Path, text: str, count_found: Callable[[list[str]], int], usual: str) -> RawTable:
    declared = re.match(r"\s*\"?sep=(.)\"?[^\S\r\n]*(\r\n|\r|\n)", text, re.IGNORECASE)
    if declared:  # Excel hides this line, and its row numbers do not count it
        text = text[declared.end() :]
    separator = declared[1] if declared else _separator(text, count_found, usual)
    records = _records(text, separator)
    start = next((i for i, record in enumerate(records) if record), None)
    if start is None:
        raise SourceError(f"{path}: no headings in the file; its first row must name the columns.")
    raw = RawTable(records[start], [], [])
    width = len(raw.header)
    blank = []
    for number, record in enumerate(records[start + 1 :], start + 2):
        if not record:
            blank.append(number)
            continue
        if len(record) != width:
            surplus = record[width:]
            what = f"{len(record)} fields where the heading has {width}"
            if len(record) > width:
                what += f"; beyond it: {separator.join(surplus)!r} (a {SEPARATORS.get(separator, separator)} not in quotes?)"
            raw.problems.append((number, "", what))
        raw.rows.append([*record[:width], *[""] * (width - len(record))])
        raw.numbers.append(number)
    last = raw.numbers[-1] if raw.numbers else 0
    raw.problems += [(number, "", "blank line, left out") for number in blank if number < last]
    _check_quotes(path, text, separator, raw)
    _drop_empty_ends(raw)
    return raw


def _records(text: str, separator: str, strict: bool = False, most: int | None = None) -> list[list[str]]:
    with _long_fields():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=strict)
        return list(itertools.islice(reader, most))


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    # The csv module's limit on one field (128 KiB) is shorter than some answers with their context.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _separator(text: str, count_found: Callable[[list[str]], int], usual: str) -> str:
    """The separator under which the first rows show most of the wanted columns, and then the most even table."""
    sample = text[:200_000]

    def score(separator: str) -> tuple[int, float, int, bool]:
        rows = [row for row in _records(sample, separator, most=200) if row]
        header = rows[0] if rows else []
        even = sum(len(row) == len(header) for row in rows) / max(len(rows), 1) if len(header) > 1 else 0
        return count_found(header), even, len(header), separator == usual

    return max(SEPARATORS, key=score)


def _check_quotes(path: Path, text: str, separator: str, raw: RawTable) -> None:
    """List rows with text after a closing quotation mark; refuse a mark never closed, which swallows what follows."""
    try:
        _records(text, separator, strict=True)
        return
    except csv.Error:
        lines = list(io.StringIO(text, newline=""))
    with _long_fields():
        reader = csv.reader(iter(lines), delimiter=separator)
        ends = [reader.line_num for _ in reader]
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), 1):
        try:
            _records("".join(lines[start:end]), separator, strict=True)
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise SourceError(
                    f"{path}: a quotation mark opened in row {number} is never closed, so that it takes in the rest of the "
                    'file; close it, or double the marks inside of a cell ("").'
                ) from error
            raw.problems.append((number, "", "text after a closing quotation mark; the marks of that cell are lost"))


def _drop_empty_ends(raw: RawTable) -> None:
    """Leave out what spreadsheets add: empty rows at the end, and empty columns without a heading."""
    count = len(raw.rows)
    while raw.rows and not any(cell.strip() for cell in raw.rows[-1]):
        raw.rows.pop()
    if dropped := raw.numbers[len(raw.rows) :]:
        which = f"row {dropped[0]}" if len(dropped) == 1 else f"rows {dropped[0]} to {dropped[-1]}"
        del raw.numbers[count - len(dropped) :]
        raw.problems = [p for p in raw.problems if p[0] < dropped[0]]
        raw.problems.append((dropped[0], "", f"{which} at the end: empty, left out"))
    empty = [i for i, h in enumerate(raw.header) if not h.strip() and not any(row[i].strip() for row in raw.rows)]
    if empty and len(empty) < len(raw.header):
        for row in (raw.header, *raw.rows):
            row[:] = [cell for i, cell in enumerate(row) if i not in empty]
        raw.problems.append((1, "", f"{len(empty)} empty column(s) without a heading left out"))


def _as_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _loads(text: str) -> object:
    return json.loads(text, parse_float=str, parse_int=str, parse_constant=str)  # numbers as written


def _from_json_lines(text: str) -> RawTable:
    objects: list[tuple[int, dict, str]] = []
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if not line.strip():
            continue
        try:
            value, problem = _loads(line), ""
        except ValueError as error:
            value, problem = {}, f"not JSON: {error}"
        if not isinstance(value, dict):
            value, problem = {}, f"an object {{…}} is needed, not {line.strip()[:40]!r}"
        objects.append((number, value, problem))
    return _from_objects(objects)


def _from_json(path: Path, text: str) -> RawTable:
    try:
        values = _loads(text)
    except ValueError as error:
        raise SourceError(f"{path}: not JSON ({error}). If each line is an object, name the file .jsonl.") from error
    if not isinstance(values, list) or not values or not all(isinstance(v, dict) for v in values):
        raise SourceError(f"{path}: a list of objects is needed: [{{…}}, {{…}}].")
    return _from_objects([(number, value, "") for number, value in enumerate(values, 1)])


def _from_objects(objects: list[tuple[int, dict, str]]) -> RawTable:
    header = list(dict.fromkeys(key for _, value, _ in objects for key in value))
    rows = [[_as_text(value.get(key)) for key in header] for _, value, _ in objects]
    return RawTable(
        header, rows, [n for n, _, _ in objects], [(n, "", problem) for n, _, problem in objects if problem]
    )


def _from_parquet(path: Path, data: bytes) -> RawTable:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
    except pyarrow.ArrowException as error:
        raise SourceError(f"{path}: not a readable parquet file ({error}).") from error
    columns = [[_as_text(value) for value in column.to_pylist()] for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return RawTable(list(table.column_names), rows, list(range(1, len(rows) + 1)))


def _from_excel(path: Path) -> RawTable:
    if importlib.util.find_spec("openpyxl") is None:
        raise SourceError(
            f"{path}: reading Excel workbooks needs the package openpyxl, which is not installed. "
            "Save the sheet as CSV (UTF-8), or add it: pip install openpyxl"
        )
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # it raises whatever zip, XML and its own parts raise
        raise SourceError(f"{path}: not a readable Excel workbook ({error}); save it as CSV (UTF-8).") from error
    records = [[_excel_cell(value) for value in row] for row in book.worksheets[0].iter_rows(values_only=True)]
    width = max(map(len, records), default=0)
    if not width:
        raise SourceError(f"{path}: the first sheet is empty.")
    header, *rows = [record + [""] * (width - len(record)) for record in records]
    raw = RawTable(header, rows, list(range(2, len(rows) + 2)))
    _drop_empty_ends(raw)
    if len(book.worksheets) > 1:
        others = ", ".join(repr(sheet.title) for sheet in book.worksheets[1:])
        raw.problems.append((WHOLE_FILE, "", f"only the first sheet was read; left out: {others}"))
    return raw


def _excel_cell(value: object) -> str:
    # Excel stores every number as a float; 5.0 is what it shows as 5.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else _as_text(value)
