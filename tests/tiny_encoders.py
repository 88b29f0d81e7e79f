"""Small random encoders for tests: a few thousand weights, saved as any model from the hub is."""

import re
from pathlib import Path

_WORDS = (
    "the a of in and is was cell cells insulin blood sugar lowers raises glucose heart rate doctor said patient not "
    "tumour grew fast slow by two percent . , protein binds dna yes no why it they study found effect drug un re"
)
WORDS = _WORDS.split()


def tokenizer(words=WORDS, **options):
    """Word pieces with [CLS] and [SEP]; letters are known, so that no text is unknown as a whole."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters, *("##" + c for c in letters)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", **options,
    )  # fmt: skip


def bert(folder: Path, positions: int = 64) -> Path:
    """Four layers of width 32."""
    import torch
    import transformers

    torch.manual_seed(0)
    fast = tokenizer(model_max_length=positions)
    config = transformers.BertConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
        max_position_embeddings=positions, initializer_range=0.5,
    )  # fmt: skip
    fast.save_pretrained(folder)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def deberta(folder: Path, labels: dict[int, str], positions: int = 64) -> Path:
    """A sequence classifier as SelfCheckGPT's NLI model is one (DeBERTa v3), two layers of width 32."""
    import torch
    import transformers

    torch.manual_seed(1)
    fast = tokenizer(model_max_length=positions)
    config = transformers.DebertaV2Config(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=positions, relative_attention=True, position_buckets=16, type_vocab_size=0,
        pos_att_type=["p2c", "c2p"], position_biased_input=False, share_att_key=True, norm_rel_ebd="layer_norm",
        initializer_range=0.5, pooler_hidden_size=32, id2label=labels, label2id={v: k for k, v in labels.items()},
    )  # fmt: skip
    fast.save_pretrained(folder)
    transformers.DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    return folder


def sentences(n: int, seed: int = 0, length: tuple[int, int] = (3, 14)) -> list[str]:
    """Random sentences out of the vocabulary, all different."""
    import numpy as np

    rng = np.random.default_rng(seed)
    words = [w for w in WORDS if re.fullmatch(r"\w+", w)]
    return [" ".join(rng.choice(words, rng.integers(*length))) + f" {chr(97 + i % 26)}{i}." for i in range(n)]
