"""Inputs changed on purpose: does a model notice that its evidence was swapped, edited, or taken away?

REASONS (section 7) replaces the title or abstract of a paper by the most similar other one: `nearest`, `swap`. In the data
that its authors released hardly any title has another one as near as their threshold (of 67 source papers none, of 159 cited
ones 4), so there are other ways too: `nearest_vector`, `replace_sentences`, `insert_terms`. LExT (section 3.2.3) takes
keywords out of a context: `redact`, and gives the patients of its vignettes other names, genders and races (appendix A.1):
`variants`.
Strings and arrays go in, tables and strings come out; nothing here loads a model, and the same seed gives the same texts.
"""

# Imported here and not on first use, so that no function can be hidden by a module of its name.
from factlab.perturb.demographics import fill, variants
from factlab.perturb.gestalt import nearest, ratio
from factlab.perturb.redaction import redact
from factlab.perturb.swaps import insert_terms, nearest_vector, replace_sentences, swap

__all__ = [
    "fill",
    "insert_terms",
    "nearest",
    "nearest_vector",
    "ratio",
    "redact",
    "replace_sentences",
    "swap",
    "variants",
]
