"""LExT: can a model's explanation be trusted? Plausibility, faithfulness and their harmonic mean.

Section 3 of the paper. `parse_label` and `parse_dose` read answers; `weighted_accuracy`, `context_relevancy` and
`consistency` make the plausibility of an explanation, `qag`, `counterfactual_stability` and `contextual_faithfulness` its
faithfulness, `trust` the LExT score of both; `score` does all of it for a table of items, with intervals. `bleu`,
`rouge_l` and `meteor` are what Figure 1 sets beside it. No model is loaded here: similarities, entities and labels go in.
"""

# No module has the name of a public function, so that none can hide it.
from factlab.explanation.doses import parse_dose
from factlab.explanation.faithful import (
    contextual_faithfulness,
    counterfactual_stability,
    faithfulness,
    found_keywords,
    qag,
    sequential_contexts,
)
from factlab.explanation.harmonic import trust, trust_with_penalty
from factlab.explanation.items import METRICS, score_items
from factlab.explanation.labels import LABELS, flip, parse_judged_label, parse_label
from factlab.explanation.plausible import (
    combined_consistency,
    consistency,
    context_relevancy,
    correctness,
    ner_weight,
    plausibility,
    weighted_accuracy,
)
from factlab.explanation.scoring import Scores, score, trust_of_means
from factlab.explanation.wording import bleu, meteor, overlap, rouge_l

__all__ = [
    "LABELS",
    "METRICS",
    "Scores",
    "bleu",
    "combined_consistency",
    "consistency",
    "context_relevancy",
    "contextual_faithfulness",
    "correctness",
    "counterfactual_stability",
    "faithfulness",
    "flip",
    "found_keywords",
    "meteor",
    "ner_weight",
    "overlap",
    "parse_dose",
    "parse_judged_label",
    "parse_label",
    "plausibility",
    "qag",
    "rouge_l",
    "score",
    "score_items",
    "sequential_contexts",
    "trust",
    "trust_of_means",
    "trust_with_penalty",
    "weighted_accuracy",
]
