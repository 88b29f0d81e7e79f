"""What the reader does at the commands that shape a paper: environments, files, titles, formulas, conditionals of packages.

Each handler gets the reader, the name of the command, the tokens to come, and where to write.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import commands as known
from .blocks import Aside, Sink
from .characters import symbol
from .citations import is_citation, read_citation, split_keys
from .names import is_related
from .tokens import CLOSE, CMD, END, MATH, OPEN, OTHER, TEXT, Stream, Token, plain

if TYPE_CHECKING:
    from .reader import Reader

_PUNCTUATION = tuple(".,;:!?)]'’”-/…")
MAX_DEPTH = 40  # of an argument in an argument


# --- environments -------------------------------------------------------------------------------------------------


def _begin(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    environment = plain(stream.argument())
    base = environment.rstrip("*")
    if environment in reader.macros.environments:
        macro, _ = reader.macros.environments[environment]
        stream.push(reader.macros.filled(macro, stream))
    elif environment == "document":
        if not reader.in_document:  # not that of a subfile
            reader.in_document = True
            reader.sink.reset()
            reader.asides.clear()
    elif environment in known.UNREAD:
        inner = _inside(reader, environment, stream)
        reader.unread[environment] += 1
        _cited_within(reader, inner)
    elif environment == "comment":
        _inside(reader, environment, stream)
    elif base in known.MATH_ENVIRONMENTS:
        inner = _inside(reader, environment, stream)
        if sink is not reader.sink or not sink.empty:
            sink.add(" ")
        reader.formula(inner, sink)
        sink.add(" ")
    elif environment in known.BIBLIOGRAPHIES:
        reader.bibliographies.append((reader.files[-1] if reader.files else "", _inside(reader, environment, stream)))
    elif base in known.FLOATS and reader.depth < MAX_DEPTH:
        inner = _inside(reader, environment, stream)
        inside = Stream(inner)
        _arguments(reader, environment, inside)
        rows, reader.rows = reader.rows, known.FLOATS[base] == "table"
        reader.depth += 1
        paragraphs = reader.run(inside.rest(), Sink()).all_paragraphs()
        reader.depth -= 1
        reader.rows = rows
        if sink is not reader.sink:
            for paragraph in paragraphs:
                sink.paragraph()
                sink.add(paragraph)
                sink.paragraph()
        elif paragraphs:
            reader.asides.append(Aside(known.FLOATS[base], len(reader.sink.blocks) - 1, paragraphs))
    else:
        if environment in ("appendices", "appendix", "subappendices"):
            reader.appendix = True
        if title := known.NAMED_SECTIONS.get(environment):
            sink.heading(title, 1, True, reader.appendix)
        else:
            sink.paragraph()
        _arguments(reader, environment, stream)


def _arguments(reader: "Reader", environment: str, stream: Stream) -> None:
    stream.optional()
    for _ in range(known.ENVIRONMENT_ARGUMENTS.get(environment.rstrip("*"), 0)):
        stream.optional()
        stream.argument()


def _end(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    environment = plain(stream.argument())
    if environment in reader.macros.environments:
        stream.push(list(reader.macros.environments[environment][1]))
    elif environment == "document":
        if len(reader.files) > 1:  # that of a subfile
            _end_input(reader, name, stream, sink)
        else:
            reader.finished = True
    elif environment in known.NAMED_SECTIONS:
        sink.heading("", 1, True, reader.appendix)
    elif environment.rstrip("*") not in known.MATH_ENVIRONMENTS:
        sink.paragraph()


def _inside(reader: "Reader", environment: str, stream: Stream) -> list[Token]:
    """The tokens up to the end of an environment. Macros that hide a `\\begin` or `\\end` are expanded on the way."""
    read: list[Token] = []
    depth = 0
    while (token := stream.next()) is not None:
        if token[0] == CMD:
            if token[1] in ("begin", "end"):
                name = plain(stream.argument())
                if name == environment:
                    if token[1] == "end":
                        if not depth:
                            return read
                        depth -= 1
                    else:
                        depth += 1
                read += [token, (OPEN, "{"), (TEXT, name), (CLOSE, "}")]
                continue
            macro = reader.macros.known.get(token[1])
            if macro and (
                environment.rstrip("*") in known.MATH_ENVIRONMENTS
                or any(part in ((CMD, "begin"), (CMD, "end")) for part in macro.body)
            ):
                reader.macros.expand(token[1], stream)
                continue
        read.append(token)
    reader.notes.append(f"\\begin{{{environment}}} is never closed; what follows it is read as if it were not there")
    stream.push(read)
    return []


def _cited_within(reader: "Reader", tokens: list[Token]) -> None:
    """Citations in what is not read as text, as keys of the paper."""
    stream = Stream(tokens)
    while (token := stream.next()) is not None:
        if token[0] == CMD and is_citation(token[1]):
            reader.citations += read_citation(token[1], stream, reader.text_of)


# --- what has a handler of its own --------------------------------------------------------------------------------


def _item(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    sink.paragraph()
    if (label := stream.optional()) and (text := reader.text_of(label)) and re.search(r"\w{2}", text):
        sink.add(text + " ")


def _input(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    folder = ""
    if name.rstrip("*") in ("import", "subimport", "includefrom", "subincludefrom", "inputfrom", "subinputfrom"):
        folder = reader.text_of(stream.argument())
    stream.skip_space()
    token = stream.peek()
    if token and token[0] == TEXT:  # \input file
        target = stream.next()[1]
        while (token := stream.peek()) and token[0] in (TEXT, OTHER) and token[1] != "&":
            target += stream.next()[1]
    else:
        target = reader.text_of(stream.argument())
    if name == "InputIfFileExists":
        stream.argument()
        stream.argument()
    _fetch(reader, folder + target.replace(" | ", "&"), stream, quiet=name == "InputIfFileExists")


def _fetch(reader: "Reader", target: str, stream: Stream, quiet: bool = False) -> None:
    found = reader.fetch(target, reader.files[-1] if reader.files else "")
    if found is None:
        if not quiet:
            reader.missing.append(target)
        return
    file, tokens = found
    if file in reader.files:
        reader.notes.append(f"{file}: inputs itself; left out the second time")
        return
    reader.files.append(file)
    stream.push([*tokens, (END, file)])


def _use_package(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    """The simple commands of a package that comes with the paper, unless they are ones that the reader knows."""
    stream.optional()
    for package in split_keys(plain(stream.argument())):
        found = reader.fetch(package + ".sty", "")
        if found and found[0] not in reader.packages:
            reader.packages.append(found[0])
            reader.macros.adopt(found[1], _is_known)
    stream.optional()


def _end_input(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    while (token := stream.next()) is not None:
        if token[0] == END:
            stream.push([token])
            return
    reader.finished = True


def _bibliography(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    stream.optional()
    if name in ("bibliography", "addbibresource", "addglobalbib", "bibselect", "nobibliography"):
        reader.databases += split_keys(reader.text_of(stream.argument()))


def _nocite(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    reader.nocite += split_keys(plain(stream.argument()))


def _title(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    stream.optional()
    tokens = stream.argument()
    if name == "author":
        reader.authors.append(tokens)
    elif tokens:
        reader.title = tokens


def _abstract(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    following = stream.peek()
    if following and following[0] == OPEN:
        sink.heading("Abstract", 1, True)
        stream.push([*stream.argument(), (CMD, "end"), (OPEN, "{"), (TEXT, "abstract"), (CLOSE, "}")])


def _label(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    label = plain(stream.argument())
    if sink is reader.sink and not sink.blocks[-1].paragraphs and sink.empty:
        sink.blocks[-1].labels.append(label)


def _to_appendix(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    reader.appendix = True


def _xspace(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    token = stream.peek()
    if token and (
        (token[0] == TEXT and not token[1].startswith(_PUNCTUATION))
        or token[0] == MATH
        or (token[0] == CMD and token[1].isalpha() and token[1] not in ("footnote", "xspace", "footnotemark"))
    ):
        sink.add(" ")


def _csname(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    made = reader.macros.csname(stream)
    if made:
        stream.push([(CMD, made)])


def _if_then_else(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    stream.argument()
    first, _ = stream.argument(), stream.argument()
    reader.macros.undecided["\\" + name] += 1
    stream.push(first)


def _first_of_two(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    first, _ = stream.argument(), stream.argument()
    stream.push(first)


def _link(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    stream.optional()
    stream.argument()  # the text that follows is kept


def _open_math(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    reader.until(")" if name == "(" else "]", stream, sink)


def _ensure_math(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    stream.push([(MATH, "$"), *stream.argument(), (MATH, "$")])


def _superscript(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    text = reader.text_of(stream.argument())
    if text:
        sink.add(f"^{text}" if name == "textsuperscript" and text.isdecimal() else text)


def _break(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    stream.optional()
    sink.paragraph() if reader.rows else sink.add(" ")


def _par(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    sink.paragraph()


def _silent_argument(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    """Options and a number of lines before a large first letter: `\\IEEEPARstart{T}{his}`, `\\lettrine[lines=2]{T}{his}`."""
    stream.optional()
    first, second = stream.argument(), stream.argument()
    stream.push([*first, *second])


def _amsrefs(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    key, _, fields = plain(stream.argument()), stream.argument(), stream.argument()
    reader.bibliographies.append(
        (reader.files[-1] if reader.files else "", [(CMD, "bib"), (OPEN, "{"), (TEXT, key), (CLOSE, "}"), *fields])
    )


def _bold(reader: "Reader", name: str, stream: Stream, sink: Sink) -> None:
    """Bold at the start of a paragraph that names related work is a heading in all but name, up to the next such."""
    if not reader.in_document or not sink.empty or reader.depth:
        return
    argument = stream.argument()
    title = reader.text_of(argument).strip().rstrip(".:").strip() if len(argument) < 40 else ""
    if len(title) < 80 and is_related(title):
        sink.heading(title, 6)
        reader.run_in = True
    elif reader.run_in and title:
        sink.heading(title, 6)
    else:
        stream.push([(OPEN, "{"), *argument, (CLOSE, "}")])


HANDLERS: dict[str, Callable] = {
    "begin": _begin,
    "end": _end,
    "item": _item,
    "input": _input,
    "include": _input,
    "subfile": _input,
    "subfileinclude": _input,
    "import": _input,
    "subimport": _input,
    "includefrom": _input,
    "inputfrom": _input,
    "InputIfFileExists": _input,
    "endinput": _end_input,
    "bibliography": _bibliography,
    "nobibliography": _bibliography,
    "addbibresource": _bibliography,
    "addglobalbib": _bibliography,
    "nocite": _nocite,
    "usepackage": _use_package,
    "RequirePackage": _use_package,
    "title": _title,
    "Title": _title,
    "icmltitle": _title,
    "author": _title,
    "abstract": _abstract,
    "label": _label,
    "appendix": _to_appendix,
    "appendices": _to_appendix,
    "xspace": _xspace,
    "csname": _csname,
    "ifthenelse": _if_then_else,
    "texorpdfstring": _first_of_two,
    "href": _link,
    "(": _open_math,
    "[": _open_math,
    "ensuremath": _ensure_math,
    "textsuperscript": _superscript,
    "\\": _break,
    "par": _par,
    "textbf": _bold,
    "IEEEPARstart": _silent_argument,
    "lettrine": _silent_argument,
    "parstart": _silent_argument,
    "PARstart": _silent_argument,
    "bib": _amsrefs,
}


def _is_known(name: str) -> bool:
    tables = (known.SKIPPED, known.SILENT, known.HEADINGS, known.FOOTNOTES, known.CAPTIONS, known.REFERENCES, HANDLERS)
    return any(name in table for table in tables) or is_citation(name) or symbol(name) is not None
