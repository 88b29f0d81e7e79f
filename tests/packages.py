"""The packages `bert-score` and `selfcheckgpt`, made to run here: with models from a folder, and without spaCy and NLTK.

transformers 5 has dropped two functions of tokenizers that they call; what stands in for them does the same.
"""

import re
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def bert_scorer(folder: Path, layer: int, **options):
    """The package's scorer, able to take empty texts."""
    import bert_score

    scorer = bert_score.BERTScorer(model_type=str(folder), num_layers=layer, nthreads=0, device="cpu", **options)
    marks = [scorer._tokenizer.cls_token_id, scorer._tokenizer.sep_token_id]
    scorer._tokenizer.build_inputs_with_special_tokens = lambda ids: [marks[0], *ids, marks[1]]
    return scorer


def split(passage: str):
    """In place of spaCy's: whole sentences, none of them short enough for the package to drop it."""

    class Span(types.SimpleNamespace):
        def __len__(self):
            return 10

    return types.SimpleNamespace(sents=[Span(text=s) for s in re.split(r"(?<=[.])\s+(?=\S)", passage)])


@contextmanager
def selfcheckgpt(score=None) -> Iterator[types.ModuleType]:
    """The package's module; its sentences are those of `split`, its BERTScore is `score` where one is given."""
    stand_ins = {name: types.ModuleType(name) for name in ("spacy", "nltk", "nltk.util")}
    stand_ins["spacy"].load = lambda name: split
    stand_ins["nltk.util"].ngrams = None
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        from selfcheckgpt import modeling_selfcheck as module

        module.DebertaV2Tokenizer = types.SimpleNamespace(from_pretrained=_pair_tokenizer)
        if score is not None:
            module.bert_score = types.SimpleNamespace(score=score)
        yield module
    finally:
        for name in [n for n in sys.modules if n.partition(".")[0] == "selfcheckgpt"]:
            del sys.modules[name]  # it holds on to the stand-ins
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def _pair_tokenizer(name: str):
    import transformers

    made = transformers.AutoTokenizer.from_pretrained(name)
    made.batch_encode_plus = lambda batch_text_or_text_pairs, **options: made(batch_text_or_text_pairs, **options)
    return made
