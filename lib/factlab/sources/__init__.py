"""Everything that is read from files: articles in JATS XML, papers in LaTeX, users' tables, questions, released data sets.

Readers return frozen dataclasses or DataFrames of text; what is wrong with a file raises `SourceError`, what is wrong
with a row is kept beside it. The network is used by `fetch`, `look_up` and `look_up_licences` alone.
"""

from .citations import RECORD, citation_notes, latex_papers, open_only, read_citations
from .files import MissingFile, SourceError
from .jats import Article, Section, read_articles, read_jats
from .latex import Beside, Citation, Entry, Paper, Sentence, read_arxiv, read_papers
from .latex import Section as PaperSection
from .licences import is_open_licence
from .markup import Float
from .metadata import VERDICTS, look_up, look_up_licences
from .pubmedqa import read_pubmedqa
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
from .vignettes import read_vignettes

__all__ = [
    "CATEGORIES",
    "DATASETS",
    "RECORD",
    "SYNONYMS",
    "VERDICTS",
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
    "citation_notes",
    "content_ids",
    "fetch",
    "is_open_licence",
    "latex_papers",
    "look_up",
    "look_up_licences",
    "open_only",
    "read_articles",
    "read_arxiv",
    "read_citations",
    "read_jats",
    "read_papers",
    "read_pubmedqa",
    "read_questions",
    "read_reasons",
    "read_responses",
    "read_table",
    "read_vignettes",
    "reasons_problems",
    "response_problems",
    "write_table",
]
