"""A paper's tokens carried out: macros expanded, files fetched, headings, paragraphs, citations and floats written down.

This is no TeX: nothing is typeset, and what only changes the look of the page is passed over. What is passed over and
might matter is counted, so that the paper's notes can say so.
"""

import re
from collections import Counter
from collections.abc import Callable

from . import commands as known
from .blocks import Aside, Sink
from .characters import ACCENTS, accented, symbol
from .characters import formula as one_line
from .citations import MARK, MARK_END, Citation, is_citation, marked, read_citation
from .handlers import HANDLERS, MAX_DEPTH
from .macros import Macros
from .tokens import (
    CLOSE,
    CMD,
    END,
    MATH,
    MAX_TOKENS,
    OPEN,
    OTHER,
    PAR,
    RAW,
    SPACE,
    TEXT,
    TIE,
    Stream,
    Token,
    plain,
    source_of,
)

# Marks in the text of a bibliography entry: a new block, italics, and a field with its name.
BLOCK, ITALIC, ITALIC_END, FIELD, FIELD_NAME, FIELD_END = "\ue002", "\ue003", "\ue004", "\ue005", "\ue006", "\ue007"
PRIVATE = re.compile("[\ue000-\ue00f]")

_QUOTES = re.compile(r"---|--|``|''|`|<<|>>")
_QUOTED = {"---": "—", "--": "–", "``": "“", "''": "”", "`": "‘", "<<": "«", ">>": "»"}
_LENGTH = re.compile(
    r"\s*=?\s*(?:by\s*)?[-+]?\s*\d*[.,]?\d*\s*(?:true\s*)?(?:pt|pc|in|bp|cm|mm|dd|cc|sp|ex|em|mu|fil+)?"
    r"(?:\s+plus\s*-?\d*\.?\d*\s*(?:pt|cm|mm|ex|em|mu|in|fil+))?(?:\s*minus\s*-?\d*\.?\d*\s*(?:pt|cm|mm|ex|em|mu|in|fil+))?"
)


class Reader:
    """Carries out the tokens of one paper."""

    def __init__(self, fetch: Callable[[str, str], tuple[str, list[Token]] | None]):
        self.fetch = fetch
        self.macros = Macros()
        self.citations: list[Citation] = []
        self.nocite: list[str] = []
        self.title: list[Token] = []
        self.authors: list[list[Token]] = []
        self.asides: list[Aside] = []
        self.bibliographies: list[tuple[str, list[Token]]] = []  # file, what stands in it
        self.databases: list[str] = []
        self.unknown: Counter = Counter()
        self.unread: Counter = Counter()
        self.missing: list[str] = []
        self.notes: list[str] = []
        self.sink = Sink()
        self.in_document = False
        self.finished = False
        self.files: list[str] = []  # being read, the outermost first
        self.packages: list[str] = []
        self.appendix = False
        self.depth = 0
        self._spent = 0
        self.run_in = False
        self.rows = False  # in a table, where `\\` ends a row

    # --- running ------------------------------------------------------------------------------------------------------

    def run(self, tokens: list[Token], sink: Sink, bibliography: bool = False) -> Sink:
        """Carry out tokens, writing to a sink."""
        stream = Stream(tokens)
        ends: list[str] = []  # of the groups that are open, in an entry: what closes with them
        while not self.finished and (token := stream.next()) is not None:
            self._spent += 1
            if self._spent > MAX_TOKENS:
                self.notes.append(f"stopped after {MAX_TOKENS:,} steps; the rest of the paper is not read")
                self.finished = True
                break
            kind, text = token
            if kind == TEXT:
                sink.add(PRIVATE.sub("", _QUOTES.sub(lambda m: _QUOTED[m[0]], text)))
            elif kind in (SPACE, TIE):
                sink.add(" ")
            elif kind == CMD:
                self._command(text, stream, sink, ends if bibliography else None)
            elif kind == PAR:
                sink.add(" ") if bibliography else sink.paragraph()
            elif kind == MATH:
                self._math(stream, sink)
            elif kind == OPEN:
                ends.append("")
            elif kind == CLOSE:
                if ends and (closing := ends.pop()):
                    sink.add(closing)
            elif kind == RAW:
                sink.add(PRIVATE.sub("", text))
            elif kind == END:
                if self.files and self.files[-1] == text:
                    self.files.pop()
            elif kind == OTHER:
                sink.add(" | " if text == "&" else text)
        if not bibliography:
            sink.paragraph()
        return sink

    def text_of(self, tokens: list[Token]) -> str:
        """One line of text for an argument; its citations as marks."""
        if self.depth >= MAX_DEPTH:
            return plain(tokens)
        self.depth += 1
        sink = self.run(tokens, Sink())
        self.depth -= 1
        return " ".join(sink.all_paragraphs())

    def entry_text(self, tokens: list[Token]) -> str:
        """The text of a bibliography entry, with marks for its blocks, italics and fields."""
        sink = Sink()
        self.run(tokens, sink, bibliography=True)
        sink.paragraph()
        return " ".join(sink.all_paragraphs())

    # --- commands -----------------------------------------------------------------------------------------------------

    def _command(self, name: str, stream: Stream, sink: Sink, ends: list[str] | None) -> None:
        if self.macros.expand(name, stream) or self.macros.define(name, stream):
            return
        base = name.rstrip("*") or name
        if ends is not None and self._entry_command(name, stream, sink, ends):
            return
        handler = HANDLERS.get(base)
        if handler:
            handler(self, name, stream, sink)
        elif base in known.HEADINGS:
            self._heading(base, name.endswith("*"), stream, sink)
        elif name in ACCENTS:
            base_text = self.text_of(stream.argument())
            sink.add(accented(name, base_text))
        elif is_citation(name):
            found = read_citation(name, stream, self.text_of)
            if not found:
                self.unknown["\\" + name] += 1
            for citation in found:
                sink.add(marked(len(self.citations)))
                self.citations.append(citation)
        elif base in known.REFERENCES:
            stream.argument()
            if base.endswith("range"):
                stream.argument()
            sink.add(known.REFERENCE)
        elif base in known.FOOTNOTES or base in known.CAPTIONS:
            self._aside(base, stream, sink)
        elif base in known.REMARKS:
            stream.optional()
            if stream.argument():
                self.unread["remark in the margin"] += 1
        elif name in known.SKIPPED or base in known.SKIPPED:
            for _ in range(known.SKIPPED.get(name, known.SKIPPED.get(base, 0))):
                stream.optional()
                stream.optional()
                stream.argument()
            stream.optional() if base in ("documentclass", "usepackage", "raisebox", "newtheorem") else None
        elif base in known.LENGTHS:
            self._length(stream)
        elif self.macros.is_condition(name):
            self.macros.condition(name, stream)
        elif (shown := symbol(name)) is not None:
            sink.add(PRIVATE.sub("", shown))
        elif base not in known.SILENT and not self.macros.switch(name) and name not in ("fi", "else", "or"):
            self._unknown(name, stream)

    def _unknown(self, name: str, stream: Stream) -> None:
        """Pass over a command; leave out its options if an argument follows them."""
        if self.in_document:
            self.unknown["\\" + name] += 1
        option = stream.optional()
        following = stream.peek()
        if option is not None and (following is None or following[0] != OPEN):
            stream.push([(OTHER, "["), *option, (OTHER, "]")])

    def _heading(self, base: str, starred: bool, stream: Stream, sink: Sink) -> None:
        stream.optional()
        tokens = stream.argument()
        labels = [plain(argument) for argument in _arguments(tokens, "label")]
        title = re.sub(f"{MARK}\\d+{MARK_END}", "", self.text_of(tokens))
        title = " ".join(title.split()).rstrip(".:") if known.HEADINGS[base] > 3 else " ".join(title.split())
        sink.heading(title, known.HEADINGS[base], starred, self.appendix)
        sink.blocks[-1].labels += labels
        self.run_in = False

    def _aside(self, base: str, stream: Stream, sink: Sink) -> None:
        stream.optional()
        if base == "captionof":
            stream.argument()
        inner = stream.argument()
        if self.depth >= MAX_DEPTH:
            return
        self.depth += 1
        inside = self.run(inner, Sink()).all_paragraphs()
        self.depth -= 1
        if base in known.CAPTIONS and sink is not self.sink:
            for paragraph in inside:  # in a float, which is an aside itself
                sink.paragraph()
                sink.add(paragraph)
                sink.paragraph()
        elif inside:
            kind = "caption" if base in known.CAPTIONS else "footnote"
            self.asides.append(Aside(kind, len(self.sink.blocks) - 1, inside))

    def _length(self, stream: Stream) -> None:
        read: list[Token] = []
        for _ in range(12):
            token = stream.peek()
            if token is None or token[0] not in (TEXT, SPACE):
                break
            read.append(stream.next())
        text = "".join(part for _, part in read)
        rest = text[_LENGTH.match(text).end() :]
        if rest.strip():
            pieces = re.split(r"(\s+)", rest)
            stream.push([(SPACE, " ") if piece.isspace() else (TEXT, piece) for piece in pieces if piece])
        elif rest or (read and read[-1][0] == SPACE):
            stream.push([(SPACE, " ")])

    # --- formulas -----------------------------------------------------------------------------------------------------

    def _math(self, stream: Stream, sink: Sink) -> None:
        double = stream.peek() == (MATH, "$")
        if double:
            stream.next()
        read: list[Token] = []
        depth = 0
        while (token := stream.next()) is not None:
            kind = token[0]
            if kind == PAR and not double:
                stream.push([*read, token])  # a dollar that nothing closes
                self.unread["dollar sign without a partner"] += 1
                return
            depth += (kind == OPEN) - (kind == CLOSE)
            if kind == MATH and depth <= 0:
                if double and stream.peek() == (MATH, "$"):
                    stream.next()
                break
            if kind == CMD and token[1] in self.macros.known:
                self.macros.expand(token[1], stream)
                continue
            read.append(token)
        self.formula(read, sink)

    def until(self, closing: str, stream: Stream, sink: Sink) -> None:
        read: list[Token] = []
        while (token := stream.next()) is not None and token != (CMD, closing):
            if token[0] == CMD and self.macros.expand(token[1], stream):
                continue
            read.append(token)
        self.formula(read, sink)

    def formula(self, tokens: list[Token], sink: Sink) -> None:
        """A formula as text. Citations in it (rare) follow it."""
        kept: list[Token] = []
        stream = Stream(tokens)
        marks = ""
        while (token := stream.next()) is not None:
            if token[0] == CMD and is_citation(token[1]):
                for citation in read_citation(token[1], stream, self.text_of):
                    marks += marked(len(self.citations))
                    self.citations.append(citation)
            elif token[0] == CMD and token[1] in known.REFERENCES:
                stream.argument()
                kept.append((TEXT, known.REFERENCE))
            elif token[0] not in (PAR, END):
                kept.append(token)
        sink.add(PRIVATE.sub("", one_line(source_of(kept).strip())) + marks)

    # --- entries of a bibliography ------------------------------------------------------------------------------------

    def _entry_command(self, name: str, stream: Stream, sink: Sink, ends: list[str]) -> bool:
        if name == "newblock":
            sink.add(f" {BLOCK} ")
        elif name in known.ITALIC:
            if name in ("emph", "textit", "textsl"):
                stream.push([(CMD, "em"), *stream.argument(), (CLOSE, "}")])
                ends.append("")
            else:
                sink.add(ITALIC)
                if ends:
                    ends[-1] += ITALIC_END
        elif name in ("bibinfo", "bibfield"):
            kind = plain(stream.argument()).strip().lower()
            one = name == "bibinfo" and kind == "author"  # while \bibfield{author} holds all of them
            self._field("author" if one else known.FIELDS.get(kind, ""), stream, ends, sink)
        elif name in known.FIELDS and stream.peek() and stream.peek()[0] == OPEN:
            self._field(known.FIELDS[name], stream, ends, sink)
        elif name in ("bsnm", "bfnm", "binits", "bparticle", "bsuffix"):
            sink.add(" ")
        elif name == "href":
            address = plain(stream.argument())
            sink.add(f"{FIELD}link{FIELD_NAME}{address}{FIELD_END}")
        elif name == "doi":
            sink.add(" doi:")
        else:
            return False
        return True

    def _field(self, field: str, stream: Stream, ends: list[str], sink: Sink) -> None:
        stream.push([*stream.argument(), (CLOSE, "}")])
        sink.add(f"{FIELD}{field}{FIELD_NAME}" if field else "")
        ends.append(FIELD_END if field else "")


def _arguments(tokens: list[Token], name: str) -> list[list[Token]]:
    """The arguments of every call of a command in some tokens."""
    stream = Stream(tokens)
    found = []
    while (token := stream.next()) is not None:
        if token == (CMD, name):
            found.append(stream.argument())
    return found
