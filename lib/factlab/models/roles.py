"""What models are asked in DAHL's roles: the splitter takes an answer apart, the checker judges one unit at a time.

The scoring modules read replies; this module is where their prompts meet a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab.models import Model, prompts
from factlab.models.base import ModelError

if TYPE_CHECKING:
    import pandas as pd

    from factlab.retrieval import Bm25

STYLES = ("auto", "chat", "bare")


def ask(model: Model, questions: Sequence[str], style: str = "auto", **settings: Any) -> list:
    """Long answers to questions, with nothing around the question (DAHL, section 4: no template, no demonstrations).

    Parameters
    ----------
    model : the subject.
    questions : one prompt each.
    style : 'chat' sends the question as the user's message, 'bare' lets a base model go on from it, 'auto' takes chat where the
        model has a chat template.
    settings : temperature, max_tokens and the other parameters of `Model.chat`.
    """
    if style not in STYLES:
        raise ModelError(f"prompt style {style!r} is none of {', '.join(STYLES)}")
    chat = model.is_chat if style == "auto" else style == "chat"
    return (model.chat if chat else model.complete)(questions, about=list(questions), **settings)


def split(answers: Sequence[str], splitter: Model | str, max_tokens: int = 1024, **settings: Any) -> pd.DataFrame:
    """Step 1: the atomic units of each answer.

    Parameters
    ----------
    answers : cleaned answers (`units.preprocess`).
    splitter : a model, or 'rules' for the clause splitter that needs none.

    Returns
    -------
    DataFrame, one row an answer in input order: units (list of str), status ('scored', 'no_units', 'truncated', 'unparsable', 'error'),
    error.
    """
    import pandas as pd

    from factlab import units

    if splitter == "rules":
        rows: list[tuple[list[str], str, str | None]] = []
        for answer in answers:
            found = units.rule_units(answer)
            rows.append((found, "scored" if found else "no_units", None))
        return pd.DataFrame(rows, columns=["units", "status", "error"])
    prompt = prompts.load("dahl/split")
    filled = [prompt.fill(answer=prompts.delimited(a, "text")) for a in answers]
    replies = splitter.chat(filled, system=prompt.system, max_tokens=max_tokens, about=list(answers), **settings)
    rows = []
    for reply, asked in zip(replies, filled, strict=True):
        if not reply.ok:
            rows.append(([], "error", reply.error))
        elif reply.finish == "length":
            rows.append(([], "truncated", f"the list of units did not end within {max_tokens} tokens"))
        else:
            parsed = units.read_units(reply.text, prompt=asked)
            rows.append((parsed.value or [], parsed.status, None))
    return pd.DataFrame(rows, columns=["units", "status", "error"])


def check(
    statements: Sequence[str],
    checker: Model,
    evidence: Bm25 | None = None,
    passages: int = 3,
    calibrate: bool = False,
    max_tokens: int = 16,
    **settings: Any,
) -> pd.DataFrame:
    """Step 2: is each statement true? Every one is judged alone.

    A local model chooses between "true" and "false" by log-likelihood, as the paper's checker answers in binary form; a server's
    reply is read by whole words, and may be "unknown".

    Parameters
    ----------
    statements : atomic units; the same text is asked once.
    checker : the model that judges, or `reference` (labels from a table).
    evidence : an index of passages; the best of them for each statement are shown to the judge.
    passages : how many of them.
    calibrate : divide out what a local model says to a statement without content.
    max_tokens : length of a server's reply; raise it for models that reason first.

    Returns
    -------
    DataFrame in input order: verdict ('true', 'false', 'unknown' or missing), p_true (0..1, where the model gives probabilities),
    status, passages (what was shown), error.
    """
    import pandas as pd

    from factlab import units

    statements = list(statements)
    shown = _evidence(statements, evidence, passages)
    prompt = prompts.load("dahl/check" if evidence is None else "dahl/check_with_evidence")

    def fill(statement: str, found: str) -> str:
        blanks = {"statement": prompts.delimited(statement, "statement")}
        return prompt.fill(
            **blanks if evidence is None else blanks | {"passages": prompts.delimited(found, "passages")}
        )

    filled = [fill(s, p) for s, p in zip(statements, shown, strict=True)]
    columns = ["verdict", "p_true", "status", "passages", "error"]
    if getattr(checker.backend, "scores_labels", False):
        table = checker.name == "reference"
        labels = ["true", "false", "unknown"] if table else ["true", "false"]
        choices = checker.choose(
            filled,
            labels,
            system=prompt.system,
            baseline=fill("N/A", "N/A") if calibrate and not table else None,
            about=statements,
            **settings,
        )
        rows = []
        for choice, found in zip(choices, shown, strict=True):
            p = None if table or choice.probabilities is None else choice.probabilities["true"]
            status = "unknown" if choice.label == "unknown" else choice.status
            rows.append((choice.label, p, status, found, choice.error))
    else:
        replies = checker.chat(filled, system=prompt.system, max_tokens=max_tokens, about=statements, **settings)
        rows = []
        for reply, asked, found in zip(replies, filled, shown, strict=True):
            if not reply.ok:
                rows.append((None, None, "error", found, reply.error))
                continue
            parsed = units.parse_verdict(reply.text, prompt=asked)
            if parsed.value is None and reply.finish == "length":
                rows.append((None, None, "truncated", found, f"no verdict within {max_tokens} tokens"))
            else:
                rows.append((parsed.value, None, parsed.status, found, None))
    return pd.DataFrame(rows, columns=columns).astype({"p_true": "Float64"})


def _evidence(statements: list[str], index: Bm25 | None, k: int) -> list[str]:
    """For each statement the passages that the judge is shown, as one text."""
    if index is None:
        return [""] * len(statements)
    found = index.search(statements, k=k)
    texts = found["passage"].map(index.texts.__getitem__).groupby(found["query"]).agg("\n\n".join)
    return [texts.get(i, "(no passage found)") for i in range(len(statements))]
