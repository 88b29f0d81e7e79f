"""What authors upload, opened safely: a folder, a tar archive (gzipped or not) or one gzipped .tex in, texts by name out.

Nothing is written to disk and nothing outside of the upload is read: links are not followed, names that lead out of it are
left out, and sizes are bounded, since an archive may hold far more than its size tells. Whatever is left out is named.
"""

import gzip
import io
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..files import SourceError, existing, foreign_format, read_bytes

MAX_FILE = 20 * 2**20  # bytes of one text file; the longest real ones (generated .bib files) stay below
MAX_TOTAL = 100 * 2**20  # bytes of all text files together
MAX_MEMBERS = 20_000  # entries of one upload

_TEXTS = frozenset([".tex", ".ltx", ".latex", ".bbl", ".bib", ".sty", ".cls", ".def", ".txt", ".tikz", ".xxx", ""])
_JUNK = re.compile(
    r"(^|/)(__MACOSX/|\._|\.|Icon\r)|~$|\.(bak|old|orig|sav|swp|aux|log|out|toc|blg|fls)$", re.IGNORECASE
)
_ENCODINGS = {
    "latin1": "cp1252",
    "ansinew": "cp1252",
    "cp1252": "cp1252",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin9": "iso8859-15",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "koi8-r": "koi8-r",
    "applemac": "mac-roman",
}


@dataclass
class Upload:
    """The texts of an upload by their names within it (forward slashes), and what a user should know about them."""

    name: str
    texts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def open_upload(path: str | Path) -> Upload:
    """Open an upload of any of the known kinds, told by its content and not by its name.

    Parameters
    ----------
    path : str or Path
        A folder, a .tar, a .tar.gz, a gzipped .tex, a .tex.

    Raises
    ------
    SourceError
        Missing, empty, damaged, not LaTeX at all (a PDF, a zip, a web page), or nothing but junk.
    """
    path = existing(path, folder=True)
    upload = Upload(str(path))
    found = _folder(path, upload) if path.is_dir() else _packed(path, upload)
    raw: dict[str, bytes] = {}
    total = 0
    for name, data in found:
        total += len(data)
        if total > MAX_TOTAL:
            upload.notes.append(f"more than {MAX_TOTAL // 2**20} MiB of text; from {name} on nothing was read")
            break
        raw[name] = data
    encoding = _declared(raw)
    for name, data in raw.items():
        text = _decode(name, data, encoding, upload)
        if text is not None:
            upload.texts[name] = text
    if not upload.texts:
        said = f" ({'; '.join(upload.notes)})" if upload.notes else ""
        raise SourceError(f"{path}: no LaTeX file in it{said}; give the source as uploaded, not the PDF.")
    return upload


# --- where the files come from ----------------------------------------------------------------------------------------


def _folder(folder: Path, upload: Upload) -> Iterator[tuple[str, bytes]]:
    count = 0
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            entries = sorted(here.iterdir())
        except OSError as error:
            upload.notes.append(f"{here.relative_to(folder)}: cannot be read ({error.strerror or error})")
            continue
        for entry in entries:
            name = entry.relative_to(folder).as_posix()
            count += 1
            if count > MAX_MEMBERS:
                upload.notes.append(f"more than {MAX_MEMBERS:,} files; from {name} on nothing was read")
                return
            if entry.is_symlink():
                upload.notes.append(f"{name}: a link, not followed")
            elif entry.is_dir():
                if not _JUNK.search(name + "/"):
                    pending.append(entry)
            elif entry.is_file() and _wanted(name, entry.stat().st_size, upload):
                try:
                    yield name, entry.read_bytes()
                except OSError as error:
                    upload.notes.append(f"{name}: cannot be read ({error.strerror or error})")


def _packed(path: Path, upload: Upload) -> Iterator[tuple[str, bytes]]:
    data = read_bytes(path)  # one layer of gzip undone
    if data[:2] == b"\x1f\x8b":  # gzipped twice, as some browsers leave it
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            data = file.read(MAX_TOTAL + 1)
        if len(data) > MAX_TOTAL:
            raise SourceError(f"{path}: gzipped twice, and larger than {MAX_TOTAL // 2**20} MiB; unpack it first.")
    if foreign := foreign_format(data):
        hint = "unpack it, and give the folder" if data[:2] == b"PK" else "download the source (arXiv: 'TeX Source')"
        raise SourceError(f"{path}: this is {foreign}, not a LaTeX source; {hint}.")
    if data[:5].lower() in (b"<!doc", b"<html"):
        raise SourceError(f"{path}: this is a web page, not a LaTeX source; download the source itself.")
    if data[257:262] == b"ustar" or _is_tar(data):
        yield from _tar(path, data, upload)
        return
    name = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    if Path(name).suffix.lower() not in _TEXTS:
        name += ".tex"  # arXiv's single files are named by number: 0704.0001.gz
    if _wanted(name, len(data), upload):
        yield name, data


def _is_tar(data: bytes) -> bool:
    try:
        return tarfile.is_tarfile(io.BytesIO(data))
    except (tarfile.TarError, OSError, ValueError):
        return False


def _tar(path: Path, data: bytes, upload: Upload) -> Iterator[tuple[str, bytes]]:
    count = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                count += 1
                if count > MAX_MEMBERS:
                    upload.notes.append(f"more than {MAX_MEMBERS:,} entries; from {member.name} on nothing was read")
                    return
                name = _inside(member.name)
                if member.isdir():
                    continue
                if name is None:
                    upload.notes.append(f"{member.name}: the name leads out of the archive, left out")
                elif member.issym() or member.islnk():
                    upload.notes.append(f"{name}: a link, not followed")
                elif not member.isreg():
                    upload.notes.append(f"{name}: not a plain file, left out")
                elif _wanted(name, member.size, upload):
                    yield name, archive.extractfile(member).read()
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if not count:
            raise SourceError(f"{path}: damaged tar archive ({error}); download or pack it again.") from error
        upload.notes.append(f"the archive is cut off or damaged after {count} entries ({error})")


def _inside(name: str) -> str | None:
    """The name without `./` and inner `..`; None where it is absolute or leads out."""
    name = name.replace("\\", "/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return None
    parts: list[str] = []
    for part in PurePosixPath(name).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts) or None


def _wanted(name: str, size: int, upload: Upload) -> bool:
    if _JUNK.search(name) or name.endswith("#"):
        if re.search(r"\.tex\W*(bak|old|orig|sav)?\W*$", name, re.IGNORECASE) and "._" not in name:
            upload.notes.append(f"{name}: an editor's backup, left out")
        return False
    if PurePosixPath(name).suffix.lower() not in _TEXTS:
        return False  # pictures and data say nothing here
    if size > MAX_FILE:
        upload.notes.append(f"{name}: larger than {MAX_FILE // 2**20} MiB, left out")
        return False
    return True


# --- bytes to text ----------------------------------------------------------------------------------------------------


def _declared(files: dict[str, bytes]) -> str:
    """The encoding that `inputenc` names in any file; Windows-1252 where none is, or it is UTF-8."""
    for data in files.values():
        if match := re.search(rb"^[^%\n]*\\usepackage\s*\[([\w-]+)\]\s*\{inputenc\}", data, re.MULTILINE):
            return _ENCODINGS.get(match[1].decode(), "cp1252")
    return "cp1252"


def _decode(name: str, data: bytes, encoding: str, upload: Upload) -> str | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    elif b"\x00" in data[:4096]:
        if PurePosixPath(name).suffix:  # a file without suffix that is no text is no surprise
            upload.notes.append(f"{name}: holds zero bytes, so not a text; left out")
        return None
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            text = data.decode(encoding, "replace")
            if not name.endswith((".sty", ".cls", ".def")):
                upload.notes.append(f"{name}: not UTF-8 (line {line}); read as {encoding}. Check the accents.")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
