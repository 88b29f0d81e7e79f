"""The author's own commands: definitions read, calls expanded, conditionals decided where that is possible.

Definitions count from where they stand to the end of the paper; that those made inside of a group end with it is not followed.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from .tokens import CLOSE, CMD, END, OPEN, PARAM, SPACE, TEXT, Stream, Token, plain, words

MAX_EXPANSIONS = 300_000  # of one paper; a macro that calls itself would never end

# What the reader itself understands. A redefinition of these changes how they look, not what they mean.
PROTECTED = words(
    """begin end input include section section* subsection subsection* subsubsection subsubsection* chapter part paragraph
    subparagraph item footnote thanks caption bibitem bibliography title author label ref newcommand renewcommand def let
    textbf textit emph newblock maketitle appendix if fi else iftrue iffalse href url cite citep citet
    citealt citealp citeauthor citeyear citeyearpar parencite textcite autocite footcite nocite citenum Citet Citep"""
)


@dataclass(frozen=True)
class Macro:
    """A definition: what its arguments look like, and what comes of it.

    `signature` has one entry an argument: "m" mandatory, "o" optional with its default, "s" a star, "d" up to the tokens
    given.
    """

    signature: tuple[tuple[str, tuple[Token, ...]], ...]
    body: tuple[Token, ...]


@dataclass
class Macros:
    """All definitions so far."""

    known: dict[str, Macro] = field(default_factory=dict)
    environments: dict[str, tuple[Macro, tuple[Token, ...]]] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    undecided: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    count: int = 0

    # --- definitions --------------------------------------------------------------------------------------------------

    def define(self, command: str, stream: Stream) -> bool:
        """Read a definition if `command` begins one."""
        base = command.rstrip("*")
        if base in ("newcommand", "renewcommand", "providecommand", "DeclareRobustCommand", "newcommandx"):
            self._new_command(base, stream)
        elif base in ("def", "gdef", "edef", "xdef"):
            self._def(stream)
        elif base == "let":
            self._let(stream)
        elif base == "DeclareMathOperator":
            name, body = plain(stream.argument()), stream.argument()
            self._store(name, Macro((), ((CMD, "operatorname"), (OPEN, "{"), *body, (CLOSE, "}"))))
        elif base in ("NewDocumentCommand", "RenewDocumentCommand", "ProvideDocumentCommand", "DeclareDocumentCommand"):
            self._document_command(stream)
        elif base in ("newenvironment", "renewenvironment"):
            name = plain(stream.argument())
            signature = self._signature(stream)
            begin, end = stream.argument(), stream.argument()
            self.environments[name] = (Macro(signature, tuple(begin)), tuple(end))
        elif base == "newif":
            name = plain(stream.argument())
            self.switches.setdefault(name[2:], False)
        else:
            return False
        return True

    def adopt(self, tokens: list[Token], is_known: Callable[[str], bool]) -> None:
        """Take over the definitions in a package that stand on their own: no internal commands, nothing already known."""
        stream, theirs = Stream(tokens), Macros()
        while (token := stream.next()) is not None:
            if token[0] == CMD:
                theirs.define(token[1], stream)
        for name, macro in theirs.known.items():
            internal = any(kind == CMD and "@" in text for kind, text in macro.body)
            if "@" not in name and not internal and name not in self.known and not is_known(name):
                self.known[name] = macro

    def _store(self, name: str, macro: Macro) -> None:
        name = name.lstrip("\\")
        if name and name not in PROTECTED:
            self.known[name] = macro

    def _new_command(self, base: str, stream: Stream) -> None:
        name = plain(stream.argument())
        signature = self._signature(stream)
        body = tuple(stream.argument())
        if base != "providecommand" or name.lstrip("\\") not in self.known:
            self._store(name, Macro(signature, body))

    def _signature(self, stream: Stream) -> tuple[tuple[str, tuple[Token, ...]], ...]:
        number = stream.optional()
        text = plain(number or [])
        count = int(text) if text.isdecimal() and int(text) < 10 else 0
        default = stream.optional() if number is not None else None
        signature = [("m", ())] * count
        if default is not None and signature:
            signature[0] = ("o", tuple(default))
        return tuple(signature)

    def _document_command(self, stream: Stream) -> None:
        name, letters = plain(stream.argument()), Stream(stream.argument())
        signature: list[tuple[str, tuple[Token, ...]]] = []
        while token := letters.next():
            for place, letter in enumerate(token[1] if token[0] == TEXT else ""):
                if letter in "ms":
                    signature.append((letter, ()))
                elif letter in "oO":
                    last = place == len(token[1]) - 1
                    signature.append(("o", tuple(letters.argument()) if letter == "O" and last else ()))
        self._store(name, Macro(tuple(signature), tuple(stream.argument())))

    def _def(self, stream: Stream) -> None:
        name = self._name(stream)
        pattern: list[Token] = []
        while (token := stream.peek()) and token[0] not in (OPEN, CLOSE) and len(pattern) < 60:
            pattern.append(stream.next())
        body = stream.group() if stream.peek() and stream.peek()[0] == OPEN else None
        if body is None:
            stream.push(pattern)
            return
        signature: list[tuple[str, tuple[Token, ...]]] = []
        for place, (kind, _) in enumerate(pattern):
            if kind == PARAM:
                until = []
                for token in pattern[place + 1 :]:
                    if token[0] == PARAM:
                        break
                    until.append(token)
                signature.append(("d", tuple(until)) if until else ("m", ()))
        self._store(name, Macro(tuple(signature), tuple(body)))

    def _name(self, stream: Stream) -> str:
        stream.skip_space()
        token = stream.next()
        while token and token[0] == CMD and token[1] in ("expandafter", "noexpand"):
            token = stream.next()
        if token and token[0] == CMD:
            return self.csname(stream) if token[1] == "csname" else token[1]
        return ""

    def csname(self, stream: Stream) -> str:
        """What stands between `\\csname` (already read) and `\\endcsname`."""
        pieces = []
        for _ in range(60):
            token = stream.next()
            if token is None or token == (CMD, "endcsname"):
                break
            pieces.append(token[1])
        return "".join(pieces)

    def _let(self, stream: Stream) -> None:
        name = self._name(stream)
        token = stream.peek()
        while token and (token[0] == SPACE or token == (TEXT, "=")):
            stream.next()
            token = stream.peek()
        if token and token[0] == TEXT and token[1].startswith("="):
            stream.next()
            stream.push([(TEXT, token[1][1:])])
        target = stream.argument()
        if not target:
            return
        if target[0][0] == CMD and target[0][1] == "csname":
            target = [(CMD, self.csname(stream))]
        if target[0] == (CMD, name):
            return
        known = self.known.get(target[0][1]) if target[0][0] == CMD else None
        self._store(name, known or Macro((), tuple(target)))

    # --- calls --------------------------------------------------------------------------------------------------------

    def expand(self, name: str, stream: Stream) -> bool:
        """Put the body of a macro in place of its call, arguments filled in; False where there is no such macro."""
        macro = self.known.get(name)
        if macro is None and name.endswith("*") and name[:-1] in self.known:
            macro = self.known[name[:-1]]
            stream.push([(TEXT, "*")])
            name = name[:-1]
        if macro is None:
            return False
        self.count += 1
        if self.count > MAX_EXPANSIONS:
            self.refused[name] += 1
            return True
        stream.push(self.filled(macro, stream))
        return True

    def filled(self, macro: Macro, stream: Stream) -> list[Token]:
        """The body with the arguments that come next."""
        arguments = [self._one(kind, given, stream) for kind, given in macro.signature]
        if not arguments and not any(kind == PARAM for kind, _ in macro.body):
            return list(macro.body)
        filled: list[Token] = []
        for kind, text in macro.body:
            if kind != PARAM:
                filled.append((kind, text))
            elif text.startswith("##"):
                filled.append((PARAM, text[1:]))
            elif text[1:].isdigit() and int(text[1:]) <= len(arguments):
                filled += arguments[int(text[1:]) - 1]
        return filled

    def _one(self, kind: str, given: tuple[Token, ...], stream: Stream) -> list[Token]:
        if kind == "o":
            found = stream.optional()
            return list(given) if found is None else found
        if kind == "s":
            token = stream.peek()
            if token and token[0] == TEXT and token[1].startswith("*"):
                stream.next()
                if token[1] != "*":
                    stream.push([(TEXT, token[1][1:])])
            return []
        if kind == "d":
            return self._delimited(given, stream)
        return stream.argument()

    def _delimited(self, until: tuple[Token, ...], stream: Stream) -> list[Token]:
        """Tokens up to the delimiter of a `\\def`, at most 400; a delimiter of text is looked for within texts too."""
        read: list[Token] = []
        mark = "".join(text for _, text in until)
        depth = 0
        for _ in range(400):
            token = stream.next()
            if token is None:
                break
            if not depth and token[0] == TEXT and mark in token[1]:
                before, _, after = token[1].partition(mark)
                stream.push([(TEXT, after)] if after else [])
                return [*read, (TEXT, before)] if before else read
            read.append(token)
            depth += (token[0] == OPEN) - (token[0] == CLOSE)
            if not depth and len(until) <= len(read) and tuple(read[-len(until) :]) == until:
                return read[: -len(until)]
        stream.push(read)
        return []

    # --- conditionals -------------------------------------------------------------------------------------------------

    def condition(self, name: str, stream: Stream) -> None:
        """Keep the branch of an `\\if…` that holds; the first one where that cannot be told (counted)."""
        if name == "iffalse":
            holds = False
        elif name == "iftrue":
            holds = True
        elif name[2:] in self.switches:
            holds = self.switches[name[2:]]
        elif name == "ifx":
            holds = self._same(self._meaning(stream), self._meaning(stream))
        elif name in ("ifdefined", "ifcsname"):
            target = self.csname(stream) if name == "ifcsname" else self._name(stream)
            holds = target in self.known
        else:
            self.undecided["\\" + name] += 1
            holds = True
        kept, other = self._branches(stream)
        stream.push(kept if holds else other)

    def _meaning(self, stream: Stream) -> object:
        token = stream.next()
        while token and (token[0] in (SPACE, END) or token == (CMD, "expandafter")):
            token = stream.next()
        if token is None:
            return None
        if token[0] != CMD:
            if token[0] == TEXT and len(token[1]) > 1:
                stream.push([(TEXT, token[1][1:])])
                token = (TEXT, token[1][0])
            return token
        name = self.csname(stream) if token[1] == "csname" else token[1]
        if name in ("relax", "undefined", "@undefined"):
            return "undefined"
        if name in ("empty", "@empty"):
            return ((), ())
        macro = self.known.get(name)
        if macro is None:
            return (CMD, name) if name in PROTECTED else "undefined"
        return (macro.signature, macro.body)

    @staticmethod
    def _same(one: object, other: object) -> bool:
        return one == other

    def _branches(self, stream: Stream) -> tuple[list[Token], list[Token]]:
        branches: list[list[Token]] = [[], []]
        side = depth = 0
        read: list[Token] = []
        while (token := stream.next()) is not None:
            read.append(token)
            if token[0] == CMD:
                if token[1] == "fi":
                    if not depth:
                        return branches[0], branches[1]
                    depth -= 1
                elif token[1] == "else" and not depth:
                    side = 1
                    continue
                elif self.is_condition(token[1]):
                    depth += 1
            branches[side].append(token)
        stream.push(read)  # no \fi in the whole paper: nothing is left out
        return [], []

    def is_condition(self, name: str) -> bool:
        """Whether a command begins a conditional that `\\fi` ends (unlike those of the packages ifthen and etoolbox)."""
        return name in _CONDITIONALS or name[:2] == "if" and name[2:] in self.switches

    def switch(self, name: str) -> bool:
        """Set the switch that `\\drafttrue` or `\\draftfalse` names, if there is one."""
        for ending, value in (("true", True), ("false", False)):
            if name.endswith(ending) and name[: -len(ending)] in self.switches:
                self.switches[name[: -len(ending)]] = value
                return True
        return False


_CONDITIONALS = words(
    """if ifcat ifx ifnum ifdim ifodd ifvmode ifhmode ifmmode ifinner ifvoid ifhbox ifvbox ifeof iftrue iffalse ifcase
    ifdefined ifcsname iffontchar ifpdf ifxetex ifluatex"""
)
