"""Does a model say the same thing when asked again? CheckEmbed (Besta et al. 2024) and its baselines.

`similarity` compares whole answers by their embeddings, `summarise` and `accept` turn the matrix into a decision,
`thresholds` fits that decision to an embedder; `separation`, `risk_coverage` and `aurc` say how far it can be trusted.
Baselines: `bertscore` (Zhang et al. 2020) and the `selfcheck_*` measures (Manakul et al. 2023). Nothing here loads a model:
embeddings are arrays, encoders are functions passed in.
"""

# Imported here and not on first use: `similarity` and `bertscore` are also the names of their modules, and whoever imports
# such a module first would find the module in the place of the function.
from factlab.stability.bertscore import Scores, Tokens, bertscore, bertscore_pairwise
from factlab.stability.calibration import Thresholds, rule_quality, thresholds
from factlab.stability.long_answers import chunked_similarity, pool
from factlab.stability.reliability import Separation, aurc, aurc_bounds, risk_coverage, separation
from factlab.stability.selfcheck import passage_score, selfcheck_bertscore, selfcheck_nli, selfcheck_prompt
from factlab.stability.similarity import (
    Summary,
    accept,
    read_first,
    similarity,
    summaries,
    summarise,
    truth_similarity,
    with_empty,
)

__all__ = [
    "Scores",
    "Separation",
    "Summary",
    "Thresholds",
    "Tokens",
    "accept",
    "aurc",
    "aurc_bounds",
    "bertscore",
    "bertscore_pairwise",
    "chunked_similarity",
    "passage_score",
    "pool",
    "read_first",
    "risk_coverage",
    "rule_quality",
    "selfcheck_bertscore",
    "selfcheck_nli",
    "selfcheck_prompt",
    "separation",
    "similarity",
    "summaries",
    "summarise",
    "thresholds",
    "truth_similarity",
    "with_empty",
]
