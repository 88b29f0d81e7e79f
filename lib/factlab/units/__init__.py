"""DAHL: how much of what a model wrote is true, atomic unit by atomic unit.

Section 3.3 of the paper. Step 0 cleans a response (`preprocess`), Step 1 takes it apart into atomic units
(`parse_units` reads a splitter model's reply, `rule_units` needs no model), Step 2 reads the checker's verdicts
(`parse_verdict`), Step 3 makes a factual precision per response (`factual_precision`) and their mean, the DAHL score
(`dahl_score`). Noncommittal responses (section 3.1) are recognised by `is_noncommittal`.
"""

from factlab.units.kinds import KINDS, by_kind, kinds
from factlab.units.precision import STATUSES, check_options, dahl_score, factual_precision, funnel
from factlab.units.rule_based import rule_units
from factlab.units.steps import (
    Cleaned,
    is_noncommittal,
    parse_units,
    parse_verdict,
    preprocess,
    preprocess_steps,
    read_units,
)
from factlab.units.tables import (
    clean,
    cleaning_summary,
    one_or_many,
    prepare,
    scored_table,
    unit_table,
    verdict_counts,
    warnings,
    with_units,
)

__all__ = [
    "KINDS",
    "STATUSES",
    "Cleaned",
    "by_kind",
    "check_options",
    "clean",
    "cleaning_summary",
    "dahl_score",
    "factual_precision",
    "funnel",
    "is_noncommittal",
    "kinds",
    "one_or_many",
    "parse_units",
    "parse_verdict",
    "prepare",
    "preprocess",
    "preprocess_steps",
    "read_units",
    "rule_units",
    "scored_table",
    "unit_table",
    "verdict_counts",
    "warnings",
    "with_units",
]
