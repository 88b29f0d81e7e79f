"""Medical terms in a text: what LExT weighs an explanation by, without a model.

LExT, section 3.1.1, weighs the similarity of two explanations by the entities that both name (`explanation.ner_weight`). The
paper finds them with a fine-tuned DeBERTa of 41 types; here a gazetteer of our own does (`tag`), seven types, no weights.
Any Hugging Face tagger goes in its place: `factlab.models.entities`. `tags` makes of either what the weight compares,
`coverage` says what a tagger finds in some texts, and `agreement` how that compares with marks made by hand.
"""

# No module has the name of a public function, so that none can hide it.
from factlab.entities.gazetteer import tag, terms, types
from factlab.entities.tables import Entity, agreement, coverage, frame, tags

__all__ = ["Entity", "agreement", "coverage", "frame", "tag", "tags", "terms", "types"]
