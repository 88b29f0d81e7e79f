"""Perturbations: the measure is difflib's to the last bit, redaction takes whole words, changed texts say how they changed."""

import difflib
import itertools
import json
import math
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import perturb, text
from factlab.perturb import gestalt, grams

# ---------------------------------------------------------------- the measure


def reference(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


NASTY = [
    "",
    " ",
    "a",
    "A",
    "\x00",
    "\ud800",  # half of a pair: no UTF-8 for it
    "aaaaaaaaaaaaaaaaaaaaaaaa",
    "abababababababababab",
    "babababababababababa",
    "abcabcabd" * 30,  # past the 200 characters from which autojunk would ignore what is frequent
    "abcabdabc" * 30,
    "naïve Bayes",
    "nai\u0308ve Bayes",
    "深度学习的图像识别",
    "深度学习与语音识别",
    "😀😃😀😃",
    "Neural Collaborative Filtering",
    "Neural Graph Collaborative Filtering",
    "Attention Is All\n  You Need",
]


@pytest.mark.parametrize(("a", "b"), [*itertools.product(NASTY, NASTY)])
def test_ratio_on_nasty_strings(a, b):
    assert perturb.ratio(a, b) == reference(a, b)


anything = st.text(st.characters(), max_size=60)  # surrogates too
few_letters = st.text("ab \u00e9\u4e2d\U0001f600", max_size=300)


@given(st.tuples(anything, anything) | st.tuples(few_letters, few_letters))
def test_ratio_is_difflibs(pair):
    assert perturb.ratio(*pair) == reference(*pair)


def test_ratio_known_values():
    assert perturb.ratio("", "") == 1.0
    assert perturb.ratio("", "a") == 0.0
    # NEURAL␣ and COLLABORATIVE␣FILTERING: 30 of 30 and 36 characters
    assert perturb.ratio("Neural Collaborative Filtering", "Neural Graph Collaborative Filtering") == 60 / 66
    assert perturb.ratio("tide", "diet") == 0.25 and perturb.ratio("diet", "tide") == 0.5  # the order matters


def test_ratio_without_the_compiled_matcher(monkeypatch):
    monkeypatch.setattr(gestalt, "SequenceMatcher", difflib.SequenceMatcher)
    assert perturb.ratio(NASTY[9], NASTY[10]) == reference(NASTY[9], NASTY[10])


# ---------------------------------------------------------------- the nearest other string


def brute_force(queries, pool, threshold, exclude_identical):
    rows = []
    for number, query in enumerate(queries):
        best, match = math.nan, -1
        for row, other in enumerate(pool):
            if exclude_identical and other == query:
                continue
            value = reference(query, other)
            if match < 0 or value > best:
                best, match = value, row
        rows.append((number, match if best >= threshold else -1, best))
    return pd.DataFrame(rows, columns=["query", "match", "ratio"])


@pytest.fixture(params=["subsequence", "blocks", "blocks, tiny", "blocks, too many hits"])
def way(request, monkeypatch):
    """Each way of pruning on strings of all sizes, in batches small enough that there are several."""
    if request.param == "subsequence":
        monkeypatch.setattr(gestalt, "_LONG", math.inf)
        monkeypatch.setattr(gestalt, "_CELLS", 20)
        monkeypatch.setattr(gestalt, "_FIRST", 2)
    else:
        monkeypatch.setattr(gestalt, "_LONG", -1)
    if request.param == "blocks, tiny":
        monkeypatch.setattr(gestalt, "_CHUNK", 40)
        monkeypatch.setattr(grams, "_N", 2)
        monkeypatch.setattr(gestalt, "_SMALL", 0)
    if request.param == "blocks, too many hits":
        monkeypatch.setattr(grams, "_HITS", 3)
    return request.param


@pytest.mark.parametrize("threshold", [0, 0.7, 1])
@pytest.mark.parametrize("exclude_identical", [True, False])
def test_nearest_on_nasty_strings(way, threshold, exclude_identical):
    pool = [*NASTY, *NASTY[::3]]  # with repeats: the first one counts
    found = perturb.nearest(NASTY, pool, threshold, exclude_identical)
    pd.testing.assert_frame_equal(found, brute_force(NASTY, pool, threshold, exclude_identical))


@pytest.mark.parametrize(
    "letters", ["ab", "abcdefgh ", "a\U0001f600\u4e2d\udcff", "".join(map(chr, range(0x4E00, 0x5E00)))]
)
@pytest.mark.parametrize("longest", [4, 40])
def test_nearest_on_random_strings(way, letters, longest):
    rng = random.Random(len(letters) * longest)
    for _ in range(25):
        pool = ["".join(rng.choices(letters, k=rng.randint(0, longest))) for _ in range(rng.randint(1, 14))]
        for _ in range(3):  # near copies, so that long blocks and ties occur
            old = rng.choice(pool)
            cut = rng.randint(0, len(old))
            pool.append(old[:cut] + rng.choice(letters) + old[cut + 1 :])
        queries = [*rng.sample(pool, 3), "".join(rng.choices(letters, k=longest))]
        pd.testing.assert_frame_equal(perturb.nearest(queries, pool), brute_force(queries, pool, 0.7, True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab c", max_size=25), max_size=4), st.lists(st.text("ab c", max_size=25), max_size=8))
def test_nearest_is_brute_force(queries, pool):
    for long in (math.inf, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gestalt, "_LONG", long)
            found = perturb.nearest(queries, pool, 0.5)
        expected = brute_force(queries, pool, 0.5, True).astype(found.dtypes)
        pd.testing.assert_frame_equal(found, expected)


def test_abstracts_take_the_way_of_blocks_and_are_exact():
    rng = random.Random(1)
    words = ["".join(rng.choices("etaoinshrdlucmfw", k=rng.randint(2, 9))) for _ in range(300)]
    pool = [" ".join(rng.choices(words, k=rng.randint(40, 70))) for _ in range(40)]
    queries = [pool[3], pool[3][:200] + pool[4][200:], "short one"]
    assert gestalt._Search(queries, pool, True, None).is_long(queries[0])
    assert not gestalt._Search(queries, pool, True, None).is_long(queries[2])
    found = perturb.nearest(queries, pool)
    pd.testing.assert_frame_equal(found, brute_force(queries, pool, 0.7, True))


def test_ties_go_to_the_first():
    assert perturb.nearest(["abcd"], ["zzzz", "abce", "abcf"])["match"].tolist() == [1]
    assert perturb.nearest(["abcd"], ["abcf", "abce"])["match"].tolist() == [0]


def test_threshold_is_reached_by_equality_and_ratio_is_always_of_the_best():
    queries, pool = ["abcd", "wxyz"], ["abce", "abzz"]
    assert perturb.nearest(queries, pool, 0.75).to_numpy().tolist() == [[0, 0, 0.75], [1, -1, 0.25]]
    assert perturb.nearest(queries, pool, 0.76)["match"].tolist() == [-1, -1]
    assert perturb.nearest(queries, pool, 0)["match"].tolist() == [0, 1]


def test_nothing_to_compare_with():
    for pool in ([], ["same", "same"]):
        found = perturb.nearest(["same"], pool, 0)
        assert found["match"].tolist() == [-1] and math.isnan(found["ratio"][0])
    assert perturb.nearest([], ["a"]).columns.tolist() == ["query", "match", "ratio"]
    assert len(perturb.nearest([], [])) == 0


def test_keys_keep_two_forms_of_one_paper_apart():
    titles = ["Graph Networks", "Graph networks", "Graph Netwerken"]
    assert perturb.nearest(titles, titles)["match"].tolist()[:2] == [1, 0]
    assert perturb.nearest(titles, titles, keys=([1, 1, 2], [1, 1, 2]))["match"].tolist()[:2] == [2, 2]


def test_nearest_says_what_is_wrong():
    with pytest.raises(TypeError, match="pool, row 1: expected a string, got None"):
        perturb.nearest(["a"], ["a", None])
    with pytest.raises(TypeError, match="queries, row 0.*nan"):
        perturb.nearest(pd.Series([np.nan]), ["a"])
    with pytest.raises(TypeError, match="got one string"):
        perturb.nearest("abc", ["a"])
    with pytest.raises(ValueError, match="threshold"):
        perturb.nearest(["a"], ["b"], 70)
    with pytest.raises(ValueError, match="one key for each"):
        perturb.nearest(["a"], ["b"], keys=([1], []))


# ---------------------------------------------------------------- the data that the authors released


@pytest.mark.released
def test_released_titles(released):
    """Of 67 source papers none has another one as near as 0.70; of 159 cited titles four have, three of them by one family."""
    papers = json.loads((released / "reasons" / "Adversarial.json").read_text())["Adversarial"].values()
    sources = [paper["Paper Title"] for paper in papers]
    found = perturb.nearest(sources, sources)
    assert len(sources) == 67 and (found["match"] == -1).all()
    assert found["ratio"].mean() == pytest.approx(0.418, abs=5e-4) and found["ratio"].max() < 0.6
    cited = [s["Citation"]["Citation Paper Title"].removeprefix("Title:") for p in papers for s in p["Sentences"]]
    found = perturb.nearest(cited, cited)
    near = {cited[row] for row in found["query"][found["match"] >= 0]}
    assert len(cited) == 159 and (found["match"] >= 0).sum() == 4
    assert sum("Collaborative Filtering" in title for title in near) == 3
    assert found["ratio"].mean() == pytest.approx(0.485, abs=5e-4)
    pd.testing.assert_frame_equal(found[:20], brute_force(cited[:20], cited, 0.70, True))


@pytest.mark.released
def test_released_abstracts(released):
    papers = json.loads((released / "reasons" / "Adversarial.json").read_text())["Adversarial"].values()
    cited = [s["Citation"]["Citation Paper Abstract"].removeprefix("Abstract:") for p in papers for s in p["Sentences"]]
    found = perturb.nearest(cited, cited)
    assert (found["match"] == -1).all() and found["ratio"].max() < 0.40
    pd.testing.assert_frame_equal(found[:1], brute_force(cited[:1], cited, 0.70, True))


# ---------------------------------------------------------------- redaction

X = "[REDACTED]"


@pytest.mark.parametrize(
    ("given_text", "keywords", "expected"),
    [
        # whole words
        ("Insulin and insulinoma, proinsulin.", ["insulin"], f"{X} and insulinoma, proinsulin."),
        ("The cat in concatenation", ["cat"], f"The {X} in concatenation"),
        ("cat_a cat", ["cat"], f"cat_a {X}"),
        ("IL-2, IL-21, IL-2R and sIL-2", ["IL-2"], f"{X}, IL-21, IL-2R and sIL-2"),
        ("insulin-dependent", ["insulin"], f"{X}-dependent"),
        ("a follow-up study", ["follow-up"], f"a {X} study"),
        ("a follow‐up study", ["follow-up"], f"a {X} study"),  # U+2010
        ("long-term", ["term-long", "erm"], "long-term"),
        ("caf\u00e9 cafe\u0301 cafe", ["caf\u00e9"], f"{X} {X} cafe"),
        ("cafe\u0301", ["cafe"], "cafe\u0301"),
        # punctuation belongs to keywords as well
        ("5% of 15% and 0.5%, 5%", ["5%"], f"{X} of 15% and 0.5%, {X}"),
        ("95%CI", ["95%"], f"{X}CI"),
        ("p53+/- mice, p53+/+ mice", ["p53+/-"], f"{X} mice, p53+/+ mice"),
        ("p53+/- and p53+ cells", ["p53+"], f"p53+/- and {X} cells"),
        ("CD4+/CD8+ cells", ["CD4+"], f"{X}/CD8+ cells"),
        ("5 of 1,500 or 5.2 (5).", ["5"], f"{X} of 1,500 or 5.2 ({X})."),
        ("in C++ (not C)", ["C++"], f"in {X} (not C)"),
        ("Crohn's, Crohn’s", ["Crohn's"], f"{X}, {X}"),
        ("a.b axb", ["a.b"], f"{X} axb"),  # no pattern
        ("\\1 and $^", ["\\1", "$^"], f"{X} and {X}"),
        ("(fever).", ["fever"], f"({X})."),
        # case
        ("Aspirin, aspirin, ASPIRIN", ["aspirin"], f"{X}, {X}, {X}"),
        # white space
        ("blood\n  pressure and blood pressure", ["blood pressure"], f"{X} and {X}"),
        ("  kept \t as\nis ", ["as"], f"  kept \t {X}\nis "),
        # nested and overlapping
        ("high blood pressure", ["blood pressure", "high blood pressure", "pressure"], X),
        ("high blood pressure drugs", ["high blood pressure", "blood pressure drugs"], X),
        ("blood pressure, pressure", ["pressure", "blood pressure"], f"{X}, {X}"),
        ("x y x y x", ["x y x"], X),
        ("one two", ["one", "two"], f"{X} {X}"),
        # lists
        ("no keyword here", [], "no keyword here"),
        ("no keyword here", ["", "  "], "no keyword here"),
        ("insulin and glucose", "insulin, glucose, ", f"{X} and {X}"),
        ("insulin and glucose", "insulin,glucose", f"{X} and {X}"),
        ("2,4-D and 2 or 4", "2,4-D; glucose", f"{X} and 2 or 4"),
        ("", ["a"], ""),
        # the mark itself
        ("redacted data", ["redacted"], f"{X} data"),
        ("1,5", ["1,", "5"], X + X),  # the second is a word of its own once the first is gone
        (f"{X} data was redacted", ["redacted"], f"{X} data was {X}"),
    ],
)
def test_redact(given_text, keywords, expected):
    found = perturb.redact(given_text, keywords)
    assert found == expected
    assert perturb.redact(found, keywords) == found


def test_redact_with_another_mark_and_with_case():
    assert perturb.redact("US data show us", ["US"], ignore_case=False) == f"{X} data show us"
    assert perturb.redact("a b c", ["b"], mark="…") == "a … c"
    assert perturb.redact("a b c", ["b"], mark="") == "a  c"
    assert perturb.redact("a b", ["a"], mark=r"\g<0>") == r"\g<0> b"


parts = st.lists(
    st.sampled_from(["ab", "a", "5", "%", "0.5", "-", " ", ",", "+", "/-", "(", "é", X, "ab 5", "."]), max_size=9
)


@given(parts.map("".join), st.lists(parts.map("".join), max_size=4))
def test_redacting_twice_changes_nothing(given_text, keywords):
    once = perturb.redact(given_text, keywords)
    assert perturb.redact(once, keywords) == once
    # Nothing but keywords is gone: what stands between the marks was there, in this order.
    rest = given_text
    for part in once.split(X):
        assert part in rest
        rest = rest[rest.index(part) + len(part) :]


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma-delta", "eps"]), min_size=1, max_size=8))
def test_no_keyword_is_left(words):
    left = perturb.redact(" ".join(words), ["alpha", "gamma-delta"]).split()
    assert left == [X if word in ("alpha", "gamma-delta") else word for word in words]


# ---------------------------------------------------------------- swaps

TITLES = [
    "Neural Collaborative Filtering",
    "Neural Graph Collaborative Filtering",
    "Neural collaborative  filtering",  # the first one again
    "A Survey of Quantum Chemistry",
]
COLUMNS = ["query", "match", "kind", "strength", "similarity", "text"]


def test_swap_takes_the_nearest_other_paper():
    found = perturb.swap(TITLES)
    assert found.columns.tolist() == COLUMNS
    assert found["match"].tolist() == [1, 0, 1, -1]  # never another spelling of itself
    assert found["text"].tolist()[:3] == [TITLES[1], TITLES[0], TITLES[1]]
    assert pd.isna(found["text"][3]) and found["similarity"][3] < 0.7  # said how near the best was
    assert found["strength"].tolist() == [1, 1, 1, 0]
    assert set(found["kind"]) == {"swap"}


def test_swap_from_a_pool_and_with_keys():
    found = perturb.swap(TITLES[:1], TITLES[1:], keys=(["p1"], ["p1", "p2", "p3"]))
    assert found["match"].tolist() == [1]
    assert perturb.swap(TITLES[:1], [])["match"].tolist() == [-1]


def test_swap_by_embedding():
    vectors = np.array([[1, 0], [0, 2], [1, 0.1], [0.1, 1.0]])
    found = perturb.swap(TITLES, vectors=vectors, threshold=0.9)
    assert found["match"].tolist() == [-1, 3, -1, 1]  # rows 0 and 2 are one paper
    assert set(found["kind"]) == {"swap by embedding"}
    assert found["similarity"][1] == pytest.approx(1 / math.sqrt(1.01))
    split = perturb.swap(TITLES[:2], TITLES[2:], vectors=(vectors[:2], vectors[2:]), threshold=0.9)
    assert split["match"].tolist() == [-1, 1]
    with pytest.raises(ValueError, match="one row for each text"):
        perturb.swap(TITLES, vectors=vectors[:2])


def test_nearest_vector_against_a_plain_loop():
    rng = np.random.default_rng(0)
    queries, pool = rng.normal(size=(9, 4)), rng.normal(size=(20, 4))
    keys = (list(range(9)), [row % 10 for row in range(20)])
    found = perturb.nearest_vector(queries, pool, 0.5, keys)
    for row, query in enumerate(queries):
        cosine = [
            q @ query / np.linalg.norm(q) / np.linalg.norm(query) if k != row else -2
            for q, k in zip(pool, keys[1], strict=True)
        ]
        assert found["ratio"][row] == pytest.approx(max(cosine), abs=1e-11)
        assert found["match"][row] == (int(np.argmax(cosine)) if max(cosine) >= 0.5 else -1)


def test_vectors_without_a_direction():
    found = perturb.nearest_vector([[0.0, 0.0], [1, 1]], [[0, 0], [3, 3], [2, 2]], -1)
    assert found["match"].tolist() == [-1, 1]  # a tie but for rounding: the first
    assert math.isnan(found["ratio"][0]) and found["ratio"][1] == 1
    assert perturb.nearest_vector(np.zeros((1, 2)), np.zeros((0, 2)))["match"].tolist() == [-1]
    with pytest.raises(ValueError, match="do not compare"):
        perturb.nearest_vector([[1.0]], [[1.0, 2.0]])


# ---------------------------------------------------------------- abstracts changed in part

OWN = "Crops fail. We sampled soil. Lead was high. Zinc was low. More work is needed."
OTHER = "Ships rust. We tested paint. Red lasted. Blue peeled. More work is needed."


def sentences_of(share, seed=0):
    return text.sentences(perturb.replace_sentences([OWN], [OTHER], [0], share, seed)["text"][0])


@pytest.mark.parametrize(("share", "replaced"), [(0, 0), (0.01, 1), (0.2, 1), (0.5, 3), (0.7, 4), (1, 4)])
def test_share_of_sentences(share, replaced):
    found = perturb.replace_sentences([OWN], [OTHER], [0], share)
    own, other = text.sentences(OWN), text.sentences(OTHER)
    result = text.sentences(found["text"][0])
    assert len(result) == 5 and len(set(result)) == 5  # no sentence twice
    assert sum(sentence not in own for sentence in result) == replaced  # the one that both have replaces nothing
    assert all(sentence in own + other for sentence in result)
    assert found["strength"].tolist() == [replaced / 5]
    assert found.columns.tolist() == COLUMNS and found["kind"].tolist() == ["sentences"]


def test_a_greater_share_replaces_the_same_and_more():
    own = text.sentences(OWN)
    for seed in range(8):
        changed = [
            {place for place, s in enumerate(sentences_of(share, seed)) if s not in own}
            for share in (0.2, 0.4, 0.6, 0.8)
        ]
        assert all(a < b for a, b in itertools.pairwise(changed))


def test_sentences_keep_their_place_in_the_argument():
    four = " ".join(text.sentences(OTHER)[:4])
    found = perturb.replace_sentences([" ".join(text.sentences(OWN)[:4])], [four], [0], 1.0)
    assert found["text"][0] == four


def test_chance_depends_on_seed_and_text_only():
    alone = perturb.replace_sentences([OWN], [OTHER], [0], 0.4)["text"][0]
    beside = perturb.replace_sentences([OTHER, OWN], [OTHER, OWN], [1, 0], 0.4)["text"][1]
    assert alone == beside
    assert len({tuple(sentences_of(0.4, seed)) for seed in range(12)}) > 3


def test_no_other_text_no_change():
    lines = "One.\n\nTwo  is here."
    found = perturb.replace_sentences([lines, lines, ""], [OTHER, "", lines], [-1, 1, 2])
    assert found["text"].tolist() == [lines, lines, ""]
    assert found["strength"].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="share"):
        perturb.replace_sentences([OWN], [OTHER], [0], 50)
    with pytest.raises(ValueError, match="match has 2"):
        perturb.replace_sentences([OWN], [OTHER], [0, 0])


# ---------------------------------------------------------------- misleading terms

ABSTRACT = "We propose a method (fast) for learning representations of graphs.\n  It needs few labels, and scales."
TERMS = ["quantum", "reinforcement learning", "Graphs", "zebrafish"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9])
def test_terms_are_inserted_and_nothing_is_lost(count):
    found = perturb.insert_terms([ABSTRACT], TERMS, count)
    result = found["text"][0]
    held = [term for term in TERMS if term in result]
    assert len(held) == min(count, 3) and "Graphs" not in held  # a term that is there already does not mislead
    for term in held:
        assert result.count(term) == 1
        result = result.replace(term + " ", "")
    assert result == ABSTRACT  # line breaks and brackets too
    words = sum(len(term.split()) for term in held)
    assert found["strength"][0] == pytest.approx(words / (len(ABSTRACT.split()) + words))
    assert found["kind"].tolist() == ["terms"] and found.columns.tolist() == COLUMNS


def test_more_terms_keep_the_earlier_ones():
    for seed in range(6):
        texts = [perturb.insert_terms([ABSTRACT], TERMS, count, seed)["text"][0] for count in (1, 2, 3)]
        held = [{term for term in TERMS if term in result} for result in texts]
        assert held[0] < held[1] < held[2]
    assert len({perturb.insert_terms([ABSTRACT], TERMS, 1, seed)["text"][0] for seed in range(12)}) > 4


def test_terms_for_each_text_and_texts_without_room():
    found = perturb.insert_terms(["On it", "", "Deep Learning"], [["zebra fish"], ["x"], []], 2)
    assert found["text"].tolist() == ["On it zebra fish", "x", "Deep Learning"]
    assert found["strength"].tolist() == [0.5, 1.0, 0.0]
    assert perturb.insert_terms(["Deep Learning for Cats"], ["quantum"])["text"][0] == "Deep quantum Learning for Cats"
    with pytest.raises(ValueError, match="count"):
        perturb.insert_terms(["a"], ["b"], -1)
    with pytest.raises(ValueError, match="terms has 1"):
        perturb.insert_terms(["a", "b"], [["x"]])


def test_all_kinds_stack():
    frames = [perturb.swap(TITLES), perturb.replace_sentences([OWN], [OTHER], [0]), perturb.insert_terms([OWN], TERMS)]
    stacked = pd.concat(frames, ignore_index=True)
    assert stacked["kind"].tolist() == ["swap"] * 4 + ["sentences", "terms"]
    assert stacked["strength"].between(0, 1).all()
