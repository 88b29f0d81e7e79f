"""Everything that is read from files: articles in JATS XML, papers in LaTeX, users' tables, questions, released data sets.

Readers return frozen dataclasses or DataFrames of text; what is wrong with a file raises `SourceError`, what is wrong
with a row is kept beside it. The network is used by `fetch` alone.
"""

from .files import MissingFile, SourceError
from .jats import Article, Section, read_articles, read_jats
from .latex import Beside, Citation, Entry, Paper, Sentence, read_arxiv, read_papers
from .latex import Section as PaperSection
from .markup import Float
from .reasons import read_reasons, reasons_problems
from .references import Reference
from .released import (
    CATEGORIES,
    DATASETS,
    DataFile,
    Dataset,
    category_name,
    content_ids,
    fetch,
    read_questions,
    read_responses,
    response_problems,
)
from .tables import SYNONYMS, read_table, write_table

__all__ = [
    "CATEGORIES",
    "DATASETS",
    "SYNONYMS",
    "Article",
    "Beside",
    "Citation",
    "DataFile",
    "Dataset",
    "Entry",
    "Float",
    "MissingFile",
    "Paper",
    "PaperSection",
    "Reference",
    "Section",
    "Sentence",
    "SourceError",
    "category_name",
    "content_ids",
    "fetch",
    "read_articles",
    "read_arxiv",
    "read_jats",
    "read_papers",
    "read_questions",
    "read_reasons",
    "read_responses",
    "read_table",
    "reasons_problems",
    "response_problems",
    "write_table",
]
