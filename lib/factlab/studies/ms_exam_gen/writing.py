"""Writing multiple-choice items from passages (30_write_items): MS-Exam-Gen, section III.B and Algorithm 1.

Topics and an index go in. For every subtopic and label a model is shown the passages that are retrieved, and writes a question with
four options, key, explanation and quotes. What cannot be read, or what the audit flags, goes back once with the reasons; what is then
still wrong is rejected, and the reason is kept. Out come items with shuffled options, and a record of every draft.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from factlab import exam
from factlab.exam import LETTERS, Item
from factlab.models import prompts
from factlab.models.base import ModelError
from factlab.studies.ms_exam_gen.drafts import Task, as_item, read_draft
from factlab.studies.ms_exam_gen.topics import numbered

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model
    from factlab.studies.ms_exam_gen.corpus import Index

FORMS = ("json", "lines")
# What sends a draft back, and what puts it out if it is still there: flags or groups of `exam.FLAGS`.
REPAIR = ("schema", "phrasing", "label", "contradiction", "trivia", "cue", "evidence")
REJECT = (*REPAIR, "duplicate")
DRAFTS = (
    "number", "topic", "subtopic", "label", "passages", "sources", "asked", "reply", "first_problems", "repair_reply", "problems",
    "outcome", "item_id", "error",
)  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "question_type": {"type": "string"},
        "options": {"type": "array", "items": {"type": "string"}},
        "answer": {"type": "string", "enum": list(LETTERS)},
        "explanation": {"type": "string"},
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"passage": {"type": "integer"}, "quote": {"type": "string"}},
                "required": ["passage", "quote"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["question", "question_type", "options", "answer", "explanation", "evidence"],
    "additionalProperties": False,
}


# What is asked in lines is shown once as done: a small model follows an example, and no description of a form.
_EXAMPLE = (
    "The heart has two circuits. The pulmonary artery carries blood from the right ventricle to the lungs, and the aorta carries blood "
    "from the left ventricle to the body.",
    "the arteries of the heart",
    """Question: Which vessel carries blood from the heart to the lungs?
A) The aorta
B) The pulmonary artery
C) The vena cava
D) The carotid artery
Answer: B
Explanation: It leads from the right ventricle to the lungs.
Evidence: The pulmonary artery carries blood from the right ventricle to the lungs""",
)


@dataclass(frozen=True)
class Written:
    """What came of it.

    Attributes
    ----------
    items : those accepted, in order, options shuffled.
    first : what could be read of the first drafts, before any repair; options as the model put them.
    drafts : DataFrame, columns `DRAFTS`, one row a task. `outcome`: 'accepted' (at once), 'repaired' (accepted after repair),
        'rejected'. `first_problems` and `problems`: why it went back, and what is left, one a line.
    """

    items: list[Item]
    first: list[Item]
    drafts: pd.DataFrame


def tasks(
    topics: pd.DataFrame,
    index: Index,
    per_subtopic: Mapping[str, int],
    *,
    k: int = 3,
    synthesis_k: int = 30,
    per_source: int = 2,
    snippets: int = 10,
    most: int = 0,
) -> list[Task]:
    """What is to be written, each with the passages that the builder will see.

    Parameters
    ----------
    topics : topic, subtopic, parent.
    index : of the corpus.
    per_subtopic : items of each label for a subtopic, e.g. {'easy': 1, 'synthesis': 1}.
    k : passages for easy, medium and hard; published: 3.
    synthesis_k, per_source, snippets : for synthesis so many are retrieved, at most so many of one source stay, and of these the first
        so many are shown; published: 30, 2 and 10.
    most : tasks of each label at most, spread over the subtopics; 0: all.

    Returns
    -------
    list of Task, label by label within a subtopic. Several items of one label and subtopic see different passages where there are more:
    the second begins after those of the first.

    Raises
    ------
    ModelError : a label is not known.
    """
    unknown = set(per_subtopic) - set(exam.LABELS)
    if unknown:
        raise ModelError(f"no label called {sorted(unknown)[0]!r}; there are {', '.join(exam.LABELS)}")
    rows = list(topics[["topic", "subtopic", "parent"]].itertuples(index=False))
    queries = [f"{row.topic}: {row.subtopic}" for row in rows]
    found: list[Task] = []
    for label in exam.LABELS:
        count = int(per_subtopic.get(label, 0))
        if not count or not rows:
            continue
        if label == "synthesis":
            table = index.find(queries, synthesis_k, per_source, snippets)
        else:
            table = index.find(queries, k * count)
        own = table.groupby("query")["chunk_id"].agg(list).to_dict()
        made = []
        for number, row in enumerate(rows):
            near = own.get(number, [])
            for turn in range(count):
                shown = near if label == "synthesis" else near[turn * k : (turn + 1) * k] or near[:k]
                made.append(Task(row.topic, row.subtopic, label, row.parent, tuple(shown)))
        if most and most < len(made):
            made = [made[int((i + 0.5) * len(made) / most)] for i in range(most)]
        found += made
    order = {(row.topic, row.subtopic): number for number, row in enumerate(rows)}
    return sorted(found, key=lambda task: order[task.topic, task.subtopic])


def messages(
    made: Sequence[Task], index: Index, form: str = "json", snippet_chars: int = 0
) -> list[list[dict[str, str]]]:
    """What the builder is sent for each task: system message and user's message.

    Parameters
    ----------
    made : from `tasks`.
    form : 'json', or 'lines' for models that cannot write JSON.
    snippet_chars : longest passage shown, in characters; 0: whole. Quotes are looked for in the whole passage.
    """
    if form not in FORMS:
        raise ModelError(f"form is {form!r}; it can be {' or '.join(map(repr, FORMS))}")
    if form == "lines":
        return [_lines_message(task.subtopic, _shown(task, index, snippet_chars)) for task in made]
    sent = []
    for task in made:
        prompt = prompts.load(f"ms_exam_gen/write_{task.label}")
        blanks = {"passages": _shown(task, index, snippet_chars), "topic": task.topic, "subtopic": task.subtopic}
        sent.append(_turns(prompt.system, prompt.fill(**{b: v for b, v in blanks.items() if b in prompt.blanks})))
    return sent


def _lines_message(subtopic: str, shown: str) -> list[dict[str, str]]:
    prompt, (text, about, reply) = prompts.load("ms_exam_gen/write_lines"), _EXAMPLE
    example = prompt.fill(passages=prompts.delimited(text, "passages"), subtopic=about)
    turns = _turns(prompt.system, example) + [{"role": "assistant", "content": reply}]
    return turns + _turns(None, prompt.fill(passages=shown, subtopic=subtopic))


def _turns(system: str | None, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}] * bool(system) + [{"role": "user", "content": user}]


def _shown(task: Task, index: Index, snippet_chars: int) -> str:
    texts = [index.texts[chunk] for chunk in task.passages]
    return numbered([text[:snippet_chars] if snippet_chars else text for text in texts])


def write(
    model: Model,
    made: Sequence[Task],
    index: Index,
    *,
    form: str = "json",
    temperature: float = 0.3,
    repair_temperature: float = 0.1,
    max_tokens: int = 1024,
    repair: Sequence[str] = REPAIR,
    reject: Sequence[str] = REJECT,
    snippet_chars: int = 0,
    near: float = 0.90,
    cosine: float = 0.90,
    shuffle_seed: int = 0,
    **settings: Any,
) -> Written:
    """Have the items written, mended once, and accepted or rejected.

    Parameters
    ----------
    model : the builder; published: GPT-5 mini, at 0.3 for writing and 0.1 for repair.
    made : from `tasks`.
    index : of the corpus.
    form, snippet_chars : as in `messages`. A repair is always asked for in the same form.
    temperature, repair_temperature, max_tokens, settings : of `Model.chat`.
    repair, reject : flags or groups of flags (`exam.FLAGS`) that send a draft back, and that put it out in the end. What cannot be read
        is always sent back and, if it still cannot, rejected.
    near, cosine : from which string similarity of stems, and which cosine of synthesis items, two items are duplicates.
    shuffle_seed : of the order of the options, kept with each item.

    Returns
    -------
    Written

    Notes
    -----
    A repair takes the place of its draft where it can be read; where it cannot, a readable draft stays and is judged as it is. A task
    without a passage is rejected before anything is sent, as is synthesis from fewer than two sources. Of duplicates the earlier stays.
    """
    import pandas as pd

    _known(repair, "repair"), _known(reject, "reject")
    made = list(made)
    rows: list[dict[str, Any]] = [
        dict.fromkeys(DRAFTS, "") | {"number": n, "topic": t.topic, "subtopic": t.subtopic, "label": t.label,
         "passages": "; ".join(t.passages), "sources": len({index.files[c] for c in t.passages})}
        for n, t in enumerate(made, 1)
    ]  # fmt: skip
    drafts: list[Item | None] = [None] * len(made)
    ready = []
    for number, (task, row) in enumerate(zip(made, rows, strict=True)):
        few = task.label == "synthesis" and row["sources"] < 2
        if task.passages and not few:
            ready.append(number)
            continue
        row["problems"] = "fewer than two sources were retrieved" if task.passages else "no passage was retrieved"
    asked = dict(max_tokens=max_tokens, schema=SCHEMA if form == "json" else None, **settings)
    sent = messages([made[n] for n in ready], index, form, snippet_chars)
    answers = model.chat(sent, temperature=temperature, **asked) if sent else []
    for number, message, reply in zip(ready, sent, answers, strict=True):
        rows[number] |= {"asked": message[-1]["content"], "reply": reply.text}
        drafts[number], rows[number]["first_problems"], rows[number]["error"] = _made(
            reply, message, made[number], index
        )
    first = [item for item in drafts if item is not None]
    for number, problems in _flagged(drafts, index, repair, near).items():
        rows[number]["first_problems"] = problems
    back = [n for n in ready if rows[n]["first_problems"] and not rows[n]["error"]]
    sent = [_repair_message(made[n], index, rows[n], form, snippet_chars) for n in back]
    answers = model.chat(sent, temperature=repair_temperature, **asked) if sent else []
    for number, message, reply in zip(back, sent, answers, strict=True):
        row = rows[number]
        row["repair_reply"] = reply.text
        again, problem, error = _made(reply, message, made[number], index)
        row["error"] = error
        if again is not None:
            drafts[number] = again
        elif drafts[number] is None:
            row["problems"] = f"{row['first_problems']}\nafter repair: {problem}"
    for number in ready:
        if drafts[number] is None and not rows[number]["problems"]:
            rows[number]["problems"] = rows[number]["first_problems"]
    # Duplicates are looked for among what is left without them, so that a rejected item puts no other out.
    for number, problems in _flagged(drafts, index, [r for r in reject if "duplicate" not in r], near).items():
        rows[number]["problems"], drafts[number] = problems, None
    twice = [r for r in reject if "duplicate" in r]
    if twice:
        for number, problems in _flagged(drafts, index, twice, near, cosine, vectors=True).items():
            rows[number]["problems"], drafts[number] = problems, None
    for number, item in enumerate(drafts):
        rows[number]["outcome"] = (
            "rejected" if item is None else "repaired" if rows[number]["repair_reply"] else "accepted"
        )
        if item is not None:
            rows[number]["item_id"] = item.id
    for number, problems in _flagged(drafts, index, list(exam.GROUPS), near).items():
        rows[number]["problems"] = problems  # what an accepted item is still flagged for
    items = exam.shuffled([item for item in drafts if item is not None], shuffle_seed)
    table = pd.DataFrame(rows, columns=list(DRAFTS))
    kinds = dict.fromkeys(set(DRAFTS) - {"number", "sources"}, "str") | {"number": "int64", "sources": "int64"}
    return Written(items, first, table.astype(kinds))


def _known(names: Sequence[str], what: str) -> None:
    if isinstance(names, str):
        raise ModelError(f"{what} wants a list of flags or groups, got the text {names!r}")
    exam.screen([], exam.audit([]), names)  # raises where one is neither


def _flagged(
    drafts: Sequence[Item | None],
    index: Index,
    names: Sequence[str],
    near: float,
    cosine: float = 0.90,
    vectors: bool = False,
) -> dict[int, str]:
    """What the audit says of the drafts that there are, by number: the flags among `names`, each with its detail."""
    import pandas as pd

    numbers = [n for n, item in enumerate(drafts) if item is not None]
    items = [item for item in drafts if item is not None]
    if not items or not names:
        return {}
    found = _vectors(items, index) if vectors else None
    flags = exam.audit(items, vectors=found, chunks=index.texts, near=near, cosine=cosine)
    verdicts = exam.screen(items, flags, names)
    told: dict[int, list[str]] = {}
    for row, flag, limit, detail in flags[["row", "flag", "limit", "detail"]].itertuples(index=False):
        if flag in verdicts.at[row, "reasons"].split(", "):
            # The builder is not told the limits of a label otherwise when it mends.
            bound = "" if pd.isna(limit) else f", limit {limit:g}"
            detail = " ".join(detail.split()) + bound
            told.setdefault(numbers[row], []).append(f"{flag} ({exam.FLAGS[flag][1]}{f': {detail}' if detail else ''})")
    return {number: "\n".join(said) for number, said in told.items()}


def _vectors(items: Sequence[Item], index: Index) -> Any:
    """Embeddings of the items where one of them is a synthesis item, since only these are compared."""
    if not any(item.label == "synthesis" for item in items):
        return None
    return index.vectors(item_texts(items))


def item_texts(items: Sequence[Item]) -> list[str]:
    """What stands for an item where meanings are compared: its stem and its key."""
    return [f"{i.question} {i.options[i.key_number] if i.key_number >= 0 else ''}".strip() for i in items]


def _repair_message(
    task: Task, index: Index, row: Mapping[str, Any], form: str, snippet_chars: int
) -> list[dict[str, str]]:
    problems = "\n".join(f"* {problem}" for problem in row["first_problems"].split("\n"))
    draft = row["reply"].strip() or "(nothing was written)"
    if form == "lines":
        # As the conversation goes on: the draft is the model's own answer.
        before = _lines_message(task.subtopic, _shown(task, index, snippet_chars))
        again = prompts.load("ms_exam_gen/repair_lines").fill(problems=problems, subtopic=task.subtopic)
        return [*before, {"role": "assistant", "content": draft}, *_turns(None, again)]
    prompt = prompts.load("ms_exam_gen/repair")
    blanks = {
        "passages": _shown(task, index, snippet_chars),
        "draft": prompts.delimited(draft, "draft"),
        "topic": task.topic,
        "subtopic": task.subtopic,
        "problems": problems,
    }
    return _turns(prompt.system, prompt.fill(**{b: v for b, v in blanks.items() if b in prompt.blanks}))


# --- reading a draft -----------------------------------------------------------------------------------------------------------------


def _made(reply: Any, message: Sequence[Mapping[str, str]], task: Task, index: Index) -> tuple[Item | None, str, str]:
    """The item in a reply, or why there is none, and the error of a call that failed."""
    if not reply.ok:
        return None, "the call failed", reply.error
    parsed = read_draft(reply.text, message[-1]["content"])
    if parsed.value is None:
        cut = reply.finish == "length" and parsed.status in ("unparsable", "truncated")
        said = {"refused": "the model refused", "truncated": "the reply was cut off"}
        return None, said.get("truncated" if cut else parsed.status, "no item can be read in the reply"), ""
    return as_item(parsed.value, task, index), "", ""


# --- what the page says --------------------------------------------------------------------------------------------------------------


def tasks_table(made: Sequence[Task]) -> pd.DataFrame:
    """label, topic, subtopic, passages (ids): one row a task."""
    import pandas as pd

    rows = [(t.label, t.topic, t.subtopic, "; ".join(t.passages)) for t in made]
    return pd.DataFrame(rows, columns=["label", "topic", "subtopic", "passages"])


def evidence_table(items: Sequence[Item]) -> pd.DataFrame:
    """item_id, chunk, start, end, quote: one row a quote."""
    import pandas as pd

    rows = [(i.id, e.chunk, e.start, e.end, e.quote) for i in items for e in i.evidence]
    table = pd.DataFrame(rows, columns=["item_id", "chunk", "start", "end", "quote"])
    return table.astype({"start": "Int64", "end": "Int64"})


def outcomes(drafts: pd.DataFrame) -> pd.DataFrame:
    """label, tasks, as first written, after repair, rejected: one row a label."""
    import pandas as pd

    rows = []
    for label in [name for name in exam.LABELS if name in set(drafts["label"])]:
        counts = drafts.loc[drafts["label"] == label, "outcome"].value_counts()
        rows.append((label, int(counts.sum()), *(int(counts.get(o, 0)) for o in ("accepted", "repaired", "rejected"))))
    return pd.DataFrame(rows, columns=["label", "tasks", "as first written", "after repair", "rejected"])


def funnel(drafts: pd.DataFrame) -> pd.DataFrame:
    """From tasks to items, for `figures.outcomes`: stage, n, left_out, why."""
    import pandas as pd

    asked = drafts["asked"] != ""
    came = asked & ((drafts["error"] == "") | (drafts["reply"] != ""))  # a repair may fail where the draft came
    kept = drafts["outcome"] != "rejected"
    rows = [("asked for", len(drafts), 0, "")]
    for stage, n, why in (
        ("sent", asked.sum(), "too few passages or sources"),
        ("answered", came.sum(), "the call failed"),
        ("accepted", (kept & came).sum(), "rejected, each mended once at most"),
    ):
        rows.append((stage, int(n), rows[-1][1] - int(n), why))
    return pd.DataFrame(rows, columns=["stage", "n", "left_out", "why"])


def problems(drafts: pd.DataFrame) -> pd.DataFrame:
    """Why drafts went back and why they were rejected: problem, first (drafts sent back for it), rejected."""
    import pandas as pd

    def kinds(cell: str) -> list[str]:
        parts = [part.removeprefix("after repair: ") for part in cell.split("\n") if part]
        return list(dict.fromkeys(part.split(" (")[0] for part in parts))

    first = drafts["first_problems"].map(kinds).explode().dropna().value_counts()
    last = drafts.loc[drafts["outcome"] == "rejected", "problems"].map(kinds).explode().dropna().value_counts()
    names = list(dict.fromkeys([*first.index, *last.index]))
    rows = [(name, int(first.get(name, 0)), int(last.get(name, 0))) for name in names]
    return pd.DataFrame(rows, columns=["problem", "first", "rejected"])


def sentence(written: Written) -> str:
    """What was written, in words."""
    counts = written.drafts["outcome"].value_counts()
    return (
        f"{len(written.items)} items of {len(written.drafts)} asked for: {counts.get('accepted', 0)} as first written, "
        f"{counts.get('repaired', 0)} after a repair; {counts.get('rejected', 0)} rejected"
    )


def warnings(written: Written, builder: str, form: str) -> list[str]:
    """What to distrust in what was written, from the numbers."""
    drafts, notes = written.drafts, []
    if builder == "local/smollm2":
        notes.append(
            "The built-in model is far too small to write examination questions: this page shows the mechanics, not a bank."
        )
    if len(drafts) and not written.items:
        notes.append(
            "No item was accepted. See why below the drafts; a larger model, or a shorter list under reject, gives a bank."
        )
    failed = (drafts["error"] != "").sum()
    if failed:
        notes.append(f"{failed} calls failed: {drafts.loc[drafts['error'] != '', 'error'].iloc[0]}.")
    still = drafts[(drafts["outcome"] != "rejected") & (drafts["problems"] != "")]
    if len(still):
        notes.append(
            f"{len(still)} accepted items are still flagged for what the parameter reject lets pass; 40_audit lists it."
        )
    sources = drafts.loc[drafts["label"] == "synthesis", "sources"]
    if len(sources) and sources.median() < 3:
        notes.append(
            f"Half of the synthesis items were shown {sources.median():g} sources or fewer (7.96 a published item)."
        )
    if form == "lines":
        notes.append(
            "Items were asked for as labelled lines, whatever their label: a small model cannot follow the prompts of the paper's four streams."
        )
    if written.items:
        share = sum(len(i.sources) > 1 for i in written.items if i.label == "synthesis")
        wanted = sum(i.label == "synthesis" for i in written.items)
        if share < wanted:
            notes.append(f"{wanted - share} of {wanted} synthesis items quote one source only.")
        told = evidence_table(written.items)
        absent = int(told["start"].isna().sum())
        notes.append(
            "Key and explanation are the builder's word. "
            + (
                f"{absent} of {len(told)} quotes do not stand in the passages that they name."
                if absent
                else "That a quote stands in its passage was checked, that it decides the question was not."
                if len(told)
                else "Nothing is quoted in support."
            )
        )
    return notes


def as_first(items: Sequence[Item]) -> list[Item]:
    """First drafts that can be probed for cues: four options and a key."""
    return [item for item in items if len(item.options) == len(LETTERS) and item.key_number >= 0]
