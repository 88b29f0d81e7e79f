"""TeX's first step: characters to tokens. Comments go, blank lines become paragraph breaks, verbatim text stays raw.

A token is a pair of kind and text. Category codes are LaTeX's usual ones, with `@` a letter inside of names.
"""

import re

# command, open and close brace, text, space, paragraph, dollar, parameter, tie, other special, raw text, end of a file
CMD, OPEN, CLOSE, TEXT, SPACE, PAR, MATH, PARAM, TIE, OTHER, RAW, END = "\\{}t p$#~&ve"
Token = tuple[str, str]


def words(text: str) -> frozenset[str]:
    """A set of names, written as prose."""
    return frozenset(text.split())


MAX_TOKENS = 5_000_000  # of one paper after expansion; the longest real papers stay below a tenth of this


_TOKEN = re.compile(
    r"""
    \\(?P<name>[A-Za-z][A-Za-z@]*|@[A-Za-z@]+)(?P<star>\*)?(?P<after>[^\S\n]*(?:\n(?![^\S\n]*\n)[^\S\n]*)?)
    | \\(?P<symbol>[^A-Za-z]|$)
    | (?P<comment>%[^\n]*(?:\n[^\S\n]*|$))(?P<blank>\n\s*)?
    | (?P<par>[^\S\n]*\n[^\S\n]*\n\s*)
    | (?P<space>\s+)
    | (?P<param>\#+\d?)
    | (?P<special>[{}$~&^_\[\]])
    | (?P<text>[^\\%{}$&\#~^_\[\]\s]+)
    """,
    re.VERBOSE,
)
_SPECIAL = {"{": OPEN, "}": CLOSE, "$": MATH, "~": TIE}
_VERBATIM = re.compile(r"\s*\{(verbatim\*?|Verbatim|lstlisting|comment|filecontents\*?|minted|alltt)\}")
_RAW_ARGUMENT = words("url path nolinkurl href burl doi biburl")


def tokenise(source: str) -> list[Token]:
    """The tokens of one file."""
    tokens: list[Token] = []
    add = tokens.append
    position = 0
    while match := _TOKEN.match(source, position):
        position = match.end()
        kind = match.lastgroup
        if name := match["name"]:
            position = _command(source, name, match, tokens)
        elif match["symbol"] is not None:
            add((CMD, match["symbol"] or " "))
        elif kind in ("comment", "blank"):
            if match["blank"]:
                add((PAR, "\n\n"))
        elif kind == "par":
            add((PAR, "\n\n"))
        elif kind == "space":
            add((SPACE, " "))
        elif kind == "param":
            add((PARAM, match["param"]))
        elif kind == "special":
            add((_SPECIAL.get(match["special"], OTHER), match["special"]))
        else:
            add((TEXT, match["text"]))
    return tokens


def _command(source: str, name: str, match: re.Match, tokens: list[Token]) -> int:
    """Add a control word, and what it makes raw; return where to go on."""
    end = match.end()
    if name in ("verb", "lstinline"):
        raw = re.compile(r"(?:\[[^\]\n]*\])?([^\sA-Za-z*])(.*?)\1").match(
            source, match.end("star" if match["star"] else "name")
        )
        if raw:
            delimiter_is_brace = raw[1] == "{"
            close = source.find("}", raw.start(1)) if delimiter_is_brace else -1
            text = source[raw.start(1) + 1 : close] if close > 0 else raw[2]
            tokens.append((RAW, text))
            return close + 1 if close > 0 else raw.end()
    if name == "begin" and (opened := _VERBATIM.match(source, match.end("name"))):
        close = source.find(rf"\end{{{opened[1]}}}", opened.end())
        close = len(source) if close < 0 else close
        tokens += [(CMD, "begin"), (OPEN, "{"), (TEXT, opened[1]), (CLOSE, "}"), (RAW, source[opened.end() : close])]
        return close
    tokens.append((CMD, name + (match["star"] or "")))
    if name in _RAW_ARGUMENT:
        return _raw_argument(source, end, tokens)
    return end


def _raw_argument(source: str, position: int, tokens: list[Token]) -> int:
    """The argument of `\\url` and its kin, where `%` and `#` are characters. BibTeX breaks long ones with `%` and a newline."""
    opened = re.compile(r"(?:%\n\s*|\s)*\{").match(source, position)
    if not opened:
        return position
    depth, at = 1, opened.end()
    while at < len(source) and at - opened.end() < 5000:
        character = source[at]
        if character == "\\":
            at += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                text = re.sub(r"%\s*\n\s*|\s+", "", source[opened.end() : at])
                text = re.sub(r"\\([%#&_~{}^$])", r"\1", text)
                if "#" in text and re.search(r"#\d", text):
                    return position  # a parameter: this is the body of a definition
                tokens += [(OPEN, "{"), (RAW, text), (CLOSE, "}")]
                return at + 1
        at += 1
    return position


def source_of(tokens: list[Token]) -> str:
    """LaTeX for tokens again: a space after a control word that a letter follows."""
    pieces: list[str] = []
    after_word = False
    for kind, text in tokens:
        if kind == CMD:
            pieces.append("\\" + text)
            after_word = text[-1:].isalpha()
            continue
        if kind in (PAR, END):
            text = " " if kind == PAR else ""
        if after_word and text[:1].isalpha():
            pieces.append(" ")
        after_word = after_word and not text
        pieces.append(text)
    return "".join(pieces)


def plain(tokens: list[Token]) -> str:
    """The characters of a name, a key or an option, without braces; white space folded."""
    return " ".join("".join(text for kind, text in tokens if kind not in (OPEN, CLOSE, END)).split())


class Stream:
    """Tokens to come, to which expansion gives back what it made."""

    def __init__(self, tokens: list[Token]):
        self._stack = tokens[::-1]
        self.failures = 0

    def push(self, tokens: list[Token]) -> None:
        self._stack.extend(reversed(tokens))

    def next(self) -> Token | None:
        return self._stack.pop() if self._stack else None

    def rest(self) -> list[Token]:
        return self._stack[::-1]

    def peek(self) -> Token | None:
        return self._stack[-1] if self._stack else None

    def __len__(self) -> int:
        return len(self._stack)

    def skip_space(self) -> list[Token]:
        skipped = []
        while self._stack and self._stack[-1][0] in (SPACE, END):
            skipped.append(self._stack.pop())
        return skipped

    def group(self) -> list[Token] | None:
        """What stands between the brace that is next and its partner; None, and nothing read, where it has none."""
        if not self._stack or self._stack[-1][0] != OPEN or self.failures > 20:
            return None
        depth = 0
        stack = self._stack
        for index in range(len(stack) - 1, max(-1, len(stack) - 400_000), -1):
            kind = stack[index][0]
            if kind == OPEN:
                depth += 1
            elif kind == CLOSE:
                depth -= 1
                if not depth:
                    inner = stack[index + 1 : -1][::-1]
                    del stack[index:]
                    return inner
        self.failures += 1  # each costs a walk to the end, so that they are counted
        return None

    def argument(self) -> list[Token]:
        """A group without its braces, else the one token that is next (one character of a text)."""
        skipped = self.skip_space()
        token = self.peek()
        if token is None or token[0] in (CLOSE, PAR):
            self.push(skipped)
            return []
        if token[0] == OPEN:
            inner = self.group()
            if inner is None:
                self.next()
                return []
            return inner
        self.next()
        if token[0] == TEXT and len(token[1]) > 1:
            self.push([(TEXT, token[1][1:])])
            return [(TEXT, token[1][0])]
        return [token]

    def optional(self) -> list[Token] | None:
        """What stands in the square brackets that come next; None, and nothing read, where none do or none close."""
        skipped = self.skip_space()
        if self.peek() == (OTHER, "["):
            stack = self._stack
            depth = braces = 0
            for index in range(len(stack) - 1, max(-1, len(stack) - 3000), -1):
                kind, text = stack[index]
                if kind == PAR and not braces:
                    break
                braces += (kind == OPEN) - (kind == CLOSE)
                if braces < 0:
                    break
                if kind == OTHER and not braces:
                    depth += (text == "[") - (text == "]")
                    if not depth:
                        inner = stack[index + 1 : -1][::-1]
                        del stack[index:]
                        return inner
        self.push(skipped)
        return None
