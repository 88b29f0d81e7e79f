"""What models are asked in DAHL's roles: the writer makes questions from an article and the categoriser sorts them, the subject
answers, the splitter takes an answer apart, the checker judges one unit at a time.

The scoring modules read replies; this module is where their prompts meet a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from factlab import places
from factlab.models import Model, prompts
from factlab.models.base import ModelError

if TYPE_CHECKING:
    import pandas as pd

    from factlab.retrieval import Bm25

STYLES = ("auto", "chat", "bare")


def write_questions(
    texts: Sequence[str],
    writer: Model,
    count: int = 5,
    temperature: float = 0.0,
    max_tokens: int = 1024,
    **settings: Any,
) -> pd.DataFrame:
    """Examination questions from articles, or parts of articles (DAHL, section 3.2.2, step 1).

    Parameters
    ----------
    texts : what each set of questions is written from.
    writer : the model; published: gpt-4-1106-preview.
    count : how many questions to ask for; a model may write more or fewer.
    temperature, max_tokens, settings : as in `Model.chat`.

    Returns
    -------
    DataFrame, one row a text in input order: questions (list of str), status ('scored', 'unparsable', 'refused', 'truncated', 'error'),
    error, reply (as the model wrote it). Of a list that was cut off the whole questions are kept, and the status is 'truncated'.
    """
    import pandas as pd

    from factlab import questions

    prompt = prompts.load("dahl/write_questions")
    filled = [prompt.fill(count=str(count), article=prompts.delimited(text, "article")) for text in texts]
    asked = dict(system=prompt.system, temperature=temperature, max_tokens=max_tokens, about=list(texts))
    rows = []
    for reply, sent in zip(writer.chat(filled, **asked, **settings), filled, strict=True):
        if not reply.ok:
            rows.append(([], "error", reply.error, ""))
            continue
        parsed = questions.parse_questions(reply.text, sent)
        status = "truncated" if reply.finish == "length" and parsed.status == "scored" else parsed.status
        rows.append((parsed.value or [], status, None, reply.text))
    return pd.DataFrame(rows, columns=["questions", "status", "error", "reply"])


def categorise(
    questions: Sequence[str],
    model: Model,
    margin: float = 0.0,
    calibrate: bool = True,
    max_tokens: int = 16,
    **settings: Any,
) -> pd.DataFrame:
    """The field of each question, one of DAHL's 29 (section 3.2.3).

    A local model chooses by log-likelihood among the names; a server's reply is read for one of them.

    Parameters
    ----------
    questions : what is to be sorted.
    model : the categoriser; published: gpt-4-1106-preview.
    margin : a local model's choice counts as ambiguous when it is not likelier than the next by this much (0..1).
    calibrate : divide out what a local model says to an empty question; without it the first names of the list win.
    max_tokens : length of a server's reply; raise it for models that reason first.

    Returns
    -------
    DataFrame in input order: category (empty where there is none), status ('scored', 'unknown' for an ambiguous one, 'unparsable',
    'refused', 'truncated', 'error'), probability (of the category, where the model gives one), error.
    """
    import pandas as pd

    from factlab import sources
    from factlab.questions import parse_category

    prompt = prompts.load("dahl/categorise")
    names, questions = list(sources.CATEGORIES), list(questions)

    def fill(question: str) -> str:
        return prompt.fill(categories="\n".join(names), question=prompts.delimited(question, "question"))

    filled = [fill(q) for q in questions]
    rows: list[tuple[str, str, float | None, str | None]] = []
    if getattr(model.backend, "scores_labels", False):
        empty = fill("N/A") if calibrate and model.is_local else None
        for choice in model.choose(filled, names, system=prompt.system, baseline=empty, about=questions, **settings):
            likely = sorted((choice.probabilities or {}).values(), reverse=True)
            close = len(likely) > 1 and likely[0] - likely[1] < margin
            status = "unknown" if choice.status == "scored" and close else choice.status
            named = choice.label if status == "scored" else ""
            rows.append((named or "", status, likely[0] if likely else None, choice.error))
    else:
        asked = dict(system=prompt.system, max_tokens=max_tokens, about=questions)
        for reply, sent in zip(model.chat(filled, **asked, **settings), filled, strict=True):
            if not reply.ok:
                rows.append(("", "error", None, reply.error))
                continue
            parsed = parse_category(reply.text, names, sent)
            cut = parsed.value is None and reply.finish == "length"
            rows.append((parsed.value or "", "truncated" if cut else parsed.status, None, None))
    table = pd.DataFrame(rows, columns=["category", "status", "probability", "error"])
    return table.astype({"probability": "Float64"})


def ask(
    model: Model,
    questions: Sequence[str],
    style: str = "auto",
    temperature: float = 0.6,
    grid: Sequence[float] = (),
    **settings: Any,
) -> list:
    """Long answers to questions, with nothing around the question (DAHL, section 4: no template, no demonstrations).

    Parameters
    ----------
    model : the subject.
    questions : one prompt each.
    style : 'chat' sends the question as the user's message, 'bare' lets a base model go on from it, 'auto' takes chat where the
        model has a chat template.
    temperature : 0 takes the likeliest token.
    grid : temperatures at which other runs will ask the same. A local model answers for all of them at once, which is quicker than
        one after the other, and the others find their replies in the cache. A server answers each call by itself, so there it
        changes nothing.
    settings : max_tokens and the other parameters of `Model.chat`.
    """
    if style not in STYLES:
        raise ModelError(f"prompt style {style!r} is none of {', '.join(STYLES)}")
    chat = model.is_chat if style == "auto" else style == "chat"
    send = model.chat if chat else model.complete
    if len(set(grid)) > 1 and model.is_local and model.mode == "cache":
        from filelock import FileLock

        # Runs of a grid that go side by side wait here for the first of them instead of all doing the same work.
        with FileLock(str(places.outputs() / "cache" / f"grid-{model.name.replace('/', '-')[-60:]}.lock")):
            every = list(dict.fromkeys([temperature, *grid]))
            spread = [t for t in every for _ in questions]
            send(list(questions) * len(every), temperature=spread, **settings)
    return send(questions, about=list(questions), temperature=temperature, **settings)


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
