"""Everything that is read from files: articles in JATS XML, users' tables, questions, released data sets.

Readers return frozen dataclasses or DataFrames of text; what is wrong with a file raises `SourceError`, what is wrong
with a row is kept beside it. The network is used by `fetch` alone.
"""

from .files import MissingFile, SourceError
from .jats import Article, Section, read_articles, read_jats
from .markup import Float
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
    "DataFile",
    "Dataset",
    "Float",
    "MissingFile",
    "Reference",
    "Section",
    "SourceError",
    "category_name",
    "content_ids",
    "fetch",
    "read_articles",
    "read_jats",
    "read_questions",
    "read_responses",
    "read_table",
    "response_problems",
    "write_table",
]
