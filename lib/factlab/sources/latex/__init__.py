"""Papers from their LaTeX source: see `paper.read_arxiv`."""

from .citations import Citation
from .entries import Entry
from .names import is_related
from .paper import Paper, read_arxiv, read_papers
from .sections import Beside, Section, Sentence

__all__ = ["Beside", "Citation", "Entry", "Paper", "Section", "Sentence", "is_related", "read_arxiv", "read_papers"]
