"""Which topics an exam can ask about (20_topics): seeded retrieval, a taxonomy, and a checklist (MS-Exam-Gen, section III.A).

Seeded queries and an index go in; topics and subtopics with the passages that they are from come out. A model makes them, as published;
or a person's table, or the documents themselves, where there is no model that can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab.exam.duplicates import normal
from factlab.models import prompts
from factlab.replies import Parsed, is_refusal, parse_json, plain, strip_reasoning, without_echo
from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model
    from factlab.runs import Workspace
    from factlab.studies.ms_exam_gen.corpus import Index

TOPICS = ("topic", "subtopic", "parent", "passages")
GATHERED = ("query", "rank", "score", "chunk_id", "file")
SUBJECT = "multiple sclerosis on MRI"
# Eighteen, as published; the paper names its fields and prints none of its queries.
SEEDS = (
    "dissemination in space", "dissemination in time", "diagnostic criteria and their revisions", "brain MRI protocol and sequences",
    "spinal cord imaging and lesions", "optic nerve imaging", "gadolinium enhancement and contrast safety", "standardised reporting",
    "central vein sign", "paramagnetic rim lesions", "cortical and juxtacortical lesions", "mimics and differential diagnosis",
    "red flags against the diagnosis", "radiologically isolated syndrome", "clinically isolated syndrome",
    "monitoring of disease activity under treatment", "progressive multifocal leukoencephalopathy", "brain and cord atrophy",
)  # fmt: skip


def schema(numbers: str) -> dict[str, Any]:
    """The JSON schema of a taxonomy; `numbers` says what subtopics name: passages, or lines of earlier taxonomies."""
    subtopic = {
        "type": "object",
        "properties": {"subtopic": {"type": "string"}, numbers: {"type": "array", "items": {"type": "integer"}}},
        "required": ["subtopic", numbers],
        "additionalProperties": False,
    }
    topic = {
        "type": "object",
        "properties": {"topic": {"type": "string"}, "subtopics": {"type": "array", "items": subtopic}},
        "required": ["topic", "subtopics"],
        "additionalProperties": False,
    }
    listed = {"topics": {"type": "array", "items": topic}}
    return {"type": "object", "properties": listed, "required": ["topics"], "additionalProperties": False}


def gather(index: Index, queries: Sequence[str], each: int = 4, most: int = 60) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The passages that the seeded queries find.

    Parameters
    ----------
    index : from `corpus.index`.
    queries : 18 as published.
    each : passages for a query at most; published: 4.
    most : different passages in all; published: 60.

    Returns
    -------
    found : DataFrame, one row a query and passage: query (its text), rank, score, chunk_id, file.
    passages : DataFrame, the different ones among them that are shown: number (from 1), chunk_id, file, title, text, queries (how many found it).

    Notes
    -----
    Where more than `most` are found, the nearest of every query come first, then the second ones, and so on: no query is cut off
    because it stands last.
    """
    import pandas as pd

    queries = list(queries)
    found = index.find(queries, each)
    found["query"] = found["query"].map(dict(enumerate(queries))).astype("str")
    counts = found["chunk_id"].value_counts()
    ids = list(dict.fromkeys(found.sort_values("rank", kind="stable")["chunk_id"]))[:most]
    known = index.chunks.set_index("chunk_id")
    rows = [
        (number, chunk, known.at[chunk, "file"], known.at[chunk, "title"], known.at[chunk, "text"], int(counts[chunk]))
        for number, chunk in enumerate(ids, 1)
    ]
    return found[list(GATHERED)], pd.DataFrame(rows, columns=["number", "chunk_id", "file", "title", "text", "queries"])


def numbered(texts: Sequence[str], numbers: Sequence[int] | None = None, what: str = "Passage") -> str:
    """Texts under test, each with its number, between markers."""
    numbers = range(1, len(texts) + 1) if numbers is None else numbers
    shown = "\n\n".join(f"{what} {n}: {text.strip()}" for n, text in zip(numbers, texts, strict=True))
    return prompts.delimited(shown, "passages")


def messages(passages: pd.DataFrame, subject: str = SUBJECT, per_call: int = 60) -> tuple[list[str], str | None]:
    """What a model is asked about the gathered passages: one message for every `per_call` of them, and the system message."""
    prompt = prompts.load("ms_exam_gen/taxonomy")
    sent = []
    for start in range(0, len(passages), per_call):
        part = passages.iloc[start : start + per_call]
        sent.append(prompt.fill(passages=numbered(part["text"].tolist(), part["number"].tolist()), subject=subject))
    return sent, prompt.system


def induce(
    model: Model,
    passages: pd.DataFrame,
    subject: str = SUBJECT,
    per_call: int = 60,
    temperature: float = 0.0,
    max_tokens: int = 4096,
    **settings: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Topics and subtopics, as a model sees them in the passages.

    Parameters
    ----------
    model : the builder; published: GPT-5 mini at temperature 0.0.
    passages : from `gather`.
    subject : what the exam is about.
    per_call : passages shown at once; 60 as published, fewer for a short window. What several calls name is made one plan by a further call.
    temperature, max_tokens, settings : of `Model.chat`.

    Returns
    -------
    topics : DataFrame, columns `TOPICS`; `passages` are chunk ids, '; ' between. Empty where no reply can be read.
    calls : DataFrame, one row a call: step ('topics', 'merge'), reply, status, error, subtopics (read).
    """
    import pandas as pd

    sent, system = messages(passages, subject, per_call)
    chunks = dict(zip(passages["number"], passages["chunk_id"], strict=True))
    asked = dict(temperature=temperature, max_tokens=max_tokens, **settings)
    rows, calls = [], []
    answers = model.chat(sent, system=system, schema=schema("passages"), **asked) if sent else []
    for message, reply in zip(sent, answers, strict=True):
        read = _read(reply, message, "passages")
        for topic, subtopic, numbers in read.value or []:
            rows.append((topic, subtopic, [chunks[n] for n in numbers if n in chunks]))
        calls.append(("topics", reply.text, read.status, reply.error or "", len(read.value or [])))
    if sum(call[4] > 0 for call in calls) > 1:
        prompt = prompts.load("ms_exam_gen/taxonomy_merge")
        lines = "\n".join(f"{n}. {topic}: {subtopic}" for n, (topic, subtopic, _) in enumerate(rows, 1))
        message = prompt.fill(lines=prompts.delimited(lines, "lines"), subject=subject)
        (reply,) = model.chat([message], system=prompt.system, schema=schema("lines"), **asked)
        read = _read(reply, message, "lines")
        calls.append(("merge", reply.text, read.status, reply.error or "", len(read.value or [])))
        if read.value:  # otherwise the plans stand side by side; `table` joins what has the same name
            rows = [
                (topic, subtopic, [chunk for n in numbers if 0 < n <= len(rows) for chunk in rows[n - 1][2]])
                for topic, subtopic, numbers in read.value
            ]
    return table(rows), pd.DataFrame(calls, columns=["step", "reply", "status", "error", "subtopics"])


def _read(reply: Any, message: str, numbers: str) -> Parsed:
    if not reply.ok:
        return Parsed([], "error")
    read = read_taxonomy(reply.text, message, numbers)
    return Parsed([], "truncated") if not read.value and reply.finish == "length" else read


def read_taxonomy(reply: str | None, prompt: str | None = None, numbers: str = "passages") -> Parsed:
    """The topics in a reply: JSON, or an outline of topics with their subtopics as list items below.

    Returns
    -------
    Parsed : list of (topic, subtopic, numbers); [] with status 'unparsable', 'refused', 'truncated' or 'error' where there is none.
    """
    parsed = parse_json(reply)
    found = parsed.value if isinstance(parsed.value, Mapping) else {}
    listed = found.get("topics") if "topics" in found else parsed.value
    if isinstance(listed, list):
        rows = [row for entry in listed if isinstance(entry, Mapping) for row in _of_topic(entry, numbers)]
        if rows:
            return Parsed(rows, "scored")
    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed([], answer.status)
    text = without_echo(answer.value, prompt).strip()
    if is_refusal(text):
        return Parsed([], "refused")
    rows = [] if re.search(r"[\[{]", text) else _outline(text)
    return Parsed(rows, "scored") if rows else Parsed([], "truncated" if parsed.status == "truncated" else "unparsable")


def _of_topic(entry: Mapping[str, Any], numbers: str) -> list[tuple[str, str, list[int]]]:
    topic = next((entry[k] for k in ("topic", "name", "title") if isinstance(entry.get(k), str)), "")
    given = entry.get("subtopics")
    rows = []
    for one in given if isinstance(given, list) else []:
        if isinstance(one, str):
            one = {"subtopic": one}
        if not isinstance(one, Mapping):
            continue
        name = next((one[k] for k in ("subtopic", "name", "title") if isinstance(one.get(k), str)), "")
        named = one.get(numbers)
        ints = [n for n in named if isinstance(n, int) and not isinstance(n, bool)] if isinstance(named, list) else []
        rows.append((topic, name, ints))
    return rows


def _outline(text: str) -> list[tuple[str, str, list[int]]]:
    rows, topic = [], ""
    for line in text.splitlines():
        item = re.match(r"(\s*)(?:[-*•+]|\(?[a-z][.)])\s+(\S.*)", line)
        words = plain(re.sub(r"^\s*(?:#+|\(?\d{1,2}[.)]|[-*•+])\s*", "", line)).strip().rstrip(":").strip()
        words = re.sub(r"^(?:topic|subtopic)\s*\d*\s*:\s*", "", words, flags=re.IGNORECASE)
        if not re.search(r"\w", words) or len(words) > 120:
            continue
        if item and topic:
            rows.append((topic, words, []))
        elif not item and (re.match(r"\s*(?:#+|\**\(?\d{1,2}[.)])", line) or line.rstrip().rstrip("*").endswith(":")):
            topic = words
    return rows


def table(rows: Sequence[tuple[str, str, Sequence[str]]]) -> pd.DataFrame:
    """Topics and subtopics as a table, what has the same name joined, with their semantic parents.

    Parameters
    ----------
    rows : (topic, subtopic, chunk ids); rows without a name of either are left out.

    Returns
    -------
    DataFrame : columns `TOPICS`, topics in order of appearance.
    """
    import pandas as pd

    kept: dict[tuple[str, str], list[str]] = {}
    names: dict[str, str] = {}
    for topic, subtopic, chunks in rows:
        topic, subtopic = " ".join(str(topic).split()), " ".join(str(subtopic).split())
        if not normal(topic) or not normal(subtopic):
            continue
        key = (normal(topic), normal(subtopic))
        names.setdefault(key[0], topic)
        names.setdefault("\n".join(key), subtopic)
        kept.setdefault(key, []).extend(chunks)
    order = list(dict.fromkeys(topic for topic, _ in kept))
    made = [
        (names[key[0]], names["\n".join(key)], "; ".join(dict.fromkeys(kept[key])))
        for key in sorted(kept, key=lambda key: order.index(key[0]))
    ]
    found = pd.DataFrame(made, columns=["topic", "subtopic", "passages"]).astype("str")
    found.insert(2, "parent", parents(found))
    return found


def parents(topics: pd.DataFrame, share: float = 0.5) -> list[str]:
    """The semantic parent of each row: topics whose passages are largely the same share one, named after the first of them.

    Notes
    -----
    The paper has 13 parents for 16 topics and does not say how they were found. Here two topics share a parent where the passages
    that both have are at least `share` of the smaller one's; it hangs together through chains.
    """
    own = {
        topic: {chunk for cell in rows for chunk in cell.split("; ") if chunk}
        for topic, rows in topics.groupby("topic", sort=False)["passages"]
    }
    parent: dict[str, str] = {}
    for topic, chunks in own.items():
        like = [
            other
            for other in parent
            if chunks and own[other] and len(chunks & own[other]) >= share * min(len(chunks), len(own[other]))
        ]
        joined = {parent[other] for other in like}
        first = parent[like[0]] if like else topic
        parent[topic] = first
        for other, above in parent.items():
            if above in joined:
                parent[other] = first
    return [parent[topic] for topic in topics["topic"]]


def from_documents(found: pd.DataFrame, index: Index) -> pd.DataFrame:
    """Topics without a model: each document that a query found is a topic, and the queries whose nearest passage it holds its subtopics.

    Parameters
    ----------
    found : from `gather`.
    index : the same index.
    """
    titles = dict(zip(index.chunks["file"], index.chunks["title"], strict=True))
    rows = []
    for query, own in found.groupby("query", sort=False):
        best = own.sort_values("rank").iloc[0]["file"]
        rows.append((titles[best], query, own.loc[own["file"] == best, "chunk_id"].tolist()))
    return table(rows)


def read_topics(path: str | Path) -> pd.DataFrame:
    """Topics that a person made or edited: a table with topic and subtopic, and where wanted parent and passages (chunk ids, '; ' between).

    Raises
    ------
    sources.SourceError : the file cannot be read or lacks a column, or a row has no topic or no subtopic.
    """
    from factlab.sources import SourceError, read_table

    given, _ = read_table(path, required=["topic", "subtopic"], optional=["parent", "passages"])
    for number, row in zip(given.index, given.to_dict("records"), strict=True):
        if not row["topic"].strip() or not row["subtopic"].strip():
            raise SourceError(
                f"{path}, row {number}: there is no {'topic' if not row['topic'].strip() else 'subtopic'}"
            )
    found = table(list(zip(given["topic"], given["subtopic"], [c.split("; ") for c in given["passages"]], strict=True)))
    named = {normal(t): p.strip() for t, p in zip(given["topic"], given["parent"], strict=True) if p.strip()}
    found["parent"] = [named.get(normal(t), p) for t, p in zip(found["topic"], found["parent"], strict=True)]
    return found


def make(
    run: Workspace,
    taxonomy: str,
    model: Model | None,
    found: pd.DataFrame,
    passages: pd.DataFrame,
    index: Index,
    subject: str = SUBJECT,
    per_call: int = 60,
    **settings: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Topics in one of three ways, and the calls that it took (see `induce`; none but with a model).

    Parameters
    ----------
    run : Workspace
    taxonomy : 'model' (`induce`), 'documents' (`from_documents`), or the path of a table (`read_topics`).
    model : needed for 'model' alone.
    found, passages : from `gather`.
    index, subject, per_call, settings : see there.
    """
    import pandas as pd

    if taxonomy == "model":
        return induce(model, passages, subject, per_call, **settings)
    none = pd.DataFrame(columns=["step", "reply", "status", "error", "subtopics"], dtype="str")
    return from_documents(found, index) if taxonomy == "documents" else read_topics(run.used(taxonomy)), none


def of_run(run: Workspace, index: Index) -> pd.DataFrame:
    """The topics that 20_topics wrote; in a notebook opened by hand with none, those of `from_documents`, with a banner.

    Raises
    ------
    FileNotFoundError : the run has no such table; the message says what to run first.
    """
    if run.has("topics") or not run.interactive:
        return run.read("topics")
    run.banner(
        "There is no table “topics” from an earlier step, so the documents' titles and the seeded queries stand for it. Run 20_topics, "
        "or `factlab run`, to use topics of your own."
    )
    return from_documents(gather(index, SEEDS)[0], index)


def coverage(topics: pd.DataFrame, concepts: Sequence[str], share: float = 0.5) -> pd.DataFrame:
    """The checklist: which of the concepts that the exam should cover have a topic.

    Parameters
    ----------
    topics : from `table`.
    concepts : what a person expects, in words.
    share : of a concept's content words that must stand in the names of one topic and subtopic, 0..1.

    Returns
    -------
    DataFrame : concept, covered (bool), topic, subtopic (the nearest ones, '' where no word is shared), share (of the words), missing
    (words that do not stand there).

    Notes
    -----
    By words alone: a topic in other words ("Dawson's fingers" for "periventricular lesions") does not count, which errs on the side of
    asking a person. Words are compared by their first five letters, without the s of a plural.
    """
    import pandas as pd

    names = [(t, s, set(_words(f"{t} {s}"))) for t, s in zip(topics["topic"], topics["subtopic"], strict=True)]
    rows = []
    for concept in concepts:
        words = _words(concept)
        wanted = set(words)
        best, topic, subtopic = 0.0, "", ""
        for t, s, own in names:
            shared = len(wanted & own) / len(wanted) if wanted else 0.0
            if shared > best:
                best, topic, subtopic = shared, t, s
        held = next((own for t, s, own in names if (t, s) == (topic, subtopic)), set())
        rows.append(
            (
                concept,
                best >= share and best > 0,
                topic,
                subtopic,
                best,
                ", ".join(words[stem] for stem in sorted(wanted - held)),
            )
        )
    return pd.DataFrame(rows, columns=["concept", "covered", "topic", "subtopic", "share", "missing"])


_STOP = frozenset(("a", "an", "and", "as", "at", "by", "for", "from", "in", "its", "of", "on", "or", "the", "their", "to", "under", "with"))  # fmt: skip


def _words(text: str) -> dict[str, str]:
    """The content words of a text by the form in which they are compared."""
    words = [word for word in re.findall(r"\w+", fold(text)) if word not in _STOP]
    return {(word.removesuffix("s") if len(word) > 3 else word)[:5]: word for word in words}


def topic_counts(topics: pd.DataFrame) -> pd.DataFrame:
    """topic, parent, subtopics, passages (different ones): one row a topic."""
    import pandas as pd

    rows = []
    for topic, own in topics.groupby("topic", sort=False):
        chunks = {chunk for cell in own["passages"] for chunk in cell.split("; ") if chunk}
        rows.append((topic, own["parent"].iloc[0], len(own), len(chunks)))
    return pd.DataFrame(rows, columns=["topic", "parent", "subtopics", "passages"])


def sentence(topics: pd.DataFrame, covered: pd.DataFrame) -> str:
    """What was found, in words."""
    if topics.empty:
        return "no topics"
    several, above = topics["topic"].nunique(), topics["parent"].nunique()
    said = (
        f"{several} {'topic' if several == 1 else 'topics'} under {above} {'parent' if above == 1 else 'parents'}, "
        f"{len(topics)} {'subtopic' if len(topics) == 1 else 'subtopics'}"
    )
    if covered_by_making(topics, covered):
        return said
    return f"{said}; {int(covered['covered'].sum())} of {len(covered)} concepts of the checklist are covered"


def covered_by_making(topics: pd.DataFrame, covered: pd.DataFrame) -> bool:
    """Whether the concepts of the checklist are the subtopics themselves, so that all are covered whatever the topics are like."""
    return len(covered) > 0 and set(map(normal, covered["concept"])) <= set(map(normal, topics["subtopic"]))


def warnings(
    topics: pd.DataFrame, covered: pd.DataFrame, found: pd.DataFrame, calls: pd.DataFrame, how: str
) -> list[str]:
    """What to distrust in a taxonomy, from the numbers."""
    notes = []
    unread = calls[calls["status"] != "scored"] if len(calls) else calls
    if len(unread):
        notes.append(f"{len(unread)} of {len(calls)} replies could not be read ({unread['status'].iloc[0]}).")
    if how == "documents":
        notes.append(
            "The topics are the titles of the documents and the subtopics the seeded queries: no model looked at what the passages say."
        )
    if topics.empty:
        return [
            *notes,
            "There are no topics, so no item can be written. Name a table of topics, or take taxonomy = documents.",
        ]
    if covered_by_making(topics, covered):
        notes.append(
            f"All {len(covered)} concepts of the checklist are names of subtopics, so that they are covered says nothing. Name a checklist of your own."
        )
    if len(found) and (queries := found["query"].nunique()) != len(SEEDS):
        notes.append(f"{queries} seeded {'query' if queries == 1 else 'queries'}: the paper has {len(SEEDS)}.")
    gaps = covered.loc[~covered["covered"], "concept"].tolist()
    if gaps:
        notes.append(
            f"{len(gaps)} of {len(covered)} concepts have no topic by their words: {', '.join(gaps[:5])}{' …' if len(gaps) > 5 else ''}. "
            "Look whether they have one in other words."
        )
    without = (topics["passages"] == "").sum()
    if without:
        notes.append(
            f"{without} of {len(topics)} subtopics name no passage; what they rest on is searched for by name."
        )
    once = found.groupby("query")["score"].max()
    if len(found) and found["file"].nunique() < 3:
        notes.append(f"All passages found are from {found['file'].nunique()} documents.")
    if len(once) and (once <= 0).any():
        notes.append(f"{(once <= 0).sum()} queries found nothing that is like them.")
    return notes
