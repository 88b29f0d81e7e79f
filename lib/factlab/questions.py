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


# What a question says of a whole field is no matter of one article: "the proposed mechanism", "the reported incidence".
_GENERAL = r"""(?:\w[\w-]*\s+){0,2}(?:mechanisms?|roles?|functions?|relationships?|effects?|reasons?|explanations?|theor(?:y|ies)|solutions?
    |strateg(?:y|ies)|incidence|prevalence|mortality|rates?|causes?|outcomes?|complications?|benefits?|advantages?)\b"""

RULES: tuple[Rule, ...] = (
    _rule(
        "the study",
        "DAHL 3.2.2 (1), appendix A.1",
        "drop",
        # "The study of" and "the publication of" name a field and an act; "this results in" is a verb.
        r"""\b(?:the|this|that|these|those|our|an?other)\s+
        (?:(?:present|current|recent|new|original|previous|above|following|given|same|whole|authors?['’]s?|cited|published
            |mentioned|described|included|proposed|provided|retrospective|prospective|pilot|systematic|scoping|literature)\s+)?
        (?:study(?!\s+of\b)|studies|(?:meta-?)?analys[ei]s|papers?|research(?:ers?)?|articles?|authors?|investigators?|texts?
            |passages?|manuscripts?|publications?(?!\s+of\b)|reviews?|reports?|surveys?|trials?|experiments?|investigations?
            |findings|result|(?<!\bthis\s)results|datasets?|abstract|excerpt|special\ issue|case\s+(?:report|series|study))\b
        |\bthis\s+(?:case|patient|cohort)\b
        |\bthis\s+(?:(?!(?:of|in|for|to|and|or|on|with|from|by|as|a|an|the)\b)\w[\w-]*\s+){1,3}(?:study|trial|review|report|meta-analysis)\b""",
    ),
    _rule(
        "mentioned",
        "DAHL 3.2.2 (2), appendix A.2",
        "drop",
        # Not what "has been reported", nor what is "described by Hanahan": a literature and a name can be looked up.
        rf"""(?<!\bbeen\s)(?<!self-)\b(?:(?:afore)?mentioned|inferred|addressed|described|observed|suggested|discussed|highlighted
        |outlined|investigated|examined|cited|noted|stated|studied|tested|concluded|reviewed|surveyed
        |presented(?!\s+(?:with|as|by)\b)|(?:proposed|reported)(?!\s+{_GENERAL}))\b(?!\s+by\s+(?:the\s+)?(?-i:[A-Z]))""",
    ),
    _rule(
        "was used",
        "DAHL 3.2.2 (3), appendix A.3",
        "drop",
        r"""\b(?:was|were)\s+(?:(?:also|not|then|first|each|all|both|\w+ly)\s+)?
        (?:used|utili[sz]ed|employed|applied|identified|measured|performed|conducted|carried\ out|determined|selected|assessed
        |analy[sz]ed|evaluated|included|excluded|compared|collected|treated|chosen|developed|obtained|detected|administered
        |recruited|enrolled|calculated|estimated|recorded|validated|implemented|monitored|involved|made|done|achieved
        |hypothesi[sz]ed|proposed|reported)\b""",
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
    paper/…"); ours go on from there, and pass over what is asked of a whole field ("the proposed mechanism", "has been reported") or
    of a named source ("as described by Hanahan"). The two families that the paper's authors looked for by hand ("based on …",
    "was/were/did") are marked for a person and kept otherwise.
    """
    import pandas as pd

    rows = []
    for question in questions:
        hits = _hits(question)
        drops = any(rule.decision == "drop" for rule in RULES if rule.name in hits)
        rows.append(("; ".join(hits), "; ".join(hits.values()), "drop" if drops else "keep"))
    return pd.DataFrame(rows, columns=list(FLAGS))


def _hits(question: str) -> dict[str, str]:
    """The words that each rule catches, by the name of the rule."""
    text = " ".join(question.split())
    hits = {rule.name: match[0] for rule in RULES if (match := rule.pattern.search(text))}
    # "was" alone says nothing new where "was used" has been found.
    return {name: words for name, words in hits.items() if name != "was" or "was used" not in hits}


def rule_shares(questions: Sequence[str]) -> pd.DataFrame:
    """How many of some questions each rule catches, and the automatic ones together: what the rules would do to a benchmark.

    Returns
    -------
    DataFrame : rule, stands_for, questions (caught), share (0..1, missing when there are no questions), only (caught by no other
    rule).
    """
    import pandas as pd

    hits = [set(_hits(question)) for question in questions]
    rows: list[dict[str, Any]] = []
    for rule in RULES:
        caught, only = sum(rule.name in found for found in hits), sum(found == {rule.name} for found in hits)
        rows.append({"rule": rule.name, "stands_for": rule.stands_for, "questions": caught, "only": only})
    automatic = {rule.name for rule in RULES if rule.decision == "drop"}
    either = sum(bool(found & automatic) for found in hits)
    rows.append({"rule": "any automatic rule", "stands_for": "DAHL 3.2.2", "questions": either, "only": None})
    table = pd.DataFrame(rows).astype({"only": "Int64"})
    table.insert(3, "share", pd.array([n / len(hits) if hits else None for n in table["questions"]], dtype="Float64"))
    return table


# -- what a model is shown and what it wrote ----------------------------------------------------------------------------


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


# How a question without a question mark begins. A statement may begin with "In adults, …", a task only with its verb after that.
_TASK = re.compile(
    r"^(?:(?:what|which|who|whom|whose|when|where|why|how)\b|(?:[^,.]+,\s+)?(?:explain|describe|discuss|compare|contrast|define"
    r"|outline|summari[sz]e|identify|list|name|give|state|distinguish|differentiate|evaluate|analy[sz]e|assess|justify"
    r"|illustrate|provide|calculate|predict)\s)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^(?:\*\*)?(?:question|q)\s*\d*\s*[.:)]\s*(?:\*\*)?\s*", re.IGNORECASE)


def parse_questions(reply: str | None, prompt: str | None = None) -> Parsed:
    """The questions in a model's reply: one a line, numbered, bulleted or as JSON.

    Answers, options and remarks between them are passed over: a question has a question mark, or begins with a word that asks
    ("Explain …", "In adults, explain …") and ends like a sentence.

    Parameters
    ----------
    reply : what the model wrote.
    prompt : what it was sent, so that an echo of it is not read.

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
        if "?" in text:  # what follows it is a remark: "(5 marks)"
            text = text[: text.rindex("?") + 1]
        elif not (text.endswith(".") and _TASK.match(text)):
            continue
        if len(text.split()) >= 3:
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
    # Signs of quantity are no mere marks: "CD4+" and "CD4-", "> 60" and "< 60" ask different things.
    return " ".join(re.sub(r"[^\w +<>=≤≥±]", "", normalise(question)).casefold().split())


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
        decisions or categories; the message gives the row.
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
        for column, what in (("decision", "decisions"), ("category", "categories")):
            if same[column].nunique() > 1:
                rows = " and ".join(map(str, same.index))
                raise SourceError(f"{path}, rows {rows}: the same question with different {what}; leave one")
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
    """The questions that a person should look at (caught by a rule, or of no clear category), and those that one has decided.

    Parameters
    ----------
    decided : DataFrame with question, source, rule, found, decision, decided_by, own_category, and category and category_status
        where the category has been asked for.

    Returns
    -------
    DataFrame, with the columns of `REVIEW`, dropped ones first. Edit `decision` and `category`, keep the file, and give its
    path as `review`.
    """
    import pandas as pd

    table = decided.copy()
    for column in ("category", "category_status"):
        if column not in table:
            table[column] = ""
    by_person = (table["decided_by"] == "person") | (table["own_category"] != "")
    unclear = (table["decision"] == "keep") & ~table["category_status"].isin(["scored", ""])
    caught = table["rule"] != ""
    table["note"] = ""
    table.loc[caught, "note"] = table["decision"].map({"drop": "dropped by rule", "keep": "kept; look at it"})
    table.loc[by_person, "note"] = "decided by a person"
    # Last, since it still has to be done, whoever decided the rest.
    table.loc[unclear, "note"] = "no clear category: fill it in, or the question is left out"
    wanted = table[caught | unclear | by_person]
    order = pd.Categorical(wanted["decision"], ["drop", "keep"])
    wanted = wanted.assign(order=order).sort_values("order", kind="stable")
    return wanted[list(REVIEW)].fillna({"category": ""}).reset_index(drop=True)


def with_categories(decided: pd.DataFrame, named: pd.DataFrame) -> pd.DataFrame:
    """The decided questions with their category: a person's where there is one, else the model's.

    Parameters
    ----------
    decided : from `decide`.
    named : from `models.roles.categorise`, indexed like the rows that were asked about.

    Returns
    -------
    DataFrame : with category (empty where there is none) and category_status (empty where nobody asked, 'scored' for a person's).
    """
    table = decided.assign(category="", category_status="")
    table.loc[named.index, "category"] = named["category"]
    table.loc[named.index, "category_status"] = named["status"]
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
    ids = content_ids([(q,) for q in kept["question"]], [(s,) for s in kept["source"]], "q")
    return kept.assign(question_id=ids)[["question_id", "question", "category", "source"]]


def build_funnel(written: int, decided: pd.DataFrame) -> pd.DataFrame:
    """From the questions that were written to the benchmark.

    Parameters
    ----------
    written : how many questions were read from the model's replies, copies included.
    decided : from `decide`, with category.

    Returns
    -------
    DataFrame : stage, n (still there), left_out (since the stage before), why.
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
    from factlab.sources import CATEGORIES

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
    absent = len(CATEGORIES) - made["category"].nunique()
    if len(made) and absent:
        notes.append(f"{absent} of the {len(CATEGORIES)} categories have no question.")
    return notes
