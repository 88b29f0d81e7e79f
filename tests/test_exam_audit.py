"""Every audit rule, with an item just inside and one just outside; and how a bank is screened by them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exam_items import PASSAGE, bank, item, words

from factlab import exam
from factlab.exam import Evidence, lengths
from factlab.perturb import ratio

CHUNKS = {"c1": PASSAGE}


def flags(*items, **settings) -> set[str]:
    return set(exam.audit(list(items), **settings)["flag"])


def test_a_sound_item_has_no_flag():
    assert flags(item(), chunks=CHUNKS, vectors=np.ones((1, 3))) == set()
    assert flags(synthesis(), chunks={**CHUNKS, "c2": "and more"}) == set()


def synthesis(**changes):
    two = (Evidence("c1", "medullary veins", source="s1"), Evidence("c2", "and more", source="s2"))
    sound = item(
        question=words(34, "q") + " so?", options=[words(20, a) for a in "abcd"], label="synthesis", evidence=two
    )
    return replace(sound, **changes)


def options(*sizes) -> tuple[str, ...]:
    return tuple(words(n, letter) for n, letter in zip(sizes, "abcd", strict=True))


# flag, an item just inside, an item just outside
RULES = [
    ("no_question", item(), item(question="  ")),
    ("option_count", item(), item(options=options(10, 10, 10, 10)[:3])),
    ("option_count", item(), item(options=(*item().options, "e"))),
    ("empty_option", item(), item(options=(*item().options[:3], " "))),
    ("repeated_option", item(options=("+", "-", "x y", "xy")), item(options=("X, y", "x y.", "b", "c"))),
    ("no_key", item(key="D"), item(key="E")),
    ("no_key", item(key="A"), item(key="")),
    ("no_metadata", item(), item(subtopic=" ")),
    ("no_metadata", item(), item(question_type="")),
    ("no_explanation", item(), item(explanation="")),
    ("no_evidence", item(), item(evidence=())),
    ("no_evidence", item(), item(evidence=(Evidence("c1", " "),))),
    # phrasing
    ("refers_to_source", item(question="Which context of the study of veins counts?"), item(question="According to the passage, which?")),
    ("refers_to_source", item(question="Based on MRI alone, which?"), item(question="Which is described above?")),
    ("refers_to_source", item(question="Which text is small?"), item(question="What does the excerpt above show?")),
    (
        "refers_to_source",
        item(question="In the context of neuritis, and based on evidence from MRI, which?"),
        item(question="In the study, which?"),
    ),
    (
        "negative_stem",
        item(question="A lesion is not enhancing. Which is it?"),
        item(question="A lesion is enhancing. What would not explain it?"),
    ),
    ("trivia", item(question="What section thickness, and which volume?"), item(question="Which figure shows it?")),
    ("all_or_none", item(options=("All lesions", "b", "c", "d")), item(options=("a", "b", "c", "All of the above"))),
    ("all_or_none", item(options=("None of the veins", "b", "c", "d")), item(options=("a", "b", "c", "None of these."))),
    ("combined_option", item(options=("Vitamin A and zinc", "b", "c", "d")), item(options=("a", "b", "c", "Both A and B"))),
    ("negative_stem", item(question="Which is not rare, but notable, among nots"), item(question="Which is NOT seen?")),
    ("negative_stem", item(question="Which exception is seen?"), item(question="All are seen EXCEPT:")),
    ("negative_stem", item(question="Which is seen?"), item(question="Which sign is not seen?")),
    ("not_a_question", item(question="The sign is:"), item(question="The sign is")),
    ("not_a_question", item(question="The sign is ____"), item(question="Name the sign.")),
    ("article_cue", item(question="It is a"), item(question="It is an", options=("ulcer", "vein", "vessel", "lesion"))),
    ("article_cue", item(question="It is an:", options=("MRI", "ulcer", "hour", "FLAIR")), item(question="It is a:", options=("unit", "ulcer", "vein", "use"))),
    ("key_in_stem", item(question="Is it so?", options=("a so so", "so it is", "c", "d")), item(question="Is vein sign so?", options=("a", "Vein sign", "c", "d"))),
    ("key_in_stem", item(question="vein sign or rim sign?", options=("rim sign", "vein sign", "c", "d")), item(question="vein sign or rim signs?", options=("rim sign", "vein sign", "c", "d"))),
    (
        "absolute_cue",
        item(options=("It always is", "It is rare", "It is never seen", "It may be")),
        item(options=("It always is", "It is rare", "It is never seen", "It only may be")),
    ),
    (
        "absolute_cue",
        item(options=("always", "never so", "never", "only")),
        item(options=("always", "not so", "never", "only")),
    ),
    (
        "stem_words_cue",
        item(question="Long anterior swelling is?", options=("other", "anterior swelling, then", "more", "less")),
        item(question="Long anterior swelling is?", options=("other", "long anterior swelling", "more", "less")),
    ),
    (
        "stem_words_cue",
        item(question="Long wide deep rims?", options=("deep veins", "long wide deep veins", "more", "less")),
        item(question="Long wide deep rims?", options=("dark veins", "long wide deep veins", "more", "less")),
    ),
    # labels
    ("unknown_label", item(label="easy"), item(label="tricky")),
    ("letter_in_option", item(options=("A large one", "b", "c", "d")), item(options=("A) large", "b", "c", "d"))),
    ("letter_in_option", item(options=("a lesion", "b", "c", "d")), item(options=("a", "b", "(c) x", "d"))),
    ("label_in_stem", item(question="Hard plaques are seen where?"), item(question="Hard: which plaque?")),
    ("label_in_stem", item(question="Is it easy (as a rule)?"), item(question="Which plaque (very hard)?")),
    ("single_source", synthesis(), synthesis(evidence=synthesis().evidence[:1])),
    ("single_source", item(), synthesis(evidence=(Evidence("c1", "x", source="s1"), Evidence("c2", "y", source="s1")))),
    ("explanation_names_letter", item(explanation="The option on a vein is meant."), item(explanation="Option A is too rare.")),
    # contradictions
    ("explanation_other_letter", item(explanation="Option B is correct."), item(explanation="Option C is correct.")),
    ("explanation_other_letter", item(explanation="The correct answer is B."), item(explanation="The correct answer is A.")),
    ("explanation_other_letter", item(explanation="The answer is a vein."), item(explanation="The answer is D, as seen.")),
    ("explanation_other_option", item(explanation=f"The answer is {words(10, 'b')}."), item(explanation=f"The answer is: {words(10, 'c')}.")),
    # trivia
    ("trivia", item(question="When are new lesions counted?"), item(question="In which year were the criteria published?")),
    ("trivia", item(question="Which journal bearing is it, a vein?".replace("journal ", "")), item(question="In which journal did it appear?")),
    ("trivia", item(question="How many lesions are needed?"), item(question="How many patients were enrolled?")),
    ("trivia", item(question="Who should be scanned?"), item(question="Who was the first author?")),
    ("trivia", item(question="Which table position is best?".replace("table ", "")), item(question="Which table lists it?")),
    # length cues of hard items
    ("short_stem", item(question=words(18, "q")), item(question=words(17, "q"))),
    ("short_option", item(options=options(8, 8, 8, 8)), item(options=options(8, 8, 7, 8))),
    ("long_option", item(options=options(60, 60, 60, 60)), item(options=options(60, 60, 61, 60))),
    ("length_advantage", item(options=options(40, 44, 40, 40)), item(options=options(40, 45, 40, 40))),
    ("length_advantage", item(options=options(40, 44, 40, 40)), item(options=options(40, 44, 40, 39))),
    ("length_ratio", item(options=options(20, 23, 20, 20)), item(options=options(20, 24, 20, 20))),
    ("length_ratio", item(options=options(20, 23, 20, 20)), item(options=options(20, 23, 20, 19))),
    ("longest_key", item(options=options(40, 41, 40, 40)), synthesis(options=options(40, 41, 40, 40))),
    # of synthesis items
    ("short_stem", synthesis(question=words(35, "q")), synthesis(question=words(34, "q"))),
    ("short_option", synthesis(options=options(14, 14, 14, 14)), synthesis(options=options(13, 14, 14, 14))),
    ("long_option", synthesis(options=options(70, 70, 70, 70)), synthesis(options=options(71, 70, 70, 70))),
    ("length_advantage", synthesis(options=options(43, 42, 40, 37)), synthesis(options=options(43, 42, 40, 36))),
    ("length_ratio", synthesis(options=options(27, 27, 24, 24)), synthesis(options=options(28, 28, 24, 24))),
    ("longest_key", synthesis(options=options(20, 20, 20, 20)), synthesis(options=options(19, 20, 19, 19))),
]  # fmt: skip


@pytest.mark.parametrize(("flag", "inside", "outside"), RULES)
def test_just_inside_and_just_outside(flag, inside, outside):
    assert flag not in flags(inside)
    assert flag in flags(outside)


def test_every_rule_has_a_test():
    elsewhere = {"conflicting_key", "exact_duplicate", "near_duplicate", "semantic_duplicate"}
    elsewhere |= {"unknown_chunk", "quote_not_found", "quote_elsewhere"}
    assert {flag for flag, _, _ in RULES} | elsewhere == set(exam.FLAGS)


def test_length_rules_apply_by_label():
    short = item(question="Is it?", options=("a", "b", "c", "d much too long a key"), key="D", label="easy")
    assert not flags(short)
    assert "short_stem" in flags(short, cue_rules={"easy": exam.HARD})
    assert not flags(item(question=words(18, "q") + "?"), cue_rules={}) & {"short_stem"}


def test_against_the_longest_or_the_mean():
    # 44 words against 48, 30 and 30: 8 longer than the mean of 36, 4 shorter than the longest
    one = item(options=options(48, 44, 30, 30))
    assert lengths.advantage(one) == pytest.approx((8, 44 / 36))
    assert lengths.advantage(one, "longest") == pytest.approx((-4, 44 / 48))
    assert {"length_advantage", "length_ratio"} <= flags(one)
    assert not flags(one, against="longest")
    assert lengths.advantage(item(key="")) is None and lengths.advantage(item(options=("", "b", "", ""))) is None
    with pytest.raises(ValueError, match="against"):
        flags(one, against="median")


def test_the_value_and_the_limit_are_told():
    table = exam.audit([item(options=options(20, 24, 20, 20))]).set_index("flag")
    assert table.loc["length_ratio", "value"] == pytest.approx(1.2) and table.loc["length_ratio", "limit"] == 1.15
    assert "length_advantage" not in table.index
    short = exam.audit([item(question="Is it so?")]).set_index("flag").loc["short_stem"]
    assert (short["value"], short["limit"], short["detail"]) == (3, 18, "3 words")


def test_how_often_the_key_is_longest():
    items = [item(options=options(10, 11, 10, 10)), item(options=options(10, 11, 11, 10)), item(), item(key="")]
    e = exam.longest_key(items)
    assert (e.value, e.n, e.counts) == (pytest.approx(1 / 3), 3, {"undefined": 1})
    # of ten words each, one has a longer last word
    even = item(options=tuple(f"{words(9, a)} {tail}" for a, tail in zip("abcd", ("x", "xxx", "x", "x"), strict=True)))
    assert exam.longest_key([even]).value == 0 and exam.longest_key([even], unit="characters").value == 1


def test_how_often_it_would_be_by_lot():
    one_longest, two, flat = (item(options=options(10, 11, x, 10)) for x in (10, 11, 12))
    assert lengths.longest_by_chance([one_longest, two]) == 0.125 and lengths.longest_by_chance([flat]) == 0.25
    assert lengths.longest_by_chance([item(key="")]) is None and lengths.longest_by_chance([]) is None
    # What is drawn by lot is this often the longest.
    turned = [item(options=one_longest.options, key=key) for key in "ABCD"]
    assert exam.longest_key(turned).value == lengths.longest_by_chance(turned)


# --- duplicates --------------------------------------------------------------------------------------------------


def test_the_same_again():
    one = item()
    again = one.reordered([1, 0, 3, 2])
    table = exam.audit([one, item(question="Another one?"), replace(again, question=one.question.upper() + "!")])
    found = table[table["flag"] == "exact_duplicate"]
    assert found[["row", "other"]].values.tolist() == [[2, 0]]
    assert "conflicting_key" not in set(table["flag"])
    other_key = exam.audit([one, replace(one, key="C")])
    assert other_key.loc[other_key["flag"] == "conflicting_key", "row"].tolist() == [0, 1]
    assert "exact_duplicate" not in flags(one, item(options=(*one.options[:3], "another one")))


def stems(same: int) -> tuple:
    """Two items whose stems share their first `same` of 100 letters."""
    rng = np.random.default_rng(0)
    a = "".join(rng.choice(list("abcdefghij"), 100))
    return item(question=a), item(question=a[:same] + "z" * (100 - same))


def test_near_is_nine_tenths():
    assert "near_duplicate" in flags(*stems(90))
    assert "near_duplicate" not in flags(*stems(89))
    assert "near_duplicate" in flags(*stems(89), near=0.89)
    table = exam.audit(stems(90)).query("flag == 'near_duplicate'").iloc[0]
    assert (table["row"], table["other"], table["value"], table["limit"]) == (1, 0, pytest.approx(0.9), 0.9)
    assert exam.audit(stems(90), flagged="both").query("flag == 'near_duplicate'")["row"].tolist() == [0, 1]


def test_stem_or_whole_item():
    a, b = item(), item(options=tuple(words(10, letter) for letter in "efgh"))
    assert "near_duplicate" in flags(a, b)
    assert "near_duplicate" not in flags(a, b, text="item")


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text("abc d", max_size=12), max_size=8),
    st.sampled_from([0.5, 0.75, 0.9, 1.0]),
    st.sampled_from(["gestalt", "indel", "levenshtein"]),
)
def test_near_pairs_are_those_of_brute_force(texts, threshold, measure):
    from rapidfuzz.distance import Indel, Levenshtein

    def alike(a, b):
        if measure == "gestalt":
            return max(ratio(a, b), ratio(b, a))
        return (Indel if measure == "indel" else Levenshtein).normalized_similarity(a, b)

    expected = [
        (i, j)
        for i in range(len(texts))
        for j in range(i)
        if texts[i] and texts[j] and alike(texts[i], texts[j]) >= threshold
    ]
    found = exam.near_pairs(texts, threshold, measure)
    assert list(zip(found["row"], found["other"], strict=True)) == expected


def test_cosine_of_synthesis_items():
    cosine = np.array(
        [[1.0, 0.0], [0.9, np.sqrt(1 - 0.81)], [0.899, np.sqrt(1 - 0.899**2)], [np.nan, np.nan], [0.0, 0.0]]
    )
    items = [synthesis(question=f"{words(34, chr(104 + n))}?") for n in range(5)]

    def found(vectors, some=items, **settings):
        table = exam.audit(some, vectors=vectors, **settings)
        return table[table["flag"] == "semantic_duplicate"][["row", "other"]].values.tolist()

    assert found(cosine[[0, 1]], items[:2]) == [[1, 0]]
    assert found(cosine[[0, 2]], items[:2]) == []
    assert found(cosine[[0, 3, 4]], items[:3]) == []
    # the synthesis item is the candidate, even where it comes first; hard items alone are not checked
    hard = replace(items[1], label="hard")
    assert found(cosine[[0, 1]], [items[0], hard]) == [[0, 1]]
    assert found(cosine[[0, 1]], [replace(items[0], label="hard"), hard]) == []
    assert found(cosine[[0, 1]], items[:2], flagged="both") == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="one embedding an item"):
        exam.audit(items, vectors=cosine[:2])


# --- evidence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "flag"),
    [
        (Evidence("c1", "they follow  MEDULLARY veins"), None),
        (Evidence("c1", "Dawson’s fingers … follow [...] veins"), None),
        (Evidence("c1", "They follow medullary veins", 64, 91), None),
        (Evidence("c1", "They follow medullary veins", 0, 27), "quote_elsewhere"),
        (Evidence("c1", "They follow medullary vein"), "quote_not_found"),
        (Evidence("c1", "veins … Dawson's fingers"), "quote_not_found"),
        (Evidence("c1", "…"), "quote_not_found"),
        (Evidence("c9", "They follow medullary veins"), "unknown_chunk"),
        (Evidence("c9; c1", "They follow medullary veins"), None),
        (Evidence("c9; c1", "They follow other veins"), "quote_not_found"),
    ],
)
def test_evidence_stands_in_its_passage(evidence, flag):
    found = flags(item(evidence=(evidence,)), chunks=CHUNKS)
    assert found == ({flag} if flag else set())
    frame = pd.DataFrame({"chunk": ["c1"], "text": [PASSAGE]})
    assert flags(item(evidence=(evidence,)), chunks=frame) == found


def test_what_was_not_looked_for_is_said():
    table = exam.audit([item()])
    summary = exam.audit_summary([item()], table).set_index("flag")
    assert summary.loc["quote_not_found", "status"] == "undefined" and pd.isna(summary.loc["quote_not_found", "items"])
    assert summary.loc["semantic_duplicate", "reason"] == "no item is labelled synthesis"
    both = [item(), item(label="synthesis")]
    asked = exam.audit_summary(both, exam.audit(both)).set_index("flag")
    assert asked.loc["semantic_duplicate", "reason"] == "no embeddings were given"
    assert summary.loc["trivia", "items"] == 0 and summary.loc["trivia", "status"] == "scored"
    assert (exam.audit_summary([], exam.audit([]))["status"] == "undefined").all()


# --- the whole table, and screening ------------------------------------------------------------------------------


def test_one_row_an_item_and_flag():
    items = [
        item(question="According to the passage, which is NOT seen?", key=""),
        *bank(5),
        item(options=("a", "a", "", "")),
    ]
    table = exam.audit(items, chunks=CHUNKS)
    assert not table.duplicated(["row", "flag"]).any()
    assert table["row"].is_monotonic_increasing
    assert all(items[r].id == i for r, i in zip(table["row"], table["item_id"], strict=True))
    assert all(exam.FLAGS[f][0] == g for f, g in zip(table["flag"], table["group"], strict=True))
    assert list(exam.audit([]).columns) == list(table.columns)


def test_flags_stay_and_exclusion_is_a_rule():
    items = [item(), item(question="Is it so?"), item(question="In which year was it published?", explanation="")]
    table = exam.audit(items)
    kept = exam.screen(items, table, ["trivia", "schema"])
    assert kept["kept"].tolist() == [True, True, False]
    assert kept["reasons"].tolist() == ["", "", "no_explanation, trivia"]
    assert kept["flags"].tolist()[1] == "short_stem" and "short_stem" in kept["flags"][2]
    assert exam.screen(items, table, [])["kept"].all()
    with pytest.raises(ValueError, match="did you mean 'near_duplicate'"):
        exam.screen(items, table, ["near_duplicates"])
    with pytest.raises(ValueError, match="expected a list"):
        exam.screen(items, table, "trivia")
    with pytest.raises(ValueError, match="audit these items first"):
        exam.screen(items[::-1], table, [])


def test_leaving_out_near_duplicates_keeps_one():
    items = [*bank(3), *bank(3)]
    kept = exam.screen(items, exam.audit(items), ["duplicate"])
    assert kept["kept"].tolist() == [True] * 3 + [False] * 3


TEXTS = st.text(max_size=60)


@settings(deadline=None, max_examples=100)
@given(TEXTS, st.lists(TEXTS, max_size=5), st.text(max_size=2), st.sampled_from(["hard", "synthesis", "", "x"]), TEXTS)
def test_nothing_raises_on_any_item(question, offered, key, label, explanation):
    one = item(question=question, options=tuple(offered), key=key, label=label, explanation=explanation)
    table = exam.audit([one, one], chunks=CHUNKS, vectors=np.ones((2, 2)))
    assert set(table["flag"]) <= set(exam.FLAGS)
