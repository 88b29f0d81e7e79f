"""Passages: where texts are cut, that nothing is lost, which passage a query finds, and how good an order is."""

import hashlib
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factlab.retrieval import (
    Bm25,
    LeakError,
    check_split,
    chunks,
    dense_search,
    hard_negatives,
    naive,
    passages,
    rank_scores,
    rerank,
    split,
)
from factlab.sources.jats import Article, Section

# ---------------------------------------------------------------- where a text is cut


@pytest.mark.parametrize(
    ("text", "size", "overlap", "expected"),
    [
        ("abcdefghij", 4, 0, ["abcd", "efgh", "ij"]),
        ("abcdefghij", 4, 1, ["abcd", "defg", "ghij"]),  # no fourth piece that only repeats "j"
        ("abcdefghij", 4, 2, ["abcd", "cdef", "efgh", "ghij"]),
        ("abc", 10, 5, ["abc"]),
        ("abcd", 4, 2, ["abcd"]),
        ("", 4, 2, []),
        (" \n ", 4, 2, []),
    ],
)
def test_pieces_by_length(text, size, overlap, expected):
    assert chunks(text, size, overlap)["text"].tolist() == expected


PROSE = "One is here. Two is here.\n\nThree is much longer than the others. Four is here."


@pytest.mark.parametrize(
    ("size", "overlap", "expected"),
    [
        (1000, 0, [PROSE]),
        (30, 0, ["One is here. Two is here.", "Three is much longer than the ", "others. Four is here."]),
        (45, 0, ["One is here. Two is here.", "Three is much longer than the others.", "Four is here."]),
        (
            55,
            15,
            ["One is here. Two is here.", "Two is here.\n\nThree is much longer than the others.", "Four is here."],
        ),
    ],
)
def test_pieces_by_sentence(size, overlap, expected):
    assert chunks(PROSE, size, overlap, sentences=True)["text"].tolist() == expected


def test_sentences_are_found_again_where_markers_and_wraps_were_folded():
    text = "Findings:\n- insulin   fell\n- glucose rose\n\n**It was so.** p50.c-rel binds\nkappa B [5]. End"
    found = chunks(text, size=28, overlap=0, sentences=True)["text"].tolist()
    assert found == [
        "Findings:\n- insulin   fell",
        "- glucose rose",
        "**It was so.**",
        "p50.c-rel binds\nkappa B [5].",
        "End",
    ]


TEXTS = st.text(alphabet="ab .\nA-*1|`", max_size=200) | st.text(max_size=100)


@given(TEXTS, st.integers(1, 60), st.integers(0, 59), st.booleans())
def test_offsets_are_exact_and_nothing_is_lost(text, size, overlap, sentences):
    overlap = min(overlap, size - 1)
    frame = chunks(text, size, overlap, sentences)
    covered = set()
    for row in frame.itertuples():
        assert text[row.start : row.end] == row.text
        assert 0 < row.end - row.start <= size
        assert row.sha256 == hashlib.sha256(row.text.encode("utf-8", "surrogatepass")).hexdigest()
        covered |= set(range(row.start, row.end))
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered
    assert frame["start"].is_monotonic_increasing and frame["end"].is_monotonic_increasing
    assert frame["end"].is_unique
    assert ((frame["end"].shift() - frame["start"]).dropna() <= overlap).all()


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_impossible_sizes(size, overlap):
    with pytest.raises(ValueError, match="0 <= overlap < size"):
        chunks("text", size, overlap)


# ---------------------------------------------------------------- articles


def article(pmcid="PMC1", doi="", path="folder/a.xml", sections=((("Abstract",), "Short."),)):
    made = tuple(Section(path, path[-1] if path else "", "", (text,), "body") for path, text in sections)
    return Article(
        "A title",
        "",
        "",
        made,
        (),
        (),
        (),
        pmcid,
        "",
        doi,
        (),
        (),
        journal="",
        year=None,
        licence="",
        path=path,
        notes=(),
    )


def test_passages_never_span_sections():
    frame = passages([article(sections=[(("Methods", "Step 1"), "One. Two."), ((), "Three."), (("Empty",), "")])])
    assert frame[["section", "start", "end", "text"]].values.tolist() == [
        ["Methods > Step 1", 0, 9, "One. Two."],
        ["", 0, 6, "Three."],
    ]
    assert frame["title"].unique().tolist() == ["A title"]


def test_an_article_goes_by_what_identifies_it():
    listed = [article(), article(pmcid="", doi="10.1/x"), article(pmcid="")]
    assert passages(listed)["article"].tolist() == ["PMC1", "10.1/x", "a"]


def test_one_article_or_none():
    one = passages(article())
    none = passages([])
    assert len(one) == 1 and len(none) == 0
    assert one.columns.tolist() == none.columns.tolist()
    assert (one.dtypes == none.dtypes).all()


# ---------------------------------------------------------------- search

CORPUS = [
    "Insulin lowers blood glucose in patients with diabetes.",
    "Aspirin inhibits platelet aggregation and thins blood.",
    "Vitamin C deficiency causes scurvy.",
    "Vitamin K is needed for clotting.",
    "TGF-β drives fibrosis.",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("How does insulin affect glucose?", [0]),
        ("VITAMIN C", [2, 3]),
        ("vitamin k", [3, 2]),
        ("TGF‐β", [4]),  # another hyphen
        ("blood", [0, 1]),  # of one length: in their order
        ("what is the of and", []),
        ("zebra", []),
        ("", []),
    ],
)
def test_search(query, found):
    frame = Bm25(CORPUS).search([query])
    assert frame["passage"].tolist() == found
    assert frame["rank"].tolist() == list(range(1, len(found) + 1))
    assert (frame["score"] > 0).all() and frame["score"].is_monotonic_decreasing


def test_queries_keep_their_numbers_and_k_may_exceed_the_passages():
    index = Bm25(pd.DataFrame({"text": CORPUS}, index=list("abcde")))
    frame = index.search(["zebra", "vitamin", "blood"], k=100)
    assert frame["query"].tolist() == [1, 1, 2, 2]
    assert index.search("vitamin", k=1)["passage"].tolist() == [3]
    assert len(index) == 5


def test_equal_scores_keep_the_order_of_the_passages():
    assert Bm25(["same words"] * 5 + ["other"]).search("same", k=3)["passage"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("corpus", [[], [""], ["the of", "!"], pd.DataFrame({"text": pd.array([], dtype="str")})])
def test_nothing_to_find(corpus):
    frame = Bm25(corpus).search(["insulin"])
    assert frame.columns.tolist() == ["query", "rank", "passage", "score"]
    assert len(frame) == 0
    assert len(Bm25(CORPUS).search([])) == 0


def test_no_progress_bar_no_warning(capfd, recwarn):
    Bm25(CORPUS).search(CORPUS)
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bm25(pd.DataFrame({"body": CORPUS})), "no column 'text'; the table has body"),
        (lambda: Bm25(["a", None]), "passages, entry 1"),
        (lambda: Bm25("one text"), "put it in a list"),
        (lambda: Bm25(CORPUS).search([3]), "queries, entry 0"),
        (lambda: Bm25(CORPUS).search(["a"], k=0), "at least 1"),
    ],
)
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.released
def test_a_sentence_finds_the_passage_it_is_from(released):
    from factlab.sources import read_articles

    folder = next(released.rglob("*.nxml"), next(released.rglob("PMC*.xml"), None))
    if folder is None:
        pytest.skip("no articles among the released data")
    articles, _ = read_articles(folder.parent)
    frame = passages(articles[:3])
    sample = frame[frame["text"].str.len() > 200].iloc[::5].head(20)
    hits = Bm25(frame).search(sample["text"].str[:300].tolist(), k=1)
    assert (hits["passage"].to_numpy() == sample.index.to_numpy()).mean() >= 0.9


# ---------------------------------------------------------------- dense search


def ranked(*lists):
    """A ranking out of lists of passages, one a query."""
    rows = [(q, r, p, 1 / r) for q, own in enumerate(lists) for r, p in enumerate(own, start=1)]
    return pd.DataFrame(rows, columns=["query", "rank", "passage", "score"])


def lists(ranking):
    return {q: own.sort_values("rank")["passage"].tolist() for q, own in ranking.groupby("query")}


def test_dense_search_by_dot_product_and_cosine():
    queries, known = [[1.0, 0.0]], [[1.0, 0.0], [3.0, 4.0], [0.0, 1.0]]
    dot, cosine = (dense_search(queries, known, 3, s) for s in ("dot", "cosine"))
    assert dot["passage"].tolist() == [1, 0, 2] and dot["score"].tolist() == pytest.approx([3, 1, 0])
    assert cosine["passage"].tolist() == [0, 1, 2] and cosine["score"].tolist() == pytest.approx([1, 0.6, 0])
    assert dot.dtypes.tolist() == Bm25(CORPUS).search("blood").dtypes.tolist()


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 30))
def test_dense_search_is_exact_and_keeps_ties_in_order(seed, m, n):
    generator = np.random.default_rng(seed)
    known = generator.normal(size=(n, 16)).astype(np.float32)[generator.integers(0, n, n)]  # with copies
    queries = generator.normal(size=(m, 16)).astype(np.float32)
    found = dense_search(queries, known, 5)
    for q in range(m):
        own = [math.fsum(float(a) * float(b) for a, b in zip(queries[q], row, strict=True)) for row in known]
        expected = sorted(range(n), key=lambda i: (-round(own[i], 9), i))[:5]
        assert found[found["query"] == q]["passage"].tolist() == expected


def test_blocks_do_not_change_what_is_found(monkeypatch):
    from factlab.retrieval import dense

    generator = np.random.default_rng(3)
    queries, known = generator.normal(size=(37, 8)), generator.normal(size=(50, 8))
    whole = dense_search(queries, known, 7)
    monkeypatch.setattr(dense, "_CELLS", 120)
    pd.testing.assert_frame_equal(dense_search(queries, known, 7), whole)


def test_texts_without_a_vector_find_nothing_and_are_not_found():
    nan = [math.nan] * 2
    found = dense_search([[1, 0], nan, [0, 1]], [nan, [1, 0], [0, 1]], 3)
    assert lists(found) == {0: [1, 2], 2: [2, 1]}
    assert len(dense_search([], [[1.0]], 2)) == len(dense_search([[1.0]], [], 2)) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dense_search([[1, 0]], [[1, 0]], 0), "at least 1"),
        (lambda: dense_search([[1, 0]], [[1, 0, 0]]), "one embedder"),
        (lambda: dense_search([1, 0], [[1, 0]]), "one vector a row"),
        (lambda: dense_search([[1, 0]], [[1, 0]], 1, "l2"), "'dot' or 'cosine'"),
        (lambda: dense_search([[1, 0]], [[1, 0], [0, 0]], 1, "cosine"), "passage 1: a vector of zeros"),
        (lambda: naive(ranked([9]), Bm25(CORPUS), ["blood"], 1), "must belong together"),
        (lambda: naive(ranked([0]), Bm25(CORPUS), ["blood"], 0), "at least 1"),
        (lambda: rerank(ranked([0, 1]), [1.0]), "2 rows need as many scores"),
        (lambda: rerank(ranked([0, 1]), [1.0, math.nan]), "passage 1 of query 0 has no finite score"),
        (lambda: rank_scores(ranked([0, 0]), [{0}]), "passage 0 twice"),
        (lambda: rank_scores(ranked([0], [1]), [{0}]), "the ranking has query 1"),
        (lambda: rank_scores(ranked([0]), [{0}], [0]), "depths of at least 1"),
        (lambda: hard_negatives(ranked([0]), [{0}], 1), "n is at least 2"),
        (lambda: split(["a", "b"], 1.0), "between 0 and 1"),
        (lambda: split(["a", "a"], 0.5), "hang together"),
        (lambda: split(["a", "b"], 0.5, apart={"sentence": ["x", "x"]}), "through sentence"),
    ],
)
def test_errors_of_rankings_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---------------------------------------------------------------- other orders


def test_naive_puts_the_nearest_into_the_order_of_bm25():
    # Dense: 4 (no word shared), 2 (shares "vitamin"), 3 (shares "vitamin K"), 0 (no word); 1 is beyond k.
    found = naive(ranked([4, 2, 3, 0, 1]), Bm25(CORPUS), ["vitamin K"], k=4)
    assert found["passage"].tolist() == [3, 2, 4, 0]
    assert found["rank"].tolist() == [1, 2, 3, 4]
    assert (found["score"] > 0).tolist() == [True, True, False, False]


def test_naive_keeps_the_passages_and_the_dense_order_where_no_word_is_shared():
    found = naive(ranked([3, 1, 0], [2, 0, 1]), Bm25(CORPUS), ["zebra", "glucose"], k=2)
    assert lists(found) == {0: [3, 1], 1: [0, 2]}


def test_rerank_by_scores_with_ties_in_the_old_order():
    found = rerank(ranked([5, 6, 7], [1, 2]), [0.0, 2.0, 0.0, 1.0, 1.0])
    assert lists(found) == {0: [6, 5, 7], 1: [1, 2]}
    assert found["score"].tolist() == [2, 0, 0, 1, 1]


# ---------------------------------------------------------------- how good an order is


@pytest.mark.parametrize(
    ("order", "relevant", "expected"),
    [
        # worked out by hand: rank, 1/rank, recall@1, @2, nDCG@2
        ([3, 1, 2], {3}, (1, 1, 1, 1, 1)),
        ([1, 3, 2], {3}, (2, 1 / 2, 0, 1, 1 / math.log2(3))),
        ([1, 2, 3], {3}, (3, 1 / 3, 0, 0, 0)),
        ([1, 2], {3}, (None, 0, 0, 0, 0)),
        ([], {3}, (None, 0, 0, 0, 0)),
        ([1, 2, 3], {1, 3}, (1, 1, 1 / 2, 1 / 2, 1 / (1 + 1 / math.log2(3)))),
        ([1, 2, 3], {1, 2, 3}, (1, 1, 1 / 3, 2 / 3, 1)),
        ([1, 2, 3], {9, 1}, (1, 1, 1 / 2, 1 / 2, 1 / (1 + 1 / math.log2(3)))),
    ],
)
def test_scores_worked_out_by_hand(order, relevant, expected):
    row = rank_scores(ranked(order), [relevant], (1, 2)).iloc[0]
    names = ["first", "reciprocal_rank", "recall@1", "recall@2", "ndcg@2"]
    assert [None if pd.isna(row[name]) else row[name] for name in names] == pytest.approx(list(expected))
    assert row["status"] == "scored" and row["reason"] == ""


def test_a_query_without_relevant_passages_is_undefined():
    table = rank_scores(ranked([1, 2], [1, 2]), [set(), {2}])
    assert table["status"].tolist() == ["undefined", "scored"] and table["reason"][0] == "no relevant passage"
    assert table.loc[0, ["reciprocal_rank", "recall@1", "ndcg@10"]].isna().all()
    assert not table.loc[1].isna().any()


@given(
    st.lists(st.permutations(list(range(8))).flatmap(lambda p: st.integers(0, 8).map(lambda n: p[:n])), max_size=4),
    st.data(),
)
def test_scores_against_another_way_to_compute_them(orders, data):
    relevant = [data.draw(st.sets(st.integers(0, 9), max_size=5)) for _ in orders]
    table = rank_scores(ranked(*orders), relevant, (1, 3, 8))
    assert len(table) == len(orders)
    for row, order, own in zip(table.itertuples(index=False), orders, relevant, strict=True):
        row = row._asdict() | dict(zip(table.columns, row, strict=True))
        if not own:
            assert row["status"] == "undefined"
            continue
        gains = [1.0 if p in own else 0.0 for p in order] + [0.0] * 8
        expected = max((gain / (i + 1) for i, gain in enumerate(gains)), default=0)
        assert row["reciprocal_rank"] == pytest.approx(expected)
        for k in (1, 3, 8):
            best = sorted([1.0] * len(own) + [0.0] * 8, reverse=True)
            dcg, ideal = (sum(g * math.log(2) / math.log(i + 2) for i, g in enumerate(x[:k])) for x in (gains, best))
            assert row[f"recall@{k}"] == pytest.approx(len(set(order[:k]) & own) / len(own))
            assert row[f"ndcg@{k}"] == pytest.approx(dcg / ideal)
            assert 0 <= row[f"ndcg@{k}"] <= 1 + 1e-12


# ---------------------------------------------------------------- training and test


def test_hard_negatives_are_results_and_never_relevant():
    dense = ranked([5, 1, 2, 3, 4], [1, 2], [7, 8, 9])
    relevant = [{5, 2}, {9}, {7}]
    found = hard_negatives(dense, relevant, 3, seed=1)
    assert found.columns.tolist() == ["query", "passage", "rank"]
    assert found.groupby("query").size().tolist() == [2, 2, 2]
    for q, own in lists(found).items():
        assert set(own) <= set(lists(dense)[q]) - relevant[q] and len(set(own)) == len(own)
    assert lists(hard_negatives(dense, relevant, 9))[0] == [1, 3, 4]  # all there are
    assert lists(hard_negatives(dense, relevant, 4, among=2))[0] == [1]


def test_hard_negatives_depend_on_the_seed_and_the_query_alone():
    dense, relevant = ranked(*[list(range(40))] * 3), [{0}, {1}, {2}]
    a, b = hard_negatives(dense, relevant, 6, seed=0), hard_negatives(dense, relevant, 6, seed=1)
    assert lists(a) != lists(b)
    alone = hard_negatives(dense[dense["query"] == 2], relevant, 6, seed=0)
    assert lists(alone)[2] == lists(a)[2]
    drawn = [hard_negatives(dense[dense["query"] == 0], relevant, 2, seed=s)["passage"][0] for s in range(300)]
    assert set(drawn) <= set(range(1, 40)) and len(set(drawn)) > 30  # not always the nearest


LABELS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 25), st.integers(0, 25)), min_size=1, max_size=40)


@given(LABELS, st.floats(0.05, 0.95), st.integers(0, 5))
def test_a_split_shares_nothing_or_says_that_it_cannot(rows, share, seed):
    papers, sentences, works = (list(column) for column in zip(*rows, strict=True))
    apart = {"sentence": sentences, "cited work": works}
    try:
        part = split(papers, share, seed, apart)
    except ValueError as error:
        assert "hang together" in str(error)
        return
    assert set(part) == {"train", "test"}
    for labels in (papers, sentences, works):
        assert not {a for a, p in zip(labels, part, strict=True) if p == "test"} & {
            a for a, p in zip(labels, part, strict=True) if p == "train"
        }
    report = check_split(part, papers, [str(s) for s in sentences], works, separate_cited=True)
    assert report["shared"].tolist() == [0, 0, 0]


def test_a_split_takes_a_share_of_the_papers_and_follows_its_seed():
    papers = [f"p{i // 3}" for i in range(300)]
    part = split(papers, 0.3, seed=4)
    assert len({p for p, side in zip(papers, part, strict=True) if side == "test"}) == 30
    assert (part == split(papers, 0.3, seed=4)).all() and (part != split(papers, 0.3, seed=5)).any()


def test_leaks_fail_and_shared_works_are_counted():
    part, papers = ["train", "train", "test", "test"], ["a", "b", "c", "d"]
    report = check_split(part, papers, ["s", "t", "u", "v"], [1, 2, 2, 3])
    assert report.values.tolist() == [
        ["source papers", 2, 2, 0, 0],
        ["sentences", 2, 2, 0, 0],
        ["cited works", 2, 2, 1, 1],
    ]
    with pytest.raises(LeakError, match="share 1 cited works, the first is '2'"):
        check_split(part, papers, cited=[1, 2, 2, 3], separate_cited=True)
    with pytest.raises(LeakError, match="share 1 source papers, the first is 'b'"):
        check_split(part, ["a", "b", "b", "d"])
    with pytest.raises(LeakError, match="share 1 sentences, the first is 'the same'"):
        check_split(part, papers, ["The  same", "t", "u", "the same"])
    with pytest.raises(ValueError, match="'train' or 'test', got"):
        check_split(["train", "dev"], ["a", "b"])
