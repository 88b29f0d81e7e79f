"""Does retrieval find the work that a sentence cites, and does a fine-tuned cross-encoder find it better (REASONS, section 4.1)?

Records come in (a row a citing sentence and cited work, as `sources.read_citations` gives them), rankings, their scores query by query and
paired differences come out, and what each ranking would show a model. Vectors and scores of pairs come from functions passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import retrieval, stats
from factlab.attribution.forms import squeezed

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models.rerank import Group

DEPTHS = (1, 2, 5, 10)
# A method is a ranking of the works. Names as figures show them.
DENSE, BM25, NAIVE, REORDERED, UNTRAINED, ADVANCED = (
    "dense", "BM25", "naive", "BM25 order", "not fine-tuned", "advanced",
)  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """Sentences as queries and cited works as passages.

    Attributes
    ----------
    works : passage (from 0), title, abstract, text (what is searched and shown: title, a point, abstract), records.
    queries : query (from 0), sentence, source_id, domain, of the first record with that sentence.
    relevant : of each query the passages that it cites: those of all records with an identical sentence.
    query_of : (n,) int, the query of each record; −1 for a record without a sentence or a title.
    passage_of : (n,) int, the cited work of each record; −1 likewise.
    """

    works: pd.DataFrame
    queries: pd.DataFrame
    relevant: list[frozenset[int]]
    query_of: np.ndarray
    passage_of: np.ndarray


def corpus(records: pd.DataFrame) -> Corpus:
    """The distinct cited works and the distinct sentences of some records.

    Parameters
    ----------
    records : columns source_id, domain, sentence, cited_title, cited_abstract.

    Notes
    -----
    Works are one where `attribution.same_title` says so; the first record that has an abstract gives the text. Sentences are one
    where they differ in nothing but case and white space.
    """
    import pandas as pd

    needed = ["source_id", "domain", "sentence", "cited_title", "cited_abstract"]
    if absent := [name for name in needed if name not in records.columns]:
        raise ValueError(f"corpus: the records have no column {', '.join(absent)}")
    rows = records[needed].fillna("").astype(str)
    works: dict[str, dict[str, Any]] = {}
    queries: dict[str, dict[str, Any]] = {}
    relevant: list[set[int]] = []
    query_of, passage_of = np.full(len(rows), -1), np.full(len(rows), -1)
    for i, row in enumerate(rows.itertuples(index=False)):
        work, sentence = squeezed(row.cited_title), _same(row.sentence)
        if not work or not sentence:
            continue
        title, abstract = " ".join(row.cited_title.split()), " ".join(row.cited_abstract.split())
        known = works.setdefault(work, {"passage": len(works), "title": title, "abstract": "", "records": 0})
        known["records"] += 1
        known["abstract"] = known["abstract"] or abstract
        asked = queries.setdefault(
            sentence,
            {"query": len(queries), "sentence": row.sentence, "source_id": row.source_id, "domain": row.domain},
        )
        if asked["query"] == len(relevant):
            relevant.append(set())
        relevant[asked["query"]].add(known["passage"])
        query_of[i], passage_of[i] = asked["query"], known["passage"]
    table = pd.DataFrame(list(works.values()), columns=["passage", "title", "abstract", "records"])
    text = [_document(t, a) for t, a in zip(table["title"], table["abstract"], strict=True)]
    table.insert(3, "text", pd.array(text, dtype="str"))
    asked = pd.DataFrame(list(queries.values()), columns=["query", "sentence", "source_id", "domain"])
    return Corpus(table, asked, [frozenset(own) for own in relevant], query_of, passage_of)


def _same(sentence: str) -> str:
    return " ".join(sentence.casefold().split())


def _document(title: str, abstract: str) -> str:
    if not abstract:
        return title
    return f"{title}{'' if title[-1:] in '.?!' else '.'} {abstract}"


def split(records: pd.DataFrame, found: Corpus, share: float = 0.3, seed: int = 0, separate_cited: bool = False):
    """Training and test of the queries, by source paper, and what the two share.

    Parameters
    ----------
    share : of the source papers that are tested on.
    separate_cited : whether a cited work, too, may be in one of them only.

    Returns
    -------
    part : (queries,) array of 'train' or 'test'.
    shared : DataFrame, see `retrieval.check_split`.

    Raises
    ------
    LeakError : source papers, identical sentences or (with `separate_cited`) cited works are in both.
    """
    used = found.query_of >= 0
    rows = records.loc[used]
    sentences = [_same(text) for text in rows["sentence"]]
    apart: dict[str, Sequence[Any]] = {"sentence": sentences}
    if separate_cited:
        apart["cited work"] = found.passage_of[used].tolist()
    sources = rows["source_id"].tolist()
    of_rows = retrieval.split(sources, share, seed, apart)
    shared = retrieval.check_split(of_rows, sources, sentences, found.passage_of[used].tolist(), separate_cited)
    part = np.full(len(found.queries), "train", dtype=object)
    part[found.query_of[used]] = of_rows
    return part, shared


def first_rankings(
    found: Corpus, embed: Callable[[Sequence[str]], np.ndarray], top_k: int = 2, candidates: int = 40
) -> dict[str, pd.DataFrame]:
    """The rankings that need no training.

    Parameters
    ----------
    embed : gives a vector for each text.
    top_k : passages of naive retrieval; published: 2.
    candidates : passages of every other ranking; published: 40.

    Returns
    -------
    dict of method to ranking
        'dense'; 'BM25', over all works; 'naive': the dense top_k in BM25's order; 'BM25 order': all dense candidates in it.
    """
    sentences, texts = found.queries["sentence"].tolist(), found.works["text"].tolist()
    vectors = embed(sentences + texts)
    dense = retrieval.dense_search(vectors[: len(sentences)], vectors[len(sentences) :], candidates, "cosine")
    index = retrieval.Bm25(texts)
    return {
        DENSE: dense,
        BM25: index.search(sentences, candidates),
        NAIVE: retrieval.naive(dense, index, sentences, top_k),
        REORDERED: retrieval.naive(dense, index, sentences, candidates),
    }


def groups(
    found: Corpus,
    dense: pd.DataFrame,
    part: np.ndarray,
    negatives: int = 4,
    seed: int = 0,
    reachable: bool = True,
) -> list[Group]:
    """What the cross-encoder learns from: each training sentence with what it cites and so many hard negatives.

    Parameters
    ----------
    dense : the bi-encoder's candidates.
    negatives : n − 1 of the paper.
    reachable : True: only what the bi-encoder found is relevant, and a sentence of which it found nothing is left out: a cross-encoder
        is never shown such a work beside its sentence, and what shares nothing with it teaches noise. False: all that is cited.
    """
    from factlab.models.rerank import Group

    own = dense[part[dense["query"]] == "train"]
    others = retrieval.hard_negatives(own, found.relevant, negatives + 1, seed)
    texts, sentences = found.works["text"].tolist(), found.queries["sentence"].tolist()
    among = own.groupby("query")["passage"].agg(set)
    made = []
    for query, rows in others.groupby("query")["passage"]:
        relevant = sorted(found.relevant[query] & among[query] if reachable else found.relevant[query])
        if relevant:
            made.append(Group(sentences[query], tuple(texts[i] for i in relevant), tuple(texts[i] for i in rows)))
    return made


def advanced(
    found: Corpus, dense: pd.DataFrame, part: np.ndarray, score: Callable[[Sequence[tuple[str, str]]], np.ndarray]
) -> pd.DataFrame:
    """The dense candidates of the held-out sentences in the order of a cross-encoder, a function of (sentence, document) pairs."""
    own = dense[part[dense["query"]] == "test"]
    sentences, texts = found.queries["sentence"].tolist(), found.works["text"].tolist()
    pairs = [(sentences[q], texts[p]) for q, p in zip(own["query"], own["passage"], strict=True)]
    return retrieval.rerank(own, score(pairs))


def query_scores(
    rankings: Mapping[str, pd.DataFrame], found: Corpus, part: np.ndarray, side: str = "test"
) -> pd.DataFrame:
    """How good each ranking is for each held-out query.

    Returns
    -------
    DataFrame : ranking (its name), source_id, domain, and the columns of `retrieval.rank_scores`, a row a ranking and query.
    """
    import pandas as pd

    frames = []
    for method, ranking in rankings.items():
        scores = retrieval.rank_scores(ranking, found.relevant, DEPTHS)
        scores.insert(0, "ranking", method)
        scores.insert(1, "source_id", found.queries["source_id"])
        scores.insert(2, "domain", found.queries["domain"])
        frames.append(scores[part == side])
    return pd.concat(frames, ignore_index=True)


def by_method(scores: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Mean of every score for every method, with intervals that resample source papers.

    Returns
    -------
    DataFrame : ranking, score ('MRR', 'recall', 'nDCG'), k (missing for MRR), value, low, high, n, clusters, text; rankings in their order.
    """
    import pandas as pd

    wanted = [("reciprocal_rank", "MRR", None)]
    wanted += [(f"{name}@{k}", shown, k) for name, shown in (("recall", "recall"), ("ndcg", "nDCG")) for k in DEPTHS]
    frames = []
    for column, shown, k in wanted:
        own = stats.estimates_by(
            scores, column, "ranking", clusters="source_id", seed=seed, unit="sentences", name=column
        )
        frames.append(own.assign(score=shown, k=pd.array([k] * len(own), dtype="Int64")))
    table = pd.concat(frames, ignore_index=True)
    order = {method: i for i, method in enumerate(dict.fromkeys(scores["ranking"]))}
    table = table.iloc[np.argsort(table["ranking"].map(order), kind="stable")].reset_index(drop=True)
    return table[["ranking", "score", "k", "value", "low", "high", "level", "n", "clusters", "text", "reason"]]


def differences(
    scores: pd.DataFrame, method: str = ADVANCED, column: str = "reciprocal_rank", seed: int = 0
) -> pd.DataFrame:
    """One method against each other on the same sentences: the difference in mean reciprocal rank, paired, resampling source papers.

    Returns
    -------
    DataFrame : against, difference (method − the other), low, high, p (sign flips of whole papers), p_holm (over the methods), n, clusters,
    verdict ('better', 'worse', 'no difference shown', 'too few to test'), reason.
    """
    import pandas as pd

    wide = scores.pivot(index="query", columns="ranking", values=column)
    of = scores.groupby("query")["source_id"].first().reindex(wide.index)
    rows = []
    for other in dict.fromkeys(scores["ranking"]):
        if other != method:
            row = stats.compare(wide[method], wide[other], of, seed=seed).iloc[0]
            rows.append(
                {"against": other, **row[["difference", "low", "high", "p", "n", "clusters", "status", "reason"]]}
            )
    for row, p in zip(rows, stats.holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = None if np.isnan(p) else p
        tested = row["status"] == "scored" and row["p_holm"] is not None
        sure = tested and row["p_holm"] < 0.05
        row["verdict"] = (
            "too few to test"
            if not tested
            else "no difference shown"
            if not sure
            else "better"
            if row["difference"] > 0
            else "worse"
        )
    columns = ["against", "difference", "low", "high", "p", "p_holm", "n", "clusters", "verdict", "reason"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype(dict.fromkeys(["difference", "low", "high", "p", "p_holm"], "Float64"))


def shown(ranking: pd.DataFrame, found: Corpus, k: int = 2) -> list[list[str]]:
    """What a model is shown with each record: the texts of the first k passages of its sentence, best first.

    A record without a sentence or title, or whose sentence is not in the ranking, is shown nothing.
    """
    texts = found.works["text"].tolist()
    top = ranking[ranking["rank"] <= k].sort_values(["query", "rank"])
    lists = {query: [texts[i] for i in rows] for query, rows in top.groupby("query")["passage"]}
    return [list(lists.get(query, [])) for query in found.query_of]


def held_out(found: Corpus, part: np.ndarray) -> np.ndarray:
    """(n,) bool: which records' sentences are tested on."""
    tested = np.append(part == "test", False)  # the last stands for query −1
    return tested[found.query_of]


def sentence(table: pd.DataFrame, compared: pd.DataFrame) -> str:
    """The result in one line, a null result as one."""
    mrr = table[table["score"] == "MRR"].set_index("ranking")["text"]
    said = [f"{method} {mrr[method]}" for method in (DENSE, BM25, ADVANCED) if method in mrr.index]
    text = "MRR: " + "; ".join(said)
    for row in compared.itertuples():
        if row.against in (DENSE, BM25):
            text += f". Against {row.against}: {difference(row)}"
    return text


def difference(row: Any) -> str:
    """A difference with its interval, p before and after Holm's correction, and what may be said of it after.

    The interval is of this one comparison: it can leave 0 out where the corrected test, which counts all comparisons, shows nothing.
    """
    import pandas as pd

    if pd.isna(row.difference):
        return f"undefined ({row.reason})"
    text = f"{row.difference:+.3f}"
    if not pd.isna(row.low):
        text += f" [{row.low:+.3f}, {row.high:+.3f}]"
    if not pd.isna(row.p):
        text += f", p {row.p:.2g}"
    if not pd.isna(row.p_holm):
        text += f" (corrected {row.p_holm:.2g})"
    return f"{text}, {row.verdict}"


def warnings(
    found: Corpus, part: np.ndarray, shared: pd.DataFrame, dense: pd.DataFrame, reranker: Any, sample: bool
) -> list[str]:
    """What a reader should distrust."""
    train, test = int((part == "train").sum()), int((part == "test").sum())
    papers = found.queries.loc[part == "test", "source_id"].nunique()
    notes = [
        f"{train} sentences were learned from and {test}, out of {papers} other papers, tested. A cross-encoder is usually fine-tuned "
        "on thousands."
    ]
    works = shared[shared["what"] == "cited works"]
    if len(works) and works["shared"].iloc[0]:
        row = works.iloc[0]
        notes.append(
            f"{row['shared']} cited works are in training and test, with other sentences; {row['test_rows']} tested rows cite one "
            "(separate_cited keeps them apart)."
        )
    first = retrieval.rank_scores(dense, found.relevant, (1,))[part == "test"]
    unreachable = int((first["first"].isna() & (first["relevant"] > 0)).sum())
    if unreachable:
        notes.append(
            f"Of {unreachable} of {test} tested sentences no cited work is among the candidates: no reranker can find it."
        )
    notes.append(
        f"The corpus has {len(found.works)} works; among the thousands of a real index every method finds less."
    )
    if sample:
        notes.append(
            "In the sample summaries and sentences come from one writer and share wording, so that finding is easier than among abstracts."
        )
    if reranker.notes["truncated"]:
        notes.append(
            f"{reranker.notes['truncated']} texts were longer than the reranker reads ({reranker.notes['dropped_tokens']} tokens lost)."
        )
    return notes


CLOSED = "closed book"
_ANSWERS = ("item_id", "source_id", "domain", "mode", "predicted", "gold", "status", "reply", "holds_gold")
_ANSWER_SCORES = ("shown", "prompt", "hr", "hr_low", "hr_high", "f1", "bleu", "pp", "n")


def ask_with(
    model: Any,
    records: pd.DataFrame,
    found: Corpus,
    part: np.ndarray,
    rankings: Mapping[str, pd.DataFrame],
    top_k: int = 2,
    **settings: Any,
) -> pd.DataFrame:
    """What a model answers to the held-out sentences: closed book, and with the first passages of each ranking before it.

    Parameters
    ----------
    model : from `models.load`; None: nobody is asked.
    rankings : those whose passages are shown.
    top_k : passages shown.
    settings : of `query.ask`.

    Returns
    -------
    DataFrame : as `query.ask` returns it, with a column shown: 'closed book' or the name of the ranking.
    """
    import pandas as pd

    from factlab.studies.reasons import query

    tested = held_out(found, part)
    asked = records[tested].reset_index(drop=True)
    if model is None:
        return pd.DataFrame(columns=[*_ANSWERS, "shown"])
    frames = [query.ask(model, asked, "indirect", **settings).assign(shown=CLOSED)]
    for name, ranking in rankings.items():
        passages = [texts for texts, own in zip(shown(ranking, found, top_k), tested, strict=True) if own]
        answers = query.ask(model, asked, "indirect_retrieved", passages=passages, **settings)
        frames.append(answers.assign(shown=name))
    return pd.concat(frames, ignore_index=True)


def answer_scores(answers: pd.DataFrame, pass_policy: str = "zero", seed: int = 0) -> pd.DataFrame:
    """Hallucination rate, F1, BLEU-4 and passes of what was shown, all prompts and by whether the prompt holds the gold title.

    Returns
    -------
    DataFrame : shown, prompt ('all', 'holds the gold title', 'does not'), then the columns of `query.score`.
    """
    import pandas as pd

    from factlab.studies.reasons import query

    held = answers["holds_gold"].map({True: "holds the gold title", False: "does not"})
    frames = []
    for prompt in ("all", "holds the gold title", "does not"):
        own = answers if prompt == "all" else answers[held == prompt]
        if len(own):
            scores = query.score(own, ("mode", "shown"), pass_policy=pass_policy, seed=seed)
            frames.append(scores[~scores["shown"].isin(["Mean", "SD"])].assign(prompt=prompt))
    if not frames:
        return pd.DataFrame(columns=list(_ANSWER_SCORES))
    table = pd.concat(frames, ignore_index=True).drop(columns="mode")
    return table[["shown", "prompt", *[c for c in table.columns if c not in ("shown", "prompt")]]]


def answer_differences(answers: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Answers with passages against closed-book ones on the same sentences: right answers, made-up ones and F1, paired.

    Returns
    -------
    DataFrame : shown, measure, difference, low, high, p, p_holm (over the rankings), n, clusters, reason.
    """
    import pandas as pd

    from factlab.studies.reasons import query

    columns = ["shown", "measure", "difference", "low", "high", "p", "p_holm", "n", "clusters", "reason"]
    if not len(answers):
        return pd.DataFrame(columns=columns)
    measured = query.measured(answers)
    frames = []
    for column, name in (("right", "right"), ("made_up", "made up"), ("f1", "F1")):
        found = stats.against(measured, "shown", "item_id", column, CLOSED, "source_id", seed=seed)
        frames.append(found.assign(measure=name))
    return pd.concat(frames, ignore_index=True)[columns]
