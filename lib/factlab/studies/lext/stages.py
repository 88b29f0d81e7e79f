"""What LExT asks of models, stage by stage: each stage puts its prompts to a model for all items at once and reads the replies.

LExT, section 3 and appendix B. Three roles: the *subject* answers, explains, and is asked about its own explanation; the *larger*
model paraphrases, writes questions and turns explanations round; a *judge* labels answers. A stage needs nothing but what
earlier ones gave, so that its prompts go out in one batch: stages 1 and 2a first, then 2b, 3, 4a, 5a and 6a, then 4b, 5b, 6b and
6c, then 6d. No prompt holds the gold label or explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from factlab import explanation, perturb, replies
from factlab.models import prompts
from factlab.models.base import ModelError
from factlab.studies.lext import reading
from factlab.studies.lext.calls import ask, calls_table

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model


EXPLAIN = {"pubmedqa": "lext/explain_pubmedqa", "qpain": "lext/explain_qpain"}
PARAPHRASE = ("question", "context", "frames")
# The question word for word in sentences that ask nothing else, for larger models that cannot reword.
FRAMES = (
    "Please answer this question: {}",
    "A colleague would like to know: {}",
    "{} What do you say?",
    "Here is what has to be decided. {}",
    "Think about this question. {}",
)
REWORD = 0.7  # temperature of paraphrases, each a reply of its own: at 0 all would be one


def explain(model: Model, items: pd.DataFrame, iterations: int = 5, prompt: str = "", **settings: Any) -> pd.DataFrame:
    """Stage 1: each question is answered and explained several times (sections 3.1.2 and appendix B.1).

    Parameters
    ----------
    model : the subject.
    items : item_id, form, question, context.
    iterations : 5 as published; the first answer is *the* explanation that all other stages are about.
    prompt : own prompt file with the blank question and, unless it asks without one, context; '': that of the item's form.
    settings : of `Model.chat`. At temperature 0 all answers are one, and iterative stability is 1 without meaning anything.

    Returns
    -------
    DataFrame : the calls; `read` is the label.

    Raises
    ------
    ModelError : no iterations, or a prompt that does not hold the question.
    """
    if iterations < 1:
        raise ModelError(f"iterations must be 1 or more, got {iterations}")
    if prompt:
        check_prompt(prompt)
    rows = [_question(item, item["question"], item["context"], 0, prompt) for item in items.to_dict("records")]
    return ask(model, "explain", rows, reading.label, samples=iterations, **settings)


def check_prompt(name: str) -> None:
    """Whether a prompt of one's own shows the question and asks for nothing that an item does not have.

    Raises
    ------
    ModelError : it does not.
    """
    blanks = prompts.load(name).blanks
    there = "LExT fills {{question}} and {{context}}"
    if unknown := [blank for blank in blanks if blank not in ("question", "context")]:
        raise ModelError(f"prompt {name}: nothing is known to fill {{{{{unknown[0]}}}}} with; {there}")
    if "question" not in blanks:
        raise ModelError(
            f"prompt {name}: it has no {{{{question}}}}, so that the model would not see the question; {there}"
        )


def paraphrase(
    model: Model, items: pd.DataFrame, count: int = 3, what: str = "question", **settings: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stage 2a: paraphrases of the question (Table 8) or, as appendix B.3 says, of the context.

    Parameters
    ----------
    model : the larger model.
    items : item_id, question, context.
    count : 3 as published; fewer where the model writes the same again.
    what : 'question' (section 3.1.2 and Tables 8 and 10), 'context' (the text of appendix B.3), or 'frames': the question as it is in
        up to five fixed sentences, for which no model is asked.

    Returns
    -------
    The calls, and the paraphrases: item_id, number, question, context. What is the same as the original is none.
    """
    import pandas as pd

    if what not in PARAPHRASE:
        raise ModelError(f"paraphrase is {what!r}; it can be {' or '.join(map(repr, PARAPHRASE))}")
    if what == "frames":
        framed = [
            (r["item_id"], number, frame.format(r["question"]), r["context"])
            for r in items.to_dict("records")
            for number, frame in enumerate(FRAMES[:count])
        ]
        return calls_table([]), pd.DataFrame(framed, columns=["item_id", "number", "question", "context"])
    shown = {"prompt": f"lext/paraphrase_{what}"}
    rows = [_row(r, 0, {what: r[what]}, **shown) for r in items.to_dict("records")] if count else []
    read = reading.one_question if what == "question" else reading.whole_text
    calls = (
        ask(model, "paraphrase", rows, read, samples=count, **{"temperature": REWORD} | settings)
        if rows
        else calls_table([])
    )
    by_item = {item: list(group["read"]) for item, group in calls.groupby("item_id", sort=False)}
    found = []
    for r in items.to_dict("records"):
        for number, text in enumerate(reading.distinct(by_item.get(r["item_id"], []), besides=r[what])):
            new = {"question": r["question"], "context": r["context"]} | {what: text}
            found.append({"item_id": r["item_id"], "number": number} | new)
    return calls, pd.DataFrame(found, columns=["item_id", "number", "question", "context"])


def explain_paraphrases(
    model: Model, items: pd.DataFrame, paraphrases: pd.DataFrame, prompt: str = "", **settings: Any
) -> pd.DataFrame:
    """Stage 2b: each paraphrase is answered and explained once.

    Parameters
    ----------
    model : the subject.
    items : item_id, form.
    paraphrases : from `paraphrase`.

    Returns
    -------
    DataFrame : the calls; `read` is the label.
    """
    forms = items.set_index("item_id")["form"]
    rows = [
        _question(p | {"form": forms[p["item_id"]]}, p["question"], p["context"], p["number"], prompt)
        for p in paraphrases.to_dict("records")
    ]
    return ask(model, "explain_paraphrase", rows, reading.label, **settings)


def explained(
    items: pd.DataFrame, answers: pd.DataFrame, rephrased: pd.DataFrame, paraphrases: pd.DataFrame
) -> pd.DataFrame:
    """The subject's answers taken apart: label, dose, explanation (appendix B.1.1: "the predicted answer, dosage and explanation").

    Parameters
    ----------
    items : item_id, form, question.
    answers, rephrased : calls of `explain` and of `explain_paraphrases`.
    paraphrases : what the latter were asked.

    Returns
    -------
    DataFrame, one row an answer: item_id, kind ('iteration' or 'paraphrase'), sample (0 of kind iteration: the explanation that is
    scored), question (as it was asked), reply, label ('' where none can be read: the reply failed or only reasoned), dose ('low',
    'high' or ''), explanation (the whole answer, its label included, as in Tables 13 and 14; without reasoning and echoes), status,
    finish_reason, error, model.
    """
    import pandas as pd

    known = items.set_index("item_id")
    asked = paraphrases.set_index(["item_id", "number"])["question"].to_dict()
    rows = []
    for kind, calls in (("iteration", answers), ("paraphrase", rephrased)):
        for call in calls.to_dict("records"):
            item, number = call["item_id"], call["number"]
            question = known.at[item, "question"] if kind == "iteration" else asked[item, number]
            dose = explanation.parse_dose(call["reply"], question).value if known.at[item, "form"] == "qpain" else None
            answer = replies.strip_reasoning(call["reply"] if call["status"] != "error" else None)
            text = replies.without_echo(answer.value, question).strip() if answer.value else ""
            kept = {name: call[name] for name in ("reply", "status", "finish_reason", "error", "model")}
            read = {"label": call["read"], "dose": dose or "", "explanation": text}
            rows.append({"item_id": item, "kind": kind, "sample": number, "question": question} | read | kept)
    columns = [
        "item_id",
        "kind",
        "sample",
        "question",
        "reply",
        "label",
        "dose",
        "explanation",
        "status",
        "finish_reason",
        "error",
        "model",
    ]
    return pd.DataFrame(rows, columns=columns)


def first_answers(explained: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """The answers that stages 3 to 6 are about, with what they need of their items: one row an item that has an explanation."""
    first = explained[(explained["kind"] == "iteration") & (explained["sample"].astype(int) == 0)]
    first = first[first["explanation"].fillna("") != ""].fillna({"label": "", "dose": ""})
    wanted = items[["item_id", "form", "question", "context"]]
    return wanted.merge(first[["item_id", "label", "dose", "explanation"]], on="item_id")


def write_question(model: Model, first: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Stage 3: a question from each explanation alone (appendix B.2); `read` is the question.

    Parameters
    ----------
    model : the larger model.
    first : from `first_answers`.
    """
    rows = [_row(r, 0, {"explanation": r["explanation"]}) for r in first.to_dict("records")]
    return ask(model, "question", rows, reading.one_question, **settings)


def qag_questions(model: Model, first: pd.DataFrame, count: int = 5, **settings: Any) -> pd.DataFrame:
    """Stage 4a: questions from each explanation (Table 9, first row); `read` holds them, one a line.

    Parameters
    ----------
    model : the larger model.
    first : from `first_answers`.
    count : asked for ("at least 5" as published); of more the first so many are kept.
    """
    rows = [
        _row(r, 0, {"explanation": r["explanation"], "count": str(count)}, count=count)
        for r in first.to_dict("records")
    ]
    return ask(model, "qag_questions", rows, reading.several_questions, **settings)


def qag_answerable(model: Model, first: pd.DataFrame, written: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Stage 4b: does the explanation answer each question, in the subject's view (Table 9, second row)? `read` is yes, no or ''.

    Parameters
    ----------
    model : the subject.
    first, written : from `first_answers` and `qag_questions`.
    """
    texts = first.set_index("item_id")["explanation"]
    rows = [
        _row(call, number, {"explanation": texts[call["item_id"]], "question": question})
        for call in written.to_dict("records")
        for number, question in enumerate(call["read"].split("\n"))
        if question
    ]
    return ask(model, "qag_answerable", rows, reading.answerable, **settings)


def flip(model: Model, first: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Stage 5a: each explanation turned so that it speaks for the opposite label (appendix B.6); `read` is the new one.

    Parameters
    ----------
    model : the larger model.
    first : from `first_answers`; only answers of yes or no have an opposite and are asked about.
    """
    rows = [
        _row(r, 0, {"question": r["question"], "explanation": r["explanation"], "label": r["label"].capitalize(), "opposite": explanation.flip(r["label"]).capitalize()})
        for r in first.to_dict("records")
        if r["label"] in reading.OPPOSED
    ]  # fmt: skip
    return ask(model, "flip", rows, reading.whole_text, **settings)


def counterfactual(model: Model, first: pd.DataFrame, flipped: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Stage 5b: the answer that each turned explanation leads to, without the context (appendix B.6); `read` is the label.

    Parameters
    ----------
    model : the subject.
    first, flipped : from `first_answers` and `flip`.
    """
    asked = first.set_index("item_id")["question"]
    rows = [
        _row(
            call, 0, {"explanation": call["read"], "question": asked[call["item_id"]]}, question=asked[call["item_id"]]
        )
        for call in flipped.to_dict("records")
        if call["read"]
    ]
    return ask(model, "counterfactual", rows, reading.label, **settings)


def keywords(model: Model, first: pd.DataFrame, count: int = 5, **settings: Any) -> pd.DataFrame:
    """Stage 6a: the words of the context that the answer is said to rest on (appendix B.5); `read` holds them, one a line.

    Parameters
    ----------
    model : the subject.
    first : from `first_answers`; an answer that is neither yes, no nor maybe rests on nothing and is not asked about.
    count : 5 as published.
    """
    rows = [
        _row(
            r,
            0,
            {"context": r["context"], "question": r["question"], "label": r["label"].capitalize(), "count": str(count)},
            count=count,
        )
        for r in first.to_dict("records")
        if r["label"] in (*reading.OPPOSED, "maybe")
    ]
    return ask(model, "keywords", rows, reading.several_keywords, **settings)


def redacted(
    model: Model, first: pd.DataFrame, named: pd.DataFrame, how: str = "remove", **settings: Any
) -> pd.DataFrame:
    """Stages 6b and 6c: the question again, with all keywords taken out of the context, and with one at a time; `read` is the label.

    Parameters
    ----------
    model : the subject.
    first, named : from `first_answers` and `keywords`.
    how : 'remove' (section 3.2.3) or 'restore' (appendix B.5), as in `explanation.sequential_contexts`.

    Returns
    -------
    DataFrame : the calls, stage 'redacted' (one an item) and 'sequential' (number: of the keyword).
    """
    known = first.set_index("item_id")
    whole: list[dict[str, Any]] = []
    single: list[dict[str, Any]] = []
    for call in named.to_dict("records"):
        words = [word for word in call["read"].split("\n") if word]
        if not words:
            continue
        question, context = known.at[call["item_id"], "question"], known.at[call["item_id"], "context"]
        own = {"question": question, "form": known.at[call["item_id"], "form"]}
        whole.append(_row(call, 0, {"context": perturb.redact(context, words), "question": question}, **own))
        for number, text in enumerate(explanation.sequential_contexts(context, words, how)):
            single.append(_row(call, number, {"context": text, "question": question}, stage="sequential", **own))
    return ask(model, "redacted", [*whole, *single], reading.label, **settings)


def judge(model: Model, answers: pd.DataFrame, asked: pd.Series, **settings: Any) -> pd.DataFrame:
    """Stage 6d: a model labels answers, as published; `read` is its label, '' where it names none.

    Parameters
    ----------
    model : the judge; published: Llama-70B.
    answers : calls whose replies are labelled, from `redacted`.
    asked : the question of each item, by item_id.

    Returns
    -------
    DataFrame : the calls, in the order of `answers` less those that failed; number counts within an item: 0 for the answer to the
    context without all keywords, then one a keyword.
    """
    rows = [
        _row(a, a["number"] + (a["stage"] == "sequential"), {"question": asked[a["item_id"]], "answer": a["reply"]})
        for a in answers.to_dict("records")
        if a["status"] != "error"
    ]
    return ask(model, "judge", rows, reading.judged, **settings)


def as_answers(labelled: pd.DataFrame) -> pd.DataFrame:
    """Answers of known label (item_id, question, answer) as `judge` takes them, to see how well it labels."""
    rows = [
        {"item_id": r["item_id"], "stage": "redacted", "number": 0, "reply": r["answer"], "status": "scored"}
        for r in labelled.to_dict("records")
    ]
    return calls_table(rows)


def _row(record: dict[str, Any], number: int, blanks: dict[str, str], **own: Any) -> dict[str, Any]:
    return {"item_id": record["item_id"], "number": int(number), "blanks": blanks} | own


def _question(item: dict[str, Any], question: str, context: str, number: int, prompt: str) -> dict[str, Any]:
    own = {"prompt": prompt or EXPLAIN[item["form"]], "question": question, "form": item["form"]}
    return _row(item, number, {"context": context, "question": question}, **own)
