"""MS-Exam-Gen: an exam built from sources, audited, locked, and read for what it really measures.

`Item` is a question with four options; `read_bank`, `write_bank` and `lock` keep a bank as it was. `audit` flags what is wrong
with its items, `screen` applies a rule of exclusion, `cue_probe` finds out whether keys give themselves away. `parse_choice` reads
answers, `mark` joins them to the bank; `accuracy`, `difficulty`, `discrimination`, `rasch`, `key_risk` and `order_effects` say
what a panel of endpoints made of it. No model is loaded here: items, replies and vectors go in.
"""

# No module has the name of a public function, so that none can hide it.
from factlab.exam.auditing import FLAGS, GROUPS, audit, audit_summary, screen
from factlab.exam.bank import from_table, read_bank, read_bank_table, to_table, write_bank
from factlab.exam.choices import parse_choice
from factlab.exam.cues import cue_comparison, cue_picks, cue_probe, cue_test, key_places, option_features
from factlab.exam.duplicates import cosine_pairs, near_pairs
from factlab.exam.hardness import (
    accuracy_by_difficulty,
    difficulty,
    difficulty_bands,
    discrimination,
    leave_one_out,
    miss_distribution,
    missed_by,
    source_counts,
)
from factlab.exam.items import LABELS, LETTERS, Evidence, Item, cyclic_orders, shuffled
from factlab.exam.lengths import HARD, PAPER_RULES, SYNTHESIS, CueRule, longest_key
from factlab.exam.locking import ChangedBankError, Lock, lock
from factlab.exam.orders import mark_orders, order_effects, order_sheet, order_study
from factlab.exam.panel import accuracy, compare_endpoints, correct_matrix, hierarchical, hierarchical_means, mark
from factlab.exam.queues import key_risk, scores_without
from factlab.exam.rasch_model import Rasch, rasch

__all__ = [
    "FLAGS",
    "GROUPS",
    "HARD",
    "LABELS",
    "LETTERS",
    "PAPER_RULES",
    "SYNTHESIS",
    "ChangedBankError",
    "CueRule",
    "Evidence",
    "Item",
    "Lock",
    "Rasch",
    "accuracy",
    "accuracy_by_difficulty",
    "audit",
    "audit_summary",
    "compare_endpoints",
    "correct_matrix",
    "cosine_pairs",
    "cue_comparison",
    "cue_picks",
    "cue_probe",
    "cue_test",
    "cyclic_orders",
    "difficulty",
    "difficulty_bands",
    "discrimination",
    "from_table",
    "hierarchical",
    "hierarchical_means",
    "key_places",
    "key_risk",
    "leave_one_out",
    "lock",
    "longest_key",
    "mark",
    "mark_orders",
    "miss_distribution",
    "missed_by",
    "near_pairs",
    "option_features",
    "order_effects",
    "order_sheet",
    "order_study",
    "parse_choice",
    "rasch",
    "read_bank",
    "read_bank_table",
    "scores_without",
    "screen",
    "shuffled",
    "source_counts",
    "to_table",
    "write_bank",
]
