"""Where the reader writes: paragraphs under headings, and what stands beside them."""

import re
from dataclasses import dataclass, field


@dataclass
class Block:
    """A heading with the paragraphs below it, up to the next heading. Citations stand as marks."""

    title: str
    level: int
    starred: bool
    appendix: bool
    labels: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)


@dataclass
class Aside:
    """A float, footnote or the like: its paragraphs, and the section that it stands in."""

    kind: str
    block: int
    paragraphs: list[str]


_BEFORE_MARK = re.compile(r"[^\S\n]+(?=[,.;:!?)\]](?:\s|$))")


class Sink:
    """Text in, paragraphs out."""

    def __init__(self) -> None:
        self.blocks = [Block("", 1, False, False)]
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        self._pieces.append(text)

    def reset(self) -> None:
        """Forget all that was written."""
        self.blocks, self._pieces = [Block("", 1, False, False)], []

    @property
    def empty(self) -> bool:
        """Whether a paragraph is yet to begin."""
        return not any(piece.strip() for piece in self._pieces)

    def paragraph(self) -> None:
        """End the paragraph."""
        text = " ".join("".join(self._pieces).split())
        self._pieces = []
        if text:
            self.blocks[-1].paragraphs.append(_BEFORE_MARK.sub("", text))

    def heading(self, title: str, level: int, starred: bool = False, appendix: bool = False) -> None:
        """Begin a section."""
        self.paragraph()
        self.blocks.append(Block(title, level, starred, appendix))

    def all_paragraphs(self) -> list[str]:
        self.paragraph()
        return [text for block in self.blocks for text in ([block.title] if block.title else []) + block.paragraphs]
