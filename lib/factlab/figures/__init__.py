"""Every plot of the notebooks: a table goes in, `(figure, table)` comes out, the table being what the figure shows, row
by row.

Figures are plain matplotlib `Figure` objects, made without pyplot, so that none stays open and no global setting
changes. `describe` gives the text for readers who cannot see the figure, built from its numbers; `show`, `png` and `svg`
put it on a page or into files. Colours, limits and what the plots share are in `drawing`.
"""

from factlab.figures.agreement import bland_altman, pairs
from factlab.figures.answers import counts, outcomes, units_per_answer, verdict_shares
from factlab.figures.curves import score_lines
from factlab.figures.datasets import papers_by_domain
from factlab.figures.domain_sizes import metric_by_size
from factlab.figures.domains import metric_by_domain
from factlab.figures.drawing import BLUE, GREY, INK, MOST, ORANGE, SMALL, VERDICTS
from factlab.figures.durations import seconds_by_domain
from factlab.figures.exam_cues import cue_bars, order_shift
from factlab.figures.exams import miss_distribution, topic_heatmap
from factlab.figures.heatmaps import similarity_heatmaps
from factlab.figures.metrics import metrics_by_model
from factlab.figures.overlaps import overlap_against_trust
from factlab.figures.page import describe, png, show, svg
from factlab.figures.ranking import loss_curve
from factlab.figures.reliability import risk_coverage
from factlab.figures.runtimes import runtime_parts, runtimes
from factlab.figures.scores import score_against_length, score_by_category
from factlab.figures.sizes import score_by_size
from factlab.figures.swaps import outcomes_by_swap
from factlab.figures.trust import quadrants
from factlab.figures.trust_rows import by_group, metric_rows
from factlab.figures.violins import score_by_errors, score_violins

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "MOST",
    "ORANGE",
    "SMALL",
    "VERDICTS",
    "bland_altman",
    "by_group",
    "counts",
    "cue_bars",
    "describe",
    "loss_curve",
    "metric_by_domain",
    "metric_by_size",
    "metric_rows",
    "metrics_by_model",
    "miss_distribution",
    "order_shift",
    "outcomes",
    "outcomes_by_swap",
    "overlap_against_trust",
    "pairs",
    "papers_by_domain",
    "png",
    "quadrants",
    "risk_coverage",
    "runtime_parts",
    "runtimes",
    "score_against_length",
    "score_by_category",
    "score_by_errors",
    "score_by_size",
    "score_lines",
    "score_violins",
    "seconds_by_domain",
    "show",
    "similarity_heatmaps",
    "svg",
    "topic_heatmap",
    "units_per_answer",
    "verdict_shares",
]
