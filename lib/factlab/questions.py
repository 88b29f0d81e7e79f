"""Building DAHL's benchmark (section 3.2): examination questions that a model wrote from articles go in; those that can be
answered without the article, each with a category and its source, come out.

Three families of expressions tell that a question leans on its article; what they catch goes to a review table that a person
edits. Nothing here asks a model: `models.roles` does, and hands its replies to `parse_questions` and `parse_category`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from factlab.replies import Parsed, is_refusal, parse_list, plain, strip_reasoning, without_echo
from factlab.text import normalise

if TYPE_CHECKING:
    import pandas as pd

    from factlab.sources import Article

DECISIONS = ("keep", "drop")
REVIEW = ("question", "source", "rule", "found", "decision", "category", "note")
FLAGS = ("rule", "found", "decision")


@dataclass(frozen=True)
class Rule:
    """One family of expressions.

    Attributes
    ----------
    name : what the review table calls it.
    stands_for : the place in the paper.
    decision : what becomes of a question that it catches and no person has looked at.
    pattern : the expressions.
    """

    name: str
    stands_for: str
    decision: str
    pattern: re.Pattern[str]


def _rule(name: str, stands_for: str, decision: str, pattern: str) -> Rule:
    return Rule(name, stands_for, decision, re.compile(pattern, re.IGNORECASE | re.VERBOSE))


RULES: tuple[Rule, ...] = (
    _rule(
        "the study",
        "DAHL 3.2.2 (1), appendix A.1",
        "drop",
        r"""\b(?:the|this|that|these|those|their|its|our|an?other)\s+
        (?:(?:present|current|recent|new|original|previous|above|following|given|same|whole|authors?['’]s?|cited|published
            |mentioned|described|included|proposed|provided)\s+)?
        (?:stud(?:y|ies)|analys[ei]s|papers?|research(?:ers?)?|articles?|authors?|investigators?|texts?|passages?|manuscripts?
            |publications?|reviews?|reports?|surveys?|trials?|experiments?|investigations?|findings|results?|datasets?
            |abstract|excerpt)\b""",
    ),
    _rule(
        "mentioned",
        "DAHL 3.2.2 (2), appendix A.2",
        "drop",
        r"""\b(?:mentioned|inferred|addressed|described|observed|suggested|discussed|reported|presented|highlighted|outlined
        |proposed|investigated|examined|cited|noted|stated|studied|tested|concluded|hypothesi[sz]ed|reviewed|surveyed)\b""",
    ),
    _rule(
        "was used",
        "DAHL 3.2.2 (3), appendix A.3",
        "drop",
        r"""\b(?:was|were)\s+(?:(?:also|not|then|first|each|all|both|\w+ly)\s+)?
        (?:used|utili[sz]ed|employed|applied|identified|measured|performed|conducted|carried\ out|determined|selected|assessed
        |analy[sz]ed|evaluated|included|excluded|compared|collected|treated|chosen|developed|obtained|detected|administered
        |recruited|enrolled|calculated|estimated|recorded|validated|implemented|monitored|involved|made|done|achieved)\b""",
    ),
    _rule(
        "based on",
        "DAHL appendix B.1 (by hand)",
        "keep",
        r"\b(?:based|depending|relying)\s+(?:up)?on\b|\baccording\s+to\b|\bin\s+the\s+context\s+of\b|\bas\s+per\b",
    ),
    _rule("was", "DAHL appendix B.2 (by hand)", "keep", r"\b(?:was|were|did)\b"),
)


def flag(questions: Sequence[str]) -> pd.DataFrame:
    """What the rules find in each question.

    Parameters
    ----------
    questions : (n,) sequence of str

    Returns
    -------
    DataFrame, (n, 3), in input order: rule (names joined by '; ', empty where none fits), found (the words that were caught), decision:
    'drop' where one of the paper's three automatic families fits, else 'keep'.

    Notes
    -----
    DAHL, section 3.2.2 and appendices A and B. The paper prints the beginnings of its lists ("the/this/that/… + study/analysis/
    paper/…"); ours go on from there. The two families that the paper's authors looked for by hand ("based on …", "was/were/did")
    are marked for a person and kept otherwise.
    """
    import pandas as pd

    rows = []
    for question in questions:
        hits = [(rule, match[0]) for rule in RULES if (match := rule.pattern.search(" ".join(question.split())))]
        # "was" alone says nothing new where "was used" has been found.
        names = [rule.name for rule, _ in hits]
        hits = [(rule, words) for rule, words in hits if not (rule.name == "was" and "was used" in names)]
        rows.append(
            (
                "; ".join(rule.name for rule, _ in hits),
                "; ".join(words for _, words in hits),
                "drop" if any(rule.decision == "drop" for rule, _ in hits) else "keep",
            )
        )
    return pd.DataFrame(rows, columns=list(FLAGS))


def rule_shares(questions: Sequence[str]) -> pd.DataFrame:
    """How many of some questions each rule catches, and the automatic ones together: what the rules would do to a benchmark.

    Returns
    -------
    DataFrame : rule, stands_for, questions (caught), share (0..1, missing when there are no questions), only (caught by no other
    rule).
    """
    import pandas as pd

    texts = [" ".join(q.split()) for q in questions]
    caught = {rule.name: [bool(rule.pattern.search(q)) for q in texts] for rule in RULES}
    total = [sum(marks) for marks in zip(*caught.values(), strict=True)]
    rows: list[dict[str, Any]] = []
    for rule in RULES:
        marks = caught[rule.name]
        only = sum(mark and count == 1 for mark, count in zip(marks, total, strict=True))
        rows.append({"rule": rule.name, "stands_for": rule.stands_for, "questions": sum(marks), "only": only})
    automatic = [caught[rule.name] for rule in RULES if rule.decision == "drop"]
    either = sum(any(marks) for marks in zip(*automatic, strict=True))
    rows.append({"rule": "any automatic rule", "stands_for": "DAHL 3.2.2", "questions": either, "only": None})
    table = pd.DataFrame(rows).astype({"only": "Int64"})
    table.insert(3, "share", pd.array([n / len(texts) if texts else None for n in table["questions"]], dtype="Float64"))
    return table


# -- what a model is shown and what it wrote ------------------------------------------------------------------------------------------------


def parts(articles: Sequence[Article], size: int = 0, most: int = 0) -> pd.DataFrame:
    """What the writer is shown: whole articles, as published, or parts of them for models with a short window.

    Parameters
    ----------
    articles : from `sources.read_articles`.
    size : longest part in characters, cut between sentences; 0: the whole text.
    most : parts of one article at most, evenly spread over it; 0: all.

    Returns
    -------
    DataFrame : source (the article's name), title, part (from 1), of, text (title and text). Articles without text have no row.
    """
    import pandas as pd

    from factlab.retrieval import chunks

    rows = []
    for article in articles:
        pieces = chunks(article.text, size, 0, sentences=True)["text"].tolist() if size else [article.text]
        pieces = [piece for piece in pieces if piece.strip()]
        chosen = range(len(pieces))
        if most and most < len(pieces):
            chosen = [int((i + 0.5) * len(pieces) / most) for i in range(most)]
        rows += [(article.name, article.title, i + 1, len(pieces), f"{article.title}\n\n{pieces[i]}") for i in chosen]
    return pd.DataFrame(rows, columns=["source", "title", "part", "of", "text"])


_ASKS = re.compile(
    r"^(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|should|would|will|has|have|in|"
    r"under|by|to|for|from|at|on|explain|describe|discuss|compare|contrast|define|outline|summari[sz]e|identify|list|name|"
    r"give|state|distinguish|differentiate|evaluate|analy[sz]e|assess|justify|illustrate|provide|calculate|predict)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^(?:\*\*)?(?:question|q)\s*\d*\s*[.:)]\s*(?:\*\*)?\s*", re.IGNORECASE)


def parse_questions(reply: str | None, prompt: str | None = None) -> Parsed:
    """The questions in a model's reply: one a line, numbered, bulleted or as JSON.

    Answers, options and remarks between them are passed over: a question ends in a question mark, or begins with a word that asks
    ("Explain …") and ends like a sentence.

    Returns
    -------
    Parsed : list of str, [] with status 'unparsable' where there is none; 'refused', 'truncated' and 'error' as in `replies`.
    """
    items = parse_list(reply, prompt)
    if items.status not in ("scored", "truncated"):
        return Parsed([], items.status)
    found = []
    for item in items.value:
        text = " ".join(_LABEL.sub("", item).split()).strip("*_ ")
        if "?" in text:
            text = text[: text.rindex("?") + 1]
        elif not text.endswith("."):
            continue
        if len(text.split()) >= 3 and (_ASKS.match(text) or text.endswith("?")):
            found.append(text)
    return Parsed(found, "scored") if found else Parsed([], "unparsable")


def parse_category(reply: str | None, categories: Sequence[str], prompt: str | None = None) -> Parsed:
    """The category that a model named.

    Parameters
    ----------
    reply : what the model wrote.
    categories : the names to choose from. A longer name counts before a shorter one inside it ("Forensic Medicine", "Medicine").

    Returns
    -------
    Parsed : the name with status 'scored'; None with status 'unknown' (several were named, or the model said that it is ambiguous:
    the paper leaves such questions out), 'unparsable' (none), 'refused', 'truncated' or 'error'.
    """
    from factlab.sources import category_name

    answer = strip_reasoning(reply)
    if answer.status != "scored":
        return Parsed(None, answer.status)
    text = plain(without_echo(answer.value, prompt)).strip().strip(".\"'`“”‘’* ")
    whole = category_name(re.sub(r"^(?:category|field|answer)\s*:\s*", "", text, flags=re.IGNORECASE))
    if whole in categories:
        return Parsed(whole, "scored")
    if re.search(r"\bambiguous\b|\bmore than one\b", text, re.IGNORECASE):
        return Parsed(None, "unknown")
    named, rest = [], text
    for name in sorted(categories, key=len, reverse=True):
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", 0 if name in ("Other", "Medicine") else re.IGNORECASE)
        if pattern.search(rest):
            named.append(name)
            rest = pattern.sub(" ", rest)
    if len(named) == 1:
        return Parsed(named[0], "scored")
    if named:
        return Parsed(None, "unknown")
    return Parsed(None, "refused" if is_refusal(text) else "unparsable")


# -- from what was written to the benchmark -----------------------------------------------------------------------------


def distinct(written: pd.DataFrame) -> pd.DataFrame:
    """Leave each question in once: the first of those that differ in capitals, spaces or marks only.

    Parameters
    ----------
    written : DataFrame with question and source.

    Returns
    -------
    DataFrame : the rows that stay, with `copies` (how often the question was written in all).
    """
    keys = written["question"].map(_key)
    copies = keys.groupby(keys).transform("size")
    return written.assign(copies=copies)[~keys.duplicated()].reset_index(drop=True)


def _key(question: str) -> str:
    return re.sub(r"[^\w ]", "", normalise(question)).casefold().strip()


def read_review(path: Any) -> pd.DataFrame:
    """A review table that a person has edited.

    Parameters
    ----------
    path : CSV with a column question, and decision ('keep' or 'drop'; empty: as the rules say) or category (one of the 29; empty: as
        the model said) or both. Rows may be added for questions that no rule caught. Other columns are for the person.

    Returns
    -------
    DataFrame : question, decision, category as text.

    Raises
    ------
    sources.SourceError : a decision or a category is none of the allowed ones, or a question stands there twice with different
        decisions; the message gives the row.
    """
    from factlab.sources import CATEGORIES, SourceError, category_name, read_table

    table, _ = read_table(path, required=["question"], optional=["decision", "category"])
    table = table[table["question"].str.strip() != ""].copy()
    table["decision"] = table["decision"].str.strip().str.lower()
    table["category"] = [category_name(name) for name in table["category"]]
    for row, decision, category in zip(table.index, table["decision"], table["category"], strict=True):
        if decision and decision not in DECISIONS:
            raise SourceError(f"{path}, row {row}: decision {decision!r} is neither keep nor drop")
        if category and category not in CATEGORIES:
            raise SourceError(f"{path}, row {row}: category {category!r} is none of DAHL's 29")
    keys = table["question"].map(_key)
    for _, same in table.groupby(keys):
        if len(set(same["decision"])) > 1:
            rows = " and ".join(map(str, same.index))
            raise SourceError(f"{path}, rows {rows}: the same question with different decisions")
    return table.loc[~keys.duplicated(), ["question", "decision", "category"]].reset_index(drop=True)


def decide(flagged: pd.DataFrame, review: pd.DataFrame | None = None) -> pd.DataFrame:
    """What a person decided, over what the rules say.

    Parameters
    ----------
    flagged : DataFrame with question and the columns of `flag`.
    review : from `read_review`.

    Returns
    -------
    DataFrame : with the decision brought up to date, decided_by ('rules' or 'person') and own_category (a person's, or empty).
    """
    table = flagged.assign(decided_by="rules", own_category="")
    if review is None or not len(review):
        return table
    known = review.assign(key=review["question"].map(_key)).set_index("key")
    keys = table["question"].map(_key)
    said = keys.map(known["decision"]).fillna("")
    table["decision"] = said.where(said != "", table["decision"])
    table["decided_by"] = table["decided_by"].where(said == "", "person")
    table["own_category"] = keys.map(known["category"]).fillna("")
    return table


def unused(review: pd.DataFrame | None, questions: Sequence[str]) -> list[str]:
    """Questions of a review table that nobody wrote this time, so that their decisions have no effect."""
    if review is None:
        return []
    there = {_key(q) for q in questions}
    return [q for q in review["question"] if _key(q) not in there]


def review_table(decided: pd.DataFrame) -> pd.DataFrame:
    """The questions that a person should look at: caught by a rule, or of no clear category.

    Parameters
    ----------
    decided : DataFrame with question, source, rule, found, decision, decided_by, and category and category_status where the
        category has been asked for.

    Returns
    -------
    DataFrame, with the columns of `REVIEW`, those decided by rule first. Edit `decision` and `category`, keep the file, and give its
    path as `review`.
    """
    import pandas as pd

    table = decided.copy()
    for column in ("category", "category_status"):
        if column not in table:
            table[column] = ""
    unclear = (table["decision"] == "keep") & ~table["category_status"].isin(["scored", ""])
    table["note"] = ""
    table.loc[unclear, "note"] = "no clear category: fill it in, or the question is left out"
    waits = (table["rule"] != "") & (table["decided_by"] == "rules")
    table.loc[waits & ~unclear, "note"] = table["decision"].map({"drop": "dropped by rule", "keep": "kept; look at it"})
    table.loc[table["decided_by"] == "person", "note"] = "decided by a person"
    wanted = table[(table["rule"] != "") | unclear | (table["decided_by"] == "person")]
    order = pd.Categorical(wanted["decision"], ["drop", "keep"])
    wanted = wanted.assign(order=order).sort_values("order", kind="stable")
    return wanted[list(REVIEW)].fillna({"category": ""}).reset_index(drop=True)


def with_categories(decided: pd.DataFrame, sorted_: pd.DataFrame) -> pd.DataFrame:
    """The decided questions with their category: a person's where there is one, else the model's.

    Parameters
    ----------
    decided : from `decide`.
    sorted_ : from `models.roles.categorise`, indexed like the rows that were asked about.
    """
    table = decided.assign(category="", category_status="")
    table.loc[sorted_.index, "category"] = sorted_["category"]
    table.loc[sorted_.index, "category_status"] = sorted_["status"]
    own = table["own_category"] != ""
    table.loc[own, "category"] = table.loc[own, "own_category"]
    table.loc[own, "category_status"] = "scored"
    return table


def benchmark(decided: pd.DataFrame) -> pd.DataFrame:
    """The finished questions: kept, and of one category.

    Returns
    -------
    DataFrame : question_id (made of the text, so that it stays the same in the next build), question, category, source.
    """
    from factlab.sources import content_ids

    kept = decided[(decided["decision"] == "keep") & decided["category"].fillna("").ne("")].reset_index(drop=True)
    kept.insert(0, "id", content_ids([(q,) for q in kept["question"]], [(s,) for s in kept["source"]], "q"))
    kept = kept.rename(columns={"id": "question_id"}) if "question_id" not in kept else kept
    return kept[["question_id", "question", "category", "source"]]


def build_funnel(written: int, decided: pd.DataFrame) -> pd.DataFrame:
    """From the questions that were written to the benchmark: stage, n, left_out, why.

    Parameters
    ----------
    written : how many questions were read from the model's replies, copies included.
    decided : from `decide`, with category.
    """
    import pandas as pd

    by_rule = (decided["decision"] == "drop") & (decided["decided_by"] == "rules")
    dropped = decided["decision"] == "drop"
    clear = ~dropped & decided["category"].fillna("").ne("")
    stages = [
        ("written", written, ""),
        ("distinct", len(decided), "said before"),
        ("stand alone by rule", len(decided) - int(by_rule.sum()), "lean on their article"),
        ("after review", len(decided) - int(dropped.sum()), "dropped by a person"),
        ("of one category", int(clear.sum()), "category ambiguous"),
    ]
    table = pd.DataFrame(stages, columns=["stage", "n", "why"])
    left = table["n"].shift(1, fill_value=written) - table["n"]
    return table.assign(left_out=left)[["stage", "n", "left_out", "why"]]


def build_warnings(written: pd.DataFrame, placed: pd.DataFrame, made: pd.DataFrame, gone: Sequence[str]) -> list[str]:
    """What a reader should distrust in a build.

    Parameters
    ----------
    written : one row a text, with questions and status.
    placed : from `with_categories`.
    made : from `benchmark`.
    gone : from `unused`.
    """
    notes = []
    empty = int(written["questions"].str.len().eq(0).sum())
    if empty:
        notes.append(f"{empty} of {len(written)} replies held no question that could be read.")
    cut = int((written["status"] == "truncated").sum())
    if cut:
        notes.append(f"{cut} lists of questions were cut at the token limit; their whole questions are used.")
    by_person = int((placed["decided_by"] == "person").sum())
    if len(placed) and not by_person:
        notes.append(
            "No person has looked at the questions: the paper's authors went over rules and categories by hand."
        )
    unclear = int(((placed["decision"] == "keep") & placed["category"].eq("")).sum())
    if unclear:
        notes.append(f"{unclear} questions have no clear category and are left out.")
    if gone:
        notes.append(f"{len(gone)} decisions of the review table are about questions that were not written this time.")
    if len(made) and made["category"].nunique() < 29:
        notes.append(f"{29 - made['category'].nunique()} of the 29 categories have no question.")
    return notes
