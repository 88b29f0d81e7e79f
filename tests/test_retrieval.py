"""Passages: where texts are cut, that nothing is lost, and which passage a query finds."""

import hashlib

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factlab.retrieval import Bm25, chunks, passages
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
